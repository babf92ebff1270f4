//! One warp: its registers, where it is, and what each of its instructions does.

use super::address::{in_shared, resolve};
use super::block::{Block, CLUSTER};
use super::cluster::{in_block, rank_bits};
use super::copies::BulkGroups;
use super::fault::Fault;
use super::groups::{Groups, Rendezvous};
use super::in_flight::InFlight;
use super::local::Local;
use super::pending::Products;
use super::running::{Order, Running};
use super::spin::Spin;
use super::undefined::Shadow;
use crate::decode::decoder::{RANK_SHIFT, SHARED_WINDOW};
use crate::error::{Error, Thread};
use crate::instruction::warp::{agreeing, shuffled};
use crate::instruction::{compare, convert, float, special};
use crate::lanes::{LANES, Lanes, Registers, each, map1, map2};
use crate::matrix::WARPGROUP;
use crate::program::{
    AccumulatorSet, FALSE, Kernel, Members, Op, Preset, Region, Slot, TRUE, Wgmma, Word, accumulator_bit,
};

/// Why a warp stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Ready,
    /// At the barrier of this instruction, by number.
    Waiting {
        at: usize,
        id: u32,
    },
    /// At a `wgmma`, until the other warps of its warpgroup come.
    InWarpgroup {
        at: usize,
    },
    /// Until these accumulators have what was to be added to them.
    Multiplying {
        set: AccumulatorSet,
    },
    Done,
}

pub(crate) struct Warp {
    pub(crate) number: usize,
    /// Lanes that are threads of the block.
    pub(crate) lanes: u32,
    pub(crate) registers: Registers,
    pub(crate) local: Local,
    pub(crate) copies: super::copies::Copies,
    pub(super) bulks: BulkGroups,
    /// The barrier object that it found not complete last.
    pub(super) waits_at: Option<usize>,
    /// How often the barrier of the cluster was complete when it arrived there, until it has waited.
    pub(super) meets: Option<u32>,
    /// Objects whose phases it found complete without acquiring what was done before: a fence does.
    pub(super) relaxed: Vec<usize>,
    pub(super) products: Products,
    in_flight: InFlight,
    pub(crate) state: State,
    pub(super) groups: Groups,
    /// What is undefined, where that is followed.
    shadow: Option<Box<Shadow>>,
    turns: u64,
    /// Instructions that it has run of this block.
    pub(super) steps: u64,
    /// Instructions of threads so far.
    pub(crate) executed: u64,
    /// The same when the block started.
    started: u64,
    /// Whether a thread read its own memory where it had written nothing.
    pub(crate) unwritten: bool,
    pub(super) spin: Spin,
    /// How often it has come to loads that may be first guesses.
    pub(super) guessed: u32,
    /// Whether the others have come as far as the write that is next.
    has_let_others: bool,
    /// The instructions of the barrier that it waits at, and the lanes that are at each.
    pub(super) at_barrier: Vec<(usize, u32)>,
}

/// What is wrong with an instruction that a part of a warp reaches.
const PART_OF_THE_WARP: &str =
    "an instruction of the whole warp is reached by a part of it, not by this thread";

/// What an error says of a barrier that only a part of a warp comes to: it can be right where it counts threads.
fn part_at_a_barrier(aligned: bool, count: Option<Word>) -> &'static str {
    if aligned || count.is_none() {
        ""
    } else {
        " (a barrier that a part of a warp completes is not supported)"
    }
}

/// Backward branches between two looks at whether to stop.
const TURNS_AT_ONCE: u64 = 4096;

impl Warp {
    pub(crate) fn new(kernel: &Kernel) -> Warp {
        Warp {
            number: 0,
            lanes: 0,
            registers: Registers {
                words: vec![[0; LANES]; kernel.words],
                wides: vec![[0; LANES]; kernel.wides],
                predicates: vec![0; kernel.predicates],
            },
            local: Local::new(kernel.local),
            copies: super::copies::Copies::default(),
            bulks: BulkGroups::default(),
            waits_at: None,
            meets: None,
            relaxed: vec![],
            products: Products::default(),
            in_flight: InFlight::default(),
            state: State::Done,
            groups: Groups::default(),
            shadow: None,
            turns: 0,
            steps: 0,
            executed: 0,
            started: 0,
            unwritten: false,
            spin: Spin::default(),
            guessed: 0,
            has_let_others: false,
            at_barrier: vec![],
        }
    }

