//! Two plans of library calls compared.

use bitmma_analysis::verdict::{LONGEST, Product, Verdict, diff_products};
use bitmma_calls::execute::schedule;
use bitmma_calls::explain::explain;
use bitmma_calls::{Call, Plan};
use bitmma_document::style;
use bitmma_engine::arithmetic::Model;
use bitmma_engine::formats::F32;
use bitmma_engine::{Case, Matrix};
use bitmma_probe::differ::RULES;

use super::outcome;
use crate::failure::{Failure, Outcome};
use crate::{json, output};

/// A plan and the name of its file.
pub(super) struct Named {
    pub(super) name: String,
    pub(super) plan: Plan,
}

/// Compares; D is FP32.
pub(super) fn run<'s>(left: &'s Named, right: &'s Named, is_json: bool) -> Result<Outcome, Failure> {
    let at = [left, right].map(|one| |k| schedule(&one.plan, k, F32));
    for at in &at {
        at(LONGEST)?; // an error of a plan is said as such
    }
    let at = at.map(|at| move |k| at(k).map_err(|error| error.to_string()));
    let side = |one: &'s Named, at| Product { name: &one.name, fields: one.plan.fields(), at };
    let sides = [&side(left, &at[0]), &side(right, &at[1])];
    let found = diff_products(sides, left.plan.is_alike(&right.plan), &RULES)?;
    if is_json {
        json::print(&found)?;
        return Ok(outcome(&found));
    }
    let mut document = found.document();
    if let Verdict::Differs(case, _) = &found.verdict {
        for one in [left, right] {
            let followed = followed(&one.plan, case, &found.models[0])?;
            document = document.text(format!("{}\n{followed}", style::strong(&one.name)));
        }
    }
    output::document(&document)?;
    Ok(outcome(&found))
}

/// The way of the element through parts and merge.
fn followed(plan: &Plan, case: &Case, words: &Model) -> Result<String, Failure> {
    if plan.blocks.is_some() {
        return Ok(String::new()); // its scales are all one
    }
    let k = case.a.len();
    let a = Matrix::single(words.a, 1, k, case.a.iter().copied())?;
    let b = Matrix::single(words.b, k, 1, case.b.iter().copied())?;
    let lines = explain(plan, &Call::new(&a, &b, F32), 0, 0)?.lines();
    Ok(lines.iter().map(|line| format!("  {line}\n")).collect())
}
