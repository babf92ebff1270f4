//! Products of any shape against a plain second writing of them: a loop over the elements of D, each a
//! chain of [`Model::dot`] along K, and the arithmetic crate's sums around it.
#![allow(clippy::unwrap_used)] // also in the helpers of tests, a panic is the answer

use bitmma::arithmetic::fma::{Operand, add, change_format, multiply};
use bitmma::arithmetic::run::Operands;
use bitmma::arithmetic::{Conversion, Lowering, Operation, Order};
use bitmma::catalogue::find;
use bitmma::formats::{BlockScale, Class, Format, Overflow, Rounding, decode, table};
use bitmma::gemm::{OutputConversion, Target};
use bitmma::inputs::{Family, case};
use bitmma::kernel::Level;
use bitmma::{Architecture, Error, GemmOptions, Matrix, Model, Revision, gemm};
use std::sync::Mutex;
use table::{E2M1, E4M3, E5M2, F16, F32, F64, UE4M3, UE8M0};

/// At least one instruction of each family, and every kind of format around it.
const INSTRUCTIONS: [(Architecture, &str); 17] = [
    (Architecture::Hopper, "wgmma.m64n8k16.f32.f16.f16"),
    (Architecture::Hopper, "wgmma.m64n8k16.f16.f16.f16"),
    (Architecture::Hopper, "wgmma.m64n8k32.f32.e4m3.e5m2"),
    (Architecture::Hopper, "mma.m16n8k16.f16.e4m3.e5m2.f16"), // composed, interleaved
    (Architecture::Volta, "mma.m8n8k4.f32.f16.f16.f16"),      // C FP16, D FP32
    (Architecture::Ampere, "wmma.m16n16k16.f16.f16.f16.f32"), // C FP32, D FP16
    (Architecture::Ampere, "mma.m16n8k8.f32.tf32.tf32.f32"),
    (Architecture::RtxBlackwell, "mma.m16n8k32.kind::f8f6f4.f32.e3m2.e2m1.f32"),
    (Architecture::RtxBlackwell, "mma.m16n8k32.kind::mxf8f6f4.block32.f32.e4m3.e2m3.f32.ue8m0"),
    (Architecture::RtxBlackwell, "mma.m16n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.f32.ue4m3"),
    (Architecture::Cdna3, "v_mfma_f32_16x16x8_xf32"),
    (Architecture::Cdna3, "v_mfma_f32_16x16x16_bf16"),
    (Architecture::Cdna3, "v_mfma_f32_16x16x32_bf8_fp8"),
    (Architecture::Cdna1, "v_mfma_f32_16x16x16f16"),
    (Architecture::Cdna2, "v_mfma_f32_16x16x8bf16"),
    (Architecture::Cdna3, "v_mfma_f32_16x16x4_f32"),
    (Architecture::Ampere, "mma.m8n8k4.f64.f64.f64.f64"),
];

fn targets() -> Vec<Target> {
    let of = |(architecture, name)| Target::instruction(architecture, name, Revision::Hardware).unwrap();
    INSTRUCTIONS.map(of).into()
}

/// Operands of a product, rows, columns and elements of C drawn as cases of one family.
struct Inputs {
    a: Matrix,
    b: Matrix,
    c: Matrix,
    scales: Option<(Matrix, Matrix)>,
}

