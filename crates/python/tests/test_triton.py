"""Triton kernels on chips that are not here: their bits against compositions of NumPy, ``bitmma.gemm`` and ``bitmma.functions``."""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest

if os.environ.get("TRITON_INTERPRET") != "0":
    pytest.skip("Triton compiles here and interprets in the other tests: TRITON_INTERPRET=0 pytest THIS FILE", allow_module_level=True)
pytest.importorskip("triton")
pytest.importorskip("ml_dtypes")
torch = pytest.importorskip("torch")

import kernels_of_a_layer  # noqa: E402
import triton_kernels as kernels  # noqa: E402
from common import ROOT  # noqa: E402

import bitmma  # noqa: E402
from bitmma import functions  # noqa: E402
from bitmma.gpu.product import fma32  # noqa: E402
from bitmma.kernels import on  # noqa: E402

CASES = {case.name: case for case in kernels.CASES}
CAPABILITIES = (80, 90)
CHIPS = {80: "a100", 90: "h100"}


def launched(name: str, capability: int) -> tuple[list[Any], list[Any]]:
    """The arguments of a case, before and after it ran."""
    case = CASES[name]
    if not case.runs_on(capability):
        pytest.skip("Triton has no E4M3 before sm_89")
    before, after = case.arguments(), case.arguments()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        on(case.kernel, f"sm_{capability}")[case.grid](*after, **case.constants)
    return before, after


def same(one: Any, other: Any) -> None:
    """The bits of two arrays."""
    assert one.dtype == other.dtype and one.shape == other.shape
    word = f"u{one.dtype.itemsize}"
    differ = one.view(word) != other.view(word)
    assert not differ.any(), f"{differ.sum()} of {differ.size} differ, first {one[differ][0]!r} and {other[differ][0]!r}"


def function(name: str, x: Any, capability: int, ftz: bool = False) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(functions, name)(np.ascontiguousarray(x), chip=CHIPS[capability], ftz=ftz, assume=True)


def exponential(x: Any, capability: int) -> Any:
    """``tl.exp``: a multiplication and ex2.approx."""
    return function("ex2", x * np.float32(1.44269504), capability)


def quotient(x: Any, y: Any, capability: int) -> Any:
    """``div.full`` where y is not extreme: a reciprocal and a multiplication."""
    return x * function("rcp", np.broadcast_to(y, x.shape), capability, ftz=True)


def fused(x: Any, y: Any, z: Any) -> Any:
    """x · y + z, rounded once."""
    return fma32(*(torch.from_numpy(one.copy()) for one in np.broadcast_arrays(x, y, z))).numpy()


#: The coefficients of ``tl.log2``'s polynomial, the highest power first.
LOG2 = np.array(
    [0x3DC6B27F, 0xBE2C7F30, 0x3E2FCF2A, 0xBE374E43, 0x3E520BF4, 0xBE763C8B, 0x3E93BF99, 0xBEB8AA49, 0x3EF6384A, 0xBF38AA3B], np.uint32
).view(np.float32)


def log2(x: Any) -> Any:
    """``tl.log2`` of normal numbers: a polynomial around 1, and the exponent."""
    codes = x.view(np.int32)
    exponent = (codes - 1060439283) & -(1 << 23)  # sqrt(1/2)
    rest = (codes - exponent).view(np.float32) - 1
    sum = LOG2[0]
    for coefficient in LOG2[1:]:
        sum = fused(sum, rest, coefficient)
    sum = fused(rest, np.float32(1.44269502), rest * (rest * sum))
    return exponent.astype(np.float32) * np.float32(2.0**-23) + sum


def tree(values: Any, reduce: Any, warps: int = 4, together: int = 1, of_row: int = 32) -> Any:
    """A reduction along the last axis as Triton lays it out: registers of a thread pairwise, then lanes 16, 8, 4, 2, 1 apart, then warps.

    ``together``: neighbouring elements that a thread holds; ``of_row``: lanes of a warp among which a row is shared out.
    """
    rows, size = values.shape
    threads = of_row * warps
    registers = values.reshape(rows, size // (threads * together), threads, together).transpose(0, 2, 1, 3).reshape(rows, threads, -1)
    while registers.shape[2] > 1:
        registers = reduce(registers[:, :, 0::2], registers[:, :, 1::2])
    lanes = registers.reshape(rows, warps, of_row)
    while lanes.shape[2] > 1:
        half = lanes.shape[2] // 2
        lanes = reduce(lanes[:, :, :half], lanes[:, :, half:])
    parts = lanes.reshape(rows, warps)
    while parts.shape[1] > 1:
        half = parts.shape[1] // 2
        parts = reduce(parts[:, :half], parts[:, half:])
    return parts[:, 0]


def sum_of_products(x: Any, y: Any, warps: int = 4, together: int = 4, of_row: int = 32) -> Any:
    """The sum of products along the last axis: LLVM fuses the first of two with the addition of the other."""
    return tree(fused(x[:, ::2], y[:, ::2], x[:, 1::2] * y[:, 1::2]), np.add, warps, together // 2, of_row)


@pytest.mark.parametrize("capability", CAPABILITIES)
@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("converted_")])
def test_conversions(name: str, capability: int) -> None:
    before, after = launched(name, capability)
    x, to = before[0], after[1].dtype
    if to.kind in "iu" and x.dtype.kind not in "iu":
        x = np.trunc(x.astype(np.float64)).astype(np.int64)  # toward zero, and cut
    if x.dtype == kernels.E5M2 or x.dtype == kernels.E4M3 or (x.dtype.kind in "iu" and to == kernels.BF16):
        x = x.astype(np.float32)
    if name == "converted_float16_float8_e5m2" or name == "converted_bfloat16_float8_e4m3fn":
        x = x.astype(np.float32)
    same(after[1], x.astype(to))


