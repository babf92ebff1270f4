//! `semantics.md`, rules 1 to 10, of what every sum does with exponents, zeros, infinities and NaN: one directed input
//! each whose answer was worked out by hand and differs from what the next best reading would give. FP32 codes: 2^e
//! is (127 + e) << 23. Rule 11 is `paper.rs`, mi300x_rounds_once_more; the rest `semantics_instructions.rs`.

use crate::common;

use crate::common::inputs::{Family, case};
use crate::common::{Unit, hardware, unit};
use bitmma_engine::Case;
use bitmma_engine::arithmetic::{Operation, RoundedSum};
use bitmma_engine::catalogue::{Architecture, Revision};
use bitmma_engine::formats::{BF16, E2M1, UE4M3};

use Architecture::{Ada, Ampere, Blackwell, Cdna1, Cdna2, Cdna3, Hopper, RtxBlackwell, Turing, Volta};

const VOLTA: &str = "mma.m8n8k4.f32.f16.f16.f32";
const GST: &str = "mma.m16n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.f32.ue8m0";
const NVF4: &str = "mma.m16n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.f32.ue4m3";
const ST: &str = "mma.m16n8k32.kind::mxf8f6f4.block32.f32.e5m2.e5m2.f32.ue8m0";
const XF_BF16: &str = "v_mfma_f32_32x32x8_bf16";
const XF_F16: &str = "v_mfma_f32_32x32x8_f16";

/// Exp of a subnormal is the format's minimum, and neither factor nor product is normalised.
#[test]
fn rule_1_exponents_are_not_normalised() {
    let volta = hardware(Volta, VOLTA);
    // 2^-24 (subnormal, Exp -14) * 2^15: value 2^-9, Exp 1, unit 2^(1-23) = 2^-22: the 2^-23 falls off.
    // Normalised, Exp would be -9 and the answer 2^-9 + 2^-23 = 0x3b000200.
    volta.expect(&[(0, "0x0001", "0x1p15"), (1, "0x1p-12", "0x1p-11")], "0", 0x3b00_0000, "subnormal factor");
    // 1.5 * 1.5 = 2.25 has Exp 0, unit 2^-23: c = 2^-23 stays. Normalised, the answer would be 0.
    volta.expect(&[(0, "1.5", "1.5"), (1, "-1.5", "1.5")], "0x1p-23", 0x3400_0000, "product above 2");
}

/// A zero term brings e_zero into e_max. FP16 output: 2^-25 alone is a tie that goes to 0, and any more
/// makes it 2^-24 (0x0001); e_max without the zero terms is -25. With them the unit is 2^(e_zero - F):
/// one unit stays, half a unit falls off.
#[test]
fn rule_2_e_zero_with_fp16_output() {
    // columns: architecture, instruction, factor b1 of 2^-24 that gives one unit, and half a unit
    #[rustfmt::skip]
    let rows = [
        (Volta,        "mma.m8n8k4.f16.f16.f16.f16",     "0x1p-18", "0x1p-19"), // -19 - 23 = -42
        (Turing,       "mma.m8n8k4.f16.f16.f16.f16",     "0x1p-18", "0x1p-19"), // as on Volta (rule 15)
        (Turing,       "mma.m16n8k8.f16.f16.f16.f16",    "0x1p-20", "0x1p-21"), // -20 - 24 = -44
        (Ampere,       "mma.m16n8k8.f16.f16.f16.f16",    "0x1p-20", "0x1p-21"),
        (Ada,          "mma.m16n8k8.f16.f16.f16.f16",    "0x1p-20", "0x1p-21"),
        (Hopper,       "mma.m16n8k16.f16.f16.f16.f16",   "0x1p-22", "0x1p-23"), // -21 - 25 = -46
        (Hopper,       "wgmma.m64n8k16.f16.f16.f16",     "0x1p-22", "0x1p-23"),
        (Blackwell,    "mma.m16n8k16.f16.f16.f16.f16",   "0x1p-22", "0x1p-23"),
        (Blackwell,    "tcgen05.mma.m128n8k16.kind::f16.f16.f16.f16", "0x1p-22", "0x1p-23"),
        (RtxBlackwell, "mma.m16n8k16.f16.f16.f16.f16",   "0x1p-22", "0x1p-23"),
    ];
    for (architecture, name, whole, half) in rows {
        let first = (0, "0x1p-12", "0x1p-13");
        let on_hardware = hardware(architecture, name);
        on_hardware.expect(&[first, (1, "0x1p-24", whole)], "0", 0x0001, "one unit");
        on_hardware.expect(&[first, (1, "0x1p-24", half)], "0", 0x0000, "half a unit");
        let in_paper = unit(architecture, name, Revision::Paper);
        in_paper.expect(&[first, (1, "0x1p-24", half)], "0", 0x0001, "revision paper has no e_zero");
    }
}

