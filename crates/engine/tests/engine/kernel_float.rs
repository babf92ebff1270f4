//! FMA and FTZ-AddMul by the processor's own arithmetic: what its rounding, its zeros, its NaNs and its
//! subnormal numbers make of directed cases, on every instruction set this processor has.

use crate::common::inputs::{Family, case};
use bitmma_engine::arithmetic::{Chains, Conversion, FusedSum, InputFlush, Lowering, Operation, ResultFlush};
use bitmma_engine::catalogue::find;
use bitmma_engine::formats::{BF16, E4M3, E5M2, F16, F32, F64, Format, Rounding, TF32};
use bitmma_engine::kernel::{Level, has_kernel, multiply};
use bitmma_engine::{Architecture, Matrix, Model, Operands, Revision, simulate_steps};

fn ftz(a: Format, b: Format, pairing: usize, flush_inputs: bool) -> Model {
    let model = Model::new(a, b, F32, Operation::FtzAddMul { pairing }, Conversion::RNE_FP32);
    if flush_inputs { model.flushing(InputFlush::Positive) } else { model }
}

fn fma(a: Format, b: Format, conversion: Conversion) -> Model {
    Model::new(a, b, conversion.format, Operation::Fma, conversion)
}

/// Dot-Add in FP32, D of another format narrowed to it; C has the same.
fn dot_add(factors: Format, ends: Format, max_length: usize) -> Model {
    let narrow_output = (ends != F32).then_some(Conversion::new(Rounding::NearestEven, ends));
    let lowering = Lowering { narrow_output, ..Lowering::NONE };
    let operation = Operation::DotAdd { max_length };
    Model { d: ends, lowering, ..Model::new(factors, factors, ends, operation, Conversion::RNE_FP32) }
}

/// Every variant with a kernel that this file looks at: the model and K of a step.
fn models() -> Vec<(Model, usize)> {
    let mut models = Vec::new();
    for flush_inputs in [true, false] {
        for (format, pairing, step) in [
            (BF16, 2, 4),
            (BF16, 4, 8),
            (F16, 4, 8),
            (BF16, 1, 2),
            (F16, 1, 3),
            (F16, 2, 6),
            (BF16, 8, 8),
            (F16, 8, 16),
        ] {
            models.push((ftz(format, format, pairing, flush_inputs), step));
        }
        // products of more than 24 bits, of a wide and a narrow format, and of formats without infinity
        for (a, b, pairing) in
            [(F32, F32, 1), (F32, F32, 4), (TF32, TF32, 2), (BF16, F16, 4), (E4M3, E5M2, 2)]
        {
            models.push((ftz(a, b, pairing, flush_inputs), 8));
        }
    }
    for (a, b) in [(F32, F32), (F16, F16), (BF16, F32), (TF32, TF32), (E4M3, E4M3)] {
        models.push((fma(a, b, Conversion::RNE_FP32), 2));
    }
    models.push((fma(F64, F64, Conversion::RNE_FP64), 4));
    // C of another format, and added last
    for c in [F16, F32] {
        let model = Model { c, ..fma(F16, F16, Conversion::RNE_FP32) };
        let last = Lowering { add_accumulator_last: Some(Conversion::RNE_FP32), ..Lowering::NONE };
        models.push((Model { lowering: last, ..model.clone() }, 4));
        let widened = Lowering { widen_operands: Some(F32), widen_accumulator: Some(F32), ..last };
        models.push((Model { lowering: if c == F16 { widened } else { Lowering::NONE }, ..model }, 3));
    }
    for (ends, length) in [(F16, 2), (F16, 1), (F32, 2), (F32, 1)] {
        models.push((dot_add(F16, ends, length), 4));
        models.push((dot_add(E4M3, ends, length), 2));
    }
    let directed = [Rounding::TowardZero, Rounding::Up, Rounding::Down];
    for rounding in directed.into_iter().filter(|_| Level::best() >= Level::Avx512) {
        models.push((fma(F64, F64, Conversion::new(rounding, F64)), 4));
        models.push((fma(BF16, F32, Conversion::new(rounding, F32)), 2));
    }
    models
}

