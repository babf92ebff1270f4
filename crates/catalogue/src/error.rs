//! What can be wrong with a name.

use thiserror::Error;

use crate::architecture::Architecture;
use crate::chips::Target;

/// Candidates a message prints before it only counts them.
const PRINTED: usize = 40;

/// A name that means nothing here, or more than one thing.
///
/// Not `#[non_exhaustive]`: as `bitmma::Error`, whose kinds faces match in full.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LookupError {
    /// No architecture is called that.
    #[error("unknown architecture '{given}'{}; one of {}", did_you_mean(nearest.as_slice()), architectures())]
    UnknownArchitecture {
        /// What was asked for.
        given: String,
        /// The nearest spelling, if one is near.
        nearest: Option<String>,
    },
    /// A GPU that is known, and not in the catalogue.
    #[error("{given} is not modeled: {}{}{}", target_in_words(given, target.name), target.about, nearest_in_words(target))]
    NotModelled {
        /// What was asked for.
        given: String,
        /// Its compiler target, what that is, and what is nearest to it.
        target: &'static Target,
    },
    /// No revision is called that.
    #[error("unknown revision '{given}'; one of hardware, paper")]
    UnknownRevision {
        /// What was asked for.
        given: String,
    },
    /// No model family is called that.
    #[error("unknown model '{given}'; one of {}", bitmma_arithmetic::family::names(|_| true).join(", "))]
    UnknownModel {
        /// What was asked for.
        given: String,
    },
    /// A name that is known, and is not an instruction of the catalogue.
    #[error("'{given}' {about}")]
    NotAnInstruction {
        /// What was asked for.
        given: String,
        /// What it is, beginning with a verb.
        about: &'static str,
    },
    /// A name with an option that cannot be applied where it was given.
    #[error("'{given}': {option} {why}")]
    Option {
        /// What was asked for.
        given: String,
        /// The option, as it was written.
        option: String,
        /// Why not, beginning with a verb.
        why: String,
    },
    /// The architecture has no instruction of that name.
    #[error(
        "{architecture} has no instruction '{given}'{}{}{}",
        elsewhere_in_words(elsewhere),
        did_you_mean(nearest),
        list_in_words(*architecture, nearest.is_empty() && elsewhere.is_empty())
    )]
    UnknownInstruction {
        /// Where it was looked for.
        architecture: Architecture,
        /// What was asked for.
        given: String,
        /// Up to three spellings of this architecture, nearest first; empty where none is near.
        nearest: Vec<String>,
        /// Architectures that have exactly this instruction.
        elsewhere: Vec<Architecture>,
    },
    /// No instruction of a processor is called that.
    #[error(
        "cpu has no instruction '{given}'{}; there are {}",
        did_you_mean(nearest.as_slice()),
        known.join(", ")
    )]
    UnknownProcessorInstruction {
        /// What was asked for.
        given: String,
        /// The nearest name, if one is near.
        nearest: Option<String>,
        /// All names there are.
        known: Vec<&'static str>,
    },
    /// The spelling leaves open which of several instructions is meant.
    #[error("'{given}' may mean {} instructions of {architecture}:{}", candidates.len(), listed(candidates))]
    Ambiguous {
        /// Where it was looked for.
        architecture: Architecture,
        /// What was asked for.
        given: String,
        /// Names of all instructions it can mean.
        candidates: Vec<String>,
    },
    /// No instruction of the architecture multiplies these formats as a library would.
    #[error("no library multiplies {a} by {b} into {d} on the matrix unit of {architecture}; {offer}")]
    NoInstruction {
        /// Where it was looked for.
        architecture: Architecture,
        /// Format of A.
        a: &'static str,
        /// Format of B.
        b: &'static str,
        /// Format of D.
        d: &'static str,
        /// What there is instead.
        offer: String,
    },
    /// M or N is none of the sizes the instruction has.
    #[error("{dimension} is {given}; {instruction} takes {allowed}")]
    Extent {
        /// `M` or `N`.
        dimension: char,
        /// What was asked for.
        given: usize,
        /// The instruction's name, ranges and all.
        instruction: String,
        /// The sizes in words.
        allowed: String,
    },
}

fn architectures() -> String {
    Architecture::ALL.map(Architecture::name).join(", ")
}

fn did_you_mean(nearest: &[String]) -> String {
    if nearest.is_empty() { String::new() } else { format!("; did you mean {}?", nearest.join(", ")) }
}

/// Where nothing is near, the command that prints what there is.
fn list_in_words(architecture: Architecture, is_needed: bool) -> String {
    if is_needed { format!("; `bitmma list {architecture}` lists them") } else { String::new() }
}

fn target_in_words(given: &str, target: &str) -> String {
    if given.trim().eq_ignore_ascii_case(target) { String::new() } else { format!("{target}, ") }
}

fn nearest_in_words(target: &Target) -> String {
    match (target.nearest, target.compared) {
        (None, _) => format!("; modeled are {}", architectures()),
        (Some(nearest), Some(compared)) => {
            format!(
                "; the nearest that is modeled is {nearest}: {compared}; `bitmma plan` and `bitmma call` compute those calls"
            )
        }
        (Some(nearest), None) => {
            format!(
                "; the nearest that is modeled is {nearest}, and there is no evidence that their results match"
            )
        }
    }
}

fn elsewhere_in_words(elsewhere: &[Architecture]) -> String {
    let names: Vec<_> = elsewhere.iter().map(|architecture| architecture.name()).collect();
    if names.is_empty() { String::new() } else { format!(" (found on {})", names.join(", ")) }
}

/// One a line.
fn listed(candidates: &[String]) -> String {
    let shown: String = candidates.iter().take(PRINTED).map(|name| format!("\n  {name}")).collect();
    match candidates.len().saturating_sub(PRINTED) {
        0 => shown,
        more => format!("{shown}\n  and {more} more"),
    }
}

/// Up to `count` of the offered `(spelling, what to print)`, nearest to `wanted` first; a spelling more
/// than half of which would have to change is not near.
pub(crate) fn nearest(
    wanted: &str,
    offered: impl Iterator<Item = (String, String)>,
    count: usize,
) -> Vec<String> {
    let mut ranked: Vec<(usize, String)> = offered
        .filter(|(spelling, _)| 2 * spelling.len().abs_diff(wanted.len()) <= spelling.len().max(wanted.len()))
        .map(|(spelling, printed)| (strsim::damerau_levenshtein(wanted, &spelling), spelling, printed))
        .filter(|(distance, spelling, _)| 2 * distance <= spelling.len().max(wanted.len()))
        .map(|(distance, _, printed)| (distance, printed))
        .collect();
    let mut best: Vec<String> = Vec::new();
    // the nearest first, equal ones in the tables' order
    while best.len() < count
        && let Some(at) = (0..ranked.len()).min_by_key(|&at| ranked[at].0)
    {
        let (_, printed) = ranked.remove(at);
        if !best.contains(&printed) {
            best.push(printed);
        }
    }
    best
}
