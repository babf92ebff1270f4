//! FP32 scales of blocks, bit for bit against the plain loop.

use crate::common::inputs::Family;
use crate::gemm::plain::{Inputs, Plain};
use bitmma_engine::formats::cases::notable_codes;
use bitmma_engine::formats::table::{BF16, F32, F64};
use bitmma_engine::gemm::{OutputConversion, ScaleBlocks, ScaleOrder, Target, scale_blocks};
use bitmma_engine::kernel::Level;
use bitmma_engine::{Architecture, GemmOptions, Matrix, Revision, gemm};

/// FP8 of every architecture that trains with block scales, FP16 with an FP16 accumulator, and kernels that are not
/// driven tile by tile.
const INSTRUCTIONS: [(Architecture, &str); 8] = [
    (Architecture::Hopper, "wgmma.m64n8k32.f32.e4m3.e5m2"),
    (Architecture::Ada, "mma.m16n8k32.f32.e4m3.e4m3.f32"),
    (Architecture::Blackwell, "tcgen05.mma.m128n8k32.kind::f8f6f4.f32.e4m3.e4m3"),
    (Architecture::Cdna3, "v_mfma_f32_16x16x32_fp8_fp8"),
    (Architecture::Hopper, "wgmma.m64n8k16.f16.f16.f16"),
    (Architecture::Cdna2, "v_mfma_f32_16x16x8bf16"),
    (Architecture::Cdna3, "v_mfma_f32_16x16x4_f32"),
    (Architecture::Volta, "mma.m8n8k4.f32.f16.f16.f16"),
];

fn targets() -> Vec<Target> {
    let of = |(architecture, name)| Target::instruction(architecture, name, Revision::Hardware).unwrap();
    INSTRUCTIONS.map(of).into()
}

/// Scales near one, and every fourth one that is notable: zeros, subnormal numbers, infinities, NaN, both signs.
fn scales(rows: usize, columns: usize, seed: u64) -> Matrix {
    let notable = notable_codes(&F32);
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    let codes = (0..rows * columns).map(|_| match next() % 4 {
        0 => notable[next() as usize % notable.len()],
        _ => (0x3d80_0000 + next() % 0x0400_0000) | (next() & 1) << 31,
    });
    Matrix::single(F32, rows, columns, codes.collect::<Vec<_>>()).unwrap()
}

/// The scales that a product of this shape takes.
fn both(blocks: ScaleBlocks, (m, n, k): (usize, usize, usize), seed: u64) -> (Matrix, Matrix) {
    let along = blocks.along(k);
    (scales(m.div_ceil(blocks.rows), along, seed), scales(along, n.div_ceil(blocks.columns), seed + 1))
}

const SHAPES: [(usize, usize, usize); 9] = [
    (3, 5, 128),
    (5, 3, 257),
    (130, 2, 129),
    (2, 131, 384),
    (1, 1, 1),
    (7, 4, 500),
    (0, 3, 64),
    (3, 0, 200),
    (2, 3, 0),
];

fn sizes() -> Vec<ScaleBlocks> {
    let mut all = Vec::new();
    for (rows, columns, k) in
        [(1, 128, 128), (1, 1, 128), (128, 1, 128), (128, 128, 128), (2, 3, 64), (1, 1, 0)]
    {
        for order in [ScaleOrder::Product, ScaleOrder::AFirst, ScaleOrder::BFirst] {
            for fma in [true, false] {
                all.push(ScaleBlocks { k, rows, columns, order, fma });
            }
        }
    }
    all
}

