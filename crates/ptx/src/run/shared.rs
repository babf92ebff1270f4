//! Shared memory of a block: bytes, and which warps touched which of them when.

use std::collections::{BTreeSet, HashMap};

use super::clocks::{By, Kind};
use super::cluster::Warps;
use super::fault::{Race, Where};
use super::global::is_aligned;
use crate::program::Scope;

/// The last accesses of one kind to a word, or to each word of a line alike: by some warps, at one time. Packed, as there are many.
#[derive(Clone, Copy, Default, PartialEq)]
#[repr(C, packed(4))]
struct Touch {
    time: u32,
    warps: Warps,
}

/// What is known of a word, or of each word of a line alike.
#[derive(Clone, Copy, Default, PartialEq)]
struct Mark {
    /// By kind.
    touches: [Touch; KINDS],
    /// The bytes that were touched.
    bytes: [u8; KINDS],
    /// Bytes that hold something.
    filled: u8,
    /// Bytes that a copy will write that nobody has waited for, and those of barrier objects.
    pending: u8,
    /// Bytes that a bulk copy reads that nobody has waited for; from bit 4 on those that a thread wrote, and no copy, and
    /// no `fence.proxy.async` is known to come after.
    read: u8,
    /// Whether the words of the line have marks of their own.
    is_split: bool,
    /// Whether there are other touches that matter still, in a list.
    has_more: bool,
}

/// A touch that found no place in its mark.
struct More {
    kind: Kind,
    touch: Touch,
    bytes: u8,
}

/// Bytes of a line: as many as one access has at most.
const LINE: usize = 16;

pub(crate) struct Shared {
    bytes: Vec<u8>,
    lines: Vec<Mark>,
    /// Those of the words of lines that are split.
    words: Vec<[Mark; LINE / 4]>,
    /// By the number of a word.
    more: HashMap<usize, Vec<More>>,
    /// For each line and warpgroup the group of asynchronous products that reads it last; empty without any.
    products: Vec<u32>,
    /// Warpgroups of the block.
    groups: usize,
    limit: u64,
    /// Lines that were touched, from the first on.
    used: usize,
    /// Where barrier objects are.
    objects: BTreeSet<usize>,
    /// How many `red.async` that nobody has waited for change a value, by its address.
    reductions: HashMap<usize, usize>,
    /// A read of bytes that nobody wrote.
    pub(crate) unwritten: Option<u64>,
}

impl Mark {
    /// Notes an access, which `follows` all earlier ones of its kind or not; whether a touch had to make room that matters still.
    #[inline(always)]
    fn touch(&mut self, (kind, follows): (Kind, bool), bytes: u8, by: By<'_>) -> Option<More> {
        let (touch, known) = (&mut self.touches[kind as usize], &mut self.bytes[kind as usize]);
        let now = by.now;
        let own = 1 << by.warp;
        if touch.time == now && (*known == bytes || touch.warps == own) {
            touch.warps |= own;
            *known |= bytes;
            return None;
        }
        let old = More { kind, touch: *touch, bytes: *known };
        let is_covered =
            by.is_old(touch.time) || *known & !bytes == 0 && (follows || touch.racer(by).is_none());
        *touch = Touch { time: now, warps: own };
        *known = bytes;
        (!is_covered).then_some(old)
    }

    /// A warp whose access of some kind to some bytes is not ordered before this one.
    #[inline(always)]
    fn racer(&self, kind: Kind, bytes: u8, by: By<'_>) -> Option<u8> {
        let touch = *self.touches.get(kind as usize)?;
        if by.is_old(touch.time) || touch.warps == 1 << by.warp || self.bytes[kind as usize] & bytes == 0 {
            return None;
        }
        touch.racer(by)
    }
}

impl Touch {
    fn racer(self, by: By<'_>) -> Option<u8> {
        let time = self.time;
        self.each().map(|warp| warp as u8).find(|warp| !by.clocks.knows(by.warp, *warp, time))
    }