impl Inputs {
    fn new(model: &Model, (m, n, k): (usize, usize, usize), family: Family, seed: u64) -> Inputs {
        let block = model.scale.map_or(1, |scale| scale.size);
        let (along, long) = (k.div_ceil(block), k.next_multiple_of(block));
        let draw = |seed: u64, count: usize| -> Vec<_> {
            (0..count).map(|index| case(model, long, family, seed, index as u64)).collect()
        };
        let (rows, columns) = (draw(seed, m), draw(seed + 1, n));
        let c = (0..m * n).map(|index| case(model, 0, family, seed + 2, index as u64).c);
        let column = |length: usize, get: &dyn Fn(usize, usize) -> u64| -> Vec<u64> {
            (0..length * n).map(|index| get(index % n, index / n)).collect()
        };
        let matrix =
            |format, rows, columns, codes: Vec<u64>| Matrix::single(format, rows, columns, codes).unwrap();
        Inputs {
            a: matrix(model.a, m, k, rows.iter().flat_map(|case| case.a[..k].to_vec()).collect()),
            b: matrix(model.b, k, n, column(k, &|column, row| columns[column].b[row])),
            c: matrix(model.c, m, n, c.collect()),
            scales: model.scale.map(|scale| {
                let left = rows.iter().flat_map(|case| case.scale_a.clone()).collect();
                let right = column(along, &|column, row| columns[column].scale_b[row]);
                (matrix(scale.format, m, along, left), matrix(scale.format, along, n, right))
            }),
        }
    }

    fn options(&self) -> GemmOptions<'_> {
        GemmOptions {
            scale_a: self.scales.as_ref().map(|scales| &scales.0),
            scale_b: self.scales.as_ref().map(|scales| &scales.1),
            ..GemmOptions::default()
        }
    }
}

/// The plain loop.
struct Plain<'p> {
    target: &'p Target,
    a: &'p Matrix,
    b: &'p Matrix,
    c: Option<&'p Matrix>,
    options: &'p GemmOptions<'p>,
}

