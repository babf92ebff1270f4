//! Fused sums of few bits, at the limits of what the kernel takes as integers, as nothing is cut, and in FP16.

use bitmma_arithmetic::Operation;
use bitmma_engine::catalogue::{Architecture, Revision, find};
use bitmma_engine::formats::{E2M1, E2M3, E3M2, E4M3, E5M2, F32, Format};
use bitmma_engine::kernel::{Level, has_kernel, multiply};
use bitmma_engine::{Matrix, Model, Operands, simulate_steps};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// The model of an instruction, and its K.
fn model(architecture: Architecture, name: &str) -> (Model, usize) {
    let row = find(architecture, name).unwrap().instruction;
    (row.model(Revision::Hardware).unwrap(), row.products())
}

fn blackwell() -> (Model, usize) {
    model(Architecture::Blackwell, "tcgen05.mma.m128nNk32.kind::f8f6f4.f32.e4m3.e4m3")
}

/// Elements of one operand: exponent fields within a range, fractions of ones, of zeros or random.
struct Elements {
    fields: (u64, u64),
    ones: bool,
    positive: bool,
    /// One in so many has a field of the lower half of all, instead; 0 for none.
    far: u64,
}

impl Elements {
    fn code(&self, format: &Format, random: &mut ChaCha8Rng) -> u64 {
        let (lowest, highest) = self.fields;
        let is_far = self.far > 0 && random.next_u64().is_multiple_of(self.far);
        let field = match is_far {
            true => random.next_u64() % (1 << (format.exponent_bits - 1)),
            false => lowest + random.next_u64() % (highest - lowest + 1),
        };
        let fraction = match self.ones {
            true => (1 << format.fraction_bits) - 1,
            false => random.next_u64() & ((1 << format.fraction_bits) - 1),
        };
        let code = (field << format.fraction_bits | fraction).min(format.max_finite_code());
        if self.positive { code } else { code | random.next_u64() & format.sign_bit() }
    }
}

/// Both paths on every instruction set, accumulators of these exponents, in tiles and in products too small for them.
fn agree(
    unit: &(Model, usize),
    elements: (&Elements, &Elements),
    exponents: std::ops::Range<i32>,
    scales: std::ops::Range<u64>,
    seed: u64,
) {
    for shape in [(3, 70), (3, 9)] {
        agree_on(shape, unit, elements, exponents.clone(), scales.clone(), seed);
    }
}

/// The same for one shape.
fn agree_on(
    (m, n): (usize, usize),
    (model, k): &(Model, usize),
    (a, b): (&Elements, &Elements),
    exponents: std::ops::Range<i32>,
    scales: std::ops::Range<u64>,
    seed: u64,
) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let steps = 2;
    let width = steps * k;
    let a_codes: Vec<u64> = (0..m * width).map(|_| a.code(&model.a, &mut random)).collect();
    let b_codes: Vec<u64> = (0..n * width).map(|_| b.code(&model.b, &mut random)).collect();
    let c_codes: Vec<u64> = (0..m * n)
        .map(|_| {
            let span = (exponents.end - exponents.start) as u64;
            let exponent = exponents.start + (random.next_u64() % span) as i32;
            let field = (exponent + 127).clamp(0, 255) as u64;
            let zeros = random.next_u64() % 24;
            (random.next_u64() & 0x807f_ffff & (!0 << zeros)) | field << 23
        })
        .collect();
    let matrix =
        |format, rows, columns, codes: Vec<u64>| Matrix::single(format, rows, columns, codes).unwrap();
    let factors = model.scale.map(|scale| {
        let mut draw = |count: usize| -> Vec<u64> {
            (0..count).map(|_| scales.start + random.next_u64() % (scales.end - scales.start)).collect()
        };
        let along = width / scale.size;
        let (of_a, of_b) = (draw(m * along), draw(n * along));
        (matrix(scale.format, m, along, of_a), matrix(scale.format, along, n, of_b))
    });
    let (a, b) = (matrix(model.a, m, width, a_codes), matrix(model.b, width, n, b_codes));
    let c = matrix(F32, m, n, c_codes);
    let operands = Operands {
        a: &a,
        b: &b,
        c: Some(&c),
        scale_a: factors.as_ref().map(|factors| &factors.0),
        scale_b: factors.as_ref().map(|factors| &factors.1),
    };
    assert!(has_kernel(model, *k));
    let expected = simulate_steps(model, *k, &operands).unwrap();
    for level in Level::available() {
        let actual = multiply(model, *k, &operands, Some(level)).unwrap();
        for (index, (want, got)) in expected.iter().zip(actual.iter()).enumerate() {
            let (row, column) = (index / n, index % n);
            assert!(
                want == got,
                "{level:?}, seed {seed}, {:?}: element {row},{column} is {got:#x}, the reference path says {want:#x}\n a {}\n b {}\n c {:#x}",
                model.operation,
                bitmma_engine::formats::text::digits_of(&model.a, &a.row(0, row).collect::<Vec<_>>()),
                bitmma_engine::formats::text::digits_of(&model.b, &b.column(0, column).collect::<Vec<_>>()),
                c.get(0, row, column),
            );
        }
    }
}

