//! The kernels of TR-, GTR- and E-FDPA on models no catalogue has, and on inputs made for them.

use std::ops::Range;

use crate::common::inputs::{Family, case};
use bitmma_arithmetic::{Conversion, Operation, RoundedSum};
use bitmma_engine::catalogue::{Architecture, Revision, find};
use bitmma_engine::formats::{BF16, E4M3FNUZ, E5M2FNUZ, F16, F32, Format, Rounding, XF32};
use bitmma_engine::kernel::{Level, has_kernel, multiply};
use bitmma_engine::{Matrix, Model, Operands, simulate_steps};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// CDNA3's parameters.
const CDNA3: RoundedSum = RoundedSum {
    max_length: 8,
    fraction_bits: 24,
    sum_fraction_bits: 31,
    term_rounding: Rounding::TowardZero,
    sum_rounding: Rounding::Down,
    renormalize: true,
    zero_accumulator_exponent: Some(-126),
    product_overflow: Some(128),
};

fn model(format: Format, operation: Operation) -> Model {
    Model::new(format, format, F32, operation, Conversion::RNE_FP32)
}

fn rounded(format: Format, sum: RoundedSum) -> Model {
    model(format, Operation::TrFdpa(sum))
}

fn paired(format: Format, sum: RoundedSum) -> Model {
    model(format, Operation::GtrFdpa(sum))
}

/// Both paths on the same operands, on every instruction set.
fn agree(model: &Model, step: usize, a: &Matrix, b: &Matrix, c: &Matrix, what: &str) {
    let operands = Operands { a, b, c: Some(c), scale_a: None, scale_b: None };
    let expected = simulate_steps(model, step, &operands).unwrap();
    for level in Level::available() {
        let actual = multiply(model, step, &operands, Some(level)).unwrap();
        for row in 0..expected.rows() {
            for column in 0..expected.columns() {
                let (want, got) = (expected.get(0, row, column), actual.get(0, row, column));
                assert!(
                    want == got,
                    "{what}, {level:?}, {:?}: element {row},{column} is {got:#x}, the reference path says {want:#x}\n a {}\n b {}\n c {:#x}",
                    model.operation,
                    bitmma_engine::formats::text::digits_of(&model.a, &a.row(0, row).collect::<Vec<_>>()),
                    bitmma_engine::formats::text::digits_of(
                        &model.b,
                        &b.column(0, column).collect::<Vec<_>>()
                    ),
                    c.get(0, row, column),
                );
            }
        }
    }
}

/// A random product of one family; accumulators from another, so that both large and small ones meet the
/// same products.
fn random(model: &Model, step: usize, (m, n, k): (usize, usize, usize), family: Family, seed: u64) {
    let rows: Vec<_> = (0..m).map(|row| case(model, k, family, seed, row as u64).a).collect();
    let columns: Vec<_> = (0..n).map(|column| case(model, k, family, seed + 1, column as u64).b).collect();
    let a = Matrix::single(model.a, m, k, rows.concat()).unwrap();
    let by_rows = (0..k).flat_map(|row| columns.iter().map(move |column| column[row]));
    let b = Matrix::single(model.b, k, n, by_rows.collect::<Vec<_>>()).unwrap();
    // every exponent of FP32 near those of the products, in steps of two
    let c = (0..(m * n) as u64).map(|index| {
        let fraction = case(model, 1, Family::Bits, seed + 2, index).c & 0x807f_ffff;
        let family = Family::ALL[index as usize % Family::ALL.len()];
        match index % 3 {
            0 => case(model, 1, family, seed + 3, index).c,
            1 => fraction & 0xffff_0000 | (97 + index % 60) << 23,
            _ => fraction | (97 + index % 60) << 23,
        }
    });
    let c = Matrix::single(model.c, m, n, c.collect::<Vec<_>>()).unwrap();
    agree(model, step, &a, &b, &c, &format!("{family:?}, seed {seed}"));
}