impl Plain<'_> {
    fn working(&self) -> Conversion {
        let model = self.target.model();
        if model.c == F64 || model.d == F64 { Conversion::RNE_FP64 } else { Conversion::RNE_FP32 }
    }

    fn add(&self, x: u64, y: u64) -> u64 {
        let w = self.working();
        add(&Operand::new(&w.format, x), &Operand::new(&w.format, y), w)
    }

    fn multiply(&self, x: u64, y: u64) -> u64 {
        let w = self.working();
        multiply(&Operand::new(&w.format, x), &Operand::new(&w.format, y), w)
    }

    /// The element of a matrix, or what stands there where it is padded.
    fn at(matrix: &Matrix, (block, row, column): (usize, usize, usize), padding: u64) -> u64 {
        let inside = row < matrix.rows() && column < matrix.columns();
        if inside { matrix.get(block, row, column) } else { padding }
    }

    /// Steps `steps` along K, from `c`, in D's format.
    fn chain(
        &self,
        (block, row, column): (usize, usize, usize),
        steps: std::ops::Range<usize>,
        c: u64,
    ) -> u64 {
        let (model, step) = (self.target.model(), self.target.step());
        let mut d = c;
        let mut next = model.clone();
        for (index, first) in steps.map(|index| index * step).enumerate() {
            let a: Vec<u64> = (first..first + step).map(|k| Self::at(self.a, (block, row, k), 0)).collect();
            let b: Vec<u64> =
                (first..first + step).map(|k| Self::at(self.b, (block, k, column), 0)).collect();
            let (mut scale_a, mut scale_b) = (vec![], vec![]);
            if let Some(scale) = model.scale {
                let one = scale.format.one_code();
                for factor in first / scale.size..(first + step) / scale.size {
                    scale_a.push(Self::at(self.options.scale_a.unwrap(), (block, row, factor), one));
                    scale_b.push(Self::at(self.options.scale_b.unwrap(), (block, factor, column), one));
                }
            }
            if index == 1 && model.c != model.d {
                // the result of a step is the next one's accumulator: converted where C holds it,
                // in its own format where C does not
                let holds = model.c.fraction_bits >= model.d.fraction_bits
                    && model.c.exponent_bits >= model.d.exponent_bits;
                if !holds {
                    next = Model { c: model.d, ..model.clone() };
                    next.lowering.widen_accumulator = None;
                }
            }
            if index > 0 && next.c != model.d {
                let rounding = Rounding::NearestEven;
                d = change_format(&model.d, d, Conversion { rounding, format: next.c });
            }
            let operands = Operands { a: &a, b: &b, c: d, scale_a: &scale_a, scale_b: &scale_b };
            d = next.dot(&operands).unwrap();
        }
        d
    }

    fn element(&self, place: (usize, usize, usize)) -> u64 {
        let (model, options, w) = (self.target.model(), self.options, self.working());
        let step = self.target.step();
        let nearest = |format| Conversion { rounding: Rounding::NearestEven, format };
        let steps = self.a.columns().div_ceil(step);
        let one = w.format.one_code();
        let (alpha, beta) = (options.alpha.unwrap_or(one), options.beta.unwrap_or(one));
        let c = self.c.filter(|_| beta & !w.format.sign_bit() != 0);
        let c_code = c.map_or(0, |c| c.get(place.0, place.1, place.2));
        let c_word = change_format(&model.c, c_code, w);
        let unit = alpha == one && (c.is_none() || beta == one);
        let parts = options.split_k.unwrap_or(1).min(steps).max(1);

        if unit && parts == 1 && options.promote_every.is_none() {
            let d = match steps {
                0 => self.in_d(change_format(&model.c, c_code, nearest(model.d))),
                _ => self.chain(place, 0..steps, c_code),
            };
            return self.output(&model.d, d);
        }
        let mut total: Option<u64> = None;
        let mut first = 0;
        for part in 0..parts {
            let length = steps / parts + usize::from(part < steps % parts);
            let last = first + length;
            let sum = match options.promote_every {
                None if steps == 0 => 0,
                None => change_format(&model.d, self.chain(place, first..last, 0), w),
                Some(every) => {
                    let mut sum = if parts == 1 && unit { c_word } else { 0 };
                    let mut start = first;
                    while start < last {
                        let end = last.min(start + every / step);
                        let run = change_format(&model.d, self.chain(place, start..end, 0), w);
                        sum = self.add(sum, run);
                        start = end;
                    }
                    sum
                }
            };
            total = Some(total.map_or(sum, |total| self.add(total, sum)));
            first = last;
        }
        let mut d = total.unwrap();
        if !unit {
            let right = if c.is_some() { self.multiply(beta, c_word) } else { 0 };
            d = self.add(self.multiply(alpha, d), right);
        } else if parts > 1 || options.promote_every.is_none() {
            d = self.add(d, c_word);
        }
        match options.output {
            Some(_) => self.output(&w.format, d),
            None => self.in_d(change_format(&w.format, d, nearest(model.d))),
        }
    }

    /// NaN as the instruction writes it.
    fn in_d(&self, d: u64) -> u64 {
        let model = self.target.model();
        if decode(&model.d, d).class == Class::Nan { model.emitted_nan() } else { d }
    }

    fn output(&self, from: &Format, code: u64) -> u64 {
        let Some(OutputConversion { conversion, overflow }) = self.options.output else { return code };
        let to = conversion.format;
        let value = decode(from, code);
        let sign = if value.negative { to.sign_bit() } else { 0 };
        let infinity = to.infinity_code().map(|infinity| infinity | sign);
        let nan = to.nan_code();
        match (value.class, overflow) {
            (Class::Nan, _) => nan.unwrap_or(to.max_finite_code()),
            (Class::Infinity, Overflow::Saturate) => to.max_finite_code() | sign,
            (Class::Infinity, _) => infinity.or(nan).unwrap_or(to.max_finite_code() | sign),
            (_, Overflow::Ieee) => change_format(from, code, conversion),
            (_, Overflow::Infinity) => panic!("not tested here"),
            (_, Overflow::Saturate) => {
                let converted = change_format(from, code, conversion);
                let finite = decode(&to, converted).is_finite();
                if finite { converted } else { to.max_finite_code() | sign }
            }
        }
    }

    fn check(&self, what: &str) -> usize {
        let d = gemm(self.target, self.a, self.b, self.c, self.options).unwrap();
        let (blocks, m, n) = (self.a.blocks(), self.a.rows(), self.b.columns());
        let to = self.options.output.map(|output| output.conversion.container());
        assert_eq!(d.format(), to.unwrap_or(self.target.model().d));
        assert_eq!(d.shape(), (blocks, m, n));
        for index in 0..blocks * m * n {
            let place = (index / n / m, index / n % m, index % n);
            let (expected, actual) = (self.element(place), d.get(place.0, place.1, place.2));
            assert!(
                expected == actual,
                "{}, {what}, {m}×{n}×{}, element {place:?}: {actual:#x}, the plain loop says {expected:#x}",
                self.target.name(),
                self.a.columns()
            );
        }
        blocks * m * n
    }
}

