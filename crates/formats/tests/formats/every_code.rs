//! Every code, taken apart and put together again, is itself.

use std::cmp::Ordering;

use crate::common;
use bitmma_formats::cases::all_codes;
use bitmma_formats::*;

fn formats_tested_whole() -> impl Iterator<Item = Format> {
    FORMATS.into_iter().filter(|format| common::information_bits(format) <= 19) // up to TF32
}

fn put_together(format: &Format, unpacked: Unpacked, rounding: Rounding, overflow: Overflow) -> u64 {
    let value = Real {
        negative: unpacked.negative,
        significand: u128::from(unpacked.significand),
        exponent: unpacked.exponent - format.fraction_bits as i32,
        inexact: false,
    };
    encode(format, value, rounding, overflow)
}

#[test]
fn finite_codes_come_back_under_every_rule() {
    for format in formats_tested_whole() {
        let mut finite = 0u64;
        for code in all_codes(&format) {
            let unpacked = decode(&format, code);
            if !unpacked.is_finite() {
                continue;
            }
            finite += 1;
            // the sign bit of UE4M3 says nothing, so it does not come back
            let expected = if format.name == "ue4m3" { code & 0x7f } else { code };
            for (rounding, _) in Rounding::ALL {
                for overflow in [Overflow::Infinity, Overflow::Ieee, Overflow::Saturate] {
                    let actual = put_together(&format, unpacked, rounding, overflow);
                    assert_eq!(actual, expected, "{format} {code:#x} {rounding} {overflow:?}: {unpacked:?}");
                }
            }
        }
        let expected = match format.name {
            "tf32" | "xf32" => 2 * 255 * 1024,
            "bf16" => 2 * 255 * 128,
            "f16" => 2 * 31 * 1024,
            "e5m2" => 2 * 31 * 4,
            "e4m3" | "ue4m3" => 254,
            "e5m2fnuz" | "e4m3fnuz" | "ue8m0" => 255,
            "e3m2" | "e2m3" => 64,
            "e2m1" => 16,
            _ => continue, // its NaNs are counted in standard_tables.rs
        };
        assert_eq!(finite, expected, "finite codes of {format}");
    }
}

#[test]
fn infinities_are_two_where_ieee_says_so() {
    for format in formats_tested_whole() {
        let infinities: Vec<(u64, bool)> = all_codes(&format)
            .map(|code| (code, decode(&format, code)))
            .filter(|(_, unpacked)| unpacked.class == Class::Infinity)
            .map(|(code, unpacked)| (code, unpacked.negative))
            .collect();
        let expected: &[(u64, bool)] = match format.name {
            "tf32" | "xf32" => &[(0x7f80_0000, false), (0xff80_0000, true)],
            "bf16" => &[(0x7f80, false), (0xff80, true)],
            "f16" => &[(0x7c00, false), (0xfc00, true)],
            "e5m2" => &[(0x7c, false), (0xfc, true)],
            _ => &[],
        };
        assert_eq!(infinities, expected, "{format}");
    }
}

#[test]
fn values_grow_with_the_code() {
    for format in formats_tested_whole() {
        let top = 1u64 << (format.bits() - 1);
        let mut last = None;
        for code in all_codes(&format) {
            if (format.sign != Sign::None && code >= top) || !decode(&format, code).is_finite() {
                continue;
            }
            // bring both to one exponent: the spread of any of these formats fits in 300 bits, so compare
            // exponent of the leading bit first, then the bits below it
            let (significand, exponent) = common::magnitude(&format, code);
            let key = match significand {
                0 => None,
                _ => Some((
                    exponent + 127 - significand.leading_zeros() as i32,
                    significand << significand.leading_zeros(),
                )),
            };
            if let Some(last) = last {
                assert!(key > last, "{format} {code:#x}");
            }
            last = Some(key);
        }
    }
}

#[test]
fn padding_is_ignored_when_read() {
    let mut random = common::Random::new(1);
    for format in FORMATS.into_iter().filter(|format| format.padding_bits > 0) {
        for _ in 0..100_000 {
            let code = random.next() & 0xffff_ffff;
            let low = (1u64 << format.padding_bits) - 1;
            assert_eq!(decode(&format, code), decode(&format, code & !low), "{format} {code:#x}");
        }
    }
    // semantics.md 12: so a NaN whose payload is in those bits only is an infinity
    assert_eq!(decode(&TF32, 0x7f80_1fff).class, Class::Infinity);
    assert_eq!(decode(&TF32, 0x7f80_2000).class, Class::Nan);
    assert_eq!(decode(&XF32, 0xff80_0001), decode(&XF32, 0xff80_0000));
}

#[test]
fn the_sign_bit_of_ue4m3_is_ignored() {
    for code in 0..=0x7f {
        assert_eq!(decode(&UE4M3, code), decode(&UE4M3, code | 0x80), "{code:#x}");
        assert!(!decode(&UE4M3, code).negative);
        assert_eq!(decode(&UE4M3, code), decode(&E4M3, code), "{code:#x}");
    }
}

#[test]
fn bits_above_the_code_are_ignored() {
    for format in FORMATS.into_iter().filter(|format| format.bits() < 64) {
        for code in cases::notable_codes(&format) {
            let dirty = code | (0x5a5a_5a5a_5a5a_5a5a << format.bits());
            assert_eq!(decode(&format, code), decode(&format, dirty), "{format} {code:#x}");
        }
    }
}

/// In the order of their places the values ascend; two codes of one place are zeros, or differ in an ignored sign.
#[test]
fn places_are_the_order_of_values() {
    let value = |format: &Format, code| f64::from_bits(text::to_f64_bits(format, code));
    for format in formats_tested_whole() {
        let mut codes: Vec<u64> = all_codes(&format).collect();
        codes.retain(|&code| decode(&format, code).is_finite());
        codes.sort_by_key(|&code| format.place(code));
        for pair in codes.windows(2) {
            let [x, y] = [pair[0], pair[1]];
            let together = format.place(x) == format.place(y);
            let expected = if together { Ordering::Equal } else { Ordering::Less };
            let order = value(&format, x).partial_cmp(&value(&format, y));
            assert_eq!(order, Some(expected), "{format} {x:#x} {y:#x}");
        }
        let smallest = format.min_positive_code();
        assert_eq!(format.place(smallest), i128::from(smallest), "{format}");
        if format.has_negative_zero() {
            assert_eq!((format.place(format.sign_bit()), format.place(0)), (0, 0), "{format}");
        }
    }
}