@pytest.mark.parametrize("capability", CAPABILITIES)
@pytest.mark.parametrize("name", [name for name in CASES if name.startswith(("integers_", "unsigned_"))])
def test_integers(name: str, capability: int) -> None:
    before, after = launched(name, capability)
    a, b, z = before[0], before[1], after[2]
    with np.errstate(all="ignore"):
        quotient = (abs(a.astype(object)) // abs(b.astype(object)) * np.where((a < 0) != (b < 0), -1, 1)).astype(object)
        rest = a.astype(object) - quotient * b.astype(object)

        def wrapped(x: Any) -> Any:
            bits = 8 * z.dtype.itemsize
            values = [int(value) % (1 << bits) for value in x]
            return np.array(values, np.uint64).astype(f"u{z.dtype.itemsize}").view(z.dtype)

        wide = a.astype(object), b.astype(object)
        if name.startswith("unsigned"):
            bits = 8 * z.dtype.itemsize
            expected = [wrapped(wide[0] * wide[1] // (1 << bits)), wrapped(quotient + rest), np.where(a > b, a >> 5, wrapped(wide[1] * 128))]
        else:
            expected = [
                wrapped(wide[0] * wide[1] + quotient - rest),
                (a ^ b) | (a & z.dtype.type(127)),
                wrapped(wide[0] * 8 + (wide[1] // 4)),
                np.where(a > b, abs(a), np.minimum(a, b)),
                wrapped(-wide[0] - 1 - wide[1]),
            ]
    for one, other in zip(z, expected, strict=True):
        same(one, other)


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_order_and_places(capability: int) -> None:
    for name in ("sort", "sort_int32"):
        before, after = launched(name, capability)
        same(after[1], np.sort(before[0], 1))
    before, after = launched("top_k", capability)
    same(after[1], np.sort(before[0], 1)[:, ::-1][:, :8].copy())
    before, after = launched("argmax", capability)
    same(after[1], before[0].argmax(1).astype(np.int32))
    same(after[2], before[0].max(1))
    before, after = launched("argmax_f16", capability)
    same(after[1], before[0].argmax(1))
    before, after = launched("argmin_of_columns", capability)
    same(after[1], before[0].argmin(0).astype(np.int32))
    before, after = launched("histogram", capability)
    same(after[1], np.bincount(before[0], minlength=64).astype(np.int32))
    before, after = launched("histogram_of_atomics", capability)
    same(after[1], np.bincount(before[0], minlength=50).astype(np.int32))
    assert after[2][0] == max(before[0].max(), after[2][0]) and after[2][2:].tolist() == [7, 5] and after[3][0] == before[0].min()
    before, after = launched("gather", capability)
    same(after[2], np.take_along_axis(before[0], before[1], 1))
    before, after = launched("embedding", capability)
    same(after[2], before[1][before[0]])
    before, after = launched("flipped", capability)
    same(after[1][:256], before[0][::-1].copy())
    assert sorted(after[1][256:]) == sorted(before[0])
    for name in ("transposed", "transposed_f16"):
        before, after = launched(name, capability)
        same(after[1], before[0].T.copy())


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_softmax(capability: int) -> None:
    before, after = launched("softmax", capability)
    x = np.full((3, 1024), -np.inf, np.float32)
    x[:, :1000] = before[0]
    power = exponential(x - x.max(1)[:, None], capability)
    same(after[1], quotient(power, tree(power, np.add)[:, None], capability)[:, :1000])


def padded(x: Any, columns: int = 1024) -> Any:
    """Rows with zeros behind them, in FP32."""
    return np.pad(x.astype(np.float32), ((0, 0), (0, columns - x.shape[1])))


@pytest.mark.parametrize("capability", CAPABILITIES)
@pytest.mark.parametrize(("name", "columns", "warps", "together"), [("layer_norm", 1024, 4, 4), ("layer_norm_f16", 512, 2, 8)])
def test_layer_norm(name: str, columns: int, warps: int, together: int, capability: int) -> None:
    before, after = launched(name, capability)
    given, weight, bias, n, epsilon = before[0], *(one.astype(np.float32) for one in before[1:3]), np.float32(before[6]), np.float32(before[7])
    mean = quotient(tree(padded(given, columns), np.add, warps, together), n, capability)
    centred = padded(given.astype(np.float32) - mean[:, None], columns)
    # ptxas fuses the multiplication of the division with the addition of epsilon
    squares = sum_of_products(centred, centred, warps, together)
    variance = fused(squares, function("rcp", np.full(3, n), capability, ftz=True), epsilon)
    rstd = quotient(np.ones(3, np.float32), function("sqrt", variance, capability, ftz=True), capability)
    same(after[4], mean)
    same(after[5], rstd)
    same(after[3], fused(centred[:, : len(weight)] * rstd[:, None], weight, bias).astype(given.dtype))


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_layer_norm_backward(capability: int) -> None:
    before, after = launched("layer_norm_backward", capability)
    of_dy, x, weight, mean, rstd, n = before[1], *before[4:8], np.float32(before[8])
    hat, scaled = padded((x - mean[:, None]) * rstd[:, None]), padded(weight * of_dy)
    # for sm_90 LLVM fuses the last of four products, and not the third
    order = np.arange(1024).reshape(-1, 4)[:, [0, 1, 2, 3] if capability == 80 else [0, 1, 3, 2]].ravel()
    c1 = quotient(sum_of_products(scaled[:, order], hat[:, order]), n, capability)
    c2 = quotient(tree(scaled, np.add, together=4), n, capability)
    same(after[0], ((scaled - fused(hat, c1[:, None], c2[:, None])) * rstd[:, None])[:, :1000].copy())
    same(after[2], of_dy * hat[:, :1000])
    same(after[3], of_dy)
    # the second kernel of the tutorial sums what rows have of dw and db
    before, after = launched("column_sums", capability)
    total = np.zeros((32, 90), np.float32)
    for start in range(0, 100, 32):
        rows = before[0][start : start + 32]
        total += np.pad(rows, ((0, 32 - len(rows)), (0, 0)))
    same(after[1], tree(np.ascontiguousarray(total.T), np.add, of_row=1))


#: The catalogue's instruction by capability and format: B is a product's columns.
INSTRUCTIONS = {
    (80, "f16"): "mma.m16n8k16.f32.f16.f16.f32",
    (80, "bf16"): "mma.m16n8k16.f32.bf16.bf16.f32",
    (80, "tf32"): "mma.m16n8k8.f32.tf32.tf32.f32",
    (90, "f16"): "wgmma.m64n64k16.f32.f16.f16",
    (90, "bf16"): "wgmma.m64n64k16.f32.bf16.bf16",
    (90, "tf32"): "wgmma.m64n64k8.f32.tf32.tf32",
}


@pytest.mark.parametrize("capability", CAPABILITIES)
@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("matmul_f16", "f16"),
        ("matmul_f16_8_warps", "f16"),
        ("matmul_f16_transposed", "f16"),
        ("matmul_f16_to_f16_odd", "f16"),
        ("matmul_bf16", "bf16"),
        ("matmul_bf16_transposed", "bf16"),
        ("matmul_tf32", "tf32"),
        ("split_k", "f16"),
        ("matmul_grouped_order", "f16"),
        ("grouped_gemm", "f16"),
    ],
)
def test_products(name: str, format: str, capability: int) -> None:
    before, after = launched(name, capability)
    a, b = before[0], before[1]
    if CASES[name].constants.get("B_TRANSPOSED"):
        b = b.T
    multiplied = functools.partial(product, capability, format=format)

    if name == "grouped_gemm":
        sizes = np.concatenate([[0], np.cumsum(before[3])])
        expected = np.concatenate([multiplied(a[start:end], b[group]) for group, (start, end) in enumerate(zip(sizes, sizes[1:]))]).astype(np.float16)
    elif name == "split_k":
        # blocks add in their order
        parts = []
        for part in range(4):
            k = np.concatenate([np.arange(32) + 32 * part + 128 * turn for turn in range(2)])
            parts.append(multiplied(a[:, k], b[k]))
        expected = ((parts[0] + parts[1]) + parts[2]) + parts[3]
    else:
        expected = multiplied(a, b)
        if name == "matmul_grouped_order":
            expected = np.where(expected >= 0, expected, np.float32(0.01) * expected)
        expected = expected.astype(after[2].dtype)
    same(after[2], expected)


def product(capability: int, a: Any, b: Any, c: Any = None, format: str = "f16") -> Any:
    """A product, with or without a start, in FP32."""
    target = (CHIPS[capability], INSTRUCTIONS[capability, format])
    return np.asarray(bitmma.gemm(target, *(np.ascontiguousarray(one) for one in (a, b)), c)).view(np.float32)


@pytest.mark.parametrize("capability", CAPABILITIES)
@pytest.mark.parametrize(("name", "format"), [("attention_f16", "f16"), ("attention_causal_f16", "f16"), ("attention_bf16", "bf16")])
def test_attention(name: str, format: str, capability: int) -> None:
    before, after = launched(name, capability)
    q, k, v, scale, constants = *before[:3], np.float32(before[5]), CASES[name].constants
    tile_m, tile_n = constants["TILE_M"], constants["TILE_N"]
    expected, sizes = np.zeros_like(q), np.zeros((2, 128), np.float32)
    for head, start_m in np.ndindex(2, 128 // tile_m):
        rows = np.arange(tile_m) + start_m * tile_m
        highest, total = np.full(tile_m, -np.inf, np.float32), np.zeros(tile_m, np.float32)
        sum = np.zeros((tile_m, 64), np.float32)
        for start in range(0, rows[-1] + 1 if constants["CAUSAL"] else 128, tile_n):
            columns = np.arange(tile_n) + start
            score = product(capability, q[head, rows], k[head, columns].T, format=format)
            if constants["CAUSAL"]:
                score = np.where(rows[:, None] >= columns, score, np.float32(-np.inf))
            above = np.maximum(highest, score.max(1) * scale)
            power = function("ex2", fused(score, scale, -above[:, None]), capability, ftz=True)
            decay = function("ex2", highest - above, capability, ftz=True)
            # four lanes have a row of a product's tile, two neighbours of every eight elements each
            total = fused(total, decay, tree(power, np.add, 1, 2, of_row=4))
            sum = product(capability, power.astype(v.dtype), v[head, columns], sum * decay[:, None], format)
            highest = above
        expected[head, rows] = quotient(sum, total[:, None], capability).astype(q.dtype)
        sizes[head, rows] = highest + log2(total)
    same(after[3], expected)
    same(after[4], sizes)


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_attention_backward(capability: int) -> None:
    before, after = launched("attention_backward_kv", capability)
    q, k, v, do, lse, delta, scale = *before[:4], *before[6:8], np.float32(before[8])
    same(launched("attention_backward_q", capability)[0][0], q)
    found = [launched("attention_backward_q", capability)[1][4], *after[4:6]]
    expected = [np.zeros_like(one) for one in found]
    half, last = np.float16, np.float32(0.6931471824645996)

    def powers(x: Any, y: Any, lse: Any) -> Any:
        return function("ex2", fused(product(capability, x, y.T), scale, -lse), capability, ftz=True)

    for head, start in np.ndindex(2, 2):
        tile = np.arange(64) + 64 * start
        dq, dk, dv = np.zeros((3, 64, 64), np.float32)
        for first in range(0, 128, 32):
            turn = np.arange(32) + first
            power = powers(k[head, tile], q[head, turn], lse[head, turn])
            dv = product(capability, power.astype(half), do[head, turn], dv)
            slope = power * (product(capability, v[head, tile], do[head, turn].T) - delta[head, turn])
            dk = product(capability, slope.astype(half), q[head, turn], dk)
            power = powers(q[head, tile], k[head, turn], lse[head, tile, None])
            slope = power * (product(capability, do[head, tile], v[head, turn].T) - delta[head, tile, None])
            dq = product(capability, slope.astype(half), k[head, turn], dq)
        for into, sums in zip(expected, (dq * scale * last, dk * scale * last, dv)):
            into[head, tile] = sums
    for one, other in zip(found, expected, strict=True):
        same(one, other)
    before, after = launched("attention_backward_delta", capability)
    o, do = (one.reshape(-1, 64).astype(np.float32) for one in before[:2])
    same(after[2].ravel(), sum_of_products(o, do, warps=1, together=8, of_row=8))


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_integer_products(capability: int) -> None:
    before, after = launched("matmul_int8", capability)
    same(after[2], before[0].astype(np.int32) @ before[1].astype(np.int32))


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_quantisation(capability: int) -> None:
    before, after = launched("dequantise_int4", capability)
    low, high = (before[0].astype(np.int8) << 4) >> 4, before[0] >> 4
    both = np.stack([low, high], 2).reshape(4, 128).astype(np.float32)
    same(after[2], both * before[1][:, None])


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_every_kernel_runs(capability: int) -> None:
    """All of them: none is refused, and each writes what it should."""
    for name, case in CASES.items():
        if not case.runs_on(capability):
            continue
        before, after = launched(name, capability)
        for at in case.outputs:
            assert (after[at].view(np.uint8) != before[at].view(np.uint8)).any(), name


@kernels.triton.jit
def product_of_16(a, b, c, K: kernels.tl.constexpr):
    at, k = kernels.tl.arange(0, 64), kernels.tl.arange(0, K)
    left = kernels.tl.load(a + at[:, None] * K + k[None, :])
    right = kernels.tl.load(b + k[:, None] * 64 + at[None, :])
    kernels.tl.store(c + at[:, None] * 64 + at[None, :], kernels.tl.dot(left, right))


def cancelling(rows: int, columns: int) -> Any:
    """FP16 numbers of very different sizes: chips that cut at other places part."""
    values = kernels.normal(1, (rows, columns)) * np.exp2(kernels.whole(2, (rows, columns), -9, 9)).astype(np.float32)
    return values.astype(np.float16)


def test_two_chips_part_at_their_products() -> None:
    a, b, c = cancelling(64, 32), cancelling(32, 64), np.zeros((64, 64), np.float32)
    found = bitmma.kernels.compare(product_of_16, "a100", "h100")[(1,)](a, b, c, K=32)
    assert not found and (c == 0).all()
    [output] = found.outputs
    assert output.name == "c" and output.of == 4096 and 0 < output.differing < 4096
    assert found.first is not None and found.first.form.startswith("mma.sync") and found.first.chip == "a100"
    assert found.second is not None and found.second.form.startswith("wgmma.mma_async")
    assert found.first.source == found.second.source
    # the same chip twice, and another name of it
    assert bitmma.kernels.compare(product_of_16, "h100", "h200")[(1,)](a, b, c, K=32)


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_a_matrix_instruction_is_followed_into_explain(capability: int) -> None:
    a, b, c = cancelling(64, 32), cancelling(32, 64), np.zeros((64, 64), np.float32)
    watch = bitmma.kernels.Watch(threads=(0,), products=True)
    launched = on(product_of_16, f"sm_{capability}", trace=watch)[(1,)](a, b, c, K=32)
    assert launched.trace is not None
    first, *rest = launched.trace.products
    assert first.a.shape[1] == 16 and rest
    same(first.a[0].astype(np.uint16), a[0, :16].view(np.uint16))
    for row, column in ((0, 0), (3, 5), (15, first.d.shape[1] - 1)):
        explained = first.explain(row, column)
        assert explained.code == first.d[row, column]
    assert any(explained.lost for explained in (first.explain(row, 0) for row in range(16)))
    with pytest.raises(bitmma.OptionError, match="there is no element"):
        first.explain(16, 0)


@kernels.triton.autotune(
    [kernels.triton.Config({"BLOCK": 256}, num_warps=2), kernels.triton.Config({"BLOCK": 256}, num_warps=4)], key=["n"]
)
@kernels.triton.heuristics({"TWICE": lambda arguments: arguments["n"] > 10})
@kernels.triton.jit
def tuned(x, y, n, BLOCK: kernels.tl.constexpr, TWICE: kernels.tl.constexpr):
    at = kernels.tl.arange(0, BLOCK)
    value = kernels.tl.load(x + at, mask=at < n, other=0.0)
    if TWICE:
        value = value * 2
    kernels.tl.store(y, kernels.tl.sum(value, 0))


def test_autotuned_kernels_and_heuristics() -> None:
    x, y = kernels.normal(1, 200), np.zeros(1, np.float32)
    launched = on(tuned, "h100")[(1,)](x, y, 200)
    assert not launched.configurations and abs(y[0] - 2 * x.sum()) < 1e-4
    one = y.copy()
    y[0] = 0
    launched = on(tuned, "h100", autotune="all")[(1,)](x, y, 200)
    same(y, one)
    # two warps sum in another order
    assert [agrees for _, agrees in launched.configurations] == [True, False]
    small = np.zeros(1, np.float32)
    on(tuned, "h100")[(1,)](x, small, 5)
    assert abs(small[0] - x[:5].sum()) < 1e-5
    with bitmma.kernels.emulate("h100"):
        tuned[(1,)](x, small, 200)
    same(small, one)
    with pytest.raises(bitmma.OptionError, match="unknown autotune"):
        on(tuned, "h100", autotune="best")


@kernels.triton.autotune(
    [kernels.triton.Config({"BLOCK": block}, num_warps=2) for block in (64, 256)],
    key=[],
    prune_configs_by={"early_config_prune": lambda configs, given, **_: [one for one in configs if one.kwargs["BLOCK"] >= given["n"]]},
)
@kernels.triton.heuristics({"DOUBLE": lambda given: 2 * given["BLOCK"], "FOUR": lambda given: 2 * given["DOUBLE"]})
@kernels.triton.jit
def pruned(y, n, scale, BLOCK: kernels.tl.constexpr, DOUBLE: kernels.tl.constexpr, FOUR: kernels.tl.constexpr, num_warps: kernels.tl.constexpr):
    kernels.tl.store(y, BLOCK)
    kernels.tl.store(y + 1, FOUR)
    kernels.tl.store(y + 2, num_warps)
    kernels.tl.store(y + 3, scale)


def test_a_tuner_leaves_configurations_out_and_heuristics_build_on_another() -> None:
    y = np.zeros(4, np.float32)
    launched = on(pruned, "h100")[(1,)](y, 200, np.float32(0.5))
    assert y.tolist() == [256, 1024, 2, 0.5] and launched.instructions > 0
    assert pruned.best_config.kwargs == {"BLOCK": 256}
    # Triton launches nothing for an empty grid
    assert on(pruned, "h100")[(0, 1)](y, 200, 1.0).instructions == 0


@kernels.triton.jit
def doubled(x, y, BLOCK: kernels.tl.constexpr):
    at = kernels.tl.program_id(0) * BLOCK + kernels.tl.arange(0, BLOCK)
    kernels.tl.store(y + at, kernels.tl.load(x + at) * 2)


@pytest.mark.parametrize(
    ("grid", "given", "expected"),
    [
        (1, {"x": "text"}, "parameter 'x' is a str; an array, a tensor on the CPU, a number or None was expected"),
        (1, {"x": np.ones(64, np.complex64)}, "parameter 'x' is an array of complex64, for which Triton has no type"),
        (1, {"x": np.ones(64, np.float32)[::-1]}, "argument 'x' runs backward in memory"),
        (1, {"z": 1}, "the kernel has no parameter 'z'; its parameters are x, y, BLOCK"),
        (1, {"num_warp": 1}, "the kernel has no parameter 'num_warp'"),
        (64 / 64, {}, r"grid must be one to three positive integers, not 1\.0"),
        ("1", {}, "grid must be one to three positive integers, not '1'"),
        (None, {}, "grid must be one to three positive integers, not None"),
        (2, {}, r"line \d+ \(test_triton\.py, line \d+\): reads 4 bytes at byte 256 of argument 'x', which has 256 bytes"),
    ],
)
def test_messages_name_parameters_and_lines_of_the_source(grid: Any, given: dict[str, Any], expected: str) -> None:
    arguments = {"x": np.ones(64, np.float32), "y": np.zeros(128, np.float32), "BLOCK": 64, **given}
    with pytest.raises(bitmma.errors.Error, match=expected):
        on(doubled, "h100")[grid](**arguments)


def test_what_is_no_kernel_and_no_chip() -> None:
    with pytest.raises(bitmma.PtxError, match="a kernel of @triton.jit was expected, not a function"):
        on(same, "h100")
    for chip in ("mi300x", "v100"):
        with pytest.raises(bitmma.OptionError, match="kernels run for turing, ampere, ada, hopper, blackwell, rtx-blackwell, not for"):
            on(doubled, chip)
    with pytest.raises(bitmma.errors.Error, match="unknown architecture 'sm_9'"):
        on(doubled, "sm_9")


def test_wrappers_are_told_about_the_chip() -> None:
    driver = kernels.triton.runtime.driver
    torch = pytest.importorskip("torch")
    before = torch.cuda.is_available, torch.cuda.get_device_properties
    with bitmma.kernels.emulate("a100"):
        assert driver.active.utils.get_device_properties(0)["multiprocessor_count"] == 108
        assert driver.active.get_current_target().arch == 80
        assert torch.cuda.get_device_properties("cuda").multi_processor_count == 108
        assert torch.cuda.get_device_capability() == (8, 0) and not torch.ones(1).is_cuda
    with bitmma.kernels.emulate("H100 PCIe", cuda=True):
        assert torch.cuda.get_device_properties(0).multi_processor_count == 114
        assert torch.cuda.is_available() and torch.ones(1).is_cuda
    with bitmma.kernels.emulate("b200"):
        assert driver.active.utils.get_device_properties(0) == {"multiprocessor_count": 148, "max_shared_mem": 227 << 10, "max_num_regs": 65536, "warpSize": 32}
    with bitmma.kernels.emulate("sm_90"), pytest.raises(bitmma.OptionError, match=r"multiprocessors sm_90 has, .* the option multiprocessors=... says it"):
        driver.active.utils.get_device_properties(0)
    with bitmma.kernels.emulate("sm_90", multiprocessors=3):
        assert torch.cuda.get_device_properties(0).multi_processor_count == 3
    assert (torch.cuda.is_available, torch.cuda.get_device_properties) == before and not torch.ones(1).is_cuda


@kernels.triton.jit
def scaled(x, scale, y):
    kernels.tl.store(y, kernels.tl.load(x) * kernels.tl.load(scale))


def test_a_tensor_of_one_number_is_a_pointer() -> None:
    torch = pytest.importorskip("torch")
    y = torch.zeros(())
    on(scaled, "h100")[(1,)](torch.tensor(3.0), torch.tensor(0.5), y)
    assert y == 1.5


def taken_apart(out, pair, nested, half, brain, double, small, nothing, N):
    x, scale = pair
    (twice, power), none = nested
    at = kernels.tl.arange(0, N)
    kernels.tl.store(out + at, (kernels.tl.load(x + at) * scale * twice * power).to(kernels.tl.float64))
    kernels.tl.store(out + N, half.to(kernels.tl.float64))
    kernels.tl.store(out + N + 1, brain.to(kernels.tl.float64))
    kernels.tl.store(out + N + 2, double)
    kernels.tl.store(out + N + 3, small.to(kernels.tl.float64))
    kernels.tl.store(out + N + 4, 1.0 if none is None and nothing is None else 0.0)


# in this file annotations are text, and these would be text in text
taken_apart.__annotations__.update(half="fp16", brain="bf16", double="fp64", small="i8", N="constexpr")


def test_arguments_are_laid_out_and_converted_as_by_triton_s_launcher() -> None:
    x, out = torch.arange(4, dtype=torch.float32), torch.zeros(9, dtype=torch.float64)
    third = 1 / 3
    given = (out, (x, 0.5), ((3, kernels.tl.constexpr(8)), None), third, 1 + 2.0**-7 + 2.0**-8, third, -3, None, 4)
    on(kernels.triton.jit(taken_apart), "h100")[(1,)](*given)
    # a number of BF16 is cut: to the nearest it would be 1 + 2^-6
    assert out.tolist() == [0, 12, 24, 36, float(np.float16(third)), 1 + 2.0**-7, third, -3, 1]


@kernels.triton.jit
def halved(x, y, N: kernels.tl.constexpr):
    at = kernels.tl.arange(0, N)
    kernels.tl.store(y + at, kernels.tl.load(x + at) // 2)


def test_a_tensor_read_as_another_type() -> None:
    x, y = torch.tensor([-2, -4, 6, 8], dtype=torch.int32), torch.zeros(4, dtype=torch.int32)
    unsigned = kernels.tl.uint32
    on(halved, "h100")[(1,)](kernels.triton.reinterpret(x, unsigned), kernels.triton.reinterpret(y, unsigned), N=4)
    assert y.tolist() == [(1 << 31) - 1, (1 << 31) - 2, 3, 4]


def test_a_launch_is_one_of_triton() -> None:
    """What it returns, ``warmup``, hooks, and what a kernel says of its launches."""
    knobs = kernels.triton.knobs.runtime
    x, y, said = torch.arange(4), torch.zeros(4, dtype=torch.int64), []
    described = kernels.triton.jit(halved.fn, launch_metadata=lambda grid, known, given: {"name": "halved", "blocks": grid[0]})
    described.add_pre_run_hook(lambda *_, **given: said.append(sorted(given)))
    enter, leave = (lambda metadata, what=what: said.append((what, metadata.get()["name"], metadata.get()["blocks"])) for what in "io")
    knobs.launch_enter_hook.add(enter)
    knobs.launch_exit_hook.add(leave)
    try:
        with bitmma.kernels.emulate("h100"):
            warm = described.warmup(torch.int64, torch.int64, N=4, grid=(1,))
            assert ".target sm_90a" in warm.asm["ptx"] and not y.any()
            said.clear()
            again = described[(1,)](x, y, N=4)
            assert again.asm["ptx"] == warm.asm["ptx"] and y.tolist() == [0, 0, 1, 1]
            assert said[1:] == [("i", "halved", 1), ("o", "halved", 1)] and "debug" in said[0]
            warm[(1, 1, 1)](y, x, 4)
            assert x.tolist() == [0, 0, 0, 0]
    finally:
        knobs.launch_enter_hook.remove(enter)
        knobs.launch_exit_hook.remove(leave)


@pytest.mark.parametrize(("chip", "target"), [("t4", "sm_75"), ("rtx4090", "sm_89"), ("rtx 5090", "sm_120a"), ("a100", "sm_80")])
def test_a_kernel_is_compiled_for_each_chip(chip: str, target: str) -> None:
    x, y = np.array([3, 5, 7, 9], np.int32), np.zeros(4, np.int32)
    kernel = on(halved, chip)
    kernel[(1,)](x, y, N=4)
    assert y.tolist() == [1, 2, 3, 4]
    assert kernel.last is not None and re.search(r"^\.target (\w+)", kernel.last.text, re.MULTILINE)[1] == target  # type: ignore[index]


@pytest.mark.parametrize("chip", ["a100", "h100"])
def test_kernels_of_liger(chip: str) -> None:
    torch = pytest.importorskip("torch")
    liger = pytest.importorskip("liger_kernel.ops")
    functional = torch.nn.functional
    random = torch.Generator().manual_seed(1)
    x, other = (torch.randn(8, 512, generator=random) for _ in range(2))
    weight, target = torch.randn(512, generator=random), torch.arange(8) * 60

    def rms_norm(x: Any, weight: Any) -> Any:
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * weight

    pairs = [
        (lambda x, w: liger.LigerRMSNormFunction.apply(x, w, 1e-6), rms_norm, [x, weight]),
        (lambda x, y: liger.LigerSiLUMulFunction.apply(x, y), lambda x, y: functional.silu(x) * y, [x, other]),
        (lambda x: liger.LigerSoftmaxFunction.apply(x), lambda x: functional.softmax(x, -1), [x]),
        (lambda x: liger.LigerCrossEntropyFunction.apply(x, target, None)[0], lambda x: functional.cross_entropy(x, target), [x]),
    ]

    def results(function: Any, given: list[Any]) -> list[Any]:
        leaves = [one.clone().requires_grad_() for one in given]
        result = function(*leaves)
        result.backward(torch.ones_like(result))
        return [result.detach(), *(leaf.grad for leaf in leaves)]

    for kernel, reference, given in pairs:
        with bitmma.kernels.emulate(chip):
            once, again = results(kernel, given), results(kernel, given)
        expected = results(reference, [one.double() for one in given])
        for one, other_run, right in zip(once, again, expected, strict=True):
            assert torch.equal(one, other_run) and torch.allclose(one.double(), right, rtol=1e-5, atol=1e-6)


def test_each_launch_says_how_its_fusion_is_known() -> None:
    case = CASES["layer_norm"]

    def launch(capability: int = 80, **options: Any) -> Any:
        arguments = case.arguments()
        launched = on(case.kernel, f"sm_{capability}", **options)[case.grid](*arguments, **case.constants)
        return launched, [value.tobytes() for value in arguments if hasattr(value, "tobytes")]

    for capability in CAPABILITIES:
        asked, bits = launch(capability)
        assert asked.fusion == "asked" and re.fullmatch(r"ptxas \d+\.\d+\.\d+", asked.compiler), asked
        assert asked.fused and not asked.doubts
        predicted, same = launch(capability, fusion="predict")
        assert predicted.fusion == "predicted" and predicted.compiler == ""
        assert sorted(predicted.fused) == sorted(asked.fused) and bits == same
    off, other = launch(fusion="off")
    assert off.fusion == "off" and not off.fused
    written, text = launch(mode="text")
    assert written.fusion == "text" and not written.fused
    with pytest.raises(bitmma.OptionError, match="unknown fusion 'never'"):
        launch(fusion="never")


def test_a_kernel_compiled_without_fusion_is_not_fused() -> None:
    case = CASES["layer_norm"]
    launched = on(case.kernel, "sm_80")[case.grid](*case.arguments(), **case.constants, enable_fp_fusion=False)
    assert launched.fusion == "off" and not launched.fused


def test_the_guide_s_test_passes(tmp_path) -> None:
    page = (ROOT / "docs/kernels.md").read_text()
    program = re.search(r"^```python\n(.*?)^```$", page, re.M | re.S)
    assert program is not None
    (tmp_path / "test_kernels.py").write_text(program[1])
    environment = {"PYTHONPATH": ":".join(path for path in sys.path if path), "PATH": "", "HOME": str(tmp_path)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_kernels.py"]
    ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_the_example_of_a_layer() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = kernels_of_a_layer.layer()
    assert found["RMSNorm"] and found["SwiGLU"] and not found["attention"]
    text = kernels_of_a_layer.report(found)
    assert "RMSNorm: all bits are equal" in text and "h100: first wgmma.mma_async" in text


@kernels.triton.jit
def doubled_each(table, count, N: kernels.tl.constexpr):
    for index in range(count):
        at = kernels.tl.load(table + index).to(kernels.tl.pointer_type(kernels.tl.float32)) + kernels.tl.arange(0, N)
        kernels.tl.store(at, kernels.tl.load(at) * 2)


def test_pointers_in_a_tensor_lead_to_tensors() -> None:
    """As in grouped products: the tensors are no arguments."""
    given = [torch.arange(32.0), torch.ones(64)[32:]]
    on(doubled_each, "h100")[(1,)](torch.tensor([one.data_ptr() for one in given]), 2, N=32)
    assert torch.equal(given[0], 2 * torch.arange(32.0)) and torch.equal(given[1], torch.full((32,), 2.0))
