//! Hand rows: texts that are read, texts that are refused, and what each says.

use bitmma_formats::Overflow::{Ieee, Infinity, Saturate};
use bitmma_formats::Rounding::{NearestEven, TowardZero, Up};
use bitmma_formats::text::{Parsed, parse};
use bitmma_formats::*;
use std::time::{Duration, Instant};

#[test]
fn texts_that_are_read() {
    // format, text, code under RNE, whether the code is exactly what was written
    #[rustfmt::skip]
    let rows: &[(Format, &str, u64, bool)] = &[
        (F16, "0", 0x0000, true),
        (F16, "-0", 0x8000, true),
        (F16, "+0", 0x0000, true),
        (F16, "-0.000e99999999999999999999", 0x8000, true),
        (F16, "1", 0x3c00, true),
        (F16, "+5", 0x4500, true),
        (F16, ".5", 0x3800, true),
        (F16, "5.", 0x4500, true),
        (F16, "-0.125", 0xb000, true),
        (F16, "1e-3", 0x1419, false),
        (F16, "1E3", 0x63d0, true),
        (F16, "1e+3", 0x63d0, true),
        (F16, "0001000.0000", 0x63d0, true),
        (F16, "0.1", 0x2e66, false),
        (F16, "2048", 0x6800, true),
        (F16, "2049", 0x6800, false),                 // a tie
        (F16, "2049.0000000000000000000000000000000000000000000001", 0x6801, false),
        (F16, "65519.999", 0x7bff, false),
        (F16, "65520", 0x7c00, false),
        (F16, "-1e9", 0xfc00, false),
        (F16, "1e-9", 0x0000, false),
        (F16, "-1e-9", 0x8000, false),
        (F16, "0.000000059604644775390625", 0x0001, true), // 2^-24 to its last digit
        (F16, "0x1p-24", 0x0001, true),
        (F16, "-0x1p-14", 0x8400, true),
        (F16, "0x1.8p3", 0x4a00, true),
        (F16, "0x1.8P+3", 0x4a00, true),
        (F16, "0X1.8p3", 0x4a00, true),
        (F16, "0x.8p1", 0x3c00, true),
        (F16, "0x8.p-3", 0x3c00, true),
        (F16, "+0x00010p-4", 0x3c00, true),
        (F16, "0x1.002p0", 0x3c00, false),            // a tie
        (F16, "0x1.00200000000000000000000000000000000000000000001p0", 0x3c01, false),
        (F16, "-0x0p5", 0x8000, true),
        (F16, "0x0p99999999999999999999", 0x0000, true),
        (F16, "0x3c00", 0x3c00, true),                // codes
        (F16, "0X3C00", 0x3c00, true),
        (F16, "0x0", 0x0000, true),
        (F16, "0x1e5", 0x01e5, true),
        (F16, "0x000000000000000000003c00", 0x3c00, true),
        (F16, "0xffff", 0xffff, true),
        (F16, "inf", 0x7c00, true),
        (F16, "-inf", 0xfc00, true),
        (F16, "+Infinity", 0x7c00, true),
        (F16, "-INFINITY", 0xfc00, true),
        (F16, "NaN", 0x7e00, true),
        (TF32, "0x3f801234", 0x3f80_1234, true),      // a code is taken as it is, padding included
        (TF32, "1.0009765625", 0x3f80_2000, true),
        (TF32, "1.00048828125", 0x3f80_0000, false),
        (F64, "0xffffffffffffffff", u64::MAX, true),
        (F64, "9007199254740993", 0x4340_0000_0000_0000, false), // 2^53 + 1
        (F64, "2.2250738585072011e-308", 0x000f_ffff_ffff_ffff, false), // once an endless loop elsewhere
        (F64, "2.4703282292062327208e-324", 0x0000_0000_0000_0000, false), // just below half of the smallest
        (F64, "2.4703282292062328e-324", 0x0000_0000_0000_0001, false),
        (E4M3, "448", 0x7e, true),
        (E4M3, "-465", 0x7f, false),
        (E4M3, "nan", 0x7f, true),
        (E5M2, "inf", 0x7c, true),
        (E4M3FNUZ, "nan", 0x80, true),
        (E4M3FNUZ, "-0", 0x00, false),                // it has no negative zero
        (E4M3FNUZ, "0", 0x00, true),
        (E2M1, "2.5", 0x4, false),                    // a tie
        (E2M1, "-6", 0xf, true),
        (E2M1, "0xf", 0xf, true),
        (E2M1, "100", 0x7, false),
        (E3M2, "0x3f", 0x3f, true),
        (UE8M0, "0.5", 0x7e, true),
        (UE8M0, "0", 0x00, false),                    // it has no zero
        (UE8M0, "-0", 0x00, false),
        (UE8M0, "0x1p-127", 0x00, true),
        (UE4M3, "0xff", 0xff, true),
        (UE4M3, "0", 0x00, true),
        (UE4M3, "-0", 0x00, false),
        (UE4M3, "1.5", 0x3c, true),
    ];
    for &(format, text, code, exact) in rows {
        match parse(&format, text, NearestEven, Infinity) {
            Ok(parsed) => assert_eq!((parsed.code, parsed.exact), (code, exact), "{format} '{text}'"),
            Err(error) => panic!("{format} '{text}': {error}"),
        }
    }
}

