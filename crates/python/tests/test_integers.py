"""Integer instructions against sums of NumPy's 64-bit integers."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import bitmma
from bitmma import analysis, formats

LEAST, LARGEST = -(2**31), 2**31 - 1

# an instruction, the dtypes that hold A and B, and their ranges
UNITS = [
    ("ampere", "mma.m16n8k32.s32.s8.s8.s32", "int8", "int8", (-128, 127), (-128, 127)),
    ("ampere", "mma.m16n8k32.satfinite.s32.s8.s8.s32", "int8", "int8", (-128, 127), (-128, 127)),
    ("turing", "mma.m8n8k16.satfinite.s32.u8.s8.s32", "uint8", "int8", (0, 255), (-128, 127)),
    ("hopper", "wgmma.m64n24k32.s32.u8.u8", "uint8", "uint8", (0, 255), (0, 255)),
    ("blackwell", "tcgen05.mma.m128n16k32.kind::i8.satfinite.s32.s8.u8", "int8", "uint8", (-128, 127), (0, 255)),
    ("ada", "mma.m16n8k64.s32.s4.u4.s32", "int4", "uint4", (-8, 7), (0, 15)),
    ("ada", "mma.m16n8k64.satfinite.s32.s4.s4.s32", "int4", "int4", (-8, 7), (-8, 7)),
    ("ampere", "mma.m16n8k256.s32.b1.b1.s32.and.popc", "bool", "bool", (0, 1), (0, 1)),
    ("cdna1", "v_mfma_i32_32x32x8i8", "int8", "int8", (-128, 127), (-128, 127)),
    ("cdna3", "v_mfma_i32_16x16x32_i8", "int8", "int8", (-128, 127), (-128, 127)),
]


def dtype_of(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def expected(unit: bitmma.Unit, name: str, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """The sums, instruction by instruction: clamped with ``satfinite``, else modulo 2^32."""
    d = c.astype(np.int64)
    for k in range(0, a.shape[1], unit.step):
        d = d + a[:, k : k + unit.step].astype(np.int64) @ b[k : k + unit.step].astype(np.int64)
        d = np.clip(d, LEAST, LARGEST) if "satfinite" in name else (d - LEAST) % 2**32 + LEAST
    return d.astype(np.int32)


@pytest.mark.parametrize("row", UNITS, ids=lambda row: row[1])
def test_products_are_those_of_numpy(row):
    architecture, name, of_a, of_b, range_a, range_b = row
    unit = bitmma.mma(architecture, name)
    rng = np.random.default_rng(5)
    wrapped = 0
    for m, n, k, extreme in [(1, 1, 1, True), (33, 17, 100, False), (16, 8, 2 * unit.step, True), (70, 40, 700, True)]:
        sides = []
        for shape, (least, largest), dtype in [((m, k), range_a, of_a), ((k, n), range_b, of_b)]:
            values = rng.choice([least, largest], shape) if extreme else rng.integers(least, largest, shape, endpoint=True)
            sides.append(values.astype(dtype_of(dtype)))
        a, b = sides
        c = rng.choice([LEAST, LEAST + 9, 0, LARGEST - 9, LARGEST], (m, n)).astype(np.int32)
        exact = c.astype(np.int64) + a.astype(np.int64) @ b.astype(np.int64)
        wrapped += int(((exact < LEAST) | (exact > LARGEST)).sum())
        d = bitmma.gemm(unit, a, b, c)
        assert d.dtype == np.int32
        assert np.array_equal(d, expected(unit, name, a, b, c))
        # the same from codes, from matrices by columns, and from a B that was prepared
        codes = [formats.codes(a, unit.a), formats.codes(b, unit.b)]
        assert np.array_equal(bitmma.gemm(unit, *codes, c), d)
        assert np.array_equal(bitmma.gemm(unit, np.asfortranarray(a), np.asfortranarray(b), np.asfortranarray(c)), d)
        assert np.array_equal(bitmma.gemm(unit, a, b), expected(unit, name, a, b, np.zeros_like(c)))
    assert wrapped > 100


def test_batches_and_one_instruction():
    rng = np.random.default_rng(6)
    unit = bitmma.mma("ampere", "mma.m16n8k32.s32.s8.u8.s32")
    a, b = rng.integers(-128, 128, (3, 16, 32), dtype=np.int8), rng.integers(0, 256, (3, 32, 8), dtype=np.uint8)
    c = rng.integers(LEAST, LARGEST, (3, 16, 8), dtype=np.int32)
    batch = bitmma.gemm(unit, a, b, c)
    for index in range(3):
        one = unit(a[index], b[index], c[index])
        assert one.dtype == np.int32 and np.array_equal(one, batch[index])
        assert np.array_equal(one, expected(unit, unit.name, a[index], b[index], c[index]))


def test_results_in_other_dtypes_are_rounded_once():
    unit = bitmma.mma("hopper", "wgmma.m64n8k32.s32.u8.u8")
    a, b = np.full((2, 320), 255, np.uint8), np.full((320, 2), 255, np.uint8)
    for output in ("f64", "f32", "bf16"):
        d = bitmma.gemm(unit, a, b, output=output)
        assert np.array_equal(d.astype(np.float64), np.full((2, 2), 320 * 255 * 255, np.int64).astype(d.dtype).astype(np.float64))


def test_texts_and_formats():
    assert [format.name for format in formats.FORMATS if format.integer] == ["s32", "s8", "u8", "s4", "u4", "b1"]
    s8 = formats.by_name("int8")
    assert (s8.name, s8.bits, s8.signed, s8.nan_code, s8.infinity_code, s8.dtype) == ("s8", 8, True, None, None, "int8")
    assert s8.display(0x80) == "-128"
    values = np.arange(-300, 300)
    assert np.array_equal(formats.decode(formats.encode(values, "s8"), "s8"), np.clip(values, -128, 127))
    assert np.array_equal(formats.decode(formats.encode(values, "u4"), "u4"), np.clip(values, 0, 15))
    halves = np.arange(-20, 20) / 2
    assert np.array_equal(formats.decode(formats.encode(halves, "s4"), "s4"), np.clip(np.round(halves), -8, 7))
    with pytest.raises(bitmma.FormatError, match="NaN"):
        formats.encode([float("nan")], "s8")


def test_what_is_not_of_integers_is_refused():
    unit = bitmma.mma("ampere", "mma.m16n8k32.s32.s8.s8.s32")
    a, b = np.ones((16, 32), np.int8), np.ones((32, 8), np.int8)
    for option in ({"split_k": 2}, {"promote_every": 32}, {"alpha": 2.0}, {"beta": 0.0}, {"c_last": True}):
        with pytest.raises(bitmma.OptionError, match=f"{next(iter(option))} is .*sums integers and C exactly"):
            bitmma.gemm(unit, a, b, **option)
    with pytest.raises(bitmma.OptionError, match="D is converted to a floating-point format"):
        bitmma.gemm(unit, a, b, output="s8")
    for wrong, message in [(a.astype(np.float32), "A is float32"), (a.astype(np.int16), "A is int16"), (a.astype(np.int32), "A is int32")]:
        with pytest.raises(bitmma.DtypeError, match=f"{message}.*; s8 comes as int8, or as uint8 codes"):
            bitmma.gemm(unit, wrong, b)
    with pytest.raises(bitmma.Error, match="sums of integers are exact"):
        analysis.assess(unit)
    with pytest.raises(bitmma.Error, match="sums integers, which is exact"):
        bitmma.probe(unit, unit)
    with pytest.raises(bitmma.Error, match="counts the bits of A and B that differ"):
        bitmma.mma("turing", "mma.m8n8k128.s32.b1.b1.s32.xor.popc")


def test_explain_and_diff():
    a, b = np.zeros(32, np.int8), np.zeros(32, np.uint8)
    a[:2], b[:2] = 127, 255
    steps = bitmma.explain(bitmma.mma("ampere", "mma.m16n8k32.satfinite.s32.s8.u8.s32"), a, b, np.int32(LARGEST))
    assert steps.code == LARGEST and steps.value == LARGEST
    found = bitmma.diff(("ampere", "mma.m16n8k32.s32.s8.s8.s32"), ("ampere", "mma.m16n8k16.s32.s8.s8.s32"))
    assert found.verdict == "same"
    found = bitmma.diff(("ampere", "mma.m16n8k32.s32.s8.s8.s32"), ("ampere", "mma.m16n8k32.satfinite.s32.s8.s8.s32"))
    assert found.verdict == "differs"
