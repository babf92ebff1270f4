//! What `bitmma verify` prints and writes.

use std::io::Write;
use std::path::Path;

use bitmma_document::{Table, style};
use bitmma_engine::{Case, Error, Fault, Model, Revision, Signature, catalogue, model_of};
use bitmma_verify::campaign::{Identity, Kept, Settled, Shard, Verdict};
use bitmma_verify::recording::{self, Answer};
use serde::Serialize;

use super::{Outcomes, shown};
use crate::failure::Failure;
use crate::json::object;
use crate::recorded::{names, write_case, write_head};
use crate::{explore, json, whole};

/// Digits in groups of three.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn fault(one: &Outcomes) -> Option<Fault> {
    match one.fault {
        Some(Error::Unit { fault, .. }) => Some(fault),
        _ => None,
    }
}

/// What to make of it, in words and as one word.
fn verdict(one: &Outcomes) -> (&'static str, String) {
    if let Some(fault) = fault(one) {
        let text =
            format!("the unit {} after {} of {} blocks", fault.name(), one.summary.blocks, one.summary.of);
        return (fault.name(), style::lost(&text));
    }
    let verdict = one.summary.verdict;
    let words = match verdict {
        Verdict::Agrees => style::good("agrees"),
        Verdict::Incomplete => style::lost("incomplete: blocks are missing, the others agree"),
        Verdict::Differs => {
            style::lost(&format!("differs: {} mismatches", grouped(one.summary.mismatches())))
        }
        Verdict::NanEverywhere => style::lost("every result is NaN, so nothing was verified"),
        Verdict::Constant(code) => {
            style::lost(&format!("every result is {code:#x}, so nothing was verified"))
        }
        Verdict::Nothing => style::lost("no block has results, so nothing was verified"),
    };
    (verdict.name(), words)
}

/// How to look at the first mismatch in the explorer, which has the models of the catalogue.
fn in_browser(one: &Outcomes) -> String {
    let (architecture, instruction) = names(&one.identity.unit);
    let of_catalogue = || {
        let found = catalogue::find(architecture.parse().ok()?, instruction).ok()?;
        model_of(&found, Revision::Hardware).ok()
    };
    let model = of_catalogue().filter(|model| model.to_toml() == one.identity.model);
    match (model, one.summary.kept.first()) {
        (Some(_), Some(kept)) => {
            explore::hint(&[&format!("{architecture} {instruction}")], Revision::Hardware, &kept.case)
        }
        _ => String::new(),
    }
}

/// For people.
pub(super) fn text(outcomes: &[Outcomes]) -> String {
    let mut text = String::new();
    for one in outcomes {
        let summary = &one.summary;
        let (_, words) = verdict(one);
        let mut pairs = vec![("unit", one.identity.unit.clone()), ("takes", one.identity.takes.clone())];
        pairs.extend(one.about.device.clone().map(|device| ("device", device)));
        pairs.extend(one.about.driver.clone().map(|driver| ("driver", driver)));
        let rate = (one.asked as f64 / one.seconds.max(1e-3)) as u64;
        let speed = match one.asked {
            0 => String::new(),
            all if all == summary.dot_products => format!("; {} a second", grouped(rate)),
            asked => format!(", {} of them now; {} a second", grouped(asked), grouped(rate)),
        };
        pairs.push(("dot products", format!("{} compared{speed}", grouped(summary.dot_products))));
        let shard = if one.shard == Shard::WHOLE { String::new() } else { format!("; shard {}", one.shard) };
        pairs.push(("blocks", format!("{} of {}{shard}", summary.blocks, summary.of)));
        if summary.missing.count > 0 {
            pairs.push(("missing", summary.missing.to_string()));
        }
        if let Some(digest) = &summary.digest {
            pairs.push(("digest", digest.clone()));
        }
        pairs.push(("verdict", words));
        text += &Table::pairs(&pairs, 120).render(crate::layout::width());
        if !summary.mismatches.is_empty() {
            let mut table = Table::new(&["family or feature", ">mismatches"]);
            for (kind, count) in &summary.mismatches {
                table.row([kind.clone(), grouped(*count)]);
            }
            text += &format!("\n{}", table.render(crate::layout::width()));
        }
        if let Some(signature) = &one.signature {
            let lines: Vec<String> = shown(summary).iter().map(|kept| kept.line(&signature.d)).collect();
            if !lines.is_empty() {
                text += &format!("\n{}\n{}", lines.join("\n"), in_browser(one));
            }
        }
        if !one.claims.is_empty() {
            let mut table = Table::new(&["rule", "claim", "finding", ">cases that tell", ">agree", "else"]);
            for claim in &one.claims {
                let rivals = claim.rivals.iter().map(|(rival, count)| format!("{rival}: {count}"));
                table.row([
                    claim.rule.to_owned(),
                    claim.claim.clone(),
                    claim.finding().name().to_owned(),
                    grouped(claim.tell),
                    grouped(claim.agree),
                    rivals.collect::<Vec<_>>().join(", "),
                ]);
            }
            text += &format!("\n{}", table.render(crate::layout::width()));
        }
        text.push('\n');
    }
    text
}

