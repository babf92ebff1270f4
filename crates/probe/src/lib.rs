//! Finds out how an unknown matrix multiply-accumulate unit computes, by asking it.
//!
//! [`probe`] takes anything that answers D for A, B and C and ends with a model that agrees with it on
//! a million random elements of D, bit for bit, or says what it could not explain. It goes by the paper's
//! four steps ("Methodology and Implementation"): [`independence`], [`order`], [`features`], validation;
//! between the last two stands a set of hypotheses, from which every observation removes those that
//! contradict it, and for which inputs are searched on which the rest disagree. A mismatch in validation
//! is made small, observed, and the loop begins again.
//!
//! Nothing here reads the catalogue to find an answer; it only names what was found, at the end.
#![forbid(unsafe_code)]
#![deny(clippy::float_arithmetic)]

pub mod error;
pub mod features;
mod hypotheses;
pub mod independence;
mod inputs;
mod log;
mod numbers;
pub mod order;
pub mod report;
pub mod search;
mod separate;
mod session;
pub mod tree;
pub mod validate;
mod wiring;

use std::ops::Range;
use std::path::PathBuf;

use bitmma::{MmaUnit, Model, Signature};
use rayon::prelude::*;

pub use error::Error;
pub use features::{Feature, Observation};
pub use independence::Evidence;
pub use order::Order;
pub use report::parameters::{Certainty, Parameter};
pub use search::Counterexample;
pub use tree::Tree;
pub use validate::Mismatch;

/// An element of D.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Which of the unit's independent products.
    pub block: usize,
    /// Row of A and D.
    pub row: usize,
    /// Column of B and D.
    pub column: usize,
}

impl Place {
    /// The element at `index`, row-major, block after block.
    fn of(signature: &Signature, index: usize) -> Place {
        let Signature { m, n, .. } = *signature;
        Place { block: index / (m * n), row: index / n % m, column: index % n }
    }

    fn index(&self, signature: &Signature) -> usize {
        (self.block * signature.m + self.row) * signature.n + self.column
    }
}

/// How far a probe has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is being done.
    pub stage: &'static str,
    /// How much of it is done.
    pub done: u64,
    /// How much there is; 0 where nobody knows.
    pub total: u64,
    /// Dot products answered in all.
    pub answers: u64,
}

/// How to probe.
#[derive(Clone, Debug)]
pub struct Options {
    /// Elements of D that a model must agree with, at least.
    pub tests: u64,
    /// Seed of all that is random.
    pub seed: u64,
    /// Where every question is written with its answer.
    pub log: Option<PathBuf>,
    /// Whether to go on with the log that is there.
    pub resume: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { tests: 1_000_000, seed: 1, log: None, resume: false }
    }
}

/// What came of a probe.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What was probed.
    pub signature: Signature,
    /// Seed of all that was random.
    pub seed: u64,
    /// Tests of independence made (step 1).
    pub independence_tests: usize,
    /// Order and arity (step 2).
    pub order: Order,
    /// Direct observations of single features (step 3).
    pub features: Vec<Feature>,
    /// Elements of D asked before validation.
    pub questions: u64,
    /// Elements of D compared in the last validation.
    pub tests: u64,
    /// Cases that contradicted an earlier model, made small, in the order they were found.
    pub revisions: Vec<Counterexample>,
    /// How it ended.
    pub verdict: Verdict,
}

/// How a probe ended.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// A model that contradicts nothing.
    Found(Box<Found>),
    /// No model of the space explains the answers.
    NotExplained(Box<NotExplained>),
    /// The unit is none whose elements could have a model.
    Faulty(Vec<Evidence>),
}

/// A model that was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The model.
    pub model: Model,
    /// Models that answer alike on everything that was tried.
    pub equivalent: Vec<Model>,
    /// Inputs tried to tell them apart.
    pub tried: u64,
    /// Each parameter with the answers that show it.
    pub parameters: Vec<Parameter>,
    /// Instructions of the catalogue that compute so, as `ARCH/INSTRUCTION`.
    pub known_as: Vec<String>,
}

/// What is known where no model was found.
#[derive(Clone, Debug)]
pub struct NotExplained {
    /// The model that comes nearest, if any came near.
    pub nearest: Option<Model>,
    /// Elements of D on which it agrees, and elements compared.
    pub agrees: (u64, u64),
    /// The smallest failing cases.
    pub counterexamples: Vec<Counterexample>,
}

/// Finds out how `unit` computes.
pub fn probe(
    unit: &dyn MmaUnit,
    options: &Options,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Outcome, Error> {
    search::probe(unit, options, progress)
}

/// In which order `unit` sums, and how many products at a time (step 2 alone): no model is sought.
pub fn summation_order(unit: &dyn MmaUnit) -> Result<Order, Error> {
    let Signature { ref name, m, n, k, blocks, .. } = *unit.signature();
    if m * n * k * blocks == 0 {
        return Err(Error::Empty { unit: name.clone(), m, n, k, blocks });
    }
    let mut ignore = |_: &Progress| {};
    let mut session = session::Session::new(unit, log::Log::none(), &mut ignore);
    Ok(order::find(&mut session)?.0)
}

/// `make` of every index, in order, by all threads.
fn parallel<T: Send>(indices: Range<u64>, make: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let count = (indices.end - indices.start) as usize;
    (0..count).into_par_iter().with_min_len(8).map(|index| make(indices.start + index as u64)).collect()
}