const SHAPES: [(usize, usize, usize); 10] = [
    (1, 1, 1),
    (5, 3, 1),
    (1, 37, 17),
    (13, 1, 29),
    (7, 11, 97),
    (17, 19, 64),
    (2, 5, 131),
    (3, 2, 33),
    (4, 4, 128),
    (3, 33, 50),
];

#[test]
fn ragged_shapes_of_every_family() {
    let mut elements = 0;
    for (number, target) in targets().iter().enumerate() {
        for (index, shape) in SHAPES.into_iter().enumerate() {
            let family = Family::ALL[(number + index) % Family::ALL.len()];
            let inputs = Inputs::new(target.model(), shape, family, (number * 100 + index) as u64);
            let c = (index % 3 != 2).then_some(&inputs.c);
            let options = inputs.options();
            let plain = Plain { target, a: &inputs.a, b: &inputs.b, c, options: &options };
            elements += plain.check(&format!("{family:?}"));
        }
    }
    println!("{elements} elements of D");
}

#[test]
fn revision_paper() {
    for (architecture, name) in INSTRUCTIONS {
        let target = Target::instruction(architecture, name, Revision::Paper).unwrap();
        for (seed, family) in [(1, Family::Zeros), (2, Family::Bits), (3, Family::Cancelling)] {
            let inputs = Inputs::new(target.model(), (5, 7, 75), family, seed);
            let options = inputs.options();
            let plain =
                Plain { target: &target, a: &inputs.a, b: &inputs.b, c: Some(&inputs.c), options: &options };
            plain.check("revision paper");
        }
    }
}

/// Sizes of zero: the plain loop says what K = 0 gives, and M or N = 0 give nothing.
#[test]
fn sizes_of_zero() {
    for target in targets() {
        for shape in [(3, 4, 0), (0, 3, 16), (3, 0, 16), (0, 0, 0), (0, 0, 5), (1, 1, 0)] {
            let inputs = Inputs::new(target.model(), shape, Family::Bits, 7);
            let one = target.working_format().one_code();
            let plain = inputs.options();
            for options in [
                plain,
                GemmOptions { split_k: Some(3), ..plain },
                GemmOptions { promote_every: Some(2 * target.step()), ..plain },
                GemmOptions { alpha: Some(one << 1), ..plain },
                GemmOptions { beta: Some(one + 1), ..plain },
                GemmOptions { output: Some(OutputConversion::nearest(E5M2)), ..plain },
            ] {
                for c in [None, Some(&inputs.c)] {
                    let plain = Plain { target: &target, a: &inputs.a, b: &inputs.b, c, options: &options };
                    plain.check("zero");
                }
            }
        }
    }
}

fn f32_code(value: &str) -> u64 {
    let parsed = bitmma::formats::text::parse(&F32, value, Rounding::NearestEven, Overflow::Ieee);
    parsed.unwrap().code
}

