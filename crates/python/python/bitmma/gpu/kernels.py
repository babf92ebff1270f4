"""Triton kernels, one for each way of summing. Integers only, but where a family is the GPU's own arithmetic.

Every kernel computes a tile of D over whole operations along K, from a start, and keeps what one operation hands to the next in
registers: significand (with sign), exponent, and what is special of it (1: +infinity, 2: -infinity, 4: NaN, or several of them).
"""

from __future__ import annotations

import triton
import triton.language as tl

#: Exponent of what takes no part in a maximum.
NONE = tl.constexpr(-30000)
#: Beyond these, exponents stand for zero, infinity and NaN (see ``packing``).
FAR = tl.constexpr(4000)
NAN = tl.constexpr(12000)


@triton.jit
def leading(x):
    """The exponent of the leading bit of a positive number of 62 bits or fewer."""
    found = (x.to(tl.float32).to(tl.int32, bitcast=True) >> 23) - 127
    return tl.where((x >> found.to(tl.int64)) == 0, found - 1, found)


@triton.jit
def taken_apart(code, FRACTION: tl.constexpr, EXPONENT: tl.constexpr, CARRIED: tl.constexpr, FLUSH: tl.constexpr):
    """A code as significand (of CARRIED fractional bits), exponent and specials; zero has the exponent NONE."""
    EVERY: tl.constexpr = (1 << EXPONENT) - 1
    BIAS: tl.constexpr = (1 << (EXPONENT - 1)) - 1
    field = (code >> FRACTION) & EVERY
    rest = code & ((1 << FRACTION) - 1)
    negative = ((code >> (FRACTION + EXPONENT)) & 1) != 0
    significand = tl.where(field > 0, rest | (1 << FRACTION), rest)
    if FLUSH:
        significand = tl.where(field > 0, significand, 0)
    special = tl.where(field == EVERY, tl.where(rest != 0, 4, tl.where(negative, 2, 1)), 0)
    exponent = tl.where(significand == 0, NONE, tl.maximum(field, 1) - BIAS)
    significand = significand << (CARRIED - FRACTION)
    return tl.where(negative, -significand, significand), exponent, special


@triton.jit
def encoded(negative, magnitude, last, FRACTION: tl.constexpr, EXPONENT: tl.constexpr, PADDING: tl.constexpr, NEAREST: tl.constexpr):
    """magnitude · 2^last, 63 bits, rounded toward zero or to nearest even; beyond the largest number infinity. Without sign."""
    LEAST: tl.constexpr = 2 - (1 << (EXPONENT - 1))
    BEYOND: tl.constexpr = ((1 << EXPONENT) - 1) << FRACTION
    own = tl.maximum(leading(tl.maximum(magnitude, 1)) + last, LEAST)
    drop = own - FRACTION - last
    down = tl.minimum(tl.maximum(drop, 0), 62).to(tl.int64)
    up = tl.minimum(tl.maximum(-drop, 0), 62).to(tl.int64)
    kept = magnitude >> down
    if NEAREST:
        rest = magnitude - (kept << down)
        half = ((kept * 0 + 1) << down) >> 1
        kept += ((drop > 0) & ((rest > half) | ((rest == half) & ((kept & 1) != 0)))).to(tl.int64)
    code = ((own - LEAST).to(tl.int64) << FRACTION) + (kept << up)
    code = tl.where(magnitude == 0, 0, tl.minimum(code, BEYOND))
    return code.to(tl.int32) << PADDING


@triton.jit
def product_special(a, b):
    """What is special of a product of two words: infinity times zero is NaN."""
    exponent_a, exponent_b = a >> 16, b >> 16
    nan = (exponent_a > NAN) | (exponent_b > NAN)
    infinite = (exponent_a > FAR) | (exponent_b > FAR)
    zero = (exponent_a < -FAR) | (exponent_b < -FAR)
    sign = tl.where(((a ^ b) & 0x8000) != 0, 2, 1)
    return tl.where(nan | (infinite & zero), 4, tl.where(infinite, sign, 0))


