"""Kernels for CUDA that others register for PyTorch's operations: they are called, and run inside of the emulation."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any, Callable
from unittest import mock

from torch.library import Library

from .operations import FOREIGN, is_ours

_registered: dict[int, list[str]] = {}


def _inside(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that runs inside of the emulation that passed the operation on."""

    @functools.wraps(function)
    def inside(*args: Any, **kwargs: Any) -> Any:
        from .. import threads

        emulation = threads.passed()
        with contextlib.nullcontext() if emulation is None else emulation.again():
            return function(*args, **kwargs)

    return inside


@contextlib.contextmanager
def watched() -> Iterator[None]:
    """In this block kernels that others register are noted until they remove them."""
    plain, destroy = Library.impl, Library._destroy

    def impl(self: Library, op_name: Any, fn: Any, dispatch_key: str = "", *args: Any, **kwargs: Any) -> Any:
        key = dispatch_key or self.dispatch_key
        if key != "CUDA" or is_ours():
            return plain(self, op_name, fn, dispatch_key, *args, **kwargs)
        found = plain(self, op_name, _inside(fn) if callable(fn) else fn, dispatch_key, *args, **kwargs)
        name = op_name if isinstance(op_name, str) else op_name.name()
        name = name if "::" in name else f"{self.ns}::{name}"
        FOREIGN[name] += 1
        _registered.setdefault(id(self), []).append(name)
        return found

    def _destroy(self: Library) -> None:
        for name in _registered.pop(id(self), []):
            FOREIGN[name] -= 1
            if not FOREIGN[name]:
                del FOREIGN[name]
        destroy(self)

    with mock.patch.object(Library, "impl", impl), mock.patch.object(Library, "_destroy", _destroy):
        yield