/// The same with FP32 output, where it takes FP32's range in A and B to see it: terms that add up to
/// 2^-149 (0x00000001) exactly, or to a little less, which RZ-FP32 makes 0.
///
/// With FP16 or FP8 inputs e_zero is never seen with an FP32 output: their products have Exp -28 or more,
/// a nonzero c has -126 or more, both above e_zero. The same holds for FP8 with FP16 output: all its
/// products are multiples of 2^-32, and e_zero - F is -33 (Ada), -34 (Hopper). Those cells of rule 2's
/// table rest on the catalogue's own test.
#[test]
fn rule_2_e_zero_with_fp32_output() {
    let p = |power: i32| format!("0x1p{power}");
    // e_zero -132, F 24: unit 2^-156. 2^-150 (1 + 2^-n) + 2^-150 (1 - 2^-n), n = 6: 2^-156 stays; 7: falls
    for architecture in [Ampere, Ada] {
        let unit = hardware(architecture, "mma.m16n8k8.f32.bf16.bf16.f32");
        let kept = [(0, "0x1.04p-75", "0x1p-75"), (1, "0x1.f8p-76", "0x1p-75")];
        let lost = [(0, "0x1.02p-75", "0x1p-75"), (1, "0x1.fcp-76", "0x1p-75")];
        unit.expect(&kept, "0", 0x0000_0001, "2^-156 is one unit");
        unit.expect(&lost, "0", 0x0000_0000, "2^-157 is half a unit");
        let paper = common::unit(architecture, "mma.m16n8k8.f32.bf16.bf16.f32", Revision::Paper);
        paper.expect(&lost, "0", 0x0000_0001, "revision paper has no e_zero");
    }
    // e_zero -133, F 25: unit 2^-158. 2^-150 + ... + 2^-n + 2^-n = 2^-149, n = 158 stays, n = 159 falls
    for (architecture, name) in [
        (Hopper, "mma.m16n8k16.f32.bf16.bf16.f32"),
        (Hopper, "wgmma.m64n8k16.f32.bf16.bf16"),
        (Blackwell, "mma.m16n8k16.f32.bf16.bf16.f32"),
        (Blackwell, "tcgen05.mma.m128n8k16.kind::f16.f32.bf16.bf16"),
        (RtxBlackwell, "mma.m16n8k16.f32.bf16.bf16.f32"),
    ] {
        for (last, expected) in [(158, 1), (159, 0)] {
            let powers: Vec<String> = (150..=last).chain([last]).map(|n| p(75 - n)).collect();
            let products: Vec<_> =
                powers.iter().enumerate().map(|(k, a)| (k, a.as_str(), "0x1p-75")).collect();
            hardware(architecture, name).expect(&products, "0", expected, "2^-158 is one unit");
            let paper = common::unit(architecture, name, Revision::Paper);
            paper.expect(&products, "0", 1, "revision paper has no e_zero");
        }
    }
}

