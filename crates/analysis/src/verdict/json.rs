//! A comparison as JSON: the same in the command and in Python.

use bitmma_engine::Signature;
use bitmma_engine::arithmetic::{Conversion, Model, Operation};
use bitmma_engine::explain::json::Coded;
use bitmma_engine::formats::{F32, Format};
use serde::Serialize;

use super::{Diff, Parameter, ProductDiff, Share, Verdict};
use crate::json::Operands;

#[derive(Serialize)]
struct Results {
    of_left: Coded,
    of_right: Coded,
}

/// Two sides compared.
#[derive(Serialize)]
pub struct Page {
    left: String,
    right: String,
    k: usize,
    verdict: &'static str,
    reason: String,
    differences: Vec<Parameter>,
    inputs: Option<Operands>,
    results: Option<Results>,
    differing: Option<Share>,
}

fn operands(verdict: &Verdict, model: &Model, k: usize) -> Option<Operands> {
    match verdict {
        Verdict::Differs(case, _) => {
            Some(Operands::new(case, &Signature::of_model(String::new(), model, (1, 1, k))))
        }
        _ => None,
    }
}

fn results([left, right]: [Format; 2], codes: Option<(u64, u64)>) -> Option<Results> {
    codes.map(|(x, y)| Results { of_left: Coded::new(&left, x), of_right: Coded::new(&right, y) })
}

impl Page {
    /// Of two models.
    pub fn of_models(left: &str, right: &str, found: &Diff) -> Page {
        let Diff { k, verdict, parameters, share, models, .. } = found;
        Page {
            left: left.to_owned(),
            right: right.to_owned(),
            k: *k,
            verdict: verdict.name(),
            reason: verdict.reason(),
            differences: parameters.clone(),
            inputs: operands(verdict, &models[0], *k),
            results: results([models[0].d, models[1].d], found.results),
            differing: *share,
        }
    }

    /// Of two plans, with what is not the same in them.
    pub fn of_plans(left: &str, right: &str, found: &ProductDiff, differences: Vec<Parameter>) -> Page {
        let ProductDiff { k, verdict, found } = found;
        let inputs = found.as_ref().and_then(|([x, _], _)| operands(verdict, &words(x.a, x.b), *k));
        let results = found.as_ref().and_then(|([x, y], codes)| results([x.d(), y.d()], Some(*codes)));
        Page {
            left: left.to_owned(),
            right: right.to_owned(),
            k: *k,
            verdict: verdict.name(),
            reason: verdict.reason(),
            differences,
            inputs,
            results,
            differing: None,
        }
    }
}

/// A model in whose formats the operands of a plan are.
pub fn words(a: Format, b: Format) -> Model {
    Model::new(a, b, F32, Operation::Fma, Conversion::RNE_FP32)
}
