//! Risky designs (paper, table "Risky designs"), derived from a model: each verdict is an input that shows
//! it, found by search and shrunk, and a reason that can be read off the parameters.

use bitmma_engine::arithmetic::{Parameter, Prepared, Value};
use bitmma_engine::formats::{F32, Format, decode};
use bitmma_engine::{Case, Model, Revision};
use bitmma_verify::inputs::{Family, case};

use crate::account::{Account, Start, account_prepared, fraction_bits};
use crate::dyadic::Dyadic;
use crate::error::{Error, check_k, check_rounds};
use crate::error_source::Source;
use crate::shrink::shrink;
use crate::subject::{Subject, subjects};

/// A design that costs accuracy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Risk {
    /// Numbers of A or B that are subnormal there, and normal in D, are read as zero.
    InputFlush,
    /// The fused sum keeps fewer fractional bits than FP32: F < 23.
    SmallF,
    /// rho rounds into fewer bits than D has.
    NarrowRho,
    /// D itself has fewer fraction bits than FP32.
    NarrowOutput,
    /// Φ(−A, B, −C) ≠ −Φ(A, B, C).
    Asymmetry,
}

impl Risk {
    /// Every risk, in the order of the paper's table.
    pub const ALL: [Risk; 5] =
        [Risk::InputFlush, Risk::SmallF, Risk::NarrowRho, Risk::NarrowOutput, Risk::Asymmetry];

    /// As the paper's table names it.
    pub const fn name(self) -> &'static str {
        match self {
            Risk::InputFlush => "input FTZ",
            Risk::SmallF => "small F",
            Risk::NarrowRho => "narrow rho",
            Risk::NarrowOutput => "FP16 output",
            Risk::Asymmetry => "asymmetry",
        }
    }

    /// The paper's row: whom it affects, and the design.
    pub const fn in_the_paper(self) -> (&'static str, &'static str) {
        match self {
            Risk::InputFlush => ("AMD CDNA2, FP16 input", "Input FTZ"),
            Risk::SmallF => ("NVIDIA Ada Lovelace and Hopper, FP8 input", "Small F"),
            Risk::NarrowRho => ("NVIDIA Ada Lovelace and Hopper, FP8 input", "ρ = RZ-E8M13"),
            Risk::NarrowOutput => ("All NVIDIA architectures, FP16 output", "ρ = RNE-FP16"),
            Risk::Asymmetry => ("AMD CDNA3, BF16/FP16/FP8 input", "Asymmetry"),
        }
    }
}

/// Whether a model has a risk.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// Which.
    pub risk: Risk,
    /// What in the parameters makes it so; `None` where nothing does.
    pub why: Option<String>,
    /// An input that shows it; `None` where none was found.
    pub witness: Option<Witness>,
    /// Cases tried before it was found, or in vain.
    pub tried: u64,
}

impl Verdict {
    /// Whether it is there.
    pub fn present(&self) -> bool {
        self.witness.is_some()
    }
}

/// An input that shows a risk.
#[derive(Clone, Debug)]
pub struct Witness {
    /// The operands.
    pub case: Case,
    /// D.
    pub d: u64,
    /// The exact dot product.
    pub exact: Dyadic,
    /// D of −A, B, −C, for the asymmetry.
    pub mirrored: Option<u64>,
}

/// The verdicts on a model for dot products of `k` elements, 1 to 2^20, in the order of [`Risk::ALL`].
pub fn assess(model: &Model, k: usize, seed: u64) -> Result<Vec<Verdict>, Error> {
    check_k(k)?;
    check_rounds(model, "risks")?;
    let prepared = Prepared::new(model, k)?;
    let verdict = |risk: Risk| {
        let why = reason(model, risk);
        // where nothing in the parameters speaks for it, a short search has to find nothing
        let budget = if why.is_some() { 20_000 } else { 200 };
        let (witness, tried) = witness(model, &prepared, risk, budget, seed);
        Verdict { risk, why, witness, tried }
    };
    Ok(Risk::ALL.into_iter().map(verdict).collect())
}

/// What in the parameters makes a risk.
fn reason(model: &Model, risk: Risk) -> Option<String> {
    let rho = model.conversion;
    match risk {
        Risk::InputFlush => flushed_format(model).map(|format| {
            format!(
                "subnormal {format} numbers are read as zero: up to 2^{} of each is lost, and {} has numbers down to 2^{}",
                format.min_exponent(),
                model.d,
                model.d.min_exponent()
            )
        }),
        Risk::SmallF => fraction_bits(&model.operation)
            .filter(|bits| *bits < F32.fraction_bits)
            .map(|bits| format!("F = {bits}: less than the 23 bits of FP32")),
        Risk::NarrowRho => (rho.format.padding_bits > 0)
            .then(|| format!("ρ = {rho}: {} fraction bits, {} has {}", rho.format.fraction_bits, model.d, model.d.fraction_bits)),
        Risk::NarrowOutput => (model.d.fraction_bits < F32.fraction_bits)
            .then(|| format!("D is {}: {} fraction bits", model.d, model.d.fraction_bits)),
        Risk::Asymmetry => {
            let mut rules = vec![("ρ", rho.rounding)];
            let operation = &model.operation;
            let terms = if operation.has(Parameter::SumRounding) { "products" } else { "terms" };
            for (what, parameter) in [(terms, Parameter::TermRounding), ("sums", Parameter::SumRounding)] {
                if let Some(Value::Rounding(rule)) = operation.get(parameter) {
                    rules.push((what, rule));
                }
            }
            let merge = model.lowering.chains.map(|chains| chains.merge);
            let lowering = [merge, model.lowering.add_accumulator_last, model.lowering.narrow_output];
            rules.extend(lowering.into_iter().flatten().map(|conversion| ("lowering", conversion.rounding)));
            let skewed: Vec<String> = rules
                .into_iter()
                .filter(|(_, rule)| rule.mirrored() != *rule)
                .map(|(what, rule)| format!("{what} rounded by {rule}"))
                .collect();
            (!skewed.is_empty()).then(|| skewed.join(", "))
        }
    }
}

