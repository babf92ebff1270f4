"""Convolutions of Gluon kernels that load pixels by tensor maps of im2col, against PyTorch's."""

from __future__ import annotations

import os
import re
from typing import Any

import numpy as np
import pytest

if os.environ.get("TRITON_INTERPRET") != "0":
    pytest.skip("Triton compiles here and interprets in the other tests: TRITON_INTERPRET=0 pytest THIS FILE", allow_module_level=True)
pytest.importorskip("triton")
torch = pytest.importorskip("torch")
gluon = pytest.importorskip("triton.experimental.gluon")

from triton.experimental.gluon import language as gl  # noqa: E402
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma  # noqa: E402
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor, TensorDescriptorIm2Col  # noqa: E402

from bitmma.errors import PtxError  # noqa: E402
from bitmma.kernels import TensorMap, launch_ptx, on  # noqa: E402


@gluon.jit
def columns(x, y, height, width, pixels, S: gl.constexpr, STEP: gl.constexpr, PADDING: gl.constexpr):  # type: ignore[no-untyped-def]
    """For each output pixel, PIXELS a program, the channels of the pixel that the filter's (r, s) meets."""
    first, at = gl.program_id(0) * x.block_shape[0], gl.program_id(1)
    shared = gl.allocate_shared_memory(x.dtype, x.block_shape, x.layout)
    barrier = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(barrier, count=1)
    mbarrier.expect(barrier, x.block_type.nbytes)
    h, w = first // width % height * STEP - PADDING, first % width * STEP - PADDING
    r, s = (at // S).to(gl.int16), (at % S).to(gl.int16)
    tma.async_load_im2col(x, [first // (height * width), h, w, 0], [r, s], barrier, shared)
    mbarrier.wait(barrier, phase=0)
    mbarrier.invalidate(barrier)
    tma.async_store(y, [at * pixels + first, 0], shared)
    tma.store_wait(pendings=0)


@pytest.mark.parametrize("chip", ["h100", "b200"])
@pytest.mark.parametrize(("step", "padding", "r", "s"), [(1, 1, 3, 3), (2, 1, 3, 2), (1, 0, 1, 1), (3, 2, 2, 3)])
def test_convolutions_have_the_sums_of_pytorch(chip: str, step: int, padding: int, r: int, s: int) -> None:
    generator = torch.Generator().manual_seed(1)
    images = torch.randint(-9, 9, (3, 7, 8, 32), generator=generator).half()
    weight = torch.randint(-9, 9, (5, 32, r, s), generator=generator).float()
    expected = torch.nn.functional.conv2d(images.float().permute(0, 3, 1, 2), weight, stride=step, padding=padding).permute(0, 2, 3, 1)
    _, height, width, _ = expected.shape
    count, block = 3 * height * width, [16, 32]
    rows = -(-count // 16) * 16
    loaded = torch.zeros(r * s * rows, 32).half()
    layout = gl.NVMMASharedLayout.get_default_for(block, gl.float16)
    upper = [(out - 1) * step + 1 - size - padding for out, size in ((height, 7), (width, 8))]
    given = TensorDescriptorIm2Col.from_tensor(
        images, block, layout, element_strides=[1, step, step, 1], pixel_box_lower_corner=[-padding] * 2, pixel_box_upper_corner=upper
    )
    on(columns, chip, fusion="predict")[rows // 16, r * s](
        given, TensorDescriptor.from_tensor(loaded, block, layout), height, width, rows, S=s, STEP=step, PADDING=padding, num_warps=1
    )
    sums = torch.einsum("tpc,oct->po", loaded.float().reshape(r * s, rows, 32), weight.reshape(5, 32, r * s))
    assert torch.equal(sums[:count], expected.reshape(count, 5))
    assert not loaded.reshape(r * s, rows, 32)[0, count:].any() or padding  # beyond the last image there is nothing


TEXT = """
.version 8.7
.target sm_100a
.address_size 64
.visible .entry one(.param .align 64 .b8 map[128], .param .u64 out)
.reqntid 1
{{ .reg .pred %p<2>; .reg .b64 %d<3>; .shared .align 1024 .b8 s[512]; .shared .align 8 .b8 m[8];
mov.b64 %d1, map; cvta.param.u64 %d1, %d1; ld.param.u64 %d2, [out];
mbarrier.init.shared::cta.b64 [m], 1; mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 512;
cp.async.bulk.tensor.3d.shared::cta.global.{mode}.mbarrier::complete_tx::bytes [s], [%d1, {{0, {first}, 1}}], [m], {{{offsets}}};
W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [m], 0; @!%p1 bra W;
cp.async.bulk.global.shared::cta.bulk_group [%d2], [s], 512; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
ret; }}
"""


@pytest.mark.parametrize(("mode", "offsets"), [("im2col", "1"), ("im2col::w", "0, 1")])
def test_maps_of_pixels(mode: str, offsets: str) -> None:
    x, out = np.arange(1, 4 * 5 * 32 + 1, dtype=np.float32).reshape(4, 5, 32), np.zeros((4, 32), np.float32)
    text = TEXT.format(mode=mode, first=2, offsets=offsets)
    wide = {"mode": mode, "lower": [-1], "upper": [-1]}
    launch_ptx(text, 1, [TensorMap(x, [4, 32], 128, **wide), out])
    # the box has pixels -1 to 3, which the offset makes 0 to 4
    expected = np.stack([x[1, 3], x[1, 4], x[2, 0], x[2, 1]])
    chunks = out.reshape(4, 8, 4)
    assert (np.stack([chunks[row, np.arange(8) ^ row] for row in range(4)]).reshape(4, 32) == expected).all()
    for what, values in [
        ("mode is 'im2row'; one of tile, im2col, im2col::w, im2col::w::128", {"mode": "im2row"}),
        ("lower is [-1, -1]; a tensor map of im2col with 3 dimensions takes 1 numbers", {"mode": "im2col", "lower": [-1, -1]}),
        ("lower is [-1]; a tensor map of tile with 3 dimensions takes 0 numbers", {"mode": "tile", "box": [1, 4, 32]}),
        ("with a box of pixels and channels, not 3", {"box": [1, 4, 32]}),
        ("the box of im2col is empty along W: from -1 to -9 beyond the 5 pixels", {"upper": [-9]}),
    ]:
        given: dict[str, Any] = {"box": [4, 32], "swizzle": 128, **wide, **values}
        with pytest.raises(PtxError, match=re.escape(what)):
            launch_ptx(text, 1, [TensorMap(x, **given), out])
