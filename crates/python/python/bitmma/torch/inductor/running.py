"""What the code that Inductor wrote runs on: memory of the CPU, and one GPU that is idle."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Callable

import torch

from ...errors import Error
from ..pretend import memory
from .seeds import SEEDS

if TYPE_CHECKING:
    from .backend import Backend


class _Here(threading.local):
    """The backend whose graph this thread runs. Code that is equal is loaded once, for whichever backend runs it."""

    backend: Backend | None = None
    graph = 0
    cleared = False


_HERE = _Here()


@contextlib.contextmanager
def running(backend: Backend, graph: int = 0) -> Iterator[None]:
    """In this block kernels are launched for this backend, by its graph of this number."""
    before, _HERE.backend, _HERE.graph = (_HERE.backend, _HERE.graph), backend, graph
    try:
        yield
    finally:
        _HERE.backend, _HERE.graph = before


@contextlib.contextmanager
def cleared() -> Iterator[None]:
    """In this block new memory is zero, so that two runs are alike where nothing is written."""
    _HERE.cleared = True
    try:
        yield
    finally:
        _HERE.cleared = False


def graph() -> int:
    """The number of the graph that this thread runs."""
    return _HERE.graph


def backend() -> Backend | None:
    """The one whose graph this thread runs."""
    return _HERE.backend


def is_inside() -> bool:
    """Whether this thread runs a graph."""
    return _HERE.backend is not None


def runs_for(backend: Backend) -> bool:
    """Whether this thread runs a graph of a backend."""
    return _HERE.backend is backend


def launch(kernel: Any, *about: Any) -> None:
    """A kernel of a graph, as Triton's launcher is called."""
    if _HERE.backend is None:
        raise Error("a kernel that was compiled for a chip is launched outside of its graph")
    _HERE.backend.launcher.launch(kernel, *about)


class _Guard(contextlib.nullcontext[None]):
    """``torch.cuda._DeviceGuard``: there is one GPU."""


class _Cuda:
    """``torch.cuda`` as that code uses it."""

    _DeviceGuard = _Guard

    @staticmethod
    def set_device(device: Any) -> None:
        """There is one."""

    @staticmethod
    def synchronize(device: Any = None) -> None:
        """All is done."""

    def __getattr__(self, name: str) -> Any:
        return getattr(torch.cuda, name)


class _Torch:
    """``torch`` as that code uses it."""

    cuda = _Cuda()

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)


class _Randint:
    """``torch.ops.aten.randint``, by which that code draws seeds."""

    def low_out(self, low: int, high: int, size: Any, *, out: torch.Tensor) -> torch.Tensor:
        """Whole numbers from ``low`` to below ``high``."""
        if out.dtype == torch.int64 and high - low >= 1 << 32:
            return SEEDS.draw(low, high, size, out=out)
        return torch.ops.aten.randint.low_out(low, high, size, out=out)

    def __getattr__(self, name: str) -> Any:
        return getattr(torch.ops.aten.randint, name)


class _Aten:
    """``torch.ops.aten`` as that code uses it."""

    randint = _Randint()

    def __getattr__(self, name: str) -> Any:
        return getattr(torch.ops.aten, name)


def empty_strided(size: Any, stride: Any, dtype: Any) -> torch.Tensor:
    """Memory as that code asks for it."""
    made = torch.empty_strided(size, stride, dtype=dtype, device="cpu")
    if _HERE.cleared:
        torch.empty(0, dtype=torch.uint8).set_(made.untyped_storage()).zero_()
    return made


def settled(plain: Callable[..., Any]) -> Callable[..., Any]:
    """What loads code that Inductor wrote: that of a graph is given what it runs on."""

    def load(*args: Any, **kwargs: Any) -> Any:
        module = plain(*args, **kwargs)
        if hasattr(module, "call"):
            _settle(vars(module))
        return module

    return load


def _settle(scope: dict[str, Any]) -> None:
    """``scope``: the names that the code knows."""
    for name, value in list(scope.items()):
        if value is torch:
            scope[name] = _Torch()
        elif value is torch.ops.aten:
            scope[name] = _Aten()
        elif value is torch.device:  # of a call outside
            scope[name] = lambda *about, **named: memory.CPU
        elif isinstance(value, torch.Tensor) and value.is_cuda:  # constants that the compiler made
            scope[name] = memory.to_host(value)
