//! Which parts a report has, and what it is made with.

use bitmma_engine::gemm::Target;
use bitmma_engine::{Case, Revision};
use serde::{Deserialize, Serialize};

use crate::data::Product;
use crate::error::{Error, check_rounds, option};
use crate::subject::Subject;

/// A part of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Which instruction is which model, with which parameters.
    Models,
    /// Where instructions differ.
    Discrepancy,
    /// Error bounds, and how tight they are.
    Bounds,
    /// Risky designs.
    Risks,
    /// The bias of round-down.
    Bias,
    /// What others measured.
    Published,
    /// Accuracy against cost.
    DesignSpace,
    /// What helps.
    Workarounds,
}

impl Part {
    /// Every part, in the order of the report.
    pub const ALL: [Part; 8] = [
        Part::Discrepancy,
        Part::Bounds,
        Part::Risks,
        Part::Bias,
        Part::DesignSpace,
        Part::Workarounds,
        Part::Published,
        Part::Models,
    ];

    /// Its name and its heading.
    const fn row(self) -> (&'static str, &'static str) {
        match self {
            Part::Models => ("models", "Models and parameters"),
            Part::Discrepancy => ("discrepancy", "Results by architecture"),
            Part::Bounds => ("bounds", "Errors and bounds"),
            Part::Risks => ("risks", "Risky designs"),
            Part::Bias => ("bias", "Bias: CDNA3 rounds sums down"),
            Part::Published => ("published", "Published measurements on GPUs"),
            Part::DesignSpace => ("design-space", "Design space: accuracy against cost"),
            Part::Workarounds => ("workarounds", "Workarounds"),
        }
    }

    /// Its name in commands and files.
    pub const fn name(self) -> &'static str {
        self.row().0
    }

    /// Whether it can be about one instruction or model; else it is the same for all.
    pub const fn takes_unit(self) -> bool {
        !matches!(self, Part::Bias | Part::Published)
    }

    /// Its heading.
    pub const fn title(self) -> &'static str {
        self.row().1
    }
}

/// How much is tried: the quick report takes seconds, the full one minutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// A tenth of everything, and less.
    Quick,
    /// What the paper and the publications took.
    Full,
}

impl Effort {
    /// One of two numbers.
    pub fn of<T>(self, quick: T, full: T) -> T {
        match self {
            Effort::Quick => quick,
            Effort::Full => full,
        }
    }
}

/// What a report is made with.
#[derive(Clone, Debug)]
pub struct Options {
    /// Of all random numbers.
    pub seed: u64,
    /// Of the models.
    pub revision: Revision,
    /// How much is tried.
    pub effort: Effort,
    /// The user's own product; random ones where there is none.
    pub data: Option<UserData>,
    /// How the explorer shows what it finds, which the faces hand in.
    pub link: Link,
}

/// The state of the explorer that shows what some instructions, each a chip and a name, make of an input; `None` where there
/// is none.
pub type Link = fn(&[&str], Revision, &Case) -> Option<String>;

impl Options {
    /// The state of the explorer that shows what the first instructions of some subjects make of an input.
    pub(crate) fn explore(&self, subjects: &[&Subject], case: &Case) -> Option<String> {
        let name = |subject: &&Subject| {
            subject.rows.first().map(|row| format!("{} {}", row.architecture, row.name()))
        };
        let names: Vec<String> = subjects.iter().map(name).collect::<Option<_>>()?;
        (self.link)(&names.iter().map(String::as_str).collect::<Vec<_>>(), self.revision, case)
    }

    /// Refuses an instruction or a model that the part could only ignore.
    pub fn check(&self, part: Part) -> Result<(), Error> {
        match &self.data {
            Some(data) if !part.takes_unit() => {
                let others = Part::ALL.into_iter().filter(|other| other.takes_unit());
                let others: Vec<&str> = others.map(Part::name).collect();
                let allowed = format!(
                    "it does not take an instruction or a model ({}); these do: {}",
                    data.name,
                    others.join(", ")
                );
                Err(option("part", part.name(), &allowed))
            }
            _ => Ok(()),
        }
    }

    /// What the part depends on: without the instruction where it takes none.
    pub fn of_part(&self, part: Part) -> Options {
        let data = self.data.clone().filter(|_| part.takes_unit());
        Options { data, ..self.clone() }
    }

    /// What a part depends on: the same text, the same numbers.
    pub fn fingerprint(&self, part: Part) -> String {
        let data = self.data.as_ref().map(|data| {
            let Product { a, b, c, scales, .. } = &data.product;
            let factors = scales.iter().flat_map(|scales| [&scales.a, &scales.b]);
            // FNV-1a over formats, shapes and codes
            let mut hash = 0xcbf2_9ce4_8422_2325_u64;
            let mut add = |number: u64| hash = (hash ^ number).wrapping_mul(0x0100_0000_01b3);
            for matrix in [a, b].into_iter().chain(c).chain(factors) {
                matrix.format().name.bytes().for_each(|byte| add(byte.into()));
                [matrix.blocks(), matrix.rows(), matrix.columns()]
                    .into_iter()
                    .for_each(|size| add(size as u64));
                matrix.iter().for_each(&mut add);
            }
            format!("{} {} {:?} {hash:016x}", data.name, data.target.step(), data.target.model())
        });
        let Options { seed, revision, effort, .. } = self;
        format!("{part:?} seed {seed} {revision} {effort:?} {data:?}")
    }
}

/// A product that a user gave, and what is to compute it.
#[derive(Clone, Debug)]
pub struct UserData {
    /// The instruction or model.
    pub target: Target,
    /// Its name, for headings.
    pub name: String,
    /// The architecture, where it is an instruction of one.
    pub architecture: Option<bitmma_engine::Architecture>,
    /// The operands.
    pub product: Product,
    /// Whether the user gave the operands; else they are random.
    pub given: bool,
}

impl UserData {
    /// Refuses operands that do not fit.
    pub fn new<E: From<Error>>(
        target: Target,
        name: String,
        architecture: Option<bitmma_engine::Architecture>,
        given: bool,
        product: impl FnOnce(&Target) -> Result<Product, E>,
    ) -> Result<UserData, E> {
        check_rounds(target.model(), "these analyses")?;
        let product = product(&target)?;
        product.gemm(&target, &bitmma_engine::GemmOptions::default())?;
        Ok(UserData { target, name, architecture, product, given })
    }
}