/// Compares all levels with the reference path; the answer.
fn check(name: &str, model: &Model, step: usize, operands: &Operands<'_>) -> Matrix {
    assert!(has_kernel(model, step), "{name}");
    let expected = simulate_steps(model, step, operands).unwrap();
    for level in Level::available() {
        let actual = multiply(model, step, operands, Some(level)).unwrap();
        let (blocks, m, n) = expected.shape();
        assert_eq!(actual.shape(), (blocks, m, n));
        for index in 0..blocks * m * n {
            let (want, got) = (expected.codes().get(index), actual.codes().get(index));
            let (row, column) = (index / n % m, index % n);
            assert!(
                want == got,
                "{name} {model:?}, {level:?}: element {row},{column} is {got:#x}, the reference path says {want:#x}\n a {}\n b {}\n c {:#x}",
                bitmma_engine::formats::text::digits_of(
                    &model.a,
                    &operands.a.row(index / (m * n), row).collect::<Vec<_>>()
                ),
                bitmma_engine::formats::text::digits_of(
                    &model.b,
                    &operands.b.column(index / (m * n), column).collect::<Vec<_>>()
                ),
                operands.c.expect("C").codes().get(index),
            );
        }
    }
    expected
}

/// Numbers about the limits of a format, about those whose products come near 2^-126 (2^-1022), zeros,
/// ones, infinities and NaNs with payloads, of both signs.
fn limits(format: &Format) -> Vec<u64> {
    let low = format.fraction_bits + format.padding_bits;
    let unit = 1 << format.padding_bits;
    let mut codes = vec![0, unit, format.min_normal_code(), format.max_finite_code(), format.one_code()];
    for power in [-64, -63, -62, -62 + format.fraction_bits as i32, 63, 64] {
        if (1..(1 << format.exponent_bits) - 1).contains(&(power + format.bias)) {
            codes.push(((power + format.bias) as u64) << low);
        }
    }
    let neighbours: Vec<u64> =
        codes.iter().flat_map(|code| [code.saturating_sub(unit), code + unit]).collect();
    codes.extend(neighbours);
    if let Some(infinity) = format.infinity_code() {
        codes.extend([infinity, infinity + unit, format.max_code() >> 1]);
    }
    codes.sort_unstable();
    codes.dedup();
    let negative: Vec<u64> = codes.iter().map(|code| code | format.sign_bit()).collect();
    codes.extend(negative);
    codes
}

#[test]
fn limits_by_limits_at_every_position() {
    for (model, step) in models() {
        let (x, y) = (limits(&model.a), limits(&model.b));
        let accumulators = limits(&model.c);
        for position in 0..step {
            let at = |code: u64| (0..step).map(move |index| if index == position { code } else { 0 });
            let a = Matrix::single(model.a, x.len(), step, x.iter().flat_map(|&code| at(code))).unwrap();
            let rows = (0..step)
                .flat_map(|index| y.iter().map(move |&code| if index == position { code } else { 0 }));
            let b = Matrix::single(model.b, step, y.len(), rows).unwrap();
            // every product meets another accumulator at each position
            let c = (0..x.len() * y.len())
                .map(|index| accumulators[(index * 7 + position * 5) % accumulators.len()]);
            let c = Matrix::single(model.c, x.len(), y.len(), c).unwrap();
            check(
                "limits",
                &model,
                step,
                &Operands { a: &a, b: &b, c: Some(&c), scale_a: None, scale_b: None },
            );
        }
    }
}

/// Codes drawn from `choice` by a generator of its own.
fn draw(choice: &[u64], count: usize, seed: u64) -> Vec<u64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    (0..count).map(|_| choice[next() % choice.len()]).collect()
}

