//! A model out of its range is an error that names the parameter and the value, never a panic; so are
//! operands that do not fit.

use bitmma_arithmetic::{
    Chains, Conversion, FusedSum, InputFlush, Lowering, Model, ModelError, Operands, Operation, Order,
    ResultFlush, RoundedSum,
};
use bitmma_formats::{BF16, BlockScale, E2M1, E4M3, E5M2, F16, F32, F64, Format, Rounding, UE4M3, UE8M0};

const FUSED: FusedSum = FusedSum::new(8, 24);

const ROUNDED: RoundedSum = RoundedSum {
    max_length: 8,
    fraction_bits: 24,
    sum_fraction_bits: 31,
    term_rounding: Rounding::TowardZero,
    sum_rounding: Rounding::Down,
    renormalize: true,
    zero_accumulator_exponent: Some(-126),
    product_overflow: Some(128),
};

fn half(operation: Operation) -> Model {
    Model::new(F16, F16, F32, operation, Conversion::RZ_FP32)
}

fn scaled(a: Format, operation: Operation, format: Format, size: usize) -> Model {
    Model {
        scale: Some(BlockScale { format, size }),
        ..Model::new(a, a, F32, operation, Conversion::RZ_FP32)
    }
}

fn refused(model: &Model) -> String {
    let error = model.validate().expect_err("out of range");
    // whoever skips the check is told the same
    let (a, scales) = ([0; 8], []);
    let operands = Operands { a: &a, b: &a, c: 0, scale_a: &scales, scale_b: &scales };
    assert_eq!(model.dot(&operands), Err(error.clone()));
    error.to_string()
}

#[test]
fn lengths() {
    for length in [0, 65537, usize::MAX] {
        let expected = format!("L_max is {length}; it may be 1 to 65536");
        for operation in [
            Operation::EFdpa { max_length: length },
            Operation::TFdpa(FusedSum { max_length: length, ..FUSED }),
            Operation::StFdpa(FusedSum { max_length: length, ..FUSED }),
            Operation::GstFdpa { sum: FusedSum { max_length: length, ..FUSED }, group: 1 },
            Operation::TrFdpa(RoundedSum { max_length: length, ..ROUNDED }),
            Operation::GtrFdpa(RoundedSum { max_length: length, ..ROUNDED }),
        ] {
            assert_eq!(refused(&half(operation)), expected);
        }
    }
    assert!(half(Operation::TFdpa(FusedSum { max_length: 65536, ..FUSED })).validate().is_ok());
    assert_eq!(
        refused(&half(Operation::GtrFdpa(RoundedSum { max_length: 7, ..ROUNDED }))),
        "L_max is 7; GTR-FDPA takes an even number of products"
    );
}

#[test]
fn bits_and_exponents() {
    for bits in [61, 64, 128, u32::MAX] {
        let fused = FusedSum { fraction_bits: bits, ..FUSED };
        let expected = format!("F is {bits}; it may be 0 to 60");
        assert_eq!(refused(&half(Operation::TFdpa(fused))), expected);
        assert_eq!(refused(&scaled(E4M3, Operation::StFdpa(fused), UE8M0, 8)), expected);
        let grouped = Operation::GstFdpa { sum: fused, group: 4 };
        assert_eq!(refused(&scaled(E2M1, grouped, UE8M0, 8)), expected);
        let rounded = RoundedSum { fraction_bits: bits, ..ROUNDED };
        assert_eq!(refused(&half(Operation::TrFdpa(rounded))), expected);
        let rounded = RoundedSum { sum_fraction_bits: bits, ..ROUNDED };
        let expected = format!("F2 is {bits}; it may be 0 to 60");
        assert_eq!(refused(&half(Operation::TrFdpa(rounded))), expected);
        assert_eq!(refused(&half(Operation::GtrFdpa(rounded))), expected);
    }
    for bits in [0, 60] {
        assert!(half(Operation::TFdpa(FusedSum { fraction_bits: bits, ..FUSED })).validate().is_ok());
        let rounded = RoundedSum { fraction_bits: bits, sum_fraction_bits: 60 - bits, ..ROUNDED };
        assert!(half(Operation::TrFdpa(rounded)).validate().is_ok());
    }
    for exponent in [65537, -65537, i32::MAX, i32::MIN] {
        let fused = FusedSum { zero_exponent: Some(exponent), ..FUSED };
        let expected = format!("e_zero is {exponent}; it may be -65536 to 65536");
        assert_eq!(refused(&half(Operation::TFdpa(fused))), expected);
        let rounded = RoundedSum { zero_accumulator_exponent: Some(exponent), ..ROUNDED };
        let expected = format!("e_zero_c is {exponent}; it may be -65536 to 65536");
        assert_eq!(refused(&half(Operation::TrFdpa(rounded))), expected);
    }
}