#[test]
fn models_of_users() {
    let all = std::env::var("BITMMA_TESTS").is_ok_and(|value| value == "all");
    let toward_zero = RoundedSum { sum_rounding: Rounding::TowardZero, ..CDNA3 };
    let as_printed = RoundedSum { renormalize: false, zero_accumulator_exponent: None, ..CDNA3 };
    let coarse = RoundedSum { fraction_bits: 20, ..CDNA3 };
    let sums = [
        CDNA3,
        toward_zero,
        as_printed,
        RoundedSum { renormalize: false, ..toward_zero },
        coarse,
        RoundedSum { fraction_bits: 13, ..toward_zero },
        RoundedSum { max_length: 16, ..coarse },
        RoundedSum { max_length: 16, fraction_bits: 23, ..CDNA3 },
        RoundedSum { max_length: 4, fraction_bits: 25, ..CDNA3 },
        RoundedSum { max_length: 3, fraction_bits: 1, ..CDNA3 },
        RoundedSum { sum_fraction_bits: 30, ..CDNA3 },
        RoundedSum { sum_fraction_bits: 34, ..CDNA3 },
        RoundedSum { sum_fraction_bits: 32, ..as_printed },
        RoundedSum { sum_fraction_bits: 60, ..toward_zero },
        RoundedSum { product_overflow: Some(20), ..CDNA3 },
        RoundedSum { product_overflow: None, ..CDNA3 },
        RoundedSum { max_length: 1, ..CDNA3 },
    ];
    let mut models: Vec<Model> = Vec::new();
    for sum in sums {
        models.extend([F16, BF16, XF32, E4M3FNUZ].map(|format| rounded(format, sum)));
        if sum.max_length % 2 == 0 {
            models.extend([E4M3FNUZ, E5M2FNUZ, F16].map(|format| paired(format, sum)));
            models.push(Model { b: E5M2FNUZ, ..paired(E4M3FNUZ, RoundedSum { max_length: 16, ..sum }) });
        }
    }
    for length in [1, 2, 3, 4, 8, 16] {
        let formats = [F16, BF16, XF32, E4M3FNUZ, F32];
        models.extend(formats.map(|format| model(format, Operation::EFdpa { max_length: length })));
    }
    let mut kernels = 0;
    for (number, model) in models.iter().enumerate() {
        let step = model.operation.max_length();
        kernels += usize::from(has_kernel(model, step));
        for (index, family) in Family::ALL.into_iter().enumerate() {
            let rounds = if all { 8 } else { 1 };
            let shape = if all { (18, 70, 3 * step) } else { (3, 35 + index, 2 * step) };
            for round in 0..rounds {
                random(model, step, shape, family, (number * 1000 + index * 100 + round) as u64);
            }
        }
    }
    println!("{kernels} of {} models have kernels", models.len());
    assert!(kernels * 10 >= models.len() * 8, "{kernels} of {}", models.len());
}

/// Models the kernels must not take.
#[test]
fn declined() {
    let sums = [
        RoundedSum { sum_rounding: Rounding::NearestEven, ..CDNA3 },
        RoundedSum { term_rounding: Rounding::Down, ..CDNA3 },
        RoundedSum { sum_fraction_bits: 29, ..CDNA3 },
        RoundedSum { max_length: 16, ..CDNA3 }, // T does not fit 32 bits with the accumulator
        RoundedSum { zero_accumulator_exponent: Some(0), ..CDNA3 },
    ];
    for sum in sums {
        let model = rounded(F16, sum);
        assert!(!has_kernel(&model, sum.max_length), "{sum:?}");
        random(&model, sum.max_length, (2, 5, 16), Family::Moderate, 1);
    }
    assert!(!has_kernel(&Model { conversion: Conversion::RZ_FP32, ..rounded(F16, CDNA3) }, 8));
    assert!(!has_kernel(&model(bitmma_engine::formats::F64, Operation::EFdpa { max_length: 4 }), 4));
}

/// Codes of FP16 and FP32 numbers that have them.
fn half(value: f64) -> u64 {
    if value == 0.0 {
        return u64::from(value.is_sign_negative()) << 15;
    }
    let exponent = value.abs().log2().floor().max(-14.0);
    let significand = (value.abs() / (exponent - 10.0).exp2()) as u64;
    let field = if significand >> 10 == 0 { 0 } else { (exponent + 15.0) as u64 };
    u64::from(value < 0.0) << 15 | field << 10 | significand & 0x3ff
}

