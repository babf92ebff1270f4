//! FP32 sums of ordinary threads: CUDA-core kernels, matrix times vector, dot products (rules 31 to 33).
//!
//! Products are exact and enter a sum by a fused multiply-add; every level of a tree starts at +0. One writing of the
//! trees serves both arithmetics: the processor's for speed, and whole numbers for the definition.

use std::ops::Range;

use bitmma_formats::{F32, Format};
use bitmma_kernel::{Codes, Word};
use bitmma_threads::{each_chunk, mapped};

use super::codes::Tile;
use super::convert::OutputConversion;
use super::exact;
use super::schedule::{Fold, Simt, SimtFamily};
use crate::borrowed::MatrixRef;

/// How a tree adds and multiplies.
#[derive(Clone, Copy)]
struct Arithmetic {
    add: fn(u32, u32) -> u32,
    fma: fn(u32, u32, u32) -> u32,
}

/// The processor's operations.
fn host<W: Word>() -> Arithmetic {
    Arithmetic {
        add: |x, y| (W::of(x.into()) + W::of(y.into())).code() as u32,
        fma: |x, y, z| W::of(x.into()).multiply_add(W::of(y.into()), W::of(z.into())).code() as u32,
    }
}

const EXACT: Arithmetic = Arithmetic {
    add: |x, y| exact::add(F32, x.into(), y.into()) as u32,
    fma: |x, y, z| exact::multiply_add(F32, x.into(), y.into(), z.into()) as u32,
};

/// Elements of a row of D that one thread takes at a time.
const SHARE: usize = 64;
/// Threads of a block of a dot product.
const DOT_THREADS: usize = 128;

/// One element of D by definition, from the codes of a row of A and a column of B.
pub(super) fn element(simt: &Simt, a: (Format, &[u64]), b: (Format, &[u64])) -> u64 {
    let lifted = |(format, codes): (Format, &[u64])| -> Vec<u32> {
        codes.iter().map(|&code| exact::lift(F32, &format, code) as u32).collect()
    };
    let [a, b] = [a, b].map(lifted);
    sum(simt, EXACT, &a, &b).into()
}

/// The numbers of a tile of D.
pub(super) fn tile(simt: &Simt, [a, b]: [MatrixRef<'_>; 2], tile: &Tile) -> Codes {
    let (rows, columns) = (&tile.rows, &tile.columns);
    let lift = |of: MatrixRef<'_>, lines: usize| {
        let count = lines.saturating_mul(a.view.columns);
        OutputConversion::nearest(F32).of(of.format, count)
    };
    let (lift_a, lift_b) = (lift(a, rows.len()), lift(b, columns.len()));
    let columns: Vec<Vec<u32>> = mapped(columns.len(), |index| {
        b.view.column(tile.block, columns.start + index).map(|code| lift_b(code) as u32).collect()
    });
    let lines = mapped(rows.len(), |index| {
        let a: Vec<u32> =
            a.view.row(tile.block, rows.start + index).map(|code| lift_a(code) as u32).collect();
        let mut line = vec![0; columns.len()];
        each_chunk(&mut line, SHARE, |chunk, line| {
            let columns = &columns[chunk * SHARE..];
            line.iter_mut().zip(columns).for_each(|(d, b)| *d = sum(simt, host::<f32>(), &a, b));
        });
        line
    });
    Codes::U32(lines.concat())
}

fn sum(simt: &Simt, with: Arithmetic, a: &[u32], b: &[u32]) -> u32 {
    let chain = |elements: &mut dyn Iterator<Item = usize>| {
        elements.fold(0, |sum, element| (with.fma)(a[element], b[element], sum))
    };
    let k = a.len();
    match simt.family {
        SimtFamily::Chains => {
            let share = k.div_ceil(simt.threads).max(1);
            serial(
                with,
                (0..simt.threads).map(|thread| {
                    let own = (thread * share).min(k)..((thread + 1) * share).min(k);
                    blocks(with, own, simt.block, &chain)
                }),
            )
        }
        SimtFamily::Gemv => {
            let slice = k.div_ceil(simt.slices).max(1);
            serial(
                with,
                (0..simt.slices).map(|index| {
                    let own = (index * slice).min(k)..((index + 1) * slice).min(k);
                    gemv(simt, with, own, slice, &chain)
                }),
            )
        }
        SimtFamily::GemvSlices => {
            let share = k.div_ceil(simt.lanes).max(1);
            let lanes = (0..simt.lanes).map(|lane| {
                let own = (lane * share).min(k)..((lane + 1) * share).min(k);
                blocks(with, own, simt.block, &chain)
            });
            fold(simt.fold, with, lanes.collect())
        }
        SimtFamily::Dot => dot(simt, with, k, &chain),
    }
}

fn serial(with: Arithmetic, numbers: impl Iterator<Item = u32>) -> u32 {
    numbers.fold(0, with.add)
}

/// Sub-blocks of `size` elements (0: all), each summed from +0, added in order.
fn blocks(
    with: Arithmetic,
    own: Range<usize>,
    size: usize,
    chain: &dyn Fn(&mut dyn Iterator<Item = usize>) -> u32,
) -> u32 {
    let size = if size == 0 { own.len().max(1) } else { size };
    let end = own.end;
    serial(with, own.step_by(size).map(|start| chain(&mut (start..start.saturating_add(size).min(end)))))
}

