//! `bitmma diff`: whether two instructions or models compute the same, and if not, on which input they differ.

use std::path::Path;

use bitmma_analysis::describe::input;
use bitmma_analysis::discrepancy::{Difference, comparable, matrix, simpler, smallest};
use bitmma_analysis::subject::{Subject, essence};
use bitmma_engine::arithmetic::Operands;
use bitmma_engine::catalogue::library::{Product, choose};
use bitmma_engine::formats::Format;
use bitmma_engine::formats::text::display;
use bitmma_engine::{Architecture, Case, Model, Signature};
use bitmma_probe::differ;
use serde::Serialize;

use crate::failure::{Failure, Outcome, Within};
use crate::table::Table;
use crate::target::{self, Target, read_model};
use crate::values::Inputs;
use crate::{describe, explain, json, meant, output, style};

const HELP: &str = "\
Each side is an architecture or chip with words that name its instruction (h100 'wgmma f16 f32'), an architecture alone with \
--type (the instruction that a library would run), or a model's file (*.toml). Both must take the same formats. They are \
compared at the smallest K that both take.

\"the same bits\" is said only where it is proven: equal parameters, or the rules by which the probe knows that two descriptions \
compute alike. Otherwise an input is searched on which they differ, as small as it goes.

Examples:
  bitmma diff h100 'wgmma f16 f32' b200 'tcgen05 f16 f32'
  bitmma diff a100 h100 --type bf16
  bitmma diff h100 'mma m16n8k16 f16 f32' mine.toml

Exit code 0: the same; 1: they differ, or no proof and no such input was found.

JSON: schema, left, right, k, verdict (same, differs or unknown), reason, differences [{parameter, in_left, in_right}], inputs {a, b, c, \
scale_a, scale_b}, results {of_left {value, code, format}, of_right}, differing {normal, adversarial, cases_normal, cases_adversarial}.";

/// Says whether two instructions or models compute the same; if not, where and how often they differ
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Arguments {
    /// The two sides, each ARCH INSTRUCTION, ARCH with --type, or FILE.toml
    #[arg(value_name = "SIDES", required = true, num_args = 2..=4)]
    sides: Vec<String>,
    /// Format of A and B: the instruction that a library would run for it
    #[arg(long = "type", value_name = "FORMAT", value_parser = target::format(bitmma_engine::formats::FORMATS.to_vec()), hide_possible_values = true)]
    format: Option<Format>,
    #[command(flatten)]
    revision: target::RevisionArgument,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Inputs of each kind that the search for the smallest tries.
const BUDGET: u64 = 200_000;
/// Constructed inputs that are tried after it.
const TRIES: u64 = 100_000;
/// Inputs of every family on which the share is counted.
const EACH: u64 = 2_000;
const SEED: u64 = 1;

impl Arguments {
    fn read(&self) -> Result<[Target; 2], Failure> {
        let mut words = self.sides.as_slice();
        let mut sides = vec![];
        while let Some((first, rest)) = words.split_first() {
            let (side, rest) = self.side(first, rest)?;
            sides.push(side);
            words = rest;
        }
        let count = sides.len();
        sides.try_into().map_err(|_| {
            Failure::new(format!(
                "{count} sides are given, and diff compares 2; quote the words of an instruction: 'wgmma f16 f32'"
            ))
        })
    }

    /// One side, and the words after it.
    fn side<'w>(&self, first: &str, rest: &'w [String]) -> Result<(Target, &'w [String]), Failure> {
        let revision = self.revision.revision;
        if Path::new(first).extension().is_some_and(|extension| extension == "toml") {
            let model = read_model(Path::new(first))?;
            return Ok((
                Target { name: first.to_owned(), found: None, model, k: None, options: Default::default() },
                rest,
            ));
        }
        let architecture: Architecture = first.parse()?;
        match rest.split_first() {
            Some((words, after)) if words.parse::<Architecture>().is_err() && !words.ends_with(".toml") => {
                Ok((Target::of(meant::found(architecture, words)?, revision)?, after))
            }
            _ => {
                let Some(format) = self.format else {
                    bail!("{first} has no instruction after it; name one ('wgmma f16 f32'), or give --type");
                };
                let found =
                    choose(architecture, &Product::new((format, format), None, None)).within(first)?;
                Ok((Target::of(found, revision)?, rest))
            }
        }
    }
}

