//! Which model an NVIDIA instruction has: the paper's tables for T-, ST- and GST-FDPA, row for row, and
//! the exponent of zero terms.

use std::fmt;

use bitmma_arithmetic::{Conversion, FusedSum, Model, Operation};
use bitmma_formats::{F16, F32, F64, Format, Rounding};

use super::sets::{FP4, FP8, FP8_6_4, ONLY_BF16, ONLY_FP16, ONLY_TF32};
use crate::architecture::Architecture::{self, Ada, Ampere, Blackwell, Hopper, RtxBlackwell, Turing, Volta};
use crate::instruction::Shape;
use crate::revision::Revision;

/// A column "Input Type" of the paper's tables: formats of A and B, and whether there are scale factors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input {
    /// As the paper prints it.
    pub name: &'static str,
    /// Formats A and B may have.
    pub formats: &'static [Format],
    /// Whether A and B have scale factors.
    pub scaled: bool,
}

const fn input(name: &'static str, formats: &'static [Format], scaled: bool) -> Input {
    Input { name, formats, scaled }
}

const TF32_: Input = input("TF32", ONLY_TF32, false);
const BF16_: Input = input("BF16", ONLY_BF16, false);
const FP16_: Input = input("FP16", ONLY_FP16, false);
const FP8_: Input = input("FP8", FP8, false);
const FP864: Input = input("FP8/6/4", FP8_6_4, false);
const MX864: Input = input("MXFP8/6/4", FP8_6_4, true);
const MX4NV4: Input = input("MXFP4/NVFP4", FP4, true);

/// A row of the paper's table "T-FDPA and ST-FDPA parameter selection".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FusedRow {
    /// Architecture.
    pub architecture: Architecture,
    /// Input type.
    pub input: Input,
    /// Output type.
    pub output: Format,
    /// L_max, elements.
    pub max_length: usize,
    /// F, bits.
    pub fraction_bits: u32,
    /// rho.
    pub conversion: Conversion,
}

const fn fused(
    architecture: Architecture,
    input: Input,
    output: Format,
    max_length: usize,
    fraction_bits: u32,
    conversion: Conversion,
) -> FusedRow {
    FusedRow { architecture, input, output, max_length, fraction_bits, conversion }
}

const RZ_FP32: Conversion = Conversion::RZ_FP32;
const RZ_E8M13: Conversion = Conversion::RZ_E8M13;
const RNE_FP16: Conversion = Conversion::RNE_FP16;

/// Paper, table "T-FDPA and ST-FDPA parameter selection by architecture and input/output type".
// columns: architecture, input type, output type, L_max, F, rho
#[rustfmt::skip]
pub const FUSED: [FusedRow; 34] = [
    fused(Volta,        FP16_, F32,  4, 23, RZ_FP32),
    fused(Volta,        FP16_, F16,  4, 23, RNE_FP16),
    fused(Turing,       FP16_, F32,  8, 24, RZ_FP32),
    fused(Turing,       FP16_, F16,  8, 24, RNE_FP16),
    fused(Ampere,       TF32_, F32,  4, 24, RZ_FP32),
    fused(Ampere,       BF16_, F32,  8, 24, RZ_FP32),
    fused(Ampere,       FP16_, F32,  8, 24, RZ_FP32),
    fused(Ampere,       FP16_, F16,  8, 24, RNE_FP16),
    fused(Ada,          TF32_, F32,  4, 24, RZ_FP32),
    fused(Ada,          BF16_, F32,  8, 24, RZ_FP32),
    fused(Ada,          FP16_, F32,  8, 24, RZ_FP32),
    fused(Ada,          FP16_, F16,  8, 24, RNE_FP16),
    fused(Ada,          FP8_,  F32, 16, 13, RZ_E8M13),
    fused(Ada,          FP8_,  F16, 16, 13, RNE_FP16),
    fused(Hopper,       TF32_, F32,  8, 25, RZ_FP32),
    fused(Hopper,       BF16_, F32, 16, 25, RZ_FP32),
    fused(Hopper,       FP16_, F32, 16, 25, RZ_FP32),
    fused(Hopper,       FP16_, F16, 16, 25, RNE_FP16),
    fused(Hopper,       FP8_,  F32, 32, 13, RZ_E8M13),
    fused(Hopper,       FP8_,  F16, 32, 13, RNE_FP16),
    fused(Blackwell,    TF32_, F32,  8, 25, RZ_FP32),
    fused(Blackwell,    BF16_, F32, 16, 25, RZ_FP32),
    fused(Blackwell,    FP16_, F32, 16, 25, RZ_FP32),
    fused(Blackwell,    FP16_, F16, 16, 25, RNE_FP16),
    fused(Blackwell,    FP864, F32, 32, 25, RZ_FP32),
    fused(Blackwell,    FP864, F16, 32, 25, RNE_FP16),
    fused(Blackwell,    MX864, F32, 32, 25, RZ_FP32),
    fused(RtxBlackwell, TF32_, F32,  8, 25, RZ_FP32),
    fused(RtxBlackwell, BF16_, F32, 16, 25, RZ_FP32),
    fused(RtxBlackwell, FP16_, F32, 16, 25, RZ_FP32),
    fused(RtxBlackwell, FP16_, F16, 16, 25, RNE_FP16),
    fused(RtxBlackwell, FP864, F32, 32, 25, RZ_FP32),
    fused(RtxBlackwell, FP864, F16, 32, 25, RNE_FP16),
    fused(RtxBlackwell, MX864, F32, 32, 25, RZ_FP32),
];