    /// Makes it that warp of a block.
    pub(crate) fn start(&mut self, block: &Block<'_>, number: usize) {
        let kernel = block.launch.kernel;
        let threads = block.launch.threads();
        self.number = number;
        let left = threads - number * LANES;
        self.lanes = if left >= LANES { u32::MAX } else { (1 << left) - 1 };
        if !kernel.unwritten.is_empty() || kernel.local > 0 {
            self.registers.words.fill([0; LANES]);
            self.registers.wides.fill([0; LANES]);
            self.registers.predicates.fill(0);
            self.local = Local::new(kernel.local);
        }
        self.registers.predicates[TRUE.0 as usize] = u32::MAX;
        self.registers.predicates[FALSE.0 as usize] = 0;
        self.registers.predicates[crate::program::CARRY.0 as usize] = 0;
        for (slot, preset) in &kernel.presets {
            self.registers.words[slot.0 as usize] = self.preset(*preset, block);
        }
        for (slot, value, in_shared) in &kernel.wide_constants {
            let bits = if *in_shared { rank_bits(block.rank) } else { 0 };
            self.registers.wides[slot.0 as usize] = [value | bits; LANES];
        }
        self.copies.reset();
        self.bulks.reset();
        (self.waits_at, self.meets) = (None, None);
        self.relaxed.clear();
        self.products.reset();
        self.in_flight.start();
        self.groups.start(self.lanes);
        let following = block.launch.undefined.as_ref();
        self.shadow = following.map(|following| Box::new(Shadow::start(block.launch, following)));
        (self.state, self.turns, self.steps, self.started) = (State::Ready, 0, 0, self.executed);
        (self.spin, self.guessed) = (Spin::default(), 0);
        self.has_let_others = false;
    }

    fn preset(&self, preset: Preset, block: &Block<'_>) -> Lanes {
        let launch = block.launch;
        let lanes = |f: &dyn Fn(u32) -> u32| {
            let mut values = [0; LANES];
            for lane in 0..LANES {
                values[lane] = f(lane as u32);
            }
            values
        };
        match preset {
            Preset::Word(value) => [value; LANES],
            Preset::SharedAt(at) => [rank_bits(block.rank) as u32 | at; LANES],
            Preset::Thread(axis) => {
                lanes(&|lane| self.thread(block, lane as usize).thread[usize::from(axis)])
            }
            Preset::ThreadCount(axis) => [launch.block[usize::from(axis)]; LANES],
            Preset::Block(axis) => [block.index[usize::from(axis)]; LANES],
            Preset::BlockCount(axis) => [launch.grid[usize::from(axis)]; LANES],
            Preset::Lane => lanes(&|lane| lane),
            Preset::Warp => [self.number as u32; LANES],
            Preset::WarpCount => [launch.threads().div_ceil(LANES) as u32; LANES],
            Preset::MaskEqual => lanes(&|lane| 1 << lane),
            Preset::MaskLess => lanes(&|lane| (1 << lane) - 1),
            Preset::MaskLessEqual => lanes(&|lane| u32::MAX >> (31 - lane)),
            Preset::MaskGreater => lanes(&|lane| !(u32::MAX >> (31 - lane))),
            Preset::MaskGreaterEqual => lanes(&|lane| u32::MAX << lane),
            Preset::DynamicShared => [launch.dynamic_shared as u32; LANES],
            Preset::Shared => [launch.shared_bytes.next_multiple_of(128) as u32; LANES],
            Preset::Cluster(axis) => {
                let axis = usize::from(axis);
                [block.index[axis] / launch.clusters.sizes[axis]; LANES]
            }
            Preset::ClusterCount(axis) => [launch.clusters.counts()[usize::from(axis)]; LANES],
            Preset::BlockInCluster(axis) => {
                let axis = usize::from(axis);
                [block.index[axis] % launch.clusters.sizes[axis]; LANES]
            }
            Preset::BlocksOfCluster(axis) => [launch.clusters.sizes[usize::from(axis)]; LANES],
            Preset::Rank => [block.rank as u32; LANES],
            Preset::RankCount => [launch.clusters.size() as u32; LANES],
            Preset::IsCluster => [launch.clusters.are_asked_for.into(); LANES],
        }
    }

    pub(crate) fn thread(&self, block: &Block<'_>, lane: usize) -> Thread {
        self.thread_of(block.launch, block.index, lane)
    }

    pub(super) fn thread_of(&self, running: &Running<'_>, block: [u32; 3], lane: usize) -> Thread {
        let [x, y, _] = running.block;
        let index = (self.number * LANES + lane) as u32;
        Thread { block, thread: [index % x, index / x % y, index / x / y] }
    }

    pub(crate) fn error(&self, block: &Block<'_>, line: u32, fault: Fault) -> Error {
        let thread = self.thread(block, fault.lane);
        if let (Some(other), Ok(mut raced)) = (fault.other, block.launch.raced.lock()) {
            raced.push((thread, other));
        }
        fault.at(line, thread)
    }

