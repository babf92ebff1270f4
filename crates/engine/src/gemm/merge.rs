//! Parts that become one number (rules 15 to 19).

use bitmma_formats::Format;
use bitmma_kernel::{Codes, Word};

use super::codes::{combine, convert, each};
use super::convert::{Converter, OutputConversion};
use super::schedule::{First, Merge, MergeOrder, MergeType};
use crate::error::Error;

/// A number in W rounded to D's type and lifted back.
pub(super) struct Through {
    there: Converter,
    back: Converter,
}

impl Through {
    /// By way of `d`, for about `count` numbers; overflow is infinity.
    pub(super) fn new(working: Format, d: Format, count: usize) -> Through {
        Through {
            there: Converter::new(working, OutputConversion::nearest(d), None, count),
            back: Converter::new(d, OutputConversion::nearest(working), None, count),
        }
    }

    fn apply(&self, words: &mut Codes) -> Result<(), Error> {
        let codes = convert(words, &self.there)?;
        *words = convert(&codes, &self.back)?;
        Ok(())
    }
}

/// Parts that are held at once, at most.
pub(super) fn held(merge: &Merge, count: usize) -> usize {
    match merge.order {
        MergeOrder::Pairwise => count.div_ceil(2) + 1,
        MergeOrder::None | MergeOrder::Serial => 2,
    }
}

/// Parts that arrive one after the other and are merged as early as the order allows.
pub(super) struct Merger<'m> {
    merge: &'m Merge,
    through: Option<&'m Through>,
    count: usize,
    seen: usize,
    total: Option<Codes>,
    /// Pairwise: parts that wait for their partner.
    slots: Vec<Codes>,
}

impl<'m> Merger<'m> {
    /// For `count` parts; `through` rounds to D's type.
    pub(super) fn new(merge: &'m Merge, through: Option<&'m Through>, count: usize) -> Merger<'m> {
        Merger { merge, through, count, seen: 0, total: None, slots: Vec::new() }
    }

    fn rounded(&self, words: &mut Codes) -> Result<(), Error> {
        self.through.map_or(Ok(()), |through| through.apply(words))
    }

    /// Takes the next part.
    pub(super) fn take<W: Word>(&mut self, mut part: Codes) -> Result<(), Error> {
        let index = self.seen;
        self.seen += 1;
        if self.merge.kind == MergeType::DPartials {
            self.rounded(&mut part)?;
        }
        if self.merge.order == MergeOrder::Pairwise && self.count > 1 {
            // slot i holds p_i, then p_i + p_(i+h); the last part is alone
            let half = self.count.div_ceil(2);
            if index + 1 == self.count {
                self.total = Some(part);
            } else if index < half {
                self.slots.push(part);
            } else {
                combine(&mut self.slots[index - half], &part, |x: W, y| x + y);
            }
            return Ok(());
        }
        let mut total = match self.total.take() {
            None => {
                if self.merge.start == First::Zero {
                    each(&mut part, |word: W| W::default() + word);
                }
                part
            }
            Some(mut total) => {
                combine(&mut total, &part, |x: W, y| x + y);
                total
            }
        };
        if self.merge.kind == MergeType::D {
            self.rounded(&mut total)?;
        }
        self.total = Some(total);
        Ok(())
    }

    /// The merged numbers, all parts having been taken; `None` without a part.
    pub(super) fn finish<W: Word>(self) -> Option<Codes> {
        let mut total = self.total?;
        for slot in self.slots {
            combine(&mut total, &slot, |x: W, y| x + y);
        }
        Some(total)
    }
}
