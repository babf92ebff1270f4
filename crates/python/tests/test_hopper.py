"""Gluon kernels built as FlashAttention-3 and DeepGEMM are on Hopper: a warp copies boxes of tensors, two groups of four warps multiply."""

import os
from typing import Any

import numpy as np
import pytest

if os.environ.get("TRITON_INTERPRET") != "0":
    pytest.skip("Triton compiles here and interprets in the other tests: TRITON_INTERPRET=0 pytest THIS FILE", allow_module_level=True)
pytest.importorskip("triton")
pytest.importorskip("ml_dtypes")
torch = pytest.importorskip("torch")

from test_triton import function, fused, product, quotient, same, tree  # noqa: E402
from triton.experimental import gluon  # noqa: E402
from triton.experimental.gluon import language as gl  # noqa: E402
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma, warpgroup_mma, warpgroup_mma_wait  # noqa: E402
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor  # noqa: E402

import bitmma  # noqa: E402
from bitmma.kernels import on  # noqa: E402


@gluon.jit
def barriers(count: gl.constexpr):
    pair = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    mbarrier.init(pair.index(0), count=count)
    mbarrier.init(pair.index(1), count=count)
    return pair


@gluon.jit
def copy_boxes(x, y, x_at, y_at, x_boxes, y_boxes, ready, empty, turns, DOWN: gl.constexpr):
    """Boxes of X and Y, one below the other or side by side, through two buffers."""
    STEP: gl.constexpr = x.block_type.shape[0 if DOWN else 1]
    for i in range(turns):
        bar = ready.index(i % 2)
        mbarrier.wait(empty.index(i % 2), (i // 2 & 1) ^ 1)
        mbarrier.expect(bar, x.block_type.nbytes + y.block_type.nbytes)
        tma.async_load(x, [i * STEP, 0] if DOWN else [x_at, i * STEP], bar, x_boxes.index(i % 2))
        tma.async_load(y, [i * STEP, 0] if DOWN else [y_at, i * STEP], bar, y_boxes.index(i % 2))


@gluon.jit
def attend(group: gl.constexpr, q, row, q_boxes, k_boxes, v_boxes, out, q_ready, ready, empty, turn, turns, scale):
    D: gl.constexpr = k_boxes.type.shape[2]  # and columns of a box, so that one layout does
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, D, 16])
    of_rows: gl.constexpr = gl.SliceLayout(1, layout)
    query, bar = q_boxes.index(group), q_ready.index(group)
    mbarrier.expect(bar, q.block_type.nbytes)
    tma.async_load(q, [row, 0], bar, query)
    mbarrier.wait(bar, 0)
    sums, weight = gl.zeros((64, D), gl.float32, layout), gl.zeros((64,), gl.float32, of_rows)
    greatest = gl.full((64,), -float("inf"), gl.float32, of_rows)
    for i in range(turns):
        mbarrier.wait(ready.index(i % 2), i // 2 & 1)
        mbarrier.wait(turn.index(group), (i & 1) ^ (1 - group))  # ping-pong: the other group has its softmax
        scores = warpgroup_mma(query, k_boxes.index(i % 2).permute((1, 0)), gl.zeros((64, D), gl.float32, layout), use_acc=False, is_async=True)
        scores = warpgroup_mma_wait(0, deps=[scores])
        mbarrier.arrive(turn.index(1 - group), count=1)
        now = gl.maximum(greatest, gl.max(scores, 1) * scale)
        p, faded = gl.exp2(scores * scale - now[:, None]), gl.exp2(greatest - now)
        weight, greatest = weight * faded + gl.sum(p, 1), now
        p = gl.convert_layout(p.to(gl.float16), gl.DotOperandLayout(0, layout, 2))
        sums = warpgroup_mma(p, v_boxes.index(i % 2), sums * faded[:, None], is_async=True)
        sums = warpgroup_mma_wait(0, deps=[sums])
        mbarrier.arrive(empty.index(i % 2), count=1)
    place = (row + gl.arange(0, 64, of_rows))[:, None] * D + gl.arange(0, D, gl.SliceLayout(0, layout))[None, :]
    gl.store(out + place, (sums / weight[:, None]).to(gl.float16))


@gluon.jit
def attention(q, k, v, out, n, scale):
    COLUMNS: gl.constexpr = k.block_type.shape[0]
    a, b, c = [gl.allocate_shared_memory(gl.float16, [2] + x.block_type.shape, x.layout) for x in (q, k, v)]
    e, f, g, h = barriers(1), barriers(1), barriers(2), barriers(1)
    fence_async_shared()
    row, turns = gl.program_id(0) * 128, n // COLUMNS
    gl.warp_specialize(
        [
            (attend, (gl.constexpr(0), q, row, a, b, c, out, e, f, g, h, turns, scale)),
            (attend, (gl.constexpr(1), q, row + 64, a, b, c, out, e, f, g, h, turns, scale)),
            (copy_boxes, (k, v, 0, 0, b, c, f, g, turns, gl.constexpr(True))),
        ],
        [4, 1],
        [240, 24],
    )


@gluon.jit
def promote(group: gl.constexpr, row, column, a_boxes, b_boxes, c, of_a, of_b, ready, empty, turns):
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 128, 32])
    rows = row + 64 * group + gl.arange(0, 64, gl.SliceLayout(1, layout))
    sums = gl.zeros((64, 128), gl.float32, layout)
    for i in range(turns):
        mbarrier.wait(ready.index(i % 2), i // 2 & 1)
        a, b = a_boxes.index(i % 2).slice(64 * group, 64), b_boxes.index(i % 2).permute((1, 0))
        chain = warpgroup_mma(a, b, gl.zeros((64, 128), gl.float32, layout), use_acc=False, is_async=True)
        chain = warpgroup_mma_wait(0, deps=[chain])
        mbarrier.arrive(empty.index(i % 2), count=1)
        sums += chain * (gl.load(of_a + rows * turns + i) * gl.load(of_b + column // 128 * turns + i))[:, None]
    columns = column + gl.arange(0, 128, gl.SliceLayout(0, layout))
    gl.store(c + rows[:, None] * (gl.num_programs(1) * 128) + columns[None, :], sums.to(gl.bfloat16))


@gluon.jit
def scaled_product(a, b, c, of_a, of_b, k):
    x, y = [gl.allocate_shared_memory(gl.float8e4nv, [2, 128, 128], one.layout) for one in (a, b)]
    f, g = barriers(1), barriers(2)
    fence_async_shared()
    row, column, turns = gl.program_id(0) * 128, gl.program_id(1) * 128, k // 128
    gl.warp_specialize(
        [
            (promote, (gl.constexpr(0), row, column, x, y, c, of_a, of_b, f, g, turns)),
            (promote, (gl.constexpr(1), row, column, x, y, c, of_a, of_b, f, g, turns)),
            (copy_boxes, (a, b, row, column, x, y, f, g, turns, gl.constexpr(False))),
        ],
        [4, 1],
        [240, 24],
    )


def normal(*shape: int) -> Any:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def boxes(tensor: Any, *box: int, kind: Any) -> Any:
    return TensorDescriptor.from_tensor(tensor, list(box), gl.NVMMASharedLayout.get_default_for(list(box), kind))


def test_attention_whose_groups_take_turns() -> None:
    n, d, scale = 256, 64, np.float32(0.18)
    q, k, v = (one.contiguous() for one in normal(n, 3 * d).half().split(d, 1))
    out = torch.zeros(n, d).half()
    on(attention, "h100", fusion="predict")[(n // 128,)](*(boxes(one, 64, d, kind=gl.float16) for one in (q, k, v)), out, n, float(scale))
    q, k, v = (one.numpy() for one in (q, k, v))
    highest, total, sum = np.full(n, -np.inf, np.float32), np.zeros(n, np.float32), np.zeros((n, d), np.float32)
    for start in range(0, n, 64):
        score = product(90, q, k[start : start + 64].T)
        above = np.maximum(highest, score.max(1) * scale)
        power, decay = (function("ex2", x, 90, ftz=True) for x in (fused(score, scale, -above[:, None]), highest - above))
        total = fused(total, decay, tree(power, np.add, 1, 2, of_row=4))
        sum, highest = product(90, power.astype(np.float16), v[start : start + 64], sum * decay[:, None]), above
    same(out.numpy(), quotient(sum, total[:, None], 90).astype(np.float16))


def test_a_product_of_fp8_with_scales_of_blocks() -> None:
    m, n, k = 256, 256, 640
    a, b, of_a, of_b = normal(m, k), normal(n, k), normal(m, k // 128).exp(), normal(n // 128, k // 128).exp()
    a, b, c = a.to(torch.float8_e4m3fn), b.to(torch.float8_e4m3fn), torch.zeros(m, n, dtype=torch.bfloat16)
    given = [boxes(one, 128, 128, kind=gl.float8e4nv) for one in (a, b)]
    on(scaled_product, "h100", fusion="predict")[(m // 128, n // 128)](*given, c, of_a, of_b, k)
    codes = [np.ascontiguousarray(one.view(torch.uint8).numpy()) for one in (a, b.T)]
    scales = {"scale_a": of_a.numpy(), "scale_b": np.ascontiguousarray(of_b.numpy().T), "scale_blocks": "1x128,128x128"}
    same(c.view(torch.uint16).numpy(), bitmma.gemm(("h100", "wgmma.m64n128k32.f32.e4m3.e4m3"), *codes, **scales, output="bf16").view(np.uint16))
