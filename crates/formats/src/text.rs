//! Numbers as people write them: read into a format, and printed from it.
//!
//! | written | read as |
//! |---|---|
//! | `-0.125`, `1e-3`, `+5`, `.5`, `5.` | a decimal, read exactly and rounded once |
//! | `0x1.8p3`, `-0x1p-14` | a hexadecimal float (C17 §6.4.4.2), read exactly and rounded once |
//! | `0x3c00` (no `p`) | a code, taken as it is |
//! | `inf`, `-inf`, `infinity`, `nan` | the special values, in any case, where the format has them |

use dashu_int::UBig;
use dashu_int::ops::{BitTest, DivRem};

use crate::decode::{Class, decode};
use crate::encode::{Real, encode};
use crate::format::Format;
use crate::overflow::Overflow;
use crate::rounding::Rounding;
use crate::table::F64;

/// Powers of ten beyond which a decimal is only known to be too large or too small: FP64, the widest
/// format, ends at 1.8e308 and at 4.9e-324, far inside.
const DECIMAL_LIMIT: i64 = 400;

/// A text, read into a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Parsed {
    /// The code the text was rounded to.
    pub code: u64,
    /// Whether the code's value is what was written, the sign of a zero included. Always true for codes,
    /// infinities and NaN.
    pub exact: bool,
    /// Whether the text is the decimal that [`display`] writes for this code. The decimal itself may be
    /// rounded: no one writes out all digits of 2^-133.
    pub as_displayed: bool,
}

impl Parsed {
    /// Whether the text names this code, exactly or in [`display`]'s digits. A caller that refuses to
    /// round what it is given refuses where this is false.
    pub const fn names_code(&self) -> bool {
        self.exact || self.as_displayed
    }

    const fn exact(code: u64) -> Parsed {
        Parsed { code, exact: true, as_displayed: false }
    }
}

/// The text is not a number that the format holds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TextError {
    /// None of the forms in the table of this module.
    #[error(
        "'{text}' is not a number; write a decimal (-0.125, 1e-3), a hexadecimal float (0x1.8p3), a code (0x3c00), inf or nan"
    )]
    Malformed {
        /// What was written.
        text: String,
    },
    /// A code with a sign in front.
    #[error(
        "'{text}' is a code with a sign; set the sign bit inside the code, or write a hexadecimal float ({text}p0)"
    )]
    SignedCode {
        /// What was written.
        text: String,
    },
    /// A code with more bits than the format has.
    #[error("'{text}' is too wide: a code of {format} has {bits} bits, so the largest is {largest:#x}")]
    CodeTooWide {
        /// What was written.
        text: String,
        /// The format's name.
        format: &'static str,
        /// Width of its codes, in bits.
        bits: u32,
        /// Its largest code.
        largest: u64,
    },
    /// An infinity for a format that has none.
    #[error("'{text}' is not in {format}, which has no infinity; its largest number is {largest}")]
    NoInfinity {
        /// What was written.
        text: String,
        /// The format's name.
        format: &'static str,
        /// Its largest finite number, in decimal.
        largest: String,
    },
    /// A NaN for a format that has none.
    #[error("'{text}' is not in {format}, which has no NaN: each of its codes is a number")]
    NoNan {
        /// What was written.
        text: String,
        /// The format's name.
        format: &'static str,
    },
    /// A number below zero for a format without a sign.
    #[error("'{text}' is not in {format}, which has no negative numbers")]
    NoNegative {
        /// What was written.
        text: String,
        /// The format's name.
        format: &'static str,
    },
}

