//! Numbers as they are typed, pasted and clicked.

use bitmma_engine::Case;
use bitmma_engine::formats::alias::find as find_format;
use bitmma_engine::formats::text::{display, display_hex_float, hex};
use bitmma_engine::formats::word::{self, Unread};
use bitmma_engine::formats::{Class, F32, F64, Format, decode};
use bitmma_verify::inputs::zero;
use serde::{Deserialize, Serialize};

use crate::error::{Error, LONGEST_NAME, at_most, beginning};
use crate::scale::value;
use crate::unit::{LONGEST, Unit};

/// The operands of one dot product as they are typed.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Typed {
    #[serde(default)]
    pub(crate) a: String,
    #[serde(default)]
    pub(crate) b: String,
    #[serde(default)]
    pub(crate) c: String,
    #[serde(default)]
    pub(crate) scale_a: String,
    #[serde(default)]
    pub(crate) scale_b: String,
}

/// The operands in a unit's formats, and what was changed on the way.
pub(crate) struct Inputs {
    pub(crate) case: Case,
    pub(crate) notes: Vec<String>,
    /// Numbers that were rounded to the unit's formats.
    pub(crate) rounded: usize,
}

/// A text that was pasted.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pasted {
    text: String,
}

/// What a pasted text holds: A alone, A and B, or A, B and C.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Rows {
    a: String,
    b: Option<String>,
    c: Option<String>,
}

/// A code of a format, in hex.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Code {
    format: String,
    code: String,
}

/// A number as it can be typed.
#[derive(Serialize)]
pub(crate) struct Number {
    /// What to type: a decimal; a code for NaN, which has several.
    text: String,
    /// As C's `%a` writes it.
    hex_float: String,
    code: String,
    bits: Bits,
}

/// The bits of a code by field, the highest first.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Bits {
    pub(crate) sign: String,
    pub(crate) exponent: String,
    pub(crate) fraction: String,
    pub(crate) padding: String,
}

impl Bits {
    pub(crate) fn of(format: &Format, code: u64) -> Bits {
        let (padding, fraction, exponent) = (format.padding_bits, format.fraction_bits, format.exponent_bits);
        let field = |from: u32, width: u32| -> String {
            (from..from + width).rev().map(|bit| if code >> bit & 1 == 1 { '1' } else { '0' }).collect()
        };
        Bits {
            sign: field(padding + fraction + exponent, format.bits() - padding - fraction - exponent),
            exponent: field(padding + fraction, exponent),
            fraction: field(padding, fraction),
            padding: field(0, padding),
        }
    }
}

/// What is said of a tensor beside its numbers.
const KEYWORDS: [&str; 5] = ["dtype=", "device=", "grad_fn=", "layout=", "requires_grad="];

/// Marks of a text that have no width: of an encoding, and of where a line may break.
const INVISIBLE: [char; 5] = ['\u{200b}', '\u{200c}', '\u{200d}', '\u{2060}', '\u{feff}'];

/// The numbers of a list: separators of text, code and output of programs are left out, and typographic minus
/// signs are read as minus.
pub(crate) fn words(list: &str) -> Vec<String> {
    let between = |letter: char| letter.is_whitespace() || "[](){},;|\u{a0}".contains(letter);
    let minus = list.replace(INVISIBLE, "").replace(['\u{2212}', '\u{2013}'], "-");
    let plain = minus.split_inclusive(between).filter(|word| !is_call(word));
    let plain = plain.map(|word| if is_nan(word) { word } else { word.trim_end_matches(between) });
    let plain = plain.filter(|word| !word.is_empty());
    plain.filter(|word| !KEYWORDS.iter().any(|one| word.starts_with(one))).map(number_of).collect()
}

/// Whether a word is the name of a function or type before its argument: `tensor(`, `np.float32(`.
fn is_call(word: &str) -> bool {
    let Some(name) = word.strip_suffix('(') else { return false };
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') && !is_nan(word)
}

/// Whether a word is C's `nan(` before a payload, which no number is read from.
fn is_nan(word: &str) -> bool {
    word.to_ascii_lowercase().ends_with("nan(")
}

/// A list of FP64 numbers. Codes are refused: they belong to a format, and these numbers have none.
pub(crate) fn numbers(list: &str) -> Result<Vec<f64>, Error> {
    let one = |word: String| {
        if let Ok(number) = word.parse() {
            return Ok(number);
        }
        let what = match word::read(&F64, &word, true) {
            Ok(code) if word.contains(['p', 'P']) => return Ok(value(&F64, code)),
            Ok(_) => "a code, and only formats have codes",
            Err(_) => "not a number",
        };
        let word = beginning(&word);
        Err(Error::new(format!(
            "'{word}' is {what}; write a decimal (-0.125, 1e-3) or a hexadecimal float (0x1.8p3)"
        )))
    };
    words(list).into_iter().map(one).collect()
}

