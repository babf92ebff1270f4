"""Every dtype goes in and comes back, all codes; ml_dtypes' own arithmetic is the second opinion."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import bitmma
from bitmma import formats
from bitmma._dtypes import DTYPE_OF, FORMATS_OF, WORD_OF

NAMES = [format.name for format in formats.FORMATS]
DTYPES = [name for name in FORMATS_OF if name != "float4_e2m1fn_x2"]


def dtype_of(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def all_codes(name: str) -> np.ndarray:
    """Every code up to 16 bits; of wider formats, limits and random ones."""
    format = formats.by_name(name)
    word = WORD_OF[format.bytes]
    if format.bits <= 16:
        return np.arange(1 << format.bits, dtype=np.uint64).astype(word)
    random = np.random.default_rng(format.bits).integers(0, 1 << 63, 200_000, dtype=np.uint64, endpoint=True) << 1
    limits = [format.max_finite_code, format.min_normal_code, format.one_code, format.nan_code or 0, 0, 1]
    codes = np.concatenate([random >> np.uint64(64 - format.bits), np.array(limits, dtype=np.uint64)])
    return codes.astype(word)


def test_the_tables_know_every_format():
    assert sorted(DTYPE_OF) == sorted(NAMES)
    # uint8 holds the codes of every format of 8 bits and fewer
    assert {format for row in FORMATS_OF.values() for format in row} == set(NAMES) - {"u8"}
    assert set(DTYPE_OF.values()) <= set(FORMATS_OF) | {"uint8"}


@pytest.mark.parametrize("name", NAMES)
def test_all_codes_there_and_back(name):
    codes = all_codes(name)
    array = formats.view(codes, name)
    assert array.dtype == dtype_of(DTYPE_OF[name])
    assert np.shares_memory(array, codes)
    back = formats.codes(array, name)
    assert np.shares_memory(back, codes)
    assert back.dtype == codes.dtype and np.array_equal(back, codes)


@pytest.mark.parametrize("dtype", DTYPES)
def test_values_are_those_of_the_dtype(dtype):
    codes = all_codes(FORMATS_OF[dtype][0])
    array = codes.view(dtype_of(dtype))
    with np.errstate(invalid="ignore"):
        expected = array.astype(np.float64)
    assert np.array_equal(formats.decode(array), expected, equal_nan=True)
    signs = ~np.isnan(expected)
    assert np.array_equal(np.signbit(formats.decode(array))[signs], np.signbit(expected)[signs])


@pytest.mark.parametrize("name", NAMES)
def test_encoding_undoes_decoding(name):
    codes = all_codes(name)
    values = formats.decode(codes, name)
    again = formats.encode(values, name)
    assert np.array_equal(formats.decode(again, name), values, equal_nan=True)


@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "float8_e5m2", "float8_e5m2fnuz", "float8_e4m3fnuz", "float6_e2m3fn"]
)
def test_encoding_rounds_as_the_dtype_does(dtype):
    values = np.random.default_rng(7).normal(size=100_000) * 2.0 ** np.random.default_rng(8).integers(-20, 6, 100_000)
    values = values[np.abs(values) < 3.7]  # in range of all of them: what is beyond is a choice
    expected = values.astype(np.float32).astype(dtype_of(dtype))
    name = FORMATS_OF[dtype][0]
    actual = formats.encode(values.astype(np.float32), name)
    assert np.array_equal(formats.decode(actual, name), formats.decode(expected, name))


# one instruction for each dtype of A
UNITS = {
    "f64": ("a100", "mma.m8n8k4.f64.f64.f64.f64"),
    "f32": ("mi300x", "v_mfma_f32_32x32x2_f32"),
    "tf32": ("h100", "mma.m16n8k8.f32.tf32.tf32.f32"),
    "xf32": ("mi300x", "v_mfma_f32_16x16x8_xf32"),
    "bf16": ("h100", "mma.m16n8k16.f32.bf16.bf16.f32"),
    "f16": ("h100", "mma.m16n8k16.f32.f16.f16.f32"),
    "e5m2": ("b200", "tcgen05.mma.m64n8k32.kind::f8f6f4.f32.e5m2.e5m2"),
    "e4m3": ("b200", "tcgen05.mma.m64n8k32.kind::f8f6f4.f32.e4m3.e4m3"),
    "e3m2": ("b200", "tcgen05.mma.m64n8k32.kind::f8f6f4.f32.e3m2.e3m2"),
    "e2m3": ("b200", "tcgen05.mma.m64n8k32.kind::f8f6f4.f32.e2m3.e2m3"),
    "e2m1": ("b200", "tcgen05.mma.m64n8k32.kind::f8f6f4.f32.e2m1.e2m1"),
    "e5m2fnuz": ("mi300x", "v_mfma_f32_16x16x32_bf8_bf8"),
    "e4m3fnuz": ("mi300x", "v_mfma_f32_16x16x32_fp8_fp8"),
}


@pytest.mark.parametrize("name", UNITS)
def test_a_times_one_is_a_through_an_instruction(name):
    """Each code alone in its row: times one, D is its value (padding bits and FP64's subnormals aside)."""
    unit = bitmma.mma(*UNITS[name])
    assert unit.a == name
    codes = all_codes(name)
    a = np.zeros((len(codes), unit.step), dtype=codes.dtype)
    a[:, 0] = codes
    b = np.zeros((unit.step, 1), dtype=codes.dtype)
    b[0] = formats.by_name(name).one_code
    words = bitmma.gemm(unit, a, b)
    assert words.dtype == WORD_OF[formats.by_name(unit.d).bytes], "codes in, codes out"
    d = bitmma.gemm(unit, formats.view(a, name), formats.view(b, name))
    assert d.dtype == dtype_of(DTYPE_OF[unit.d])
    assert np.array_equal(formats.codes(d), words)
    values = formats.decode(codes, name)
    finite = np.isfinite(values) & (np.abs(values) >= 2.0**-126)
    assert np.array_equal(formats.decode(d)[finite, 0], values[finite])
    assert np.array_equal(np.isnan(formats.decode(d)[:, 0]), np.isnan(values))


def test_results_in_dtypes_of_ml_dtypes():
    a, b = np.full((4, 16), 1.0, np.float16), np.full((16, 4), 2.0, np.float16)
    for name in ("bf16", "e4m3", "e5m2", "e4m3fnuz", "e5m2fnuz", "e3m2", "e2m3", "e2m1", "f16", "f64", "tf32"):
        d = bitmma.gemm(("h100", "mma.m16n8k16.f32.f16.f16.f32"), a, b, output=name, saturate=True)
        assert d.dtype == dtype_of(DTYPE_OF[name])
        largest = np.array([formats.by_name(name).max_finite_code]).astype(WORD_OF[formats.by_name(name).bytes])
        limit = formats.decode(largest, name)[0]
        assert formats.decode(d)[0, 0] == min(32.0, limit)


def test_four_and_six_bit_codes_pack():
    for name in ("e2m1", "e2m3", "e3m2"):
        codes = all_codes(name)
        packed = formats.pack(codes, name)
        assert len(packed) == len(codes) * formats.by_name(name).bits // 8
        assert np.array_equal(formats.unpack(packed, name, len(codes)), codes)
    with pytest.raises(bitmma.CodeError, match="0x10, but the largest code of 4 bits is 0xf"):
        formats.pack(np.array([16], np.uint8), "e2m1")


def test_one_dtype_for_scale_factors():
    unit = bitmma.mma("b200", "tcgen05.mma.m128n8k32.kind::mxf8f6f4.block32.f32.e4m3.e4m3.ue8m0")
    a = np.ones((128, 32), dtype=ml_dtypes.float8_e4m3fn)
    b = np.ones((32, 8), dtype=ml_dtypes.float8_e4m3fn)
    scale = {"scale_a": np.full((128, 1), 4.0, ml_dtypes.float8_e8m0fnu), "scale_b": np.full((1, 8), 0.5, ml_dtypes.float8_e8m0fnu)}
    assert (unit(a, b, **scale) == 64).all()
    nvfp4 = bitmma.catalogue.choose("b200", "e2m1", "e2m1", scale=("ue4m3", 16))
    a = np.ones((3, 64), dtype=ml_dtypes.float4_e2m1fn)
    scales = np.full((3, 4), 1.5, ml_dtypes.float8_e4m3fn)
    d, info = bitmma.matmul(a, a.T, like="b200", scale_a=scales, scale_b=scales.T, return_info=True)
    assert (d == 144).all() and info.instruction.row == nvfp4.row


@pytest.mark.parametrize("name", ["f16", "fp16", "float16", "torch.float16"])
def test_a_format_goes_by_the_names_of_other_projects(name):
    one = np.array([0x3C00], dtype=np.uint16)
    assert bitmma.formats.decode(one, name) == 1.0
    assert bitmma.formats.codes(np.float16([1.0]), name) == one
    assert bitmma.formats.view(one, name) == np.float16(1.0)
    assert bitmma.formats.encode([1.0], name) == one
