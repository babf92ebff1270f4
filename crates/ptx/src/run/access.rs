//! Loads, stores and atomic operations of a warp.

use bitmma_engine::formats::{BF16, F16};

use super::address::resolve;
use super::block::Block;
use super::clocks::Kind;
use super::fault::{Fault, Race};
use super::global::{Access as Reach, Region as Buffer};
use super::reach::Reached;
use super::shared::Shared;
use super::warp::Warp;

use crate::instruction::float::{Float2, Mode};
use crate::instruction::{double, float, single};
use crate::lanes::{LANES, WideLanes, each};
use crate::program::{Access, Atomic, AtomicOp, Order, Region, Slot, Type};
use crate::program::{Float, Number};

/// The lanes whose values stay: of those that store to one address, the highest.
fn lasting(region: Region, mask: u32, addresses: &WideLanes) -> u32 {
    let mut before = None;
    let ascending =
        each(mask).all(|lane| before.replace(addresses[lane]).is_none_or(|one| one < addresses[lane]));
    let own = |lane: usize| resolve(region, addresses[lane]).0 == Region::Local;
    if ascending || each(mask).any(own) {
        return mask;
    }
    let last = |lane: usize| {
        each(mask & !(u32::MAX >> (31 - lane))).all(|other| addresses[other] != addresses[lane])
    };
    each(mask).filter(|lane| last(*lane)).fold(0, |lanes, lane| lanes | 1 << lane)
}

fn extend(value: u64, bytes: u8, signed: bool) -> u64 {
    let up = 64 - 8 * u32::from(bytes);
    if signed { ((value << up) as i64 >> up) as u64 } else { value }
}

impl Warp {
    pub(super) fn load(&mut self, access: &Access, mask: u32, block: &mut Block<'_>) -> Result<(), Fault> {
        let Access { region, bytes, signed, order, address, ref elements } = *access;
        let addresses = self.registers.addresses(address);
        if region == Region::Global && self.load_global(access, mask, &addresses, block)? {
            return Ok(());
        }
        let size = u64::from(bytes) * elements.len() as u64;
        let mut values = [[0u64; LANES]; 8];
        let guesses = order.is_some_and(|order| order.guesses);
        self.guessed += u32::from(guesses);
        for lane in each(mask) {
            let fault = |what: String| Fault::new(lane, what);
            match resolve(region, addresses[lane]) {
                (Region::Shared, at) => {
                    let Reached { shared, clocks, at, base, .. } =
                        block.reach_in(region, self.number, at).map_err(fault)?;
                    let at = shared.checked(at, size, "reads").map_err(fault)?;
                    let by = clocks.by(self.number).within(order);
                    let noted = shared.note_read(at, size as usize, (order.is_some(), true), by);
                    noted.map_err(|race| Fault::new(lane, race))?;
                    if let Some(order) = order {
                        clocks.acquire((self.number, base + at as u64), order, false, None);
                    }
                    for (index, value) in values[..elements.len()].iter_mut().enumerate() {
                        value[lane] = shared.get(at + index * usize::from(bytes), bytes);
                    }
                }
                (Region::Local, at) => {
                    let at = self.local.checked(at, size, "reads").map_err(fault)?;
                    for (index, value) in values[..elements.len()].iter_mut().enumerate() {
                        let (code, filled) = self.local.get(lane, at + index * usize::from(bytes), bytes);
                        value[lane] = code;
                        self.unwritten |= !filled;
                    }
                }
                (Region::Parameter, at) => {
                    let parts = block.launch.parameter(at, size, bytes.into()).map_err(fault)?;
                    for (value, part) in values.iter_mut().zip(parts.chunks(bytes.into())) {
                        let mut code = [0; 8];
                        code[..part.len()].copy_from_slice(part);
                        value[lane] = u64::from_le_bytes(code);
                    }
                }
                (_, at) => {
                    let launch = block.launch;
                    let (memory, offset) = launch.global.checked(at, size, "reads").map_err(fault)?;
                    let strong = |order: Order| Reach::StrongRead { scope: order.scope };
                    let kind = order.map_or(Reach::Read, strong);
                    self.note_global(memory, kind, (1 << lane, |_| offset, size as u8), |_| false, block)?;
                    for (index, value) in values[..elements.len()].iter_mut().enumerate() {
                        let offset = offset + index as u64 * u64::from(bytes);
                        value[lane] = memory.load(offset, bytes);
                    }
                    if let Some(order) = order {
                        let flags = Some(&launch.global.flags);
                        block.clocks.acquire((self.number, at), order, false, flags);
                    }
                }
            }
            if guesses {
                let place = resolve(region, addresses[lane]);
                self.guess(lane, place, (&mut values, bytes, elements.len()), block);
            }
        }
        if order.is_some() {
            self.spin.has_read(&values[..elements.len()], mask);
        }
        for (value, element) in values.iter_mut().zip(elements) {
            for lane in 0..LANES {
                value[lane] = extend(value[lane], bytes, signed);
            }
            self.registers.set_any(*element, mask, value);
        }
        Ok(())
    }