/// One slice of a product with a vector; `slice` is the length of a slice, also where the last one is shorter.
fn gemv(
    simt: &Simt,
    with: Arithmetic,
    own: Range<usize>,
    slice: usize,
    chain: &dyn Fn(&mut dyn Iterator<Item = usize>) -> u32,
) -> u32 {
    let lanes = simt.lanes;
    let vector = match simt.vector {
        fixed @ 1.. => fixed as usize,
        largest => (largest.unsigned_abs() as usize).min(slice.div_ceil(lanes)).max(1),
    };
    let tiles = own.len().div_ceil(vector * lanes);
    let chunk = if simt.tiles == 0 { tiles.max(1) } else { simt.tiles };
    let lane = |lane: usize| {
        let chunks = (0..tiles).step_by(chunk).map(|first| {
            let mut elements = (first..(first + chunk).min(tiles)).flat_map(|tile| {
                let start = own.start + tile * vector * lanes + lane * vector;
                start.min(own.end)..(start + vector).min(own.end)
            });
            chain(&mut elements)
        });
        serial(with, chunks)
    };
    fold(simt.fold, with, (0..lanes).map(lane).collect())
}

/// Lanes added.
fn fold(fold: Fold, with: Arithmetic, mut lanes: Vec<u32>) -> u32 {
    match fold {
        Fold::InOrder => serial(with, lanes.into_iter()),
        Fold::Halves => {
            while lanes.len() > 1 {
                let upper = lanes.split_off(lanes.len() / 2);
                lanes.iter_mut().zip(upper).for_each(|(lane, other)| *lane = (with.add)(*lane, other));
            }
            lanes.first().copied().unwrap_or(0)
        }
    }
}

/// A dot product: blocks of threads, then one block over their results.
fn dot(
    simt: &Simt,
    with: Arithmetic,
    k: usize,
    chain: &dyn Fn(&mut dyn Iterator<Item = usize>) -> u32,
) -> u32 {
    let vector = simt.vector.unsigned_abs() as usize;
    let size = DOT_THREADS * vector;
    let tiles = k.div_ceil(size);
    let partial = |block: usize| {
        let threads = (0..DOT_THREADS).map(|thread| {
            let chains = (0..vector).map(|place| {
                let element = |tile: usize| tile * size + thread * vector + place;
                chain(&mut (block..tiles).step_by(simt.slices).map(element).filter(|&element| element < k))
            });
            serial(with, chains)
        });
        fold(Fold::Halves, with, threads.collect())
    };
    let partials: Vec<u32> = (0..simt.slices).map(partial).collect();
    let threads = (0..DOT_THREADS)
        .map(|thread| serial(with, partials.iter().skip(thread).step_by(DOT_THREADS).copied()));
    let mut lanes: Vec<u32> = threads.collect();
    for _ in 0..2 {
        let upper = lanes.split_off(lanes.len() / 2);
        lanes.iter_mut().zip(upper).for_each(|(lane, other)| *lane = (with.add)(*lane, other));
    }
    let of_four = (0..4).map(|place| serial(with, (0..8).map(|group| lanes[4 * group + place])));
    let sums: Vec<u32> = of_four.collect();
    sums[1..].iter().fold(sums[0], |total, &sum| (with.add)(total, sum))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum_of(simt: &Simt, a: &[u32], b: &[u32]) -> u32 {
        sum(simt, EXACT, a, b)
    }

    fn ones(k: usize) -> Vec<u32> {
        vec![0x3f80_0000; k]
    }

    #[test]
    fn every_family_adds_every_element_once() {
        let base = Simt::default();
        let kinds = [
            Simt { family: SimtFamily::Chains, threads: 4, block: 128, ..base.clone() },
            Simt { family: SimtFamily::Gemv, vector: -64, lanes: 32, slices: 3, ..base.clone() },
            Simt {
                family: SimtFamily::Gemv,
                vector: 1,
                lanes: 16,
                tiles: 32,
                fold: Fold::InOrder,
                ..base.clone()
            },
            Simt { family: SimtFamily::GemvSlices, lanes: 32, block: 16, ..base.clone() },
            Simt { family: SimtFamily::Dot, vector: 2, slices: 200, ..base.clone() },
            Simt { family: SimtFamily::Dot, vector: 1, slices: 1, ..base },
        ];
        for simt in kinds {
            for k in [1, 2, 31, 64, 1000, 4099, 60_001] {
                let sum = sum(&simt, EXACT, &ones(k), &ones(k));
                assert_eq!(sum, (k as f32).to_bits(), "{simt:?}, K = {k}");
            }
        }
    }

    #[test]
    fn a_sub_block_is_summed_alone() {
        // 2^24 + 1 + 1: one by one both ones are lost, as a block of their own they are kept
        let a = [0x4b80_0000, 0x3f80_0000, 0x3f80_0000, 0];
        let one = ones(4);
        let chains = |block| Simt { family: SimtFamily::Chains, block, ..Simt::default() };
        assert_eq!(sum_of(&chains(0), &a, &one), 0x4b80_0000);
        assert_eq!(sum_of(&chains(1), &a, &one), 0x4b80_0000);
        // a block longer than the whole sum: its end would overflow
        let endless = Simt { threads: 2, block: usize::MAX, ..chains(0) };
        assert_eq!(sum_of(&endless, &one, &one), 4f32.to_bits());
        let shifted = [0x4b80_0000, 0, 0x3f80_0000, 0x3f80_0000];
        assert_eq!(sum_of(&chains(2), &shifted, &one), 0x4b80_0001);
    }
}
