"""CUDA C++ that was compiled for a chip: its kernels and variables."""

from __future__ import annotations

import contextlib
import functools
import re
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from .._lazy import numpy as np
from ..errors import Assumed, PtxError
from . import _sass
from ._cxx import Signature, demangled, signature
from ._launch import Launched, as_bytes, compiled, parsed, run


class Unknown(PtxError, KeyError):
    """A module has no such kernel or variable."""

    __str__ = Exception.__str__  # without the quotes of a KeyError


class Kernel:
    """A kernel of a module: ``kernel[grid, block](x, y, 1000)``, or ``kernel[grid, block, bytes of dynamic shared memory](…)``."""

    def __init__(self, module: Module, entry: str) -> None:
        self.module, self.entry = module, entry
        #: Its C++ name and the types of its parameters, as far as its mangled name has them.
        self.signature: Signature = signature(entry)
        self.__name__ = self.signature.name

    def __repr__(self) -> str:
        return f"<kernel {self.signature} of {self.module.name} on {self.module.chip}>"

    def __getitem__(self, sizes: Any) -> Any:
        if not isinstance(sizes, tuple) or not 2 <= len(sizes) <= 3:
            raise PtxError(f"a launch is kernel[grid, block](…) or kernel[grid, block, shared](…), as CUDA's <<<grid, block, shared>>>, not kernel[{sizes!r}]")
        grid, block, *rest = sizes
        return functools.partial(self.launch, grid, block, shared=rest[0] if rest else 0)

    def __call__(self, *args: Any) -> None:
        raise PtxError(f"say how many blocks and threads run: {self.__name__}[grid, block](…)")

    @property
    def parameters(self) -> list[tuple[str, str, int]]:
        """The name, type and bytes of each parameter in PTX."""
        found: list[tuple[str, str, int]] = compiled(self.module.text, self.module._how, self.entry, None).about["parameters"]
        return found

    def launch(self, grid: Any, block: Any, *args: Any, shared: int = 0, **options: Any) -> Launched:
        """Runs it. ``options`` are those of ``launch_ptx``, but for what compiles the text."""
        return self.module._launch(self, grid, block, args, shared=shared, **options)


#: Compiles a source with name expressions: the text, the entries of the expressions, what the compiler warns of, and its release.
Compile = Callable[["tuple[str, ...]"], "tuple[str, list[str], str, str]"]


