//! What can be computed by hand, and the tables the paper prints.

use bitmma_formats::{
    BF16, BlockScale, E2M1, E4M3, E4M3FNUZ, E5M2, E8M13, F16, F32, F64, FORMATS, Format, Rounding, TF32,
    UE4M3, UE8M0,
};

use super::number::Number;
use super::{dot, order};
use crate::convert::{Conversion, ResultFlush};
use crate::family::Operation;
use crate::lowering::{Chains, Order};
use crate::model::{InputFlush, Model};
use crate::sums::{FusedSum, RoundedSum};

fn fused(max_length: usize, fraction_bits: u32, zero_exponent: Option<i32>) -> FusedSum {
    FusedSum { zero_exponent, ..FusedSum::new(max_length, fraction_bits) }
}

fn cdna3(max_length: usize, hardware: bool) -> RoundedSum {
    RoundedSum {
        max_length,
        fraction_bits: 24,
        sum_fraction_bits: 31,
        term_rounding: Rounding::TowardZero,
        sum_rounding: Rounding::Down,
        renormalize: hardware,
        zero_accumulator_exponent: hardware.then_some(-126),
        product_overflow: Some(128),
    }
}

fn model(input: Format, operation: Operation, conversion: Conversion) -> Model {
    Model::new(input, input, conversion.container(), operation, conversion)
}

/// The code of `significand * 2^exponent` in a format that has it.
fn code(format: &Format, significand: i64, exponent: i64) -> u64 {
    let value = super::dyadic::Dyadic::new(significand, exponent);
    let exact = Conversion::new(Rounding::TowardZero, *format);
    let number = Number::round(&value, significand < 0, &exact, super::number::Overflow::Ieee);
    assert!(matches!(&number, Number::Finite { value: rounded, .. } if *rounded == value));
    number.code(format, 0)
}

fn codes<const N: usize>(format: &Format, numbers: [(i64, i64); N], k: usize) -> Vec<u64> {
    let mut codes: Vec<u64> =
        numbers.into_iter().map(|(significand, exponent)| code(format, significand, exponent)).collect();
    codes.resize(k, 0);
    codes
}

/// Paper, Equation 1 of "Discrepancy Analysis" and its table: c = 2^23 and four products.
#[test]
fn discrepancy_table() {
    const F23: i32 = -131;
    let t = |length, bits, zero| Operation::TFdpa(fused(length, bits, Some(zero)));
    let fp8 = Conversion::RZ_E8M13;
    let rz = Conversion::RZ_FP32;
    let rne = Conversion::RNE_FP32;
    // each value as a number of eighths
    let rows = [
        ("Volta FP16", model(F16, t(4, 23, F23), rz), 0),
        ("Turing FP16", model(F16, t(8, 24, -132), rz), -4),
        ("Ampere TF32", model(TF32, t(4, 24, -132), rz), -4),
        ("Ada BF16", model(BF16, t(8, 24, -132), rz), -4),
        ("Ada FP8", model(E5M2, t(16, 13, -132), fp8), 0),
        ("Hopper FP16", model(F16, t(16, 25, -133), rz), -6),
        ("Hopper FP8", model(E5M2, t(32, 13, -133), fp8), 0),
        ("Blackwell FP8", model(E5M2, t(32, 25, -133), rz), -6),
        ("CDNA1 FP16", model(F16, Operation::EFdpa { max_length: 4 }, rne), -7),
        ("CDNA2 BF16", model(BF16, Operation::FtzAddMul { pairing: 2 }, rne), -3),
        ("CDNA2 BF16 _1k", model(BF16, Operation::FtzAddMul { pairing: 4 }, rne), 0),
        ("CDNA3 FP16", model(F16, Operation::TrFdpa(cdna3(8, true)), rne), -4),
        ("CDNA3 FP16 as printed", model(F16, Operation::TrFdpa(cdna3(8, false)), rne), -4),
        // 2^10 is not a number of E4M3FNUZ; -2^13 and 2^10 are numbers of E5M2FNUZ
        ("CDNA3 BF8", model(bitmma_formats::E5M2FNUZ, Operation::GtrFdpa(cdna3(16, true)), rne), -8),
        (
            "CDNA3 BF8 as printed",
            model(bitmma_formats::E5M2FNUZ, Operation::GtrFdpa(cdna3(16, false)), rne),
            -8,
        ),
        ("FP32", model(F32, Operation::Fma, rne), -7),
    ];
    for (name, model, eighths) in rows {
        let k = 16;
        let a = codes(&model.a, [(-1, 13), (-1, -1), (-1, -2), (-1, -3)], k);
        let b = codes(&model.b, [(1, 10), (1, 0), (1, 0), (1, 0)], k);
        let c = code(&F32, 1, 23);
        let expected = if eighths == 0 { 0 } else { code(&F32, eighths, -3) };
        assert_eq!(dot(&model, &a, &b, c, &[], &[]), expected, "{name}");
    }
}

