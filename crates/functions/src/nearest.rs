//! Correctly rounded results: what an exact function would give, rounded once to nearest even.
//!
//! Every result is bounded between two integers times a power of two. Where both bounds round alike, that is the result;
//! where they do not, the work is repeated with twice the bits. Results that are rational are found exactly.

use bitmma_formats::{F32, Overflow, Real, Rounding, encode};
use dashu_int::IBig;
use dashu_int::ops::BitTest;

use crate::float::f32_code;
use crate::function::Function;
use crate::model::{INFINITY, ONE};
use crate::number::Number;
use crate::number::SIGN;
use crate::polynomial::FRACTION_BITS;

/// The FP32 code nearest to a function of an FP32 code. What is not a number has the code that the GPU gives it.
pub fn nearest(function: Function, x: u32) -> u32 {
    let magnitude = x & !SIGN;
    if magnitude >= INFINITY || magnitude == 0 {
        return function.evaluate(x);
    }
    let number = Number::of(x);
    match function {
        Function::Sqrt | Function::Rsqrt | Function::Lg2 if number.negative => function.evaluate(x),
        Function::Rcp => rcp(number),
        Function::Sqrt => sqrt(number),
        Function::Rsqrt => rsqrt(number),
        Function::Ex2 => ex2(number),
        Function::Lg2 => lg2(number),
        Function::Sin => sin(number),
        Function::Cos => cos(number),
    }
}

/// By how many places a result lies above the nearest one, below if negative; `None` where one is NaN or they are
/// infinities and numbers mixed.
pub fn ulps(result: u32, nearest: u32) -> Option<i64> {
    let is_finite = |code: u32| code & !SIGN < INFINITY;
    if result == nearest {
        return Some(0).filter(|_| result & !SIGN <= INFINITY);
    }
    let place = |code: u32| F32.place(code.into()) as i64; // codes have 32 bits
    (is_finite(result) && is_finite(nearest)).then(|| place(result) - place(nearest))
}

fn round(negative: bool, significand: u128, exponent: i32, inexact: bool) -> u32 {
    let value = Real { negative, significand, exponent, inexact };
    f32_code(encode(&F32, value, Rounding::NearestEven, Overflow::Ieee))
}

/// Weight of the last bit of a number's significand.
const fn last(x: Number) -> i32 {
    x.exponent - FRACTION_BITS as i32
}

fn rcp(x: Number) -> u32 {
    let (one, significand) = (1_u128 << 100, u128::from(x.significand()));
    round(x.negative, one / significand, -100 - last(x), one % significand != 0)
}

/// The significand and the weight of its last bit, which is even.
fn with_even_exponent(x: Number) -> (u128, i32) {
    let odd = last(x) & 1;
    (u128::from(x.significand()) << odd, last(x) - odd)
}

fn sqrt(x: Number) -> u32 {
    let (significand, exponent) = with_even_exponent(x);
    let wide = significand << 60;
    let root = wide.isqrt();
    round(false, root, exponent / 2 - 30, root * root != wide)
}

fn rsqrt(x: Number) -> u32 {
    let (significand, exponent) = with_even_exponent(x);
    let one = 1_u128 << 120;
    let root = (one / significand).isqrt();
    round(false, root, -60 - exponent / 2, root * root * significand != one)
}

/// The code of an irrational number: 2^exponent times a magnitude that `bounds` gives in units of 2^-bits, for any
/// number of bits, right to within [`ERROR`] units.
fn irrational(negative: bool, exponent: i32, bounds: impl Fn(usize) -> IBig) -> u32 {
    let mut bits = 192;
    loop {
        let value = bounds(bits);
        let code = |bound: IBig| {
            // its leading bits, and whatever lies below
            let shift = bound.bit_len().saturating_sub(120);
            let leading = u128::try_from(bound >> shift).unwrap_or(0); // a bound below zero is zero
            round(negative, leading, exponent + shift as i32 - bits as i32, true)
        };
        let (low, high) = (code(&value - ERROR), code(&value + ERROR));
        if low == high {
            return low;
        }
        bits *= 2;
    }
}

/// Units that a magnitude may be off.
const ERROR: u32 = 4;
/// Bits that are computed beyond those wanted. A series has fewer terms than bits, each less than two units off.
const GUARD: usize = 64;

/// The sum of (±1)^k z^(2k+1) / (2k+1) for z = 1/n, in units of 2^-bits: artanh z, or arctan z if alternating.
fn inverse_tangent(n: u32, alternating: bool, bits: usize) -> IBig {
    let mut power = (IBig::ONE << bits) / n;
    let (mut sum, mut odd, mut minus) = (power.clone(), 1_u32, false);
    while !power.is_zero() {
        power /= n * n;
        odd += 2;
        minus ^= alternating;
        let term = &power / odd;
        sum = if minus { sum - term } else { sum + term };
    }
    sum
}