    /// Runs until it has to wait, has ended, or has made that many turns that others are due.
    pub(crate) fn run(&mut self, block: &mut Block<'_>) -> Result<(), Error> {
        let kernel = block.launch.kernel;
        let steps = kernel.steps.as_slice();
        let traces = block.launch.recorder.is_some();
        let at_once = block.launch.multiplies_at_once();
        let guesses_late = block.launch.order != Order::FIRST && kernel.guesses;
        let mut executed = 0;
        let result = loop {
            if self.groups.at == self.groups.joins_at || self.groups.active == 0 {
                if self.groups.resume() {
                    continue;
                }
                self.state = State::Done;
                break match self.groups.stuck() {
                    None => Ok(()),
                    Some((at, here, missing)) => {
                        let fault = self.missing(&steps[at].op, here, missing);
                        Err(self.error(block, steps[at].line, fault))
                    }
                };
            }
            let step = &steps[self.groups.at];
            let mask = match step.guard {
                None => self.groups.active,
                Some(condition) => self.groups.active & self.registers.condition(condition),
            };
            if let Some(mut shadow) = self.shadow.take() {
                let followed = shadow.step(self, step, (self.groups.active, mask), block);
                self.shadow = Some(shadow);
                if let Err(fault) = followed {
                    break Err(self.error(block, step.line, fault));
                }
            }
            if mask == 0 {
                self.groups.at += 1;
                continue;
            }
            if step.settles != 0 {
                if let Err(what) = self.in_flight.touch(step) {
                    let first = mask.trailing_zeros() as usize;
                    break Err(self.error(block, step.line, Fault::new(first, what)));
                }
                let due = step.settles & self.products.open;
                if due != 0 {
                    if self.products.wait(due) {
                        self.state = State::Multiplying { set: due };
                        break Ok(());
                    }
                    self.products.settle(kernel, due, &mut self.registers);
                }
            }
            executed += u64::from(mask.count_ones());
            if traces {
                self.steps += 1;
            }
            match &step.op {
                Op::Branch { target, reconverge, spins } => {
                    let target = *target as usize;
                    let at = (self.groups.at, mask);
                    self.groups.branch(mask, target, *reconverge as usize);
                    match self.branched(at, target <= at.0, *spins, block) {
                        Ok(false) => {}
                        Ok(true) => break Ok(()),
                        Err(error) => break Err(error),
                    }
                }
                Op::BranchTable { index, targets, reconverge, spins } => {
                    let parts = match self.chosen(*index, targets, mask) {
                        Ok(parts) => parts,
                        Err(fault) => break Err(self.error(block, step.line, fault)),
                    };
                    let at = (self.groups.at, mask);
                    let goes_back = parts.iter().any(|(target, _)| *target <= at.0);
                    self.groups.part(&parts, *reconverge as usize);
                    match self.branched(at, goes_back, *spins, block) {
                        Ok(false) => {}
                        Ok(true) => break Ok(()),
                        Err(error) => break Err(error),
                    }
                }
                Op::Clock { d, shift } => {
                    let now = (self.executed + executed - self.started) >> shift;
                    self.registers.set_any(*d, mask, &[now; LANES]);
                    if traces {
                        self.record(block.launch, block.index, self.groups.at, mask, self.steps - 1);
                    }
                    self.groups.at += 1;
                }
                Op::Exit => {
                    self.groups.exit(mask);
                    self.groups.at += 1;
                }
                Op::Barrier { id, count, arrive, aligned, .. } => {
                    let (id, count) = match self.barrier(*id, *count, *aligned, mask) {
                        Ok(named) => named,
                        Err(fault) => break Err(self.error(block, step.line, fault)),
                    };
                    let kind = match aligned {
                        true => Rendezvous::Here,
                        false => Rendezvous::Barrier { id, count, arrive: *arrive },
                    };
                    match self.come(&step.op, mask, kind) {
                        Ok(true) => {}
                        Ok(false) => continue,
                        Err(fault) => break Err(self.error(block, step.line, fault)),
                    }
                    let at = self.groups.at - 1;
                    if let Err(what) = block.arrive(id, count, self.number, *arrive) {
                        let first = mask.trailing_zeros() as usize;
                        break Err(self.error(block, step.line, Fault::new(first, what)));
                    }
                    if !*arrive {
                        self.state = State::Waiting { at, id };
                        break Ok(());
                    }
                }
                Op::ClusterBarrier { arrive, aligned, orders } => {
                    let kind = match aligned {
                        true => Rendezvous::Here,
                        false => Rendezvous::Barrier { id: CLUSTER, count: None, arrive: *arrive },
                    };
                    match self.come(&step.op, mask, kind) {
                        Ok(true) => {}
                        Ok(false) => continue,
                        Err(fault) => break Err(self.error(block, step.line, fault)),
                    }
                    if let Err(what) = block.meet(self, *arrive, *orders) {
                        let first = mask.trailing_zeros() as usize;
                        break Err(self.error(block, step.line, Fault::new(first, what)));
                    }
                    if !*arrive {
                        self.state = State::Waiting { at: self.groups.at - 1, id: CLUSTER };
                        break Ok(());
                    }
                }
                Op::Nest(_, nest) if !at_once => match self.nest(mask, nest, block) {
                    Err(fault) => break Err(self.error(block, step.line, fault)),
                    Ok(is_full) => {
                        self.groups.at += 1;
                        if is_full {
                            self.state = State::Multiplying { set: accumulator_bit(nest.d) };
                            break Ok(());
                        }
                    }
                },
                Op::Wgmma(wgmma) if !at_once => {
                    if let Err(fault) = self.check_whole(mask) {
                        if mask == self.groups.active && self.groups.wait(self.lanes, Rendezvous::Here) {
                            continue;
                        }
                        break Err(self.error(block, step.line, fault));
                    }
                    if let Err(fault) = self.starts_product(wgmma, block) {
                        break Err(self.error(block, step.line, fault));
                    }
                    self.state = State::InWarpgroup { at: self.groups.at };
                    break Ok(());
                }
                op @ (Op::Load(_) | Op::Store(_) | Op::Atomic(_))
                    if !self.has_let_others
                        && (guesses_late || !matches!(op, Op::Load(_)))
                        && self.lets_others(op, mask, block) =>
                {
                    if matches!(op, Op::Load(_)) {
                        self.spin.gives_way();
                    }
                    self.has_let_others = true;
                    executed -= u64::from(mask.count_ones());
                    self.steps -= u64::from(traces);
                    break Ok(());
                }
                op => {
                    if block.launch.sought.is_some() {
                        self.seek(op, mask, block);
                    }
                    if let Err(fault) = self.execute(op, mask, block) {
                        if self.takes_apart(op, mask) {
                            executed -= u64::from(mask.count_ones());
                            self.steps -= u64::from(traces);
                            continue;
                        }
                        if mask == self.groups.active && self.waits(op, mask) {
                            continue;
                        }
                        break Err(self.error(block, step.line, fault));
                    }
                    if traces {
                        self.record(block.launch, block.index, self.groups.at, mask, self.steps - 1);
                    }
                    self.has_let_others = false;
                    self.groups.at += 1;
                }
            }
        };
        self.executed += executed;
        result
    }

