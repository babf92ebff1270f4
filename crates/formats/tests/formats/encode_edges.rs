//! Hand rows: overflow, values known only to an interval, and exponents at the end of their type.

use bitmma_formats::Overflow::{Ieee, Infinity, Saturate};
use bitmma_formats::Rounding::*;
use bitmma_formats::*;

fn real(negative: bool, significand: u128, exponent: i32, inexact: bool) -> Real {
    Real { negative, significand, exponent, inexact }
}

#[test]
fn overflow_rows() {
    // format, significand, exponent, rule, then the code under Infinity, Ieee and Saturate
    #[rustfmt::skip]
    let rows: &[(Format, i128, i32, Rounding, [u64; 3])] = &[
        // F16: 65504 is the largest, 65520 the middle to 65536
        (F16, 65519, 0, NearestEven, [0x7bff, 0x7bff, 0x7bff]),
        (F16, 65520, 0, NearestEven, [0x7c00, 0x7c00, 0x7bff]),
        (F16, 65520, 0, NearestZero, [0x7bff, 0x7bff, 0x7bff]),
        (F16, 65520, 0, NearestAway, [0x7c00, 0x7c00, 0x7bff]),
        (F16, 65520, 0, NearestOdd, [0x7bff, 0x7bff, 0x7bff]), // 65504 has an odd significand
        (F16, 65535, 0, TowardZero, [0x7bff, 0x7bff, 0x7bff]), // no overflow: it is cut to 65504
        (F16, 65536, 0, TowardZero, [0x7c00, 0x7bff, 0x7bff]), // semantics.md 6: RZ gives infinity too
        (F16, 65505, 0, Up, [0x7c00, 0x7c00, 0x7bff]),
        (F16, -65505, 0, Up, [0xfbff, 0xfbff, 0xfbff]),
        (F16, -65536, 0, Up, [0xfc00, 0xfbff, 0xfbff]),
        (F16, -65505, 0, Down, [0xfc00, 0xfc00, 0xfbff]),
        (F16, -65505, 0, AwayFromZero, [0xfc00, 0xfc00, 0xfbff]),
        (F16, -65520, 0, NearestUp, [0xfbff, 0xfbff, 0xfbff]),
        (F16, -65520, 0, NearestDown, [0xfc00, 0xfc00, 0xfbff]),
        (F32, 1, 128, TowardZero, [0x7f80_0000, 0x7f7f_ffff, 0x7f7f_ffff]),
        (F32, -1, 128, NearestEven, [0xff80_0000, 0xff80_0000, 0xff7f_ffff]),
        (E8M13, 1, 128, TowardZero, [0x7f80_0000, 0x7f7f_fc00, 0x7f7f_fc00]),
        (F64, 1, 1024, NearestEven, [0x7ff0_0000_0000_0000, 0x7ff0_0000_0000_0000, 0x7fef_ffff_ffff_ffff]),
        (E5M2, 61440, 0, NearestEven, [0x7c, 0x7c, 0x7b]), // the middle of 57344 and 65536
        (E5M2, 61439, 0, NearestEven, [0x7b, 0x7b, 0x7b]),
        // E4M3: 448 is the largest, 480 would be next and is NaN; NaN carries no sign
        (E4M3, 464, 0, NearestEven, [0x7e, 0x7e, 0x7e]),
        (E4M3, 465, 0, NearestEven, [0x7f, 0x7f, 0x7e]),
        (E4M3, -465, 0, NearestEven, [0x7f, 0x7f, 0xfe]),
        (E4M3, 464, 0, NearestAway, [0x7f, 0x7f, 0x7e]),
        (E4M3, 480, 0, TowardZero, [0x7f, 0x7e, 0x7e]),
        (E4M3, 479, 0, TowardZero, [0x7e, 0x7e, 0x7e]),
        (E4M3, -1000, 0, TowardZero, [0x7f, 0xfe, 0xfe]),
        // FNUZ: 240 and 57344 are the largest
        (E4M3FNUZ, 247, 0, NearestEven, [0x7f, 0x7f, 0x7f]),
        (E4M3FNUZ, 248, 0, NearestEven, [0x80, 0x80, 0x7f]),
        (E4M3FNUZ, -248, 0, NearestEven, [0x80, 0x80, 0xff]),
        (E5M2FNUZ, -61440, 0, NearestEven, [0x80, 0x80, 0xff]),
        // neither infinity nor NaN: always the largest number
        (E2M1, 10, 0, NearestEven, [0x7, 0x7, 0x7]),
        (E2M1, -10, 0, Down, [0xf, 0xf, 0xf]),
        (E3M2, 1, 100, NearestEven, [0x1f, 0x1f, 0x1f]),
        (E2M3, -8, 0, AwayFromZero, [0x3f, 0x3f, 0x3f]),
        // unsigned
        (UE8M0, 1, 128, NearestEven, [0xff, 0xff, 0xfe]),
        (UE8M0, 3, 126, NearestEven, [0xff, 0xff, 0xfe]), // a tie: neither is even, so away from zero
        (UE8M0, 3, 126, TowardZero, [0xfe, 0xfe, 0xfe]),
        (UE4M3, 465, 0, NearestEven, [0x7f, 0x7f, 0x7e]),
    ];
    for &(format, significand, exponent, rounding, codes) in rows {
        for (overflow, expected) in [Infinity, Ieee, Saturate].into_iter().zip(codes) {
            let actual = encode(&format, Real::exact(significand, exponent), rounding, overflow);
            assert_eq!(
                actual, expected,
                "{format} {significand}*2^{exponent} {rounding} {overflow:?}: {actual:#x}, expected {expected:#x}"
            );
        }
    }
}