/// `semantics.md`, 11: recorded on an MI300X with `v_mfma_f32_16x16x32_fp8_fp8`.
#[test]
fn mi300x_normalises_and_rounds_once_more() {
    let of = |hardware| model(E4M3FNUZ, Operation::GtrFdpa(cdna3(16, hardware)), Conversion::RNE_FP32);
    let c = code(&F32, 0x1ff_fff8, 0); // 0x1.fffff8p24
    let plain = code(&F32, 0x100_0000, 1); // 0x1.000000p25
    let next = code(&F32, 0x100_0002, 1); // 0x1.000002p25
    for (small, hardware, expected) in
        [(-7, true, plain), (-7, false, next), (-6, true, next), (-6, false, next)]
    {
        let a = codes(&E4M3FNUZ, [(10, 0), (1, small)], 32);
        let b = codes(&E4M3FNUZ, [(1, 0), (1, 0)], 32);
        assert_eq!(dot(&of(hardware), &a, &b, c, &[], &[]), expected, "2^{small}, hardware: {hardware}");
    }
}

/// Every code of 16 bits or fewer is written as it was read, and its exponent is that of its size.
#[test]
fn codes_survive_reading_and_writing() {
    for format in FORMATS.iter().filter(|format| format.bits() <= 16) {
        for code in 0..1_u64 << format.bits() {
            let number = Number::read(format, code, false);
            if number == Number::Nan {
                continue;
            }
            let expected = if *format == UE4M3 { code & 0x7f } else { code };
            assert_eq!(number.code(format, 0), expected, "{format} {code:#x}");
            assert_eq!(number.clone().widened(format), number, "{format} {code:#x}");
        }
    }
}

/// Values and special codes as the standards print them.
#[test]
fn printed_codes() {
    let finite = |format: &Format, code, significand: i64, exponent| {
        let Number::Finite { value, .. } = Number::read(format, code, false) else {
            panic!("{format} {code:#x} is special")
        };
        assert_eq!(value, super::dyadic::Dyadic::new(significand, exponent), "{format} {code:#x}");
    };
    finite(&E4M3, 0x7e, 448, 0); // OCP FP8, table 1: largest
    finite(&E4M3, 0x01, 1, -9); // smallest
    finite(&E5M2, 0x7b, 57344, 0);
    finite(&E5M2, 0x01, 1, -16);
    finite(&E4M3FNUZ, 0xff, -240, 0);
    finite(&E2M1, 0x7, 6, 0); // OCP MX, table 5
    finite(&UE8M0, 0x00, 1, -127);
    finite(&UE8M0, 0xfe, 1, 127);
    finite(&UE4M3, 0xfe, 448, 0);
    finite(&F16, 0xfbff, -65504, 0);
    finite(&TF32, 0x3f80_1fff, 1, 0);
    let special = |format: &Format, code| Number::read(format, code, false);
    for (format, code) in [(&E4M3, 0x7f), (&E4M3, 0xff), (&E4M3FNUZ, 0x80), (&UE8M0, 0xff), (&UE4M3, 0xff)] {
        assert_eq!(special(format, code), Number::Nan, "{format} {code:#x}");
    }
    assert_eq!(special(&E5M2, 0xfc), Number::Infinite { negative: true });
    assert_eq!(special(&F32, 0x7f80_0001), Number::Nan);
}

