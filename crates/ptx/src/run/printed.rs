//! What a launch prints, and how: as C's `printf` does.

use std::collections::BTreeMap;

/// Bytes that a launch prints, at most: as much as CUDA keeps unless it is told otherwise.
const MOST: usize = 1 << 20;
/// What the blocks of a launch printed.
#[derive(Default)]
pub(super) struct Printed {
    by_block: BTreeMap<u64, String>,
    bytes: usize,
}

impl Printed {
    pub(super) fn add(&mut self, block: u64, text: &str) {
        self.by_block.entry(block).or_default().push_str(text);
        self.bytes += text.len();
        // the last blocks go first, so that what is kept does not depend on which block runs when
        while let Some(last) = self.by_block.last_entry()
            && (self.bytes - last.get().len() > MOST)
        {
            self.bytes -= last.remove().len();
        }
    }

    /// All of it, block after block.
    pub(super) fn text(self) -> String {
        let mut text: String = self.by_block.into_values().collect();
        if text.len() > MOST {
            let end = (0..=MOST).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            text.truncate(end);
            text.push_str(&format!("\n(a launch prints {MOST} bytes at most: the rest is left out)\n"));
        }
        text
    }
}

/// `%-08.3lf`: what C's `printf` makes of a value.
#[derive(Clone, Debug, Default)]
pub(super) struct Conversion {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zeros: bool,
    width: usize,
    precision: Option<usize>,
    /// `h`, `hh`, `l`, `ll`, …
    length: String,
    pub(super) letter: char,
}

impl Conversion {
    /// The conversion that a text starts with, and its length.
    pub(super) fn read(text: &str) -> Option<(Conversion, usize)> {
        let mut one = Conversion::default();
        let mut rest = text.strip_prefix('%')?;
        while let Some(flag) = rest.chars().next().filter(|letter| "-+ #0".contains(*letter)) {
            match flag {
                '-' => one.left = true,
                '+' => one.plus = true,
                ' ' => one.space = true,
                '#' => one.alternate = true,
                _ => one.zeros = true,
            }
            rest = &rest[1..];
        }
        let digits = |rest: &mut &str| {
            let length = rest.bytes().take_while(u8::is_ascii_digit).count();
            let (digits, others) = rest.split_at(length);
            *rest = others;
            digits.parse().unwrap_or(0usize).min(4096)
        };
        one.width = digits(&mut rest);
        if let Some(others) = rest.strip_prefix('.') {
            rest = others;
            one.precision = Some(digits(&mut rest));
        }
        while let Some(letter) = rest.chars().next().filter(|letter| "hlLqjzt".contains(*letter)) {
            one.length.push(letter);
            rest = &rest[1..];
        }
        one.letter = rest.chars().next().filter(|letter| "diouxXcsfFeEgGp%".contains(*letter))?;
        Some((one, text.len() - rest.len() + 1))
    }

    /// How many bytes its value has.
    pub(super) fn bytes(&self) -> u8 {
        let long = self.length.chars().any(|letter| "lLqjzt".contains(letter));
        match self.letter {
            'c' => 4,
            'd' | 'i' | 'o' | 'u' | 'x' | 'X' if !long => 4,
            _ => 8,
        }
    }

    pub(super) fn cut(&self, text: String) -> String {
        match self.precision {
            Some(most) => text.chars().take(most).collect(),
            None => text,
        }
    }

    /// A sign or prefix and what follows it, as wide as asked for.
    pub(super) fn padded(&self, prefix: &str, digits: &str) -> String {
        let missing = self.width.saturating_sub(prefix.len() + digits.chars().count());
        let integer = "diouxXp".contains(self.letter);
        let zeros = self.zeros && !self.left && self.letter != 's' && self.letter != 'c';
        match () {
            () if self.left => format!("{prefix}{digits}{}", " ".repeat(missing)),
            () if zeros && !(integer && self.precision.is_some()) => {
                format!("{prefix}{}{digits}", "0".repeat(missing))
            }
            () => format!("{}{prefix}{digits}", " ".repeat(missing)),
        }
    }

    fn sign(&self, negative: bool) -> &'static str {
        match () {
            () if negative => "-",
            () if self.plus => "+",
            () if self.space => " ",
            () => "",
        }
    }

    pub(super) fn number(&self, value: u64) -> String {
        let bits = match self.length.as_str() {
            "hh" => 8,
            "h" => 16,
            _ => 8 * u32::from(self.bytes()),
        };
        let value = value & (u64::MAX >> (64 - bits));
        let signed = (value << (64 - bits)) as i64 >> (64 - bits);
        let (prefix, digits) = match self.letter {
            'c' => return self.padded("", &char::from(value as u8).to_string()),
            'd' | 'i' => (self.sign(signed < 0), signed.unsigned_abs().to_string()),
            'u' => ("", value.to_string()),
            'o' => (if self.alternate { "0" } else { "" }, format!("{value:o}")),
            'x' => (if self.alternate && value != 0 { "0x" } else { "" }, format!("{value:x}")),
            'X' => (if self.alternate && value != 0 { "0X" } else { "" }, format!("{value:X}")),
            'p' => ("0x", format!("{value:x}")),
            _ => return self.float(f64::from_bits(value)),
        };
        let missing = self.precision.unwrap_or(1).saturating_sub(digits.len());
        self.padded(prefix, &("0".repeat(missing) + &digits))
    }

    fn float(&self, value: f64) -> String {
        let sign = self.sign(value.is_sign_negative());
        let precision = self.precision.unwrap_or(6);
        let size = value.abs();
        let text = match self.letter.to_ascii_lowercase() {
            _ if !size.is_finite() => {
                let text = if size.is_nan() { "nan" } else { "inf" };
                let text = if self.letter.is_uppercase() { text.to_uppercase() } else { text.to_owned() };
                return Conversion { zeros: false, ..self.clone() }.padded(sign, &text);
            }
            'f' => self.pointed(format!("{size:.precision$}")),
            'e' => self.scientific(size, precision),
            _ => {
                let precision = precision.max(1);
                let rounded = format!("{size:.*e}", precision - 1);
                let exponent: i32 =
                    rounded.split_once('e').and_then(|(_, text)| text.parse().ok()).unwrap_or(0);
                let fixed = exponent >= -4 && exponent < precision as i32;
                let text = match fixed {
                    true => format!("{size:.*}", (precision as i32 - 1 - exponent) as usize),
                    false => self.scientific(size, precision - 1),
                };
                let (number, exponent) = text.split_at(text.find('e').unwrap_or(text.len()));
                let number = match number.contains('.') && !self.alternate {
                    true => number.trim_end_matches('0').trim_end_matches('.'),
                    false => number,
                };
                format!("{number}{exponent}")
            }
        };
        self.padded(sign, &if self.letter.is_uppercase() { text.to_uppercase() } else { text })
    }

    /// With a point where `#` asks for one.
    fn pointed(&self, text: String) -> String {
        if self.alternate && !text.contains('.') { text + "." } else { text }
    }

    fn scientific(&self, size: f64, precision: usize) -> String {
        let text = format!("{size:.precision$e}");
        let (number, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let exponent: i32 = exponent.parse().unwrap_or(0);
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{}e{sign}{:02}", self.pointed(number.to_owned()), exponent.abs())
    }
}
