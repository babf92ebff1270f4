"""What a run reads and changes: tensors and numbers that a model, its inputs, functions, optimizers and other objects hold, by name."""

from __future__ import annotations

import collections
import dis
import enum
import functools
import hashlib
import sys
import types
from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.optim import Optimizer
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from ...errors import Error

#: Whose objects hold nothing of a run but what is named below.
_LIBRARIES = {"bitmma", "builtins", "functools", "numpy", "threading", "torch", "triton", "types"}
_NUMBERS = (bool, int, float, complex)
#: What a module has besides what it computes with.
_PARTS = ("_parameters", "_buffers", "_modules")
#: What is held in order.
_SEQUENCES = (list, tuple, collections.deque, KeysView, ValuesView, ItemsView)


class CertificateError(Error):
    """A file that is no certificate, one that was changed, or a run of which none can be made."""


class Wrapper:
    """Made from a model, whose state it shares."""

    _model: Any


def digest(value: Any) -> str:
    """Of the dtype, shape and bytes of a tensor or an array; of numbers, strings and the like what they print. An error for what prints an address."""
    found = hashlib.sha256()
    for part in _parts(value):
        found.update(part)
    return found.hexdigest()


def _parts(value: Any) -> Iterator[bytes]:
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype != object:
        yield f"numpy {value.dtype.str} {value.shape} ".encode() + value.tobytes()
    elif isinstance(value, torch.Tensor):
        yield from _of_tensor(value.detach())
    elif isinstance(value, torch.Generator):
        yield from _of_tensor(value.get_state())
    elif isinstance(value, enum.Enum):
        yield f"{type(value).__qualname__}.{value.name}".encode()
    elif isinstance(value, (*_NUMBERS, str, bytes, type(None), torch.dtype, torch.device, torch.layout, torch.memory_format)):
        yield repr(value).encode()
    else:
        raise CertificateError(f"{_what(value)} has no digest that is the same on another machine; tensors, arrays, numbers and strings have one")


def _what(value: Any) -> str:
    return f"a value of type {type(value).__name__}"


def _of_tensor(value: torch.Tensor) -> Iterator[bytes]:
    yield f"{value.dtype} {tuple(value.shape)} ".encode()
    if is_traceable_wrapper_subclass(value):
        names, _ = value.__tensor_flatten__()
        for name in names:
            yield f"{type(value).__name__}.{name} ".encode()
            yield from _of_tensor(getattr(value, name))
    elif value.layout is torch.sparse_coo:
        yield from (*_of_tensor(value._indices()), *_of_tensor(value._values()))
    elif value.layout in (torch.sparse_csr, torch.sparse_bsr):
        yield from (*_of_tensor(value.crow_indices()), *_of_tensor(value.col_indices()), *_of_tensor(value.values()))
    elif value.layout is not torch.strided or value.is_quantized or value.is_meta or value.is_nested:
        raise CertificateError(f"a tensor of layout {value.layout} and dtype {value.dtype} on {value.device} has no digest; dense and sparse ones with values have one")
    else:
        plain = value.cpu().resolve_conj().resolve_neg().contiguous()
        # of any length: a large one is not copied
        yield plain.view(-1).view(torch.uint8).numpy().data if plain.numel() else b""  # type: ignore[misc]


