//! `.npy`: one array, as `numpy.save` writes it (NumPy, `numpy.lib.format`, versions 1.0 to 3.0).

use std::io::Write;
use std::path::Path;

use bitmma_engine::Codes;
use bitmma_engine::formats::{F16, F32, F64, Format, S8, S32, TF32, XF32};

use super::header::{Header, Type};
use super::tensor::{Tensor, dimensions, no_type, packed_bytes};
use super::{Error, Within, elements};
use crate::reading;

/// NumPy's types, as kind and bytes, and the formats whose codes each holds: floats and signed integers. An unsigned integer may hold
/// codes of any format.
const TYPES: [(char, u64, &[Format]); 5] =
    [('f', 2, &[F16]), ('f', 4, &[F32, TF32, XF32]), ('f', 8, &[F64]), ('i', 1, &[S8]), ('i', 4, &[S32])];

/// The formats whose codes a type holds.
fn formats(name: &Type) -> &'static [Format] {
    let of_type = TYPES.iter().find(|(kind, bytes, _)| (*kind, *bytes) == (name.kind, name.bytes));
    of_type.map_or(&[], |(.., formats)| formats)
}

/// Kind and bytes of the type that holds numbers of `format`.
fn own_type(format: &Format) -> Option<(char, u64)> {
    TYPES.iter().find(|(.., formats)| formats.contains(format)).map(|(kind, bytes, _)| (*kind, *bytes))
}

/// Whether NumPy has a type for numbers of `format`.
pub fn has_type(format: &Format) -> bool {
    own_type(format).is_some()
}

/// What codes of `format` are read from, in NumPy's words.
fn accepted(format: &Format) -> String {
    let codes = format!("uint{} codes", 8 * format.bytes());
    match own_type(format) {
        Some((kind, bytes)) => {
            let word = if kind == 'f' { "float" } else { "int" };
            format!("{word}{} or from {codes}", 8 * bytes)
        }
        None => codes,
    }
}

/// NumPy's name of a type, with its spelling in the file.
fn in_words(name: &Type) -> String {
    let bits = name.bytes.saturating_mul(8);
    let word = match name.kind {
        'f' => "float",
        'u' => "uint",
        'i' => "int",
        'c' => "complex",
        'b' => return format!("bool ('{name}')"),
        _ => return format!("'{name}'"),
    };
    format!("{word}{bits} ('{name}')")
}

/// The format that an array's type names; `None` for unsigned integers, and for types that the file has lost, which are codes.
pub fn format_of(path: &Path) -> Result<Option<Format>, Error> {
    let bytes = reading::bytes(path, "a .npy array", u64::MAX - 1).within(path.display())?;
    let header = Header::read(&bytes).within(path.display())?;
    let given = match &header.element {
        Some(Type { kind: 'u' | 'V', .. }) => return Ok(None),
        Some(name) => match formats(name).first() {
            Some(format) => return Ok(Some(*format)),
            None => in_words(name),
        },
        None => "records".to_owned(),
    };
    let file = path.display();
    bail!("{file} holds {given}; float16, float32, float64, int8, int32 or unsigned codes are read")
}

/// The array in `path`, each element a code of `format`.
pub fn read(path: &Path, format: &Format) -> Result<Tensor, Error> {
    let file = path.display().to_string();
    let mut bytes = reading::bytes(path, "a .npy array", u64::MAX - 1).within(&file)?;
    let header = Header::read(&bytes).within(&file)?;
    let shape: Option<Vec<usize>> = header.shape.iter().map(|&size| usize::try_from(size).ok()).collect();
    let Some(shape) = shape else { bail!("{file}: shape {:?} cannot be held", header.shape) };

    let wrong_type = |given: String, why: &str| {
        let (shape, accepted) = (dimensions(&shape), accepted(format));
        bail!("{file} holds {given}, {shape}; {format} is read from {accepted}{why}")
    };
    let Some(name) = header.element else { return wrong_type("records".to_owned(), "") };
    match name.kind {
        _ if formats(&name).contains(format) => {}
        'u' if name.bytes == format.bytes() as u64 => {}
        // ml_dtypes' arrays: the file has lost their type, the instruction has it; a float of NumPy's own is not written so
        'V' if name.bytes == format.bytes() as u64 && !has_type(format) => {}
        'V' => return wrong_type(format!("'{name}'"), &format!(": {}", lost_type(format))),
        _ => return wrong_type(in_words(&name), ""),
    }

    let width = format.bytes();
    let (held, expected) = (bytes.len() - header.end, packed_bytes(&shape, 8 * width));
    if expected != Some(held) {
        let expected =
            expected.map_or("more bytes than there are".to_owned(), |count| format!("{count} bytes"));
        bail!(
            "{file}: {} of {} take {expected}; {held} follow the header",
            dimensions(&shape),
            in_words(&name)
        );
    }
    bytes.drain(..header.end);
    Ok(Tensor { source_name: file, shape, order: header.order, endian: name.endian, width, bytes })
}

/// Why ml_dtypes' arrays do not read, and what does.
fn lost_type(format: &Format) -> String {
    let view = 8 * format.bytes();
    format!(
        "ml_dtypes' arrays lose their type in .npy files; save array.view(numpy.uint{view}), or a .safetensors file"
    )
}

/// Writes codes of `format` as the type that has them.
pub fn write(
    target: &mut impl Write,
    format: &Format,
    shape: &[usize],
    codes: &Codes,
) -> std::io::Result<()> {
    let (kind, bytes) = own_type(format).ok_or_else(|| no_type(format))?;
    let order = if bytes == 1 { '|' } else { '<' };
    target.write_all(&Header::write(&format!("{order}{kind}{bytes}"), shape))?;
    elements::write(target, codes)
}

/// What a file of unsigned integers of 1, 2, 4 or 8 bytes begins with.
pub fn head_of_integers(bytes: usize, shape: &[usize]) -> Vec<u8> {
    let name = if bytes == 1 { "|u1".to_owned() } else { format!("<u{bytes}") };
    Header::write(&name, shape)
}
