//! Products of any shape against the plain loop, for every family and with every option.

pub(crate) mod plain;

use crate::common;
use crate::common::inputs::Family;
use bitmma_engine::arithmetic::{Chains, Conversion, Lowering, Operation, Order};
use bitmma_engine::catalogue::find;
use bitmma_engine::formats::{BlockScale, Overflow, Rounding, table};
use bitmma_engine::gemm::{MAX_STEP, OutputConversion, Target};
use bitmma_engine::kernel::Level;
use bitmma_engine::{Architecture, Error, GemmOptions, Matrix, Model, Revision, gemm};
use plain::{Inputs, Plain};
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

/// Without C nothing is held for it, and D is the same as from zeros.
#[test]
fn no_c_is_zeros() {
    for (number, target) in targets().iter().enumerate() {
        for family in Family::ALL {
            let inputs = Inputs::new(target.model(), (70, 133, 130), family, number as u64);
            let options = inputs.options();
            let c = Matrix::zeros(target.model().c, (1, 70, 133)).unwrap();
            let without = gemm(target, &inputs.a, &inputs.b, None, &options).unwrap();
            let with = gemm(target, &inputs.a, &inputs.b, Some(&c), &options).unwrap();
            assert!(without == with, "{}, {family:?}", target.name());
        }
    }
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
                    let conversion = Conversion::new(rounding, format);
                    let nan = format.nan_code().is_none().then_some(5);
                    let output = Some(OutputConversion { conversion, overflow, nan });
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

/// A format without NaN refuses it, wherever it is in D, unless a code for it is given.
#[test]
fn nan_has_no_code_in_fp4() {
    let target =
        Target::instruction(Architecture::Hopper, "mma.m16n8k16.f32.f16.f16.f32", Revision::Hardware);
    let target = target.unwrap();
    let output = OutputConversion::nearest(E2M1);
    let with = |output, blocks, split_k, place: usize, (m, n)| {
        let a = Matrix::new(F16, (blocks, m, 16), std::iter::repeat_n(0x3c00, blocks * m * 16)).unwrap();
        let b = Matrix::new(F16, (blocks, 16, n), std::iter::repeat_n(0x1400, blocks * 16 * n)).unwrap();
        let c = (0..blocks * m * n).map(|at| if at == place { 0x7fc0_0000 } else { 0 });
        let c = Matrix::new(F32, (blocks, m, n), c).unwrap();
        gemm(
            &target,
            &a,
            &b,
            Some(&c),
            &GemmOptions { output: Some(output), split_k, ..GemmOptions::default() },
        )
    };
    for (blocks, split_k, place, size, name) in [
        (1, None, 0, (1, 1), "D[0, 0]"),
        (1, None, 57, (16, 8), "D[7, 1]"),
        (1, Some(2), 57, (16, 8), "D[7, 1]"),
        (3, None, 300, (16, 8), "D[2, 5, 4]"),
        (1, None, 1024 * 2100 + 2077, (1026, 2100), "D[1024, 2077]"), // in the last of several tiles
    ] {
        let error = with(output, blocks, split_k, place, size).unwrap_err().to_string();
        assert_eq!(error, format!("{name} is NaN, and e2m1 has no NaN; nan is the code that NaN becomes"));
    }
    let d = with(output.with_nan(Some(0xf)).unwrap(), 1, None, 57, (16, 8)).unwrap();
    assert!((0..128).all(|at| d.get(0, at / 8, at % 8) == if at == 57 { 0xf } else { 0 }));
    let error = output.with_nan(Some(16)).unwrap_err().to_string();
    assert_eq!(error, "nan is 0x10; e2m1 codes have 4 bits");
    let error = OutputConversion::asked(None, None, None, Some(3)).unwrap_err().to_string();
    assert!(error.starts_with("nan is 0x3; it needs output"), "{error}");
}

/// Rows by hand of what saturation does, from FP32.
#[test]
fn saturation_by_hand() {
    let target = Target::instruction(Architecture::Cdna3, "v_mfma_f32_16x16x4_f32", Revision::Hardware);
    let target = target.unwrap();
    let d = |value: &str, format, overflow| {
        let a = Matrix::single(F32, 1, 1, [common::code(&F32, value)]).unwrap();
        let b = Matrix::single(F32, 1, 1, [F32.one_code()]).unwrap();
        let conversion = Conversion::new(Rounding::NearestEven, format);
        let output = Some(OutputConversion { conversion, overflow, nan: None });
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
    for row in bitmma_engine::catalogue::catalogue() {
        if let Some(model) = row.model(Revision::Hardware) {
            Target::of_model(model, None).unwrap_or_else(|error| panic!("{}: {error}", row.name()));
        }
    }
}

/// The largest step: three elements are padded to it, and the result is that of the plain loop.
#[test]
fn the_largest_step() {
    let target =
        Target::instruction(Architecture::Ada, "mma.m16n8k32.f32.e4m3.e4m3.f32", Revision::Hardware).unwrap();
    let target = Target::of_model(target.model().clone(), Some(MAX_STEP)).unwrap();
    let inputs = Inputs::new(target.model(), (2, 1, 3), Family::Moderate, 1);
    let options = GemmOptions::default();
    let (a, b, c) = (&inputs.a, &inputs.b, Some(&inputs.c));
    Plain { target: &target, a, b, c, options: &options }.check("the largest step");
}

/// Beside a size of zero the others may be anything: no loop goes over them, and nothing is held for them.
#[test]
fn huge_sizes_beside_zero() {
    let huge = 1 << 40;
    let start = std::time::Instant::now();
    for target in targets() {
        let model = target.model();
        let one = target.working_format().one_code();
        let plain = GemmOptions::default();
        for (blocks, m, n, k) in [
            (huge, 0, 5, 7),
            (huge, 5, 0, 7),
            (huge, huge, 0, 7),
            (0, huge, huge, huge),
            (1, 0, 5, huge),
            (1, huge, 0, huge),
            (huge, 0, huge, huge),
            (3, 0, 1 << 62, 0),
        ] {
            let zeros = |format, rows, columns| Matrix::zeros(format, (blocks, rows, columns));
            // where both have elements, no memory holds them
            let (Ok(a), Ok(b), Ok(c)) = (zeros(model.a, m, k), zeros(model.b, k, n), zeros(model.c, m, n))
            else {
                continue;
            };
            let along = model.scale.map(|scale| (scale.format, k.div_ceil(scale.size)));
            let scales = along.map(|(format, along)| (zeros(format, m, along), zeros(format, along, n)));
            let (scale_a, scale_b) = match &scales {
                Some((Ok(a), Ok(b))) => (Some(a), Some(b)),
                Some(_) => continue,
                None => (None, None),
            };
            let plain = GemmOptions { scale_a, scale_b, ..plain };
            for options in [
                plain,
                GemmOptions { split_k: Some(1 << 50), ..plain },
                GemmOptions { promote_every: Some(target.step()), ..plain },
                GemmOptions { alpha: Some(one << 1), threads: Some(2), ..plain },
                GemmOptions { output: Some(OutputConversion::nearest(E5M2)), ..plain },
            ] {
                for c in [None, Some(&c)] {
                    let d = gemm(&target, &a, &b, c, &options).unwrap();
                    assert_eq!((d.shape(), d.codes().len()), ((blocks, m, n), 0));
                }
            }
        }
    }
    // a batch of products of K = 0: C, converted all at once
    let target =
        Target::instruction(Architecture::Ada, "mma.m16n8k32.f32.e4m3.e4m3.f32", Revision::Hardware).unwrap();
    let blocks = 1 << 24;
    let empty = |rows, columns| Matrix::zeros(E4M3, (blocks, rows, columns)).unwrap();
    let c = Matrix::new(F32, (blocks, 1, 1), (0..blocks as u64).map(|code| code << 6)).unwrap();
    for c in [None, Some(&c)] {
        let d = gemm(&target, &empty(1, 0), &empty(0, 1), c, &GemmOptions::default()).unwrap();
        let wanted = |at| c.map_or(0, |c: &Matrix| c.codes().get(at));
        assert!((0..blocks).step_by(997).all(|at| d.codes().get(at) == wanted(at)));
    }
    // of huge sizes even one loop takes minutes
    assert!(start.elapsed() < std::time::Duration::from_secs(60), "{:?}", start.elapsed());
}

/// Inputs of several products of one shape, as one.
struct Batch {
    a: Matrix,
    b: Matrix,
    c: Matrix,
    scales: Option<(Matrix, Matrix)>,
}

impl Batch {
    fn of(parts: &[Inputs]) -> Batch {
        let join = |get: &dyn Fn(&Inputs) -> &Matrix| {
            let (format, rows, columns) =
                (get(&parts[0]).format(), get(&parts[0]).rows(), get(&parts[0]).columns());
            let codes = parts.iter().flat_map(|part| get(part).iter()).collect::<Vec<_>>();
            Matrix::new(format, (parts.len(), rows, columns), codes).unwrap()
        };
        let scale =
            |get: &dyn Fn(&(Matrix, Matrix)) -> &Matrix| join(&|inputs| get(inputs.scales.as_ref().unwrap()));
        let scales = parts[0].scales.is_some().then(|| (scale(&|both| &both.0), scale(&|both| &both.1)));
        Batch {
            a: join(&|inputs| &inputs.a),
            b: join(&|inputs| &inputs.b),
            c: join(&|inputs| &inputs.c),
            scales,
        }
    }
}

/// Options with these scale factors.
fn scaled_by(scales: &Option<(Matrix, Matrix)>) -> GemmOptions<'_> {
    GemmOptions {
        scale_a: scales.as_ref().map(|scales| &scales.0),
        scale_b: scales.as_ref().map(|scales| &scales.1),
        ..GemmOptions::default()
    }
}

/// Products that are computed side by side, and those of a batch small enough for one thread, answer as each alone.
#[test]
fn products_of_a_batch_are_those_of_each_alone() {
    for (target, (m, n)) in targets().iter().flat_map(|target| [(target, (66, 70)), (target, (5, 9))]) {
        let families = [Family::Moderate, Family::Bits, Family::Moderate, Family::Notable, Family::Moderate];
        let parts: Vec<Inputs> = (families.into_iter().zip(1..))
            .map(|(family, seed)| Inputs::new(target.model(), (m, n, 64), family, seed))
            .collect();
        let batch = Batch::of(&parts);
        let d = gemm(target, &batch.a, &batch.b, Some(&batch.c), &scaled_by(&batch.scales)).unwrap();
        for (block, part) in parts.iter().enumerate() {
            let alone = gemm(target, &part.a, &part.b, Some(&part.c), &scaled_by(&part.scales)).unwrap();
            for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
                let (got, want) = (d.get(block, row, column), alone.get(0, row, column));
                assert_eq!(got, want, "{:?}: block {block}, element {row},{column}", target.model());
            }
        }
    }
}

