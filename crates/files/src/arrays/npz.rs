//! NumPy's `.npz` archives: ZIP files of `.npy` arrays of integers.
//!
//! Only what `numpy.savez` and `numpy.savez_compressed` write is read: entries that are stored or deflated, one array
//! in C order each. Sizes and checksums are checked.

use std::collections::HashMap;
use std::path::Path;

use bytemuck::allocation::try_zeroed_vec;
use miniz_oxide::inflate::decompress_slice_iter_to_slice;
use rawzip::{CompressionMethod, ZipArchive, ZipArchiveEntryWayfinder, ZipSliceArchive, crc32};

use super::header::{Endian, Header, Order, Type};
use super::{Error, Within};
use crate::content::{kind, unexpected};
use crate::reading;

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
    archive: ZipSliceArchive<Vec<u8>>,
    entries: HashMap<String, (CompressionMethod, ZipArchiveEntryWayfinder)>,
}

/// Bytes that an entry may have; a table or a recording has fewer.
const MOST: u64 = 1 << 31;
/// Bytes that one byte of DEFLATE stands for, at most: 258 by two bits.
const MOST_DEFLATED: usize = 1032;

impl Archive {
    /// Opens an archive.
    pub fn open(path: &Path) -> Result<Archive, Error> {
        let bytes = reading::bytes(path, "an .npz archive", u64::MAX - 1).within(path.display())?;
        Archive::new(path.display().to_string(), bytes)
    }

    /// An archive that is held already; `file` is its name in messages.
    pub fn new(file: String, bytes: Vec<u8>) -> Result<Archive, Error> {
        let problem = match kind(&bytes) {
            "an .npz archive" => "its ZIP directory is missing or broken".to_owned(),
            _ => unexpected(&bytes, "an .npz archive"),
        };
        let read = || {
            let archive = ZipArchive::from_slice(bytes).ok()?;
            let mut entries = HashMap::new();
            let mut rest = archive.entries();
            for _ in 0..archive.entries_hint() {
                let entry = rest.next_entry().ok()??;
                let name = str::from_utf8(entry.file_path().as_bytes()).ok()?;
                if entry.uncompressed_size_hint() > MOST {
                    return None;
                }
                let name = name.strip_suffix(".npy").unwrap_or(name).to_owned();
                entries.insert(name, (entry.compression_method(), entry.wayfinder()));
            }
            Some((archive, entries))
        };
        let (archive, entries) = read().ok_or(problem).within(&file)?;
        Ok(Archive { file, archive, entries })
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
        let place = format!("{}: {name}", self.file);
        let (method, entry) = self.entries.get(name).ok_or("no such array").within(&place)?;
        array(self.unpack(*method, *entry).within(&place)?).within(&place)
    }

    fn unpack(
        &self,
        method: CompressionMethod,
        place: ZipArchiveEntryWayfinder,
    ) -> Result<Vec<u8>, &'static str> {
        const BROKEN: &str = "truncated, or its checksum does not match";
        let entry = self.archive.get_entry(place).map_err(|_| BROKEN)?;
        let (packed, size) = (entry.data(), place.uncompressed_size_hint() as usize);
        // no memory is asked for that the entry cannot fill
        if size > packed.len().saturating_mul(MOST_DEFLATED).saturating_add(MOST_DEFLATED) {
            return Err(BROKEN);
        }
        let mut bytes: Vec<u8> = try_zeroed_vec(size).map_err(|()| "it cannot be held in memory")?;
        match method {
            CompressionMethod::STORE if packed.len() == size => bytes.copy_from_slice(packed),
            CompressionMethod::DEFLATE => {
                let filled = decompress_slice_iter_to_slice(&mut bytes, std::iter::once(packed), false, true);
                filled.ok().filter(|&filled| filled == size).ok_or(BROKEN)?;
            }
            _ => return Err(BROKEN),
        }
        if crc32(&bytes) == entry.claim_verifier().crc { Ok(bytes) } else { Err(BROKEN) }
    }
}

