//! NumPy's `.npz` archives: ZIP files of `.npy` arrays of unsigned integers.
//!
//! Only what `numpy.savez` and `numpy.savez_compressed` write is read: entries that are stored or deflated, version 1
//! to 3 headers, one array in C order each. Sizes and checksums are checked.

use std::collections::HashMap;
use std::path::Path;

use crate::error::Error;

/// An array of whole numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    /// Its shape.
    pub shape: Vec<usize>,
    /// Bytes of an element: 1, 2, 4 or 8.
    pub width: usize,
    /// Whether elements are signed.
    pub signed: bool,
    /// The elements, little-endian.
    pub bytes: Vec<u8>,
}

impl Array {
    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.width
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// One element; negative ones in two's complement.
    pub fn get(&self, index: usize) -> u64 {
        let bytes = &self.bytes[index * self.width..(index + 1) * self.width];
        let code = bytes.iter().rev().fold(0u64, |code, &byte| code << 8 | u64::from(byte));
        if self.signed && bytes.last().is_some_and(|&top| top >= 0x80) && self.width < 8 {
            code | u64::MAX << (8 * self.width)
        } else {
            code
        }
    }
}

/// The arrays of an archive, read one by one as they are asked for.
#[derive(Debug)]
pub struct Archive {
    file: String,
    bytes: Vec<u8>,
    entries: HashMap<String, Entry>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    method: u16,
    checksum: u32,
    packed: usize,
    size: usize,
    header: usize,
}

/// Bytes that an entry may have; a table or a recording has fewer.
const MOST: usize = 1 << 31;

fn number(bytes: &[u8], at: usize, width: usize) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(width)?)?;
    Some(bytes.iter().rev().fold(0, |number, &byte| number << 8 | usize::from(byte)))
}

impl Archive {
    /// Opens an archive.
    pub fn open(path: &Path) -> Result<Archive, Error> {
        let bytes = std::fs::read(path).map_err(|error| Error::file(path, error))?;
        Archive::new(path.display().to_string(), bytes)
    }

    /// An archive that is held already; `file` is its name in messages.
    pub fn new(file: String, bytes: Vec<u8>) -> Result<Archive, Error> {
        let Some(entries) = directory(&bytes) else {
            return Err(Error::File {
                file,
                problem: "not an .npz archive: its ZIP directory is missing or broken".into(),
            });
        };
        Ok(Archive { file, bytes, entries })
    }

    /// Names of all arrays, without `.npy`, in order.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.entries.keys().map(String::as_str).collect();
        names.sort_unstable();
        names
    }

    /// Whether there is an array of that name.
    pub fn has(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    /// The array of that name.
    pub fn array(&self, name: &str) -> Result<Array, Error> {
        let wrong =
            |problem: &str| Error::File { file: self.file.clone(), problem: format!("{name}: {problem}") };
        let entry = self.entries.get(name).ok_or_else(|| wrong("no such array"))?;
        let bytes = self.unpack(entry).ok_or_else(|| wrong("cut off, or its checksum does not match"))?;
        array(&bytes).map_err(|problem| wrong(&problem))
    }

    fn unpack(&self, entry: &Entry) -> Option<Vec<u8>> {
        let name = number(&self.bytes, entry.header + 26, 2)?;
        let extra = number(&self.bytes, entry.header + 28, 2)?;
        let start = entry.header + 30 + name + extra;
        let packed = self.bytes.get(start..start.checked_add(entry.packed)?)?;
        let bytes = match entry.method {
            0 => packed.to_vec(),
            8 => miniz_oxide::inflate::decompress_to_vec_with_limit(packed, entry.size).ok()?,
            _ => return None,
        };
        (bytes.len() == entry.size && crc32(&bytes) == entry.checksum).then_some(bytes)
    }
}