/// Groups of FP4 as integers: accumulators at the first that cuts one, and scale factors near each other, far apart, and as
/// far from 1 as they are.
#[test]
fn groups_of_fp4() {
    let units = [
        (
            model(Architecture::RtxBlackwell, "mma.m16n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.f32.ue4m3"),
            [0x30..0x31, 0x30..0x50, 0..0x7f],
        ),
        (
            model(Architecture::RtxBlackwell, "mma.m16n8k64.kind::mxf4.block32.f32.e2m1.e2m1.f32.ue8m0"),
            [127..128, 124..132, 0..255],
        ),
    ];
    for (unit, scales) in units {
        for (seed, scales) in (0..).zip(scales) {
            for highest in [1, 3] {
                let elements = Elements { fields: (0, highest), ones: false, positive: false, far: 0 };
                for exponent in (-20..60).step_by(if scales.end - scales.start == 1 { 1 } else { 7 }) {
                    let exponents = exponent..exponent + 1;
                    agree(&unit, (&elements, &elements), exponents, scales.clone(), seed);
                }
                agree(&unit, (&elements, &elements), 128..129, scales.clone(), seed);
            }
        }
    }
}

/// Accumulators whose exponent is just where products begin to be cut, and far to both sides of it.
#[test]
fn accumulators_at_the_cut() {
    let unit = blackwell();
    // products are multiples of 2^-18: nothing is cut up to e_max = 7
    let elements = Elements { fields: (0, 9), ones: false, positive: false, far: 0 };
    let places =
        [5..6, 6..7, 7..8, 8..9, 9..10, 6..9, -40..9, -18..-17, -140..-100, -127..-126, 60..127, 128..129];
    for (seed, exponents) in places.into_iter().enumerate() {
        agree(&unit, (&elements, &elements), exponents, 0..1, seed as u64);
    }
}

/// Integers of ever more bits, up to and beyond those that 16 and 32 bits hold, all of one sign and not.
#[test]
fn integers_at_their_largest() {
    let unit = blackwell();
    for highest_a in 0..=15 {
        for highest_b in (highest_a % 3..=15).step_by(3) {
            for (ones, positive) in [(true, true), (true, false), (false, true)] {
                let a = Elements { fields: (highest_a / 2, highest_a), ones, positive, far: 0 };
                let b = Elements { fields: (0, highest_b), ones, positive, far: 0 };
                agree(&unit, (&a, &b), -10..12, 0..1, highest_a * 100 + highest_b);
                // one and the same exponent everywhere: sums as large as they get in units of 2^(e_max - F)
                let a = Elements { fields: (highest_a, highest_a), ones, positive, far: 0 };
                let b = Elements { fields: (highest_b, highest_b), ones, positive, far: 0 };
                agree(&unit, (&a, &b), -20..12, 0..1, highest_a * 100 + highest_b);
            }
        }
    }
}