/// A word without the suffix that C gives to a float.
fn number_of(word: &str) -> String {
    let is_hex = word.trim_start_matches(['-', '+']).to_ascii_lowercase().starts_with("0x");
    let stem = word.trim_end_matches(['f', 'F']);
    let is_decimal = stem.ends_with(|last: char| last.is_ascii_digit() || last == '.');
    if !is_hex && is_decimal { stem.to_owned() } else { word.to_owned() }
}

/// The rows of a pasted text: between `·`, `*`, `@` or `+`, or one a line.
pub(crate) fn paste(pasted: &Pasted) -> Result<Rows, Error> {
    let text = pasted.text.trim();
    // `-a '…' -b '…' -c …`, as of the command
    let command = |option: &str| {
        let ends = |(at, _): &(usize, &str)| {
            let next = text[at + option.len()..].chars().next();
            text[..*at].chars().next_back().is_none_or(char::is_whitespace)
                && next.is_some_and(|next| next == '=' || next.is_whitespace())
        };
        let (at, found) = text.match_indices(option).find(ends)?;
        let rest = text[at + found.len() + 1..].trim_start();
        match rest.chars().next() {
            Some(quote @ ('\'' | '"')) => rest[1..].split(quote).next().map(str::to_owned),
            _ => rest.split_whitespace().next().map(str::to_owned),
        }
    };
    if let (Some(a), Some(b)) = (command("-a"), command("-b")) {
        if text.contains("--scale-") {
            return Err(Error::new("the pasted command has scale factors; paste its options one by one"));
        }
        return Ok(Rows { a, b: Some(b), c: command("-c") });
    }
    let is_mark = |piece: &str| matches!(piece, "·" | "+" | "x");
    let spaced = spaced(text);
    let pieces: Vec<&str> = spaced.split_whitespace().collect();
    let parts: Vec<String> = if pieces.iter().any(|piece| is_mark(piece)) {
        pieces.split(|piece| is_mark(piece)).map(|part| part.join(" ")).collect()
    } else {
        let lines = unwrapped(text).into_iter().map(|line| unnamed(&line).to_owned());
        lines.filter(|line| !words(line).is_empty()).collect()
    };
    let mut rows = parts.iter().map(|part| words(part).join(" ")).filter(|row| !row.is_empty());
    let a = rows.next().ok_or_else(|| Error::new("no numbers were pasted"))?;
    let (b, c) = (rows.next(), rows.next());
    if rows.next().is_some() {
        return Err(Error::new("more than three rows were pasted; A, B and C are one row each"));
    }
    Ok(Rows { a, b, c })
}

/// A text with blanks around what stands between rows, signs of products as `·`. A plus after the end of a number or list is one.
fn spaced(text: &str) -> String {
    let mut spaced = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '·' | '*' | '@' | '×' | '⋅' => spaced.push_str(" · "),
            '+' if is_end(&spaced) => spaced.push_str(" + "),
            _ => spaced.push(letter),
        }
    }
    spaced
}

/// Whether a number or a list ends here, so that a plus is no sign of a number or of its exponent.
fn is_end(text: &str) -> bool {
    let between = |one: char| one.is_whitespace() || "[](),".contains(one);
    let word = text.rsplit(between).next().unwrap_or("");
    let is_hex = word.trim_start_matches('-').get(..2).is_some_and(|start| start.eq_ignore_ascii_case("0x"));
    match word.chars().next_back() {
        None => text.ends_with([']', ')']),
        Some('p' | 'P') => false,
        Some('e' | 'E') => is_hex, // a digit of a code
        _ => true,
    }
}

/// Lines of a text, of which those between brackets are one.
fn unwrapped(text: &str) -> Vec<String> {
    let (mut lines, mut open) = (vec![String::new()], 0i32);
    for line in text.lines() {
        match lines.last_mut() {
            Some(last) if open > 0 => last.push_str(&format!(" {line}")),
            _ => lines.push(line.to_owned()),
        }
        open += line
            .chars()
            .map(|one| i32::from("[(".contains(one)) - i32::from("])".contains(one)))
            .sum::<i32>();
    }
    lines
}

/// A line without the name before its numbers: `a = 1 2`, `b: 3 4`, `c 5`.
fn unnamed(line: &str) -> &str {
    let line = line.trim();
    let Some(rest) = line.strip_prefix(['a', 'b', 'c', 'A', 'B', 'C']) else { return line };
    match rest.chars().next() {
        Some('=' | ':') => &rest[1..],
        Some(next) if next.is_whitespace() => rest.trim_start().trim_start_matches(['=', ':']),
        _ => line,
    }
}

