//! Elements of a file as codes, and codes as the elements of one.

use std::io::{self, Write};

use bitmma_engine::threads::each_chunk;
use bitmma_engine::{Codes, on_codes};
use bytemuck::Zeroable;
use bytemuck::allocation::try_zeroed_vec;

use super::header::Endian;

/// Codes of matrices, row by row, from integers of 1, 2, 4 or 8 bytes, of which a step along blocks, rows and columns leads
/// so many further; `None` where there is no room for them.
pub(crate) fn codes(
    (bytes, width, endian): (Vec<u8>, usize, Endian),
    shape: (usize, usize, usize),
    steps: [usize; 3],
) -> Option<Codes> {
    let layout = (shape, steps);
    Some(match width {
        1 => Codes::U8(row_major(bytes, layout)?),
        2 => Codes::U16(row_major(words(&bytes, endian, (u16::from_le_bytes, u16::from_be_bytes))?, layout)?),
        4 => Codes::U32(row_major(words(&bytes, endian, (u32::from_le_bytes, u32::from_be_bytes))?, layout)?),
        _ => Codes::U64(row_major(words(&bytes, endian, (u64::from_le_bytes, u64::from_be_bytes))?, layout)?),
    })
}

/// Integers of `WIDTH` bytes each.
fn words<const WIDTH: usize, T: Zeroable + Copy + Send + Sync>(
    bytes: &[u8],
    endian: Endian,
    (little, big): (impl Fn([u8; WIDTH]) -> T + Sync, impl Fn([u8; WIDTH]) -> T + Sync),
) -> Option<Vec<T>> {
    let mut words: Vec<T> = try_zeroed_vec(bytes.len() / WIDTH).ok()?;
    let bytes = bytes.as_chunks().0;
    each_chunk(&mut words, SHARE, |share, words| {
        let pairs = words.iter_mut().zip(&bytes[share * SHARE..]);
        match endian {
            Endian::Little => pairs.for_each(|(word, &bytes)| *word = little(bytes)),
            Endian::Big => pairs.for_each(|(word, &bytes)| *word = big(bytes)),
        }
    });
    Some(words)
}

/// Codes that one thread takes at a time.
const SHARE: usize = 1 << 16;

/// Rows that are filled together: what they are read from, column by column, stays in the nearest cache.
const BAND: usize = 64;

/// Elements of which a step along blocks, rows and columns leads that many further, row by row.
fn row_major<T: Zeroable + Copy + Send + Sync>(
    elements: Vec<T>,
    ((blocks, rows, columns), [block_step, row_step, column_step]): ((usize, usize, usize), [usize; 3]),
) -> Option<Vec<T>> {
    // without an element, dimensions multiply to anything
    if elements.is_empty()
        || column_step == 1 && row_step == columns && (blocks == 1 || block_step == rows * columns)
    {
        return Some(elements);
    }
    let mut ordered: Vec<T> = try_zeroed_vec(elements.len()).ok()?;
    each_chunk(&mut ordered, BAND * columns, |band, to| {
        let begins: Vec<usize> = (band * BAND..)
            .take(to.len() / columns)
            .map(|row| row / rows * block_step + row % rows * row_step)
            .collect();
        for column in 0..columns {
            for (row, begin) in begins.iter().enumerate() {
                to[row * columns + column] = elements[begin + column * column_step];
            }
        }
    });
    Some(ordered)
}

/// Writes codes in as many bytes as they are held in, little-endian.
pub(crate) fn write(target: &mut dyn Write, codes: &Codes) -> io::Result<()> {
    on_codes!(codes, codes => {
        for codes in codes.chunks(4096) {
            let bytes: Vec<_> = codes.iter().map(|code| code.to_le_bytes()).collect();
            target.write_all(bytes.as_flattened())?;
        }
    });
    Ok(())
}
