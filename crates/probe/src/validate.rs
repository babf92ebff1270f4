//! Step 4: a model compared with random instructions, every element of D.

use std::ops::Range;

use bitmma_engine::formats::Class;
use bitmma_engine::formats::decode;
use bitmma_engine::kernel::{self, has_kernel};
use bitmma_engine::threads::prelude::*;
use bitmma_engine::{Case, Matrices, Model, Signature, simulate};
use bitmma_verify::inputs::{Family, Formats, matrices};

use crate::error::Error;
use crate::inputs::{Kind, directed};
use crate::place::Place;
use crate::separate::Landmarks;
use crate::session::Session;

/// Families with their share of the tests, in percent: the paper's three kinds first.
const SHARES: [(Family, u64); 10] = [
    (Family::Normal, 15),
    (Family::Uniform, 10),
    (Family::Outliers, 10),
    (Family::Cancelling, 15),
    (Family::Bits, 20),
    (Family::Spread, 10),
    (Family::Moderate, 5),
    (Family::Tiny, 5),
    (Family::Zeros, 5),
    (Family::Notable, 5),
];
/// Elements of D compared between two lines of the log, about.
const BATCH: u64 = 1 << 16;
/// Elements of A and B that are held at a time, about.
const ELEMENTS: u64 = 1 << 23;
/// Directed dot products in a hundred tests, and at least.
const DIRECTED: (u64, u64) = (2, 2048);
/// Seed of the directed ones, apart from those of the hypotheses.
const DIRECTED_SEED: u64 = 0x7e57;

/// A case the model does not answer as the unit does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Family, and instruction under the seed of the probe; `None` for a directed dot product.
    pub instruction: Option<(Family, u64)>,
    /// Element of D.
    pub place: Place,
    /// First instruction or directed dot product of the batch it was asked in, and how many; `None` where it was
    /// asked otherwise.
    pub batch: Option<(u64, u64)>,
    /// The dot product.
    pub case: Case,
    /// What the unit answered.
    pub answer: u64,
    /// What the model answers.
    pub expected: u64,
}

/// How a validation ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Validation {
    /// Elements compared.
    pub(crate) tests: u64,
    /// Elements that differ.
    pub(crate) differ: u64,
    /// The first that differs, a special value only where nothing else differs in its batch.
    pub(crate) first: Option<Mismatch>,
}

/// Holds `model` against `tests` elements of D or some more; stops after the batch with the first mismatch
/// unless `to_the_end`.
pub(crate) fn validate(
    session: &mut Session<'_>,
    model: &Model,
    (tests, seed): (u64, u64),
    to_the_end: bool,
) -> Result<Validation, Error> {
    let stage = if to_the_end { "counting agreement" } else { "validation" };
    let elements = session.elements() as u64;
    let mut validation = Validation::default();
    let directed_tests = (tests * DIRECTED.0).div_ceil(100).max(DIRECTED.1);
    let questions = Directed::of(session.signature(), model);
    let instructions_of = |share: u64| (tests * share).div_ceil(100 * elements);
    let Signature { m, n, k, blocks, .. } = *session.signature();
    // as many rows and columns of K elements as are held at a time
    let fit = |lines: usize| (ELEMENTS / ((lines * k) as u64).max(1)).max(1);
    let batch = (BATCH / elements).clamp(1, fit(blocks * (m + n)));
    // short batches of every family first, so that what is wrong shows early
    let random = [1, 16].into_iter().flat_map(|scale| {
        SHARES.into_iter().flat_map(move |(family, share)| {
            let instructions = instructions_of(share);
            let early = instructions.div_ceil(16);
            let range = if scale == 1 { 0..early } else { early..instructions };
            batches(range, batch).map(move |(first, count)| (Some(family), first, count))
        })
    });
    // one after the other, for of 10^12 tests there are more batches than memory holds
    let directed = batches(0..directed_tests, BATCH.min(fit(2))).map(|(first, count)| (None, first, count));
    let parts = directed.chain(random);
    let total = SHARES
        .into_iter()
        .fold(directed_tests, |total, (_, share)| total + instructions_of(share) * elements);
    for (family, first, count) in parts {
        session.progress(stage, validation.tests, total)?;
        let name = family.map_or("directed", Family::name);
        let compared = if family.is_some() { count * elements } else { count };
        let question = format!("validate,{name},{first},{count}");
        let mut fresh = None;
        let answer = session.summarised(&question, compared, |session| {
            let part = match family {
                Some(family) => instructions(session, model, (family, seed), (first, count))?,
                None => dots(session, model, &questions, (first, count))?,
            };
            let text = written(&part, session.signature());
            fresh = Some(part);
            Ok(text)
        })?;
        let part = match fresh {
            Some(part) => part,
            None => read(&answer, session.signature(), &questions, (family, first, count), seed).ok_or_else(
                || session.damaged(format!("'{answer}' is not a count of mismatches and a place")),
            )?,
        };
        validation.tests += compared;
        validation.differ += part.differ;
        if validation.first.is_none() {
            validation.first = part.first;
        }
        if validation.first.is_some() && !to_the_end {
            break;
        }
    }
    session.progress(stage, validation.tests, total)?;
    Ok(validation)
}

