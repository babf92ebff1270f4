//! Who has touched which bytes of a buffer.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::clocks::{Agent, By, KINDS, Kind};
use crate::lanes::each;
use crate::program::Scope;

/// Words of a piece of a shadow.
const PIECE: usize = 4096;

/// Blocks that touched one word are remembered up to that many, where blocks can order each other.
const MOST_BLOCKS: usize = 64;

/// The touches of each word of a buffer; pieces exist where there was one.
pub(super) struct Shadow(Box<[OnceLock<Mutex<Piece>>]>);

#[derive(Default)]
struct Piece {
    /// The last touch of each kind of each word, packed; empty where there was none.
    last: [Box<[u64]>; KINDS],
    /// Earlier ones that still matter: strong ones of the widest scope apart, with which only weak ones and those of less scope race.
    more: [HashMap<usize, Vec<(Kind, Touch)>>; 2],
    /// Strong reads that have seen the last strong write to a word: what comes after one of them comes after such writes.
    seen: HashMap<usize, Vec<Touch>>,
}

/// An access to some bytes of a word.
#[derive(Clone, Copy)]
struct Touch {
    time: u32,
    agent: Agent,
    bytes: u8,
}

/// Strong writes.
pub(super) const STRONG: &[Kind] = &[Kind::Strong, Kind::StrongInCluster, Kind::StrongInBlock];

/// All writes.
pub(super) const WRITES: &[Kind] = &[Kind::Write, Kind::Strong, Kind::StrongInCluster, Kind::StrongInBlock];

/// All accesses, weak ones first.
pub(super) const ALL: &[Kind] = &[
    Kind::Write,
    Kind::Read,
    Kind::Strong,
    Kind::StrongInCluster,
    Kind::StrongInBlock,
    Kind::StrongRead,
    Kind::StrongReadInCluster,
    Kind::StrongReadInBlock,
];

/// What an access meets and leaves.
#[derive(Clone, Copy)]
pub(super) struct Check {
    /// Accesses that it races with, of any warp or block.
    pub(super) all: &'static [Kind],
    /// Strong ones that it races with where the scope of either lacks the other.
    pub(super) strong: &'static [Kind],
    /// Its own scope.
    pub(super) scope: Scope,
    /// The mark that it leaves.
    pub(super) leaves: Kind,
    /// Whether it knows of all earlier accesses that left such a mark.
    pub(super) follows: bool,
}

impl Touch {
    /// 26 bits of time, 27 of the cluster, 7 of the warp, 4 of bytes.
    #[inline(always)]
    fn pack(self) -> u64 {
        let time = u64::from(self.time.min((1 << 26) - 1));
        time << 38 | u64::from(self.agent.0) << 11 | u64::from(self.agent.1) << 4 | u64::from(self.bytes)
    }

    #[inline(always)]
    fn unpack(bits: u64) -> Touch {
        let agent = ((bits >> 11) as u32 & ((1 << 27) - 1), (bits >> 4) as u8 & 127);
        Touch { time: (bits >> 38) as u32, agent, bytes: bits as u8 & 15 }
    }

    /// Whether it is ordered before what a warp does now.
    #[inline(always)]
    fn is_known(self, by: By<'_>) -> bool {
        by.clocks.knows_agent(by.warp, self.agent, self.time)
    }
}

impl Shadow {
    pub(super) fn new(words: usize) -> Shadow {
        Shadow((0..words.div_ceil(PIECE)).map(|_| OnceLock::new()).collect())
    }

    /// Whether there is memory for the marks of all words.
    pub(super) fn fits(&self) -> bool {
        let marks = KINDS * PIECE * self.0.len();
        Vec::<u64>::new().try_reserve_exact(marks).is_ok()
    }

    fn piece(&self, number: usize) -> MutexGuard<'_, Piece> {
        let piece = self.0[number].get_or_init(Mutex::default);
        piece.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes an access; `check` says what each lane races with, and what mark it leaves. Of each lane the first access that is not
    /// ordered before it is given to `found`, which says whether to go on.
    #[inline(always)]
    pub(super) fn note<E>(
        &self,
        lanes: (u32, impl Fn(usize) -> u64, u8),
        by: By<'_>,
        orders_blocks: bool,
        check: impl Fn(usize) -> Check,
        mut found: impl FnMut(usize, (Kind, Agent), bool) -> Result<(), E>,
    ) -> Result<(), E> {
        let (mask, offset, bytes) = lanes;
        let now = by.now;
        let mut held: Option<(usize, MutexGuard<'_, Piece>)> = None;
        for lane in each(mask) {
            let offset = offset(lane);
            let first = offset as usize / 4;
            let number = first / PIECE;
            if held.as_ref().is_none_or(|(held, _)| *held != number) {
                drop(held.take());
                held = Some((number, self.piece(number)));
            }
            let Some((_, piece)) = &mut held else { continue };
            let touched = match bytes {
                1 => 1 << (offset % 4),
                2 => 3 << (offset % 4),
                _ => 15,
            };
            let check = check(lane);
            let words = first % PIECE..first % PIECE + usize::from(bytes).div_ceil(4);
            let new = Touch { time: now, agent: (by.clocks.cluster, by.warp), bytes: touched };
            let mut other = None;
            for word in words.clone() {
                other = other.or_else(|| piece.racer(word, &check, new, by));
            }
            if let Some((other, is_seen)) = other {
                found(lane, other, is_seen)?;
            }
            words.for_each(|word| {
                let follows = piece.see(word, &check, new, by);
                piece.touch(word, (check.leaves, follows), new, by, orders_blocks);
            });
        }
        Ok(())
    }
}

impl Piece {
    /// The first access that a new one races with, and whether it is a write of the own block that a strong read has seen by
    /// chance: of warps in another order it might not have.
    #[inline(always)]
    fn racer(&self, word: usize, check: &Check, new: Touch, by: By<'_>) -> Option<((Kind, Agent), bool)> {
        let found = self.unordered::<true>(word, check, new, by)?;
        // of strong accesses only scopes race
        let is_weak = check.strong.is_empty();
        if is_weak && STRONG.contains(&found.0) && self.has_seen(word, new, by) {
            let other = self.unordered::<false>(word, check, new, by).map(|other| (other, false));
            return other.or_else(|| (found.1.0 == new.agent.0).then_some((found, true)));
        }
        Some((found, false))
    }