/// The number that a code is.
pub(crate) fn code(asked: &Code) -> Result<Number, Error> {
    at_most("format", &asked.format, LONGEST_NAME)?;
    at_most("code", &asked.code, LONGEST_NUMBER)?;
    let format = find_format(&asked.format)?;
    let code = word::read(&format, &asked.code, false).map_err(|error| Error::new(error.to_string()))?;
    if !asked.code.to_ascii_lowercase().starts_with("0x") {
        return Err(Error::new(format!("'{}' is not a code; write 0x and hex digits", asked.code)));
    }
    let word = word_format(&format);
    let text = match decode(&word, code).class {
        Class::Nan => hex(&word, code),
        _ => display(&word, code),
    };
    Ok(Number {
        text,
        hex_float: display_hex_float(&word, code),
        code: hex(&format, code),
        bits: Bits::of(&format, code),
    })
}

/// Numbers that are named as rounded, of one operand.
const NAMED: usize = 3;
/// Characters of a number, at most: the smallest FP64 number has 1,077 in full.
const LONGEST_NUMBER: usize = 1_100;

/// What was changed while numbers were read.
#[derive(Default)]
struct Notes {
    lines: Vec<String>,
    /// Numbers that were rounded.
    rounded: usize,
}

/// The format in which every bit of an operand's code counts: FP32 for TF32, whose word has bits that the unit does not read.
/// Numbers are typed in that one: software hands words over, and the unit cuts them.
pub(crate) fn word_format(format: &Format) -> Format {
    if format.padding_bits > 0 { F32 } else { *format }
}

/// Numbers of a list in a format, rounded to nearest; what was rounded is noted.
fn list(name: &str, format: &Format, text: &str, notes: &mut Notes) -> Result<Vec<u64>, Error> {
    let format = &word_format(format);
    let words = words(text);
    if words.len() > LONGEST {
        return Err(Error::new(format!("{name} has {} values; at most {LONGEST} are shown", words.len())));
    }
    let mut rounded = vec![];
    let mut codes = vec![];
    for (index, word) in words.iter().enumerate() {
        let place = if name == "c" { name.to_owned() } else { format!("{name}{index}") };
        at_most(&place, word, LONGEST_NUMBER)?;
        let code = match word::read(format, word, false) {
            Err(Unread::Inexact { nearest, code, .. }) => {
                rounded.push(format!("{place} = {} is rounded to {nearest}", beginning(word)));
                code
            }
            Err(error) => {
                let error = error.to_string().replace(word, &beginning(word));
                return Err(Error::new(format!("{place}: {error}")));
            }
            Ok(code) => code,
        };
        codes.push(code);
    }
    notes.rounded += rounded.len();
    if rounded.len() > NAMED {
        let more = rounded.len() - NAMED;
        rounded.truncate(NAMED);
        rounded.push(format!("{name}: {more} more are rounded to {format}"));
    }
    notes.lines.extend(rounded);
    Ok(codes)
}

impl Typed {
    /// Reads everything into a unit's formats: numbers that these do not have are rounded, missing ones are zero.
    pub(crate) fn read(&self, unit: &Unit) -> Result<Inputs, Error> {
        let model = &unit.model;
        let mut notes = Notes::default();
        let mut a = list("a", &model.a, &self.a, &mut notes)?;
        let mut b = list("b", &model.b, &self.b, &mut notes)?;
        let c = match list("c", &model.c, &self.c, &mut notes)?[..] {
            [] => zero(&model.c),
            [c] => c,
            ref several => return Err(Error::new(format!("c has {} values; it takes one", several.len()))),
        };
        let k = unit.length(a.len().max(b.len()))?;
        if k > unit.step {
            notes.lines.push(format!(
                "K = {k} is {} instructions: each starts from the result of the one before it",
                k / unit.step
            ));
        }
        a.resize(k, zero(&model.a));
        b.resize(k, zero(&model.b));
        let scale_a = self.scales("scale_a", &self.scale_a, unit, k, &mut notes)?;
        let scale_b = self.scales("scale_b", &self.scale_b, unit, k, &mut notes)?;
        let Notes { lines: notes, rounded } = notes;
        Ok(Inputs { case: Case { a, b, c, scale_a, scale_b }, notes, rounded })
    }

    fn scales(
        &self,
        name: &str,
        text: &str,
        unit: &Unit,
        k: usize,
        notes: &mut Notes,
    ) -> Result<Vec<u64>, Error> {
        let Some(scale) = unit.model.scale else {
            if !words(text).is_empty() {
                notes.lines.push(format!("{name} is not used: this unit takes no scale factors"));
            }
            return Ok(vec![]);
        };
        let mut codes = list(name, &scale.format, text, notes)?;
        let count = k / scale.size;
        if codes.len() > count {
            return Err(Error::new(format!(
                "{name} has {} values; K = {k} in blocks of {} takes {count}",
                codes.len(),
                scale.size
            )));
        }
        codes.resize(count, scale.format.one_code());
        Ok(codes)
    }
}
