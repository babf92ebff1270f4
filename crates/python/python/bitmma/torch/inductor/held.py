"""What a run reads and changes: tensors and numbers that a model, its inputs, functions, optimizers and other objects hold, by name."""

from __future__ import annotations

import dis
import enum
import functools
import hashlib
import types
from collections.abc import Iterator, Mapping
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
        self.digests = {path: one for name, value in roots.items() for path, one in self._of(name, value)}
        self._of_gradients = {name: digest(value) for name, value in self.gradients.items()}

    @property
    def objects(self) -> list[Any]:
        """All that was reached but numbers and strings, in order."""
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
            # numbers of a module are compiled into its graphs
            for kind in _PARTS:
                for name, one in value.__dict__.get(kind, {}).items():
                    yield from self._of(f"{path}.{name}", one, False)
            for name, one in value.__dict__.items():
                if name not in _PARTS:
                    # hooks are numbered as the process made them
                    one = list(one.values()) if "_hooks" in name and isinstance(one, Mapping) else one
                    yield from self._of(f"{path}.{name}", one, False)
        elif isinstance(value, Optimizer):
            yield from self._of_optimizer(path, value)
        elif isinstance(value, Wrapper):
            yield from self._of(path, value._model, numbers)
        elif isinstance(value, Mapping):
            for place, (name, one) in enumerate(value.items()):
                label = repr(name) if isinstance(name, (str, int, float, bool, tuple)) else f"item {place}"
                yield from self._of(f"{path}[{label}]", one, numbers)
        elif isinstance(value, (list, tuple)):
            if len(value) > 8 and all(type(one) in _NUMBERS for one in value):
                if numbers:
                    yield path, digest(repr(value))
                return
            for place, one in enumerate(value):
                yield from self._of(f"{path}[{place}]", one, numbers)
        elif isinstance(value, (set, frozenset)) and all(isinstance(one, (*_NUMBERS, str)) for one in value):
            if numbers:
                yield path, digest(repr(sorted(value, key=repr)))
        elif isinstance(value, types.MethodType):
            yield from self._of(path, value.__self__, numbers)
            yield from self._of_function(path, value.__func__)
        elif isinstance(value, functools.partial):
            yield from self._of(path, value.func, numbers)
            yield from self._of(f"{path}.args", value.args, numbers)
            yield from self._of(f"{path}.keywords", value.keywords, numbers)
        elif isinstance(value, types.FunctionType):
            yield from self._of_function(path, value)
        elif hasattr(type(value), "state_dict") and _library(type(value)):  # schedulers and scalers
            yield from self._of(path, value.state_dict(), numbers)
            yield from self._of(f"{path}.optimizer", getattr(value, "optimizer", None), numbers)
        elif not isinstance(value, (type, types.ModuleType)) and not _library(type(value)):
            yield from self._of_attributes(path, value, numbers)
        elif self._strict and not callable(value):
            raise CertificateError(f"{path} is {_what(value)}, which has no digest that is the same on another machine; tensors, arrays, numbers, strings and objects that hold them have one")

    def _of_attributes(self, path: str, value: Any, numbers: bool) -> Iterator[tuple[str, str]]:
        names = [name for kind in type(value).__mro__ for name in _slots(kind)]
        attributes = {**{name: getattr(value, name) for name in names if hasattr(value, name)}, **getattr(value, "__dict__", {})}
        if not attributes and self._strict:
            raise CertificateError(f"{path} is {_what(value)}, which holds nothing that has a digest")
        for name, one in attributes.items():
            yield from self._of(f"{path}.{name}", one, numbers)

    def _of_optimizer(self, path: str, value: Optimizer) -> Iterator[tuple[str, str]]:
        """As its ``state_dict``, where parameters are numbered."""
        state = Optimizer.state_dict(value)
        parameters = [one for group in value.param_groups for one in group["params"]]
        yield from self._of(f"{path}.parameters", parameters)
        for place, group in enumerate(state["param_groups"]):
            yield from self._of(f"{path}.group {place}", {name: one for name, one in group.items() if name != "params"})
        yield from self._of(f"{path}.state", state["state"])

    def _of_function(self, path: str, function: Any) -> Iterator[tuple[str, str]]:
        """What it encloses, its defaults, and what it calls by a global name."""
        while isinstance(function, types.FunctionType) and hasattr(function, "__wrapped__") and _library(function):
            function = function.__wrapped__
        if not isinstance(function, types.FunctionType) or _library(function):
            return
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            try:
                yield from self._of(f"{path}.{name}", cell.cell_contents)
            except ValueError:  # it is empty
                pass
        yield from self._of(f"{path}.defaults", [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()])
        for name in sorted(_globals(function.__code__)):
            if name in function.__globals__:
                yield from self._of(f"{path}.{name}", function.__globals__[name])


def _slots(kind: type) -> tuple[str, ...]:
    found = kind.__dict__.get("__slots__", ())
    return (found,) if isinstance(found, str) else tuple(found)


def _library(what: Any) -> bool:
    return (getattr(what, "__module__", None) or "builtins").split(".")[0] in _LIBRARIES


def _globals(code: types.CodeType) -> set[str]:
    """Global names that code reads, also that of functions in it."""
    found = {one.argval for one in dis.get_instructions(code) if one.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return found.union(*(_globals(one) for one in code.co_consts if isinstance(one, types.CodeType)))


def differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Names of what is not the same, in order."""
    missing = object()
    return [name for name in {**one, **other} if one.get(name, missing) != other.get(name, missing)]
