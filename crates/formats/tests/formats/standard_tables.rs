//! The limits and values that the standards print, as literals. Values are (significand, exponent):
//! significand * 2^exponent.
#![allow(clippy::unusual_byte_groupings)] // grouped as sign, exponent, fraction, as the standards print them

use crate::common::{lowest_terms, magnitude};
use bitmma_formats::*;

struct Row {
    format: Format,
    bits: u32,
    max_normal: (u64, (u128, i32)),
    min_normal: (u64, (u128, i32)),
    /// Largest and smallest; none in UE8M0.
    subnormals: Option<[(u64, (u128, i32)); 2]>,
    infinity: Option<u64>,
    /// Every NaN code, where they are few; otherwise some.
    nans: &'static [u64],
    negative_zero: Option<u64>,
    one: u64,
}

// OCP FP8 1.0 table 2; OCP MX 1.0 for FP6, FP4 and E8M0; arXiv:2206.02915 for FNUZ; IEEE 754-2019
// table 3.5; for the others the widths stated in `table.rs`, worked out by hand
#[rustfmt::skip]
const ROWS: &[Row] = &[
    Row { format: F64, bits: 64, max_normal: (0x7fef_ffff_ffff_ffff, ((1 << 53) - 1, 971)), min_normal: (0x0010_0000_0000_0000, (1, -1022)),
          subnormals: Some([(0x000f_ffff_ffff_ffff, ((1 << 52) - 1, -1074)), (1, (1, -1074))]),
          infinity: Some(0x7ff0_0000_0000_0000), nans: &[0x7ff8_0000_0000_0000, 0xfff8_0000_0000_0000, 0x7ff0_0000_0000_0001], negative_zero: Some(1 << 63), one: 0x3ff0_0000_0000_0000 },
    Row { format: F32, bits: 32, max_normal: (0x7f7f_ffff, (0xff_ffff, 104)), min_normal: (0x0080_0000, (1, -126)),
          subnormals: Some([(0x007f_ffff, (0x7f_ffff, -149)), (1, (1, -149))]),
          infinity: Some(0x7f80_0000), nans: &[0x7fc0_0000, 0xffc0_0000, 0x7f80_0001, 0x7fff_ffff], negative_zero: Some(0x8000_0000), one: 0x3f80_0000 },
    Row { format: TF32, bits: 32, max_normal: (0x7f7f_e000, (0x7ff, 117)), min_normal: (0x0080_0000, (1, -126)),
          subnormals: Some([(0x007f_e000, (0x3ff, -136)), (0x2000, (1, -136))]),
          infinity: Some(0x7f80_0000), nans: &[0x7fc0_0000, 0x7f80_2000, 0xffff_e000], negative_zero: Some(0x8000_0000), one: 0x3f80_0000 },
    Row { format: XF32, bits: 32, max_normal: (0x7f7f_e000, (0x7ff, 117)), min_normal: (0x0080_0000, (1, -126)),
          subnormals: Some([(0x007f_e000, (0x3ff, -136)), (0x2000, (1, -136))]),
          infinity: Some(0x7f80_0000), nans: &[0x7fc0_0000, 0x7f80_2000, 0xffff_e000], negative_zero: Some(0x8000_0000), one: 0x3f80_0000 },
    Row { format: E8M13, bits: 32, max_normal: (0x7f7f_fc00, (0x3fff, 114)), min_normal: (0x0080_0000, (1, -126)),
          subnormals: Some([(0x007f_fc00, (0x1fff, -139)), (0x400, (1, -139))]),
          infinity: Some(0x7f80_0000), nans: &[0x7fc0_0000, 0x7f80_0400, 0xffff_fc00], negative_zero: Some(0x8000_0000), one: 0x3f80_0000 },
    Row { format: BF16, bits: 16, max_normal: (0x7f7f, (0xff, 120)), min_normal: (0x0080, (1, -126)),
          subnormals: Some([(0x007f, (0x7f, -133)), (1, (1, -133))]),
          infinity: Some(0x7f80), nans: &[0x7fc0, 0xffc0, 0x7f81], negative_zero: Some(0x8000), one: 0x3f80 },
    Row { format: F16, bits: 16, max_normal: (0x7bff, (65504, 0)), min_normal: (0x0400, (1, -14)),
          subnormals: Some([(0x03ff, (1023, -24)), (1, (1, -24))]),
          infinity: Some(0x7c00), nans: &[0x7e00, 0xfe00, 0x7c01], negative_zero: Some(0x8000), one: 0x3c00 },
    Row { format: E5M2, bits: 8, max_normal: (0b0_11110_11, (57344, 0)), min_normal: (0b0_00001_00, (1, -14)),
          subnormals: Some([(0b0_00000_11, (3, -16)), (0b0_00000_01, (1, -16))]), // 0.75 * 2^-14
          infinity: Some(0b0_11111_00), nans: &[0x7e, 0x7d, 0x7f, 0xfd, 0xfe, 0xff], negative_zero: Some(0x80), one: 0x3c },
    Row { format: E4M3, bits: 8, max_normal: (0b0_1111_110, (448, 0)), min_normal: (0b0_0001_000, (1, -6)),
          subnormals: Some([(0b0_0000_111, (7, -9)), (0b0_0000_001, (1, -9))]), // 0.875 * 2^-6
          infinity: None, nans: &[0x7f, 0xff], negative_zero: Some(0x80), one: 0x38 },
    Row { format: E5M2FNUZ, bits: 8, max_normal: (0x7f, (57344, 0)), min_normal: (0x04, (1, -15)),
          subnormals: Some([(0x03, (3, -17)), (0x01, (1, -17))]),
          infinity: None, nans: &[0x80], negative_zero: None, one: 0x40 },
    Row { format: E4M3FNUZ, bits: 8, max_normal: (0x7f, (240, 0)), min_normal: (0x08, (1, -7)),
          subnormals: Some([(0x07, (7, -10)), (0x01, (1, -10))]),
          infinity: None, nans: &[0x80], negative_zero: None, one: 0x40 },
    Row { format: E3M2, bits: 6, max_normal: (0b0_111_11, (28, 0)), min_normal: (0b0_001_00, (1, -2)),
          subnormals: Some([(0b0_000_11, (3, -4)), (0b0_000_01, (1, -4))]), // 0.1875, 0.0625
          infinity: None, nans: &[], negative_zero: Some(0x20), one: 0x0c },
    Row { format: E2M3, bits: 6, max_normal: (0b0_11_111, (15, -1)), min_normal: (0b0_01_000, (1, 0)),
          subnormals: Some([(0b0_00_111, (7, -3)), (0b0_00_001, (1, -3))]), // 0.875, 0.125
          infinity: None, nans: &[], negative_zero: Some(0x20), one: 0x08 },
    Row { format: E2M1, bits: 4, max_normal: (0b0_11_1, (6, 0)), min_normal: (0b0_01_0, (1, 0)),
          subnormals: Some([(0b0_00_1, (1, -1)), (0b0_00_1, (1, -1))]), // 0.5
          infinity: None, nans: &[], negative_zero: Some(0x8), one: 0x2 },
    Row { format: UE8M0, bits: 8, max_normal: (0xfe, (1, 127)), min_normal: (0x00, (1, -127)),
          subnormals: None, infinity: None, nans: &[0xff], negative_zero: None, one: 0x7f },
    Row { format: UE4M3, bits: 8, max_normal: (0x7e, (448, 0)), min_normal: (0x08, (1, -6)),
          subnormals: Some([(0x07, (7, -9)), (0x01, (1, -9))]),
          infinity: None, nans: &[0x7f, 0xff], negative_zero: None, one: 0x38 },
];