    /// The warps, from the lowest on.
    #[inline(always)]
    fn each(self) -> impl Iterator<Item = usize> {
        let mut rest = self.warps;
        std::iter::from_fn(move || {
            (rest != 0).then(|| {
                let warp = rest.trailing_zeros() as usize;
                rest &= rest - 1;
                warp
            })
        })
    }
}

/// What a weak write races with; without the first three, what a weak read does.
const WEAK: &[Kind; 6] =
    &[Kind::StrongRead, Kind::StrongReadInBlock, Kind::Read, Kind::Write, Kind::Strong, Kind::StrongInBlock];

/// Kinds of accesses that a mark has. Strong reads are few, and in the list; so are strong writes of the scope of a block where a
/// cluster has several.
const KINDS: usize = 3;

/// A conflict in a word: with whom, by what kind of access; nobody if it is with a copy.
type Conflict = Option<(u8, Kind)>;

impl Shared {
    pub(crate) fn new(limit: u64) -> Shared {
        Shared {
            bytes: vec![],
            lines: vec![],
            words: vec![],
            more: HashMap::new(),
            products: vec![],
            groups: 0,
            limit,
            used: 0,
            objects: BTreeSet::new(),
            reductions: HashMap::new(),
            unwritten: None,
        }
    }

    /// For the next block.
    pub(crate) fn reset(&mut self) {
        self.lines[..self.used].fill(Mark::default());
        self.bytes[..LINE * self.used].fill(0);
        self.more.clear();
        self.products.clear();
        self.objects.clear();
        self.reductions.clear();
        (self.used, self.unwritten) = (0, None);
    }

    /// The offset of an access that lies inside and is aligned.
    #[inline(always)]
    pub(crate) fn checked(&mut self, address: u64, bytes: u64, verb: &str) -> Result<usize, String> {
        let inside = address.checked_add(bytes).is_some_and(|end| end <= self.limit);
        if !inside || !is_aligned(address, bytes) {
            return Err(self.wrong(address, bytes, verb));
        }
        let lines = (address + bytes).div_ceil(LINE as u64) as usize;
        if lines > self.used {
            self.grow(lines);
        }
        Ok(address as usize)
    }

    /// Why an access is an error.
    #[cold]
    fn wrong(&self, address: u64, bytes: u64, verb: &str) -> String {
        let at = format!("{verb} {bytes} bytes at {address:#x} of shared memory, which");
        match address.checked_add(bytes).is_none_or(|end| end > self.limit) {
            true => format!("{at} has {} bytes", self.limit),
            false => format!("{at} is not a multiple of {bytes}"),
        }
    }

    /// Makes so many lines there.
    #[cold]
    fn grow(&mut self, lines: usize) {
        self.used = lines;
        if lines > self.lines.len() {
            let lines = lines.next_power_of_two().max(256);
            self.lines.resize(lines, Mark::default());
            self.words.resize(lines, Default::default());
            self.bytes.resize(LINE * lines, 0);
            if !self.products.is_empty() {
                self.products.resize(lines * self.groups, 0);
            }
        }
    }

    /// Does something with the marks of all words of an access, the bytes of each that it touches, and the numbers of the words that
    /// share the mark.
    #[inline(always)]
    fn each_mark(
        (lines, words): (&mut [Mark], &mut [[Mark; LINE / 4]]),
        (at, bytes): (usize, usize),
        mut work: impl FnMut(&mut Mark, u8, (usize, usize)),
    ) {
        for line in at / LINE..(at + bytes).div_ceil(LINE) {
            let mark = &mut lines[line];
            let number = line * (LINE / 4);
            if bytes >= LINE && !mark.is_split {
                work(mark, 15, (number, LINE / 4));
                continue;
            }
            let words = &mut words[line];
            if !mark.is_split {
                *words = [*mark; LINE / 4];
                mark.is_split = true;
            }
            if bytes >= LINE {
                for (index, word) in words.iter_mut().enumerate() {
                    work(word, 15, (number + index, 1));
                }
                if words[1..].iter().all(|word| *word == words[0]) {
                    *mark = words[0];
                    mark.is_split = false;
                }
            } else {
                let first = at % LINE / 4;
                for (index, word) in words[first..first + bytes.div_ceil(4)].iter_mut().enumerate() {
                    work(word, touched(at, bytes), (number + first + index, 1));
                }
            }
        }
    }

