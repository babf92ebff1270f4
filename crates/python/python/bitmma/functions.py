"""The approximate functions of NVIDIA GPUs, bit for bit: ``rcp``, ``sqrt``, ``rsqrt``, ``ex2``, ``lg2``, ``sin``, ``cos``.

Each is a PTX instruction, as in ``ex2.approx.f32``; with ``ftz=True`` subnormal inputs and results are zero of their
sign (``ex2.approx.ftz.f32``). ``x`` is an array or tensor of float32, or of uint32 codes; the result is like it, of the
same shape. ``chip`` is an architecture or a chip. Where nothing is known of it, the call raises
:class:`~bitmma.errors.NoModel`; ``assume=True`` takes the model of Volta and Turing and warns
(:class:`~bitmma.errors.Assumed`).
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from . import _arrays, _bitmma
from .errors import Assumed

if TYPE_CHECKING:
    from ._arrays import Array

__all__ = ["cos", "ex2", "lg2", "rcp", "rsqrt", "sin", "sqrt"]


def _evaluate(function: str, x: Array, chip: str, ftz: bool, assume: bool) -> Array:
    _arrays.format_of("x", x, "f32")
    words = _arrays.codes("x", x, "f32")
    form = f"{function}.approx{'.ftz' if ftz else ''}.f32"
    results, assumed = _bitmma.evaluate_function(form, chip, words.reshape(-1), assume)
    if assumed is not None:
        warnings.warn(assumed, Assumed, stacklevel=3)
    return _arrays.result(results.reshape(words.shape), "f32", _arrays.like(x))


def rcp(x: Array, *, chip: str, ftz: bool = False, assume: bool = False) -> Array:
    """1 / x by ``rcp.approx``."""
    return _evaluate("rcp", x, chip, ftz, assume)


def sqrt(x: Array, *, chip: str, ftz: bool = False, assume: bool = False) -> Array:
    """The square root of x by ``sqrt.approx``."""
    return _evaluate("sqrt", x, chip, ftz, assume)


def rsqrt(x: Array, *, chip: str, ftz: bool = False, assume: bool = False) -> Array:
    """1 / the square root of x by ``rsqrt.approx``."""
    return _evaluate("rsqrt", x, chip, ftz, assume)


def ex2(x: Array, *, chip: str, ftz: bool = False, assume: bool = False) -> Array:
    """2 to the power of x by ``ex2.approx``."""
    return _evaluate("ex2", x, chip, ftz, assume)


def lg2(x: Array, *, chip: str, ftz: bool = False, assume: bool = False) -> Array:
    """The logarithm of x to base 2 by ``lg2.approx``."""
    return _evaluate("lg2", x, chip, ftz, assume)


def sin(x: Array, *, chip: str, ftz: bool = False, assume: bool = False) -> Array:
    """The sine of x radians by ``sin.approx``."""
    return _evaluate("sin", x, chip, ftz, assume)


def cos(x: Array, *, chip: str, ftz: bool = False, assume: bool = False) -> Array:
    """The cosine of x radians by ``cos.approx``."""
    return _evaluate("cos", x, chip, ftz, assume)
