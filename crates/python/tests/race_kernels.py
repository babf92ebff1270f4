"""Triton kernels whose threads meet in memory, for ``test_kernel_races.py``."""

import triton
import triton.language as tl


@triton.jit
def step_counter(step, seen):
    x = tl.load(step)
    tl.store(step, x + 1)
    tl.store(seen + tl.arange(0, 128), tl.zeros((128,), tl.int32) + x)


@triton.jit
def step_counter_with_barriers(step, seen):
    x = tl.load(step)
    tl.debug_barrier()
    tl.store(step, x + 1)
    tl.debug_barrier()
    tl.store(seen + tl.arange(0, 128), tl.zeros((128,), tl.int32) + tl.load(step))


@triton.jit
def row_used_again(x, y, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at) + 1)
    tl.store(y + at, tl.load(x + (BLOCK - 1 - at)))


@triton.jit
def rows_in_place(x, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = x + tl.program_id(0) * n + at
    tl.store(row, tl.load(row, mask=at < n) + 1, mask=at < n)


@triton.jit
def add_one(x, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at) + 1)


@triton.jit
def sums_under_a_lock(sums, lock, count, parts, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    part = tl.load(parts + tl.program_id(0) * BLOCK + at)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    if tl.load(count) == 0:
        tl.atomic_xchg(count, 1)
    else:
        part += tl.load(sums + at)
    tl.store(sums + at, part)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def sums_under_a_relaxed_lock(sums, lock, count, parts, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    part = tl.load(parts + tl.program_id(0) * BLOCK + at)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    part += tl.load(sums + at)
    tl.store(sums + at, part)
    tl.atomic_xchg(lock, 0, sem="relaxed")


@triton.jit
def in_turns(tile, turn, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    while tl.atomic_add(turn, 0) != tl.program_id(0):
        pass
    tl.store(tile + at, tl.load(tile + at) * 2 + tl.program_id(0))
    tl.debug_barrier()
    tl.atomic_add(turn, 1)


@triton.jit
def scan_part(x, y, sums, flags, part, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    values = tl.load(x + part * BLOCK + at)
    before = 0.0
    if part > 0:
        while tl.atomic_add(flags + part - 1, 0) == 0:
            pass
        before = tl.load(sums + part - 1)
    tl.store(sums + part, before + tl.sum(values, 0))
    tl.debug_barrier()
    tl.atomic_xchg(flags + part, 1)
    tl.store(y + part * BLOCK + at, tl.cumsum(values, 0) + before)


@triton.jit
def scan(x, y, sums, flags, BLOCK: tl.constexpr):
    scan_part(x, y, sums, flags, tl.program_id(0), BLOCK)


@triton.jit
def scan_backward(x, y, sums, flags, BLOCK: tl.constexpr):
    # the first block waits for all others
    scan_part(x, y, sums, flags, tl.num_programs(0) - 1 - tl.program_id(0), BLOCK)


@triton.jit
def histogram(x, counts, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(counts + tl.load(x + at, mask=at < n, other=0), 1, mask=at < n)


@triton.jit
def histogram_cleared_by_all(x, counts, n, BLOCK: tl.constexpr):
    tl.store(counts + tl.arange(0, 8), 0, mask=tl.arange(0, 8) < 7)
    tl.debug_barrier()
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(counts + tl.load(x + at, mask=at < n, other=0), 1, mask=at < n)