/// Overflow: infinity in a fused sum, IEEE 754 §7.4 in an FMA.
#[test]
fn overflow() {
    let largest = 0x7f7f_ffff;
    let one = code(&F32, 1, 0);
    for (rounding, _) in Rounding::ALL {
        let conversion = Conversion::new(rounding, F32);
        let exact = model(F32, Operation::EFdpa { max_length: 1 }, conversion);
        assert_eq!(dot(&exact, &[largest], &[one], largest, &[], &[]), 0x7f80_0000, "{rounding}");
        let fma = model(F32, Operation::Fma, conversion);
        let finite = matches!(rounding, Rounding::TowardZero | Rounding::Down);
        let expected = if finite { largest } else { 0x7f80_0000 };
        assert_eq!(dot(&fma, &[largest], &[one], largest, &[], &[]), expected, "{rounding}");
    }
    // truncated FP32: 0x1.fffcp127 is the largest, anything from 2^128 on is infinite, less is cut
    let narrow = model(F32, Operation::EFdpa { max_length: 1 }, Conversion::RZ_E8M13);
    assert_eq!(E8M13.padding_bits, 10);
    assert_eq!(dot(&narrow, &[largest], &[one], 0, &[], &[]), 0x7f7f_fc00);
}

/// Signs of zero (`semantics.md`, 5).
#[test]
fn signs_of_zero() {
    let minus_zero = 0x8000_0000;
    let one = code(&F32, 1, 0);
    let tiny = 1; // 2^-149
    let minus_half = code(&F32, -1, -1);
    let rne = Conversion::RNE_FP32;
    let down = Conversion::new(Rounding::Down, F32);
    let fma = model(F32, Operation::Fma, rne);
    let fma_down = model(F32, Operation::Fma, down);
    let exact = model(F32, Operation::EFdpa { max_length: 1 }, rne);
    let truncated = model(F32, Operation::TFdpa(fused(1, 60, Some(-133))), Conversion::RZ_FP32);
    let rounded = model(F32, Operation::TrFdpa(cdna3(1, true)), rne);
    let minus_one = code(&F32, -1, 0);
    let rows = [
        // a b c: all terms -0
        (minus_zero, one, minus_zero, [minus_zero, minus_zero, 0, 0, 0]),
        // exact cancellation
        (one, one, minus_one, [0, minus_zero, 0, 0, 0]),
        // -2^-150, between -0 and the smallest number
        (minus_half, tiny, 0, [minus_zero, minus_zero | 1, minus_zero, 0, minus_zero]),
    ];
    for (a, b, c, expected) in rows {
        for (model, expected) in [&fma, &fma_down, &exact, &truncated, &rounded].into_iter().zip(expected) {
            let name = model.operation.name();
            assert_eq!(dot(model, &[a], &[b], c, &[], &[]), expected, "{name} {a:#x} {b:#x} {c:#x}");
        }
    }
}

/// A zero accumulator holds e_max up to e_zero in the revision `hardware`; as printed it does not.
#[test]
fn zero_terms_are_a_floor() {
    let a = codes(&E5M2, [(1, -16)], 1);
    let scale = [127 - 120];
    for (zero, expected) in [(Some(-133), 0), (None, 1)] {
        let mut model = model(E5M2, Operation::StFdpa(fused(32, 0, zero)), Conversion::RZ_FP32);
        model.scale = Some(BlockScale { format: UE8M0, size: 32 });
        // 2^-16 2^-13 2^-120 = 2^-149 with Exp = -14 -13 -120 = -147: the significand is 2^-2
        let b = codes(&E5M2, [(1, -13)], 1);
        let got = dot(&model, &a, &b, 0, &scale, &[127]);
        assert_eq!(got, 0, "cut at F = 0, e_zero {zero:?}");
        // F = 15: the last bit kept is 2^-148 under the floor, 2^-162 without it
        let mut finer = model.clone();
        finer.operation = Operation::StFdpa(fused(32, 15, zero));
        assert_eq!(dot(&finer, &a, &b, 0, &scale, &[127]), expected, "F = 15, e_zero {zero:?}");
    }
}

