//! Where errors come from (paper, table "Sources and upper bounds of numerical error").

use bitmma_engine::Model;
use bitmma_engine::arithmetic::{Operation, Parameter, Prepared, ResultFlush};

use crate::account::is_nearest;
use crate::describe::format_name;
use crate::error::{Error, check_k, check_rounds};

/// A place where numbers are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// Subnormal numbers of A, B and C read as zero.
    InputFlush,
    /// The rounding of each product and each sum of two (FTZ-Mul, FTZ-Add).
    AddMul,
    /// Subnormal results of FTZ-Mul and FTZ-Add set to zero.
    OutputFlush,
    /// Terms of a fused sum cut to F bits below the largest exponent.
    FusedSum,
    /// rho, at the end of each elementary operation.
    OutputRounding,
    /// What a compiler puts around the operation: C added last, D narrowed.
    Lowering,
}

impl Source {
    /// Every source.
    pub const ALL: [Source; 6] = [
        Source::InputFlush,
        Source::AddMul,
        Source::OutputFlush,
        Source::FusedSum,
        Source::OutputRounding,
        Source::Lowering,
    ];

    /// The paper's name where it has one.
    pub const fn name(self) -> &'static str {
        match self {
            Source::InputFlush => "input FTZ",
            Source::AddMul => "add/mul",
            Source::OutputFlush => "output FTZ",
            Source::FusedSum => "fused summation",
            Source::OutputRounding => "output rounding",
            Source::Lowering => "lowering",
        }
    }
}

/// A row of the paper's table, for one model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceOf {
    /// Which.
    pub source: Source,
    /// The bound of one elementary operation, as the paper writes it.
    pub bound: String,
}

/// The sources of a model's errors, each with its bound for one elementary operation of `k` elements,
/// 1 to 2^20.
pub fn sources(model: &Model, k: usize) -> Result<Vec<SourceOf>, Error> {
    check_k(k)?;
    check_rounds(model, "sources")?;
    Prepared::new(model, k)?;
    let mut rows = Vec::new();
    let mut row = |source, bound: String| rows.push(SourceOf { source, bound });
    let rho = model.conversion;
    let ulp = |conversion: bitmma_engine::arithmetic::Conversion| {
        let half = if is_nearest(conversion.rounding) { "0.5 ulp" } else { "1 ulp" };
        format!("{half} {}", format_name(&conversion.format))
    };
    let flushed = if model.flush_operands.is_on() || model.operation.flushes() {
        Some(model.a)
    } else {
        model.flush_accumulator.is_on().then_some(model.c)
    };
    if let Some(format) = flushed {
        row(Source::InputFlush, format!("2^{} ({})", format.min_exponent(), format_name(&format)));
    }
    let length = model.length(k);
    let operation = &model.operation;
    if operation.has(Parameter::Pairing) {
        row(Source::AddMul, ulp(rho));
    } else {
        if let Some(bound) = cut(operation, length) {
            row(Source::FusedSum, bound);
        }
        row(
            Source::OutputRounding,
            match (operation.family().roundings)(length) {
                1 => ulp(rho),
                times => format!("{times} · {}", ulp(rho)),
            },
        );
    }
    if operation.family().flushes_results {
        row(Source::OutputFlush, format!("2^{}", rho.container().min_exponent()));
    }
    let merge = model.lowering.chains.map(|chains| chains.merge);
    let after = [merge, model.lowering.add_accumulator_last, model.lowering.narrow_output];
    let all = [Some(rho)].into_iter().chain(after).flatten();
    if let Some(conversion) = all.clone().find(|conversion| conversion.flush != ResultFlush::Never) {
        row(Source::OutputFlush, format!("2^{}", conversion.container().min_exponent()));
    }
    for conversion in all.skip(1) {
        row(Source::Lowering, ulp(conversion));
    }
    Ok(rows)
}

/// What the terms of one operation and the accumulator lose at most by being cut; `None` where none is cut.
fn cut(operation: &Operation, length: usize) -> Option<String> {
    let bits: u32 = operation.number(Parameter::FractionBits)?;
    let terms = length / operation.group();
    if operation.has(Parameter::SumFractionBits) {
        return Some(format!("{} · 2^(E-{bits})", terms + 1));
    }
    let of_c = operation.number(Parameter::AccumulatorBits).unwrap_or(bits);
    if bits == of_c {
        return Some(format!("{} · 2^(e_max-{bits})", terms + 1));
    }
    Some(format!("{terms} · 2^(e_max-{bits}) + 2^(e_max-{of_c})"))
}
