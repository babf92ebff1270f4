"""``torch.compile`` inside of an emulation: PyTorch runs the function as it is written there, operation by operation, which a warning says."""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Callable
from unittest import mock

import torch

from ..errors import Error, NotCompiled
from . import threads
from .settings import Shared

if TYPE_CHECKING:
    from .emulation import emulate

#: Where PyTorch decides what becomes of a compiled function that is called.
_MODULE, _NAME = "torch._dynamo.eval_frame", "_callback_from_stance"


def _watched(plain: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def decide(callback: Any) -> Any:
        frame = sys._getframe(1)
        if not callable(callback) or frame.f_code.co_name == "__exit__":
            return plain(callback)
        try:
            emulation: emulate | None = threads.acting()
        except Error:  # several are on in other threads
            return plain(callback)
        if emulation is None:
            return plain(callback)
        label = emulation.arithmetic.label
        warnings.warn(
            f"{_called(frame.f_locals.get('fn'))} is compiled by torch.compile and runs as written inside of the emulation of {label}: nothing is fused, and between "
            f"its products the results are not those of compiled code; bitmma.torch.compile(model, chip), called outside, computes what compiled code does on a GPU",
            NotCompiled,
            stacklevel=3,
        )
        return None  # in threads that take part, too

    return decide


def _called(function: Any) -> str:
    while inspect.isfunction(function) and function.__code__.co_filename.endswith("external_utils.py"):  # PyTorch's wrapper of what it cannot look into
        function = inspect.getclosurevars(function).nonlocals.get("fn")
    owner = getattr(function, "__self__", function)
    return type(owner).__qualname__ if isinstance(owner, torch.nn.Module) else str(getattr(function, "__qualname__", "a function"))


@contextmanager
def _deciding() -> Iterator[None]:
    module = sys.modules[_MODULE]
    with mock.patch.object(module, _NAME, _watched(getattr(module, _NAME))):
        yield


@contextmanager
def _watching() -> Iterator[None]:
    if _MODULE in sys.modules:
        with _deciding():
            yield
        return
    plain, watched = torch.compile, False

    def compile(*args: Any, **kwargs: Any) -> Any:
        nonlocal watched
        found = plain(*args, **kwargs)  # imports PyTorch's compiler, which takes seconds
        if not watched and _MODULE in sys.modules:
            watched = True
            WATCHED.also(_deciding)
        return found

    with mock.patch.object(torch, "compile", compile):
        yield


#: While some emulation is on.
WATCHED = Shared(_watching)
