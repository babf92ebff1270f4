//! Step 2: in which order and how many at a time products are summed.
//!
//! FPRev's method (paper, Step 2): two summands are U and -U, all others v, so small that U swamps
//! them. What is left tells how many were added after U and -U had cancelled.

mod narrow;

use bitmma_engine::formats::{Class, decode};
use bitmma_engine::{Case, Signature};
use bitmma_verify::inputs::{Formats, zero};

use crate::error::Error;
use crate::numbers::{normal_exponents, power, split};
use crate::session::Session;
use crate::tree::{Sum, Tree};

/// What was found out about order and arity.
#[derive(Clone, Debug, Default)]
pub struct Order {
    /// The summation tree, where it could be told.
    pub tree: Option<Tree>,
    /// How it was asked, and what could not be told.
    pub notes: Vec<String>,
    /// Sums that U and -U were put in: i, j, and how many summands survived (leaf K is the accumulator).
    pub survivors: Vec<(usize, usize, usize)>,
    /// Dot products asked.
    pub questions: usize,
}

/// Leaves that are compared each with each; larger groups are compared at distances of powers of two first.
const EACH_WITH_EACH: usize = 12;

/// What is asked and answered, besides the tree.
pub(crate) type Asked = Vec<(Case, u64)>;

/// Finds the tree.
pub(crate) fn find(session: &mut Session<'_>) -> Result<(Order, Asked), Error> {
    let signature = session.signature();
    let mut finder = Finder { session, signature, order: Order::default(), asked: Asked::new() };
    match Swamp::of(signature) {
        Some(swamp) => finder.swamp(swamp)?,
        None => finder.narrow()?,
    }
    Ok((finder.order, finder.asked))
}

/// Exponents of U and v.
#[derive(Clone, Copy)]
struct Swamp {
    large: i32,
    small: i32,
}

impl Swamp {
    /// The widest pair that products, accumulators and results reach; `None` if it swamps nothing.
    fn of(signature: &Signature) -> Option<Swamp> {
        let (a, b) = (normal_exponents(&signature.a), normal_exponents(&signature.b));
        let (c, d) = (normal_exponents(&signature.c), normal_exponents(&signature.d));
        let large = (a.1 + b.1).min(c.1).min(d.1) - 1;
        let small = (a.0 + b.0).max(c.0).max(d.0);
        Some(Swamp { large, small }).filter(Swamp::is_wide)
    }

    /// Whether v is lost beside U in any sum of 26 bits or fewer.
    fn is_wide(&self) -> bool {
        self.large - self.small > 26
    }
}

/// The F with which a sum that is cut that many bits below U keeps some of the sums of v, and not all; `None` where
/// nothing swamps.
pub(crate) fn critical_bits(signature: &Signature) -> Option<std::ops::RangeInclusive<u32>> {
    let Swamp { large, small } = Swamp::of(signature)?;
    let width = large.abs_diff(small);
    Some(width.saturating_sub(signature.k.ilog2())..=width)
}

/// Elements of A that are asked at a time, about.
const AT_A_TIME: usize = 1 << 20;
/// Elements of A in the questions that are kept for the hypotheses: all of them up to a K of some hundreds.
const KEPT: usize = 1 << 22;

struct Finder<'s, 'u> {
    session: &'s mut Session<'u>,
    signature: &'u Signature,
    order: Order,
    asked: Asked,
}

/// Subtrees that have their parent in common, or why there are none.
type Forest = Result<Vec<Tree>, String>;

impl Finder<'_, '_> {
    /// The answers to dot products, which are kept beside them as long as they are few.
    fn ask(&mut self, cases: Vec<Case>) -> Result<Vec<u64>, Error> {
        let answers = self.session.dots("order", &cases)?;
        self.order.questions += cases.len();
        let room = (KEPT / self.signature.k).saturating_sub(self.asked.len());
        self.asked.extend(cases.into_iter().zip(answers.iter().copied()).take(room));
        Ok(answers)
    }

    fn note(&mut self, note: impl Into<String>) {
        self.order.notes.push(note.into());
    }

    /// The tree, by U and -U.
    fn swamp(&mut self, swamp: Swamp) -> Result<(), Error> {
        self.note(format!(
            "U = 2^{}, v = 2^{}: d counts the summands that were added after U and -U had cancelled",
            swamp.large, swamp.small
        ));
        let leaves: Vec<usize> = (0..=self.signature.k).collect();
        match self.build(&leaves, swamp)? {
            Ok(mut forest) if forest.len() == 1 => self.order.tree = forest.pop(),
            Ok(_) => self.note("no summation tree explains all counts"),
            Err(note) => self.note(note),
        }
        Ok(())
    }