#[test]
fn limits_are_those_of_the_standards() {
    for row in ROWS {
        let format = &row.format;
        let check = |what: &str, (code, (significand, exponent)): (u64, (u128, i32))| {
            let expected = lowest_terms(significand, exponent);
            assert_eq!(magnitude(format, code), expected, "{format}: {what} {code:#x}");
            assert!(!decode(format, code).negative);
        };
        assert_eq!(format.bits(), row.bits, "{format}");
        check("max normal", row.max_normal);
        check("min normal", row.min_normal);
        check("one", (row.one, (1, 0)));
        assert_eq!(format.max_finite_code(), row.max_normal.0, "{format}");
        assert_eq!(format.min_normal_code(), row.min_normal.0, "{format}");
        assert_eq!(format.one_code(), row.one, "{format}");
        let (significand, exponent) = row.max_normal.1;
        assert_eq!(format.max_exponent(), exponent + significand.ilog2() as i32, "{format}");
        assert_eq!(format.min_exponent(), row.min_normal.1.1, "{format}");
        match row.subnormals {
            Some([largest, smallest]) => {
                check("max subnormal", largest);
                check("min subnormal", smallest);
                assert_eq!(format.min_positive_code(), smallest.0, "{format}");
                assert_eq!(decode(format, 0).class, Class::Zero, "{format}");
                // the paper's Exp(x) of subnormal numbers and of zero
                assert_eq!(decode(format, smallest.0).exponent, format.min_exponent(), "{format}");
                assert_eq!(decode(format, 0).exponent, format.min_exponent(), "{format}");
            }
            None => assert_eq!(format.min_positive_code(), row.min_normal.0, "{format}"),
        }
    }
}