#[test]
fn texts_that_are_refused() {
    let malformed = |text: &str| {
        format!(
            "'{text}' is not a number; write a decimal (-0.125, 1e-3), a hexadecimal float (0x1.8p3), a code (0x3c00), inf or nan"
        )
    };
    let odd = [
        "",
        " ",
        "+",
        "-",
        ".",
        "-.",
        "e5",
        ".e5",
        "1e",
        "1e+",
        "1e-",
        "1e5.5",
        "1.2.3",
        "1..2",
        "--1",
        "+-1",
        "1-",
        " 1",
        "1 ",
        "1_000",
        "1,5",
        "0x",
        "0X",
        "-0x",
        "0xg",
        "0x1.8",
        "0x.p1",
        "0xp1",
        "0x1p",
        "0x1p+",
        "0x1p1.5",
        "0x1pa",
        "0x1.8.8p0",
        "0x-1",
        "0x+1p0",
        "0x 1",
        "x3c00",
        "3c00",
        "0b1",
        "i",
        "in",
        "infin",
        "infinit",
        "--inf",
        "-nan",
        "+nan",
        "nan(1)",
        "NULL",
        "1f",
        "\u{2212}1",
        "\u{0661}",
        "1e\u{0661}",
        "½",
    ];
    for text in odd {
        let error = parse(&F16, text, NearestEven, Infinity).unwrap_err();
        assert_eq!(error.to_string(), malformed(text));
    }
    #[rustfmt::skip]
    let rows: &[(Format, &str, &str)] = &[
        (F16, "-0x3c00", "'-0x3c00' is a code with a sign; set the sign bit inside the code, or write a hexadecimal float (-0x3c00p0)"),
        (F16, "+0x3c00", "'+0x3c00' is a code with a sign; set the sign bit inside the code, or write a hexadecimal float (+0x3c00p0)"),
        (F16, "0x10000", "'0x10000' is too wide: a code of f16 has 16 bits, so the largest is 0xffff"),
        (E4M3, "0x100", "'0x100' is too wide: a code of e4m3 has 8 bits, so the largest is 0xff"),
        (E2M3, "0x40", "'0x40' is too wide: a code of e2m3 has 6 bits, so the largest is 0x3f"),
        (E2M1, "0x10", "'0x10' is too wide: a code of e2m1 has 4 bits, so the largest is 0xf"),
        (TF32, "0x100000000", "'0x100000000' is too wide: a code of tf32 has 32 bits, so the largest is 0xffffffff"),
        (F64, "0x10000000000000000", "'0x10000000000000000' is too wide: a code of f64 has 64 bits, so the largest is 0xffffffffffffffff"),
        (E4M3, "inf", "'inf' is not in e4m3, which has no infinity; its largest number is 448"),
        (E4M3, "-Infinity", "'-Infinity' is not in e4m3, which has no infinity; its largest number is 448"),
        (E5M2FNUZ, "inf", "'inf' is not in e5m2fnuz, which has no infinity; its largest number is 57344"),
        (UE8M0, "inf", "'inf' is not in ue8m0, which has no infinity; its largest number is 1.7014118346046923e38"),
        (E2M1, "inf", "'inf' is not in e2m1, which has no infinity; its largest number is 6"),
        (E2M1, "nan", "'nan' is not in e2m1, which has no NaN: each of its codes is a number"),
        (E3M2, "NaN", "'NaN' is not in e3m2, which has no NaN: each of its codes is a number"),
        (UE8M0, "-1", "'-1' is not in ue8m0, which has no negative numbers"),
        (UE4M3, "-0x1p-30", "'-0x1p-30' is not in ue4m3, which has no negative numbers"),
        (UE4M3, "-1e-999999999", "'-1e-999999999' is not in ue4m3, which has no negative numbers"),
    ];
    for &(format, text, message) in rows {
        let error = parse(&format, text, NearestEven, Infinity).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn rounding_and_overflow_are_the_callers() {
    let code = |text, rounding, overflow| parse(&F16, text, rounding, overflow).unwrap().code;
    assert_eq!(code("0.1", TowardZero, Ieee), 0x2e66);
    assert_eq!(code("0.1", Up, Ieee), 0x2e67);
    assert_eq!(code("-0.1", Up, Ieee), 0xae66);
    assert_eq!(code("1e9", TowardZero, Infinity), 0x7c00);
    assert_eq!(code("1e9", TowardZero, Ieee), 0x7bff);
    assert_eq!(code("1e9", NearestEven, Saturate), 0x7bff);
    assert_eq!(code("1e-9", Up, Ieee), 0x0001);
}

#[test]
fn displayed_digits_name_their_code_though_not_exactly() {
    let read = |format, text| parse(&format, text, NearestEven, Infinity).unwrap();
    // 2^-149 has 105 significant digits; its display has 16
    let smallest = read(F32, "1.401298464324817e-45");
    assert_eq!(smallest, Parsed { code: 1, exact: false, as_displayed: true });
    assert!(smallest.names_code());
    // another spelling of the same decimal, and a different decimal that rounds to the same code
    assert!(read(F32, "0.1401298464324817000E-44").names_code());
    assert!(!read(F32, "1.4e-45").names_code());
    // 0.1 is FP64's own shortest decimal, and none of FP32's
    assert!(read(F64, "0.1").names_code());
    assert!(!read(F32, "0.1").names_code());
    assert!(read(F32, "0.10000000149011612").names_code());
    assert!(!read(F16, "1e9").names_code());
    assert!(!read(E2M1, "2.5").names_code());
    assert!(read(E2M1, "1.5").names_code() && read(E2M1, "0xf").names_code());
}

#[test]
fn no_length_hangs_or_panics() {
    let start = Instant::now();
    let long = 20_000;
    let ends = [
        "999999999",
        "2147483647",
        "2147483648",
        "9223372036854775807",
        "9223372036854775808",
        "99999999999999999999999999",
    ];
    for format in [F64, F16, E4M3] {
        let large = format.infinity_code().or(format.nan_code()).unwrap();
        for end in ends {
            for (text, expected) in [
                (format!("1e{end}"), large),
                (format!("1e-{end}"), 0),
                (format!("0x1p{end}"), large),
                (format!("0x1p-{end}"), 0),
                (format!("0x0.{}1p{end}", "0".repeat(100)), large),
                (format!("0.{}1e{end}", "0".repeat(100)), large),
                (format!("1{}e-{end}", "0".repeat(100)), 0),
            ] {
                let parsed = parse(&format, &text, NearestEven, Infinity).unwrap();
                assert_eq!((parsed.code, parsed.exact), (expected, false), "{format} '{text}'");
            }
        }
        let one = format.one_code();
        let nines = "9".repeat(long);
        let zeros = "0".repeat(long);
        for (text, expected) in [
            (format!("1.{zeros}"), (one, true)),
            (format!("1.{zeros}1"), (one, false)),
            (format!("0.{nines}"), (one, false)),
            (format!("{zeros}1{zeros}e-{long}"), (one, true)),
            (format!("0.{zeros}1e{}", long + 1), (one, true)),
            (nines.clone(), (large, false)),
            (format!("{nines}e-{}", 2 * long + 400), (0, false)),
            (format!("0x1.{zeros}p0"), (one, true)),
            (format!("0x1.{zeros}1p0"), (one, false)),
            (format!("0x1{zeros}p-{}", 4 * long), (one, true)),
            (format!("0x0.{zeros}1p{}", 4 * (long + 1)), (one, true)),
        ] {
            let parsed = parse(&format, &text, NearestEven, Infinity).unwrap();
            assert_eq!((parsed.code, parsed.exact), expected, "{format} {}...", &text[..20]);
        }
    }
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}
