//! `cvt` on awkward operands, against `rustc_apfloat` and integers of 128 bits.

use rustc_apfloat::ieee::{BFloat, Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

use crate::floats::{BF16, F16, F32, F64, Kind, ROUNDINGS};
use crate::line::{Row, check, cut, integers, pairs, read, results};

const INTEGRAL: [(&str, Round); 4] = [
    ("rni", Round::NearestTiesToEven),
    ("rzi", Round::TowardZero),
    ("rmi", Round::TowardNegative),
    ("rpi", Round::TowardPositive),
];
const KINDS: [Kind; 4] = [F16, BF16, F32, F64];
const INTEGERS: [(char, u32); 8] =
    [('s', 8), ('u', 8), ('s', 16), ('u', 16), ('s', 32), ('u', 32), ('s', 64), ('u', 64)];

/// Evaluates an expression with `F` the type of a kind.
macro_rules! with_type {
    ($kind:expr, $body:expr) => {
        match $kind {
            F16 => {
                type F = Half;
                $body
            }
            BF16 => {
                type F = BFloat;
                $body
            }
            F32 => {
                type F = Single;
                $body
            }
            _ => {
                type F = Double;
                $body
            }
        }
    };
}

fn to_kind<S>(value: S, kind: Kind, round: Round) -> u64
where
    S: Float + FloatConvert<Half> + FloatConvert<BFloat> + FloatConvert<Single> + FloatConvert<Double>,
{
    let mut inexact = false;
    with_type!(kind, {
        let converted: F = value.convert_r(round, &mut inexact).value;
        converted.to_bits() as u64
    })
}

fn float_to_float(from: Kind, to: Kind, round: Round, code: u64) -> u64 {
    if from.is_nan(code) {
        // BF16 to FP32 is a shift
        return if from == BF16 && to == F32 { code << 16 } else { to.nan };
    }
    with_type!(from, to_kind(F::from_bits(code.into()), to, round))
}

fn clamped(kind: Kind, code: u64) -> u64 {
    if code & kind.sign() != 0 || kind.is_nan(code) { 0 } else { code.min(kind.one()) }
}

fn singles(codes: &[u64]) -> Vec<Row> {
    codes.iter().map(|code| [*code, 0, 0, 0]).collect()
}

/// Codes, numbers in the middle between two of a narrower format and beside them.
fn with_ties(kind: Kind) -> Vec<u64> {
    let mut codes = kind.codes();
    let places = [0x1000u64, 0x3000, 0x8000, 0x1_8000, 0x1000_0000, 0x3000_0000, 0x1000 << 29, 0x8000 << 29];
    for down in [0, 15, 24].map(|down| down << kind.fraction_bits) {
        let Some(base) = kind.one().checked_sub(down) else { continue };
        for place in places.into_iter().filter(|place| *place < 1 << kind.fraction_bits) {
            codes.extend([base + place - 1, base + place, base + place + 1]);
        }
    }
    // 65504, 65519, 65520 and BF16's largest number, in FP32
    if kind == F32 {
        codes.extend([0x477f_e000, 0x477f_efff, 0x477f_f000, 0x477f_f001, 0x7f7f_7fff, 0x7f7f_8000]);
        codes.extend([0x3880_0000, 0x387f_f000, 0x387f_dfff, 0x3300_0000, 0x3300_0001, 0x32ff_ffff]);
    }
    let negative: Vec<u64> = codes.iter().map(|code| code | kind.sign()).collect();
    codes.extend(negative);
    codes
}

#[test]
fn between_floats() {
    for from in KINDS {
        let rows = singles(&with_ties(from));
        for to in KINDS {
            if from == to
                || from == BF16 && to == F16
                || from == F16 && to == BF16
                || from == F64 && to == BF16
            {
                continue;
            }
            let exact = to.fraction_bits >= from.fraction_bits;
            for (word, round) in ROUNDINGS {
                let narrow = to.bits() == 16 && matches!(word, "rm" | "rp");
                if narrow || exact && word != "rn" {
                    continue;
                }
                let word = if exact { "" } else { &format!(".{word}") };
                let form = format!("{}.{} $d, $a;", to.name, from.name);
                let plain = |row: Row| float_to_float(from, to, round, row[0]);
                check(&format!("cvt{word}.{form}"), from.bits(), to.bits(), &rows, |row| Some(plain(row)));
                if from == BF16 {
                    continue;
                }
                if to != BF16 {
                    check(&format!("cvt{word}.sat.{form}"), from.bits(), to.bits(), &rows, |row| {
                        Some(clamped(to, plain(row)))
                    });
                }
                if from == F32 || to == F32 {
                    check(&format!("cvt{word}.ftz.{form}"), from.bits(), to.bits(), &rows, |row| {
                        let flushed = |kind: Kind, code| if kind == F32 { kind.flushed(code) } else { code };
                        Some(flushed(to, float_to_float(from, to, round, flushed(from, row[0]))))
                    });
                }
                if to.bits() == 16 && from == F32 {
                    check(&format!("cvt{word}.relu.{form}"), from.bits(), to.bits(), &rows, |row| {
                        let code = plain(row);
                        Some(if code & to.sign() != 0 { 0 } else { code })
                    });
                }
            }
        }
    }
}

#[test]
fn two_numbers_into_one_word() {
    let rows = pairs(&with_ties(F32));
    let rows: Vec<Row> = rows.into_iter().step_by(7).collect();
    for to in [F16, BF16] {
        for (word, round) in &ROUNDINGS[..2] {
            let both = |row: Row, f: &dyn Fn(u64) -> u64| {
                let half = |code| f(float_to_float(F32, to, *round, code));
                Some(half(row[0]) << 16 | half(row[1]))
            };
            let form = format!("{}x2.f32 $d, $a, $b;", to.name);
            check(&format!("cvt.{word}.{form}"), 32, 32, &rows, |row| both(row, &|code| code));
            check(&format!("cvt.{word}.relu.{form}"), 32, 32, &rows, |row| {
                both(row, &|code| if code & to.sign() != 0 { 0 } else { code })
            });
        }
    }
}

#[test]
fn tf32() {
    let rows = singles(&with_ties(F32));
    // half of the last of 10 places is added to the magnitude
    check("cvt.rna.tf32.f32 $d, $a;", 32, 32, &rows, |row| match row[0] & 0x7fff_ffff {
        0x7f80_0001.. => Some(0x7fff_ffff),
        0x7f80_0000 => Some(row[0]),
        _ => Some((row[0] + 0x1000) & !0x1fff),
    });
}

#[test]
fn fp8() {
    // E4M3: largest number 448 = 7e, smallest 2^-9; E5M2: 57344 = 7b, smallest 2^-16
    let one = |value: f32| u64::from(value.to_bits());
    let cases: [(f32, u64, u64); 16] = [
        (1.0, 0x38, 0x3c),
        (-1.0, 0xb8, 0xbc),
        (1.0625, 0x38, 0x3c),
        (1.125, 0x39, 0x3c),
        (1.1875, 0x3a, 0x3d),
        (448.0, 0x7e, 0x5f),
        (464.0, 0x7e, 0x5f),
        (1e6, 0x7e, 0x7b),
        (-1e6, 0xfe, 0xfb),
        (f32::INFINITY, 0x7e, 0x7b),
        (2f32.powi(-9), 0x01, 0x18),
        (2f32.powi(-10), 0x00, 0x14),
        (3.0 * 2f32.powi(-11), 0x01, 0x16),
        (2f32.powi(-17), 0x00, 0x00),
        (0.0, 0x00, 0x00),
        (-0.0, 0x80, 0x80),
    ];
    for (value, e4m3, e5m2) in cases {
        for (name, expected) in [("e4m3x2", e4m3), ("e5m2x2", e5m2)] {
            let row = [one(value), one(1.0), 0, 0];
            let low = if name == "e4m3x2" { 0x38 } else { 0x3c };
            check(&format!("cvt.rn.satfinite.{name}.f32 $d, $a, $b;"), 32, 16, &[row], |_| {
                Some(expected << 8 | low)
            });
            let relu = if expected & 0x80 != 0 { 0 } else { expected };
            check(&format!("cvt.rn.satfinite.relu.{name}.f32 $d, $b, $a;"), 32, 16, &[row], |_| {
                Some(low << 8 | relu)
            });
        }
    }
    // FP16 1 and -2, and back
    for (name, code) in [("e4m3x2", 0x38c0), ("e5m2x2", 0x3cc0)] {
        check(&format!("cvt.rn.satfinite.{name}.f16x2 %h9, $a;"), 32, 16, &[[0x3c00_c000, 0, 0, 0]], |_| {
            Some(code)
        });
        check(&format!("cvt.rn.f16x2.{name} $d, %h5;"), 32, 32, &[[code, 0, 0, 0]], |_| Some(0x3c00_c000));
    }
}

fn float_to_integer(from: Kind, letter: char, bits: u32, round: Round, code: u64) -> u64 {
    if from.is_nan(code) {
        // PTX ISA: of FP64 and into 64 bits the first bit alone
        return if from == F64 || bits == 64 { 1 << (bits - 1) } else { 0 };
    }
    let mut exact = false;
    let width = bits as usize;
    let wide = with_type!(from, {
        let value = F::from_bits(code.into());
        match letter {
            's' => value.to_i128_r(width, round, &mut exact).value as u64,
            _ => value.to_u128_r(width, round, &mut exact).value as u64,
        }
    });
    wide & u64::MAX >> (64 - bits)
}

#[test]
fn floats_into_integers() {
    for from in [F16, F32, F64, BF16] {
        let mut codes = with_ties(from);
        // halves from 0.5 to 3.5, and the ends of the integers
        let halves =
            [-1i64, 0, 1, 2, 3, 4, 5, 6, 7, 127, 128, 129, 255, 256].map(|number| number as f64 / 2.0);
        let ends = [127.0, 127.5, 128.0, 128.5, 255.0, 255.5, 256.0, 32767.5, 32768.0, 65535.5, 65536.0];
        let far = [31, 32, 63, 64].map(|power| 2f64.powi(power));
        for value in halves.into_iter().chain(ends).chain(far) {
            let code = float_to_float(F64, from, Round::TowardZero, value.to_bits());
            codes.extend([code.saturating_sub(1), code, code + 1, code ^ from.sign()]);
        }
        let rows = singles(&codes);
        for (letter, bits) in INTEGERS.into_iter().filter(|(_, bits)| from != BF16 || *bits > 8) {
            for (word, round) in INTEGRAL {
                let width = bits.max(16);
                let line = format!("cvt.{word}.{letter}{bits}.{} $d, $a;", from.name);
                // of 8 bits the register gets the number extended
                let extended = |code: u64| cut(read(code, letter, bits), width);
                check(&line, from.bits(), width, &rows, |row| {
                    Some(extended(float_to_integer(from, letter, bits, round, row[0])))
                });
                if from == F32 {
                    let line = format!("cvt.{word}.ftz.{letter}{bits}.f32 $d, $a;");
                    check(&line, 32, width, &rows, |row| {
                        Some(extended(float_to_integer(F32, letter, bits, round, F32.flushed(row[0]))))
                    });
                }
            }
        }
    }
}

#[test]
fn integers_into_floats() {
    for (letter, bits) in INTEGERS {
        let mut codes = integers(bits);
        // in the middle between numbers of 11, 24 and 53 bits
        let middles = [0x801u64, 0x803, 0x100_0001, 0x100_0003, 0x20_0000_0000_0001, 0x20_0000_0000_0003];
        codes.extend(middles.map(|middle| middle & u64::MAX >> (64 - bits)));
        codes.extend(middles.map(|middle| middle.wrapping_neg() & u64::MAX >> (64 - bits)));
        let rows = singles(&codes);
        for to in KINDS.into_iter().filter(|to| *to != BF16 || bits > 8) {
            for (word, round) in ROUNDINGS {
                let line = format!("cvt.{word}.{}.{letter}{bits} $d, $a;", to.name);
                let value = |row: Row| {
                    let number = read(row[0], letter, bits);
                    with_type!(to, F::from_i128_r(number, round).value.to_bits() as u64)
                };
                check(&line, bits.max(16), to.bits(), &rows, |row| Some(value(row)));
            }
        }
    }
}

#[test]
fn between_integers() {
    for (from, from_bits) in INTEGERS {
        let rows = singles(&integers(from_bits.max(16)));
        for (to, bits) in INTEGERS {
            let width = bits.max(16);
            let extended = |value: i128| {
                let code = cut(value, bits);
                // a register wider than the type gets the number extended
                cut(read(code, to, bits), width)
            };
            let value = |row: Row| read(row[0], from, from_bits);
            let form = format!("{to}{bits}.{from}{from_bits} $d, $a;");
            let source = from_bits.max(16);
            check(&format!("cvt.{form}"), source, width, &rows, |row| Some(extended(value(row))));
            let (least, greatest) = if to == 's' {
                (-(1i128 << (bits - 1)), (1 << (bits - 1)) - 1)
            } else {
                (0, (1 << bits) - 1)
            };
            // there is none where every value fits
            let ends = if from == 's' {
                [1 << (from_bits - 1), (1 << (from_bits - 1)) - 1]
            } else {
                [0, u64::MAX >> (64 - from_bits)]
            };
            if ends.into_iter().all(|code| (least..=greatest).contains(&read(code, from, from_bits))) {
                continue;
            }
            check(&format!("cvt.sat.{form}"), source, width, &rows, |row| {
                Some(extended(value(row).clamp(least, greatest)))
            });
        }
    }
    // the register is wider than the type
    check("cvt.s8.s32 %r9, %r5;", 32, 32, &[[0x80, 0, 0, 0]], |_| Some(0xffff_ff80));
    check("cvt.u8.s32 %r9, %r5;", 32, 32, &[[0x1_80, 0, 0, 0]], |_| Some(0x80));
    check("cvt.s64.s16 %d9, %h5;", 16, 64, &[[0x8000, 0, 0, 0]], |_| Some(0xffff_ffff_ffff_8000));
}

#[test]
fn whole_numbers() {
    for kind in [F16, F32, F64] {
        let mut codes = with_ties(kind);
        for half in [0.5f64, 1.5, 2.5, 3.5, 0.25, 0.75, 1023.5, 1024.5, 2047.5, 8388607.5, 4503599627370495.5]
        {
            let code = float_to_float(F64, kind, Round::TowardZero, half.to_bits());
            codes.extend([code - 1, code, code + 1].iter().flat_map(|code| [*code, *code | kind.sign()]));
        }
        let rows = singles(&codes);
        for (word, round) in INTEGRAL {
            let whole = |code: u64| match kind.is_nan(code) {
                true => kind.nan,
                false => with_type!(
                    kind,
                    F::from_bits(code.into()).round_to_integral(round).value.to_bits() as u64
                ),
            };
            let form = format!("{}.{} $d, $a;", kind.name, kind.name);
            check(&format!("cvt.{word}.{form}"), kind.bits(), kind.bits(), &rows, |row| Some(whole(row[0])));
            check(&format!("cvt.{word}.sat.{form}"), kind.bits(), kind.bits(), &rows, |row| {
                Some(clamped(kind, whole(row[0])))
            });
            if kind == F32 {
                check(&format!("cvt.{word}.ftz.{form}"), 32, 32, &rows, |row| {
                    Some(whole(kind.flushed(row[0])))
                });
            }
        }
    }
}

#[test]
fn integers_to_floats_that_saturate() {
    let rows = singles(&[7, 1, 0, u64::MAX, u64::MAX - 6, 1 << 31, 1 << 63]);
    for (to, one, bits) in [("f16", 0x3c00, 16), ("f32", 0x3f80_0000, 32), ("f64", 0x3ff0_0000_0000_0000, 64)]
    {
        for (from, width) in [("s32", 32), ("u32", 32), ("s64", 64), ("u64", 64)] {
            for round in ["rn", "rz", "rm", "rp"] {
                let line = format!("cvt.{round}.sat.{to}.{from} $d, $a;");
                let expected = |row: &Row| {
                    let up = 64 - width;
                    let negative = from.starts_with('s') && ((row[0] << up) as i64) < 0;
                    if negative || row[0] << up == 0 { 0 } else { one }
                };
                let expected: Vec<u64> = rows.iter().map(expected).collect();
                assert_eq!(results(&line, width, bits, &rows), expected, "{line}");
            }
        }
    }
}