    /// Summands swamped by U and -U at each of `pairs`, U and -U included; `None` if d is not a count.
    fn swamped(&mut self, pairs: &[(usize, usize)], swamp: Swamp) -> Result<Vec<Option<usize>>, Error> {
        let k = self.signature.k;
        let case = |&(i, j): &(usize, usize)| {
            terms(self.signature, |leaf| match leaf {
                _ if leaf == i => Some((false, swamp.large)),
                _ if leaf == j => Some((true, swamp.large)),
                _ => Some((false, swamp.small)),
            })
        };
        let mut answers = Vec::with_capacity(pairs.len());
        for some in pairs.chunks((AT_A_TIME / k).max(1)) {
            answers.extend(self.ask(some.iter().map(case).collect())?);
        }
        let counts = pairs.iter().zip(&answers).map(|(&(i, j), &answer)| {
            let count = count(self.signature, answer, swamp.small).filter(|&count| count < k)?;
            self.order.survivors.push((i, j, count));
            Some(k + 1 - count)
        });
        Ok(counts.collect())
    }

    fn build(&mut self, leaves: &[usize], swamp: Swamp) -> Result<Forest, Error> {
        let Some((&pivot, others)) = leaves.split_first() else { return Ok(Ok(Vec::new())) };
        if others.is_empty() {
            return Ok(Ok(vec![Tree::Leaf(pivot)]));
        }
        if leaves.len() > EACH_WITH_EACH
            && leaves.len() <= self.signature.k
            && self.seems_flat(leaves, swamp)?
        {
            return Ok(Ok(leaves.iter().map(|&leaf| Tree::Leaf(leaf)).collect()));
        }
        let pairs: Vec<_> = others.iter().map(|&other| (pivot, other)).collect();
        let mut groups: Vec<(usize, Vec<usize>)> = Vec::new();
        for (&other, swamped) in others.iter().zip(self.swamped(&pairs, swamp)?) {
            let Some(swamped) = swamped else {
                return Ok(Err(format!(
                    "U at {pivot} and -U at {other} left no whole number of v: no tree can be told"
                )));
            };
            match groups.iter_mut().find(|(known, _)| *known == swamped) {
                Some((_, group)) => group.push(other),
                None => groups.push((swamped, vec![other])),
            }
        }
        groups.sort_unstable();
        let mut current = Tree::Leaf(pivot);
        let mut siblings = Vec::new();
        for (swamped, group) in groups {
            let size = current.leaves();
            if swamped == size + 1 && group.len() > 1 {
                // each of them swamps itself alone
                let leaves = group.into_iter().map(Tree::Leaf);
                current = Tree::Node {
                    sum: Sum::NotSwamped,
                    children: std::iter::once(current).chain(leaves).collect(),
                };
                continue;
            }
            let forest = match self.build(&group, swamp)? {
                Ok(forest) => forest,
                Err(note) => return Ok(Err(note)),
            };
            if swamped == size + group.len() {
                let sum = if forest.len() == 1 { Sum::Binary } else { Sum::Swamped };
                current = Tree::Node { sum, children: std::iter::once(current).chain(forest).collect() };
            } else if swamped > leaves.len() {
                siblings.extend(forest);
            } else {
                return Ok(Err(format!(
                    "U at {pivot} and -U at {} swamped {swamped} summands: no tree fits",
                    group[0]
                )));
            }
        }
        Ok(Ok(std::iter::once(current).chain(siblings).collect()))
    }

    /// Whether leaves at distances of powers of two all meet only in a node above them.
    fn seems_flat(&mut self, leaves: &[usize], swamp: Swamp) -> Result<bool, Error> {
        let mut pairs = Vec::new();
        let mut distance = 1;
        while distance < leaves.len() {
            pairs.extend(leaves.iter().zip(&leaves[distance..]).map(|(&one, &other)| (one, other)));
            distance *= 2;
        }
        Ok(self
            .swamped(&pairs, swamp)?
            .into_iter()
            .all(|swamped| swamped.is_some_and(|swamped| swamped > leaves.len())))
    }
}

/// A dot product of powers of two: sign and exponent of each leaf, `None` for zero.
pub(crate) fn terms(signature: &Signature, leaf: impl Fn(usize) -> Option<(bool, i32)>) -> Case {
    let Signature { k, a, b, c, .. } = *signature;
    let formats = Formats::from(signature);
    let (of_a, of_b) = (normal_exponents(&a), normal_exponents(&b));
    let ones = formats.scale.map_or(Vec::new(), |scale| vec![scale.format.one_code(); k / scale.size]);
    let mut case = Case {
        a: vec![zero(&a); k],
        b: vec![zero(&b); k],
        c: zero(&c),
        scale_a: ones.clone(),
        scale_b: ones,
    };
    for index in 0..k {
        if let Some((negative, exponent)) = leaf(index) {
            let (first, second) = split(exponent, of_a, of_b);
            case.a[index] = power(&a, negative, first);
            case.b[index] = power(&b, false, second);
        }
    }
    if let Some((negative, exponent)) = leaf(k) {
        case.c = power(&c, negative, exponent);
    }
    case
}

/// `code` in units of 2^`unit`, where it is a whole number of them, not negative.
fn count(signature: &Signature, code: u64, unit: i32) -> Option<usize> {
    let value = decode(&signature.d, code);
    if value.class == Class::Zero {
        return Some(0);
    }
    let shift = value.exponent - signature.d.fraction_bits as i32 - unit;
    if value.class != Class::Finite || value.negative || !(-63..=0).contains(&shift) {
        return None;
    }
    let kept = value.significand >> -shift;
    (kept << -shift == value.significand).then_some(kept as usize)
}
