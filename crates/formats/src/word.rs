//! One word as a number of a format, refused where the format does not have it.

use crate::decode::decode;
use crate::format::Format;
use crate::overflow::Overflow;
use crate::rounding::Rounding;
use crate::text::{TextError, display, parse};

/// Why a word is not a number of a format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unread {
    /// It is not a number, or it is a code of more bits.
    #[error(transparent)]
    Text(#[from] TextError),
    /// It is beyond the format's range.
    #[error("'{word}' is beyond the numbers of {format}, the largest of which is {largest}")]
    Beyond {
        /// The word.
        word: String,
        /// The format.
        format: &'static str,
        /// The largest finite number.
        largest: String,
    },
    /// The format has no such number.
    #[error("'{word}' is not in {format}; the nearest is {nearest} (0x{code:0digits$x})")]
    Inexact {
        /// The word.
        word: String,
        /// The format.
        format: &'static str,
        /// The nearest number it has.
        nearest: String,
        /// The code of that.
        code: u64,
        /// Digits of a code.
        digits: usize,
    },
}

/// One number in `format`; refused if the format does not have it, unless it may be rounded.
pub fn read(format: &Format, word: &str, round: bool) -> Result<u64, Unread> {
    let parsed = parse(format, word, Rounding::NearestEven, Overflow::Ieee)?;
    if parsed.names_code() {
        return Ok(parsed.code);
    }
    let (word, name) = (word.to_owned(), format.name);
    if !decode(format, parsed.code).is_finite() {
        let largest = display(format, format.max_finite_code());
        return Err(Unread::Beyond { word, format: name, largest });
    }
    if round {
        return Ok(parsed.code);
    }
    let digits = format.hex_digits();
    let nearest = display(format, parsed.code);
    Err(Unread::Inexact { word, format: name, nearest, code: parsed.code, digits })
}