#[test]
fn limits_among_each_other() {
    let rounds = if std::env::var("BITMMA_TESTS").is_ok_and(|value| value == "all") { 40 } else { 2 };
    for (number, (model, step)) in models().into_iter().enumerate() {
        let finite = |format: &Format| -> Vec<u64> {
            let number = |code: &u64| bitmma_engine::formats::decode(format, *code).is_finite();
            limits(format).into_iter().filter(number).collect()
        };
        // specials among the elements would make nearly every answer NaN
        let (x, y, z) = (finite(&model.a), finite(&model.b), limits(&model.c));
        for round in 0..rounds {
            let (m, n, k) = (19, 70, step * 3);
            let seed = (number * 100 + round) as u64;
            let a = Matrix::single(model.a, m, k, draw(&x, m * k, seed)).unwrap();
            let b = Matrix::single(model.b, k, n, draw(&y, n * k, seed + 7919)).unwrap();
            let c = Matrix::single(model.c, m, n, draw(&z, m * n, seed + 15_887)).unwrap();
            check(
                "among",
                &model,
                step,
                &Operands { a: &a, b: &b, c: Some(&c), scale_a: None, scale_b: None },
            );
        }
    }
}

/// Random rows and columns; the elements of `from..` along K of the first family, those before of the second.
fn random(
    model: &Model,
    (m, n, k): (usize, usize, usize),
    families: (Family, Family),
    from: usize,
    seed: u64,
) -> [Matrix; 3] {
    let line = |index: usize, seed: u64, right: bool| -> Vec<u64> {
        let take = |family| {
            let case = case(model, k, family, seed, index as u64);
            if right { case.b } else { case.a }
        };
        let (late, early) = (take(families.0), take(families.1));
        early[..from].iter().chain(&late[from..]).copied().collect()
    };
    let a = (0..m).flat_map(|row| line(row, seed, false));
    let a = Matrix::single(model.a, m, k, a).unwrap();
    let columns: Vec<Vec<u64>> = (0..n).map(|column| line(column, seed + 1, true)).collect();
    let b = (0..k).flat_map(|index| columns.iter().map(move |column| column[index]));
    let b = Matrix::single(model.b, k, n, b).unwrap();
    let c = (0..m * n).map(|index| case(model, 8, families.1, seed + 2, index as u64).c);
    let c = Matrix::single(model.c, m, n, c).unwrap();
    [a, b, c]
}

#[test]
fn blocks_of_k_with_and_without_subnormal_results() {
    // two blocks of K; tiny numbers in one of them, so that one loop goes on where the other ended
    for (model, step) in models() {
        let k = (1040 / step) * step;
        for (index, families) in [
            (Family::Moderate, Family::Tiny),
            (Family::Tiny, Family::Moderate),
            (Family::Zeros, Family::Bits),
            (Family::Moderate, Family::Moderate),
        ]
        .into_iter()
        .enumerate()
        {
            let [a, b, c] = random(&model, (5, 67, k), families, 500, 77 + index as u64);
            check(
                "blocks",
                &model,
                step,
                &Operands { a: &a, b: &b, c: Some(&c), scale_a: None, scale_b: None },
            );
        }
    }
}

#[test]
fn many_columns_many_matrices_and_any_number_of_threads() {
    for (model, step) in [
        (ftz(BF16, BF16, 4, true), 8),
        (fma(F64, F64, Conversion::RNE_FP64), 4),
        (fma(F32, F32, Conversion::RNE_FP32), 2),
    ] {
        let [a, b, c] = random(&model, (2, 4131, step), (Family::Moderate, Family::Moderate), 0, 5);
        check("columns", &model, step, &Operands { a: &a, b: &b, c: Some(&c), scale_a: None, scale_b: None });

        let [a, b, c] = random(&model, (3 * 7, 3 * 5, 2 * step), (Family::Cancelling, Family::Bits), 1, 6);
        let blocks = |matrix: &Matrix, rows: usize, columns: usize| {
            Matrix::new(matrix.format(), (3, rows, columns), matrix.iter().take(3 * rows * columns)).unwrap()
        };
        let (a, b, c) = (blocks(&a, 7, 2 * step), blocks(&b, 2 * step, 5), blocks(&c, 7, 5));
        check(
            "matrices",
            &model,
            step,
            &Operands { a: &a, b: &b, c: Some(&c), scale_a: None, scale_b: None },
        );

        let [a, b, c] = random(&model, (131, 65, 4 * step), (Family::Spread, Family::Cancelling), step, 7);
        let operands = Operands { a: &a, b: &b, c: Some(&c), scale_a: None, scale_b: None };
        let one = check("threads", &model, step, &operands);
        for threads in [1, 2, 5] {
            let pool = bitmma_engine::threads::pool(threads).unwrap();
            let many = pool.install(|| multiply(&model, step, &operands, None).unwrap());
            assert_eq!(one, many, "{threads} threads");
        }
    }
}

