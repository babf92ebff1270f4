//! The same functions for many inputs at once: loops without branches, which a compiler turns into vectors.
//!
//! [`fill`] is inlined, so that it is compiled for its caller's instruction set. It does not compute everything: inputs
//! that a lane leaves (subnormal numbers and results, special values, one angle in 2^24) go to [`Function::evaluate`].

use crate::angle;
use crate::function::Function;
use crate::model;
use crate::number::SIGN;
use crate::polynomial::{Coefficients, FRACTION, FRACTION_BITS, Polynomial};
use crate::reduce::{EX2_HALVED, LG2_CLEARED};
use crate::table;

/// Inputs that pass a stage together; what is between the stages stays in the nearest cache.
const LANES: usize = 64;

type Block = [u32; LANES];

/// The results for FP32 codes, each [`Function::evaluate`].
///
/// # Panics
///
/// If there is not one result for each input.
#[inline(always)]
pub fn fill(function: Function, x: &[u32], y: &mut [u32]) {
    assert_eq!(x.len(), y.len(), "results for inputs");
    match function {
        Function::Rcp => each::<Rcp>(x, y),
        Function::Sqrt => each::<Sqrt>(x, y),
        Function::Rsqrt => each::<Rsqrt>(x, y),
        Function::Ex2 => each::<Ex2>(x, y),
        Function::Lg2 => each::<Lg2>(x, y),
        Function::Sin => each::<Sin>(x, y),
        Function::Cos => each::<Cos>(x, y),
    }
}

/// Subnormal numbers become zero of their sign, where `.ftz` says so.
#[inline(always)]
pub fn flush(codes: &mut [u32]) {
    for code in codes {
        *code &= if exponent(*code) == 0 { SIGN } else { u32::MAX };
    }
}

/// One function: what comes before and after its polynomial.
trait Lane {
    const FUNCTION: Function;
    /// The form of its polynomials, as numbers that the compiler knows wherever [`fill`] is inlined.
    const FORM: Form = Form::of(&model::MODELS[Self::FUNCTION as usize].polynomial);
    /// The same polynomials in one word each, those of a single table twice.
    const ROWS: &'static [u64; ROWS];

    /// From an input to a fraction, with a bit above it for the second half of the table; what [`Lane::join`] needs; and
    /// whether the result is left to others.
    fn split(x: u32) -> (u32, u32, bool);
    /// From the sum, and what [`Lane::split`] passed on, to the result.
    fn join(sum: u64, passed: u32) -> u32;
}

/// A [`Polynomial`] but for its rows.
#[derive(Clone, Copy)]
struct Form {
    row_bits: u32,
    constant_shift: u32,
    linear_shift: u32,
    subtract_linear: bool,
    subtract_quadratic: bool,
    square_shift: u32,
    /// The first column of the squarer: all from there on are summed.
    first_column: u32,
    point: u32,
    bias: u64,
}

impl Form {
    const fn of(polynomial: &Polynomial) -> Form {
        let first_column = polynomial.columns.trailing_zeros();
        assert!(polynomial.columns == u64::MAX << first_column);
        Form {
            row_bits: polynomial.row_bits,
            constant_shift: polynomial.constant_shift,
            linear_shift: polynomial.linear_shift,
            subtract_linear: polynomial.subtract_linear,
            subtract_quadratic: polynomial.subtract_quadratic,
            square_shift: polynomial.square_shift,
            first_column,
            point: polynomial.point,
            bias: polynomial.bias,
        }
    }

    /// [`Polynomial::fraction`].
    #[inline(always)]
    const fn fraction(self, sum: u64) -> u32 {
        (sum >> (self.point - FRACTION_BITS)) as u32 & FRACTION
    }
}

#[inline(always)]
fn each<L: Lane>(x: &[u32], y: &mut [u32]) {
    let mut whole = x.chunks_exact(LANES);
    let mut results = y.chunks_exact_mut(LANES);
    while let (Some(x), Some(y)) = (whole.next(), results.next()) {
        if let (Ok(x), Ok(y)) = (x.try_into(), y.try_into()) {
            block::<L>(x, y);
        }
    }
    let (x, y) = (whole.remainder(), results.into_remainder());
    let (mut rest, mut of_rest) = ([0; LANES], [0; LANES]);
    rest[..x.len()].copy_from_slice(x);
    block::<L>(&rest, &mut of_rest);
    y.copy_from_slice(&of_rest[..y.len()]);
}