/// Several products of one shape, and a padded K that pays e_zero.
#[test]
fn batches_and_the_price_of_padding() {
    for target in targets() {
        let shape = (3, 5, 41);
        let both = [1, 2].map(|seed| Inputs::new(target.model(), shape, Family::Moderate, seed));
        let Batch { a, b, c, scales } = Batch::of(&both);
        let options = GemmOptions { split_k: Some(2), ..scaled_by(&scales) };
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
            let report = |_: &str, done, total| {
                calls.lock().unwrap().push((done, total));
                Ok(())
            };
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
fn who_listens_stops_a_product() {
    let name = "wgmma.m64n8k16.f32.f16.f16";
    let target = Target::instruction(Architecture::Hopper, name, Revision::Hardware).unwrap();
    let inputs = Inputs::new(target.model(), (1100, 2100, 16), Family::Moderate, 1); // larger than a tile
    let done = Mutex::new(Vec::new());
    let stop = |_: &str, products, total| {
        done.lock().unwrap().push((products, total));
        Err(Error::Stopped)
    };
    let options = GemmOptions { progress: Some(&stop), ..inputs.options() };
    let stopped = gemm(&target, &inputs.a, &inputs.b, None, &options);
    assert!(matches!(stopped, Err(Error::Stopped)), "{stopped:?}");
    let done = done.into_inner().unwrap();
    assert!(done.len() == 1 && done[0].0 < done[0].1, "it stopped the work when asked: {done:?}");
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
    says(with(GemmOptions { threads: Some(4097), ..plain }), "threads is 4097; at most 4096");
    says(
        with(GemmOptions { alpha: Some(1 << 32), ..plain }),
        "alpha is 0x100000000; a code of f32 has 32 bits",
    );
    let unsigned = Some(OutputConversion::nearest(UE8M0));
    says(
        with(GemmOptions { output: unsigned, ..plain }),
        "output is ue8m0; it has no sign, as results do; one of f64,",
    );
    let asked = |rounding, overflow| OutputConversion::asked(None, rounding, overflow, None);
    assert_eq!(asked(None, None).unwrap(), None);
    for (rounding, overflow, text) in [
        (
            Some(Rounding::TowardZero),
            Some(Overflow::Ieee),
            "output_rounding is RZ; it needs output, the format",
        ),
        (None, Some(Overflow::Saturate), "overflow is saturate; it needs output, the format"),
    ] {
        assert!(asked(rounding, overflow).unwrap_err().to_string().starts_with(text), "{text}");
    }
    let alpha = |double: f64| target.factor("alpha", double.to_bits());
    let largest = "it is rounded to f32, whose largest number is 3.4028234663852886e38";
    assert_eq!(alpha(-1e39).unwrap_err().to_string(), format!("alpha is -1e39; {largest}"));
    assert_eq!(alpha(3.4028235e38).unwrap(), F32.max_finite_code());
    assert_eq!(alpha(f64::INFINITY).unwrap(), F32.infinity_code().unwrap());
    assert_eq!(alpha(1e-60).unwrap(), 0);
    let double =
        Target::instruction(Architecture::Cdna3, "v_mfma_f64_16x16x4_f64", Revision::Hardware).unwrap();
    assert_eq!(double.factor("beta", 1e39f64.to_bits()).unwrap(), 1e39f64.to_bits());
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
    for step in [0, 31] {
        let error = Target::of_model(scaled.model().clone(), Some(step)).unwrap_err().to_string();
        assert_eq!(error, format!("step is {step}; ST-FDPA takes multiples of 32, at least 32"));
    }
    // K is padded to a step: a larger one took memory for as many elements, and ended the process where there was none
    for step in [MAX_STEP + 32, 1_000_000_000_000, 1 << 53, usize::MAX] {
        let error = Target::of_model(scaled.model().clone(), Some(step)).unwrap_err().to_string();
        assert_eq!(error, format!("step is {step}; it is at most 1048576, as K is padded to it"));
    }
    // so did a step that a model's own numbers made
    let mut many = base(Architecture::Hopper, "wgmma.m64n8k16.f32.f16.f16");
    sum(&mut many, 65536);
    many.lowering.chains = Some(Chains { count: 65536, merge: Conversion::RNE_FP32 });
    let error = Target::of_model(many, None).unwrap_err().to_string();
    assert!(error.starts_with("step is 4294967296; it is at most 1048576"), "{error}");
}