    /// After a branch of some lanes, which `goes_back` in the text or not: whether others are due.
    #[inline(always)]
    fn branched(
        &mut self,
        (at, mask): (usize, u32),
        goes_back: bool,
        spins: bool,
        block: &Block<'_>,
    ) -> Result<bool, Error> {
        if goes_back {
            self.turns += 1;
            let limit = block.launch.limits.turns;
            if self.turns > limit {
                let mut what = format!("the loop has made more than {limit} turns; loop_limit raises this");
                if let Some(waits) = self.waits_at.and_then(|at| block.objects.waits_for(at)) {
                    what += &format!(": {waits}");
                }
                let line = block.launch.kernel.steps[at].line;
                return Err(self.error(block, line, Fault::new(mask.trailing_zeros() as usize, what)));
            }
            if self.turns.is_multiple_of(TURNS_AT_ONCE) {
                return block.launch.look().map(|()| true);
            }
        }
        if !spins {
            return Ok(false);
        }
        let others_are_due = self.spin.turns((at, mask));
        if self.groups.are_several() {
            self.groups.spin();
        }
        Ok(others_are_due)
    }

    /// The targets that lanes choose by numbers, each with its lanes; those under a guard that does not hold go on.
    fn chosen(&self, index: Word, targets: &[u32], mask: u32) -> Result<Vec<(usize, u32)>, Fault> {
        let mut parts: Vec<(usize, u32)> = vec![];
        let mut add = |target: usize, lanes: u32| match parts.iter_mut().find(|part| part.0 == target) {
            Some(part) => part.1 |= lanes,
            None => parts.push((target, lanes)),
        };
        let index = self.registers.word(index);
        for lane in each(mask) {
            let Some(target) = targets.get(index[lane] as usize) else {
                let (index, count) = (index[lane] as i32, targets.len());
                let what = format!("branches to target {index} of {count}: the first is 0");
                return Err(Fault::new(lane, what));
            };
            add(*target as usize, 1 << lane);
        }
        let rest = self.groups.active & !mask;
        if rest != 0 {
            add(self.groups.at + 1, rest);
        }
        Ok(parts)
    }

