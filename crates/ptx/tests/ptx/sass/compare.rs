//! Kernels run twice: as machine code that ptxas made, and by bitmma. Their bits must be the same, or the kernel refused.

use std::collections::BTreeMap;

use bitmma_ptx::{Argument, Buffer, Compiler, Error, Launch, Limits, Program, Scalar};

use super::assemble::{Compiled, Tools};
use super::evaluate::{Memory, run};
use super::generate::{Entry, Kind, OUTPUTS, SLOT, Wish, head, text};

/// Addresses of the two buffers.
const X: u64 = 0x10_0000_0000;
const Y: u64 = 0x20_0000_0000;

/// Where parameters begin in constant bank 0.
fn parameters_at(target: &str) -> usize {
    match target {
        target if target.starts_with("sm_9") => 0x210,
        target if target.starts_with("sm_10") || target.starts_with("sm_12") => 0x380,
        _ => 0x160,
    }
}

/// How bitmma decides what ptxas fuses: what a campaign measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Way {
    how: How,
    /// Options of ptxas.
    pub(super) options: &'static [&'static str],
}

/// How bitmma knows what ptxas makes of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Predicted,
    Asked,
    Text,
    Off,
}

impl Way {
    /// By the rule, without asking.
    pub(super) const PREDICTED: Way = Way { how: How::Predicted, options: &[] };
    /// By ptxas's code of the text.
    pub(super) const ASKED: Way = Way { how: How::Asked, options: &[] };
    /// Nothing is fused or folded on either side.
    pub(super) const TEXT: Way = Way { how: How::Text, options: &["--fmad=false"] };
    /// Nothing is fused; constants are folded by the rule.
    pub(super) const OFF: Way = Way { how: How::Off, options: &["--fmad=false"] };

    fn compiler(self, tools: &Tools) -> Compiler {
        match self.how {
            How::Asked => Compiler::Asked(tools.asked()),
            How::Predicted => Compiler::Predicted(None),
            How::Text => Compiler::Text,
            How::Off => Compiler::Off,
        }
    }
}

/// What became of a kernel.
#[derive(Clone, Debug)]
pub(super) enum Outcome {
    Equal,
    /// bitmma did not run it, because it is doubtful.
    Doubtful(String),
    /// bitmma did not run it for another reason.
    Refused(String),
    /// The machine code was not understood.
    NotEvaluated(String),
    /// The bytes of the output, expected and actual.
    Differs {
        expected: Vec<u8>,
        actual: Vec<u8>,
    },
}

