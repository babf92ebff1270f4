"""The terms of an operation of T-, ST-, GST-, TR- and GTR-FDPA: their largest exponent, and their sum, each cut to F bits.

Three routes give the same sums. ``integers`` takes words apart and shifts their product; it does everything. ``scaled`` multiplies numbers
in FP32 and converts to integers toward zero. ``offset`` lets additions that round toward zero do the cut. ``plan`` has their conditions.
"""

from __future__ import annotations

import triton
import triton.language as tl

from . import plan
from .instructions import add_rz, cut_off, dot_of_bytes, half_of, larger_sums, lowest_pair, multiply_add_rz, positive_product

#: Exponent of what takes no part in a maximum.
NONE = tl.constexpr(plan.NONE)
#: Beyond these, exponents stand for zero, infinity and NaN (see ``packing``).
FAR = tl.constexpr(4000)
NAN = tl.constexpr(12000)
#: Sums of two exponents below this are of zeros, where exponents are in FP16 (see ``packing``).
NO_PRODUCT = tl.constexpr(-650)
#: In place of a base.
VARIES = tl.constexpr(plan.VARIES)
#: Exponents in the rows and columns of a tile may be so far apart together; beyond, products are those of integers.
SPREAD = tl.constexpr(70)


@triton.jit
def leading(x):
    """The exponent of the leading bit of a positive number of 62 bits or fewer."""
    found = (x.to(tl.float32).to(tl.int32, bitcast=True) >> 23) - 127
    return tl.where((x >> found.to(tl.int64)) == 0, found - 1, found)


@triton.jit
def shifted(x, by):
    """x · 2^-by cut downward, for any by of 0 or more."""
    return x >> tl.minimum(by, 62).to(tl.int64)


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
def specials_of_products(
    a, b, at_a, at_b, special, LENGTH: tl.constexpr, PRODUCT: tl.constexpr, LIMIT: tl.constexpr, TILE_M: tl.constexpr, TILE_N: tl.constexpr,
):
    """What is special of the products of an operation; those of 2^LIMIT and more are infinite."""
    for k in range(LENGTH):
        x = tl.load(a + k * TILE_M + at_a)[:, None]
        y = tl.load(b + k * TILE_N + at_b)[None, :]
        special |= product_special(x, y)
        if LIMIT != 0:
            exponent = (x >> 16) + (y >> 16)
            size = ((x & 0x7FFF) * (y & 0x7FFF)).to(tl.int64)
            beyond = (exponent < FAR) & (exponent > -FAR) & (size > 0) & (leading(tl.maximum(size, 1)) + exponent - PRODUCT >= LIMIT)
            special |= tl.where(beyond, tl.where(((x ^ y) & 0x8000) != 0, 2, 1), 0)
    return special


@triton.jit
def highest_of_products(a, b, at_a, at_b, FROM: tl.constexpr, LENGTH: tl.constexpr, UNROLL: tl.constexpr, TILE_M: tl.constexpr, TILE_N: tl.constexpr):
    """The largest exponent of the products FROM, FROM + 2, … of an operation; NONE where all are zero."""
    highest = tl.full((TILE_M, TILE_N), NONE, tl.int32)
    for part in range(0, LENGTH, UNROLL):
        for k in tl.static_range(FROM, UNROLL, 2):
            x = tl.load(a + (part + k) * TILE_M + at_a)[:, None]
            y = tl.load(b + (part + k) * TILE_N + at_b)[None, :]
            highest = tl.maximum(highest, (x >> 16) + (y >> 16))
    return tl.where(highest < -FAR, NONE, highest)