#[test]
fn rest_below_the_last_bit() {
    // 1 + (0,1)*2^-12 in F16 (10 fraction bits): just above 1
    let above_one = |negative| real(negative, 1 << 12, -12, true);
    assert_eq!(encode(&F16, above_one(false), NearestEven, Ieee), 0x3c00);
    assert_eq!(encode(&F16, above_one(false), TowardZero, Ieee), 0x3c00);
    assert_eq!(encode(&F16, above_one(false), Up, Ieee), 0x3c01);
    assert_eq!(encode(&F16, above_one(false), AwayFromZero, Ieee), 0x3c01);
    assert_eq!(encode(&F16, above_one(true), Up, Ieee), 0xbc00);
    assert_eq!(encode(&F16, above_one(true), Down, Ieee), 0xbc01);
    // the middle of 1 and the next number, and just above it: every nearest rule agrees on the latter
    for rounding in [NearestEven, NearestOdd, NearestUp, NearestDown, NearestZero, NearestAway] {
        for (negative, expected) in [(false, 0x3c01), (true, 0xbc01)] {
            assert_eq!(encode(&F16, real(negative, (1 << 11) + 1, -11, true), rounding, Ieee), expected);
        }
    }
    // no bit falls off and yet it is inexact: the directed rules still see it
    assert_eq!(encode(&F16, real(false, 1 << 10, -10, true), Up, Ieee), 0x3c01);
    assert_eq!(encode(&F16, real(false, 1 << 10, -10, true), TowardZero, Ieee), 0x3c00);
    // the largest number and a little more
    assert_eq!(encode(&F16, real(false, 65504, 0, true), NearestEven, Ieee), 0x7bff);
    assert_eq!(encode(&F16, real(false, 65504 << 2, -2, true), Up, Ieee), 0x7c00);
}

#[test]
fn only_known_not_to_be_zero() {
    // significand 0 with a rest: above zero and below everything, whatever the exponent
    for exponent in [0, -24, -2000, i32::MIN, i32::MAX] {
        let tiny = |negative| real(negative, 0, exponent, true);
        assert!(!tiny(false).is_zero());
        for format in [F64, F32, F16, BF16, E5M2, E4M3, E3M2, E2M3, E2M1] {
            let sign = format.sign_bit();
            for (rounding, positive, negative) in [
                (TowardZero, 0, sign),
                (NearestEven, 0, sign),
                (NearestOdd, 0, sign),
                (NearestAway, 0, sign),
                (NearestUp, 0, sign),
                (Up, 1, sign),
                (Down, 0, sign | 1),
                (AwayFromZero, 1, sign | 1),
                (ToOdd, 1, sign | 1),
            ] {
                assert_eq!(encode(&format, tiny(false), rounding, Ieee), positive, "{format} {rounding}");
                assert_eq!(encode(&format, tiny(true), rounding, Ieee), negative, "{format} {rounding}");
            }
        }
        assert_eq!(encode(&TF32, tiny(true), Down, Ieee), 0x8000_2000);
        assert_eq!(encode(&E4M3FNUZ, tiny(true), NearestEven, Ieee), 0); // no negative zero
        assert_eq!(encode(&E4M3FNUZ, tiny(true), Down, Ieee), 0x81);
        assert_eq!(encode(&UE8M0, tiny(false), TowardZero, Ieee), 0); // no zero either
    }
}

