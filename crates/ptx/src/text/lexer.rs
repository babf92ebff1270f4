//! Characters into tokens.

use std::ops::Range;

use crate::error::Error;

/// A token, the line it is on, and its bytes of the text.
#[derive(Clone, Debug)]
pub(super) struct Token {
    pub(super) line: u32,
    pub(super) bytes: Range<usize>,
    pub(super) kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// A name, a form with all its modifiers, a register or a directive; with its points.
    Word(String),
    Integer(u64),
    Single(u32),
    Double(u64),
    Text(String),
    Mark(char),
}

/// The tokens of a text.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, Error> {
    let mut tokens = vec![];
    let bytes = text.as_bytes();
    let (mut at, mut line) = (0, 1u32);
    while at < bytes.len() {
        let rest = &bytes[at..];
        let (start, first) = (line, at);
        let kind = match rest[0] {
            b'\n' => {
                line += 1;
                at += 1;
                continue;
            }
            b' ' | b'\t' | b'\r' => {
                at += 1;
                continue;
            }
            b'/' if rest.starts_with(b"//") => {
                at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
                continue;
            }
            b'/' if rest.starts_with(b"/*") => {
                let end = rest.windows(2).position(|two| two == b"*/");
                let Some(end) = end else {
                    return Err(Error::syntax(line, "the comment that starts here has no end"));
                };
                line += newlines(&rest[..end]);
                at += end + 2;
                continue;
            }
            b'#' => {
                at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
                continue;
            }
            b'"' => {
                let end = rest[1..].iter().position(|byte| *byte == b'"');
                let Some(end) = end else {
                    return Err(Error::syntax(line, "the string that starts here has no end"));
                };
                line += newlines(&rest[..end]);
                at += end + 2;
                Kind::Text(String::from_utf8_lossy(&rest[1..=end]).into_owned())
            }
            b'0'..=b'9' => {
                let length = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
                let mut word = String::from_utf8_lossy(&rest[..length]).into_owned();
                at += length;
                // 1.5 and 1.5e-3, which stand for FP64 constants
                let plain = word.bytes().all(|byte| byte.is_ascii_digit());
                if plain && bytes.get(at) == Some(&b'.') {
                    let tail =
                        bytes[at..].iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'.');
                    let length = tail.count();
                    word.push_str(&String::from_utf8_lossy(&bytes[at..at + length]));
                    at += length;
                    if word.ends_with(['e', 'E']) && matches!(bytes.get(at), Some(b'+' | b'-')) {
                        let length =
                            1 + bytes[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                        word.push_str(&String::from_utf8_lossy(&bytes[at..at + length]));
                        at += length;
                    }
                }
                number(&word).ok_or_else(|| Error::syntax(line, format!("'{word}' is not a number")))?
            }
            byte if is_name(byte) || byte == b'.' || byte == b'%' => {
                // directives may stand without a space between them: `.reg.b32`
                let is_directive = byte == b'.';
                let names = || 1 + rest[1..].iter().take_while(|byte| is_name(**byte)).count();
                let length = if is_directive { names() } else { word_length(rest) };
                at += length;
                Kind::Word(String::from_utf8_lossy(&rest[..length]).into_owned())
            }
            byte if byte.is_ascii_punctuation() => {
                at += 1;
                Kind::Mark(char::from(byte))
            }
            _ => {
                let character = text.get(at..).and_then(|rest| rest.chars().next()).unwrap_or('\u{fffd}');
                return Err(Error::syntax(line, format!("{character:?} is not a character of PTX")));
            }
        };
        tokens.push(Token { line: start, bytes: first..at, kind });
    }
    Ok(tokens)
}

fn newlines(bytes: &[u8]) -> u32 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u32
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$'
}

/// Bytes of a word: names, points, and `::` between names.
fn word_length(bytes: &[u8]) -> usize {
    let mut length = 1;
    while length < bytes.len() {
        let next = |ahead: usize| bytes.get(length + ahead).copied().unwrap_or(0);
        match next(0) {
            b'.' => length += 1,
            b':' if next(1) == b':' && is_name(next(2)) => length += 2,
            byte if is_name(byte) => length += 1,
            _ => break,
        }
    }
    length
}

/// A literal: `12`, `0x1fU`, `017`, `0b11`, `0f3F800000`, `0d…`, `1.5`.
fn number(word: &str) -> Option<Kind> {
    let hex = |digits: &str, count: usize| {
        (digits.len() == count).then(|| u64::from_str_radix(digits, 16).ok()).flatten()
    };
    if let Some(digits) = word.strip_prefix("0f").or_else(|| word.strip_prefix("0F")) {
        return hex(digits, 8).map(|bits| Kind::Single(bits as u32));
    }
    if let Some(digits) = word.strip_prefix("0d").or_else(|| word.strip_prefix("0D")) {
        return hex(digits, 16).map(Kind::Double);
    }
    if word.contains('.') {
        let value: f64 = word.parse().ok()?;
        return Some(Kind::Double(value.to_bits()));
    }
    let word = word.strip_suffix('U').unwrap_or(word);
    let (digits, radix) = match word.get(..2) {
        Some("0x" | "0X") => (&word[2..], 16),
        Some("0b" | "0B") => (&word[2..], 2),
        Some(start) if start.starts_with('0') => (&word[1..], 8),
        _ => (word, 10),
    };
    u64::from_str_radix(digits, radix).ok().map(Kind::Integer)
}