class Held:
    """Digests of what is reached from some objects, by where it is: ``model.norm.weight``, ``optimizer.state[0]['exp_avg']``. Each tensor is named once.

    ``strict`` says that nothing may be left out: also strings count, and what has no digest is an error.
    """

    def __init__(self, roots: Mapping[str, Any], *, strict: bool = False) -> None:
        self._strict = strict
        self._seen: dict[int, Any] = {}  # objects that live as long as this, as their addresses are compared
        #: Gradients by name, which are not among the digests.
        self.gradients: dict[str, torch.Tensor] = {}
        self.digests: dict[str, str] = {}
        for name, value in roots.items():
            for path, one in self._of(name, value):
                while path in self.digests:  # two objects may have one name
                    path += "'"
                self.digests[path] = one
        self._of_gradients = {name: digest(value) for name, value in self.gradients.items()}

    @property
    def objects(self) -> list[Any]:
        """All that was reached but numbers, strings and what cannot change, in order."""
        return list(self._seen.values())

    def changed(self, after: Held) -> dict[str, str | None]:
        """Digests of what is another value afterwards, or a new gradient; None of what is gone."""
        found = {name: after.digests.get(name) for name in differing(self.digests, after.digests)}
        for name in {**self.gradients, **after.gradients}:
            one, other = self.gradients.get(name), after.gradients.get(name)
            if one is not other or self._of_gradients.get(name) != after._of_gradients.get(name):
                found[name] = after._of_gradients.get(name)
        return found

    def _of(self, path: str, value: Any, numbers: bool = True) -> Iterator[tuple[str, str]]:
        """``numbers``: whether those count, and not only tensors."""
        if isinstance(value, (*_NUMBERS, np.generic)):
            if numbers:
                yield path, digest(value)
            return
        if isinstance(value, (str, bytes, type(None), enum.Enum, torch.dtype, torch.device, torch.layout, torch.memory_format)):
            if self._strict:
                yield path, digest(value)
            return
        name = _name(value) if self._strict else None
        if name is not None:
            yield path, digest(name)
            return
        if isinstance(value, (tuple, frozenset, types.MethodType)):  # equal ones may be one object or several
            yield from self._of_object(path, value, numbers)
            return
        if isinstance(value, torch.SymInt) or id(value) in self._seen:
            return
        self._seen[id(value)] = value
        if isinstance(value, (torch.Tensor, torch.Generator)) or (isinstance(value, np.ndarray) and value.dtype != object):
            yield path, digest(value)
            if isinstance(value, torch.Tensor) and value.is_leaf and value.grad is not None:
                self.gradients[f"{path}.grad"] = value.grad
        else:
            yield from self._of_object(path, value, numbers)

    def _of_object(self, path: str, value: Any, numbers: bool) -> Iterator[tuple[str, str]]:
        if isinstance(value, torch.nn.Module):
            yield from self._of_module(path, value)
        elif isinstance(value, Optimizer):
            yield from self._of_optimizer(path, value)
        elif isinstance(value, Wrapper):
            yield from self._of(path, value._model, numbers)
        elif isinstance(value, (Mapping, *_SEQUENCES, set, frozenset)):
            if self._strict and not value:
                yield path, digest("empty")
            yield from self._of_items(path, value, numbers)
            if not _library(type(value)):
                for name, one in getattr(value, "__dict__", {}).items():
                    yield from self._of(f"{path}.{name}", one, numbers)
                yield from self._of_class(path, value, numbers)
        elif isinstance(value, np.ndarray):
            yield from self._of(path, value.tolist(), numbers)
        elif isinstance(value, types.MethodType):
            yield from self._of(path, value.__self__, numbers)
            if self._strict:
                yield f"{path}.__func__", digest(value.__func__.__qualname__)
            if inside(value.__func__):
                yield from self._of(path, value.__func__, numbers)
        elif isinstance(value, types.BuiltinMethodType) and not isinstance(value.__self__, (type, types.ModuleType, type(None))):
            yield from self._of(path, value.__self__, numbers)
            if self._strict:
                yield f"{path}.__func__", digest(value.__qualname__)
        elif isinstance(value, functools.partial):
            yield from self._of(path, value.func, numbers)
            yield from self._of(f"{path}.args", value.args, numbers)
            yield from self._of(f"{path}.keywords", value.keywords, numbers)
        elif isinstance(value, functools._lru_cache_wrapper):
            yield from self._of(path, value.__wrapped__, numbers)
        elif isinstance(value, types.FunctionType):
            held = inside(value)
            if self._strict and not held:
                raise CertificateError(f"{path} is the function {value.__qualname__}, which holds nothing that has a digest; let the step name it instead")
            for name, one in held.items():
                yield from self._of(f"{path}.{name}", one)
        elif isinstance(value, type):
            if _users(value):
                yield from self._of_type(path, value, numbers)
        elif hasattr(type(value), "state_dict") and _library(type(value)):  # schedulers and scalers
            yield from self._of(path, value.state_dict(), numbers)
            yield from self._of(f"{path}.optimizer", getattr(value, "optimizer", None), numbers)
        elif isinstance(value, types.SimpleNamespace) or not (isinstance(value, types.ModuleType) or _library(type(value))):
            yield from self._of_attributes(path, value, numbers)
        elif self._strict:
            raise CertificateError(f"{path} is {_what(value)}, which has no digest that is the same on another machine; tensors, arrays, numbers, strings and objects that hold them have one")

    def _of_items(self, path: str, value: Any, numbers: bool) -> Iterator[tuple[str, str]]:
        if isinstance(value, Mapping):
            for place, (name, one) in enumerate(value.items()):
                printed = all(isinstance(each, (str, *_NUMBERS)) for each in (name if isinstance(name, tuple) else [name]))
                if not printed and self._strict:
                    yield from self._of(f"{path}.key {place}", name, numbers)
                yield from self._of(f"{path}[{repr(name) if printed else f'item {place}'}]", one, numbers)
            return
        if isinstance(value, (set, frozenset)):
            value = sorted(value, key=self._content)
        if len(value) > 8 and all(type(one) in _NUMBERS for one in value):
            if numbers:
                yield path, digest(repr(list(value)))
            return
        for place, one in enumerate(value):
            yield from self._of(f"{path}[{place}]", one, numbers)

    def _content(self, value: Any) -> list[tuple[str, str]]:
        """By which the elements of a set are put in order."""
        if isinstance(value, (*_NUMBERS, str)):
            return [("", repr(value))]
        alone = Held({}, strict=self._strict)
        alone._seen = dict(self._seen)
        return list(alone._of("", value))

    def _of_attributes(self, path: str, value: Any, numbers: bool) -> Iterator[tuple[str, str]]:
        names = [name for kind in type(value).__mro__ for name in _slots(kind)]
        attributes = {**{name: getattr(value, name) for name in names if hasattr(value, name)}, **getattr(value, "__dict__", {})}
        if not attributes and self._strict:
            raise CertificateError(f"{path} is {_what(value)}, which holds nothing that has a digest")
        for name, one in attributes.items():
            yield from self._of(f"{path}.{name}", one, numbers)
        yield from self._of_class(path, value, numbers)

    def _of_class(self, path: str, value: Any, numbers: bool) -> Iterator[tuple[str, str]]:
        """What the class of an object holds, which its methods may change."""
        if not self._strict:
            yield from self._of(f"{path}.__class__", type(value), numbers)

    def _of_type(self, path: str, kind: type, numbers: bool) -> Iterator[tuple[str, str]]:
        """Attributes of a class that are not its methods, and what it does when it is called."""
        for name, one in list(vars(kind).items()):
            if name == "__call__" or not (name.startswith("__") or hasattr(type(one), "__get__")):
                yield from self._of(f"{path}.{name}", one, numbers)
        for base in kind.__bases__:
            yield from self._of(f"{path}.{base.__name__}", base, numbers)

    def _of_module(self, path: str, value: torch.nn.Module) -> Iterator[tuple[str, str]]:
        """Numbers of a module are compiled into its graphs; those of one that is an input count."""
        if self._strict:
            yield from self._of(f"{path}.__class__", type(value))
        for kind in _PARTS:
            for name, one in value.__dict__.get(kind, {}).items():
                yield from self._of(f"{path}.{name}", one, self._strict)
        for name, one in value.__dict__.items():
            if name not in _PARTS:
                yield from self._of(f"{path}.{name}", _hooks(name, one), self._strict)
        yield from self._of_class(path, value, False)

    def _of_optimizer(self, path: str, value: Optimizer) -> Iterator[tuple[str, str]]:
        """As its ``state_dict``, where parameters are numbered, and whatever else it has."""
        state = Optimizer.state_dict(value)
        parameters = [one for group in value.param_groups for one in group["params"]]
        yield from self._of(f"{path}.parameters", parameters)
        for place, group in enumerate(state["param_groups"]):
            yield from self._of(f"{path}.group {place}", {name: one for name, one in group.items() if name != "params"})
        yield from self._of(f"{path}.state", state["state"])
        for name, one in vars(value).items():
            if name not in ("state", "param_groups", "defaults"):
                yield from self._of(f"{path}.{name}", _hooks(name, one))
        yield from self._of_class(path, value, True)


