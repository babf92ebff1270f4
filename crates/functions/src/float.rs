//! FP32 operations as NVIDIA GPUs compute them: rounded once, NaN is 7fffffff. Other formats of up to 64 bits work alike.

use bitmma_formats::{Class, F32, F64, Format, Overflow, Real, Rounding, Unpacked, decode, encode};

/// The NaN that arithmetic returns in a format: all bits below the sign; in FP64 fff8000000000000.
/// `None` in a format without NaN.
pub fn nan(format: &Format) -> Option<u64> {
    let quiet = format.nan_code()?;
    Some(match *format {
        F64 => quiet | format.sign_bit(),
        _ => format.max_code() & !format.sign_bit(),
    })
}

/// A subnormal number becomes zero of its sign; other codes stay.
pub fn flush(format: &Format, code: u64) -> u64 {
    let value = code & format.max_code();
    let magnitude = value & !format.sign_bit();
    if magnitude < format.min_normal_code() { value & format.sign_bit() } else { value }
}

/// How an operation rounds, and whether it flushes subnormal operands and results (`.ftz`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    /// The direction: `.rn`, `.rz`, `.rm`, `.rp`.
    pub rounding: Rounding,
    /// `.ftz`.
    pub ftz: bool,
}

impl Mode {
    /// `.rn` without `.ftz`.
    pub const NEAREST: Mode = Mode { rounding: Rounding::NearestEven, ftz: false };

    /// `.rn`, with `.ftz` if so.
    pub const fn nearest(ftz: bool) -> Mode {
        Mode { rounding: Rounding::NearestEven, ftz }
    }

    fn unpack(self, format: &Format, code: u64) -> Unpacked {
        decode(format, if self.ftz { flush(format, code) } else { code })
    }

    fn pack(self, format: &Format, value: Real) -> u64 {
        let code = encode(format, value, self.rounding, Overflow::Ieee);
        if self.ftz { flush(format, code) } else { code }
    }
}

fn special(format: &Format, infinity: Option<bool>) -> u64 {
    let code = match infinity {
        Some(negative) => {
            format.infinity_code().map(|code| if negative { code | format.sign_bit() } else { code })
        }
        None => nan(format),
    };
    code.unwrap_or_else(|| unreachable!("arithmetic in {format}, which has no infinity"))
}

/// x·y + z, rounded once.
///
/// # Panics
///
/// In a format without infinity.
pub fn fma(format: &Format, x: u64, y: u64, z: u64, mode: Mode) -> u64 {
    let [x, y, z] = [x, y, z].map(|code| mode.unpack(format, code));
    let negative = x.negative != y.negative;
    let is = |class: Class| [x.class == class, y.class == class, z.class == class];
    let [nan, infinite, zero] = [is(Class::Nan), is(Class::Infinity), is(Class::Zero)];
    let product_infinite = infinite[0] || infinite[1];
    if nan.contains(&true)
        || (infinite[0] && zero[1])
        || (infinite[1] && zero[0])
        || (product_infinite && infinite[2] && negative != z.negative)
    {
        return special(format, None);
    }
    if product_infinite || infinite[2] {
        return special(format, Some(if product_infinite { negative } else { z.negative }));
    }
    let product = product(&x.real(format), &y.real(format));
    mode.pack(format, sum(product, z.real(format), mode.rounding))
}

/// x + y, rounded once.
///
/// # Panics
///
/// In a format without infinity.
pub fn add(format: &Format, x: u64, y: u64, mode: Mode) -> u64 {
    fma(format, x, format.one_code(), y, mode)
}

/// x·y, rounded once.
///
/// # Panics
///
/// In a format without infinity.
pub fn multiply(format: &Format, x: u64, y: u64, mode: Mode) -> u64 {
    let [x, y] = [x, y].map(|code| mode.unpack(format, code));
    let negative = x.negative != y.negative;
    match (x.class, y.class) {
        (Class::Nan, _)
        | (_, Class::Nan)
        | (Class::Infinity, Class::Zero)
        | (Class::Zero, Class::Infinity) => special(format, None),
        (Class::Infinity, _) | (_, Class::Infinity) => special(format, Some(negative)),
        _ => mode.pack(format, product(&x.real(format), &y.real(format))),
    }
}

/// The exact product of two numbers of at most 53 bits.
fn product(x: &Real, y: &Real) -> Real {
    Real {
        negative: x.negative != y.negative,
        significand: x.significand * y.significand,
        exponent: x.exponent + y.exponent,
        inexact: false,
    }
}

/// The sum of two exact numbers, down to 100 bits below its first one at least and a flag for what lies below. A sum of
/// zero is +0, or -0 where both are or where the rounding is downward and not both are +0 (IEEE 754 §6.3).
fn sum(x: Real, y: Real, rounding: Rounding) -> Real {
    if x.is_zero() && y.is_zero() {
        let both = x.negative && y.negative;
        return Real::zero(both || ((x.negative || y.negative) && rounding == Rounding::Down));
    }
    if x.is_zero() {
        return y;
    }
    if y.is_zero() {
        return x;
    }
    // the first bit of each at place 125, so that a sum fits; the one with the larger exponent is the larger
    let lift = |value: Real| {
        let shift = value.significand.leading_zeros() - 2;
        Real { significand: value.significand << shift, exponent: value.exponent - shift as i32, ..value }
    };
    let (x, y) = (lift(x), lift(y));
    let (large, small) =
        if (x.exponent, x.significand) >= (y.exponent, y.significand) { (x, y) } else { (y, x) };
    let distance = large.exponent.abs_diff(small.exponent);
    let kept = small.significand.checked_shr(distance).unwrap_or(0);
    let inexact = kept.checked_shl(distance).unwrap_or(0) != small.significand;
    let significand = if large.negative == small.negative {
        large.significand + kept
    } else {
        large.significand - kept - u128::from(inexact)
    };
    if significand == 0 && !inexact {
        return Real::zero(rounding == Rounding::Down);
    }
    Real { negative: large.negative, significand, exponent: large.exponent, inexact }
}

/// The FP32 code of an operation's result.
pub(crate) const fn f32_code(code: u64) -> u32 {
    code as u32 // a code of FP32 has 32 bits
}

/// x·y in FP32.
pub(crate) fn multiply_f32(x: u32, y: u32, mode: Mode) -> u32 {
    f32_code(multiply(&F32, x.into(), y.into(), mode))
}

/// x + y in FP32.
pub(crate) fn add_f32(x: u32, y: u32, mode: Mode) -> u32 {
    f32_code(add(&F32, x.into(), y.into(), mode))
}
