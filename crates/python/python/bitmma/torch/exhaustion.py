"""Functions of 16-bit numbers whose results do not depend on who computes them: every input is tried.

A kernel of PyTorch computes a function of a 16-bit number in FP32 and rounds once to 16 bits. If each elementary function in it is within some ulps
of the exact value, and each addition, product and quotient is IEEE's (contracted to an FMA or not), what the kernel may get is an interval of FP32
numbers. Where both of its ends round to the same 16 bits, every such implementation gives them, on any machine.

Exact values are mpmath's, which PyTorch brings, to 80 bits; intervals are wider by 2^-52 of the value, which covers its error.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass, field
from typing import Any, Callable

import numpy as np
import torch
from mpmath import MPContext

from .. import formats
from ..errors import Error, OptionError

#: What computes exact values.
_MP = MPContext()
_MP.prec = 80
#: The dtypes, and what formats call them.
_DTYPES = {torch.bfloat16: "bf16", torch.float16: "fp16"}

#: Elementary functions: PyTorch's name, and the exact value.
ELEMENTARY: dict[str, Callable[[Any], Any]] = {
    "exp": _MP.exp, "exp2": lambda x: _MP.power(2, x), "expm1": _MP.expm1, "log": _MP.log, "log2": lambda x: _MP.log(x, 2), "log10": _MP.log10, "log1p": _MP.log1p,
    "sqrt": _MP.sqrt, "rsqrt": lambda x: 1 / _MP.sqrt(x), "reciprocal": lambda x: 1 / x, "sin": _MP.sin, "cos": _MP.cos, "tan": _MP.tan, "asin": _MP.asin, "acos": _MP.acos,
    "atan": _MP.atan, "sinh": _MP.sinh, "cosh": _MP.cosh, "tanh": _MP.tanh, "asinh": _MP.asinh, "acosh": _MP.acosh, "atanh": _MP.atanh, "erf": _MP.erf, "erfc": _MP.erfc,
}  # fmt: skip

#: Those whose results never leave [-1, 1].
_WITHIN_ONE = {"sin", "cos", "tanh", "erf"}


class _Range:
    """FP32 numbers of which each implementation has one: from ``low`` to ``high``, elementwise, or NaN."""

    def __init__(self, low: np.ndarray[Any, Any], high: np.ndarray[Any, Any]) -> None:
        self.low, self.high = low, high

    @staticmethod
    def _ends(*corners: Any) -> _Range:
        """The least and the largest. If some are NaN and others are not, ``low`` is NaN alone."""
        low = high = corners[0]
        for one in corners[1:]:
            # of zeros the negative one is less, which minimum does not promise
            low = np.where(np.isnan(one) | (one < low) | ((one == low) & np.signbit(one)), one, low)
            high = np.where(np.isnan(high) | (one > high) | ((one == high) & ~np.signbit(one)), one, high)
        return _Range(low, high)

    def __neg__(self) -> _Range:
        return _Range(-self.high, -self.low)

    def __add__(self, other: Any) -> _Range:
        other = _range(other)
        return _Range(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Any) -> _Range:
        return self + -_range(other)

    def __mul__(self, other: Any) -> _Range:
        other = _range(other)
        return self._ends(*(a * b for a in (self.low, self.high) for b in (other.low, other.high)))

    def __truediv__(self, other: Any) -> _Range:
        other = _range(other)
        return self._ends(*(a / b for a in (self.low, self.high) for b in (other.low, other.high)))

    def times_plus(self, factor: Any, addend: Any) -> _Range:
        """A product and a sum, rounded twice, or once as an FMA does."""
        factor, addend = _range(factor), _range(addend)
        both = self * factor + addend
        # exact products of FP32 numbers are FP64 numbers, and a sum of FP64 is off by half a unit: one to each side
        wide = [a.astype(np.float64) * b for a in (self.low, self.high) for b in (factor.low, factor.high)]
        sums = [end for one in wide for part in (addend.low, addend.high) for end in _around(one + part)]
        return self._ends(both.low, both.high, *(one.astype(np.float32) for one in sums))

    def where(self, condition: np.ndarray[Any, Any], other: _Range) -> _Range:
        """This where a condition holds, the other one elsewhere."""
        return _Range(np.where(condition, self.low, other.low), np.where(condition, self.high, other.high))


def _around(value: np.ndarray[Any, Any]) -> tuple[Any, Any]:
    return np.nextafter(value, -np.inf), np.nextafter(value, np.inf)


def _range(value: Any) -> _Range:
    """Of one number."""
    if isinstance(value, _Range):
        return value
    one = np.asarray(value, np.float32)
    return _Range(one, one)


class Functions:
    """Elementary functions, each within some ulps of the exact value."""

    def __init__(self, ulps: float) -> None:
        self._ulps = ulps

    def __getattr__(self, name: str) -> Callable[[_Range], _Range]:
        exact = ELEMENTARY[name]

        def function(x: _Range) -> _Range:
            low, high = self._within(name, exact, x.low)
            if np.array_equal(x.low.view(np.uint32), x.high.view(np.uint32)):
                return _Range(low, high)
            # of an interval only functions that rise are asked
            return _Range(low, self._within(name, exact, x.high)[1])

        return function

    def _within(self, name: str, exact: Callable[[Any], Any], x: np.ndarray[Any, Any]) -> tuple[Any, Any]:
        """The least and the largest FP32 number that are near enough to the exact values."""
        different, back = np.unique(x.view(np.uint32), return_inverse=True)
        points = different.view(np.float32)
        # zeros, infinities, NaN and what gives them: as C's Annex F has it, and PyTorch in FP64
        special = np.asarray(getattr(torch, name)(torch.from_numpy(points).double()))
        values = [_exact(exact, float(one)) for one in points]
        near = np.array([special[place] if value is None else float(value) for place, value in enumerate(values)])
        known = np.array([value is not None for value in values], bool)
        signs = np.array([0 if value is None else _MP.sign(value) for value in values], np.float64)
        # a value that is near enough, rounded to FP32: the smallest numbers have no ulp of their own
        unit = np.where(near == 0, 0.0, np.ldexp(1.0, np.minimum(np.frexp(near)[1], 128) - 24))
        low, high = (np.nextafter(np.nextafter(near + side * self._ulps * unit, side * np.inf), side * np.inf) for side in (-1, 1))
        # the sign is the exact value's, also of a zero
        low, high = np.where((signs > 0) & (low <= 0), 0.0, low), np.where((signs < 0) & (high >= 0), -0.0, high)
        low, high = (np.where(known, one, near) for one in (low, high))
        if name in _WITHIN_ONE:
            low, high = np.maximum(low, -1), np.minimum(high, 1)
        ends = [_rounded(one, "fp32") for one in (low, high)]
        shape = back.reshape(x.shape)
        return ends[0][shape], ends[1][shape]


def _exact(function: Callable[[Any], Any], x: float) -> Any:
    """A finite real number other than zero, or None."""
    if not np.isfinite(x) or x == 0:
        return None
    try:
        found = function(_MP.mpf(x))
    except (ZeroDivisionError, ValueError):
        return None
    return found if isinstance(found, _MP.mpf) and _MP.isfinite(found) and found != 0 else None


def _rounded(values: np.ndarray[Any, Any], name: str) -> Any:
    """To nearest even."""
    return formats.decode(formats.encode(values, name), name).astype(np.float32)


#: Functions of which PyTorch computes several steps in FP32, as its kernels for CPUs and GPUs have them (ATen's ``Activation*Kernel.cu``, ``UnarySpecialOpsKernel.cu``).
COMPOSED: dict[str, Callable[[_Range, Any], _Range]] = {
    "sigmoid": lambda x, f: _range(1) / (f.exp(-x) + 1),
    "silu": lambda x, f: x / (f.exp(-x) + 1),
    "gelu": lambda x, f: x * 0.5 * (f.erf(x * np.float32(0.5**0.5)) + 1),
    "gelu_tanh": lambda x, f: x * 0.5 * (f.tanh((x * x * x).times_plus(0.044715, x) * np.float32(2**0.5 * 2 / np.pi**0.5 * 0.5)) + 1),
    "softplus": lambda x, f: x.where(x.low > 20, f.log1p(f.exp(x))),
    "logsigmoid": lambda x, f: _Range(np.minimum(x.low, 0), np.minimum(x.low, 0)) - f.log1p(f.exp(_range(-np.abs(x.low)))),
    "mish": lambda x, f: x * f.tanh(f.log1p(f.exp(x))),
    "elu": lambda x, f: x.where(x.low > 0, f.expm1(x)),
}


@dataclass(frozen=True)
class Undecided:
    """An input whose result may depend on the implementation."""

    input: float
    code: int
    """Its bits."""
    results: tuple[float, ...]
    """What an implementation may give."""


@dataclass(frozen=True)
class Exhausted:
    """What every implementation of a function gives for each of the 65,536 inputs of a 16-bit dtype."""

    operation: str
    dtype: torch.dtype
    ulps: float
    """How far from the exact value an elementary function may be, in ulps of FP32."""
    undecided: list[Undecided]
    """Inputs for which that leaves several results."""
    lowest: np.ndarray[Any, Any] = field(repr=False, compare=False)
    """The least result that an implementation may give, for each input by its bits; NaN of any bits is one result."""
    highest: np.ndarray[Any, Any] = field(repr=False, compare=False)
    """The largest one."""

    @property
    def holds(self) -> bool:
        """Whether no result depends on the implementation."""
        return not self.undecided

    def check(self, function: Callable[[torch.Tensor], torch.Tensor]) -> list[Undecided]:
        """Runs an implementation on all inputs: those for which it gives what no such implementation does, and what that is."""
        inputs = _inputs(self.dtype)
        found = function(inputs.clone())
        if not isinstance(found, torch.Tensor) or found.dtype != self.dtype or found.shape != inputs.shape:
            about = f"{found.dtype} of shape {tuple(found.shape)}" if isinstance(found, torch.Tensor) else type(found).__name__
            raise OptionError(f"the implementation returns {about}; {self.dtype} of shape {tuple(inputs.shape)} was expected")
        given = _numbers(found)
        inside = (_order(self.lowest) <= _order(given)) & (_order(given) <= _order(self.highest)) | np.isnan(given) & np.isnan(self.lowest)
        return [Undecided(float(inputs[code]), int(code), (float(given[code]),)) for code in np.flatnonzero(~inside)]

    def __str__(self) -> str:
        name, count = str(self.dtype).removeprefix("torch."), len(self.lowest)
        lines = [f"{self.operation} of {name}: {count - len(self.undecided):,} of {count:,} inputs have one result for all implementations within {self.ulps:g} ulps of FP32"]
        lines += [f"  {one.input:g} (0x{one.code:04x}): {' or '.join(f'{each:.9g}' for each in one.results)}" for one in self.undecided[:10]]
        return "\n".join(lines + ["  …"] * (len(self.undecided) > 10))


def _inputs(dtype: torch.dtype) -> torch.Tensor:
    return torch.arange(1 << 16, dtype=torch.int32).to(torch.uint16).view(dtype)


def _numbers(values: torch.Tensor) -> np.ndarray[Any, Any]:
    return formats.decode(values.detach().cpu().contiguous().view(torch.uint16).numpy(), _DTYPES[values.dtype]).astype(np.float32)


def _order(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Whole numbers in the order of the values, where the negative zero is before the other one."""
    bits = np.ascontiguousarray(values).view(np.int32).astype(np.int64)
    return np.where(bits < 0, -(bits & 0x7FFFFFFF) - 1, bits)


