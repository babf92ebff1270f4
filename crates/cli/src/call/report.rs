//! What `bitmma call` prints.

use bitmma_calls::compare::Comparison;
use bitmma_calls::explain::Explanation;
use bitmma_calls::platform::{Decision, Platform};
use serde_json::{Value, json};

use super::{Arguments, Given};

/// A call that was made.
pub(super) struct Done<'d> {
    pub(super) arguments: &'d Arguments,
    pub(super) platform: Platform,
    pub(super) decision: Decision,
    pub(super) given: &'d Given,
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
    text
}

impl Done<'_> {
    pub(super) fn text(&self) -> String {
        let (m, n, k) = self.given.call(None).shape();
        let (a, b, out) = (self.given.a.format(), self.given.b.format(), self.given.out);
        let mut text = format!(
            "{} on {}: {m}×{k} {a} · {k}×{n} {b} = {m}×{n} {out} in {}\n",
            self.arguments.function.name(),
            self.platform.name(),
            self.arguments.out.display()
        );
        text += &summary(&self.decision);
        if let Some(explanation) = &self.explanation {
            explanation.lines().iter().for_each(|line| text += &format!("  {line}\n"));
        }
        for (platform, decision, comparison) in &self.comparisons {
            text += &format!("\ncompared with {}:\n{}", platform.name(), summary(decision));
            text += &differences(comparison, self.given.out.hex_digits());
        }
        text
    }

    pub(super) fn json(&self) -> Value {
        let (m, n, k) = self.given.call(None).shape();
        let mut value = json!({
            "platform": self.platform.name(), "function": self.arguments.function.name(), "m": m, "n": n, "k": k,
            "a": self.given.a.format().name, "b": self.given.b.format().name, "out": self.given.out.name,
            "fast": self.arguments.fast,
            "explanation": self.explanation.as_ref().map(Explanation::lines),
            "comparisons": self.comparisons.iter().map(|(platform, decision, comparison)| {
                let mut one = json!({
                    "platform": platform.name(),
                    "elements": comparison.elements,
                    "differing": comparison.differing,
                    "share": comparison.differing as f64 / comparison.elements.max(1) as f64,
                    "largest_ulp": comparison.largest_ulp,
                    "first": comparison.first.map(|(row, column, x, y)| json!([row, column, x, y])),
                    "causes": comparison.causes.iter().map(|(name, count)| json!({
                        "exchanged": name, "differing": count,
                    })).collect::<Vec<_>>(),
                });
                crate::output::extend(&mut one, of_decision(decision));
                one
            }).collect::<Vec<_>>(),
        });
        crate::output::extend(&mut value, of_decision(&self.decision));
        value
    }
}

/// Plan, origin, evidence and assumptions as JSON.
pub(crate) fn of_decision(decision: &Decision) -> Value {
    json!({
        "origin": decision.origin,
        "evidence": decision.plan.evidence.name(),
        "source": decision.plan.source,
        "assumed": decision.assumed,
        "plan": decision.plan.to_json(),
    })
}

fn differences(comparison: &Comparison, digits: usize) -> String {
    let Comparison { elements, differing, first, largest_ulp, causes } = comparison;
    let Some((row, column, x, y)) = first else {
        return format!("all {elements} elements agree\n");
    };
    let percent = 100.0 * *differing as f64 / (*elements).max(1) as f64;
    let mut text = format!(
        "{differing} of {elements} elements differ ({percent:.2} %), by up to {largest_ulp} units in the last place; \
         D[{row}, {column}] is {x:0digits$x} here and {y:0digits$x} there\n"
    );
    for (name, count) in causes {
        text += &format!("  with the other's {name} alone: {count} elements differ\n");
    }
    text
}