/// The limits themselves run: the widest terms and the most of them neither overflow nor panic.
#[test]
fn limits_run() {
    for rounding in [Rounding::TowardZero, Rounding::AwayFromZero] {
        for bits in [0, 60] {
            let fused = FusedSum {
                max_length: 65536,
                fraction_bits: bits,
                term_rounding: rounding,
                zero_exponent: Some(-65536),
                accumulator_fraction_bits: Some(60 - bits),
            };
            let rounded = RoundedSum {
                max_length: 65536,
                fraction_bits: bits,
                sum_fraction_bits: 60,
                term_rounding: rounding,
                sum_rounding: rounding,
                renormalize: true,
                zero_accumulator_exponent: Some(65536),
                product_overflow: Some(i32::MAX),
            };
            for operation in
                [Operation::TFdpa(fused), Operation::TrFdpa(rounded), Operation::GtrFdpa(rounded)]
            {
                let model = Model::new(F64, F64, F64, operation, Conversion::RNE_FP64);
                let ones = vec![F64.one_code(); 65536];
                let most = vec![F64.max_finite_code(); 65536];
                let dot = |a: &[u64], b: &[u64], c| {
                    model.dot(&Operands { a, b, c, scale_a: &[], scale_b: &[] }).expect("in range")
                };
                // 65536 * 1 = 2^16, unless the exponent of a zero accumulator swallows it
                let c = F64.one_code();
                let sum = dot(&ones, &ones, c);
                assert!(sum == 0x40f0_0010_0000_0000 || bits == 0, "{operation:?}: {sum:#x}");
                assert_eq!(dot(&most, &most, c), 0x7ff0_0000_0000_0000, "{operation:?}");
            }
        }
    }
    for overflow in [i32::MIN, i32::MAX] {
        let rounded = RoundedSum { product_overflow: Some(overflow), ..ROUNDED };
        let model = half(Operation::TrFdpa(rounded));
        let a = [F16.one_code(); 8];
        let d = model.dot(&Operands { a: &a, b: &a, c: 0, scale_a: &[], scale_b: &[] });
        assert_eq!(d, Ok(if overflow < 0 { 0x7f80_0000 } else { 0x4100_0000 }), "8, or infinity");
    }
}

#[test]
fn pairing_and_groups() {
    for pairing in [0, 3, 6, 128, usize::MAX] {
        let error = refused(&half(Operation::FtzAddMul { pairing }));
        assert!(
            error == format!("P is {pairing}; it must be a power of two, 64 at most")
                || error == format!("L_max is {pairing}; it may be 1 to 65536"),
            "{error}"
        );
    }
    let grouped = |group, format, size| scaled(E2M1, Operation::GstFdpa { sum: FUSED, group }, format, size);
    assert_eq!(refused(&grouped(0, UE8M0, 8)), "G is 0; it must divide L_max = 8");
    assert_eq!(refused(&grouped(3, UE8M0, 9)), "G is 3; it must divide L_max = 8");
    assert_eq!(
        refused(&grouped(4, UE8M0, 6)),
        "scale is ue8m0 in blocks of 6; a block must be a multiple of G = 4"
    );
    let wide = scaled(BF16, Operation::GstFdpa { sum: FUSED, group: 4 }, UE8M0, 8);
    assert_eq!(
        refused(&wide),
        "G is 4; an exact dot product of bf16 and bf16 in groups of 4 takes 532 bits; 100 are allowed"
    );
}

