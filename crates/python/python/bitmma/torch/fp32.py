"""FP32 operations as the scalar units of a GPU compute them, on tensors: FMA, flushing to zero, approximate functions."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import lru_cache

import torch

from .. import _bitmma, functions
from ..errors import Assumed, Error
from .portable.native import apply

#: The smallest normal number.
TINY = 2.0**-126


def flushed(x: torch.Tensor) -> torch.Tensor:
    """Subnormal numbers as zero of their sign."""
    return torch.where(x.abs() < TINY, torch.copysign(torch.zeros_like(x), x), x)


def fma(x: torch.Tensor, y: torch.Tensor | float, z: torch.Tensor) -> torch.Tensor:
    """x · y + z of FP32 numbers, rounded once, to nearest even.

    In FP64 the product is exact. Where the sum is not, it is rounded to odd: its last bit then says that something was discarded, and
    the second rounding, to FP32, is right.
    """
    product = x.double() * (y.double() if isinstance(y, torch.Tensor) else y)
    wide = z.double()
    total = product + wide
    part = total - product
    error = (product - (total - part)) + (wide - part)  # two-sum: total + error is the exact sum
    bits = total.view(torch.int64)
    inexact = (error != 0) & (bits & 1 == 0) & total.isfinite() & error.isfinite()
    away = (error > 0) == (total > 0)
    odd = (bits + torch.where(away, 1, -1)).view(torch.float64)
    return torch.where(inexact, odd, total).float()


@dataclass(frozen=True)
class Scalar:
    """The scalar arithmetic of one architecture."""

    architecture: str
    flush: bool
    """Whether subnormal numbers are zero (``-use_fast_math`` of NVIDIA's compiler)."""
    assumed: tuple[str, ...]
    """Functions whose table is that of Volta and Turing, without evidence on this architecture."""
    host: tuple[str, ...]
    """Functions that nobody has described here: correctly rounded."""

    def clean(self, x: torch.Tensor) -> torch.Tensor:
        """A result of an operation."""
        return flushed(x) if self.flush else x

    def ex2(self, x: torch.Tensor) -> torch.Tensor:
        """2 to the power of x."""
        return self._function("ex2", x)

    def lg2(self, x: torch.Tensor) -> torch.Tensor:
        """The logarithm to base 2."""
        return self._function("lg2", x)

    def rcp(self, x: torch.Tensor) -> torch.Tensor:
        """1 / x."""
        return self._function("rcp", x)

    def _function(self, name: str, x: torch.Tensor) -> torch.Tensor:
        if name in self.host:
            return self.clean(x.double().reciprocal().float() if name == "rcp" else apply({"ex2": "exp2", "lg2": "log2"}[name], x))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Assumed)  # `assumed` says so
            found: torch.Tensor = getattr(functions, name)(x.contiguous(), chip=self.architecture, ftz=self.flush, assume=True)
        return found


@lru_cache(maxsize=64)
def scalar(architecture: str) -> Scalar:
    """The scalar arithmetic of an architecture, as NVIDIA's compiler with ``-use_fast_math`` uses it; of AMD's functions nothing is known."""
    assumed, host = [], []
    for name in ("ex2", "lg2", "rcp"):
        try:
            _bitmma.evaluate_function(f"{name}.approx.f32", architecture, torch.ones(1).view(torch.int32).numpy().view("uint32"), False)
        except Error:
            try:
                _bitmma.evaluate_function(f"{name}.approx.f32", architecture, torch.ones(1).view(torch.int32).numpy().view("uint32"), True)
                assumed.append(name)
            except Error:
                host.append(name)
    return Scalar(architecture, not host, tuple(assumed), tuple(host))


#: log2(e), rounded to FP32.
LOG2E = torch.tensor(1 / math.log(2), dtype=torch.float64).float().item()
#: log(2), rounded to FP32, as ``__logf`` multiplies with it.
LN2 = 0.693147182464599609375