/// ST-FDPA: e_zero -133, F 25 as above, with 2^-150 from the scale factors (2^-127 * 2^-23); and the
/// scale exponents are not added to e_zero.
#[test]
fn rule_2_e_zero_with_scale_factors() {
    for (architecture, name) in
        [(RtxBlackwell, ST), (Blackwell, "tcgen05.mma.m128n8k32.kind::mxf8f6f4.block32.f32.e5m2.e5m2.ue8m0")]
    {
        let unit = hardware(architecture, name);
        for (last, expected) in [(8, 1), (9, 0)] {
            let powers: Vec<String> = (0..=last).chain([last]).map(|n| format!("0x1p-{n}")).collect();
            let a: Vec<_> = powers.iter().enumerate().map(|(k, a)| (k, a.as_str())).collect();
            let b: Vec<_> = (0..powers.len()).map(|k| (k, "1")).collect();
            let mut case = unit.case(&a, &b, "0");
            (case.scale_a[0], case.scale_b[0]) = (0, 127 - 23);
            assert_eq!(unit.d(&case), expected, "{}", unit.shown(&case));
        }
        // all products zero, scale 2^60: were it added, e_max would be -73 and c = 2^-126 would fall off
        let mut case = unit.case(&[], &[], "0x1p-126");
        case.scale_a[0] = 127 + 60;
        assert_eq!(unit.d(&case), 0x0080_0000, "{}", unit.shown(&case));
    }
}

/// Groups of GST-FDPA: 16 elements whose dot product is the number of quarters, all else zero.
fn groups(unit: &Unit, quarters: [i32; 4], exponents: [i32; 4]) -> Case {
    let mut case = unit.case(&[], &[], "0");
    for (group, (wanted, exponent)) in quarters.into_iter().zip(exponents).enumerate() {
        // greedy in products of E2M1, in quarters: 6*6, 4*2, 1*1, 0.5*0.5, each of either sign
        let mut left = wanted;
        let mut element = 16 * group;
        while left != 0 {
            let choices = [("6", "6", 144), ("4", "2", 32), ("1", "1", 4), ("0.5", "0.5", 1)];
            let (a, b, size) = choices
                .into_iter()
                .min_by_key(|(_, _, size)| (left.abs() - size).abs())
                .expect("there are four");
            case.a[element] = common::code(&E2M1, &format!("{}{a}", if left < 0 { "-" } else { "" }));
            case.b[element] = common::code(&E2M1, b);
            left -= size * left.signum();
            element += 1;
            assert!(element <= 16 * (group + 1), "{wanted} quarters take more than 16 products");
        }
        // alpha * beta = 2^exponent, each within 2^-127..2^127
        let alpha = exponent.clamp(-127, 127);
        case.scale_a[group] = (alpha + 127) as u64;
        case.scale_b[group] = (exponent - alpha + 127) as u64;
    }
    case
}

/// GST-FDPA: e_zero -139, F 35: unit 2^-174; the accumulator is the zero term. Ones from 2^-150 down to
/// 2^-n in three groups and a last 2^-n in the fourth add up to 2^-149: n = 174 stays, n = 175 falls.
#[test]
fn rule_2_e_zero_of_groups() {
    let names = [
        (RtxBlackwell, GST),
        (Blackwell, "tcgen05.mma.m128n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.ue8m0"),
    ];
    for (architecture, name) in names {
        let unit = hardware(architecture, name);
        // 2047 quarters = eleven ones; the last of them at 2^-160: 2^-2 * 2^-158; then at 2^-171
        let kept = groups(&unit, [2047, 2047, 7, 1], [-158, -169, -172, -172]);
        let lost = groups(&unit, [2047, 2047, 15, 1], [-158, -169, -173, -173]);
        assert_eq!(unit.d(&kept), 1, "{}", unit.shown(&kept));
        assert_eq!(unit.d(&lost), 0, "{}", unit.shown(&lost));
        let paper = common::unit(architecture, name, Revision::Paper);
        assert_eq!(paper.d(&lost), 1, "{}", paper.shown(&lost));
    }
}