#[test]
fn scale_factors() {
    let st = |format, size| scaled(E4M3, Operation::StFdpa(FUSED), format, size);
    assert!(st(UE8M0, 4).validate().is_ok());
    assert_eq!(refused(&st(UE8M0, 0)), "scale is ue8m0 in blocks of 0; a block has 1 to 65536 elements");
    assert_eq!(
        refused(&st(UE8M0, 65537)),
        "scale is ue8m0 in blocks of 65537; a block has 1 to 65536 elements"
    );
    assert_eq!(
        refused(&st(UE4M3, 8)),
        "scale is ue4m3 in blocks of 8; ST-FDPA adds the exponents of ue8m0 factors"
    );
    assert_eq!(refused(&st(E4M3, 8)), "scale is e4m3 in blocks of 8; scale factors are ue8m0 or ue4m3");
    let without = Model { scale: None, ..st(UE8M0, 8) };
    assert_eq!(refused(&without), "scale is none; ST-FDPA and GST-FDPA take scale factors");
    let superfluous = scaled(E4M3, Operation::TFdpa(FUSED), UE8M0, 8);
    assert_eq!(
        refused(&superfluous),
        "scale is ue8m0 in blocks of 8; only ST-FDPA and GST-FDPA take scale factors"
    );
    let lowered = Model { lowering: Lowering { order: Order::Reversed, ..Lowering::NONE }, ..st(UE8M0, 8) };
    assert_eq!(refused(&lowered), "scale is ue8m0 in blocks of 8; a composed form takes no scale factors");
}

#[test]
fn formats_and_conversions() {
    let t = half(Operation::TFdpa(FUSED));
    for (parameter, model) in [
        ("A", Model { a: UE8M0, ..t.clone() }),
        ("B", Model { b: UE8M0, ..t.clone() }),
        ("C", Model { c: UE8M0, ..t.clone() }),
    ] {
        assert_eq!(
            refused(&model),
            format!("{parameter} is ue8m0; operands have a sign; ue8m0 and ue4m3 are for scale factors")
        );
    }
    let narrow = Conversion::new(Rounding::NearestEven, E4M3);
    assert_eq!(
        refused(&Model { conversion: narrow, d: E4M3, ..t.clone() }),
        "rho is RNE-E4M3; it must round into a format with infinity and NaN"
    );
    assert_eq!(refused(&Model { d: F16, ..t.clone() }), "D is f16; the last conversion gives f32");
    assert_eq!(
        refused(&Model { nan_code: Some(0x7f80_0000), ..t.clone() }),
        "nan is 0x7f800000; it must be a NaN of f32"
    );
    assert_eq!(
        refused(&Model { nan_code: Some(0x1_7fff_ffff), ..t.clone() }),
        "nan is 0x17fffffff; it must be a NaN of f32"
    );
    let ftz = Model::new(F16, F16, F16, Operation::FtzAddMul { pairing: 2 }, Conversion::RNE_FP32);
    assert_eq!(refused(&ftz), "C is f16; FTZ-AddMul adds in the format of rho");
}

#[test]
fn lowerings() {
    let with = |lowering| Model { lowering, ..half(Operation::TFdpa(FUSED)) };
    for (run, period) in [(0, 4), (2, 0), (0, 0), (3, 4), (8, 4), (1, 65537)] {
        let order = Order::Interleaved { run, period };
        assert_eq!(
            refused(&with(Lowering { order, ..Lowering::NONE })),
            format!("order is {run} of every {period}; the run must divide the period")
        );
    }
    assert_eq!(
        refused(&with(Lowering { widen_operands: Some(BF16), ..Lowering::NONE })),
        "widen_operands is bf16; it must hold every number of f16"
    );
    assert_eq!(
        refused(&with(Lowering { widen_accumulator: Some(F16), ..Lowering::NONE })),
        "widen_accumulator is f16; it must hold every number of f32"
    );
    let merge = Conversion::new(Rounding::NearestEven, E4M3);
    let narrow = Some(merge);
    for lowering in [
        Lowering { add_accumulator_last: narrow, ..Lowering::NONE },
        Lowering { narrow_output: narrow, ..Lowering::NONE },
        Lowering { chains: Some(Chains { count: 2, merge }), ..Lowering::NONE },
    ] {
        assert_eq!(
            refused(&with(lowering)),
            "lowering is a conversion; it must round into a format with infinity and NaN"
        );
    }
    let flushed = with(Lowering { widen_operands: Some(F32), ..Lowering::NONE });
    let flushed = flushed.flushing(InputFlush::Positive);
    assert_eq!(refused(&flushed), "flush_operands is positive; an operand that is widened is not flushed");
    let flushed = with(Lowering { widen_accumulator: Some(F64), ..Lowering::NONE });
    let flushed = Model { flush_accumulator: InputFlush::Signed, ..flushed };
    assert_eq!(refused(&flushed), "flush_accumulator is signed; an operand that is widened is not flushed");
    // C alone may be flushed where A and B are widened
    let widened = with(Lowering { widen_operands: Some(F32), ..Lowering::NONE });
    assert!(Model { flush_accumulator: InputFlush::Signed, ..widened }.validate().is_ok());
}

