//! Matrices of codes.

use std::ops::Range;

use bitmma_formats::Format;
use rayon::prelude::*;

use crate::error::Error;

/// Codes held in as few bytes as their width allows; 4- and 6-bit codes take one byte each.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the variants say it all
pub enum Codes {
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
    U64(Vec<u64>),
}

/// `blocks` matrices of `rows` × `columns` codes of one format, row-major, one matrix after the other.
///
/// An instruction that multiplies several pairs of matrices (`v_mfma_f32_32x32x4_2b_f16`) takes that
/// many blocks; all others take one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matrix {
    format: Format,
    blocks: usize,
    rows: usize,
    columns: usize,
    codes: Codes,
}

macro_rules! on_codes {
    ($codes:expr, $vector:ident => $result:expr) => {
        match $codes {
            Codes::U8($vector) => $result,
            Codes::U16($vector) => $result,
            Codes::U32($vector) => $result,
            Codes::U64($vector) => $result,
        }
    };
}

/// Codes next to each other, to be written.
pub(crate) trait Chunk {
    /// How many.
    fn len(&self) -> usize;
    /// Writes codes of up to 32 bits from `start` on; bits beyond the width held are dropped.
    fn write(&mut self, start: usize, codes: &[u32]);
}

macro_rules! chunk {
    ($($word:ty),*) => {$(
        impl Chunk for &mut [$word] {
            fn len(&self) -> usize {
                (**self).len()
            }
            fn write(&mut self, start: usize, codes: &[u32]) {
                let to = self[start..start + codes.len()].iter_mut();
                #[allow(clippy::unnecessary_cast, clippy::cast_lossless)] // u32 is one of the four, and u64
                to.zip(codes).for_each(|(to, &code)| *to = code as $word);
            }
        }
    )*};
}
chunk!(u8, u16, u32, u64);

/// Zeros that one thread writes, at least.
const SHARE: usize = 1 << 16;

/// `count` zeros; `None` if they cannot be held.
pub(crate) fn zeros<T: Copy + Default + Send + Sync>(count: usize) -> Option<Vec<T>> {
    let mut numbers = Vec::new();
    numbers.try_reserve_exact(count).ok()?;
    if count <= SHARE || rayon::current_num_threads() == 1 {
        numbers.resize(count, T::default());
    } else {
        // on all threads: memory that is touched for the first time takes as long as a tenth of a fast product
        numbers.par_extend(rayon::iter::repeat_n(T::default(), count).with_min_len(SHARE));
    }
    Some(numbers)
}

impl Codes {
    /// An empty vector for codes of `format`, with room for `capacity`.
    fn with_capacity(format: &Format, capacity: usize) -> Option<Codes> {
        fn reserve<V>(capacity: usize) -> Option<Vec<V>> {
            let mut vector = Vec::new();
            vector.try_reserve_exact(capacity).ok()?;
            Some(vector)
        }
        Some(match format.bytes() {
            1 => Codes::U8(reserve(capacity)?),
            2 => Codes::U16(reserve(capacity)?),
            4 => Codes::U32(reserve(capacity)?),
            _ => Codes::U64(reserve(capacity)?),
        })
    }

    /// `count` zeros; `None` if they cannot be held.
    pub(crate) fn zeros(format: &Format, count: usize) -> Option<Codes> {
        Some(match format.bytes() {
            1 => Codes::U8(zeros(count)?),
            2 => Codes::U16(zeros(count)?),
            4 => Codes::U32(zeros(count)?),
            _ => Codes::U64(zeros(count)?),
        })
    }

    /// Reads codes from `start` on, each made something of.
    #[inline(always)] // for callers compiled for an instruction set
    pub(crate) fn read<T>(&self, start: usize, into: &mut [T], of: impl Fn(u64) -> T) {
        #[allow(clippy::useless_conversion)] // U64 is one of the four
        {
            on_codes!(self, vector => {
                let codes = &vector[start..start + into.len()];
                into.iter_mut().zip(codes).for_each(|(to, &code)| *to = of(u64::from(code)));
            });
        }
    }

    /// Passes parts of a range, equal in length except for the last, to a function, on all threads; `share` parts at
    /// least to a thread.
    pub(crate) fn each_chunk(
        &mut self,
        range: Range<usize>,
        (length, share): (usize, usize),
        work: impl Fn(usize, &mut dyn Chunk) + Sync,
    ) {
        if length > 0 {
            on_codes!(self, vector => {
                let chunks = vector[range].par_chunks_mut(length).with_min_len(share).enumerate();
                chunks.for_each(|(index, chunk)| work(index, &mut &mut *chunk));
            });
        }
    }

    fn push(&mut self, code: u64) {
        match self {
            Codes::U8(vector) => vector.push(code as u8),
            Codes::U16(vector) => vector.push(code as u16),
            Codes::U32(vector) => vector.push(code as u32),
            Codes::U64(vector) => vector.push(code),
        }
    }