/// Reads a text into a format; [the module](self) lists what may be written.
///
/// Decimals and hexadecimal floats are rounded once, from the exact value. `overflow` says what becomes
/// of those beyond the largest finite number. A zero that the format does not have (any zero in UE8M0,
/// -0 in the FNUZ formats) is not an error but is not `exact`.
///
/// ```
/// use bitmma_formats::{F16, Overflow, Rounding, text};
///
/// let parsed = text::parse(&F16, "0.1", Rounding::NearestEven, Overflow::Infinity)?;
/// assert_eq!((parsed.code, parsed.exact), (0x2e66, false));
/// assert_eq!(text::display(&F16, parsed.code), "0.0999755859375");
/// # Ok::<(), text::TextError>(())
/// ```
///
/// # Errors
///
/// [`TextError`] if the text is not a number, if it is a code wider than the format's, and if it is an
/// infinity, a NaN or a negative number that the format does not have.
pub fn parse(
    format: &Format,
    text: &str,
    rounding: Rounding,
    overflow: Overflow,
) -> Result<Parsed, TextError> {
    match read(text)? {
        Written::Code { digits } => read_code(format, text, digits).map(Parsed::exact),
        Written::Infinity { negative } => match format.infinity_code() {
            Some(infinity) => {
                Ok(Parsed::exact(if negative { infinity | format.sign_bit() } else { infinity }))
            }
            None => Err(TextError::NoInfinity {
                text: text.to_owned(),
                format: format.name,
                largest: display(format, format.max_finite_code()),
            }),
        },
        Written::Nan => match format.nan_code() {
            Some(nan) => Ok(Parsed::exact(nan)),
            None => Err(TextError::NoNan { text: text.to_owned(), format: format.name }),
        },
        Written::HexFloat(value) => round(format, text, value, rounding, overflow),
        Written::Decimal(decimal) => {
            let mut parsed = round(format, text, decimal.value(), rounding, overflow)?;
            let shown = display(format, parsed.code);
            parsed.as_displayed = matches!(read(&shown), Ok(Written::Decimal(shown)) if shown == decimal);
            Ok(parsed)
        }
    }
}

fn round(
    format: &Format,
    text: &str,
    value: Real,
    rounding: Rounding,
    overflow: Overflow,
) -> Result<Parsed, TextError> {
    if value.negative && !format.is_signed() && !value.is_zero() {
        return Err(TextError::NoNegative { text: text.to_owned(), format: format.name });
    }
    let code = encode(format, value, rounding, overflow);
    Ok(Parsed { code, exact: is_exactly(format, code, value), as_displayed: false })
}

/// Whether a code's value is `value`, the sign of a zero included.
fn is_exactly(format: &Format, code: u64, value: Real) -> bool {
    let unpacked = decode(format, code);
    unpacked.is_finite()
        && !value.inexact // it has more than 128 significant bits, or endless ones: more than any format
        && unpacked.negative == value.negative
        && lowest_terms(u128::from(unpacked.significand), unpacked.exponent - format.fraction_bits as i32)
            == lowest_terms(value.significand, value.exponent)
}

/// `significand * 2^exponent` with an odd significand; zero as (0, 0).
fn lowest_terms(significand: u128, exponent: i32) -> (u128, i64) {
    if significand == 0 {
        return (0, 0);
    }
    let zeros = significand.trailing_zeros();
    (significand >> zeros, i64::from(exponent) + i64::from(zeros))
}

/// What a text says before any format is asked.
enum Written<'a> {
    Decimal(Decimal),
    HexFloat(Real),
    /// The hexadecimal digits after `0x`.
    Code {
        digits: &'a str,
    },
    Infinity {
        negative: bool,
    },
    Nan,
}

fn read(text: &str) -> Result<Written<'_>, TextError> {
    let malformed = || TextError::Malformed { text: text.to_owned() };
    if text.eq_ignore_ascii_case("nan") {
        return Ok(Written::Nan);
    }
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if unsigned.eq_ignore_ascii_case("inf") || unsigned.eq_ignore_ascii_case("infinity") {
        return Ok(Written::Infinity { negative });
    }
    if let Some(body) = unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X")) {
        if let Some((mantissa, exponent)) = body.split_once(['p', 'P']) {
            let value = read_hex_float(negative, mantissa, exponent).ok_or_else(malformed)?;
            return Ok(Written::HexFloat(value));
        }
        if body.is_empty() || !body.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(malformed());
        }
        if unsigned.len() != text.len() {
            return Err(TextError::SignedCode { text: text.to_owned() });
        }
        return Ok(Written::Code { digits: body });
    }
    Decimal::read(negative, unsigned).map(Written::Decimal).ok_or_else(malformed)
}