/// The format whose flushed numbers D could hold as normal ones.
fn flushed_format(model: &Model) -> Option<Format> {
    let formats = [model.a, model.b].into_iter();
    let mut flushed = formats.filter(|format| format.min_exponent() > model.d.min_exponent());
    flushed.next().filter(|_| model.flush_operands.is_on() || model.operation.flushes())
}

/// An input that shows a risk, and how many were tried.
fn witness(
    model: &Model,
    prepared: &Prepared<'_>,
    risk: Risk,
    budget: u64,
    seed: u64,
) -> (Option<Witness>, u64) {
    let shows = |case: &Case| shows(model, prepared, risk, case);
    for index in 0..budget {
        let family = Family::ALL[(index % Family::ALL.len() as u64) as usize];
        let mut drawn = case(model, prepared.k(), family, seed, index);
        if risk == Risk::InputFlush {
            // one factor is one, so that it is the number itself that is lost
            drawn.b.fill(model.b.one_code());
        }
        if shows(&drawn) {
            let case = shrink(model, &drawn, shows);
            let account = account_prepared(prepared, &case, Start::C, false);
            let mirrored = (risk == Risk::Asymmetry)
                .then(|| account_prepared(prepared, &negated(model, &case), Start::C, false).d);
            let exact = account.exact.unwrap_or_default();
            return (Some(Witness { case, d: account.d, exact, mirrored }), index + 1);
        }
    }
    (None, budget)
}

/// Whether a case shows a risk.
fn shows(model: &Model, prepared: &Prepared<'_>, risk: Risk, case: &Case) -> bool {
    let account = account_prepared(prepared, case, Start::C, false);
    let (Some(value), Some(exact), true) = (&account.value, &account.exact, account.finite) else {
        return false;
    };
    // an ulp that FP32 would have at the exact result
    let exponent = exact.floor_log2().unwrap_or(i64::MIN).max(F32.min_exponent().into());
    let ulp = Dyadic::power(exponent - i64::from(F32.fraction_bits));
    let lost = |account: &Account, source: Source| account.entry(source).error.magnitude() >= ulp;
    match risk {
        Risk::InputFlush => {
            // the number lost is normal in D, and nothing else was in the sum
            flushed_format(model).is_some()
                && !exact.is_zero()
                && value.is_zero()
                && exact.floor_log2() >= Some(model.d.min_exponent().into())
                && case.b.iter().all(|code| [0, model.b.one_code()].contains(code))
        }
        Risk::SmallF => {
            !exact.is_zero()
                && lost(&account, Source::FusedSum)
                && fraction_bits(&model.operation).is_some_and(|bits| bits < F32.fraction_bits)
        }
        Risk::NarrowRho => {
            model.conversion.format.padding_bits > 0
                && !exact.is_zero()
                && lost(&account, Source::OutputRounding)
        }
        Risk::NarrowOutput => {
            model.d.fraction_bits < F32.fraction_bits
                && !exact.is_zero()
                && (lost(&account, Source::OutputRounding) || lost(&account, Source::Lowering))
        }
        Risk::Asymmetry => {
            let mirrored = account_prepared(prepared, &negated(model, case), Start::C, false);
            mirrored.value.is_some_and(|mirrored| -&mirrored != *value)
        }
    }
}

/// −A, B, −C. A format without negative zero keeps its zeros.
pub fn negated(model: &Model, case: &Case) -> Case {
    let negate = |format: &Format, code: u64| {
        let zero = decode(format, code).significand == 0;
        if zero && !format.has_negative_zero() { code } else { code ^ format.sign_bit() }
    };
    Case {
        a: case.a.iter().map(|code| negate(&model.a, *code)).collect(),
        c: negate(&model.c, case.c),
        ..case.clone()
    }
}

/// Verdicts on a model of the catalogue.
#[derive(Clone, Debug)]
pub struct Assessed {
    /// The model and its instructions.
    pub subject: Subject,
    /// In the order of [`Risk::ALL`].
    pub verdicts: Vec<Verdict>,
}

/// The verdicts on every model of the catalogue.
pub fn assess_all(revision: Revision, seed: u64) -> Result<Vec<Assessed>, Error> {
    use bitmma_engine::threads::prelude::*;
    subjects(revision, |_| true)
        .into_par_iter()
        .map(|subject| {
            let verdicts = assess(&subject.model, subject.k, seed)?;
            Ok(Assessed { subject, verdicts })
        })
        .collect()
}
