//! `semantics.md`, rules 12 to 19, of formats and single instructions, in the manner of `semantics.rs`.

use crate::common;

use crate::common::hardware;
use crate::common::inputs::{Family, case};
use bitmma_engine::catalogue::{Architecture, catalogue, find};
use bitmma_engine::formats::{E2M1, E2M3, E3M2, E4M3, E4M3FNUZ, E5M2, E5M2FNUZ, F32, UE8M0};

use Architecture::{Ada, Ampere, Blackwell, Cdna3, Hopper, RtxBlackwell, Turing, Volta};

const VOLTA: &str = "mma.m8n8k4.f32.f16.f16.f32";
const NVF4: &str = "mma.m16n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.f32.ue4m3";
const ST: &str = "mma.m16n8k32.kind::mxf8f6f4.block32.f32.e5m2.e5m2.f32.ue8m0";

#[test]
fn rule_12_low_bits_of_tf32_and_xf32_are_ignored() {
    for (architecture, name) in
        [(Ampere, "mma.m16n8k8.f32.tf32.tf32.f32"), (Cdna3, "v_mfma_f32_16x16x8_xf32")]
    {
        let unit = hardware(architecture, name);
        unit.expect(&[(0, "0x3f801fff", "0x40001fff")], "0", 0x4000_0000, "1 * 2");
        unit.expect(&[(0, "0x00001fff", "0x3f800000")], "0", 0, "a subnormal of low bits only is zero");
        unit.expect(&[(0, "0x7f800001", "0x3f800000")], "0", 0x7f80_0000, "infinity, not NaN");
    }
}

#[test]
fn rule_13_fp8_is_ocp_on_nvidia_and_fnuz_on_cdna3() {
    let ada = hardware(Ada, "mma.m16n8k32.f32.e4m3.e4m3.f32");
    ada.expect(&[(0, "0x38", "0x38")], "0", 0x3f80_0000, "0x38 is 1 (bias 7)");
    ada.expect(&[(0, "0x7e", "0x38")], "0", 0x43e0_0000, "0x7e is 448, no infinity");
    ada.expect(&[(0, "0x7f", "0x38")], "0", 0x7fff_ffff, "0x7f is NaN");
    ada.expect(&[(0, "0xff", "0x00")], "0", 0x7fff_ffff, "0xff is NaN");
    ada.expect(&[(0, "0x80", "0x38")], "0", 0, "0x80 is -0");
    let ada = hardware(Ada, "mma.m16n8k32.f32.e5m2.e5m2.f32");
    ada.expect(&[(0, "0x7c", "0x3c")], "0", 0x7f80_0000, "0x7c is infinity");
    ada.expect(&[(0, "0x7d", "0x3c")], "0", 0x7fff_ffff, "0x7d is NaN");
    let fp8 = hardware(Cdna3, "v_mfma_f32_16x16x32_fp8_fp8");
    fp8.expect(&[(0, "0x40", "0x40")], "0", 0x3f80_0000, "0x40 is 1 (bias 8)");
    fp8.expect(&[(0, "0x7f", "0x40")], "0", 0x4370_0000, "0x7f is 240");
    fp8.expect(&[(0, "0x80", "0x00")], "0", 0x7fc0_0000, "0x80 is NaN");
    let bf8 = hardware(Cdna3, "v_mfma_f32_16x16x32_bf8_bf8");
    bf8.expect(&[(0, "0x40", "0x40")], "0", 0x3f80_0000, "0x40 is 1 (bias 16)");
    bf8.expect(&[(0, "0x7c", "0x40")], "0", 0x4700_0000, "0x7c is 2^15");
    bf8.expect(&[(0, "0x7f", "0x40")], "0", 0x4760_0000, "0x7f is 57344");
    bf8.expect(&[(0, "0x80", "0x00")], "0", 0x7fc0_0000, "0x80 is NaN");
    assert_eq!([E4M3, E5M2, E4M3FNUZ, E5M2FNUZ].map(|format| format.bias), [7, 15, 8, 16]);
}

