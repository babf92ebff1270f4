//! Whatever answers D for A, B and C.

use bitmma_arithmetic::Model;
use bitmma_catalogue::lookup::Found;
use bitmma_formats::{BlockScale, Format};

use crate::case::{Case, Matrices};
use crate::check::Expected;
use crate::error::Error;
use crate::matrix::Matrix;

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
    pub(crate) fn c_code(&self, block: usize, row: usize, column: usize) -> u64 {
        self.c.map_or(0, |c| c.get(block, row, column))
    }
}

/// What a unit says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// The device that computes.
    pub device: Option<String>,
    /// What stands between it and us, with its version.
    pub driver: Option<String>,
}

/// A unit that multiplies matrices: a simulator, a recording, a GPU.
pub trait MmaUnit {
    /// What it takes and gives.
    fn signature(&self) -> &Signature;

    /// What it says about itself.
    fn about(&self) -> About {
        About::default()
    }

    /// D, or why there is none. Operands that do not fit the signature are an error, never a panic.
    fn multiply(&self, operands: &Operands<'_>) -> Result<Matrix, Error>;

    /// One D for each of the operands; a unit far away answers many in one exchange.
    fn multiply_many(&self, batch: &[Operands<'_>]) -> Result<Vec<Matrix>, Error> {
        batch.iter().map(|operands| self.multiply(operands)).collect()
    }

    /// One code of D for each dot product, asked on the diagonals of as many instructions as it takes.
    fn dot_products(&self, cases: &[Case]) -> Result<Vec<u64>, Error> {
        on_diagonals(self, cases)
    }
}

/// One code of D for each dot product, from the diagonals of as many products of the unit as it takes.
pub fn on_diagonals<U: MmaUnit + ?Sized>(unit: &U, cases: &[Case]) -> Result<Vec<u64>, Error> {
    let signature = unit.signature();
    let size = signature.m.min(signature.n);
    let packed = cases
        .chunks((signature.blocks * size).max(1))
        .map(|chunk| Matrices::diagonal(signature, chunk))
        .collect::<Result<Vec<_>, _>>()?;
    let operands: Vec<_> = packed.iter().map(Matrices::operands).collect();
    let answers = unit.multiply_many(&operands)?;
    Ok(answers
        .iter()
        .flat_map(|d| {
            (0..d.blocks()).flat_map(move |block| (0..size).map(move |line| d.get(block, line, line)))
        })
        .take(cases.len())
        .collect())
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

    /// Checks shape and format of every operand.
    pub fn check(&self, operands: &Operands<'_>) -> Result<(), Error> {
        let Signature { name, m, n, k, blocks, .. } = self;
        let (m, n, k, blocks) = (*m, *n, *k, *blocks);
        let scales = self.scale.map(|scale| {
            let along = k.div_ceil(scale.size);
            [(m, along), (along, n)].map(|(rows, columns)| (scale.format, (blocks, rows, columns)))
        });
        Expected {
            unit: name,
            product: name,
            a: (self.a, (blocks, m, k)),
            b: (self.b, (blocks, k, n)),
            c: (self.c, (blocks, m, n)),
            scales,
            factors: "factors",
        }
        .check(operands)
    }
}
