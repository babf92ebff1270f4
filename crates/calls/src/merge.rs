//! FP32 sums of many numbers at once: promotion, and the merge of parts (rules 9, 15 to 19).
//!
//! The processor's additions are those of IEEE 754; every NaN becomes 7fffffff. [`crate::reference`] says the same
//! in whole numbers, and tests hold the two together.

use bitmma_engine::threads::prelude::*;

use crate::epilogue::Narrow;
use crate::fp32::{CHUNK, add};
use crate::plan::{First, Merge, MergeOrder, MergeType};

/// `sums[i] = sums[i] + others[i]` on all threads.
pub(crate) fn add_all(sums: &mut [u32], others: &[u32]) {
    change(sums, others, add);
}

/// `words[i] = operation(words[i], others[i])` on all threads.
pub(crate) fn change(words: &mut [u32], others: &[u32], operation: impl Fn(u32, u32) -> u32 + Sync) {
    words.par_chunks_mut(CHUNK).zip(others.par_chunks(CHUNK)).for_each(|(words, others)| {
        words.iter_mut().zip(others).for_each(|(word, &other)| *word = operation(*word, other));
    });
}

fn map(words: &mut [u32], operation: impl Fn(u32) -> u32 + Sync) {
    words.par_chunks_mut(CHUNK).for_each(|words| words.iter_mut().for_each(|word| *word = operation(*word)));
}

/// Parts that arrive one after the other and are merged as early as the order allows.
pub(crate) struct Merger<'m> {
    merge: &'m Merge,
    narrow: &'m Narrow,
    count: usize,
    seen: usize,
    total: Option<Vec<u32>>,
    /// Pairwise: parts that wait for their partner.
    slots: Vec<Vec<u32>>,
}

impl<'m> Merger<'m> {
    /// For `count` parts; `narrow` rounds into D's type.
    pub(crate) fn new(merge: &'m Merge, narrow: &'m Narrow, count: usize) -> Merger<'m> {
        Merger { merge, narrow, count, seen: 0, total: None, slots: Vec::new() }
    }

    /// Parts that are held at once, at most.
    pub(crate) fn held(merge: &Merge, count: usize) -> usize {
        match merge.order {
            MergeOrder::Pairwise => count.div_ceil(2) + 1,
            MergeOrder::None | MergeOrder::Serial => 2,
        }
    }

    /// Takes the next part.
    pub(crate) fn take(&mut self, mut part: Vec<u32>) {
        let index = self.seen;
        self.seen += 1;
        if self.merge.kind == MergeType::DPartials {
            map(&mut part, |word| self.narrow.through(word));
        }
        if self.merge.order == MergeOrder::Pairwise && self.count > 1 {
            // slot i holds p_i, then p_i + p_(i+h); the last part is alone
            let half = self.count.div_ceil(2);
            if index + 1 == self.count {
                self.total = Some(part);
            } else if index < half {
                self.slots.push(part);
            } else {
                add_all(&mut self.slots[index - half], &part);
            }
            return;
        }
        let in_d = self.merge.kind == MergeType::D;
        self.total = Some(match self.total.take() {
            None => {
                if self.merge.start == First::Zero {
                    map(&mut part, |word| add(0, word));
                }
                if in_d {
                    map(&mut part, |word| self.narrow.through(word));
                }
                part
            }
            Some(mut total) => {
                if in_d {
                    change(&mut total, &part, |total, part| self.narrow.through(add(total, part)));
                } else {
                    add_all(&mut total, &part);
                }
                total
            }
        });
    }

    /// The merged numbers, all parts having been taken; `None` without a part.
    pub(crate) fn finish(self) -> Option<Vec<u32>> {
        let mut total = self.total?;
        for slot in self.slots {
            add_all(&mut total, &slot);
        }
        Some(total)
    }
}