    /// Lanes come to a barrier, of the block or its cluster: whether all of the warp have, which then go on behind it; until then
    /// others of the warp run.
    fn come(&mut self, op: &Op, mask: u32, kind: Rendezvous) -> Result<bool, Fault> {
        let aligned = kind == Rendezvous::Here;
        let mut come = mask;
        if !aligned {
            self.groups.split(mask);
            come |= self.groups.at_barrier(kind);
        }
        // lanes that have exited are not waited for
        let missing = self.lanes & !self.groups.exited & !come;
        if missing != 0 {
            return match mask == self.groups.active && self.groups.wait(self.lanes, kind) {
                true => Ok(false),
                false => Err(self.missing(op, come, missing.trailing_zeros())),
            };
        }
        self.at_barrier.clear();
        self.at_barrier.push((self.groups.at, mask));
        if !aligned {
            self.groups.pass_barrier(kind, &mut self.at_barrier);
        }
        self.groups.at += 1;
        self.copies.landed();
        Ok(true)
    }

    /// An instruction that leaves the order of instructions alone.
    pub(super) fn execute(&mut self, op: &Op, mask: u32, block: &mut Block<'_>) -> Result<(), Fault> {
        let registers = &mut self.registers;
        match op {
            Op::Nothing
            | Op::Clock { .. }
            | Op::Branch { .. }
            | Op::BranchTable { .. }
            | Op::Exit
            | Op::Barrier { .. }
            | Op::ClusterBarrier { .. } => {}
            Op::MapShared { generic, d, a, rank } => {
                let size = block.launch.clusters.size();
                let (a, ranks) = (registers.any(*a), registers.word(*rank));
                let mut value = [0; LANES];
                for lane in each(mask) {
                    let rank = ranks[lane] as usize;
                    if rank >= size {
                        let what = format!("maps an address to block {rank} of a cluster of {size}");
                        return Err(Fault::new(lane, what));
                    }
                    if *generic && resolve(Region::Generic, a[lane]).0 != Region::Shared {
                        let what = format!("maps address {:#x}, which is not in shared memory", a[lane]);
                        return Err(Fault::new(lane, what));
                    }
                    let base = if *generic { SHARED_WINDOW } else { 0 };
                    value[lane] = base | in_block(a[lane]) | rank_bits(rank);
                }
                registers.set_any(*d, mask, &value);
            }
            Op::Rank { d, a } => {
                let value = map1(&registers.any(*a), |a| (in_shared(a) >> RANK_SHIFT) as u32);
                registers.set_word(*d, mask, &value);
            }
            Op::Computed(computed) => computed.run(registers, mask),
            Op::Carry(carry) => carry.run(registers, mask),
            Op::Test { class, kind, d, a } => {
                let codes = registers.any(*a);
                let bits = (0..LANES).fold(0, |bits, lane| {
                    bits | u32::from(compare::test(*class, *kind, codes[lane])) << lane
                });
                registers.set_predicate(*d, mask, bits);
            }
            Op::Copy { d, a } => {
                for (d, a) in d.iter().zip(a) {
                    let value = registers.any(*a);
                    registers.set_any(*d, mask, &value);
                }
            }
            Op::DivideFactors { full, flush, d, a, b } => {
                let factors =
                    special::division_factors(*full, *flush, registers.word(*a), registers.word(*b));
                registers.set_word(d[0], mask, &factors[0]);
                registers.set_word(d[1], mask, &factors[1]);
            }
            Op::Scaled { first, flush, saturate, factors, power } => {
                let factors = factors.map(|word| registers.word(word));
                let doubtful =
                    mask & float::scaled(*first, (*flush, *saturate), factors, registers.word(*power));
                if doubtful != 0 && block.launch.global.reports {
                    let what = "ptxas scales the product by a power of two in the same instruction: whether a GPU rounds it once or twice is not known, and the results differ here";
                    return Err(Fault::new(doubtful.trailing_zeros() as usize, what));
                }
            }
            Op::ReciprocalFactors { flush, d, a } => {
                let factors = special::reciprocal_factors(*flush, registers.word(*a));
                registers.set_word(d[0], mask, &factors[0]);
                registers.set_word(d[1], mask, &factors[1]);
            }
            Op::Compare { compare, d, q } => compare::set_predicates(registers, mask, compare, *d, *q),
            Op::Set { compare, kind, d } => compare::set(registers, mask, compare, *kind, *d),
            Op::Select { d, a, b, condition } => {
                compare::select(registers, mask, [*d, *a, *b], *condition);
            }
            Op::Logic { f, d, a, b } => {
                let value = f.of(registers.condition(*a), registers.condition(*b));
                registers.set_predicate(*d, mask, value);
            }
            Op::Convert(conversion) => convert::convert(registers, mask, conversion),
            Op::Pack { d, bits, parts } => match (*d, &**parts) {
                (Slot::Word(d, 32), [Slot::Word(low, _), Slot::Word(high, _)]) => {
                    let value = map2(registers.word(*low), registers.word(*high), |low, high| {
                        low & 0xffff | high << 16
                    });
                    registers.set_word(d, mask, &value);
                }
                _ => {
                    let mut value = [0; LANES];
                    for (index, part) in parts.iter().enumerate() {
                        let part = registers.any(*part);
                        let keep = u64::MAX >> (64 - bits);
                        let shift = bits * index as u32;
                        value = map2(&value, &part, |value, part| value | (part & keep) << shift);
                    }
                    registers.set_any(*d, mask, &value);
                }
            },
            Op::Unpack { a, bits, parts } => match (*a, &**parts) {
                (Slot::Word(a, 32), [Slot::Word(low, 16), Slot::Word(high, 16)]) => {
                    let a = *registers.word(a);
                    registers.set_word(*low, mask, &map1(&a, |a| a & 0xffff));
                    registers.set_word(*high, mask, &map1(&a, |a| a >> 16));
                }
                _ => {
                    let whole = registers.any(*a);
                    for (index, part) in parts.iter().enumerate() {
                        let keep = u64::MAX >> (64 - bits);
                        let value = map1(&whole, |whole| whole >> (bits * index as u32) & keep);
                        registers.set_any(*part, mask, &value);
                    }
                }
            },
            Op::Window { to_generic, region, d, a } => {
                let base = match region {
                    Region::Shared => crate::decode::decoder::SHARED_WINDOW,
                    Region::Local => crate::decode::decoder::LOCAL_WINDOW,
                    Region::Parameter => crate::decode::decoder::PARAMETER_WINDOW,
                    _ => 0,
                };
                let value = map1(&registers.any(*a), |a| {
                    if *to_generic { a.wrapping_add(base) } else { a.wrapping_sub(base) }
                });
                registers.set_any(*d, mask, &value);
            }
            Op::IsSpace { region, own_only, d, a } => {
                let own = block.rank as u64;
                let window = |address: u64| match resolve(Region::Generic, address).0 {
                    Region::Shared if *own_only && in_shared(address) >> RANK_SHIFT != own => Region::Generic,
                    Region::Parameter => Region::Global,
                    Region::Global if block.launch.is_constant(address) => Region::Constant,
                    found => found,
                };
                let a = registers.any(*a);
                let bits =
                    (0..LANES).fold(0, |bits, lane| bits | u32::from(window(a[lane]) == *region) << lane);
                registers.set_predicate(*d, mask, bits);
            }
            Op::Load(access) => return self.load(access, mask, block),
            Op::Store(access) => return self.store(access, mask, block),
            Op::Atomic(atomic) => return self.atomic(atomic, mask, block),
            Op::LoadMatrix { tile, address, d } => {
                return self.load_matrix(*tile, *address, d, mask, block);
            }
            Op::StoreMatrix { tile, address, a } => {
                return self.store_matrix(*tile, *address, a, mask, block);
            }
            Op::CopyAsync { .. } => return self.copy(op, mask, block),
            Op::Completing { op, bytes, barrier } => {
                return self.completes(op, (*barrier, *bytes as usize), mask, block);
            }
            Op::Fill { address, bytes } => return self.fill(*address, *bytes, mask, block),
            Op::Object(object) => return self.object(object, mask, block),
            Op::Bulk(bulk) => return self.bulk(bulk, mask, block),
            Op::Tcgen05(tensor) => return self.tensor(tensor, mask, block),
            Op::CommitCopies => self.copies.commit(),
            Op::WaitCopies(left) => {
                let by = block.clocks.by(self.number);
                return self.copies.wait(*left as usize, &mut block.shared, by);
            }
            Op::WaitAllCopies => {
                self.copies.commit();
                let by = block.clocks.by(self.number);
                return self.copies.wait(0, &mut block.shared, by);
            }
            Op::Shuffle { f, d, p, a, b, c, mask: members } => {
                self.check_members(*members, mask)?;
                let shuffled = shuffled(&self.registers, mask, *f, [*a, *b, *c]);
                let (value, valid) = shuffled.map_err(|(lane, from)| {
                    Fault::new(lane, format!("shfl reads lane {from}, which does not take part"))
                })?;
                self.registers.set_word(*d, mask, &value);
                if let Some(p) = p {
                    self.registers.set_predicate(*p, mask, valid);
                }
            }
            Op::Vote { f, d, a, mask: members } => {
                self.check_members(*members, mask)?;
                let registers = &mut self.registers;
                let bits = registers.condition(*a) & mask;
                registers.set_predicate(*d, mask, if f.of(bits, mask) { u32::MAX } else { 0 });
            }
            Op::Ballot { d, a, mask: members } => {
                self.check_members(*members, mask)?;
                let bits = self.registers.condition(*a) & mask;
                self.registers.set_word(*d, mask, &[bits; LANES]);
            }
            Op::ActiveMask { d } => registers.set_word(*d, mask, &[mask; LANES]),
            Op::Match { all, d, p, a, mask: members } => {
                self.check_members(*members, mask)?;
                let registers = &mut self.registers;
                let (value, same) = agreeing(&registers.any(*a), mask, *all);
                registers.set_word(*d, mask, &value);
                if let Some(p) = p {
                    registers.set_predicate(*p, mask, same);
                }
            }
            Op::Reduce { f, absolute, d, a, mask: members, .. } => {
                self.check_members(*members, mask)?;
                let registers = &mut self.registers;
                let (a, keep) = (registers.word(*a), if *absolute { u32::MAX >> 1 } else { u32::MAX });
                let value = each(mask).map(|lane| a[lane] & keep).reduce(f).unwrap_or(0);
                registers.set_word(*d, mask, &[value; LANES]);
            }
            Op::Elect { d, p, mask: members } => {
                self.check_members(*members, mask)?;
                let leader = mask.trailing_zeros();
                self.registers.set_any(*d, mask, &[leader.into(); LANES]);
                self.registers.set_predicate(*p, mask, 1 << leader);
            }
            Op::SyncWarp { mask: members } => self.check_members(*members, mask)?,
            Op::OfNest(_) if !block.launch.multiplies_at_once() => {}
            // where they are traced, or what is undefined is followed
            Op::Mma(mma) | Op::Nest(mma, _) | Op::OfNest(mma) => return self.mma(mask, mma, block),
            Op::Wgmma(wgmma) => {
                self.check_whole(mask)?;
                self.starts_product(wgmma, block)?;
                return self.wgmma_at_once(wgmma, block);
            }
            Op::Trap => {
                return Err(Fault::new(mask.trailing_zeros() as usize, "the kernel stopped itself (trap)"));
            }
            Op::Print { d, text, values } => return self.print(*d, *text, *values, mask, block),
            Op::Fail { texts, line } => return Err(self.failed(*texts, *line, mask, block)),
            Op::Fence { scope } => return self.fence(*scope, mask, block),
            Op::FenceForAsync => block.clocks.fence_for_async(self.number),
            Op::FenceForProducts => self.in_flight.fence(),
            Op::FenceForObjects => {
                let arrivals = block.clocks.arrivals(self.number);
                block.objects.publish(block.clocks.by(self.number).warp, arrivals);
            }
            Op::CommitProducts => block.clocks.commit_products(self.number),
            Op::WaitProducts(left) => {
                block.clocks.wait_products(self.number, *left);
                let by = block.clocks.by(self.number);
                self.in_flight.wait(by.clocks.products(by.warp)[usize::from(by.warp) / WARPGROUP]);
            }
        }
        Ok(())
    }

