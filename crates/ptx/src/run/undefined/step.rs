//! What an instruction does to the shadow, before it runs.

use super::{Origin, Shadow, fault, origin};
use crate::decode::decoder::{LOCAL_WINDOW, REGION_BITS, SHARED_WINDOW};
use crate::lanes::{LANES, Lanes, WideLanes, each};
use crate::program::Vote;
use crate::program::{
    Access, Action, Address, Atomic, AtomicOp, Bulk, Condition, FALSE, Members, Op, Region, Slot, Step,
};
use crate::run::address::in_shared;
use crate::run::block::Block;
use crate::run::fault::Fault;
use crate::run::trace::Place;
use crate::run::warp::Warp;

/// An instruction that a warp is about to run, with what it reads and writes.
pub(super) struct Now<'n, 'l> {
    pub(super) at: usize,
    pub(super) warp: &'n Warp,
    pub(super) block: &'n mut Block<'l>,
    pub(super) mask: u32,
    reads: Vec<Place>,
    writes: Vec<Place>,
}

impl Now<'_, '_> {
    /// Something undefined decides what the kernel does.
    pub(super) fn fault(&self, lane: usize, what: &str, from: Origin) -> Fault {
        fault(self.block.launch, (self.warp.number, lane), what, false, from)
    }

    /// Something undefined is stored at a byte of global memory.
    fn stored(&self, lane: usize, byte: u64, buffer: &str, from: Origin) -> Fault {
        let what = format!("byte {byte} of {buffer}");
        fault(self.block.launch, (self.warp.number, lane), &what, true, from)
    }

    /// The registers that it reads.
    pub(super) fn reads(&self) -> impl Iterator<Item = Place> {
        self.reads.iter().copied()
    }

    /// The origin of what this instruction is the first to read.
    pub(super) fn first_read(&self, lane: usize, memory: bool) -> Origin {
        origin(self.at, self.warp.number * LANES + lane, memory)
    }
}

/// Where an address of a warp is.
fn resolve(region: Region, address: u64) -> (Region, usize) {
    match address >> REGION_BITS {
        _ if region == Region::SharedOfBlock => (Region::Shared, address as usize),
        _ if region != Region::Generic => (region, address as usize),
        window if window == SHARED_WINDOW >> REGION_BITS => {
            (Region::Shared, (address - SHARED_WINDOW) as usize)
        }
        window if window == LOCAL_WINDOW >> REGION_BITS => (Region::Local, (address - LOCAL_WINDOW) as usize),
        _ => (Region::Global, address as usize),
    }
}

impl Shadow {
    /// Follows an instruction, which some of the active lanes are about to run; an error if something undefined decides something.
    pub(in crate::run) fn step(
        &mut self,
        warp: &Warp,
        step: &Step,
        (active, mask): (u32, u32),
        block: &mut Block<'_>,
    ) -> Result<(), Fault> {
        let (at, launch) = (warp.groups.at, block.launch);
        let Some(following) = &launch.undefined else { return Ok(()) };
        let effects = launch.kernel.effects.get(at);
        let places = |ids: &[u32]| ids.iter().map(|id| following.places[*id as usize]).collect();
        let (reads, mut writes): (Vec<Place>, Vec<Place>) = effects
            .map_or_else(Default::default, |effects| (places(&effects.reads), places(&effects.writes)));
        if let Op::Compare { d, q, .. } = &step.op {
            writes = [Some(*d), *q].into_iter().flatten().map(Place::Predicate).collect();
        }
        let mut now = Now { at, warp, block, mask, reads, writes };
        let unknown = step.guard.map_or(0, |guard| self.condition(guard) & active);
        // lanes in which the guard is undefined merely have an undefined result otherwise
        if unknown != 0 && !step.op.only_writes_registers() {
            let what = match step.op {
                Op::Branch { .. } | Op::BranchTable { .. } => "the branch",
                _ => "whether this instruction runs",
            };
            let lane = unknown.trailing_zeros() as usize;
            let guard = step.guard.map_or(FALSE, |guard| guard.predicate);
            return Err(now.fault(lane, what, self.from(&now, &[Place::Predicate(guard)], lane)));
        }
        self.follow(&step.op, &mut now)?;
        if let (Some(guard), true) = (step.guard, unknown != 0) {
            let mut origins = [0; LANES];
            for lane in each(unknown) {
                origins[lane] = self.from(&now, &[Place::Predicate(guard.predicate)], lane);
            }
            for place in std::mem::take(&mut now.writes) {
                self.write(place, unknown, &[u64::MAX; LANES], &origins);
            }
        }
        Ok(())
    }