    /// The code at `index`.
    pub fn get(&self, index: usize) -> u64 {
        #[allow(clippy::useless_conversion)] // U64 is one of the four
        {
            on_codes!(self, vector => u64::from(vector[index]))
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        on_codes!(self, vector => vector.len())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Matrix {
    /// `blocks` matrices from row-major codes. Any of the dimensions may be zero.
    pub fn new(
        format: Format,
        (blocks, rows, columns): (usize, usize, usize),
        codes: impl IntoIterator<Item = u64>,
    ) -> Result<Matrix, Error> {
        let too_large = Error::TooLarge { blocks, rows, columns, bytes: format.bytes() };
        let expected = blocks.checked_mul(rows).and_then(|some| some.checked_mul(columns));
        let (Some(expected), Some(mut held)) =
            (expected, expected.and_then(|count| Codes::with_capacity(&format, count)))
        else {
            return Err(too_large);
        };
        let mut given = 0;
        for code in codes {
            if code > format.max_code() {
                return Err(Error::Code { index: given, code, format: format.name, bits: format.bits() });
            }
            given += 1;
            if given <= expected {
                held.push(code);
            }
        }
        if given != expected {
            return Err(Error::Count { given, blocks, rows, columns, expected });
        }
        Ok(Matrix { format, blocks, rows, columns, codes: held })
    }

    /// `blocks` matrices of codes that are held already, row-major, in as many bytes as the format's codes
    /// take; nothing is copied.
    pub fn with_codes(
        format: Format,
        (blocks, rows, columns): (usize, usize, usize),
        codes: Codes,
    ) -> Result<Matrix, Error> {
        if on_codes!(&codes, vector => bytes_of(vector)) != format.bytes() {
            return Matrix::new(
                format,
                (blocks, rows, columns),
                (0..codes.len()).map(|index| codes.get(index)),
            );
        }
        let expected = blocks.checked_mul(rows).and_then(|some| some.checked_mul(columns));
        let Some(expected) = expected else {
            return Err(Error::TooLarge { blocks, rows, columns, bytes: format.bytes() });
        };
        let given = codes.len();
        if given != expected {
            return Err(Error::Count { given, blocks, rows, columns, expected });
        }
        let largest = format.max_code();
        if format.bits() as usize != 8 * format.bytes()
            && let Some(index) = (0..given).find(|&index| codes.get(index) > largest)
        {
            let code = codes.get(index);
            return Err(Error::Code { index, code, format: format.name, bits: format.bits() });
        }
        Ok(Matrix { format, blocks, rows, columns, codes })
    }

    /// Matrices of codes that are known to be codes of `format`, held in as many bytes as it takes.
    pub(crate) fn from_codes(
        format: Format,
        (blocks, rows, columns): (usize, usize, usize),
        codes: Codes,
    ) -> Matrix {
        debug_assert_eq!(codes.len(), blocks * rows * columns);
        Matrix { format, blocks, rows, columns, codes }
    }

    /// The codes alone, row-major.
    pub fn into_codes(self) -> Codes {
        self.codes
    }

    /// One matrix from row-major codes.
    pub fn single(
        format: Format,
        rows: usize,
        columns: usize,
        codes: impl IntoIterator<Item = u64>,
    ) -> Result<Matrix, Error> {
        Matrix::new(format, (1, rows, columns), codes)
    }

    /// Matrices of positive zeros (UE8M0, which has no zero: of ones).
    pub fn zeros(format: Format, (blocks, rows, columns): (usize, usize, usize)) -> Result<Matrix, Error> {
        let zero = if format.subnormals { 0 } else { format.one_code() };
        let count = blocks.saturating_mul(rows).saturating_mul(columns);
        Matrix::new(format, (blocks, rows, columns), std::iter::repeat_n(zero, count))
    }

    /// The format of the codes.
    pub fn format(&self) -> Format {
        self.format
    }

    /// How many matrices there are.
    pub fn blocks(&self) -> usize {
        self.blocks
    }

    /// Rows of each matrix.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Columns of each matrix.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Blocks, rows, columns.
    pub fn shape(&self) -> (usize, usize, usize) {
        (self.blocks, self.rows, self.columns)
    }

    /// The codes, row-major.
    pub fn codes(&self) -> &Codes {
        &self.codes
    }

    /// One code.
    pub fn get(&self, block: usize, row: usize, column: usize) -> u64 {
        self.codes.get((block * self.rows + row) * self.columns + column)
    }

    /// The codes of one row.
    pub fn row(&self, block: usize, row: usize) -> impl Iterator<Item = u64> + '_ {
        let first = (block * self.rows + row) * self.columns;
        (first..first + self.columns).map(|index| self.codes.get(index))
    }

    /// The codes of one column.
    pub fn column(&self, block: usize, column: usize) -> impl Iterator<Item = u64> + '_ {
        let first = block * self.rows * self.columns + column;
        (0..self.rows).map(move |row| self.codes.get(first + row * self.columns))
    }

    /// All codes, row-major, one matrix after the other.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.codes.len()).map(|index| self.codes.get(index))
    }
}

/// Bytes of one code.
fn bytes_of<V>(_: &[V]) -> usize {
    size_of::<V>()
}

/// A shape as people write it: `16×8`, or `4×16×8` with more than one block.
pub fn shape_text((blocks, rows, columns): (usize, usize, usize)) -> String {
    if blocks == 1 { format!("{rows}×{columns}") } else { format!("{blocks}×{rows}×{columns}") }
}