@triton.jit
def outcome(special, code, negative, FRACTION: tl.constexpr, EXPONENT: tl.constexpr, PADDING: tl.constexpr, SIGNED_ZERO: tl.constexpr):
    """A code with its sign, or infinity; NaN is written at the end. Also what is special of it from now on."""
    SIGN: tl.constexpr = FRACTION + EXPONENT + PADDING
    INFINITY: tl.constexpr = ((1 << EXPONENT) - 1) << (FRACTION + PADDING)
    bit = tl.where(negative, 1, 0)
    if not SIGNED_ZERO:
        bit = tl.where(code == 0, 0, bit)
    special = tl.where((special == 3) | (special > 4), 4, special)
    bit = tl.where(special != 0, special >> 1, bit)
    code = tl.where(special != 0, INFINITY, code)
    return (bit << SIGN) | code, special


@triton.jit
def shifted(x, by):
    """x · 2^-by cut downward, for any by of 0 or more."""
    return x >> tl.minimum(by, 62).to(tl.int64)


@triton.jit
def cut_off(x, by, CLAMPS: tl.constexpr):
    """x · 2^-by of 31 bits cut, for any by of 0 or more. NVIDIA's own shift takes any number; elsewhere 31 is the largest."""
    if CLAMPS:
        return tl.inline_asm_elementwise("shr.u32 $0, $1, $2;", "=r,r,r", [x, by], dtype=tl.int32, is_pure=True, pack=1)
    else:
        return x >> tl.minimum(by, 31)


@triton.jit
def sum_of_products(
    a, b, at_a, at_b, LINES_A, LINES_B, first, highest, F: tl.constexpr, PRODUCT: tl.constexpr, FROM: tl.constexpr, TO: tl.constexpr,
    STEP: tl.constexpr, CHUNK: tl.constexpr, CLAMPS: tl.constexpr,
):
    """The products FROM, FROM + STEP, … of an operation, each cut toward zero to F bits below 2^highest, summed."""
    PRE: tl.constexpr = max(F - PRODUCT, 0)
    POST: tl.constexpr = max(PRODUCT - F, 0)
    sum = tl.zeros_like(highest).to(tl.int64)
    for part in tl.static_range(FROM, TO, CHUNK * STEP):  # as many as 32 bits hold
        few = tl.zeros_like(highest)
        for k in tl.static_range(part, min(part + CHUNK * STEP, TO), STEP):
            x = tl.load(a + (first + k) * LINES_A + at_a)[:, None]
            y = tl.load(b + (first + k) * LINES_B + at_b)[None, :]
            size = ((x & 0x7FFF) << PRE) * (y & 0x7FFF)
            by = highest - (x >> 16) - ((y >> 16) - POST)
            # signs as factors: 1 or -1
            few += cut_off(size, by, CLAMPS) * ((1 - ((x >> 14) & 2)) * (1 - ((y >> 14) & 2)))
        sum += few.to(tl.int64)
    return sum


@triton.jit
def highest_of_products(a, b, at_a, at_b, LINES_A, LINES_B, first, start, FROM: tl.constexpr, TO: tl.constexpr, STEP: tl.constexpr):
    """The largest exponent of the products of an operation, and of ``start``."""
    highest = start
    for k in tl.static_range(FROM, TO, STEP):
        x = tl.load(a + (first + k) * LINES_A + at_a)[:, None]
        y = tl.load(b + (first + k) * LINES_B + at_b)[None, :]
        highest = tl.maximum(highest, (x >> 16) + (y >> 16))
    return highest