#[test]
fn rule_14_narrow_formats_and_scale_factors() {
    let name = |format: &str| format!("mma.m16n8k32.kind::f8f6f4.f32.{format}.{format}.f32");
    for (format, largest, code, d) in
        [(E3M2, "28", 0x1f, 0x4444_0000), (E2M3, "7.5", 0x1f, 0x4261_0000), (E2M1, "6", 0x7, 0x4210_0000)]
    {
        assert_eq!(common::code(&format, largest), code);
        assert!(format.nan_code().is_none() && format.infinity_code().is_none());
        // the square of the largest: 784, 56.25, 36
        let unit = hardware(RtxBlackwell, &name(format.name));
        unit.expect(&[(0, largest, largest)], "0", d, "the square of the largest number");
    }
    // UE8M0: 2^(code - 127), no zero: code 0 is 2^-127, not zero
    let st = hardware(RtxBlackwell, ST);
    let mut case = st.case(&[(0, "1")], &[(0, "1")], "0");
    (case.scale_a[0], case.scale_b[0]) = (0, 127 + 100);
    assert_eq!(st.d(&case), (127 - 27) << 23, "{}", st.shown(&case));
    assert_eq!(UE8M0.nan_code(), Some(0xff));
    // UE4M3: the sign bit means nothing; zero is a zero factor
    let gst = hardware(RtxBlackwell, NVF4);
    for (scale, d) in [(0x38, 0x3f80_0000), (0xb8, 0x3f80_0000), (0x00, 0), (0x80, 0), (0x7e, 0x43e0_0000)] {
        let mut case = gst.case(&[(0, "1")], &[(0, "1")], "0");
        case.scale_a[0] = scale;
        assert_eq!(gst.d(&case), d, "{}", gst.shown(&case));
    }
}

#[test]
fn rule_15_m8n8k4_on_turing_is_voltas() {
    for types in ["f32.f16.f16.f32", "f16.f16.f16.f16", "f32.f16.f16.f16"] {
        let name = format!("mma.m8n8k4.{types}");
        let (turing, volta) = (hardware(Turing, &name), hardware(Volta, &name));
        assert_eq!(turing.model, volta.model, "{types}");
        for family in Family::ALL {
            for index in 0..200 {
                let case = case(&volta.model, 4, family, 0xf, index);
                assert_eq!(turing.d(&case), volta.d(&case), "{}", turing.shown(&case));
            }
        }
    }
    // F = 23 and not 24: c = 2^23 - 2^23 - 0.5
    let turing = hardware(Turing, VOLTA);
    turing.expect(&[(0, "-0x1p13", "0x1p10"), (1, "-0.5", "1")], "0x1p23", 0, "F = 23");
}

#[test]
fn rule_16_where_fp8_is_native() {
    let name = "mma.m16n8k32.f32.e4m3.e4m3.f32";
    for (architecture, native) in [(Ada, true), (RtxBlackwell, true), (Hopper, false), (Blackwell, false)] {
        assert_eq!(common::row(architecture, name).is_native(), native, "{architecture}");
    }
    for architecture in [Volta, Turing, Ampere] {
        assert!(find(architecture, name).is_err(), "{architecture} has no FP8");
    }
    assert!(common::row(Hopper, "wgmma.m64n8k32.f32.e4m3.e4m3").is_native());
    assert!(common::row(Blackwell, "tcgen05.mma.m128n8k32.kind::f8f6f4.f32.e4m3.e4m3").is_native());
    // RTX Blackwell: F = 25 and RZ-FP32 where Ada has F = 13 and RZ-E8M13: 1 + 2^-23
    let products: &[(usize, &str, &str)] = &[(0, "1", "1")];
    hardware(RtxBlackwell, name).expect(products, "0x1p-23", 0x3f80_0001, "F = 25, RZ-FP32");
    hardware(Ada, name).expect(products, "0x1p-23", 0x3f80_0000, "F = 13, RZ-E8M13");
}

#[test]
fn rule_17_scale_factors_of_fp4_kinds() {
    let mma = |rest: &str| format!("mma.m16n8k64.{rest}");
    let tcgen05 = |rest: &str| format!("tcgen05.mma.m128n8k64.{rest}");
    for (rest, scale, exists) in [
        ("kind::mxf4nvf4.block16", "ue8m0", true),
        ("kind::mxf4nvf4.block16", "ue4m3", true),
        ("kind::mxf4nvf4.block32", "ue8m0", true),
        ("kind::mxf4nvf4.block32", "ue4m3", false),
        ("kind::mxf4.block32", "ue8m0", true),
        ("kind::mxf4.block16", "ue8m0", false),
        ("kind::mxf4.block32", "ue4m3", false),
    ] {
        let rtx = find(RtxBlackwell, &mma(&format!("{rest}.f32.e2m1.e2m1.f32.{scale}")));
        let data_centre = find(Blackwell, &tcgen05(&format!("{rest}.f32.e2m1.e2m1.{scale}")));
        assert_eq!((rtx.is_ok(), data_centre.is_ok()), (exists, exists), "{rest} {scale}");
    }
}