def _hooks(name: str, value: Any) -> Any:
    """Hooks are numbered as the process made them."""
    return list(value.values()) if "_hooks" in name and isinstance(value, Mapping) else value


def inside(function: Any) -> dict[str, Any]:
    """What a user's function encloses, its defaults and attributes, and what it reads and writes by a global name, also of users' modules."""
    while isinstance(function, types.FunctionType) and hasattr(function, "__wrapped__") and _library(function):
        function = function.__wrapped__
    if not isinstance(function, types.FunctionType) or _library(function):
        return {}
    found: dict[str, Any] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # it is empty
            pass
    defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    found.update({"defaults": defaults} if defaults else {})
    found.update({"__dict__": vars(function)} if vars(function) else {})
    codes = list(_codes(function.__code__))
    for name in sorted(_named_by(codes, "LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL") & function.__globals__.keys()):
        found.setdefault(name, function.__globals__[name])
    for name in sorted(_named_by(codes, "IMPORT_NAME") & sys.modules.keys()):
        found.setdefault(name, sys.modules[name])
    names = {name for code in codes for name in code.co_names}
    for name in [name for name, one in found.items() if isinstance(one, types.ModuleType)]:
        found.update(_of_file(name, found.pop(name), names))
    return found


def _of_file(path: str, module: types.ModuleType, names: set[str]) -> Iterator[tuple[str, Any]]:
    """What a user's module has of these names."""
    for name in sorted(names & vars(module).keys()) if _users(module) else ():
        one = vars(module)[name]
        if isinstance(one, types.ModuleType):
            yield from _of_file(f"{path}.{name}", one, names - {name})
        else:
            yield f"{path}.{name}", one


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """Code, and that of functions in it."""
    yield code
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            yield from _codes(one)


