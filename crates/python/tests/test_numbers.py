"""Numbers into formats: exact integers, one rounding, and NaN where a format has none."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import bitmma
from bitmma import formats
from common import ROOT  # noqa: F401  finds the package's tests

HOPPER = ("h100", "mma.m16n8k16.f32.f16.f16.f32")


def nearest(value: int, name: str) -> int:
    """The code of an integer above zero by Python's integers: to nearest, ties to even; nothing below is normal."""
    format = formats.by_name(name)
    exponent = value.bit_length() - 1
    below = exponent - format.fraction_bits
    scaled = Fraction(value) / Fraction(2) ** below
    return ((exponent + format.bias - 1) << format.fraction_bits) + round(scaled)  # round: ties to even


def test_the_issues_integers():
    assert formats.encode(np.array([2**60 + 2**36 + 1]), "f32")[0] == 0x5D800001
    assert formats.encode([2**53 + 1], "f64", rounding="RU")[0] == 0x4340000000000001
    assert formats.encode(np.array([2**60 + 2**36 + 1]).tolist(), "f32")[0] == 0x5D800001


def test_integers_of_any_size_are_rounded_once():
    rng = np.random.default_rng(7)
    for name in ("f64", "f32", "bf16"):
        near = [2**e + 2 ** max(0, e - p) * d + r for e in (53, 60, 62, 63, 64, 65, 100, 120, 121, 126) for p in (8, 24, 25, 53, 54) for d in (0, 1, 3) for r in (-1, 0, 1)]
        near += [int(x) for x in rng.integers(1, 2**63, 200, dtype=np.uint64)]
        near = [value for value in near if value > 2**30]
        assert formats.encode(near, name).tolist() == [nearest(value, name) for value in near]
        small = [value for value in near if value < 2**63]
        for dtype in (np.int64, np.uint64):
            assert formats.encode(np.array(small, dtype), name).tolist() == [nearest(value, name) for value in small]
        sign = formats.encode([-1.0], name)[0] ^ formats.encode([1.0], name)[0]
        assert formats.encode([-value for value in near], name).tolist() == [int(sign) | nearest(value, name) for value in near]


def test_integers_beside_floats_stay_exact():
    assert formats.encode([2**60 + 2**36 + 1, 0.5], "f32").tolist() == [0x5D800001, 0x3F000000]
    assert formats.encode([[2**63 + 2**39 + 1, -1]], "f32").tolist() == [[0x5F000001, 0xBF800000]]
    assert formats.encode(10**400, "f64") == 0x7FF0000000000000
    assert formats.encode(10**400, "f64", overflow="saturate") == 0x7FEFFFFFFFFFFFFF
    assert formats.encode(np.int8([-3, 3]), "e4m3").tolist() == [0xC4, 0x44]
    assert formats.encode([True, False], "f16").tolist() == [0x3C00, 0]
    with pytest.raises(bitmma.DtypeError, match=r"values\[1\] is a str"):
        formats.encode(np.array([2**70, "x"], object), "f16")


@pytest.mark.parametrize("name", ["e2m1", "e2m3", "e3m2"])
def test_nan_is_refused_where_a_format_has_none(name):
    for nan in (np.nan, np.float32(np.nan)):
        with pytest.raises(bitmma.FormatError, match=rf"values\[1, 2\] is NaN, and {name} has no NaN; nan is the code that NaN becomes"):
            formats.encode(np.array([[0, 0, 0], [0, 0, nan]]), name)
        with pytest.raises(bitmma.FormatError, match=r"is NaN"):
            formats.encode(nan, name)
    with pytest.raises(bitmma.FormatError, match=r"values\[1\] is NaN"):
        formats.encode([2**70, np.nan], name)
    assert formats.encode([1.0, np.nan], name, nan=5).tolist() == [int(formats.encode(1.0, name)), 5]
    with pytest.raises(bitmma.OptionError, match=rf"nan is 0x100; {name} codes have"):
        formats.encode([1.0], name, nan=0x100)


def test_nan_and_infinity_where_a_format_has_them():
    assert formats.encode([np.nan, np.inf, -np.inf], "ue8m0").tolist() == [0xFF] * 3
    assert formats.encode([np.nan, np.inf, -np.inf], "e4m3").tolist() == [0x7F] * 3
    assert formats.encode([np.inf, -np.inf, 100], "e2m1").tolist() == [7, 15, 7]  # no NaN either: the largest number


def test_output_refuses_nan_by_its_place():
    a, b = np.ones((16, 16), np.float16), np.ones((16, 8), np.float16)
    b[3, 5] = np.nan
    message = r"D\[0, 5\] is NaN, and e2m1 has no NaN; nan is the code that NaN becomes"
    for options in ({}, {"split_k": 1, "alpha": 2.0}):
        with pytest.raises(bitmma.FormatError, match=message):
            bitmma.gemm(HOPPER, a, b, output="e2m1", **options)
    with pytest.raises(bitmma.FormatError, match=message):
        bitmma.matmul(a, b, like="h100", output="e2m1")
    d = bitmma.gemm(HOPPER, a.view(np.uint16), b.view(np.uint16), output="e2m1", nan=8)
    assert (d[:, 5] == 8).all() and (np.delete(d, 5, 1) == 7).all()
    with pytest.raises(bitmma.OptionError, match="nan is 0x3; it needs output"):
        bitmma.gemm(HOPPER, a, b, nan=3)
