//! Who computed a product: every model of every architecture, along K as a chain and in other orders, compared with D.
//!
//! 1. `candidates`: models that take the operands' formats, each in every order that is tried.
//! 2. `search`: those that differ on a few elements are left out, the others are compared on all.
//! 3. `tests`: where several are left, small inputs on which they differ.
//! 4. `document`: what was found, in words.

mod candidates;
mod document;
mod order;
mod piece;
mod row;
mod search;
mod tests;

use std::time::Instant;

use bitmma_engine::explain::json::Coded;
use bitmma_engine::formats::{F32, Format, TF32, XF32};
use bitmma_engine::gemm::{LibraryCall, Shapes};
use bitmma_engine::{Case, Matrix, Revision};
use bitmma_verify::apart::Rules;
use serde::Serialize;

use crate::error::{Error, option};

pub use candidates::{MOST_SPLIT, PROMOTIONS};
pub use order::Order;
pub use row::{Mismatch, Row};

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

impl Observed<'_> {
    /// Formats and shapes of the operands.
    pub fn shapes(&self) -> Shapes {
        let described = |matrix: &Matrix| (matrix.format(), matrix.shape());
        Shapes {
            a: described(self.a),
            b: described(self.b),
            c: self.c.map(described),
            scale_a: self.scale_a.map(described),
            scale_b: self.scale_b.map(described),
        }
    }
}

/// One that matches: a row, and one of its orders.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Match {
    /// Its place among [`Which::rows`].
    pub row: usize,
    /// One of [`Row::matching`].
    pub configuration: Order,
}

/// A place along K at which A or B is not zero, as codes in hex.
#[derive(Clone, Debug, Serialize)]
pub struct Pair {
    /// The place.
    pub k: usize,
    /// Of A.
    pub a: String,
    /// Of B.
    pub b: String,
}

/// A block with a scale factor other than one, as codes in hex.
#[derive(Clone, Debug, Serialize)]
pub struct Scales {
    /// The block.
    pub block: usize,
    /// Of A.
    pub scale_a: String,
    /// Of B.
    pub scale_b: String,
}

/// A result, and those that give it; equal numbers are one.
#[derive(Clone, Debug, Serialize)]
pub struct Given {
    /// The result.
    #[serde(flatten)]
    pub result: Coded,
    /// Those that give it.
    pub of: Vec<Match>,
}

/// An input on which some that match differ, as long as K.
#[derive(Clone, Debug, Serialize)]
pub struct Test {
    /// The operands.
    #[serde(skip)]
    pub case: Case,
    /// The operands in words.
    #[serde(skip)]
    words: String,
    /// Where A or B is not zero.
    pub inputs: Vec<Pair>,
    /// Where a scale factor is not one.
    pub scales: Vec<Scales>,
    /// C, as a code in hex.
    pub c: Option<String>,
    /// Every result.
    pub results: Vec<Given>,
}

/// Some that match and give the same on every test.
#[derive(Clone, Debug, Serialize)]
pub struct Together {
    /// Whether an input was searched that tells the first from each of the others.
    pub searched: bool,
    /// Each the same for every input, by argument. Several: no input was found that tells them apart.
    pub groups: Vec<Vec<Match>>,
}

/// What was found of a product.
#[derive(Clone, Debug, Serialize)]
pub struct Which {
    /// Rows of A.
    pub m: usize,
    /// Columns of B.
    pub n: usize,
    /// Columns of A.
    pub k: usize,
    /// Products of that shape.
    pub blocks: usize,
    /// Format of A.
    pub a: &'static str,
    /// Format of B.
    pub b: &'static str,
    /// Format of C, if there is one.
    pub c: Option<&'static str>,
    /// Format of D.
    pub d: &'static str,
    /// Format of the scale factors, if there are any.
    pub scale: Option<&'static str>,
    /// Different models that were tried.
    pub models: usize,
    /// Pairs of a model and an order along K that were tried.
    pub candidates: usize,
    /// Elements of D.
    pub elements: usize,
    /// How long it took.
    pub seconds: f64,
    /// `one`, `several` or `none` of them compute D.
    pub verdict: &'static str,
    /// The models: those that match first, then by the elements on which they agree.
    pub rows: Vec<Row>,
    /// Inputs that tell those that match apart.
    pub tests: Vec<Test>,
    /// Those that match and give the same on every test, where there are several.
    pub together: Vec<Together>,
}

impl Which {
    /// Whether a model computes D.
    pub fn is_found(&self) -> bool {
        self.verdict != "none"
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
    calls: Vec<LibraryCall>,
    revision: Revision,
    rules: &Rules,
) -> Result<Which, Error> {
    let start = Instant::now();
    check(observed)?;
    let subjects = candidates::subjects(observed, revision);
    let entrants = candidates::entrants(observed, &subjects, calls)?;
    let name = |matrix: &Matrix| matrix.format().name;
    if entrants.is_empty() {
        let (a, b) = (name(observed.a), name(observed.b));
        let c = observed.c.map_or(String::new(), |c| format!(" + {}", name(c)));
        return Err(option(
            "A·B",
            format!("{a} · {b}{c}"),
            "no instruction of any architecture takes these formats",
        ));
    }
    let found = search::search(observed, &subjects, &entrants)?;
    let (tests, together) = tests::tests(observed, &subjects, &entrants, &found, rules)?;
    let rows = found.rows;
    let (blocks, m, k) = observed.a.shape();
    Ok(Which {
        m,
        n: observed.b.columns(),
        k,
        blocks,
        a: name(observed.a),
        b: name(observed.b),
        c: observed.c.map(name),
        d: name(observed.d),
        scale: observed.scale_a.map(name),
        models: subjects.len(),
        candidates: entrants.len(),
        elements: observed.d.codes().len(),
        seconds: start.elapsed().as_secs_f64(),
        verdict: match rows.iter().map(|row| row.matching.len()).sum() {
            0 => "none",
            1 => "one",
            _ => "several",
        },
        rows,
        tests,
        together,
    })
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