#[test]
fn special_codes_are_those_of_the_standards() {
    for row in ROWS {
        let format = &row.format;
        assert_eq!(format.infinity_code(), row.infinity, "{format}");
        assert_eq!(format.infinity_code().is_some(), row.infinity.is_some(), "{format}");
        assert_eq!(format.nan_code(), row.nans.first().copied(), "{format}");
        assert_eq!(format.nan_code().is_some(), !row.nans.is_empty(), "{format}");
        for &nan in row.nans {
            assert_eq!(decode(format, nan).class, Class::Nan, "{format} {nan:#x}");
        }
        if row.bits <= 8 {
            let nans = (0..1 << row.bits).filter(|&code| decode(format, code).class == Class::Nan).count();
            assert_eq!(nans, row.nans.len(), "NaNs of {format}");
        }
        assert_eq!(format.has_negative_zero(), row.negative_zero.is_some(), "{format}");
        if let Some(code) = row.negative_zero {
            let unpacked = decode(format, code);
            assert_eq!((unpacked.class, unpacked.negative), (Class::Zero, true), "{format}");
        }
    }
}

#[test]
fn every_format_has_a_row_here_and_a_name_of_its_own() {
    assert_eq!(ROWS.iter().map(|row| row.format).collect::<Vec<_>>(), FORMATS);
    for format in FORMATS {
        assert_eq!(by_name(format.name), Some(format));
        assert_eq!(by_name(&format.name.to_ascii_uppercase()), Some(format));
        assert_eq!(FORMATS.iter().filter(|other| other.name == format.name).count(), 1, "{format}");
        assert!(!format.standard.is_empty());
    }
    assert_eq!(by_name("e4m4"), None);
    assert_eq!(by_name(""), None);
}

#[test]
fn containers_are_as_wide_as_memory_and_recordings_have_them() {
    // name, bytes, hexadecimal digits
    let rows = [
        ("f64", 8, 16),
        ("f32", 4, 8),
        ("tf32", 4, 8),
        ("xf32", 4, 8),
        ("e8m13", 4, 8),
        ("bf16", 2, 4),
        ("f16", 2, 4),
        ("e5m2", 1, 2),
        ("e4m3", 1, 2),
        ("e5m2fnuz", 1, 2),
        ("e4m3fnuz", 1, 2),
        ("e3m2", 1, 2),
        ("e2m3", 1, 2),
        ("e2m1", 1, 1),
        ("ue8m0", 1, 2),
        ("ue4m3", 1, 2),
    ];
    assert_eq!(rows.len(), FORMATS.len());
    for (name, bytes, hex_digits) in rows {
        let format = by_name(name).unwrap();
        assert_eq!((format.bytes(), format.hex_digits()), (bytes, hex_digits), "{name}");
    }
}

/// All values of OCP MX FP4 E2M1, in halves.
const E2M1_HALVES: [u128; 8] = [0, 1, 2, 3, 4, 6, 8, 12];

/// All values of OCP MX FP6 E2M3, in eighths.
const E2M3_EIGHTHS: [u128; 32] = [
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 22, 24, 26, 28, 30, 32, 36, 40, 44, 48,
    52, 56, 60,
];

/// All values of OCP MX FP6 E3M2, in sixteenths.
const E3M2_SIXTEENTHS: [u128; 32] = [
    0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192,
    224, 256, 320, 384, 448,
];

#[test]
fn all_values_of_fp4_and_fp6() {
    fn check(format: &Format, values: &[u128], exponent: i32) {
        let sign = values.len() as u64;
        for (code, &value) in values.iter().enumerate() {
            let code = code as u64;
            assert_eq!(magnitude(format, code), lowest_terms(value, exponent), "{format} {code:#x}");
            assert_eq!(magnitude(format, code | sign), lowest_terms(value, exponent), "{format} {code:#x}");
            assert!(!decode(format, code).negative && decode(format, code | sign).negative);
        }
    }
    check(&E2M1, &E2M1_HALVES, -1);
    check(&E2M3, &E2M3_EIGHTHS, -3);
    check(&E3M2, &E3M2_SIXTEENTHS, -4);
}

#[test]
fn all_values_of_e8m0() {
    for code in 0..255 {
        assert_eq!(magnitude(&UE8M0, code), (1, code as i32 - 127), "{code:#x}");
        assert_eq!(decode(&UE8M0, code).class, Class::Finite, "{code:#x}");
    }
    assert_eq!(decode(&UE8M0, 255).class, Class::Nan);
}

#[test]
fn fnuz_formats_are_half_of_ocp_code_for_code() {
    // the bias is one more, so the same code is half the value, wherever OCP has a number
    for (fnuz, ocp) in [(E4M3FNUZ, E4M3), (E5M2FNUZ, E5M2)] {
        for code in (0..256).filter(|&code| code != 0x80 && decode(&ocp, code).is_finite()) {
            let (significand, exponent) = magnitude(&ocp, code);
            let half = if significand == 0 { (0, 0) } else { (significand, exponent - 1) };
            assert_eq!(magnitude(&fnuz, code), half, "{fnuz} {code:#x}");
            assert_eq!(decode(&fnuz, code).negative, decode(&ocp, code).negative, "{fnuz} {code:#x}");
        }
    }
}
