//! All codes are all codes, and the notable ones are those that a hand would pick.

use crate::common;
use bitmma_formats::cases::{all_codes, notable_codes};
use bitmma_formats::*;

#[test]
fn all_codes_are_all_in_order() {
    for format in FORMATS.into_iter().filter(|format| common::information_bits(format) <= 22) {
        let mut expected = 0u64;
        for code in all_codes(&format) {
            assert_eq!(code, expected << format.padding_bits, "{format}");
            expected += 1;
        }
        assert_eq!(expected, 1 << common::information_bits(&format), "{format}");
    }
    assert_eq!(all_codes(&E2M1).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
    assert_eq!(all_codes(&TF32).take(3).collect::<Vec<_>>(), [0, 0x2000, 0x4000]);
    assert_eq!(all_codes(&TF32).last(), Some(0xffff_e000));
    assert_eq!(all_codes(&F64).take(2).collect::<Vec<_>>(), [0, 1]); // it starts, though no one sees its end
}

#[test]
fn notable_codes_of_small_formats_as_lists() {
    // FP4: all but 3 and -3
    assert_eq!(notable_codes(&E2M1), [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 14, 15]);
    // E4M3: 0, the ends of the subnormals, every power of two, one and the largest with neighbours, NaN
    let positive = [
        0x00, 0x01, 0x02, 0x04, 0x06, 0x07, 0x08, 0x09, 0x10, 0x18, 0x20, 0x28, 0x30, 0x37, 0x38, 0x39, 0x40,
        0x48, 0x50, 0x58, 0x60, 0x68, 0x70, 0x78, 0x7d, 0x7e, 0x7f,
    ];
    let both: Vec<u64> = positive.into_iter().chain(positive.map(|code| code | 0x80)).collect();
    assert_eq!(notable_codes(&E4M3), both);
    assert_eq!(notable_codes(&UE4M3), both); // its sign bit is there, though ignored
    // the FNUZ NaN is what negative zero would be
    assert!(notable_codes(&E4M3FNUZ).contains(&0x80));
    // E5M2: both infinities, and all six NaNs
    for code in 0x7c..=0x7f {
        assert!(notable_codes(&E5M2).contains(&code) && notable_codes(&E5M2).contains(&(code | 0x80)));
    }
}

#[test]
fn notable_codes_of_wide_formats_hold_what_they_promise() {
    #[rustfmt::skip]
    let rows: &[(Format, &[u64])] = &[
        (F16, &[0, 1, 2, 0x3fe, 0x3ff, 0x400, 0x401, 0x3bff, 0x3c00, 0x3c01, 0x4000, 0x7bfe, 0x7bff, 0x7c00,
                0x7c01, 0x7dff, 0x7e00, 0x7e01, 0x7fff]),
        (F32, &[0, 1, 2, 0x7f_fffe, 0x7f_ffff, 0x80_0000, 0x80_0001, 0x3f7f_ffff, 0x3f80_0000, 0x3f80_0001,
                0x7f7f_fffe, 0x7f7f_ffff, 0x7f00_0000, 0x7f80_0000, 0x7f80_0001, 0x7fbf_ffff, 0x7fc0_0000,
                0x7fc0_0001, 0x7fff_ffff]),
        (TF32, &[0, 0x2000, 0x4000, 0x7f_e000, 0x80_0000, 0x3f80_0000, 0x3f80_2000, 0x7f7f_e000, 0x7f80_0000,
                 0x7f80_2000, 0x7fbf_e000, 0x7fc0_0000, 0x7fc0_2000, 0x7fff_e000]),
        (F64, &[0, 1, 0x000f_ffff_ffff_ffff, 0x0010_0000_0000_0000, 0x3ff0_0000_0000_0000,
                0x7fe0_0000_0000_0000, 0x7fef_ffff_ffff_ffff, 0x7ff0_0000_0000_0000, 0x7ff0_0000_0000_0001,
                0x7ff7_ffff_ffff_ffff, 0x7ff8_0000_0000_0000, 0x7ff8_0000_0000_0001, 0x7fff_ffff_ffff_ffff]),
    ];
    for (format, expected) in rows {
        let codes = notable_codes(format);
        for &code in *expected {
            assert!(codes.contains(&code), "{format} {code:#x}");
            assert!(codes.contains(&(code | format.sign_bit())), "{format} negative {code:#x}");
        }
    }
    for code in [0, 1, 0x7e, 0x7f, 0x80, 0xfd, 0xfe, 0xff] {
        assert!(notable_codes(&UE8M0).contains(&code), "ue8m0 {code:#x}");
    }
}

#[test]
fn notable_codes_are_sorted_few_and_spread() {
    for format in FORMATS {
        let codes = notable_codes(&format);
        assert!(codes.windows(2).all(|pair| pair[0] < pair[1]), "{format}");
        assert!(codes.len() < 200, "{format}: {}", codes.len());
        let padding = (1u64 << format.padding_bits) - 1;
        for &code in &codes {
            assert!(code <= format.max_code() && code & padding == 0, "{format} {code:#x}");
        }
        // no gap between powers of two wider than a sixteenth of the range
        let span = format.max_exponent() - format.min_exponent();
        let mut exponents: Vec<i32> = codes
            .iter()
            .map(|&code| decode(&format, code))
            .filter(|unpacked| unpacked.class == Class::Finite)
            .map(|unpacked| unpacked.exponent)
            .collect();
        exponents.sort_unstable();
        exponents.dedup();
        assert!(
            exponents.windows(2).all(|pair| pair[1] - pair[0] <= 1 + span / 16),
            "{format}: {exponents:?}"
        );
    }
}
