//! `tcgen05.mma`: what is multiplied, together with what follows on the same accumulators.

use std::cell::Cell;
use std::sync::Arc;

use super::describe::{Shape, Side, multiplier, shape};
use super::matrix::{Tile, lane_of};
use super::memory::{SHARING, place};
use super::queue::{MOST, Queue, Step};
use crate::matrix::Sizes;
use crate::program::{Address, TensorA, TensorProduct};
use crate::run::block::Block;
use crate::run::fault::{Fault, Race};
use crate::run::undefined::{Bytes, Origin};
use crate::run::warp::Warp;

/// Accumulators, by lane and column, each with whether it is undefined; and where the first undefined operand came from.
type Undefined = (Vec<((usize, usize), bool)>, Origin);

/// What one thread multiplies.
struct Given {
    shape: Shape,
    d: (usize, usize),
    a: Source,
    b: u64,
    scales: Option<[(usize, usize); 2]>,
    adds: bool,
}

#[derive(Clone, Copy)]
enum Source {
    Shared(u64),
    Tensor(usize, usize),
}

impl Warp {
    /// What each thread multiplies.
    pub(super) fn tensor_product(
        &mut self,
        product: &TensorProduct,
        lane: usize,
        block: &mut Block<'_>,
    ) -> Result<(), Fault> {
        let fault = |what: String| Fault::new(lane, what);
        let given = self.given(product, lane).map_err(fault)?;
        let Given { shape, d, a, b, scales, adds } = given;
        let Sizes { m, n, .. } = shape.sizes();
        let descriptor = self.registers.word(product.descriptor)[lane];
        let disabled = self.disabled(product, lane);
        let architecture = block.launch.kernel.architecture;
        let known = block.tensor.multipliers.get(&(product.kind, descriptor)).cloned();
        let multiplier = match known {
            Some(known) => known,
            None => {
                let new = Arc::new(multiplier(architecture, product.kind, descriptor).map_err(fault)?);
                block.tensor.multipliers.insert((product.kind, descriptor), new.clone());
                new
            }
        };
        // A that is in the columns of what was kept is read after that
        let reads_d = match a {
            Source::Tensor(_, column) => {
                let all = column..column + 8;
                block.tensor.queue.as_ref().is_some_and(|queue| {
                    all.start < queue.d.1 + queue.shape.sides[1].lines && queue.d.1 < all.end
                })
            }
            Source::Shared(_) => false,
        };
        let goes_on = |queue: &Queue| {
            adds && queue.d == d
                && Arc::ptr_eq(&queue.multiplier, &multiplier)
                && queue.disabled == disabled
                && queue.steps.len() < MOST
        };
        if reads_d || !block.tensor.queue.as_ref().is_some_and(goes_on) {
            block.tensor.multiply().map_err(fault)?;
        }
        let by = block.clocks.by(self.number);
        let operation = block.tensor.start(by);
        let warp = self.number;
        let mut unwritten = false;
        let mut side = |at: usize, block: &mut Block<'_>| {
            let source = if at == 0 { a } else { Source::Shared(b) };
            let side = shape.sides[at];
            match source {
                Source::Shared(descriptor) => Tile::shared(descriptor, side, |address| {
                    let at = block.shared.checked(address, 16, "reads").map_err(fault)?;
                    let by = block.clocks.by(warp);
                    // the padding of elements of 4 bits may hold nothing
                    let bytes = if side.is_padded && side.bits == 4 { 8 } else { 16 };
                    let noted =
                        block.shared.note_product((at, bytes), (operation.group, operation.number), by);
                    noted.map_err(|race: Race| Fault::new(lane, race))?;
                    Ok(block.shared.array(at))
                }),
                Source::Tensor(first, column) => {
                    block.tensor.check(column..column + 8).map_err(fault)?;
                    Tile::tensor(side, |lane, word| {
                        let by = block.clocks.by(warp);
                        let (lane, column) = (first + lane, column + word);
                        let noted =
                            block.tensor.note_read((lane, column), 1 << (lane % SHARING), operation, by);
                        unwritten |= !noted.map_err(fault)?;
                        Ok(block.tensor.word(lane, column))
                    })
                }
            }
        };
        let sides = [side(0, block)?, side(1, block)?];
        let mut factors = |at: usize, (_, first): (usize, usize), block: &mut Block<'_>| {
            let side = shape.sides[at];
            block.tensor.check(first..first + side.lines.div_ceil(32)).map_err(fault)?;
            Tile::factors(side, shape.factors, |lane, column| {
                let by = block.clocks.by(warp);
                let at = (lane, first + column);
                let noted = block.tensor.note_read(at, 1 << (lane % SHARING), operation, by);
                unwritten |= !noted.map_err(fault)?;
                Ok(block.tensor.word(lane, first + column))
            })
        };
        let factors = match scales {
            Some([of_a, of_b]) => Some([factors(0, of_a, block)?, factors(1, of_b, block)?]),
            None => None,
        };
        block.tensor.check(d.1..d.1 + n).map_err(fault)?;
        let by = block.clocks.by(self.number);
        for row in (0..m).step_by(SHARING) {
            let lane = d.0 + lane_of(row, m);
            let written = !((disabled >> lane) as u16);
            for column in d.1..d.1 + n {
                if adds {
                    let noted = block.tensor.note_read((lane, column), u16::MAX, operation, by);
                    unwritten |= !noted.map_err(fault)?;
                }
                if written != 0 {
                    block.tensor.note_write((lane, column), written, operation, by).map_err(fault)?;
                }
            }
        }
        self.unwritten |= unwritten;
        let step = Step { sides, factors };
        match &mut block.tensor.queue {
            Some(queue) => queue.steps.push(step),
            none => {
                let steps = vec![step];
                *none = Some(Queue { multiplier, shape, d, disabled, starts_at_zero: !adds, steps });
            }
        }
        if block.launch.multiplies_at_once()
            && let Some((multiplier, codes)) = block.tensor.multiply().map_err(fault)?
            && shape.factors == 0
            && self.wants_product(block.launch, block.index, product.line)
        {
            self.record_codes(block.launch, block.index, (product.line, &multiplier), codes);
        }
        Ok(())
    }

    /// What a thread multiplies.
    fn given(&self, product: &TensorProduct, lane: usize) -> Result<Given, String> {
        let shape = shape(product.kind, self.registers.word(product.descriptor)[lane])?;
        let at = |address: Address| place(self.registers.addresses(address)[lane] as u32);
        let d = at(product.d);
        let rows = shape.sides[0].lines;
        let is_placed = |first: usize| first == 0 || rows == 64 && first == 16;
        if !is_placed(d.0) {
            return Err(format!(
                "the accumulators of tcgen05.mma with M = {rows} do not begin in lane {}",
                d.0
            ));
        }
        let a = match product.a {
            TensorA::Shared(descriptor) => Source::Shared(self.registers.wide(descriptor)[lane]),
            TensorA::Tensor(address) => {
                let (first, column) = at(address);
                if first != d.0 {
                    return Err(format!("A of tcgen05.mma begins in lane {first}, and D in lane {}", d.0));
                }
                if shape.sides[0].transposed {
                    return Err("A of tcgen05.mma in tensor memory cannot be transposed".to_owned());
                }
                Source::Tensor(first, column)
            }
        };
        let scales = product.scales.map(|both| both.map(at));
        if let Some((lane, _)) = scales.into_iter().flatten().find(|(lane, _)| *lane != 0) {
            return Err(format!("the scale factors of tcgen05.mma begin in lane 0, not in lane {lane}"));
        }
        let b = self.registers.wide(product.b)[lane];
        let adds = self.registers.condition(product.adds) >> lane & 1 == 1;
        Ok(Given { shape, d, a, b, scales, adds })
    }

    /// Which accumulators are undefined after a multiplication, by the undefined bits of the memories: lane and column of each that is
    /// written; and where the first undefined operand came from.
    pub(in crate::run) fn undefined_product(
        &self,
        product: &TensorProduct,
        lane: usize,
        (shared, tensor): (&Bytes, &Bytes),
    ) -> Result<Undefined, Fault> {
        let given = self.given(product, lane).map_err(|what| Fault::new(lane, what))?;
        let Given { shape, d, a, b, scales, adds } = given;
        let disabled = self.disabled(product, lane);
        let from = Cell::new(0);
        let known = |(bits, origin): (u64, Origin)| {
            if bits != 0 && from.get() == 0 {
                from.set(origin);
            }
            bits
        };
        let word = |lane: usize, column: usize| known(tensor.get(super::byte(lane, column), 4)) as u32;
        let of_shared = |descriptor: u64, side: Side| {
            Tile::shared(descriptor, Side { sign: 0, ..side }, |at| {
                let [low, high] = [0, 8].map(|half| known(shared.get(at as usize + half, 8)));
                Ok((u128::from(low) | u128::from(high) << 64).to_le_bytes())
            })
        };
        let [side_a, side_b] = shape.sides;
        let tile = match a {
            Source::Shared(descriptor) => of_shared(descriptor, side_a)?,
            Source::Tensor(first, column) => {
                Tile::tensor(Side { sign: 0, ..side_a }, |lane, at| Ok(word(first + lane, column + at)))?
            }
        };
        let mut lines = [tile.lines(side_a.lines), of_shared(b, side_b)?.lines(side_b.lines)];
        for (at, (_, first)) in scales.into_iter().flatten().enumerate() {
            let side = shape.sides[at];
            let factors = Tile::factors(side, shape.factors, |lane, column| Ok(word(lane, first + column)))?;
            for (line, undefined) in lines[at].iter_mut().zip(factors.lines(side.lines)) {
                *line |= undefined;
            }
        }
        let mut all = Vec::with_capacity(side_a.lines * side_b.lines);
        for (row, of_a) in lines[0].iter().enumerate() {
            let lane = d.0 + lane_of(row, side_a.lines);
            for (column, of_b) in lines[1].iter().enumerate().filter(|_| disabled >> lane & 1 == 0) {
                let at = (lane, d.1 + column);
                all.push((at, *of_a || *of_b || adds && word(at.0, at.1) != 0));
            }
        }
        Ok((all, from.get()))
    }

    /// Lanes of tensor memory that a multiplication does not write.
    fn disabled(&self, product: &TensorProduct, lane: usize) -> u128 {
        let words = product.disabled.iter().enumerate();
        words.fold(0, |all, (at, word)| all | u128::from(self.registers.word(*word)[lane]) << (32 * at))
    }
}