fn single(value: f64) -> u64 {
    u64::from((value as f32).to_bits())
}

/// One dot product in every column of a panel and beyond, its accumulator in the company of others.
fn directed(model: &Model, step: usize, (a, b, c): (&[f64], &[f64], f64), code: fn(f64) -> u64) -> u64 {
    let (n, mut codes_a, mut codes_b) = (67, vec![0; step], vec![0; step]);
    codes_a.iter_mut().zip(a).for_each(|(to, &from)| *to = code(from));
    codes_b.iter_mut().zip(b).for_each(|(to, &from)| *to = code(from));
    let a = Matrix::single(model.a, 1, step, codes_a).unwrap();
    let b = Matrix::single(model.b, step, n, codes_b.iter().flat_map(|&b| vec![b; n]).collect::<Vec<_>>());
    let b = b.unwrap();
    let others = [0.0, -0.0, 1.0, -3e30, 1e-40, -1e-45, f64::INFINITY, f64::NAN];
    let c: Vec<u64> = (0..n).map(|at| if at % 9 == 0 { single(c) } else { single(others[at % 8]) }).collect();
    let c = Matrix::single(F32, 1, n, c).unwrap();
    agree(model, step, &a, &b, &c, "directed");
    let operands = Operands { a: &a, b: &b, c: Some(&c), scale_a: None, scale_b: None };
    simulate_steps(model, step, &operands).unwrap().get(0, 0, 0)
}

#[test]
fn directed_sums() {
    let power = |exponent: i32| f64::from(exponent).exp2();
    let rows: &[(&[f64], &[f64], f64)] = &[
        // an accumulator alone, and the zeros
        (&[], &[], 1.0),
        (&[], &[], -0.0),
        (&[0.0], &[-1.0], -0.0),
        (&[1.0, -1.0], &[1.0, 1.0], -0.0),
        (&[1.0, -1.0], &[1.0, 1.0], 0.0),
        // ties, and what decides them from below
        (&[1.0], &[power(-14)], 1024.0),
        (&[1.0], &[1.0], power(24)),
        (&[1.0], &[3.0], power(24)),
        (&[1.0, power(-8)], &[1.0, power(-8)], power(24)),
        (&[1.0, -power(-8)], &[1.0, power(-8)], power(24)),
        (&[1.0, power(-8)], &[3.0, power(-8)], power(24)),
        (&[1.0], &[1.0], -power(24)),
        (&[-1.0, -power(-8)], &[1.0, power(-8)], -power(24)),
        (&[-1.0, power(-8)], &[1.0, power(-8)], -power(24)),
        // carries into the next binade, and down from it
        (&[1.0], &[1.0], power(24) - 1.0),
        (&[0.5], &[1.0], power(24) - 1.0),
        (&[-power(-8)], &[power(-8)], power(24)),
        (&[-power(-8)], &[power(-8)], -power(24)),
        (&[power(-8)], &[power(-8)], -power(24)),
        // tiny products under zero, a trace under one
        (&[power(-24)], &[power(-24)], 0.0),
        (&[-power(-24)], &[power(-24)], 0.0),
        (&[-power(-24)], &[power(-24)], 1.0),
        (&[-power(-24)], &[power(-24)], 3e38),
        (&[1.0], &[1.0], -power(-149)),
        (&[60000.0], &[60000.0], -power(-149)),
        (&[60000.0], &[60000.0], -power(-26)),
        // overflow
        (&[60000.0; 8], &[60000.0; 8], 3.402_823_466_385_288_6e38),
        (&[1.0], &[1.0], 3.402_823_466_385_288_6e38),
        (&[-60000.0; 8], &[60000.0; 8], -3.402_823_466_385_288_6e38),
    ];
    let as_printed = RoundedSum { renormalize: false, zero_accumulator_exponent: None, ..CDNA3 };
    let toward_zero = RoundedSum { sum_rounding: Rounding::TowardZero, ..CDNA3 };
    for &row in rows {
        for sum in [CDNA3, as_printed, toward_zero] {
            directed(&rounded(F16, sum), 8, row, half);
            directed(&paired(F16, RoundedSum { max_length: 8, fraction_bits: 22, ..sum }), 8, row, half);
        }
        directed(
            &model(F16, Operation::EFdpa { max_length: 4 }),
            4,
            (&row.0[..row.0.len().min(4)], row.1, row.2),
            half,
        );
    }
}

