//! All codes of a narrow format, each with the numbers that round to it.

use bitmma_analysis::number;
use bitmma_engine::arithmetic::exact::Exact;
use bitmma_engine::formats::alias::find;
use bitmma_engine::formats::text::{display, display_hex_float, hex};
use bitmma_engine::formats::{Class, FORMATS, Format, Overflow, Real, Rounding, decode, encode};
use serde::{Deserialize, Serialize};

use crate::error::{Error, LONGEST_NAME, at_most};
use crate::input::Bits;

/// Bits of a format that is shown whole, at most.
const WIDEST: u32 = 8;

/// Formats that are shown whole, by name.
pub(crate) fn narrow() -> impl Iterator<Item = &'static str> {
    FORMATS.into_iter().filter(|format| format.bits() <= WIDEST).map(|format| format.name)
}

/// A format by any of its names.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Question {
    format: String,
}

/// Every code.
#[derive(Serialize)]
pub(crate) struct Table {
    name: &'static str,
    standard: &'static str,
    bits: u32,
    exponent_bits: u32,
    fraction_bits: u32,
    bias: i32,
    largest: String,
    smallest: String,
    smallest_normal: String,
    has_infinity: bool,
    nans: usize,
    codes: Vec<One>,
}

#[derive(Serialize)]
struct One {
    code: String,
    bits: Bits,
    value: String,
    hex_float: String,
    /// zero, subnormal, normal, infinity or nan
    class: &'static str,
    /// The exponent of its binade; of subnormal numbers and zero that of the smallest normal number.
    binade: Option<i32>,
    /// The numbers that round to it, to nearest with ties to even: from, whether that belongs to it, to, whether that does.
    rounds: Option<(String, bool, String, bool)>,
}

/// The numbers that become this one: the middles between it and its neighbors. A tie goes to the even code, which is `encode`'s
/// to say: nothing is decided here.
fn interval(format: &Format, code: u64, finite: &[u64]) -> Option<(String, bool, String, bool)> {
    let place = finite.iter().position(|one| *one == code)?;
    let value = |code: u64| number::of_code(format, code);
    let own = value(code);
    let halfway = |other: Exact| {
        let sum = own.plus(other);
        Exact { exponent: sum.exponent - 1, ..sum }
    };
    // beyond the largest there would be one as far again, of powers of two the next
    let beyond = |inner: u64| {
        if format.fraction_bits == 0 {
            return own.plus(own);
        }
        let inner = value(inner);
        let step = own.plus(Exact { significand: -inner.significand, ..inner });
        own.plus(step)
    };
    let below = if place > 0 { value(finite[place - 1]) } else { beyond(finite[1]) };
    let above = if place + 1 < finite.len() { value(finite[place + 1]) } else { beyond(finite[place - 1]) };
    let belongs = |middle: Exact| {
        let rounded = encode(format, middle.real(), Rounding::NearestEven, Overflow::Infinity);
        decode(format, rounded).is_finite() && value(rounded).minus(own).is_zero()
    };
    let end = |middle: Exact, further: Exact, endless: &str| {
        // beyond the largest number of a format that is finite only, all become that
        if belongs(further) {
            (endless.to_owned(), true)
        } else {
            (number::text(middle.real()), belongs(middle))
        }
    };
    let (high, is_high) = end(halfway(above), above, "inf");
    let (low, is_low) = match format.is_signed() {
        true => end(halfway(below), below, "-inf"),
        // no number is below zero; without a zero the smallest stands for it
        false if place == 0 => ("0".to_owned(), true),
        false => end(halfway(below), below, "0"),
    };
    Some((low, is_low, high, is_high))
}

/// The table of a format.
pub(crate) fn table(question: &Question) -> Result<Table, Error> {
    at_most("format", &question.format, LONGEST_NAME)?;
    let format = find(&question.format)?;
    if !narrow().any(|name| name == format.name) {
        let names = narrow().collect::<Vec<_>>().join(", ");
        return Err(Error::new(format!("{format} is not shown whole; one of {names} is")));
    }
    let codes = 0..=format.max_code();
    let mut finite: Vec<u64> = codes.clone().filter(|code| decode(&format, *code).is_finite()).collect();
    let real = |code: u64| number::of_code(&format, code);
    finite.sort_by(|x, y| {
        let difference: Real = real(*x).minus(real(*y));
        match (difference.is_zero(), difference.negative) {
            (true, _) => std::cmp::Ordering::Equal,
            (_, true) => std::cmp::Ordering::Less,
            _ => std::cmp::Ordering::Greater,
        }
    });
    // one zero, and of codes whose sign is ignored one
    finite.dedup_by(|x, y| real(*x).minus(real(*y)).is_zero());
    let of_value = |code: u64| finite.iter().copied().find(|one| real(*one).minus(real(code)).is_zero());
    let one = |code: u64| {
        let unpacked = decode(&format, code);
        let is_normal = code & !format.sign_bit() >= format.min_normal_code() || !format.subnormals;
        let class = match unpacked.class {
            Class::Zero => "zero",
            Class::Infinity => "infinity",
            Class::Nan => "nan",
            Class::Finite if is_normal => "normal",
            Class::Finite => "subnormal",
        };
        let rounds = unpacked.is_finite().then(|| of_value(code)).flatten();
        One {
            code: hex(&format, code),
            bits: Bits::of(&format, code),
            value: display(&format, code),
            hex_float: display_hex_float(&format, code),
            class,
            binade: match class {
                "normal" => Some(unpacked.exponent),
                "zero" | "subnormal" => Some(format.min_exponent()),
                _ => None,
            },
            rounds: rounds.and_then(|same| interval(&format, same, &finite)),
        }
    };
    let codes: Vec<One> = codes.map(one).collect();
    Ok(Table {
        name: format.name,
        standard: format.standard,
        bits: format.bits(),
        exponent_bits: format.exponent_bits,
        fraction_bits: format.fraction_bits,
        bias: format.bias,
        largest: display(&format, format.max_finite_code()),
        smallest: display(&format, format.min_positive_code()),
        smallest_normal: display(&format, format.min_normal_code()),
        has_infinity: format.infinity_code().is_some(),
        nans: codes.iter().filter(|one| one.class == "nan").count(),
        codes,
    })
}
