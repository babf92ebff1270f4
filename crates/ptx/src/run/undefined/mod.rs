//! Undefined data: what nobody wrote, followed bit by bit to where it matters.
//!
//! A register, or a byte of shared or local memory, is undefined until something is written there. A launch that reads such a thing
//! runs a second time with a shadow: for each bit whether it is undefined, and the instruction that read it first. Undefined bits may
//! be moved, stored in shared memory and computed with, as compilers do with lanes that are discarded later. They are an error where
//! they decide something: an address, a branch, whether an instruction runs, or what is stored to global memory. A launch that
//! reads nothing undefined has no shadow and pays nothing.

mod matrices;
mod memory;
mod rules;
mod step;
mod tensor;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

pub(crate) use memory::Bytes;

use super::fault::Fault;
use super::running::Running;
use super::trace::Place;
use crate::lanes::{LANES, Lanes, Registers, WideLanes, each};
use crate::program::{FIRST_PREDICATE, Kernel, Predicate, Slot, Wide, Word};
use crate::text::Width;

/// What a run that follows undefined data has found.
#[derive(Default)]
pub(super) struct Found {
    /// It was stored to global memory.
    pub(super) stored: AtomicBool,
    /// It decided what the kernel does: an address, a branch. Any other error of the kernel may come from that.
    pub(super) decided: AtomicBool,
}

/// What a run that follows undefined data knows of the kernel.
pub(crate) struct Following<'l> {
    found: &'l Found,
    /// Where each register is.
    places: Vec<Place>,
}

impl<'l> Following<'l> {
    pub(super) fn of(kernel: &Kernel, found: &'l Found) -> Following<'l> {
        let (mut words, mut wides, mut predicates) = (0, 0, FIRST_PREDICATE);
        let next = |count: &mut u32| {
            *count += 1;
            *count - 1
        };
        let place = |width| match width {
            Width::Predicate => Place::Predicate(Predicate(next(&mut predicates))),
            Width::Word(bits) => Place::Slot(Slot::Word(Word(next(&mut words)), bits), bits),
            Width::Wide => Place::Slot(Slot::Wide(Wide(next(&mut wides))), 64),
        };
        Following {
            found,
            places: kernel.registers.iter().map(|register| register.width).map(place).collect(),
        }
    }
}

/// The instruction and thread that read something undefined first; 0 stands for none yet.
pub(in crate::run) type Origin = u32;

/// The shadow of a warp: where a bit is one, that bit of the register is undefined.
#[derive(Default)]
pub(crate) struct Shadow {
    bits: Registers,
    /// Origins of registers in the same places, and those of predicates.
    origins: Registers,
    predicate_origins: Vec<Lanes>,
    /// Lanes of which some bit is undefined.
    words: Vec<u32>,
    wides: Vec<u32>,
    /// Of each lane.
    local: Vec<Bytes>,
}

impl Shadow {
    /// For a warp that starts: registers of the text are undefined.
    pub(super) fn start(running: &Running<'_>, following: &Following<'_>) -> Shadow {
        let kernel = running.kernel;
        let registers = || Registers {
            words: vec![[0; LANES]; kernel.words],
            wides: vec![[0; LANES]; kernel.wides],
            predicates: vec![0; kernel.predicates],
        };
        let mut shadow = Shadow {
            bits: registers(),
            origins: registers(),
            predicate_origins: vec![[0; LANES]; kernel.predicates],
            words: vec![0; kernel.words],
            wides: vec![0; kernel.wides],
            local: (0..LANES).map(|_| Bytes::undefined(kernel.local as usize)).collect(),
        };
        for place in &following.places {
            shadow.write(*place, u32::MAX, &[u64::MAX; LANES], &[0; LANES]);
        }
        shadow
    }

    /// Lanes of which some bit is undefined.
    fn lanes(&self, place: Place) -> u32 {
        match place {
            Place::Slot(slot, _) => self.slot_lanes(slot),
            Place::Predicate(predicate) => self.bits.predicates[predicate.0 as usize],
        }
    }

    fn slot_lanes(&self, slot: Slot) -> u32 {
        match slot {
            Slot::Word(word, _) => self.words[word.0 as usize],
            Slot::Wide(wide) => self.wides[wide.0 as usize],
            Slot::Sink => 0,
        }
    }

