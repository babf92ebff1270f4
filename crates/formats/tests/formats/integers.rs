//! Integers: every code of the narrow ones, the ends of S32's range, and both rules for what is beyond a range.

use bitmma_formats::{
    B1, Class, Format, INTEGERS, Overflow, Real, Rounding, S4, S8, S32, U4, U8, alias, by_name, cases,
    decode, encode, encode_wrapping, text,
};

/// The number of a code, by the host's own integers.
fn number(format: &Format, code: u64) -> i64 {
    match format.name {
        "s32" => (code as i32).into(),
        "s8" => (code as i8).into(),
        "s4" => ((code as i8) << 4 >> 4).into(),
        _ => code as i64,
    }
}

fn real(value: i64) -> Real {
    Real::exact(value.into(), 0)
}

#[test]
fn every_code_is_its_number() {
    let widths = INTEGERS.map(|format| (format.name, format.bits()));
    assert_eq!(widths, [("s32", 32), ("s8", 8), ("u8", 8), ("s4", 4), ("u4", 4), ("b1", 1)]);
    for format in [S8, U8, S4, U4, B1] {
        for code in cases::all_codes(&format) {
            let (unpacked, expected) = (decode(&format, code), number(&format, code));
            assert_eq!(unpacked.signed_significand(), expected, "{format} {code:#x}");
            assert_eq!(unpacked.exponent, format.fraction_bits as i32, "the last bit counts one");
            assert_eq!(unpacked.class == Class::Zero, expected == 0);
            assert_eq!(text::display(&format, code), expected.to_string());
            assert_eq!(format.place(code), expected.into());
            assert_eq!(
                encode(&format, unpacked.real(&format), Rounding::NearestEven, Overflow::Infinity),
                code
            );
        }
    }
    for code in [0, 1, 0x7fff_ffff, 0x8000_0000, 0x8000_0001, 0xffff_ffff] {
        assert_eq!(text::display(&S32, code), number(&S32, code).to_string());
    }
}

#[test]
fn what_is_beyond_the_range_wraps_or_becomes_its_end() {
    for format in [S8, U8, S4, U4, B1] {
        let codes: Vec<i64> = cases::all_codes(&format).map(|code| number(&format, code)).collect();
        let (least, largest) = (*codes.iter().min().unwrap(), *codes.iter().max().unwrap());
        for value in -700..=700 {
            for overflow in [Overflow::Infinity, Overflow::Ieee, Overflow::Saturate] {
                let code = encode(&format, real(value), Rounding::NearestEven, overflow);
                assert_eq!(number(&format, code), value.clamp(least, largest), "{value} in {format}");
            }
            let code = encode_wrapping(&format, real(value), Rounding::NearestEven);
            let wrapped = (value - least).rem_euclid(largest - least + 1) + least;
            assert_eq!(number(&format, code), wrapped, "{value} in {format}");
        }
    }
    let beyond = [(1 << 31, 0x8000_0000, 0x7fff_ffff), (-(1 << 31) - 1, 0x7fff_ffff, 0x8000_0000_u64)];
    for (value, wrapped, saturated) in beyond {
        assert_eq!(encode_wrapping(&S32, real(value), Rounding::NearestEven), wrapped);
        assert_eq!(encode(&S32, real(value), Rounding::NearestEven, Overflow::Infinity), saturated);
    }
    // 3 * 2^31, and numbers whose significand does not fit in 128 bits once it is shifted
    for (exponent, wrapped) in [(31, 0x8000_0000), (127, 0), (128, 0), (i32::MAX, 0)] {
        let value = Real { exponent, ..real(-3) };
        assert_eq!(encode_wrapping(&S32, value, Rounding::NearestEven), wrapped);
        assert_eq!(encode(&S32, value, Rounding::NearestEven, Overflow::Infinity), 0x8000_0000);
    }
}

#[test]
fn fractions_are_rounded() {
    // halves from -4 to 4, by the host's floor and its rounding
    for halves in -8..=8_i64 {
        let value = Real::exact(halves.into(), -1);
        let host = halves as f64 / 2.0;
        for (rounding, expected) in [
            (Rounding::NearestEven, host.round_ties_even()),
            (Rounding::TowardZero, host.trunc()),
            (Rounding::Down, host.floor()),
            (Rounding::Up, host.ceil()),
        ] {
            let code = encode(&S4, value, rounding, Overflow::Infinity);
            assert_eq!(number(&S4, code), expected as i64, "{host} {rounding}");
        }
    }
    let tiny = Real { negative: false, significand: 1, exponent: -500, inexact: true };
    assert_eq!(encode(&U8, tiny, Rounding::Up, Overflow::Infinity), 1);
    assert_eq!(encode(&U8, tiny, Rounding::NearestEven, Overflow::Infinity), 0);
}

#[test]
fn texts_are_read_and_refused() {
    let parse = |format, text| text::parse(format, text, Rounding::NearestEven, Overflow::Ieee);
    assert_eq!(parse(&S8, "-128").unwrap().code, 0x80);
    assert_eq!(parse(&S8, "0x80").unwrap().code, 0x80);
    assert_eq!(parse(&S4, "-1").unwrap().code, 0xf);
    assert!(!parse(&S8, "128").unwrap().exact && !parse(&S8, "0.5").unwrap().exact);
    assert_eq!(parse(&U8, "-1").unwrap_err().to_string(), "'-1' is not in u8, which has no negative numbers");
    assert_eq!(
        parse(&S8, "inf").unwrap_err().to_string(),
        "'inf' is not in s8, which has no infinity; its largest number is 127"
    );
    assert!(parse(&S4, "0x10").is_err());
    assert!(parse(&S32, "nan").is_err());
}

#[test]
fn other_names() {
    let other = [
        ("int8", S8),
        ("torch.uint8", U8),
        ("int32", S32),
        ("CUDA_R_8I", S8),
        ("int4", S4),
        ("uint4b_t", U4),
        ("S32", S32),
    ];
    for (name, format) in other {
        assert_eq!(alias::find(name), Ok(format), "{name}");
    }
    assert_eq!(by_name("b1"), Some(B1));
    let refused = alias::find("int16").unwrap_err().to_string();
    assert_eq!(
        refused,
        "'int16' is an integer that no matrix unit multiplies; these are s32, s8, u8, s4, u4 and b1"
    );
}

/// Zero, one and both ends of the range are among them.
#[test]
fn notable_codes_have_the_ends_of_the_range() {
    for format in INTEGERS {
        let codes = cases::notable_codes(&format);
        for value in [0, 1, format.integer_range()[0] as i64, format.integer_range()[1] as i64] {
            assert!(codes.iter().any(|&code| number(&format, code) == value), "{format} {value}");
        }
        assert!(codes.iter().all(|&code| code <= format.max_code()));
    }
}
