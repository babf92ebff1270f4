//! A line of a state file: a JSON object that ends with the checksum of everything before it.

use std::io;

use serde::Serialize;

/// What stands before the checksum. In JSON it cannot occur within a string, whose quotes are escaped.
const KEY: &[u8] = b",\"check\":\"";
/// Hex digits of the checksum.
const DIGITS: usize = 16;
/// What stands behind the checksum.
const END: &[u8] = b"\"}";

/// What a line turns out to be.
#[derive(Debug)]
pub(super) enum Line {
    /// A whole line, as it was written; here without its checksum.
    Whole(String),
    /// The beginning of a line, cut off by a crash.
    CutOff,
    /// A line without a checksum.
    Unsealed,
    /// A line whose checksum is another one than it says.
    Damaged {
        /// The checksum of what is there.
        is: String,
        /// The checksum that is written there, or whatever stands in its place.
        says: String,
    },
}

/// An object as a line, with its checksum and the end of the line.
pub(super) fn written(value: &impl Serialize) -> io::Result<String> {
    let json = serde_json::to_string(value)?;
    let content = json.strip_suffix('}').unwrap_or(&json);
    let key = String::from_utf8_lossy(KEY);
    Ok(format!("{content}{key}{}\"}}\n", checksum(content.as_bytes())))
}

/// A line with or without the end of the line; that without one may have been cut off.
pub(super) fn read(line: &[u8]) -> Line {
    let (line, ended) = match line.strip_suffix(b"\n") {
        Some(line) => (line, true),
        None => (line, false),
    };
    let Some(at) = line.windows(KEY.len()).rposition(|part| part == KEY) else {
        return if ended { Line::Unsealed } else { Line::CutOff };
    };
    let (content, seal) = (&line[..at], &line[at + KEY.len()..]);
    if !ended && seal.len() < DIGITS + END.len() {
        return Line::CutOff;
    }
    let is = checksum(content);
    match std::str::from_utf8(content) {
        Ok(text) if seal.strip_suffix(END) == Some(is.as_bytes()) => Line::Whole(format!("{text}}}")),
        _ => {
            let says = seal.strip_suffix(END).unwrap_or(seal);
            Line::Damaged { is, says: String::from_utf8_lossy(says).chars().take(2 * DIGITS).collect() }
        }
    }
}

/// The first digits of the BLAKE3 digest.
fn checksum(content: &[u8]) -> String {
    blake3::hash(content).to_hex().chars().take(DIGITS).collect()
}
