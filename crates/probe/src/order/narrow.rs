//! The order of sums where products span too few powers of two for one to swamp another (FP4, FP6).
//!
//! The accumulator replaces U. With C = 2^p - h, h half a last place of 2^p, product i = 2h and product j =
//! -h, the sum is 2^p and the answer is exact, unless i meets C in a sum that is rounded before j comes: that
//! leaves 2^p + h, which D has no code for, and then no rounding leads back. So i stands before j if and only if
//! the answer is not 2^p: provided that no sum cuts -h beside 2^p, which is asked first. Scale factors, where there
//! are any, let one block swamp another.

use bitmma_engine::Case;
use bitmma_engine::{Signature, formats::Format};

use super::{Finder, Swamp, count, terms};
use crate::error::Error;
use crate::numbers::{normal_exponents, number, power, split};
use crate::tree::{Sum, Tree};

/// Fractional bits that the results of sums may have, the most first.
const FRACTIONS: [i32; 4] = [23, 13, 10, 7];

/// C, and what i and j are beside it.
#[derive(Clone, Copy)]
struct Crossing {
    /// p.
    power: i32,
    /// The exponent of h.
    half: i32,
}

impl Crossing {
    /// 2^p - h, a number of all ones.
    fn below(self, format: &Format) -> u64 {
        let ones = self.power - 1 - self.half;
        number(format, false, self.power - 1, (1 << 52) - (1 << (52 - ones)))
    }
}

impl Finder<'_, '_> {
    /// The tree as far as it can be told without swamping.
    pub(super) fn narrow(&mut self) -> Result<(), Error> {
        let Signature { k, a, b, .. } = *self.signature;
        self.note(format!(
            "products of {a} and {b} span too few powers of two for one to swamp another: C = 2^p - h replaces U, products 2h and -h \
             say which of two is summed first"
        ));
        self.shared()?;
        let Some(crossing) = self.crossing()? else {
            self.note(
                "half a last place is not kept beside any C: the order of the sums cannot be told (the hypotheses settle it)",
            );
            return Ok(());
        };
        let Some(groups) = self.sorted((0..k).collect(), crossing)? else {
            self.note("the answers to pairs contradict each other: no order can be told");
            return Ok(());
        };
        let mut tree = Tree::Leaf(k);
        for group in &groups {
            let sum = match group.len() {
                1 => Sum::Binary,
                _ => self.swamps(group)?,
            };
            let leaves = group.iter().map(|&leaf| Tree::Leaf(leaf));
            tree = Tree::Node { sum, children: std::iter::once(tree).chain(leaves).collect() };
        }
        if groups.iter().any(|group| group.len() > 1) {
            self.note(
                "not determined: in which order products of one sum are added among themselves, and whether C is added with them or to their sum",
            );
        }
        if groups.len() == 1 {
            self.note(
                "not determined: whether C is added at the end; it is in one sum with all products here",
            );
        }
        self.order.tree = Some(tree);
        Ok(())
    }

    /// The widest result in which something is kept of a half beside C.
    fn crossing(&mut self) -> Result<Option<Crossing>, Error> {
        let Signature { c, d, k, .. } = *self.signature;
        for bits in FRACTIONS {
            let crossing = Crossing { power: 1 + bits, half: 0 };
            let holds = |format: &Format| {
                format.fraction_bits as i32 >= bits && crossing.power <= format.max_exponent()
            };
            if !holds(&c) || !holds(&d) || k < 2 {
                continue;
            }
            // 2^p - h is kept whole, and 2^p + h is not
            let kept = [0, k - 1].map(|j| {
                let case = terms(self.signature, |leaf| (leaf == j).then_some((true, crossing.half)));
                Case { c: power(&c, false, crossing.power), ..case }
            });
            let below = crossing.below(&d);
            if self.ask(kept.to_vec())?.iter().any(|&answer| answer != below) {
                continue;
            }
            let past = terms(self.signature, |leaf| (leaf == 0).then_some((false, crossing.half + 1)));
            let answer = self.ask(vec![Case { c: crossing.below(&c), ..past }])?[0];
            let above = number(&d, false, crossing.power, 1 << (52 - (crossing.power - crossing.half)));
            if bits == d.fraction_bits as i32 || answer != above {
                return Ok(Some(crossing));
            }
        }
        Ok(None)
    }

