"""GEMM and matmul: what the options do, held against tiles of mma and against each other."""

from __future__ import annotations

import numpy as np
import pytest

import bitmma
from bitmma import _bitmma, formats

HOPPER = bitmma.mma("h100", "mma.m16n8k16.f32.f16.f16.f32")
FP8 = bitmma.mma("h100", "wgmma.m64n8k32.f32.e4m3.e4m3")
RNG = np.random.default_rng(3)
A = RNG.normal(size=(32, 96)).astype(np.float16)
B = RNG.normal(size=(96, 24)).astype(np.float16)
C = RNG.normal(size=(32, 24)).astype(np.float32)


def tiles(unit, a, b, c):
    """D = A·B + C by one instruction after the other, tile by tile."""
    _, m, n, k = unit.shape
    d = c.copy()
    for i in range(0, a.shape[0], m):
        for j in range(0, b.shape[1], n):
            for p in range(0, a.shape[1], k):
                d[i : i + m, j : j + n] = unit(a[i : i + m, p : p + k], b[p : p + k, j : j + n], d[i : i + m, j : j + n])
    return d


def test_gemm_is_a_loop_over_mma():
    assert bitmma.gemm(HOPPER, A, B, C).tobytes() == tiles(HOPPER, A, B, C).tobytes()
    assert bitmma.simulate(HOPPER, A[:, :16], B[:16], C, reference=True).tobytes() == tiles(HOPPER, A[:, :16], B[:16], C).tobytes()


