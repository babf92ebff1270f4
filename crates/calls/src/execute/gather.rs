//! The rows of A, or the columns of B, that a tile and a chain take.

use std::borrow::Cow;
use std::ops::Range;

use bitmma_engine::{Code, Matrix, on_codes};

use crate::deal::Piece;
use crate::error::Error;

/// Which operand is gathered.
#[derive(Clone, Copy)]
pub(super) enum Operand {
    /// M×K: rows of the tile, elements of the chain along a row.
    A,
    /// K×N: elements of the chain, columns of the tile along a row.
    B,
}

impl Operand {
    /// The elements of `chain` for the rows or columns `lines`, +0 between them where the chain has it.
    pub(super) fn gather<'m>(
        self,
        matrix: &'m Matrix,
        lines: &Range<usize>,
        chain: &[Piece],
    ) -> Result<Cow<'m, Matrix>, Error> {
        let length: usize = chain.iter().map(|piece| piece.padded).sum();
        let (lines_all, k) = match self {
            Operand::A => (matrix.rows(), matrix.columns()),
            Operand::B => (matrix.columns(), matrix.rows()),
        };
        if let [piece] = chain
            && piece.range == (0..k)
            && piece.padded == k
            && *lines == (0..lines_all)
        {
            return Ok(Cow::Borrowed(matrix));
        }
        let codes = on_codes!(matrix.codes(), codes => Code::held(match self {
            Operand::A => rows(codes, k, lines, chain, length),
            Operand::B => columns(codes, lines_all, lines, chain, length),
        }));
        let shape = match self {
            Operand::A => (1, lines.len(), length),
            Operand::B => (1, length, lines.len()),
        };
        Ok(Cow::Owned(Matrix::with_codes(matrix.format(), shape, codes)?))
    }
}

fn rows<T: Copy + Default>(
    codes: &[T],
    k: usize,
    lines: &Range<usize>,
    chain: &[Piece],
    length: usize,
) -> Vec<T> {
    let mut gathered = Vec::with_capacity(lines.len() * length);
    for line in lines.clone() {
        for piece in chain {
            gathered.extend_from_slice(&codes[line * k + piece.range.start..line * k + piece.range.end]);
            gathered.resize(gathered.len() + piece.padded - piece.range.len(), T::default());
        }
    }
    gathered
}

fn columns<T: Copy + Default>(
    codes: &[T],
    n: usize,
    lines: &Range<usize>,
    chain: &[Piece],
    length: usize,
) -> Vec<T> {
    let mut gathered = Vec::with_capacity(lines.len() * length);
    for piece in chain {
        for element in piece.range.clone() {
            gathered.extend_from_slice(&codes[element * n + lines.start..element * n + lines.end]);
        }
        let padding = (piece.padded - piece.range.len()) * lines.len();
        gathered.resize(gathered.len() + padding, T::default());
    }
    gathered
}