    /// Words from one buffer, which most loads are; whether it was one.
    fn load_global(
        &mut self,
        access: &Access,
        mask: u32,
        addresses: &[u64; LANES],
        block: &Block<'_>,
    ) -> Result<bool, Fault> {
        let Access { bytes, order, ref elements, .. } = *access;
        if bytes != 4 || order.is_some() {
            return Ok(false);
        }
        let size = 4 * elements.len() as u64;
        let Some((memory, base)) = block.launch.global.together(mask, addresses, size) else {
            return Ok(false);
        };
        let lanes = (mask, |lane: usize| addresses[lane] - base, size as u8);
        self.note_global(memory, Reach::Read, lanes, |_| false, block)?;
        for (index, element) in elements.iter().enumerate() {
            let Slot::Word(element, 32) = element else { return Ok(false) };
            let mut value = self.registers.words[element.0 as usize];
            for lane in each(mask) {
                let offset = addresses[lane] - base + 4 * index as u64;
                value[lane] = memory.word(offset as usize / 4);
            }
            self.registers.words[element.0 as usize] = value;
        }
        Ok(true)
    }

    /// Notes an access of lanes to a buffer, before it is done.
    #[inline(always)]
    pub(super) fn note_global(
        &self,
        memory: &Buffer,
        reach: Reach,
        lanes: (u32, impl Fn(usize) -> u64, u8),
        same: impl Fn(usize) -> bool,
        block: &Block<'_>,
    ) -> Result<(), Fault> {
        let by = block.clocks.by(self.number);
        let place =
            |lane: usize| (self.line(block.launch.kernel), self.thread(block, lane), block.clocks.cluster);
        let noted = block.launch.global.note(memory, reach, lanes, by, same, place);
        noted.map_err(|(lane, race)| Fault::new(lane, race))
    }