@pytest.mark.parametrize("blocks", ["1x128,128x128", "1x128,1x128", "128x128,1x128"])
def test_scales_of_blocks_are_applied_after_each_128_of_k(blocks):
    (rows, _), (columns, _) = [map(int, block.split("x")) for block in blocks.split(",")]
    a, b = (RNG.integers(0x28, 0x48, size=(130, 300)).astype(np.uint8) for _ in range(2))
    scale_a = RNG.uniform(0.5, 2, size=(-(-130 // rows), 3)).astype(np.float32)
    scale_b = RNG.uniform(0.5, 2, size=(3, -(-130 // columns))).astype(np.float32)
    d = bitmma.gemm(FP8, a, b.T, scale_a=scale_a, scale_b=scale_b, scale_blocks=blocks)
    same = bitmma.matmul(a, b.T, like="h100", read_as="e4m3", scale_a=scale_a, scale_b=scale_b, scale_blocks=blocks)
    np.testing.assert_array_equal(d, same)
    total = np.zeros((130, 130), np.float32)
    for block in range(3):
        at = slice(128 * block, 128 * block + 128)
        chain = bitmma.gemm(FP8, a[:, at], b[:, at].T).view(np.float32).astype(np.float64)
        of_a = scale_a[np.arange(130) // rows, block][:, None]
        scale = (of_a * scale_b[block, np.arange(130) // columns]).astype(np.float64)
        total = (chain * scale + total).astype(np.float32)  # exact in FP64 here but for one rounding
    np.testing.assert_array_equal(d.view(np.float32), total)


def test_row_wise_scales_are_applied_once():
    a, b = (RNG.integers(0x28, 0x48, size=(20, 300)).astype(np.uint8) for _ in range(2))
    scale_a, scale_b = (RNG.uniform(0.5, 2, size=size).astype(np.float32) for size in ((20, 1), (1, 20)))
    for every in (None, 128):
        given = {"scale_a": scale_a, "scale_b": scale_b, "scale_blocks": "row", "promote_every": every}
        d = bitmma.gemm(FP8, a, b.T, **given).view(np.float32)
        plain = bitmma.gemm(FP8, a, b.T, promote_every=every).view(np.float32)
        np.testing.assert_array_equal(d, (plain * scale_a) * scale_b)
    with pytest.raises(bitmma.OptionError, match="1x128,128x128"):
        bitmma.gemm(FP8, a, b.T, scale_a=scale_a, scale_b=scale_b, scale_blocks="rows")
    with pytest.raises(bitmma.ShapeError, match="scale B is 20×1"):
        bitmma.gemm(FP8, a, b.T, scale_a=scale_a, scale_b=scale_b.T, scale_blocks="row")


def test_what_progress_raises_ends_the_product():
    done = []

    def stop(products, total):
        done.append((products, total))
        raise KeyboardInterrupt

    a, b = np.ones((1100, 16), np.float16), np.ones((16, 2100), np.float16)  # larger than a tile
    with pytest.raises(KeyboardInterrupt):
        bitmma.gemm(HOPPER, a, b, progress=stop)
    assert len(done) == 1 and done[0][0] < done[0][1]


def test_split_k_adds_parts_in_fp32():
    zero = np.zeros_like(C)
    parts = [tiles(HOPPER, A[:, s], B[s], zero) for s in (slice(0, 32), slice(32, 64), slice(64, 96))]
    expected = (parts[0] + parts[1]) + parts[2] + C
    assert bitmma.gemm(HOPPER, A, B, C, split_k=3).tobytes() == expected.tobytes()


def test_no_more_parts_than_steps():
    six = bitmma.gemm(HOPPER, A, B, C, split_k=6)
    assert bitmma.gemm(HOPPER, A, B, C, split_k=10**6).tobytes() == six.tobytes()
    one = A[:, :16], B[:16], C
    assert bitmma.gemm(HOPPER, *one, split_k=10**6).tobytes() == bitmma.gemm(HOPPER, *one).tobytes()


def test_promotion_adds_in_fp32():
    zero, expected = np.zeros_like(C), C.copy()
    for p in range(0, 96, 32):
        expected += tiles(HOPPER, A[:, p : p + 32], B[p : p + 32], zero)
    assert bitmma.gemm(HOPPER, A, B, C, promote_every=32).tobytes() == expected.tobytes()


def test_alpha_and_beta_in_fp32():
    ab = tiles(HOPPER, A, B, np.zeros_like(C))
    expected = np.float32(0.1) * ab + np.float32(3.0) * C
    assert bitmma.gemm(HOPPER, A, B, C, alpha=0.1, beta=3.0).tobytes() == expected.tobytes()


def test_output_rounds_once():
    d = bitmma.gemm(HOPPER, A, B, C)
    assert bitmma.gemm(HOPPER, A, B, C, output="f16").tobytes() == d.astype(np.float16).tobytes()
    toward_zero = bitmma.gemm(HOPPER, A, B, C, output="f16", output_rounding="RZ")
    assert (np.abs(toward_zero.astype(np.float64)) <= np.abs(d)).all()
    large = np.full((1, 16), 256.0, np.float16)
    assert bitmma.gemm(HOPPER, large, large.T, output="f16")[0, 0] == np.inf
    assert bitmma.gemm(HOPPER, large, large.T, output="f16", saturate=True)[0, 0] == 65504


def test_a_model_of_ones_own_runs_like_any_other():
    toml = bitmma.mma("h100", "wgmma.m64n8k32.f32.e4m3.e4m3").toml
    assert "13" in toml
    a = formats.encode(RNG.normal(size=(8, 64)), "e4m3")
    mine = bitmma.Unit.from_toml(toml, step=32)
    assert np.array_equal(bitmma.gemm(mine, a, a.T), bitmma.gemm(FP8, a, a.T))
    assert mine.shape is None and mine.instruction is None and "T-FDPA" in repr(mine)


CHIPS = ["v100", "t4", "a100", "rtx4090", "h100", "b200", "rtx5090", "mi100", "mi250x", "mi300x"]


@pytest.mark.parametrize("chip", CHIPS)
def test_matmul_picks_an_instruction_and_says_which(chip):
    d, info = bitmma.matmul(A, B, like=chip, return_info=True)
    assert d.dtype == np.float32 and d.shape == (32, 24)
    assert (info.instruction.a, info.instruction.d) == ("f16", "f32") and info.fast
    expected = bitmma.gemm((chip, info.instruction.name), A, B)
    assert d.tobytes() == expected.tobytes()
    assert np.allclose(d, A.astype(np.float64) @ B.astype(np.float64), atol=1e-3)
    assert info.padded_k == 96 and info.instruction.name in str(info)


def test_matmul_reads_float32_as_tf32_and_codes_as_said():
    a = RNG.normal(size=(8, 32)).astype(np.float32)
    d, info = bitmma.matmul(a, a.T, like="a100", read_as="tf32", return_info=True)
    assert info.instruction.a == "tf32" and d.dtype == np.float32
    codes = formats.encode(a, "e4m3")
    words, info = bitmma.matmul(codes, codes.T, like="h100", read_as="e4m3", return_info=True)
    assert info.instruction.name == "wgmma.m64n256k32.f32.e4m3.e4m3" and words.dtype == np.uint32
    assert bitmma.matmul(a, a.T, like="mi300x").dtype == np.float32  # FP32 has an instruction of its own there
    assert bitmma.matmul(a.astype(float), a.T.astype(float), like="h100").dtype == np.float64


def test_equation_1_of_the_paper():
    a = np.array([[-8192, -0.5, -0.25, -0.125]], np.float16)
    b = np.array([[1024, 1, 1, 1]], np.float16).T
    c = np.array([[2.0**23]], np.float32)
    answers = {"v100": 0.0, "t4": -0.5, "a100": -0.5, "rtx4090": -0.5, "h100": -0.75, "b200": -0.75}
    answers |= {"mi100": -0.875, "mi250x": 0.0, "mi300x": -0.5}
    for chip, answer in answers.items():
        found = bitmma.catalogue.choose(chip, "f16", "f16")
        assert bitmma.gemm((chip, found.name), a, b, c)[0, 0] == answer, chip


@pytest.mark.parametrize(
    ("a", "b", "d"),
    [
        ((2**40, 0, 5), (2**40, 5, 0), (2**40, 0, 0)),
        ((2**40, 3, 0), (2**40, 0, 0), (2**40, 3, 0)),
        ((2**40, 0, 0), (2**40, 0, 7), (2**40, 0, 7)),
        ((0, 2**60), (2**60, 0), (0, 0)),
    ],
)
def test_sizes_beside_zero_may_be_anything(a, b, d):
    empty = np.zeros(a, np.float16), np.zeros(b, np.float16)
    for options in ({}, {"split_k": 2**40}, {"promote_every": 16}, {"alpha": 2.0, "threads": 2}):
        assert bitmma.gemm(HOPPER, *empty, **options).shape == d
    assert bitmma.matmul(*empty, like="h100").shape == d


def test_a_broadcast_array_that_no_memory_holds_is_refused():
    one = np.float16(1)
    with pytest.raises(bitmma.errors.TooLarge, match="A of shape .* cannot be held in memory"):
        bitmma.gemm(HOPPER, np.broadcast_to(one, (1, 2**40)), np.broadcast_to(one, (2**40, 1)))


def test_options_that_are_none_or_wrong() -> None:
    unit = bitmma.mma("hopper", "mma.m16n8k16.f32.f16.f16.f32")
    a, b = np.ones((16, 16), np.float16), np.ones((16, 8), np.float16)
    native = (unit, (a.view(np.uint16), b.view(np.uint16), None, None, None))
    with pytest.raises(TypeError, match="a product has no option 'split'"):
        _bitmma.gemm(*native, split=2)
    with pytest.raises(TypeError, match="argument 'alpha': must be real number, not str"):
        _bitmma.gemm(*native, alpha="x")
    with pytest.raises(TypeError, match="a product has no option 'split'"):
        _bitmma.schedule(unit, (1, 16, 16), (1, 16, 8), split=2)
    d, name = _bitmma.gemm(*native, alpha=None, output=None)
    assert name == "f32" and (d.view(np.float32) == 16).all()
