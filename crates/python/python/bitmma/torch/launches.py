"""Launches of Triton kernels inside of a model: with the bits of a chip (``kernels="h100"``), or named as the host's."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Callable
from unittest import mock

from ..errors import Error, OptionError
from ..kernels import _device
from ..kernels._triton import LISTENERS
from . import tasks, threads
from .apart import is_apart
from .._lock import LOCK
from .settings import Shared

if TYPE_CHECKING:
    from .emulation import emulate

#: Where Triton launches kernels itself: on a GPU, and in its interpreter.
_LAUNCHERS = (("triton.runtime.jit", "JITFunction"), ("triton.runtime.interpreter", "InterpretedFunction"))


def on_chip(chip: str, emulation: emulate) -> AbstractContextManager[None]:
    """Every launch on CPU tensors as on the chip, also in threads that take part in the emulation."""
    try:
        import triton.runtime.jit  # noqa: F401
    except ImportError as error:
        raise OptionError(f"kernels is {chip!r}: {error}; install Triton, or leave kernels out") from None
    return emulation.launcher(chip).active(shared=lambda: threads.takes_part(emulation) and not is_apart())


def _ran_on_chip(kernel: Any, chip: str) -> None:
    """A kernel runs with the bits of a chip."""
    try:
        emulation: emulate | None = threads.acting()
    except Error:  # the thread has entered a chip alone, and others have entered several emulations
        return
    if emulation is not None:
        tasks.check(emulation)
        with LOCK:
            emulation.account.kernels[f"{_name(kernel)}: PTX for {chip}"] += 1


def _watched(run: Callable[..., Any]) -> Callable[..., Any]:
    """Triton's own launch, counted as the host's; one that multiplies matrices as a product that was left."""

    def watched(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = run(self, *args, **kwargs)
        if hasattr(self, "device_caches") and _device.current() is not None:
            return result  # what runs with the bits of a chip tells by itself
        emulation: emulate | None = threads.acting()
        if emulation is not None:
            what = f"Triton kernel {_name(self)}"
            if re.search(r"\bdot\w*\(", _source(self)):
                emulation.left.count(f"{what}: Triton computes its products by itself; kernels= names a GPU on which it is emulated")
            else:
                with LOCK:
                    emulation.account.host["other"][what] += 1
                    emulation.account.machine[what] += 1
        return result

    return watched


def _name(kernel: Any) -> str:
    while not hasattr(kernel, "__name__") and hasattr(kernel, "fn"):
        kernel = kernel.fn
    return str(getattr(kernel, "__name__", "kernel"))


def _source(kernel: Any) -> str:
    try:
        return inspect.getsource(kernel.fn)
    except (OSError, TypeError):
        return ""


@contextmanager
def _watching() -> Iterator[None]:
    LISTENERS.append(_ran_on_chip)
    try:
        yield
    finally:
        LISTENERS.remove(_ran_on_chip)


#: While some emulation is on.
WATCHED = Shared(_watching)


def look() -> None:
    """Triton's own launches are watched from when it is imported, which takes seconds."""
    for module, kind in _LAUNCHERS:
        launcher = getattr(sys.modules.get(module), kind, None)
        run = getattr(launcher, "run", None)
        if run is not None and run.__module__ == module:
            WATCHED.also(lambda launcher=launcher, run=run: mock.patch.object(launcher, "run", _watched(run)))  # type: ignore[misc]
