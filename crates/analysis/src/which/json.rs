//! What was found, as JSON.

use bitmma_engine::explain::json::Coded;
use bitmma_engine::formats::{Format, text::hex};
use serde::Serialize;

use super::{Configuration, Mismatch, Observed, Place, Row, Test, Which};
use crate::json::Model;

/// An order along K.
#[derive(Serialize)]
struct Order {
    k_step: Option<usize>,
    split_k: Option<usize>,
    promote_every: Option<usize>,
    c_last: Option<bool>,
    output: Option<&'static str>,
    saturate: Option<bool>,
    call: Option<String>,
}

impl From<&Configuration> for Order {
    fn from(configuration: &Configuration) -> Order {
        let none = Order {
            k_step: None,
            split_k: None,
            promote_every: None,
            c_last: None,
            output: None,
            saturate: None,
            call: None,
        };
        match configuration {
            Configuration::Call(name) => Order { call: Some(name.clone()), ..none },
            Configuration::Along { k_step, split_k, promote_every, c_last, output, saturate } => Order {
                k_step: Some(*k_step),
                split_k: Some(*split_k),
                promote_every: *promote_every,
                c_last: Some(*c_last),
                output: output.map(|format| format.name),
                saturate: Some(*saturate),
                ..none
            },
        }
    }
}

#[derive(Serialize)]
struct First {
    element: [usize; 3],
    observed: Coded,
    computed: Coded,
}

#[derive(Serialize)]
struct Candidate {
    target: Option<String>,
    instructions: Vec<String>,
    architectures: Vec<&'static str>,
    chips: Vec<&'static str>,
    threads: bool,
    model: Option<Model>,
    agreeing: usize,
    compared: usize,
    matching: Vec<Order>,
    unverified: usize,
    nearest: Order,
    first: Option<First>,
}

impl Candidate {
    fn new(row: &Row, d: &Format) -> Candidate {
        let architectures = row.architectures();
        let first = row.first.map(|Mismatch { element: (block, row, column), observed, computed }| First {
            element: [block, row, column],
            observed: Coded::new(d, observed),
            computed: Coded::new(d, computed),
        });
        Candidate {
            target: row.instructions.first().map(|one| one.target()),
            instructions: row.instructions.iter().map(|one| one.target()).collect(),
            architectures: architectures.iter().map(|one| one.name()).collect(),
            chips: architectures.iter().filter_map(|one| one.papers_chip()).collect(),
            threads: row.threads,
            model: row.model.as_ref().map(|model| Model::new(model, Some(row.k))),
            agreeing: row.agreeing,
            compared: row.compared,
            matching: row.matching.iter().map(Order::from).collect(),
            unverified: row.unverified,
            nearest: Order::from(&row.nearest),
            first,
        }
    }
}

#[derive(Serialize)]
struct At {
    row: usize,
    configuration: Order,
}

fn places(found: &Which, all: &[Place]) -> Vec<At> {
    let of = |&(row, at): &Place| At { row, configuration: Order::from(&found.rows[row].matching[at]) };
    all.iter().map(of).collect()
}

/// A place along K at which A or B is not zero.
#[derive(Serialize)]
struct Pair {
    k: usize,
    a: String,
    b: String,
}

/// A block with a scale factor other than one.
#[derive(Serialize)]
struct Scales {
    block: usize,
    scale_a: String,
    scale_b: String,
}

#[derive(Serialize)]
struct Outcome {
    #[serde(flatten)]
    result: Coded,
    of: Vec<At>,
}

#[derive(Serialize)]
struct Input {
    inputs: Vec<Pair>,
    scales: Vec<Scales>,
    c: Option<String>,
    results: Vec<Outcome>,
}

impl Input {
    fn new(found: &Which, test: &Test) -> Input {
        let (model, case) = (found.model_of(test), &test.case);
        let outcome = |(code, of): &(u64, Vec<Place>)| Outcome {
            result: Coded::new(&found.d, *code),
            of: places(found, of),
        };
        let pair = |k: usize, model: &bitmma_engine::Model| Pair {
            k,
            a: hex(&model.a, case.a[k]),
            b: hex(&model.b, case.b[k]),
        };
        let inputs = (0..case.a.len()).filter(|&k| (case.a[k], case.b[k]) != (0, 0));
        let inputs = inputs.filter_map(|k| model.map(|model| pair(k, model))).collect();
        let format = model.and_then(|model| model.scale).map(|scale| scale.format);
        let scales = format.iter().flat_map(|format| {
            let one = format.one_code();
            let other = (0..case.scale_a.len())
                .filter(move |&block| (case.scale_a[block], case.scale_b[block]) != (one, one));
            other.map(|block| Scales {
                block,
                scale_a: hex(format, case.scale_a[block]),
                scale_b: hex(format, case.scale_b[block]),
            })
        });
        Input {
            inputs,
            scales: scales.collect(),
            c: model.map(|model| hex(&model.c, case.c)),
            results: test.results.iter().map(outcome).collect(),
        }
    }
}

#[derive(Serialize)]
struct Alike {
    searched: bool,
    groups: Vec<Vec<At>>,
}

/// Everything that was found.
#[derive(Serialize)]
pub struct Page {
    m: usize,
    n: usize,
    k: usize,
    blocks: usize,
    a: &'static str,
    b: &'static str,
    c: Option<&'static str>,
    d: &'static str,
    scale: Option<&'static str>,
    models: usize,
    candidates: usize,
    elements: usize,
    seconds: f64,
    verdict: &'static str,
    rows: Vec<Candidate>,
    tests: Vec<Input>,
    together: Vec<Alike>,
}

impl Page {
    /// What was found of a product in so many seconds.
    pub fn new(observed: &Observed<'_>, found: &Which, seconds: f64) -> Page {
        let (blocks, m, k) = observed.a.shape();
        let d = found.d;
        let matching: usize = found.rows.iter().map(|row| row.matching.len()).sum();
        let alike = found.together.iter().map(|together| Alike {
            searched: together.searched,
            groups: together.groups.iter().map(|group| places(found, group)).collect(),
        });
        Page {
            m,
            n: observed.b.columns(),
            k,
            blocks,
            a: observed.a.format().name,
            b: observed.b.format().name,
            c: observed.c.map(|c| c.format().name),
            d: d.name,
            scale: observed.scale_a.map(|scale| scale.format().name),
            models: found.models,
            candidates: found.candidates,
            elements: found.elements,
            seconds,
            verdict: match matching {
                0 => "none",
                1 => "one",
                _ => "several",
            },
            rows: found.rows.iter().map(|row| Candidate::new(row, &d)).collect(),
            tests: found.tests.iter().map(|test| Input::new(found, test)).collect(),
            together: alike.collect(),
        }
    }
}
