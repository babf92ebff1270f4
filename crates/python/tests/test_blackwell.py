"""Kernels for a B200: what its tensor cores multiply, against ``bitmma.gemm``."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

if os.environ.get("TRITON_INTERPRET") != "0":
    pytest.skip("Triton compiles here and interprets in the other tests: TRITON_INTERPRET=0 pytest THIS FILE", allow_module_level=True)
pytest.importorskip("triton")
torch = pytest.importorskip("torch")

import blackwell_kernels as kernels  # noqa: E402

import bitmma  # noqa: E402
from bitmma.kernels import on  # noqa: E402
from triton.tools.tensor_descriptor import TensorDescriptor  # noqa: E402

#: Elements of D along each side: a million of each kind with BITMMA_TESTS=all.
SIDE = 1024 if os.environ.get("BITMMA_TESTS") == "all" else 256


KINDS = {
    "f16": (torch.float16, 16, "kind::f16.f32.f16.f16", False),
    "f16 in f16": (torch.float16, 16, "kind::f16.f16.f16.f16", True),
    "bf16": (torch.bfloat16, 16, "kind::f16.f32.bf16.bf16", False),
    "tf32": (torch.float32, 32, "kind::tf32.f32.tf32.tf32", False),
    "e4m3": (torch.float8_e4m3fn, 8, "kind::f8f6f4.f32.e4m3.e4m3", False),
    "e5m2": (torch.float8_e5m2, 8, "kind::f8f6f4.f32.e5m2.e5m2", False),
}


def drawn(random: Any, kind: Any, bits: int, shape: tuple[int, int], normal: bool) -> Any:
    """Numbers about one, or any bits, NaN and infinities among them, here and there."""
    if normal:
        return torch.from_numpy(random.standard_normal(shape)).float().to(kind)
    storage = {8: np.uint8, 16: np.int16, 32: np.int32}[bits]
    every = torch.from_numpy(random.integers(0, 1 << bits, shape, dtype=np.uint64).astype(storage)).view(kind)
    chosen = torch.from_numpy(random.random(shape) < 0.02)
    return torch.where(chosen, every.float(), torch.from_numpy(random.standard_normal(shape)).float()).to(kind)


def same(given: Any, expected: Any) -> None:
    kind = {2: np.uint16, 4: np.uint32}[given.element_size()]
    given = given.view({2: torch.int16, 4: torch.int32}[given.element_size()]).numpy().view(kind)
    expected = np.ascontiguousarray(expected).view(kind)
    assert np.array_equal(given, expected), np.argwhere(given != expected)[:3]


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("normal", [True, False])
def test_products(name: str, normal: bool) -> None:
    kind, bits, form, half = KINDS[name]
    random, k = np.random.default_rng(7), 1024 // bits
    a, b = (drawn(random, kind, bits, shape, normal) for shape in ((SIDE, k), (k, SIDE)))
    c = torch.zeros(SIDE, SIDE, dtype=torch.float16 if half else torch.float32)
    kernel = on(kernels.product, "b200")
    kernel[SIDE // 128, SIDE // 128](a, b, c, SIDE, k, M=128, N=128, K=k // 2, HALF=half)
    assert kernel.last is not None and f"tcgen05.mma.cta_group::1.{form.split('.')[0]}" in kernel.last.text
    # TF32 is FP32 without its last bits
    a, b = (torch.where(x == 0, x, x.view(torch.int32).bitwise_and(-8192).view(kind)) if kind == torch.float32 else x for x in (a, b))
    same(c, bitmma.gemm(("b200", f"tcgen05.mma.m128n128k{256 // bits}.{form}"), a, b))


#: Formats of A and B and of their factors, elements in a byte, elements that have a factor.
SCALED = {
    "mxfp8": ("e4m3", "e4m3", "ue8m0", 1, 1, 32, "kind::mxf8f6f4.block32"),
    "mxfp8 and mxfp4": ("e5m2", "e2m1", "ue8m0", 1, 2, 32, "kind::mxf8f6f4.block32"),
    "mxfp4": ("e2m1", "e2m1", "ue8m0", 2, 2, 32, "kind::mxf4.block32"),
    "nvfp4": ("e2m1", "e2m1", "ue4m3", 2, 2, 16, "kind::mxf4nvf4.block16"),
}


@pytest.mark.parametrize("name", SCALED)
def test_scaled_products(name: str) -> None:
    of_a, of_b, of_scale, per_a, per_b, block, form = SCALED[name]
    random, k = np.random.default_rng(8), 256
    draw = lambda *shape: torch.from_numpy(random.integers(0, 256, shape, dtype=np.uint8))  # noqa: E731
    a, b = draw(SIDE, k // per_a), draw(SIDE, k // per_b)
    near = {"ue8m0": (118, 136), "ue4m3": (40, 80)}[of_scale]
    scales = [torch.from_numpy(random.integers(*near, (SIDE, k // block), dtype=np.uint8)) for _ in range(2)]
    scales[0][3, 1] = 255 if of_scale == "ue8m0" else 127  # NaN
    if of_scale == "ue4m3":
        scales = [scale.view(torch.float8_e4m3fn) for scale in scales]
    c = torch.zeros(SIDE, SIDE)
    kernel = on(kernels.scaled_product, "b200")
    kernel[SIDE // 128, SIDE // 128](
        a, scales[0], b, scales[1], c, SIDE, k, M=128, N=128, K=128, A=of_a, B=of_b, PER_A=per_a, PER_B=per_b, BLOCK=block
    )
    assert kernel.last is not None and f"tcgen05.mma.cta_group::1.{form.split('.')[0]}" in kernel.last.text
    codes = [np.stack([x & 15, x >> 4], -1).reshape(SIDE, k) if per == 2 else x for x, per in ((a.numpy(), per_a), (b.numpy(), per_b))]
    factors = [scale.view(torch.uint8).numpy() for scale in scales]
    instruction = f"tcgen05.mma.m128n128k{64 if per_a == per_b == 2 else 32}.{form}.f32.{of_a}.{of_b}.{of_scale}"
    same(c, bitmma.gemm(("b200", instruction), codes[0], np.ascontiguousarray(codes[1].T), scale_a=factors[0], scale_b=np.ascontiguousarray(factors[1].T)))


def test_padded_codes_by_descriptors() -> None:
    random, k = np.random.default_rng(9), 384
    a, b = (torch.from_numpy(random.integers(0, 256, shape, dtype=np.uint8)) for shape in ((128, k), (128, k // 2)))
    scales = [random.integers(118, 136, (128, k // 32), dtype=np.uint8) for _ in range(2)]
    c = torch.zeros(128, 128)
    kernel = on(kernels.mixed_product, "b200")
    of_a = TensorDescriptor.from_tensor(a.view(torch.float8_e4m3fn), [128, 128])
    of_b = TensorDescriptor.from_tensor(b, [128, 64])
    kernel[(1,)](of_a, torch.from_numpy(scales[0]), of_b, torch.from_numpy(scales[1]), c, k, M=128, N=128, K=128)
    assert kernel.last is not None and kernel.last.compiled.metadata.tensordesc_meta[1]["fp4_padded"]
    codes = np.stack([b.numpy() & 15, b.numpy() >> 4], -1).reshape(128, k)
    instruction = "tcgen05.mma.m128n128k32.kind::mxf8f6f4.block32.f32.e4m3.e2m1.ue8m0"
    same(c, bitmma.gemm(("b200", instruction), a.numpy(), np.ascontiguousarray(codes.T), scale_a=scales[0], scale_b=np.ascontiguousarray(scales[1].T)))
