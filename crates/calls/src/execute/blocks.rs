//! The FP32 scales of blocks: whether a call has those that its plan asks for, and those of a tile and a slice.

use std::ops::Range;

use bitmma_engine::Matrix;
use bitmma_engine::formats::F32;

use crate::call::Call;
use crate::deal::Slice;
use crate::error::Error;
use crate::plan::{Blocks, Plan};

/// Formats and shapes of the scales.
pub(super) fn check(plan: &Plan, call: &Call<'_>) -> Result<(), Error> {
    let (m, n, k) = call.shape();
    match (&plan.blocks, call.blocks) {
        (None, None) => Ok(()),
        (None, Some(_)) => Err(Error::Operands("block scales for a plan without [blocks]".to_owned())),
        (Some(_), None) => {
            Err(Error::Operands("the plan has [blocks]; the call gives no block scales".to_owned()))
        }
        (Some(blocks), Some((of_a, of_b))) => {
            let along = blocks.sizes().along(k);
            let a = (m.div_ceil(blocks.rows), along);
            let b = (along, n.div_ceil(blocks.columns));
            for (name, scales, (rows, columns)) in [("A", of_a, a), ("B", of_b, b)] {
                if scales.format() != F32 || scales.shape() != (1, rows, columns) {
                    return Err(Error::Operands(format!(
                        "block scales of {name} are {} {}×{}; they are f32 {rows}×{columns}",
                        scales.format(),
                        scales.rows(),
                        scales.columns()
                    )));
                }
            }
            Ok(())
        }
    }
}

/// The scales of the rows and columns of a tile, for the blocks along K that a slice's chains take, in their order.
pub(super) fn of(
    sizes: &Blocks,
    (of_a, of_b): (&Matrix, &Matrix),
    slice: &Slice,
    rows: &Range<usize>,
    columns: &Range<usize>,
) -> Result<(Matrix, Matrix), Error> {
    let along: Vec<usize> = slice.iter().map(|chain| chain[0].range.start / sizes.k).collect();
    let lines = |range: &Range<usize>, each: usize| range.start / each..range.end.div_ceil(each);
    let (rows, columns) = (lines(rows, sizes.rows), lines(columns, sizes.columns));
    let a = rows.clone().flat_map(|row| along.iter().map(move |&k| of_a.get(0, row, k)));
    let a = Matrix::single(F32, rows.len(), along.len(), a)?;
    let b = along.iter().flat_map(|&k| columns.clone().map(move |column| of_b.get(0, k, column)));
    let b = Matrix::single(F32, along.len(), columns.len(), b)?;
    Ok((a, b))
}
