//! What docs/functions.md states of all inputs.
//!
//! Every run takes all inputs of a kind where they are few, and part of the others; `BITMMA_TESTS=all` takes all.

use bitmma_formats::F32;
use bitmma_functions::nearest::{nearest, ulps};
use bitmma_functions::{Function, lanes};

/// The results for consecutive codes.
fn results(function: Function, first: u32, count: u32) -> Vec<u32> {
    let x: Vec<u32> = (first..first + count).collect();
    let mut y = vec![0; x.len()];
    lanes::fill(function, &x, &mut y);
    y
}

fn all() -> bool {
    std::env::var("BITMMA_TESTS").is_ok_and(|value| value == "all")
}

/// The code of 2^exponent.
fn power(exponent: i32) -> u32 {
    if exponent < -126 { 1 << (exponent + 149) } else { ((exponent + 127) as u32) << 23 }
}

#[test]
fn reciprocals_of_powers_of_two_are_exact() {
    for exponent in -149..=127 {
        let expected = if exponent < -127 { 0x7f80_0000 } else { power(-exponent) };
        assert_eq!(Function::Rcp.evaluate(power(exponent)), expected, "2^{exponent}");
    }
}

/// Exponents whose power of two comes out one place too small.
const ODD_THAT_ARE_OFF: [i32; 1] = [-127];

/// Down to -126, and even ones below; odd ones below are the square of a result that is not exact.
#[test]
fn powers_of_two_are_exact() {
    for exponent in -160_i32..=140 {
        let x = (exponent as f32).to_bits();
        let expected = match exponent {
            128.. => 0x7f80_0000,
            -149.. => power(exponent),
            _ => 0,
        };
        let is_off = ODD_THAT_ARE_OFF.contains(&exponent);
        assert_eq!(Function::Ex2.evaluate(x), expected - u32::from(is_off), "{exponent}");
    }
}

#[test]
fn sine_is_odd_and_cosine_even() {
    const SIGN: u32 = 1 << 31;
    let step = if all() { 1 << 12 } else { 1 << 20 };
    for first in (0..0x7f80_0000).step_by(step) {
        for (function, flipped) in [(Function::Sin, SIGN), (Function::Cos, 0)] {
            let (above, below) =
                (results(function, first, 1 << 12), results(function, SIGN | first, 1 << 12));
            for (offset, (&y, &other)) in above.iter().zip(&below).enumerate() {
                assert_eq!(other, y ^ flipped, "{function} {:08x}", first as usize + offset);
            }
        }
    }
}

/// Steps back of results over the magnitudes from a code to another.
fn steps_back(function: Function, first: u32, last: u32, falls: bool) -> u64 {
    let place = |code: u32| F32.place(code.into());
    let mut before = place(function.evaluate(first));
    let mut count = 0;
    for part in (first..=last).step_by(1 << 16) {
        for y in results(function, part, (last - part).min((1 << 16) - 1) + 1) {
            let y = place(y);
            count += u64::from(if falls { y > before } else { y < before });
            before = y;
        }
    }
    count
}

/// Where order is lost: over one binade, or two for even and odd exponents, where the reduction repeats itself; from each
/// binade (`ex2`: and integer) to the next; and, with `BITMMA_TESTS=all`, over everything.
#[test]
fn order() {
    for (function, [first, last, from, to], falls, expected) in ORDER {
        assert_eq!(steps_back(function, first, last, falls), expected[0], "{function}");
        let integers = (1..=150).map(|integer| (integer as f32).to_bits() | from);
        let powers = (from >> 23..to >> 23).map(|field| (field + 1) << 23);
        for edge in if function == Function::Ex2 {
            powers.chain(integers).collect()
        } else {
            powers.collect::<Vec<_>>()
        } {
            assert_eq!(steps_back(function, edge - 1, edge, falls), 0, "{function} {edge:08x}");
        }
        if all() {
            assert_eq!(steps_back(function, from, to, falls), expected[1], "{function}");
        }
    }
}

/// Function; codes from and to, of a part and of everything; whether results fall; steps back in both.
const ORDER: [(Function, [u32; 4], bool, [u64; 2]); 8] = [
    (Function::Rcp, [0x3f80_0000, 0x4000_0000, 0, 0x7f80_0000], true, [0, 0]),
    // before 1.25, 1.359375, 1.375 and 1.71875
    (Function::Sqrt, [0x3f80_0000, 0x4080_0000, 0, 0x7f80_0000], false, [4, 508]),
    (Function::Rsqrt, [0x3f80_0000, 0x4080_0000, 0, 0x7f80_0000], true, [0, 0]),
    (Function::Ex2, [0x3f80_0000, 0x4000_0000, 0, 0x7f80_0000], false, [0, 0]),
    (Function::Ex2, [0xbf80_0000, 0xc000_0000, 0x8000_0000, 0xff80_0000], true, [0, 0]),
    (Function::Lg2, [0x3f80_0000, 0x4000_0000, 0, 0x7f80_0000], false, [0, 0]),
    // up to π/2
    (Function::Sin, [0x3f80_0000, 0x3fc9_0fdb, 0x3f80_0000, 0x3fc9_0fdb], false, [7544, 7544]),
    (Function::Cos, [0x3f80_0000, 0x3fc9_0fdb, 0x3f80_0000, 0x3fc9_0fdb], true, [5, 5]),
];

/// By how many places results are off, over the same binades: none, one, two and more.
#[test]
fn places_off() {
    for (function, first, last, expected) in PLACES {
        let step = if all() { 1 } else { 1021 };
        let mut counts = [0_u64; 3];
        for x in (first..last).step_by(step) {
            let off = ulps(function.evaluate(x), nearest(function, x)).unwrap();
            counts[(off.unsigned_abs() as usize).min(2)] += 1;
        }
        if all() {
            assert_eq!(counts, expected, "{function}");
        }
        assert!((0..3).all(|off| expected[off] > 0 || counts[off] == 0), "{function}: {counts:?}");
    }
}

/// Function, codes from and to, results that are exact, 1 and more places off.
const PLACES: [(Function, u32, u32, [u64; 3]); 3] = [
    (Function::Rcp, 0x3f80_0000, 0x4000_0000, [7_280_086, 1_108_522, 0]),
    (Function::Sqrt, 0x3f80_0000, 0x4080_0000, [13_947_413, 2_829_803, 0]),
    (Function::Rsqrt, 0x3f80_0000, 0x4080_0000, [13_143_086, 3_634_122, 8]),
];