/// One dot product through the kernel of every level.
fn dot(model: &Model, a: &[u64], b: &[u64], c: u64) -> u64 {
    let k = a.len();
    let a = Matrix::single(model.a, 1, k, a.iter().copied()).unwrap();
    let b = Matrix::single(model.b, k, 1, b.iter().copied()).unwrap();
    let c = Matrix::single(model.c, 1, 1, [c]).unwrap();
    let operands = Operands { a: &a, b: &b, c: Some(&c), scale_a: None, scale_b: None };
    check("dot", model, k, &operands).get(0, 0, 0)
}

const MINUS: u64 = 0x8000_0000;
/// 2^-126.
const LEAST_NORMAL: u64 = 0x0080_0000;
const NAN: u64 = 0x7fc0_0000;
const INFINITY: u64 = 0x7f80_0000;

#[test]
fn products_at_the_flush_boundary() {
    // 2^-63·2^-63 = 2^-126 stays; (2 - 2^-7)·2^-64·2^-63 does not, and keeps its sign
    let bf16 = ftz(BF16, BF16, 2, true);
    assert_eq!(dot(&bf16, &[0x2000, 0], &[0x2000, 0], MINUS), LEAST_NORMAL);
    assert_eq!(dot(&bf16, &[0x1fff, 0], &[0x2000, 0], 0), 0);
    let unflushed = ftz(BF16, BF16, 1, false);
    assert_eq!(dot(&unflushed, &[0x9fff], &[0x2000], MINUS), MINUS, "-0 + -0");
    assert_eq!(dot(&unflushed, &[0x9fff], &[0x2000], 0), 0, "+0 + -0");
    // (1 - 2^-24)·2^-126 lies midway below 2^-126 and rounds to it, the even one, before anyone flushes;
    // a processor's flush mode would look at the 24 bits it has with any exponent
    let f32 = ftz(F32, F32, 1, true);
    assert_eq!(dot(&f32, &[0x2000_0000], &[0x1fff_ffff], 0), LEAST_NORMAL);
    assert_eq!(dot(&f32, &[0x2000_0000], &[0x1fff_fffe], 0), 0, "(1 - 2^-23)·2^-126");
    assert_eq!(dot(&f32, &[0x2000_0001], &[0x1fff_fffe], 0), LEAST_NORMAL, "just above midway");
    assert_eq!(dot(&f32, &[0xa000_0001], &[0x1fff_fffd], MINUS), 0, "C = -0 is read as +0");
    assert_eq!(dot(&ftz(F32, F32, 1, false), &[0xa000_0001], &[0x1fff_fffd], MINUS), MINUS);
}

