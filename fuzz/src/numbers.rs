//! Numbers as text: any text reads or is an error, never a panic; what is printed reads back.

use bitmma_engine::formats::{Class, FORMATS, Format, Overflow, decode, text};

use crate::generate::rounding;
use crate::mutate::mutate;
use crate::{Outcome, Unstructured};

/// What numbers are written with.
const ALPHABET: &[u8] = b"0123456789abcdefxXpPeE+-..infnan_ ";

/// A code printed and read back, the text then changed a little; or any text.
///
/// # Panics
///
/// If the reader does, if a printed number does not come back, or if a reading is no code of its format.
pub fn run(u: &mut Unstructured<'_>) -> Outcome {
    let format = *u.choose(&FORMATS)?;
    let mut bytes = match u.int_in_range(0..=3)? {
        0 => u.arbitrary::<String>()?.into_bytes(),
        1 => (0..u.int_in_range(0..=40)?).map(|_| u.choose(ALPHABET).copied()).collect::<Result<_, _>>()?,
        _ => {
            let code = u.arbitrary::<u64>()? & format.max_code();
            let written = [text::display(&format, code), text::display_hex_float(&format, code)];
            for text in &written {
                comes_back(&format, code, text);
            }
            u.choose(&written)?.clone().into_bytes()
        }
    };
    mutate(u, &mut bytes, 4)?;
    let written = String::from_utf8_lossy(&bytes);
    let rounding = rounding(u)?;
    let overflow = *u.choose(&[Overflow::Infinity, Overflow::Ieee, Overflow::Saturate])?;
    if let Ok(parsed) = text::parse(&format, &written, rounding, overflow) {
        let text::Parsed { code, exact, .. } = parsed;
        assert!(code <= format.max_code(), "{written:?} in {format}: {code:#x} is no code");
        if exact && rounds_alike(&format, code) {
            let other = text::parse(&format, &written, rounding.mirrored(), overflow);
            assert!(
                other == Ok(parsed),
                "{written:?} in {format}: exact under {rounding}, {other:?} under {}",
                rounding.mirrored()
            );
        }
        comes_back(&format, code, &text::display_hex_float(&format, code));
    }
    Ok(())
}

/// An exact reading does not depend on how it is rounded, if it is a number.
fn rounds_alike(format: &Format, code: u64) -> bool {
    decode(format, code).is_finite()
}

/// The printed number of a code reads as that code's value; the sign of a NaN is not printed, nor are
/// its payload, padding and ignored sign.
fn comes_back(format: &Format, code: u64, text: &str) {
    for (rounding, _) in bitmma_engine::formats::Rounding::ALL {
        // a decimal may be a shortened one: it comes back only to nearest
        if rounding.symbol() != "RNE" && !text.contains("0x") {
            continue;
        }
        let parsed = text::parse(format, text, rounding, Overflow::Infinity)
            .unwrap_or_else(|error| panic!("{code:#x} in {format} prints as {text:?}: {error}"));
        let (written, read) = (decode(format, code), decode(format, parsed.code));
        let nans = written.class == Class::Nan && read.class == Class::Nan;
        assert!(
            nans || written == read,
            "{code:#x} in {format} prints as {text:?} and reads as {:#x} under {rounding}",
            parsed.code
        );
        assert!(
            nans || parsed.names_code(),
            "{text:?} in {format}, printed from {code:#x}, does not name it"
        );
    }
}
