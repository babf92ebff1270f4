"""Single instructions of GPUs that Triton has no words for, each with what it computes in Triton's own words.

``TARGET`` is ``ptx`` or ``amd`` where kernels are compiled, and ``none`` for the interpreter, which knows no assembly.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def cut_off(x, by, TARGET: tl.constexpr):
    """x · 2^-by of 31 bits cut, for any by of 0 or more. NVIDIA's own shift takes any number; elsewhere 31 is the largest."""
    if TARGET == "ptx":
        return tl.inline_asm_elementwise("shr.u32 $0, $1, $2;", "=r,r,r", [x, by], dtype=tl.int32, is_pure=True, pack=1)
    else:
        return x >> tl.minimum(tl.maximum(by, 0), 31)


@triton.jit
def converted_rz(x, TARGET: tl.constexpr):
    """An integer of 0 or more, of 32 or 64 bits, as FP32, rounded toward zero."""
    if TARGET == "ptx":
        if x.dtype == tl.int32:
            return tl.inline_asm_elementwise("cvt.rz.f32.u32 $0, $1;", "=f,r", [x], dtype=tl.float32, is_pure=True, pack=1)
        else:
            return tl.inline_asm_elementwise("cvt.rz.f32.u64 $0, $1;", "=f,l", [x], dtype=tl.float32, is_pure=True, pack=1)
    else:
        number = x.to(tl.float32)
        above = number.to(tl.int64) > x.to(tl.int64)
        return tl.where(above, number.to(tl.int32, bitcast=True) - 1, number.to(tl.int32, bitcast=True)).to(tl.float32, bitcast=True)


@triton.jit
def half_of(pair, HIGH: tl.constexpr):
    """The integer that the low or the high FP16 half of a word holds."""
    half = ((pair >> 16) if HIGH else pair).to(tl.int16).to(tl.float16, bitcast=True)
    return half.to(tl.int32)


@triton.jit
def pair_of(low, high):
    """Two integers of up to 11 bits as the FP16 halves of a word."""
    low = low.to(tl.float16).to(tl.int16, bitcast=True).to(tl.int32)
    return (low & 0xFFFF) | (high.to(tl.float16).to(tl.int16, bitcast=True).to(tl.int32) << 16)


@triton.jit
def lowest_pair(like, TARGET: tl.constexpr):
    """Twice FP16's -2048, for each element of ``like``. Compilers do not see that it is constant, and so lay it out over threads as that."""
    if TARGET == "ptx":
        return tl.inline_asm_elementwise("mov.b32 $0, 0xE800E800;", "=r,r", [like], dtype=tl.int32, is_pure=True, pack=1)
    elif TARGET == "amd":
        return tl.inline_asm_elementwise("v_mov_b32 $0, 0xE800E800", "=v,v", [like], dtype=tl.int32, is_pure=True, pack=1)
    else:
        return tl.full(like.shape, -0x17FF1800, tl.int32)


@triton.jit
def larger_sums(x, y, so_far, TARGET: tl.constexpr):
    """max(x + y, so_far) of the two FP16 halves of words, which hold integers of up to 11 bits."""
    if TARGET == "ptx":
        sum = tl.inline_asm_elementwise("add.rn.f16x2 $0, $1, $2;", "=r,r,r", [x, y], dtype=tl.int32, is_pure=True, pack=1)
        return tl.inline_asm_elementwise("max.f16x2 $0, $1, $2;", "=r,r,r", [sum, so_far], dtype=tl.int32, is_pure=True, pack=1)
    elif TARGET == "amd":
        sum = tl.inline_asm_elementwise("v_pk_add_f16 $0, $1, $2", "=v,v,v", [x, y], dtype=tl.int32, is_pure=True, pack=1)
        return tl.inline_asm_elementwise("v_pk_max_f16 $0, $1, $2", "=v,v,v", [sum, so_far], dtype=tl.int32, is_pure=True, pack=1)
    else:
        low = tl.maximum(half_of(x, False) + half_of(y, False), half_of(so_far, False))
        return pair_of(low, tl.maximum(half_of(x, True) + half_of(y, True), half_of(so_far, True)))


