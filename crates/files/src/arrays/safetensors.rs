//! `.safetensors`: tensors with names, in the element types of machine learning.
//!
//! Eight bytes of header length, a JSON header, the elements; little-endian, last index fastest. `F4` and
//! `F6_*` are packed without gaps, first element in the lowest bits, and shapes count elements.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use ::safetensors::Dtype;
use ::safetensors::tensor::{Metadata, TensorInfo};
use bitmma_engine::Codes;
use bitmma_engine::formats::{
    BF16, E2M1, E2M3, E3M2, E4M3, E4M3FNUZ, E5M2, E5M2FNUZ, F16, F32, F64, Format, S8, S32, TF32, UE4M3,
    UE8M0, XF32, packing,
};
use serde_json::{Value, json};

use super::header::{Endian, Order};
use super::tensor::{Tensor, dimensions, no_type, packed_bytes};
use super::{Error, Within, elements};
use crate::reading;

/// Longest header that is read: the format's own limit.
const MAX_HEADER: u64 = 100_000_000;

/// Bytes of the header's length.
const LENGTH: u64 = 8;

/// Tensors that a message lists before it only counts them.
const LISTED: usize = 12;

/// Which formats the elements of a type are codes of. UE4M3 has no type of its own: it is E4M3 whose sign
/// is ignored.
#[rustfmt::skip]
const FORMATS: [(Dtype, &[Format]); 14] = [
    (Dtype::F64, &[F64]),
    (Dtype::F32, &[F32, TF32, XF32]),
    (Dtype::BF16, &[BF16]),
    (Dtype::F16, &[F16]),
    (Dtype::F8_E5M2, &[E5M2]),
    (Dtype::F8_E4M3, &[E4M3, UE4M3]),
    (Dtype::F8_E5M2FNUZ, &[E5M2FNUZ]),
    (Dtype::F8_E4M3FNUZ, &[E4M3FNUZ]),
    (Dtype::F8_E8M0, &[UE8M0]),
    (Dtype::F6_E3M2, &[E3M2]),
    (Dtype::F6_E2M3, &[E2M3]),
    (Dtype::F4, &[E2M1]),
    (Dtype::I32, &[S32]),
    (Dtype::I8, &[S8]),
];

/// The type whose elements are codes of `format`.
pub fn dtype_of(format: &Format) -> Option<Dtype> {
    FORMATS.iter().find(|(_, formats)| formats.contains(format)).map(|(dtype, _)| *dtype)
}

/// Whether that many elements of `bits` bits fill whole bytes.
pub fn ends_on_a_byte(shape: &[usize], bits: usize) -> bool {
    // only what is left of 8 counts
    shape.iter().fold(bits % 8, |left, size| left * (size % 8) % 8) == 0
}

/// The unsigned integers that hold codes of `format`, one each.
fn integers(format: &Format) -> Dtype {
    match format.bytes() {
        1 => Dtype::U8,
        2 => Dtype::U16,
        4 => Dtype::U32,
        _ => Dtype::U64,
    }
}

fn in_words(info: &TensorInfo) -> String {
    format!("{}, {}", info.dtype, dimensions(&info.shape))
}

/// The format that a tensor's type names, the usual one where it holds several; `None` for unsigned integers, which are codes.
pub fn format_of(path: &Path, name: Option<&str>) -> Result<Option<Format>, Error> {
    let (_, metadata, _) = open(path)?;
    let (_, info) = choose(&path.display().to_string(), &metadata, name)?;
    Ok(FORMATS.iter().find(|(dtype, _)| *dtype == info.dtype).map(|(_, formats)| formats[0]))
}

/// The file, what its header says, and where the tensors begin.
fn open(path: &Path) -> Result<(File, Metadata, u64), Error> {
    header(path).within(path.display())
}

fn header(path: &Path) -> Result<(File, Metadata, u64), Error> {
    let mut reader = reading::open(path, "a .safetensors file")?;
    let size = reader.seek(SeekFrom::End(0))?;
    reader.rewind()?;
    let header_size = header_size(&mut reader, size)?;
    let header = read_bytes(&mut reader, header_size)?;
    let metadata: Metadata = serde_json::from_slice(&header).map_err(|error| {
        Error(diagnose(&header).unwrap_or_else(|| format!("its header does not read: {error}")))
    })?;
    let start = LENGTH + header_size;
    let (length, rest) = (metadata.data_len(), size - start);
    if length as u64 != rest {
        bail!("its tensors take {length} bytes; {rest} follow the header");
    }
    Ok((reader, metadata, start))
}

/// The tensor of that name in `path`, or its only one, each element a code of `format`.
///
/// Only the header and that one tensor are read.
pub fn read(path: &Path, name: Option<&str>, format: &Format) -> Result<Tensor, Error> {
    let file = path.display().to_string();
    let (mut reader, metadata, start) = open(path)?;
    let (name, info) = choose(&file, &metadata, name)?;
    let (from, to) = info.data_offsets;
    reader.seek(SeekFrom::Start(start + from as u64)).within(&file)?;
    let packed = read_bytes(&mut reader, (to - from) as u64).within(&file)?;

    let source_name = format!("{file}:{name}");
    let direct = FORMATS.iter().any(|(dtype, formats)| *dtype == info.dtype && formats.contains(format));
    let integers = integers(format);
    if !direct && info.dtype != integers {
        let own = dtype_of(format).map_or(String::new(), |dtype| format!("{dtype} or from "));
        bail!("{source_name} holds {}; {format} is read from {own}{integers} codes", in_words(info));
    }
    let elements = info.shape.iter().product(); // the header was checked: it does not overflow
    let bits = info.dtype.bitsize() as u32;
    let bytes =
        if bits < 8 { packing::unpack(bits, &packed, elements).within(&source_name)? } else { packed };
    Ok(Tensor {
        source_name,
        shape: info.shape.clone(),
        order: Order::C,
        endian: Endian::Little,
        width: format.bytes(),
        bytes,
    })
}

