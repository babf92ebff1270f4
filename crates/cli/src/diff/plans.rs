//! Two plans of library calls compared.

use bitmma_analysis::Error;
use bitmma_analysis::describe::input;
use bitmma_analysis::scheme::Scheme;
use bitmma_analysis::verdict::json::{Page, words};
use bitmma_analysis::verdict::{LONGEST, Verdict, diff_products, different};
use bitmma_calls::execute::schedule;
use bitmma_calls::explain::explain;
use bitmma_calls::{Call, Plan};
use bitmma_document::style;
use bitmma_engine::arithmetic::Model;
use bitmma_engine::formats::F32;
use bitmma_engine::formats::text::display;
use bitmma_engine::gemm::Target;
use bitmma_engine::{Case, Matrix};
use bitmma_probe::differ::RULES;

use super::{heading, outcome, table};
use crate::failure::{Failure, Outcome};
use crate::{json, output};

/// A plan and the name of its file.
pub(super) struct Named {
    pub(super) name: String,
    pub(super) plan: Plan,
}

/// Compares; D is FP32.
pub(super) fn run(left: &Named, right: &Named, is_json: bool) -> Result<Outcome, Failure> {
    // sums of threads take what the other side takes, or FP32
    let targets = [left, right].map(|one| one.plan.target());
    let formats =
        targets.iter().flatten().flatten().map(Target::model).map(|model| (model.a, model.b)).next();
    let (a, b) = formats.unwrap_or((F32, F32));
    let scheme = |one: &Named, k: usize| -> Result<Scheme, bitmma_calls::Error> {
        let (target, schedule) = schedule(&one.plan, k, F32)?;
        let (a, b) = target.as_ref().map_or((a, b), |target| (target.model().a, target.model().b));
        Ok(Scheme { target, schedule, a, b })
    };
    for one in [left, right] {
        scheme(one, LONGEST)?; // an error of a plan is said as such
    }
    let at = |k: usize| -> Result<[Scheme; 2], Error> {
        let one = |named: &Named| {
            scheme(named, k).map_err(|_| Error::Option {
                option: "K",
                value: k.to_string(),
                allowed: "the plan does not take it".to_owned(),
            })
        };
        Ok([one(left)?, one(right)?])
    };
    let found = diff_products(&at, left.plan.is_alike(&right.plan), &RULES)?;
    let parameters = different(&left.plan.fields(), &right.plan.fields());
    if is_json {
        json::print(&Page::of_plans(&left.name, &right.name, &found, parameters))?;
        return Ok(outcome(&found.verdict));
    }
    let (verdict, words) = (&found.verdict, words(a, b));
    let mut text = heading(&left.name, &right.name);
    text += &match (verdict, &found.found) {
        (Verdict::Differs(case, _), Some(([x, y], (of_left, of_right)))) => format!(
            "{} at K = {}: {}\n  {}  →  {} and {}\n",
            style::lost("they differ"),
            found.k,
            verdict.reason(),
            input(&words, case),
            display(&x.d(), *of_left),
            display(&y.d(), *of_right)
        ),
        (Verdict::Same(why), _) => format!("{}: {why}\n", style::good("the same bits for every input")),
        _ => format!("no difference found: {}\n", verdict.reason()),
    };
    text += &table(&parameters, matches!(verdict, Verdict::Same(_)), "plans");
    if let Verdict::Differs(case, _) = verdict {
        for one in [left, right] {
            text += &format!("\n{}\n{}", style::strong(&one.name), followed(&one.plan, case, &words)?);
        }
    }
    output::print(&text)?;
    Ok(outcome(verdict))
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
