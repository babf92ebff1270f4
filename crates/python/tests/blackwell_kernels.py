"""Triton kernels whose products are those of Blackwell's tensor cores."""

# ruff: noqa
import triton
import triton.language as tl


@triton.jit
def product(a, b, c, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, HALF: tl.constexpr):
    rows, columns = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    sums = tl.zeros((M, N), tl.float16 if HALF else tl.float32)
    for start in range(0, k, K):
        along = start + tl.arange(0, K)
        x = tl.load(a + rows[:, None] * k + along[None, :])
        y = tl.load(b + along[:, None] * n + columns[None, :])
        sums = tl.dot(x, y, sums, out_dtype=sums.dtype)
    tl.store(c + rows[:, None] * n + columns[None, :], sums)


@triton.jit
def scaled_product(
    a, sa, b, sb, c, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, A: tl.constexpr, B: tl.constexpr, PER_A: tl.constexpr, PER_B: tl.constexpr, BLOCK: tl.constexpr
):
    """B by its columns; codes of 4 bits lie two in a byte."""
    rows, columns = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    factors = k // BLOCK
    sums = tl.zeros((M, N), tl.float32)
    for start in range(0, k, K):
        of_a, of_b = start // PER_A + tl.arange(0, K // PER_A), start // PER_B + tl.arange(0, K // PER_B)
        x = tl.load(a + rows[:, None] * (k // PER_A) + of_a[None, :])
        y = tl.load(b + columns[None, :] * (k // PER_B) + of_b[:, None])
        of_factors = start // BLOCK + tl.arange(0, K // BLOCK)
        scale_x = tl.load(sa + rows[:, None] * factors + of_factors[None, :])
        scale_y = tl.load(sb + columns[:, None] * factors + of_factors[None, :])
        sums = tl.dot_scaled(x, scale_x, A, y, scale_y, B, sums)
    tl.store(c + rows[:, None] * n + columns[None, :], sums)


@triton.jit
def mixed_product(a, sa, b, sb, c, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """FP8 times FP4, both by descriptors: codes of 4 bits come to shared memory with room between them."""
    rows, columns, factors = tl.arange(0, M), tl.arange(0, N), k // 32
    sums = tl.zeros((M, N), tl.float32)
    for start in range(0, k, K):
        of_factors = start // 32 + tl.arange(0, K // 32)
        scale_x = tl.load(sa + rows[:, None] * factors + of_factors[None, :])
        scale_y = tl.load(sb + columns[:, None] * factors + of_factors[None, :])
        sums = tl.dot_scaled(a.load([0, start]), scale_x, "e4m3", b.load([0, start // 2]).T, scale_y, "e2m1", sums)
    tl.store(c + rows[:, None] * N + columns[None, :], sums)