/// Every order of the products, ragged M, N and K, every kind of scale, with C, alpha and beta.
#[test]
fn scales_are_applied_as_the_plain_loop_says() {
    let mut elements = 0;
    for (number, target) in targets().iter().enumerate() {
        for (index, blocks) in sizes().into_iter().enumerate() {
            for turn in 0..2 {
                let shape = SHAPES[(index + 5 * turn + number) % SHAPES.len()];
                let seed = (number * 1000 + index * 10 + turn) as u64;
                let family = Family::ALL[(number + index + turn) % Family::ALL.len()];
                let inputs = Inputs::new(target.model(), shape, family, seed);
                let (of_a, of_b) = both(blocks, shape, seed);
                let one = target.working_format().one_code();
                let options = GemmOptions {
                    scale_a: Some(&of_a),
                    scale_b: Some(&of_b),
                    scale_blocks: Some(blocks),
                    promote_every: (blocks.k == 0 && turn == 1).then_some(128),
                    alpha: (index % 5 == 3).then_some(one + 12345),
                    beta: (index % 7 == 2).then_some(one + 77),
                    output: (index % 2 == 0).then_some(OutputConversion::nearest(BF16)),
                    ..inputs.options()
                };
                let (a, b) = (&inputs.a, &inputs.b);
                let c = (index % 3 == 0).then_some(&inputs.c);
                elements += Plain { target, a, b, c, options: &options }
                    .check(&format!("{family:?}, {blocks:?}, C {}", c.is_some()));
            }
        }
    }
    assert!(elements > 10_000, "{elements} elements");
}

/// The same bits for any number of threads, on every instruction set, and for products of one shape side by side.
#[test]
fn neither_threads_nor_instruction_set_change_a_bit() {
    let target = &targets()[0];
    let shape = (70, 90, 300);
    let blocks = ScaleBlocks::new(1, 128, 128);
    let inputs = Inputs::new(target.model(), shape, Family::Bits, 5);
    let (of_a, of_b) = both(blocks, shape, 5);
    let options = GemmOptions {
        scale_a: Some(&of_a),
        scale_b: Some(&of_b),
        scale_blocks: Some(blocks),
        ..GemmOptions::default()
    };
    let d = |options: &GemmOptions<'_>| gemm(target, &inputs.a, &inputs.b, None, options).unwrap();
    let expected = d(&options);
    for threads in [1, 3] {
        assert!(expected == d(&GemmOptions { threads: Some(threads), ..options }));
    }
    for level in Level::available() {
        assert!(expected == d(&GemmOptions { level: Some(level), ..options }), "{level:?}");
    }
    let twice = |matrix: &Matrix| {
        let codes: Vec<u64> = matrix.iter().chain(matrix.iter()).collect();
        Matrix::new(matrix.format(), (2, matrix.rows(), matrix.columns()), codes).unwrap()
    };
    let (a, b, two_a, two_b) = (twice(&inputs.a), twice(&inputs.b), twice(&of_a), twice(&of_b));
    let options = GemmOptions { scale_a: Some(&two_a), scale_b: Some(&two_b), ..options };
    assert!(twice(&expected) == gemm(target, &a, &b, None, &options).unwrap());
}

/// By hand: 128 products of 1 in each of two blocks, scales 2·3 and 2^-130·2^-20.
#[test]
fn by_hand() {
    let target = &targets()[1];
    let one =
        |rows, columns| Matrix::single(target.model().a, rows, columns, vec![0x38; rows * columns]).unwrap();
    let (a, b) = (one(1, 256), one(256, 1));
    let two = |x: u64, y: u64, rows, columns| Matrix::single(F32, rows, columns, [x, y]).unwrap();
    let d = |of_a: Matrix, of_b: Matrix, order, fma| {
        let blocks = ScaleBlocks { order, fma, ..ScaleBlocks::new(1, 1, 128) };
        let options = GemmOptions {
            scale_a: Some(&of_a),
            scale_b: Some(&of_b),
            scale_blocks: Some(blocks),
            ..GemmOptions::default()
        };
        gemm(target, &a, &b, None, &options).unwrap().get(0, 0, 0)
    };
    let (three, tiny) = (0x4040_0000, 0x0080_0000 >> 4); // 3 and 2^-130
    let of_a = || two(0x4000_0000, tiny, 1, 2);
    // the product of the scales of block 1 underflows: only block 0 counts, 128 · 6 = 768
    let of_b = || two(three, (127 - 20) << 23, 2, 1);
    assert_eq!(d(of_a(), of_b(), ScaleOrder::Product, true), 0x4440_0000);
    // 2^100 with 2^-130: the sums are 0 · 128 + 2^-30 · 128 = 2^-23
    let of_b = || two(0, (127 + 100) << 23, 2, 1);
    assert_eq!(d(of_a(), of_b(), ScaleOrder::AFirst, true), (127 - 23) << 23);
    // 128 · (1 + 2^-23) · (1 + 2^-23) is 128 · (1 + 2^-22) where the product is rounded; less 128 · (1 + 2^-22) the
    // FMA keeps 128 · 2^-46 = 2^-39 of it
    let of_a = || two(0xbf80_0002, 0x3f80_0001, 1, 2);
    let of_b = || two(0x3f80_0000, 0x3f80_0001, 2, 1);
    assert_eq!(d(of_a(), of_b(), ScaleOrder::AFirst, false), 0);
    assert_eq!(d(of_a(), of_b(), ScaleOrder::AFirst, true), (127 - 39) << 23);
}