    /// An error if a fence is missing before a `wgmma`, which is of the group that is open.
    fn starts_product(&mut self, wgmma: &Wgmma, block: &Block<'_>) -> Result<(), Fault> {
        if let Some(line) = wgmma.unfenced {
            let what = format!(
                "multiplies a fragment of A that line {line} writes: wgmma.fence is missing between them"
            );
            return Err(Fault::new(0, what));
        }
        let group = block.clocks.open_products(self.number);
        self.in_flight.multiply(wgmma, group).map_err(|what| Fault::new(0, what))
    }

    /// The lanes of a member mask must all be here, and have the same mask.
    fn check_members(&self, members: Word, mask: u32) -> Result<(), Fault> {
        let lane = mask.trailing_zeros() as usize;
        let masks = self.registers.word(members);
        if mask & !masks[lane] != 0 || each(mask).any(|other| masks[other] != masks[lane]) {
            self.parts(members, mask)?;
            return Err(Fault::new(lane, "lanes name different masks here"));
        }
        let members = masks[lane] & self.lanes;
        let missing = members & !mask & !self.groups.exited;
        if missing != 0 {
            let missing = missing.trailing_zeros();
            return Err(Fault::new(
                lane,
                format!("the mask {members:#010x} names lane {missing}, which is not here"),
            ));
        }
        Ok(())
    }