/// A result that is not the model's.
#[derive(Serialize)]
struct First<'s> {
    #[serde(flatten)]
    operands: json::Operands,
    expected: json::Coded,
    actual: json::Coded,
    #[serde(flatten)]
    met: Option<Met<'s>>,
}

/// Where a campaign met it.
#[derive(Serialize)]
struct Met<'s> {
    kind: &'s str,
    instruction: u64,
    place: json::Place,
}

impl<'s> First<'s> {
    fn of_claim((case, expected, actual): &(Case, u64, u64), signature: &Signature) -> First<'s> {
        First {
            operands: json::Operands::new(case, signature),
            expected: json::Coded::new(&signature.d, *expected),
            actual: json::Coded::new(&signature.d, *actual),
            met: None,
        }
    }

    fn of_kept(kept: &'s Kept, signature: &Signature) -> First<'s> {
        let (block, row, column) = kept.place;
        let place = json::Place { block, row, column };
        let met = Some(Met { kind: &kept.kind, instruction: kept.instruction, place });
        First { met, ..First::of_claim(&(kept.case.clone(), kept.expected, kept.actual), signature) }
    }
}

/// For programs.
pub(super) fn page(outcomes: &[Outcomes]) -> Result<impl Serialize, Failure> {
    Ok(object! { targets: outcomes.iter().map(unit).collect::<Result<Vec<_>, _>>()? })
}

/// What became of one unit.
fn unit(one: &Outcomes) -> Result<impl Serialize, Failure> {
    let Identity { unit, takes, model: toml, directed, seed, strict_nan, .. } = &one.identity;
    let model = Model::from_toml(toml)?;
    // formats alone matter here
    let signature = Signature::of_model(unit.clone(), &model, (1, 1, 1));
    let claim = |settled: &Settled| {
        object! {
            rule: settled.rule,
            claim: settled.claim.clone(),
            finding: settled.finding().name(),
            instead: settled.instead.clone(),
            tell: settled.tell,
            agree: settled.agree,
            rivals: settled.rivals.clone(),
            first: settled.first.as_ref().map(|first| First::of_claim(first, &signature)),
        }
    };
    let summary = &one.summary;
    Ok(object! {
        target: unit,
        takes: takes,
        device: one.about.device.as_deref(),
        driver: one.about.driver.as_deref(),
        model: object! { #[serde(flatten)] model: json::Model::new(&model, None), toml: toml },
        verdict: verdict(one).0,
        fault: one.fault.as_ref().map(ToString::to_string),
        seed: *seed,
        strict_nan: *strict_nan,
        shard: one.shard.to_string(),
        blocks: summary.blocks,
        of: summary.of,
        missing: &summary.missing,
        directed: *directed,
        dot_products: summary.dot_products,
        mismatches: summary.mismatches(),
        by_kind: &summary.mismatches,
        digest: summary.digest.as_deref(),
        first: summary.kept.iter().map(|kept| First::of_kept(kept, &signature)).collect::<Vec<_>>(),
        claims: one.claims.iter().map(claim).collect::<Vec<_>>(),
        seconds: one.seconds,
    })
}

/// The mismatches as a recording of what the unit returned.
pub(super) fn write_failures(path: &Path, outcomes: &[Outcomes]) -> Result<(), Failure> {
    let mut text = Vec::new();
    let mut head =
        vec![format!("bitmma {} verify: what differs, made as small as it goes", env!("CARGO_PKG_VERSION"))];
    for one in outcomes {
        head.push(format!("unit: {}; seed {}", one.identity.unit, one.identity.seed));
        head.extend(one.about.device.iter().map(|device| format!("device: {device}")));
        head.extend(one.about.driver.iter().map(|driver| format!("driver: {driver}")));
        let (architecture, instruction) = names(&one.identity.unit);
        let model = Model::from_toml(&one.identity.model)?;
        head.push(recording::model_comment(architecture, instruction, &model));
    }
    write_head(&mut text, &head)?;
    for one in outcomes {
        let Some(signature) = &one.signature else { continue };
        for failing in &one.failing {
            let repeats = if failing.repeats { "" } else { "; asked again it agreed" };
            let line = failing.kept.line(&signature.d);
            let expected = recording::hex(&signature.d, &[failing.expected]);
            writeln!(text, "# {line}{repeats}; here the model says {expected}")?;
            let nan = signature.d.is_nan(failing.actual);
            let d = if nan { Answer::Nan } else { Answer::Code(failing.actual) };
            write_case(&mut text, signature, &failing.least, d)?;
        }
    }
    whole::write(path, |file| file.write_all(&text))?;
    Ok(())
}
