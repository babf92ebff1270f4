//! FP32 scales of blocks of A and B, as kernels apply them outside the matrix instruction.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use rayon::prelude::*;

use super::options::option;
use crate::error::Error;
use crate::kernel::elementwise::Word;
use crate::matrix::Matrix;

/// The order of the two products with d, the accumulator's result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScaleOrder {
    /// d · (scale of A · scale of B), as DeepGEMM.
    #[default]
    Product,
    /// (d · scale of A) · scale of B, as CUTLASS where both operands have several scales in a tile.
    AFirst,
    /// (d · scale of B) · scale of A: the same of a product that is computed transposed.
    BFirst,
}

/// Which elements share an FP32 scale, and how scales enter the sum.
///
/// A has ceil(M/rows) × ceil(K/k) scales, B ceil(K/k) × ceil(N/columns); with `k` = 0 ceil(M/rows) × 1 and
/// 1 × ceil(N/columns). Zero, infinity and NaN are scales like others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScaleBlocks {
    /// Elements of K that share a scale, a multiple of the instruction's K; 0: all of them.
    pub k: usize,
    /// Rows of A that share a scale, 1 or more.
    pub rows: usize,
    /// Columns of B that share a scale, 1 or more.
    pub columns: usize,
    /// The order of the products.
    pub order: ScaleOrder,
    /// Whether the last product and the sum are one FMA; otherwise each is rounded.
    pub fma: bool,
}

impl ScaleBlocks {
    /// Blocks of `rows` × `k` of A and of `columns` × `k` of B, applied as DeepGEMM does.
    pub const fn new(rows: usize, columns: usize, k: usize) -> ScaleBlocks {
        ScaleBlocks { k, rows, columns, order: ScaleOrder::Product, fma: true }
    }

    /// A scale for each row of A and one for each column of B, applied once, as CUTLASS's row-wise kernels do.
    pub const ROWS: ScaleBlocks =
        ScaleBlocks { k: 0, rows: 1, columns: 1, order: ScaleOrder::AFirst, fma: true };

    /// Blocks along K.
    pub const fn along(&self, k: usize) -> usize {
        if self.k == 0 { 1 } else { k.div_ceil(self.k) }
    }

    /// `sum` with d scaled and added.
    #[inline]
    pub(super) fn add<W: Word>(&self, sum: W, d: W, of_a: W, of_b: W) -> W {
        let (x, y) = match self.order {
            ScaleOrder::Product => (d, of_a.multiply(of_b)),
            ScaleOrder::AFirst => (d.multiply(of_a), of_b),
            ScaleOrder::BFirst => (d.multiply(of_b), of_a),
        };
        if self.fma { x.multiply_add(y, sum) } else { sum.add(x.multiply(y)) }
    }
}

impl fmt::Display for ScaleBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ScaleBlocks { k, rows, columns, .. } = self;
        if *k == 0 { f.write_str("row") } else { write!(f, "{rows}x{k},{columns}x{k}") }
    }
}

impl FromStr for ScaleBlocks {
    type Err = Error;

    /// `1x128,128x128`: rows of A by K, columns of B by K; `row`: [`ScaleBlocks::ROWS`].
    fn from_str(text: &str) -> Result<ScaleBlocks, Error> {
        let wrong = || {
            let allowed = "write 'row', or the blocks of A and of B with the same K, as in 1x128,128x128";
            option("scale_blocks", text, allowed.to_owned())
        };
        if text == "row" {
            return Ok(ScaleBlocks::ROWS);
        }
        let block = |text: &str| -> Option<(usize, usize)> {
            let (lines, k) = text.trim().split_once(['x', '×'])?;
            Some((lines.parse().ok()?, k.parse().ok()?))
        };
        let (a, b) = text.split_once(',').ok_or_else(wrong)?;
        match (block(a), block(b)) {
            (Some((rows, k)), Some((columns, of_b))) if k == of_b && rows > 0 && columns > 0 && k > 0 => {
                Ok(ScaleBlocks::new(rows, columns, k))
            }
            _ => Err(wrong()),
        }
    }
}

/// The scales of one product.
#[derive(Clone, Copy)]
pub(super) struct Scales<'s> {
    pub(super) blocks: ScaleBlocks,
    /// ceil(M/rows) × blocks along K, FP32.
    pub(super) a: &'s Matrix,
    /// Blocks along K × ceil(N/columns), FP32.
    pub(super) b: &'s Matrix,
}

impl Scales<'_> {
    /// [`ScaleBlocks::add`] in the place of each sum of a tile, of product `block` and block `along` of K.
    pub(super) fn add<W: Word>(
        &self,
        (block, along): (usize, usize),
        (rows, columns): (&Range<usize>, &Range<usize>),
        sum: &mut [W],
        d: &[W],
    ) {
        let ScaleBlocks { rows: per_row, columns: per_column, .. } = self.blocks;
        let width = columns.len().max(1);
        let of_b: Vec<W> =
            columns.clone().map(|column| W::of(self.b.get(block, along, column / per_column))).collect();
        let lines = sum.par_chunks_mut(width).zip(d.par_chunks(width)).enumerate();
        lines.for_each(|(line, (sum, d))| {
            let of_a = W::of(self.a.get(block, (rows.start + line) / per_row, along));
            for ((sum, &d), &of_b) in sum.iter_mut().zip(d).zip(&of_b) {
                *sum = self.blocks.add(*sum, d, of_a, of_b);
            }
        });
    }
}
