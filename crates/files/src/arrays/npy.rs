//! `.npy`: one array, as `numpy.save` writes it (NumPy, `numpy.lib.format`, versions 1.0 to 3.0).

use std::io::Write;
use std::path::Path;

use bitmma_engine::Codes;
use bitmma_engine::formats::{F16, F32, F64, Format, TF32, XF32};

use super::header::{Header, Type};
use super::tensor::{Tensor, dimensions, no_type, packed_bytes};
use super::{Error, Within, elements};
use crate::reading;

/// The formats whose codes a native float of that many bytes holds.
fn formats(bytes: u64) -> &'static [Format] {
    match bytes {
        2 => &[F16],
        4 => &[F32, TF32, XF32],
        8 => &[F64],
        _ => &[],
    }
}

/// The bytes of the native float that holds `format`.
pub fn float_bytes(format: &Format) -> Option<u64> {
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
        Some(name) => match formats(name.bytes).first() {
            Some(format) if name.kind == 'f' => return Ok(Some(*format)),
            _ => in_words(name),
        },
        None => "records".to_owned(),
    };
    let file = path.display();
    bail!("{file} holds {given}; float16, float32, float64 or unsigned codes are read")
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
        'f' if formats(name.bytes).contains(format) => {}
        'u' if name.bytes == format.bytes() as u64 => {}
        // ml_dtypes' arrays: the file has lost their type, the instruction has it; a float of NumPy's own is not written so
        'V' if name.bytes == format.bytes() as u64 && float_bytes(format).is_none() => {}
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

/// Writes codes of `format` as native floats.
pub fn write(
    target: &mut impl Write,
    format: &Format,
    shape: &[usize],
    codes: &Codes,
) -> std::io::Result<()> {
    let bytes = float_bytes(format).ok_or_else(|| no_type(format))?;
    target.write_all(&Header::write(&format!("<f{bytes}"), shape))?;
    elements::write(target, codes)
}

/// What a file of unsigned integers of 1, 2, 4 or 8 bytes begins with.
pub fn head_of_integers(bytes: usize, shape: &[usize]) -> Vec<u8> {
    let name = if bytes == 1 { "|u1".to_owned() } else { format!("<u{bytes}") };
    Header::write(&name, shape)
}