    /// Whether a strong read that has seen the last strong write to a word is ordered before a new access.
    #[cold]
    fn has_seen(&self, word: usize, new: Touch, by: By<'_>) -> bool {
        let reads = self.seen.get(&word).into_iter().flatten();
        reads.into_iter().any(|read| new.bytes & !read.bytes == 0 && read.is_known(by))
    }

    /// Notes what an access has seen, or that what others have seen is no longer the last write. Whether it comes after all earlier
    /// strong writes.
    #[inline(always)]
    fn see(&mut self, word: usize, check: &Check, new: Touch, by: By<'_>) -> bool {
        match check.leaves {
            Kind::Read => false,
            Kind::StrongRead | Kind::StrongReadInCluster | Kind::StrongReadInBlock => {
                let writes = Check { all: STRONG, strong: &[], ..*check };
                if self.unordered::<true>(word, &writes, new, by).is_some() {
                    let reads = self.seen.entry(word).or_default();
                    reads.retain(|read| read.agent != new.agent);
                    reads.truncate(MOST_BLOCKS);
                    reads.push(new);
                }
                false
            }
            _ if self.seen.is_empty() => check.follows,
            _ => {
                let follows = check.follows || self.has_seen(word, new, by);
                self.seen.remove(&word);
                follows
            }
        }
    }

    /// The first access of some kinds that is not ordered before a new one; `STRONGLY`: strong writes too.
    #[inline(always)]
    fn unordered<const STRONGLY: bool>(
        &self,
        word: usize,
        check: &Check,
        new: Touch,
        by: By<'_>,
    ) -> Option<(Kind, Agent)> {
        let counts = |kind: &Kind| STRONGLY || !STRONG.contains(kind);
        let is_apart = |kind: Kind, old: Agent| {
            by.least_scope(old) > kind.scope().map_or(Scope::All, |scope| scope.min(check.scope))
        };
        for (kinds, of_all) in [(check.all, true), (check.strong, false)] {
            for kind in kinds.iter().filter(|kind| counts(kind)) {
                let bits = self.last[*kind as usize].get(word).copied().unwrap_or(0);
                if bits & u64::from(new.bytes) != 0 {
                    let old = Touch::unpack(bits);
                    if (of_all || is_apart(*kind, old.agent)) && !old.is_known(by) {
                        return Some((*kind, old.agent));
                    }
                }
            }
        }
        if self.more.iter().all(HashMap::is_empty) {
            return None;
        }
        // a strong one of the widest scope races with none of these
        let lists = if check.strong.is_empty() || check.scope != Scope::All { 2 } else { 1 };
        let mut others = self.more[..lists].iter().filter_map(|more| more.get(&word)).flatten();
        let races = |(kind, old): &&(Kind, Touch)| {
            let meets = check.all.contains(kind) || check.strong.contains(kind) && is_apart(*kind, old.agent);
            meets && counts(kind) && old.bytes & new.bytes != 0 && !old.is_known(by)
        };
        others.find(races).map(|(kind, old)| (*kind, old.agent))
    }

    #[inline(always)]
    fn touch(
        &mut self,
        word: usize,
        (kind, follows): (Kind, bool),
        new: Touch,
        by: By<'_>,
        orders_blocks: bool,
    ) {
        let last = &mut self.last[kind as usize];
        if last.is_empty() {
            *last = vec![0; PIECE].into();
        }
        let bits = last[word];
        let packed = new.pack();
        if bits == packed || bits == 0 {
            last[word] = packed;
            return;
        }
        if bits >> 4 == packed >> 4 {
            last[word] = bits | packed;
            return;
        }
        last[word] = packed;
        let old = Touch::unpack(bits);
        // an access that knows of an earlier one to the same bytes represents it
        if old.bytes & !new.bytes != 0 || !follows && !old.is_known(by) {
            self.keep(word, kind, (old, new), by, orders_blocks);
        }
    }

    /// Keeps an access in the list of a word.
    #[cold]
    fn keep(&mut self, word: usize, kind: Kind, (old, new): (Touch, Touch), by: By<'_>, orders_blocks: bool) {
        let list = self.more[usize::from(kind.scope() == Some(Scope::All))].entry(word).or_default();
        list.retain(|(of, known)| *of != kind || known.bytes & !new.bytes != 0 || !known.is_known(by));
        let mut alike = list
            .iter_mut()
            .filter(|(of, known)| *of == kind && known.agent == old.agent && known.time == old.time);
        if let Some((_, known)) = alike.next() {
            known.bytes |= old.bytes;
            return;
        }
        let is_foreign = |(of, known): &&(Kind, Touch)| {
            *of == kind && old.bytes & !known.bytes == 0 && known.agent.0 != new.agent.0
        };
        let others = list.iter().filter(is_foreign);
        // where blocks cannot order each other, two of them race with any third
        let enough = if orders_blocks { MOST_BLOCKS } else { 1 };
        if old.agent.0 == new.agent.0 || others.count() < enough {
            list.push((kind, old));
        }
    }
}
