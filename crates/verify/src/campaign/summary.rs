//! What came of a campaign, or of as much of it as there is.

use std::collections::BTreeMap;

use super::block::{Block, Kept};
use super::state::Identity;

/// Mismatches of one kind that a summary shows.
const SHOWN: usize = 3;

/// All blocks taken together.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Blocks that are there.
    pub blocks: u64,
    /// Blocks of the whole campaign.
    pub of: u64,
    /// Elements of D that were compared.
    pub dot_products: u64,
    /// Mismatches, by family or feature.
    pub mismatches: BTreeMap<String, u64>,
    /// The first of each kind.
    pub kept: Vec<Kept>,
    /// Over what was asked and every answer of the unit; `None` as long as blocks are missing.
    pub digest: Option<String>,
    /// What to make of it.
    pub verdict: Verdict,
}

/// What to make of a campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every answer that is there agrees.
    Agrees,
    /// Some do not.
    Differs,
    /// Every answer is NaN, the model's are not.
    NanEverywhere,
    /// Every answer is this one code: they say nothing.
    Constant(u64),
    /// There are no answers.
    Nothing,
}

impl Verdict {
    /// In a word or two, as reports for programs have it.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Agrees => "agrees",
            Verdict::Differs => "differs",
            Verdict::NanEverywhere => "NaN everywhere",
            Verdict::Constant(_) => "constant",
            Verdict::Nothing => "nothing asked",
        }
    }
}

impl Summary {
    /// Of these blocks.
    pub fn of(identity: &Identity, blocks: &BTreeMap<u64, Block>) -> Summary {
        let (mut mismatches, mut kept) = (BTreeMap::<String, u64>::new(), Vec::<Kept>::new());
        let (mut dot_products, mut nan, mut nan_expected) = (0, 0, 0);
        for block in blocks.values() {
            dot_products += block.dot_products;
            nan += block.nan;
            nan_expected += block.nan_expected;
            for (kind, count) in &block.mismatches {
                *mismatches.entry(kind.clone()).or_default() += count;
            }
            for one in &block.kept {
                if kept.iter().filter(|known| known.kind == one.kind).count() < SHOWN {
                    kept.push(one.clone());
                }
            }
        }
        let constant = blocks.values().next().and_then(|block| block.constant);
        let constant = constant.filter(|code| blocks.values().all(|block| block.constant == Some(*code)));
        let verdict = match constant {
            _ if dot_products == 0 => Verdict::Nothing,
            _ if nan == dot_products && nan_expected < dot_products => Verdict::NanEverywhere,
            Some(code) => Verdict::Constant(code),
            None if mismatches.is_empty() => Verdict::Agrees,
            None => Verdict::Differs,
        };
        Summary {
            blocks: blocks.len() as u64,
            of: identity.blocks,
            dot_products,
            mismatches,
            kept,
            digest: digest(identity, blocks),
            verdict,
        }
    }

    /// All mismatches.
    pub fn mismatches(&self) -> u64 {
        self.mismatches.values().sum()
    }
}

fn digest(identity: &Identity, blocks: &BTreeMap<u64, Block>) -> Option<String> {
    if blocks.len() as u64 != identity.blocks || blocks.keys().zip(0..).any(|(number, at)| *number != at) {
        return None;
    }
    let mut digest = blake3::Hasher::new();
    digest.update(serde_json::to_string(identity).ok()?.as_bytes());
    for block in blocks.values() {
        digest.update(&block.block.to_le_bytes());
        digest.update(&block.dot_products.to_le_bytes());
        digest.update(block.digest.as_bytes());
    }
    Some(digest.finalize().to_hex().to_string())
}
