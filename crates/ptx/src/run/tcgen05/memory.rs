//! Tensor memory of a block: words, who has allocated which columns, and who touched which of them when.
//!
//! Asynchronous operations happen where they start. Who looks at what they leave, or overwrites what they read, must know that they
//! are over: by `tcgen05.wait::ld` and `wait::st`, or by the barrier object of a `tcgen05.commit`.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::queue::Queue;
use crate::matrix::{Multiplier, WARPGROUP};
use crate::program::TensorKind;
use crate::run::clocks::{By, GROUPS};
use crate::run::undefined::Bytes;

pub(super) const LANES: usize = 128;
pub(super) const COLUMNS: usize = 512;
/// Lanes that have a mark together, in each column.
pub(super) const SHARING: usize = 16;

/// The time of what was not waited for.
const OPEN: u32 = u32::MAX;

/// Who wrote a part of a column last.
#[derive(Clone, Copy, Default)]
enum Written {
    #[default]
    Nobody,
    /// A warp, with `tcgen05.st`.
    Warp(u8, u32),
    /// An operation of a warpgroup, by its number.
    Operation(u8, u32),
}

#[derive(Clone, Default)]
struct Mark {
    written: Written,
    /// Lanes that hold something.
    filled: u16,
    /// Warps that read it, and when.
    loads: Vec<(u8, u32)>,
    /// The last operation of each warpgroup that reads it.
    read: [u32; GROUPS],
}

/// An asynchronous operation: its warpgroup, and its number there.
#[derive(Clone, Copy)]
pub(super) struct Operation {
    pub(super) group: usize,
    pub(super) number: u32,
}

#[derive(Default)]
pub(crate) struct TensorMemory {
    /// By column, then by lane.
    words: Vec<u32>,
    /// By column, then by lanes.
    marks: Vec<Mark>,
    allocated: Vec<Range<usize>>,
    pub(super) gave_up: bool,
    /// Operations that each warpgroup has started.
    started: [u32; GROUPS],
    /// Marks of what each warp loads, and stores, and has not waited for.
    open: HashMap<(usize, bool), Vec<usize>>,
    pub(super) queue: Option<Queue>,
    pub(super) multipliers: HashMap<(TensorKind, u32), Arc<Multiplier>>,
    pub(in crate::run) undefined: Bytes,
}

/// Lane and column of an address.
pub(super) fn place(address: u32) -> (usize, usize) {
    ((address >> 16) as usize, (address & 0xffff) as usize)
}

/// The number of the first byte of a word.
pub(in crate::run) fn byte(lane: usize, column: usize) -> usize {
    4 * (column * LANES + lane)
}

impl TensorMemory {
    /// For the next block; `follows`: what is undefined is followed.
    pub(in crate::run) fn reset(&mut self, follows: bool) {
        if self.marks.is_empty() {
            return;
        }
        self.marks.fill(Mark::default());
        self.allocated.clear();
        (self.gave_up, self.started, self.queue) = (false, [0; GROUPS], None);
        self.open.clear();
        if follows {
            self.undefined.reset();
        }
    }

    /// Allocates columns: the first of them.
    pub(super) fn allocate(&mut self, count: u32, follows: bool) -> Result<usize, String> {
        let count = count as usize;
        if !(32..=COLUMNS).contains(&count) || !count.is_power_of_two() {
            return Err(format!(
                "allocates {count} columns of tensor memory: 32, 64, 128, 256 or 512 can be"
            ));
        }
        if self.gave_up {
            return Err("allocates tensor memory after tcgen05.relinquish_alloc_permit".to_owned());
        }
        if self.marks.is_empty() {
            self.marks = vec![Mark::default(); COLUMNS * (LANES / SHARING)];
            self.words = vec![0; COLUMNS * LANES];
        }
        if follows && self.undefined.is_empty() {
            self.undefined = Bytes::undefined(4 * COLUMNS * LANES);
        }
        let is_free = |first: &usize| {
            self.allocated.iter().all(|taken| taken.end <= *first || first + count <= taken.start)
        };
        match (0..COLUMNS).step_by(count).find(is_free) {
            Some(first) => {
                self.allocated.push(first..first + count);
                Ok(first)
            }
            None => Err(format!(
                "waits for {count} columns of tensor memory, which nobody frees: the block has {} of {COLUMNS}",
                self.allocated.iter().map(Range::len).sum::<usize>()
            )),
        }
    }