/// ln 2 in units of 2^-bits: 2 artanh 1/3.
fn ln_2(bits: usize) -> IBig {
    inverse_tangent(3, false, bits) << 1
}

/// π in units of 2^-bits: Machin's formula.
fn pi(bits: usize) -> IBig {
    inverse_tangent(5, true, bits) * 16 - inverse_tangent(239, true, bits) * 4
}

fn ex2(x: Number) -> u32 {
    if x.exponent < -30 {
        // closer to 1 than its neighbors
        return round(false, (1 << 60) - u128::from(x.negative), -60, true);
    }
    if x.exponent >= 8 {
        return if x.negative { 0 } else { INFINITY };
    }
    // in units of 2^-53: an integer, and a rest that is not below zero
    let magnitude = i64::from(x.significand()) << (x.exponent + 30);
    let value = if x.negative { -magnitude } else { magnitude };
    let (integer, rest) = ((value >> 53) as i32, value & ((1 << 53) - 1));
    if rest == 0 {
        return round(false, 1, integer, false);
    }
    irrational(false, integer, |bits| {
        let wide = bits + GUARD;
        let power = (ln_2(wide) * rest) >> 53;
        let (mut term, mut sum, mut count) = (IBig::ONE << wide, IBig::ZERO, 0_u32);
        while !term.is_zero() {
            sum += &term;
            count += 1;
            term = ((term * &power) >> wide) / count;
        }
        sum >> GUARD
    })
}

fn lg2(x: Number) -> u32 {
    // near 1 the exponent is 0: x = s/2^k · 2^exponent with s/2^k from 3/4 to 3/2
    let above = x.fraction >> (FRACTION_BITS - 1) == 1;
    let exponent = x.exponent + i32::from(above);
    let one = i64::from(1 << FRACTION_BITS) << u32::from(above);
    let significand = i64::from(x.significand());
    if x.fraction == 0 {
        return round(exponent < 0, exponent.unsigned_abs().into(), 0, false);
    }
    let is_below_one = x.exponent < 0;
    irrational(is_below_one, 0, |bits| {
        // ln = 2 artanh z
        let wide = bits + GUARD;
        let z = (IBig::from(significand - one) << wide) / (significand + one);
        let square = (&z * &z) >> wide;
        let (mut power, mut sum, mut odd) = (z, IBig::ZERO, 1_u32);
        // toward zero, so that it ends for numbers below zero too
        while !power.is_zero() {
            sum += &power / odd;
            power = power * &square / (IBig::ONE << wide);
            odd += 2;
        }
        let logarithm = (sum << (wide + 1)) / ln_2(wide) + (IBig::from(exponent) << wide);
        (if is_below_one { -logarithm } else { logarithm }) >> GUARD
    })
}

fn sin(x: Number) -> u32 {
    if x.exponent < SMALL_ANGLE {
        // closer to x than its neighbors
        return round(x.negative, (u128::from(x.significand()) << 60) - 1, last(x) - 60, true);
    }
    circular(x, 0)
}

fn cos(x: Number) -> u32 {
    if x.exponent < SMALL_ANGLE {
        return ONE;
    }
    circular(Number { negative: false, ..x }, 1)
}

/// Below 2^-14 the sine is the angle to within 2^-30, and the cosine is 1.
const SMALL_ANGLE: i32 = -14;

/// The sine of x plus that many quadrants.
fn circular(x: Number, quadrants: u32) -> u32 {
    // π has to have as many bits more as x has before the point; the quadrant is the same for any number of bits, as no
    // FP32 number but zero comes closer than 2^-60 to a multiple of π/2
    let reduced = |bits: usize| {
        let wide = bits + GUARD + 160;
        let twice = IBig::from(x.significand()) << (wide as i32 + last(x) + 1) as usize;
        let pi = pi(wide);
        let count = &twice / &pi;
        let rest = (twice - &count * pi) >> 161;
        let quadrant = u32::try_from(count % 4).unwrap_or(0) + quadrants;
        (quadrant % 4, rest)
    };
    let (quadrant, _) = reduced(192);
    irrational(x.negative != (quadrant >= 2), 0, |bits| {
        let (_, rest) = reduced(bits);
        let wide = bits + GUARD;
        // sin: rest - rest³/3! + …; cos: 1 - rest²/2! + …
        let mut count = if quadrant.is_multiple_of(2) { 1_u32 } else { 0 };
        let mut term = if count == 1 { rest.clone() } else { IBig::ONE << wide };
        let square = (&rest * &rest) >> wide;
        let mut sum = IBig::ZERO;
        while !term.is_zero() {
            sum += &term;
            term = -(term * &square) / ((IBig::ONE << wide) * ((count + 1) * (count + 2)));
            count += 2;
        }
        sum >> GUARD
    })
}
