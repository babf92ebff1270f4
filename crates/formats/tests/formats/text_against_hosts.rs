//! Random decimals and hexadecimal floats, read as the host and `rustc_apfloat` read them.

use crate::common;
use crate::common::apfloat::RULES;
use bitmma_formats::text::parse;
use bitmma_formats::*;
use rustc_apfloat::Float;
use rustc_apfloat::ieee::{BFloatS, DoubleS, Float8E5M2S, HalfS, IeeeFloat, Semantics, SingleS};

/// A decimal of up to `digits` digits that lies about where the format's numbers do.
fn random_decimal(random: &mut common::Random, digits: u64, exponents: (i32, i32)) -> String {
    let count = 1 + random.below(digits);
    let mut text: String = (0..count).map(|_| char::from(b'0' + random.below(10) as u8)).collect();
    if random.below(2) == 1 {
        text.insert(random.below(count + 1) as usize, '.');
    }
    let sign = ["", "-", "+"][random.below(3) as usize];
    let exponent = match random.below(4) {
        0 => String::new(),
        1 => format!("E{:+}", random.within(exponents.0, exponents.1)),
        _ => format!("e{}", random.within(exponents.0, exponents.1)),
    };
    format!("{sign}{text}{exponent}")
}

#[test]
fn the_host_reads_the_same_decimals() {
    let mut random = common::Random::new(50);
    let nearest =
        |format, text: &str| parse(format, text, Rounding::NearestEven, Overflow::Infinity).unwrap().code;
    for round in 0..60_000 {
        let digits = if round % 10 == 0 { 900 } else { 25 };
        let wide = random_decimal(&mut random, digits, (-345, 310));
        assert_eq!(nearest(&F64, &wide), wide.parse::<f64>().unwrap().to_bits(), "f64 '{wide}'");
        let narrow = random_decimal(&mut random, digits, (-60, 40));
        assert_eq!(
            nearest(&F32, &narrow),
            u64::from(narrow.parse::<f32>().unwrap().to_bits()),
            "f32 '{narrow}'"
        );
    }
}

#[test]
fn decimals_at_and_beside_ties() {
    // the middle of two neighbours written out in full, and with one digit more
    let mut random = common::Random::new(51);
    for _ in 0..20_000 {
        let code = random.below(0x7f7f_ffff);
        let low = f64::from(f32::from_bits(code as u32)).to_bits();
        let high = f64::from(f32::from_bits(code as u32 + 1)).to_bits();
        // subnormal FP32 numbers are normal in FP64, so the bits' mean is the mean, unless they cross a power
        if low >> 52 != high >> 52 {
            continue;
        }
        let middle = format!("{:.200}", f64::from_bits((low + high) / 2)); // 2^-150 has 150 places
        let even = code + (code & 1);
        let read = |text: &str, rounding| parse(&F32, text, rounding, Overflow::Infinity).unwrap();
        assert_eq!(read(&middle, Rounding::NearestEven).code, even, "{middle}");
        assert_eq!(read(&middle, Rounding::NearestAway).code, code + 1, "{middle}");
        assert_eq!(read(&middle, Rounding::NearestZero).code, code, "{middle}");
        assert_eq!(read(&format!("{middle}1"), Rounding::NearestZero).code, code + 1, "{middle}1");
        assert!(!read(&middle, Rounding::NearestEven).exact);
    }
}

fn apfloat_reads_the_same<S: Semantics>(format: &Format, seed: u64) {
    let mut random = common::Random::new(seed);
    let decimal = |exponent: i32| exponent * 3 / 10; // log10(2), about
    let range = (decimal(format.min_exponent()) - 30, decimal(format.max_exponent()) + 3);
    for _ in 0..5_000 {
        let mut texts = vec![random_decimal(&mut random, 30, range)];
        // up to 30 hexadecimal digits, the point anywhere among them
        let count = 1 + random.below(30);
        let mut hex: String =
            (0..count).map(|_| char::from_digit(random.below(16) as u32, 16).unwrap()).collect();
        let point = random.below(count + 1) as usize;
        hex.insert(point, '.');
        let exponent =
            random.within(format.min_exponent() - 70, format.max_exponent() + 5) - 4 * point as i32;
        texts.push(format!("{}0x{hex}p{exponent}", ["", "-"][random.below(2) as usize]));
        for text in texts {
            for (ours, theirs) in RULES {
                let expected = match IeeeFloat::<S>::from_str_r(&text, theirs) {
                    Ok(value) => value.value.to_bits() as u64,
                    Err(error) => panic!("'{text}': {error:?}"),
                };
                let actual = parse(format, &text, ours, Overflow::Ieee).unwrap().code;
                assert_eq!(actual, expected, "{format} {ours} '{text}': {actual:#x}, apfloat {expected:#x}");
            }
        }
    }
}

#[test]
fn apfloat_reads_the_same_texts() {
    apfloat_reads_the_same::<DoubleS>(&F64, 52);
    apfloat_reads_the_same::<SingleS>(&F32, 53);
    apfloat_reads_the_same::<BFloatS>(&BF16, 54);
    apfloat_reads_the_same::<HalfS>(&F16, 55);
    apfloat_reads_the_same::<Float8E5M2S>(&E5M2, 56);
}