/// Every option with every other, on ragged K.
#[test]
fn options_together() {
    let mut elements = 0;
    for (number, target) in targets().iter().enumerate() {
        let (step, w) = (target.step(), target.working_format());
        let ks = [step * 5 + 1, step * 4, 3];
        for (index, k) in ks.into_iter().enumerate() {
            let family = [Family::Moderate, Family::Cancelling, Family::Bits][(number + index) % 3];
            let inputs = Inputs::new(target.model(), (2, 3, k), family, (number * 10 + index) as u64);
            let one = w.one_code();
            let factors = [
                (None, None),
                (Some(one + 12345), None),
                (None, Some(one + 77)),
                (Some(one | w.sign_bit()), Some(one)),
                (Some(one + 3), Some(w.sign_bit())),
                (Some(0), Some(0)),
                (w.nan_code(), Some(one)),
            ];
            for split_k in [None, Some(1), Some(2), Some(3), Some(100)] {
                for promote_every in [None, Some(step), Some(2 * step), Some(64 * step)] {
                    // all of them on the ragged K, the first few on the others
                    for (alpha, beta) in factors.into_iter().take(if index == 0 { 7 } else { 2 }) {
                        let plain = inputs.options();
                        let options = GemmOptions { split_k, promote_every, alpha, beta, ..plain };
                        for c in [None, Some(&inputs.c)] {
                            let (a, b) = (&inputs.a, &inputs.b);
                            let plain = Plain { target, a, b, c, options: &options };
                            elements += plain.check(&format!(
                                "{family:?}, split {split_k:?}, promoted {promote_every:?}, alpha {alpha:x?}, beta {beta:x?}, C {}",
                                c.is_some()
                            ));
                        }
                    }
                }
            }
        }
    }
    println!("{elements} elements of D");
}

#[test]
fn output_conversions() {
    let mut elements = 0;
    for (number, target) in targets().iter().enumerate() {
        let formats = table::FORMATS.into_iter().filter(|format| ![UE8M0, UE4M3].contains(format));
        for (index, format) in formats.enumerate() {
            for rounding in [Rounding::NearestEven, Rounding::TowardZero, Rounding::Up] {
                for overflow in [Overflow::Ieee, Overflow::Saturate] {
                    let family = [Family::Moderate, Family::Bits, Family::Notable][index % 3];
                    let inputs = Inputs::new(target.model(), (6, 4, 37), family, (number * 50) as u64);
                    let conversion = Conversion { rounding, format };
                    let output = Some(OutputConversion { conversion, overflow });
                    for split_k in [None, Some(2)] {
                        let options = GemmOptions { output, split_k, ..inputs.options() };
                        let (a, b, c) = (&inputs.a, &inputs.b, Some(&inputs.c));
                        elements += Plain { target, a, b, c, options: &options }
                            .check(&format!("{family:?} to {conversion} {overflow:?}, split {split_k:?}"));
                    }
                }
            }
        }
    }
    println!("{elements} elements of D");
}

/// Rows by hand of what saturation does, from FP32.
#[test]
fn saturation_by_hand() {
    let target = Target::instruction(Architecture::Cdna3, "v_mfma_f32_16x16x4_f32", Revision::Hardware);
    let target = target.unwrap();
    let d = |value: &str, format, overflow| {
        let a = Matrix::single(F32, 1, 1, [f32_code(value)]).unwrap();
        let b = Matrix::single(F32, 1, 1, [F32.one_code()]).unwrap();
        let conversion = Conversion { rounding: Rounding::NearestEven, format };
        let output = Some(OutputConversion { conversion, overflow });
        let options = GemmOptions { output, ..GemmOptions::default() };
        gemm(&target, &a, &b, None, &options).unwrap().get(0, 0, 0)
    };
    let (ieee, saturate) = (Overflow::Ieee, Overflow::Saturate);
    assert_eq!(d("448", E4M3, ieee), 0x7e);
    assert_eq!(d("1e4", E4M3, ieee), 0x7f); // no infinity: NaN
    assert_eq!(d("1e4", E4M3, saturate), 0x7e);
    assert_eq!(d("-inf", E4M3, saturate), 0xfe);
    assert_eq!(d("-inf", E4M3, ieee), 0x7f);
    assert_eq!(d("nan", E4M3, saturate), 0x7f);
    assert_eq!(d("1e6", E5M2, ieee), 0x7c);
    assert_eq!(d("1e6", E5M2, saturate), 0x7b);
    assert_eq!(d("nan", E2M1, saturate), 0x7); // cvt.satfinite: no NaN, the largest number
    assert_eq!(d("-100", E2M1, ieee), 0xf);
    assert_eq!(d("inf", F64, ieee), 0x7ff0_0000_0000_0000);
    assert_eq!(d("1e5", F16, saturate), 0x7bff);
}

