//! Explanations hide no loss: what is given, less all that the steps say is lost, is D; and every operand that is not used as
//! it is given has a step.

use std::collections::BTreeSet;

use crate::common::inputs::{Family, case};
use bitmma_engine::arithmetic::exact::Exact;
use bitmma_engine::arithmetic::trace::{OperandName, Reading, TermName, Why};
use bitmma_engine::arithmetic::{Conversion, InputFlush, Operation, Step, run::Operands};
use bitmma_engine::explain::explain;
use bitmma_engine::formats::{BF16, BlockScale, E2M1, F16, F32, Format, Real, TF32, UE4M3, decode};
use bitmma_engine::{Case, Model};
use bitmma_threads::prelude::*;
use dashu_int::IBig;
use dashu_ratio::RBig;

use crate::agreement;
use crate::common::{exact, power};

const SEED: u64 = 0xe1;

fn operands(case: &Case) -> Operands<'_> {
    let Case { a, b, c, scale_a, scale_b } = case;
    Operands { a, b, c: *c, scale_a, scale_b }
}

fn steps(model: &Model, case: &Case) -> (u64, Vec<Step>) {
    let explanation = explain(model, &operands(case)).unwrap();
    (explanation.d, explanation.steps)
}

fn of_exact(value: Exact) -> RBig {
    RBig::from(IBig::from(value.significand)) * power(value.exponent.into())
}

fn of_real(value: Real) -> Option<RBig> {
    let magnitude = RBig::from(IBig::from(value.significand)) * power(value.exponent.into());
    (!value.inexact).then_some(if value.negative { -magnitude } else { magnitude })
}

/// The models of the agreement with the second implementation, some whose operands are flushed or have bits that are not
/// read, and the catalogue's.
fn models() -> Vec<(String, Model, usize)> {
    let rho = Conversion::RNE_FP32;
    let own = [
        (Model::new(TF32, TF32, F32, Operation::Fma, rho).flushing(InputFlush::Signed), 4),
        (
            Model::new(TF32, BF16, F32, Operation::EFdpa { max_length: 4 }, rho)
                .flushing(InputFlush::Positive),
            8,
        ),
        (
            Model::new(F16, F16, F32, Operation::DotAdd { max_length: 2 }, rho)
                .flushing(InputFlush::Positive),
            4,
        ),
        (Model::new(F32, F32, F32, Operation::FtzFma { max_length: 2 }, rho), 4),
    ];
    let own = own.into_iter().map(|(model, k)| (format!("{model:?}"), model, k));
    agreement::models().into_iter().chain(own).collect()
}

/// Every model with every family of inputs.
fn jobs<'m>(
    models: &'m [(String, Model, usize)],
    families: &[Family],
) -> Vec<(&'m (String, Model, usize), Family)> {
    models.iter().flat_map(|model| families.iter().map(move |family| (model, *family))).collect()
}

/// What the steps say is lost; `None` where something is not finite, or too long for a step.
fn lost(model: &Model, case: &Case, steps: &[Step]) -> Option<RBig> {
    let mut sum = RBig::ZERO;
    for step in steps {
        match step {
            Step::Read { term, lost, operands, .. } => {
                let mut lost = of_real((*lost)?)?;
                if let (Some(TermName::Product(k)), Some(scale)) = (term, model.scale) {
                    lost *= exact(&scale.format, case.scale_a[k / scale.size])?;
                    lost *= exact(&scale.format, case.scale_b[k / scale.size])?;
                }
                assert!(term.is_some() || operands.len() == 1);
                // what is left out of a scale factor, its sign, is in no product of the exact sum either
                sum += if term.is_some() { lost } else { RBig::ZERO };
            }
            Step::Special(_) => return None,
            Step::Aligned { terms, .. } => {
                for term in terms {
                    sum += of_exact(term.exact) - of_exact(term.kept);
                }
            }
            Step::Converted { value, code, format, .. } => sum += of_real(*value)? - exact(format, *code)?,
            Step::Binary { operation, left, left_format, right, right_format, result, format } => {
                let (x, y) = (exact(left_format, *left)?, exact(right_format, *right)?);
                let value = if *operation == "FTZ-Mul" { x * y } else { x + y };
                sum += value - exact(format, *result)?;
            }
            Step::Changed { from, from_format, to, to_format, .. } => {
                sum += exact(from_format, *from)? - exact(to_format, *to)?;
            }
            _ => {}
        }
    }
    Some(sum)
}

/// The exact dot product of the operands as they are given, all bits of them.
fn given(model: &Model, case: &Case) -> Option<RBig> {
    let whole = |format: &Format| if format.padding_bits > 0 { F32 } else { *format };
    let mut sum = exact(&whole(&model.c), case.c)?;
    for (k, (a, b)) in case.a.iter().zip(&case.b).enumerate() {
        let mut product = exact(&whole(&model.a), *a)? * exact(&whole(&model.b), *b)?;
        if let Some(scale) = model.scale {
            product *= exact(&scale.format, case.scale_a[k / scale.size])?;
            product *= exact(&scale.format, case.scale_b[k / scale.size])?;
        }
        sum += product;
    }
    Some(sum)
}

