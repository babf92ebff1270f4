//! Models whose parameters show only near the edge of the result's range, and inputs that tell them apart,
//! written apart from the crate's own separators.

use bitmma_engine::arithmetic::{Conversion, FusedSum, Lowering, Operation, Prepared, RoundedSum};
use bitmma_engine::formats::{
    BF16, BlockScale, Class, E4M3, E5M2, F16, F32, Format, Overflow, Real, Rounding, TF32, UE8M0, decode,
    encode,
};
use bitmma_engine::{Case, Model, Signature};
use bitmma_verify::inputs::{Family, Formats, case, zero};

use super::Draw;

/// A model of T-, ST-, TR- or GTR-FDPA with its K: every rounding, F from 10 to 30, the exponent of zero terms from
/// -145 to -118 or none, normalised again or not.
pub(crate) fn edge(seed: u64) -> (Model, usize) {
    let mut draw = Draw(seed.wrapping_mul(0x9e37_79b9_0bad_c0de) ^ 0xed6e);
    loop {
        let (model, k) = try_edge(&mut draw);
        if Prepared::new(&model, k).is_ok() {
            return (model, k);
        }
    }
}

fn try_edge(draw: &mut Draw) -> (Model, usize) {
    let family = draw.one(&["T", "T", "T", "ST", "TR", "TR", "GTR"]);
    let format = draw.one(&[BF16, BF16, BF16, TF32, F16, E5M2, E4M3]);
    let format = if family == "ST" { draw.one(&[E4M3, E5M2]) } else { format };
    let k: usize = if format.bits() <= 8 { draw.one(&[16, 32]) } else { draw.one(&[4, 8, 16]) };
    let lengths: Vec<usize> = (1..=k).filter(|length| k.is_multiple_of(*length)).collect();
    let length = if draw.chance(50) { k } else { draw.one(&lengths) };
    let exponent = if draw.chance(20) { None } else { Some(draw.between(-145, -118)) };
    let rounding = |draw: &mut Draw| draw.one(&Rounding::ALL).0;
    let fused = FusedSum {
        max_length: length,
        fraction_bits: draw.between(10, 30) as u32,
        term_rounding: if draw.chance(50) { Rounding::TowardZero } else { rounding(draw) },
        zero_exponent: exponent,
        accumulator_fraction_bits: None,
    };
    let rounded = RoundedSum {
        max_length: length,
        fraction_bits: fused.fraction_bits,
        sum_fraction_bits: draw.between(20, 34) as u32,
        term_rounding: fused.term_rounding,
        sum_rounding: if draw.chance(50) { Rounding::Down } else { rounding(draw) },
        renormalize: draw.chance(50),
        zero_accumulator_exponent: exponent,
        product_overflow: None,
    };
    let operation = match family {
        "T" => Operation::TFdpa(fused),
        "ST" => Operation::StFdpa(fused),
        "TR" => Operation::TrFdpa(rounded),
        _ => Operation::GtrFdpa(rounded),
    };
    let conversion = Conversion::new(rounding(draw), F32);
    let model = Model {
        scale: (family == "ST").then_some(BlockScale { format: UE8M0, size: 16 }),
        lowering: Lowering::NONE,
        ..Model::new(format, format, F32, operation, conversion)
    };
    (model, k)
}

/// A number of that sign whose bits are `bits`, the last worth 2^`last`, cut to what the format holds.
fn with_bits(format: &Format, negative: bool, bits: u64, last: i32) -> u64 {
    let real = Real { negative, significand: u128::from(bits), exponent: last, inexact: false };
    encode(format, real, Rounding::TowardZero, Overflow::Saturate)
}

/// Sets product `at` to about ±`bits` · 2^`last`, its scale factors too where there are any.
fn set_product(draw: &mut Draw, f: &Formats, case: &mut Case, at: usize, bits: u64, last: i32) {
    let lowest = |format: &Format| format.min_exponent() - format.fraction_bits as i32;
    let top = 64 - bits.leading_zeros() as i32;
    let mut target = last;
    if let Some(scale) = f.scale {
        let one = draw.between(-100, 30);
        target = last + 20 + draw.between(-6, 6);
        let other = last - target - one;
        case.scale_a[at / scale.size] = with_bits(&scale.format, false, 1, one);
        case.scale_b[at / scale.size] = with_bits(&scale.format, false, 1, other);
        target = last - one - other;
    }
    let (low, high) = (lowest(&f.b), f.b.max_exponent());
    let (first_low, first_high) = (lowest(&f.a), f.a.max_exponent() - top);
    let first = draw.between(first_low.max(target - high), first_high.min(target - low));
    let flip = draw.chance(50);
    let sign = draw.chance(50);
    case.a[at] = with_bits(&f.a, sign != flip, bits, first.clamp(first_low, first_high.max(first_low)));
    case.b[at] = with_bits(&f.b, flip, 1, (target - first).clamp(low, high));
}

