"""RMSNorm, SwiGLU and attention of a layer, as Triton kernels: the A100 against the H100, kernel by kernel, without a GPU.

Each kernel runs as both chips on the same FP16 inputs (`bitmma.kernels.compare`): which outputs differ, in how many elements, and the first
instruction whose results do. Norm and activation use no tensor core and come out equal; attention parts in its first product.

    python examples/kernels_of_a_layer.py
"""

from __future__ import annotations

import warnings

import numpy as np
import triton
import triton.language as tl

from bitmma.kernels import compare

CHIPS = ("a100", "h100")


@triton.jit
def rms_norm(x, weight, y, n, epsilon, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, BLOCK)
    value = tl.load(x + row * n + column, mask=column < n, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(value * value, 0) / n + epsilon)
    w = tl.load(weight + column, mask=column < n, other=0.0).to(tl.float32)
    tl.store(y + row * n + column, (value * scale * w).to(tl.float16), mask=column < n)


@triton.jit
def swiglu(gate, up, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(gate + at, mask=at < n, other=0.0).to(tl.float32)
    u = tl.load(up + at, mask=at < n, other=0.0).to(tl.float32)
    tl.store(y + at, (g * tl.sigmoid(g) * u).to(tl.float16), mask=at < n)


@triton.jit
def attention(q, k, v, o, scale, LENGTH, HEAD: tl.constexpr, TILE: tl.constexpr):
    row, column, width = tl.program_id(0) * TILE + tl.arange(0, TILE), tl.arange(0, TILE), tl.arange(0, HEAD)
    base = tl.program_id(1) * LENGTH * HEAD
    query = tl.load(q + base + row[:, None] * HEAD + width[None, :])
    highest, total = tl.full((TILE,), -float("inf"), tl.float32), tl.zeros((TILE,), tl.float32)
    sum = tl.zeros((TILE, HEAD), tl.float32)
    for start in range(0, LENGTH, TILE):
        keys = tl.load(k + base + (start + column)[None, :] * HEAD + width[:, None])
        score = tl.dot(query, keys) * scale
        above = tl.maximum(highest, tl.max(score, 1))
        power, decay = tl.exp2(score - above[:, None]), tl.exp2(highest - above)
        total = total * decay + tl.sum(power, 1)
        values = tl.load(v + base + (start + column)[:, None] * HEAD + width[None, :])
        sum = tl.dot(power.to(tl.float16), values, sum * decay[:, None])
        highest = above
    tl.store(o + base + row[:, None] * HEAD + width[None, :], (sum / total[:, None]).to(tl.float16))


def normal(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float16)


def layer(width: int = 512, tokens: int = 128, heads: int = 2) -> dict:
    """The comparison of each kernel."""
    x, weight = normal(1, tokens, width), normal(2, width)
    gate, up = normal(3, tokens, width), normal(4, tokens, width)
    q, k, v = (normal(seed, heads, tokens, 64) for seed in (5, 6, 7))
    scale = float(np.float32(1.44269504 / 8))  # softmax with 64 wide heads, to base 2
    return {
        "RMSNorm": compare(rms_norm, *CHIPS)[(tokens,)](x, weight, np.zeros_like(x), width, 1e-6, BLOCK=width),
        "SwiGLU": compare(swiglu, *CHIPS)[(tokens * width // 1024,)](gate, up, np.zeros_like(gate), tokens * width, BLOCK=1024),
        "attention": compare(attention, *CHIPS)[(tokens // 64, heads)](q, k, v, np.zeros_like(q), scale, tokens, HEAD=64, TILE=64),
    }


def report(found: dict) -> str:
    lines = []
    for name, comparison in found.items():
        if comparison:
            lines.append(f"{name}: all bits are equal")
        for output in comparison.outputs:
            lines.append(f"{name}: {output.differing} of {output.of} elements of {output.name} differ")
        for part in (comparison.first, comparison.second):
            if part is not None:
                lines.append(f"  {part.chip}: first {part.form}, line {part.line} of the PTX, line {part.source[1]} of the source")
    return "\n".join(lines)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(report(layer()))
