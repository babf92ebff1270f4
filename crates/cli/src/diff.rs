//! `bitmma diff`: whether two instructions or models compute the same, and if not, on which input they differ.

mod plans;

use std::path::Path;

use bitmma_analysis::verdict::{Diff, Side, Verdict, diff};
use bitmma_calls::Plan;
use bitmma_engine::Architecture;
use bitmma_engine::catalogue::library::{Product, choose};
use bitmma_engine::formats::Format;
use bitmma_files::reading;
use bitmma_probe::differ::RULES;

use crate::failure::{Failure, Outcome, Within};
use crate::target::{self, Target, read_model};
use crate::{explore, json, meant, output};

const HELP: &str = "\
Each side is an architecture or chip with words that name its instruction (h100 'wgmma f16 f32'), an architecture alone with \
--type (the instruction that a library would run), or a file (*.toml) of a model; or both are files of plans, the arithmetic of \
library calls. Both must take the same formats. Models are compared at the smallest K that both take, plans at K = 16, 32, … 4096.

\"the same bits\" is said only where it is proven: equal parameters, or the rules by which the probe knows that two descriptions \
compute the same. Otherwise the command searches an input on which they differ, and makes it as small as it can.

Examples:
  bitmma diff h100 'wgmma f16 f32' b200 'tcgen05 f16 f32'
  bitmma diff a100 h100 --type bf16
  bitmma diff h100 'mma m16n8k16 f16 f32' mine.toml
  bitmma diff one-plan.toml other-plan.toml

Exit code 0: the same; 1: they differ, or no proof and no such input was found.

JSON: schema, left, right, k, verdict (same, differs or unknown), reason, differences [{parameter, in_left, in_right}], inputs {a, b, c, \
scale_a, scale_b}, results {of_left {value, code, format}, of_right}, differing {normal, adversarial, cases_normal, cases_adversarial}.";

/// Says whether two instructions or models compute the same, and where not
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Arguments {
    /// The two sides, each ARCH INSTRUCTION, ARCH with --type, or FILE.toml of a model or a plan
    #[arg(value_name = "SIDES", required = true, num_args = 1..)]
    sides: Vec<String>,
    /// Compare the instructions that a library would run for this format
    #[arg(long = "type", value_name = "FORMAT", value_parser = target::scaled_format(), hide_possible_values = true)]
    format: Option<(Format, Option<Format>)>,
    #[command(flatten)]
    revision: target::RevisionArgument,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// One of the two sides.
enum One {
    Model(Box<Target>),
    Plan(Box<plans::Named>),
}

/// Whether a file says that it is a plan.
fn is_plan(path: &Path) -> bool {
    let is_format = |line: &str| {
        line.split_once('=')
            .is_some_and(|(key, value)| key.trim() == "format" && value.contains("bitmma-plan/"))
    };
    reading::text(path, "a plan").is_ok_and(|text| text.lines().any(is_format))
}

impl Arguments {
    fn read(&self) -> Result<[One; 2], Failure> {
        let mut words = self.sides.as_slice();
        let mut sides = vec![];
        while let Some((first, rest)) = words.split_first() {
            let (side, rest) = self.side(first, rest)?;
            sides.push(side);
            words = rest;
        }
        let given = output::counted(sides.len(), "side");
        sides.try_into().map_err(|_| {
            Failure::new(format!(
                "diff compares 2 sides, and {given} can be read from '{}'; a side is a chip with words that name its \
                 instruction (h100 'wgmma f16 f32'), a chip alone with --type, or the file of a model or plan (*.toml)",
                self.sides.join(" ")
            ))
        })
    }

    /// One side, and the words after it: those of its instruction are one argument or several.
    fn side<'w>(&self, first: &str, rest: &'w [String]) -> Result<(One, &'w [String]), Failure> {
        let revision = self.revision.revision;
        let one = |target: Target| One::Model(Box::new(target));
        if Path::new(first).extension().is_some_and(|extension| extension == "toml") {
            let path = Path::new(first);
            if is_plan(path) {
                let plan = Plan::read(path)?;
                return Ok((One::Plan(Box::new(plans::Named { name: first.to_owned(), plan })), rest));
            }
            let model = read_model(path)?;
            let target =
                Target { name: first.to_owned(), found: None, model, k: None, options: Default::default() };
            return Ok((One::Model(Box::new(target)), rest));
        }
        if Path::new(first)
            .extension()
            .is_some_and(|extension| extension == "npy" || extension == "safetensors")
        {
            bail!(
                "{first} holds numbers; diff compares instructions, models and plans. \
                 `bitmma which` finds what computed a product, `bitmma explain --element` where two part"
            );
        }
        let architecture: Architecture = first.parse()?;
        let is_side = |word: &String| word.parse::<Architecture>().is_ok() || word.ends_with(".toml");
        let (words, after) = rest.split_at(rest.iter().position(is_side).unwrap_or(rest.len()));
        if !words.is_empty() {
            return Ok((one(Target::of(meant::found(architecture, &words.join(" "))?, revision)?), after));
        }
        let Some((format, scale)) = self.format else {
            bail!("{first} has no instruction after it; name one ('wgmma f16 f32'), or give --type");
        };
        let product = Product::new((format, format), None, scale.map(|scale| (scale, None)));
        Ok((one(Target::of(choose(architecture, &product).within(first)?, revision)?), rest))
    }
}

/// Compares.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let (left, right) = match arguments.read()? {
        [One::Plan(left), One::Plan(right)] => return plans::run(&left, &right, arguments.json),
        [One::Model(left), One::Model(right)] => (*left, *right),
        _ => bail!("a plan is compared with a plan; the other side is none"),
    };
    let side = |target: &Target| Side { name: target.name.clone(), model: target.model.clone(), k: target.k };
    let found = diff(&side(&left), &side(&right), &RULES)
        .map_err(|error| Failure::new(format!("{} and {}: {error}", left.name, right.name)))?;
    if arguments.json {
        json::print(&found)?;
        return Ok(outcome(&found));
    }
    let mut document = found.document();
    if let Verdict::Differs(case, _) = &found.verdict
        && left.found.is_some()
        && right.found.is_some()
    {
        let hint = explore::hint(&[&left.name, &right.name], arguments.revision.revision, case);
        document = document.text(hint);
    }
    output::document(&document)?;
    Ok(outcome(&found))
}

fn outcome(found: &Diff) -> Outcome {
    if matches!(found.verdict, Verdict::Same(_)) { Outcome::Agrees } else { Outcome::Differs }
}
