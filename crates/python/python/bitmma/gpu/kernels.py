"""Triton kernels, one for each way of summing.

Every kernel computes a tile of D over whole operations along K, from a start, and keeps what one operation hands to the next in
registers: significand (with sign), exponent, and what is special of it (1: +infinity, 2: -infinity, 4: NaN, or several of them).
"""

from __future__ import annotations

import triton
import triton.language as tl

from .instructions import add_ftz, converted_rz, cut_off, multiply_ftz
from .terms import (
    FAR,
    NONE,
    SPREAD,
    VARIES,
    highest_of_groups,
    highest_of_pairs,
    highest_of_products,
    leading,
    shifted,
    specials_of_groups,
    specials_of_products,
    sum_of_groups,
    sum_of_terms,
)


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
def encoded(magnitude, last, FRACTION: tl.constexpr, EXPONENT: tl.constexpr, PADDING: tl.constexpr, NEAREST: tl.constexpr, TARGET: tl.constexpr):
    """magnitude · 2^last, of 62 bits or fewer, rounded toward zero or to nearest even; beyond the largest number infinity. Without sign.

    The magnitude is first cut to 24 bits, by FP32's conversion. Cutting again is as cutting once; for rounding to nearest two bits below the 24
    say whether the first cut lost nothing, less than half of the last bit, half, or more.
    """
    BIAS: tl.constexpr = (1 << (EXPONENT - 1)) - 1
    LEAST: tl.constexpr = 1 - BIAS
    BEYOND: tl.constexpr = ((1 << EXPONENT) - 1) << FRACTION
    EXTRA: tl.constexpr = 2 if NEAREST else 0
    number = converted_rz(magnitude, TARGET)
    bits = number.to(tl.int32, bitcast=True)
    exponent = (bits >> 23) - 127 + last
    word = ((bits & 0x7FFFFF) | 0x800000) << EXTRA
    own = tl.maximum(exponent, LEAST)
    drop = EXTRA + 23 - FRACTION + own - exponent
    if NEAREST:
        twice = (magnitude - number.to(magnitude.dtype)) << 1
        unit = (magnitude * 0 + 1) << tl.maximum((bits >> 23) - 150, 0).to(magnitude.dtype)
        word |= tl.where(twice == 0, 0, tl.where(twice < unit, 1, tl.where(twice == unit, 2, 3)))
        drop = tl.minimum(drop, 30)
        kept = (word + ((1 << drop) >> 1) - 1 + ((word >> drop) & 1)) >> drop
    else:
        kept = cut_off(word, drop, TARGET)
    code = (tl.minimum(own - LEAST, 2 * BIAS - 1) << FRACTION) + kept
    code = tl.where(own > BIAS, BEYOND, code)
    return tl.where(bits == 0, 0, code) << PADDING


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
def fused(
    a, b, c, d, special_a, special_b, zero_a, zero_b, highest_a, highest_b, groups_a, groups_b, used_a, used_b,
    values_a, values_b, pairs_a, pairs_b, base_a, base_b, spread_a, spread_b,
    LINES_A, LINES_B, M, operations, first_operation, all_operations,
    F: tl.constexpr, F_C: tl.constexpr, F2: tl.constexpr, PRODUCT: tl.constexpr, LENGTH: tl.constexpr, CHUNK: tl.constexpr,
    E_ZERO: tl.constexpr, E_ZERO_C: tl.constexpr, LIMIT: tl.constexpr, RENORMALIZE: tl.constexpr, GROUP: tl.constexpr, PARITIES: tl.constexpr,
    C_FRACTION: tl.constexpr, C_EXPONENT: tl.constexpr, FRACTION: tl.constexpr, EXPONENT: tl.constexpr, PADDING: tl.constexpr,
    NEAREST: tl.constexpr, NAN_CODE: tl.constexpr, HAS_C: tl.constexpr, ROUNDED: tl.constexpr, FLUSH: tl.constexpr, OF_STEP: tl.constexpr,
    UNROLL: tl.constexpr, BASE: tl.constexpr, ROUTE: tl.constexpr, NARROW: tl.constexpr, TARGET: tl.constexpr, TILE_M: tl.constexpr, TILE_N: tl.constexpr,
):
    """T-, ST- and GST-FDPA (GROUP > 0), and with ROUNDED TR- and GTR-FDPA (two PARITIES)."""
    tile_m, tile_n, batch = tl.program_id(0), tl.program_id(1), tl.program_id(2).to(tl.int64)
    in_a, in_b = tl.arange(0, TILE_M), tl.arange(0, TILE_N)
    at_a, at_b = tile_m * TILE_M + in_a, tile_n * TILE_N + in_b
    CARRIED: tl.constexpr = max(C_FRACTION, FRACTION + PADDING)
    place = (batch * M + at_a[:, None]) * LINES_B + at_b[None, :]
    inside = at_a[:, None] < M
    K_WORDS: tl.constexpr = LENGTH if GROUP == 0 else LENGTH // 4
    tiles_a, tiles_b = LINES_A // TILE_M, LINES_B // TILE_N
    if HAS_C:
        code = tl.load(c + place, mask=inside, other=0)
    else:
        code = tl.zeros((TILE_M, TILE_N), tl.int32)
    significand, exponent, special = taken_apart(code, C_FRACTION, C_EXPONENT, CARRIED, FLUSH)
    for step in range(operations):
        operation = batch * all_operations + first_operation + step
        of_a, of_b = operation * tiles_a + tile_m, operation * tiles_b + tile_n
        x, y = a + of_a * (K_WORDS * TILE_M), b + of_b * (K_WORDS * TILE_N)
        of_groups = operation * (LENGTH // max(GROUP, 1))
        rare = tl.load(special_a + of_a) | tl.load(special_b + of_b)
        if LIMIT != 0:
            rare |= (tl.load(highest_a + of_a) + tl.load(highest_b + of_b) + 1 >= LIMIT).to(tl.int32)
        if rare != 0:
            if GROUP == 0:
                special = specials_of_products(x, y, in_a, in_b, special, LENGTH, PRODUCT, LIMIT, TILE_M, TILE_N)
            else:
                special = specials_of_groups(groups_a, groups_b, at_a, at_b, LINES_A, LINES_B, of_groups, special, LENGTH // GROUP)
        zero_c = significand == 0
        values_x, values_y, base, wide = values_a, values_b, BASE, False
        if ROUTE == "integers":
            even = highest_of_products(x, y, in_a, in_b, 0, LENGTH, UNROLL, TILE_M, TILE_N)
            odd = highest_of_products(x, y, in_a, in_b, 1, LENGTH, UNROLL, TILE_M, TILE_N)
        elif GROUP == 0:
            pairs_x, pairs_y = pairs_a + of_a * (LENGTH // 2 * TILE_M), pairs_b + of_b * (LENGTH // 2 * TILE_N)
            even, odd = highest_of_pairs(pairs_x, pairs_y, in_a, in_b, significand, LENGTH, UNROLL, TARGET, TILE_M, TILE_N)
            values_x, values_y = values_a + of_a * (LENGTH * TILE_M), values_b + of_b * (LENGTH * TILE_N)
            if BASE == VARIES:
                base = tl.load(base_a + operation * LINES_A + at_a)[:, None] + tl.load(base_b + operation * LINES_B + at_b)[None, :]
                wide = tl.load(spread_a + of_a) + tl.load(spread_b + of_b) > SPREAD
        if ROUNDED:
            # Algorithm 8, lines 7 to 11; Algorithm 9, lines 7 to 19
            if PARITIES == 2:
                highest = tl.maximum(even, odd)
                sum = sum_of_terms(
                    x, y, values_x, values_y, in_a, in_b, even, base, wide, F, PRODUCT, 0, LENGTH, 2, CHUNK, UNROLL, BASE, ROUTE, TARGET,
                    TILE_M, TILE_N,
                )
                sum_odd = sum_of_terms(
                    x, y, values_x, values_y, in_a, in_b, odd, base, wide, F, PRODUCT, 1, LENGTH, 2, CHUNK, UNROLL, BASE, ROUTE, TARGET,
                    TILE_M, TILE_N,
                )
                sum = shifted(sum, highest - even) + shifted(sum_odd, highest - odd)
            else:
                highest = tl.maximum(even, odd)
                sum = sum_of_terms(
                    x, y, values_x, values_y, in_a, in_b, highest, base, wide, F, PRODUCT, 0, LENGTH, 1, CHUNK, UNROLL, BASE, ROUTE, TARGET,
                    TILE_M, TILE_N,
                )
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
                    zero = tl.load(zero_a + operation * LINES_A + at_a)[:, None] | tl.load(zero_b + operation * LINES_B + at_b)[None, :]
                    highest = tl.maximum(highest, tl.where(zero != 0, E_ZERO, NONE))
                highest = tl.maximum(highest, tl.maximum(even, odd))
                total = sum_of_terms(
                    x, y, values_x, values_y, in_a, in_b, highest, base, wide, F, PRODUCT, 0, LENGTH, 1, CHUNK, UNROLL, BASE, ROUTE, TARGET,
                    TILE_M, TILE_N,
                )
            else:
                highest = highest_of_groups(
                    groups_a, groups_b, used_a, used_b, at_a, at_b, LINES_A, LINES_B, of_groups, highest, LENGTH // GROUP, E_ZERO
                )
                total = sum_of_groups(
                    x, y, in_a, in_b, TILE_M, TILE_N, groups_a, groups_b, at_a, at_b, LINES_A, LINES_B, of_groups, highest, F, PRODUCT,
                    LENGTH // GROUP, GROUP, TARGET,
                )
            # lines 11 and 13
            UNIT: tl.constexpr = max(F, F_C)
            LEFT: tl.constexpr = max(F_C - CARRIED, 0)
            RIGHT: tl.constexpr = max(CARRIED - F_C, 0)
            if CARRIED + LEFT <= 29:
                size = cut_off(tl.abs(significand) << LEFT, highest - exponent + RIGHT, TARGET)
            else:
                size = shifted(tl.abs(significand).to(tl.int64) << LEFT, highest - exponent + RIGHT)
            size = tl.where(zero_c, 0, size)
            size = tl.where(significand < 0, -size, size)
            if NARROW:
                total = total.to(tl.int32) + size
            else:
                total = (total << (UNIT - F)) + (size.to(tl.int64) << (UNIT - F_C))
            last = tl.maximum(highest, -FAR) - UNIT
        negative = total < 0
        code = encoded(tl.abs(total), last, FRACTION, EXPONENT, PADDING, NEAREST, TARGET)
        code, special = outcome(special, code, negative, FRACTION, EXPONENT, PADDING, ROUNDED)
        if FLUSH:
            flush = (operation + 1) % OF_STEP == 0
            kept = (code >> (FRACTION + PADDING)) & ((1 << EXPONENT) - 1)
            code = tl.where(flush & (kept == 0) & (step + 1 < operations), 0, code)
        significand, exponent, infinite = taken_apart(code, FRACTION + PADDING, EXPONENT, CARRIED, False)
        special |= infinite & tl.where(special != 0, 0, 7)
    code = tl.where(special == 4, NAN_CODE, code)
    tl.store(d + place, code, mask=inside)


@triton.jit
def add_mul(
    a, b, c, d, LINES_A, LINES_B, M, operations, first_operation, all_operations, LENGTH: tl.constexpr, PAIRING: tl.constexpr,
    FLUSH: tl.constexpr, HAS_C: tl.constexpr, TARGET: tl.constexpr, TILE_M: tl.constexpr, TILE_N: tl.constexpr,
):
    """FTZ-AddMul: Algorithms 1 and 2 in the GPU's own FP32, without fusing; LENGTH products an instruction."""
    x, y, place, inside, next_a, next_b = placed(a, b, LINES_A, LINES_B, M, first_operation, all_operations, LENGTH, TILE_M, TILE_N)
    sum = tl.load(c + place, mask=inside, other=0.0) if HAS_C else tl.zeros((TILE_M, TILE_N), tl.float32)
    for _ in range(operations):
        if FLUSH:  # C of each instruction, as it goes in: subnormal numbers and zeros are +0
            sum = tl.where(tl.abs(sum) < 1.1754943508222875e-38, 0.0, sum)
        for k in tl.static_range(0, LENGTH, PAIRING):
            pair = product_of(x, y, k, TARGET, TILE_M, TILE_N)
            if PAIRING >= 2:
                pair = add_ftz(pair, product_of(x, y, k + 1, TARGET, TILE_M, TILE_N), TARGET)
            if PAIRING >= 4:
                other = product_of(x, y, k + 2, TARGET, TILE_M, TILE_N)
                pair = add_ftz(pair, add_ftz(other, product_of(x, y, k + 3, TARGET, TILE_M, TILE_N), TARGET), TARGET)
            sum = add_ftz(sum, pair, TARGET)
        x += next_a
        y += next_b
    tl.store(d + place, sum, mask=inside)


@triton.jit
def product_of(x, y, k: tl.constexpr, TARGET: tl.constexpr, TILE_M: tl.constexpr, TILE_N: tl.constexpr):
    """FTZ-Mul of element k of A and B."""
    return multiply_ftz(tl.load(x + k * TILE_M)[:, None], tl.load(y + k * TILE_N)[None, :], TARGET)


@triton.jit
def placed(
    a, b, LINES_A, LINES_B, M, first_operation, all_operations, LENGTH: tl.constexpr, TILE_M: tl.constexpr, TILE_N: tl.constexpr,
):
    """Where a tile's first elements of A and B are, where it is in D, and how far one instruction's elements are from the next's."""
    tile_m, tile_n, batch = tl.program_id(0), tl.program_id(1), tl.program_id(2).to(tl.int64)
    in_a, in_b = tl.arange(0, TILE_M), tl.arange(0, TILE_N)
    rows = tile_m * TILE_M + in_a
    place = (batch * M + rows[:, None]) * LINES_B + tile_n * TILE_N + in_b[None, :]
    first = batch * all_operations + first_operation
    x = a + (first * LINES_A + tile_m * TILE_M) * LENGTH + in_a
    y = b + (first * LINES_B + tile_n * TILE_N) * LENGTH + in_b
    return x, y, place, (rows < M)[:, None], LINES_A * LENGTH, LINES_B * LENGTH


@triton.jit
def multiply_add(
    a, b, c, d, LINES_A, LINES_B, M, operations, first_operation, all_operations, LENGTH: tl.constexpr, HAS_C: tl.constexpr,
    TARGET: tl.constexpr, TILE_M: tl.constexpr, TILE_N: tl.constexpr,
):
    """FMA: Algorithm 3 by the GPU's own fused multiply-add; LENGTH products an instruction."""
    x, y, place, inside, next_a, next_b = placed(a, b, LINES_A, LINES_B, M, first_operation, all_operations, LENGTH, TILE_M, TILE_N)
    sum = tl.load(c + place, mask=inside, other=0.0) if HAS_C else tl.zeros((TILE_M, TILE_N), d.dtype.element_ty)
    for _ in range(operations):
        for k in tl.static_range(LENGTH):
            of_a, of_b = tl.broadcast(tl.load(x + k * TILE_M)[:, None], tl.load(y + k * TILE_N)[None, :])
            sum = tl.fma(of_a, of_b, sum)
        x += next_a
        y += next_b
    tl.store(d + place, sum, mask=inside)


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
    a, b, c, d, LINES_A, LINES_B, M, operations, first_operation, all_operations, LENGTH: tl.constexpr, HAS_C: tl.constexpr,
    TARGET: tl.constexpr, TILE_M: tl.constexpr, TILE_N: tl.constexpr,
):
    """E-FDPA of up to four products into FP32: an expansion of FP64 numbers that holds the sum exactly (Shewchuk 1997), rounded once."""
    x, y, place, inside, next_a, next_b = placed(a, b, LINES_A, LINES_B, M, first_operation, all_operations, LENGTH, TILE_M, TILE_N)
    code = tl.load(c + place, mask=inside, other=0.0) if HAS_C else tl.zeros((TILE_M, TILE_N), tl.float32)
    for _ in range(operations):
        e4 = code.to(tl.float64)
        e0, e1, e2, e3 = e4 * 0.0, e4 * 0.0, e4 * 0.0, e4 * 0.0
        plain = e4
        for k in tl.static_range(LENGTH):
            term = tl.load(x + k * TILE_M)[:, None] * tl.load(y + k * TILE_N)[None, :]
            plain += term
            # a number more joins the expansion, whose parts ascend in size and do not overlap
            term, e0 = two_sum(term, e0)
            term, e1 = two_sum(term, e1)
            term, e2 = two_sum(term, e2)
            term, e3 = two_sum(term, e3)
            term, low = two_sum(term, e4)
            # the lowest part is zero as long as fewer than five have joined: all move down
            e0, e1, e2, e3, e4 = e1, e2, e3, low, term
        sum = to_odd(e4, to_odd(e3, to_odd(e2, to_odd(e1, e0))))
        sum = tl.where(sum == 0.0, 0.0, sum)
        sum = tl.where(plain - plain == 0.0, sum, plain)
        code = sum.to(tl.float32)
        x += next_a
        y += next_b
    tl.store(d + place, code, mask=inside)