/// Rows of 15 bits beside columns of 13: some of the dot products of such integers are near 2^32, so that what is left of
/// them in 32 bits looks small.
#[test]
fn dot_products_near_two_to_the_32() {
    let (model, k) = blackwell();
    let Operation::TFdpa(sum) = model.operation else { panic!("a fused sum") };
    // row after row one 60 more, and a last bit of 2^-9; columns of 240 and a last bit of 2^-5
    let (m, n) = (k, 70);
    let a_code = |row, at| if at == k - 1 { 0x01 } else { 0x67 * u64::from(at < row) };
    let b_code = |at| if at == k - 1 { 0x29 } else { 0x77 };
    let a: Vec<u64> = (0..m * k).map(|index| a_code(index / k, index % k)).collect();
    let b: Vec<u64> = (0..k * n).map(|index| b_code(index / n)).collect();
    let (a, b) = (Matrix::single(E4M3, m, k, a).unwrap(), Matrix::single(E4M3, k, n, b).unwrap());
    let operands = Operands { a: &a, b: &b, c: None, scale_a: None, scale_b: None };
    for fraction_bits in 25..=28 {
        let operation = Operation::TFdpa(bitmma_arithmetic::FusedSum { fraction_bits, ..sum });
        let model = Model { operation, ..model.clone() };
        assert!(has_kernel(&model, k));
        let expected = simulate_steps(&model, k, &operands).unwrap();
        for level in Level::available() {
            let actual = multiply(&model, k, &operands, Some(level)).unwrap();
            assert_eq!(actual, expected, "{level:?}, F = {fraction_bits}");
        }
    }
}

/// A few elements far below the others of their line: one, several and most of an operation.
#[test]
fn products_left_out() {
    let (model, k) = blackwell();
    let Operation::TFdpa(sum) = model.operation else { panic!("a fused sum") };
    for fraction_bits in [20, 25, 27, 28] {
        for (a, b) in [(E5M2, E5M2), (E5M2, E4M3), (E4M3, E5M2)] {
            let operation = Operation::TFdpa(bitmma_arithmetic::FusedSum { fraction_bits, ..sum });
            let unit = (Model { a, b, operation, ..model.clone() }, k);
            assert!(has_kernel(&unit.0, k));
            for (seed, far) in [5, 16, 40, 300, 1000].into_iter().enumerate() {
                for (ones, positive) in [(true, true), (true, false), (false, false)] {
                    let top = |format: &Format| (1 << format.exponent_bits) - 4;
                    let elements = |format: &Format, span: u64, far| Elements {
                        fields: (top(format) - span, top(format)),
                        ones,
                        positive,
                        far,
                    };
                    for (far_a, far_b, span) in [(far, 0, 1), (0, far, 2), (far, far, 0)] {
                        let (a, b) = (elements(&a, span, far_a), elements(&b, span, far_b));
                        agree(&unit, (&a, &b), -10..40, 0..1, seed as u64);
                        agree(&unit, (&a, &b), -30..-20, 0..1, seed as u64);
                    }
                }
            }
        }
    }
}

/// Fewer and more bits kept than any unit keeps; other formats; e_zero.
#[test]
fn other_bits_and_formats() {
    let (model, k) = blackwell();
    let Operation::TFdpa(sum) = model.operation else { panic!("a fused sum") };
    for fraction_bits in [19, 20, 21, 24, 27, 28, 29] {
        for zero_exponent in [None, Some(-126), sum.zero_exponent] {
            for (a, b) in [(E4M3, E4M3), (E3M2, E2M3), (E2M1, E2M1), (E5M2, E4M3)] {
                let mut model = model.clone();
                model.operation =
                    Operation::TFdpa(bitmma_arithmetic::FusedSum { fraction_bits, zero_exponent, ..sum });
                (model.a, model.b) = (a, b);
                if !has_kernel(&model, k) {
                    continue;
                }
                for highest in [1, 2, 3, 5, 7, 9, 11, 13] {
                    let elements = |format: &Format| Elements {
                        fields: (0, highest.min((1 << format.exponent_bits) - 1)),
                        ones: false,
                        positive: false,
                        far: 0,
                    };
                    let seed = u64::from(fraction_bits) * 100 + highest;
                    agree(&(model.clone(), k), (&elements(&a), &elements(&b)), -30..10, 0..1, seed);
                }
            }
        }
    }
}

/// Block-scaled: scale factors next to each other and far apart, in the middle of their range and at its ends.
#[test]
fn scale_factors() {
    let name = "mma.m16n8k32.kind::mxf8f6f4.block32.f32.e4m3.e4m3.f32.ue8m0";
    let unit = model(Architecture::RtxBlackwell, name);
    for (seed, scales) in
        [127..128, 126..129, 125..130, 120..134, 0..4, 60..65, 250..255].into_iter().enumerate()
    {
        for highest in [2, 6, 9, 12] {
            let elements = Elements { fields: (0, highest), ones: false, positive: highest == 6, far: 0 };
            for exponents in [-30..10, -127..-100, 3..9, -140..128] {
                agree(&unit, (&elements, &elements), exponents, scales.clone(), seed as u64);
            }
        }
    }
}

