//! `bitmma verify`: a unit compared with its model.

mod report;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Instant;

use bitmma_engine::{Error, Signature};
use bitmma_verify::campaign::{
    self, Block, Cut, Failing, Identity, Kept, Plan, Settled, Shard, State, Summary, Verdict,
};
use bitmma_verify::open::{KINDS, model_for};

use crate::count::{MOST, count};
use crate::failure::{Failure, Outcome, Within};
use crate::progress::Bar;
use crate::target::{self, read_model};
use crate::unit::LimitArguments;
use crate::{json, output, whole};

const HELP: &str = "\
The command runs directed cases (zero exponents, signs of zero, overflow, NaN codes, flushing, ties, alignment …), then \
random instructions of ten families in turn. Every instruction is addressed by family, seed and index, so a \
campaign is the same on every machine: with --state it survives kill -9 (--resume), --shard divides it, --merge \
combines the parts, always with the same digest of all results. A mismatch does not stop it.

The model is that of the instruction the unit names, or --against, or --model.

Examples:
  bitmma verify cpu:vdpbf16ps --tests 1e8
  bitmma verify 'exec:python3 unit.py' --model mine.toml --failures failing.csv
  bitmma verify sim:hopper HMMA.16816.F32 HMMA.16816.F16
  bitmma verify cpu:fma.f32 --tests 1e10 --state campaign --shard 3/7 --resume
  bitmma verify --merge campaign/*.jsonl

A line of a state file ends with a checksum: a file that was changed is refused. Where --merge finds no mismatch but \
blocks are missing, the verdict is incomplete, and the missing blocks are named.

Exit code 0: every result agrees; 1: some differ, or no case tells; 2: an error, missing blocks, or a unit that hung, \
died or sent too little.

JSON: schema, targets [{target, takes, device, driver, model {family, parameters, lowering, toml}, verdict, fault, seed, \
strict_nan, shard, blocks, of, missing, directed, dot_products, mismatches, by_kind, digest, first [{a, b, c, scale_a, scale_b, \
expected {value, code, format}, actual {value, code, format}, kind, instruction, place {block, row, column}}], \
claims [{rule, claim, finding, instead, tell, agree, rivals, first {a, b, c, scale_a, scale_b, expected, actual}}], \
seconds}]. Missing blocks are ranges [first, last]. A finding is confirmed, contradicted (another rule explains all), differs (wrong, and no rule explains it) \
or open (no case tells).";

/// Compares a unit with its model on directed cases, then N random ones
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = format!("{HELP}\n\n{KINDS}"))]
pub(crate) struct Arguments {
    /// Unit; with INSTRUCTION, the part of its name before that
    #[arg(value_name = "UNIT", required_unless_present = "merge")]
    unit: Option<String>,
    /// Instructions of the unit, each a campaign of its own
    #[arg(value_name = "INSTRUCTION")]
    instructions: Vec<String>,
    /// Random dot products, as in 1e9
    ///
    /// Rounded up to whole instructions.
    #[arg(long, visible_aliases = ["cases", "count"], value_name = "N", default_value = "1e6", value_parser = count::<u64>(0..=MOST))]
    tests: u64,
    /// Seed of the random instructions
    #[arg(long, hide_short_help = true, default_value = "0", value_parser = count::<u64>(0..=u64::MAX))]
    seed: u64,
    /// Compare with a model from a TOML file
    #[arg(long, value_name = "TOML", conflicts_with_all = ["against", "revision"])]
    model: Option<PathBuf>,
    /// Compare with the model of ARCH/INSTRUCTION
    #[arg(long, value_name = "INSTRUCTION")]
    against: Option<String>,
    #[command(flatten)]
    revision: target::RevisionArgument,
    /// Treat NaNs of different codes as different
    ///
    /// Also where the vendor specifies no code.
    #[arg(long, hide_short_help = true)]
    strict_nan: bool,
    /// Folder for the state of the campaign
    ///
    /// It gets a file for each unit and shard.
    #[arg(long, value_name = "FOLDER")]
    state: Option<PathBuf>,
    /// Continue from the saved state
    #[arg(long, requires = "state")]
    resume: bool,
    /// Run only every N-th block, from the I-th on
    #[arg(long, value_name = "I/N", default_value = "1/1", allow_hyphen_values = true)]
    shard: Shard,
    /// Merge the state files of one campaign
    ///
    /// No unit is asked.
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["unit", "instructions", "tests", "seed", "model", "against", "revision", "strict_nan", "state", "shard", "failures", "start_limit", "batch_limit"])]
    merge: Vec<PathBuf>,
    /// Check the claims of docs/semantics.md one by one
    ///
    /// In which directed cases would another rule show, and what did the unit return there?
    #[arg(long, conflicts_with = "merge")]
    claims: bool,
    /// Write the first mismatches, minimized, as a recording
    #[arg(long, value_name = "CSV")]
    failures: Option<PathBuf>,
    #[command(flatten)]
    limits: LimitArguments,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What came of one unit.
struct Outcomes {
    signature: Option<Signature>,
    about: bitmma_engine::About,
    identity: Identity,
    shard: Shard,
    summary: Summary,
    failing: Vec<Failing>,
    claims: Vec<Settled>,
    fault: Option<Error>,
    /// Dot products that were asked now, not in an earlier run.
    asked: u64,
    seconds: f64,
}

/// Runs it.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    if let Some(path) = &arguments.failures {
        whole::check(path).within(path.display())?;
    }
    let outcomes = match &arguments.unit {
        None => vec![merged(&arguments.merge)?],
        Some(unit) if arguments.instructions.is_empty() => vec![verify(arguments, unit)?],
        Some(unit) => {
            let unit = unit.trim_end_matches('/');
            let one = |instruction: &String| verify(arguments, &format!("{unit}/{instruction}"));
            arguments.instructions.iter().map(one).collect::<Result<_, _>>()?
        }
    };
    let written = match &arguments.failures {
        Some(path) => report::write_failures(path, &outcomes).within(path.display()),
        None => Ok(()),
    };
    if arguments.json {
        json::print(&report::page(&outcomes)?)?;
    } else {
        output::print(&report::text(&outcomes))?;
    }
    // a verdict that took hours is printed whatever became of the file
    written.map_err(|failure| Failure::Reported(failure.to_string()))?;
    if let Some(fault) = outcomes.iter().find_map(|one| one.fault.as_ref()) {
        return Err(Failure::Reported(fault.to_string()));
    }
    for Summary { missing, of, verdict, .. } in outcomes.iter().map(|one| &one.summary) {
        let text = format!("{} of {of} blocks are missing: {missing}", missing.count);
        match verdict {
            Verdict::Incomplete => return Err(Failure::Reported(text)),
            _ if missing.count > 0 => output::note(&text),
            _ => {}
        }
    }
    let agrees = outcomes.iter().all(|one| one.summary.verdict == Verdict::Agrees);
    Ok(if agrees { Outcome::Agrees } else { Outcome::Differs })
}

fn merged(paths: &[PathBuf]) -> Result<Outcomes, Failure> {
    let start = Instant::now();
    let (identity, blocks) = campaign::merge(paths)?;
    let summary = Summary::of(&identity, &blocks, Shard::WHOLE);
    Ok(Outcomes {
        signature: None,
        about: bitmma_engine::About::default(),
        identity,
        shard: Shard::WHOLE,
        summary,
        failing: Vec::new(),
        claims: Vec::new(),
        fault: None,
        asked: 0,
        seconds: start.elapsed().as_secs_f64(),
    })
}

/// Why a campaign ended early.
enum End {
    Unit(Error),
    Other(Failure),
}

impl From<Error> for End {
    fn from(error: Error) -> End {
        match error {
            Error::Unit { .. } => End::Unit(error),
            other => End::Other(other.into()),
        }
    }
}

fn verify(arguments: &Arguments, specification: &str) -> Result<Outcomes, Failure> {
    let start = Instant::now();
    let unit = arguments.limits.open(specification, arguments.revision.revision)?;
    let signature = unit.signature().clone();
    let given = arguments.model.as_deref().map(read_model).transpose()?;
    let model = model_for(&signature, given, arguments.against.as_deref(), arguments.revision.revision)?;
    let plan = Plan::new(&signature, arguments.tests, arguments.seed)?;
    let identity = Identity::of(&plan, &model, arguments.strict_nan);
    let mut state = match &arguments.state {
        None => None,
        Some(folder) => {
            whole::make_folder(folder).within(folder.display())?;
            let path = folder.join(campaign::file_name(&signature.name, arguments.shard));
            Some(State::open(&path, &identity, arguments.resume)?)
        }
    };
    let mut blocks = state.as_ref().map(|state| state.done().clone()).unwrap_or_default();
    let done: BTreeSet<u64> = blocks.keys().copied().collect();
    let known = done.iter().filter(|block| arguments.shard.has(**block)).count() as u64;
    let todo = arguments.shard.share(plan.blocks()) - known;
    let blocks_left = arguments.shard.blocks(plan.blocks()).filter(|block| !done.contains(block));
    let mut asked = 0;
    let bar = Bar::new(&signature.name);
    let Cut { block_size, dot_products_each, .. } = plan.cut();
    let all = plan.dot_products().min(todo.saturating_mul(block_size * dot_products_each));
    let each = |block: Block| -> Result<(), End> {
        asked += block.dot_products;
        bar.show(asked, all, |spent| {
            format!("{asked} dot products, {:.0}/s", asked as f64 / spent.as_secs_f64())
        });
        if let Some(state) = &mut state {
            state.append(block.clone()).map_err(|error| End::Other(error.into()))?;
        }
        blocks.insert(block.block, block);
        Ok(())
    };
    let ended = campaign::run(&plan, &*unit, &model, arguments.strict_nan, blocks_left, each);
    drop(bar);
    let mut fault = match ended {
        Ok(()) => None,
        Err(End::Unit(error)) => Some(error),
        Err(End::Other(failure)) => return Err(failure),
    };
    let summary = Summary::of(&identity, &blocks, arguments.shard);
    let mut failing = Vec::new();
    if arguments.failures.is_some() && fault.is_none() {
        for kept in &summary.kept {
            match campaign::least(&*unit, &model, kept, arguments.strict_nan) {
                Ok(least) => failing.push(least),
                Err(error) => {
                    fault = Some(error);
                    break;
                }
            }
        }
    }
    let mut claims = Vec::new();
    if arguments.claims && fault.is_none() {
        match campaign::settle(&*unit, &model) {
            Ok(settled) => claims = settled,
            Err(error) => fault = Some(error),
        }
    }
    Ok(Outcomes {
        about: unit.about(),
        signature: Some(signature),
        identity,
        shard: arguments.shard,
        summary,
        failing,
        claims,
        fault,
        asked,
        seconds: start.elapsed().as_secs_f64(),
    })
}

/// The first mismatches as they were met.
fn shown(summary: &Summary) -> &[Kept] {
    &summary.kept[..summary.kept.len().min(12)]
}