#[test]
fn chains() {
    let with = |count, order| {
        let chains = Some(Chains { count, merge: Conversion::RNE_FP32 });
        Model { lowering: Lowering { chains, order, ..Lowering::NONE }, ..half(Operation::TFdpa(FUSED)) }
    };
    let passes = |period| Order::Interleaved { run: 1, period };
    for count in [0, 1, 65537] {
        assert_eq!(
            refused(&with(count, Order::Sequential)),
            format!("chains is {count}; there may be 2 to 65536")
        );
    }
    assert_eq!(
        refused(&with(4, passes(6))),
        "chains is 4; an order of 6 passes takes a multiple or a divisor of that"
    );
    for (count, order) in [(2, Order::Reversed), (2, passes(6)), (12, passes(6)), (65536, Order::Sequential)]
    {
        assert!(with(count, order).validate().is_ok(), "{count} {order:?}");
    }
    // L = 8 in each of two chains of K / 2
    let model = with(2, passes(2));
    assert_eq!((model.length(16), model.length(8), model.length(32)), (8, 4, 8));
    let zeros = [0; 24];
    let k24 = model.dot(&Operands { a: &zeros, b: &zeros, c: 0, scale_a: &[], scale_b: &[] });
    assert_eq!(
        k24.expect_err("12 is not a multiple of 8").to_string(),
        "K is 24; T-FDPA takes multiples of 16"
    );
}

/// Families that flush their results by themselves take no other rule.
#[test]
fn result_flushes() {
    for (flush, word) in ResultFlush::ALL {
        let rho = Conversion { flush, ..Conversion::RNE_FP32 };
        for operation in [Operation::FtzAddMul { pairing: 2 }, Operation::FtzFma { max_length: 2 }] {
            let model = Model::new(BF16, BF16, F32, operation, rho);
            match flush {
                ResultFlush::Never => assert!(model.validate().is_ok()),
                _ => assert_eq!(
                    refused(&model),
                    format!("rho is RNE-FP32 {word}; {} flushes its results by itself", operation.name())
                ),
            }
        }
        assert!(Model::new(BF16, BF16, F32, Operation::Fma, rho).validate().is_ok());
    }
    let saturating = Conversion { saturate: true, ..Conversion::RNE_FP32 };
    let operation = Operation::FtzAddMul { pairing: 2 };
    assert!(Model::new(BF16, BF16, F32, operation, saturating).validate().is_ok());
}

#[test]
fn the_accumulators_fraction_bits() {
    let with = |bits| {
        let sum = FusedSum { accumulator_fraction_bits: Some(bits), ..FUSED };
        half(Operation::TFdpa(sum))
    };
    assert_eq!(refused(&with(61)), "F_c is 61; it may be 0 to 60");
    assert!(with(0).validate().is_ok() && with(60).validate().is_ok());
}

/// Found by fuzzing: E2M1's -4 widened to UE4M3, which has no sign, became NaN in the engine; the second
/// implementation said -4. E2M1's numbers are not all numbers of UE4M3.
#[test]
fn an_operand_is_not_widened_to_a_format_without_a_sign() {
    let model = Model {
        a: E2M1,
        b: E2M1,
        lowering: Lowering { widen_operands: Some(UE4M3), ..Lowering::NONE },
        ..half(Operation::TFdpa(FUSED))
    };
    assert_eq!(refused(&model), "widen_operands is ue4m3; it must hold every number of e2m1");
}