/// Semantics, rule 11: what an MI300X answered.
#[test]
fn mi300x() {
    let found = find(Architecture::Cdna3, "v_mfma_f32_16x16x32_fp8_fp8").unwrap();
    let model = found.instruction.model(Revision::Hardware).unwrap();
    assert!(has_kernel(&model, 32));
    let code = |value: f64| {
        if value == 0.0 {
            return 0;
        }
        let exponent = value.log2().floor().max(-7.0);
        let significand = (value / (exponent - 3.0).exp2()) as u64;
        (if significand >> 3 == 0 { 0 } else { (exponent + 8.0) as u64 }) << 3 | significand & 7
    };
    let c = (2.0 - f64::from(-21).exp2()) * f64::from(24).exp2(); // 0x1.fffff8p24
    for (small, answer) in [(-7f64, 0x4c00_0000), (-6.0, 0x4c00_0001)] {
        let got = directed(&model, 32, (&[10.0, small.exp2()], &[1.0, 1.0], c), code);
        assert_eq!(got, answer);
    }
}

/// Products of subnormal numbers, of numbers far apart and of full range: BF16 and XF32 leave FP32's range.
#[test]
fn wide_exponents() {
    let bf16 = |value: f64| single(value) >> 16;
    let rows: &[(&[f64], &[f64], f64)] = &[
        (&[1e-30], &[1e-30], 0.0),
        (&[-1e-30], &[1e-30], 0.0),
        (&[-1e-30], &[1e-30], 1.0),
        (&[1e-20, 1e-30], &[1e-30, 1e-20], 1e-44),
        (&[1e38, 1.0], &[0.0, 1e-30], 1e-30),
        (&[1e38, 1e-38], &[1e-38, 1e-38], -1.0),
        (&[1e19], &[1e19], 0.0),
        (&[2e19], &[2e19], 0.0),
        (&[2e19], &[2e19], f64::NEG_INFINITY),
        (&[1e19; 8], &[1.3e19; 8], -3e38),
        (&[1e-39], &[1e38], 1e-39),
        (&[1e-39, 1e-39], &[1e-39, 1e38], -1e-3),
        (&[1.0, 1e-40], &[1e-40, 1.0], -0.0),
    ];
    for &row in rows {
        for sum in [CDNA3, RoundedSum { renormalize: false, zero_accumulator_exponent: None, ..CDNA3 }] {
            directed(&rounded(BF16, sum), 8, row, bf16);
            directed(&rounded(XF32, sum), 8, row, single);
        }
        directed(&model(BF16, Operation::EFdpa { max_length: 8 }), 8, row, bf16);
        directed(&model(F32, Operation::EFdpa { max_length: 8 }), 8, row, single);
    }
}