    /// For each i and j whether the sum is 2^p.
    fn exact(&mut self, pairs: &[(usize, usize)], crossing: Crossing) -> Result<Vec<bool>, Error> {
        let signature = self.signature;
        let Crossing { power: top, half } = crossing;
        let below = crossing.below(&signature.c);
        let cases = pairs.iter().map(|&(i, j)| {
            let case = terms(signature, |leaf| match leaf {
                _ if leaf == i => Some((false, half + 1)),
                _ if leaf == j => Some((true, half)),
                _ => None,
            });
            Case { c: below, ..case }
        });
        let answers = self.ask(cases.collect())?;
        let whole = power(&signature.d, false, top);
        Ok(answers.into_iter().map(|answer| answer == whole).collect())
    }

    /// The products in groups that are summed one after the other; `None` if there is no such order.
    fn sorted(&mut self, leaves: Vec<usize>, crossing: Crossing) -> Result<Option<Vec<Vec<usize>>>, Error> {
        if leaves.len() < 2 {
            return Ok(Some(if leaves.is_empty() { Vec::new() } else { vec![leaves] }));
        }
        let pivot = leaves[leaves.len() / 2];
        let others: Vec<usize> = leaves.into_iter().filter(|&leaf| leaf != pivot).collect();
        let pairs: Vec<_> = others.iter().flat_map(|&other| [(pivot, other), (other, pivot)]).collect();
        let exact = self.exact(&pairs, crossing)?;
        let (mut before, mut with, mut after) = (Vec::new(), vec![pivot], Vec::new());
        for (&other, exact) in others.iter().zip(exact.chunks_exact(2)) {
            match (exact[0], exact[1]) {
                (true, false) => before.push(other),
                (true, true) => with.push(other),
                (false, true) => after.push(other),
                (false, false) => return Ok(None),
            }
        }
        with.sort_unstable();
        let Some(mut groups) = self.sorted(before, crossing)? else { return Ok(None) };
        groups.push(with);
        let Some(rest) = self.sorted(after, crossing)? else { return Ok(None) };
        groups.extend(rest);
        Ok(Some(groups))
    }

    /// Whether small summands of a group survive large ones that cancel: told by scale factors, if two of its
    /// products have different ones.
    fn swamps(&mut self, group: &[usize]) -> Result<Sum, Error> {
        let Signature { k, c, d, scale, .. } = *self.signature;
        let unknown = Ok(Sum::Undetermined);
        let Some(scale) = scale else { return unknown };
        let first = group[0];
        let Some(&second) = group.iter().find(|&&leaf| leaf / scale.size != first / scale.size) else {
            return unknown;
        };
        let factors = normal_exponents(&scale.format);
        let (of_c, of_d) = (normal_exponents(&c), normal_exponents(&d));
        let swamp = Swamp {
            large: (2 * factors.1).min(of_c.1).min(of_d.1) - 1,
            small: (2 * factors.0).max(of_c.0).max(of_d.0),
        };
        if !swamp.is_wide() {
            return unknown;
        }
        // U and -U in two blocks, v in the accumulator
        let mut case = terms(self.signature, |leaf| match leaf {
            _ if leaf == first => Some((false, 0)),
            _ if leaf == second => Some((true, 0)),
            _ if leaf == k => Some((false, swamp.small)),
            _ => None,
        });
        let (one, other) = split(swamp.large, factors, factors);
        for leaf in [first, second] {
            case.scale_a[leaf / scale.size] = power(&scale.format, false, one);
            case.scale_b[leaf / scale.size] = power(&scale.format, false, other);
        }
        let answer = self.ask(vec![case])?[0];
        Ok(match count(self.signature, answer, swamp.small) {
            Some(0) => Sum::Swamped,
            Some(1) => Sum::NotSwamped,
            _ => Sum::Undetermined,
        })
    }

    /// Which products share a sum with the first: two halves of a last place beside a large accumulator make a
    /// whole one only if they meet before they are rounded.
    fn shared(&mut self) -> Result<(), Error> {
        let Signature { k, d, .. } = *self.signature;
        let half = 0;
        let large = half + 1 + d.fraction_bits as i32;
        if large > self.signature.c.max_exponent() {
            return Ok(());
        }
        let question = |signature: &Signature, i: usize, j: usize| {
            terms(signature, |leaf| match leaf {
                _ if leaf == k => Some((false, large)),
                _ if leaf == i || leaf == j => Some((false, half)),
                _ => None,
            })
        };
        let cases: Vec<Case> = (1..k).map(|other| question(self.signature, 0, other)).collect();
        let answers = self.ask(cases)?;
        let alone = power(&d, false, large);
        let together: Vec<usize> = (1..k).filter(|&other| answers[other - 1] != alone).collect();
        self.note(match together.len() {
            0 => "no two products share a sum, or their halves are cut before they meet".to_owned(),
            count if count == k - 1 => format!("all {k} products share one sum"),
            count => format!("product 0 shares a sum with {count} others: {together:?}"),
        });
        Ok(())
    }
}
