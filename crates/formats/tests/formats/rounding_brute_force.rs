//! All eleven rounding rules against their definition: the two neighbours are looked up in the list of all
//! values of the format, and compared as integers.

use crate::common;
use bitmma_formats::*;
use dashu_int::UBig;
use std::cmp::Ordering;

/// Every value is a multiple of 2^-SCALE here: 2^-127 and 64 bits more for what lies between.
const SCALE: i32 = 127 + 64;

fn scaled(significand: u128, exponent: i32) -> UBig {
    UBig::from(significand) << (exponent + SCALE) as usize
}

/// A number of the format, or the one that would follow the largest if the exponent went on.
#[derive(Clone)]
struct Neighbour {
    magnitude: UBig,
    /// The code without sign; `None` for the number after the largest.
    code: Option<u64>,
    /// Whether its last significand bit is one.
    odd: bool,
}

/// What lies above each format's largest number: format, significand, exponent.
const AFTER_LARGEST: [(Format, u128, i32); 9] = [
    (E5M2, 1, 16),
    (E4M3, 480, 0), // the code of 480 is NaN
    (E5M2FNUZ, 1, 16),
    (E4M3FNUZ, 1, 8),
    (E3M2, 1, 5),
    (E2M3, 1, 3),
    (E2M1, 1, 3),
    (UE8M0, 1, 128),
    (UE4M3, 480, 0),
];

fn neighbours(format: &Format, after: (u128, i32)) -> Vec<Neighbour> {
    let codes = match format.sign {
        Sign::None | Sign::TwosComplement => format.max_code(),
        Sign::Signed | Sign::Ignored => format.max_code() >> 1,
    };
    let one_bit = format.fraction_bits == 0; // UE8M0: each significand is 1, so odd
    let mut list: Vec<Neighbour> = (0..=codes)
        .filter(|&code| decode(format, code).is_finite())
        .map(|code| {
            let (significand, exponent) = common::magnitude(format, code);
            let odd = one_bit || code & 1 == 1;
            Neighbour { magnitude: scaled(significand, exponent), code: Some(code), odd }
        })
        .collect();
    if one_bit {
        // no zero: what is rounded to zero becomes the smallest number
        list.insert(0, Neighbour { magnitude: UBig::ZERO, code: Some(0), odd: false });
    }
    let odd = if one_bit { true } else { !list.last().unwrap().odd };
    list.push(Neighbour { magnitude: scaled(after.0, after.1), code: None, odd });
    assert!(list.windows(2).all(|pair| pair[0].magnitude < pair[1].magnitude));
    list
}

/// The definition of each rule. `low` and `high` are the neighbours in magnitude.
fn choose<'a>(
    rounding: Rounding,
    negative: bool,
    magnitude: &UBig,
    low: &'a Neighbour,
    high: &'a Neighbour,
) -> &'a Neighbour {
    if *magnitude == low.magnitude {
        return low;
    }
    if *magnitude == high.magnitude {
        return high;
    }
    // the neighbours in order of value
    let (down, up) = if negative { (high, low) } else { (low, high) };
    let nearest = |tie: &'a Neighbour| match (magnitude * 2u8).cmp(&(&low.magnitude + &high.magnitude)) {
        Ordering::Less => low,
        Ordering::Greater => high,
        Ordering::Equal => tie,
    };
    // IEEE 754-2019 §4.3.1: where neither is even, the larger in magnitude; where none is odd cannot be
    let even = if !low.odd { low } else { high };
    let odd = if low.odd { low } else { high };
    match rounding {
        Rounding::TowardZero => low,
        Rounding::AwayFromZero => high,
        Rounding::Up => up,
        Rounding::Down => down,
        Rounding::NearestEven => nearest(even),
        Rounding::NearestOdd => nearest(odd),
        Rounding::NearestUp => nearest(up),
        Rounding::NearestDown => nearest(down),
        Rounding::NearestZero => nearest(low),
        Rounding::NearestAway => nearest(high),
        Rounding::ToOdd => odd,
    }
}

/// IEEE 754-2019 §7.4 for the five rules it has; the other nearest ones as the nearest ones there, away
/// from zero as its name says, to odd as Arm's BFDOT does.
fn ieee_overflow_is_infinite(rounding: Rounding, negative: bool) -> bool {
    match rounding {
        Rounding::TowardZero => false,
        Rounding::Up => !negative,
        Rounding::Down => negative,
        _ => true,
    }
}