/// A group that cancels keeps e_g = 35, so that the unit is 1 and 0.5 falls off; a group of zero products
/// under the same scale factors is a zero term, and so is one with a scale factor of zero.
#[test]
fn rule_3_a_group_that_cancels_keeps_its_exponent() {
    let unit = hardware(RtxBlackwell, GST);
    let mut case = groups(&unit, [0, 2, 0, 0], [35, 0, 0, 0]);
    assert_eq!(unit.d(&case), 0x3f00_0000, "zero products: {}", unit.shown(&case));
    let one = common::code(&E2M1, "1");
    (case.a[0], case.b[0], case.a[1], case.b[1]) = (one, one, one | E2M1.sign_bit(), one);
    assert_eq!(unit.d(&case), 0, "1 - 1: {}", unit.shown(&case));

    // UE4M3: alpha = 0 (Exp -6), beta = 448 (Exp 8), product 36. Were it no zero term, e_max would be 2 and
    // c = 2^-40 would fall off at 2^(2-35). The other groups are zero terms, too.
    let unit = hardware(RtxBlackwell, NVF4);
    for zero in [0x00, 0x80] {
        let mut case = unit.case(&[(0, "6")], &[(0, "6")], "0x1p-40");
        (case.scale_a[0], case.scale_b[0]) = (zero, common::code(&UE4M3, "448"));
        assert_eq!(unit.d(&case), 0x2b80_0000, "{}", unit.shown(&case));
    }
}

/// TR- and GTR-FDPA: zero products take no part in e_max, and a sum of nothing but zeros in E.
#[test]
fn rule_4_zero_products_bring_no_exponent() {
    for revision in Revision::ALL {
        let tr = unit(Cdna3, XF_F16, revision);
        // 0 * 2^15 would have Exp 1, unit 2^-23, and lose 2^-24
        tr.expect(&[(0, "0", "0x1p15"), (1, "0x1p-12", "0x1p-12")], "0", 0x3380_0000, "e_max");
        // and E would be 1, at which c = 2^-30 is below one unit 2^-23
        tr.expect(&[(0, "0", "0x1p15")], "0x1p-30", 0x3080_0000, "E");
        let gtr = unit(Cdna3, "v_mfma_f32_16x16x32_fp8_fp8", revision);
        // 0 * 2^7 would have Exp 0, and c = 2^-40 be below one unit 2^-24. (Among FP8 products it is not
        // seen: all are multiples of 2^-20.)
        gtr.expect(&[(0, "0", "0x1p7"), (1, "0", "0x1p7")], "0x1p-40", 0x2b80_0000, "E");
    }
}

/// The zero accumulator's exponent -126 cannot be seen in revision `hardware`: the renormalisation cuts at
/// 2^(-126-31) as well. (Without it, it is seen: the vectors of CDNA3 on BF16 differ in revision `paper`,
/// which has neither, and in no model that has one of the two.) A difference found here would make rule
/// 4's number testable.
#[test]
fn rule_4_the_exponent_of_a_zero_accumulator_is_never_seen() {
    let row = common::row(Cdna3, XF_BF16);
    let model = row.model(Revision::Hardware).expect("known");
    let mut other = model.clone();
    let Operation::TrFdpa(sum) = &mut other.operation else { panic!("TR-FDPA") };
    assert_eq!(sum.zero_accumulator_exponent, Some(-126));
    *sum = RoundedSum { zero_accumulator_exponent: None, ..*sum };
    let (with, without) = (
        Unit { name: "e_zero_c = -126".to_owned(), model, k: row.products() },
        Unit { name: "no e_zero_c".to_owned(), model: other, k: row.products() },
    );
    // products from 2^-266 to 2^-120, of either sign, c = 0
    for index in 0..20_000 {
        let mut tiny = case(&with.model, row.products(), Family::Moderate, 0x4, index);
        tiny.c = 0;
        let down = (56 + index % 14) << BF16.fraction_bits;
        for code in tiny.a.iter_mut().chain(&mut tiny.b) {
            *code = (*code & BF16.sign_bit()) | ((*code & !BF16.sign_bit()).saturating_sub(down));
        }
        assert_eq!(with.d(&tiny), without.d(&tiny), "{}", with.shown(&tiny));
    }
}

