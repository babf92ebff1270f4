//! Results of runs along K in one sum: promotion, split K, and FP32 scales of blocks.
//!
//! A run is a stretch of K of whole steps. In each the accumulator starts from +0; what it ends with goes into a sum
//! in FP32 (FP64 where C or D is) by operations of IEEE 754.

use std::fmt;
use std::ops::Range;

use super::codes::View;
use super::elementwise::Word;

/// The runs of a product and what becomes of their results. The product's C is where the sums start.
#[derive(Clone, Copy)]
pub struct Runs<'r> {
    /// Where each run ends, in elements along K, in order; the last one ends at K.
    pub ends: &'r [usize],
    /// Without C: whether sums start from -0, to which any number is added unchanged, and not from +0.
    pub empty: bool,
    /// How a result enters the sum.
    pub fold: Fold<'r>,
}

impl Runs<'_> {
    /// The elements of a run.
    pub fn range(&self, run: usize) -> Range<usize> {
        run.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[run]
    }

    /// Elements of the longest run.
    pub fn longest(&self) -> usize {
        (0..self.ends.len()).map(|run| self.range(run).len()).max().unwrap_or(0)
    }

    /// What sums start from without C.
    pub fn start<W: Word>(&self) -> W {
        if self.empty { W::of(W::FORMAT.sign_bit()) } else { W::default() }
    }
}

/// How the result of a run enters the sum.
#[derive(Clone, Copy)]
pub enum Fold<'f> {
    /// sum + d.
    Add,
    /// d times the scales of A and B, one block of K to a run.
    Scale(&'f Scales<'f>),
}

impl Fold<'_> {
    /// Takes the results of a run into the sums of some rows and columns and leaves zeros in their place; both have lines
    /// of `width` numbers, of which the first `used` columns count.
    #[inline(always)] // for callers compiled for an instruction set
    pub fn rows<W: Word>(
        &self,
        run: usize,
        (first_row, first_column): (usize, usize),
        (width, used): (usize, usize),
        (sums, results): (&mut [W], &mut [W]),
    ) {
        match self {
            Fold::Add => {
                for (sum, d) in sums.iter_mut().zip(results) {
                    *sum = *sum + std::mem::take(d);
                }
            }
            Fold::Scale(scales) => {
                let run = scales.along[run];
                let of_b = scales.of_columns(run, first_column..first_column + used);
                for (line, lines) in sums.chunks_mut(width).zip(results.chunks(width)).enumerate() {
                    scales.add(run, first_row + line, &of_b, lines);
                }
                results.fill(W::default());
            }
        }
    }
}

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

    /// Every result of a line scaled by its row's scale and its column's, and added to its sum.
    #[inline(always)] // for callers compiled for an instruction set
    fn add<W: Word>(&self, of_a: W, of_b: &[W], lines: (&mut [W], &[W])) {
        match self.order {
            ScaleOrder::Product => self.add_products(of_b, lines, |d, of_b| (d, of_a * of_b)),
            ScaleOrder::AFirst => self.add_products(of_b, lines, |d, of_b| (d * of_a, of_b)),
            ScaleOrder::BFirst => self.add_products(of_b, lines, |d, of_b| (d * of_b, of_a)),
        }
    }

    /// As [`ScaleBlocks::add`], by the two factors that the last product has.
    #[inline(always)]
    fn add_products<W: Word>(
        &self,
        of_b: &[W],
        (sums, results): (&mut [W], &[W]),
        factors: impl Fn(W, W) -> (W, W),
    ) {
        // loops, not calls with closures, which may be compiled for another instruction set
        let elements = sums.iter_mut().zip(results).zip(of_b);
        if self.fma {
            for ((sum, &d), &of_b) in elements {
                let (x, y) = factors(d, of_b);
                *sum = x.multiply_add(y, *sum);
            }
        } else {
            for ((sum, &d), &of_b) in elements {
                let (x, y) = factors(d, of_b);
                *sum = *sum + x * y;
            }
        }
    }
}

impl fmt::Display for ScaleBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ScaleBlocks { k, rows, columns, .. } = self;
        if *k == 0 { f.write_str("row") } else { write!(f, "{rows}x{k},{columns}x{k}") }
    }
}

/// The scales of a tile of a product.
#[derive(Clone, Copy)]
pub struct Scales<'s> {
    /// Which elements share one.
    pub blocks: ScaleBlocks,
    /// ceil(M/rows) × blocks along K, FP32.
    pub a: View<'s>,
    /// Blocks along K × ceil(N/columns), FP32.
    pub b: View<'s>,
    /// The block along K of each run.
    pub along: &'s [usize],
    /// Matrix, first row and first column of the tile in the product.
    pub tile: (usize, usize, usize),
}

impl Scales<'_> {
    /// The scales that columns of the tile have in a block of K.
    #[inline(always)]
    fn of_columns<W: Word>(&self, along: usize, columns: Range<usize>) -> Vec<W> {
        let (block, _, first) = self.tile;
        let (mut scales, mut index) =
            (Vec::with_capacity(columns.len()), (first + columns.start) / self.blocks.columns);
        while scales.len() < columns.len() {
            let end = (index + 1).saturating_mul(self.blocks.columns) - first;
            scales.resize(columns.end.min(end) - columns.start, W::of(self.b.get(block, along, index)));
            index += 1;
        }
        scales
    }

    /// [`ScaleBlocks::add`] in the place of each sum of a row of the tile; `of_b` are the scales of its columns. A row
    /// beyond the product is left as it is.
    #[inline(always)]
    fn add<W: Word>(&self, along: usize, row: usize, of_b: &[W], (sums, results): (&mut [W], &[W])) {
        let (block, first, _) = self.tile;
        let index = (first + row) / self.blocks.rows;
        if index >= self.a.rows {
            return;
        }
        let of_a = W::of(self.a.get(block, index, along));
        self.blocks.add(of_a, of_b, (sums, results));
    }
}