#[test]
fn what_is_lost_adds_up() {
    let families = [Family::Bits, Family::Tiny, Family::Notable, Family::Spread, Family::Zeros];
    let models = models();
    let compared: Vec<usize> = jobs(&models, &families)
        .par_iter()
        .map(|((name, model, k), family)| {
            let case = case(model, *k, *family, SEED, 0);
            let (d, steps) = steps(model, &case);
            let (Some(given), Some(lost)) = (given(model, &case), lost(model, &case, &steps)) else {
                return 0;
            };
            let Some(d) = exact(&model.d, d) else { return 0 };
            assert_eq!(given - lost, d, "{name}, {family:?}: {case:x?}\n{steps:?}");
            1
        })
        .collect();
    let compared: usize = compared.into_iter().sum();
    println!("{compared} of {} explanations add up", models.len() * families.len());
    assert!(compared > models.len());
}

/// The case with what its steps say is used.
fn as_used(case: &Case, steps: &[Step]) -> Case {
    let mut used = case.clone();
    for step in steps {
        let Step::Read { operands, .. } = step else { continue };
        for Reading { operand, used: code, .. } in operands {
            match operand {
                OperandName::A(k) => used.a[*k] = *code,
                OperandName::B(k) => used.b[*k] = *code,
                OperandName::C => used.c = *code,
                OperandName::ScaleA(block) => used.scale_a[*block] = *code,
                OperandName::ScaleB(block) => used.scale_b[*block] = *code,
            }
        }
    }
    used
}

/// What is used instead gives the same D and has no such step, and every subnormal operand of a model that flushes has one.
#[test]
fn every_operand_that_is_read_otherwise_has_a_step() {
    let models = models();
    let families = [Family::Bits, Family::Tiny, Family::Notable];
    let reported: Vec<usize> = jobs(&models, &families)
        .par_iter()
        .map(|((name, model, k), family)| {
            let case = case(model, *k, *family, SEED, 1);
            let (d, steps) = steps(model, &case);
            let (again, none) = {
                let used = as_used(&case, &steps);
                self::steps(model, &used)
            };
            assert!(model.agrees(d, again, false), "{name}: {case:x?}");
            assert!(!none.iter().any(|step| matches!(step, Step::Read { .. })), "{name}: {none:?}");
            let flushed: BTreeSet<String> = steps.iter().flat_map(names_of_flushed).collect();
            let subnormal = |format: &Format, code: u64| {
                let value = decode(format, code);
                value.is_finite() && value.significand != 0 && value.significand < 1 << format.fraction_bits
            };
            if model.flush_operands != InputFlush::Never || model.operation.flushes() {
                for (side, format, codes) in [("a", &model.a, &case.a), ("b", &model.b, &case.b)] {
                    for (index, code) in
                        codes.iter().enumerate().filter(|(_, code)| subnormal(format, **code))
                    {
                        assert!(
                            flushed.contains(&format!("{side}{index}")),
                            "{name}: {side}{index} = {code:x}"
                        );
                    }
                }
            }
            if model.flush_accumulator != InputFlush::Never && subnormal(&model.c, case.c) {
                assert!(flushed.contains("c"), "{name}: c = {:x}", case.c);
            }
            flushed.len()
        })
        .collect();
    let reported: usize = reported.into_iter().sum();
    assert!(reported > 1000, "{reported}");
}

fn names_of_flushed(step: &Step) -> Vec<String> {
    match step {
        Step::Read { why: Why::Flushed, operands, .. } => {
            let changed = operands.iter().filter(|reading| reading.used != reading.given);
            changed.map(|reading| reading.operand.to_string()).collect()
        }
        _ => vec![],
    }
}

/// The low bits of TF32 and the sign of UE4M3 are not read, and a step says so with what is lost.
#[test]
fn bits_that_are_not_read_are_reported() {
    let model = Model::new(TF32, TF32, F32, Operation::Fma, Conversion::RNE_FP32);
    let case = Case { a: vec![0x3f80_0001], b: vec![0x4000_0000], c: 0, scale_a: vec![], scale_b: vec![] };
    let (d, steps) = steps(&model, &case);
    assert_eq!(d, 0x4000_0000);
    let Step::Read {
        why: Why::Ignored,
        term: Some(TermName::Product(0)),
        operands,
        exact: Some(_),
        lost: Some(lost),
    } = &steps[0]
    else {
        panic!("{steps:?}")
    };
    assert_eq!((operands[0].given, operands[0].used), (0x3f80_0001, 0x3f80_0000));
    assert_eq!(of_real(*lost), Some(power(-22)));
    let scale = Some(BlockScale { format: UE4M3, size: 4 });
    let sum = bitmma_engine::arithmetic::FusedSum::new(4, 24);
    let grouped = Operation::GstFdpa { sum, group: 4 };
    let model = Model { scale, ..Model::new(E2M1, E2M1, F32, grouped, Conversion::RNE_FP32) };
    let case = Case { a: vec![2; 4], b: vec![2; 4], c: 0, scale_a: vec![0xb8], scale_b: vec![0x38] };
    let (d, steps) = self::steps(&model, &case);
    assert_eq!(d, 0x4080_0000);
    assert!(
        matches!(&steps[0], Step::Read { why: Why::Ignored, term: None, operands, lost: Some(lost), .. }
            if operands[0].used == 0x38 && of_real(*lost) == Some(RBig::from(-2))),
        "{steps:?}"
    );
}
