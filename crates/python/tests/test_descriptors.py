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
