//! Codes in bulk: parts of matrices cut out and put back, and what is done code by code.

use std::borrow::Cow;
use std::ops::Range;

use bitmma_formats::Format;
use bitmma_kernel::{Codes, Fold, Word, on_codes};
use rayon::prelude::*;

use super::convert::Converter;
use crate::error::Error;
use crate::matrix::Matrix;

/// Part of D.
pub(super) struct Tile {
    pub(super) block: usize,
    pub(super) rows: Range<usize>,
    pub(super) columns: Range<usize>,
}

impl Tile {
    pub(super) fn len(&self) -> usize {
        self.rows.len() * self.columns.len()
    }
}

/// Codes that one task takes.
const CHUNK: usize = 1 << 13;

/// An unsigned integer that holds codes.
pub(super) trait Holder: Copy + Default + Send + Sync {
    fn hold(code: u64) -> Self;
    fn code(self) -> u64;
}

macro_rules! holder {
    ($($integer:ty)*) => {$(
        impl Holder for $integer {
            #[inline]
            fn hold(code: u64) -> Self {
                code as $integer
            }
            #[inline]
            #[allow(clippy::useless_conversion)] // u64 is one of the four
            fn code(self) -> u64 {
                u64::from(self)
            }
        }
    )*};
}

holder!(u8 u16 u32 u64);

/// Codes of +0 in a format that has one.
pub(super) fn zeros(format: Format, shape: (usize, usize, usize)) -> Result<Codes, Error> {
    let (blocks, rows, columns) = shape;
    let count = blocks.checked_mul(rows).and_then(|some| some.checked_mul(columns));
    count.and_then(|count| Codes::zeros(&format, count)).ok_or(Error::too_large(format, shape))
}

/// Numbers of that shape in W, all +0.
pub(super) fn words<W: Word>(shape: (usize, usize, usize)) -> Result<Vec<W>, Error> {
    let (blocks, rows, columns) = shape;
    bitmma_kernel::zeros(blocks * rows * columns).ok_or(Error::too_large(W::FORMAT, shape))
}

/// Rows and columns of one block of a matrix; what lies beyond it is `padding`.
pub(super) fn cut<'m>(
    matrix: &'m Matrix,
    block: usize,
    rows: &Range<usize>,
    columns: &Range<usize>,
    padding: u64,
) -> Result<Cow<'m, Matrix>, Error> {
    let (blocks, height, width) = matrix.shape();
    if blocks == 1 && *rows == (0..height) && *columns == (0..width) {
        return Ok(Cow::Borrowed(matrix));
    }
    let (format, shape) = (matrix.format(), (1, rows.len(), columns.len()));
    let mut codes = zeros(format, shape)?;
    if columns.is_empty() {
        return Ok(Cow::Owned(Matrix::from_codes(format, shape, codes)));
    }
    let inside = columns.start.min(width)..columns.end.min(width);
    // the first row of the block, the height and width of all, and the part that is wanted
    let area = (block * height, (height, width), (rows, columns.len()));
    fn copy<T: Holder>(
        from: &[T],
        to: &mut [T],
        (first, (height, width), (rows, columns)): (usize, (usize, usize), (&Range<usize>, usize)),
        inside: &Range<usize>,
        padding: u64,
    ) {
        for (row, line) in rows.clone().zip(to.chunks_mut(columns)) {
            let taken = if row < height { inside.len() } else { 0 };
            if taken > 0 {
                let start = (first + row) * width;
                line[..taken].copy_from_slice(&from[start + inside.start..start + inside.end]);
            }
            line[taken..].fill(T::hold(padding));
        }
    }
    match (matrix.codes(), &mut codes) {
        (Codes::U8(from), Codes::U8(to)) => copy(from, to, area, &inside, padding),
        (Codes::U16(from), Codes::U16(to)) => copy(from, to, area, &inside, padding),
        (Codes::U32(from), Codes::U32(to)) => copy(from, to, area, &inside, padding),
        (Codes::U64(from), Codes::U64(to)) => copy(from, to, area, &inside, padding),
        _ => unreachable!("codes of one format have one width"),
    }
    Ok(Cow::Owned(Matrix::from_codes(format, shape, codes)))
}

