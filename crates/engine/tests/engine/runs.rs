//! Sums of runs along K inside the kernels: runs of every length against the spans that are packed, rows and columns
//! beyond a block, and NaN, infinities and overflow in some runs only, bit for bit against the plain loop.

use crate::common::inputs::Family;
use crate::gemm::plain::{Inputs, Plain};
use bitmma_engine::gemm::{Given, OutputConversion, ScaleBlocks, Schedule, Target, execute_each};
use bitmma_engine::kernel::Level;
use bitmma_engine::{Architecture, GemmOptions, Matrix, Revision, gemm};

/// Each kernel and each way its accumulators become results.
const INSTRUCTIONS: [(Architecture, &str); 10] = [
    (Architecture::Hopper, "wgmma.m64n8k32.f32.e4m3.e5m2"),
    (Architecture::Hopper, "wgmma.m64n8k16.f16.f16.f16"),
    (Architecture::Ampere, "mma.m16n8k8.f32.bf16.bf16.f32"),
    (Architecture::RtxBlackwell, "mma.m16n8k32.kind::mxf8f6f4.block32.f32.e5m2.e2m3.f32.ue8m0"),
    (Architecture::RtxBlackwell, "mma.m16n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.f32.ue4m3"),
    (Architecture::Cdna3, "v_mfma_f32_16x16x16_bf16"),
    (Architecture::Cdna3, "v_mfma_f32_16x16x32_bf8_fp8"),
    (Architecture::Cdna1, "v_mfma_f32_16x16x16f16"),
    (Architecture::Cdna2, "v_mfma_f32_16x16x8bf16"),
    (Architecture::Ampere, "mma.m8n8k4.f64.f64.f64.f64"),
];

/// The matrix with infinity or NaN, and the largest number, at a few places.
fn planted(matrix: &Matrix, seed: usize) -> Matrix {
    let format = matrix.format();
    let special = [format.infinity_code(), format.nan_code(), Some(format.max_finite_code())];
    let (rows, columns) = (matrix.rows(), matrix.columns());
    let mut codes: Vec<u64> = matrix.iter().collect();
    for (index, code) in special.into_iter().flatten().enumerate() {
        for turn in 0..3 {
            let at = (seed * 7919 + index * 104_729 + turn * 1_299_709) % (rows * columns);
            codes[at] = code | if turn == 1 { format.sign_bit() } else { 0 };
        }
    }
    Matrix::single(format, rows, columns, codes).unwrap()
}

/// Every `stride`-th element of D is that of the plain loop; D, for comparison with others.
fn check(plain: &Plain<'_>, stride: usize, what: &str) -> Matrix {
    let d = gemm(plain.target, plain.a, plain.b, plain.c, plain.options).unwrap();
    let n = plain.b.columns();
    for index in (0..plain.a.rows() * n).step_by(stride) {
        let (row, column) = (index / n, index % n);
        let (expected, actual) = (plain.element((0, row, column)), d.get(0, row, column));
        let name = plain.target.name();
        assert_eq!(expected, actual, "{name}, {what}, element {row}, {column}");
    }
    d
}

#[test]
fn runs_of_every_length() {
    for (number, (architecture, name)) in INSTRUCTIONS.into_iter().enumerate() {
        let target = Target::instruction(architecture, name, Revision::Hardware).unwrap();
        let step = target.step();
        // one span and less, whole spans, between two, beyond; one more than a row block and a panel
        let (m, n, k) = (67, 65, 1089);
        let inputs = Inputs::new(target.model(), (m, n, k), Family::Moderate, number as u64);
        let (a, b) = (planted(&inputs.a, number), planted(&inputs.b, number + 1));
        let c = planted(&inputs.c, number + 2);
        for (turn, elements) in [64, 96, 128, 192, 256, 320, 640, 2048].into_iter().enumerate() {
            let promote_every = Some(step * (elements / step).max(1));
            let split_k = [None, Some(3), None, Some(2)][turn % 4];
            let options = GemmOptions { promote_every, split_k, ..inputs.options() };
            let c = (turn % 3 != 1).then_some(&c);
            let plain = Plain { target: &target, a: &a, b: &b, c, options: &options };
            let d = check(&plain, 11, &format!("every {promote_every:?}, split {split_k:?}"));
            for level in Level::available() {
                let options = GemmOptions { level: Some(level), ..options };
                assert!(d == gemm(&target, &a, &b, c, &options).unwrap(), "{name}, {elements}, {level:?}");
            }
        }
        for split_k in [2, 3, 5, 17] {
            let options = GemmOptions { split_k: Some(split_k), ..inputs.options() };
            let plain = Plain { target: &target, a: &a, b: &b, c: Some(&c), options: &options };
            check(&plain, 11, &format!("split {split_k}"));
        }
    }
}

