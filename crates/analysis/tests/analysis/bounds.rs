//! No error exceeds its bound, what the sources explain is the whole error, and no bound is idle: for every
//! elementary operation and every model of the catalogue, in both revisions.
//!
//! Each run tries a slice; `BITMMA_TESTS=all` tries ten million cases and more for each of the eight
//! families.

use std::collections::BTreeMap;

use bitmma_analysis::Dyadic;
use bitmma_analysis::account::{Start, account_prepared};
use bitmma_analysis::error_bound::{Magnitudes, a_priori};
use bitmma_analysis::error_source::Source;
use bitmma_analysis::subject::{Subject, elementary, subjects};
use bitmma_analysis::tightness::{Effort, Objective, search};
use bitmma_engine::arithmetic::{
    Chains, Conversion, FusedSum, InputFlush, Lowering, Operation, Order, Prepared, ResultFlush,
};
use bitmma_engine::formats::{BF16, F32};
use bitmma_engine::threads::prelude::*;
use bitmma_engine::{Case, Matrix, Model, Revision};
use bitmma_verify::inputs::{Family, case};
use bitmma_verify::recording::hex;

const SEED: u64 = 0xb0_17d5;

fn exhaustive() -> bool {
    std::env::var("BITMMA_TESTS").as_deref() == Ok("all")
}

fn shown(subject: &Subject, case: &Case) -> String {
    let model = &subject.model;
    let scale = model.scale.map_or(model.a, |scale| scale.format);
    format!(
        "{} ({}, K = {})\n a {}\n b {}\n c {}\n scale_a {}\n scale_b {}",
        subject.name,
        model.operation.name(),
        subject.k,
        hex(&model.a, &case.a),
        hex(&model.b, &case.b),
        hex(&model.c, &[case.c]),
        hex(&scale, &case.scale_a),
        hex(&scale, &case.scale_b)
    )
}

/// The largest magnitudes of a case, scale factors included.
fn magnitudes(subject: &Subject, case: &Case) -> Option<Magnitudes> {
    let model = &subject.model;
    let of = |format, codes: &[u64], scales: &[u64]| {
        codes.iter().enumerate().try_fold(Dyadic::ZERO, |most, (index, code)| {
            let mut value = Dyadic::of_code(format, *code)?;
            if let Some(scale) = model.scale {
                value = &value * &Dyadic::of_code(&scale.format, scales[index / scale.size])?;
            }
            Some(value.magnitude().max(most))
        })
    };
    Some(Magnitudes {
        a: of(&model.a, &case.a, &case.scale_a)?,
        b: of(&model.b, &case.b, &case.scale_b)?,
        c: Dyadic::of_code(&model.c, case.c)?.magnitude(),
    })
}

/// Whether a bound was held, and whether anything was lost.
fn hold(subject: &Subject, prepared: &Prepared<'_>, case: &Case) -> (u64, u64) {
    let account = account_prepared(prepared, case, Start::C, false);
    let Some(bound) = account.bound() else { return (0, 0) };
    let error = account.error().unwrap();
    assert_eq!(account.explained(), error, "the sources do not explain the error: {}", shown(subject, case));
    for source in Source::ALL {
        let entry = account.entry(source);
        assert!(entry.error.magnitude() <= entry.bound, "{}: {}", source.name(), shown(subject, case));
    }
    assert!(error.magnitude() <= bound, "{}", shown(subject, case));
    assert!(error.magnitude() <= account.paper_bound, "the paper's bound: {}", shown(subject, case));
    let before = magnitudes(subject, case)
        .and_then(|magnitudes| a_priori(&subject.model, subject.k, subject.k, &magnitudes));
    if let Some(before) = before {
        assert!(error.magnitude() <= before.total(), "a priori: {}", shown(subject, case));
        assert!(
            account.value.unwrap().magnitude() <= before.magnitude,
            "magnitude: {}",
            shown(subject, case)
        );
    }
    (1, u64::from(!error.is_zero()))
}