fn read_code(format: &Format, text: &str, digits: &str) -> Result<u64, TextError> {
    let digits = digits.trim_start_matches('0');
    let code = if digits.is_empty() { Some(0) } else { u64::from_str_radix(digits, 16).ok() };
    code.filter(|&code| code <= format.max_code()).ok_or_else(|| TextError::CodeTooWide {
        text: text.to_owned(),
        format: format.name,
        bits: format.bits(),
        largest: format.max_code(),
    })
}

/// `mantissa * 2^exponent`, the mantissa in hexadecimal digits with or without a point.
fn read_hex_float(negative: bool, mantissa: &str, exponent: &str) -> Option<Real> {
    let (digits, places) = read_digits(mantissa, |byte| byte.is_ascii_hexdigit())?;
    let exponent = read_exponent(exponent)?.saturating_sub(places.saturating_mul(4));
    let significand = UBig::from_str_radix(&digits, 16).ok()?;
    Some(real(negative, significand, exponent, false))
}

/// A decimal: `digits * 10^exponent`. The digits have no zero at either end; zero has no digits.
#[derive(PartialEq, Eq)]
struct Decimal {
    negative: bool,
    digits: String,
    exponent: i64,
}

impl Decimal {
    fn read(negative: bool, unsigned: &str) -> Option<Decimal> {
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, read_exponent(exponent)?),
            None => (unsigned, 0),
        };
        let (digits, places) = read_digits(mantissa, |byte| byte.is_ascii_digit())?;
        let kept = digits.trim_end_matches('0');
        if kept.is_empty() {
            return Some(Decimal { negative, digits: String::new(), exponent: 0 });
        }
        let dropped = (digits.len() - kept.len()) as i64;
        let exponent = exponent.saturating_sub(places).saturating_add(dropped);
        Some(Decimal { negative, digits: kept.trim_start_matches('0').to_owned(), exponent })
    }

    /// The exact value: its leading 128 bits, and whether anything is below them.
    fn value(&self) -> Real {
        if self.digits.is_empty() {
            return Real::zero(self.negative);
        }
        // 10^(leading - 1) <= value < 10^leading
        let leading = self.exponent.saturating_add(self.digits.len() as i64);
        if leading > DECIMAL_LIMIT {
            return real(self.negative, UBig::ONE, i64::MAX, false);
        }
        if leading < -DECIMAL_LIMIT {
            return real(self.negative, UBig::ZERO, i64::MIN, true);
        }
        let digits = UBig::from_str_radix(&self.digits, 10).unwrap_or_default(); // only digits in there
        let fives = UBig::from(5u8).pow(self.exponent.unsigned_abs() as usize);
        if self.exponent >= 0 {
            return real(self.negative, digits * fives, self.exponent, false);
        }
        // digits / 10^k = (digits * 2^shift / 5^k) * 2^(-k - shift), the quotient longer than 128 bits
        let shift = (fives.bit_len() + 130).saturating_sub(digits.bit_len());
        let (quotient, remainder) = (digits << shift).div_rem(fives);
        real(self.negative, quotient, self.exponent - shift as i64, !remainder.is_zero())
    }
}

/// `(significand + rest) * 2^exponent`, cut to the leading 128 bits. An exponent no format comes near is
/// brought to one that fits.
fn real(negative: bool, significand: UBig, exponent: i64, rest: bool) -> Real {
    if significand.is_zero() && !rest {
        return Real::zero(negative);
    }
    let cut = significand.bit_len().saturating_sub(128);
    let lost = significand.trailing_zeros().is_some_and(|zeros| zeros < cut);
    let limit = i64::from(i32::MAX / 2);
    Real {
        negative,
        significand: u128::try_from(significand >> cut).unwrap_or(u128::MAX), // at most 128 bits
        exponent: exponent.saturating_add(cut as i64).clamp(-limit, limit) as i32,
        inexact: rest || lost,
    }
}

