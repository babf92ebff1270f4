//! What a unit takes and gives.

use bitmma_arithmetic::Model;
use bitmma_catalogue::lookup::Found;
use bitmma_formats::{BlockScale, Format};

use crate::case::Operands;
use crate::check::Expected;
use crate::error::Error;

/// What a unit takes and gives: D = A·B + C, with A M×K, B K×N, C and D M×N, `blocks` times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The instruction or model.
    pub name: String,
    /// Rows of A, C and D.
    pub m: usize,
    /// Columns of B, C and D.
    pub n: usize,
    /// Columns of A, rows of B.
    pub k: usize,
    /// Independent products in one instruction.
    pub blocks: usize,
    /// Format of A.
    pub a: Format,
    /// Format of B.
    pub b: Format,
    /// Format of C.
    pub c: Format,
    /// Format of D.
    pub d: Format,
    /// Scale factors: A has M × K/size of them, B K/size × N.
    pub scale: Option<BlockScale>,
}

impl Signature {
    /// What an instruction takes and gives, for the M and N that were asked for. Of a sparse A it takes the
    /// elements that are stored, of B the rows that they meet.
    pub fn of(found: &Found) -> Signature {
        let row = found.instruction;
        Signature {
            name: found.name(),
            m: found.m,
            n: found.n,
            k: row.products(),
            blocks: row.blocks,
            a: row.a,
            b: row.b,
            c: row.c,
            d: row.d,
            scale: row.scale,
        }
    }

    /// As [`Signature::of`], named `ARCH/INSTRUCTION`.
    pub fn found(found: &Found) -> Signature {
        let name = format!("{}/{}", found.instruction.architecture, found.name());
        Signature { name, ..Signature::of(found) }
    }

    /// That of one M×N×K product by a model.
    pub fn of_model(name: String, model: &Model, (m, n, k): (usize, usize, usize)) -> Signature {
        let Model { a, b, c, d, scale, .. } = *model;
        Signature { name, m, n, k, blocks: 1, a, b, c, d, scale }
    }

    /// Blocks, rows and columns of A, B, C (and D), and the scale factors of A and B.
    pub fn shapes(&self) -> [(usize, usize, usize); 5] {
        let Signature { m, n, k, blocks, scale, .. } = *self;
        let factors = scale.map_or(0, |scale| k / scale.size);
        [(blocks, m, k), (blocks, k, n), (blocks, m, n), (blocks, m, factors), (blocks, factors, n)]
    }

    /// Checks shape and format of every operand.
    pub fn check(&self, operands: &Operands<'_>) -> Result<(), Error> {
        let Signature { ref name, m, n, k, blocks, a, b, c, scale, .. } = *self;
        Expected::of(name, [a, b, c], scale, (blocks, m, n, k)).check(operands)
    }
}