    /// The lanes with each of the masks that some lanes name. Each must be in its own, and those in it must name the same.
    fn parts(&self, members: Word, mask: u32) -> Result<Vec<u32>, Fault> {
        let masks = self.registers.word(members);
        let mut parts = vec![];
        let mut left = mask;
        while left != 0 {
            let named = masks[left.trailing_zeros() as usize];
            let part = each(left).filter(|lane| masks[*lane] == named).fold(0, |part, lane| part | 1 << lane);
            if let Some(lane) = each(part & !named).next() {
                let what = format!("the mask {named:#010x} does not name this lane, {lane}");
                return Err(Fault::new(lane, what));
            }
            if let Some(other) = each(named & mask & !part).next() {
                let (lane, theirs) = (part.trailing_zeros() as usize, masks[other]);
                let what =
                    format!("the mask {named:#010x} names lane {other}, whose own mask is {theirs:#010x}");
                return Err(Fault::new(lane, what));
            }
            parts.push(part);
            left &= !part;
        }
        Ok(parts)
    }

    /// Lanes that name different masks take an instruction one part after the other; whether there are several.
    fn takes_apart(&mut self, op: &Op, mask: u32) -> bool {
        let Some(Members::Named(members)) = op.members() else { return false };
        match self.parts(members, mask) {
            Ok(parts) if parts.len() > 1 => {
                self.groups.take_apart(&parts);
                true
            }
            _ => false,
        }
    }

