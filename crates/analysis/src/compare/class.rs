//! The columns of the paper's table.

use bitmma_engine::Instruction;
use bitmma_engine::formats::{F16, Format};

/// A column of the paper's table: instructions by what A and B are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    Wide,
    Tf32Bf16,
    Fp16,
    Fp8,
    Narrow,
    Scaled,
    Integer,
}

impl Class {
    pub(super) const ALL: [Class; 7] =
        [Class::Wide, Class::Tf32Bf16, Class::Fp16, Class::Fp8, Class::Narrow, Class::Scaled, Class::Integer];

    pub(super) fn of(row: &Instruction) -> Class {
        let bits = |format: Format| format.bits() - format.padding_bits;
        match bits(row.a).max(bits(row.b)) {
            _ if row.d.is_integer() => Class::Integer,
            _ if row.scale.is_some() => Class::Scaled,
            32.. => Class::Wide,
            _ if row.a == F16 => Class::Fp16,
            9.. => Class::Tf32Bf16,
            8 if bits(row.a) == bits(row.b) => Class::Fp8,
            _ => Class::Narrow,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Class::Wide => "FP64/FP32",
            Class::Tf32Bf16 => "TF32/BF16",
            Class::Fp16 => "FP16",
            Class::Fp8 => "FP8",
            Class::Narrow => "FP6/FP4",
            Class::Scaled => "MX/NV",
            Class::Integer => "integer",
        }
    }
}
