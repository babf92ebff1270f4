//! FP32 by the host's additions, multiplications and divisions, which IEEE 754 fixes but for NaN; in rounding to nearest alone.

use crate::lanes::{Lanes, map1, map2, map3};

/// The NaN that arithmetic returns.
pub(crate) const NAN: u32 = 0x7fff_ffff;
pub(crate) const SIGN: u32 = 0x8000_0000;
const INFINITY: u32 = 0x7f80_0000;

#[inline(always)]
pub(crate) fn flush(code: u32) -> u32 {
    if code & INFINITY == 0 { code & SIGN } else { code }
}

#[inline(always)]
fn code(value: f32) -> u32 {
    let bits = value.to_bits();
    if bits & !SIGN > INFINITY { NAN } else { bits }
}

#[inline(always)]
pub(crate) fn is_nan(code: u32) -> bool {
    code & !SIGN > INFINITY
}

#[inline(always)]
fn with_flush(flushes: bool, a: &Lanes, b: &Lanes, f: impl Fn(f32, f32) -> f32) -> Lanes {
    let of = f32::from_bits;
    match flushes {
        false => map2(a, b, |a, b| code(f(of(a), of(b)))),
        true => map2(a, b, |a, b| flush(code(f(of(flush(a)), of(flush(b)))))),
    }
}

pub(crate) fn add(flush: bool, a: &Lanes, b: &Lanes) -> Lanes {
    with_flush(flush, a, b, |a, b| a + b)
}

pub(crate) fn subtract(flush: bool, a: &Lanes, b: &Lanes) -> Lanes {
    with_flush(flush, a, b, |a, b| a - b)
}

pub(crate) fn multiply(flush: bool, a: &Lanes, b: &Lanes) -> Lanes {
    with_flush(flush, a, b, |a, b| a * b)
}

pub(crate) fn divide(flush: bool, a: &Lanes, b: &Lanes) -> Lanes {
    with_flush(flush, a, b, |a, b| a / b)
}

/// The square root, by the processor's instruction.
pub(crate) fn square_root(flushes: bool, a: &Lanes) -> Lanes {
    let root = |a: u32| code(f32::from_bits(a).sqrt());
    if flushes { map1(a, |a| flush(root(flush(a)))) } else { map1(a, root) }
}

/// x · y + z rounded once, to odd, in FP64: exact products of numbers with at most 24 bits, whose sum keeps a last bit
/// that is set wherever something was left out (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved
/// algorithms using rounding to odd"). What rounds it to 51 bits or fewer rounds the exact value.
#[inline(always)]
pub(crate) fn fused_to_odd(x: f64, y: f64, z: f64) -> f64 {
    let product = x * y;
    let sum = product + z;
    // the error of the sum (Knuth's TwoSum); NaN where the sum is not finite
    let part = sum - product;
    let error = (product - (sum - part)) + (z - part);
    let bits = sum.to_bits();
    let away = (error > 0.0) == (sum > 0.0);
    let odd = if away { bits + 1 } else { bits.wrapping_sub(1) };
    let inexact = error.abs() > 0.0;
    f64::from_bits(if inexact && bits & 1 == 0 { odd } else { bits })
}

#[inline(always)]
fn fused(a: u32, b: u32, c: u32) -> u32 {
    let of = |code: u32| f64::from(f32::from_bits(code));
    code(fused_to_odd(of(a), of(b), of(c)) as f32)
}

pub(crate) fn fma(flushes: bool, a: &Lanes, b: &Lanes, c: &Lanes) -> Lanes {
    match flushes {
        false => map3(a, b, c, fused),
        true => map3(a, b, c, |a, b, c| flush(fused(flush(a), flush(b), flush(c)))),
    }
}

/// The operand that is not NaN, or NaN where `nan` says so; -0 is below +0.
#[inline(always)]
pub(crate) fn minimum(nan: bool, a: u32, b: u32) -> u32 {
    pick(nan, a, b, |a, b| a <= b)
}

#[inline(always)]
pub(crate) fn maximum(nan: bool, a: u32, b: u32) -> u32 {
    pick(nan, a, b, |a, b| a >= b)
}

#[inline(always)]
fn pick(nan: bool, a: u32, b: u32, first: impl Fn(i32, i32) -> bool) -> u32 {
    // codes in the order of their values
    let order = |code: u32| (code ^ ((code as i32 >> 31) as u32 >> 1)) as i32;
    match (is_nan(a), is_nan(b)) {
        (false, false) => {
            if first(order(a), order(b)) {
                a
            } else {
                b
            }
        }
        (true, true) => NAN,
        _ if nan => NAN,
        (true, false) => b,
        (false, true) => a,
    }
}