    pub(super) fn store(&mut self, access: &Access, mask: u32, block: &mut Block<'_>) -> Result<(), Fault> {
        let Access { region, bytes, order, address, ref elements, .. } = *access;
        let addresses = self.registers.addresses(address);
        let size = u64::from(bytes) * elements.len() as u64;
        let keep = u64::MAX >> (64 - 8 * u32::from(bytes));
        let launch = block.launch;
        let lanes = lasting(region, mask, &addresses);
        let guesses = launch.kernel.guesses;
        let step = |index: usize| index as u64 * u64::from(bytes);
        // most stores are of one buffer
        let together = (region == Region::Global).then(|| launch.global.together(lanes, &addresses, size));
        let together = together.flatten();
        if let Some((memory, base)) = together {
            self.note_store(access, memory, (lanes, |lane| addresses[lane] - base), block)?;
        }
        for lane in each(lanes) {
            let fault = |what: String| Fault::new(lane, what);
            let place = resolve(region, addresses[lane]);
            let before = if guesses { self.around(place, size as u8, block) } else { None };
            let value = |index: usize| self.registers.any_lane(elements[index], lane) & keep;
            match place {
                (Region::Shared, at) => {
                    let Reached { shared, clocks, at, base, .. } =
                        block.reach_in(region, self.number, at).map_err(fault)?;
                    let at = shared.checked(at, size, "writes").map_err(fault)?;
                    let place = |index: usize| at + step(index) as usize;
                    let same = |shared: &Shared| {
                        (0..elements.len()).all(|index| shared.get(place(index), bytes) == value(index))
                    };
                    let by = clocks.by(self.number).within(order);
                    let kind = if order.is_some() { Kind::Strong } else { Kind::Write };
                    let changes = launch.may_spin && !same(shared);
                    let noted = shared.note_write(at, size as usize, (kind, false), by, same);
                    noted.map_err(|race| Fault::new(lane, race))?;
                    if let Some(order) = order {
                        clocks.release((self.number, base + at as u64), order, false, None);
                    }
                    for index in 0..elements.len() {
                        shared.put(place(index), bytes, value(index));
                    }
                    self.spin.changes |= changes;
                }
                (Region::Local, at) => {
                    let at = self.local.checked(at, size, "writes").map_err(fault)?;
                    for index in 0..elements.len() {
                        let value = self.registers.any_lane(elements[index], lane) & keep;
                        self.local.put(lane, at + step(index) as usize, bytes, value);
                    }
                }
                (_, at) => {
                    let (memory, offset) = launch.global.checked(at, size, "writes").map_err(fault)?;
                    if together.is_none() {
                        self.note_store(access, memory, (1 << lane, |_| offset), block)?;
                    }
                    if let Some(order) = order {
                        let flags = Some(&launch.global.flags);
                        block.clocks.release((self.number, at), order, false, flags);
                    }
                    let mut changes = false;
                    for index in 0..elements.len() {
                        let (offset, value) = (offset + step(index), value(index));
                        changes |= launch.may_spin && memory.load(offset, bytes) != value;
                        memory.store(offset, bytes, value);
                        launch.witness(memory, offset, bytes, self.line(launch.kernel), || {
                            self.thread(block, lane)
                        });
                    }
                    self.spin.changes |= changes;
                    launch.writes(memory, at).map_err(fault)?;
                }
            }
            if let Some(before) = before {
                self.meets_guesses((place, size as u8), before, order.is_some(), block);
            }
        }
        Ok(())
    }

    /// Notes a store of lanes to a buffer, before it is done.
    #[inline(always)]
    fn note_store(
        &self,
        access: &Access,
        memory: &Buffer,
        (lanes, offset): (u32, impl Fn(usize) -> u64),
        block: &Block<'_>,
    ) -> Result<(), Fault> {
        let Access { bytes, order, ref elements, .. } = *access;
        let keep = u64::MAX >> (64 - 8 * u32::from(bytes));
        let same = |lane: usize| {
            elements.iter().enumerate().all(|(index, element)| {
                let offset = offset(lane) + index as u64 * u64::from(bytes);
                memory.load(offset, bytes) == self.registers.any_lane(*element, lane) & keep
            })
        };
        let strong = |order: Order| Reach::StrongWrite { scope: order.scope, follows: false };
        let reach = order.map_or(Reach::Write, strong);
        let size = bytes * elements.len() as u8;
        self.note_global(memory, reach, (lanes, &offset, size), same, block)
    }

