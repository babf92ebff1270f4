//! Tensor memory and registers, and from shared memory: `tcgen05.alloc`, `ld`, `st`, `cp`, `commit`.

use super::describe::matrix;
use super::memory::{SHARING, TensorMemory, place};
use crate::lanes::{LANES, each};
use crate::program::{Address, Pattern, Slot, Tcgen05, TensorCopy, TensorShape, Wide};
use crate::run::address::in_shared;
use crate::run::block::Block;
use crate::run::clocks::Kind;
use crate::run::fault::{Fault, Race};
use crate::run::object::Uses;
use crate::run::shared::Shared;
use crate::run::warp::Warp;

impl TensorShape {
    /// Words of a register, or twice as many where each gives half a register.
    fn packed(&self) -> usize {
        if self.packs { 2 } else { 1 }
    }

    /// The lane, of 32, and the column of what a register of a lane holds.
    fn place(&self, lane: usize, register: usize) -> (usize, usize) {
        let packed = self.packed();
        match self.pattern {
            Pattern::Lanes => (lane, register * packed),
            Pattern::Halves(split) => (lane % 16, lane / 16 * split as usize + register * packed),
            Pattern::Bits64 => (lane / 4 + lane % 2 * 8, (2 * register + lane / 2 % 2) * packed),
            Pattern::Bits128 => (lane / 4 + register % 2 * 8, (register / 2 * 4 + lane % 4) * packed),
            Pattern::Bits256 => {
                let (row, column) = (register / 2 % 2, register / 4 * 8 + lane % 4 * 2 + register % 2);
                (lane / 4 + row * 8, column * packed)
            }
        }
    }

    /// Words of a register of a lane of a warp: where they are, and the bits of the register that they have.
    pub(in crate::run) fn words(
        &self,
        (first, column): (usize, usize),
        lane: usize,
        register: usize,
    ) -> impl Iterator<Item = ((usize, usize), (u32, u32))> + use<> {
        let (row, along) = self.place(lane, register);
        let bits = 32 / self.packed() as u32;
        (0..self.packed()).map(move |at| ((first + row, column + along + at), (at as u32 * bits, bits)))
    }
}

impl Warp {
    pub(in crate::run) fn tensor(
        &mut self,
        tensor: &Tcgen05,
        mask: u32,
        block: &mut Block<'_>,
    ) -> Result<(), Fault> {
        let first = mask.trailing_zeros() as usize;
        let fault = |what: String| Fault::new(first, what);
        if tensor.is_of_the_warp() {
            self.check_whole(mask)?;
        }
        match tensor {
            Tcgen05::Allocate { to, columns } => {
                let count = self.registers.word(*columns)[first];
                let follows = block.launch.undefined.is_some();
                let column = block.tensor.allocate(count, follows).map_err(fault)? as u64;
                let to = in_shared(self.registers.addresses(*to)[first]);
                let to = block.checked(to, 4, "writes").map_err(fault)?;
                let by = block.clocks.by(self.number);
                let same = |shared: &Shared| shared.get(to, 4) == column;
                let noted = block.shared.note_write(to, 4, (Kind::Write, false), by, same);
                noted.map_err(|race| Fault::new(first, race))?;
                block.shared.put(to, 4, column);
                if follows {
                    block.undefined.put(to, 4, 0, 0);
                }
            }
            Tcgen05::Free { from, columns } => {
                let (_, column) = place(self.registers.word(*from)[first]);
                let count = self.registers.word(*columns)[first];
                block.tensor.multiply().map_err(fault)?;
                let by = block.clocks.by(self.number);
                block.tensor.free(column, count, by).map_err(fault)?;
            }
            Tcgen05::GiveUp => block.tensor.gave_up = true,
            Tcgen05::Load { d, from, shape } => self.load_tensor(d, *from, shape, block)?,
            Tcgen05::Store { to, a, shape } => self.store_tensor(*to, a, shape, block)?,
            Tcgen05::Wait { stores } => {
                let by = block.clocks.by(self.number);
                block.tensor.wait(*stores, by);
            }
            Tcgen05::Copy { to, from, shape } => {
                for lane in each(mask) {
                    self.copy_to_tensor(*to, *from, *shape, lane, block)?;
                }
            }
            Tcgen05::Multiply(product) => {
                for lane in each(mask) {
                    self.tensor_product(product, lane, block)?;
                }
            }
            Tcgen05::Commit { barrier, blocks } => {
                for lane in each(mask) {
                    let fault = |what: String| Fault::new(lane, what);
                    let at = in_shared(self.registers.addresses(*barrier)[lane]);
                    let blocks = blocks.map(|blocks| self.registers.word(blocks)[lane]);
                    let over = block.tensor.last(block.clocks.by(self.number).warp);
                    for at in block.targets(at, blocks).map_err(fault)? {
                        let mut reached = block.reach(self.number, at).map_err(fault)?;
                        let at = reached
                            .object(Uses::Changes, self.number)
                            .map_err(|race| Fault::new(lane, race))?;
                        let left = reached.clocks.leave(self.number).with_products(over);
                        reached.objects.get(at).map_err(fault)?.arrive_late(&left).map_err(fault)?;
                    }
                    self.spin.changes = true;
                }
            }
        }
        Ok(())
    }

