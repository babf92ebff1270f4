//! 32 lanes at a time.

pub(crate) use crate::matrix::LANES;
use crate::operand::{Address, Condition, Predicate, Slot, Wide, Word};

pub(crate) type Lanes = [u32; LANES];
pub(crate) type WideLanes = [u64; LANES];

#[inline(always)]
pub(crate) fn map1<A: Copy, D: Copy + Default>(a: &[A; LANES], f: impl Fn(A) -> D) -> [D; LANES] {
    let mut d = [D::default(); LANES];
    for lane in 0..LANES {
        d[lane] = f(a[lane]);
    }
    d
}

#[inline(always)]
pub(crate) fn map2<A: Copy, B: Copy, D: Copy + Default>(
    a: &[A; LANES],
    b: &[B; LANES],
    f: impl Fn(A, B) -> D,
) -> [D; LANES] {
    let mut d = [D::default(); LANES];
    for lane in 0..LANES {
        d[lane] = f(a[lane], b[lane]);
    }
    d
}

#[inline(always)]
pub(crate) fn map3<A: Copy, B: Copy, C: Copy, D: Copy + Default>(
    a: &[A; LANES],
    b: &[B; LANES],
    c: &[C; LANES],
    f: impl Fn(A, B, C) -> D,
) -> [D; LANES] {
    let mut d = [D::default(); LANES];
    for lane in 0..LANES {
        d[lane] = f(a[lane], b[lane], c[lane]);
    }
    d
}

/// One bit for each lane.
#[inline(always)]
pub(crate) fn test2<A: Copy, B: Copy>(a: &[A; LANES], b: &[B; LANES], f: impl Fn(A, B) -> bool) -> u32 {
    let mut bits = 0;
    for lane in 0..LANES {
        bits |= u32::from(f(a[lane], b[lane])) << lane;
    }
    bits
}

/// The lanes of a mask, from the lowest on.
#[inline(always)]
pub(crate) fn each(mask: u32) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        (rest != 0).then(|| {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            lane
        })
    })
}

/// The registers of a warp.
#[derive(Default)]
pub(crate) struct Registers {
    pub(crate) words: Vec<Lanes>,
    pub(crate) wides: Vec<WideLanes>,
    pub(crate) predicates: Vec<u32>,
}

impl Registers {
    #[inline(always)]
    pub(crate) fn word(&self, slot: Word) -> &Lanes {
        &self.words[slot.0 as usize]
    }

    #[inline(always)]
    pub(crate) fn wide(&self, slot: Wide) -> &WideLanes {
        &self.wides[slot.0 as usize]
    }

    #[inline(always)]
    pub(crate) fn set_word(&mut self, slot: Word, mask: u32, value: &Lanes) {
        put(&mut self.words[slot.0 as usize], mask, value);
    }

    #[inline(always)]
    pub(crate) fn set_wide(&mut self, slot: Wide, mask: u32, value: &WideLanes) {
        put(&mut self.wides[slot.0 as usize], mask, value);
    }

    #[inline(always)]
    pub(crate) fn set_predicate(&mut self, slot: Predicate, mask: u32, value: u32) {
        let old = &mut self.predicates[slot.0 as usize];
        *old = *old & !mask | value & mask;
    }

    #[inline(always)]
    pub(crate) fn condition(&self, condition: Condition) -> u32 {
        let bits = self.predicates[condition.predicate.0 as usize];
        if condition.negated { !bits } else { bits }
    }

    /// A register of any width, zero-extended.
    pub(crate) fn any(&self, slot: Slot) -> WideLanes {
        match slot {
            Slot::Word(word, _) => map1(self.word(word), u64::from),
            Slot::Wide(wide) => *self.wide(wide),
            Slot::Sink => [0; LANES],
        }
    }

    pub(crate) fn any_lane(&self, slot: Slot, lane: usize) -> u64 {
        match slot {
            Slot::Word(word, _) => self.word(word)[lane].into(),
            Slot::Wide(wide) => self.wide(wide)[lane],
            Slot::Sink => 0,
        }
    }

    /// Writes a register of any width; what is too wide is cut.
    pub(crate) fn set_any(&mut self, slot: Slot, mask: u32, value: &WideLanes) {
        match slot {
            Slot::Word(word, bits) => {
                let keep = u32::MAX >> (32 - bits);
                let value = map1(value, |value| value as u32 & keep);
                self.set_word(word, mask, &value);
            }
            Slot::Wide(wide) => self.set_wide(wide, mask, value),
            Slot::Sink => {}
        }
    }

    /// The addresses of an access.
    #[inline(always)]
    pub(crate) fn addresses(&self, address: Address) -> WideLanes {
        let offset = address.offset;
        match address.base {
            Slot::Wide(wide) => map1(self.wide(wide), |base| base.wrapping_add_signed(offset)),
            Slot::Word(word, _) => map1(self.word(word), |base| u64::from(base.wrapping_add(offset as u32))),
            Slot::Sink => [offset as u64; LANES],
        }
    }
}

#[inline(always)]
fn put<T: Copy>(old: &mut [T; LANES], mask: u32, value: &[T; LANES]) {
    if mask == u32::MAX {
        *old = *value;
        return;
    }
    for lane in 0..LANES {
        if mask >> lane & 1 == 1 {
            old[lane] = value[lane];
        }
    }
}