/// Scales of blocks where some elements are special: what a scale of zero or a negative one makes of infinity.
#[test]
fn scaled_runs_with_specials() {
    for (number, (architecture, name)) in INSTRUCTIONS.into_iter().enumerate().take(9) {
        let target = Target::instruction(architecture, name, Revision::Hardware).unwrap();
        if target.model().scale.is_some() {
            continue;
        }
        let (m, n, k) = (67, 65, 700);
        let inputs = Inputs::new(target.model(), (m, n, k), Family::Moderate, number as u64);
        let (a, b) = (planted(&inputs.a, number), planted(&inputs.b, number + 1));
        for blocks in [ScaleBlocks::new(1, 3, 128), ScaleBlocks::new(2, 1, 384)] {
            let along = blocks.along(k);
            let scales = |rows: usize, columns: usize| {
                let codes = (0..rows * columns).map(|index| match index % 5 {
                    0 => 0,
                    1 => 0xc000_0000,
                    at => 0x3f80_0000 + at as u64,
                });
                let f32 = bitmma_engine::formats::F32;
                Matrix::single(f32, rows, columns, codes.collect::<Vec<u64>>()).unwrap()
            };
            let of_a = scales(m.div_ceil(blocks.rows), along);
            let of_b = scales(along, n.div_ceil(blocks.columns));
            let options = GemmOptions {
                scale_a: Some(&of_a),
                scale_b: Some(&of_b),
                scale_blocks: Some(blocks),
                ..GemmOptions::default()
            };
            let plain = Plain { target: &target, a: &a, b: &b, c: None, options: &options };
            check(&plain, 11, &format!("scales {blocks}"));
        }
    }
}

/// One row in many orders at once, runs of which end anywhere: each as the plain loop has it, and as it is alone.
#[test]
fn orders_of_one_row_together() {
    for (number, (architecture, name)) in INSTRUCTIONS.into_iter().enumerate() {
        let target = Target::instruction(architecture, name, Revision::Hardware).unwrap();
        let step = target.step();
        let inputs = Inputs::new(target.model(), (1, 65, 1089), Family::Moderate, number as u64);
        for special in [false, true] {
            let of = |matrix: &Matrix, seed| if special { planted(matrix, seed) } else { matrix.clone() };
            let (a, b) = (of(&inputs.a, number), of(&inputs.b, number + 1));
            for c in [None, Some(&inputs.c)] {
                let output =
                    (number % 3 == 1).then_some(OutputConversion::nearest(bitmma_engine::formats::BF16));
                let lengths = [None, Some(step), Some(3 * step), Some(128.max(step)), Some(10 * step)];
                let orders = lengths.into_iter().flat_map(|every| [1, 2, 3, 7].map(|parts| (every, parts)));
                let options: Vec<GemmOptions<'_>> = orders
                    .map(|(promote_every, parts)| GemmOptions {
                        promote_every,
                        split_k: Some(parts),
                        output,
                        ..inputs.options()
                    })
                    .collect();
                let (scale_a, scale_b) = inputs.scales.as_ref().map(|(a, b)| (a, b)).unzip();
                let given = Given { a: (&a).into(), b: (&b).into(), c, scale_a, scale_b };
                let of =
                    |options: &GemmOptions<'_>| Schedule::new(&target, &given.shapes(), options).unwrap();
                let schedules: Vec<Schedule> = options.iter().map(of).collect();
                let all = execute_each(&target, &schedules.iter().collect::<Vec<_>>(), &given);
                for (d, options) in all.into_iter().zip(&options) {
                    let plain = Plain { target: &target, a: &a, b: &b, c, options };
                    let GemmOptions { promote_every, split_k, .. } = options;
                    let what = format!("every {promote_every:?}, split {split_k:?}, special {special}");
                    assert!(d.unwrap() == check(&plain, 21, &what), "{name}, {what}");
                }
            }
        }
    }
}