    /// Lane and column of what the warp moves, which must be in its quarter of the lanes.
    pub(in crate::run) fn quarter(
        &self,
        address: Address,
        shape: &TensorShape,
    ) -> Result<(usize, usize), Fault> {
        let addresses = self.registers.addresses(address);
        if let Some(lane) = (0..LANES).find(|lane| addresses[*lane] != addresses[0]) {
            let [ours, theirs] = [addresses[0], addresses[lane]].map(|at| at as u32);
            let what =
                format!("the address of tensor memory is {theirs:#x} in this lane, and {ours:#x} in lane 0");
            return Err(Fault::new(lane, what));
        }
        let (lane, column) = place(addresses[0] as u32);
        let quarter = 32 * (self.number % 4);
        let is_half = lane == quarter + 16 && shape.pattern != Pattern::Lanes;
        match lane == quarter || is_half {
            true => Ok((lane, column)),
            false => Err(Fault::new(
                0,
                format!(
                    "warp {} reaches the lanes {quarter} to {} of tensor memory, not those from {lane} on",
                    self.number,
                    quarter + 31
                ),
            )),
        }
    }

    fn load_tensor(
        &mut self,
        d: &[Slot],
        from: Address,
        shape: &TensorShape,
        block: &mut Block<'_>,
    ) -> Result<(), Fault> {
        let from = self.quarter(from, shape)?;
        let by = block.clocks.by(self.number);
        let tensor = &mut block.tensor;
        tensor.multiply().map_err(|what| Fault::new(0, what))?;
        check(tensor, shape, from, d.len())?;
        for (register, slot) in d.iter().enumerate() {
            let mut value = [0; LANES];
            for (lane, value) in value.iter_mut().enumerate() {
                for ((row, column), (shift, bits)) in shape.words(from, lane, register) {
                    let filled = tensor.note_load(row, column, by).map_err(|what| Fault::new(lane, what))?;
                    self.unwritten |= !filled;
                    *value |= u64::from(tensor.word(row, column) & u32::MAX >> (32 - bits)) << shift;
                }
            }
            self.registers.set_any(*slot, u32::MAX, &value);
        }
        Ok(())
    }

    fn store_tensor(
        &mut self,
        to: Address,
        a: &[Slot],
        shape: &TensorShape,
        block: &mut Block<'_>,
    ) -> Result<(), Fault> {
        let to = self.quarter(to, shape)?;
        let by = block.clocks.by(self.number);
        let tensor = &mut block.tensor;
        tensor.multiply().map_err(|what| Fault::new(0, what))?;
        check(tensor, shape, to, a.len())?;
        for (register, slot) in a.iter().enumerate() {
            let value = self.registers.any(*slot);
            for (lane, value) in value.iter().enumerate() {
                for ((row, column), (shift, bits)) in shape.words(to, lane, register) {
                    tensor.note_store(row, column, by).map_err(|what| Fault::new(lane, what))?;
                    tensor.put(row, column, (value >> shift) as u32 & u32::MAX >> (32 - bits));
                }
            }
        }
        Ok(())
    }

    fn copy_to_tensor(
        &mut self,
        to: Address,
        from: Wide,
        shape: TensorCopy,
        thread: usize,
        block: &mut Block<'_>,
    ) -> Result<(), Fault> {
        let fault = |what: String| Fault::new(thread, what);
        let (first, column) = place(self.registers.addresses(to)[thread] as u32);
        if first != 0 {
            return Err(fault(format!("tcgen05.cp begins in lane 0 of tensor memory, not in lane {first}")));
        }
        let descriptor = matrix(self.registers.wide(from)[thread]).map_err(fault)?;
        let TensorCopy { rows, chunks, .. } = shape;
        block.tensor.check(column..column + 4 * chunks).map_err(fault)?;
        block.tensor.multiply().map_err(fault)?;
        let by = block.clocks.by(self.number);
        let operation = block.tensor.start(by);
        for row in 0..rows {
            for chunk in 0..chunks {
                let at = descriptor.address(row, 16 * chunk, 1, false);
                let at = block.shared.checked(at, 16, "copies").map_err(fault)?;
                let by = block.clocks.by(self.number);
                let noted = block.shared.note_product((at, 16), (operation.group, operation.number), by);
                noted.map_err(|race: Race| Fault::new(thread, race))?;
                let bytes: [u8; 16] = block.shared.array(at);
                let undefined = block.launch.undefined.is_some().then(|| block.undefined.get(at, 16));
                for lane in shape.lanes(row) {
                    for (word, four) in bytes.as_chunks::<4>().0.iter().enumerate() {
                        let place = (lane, column + 4 * chunk + word);
                        block
                            .tensor
                            .note_write(place, 1 << (lane % SHARING), operation, by)
                            .map_err(fault)?;
                        block.tensor.put(place.0, place.1, u32::from_le_bytes(*four));
                        if let Some((_, origin)) = undefined {
                            let bits = block.undefined.get(at + 4 * word, 4).0;
                            block.tensor.undefined.put(super::byte(place.0, place.1), 4, bits, origin);
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

/// An error if columns that registers are moved to or from were not allocated.
fn check(
    tensor: &TensorMemory,
    shape: &TensorShape,
    from: (usize, usize),
    count: usize,
) -> Result<(), Fault> {
    // the last register of the last lane has the last column
    let last = |lane: usize| shape.words(from, lane, count - 1).map(|(at, _)| at.1).max().unwrap_or(from.1);
    let all = from.1..last(LANES - 1) + 1;
    let checked = match shape.pattern {
        Pattern::Halves(split) => {
            let upper = from.1 + split as usize;
            tensor.check(from.1..last(0) + 1).and_then(|()| tensor.check(upper..all.end))
        }
        _ => tensor.check(all),
    };
    checked.map_err(|what| Fault::new(0, what))
}
