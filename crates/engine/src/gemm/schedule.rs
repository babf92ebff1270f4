//! The order of a product: everything between an instruction and D, as one value.
//!
//! A [`Schedule`] comes from the options of [`gemm()`](super::gemm()) or from a library's plan. [`execute`](super::execute)
//! runs it on the kernels, [`element`](super::element()) is its definition, and `bitmma.gpu` runs it on a GPU.

use std::ops::Range;

use bitmma_formats::Format;
use bitmma_kernel::{Ending, Order, ScaleBlocks};
use serde::{Deserialize, Serialize};

use super::check::{Shapes, check, check_integers, check_output};
use super::convert::OutputConversion;
use super::options::GemmOptions;
use super::target::Target;
use crate::error::{Error, option};

/// The order of a product, for one shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// W: the format of sums and factors around the instruction.
    pub working: Format,
    /// What is summed along K.
    pub sums: Sums,
    /// How the parts become one number in W.
    pub merge: Merge,
    /// When C enters.
    pub c: AddC,
    /// FP32 scales of blocks of A and B. With blocks along K each run's result is scaled as it enters its part's sum; else
    /// the merged number is scaled, once.
    pub scale_blocks: Option<ScaleBlocks>,
    /// The factors of the merged number.
    pub factors: Factors,
    /// What D is converted to, from W where anything was done there; `None`: the instruction's D.
    pub output: Option<OutputConversion>,
}

/// What is summed along K.
#[derive(Clone, Debug, PartialEq)]
pub enum Sums {
    /// Results of an instruction.
    Chains {
        /// Part by part: its slices, whose values are added in W in order. A part or a slice without chains is +0.
        parts: Vec<Vec<Slice>>,
        /// Whether the results of a slice's chains are added to a sum in W. Otherwise a slice has one chain at most.
        promoted: bool,
    },
    /// Products of FP32 numbers in threads without a matrix unit.
    Threads(Simt),
}

impl Sums {
    /// How many parts of K there are, none where nothing lies along it; `None` where threads take them.
    pub(super) fn parts(&self) -> Option<usize> {
        match self {
            Sums::Chains { parts, .. } => Some(parts.len()),
            Sums::Threads(_) => None,
        }
    }
}

/// Elements of K that follow each other in a chain, then +0 up to `padded` elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The elements.
    pub range: Range<usize>,
    /// Elements with the +0 behind them, the length of `range` or more.
    pub padded: usize,
}

/// What an instruction runs along, from its start to a result; at its end it is padded to whole instructions.
pub type Chain = Vec<Piece>;

/// Chains whose results are added.
pub type Slice = Vec<Chain>;

/// When C enters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddC {
    /// Not at all.
    Never,
    /// As the accumulator that the only chain starts from.
    First,
    /// As the number that the promoted sum starts from.
    Sum,
    /// It is added in W to what was merged; without a C, +0 is.
    Last,
}

/// The factors of the merged number AB, each operation rounded in W.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Factors {
    /// None.
    One,
    /// t = alpha · AB, u = beta · C (+0 without C), t + u.
    Linear {
        /// A code of W.
        alpha: u64,
        /// A code of W.
        beta: u64,
    },
    /// A library's epilogue.
    Epilogue {
        /// How alpha is applied.
        multiply: Multiply,
        /// A code of W.
        alpha: u64,
        /// A second factor, applied after the first; a code of W.
        result: Option<u64>,
        /// Whether AB · alpha is rounded once, to the output, where there is no second factor.
        once: bool,
    },
}

/// In which order parts are added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MergeOrder {
    /// One part: nothing is added.
    #[default]
    None,
    /// ((p0 + p1) + p2) + … (rule 15).
    Serial,
    /// cuBLASLt's pairs (rule 16).
    Pairwise,
}

/// In which type parts are added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MergeType {
    /// W, to nearest even.
    #[default]
    F32,
    /// The running sum is rounded to D's type after each part (rule 17).
    D,
    /// Each part is rounded to D's type once, the sum is in W (rule 18).
    DPartials,
}

/// Where the sum over parts starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum First {
    /// At the first part, which keeps -0.
    #[default]
    First,
    /// At +0.
    Zero,
}

/// How the parts become one number (rules 15 to 19).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Merge {
    /// The order.
    pub order: MergeOrder,
    /// The type.
    #[serde(rename = "type")]
    pub kind: MergeType,
    /// The start.
    pub start: First,
}