/// Writes a tile to its place among M×N codes of the same width.
pub(super) fn put(tile: &Codes, d: &mut Codes, place: &Tile, (m, n): (usize, usize)) {
    fn copy<T: Copy>(from: &[T], to: &mut [T], place: &Tile, (m, n): (usize, usize)) {
        for (row, line) in place.rows.clone().zip(from.chunks(place.columns.len())) {
            let first = (place.block * m + row) * n + place.columns.start;
            to[first..first + line.len()].copy_from_slice(line);
        }
    }
    match (tile, d) {
        (Codes::U8(from), Codes::U8(to)) => copy(from, to, place, (m, n)),
        (Codes::U16(from), Codes::U16(to)) => copy(from, to, place, (m, n)),
        (Codes::U32(from), Codes::U32(to)) => copy(from, to, place, (m, n)),
        (Codes::U64(from), Codes::U64(to)) => copy(from, to, place, (m, n)),
        _ => unreachable!("codes of one format have one width"),
    }
}

/// The numbers that codes are in W, into which `lift` converts where they are not in it.
pub(super) fn lifted<W: Word>(
    codes: Codes,
    lift: Option<&Converter>,
    shape: (usize, usize, usize),
) -> Result<Vec<W>, Error> {
    let codes = match lift {
        None => match W::of_codes(codes) {
            Ok(words) => return Ok(words),
            Err(codes) => codes,
        },
        Some(_) => codes,
    };
    let lift = |code| lift.map_or(code, |lift| lift.code(code));
    let mut words: Vec<W> = words(shape)?;
    on_codes!(&codes, codes => {
        words.par_chunks_mut(CHUNK).zip(codes.par_chunks(CHUNK)).for_each(|(words, codes)| {
            words.iter_mut().zip(codes).for_each(|(word, &code)| *word = W::of(lift(code.code())));
        });
    });
    Ok(words)
}

/// Takes the results of a run into sums, both `width` numbers to a row.
pub(super) fn fold_all<W: Word>(fold: Fold<'_>, run: usize, width: usize, sums: &mut [W], results: &[W]) {
    let rows = (CHUNK / width.max(1)).max(1);
    let lines = (rows * width).max(1);
    sums.par_chunks_mut(lines).zip(results.par_chunks(lines)).enumerate().for_each(
        |(at, (sums, results))| {
            fold.rows(run, (at * rows, 0), (width, width), (sums, results));
        },
    );
}

/// `operation(word, other)` in the place of each word.
pub(super) fn combine<W: Word>(words: &mut [W], others: &[W], operation: impl Fn(W, W) -> W + Sync) {
    words.par_chunks_mut(CHUNK).zip(others.par_chunks(CHUNK)).for_each(|(words, others)| {
        words.iter_mut().zip(others).for_each(|(word, &other)| *word = operation(*word, other));
    });
}

/// Writes `code` of every number to its place.
pub(super) fn fill<T: Copy + Sync>(codes: &mut Codes, numbers: &[T], code: impl Fn(T) -> u64 + Sync) {
    on_codes!(codes, codes => {
        codes.par_chunks_mut(CHUNK).zip(numbers.par_chunks(CHUNK)).for_each(|(codes, numbers)| {
            codes.iter_mut().zip(numbers).for_each(|(to, &number)| *to = Holder::hold(code(number)));
        });
    });
}

/// Codes of another format.
pub(super) fn convert(codes: &Codes, converter: &Converter) -> Result<Codes, Error> {
    let format = converter.to.conversion.container();
    let mut converted = zeros(format, (1, 1, codes.len()))?;
    on_codes!(codes, codes => fill(&mut converted, codes, |code| converter.code(code.code())));
    Ok(converted)
}