@triton.jit
def specials_of_products(
    a, b, at_a, at_b, LINES_A, LINES_B, first, special, LENGTH: tl.constexpr, PRODUCT: tl.constexpr, LIMIT: tl.constexpr,
):
    """What is special of the products of an operation; those of 2^LIMIT and more are infinite."""
    for k in range(LENGTH):
        x = tl.load(a + (first + k) * LINES_A + at_a)[:, None]
        y = tl.load(b + (first + k) * LINES_B + at_b)[None, :]
        special |= product_special(x, y)
        if LIMIT != 0:
            exponent = (x >> 16) + (y >> 16)
            size = ((x & 0x7FFF) * (y & 0x7FFF)).to(tl.int64)
            beyond = (exponent < FAR) & (exponent > -FAR) & (size > 0) & (leading(tl.maximum(size, 1)) + exponent - PRODUCT >= LIMIT)
            special |= tl.where(beyond, tl.where(((x ^ y) & 0x8000) != 0, 2, 1), 0)
    return special


@triton.jit
def fused(
    a, b, c, d, special_a, special_b, zero_a, zero_b, highest_a, highest_b, groups_a, groups_b, used_a, used_b,
    LINES_A, LINES_B, M, N, operations, first_operation, all_operations,
    F: tl.constexpr, F_C: tl.constexpr, F2: tl.constexpr, PRODUCT: tl.constexpr, LENGTH: tl.constexpr, CHUNK: tl.constexpr,
    E_ZERO: tl.constexpr, E_ZERO_C: tl.constexpr, LIMIT: tl.constexpr, RENORMALIZE: tl.constexpr, GROUP: tl.constexpr, PARITIES: tl.constexpr,
    C_FRACTION: tl.constexpr, C_EXPONENT: tl.constexpr, FRACTION: tl.constexpr, EXPONENT: tl.constexpr, PADDING: tl.constexpr,
    NEAREST: tl.constexpr, NAN_CODE: tl.constexpr, HAS_C: tl.constexpr, ROUNDED: tl.constexpr, FLUSH: tl.constexpr, OF_STEP: tl.constexpr,
    CLAMPS: tl.constexpr, TILE_M: tl.constexpr, TILE_N: tl.constexpr,
):
    """T-, ST- and GST-FDPA (GROUP > 0), and with ROUNDED TR- and GTR-FDPA (two PARITIES)."""
    tile_m, tile_n, batch = tl.program_id(0), tl.program_id(1), tl.program_id(2).to(tl.int64)
    in_a, in_b = tl.arange(0, TILE_M), tl.arange(0, TILE_N)
    at_a, at_b = tile_m * TILE_M + in_a, tile_n * TILE_N + in_b
    CARRIED: tl.constexpr = max(C_FRACTION, FRACTION + PADDING)
    place = at_a[:, None] * N + at_b[None, :]
    inside = (at_a[:, None] < M) & (at_b[None, :] < N)
    K_WORDS: tl.constexpr = LENGTH if GROUP == 0 else LENGTH // 4
    a += batch * all_operations * K_WORDS * LINES_A
    b += batch * all_operations * K_WORDS * LINES_B
    tiles_a, tiles_b = LINES_A // TILE_M, LINES_B // TILE_N
    if HAS_C:
        code = tl.load(c + batch * M * N + place, mask=inside, other=0)
    else:
        code = tl.zeros((TILE_M, TILE_N), tl.int32)
    significand, exponent, special = taken_apart(code, C_FRACTION, C_EXPONENT, CARRIED, FLUSH)
    for step in range(operations):
        operation = first_operation + step
        x = a + (operation * tiles_a + tile_m) * (K_WORDS * TILE_M)
        y = b + (operation * tiles_b + tile_n) * (K_WORDS * TILE_N)
        of_groups = (batch * all_operations + operation) * (LENGTH // max(GROUP, 1))
        of_a = (batch * all_operations + operation) * tiles_a + tile_m
        of_b = (batch * all_operations + operation) * tiles_b + tile_n
        rare = tl.load(special_a + of_a) | tl.load(special_b + of_b)
        if LIMIT != 0:
            rare |= (tl.load(highest_a + of_a) + tl.load(highest_b + of_b) + 1 >= LIMIT).to(tl.int32)
        if rare != 0:
            if GROUP == 0:
                special = specials_of_products(x, y, in_a, in_b, TILE_M, TILE_N, 0, special, LENGTH, PRODUCT, LIMIT)
            else:
                special = specials_of_groups(groups_a, groups_b, at_a, at_b, LINES_A, LINES_B, of_groups, special, LENGTH // GROUP)
        zero_c = significand == 0
        if ROUNDED:
            # Algorithm 8, lines 7 to 11; Algorithm 9, lines 7 to 19
            none = tl.full((TILE_M, TILE_N), NONE, tl.int32)
            highest = highest_of_products(x, y, in_a, in_b, TILE_M, TILE_N, 0, none, 0, LENGTH, PARITIES)
            sum = sum_of_products(x, y, in_a, in_b, TILE_M, TILE_N, 0, highest, F, PRODUCT, 0, LENGTH, PARITIES, CHUNK, CLAMPS)
            highest = tl.where(highest < -FAR, NONE, highest)
            if PARITIES == 2:
                odd = highest_of_products(x, y, in_a, in_b, TILE_M, TILE_N, 0, none, 1, LENGTH, 2)
                sum_odd = sum_of_products(x, y, in_a, in_b, TILE_M, TILE_N, 0, odd, F, PRODUCT, 1, LENGTH, 2, CHUNK, CLAMPS)
                odd = tl.where(odd < -FAR, NONE, odd)
                both = tl.maximum(highest, odd)
                sum = shifted(sum, both - highest) + shifted(sum_odd, both - odd)
                highest = both
            # lines 13 to 18; 21 to 29
            exponent_c = tl.where(zero_c, E_ZERO_C, exponent)
            largest = tl.maximum(highest, exponent_c)
            BITS: tl.constexpr = F2 + RENORMALIZE
            total = shifted(sum << (BITS - F), largest - highest)
            of_c = significand.to(tl.int64)
            of_c = shifted(of_c << (F - CARRIED), largest - exponent_c)
            if PARITIES == 2:
                of_c = tl.where(exponent_c < largest - F - 1, 0, of_c)
            total += of_c << (BITS - F)
            last = tl.maximum(largest, -FAR) - BITS
            if RENORMALIZE:
                LEAST: tl.constexpr = 2 - (1 << (EXPONENT - 1))
                own = tl.maximum(leading(tl.maximum(tl.abs(total), 1)) + last, LEAST)
                by = tl.minimum(tl.maximum(own - F2 - last, 0), 62)
                total = (total >> by.to(tl.int64)) << by.to(tl.int64)
        else:
            # Algorithm 5, line 9
            highest = tl.where(zero_c, E_ZERO, exponent)
            if GROUP == 0:
                if E_ZERO != NONE:
                    lines = (batch * all_operations + operation)
                    zero = tl.load(zero_a + lines * LINES_A + at_a)[:, None] | tl.load(zero_b + lines * LINES_B + at_b)[None, :]
                    highest = tl.maximum(highest, tl.where(zero != 0, E_ZERO, NONE))
                highest = highest_of_products(x, y, in_a, in_b, TILE_M, TILE_N, 0, highest, 0, LENGTH, 1)
                total = sum_of_products(x, y, in_a, in_b, TILE_M, TILE_N, 0, highest, F, PRODUCT, 0, LENGTH, 1, CHUNK, CLAMPS)
            else:
                highest = highest_of_groups(
                    groups_a, groups_b, used_a, used_b, at_a, at_b, LINES_A, LINES_B, of_groups, highest, LENGTH // GROUP, E_ZERO
                )
                total = sum_of_groups(
                    x, y, in_a, in_b, TILE_M, TILE_N, groups_a, groups_b, at_a, at_b, LINES_A, LINES_B, of_groups, highest, F, PRODUCT,
                    LENGTH // GROUP, GROUP,
                )
            # lines 11 and 13
            UNIT: tl.constexpr = max(F, F_C)
            LEFT: tl.constexpr = max(F_C - CARRIED, 0)
            RIGHT: tl.constexpr = max(CARRIED - F_C, 0)
            size = shifted(tl.abs(significand).to(tl.int64) << LEFT, highest - exponent + RIGHT)
            size = tl.where(zero_c, 0, size)
            total = (total << (UNIT - F)) + (tl.where(significand < 0, -size, size) << (UNIT - F_C))
            last = tl.maximum(highest, -FAR) - UNIT
        negative = total < 0
        code = encoded(negative, tl.abs(total), last, FRACTION, EXPONENT, PADDING, NEAREST)
        code, special = outcome(special, code, negative, FRACTION, EXPONENT, PADDING, ROUNDED)
        if FLUSH:
            flush = (operation + 1) % OF_STEP == 0
            kept = (code >> (FRACTION + PADDING)) & ((1 << EXPONENT) - 1)
            code = tl.where(flush & (kept == 0) & (step + 1 < operations), 0, code)
        significand, exponent, infinite = taken_apart(code, FRACTION + PADDING, EXPONENT, CARRIED, False)
        special |= infinite & tl.where(special != 0, 0, 7)
    code = tl.where(special == 4, NAN_CODE, code)
    tl.store(d + batch * M * N + place, code, mask=inside)


@triton.jit
def specials_of_groups(groups_a, groups_b, at_a, at_b, LINES_A, LINES_B, first, special, GROUPS: tl.constexpr):
    """A scale factor that is NaN makes the result NaN."""
    for group in range(GROUPS):
        x = tl.load(groups_a + (first + group) * LINES_A + at_a)[:, None]
        y = tl.load(groups_b + (first + group) * LINES_B + at_b)[None, :]
        special |= tl.where(((x >> 16) > NAN) | ((y >> 16) > NAN), 4, 0)
    return special


@triton.jit
def highest_of_groups(
    groups_a, groups_b, used_a, used_b, at_a, at_b, LINES_A, LINES_B, first, highest, GROUPS: tl.constexpr, E_ZERO: tl.constexpr,
):
    """Algorithm 7, line 8: e_max over groups; one whose products are all zero brings e_zero."""
    for group in tl.static_range(GROUPS):
        line_a, line_b = (first + group) * LINES_A + at_a, (first + group) * LINES_B + at_b
        own = (tl.load(groups_a + line_a) >> 16)[:, None] + (tl.load(groups_b + line_b) >> 16)[None, :]
        used = tl.load(used_a + line_a)[:, None] & tl.load(used_b + line_b)[None, :]
        highest = tl.maximum(highest, tl.where(used == 0, E_ZERO, own))
    return highest


@triton.jit
def sum_of_groups(
    a, b, in_a, in_b, TILE_M, TILE_N, groups_a, groups_b, at_a, at_b, LINES_A, LINES_B, first_group, highest, F: tl.constexpr, PRODUCT: tl.constexpr,
    GROUPS: tl.constexpr, GROUP: tl.constexpr,
):
    """Algorithm 7, lines 3 to 12: exact dot products of groups, scaled and cut."""
    PRE: tl.constexpr = max(F - PRODUCT, 0)
    POST: tl.constexpr = max(PRODUCT - F, 0)
    total = tl.zeros_like(highest).to(tl.int64)
    for group in tl.static_range(GROUPS):
        dot = tl.zeros_like(highest)
        for four in tl.static_range(GROUP // 4):
            x = tl.load(a + (group * (GROUP // 4) + four) * TILE_M + in_a)[:, None]
            y = tl.load(b + (group * (GROUP // 4) + four) * TILE_N + in_b)[None, :]
            for byte in tl.static_range(4):
                dot += ((x << (24 - 8 * byte)) >> 24) * ((y << (24 - 8 * byte)) >> 24)
        line_a, line_b = (first_group + group) * LINES_A + at_a, (first_group + group) * LINES_B + at_b
        x, y = tl.load(groups_a + line_a)[:, None], tl.load(groups_b + line_b)[None, :]
        scaled = dot * (((x << 16) >> 16) * ((y << 16) >> 16))
        by = highest - (x >> 16) - (y >> 16) + POST
        cut = shifted(tl.abs(scaled).to(tl.int64) << PRE, tl.maximum(by, 0))
        total += tl.where(scaled < 0, -cut, cut)
    return total


@triton.jit
def flushed(x):
    """Zero of the same sign in place of a subnormal number."""
    return tl.where(tl.abs(x) < 1.1754943508222875e-38, (x.to(tl.int32, bitcast=True) & -2147483648).to(tl.float32, bitcast=True), x)


@triton.jit
def add_mul(
    a, b, c, d, LINES_A, LINES_B, M, N, operations, first_operation, all_operations, PAIRING: tl.constexpr, OF_STEP: tl.constexpr,
    FLUSH: tl.constexpr, HAS_C: tl.constexpr, TILE_M: tl.constexpr, TILE_N: tl.constexpr,
):
    """FTZ-AddMul: Algorithms 1 and 2 in the GPU's own FP32, without fusing."""
    tile_m, tile_n, batch = tl.program_id(0), tl.program_id(1), tl.program_id(2).to(tl.int64)
    at_a, at_b = tile_m * TILE_M + tl.arange(0, TILE_M), tile_n * TILE_N + tl.arange(0, TILE_N)
    place = at_a[:, None] * N + at_b[None, :]
    inside = (at_a[:, None] < M) & (at_b[None, :] < N)
    a += batch * all_operations * PAIRING * LINES_A
    b += batch * all_operations * PAIRING * LINES_B
    sum = tl.load(c + batch * M * N + place, mask=inside, other=0.0) if HAS_C else tl.zeros((TILE_M, TILE_N), tl.float32)
    for step in range(operations):
        operation = first_operation + step
        if FLUSH:  # C of each instruction, as it goes in: subnormal numbers and zeros are +0
            if operation % OF_STEP == 0:
                sum = tl.where(tl.abs(sum) < 1.1754943508222875e-38, 0.0, sum)
        p0 = product_of(a, b, at_a, at_b, LINES_A, LINES_B, operation * PAIRING)
        if PAIRING >= 2:
            p0 = flushed(p0 + product_of(a, b, at_a, at_b, LINES_A, LINES_B, operation * PAIRING + 1))
        if PAIRING >= 4:
            p2 = product_of(a, b, at_a, at_b, LINES_A, LINES_B, operation * PAIRING + 2)
            p0 = flushed(p0 + flushed(p2 + product_of(a, b, at_a, at_b, LINES_A, LINES_B, operation * PAIRING + 3)))
        sum = flushed(sum + p0)
    tl.store(d + batch * M * N + place, sum, mask=inside)


@triton.jit
def product_of(a, b, at_a, at_b, LINES_A, LINES_B, k):
    """FTZ-Mul of element k of A and B."""
    return flushed(tl.load(a + k * LINES_A + at_a)[:, None] * tl.load(b + k * LINES_B + at_b)[None, :])


@triton.jit
def multiply_add(
    a, b, c, d, LINES_A, LINES_B, M, N, operations, first_operation, all_operations, HAS_C: tl.constexpr, TILE_M: tl.constexpr,
    TILE_N: tl.constexpr,
):
    """FMA: Algorithm 3 by the GPU's own fused multiply-add."""
    tile_m, tile_n, batch = tl.program_id(0), tl.program_id(1), tl.program_id(2).to(tl.int64)
    at_a, at_b = tile_m * TILE_M + tl.arange(0, TILE_M), tile_n * TILE_N + tl.arange(0, TILE_N)
    place = at_a[:, None] * N + at_b[None, :]
    inside = (at_a[:, None] < M) & (at_b[None, :] < N)
    a += batch * all_operations * LINES_A
    b += batch * all_operations * LINES_B
    sum = tl.load(c + batch * M * N + place, mask=inside, other=0.0) if HAS_C else tl.zeros((TILE_M, TILE_N), d.dtype.element_ty)
    for step in range(operations):
        k = first_operation + step
        x = tl.load(a + k * LINES_A + at_a)[:, None]
        y = tl.load(b + k * LINES_B + at_b)[None, :]
        x, y = tl.broadcast(x, y)
        sum = tl.fma(x, y, sum)
    tl.store(d + batch * M * N + place, sum, mask=inside)


@triton.jit
def two_sum(x, y):
    """x + y rounded, and what rounding lost."""
    sum = x + y
    of_y = sum - x
    return sum, (x - (sum - of_y)) + (y - of_y)


@triton.jit
def to_odd(x, y):
    """x + y rounded to odd: what is not exact gets an odd last bit, so that a later rounding to fewer bits is right."""
    sum, lost = two_sum(x, y)
    bits = sum.to(tl.int64, bitcast=True)
    away = (lost > 0) == (sum > 0)
    odd = tl.where(away, bits + 1, bits - 1).to(tl.float64, bitcast=True)
    return tl.where((lost != 0) & ((bits & 1) == 0), odd, sum)


@triton.jit
def exact(
    a, b, c, d, LINES_A, LINES_B, M, N, operations, first_operation, all_operations, LENGTH: tl.constexpr, HAS_C: tl.constexpr,
    TILE_M: tl.constexpr, TILE_N: tl.constexpr,
):
    """E-FDPA of up to four products into FP32: an expansion of FP64 numbers that holds the sum exactly (Shewchuk 1997), rounded once."""
    tile_m, tile_n, batch = tl.program_id(0), tl.program_id(1), tl.program_id(2).to(tl.int64)
    at_a, at_b = tile_m * TILE_M + tl.arange(0, TILE_M), tile_n * TILE_N + tl.arange(0, TILE_N)
    place = at_a[:, None] * N + at_b[None, :]
    inside = (at_a[:, None] < M) & (at_b[None, :] < N)
    a += batch * all_operations * LENGTH * LINES_A
    b += batch * all_operations * LENGTH * LINES_B
    code = tl.load(c + batch * M * N + place, mask=inside, other=0.0) if HAS_C else tl.zeros((TILE_M, TILE_N), tl.float32)
    for step in range(operations):
        first = (first_operation + step) * LENGTH
        e4 = code.to(tl.float64)
        e0, e1, e2, e3 = e4 * 0.0, e4 * 0.0, e4 * 0.0, e4 * 0.0
        plain = e4
        for k in tl.static_range(LENGTH):
            x = tl.load(a + (first + k) * LINES_A + at_a)[:, None] * tl.load(b + (first + k) * LINES_B + at_b)[None, :]
            plain += x
            # a number more joins the expansion, whose parts ascend in size and do not overlap
            x, e0 = two_sum(x, e0)
            x, e1 = two_sum(x, e1)
            x, e2 = two_sum(x, e2)
            x, e3 = two_sum(x, e3)
            x, low = two_sum(x, e4)
            # the lowest part is zero as long as fewer than five have joined: all move down
            e0, e1, e2, e3, e4 = e1, e2, e3, low, x
        sum = to_odd(e4, to_odd(e3, to_odd(e2, to_odd(e1, e0))))
        sum = tl.where(sum == 0.0, 0.0, sum)
        sum = tl.where(plain - plain == 0.0, sum, plain)
        code = sum.to(tl.float32)
    tl.store(d + batch * M * N + place, code, mask=inside)
