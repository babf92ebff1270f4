//! Text with powers and indices: `2^-126`, `e_max`.

use std::fmt::Write as _;

/// Where a piece of text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// On the line.
    Line,
    /// Above it, smaller: a power.
    Up,
    /// Below it, smaller: an index.
    Down,
}

/// Names with an index: as they are written, the name, its index.
const INDEXED: [(&str, &str, &str); 8] = [
    ("e_max", "e", "max"),
    ("e_zero", "e", "zero"),
    ("L_max", "L", "max"),
    ("D_real", "D", "real"),
    ("δ_RD", "δ", "RD"),
    ("δ_RZ", "δ", "RZ"),
    ("F2", "F", "2"),
    ("Φ_", "Φ", ""),
];

/// Text in pieces: `2^-126` is 2 and a power, as `4.6e-4` is 4.6·10 and one, `e_max` is e and an index. Minus signs of powers are true ones.
pub fn runs(text: &str) -> Vec<(Level, String)> {
    let mut runs = vec![];
    let mut line = String::new();
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let found = match letter {
            '^' => power(&rest[1..]).map(|(power, length)| (Level::Up, String::new(), power, 1 + length)),
            'e' if ends_with_number(&line) => decimal_power(&rest[1..])
                .map(|(power, length)| (Level::Up, "·10".to_owned(), power, 1 + length)),
            _ if line.ends_with(|before: char| before.is_alphanumeric() || before == '_') => None,
            _ => index(rest).map(|(name, index, length)| (Level::Down, name, index, length)),
        };
        let Some((level, name, raised, length)) = found else {
            line.push(letter);
            rest = &rest[letter.len_utf8()..];
            continue;
        };
        line += &name;
        runs.push((Level::Line, std::mem::take(&mut line)));
        runs.push((level, raised));
        rest = &rest[length..];
    }
    runs.push((Level::Line, line));
    runs.retain(|(_, text)| !text.is_empty());
    runs
}

/// The power of a decimal number after its e, `-09`, and its bytes.
fn decimal_power(rest: &str) -> Option<(String, usize)> {
    let digits = rest.trim_start_matches(['-', '+']);
    let length = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let sign = &rest[..rest.len() - digits.len()];
    let is_power = length > 0 && sign.len() < 2 && !digits[length..].starts_with(char::is_alphanumeric);
    let minus = if sign == "-" { "−" } else { "" };
    let power = format!("{minus}{}", digits[..length].trim_start_matches('0'));
    is_power.then(|| (power, sign.len() + length))
}

/// Whether a decimal number ends here, of which no letter is a part.
fn ends_with_number(line: &str) -> bool {
    let before = line.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    line.ends_with(|c: char| c.is_ascii_digit())
        && !before.ends_with(|c: char| c.is_alphanumeric() || c == '_')
}

/// The power after a circumflex, `-126` or `(e_max-25)`, and its bytes.
fn power(rest: &str) -> Option<(String, usize)> {
    let length = match rest.strip_prefix('(') {
        Some(inner) => inner.find(')')? + 2,
        None => {
            let digits = rest.trim_start_matches(['-', '−']);
            let count = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
            (count > 0).then_some(rest.len() - digits.len() + count)?
        }
    };
    let power = rest[..length].trim_start_matches('(').trim_end_matches(')');
    Some((power.replace('-', "−"), length))
}

/// The name and the index of a name that has one, and its bytes.
fn index(rest: &str) -> Option<(String, String, usize)> {
    let (written, name, index) = INDEXED.into_iter().find(|(written, ..)| {
        let after = rest.strip_prefix(written).map(|after| after.chars().next());
        after.is_some_and(|after| written.ends_with('_') || !after.is_some_and(char::is_alphanumeric))
    })?;
    Some((name.to_owned(), index.to_owned(), written.len()))
}

/// Text as HTML: powers are raised, indices lowered, and a long name may be broken after a mark.
pub fn typeset(text: &str) -> String {
    let mut set = String::with_capacity(text.len());
    for (level, run) in runs(text) {
        let _ = match level {
            Level::Line => write!(set, "{}", broken(&run)),
            Level::Up => write!(set, "<sup>{}</sup>", typeset(&run)),
            Level::Down => write!(set, "<sub>{}</sub>", escaped(&run)),
        };
    }
    set
}

/// Letters that a word may have before it may be broken.
const LONG: usize = 14;

/// Escaped text in which long words may be broken after dots, underscores and the like.
fn broken(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (index, word) in text.split(' ').enumerate() {
        if index > 0 {
            out.push(' ');
        }
        if word.chars().count() <= LONG {
            out += &escaped(word);
            continue;
        }
        for part in word.split_inclusive(['.', '_', ':', '/', '·', '|', ',', '×']) {
            out += &escaped(part);
            out += "<wbr/>";
        }
    }
    out
}

/// Text for HTML and XML.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::typeset;

    #[test]
    fn powers_and_indices_are_set() {
        assert_eq!(typeset("2^-126 (BF16)"), "2<sup>−126</sup> (BF16)");
        assert_eq!(typeset("17 · 2^(e_max-25)"), "17 · 2<sup>e<sub>max</sub>−25</sup>");
        assert_eq!(typeset("a < b^c"), "a &lt; b^c");
        assert_eq!(
            typeset("δ_RD, L_max = 4, F2 = 31"),
            "δ<sub>RD</sub>, L<sub>max</sub> = 4, F<sub>2</sub> = 31"
        );
        assert_eq!(
            typeset("4.60e-4, 1e300·x, 1e+20, 2e-09"),
            "4.60·10<sup>−4</sup>, 1·10<sup>300</sup>·x, 1·10<sup>20</sup>, 2·10<sup>−9</sup>"
        );
        assert_eq!(typeset("0x1e5, f8e4m3, 8e4m3"), "0x1e5, f8e4m3, 8e4m3");
        assert_eq!(typeset("F24, 0xF2, the_max, e_maximum"), "F24, 0xF2, the_max, e_maximum");
        assert_eq!(typeset("v_mfma_f32_32x32x8f16"), "v_<wbr/>mfma_<wbr/>f32_<wbr/>32x32x8f16<wbr/>");
    }
}
