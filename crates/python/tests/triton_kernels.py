"""Triton kernels of the kinds that models use: norms, losses, activations, scans, sorts, quantisation, products, attention.

``CASES`` has one row for each kernel with its arguments: ``test_triton.py`` runs them here, ``scripts/gpu-session`` on a GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import triton
import triton.language as tl

BF16, E4M3, E5M2 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2


# Rows: softmax, norms, losses


@triton.jit
def softmax(x, y, n, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    value = tl.load(x + row * n + column, mask=column < n, other=-float("inf")).to(tl.float32)
    power = tl.exp(value - tl.max(value, 0))
    tl.store(y + row * n + column, (power / tl.sum(power, 0)).to(y.dtype.element_ty), mask=column < n)


@triton.jit
def log_softmax(x, y, n, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    value = tl.load(x + row * n + column, mask=column < n, other=-float("inf"))
    shifted = value - tl.max(value, 0)
    tl.store(y + row * n + column, shifted - tl.log(tl.sum(tl.exp(shifted), 0)), mask=column < n)


@triton.jit
def softmax_backward(y, dy, dx, n, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    inside = column < n
    of_y = tl.load(y + row * n + column, mask=inside, other=0.0)
    of_dy = tl.load(dy + row * n + column, mask=inside, other=0.0)
    tl.store(dx + row * n + column, of_y * (of_dy - tl.sum(of_y * of_dy, 0)), mask=inside)


@triton.jit
def online_softmax(x, y, n, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    highest, total = -float("inf"), 0.0
    for start in range(0, n, BLOCK):
        value = tl.load(x + row * n + start + column, mask=start + column < n, other=-float("inf"))
        above = tl.maximum(highest, tl.max(value, 0))
        total = total * tl.exp(highest - above) + tl.sum(tl.exp(value - above), 0)
        highest = above
    for start in range(0, n, BLOCK):
        value = tl.load(x + row * n + start + column, mask=start + column < n, other=-float("inf"))
        tl.store(y + row * n + start + column, tl.exp(value - highest) / total, mask=start + column < n)


@triton.jit
def layer_norm(x, weight, bias, y, mean_of, rstd_of, n, epsilon, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    inside = column < n
    value = tl.load(x + row * n + column, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(value, 0) / n
    centred = tl.where(inside, value - mean, 0.0)
    rstd = 1 / tl.sqrt(tl.sum(centred * centred, 0) / n + epsilon)
    tl.store(mean_of + row, mean)
    tl.store(rstd_of + row, rstd)
    w, b = tl.load(weight + column, mask=inside), tl.load(bias + column, mask=inside)
    tl.store(y + row * n + column, centred * rstd * w + b, mask=inside)


@triton.jit
def layer_norm_backward(dx, dy, dw, db, x, w, mean_of, rstd_of, n, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    inside = column < n
    value = tl.load(x + row * n + column, mask=inside, other=0.0)
    of_dy = tl.load(dy + row * n + column, mask=inside, other=0.0)
    weight = tl.load(w + column, mask=inside, other=0.0)
    mean, rstd = tl.load(mean_of + row), tl.load(rstd_of + row)
    hat = tl.where(inside, (value - mean) * rstd, 0.0)
    scaled = tl.where(inside, weight * of_dy, 0.0)
    c1, c2 = tl.sum(hat * scaled, 0) / n, tl.sum(scaled, 0) / n
    tl.store(dx + row * n + column, (scaled - (hat * c1 + c2)) * rstd, mask=inside)
    tl.store(dw + row * n + column, of_dy * hat, mask=inside)
    tl.store(db + row * n + column, of_dy, mask=inside)


@triton.jit
def column_sums(x, y, M, N, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, M, ROWS):
        row = start + tl.arange(0, ROWS)
        inside = (row[:, None] < M) & (column[None, :] < N)
        total += tl.load(x + row[:, None] * N + column[None, :], mask=inside, other=0.0)
    tl.store(y + column, tl.sum(total, 0), mask=column < N)


@triton.jit
def rms_norm(x, weight, y, n, epsilon, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    inside = column < n
    value = tl.load(x + row * n + column, mask=inside, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(value * value, 0) / n + epsilon)
    w = tl.load(weight + column, mask=inside).to(tl.float32)
    tl.store(y + row * n + column, (value * scale * w).to(y.dtype.element_ty), mask=inside)


@triton.jit
def add_rms_norm(x, residual, weight, y, n, epsilon, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    inside = column < n
    at = row * n + column
    sum = tl.load(x + at, mask=inside, other=0.0).to(tl.float32) + tl.load(residual + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(residual + at, sum.to(residual.dtype.element_ty), mask=inside)
    scale = tl.rsqrt(tl.sum(sum * sum, 0) / n + epsilon)
    w = tl.load(weight + column, mask=inside, other=0.0).to(tl.float32)
    tl.store(y + at, (sum * scale * w).to(y.dtype.element_ty), mask=inside)


@triton.jit
def group_norm(x, y, channels, pixels, epsilon, CHANNELS: tl.constexpr, PIXELS: tl.constexpr):
    group = tl.program_id(0)
    channel, pixel = tl.arange(0, CHANNELS), tl.arange(0, PIXELS)
    at = (group * channels + channel[:, None]) * pixels + pixel[None, :]
    inside = (channel[:, None] < channels) & (pixel[None, :] < pixels)
    value = tl.load(x + at, mask=inside, other=0.0)
    count = channels * pixels
    mean = tl.sum(tl.sum(value, 1), 0) / count
    centred = tl.where(inside, value - mean, 0.0)
    variance = tl.sum(tl.sum(centred * centred, 1), 0) / count
    tl.store(y + at, centred * tl.rsqrt(variance + epsilon), mask=inside)


@triton.jit
def merged(mean_a, m2_a, count_a, mean_b, m2_b, count_b):
    delta = mean_b - mean_a
    count = count_a + count_b
    part = tl.where(count == 0.0, 0.0, count_b / count)
    return mean_a + delta * part, m2_a + m2_b + delta * delta * count_a * part, count


@triton.jit
def welford(x, mean_of, variance_of, n, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    inside = column < n
    value = tl.load(x + row * n + column, mask=inside, other=0.0)
    mean, m2, count = tl.reduce((value, tl.zeros_like(value), inside.to(tl.float32)), 0, merged)
    tl.store(mean_of + row, mean)
    tl.store(variance_of + row, m2 / count)


@triton.jit
def cross_entropy(logits, labels, loss, lse_of, n, smoothing, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    label = tl.load(labels + row)
    value = tl.load(logits + row * n + column, mask=column < n, other=-float("inf")).to(tl.float32)
    highest = tl.max(value, 0)
    lse = highest + tl.log(tl.sum(tl.exp(value - highest), 0))
    wanted = tl.load(logits + row * n + label).to(tl.float32)
    all = tl.sum(tl.where(column < n, value, 0.0), 0)
    result = lse - (1 - smoothing) * wanted - smoothing * all / n
    tl.store(loss + row, tl.where(label < 0, 0.0, result))
    tl.store(lse_of + row, lse)


@triton.jit
def cross_entropy_backward(logits, labels, lse_of, dlogits, n, scale, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = column < n
    label, lse = tl.load(labels + row), tl.load(lse_of + row)
    p = tl.exp(tl.load(logits + row * n + column, mask=inside, other=-float("inf")) - lse)
    tl.store(dlogits + row * n + column, (p - tl.where(column == label, 1.0, 0.0)) * scale, mask=inside)


@triton.jit
def kl_divergence(x, y, loss, n, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        inside = start + column < n
        log_p = tl.load(x + row * n + start + column, mask=inside, other=0.0)
        q = tl.load(y + row * n + start + column, mask=inside, other=0.0)
        total += tl.where(inside, q * (tl.log(tl.maximum(q, 1e-10)) - log_p), 0.0)
    tl.store(loss + row, tl.sum(total, 0))


# Elements: activations, optimisers, numbers


@triton.jit
def gelu(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n).to(tl.float32)
    tl.store(y + at, (0.5 * value * (1 + tl.erf(value * 0.7071067811865476))).to(y.dtype.element_ty), mask=at < n)


@triton.jit
def gelu_tanh(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n).to(tl.float32)
    inner = 0.7978845608028654 * (value + 0.044715 * value * value * value)
    power = tl.exp(2 * inner)
    tl.store(y + at, (0.5 * value * (1 + (power - 1) / (power + 1))).to(y.dtype.element_ty), mask=at < n)


@triton.jit
def silu_and_multiply(x, gate, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0).to(tl.float32)
    g = tl.load(gate + at, mask=at < n, other=0.0)
    tl.store(y + at, (value * tl.sigmoid(value)).to(g.dtype) * g, mask=at < n)


@triton.jit
def swiglu_backward(dc, a, b, da, db, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    of_dc = tl.load(dc + at, mask=at < n, other=0.0)
    of_a, of_b = tl.load(a + at, mask=at < n, other=0.0), tl.load(b + at, mask=at < n, other=0.0)
    s = tl.sigmoid(of_a)
    silu = of_a * s
    tl.store(db + at, of_dc * silu, mask=at < n)
    tl.store(da + at, of_dc * (silu * (1 - s) + s) * of_b, mask=at < n)


@triton.jit
def functions(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=1.0)
    size = tl.abs(v)
    tl.store(y + at, tl.exp2(v), mask=at < n)
    tl.store(y + n + at, tl.log2(size), mask=at < n)
    tl.store(y + 2 * n + at, tl.sqrt(size), mask=at < n)
    tl.store(y + 3 * n + at, tl.sqrt_rn(size), mask=at < n)
    tl.store(y + 4 * n + at, tl.rsqrt(size), mask=at < n)
    tl.store(y + 5 * n + at, tl.sin(v), mask=at < n)
    tl.store(y + 6 * n + at, tl.cos(v), mask=at < n)
    tl.store(y + 7 * n + at, tl.floor(v), mask=at < n)
    tl.store(y + 8 * n + at, tl.ceil(v), mask=at < n)
    tl.store(y + 9 * n + at, tl.div_rn(1.0, v), mask=at < n)
    tl.store(y + 10 * n + at, tl.fma(v, v, -1.0), mask=at < n)
    tl.store(y + 11 * n + at, tl.clamp(v, -1.0, 1.0), mask=at < n)
    tl.store(y + 12 * n + at, 1.0 / v, mask=at < n)
    tl.store(y + 13 * n + at, tl.log(size), mask=at < n)
    tl.store(y + 14 * n + at, v % 3.0, mask=at < n)


@triton.jit
def adamw(p, g, m, v, n, lr, beta1, beta2, epsilon, decay, correction1, correction2, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    of_p, of_g = tl.load(p + at, mask=inside).to(tl.float32), tl.load(g + at, mask=inside).to(tl.float32)
    of_m, of_v = tl.load(m + at, mask=inside), tl.load(v + at, mask=inside)
    of_p = of_p * (1 - lr * decay)
    of_m = beta1 * of_m + (1 - beta1) * of_g
    of_v = beta2 * of_v + (1 - beta2) * of_g * of_g
    of_p = of_p - lr * (of_m / correction1) / (tl.sqrt(of_v / correction2) + epsilon)
    tl.store(p + at, of_p.to(p.dtype.element_ty), mask=inside)
    tl.store(m + at, of_m, mask=inside)
    tl.store(v + at, of_v, mask=inside)


@triton.jit
def rope(x, cosine, sine, y, heads, HALF: tl.constexpr):
    token, head = tl.program_id(0), tl.program_id(1)
    at = tl.arange(0, HALF)
    base = (token * heads + head) * 2 * HALF
    c, s = tl.load(cosine + token * HALF + at), tl.load(sine + token * HALF + at)
    first, second = tl.load(x + base + at).to(tl.float32), tl.load(x + base + HALF + at).to(tl.float32)
    tl.store(y + base + at, (first * c - second * s).to(y.dtype.element_ty))
    tl.store(y + base + HALF + at, (second * c + first * s).to(y.dtype.element_ty))


@triton.jit
def rope_interleaved(x, y, theta, HALF: tl.constexpr):
    token = tl.program_id(0)
    at = tl.arange(0, 2 * HALF)
    pair = tl.reshape(tl.load(x + token * 2 * HALF + at), (HALF, 2))
    first, second = tl.split(pair)
    angle = token * tl.exp2(-tl.arange(0, HALF).to(tl.float32) * theta)
    c, s = tl.cos(angle), tl.sin(angle)
    turned = tl.interleave(first * c - second * s, second * c + first * s)
    tl.store(y + token * 2 * HALF + at, turned)


@triton.jit
def dropout(x, y, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)
    random = tl.rand(seed, at)
    tl.store(y + at, tl.where(random > p, value / (1 - p), 0.0), mask=at < n)


@triton.jit
def random_normal(y, n, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.randn(seed, at), mask=at < n)


@triton.jit
def doubles(x, y, z, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b = tl.load(x + at, mask=at < n, other=1.0), tl.load(y + at, mask=at < n, other=1.0)
    tl.store(z + at, tl.sqrt(tl.abs(a)) / b + a * b - tl.fma(a, b, 1.0), mask=at < n)
    tl.store(z + n + at, tl.maximum(a, b) + tl.floor(a), mask=at < n)
    tl.store(z + 2 * n + at, tl.exp(a / 100) , mask=at < n)


@triton.jit
def integers(x, y, z, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b = tl.load(x + at, mask=at < n, other=1), tl.load(y + at, mask=at < n, other=1)
    tl.store(z + at, a * b + (a // b) - (a % b), mask=at < n)
    tl.store(z + n + at, (a ^ b) | (a & 127), mask=at < n)
    tl.store(z + 2 * n + at, (a << 3) + (b >> 2), mask=at < n)
    tl.store(z + 3 * n + at, tl.where(a > b, tl.abs(a), tl.minimum(a, b)), mask=at < n)
    tl.store(z + 4 * n + at, ~a - b, mask=at < n)


@triton.jit
def unsigned(x, y, z, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b = tl.load(x + at, mask=at < n, other=1), tl.load(y + at, mask=at < n, other=1)
    tl.store(z + at, tl.umulhi(a, b), mask=at < n)
    tl.store(z + n + at, a // b + a % b, mask=at < n)
    tl.store(z + 2 * n + at, tl.where(a > b, a >> 5, b << 7), mask=at < n)


@triton.jit
def halves(x, y, z, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b = tl.load(x + at, mask=at < n, other=1.0), tl.load(y + at, mask=at < n, other=1.0)
    tl.store(z + at, a * b + a, mask=at < n)
    tl.store(z + n + at, tl.maximum(a, b) - tl.minimum(-a, b), mask=at < n)
    tl.store(z + 2 * n + at, tl.where(a > b, tl.abs(a), b), mask=at < n)
    tl.store(z + 3 * n + at, (a.to(tl.float32) / b.to(tl.float32)).to(a.dtype), mask=at < n)
    tl.store(z + 4 * n + at, a.to(tl.int32).to(a.dtype), mask=at < n)
    tl.store(z + 5 * n + at, tl.clamp(a, -1.0, 1.0), mask=at < n)


@triton.jit
def converted(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n, other=0.0).to(y.dtype.element_ty), mask=at < n)


# Scans, sorts, counts


@triton.jit
def cumulative_sum(x, y, n, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    value = tl.load(x + row * n + column, mask=column < n, other=0.0)
    tl.store(y + row * n + column, tl.cumsum(value, 0), mask=column < n)


@triton.jit
def cumulative_product(x, y, n, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    value = tl.load(x + row * n + column, mask=column < n, other=1.0)
    tl.store(y + row * n + column, tl.cumprod(value, 0, reverse=True), mask=column < n)


@triton.jit
def next_state(a_left, b_left, a_right, b_right):
    return a_left * a_right, a_right * b_left + b_right


@triton.jit
def recurrence(a, b, y, n, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    inside = column < n
    of_a = tl.load(a + row * n + column, mask=inside, other=1.0)
    of_b = tl.load(b + row * n + column, mask=inside, other=0.0)
    _, state = tl.associative_scan((of_a, of_b), 0, next_state)
    tl.store(y + row * n + column, state, mask=inside)


@triton.jit
def argmax(x, index, value, n, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    given = tl.load(x + row * n + column, mask=column < n, other=-float("inf"))
    most, at = tl.max(given, 0, return_indices=True)
    tl.store(index + row, at)
    tl.store(value + row, most)


@triton.jit
def argmin_of_columns(x, index, M: tl.constexpr, N: tl.constexpr):
    row, column = tl.arange(0, M), tl.arange(0, N)
    given = tl.load(x + row[:, None] * N + column[None, :])
    tl.store(index + column, tl.argmin(given, 0))


@triton.jit
def sort(x, y, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    tl.store(y + row * BLOCK + column, tl.sort(tl.load(x + row * BLOCK + column)))


@triton.jit
def top_k(x, y, BLOCK: tl.constexpr, K: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    best = tl.topk(tl.load(x + row * BLOCK + column), K)
    tl.store(y + row * K + tl.arange(0, K), best)


@triton.jit
def histogram(x, y, BLOCK: tl.constexpr, BINS: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    counts = tl.histogram(tl.load(x + at), BINS)
    tl.atomic_add(y + tl.arange(0, BINS), counts)


@triton.jit
def gather(x, index, y, BLOCK: tl.constexpr, N: tl.constexpr):
    row, column = tl.arange(0, BLOCK), tl.arange(0, N)
    at = row[:, None] * N + column[None, :]
    tl.store(y + at, tl.gather(tl.load(x + at), tl.load(index + at), 1))


@triton.jit
def embedding(index, table, y, width, BLOCK: tl.constexpr):
    token, column = tl.program_id(0), tl.arange(0, BLOCK)
    row = tl.load(index + token)
    tl.store(y + token * width + column, tl.load(table + row * width + column, mask=column < width), mask=column < width)


@triton.jit
def flipped(x, y, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at)
    tl.store(y + at, tl.flip(value))
    low, high = tl.split(tl.reshape(value, (BLOCK // 2, 2)))
    tl.store(y + BLOCK + at, tl.cat(low, high, can_reorder=True))


@triton.jit
def transposed(x, y, M, N, TILE: tl.constexpr):
    row = tl.program_id(0) * TILE + tl.arange(0, TILE)
    column = tl.program_id(1) * TILE + tl.arange(0, TILE)
    value = tl.load(x + row[:, None] * N + column[None, :], mask=(row[:, None] < M) & (column[None, :] < N))
    tl.store(y + column[:, None] * M + row[None, :], tl.trans(value), mask=(column[:, None] < N) & (row[None, :] < M))


@triton.jit
def reductions(x, y, M: tl.constexpr, N: tl.constexpr):
    row, column = tl.arange(0, M), tl.arange(0, N)
    value = tl.load(x + row[:, None] * N + column[None, :])
    tl.store(y + row, tl.sum(value, 1))
    tl.store(y + M + column, tl.max(value, 0))
    tl.store(y + M + N + row, tl.xor_sum(value.to(tl.int32), 1).to(tl.float32))
    tl.store(y + 2 * M + N + tl.arange(0, 1), tl.sum(value))
    tl.store(y + 2 * M + N + 1 + tl.arange(0, 1), tl.min(value))


@triton.jit
def histogram_of_atomics(x, y, most, lowest, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0)
    tl.atomic_add(y + value, 1, mask=at < n)
    tl.atomic_max(most, tl.max(tl.where(at < n, value, 0), 0))
    tl.atomic_min(lowest, tl.min(tl.where(at < n, value, 1 << 30), 0))
    tl.atomic_or(most + 1, tl.max(value, 0))
    tl.atomic_xchg(most + 2, 7)
    tl.atomic_cas(most + 3, 0, 5)


# Quantisation


@triton.jit
def quantise_rows(x, q, scale_of, n, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    value = tl.load(x + row * n + column, mask=column < n, other=0.0).to(tl.float32)
    scale = tl.maximum(tl.max(tl.abs(value), 0), 1e-10) / 127.0
    tl.store(scale_of + row, scale)
    scaled = value / scale
    rounded = tl.where(scaled >= 0, tl.floor(scaled + 0.5), tl.ceil(scaled - 0.5))
    tl.store(q + row * n + column, rounded.to(tl.int8), mask=column < n)


@triton.jit
def quantise_fp8(x, q, scale_of, n, GROUP: tl.constexpr):
    group, at = tl.program_id(0), tl.arange(0, GROUP)
    value = tl.load(x + group * GROUP + at).to(tl.float32)
    scale = tl.maximum(tl.max(tl.abs(value), 0), 1e-10) / 448.0
    tl.store(scale_of + group, scale)
    tl.store(q + group * GROUP + at, tl.clamp(value / scale, -448.0, 448.0).to(q.dtype.element_ty))


@triton.jit
def dequantise_int4(q, scale_of, y, GROUP: tl.constexpr):
    group, at = tl.program_id(0), tl.arange(0, GROUP // 2)
    packed = tl.load(q + group * (GROUP // 2) + at)
    scale = tl.load(scale_of + group)
    low, high = ((packed << 4) >> 4).to(tl.float32) * scale, (packed >> 4).to(tl.float32) * scale
    tl.store(y + group * GROUP + tl.arange(0, GROUP), tl.interleave(low, high))


# Products


@triton.jit
def matmul(
    a, b, c, M, N, K, TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr, PRECISION: tl.constexpr = "tf32", B_TRANSPOSED: tl.constexpr = False,
    ZERO: tl.constexpr = 0.0,
):
    row = tl.program_id(0) * TILE_M + tl.arange(0, TILE_M)
    column = tl.program_id(1) * TILE_N + tl.arange(0, TILE_N)
    k = tl.arange(0, TILE_K)
    sum = tl.zeros((TILE_M, TILE_N), tl.int32 if a.dtype.element_ty == tl.int8 else tl.float32)
    for start in range(0, K, TILE_K):
        left = tl.load(a + row[:, None] * K + (start + k)[None, :], mask=(row[:, None] < M) & ((start + k)[None, :] < K), other=ZERO)
        inside = ((start + k)[:, None] < K) & (column[None, :] < N)
        if B_TRANSPOSED:
            right = tl.load(b + column[None, :] * K + (start + k)[:, None], mask=inside, other=ZERO)
        else:
            right = tl.load(b + (start + k)[:, None] * N + column[None, :], mask=inside, other=ZERO)
        sum = tl.dot(left, right, sum, input_precision=PRECISION)
    tl.store(c + row[:, None] * N + column[None, :], sum.to(c.dtype.element_ty), mask=(row[:, None] < M) & (column[None, :] < N))


@triton.jit
def matmul_grouped_order(a, b, c, M, N, K, TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr, GROUP: tl.constexpr):
    program = tl.program_id(0)
    tiles_m, tiles_n = tl.cdiv(M, TILE_M), tl.cdiv(N, TILE_N)
    first = program // (GROUP * tiles_n) * GROUP
    size = min(tiles_m - first, GROUP)
    at_m, at_n = first + (program % (GROUP * tiles_n)) % size, (program % (GROUP * tiles_n)) // size
    row, column = (at_m * TILE_M + tl.arange(0, TILE_M)) % M, (at_n * TILE_N + tl.arange(0, TILE_N)) % N
    k = tl.arange(0, TILE_K)
    at_a, at_b = a + row[:, None] * K + k[None, :], b + k[:, None] * N + column[None, :]
    sum = tl.zeros((TILE_M, TILE_N), tl.float32)
    for start in range(0, tl.cdiv(K, TILE_K)):
        left = tl.load(at_a, mask=k[None, :] < K - start * TILE_K, other=0.0)
        right = tl.load(at_b, mask=k[:, None] < K - start * TILE_K, other=0.0)
        sum = tl.dot(left, right, sum)
        at_a += TILE_K
        at_b += TILE_K * N
    sum = tl.where(sum >= 0, sum, 0.01 * sum)
    row, column = at_m * TILE_M + tl.arange(0, TILE_M), at_n * TILE_N + tl.arange(0, TILE_N)
    tl.store(c + row[:, None] * N + column[None, :], sum.to(tl.float16), mask=(row[:, None] < M) & (column[None, :] < N))


@triton.jit
def split_k(a, b, c, M, N, K, TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr, SPLIT: tl.constexpr):
    row = tl.program_id(0) * TILE_M + tl.arange(0, TILE_M)
    column = tl.program_id(1) * TILE_N + tl.arange(0, TILE_N)
    k = tl.program_id(2) * TILE_K + tl.arange(0, TILE_K)
    sum = tl.zeros((TILE_M, TILE_N), tl.float32)
    for _ in range(0, K, TILE_K * SPLIT):
        sum = tl.dot(tl.load(a + row[:, None] * K + k[None, :]), tl.load(b + k[:, None] * N + column[None, :]), sum)
        k += TILE_K * SPLIT
    tl.atomic_add(c + row[:, None] * N + column[None, :], sum)


@triton.jit
def grouped_gemm(a, b, c, sizes, N, K, groups, PROGRAMS: tl.constexpr, TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr):
    tile = tl.program_id(0)
    done, first_row = 0, 0
    for group in range(groups):
        rows = tl.load(sizes + group)
        tiles_n = tl.cdiv(N, TILE_N)
        tiles = tl.cdiv(rows, TILE_M) * tiles_n
        while tile >= done and tile < done + tiles:
            at = tile - done
            row = at // tiles_n * TILE_M + tl.arange(0, TILE_M)
            column = at % tiles_n * TILE_N + tl.arange(0, TILE_N)
            k = tl.arange(0, TILE_K)
            sum = tl.zeros((TILE_M, TILE_N), tl.float32)
            for start in range(0, K, TILE_K):
                left = tl.load(a + (first_row + row[:, None]) * K + start + k[None, :], mask=row[:, None] < rows, other=0.0)
                right = tl.load(b + (group * K + start + k[:, None]) * N + column[None, :])
                sum = tl.dot(left, right, sum)
            tl.store(c + (first_row + row[:, None]) * N + column[None, :], sum.to(tl.float16), mask=row[:, None] < rows)
            tile += PROGRAMS
        done += tiles
        first_row += rows


@triton.jit
def batched_matmul(a, b, c, SIZE: tl.constexpr):
    batch, at = tl.program_id(0), tl.arange(0, SIZE)
    place = batch * SIZE * SIZE + at[:, None] * SIZE + at[None, :]
    tl.store(c + place, tl.dot(tl.load(a + place), tl.trans(tl.load(b + place))))


@triton.jit
def linear_gelu(x, w, bias, y, M, N, K, TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr):
    row = tl.program_id(0) * TILE_M + tl.arange(0, TILE_M)
    column = tl.program_id(1) * TILE_N + tl.arange(0, TILE_N)
    k = tl.arange(0, TILE_K)
    sum = tl.zeros((TILE_M, TILE_N), tl.float32)
    for start in range(0, K, TILE_K):
        left = tl.load(x + row[:, None] * K + (start + k)[None, :])
        right = tl.load(w + column[None, :] * K + (start + k)[:, None])
        sum += tl.dot(left, right)
    sum += tl.load(bias + column)[None, :]
    sum = sum * tl.sigmoid(1.702 * sum)
    tl.store(y + row[:, None] * N + column[None, :], sum.to(y.dtype.element_ty))


@triton.jit
def matmul_int8_weights(x, q, scale_of, y, N, K, TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr):
    row = tl.program_id(0) * TILE_M + tl.arange(0, TILE_M)
    column = tl.program_id(1) * TILE_N + tl.arange(0, TILE_N)
    k = tl.arange(0, TILE_K)
    sum = tl.zeros((TILE_M, TILE_N), tl.float32)
    for start in range(0, K, TILE_K):
        left = tl.load(x + row[:, None] * K + (start + k)[None, :])
        right = tl.load(q + (start + k)[:, None] * N + column[None, :])
        sum = tl.dot(left, right.to(left.dtype), sum)
    sum *= tl.load(scale_of + column)[None, :]
    tl.store(y + row[:, None] * N + column[None, :], sum.to(y.dtype.element_ty))


@triton.jit
def matrix_vector(a, x, y, N, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    sum = tl.zeros((ROWS,), tl.float32)
    for start in range(0, N, BLOCK):
        column = start + tl.arange(0, BLOCK)
        part = tl.load(a + row[:, None] * N + column[None, :], mask=column[None, :] < N, other=0.0).to(tl.float32)
        sum += tl.sum(part * tl.load(x + column, mask=column < N, other=0.0).to(tl.float32)[None, :], 1)
    tl.store(y + row, sum)


# Attention


@triton.jit
def attention(
    q, k, v, o, lse_of, scale, LENGTH, HEAD: tl.constexpr, TILE_M: tl.constexpr, TILE_N: tl.constexpr, CAUSAL: tl.constexpr, DEFER: tl.constexpr = False,
):
    start_m, head = tl.program_id(0), tl.program_id(1)
    row, column, width = start_m * TILE_M + tl.arange(0, TILE_M), tl.arange(0, TILE_N), tl.arange(0, HEAD)
    base = head * LENGTH * HEAD
    query = tl.load(q + base + row[:, None] * HEAD + width[None, :])
    highest = tl.full((TILE_M,), -float("inf"), tl.float32)
    total = tl.zeros((TILE_M,), tl.float32)
    sum = tl.zeros((TILE_M, HEAD), tl.float32)
    end = (start_m + 1) * TILE_M if CAUSAL else LENGTH
    for start in range(0, end, TILE_N):
        keys = tl.load(k + base + (start + column)[None, :] * HEAD + width[:, None])
        score = tl.dot(query, keys)
        if CAUSAL:
            score = tl.where(row[:, None] >= (start + column)[None, :], score, -float("inf"))
        above = tl.maximum(highest, tl.max(score, 1) * scale)
        power = tl.exp2(score * scale - above[:, None])
        decay = tl.exp2(highest - above)
        total = total * decay + tl.sum(power, 1)
        sum = sum * decay[:, None]
        values = tl.load(v + base + (start + column)[:, None] * HEAD + width[None, :])
        sum = tl.dot(power.to(values.dtype), values, sum)
        highest = above
    tl.store(o + base + row[:, None] * HEAD + width[None, :], (sum / total[:, None]).to(o.dtype.element_ty))
    tl.store(lse_of + head * LENGTH + row, highest + tl.log2(total))


@triton.jit
def attention_backward_delta(o, do, delta_of, HEAD: tl.constexpr, TILE_M: tl.constexpr):
    row, width = tl.program_id(0) * TILE_M + tl.arange(0, TILE_M), tl.arange(0, HEAD)
    at = row[:, None] * HEAD + width[None, :]
    tl.store(delta_of + row, tl.sum(tl.load(o + at).to(tl.float32) * tl.load(do + at).to(tl.float32), 1))


@triton.jit
def attention_backward_kv(
    q, k, v, do, dk, dv, lse_of, delta_of, scale, LENGTH, HEAD: tl.constexpr, TILE_M: tl.constexpr, TILE_N: tl.constexpr,
):
    start_n, head = tl.program_id(0), tl.program_id(1)
    column, width = start_n * TILE_N + tl.arange(0, TILE_N), tl.arange(0, HEAD)
    base = head * LENGTH * HEAD
    at = base + column[:, None] * HEAD + width[None, :]
    keys, values = tl.load(k + at), tl.load(v + at)
    of_dk, of_dv = tl.zeros((TILE_N, HEAD), tl.float32), tl.zeros((TILE_N, HEAD), tl.float32)
    for start in range(0, LENGTH, TILE_M):
        row = start + tl.arange(0, TILE_M)
        query_t = tl.load(q + base + row[None, :] * HEAD + width[:, None])
        lse, delta = tl.load(lse_of + head * LENGTH + row), tl.load(delta_of + head * LENGTH + row)
        power = tl.exp2(tl.dot(keys, query_t) * scale - lse[None, :])
        of_do = tl.load(do + base + row[:, None] * HEAD + width[None, :])
        of_dv = tl.dot(power.to(tl.float16), of_do, of_dv)
        slope = (power * (tl.dot(values, tl.trans(of_do)) - delta[None, :])).to(tl.float16)
        of_dk = tl.dot(slope, tl.trans(query_t), of_dk)
    tl.store(dv + at, of_dv)
    tl.store(dk + at, of_dk * scale * 0.6931471824645996)


@triton.jit
def attention_backward_q(
    q, k, v, do, dq, lse_of, delta_of, scale, LENGTH, HEAD: tl.constexpr, TILE_M: tl.constexpr, TILE_N: tl.constexpr,
):
    start_m, head = tl.program_id(0), tl.program_id(1)
    row, width = start_m * TILE_M + tl.arange(0, TILE_M), tl.arange(0, HEAD)
    base = head * LENGTH * HEAD
    at = base + row[:, None] * HEAD + width[None, :]
    query, of_do = tl.load(q + at), tl.load(do + at)
    lse, delta = tl.load(lse_of + head * LENGTH + row), tl.load(delta_of + head * LENGTH + row)
    of_dq = tl.zeros((TILE_M, HEAD), tl.float32)
    for start in range(0, LENGTH, TILE_N):
        column = start + tl.arange(0, TILE_N)
        keys_t = tl.load(k + base + column[None, :] * HEAD + width[:, None])
        values_t = tl.load(v + base + column[None, :] * HEAD + width[:, None])
        power = tl.exp2(tl.dot(query, keys_t) * scale - lse[:, None])
        slope = (power * (tl.dot(of_do, values_t) - delta[:, None])).to(tl.float16)
        of_dq = tl.dot(slope, tl.trans(keys_t), of_dq)
    tl.store(dq + at, of_dq * scale * 0.6931471824645996)


@triton.jit
def decode_attention(q, k, v, o, scale, LENGTH, HEAD: tl.constexpr, TILE: tl.constexpr):
    head, at, width = tl.program_id(0), tl.arange(0, TILE), tl.arange(0, HEAD)
    query = tl.load(q + head * HEAD + width).to(tl.float32)
    highest, total = -float("inf"), 0.0
    sum = tl.zeros((HEAD,), tl.float32)
    for start in range(0, LENGTH, TILE):
        place = (head * LENGTH + start + at[:, None]) * HEAD + width[None, :]
        inside = start + at < LENGTH
        score = tl.sum(query[None, :] * tl.load(k + place, mask=inside[:, None], other=0.0).to(tl.float32), 1) * scale
        score = tl.where(inside, score, -float("inf"))
        above = tl.maximum(highest, tl.max(score, 0))
        power, decay = tl.exp(score - above), tl.exp(highest - above)
        total = total * decay + tl.sum(power, 0)
        sum = sum * decay + tl.sum(power[:, None] * tl.load(v + place, mask=inside[:, None], other=0.0).to(tl.float32), 0)
        highest = above
    tl.store(o + head * HEAD + width, sum / total)


class Case(NamedTuple):
    """A kernel with its arguments."""

    name: str
    kernel: Any
    grid: tuple[int, ...]
    #: Arrays and numbers, made anew by each call.
    arguments: Callable[[], list[Any]]
    constants: dict[str, Any]
    #: Which arguments are results.
    outputs: tuple[int, ...]

    def runs_on(self, capability: int) -> bool:
        """Whether Triton compiles it: E4M3 begins with sm_89."""
        return capability >= 89 or not any(getattr(one, "dtype", None) == E4M3 for one in self.arguments())


def normal(seed: int, shape: Any, dtype: Any = np.float32, scale: float = 1.0) -> np.ndarray[Any, Any]:
    """Numbers of a normal distribution."""
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(np.float32).astype(dtype)


def zeros(shape: Any, dtype: Any = np.float32) -> np.ndarray[Any, Any]:
    return np.zeros(shape, dtype)


def whole(seed: int, shape: Any, low: int, high: int, dtype: Any = np.int32) -> np.ndarray[Any, Any]:
    """Integers of ``low`` to ``high`` - 1."""
    return np.random.default_rng(seed).integers(low, high, shape, dtype)


def _matmul(name: str, m: int, n: int, k: int, tiles: tuple[int, int, int], dtype: Any, out: Any = np.float32, **constants: Any) -> Case:
    def arguments() -> list[Any]:
        if dtype == np.int8:
            left, right = whole(1, (m, k), -128, 128, np.int8), whole(2, (k, n), -128, 128, np.int8)
        else:
            left, right = normal(1, (m, k), dtype), normal(2, (k, n), dtype)
        if constants.get("B_TRANSPOSED"):
            right = np.ascontiguousarray(right.T)
        return [left, right, zeros((m, n), out), m, n, k]

    tile_m, tile_n, tile_k = tiles
    grid = (-(-m // tile_m), -(-n // tile_n))
    return Case(name, matmul, grid, arguments, {"TILE_M": tile_m, "TILE_N": tile_n, "TILE_K": tile_k, **constants}, (2,))


def _attention(name: str, dtype: Any, length: int, head: int, causal: bool, **constants: Any) -> Case:
    def arguments() -> list[Any]:
        q, k, v = (normal(seed, (2, length, head), dtype) for seed in (1, 2, 3))
        return [q, k, v, zeros((2, length, head), dtype), zeros((2, length)), float(np.float32(1.44269504 / head**0.5)), length]

    tiles = {"TILE_M": 64, "TILE_N": 32, **constants}
    return Case(name, attention, (length // tiles["TILE_M"], 2), arguments, {"HEAD": head, "CAUSAL": causal, **tiles}, (3, 4))


def _attention_backward() -> list[Any]:
    q, k, v, do = (normal(seed, (2, 128, 64), np.float16, 0.5) for seed in (1, 2, 3, 4))
    lse = normal(5, (2, 128)) + 9
    return [q, k, v, do, lse, normal(6, (2, 128)), float(np.float32(1.44269504 / 8)), 128]


def _rows(name: str, kernel: Any, out: int = 1, dtype: Any = np.float32, n: int = 1000, **constants: Any) -> Case:
    """x, y of rows."""
    return Case(name, kernel, (3,), lambda: [normal(1, (3, n), dtype), zeros((3, n), dtype), n], {"BLOCK": 1024, **constants}, (out,))


def _each(name: str, kernel: Any, dtype: Any = np.float32, **constants: Any) -> Case:
    """x, y of elements."""
    return Case(name, kernel, (4,), lambda: [normal(1, 1000, dtype, 3.0), zeros(1000, dtype), 1000], {"BLOCK": 256, **constants}, (1,))


def _awkward(count: int) -> np.ndarray[Any, Any]:
    """FP32 numbers of all exponents, with infinities, NaN, zeros and subnormal numbers among them."""
    codes = np.random.default_rng(7).integers(0, 1 << 32, count, np.uint32)
    codes[:12] = [0, 1 << 31, 1, 0x7FFFFF, 0x800000, 0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0x3F800000, 0xBF800000, 0x80000001]
    return codes.view(np.float32)


def _wide(seed: int) -> np.ndarray[Any, Any]:
    values = whole(seed, 1000, -(1 << 62), 1 << 62, np.int64)
    values[values == 0] = 1
    return values >> whole(seed + 1, 1000, 0, 62, np.int64) | 1


E8 = {"E4M3": E4M3, "E5M2": E5M2}

CASES: list[Case] = [
    _rows("softmax", softmax),
    _rows("softmax_bf16", softmax, dtype=BF16),
    _rows("softmax_f16_8_warps", softmax, dtype=np.float16, num_warps=8),
    _rows("softmax_1_warp", softmax, num_warps=1),
    _rows("softmax_odd_rows", softmax, n=781),
    _rows("log_softmax", log_softmax),
    Case("softmax_backward", softmax_backward, (3,), lambda: [abs(normal(1, (3, 1000))), normal(2, (3, 1000)), zeros((3, 1000)), 1000], {"BLOCK": 1024}, (2,)),
    _rows("online_softmax", online_softmax, BLOCK=256),
    Case("layer_norm", layer_norm, (3,), lambda: [normal(1, (3, 1000)), normal(2, 1000), normal(3, 1000), zeros((3, 1000)), zeros(3), zeros(3), 1000, 1e-5], {"BLOCK": 1024}, (3, 4, 5)),
    Case("layer_norm_f16", layer_norm, (3,), lambda: [normal(1, (3, 512), np.float16), normal(2, 512, np.float16), normal(3, 512, np.float16), zeros((3, 512), np.float16), zeros(3), zeros(3), 512, 1e-5], {"BLOCK": 512, "num_warps": 2}, (3, 4, 5)),
    Case("layer_norm_backward", layer_norm_backward, (3,), lambda: [zeros((3, 1000)), normal(1, (3, 1000)), zeros((3, 1000)), zeros((3, 1000)), normal(2, (3, 1000)), normal(3, 1000), normal(4, 3), abs(normal(5, 3)), 1000], {"BLOCK": 1024}, (0, 2, 3)),
    Case("column_sums", column_sums, (3,), lambda: [normal(1, (100, 90)), zeros(90), 100, 90], {"ROWS": 32, "COLUMNS": 32}, (1,)),
    Case("rms_norm", rms_norm, (3,), lambda: [normal(1, (3, 1000)), normal(2, 1000), zeros((3, 1000)), 1000, 1e-6], {"BLOCK": 1024}, (2,)),
    Case("rms_norm_bf16", rms_norm, (3,), lambda: [normal(1, (3, 512), BF16), normal(2, 512, BF16), zeros((3, 512), BF16), 512, 1e-6], {"BLOCK": 512}, (2,)),
    Case("add_rms_norm", add_rms_norm, (3,), lambda: [normal(1, (3, 512), BF16), normal(4, (3, 512), BF16), normal(2, 512, BF16), zeros((3, 512), BF16), 512, 1e-6], {"BLOCK": 512}, (1, 3)),
    Case("group_norm", group_norm, (3,), lambda: [normal(1, (3, 6, 100)), zeros((3, 6, 100)), 6, 100, 1e-5], {"CHANNELS": 8, "PIXELS": 128}, (1,)),
    Case("welford", welford, (3,), lambda: [normal(1, (3, 1000)), zeros(3), zeros(3), 1000], {"BLOCK": 1024}, (1, 2)),
    Case("cross_entropy", cross_entropy, (3,), lambda: [normal(1, (3, 1000)), whole(2, 3, 0, 1000, np.int64), zeros(3), zeros(3), 1000, 0.1], {"BLOCK": 1024}, (2, 3)),
    Case("cross_entropy_bf16", cross_entropy, (3,), lambda: [normal(1, (3, 1000), BF16), whole(2, 3, 0, 1000), zeros(3), zeros(3), 1000, 0.0], {"BLOCK": 1024, "num_warps": 8}, (2, 3)),
    Case("cross_entropy_backward", cross_entropy_backward, (3, 4), lambda: [normal(1, (3, 1000)), whole(2, 3, 0, 1000), abs(normal(3, 3)) + 6, zeros((3, 1000)), 1000, 0.25], {"BLOCK": 256}, (3,)),
    Case("kl_divergence", kl_divergence, (3,), lambda: [-abs(normal(1, (3, 1000))), abs(normal(2, (3, 1000))), zeros(3), 1000], {"BLOCK": 256}, (2,)),
    _each("gelu", gelu),
    _each("gelu_f16", gelu, np.float16),
    _each("gelu_tanh", gelu_tanh),
    _each("gelu_tanh_bf16", gelu_tanh, BF16),
    Case("silu_and_multiply", silu_and_multiply, (4,), lambda: [normal(1, 1000), normal(2, 1000), zeros(1000), 1000], {"BLOCK": 256}, (2,)),
    Case("silu_and_multiply_f16", silu_and_multiply, (4,), lambda: [normal(1, 1000, np.float16), normal(2, 1000, np.float16), zeros(1000, np.float16), 1000], {"BLOCK": 256}, (2,)),
    Case("silu_and_multiply_bf16", silu_and_multiply, (4,), lambda: [normal(1, 1000, BF16), normal(2, 1000, BF16), zeros(1000, BF16), 1000], {"BLOCK": 256}, (2,)),
    Case("swiglu_backward", swiglu_backward, (4,), lambda: [normal(1, 1000), normal(2, 1000), normal(3, 1000), zeros(1000), zeros(1000), 1000], {"BLOCK": 256}, (3, 4)),
    Case("functions", functions, (4,), lambda: [normal(1, 1000, np.float32, 3.0), zeros((15, 1000)), 1000], {"BLOCK": 256}, (1,)),
    Case("functions_awkward", functions, (16,), lambda: [_awkward(4000), zeros((15, 4000)), 4000], {"BLOCK": 256}, (1,)),
    Case("adamw", adamw, (4,), lambda: [normal(1, 1000), normal(2, 1000), normal(3, 1000), abs(normal(4, 1000)), 1000, 1e-3, 0.9, 0.999, 1e-8, 0.01, 0.1, 0.001], {"BLOCK": 256}, (0, 2, 3)),
    Case("adamw_bf16", adamw, (4,), lambda: [normal(1, 1000, BF16), normal(2, 1000, BF16), normal(3, 1000), abs(normal(4, 1000)), 1000, 1e-3, 0.9, 0.999, 1e-8, 0.01, 0.1, 0.001], {"BLOCK": 256}, (0, 2, 3)),
    Case("rope", rope, (5, 4), lambda: [normal(1, (5, 4, 128)), normal(2, (5, 64)), normal(3, (5, 64)), zeros((5, 4, 128)), 4], {"HALF": 64}, (3,)),
    Case("rope_bf16", rope, (5, 4), lambda: [normal(1, (5, 4, 128), BF16), normal(2, (5, 64)), normal(3, (5, 64)), zeros((5, 4, 128), BF16), 4], {"HALF": 64}, (3,)),
    Case("rope_interleaved", rope_interleaved, (5,), lambda: [normal(1, (5, 128)), zeros((5, 128)), 0.2], {"HALF": 64}, (1,)),
    Case("dropout", dropout, (4,), lambda: [normal(1, 1000), zeros(1000), 1000, 0.3, 1234], {"BLOCK": 256}, (1,)),
    Case("random_normal", random_normal, (4,), lambda: [zeros(1000), 1000, 99], {"BLOCK": 256}, (0,)),
    Case("doubles", doubles, (4,), lambda: [normal(1, 1000, np.float64, 9), normal(2, 1000, np.float64), zeros((3, 1000), np.float64), 1000], {"BLOCK": 256}, (2,)),
    *[
        Case(f"integers_{np.dtype(dtype).name}", integers, (4,), lambda dtype=dtype: [_wide(1).astype(dtype) | dtype(1), _wide(3).astype(dtype) | dtype(1), zeros((5, 1000), dtype), 1000], {"BLOCK": 256}, (2,))
        for dtype in (np.int64, np.int32, np.int16, np.int8)
    ],
    *[
        Case(f"unsigned_{np.dtype(dtype).name}", unsigned, (4,), lambda dtype=dtype: [_wide(1).astype(dtype) | dtype(1), _wide(3).astype(dtype) | dtype(1), zeros((3, 1000), dtype), 1000], {"BLOCK": 256}, (2,))
        for dtype in (np.uint64, np.uint32)
    ],
    *[
        Case(f"halves_{np.dtype(dtype).name}", halves, (4,), lambda dtype=dtype: [normal(1, 1000, dtype), normal(2, 1000, dtype), zeros((6, 1000), dtype), 1000], {"BLOCK": 256}, (2,))
        for dtype in (np.float16, BF16)
    ],
    *[
        Case(
            f"converted_{np.dtype(source).name}_{np.dtype(to).name}", converted, (4,),
            lambda source=source, to=to: [normal(1, 1000, source, 30.0) if np.dtype(to).kind != "u" else abs(normal(1, 1000, source, 30.0)), zeros(1000, to), 1000], {"BLOCK": 256}, (1,),
        )
        for source, to in [
            (np.float32, np.float16), (np.float32, BF16), (np.float32, E4M3), (np.float32, E5M2), (np.float16, E5M2), (BF16, E4M3), (E4M3, np.float32), (E5M2, np.float16),
            (E4M3, BF16), (np.float32, np.float64), (np.float64, np.float32), (np.float32, np.int8), (np.float32, np.int64), (np.float16, np.int16), (np.int8, np.float16),
            (np.int32, BF16), (np.int64, np.float32), (np.uint8, np.float32), (np.float32, np.uint8), (np.float16, BF16), (np.int16, np.float64), (np.uint32, np.float32),
            (np.float32, np.uint32),
        ]
    ],
    _rows("cumulative_sum", cumulative_sum),
    _rows("cumulative_sum_1_warp", cumulative_sum, num_warps=1, n=200, BLOCK=256),
    _rows("cumulative_product", cumulative_product, n=100, BLOCK=128),
    Case("recurrence", recurrence, (3,), lambda: [normal(1, (3, 1000)), normal(2, (3, 1000)), zeros((3, 1000)), 1000], {"BLOCK": 1024}, (2,)),
    Case("argmax", argmax, (3,), lambda: [np.round(normal(1, (3, 1000))), zeros(3, np.int32), zeros(3), 1000], {"BLOCK": 1024}, (1, 2)),
    Case("argmax_f16", argmax, (3,), lambda: [normal(1, (3, 1000), np.float16), zeros(3, np.int64), zeros(3, np.float16), 1000], {"BLOCK": 1024}, (1, 2)),
    Case("argmin_of_columns", argmin_of_columns, (1,), lambda: [np.round(normal(1, (64, 32))), zeros(32, np.int32)], {"M": 64, "N": 32}, (1,)),
    Case("sort", sort, (3,), lambda: [normal(1, (3, 256)), zeros((3, 256))], {"BLOCK": 256}, (1,)),
    Case("sort_int32", sort, (3,), lambda: [whole(1, (3, 512), -999, 999), zeros((3, 512), np.int32)], {"BLOCK": 512}, (1,)),
    Case("top_k", top_k, (3,), lambda: [normal(1, (3, 256)), zeros((3, 8))], {"BLOCK": 256, "K": 8}, (1,)),
    Case("histogram", histogram, (4,), lambda: [whole(1, 1024, 0, 64), zeros(64, np.int32)], {"BLOCK": 256, "BINS": 64}, (1,)),
    Case("gather", gather, (1,), lambda: [normal(1, (32, 64)), whole(2, (32, 64), 0, 64), zeros((32, 64))], {"BLOCK": 32, "N": 64}, (2,)),
    Case("embedding", embedding, (7,), lambda: [whole(1, 7, 0, 50, np.int64), normal(2, (50, 100)), zeros((7, 100)), 100], {"BLOCK": 128}, (2,)),
    Case("flipped", flipped, (1,), lambda: [normal(1, 256), zeros(512)], {"BLOCK": 256}, (1,)),
    Case("transposed", transposed, (2, 3), lambda: [normal(1, (50, 70)), zeros((70, 50)), 50, 70], {"TILE": 32}, (1,)),
    Case("transposed_f16", transposed, (2, 3), lambda: [normal(1, (64, 96), np.float16), zeros((96, 64), np.float16), 64, 96], {"TILE": 32}, (1,)),
    Case("reductions", reductions, (1,), lambda: [normal(1, (32, 128), np.float32, 50.0), zeros(32 + 128 + 32 + 2)], {"M": 32, "N": 128}, (1,)),
    Case("histogram_of_atomics", histogram_of_atomics, (4,), lambda: [whole(1, 1000, 0, 50), zeros(50, np.int32), zeros(4, np.int32), np.full(1, 1 << 30, np.int32), 1000], {"BLOCK": 256}, (1, 2, 3)),
    Case("quantise_rows", quantise_rows, (3,), lambda: [normal(1, (3, 1000)), zeros((3, 1000), np.int8), zeros(3), 1000], {"BLOCK": 1024}, (1, 2)),
    Case("quantise_e4m3", quantise_fp8, (6,), lambda: [normal(1, (6, 128), BF16), zeros((6, 128), E4M3), zeros(6), 128], {"GROUP": 128}, (1, 2)),
    Case("quantise_e5m2", quantise_fp8, (6,), lambda: [normal(1, (6, 128)), zeros((6, 128), E5M2), zeros(6), 128], {"GROUP": 128}, (1, 2)),
    Case("dequantise_int4", dequantise_int4, (4,), lambda: [whole(1, (4, 64), -128, 128, np.int8), normal(2, 4), zeros((4, 128))], {"GROUP": 128}, (2,)),
    _matmul("matmul_f16", 128, 128, 64, (64, 64, 32), np.float16),
    _matmul("matmul_f16_to_f16_odd", 100, 72, 50, (64, 64, 32), np.float16, np.float16),
    _matmul("matmul_f16_8_warps", 128, 256, 64, (128, 128, 32), np.float16, num_warps=8, num_stages=3),
    _matmul("matmul_f16_transposed", 64, 64, 64, (64, 64, 32), np.float16, B_TRANSPOSED=True),
    _matmul("matmul_f16_small", 16, 32, 32, (16, 16, 16), np.float16, num_warps=1),
    _matmul("matmul_bf16", 128, 64, 96, (64, 64, 32), BF16),
    _matmul("matmul_bf16_transposed", 64, 128, 128, (64, 128, 64), BF16, BF16, B_TRANSPOSED=True),
    _matmul("matmul_tf32", 64, 64, 64, (64, 64, 32), np.float32),
    _matmul("matmul_tf32_small", 32, 32, 32, (16, 16, 16), np.float32, num_warps=2),
    _matmul("matmul_tf32x3", 64, 64, 32, (64, 64, 32), np.float32, PRECISION="tf32x3"),
    _matmul("matmul_ieee", 32, 32, 32, (32, 32, 16), np.float32, PRECISION="ieee"),
    _matmul("matmul_bf16x3", 64, 64, 32, (64, 64, 32), np.float32, PRECISION="bf16x3"),
    _matmul("matmul_int8", 64, 64, 64, (64, 64, 32), np.int8, np.int32, ZERO=0),
    _matmul("matmul_e4m3", 64, 64, 64, (64, 64, 32), E4M3, B_TRANSPOSED=True),
    _matmul("matmul_e5m2", 64, 64, 128, (64, 64, 64), E5M2),
    _matmul("matmul_e4m3_long", 64, 64, 256, (64, 64, 128), E4M3, B_TRANSPOSED=True),
    Case("matmul_grouped_order", matmul_grouped_order, (6,), lambda: [normal(1, (192, 64), np.float16), normal(2, (64, 128), np.float16), zeros((192, 128), np.float16), 192, 128, 64], {"TILE_M": 64, "TILE_N": 64, "TILE_K": 32, "GROUP": 2, "num_stages": 4}, (2,)),
    Case("split_k", split_k, (1, 1, 4), lambda: [normal(1, (64, 256), np.float16), normal(2, (256, 64), np.float16), zeros((64, 64)), 64, 64, 256], {"TILE_M": 64, "TILE_N": 64, "TILE_K": 32, "SPLIT": 4}, (2,)),
    Case("grouped_gemm", grouped_gemm, (3,), lambda: [normal(1, (200, 64), np.float16), normal(2, (3, 64, 128), np.float16), zeros((200, 128), np.float16), np.array([70, 64, 66], np.int32), 128, 64, 3], {"PROGRAMS": 3, "TILE_M": 64, "TILE_N": 64, "TILE_K": 32}, (2,)),
    Case("batched_matmul", batched_matmul, (3,), lambda: [normal(1, (3, 32, 32), np.float16), normal(2, (3, 32, 32), np.float16), zeros((3, 32, 32))], {"SIZE": 32}, (2,)),
    Case("linear_gelu", linear_gelu, (1, 2), lambda: [normal(1, (64, 64), BF16), normal(2, (128, 64), BF16, 0.1), normal(3, 128), zeros((64, 128), BF16), 64, 128, 64], {"TILE_M": 64, "TILE_N": 64, "TILE_K": 32}, (3,)),
    Case("matmul_int8_weights", matmul_int8_weights, (1, 1), lambda: [normal(1, (64, 64), np.float16), whole(2, (64, 64), -128, 128, np.int8), normal(3, 64), zeros((64, 64), np.float16), 64, 64], {"TILE_M": 64, "TILE_N": 64, "TILE_K": 32}, (3,)),
    Case("matrix_vector", matrix_vector, (4,), lambda: [normal(1, (32, 500), np.float16), normal(2, 500, np.float16), zeros(32), 500], {"ROWS": 8, "BLOCK": 128}, (2,)),
    _attention("attention_f16", np.float16, 128, 64, False),
    _attention("attention_causal_f16", np.float16, 128, 64, True),
    _attention("attention_bf16", BF16, 128, 64, False, TILE_N=64),
    _attention("attention_causal_bf16_128", BF16, 128, 128, True, num_warps=8),
    _attention("attention_f16_stages", np.float16, 256, 32, True, num_stages=3),
    _attention("attention_e5m2", E5M2, 128, 64, False),
    Case("attention_backward_delta", attention_backward_delta, (4,), lambda: [normal(1, (2, 128, 64), np.float16), normal(4, (2, 128, 64), np.float16, 0.5), zeros((2, 128))], {"HEAD": 64, "TILE_M": 64}, (2,)),
    Case("attention_backward_kv", attention_backward_kv, (2, 2), lambda: [*(given := _attention_backward())[:4], zeros((2, 128, 64)), zeros((2, 128, 64)), *given[4:]], {"HEAD": 64, "TILE_M": 32, "TILE_N": 64}, (4, 5)),
    Case("attention_backward_q", attention_backward_q, (2, 2), lambda: [*(given := _attention_backward())[:4], zeros((2, 128, 64)), *given[4:]], {"HEAD": 64, "TILE_M": 64, "TILE_N": 32}, (4,)),
    Case("decode_attention", decode_attention, (4,), lambda: [normal(1, (4, 64), np.float16), normal(2, (4, 100, 64), np.float16), normal(3, (4, 100, 64), np.float16), zeros((4, 64)), 0.125, 100], {"HEAD": 64, "TILE": 32}, (3,)),
]