/// How a library's factor is applied (rule 21).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Multiply {
    /// fma(x, alpha, +0): one rounding, an exact zero is +0.
    #[default]
    #[serde(rename = "fma+0")]
    FmaZero,
    /// x · alpha, rounded.
    #[serde(rename = "mul")]
    Mul,
    /// x · alpha, rounded, then + (+0).
    #[serde(rename = "mul-add")]
    MulAdd,
    /// Not at all.
    #[serde(rename = "none")]
    None,
}

/// How the lanes of a SIMT sum are added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fold {
    /// Lane l takes lane l + W/2, then W/4, … 1.
    #[default]
    Halves,
    /// From the first to the last.
    InOrder,
}

/// The kinds of SIMT sum (rules 31 to 33).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SimtFamily {
    /// Threads with a contiguous share of K each (rule 31).
    Chains,
    /// Lanes that take vectors in turn (rule 32).
    Gemv,
    /// Lanes with a contiguous share each, summed in chunks (rule 32, CUSTOM 5).
    GemvSlices,
    /// Blocks of 128 threads and a second kernel (rule 33).
    Dot,
}

/// FP32 sums of ordinary threads: products exact, sums rounded to nearest even, every level from +0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Simt {
    /// The kind.
    pub family: SimtFamily,
    /// Chains: S, threads.
    pub threads: usize,
    /// Chains: B, elements in a sub-block; gemv-slices: elements in a chunk. 0: all.
    pub block: usize,
    /// Gemv, dot: V, elements a lane takes at a time; -v: min(v, ceil(c/W)), c the K of a slice.
    pub vector: i64,
    /// Gemv, gemv-slices: W, lanes.
    pub lanes: usize,
    /// Gemv: CC, tiles in a chunk that is summed alone; 0: one chunk.
    pub tiles: usize,
    /// How lanes are added.
    pub fold: Fold,
    /// SPLITK_NUM: slices of K (gemv) or blocks (dot).
    pub slices: usize,
}

impl Default for Simt {
    fn default() -> Simt {
        Simt {
            family: SimtFamily::Chains,
            threads: 1,
            block: 0,
            vector: 1,
            lanes: 1,
            tiles: 0,
            fold: Fold::Halves,
            slices: 1,
        }
    }
}

impl Schedule {
    /// The schedule of a product of these operands by the points of [the module](super), which are checked here.
    pub fn new(target: &Target, shapes: &Shapes, options: &GemmOptions<'_>) -> Result<Schedule, Error> {
        check(target, shapes, options.scale_blocks)?;
        check_output(options)?;
        check_integers(target, options)?;
        let working = target.working_format();
        let factor = |name: &'static str, code: Option<u64>| match code {
            Some(code) if code > working.max_code() => Err(option(
                name,
                format!("{code:#x}"),
                format!("a code of {working} has {} bits", working.bits()),
            )),
            _ => Ok(code.unwrap_or(working.one_code())),
        };
        let (alpha, beta) = (factor("alpha", options.alpha)?, factor("beta", options.beta)?);
        let has_c = shapes.c.is_some() && beta & !working.sign_bit() != 0;
        let one = working.one_code();
        let unit = alpha == one && (beta == one || !has_c);

