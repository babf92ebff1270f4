//! The executor against the definition, bit for bit: every kind of deal, promotion, merge and epilogue.

use bitmma_calls::call::Scales;
use bitmma_calls::epilogue::{finished, output};
use bitmma_calls::execute::{element, parts};
use bitmma_calls::plan::*;
use bitmma_calls::{Call, execute};
use bitmma_engine::formats::{BF16, E4M3, E5M2, F16, F32, Format};
use bitmma_engine::gemm::nan_code;
use bitmma_engine::{Architecture, Matrix};

/// A small stream of numbers (Steele and Vigna's SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, most: usize) -> usize {
        (self.next() % most as u64) as usize
    }

    fn of<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }

    /// Any code, or mostly numbers near one.
    fn code(&mut self, format: &Format, any: bool) -> u64 {
        let code = self.next() & format.max_code();
        if any {
            return code;
        }
        let fraction = code & ((1 << format.fraction_bits) - 1);
        let exponent = (format.bias as u64 + self.next() % 4 - 2) << format.fraction_bits;
        (code & format.sign_bit()) | exponent | fraction
    }

    fn matrix(&mut self, format: Format, rows: usize, columns: usize, any: bool) -> Matrix {
        let codes: Vec<u64> = (0..rows * columns).map(|_| self.code(&format, any)).collect();
        Matrix::single(format, rows, columns, codes).expect("a matrix")
    }

    fn scale(&mut self) -> u32 {
        let odd =
            [0, 0x8000_0000, 0x3f80_0000, 0xbf80_0000, 0x7f80_0000, 0x7fc0_0000, 0x0000_0001, 0x7f7f_ffff];
        match self.below(4) {
            0 => self.of(&odd),
            1 => self.next() as u32,
            _ => 0x3000_0000 | self.next() as u32 & 0x8fff_ffff,
        }
    }
}

const INSTRUCTIONS: [(Architecture, &str, Format, Format, usize); 6] = [
    (Architecture::Ada, "mma.m16n8k32.f32.e4m3.e5m2.f32", E4M3, E5M2, 32),
    (Architecture::Hopper, "wgmma.m64n256k32.f32.e4m3.e4m3", E4M3, E4M3, 32),
    (Architecture::Blackwell, "tcgen05.mma.m128n256k16.kind::f16.f32.bf16.bf16", BF16, BF16, 16),
    (Architecture::Hopper, "mma.m16n8k8.f32.f16.f16.f32", F16, F16, 8),
    (Architecture::Ampere, "mma.m16n8k16.f32.f16.f16.f32", F16, F16, 16),
    (Architecture::Cdna3, "v_mfma_f32_32x32x8_f16", F16, F16, 8),
];

fn plan(random: &mut Random) -> (Plan, Format, Format) {
    let (arch, name, a, b, step) = random.of(&INSTRUCTIONS);
    let mut plan = Plan::chain(arch, name);
    let parts = 1 + random.below(7);
    let grain = step * (1 + random.below(4));
    match random.below(6) {
        0 => {}
        1 => plan.deal = Deal { kind: DealKind::Interleaved, grain, parts, ..Deal::default() },
        2 => {
            let tail = random.of(&[Tail::Kept, Tail::Lost]);
            plan.deal = Deal { kind: DealKind::Contiguous, grain, parts, tail, ..Deal::default() };
        }
        3 => {
            let dot = random.of(&[step, step / 2]);
            plan.deal = Deal { dot, residue_block: dot * (1 + random.below(4)), ..Deal::default() };
            if random.below(2) == 0 {
                (plan.deal.kind, plan.deal.chunk) = (DealKind::Contiguous, 8 * (1 + random.below(12)));
            }
        }
        4 => plan.deal = Deal { slices: 2 + random.below(2), slice: step, ..Deal::default() },
        _ => plan.deal = Deal { rotate: step, ..Deal::default() },
    }
    if plan.deal.dot == 0 && plan.deal.slices == 1 && random.below(2) == 0 {
        plan.promote.every = step * (1 + random.below(4));
    }
    if plan.deal.kind != DealKind::None {
        plan.merge.order = random.of(&[MergeOrder::Serial, MergeOrder::Pairwise]);
        plan.merge.start = random.of(&[First::First, First::Zero]);
        if plan.merge.order == MergeOrder::Serial {
            plan.merge.kind = random.of(&[MergeType::F32, MergeType::D, MergeType::DPartials]);
        }
    }
    plan.epilogue.multiply = random.of(&[Multiply::FmaZero, Multiply::Mul, Multiply::MulAdd, Multiply::None]);
    plan.epilogue.through = random.of(&[Through::F32, Through::F32, Through::None]);
    plan.epilogue.saturate = random.below(3) > 0;
    plan.epilogue.scale_result = random.of(&[ScaleResult::Fp8Only, ScaleResult::Never]);
    (plan, a, b)
}

fn hold(plan: &Plan, call: &Call<'_>, seed: u64) {
    plan.check().unwrap_or_else(|error| panic!("seed {seed}: {error}\n{}", plan.to_toml()));
    let d = execute(plan, call).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{}", plan.to_toml()));
    if plan.blocks.is_some() && plan.deal != Deal::default() {
        let parts = parts(plan, call).expect("parts");
        let first = element(plan, call, 0, 0).expect("an element").parts;
        assert_eq!(
            parts.iter().map(|part| u64::from(part[0])).collect::<Vec<u64>>(),
            first,
            "seed {seed}, parts"
        );
    }
    for row in 0..d.rows() {
        for column in 0..d.columns() {
            let expected = element(plan, call, row, column).expect("an element").code;
            let actual = d.get(0, row, column);
            assert_eq!(
                actual,
                expected,
                "seed {seed}, D[{row}, {column}], K = {}\n{}",
                call.a.columns(),
                plan.to_toml()
            );
        }
    }
}

