//! The conversion function rho: from an exact intermediate result to a number (paper, Table 2).

use std::fmt;
use std::str::FromStr;

use bitmma_formats::{Format, Overflow, Real, Rounding, decode, encode, encode_wrapping, table};

/// Which results are flushed: become zero of their sign.
///
/// The three rules differ for values just below the smallest normal number only. With RNE-FP32, 2^-126 (1 - 2^-24)
/// is flushed by the first two; 2^-126 (1 - 2^-26), which rounds up to 2^-126, by the first alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ResultFlush {
    /// None: subnormal results are kept.
    #[default]
    Never,
    /// Values below the smallest normal number (IEEE 754 §7.5, tininess before rounding).
    BeforeRounding,
    /// Values that are below the smallest normal number once they are rounded to the precision of a normal
    /// number, with an exponent that has no lower bound (IEEE 754 §7.5, tininess after rounding).
    AfterRounding,
    /// Results that are subnormal numbers of the format (paper, Algorithm 1).
    Subnormal,
}

impl ResultFlush {
    /// Every rule and its word in the name of a conversion; the first has none.
    pub const ALL: [(ResultFlush, &'static str); 4] = [
        (ResultFlush::Never, ""),
        (ResultFlush::BeforeRounding, "ftz-before"),
        (ResultFlush::AfterRounding, "ftz"),
        (ResultFlush::Subnormal, "ftz-subnormal"),
    ];
}

/// rho: a rounding rule and the format it rounds into, as in `RZ-E8M13`, and what happens at the ends of the
/// format's range, as in `RNE-FP32 saturate ftz`.
///
/// `S32` and `S32 saturate` have no rounding rule, for sums of integers are integers: a sum beyond the range wraps
/// modulo 2^32, or becomes the nearest number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Conversion {
    /// How.
    pub rounding: Rounding,
    /// Into what; E8M13 lives in an FP32 container.
    pub format: Format,
    /// Whether a finite value beyond the largest finite number becomes that number, under every rounding rule. An
    /// infinity stays an infinity.
    pub saturate: bool,
    /// Which results become zero of their sign.
    pub flush: ResultFlush,
}

impl Conversion {
    /// RZ-FP32.
    pub const RZ_FP32: Conversion = Conversion::new(Rounding::TowardZero, table::F32);
    /// RZ-E8M13.
    pub const RZ_E8M13: Conversion = Conversion::new(Rounding::TowardZero, table::E8M13);
    /// RNE-FP32.
    pub const RNE_FP32: Conversion = Conversion::new(Rounding::NearestEven, table::F32);
    /// RNE-FP16.
    pub const RNE_FP16: Conversion = Conversion::new(Rounding::NearestEven, table::F16);
    /// S32: modulo 2^32.
    pub const S32: Conversion = Conversion::new(Rounding::NearestEven, table::S32);
    /// RNE-FP64.
    pub const RNE_FP64: Conversion = Conversion::new(Rounding::NearestEven, table::F64);

    /// A conversion that neither saturates nor flushes.
    pub const fn new(rounding: Rounding, format: Format) -> Conversion {
        Conversion { rounding, format, saturate: false, flush: ResultFlush::Never }
    }

    /// Whether it neither saturates nor flushes.
    pub fn is_plain(&self) -> bool {
        !self.saturate && self.flush == ResultFlush::Never
    }

    /// Format of the resulting code: FP32 where the target is a truncated FP32, the target otherwise.
    pub fn container(&self) -> Format {
        if self.format.padding_bits > 0 { table::F32 } else { self.format }
    }

    /// The code of `value`, in [`Self::container`]; `overflow` counts where the conversion does not saturate.
    #[inline]
    pub fn apply(&self, value: Real, overflow: Overflow) -> u64 {
        if self.format.is_integer() && !self.saturate {
            return encode_wrapping(&self.format, value, self.rounding);
        }
        let overflow = if self.saturate { Overflow::Saturate } else { overflow };
        let code = encode(&self.format, value, self.rounding, overflow);
        if self.flush != ResultFlush::Never && self.flushes(value, code) {
            return encode(&self.format, Real::zero(value.negative), self.rounding, overflow);
        }
        code
    }

    /// Whether `value`, whose code would be `code`, becomes zero.
    fn flushes(&self, value: Real, code: u64) -> bool {
        let smallest = self.format.min_exponent();
        // exponent of the leading bit; a value known to be below its last bit alone is below every number
        let lead = 127 - value.significand.leading_zeros() as i32;
        let leading = value.exponent.saturating_add(lead);
        let tiny = value.significand == 0 || leading < smallest;
        match self.flush {
            ResultFlush::Never => false,
            ResultFlush::Subnormal => code & !self.format.sign_bit() < self.format.min_normal_code(),
            ResultFlush::BeforeRounding => tiny,
            // rounding may carry to the next power of two, not further
            ResultFlush::AfterRounding => tiny && !(leading == smallest - 1 && self.carries(value, lead)),
        }
    }

    /// Whether a value whose leading bit is bit `lead` of the significand rounds up to the next power of two.
    fn carries(&self, value: Real, lead: i32) -> bool {
        let one_to_two = Real { exponent: -lead, ..value };
        let rounded = encode(&self.format, one_to_two, self.rounding, Overflow::Saturate);
        decode(&self.format, rounded).exponent == 1
    }
}

impl fmt::Display for Conversion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.format.name;
        let mut text = match name.strip_prefix('f') {
            _ if self.format.is_integer() => name.to_ascii_uppercase(),
            Some(width) => format!("{}-FP{width}", self.rounding),
            None => format!("{}-{}", self.rounding, name.to_ascii_uppercase()),
        };
        if self.saturate {
            text += " saturate";
        }
        for (flush, word) in ResultFlush::ALL {
            if flush == self.flush && !word.is_empty() {
                text = text + " " + word;
            }
        }
        f.pad(&text)
    }
}

/// The text is not a conversion.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown conversion '{0}'; write ROUNDING-FORMAT, as in RZ-FP32, RZ-E8M13, RNE-FP16, and after it what there \
     is of saturate and one of ftz, ftz-before, ftz-subnormal; of integers S32 or S32 saturate"
)]
pub struct UnknownConversion(pub String);

impl FromStr for Conversion {
    type Err = UnknownConversion;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || UnknownConversion(text.to_owned());
        let mut words = text.split_whitespace();
        let word = words.next().ok_or_else(unknown)?;
        let mut conversion = match word.split_once('-') {
            Some((rounding, format)) => {
                let name = format.to_ascii_lowercase();
                let name = name.strip_prefix("fp").map(|width| format!("f{width}")).unwrap_or(name);
                let format = table::by_name(&name).filter(|format| !format.is_integer());
                Conversion::new(rounding.parse().map_err(|_| unknown())?, format.ok_or_else(unknown)?)
            }
            None => {
                let integer = table::by_name(word).filter(Format::is_integer);
                Conversion { format: integer.ok_or_else(unknown)?, ..Conversion::S32 }
            }
        };
        for word in words.map(str::to_ascii_lowercase) {
            let flush = ResultFlush::ALL.into_iter().find(|(_, name)| *name == word);
            match flush {
                Some((flush, _))
                    if conversion.flush == ResultFlush::Never && !conversion.format.is_integer() =>
                {
                    conversion.flush = flush;
                }
                None if word == "saturate" && !conversion.saturate => conversion.saturate = true,
                _ => return Err(unknown()),
            }
        }
        Ok(conversion)
    }
}
