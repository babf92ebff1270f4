"""Triton kernels that copy boxes of tensors: descriptors from the host and made by the kernel, and the same with pointers."""

# ruff: noqa
import triton
import triton.language as tl


@triton.jit
def doubled(x, y, BLOCK: tl.constexpr):
    i, j = tl.program_id(0), tl.program_id(1)
    value = x.load([i * BLOCK, j * BLOCK])
    y.store([i * BLOCK, j * BLOCK], value + value)


@triton.jit
def greater(x, y, COLUMNS: tl.constexpr):
    value = tl.load(y + tl.arange(0, 2)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :])
    x.atomic_max([0, 0], value)


@triton.jit
def doubled_on_the_device(x, y, rows, columns, BLOCK: tl.constexpr):
    a = tl.make_tensor_descriptor(x, [rows, columns], [columns, 1], [BLOCK, BLOCK])
    b = tl.make_tensor_descriptor(y, [rows, columns], [columns, 1], [BLOCK, BLOCK])
    i, j = tl.program_id(0), tl.program_id(1)
    value = a.load([i * BLOCK, j * BLOCK])
    b.store([i * BLOCK, j * BLOCK], value + value)


@triton.jit
def product(a, b, c, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, SPECIAL: tl.constexpr):
    i, j = tl.program_id(0), tl.program_id(1)
    sums = tl.zeros((M, N), tl.float32)
    for at in tl.range(0, tl.cdiv(k, K), warp_specialize=SPECIAL):
        sums = tl.dot(a.load([i * M, at * K]), b.load([at * K, j * N]), sums)
    c.store([i * M, j * N], sums.to(tl.float16))


@triton.jit
def persistent(a, b, c, m, n, k, PROGRAMS: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, SPECIAL: tl.constexpr):
    columns = tl.cdiv(n, N)
    for tile in tl.range(tl.program_id(0), tl.cdiv(m, M) * columns, PROGRAMS, flatten=True, warp_specialize=SPECIAL):
        i, j = tile // columns, tile % columns
        sums = tl.zeros((M, N), tl.float32)
        for at in range(tl.cdiv(k, K)):
            sums = tl.dot(a.load([i * M, at * K]), b.load([at * K, j * N]), sums)
        c.store([i * M, j * N], sums.to(tl.float16))


@triton.jit
def product_of_pointers(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    sums = tl.zeros((M, N), tl.float32)
    for at in range(0, tl.cdiv(k, K)):
        along = at * K + tl.arange(0, K)
        x = tl.load(a + rows[:, None] * k + along[None, :], mask=(rows[:, None] < m) & (along[None, :] < k), other=0.0)
        y = tl.load(b + along[:, None] * n + columns[None, :], mask=(along[:, None] < k) & (columns[None, :] < n), other=0.0)
        sums = tl.dot(x, y, sums)
    tl.store(c + rows[:, None] * n + columns[None, :], sums.to(tl.float16), mask=(rows[:, None] < m) & (columns[None, :] < n))


@triton.jit
def attention(q, k, v, out, n, scale, ROWS: tl.constexpr, COLUMNS: tl.constexpr, D: tl.constexpr, SPECIAL: tl.constexpr):
    i = tl.program_id(0)
    query = q.load([i * ROWS, 0])
    sums = tl.zeros((ROWS, D), tl.float32)
    weight = tl.zeros((ROWS,), tl.float32)
    greatest = tl.full((ROWS,), -float("inf"), tl.float32)
    for at in tl.range(0, n, COLUMNS, warp_specialize=SPECIAL):
        scores = tl.dot(query, k.load([at, 0]).T) * scale
        now = tl.maximum(greatest, tl.max(scores, 1))
        p = tl.exp2(scores - now[:, None])
        faded = tl.exp2(greatest - now)
        sums = tl.dot(p.to(tl.float16), v.load([at, 0]), sums * faded[:, None])
        weight = weight * faded + tl.sum(p, 1)
        greatest = now
    out.store([i * ROWS, 0], (sums / weight[:, None]).to(tl.float16))


@triton.jit
def attention_of_pointers(q, k, v, out, n, scale, ROWS: tl.constexpr, COLUMNS: tl.constexpr, D: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    inner = tl.arange(0, D)
    query = tl.load(q + rows[:, None] * D + inner[None, :])
    sums = tl.zeros((ROWS, D), tl.float32)
    weight = tl.zeros((ROWS,), tl.float32)
    greatest = tl.full((ROWS,), -float("inf"), tl.float32)
    for at in range(0, n, COLUMNS):
        columns = at + tl.arange(0, COLUMNS)
        place = columns[:, None] * D + inner[None, :]
        scores = tl.dot(query, tl.load(k + place).T) * scale
        now = tl.maximum(greatest, tl.max(scores, 1))
        p = tl.exp2(scores - now[:, None])
        faded = tl.exp2(greatest - now)
        sums = tl.dot(p.to(tl.float16), tl.load(v + place), sums * faded[:, None])
        weight = weight * faded + tl.sum(p, 1)
        greatest = now
    tl.store(out + rows[:, None] * D + inner[None, :], (sums / weight[:, None]).to(tl.float16))


@triton.jit
def added(x, y, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at[:, None] * BLOCK + at[None, :])
    y.atomic_add([0, 0], value)


@triton.jit
def normalized(x, y, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    value = tl.load(x + at)
    tl.store(y + at, value / tl.sum(tl.exp(value), 0))