    /// Lane by lane, from the lowest on.
    pub(super) fn atomic(&mut self, atomic: &Atomic, mask: u32, block: &mut Block<'_>) -> Result<(), Fault> {
        let Atomic { region, op, kind, no_flush, order, address, ref d, ref b, ref c, observes } = *atomic;
        let addresses = self.registers.addresses(address);
        let bytes = (kind.bits() / 8) as u8;
        let guesses = block.launch.kernel.guesses;
        for lane in each(mask) {
            let fault = |what: String| Fault::new(lane, what);
            let (space, at) = resolve(region, addresses[lane]);
            let size = u64::from(bytes) * b.len() as u64;
            let before = if guesses { self.around((space, at), size as u8, block) } else { None };
            let is_swap = op == AtomicOp::CompareExchange;
            let mut changes = false;
            // of several elements all are exchanged or none is
            let (mut op, mut given) = (op, &**b);
            if is_swap && b.len() > 1 {
                let mut old = |index: usize| {
                    let at = at + index as u64 * u64::from(bytes);
                    match space {
                        Region::Shared => {
                            let Reached { shared, at, .. } = block.reach_in(region, self.number, at)?;
                            let at = shared.checked(at, bytes.into(), "changes")?;
                            Ok(shared.get(at, bytes))
                        }
                        _ => {
                            let (memory, at) = block.launch.global.checked(at, bytes.into(), "changes")?;
                            Ok(memory.load(at, bytes))
                        }
                    }
                };
                let mut is_same = true;
                for (index, b) in b.iter().enumerate() {
                    is_same &= old(index).map_err(fault)? == self.registers.any_lane(*b, lane);
                }
                (op, given) = if is_same {
                    (AtomicOp::Exchange, &**c)
                } else {
                    (AtomicOp::Or, [Slot::Sink; 2].as_slice())
                };
            }
            for index in 0..b.len() {
                let operand = self.registers.any_lane(given[index], lane);
                let other = c.get(index).map_or(0, |c| self.registers.any_lane(*c, lane));
                let step = index as u64 * u64::from(bytes);
                let apply =
                    |old: u64| update(op, kind, no_flush, space == Region::Shared, old, operand, other);
                let (old, new) = match space {
                    Region::Shared => {
                        let Reached { shared, clocks, at, base, .. } =
                            block.reach_in(region, self.number, at).map_err(fault)?;
                        let at = shared.checked(at, size, "changes").map_err(fault)? + step as usize;
                        let flag = (self.number, base + at as u64);
                        let follows = clocks.acquire(flag, order, observes, None) || observes;
                        let by = clocks.by(self.number).within(Some(order));
                        let race = |race: Race| Fault::new(lane, race);
                        // its write leaves a mark
                        shared.note_read(at, bytes.into(), (true, false), by).map_err(race)?;
                        let kind = (Kind::Strong, follows);
                        let noted = shared.note_write(at, bytes.into(), kind, by, |_| false);
                        noted.map_err(race)?;
                        clocks.release(flag, order, true, None);
                        let old = shared.get(at, bytes);
                        let new = apply(old);
                        shared.put(at, bytes, new);
                        (old, new)
                    }
                    Region::Local => return Err(fault("an atomic operation on local memory".to_owned())),
                    _ => {
                        let launch = block.launch;
                        let (memory, offset) = launch.global.checked(at, size, "changes").map_err(fault)?;
                        launch.writes(memory, at).map_err(fault)?;
                        let flags = Some(&launch.global.flags);
                        let flag = (self.number, at + step);
                        let follows = block.clocks.acquire(flag, order, observes, flags) || observes;
                        let reach = Reach::StrongWrite { scope: order.scope, follows };
                        let lanes = (1 << lane, |_| offset + step, bytes);
                        self.note_global(memory, reach, lanes, |_| false, block)?;
                        block.clocks.release(flag, order, true, flags);
                        let old = memory.load(offset + step, bytes);
                        let new = apply(old);
                        memory.store(offset + step, bytes, new);
                        launch.witness(memory, offset + step, bytes, self.line(launch.kernel), || {
                            self.thread(block, lane)
                        });
                        (old, new)
                    }
                };
                changes |= new != old;
                if let Some(slot) = d.get(index) {
                    self.spin.has_read(&[[old; LANES]], 1);
                    match *slot {
                        Slot::Word(word, _) => self.registers.words[word.0 as usize][lane] = old as u32,
                        Slot::Wide(wide) => self.registers.wides[wide.0 as usize][lane] = old,
                        Slot::Sink => {}
                    }
                }
            }
            self.spin.changes |= changes;
            if let Some(before) = before
                && (changes || !is_swap)
            {
                self.meets_guesses(((space, at), size as u8), before, true, block);
            }
        }
        Ok(())
    }
}

