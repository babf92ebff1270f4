//! Codes in memory, and matrices of them.

use std::ops::Range;

use bitmma_arithmetic::Prepared;
use bitmma_arithmetic::line::Line;
use bitmma_arithmetic::run::Side;
use bitmma_formats::Format;
use bytemuck::Zeroable;
use bytemuck::allocation::try_zeroed_vec;

/// Codes in as few bytes as their width allows; 4- and 6-bit codes take one byte each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the variants say it all
pub enum Words<A, B, C, D> {
    U8(A),
    U16(B),
    U32(C),
    U64(D),
}

/// Codes held.
pub type Codes = Words<Vec<u8>, Vec<u16>, Vec<u32>, Vec<u64>>;

/// Codes next to each other, borrowed.
pub type Slice<'s> = Words<&'s [u8], &'s [u16], &'s [u32], &'s [u64]>;

/// Codes next to each other, to be written.
pub type Chunk<'c> = Words<&'c mut [u8], &'c mut [u16], &'c mut [u32], &'c mut [u64]>;

/// An unsigned integer that holds codes.
pub trait Code: Zeroable + Copy + Default + Send + Sync + 'static {
    /// The code in as few bits as it holds.
    fn of(code: u64) -> Self;
    /// The code.
    fn code(self) -> u64;
    /// Codes next to each other, to be written.
    fn chunk(codes: &mut [Self]) -> Chunk<'_>;
    /// Codes next to each other.
    fn slice(codes: &[Self]) -> Slice<'_>;
    /// Codes held.
    fn held(codes: Vec<Self>) -> Codes;
}

macro_rules! code {
    ($($variant:ident $word:ty),*) => {
        $(impl Code for $word {
            #[inline(always)] // for callers compiled for an instruction set
            fn of(code: u64) -> $word {
                code as $word
            }
            #[inline(always)]
            #[allow(clippy::useless_conversion)] // u64 is one of the four
            fn code(self) -> u64 {
                u64::from(self)
            }
            fn chunk(codes: &mut [$word]) -> Chunk<'_> {
                Words::$variant(codes)
            }
            fn slice(codes: &[$word]) -> Slice<'_> {
                Words::$variant(codes)
            }
            fn held(codes: Vec<$word>) -> Codes {
                Words::$variant(codes)
            }
        })*
    };
}
code!(U8 u8, U16 u16, U32 u32, U64 u64);

/// The same for codes of any width.
#[macro_export]
macro_rules! on_codes {
    ($codes:expr, $vector:ident => $result:expr) => {
        match $codes {
            $crate::Words::U8($vector) => $result,
            $crate::Words::U16($vector) => $result,
            $crate::Words::U32($vector) => $result,
            $crate::Words::U64($vector) => $result,
        }
    };
}

impl Slice<'_> {
    /// The code at `index`.
    pub fn get(&self, index: usize) -> u64 {
        on_codes!(self, codes => codes[index].code())
    }

    /// Bytes that a code takes.
    pub fn bytes(&self) -> usize {
        on_codes!(self, codes => bytes_of(codes))
    }

    /// Reads codes from `start` on, each made something of.
    #[inline(always)] // for callers compiled for an instruction set
    pub(crate) fn read<T>(&self, start: usize, into: &mut [T], of: impl Fn(u64) -> T) {
        on_codes!(self, codes => {
            let codes = &codes[start..start + into.len()];
            for (to, &code) in into.iter_mut().zip(codes) {
                *to = of(code.code());
            }
        });
    }
}

/// Bytes that one of them takes.
fn bytes_of<C>(_: &[C]) -> usize {
    size_of::<C>()
}

impl Chunk<'_> {
    /// How many.
    pub(crate) fn len(&self) -> usize {
        on_codes!(self, codes => codes.len())
    }

    /// Some of them.
    pub(crate) fn rows(&mut self, range: Range<usize>) -> Chunk<'_> {
        on_codes!(self, codes => Code::chunk(&mut codes[range]))
    }

    /// Writes what is made of numbers from `start` on; bits beyond the width held are dropped.
    #[inline(always)] // for callers compiled for an instruction set
    pub(crate) fn write<T: Copy>(&mut self, start: usize, numbers: &[T], code: impl Fn(T) -> u64) {
        on_codes!(self, codes => {
            let to = codes[start..start + numbers.len()].iter_mut();
            for (to, &number) in to.zip(numbers) {
                *to = Code::of(code(number));
            }
        });
    }

    /// Passes parts, equal in length except for the last, to a function, on all threads unless `alone`.
    pub(crate) fn each_chunk(
        &mut self,
        (length, alone): (usize, bool),
        work: impl Fn(usize, Chunk<'_>) + Send + Sync,
    ) {
        if length > 0 {
            on_codes!(self, codes => {
                crate::spread::each_chunk(alone, codes, length, |index, codes| work(index, Code::chunk(codes)));
            });
        }
    }
}

