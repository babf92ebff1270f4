//! Matrices of codes.

use bitmma_formats::Format;
use bitmma_kernel::{Codes, View};

use crate::borrowed::MatrixRef;
use crate::error::Error;

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

impl Matrix {
    /// `blocks` matrices from row-major codes. Any of the dimensions may be zero.
    pub fn new(
        format: Format,
        (blocks, rows, columns): (usize, usize, usize),
        codes: impl IntoIterator<Item = u64>,
    ) -> Result<Matrix, Error> {
        let too_large = Error::too_large(format, (blocks, rows, columns));
        let expected = elements((blocks, rows, columns));
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

    /// Matrices of the codes that `code` gives for each block, row and column, asked row by row.
    pub fn from_fn(
        format: Format,
        (blocks, rows, columns): (usize, usize, usize),
        mut code: impl FnMut(usize, usize, usize) -> u64,
    ) -> Result<Matrix, Error> {
        let count = blocks.saturating_mul(rows).saturating_mul(columns);
        let codes = (0..count).map(|at| code(at / columns / rows, at / columns % rows, at % columns));
        Matrix::new(format, (blocks, rows, columns), codes)
    }

    /// `blocks` matrices of codes that are held already, row-major, in as many bytes as the format's codes
    /// take; nothing is copied.
    pub fn with_codes(
        format: Format,
        (blocks, rows, columns): (usize, usize, usize),
        codes: Codes,
    ) -> Result<Matrix, Error> {
        if codes.bytes() != format.bytes() {
            let codes = (0..codes.len()).map(|index| codes.get(index));
            return Matrix::new(format, (blocks, rows, columns), codes);
        }
        let expected = elements((blocks, rows, columns));
        let expected = expected.ok_or(Error::too_large(format, (blocks, rows, columns)))?;
        let given = codes.len();
        if given != expected {
            return Err(Error::Count { given, blocks, rows, columns, expected });
        }
        let matrix = Matrix { format, blocks, rows, columns, codes };
        MatrixRef { checked: false, ..MatrixRef::from(&matrix) }.check()?;
        Ok(matrix)
    }

    /// Matrices of codes that are known to be codes of `format`, held in as many bytes as it takes.
    pub(crate) fn from_codes(
        format: Format,
        (blocks, rows, columns): (usize, usize, usize),
        codes: Codes,
    ) -> Matrix {
        debug_assert_eq!(Some(codes.len()), elements((blocks, rows, columns)));
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

    /// The codes and their shape.
    pub(crate) fn view(&self) -> View<'_> {
        View::new(self.codes.slice(), self.shape())
    }

    /// One code.
    pub fn get(&self, block: usize, row: usize, column: usize) -> u64 {
        self.view().get(block, row, column)
    }

    /// The codes of one row.
    pub fn row(&self, block: usize, row: usize) -> impl Iterator<Item = u64> + '_ {
        self.view().row(block, row)
    }

    /// The codes of one column.
    pub fn column(&self, block: usize, column: usize) -> impl Iterator<Item = u64> + '_ {
        self.view().column(block, column)
    }

    /// All codes, row-major, one matrix after the other.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.codes.len()).map(|index| self.codes.get(index))
    }
}

/// Elements of matrices of a shape; beside a zero the other dimensions may be anything. `None` where they cannot be counted.
pub(crate) fn elements((blocks, rows, columns): (usize, usize, usize)) -> Option<usize> {
    if [blocks, rows, columns].contains(&0) {
        return Some(0);
    }
    blocks.checked_mul(rows)?.checked_mul(columns)
}

/// A shape as people write it: `16×8`, or `4×16×8` with more than one block.
pub fn shape_text((blocks, rows, columns): (usize, usize, usize)) -> String {
    if blocks == 1 { format!("{rows}×{columns}") } else { format!("{blocks}×{rows}×{columns}") }
}

impl<'m> From<&'m Matrix> for MatrixRef<'m> {
    fn from(matrix: &'m Matrix) -> MatrixRef<'m> {
        MatrixRef { format: matrix.format(), view: matrix.view(), checked: true, panels: None }
    }
}