def _named_by(codes: list[types.CodeType], *operations: str) -> set[str]:
    return {one.argval for code in codes for one in dis.get_instructions(code) if one.opname in operations}


def _slots(kind: type) -> tuple[str, ...]:
    found = kind.__dict__.get("__slots__", ())
    return (found,) if isinstance(found, str) else tuple(found)


def _root(what: Any) -> str:
    """The package that something is of."""
    name = what.__name__ if isinstance(what, types.ModuleType) else getattr(what, "__module__", None)
    return (name or "builtins").split(".")[0]


def _library(what: Any) -> bool:
    return _root(what) in _LIBRARIES


def _users(what: Any) -> bool:
    """Whether a module, class or function is neither Python's nor of an installed package."""
    root = _root(what)
    folders = Path(getattr(sys.modules.get(root), "__file__", None) or "").parts
    installed = root in sys.stdlib_module_names or "site-packages" in folders or "dist-packages" in folders
    return root == "__main__" or not (root in _LIBRARIES or installed)


def _name(value: Any) -> str | None:
    """Of a class, or a function of a library."""
    if isinstance(value, type):
        return value.__qualname__ if _users(value) else f"{value.__module__}.{value.__qualname__}"
    own = getattr(value, "__self__", None)
    if isinstance(value, (types.FunctionType, types.BuiltinFunctionType, np.ufunc)) and isinstance(own, (type, types.ModuleType, type(None))) and not _users(value):
        return f"{_root(value)}.{getattr(value, '__qualname__', value.__name__)}"
    return None


def differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Names of what is not the same, in order."""
    missing = object()
    return [name for name in {**one, **other} if one.get(name, missing) != other.get(name, missing)]