impl Outcome {
    const COLUMNS: [&'static str; 5] = ["equal", "doubtful", "refused", "not evaluated", "differ"];

    fn column(&self) -> usize {
        match self {
            Outcome::Equal => 0,
            Outcome::Doubtful(_) => 1,
            Outcome::Refused(_) => 2,
            Outcome::NotEvaluated(_) => 3,
            Outcome::Differs { .. } => 4,
        }
    }

    pub(super) fn differs(&self) -> bool {
        matches!(self, Outcome::Differs { .. })
    }
}

/// The output of the machine code.
pub(super) fn machine(
    entry: &Entry,
    compiled: &Compiled,
    name: &str,
    target: &str,
) -> Result<Vec<u8>, String> {
    let function = compiled.functions.get(name).ok_or("no such function")?;
    let at = parameters_at(target);
    let mut launch = vec![0; at + 32];
    for (index, value) in [X, Y, entry.parameter()].into_iter().enumerate() {
        launch[at + 8 * index..at + 8 * index + 8].copy_from_slice(&value.to_le_bytes());
    }
    let mut constants = compiled.constants(name);
    constants.push((0, launch));
    let mut memory = Memory {
        buffers: vec![(X, entry.inputs()), (Y, vec![0; SLOT * OUTPUTS])],
        constants,
        shared: vec![0; 4096],
    };
    run(function, &mut memory)?;
    Ok(memory.buffers.remove(1).1)
}

/// The output that bitmma gives.
fn launched(
    entry: &Entry,
    program: &Program,
    name: &str,
    target: &str,
    compiler: &Compiler,
) -> Result<Vec<u8>, Error> {
    let kernel = program.compiled(Some(name), Some(target), compiler)?;
    let buffer = |bytes, name: &str| Buffer { bytes, name: name.to_owned(), written: false };
    let mut buffers = [buffer(entry.inputs(), "x"), buffer(vec![0; SLOT * OUTPUTS], "y")];
    let bits = entry.parameter();
    let parameter = match entry.kind {
        Kind::F32 => Scalar::Float(f32::from_bits(bits as u32).into()),
        Kind::F64 => Scalar::Float(f64::from_bits(bits)),
        _ => Scalar::Integer(bits.into()),
    };
    let arguments = [
        Argument::Pointer { buffer: 0, offset: 0 },
        Argument::Pointer { buffer: 1, offset: 0 },
        Argument::Scalar(parameter),
    ];
    let launch =
        Launch { limits: Limits { threads: 1, ..Limits::default() }, ..Launch::new(&kernel, [1, 1, 1]) };
    launch.run(&arguments, &mut buffers, &mut || false)?;
    let [_, output] = buffers;
    Ok(output.bytes)
}

/// Compares an entry of a text under a name.
fn outcome(
    entry: &Entry,
    compiled: &Compiled,
    program: &Program,
    name: &str,
    target: &str,
    compiler: &Compiler,
) -> Outcome {
    let actual = match launched(entry, program, name, target, compiler) {
        Ok(actual) => actual,
        Err(Error::Doubtful(doubts)) => {
            return Outcome::Doubtful(doubts.first().map_or(String::new(), ToString::to_string));
        }
        Err(error) => return Outcome::Refused(error.to_string()),
    };
    match machine(entry, compiled, name, target) {
        Err(what) => Outcome::NotEvaluated(what),
        Ok(expected) if expected == actual => Outcome::Equal,
        Ok(expected) => Outcome::Differs { expected, actual },
    }
}

/// Compares entries that make one text.
pub(super) fn outcomes(tools: &Tools, entries: &[Entry], target: &str, way: Way) -> Vec<Outcome> {
    let text = text(entries, target);
    let compiled = match tools.compile(&text, target, way.options) {
        Ok(compiled) => compiled,
        Err(error) => {
            // one entry spoils all: find it
            if let [entry] = entries {
                panic!("ptxas refuses a text of seed {} for {target}:\n{error}\n{text}", entry.seed);
            }
            let (one, other) = entries.split_at(entries.len() / 2);
            let mut both = outcomes(tools, one, target, way);
            both.extend(outcomes(tools, other, target, way));
            return both;
        }
    };
    let program = match Program::parse(&text) {
        Ok(program) => program,
        Err(error) => panic!("bitmma does not read a text: {error}\n{text}"),
    };
    let compiler = way.compiler(tools);
    if let Compiler::Asked(tools) = &compiler {
        program.ask(Some(target), tools).expect("tools that work");
    }
    entries
        .iter()
        .map(|entry| outcome(entry, &compiled, &program, &entry.name(), target, &compiler))
        .collect()
}

/// Which of several kernels differ; they share a text where ptxas takes it.
fn differing(tools: &Tools, candidates: &[Entry], target: &str, way: Way) -> Vec<bool> {
    let names: Vec<String> = (0..candidates.len()).map(|at| format!("candidate{at}")).collect();
    let texts: String = candidates.iter().zip(&names).map(|(candidate, name)| candidate.text(name)).collect();
    let text = head(target) + &texts;
    let Ok(compiled) = tools.compile(&text, target, way.options) else {
        let (one, other) = candidates.split_at(candidates.len() / 2);
        return match one.is_empty() {
            true => vec![false; candidates.len()],
            false => [differing(tools, one, target, way), differing(tools, other, target, way)].concat(),
        };
    };
    let Ok(program) = Program::parse(&text) else { return vec![false; candidates.len()] };
    let compiler = way.compiler(tools);
    let of = |(candidate, name): (&Entry, &String)| {
        outcome(candidate, &compiled, &program, name, target, &compiler).differs()
    };
    candidates.iter().zip(&names).map(of).collect()
}

/// The same kernel with as few instructions as still differ.
pub(super) fn shrunk(tools: &Tools, entry: &Entry, target: &str, way: Way) -> Entry {
    let mut smallest = entry.clone();
    loop {
        let without = |at: usize| {
            let mut candidate = smallest.clone();
            candidate.body.remove(at);
            candidate
        };
        let mut candidates: Vec<Entry> = (0..smallest.body.len()).rev().map(without).collect();
        let differ = differing(tools, &candidates, target, way);
        match differ.iter().position(|differs| *differs) {
            Some(at) => smallest = candidates.swap_remove(at),
            None => return smallest,
        }
    }
}

/// Counts by family, with the seeds that differ.
#[derive(Default)]
pub(super) struct Tally {
    families: BTreeMap<String, [u64; 5]>,
    pub(super) different: Vec<Entry>,
    /// Why kernels were refused or not evaluated, with a seed.
    reasons: BTreeMap<String, (u64, u64)>,
}

impl Tally {
    fn add(&mut self, entry: &Entry, outcome: &Outcome) {
        for family in [entry.family(), "all".to_owned()] {
            self.families.entry(family).or_default()[outcome.column()] += 1;
        }
        match outcome {
            Outcome::Doubtful(what) | Outcome::Refused(what) | Outcome::NotEvaluated(what) => {
                let what: String = what.chars().filter(|one| !one.is_ascii_digit()).take(60).collect();
                let reason = format!("{}: {what}", Outcome::COLUMNS[outcome.column()]);
                self.reasons.entry(reason).or_insert((0, entry.seed)).0 += 1;
            }
            Outcome::Differs { .. } => self.different.push(entry.clone()),
            _ => {}
        }
    }

