"""Kernels that Inductor writes for a chip, against the same written by hand: the chip's elementary functions, FMAs and instructions, in the order that the
kernel's layout gives its sums. Nothing of Triton, PTX or the runner is in what is written by hand."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from typing import Any, Callable

import numpy as np
import pytest

from common import pretended_gpu_or_skip

pretended_gpu_or_skip()
import torch  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from torch.nn.attention.flex_attention import flex_attention  # noqa: E402

import bitmma  # noqa: E402
import bitmma.torch  # noqa: E402
from bitmma.errors import Assumed  # noqa: E402

if os.environ.get("TRITON_INTERPRET") != "0":
    pytest.skip("Triton compiles here and interprets in the other tests: TRITON_INTERPRET=0 pytest THIS FILE", allow_module_level=True)

Array = np.ndarray[Any, Any]
CHIPS = pytest.mark.parametrize("chip", ["a100", "h100"])


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    torch._dynamo.reset()
    torch.manual_seed(0)
    with np.errstate(all="ignore"):
        yield


def code(bits: int) -> Array:
    return np.uint32(bits).view(np.float32)


def fma(a: Any, b: Any, c: Any, down: bool = False) -> Array:
    """a · b + c, rounded once to FP32: to nearest even, or down. No subnormal numbers."""
    a, b, c = (np.asarray(one, np.float32).astype(np.float64) for one in (a, b, c))
    product = a * b  # exact: 48 bits
    total = product + c  # of infinities what follows leaves it as it is
    other = total - product
    rest = (product - (total - other)) + (c - other)  # what the sum has lost, exactly (Knuth)
    # to odd, after which rounding again is as rounding once (Boldo and Melquiond)
    is_even = (total.view(np.int64) & 1) == 0
    total = np.where((rest != 0) & is_even, np.nextafter(total, np.where(rest > 0, np.inf, -np.inf)), total)
    found = total.astype(np.float32)
    return np.where(found > total, np.nextafter(found, np.float32(-np.inf)), found) if down else found


class Chip:
    """What a chip computes elementary functions by: of Ampere and Hopper it is assumed, by the runner too, that ``ex2`` is Volta's."""

    def __init__(self, name: str) -> None:
        self.name = name

    def _of(self, function: Any, x: Any) -> Array:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Assumed)
            return function(np.ascontiguousarray(x), chip=self.name, ftz=True, assume=True)  # type: ignore[no-any-return]

    def ex2(self, x: Array) -> Array:
        return self._of(bitmma.functions.ex2, x)

    def rsqrt(self, x: Array) -> Array:
        return self._of(bitmma.functions.rsqrt, x)

    def divide(self, x: Any, y: Array) -> Array:
        """``div.full`` where nothing is scaled."""
        assert np.all((np.abs(y) > 2.0**-100) & (np.abs(y) < 2.0**100))
        return np.float32(x) * self._of(bitmma.functions.rcp, y)

    def exp_parts(self, x: Array) -> tuple[Array, Array]:
        """Two factors of CUDA's ``expf``: of 2^f, and 2^i, of which x · log2(e) is the sum."""
        place = np.clip(fma(x, code(0x3BBB989D), 0.5), 0, 1)
        whole = fma(place, 252.0, 12582913.0, down=True)
        part = fma(x, code(0x32A57060), fma(x, code(0x3FB8AA3B), -(whole - np.float32(12583039.0))))
        return self.ex2(part), (whole.view(np.uint32) << np.uint32(23)).view(np.float32)

    def exp(self, x: Array) -> Array:
        one, other = self.exp_parts(x)
        return one * other


def tree(values: Array) -> Array:
    """A sum over the last dimension, a power of two, of neighbours, then of their sums, and so on."""
    while values.shape[-1] > 1:
        values = values[..., ::2] + values[..., 1::2]
    return values[..., 0]


def butterfly(values: Array) -> Array:
    """A sum over the last dimension, in which each lane adds what the one at half the distance has: 16, 8, 4, 2, 1."""
    while values.shape[-1] > 1:
        half = values.shape[-1] // 2
        values = values[..., :half] + values[..., half:]
    return values[..., 0]


def warps(values: Array) -> Array:
    """A sum over the last dimension: in warps of 32 lanes, then over the warps."""
    return butterfly(butterfly(values.reshape(*values.shape[:-1], -1, 32)))


def one_by_one(values: Array) -> Array:
    """A sum in another order, so that tests can fail."""
    return np.add.accumulate(values, -1)[..., -1]


