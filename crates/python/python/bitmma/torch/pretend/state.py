"""Whether there seems to be a GPU, and whether this thread computes for it."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import torch

#: Set while :func:`bitmma.torch.pretend.pretend` is on.
IS_ON = False

#: What was refused, by operation.
REFUSED: Counter[str] = Counter()


class _Here(threading.local):
    depth = 0


_here = _Here()


@contextmanager
def working() -> Iterator[None]:
    """What this thread computes on the CPU is the GPU's."""
    _here.depth += 1
    try:
        if torch.is_autocast_enabled("cpu"):  # which is the CPU's
            with torch.autocast("cpu", enabled=False):
                yield
        else:
            yield
    finally:
        _here.depth -= 1


def is_the_cpus() -> bool:
    """Whether what this thread computes on CPU tensors is the CPU's own: there is a GPU, and this is not done for it."""
    return IS_ON and not _here.depth