#[test]
fn rule_5_signs_of_zero() {
    let minus: Vec<_> = (0..4).map(|k| (k, "-0", "1")).collect();
    let (zero, negative) = (0x0000_0000, 0x8000_0000);
    // T, ST, GST: +0 whatever the signs, and whatever is rounded or cut
    let ampere = hardware(Ampere, "mma.m16n8k8.f32.bf16.bf16.f32");
    ampere.expect(&minus, "-0", zero, "zero terms");
    ampere.expect(&[(0, "-0x1p-80", "0x1p-80")], "0", zero, "rounded to zero");
    hardware(Volta, "mma.m8n8k4.f16.f16.f16.f16").expect(&[(0, "-0x1p-20", "0x1p-20")], "-0", 0, "FP16");
    let st = hardware(RtxBlackwell, ST);
    st.expect(&minus, "-0", zero, "ST");
    let gst = hardware(RtxBlackwell, GST);
    gst.expect(&minus, "-0", zero, "GST");
    // E: an exact zero is +0 even of -0 only; a negative value that rounds to zero is -0
    let exact = hardware(Cdna1, "v_mfma_f32_32x32x4bf16");
    exact.expect(&minus[..2], "-0", zero, "E, zero terms");
    exact.expect(&[(2, "-0x1p-80", "0x1p-80")], "0", negative, "E, rounded to zero");
    exact.expect(&[(2, "1", "1"), (3, "-1", "1")], "-0", zero, "E, cancelled");
    // TR and GTR as E
    for revision in Revision::ALL {
        let tr = unit(Cdna3, XF_BF16, revision);
        tr.expect(&minus, "-0", zero, "TR, zero terms");
        tr.expect(&[(2, "-0x1p-80", "0x1p-80")], "0", negative, "TR, rounded to zero");
        tr.expect(&[(2, "1", "1"), (3, "-1", "1")], "-0", zero, "TR, cancelled");
        let gtr = unit(Cdna3, "v_mfma_f32_32x32x16_fp8_fp8", revision);
        gtr.expect(&[(2, "1", "1"), (3, "-1", "1")], "-0", zero, "GTR, cancelled");
        gtr.expect(&[], "-0", zero, "GTR, zero terms");
    }
    // FMA: IEEE 754, -0 of -0 and -0 alone
    let fma = hardware(Cdna1, "v_mfma_f32_16x16x4f32");
    fma.expect(&minus, "-0", negative, "FMA, -0 + -0");
    fma.expect(&minus[..3], "-0", zero, "FMA, one +0 among them");
    fma.expect(
        &[(0, "1", "1"), (1, "-1", "1"), (2, "-0", "1"), (3, "-0", "1")],
        "-0",
        zero,
        "FMA, cancelled",
    );
    hardware(Ampere, "mma.m8n8k4.f64.f64.f64.f64").expect(&minus, "-0", 1 << 63, "FMA on FP64");
    // FTZ-AddMul: inputs lose the sign of zero, results keep it
    let ftz = hardware(Cdna2, "v_mfma_f32_32x32x4bf16_1k");
    ftz.expect(&minus, "-0", zero, "FTZ, flushed inputs");
    let all: Vec<_> = (0..4).map(|k| (k, "-0x1p-70", "0x1p-70")).collect();
    ftz.expect(&all, "-0", zero, "FTZ, four products of -0 on a c of +0");
    // -(2^-126 + 2^-149) + 2^-126 = -2^-149: flushed to -0
    ftz.expect(&[(0, "0x1p-63", "0x1p-63")], "0x80800001", negative, "FTZ, result flushed with its sign");
}