    fn origin(&self, place: Place, lane: usize) -> Origin {
        match place {
            Place::Slot(slot, _) => self.origins.any_lane(slot, lane) as Origin,
            Place::Predicate(predicate) => self.predicate_origins[predicate.0 as usize][lane],
        }
    }

    /// Sets what is undefined of some lanes of a register.
    fn write(&mut self, place: Place, mask: u32, bits: &WideLanes, origins: &Lanes) {
        match place {
            Place::Slot(Slot::Word(word, _), width) => {
                let word = word.0 as usize;
                let keep = u32::MAX >> (32 - width.min(32));
                for lane in each(mask) {
                    let bits = bits[lane] as u32 & keep;
                    self.bits.words[word][lane] = bits;
                    self.origins.words[word][lane] = origins[lane];
                    self.words[word] = self.words[word] & !(1 << lane) | u32::from(bits != 0) << lane;
                }
            }
            Place::Slot(Slot::Wide(wide), _) => {
                let wide = wide.0 as usize;
                for lane in each(mask) {
                    self.bits.wides[wide][lane] = bits[lane];
                    self.origins.wides[wide][lane] = origins[lane].into();
                    self.wides[wide] = self.wides[wide] & !(1 << lane) | u32::from(bits[lane] != 0) << lane;
                }
            }
            Place::Slot(Slot::Sink, _) => {}
            Place::Predicate(predicate) => {
                let predicate = predicate.0 as usize;
                for lane in each(mask) {
                    let old = self.bits.predicates[predicate] & !(1 << lane);
                    self.bits.predicates[predicate] = old | u32::from(bits[lane] != 0) << lane;
                    self.predicate_origins[predicate][lane] = origins[lane];
                }
            }
        }
    }

    /// Some lanes of a register are defined from now on.
    fn clear(&mut self, place: Place, mask: u32) {
        if self.lanes(place) & mask != 0 {
            self.write(place, mask, &[0; LANES], &[0; LANES]);
        }
    }
}

/// An instruction, a thread of the block, and whether the instruction read it from memory, in one number.
fn origin(step: usize, thread: usize, memory: bool) -> Origin {
    let number = step.checked_mul(2048).map(|number| number + 2 * thread + usize::from(memory));
    number.and_then(|number| Origin::try_from(number + 1).ok()).unwrap_or(Origin::MAX)
}

/// The error of something undefined that matters in a lane of a warp.
fn fault(
    running: &Running<'_>,
    (warp, lane): (usize, usize),
    what: &str,
    stored: bool,
    origin: Origin,
) -> Fault {
    if let Some(Following { found, .. }) = &running.undefined {
        let one = if stored { &found.stored } else { &found.decided };
        one.store(true, Relaxed);
    }
    Fault::new(
        lane,
        format!("{what} depends on what was never written: {}", cause(running, warp, lane, origin)),
    )
}

/// Where something undefined came from.
fn cause(running: &Running<'_>, warp: usize, lane: usize, origin: Origin) -> String {
    let kernel = running.kernel;
    if origin == 0 || origin == Origin::MAX {
        return "something was not written".to_owned();
    }
    let (step, thread) = ((origin - 1) as usize / 2048, (origin - 1) as usize / 2 % 1024);
    let line = kernel.steps[step].line;
    let cause = match (origin - 1) % 2 {
        1 => format!("line {line} reads memory that was not written"),
        _ => {
            let reads = kernel.effects.get(step).map_or(&[][..], |effects| &effects.reads);
            let name = |id: &u32| kernel.registers[*id as usize].name.as_str();
            let unwritten = |name: &&str| kernel.unwritten.iter().any(|(known, _)| known == name);
            let name = reads.iter().map(name).find(unwritten).unwrap_or("?");
            format!("register '{name}', which line {line} reads, may not have been written")
        }
    };
    if thread == warp * LANES + lane {
        return cause;
    }
    let [x, y, _] = running.block.map(|size| size as usize);
    format!("{cause}, in thread ({}, {}, {})", thread % x, thread / x % y, thread / x / y)
}