#[inline(always)]
fn block<L: Lane>(x: &Block, y: &mut Block) {
    let (mut fractions, mut passed, mut left) = ([0; LANES], [0; LANES], 0);
    for i in 0..LANES {
        let (fraction, pass, leave) = L::split(x[i]);
        fractions[i] = fraction;
        passed[i] = pass;
        left |= u32::from(leave);
    }
    let t_mask = FRACTION >> L::FORM.row_bits;
    let mut omitted = [0; LANES];
    for i in 0..LANES {
        omitted[i] = omitted_products::<L>((fractions[i] & t_mask) << L::FORM.square_shift);
    }
    let mut sums = [0; LANES];
    for i in 0..LANES {
        sums[i] = sum::<L>(fractions[i], omitted[i]);
    }
    for i in 0..LANES {
        y[i] = L::join(sums[i], passed[i]);
    }
    if left != 0 {
        for i in 0..LANES {
            if L::split(x[i]).2 {
                y[i] = L::FUNCTION.evaluate(x[i]);
            }
        }
    }
}

/// What the squarer leaves out of z²: its partial products in the first columns.
#[inline(always)]
fn omitted_products<L: Lane>(z: u32) -> u32 {
    let columns = (1 << L::FORM.first_column) - 1;
    let mut sum = 0;
    for i in 0..L::FORM.first_column.div_ceil(2) {
        let is_set = (z >> i & 1).wrapping_neg();
        let itself = 1 << (2 * i) & columns;
        let others = z << (i + 1) & columns & u32::MAX << (2 * i + 1) << 1; // one bit for each above i
        sum += is_set & (itself | others);
    }
    sum
}

/// The sum of [`Polynomial::terms`].
#[inline(always)]
fn sum<L: Lane>(fraction: u32, omitted: u32) -> u64 {
    let form = L::FORM;
    let t_bits = FRACTION_BITS - form.row_bits;
    let t = fraction & ((1 << t_bits) - 1);
    let row = L::ROWS[(fraction >> t_bits) as usize % ROWS];
    // products of words of 32 bits, which a vector has
    let product = |x: u64, y: u64| u64::from(x as u32) * u64::from(y as u32);
    let z = u64::from(t << form.square_shift);
    let square = (product(z, z) - u64::from(omitted)) >> form.first_column; // nothing below
    let linear = product(c1(row), t.into()) << form.linear_shift;
    let quadratic = product(c2(row), square) << (form.first_column - 2 * form.square_shift);
    let signed = |value: u64, minus: bool| if minus { value.wrapping_neg() } else { value };
    ((c0(row) << form.constant_shift) + form.bias)
        .wrapping_add(signed(linear, form.subtract_linear))
        .wrapping_add(signed(quadratic, form.subtract_quadratic))
}

/// Rows of every table here.
const ROWS: usize = 128;
/// Bits of c0 and of c1 in a word.
const C0_BITS: u32 = 26;
const C1_BITS: u32 = 17;

/// Three coefficients in one word.
const fn packed(rows: &[Coefficients]) -> [u64; ROWS] {
    let mut words = [0; ROWS];
    let mut i = 0;
    while i < ROWS {
        let Coefficients { c0, c1, c2 } = rows[i % rows.len()];
        assert!(c0 >> C0_BITS == 0 && c1 >> C1_BITS == 0 && c2 >> (64 - C0_BITS - C1_BITS) == 0);
        words[i] = c0 as u64 | (c1 as u64) << C0_BITS | (c2 as u64) << (C0_BITS + C1_BITS);
        i += 1;
    }
    words
}

#[inline(always)]
const fn c0(word: u64) -> u64 {
    word & ((1 << C0_BITS) - 1)
}

#[inline(always)]
const fn c1(word: u64) -> u64 {
    word >> C0_BITS & ((1 << C1_BITS) - 1)
}

#[inline(always)]
const fn c2(word: u64) -> u64 {
    word >> (C0_BITS + C1_BITS)
}

/// The exponent of a code, with its bias, as all exponents here.
#[inline(always)]
const fn exponent(x: u32) -> u32 {
    x >> FRACTION_BITS & 0xff
}

/// Whether a code is that of a normal number above zero.
#[inline(always)]
const fn is_positive_normal(x: u32) -> bool {
    x.wrapping_sub(MIN_NORMAL) < model::INFINITY - MIN_NORMAL
}

