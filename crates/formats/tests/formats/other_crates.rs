//! Every code means what `half`, `float8` and `rustc_apfloat` say it means.

use crate::common;
use crate::common::apfloat::{E8m13S, Tf32S};
use bitmma_formats::cases::all_codes;
use bitmma_formats::text::to_f64_bits;
use bitmma_formats::*;
use rustc_apfloat::ieee::{BFloat, Double, Float8E4M3FN, Float8E5M2, Half, IeeeFloat, Semantics, Single};
use rustc_apfloat::{Float, FloatConvert};

/// The quiet NaN that stands for every NaN; `half` and the host keep payloads.
const NAN: u64 = 0x7ff8_0000_0000_0000;

fn canonical(bits: u64) -> u64 {
    if bits & 0x7fff_ffff_ffff_ffff > 0x7ff0_0000_0000_0000 { NAN } else { bits }
}

#[test]
fn half_agrees_on_every_code() {
    for code in 0..=0xffffu16 {
        let f16 = half::f16::from_bits(code).to_f64().to_bits();
        assert_eq!(to_f64_bits(&F16, u64::from(code)), canonical(f16), "f16 {code:#06x}");
        let bf16 = half::bf16::from_bits(code).to_f64().to_bits();
        assert_eq!(to_f64_bits(&BF16, u64::from(code)), canonical(bf16), "bf16 {code:#06x}");
    }
}

#[test]
fn float8_agrees_on_every_code() {
    for code in 0..=0xffu8 {
        let e4m3 = float8::F8E4M3::from_bits(code).to_f64().to_bits();
        assert_eq!(to_f64_bits(&E4M3, u64::from(code)), canonical(e4m3), "e4m3 {code:#04x}");
        let e5m2 = float8::F8E5M2::from_bits(code).to_f64().to_bits();
        assert_eq!(to_f64_bits(&E5M2, u64::from(code)), canonical(e5m2), "e5m2 {code:#04x}");
    }
}

#[test]
fn half_rounds_single_precision_as_encode_does() {
    let mut random = common::Random::new(2);
    for _ in 0..500_000 {
        let code = random.next() & 0xffff_ffff;
        let unpacked = decode(&F32, code);
        if !unpacked.is_finite() {
            continue;
        }
        let value = Real {
            negative: unpacked.negative,
            significand: u128::from(unpacked.significand),
            exponent: unpacked.exponent - 23,
            inexact: false,
        };
        let host = f32::from_bits(code as u32);
        let f16 = encode(&F16, value, Rounding::NearestEven, Overflow::Infinity);
        assert_eq!(f16, u64::from(half::f16::from_f32_const(host).to_bits()), "f16 of f32 {code:#010x}");
        let bf16 = encode(&BF16, value, Rounding::NearestEven, Overflow::Infinity);
        assert_eq!(bf16, u64::from(half::bf16::from_f32_const(host).to_bits()), "bf16 of f32 {code:#010x}");
    }
}

#[test]
fn half_drops_the_low_word_of_double_precision() {
    // Why the test above goes through FP32. half 2.7.1 reads only the high 32 bits of an FP64 word, so a
    // value just above a tie is taken for the tie: 0x3f5bb200e859711d = 0x1.bb200e859711dp-10 lies between
    // 0x16ec (0x1.bbp-10) and 0x16ed (0x1.bb4p-10), above their middle 0x1.bb2p-10.
    let value = Real::exact(0x1b_b200_e859_711d, -62);
    let host = f64::from_bits(0x3f5b_b200_e859_711d);
    assert_eq!(encode(&F16, value, Rounding::NearestEven, Overflow::Infinity), 0x16ed);
    let theirs = half::f16::from_f64_const(host).to_bits();
    assert_eq!(theirs, 0x16ec, "half rounds rightly now: compare FP64 in the test above");
}

#[test]
fn float8_rounds_double_precision_as_encode_does() {
    let mut random = common::Random::new(3);
    for _ in 0..500_000 {
        let significand = random.significand(53);
        let exponent = random.within(-24, 20) - 52;
        let value = Real { negative: random.below(2) == 1, significand, exponent, inexact: false };
        let host = f64::from_bits(encode(&F64, value, Rounding::TowardZero, Overflow::Saturate));
        let e4m3 = encode(&E4M3, value, Rounding::NearestEven, Overflow::Saturate);
        assert_eq!(e4m3, u64::from(float8::F8E4M3::from_f64(host).to_bits()), "e4m3 of {host:e}");
        let e5m2 = encode(&E5M2, value, Rounding::NearestEven, Overflow::Saturate);
        assert_eq!(e5m2, u64::from(float8::F8E5M2::from_f64(host).to_bits()), "e5m2 of {host:e}");
    }
}

fn apfloat_agrees<S: Semantics>(format: &Format, codes: impl Iterator<Item = u64>)
where
    IeeeFloat<S>: FloatConvert<Double>,
{
    for code in codes {
        let theirs = IeeeFloat::<S>::from_bits(u128::from(code >> format.padding_bits));
        let theirs = FloatConvert::<Double>::convert(theirs, &mut false).value;
        assert_eq!(to_f64_bits(format, code), canonical(theirs.to_bits() as u64), "{format} {code:#x}");
    }
}

/// The semantics behind one of `rustc_apfloat`'s type names.
trait Named {
    fn agrees(format: &Format, codes: impl Iterator<Item = u64>);
}
impl<S: Semantics> Named for IeeeFloat<S> {
    fn agrees(format: &Format, codes: impl Iterator<Item = u64>) {
        apfloat_agrees::<S>(format, codes);
    }
}

#[test]
fn apfloat_agrees_on_every_code() {
    Half::agrees(&F16, all_codes(&F16));
    BFloat::agrees(&BF16, all_codes(&BF16));
    Float8E5M2::agrees(&E5M2, all_codes(&E5M2));
    Float8E4M3FN::agrees(&E4M3, all_codes(&E4M3));
    IeeeFloat::<Tf32S>::agrees(&TF32, all_codes(&TF32));
    IeeeFloat::<E8m13S>::agrees(&E8M13, all_codes(&E8M13));
}

#[test]
fn the_host_agrees_on_wide_codes() {
    let mut random = common::Random::new(4);
    let mut check = |code: u64| {
        let single = f64::from(f32::from_bits(code as u32)).to_bits();
        assert_eq!(to_f64_bits(&F32, code & 0xffff_ffff), canonical(single), "f32 {code:#x}");
        assert_eq!(to_f64_bits(&F64, code), canonical(code), "f64 {code:#x}");
        Single::agrees(&F32, std::iter::once(code & 0xffff_ffff));
    };
    for format in [F32, F64] {
        cases::notable_codes(&format).into_iter().for_each(&mut check);
    }
    for _ in 0..200_000 {
        check(random.next());
    }
}