    pub(super) fn free(&mut self, first: usize, count: u32, by: By<'_>) -> Result<(), String> {
        let all = first..first + count as usize;
        let Some(known) = self.allocated.iter().position(|one| *one == all) else {
            return Err(format!(
                "frees {count} columns of tensor memory from {first} on, which were not allocated so"
            ));
        };
        for column in all {
            for mark in &mut self.marks[column * (LANES / SHARING)..][..LANES / SHARING] {
                let does = format!("frees column {column} of tensor memory");
                mark.is_written(by, &does, None)?;
                mark.is_read(by, &does, None)?;
                *mark = Mark::default();
            }
            (0..LANES).for_each(|lane| self.undefined.put(byte(lane, column), 4, u64::MAX, 0));
        }
        self.allocated.swap_remove(known);
        Ok(())
    }

    /// Columns that were not freed.
    pub(in crate::run) fn left(&self) -> usize {
        self.allocated.iter().map(Range::len).sum()
    }

    /// An error if columns were not allocated.
    pub(super) fn check(&self, columns: Range<usize>) -> Result<(), String> {
        let mut outside = columns.clone().filter(|at| !self.allocated.iter().any(|one| one.contains(at)));
        match outside.next() {
            None => Ok(()),
            Some(column) => Err(format!("column {column} of tensor memory is not allocated")),
        }
    }

    pub(super) fn word(&self, lane: usize, column: usize) -> u32 {
        self.words[column * LANES + lane]
    }

    pub(super) fn put(&mut self, lane: usize, column: usize, value: u32) {
        self.words[column * LANES + lane] = value;
    }

    fn mark(&mut self, lane: usize, column: usize) -> (&mut Mark, usize, u16) {
        let at = column * (LANES / SHARING) + lane / SHARING;
        (&mut self.marks[at], at, 1 << (lane % SHARING))
    }

    /// Notes that a warp loads a word; whether it holds something.
    pub(super) fn note_load(&mut self, lane: usize, column: usize, by: By<'_>) -> Result<bool, String> {
        let (mark, at, own) = self.mark(lane, column);
        let filled = mark.filled & own != 0;
        if mark.loads.iter().all(|load| *load != (by.warp, OPEN)) {
            mark.is_written(by, &format!("loads column {column} of tensor memory"), None)?;
            mark.loads.retain(|(warp, _)| *warp != by.warp);
            mark.loads.push((by.warp, OPEN));
            self.open.entry((by.warp.into(), false)).or_default().push(at);
        }
        Ok(filled)
    }

    /// Notes that a warp stores a word.
    pub(super) fn note_store(&mut self, lane: usize, column: usize, by: By<'_>) -> Result<(), String> {
        let (mark, at, own) = self.mark(lane, column);
        mark.filled |= own;
        if !matches!(mark.written, Written::Warp(warp, OPEN) if warp == by.warp) || !mark.loads.is_empty() {
            let does = format!("stores to column {column} of tensor memory");
            if !matches!(mark.written, Written::Warp(warp, _) if warp == by.warp) {
                mark.is_written(by, &does, None)?;
            }
            mark.is_read(by, &does, None)?;
            mark.loads.clear();
            mark.written = Written::Warp(by.warp, OPEN);
            self.open.entry((by.warp.into(), true)).or_default().push(at);
        }
        Ok(())
    }

    /// A warp has waited for its loads, or with `stores` for its stores.
    pub(super) fn wait(&mut self, stores: bool, by: By<'_>) {
        for at in self.open.remove(&(by.warp.into(), stores)).unwrap_or_default() {
            let mark = &mut self.marks[at];
            match &mut mark.written {
                Written::Warp(warp, time) if stores && *warp == by.warp => *time = by.now,
                _ => {}
            }
            for (warp, time) in mark.loads.iter_mut().filter(|_| !stores) {
                if *warp == by.warp {
                    *time = by.now;
                }
            }
        }
    }

