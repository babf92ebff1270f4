//! Who computed a product: every model of every architecture, along K as a chain and in other orders, compared with D.
//!
//! 1. `candidates`: models that take the operands' formats, each in every order that is tried.
//! 2. `search`: those that differ on a few elements are left out, the others are compared on all.
//! 3. `tests`: where several are left, small inputs on which they differ.

mod candidates;
pub mod json;
mod piece;
mod search;
mod tests;

use std::fmt;

use bitmma_engine::arithmetic::Model;
use bitmma_engine::catalogue::Instruction;
use bitmma_engine::formats::{F32, Format, TF32, XF32};
use bitmma_engine::gemm::Target;
use bitmma_engine::gemm::schedule::Schedule;
use bitmma_engine::{Architecture, Case, Matrix, Revision};

use crate::apart::Rules;
use crate::error::{Error, option};

pub use candidates::{MOST_SPLIT, PROMOTIONS};

/// A product that was observed.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'o> {
    /// M×K; FP32 words also stand for TF32 and XF32.
    pub a: &'o Matrix,
    /// K×N.
    pub b: &'o Matrix,
    /// M×N; without it C is +0.
    pub c: Option<&'o Matrix>,
    /// Scale factors of A, M × ceil(K/block).
    pub scale_a: Option<&'o Matrix>,
    /// Scale factors of B, ceil(K/block) × N.
    pub scale_b: Option<&'o Matrix>,
    /// M×N.
    pub d: &'o Matrix,
}

/// A library's call that is tried beside the orders of [`Configuration::Along`].
#[derive(Clone, Debug)]
pub struct Call {
    /// Library and configuration.
    pub name: String,
    /// Whose instruction it runs.
    pub architecture: Architecture,
    /// What goes along K; `None`: sums of threads.
    pub target: Option<Target>,
    /// The order around it.
    pub schedule: Schedule,
}

/// In which order a model goes along K, and what becomes of its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Configuration {
    /// As `bitmma gemm` does it.
    Along {
        /// Elements along K of one step: the instruction's K. Parts are whole steps.
        k_step: usize,
        /// Parts of K whose results are added, 1 or more.
        split_k: usize,
        /// Elements of K after which the accumulator is moved to an FP32 sum.
        promote_every: Option<usize>,
        /// Whether C is added to A·B.
        c_last: bool,
        /// What D is converted to, where it is not the model's own format.
        output: Option<Format>,
        /// Whether numbers beyond its largest become its largest.
        saturate: bool,
    },
    /// As a library's call does it.
    Call(String),
}

/// As people say it: `K in 4 parts, moved to an FP32 sum every 128`.
impl fmt::Display for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Configuration::Call(name) => f.write_str(name),
            Configuration::Along { k_step, split_k, promote_every, c_last, output, saturate } => {
                match split_k {
                    1 => write!(f, "one chain along K")?,
                    parts => write!(f, "K in {parts} parts (steps of {k_step})")?,
                }
                if let Some(every) = promote_every {
                    write!(f, ", moved to an FP32 sum every {every}")?;
                }
                if *c_last {
                    write!(f, ", C added last")?;
                }
                if let Some(output) = output {
                    let saturated = if *saturate { ", saturated" } else { "" };
                    write!(f, ", converted to {output}{saturated}")?;
                }
                Ok(())
            }
        }
    }
}

/// An element of D that a model computes otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Block, row and column.
    pub element: (usize, usize, usize),
    /// The code of the D that was observed.
    pub observed: u64,
    /// The model's.
    pub computed: u64,
}

/// A model, and how far it agrees.
#[derive(Clone, Debug)]
pub struct Row {
    /// The model; sums of threads that no model describes have none.
    pub model: Option<Model>,
    /// Elements along K of one step.
    pub k: usize,
    /// The instructions that compute so.
    pub instructions: Vec<&'static Instruction>,
    /// Whether it is also what ordinary threads compute: FP32 (or FP64) fused multiply-adds.
    pub threads: bool,
    /// The configurations with which it agrees on every element.
    pub matching: Vec<Configuration>,
    /// Configurations that agree on the elements compared, but were not compared on all, as that would take long.
    pub unverified: usize,
    /// The configuration that agrees best, the simplest of several.
    pub nearest: Configuration,
    /// Elements on which that agrees.
    pub agreeing: usize,
    /// Elements that were compared.
    pub compared: usize,
    /// The first of them that it computes otherwise.
    pub first: Option<Mismatch>,
}

impl Row {
    /// The architectures whose chips compute so.
    pub fn architectures(&self) -> Vec<Architecture> {
        let mut all: Vec<Architecture> = vec![];
        for row in &self.instructions {
            if !all.contains(&row.architecture) {
                all.push(row.architecture);
            }
        }
        all
    }

    /// An order in words; with its steps where another that matches has the same words.
    pub fn order(&self, configuration: &Configuration) -> String {
        let words = configuration.to_string();
        let alike = |other: &&Configuration| *other != configuration && other.to_string() == words;
        match (configuration, self.matching.iter().find(alike)) {
            (Configuration::Along { k_step, .. }, Some(_)) => format!("{words} (steps of {k_step})"),
            _ => words,
        }
    }

