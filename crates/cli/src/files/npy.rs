//! `.npy`: one array, as `numpy.save` writes it (NumPy, `numpy.lib.format`, versions 1.0 to 3.0).

use std::io::Write;
use std::path::Path;

use bitmma::formats::{F16, F32, F64, Format, TF32, XF32};
use npyz::{DType, Endianness, NpyHeader, TypeChar, TypeStr, WriteOptions, WriterBuilder};

use super::Error;
use super::tensor::{Endian, Order, Tensor, dimensions, packed_bytes};

/// Longest header that is read: NumPy's own limit.
const MAX_HEADER: usize = 10_000;

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// The formats whose codes a native float of so many bytes is.
fn formats(bytes: u64) -> &'static [Format] {
    match bytes {
        2 => &[F16],
        4 => &[F32, TF32, XF32],
        8 => &[F64],
        _ => &[],
    }
}

/// The bytes of the native float that holds `format`.
pub(crate) fn float_bytes(format: &Format) -> Option<u64> {
    [2, 4, 8].into_iter().find(|bytes| formats(*bytes).contains(format))
}

/// What codes of `format` are read from, in NumPy's words.
fn accepted(format: &Format) -> String {
    let codes = format!("uint{} codes", 8 * format.bytes());
    match float_bytes(format) {
        Some(bytes) => format!("float{} or from {codes}", 8 * bytes),
        None => codes,
    }
}

/// NumPy's name of a type, with its spelling in the file.
fn in_words(name: &TypeStr) -> String {
    let bits = name.size_field().saturating_mul(8);
    let word = match name.type_char() {
        TypeChar::Float => "float",
        TypeChar::Uint => "uint",
        TypeChar::Int => "int",
        TypeChar::Complex => "complex",
        TypeChar::Bool => return format!("bool ('{name}')"),
        _ => return format!("'{name}'"),
    };
    format!("{word}{bits} ('{name}')")
}

/// The array in `path`, each element a code of `format`.
pub(crate) fn read(path: &Path, format: &Format) -> Result<Tensor, Error> {
    let file = path.display().to_string();
    let mut bytes = std::fs::read(path).map_err(|error| Error::Io { file: file.clone(), error })?;
    let malformed = |problem: String| Error::Malformed { file: file.clone(), problem };

    let start = check_header(&bytes).map_err(malformed)?;
    let header = NpyHeader::from_reader(&bytes[..start]).map_err(|error| malformed(error.to_string()))?;
    let shape: Option<Vec<usize>> = header.shape().iter().map(|&size| usize::try_from(size).ok()).collect();
    let shape = shape.ok_or_else(|| malformed(format!("shape {:?} cannot be held", header.shape())))?;

    let element = header.dtype();
    let wrong_type = |given: String| Error::Type {
        source_name: file.clone(),
        given: format!("{given}, {}", dimensions(&shape)),
        format: format.name,
        accepted: accepted(format),
    };
    let DType::Plain(name) = element else { return Err(wrong_type("records".to_owned())) };
    let size = name.size_field();
    match name.type_char() {
        TypeChar::Float if formats(size).contains(format) => {}
        TypeChar::Uint if size == format.bytes() as u64 => {}
        TypeChar::RawData => {
            return Err(Error::Type {
                source_name: file.clone(),
                given: format!("'{name}', {}", dimensions(&shape)),
                format: format.name,
                accepted: format!("{}: {}", accepted(format), lost_type(format)),
            });
        }
        _ => return Err(wrong_type(in_words(&name))),
    }

    let width = format.bytes();
    let (held, expected) = (bytes.len() - start, packed_bytes(&shape, 8 * width));
    if expected != Some(held) {
        let expected =
            expected.map_or("more bytes than there are".to_owned(), |count| format!("{count} bytes"));
        return Err(malformed(format!(
            "{} of {} take {expected}; {held} follow the header",
            dimensions(&shape),
            in_words(&name)
        )));
    }
    bytes.drain(..start);
    let order = match header.order() {
        npyz::Order::C => Order::C,
        npyz::Order::Fortran => Order::Fortran,
    };
    let endian = if name.endianness() == Endianness::Big { Endian::Big } else { Endian::Little };
    Ok(Tensor { source_name: file.clone(), shape, order, endian, width, bytes })
}

/// Why ml_dtypes' arrays do not read, and what does.
fn lost_type(format: &Format) -> String {
    let view = 8 * format.bytes();
    format!(
        "ml_dtypes' arrays lose their type in .npy files; save array.view(numpy.uint{view}), or a .safetensors file"
    )
}