    /// Where the first undefined one of some registers came from: this instruction, if none read it before.
    fn from(&self, now: &Now<'_, '_>, places: &[Place], lane: usize) -> Origin {
        let undefined = places.iter().find(|place| self.lanes(**place) >> lane & 1 == 1);
        match undefined.map_or(0, |place| self.origin(*place, lane)) {
            0 => now.first_read(lane, false),
            known => known,
        }
    }

    /// An error if one of some registers is undefined in a lane that takes part.
    pub(super) fn decides(&self, now: &Now<'_, '_>, what: &str, places: &[Place]) -> Result<(), Fault> {
        self.decides_in(now.mask, now, what, places)
    }

    /// The same of some lanes.
    pub(super) fn decides_in(
        &self,
        lanes: u32,
        now: &Now<'_, '_>,
        what: &str,
        places: &[Place],
    ) -> Result<(), Fault> {
        for place in places {
            let undefined = self.lanes(*place) & lanes;
            if undefined != 0 {
                let lane = undefined.trailing_zeros() as usize;
                return Err(now.fault(lane, what, self.from(now, &[*place], lane)));
            }
        }
        Ok(())
    }

    fn address(&self, now: &Now<'_, '_>, address: Address) -> Result<(), Fault> {
        self.decides(now, "the address", &[Place::Slot(address.base, 64)])
    }