@triton.jit
def toward_zero(x):
    """An FP64 number of a sum that is not negative as FP32, cut."""
    return ((x.to(tl.int64, bitcast=True) >> 29) << 29).to(tl.float64, bitcast=True).to(tl.float32)


@triton.jit
def add_rz(x, y, TARGET: tl.constexpr):
    """x + y of numbers that are not negative, rounded toward zero."""
    if TARGET == "ptx":
        return tl.inline_asm_elementwise("add.rz.f32 $0, $1, $2;", "=f,f,f", [x, y], dtype=tl.float32, is_pure=True, pack=1)
    else:
        return toward_zero(x.to(tl.float64) + y.to(tl.float64))


@triton.jit
def multiply_add_rz(x, y, z, TARGET: tl.constexpr):
    """x · y + z of numbers that are not negative, rounded once, toward zero.

    Without PTX in FP64, where the product is exact. Its sum with z is rounded to 53 bits before it is cut to 24: the bits of the
    product that a cut removes are 24 at most, so that rounding never carries them up to the next number of 24 bits.
    """
    if TARGET == "ptx":
        return tl.inline_asm_elementwise("fma.rz.f32 $0, $1, $2, $3;", "=f,f,f,f", [x, y, z], dtype=tl.float32, is_pure=True, pack=1)
    else:
        return toward_zero(x.to(tl.float64) * y.to(tl.float64) + z.to(tl.float64))


@triton.jit
def positive_product(x, y, TARGET: tl.constexpr):
    """x · y where that is from 0 to 1, and 0 where it is negative."""
    if TARGET == "ptx":
        return tl.inline_asm_elementwise("mul.rn.sat.f32 $0, $1, $2;", "=f,f,f", [x, y], dtype=tl.float32, is_pure=True, pack=1)
    else:
        return tl.maximum(x * y, 0.0)


@triton.jit
def dot_of_bytes(x, y, sum, TARGET: tl.constexpr):
    """The sum, and the products of four signed bytes of one word with those of another."""
    if TARGET == "ptx":
        return tl.inline_asm_elementwise("dp4a.s32.s32 $0, $1, $2, $3;", "=r,r,r,r", [x, y, sum], dtype=tl.int32, is_pure=True, pack=1)
    elif TARGET == "amd":
        return tl.inline_asm_elementwise("v_dot4_i32_i8 $0, $1, $2, $3", "=v,v,v,v", [x, y, sum], dtype=tl.int32, is_pure=True, pack=1)
    else:
        for byte in tl.static_range(4):
            sum += ((x << (24 - 8 * byte)) >> 24) * ((y << (24 - 8 * byte)) >> 24)
        return sum


@triton.jit
def flushed(x):
    """Zero of the same sign instead of a subnormal number."""
    return tl.where(tl.abs(x) < 1.1754943508222875e-38, (x.to(tl.int32, bitcast=True) & -2147483648).to(tl.float32, bitcast=True), x)


@triton.jit
def multiply_ftz(x, y, TARGET: tl.constexpr):
    """x · y, a subnormal result flushed to zero of its sign. On AMD's GPUs the kernel's mode flushes, where operands are never subnormal."""
    if TARGET == "ptx":
        return tl.inline_asm_elementwise("mul.rn.ftz.f32 $0, $1, $2;", "=f,f,f", [x, y], dtype=tl.float32, is_pure=True, pack=1)
    elif TARGET == "amd":
        return x * y
    else:
        return flushed(x * y)


@triton.jit
def add_ftz(x, y, TARGET: tl.constexpr):
    """x + y, a subnormal result flushed to zero of its sign; operands are never subnormal."""
    if TARGET == "ptx":
        return tl.inline_asm_elementwise("add.rn.ftz.f32 $0, $1, $2;", "=f,f,f", [x, y], dtype=tl.float32, is_pure=True, pack=1)
    elif TARGET == "amd":
        return x + y
    else:
        return flushed(x + y)