#[test]
fn zeros() {
    for (format, positive, negative) in [
        (F64, 0, 1 << 63),
        (F32, 0, 0x8000_0000),
        (TF32, 0, 0x8000_0000),
        (F16, 0, 0x8000),
        (E5M2, 0, 0x80),
        (E4M3, 0, 0x80),
        (E4M3FNUZ, 0, 0),
        (E5M2FNUZ, 0, 0),
        (E3M2, 0, 0x20),
        (E2M1, 0, 0x8),
        (UE4M3, 0, 0),
        (UE8M0, 0, 0), // the smallest number, 2^-127
    ] {
        for (rounding, symbol) in Rounding::ALL {
            assert_eq!(encode(&format, Real::zero(false), rounding, Ieee), positive, "{format} {symbol}");
            assert_eq!(encode(&format, Real::zero(true), rounding, Ieee), negative, "{format} {symbol}");
            assert_eq!(encode(&format, Real::exact(0, i32::MAX), rounding, Ieee), positive, "{format}");
        }
    }
}

#[test]
fn negative_numbers_without_a_sign_are_nan() {
    assert_eq!(encode(&UE8M0, Real::exact(-1, 0), NearestEven, Saturate), 0xff);
    assert_eq!(encode(&UE4M3, Real::exact(-1, 0), NearestEven, Saturate), 0x7f);
    assert_eq!(encode(&UE4M3, real(true, 0, 0, true), TowardZero, Saturate), 0x7f);
}

#[test]
fn shifts_around_and_beyond_128_bits() {
    // F32 ends at 2^-149; half of that is the tie, so 128 bits of significand can fall off whole
    let top = 1u128 << 127;
    // 2^127 * 2^-277 = 2^-150: the tie (128 bits fall off); just above it; and just below
    assert_eq!(encode(&F32, real(false, top, -277, false), NearestEven, Ieee), 0);
    assert_eq!(encode(&F32, real(false, top, -277, false), NearestAway, Ieee), 1);
    assert_eq!(encode(&F32, real(false, top, -277, true), NearestEven, Ieee), 1);
    assert_eq!(encode(&F32, real(false, top + 1, -277, false), NearestEven, Ieee), 1);
    assert_eq!(encode(&F32, real(false, top - 1, -277, false), NearestAway, Ieee), 0);
    // 129 bits and more fall off: below the tie, so only the directed rules can leave zero
    for exponent in [-278, -279, -400, -5000, i32::MIN + 1, i32::MIN] {
        for significand in [1, top, u128::MAX] {
            assert_eq!(encode(&F32, real(false, significand, exponent, false), NearestAway, Ieee), 0);
            assert_eq!(encode(&F32, real(false, significand, exponent, false), Up, Ieee), 1);
            assert_eq!(encode(&F32, real(true, significand, exponent, true), Down, Ieee), 0x8000_0001);
            assert_eq!(encode(&F32, real(true, significand, exponent, true), NearestEven, Ieee), 0x8000_0000);
        }
    }
    // 127 fall off: one bit is left
    assert_eq!(encode(&F32, real(false, top, -276, false), NearestEven, Ieee), 1);
    assert_eq!(encode(&F32, real(false, u128::MAX, -276, false), NearestEven, Ieee), 2);
    assert_eq!(encode(&F32, real(false, u128::MAX, -276, false), TowardZero, Ieee), 1);
    // a carry through all of the significand
    assert_eq!(encode(&F32, real(false, u128::MAX, -128, false), NearestEven, Ieee), 0x3f80_0000);
    assert_eq!(encode(&F32, real(false, u128::MAX, -128, false), TowardZero, Ieee), 0x3f7f_ffff);
    // and from the largest subnormal to the smallest normal number
    assert_eq!(encode(&F32, real(false, 0xff_ffff, -150, false), NearestEven, Ieee), 0x0080_0000);
    assert_eq!(encode(&F32, real(false, 0xff_ffff, -150, false), TowardZero, Ieee), 0x007f_ffff);
}

#[test]
fn exponents_at_the_end_of_their_type() {
    for significand in [1, 3, u128::MAX] {
        for exponent in [i32::MAX, i32::MAX - 1, i32::MAX - 127, 100_000] {
            assert_eq!(
                encode(&F64, real(false, significand, exponent, false), NearestEven, Ieee),
                0x7ff0 << 48
            );
            assert_eq!(encode(&E2M1, real(true, significand, exponent, true), NearestEven, Ieee), 0xf);
        }
    }
}

#[test]
fn real_takes_the_sign_of_its_significand() {
    assert_eq!(Real::exact(-5, 3), real(true, 5, 3, false));
    assert_eq!(Real::exact(i128::MIN, 0), real(true, 1 << 127, 0, false));
    assert_eq!(Real::exact(0, 7), real(false, 0, 7, false));
    assert!(Real::exact(0, 7).is_zero() && Real::zero(true).is_zero());
}