/// Numbers in order, as the first of each batch and how many there are in it.
fn batches(range: Range<u64>, size: u64) -> impl Iterator<Item = (u64, u64)> {
    let end = range.end;
    let first = std::iter::successors(Some(range.start), move |first| first.checked_add(size));
    first.take_while(move |first| *first < end).map(move |first| (first, size.min(end - first)))
}

/// The answer to a mismatch where its whole batch is asked once more; `None` if it was not found in a batch.
pub(crate) fn again(
    session: &mut Session<'_>,
    model: &Model,
    seed: u64,
    mismatch: &Mismatch,
) -> Result<Option<u64>, Error> {
    let Some((first, count)) = mismatch.batch else { return Ok(None) };
    let signature = session.signature();
    let name = mismatch.instruction.map_or("directed", |(family, _)| family.name());
    let answer = session.summarised(&format!("again,{name},{first},{count}"), 0, |session| {
        let code = match mismatch.instruction {
            Some((family, index)) => {
                let asked = drawn(session, "mismatch", (family, seed), (first, count))?;
                session.multiply("mismatch", &asked)?[(index - first) as usize]
                    [mismatch.place.index(signature)]
            }
            None => {
                let questions = Directed::of(signature, model);
                let cases = parallel(first..first + count, |index| questions.case(index));
                session.dots_unlogged("mismatch", &cases)?[mismatch.place.row - first as usize]
            }
        };
        Ok(format!("{code:x}"))
    })?;
    let code = u64::from_str_radix(&answer, 16)
        .map_err(|_| session.damaged(format!("'{answer}' is not a code of {}", signature.d)))?;
    Ok(Some(code))
}

/// Directed dot products: every other one is constructed from where the model cuts, ties and ends.
struct Directed<'m> {
    formats: Formats,
    k: usize,
    marks: Landmarks<'m>,
}