fn base(architecture: Architecture, name: &str) -> Model {
    find(architecture, name).unwrap().instruction.model(Revision::Hardware).unwrap()
}

fn sum(model: &mut Model, length: usize) {
    if let Operation::TFdpa(sum) | Operation::StFdpa(sum) = &mut model.operation {
        sum.max_length = length;
    }
}

/// ST-FDPA with blocks and sums of these lengths.
fn scaled(block: usize, length: usize) -> Model {
    let mx = "mma.m16n8k32.kind::mxf8f6f4.block32.f32.e4m3.e4m3.f32.ue8m0";
    let mut model = base(Architecture::RtxBlackwell, mx);
    sum(&mut model, length);
    model.scale = Some(BlockScale { format: UE8M0, size: block });
    model
}

/// Sums that reach across blocks of several scale factors.
#[test]
fn sums_across_blocks() {
    for (block, length, step) in [(8, 12, 24), (8, 16, 16), (4, 32, 32)] {
        let target = Target::of_model(scaled(block, length), None).unwrap();
        assert_eq!(target.step(), step);
        for (seed, family) in Family::ALL.into_iter().enumerate() {
            let inputs = Inputs::new(target.model(), (4, 5, 61), family, seed as u64);
            let options = inputs.options();
            let (a, b, c) = (&inputs.a, &inputs.b, Some(&inputs.c));
            Plain { target: &target, a, b, c, options: &options }.check(&format!("{family:?}"));
        }
    }
}

#[test]
fn user_models() {
    let f16 = base(Architecture::Hopper, "wgmma.m64n8k16.f32.f16.f16");
    let (mut short, mut interleaved) = (f16.clone(), f16.clone());
    sum(&mut short, 5);
    interleaved.lowering = Lowering { order: Order::Interleaved { run: 2, period: 6 }, ..Lowering::NONE };
    let mut reversed = f16.clone();
    reversed.lowering = Lowering {
        order: Order::Reversed,
        add_accumulator_last: Some(Conversion::RNE_FP32),
        ..Lowering::NONE
    };
    for (model, step, wanted) in [
        (f16.clone(), None, 16),
        (f16.clone(), Some(48), 48),
        (f16, Some(3), 3),
        (short.clone(), None, 5),
        (short, Some(15), 15),
        (interleaved, None, 48),
        (reversed, None, 16),
        (scaled(8, 4), None, 8),
        (scaled(8, 8), Some(16), 16),
    ] {
        let target = Target::of_model(model, step).unwrap();
        assert_eq!(target.step(), wanted);
        for (seed, family) in Family::ALL.into_iter().enumerate() {
            let inputs = Inputs::new(target.model(), (4, 5, 61), family, seed as u64);
            for split_k in [None, Some(2)] {
                let options = GemmOptions { split_k, ..inputs.options() };
                let (a, b, c) = (&inputs.a, &inputs.b, Some(&inputs.c));
                Plain { target: &target, a, b, c, options: &options }.check(&format!("{family:?}"));
            }
        }
    }
    // the step of every model of the catalogue's rows is accepted
    for row in bitmma::catalogue::catalogue() {
        if let Some(model) = row.model(Revision::Hardware) {
            Target::of_model(model, None).unwrap_or_else(|error| panic!("{}: {error}", row.name()));
        }
    }
}

