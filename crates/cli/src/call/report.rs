//! What `bitmma call` prints.

use std::path::Path;

use bitmma_calls::call::Operands;
use bitmma_calls::compare::{Cause, Comparison};
use bitmma_calls::explain::Explanation;
use bitmma_calls::platform::{Decision, Platform};
use serde::Serialize;

use super::Arguments;
use crate::json::object;

/// A call that was made.
pub(super) struct Done<'d> {
    pub(super) arguments: &'d Arguments,
    pub(super) platform: Platform,
    pub(super) decision: Decision,
    pub(super) given: &'d Operands,
    pub(super) explanation: Option<Explanation>,
    pub(super) comparisons: Vec<(Platform, Decision, Comparison)>,
}

/// Plan, origin and evidence in a few words.
pub(crate) fn summary(decision: &Decision) -> String {
    let plan = &decision.plan;
    let what = match (&plan.instruction, &plan.simt) {
        (Some(instruction), _) => instruction.clone(),
        (None, Some(simt)) => format!("FP32 sums of threads ({:?})", simt.family),
        (None, None) => "a model from a file".to_owned(),
    };
    let parts = match plan.deal.parts {
        1 if plan.deal.chunk > 0 => format!("parts of {} elements", plan.deal.chunk),
        1 => "one part".to_owned(),
        parts => format!("{parts} parts, {:?}, merged {:?}", plan.deal.kind, plan.merge.order).to_lowercase(),
    };
    let promoted = match plan.promote.every {
        0 => String::new(),
        every => format!(", promoted every {every} elements"),
    };
    let scaled =
        plan.blocks.as_ref().map_or(String::new(), |blocks| format!(", scale_blocks {}", blocks.sizes()));
    let mut text = format!("plan: {what}, {parts}{promoted}{scaled}; from {}\n", decision.origin);
    text += &format!("evidence: {} ({})\n", plan.evidence.name(), plan.source);
    for assumption in &decision.assumed {
        text += &format!("assumed: {assumption}\n");
    }
    if let Some(remark) = &decision.remark {
        text += &format!("remark: {remark}\n");
    }
    text
}

/// What was multiplied into which file, and by which plan.
pub(crate) fn product(given: &Operands, out: &Path, decision: &Decision) -> String {
    let (m, n, k) = given.call(None).shape();
    let (a, b, d, file) = (given.a.format(), given.b.format(), given.out, out.display());
    format!("{m}×{k} {a} · {k}×{n} {b} = {m}×{n} {d} in {file}\n{}", summary(decision))
}

impl<'d> Done<'d> {
    pub(super) fn text(&self) -> String {
        let (function, platform) = (self.arguments.function.name(), self.platform.name());
        let product = product(self.given, &self.arguments.out, &self.decision);
        let mut text = format!("{function} on {platform}: {product}");
        if let Some(explanation) = &self.explanation {
            explanation.lines().iter().for_each(|line| text += &format!("  {line}\n"));
        }
        for (platform, decision, comparison) in &self.comparisons {
            text += &format!("\ncompared with {}:\n{}", platform.name(), summary(decision));
            text += &differences(comparison, self.given.out.hex_digits());
        }
        text
    }

    pub(super) fn json(&'d self) -> impl Serialize {
        let compared = |(platform, decision, comparison): &'d (Platform, Decision, Comparison)| {
            object! {
                platform: platform.name(),
                #[serde(flatten)]
                comparison: comparison,
                #[serde(flatten)]
                decision: decision,
            }
        };
        object! {
            function: self.arguments.function.name(),
            #[serde(flatten)]
            call: Called::new(&self.platform, self.given, &self.decision),
            fast: self.arguments.fast,
            explanation: self.explanation.as_ref().map(Explanation::lines),
            comparisons: self.comparisons.iter().map(compared).collect::<Vec<_>>(),
        }
    }
}

/// A product as a platform computes it.
#[derive(Serialize)]
pub(crate) struct Called<'d> {
    platform: String,
    m: usize,
    n: usize,
    k: usize,
    a: &'static str,
    b: &'static str,
    out: &'static str,
    #[serde(flatten)]
    decision: &'d Decision,
}

impl<'d> Called<'d> {
    pub(crate) fn new(platform: &Platform, given: &Operands, decision: &'d Decision) -> Called<'d> {
        let (m, n, k) = given.call(None).shape();
        let (a, b, out) = (given.a.format().name, given.b.format().name, given.out.name);
        Called { platform: platform.name(), m, n, k, a, b, out, decision }
    }
}

fn differences(comparison: &Comparison, digits: usize) -> String {
    let Comparison { elements, differing, share, first, largest_ulp, causes } = comparison;
    let Some((row, column, x, y)) = first else {
        return format!("all {elements} elements agree\n");
    };
    let percent = 100.0 * share;
    let mut text = format!(
        "{differing} of {elements} elements differ ({percent:.2} %), by up to {largest_ulp} units in the last place; \
         D[{row}, {column}] is {x:0digits$x} here and {y:0digits$x} there\n"
    );
    for Cause { exchanged, differing } in causes {
        text += &format!("  with the other's {exchanged} alone: {differing} elements differ\n");
    }
    text
}