    fn follow(&mut self, op: &Op, now: &mut Now<'_, '_>) -> Result<(), Fault> {
        if now.mask == 0 {
            return Ok(());
        }
        if let Some(Members::Named(members)) = op.members() {
            self.decides(now, "the mask", &[Place::Slot(Slot::Word(members, 32), 32)])?;
            let lane = now.mask.trailing_zeros() as usize;
            let masks = now.warp.registers.word(members);
            let members = masks[lane] & now.warp.lanes;
            let in_parts = each(now.mask).any(|other| masks[other] != masks[lane]);
            if in_parts || members & !now.mask & !now.warp.groups.exited != 0 {
                // it waits for others, or runs in parts
                return Ok(());
            }
        }
        let undefined = now.reads.iter().fold(0, |lanes, place| lanes | self.lanes(*place)) & now.mask;
        match op {
            Op::Load(access) => self.load(access, now),
            Op::Store(access) => self.store(access, now),
            Op::Atomic(atomic) => self.atomic(atomic, now),
            Op::LoadMatrix { tile, address, d } => self.load_matrix(*tile, *address, d, now),
            Op::StoreMatrix { tile, address, a } => self.store_matrix(*tile, *address, a, now),
            Op::Mma(mma) | Op::Nest(mma, _) | Op::OfNest(mma) => self.mma(mma, undefined != 0, now),
            Op::Wgmma(wgmma) => self.wgmma(wgmma, now),
            Op::CopyAsync { bytes, to, from, size, ignore } => {
                self.address(now, *to)?;
                self.address(now, *from)?;
                let size = size.map(|size| Place::Slot(Slot::Word(size, 32), 32));
                let ignore = ignore.map(|ignore| Place::Predicate(ignore.predicate));
                let counts: Vec<_> = size.into_iter().chain(ignore).collect();
                self.decides(now, "how much is copied", &counts)?;
                let to = now.warp.registers.addresses(*to);
                for lane in each(now.mask) {
                    now.block.undefined.put(to[lane] as usize, usize::from(*bytes), 0, 0);
                }
                Ok(())
            }
            // it only reads a register
            Op::Object(object) if matches!(object.action, Action::Pending { .. }) => {
                self.mixed(now, undefined);
                Ok(())
            }
            Op::MapShared { rank, .. } if undefined != 0 => {
                let rank = Place::Slot(Slot::Word(*rank, 32), 32);
                self.decides(now, "the block that an address is mapped to", &[rank])?;
                self.mixed(now, undefined);
                Ok(())
            }
            Op::Rank { .. } => {
                self.mixed(now, undefined);
                Ok(())
            }
            Op::Bulk(bulk) if let Bulk::StoreAcross { to, barrier, elements, bytes } = &**bulk => {
                self.address(now, *to)?;
                self.address(now, *barrier)?;
                self.store_across((*to, elements, usize::from(*bytes)), now);
                Ok(())
            }
            Op::Object(_) | Op::Bulk(_) | Op::Print { .. } | Op::Fail { .. } => {
                let what = match op {
                    Op::Object(_) => "the mbarrier object",
                    Op::Bulk(_) => "the copy",
                    _ => "what is printed",
                };
                self.decides(now, what, &now.reads)?;
                self.clear_all(now);
                Ok(())
            }
            Op::Tcgen05(tensor) => self.tensor(tensor, now),
            Op::Completing { op, barrier, .. } => {
                self.address(now, *barrier)?;
                self.follow(op, now)
            }
            Op::Fill { .. } => self.decides(now, "where zeros are stored", &now.reads),
            Op::BranchTable { index, .. } => {
                self.decides(now, "the branch", &[Place::Slot(Slot::Word(*index, 32), 32)])
            }
            Op::Barrier { id, count, reduce, .. } => {
                let words = [Some(*id), *count].into_iter().flatten();
                let places: Vec<_> = words.map(|word| Place::Slot(Slot::Word(word, 32), 32)).collect();
                self.decides(now, "the barrier", &places)?;
                let reduced = reduce.iter().map(|reduce| Place::Predicate(reduce.a.predicate));
                self.decides(now, "what the barrier counts", &reduced.collect::<Vec<_>>())?;
                self.clear_all(now);
                Ok(())
            }
            // the carry is no register of the text
            Op::Carry(f) => {
                let carry = self.condition(Condition { predicate: crate::program::CARRY, negated: false });
                let taken = if f.takes { carry } else { 0 };
                if f.takes {
                    now.reads.push(Place::Predicate(crate::program::CARRY));
                }
                self.mixed(now, undefined | taken & now.mask);
                if f.gives {
                    let places = [Place::Predicate(crate::program::CARRY)];
                    let writes = std::mem::replace(&mut now.writes, places.to_vec());
                    self.mixed(now, undefined | taken & now.mask);
                    now.writes = writes;
                }
                Ok(())
            }
            _ if undefined == 0 => {
                self.clear_all(now);
                Ok(())
            }
            Op::Shuffle { b, c, .. } => {
                let control: Vec<_> =
                    [b, c].iter().map(|word| Place::Slot(Slot::Word(**word, 32), 32)).collect();
                self.decides(now, "which lane shfl reads", &control)?;
                self.shuffle(op, now);
                Ok(())
            }
            Op::Ballot { a, .. } => {
                let lanes = self.condition(*a) & now.mask;
                self.all_lanes(now, lanes, &[lanes.into(); LANES]);
                Ok(())
            }
            Op::Vote { f, a, .. } => {
                let lanes = self.condition(*a) & now.mask;
                let holds = now.warp.registers.condition(*a) & now.mask & !lanes;
                let fails = now.mask & !holds & !lanes;
                let known = match f {
                    Vote::All => fails != 0,
                    Vote::Any => holds != 0,
                    Vote::Uniform => holds != 0 && fails != 0,
                };
                self.all_lanes(now, lanes, &[if known { 0 } else { u64::MAX }; LANES]);
                Ok(())
            }
            Op::Match { .. } | Op::Reduce { .. } => {
                self.all_lanes(now, undefined, &[u64::MAX; LANES]);
                Ok(())
            }
            Op::Elect { .. } | Op::SyncWarp { .. } => {
                self.clear_all(now);
                Ok(())
            }
            op => {
                let mut any = [0; LANES];
                each(undefined).for_each(|lane| any[lane] = u64::MAX);
                let results = self.results(op, &now.warp.registers, &any);
                let mut origins = [0; LANES];
                let reads = self.sources(op, now);
                for lane in each(undefined) {
                    origins[lane] = self.from(now, &reads(lane), lane);
                }
                for (place, bits) in std::mem::take(&mut now.writes).into_iter().zip(results) {
                    self.write(place, now.mask, &bits, &origins);
                }
                Ok(())
            }
        }
    }