/// What a comparison came to.
enum Verdict {
    /// No input tells them apart; why.
    Same(&'static str),
    /// An input on which they differ; whether no simpler one does.
    Differs(Case, bool),
    /// Neither; inputs tried.
    Unknown(u64),
}

fn verdict(left: &Model, right: &Model, k: usize) -> Result<Verdict, Failure> {
    let formats = |model: &Model| model.d;
    if formats(left) == formats(right) {
        if essence(left, k) == essence(right, k) {
            return Ok(Verdict::Same("the models are equal"));
        }
        if differ::equivalent(left, right, k) {
            return Ok(Verdict::Same(
                "the parameters that differ change no result: no operand reaches what they decide",
            ));
        }
    }
    let tried = match smallest(left, right, k, BUDGET, SEED)? {
        Difference::Found { case, smallest, .. } => return Ok(Verdict::Differs(case, smallest)),
        Difference::Never { tried: 0 } => return Ok(Verdict::Same("the models are equal")),
        Difference::Never { .. } => return Ok(Verdict::Same("every input was tried")),
        Difference::NotFound { tried } => tried,
    };
    if left.d == right.d
        && let Some(case) = differ::differing(left, right, k, SEED, TRIES)
        && let Some(case) = simpler(left, right, &case)?
    {
        return Ok(Verdict::Differs(case, false));
    }
    Ok(Verdict::Unknown(tried + TRIES))
}

fn result(model: &Model, case: &Case) -> Option<u64> {
    let Case { a, b, c, scale_a, scale_b } = case;
    model.dot(&Operands { a, b, c: *c, scale_a, scale_b }).ok()
}

/// A parameter that is not the same on both sides.
#[derive(Serialize)]
struct Parameter {
    parameter: String,
    in_left: String,
    in_right: String,
}

fn parameters(left: &Target, right: &Target, k: usize) -> Vec<Parameter> {
    let all = |target: &Target| {
        let model = &target.model;
        let mut all = vec![
            ("model".to_owned(), model.operation.name().to_owned()),
            ("D".to_owned(), model.d.name.to_owned()),
            ("around it".to_owned(), describe::lowering(&model.lowering).join("; ")),
        ];
        let k = target.k.unwrap_or(k);
        let parameters = describe::parameters(model, Some(k)).into_iter();
        // L_max says nothing beyond L
        let told = parameters.filter(|one| one.symbol != "L_max");
        all.extend(told.map(|one| (one.symbol.to_owned(), one.text())));
        all
    };
    let (left, right) = (all(left), all(right));
    let value = |side: &[(String, String)], name: &str| {
        side.iter().find(|(other, _)| other == name).map_or("none".to_owned(), |(_, value)| value.clone())
    };
    let mut names: Vec<&String> = left.iter().chain(&right).map(|(name, _)| name).collect();
    let mut seen: Vec<&String> = vec![];
    names.retain(|name| {
        let is_new = !seen.contains(name);
        seen.push(name);
        is_new
    });
    let differ = |name: &&String| {
        let [in_left, in_right] = [&left, &right].map(|side| value(side, name));
        (in_left != in_right).then(|| Parameter { parameter: (*name).clone(), in_left, in_right })
    };
    names.iter().filter_map(differ).collect()
}

/// The smallest K that both take.
fn common(left: &Target, right: &Target) -> usize {
    let step = |target: &Target| {
        target.k.unwrap_or_else(|| {
            let longest = target.model.operation.max_length();
            target.model.scale.map_or(longest, |scale| longest.next_multiple_of(scale.size))
        })
    };
    let (mut x, mut y) = (step(left).clamp(1, 1 << 12), step(right).clamp(1, 1 << 12));
    let product = x * y;
    while y != 0 {
        (x, y) = (y, x % y);
    }
    product / x
}

/// Compares.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let [left, right] = arguments.read()?;
    comparable(&left.model, &right.model)
        .map_err(|error| Failure::new(format!("{} and {}: {error}", left.name, right.name)))?;
    let k = common(&left, &right);
    // the instruction's own K sets how many products are summed at once; from then on it is chained
    let chained = |target: &Target| {
        let mut model = target.model.clone();
        if let Some(own) = target.k {
            model.operation = model.operation.with_length(model.length(own));
        }
        model
    };
    let [x, y] = [chained(&left), chained(&right)];
    let verdict = verdict(&x, &y, k)?;
    let parameters = parameters(&left, &right, k);
    let is_same = matches!(verdict, Verdict::Same(_));
    let share = if is_same { None } else { Some(Share::of([&x, &y], k)?) };
    let results = match &verdict {
        Verdict::Differs(case, _) => result(&x, case).zip(result(&y, case)),
        _ => None,
    };
    let (word, why) = match &verdict {
        Verdict::Same(why) => ("same", (*why).to_owned()),
        Verdict::Differs(_, true) => ("differs", "no simpler input that was tried differs".to_owned()),
        Verdict::Differs(_, false) => ("differs", "there may be a simpler input".to_owned()),
        Verdict::Unknown(tried) => {
            ("unknown", format!("{tried} inputs show no difference, and there is no proof"))
        }
    };
    if arguments.json {
        let operands = match &verdict {
            Verdict::Differs(case, _) => {
                let signature = Signature::of_model(String::new(), &x, (1, 1, k));
                Some(json::Operands::new(case, &signature))
            }
            _ => None,
        };
        let results = results.map(|(of_left, of_right)| {
            let (of_left, of_right) = (json::Coded::new(&x.d, of_left), json::Coded::new(&y.d, of_right));
            json::object! { of_left: of_left, of_right: of_right }
        });
        json::print(&json::object! {
            left: &left.name,
            right: &right.name,
            k: k,
            verdict: word,
            reason: why,
            differences: parameters,
            inputs: operands,
            results: results,
            differing: share,
        })?;
    } else {
        let mut text = format!("{}\n{}\n\n", style::strong(&left.name), style::strong(&right.name));
        text += &match &verdict {
            Verdict::Same(_) => format!(
                "{}: {why}{}\n",
                style::good("same model: the same bits for every input"),
                if x.nan_code == y.nan_code { "" } else { "; only the codes of NaN differ" }
            ),
            Verdict::Unknown(_) => format!("no difference found: {why}\n"),
            Verdict::Differs(case, _) => format!(
                "{} at K = {k}: {}\n  {}  →  {} and {}\n",
                style::lost("they differ"),
                why,
                input(&x, case),
                results.map_or(String::new(), |(d, _)| display(&x.d, d)),
                results.map_or(String::new(), |(_, d)| display(&y.d, d)),
            ),
        };
        if let Some(share) = &share {
            text += &share.text();
        }
        text += &table(&parameters, is_same);
        if let Verdict::Differs(case, _) = &verdict {
            for (side, model) in [(left, x), (right, y)] {
                let side = Target { model, k: Some(k), ..side };
                let inputs = Inputs { case: case.clone(), notes: vec![] };
                text += &format!("\n{}", explain::picture(&side, &inputs)?);
            }
        }
        output::print(&text)?;
    }
    Ok(if is_same { Outcome::Agrees } else { Outcome::Differs })
}