impl<'m> Directed<'m> {
    fn of(signature: &Signature, model: &'m Model) -> Directed<'m> {
        let formats = Formats::from(signature);
        let marks = Landmarks::of(&formats, signature.k, std::iter::once(model));
        Directed { formats, k: signature.k, marks }
    }

    fn case(&self, index: u64) -> Case {
        match index % 2 {
            0 => directed(&self.formats, self.k, Kind::Any, DIRECTED_SEED, index),
            _ => self.marks.case(DIRECTED_SEED, index),
        }
    }
}

/// The mismatches of one batch.
#[derive(Default)]
struct Part {
    differ: u64,
    first: Option<Mismatch>,
}

impl Part {
    fn note(&mut self, signature: &Signature, mismatch: impl FnOnce() -> Mismatch) {
        self.differ += 1;
        let finite = |code| matches!(decode(&signature.d, code).class, Class::Finite | Class::Zero);
        let better = match &self.first {
            None => true,
            Some(known) => !finite(known.answer) || !finite(known.expected),
        };
        if better && self.differ < 4096 {
            let mismatch = mismatch();
            if self.first.is_none() || (finite(mismatch.answer) && finite(mismatch.expected)) {
                self.first = Some(mismatch);
            }
        }
    }
}

fn written(part: &Part, signature: &Signature) -> String {
    let place = part.first.as_ref().map_or(String::new(), |mismatch| {
        let index = mismatch.instruction.map_or(mismatch.place.row as u64, |(_, index)| index);
        let at = mismatch.place.index(signature);
        format!("{index}:{at}:{:x}:{:x}", mismatch.answer, mismatch.expected)
    });
    format!("{},{place}", part.differ)
}

fn read(
    text: &str,
    signature: &Signature,
    questions: &Directed,
    (family, first, count): (Option<Family>, u64, u64),
    seed: u64,
) -> Option<Part> {
    let batch = Some((first, count));
    let (differ, place) = text.split_once(',')?;
    let differ = differ.parse().ok()?;
    if place.is_empty() {
        return Some(Part { differ, first: None });
    }
    let mut fields = place.split(':');
    let index: u64 = fields.next()?.parse().ok()?;
    let at: usize = fields.next()?.parse().ok()?;
    let answer = u64::from_str_radix(fields.next()?, 16).ok()?;
    let expected = u64::from_str_radix(fields.next()?, 16).ok()?;
    let first = match family {
        Some(family) => {
            let place = Place::of(signature, at);
            let asked = matrices(signature, family, seed, index).ok()?;
            let case = asked.case(place.block, place.row, place.column);
            Mismatch { instruction: Some((family, index)), place, batch, case, answer, expected }
        }
        None => {
            let place = Place { block: 0, row: index as usize, column: 0 };
            Mismatch { instruction: None, place, batch, case: questions.case(index), answer, expected }
        }
    };
    Some(Part { differ, first: Some(first) })
}

/// Instructions of a family, `count` of them from the `first` on.
fn drawn(
    session: &Session<'_>,
    purpose: &'static str,
    (family, seed): (Family, u64),
    (first, count): (u64, u64),
) -> Result<Vec<Matrices>, Error> {
    let signature = session.signature();
    let drawn = parallel(first..first + count, |index| matrices(signature, family, seed, index));
    let failed = |source| Error::Unit { answered: session.answered(), purpose, source };
    drawn.into_iter().collect::<Result<_, _>>().map_err(failed)
}

fn instructions(
    session: &Session<'_>,
    model: &Model,
    (family, seed): (Family, u64),
    (first, count): (u64, u64),
) -> Result<Part, Error> {
    let signature = session.signature();
    let failed = |source| Error::Unit { answered: session.answered(), purpose: "validation", source };
    let asked = drawn(session, "validation", (family, seed), (first, count))?;
    let answers = session.multiply("validation", &asked)?;
    let fast = has_kernel(model, signature.k) && session.elements() >= 512;
    let mut part = Part::default();
    for (offset, (asked, answers)) in asked.iter().zip(&answers).enumerate() {
        let operands = asked.operands();
        let expected = match fast {
            true => kernel::multiply(model, signature.k, &operands, None),
            false => simulate(model, &operands),
        }
        .map_err(failed)?;
        for (at, (&answer, expected)) in answers.iter().zip(expected.iter()).enumerate() {
            if !model.agrees(expected, answer, false) {
                part.note(signature, || {
                    let place = Place::of(signature, at);
                    let case = asked.case(place.block, place.row, place.column);
                    let instruction = Some((family, first + offset as u64));
                    Mismatch { instruction, place, batch: Some((first, count)), case, answer, expected }
                });
            }
        }
    }
    Ok(part)
}

fn dots(
    session: &Session<'_>,
    model: &Model,
    questions: &Directed,
    (first, count): (u64, u64),
) -> Result<Part, Error> {
    let signature = session.signature();
    let cases = parallel(first..first + count, |index| questions.case(index));
    let answers = session.dots_unlogged("validation", &cases)?;
    let mut part = Part::default();
    let Some(expected) = crate::hypotheses::answers(model, signature.k, &cases) else { return Ok(part) };
    for (index, (&answer, expected)) in answers.iter().zip(expected).enumerate() {
        if !model.agrees(expected, answer, false) {
            part.note(signature, || {
                let place = Place { block: 0, row: (first as usize) + index, column: 0 };
                let (batch, case) = (Some((first, count)), cases[index].clone());
                Mismatch { instruction: None, place, batch, case, answer, expected }
            });
        }
    }
    Ok(part)
}

/// `make` of every index, in order, by all threads.
fn parallel<T: Send>(indices: Range<u64>, make: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let count = (indices.end - indices.start) as usize;
    (0..count).into_par_iter().with_min_len(8).map(|index| make(indices.start + index as u64)).collect()
}