/// The code of infinity or what stands for it, without sign, and whether it takes one.
fn infinite(format: &Format) -> Option<(u64, bool)> {
    match format.name {
        "e5m2" => Some((0x7c, true)),
        "e4m3" => Some((0x7f, false)),
        "e5m2fnuz" | "e4m3fnuz" => Some((0x80, false)),
        "ue8m0" => Some((0xff, false)),
        "ue4m3" => Some((0x7f, false)),
        _ => None,
    }
}

fn expected(
    format: &Format,
    list: &[Neighbour],
    negative: bool,
    magnitude: &UBig,
    rounding: Rounding,
    overflow: Overflow,
) -> u64 {
    let beyond = list.last().unwrap();
    let chosen = match list.windows(2).find(|pair| *magnitude < pair[1].magnitude) {
        Some(pair) => choose(rounding, negative, magnitude, &pair[0], &pair[1]),
        None => beyond,
    };
    let sign = |code: u64| match (negative, format.name) {
        (false, _) => code,
        (true, "e5m2fnuz" | "e4m3fnuz") if code == 0 => 0, // no negative zero
        (true, _) => code | (1 << (format.bits() - 1)),
    };
    if let Some(code) = chosen.code {
        return sign(code);
    }
    let goes_to_infinity = match overflow {
        Overflow::Infinity => true,
        Overflow::Ieee => ieee_overflow_is_infinite(rounding, negative),
        Overflow::Saturate => false,
    };
    match infinite(format) {
        Some((code, true)) if goes_to_infinity => sign(code),
        Some((code, false)) if goes_to_infinity => code,
        _ => sign(list[list.len() - 2].code.unwrap()),
    }
}

/// Positions between two neighbours, in 2^-32 of their distance.
const POSITIONS: [u64; 10] = [
    0,
    1,
    1 << 30,
    (1 << 31) - 1,
    1 << 31,
    (1 << 31) + 1,
    3 << 30,
    (1 << 32) - 2,
    (1 << 32) - 1,
    (1 << 32) - 3,
];

#[test]
fn every_gap_of_every_small_format_under_every_rule() {
    let mut random = common::Random::new(20);
    for (format, significand, exponent) in AFTER_LARGEST {
        let mut list = neighbours(&format, (significand, exponent));
        let twice = scaled(significand, exponent + 1);
        let mut gaps: Vec<(UBig, UBig)> =
            list.windows(2).map(|pair| (pair[0].magnitude.clone(), pair[1].magnitude.clone())).collect();
        gaps.push((list.pop().unwrap().magnitude, twice)); // wholly beyond the largest number
        list.push(neighbours(&format, (significand, exponent)).pop().unwrap());

        for (low, high) in gaps {
            let step = (&high - &low) >> 32;
            for position in POSITIONS {
                let exact = &low + &step * position;
                for inexact in [false, true] {
                    check(&format, &list, &exact, &step, inexact, &mut random);
                }
            }
        }
    }
}

/// Compares one magnitude, or one a little above it, under every rule, policy and sign.
fn check(
    format: &Format,
    list: &[Neighbour],
    exact: &UBig,
    step: &UBig,
    inexact: bool,
    random: &mut common::Random,
) {
    // as a multiple of the step: the last bit of the significand is then worth one step
    let unit = step.trailing_zeros().unwrap();
    let significand = u128::try_from(exact >> unit).unwrap();
    let mut exponent = unit as i32 - SCALE;
    let mut moved = significand;
    let magnitude = if inexact {
        exact + (step >> 1) // anywhere strictly between this step and the next is rounded alike
    } else {
        let up = random.below(u64::from(significand.leading_zeros()) + 1) as u32; // the same value, written otherwise
        moved = significand.checked_shl(up).unwrap_or(0);
        exponent -= up as i32;
        exact.clone()
    };
    for negative in [false, true] {
        if negative && !format.is_signed() {
            continue;
        }
        let value = Real { negative, significand: moved, exponent, inexact };
        if value.is_zero() && format.name == "ue8m0" {
            continue; // in encode_edges.rs
        }
        for (rounding, _) in Rounding::ALL {
            for overflow in [Overflow::Infinity, Overflow::Ieee, Overflow::Saturate] {
                let expected = expected(format, list, negative, &magnitude, rounding, overflow);
                let actual = encode(format, value, rounding, overflow);
                assert_eq!(
                    actual, expected,
                    "{format} {rounding} {overflow:?} {value:x?}: {actual:#x}, by definition {expected:#x}"
                );
            }
        }
    }
}
