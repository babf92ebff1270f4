//! The header of a `.npy` file: a dictionary as Python writes it (NumPy, `numpy.lib.format`, versions 1.0 to 3.0).
//!
//! Read here: `npyz` 0.9.1 brings 22 crates (a grammar by `pest`, a C compiler by `stacker`) and 26 s of processor time to a first build.

use std::fmt;

/// Longest header that is read: NumPy's own limit.
const MAX_HEADER: usize = 10_000;
/// Brackets in one another, at most.
const MAX_DEPTH: usize = 8;
/// Where elements begin is a multiple of it.
const ALIGNMENT: usize = 64;

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// In which order a file lists its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The last index runs fastest.
    C,
    /// The first index runs fastest.
    Fortran,
}

/// The first byte of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endian {
    /// The least significant.
    Little,
    /// The most significant.
    Big,
}

/// A type of NumPy's: byte order, kind, bytes: `<f2`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Type {
    text: String,
    /// `f`, `u`, `i`, `c`, `b`, or any other letter of NumPy's.
    pub kind: char,
    /// Of one element; 0 where the type does not say.
    pub bytes: u64,
    /// Of each element.
    pub endian: Endian,
}

impl Type {
    fn new(text: &str) -> Option<Type> {
        let mut letters = text.chars();
        let endian = match letters.next()? {
            '<' | '|' => Endian::Little,
            '>' => Endian::Big,
            _ => return None,
        };
        let kind = letters.next().filter(|kind| "biufcmMOSUV".contains(*kind))?;
        let rest = letters.as_str();
        let (digits, unit) = rest.split_at(rest.find('[').unwrap_or(rest.len()));
        let dated = matches!(kind, 'm' | 'M') && unit.ends_with(']'); // `<M8[ns]`
        let bytes = if digits.is_empty() && kind == 'O' { 0 } else { digits.parse().ok()? };
        (unit.is_empty() || dated).then(|| Type { text: text.to_owned(), kind, bytes, endian })
    }
}

/// As the file spells it.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// What a header says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Of the elements; `None` for records, which have several.
    pub element: Option<Type>,
    /// Of the elements.
    pub order: Order,
    /// Any number of dimensions, whose product (a 0 counted as a 1) is below 2^64.
    pub shape: Vec<u64>,
    /// Where the elements begin.
    pub end: usize,
}

impl Header {
    /// The header at the beginning of a file, or why it has none.
    pub fn read(file: &[u8]) -> Result<Header, String> {
        if !file.starts_with(MAGIC) {
            let start = file[..file.len().min(MAGIC.len())].escape_ascii();
            let begins =
                if file.is_empty() { "it is empty".to_owned() } else { format!("it begins with {start}") };
            return Err(format!("no .npy file: {begins}; {} was expected", MAGIC.escape_ascii()));
        }
        let length_bytes = match file.get(6..8) {
            Some([1, 0]) => 2,
            Some([2 | 3, 0]) => 4,
            Some([major, minor]) => {
                return Err(format!(".npy version {major}.{minor}; 1.0, 2.0 and 3.0 are known"));
            }
            _ => return Err(format!("cut short: {} bytes", file.len())),
        };
        let text = 8 + length_bytes;
        let Some(length) = file.get(8..text) else { return Err(format!("cut short: {} bytes", file.len())) };
        let length = length.iter().rev().fold(0usize, |sum, byte| sum << 8 | usize::from(*byte));
        if length > MAX_HEADER {
            return Err(format!("a header of {length} bytes; {MAX_HEADER} are the most that NumPy reads"));
        }
        let Some(header) = file.get(text..text + length) else {
            return Err(format!(
                "cut short: a header of {length} bytes; {} follow its length",
                file.len() - text
            ));
        };
        let header = str::from_utf8(header).map_err(|_| "the header is not UTF-8".to_owned())?;
        dictionary(&words(header)?, text + length)
    }

    /// Version 1.0, for little-endian elements of that type in C order.
    pub fn write(type_name: &str, shape: &[usize]) -> Vec<u8> {
        let sizes: String = shape.iter().map(|size| format!("{size}, ")).collect();
        let mut text =
            format!("{{'descr': '{type_name}', 'fortran_order': False, 'shape': ({sizes}), }}").into_bytes();
        let before = MAGIC.len() + 4;
        while !(before + text.len() + 1).is_multiple_of(ALIGNMENT) {
            text.push(b' ');
        }
        text.push(b'\n');
        let length = (text.len() as u16).to_le_bytes(); // at most three dimensions
        [MAGIC, &[1, 0][..], &length, &text].concat()
    }
}

/// A word of the dictionary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word<'h> {
    /// Between quotes.
    Text(&'h str),
    Number(u64),
    Bool(bool),
    /// A bracket, comma, colon or minus.
    Mark(char),
}