impl Codes {
    /// An empty vector for codes of `format`, with room for `capacity`; `None` if there is none.
    pub fn with_capacity(format: &Format, capacity: usize) -> Option<Codes> {
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
    pub fn zeros(format: &Format, count: usize) -> Option<Codes> {
        Some(match format.bytes() {
            1 => Codes::U8(try_zeroed_vec(count).ok()?),
            2 => Codes::U16(try_zeroed_vec(count).ok()?),
            4 => Codes::U32(try_zeroed_vec(count).ok()?),
            _ => Codes::U64(try_zeroed_vec(count).ok()?),
        })
    }

    /// All of them, to be read.
    pub fn slice(&self) -> Slice<'_> {
        on_codes!(self, codes => Code::slice(codes))
    }

    /// All codes, to be written.
    pub(crate) fn chunk(&mut self) -> Chunk<'_> {
        on_codes!(self, codes => Code::chunk(codes))
    }

    /// Adds a code, in as many bits as are held.
    pub fn push(&mut self, code: u64) {
        on_codes!(self, codes => codes.push(Code::of(code)));
    }

    /// The code at `index`.
    pub fn get(&self, index: usize) -> u64 {
        self.slice().get(index)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        on_codes!(self, vector => vector.len())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that a code takes.
    pub fn bytes(&self) -> usize {
        self.slice().bytes()
    }
}

/// `blocks` matrices of `rows` × `columns` codes that are among others.
#[derive(Clone, Copy, Debug)]
pub struct View<'v> {
    /// What the codes are among.
    pub codes: Slice<'v>,
    /// Where the first one is.
    first: usize,
    /// From a code to the same of the next matrix, to that of the next row, to that of the next column.
    strides: [usize; 3],
    /// How many matrices there are.
    pub blocks: usize,
    /// Rows of each.
    pub rows: usize,
    /// Columns of each.
    pub columns: usize,
}

impl<'v> View<'v> {
    /// All of `codes`: matrices one after the other, each row-major.
    pub fn new(codes: Slice<'v>, (blocks, rows, columns): (usize, usize, usize)) -> View<'v> {
        // where this saturates there is no code
        View { codes, first: 0, strides: [rows.saturating_mul(columns), columns, 1], blocks, rows, columns }
    }

    /// Matrices that lie among `codes` with these distances from one matrix, row and column to the next. `None` where they
    /// are not all there, or where neither rows nor columns are codes next to each other.
    pub fn strided(
        codes: Slice<'v>,
        (blocks, rows, columns): (usize, usize, usize),
        strides: [usize; 3],
    ) -> Option<View<'v>> {
        let view = View { codes, first: 0, strides, blocks, rows, columns };
        let mut last = 0usize;
        for (count, stride) in [blocks, rows, columns].into_iter().zip(strides) {
            last = last.checked_add(count.checked_sub(1)?.checked_mul(stride)?)?;
        }
        let is_there = last < on_codes!(codes, codes => codes.len());
        (is_there && strides[1..].contains(&1)).then_some(view)
    }

