//! Which architectures compute the approximate functions by the models of [`bitmma_functions`], and how that is known.

use std::fmt;
use std::sync::LazyLock;

use bitmma_functions::Function::{self, Ex2, Rcp, Rsqrt};

use crate::architecture::Architecture::{self, Ada, Ampere, Blackwell, Hopper, Turing, Volta};
use crate::architecture::Vendor;

/// Why a model of a function is believed on an architecture, or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FunctionEvidence {
    /// All 2^32 results of a GPU agree with the model.
    Exhaustive {
        /// Who compared them.
        source: String,
    },
    /// Something that a GPU's results imply agrees with the model.
    Consistent {
        /// What was compared.
        why: &'static str,
    },
    /// Some results of a GPU agree with the model.
    Sampled {
        /// Which.
        what: &'static str,
    },
    /// A GPU's results differ from the model.
    Differs {
        /// Where and how many.
        what: String,
    },
    /// Nobody has published a comparison.
    Unknown,
    /// The instruction is another one, which nothing describes.
    NoModel,
}

impl FunctionEvidence {
    /// One word: `exhaustive`, `consistent`, `sampled`, `differs`, `unknown`, `none`.
    pub const fn kind(&self) -> &'static str {
        match self {
            FunctionEvidence::Exhaustive { .. } => "exhaustive",
            FunctionEvidence::Consistent { .. } => "consistent",
            FunctionEvidence::Sampled { .. } => "sampled",
            FunctionEvidence::Differs { .. } => "differs",
            FunctionEvidence::Unknown => "unknown",
            FunctionEvidence::NoModel => "none",
        }
    }
}

impl fmt::Display for FunctionEvidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FunctionEvidence::Exhaustive { source } => write!(f, "exhaustive: {source}"),
            FunctionEvidence::Consistent { why } => write!(f, "consistent: {why}"),
            FunctionEvidence::Sampled { what } => write!(f, "sampled: {what}"),
            FunctionEvidence::Differs { what } => write!(f, "differs: {what}"),
            FunctionEvidence::Unknown => {
                f.write_str("unknown: no comparison with this architecture is published")
            }
            FunctionEvidence::NoModel => f.write_str("no model: AMD's functions are not described anywhere"),
        }
    }
}

/// ptx-math, sm_5x to sm_75.
const PTX_MATH: &str = "all 2^32 inputs on GPUs of sm_5x, sm_6x, sm_70 and sm_75 (B. Carleton, ptx-math)";
const COUNTS: &str = "the numbers of results that are exact, 1 ulp and 2 ulp off, for one binade of rcp and two of \
     rsqrt (2^23 inputs each), equal those that N. Cankaya printed for A100, L40S and H100";
const GB200: &str = "10 of 10 values of a GB200 (flash-attention #2263); correct rounding agrees in 5";

/// The evidence that was published.
fn published(architecture: Architecture, function: Function) -> FunctionEvidence {
    match (architecture, function) {
        (Volta | Turing, _) => FunctionEvidence::Exhaustive { source: PTX_MATH.to_owned() },
        (Ampere | Ada | Hopper, Rcp | Rsqrt) => FunctionEvidence::Consistent { why: COUNTS },
        (Blackwell, Ex2) => FunctionEvidence::Sampled { what: GB200 },
        _ if architecture.vendor() == Vendor::Nvidia => FunctionEvidence::Unknown,
        _ => FunctionEvidence::NoModel,
    }
}

/// A line of `function_evidence.csv`: what a GPU returned for all inputs of a function.
struct Recorded {
    architecture: Architecture,
    function: Function,
    /// Blocks of 2^24 inputs that differ, of those compared.
    differing: u32,
    blocks: u32,
    source: String,
}

/// What `scripts/gpu-session` found, lines `arch,function,form,blocks,differing,device,driver,date`.
static RECORDED: LazyLock<Vec<Recorded>> =
    LazyLock::new(|| include_str!("function_evidence.csv").lines().filter_map(recorded).collect());

/// A line of the file, if it is neither its head nor a comment.
fn recorded(line: &str) -> Option<Recorded> {
    let cells: Vec<&str> = line.split(',').map(str::trim).collect();
    let [architecture, function, form, blocks, differing, device, driver, date] = cells[..] else {
        return None;
    };
    Some(Recorded {
        architecture: architecture.parse().ok()?,
        function: function.parse().ok()?,
        differing: differing.parse().ok()?,
        blocks: blocks.parse().ok()?,
        source: format!("{form} on {device}, {driver}, {date}"),
    })
}