/// A group that cancels keeps its exponent, a group with a zero scale has none (`semantics.md`, 3, 10).
#[test]
fn groups_that_are_zero() {
    let mut model =
        model(E2M1, Operation::GstFdpa { sum: fused(4, 0, Some(-139)), group: 2 }, Conversion::RZ_FP32);
    model.scale = Some(BlockScale { format: UE4M3, size: 2 });
    let one = code(&E2M1, 1, 0);
    let b = [one, one, one, 0];
    let (big, unit) = (code(&UE4M3, 256, 0), code(&UE4M3, 1, 0));
    let three_halves = code(&F32, 3, -1);
    let cancel = [one, one | 8, one, 0];
    let zeros = [0, 0, one, 0];
    // e_max = 8 from the group that cancels: 1 and 1.5 are cut away
    assert_eq!(dot(&model, &cancel, &b, three_halves, &[big, unit], &[unit, unit]), 0);
    // no e_max from a group of zeros, or from a zero scale factor: 1 + RZ_0(1.5) = 2
    let two = code(&F32, 2, 0);
    assert_eq!(dot(&model, &zeros, &b, three_halves, &[big, unit], &[unit, unit]), two);
    assert_eq!(dot(&model, &cancel, &b, three_halves, &[big, unit], &[0, unit]), two);
    // a NaN scale factor is NaN even there
    assert_eq!(dot(&model, &zeros, &b, three_halves, &[0x7f, unit], &[unit, unit]), 0x7fc0_0000);
}

/// Special values meet before anything is aligned (`semantics.md`, 7, 8).
#[test]
fn special_values() {
    let (infinity, nan) = (0x7f80_0000, 0x7fc0_0000);
    let rounded = model(F32, Operation::TrFdpa(cdna3(2, true)), Conversion::RNE_FP32);
    let huge = code(&F32, 1, 64);
    let half = code(&F32, 1, 63);
    let one = code(&F32, 1, 0);
    let minus_huge = code(&F32, -1, 64);
    let of = |a: [u64; 2], b: [u64; 2], c| dot(&rounded, &a, &b, c, &[], &[]);
    assert_eq!(of([huge, 0], [huge, 0], 0), infinity);
    assert_eq!(of([huge, 0], [half, 0], 0), code(&F32, 1, 127));
    assert_eq!(of([minus_huge, 0], [huge, 0], infinity), nan);
    assert_eq!(of([huge, minus_huge], [huge, huge], 0), nan);
    assert_eq!(of([infinity, 0], [0, one], one), nan);
    assert_eq!(of([infinity, 0], [one, infinity], one), nan);
    assert_eq!(of([infinity, one], [one, one], one), infinity);
}

#[test]
fn flushing() {
    let mut model = model(F16, Operation::FtzAddMul { pairing: 2 }, Conversion::RNE_FP32);
    let one = code(&F16, 1, 0);
    let subnormal = code(&F16, 1, -24);
    let sum = |model: &Model, a, c| dot(model, &[a, 0], &[one, 0], c, &[], &[]);
    assert_eq!(sum(&model, subnormal, 0), code(&F32, 1, -24));
    assert_eq!(sum(&model, 0x8000, 0x8000_0001), 0x8000_0000); // the sum is flushed with its sign
    model = model.flushing(InputFlush::Positive);
    assert_eq!(sum(&model, subnormal, 0), 0);
    assert_eq!(sum(&model, 0x8000, 0x8000_0001), 0); // the operands are flushed without
    model = model.flushing(InputFlush::Signed);
    let minus = |model: &Model| dot(model, &[0x8000, 0x8001], &[one, one], 0x8000_0001, &[], &[]);
    assert_eq!(minus(&model), 0x8000_0000); // or with it
    assert_eq!(sum(&model, subnormal | 0x8000, code(&F32, 1, 0)), code(&F32, 1, 0));
}

/// A composed instruction: widened, interleaved, C last (`semantics.md`, 19).
#[test]
fn composed() {
    let operation = Operation::TFdpa(fused(16, 25, Some(-133)));
    let mut model = model(E4M3, operation, Conversion::RZ_FP32);
    model.lowering.widen_operands = Some(F16);
    model.lowering.order = Order::Interleaved { run: 2, period: 4 };
    model.lowering.add_accumulator_last = Some(Conversion::RNE_FP32);
    assert_eq!(model.length(32), 16);
    let b = vec![code(&E4M3, 1, 0); 32];
    let a = codes(&E4M3, [(1, 0), (1, 0), (1, 0), (1, 0)], 32);
    assert_eq!(dot(&model, &a, &b, code(&F32, 1, 24), &[], &[]), code(&F32, (1 << 22) + 1, 2));
}

