"""Strides, transposes, byte order, alignment, read-only, zero-size: the right result, or a clear exception."""

from __future__ import annotations

import numpy as np
import pytest

import bitmma

UNIT = bitmma.mma("h100", "mma.m16n8k16.f32.f16.f16.f32")
RNG = np.random.default_rng(1)
A = RNG.normal(size=(33, 80)).astype(np.float16)
B = RNG.normal(size=(80, 21)).astype(np.float16)
C = RNG.normal(size=(33, 21)).astype(np.float32)
D = bitmma.gemm(UNIT, A, B, C)


def unaligned(array):
    memory = np.zeros(array.nbytes + 1, np.uint8)
    view = memory[1:].view(array.dtype).reshape(array.shape)
    view[...] = array
    assert not view.flags.aligned or array.itemsize == 1
    return view


def strided(array):
    wide = np.zeros([2 * size for size in array.shape], array.dtype)
    wide[::2, ::2] = array
    return wide[::2, ::2]


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


class Wrapped:
    """An array of another library, by NumPy's protocol."""

    def __init__(self, array):
        self.array, self.dtype = array, array.dtype

    def __array__(self, *_, **__):
        return self.array


class Lent:
    """An array of another library, by DLPack."""

    def __init__(self, array):
        self.array, self.dtype = array, array.dtype

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


LAYOUTS = {
    "columns first": np.asfortranarray,
    "strided": strided,
    "reversed": lambda array: array[::-1, ::-1].copy()[::-1, ::-1],
    "unaligned": unaligned,
    "big-endian": lambda array: array.astype(array.dtype.newbyteorder(">")),
    "read-only": read_only,
    "matrix": lambda array: array.view(np.matrix),
    "array protocol": lambda array: Wrapped(array),
    "dlpack": lambda array: Lent(array),
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_any_layout_gives_the_same_bits(layout):
    d = bitmma.gemm(UNIT, layout(A), layout(B), layout(C))
    assert type(d) is np.ndarray and d.flags.c_contiguous
    assert d.tobytes() == D.tobytes()


def test_a_transposed_view_is_the_transpose():
    assert bitmma.gemm(UNIT, B.T, A.T).tobytes() == bitmma.gemm(UNIT, B.T.copy(), A.T.copy()).tobytes()


def test_a_broadcast_view_is_its_copy():
    row = np.broadcast_to(A[:1], (5, 80))
    assert bitmma.gemm(UNIT, row, B).tobytes() == bitmma.gemm(UNIT, row.copy(), B).tobytes()


def test_operands_are_not_written():
    before = A.tobytes(), B.tobytes(), C.tobytes()
    bitmma.gemm(UNIT, A, B, C, beta=0.5)
    assert (A.tobytes(), B.tobytes(), C.tobytes()) == before


@pytest.mark.parametrize(("m", "n", "k"), [(0, 3, 16), (3, 0, 16), (3, 4, 0), (0, 0, 0)])
def test_zero_size(m, n, k):
    c = np.full((m, n), 2.5, np.float32)
    d = bitmma.gemm(UNIT, np.zeros((m, k), np.float16), np.zeros((k, n), np.float16), c)
    assert d.shape == (m, n) and (d == 2.5).all()
    d = bitmma.matmul(np.zeros((m, k), np.float16), np.zeros((k, n), np.float16), like="v100")
    assert d.shape == (m, n) and (d == 0).all()


def test_several_blocks():
    a, b = np.stack([A[:4], A[4:8]]), np.stack([B, B])
    d = bitmma.gemm(UNIT, a, b)
    assert d.shape == (2, 4, 21)
    assert np.array_equal(d[1], bitmma.gemm(UNIT, A[4:8], B))
    unit = bitmma.mma("mi300x", "v_mfma_f32_32x32x4_2b_f16")
    assert unit.shape == (2, 32, 32, 4)
    d = unit(np.ones((2, 32, 4), np.float16), np.ones((2, 4, 32), np.float16))
    assert d.shape == (2, 32, 32) and (d == 4).all()


def test_results_can_be_written_and_outlive_everything():
    d = bitmma.gemm(UNIT, A, B)
    assert d.flags.writeable and d.flags.aligned
    d += 1


@pytest.mark.parametrize("axes", [(0, 1, 2), (0, 2, 1), (1, 0, 2), (2, 0, 1), (2, 1, 0)])
def test_batches_of_any_order_of_axes(axes):
    """What attention makes of its heads: the batch is not always the axis that memory runs along last."""
    back = np.argsort(axes)
    a, b = (
        np.ascontiguousarray(RNG.normal(size=shape).astype(np.float16).transpose(axes)).transpose(back)
        for shape in ((3, 20, 80), (3, 80, 21))
    )
    assert a.shape == (3, 20, 80)
    d = bitmma.gemm(UNIT, a, b)
    for one, x, y in zip(d, a, b):
        assert one.tobytes() == bitmma.gemm(UNIT, x.copy(), y.copy()).tobytes()


def test_a_code_of_too_many_bits_is_found_in_any_layout():
    unit = bitmma.mma("rtx-blackwell", "mma.m16n8k32.kind::f8f6f4.f32.e2m1.e2m1.f32")
    codes = RNG.integers(0, 16, (32, 8)).astype(np.uint8)
    wrong = codes.copy()
    wrong[20, 3] = wrong[7, 5] = 0x10
    for layout in (np.ascontiguousarray, np.asfortranarray, strided):
        assert bitmma.gemm(unit, codes.T[:, :32], layout(codes)).shape == (8, 8)
        with pytest.raises(bitmma.CodeError, match="61.*0x10"):
            bitmma.gemm(unit, codes.T[:, :32], layout(wrong))