/// Blocks whose exponents are all within 42 of 0, which are counted from there, beside blocks that are not: rows and
/// columns of either kind meet, exponents at the edge, and accumulators up to the largest.
#[test]
fn blocks_near_and_far() {
    let (m, n, k) = (36, 70, 304);
    let mut draw = 1u64;
    let mut random = |count: u64| {
        draw = draw.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (draw >> 33) % count
    };
    // the kind of a line decides which exponents it has, `far` whether the block may leave the range
    let mut exponent = |kind: usize, far: bool| match (kind % 6, random(4)) {
        (0, _) | (2, 0) => 127 - 42,
        (1, _) | (2, 1) => 127 + 42,
        (3, 0..3) => 0,
        _ if far => random(255),
        _ => 127 - 42 + random(85),
    };
    let as_printed = RoundedSum { renormalize: false, zero_accumulator_exponent: None, ..CDNA3 };
    let toward_zero = RoundedSum { sum_rounding: Rounding::TowardZero, ..CDNA3 };
    for (format, fields) in [(BF16, 7), (XF32, 23)] {
        for sum in [CDNA3, as_printed, toward_zero, RoundedSum { max_length: 4, ..CDNA3 }] {
            let (model, step) = (rounded(format, sum), sum.max_length);
            assert!(has_kernel(&model, step));
            // zeros and not subnormal numbers, which are far
            let with = |bits: u64, exponent: u64| match exponent {
                0 => 0,
                exponent => bits & !(0xff << fields) | exponent << fields,
            };
            let bits = |seed: u64, index: usize| case(&model, 1, Family::Bits, seed, index as u64);
            // rows beyond 32 and columns beyond 64 are packed apart, and so are 128 elements along K
            let a = (0..m * k).map(|index| {
                let (row, block) = (index / k, index % k / 128);
                with(bits(1, index).a[0], exponent(row, row >= 32 && block == 1))
            });
            let a = Matrix::single(format, m, k, a.collect::<Vec<_>>()).unwrap();
            let b = (0..k * n).map(|index| {
                let (column, block) = (index % n, index / n / 128);
                with(bits(2, index).b[0], exponent(column, column >= 64 && block != 1))
            });
            let b = Matrix::single(format, k, n, b.collect::<Vec<_>>()).unwrap();
            let c = (0..m * n).map(|index| {
                let field = match index % 7 {
                    0 => 0,
                    1 => 255,
                    2 => 249 + index as u64 % 6,
                    3 => index as u64 / 7 % 256,
                    _ => 100 + index as u64 / 7 % 60,
                };
                // a row of finite ones, too
                let field = if index / n % 2 == 0 { field.min(253) } else { field };
                bits(3, index).c & 0x807f_ffff | field << 23
            });
            let c = Matrix::single(F32, m, n, c.collect::<Vec<_>>()).unwrap();
            agree(&model, step, &a, &b, &c, "near and far");
        }
    }
}

/// Products too small for FP32 or for exponents in bytes, in each operation beside one that is not, or that is at the edge:
/// in one column it is zero.
#[test]
fn products_that_vanish() {
    const EDGE: i32 = -94;
    let (m, n) = (34, 70);
    let fields = |format: &Format| if *format == BF16 { 7 } else { 23 };
    for (architecture, name) in [
        (Architecture::Hopper, "wgmma.m64nNk16.f32.bf16.bf16"),
        (Architecture::Hopper, "wgmma.m64nNk8.f32.tf32.tf32"),
        (Architecture::Cdna3, "v_mfma_f32_32x32x8_bf16"),
        (Architecture::Cdna3, "v_mfma_f32_32x32x4_xf32"),
    ] {
        let row = find(architecture, name).unwrap().instruction;
        let (model, step) = (row.model(Revision::Hardware).unwrap(), row.products());
        let k = 4 * step;
        for largest in EDGE - 2..EDGE + 5 {
            let mut random = ChaCha8Rng::seed_from_u64(largest.unsigned_abs().into());
            let mut with_exponent = |format: &Format, range: Range<i32>| {
                let exponent = range.start + (random.next_u32() % range.len() as u32).cast_signed();
                let bits = random.next_u64() & format.max_code() & !(0xff << fields(format));
                bits | u64::from((exponent.max(-127) + 127).unsigned_abs()) << fields(format)
            };
            // the first of four elements has the largest product
            let a = (0..m * k).map(|index| {
                let exponents = if (index % k).is_multiple_of(4) { 20..21 } else { -127..-40 };
                with_exponent(&model.a, exponents)
            });
            let a = Matrix::single(model.a, m, k, a.collect::<Vec<_>>()).unwrap();
            let b = (0..k * n).map(|index| match ((index / n).is_multiple_of(4), index % n) {
                (true, 65) => 0,
                (true, _) => with_exponent(&model.b, largest - 20..largest - 19),
                (false, _) => with_exponent(&model.b, -127..largest + 40),
            });
            let b = Matrix::single(model.b, k, n, b.collect::<Vec<_>>()).unwrap();
            let c = (0..m * n).map(|index| match index % 5 {
                0 => 0,
                _ => with_exponent(&F32, largest - 30..largest + 30),
            });
            let c = Matrix::single(model.c, m, n, c.collect::<Vec<_>>()).unwrap();
            agree(&model, step, &a, &b, &c, &format!("{name}, largest {largest}"));
        }
    }
}
