//! Multiplications that nobody has looked at yet: those that add to the same accumulators are one longer product for the engine.

use std::sync::Arc;

use bitmma_engine::Codes;

use super::describe::Shape;
use super::matrix::{Tile, lane_of};
use super::memory::TensorMemory;
use crate::matrix::{Multiplier, Sizes};

/// Multiplications that are kept, at most.
pub(super) const MOST: usize = 32;

/// Multiplications that add to the same accumulators one after the other, and were not done yet.
pub(in crate::run) struct Queue {
    pub(super) multiplier: Arc<Multiplier>,
    pub(super) shape: Shape,
    /// Lane and column of the first accumulator.
    pub(super) d: (usize, usize),
    /// Lanes of which nothing is written.
    pub(super) disabled: u128,
    pub(super) starts_at_zero: bool,
    pub(super) steps: Vec<Step>,
}

/// A and B of one multiplication, and their scale factors.
pub(super) struct Step {
    pub(super) sides: [Tile; 2],
    pub(super) factors: Option<[Tile; 2]>,
}

/// How something was multiplied, and codes of A, B, C and D.
type Multiplied = (Arc<Multiplier>, [Codes; 4]);

impl Queue {
    fn sizes(&self) -> Sizes {
        let sizes = self.shape.sizes();
        Sizes { k: self.steps.len() * sizes.k, ..sizes }
    }

    /// Codes of A, B and their factors of all steps, line by line.
    fn codes(&self, side: usize) -> Codes {
        let of = self.shape.sides[side];
        let tiles: Vec<_> = self.steps.iter().map(|step| &step.sides[side].0).collect();
        codes(&tiles, of.lines, of.bits)
    }

    fn factors(&self) -> Option<[Codes; 2]> {
        (self.shape.factors > 0).then(|| {
            [0, 1].map(|side| {
                let all =
                    self.steps.iter().filter_map(|step| step.factors.as_ref()).map(|both| &both[side].0);
                codes(&all.collect::<Vec<_>>(), self.shape.sides[side].lines, 8)
            })
        })
    }
}

/// The lines of several tiles, each behind the same line of the one before.
fn codes(tiles: &[&Vec<u32>], lines: usize, bits: usize) -> Codes {
    let all = (0..lines).flat_map(|line| {
        tiles.iter().flat_map(move |tile| {
            let length = tile.len() / lines;
            &tile[line * length..][..length]
        })
    });
    packed(all.copied(), bits)
}

fn packed(codes: impl Iterator<Item = u32>, bits: usize) -> Codes {
    match bits {
        ..=8 => Codes::U8(codes.map(|code| code as u8).collect()),
        16 => Codes::U16(codes.map(|code| code as u16).collect()),
        _ => Codes::U32(codes.collect()),
    }
}

impl TensorMemory {
    /// Where an accumulator is.
    fn accumulator(queue: &Queue, row: usize, column: usize) -> (usize, usize) {
        (queue.d.0 + lane_of(row, queue.shape.sides[0].lines), queue.d.1 + column)
    }

    /// Does what was kept: codes of A, B, C and D, if there was something.
    pub(super) fn multiply(&mut self) -> Result<Option<Multiplied>, String> {
        let Some(queue) = self.queue.take() else { return Ok(None) };
        let sizes @ Sizes { m, n, .. } = queue.sizes();
        let places = || (0..m).flat_map(|row| (0..n).map(move |column| (row, column)));
        let bits = queue.shape.d_bits;
        let of_c = places().map(|(row, column)| match queue.starts_at_zero {
            true => 0,
            false => {
                let (lane, column) = TensorMemory::accumulator(&queue, row, column);
                self.word(lane, column) & u32::MAX >> (32 - bits)
            }
        });
        let (a, b, c) = (queue.codes(0), queue.codes(1), packed(of_c, bits));
        let operands = [a.clone(), b.clone(), c.clone()];
        let d =
            queue.multiplier.multiply(sizes, operands, queue.factors()).map_err(|error| error.to_string())?;
        for (at, (row, column)) in places().enumerate() {
            let (lane, column) = TensorMemory::accumulator(&queue, row, column);
            if queue.disabled >> lane & 1 == 0 {
                self.put(lane, column, d.get(at) as u32);
            }
        }
        Ok(Some((queue.multiplier, [a, b, c, d])))
    }
}