/// A and B are flushed without C, C without A and B.
#[test]
fn flushing_one_side() {
    let one = code(&F16, 1, 0);
    let (subnormal, tiny_c) = (code(&F16, 1, -24), code(&F32, 1, -149));
    let plain = model(F16, Operation::EFdpa { max_length: 1 }, Conversion::RNE_FP32);
    let of_ab = Model { flush_operands: InputFlush::Signed, ..plain.clone() };
    let of_c = Model { flush_accumulator: InputFlush::Positive, ..plain.clone() };
    let of = |model: &Model, a, c| dot(model, &[a], &[one], c, &[], &[]);
    assert_eq!([of(&plain, subnormal, 0), of(&plain, 0, tiny_c)], [code(&F32, 1, -24), tiny_c]);
    assert_eq!([of(&of_ab, subnormal, 0), of(&of_ab, 0, tiny_c)], [0, tiny_c]);
    assert_eq!([of(&of_c, subnormal, 0), of(&of_c, 0, tiny_c)], [code(&F32, 1, -24), 0]);
}

/// 2^-126 less 2^-150, 2^-152, 2^-149 and 2^-200, by each rule, RNE-FP32; both signs.
#[test]
fn flushed_results() {
    let normal = code(&F32, 1, -126);
    let below = normal - 1; // 2^-126 - 2^-149
    let rows = [
        (ResultFlush::Never, [normal, normal, below, normal]),
        (ResultFlush::BeforeRounding, [0, 0, 0, 0]),
        (ResultFlush::AfterRounding, [0, normal, 0, normal]),
        (ResultFlush::Subnormal, [normal, normal, 0, normal]),
    ];
    for (flush, expected) in rows {
        let rho = Conversion { flush, ..Conversion::RNE_FP32 };
        let model = Model { c: F64, ..model(BF16, Operation::EFdpa { max_length: 1 }, rho) };
        for (less, expected) in [-150, -152, -149, -200].into_iter().zip(expected) {
            // c = 2^-126 as FP64, a b = -2^less
            let (a, b) = (code(&BF16, -1, less + 100), code(&BF16, 1, -100));
            let c = code(&F64, 1, -126);
            assert_eq!(dot(&model, &[a], &[b], c, &[], &[]), expected, "{rho} 2^-126 - 2^{less}");
            let minus = [a ^ 0x8000, c ^ (1 << 63)];
            let mirrored = expected | 0x8000_0000;
            assert_eq!(dot(&model, &[minus[0]], &[b], minus[1], &[], &[]), mirrored, "{rho} negative");
        }
        assert_eq!(dot(&model, &[0], &[0], code(&F64, 1, -126), &[], &[]), normal, "{rho} 2^-126 itself");
    }
}

/// The largest number instead of infinity, under every rule; an infinity that goes in stays one.
#[test]
fn saturating() {
    let (largest, infinity) = (0x7f7f_ffff, 0x7f80_0000);
    let huge = code(&F32, 1, 127);
    let two = code(&F32, 2, 0);
    for (rounding, _) in Rounding::ALL {
        let rho = Conversion { saturate: true, ..Conversion::new(rounding, F32) };
        for operation in
            [Operation::Fma, Operation::EFdpa { max_length: 1 }, Operation::TFdpa(fused(1, 24, None))]
        {
            let model = model(F32, operation, rho);
            let of = |a, c| dot(&model, &[a], &[two], c, &[], &[]);
            assert_eq!(of(huge, 0), largest, "{rho}");
            assert_eq!(of(huge ^ 0x8000_0000, 0), largest | 0x8000_0000, "{rho}");
            assert_eq!(of(infinity, 0), infinity, "{rho}");
            assert_eq!(of(huge, infinity), infinity, "{rho}");
        }
    }
}

