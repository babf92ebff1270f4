//! The order of a product as `bitmma.gpu` takes it.

use bitmma_engine::formats::{F32, F64, Overflow, Rounding};
use bitmma_engine::gemm::schedule::{AddC, Factors, Piece, Sums};
use bitmma_engine::gemm::{Described, OutputConversion, Schedule as Plan, Shapes};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::Raised;
use crate::gemm::options;
use crate::unit::Unit;

/// The order of a product: everything between an instruction and D (`bitmma::gemm`).
#[pyclass(frozen, get_all, module = "bitmma._bitmma")]
pub(crate) struct Schedule {
    /// The format of sums and factors around the instruction: f32, or f64.
    working: &'static str,
    /// Part by part, the first instruction along K of each chain and the one after its last.
    parts: Vec<Vec<(usize, usize)>>,
    /// Whether results of a part's chains are added to a sum; otherwise a part is one chain.
    promoted: bool,
    /// When C enters: `never`, `first` (as the accumulator), `sum` (the promoted sum starts from it), `last`.
    c: &'static str,
    /// Rows of A, columns of B and elements of K (0: all) that share an FP32 scale.
    scale_blocks: Option<(usize, usize, usize)>,
    /// alpha and beta, where AB and C are multiplied by them.
    factors: Option<(f64, f64)>,
    /// The format that D is converted to; None: the instruction's.
    output: Option<&'static str>,
    /// How it is converted, where that is not to nearest even with infinity beyond the largest number and the format's NaN.
    converts: Option<String>,
}

/// The schedule of a product of operands of these shapes (batch, rows, columns), which are checked as `gemm` checks them.
#[pyfunction]
#[pyo3(signature = (unit, a, b, c = None, scale_a = None, scale_b = None, **keywords: "Any"))]
pub(crate) fn schedule(
    unit: &Unit,
    a: (usize, usize, usize),
    b: (usize, usize, usize),
    c: Option<(usize, usize, usize)>,
    scale_a: Option<(usize, usize, usize)>,
    scale_b: Option<(usize, usize, usize)>,
    keywords: Option<&Bound<'_, PyDict>>,
) -> PyResult<Schedule> {
    let target = &unit.target;
    let model = target.model();
    let given = options(target, keywords)?;
    let scale = match (given.scale_blocks, model.scale) {
        (Some(_), _) | (_, None) => F32,
        (None, Some(scale)) => scale.format,
    };
    let described = |format, shape: Option<_>| shape.map(|shape| -> Described { (format, shape) });
    let shapes = Shapes {
        a: (model.a, a),
        b: (model.b, b),
        c: described(model.c, c),
        scale_a: described(scale, scale_a),
        scale_b: described(scale, scale_b),
    };
    let plan = Plan::new(target, &shapes, &given).map_err(Raised::from)?;
    let step = target.step();
    let to_double = OutputConversion::nearest(F64).of(plan.working, 1);
    let double = |code| f64::from_bits(to_double(code));
    let Sums::Chains { parts, promoted } = &plan.sums else { unreachable!("an instruction has chains") };
    let steps = |piece: &Piece| (piece.range.start / step, (piece.range.start + piece.padded) / step);
    Ok(Schedule {
        working: plan.working.name,
        parts: parts.iter().map(|slices| slices.iter().flatten().flatten().map(steps).collect()).collect(),
        promoted: *promoted,
        c: match plan.c {
            AddC::Never => "never",
            AddC::First => "first",
            AddC::Sum => "sum",
            AddC::Last => "last",
        },
        scale_blocks: plan.scale_blocks.map(|blocks| (blocks.rows, blocks.columns, blocks.k)),
        factors: match plan.factors {
            Factors::Linear { alpha, beta } => Some((double(alpha), double(beta))),
            _ => None,
        },
        output: plan.output.map(|to| to.conversion.format.name),
        converts: plan.output.and_then(|to| match (to.nan, to.overflow, to.conversion.rounding) {
            (Some(_), ..) => Some("NaN is converted to a code of your own".to_owned()),
            (None, Overflow::Ieee, Rounding::NearestEven) => None,
            (None, overflow, rounding) => {
                let beyond = if overflow == Overflow::Saturate { " saturated" } else { "" };
                Some(format!("results are converted by {rounding}{beyond}"))
            }
        }),
    })
}