#[test]
fn the_executor_answers_as_the_definition() {
    for seed in 0..600 {
        let mut random = Random(seed);
        let (plan, a, b) = plan(&mut random);
        let (m, n, k) = (1 + random.below(4), 1 + random.below(20), 33 + random.below(400));
        let any = random.below(4) == 0;
        let (a, b) = (random.matrix(a, m, k, any), random.matrix(b, k, n, any));
        let out = random.of(&[F32, BF16, F16, E4M3, E5M2]);
        let result = (random.below(2) == 0).then(|| random.scale());
        let scales = Scales { a: random.scale(), b: random.scale(), result };
        hold(&plan, &Call { scales, ..Call::new(&a, &b, out) }, seed);
    }
}

#[test]
fn block_scales_and_simt_sums_answer_as_the_definition() {
    for seed in 0..200 {
        let mut random = Random(seed ^ 0xb10c);
        let (m, n, k) = (1 + random.below(5), 1 + random.below(140), 1 + random.below(400));
        let (plan, a, b, blocks) = if random.below(2) == 0 {
            let mut plan = Plan::chain(Architecture::Hopper, "wgmma.m64n256k32.f32.e4m3.e4m3");
            let (rows, columns) = random.of(&[(1, 128), (1, 1), (128, 128), (128, 1)]);
            let order = random.of(&[BlockOrder::Product, BlockOrder::AFirst, BlockOrder::BFirst]);
            let block = random.of(&[128, 64, 0]);
            plan.blocks = Some(Blocks { k: block, rows, columns, order, fma: random.below(2) == 0 });
            if block == 0 {
                plan.promote.every = random.of(&[0, 128]);
            } else if random.below(2) == 0 {
                let kind = random.of(&[DealKind::Contiguous, DealKind::Interleaved]);
                plan.deal = Deal {
                    kind,
                    grain: block * random.of(&[1, 2]),
                    parts: 1 + random.below(4),
                    ..Deal::default()
                };
                plan.merge.order = random.of(&[MergeOrder::Serial, MergeOrder::Pairwise]);
            }
            let along = if block == 0 { 1 } else { k.div_ceil(block) };
            let of = |random: &mut Random, rows, columns| {
                let codes: Vec<u64> = (0..rows * columns).map(|_| u64::from(random.scale())).collect();
                Matrix::single(F32, rows, columns, codes).expect("scales")
            };
            let scales =
                (of(&mut random, m.div_ceil(rows), along), of(&mut random, along, n.div_ceil(columns)));
            (plan, random.matrix(E4M3, m, k, false), random.matrix(E4M3, k, n, false), Some(scales))
        } else {
            let mut plan = Plan::chain(Architecture::Hopper, "");
            plan.instruction = None;
            let family =
                random.of(&[SimtFamily::Chains, SimtFamily::Gemv, SimtFamily::GemvSlices, SimtFamily::Dot]);
            let dot = family == SimtFamily::Dot;
            plan.simt = Some(Simt {
                family,
                threads: 1 + random.below(5),
                block: random.of(&[0, 16, 100]),
                vector: if dot { random.of(&[1, 2]) } else { random.of(&[-64, 1, 4]) },
                lanes: random.of(&[1, 2, 16, 32]),
                tiles: random.of(&[0, 1, 16]),
                fold: random.of(&[Fold::Halves, Fold::InOrder]),
                slices: 1 + random.below(6),
            });
            let any = random.below(3) == 0;
            (plan, random.matrix(BF16, m, k, any), random.matrix(BF16, k, n, any), None)
        };
        let scales = blocks.as_ref().map(|(of_a, of_b)| (of_a, of_b));
        hold(&plan, &Call { blocks: scales, ..Call::new(&a, &b, random.of(&[F32, BF16])) }, seed);
    }
}

#[test]
fn rounding_into_narrow_formats_is_the_encoders() {
    let mut random = Random(7);
    for format in [F32, BF16, F16, E4M3, E5M2] {
        for saturate in [false, true] {
            let mut plan = Plan::chain(Architecture::Ada, "mma.m16n8k32.f32.e4m3.e4m3.f32");
            plan.epilogue.saturate = saturate;
            plan.epilogue.multiply = Multiply::None;
            let narrow = output(&plan.epilogue, format).expect("a format of D").of(F32, 1);
            // every exponent with fractions around each place where a bit is cut, and random codes
            let near = (0..256u32).flat_map(|exponent| {
                (0..24).flat_map(move |bit| {
                    (-2i32..=2).map(move |step| (exponent << 23 | (1 << bit) >> 1).wrapping_add_signed(step))
                })
            });
            let codes: Vec<u32> = near.chain((0..200_000).map(|_| random.next() as u32)).collect();
            for code in codes.iter().flat_map(|&code| [code, code ^ 0x8000_0000]) {
                let expected = finished(&plan.epilogue, Scales::ONE, format, code).expect("an epilogue");
                assert_eq!(narrow(code.into()), expected, "{code:#x} into {format}, saturate {saturate}");
            }
            assert_eq!(narrow(0xffc0_0000), nan_code(&format));
        }
    }
}
