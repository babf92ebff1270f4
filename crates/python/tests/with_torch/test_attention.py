"""Attention in tiles: bit for bit a plain loop over tiles, written here from the order of FlashAttention-2 without the package's code."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import bitmma

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore::bitmma.errors.Assumed")

emulate, Flash = bitmma.torch.emulate, bitmma.torch.Flash
F = torch.nn.functional
#: Chips, and the instruction along the tiles.
CHIPS = {"a100": "ampere", "h100": "hopper", "rtx4090": "ada", "b200": "blackwell", "mi300x": None}
LOG2E, LN2 = np.float32(1.4426950408889634), np.float32(0.6931471805599453)
INFINITY = np.float32(np.inf)
DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16}


class Plain:
    """One head on one chip, row by row and tile by tile. Scalars are NumPy's FP32; an FMA is rounded from the exact sum."""

    def __init__(self, chip, format, rows, columns, causal, scale):
        self.chip, self.format, self.rows, self.columns, self.causal = chip, format, rows, columns, causal
        self.unit = (chip, f"mma.m16n8k16.f32.{format}.{format}.f32") if CHIPS[chip] else (chip, bitmma.catalogue.choose(chip, format, format).name)
        self.nvidia = CHIPS[chip] is not None
        self.scale = np.float32(scale)
        self.log_scale = np.float32(float(self.scale) * 1.4426950408889634)

    def product(self, a, b, c=None):
        c = None if c is None else torch.from_numpy(np.ascontiguousarray(c))
        return bitmma.gemm(self.unit, a.contiguous(), b.contiguous(), c).numpy()

    def narrow(self, x):
        return torch.from_numpy(np.ascontiguousarray(x)).to(DTYPES[self.format])

    def flush(self, x):
        x = np.asarray(x, np.float32)
        return np.where(np.abs(x) < np.float32(2.0**-126), np.copysign(np.float32(0), x), x) if self.nvidia else x

    def fma(self, x, y, z):
        """Exact, then rounded to nearest even, of each element."""
        x, y, z = np.broadcast_arrays(x, y, z)
        out = np.empty(x.shape, np.float32)
        for place in np.ndindex(x.shape):
            a, b, c = (float(one[place]) for one in (x, y, z))
            out[place] = nearest(Fraction(a) * Fraction(b) + Fraction(c)) if np.isfinite([a, b, c]).all() else np.float32(a * b + c)
        return self.flush(out)

    def function(self, name, x):
        x = np.ascontiguousarray(x, np.float32)
        if self.nvidia:
            return getattr(bitmma.functions, name)(x, chip=self.chip, ftz=True, assume=True)
        with np.errstate(divide="ignore"):
            return {"ex2": np.exp2, "lg2": np.log2, "rcp": np.reciprocal}[name](x.astype(np.float64)).astype(np.float32)

    def hidden(self, first, last, start, queries, keys):
        row, column = np.arange(first, last)[:, None], np.arange(start, start + self.columns)[None]
        return (column >= keys) | (self.causal & (column > row + keys - queries))

    def padded(self, x, length, width):
        return F.pad(x, (0, width - x.shape[1], 0, length - x.shape[0]))

    def forward(self, q, k, v, width):
        m, n, d = len(q), len(k), q.shape[1]
        tall = -(-n // self.columns) * self.columns
        q, k, v = self.padded(q, m, width), self.padded(k, tall, width), self.padded(v, tall, width)
        out, lse = torch.zeros(m, d, dtype=q.dtype), np.full(m, INFINITY)
        for first in range(0, m, self.rows):
            last = min(first + self.rows, m)
            blocks = tall // self.columns
            if self.causal:
                blocks = min(blocks, -(-(first + self.rows + n - m) // self.columns))
            largest = sums = accumulator = None
            for block in reversed(range(blocks)):
                start = block * self.columns
                s = self.flush(self.product(q[first:last], k[start : start + self.columns].T))
                s[self.hidden(first, last, start, m, n)] = -INFINITY
                top = s.max(1)
                if largest is None:
                    largest = top
                else:
                    before, largest = largest, np.maximum(largest, top)
                    current = np.where(np.isneginf(largest), np.float32(0), largest) if self.causal else largest
                    factor = self.function("ex2", self.flush(self.flush(before - current) * self.log_scale))
                    sums = self.flush(sums * factor[:, None])
                    accumulator = self.flush(self.flush(accumulator) * factor[:, None])
                scaled = np.where(np.isneginf(largest), np.float32(0), self.flush(largest * self.log_scale))
                p = self.function("ex2", self.fma(s, self.log_scale, -scaled[:, None]))
                fresh = sums is None
                if fresh:
                    sums = np.zeros((last - first, 4), np.float32)
                for column in range(self.columns):
                    thread = column % 8 // 2
                    sums[:, thread] = p[:, column] if fresh and column % 2 == 0 and column < 8 else sums[:, thread] + p[:, column]
                accumulator = self.product(self.narrow(p), v[start : start + self.columns], accumulator)
            total = (sums[:, 0] + sums[:, 2]) + (sums[:, 1] + sums[:, 3])
            inverse = self.function("rcp", total)
            lse[first:last] = self.fma(largest, self.scale, self.flush(self.function("lg2", total) * LN2))
            out[first:last] = self.narrow(self.flush(self.flush(accumulator) * inverse[:, None]))[:, :d]
        return out, lse

    def backward(self, gradient, q, k, v, out, lse, width, rows, columns):
        m, n, d = len(q), len(k), q.shape[1]
        self.rows, self.columns = rows, columns
        high, tall = -(-m // rows) * rows, -(-n // columns) * columns
        lanes = 8 if width % 64 == 0 else 4
        g, o = (self.padded(one, m, width).float().numpy() for one in (gradient, out))
        parts = np.zeros((m, lanes), np.float32)
        for lane in range(lanes):
            terms = [page * 8 * lanes + lane * 8 + one for page in range(width // (8 * lanes)) for one in range(8)]
            parts[:, lane] = self.flush(g[:, terms[0]] * o[:, terms[0]])
            for term in terms[1:]:
                parts[:, lane] = self.fma(g[:, term], o[:, term], parts[:, lane])
        while parts.shape[1] > 1:
            half = parts.shape[1] // 2
            parts = self.flush(parts[:, :half] + parts[:, half:])
        dots = parts[:, 0]
        q, gradient = self.padded(q, high, width), self.padded(gradient, high, width)
        k, v = self.padded(k, tall, width), self.padded(v, tall, width)
        dq = np.zeros((high, width), np.float32)
        dk, dv = np.zeros((tall, width), np.float32), np.zeros((tall, width), np.float32)
        for start in range(0, tall, columns):
            some = slice(start, start + columns)
            to_k = to_v = None
            for first in reversed(range(0, high, rows)):
                if self.causal and first // rows < (start + m - n) // rows:
                    continue
                last = min(first + rows, m)
                s = self.flush(self.product(q[first:last], k[some].T))
                s[self.hidden(first, last, start, m, n)] = -INFINITY
                p = np.zeros((rows, columns), np.float32)
                scaled = self.flush(lse[first:last] * LOG2E)
                p[: last - first] = self.function("ex2", self.fma(s, self.log_scale, -scaled[:, None]))
                ds = np.zeros((rows, columns), np.float32)
                dp = self.flush(self.product(gradient[first:last], v[some].T))
                ds[: last - first] = self.flush(p[: last - first] * self.flush(dp - dots[first:last, None]))
                tile = slice(first, first + rows)
                to_v = self.product(self.narrow(p).T, gradient[tile], to_v)
                dq[tile] = self.flush(dq[tile] + self.flush(self.product(self.narrow(ds), k[some])))
                to_k = self.product(self.narrow(ds).T, q[tile], to_k)
            dk[some], dv[some] = self.flush(self.flush(to_k) * self.scale), self.flush(to_v)
        return self.narrow(self.flush(dq * self.scale))[:m, :d], self.narrow(dk)[:n, :d], self.narrow(dv)[:n, :d]


def nearest(value):
    """An exact number in FP32: FP64 by Python's own correct division, then to FP32 from the exact value where that is half way."""
    wide = value.numerator / value.denominator
    one = np.float32(wide)
    if Fraction(wide) != value:  # the first rounding may have hidden on which side of a tie the number is
        for other in (np.nextafter(one, -INFINITY), np.nextafter(one, INFINITY)):
            if np.isfinite(other) and abs(Fraction(float(other)) - value) < abs(Fraction(float(one)) - value):
                one = other
    return one


def inputs(format, m, n, d, seed=0):
    torch.manual_seed(seed)
    return [torch.randn(size, d).to(DTYPES[format]) for size in (m, n, n)]


def bits(tensor):
    return tensor.detach().contiguous().view(torch.int16)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("format", list(DTYPES))
@pytest.mark.parametrize("chip", list(CHIPS))
def test_tiles_are_those_of_a_plain_loop(chip, format, causal):
    m, n, d = 40, 40 if causal else 55, 24
    q, k, v = inputs(format, m, n, d)
    plain = Plain(chip, format, 32, 16, causal, d**-0.5)
    out, lse = plain.forward(q, k, v, 32)
    gradient = torch.randn(m, d).to(DTYPES[format])
    expected = plain.backward(gradient, q, k, v, out, lse, 32, 16, 32)
    heads = [one[None, None].clone().requires_grad_() for one in (q, k, v)]
    with emulate(chip, attention=Flash(32, 16, backward=(16, 32))) as emulation:
        found = F.scaled_dot_product_attention(*heads, is_causal=causal)
        gradients = torch.autograd.grad(found, heads, gradient[None, None])
    assert torch.equal(bits(found[0, 0]), bits(out))
    for ours, theirs in zip(gradients, expected):
        assert torch.equal(bits(ours[0, 0]), bits(theirs))
    assert [one.operation for one in emulation.products] == ["flash_attention"] * 2 and emulation.products[1].backward
    assert sum(emulation.account.products.values()) == 7 and not any(emulation.account.host["reductions"])


@pytest.mark.parametrize("d", [64, 80])
def test_the_default_tiles(d):
    """FlashAttention-2's own, over more keys than one tile has."""
    q, k, v = inputs("bf16", 20, 150, d)
    width, columns = (64, 128) if d == 64 else (96, 64)
    out, _ = Plain("h100", "bf16", 128, columns, False, d**-0.5).forward(q, k, v, width)
    with emulate("h100", attention="flash"):
        found = F.scaled_dot_product_attention(q[None], k[None], v[None])
    assert torch.equal(bits(found[0]), bits(out))


@pytest.mark.parametrize("format", list(DTYPES))
def test_it_is_closer_to_the_exact_result_than_math(format):
    q, k, v = (one.view(2, 4, 96, 64) for one in inputs(format, 768, 768, 64))
    exact = F.scaled_dot_product_attention(q.double(), k.double(), v.double(), is_causal=True)
    errors = {}
    for attention in ("math", "flash"):
        with emulate("h100", attention=attention):
            errors[attention] = (F.scaled_dot_product_attention(q, k, v, is_causal=True).double() - exact).norm() / exact.norm()
    assert errors["flash"] < errors["math"]


def test_masks_batches_and_shared_heads():
    """A Boolean mask that is causal gives what is_causal gives; heads that share keys what repeated keys give; scale and bias."""
    torch.manual_seed(1)
    q, k, v = torch.randn(2, 4, 50, 32).half(), torch.randn(2, 2, 50, 32).half(), torch.randn(2, 2, 50, 32).half()
    with emulate("h100", attention="flash") as emulation:
        causal = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        repeated = F.scaled_dot_product_attention(q, k.repeat_interleave(2, 1), v.repeat_interleave(2, 1), is_causal=True)
        masked = F.scaled_dot_product_attention(q, k, v, torch.ones(50, 50, dtype=torch.bool).tril(), enable_gqa=True)
        added = F.scaled_dot_product_attention(q, k, v, torch.zeros(50, 50).masked_fill(~torch.ones(50, 50, dtype=torch.bool).tril(), -torch.inf).half(), enable_gqa=True)
        alone = F.scaled_dot_product_attention(q[1:, 3:], k[1:, 1:], v[1:, 1:], is_causal=True)
        nothing = F.scaled_dot_product_attention(q[:1], k[:1], v[:1], torch.zeros(50, 50, dtype=torch.bool), enable_gqa=True)
    assert torch.equal(causal, repeated) and torch.equal(causal, masked) and torch.equal(causal, added)
    assert torch.equal(alone[0, 0], causal[1, 3]) and not nothing.any(), "a query that sees no key"
    assert len(emulation.products) == 6 and not emulation.left
    with torch.inference_mode(), emulate("h100", attention="flash") as emulation:
        assert torch.equal(F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True), causal)
    assert sum(emulation.account.attention.values()) == 1


def test_what_it_does_not_compute_is_decomposed_and_said():
    half = torch.randn(1, 2, 8, 16).half()
    calls = [
        ({}, half.float(), "float32"),
        ({"dropout_p": 0.5}, half, "dropout"),
        ({"attn_mask": torch.zeros(8, 8).half().requires_grad_()}, half, "gradient"),
    ]
    for options, x, reason in calls:
        with emulate("h100", attention="flash", fp32=None) as emulation:
            F.scaled_dot_product_attention(x, x, x, **options)
        (how,) = emulation.account.attention
        assert how.startswith("flash declined") and reason in how
    with emulate("v100", attention="flash") as emulation:
        F.scaled_dot_product_attention(half, half, half)
    assert "from Ampere on" in next(iter(emulation.account.attention))
    with emulate("h100", attention="flash") as emulation:
        F.scaled_dot_product_attention(half[:, :, :4], half, half, is_causal=True)
    assert "4 queries and 8 keys" in next(iter(emulation.account.attention))


@pytest.mark.parametrize("wrong", ["cudnn", "fast", 3])
def test_other_kinds_are_errors(wrong):
    with pytest.raises(bitmma.OptionError, match="attention is"):
        emulate("h100", attention=wrong)


@pytest.mark.parametrize("size", [{"rows": 8, "columns": 16}, {"rows": 128}, {"rows": 24, "columns": 16}, {"backward": (64, 7)}])
def test_tiles_that_are_none(size):
    with pytest.raises(bitmma.OptionError):
        Flash(**size)


def test_other_chips_on_the_same_operands():
    q, k, v = (one[None] for one in inputs("bf16", 64, 64, 64))
    with emulate("h100", attention="flash", compare_with=["a100", "mi300x"]) as emulation:
        found = F.scaled_dot_product_attention(q, k, v)
    with emulate("a100", attention="flash"):
        other = F.scaled_dot_product_attention(q, k, v)
    assert emulation.products[0].compared["a100"].rounded.differing == int((bits(found) != bits(other)).sum())


def test_fma():
    """Against exact sums, with cancellation, ties and subnormal results."""
    from bitmma.torch.fp32 import fma

    torch.manual_seed(0)
    x, y = torch.randn(400), torch.randn(400)
    near = -(x.double() * y.double()).float()
    z = torch.cat([torch.randn(100), near[100:200], near[200:300] * (1 + 2.0**-23), torch.full((100,), 2.0**-40)])
    x[300:], y[300:] = 1 + 2.0**-12, 1 + 2.0**-12
    found = fma(x, y, z)
    for place in range(400):
        a, b, c = (float(one[place]) for one in (x, y, z))
        assert found[place].item() == float(nearest(Fraction(a) * Fraction(b) + Fraction(c)))
    tiny = torch.tensor([2.0**-100])
    assert fma(tiny, tiny, torch.tensor([2.0**-149])).item() == 2.0**-149


def test_autocast_comes_first():
    q = torch.randn(1, 2, 40, 32)
    half = q.bfloat16()
    with bitmma.torch.emulate("h100", attention="flash"):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            wide, narrow = F.scaled_dot_product_attention(q, q, q), F.scaled_dot_product_attention(half, half, half)
        with torch.autocast("cpu", dtype=torch.float16):
            other = F.scaled_dot_product_attention(half, half, half)
        plain = F.scaled_dot_product_attention(half, half, half)
    assert torch.equal(wide, plain) and torch.equal(narrow, plain) and other.dtype == torch.float16