        let (blocks, m, k) = shapes.a.1;
        let is_empty = [blocks, m, shapes.b.1.2].contains(&0);
        let parts = parts(target, (k, is_empty), options)?;
        let promoted = options.promote_every.is_some();
        let along_k = options.scale_blocks.is_some_and(|blocks| blocks.k > 0);
        let one_part = parts.len() <= 1 && options.scale_blocks.is_none();
        let last = options.c_last && has_c;
        let c = match () {
            // a sum that starts from +0 is never -0, but a zero that was scaled may be
            _ if unit && !has_c && options.scale_blocks.is_some() => AddC::Never,
            _ if last || !unit || !one_part => AddC::Last,
            _ if promoted => AddC::Sum,
            _ => AddC::First,
        };
        let merge = Merge {
            order: if parts.len() > 1 { MergeOrder::Serial } else { MergeOrder::None },
            ..Merge::default()
        };
        Ok(Schedule {
            working,
            sums: Sums::Chains { parts, promoted: promoted || along_k },
            merge,
            c,
            scale_blocks: options.scale_blocks,
            factors: if unit { Factors::One } else { Factors::Linear { alpha, beta } },
            output: options.output,
        })
    }

    /// Whether C, if there is one, is read.
    pub fn reads_c(&self) -> bool {
        let beta = match self.factors {
            Factors::Linear { beta, .. } => beta & !self.working.sign_bit(),
            _ => 1,
        };
        self.c != AddC::Never && beta != 0
    }

    /// The block of scales along K that a chain has.
    pub(super) fn block_of(&self, chain: &Chain) -> usize {
        let size = self.scale_blocks.map_or(0, |blocks| blocks.k).max(1);
        chain.first().map_or(0, |piece| piece.range.start / size)
    }

    /// The only chain of a product whose result is D, converted; `None` where more is done, or nothing along K.
    pub(super) fn only_chain(&self) -> Option<&Chain> {
        match &self.sums {
            Sums::Chains { parts, promoted: false } if self.is_plain() => parts.first()?.first()?.first(),
            _ => None,
        }
    }

    /// The order of runs and parts of a product that goes once along K and does something in W; `None` where it is no such
    /// order.
    pub(super) fn order(&self, step: usize) -> Option<Order> {
        let Sums::Chains { parts, promoted } = &self.sums else { return None };
        let Merge { order, kind, start } = self.merge;
        let in_turn = order != MergeOrder::Pairwise && kind == MergeType::F32 && start == First::First;
        if self.is_plain() || !in_turn || self.scale_blocks.is_some() {
            return None;
        }
        let (mut runs, mut end) = (Order::new(), 0);
        for part in parts {
            let [slice] = &part[..] else { return None };
            for chain in slice {
                let [Piece { range, padded }] = &chain[..] else { return None };
                if range.start != end {
                    return None;
                }
                end += padded;
                runs.push((end, if *promoted { Ending::Run } else { Ending::Alone }));
            }
            if *promoted {
                runs.last_mut()?.1 = Ending::Part;
            }
        }
        let whole = runs.iter().all(|(end, _)| end.is_multiple_of(step));
        whole.then_some(runs).filter(|runs| !runs.is_empty())
    }

    /// Whether nothing is done in W.
    pub(super) fn is_plain(&self) -> bool {
        self.c == AddC::First
    }
}

/// The parts of K, each one slice of chains; none where D has no elements, beside which K may be any number.
fn parts(
    target: &Target,
    (k, is_empty): (usize, bool),
    options: &GemmOptions<'_>,
) -> Result<Vec<Vec<Slice>>, Error> {
    let step = target.step;
    if target.padded(k).is_none() {
        return Err(option(
            "K",
            k,
            format!("padded to a multiple of {step} it must fit {} bits", usize::BITS),
        ));
    }
    let steps_in = |name, every: usize| match every {
        every if every > 0 && every.is_multiple_of(step) => Ok(every / step),
        every => {
            let allowed =
                format!("{} takes {step} elements along K, so it must be a multiple of that", target.name);
            Err(option(name, every, allowed))
        }
    };
    let run = match (options.promote_every, options.scale_blocks.filter(|blocks| blocks.k > 0)) {
        (None, None) => usize::MAX,
        (Some(every), None) => steps_in("promote_every", every)?,
        (None, Some(_)) if options.split_k.is_some_and(|parts| parts > 1) => {
            let allowed = "scale_blocks along K take the whole of K in one part".to_owned();
            return Err(option("split_k", options.split_k.unwrap_or(1), allowed));
        }
        (None, Some(blocks)) => steps_in("K of scale_blocks", blocks.k)?,
        (Some(every), Some(blocks)) => {
            let allowed = format!("scale_blocks already move the accumulator every {} elements", blocks.k);
            return Err(option("promote_every", every, allowed));
        }
    };
    let steps = k.div_ceil(step);
    let count = match options.split_k {
        None => 1,
        Some(0) => return Err(option("split_k", 0, "K is cut into one part or more".to_owned())),
        Some(parts) => target.parts(k, parts),
    };
    if steps == 0 || is_empty {
        return Ok(Vec::new());
    }
    let (each, more) = (steps / count, steps % count);
    let first = |part: usize| part * each + part.min(more);
    let chains = |part: usize| {
        let end = first(part + 1);
        let cuts = (first(part)..end).step_by(run);
        let piece = |start: usize| {
            let (first, end) = (start * step, start.saturating_add(run).min(end) * step);
            vec![Piece { range: first..end.min(k), padded: end - first }]
        };
        cuts.map(piece).collect()
    };
    Ok((0..count).map(|part| vec![chains(part)]).collect())
}