class Variables(Mapping[str, Any]):
    """The ``__device__`` and ``__constant__`` variables that the kernels of a module name: their bytes, which are read and set."""

    def __init__(self, module: Module) -> None:
        self._module = module
        #: What was set, or left by a launch.
        self.held: dict[str, bytes] = {}

    def _known(self) -> dict[str, tuple[str, int, bytes]]:
        """What the text calls them, their bytes and their first ones, by their names in C++."""
        return {demangled(name): (name, size, initial) for name, size, _, initial in self._module._variables()}

    def _found(self, name: str) -> tuple[str, int, bytes]:
        known = self._known()
        if name not in known:
            names = ", ".join(sorted(self)) or "it has none"
            raise Unknown(f"{self._module.name} has no variable '{name}' that is used: {names}")
        return known[name]

    def __getitem__(self, name: str) -> Any:
        """Its bytes, as an array of a copy: ``.view(numpy.float32)`` are its numbers."""
        symbol, size, initial = self._found(name)
        return np.frombuffer(self.held.get(symbol, initial).ljust(size, b"\0"), np.uint8).copy()

    def __setitem__(self, name: str, value: Any) -> None:
        symbol, size, _ = self._found(name)
        given = as_bytes(value)
        if len(given) != size:
            kind = "" if isinstance(value, bytes) else f" ({np.asarray(value).dtype})"
            raise PtxError(f"{len(given)} bytes{kind} are given for variable '{name}', which has {size}")
        self.held[symbol] = given

    def __iter__(self) -> Iterator[str]:
        # but those of CUDA's own headers
        return (name for name in self._known() if not re.match(r"cuda::|cooperative_groups::|_INTERNAL|__", name) and "<" not in name)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Module:
    """CUDA C++ compiled for a chip: its kernels by name, ``module.scale`` or ``module["scale<float>"]``."""

    def __init__(self, compile: Compile, name: str, chip: str, how: _sass.How, expressions: Sequence[str] = ()) -> None:
        self.name, self.chip = name, chip
        self._compiler, self._how = compile, how
        #: Its variables.
        self.variables = Variables(self)
        self._kernels: dict[str, Kernel] = {}
        self._lock = threading.Lock()
        self._expressions: dict[str, str] = {}
        self._compile(expressions)

    def _compile(self, expressions: Sequence[str]) -> None:
        """Compiles the source with these instances of its templates besides those that there are."""
        wanted = (*self._expressions, *expressions)
        self.text, names, self.log, self.compiler = self._compiler(wanted)
        self._expressions = dict(zip(wanted, names, strict=True))
        self.entries = parsed(self.text).entries()

    def __repr__(self) -> str:
        return f"<{self.name} on {self.chip}: {', '.join(self._names()) or 'no kernels'}>"

    def _names(self) -> list[str]:
        return [signature(entry).name for entry in self.entries]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._names()]

    def __getattr__(self, name: str) -> Kernel:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except Unknown as error:
            raise AttributeError(str(error)) from None

    def __getitem__(self, name: str) -> Kernel:
        """The kernel of a name, or of a name expression, as in ``scale<float>``, for which a template is instantiated."""
        if name not in self._kernels:
            self._kernels[name] = Kernel(self, self._entry(name))
        return self._kernels[name]

    def _entry(self, name: str) -> str:
        if name in self._expressions:
            return self._expressions[name]
        if name in self.entries:
            return name
        found = [entry for entry in self.entries if signature(entry).name == name]
        if len(found) == 1:
            return found[0]
        if found:
            kinds = ", ".join(f"'{signature(entry)}'" for entry in found)
            raise Unknown(f"several kernels of {self.name} are called {name}: {kinds}; name one by its types, as in module['(void (*)(float*)){name}']")
        is_expression = any(character in name for character in "<(&: ")
        if not is_expression:
            names = ", ".join(self._names()) or 'it has none: kernels are extern "C" __global__, or named by an expression as in module["scale<float>"]'
            raise Unknown(f"{self.name} has no kernel '{name}'; it has {names}" if self.entries else f"{self.name} has no kernel '{name}': {names}")
        self._compile([name])
        return self._expressions[name]

    def _variables(self) -> list[tuple[str, int, bool, bytes]]:
        # what a compiler makes of texts in quotes has names that C++ has not
        return [one for one in parsed(self.text).variables() if one[0].isidentifier() and not one[0].startswith("__unnamed")]

    def _launch(self, kernel: Kernel, grid: Any, block: Any, args: Sequence[Any], **options: Any) -> Launched:
        one = compiled(self.text, self._how, kernel.entry, None)
        parameters = one.about["parameters"]
        types = kernel.signature.types
        if len(args) != len(parameters):
            kinds = ", ".join(map(str, types or [kind for _, kind, _ in parameters]))
            raise PtxError(f"{kernel.__name__} takes {len(parameters)} arguments ({kinds}), not {len(args)}")
        given = list(args)
        for index, kind in enumerate(types if len(types) == len(args) else []):
            given[index] = kind.taken(args[index], index)
        held = self.variables.held
        unset = [name for name, _, is_constant, initial in one.about["variables"] if is_constant and not initial and name not in held]
        if unset:
            warnings.warn(
                f"{kernel.__name__} may read __constant__ {', '.join(unset)}, which nobody has set: it is zero; module.variables['{unset[0]}'] = … sets it",
                Assumed,
                stacklevel=4,
            )
        # launches that may write to variables come one after the other
        writes = any(not is_constant for _, _, is_constant, _ in one.about["variables"])
        with self._lock if writes else contextlib.nullcontext():
            variables = {name: held[name] for name, *_ in one.about["variables"] if name in held}
            launched = run(one, grid, given, block=block, variables=variables, **options)
            held.update(launched.variables)
        return launched