/// Several products of one shape, and a padded K that pays e_zero.
#[test]
fn batches_and_the_price_of_padding() {
    for target in targets() {
        let shape = (3, 5, 41);
        let both = [1, 2].map(|seed| Inputs::new(target.model(), shape, Family::Moderate, seed));
        let join = |get: &dyn Fn(&Inputs) -> Matrix| {
            let parts: Vec<Matrix> = both.iter().map(get).collect();
            let (rows, columns) = (parts[0].rows(), parts[0].columns());
            let codes = parts.iter().flat_map(Matrix::iter).collect::<Vec<_>>();
            Matrix::new(parts[0].format(), (2, rows, columns), codes).unwrap()
        };
        let (a, b) = (join(&|inputs| inputs.a.clone()), join(&|inputs| inputs.b.clone()));
        let c = join(&|inputs| inputs.c.clone());
        let scales = target.model().scale.map(|_| {
            let pick = |inputs: &Inputs| inputs.scales.clone().unwrap();
            (join(&|inputs| pick(inputs).0), join(&|inputs| pick(inputs).1))
        });
        let options = GemmOptions {
            scale_a: scales.as_ref().map(|scales| &scales.0),
            scale_b: scales.as_ref().map(|scales| &scales.1),
            split_k: Some(2),
            ..GemmOptions::default()
        };
        Plain { target: &target, a: &a, b: &b, c: Some(&c), options: &options }.check("two blocks");
    }

    // 2^-149 · 1 with an exponent far below e_zero = -133: 15 padded zeros bring the floor
    let target =
        Target::instruction(Architecture::Hopper, "wgmma.m64n8k16.f32.bf16.bf16", Revision::Hardware)
            .unwrap();
    let matrix = |code: u64, k: usize| Matrix::single(table::BF16, 1, k, vec![code; k]).unwrap();
    let column = |code: u64, k: usize| Matrix::single(table::BF16, k, 1, vec![code; k]).unwrap();
    let (small, tiny) = (0x0081, 0x1f81); // 1.0078125 · 2^-126, · 2^-64
    let c = Matrix::single(F32, 1, 1, [1u64]).unwrap();
    let options = GemmOptions::default();
    for k in [1, 15, 16, 17] {
        let (a, b) = (matrix(small, k), column(tiny, k));
        Plain { target: &target, a: &a, b: &b, c: Some(&c), options: &options }.check("e_zero");
    }
}

/// Larger than a tile, for any number of threads and every instruction set.
#[test]
fn threads_levels_and_tiles_do_not_change_a_bit() {
    for (architecture, name, shape) in [
        (Architecture::Hopper, "wgmma.m64n8k16.f32.f16.f16", (1100, 2100, 33)),
        (
            Architecture::RtxBlackwell,
            "mma.m16n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.f32.ue4m3",
            (50, 300, 65),
        ),
        (Architecture::Cdna3, "v_mfma_f32_16x16x4_f32", (1030, 7, 9)),
    ] {
        let target = Target::instruction(architecture, name, Revision::Hardware).unwrap();
        let inputs = Inputs::new(target.model(), shape, Family::Moderate, 11);
        let (m, n, k) = shape;
        for (split_k, promote_every) in [(None, None), (Some(2), None), (None, Some(target.step()))] {
            let plain = GemmOptions { split_k, promote_every, ..inputs.options() };
            let d = |options: &GemmOptions<'_>| {
                gemm(&target, &inputs.a, &inputs.b, Some(&inputs.c), options).unwrap()
            };
            let calls = Mutex::new(Vec::new());
            let report = |done, total| calls.lock().unwrap().push((done, total));
            let expected = d(&GemmOptions { progress: Some(&report), ..plain });
            let calls = calls.into_inner().unwrap();
            let products = (m * n * k) as u64;
            assert!(calls.is_sorted() && calls.iter().all(|call| call.1 == products), "{calls:?}");
            assert_eq!(calls.last(), Some(&(products, products)));
            for threads in 1..=3 {
                assert_eq!(expected, d(&GemmOptions { threads: Some(threads), ..plain }));
            }
            for level in Level::available() {
                assert_eq!(expected, d(&GemmOptions { level: Some(level), ..plain }));
            }
            // a few elements of every tile
            let plain_loop =
                Plain { target: &target, a: &inputs.a, b: &inputs.b, c: Some(&inputs.c), options: &plain };
            for index in (0..m * n).step_by(m * n / 301 + 1).chain([m * n - 1]) {
                let place = (0, index / n, index % n);
                assert_eq!(plain_loop.element(place), expected.get(0, place.1, place.2), "{name}, {place:?}");
            }
        }
    }
}

