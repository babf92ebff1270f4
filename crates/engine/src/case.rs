//! The operands of one dot product, and of many.

use bitmma_arithmetic::run;
use serde::{Deserialize, Serialize};

use crate::matrix::Matrix;

/// The operands of one dot product.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Case {
    /// K codes.
    pub a: Vec<u64>,
    /// K codes.
    pub b: Vec<u64>,
    /// One code.
    pub c: u64,
    /// K/block codes, or none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scale_a: Vec<u64>,
    /// K/block codes, or none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scale_b: Vec<u64>,
}

impl Case {
    /// The same, borrowed, as models take it.
    pub fn operands(&self) -> run::Operands<'_> {
        let Case { a, b, c, scale_a, scale_b } = self;
        run::Operands { a, b, c: *c, scale_a, scale_b }
    }
}

/// The operands of one instruction.
#[derive(Clone, Copy, Debug)]
pub struct Operands<'a> {
    /// M×K.
    pub a: &'a Matrix,
    /// K×N.
    pub b: &'a Matrix,
    /// M×N; without it C is +0 everywhere, and takes no memory.
    pub c: Option<&'a Matrix>,
    /// M × K/block.
    pub scale_a: Option<&'a Matrix>,
    /// K/block × N.
    pub scale_b: Option<&'a Matrix>,
}

impl Operands<'_> {
    /// Blocks, M and N: the shape of D.
    pub fn shape(&self) -> (usize, usize, usize) {
        (self.a.blocks(), self.a.rows(), self.b.columns())
    }

    /// The dot product of row `row` of A, column `column` of B and their element of C, of one block.
    pub fn case(&self, block: usize, row: usize, column: usize) -> Case {
        Case {
            a: self.a.row(block, row).collect(),
            b: self.b.column(block, column).collect(),
            c: self.c_code(block, row, column),
            scale_a: self.scale_a.map_or(Vec::new(), |scale| scale.row(block, row).collect()),
            scale_b: self.scale_b.map_or(Vec::new(), |scale| scale.column(block, column).collect()),
        }
    }

    /// One code of C; that of +0 without C.
    fn c_code(&self, block: usize, row: usize, column: usize) -> u64 {
        self.views().c_code(block, row, column)
    }

    /// The codes and shapes alone, for what does not check formats.
    pub(crate) fn views(&self) -> bitmma_kernel::Operands<'_> {
        bitmma_kernel::Operands {
            a: self.a.view(),
            b: self.b.view(),
            c: self.c.map(Matrix::view),
            scale_a: self.scale_a.map(Matrix::view),
            scale_b: self.scale_b.map(Matrix::view),
        }
    }
}
