//! What `--arg` and `--grid` say.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use bitmma_files::header::{Endian, Header, Order};
use bitmma_files::reading;
use bitmma_ptx::{Parameter, Scalar};

use crate::failure::{Failure, Within};

/// One `--arg`.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Given {
    /// A file that is read.
    File(PathBuf),
    /// A file that is written; new where it says of which type and shape.
    Out(PathBuf, Option<(String, Vec<usize>)>),
    /// A number with the type that it was given with.
    Number(String, Scalar),
    /// The bytes of a structure of numbers.
    Structure(Vec<u8>),
    /// A null pointer.
    Null,
}

/// One `--set`: a variable's name and what it holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Set(String, Held);

#[derive(Clone, Debug, PartialEq)]
enum Held {
    /// The elements of an array.
    File(PathBuf),
    Bytes(Vec<u8>),
}

/// Reads `NAME=VALUE`.
pub(super) fn set(text: &str) -> Result<Set, String> {
    let Some((name, value)) = text.split_once('=') else {
        return Err("expected NAME=VALUE, as in factors=factors.npy or count=i32:8".to_owned());
    };
    let held = match given(value)? {
        Given::File(path) => Held::File(path),
        Given::Structure(bytes) => Held::Bytes(bytes),
        Given::Number(kind, scalar) => Held::Bytes(scalar.bytes(&kind)),
        Given::Out(..) | Given::Null => {
            return Err("a variable is set to FILE.npy or to numbers with their types".to_owned());
        }
    };
    Ok(Set(name.to_owned(), held))
}

/// What variables hold.
pub(super) fn variables(all: &[Set]) -> Result<HashMap<String, Vec<u8>>, Failure> {
    let bytes = |Set(name, value): &Set| {
        let bytes = match value {
            Held::File(path) => read(path)?.bytes,
            Held::Bytes(bytes) => bytes.clone(),
        };
        Ok((name.clone(), bytes))
    };
    all.iter().map(bytes).collect()
}

/// Types of `out:FILE:TYPE:SHAPE`, as NumPy spells them.
const TYPES: [(&str, &str); 11] = [
    ("f16", "<f2"),
    ("f32", "<f4"),
    ("f64", "<f8"),
    ("u8", "|u1"),
    ("u16", "<u2"),
    ("u32", "<u4"),
    ("u64", "<u8"),
    ("i8", "|i1"),
    ("i16", "<i2"),
    ("i32", "<i4"),
    ("i64", "<i8"),
];

/// The most bytes that a new file may have.
const MOST: usize = 1 << 32;

/// Reads an argument.
pub(super) fn given(text: &str) -> Result<Given, String> {
    if text == "null" {
        return Ok(Given::Null);
    }
    if let Some(rest) = text.strip_prefix("out:") {
        return out(rest);
    }
    if text.ends_with(".npy") {
        return Ok(Given::File(text.into()));
    }
    if text.contains(',') {
        return structure(text);
    }
    let Some((kind, value)) = text.split_once(':') else {
        return Err(
            "expected FILE.npy, out:FILE.npy, a number with its type as in f32:0.5, or null".to_owned()
        );
    };
    let number = match kind {
        "f16" | "bf16" | "f32" | "f64" => value.parse().map(Scalar::Float).map_err(|_| "is not a number"),
        "i8" | "i16" | "i32" | "i64" | "u8" | "u16" | "u32" | "u64" => {
            let whole: Result<i128, _> = value.parse();
            let bits: u32 = kind[1..].parse().unwrap_or(32);
            let range = match kind.starts_with('i') {
                true => -(1i128 << (bits - 1))..1 << (bits - 1),
                false => 0..1 << bits,
            };
            match whole {
                Ok(value) if range.contains(&value) => Ok(Scalar::Integer(value)),
                Ok(_) => Err("does not fit"),
                Err(_) => Err("is not an integer"),
            }
        }
        _ => {
            return Err(format!(
                "unknown type '{kind}'; one of f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64"
            ));
        }
    };
    number
        .map(|scalar| Given::Number(kind.to_owned(), scalar))
        .map_err(|why| format!("'{value}' {why} of type {kind}"))
}

/// Numbers with commas between them, laid out as C does.
fn structure(text: &str) -> Result<Given, String> {
    let (mut bytes, mut align) = (vec![], 1);
    for member in text.split(',') {
        let Given::Number(kind, scalar) = given(member.trim())? else {
            return Err(format!("'{member}' in a structure is not a number with its type"));
        };
        let code = scalar.bytes(&kind);
        align = align.max(code.len());
        bytes.resize(bytes.len().next_multiple_of(code.len()), 0);
        bytes.extend(code);
    }
    bytes.resize(bytes.len().next_multiple_of(align), 0);
    Ok(Given::Structure(bytes))
}