/// The digits of a mantissa without its point, and how many stood behind the point.
fn read_digits(mantissa: &str, is_digit: fn(&u8) -> bool) -> Option<(String, i64)> {
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = [whole, fraction].concat();
    let valid = !digits.is_empty() && digits.bytes().all(|byte| is_digit(&byte));
    valid.then_some((digits, fraction.len() as i64))
}

/// A decimal exponent with or without a sign; held at a bound far beyond every format.
fn read_exponent(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let magnitude = digits.parse::<i64>().unwrap_or(i64::MAX); // all digits, so only too large
    Some(if negative { -magnitude } else { magnitude })
}

/// The FP64 word of a code's value. Every format of the table fits in FP64, so finite values are exact;
/// every NaN becomes the quiet NaN 0x7FF8000000000000, whatever its sign and payload.
pub fn to_f64_bits(format: &Format, code: u64) -> u64 {
    let unpacked = decode(format, code);
    let sign = if unpacked.negative { F64.sign_bit() } else { 0 };
    match unpacked.class {
        Class::Nan => F64.nan_code().unwrap_or_default(),
        Class::Infinity => F64.infinity_code().unwrap_or_default() | sign,
        Class::Zero => sign,
        Class::Finite => encode(&F64, unpacked.real(format), Rounding::NearestEven, Overflow::Infinity),
    }
}

/// A code with all digits that a code of the format has: `0x3c00`.
pub fn hex(format: &Format, code: u64) -> String {
    format!("{code:#0width$x}", width = format.hex_digits() + 2)
}

/// A code's value as the shortest decimal that names the same FP64 number: `-0.125`, `1e-7`, `inf`,
/// `-inf`, `nan`, `-0`. Plain digits from 1e-5 up to 1e16, scientific outside.
///
/// [`parse`] under RNE gives the code back, except that NaNs become the format's quiet NaN and padding
/// and ignored sign bits become zero.
pub fn display(format: &Format, code: u64) -> String {
    let unpacked = decode(format, code);
    match unpacked.class {
        Class::Nan => "nan".to_owned(),
        Class::Infinity if unpacked.negative => "-inf".to_owned(),
        Class::Infinity => "inf".to_owned(),
        Class::Zero | Class::Finite => decimal(f64::from_bits(to_f64_bits(format, code))),
    }
}

/// The shortest decimal that reads back as a finite number, as [`display`] writes it.
pub fn decimal(value: f64) -> String {
    let scientific = format!("{value:e}");
    let exponent = scientific.split_once('e').and_then(|(_, exponent)| exponent.parse::<i32>().ok());
    let plain = exponent.is_some_and(|exponent| (-5..16).contains(&exponent));
    if plain { value.to_string() } else { scientific }
}

/// A code's exact value as C's `%a` writes it, with a leading 1 also for subnormals: `0x1.8p+3`,
/// `-0x1p-14`, `0x0p+0`, `-0x0p+0`, `inf`, `-inf`, `nan`.
pub fn display_hex_float(format: &Format, code: u64) -> String {
    let unpacked = decode(format, code);
    let sign = if unpacked.negative { "-" } else { "" };
    match unpacked.class {
        Class::Nan => "nan".to_owned(),
        Class::Infinity => format!("{sign}inf"),
        Class::Zero => format!("{sign}0x0p+0"),
        Class::Finite => {
            let leading = u64::BITS - 1 - unpacked.significand.leading_zeros();
            let exponent = unpacked.exponent + leading as i32 - format.fraction_bits as i32;
            // the bits below the leading one, moved to the top; the leading one falls out
            let fraction = unpacked.significand.checked_shl(u64::BITS - leading).unwrap_or(0);
            let digits = format!("{fraction:016x}");
            let digits = digits.trim_end_matches('0');
            let point = if digits.is_empty() { "" } else { "." };
            format!("{sign}0x1{point}{digits}p{exponent:+}")
        }
    }
}

/// Codes in the hex digits of their format, blanks between.
pub fn digits_of(format: &Format, codes: &[u64]) -> String {
    let digits = format.hex_digits();
    codes.iter().map(|code| format!("{code:0digits$x}")).collect::<Vec<_>>().join(" ")
}