def equal(found: torch.Tensor, expected: Array, wrong: Array) -> None:
    """All bits, and not those of another way to compute it."""
    own = found.detach()
    expected, wrong = (torch.from_numpy(one).to(own.dtype) for one in (expected, wrong))
    bits = torch.int32 if own.dtype == torch.float32 else torch.int16
    assert int((own.view(bits) != expected.view(bits)).sum()) == 0
    assert int((own.view(bits) != wrong.view(bits)).sum()) > 0, "the test can fail"


Sum = Callable[[Array], Array]


def softmax(chip: Chip, x: Array, total: Sum) -> Array:
    powers = chip.exp(x - x.max(-1, keepdims=True))
    return chip.divide(powers, total(powers)[:, None])


def long_softmax(chip: Chip, x: Array) -> Array:
    """Rows of 5000, 4096 at once: each of 512 threads has four numbers of each 2048; of each part the maximum, and a sum that is scaled where the maximum grows."""
    most, below = np.full(len(x), -np.inf, np.float32), np.zeros(len(x), np.float32)
    for start in range(0, x.shape[1], 4096):
        part = np.full((len(x), 4096), -np.inf, np.float32)
        part[:, : x.shape[1] - start] = x[:, start : start + 4096]
        top = part.max(-1)
        first, second = tree(chip.exp(part - top[:, None]).reshape(len(x), 2, 512, 4)).transpose(1, 0, 2)
        new = np.maximum(most, top)
        below = fma(below, chip.exp(most - new), warps(first + second) * chip.exp(top - new))
        most = new
    return chip.divide(chip.exp(x - most[:, None]), below[:, None])


def layer_norm(chip: Chip, x: Array, weight: Array, bias: Array, total: Sum) -> Array:
    share = np.float32(1 / x.shape[-1])  # the compiler divides constants, rounded to nearest
    centered = fma(-share, total(x)[:, None], x)
    scale = chip.rsqrt(fma(share, total(centered * centered), code(0x3727C5AC)))[:, None]
    return fma(centered * scale, weight, bias)


def rms_norm(chip: Chip, x: Array, weight: Array, squares: Sum) -> Array:
    share = np.float32(1 / x.shape[-1])
    return chip.rsqrt(fma(share, squares(x), code(0x34000000)))[:, None] * x * weight


def in_a_loop(x: Array) -> Array:
    """Squares of rows of 5000: each of 512 threads adds four numbers of each 2048 into four sums, the first two parts by one FMA."""
    parts = np.zeros((x.shape[0], 3, 512, 4), np.float32)
    parts.reshape(x.shape[0], -1)[:, : x.shape[1]] = x
    first, second, third = parts.transpose(1, 0, 2, 3)
    return warps(tree(fma(third, third, fma(first, first, second * second))))


@CHIPS
def test_norms_and_softmax(chip: str) -> None:
    own, x, weight, bias = Chip(chip), torch.randn(8, 64), torch.randn(64), torch.randn(64)
    found = bitmma.torch.compile(lambda x: x.softmax(-1), chip)(x)
    equal(found, *(softmax(own, x.numpy(), total) for total in (warps, one_by_one)))
    found = bitmma.torch.compile(lambda x, w, b: F.layer_norm(x, (64,), w, b), chip)(x, weight, bias)
    equal(found, *(layer_norm(own, x.numpy(), weight.numpy(), bias.numpy(), total) for total in (warps, one_by_one)))
    root = bitmma.torch.compile(lambda x, w: F.rms_norm(x, x.shape[-1:], w), chip, dynamic=False)
    equal(root(x, weight), *(rms_norm(own, x.numpy(), weight.numpy(), lambda x, total=total: total(x * x)) for total in (warps, one_by_one)))
    long, weight = torch.randn(4, 5000), torch.randn(5000)
    long[:2] += torch.linspace(0, 3, 5000)  # the maximum grows
    found = bitmma.torch.compile(lambda x: x.softmax(-1), chip)(long)
    equal(found, long_softmax(own, long.numpy()), softmax(own, long.numpy(), one_by_one))
    equal(root(long, weight), *(rms_norm(own, long.numpy(), weight.numpy(), total) for total in (in_a_loop, lambda x: one_by_one(x * x))))


