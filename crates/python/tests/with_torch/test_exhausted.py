"""Functions of 16-bit numbers, of which every input is tried: compared with exact values of another library, and with implementations that are wrong."""

from __future__ import annotations

import random
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
import torch  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import bitmma.torch  # noqa: E402
from bitmma.errors import Error, OptionError  # noqa: E402
from bitmma.torch import Exhausted, exhausted  # noqa: E402

EXACT = Context(prec=60, Emin=-(10**9), Emax=10**9)
#: By dtype: bits of the significand, and the exponents of the least subnormal and of the first number that is too large.
FORMATS = {torch.bfloat16: (8, -133, 128), torch.float16: (11, -24, 16)}


def binade(value: Fraction) -> int:
    """The exponent of the largest power of two that is not larger."""
    found = value.numerator.bit_length() - value.denominator.bit_length()
    return found if Fraction(2) ** found <= value else found - 1


def rounded(value: Fraction, bits: int, least: int, most: int) -> Fraction:
    """A positive number to nearest even; what is too large is the first that is."""
    unit = Fraction(2) ** max(binade(value) - bits + 1, least)
    return min(round(value / unit) * unit, Fraction(2) ** most)


def fraction(value: float, most: int) -> Fraction:
    return Fraction(2) ** most if value == float("inf") else Fraction(value)


def inputs(dtype: torch.dtype) -> torch.Tensor:
    return torch.arange(1 << 16, dtype=torch.int32).to(torch.uint16).view(dtype)


@pytest.mark.parametrize("dtype", FORMATS)
def test_exponentials_are_what_exact_values_allow(dtype: torch.dtype) -> None:
    """By decimal numbers of 60 digits and rationals: what four ulps of FP32 about the exact value round to."""
    bits, least, most = FORMATS[dtype]
    found, values = exhausted("exp", dtype), inputs(dtype).float().tolist()
    near = [code for code, value in enumerate(values) if 2.0**-14 < abs(value) < 110]
    codes = sorted({*(one.code for one in found.undecided), *random.Random(0).sample(near, 1500)})
    for code in codes:
        exact = Fraction(EXACT.exp(Decimal(values[code])))
        ulps = 4 * Fraction(2) ** (binade(exact) - 23)
        ends = [rounded(rounded(exact + side * ulps, 24, -149, 128) or Fraction(1, 1 << 200), bits, least, most) for side in (-1, 1)]
        assert ends == [fraction(float(end[code]), most) for end in (found.lowest, found.highest)], values[code]
        assert (ends[0] != ends[1]) is any(one.code == code for one in found.undecided), values[code]
    if dtype == torch.bfloat16:
        assert [one.input for one in found.undecided] == [6.84375, -0.224609375] and not found.holds
        assert found.undecided[0].results == (936, 940) and "65,534 of 65,536 inputs have one result" in str(found) and "936 or 940" in str(found)


def test_implementations_are_within_it() -> None:
    """PyTorch's, and others of the same functions; wrong ones are found, with each input."""
    found = exhausted("exp", torch.bfloat16)
    for right in (torch.exp, lambda x: x.double().exp().float().bfloat16(), lambda x: torch.exp2(x.double() * np.log2(np.e)).bfloat16()):
        assert found.check(right) == []
    for wrong, least in (
        (lambda x: (x.float().exp().view(torch.int32) & -65536).view(torch.float32).bfloat16(), 1000),  # not rounded to nearest
        (lambda x: torch.exp2(x * 1.4427), 1000),  # two steps of 16 bits
        (lambda x: torch.where(x == 1.0, torch.exp(x) * 1.01, torch.exp(x)), 1),
    ):
        assert len(found.check(wrong)) >= least
    (one,) = found.check(lambda x: torch.where(x == 1.0, 3.0, torch.exp(x)).bfloat16())
    assert one.input == 1 and one.code == 0x3F80 and one.results == (3.0,)
    with pytest.raises(OptionError, match="the implementation returns torch.float32 of shape"):
        found.check(lambda x: x.float().exp())
    assert exhausted("silu", torch.bfloat16).check(F.silu) == []


def test_what_depends_on_nothing() -> None:
    """Special values are C's; a result of two steps may be between two numbers."""
    root = exhausted("rsqrt", torch.bfloat16)
    assert root.holds and root.undecided == []
    codes: Any = {0x0000: float("inf"), 0x8000: -float("inf"), 0x7F80: 0.0, 0x4080: 0.5}
    assert {code: float(root.lowest[code]) for code in codes} == codes and np.isnan(root.lowest[0xBF80])
    half = exhausted("sigmoid", torch.bfloat16)
    assert half.check(torch.sigmoid) == []
    assert [one.input for one in half.undecided] == [2**-7, -(2**-8), -3 * 2**-8], "a half and a quarter of them"
    linear = exhausted("elu", torch.bfloat16)
    assert linear.holds and linear.lowest[0x8000] == 0 and np.signbit(linear.lowest[0x8000])
    # with more error allowed, more inputs have two results
    counts = [len(exhausted("exp2", torch.float16, ulps=ulps).undecided) for ulps in (1, 64)]
    assert counts[0] < counts[1]
    assert isinstance(root, Exhausted) and str(root).count("\n") == 0


def test_wrong_calls() -> None:
    with pytest.raises(OptionError, match="operation is 'softmax'; one of acos, acosh"):
        exhausted("softmax", torch.bfloat16)
    with pytest.raises(OptionError, match=r"operation is \['exp'\]; one of"):
        exhausted(["exp"], torch.bfloat16)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="dtype is torch.float32; torch.bfloat16 or torch.float16 was expected"):
        exhausted("exp", torch.float32)
    with pytest.raises(OptionError, match=r"dtype is \[\]; torch.bfloat16"):
        exhausted("exp", [])  # type: ignore[arg-type]
    assert exhausted("sqrt", torch.bfloat16, ulps=np.int64(4)).holds  # type: ignore[arg-type]
    for ulps in (0, 0.5, float("nan"), True, "4"):
        with pytest.raises(OptionError, match="ulps is"):
            exhausted("exp", torch.bfloat16, ulps=ulps)  # type: ignore[arg-type]
    if torch.set_flush_denormal(True):
        try:
            with pytest.raises(Error, match="this thread flushes subnormal numbers"):
                exhausted("exp", torch.bfloat16)
        finally:
            torch.set_flush_denormal(False)