    /// The first instruction, or what it is: `hopper wgmma.m64n{8..256}k16.f32.f16.f16`.
    pub fn name(&self) -> String {
        match self.instructions.first() {
            Some(row) => row.target(),
            None => "sums of threads".to_owned(),
        }
    }
}

/// One that matches: a row, and a place among its configurations.
pub type Place = (usize, usize);

/// An input on which some that match differ.
#[derive(Clone, Debug)]
pub struct Test {
    /// The operands, as long as K.
    pub case: Case,
    /// Every result with those that give it; equal numbers are one.
    pub results: Vec<(u64, Vec<Place>)>,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Which {
    /// Different models that were tried.
    pub models: usize,
    /// Pairs of a model and an order along K that were tried.
    pub candidates: usize,
    /// Format of D.
    pub d: Format,
    /// Elements of D.
    pub elements: usize,
    /// The models: those that match first, then by the elements on which they agree.
    pub rows: Vec<Row>,
    /// Inputs that tell those that match apart.
    pub tests: Vec<Test>,
    /// Those that match and give the same on every test, where there are several.
    pub together: Vec<Together>,
}

/// Some that match and give the same on every test.
#[derive(Clone, Debug)]
pub struct Together {
    /// Each the same for every input, by argument. Several: no input was found that tells them apart.
    pub groups: Vec<Vec<Place>>,
    /// Whether an input was searched that tells the first from each of the others.
    pub searched: bool,
}

impl Which {
    /// Whether a model computes D.
    pub fn is_found(&self) -> bool {
        self.rows.iter().any(|row| !row.matching.is_empty())
    }

    /// A model in whose formats the operands of a test are.
    pub fn model_of(&self, test: &Test) -> Option<&Model> {
        let (_, of) = test.results.first()?;
        self.rows[of.first()?.0].model.as_ref()
    }
}

/// Formats that words of `format` may stand for.
pub fn readings(format: Format) -> &'static [Format] {
    if format == F32 { &[F32, TF32, XF32] } else { &[] }
}

/// Whether words of `given` are operands of a model that takes `wanted`.
fn reads_as(given: Format, wanted: Format) -> bool {
    given == wanted || readings(given).contains(&wanted)
}

/// Which models compute D, the library's calls among them.
pub fn which(
    observed: &Observed<'_>,
    calls: Vec<Call>,
    revision: Revision,
    rules: &Rules,
) -> Result<Which, Error> {
    check(observed)?;
    let subjects = candidates::subjects(observed, revision);
    let entrants = candidates::entrants(observed, &subjects, calls)?;
    if entrants.is_empty() {
        let text = |matrix: &Matrix| matrix.format().name;
        let (a, b) = (text(observed.a), text(observed.b));
        let c = observed.c.map_or(String::new(), |c| format!(" + {}", text(c)));
        return Err(option(
            "A·B",
            format!("{a} · {b}{c}"),
            "no instruction of any architecture takes these formats",
        ));
    }
    let found = search::search(observed, &subjects, &entrants)?;
    let (tests, together) = tests::tests(observed, &entrants, &found, rules)?;
    let rows = found.rows;
    let elements = observed.d.codes().len();
    let d = observed.d.format();
    Ok(Which { models: subjects.len(), candidates: entrants.len(), d, elements, rows, tests, together })
}

/// Whether the shapes are those of one product.
fn check(observed: &Observed<'_>) -> Result<(), Error> {
    let Observed { a, b, c, scale_a, scale_b, d } = *observed;
    let (blocks, m, k) = a.shape();
    let n = b.columns();
    let shape = bitmma_engine::shape_text;
    let wrong = |operand: &'static str, given: &Matrix, expected| {
        let (given, unit) = (shape(given.shape()), "this product".to_owned());
        Err(bitmma_engine::Error::Shape { operand, given, unit, expected: shape(expected) }.into())
    };
    if b.shape() != (blocks, k, n) {
        return wrong("B", b, (blocks, k, n));
    }
    if d.shape() != (blocks, m, n) {
        return wrong("D", d, (blocks, m, n));
    }
    if let Some(c) = c.filter(|c| c.shape() != (blocks, m, n)) {
        return wrong("C", c, (blocks, m, n));
    }
    if d.codes().is_empty() || k == 0 {
        return Err(option("D", shape(d.shape()), "a product with elements, and K of 1 or more, is needed"));
    }
    for (operand, scales, shape) in [("scale A", scale_a, (m, 0)), ("scale B", scale_b, (0, n))] {
        let Some(given) = scales else { continue };
        let along = if operand == "scale A" { given.columns() } else { given.rows() };
        let expected = if operand == "scale A" { (blocks, shape.0, along) } else { (blocks, along, shape.1) };
        if given.shape() != expected {
            return wrong(operand, given, expected);
        }
    }
    Ok(())
}