/// As the paper's table prints it, with bars between the columns.
impl fmt::Display for FusedRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FusedRow { architecture, input, output, max_length, fraction_bits, conversion } = self;
        let (input, output) = (input.name, output.name.replace('f', "FP"));
        write!(f, "{architecture} | {input} | {output} | {max_length} | {fraction_bits} | {conversion}")
    }
}

/// A row of the paper's table "GST-FDPA parameter selection".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupRow {
    /// Architecture.
    pub architecture: Architecture,
    /// Input type.
    pub input: Input,
    /// L, elements.
    pub max_length: usize,
    /// G, elements.
    pub group: usize,
    /// F, bits.
    pub fraction_bits: u32,
    /// rho.
    pub conversion: Conversion,
}

/// Paper, table "GST-FDPA parameter selection".
#[rustfmt::skip]
pub const GROUPED: [GroupRow; 2] = [
    GroupRow { architecture: Blackwell,    input: MX4NV4, max_length: 64, group: 16, fraction_bits: 35, conversion: RZ_FP32 },
    GroupRow { architecture: RtxBlackwell, input: MX4NV4, max_length: 64, group: 16, fraction_bits: 35, conversion: RZ_FP32 },
];

/// As the paper's table prints it, with bars between the columns.
impl fmt::Display for GroupRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let GroupRow { architecture, input, max_length, group, fraction_bits, conversion } = self;
        write!(f, "{architecture} | {} | {max_length} | {group} | {fraction_bits} | {conversion}", input.name)
    }
}

/// e_zero, the exponent of a zero term (revision `hardware`): architectures, with FP32 output, with FP16
/// output.
pub const ZERO_EXPONENTS: [(&[Architecture], i32, i32); 3] = [
    (&[Volta], -131, -19),
    (&[Turing, Ampere, Ada], -132, -20),
    (&[Hopper, Blackwell, RtxBlackwell], -133, -21),
];

/// e_zero of GST-FDPA (revision `hardware`).
pub const GROUPED_ZERO_EXPONENT: i32 = -139;

/// The code of every NaN that T-, ST- and GST-FDPA give (paper, "Special Value Handling").
pub const NAN_CODES: [(Format, u64); 2] = [(F32, 0x7FFF_FFFF), (F16, 0x7FFF)];

/// What the PTX rounding modifiers of FP64 mean.
pub const FP64_ROUNDINGS: [(&str, Rounding); 4] = [
    ("rn", Rounding::NearestEven),
    ("rz", Rounding::TowardZero),
    ("rm", Rounding::Down),
    ("rp", Rounding::Up),
];

/// The PTX modifier of integers that clamps a result beyond S32; without it the result wraps.
pub const SATURATES: &str = "satfinite";

/// e_zero for T- and ST-FDPA on `unit`'s matrix unit.
fn zero_exponent(unit: Architecture, output: Format) -> Option<i32> {
    let row = ZERO_EXPONENTS.into_iter().find(|(architectures, ..)| architectures.contains(&unit));
    row.map(|(_, fp32, fp16)| if output == F16 { fp16 } else { fp32 })
}

/// The canonical NaN of T-, ST- and GST-FDPA and of the conversions and additions around them.
pub(crate) fn nan_code(output: Format) -> Option<u64> {
    NAN_CODES.into_iter().find(|(format, _)| *format == output).map(|(_, code)| code)
}

/// The model of an instruction of `shape` that runs on `unit`'s matrix unit; `modifier` is PTX's: the rounding of FP64,
/// `satfinite` of integers.
///
/// # Panics
///
/// If the tables above have no row for it: a promise we broke ourselves.
pub(crate) fn model(unit: Architecture, shape: Shape, modifier: &str, revision: Revision) -> Model {
    let Shape { k, a, b, c, d, scale, .. } = shape;
    if d.is_integer() {
        let conversion = Conversion { saturate: modifier == SATURATES, ..Conversion::S32 };
        return Model::new(a, b, c, Operation::EFdpa { max_length: k }, conversion);
    }
    if a == F64 {
        let named = FP64_ROUNDINGS.into_iter().find(|(name, _)| *name == modifier);
        let rounding = named.map_or(Rounding::NearestEven, |(_, rounding)| rounding);
        return Model::new(a, b, c, Operation::Fma, Conversion::new(rounding, F64));
    }
    let of_zero = |exponent| (revision == Revision::Hardware).then_some(exponent).flatten();
    let sum = |max_length, fraction_bits, zero_exponent| FusedSum {
        zero_exponent,
        ..FusedSum::new(max_length, fraction_bits)
    };
    // In the paper, FP4 with scale factors is ST-FDPA in general and GST-FDPA where it has its own kind,
    // which is where K is 64.
    let grouped = GROUPED.iter().find(|row| row.architecture == unit && k == row.max_length);
    let (operation, conversion) = match (grouped, scale) {
        (Some(row), Some(_)) => {
            let sum = sum(row.max_length, row.fraction_bits, of_zero(Some(GROUPED_ZERO_EXPONENT)));
            (Operation::GstFdpa { sum, group: row.group }, row.conversion)
        }
        _ => {
            let row = FUSED
                .iter()
                .filter(|row| row.architecture == unit && row.output == d)
                .find(|row| row.input.scaled == scale.is_some() && row.input.formats.contains(&a))
                .unwrap_or_else(|| panic!("no parameters for {a} to {d} on {unit}"));
            let sum = sum(row.max_length, row.fraction_bits, of_zero(zero_exponent(unit, d)));
            let operation = if scale.is_some() { Operation::StFdpa(sum) } else { Operation::TFdpa(sum) };
            (operation, row.conversion)
        }
    };
    Model { scale, nan_code: nan_code(d), ..Model::new(a, b, c, operation, conversion) }
}
