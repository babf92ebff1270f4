//! Conversions against the PTX ISA's description of `cvt`, with codes written out.

use bitmma_formats::{BF16, E2M1, E2M3, E3M2, E4M3, E5M2, F16, F32, Format, Rounding};
use bitmma_functions::convert::{Modifiers, convert};

const RN: Modifiers = Modifiers::NEAREST;
const RZ: Modifiers = Modifiers { rounding: Rounding::TowardZero, ..RN };
const RM: Modifiers = Modifiers { rounding: Rounding::Down, ..RN };
const RP: Modifiers = Modifiers { rounding: Rounding::Up, ..RN };
const SATFINITE: Modifiers = Modifiers { satfinite: true, ..RN };
const RELU: Modifiers = Modifiers { relu: true, ..RN };
const FTZ: Modifiers = Modifiers { ftz: true, ..RN };

#[test]
#[rustfmt::skip]
fn written_out() {
    let rows: [(&Format, &Format, u64, Modifiers, u64); 42] = [
        // 1 + 2^-11 lies between two FP16 numbers, half way
        (&F32, &F16, 0x3f80_1000, RN, 0x3c00), (&F32, &F16, 0x3f80_3000, RN, 0x3c02),
        (&F32, &F16, 0x3f80_3000, RZ, 0x3c01), (&F32, &F16, 0xbf80_3000, RM, 0xbc02),
        (&F32, &F16, 0xbf80_3000, RP, 0xbc01), (&F32, &F16, 0x3f80_1000, RP, 0x3c01),
        // 65520 rounds to infinity, or not
        (&F32, &F16, 0x477f_f000, RN, 0x7c00), (&F32, &F16, 0x477f_f000, RZ, 0x7bff),
        (&F32, &F16, 0x477f_f000, SATFINITE, 0x7bff), (&F32, &F16, 0xff80_0000, SATFINITE, 0xfbff),
        (&F32, &F16, 0xff80_0000, RN, 0xfc00), (&F32, &F16, 0xff80_0001, SATFINITE, 0x7fff),
        (&F32, &F16, 0xbf80_0000, RELU, 0), (&F32, &F16, 0x8000_0000, RELU, 0),
        (&F32, &F16, 0xff80_0000, RELU, 0), (&F32, &F16, 0xffc0_0000, RELU, 0x7fff),
        (&F32, &F16, 0x3380_0000, RN, 1), (&F32, &F16, 0x3300_0000, RN, 0),
        (&F32, &BF16, 0x3f80_8000, RN, 0x3f80), (&F32, &BF16, 0x3f81_8000, RN, 0x3f82),
        (&F32, &BF16, 0x7f7f_ffff, RN, 0x7f80), (&F32, &BF16, 0x7f7f_ffff, SATFINITE, 0x7f7f),
        (&F32, &BF16, 0x0001_8000, RN, 0x0002), (&F32, &BF16, 0x0001_8000, FTZ, 0),
        (&F32, &BF16, 0x7fc0_1234, RN, 0x7fff),
        // 448 is E4M3's largest, 57344 E5M2's
        (&F32, &E4M3, 0x43e0_0000, SATFINITE, 0x7e), (&F32, &E4M3, 0x7f80_0000, SATFINITE, 0x7e),
        (&F32, &E4M3, 0xff80_0000, RN, 0xfe), (&F32, &E4M3, 0xffc0_0000, SATFINITE, 0x7f),
        (&F32, &E5M2, 0x4780_0000, SATFINITE, 0x7b), (&F32, &E5M2, 0x7fc0_0000, SATFINITE, 0x7f),
        (&F32, &E2M3, 0x7fc0_0000, SATFINITE, 0x1f), (&F32, &E3M2, 0xffc0_0000, SATFINITE, 0x1f),
        (&F32, &E2M1, 0xffc0_0000, SATFINITE, 0x7), (&F32, &E2M1, 0xc0a0_0000, SATFINITE, 0xe),
        (&F32, &E2M1, 0xc2c8_0000, SATFINITE, 0xf), (&F32, &E2M1, 0xc2c8_0000, RELU, 0),
        (&E4M3, &F16, 0x7f, RN, 0x7fff), (&E4M3, &F16, 0x01, RN, 0x1800),
        (&F16, &F32, 0xfe01, RN, 0x7fff_ffff), (&BF16, &F32, 0xffc1, RN, 0xffc1_0000),
        (&F16, &F32, 0x0001, RN, 0x3380_0000),
    ];
    for (from, to, code, modifiers, expected) in rows {
        let result = convert(from, to, code, modifiers);
        assert_eq!(result, expected, "{from} {code:x} to {to}, {modifiers:?}: {result:x}");
    }
}

#[test]
fn narrow_numbers_come_back() {
    for from in [F16, BF16, E5M2, E4M3, E3M2, E2M3, E2M1] {
        for code in 0..=from.max_code() {
            let wide = convert(&from, &F32, code, RN);
            let back = convert(&F32, &from, wide, RN);
            let infinite = from.infinity_code().is_some_and(|infinity| code & !from.sign_bit() == infinity);
            assert!(from.is_nan(code) || infinite || back == code, "{from} {code:x}: {wide:x}, {back:x}");
        }
    }
}
