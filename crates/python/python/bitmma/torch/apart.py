"""Products of this package beside those of a model."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from torch.utils._python_dispatch import _disable_current_modes


class _Here(threading.local):
    depth = 0
    """How many of the contexts of :func:`apart` this thread is in."""


_here = _Here()


@contextmanager
def apart() -> Iterator[None]:
    """Products that reach PyTorch's kernels in this thread are meant to."""
    _here.depth += 1
    try:
        yield
    finally:
        _here.depth -= 1


def is_apart() -> bool:
    """Whether this thread is in such a context."""
    return _here.depth > 0


@contextmanager
def plain() -> Iterator[None]:
    """PyTorch as it is, without the emulation and other modes."""
    with apart(), _disable_current_modes():
        yield