/// D chained through K is rounded each time: 2048 + 1 goes back to 2048, twice; in one sum it is 2050.
#[test]
fn rule_18_chaining_rounds_in_between() {
    let products: &[(usize, &str, &str)] = &[(0, "1", "1"), (8, "1", "1")];
    let chained = hardware(Ampere, "mma.m16n8k16.f16.f16.f16.f16");
    chained.expect(products, "2048", 0x6800, "L = 8");
    chained.expect(&[(0, "1", "1"), (7, "1", "1")], "2048", 0x6801, "in one sum");
    hardware(Hopper, "mma.m16n8k16.f16.f16.f16.f16").expect(products, "2048", 0x6801, "L = 16");
    // FP32: RZ after each: 2^24 + 1, twice, is 2^24; in one sum 2^24 + 2
    let chained = hardware(Ampere, "mma.m16n8k16.f32.f16.f16.f32");
    chained.expect(products, "0x1p24", 0x4b80_0000, "L = 8");
    chained.expect(&[(0, "1", "1"), (7, "1", "1")], "0x1p24", 0x4b80_0001, "in one sum");
    // E8M13 in between: Ada, L = 16: 2^13 + 0.5 + 0.5 stays 2^13 even in one sum (F = 13), 2^14 + 1 twice too
    let ada = hardware(Ada, "mma.m16n8k32.f32.e4m3.e4m3.f32");
    ada.expect(&[(0, "2", "1"), (16, "2", "1")], "0x1p14", 0x4680_0800, "units of 2 stay");
    ada.expect(&[(0, "1", "1"), (16, "1", "1")], "0x1p14", 0x4680_0000, "halves of a unit fall");
}

/// An FP16 C into an FP32 D: a subnormal C has Exp -14, so that 2^-38 falls off at 2^(-14-23). Were it
/// normalised (Exp -24), the answer would be 2^-24 + 2^-38 = 0x33800200.
#[test]
fn rule_18_an_fp16_c_with_an_fp32_d() {
    for architecture in [Volta, Turing] {
        let unit = hardware(architecture, "mma.m8n8k4.f32.f16.f16.f16");
        let (d, small) = (0x3380_0000, [(0, "0x1p-19", "0x1p-19")]);
        unit.expect(&small, "0x0001", d, "C = 2^-24");
        unit.expect(&[(0, "0x1p-18", "0x1p-19")], "0x0001", 0x3380_0400, "2^-37 is one unit");
        assert_eq!((unit.model.c.name, unit.model.d), ("f16", F32));
    }
}

/// FP8 `mma.sync` on Hopper and Blackwell: first the products with k mod 4 in {0, 1}, then those in
/// {2, 3}, then C by an addition to nearest.
#[test]
fn rule_19_composed_fp8() {
    for architecture in [Hopper, Blackwell] {
        for name in ["mma.m16n8k32.f32.e4m3.e4m3.f32", "mma.m16n8k16.f32.e4m3.e4m3.f32"] {
            let unit = hardware(architecture, name);
            // 2^16 - 2^16 in the first pass; 2^-10 beside them is below one unit 2^(16-25)
            let large = [(0, "256", "256"), (1, "-256", "256")];
            for (index, expected) in [
                (2, 0x3a80_0000),
                (3, 0x3a80_0000),
                (4, 0),
                (5, 0),
                (6, 0x3a80_0000),
                (unit.k - 1, 0x3a80_0000),
            ] {
                let small = (index, "0x1p-5", "0x1p-5");
                unit.expect(&[large[0], large[1], small], "0", expected, "which pass");
            }
            // the second pass goes on from the first: 2^16 in it, -2^16 and 2^-10 in the second
            unit.expect(&[large[0], (2, "-256", "256"), (3, "0x1p-5", "0x1p-5")], "0", 0, "one accumulator");
            // C last and to nearest: 2^24 + 1.5 is 2^24 + 2, where RZ gives 2^24
            unit.expect(&[(0, "1.5", "1")], "0x1p24", 0x4b80_0001, "C added last, RNE");
            // C has no part in e_max: 2^-10 survives a C of 2^16 that then cancels... which RNE-FP32 rounds
            // at 2^-7: 2^16 + 2^-10 is 2^16
            unit.expect(&[(0, "0x1p-5", "0x1p-5")], "0x1p16", 0x4780_0000, "C added last");
        }
        // FP16: 2048 + (1 + 1) where the sum is made first; one HADD2 at the end
        let unit = hardware(architecture, "mma.m16n8k32.f16.e4m3.e4m3.f16");
        unit.expect(&[(0, "1", "1"), (2, "1", "1")], "2048", 0x6801, "2 is added to 2048 at once");
    }
    let composed = catalogue().iter().filter(|row| {
        row.composed_of.is_some() && [Hopper, Blackwell].contains(&row.architecture) && row.a.bits() == 8
    });
    assert!(composed.count() > 0);
}