    /// The registers that may have made the result of a lane undefined, the likeliest first.
    fn sources<'r>(&self, op: &'r Op, now: &Now<'_, '_>) -> impl Fn(usize) -> Vec<Place> + use<'r> {
        let (all, chosen) = (
            now.reads.clone(),
            match op {
                Op::Select { a, b, condition, .. } => {
                    Some((*a, *b, *condition, now.warp.registers.condition(*condition)))
                }
                _ => None,
            },
        );
        move |lane| match chosen {
            None => all.clone(),
            Some((a, b, condition, holds)) => {
                let chosen = if holds >> lane & 1 == 1 { a } else { b };
                vec![Place::Predicate(condition.predicate), Place::Slot(chosen, 64)]
            }
        }
    }

    /// What is written is undefined in some lanes.
    fn mixed(&mut self, now: &mut Now<'_, '_>, lanes: u32) {
        let (mut bits, mut origins) = ([0; LANES], [0; LANES]);
        for lane in each(lanes) {
            bits[lane] = u64::MAX;
            origins[lane] = self.from(now, &now.reads, lane);
        }
        for place in &now.writes {
            self.write(*place, now.mask, &bits, &origins);
        }
    }

    fn clear_all(&mut self, now: &Now<'_, '_>) {
        now.writes.iter().for_each(|place| self.clear(*place, now.mask));
    }

    /// All lanes have a result that depends on some.
    fn all_lanes(&mut self, now: &mut Now<'_, '_>, undefined: u32, bits: &WideLanes) {
        let origin = match undefined {
            0 => 0,
            lanes => self.from(now, &now.reads, lanes.trailing_zeros() as usize),
        };
        for place in &now.writes {
            self.write(*place, now.mask, bits, &[origin; LANES]);
        }
    }

    fn shuffle(&mut self, op: &Op, now: &mut Now<'_, '_>) {
        let Op::Shuffle { f, d, p, a, b, c, .. } = op else { return };
        let registers = &now.warp.registers;
        let (mut bits, mut origins): (WideLanes, Lanes) = ([0; LANES], [0; LANES]);
        for lane in each(now.mask) {
            let (from, _) = f.source(lane, registers.word(*b)[lane], registers.word(*c)[lane]);
            let place = Place::Slot(Slot::Word(*a, 32), 32);
            if self.lanes(place) >> from & 1 == 1 {
                bits[lane] = self.bits.word(*a)[from].into();
                origins[lane] = self.from(now, &[place], from);
            }
        }
        self.write(Place::Slot(Slot::Word(*d, 32), 32), now.mask, &bits, &origins);
        if let Some(p) = p {
            self.clear(Place::Predicate(*p), now.mask);
        }
    }

    fn load(&mut self, access: &Access, now: &mut Now<'_, '_>) -> Result<(), Fault> {
        let Access { region, bytes, signed, address, ref elements, .. } = *access;
        self.address(now, address)?;
        let addresses = now.warp.registers.addresses(address);
        let size = usize::from(bytes);
        for (index, element) in elements.iter().enumerate() {
            let (mut bits, mut origins) = ([0; LANES], [0; LANES]);
            for lane in each(now.mask) {
                let (region, at) = resolve(region, addresses[lane]);
                let (code, from) = match region {
                    Region::Shared => {
                        let (bytes, at) = now.block.undefined_at(at.wrapping_add(index * size));
                        bytes.get(at, size)
                    }
                    Region::Local => self.own(lane, at.wrapping_add(index * size), size),
                    _ => (0, 0),
                };
                let up = 64 - 8 * u32::from(bytes);
                bits[lane] = if signed { ((code << up) as i64 >> up) as u64 } else { code };
                origins[lane] = if code != 0 && from == 0 { now.first_read(lane, true) } else { from };
            }
            let width = if let Slot::Word(_, bits) = element { *bits } else { 64 };
            self.write(Place::Slot(*element, width), now.mask, &bits, &origins);
        }
        Ok(())
    }

    /// Undefined bits of the local memory of a lane.
    fn own(&self, lane: usize, at: usize, size: usize) -> (u64, Origin) {
        self.local[lane].get(at, size)
    }

    fn store(&mut self, access: &Access, now: &mut Now<'_, '_>) -> Result<(), Fault> {
        let Access { region, bytes, address, ref elements, .. } = *access;
        self.address(now, address)?;
        let addresses = now.warp.registers.addresses(address);
        let (size, keep) = (usize::from(bytes), u64::MAX >> (64 - 8 * u32::from(bytes)));
        for lane in each(now.mask) {
            for (index, element) in elements.iter().enumerate() {
                let bits = self.bits.any_lane(*element, lane) & keep;
                let from = if bits == 0 { 0 } else { self.from(now, &[Place::Slot(*element, 64)], lane) };
                let (space, at) = resolve(region, addresses[lane]);
                let at = at.wrapping_add(index * size);
                match space {
                    Region::Shared => {
                        let (bytes, at) = now.block.undefined_at(at);
                        bytes.put(at, size, bits, from);
                    }
                    Region::Local => self.local[lane].put(at, size, bits, from),
                    _ if bits == 0 => {}
                    _ => {
                        let found = now.block.launch.global.checked(at as u64, bytes.into(), "writes");
                        let Ok((memory, offset)) = found else { continue };
                        let byte = offset + u64::from(bits.trailing_zeros() / 8);
                        return Err(now.stored(lane, byte, &memory.name, from));
                    }
                }
            }
        }
        Ok(())
    }

    /// `st.async`: what it brings, when it starts.
    fn store_across(&mut self, (to, elements, size): (Address, &[Slot], usize), now: &mut Now<'_, '_>) {
        let addresses = now.warp.registers.addresses(to);
        for lane in each(now.mask) {
            for (index, element) in elements.iter().enumerate() {
                let bits = self.bits.any_lane(*element, lane);
                let from = if bits == 0 { 0 } else { self.from(now, &[Place::Slot(*element, 64)], lane) };
                let at = in_shared(addresses[lane]) as usize + index * size;
                let (bytes, at) = now.block.undefined_at(at);
                bytes.put(at, size, bits, from);
            }
        }
    }

    fn atomic(&mut self, atomic: &Atomic, now: &mut Now<'_, '_>) -> Result<(), Fault> {
        let Atomic { region, op, kind, address, ref d, ref b, ref c, .. } = *atomic;
        self.address(now, address)?;
        let addresses = now.warp.registers.addresses(address);
        let size = kind.bits() as usize / 8;
        let keep = u64::MAX >> (64 - kind.bits());
        for lane in each(now.mask) {
            let (space, at) = resolve(region, addresses[lane]);
            for (index, operand) in b.iter().enumerate() {
                let c = c.get(index).copied().unwrap_or(Slot::Sink);
                let given = (self.bits.any_lane(*operand, lane) | self.bits.any_lane(c, lane)) & keep;
                let places = [Place::Slot(*operand, 64), Place::Slot(c, 64)];
                let from = if given == 0 { 0 } else { self.from(now, &places, lane) };
                let (mut old, mut old_from) = (0, 0);
                let at = at.wrapping_add(index * size);
                if space == Region::Shared {
                    let (bytes, at) = now.block.undefined_at(at);
                    (old, old_from) = bytes.get(at, size);
                    if old != 0 && old_from == 0 {
                        old_from = now.first_read(lane, true);
                    }
                    let (bits, from) = match op {
                        AtomicOp::Exchange => (given, from),
                        _ if given | old == 0 => (0, 0),
                        _ => (u64::MAX, if old != 0 { old_from } else { from }),
                    };
                    let (bytes, at) = now.block.undefined_at(at);
                    bytes.put(at, size, bits & keep, from);
                } else if given != 0
                    && let Ok((memory, offset)) =
                        now.block.launch.global.checked(at as u64, size as u64, "changes")
                {
                    return Err(now.stored(lane, offset, &memory.name, from));
                }
                if let Some(slot) = d.get(index) {
                    self.write(Place::Slot(*slot, kind.bits()), 1 << lane, &[old; LANES], &[old_from; LANES]);
                }
            }
        }
        Ok(())
    }
}
