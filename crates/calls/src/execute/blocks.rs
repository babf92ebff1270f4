//! FP32 scales of blocks along K: what DeepGEMM and CUTLASS's group-wise kernels do after each block.

use std::ops::Range;

use bitmma::Matrix;
use bitmma::formats::F32;
use rayon::prelude::*;

use crate::epilogue::multiply;
use crate::error::Error;
use crate::execute::Call;
use crate::merge::{NAN, add as plus};
use crate::plan::{Blocks, Plan};
use crate::reference as exact;

/// Whether a call has the scales its plan asks for.
pub(super) fn check(plan: &Plan, call: &Call<'_>) -> Result<(), Error> {
    let (m, n, k) = call.shape();
    match (&plan.blocks, call.blocks) {
        (None, None) => Ok(()),
        (None, Some(_)) => Err(Error::Operands("block scales for a plan without [blocks]".to_owned())),
        (Some(_), None) => {
            Err(Error::Operands("the plan has [blocks]; the call gives no block scales".to_owned()))
        }
        (Some(blocks), Some((of_a, of_b))) => {
            let along = k.div_ceil(blocks.k);
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

fn at(scales: &Matrix, row: usize, column: usize) -> u32 {
    scales.get(0, row, column) as u32
}

/// `sum + d · (scale of A · scale of B)` for block `index` of K, in the place of each sum of a tile.
pub(super) fn add(
    blocks: &Blocks,
    call: &Call<'_>,
    index: usize,
    (rows, columns): (&Range<usize>, &Range<usize>),
    sum: &mut [u32],
    d: &[u32],
) {
    let (Some((of_a, of_b)), width) = (call.blocks, columns.len()) else { return };
    if width == 0 {
        return;
    }
    let of_b: Vec<u32> = columns.clone().map(|column| at(of_b, index, column / blocks.columns)).collect();
    sum.par_chunks_mut(width).zip(d.par_chunks(width)).enumerate().for_each(|(line, (sum, d))| {
        let of_a = at(of_a, (rows.start + line) / blocks.rows, index);
        for ((sum, &d), &of_b) in sum.iter_mut().zip(d).zip(&of_b) {
            let scale = multiply(of_a, of_b);
            *sum = if blocks.fma { fused(d, scale, *sum) } else { plus(*sum, multiply(d, scale)) };
        }
    });
}

/// x · y + z in FP32, rounded once.
fn fused(x: u32, y: u32, z: u32) -> u32 {
    let sum = f32::from_bits(x).mul_add(f32::from_bits(y), f32::from_bits(z));
    if sum.is_nan() { NAN } else { sum.to_bits() }
}

/// The sum of one element over all blocks, by definition.
pub(crate) fn reference(
    blocks: &Blocks,
    call: &Call<'_>,
    (row, column): (usize, usize),
    results: &[u32],
) -> Result<u32, Error> {
    let Some((of_a, of_b)) = call.blocks else {
        return Err(Error::Operands("the plan has [blocks]; the call gives no block scales".to_owned()));
    };
    Ok(results.iter().enumerate().fold(0, |sum, (index, &d)| {
        let scale =
            exact::multiply(at(of_a, row / blocks.rows, index), at(of_b, index, column / blocks.columns));
        match blocks.fma {
            true => exact::multiply_add(d, scale, sum),
            false => exact::add(sum, exact::multiply(d, scale)),
        }
    }))
}
