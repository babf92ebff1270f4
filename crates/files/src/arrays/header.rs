//! The header of a `.npy` file: a dictionary as Python writes it (NumPy, `numpy.lib.format`, versions 1.0 to 3.0).
//!
//! Read as TOML here: `npyz` 0.9.1 brings 22 crates (a grammar by `pest`, a C compiler by `stacker`) and 26 s of processor time to a first build.

use std::fmt;

use serde::Deserialize;
use toml::Value;
use toml::de::ValueDeserializer;

/// Longest header that is read: NumPy's own limit.
const MAX_HEADER: usize = 10_000;
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
        dictionary(header, text + length)
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

/// The dictionary, each entry once.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Dictionary {
    descr: Value,
    fortran_order: bool,
    shape: Vec<u64>,
}

/// What a dictionary says: with other marks, it is a table of TOML.
fn dictionary(header: &str, end: usize) -> Result<Header, String> {
    let mut table = header.to_owned();
    for (python, toml) in [(":", "="), ("(", "["), (")", "]"), ("True", "true"), ("False", "false")] {
        table = table.replace(python, toml);
    }
    let read = ValueDeserializer::parse(table.trim()).and_then(Dictionary::deserialize);
    let Dictionary { descr, fortran_order, shape } = read.map_err(|error| {
        let problem = error.message();
        format!("the header is not a dictionary of 'descr', 'fortran_order' and 'shape': {problem}")
    })?;
    if shape.iter().try_fold(1u64, |product, &size| product.checked_mul(size.max(1))).is_none() {
        let sizes: Vec<String> = shape.iter().map(u64::to_string).collect();
        return Err(format!("the dimensions multiply to more than 64 bits hold: ({})", sizes.join(", ")));
    }
    let element = match descr {
        // not a type of NumPy: some versions of ml_dtypes write it for all of theirs of one byte
        Value::String(text) if matches!(text.as_str(), "<f1" | "|f1" | ">f1") => {
            Some(Type { text, kind: 'V', bytes: 1, endian: Endian::Little })
        }
        Value::String(text) => {
            Some(Type::new(&text).ok_or_else(|| format!("'{text}' is not a type of NumPy's"))?)
        }
        Value::Array(_) => None,
        _ => return Err("'descr' must be a type or a list of fields".to_owned()),
    };
    let order = if fortran_order { Order::Fortran } else { Order::C };
    Ok(Header { element, order, shape, end })
}