    /// Whether the lanes wait at an instruction that names others, which can still come.
    fn waits(&mut self, op: &Op, mask: u32) -> bool {
        let lane = mask.trailing_zeros() as usize;
        let Some(members) = op.members() else { return false };
        let members = match members {
            Members::Named(word) => self.registers.word(word)[lane] & self.lanes,
            Members::All => self.lanes,
        };
        let kind = if matches!(op, Op::SyncWarp { .. }) { Rendezvous::Anywhere } else { Rendezvous::Here };
        mask & !members == 0 && self.groups.wait(members, kind)
    }

    /// The barrier that lanes are at, and for how many threads it waits: the same for all of them.
    fn barrier(
        &self,
        id: Word,
        count: Option<Word>,
        aligned: bool,
        mask: u32,
    ) -> Result<(u32, Option<u32>), Fault> {
        let first = mask.trailing_zeros() as usize;
        let agreed = |word: Word, what: &dyn Fn(u32) -> String| {
            let values = self.registers.word(word);
            match each(mask).find(|lane| values[*lane] != values[first]) {
                None => Ok(values[first]),
                Some(other) => {
                    let [ours, theirs] = [first, other].map(|lane| what(values[lane]));
                    let unless = part_at_a_barrier(aligned, count);
                    let what = format!(
                        "{ours} in lane {first}, {theirs} in lane {other}: all lanes of a warp must be at the same barrier{unless}"
                    );
                    Err(Fault::new(other, what))
                }
            }
        };
        let id = agreed(id, &|id| format!("barrier {id}"))?;
        let count = count.map(|count| agreed(count, &|count| format!("a barrier of {count} threads")));
        Ok((id, count.transpose()?))
    }

    /// An instruction was reached by some lanes, and one is missing that will not come.
    fn missing(&self, op: &Op, here: u32, missing: u32) -> Fault {
        let lane = here.trailing_zeros() as usize;
        match op.members() {
            _ if let Op::Barrier { count, aligned, .. } = op => {
                let what = format!(
                    "the barrier is reached by {} of the {} threads of the warp, not by this one{}",
                    here.count_ones(),
                    self.lanes.count_ones(),
                    part_at_a_barrier(*aligned, *count)
                );
                Fault::new(missing as usize, what)
            }
            _ if let Op::ClusterBarrier { .. } = op => {
                let what = format!(
                    "the barrier of the cluster is reached by {} of the {} threads of the warp, not by this one",
                    here.count_ones(),
                    self.lanes.count_ones()
                );
                Fault::new(missing as usize, what)
            }
            Some(Members::Named(members)) => {
                let members = self.registers.word(members)[lane];
                let what = format!("the mask {members:#010x} names lane {missing}, which is not here");
                Fault::new(lane, what)
            }
            _ => Fault::new(missing as usize, PART_OF_THE_WARP),
        }
    }

    /// All lanes must be here, as an instruction of the whole warp asks for.
    pub(crate) fn check_whole(&self, mask: u32) -> Result<(), Fault> {
        match mask == u32::MAX {
            true => Ok(()),
            false => {
                let missing = (!mask).trailing_zeros() as usize;
                Err(Fault::new(missing, PART_OF_THE_WARP))
            }
        }
    }

    pub(crate) fn line(&self, kernel: &Kernel) -> u32 {
        kernel.steps[self.groups.at.min(kernel.steps.len() - 1)].line
    }
}
