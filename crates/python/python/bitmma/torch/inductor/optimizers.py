"""What an optimizer chooses by the device of its parameters: on a GPU it updates them all at once (``foreach``) unless told otherwise, and rounds elsewhere."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import torch

from ...errors import Error
from .held import inside

#: Where PyTorch says on which devices parameters are updated at once.
_MODULE: Any = import_module("torch.optim.optimizer")
_NAME = "_get_foreach_kernels_supported_devices"
_plain: Any = getattr(_MODULE, _NAME, None)


class _Here(threading.local):
    depth = 0


_HERE = _Here()
_LOCK = threading.Lock()
_inside = 0


def check(model: Any) -> None:
    """An error for an optimizer that PyTorch compiles wrongly, whose step this is, or which it encloses: it runs the graph of the first step again, though there is momentum since."""
    for optimizer in (getattr(model, "__self__", None), *inside(model).values()):
        groups = optimizer.param_groups if isinstance(optimizer, torch.optim.SGD) else []
        for place, group in enumerate(groups):
            if group["momentum"] and not groups[0]["momentum"]:
                raise Error(f"parameter group 0 of SGD has no momentum, and group {place} has: PyTorch compiles its second step wrongly; put group {place} first")


def _devices() -> list[str]:
    """Also the CPU, in threads that run what is compiled for a chip."""
    return [*_plain(), "cpu"] if _HERE.depth else list(_plain())


#: What Dynamo asks while it records.
_ASKED: Any = torch.compiler.assume_constant_result(_devices)  # type: ignore[no-untyped-call]


@contextlib.contextmanager
def as_on_a_gpu() -> Iterator[None]:
    """In this block optimizers of this thread choose as on a GPU."""
    global _inside
    if _plain is None:
        raise NotImplementedError(f"torch.compile for a GPU that is not there does not know this PyTorch, {torch.__version__}: torch.optim.optimizer has no {_NAME}")
    with _LOCK:
        _inside += 1
        setattr(_MODULE, _NAME, _ASKED)
    _HERE.depth += 1
    try:
        yield
    finally:
        _HERE.depth -= 1
        with _LOCK:
            _inside -= 1
            if not _inside:
                setattr(_MODULE, _NAME, _plain)
