"""Operands that are prepared once: the same bits as the operands themselves."""

from __future__ import annotations

import numpy as np
import pytest

import bitmma


def floats(shape, dtype, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("rows", [1, 2, 16, 33, 70])
@pytest.mark.parametrize("chip,dtype", [("h100", "float16"), ("mi300x", "float16"), ("mi250x", "float16"), ("mi100", "float16"), ("mi300x", "float32"), ("a100", "float64")])
def test_matmul(chip, dtype, rows):
    weight, x = floats((131, 70), dtype, 1), floats((rows, 131), dtype, 2)
    prepared = bitmma.prepare(weight, like=chip)
    assert prepared.is_streamed and prepared.shape == (131, 70)
    found, expected = bitmma.matmul(x, prepared), bitmma.matmul(x, weight, like=chip)
    assert found.dtype == expected.dtype and found.tobytes() == expected.tobytes()
    both = bitmma.matmul(x, prepared, return_info=True), bitmma.matmul(x, weight, like=chip, return_info=True)
    assert both[0][1] == both[1][1]


def test_every_option_of_gemm():
    unit = bitmma.mma("h100", "wgmma.m64n128k16.f32.f16.f16")
    a, b, c = floats((5, 300), "float16"), floats((300, 40), "float16", 1), floats((5, 40), "float32", 2)
    prepared = bitmma.prepare(b, target=unit)
    for options in (
        {}, {"split_k": 3}, {"promote_every": 128}, {"promote_every": 64}, {"alpha": 0.5, "beta": -2.0}, {"c_last": True},
        {"output": "f16"}, {"split_k": 2, "promote_every": 32, "output": "f16"}, {"threads": 1},
    ):  # fmt: skip
        found, expected = bitmma.gemm(unit, a, prepared, c, **options), bitmma.gemm(unit, a, b, c, **options)
        assert found.tobytes() == expected.tobytes(), options
    scales = {"scale_a": np.ones((5, 3), "float32") * 3, "scale_b": np.ones((3, 1), "float32") / 3, "scale_blocks": "1x128,128x128"}
    assert bitmma.gemm(unit, a, prepared, **scales).tobytes() == bitmma.gemm(unit, a, b, **scales).tobytes()


def test_a_copy_of_any_layout():
    weight, x = floats((64, 96), "float16"), floats((3, 96), "float16", 1)
    prepared = bitmma.prepare(weight.T, like="h100")
    expected = bitmma.matmul(x, weight.T, like="h100")
    weight[:] = 0
    assert bitmma.matmul(x, prepared).tobytes() == expected.tobytes()
    batch = np.broadcast_to(x, (2, 4, 3, 96))
    assert bitmma.matmul(batch, prepared).shape == (2, 4, 3, 64)
    assert bitmma.matmul(batch, prepared)[1, 2].tobytes() == expected.tobytes()


def test_scale_factors_and_codes():
    unit = bitmma.mma("rtx-blackwell", "mma.m16n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.f32.ue4m3")
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 16, (7, 200), "uint8"), rng.integers(0, 16, (200, 70), "uint8")
    scale_a, scale_b = rng.integers(40, 70, (7, 13), "uint8"), rng.integers(40, 70, (13, 70), "uint8")
    prepared = bitmma.prepare(b, target=unit, scale_b=scale_b)
    found = bitmma.gemm(unit, a, prepared, scale_a=scale_a)
    assert found.tobytes() == bitmma.gemm(unit, a, b, scale_a=scale_a, scale_b=scale_b).tobytes()


@pytest.mark.parametrize("dtype,instruction,most", [
    ("uint16", "wgmma.m64n64k16.f32.bf16.bf16", 2.2), ("uint8", "wgmma.m64n64k32.f32.e4m3.e4m3", 1.2), ("float16", "wgmma.m64n64k16.f32.f16.f16", 2.2),
])  # fmt: skip
def test_memory(dtype, instruction, most):
    codes = np.random.default_rng(0).integers(0, 256, (1024, 1024), "uint8") & 0xB7
    weight = floats((1024, 1024), "float16") if dtype == "float16" else codes.astype(dtype) << (8 if dtype == "uint16" else 0)
    prepared = bitmma.prepare(weight, target=("h100", instruction))
    assert weight.size * weight.itemsize <= prepared.nbytes <= most * weight.size


def test_errors():
    weight, x = floats((32, 8), "float16"), floats((2, 32), "float16")
    prepared = bitmma.prepare(weight, like="h100")
    with pytest.raises(bitmma.OptionError, match="like is 'h100'; the instruction was chosen when B was prepared"):
        bitmma.matmul(x, prepared, like="h100")
    with pytest.raises(bitmma.OptionError, match="like says which chip"):
        bitmma.matmul(x, weight)
    with pytest.raises(bitmma.OptionError, match="like or target"):
        bitmma.prepare(weight)
    with pytest.raises(bitmma.OptionError, match="B was prepared for"):
        bitmma.gemm(("mi300x", "v_mfma_f32_32x32x8_f16"), x, prepared)
    with pytest.raises(bitmma.ShapeError, match="B is 32×8"):
        bitmma.matmul(x[:, :16], prepared)
    with pytest.raises(bitmma.DtypeError):
        bitmma.matmul(x.astype("float32"), prepared)