/// Found by fuzzing: FTZ-AddMul with C widened to FP64 read the FP64 significand in FP32's units. C has
/// to be in the format of rho already, so that there is nothing to widen it to.
#[test]
fn ftz_addmul_does_not_widen_its_accumulator() {
    let operation = Operation::FtzAddMul { pairing: 4 };
    let model = Model {
        lowering: Lowering { widen_accumulator: Some(F64), ..Lowering::NONE },
        ..Model::new(BF16, BF16, F32, operation, Conversion::RNE_FP32)
    };
    // either it is refused, or 0 + 1 is 1
    let zeros = [0; 4];
    let one = F32.one_code();
    match model.dot(&Operands { a: &zeros, b: &zeros, c: one, scale_a: &[], scale_b: &[] }) {
        Err(error) => assert!(matches!(error, ModelError::Parameter { parameter: "widen_accumulator", .. })),
        Ok(d) => assert_eq!(d, one, "0 * 0 + 1 is {d:#x}"),
    }
}

#[test]
fn operands() {
    let model = half(Operation::TFdpa(FUSED));
    let dot = |model: &Model, a: &[u64], b: &[u64], c, scale_a: &[u64], scale_b: &[u64]| {
        model.dot(&Operands { a, b, c, scale_a, scale_b }).expect_err("does not fit").to_string()
    };
    let (zeros, none) = ([0; 32], []);
    assert_eq!(
        dot(&model, &zeros[..8], &zeros[..7], 0, &none, &none),
        "A has 8 elements along K and B has 7"
    );
    assert_eq!(
        dot(&model, &zeros[..12], &zeros[..12], 0, &none, &none),
        "K is 12; T-FDPA takes multiples of 8"
    );
    assert_eq!(
        dot(&model, &none, &none, 0, &none, &none),
        "K is 0; T-FDPA takes multiples of 1, at least one"
    );
    assert_eq!(
        dot(&model, &[0, 0x10000], &[0, 0], 0, &none, &none),
        "A[1] is 0x10000; f16 codes have 16 bits"
    );
    assert_eq!(
        dot(&model, &[0, 0], &[0x12345, 0], 0, &none, &none),
        "B[0] is 0x12345; f16 codes have 16 bits"
    );
    assert_eq!(
        dot(&model, &[0], &[0], 0x1_0000_0000, &none, &none),
        "C[0] is 0x100000000; f32 codes have 32 bits"
    );
    assert_eq!(
        dot(&model, &zeros[..8], &zeros[..8], 0, &[1], &none),
        "A has 1 scale factor; T-FDPA takes none"
    );
    let st = scaled(E5M2, Operation::StFdpa(FUSED), UE8M0, 8);
    assert_eq!(
        dot(&st, &zeros[..16], &zeros[..16], 0, &[0, 0], &[0]),
        "B has 1 scale factor; K = 16 in blocks of 8 takes 2"
    );
    assert_eq!(
        dot(&st, &zeros[..8], &zeros[..8], 0, &[0x100], &[0]),
        "scale A[0] is 0x100; ue8m0 codes have 8 bits"
    );
    assert_eq!(dot(&st, &zeros[..4], &zeros[..4], 0, &none, &none), "K is 4; ST-FDPA takes multiples of 8");
    let ftz = Model::new(F16, F16, F32, Operation::FtzAddMul { pairing: 4 }, Conversion::RNE_FP32);
    assert_eq!(
        dot(&ftz, &zeros[..2], &zeros[..2], 0, &none, &none),
        "K is 2; FTZ-AddMul takes multiples of 4"
    );
}

/// `Order::Interleaved` in its own words: pass p takes the k with (k mod period) / run = p, ascending.
#[test]
fn interleaved_indices_follow_the_definition() {
    for (run, period, k) in
        [(1, 2, 8), (2, 4, 32), (2, 8, 16), (4, 4, 12), (3, 12, 24), (2, 4, 7), (8, 16, 5)]
    {
        let wanted: Vec<usize> = (0..period / run)
            .flat_map(|pass| (0..k).filter(move |index| index % period / run == pass))
            .collect();
        assert_eq!(
            Order::Interleaved { run, period }.indices(k),
            wanted,
            "run {run}, period {period}, K {k}"
        );
    }
}
