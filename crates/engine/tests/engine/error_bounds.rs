//! The paper's table "Sources and upper bounds of numerical error", row by row, on exact rationals: random
//! and adversarial inputs never exceed a bound, and a constructed one comes close to it.

use crate::common;

use crate::common::inputs::{Family, case};
use crate::common::{Unit, exact, exact_dot, exponent, hardware, magnitude, power, ulp};
use bitmma_engine::arithmetic::{Operation, RoundedSum};
use bitmma_engine::catalogue::{Architecture, Revision, catalogue};
use bitmma_engine::formats::{Class, F32, Format, decode};
use bitmma_engine::{Case, Model};
use dashu_ratio::RBig;

use Architecture::{Ada, Ampere, Cdna1, Cdna2, Cdna3, Hopper, RtxBlackwell, Turing, Volta};

const SEED: u64 = 0xb0;
const PER_FAMILY: u64 = 25;

/// |D - (A B + C)| of one dot product.
fn error(unit: &Unit, case: &Case) -> RBig {
    let d = exact(&unit.model.d, unit.d(case)).expect("a finite result");
    magnitude(d - exact_dot(&unit.model, case).expect("finite operands"))
}

/// The error of products (index, a, b) and an accumulator.
fn error_of(unit: &Unit, products: &[(usize, &str, &str)], c: &str) -> RBig {
    let a: Vec<_> = products.iter().map(|(index, a, _)| (*index, *a)).collect();
    let b: Vec<_> = products.iter().map(|(index, _, b)| (*index, *b)).collect();
    error(unit, &unit.case(&a, &b, c))
}

fn half(x: RBig) -> RBig {
    x * power(-1)
}

/// What the output rounding of a model may lose in D: 0.5 ulp (RNE) or 1 ulp (RZ).
fn output_rounding(model: &Model, d: u64) -> RBig {
    let one = ulp(&model.conversion.format, &model.d, d);
    if model.conversion.rounding.symbol() == "RNE" { half(one) } else { one }
}

/// Every random case of `unit` with finite operands and a finite result.
fn finite_cases(unit: &Unit) -> impl Iterator<Item = Case> + '_ {
    let cases = Family::ALL.into_iter().flat_map(move |family| {
        (0..PER_FAMILY).map(move |index| case(&unit.model, unit.k, family, SEED, index))
    });
    cases.filter(|case| {
        exact_dot(&unit.model, case).is_some()
            && decode(&unit.model.d, unit.d(case)).class != Class::Infinity
            && decode(&unit.model.d, unit.d(case)).class != Class::Nan
    })
}

/// Distinct models of the catalogue that make `wanted` of K a single elementary operation.
fn single_operations(wanted: impl Fn(&Operation) -> bool) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    for row in catalogue().iter().filter(|row| row.is_native()) {
        for revision in Revision::ALL {
            let Some(mut model) = row.model(revision) else { continue };
            if !wanted(&model.operation) || model.conversion.rounding.symbol().len() < 2 {
                continue;
            }
            // one operation: K is brought down to L
            let mut k = model.length(row.products());
            if let Some(scale) = model.scale {
                k = k.max(scale.size);
            }
            model.nan_code = None;
            if !units.iter().any(|unit| unit.model == model && unit.k == k) {
                let name = format!("{} {} ({revision}), K = {k}", row.architecture, row.name());
                units.push(Unit { name, model, k });
            }
        }
    }
    units
}

/// The largest Exp of the terms, e_zero and zero accumulators included: the paper's e_max, or E.
fn largest_exponent(unit: &Unit, case: &Case) -> Option<i64> {
    let model = &unit.model;
    let (floor, grouped) = match model.operation {
        Operation::TFdpa(sum) | Operation::StFdpa(sum) => (sum.zero_exponent, None),
        Operation::GstFdpa { sum, group } => (sum.zero_exponent, Some(group)),
        Operation::TrFdpa(sum) | Operation::GtrFdpa(sum) => (sum.zero_accumulator_exponent, None),
        _ => (None, None),
    };
    let scale = |index: usize| match model.scale {
        None => Some(0),
        Some(scale) => {
            let block = index / scale.size;
            Some(
                exponent(&scale.format, case.scale_a[block])? + exponent(&scale.format, case.scale_b[block])?,
            )
        }
    };
    let products = (0..unit.k).filter_map(|index| {
        let (a, b) = (exponent(&model.a, case.a[index])?, exponent(&model.b, case.b[index])?);
        let of_product = if grouped.is_some() { 0 } else { a + b };
        Some(of_product + scale(index)?)
    });
    products.chain(exponent(&model.c, case.c)).chain(floor.map(i64::from)).max()
}