    pub(super) fn count(&self, column: &str) -> u64 {
        let at = Outcome::COLUMNS.iter().position(|one| *one == column).expect("a column");
        self.families.get("all").map_or(0, |counts| counts[at])
    }

    pub(super) fn kernels(&self) -> u64 {
        self.families.get("all").map_or(0, |counts| counts.iter().sum())
    }

    /// A table, with what was not understood below it.
    pub(super) fn table(&self, title: &str) -> String {
        let mut table = format!("{title:32}");
        for column in Outcome::COLUMNS {
            table.push_str(&format!("{column:>15}"));
        }
        table.push_str("   differ %\n");
        for (family, counts) in &self.families {
            table.push_str(&format!("{family:32}"));
            for count in counts {
                table.push_str(&format!("{count:15}"));
            }
            let sum: u64 = counts.iter().sum();
            table.push_str(&format!("{:11.3}\n", 100.0 * counts[4] as f64 / sum as f64));
        }
        for (reason, (count, seed)) in &self.reasons {
            table.push_str(&format!("  {count} {reason} (seed {seed})\n"));
        }
        table
    }
}

/// Entries of a text: one run of ptxas for all.
const ENTRIES: usize = 100;

/// Compares the kernels of seeds, as long as `goes_on` says so.
pub(super) fn campaign(
    tools: &Tools,
    wish: &Wish,
    way: Way,
    seeds: std::ops::Range<u64>,
    goes_on: &dyn Fn() -> bool,
) -> Tally {
    let mut tally = Tally::default();
    let mut next = seeds.start;
    while next < seeds.end && goes_on() {
        let until = seeds.end.min(next + ENTRIES as u64);
        let entries: Vec<Entry> = (next..until).map(|seed| Entry::of(seed, wish)).collect();
        for (entry, outcome) in entries.iter().zip(outcomes(tools, &entries, &wish.target, way)) {
            tally.add(entry, &outcome);
        }
        next = until;
    }
    tally
}
