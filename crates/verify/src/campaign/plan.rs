//! What a campaign asks, and how it is cut.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use bitmma_engine::{Case, Error, Fault, Matrices, Signature};

use super::cut::Cut;
use crate::directed::{Directed, Feature};
use crate::inputs::{Family, matrices};

/// Everything that a campaign asks of a unit, addressed by number.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What the unit takes.
    pub signature: Signature,
    /// The seed.
    pub seed: u64,
    /// Directed cases.
    pub directed: Directed,
    /// Random instructions.
    pub random: u64,
    cut: Cut,
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
    pub fn new(signature: &Signature, dot_products: u64, seed: u64) -> Result<Plan, Error> {
        let Signature { m, n, k, blocks, .. } = *signature;
        let directed = Directed::of(signature);
        let each = (blocks as u64).saturating_mul(m as u64).saturating_mul(n as u64).max(1);
        let random = dot_products.div_ceil(each);
        let cut = Cut::new((m, n, k, blocks), directed.len() as u64, random).ok_or_else(|| {
            let problem = format!(
                "{m}×{n}×{k} ×{blocks} with {dot_products} dot products is more than can be counted, or nothing"
            );
            Error::unit(&signature.name, Fault::Wrong, problem)
        })?;
        Ok(Plan { signature: signature.clone(), seed, directed, random, cut })
    }

    /// Its sizes.
    pub fn cut(&self) -> &Cut {
        &self.cut
    }

    /// Dot products, directed and random.
    pub fn dot_products(&self) -> u64 {
        self.cut.dot_products()
    }

    /// Blocks.
    pub fn blocks(&self) -> u64 {
        self.cut.blocks()
    }

    /// The instructions of a block, by number.
    pub fn range(&self, block: u64) -> Range<u64> {
        self.cut.range(block)
    }

    /// Where an instruction comes from.
    pub fn source(&self, instruction: u64) -> Source {
        match instruction.checked_sub(self.cut.directed) {
            None => Source::Directed { first: (instruction * self.cut.cases_each) as usize },
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
                let own = self.directed.feature(first + block * size + row).filter(|_| row < size);
                own.or(self.directed.feature(first)).map_or("", Feature::name)
            }
        }
    }

    /// The operands of an instruction.
    pub fn matrices(&self, source: Source) -> Result<Matrices, Error> {
        match source {
            Source::Random { family, index } => matrices(&self.signature, family, self.seed, index),
            Source::Directed { first } => {
                let end = self.directed.len().min(first + self.cut.cases_each as usize);
                let cases: Vec<Case> = (first..end).map(|index| self.directed.case(index)).collect();
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

    /// Its blocks, of a campaign of that many.
    pub fn blocks(self, all: u64) -> impl Iterator<Item = u64> + Send {
        (self.number - 1..all).step_by(self.count as usize)
    }

    /// How many of that many blocks are its.
    pub fn share(self, all: u64) -> u64 {
        all.checked_sub(self.number).map_or(0, |rest| rest / self.count + 1)
    }

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