#[test]
fn what_does_not_fit_is_refused() {
    let target = &targets()[0];
    let shape = (4, 6, 200);
    let inputs = Inputs::new(target.model(), shape, Family::Moderate, 1);
    let blocks = ScaleBlocks::new(1, 128, 128);
    let (of_a, of_b) = both(blocks, shape, 1);
    let plain = GemmOptions {
        scale_a: Some(&of_a),
        scale_b: Some(&of_b),
        scale_blocks: Some(blocks),
        ..GemmOptions::default()
    };
    let with = |target: &Target, options: GemmOptions<'_>| {
        let inputs = Inputs::new(target.model(), shape, Family::Moderate, 1);
        gemm(target, &inputs.a, &inputs.b, None, &options).unwrap_err().to_string()
    };
    let says = |text: String, part: &str| assert!(text.contains(part), "{text:?} does not say {part:?}");
    says(with(target, GemmOptions { scale_b: None, ..plain }), "2×1 f32 scales (scale_blocks 1x128,128x128)");
    says(with(target, GemmOptions { scale_b: Some(&of_a), ..plain }), "scale B is 4×2");
    says(with(target, GemmOptions { promote_every: Some(128), ..plain }), "promote_every is 128");
    says(with(target, GemmOptions { split_k: Some(2), ..plain }), "split_k is 2");
    let odd = Some(ScaleBlocks::new(1, 128, 100));
    says(with(target, GemmOptions { scale_blocks: odd, ..plain }), "K of scale_blocks is 100");
    let none = Some(ScaleBlocks::new(0, 128, 128));
    says(with(target, GemmOptions { scale_blocks: none, ..plain }), "blocks have 0 rows");
    let wide =
        Target::instruction(Architecture::Ampere, "mma.m8n8k4.f64.f64.f64.f64", Revision::Hardware).unwrap();
    assert_eq!(wide.working_format(), F64);
    says(with(&wide, plain), "sums in f64; the scales are f32");
    let own = "mma.m16n8k32.kind::mxf8f6f4.block32.f32.e4m3.e2m3.f32.ue8m0";
    let own = Target::instruction(Architecture::RtxBlackwell, own, Revision::Hardware).unwrap();
    says(with(&own, plain), "takes ue8m0 factors of its own");
    says(
        gemm(target, &inputs.a, &inputs.b, None, &GemmOptions { scale_blocks: None, ..plain })
            .unwrap_err()
            .to_string(),
        "takes no scale factors",
    );
}

#[test]
fn sizes_are_read_back() {
    for text in ["1x128,128x128", "1x128,1x128", "2x64,3x64", "row"] {
        assert_eq!(scale_blocks(text).unwrap().to_string(), text);
    }
    assert_eq!(scale_blocks("1x128,128x128").unwrap(), ScaleBlocks::new(1, 128, 128));
    for text in ["", "1x128", "1x128,128x64", "0x128,1x128", "1x0,1x0", "1x128,128x128,1x1", "a,b", "rows"] {
        let error = scale_blocks(text).unwrap_err().to_string();
        assert!(error.contains("1x128,128x128"), "{text}: {error}");
    }
}