/// Where the elements begin, or why this is no header that `npyz` may see.
///
/// `npyz` 0.9 allocates what the header says it takes, multiplies dimensions without regard to overflow
/// and descends into brackets as deep as they are, so all three are bounded first.
fn check_header(bytes: &[u8]) -> Result<usize, String> {
    if !bytes.starts_with(MAGIC) {
        let start = bytes[..bytes.len().min(MAGIC.len())].escape_ascii();
        let begins =
            if bytes.is_empty() { "it is empty".to_owned() } else { format!("it begins with {start}") };
        return Err(format!("no .npy file: {begins}; {} was expected", MAGIC.escape_ascii()));
    }
    let length_bytes = match bytes.get(6..8) {
        Some([1, 0]) => 2,
        Some([2 | 3, 0]) => 4,
        Some([major, minor]) => {
            return Err(format!(".npy version {major}.{minor}; 1.0, 2.0 and 3.0 are known"));
        }
        _ => return Err(format!("cut short: {} bytes", bytes.len())),
    };
    let text = 8 + length_bytes;
    let Some(length) = bytes.get(8..text) else { return Err(format!("cut short: {} bytes", bytes.len())) };
    let length = length.iter().rev().fold(0usize, |sum, byte| sum << 8 | usize::from(*byte));
    if length > MAX_HEADER {
        return Err(format!("a header of {length} bytes; {MAX_HEADER} are the most that NumPy reads"));
    }
    let Some(header) = bytes.get(text..text + length) else {
        return Err(format!(
            "cut short: a header of {length} bytes; {} follow its length",
            bytes.len() - text
        ));
    };
    check_dictionary(header)?;
    Ok(text + length)
}

/// Bounds numbers and brackets of the dictionary; a text with anything that NumPy does not write there
/// is refused, so that no other reading of it can hide a number.
fn check_dictionary(header: &[u8]) -> Result<(), String> {
    let text = str::from_utf8(header).map_err(|_| "the header is not UTF-8".to_owned())?;
    let foreign = |what: &str| Err(format!("the header holds {what}, which NumPy does not write there"));
    let mut product = Some(1u64);
    let mut depth = 0u32;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let run = |wanted: fn(char) -> bool| rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        let length = match first {
            '\'' | '"' => {
                let Some(end) = rest[1..].find(first) else { return foreign("an open quote") };
                let quoted = &rest[1..=end];
                match quoted {
                    "" => return foreign("an empty text"),
                    _ if quoted.contains('\\') => return foreign("a backslash"),
                    "<f1" | "|f1" | ">f1" => {
                        return Err(format!(
                            "'{quoted}' is no type of NumPy's own: ml_dtypes' arrays lose their type in .npy \
                             files; save array.view(numpy.uint8), or a .safetensors file"
                        ));
                    }
                    _ => end + 2,
                }
            }
            '0'..='9' => {
                let length = run(|c| c.is_ascii_alphanumeric() || c == '_');
                let Ok(number) = rest[..length].parse::<u64>() else {
                    return Err(format!("dimension {} cannot be held", &rest[..length]));
                };
                product = product.and_then(|product| product.checked_mul(number.max(1)));
                length
            }
            '(' | '[' | '{' => {
                depth += 1;
                if depth > 8 {
                    return foreign("more than 8 brackets in one another");
                }
                1
            }
            ')' | ']' | '}' => {
                depth = depth.saturating_sub(1);
                1
            }
            ',' | ':' | ' ' | '\n' | '-' => 1,
            'T' if rest.starts_with("True") => 4,
            'F' if rest.starts_with("False") => 5,
            other => return foreign(&format!("{other:?}")),
        };
        rest = &rest[length..];
    }
    if product.is_none() {
        let shape = text.split_once("'shape':").map_or(text, |(_, shape)| shape);
        let shape = shape.split_inclusive(')').next().unwrap_or(shape).trim();
        return Err(format!("the dimensions multiply to more than 64 bits hold: {shape}"));
    }
    Ok(())
}

/// Writes codes of `format` as native floats; `None` where NumPy has no such float.
pub(crate) fn write(
    target: &mut impl Write,
    format: &Format,
    shape: &[usize],
    codes: impl Iterator<Item = u64>,
) -> Option<std::io::Result<()>> {
    let bytes = float_bytes(format)?;
    Some((|| {
        let invalid = |error: npyz::ParseTypeStrError| std::io::Error::other(error.to_string());
        let name: TypeStr = format!("<f{bytes}").parse().map_err(invalid)?;
        let shape: Vec<u64> = shape.iter().map(|&size| size as u64).collect();
        WriteOptions::new_header_only()
            .dtype(DType::Plain(name))
            .shape(&shape)
            .writer(&mut *target)
            .write_header_only()?;
        for code in codes {
            target.write_all(&code.to_le_bytes()[..bytes as usize])?;
        }
        Ok(())
    })())
}