/// What an atomic operation leaves in memory. On global memory additions of FP32 flush subnormal numbers.
pub(super) fn update(
    op: AtomicOp,
    kind: Type,
    no_flush: bool,
    shared: bool,
    old: u64,
    b: u64,
    c: u64,
) -> u64 {
    let keep = u64::MAX >> (64 - kind.bits());
    let (old, b, c) = (old & keep, b & keep, c & keep);
    let up = 64 - kind.bits();
    let signed = |value: u64| (value << up) as i64;
    let mode = Mode { flush: !no_flush && !shared && kind == Type::F32, ..Mode::NEAREST };
    let halves = |f: &dyn Fn(u64, u64) -> u64| f(old & 0xffff, b & 0xffff) | f(old >> 16, b >> 16) << 16;
    let value = match (op, kind) {
        (AtomicOp::Add, Type::F32) => single::add(mode.flush, &[old as u32; 32], &[b as u32; 32])[0].into(),
        (AtomicOp::Add, Type::F64) => double::of(f64::from_bits(old) + f64::from_bits(b)),
        (AtomicOp::Add, Type::F16) => double::add(&F16, mode, old, b),
        (AtomicOp::Add, Type::BF16) => double::add(&BF16, mode, old, b),
        (AtomicOp::Add, Type::F16x2) => halves(&|x, y| double::add(&F16, mode, x, y)),
        (AtomicOp::Add, Type::BF16x2) => halves(&|x, y| double::add(&BF16, mode, x, y)),
        (AtomicOp::Add, _) => old.wrapping_add(b),
        // the manual leaves NaN and the order of zeros open: as min and max without .NaN have them
        (AtomicOp::Minimum | AtomicOp::Maximum, Type::F16 | Type::BF16 | Type::F16x2 | Type::BF16x2) => {
            let nan = false;
            let f = match op {
                AtomicOp::Minimum => Float2::Minimum { nan, xorsign: false, absolute: false },
                _ => Float2::Maximum { nan, xorsign: false, absolute: false },
            };
            let float = kind.float().unwrap_or(Float { number: Number::Half, packed: false });
            float::words2(f, float, Mode::NEAREST, &[old as u32; LANES], &[b as u32; LANES])[0].into()
        }
        (AtomicOp::Minimum, _) if kind.is_signed() => {
            if signed(old) <= signed(b) {
                old
            } else {
                b
            }
        }
        (AtomicOp::Minimum, _) => old.min(b),
        (AtomicOp::Maximum, _) if kind.is_signed() => {
            if signed(old) >= signed(b) {
                old
            } else {
                b
            }
        }
        (AtomicOp::Maximum, _) => old.max(b),
        (AtomicOp::And, _) => old & b,
        (AtomicOp::Or, _) => old | b,
        (AtomicOp::Xor, _) => old ^ b,
        (AtomicOp::Exchange, _) => b,
        (AtomicOp::CompareExchange, _) => {
            if old == b {
                c
            } else {
                old
            }
        }
        (AtomicOp::Increment, _) => {
            if old >= b {
                0
            } else {
                old + 1
            }
        }
        (AtomicOp::Decrement, _) => {
            if old == 0 || old > b {
                b
            } else {
                old - 1
            }
        }
    };
    value & keep
}
