//! Files of arrays, changed where a reader looks: in the header, whose length stays right, in an entry of an archive, whose
//! checksum stays right. A wrong length or checksum ends a reader at once, and what comes after it would not be tried.

use arbtest::arbitrary::{Result, Unstructured};
use bitmma_files::header::Header;
use bitmma_files::npz::{Archive, Writer};

use crate::mutate::{mutate, text};

/// Dimensions of arrays: none, few, and so many that no memory holds them.
const SIZES: [u64; 12] = [0, 1, 2, 3, 5, 16, 1 << 16, 1 << 31, 1 << 40, 1 << 62, (1 << 63) - 1, u64::MAX];
/// Elements that NumPy has, and some that it does not.
const TYPES: [&str; 14] = [
    "|u1",
    "<u2",
    "<u4",
    "<u8",
    "<i4",
    ">u2",
    "<f2",
    "<f4",
    "<f8",
    "|b1",
    "|V1",
    "<f1",
    "<u0",
    "<u18446744073709551615",
];
/// Bytes of data that a changed shape gets.
const MOST: u64 = 1 << 16;

/// A `.npy` file: its header changed as a text, or with another shape and as many elements as that has; or some bytes.
pub(crate) fn npy(u: &mut Unstructured<'_>, file: &mut Vec<u8>) -> Result<()> {
    const START: usize = 10; // of the text of version 1.0
    let Ok(header) = Header::read(file) else { return mutate(u, file, 4) };
    match u.int_in_range(0..=3)? {
        0 => mutate(u, file, 3),
        1 => {
            let mut words = file[START..header.end].to_vec();
            text(u, &mut words)?;
            words.truncate(usize::from(u16::MAX));
            file[8..START].copy_from_slice(&(words.len() as u16).to_le_bytes());
            file.splice(START..header.end, words);
            Ok(())
        }
        2 => {
            let end = file.len();
            let mut data = file.split_off(header.end);
            mutate(u, &mut data, 4)?;
            data.resize(end - header.end, 0);
            file.extend(data);
            Ok(())
        }
        _ => {
            let mut shape = header.shape.clone();
            for _ in 0..u.int_in_range(1..=3)? {
                match u.int_in_range(0..=4)? {
                    0 => shape.push(*u.choose(&SIZES)?),
                    1 => drop(shape.pop()),
                    _ => {
                        if !shape.is_empty() {
                            let at = u.int_in_range(0..=shape.len() - 1)?;
                            shape[at] = *u.choose(&SIZES)?;
                        }
                    }
                }
            }
            let own = header.element.as_ref().map_or("|O".to_owned(), ToString::to_string);
            let name = if u.ratio(1, 4)? { *u.choose(&TYPES)? } else { &own };
            let width = header.element.as_ref().map_or(1, |element| element.bytes);
            let size = shape.iter().try_fold(width, |size, &more| size.checked_mul(more));
            let mut data = file.split_off(header.end);
            data.resize(size.map_or(0, |size| size.min(MOST)) as usize, 0);
            let sizes: Vec<usize> = shape.iter().map(|&size| size as usize).collect();
            *file = [Header::write(name, &sizes), data].concat();
            Ok(())
        }
    }
}

/// An `.npz` archive: an array in it changed, its entries exchanged, left out or doubled; or some bytes.
pub(crate) fn npz(u: &mut Unstructured<'_>, file: &mut Vec<u8>) -> Result<()> {
    let mut entries = match entries(file) {
        Some(entries) if !entries.is_empty() && !u.ratio(1, 5)? => entries,
        _ => return mutate(u, file, 3),
    };
    let last = entries.len() - 1;
    let at = u.int_in_range(0..=last)?;
    match u.int_in_range(0..=7)? {
        0 => drop(entries.remove(at)),
        1 => {
            let other = u.int_in_range(0..=last)?;
            let array = entries[other].1.clone();
            entries[at].1 = array;
        }
        2 => entries.push(entries[at].clone()),
        _ => npy(u, &mut entries[at].1)?,
    }
    *file = archive(&entries);
    Ok(())
}

/// The arrays of an archive as `.npy` files, by name.
fn entries(file: &[u8]) -> Option<Vec<(String, Vec<u8>)>> {
    let archive = Archive::new(String::new(), file.to_vec()).ok()?;
    let one = |name: &str| {
        let array = archive.array(name).ok()?;
        let kind = if array.signed { 'i' } else { 'u' };
        let order = if array.width == 1 { '|' } else { '<' };
        let header = Header::write(&format!("{order}{kind}{}", array.width), &array.shape);
        Some((name.to_owned(), [header, array.bytes].concat()))
    };
    archive.names().into_iter().map(one).collect()
}

/// An archive of `.npy` files.
pub(crate) fn archive(entries: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut writer = Writer::default();
    for (name, npy) in entries {
        writer.add(name, npy).expect("an archive of some kilobytes");
    }
    writer.finish()
}

/// A `.safetensors` file: its header changed as a text; or some bytes.
pub(crate) fn safetensors(u: &mut Unstructured<'_>, file: &mut Vec<u8>) -> Result<()> {
    const START: usize = 8;
    let length = file.first_chunk().map_or(0, |length| u64::from_le_bytes(*length) as usize);
    let Some(header) = file.get(START..START.saturating_add(length)) else { return mutate(u, file, 4) };
    if u.ratio(1, 4)? {
        return mutate(u, file, 3);
    }
    let mut words = header.to_vec();
    text(u, &mut words)?;
    file[..START].copy_from_slice(&(words.len() as u64).to_le_bytes());
    file.splice(START..START + length, words);
    Ok(())
}
