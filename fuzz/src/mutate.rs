//! Small changes to what was valid: to bytes, and to texts with numbers and words in them.

use std::ops::Range;

use arbtest::arbitrary::{Result, Unstructured};

/// Bytes that mean something to a reader of TOML, CSV or numbers.
const TELLING: &[u8] = b"\n\r,=[]{}\"'#.-+ \t0189afxzEepP_";

/// Numbers at which something ends: of their type, of memory, of what is a number.
const NUMBERS: [&str; 36] = [
    "0",
    "-0",
    "-1",
    "1",
    "2",
    "3",
    "7",
    "16",
    "63",
    "255",
    "256",
    "65535",
    "65536",
    "65537",
    "1048576",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "1000000000000",
    "1099511627776",
    "4611686018427387904",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775808",
    "1e300",
    "-1e300",
    "0.5",
    "nan",
    "inf",
    "null",
    "true",
    "99999999999999999999999999999999",
];

/// `bytes` with up to `most` of its parts cut, doubled, replaced or joined by telling ones.
pub(crate) fn mutate(u: &mut Unstructured<'_>, bytes: &mut Vec<u8>, most: usize) -> Result<()> {
    for _ in 0..u.int_in_range(0..=most)? {
        let at = u.int_in_range(0..=bytes.len())?;
        let to = (at + u.int_in_range(0..=12)?).min(bytes.len());
        match u.int_in_range(0..=6)? {
            0 => drop(bytes.drain(at..to)),
            1 => bytes.truncate(at),
            2 => bytes.insert(at, u.arbitrary()?),
            3 => bytes.insert(at, *u.choose(TELLING)?),
            4 => {
                let part = bytes[at..to].to_vec();
                let elsewhere = u.int_in_range(0..=bytes.len())?;
                bytes.splice(elsewhere..elsewhere, part);
            }
            5 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << u.int_in_range(0..=7)?;
                }
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = *u.choose(TELLING)?;
                }
            }
        }
    }
    Ok(())
}

/// A text with one to three numbers replaced, words exchanged, lines doubled or left out; now and then some bytes changed.
pub(crate) fn text(u: &mut Unstructured<'_>, text: &mut Vec<u8>) -> Result<()> {
    for _ in 0..u.int_in_range(1..=3)? {
        let (numbers, words) = spans(text);
        match u.int_in_range(0..=11)? {
            0..=5 if !numbers.is_empty() => {
                let place = u.choose(&numbers)?.clone();
                let number = number(u, text, &numbers, &place)?;
                text.splice(place, number);
            }
            6 | 7 if !words.is_empty() => {
                let (place, other) = (u.choose(&words)?.clone(), u.choose(&words)?.clone());
                let other = text[other].to_vec();
                text.splice(place, other);
            }
            8 if words.len() > 1 => {
                let first = u.int_in_range(0..=words.len() - 2)?;
                let second = u.int_in_range(first + 1..=words.len() - 1)?;
                let (first, second) = (words[first].clone(), words[second].clone());
                let (of_first, of_second) = (text[first.clone()].to_vec(), text[second.clone()].to_vec());
                text.splice(second, of_first);
                text.splice(first, of_second);
            }
            9 | 10 => {
                let mut lines: Vec<Vec<u8>> =
                    text.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
                if !lines.is_empty() {
                    let line = u.int_in_range(0..=lines.len() - 1)?;
                    let to = u.int_in_range(0..=lines.len() - 1)?;
                    if u.arbitrary()? {
                        let copy = lines[line].clone();
                        lines.insert(to, copy);
                    } else {
                        lines.remove(line);
                    }
                    *text = lines.concat();
                }
            }
            _ => mutate(u, text, 2)?,
        }
    }
    Ok(())
}

/// Another number: a notable one, one of the text's own, or a neighbour of what is there.
fn number(
    u: &mut Unstructured<'_>,
    text: &[u8],
    numbers: &[Range<usize>],
    place: &Range<usize>,
) -> Result<Vec<u8>> {
    let there = &text[place.clone()];
    Ok(match u.int_in_range(0..=4)? {
        0 => text[u.choose(numbers)?.clone()].to_vec(),
        1 => {
            let value = std::str::from_utf8(there).ok().and_then(|text| text.parse::<i128>().ok());
            let change = *u.choose(&[-1, 1, 2, 16, -16])?;
            match value {
                Some(value) if u.arbitrary()? => value.saturating_mul(change).to_string().into_bytes(),
                Some(value) => value.saturating_add(change).to_string().into_bytes(),
                None => [there, b"0"].concat(),
            }
        }
        _ => u.choose(&NUMBERS)?.as_bytes().to_vec(),
    })
}

/// Where numbers are in a text, and where words are.
fn spans(text: &[u8]) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
    let belongs = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.+-".contains(byte);
    let (mut numbers, mut words) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < text.len() {
        let length = text[at..].iter().take_while(|byte| belongs(byte)).count();
        let digits = text[at..].strip_prefix(b"-").unwrap_or(&text[at..]);
        match digits.first() {
            _ if length == 0 => {}
            Some(first) if first.is_ascii_digit() => numbers.push(at..at + length),
            _ => words.push(at..at + length),
        }
        at += length.max(1);
    }
    (numbers, words)
}
