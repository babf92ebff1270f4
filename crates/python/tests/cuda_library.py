"""What the kernels of ``test_cuda_library.py`` have in common: a table of them, and the arithmetic of a GPU in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bitmma import functions

F32 = np.float32
#: Whose approximate functions the chips have, as far as is known (docs/functions.md).
TABLE = "v100"


class Case(NamedTuple):
    """A kernel, its launch, and what it must give."""

    name: str
    source: str
    run: Callable[[Any, str], tuple[Any, Any]]
    """Takes the module and the chip; returns what the kernel left and what it must leave."""
    within: float | None
    """None: bit for bit. Else the largest difference allowed, as a part of the largest expected number."""
    chips: tuple[str, ...]
    options: tuple[str, ...]
    names: tuple[str, ...]
    """Instances of templates."""
    asked: bool
    """Whether ptxas is asked about fusion, where it is installed."""


LIBRARY: list[Case] = []


def library(
    source: str,
    *,
    within: float | None = None,
    chips: tuple[str, ...] = ("a100", "h100"),
    options: tuple[str, ...] = (),
    names: tuple[str, ...] = (),
    asked: bool = False,
) -> Any:
    """Adds a function ``(module, chip) -> (got, expected)`` to the table, under its name."""

    def add(function: Any) -> Any:
        LIBRARY.append(Case(function.__name__, source, function, within, chips, options, names, asked))
        return function

    return add


def normal(seed: int, *shape: int, dtype: Any = F32) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def fma(a: Any, b: Any, c: Any) -> np.ndarray:
    """a · b + c in FP32, rounded once: the sum in FP64 is rounded to odd, so that rounding it again to FP32 is right."""
    product = np.float64(F32(a)) * np.float64(F32(b))
    term = np.float64(F32(c)) + np.zeros_like(product)
    total = np.asarray(product + term)
    other = total - product
    error = (product - (total - other)) + (term - other)
    bits = total.view(np.int64)
    away = np.where((error > 0) == (total > 0), bits, bits - 1)
    return np.where(error == 0, bits, away | 1).view(np.float64).astype(F32)


def warp_sum(x: np.ndarray, lanes: int = 32) -> np.ndarray:
    """The last axis by ``__shfl_xor_sync`` with 16, 8, 4, 2, 1: the sum that lane 0 has."""
    at = np.arange(lanes)
    step = lanes // 2
    while step:
        x = x + x[..., at ^ step]
        step //= 2
    return x[..., 0]


def expf(x: Any) -> np.ndarray:
    """CUDA's ``expf``: 2 to the fraction by ``ex2.approx.ftz``, times 2 to the integer. For -80 < x < 80."""
    x = F32(x)
    clipped = np.clip(fma(x, np.uint32(0x3BBB989D).view(F32), F32(0.5)), F32(0), F32(1))
    exact = np.float64(clipped) * 252 + 12582913
    whole = np.floor(exact).astype(F32)
    rest = fma(x, np.uint32(0x3FB8AA3B).view(F32), -(whole - F32(12583039)))
    rest = fma(x, np.uint32(0x32A57060).view(F32), rest)
    scale = (whole.view(np.uint32) << np.uint32(23)).view(F32)
    return functions.ex2(rest, chip=TABLE, ftz=True) * scale


def rsqrt(x: Any) -> np.ndarray:
    return functions.rsqrt(np.atleast_1d(F32(x)), chip=TABLE).reshape(np.shape(x))


def tree(x: np.ndarray) -> np.ndarray:
    """The last axis by halves: ``for (s = n / 2; s; s /= 2) if (t < s) a[t] += a[t + s];``"""
    while x.shape[-1] > 1:
        half = x.shape[-1] // 2
        x = x[..., :half] + x[..., half:]
    return x[..., 0]


def in_turn(x: np.ndarray, y: np.ndarray, start: Any = 0.0) -> np.ndarray:
    """The sum of x · y along the last axis, one multiply-add after the other."""
    x, y = np.broadcast_arrays(x, y)
    total = np.zeros(x.shape[:-1], F32) + F32(start)
    for at in range(x.shape[-1]):
        total = fma(x[..., at], y[..., at], total)
    return total


BLOCK_SUM = r"""
__device__ float block_sum(float v) {
  __shared__ float part[32];
  for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
  __syncthreads();
  v = threadIdx.x % 32 < blockDim.x / 32 ? part[threadIdx.x % 32] : 0.f;
  for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
  return v;
}
"""


def block_sum(threads: np.ndarray) -> np.ndarray:
    """What ``BLOCK_SUM`` computes; the last axis are the threads of a block."""
    parts = np.zeros((*threads.shape[:-1], 32), F32)
    warps = warp_sum(threads.reshape(*threads.shape[:-1], -1, 32))
    parts[..., : warps.shape[-1]] = warps
    return warp_sum(parts)