@triton.jit
def highest_of_pairs(
    a, b, at_a, at_b, like, LENGTH: tl.constexpr, UNROLL: tl.constexpr, TARGET: tl.constexpr, TILE_M: tl.constexpr, TILE_N: tl.constexpr,
):
    """The largest exponent of the products of even places, and of odd places; NONE where all are zero. Two products a word."""
    largest = lowest_pair(like, TARGET)
    for part in range(0, LENGTH // 2, UNROLL // 2):
        for k in tl.static_range(UNROLL // 2):
            x = tl.load(a + (part + k) * TILE_M + at_a)[:, None]
            y = tl.load(b + (part + k) * TILE_N + at_b)[None, :]
            largest = larger_sums(x, y, largest, TARGET)
    even, odd = half_of(largest, False), half_of(largest, True)
    return tl.where(even < NO_PRODUCT, NONE, even), tl.where(odd < NO_PRODUCT, NONE, odd)


@triton.jit
def sum_of_products(
    a, b, at_a, at_b, highest, F: tl.constexpr, PRODUCT: tl.constexpr, FROM: tl.constexpr, LENGTH: tl.constexpr, STEP: tl.constexpr,
    CHUNK: tl.constexpr, UNROLL: tl.constexpr, TARGET: tl.constexpr, TILE_M: tl.constexpr, TILE_N: tl.constexpr,
):
    """The products FROM, FROM + STEP, … of an operation, each cut toward zero to F bits below 2^highest, summed."""
    PRE: tl.constexpr = max(F - PRODUCT, 0)
    POST: tl.constexpr = max(PRODUCT - F, 0)
    sum = tl.zeros_like(highest).to(tl.int64)
    for part in range(0, LENGTH, UNROLL):
        for first in tl.static_range(FROM, UNROLL, CHUNK * STEP):  # as many as 32 bits hold
            few = tl.zeros_like(highest)
            for k in tl.static_range(first, min(first + CHUNK * STEP, UNROLL), STEP):
                x = tl.load(a + (part + k) * TILE_M + at_a)[:, None]
                y = tl.load(b + (part + k) * TILE_N + at_b)[None, :]
                size = ((x & 0x7FFF) << PRE) * (y & 0x7FFF)
                by = highest - (x >> 16) - ((y >> 16) - POST)
                # signs as factors: 1 or -1
                few += cut_off(size, by, TARGET) * ((1 - ((x >> 14) & 2)) * (1 - ((y >> 14) & 2)))
            sum += few.to(tl.int64)
    return sum


@triton.jit
def power_of_two(exponent):
    """2^exponent in FP32, of -126 to 127."""
    return ((exponent + 127) << 23).to(tl.float32, bitcast=True)


@triton.jit
def scaled_sum(
    a, b, at_a, at_b, highest, base, F: tl.constexpr, FROM: tl.constexpr, LENGTH: tl.constexpr, STEP: tl.constexpr, CHUNK: tl.constexpr,
    UNROLL: tl.constexpr, TILE_M: tl.constexpr, TILE_N: tl.constexpr,
):
    """The products FROM, FROM + STEP, … in units of 2^(highest - F), each converted to an integer toward zero, summed.

    A and B hold numbers over 2^base together, so that they are below 1. ``plan`` and SPREAD see to it that products are exact in FP32: of
    24 bits or fewer, the last 2^-126 or more. Scaling by a power of two is exact, or the result is subnormal and below one unit. The power
    is 2^127 at most, unless all products are zero. A term is below 2^(F + 2), where F is 29 at most.
    """
    scale = power_of_two(tl.minimum(tl.maximum(F + base - highest, -126), 127))
    # as many terms as 32 bits hold
    WHOLE: tl.constexpr = CHUNK * STEP >= LENGTH
    sum = tl.zeros_like(highest) if WHOLE else tl.zeros_like(highest).to(tl.int64)
    for part in range(0, LENGTH, UNROLL):
        for first in tl.static_range(FROM, UNROLL, CHUNK * STEP):
            few = sum if WHOLE else tl.zeros_like(highest)
            for k in tl.static_range(first, min(first + CHUNK * STEP, UNROLL), STEP):
                x = tl.load(a + (part + k) * TILE_M + at_a)[:, None]
                y = tl.load(b + (part + k) * TILE_N + at_b)[None, :]
                few += ((x * y) * scale).to(tl.int32)
            sum = few if WHOLE else sum + few.to(tl.int64)
    return sum.to(tl.int64)


@triton.jit
def offset_sum(
    a, b, at_a, at_b, highest, base, F: tl.constexpr, FROM: tl.constexpr, LENGTH: tl.constexpr, STEP: tl.constexpr, UNROLL: tl.constexpr,
    TARGET: tl.constexpr, TILE_M: tl.constexpr, TILE_N: tl.constexpr,
):
    """The same sum by additions rounded toward zero onto 2^23 units of 2^(highest - F), from where FP32 counts single units.

    A sum of terms that are not negative loses what is below a unit of each, as each term is cut; sums of both signs would not. So one sum has
    the positive terms and the other the magnitudes of all: twice the first less the second is the sum of the terms. ``plan`` holds both
    below 2^23 units, so that they stay below 2^24 with the offset. Products are below 1 (2^base is taken out), exact, and so cut once.
    """
    unit = tl.minimum(tl.maximum(highest - base - F, -126), 100) + 23
    offset = power_of_two(unit)
    positive, magnitude = offset, offset
    for part in range(0, LENGTH, UNROLL):
        for k in tl.static_range(FROM, UNROLL, STEP):
            x = tl.load(a + (part + k) * TILE_M + at_a)[:, None]
            y = tl.load(b + (part + k) * TILE_N + at_b)[None, :]
            positive = add_rz(positive, positive_product(x, y, TARGET), TARGET)
            magnitude = multiply_add_rz(tl.abs(x), tl.abs(y), magnitude, TARGET)
    start = offset.to(tl.int32, bitcast=True)
    positive, magnitude = positive.to(tl.int32, bitcast=True) - start, magnitude.to(tl.int32, bitcast=True) - start
    return (2 * positive - magnitude).to(tl.int64)


@triton.jit
def sum_of_terms(
    a, b, values_a, values_b, at_a, at_b, highest, base, wide, F: tl.constexpr, PRODUCT: tl.constexpr, FROM: tl.constexpr, LENGTH: tl.constexpr,
    STEP: tl.constexpr, CHUNK: tl.constexpr, UNROLL: tl.constexpr, BASE: tl.constexpr, ROUTE: tl.constexpr, TARGET: tl.constexpr,
    TILE_M: tl.constexpr, TILE_N: tl.constexpr,
):
    """The sum by one route; by integers where exponents in this tile are too far apart for FP32."""
    if ROUTE == "integers":
        return sum_of_products(a, b, at_a, at_b, highest, F, PRODUCT, FROM, LENGTH, STEP, CHUNK, UNROLL, TARGET, TILE_M, TILE_N)
    elif ROUTE == "offset":
        return offset_sum(values_a, values_b, at_a, at_b, highest, base, F, FROM, LENGTH, STEP, UNROLL, TARGET, TILE_M, TILE_N)
    elif BASE != VARIES:
        return scaled_sum(values_a, values_b, at_a, at_b, highest, base, F, FROM, LENGTH, STEP, CHUNK, UNROLL, TILE_M, TILE_N)
    else:
        if wide:
            sum = sum_of_products(a, b, at_a, at_b, highest, F, PRODUCT, FROM, LENGTH, STEP, CHUNK, UNROLL, TARGET, TILE_M, TILE_N)
        else:
            sum = scaled_sum(values_a, values_b, at_a, at_b, highest, base, F, FROM, LENGTH, STEP, CHUNK, UNROLL, TILE_M, TILE_N)
        return sum


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
    GROUPS: tl.constexpr, GROUP: tl.constexpr, TARGET: tl.constexpr,
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
            dot = dot_of_bytes(x, y, dot, TARGET)
        line_a, line_b = (first_group + group) * LINES_A + at_a, (first_group + group) * LINES_B + at_b
        x, y = tl.load(groups_a + line_a)[:, None], tl.load(groups_b + line_b)[None, :]
        scaled = dot * (((x << 16) >> 16) * ((y << 16) >> 16))
        by = highest - (x >> 16) - (y >> 16) + POST
        cut = shifted(tl.abs(scaled).to(tl.int64) << PRE, tl.maximum(by, 0))
        total += tl.where(scaled < 0, -cut, cut)
    return total