/// `y.npy`, `y.npy:f32:4x1000`
fn out(text: &str) -> Result<Given, String> {
    if text.ends_with(".npy") {
        return Ok(Given::Out(text.into(), None));
    }
    let Some((file, rest)) = text.rsplit_once(".npy:") else {
        return Err("out: must name a .npy file".to_owned());
    };
    let Some((kind, shape)) = rest.split_once(':') else {
        return Err("a new file needs a type and a shape, as in out:y.npy:f32:4x1000".to_owned());
    };
    let Some((_, numpy)) = TYPES.iter().find(|(name, _)| *name == kind) else {
        let names: Vec<&str> = TYPES.iter().map(|(name, _)| *name).collect();
        return Err(format!("unknown type '{kind}'; one of {}", names.join(", ")));
    };
    let sizes: Result<Vec<usize>, _> = shape.split('x').map(str::parse).collect();
    let sizes = sizes.map_err(|_| format!("'{shape}' is not a shape; expected one such as 4x1000"))?;
    let bytes = sizes.iter().try_fold(8usize, |all, size| all.checked_mul(*size));
    if bytes.is_none_or(|bytes| bytes > MOST) {
        return Err(format!("{shape} elements are too many"));
    }
    Ok(Given::Out(format!("{file}.npy").into(), Some(((*numpy).to_owned(), sizes))))
}

/// `64`, `4,2`, `4,2,1`
pub(super) fn sizes(text: &str) -> Result<[u32; 3], String> {
    let given: Vec<Option<u32>> =
        text.split(',').map(|size| size.trim().parse().ok().filter(|size| *size > 0)).collect();
    let all: Option<Vec<u32>> = given.into_iter().collect();
    match all.as_deref() {
        Some([x]) => Ok([*x, 1, 1]),
        Some([x, y]) => Ok([*x, *y, 1]),
        Some([x, y, z]) => Ok([*x, *y, *z]),
        _ => Err("expected one to three positive integers, as in 64 or 4,2".to_owned()),
    }
}

/// An array: what stands before its elements in the file, and their bytes.
pub(super) struct Array {
    pub(super) header: Vec<u8>,
    pub(super) bytes: Vec<u8>,
}

/// The array of a file.
pub(super) fn read(path: &Path) -> Result<Array, Failure> {
    let mut header = reading::bytes(path, "a .npy array", u64::MAX - 1).within(path.display())?;
    let read = Header::read(&header).map_err(Failure::new).within(path.display())?;
    let element = read.element.as_ref().map_or(0, |element| element.bytes);
    let plain =
        read.element.as_ref().is_some_and(|element| element.bytes == 1 || element.endian == Endian::Little);
    let flat = read.shape.iter().filter(|size| **size != 1).count() < 2;
    if !plain || element == 0 || !(flat || read.order == Order::C) {
        let why = "a buffer must hold little-endian elements in C order: numpy.ascontiguousarray";
        return Err(Failure::new(why)).within(path.display());
    }
    let count = read.shape.iter().product::<u64>();
    let bytes = header.split_off(read.end);
    if count.checked_mul(element) != Some(bytes.len() as u64) {
        let why =
            format!("{count} elements of {element} bytes are not the {} bytes after the header", bytes.len());
        return Err(Failure::new(why)).within(path.display());
    }
    Ok(Array { header, bytes })
}

/// An array of zeros.
pub(super) fn zeros(kind: &str, shape: &[usize]) -> Array {
    let element: usize = kind[2..].parse().unwrap_or(1);
    Array { header: Header::write(kind, shape), bytes: vec![0; shape.iter().product::<usize>() * element] }
}

/// An error if a number was given with a type that the parameter does not have.
pub(super) fn fits(at: usize, kind: &str, parameter: Parameter<'_>) -> Result<(), Failure> {
    let float = |kind: &str| kind.contains('f');
    let wanted = parameter.kind;
    let bits = |kind: &str| kind.trim_start_matches(char::is_alphabetic).to_owned();
    if wanted == "pointer" || float(kind) != float(wanted) || bits(kind) != bits(wanted) {
        bail!("argument {at} is of type {kind}, but parameter '{}' is of type {wanted}", parameter.name);
    }
    Ok(())
}
