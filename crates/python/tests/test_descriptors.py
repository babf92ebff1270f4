"""Kernels that copy boxes of tensors, with barrier objects and specialized warps, against the same kernels with pointers."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

if os.environ.get("TRITON_INTERPRET") != "0":
    pytest.skip("Triton compiles here and interprets in the other tests: TRITON_INTERPRET=0 pytest THIS FILE", allow_module_level=True)
pytest.importorskip("triton")
torch = pytest.importorskip("torch")

import descriptor_kernels as kernels  # noqa: E402
from triton.tools.tensor_descriptor import TensorDescriptor  # noqa: E402

from bitmma.errors import KernelError, PtxError  # noqa: E402
from bitmma.kernels import TensorMap, launch_ptx, on  # noqa: E402

GENERATOR = torch.Generator().manual_seed(1)


def normal(*shape: int) -> Any:
    return torch.randn(*shape, generator=GENERATOR).half()


def described(tensor: Any, *box: int) -> Any:
    return TensorDescriptor.from_tensor(tensor, list(box))


def run(kernel: Any, grid: Any, *args: Any, **values: Any) -> Any:
    return on(kernel, "h100", fusion="predict")[grid](*args, **values)


def test_boxes_that_reach_beyond_the_tensor() -> None:
    x = normal(200, 136)
    for block in (16, 32, 64):
        grid, y, z = (-(-200 // block), -(-136 // block)), torch.zeros(200, 136).half(), torch.zeros(200, 136).half()
        run(kernels.doubled, grid, described(x, block, block), described(y, block, block), BLOCK=block)
        run(kernels.doubled_on_the_device, grid, x, z, 200, 136, BLOCK=block)
        assert torch.equal(y, x + x)
        assert torch.equal(z, x + x)


@pytest.mark.parametrize("special", [False, True])
def test_products_have_the_bits_of_pointers(special: bool) -> None:
    m, n, k = 200, 136, 160
    a, b, expected = normal(m, k), normal(k, n), torch.zeros(m, n).half()
    run(kernels.product_of_pointers, (4, 3), a, b, expected, m, n, k, M=64, N=64, K=32)
    given = [described(a, 64, 32), described(b, 32, 64)]
    for grid, kernel, sizes in [((4, 3), kernels.product, {}), ((3,), kernels.persistent, {"m": m, "n": n, "PROGRAMS": 3})]:
        c = torch.zeros(m, n).half()
        run(kernel, grid, *given, described(c, 64, 64), k=k, M=64, N=64, K=32, SPECIAL=special, **sizes)
        assert torch.equal(c, expected), kernel


@pytest.mark.parametrize("special", [False, True])
def test_attention_has_the_bits_of_pointers(special: bool) -> None:
    n, d = 256, 64
    q, k, v = (normal(n, d) for _ in range(3))
    out, expected = torch.zeros(n, d).half(), torch.zeros(n, d).half()
    sizes = {"ROWS": 64, "COLUMNS": 64, "D": d}
    run(kernels.attention_of_pointers, (n // 64,), q, k, v, expected, n, 0.18, **sizes)
    run(kernels.attention, (n // 64,), *(described(x, 64, d) for x in (q, k, v, out)), n, 0.18, SPECIAL=special, **sizes)
    assert torch.equal(out, expected)
    exact = torch.softmax((q.double() @ k.double().T) * 0.18 * np.log(2), 1) @ v.double()
    assert (out - exact).abs().max() < 2e-3


def test_sums_into_a_tensor() -> None:
    x, y = normal(32, 32), normal(32, 32)
    expected = y + x
    run(kernels.added, (1,), x, described(y, 32, 32), BLOCK=32)
    assert torch.equal(y, expected)


def text() -> str:
    """`doubled` as Triton compiles it for an H100."""
    given = torch.zeros(64, 64).half()
    kernel = on(kernels.doubled, "h100", fusion="predict")
    kernel[1, 1](described(given, 64, 64), described(given, 64, 64), BLOCK=64)
    assert kernel.last is not None
    return kernel.last.text


def replaced(pattern: str, by: str) -> Callable[[str], str]:
    return lambda before: re.sub(pattern, by, before, count=1)


LOAD = r"(cp\.async\.bulk\.tensor\.2d\.shared::cta\.global\S* \[%r\d+)"

#: What is broken, how, and what the error says.
BROKEN = {
    "an arrival is lost": (replaced(r"@%p\d+ mbarrier\.arrive[^;]*;", ""), "1 of 1 arrivals are missing; 8192 bytes came that nobody"),
    "too few bytes are expected": (replaced(r"(expect_tx\S* _, \[%r\d+\]), 8192;", r"\1, 4096;"), "is not complete; 4096 bytes came that nobody expects"),
    "too many bytes are expected": (replaced(r"(expect_tx\S* _, \[%r\d+\]), 8192;", r"\1, 16384;"), "is not complete: 8192 bytes are missing"),
    "too few threads arrive": (replaced(r"(mbarrier\.init\S* \[%r\d+\], )1;", r"\g<1>2;"), "1 of 2 arrivals are missing"),
    "the wrong parity is waited for": (replaced(r"mov\.b32 \t(%r\d+), 0;", r"mov.b32 \1, 1;"), "phase 1 of the mbarrier object"),
    "nobody waits": (replaced(r"@!complete bra\.uni waitLoop;", ""), "that was not waited for"),
    "an object is not initialized": (replaced(r"@%p\d+ mbarrier\.init[^;]*;", ""), "it was not initialized"),
    "an object of no arrivals": (replaced(r"(mbarrier\.init\S* \[%r\d+\], )1;", r"\g<1>0;"), "waits for 1 to 1048575 arrivals, not for 0"),
    "one arrival too many": (
        replaced(r"(@%p\d+ mbarrier\.arrive\S* _, (\[%r\d+\]), 8192;)", r"\1 mbarrier.arrive.shared::cta.b64 _, \2;"),
        "1 more arrivals at an mbarrier object that waits for 0 of 1",
    ),
    "an address is not a multiple of 128": (replaced(LOAD, r"\1+16"), "which is not a multiple of 128"),
    "the source is written before it is read": (
        lambda before: re.sub(r"cp\.async\.bulk\.wait_group \t0;", "", before).replace("ret;", "st.shared.b32 [%r2], %r3; ret;"),
        "which a bulk copy reads that was not waited for",
    ),
    "no map is there": (replaced(LOAD + r"\], \[(%rd\d+)", r"\1], [\2+64"), "the tensor map holds nothing"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_kernels_are_errors(name: str) -> None:
    change, expected = BROKEN[name]
    before = text()
    broken = change(before)
    assert broken != before
    x, y = np.ones((200, 136), np.float16), np.zeros((200, 136), np.float16)
    arguments = [argument for array in (x, y) for argument in (TensorMap(array, [64, 64], 128), 200, 136, 136, 1)]
    launch_ptx(before, (4, 3), arguments, fusion="predict")
    assert (y == 2).all()
    with pytest.raises(KernelError, match=re.escape(expected)):
        launch_ptx(broken, (4, 3), arguments, fusion="predict")


def test_maps_are_checked() -> None:
    compiled, x = text(), np.zeros((200, 136), np.float16)

    def launched(*args: Any, **values: Any) -> Any:
        given = [TensorMap(*args, **values), 200, 136, 136, 1, TensorMap(x, [64, 64], 128), 200, 136, 136, 1]
        return launch_ptx(compiled, (1, 1), given, fusion="predict")

    for what, args, values in [
        ("a row of a box has a multiple of 16 bytes, not 130", (x, [64, 65]), {}),
        ("multiple of 16 bytes of at most 64, not 128", (x, [64, 64]), {"swizzle": 64}),
        ("swizzle is 5; one of 0, 32, 64, 128", (x, [64, 64]), {"swizzle": 5}),
        ("fill is 'one'; one of zero, nan", (x, [64, 64]), {"fill": "one"}),
        ("1 to 5 dimensions, 2 given, with a box of as many, not 1", (x, [64]), {}),
        ("a box has 1 to 256 elements along dimension 1, not 300", (x, [300, 64]), {}),
        ("strides of a tensor map are multiples of 16 bytes, not 274", (np.zeros((9, 137), np.float16), [8, 64]), {}),
        ("a tensor map of complex64", (np.zeros((8, 8), np.complex64), [8, 8]), {}),
        ("its elements are 272 bytes apart, not 2", (x.T, [64, 64]), {}),
    ]:
        with pytest.raises(PtxError, match=re.escape(what)):
            launched(*args, **values)
    with pytest.raises(PtxError, match="is a tensor map of 128 bytes, but parameter"):
        launch_ptx(compiled, (1, 1), [TensorMap(x, [64, 64], 128)] * 10, fusion="predict")


def copied(instruction: str, given: np.ndarray, box: list[int], steps: list[int], held: np.ndarray) -> None:
    """Copies a box of a tensor to shared memory, or with a reduction (`.min`) an array from there to it."""
    count = held.size * held.itemsize // 4
    load = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], {bytes};\n" + (
        "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [s], [%d1, {{0, 0}}], [m];\n"
        "W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [m], 0; @!%p1 bra W;"
    )
    store = (
        "fence.proxy.async.shared::cta;\n"
        "cp.reduce.async.bulk.tensor.2d.global.shared::cta.{op}.tile.bulk_group [%d1, {{0, 0}}], [s];\n"
        "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
    )
    words = range(0, 4 * count, 4)
    before = "".join(f"ld.global.u32 %r1, [%d2+{at}]; st.shared.u32 [s+{at}], %r1;\n" for at in words)
    after = "".join(f"ld.shared.u32 %r1, [s+{at}]; st.global.u32 [%d2+{at}], %r1;\n" for at in words)
    body = before + store.format(op=instruction) if instruction else load.format(bytes=4 * count) + after
    compiled = f"""
