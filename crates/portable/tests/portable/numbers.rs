//! Reading and rounding the four formats, against the crate `half` and every code.

use bitmma_portable::{Numbers, NumbersMut, canonical};
use half::{bf16, f16};

/// FP64 numbers near every boundary of a narrow format: its numbers, the middles between them, and their neighbors.
fn near(codes: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut all: Vec<f64> = codes.filter(|x| x.is_finite()).collect();
    all.sort_by(f64::total_cmp);
    let middles: Vec<f64> = all.windows(2).map(|pair| pair[0] / 2.0 + pair[1] / 2.0).collect();
    all.extend(middles);
    let beside: Vec<f64> = all.iter().flat_map(|x| [x.next_up(), x.next_down()]).collect();
    all.extend(beside);
    all.extend([
        f64::MAX,
        f64::MIN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        -f64::NAN,
        5e-324,
        -5e-324,
        0.0,
        -0.0,
    ]);
    all
}

#[test]
fn bf16_numbers_are_read_and_rounded_as_the_crate_half_does() {
    let codes: Vec<u16> = (0..=u16::MAX).collect();
    let mut read = vec![0.0; codes.len()];
    Numbers::Bf16(&codes).read(0, &mut read);
    for (&code, &x) in codes.iter().zip(&read) {
        let expected = bf16::from_bits(code).to_f64();
        assert!(x.to_bits() == expected.to_bits() || (x.is_nan() && expected.is_nan()), "{code:04x}");
    }
    // the largest finite number and what rounds to infinity
    let inputs = near(read.iter().copied().chain([3.39617752923046e38, -3.39617752923046e38]));
    let mut found = vec![0; inputs.len()];
    NumbersMut::Bf16(&mut found).write(0, &inputs);
    for (&x, &code) in inputs.iter().zip(&found) {
        let expected = if x.is_nan() { 0x7fc0 } else { nearest(x, 128, -126, 7) };
        assert_eq!(code, expected, "{x:e} is {code:04x}");
    }
}

#[test]
fn f16_numbers_are_read_and_rounded_as_the_crate_half_does() {
    let codes: Vec<u16> = (0..=u16::MAX).collect();
    let mut read = vec![0.0; codes.len()];
    Numbers::F16(&codes).read(0, &mut read);
    for (&code, &x) in codes.iter().zip(&read) {
        let expected = f16::from_bits(code).to_f64();
        assert!(x.to_bits() == expected.to_bits() || (x.is_nan() && expected.is_nan()), "{code:04x}");
    }
    let inputs = near(read.iter().copied().chain([65520.0, -65520.0, 65519.9999]));
    let mut found = vec![0; inputs.len()];
    NumbersMut::F16(&mut found).write(0, &inputs);
    for (&x, &code) in inputs.iter().zip(&found) {
        let expected = if x.is_nan() { 0x7e00 } else { nearest(x, 16, -14, 10) };
        assert_eq!(code, expected, "{x:e} is {code:04x}");
    }
}

/// The code nearest to a number, ties to even, by integers: 2^`limit` rounds to infinity.
fn nearest(x: f64, limit: i32, smallest: i32, fraction: u32) -> u16 {
    let sign = u16::from(x.is_sign_negative()) << 15;
    let infinity = ((limit - smallest + 1) as u16) << fraction;
    let bits = x.abs().to_bits();
    if x.is_infinite() {
        return sign | infinity;
    }
    let field = (bits >> 52) as i32;
    if field == 0 {
        return sign;
    }
    let (exponent, significand) = (field - 1023, bits & ((1 << 52) - 1) | 1 << 52);
    // the unit of the result is 2^(max(exponent, smallest) − fraction)
    let shift = 52 - fraction as i32 + (smallest - exponent).max(0);
    if shift > 60 {
        return sign;
    }
    let (quotient, rest, half) =
        (significand >> shift, significand & ((1 << shift) - 1), 1u64 << (shift - 1));
    let quotient = quotient + u64::from(rest > half || (rest == half && quotient & 1 == 1));
    let code =
        if exponent < smallest { quotient } else { (((exponent - smallest) as u64) << fraction) + quotient };
    sign | code.min(u64::from(infinity)) as u16
}

#[test]
fn nan_has_one_code_in_each_format() {
    let mut codes: Vec<u16> = vec![0x7fc1, 0xffff, 0x7f80, 0xff80, 0x7e01, 0x0001];
    canonical(NumbersMut::Bf16(&mut codes));
    assert_eq!(codes, [0x7fc0, 0x7fc0, 0x7f80, 0xff80, 0x7e01, 0x0001]);
    let mut codes: Vec<u16> = vec![0x7e01, 0xfc01, 0x7c00, 0xfc00, 0x7bff];
    canonical(NumbersMut::F16(&mut codes));
    assert_eq!(codes, [0x7e00, 0x7e00, 0x7c00, 0xfc00, 0x7bff]);
    let mut wide = [f32::from_bits(0xffff_ffff), 1.0, f32::NEG_INFINITY];
    canonical(NumbersMut::F32(&mut wide));
    assert_eq!(wide.map(f32::to_bits), [0x7fc0_0000, 0x3f80_0000, 0xff80_0000]);
    let mut wide = [-f64::NAN, 1.0];
    canonical(NumbersMut::F64(&mut wide));
    assert_eq!(wide.map(f64::to_bits), [0x7ff8 << 48, 0x3ff0 << 48]);
}