/// The words of a header. One with anything that NumPy does not write there is refused.
fn words(header: &str) -> Result<Vec<Word<'_>>, String> {
    let foreign = |what: &str| Err(format!("the header holds {what}, which NumPy does not write there"));
    let mut words = Vec::new();
    let mut depth = 0usize;
    let mut rest = header.trim_start_matches([' ', '\n']);
    while let Some(first) = rest.chars().next() {
        let (word, length) = match first {
            '\'' | '"' => {
                let Some(end) = rest[1..].find(first) else { return foreign("an open quote") };
                let quoted = &rest[1..=end];
                if quoted.is_empty() || quoted.contains('\\') {
                    return foreign(if quoted.is_empty() { "an empty text" } else { "a backslash" });
                }
                (Word::Text(quoted), end + 2)
            }
            '0'..='9' => {
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
                let Ok(number) = rest[..end].parse() else {
                    return Err(format!("dimension {} cannot be held", &rest[..end]));
                };
                (Word::Number(number), end)
            }
            '(' | '[' | '{' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return foreign(&format!("more than {MAX_DEPTH} brackets in one another"));
                }
                (Word::Mark(first), 1)
            }
            ')' | ']' | '}' => {
                depth = depth.saturating_sub(1);
                (Word::Mark(first), 1)
            }
            ',' | ':' | '-' => (Word::Mark(first), 1),
            _ if rest.starts_with("True") => (Word::Bool(true), 4),
            _ if rest.starts_with("False") => (Word::Bool(false), 5),
            other => return foreign(&format!("{other:?}")),
        };
        words.push(word);
        rest = rest[length..].trim_start_matches([' ', '\n']);
    }
    Ok(words)
}

/// The three entries, in any order, each once.
fn dictionary(words: &[Word<'_>], end: usize) -> Result<Header, String> {
    let not_one = || "the header is not a dictionary of 'descr', 'fortran_order' and 'shape'".to_owned();
    let inner = match words {
        [Word::Mark('{'), inner @ .., Word::Mark('}')] => inner,
        _ => return Err(not_one()),
    };
    let (mut element, mut order, mut shape) = (None, None, None);
    let mut rest = inner;
    while !rest.is_empty() {
        let [Word::Text(key), Word::Mark(':'), after @ ..] = rest else { return Err(not_one()) };
        let (value, after) = after.split_at(value_length(after).ok_or_else(not_one)?);
        let twice = match *key {
            "descr" => element.replace(self::element(value)?).is_some(),
            "fortran_order" => match value {
                [Word::Bool(true)] => order.replace(Order::Fortran).is_some(),
                [Word::Bool(false)] => order.replace(Order::C).is_some(),
                _ => return Err("'fortran_order' must be True or False".to_owned()),
            },
            "shape" => shape.replace(self::shape(value)?).is_some(),
            other => return Err(format!("the header holds the key '{other}'; {}", not_one())),
        };
        if twice {
            return Err(format!("the header holds the key '{key}' twice"));
        }
        rest = match after {
            [Word::Mark(','), after @ ..] => after,
            [] => after,
            _ => return Err(not_one()),
        };
    }
    match (element, order, shape) {
        (Some(element), Some(order), Some(shape)) => Ok(Header { element, order, shape, end }),
        _ => Err(not_one()),
    }
}

/// How many words the first value takes: one, or all from a bracket to the one that closes it.
fn value_length(words: &[Word<'_>]) -> Option<usize> {
    let mut depth = 0usize;
    for (index, word) in words.iter().enumerate() {
        match word {
            Word::Mark('(' | '[') => depth += 1,
            Word::Mark(')' | ']') => depth = depth.checked_sub(1)?,
            Word::Mark(',' | ':' | '-' | '{' | '}') if depth == 0 => return None,
            _ => {}
        }
        if depth == 0 {
            return Some(index + 1);
        }
    }
    None
}

fn element(value: &[Word<'_>]) -> Result<Option<Type>, String> {
    match value {
        // not a type of NumPy: some versions of ml_dtypes write it for all of theirs of one byte
        [Word::Text(text @ ("<f1" | "|f1" | ">f1"))] => {
            Ok(Some(Type { text: (*text).to_owned(), kind: 'V', bytes: 1, endian: Endian::Little }))
        }
        [Word::Text(text)] => match Type::new(text) {
            Some(element) => Ok(Some(element)),
            None => Err(format!("'{text}' is not a type of NumPy's")),
        },
        [Word::Mark('['), .., Word::Mark(']')] => Ok(None),
        _ => Err("'descr' must be a type or a list of fields".to_owned()),
    }
}

fn shape(value: &[Word<'_>]) -> Result<Vec<u64>, String> {
    let wrong = || "'shape' must be a tuple of sizes, as (16, 8)".to_owned();
    let (list, inner) = match value {
        [Word::Mark('('), inner @ .., Word::Mark(')')] => (false, inner),
        [Word::Mark('['), inner @ .., Word::Mark(']')] => (true, inner),
        _ => return Err(wrong()),
    };
    let mut sizes = Vec::new();
    let mut rest = inner;
    while !rest.is_empty() {
        rest = match rest {
            [Word::Number(size), after @ ..] => {
                sizes.push(*size);
                match after {
                    [Word::Mark(','), after @ ..] => after,
                    [] if list || sizes.len() > 1 => after, // (16) is a number
                    _ => return Err(wrong()),
                }
            }
            [Word::Mark('-'), Word::Number(size), ..] => {
                return Err(format!("dimension -{size} is negative"));
            }
            _ => return Err(wrong()),
        };
    }
    let product = sizes.iter().try_fold(1u64, |product, &size| product.checked_mul(size.max(1)));
    if product.is_none() {
        let sizes: Vec<String> = sizes.iter().map(u64::to_string).collect();
        return Err(format!("the dimensions multiply to more than 64 bits hold: ({})", sizes.join(", ")));
    }
    Ok(sizes)
}