#[test]
fn sums_at_the_flush_boundary() {
    let model = ftz(BF16, BF16, 2, true);
    let one = 0x3f80;
    // 2^-126·(1 + 2^-7) - 2^-126: flushed, among products
    assert_eq!(dot(&model, &[0x0081, 0x8080], &[one, one], 0), 0);
    // 2^-126·(1 + 2^-23) in C
    assert_eq!(dot(&model, &[0x8080, 0], &[one, one], LEAST_NORMAL + 1), 0);
    assert_eq!(dot(&model, &[0x0080, 0], &[one, one], MINUS | (LEAST_NORMAL + 1)), MINUS, "negative");
    assert_eq!(dot(&model, &[0x8080, 0], &[one, one], 2 * LEAST_NORMAL), LEAST_NORMAL, "2^-126 stays");
    // 2^-104·(1 + 2^-23) - 2^-104 is subnormal though all numbers are far from it: C's last bit is
    assert_eq!(dot(&model, &[0x2580, 0], &[0xa580, one], 0x0b80_0001), 0);
    assert_eq!(dot(&model, &[0x2580, 0], &[0x2580, one], 0x8b80_0001), MINUS);

    // a result that is flushed to -0 is read as +0 by the next step, whose products are -0
    let unflushed = model.clone().flushing(InputFlush::Never);
    for k in [4, 514] {
        // where K has two blocks, in the last step of the first
        let place = k - 4;
        let column = (0..k).map(|index| if index < place + 2 { one } else { 0xbf80 });
        let row = (0..k).map(|index| if index == place { 0x0080 } else { 0 });
        let a = Matrix::single(BF16, 1, k, row).unwrap();
        let b = Matrix::single(BF16, k, 1, column).unwrap();
        let c = Matrix::single(F32, 1, 1, [MINUS | (LEAST_NORMAL + 1)]).unwrap();
        let operands = Operands { a: &a, b: &b, c: Some(&c), scale_a: None, scale_b: None };
        assert_eq!(check("two steps", &model, 2, &operands).get(0, 0, 0), 0);
        assert_eq!(check("two steps", &unflushed, 2, &operands).get(0, 0, 0), MINUS);
    }
    // a subnormal C that is not flushed is added, then the sum is
    assert_eq!(dot(&unflushed, &[0x0080, 0], &[one, one], 1), LEAST_NORMAL + 1);
    assert_eq!(dot(&ftz(F16, F16, 4, false), &[0; 4], &[0; 4], MINUS | 5), MINUS);
    assert_eq!(dot(&ftz(F16, F16, 4, false), &[0; 4], &[0; 4], 5), 0);
}

#[test]
fn overflow_infinity_and_nan() {
    let model = ftz(BF16, BF16, 2, true);
    let (large, one, minus_one, infinity) = (0x7f00, 0x3f80, 0xbf80, 0x7f80);
    // 2^127·2 is infinite before -2^127 is added: not so in a fused multiply-add
    assert_eq!(dot(&model, &[large, large], &[0x4000, minus_one], 0), INFINITY);
    assert_eq!(dot(&model, &[large, large], &[minus_one, 0x4000], 0), INFINITY);
    assert_eq!(dot(&model, &[large, large], &[0x4000, 0xc000], 0), NAN, "of both signs");
    assert_eq!(dot(&model, &[large, 0], &[0x4000, 0], 0xff80_0000), NAN, "an infinite C");
    assert_eq!(dot(&model, &[infinity, 0], &[0, one], 0), NAN, "infinity times zero");
    assert_eq!(dot(&model, &[infinity, 0], &[1, one], 0), NAN, "a subnormal number is zero");
    assert_eq!(dot(&model, &[0xff81, 0], &[one, one], 0), NAN, "a signalling NaN with a payload");
    assert_eq!(dot(&model, &[0, 0], &[one, one], 0xffff_1234), NAN, "in C");
    let coded = Model { nan_code: Some(0x7fff_ffff), ..model };
    assert_eq!(dot(&coded, &[0, 0], &[one, one], 0xffff_1234), 0x7fff_ffff, "the model's own code");

    let model = fma(F64, F64, Conversion::RNE_FP64);
    let (large, two, infinity) = (0x7fef_ffff_ffff_ffff, 0x4000_0000_0000_0000, 0x7ff0_0000_0000_0000);
    assert_eq!(dot(&model, &[large], &[two], large | 1 << 63), large, "the product is not rounded");
    assert_eq!(dot(&model, &[large], &[two], 0), infinity);
    assert_eq!(dot(&model, &[infinity], &[two], infinity | 1 << 63), 0x7ff8_0000_0000_0000);
    assert_eq!(dot(&model, &[1], &[1 << 63 | 1], 0), 1 << 63, "underflow keeps its sign");
    assert_eq!(dot(&model, &[1], &[two], 1), 3, "subnormal numbers");
}