/// Row "FTZ-AddMul, input FTZ: 2^-126 (BF16) or 2^-14 (FP16)": |x - FlushSubnormal(x)| < MinNormal, for
/// every subnormal number of A's format times one.
#[test]
fn ftz_addmul_input_ftz() {
    for (name, bound) in [
        ("v_mfma_f32_32x32x8f16", -14),
        ("v_mfma_f32_32x32x4bf16", -126),
        ("v_mfma_f32_32x32x4bf16_1k", -126),
    ] {
        let unit = hardware(Cdna2, name);
        let format = unit.model.a;
        let mut largest = RBig::ZERO;
        for subnormal in 1..format.min_normal_code() {
            for sign in [0, format.sign_bit()] {
                let mut case = unit.case(&[], &[(0, "1")], "0");
                case.a[0] = subnormal | sign;
                let lost = error(&unit, &case);
                assert!(lost < power(bound), "{}", unit.shown(&case));
                assert_eq!(unit.d(&case), 0, "all of it is lost: {}", unit.shown(&case));
                largest = largest.max(lost);
            }
        }
        // the largest subnormal number is one unit below 2^bound
        assert_eq!(largest, power(bound) - power(bound - i64::from(format.fraction_bits)), "{name}");
    }
}

/// Rows "Add/Mul: 0.5 ulp_FP32 = 0.5 * 2^(e_result - 23)" and "Output FTZ: 2^-126", for each operation of
/// FTZ-AddMul. The steps of a chain of four are seen by leaving out what comes after:
/// |error| <= sum over inputs flushed + sum over operations (0.5 ulp of its result + 2^-126).
#[test]
fn ftz_addmul_add_mul_and_output_ftz() {
    for name in ["v_mfma_f32_32x32x4bf16", "v_mfma_f32_32x32x4bf16_1k", "v_mfma_f32_4x4x4f16"] {
        let unit = hardware(Cdna2, name);
        assert_eq!(unit.k, 4);
        let Operation::FtzAddMul { pairing } = unit.model.operation else { panic!("{name}") };
        for case in finite_cases(&unit) {
            let flushed = flushed(&unit.model, &case);
            let (Some(as_flushed), Some(given)) =
                (exact_dot(&unit.model, &flushed), exact_dot(&unit.model, &case))
            else {
                continue;
            };
            let mut bound = magnitude(as_flushed - given);
            // results: products and pair sums (with c = 0 nothing more is rounded), then the chain
            let zero = |keep: &[usize], c: u64| {
                let mut part = flushed.clone();
                for index in (0..4).filter(|index| !keep.contains(index)) {
                    (part.a[index], part.b[index]) = (0, 0);
                }
                part.c = c;
                unit.d(&part)
            };
            let mut results: Vec<u64> = (0..4).map(|index| zero(&[index], 0)).collect();
            results.extend([zero(&[0, 1], 0), zero(&[2, 3], 0)]);
            if pairing == 4 {
                results.push(zero(&[0, 1, 2, 3], 0));
            } else {
                results.push(zero(&[0, 1], flushed.c));
            }
            results.push(unit.d(&case));
            if results.iter().any(|d| !decode(&F32, *d).is_finite()) {
                continue;
            }
            for d in results {
                bound += half(ulp(&F32, &F32, d)) + power(-126);
            }
            assert!(error(&unit, &case) <= bound, "{}", unit.shown(&case));
        }
        // 1 + 2^-24 is a tie: half an ulp of FP32 is lost
        assert_eq!(error_of(&unit, &[(0, "0x1p-12", "0x1p-12")], "1"), power(-24), "{name}");
        // 2^-125 - 2^-149 - 2^-126: all of 2^-126 - 2^-149 is flushed (FP16 cannot bring it about)
        if unit.model.a.name == "bf16" {
            let lost = error_of(&unit, &[(0, "-0x1p-63", "0x1p-63")], "0x00ffffff");
            assert_eq!(lost, power(-126) - power(-149), "{name}");
        }
    }
}

/// The same operands with zeros in the place of subnormal numbers.
fn flushed(model: &Model, case: &Case) -> Case {
    let flush = |format: &Format, code: u64| {
        if code & !format.sign_bit() < format.min_normal_code() { 0 } else { code }
    };
    Case {
        a: case.a.iter().map(|code| flush(&model.a, *code)).collect(),
        b: case.b.iter().map(|code| flush(&model.b, *code)).collect(),
        c: flush(&model.c, case.c),
        ..case.clone()
    }
}

