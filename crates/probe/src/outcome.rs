//! How to probe, and what came of it.

use std::path::PathBuf;

use bitmma_engine::{Case, Model, Signature};

use crate::features::Feature;
use crate::independence::Evidence;
use crate::order::Order;
use crate::place::Place;
use crate::report::parameters::Parameter;
use crate::validate::Mismatch;

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

/// A case that a model did not answer as the unit did, made small.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counterexample {
    /// As it was found.
    pub found: Mismatch,
    /// The smallest that still fails.
    pub smallest: Case,
    /// What the unit answers to it.
    pub answer: u64,
    /// What the model answers to it.
    pub expected: u64,
    /// Whether it fails everywhere, only in some places, or only as it was found.
    pub where_: Where,
}

/// Where a case fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Where {
    /// In every place it was asked in.
    Everywhere,
    /// Only in these places, out of this many.
    Places(Vec<Place>, usize),
    /// Only in the company it was found in: the other rows and columns, or the other instructions of the batch.
    Company,
    /// Not again: the unit is not deterministic.
    NotAgain,
}
