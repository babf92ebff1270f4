//! The operands of one instruction, made of dot products.

use crate::case::{Case, Operands};
use crate::error::Error;
use crate::matrix::Matrix;
use crate::signature::Signature;

/// The operands of one instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matrices {
    /// M×K.
    pub a: Matrix,
    /// K×N.
    pub b: Matrix,
    /// M×N.
    pub c: Matrix,
    /// M × K/block and K/block × N.
    pub scales: Option<(Matrix, Matrix)>,
}

impl Matrices {
    /// The same, borrowed.
    pub fn operands(&self) -> Operands<'_> {
        let (scale_a, scale_b) = self.scales.as_ref().map(|(a, b)| (a, b)).unzip();
        Operands { a: &self.a, b: &self.b, c: Some(&self.c), scale_a, scale_b }
    }

    /// The dot product of row `row` of A, column `column` of B and their element of C.
    pub fn case(&self, block: usize, row: usize, column: usize) -> Case {
        self.operands().case(block, row, column)
    }

    /// `cases` on the diagonals of the unit's blocks, one after the other, every other element of C
    /// that of its row; rows and columns without a case are those of the first. At most
    /// `blocks · min(M, N)` cases, at least one.
    pub fn diagonal(signature: &Signature, cases: &[Case]) -> Result<Matrices, Error> {
        let size = signature.m.min(signature.n);
        let at = |block: usize, line: usize| {
            cases.get(block * size + line).filter(|_| line < size).unwrap_or(&cases[0])
        };
        Matrices::assemble(signature, at, |block, row, _| at(block, row).c)
    }

    /// Row i of A and column i of B of each block are those of the case `line(block, i)`, with its scale factors;
    /// `c(block, row, column)` is each element of C, asked row by row. `line` must answer for every i below max(M, N).
    pub fn assemble<'c>(
        signature: &Signature,
        line: impl Fn(usize, usize) -> &'c Case + Copy,
        c: impl FnMut(usize, usize, usize) -> u64,
    ) -> Result<Matrices, Error> {
        let Signature { m, n, k, blocks, .. } = *signature;
        let rows = |format, length, of: fn(&Case) -> &[u64]| {
            Matrix::from_fn(format, (blocks, m, length), |block, row, at| of(line(block, row))[at])
        };
        let columns = |format, length, of: fn(&Case) -> &[u64]| {
            Matrix::from_fn(format, (blocks, length, n), |block, at, column| of(line(block, column))[at])
        };
        Ok(Matrices {
            a: rows(signature.a, k, |case| &case.a)?,
            b: columns(signature.b, k, |case| &case.b)?,
            c: Matrix::from_fn(signature.c, (blocks, m, n), c)?,
            scales: match signature.scale {
                None => None,
                Some(scale) => Some((
                    rows(scale.format, k / scale.size, |case| &case.scale_a)?,
                    columns(scale.format, k / scale.size, |case| &case.scale_b)?,
                )),
            },
        })
    }
}