    /// Some rows and columns of one of the matrices.
    pub fn part(self, block: usize, rows: Range<usize>, columns: Range<usize>) -> View<'v> {
        let first = self.index(block, rows.start, columns.start);
        View { first, blocks: 1, rows: rows.len(), columns: columns.len(), ..self }
    }

    /// The only row of the only matrix, that many times.
    pub(crate) fn repeated(self, rows: usize) -> View<'v> {
        View { rows, strides: [0, 0, self.strides[2]], ..self }
    }

    /// The same with rows for columns.
    pub fn transposed(self) -> View<'v> {
        let [block, row, column] = self.strides;
        View { strides: [block, column, row], rows: self.columns, columns: self.rows, ..self }
    }

    /// Where a code is.
    pub fn index(&self, block: usize, row: usize, column: usize) -> usize {
        let [apart, stride, across] = self.strides;
        self.first + block * apart + row * stride + column * across
    }

    /// Whether the codes of a row are next to each other.
    pub fn has_rows(&self) -> bool {
        self.strides[2] == 1
    }

    /// Whether the codes of a matrix are next to each other, row by row.
    pub(crate) fn is_dense(&self) -> bool {
        let [_, row, column] = self.strides;
        (self.rows < 2 || row == self.columns) && (self.columns < 2 || column == 1)
    }

    /// The first code, row by row, that is larger than a limit, and how many are before it.
    pub fn above(&self, limit: u64) -> Option<(usize, u64)> {
        let lines = if self.has_rows() { *self } else { self.transposed() };
        let mut all = (0..self.blocks).flat_map(|block| (0..lines.rows).map(move |line| (block, line)));
        let any = on_codes!(self.codes, codes => all.any(|(block, line)| {
            let line = &codes[lines.index(block, line, 0)..][..lines.columns];
            // without a branch for each, in vectors
            line.iter().fold(false, |any, &code| any | (code.code() > limit))
        }));
        let codes =
            || (0..self.blocks).flat_map(|block| (0..self.rows).flat_map(move |row| self.row(block, row)));
        if any { codes().enumerate().find(|&(_, code)| code > limit) } else { None }
    }

    /// One code.
    pub fn get(&self, block: usize, row: usize, column: usize) -> u64 {
        self.codes.get(self.index(block, row, column))
    }

    /// The codes of one row.
    pub fn row(&self, block: usize, row: usize) -> impl Iterator<Item = u64> + use<'v> {
        let (codes, first, stride) = (self.codes, self.index(block, row, 0), self.strides[2]);
        (0..self.columns).map(move |column| codes.get(first + column * stride))
    }

    /// The codes of one column.
    pub fn column(&self, block: usize, column: usize) -> impl Iterator<Item = u64> + use<'v> {
        self.transposed().row(block, column)
    }
}

/// The operands of a product, which were checked: formats and shapes are those of the model.
#[derive(Clone, Copy, Debug)]
pub struct Operands<'o> {
    /// M×K.
    pub a: View<'o>,
    /// K×N.
    pub b: View<'o>,
    /// M×N, row-major; without it C is +0 everywhere.
    pub c: Option<View<'o>>,
    /// M × K/block.
    pub scale_a: Option<View<'o>>,
    /// K/block × N.
    pub scale_b: Option<View<'o>>,
}

impl Operands<'_> {
    /// Blocks, M and N: the shape of D.
    pub fn shape(&self) -> (usize, usize, usize) {
        (self.a.blocks, self.a.rows, self.b.columns)
    }

    /// One code of C; that of +0 without C.
    pub fn c_code(&self, block: usize, row: usize, column: usize) -> u64 {
        self.c.map_or(0, |c| c.get(block, row, column))
    }

    /// Elements `k` of a row of A, whole steps, with their scale factors.
    pub fn row(&self, prepared: &Prepared<'_>, (block, row): (usize, usize), k: Range<usize>) -> Line {
        let all = self.a.columns;
        let scales = self.scale_a.map(|scale| within(scale.row(block, row), scale.columns, &k, all));
        Line::new(prepared, Side::A, &within(self.a.row(block, row), all, &k, all), scales)
    }

    /// Elements `k` of a column of B, whole steps, with their scale factors.
    pub fn column(&self, prepared: &Prepared<'_>, (block, column): (usize, usize), k: Range<usize>) -> Line {
        let codes = within(self.b.column(block, column), self.b.rows, &k, self.b.rows);
        self.column_of(prepared, &codes, (block, column), k)
    }

    /// The same with those codes.
    pub(crate) fn column_of(
        &self,
        prepared: &Prepared<'_>,
        codes: &[u64],
        (block, column): (usize, usize),
        k: Range<usize>,
    ) -> Line {
        let all = self.b.rows;
        let scales = self.scale_b.map(|scale| within(scale.column(block, column), scale.rows, &k, all));
        Line::new(prepared, Side::B, codes, scales)
    }
}

/// Those of `count` codes along a K of `all` elements that belong to the elements `k`.
fn within(codes: impl Iterator<Item = u64>, count: usize, k: &Range<usize>, all: usize) -> Vec<u64> {
    let (first, end) = (k.start * count / all, k.end * count / all);
    codes.skip(first).take(end - first).collect()
}