/// The central directory (APPNOTE.TXT 4.3.12 and 4.3.16).
fn directory(bytes: &[u8]) -> Option<HashMap<String, Entry>> {
    let last = bytes.len().checked_sub(22)?;
    let end =
        (last.saturating_sub(0xffff)..=last).rev().find(|&at| bytes[at..].starts_with(b"PK\x05\x06"))?;
    let (count, mut at) = (number(bytes, end + 10, 2)?, number(bytes, end + 16, 4)?);
    let mut entries = HashMap::new();
    for _ in 0..count {
        if !bytes.get(at..)?.starts_with(b"PK\x01\x02") {
            return None;
        }
        let name_length = number(bytes, at + 28, 2)?;
        let name = String::from_utf8(bytes.get(at + 46..at + 46 + name_length)?.to_vec()).ok()?;
        let entry = Entry {
            method: number(bytes, at + 10, 2)? as u16,
            checksum: number(bytes, at + 16, 4)? as u32,
            packed: number(bytes, at + 20, 4)?,
            size: number(bytes, at + 24, 4)?,
            header: number(bytes, at + 42, 4)?,
        };
        if entry.size > MOST {
            return None;
        }
        at += 46 + name_length + number(bytes, at + 30, 2)? + number(bytes, at + 32, 2)?;
        entries.insert(name.strip_suffix(".npy").unwrap_or(&name).to_owned(), entry);
    }
    Some(entries)
}

/// CRC-32 as ZIP has it.
fn crc32(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut index = 0;
        while index < 256 {
            let mut value = index as u32;
            let mut bit = 0;
            while bit < 8 {
                value = if value & 1 == 1 { value >> 1 ^ 0xedb8_8320 } else { value >> 1 };
                bit += 1;
            }
            table[index] = value;
            index += 1;
        }
        table
    };
    !bytes.iter().fold(!0, |sum, &byte| TABLE[((sum ^ u32::from(byte)) & 0xff) as usize] ^ sum >> 8)
}

/// Reads one `.npy` file (NumPy's format specification, versions 1 to 3).
pub fn array(bytes: &[u8]) -> Result<Array, String> {
    if !bytes.starts_with(b"\x93NUMPY") {
        return Err("not an .npy array".to_owned());
    }
    let wide = bytes.get(6).is_some_and(|&version| version >= 2);
    let (start, length) = if wide { (12, number(bytes, 8, 4)) } else { (10, number(bytes, 8, 2)) };
    let header = length.and_then(|length| bytes.get(start..start + length)).ok_or("its header is cut off")?;
    let data = &bytes[start + header.len()..];
    let header = std::str::from_utf8(header).map_err(|_| "its header is not text")?;
    let value = |key: &str| header.split_once(&format!("'{key}':")).map(|(_, rest)| rest.trim_start());
    let kind =
        value("descr").and_then(|rest| rest.strip_prefix('\'')).and_then(|rest| rest.split('\'').next());
    let (signed, width) = match kind {
        Some("|u1" | "<u1" | "|b1") => (false, 1),
        Some("<u2") => (false, 2),
        Some("<u4") => (false, 4),
        Some("<u8") => (false, 8),
        Some("|i1") => (true, 1),
        Some("<i2") => (true, 2),
        Some("<i4") => (true, 4),
        Some("<i8") => (true, 8),
        other => {
            return Err(format!(
                "elements are {}; little-endian integers are read",
                other.unwrap_or("nameless")
            ));
        }
    };
    let shape =
        value("shape").and_then(|rest| rest.strip_prefix('(')).and_then(|rest| rest.split(')').next());
    let sizes = shape.ok_or("it has no shape")?.split(',').map(str::trim).filter(|size| !size.is_empty());
    let shape: Vec<usize> =
        sizes.map(str::parse).collect::<Result<_, _>>().map_err(|_| "its shape does not read")?;
    let count =
        shape.iter().try_fold(1usize, |count, &size| count.checked_mul(size)).ok_or("it is too large")?;
    if value("fortran_order").is_none_or(|rest| !rest.starts_with("False")) && shape.len() > 1 && count > 0 {
        return Err("it is in Fortran order; C order is read".to_owned());
    }
    if data.len() != count * width {
        return Err(format!("{} bytes of data; its shape takes {}", data.len(), count * width));
    }
    Ok(Array { shape, width, signed, bytes: data.to_vec() })
}
