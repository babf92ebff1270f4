"""Gluon kernels of clusters of two blocks, each of which has half of the rows; what both need is copied to both at once."""

# ruff: noqa
from triton.experimental import gluon
from triton.experimental.gluon import language as ttgl
from triton.experimental.gluon.language.nvidia.hopper import (
    cluster,
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)


@gluon.jit
def copied(x, y, layout: ttgl.constexpr, BYTES: ttgl.constexpr, MULTICAST: ttgl.constexpr):
    a = tma.make_tensor_descriptor(x, [64, 64], [64, 1], [64, 64], layout)
    b = tma.make_tensor_descriptor(y, [64, 64], [64, 1], [64, 64], layout)
    bar = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, count=1)
    fence_async_shared()
    cluster.barrier()
    buffer = ttgl.allocate_shared_memory(ttgl.float16, [64, 64], layout)
    mbarrier.expect(bar, BYTES)
    tma.async_load(a, [0, 0], bar, buffer, multicast=MULTICAST)
    mbarrier.wait(bar, 0)
    mbarrier.invalidate(bar)
    tma.async_store(b, [0, 0], buffer)
    tma.store_wait(0)


@gluon.jit
def product(
    x, y, z, K: ttgl.constexpr, BK: ttgl.constexpr, of_a: ttgl.constexpr, of_b: ttgl.constexpr, of_c: ttgl.constexpr, of_d: ttgl.constexpr, MEETS: ttgl.constexpr
):
    a = tma.make_tensor_descriptor(x, [128, K], [K, 1], [128, BK], of_a)
    b = tma.make_tensor_descriptor(y, [K, 64], [64, 1], [BK, 64], of_b)
    c = tma.make_tensor_descriptor(z, [128, 64], [64, 1], [128, 64], of_c)
    bar = mbarrier.allocate_mbarrier()
    mbarrier.init(bar, count=1)
    fence_async_shared()
    cluster.barrier()
    buffer_a = ttgl.allocate_shared_memory(ttgl.float16, [128, BK], of_a)
    buffer_b = ttgl.allocate_shared_memory(ttgl.float16, [BK, 64], of_b)
    buffer_c = ttgl.allocate_shared_memory(ttgl.float16, [128, 64], of_c)
    d = ttgl.zeros((128, 64), ttgl.float32, of_d)
    phase = 0
    for k in range(0, K, BK):
        mbarrier.expect(bar, 64 * BK * 2 + BK * 64 * 2)
        tma.async_load(a, [0, k], bar, buffer_a)
        tma.async_load(b, [k, 0], bar, buffer_b, multicast=True)
        mbarrier.wait(bar, phase)
        phase ^= 1
        d = warpgroup_mma(buffer_a, buffer_b, d, is_async=True)
        d = warpgroup_mma_wait(0, deps=(d,))
        if MEETS:
            cluster.barrier()
    mbarrier.invalidate(bar)
    buffer_c.store(d.to(ttgl.float16))
    fence_async_shared()
    tma.async_store(c, [0, 0], buffer_c)
    tma.store_wait(0)