fn all_hold(subjects: &[Subject], of_each_family: u64) {
    let mut families: BTreeMap<&str, Vec<&Subject>> = BTreeMap::new();
    for subject in subjects {
        families.entry(subject.model.operation.name()).or_default().push(subject);
    }
    for (name, subjects) in families {
        let each = of_each_family.div_ceil(subjects.len() as u64 * Family::ALL.len() as u64);
        let (held, inexact) = subjects
            .par_iter()
            .flat_map(|subject| Family::ALL.into_par_iter().map(move |family| (*subject, family)))
            .map(|(subject, family)| {
                let prepared = Prepared::new(&subject.model, subject.k).unwrap();
                let one =
                    |index| hold(subject, &prepared, &case(&subject.model, subject.k, family, SEED, index));
                (0..each).map(one).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
            })
            .reduce(|| (0, 0), |x, y| (x.0 + y.0, x.1 + y.1));
        println!(
            "{name}: {} models, {} cases tried, {held} finite, {inexact} inexact",
            subjects.len(),
            each * 10 * subjects.len() as u64
        );
        assert!(held > of_each_family / 3 && inexact > of_each_family / 50, "{name}: {held}, {inexact}");
    }
}

#[test]
fn no_elementary_operation_exceeds_its_bound() {
    let both = Revision::ALL.into_iter().flat_map(elementary).collect::<Vec<_>>();
    all_hold(&both, if exhaustive() { 12_000_000 } else { 60_000 });
}

#[test]
fn no_instruction_exceeds_its_bound() {
    let both =
        Revision::ALL.into_iter().flat_map(|revision| subjects(revision, |_| true)).collect::<Vec<_>>();
    all_hold(&both, if exhaustive() { 2_000_000 } else { 20_000 });
}

/// What no instruction of the catalogue has: several chains, C with bits of its own, flushing of one side alone and of
/// results, saturation.
#[test]
fn no_model_beyond_the_catalogue_exceeds_its_bound() {
    let plain = Conversion::RNE_FP32;
    let mut models = Vec::new();
    for (flush, _) in ResultFlush::ALL {
        let rho = Conversion { flush, saturate: true, ..plain };
        let sum = FusedSum { accumulator_fraction_bits: Some(20), ..FusedSum::new(4, 26) };
        for operation in [Operation::Fma, Operation::EFdpa { max_length: 4 }, Operation::TFdpa(sum)] {
            let order = Order::Interleaved { run: 1, period: 2 };
            let chains = Some(Chains { count: 2, merge: rho });
            let lowering = Lowering { order, chains, ..Lowering::NONE };
            let last = Lowering { add_accumulator_last: Some(rho), ..lowering };
            let model = Model::new(BF16, BF16, F32, operation, rho);
            models.push(Model { flush_operands: InputFlush::Signed, ..model.clone() });
            models.push(Model { flush_accumulator: InputFlush::Positive, lowering, ..model.clone() });
            models.push(Model { lowering: last, ..model.clone() });
            models.push(Model { flush_accumulator: InputFlush::Signed, lowering: last, ..model });
        }
    }
    let flushing = Model::new(BF16, BF16, F32, Operation::FtzFma { max_length: 1 }, plain);
    let last = Lowering { add_accumulator_last: Some(plain), ..Lowering::NONE };
    models.push(Model { lowering: last, ..flushing });
    let subjects: Vec<_> = models.into_iter().map(|model| Subject::of_model("beyond", model, 16)).collect();
    all_hold(&subjects, if exhaustive() { 2_000_000 } else { 20_000 });
}

/// A search finds a case that uses up more than half of each bound.
#[test]
fn every_bound_is_met_within_a_factor_of_two() {
    let subjects = elementary(Revision::Hardware);
    let effort = Effort { budget: 30_000, enough: if exhaustive() { 1.0 } else { 0.55 } };
    let found: Vec<(String, Option<f64>)> = subjects
        .par_iter()
        .flat_map_iter(|subject| {
            let mut objectives = vec![Objective::Total, Objective::Paper];
            objectives.extend(
                bitmma_analysis::error_source::sources(&subject.model, subject.k)
                    .unwrap()
                    .into_iter()
                    .map(|row| Objective::Source(row.source)),
            );
            objectives.into_iter().map(move |objective| {
                let worst = search(&subject.model, subject.k, objective, effort, SEED).unwrap();
                let name = format!("{} {} {objective:?}", subject.model.operation.name(), subject.name);
                (name, worst.map(|worst| worst.ratio))
            })
        })
        .collect();
    for (name, ratio) in &found {
        println!("{:6.3} {name}", ratio.unwrap_or(f64::NAN));
    }
    let loose: Vec<_> = found.iter().filter(|(_, ratio)| ratio.is_some_and(|ratio| ratio < 0.5)).collect();
    assert!(loose.is_empty(), "{loose:#?}");
    // sums of FP16 products are multiples of 2^-48, and of FP32 numbers that large of 2^-72: none is subnormal
    let never: Vec<_> =
        found.iter().filter(|(_, ratio)| ratio.is_none()).map(|(name, _)| name.as_str()).collect();
    assert_eq!(never, ["FTZ-AddMul cdna2 v_mfma_f32_16x16x16f16 Source(OutputFlush)"]);
}