const MIN_NORMAL: u32 = 1 << FRACTION_BITS;
const BIAS: u32 = 127;
/// The largest exponent of a number.
const LAST: u32 = 254;

struct Rcp;

impl Lane for Rcp {
    const FUNCTION: Function = Function::Rcp;
    const ROWS: &'static [u64; ROWS] = &const { packed(&table::RCP) };

    #[inline(always)]
    fn split(x: u32) -> (u32, u32, bool) {
        let exponent = exponent(x);
        // results of the last two are subnormal
        let left = exponent.wrapping_sub(1) >= LAST - 2;
        (x & FRACTION, x & SIGN | LAST.wrapping_sub(exponent) << FRACTION_BITS, left)
    }

    #[inline(always)]
    fn join(sum: u64, passed: u32) -> u32 {
        let below_one = (sum >> Self::FORM.point) as u32 & 1 ^ 1;
        let fraction = Self::FORM.fraction(sum << below_one);
        passed.wrapping_sub(below_one << FRACTION_BITS) | fraction
    }
}

/// Half the exponent of x, rounded down, and whether it is odd, in the place above a fraction.
#[inline(always)]
const fn half_exponent(x: u32) -> (u32, u32) {
    let with_bias = exponent(x) + BIAS;
    (with_bias >> 1, (with_bias & 1) << FRACTION_BITS)
}

struct Sqrt;

impl Lane for Sqrt {
    const FUNCTION: Function = Function::Sqrt;
    const ROWS: &'static [u64; ROWS] = &const { packed(&table::SQRT) };

    #[inline(always)]
    fn split(x: u32) -> (u32, u32, bool) {
        let (half, odd) = half_exponent(x);
        (x & FRACTION | odd, half << FRACTION_BITS, !is_positive_normal(x))
    }

    #[inline(always)]
    fn join(sum: u64, passed: u32) -> u32 {
        passed | Self::FORM.fraction(sum)
    }
}

struct Rsqrt;

impl Lane for Rsqrt {
    const FUNCTION: Function = Function::Rsqrt;
    const ROWS: &'static [u64; ROWS] = &const { packed(&table::RSQRT) };

    #[inline(always)]
    fn split(x: u32) -> (u32, u32, bool) {
        let (half, odd) = half_exponent(x);
        let fraction = x & FRACTION | odd;
        (
            fraction,
            (2 * BIAS - 1).wrapping_sub(half) << FRACTION_BITS,
            !is_positive_normal(x) | (fraction == 0),
        )
    }

    #[inline(always)]
    fn join(sum: u64, passed: u32) -> u32 {
        passed | Self::FORM.fraction(sum << 1)
    }
}

struct Ex2;

impl Lane for Ex2 {
    const FUNCTION: Function = Function::Ex2;
    const ROWS: &'static [u64; ROWS] = &const { packed(&table::EX2) };

    #[inline(always)]
    fn split(x: u32) -> (u32, u32, bool) {
        // the magnitude, below 256, in units of 2^-23
        let significand = x & FRACTION | MIN_NORMAL;
        let magnitude = significand << 7 >> (BIAS + 7).saturating_sub(exponent(x)).min(31);
        // below zero: the complement of all bits is that of the rest and one less than the integer negated
        let minus = (x.cast_signed() >> 31).cast_unsigned();
        let is_integer = u32::from(magnitude & FRACTION == 0);
        let value = (magnitude ^ minus).wrapping_add(minus & is_integer);
        let integer = (value.cast_signed() >> FRACTION_BITS).cast_unsigned();
        let inside = (x < EX2_OVERFLOW) | (SIGN..=EX2_HALVED).contains(&x);
        (value & FRACTION, integer.wrapping_add(BIAS) << FRACTION_BITS, !inside)
    }

    #[inline(always)]
    fn join(sum: u64, passed: u32) -> u32 {
        passed | Self::FORM.fraction(sum)
    }
}

/// 128: from there on results are infinite.
const EX2_OVERFLOW: u32 = 0x4300_0000;

struct Lg2;

impl Lane for Lg2 {
    const FUNCTION: Function = Function::Lg2;
    const ROWS: &'static [u64; ROWS] = &const { packed(&table::LG2) };

