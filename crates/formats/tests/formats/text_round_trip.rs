//! What is printed reads back, and the host and `rustc_apfloat` read the same from it.

use crate::common;
use bitmma_formats::cases::{all_codes, notable_codes};
use bitmma_formats::text::{Parsed, display, display_hex_float, parse, to_f64_bits};
use bitmma_formats::*;
use rustc_apfloat::Float;
use rustc_apfloat::ieee::Quad;

fn read(format: &Format, text: &str) -> Parsed {
    parse(format, text, Rounding::NearestEven, Overflow::Infinity).unwrap()
}

/// What reading the printed code must give: NaNs lose sign and payload, UE4M3 its sign bit.
fn expected(format: &Format, code: u64) -> u64 {
    match decode(format, code).class {
        Class::Nan => format.nan_code().unwrap(),
        _ if format.name == "ue4m3" => code & 0x7f,
        _ => code,
    }
}

fn check(format: &Format, code: u64) {
    let expected = expected(format, code);

    let shown = display(format, code);
    let parsed = read(format, &shown);
    assert_eq!(parsed.code, expected, "{format} {code:#x} '{shown}'");
    assert!(parsed.names_code(), "{format} {code:#x} '{shown}'");
    let host: f64 = shown.parse().unwrap();
    if !host.is_nan() {
        assert_eq!(host.to_bits(), to_f64_bits(format, code), "{format} {code:#x} '{shown}'");
    }

    let hex = display_hex_float(format, code);
    let parsed = read(format, &hex);
    assert_eq!((parsed.code, parsed.exact), (expected, true), "{format} {code:#x} '{hex}'");
    if decode(format, code).class == Class::Finite {
        // the same value in binary128, by their reader and by their conversion from the significand
        let unpacked = decode(format, code);
        let value = Quad::from_u128(u128::from(unpacked.significand)).value;
        let value = value.scalbn(unpacked.exponent - format.fraction_bits as i32);
        let value = if unpacked.negative { -value } else { value };
        assert_eq!(hex.parse::<Quad>().unwrap().to_bits(), value.to_bits(), "{format} {code:#x} '{hex}'");
    }

    let code = code >> format.padding_bits << format.padding_bits;
    let digits = format!("{code:#x}");
    assert_eq!(
        read(format, &digits),
        Parsed { code, exact: true, as_displayed: false },
        "{format} '{digits}'"
    );
}

#[test]
fn every_code_up_to_16_bits() {
    for format in FORMATS.into_iter().filter(|format| common::information_bits(format) <= 16) {
        all_codes(&format).for_each(|code| check(&format, code));
    }
}

#[test]
fn notable_and_random_codes_of_wide_formats() {
    let mut random = common::Random::new(40);
    for format in FORMATS.into_iter().filter(|format| common::information_bits(format) > 16) {
        notable_codes(&format).into_iter().for_each(|code| check(&format, code));
        for _ in 0..20_000 {
            let code = random.next() & format.max_code();
            check(&format, code >> format.padding_bits << format.padding_bits);
        }
    }
}

#[test]
fn displayed_rows() {
    let rows: &[(Format, u64, &str, &str)] = &[
        (F16, 0x3c00, "1", "0x1p+0"),
        (F16, 0xb000, "-0.125", "-0x1p-3"),
        (F16, 0x4a00, "12", "0x1.8p+3"),
        (F16, 0x0000, "0", "0x0p+0"),
        (F16, 0x8000, "-0", "-0x0p+0"),
        (F16, 0x7bff, "65504", "0x1.ffcp+15"),
        (F16, 0x0001, "5.960464477539063e-8", "0x1p-24"), // 2^-24 has more digits, FP64 needs no more
        (F16, 0x8003, "-1.7881393432617188e-7", "-0x1.8p-23"),
        (F16, 0x7c00, "inf", "inf"),
        (F16, 0xfc00, "-inf", "-inf"),
        (F16, 0x7e00, "nan", "nan"),
        (F16, 0xfe01, "nan", "nan"),
        (F32, 0x7f7f_ffff, "3.4028234663852886e38", "0x1.fffffep+127"),
        (F32, 0x0000_0001, "1.401298464324817e-45", "0x1p-149"),
        (F32, 0x3dcc_cccd, "0.10000000149011612", "0x1.99999ap-4"),
        (F32, 0x3727_c5ac, "9.999999747378752e-6", "0x1.4f8b58p-17"),
        (F64, 0x3fb9_9999_9999_999a, "0.1", "0x1.999999999999ap-4"),
        (F64, 0x0000_0000_0000_0001, "5e-324", "0x1p-1074"),
        (F64, 0x000f_ffff_ffff_ffff, "2.225073858507201e-308", "0x1.ffffffffffffep-1023"),
        (F64, 0x7fef_ffff_ffff_ffff, "1.7976931348623157e308", "0x1.fffffffffffffp+1023"),
        (F64, 0x4341_c379_37e0_8000, "1e16", "0x1.1c37937e08p+53"),
        (F64, 0x4341_c379_37e0_7fff, "9999999999999998", "0x1.1c37937e07fffp+53"),
        (F64, 0x3ee4_f8b5_88e3_68f1, "0.00001", "0x1.4f8b588e368f1p-17"),
        (F64, 0x3ee4_f8b5_88e3_68f0, "9.999999999999999e-6", "0x1.4f8b588e368fp-17"),
        (E4M3, 0xfe, "-448", "-0x1.cp+8"),
        (E4M3, 0xff, "nan", "nan"),
        (E4M3FNUZ, 0x80, "nan", "nan"),
        (E2M1, 0x7, "6", "0x1.8p+2"),
        (E2M1, 0x9, "-0.5", "-0x1p-1"),
        (UE8M0, 0x00, "5.877471754111438e-39", "0x1p-127"),
        (UE8M0, 0x7f, "1", "0x1p+0"),
        (UE8M0, 0xff, "nan", "nan"),
        (UE4M3, 0xb8, "1", "0x1p+0"),
        (TF32, 0x3f80_1fff, "1", "0x1p+0"), // padding says nothing
    ];
    for &(format, code, decimal, hex) in rows {
        assert_eq!(display(&format, code), decimal, "{format} {code:#x}");
        assert_eq!(display_hex_float(&format, code), hex, "{format} {code:#x}");
    }
}
