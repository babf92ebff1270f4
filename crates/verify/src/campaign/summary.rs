//! What came of a campaign, or of as much of it as there is.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::block::{Block, Kept};
use super::identity::Identity;
use super::plan::Shard;

/// Mismatches of one kind that a summary shows.
const SHOWN: usize = 3;

/// Ranges of missing blocks that are printed.
const RANGES: usize = 12;

/// All blocks taken together.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Blocks that are there.
    pub blocks: u64,
    /// Blocks of the whole campaign.
    pub of: u64,
    /// Those that are not there, of the whole campaign or of the shard that was asked for.
    pub missing: Missing,
    /// Elements of D that were compared.
    pub dot_products: u64,
    /// Mismatches, by family or feature.
    pub mismatches: BTreeMap<String, u64>,
    /// The first of each kind.
    pub kept: Vec<Kept>,
    /// Over what was asked and every result of the unit; `None` as long as blocks are missing.
    pub digest: Option<String>,
    /// What to make of it.
    pub verdict: Verdict,
}

/// Blocks that are not there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Missing {
    /// How many.
    #[serde(skip)]
    pub count: u64,
    /// The first and the last of each run of them, in order. Of a shard a run has every N-th block, as the shard has.
    pub ranges: Vec<(u64, u64)>,
}

impl Missing {
    /// Those of the shard's blocks, of `all` blocks, that are not among `there`.
    fn of(all: u64, there: &BTreeMap<u64, Block>, shard: Shard) -> Missing {
        let mut missing = Missing::default();
        let mut first = shard.number - 1;
        let present = there.keys().copied().filter(|block| shard.has(*block));
        for next in present.map(Some).chain([None]) {
            let end = next.unwrap_or(all);
            let run = Shard { number: first + 1, count: shard.count }.share(end);
            if run > 0 {
                missing.count += run;
                missing.ranges.push((first, first + (run - 1) * shard.count));
            }
            first = end.saturating_add(shard.count);
        }
        missing
    }
}

/// As in `0-3, 7, 9-12`.
impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (first, last)) in self.ranges.iter().take(RANGES).enumerate() {
            f.write_str(if index > 0 { ", " } else { "" })?;
            if first == last { write!(f, "{first}") } else { write!(f, "{first}-{last}") }?;
        }
        match self.ranges.len().saturating_sub(RANGES) {
            0 => Ok(()),
            1 => write!(f, " and one more range"),
            more => write!(f, " and {more} more ranges"),
        }
    }
}

/// What to make of a campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every result so far agrees.
    Agrees,
    /// Every result so far agrees, and blocks are missing.
    Incomplete,
    /// Some do not.
    Differs,
    /// Every result is NaN, the model's are not.
    NanEverywhere,
    /// Every result is this one code: they say nothing.
    Constant(u64),
    /// There are no results.
    Nothing,
}

impl Verdict {
    /// In a word or two, as reports for programs have it.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Agrees => "agrees",
            Verdict::Incomplete => "incomplete",
            Verdict::Differs => "differs",
            Verdict::NanEverywhere => "NaN everywhere",
            Verdict::Constant(_) => "constant",
            Verdict::Nothing => "nothing asked",
        }
    }
}

impl Summary {
    /// Of these blocks, which should be all that the shard has.
    pub fn of(identity: &Identity, blocks: &BTreeMap<u64, Block>, shard: Shard) -> Summary {
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
        let missing = Missing::of(identity.blocks, blocks, shard);
        let verdict = match constant {
            _ if missing.count > 0 && mismatches.is_empty() => Verdict::Incomplete,
            _ if dot_products == 0 => Verdict::Nothing,
            _ if nan == dot_products && nan_expected < dot_products => Verdict::NanEverywhere,
            Some(code) => Verdict::Constant(code),
            None if mismatches.is_empty() => Verdict::Agrees,
            None => Verdict::Differs,
        };
        Summary {
            blocks: blocks.len() as u64,
            of: identity.blocks,
            missing,
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