    /// The next asynchronous operation of a warp.
    pub(super) fn start(&mut self, by: By<'_>) -> Operation {
        let group = usize::from(by.warp) / WARPGROUP;
        self.started[group] += 1;
        Operation { group, number: self.started[group] }
    }

    /// The last one that its warpgroup has started.
    pub(super) fn last(&self, warp: u8) -> (usize, u32) {
        let group = usize::from(warp) / WARPGROUP;
        (group, self.started[group])
    }

    /// Notes that an operation reads words of lanes that have a mark together, from such a lane on; whether all hold something.
    pub(super) fn note_read(
        &mut self,
        (lane, column): (usize, usize),
        lanes: u16,
        operation: Operation,
        by: By<'_>,
    ) -> Result<bool, String> {
        let (mark, ..) = self.mark(lane, column);
        if mark.read[operation.group] != operation.number {
            mark.is_written(by, &format!("reads column {column} of tensor memory"), Some(operation))?;
            mark.read[operation.group] = operation.number;
        }
        Ok(mark.filled & lanes == lanes)
    }

    /// Notes that an operation writes such words.
    pub(super) fn note_write(
        &mut self,
        (lane, column): (usize, usize),
        lanes: u16,
        operation: Operation,
        by: By<'_>,
    ) -> Result<(), String> {
        let (mark, ..) = self.mark(lane, column);
        mark.filled |= lanes;
        let is_known = matches!(mark.written, Written::Operation(group, number)
            if (usize::from(group), number) == (operation.group, operation.number));
        if !is_known {
            let does = format!("writes column {column} of tensor memory");
            mark.is_written(by, &does, Some(operation))?;
            mark.is_read(by, &does, Some(operation))?;
            mark.loads.clear();
            mark.written = Written::Operation(operation.group as u8, operation.number);
        }
        Ok(())
    }
}

impl Mark {
    /// An error if what was written is not there for a warp, or for an operation that it starts.
    fn is_written(&self, by: By<'_>, does: &str, operation: Option<Operation>) -> Result<(), String> {
        match self.written {
            Written::Warp(warp, OPEN) => {
                Err(format!("{does}, which warp {warp} stores to: tcgen05.wait::st is missing before"))
            }
            Written::Warp(warp, time) if !by.clocks.knows(by.warp, warp, time) => {
                Err(format!("{does}, which warp {warp} stores to: there is no barrier between them"))
            }
            Written::Operation(group, number) => {
                self.is_over(by, does, (group.into(), number), operation, "writes")
            }
            _ => Ok(()),
        }
    }

    /// An error if a warp may still read what is about to be written.
    fn is_read(&self, by: By<'_>, does: &str, operation: Option<Operation>) -> Result<(), String> {
        for (warp, time) in &self.loads {
            if *time == OPEN {
                return Err(format!("{does}, which warp {warp} loads: tcgen05.wait::ld is missing before"));
            }
            if !by.clocks.knows(by.warp, *warp, *time) {
                return Err(format!("{does}, which warp {warp} loads: there is no barrier between them"));
            }
        }
        let all = self.read.iter().copied().enumerate().filter(|(_, number)| *number > 0);
        all.into_iter().try_for_each(|one| self.is_over(by, does, one, operation, "reads"))
    }

    /// An error if an operation may not be over. Those of one warpgroup come one after the other.
    fn is_over(
        &self,
        by: By<'_>,
        does: &str,
        (group, number): (usize, u32),
        operation: Option<Operation>,
        verb: &str,
    ) -> Result<(), String> {
        let follows = operation.is_some_and(|operation| operation.group == group);
        match follows || by.clocks.products(by.warp)[group] >= number {
            true => Ok(()),
            false => Err(format!("{does}, which an operation of tcgen05 {verb} that was not waited for")),
        }
    }
}
