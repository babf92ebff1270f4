//! Which model an AMD instruction has: the paper's two tables for Matrix Cores.

use std::fmt;

use bitmma_arithmetic::{Conversion, InputFlush, Model, Operation, RoundedSum};
use bitmma_formats::{BF16, E4M3FNUZ, E5M2FNUZ, F16, F32, F64, Format, Rounding, XF32};

use crate::architecture::Architecture::{self, Cdna1, Cdna2, Cdna3};
use crate::instruction::Shape;
use crate::revision::Revision;

/// The column "Model" of the paper's table "Models for AMD Matrix Cores", with its parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelColumn {
    /// FMA; no parameter.
    Fma,
    /// E-FDPA; L.
    EFdpa(usize),
    /// FTZ-AddMul; P.
    FtzAddMul(usize),
    /// TR-FDPA; L_max, F, F2 from the table "TR-FDPA and GTR-FDPA parameter selection".
    TrFdpa(usize, u32, u32),
    /// GTR-FDPA; the same.
    GtrFdpa(usize, u32, u32),
}

use ModelColumn::{EFdpa, Fma, FtzAddMul, GtrFdpa, TrFdpa};

/// A row of the paper's table "Models for AMD Matrix Cores", one format or set of formats each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelRow {
    /// Architecture.
    pub architecture: Architecture,
    /// Input type: its formats.
    pub inputs: &'static [Format],
    /// Suffix of the instruction's name; `None` where the table does not ask.
    pub suffix: Option<&'static str>,
    /// Model and parameters.
    pub model: ModelColumn,
    /// rho; for FMA with FP64 inputs RNE-FP64 instead.
    pub conversion: Conversion,
}

const fn row(
    architecture: Architecture,
    inputs: &'static [Format],
    suffix: Option<&'static str>,
    model: ModelColumn,
) -> ModelRow {
    ModelRow { architecture, inputs, suffix, model, conversion: Conversion::RNE_FP32 }
}

/// Paper, tables "Models for AMD Matrix Cores" and "TR-FDPA and GTR-FDPA parameter selection".
// columns: architecture, input type, suffix, model and its parameters
#[rustfmt::skip]
pub const MODELS: [ModelRow; 11] = [
    row(Cdna1, &[F32],      None,        Fma),
    row(Cdna1, &[BF16],     None,        EFdpa(2)),
    row(Cdna1, &[F16],      None,        EFdpa(4)),
    row(Cdna2, &[F64, F32], None,        Fma),
    row(Cdna2, &[BF16],     Some(""),    FtzAddMul(2)),
    row(Cdna2, &[BF16],     Some("_1k"), FtzAddMul(4)),
    row(Cdna2, &[F16],      None,        FtzAddMul(4)),
    row(Cdna3, &[F64, F32], None,        Fma),
    row(Cdna3, &[XF32],     None,        TrFdpa(4, 24, 31)),
    row(Cdna3, &[BF16, F16], None,       TrFdpa(8, 24, 31)),
    row(Cdna3, &[E5M2FNUZ, E4M3FNUZ], None, GtrFdpa(16, 24, 31)),
];

/// As the paper's tables print it, with bars between the columns: architecture, formats, suffix where
/// asked, model, parameters, rho.
impl fmt::Display for ModelRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ModelRow { architecture, inputs, suffix, model, conversion } = self;
        let inputs: Vec<_> = inputs.iter().map(|format| format.name).collect();
        let suffix = match suffix {
            None => "",
            Some("") => " (w/o _1k)",
            Some(_) => " (w/ _1k)",
        };
        write!(f, "{architecture} | {}{suffix} | ", inputs.join("/"))?;
        match model {
            Fma => write!(f, "FMA | N/A"),
            EFdpa(length) => write!(f, "E-FDPA | L={length} | {conversion}"),
            FtzAddMul(pairing) => write!(f, "FTZ-AddMul | P={pairing} | {conversion}"),
            TrFdpa(length, bits, sum_bits) => {
                write!(f, "TR-FDPA | {length} | {bits} | {sum_bits} | {conversion}")
            }
            GtrFdpa(length, bits, sum_bits) => {
                write!(f, "GTR-FDPA | {length} | {bits} | {sum_bits} | {conversion}")
            }
        }
    }
}

/// A product of this exponent or more becomes infinity in TR-FDPA (paper, "Special Value Handling"); no
/// product of two FP8 numbers comes near it.
pub const PRODUCT_OVERFLOW: i32 = 128;

/// The exponent of a zero accumulator in TR- and GTR-FDPA (revision `hardware`).
pub const ZERO_ACCUMULATOR_EXPONENT: i32 = -126;

fn rounded(max_length: usize, fraction_bits: u32, sum_fraction_bits: u32, revision: Revision) -> RoundedSum {
    let hardware = revision == Revision::Hardware;
    RoundedSum {
        max_length,
        fraction_bits,
        sum_fraction_bits,
        term_rounding: Rounding::TowardZero,
        sum_rounding: Rounding::Down,
        renormalize: hardware,
        zero_accumulator_exponent: hardware.then_some(ZERO_ACCUMULATOR_EXPONENT),
        product_overflow: Some(PRODUCT_OVERFLOW),
    }
}

/// The model of an instruction whose name ends in `suffix`.
///
/// # Panics
///
/// If the table above has no row for it: a promise we broke ourselves.
pub(crate) fn model(architecture: Architecture, shape: &Shape, suffix: &str, revision: Revision) -> Model {
    let Shape { k, a, b, c, .. } = *shape;
    if a.is_integer() {
        return Model::new(a, b, c, Operation::EFdpa { max_length: k }, Conversion::S32);
    }
    let row = MODELS
        .iter()
        .filter(|row| row.architecture == architecture && row.inputs.contains(&a))
        .find(|row| row.suffix.is_none_or(|wanted| wanted == suffix))
        .unwrap_or_else(|| panic!("no parameters for {a}{suffix} on {architecture}"));
    let operation = match row.model {
        Fma => Operation::Fma,
        EFdpa(max_length) => Operation::EFdpa { max_length },
        FtzAddMul(pairing) => Operation::FtzAddMul { pairing },
        TrFdpa(length, bits, sum_bits) => Operation::TrFdpa(rounded(length, bits, sum_bits, revision)),
        GtrFdpa(length, bits, sum_bits) => Operation::GtrFdpa(rounded(length, bits, sum_bits, revision)),
    };
    let conversion = if a == F64 { Conversion::RNE_FP64 } else { row.conversion };
    let flush = if matches!(row.model, FtzAddMul(_)) { InputFlush::Positive } else { InputFlush::Never };
    Model::new(a, b, c, operation, conversion).flushing(flush)
}