/// Two or three products, sometimes C: about a result's tie in FP32's subnormal numbers, or some way above, and a tail
/// 1 to 40 bits below.
pub(crate) fn tail(formats: &Formats, k: usize, seed: u64, index: u64) -> Case {
    let mut draw = Draw(seed ^ index.wrapping_mul(0xd6e8_feb8_6659_fd93));
    let count = formats.scale.map_or(0, |scale| k / scale.size);
    let one = formats.scale.map_or(0, |scale| scale.format.one_code());
    let mut case = Case {
        a: vec![zero(&formats.a); k],
        b: vec![zero(&formats.b); k],
        c: zero(&formats.c),
        scale_a: vec![one; count],
        scale_b: vec![one; count],
    };
    let tie = match draw.below(4) {
        0..=1 => -150,
        2 => draw.between(-151, -140),
        _ => draw.between(-150, -90),
    };
    let mut order: Vec<usize> = (0..k).collect();
    for at in (1..k).rev() {
        let other = draw.below(at + 1);
        order.swap(at, other);
    }
    // last places of the result and its half
    let bits = [1, 3, 2, 5, 7, draw.bits() % 64 + 1][draw.below(6)];
    if draw.chance(25) {
        case.c = with_bits(&formats.c, draw.chance(50), bits, tie);
    } else {
        set_product(&mut draw, formats, &mut case, order[0], bits, tie);
    }
    let below = draw.between(1, 40);
    let bits = if draw.chance(60) { 1 } else { draw.bits() % 15 + 1 };
    set_product(&mut draw, formats, &mut case, order[1 % k], bits, tie - below);
    if draw.chance(40) && k > 2 {
        let (above, bits) = (draw.between(-30, 24), draw.bits() % 7 + 1);
        set_product(&mut draw, formats, &mut case, order[2], bits, tie + above);
    }
    if draw.chance(15) {
        case.c = with_bits(&formats.c, draw.chance(50), draw.bits() % 7 + 1, tie + draw.between(-3, 30));
    }
    case
}

/// How many of `count` inputs, three in five of them from [`tail`], the models answer differently, with the first.
pub(crate) fn disagreements(
    one: &Model,
    other: &Model,
    signature: &Signature,
    (count, seed): (u64, u64),
) -> (u64, Option<(Case, u64, u64)>) {
    use bitmma_engine::threads::prelude::*;
    let k = signature.k;
    let formats = Formats::from(signature);
    let is_nan = |code| decode(&signature.d, code).class == Class::Nan;
    let (one, other) = (Prepared::new(one, k).unwrap(), Prepared::new(other, k).unwrap());
    let answer = |model: &Prepared<'_>, case: &Case| {
        use bitmma_engine::arithmetic::run::Side;
        let a = model.vector(Side::A, case.a.iter().copied());
        let b = model.vector(Side::B, case.b.iter().copied());
        let scales = [&case.scale_a, &case.scale_b].map(|codes| model.scales(codes.iter().copied()));
        model.dot(&a, &b, case.c, &scales[0], &scales[1], &mut ())
    };
    let differs = |index: usize| {
        let index = index as u64;
        let case = match index % 5 {
            0..=2 => tail(&formats, k, seed, index),
            _ => case(formats, k, Family::ALL[(index / 5 % 10) as usize], seed, index),
        };
        let (one, other) = (answer(&one, &case), answer(&other, &case));
        (one != other && !(is_nan(one) && is_nan(other))).then_some((case, one, other))
    };
    let all: Vec<_> = (0..count as usize).into_par_iter().with_min_len(256).filter_map(differs).collect();
    (all.len() as u64, all.into_iter().next())
}