def exhausted(operation: str, dtype: torch.dtype, *, ulps: float = 4) -> Exhausted:
    """Whether a function of 16-bit numbers depends on who computes it: all 65,536 inputs are tried.

    An implementation computes in FP32 and rounds once, to nearest even. Its elementary functions (``exp``, ``erf``, …) are within ``ulps`` of the exact
    value, with its sign, and do not flush subnormal numbers: 4 covers CUDA's functions, as its guide states their errors, and those of processors.
    Sums, products and quotients between them are IEEE's. For each input it is computed what such an implementation may give; ``undecided`` lists those with several results.
    """
    if not isinstance(operation, str) or operation not in {**ELEMENTARY, **COMPOSED}:
        raise OptionError(f"operation is {operation!r}; one of {', '.join(sorted({**ELEMENTARY, **COMPOSED}))}")
    if not isinstance(dtype, torch.dtype) or dtype not in _DTYPES:
        raise OptionError(f"dtype is {dtype}; torch.bfloat16 or torch.float16 was expected, of which all inputs can be tried")
    if isinstance(ulps, bool) or not isinstance(ulps, (float, numbers.Integral)) or not 1 <= ulps <= 1 << 20:
        raise OptionError(f"ulps is {ulps!r}; a number from 1 to 2^20 was expected")
    if (np.float32(2.0**-149) * np.float32(1)) == 0:
        raise Error("this thread flushes subnormal numbers (torch.set_flush_denormal): no result can be relied on")
    inputs = _inputs(dtype)
    x = _range(_numbers(inputs))
    with np.errstate(all="ignore"):
        functions = Functions(ulps)
        found = COMPOSED[operation](x, functions) if operation in COMPOSED else getattr(functions, operation)(x)
        lowest, highest = (_rounded(one, _DTYPES[dtype]) for one in (found.low, found.high))
    differ = np.flatnonzero((_order(lowest) != _order(highest)) & ~(np.isnan(lowest) & np.isnan(highest)))
    undecided = [Undecided(float(x.low[code]), int(code), (float(lowest[code]), float(highest[code]))) for code in differ]
    return Exhausted(operation, dtype, ulps, undecided, lowest, highest)