/// Row "FMA, E-FDPA: output rounding 0.5 ulp_FP64 or 0.5 ulp_FP32", one operation at a time (directed
/// FP64 forms, which the paper does not have: 1 ulp).
#[test]
fn fma_and_exact_fdpa() {
    let mut units =
        single_operations(|operation| matches!(operation, Operation::Fma | Operation::EFdpa { .. }));
    units.retain(|unit| !unit.model.is_integer()); // exact, but modulo 2^32
    assert!(units.len() >= 4, "{}", units.len());
    for unit in &units {
        for case in finite_cases(unit) {
            let d = unit.d(&case);
            // IEEE 754 §7.4: a directed FP64 form overflows to the largest finite number
            if d & !unit.model.d.sign_bit() == unit.model.d.max_finite_code() {
                continue;
            }
            let bound = output_rounding(&unit.model, d);
            assert!(error(unit, &case) <= bound, "{}", unit.shown(&case));
        }
    }
    let fma = hardware(Cdna1, "v_mfma_f32_16x16x4f32");
    assert_eq!(error_of(&fma, &[(0, "0x1p-12", "0x1p-12")], "1"), power(-24));
    let fma = hardware(Ampere, "mma.m8n8k4.f64.f64.f64.f64");
    assert_eq!(error_of(&fma, &[(0, "0x1p-27", "0x1p-26")], "1"), power(-53));
    for name in ["v_mfma_f32_32x32x4bf16", "v_mfma_f32_16x16x16f16"] {
        let exact_sum = hardware(Cdna1, name);
        assert_eq!(error_of(&exact_sum, &[(0, "0x1p-12", "0x1p-12")], "1"), power(-24), "{name}");
    }
}

/// Row "T-FDPA, others: fused summation (L+1) 2^(e_max - F), output rounding 0.5 ulp (RNE) or 1 ulp (RZ)",
/// for T-, ST-, TR- and GTR-FDPA (e_max of TR and GTR: E, the largest of all); for GST-FDPA the number of
/// terms is L/G + 1.
#[test]
fn fused_sums_stay_within_their_bound() {
    let units = single_operations(|operation| {
        !matches!(operation, Operation::Fma | Operation::EFdpa { .. } | Operation::FtzAddMul { .. })
    });
    assert!(units.len() >= 30, "{}", units.len());
    let (mut held, mut inexact) = (0, 0);
    for unit in &units {
        let length = unit.model.length(unit.k);
        let (terms, bits) = match unit.model.operation {
            Operation::TFdpa(sum) | Operation::StFdpa(sum) => (length + 1, sum.fraction_bits),
            Operation::GstFdpa { sum, group } => (length / group + 1, sum.fraction_bits),
            Operation::TrFdpa(RoundedSum { fraction_bits, .. })
            | Operation::GtrFdpa(RoundedSum { fraction_bits, .. }) => (length + 1, fraction_bits),
            _ => unreachable!("filtered"),
        };
        for case in finite_cases(unit) {
            let Some(largest) = largest_exponent(unit, &case) else { continue };
            let fused = RBig::from(terms as u64) * power(largest - i64::from(bits));
            let bound = &fused + &output_rounding(&unit.model, unit.d(&case));
            let lost = error(unit, &case);
            inexact += usize::from(lost != RBig::ZERO);
            held += 1;
            assert!(lost <= bound, "{}\n e_max {largest}, {terms} terms, F {bits}", unit.shown(&case));
        }
    }
    println!("{held} dot products, {inexact} inexact, {} operations", units.len());
    assert!(held > 2000 && inexact > held / 4);
}

/// A constructed sum loses more than `percent` of (terms) 2^(e_max - F), its result being exact in rho.
fn nearly_all(unit: &Unit, case: &Case, terms: u64, power_of_unit: i64, percent: u64) {
    let lost = error(unit, case) * RBig::from(100_u64);
    let bound = RBig::from(terms * percent) * power(power_of_unit);
    assert!(lost > bound, "{}: loses {lost}/100 of {terms} units", unit.shown(case));
}

/// Products just below one unit in every place, and the unit brought by c or by one product.
fn just_below(unit: &Unit, a: &str, b: &str, from: usize, c: &str) -> Case {
    let a: Vec<_> = (from..unit.k).map(|index| (index, a)).collect();
    let b: Vec<_> = (from..unit.k).map(|index| (index, b)).collect();
    unit.case(&a, &b, c)
}