@CHIPS
def test_gates_and_rotations(chip: str) -> None:
    own, x, y = Chip(chip), 8 * torch.randn(3000), torch.randn(3000)
    found = bitmma.torch.compile(lambda x, y: F.silu(x) * y, chip)(x, y)
    one, other = own.exp_parts(-x.numpy())
    equal(found, *(own.divide(x.numpy(), below) * y.numpy() for below in (fma(one, other, 1.0), one * other * np.float32(1.5))))
    half, cosine, sine = torch.randn(4, 8, 32).bfloat16(), torch.randn(8, 32).bfloat16(), torch.randn(8, 32).bfloat16()
    found = bitmma.torch.compile(lambda x, c, s: x * c + torch.cat((-x[..., 16:], x[..., :16]), -1) * s, chip)(half, cosine, sine)
    value, c, s = (one.float().numpy() for one in (half, cosine, sine))
    turned = np.concatenate((-value[..., 16:], value[..., :16]), -1)
    equal(found, fma(value, c, turned * s), torch.from_numpy(value * c).bfloat16().float().numpy() + torch.from_numpy(turned * s).bfloat16().float().numpy())


#: The instruction of a product's template, and those of attention.
PRODUCT = "mma.m16n8k16.f32.bf16.bf16.f32"
INSTRUCTIONS = {"a100": PRODUCT, "h100": "wgmma.m64n16k16.f32.bf16.bf16"}


@CHIPS
def test_a_product_with_what_follows_it(chip: str) -> None:
    """A template of a product: its instruction along K, the bias in FP32, and SiLU of what is rounded to BF16."""
    own, a, b, bias = Chip(chip), torch.randn(40, 80).bfloat16(), torch.randn(80, 24).bfloat16(), torch.randn(24).bfloat16()
    found = bitmma.torch.compile(lambda a, b, bias: F.silu(torch.addmm(bias, a, b)), chip)(a, b, bias)
    product = np.asarray(bitmma.gemm((chip, PRODUCT), a, b).float())
    total = product + bias.float().numpy()

    def gate(x: Array) -> Array:
        one, other = own.exp_parts(-x)
        return own.divide(x, fma(one, other, 1.0))

    equal(found, gate(torch.from_numpy(total).bfloat16().float().numpy()), gate(total))


def attention(chip: Chip, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, block: int = 64) -> Array:
    """Blocks of keys, one after the other: powers of two of scaled scores, sums of them and of their products with V, scaled again where the maximum grows."""
    unit, factor = (chip.name, INSTRUCTIONS[chip.name]), code(0x3FB8AA3B)
    most, below, above = np.full((len(q), 1), -np.inf, np.float32), np.zeros((len(q), 1), np.float32), np.zeros((len(q), v.shape[1]), np.float32)
    for start in range(0, len(k), block):
        scores = np.asarray(bitmma.gemm(unit, q, k[start : start + block].T.contiguous())) * np.float32(0.25)
        new = np.maximum(most, (scores * factor).max(-1, keepdims=True))
        shrinks, powers = chip.ex2(most - new), chip.ex2(fma(scores, factor, -new))
        below = fma(below, shrinks, fragments(powers)[:, None])
        rounded = torch.from_numpy(powers).bfloat16()
        above = np.asarray(bitmma.gemm(unit, rounded, v[start : start + block], torch.from_numpy(above * shrinks)))
        most = new
    return chip.divide(above, below)


def fragments(values: Array) -> Array:
    """A sum over columns as an accumulator has them: each of four lanes every fourth pair of neighbours."""
    pairs = tree(values.reshape(len(values), -1, 4, 2)).transpose(0, 2, 1)
    return butterfly(tree(pairs))


@CHIPS
def test_flex_attention(chip: str) -> None:
    q, k, v = (torch.randn(128, 16).bfloat16() for _ in range(3))
    compiled = bitmma.torch.compile(lambda *each: flex_attention(*(one[None, None] for one in each))[0, 0], chip)  # type: ignore[index]
    with torch.no_grad():
        found = compiled(q, k, v)
    equal(found, *(attention(Chip(chip), q, k, v, block) for block in (64, 128)))


def test_functions_of_16_bit_numbers() -> None:
    """All inputs: as every implementation gives them, but that kernels of Triton flush subnormal numbers to zero."""
    assert bitmma.torch.exhausted("silu", torch.bfloat16).check(bitmma.torch.compile(F.silu, "h100")) == []
    found = bitmma.torch.exhausted("tanh", torch.bfloat16).check(bitmma.torch.compile(torch.tanh, "h100"))
    assert len(found) == 254 and all(0 < abs(one.input) < 2.0**-126 and one.results == (0.0,) for one in found)