/// C = 1 + 2^-20 beside a product of 1: kept whole with F_c = 20, cut with F_c = 19, and the other way round.
#[test]
fn the_accumulator_has_bits_of_its_own() {
    let one = code(&F32, 1, 0);
    let fine = code(&F32, (1 << 20) + 1, -20);
    for (bits, of_c, product, c, expected) in [
        (10, Some(20), one, fine, code(&F32, (1 << 21) + 1, -20)),
        (10, Some(19), one, fine, code(&F32, 2, 0)),
        (10, None, one, fine, code(&F32, 2, 0)),
        (20, Some(10), fine, one, code(&F32, (1 << 21) + 1, -20)),
        (20, Some(10), fine, fine, code(&F32, (1 << 21) + 1, -20)),
        (20, None, fine, fine, code(&F32, (1 << 20) + 1, -19)),
    ] {
        let sum = FusedSum { accumulator_fraction_bits: of_c, ..fused(1, bits, None) };
        let model = model(F32, Operation::TFdpa(sum), Conversion::RZ_FP32);
        assert_eq!(dot(&model, &[product], &[one], c, &[], &[]), expected, "F {bits} F_c {of_c:?}");
    }
}

/// Intel AMX's TDPBF16PS: 2^24 + 1 in one chain loses the 1; even and odd elements apart keep it until they meet.
#[test]
fn two_chains() {
    let ftz = Conversion { flush: ResultFlush::AfterRounding, ..Conversion::RNE_FP32 };
    let mut model =
        Model { c: F32, ..model(BF16, Operation::FtzFma { max_length: 1 }, Conversion::RNE_FP32) };
    let one = code(&BF16, 1, 0);
    let b = [one; 4];
    let a = |numbers| codes(&BF16, numbers, 4);
    let sum = |model: &Model, numbers, c| dot(model, &a(numbers), &b, c, &[], &[]);
    // 2^24, 1, -2^24, 1: one chain: ((2^24 + 1) - 2^24) + 1 = 1
    let numbers = [(1, 24), (1, 0), (-1, 24), (1, 0)];
    assert_eq!(sum(&model, numbers, 0), code(&F32, 1, 0));
    // even: 2^24 - 2^24 = 0; odd: 1 + 1
    model.lowering.order = Order::Interleaved { run: 1, period: 2 };
    model.lowering.chains = Some(Chains { count: 2, merge: ftz });
    assert_eq!(sum(&model, numbers, 0), code(&F32, 2, 0));
    // halves: 2^24 + 1 = 2^24 and -2^24 + 1 = -(2^24 - 1)
    model.lowering.order = Order::Sequential;
    assert_eq!(sum(&model, numbers, 0), code(&F32, 1, 0));
    // C = 2^24 first: even: 2^25 - 2^24; last: 2^24 + 2; C = 1 first beside 2^24 is lost
    model.lowering.order = Order::Interleaved { run: 1, period: 2 };
    assert_eq!(sum(&model, numbers, code(&F32, 1, 0)), code(&F32, 2, 0));
    model.lowering.add_accumulator_last = Some(ftz);
    assert_eq!(sum(&model, numbers, code(&F32, 1, 0)), code(&F32, 3, 0));
    // a subnormal C that is added last is read as it is, unless it is flushed; the sum is flushed
    let tiny = 1;
    let zeros = [(0, 0); 4];
    assert_eq!(sum(&model, zeros, tiny), 0);
    let normal = code(&F32, 1, -126);
    let product = [(1, -126), (0, 0), (0, 0), (0, 0)];
    assert_eq!(sum(&model, product, tiny), normal + 1);
    model.flush_accumulator = InputFlush::Signed;
    assert_eq!(sum(&model, product, tiny), normal);
}

#[test]
fn orders() {
    assert_eq!(order(Order::Sequential, 4), [0, 1, 2, 3]);
    assert_eq!(order(Order::Reversed, 4), [3, 2, 1, 0]);
    assert_eq!(order(Order::Interleaved { run: 2, period: 4 }, 8), [0, 1, 4, 5, 2, 3, 6, 7]);
}

/// FP64 products reach 2^-2148 and stay exact.
#[test]
fn fp64_products_are_exact() {
    let fma = model(F64, Operation::Fma, Conversion::RNE_FP64);
    let x = code(&F64, 0x10_0000_0000_0001, -52); // 1 + 2^-52
    let minus_square = code(&F64, -0x10_0000_0000_0002, -52);
    assert_eq!(dot(&fma, &[x], &[x], minus_square, &[], &[]), code(&F64, 1, -104));
    assert_eq!(dot(&fma, &[1], &[1], 0, &[], &[]), 0);
}