#[test]
fn fused_sums_come_close_to_their_bound() {
    // Volta: L = 4, F = 23: c = 2^23, unit 1; four products of 1 - 2^-11. c itself has no bit below: 4 of 5
    let unit = hardware(Volta, "mma.m8n8k4.f32.f16.f16.f32");
    nearly_all(&unit, &just_below(&unit, "0x1.ffcp-1", "1", 0, "0x1p23"), 5, 0, 79);
    // Ampere: L = 8, F = 24: 8 of 9
    let unit = hardware(Ampere, "mma.m16n8k8.f32.f16.f16.f32");
    nearly_all(&unit, &just_below(&unit, "0x1.ffcp-1", "1", 0, "0x1p24"), 9, 0, 88);
    // Hopper: L = 16, F = 25: 16 of 17
    let unit = hardware(Hopper, "mma.m16n8k16.f32.f16.f16.f32");
    nearly_all(&unit, &just_below(&unit, "0x1.ffcp-1", "1", 0, "0x1p25"), 17, 0, 93);
    // Hopper FP8: L = 32, F = 13: c = 2^13 + (1 - 2^-10) loses nearly a unit, too; 30.99 of 33 (FP8 has
    // no number nearer to 1 than 0.9375)
    let unit = hardware(Hopper, "wgmma.m64n8k32.f32.e4m3.e4m3");
    nearly_all(&unit, &just_below(&unit, "0.9375", "1", 0, "0x1.0007fep13"), 33, 0, 93);
    // Ada FP8: L = 16, F = 13: 15.99 of 17
    let unit = hardware(Ada, "mma.m16n8k16.f32.e4m3.e4m3.f32");
    nearly_all(&unit, &just_below(&unit, "0.9375", "1", 0, "0x1.0007fep13"), 17, 0, 93);
    // ST: L = 32, F = 25: 30 of 33
    let unit = hardware(RtxBlackwell, "mma.m16n8k32.kind::mxf8f6f4.block32.f32.e4m3.e4m3.f32.ue8m0");
    nearly_all(&unit, &just_below(&unit, "0.9375", "1", 0, "0x1p25"), 33, 0, 90);
    // GST: L/G = 4, F = 35: each group 511.5 * 2^-9; 4 of 5
    let unit = hardware(RtxBlackwell, "mma.m16n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.f32.ue8m0");
    let mut case = just_below(&unit, "6", "6", 0, "0x1p35");
    for group in 0..4 {
        // 14 * 36 + 6 + 1.5 = 511.5
        case.b[16 * group] = common::code(&unit.model.b, "1");
        case.a[16 * group + 1] = common::code(&unit.model.a, "1.5");
        case.b[16 * group + 1] = common::code(&unit.model.b, "1");
        case.scale_a[group] = 127 - 9;
    }
    nearly_all(&unit, &case, 5, 0, 79);
    // TR: L = 8, F = 24: a product of 2^24 brings the unit, seven lose nearly one, RD of c = 1 - 2^-24 all
    // of it: 8 of 9
    for revision in Revision::ALL {
        let unit = common::unit(Cdna3, "v_mfma_f32_32x32x8_f16", revision);
        let mut case = just_below(&unit, "0x1.ffcp-1", "1", 1, "0x1.fffffep-1");
        case.a[0] = common::code(&unit.model.a, "0x1p12");
        case.b[0] = case.a[0];
        nearly_all(&unit, &case, 9, 0, 88);
        // GTR: L = 16, F = 24: 2^14 in both groups, unit 2^-10; fourteen of 1.875^2 * 2^-12 = 0.88 units
        let unit = common::unit(Cdna3, "v_mfma_f32_32x32x16_fp8_fp8", revision);
        let mut case = just_below(&unit, "0x1.ep-6", "0x1.ep-6", 2, "0x1.fffffep-11");
        for index in [0, 1] {
            case.a[index] = common::code(&unit.model.a, "0x1p7");
            case.b[index] = case.a[index];
        }
        nearly_all(&unit, &case, 17, -10, 75);
    }
}

/// Output rounding alone: the fused sum is exact, and rho loses nearly 1 ulp (RZ) or exactly 0.5 ulp (RNE).
#[test]
fn output_rounding_comes_close_to_its_bound() {
    // RZ-FP32: 16 * 1 + 63 * 2^-25, ulp of 16 is 2^-19: 63 of 64 parts are lost
    let unit = hardware(Hopper, "mma.m16n8k16.f32.f16.f16.f32");
    let lost = error(&unit, &just_below(&unit, "1", "1", 0, "0x1.f8p-20"));
    assert_eq!(lost, power(-19) * RBig::from(63_u64) * power(-6));
    // RZ-E8M13: 16 * 1 + 15 * 2^-13, ulp of 16 is 2^-9
    let unit = hardware(Ada, "mma.m16n8k16.f32.e4m3.e4m3.f32");
    let lost = error(&unit, &just_below(&unit, "1", "1", 0, "0x1.ep-10"));
    assert_eq!(lost, power(-9) * RBig::from(15_u64) * power(-4));
    // RNE-FP16: 1 + 2^-11
    let unit = hardware(Turing, "mma.m16n8k8.f16.f16.f16.f16");
    assert_eq!(error_of(&unit, &[(0, "0x1p-5", "0x1p-6")], "1"), power(-11));
    // RNE-FP32: 1 + 2^-24 on CDNA3
    for revision in Revision::ALL {
        let unit = common::unit(Cdna3, "v_mfma_f32_32x32x8_f16", revision);
        assert_eq!(error_of(&unit, &[(0, "0x1p-12", "0x1p-12")], "1"), power(-24));
    }
}
