//! What came of a block.

use std::collections::BTreeMap;

use bitmma_engine::arithmetic::Model;
use bitmma_engine::formats::Format;
use bitmma_engine::{Case, Matrices, Matrix};
use serde::{Deserialize, Serialize};

use super::plan::{Plan, Source};
use crate::recording::hex;

/// Mismatches of one kind that a block keeps whole.
pub(super) const KEPT: u64 = 2;

/// What came of a block: one line of a state file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// Its number.
    pub block: u64,
    /// Of the unit's results, in order.
    pub digest: String,
    /// Elements of D that were compared.
    pub dot_products: u64,
    /// Answers that are NaN.
    pub nan: u64,
    /// The model's results that are NaN.
    pub nan_expected: u64,
    /// The one code that every result is, if there is but one.
    pub constant: Option<u64>,
    /// Mismatches, by family or feature.
    pub mismatches: BTreeMap<String, u64>,
    /// The first of each kind.
    pub kept: Vec<Kept>,
}

/// An element of D that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// The family or feature.
    pub kind: String,
    /// The instruction's number in the campaign.
    pub instruction: u64,
    /// Block, row and column of D.
    pub place: (usize, usize, usize),
    /// The operands.
    #[serde(flatten)]
    pub case: Case,
    /// The model's result.
    pub expected: u64,
    /// The unit's.
    pub actual: u64,
}

impl Kept {
    /// In one line of hex.
    pub fn line(&self, d: &Format) -> String {
        let (block, row, column) = self.place;
        format!(
            "{}, instruction {}, element {block}:{row}:{column}: expected {}, returned {}",
            self.kind,
            self.instruction,
            hex(d, &[self.expected]),
            hex(d, &[self.actual])
        )
    }
}

/// The operands of a block and what the model returns.
pub(super) struct Asked {
    pub(super) block: u64,
    pub(super) sources: Vec<Source>,
    pub(super) matrices: Vec<Matrices>,
    pub(super) expected: Vec<Matrix>,
}

impl Asked {
    /// Compares the unit's results with the model's.
    pub(super) fn compare(&self, plan: &Plan, model: &Model, strict_nan: bool, answers: &[Matrix]) -> Block {
        let mut tally = Tally::new(self.block, model);
        for (at, (expected, actual)) in self.expected.iter().zip(answers).enumerate() {
            tally.count(expected, actual);
            if expected.codes() == actual.codes() {
                continue;
            }
            let (_, rows, columns) = actual.shape();
            for (index, (expected, actual)) in expected.iter().zip(actual.iter()).enumerate() {
                if expected == actual || model.agrees(expected, actual, strict_nan) {
                    continue;
                }
                let place = (index / (rows * columns), index / columns % rows, index % columns);
                let kind = plan.kind(self.sources[at], place.0, place.1);
                let known = tally.block.mismatches.entry(kind.to_owned()).or_default();
                *known += 1;
                if *known > KEPT {
                    continue;
                }
                let case = self.matrices[at].case(place.0, place.1, place.2);
                let instruction = plan.range(self.block).start + at as u64;
                let kind = kind.to_owned();
                let kept = Kept { kind, instruction, place, case, expected, actual };
                tally.block.kept.push(kept);
            }
        }
        tally.finish()
    }
}

/// A block that is being counted.
struct Tally {
    block: Block,
    digest: blake3::Hasher,
    bytes: Vec<u8>,
    first: Option<u64>,
    same: bool,
    d: Format,
}

impl Tally {
    fn new(block: u64, model: &Model) -> Tally {
        let block = Block { block, ..Block::default() };
        let digest = blake3::Hasher::new();
        Tally { block, digest, bytes: Vec::new(), first: None, same: true, d: model.d }
    }

    fn count(&mut self, expected: &Matrix, actual: &Matrix) {
        self.bytes.clear();
        let width = self.d.bytes();
        let mut nan = 0;
        for code in actual.iter() {
            self.bytes.extend(&code.to_le_bytes()[..width]);
            nan += u64::from(self.d.is_nan(code));
            let first = *self.first.get_or_insert(code);
            self.same &= code == first;
        }
        self.digest.update(&self.bytes);
        self.block.nan += nan;
        self.block.nan_expected += expected.iter().filter(|code| self.d.is_nan(*code)).count() as u64;
        self.block.dot_products += actual.codes().len() as u64;
    }

    fn finish(mut self) -> Block {
        self.block.digest = self.digest.finalize().to_hex().to_string();
        self.block.constant = self.first.filter(|_| self.same);
        self.block
    }
}