/// How it is known what an architecture computes; recordings of the project come before what others published.
pub fn function_evidence(architecture: Architecture, function: Function) -> FunctionEvidence {
    of(&RECORDED, architecture, function)
}

fn of(recorded: &[Recorded], architecture: Architecture, function: Function) -> FunctionEvidence {
    let ours: Vec<&Recorded> = recorded
        .iter()
        .filter(|line| line.architecture == architecture && line.function == function)
        .collect();
    if let Some(line) = ours.iter().find(|line| line.differing > 0) {
        let what = format!("{} of {} blocks of 2^24 inputs ({})", line.differing, line.blocks, line.source);
        return FunctionEvidence::Differs { what };
    }
    let whole: Vec<&str> =
        ours.iter().filter(|line| line.blocks == 256).map(|line| line.source.as_str()).collect();
    if whole.is_empty() {
        return published(architecture, function);
    }
    FunctionEvidence::Exhaustive { source: format!("all 2^32 inputs of {}", whole.join("; ")) }
}

/// A function was asked of an architecture for which there is no evidence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{function} on {architecture}: {evidence}{}", advice(evidence))]
pub struct NoEvidence {
    /// The function.
    pub function: Function,
    /// The architecture.
    pub architecture: Architecture,
    /// What is known.
    pub evidence: FunctionEvidence,
}

fn advice(evidence: &FunctionEvidence) -> &'static str {
    match evidence {
        FunctionEvidence::NoModel => "",
        _ => "; to use the model of Volta and Turing all the same, assume it",
    }
}

/// What an accepted result rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// What is known.
    pub evidence: FunctionEvidence,
    /// The assumption that was made, if one was needed.
    pub assumed: Option<String>,
}

/// Whether the model may be used for an architecture; `assume`: also where there is no evidence for it.
///
/// # Errors
///
/// [`NoEvidence`] where the evidence is missing and not assumed, and where there is no model.
pub fn accept_function(
    architecture: Architecture,
    function: Function,
    assume: bool,
) -> Result<Accepted, NoEvidence> {
    let evidence = function_evidence(architecture, function);
    let known = matches!(
        evidence,
        FunctionEvidence::Exhaustive { .. }
            | FunctionEvidence::Consistent { .. }
            | FunctionEvidence::Sampled { .. }
    );
    if !known && (!assume || architecture.vendor() != Vendor::Nvidia) {
        return Err(NoEvidence { function, architecture, evidence });
    }
    let assumed = (!known).then(|| format!("{architecture} computes {function} as Volta and Turing do"));
    Ok(Accepted { evidence, assumed })
}

#[cfg(test)]
mod tests {
    use Function::{Cos, Lg2, Sin};

    use super::*;

    #[test]
    fn recordings_come_first() {
        let line = |text| recorded(text).expect("a line");
        let agrees = line("hopper,ex2,ex2.approx.f32,256,0,NVIDIA H100,CUDA driver 13.0,2026-11-24");
        let part = line("hopper,lg2,lg2.approx.f32,16,0,NVIDIA H100,CUDA driver 13.0,2026-11-24");
        let differs = line("volta,sin,sin.approx.f32,256,3,V100,CUDA driver 12.4,2026-11-24");
        let lines = [agrees, part, differs];
        assert_eq!(of(&lines, Hopper, Ex2).kind(), "exhaustive");
        assert_eq!(of(&lines, Hopper, Lg2).kind(), "unknown");
        assert_eq!(of(&lines, Volta, Sin).kind(), "differs");
        assert_eq!(of(&lines, Volta, Cos).kind(), "exhaustive");
        assert_eq!(of(&lines, Architecture::Cdna3, Rcp).kind(), "none");
    }

    #[test]
    fn every_recorded_line_is_read() {
        let text = include_str!("function_evidence.csv");
        let lines = text.lines().filter(|line| !line.starts_with('#')).skip(1).count();
        assert_eq!(RECORDED.len(), lines);
    }

    #[test]
    fn unknown_is_declined_and_may_be_assumed() {
        let error = accept_function(Hopper, Ex2, false).expect_err("unknown");
        assert!(error.to_string().starts_with("ex2 on hopper: unknown"), "{error}");
        assert!(accept_function(Hopper, Ex2, true).expect("assumed").assumed.is_some());
        assert_eq!(accept_function(Hopper, Rcp, true).expect("known").assumed, None);
        assert!(accept_function(Architecture::Cdna3, Rcp, true).is_err());
    }
}