.version 8.7
.target sm_90a
.address_size 64
.visible .entry one(.param .align 64 .b8 map[128], .param .u64 held)
.reqntid 1
{{ .reg .pred %p<2>; .reg .b32 %r<2>; .reg .b64 %d<3>; .shared .align 128 .b8 s[1024]; .shared .align 8 .b8 m[8];
mov.b64 %d1, map; cvta.param.u64 %d1, %d1; ld.param.u64 %d2, [held];
mbarrier.init.shared::cta.b64 [m], 1;
{body}
ret; }}
"""
    launch_ptx(compiled, 1, [TensorMap(given, box, steps=steps), held], fusion="predict")


def test_the_step_along_the_first_dimension_is_ignored() -> None:
    x = np.arange(64, dtype=np.float32).reshape(4, 16)
    for step in (1, 2, 9):
        held = np.zeros((2, 8), np.float32)
        copied("", x, [4, 8], [2, step], held)
        assert (held == x[::2, :8]).all(), step


@pytest.mark.parametrize("dtype", ["u4", "i4", "u8", "i8", "f2", "f4", "f8"])
def test_reductions_have_the_types_of_ptx(dtype: str) -> None:
    integer, x = dtype[0] != "f", np.arange(3, 67).reshape(4, 16).astype(dtype)
    held = x[:, ::-1].copy()
    reductions: dict[str, tuple[Any, bool]] = {
        "add": (np.add, dtype != "i8"),
        "min": (np.minimum, integer or dtype == "f2"),
        "max": (np.maximum, integer or dtype == "f2"),
        "and": (np.bitwise_and, integer),
        "or": (np.bitwise_or, integer),
        "xor": (np.bitwise_xor, integer),
        "inc": (lambda a, b: np.where(a >= b, 0, a + 1), dtype == "u4"),
        "dec": (lambda a, b: np.where((a == 0) | (a > b), b, a - 1), dtype == "u4"),
    }
    for name, (function, is_known) in reductions.items():
        given = x.copy()
        if is_known:
            copied(name, given, [4, 16], [1, 1], held)
            assert (given == function(x, held)).all(), name
        else:
            with pytest.raises(KernelError, match=f"of a bulk copy takes .*, not {dict(u='u', i='s', f='f')[dtype[0]]}{8 * int(dtype[1])}"):
                copied(name, given, [4, 16], [1, 1], held)


@pytest.mark.parametrize("chip", ["h100", "l40s", "a100"])
def test_elements_have_the_type_that_the_tensor_is_read_as(chip: str) -> None:
    """``triton.reinterpret`` changes it: the greater of 0 and 2^32 - 1 is not 0. Before Hopper there are no maps."""
    import triton

    x, y = torch.full((2, 16), -1, dtype=torch.int32), torch.zeros(2, 16, dtype=torch.int32)
    unsigned = [triton.reinterpret(one, triton.language.uint32) for one in (x, y)]
    if chip == "h100":
        on(kernels.greater, chip, fusion="predict")[(1,)](described(unsigned[1], 2, 16), unsigned[0], COLUMNS=16)
        assert (y == -1).all()
    on(kernels.doubled, chip, fusion="predict")[(1, 1)](described(x, 2, 16), described(y, 2, 16), BLOCK=16)
    assert (y == -2).all()


def test_maps_of_another_type() -> None:
    x = np.zeros((4, 16), np.int32)
    assert TensorMap(x, [4, 16], dtype="uint32").fields()[0][0] == 2
    with pytest.raises(PtxError, match="a tensor map of float16 cannot have the elements of an array of int32: their sizes differ"):
        TensorMap(x, [4, 16], dtype="float16").fields()
    with pytest.raises(PtxError, match="a tensor map of type 11"):
        TensorMap(x, [4, 16], dtype="type 11").fields()