fn hopper() -> (Model, usize) {
    model(Architecture::Hopper, "wgmma.m64n64k32.f32.e4m3.e4m3")
}

/// Products rounded down: accumulators that push the unit through all places of products and beyond, factors of all
/// exponents and of few.
#[test]
fn floors_and_their_units() {
    let (model, k) = hopper();
    for (seed, (a, b)) in [(E4M3, E4M3), (E5M2, E5M2), (E4M3, E5M2), (E5M2, E4M3)].into_iter().enumerate() {
        let unit = (Model { a, b, ..model.clone() }, k);
        let top = |format: &Format| (1 << format.exponent_bits) - 1 - u64::from(*format == E5M2);
        for (low_a, low_b) in [(0, 0), (1, 1), (top(&a), top(&b)), (top(&a) - 2, 0), (0, top(&b) / 2)] {
            for (ones, positive) in [(true, true), (false, false)] {
                let elements =
                    |low, format: &Format| Elements { fields: (low, top(format)), ones, positive, far: 0 };
                for exponents in [-30..40, 14..34, 28..29, 29..30, 30..31, 31..33, -127..-126, 100..129] {
                    agree(&unit, (&elements(low_a, &a), &elements(low_b, &b)), exponents, 0..1, seed as u64);
                }
            }
        }
        // a column far below its panel: the largest product of a lane decides, not that of the panel
        for span in 1..top(&b) {
            let few = |low, high| Elements { fields: (low, high), ones: false, positive: false, far: 0 };
            agree(&unit, (&few(0, span.min(top(&a))), &few(0, top(&b))), -40..10, 0..1, span);
            agree(&unit, (&few(0, 1), &few(0, span)), -127..-126, 0..1, span);
        }
    }
}

/// Terms and sums of products rounded down as large as they get; fewer bits kept; other formats.
#[test]
fn floors_of_other_bits_and_formats() {
    let (model, k) = hopper();
    let Operation::TFdpa(sum) = model.operation else { panic!("a fused sum") };
    for fraction_bits in [10, 11, 12, 13, 14] {
        for (a, b) in [(E4M3, E4M3), (E3M2, E2M3), (E2M1, E2M1), (E5M2, E5M2)] {
            let operation = Operation::TFdpa(bitmma_arithmetic::FusedSum { fraction_bits, ..sum });
            let unit = (Model { a, b, operation, ..model.clone() }, k);
            if !has_kernel(&unit.0, k) {
                continue;
            }
            let top = |format: &Format| (1 << format.exponent_bits) - 1 - u64::from(*format == E5M2);
            for positive in [true, false] {
                let elements = |format: &Format| Elements {
                    fields: (top(format), top(format)),
                    ones: true,
                    positive,
                    far: 0,
                };
                for exponents in [-20..20, 0..1, 17..18, 30..34] {
                    let seed = u64::from(fraction_bits);
                    agree(&unit, (&elements(&a), &elements(&b)), exponents, 0..1, seed);
                }
            }
        }
    }
}

/// Sixteen products of (2 - 2^-10)^2 come to 2^31 - 2^21 + 2^9 in units of 2^(e_max - 25), as near to the limit of 32 bits
/// as products do; accumulators of their exponent lead beyond it, to both sides.
#[test]
fn sums_that_leave_32_bits() {
    let (model, k) = model(Architecture::Hopper, "wgmma.m64nNk16.f32.f16.f16");
    let mut random = ChaCha8Rng::seed_from_u64(32);
    let n = 256u32;
    let c = (0..n).map(|column| {
        let exponent = 127 - 4 + column / 2 % 8;
        u64::from(((column % 2) << 31) | (exponent << 23) | (random.next_u32() >> 9))
    });
    let c = Matrix::single(F32, 1, n as usize, c.collect::<Vec<_>>()).unwrap();
    let b = Matrix::single(model.b, k, n as usize, vec![0x3fff; k * n as usize]).unwrap();
    for factor in [0x3fff, 0xbfff] {
        let a = Matrix::single(model.a, 1, k, vec![factor; k]).unwrap();
        let operands = Operands { a: &a, b: &b, c: Some(&c), scale_a: None, scale_b: None };
        let expected = simulate_steps(&model, k, &operands).unwrap();
        for level in Level::available() {
            let actual = multiply(&model, k, &operands, Some(level)).unwrap();
            assert_eq!(expected, actual, "{level:?}, A of {factor:#x}");
        }
    }
}
