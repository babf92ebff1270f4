"""The seeds of a graph's random numbers, as PyTorch draws them on a GPU after ``torch.manual_seed``.

Kernels of Inductor compute Philox (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011) from a seed, which the code draws by
``aten.randint.low_out`` of 64 bits: on a GPU by curand's Philox, thread i the i-th sequence, each call four numbers further (ATen's
``DistributionTemplates.h``). No GPU has been asked.
"""

from __future__ import annotations

import contextlib
import inspect
import threading
from collections.abc import Iterator
from typing import Any

import torch

from ..pretend import generators

_MASK = (1 << 32) - 1
#: Numbers of 32 bits that a call takes of each thread's sequence.
_STEP = 4


def philox(key: int, sequence: int, offset: int) -> tuple[int, int, int, int]:
    """Philox4x32-10: four numbers of a sequence, from an offset that is a multiple of four on."""
    a, b = offset // 4 & _MASK, offset // 4 >> 32 & _MASK
    c, d = sequence & _MASK, sequence >> 32 & _MASK
    first, second = key & _MASK, key >> 32 & _MASK
    for _ in range(10):
        left, right = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = (right >> 32) ^ b ^ first, right & _MASK, (left >> 32) ^ d ^ second, left & _MASK
        first, second = (first + 0x9E3779B9) & _MASK, (second + 0xBB67AE85) & _MASK
    return a, b, c, d


class Seeds:
    """Draws from the generator of the GPU that there seems to be. Before that, ``torch.manual_seed`` starts it anew where PyTorch has left word of it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._since: Any = None

    def _next(self) -> tuple[int, int]:
        """The seed, and how far its numbers were taken."""
        # PyTorch keeps what is to be done when a GPU is first used: torch.manual_seed and torch.cuda.manual_seed leave a function
        calls = getattr(torch.cuda._lazy_seed_tracker, "call_order", [])
        since = calls[-1] if calls else self._since
        own = generators.DEFAULT
        with self._lock:
            if since is not self._since:
                self._since = since
                own.manual_seed(inspect.getclosurevars(since[0]).nonlocals["seed"])
            offset = own.offset
            own.offset += _STEP
        return int(own.start), offset

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """After this block the generators of GPU and CPU are as before, whatever seeds were set in it."""
        gpu, cpu = self.states()
        try:
            yield
        finally:
            torch.random.set_rng_state(cpu)
            self._next()
            generators.DEFAULT.set_state(gpu)

    def states(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Of the generators of GPU and CPU."""
        self._next()
        generators.DEFAULT.offset -= _STEP
        return generators.DEFAULT.get_state(), torch.random.get_rng_state()

    def draw(self, low: int, high: int, size: Any, *, out: torch.Tensor) -> torch.Tensor:
        """``randint.low_out`` of a range of more than 32 bits."""
        seed, offset = self._next()
        numbers = []
        for index in range(out.numel()):
            first, second, _, _ = philox(seed, index, offset)
            numbers.append((first << 32 | second) % (high - low) + low)
        return out.copy_(torch.tensor(numbers, dtype=torch.int64).view(out.shape))


#: Of this process.
SEEDS = Seeds()