/// Overflow gives infinity under RZ too, of either sign; the largest finite number stays what it is.
#[test]
fn rule_6_overflow_is_infinity() {
    let ampere = hardware(Ampere, "mma.m16n8k8.f32.bf16.bf16.f32");
    ampere.expect(&[(0, "0x1p64", "0x1p63")], "0x7f7fffff", 0x7f80_0000, "RZ-FP32, 2^127 + 2^128 - 2^104");
    ampere.expect(&[(0, "-0x1p64", "0x1p63")], "0xff7fffff", 0xff80_0000, "RZ-FP32, negative");
    ampere.expect(&[], "0x7f7fffff", 0x7f7f_ffff, "the largest finite number");
    // products may exceed 2^128 inside the sum
    ampere.expect(&[(0, "0x1p127", "2"), (1, "-0x1p127", "2"), (2, "1", "1")], "0", 0, "2^128 - 2^128 + 1");
    let half = hardware(Ampere, "mma.m16n8k8.f16.f16.f16.f16");
    half.expect(&[(0, "16", "1")], "65504", 0x7c00, "RNE-FP16, the tie at 65520");
    half.expect(&[(0, "15.9921875", "1")], "65504", 0x7bff, "RNE-FP16, below the tie");
    half.expect(&[(0, "-16", "1")], "-65504", 0xfc00, "RNE-FP16, negative");
    // E8M13: FP8 products stay below 2^37, so only the accumulator comes near: it is cut, not overflowed
    let ada = hardware(Ada, "mma.m16n8k32.f32.e5m2.e5m2.f32");
    ada.expect(&[], "0x7f7fffff", 0x7f7f_fc00, "RZ-E8M13 cuts the largest FP32 number to its own");
    // TR and E, RNE: the tie above the largest number
    for (unit, bits) in [(hardware(Cdna3, XF_BF16), "TR"), (hardware(Cdna1, "v_mfma_f32_32x32x4bf16"), "E")] {
        unit.expect(&[(0, "0x1p64", "0x1p63")], "0x7f7fffff", 0x7f80_0000, bits);
    }
}

/// Infinities and NaNs first, over all products and the accumulator, whatever else is there.
#[test]
fn rule_7_specials_are_resolved_before_alignment() {
    let infinite = 0x7f80_0000;
    let ampere = hardware(Ampere, "mma.m16n8k8.f32.bf16.bf16.f32");
    ampere.expect(&[(0, "inf", "1"), (7, "0x1p127", "-0x1p127")], "0", infinite, "inf beside -2^254");
    ampere.expect(&[(7, "0x1p127", "-0x1p127")], "inf", infinite, "an infinite accumulator");
    ampere.expect(&[(7, "0x1p127", "0x1p127")], "nan", 0x7fff_ffff, "a NaN accumulator");
    ampere.expect(&[(0, "inf", "1"), (7, "-inf", "1")], "0", 0x7fff_ffff, "inf - inf among products");
    ampere.expect(&[(3, "inf", "1")], "-inf", 0x7fff_ffff, "inf - inf with the accumulator");
    ampere.expect(&[(3, "inf", "0")], "0", 0x7fff_ffff, "inf * 0");
    ampere.expect(&[(3, "-inf", "-1"), (4, "inf", "2")], "inf", infinite, "inf of one sign");
    // every family, an infinite accumulator beside the largest product of the other sign
    for (architecture, name, large) in [
        (Cdna1, "v_mfma_f32_32x32x4bf16", "0x1p60"),
        (Cdna2, "v_mfma_f32_32x32x4bf16_1k", "0x1p60"),
        (Cdna3, XF_BF16, "0x1p60"),
        (Cdna3, "v_mfma_f32_32x32x16_fp8_fp8", "240"),
        (RtxBlackwell, ST, "57344"),
        (RtxBlackwell, GST, "6"),
    ] {
        let unit = hardware(architecture, name);
        unit.expect(&[(0, large, &format!("-{large}"))], "inf", infinite, "kept");
        let d = unit.answer(&[(0, large, large)], "nan");
        assert!(d & 0x7fff_ffff > infinite, "{}: NaN is lost in {d:#x}", unit.name);
    }
}