/// The bounds of a GEMM's elements, and the chain that they are counted along, are those of the GEMM.
#[test]
fn chains_are_gemms() {
    use bitmma_analysis::data::{Distribution, Draw};
    use bitmma_analysis::error_bound::chain;
    use bitmma_analysis::exact::errors;
    use bitmma_engine::Architecture::{Ada, Cdna2, Cdna3, Hopper, RtxBlackwell, Turing};
    use bitmma_engine::GemmOptions;
    use bitmma_engine::gemm::Target;
    for (architecture, name, promote) in [
        (Hopper, "wgmma.m64n8k32.f32.e4m3.e4m3", None),
        (Hopper, "wgmma.m64n8k32.f32.e4m3.e4m3", Some(64)),
        (Hopper, "mma.m16n8k32.f32.e4m3.e4m3.f32", None),
        (Ada, "mma.m16n8k16.f16.f16.f16.f16", Some(32)),
        (Turing, "mma.m8n8k4.f32.f16.f16.f16", None),
        (Cdna2, "v_mfma_f32_32x32x8f16", None),
        (Cdna3, "v_mfma_f32_32x32x8_f16", None),
        (Cdna3, "v_mfma_f32_32x32x8_f16", Some(8)),
        (RtxBlackwell, "mma.m16n8k32.kind::mxf8f6f4.block32.f32.e4m3.e5m2.f32.ue8m0", None),
        (RtxBlackwell, "mma.m16n8k32.kind::mxf8f6f4.block32.f32.e2m1.e2m1.f32.ue8m0", Some(64)),
        (RtxBlackwell, "mma.m16n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.f32.ue4m3", None),
        (RtxBlackwell, "mma.m16n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.f32.ue4m3", Some(128)),
    ] {
        let target = Target::instruction(architecture, name, Revision::Hardware).unwrap();
        let model = target.model();
        let draw = Draw {
            factors: Distribution::normal(3.0),
            accumulator: Some(Distribution::STANDARD),
            size: (5, 4, 300),
        };
        let product = draw.operands(model, 5, 0).unwrap();
        let options = GemmOptions { promote_every: promote, ..GemmOptions::default() };
        let c = product.c.as_ref().unwrap();
        let d = product.gemm(&target, &options).unwrap();
        let (a, b) = product.numbers().unwrap();
        let errors = errors(&a, &b, Some(c), &d).unwrap();
        let before = Magnitudes::of(&a, &b, Some(c)).unwrap();
        let before = a_priori(model, target.step(), 300, &before).unwrap().total();
        for (row, column) in (0..5).flat_map(|row| (0..4).map(move |column| (row, column))) {
            let chain = chain(&target, &product.case(row, column), &options).unwrap();
            let d = Dyadic::of_code(&model.d, d.get(0, row, column)).unwrap();
            // promoted sums stand in FP32, D in its own format
            if model.d.name == "f32" {
                assert_eq!(chain.value, Some(d), "{architecture} {name} {promote:?}");
                let error = chain.error().unwrap().to_f64();
                assert_eq!(error.to_bits(), errors[row * 4 + column].to_bits(), "{architecture} {name}");
            }
            let (error, bound) = (chain.error().unwrap().magnitude(), chain.bound().unwrap());
            assert!(error <= bound, "{architecture} {name} {promote:?}");
            assert!(promote.is_some() || bound <= before, "{architecture} {name}");
        }
    }
    let empty = Matrix::zeros(bitmma_engine::formats::F16, (1, 0, 4)).unwrap();
    assert!(Magnitudes::of(&empty, &empty, None).is_some());
}
