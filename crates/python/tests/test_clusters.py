"""Kernels whose programs are clusters of two blocks, against the same of one block."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

if os.environ.get("TRITON_INTERPRET") != "0":
    pytest.skip("Triton compiles here and interprets in the other tests: TRITON_INTERPRET=0 pytest THIS FILE", allow_module_level=True)
pytest.importorskip("triton")
torch = pytest.importorskip("torch")

import cluster_kernels as clusters  # noqa: E402
import descriptor_kernels as kernels  # noqa: E402
from triton.experimental.gluon import language  # noqa: E402

from bitmma.errors import KernelError, PtxError  # noqa: E402
from bitmma.kernels import launch_ptx, on  # noqa: E402

ttgl: Any = language
GENERATOR = torch.Generator().manual_seed(1)


def normal(*shape: int) -> Any:
    return torch.randn(*shape, generator=GENERATOR).half()


def run(kernel: Any, grid: Any, *args: Any, **values: Any) -> Any:
    return on(kernel, "h100", fusion="predict")[grid](*args, **values)


def layout(shape: list[int], both: bool) -> Any:
    """Of shared memory of two blocks that have half of the rows each, or `both` all of them."""
    return ttgl.NVMMASharedLayout.get_default_for(shape, ttgl.float16, cga_layout=[[0 if both else 1, 0]])


def test_programs_of_two_blocks() -> None:
    x, y = normal(64, 256).float(), torch.zeros(64, 256)
    alone = torch.zeros(64, 256)
    for out, blocks in [(alone, 1), (y, 2)]:
        run(kernels.normalized, (64,), x, out, 256, num_ctas=blocks)
    assert (y - x / x.exp().sum(1, keepdim=True)).abs().max() < 1e-6
    assert (y - alone).abs().max() < 1e-6
    m, n, k = 128, 128, 64
    a, b = normal(m, k), normal(k, n)
    results = [torch.zeros(m, n).half() for _ in range(2)]
    for c, blocks in zip(results, (1, 2), strict=True):
        run(kernels.product_of_pointers, (1, 1), a, b, c, m, n, k, M=128, N=128, K=32, num_ctas=blocks)
    assert torch.equal(*results)
    with pytest.raises(PtxError, match="the entry requires clusters of \\(2, 1, 1\\) blocks, not \\(4, 1, 1\\)"):
        on(kernels.normalized, "h100", fusion="predict", cluster=4)[(64,)](x, y, 256, num_ctas=2)


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("multicast", [False, True])
def test_boxes_of_two_blocks(both: bool, multicast: bool) -> None:
    x, y = normal(64, 64), torch.zeros(64, 64).half()
    kernel = on(clusters.copied, "h100", fusion="predict")
    kernel[(1,)](x, y, layout([64, 64], both), 8192 if both else 4096, multicast, num_ctas=2)
    assert torch.equal(x, y)
    assert kernel.last is not None
    assert ("multicast::cluster" in kernel.last.text) == (both and multicast)


@pytest.mark.parametrize("meets", [False, True])
def test_a_product_of_two_blocks(meets: bool) -> None:
    """Each has half of the rows of A, and B is copied to both: they must meet before the next copy."""
    k, part = 128, 32
    x, y, z, expected = normal(128, k), normal(k, 64), torch.zeros(128, 64).half(), torch.zeros(128, 64).half()
    run(kernels.product_of_pointers, (1, 1), x, y, expected, 128, 64, k, M=128, N=64, K=part)
    of_d = ttgl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=[4, 1], instr_shape=[16, 64, 16], cga_layout=[[1, 0]])
    layouts = [layout([128, part], False), layout([part, 64], True), layout([128, 64], False), of_d]
    if meets:
        run(clusters.product, (1,), x, y, z, k, part, *layouts, True, num_ctas=2)
        assert torch.equal(z, expected)
    else:
        with pytest.raises(KernelError, match="copies to shared memory at .*, which a cp.async writes that was not waited for"):
            run(clusters.product, (1,), x, y, z, k, part, *layouts, False, num_ctas=2)


def test_the_cluster_of_a_launch() -> None:
    text = """
.version 8.7
.target sm_90a
.address_size 64
.visible .entry one(.param .u64 out)
.reqntid 1
{ .reg .b32 %r<4>; .reg .b64 %d<2>; ld.param.u64 %d1, [out]; mov.u32 %r1, %ctaid.x; mad.wide.u32 %d1, %r1, 4, %d1;
mov.u32 %r2, %cluster_nctarank; mov.u32 %r3, %cluster_ctarank; mad.lo.u32 %r2, %r2, 10, %r3; st.global.u32 [%d1], %r2; ret; }
"""
    for cluster, expected in [(None, [10] * 4), (2, [20, 21, 20, 21]), ([4, 1, 1], [40, 41, 42, 43])]:
        out = np.zeros(4, np.uint32)
        launch_ptx(text, 4, [out], cluster=cluster, fusion="predict")
        assert out.tolist() == expected
    with pytest.raises(PtxError, match="not a multiple of clusters"):
        launch_ptx(text, 4, [np.zeros(4, np.uint32)], cluster=3, fusion="predict")
    with pytest.raises(PtxError, match="cluster must be one to three positive integers"):
        launch_ptx(text, 4, [np.zeros(4, np.uint32)], cluster=0, fusion="predict")