    #[inline(always)]
    fn split(x: u32) -> (u32, u32, bool) {
        (x & FRACTION, (x >> FRACTION_BITS).wrapping_sub(BIAS), !is_positive_normal(x) | (x == model::ONE))
    }

    #[inline(always)]
    fn join(sum: u64, passed: u32) -> u32 {
        let exponent = i64::from(passed.cast_signed()).cast_unsigned();
        let value = sum.wrapping_add(exponent << Self::FORM.point);
        let minus = (value.cast_signed() >> 63).cast_unsigned();
        let magnitude = (value ^ minus).wrapping_sub(minus) >> LG2_CLEARED << LG2_CLEARED;
        normalised::<Self>(magnitude) | minus as u32 & SIGN
    }
}

/// The code of a sum whose first bit may lie anywhere; zero for zero.
#[inline(always)]
fn normalised<L: Lane>(sum: u64) -> u32 {
    let zeros = sum.leading_zeros();
    let fraction = (sum << (zeros & 63) >> (63 - FRACTION_BITS)) as u32 & FRACTION;
    let exponent = BIAS + 63 - L::FORM.point - zeros;
    if sum == 0 { 0 } else { exponent << FRACTION_BITS | fraction }
}

struct Sin;

impl Lane for Sin {
    const FUNCTION: Function = Function::Sin;
    const ROWS: &'static [u64; ROWS] = &const { packed(&table::SIN) };

    #[inline(always)]
    fn split(x: u32) -> (u32, u32, bool) {
        let (quadrant, fraction, left) = angle(x);
        let odd = (quadrant & 1).wrapping_neg() & FRACTION;
        (fraction ^ odd, x & SIGN ^ quadrant >> 1 << 31, left)
    }

    #[inline(always)]
    fn join(sum: u64, passed: u32) -> u32 {
        normalised::<Self>(sum) | passed
    }
}

struct Cos;

impl Lane for Cos {
    const FUNCTION: Function = Function::Cos;
    const ROWS: &'static [u64; ROWS] = &const { packed(&table::SIN) };

    #[inline(always)]
    fn split(x: u32) -> (u32, u32, bool) {
        let (quadrant, fraction, left) = angle(x);
        let even = (quadrant & 1).wrapping_sub(1) & FRACTION;
        (fraction ^ even, (quadrant + 1) >> 1 << 31, left)
    }

    #[inline(always)]
    fn join(sum: u64, passed: u32) -> u32 {
        normalised::<Self>(sum) | passed
    }
}

/// Quadrant and fraction of an angle ([`angle::reduce`]), and whether they are left to others.
///
/// All steps are exact in units of 2^-47 and 64 bits: FP64 rounds none of them but the last product, from 72 bits to 53,
/// and that matters only where it carries into the 23 bits of the fraction.
#[inline(always)]
fn angle(x: u32) -> (u32, u32, bool) {
    let exponent = exponent(x).cast_signed() - BIAS.cast_signed();
    let significand = u64::from(x & FRACTION | MIN_NORMAL);
    let turns = significand * angle::QUADRANTS_PER_RADIAN; // 48 bits, in units of 2^(exponent - 47)
    let quadrants = turns >> (47 - exponent).clamp(0, 63);
    // modulo 2^64; the difference is less than 2^57
    let magnitude = significand << (exponent + 24).clamp(0, 63);
    let rest = magnitude.wrapping_sub(quadrants.wrapping_mul(angle::QUADRANT)).cast_signed();
    let rest = rest.clamp(0, angle::LIMIT.cast_signed()).cast_unsigned();
    let (upper, lower) = (rest >> 24, rest & 0xff_ffff);
    // in units of 2^-47, less what is lost of the product's last 24 bits
    let y = upper * angle::QUADRANTS_PER_RADIAN + ((lower * angle::QUADRANTS_PER_RADIAN) >> 24);
    let may_carry = y & 0xff_ffff == 0xff_ffff;
    let first = exponent - 1 + (turns >> 47) as i32;
    let cleared = first.clamp(0, 25);
    let word = ((quadrants as u32 & 3) << FRACTION_BITS | (y >> 24) as u32) >> cleared << cleared;
    let is_zero = !(-24..=angle::LARGEST_EXPONENT).contains(&exponent);
    let word = if is_zero { 0 } else { word };
    let left = (may_carry & !is_zero) | (x & !SIGN >= model::INFINITY);
    (word >> FRACTION_BITS, word & FRACTION, left)
}
