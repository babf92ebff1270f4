"""Kernels of other packages: CuPy's, cuda.core's, Numba's."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .._lazy import numpy as np
from ..errors import CudaError
from . import _sass
from ._chips import capability
from ._launch import Launched, compiled, run
from ._module import Module


class Source(NamedTuple):
    """CUDA C++ with its options and name expressions, and the kernel that is meant."""

    text: str
    options: Sequence[str]
    names: Sequence[str]
    kernel: str


def taken(source: Any, chip: str, how: _sass.How) -> Source | Module | NumbaKernel | None:
    """What an object of another package stands for; None if it is of none."""
    package, kind = type(source).__module__.split(".")[0], type(source).__name__
    if package == "cupy" and kind in ("RawModule", "RawKernel"):
        text = source.code if source.code is not None else Path(source.file_path).read_text()
        return Source(text, source.options or (), getattr(source, "name_expressions", None) or (), getattr(source, "name", ""))
    if package == "cuda" and kind == "ObjectCode":
        if source.code_type != "ptx":
            raise CudaError(f"the ObjectCode holds {source.code_type}; PTX is needed: program.compile('ptx')")
        text = source.code if isinstance(source.code, bytes) else Path(source.code).read_bytes()
        return _of_ptx(text.rstrip(b"\0").decode(), dict(source.symbol_mapping or {}), source.name or "ObjectCode", chip, how)
    if kind == "CUDADispatcher" and hasattr(source, "py_func"):
        return NumbaKernel(source, chip, how)
    return None


def _of_ptx(text: str, known: dict[Any, Any], name: str, chip: str, how: _sass.How) -> Module:
    """A module of a text, with the entries of its name expressions."""

    def compile(expressions: tuple[str, ...]) -> tuple[str, list[str], str, str]:
        names = {_text(key): _text(value) for key, value in known.items()}
        missing = [one for one in expressions if one not in names]
        if missing:
            raise CudaError(f"{missing[0]} is not compiled: give it to program.compile as one of name_expressions")
        return text, [names[one] for one in expressions], "", ""

    return Module(compile, name, chip, how, list(map(_text, known)))


def _text(name: Any) -> str:
    return name.decode() if isinstance(name, bytes) else str(name)


class NumbaKernel:
    """A kernel of ``numba.cuda.jit`` on a chip: ``kernel[grid, block](x, y, 2.0)``. It is compiled for the types of its arguments."""

    def __init__(self, dispatcher: Any, chip: str, how: _sass.How) -> None:
        self._dispatcher, self._capability, self._how = dispatcher, capability(chip, 70), how
        self.__name__ = dispatcher.py_func.__name__
        self._texts: dict[Any, str] = {}

    def __getitem__(self, sizes: Any) -> Any:
        grid, block, *rest = sizes if isinstance(sizes, tuple) else (sizes, None)
        if block is None:
            raise CudaError(f"a launch is {self.__name__}[blocks, threads](…)")
        # as Numba's: the stream, and bytes of dynamic shared memory
        shared = rest[1] if len(rest) > 1 else 0
        return lambda *args: self.launch(grid, block, *args, shared=shared)

    def launch(self, grid: Any, block: Any, *args: Any, shared: int = 0, **options: Any) -> Launched:
        """Runs it. ``options`` are those of ``launch_ptx``."""
        from numba import cuda, typeof

        torch = sys.modules.get("torch")
        given = [one.numpy() if torch is not None and isinstance(one, torch.Tensor) else one for one in args]
        types = tuple(map(typeof, given))
        if types not in self._texts:
            cc = divmod(self._capability, 10)
            flags = {key: value for key, value in self._dispatcher.targetoptions.items() if key in ("debug", "lineinfo", "opt", "fastmath")}
            self._texts[types] = cuda.compile_ptx(self._dispatcher.py_func, types, cc=cc, **flags)[0]
        one = compiled(self._texts[types], self._how, None, None)
        flat, names = [], []
        for index, value in enumerate(given):
            parts = _parts(value)
            flat += parts
            names += [f"{index}"] * len(parts)
        return run(one, grid, flat, block=block, shared=shared, names=names, **options)


def _parts(value: Any) -> list[Any]:
    """An argument as Numba passes it: of an array who owns it, its parent, elements, bytes of each, where they are, sizes and steps."""
    if isinstance(value, np.ndarray):
        return [None, None, value.size, value.itemsize, value, *value.shape, *value.strides]
    return [value]