/// Exactly `count` bytes, which the caller knows to be there.
fn read_bytes(reader: &mut File, count: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(count).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == count { Ok(bytes) } else { Err(std::io::ErrorKind::UnexpectedEof.into()) }
}

/// How long the header is, or why the file cannot have one that long.
fn header_size(reader: &mut File, size: u64) -> Result<u64, Error> {
    if size < LENGTH {
        bail!("no .safetensors file: {size} bytes; the length of its header alone takes {LENGTH}");
    }
    let mut length = [0; LENGTH as usize];
    reader.read_exact(&mut length)?;
    let (length, rest) = (u64::from_le_bytes(length), size - LENGTH);
    if length > rest {
        bail!("no .safetensors file, or cut short: a header of {length} bytes; {rest} follow its length");
    }
    if length > MAX_HEADER {
        bail!("a header of {length} bytes; {MAX_HEADER} are allowed");
    }
    Ok(length)
}

/// What is wrong with a header that `safetensors` refuses without saying so: the first tensor, in the
/// order of the file, whose bytes are not where or as many as they must be.
fn diagnose(header: &[u8]) -> Option<String> {
    let entries: BTreeMap<String, Value> = serde_json::from_slice(header).ok()?;
    let mut tensors = Vec::new();
    for (name, value) in entries.into_iter().filter(|(name, _)| name != "__metadata__") {
        match serde_json::from_value::<TensorInfo>(value) {
            Ok(info) => tensors.push((name, info)),
            Err(error) => return Some(format!("tensor '{name}': {error}")),
        }
    }
    tensors.sort_by_key(|(_, info)| info.data_offsets);
    let mut start = 0;
    for (name, info) in tensors {
        let (from, to) = info.data_offsets;
        let what = format!("tensor '{name}' ({})", in_words(&info));
        if from != start || to < from {
            return Some(format!(
                "{what} lies at bytes {from} to {to}; the tensor before it ends at {start}"
            ));
        }
        let Some(expected) = packed_bytes(&info.shape, info.dtype.bitsize()) else {
            return Some(format!("{what} has more elements than memory could hold"));
        };
        if expected != to - from {
            return Some(format!(
                "{what} takes {expected} bytes; its offsets {from} to {to} hold {}",
                to - from
            ));
        }
        let elements: usize = info.shape.iter().product();
        if !(elements * info.dtype.bitsize()).is_multiple_of(8) {
            return Some(format!("{what} does not end on a whole byte"));
        }
        start = to;
    }
    None
}

/// The tensor of that name, or the only one.
fn choose<'m>(
    file: &str,
    metadata: &'m Metadata,
    name: Option<&str>,
) -> Result<(String, &'m TensorInfo), Error> {
    let names = metadata.offset_keys();
    let wrong = |problem: String| Error(format!("{file}: {problem}"));
    let listed = || {
        let mut sorted: Vec<&String> = names.iter().collect();
        sorted.sort_unstable();
        let mut lines: Vec<String> = sorted
            .iter()
            .take(LISTED)
            .filter_map(|name| metadata.info(name).map(|info| format!("  {name}: {}", in_words(info))))
            .collect();
        if sorted.len() > LISTED {
            lines.push(format!("  and {} more", sorted.len() - LISTED));
        }
        lines.join("\n")
    };
    let chosen = match (name, names.as_slice()) {
        (_, []) => return Err(wrong("it holds no tensor".to_owned())),
        (None, [one]) => one.clone(),
        (None, several) => {
            let count = several.len();
            return Err(wrong(format!("it holds {count} tensors; choose one as {file}:NAME\n{}", listed())));
        }
        (Some(name), _) => name.to_owned(),
    };
    match metadata.info(&chosen) {
        Some(info) => Ok((chosen, info)),
        None => Err(wrong(format!("it has no tensor '{chosen}'; it holds\n{}", listed()))),
    }
}

/// Writes codes of `format` as the tensor `d`, which must end on a whole byte.
///
/// The header is written here because the crate's own lists `metadata` in another order each time, and
/// the same answer should be the same file.
pub fn write(
    target: &mut impl Write,
    format: &Format,
    shape: &[usize],
    codes: &Codes,
    metadata: &BTreeMap<&str, String>,
) -> std::io::Result<()> {
    let dtype = dtype_of(format).filter(|dtype| ends_on_a_byte(shape, dtype.bitsize()));
    let dtype = dtype.ok_or_else(|| no_type(format))?;
    let size = packed_bytes(shape, dtype.bitsize()).ok_or_else(|| no_type(format))?;
    let info = TensorInfo { dtype, shape: shape.to_vec(), data_offsets: (0, size) };
    let mut header = json!({ "__metadata__": metadata, "d": info }).to_string();
    while !header.len().is_multiple_of(8) {
        header.push(' '); // the elements begin at a multiple of eight
    }
    target.write_all(&(header.len() as u64).to_le_bytes())?;
    target.write_all(header.as_bytes())?;
    if dtype.bitsize() < 8 {
        let Codes::U8(codes) = codes else { return Err(no_type(format)) };
        let packed = packing::pack(format.bits(), codes).map_err(std::io::Error::other)?;
        return target.write_all(&packed);
    }
    elements::write(target, codes)
}