#[test]
fn what_is_refused() {
    let target =
        Target::instruction(Architecture::Hopper, "wgmma.m64n8k32.f32.e4m3.e4m3", Revision::Hardware)
            .unwrap();
    let zeros = |format, rows, columns| Matrix::zeros(format, (1, rows, columns)).unwrap();
    let (a, b, c) = (zeros(E4M3, 3, 64), zeros(E4M3, 64, 5), zeros(F32, 3, 5));
    let says = |result: Result<Matrix, Error>, wanted: &str| {
        let text = result.unwrap_err().to_string();
        assert!(text.contains(wanted), "'{wanted}' is not in '{text}'");
    };
    let plain = GemmOptions::default();
    let with = |options: GemmOptions<'_>| gemm(&target, &a, &b, Some(&c), &options);
    let wgmma = "wgmma.m64n{8..256}k32.f32.e4m3.e4m3";
    says(gemm(&target, &a, &zeros(E4M3, 63, 5), None, &plain), "B is 63×5");
    says(gemm(&target, &a, &zeros(E5M2, 64, 5), None, &plain), &format!("B is e5m2, {wgmma} takes e4m3"));
    says(gemm(&target, &a, &b, Some(&zeros(F32, 5, 3)), &plain), "takes 3×5");
    says(gemm(&target, &a, &b, Some(&zeros(F16, 3, 5)), &plain), "C is f16");
    says(with(GemmOptions { split_k: Some(0), ..plain }), "split_k is 0");
    says(with(GemmOptions { promote_every: Some(0), ..plain }), "promote_every is 0");
    says(
        with(GemmOptions { promote_every: Some(48), ..plain }),
        &format!("promote_every is 48; {wgmma} takes 32 elements along K"),
    );
    says(with(GemmOptions { threads: Some(0), ..plain }), "threads is 0");
    says(
        with(GemmOptions { alpha: Some(1 << 32), ..plain }),
        "alpha is 0x100000000; a code of f32 has 32 bits",
    );
    says(with(GemmOptions { scale_a: Some(&c), ..plain }), "takes no scale factors for scale A");

    let mx = "mma.m16n8k32.kind::mxf8f6f4.block32.f32.e4m3.e4m3.f32.ue8m0";
    let scaled = Target::instruction(Architecture::RtxBlackwell, mx, Revision::Hardware).unwrap();
    let (a, b) = (zeros(E4M3, 3, 33), zeros(E4M3, 33, 5));
    says(gemm(&scaled, &a, &b, None, &plain), "takes 3×2 ue8m0 factors for scale A");
    let (left, right) = (zeros(UE8M0, 3, 1), zeros(UE8M0, 2, 5));
    let options = GemmOptions { scale_a: Some(&left), scale_b: Some(&right), ..plain };
    says(gemm(&scaled, &a, &b, None, &options), "scale A is 3×1");

    // no memory for D, or for a K that is padded
    let (a, b) = (zeros(E4M3, 1 << 40, 0), zeros(E4M3, 0, 1 << 40));
    says(gemm(&target, &a, &b, None, &plain), "cannot be held in memory");
    let (a, b) = (zeros(E4M3, 1 << 24, 0), zeros(E4M3, 0, 1 << 24));
    says(gemm(&target, &a, &b, None, &plain), "cannot be held in memory");
    assert!(Target::of_model(scaled.model().clone(), Some(31)).is_err());
    assert!(Target::of_model(scaled.model().clone(), Some(0)).is_err());
}
