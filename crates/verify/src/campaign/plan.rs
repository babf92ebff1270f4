//! What a campaign asks, and how it is cut.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use bitmma::{Case, Error, Matrices, Signature};

use crate::directed::{self, Feature};
use crate::inputs::{Family, matrices};

/// Dot products of a block, about.
const BLOCK: usize = 1 << 19;
/// Instructions of a block at most.
const MAX_INSTRUCTIONS: usize = 4096;

/// Everything that a campaign asks of a unit, addressed by number.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What the unit takes.
    pub signature: Signature,
    /// The seed.
    pub seed: u64,
    /// Directed cases.
    pub directed: Vec<(Feature, Case)>,
    /// Random instructions.
    pub random: u64,
}

/// Where an instruction of a campaign comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Directed cases, from this one on.
    Directed {
        /// The number of the first.
        first: usize,
    },
    /// Instruction `index` of a family.
    Random {
        /// The family.
        family: Family,
        /// Its index under the campaign's seed.
        index: u64,
    },
}

impl Plan {
    /// The directed cases for the signature, and at least `dot_products` random ones.
    pub fn new(signature: &Signature, dot_products: u64, seed: u64) -> Plan {
        let each = (signature.blocks * signature.m * signature.n) as u64;
        Plan {
            signature: signature.clone(),
            seed,
            directed: directed::cases(signature),
            random: dot_products.div_ceil(each),
        }
    }

    /// Dot products of one instruction.
    pub fn dot_products_each(&self) -> u64 {
        (self.signature.blocks * self.signature.m * self.signature.n) as u64
    }

    /// Directed cases in one instruction.
    fn cases_each(&self) -> usize {
        self.signature.blocks * self.signature.m.min(self.signature.n)
    }

    fn directed_instructions(&self) -> u64 {
        self.directed.len().div_ceil(self.cases_each()) as u64
    }

    /// Instructions, directed and random.
    pub fn instructions(&self) -> u64 {
        self.directed_instructions() + self.random
    }

    /// Dot products, directed and random.
    pub fn dot_products(&self) -> u64 {
        self.instructions() * self.dot_products_each()
    }

    /// Instructions of a block.
    pub fn block_size(&self) -> u64 {
        (BLOCK as u64 / self.dot_products_each()).clamp(1, MAX_INSTRUCTIONS as u64)
    }

    /// Blocks.
    pub fn blocks(&self) -> u64 {
        self.instructions().div_ceil(self.block_size())
    }

    /// The instructions of a block, by number.
    pub fn range(&self, block: u64) -> Range<u64> {
        let first = block * self.block_size();
        first..(first + self.block_size()).min(self.instructions())
    }

    /// Where an instruction comes from.
    pub fn source(&self, instruction: u64) -> Source {
        match instruction.checked_sub(self.directed_instructions()) {
            None => Source::Directed { first: instruction as usize * self.cases_each() },
            Some(random) => {
                let families = Family::ALL.len() as u64;
                Source::Random { family: Family::ALL[(random % families) as usize], index: random / families }
            }
        }
    }

    /// What the row of an instruction is made of: a family's or a feature's name.
    pub fn kind(&self, source: Source, block: usize, row: usize) -> &'static str {
        match source {
            Source::Random { family, .. } => family.name(),
            Source::Directed { first } => {
                let size = self.signature.m.min(self.signature.n);
                let own = self.directed.get(first + block * size + row).filter(|_| row < size);
                own.or(self.directed.get(first)).map_or("", |(feature, _)| feature.name())
            }
        }
    }

    /// The operands of an instruction.
    pub fn matrices(&self, source: Source) -> Result<Matrices, Error> {
        match source {
            Source::Random { family, index } => matrices(&self.signature, family, self.seed, index),
            Source::Directed { first } => {
                let end = self.directed.len().min(first + self.cases_each());
                let cases: Vec<Case> =
                    self.directed[first..end].iter().map(|(_, case)| case.clone()).collect();
                Matrices::diagonal(&self.signature, &cases)
            }
        }
    }
}

/// One of several parts of a campaign: every n-th block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which, from 1.
    pub number: u64,
    /// Of how many.
    pub count: u64,
}

impl Shard {
    /// The whole campaign.
    pub const WHOLE: Shard = Shard { number: 1, count: 1 };

    /// Whether the block is its.
    pub fn has(self, block: u64) -> bool {
        block % self.count == self.number - 1
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.count)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let parts = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        match parts {
            Some((number, count)) if (1..=count).contains(&number) && count <= 1 << 20 => {
                Ok(Shard { number, count })
            }
            _ => Err(format!("'{text}' is not a shard; write I/N with I from 1 to N, as in 3/7")),
        }
    }
}