/// Reads one `.npy` file of integers.
fn array(mut bytes: Vec<u8>) -> Result<Array, String> {
    let Header { element, order, shape, end } = Header::read(&bytes)?;
    let (signed, width) = match &element {
        Some(Type { kind: 'u' | 'b', bytes: width @ (1 | 2 | 4 | 8), endian: Endian::Little, .. }) => {
            (false, *width as usize)
        }
        Some(Type { kind: 'i', bytes: width @ (1 | 2 | 4 | 8), endian: Endian::Little, .. }) => {
            (true, *width as usize)
        }
        other => {
            let given = other.as_ref().map_or("records".to_owned(), Type::to_string);
            return Err(format!("elements are {given}; little-endian integers are read"));
        }
    };
    let sizes: Option<Vec<usize>> = shape.iter().map(|&size| size.try_into().ok()).collect();
    let shape = sizes.ok_or("it is too large")?;
    let taken = shape.iter().try_fold(width, |taken, &size| taken.checked_mul(size));
    let taken = taken.ok_or("it is too large")?;
    if order == Order::Fortran && shape.len() > 1 && taken > 0 {
        return Err("it is in Fortran order; C order is read".to_owned());
    }
    bytes.drain(..end);
    if bytes.len() != taken {
        return Err(format!("{} bytes of data; its shape takes {taken}", bytes.len()));
    }
    Ok(Array { shape, width, signed, bytes })
}

/// An archive in the making, as `numpy.savez` writes one: every array stored as it is (APPNOTE.TXT 4.3.7, 4.3.12, 4.3.16).
///
/// Not by `rawzip`, whose writer puts sizes and checksum after an entry: no line shorter, and files would be other bytes.
#[derive(Debug, Default)]
pub struct Writer {
    files: Vec<u8>,
    directory: Vec<u8>,
    count: u16,
}

/// The date that an entry has: 1980-01-01, the first there is, so that the same arrays make the same file.
const DATE: u16 = 1 << 5 | 1;

impl Writer {
    /// Adds an array, the content of a .npy file; `None` where the archive would pass 4 GiB.
    pub fn add(&mut self, name: &str, npy: &[u8]) -> Option<()> {
        let name = format!("{name}.npy");
        let (start, size) = (u32::try_from(self.files.len()).ok()?, u32::try_from(npy.len()).ok()?);
        let mut entry = Vec::new();
        // version 2.0; no flags; stored; midnight
        [20, 0, 0, 0, DATE].iter().for_each(|field: &u16| entry.extend(field.to_le_bytes()));
        [crc32(npy), size, size].iter().for_each(|field| entry.extend(field.to_le_bytes()));
        entry.extend((name.len() as u16).to_le_bytes());
        entry.extend([0, 0]); // no extra field
        self.files.extend(b"PK\x03\x04");
        self.files.extend(&entry);
        self.files.extend(name.as_bytes());
        self.files.extend(npy);
        self.directory.extend(b"PK\x01\x02\x14\x00"); // made by version 2.0
        self.directory.extend(&entry);
        self.directory.extend([0; 10]); // no comment, the first disk, no attributes
        self.directory.extend(start.to_le_bytes());
        self.directory.extend(name.as_bytes());
        self.count += 1;
        u32::try_from(self.files.len() + self.directory.len()).ok().map(drop)
    }

    /// The whole file.
    pub fn finish(mut self) -> Vec<u8> {
        let (start, size) = (self.files.len() as u32, self.directory.len() as u32);
        self.files.append(&mut self.directory);
        self.files.extend(b"PK\x05\x06\0\0\0\0");
        [self.count, self.count].iter().for_each(|count| self.files.extend(count.to_le_bytes()));
        [size, start].iter().for_each(|field| self.files.extend(field.to_le_bytes()));
        self.files.extend([0, 0]);
        self.files
    }
}