/// TR-FDPA: a product of 2^128 or more is infinite before rule 7 applies. T-FDPA knows no such limit.
#[test]
fn rule_8_product_overflow() {
    for revision in Revision::ALL {
        let tr = unit(Cdna3, XF_BF16, revision);
        let large = (0, "0x1p64", "0x1p64");
        tr.expect(&[large], "0", 0x7f80_0000, "2^128");
        tr.expect(&[large, (1, "-0x1p64", "0x1p64")], "0", 0x7fc0_0000, "2^128 - 2^128 is inf - inf");
        tr.expect(&[large], "-inf", 0x7fc0_0000, "against an infinite accumulator");
        tr.expect(&[large], "-0x1p127", 0x7f80_0000, "before anything is summed");
        // 1.5 * 2^64 * 1.5 * 2^63 = 1.125 * 2^128, Exp 127: the product counts, not its exponent
        tr.expect(&[(0, "0x1.8p64", "0x1.8p63")], "-0x1p127", 0x7f80_0000, "the product's size");
        // (2 - 2^-7) 2^127 is below
        let below = [(0, "0x1.fep64", "0x1p63"), (1, "-0x1.fep64", "0x1p63")];
        tr.expect(&below, "0x1p120", 0x7b80_0000, "below 2^128 they cancel");
        tr.expect(&below[..1], "-inf", 0xff80_0000, "below 2^128, infinite accumulator");
    }
    hardware(Ampere, "mma.m16n8k8.f32.bf16.bf16.f32").expect(
        &[(0, "0x1p64", "0x1p64"), (1, "-0x1p64", "0x1p64")],
        "1",
        0,
        "T-FDPA: 2^128 - 2^128, and 1 falls off",
    );
}

#[test]
fn rule_9_nan_codes() {
    for (architecture, name, nan) in [
        (Volta, VOLTA, 0x7fff_ffff_u64),
        (Volta, "mma.m8n8k4.f16.f16.f16.f16", 0x7fff),
        (Ada, "mma.m16n8k32.f32.e4m3.e4m3.f32", 0x7fff_ffff),
        (Ada, "mma.m16n8k32.f16.e4m3.e4m3.f16", 0x7fff),
        (RtxBlackwell, ST, 0x7fff_ffff),
        (RtxBlackwell, GST, 0x7fff_ffff),
        (Ampere, "mma.m8n8k4.f64.f64.f64.f64", 0x7ff8_0000_0000_0000),
        (Cdna1, "v_mfma_f32_16x16x4f32", 0x7fc0_0000),
        (Cdna1, "v_mfma_f32_32x32x4bf16", 0x7fc0_0000),
        (Cdna2, "v_mfma_f32_32x32x4bf16_1k", 0x7fc0_0000),
        (Cdna3, XF_BF16, 0x7fc0_0000),
        (Cdna3, "v_mfma_f32_32x32x16_fp8_fp8", 0x7fc0_0000),
    ] {
        let unit = hardware(architecture, name);
        // a NaN with sign and payload in C: only the rule's code comes out
        let c = unit.model.c;
        let odd = c.nan_code().expect("C has NaN") | c.sign_bit() | 1;
        let mut case = unit.case(&[], &[], "0");
        case.c = odd;
        assert_eq!(unit.d(&case), nan, "{}", unit.shown(&case));
        // where the code is specified no other NaN agrees; where it is not, any does, but for strict bits
        let specified = unit.model.nan_code.is_some();
        let other = unit.model.d.nan_code().expect("D has NaN") | unit.model.d.sign_bit();
        assert_eq!(unit.model.agrees(other, nan, false), !specified, "{name}");
        assert!(!unit.model.agrees(other, nan, true), "{name}, strict");
    }
}

#[test]
fn rule_10_nan_scale_factors() {
    for (name, nan) in [(ST, 0xff), (GST, 0xff), (NVF4, 0x7f), (NVF4, 0xff)] {
        let unit = hardware(RtxBlackwell, name);
        let blocks = unit.case(&[], &[], "0").scale_a.len();
        for block in 0..blocks {
            let mut first = unit.case(&[], &[], "inf");
            first.scale_a[block] = nan;
            assert_eq!(unit.d(&first), 0x7fff_ffff, "{}", unit.shown(&first));
            let mut second = unit.case(&[], &[], "1");
            second.scale_b[block] = nan;
            assert_eq!(unit.d(&second), 0x7fff_ffff, "{}", unit.shown(&second));
        }
    }
}
