//! Conversions between formats as PTX's `cvt` rounds and saturates them.

use bitmma_formats::{BF16, Class, F32, Format, Overflow, Real, Rounding, decode, encode};

use crate::float::{flush, nan};

/// The modifiers of a `cvt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modifiers {
    /// `.rn`, `.rz`, `.rm`, `.rp`; of no effect where every number of the source is one of the target.
    pub rounding: Rounding,
    /// `.satfinite`: what is beyond the largest number, infinity too, becomes the largest number of its sign. A target
    /// without infinity saturates in any case: its conversions have no form without it.
    pub satfinite: bool,
    /// `.relu`: what is below zero becomes +0, and -0 too.
    pub relu: bool,
    /// `.ftz`: subnormal FP32 inputs and results become zero of their sign.
    pub ftz: bool,
}

impl Modifiers {
    /// `.rn` and nothing else.
    pub const NEAREST: Modifiers =
        Modifiers { rounding: Rounding::NearestEven, satfinite: false, relu: false, ftz: false };
}

/// `cvt.to.from`: the code in `to` of a code of `from`.
///
/// NaN becomes the target's: all bits below the sign, as in arithmetic ([`nan`]); BF16 to FP32 alone is a shift and
/// keeps the code. FP6 and FP4 have no NaN: it becomes their largest number (PTX ISA, `cvt`, `.satfinite`).
pub fn convert(from: &Format, to: &Format, code: u64, modifiers: Modifiers) -> u64 {
    let Modifiers { rounding, satfinite, relu, ftz } = modifiers;
    let flushed = |format: &Format, code: u64| if ftz && *format == F32 { flush(format, code) } else { code };
    let code = flushed(from, code);
    let value = decode(from, code);
    if value.class == Class::Nan {
        let is_shift = *from == BF16 && *to == F32 && !relu;
        return if is_shift { code << 16 } else { nan(to).unwrap_or(to.max_finite_code()) };
    }
    if relu && value.negative {
        return 0;
    }
    let finite = satfinite || to.infinity_code().is_none();
    let sign = if value.negative { to.sign_bit() } else { 0 };
    if value.class == Class::Infinity {
        let infinity = to.infinity_code().filter(|_| !finite);
        return infinity.unwrap_or(to.max_finite_code()) | sign;
    }
    let overflow = if finite { Overflow::Saturate } else { Overflow::Ieee };
    let real = Real { negative: value.negative, ..value.real(from) };
    flushed(to, encode(to, real, rounding, overflow))
}
