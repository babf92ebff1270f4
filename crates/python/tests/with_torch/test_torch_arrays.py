"""PyTorch tensors in and out: every dtype, all codes, views, devices."""

from __future__ import annotations

import numpy as np
import pytest

import bitmma
from bitmma import formats
from bitmma._dtypes import FORMATS_OF, WORD_OF

torch = pytest.importorskip("torch")

# of integers of 4 bits PyTorch has no operation
DTYPES = [name for name in FORMATS_OF if hasattr(torch, name) and name not in ("float4_e2m1fn_x2", "int4", "uint4")]
UNIT = bitmma.mma("h100", "mma.m16n8k16.f32.f16.f16.f32")
A = torch.randn(33, 80, generator=torch.Generator().manual_seed(1)).half()
B = torch.randn(80, 21, generator=torch.Generator().manual_seed(2)).half()


def same(d, expected):
    return torch.is_tensor(d) and np.array_equal(formats.codes(d), formats.codes(expected))


@pytest.mark.parametrize("dtype", DTYPES)
def test_all_codes_there_and_back(dtype):
    name = FORMATS_OF[dtype][0]
    bits = formats.by_name(name).bits
    codes = np.arange(1 << min(bits, 16), dtype=np.uint64) << np.uint64(max(bits - 16, 0))
    codes = codes.astype(WORD_OF[formats.by_name(name).bytes])
    signed = codes if codes.itemsize == 1 else codes.view(f"int{8 * codes.itemsize}")
    tensor = torch.from_numpy(signed).view(getattr(torch, dtype))
    back = formats.codes(tensor)
    assert np.array_equal(back, codes) and np.shares_memory(back, codes)
    expected = tensor.double().numpy()
    assert np.array_equal(formats.decode(tensor), expected, equal_nan=True)


def test_tensors_in_a_tensor_out():
    expected = bitmma.gemm(UNIT, A.numpy(), B.numpy())
    d = bitmma.gemm(UNIT, A, B)
    assert d.dtype == torch.float32 and same(d, expected)
    assert bitmma.gemm(UNIT, A, B, output="bf16").dtype == torch.bfloat16
    assert bitmma.gemm(UNIT, A, B, output="e4m3").dtype == torch.float8_e4m3fn
    assert same(bitmma.gemm(UNIT, A.t().contiguous().t(), B[:, :]), expected)
    assert same(bitmma.gemm(UNIT, A.requires_grad_(), B.numpy()), expected)
    assert same(bitmma.matmul(A, B, like="h100"), expected)
    A.requires_grad_(False)


def test_codes_in_codes_out():
    d = bitmma.gemm(UNIT, A.view(torch.uint16), B.view(torch.uint16))
    assert d.dtype == torch.uint32


def test_bfloat16_and_fp8():
    a, b = A.bfloat16(), B.bfloat16()
    assert np.allclose(bitmma.matmul(a, b, like="mi300x").numpy(), (a.double() @ b.double()).numpy(), atol=1e-4)
    a, b = A.to(torch.float8_e4m3fn), B.to(torch.float8_e4m3fn)
    assert torch.allclose(bitmma.matmul(a, b, like="b200").double(), a.double() @ b.double(), atol=1e-4)


@pytest.mark.skipif(not hasattr(torch, "float4_e2m1fn_x2"), reason="this PyTorch has no float4_e2m1fn_x2")
def test_two_fp4_codes_in_a_byte():
    codes_a = np.random.default_rng(1).integers(0, 16, (8, 64), np.uint8)
    codes_b = np.random.default_rng(2).integers(0, 16, (8, 64), np.uint8)

    def packed(codes):
        return torch.from_numpy(codes[:, ::2] | codes[:, 1::2] << 4).view(torch.float4_e2m1fn_x2)

    expected = bitmma.matmul(codes_a, codes_b.T, like="b200", read_as="e2m1")
    d = bitmma.matmul(packed(codes_a), packed(codes_b).view(torch.uint8).t().view(torch.float4_e2m1fn_x2), like="b200")
    assert np.array_equal(formats.codes(d), expected)


def test_other_devices_and_layouts_say_what_to_do():
    with pytest.raises(bitmma.DeviceError, match=r"A is on meta; bring it to the CPU first: tensor.cpu\(\)"):
        bitmma.gemm(UNIT, A.to("meta"), B)
    with pytest.raises(bitmma.DtypeError, match=r"torch.sparse_coo tensor; make it dense first"):
        bitmma.gemm(UNIT, A.to_sparse(), B)
    with pytest.raises(bitmma.DtypeError, match="A is float32; f16 comes as float16"):
        bitmma.gemm(UNIT, A.float(), B)
    with pytest.raises(bitmma.DtypeError, match="A is complex64"):
        bitmma.gemm(UNIT, A.to(torch.complex64), B)
    if torch.cuda.is_available():
        with pytest.raises(bitmma.DeviceError, match="A on cuda:0, B on cpu"):
            bitmma.gemm(UNIT, A.cuda(), B)


def test_negated_and_zero_size_tensors():
    assert bitmma.gemm(UNIT, A[:0], B).shape == (0, 21)
    lazy = torch.complex(A.float(), B.t().repeat(2, 1)[:33].float()).conj().imag  # a view that negates when read
    assert lazy.is_neg()
    tf32 = bitmma.mma("h100", "mma.m16n8k8.f32.tf32.tf32.f32")
    assert same(bitmma.gemm(tf32, lazy, B.float()), bitmma.gemm(tf32, lazy.resolve_neg(), B.float()))