fn table(parameters: &[Parameter], is_same: bool) -> String {
    if parameters.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&["parameter", "first", "second"]);
    for one in parameters {
        table.row([style::strong(&one.parameter), one.in_left.clone(), one.in_right.clone()]);
    }
    let heading =
        if is_same { "written differently, without effect:" } else { "what differs in the models:" };
    format!("\n{heading}\n{}", table.render())
}

/// How often two models differ.
#[derive(Serialize)]
struct Share {
    normal: u64,
    adversarial: u64,
    cases_normal: u64,
    cases_adversarial: u64,
}

impl Share {
    fn of(models: [&Model; 2], k: usize) -> Result<Share, Failure> {
        let subjects = models.map(|model| Subject::of_model("", model.clone(), k)).to_vec();
        let found = matrix(subjects, EACH, SEED)?;
        let (cases_adversarial, cases_normal) = found.cases;
        let (adversarial, normal) =
            found.differing.first().and_then(|row| row.get(1)).copied().unwrap_or_default();
        Ok(Share { normal, adversarial, cases_normal, cases_adversarial })
    }

    fn text(&self) -> String {
        let Share { normal, adversarial, cases_normal, cases_adversarial } = self;
        format!(
            "of {cases_normal} inputs from N(0,1), {normal} differ; of {cases_adversarial} adversarial ones, {adversarial}\n"
        )
    }
}