#[test]
fn what_is_left_to_the_reference_path() {
    for rounding in [Rounding::TowardZero, Rounding::Up, Rounding::Down] {
        let directed = fma(F64, F64, Conversion::new(rounding, F64));
        assert_eq!(has_kernel(&directed, 4), Level::best() >= Level::Avx512, "{rounding:?}");
    }
    assert!(!has_kernel(&fma(F64, F64, Conversion::new(Rounding::NearestAway, F64)), 4));
    assert!(!has_kernel(&ftz(F16, F16, 16, true), 16));
    assert!(!has_kernel(&fma(F32, F32, Conversion::RNE_FP32).flushing(InputFlush::Positive), 4));
    let ftz_fma = |flush_operands, flush_accumulator| {
        !has_kernel(&Model { flush_operands, flush_accumulator, ..ftz(BF16, BF16, 2, false) }, 4)
    };
    let (never, positive, signed) = (InputFlush::Never, InputFlush::Positive, InputFlush::Signed);
    assert!(ftz_fma(positive, never) && ftz_fma(never, positive) && ftz_fma(signed, signed));
    assert!(!ftz_fma(never, never) && !ftz_fma(positive, positive));
    let saturating = Conversion { saturate: true, ..Conversion::RNE_FP32 };
    let flushing = Conversion { flush: ResultFlush::AfterRounding, ..Conversion::RNE_FP32 };
    for conversion in [saturating, flushing] {
        assert!(!has_kernel(&fma(F32, F32, conversion), 4), "{conversion}");
    }
    assert!(!has_kernel(&Model { conversion: saturating, ..ftz(BF16, BF16, 2, true) }, 4));
    // and fused sums: Hopper's FP16 has a kernel, with C added last too, and none of its variants has
    let hopper = find(Architecture::Hopper, "mma.m16n8k16.f32.f16.f16.f32").unwrap().instruction;
    let plain = hopper.model(Revision::Hardware).unwrap();
    let Operation::TFdpa(sum) = plain.operation else { panic!("T-FDPA") };
    let last = |conversion| Lowering { add_accumulator_last: Some(conversion), ..Lowering::NONE };
    assert!(has_kernel(&plain, 16));
    assert!(has_kernel(&Model { lowering: last(Conversion::RNE_FP32), ..plain.clone() }, 16));
    let own_bits = FusedSum { accumulator_fraction_bits: Some(24), ..sum };
    let chains = Some(Chains { count: 2, merge: Conversion::RNE_FP32 });
    for variant in [
        Model { operation: Operation::TFdpa(own_bits), ..plain.clone() },
        Model { lowering: Lowering { chains, ..Lowering::NONE }, ..plain.clone() },
        Model { lowering: Lowering { chains, ..last(Conversion::RNE_FP32) }, ..plain.clone() },
        Model { lowering: last(saturating), ..plain.clone() },
        Model { lowering: last(flushing), ..plain.clone() },
        Model { conversion: Conversion { saturate: true, ..plain.conversion }, ..plain.clone() },
        Model { conversion: Conversion { flush: flushing.flush, ..plain.conversion }, ..plain.clone() },
        Model { flush_operands: signed, ..plain.clone() },
        Model { flush_accumulator: signed, ..plain.clone() },
    ] {
        assert!(!has_kernel(&variant, 16), "{variant:?}");
    }
    assert!(!has_kernel(&Model { c: F16, ..ftz(F16, F16, 4, true) }, 4));
    assert!(!has_kernel(&Model { c: F16, ..dot_add(F16, F32, 2) }, 4));
    assert!(!has_kernel(&dot_add(F16, F16, 3), 3), "three products in a sum");
    assert!(!has_kernel(&dot_add(BF16, F32, 2), 4), "products beyond FP32");
    assert!(!has_kernel(&dot_add(F16, F16, 2).flushing(InputFlush::Positive), 4));
}