    #[inline(always)]
    pub(crate) fn get(&self, at: usize, bytes: u8) -> u64 {
        match bytes {
            1 => self.bytes[at].into(),
            2 => u16::from_le_bytes([self.bytes[at], self.bytes[at + 1]]).into(),
            4 => u32::from_le_bytes(self.array(at)).into(),
            _ => u64::from_le_bytes(self.array(at)),
        }
    }

    #[inline(always)]
    pub(crate) fn array<const N: usize>(&self, at: usize) -> [u8; N] {
        *self.bytes[at..].first_chunk().expect("accesses are checked")
    }

    #[inline(always)]
    pub(crate) fn put(&mut self, at: usize, bytes: u8, value: u64) {
        match bytes {
            1 => self.bytes[at] = value as u8,
            2 => self.put_array(at, (value as u16).to_le_bytes()),
            4 => self.put_array(at, (value as u32).to_le_bytes()),
            _ => self.put_array(at, value.to_le_bytes()),
        }
    }

    pub(super) fn bytes(&self, at: usize, count: usize) -> &[u8] {
        &self.bytes[at..at + count]
    }

    pub(super) fn put_bytes(&mut self, at: usize, bytes: &[u8]) {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    #[inline(always)]
    pub(crate) fn put_array<const N: usize>(&mut self, at: usize, array: [u8; N]) {
        *self.bytes[at..].first_chunk_mut().expect("accesses are checked") = array;
    }

    /// Notes a read of an aligned access by a warp; a strong one may meet strong writes. `marks`: whether writes that follow race
    /// with it.
    #[inline(always)]
    pub(super) fn note_read(
        &mut self,
        at: usize,
        bytes: usize,
        (strong, marks): (bool, bool),
        by: By<'_>,
    ) -> Result<(), Race> {
        self.reads((at, bytes), (strong, marks), None, by)
    }

    /// The same; `does`: it is one of the async proxy, which sees what a warp wrote after a `fence.proxy.async` only.
    #[inline(always)]
    fn reads(
        &mut self,
        (at, bytes): (usize, usize),
        (strong, marks): (bool, bool),
        does: Option<&str>,
        by: By<'_>,
    ) -> Result<(), Race> {
        let mut all_filled = true;
        let (mut conflict, mut unfenced): (Option<Conflict>, _) = (None, None);
        let more = &mut self.more;
        Shared::each_mark((&mut self.lines, &mut self.words), (at, bytes), |mark, touched, words| {
            all_filled &= mark.filled & touched == touched;
            if mark.pending & touched != 0 {
                conflict = Some(None);
            }
            let kinds: &[Kind] = if strong { &[Kind::Write] } else { &WEAK[3..] };
            let apart = || find_apart(mark, (strong, &WEAK[4..]), touched, by, more, words);
            if let Some(found) = find(mark, kinds, touched, by, more, words).or_else(apart) {
                conflict.get_or_insert(Some(found));
            }
            if marks {
                let kind = match strong {
                    true if by.in_block => Kind::StrongReadInBlock,
                    true => Kind::StrongRead,
                    false => Kind::Read,
                };
                keep(mark, (kind, false), touched, by, more, words);
            }
            if does.is_some() && mark.read >> 4 & touched != 0 {
                let touches = [mark.touches[Kind::Write as usize], mark.touches[Kind::Strong as usize]];
                let is_late = |warp: &usize, time| !by.clocks.is_fenced_for_async(*warp, time);
                let late = |touch: Touch| touch.each().find(|warp| is_late(warp, touch.time));
                match touches.into_iter().find_map(late) {
                    // it is seen until the next write
                    None => mark.read &= !(touched << 4),
                    late => unfenced = late,
                }
            }
        });
        if !all_filled {
            self.unwritten.get_or_insert(at as u64);
        }
        match (conflict, does.zip(unfenced)) {
            (Some(conflict), _) => Err(self.refused((at, bytes), "reads", conflict, by)),
            (None, Some((does, warp))) => Err(Race::without_other(format!(
                "{does} shared memory at {at:#x}, which warp {} wrote: there is no fence.proxy.async between them",
                warp % by.clocks.stride
            ))),
            (None, None) => Ok(()),
        }
    }

    /// The race of a first guess with an atomic operation of another warp, though both count as strong.
    pub(super) fn race_of_guess(&self, place: (usize, usize), warp: u8, by: By<'_>) -> Race {
        self.refused(place, "reads", Some((warp, Kind::Strong)), by)
    }

    /// Notes a write of an aligned access by a warp: its kind, and whether it comes after all such ones. Warps may write what is there already (`same`): compilers let several
    /// warps store one value.
    #[inline(always)]
    pub(super) fn note_write(
        &mut self,
        at: usize,
        bytes: usize,
        (kind, follows): (Kind, bool),
        by: By<'_>,
        same: impl Fn(&Shared) -> bool,
    ) -> Result<(), Race> {
        self.writes((at, bytes), (kind, follows, false), by, same)
    }

    /// Notes that what a copy, or a `red.async`, has brought, and a warp waited for, is written; an error if another wrote something else.
    #[inline(always)]
    pub(super) fn land(
        &mut self,
        at: usize,
        bytes: usize,
        kind: Kind,
        by: By<'_>,
        same: impl Fn(&Shared) -> bool,
    ) -> Result<(), Race> {
        self.writes((at, bytes), (kind, false, true), by, same)
    }

    /// A `red.async` may change what others that are in flight change, too.
    pub(super) fn will_reduce(&mut self, at: usize, bytes: usize) {
        if self.reductions.contains_key(&at) {
            self.set_pending(at, bytes, false);
        }
    }

    /// It has: from now on the value is not there for those that have not waited for it.
    pub(super) fn reduces(&mut self, at: usize, bytes: usize) {
        *self.reductions.entry(at).or_default() += 1;
        self.set_pending(at, bytes, true);
    }

    /// One was waited for.
    pub(super) fn reduced(&mut self, at: usize, bytes: usize) {
        let left = self.reductions.get(&at).map_or(0, |count| count - 1);
        if left == 0 {
            self.reductions.remove(&at);
        } else {
            self.reductions.insert(at, left);
            self.set_pending(at, bytes, true);
        }
    }

    fn set_pending(&mut self, at: usize, bytes: usize, is_pending: bool) {
        let marks = (self.lines.as_mut_slice(), self.words.as_mut_slice());
        Shared::each_mark(marks, (at, bytes), |mark, touched, _| match is_pending {
            true => mark.pending |= touched,
            false => mark.pending &= !touched,
        });
    }

    /// Nobody knows what some bytes hold.
    pub(super) fn undefine(&mut self, at: usize, bytes: usize) {
        let marks = (self.lines.as_mut_slice(), self.words.as_mut_slice());
        Shared::each_mark(marks, (at, bytes), |mark, touched, _| mark.filled &= !touched);
    }

    /// The same; `lands`: it is a copy's.
    #[inline(always)]
    fn writes(
        &mut self,
        (at, bytes): (usize, usize),
        (kind, follows, lands): (Kind, bool, bool),
        by: By<'_>,
        same: impl Fn(&Shared) -> bool,
    ) -> Result<(), Race> {
        let mut conflict: Option<Conflict> = None;
        let (mut is_filled, mut is_read) = (true, false);
        let more = &mut self.more;
        Shared::each_mark((&mut self.lines, &mut self.words), (at, bytes), |mark, touched, words| {
            mark.read |= touched << 4;
            if lands {
                mark.pending &= !touched;
                mark.read &= !(touched << 4);
            } else if mark.pending & touched != 0 {
                conflict = Some(None);
            }
            let kinds: &[Kind] = match kind {
                Kind::Strong => &[Kind::Write, Kind::Read],
                _ => WEAK,
            };
            let strong = kind == Kind::Strong;
            let apart = || find_apart(mark, (strong, APART), touched, by, more, words);
            if let Some(found) = find(mark, kinds, touched, by, more, words).or_else(apart) {
                conflict.get_or_insert(Some(found));
            }
            is_filled &= mark.filled & touched == touched;
            is_read |= mark.read & touched != 0;
            mark.filled |= touched;
            let kind = if strong && by.in_block { Kind::StrongInBlock } else { kind };
            keep(mark, (kind, follows), touched, by, more, words);
        });
        match conflict {
            Some(None) => Err(self.refused((at, bytes), "writes", None, by)),
            Some(conflict) if !is_filled || !same(self) => {
                Err(self.refused((at, bytes), "writes", conflict, by))
            }
            // a copy was checked when it started
            _ if lands => Ok(()),
            _ if is_read => Err(still_read(at)),
            _ => self.products_end(at, bytes, by),
        }
    }

    /// An error if a product reads bytes that a warp is to write, and that it does not know to be over.
    #[inline(always)]
    fn products_end(&self, at: usize, bytes: usize, by: By<'_>) -> Result<(), Race> {
        if self.products.is_empty() {
            return Ok(());
        }
        let ended = &by.clocks.products(by.warp)[..self.groups];
        let mut reads = false;
        for line in at / LINE..(at + bytes).div_ceil(LINE) {
            let numbers = &self.products[line * self.groups..][..self.groups];
            for (number, ended) in numbers.iter().zip(ended) {
                reads |= number > ended;
            }
        }
        match reads {
            false => Ok(()),
            true => Err(Race::without_other(format!(
                "writes shared memory at {at:#x}, which a matrix product reads that was not waited for"
            ))),
        }
    }

    /// Notes that asynchronous products of a warpgroup read 16 bytes or 8, in the group of that number; an error if what a warp reads is
    /// not written before, or without a `fence.proxy.async` between them.
    #[inline(always)]
    pub(super) fn note_product(
        &mut self,
        (at, bytes): (usize, usize),
        (group, number): (usize, u32),
        by: By<'_>,
    ) -> Result<(), Race> {
        if self.products.is_empty() {
            self.groups = by.clocks.groups();
            self.products.resize(self.lines.len() * self.groups, 0);
        }
        let of = &mut self.products[at / LINE * self.groups + group];
        *of = (*of).max(number);
        self.reads((at, bytes), (false, false), Some("reads"), by)
    }

    /// A bulk copy reads here until it is waited for. A read by a copy of a warp; an error if what was written comes after it, or without
    /// a `fence.proxy.async` between them.
    pub(super) fn note_copied(&mut self, at: usize, bytes: usize, by: By<'_>) -> Result<(), Race> {
        self.reads((at, bytes), (false, true), Some("copies"), by)?;
        self.start_reads(at, bytes);
        Ok(())
    }

    /// The same of a copy that was noted before.
    pub(super) fn start_reads(&mut self, at: usize, bytes: usize) {
        let marks = (self.lines.as_mut_slice(), self.words.as_mut_slice());
        Shared::each_mark(marks, (at, bytes), |mark, touched, _| mark.read |= touched);
    }

    pub(super) fn end_reads(&mut self, at: usize, bytes: usize) {
        let marks = (self.lines.as_mut_slice(), self.words.as_mut_slice());
        Shared::each_mark(marks, (at, bytes), |mark, touched, _| mark.read &= !touched);
    }

    /// From now on 8 bytes are a barrier object, which nothing else reads or writes; or no longer.
    pub(super) fn guard(&mut self, at: usize, is_object: bool) {
        let marks = (self.lines.as_mut_slice(), self.words.as_mut_slice());
        match is_object {
            true => {
                Shared::each_mark(marks, (at, 8), |mark, touched, _| mark.pending |= touched);
                self.objects.insert(at);
            }
            false => {
                if self.objects.remove(&at) {
                    Shared::each_mark(marks, (at, 8), |mark, touched, _| mark.pending &= !touched);
                }
            }
        }
    }

    /// Notes that a copy will write here; an error if others may still read or write there. `is_alone`: no other copy does either.
    #[inline(always)]
    pub(super) fn note_copy(
        &mut self,
        (at, bytes): (usize, usize),
        is_alone: bool,
        by: By<'_>,
    ) -> Result<(), Race> {
        let (mut conflict, mut is_read) = (None, false);
        let more = &self.more;
        Shared::each_mark((&mut self.lines, &mut self.words), (at, bytes), |mark, touched, words| {
            if is_alone && mark.pending & touched != 0 {
                conflict = Some(None);
            }
            mark.pending |= touched;
            is_read |= mark.read & touched != 0;
            if let Some(found) = find(mark, WEAK, touched, by, more, words) {
                conflict.get_or_insert(Some(found));
            }
        });
        match conflict {
            Some(found) => Err(self.refused((at, bytes), "copies to", found, by)),
            None if is_read => Err(still_read(at)),
            None => self.products_end(at, bytes, by),
        }
    }

    /// What a warp may not do to a word, because of another one.
    #[cold]
    fn refused(&self, (at, bytes): (usize, usize), does: &str, other: Conflict, by: By<'_>) -> Race {
        let place = format!("{does} shared memory at {at:#x}");
        match other {
            None => {
                let object = self.objects.range(at.saturating_sub(7)..at + bytes).next();
                Race::without_other(match object {
                    Some(object) => format!(
                        "{place}, where an mbarrier object is (at {object:#x}): mbarrier.inval must come first"
                    ),
                    None => format!("{place}, which a cp.async writes that was not waited for"),
                })
            }
            Some((warp, kind)) => {
                let verb = if kind.reads() { "reads" } else { "writes" };
                let stride = by.clocks.stride;
                let [rank, other] = [usize::from(by.warp) / stride, usize::from(warp) / stride];
                let number = usize::from(warp) % stride;
                let who = match rank == other {
                    true => format!("warp {number}"),
                    false => format!("warp {number} of block {other} of the cluster"),
                };
                let why = match by.in_block || kind.scope() == Some(Scope::Block) {
                    true if rank != other => "the scope of one of them is .cta, which has one block",
                    _ => "there is no barrier between them",
                };
                Race {
                    what: format!("{place}, which {who} {verb}: {why}"),
                    other: Some(Where {
                        writes: !kind.reads(),
                        agent: (by.clocks.cluster, warp),
                        address: crate::decode::decoder::SHARED_WINDOW + at as u64,
                        bytes: bytes as u64,
                    }),
                }
            }
        }
    }
}

/// The first access of some kinds that is not ordered before this one.
#[inline(always)]
fn find(
    mark: &Mark,
    kinds: &[Kind],
    bytes: u8,
    by: By<'_>,
    more: &HashMap<usize, Vec<More>>,
    words: (usize, usize),
) -> Option<(u8, Kind)> {
    if !mark.has_more && mark.touches.iter().all(|touch| by.is_old(touch.time)) {
        return None;
    }
    let found = kinds.iter().find_map(|kind| Some((mark.racer(*kind, bytes, by)?, *kind)));
    if found.is_some() || !mark.has_more {
        return found;
    }
    let others = (words.0..words.0 + words.1).filter_map(|word| more.get(&word)).flatten();
    others
        .filter(|other| kinds.contains(&other.kind) && other.bytes & bytes != 0)
        .find_map(|other| Some((other.touch.racer(by)?, other.kind)))
}

/// Strong accesses, the writes last.
const APART: &[Kind] = &[Kind::StrongRead, Kind::StrongReadInBlock, Kind::Strong, Kind::StrongInBlock];

/// The first strong access of some kinds by a warp of another block that is not ordered before a strong one, where the scope of
/// either is its block.
#[inline(always)]
fn find_apart(
    mark: &Mark,
    (strong, kinds): (bool, &[Kind]),
    bytes: u8,
    by: By<'_>,
    more: &HashMap<usize, Vec<More>>,
    words: (usize, usize),
) -> Option<(u8, Kind)> {
    if !strong || !by.clocks.has_others() {
        return None;
    }
    let others = by.others();
    let of = |kind: Kind, touch: Touch, touched: u8| {
        let is_apart = by.in_block || kind.scope() == Some(Scope::Block);
        let touch = Touch { warps: touch.warps & others, ..touch };
        (is_apart && kinds.contains(&kind) && touched & bytes != 0).then(|| touch.racer(by)).flatten()
    };
    let strong = Kind::Strong as usize;
    if let Some(warp) = of(Kind::Strong, mark.touches[strong], mark.bytes[strong]) {
        return Some((warp, Kind::Strong));
    }
    let mut all = (words.0..words.0 + words.1).filter_map(|word| more.get(&word)).flatten();
    all.find_map(|other| Some((of(other.kind, other.touch, other.bytes)?, other.kind)))
}

/// Notes an access in a mark, and puts what has no room there into the list of its words.
#[inline(always)]
fn keep(
    mark: &mut Mark,
    (kind, follows): (Kind, bool),
    bytes: u8,
    by: By<'_>,
    more: &mut HashMap<usize, Vec<More>>,
    words: (usize, usize),
) {
    let aside = match kind {
        Kind::StrongRead | Kind::StrongReadInBlock | Kind::StrongInBlock => {
            Some(More { kind, touch: Touch { time: by.now, warps: 1 << by.warp }, bytes })
        }
        _ => mark.touch((kind, follows), bytes, by),
    };
    if let Some(aside) = aside {
        mark.has_more = true;
        for word in words.0..words.0 + words.1 {
            let list = more.entry(word).or_default();
            // an access that knows of an earlier one to the same bytes represents it
            list.retain(|old| old.kind != kind || old.bytes & !bytes != 0 || old.touch.racer(by).is_some());
            put(list, &aside, by);
        }
    }
}

/// Adds a touch to a list, from which what is ordered before everything goes.
#[cold]
fn put(list: &mut Vec<More>, new: &More, by: By<'_>) {
    list.retain(|old| !by.is_old(old.touch.time));
    let is_alike = |old: &&mut More| old.kind == new.kind && old.touch.time == new.touch.time;
    let mut alike = list.iter_mut().filter(is_alike);
    if let Some(old) = alike.find(|old| old.bytes == new.bytes || old.touch.warps == new.touch.warps) {
        // either all did the same, or one did both
        old.bytes |= new.bytes;
        old.touch.warps |= new.touch.warps;
    } else {
        list.push(More { kind: new.kind, touch: new.touch, bytes: new.bytes });
    }
}

#[cold]
fn still_read(at: usize) -> Race {
    Race::without_other(format!(
        "writes shared memory at {at:#x}, which a bulk copy reads that was not waited for"
    ))
}

/// The bytes of a word that an access touches.
#[inline(always)]
fn touched(at: usize, bytes: usize) -> u8 {
    match bytes {
        1 => 1 << (at % 4),
        2 => 3 << (at % 4),
        _ => 15,
    }
}
