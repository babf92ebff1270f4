//! What a call costs beside the plain product of its size. A measurement: run it alone, on an idle machine,
//! `cargo test --release --workspace --test calls cost -- --ignored --nocapture`; BITMMA_SIZE sets M = N = K,
//! BITMMA_ROUNDS how often each is timed.

#![allow(clippy::print_stdout)] // measurements print

use std::sync::OnceLock;
use std::time::Instant;

use bitmma_calls::cublaslt::{Assume, Config};
use bitmma_calls::platform::Platform;
use bitmma_calls::{Call, Plan, cublaslt, execute};
use bitmma_engine::formats::{BF16, E4M3, F32, Format};
use bitmma_engine::gemm::{OutputConversion, ScaleBlocks, Target};
use bitmma_engine::kernel::Level;
use bitmma_engine::{Architecture, GemmOptions, Matrix, Revision, gemm};

/// Numbers within a factor of 16.
fn matrix(format: Format, size: usize, mut state: u64) -> Matrix {
    let (low, bits) = (format.one_code(), format.fraction_bits + 2);
    let codes = (0..size * size).map(|_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (low - (1 << (bits - 1)) + ((state >> 20) & ((1 << bits) - 1)))
            | if state >> 63 == 1 { format.sign_bit() } else { 0 }
    });
    Matrix::single(format, size, size, codes).expect("a matrix")
}

fn target(architecture: Architecture, name: &str) -> Target {
    Target::instruction(architecture, name, Revision::Hardware).expect("an instruction")
}

/// Seconds that all threads of this process have computed, where Linux counts them: other work on the machine then
/// changes little. With several threads, or elsewhere, the time of day.
fn seconds() -> f64 {
    static START: OnceLock<Instant> = OnceLock::new();
    let of_task = |task: std::fs::DirEntry| -> Option<f64> {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        Some(text.split(' ').next()?.parse::<f64>().ok()? / 1e9)
    };
    if bitmma_engine::threads::count() == 1
        && let Ok(tasks) = std::fs::read_dir("/proc/self/task")
        && let Some(sum) = tasks.map(|task| of_task(task.ok()?)).sum::<Option<f64>>()
    {
        return sum;
    }
    START.get_or_init(Instant::now).elapsed().as_secs_f64()
}

/// What is timed: a name, and one run of it.
type Way<'w> = (String, Box<dyn Fn() + 'w>);

/// Ratios to the first way: the median of the rounds, in each of which all ways run in turn, and that of the least times.
fn print_ratios(what: &str, ways: &[Way<'_>]) {
    let rounds = std::env::var("BITMMA_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(5);
    let times: Vec<Vec<f64>> = (0..rounds)
        .map(|_| {
            let time = |(_, work): &Way<'_>| {
                let start = seconds();
                work();
                seconds() - start
            };
            ways.iter().map(time).collect()
        })
        .collect();
    let least = |way: usize| times.iter().map(|round| round[way]).fold(f64::MAX, f64::min);
    println!("{what} on {} threads: {:.4} s at least", bitmma_engine::threads::count(), least(0));
    for (way, (name, _)) in ways.iter().enumerate().skip(1) {
        let mut ratios: Vec<f64> = times.iter().map(|round| round[way] / round[0]).collect();
        ratios.sort_by(f64::total_cmp);
        println!("  {name}: {:.3} of it, least over least {:.3}", ratios[rounds / 2], least(way) / least(0));
    }
}

fn size() -> usize {
    std::env::var("BITMMA_SIZE").ok().and_then(|text| text.parse().ok()).unwrap_or(1024)
}

#[test]
#[ignore = "a measurement"]
fn a_call_beside_the_plain_product() {
    let size = size();
    let (a, b) = (&matrix(E4M3, size, 1), &matrix(E4M3, size, 2));
    let platform = Platform::parse("h100-pcie").expect("a platform");
    let plan = |fast: bool, parts: i64| -> Plan {
        let query = platform.query((size, size, size), (E4M3, E4M3, BF16), fast);
        let reduction = Some(if parts > 1 { 2 } else { 0 });
        let config =
            Config { id: Some(66), splitk: Some(parts), reduction, stages: Some(36), ..Config::default() };
        cublaslt::plan(&query, &config, Assume::default()).expect("a plan").plan
    };
    let target = target(Architecture::Hopper, "wgmma.m64n256k32.f32.e4m3.e4m3");
    let plain = GemmOptions { output: Some(OutputConversion::nearest(BF16)), ..GemmOptions::default() };
    let mut ways: Vec<Way<'_>> =
        vec![("gemm".to_owned(), Box::new(|| drop(gemm(&target, a, b, None, &plain).expect("a product"))))];
    for (name, plan) in [
        ("call, fast, one part", plan(true, 1)),
        ("call, fast, 4 parts", plan(true, 4)),
        ("call, slow, one part", plan(false, 1)),
    ] {
        let run = move || drop(execute(&plan, &Call::new(a, b, BF16)).expect("a call"));
        ways.push((name.to_owned(), Box::new(run)));
    }
    print_ratios(&format!("{size}^3"), &ways);
}

/// Promotion, split K and block scales beside the plain product, D as the instruction writes it.
#[test]
#[ignore = "a measurement"]
fn sums_of_runs_beside_the_plain_product() {
    let size = size();
    for (architecture, name) in [
        (Architecture::Hopper, "wgmma.m64n256k32.f32.e4m3.e4m3"),
        (Architecture::Blackwell, "tcgen05.mma.m128n256k32.kind::f8f6f4.f32.e4m3.e4m3"),
        (Architecture::Hopper, "wgmma.m64n256k16.f32.f16.f16"),
        (Architecture::Cdna2, "v_mfma_f32_32x32x8f16"),
        (Architecture::Cdna3, "v_mfma_f32_32x32x2_f32"),
    ] {
        let target = &target(architecture, name);
        let (a, b) = (&matrix(target.model().a, size, 1), &matrix(target.model().b, size, 2));
        let along = size.div_ceil(128);
        let of_a = &Matrix::single(F32, size, along, vec![0x3f80_0001; size * along]).expect("scales");
        let of_b = &Matrix::single(F32, along, along, vec![0x3f7f_ffff; along * along]).expect("scales");
        let plain = GemmOptions::default();
        let scaled = GemmOptions {
            scale_a: Some(of_a),
            scale_b: Some(of_b),
            scale_blocks: Some(ScaleBlocks::new(1, 128, 128)),
            ..plain
        };
        let ways = [
            ("gemm", plain),
            ("promote_every 128", GemmOptions { promote_every: Some(128), ..plain }),
            ("promote_every 512", GemmOptions { promote_every: Some(512), ..plain }),
            ("split_k 4", GemmOptions { split_k: Some(4), ..plain }),
            ("scale_blocks 1x128,128x128", scaled),
        ]
        .map(|(name, options)| -> Way<'_> {
            (name.to_owned(), Box::new(move || drop(gemm(target, a, b, None, &options).expect("a product"))))
        });
        print_ratios(&format!("{name}, {size}^3"), &ways);
    }
}

/// A thousand products of 64x64x64 beside one of 640x640x640, which has as many operations.
#[test]
#[ignore = "a measurement"]
fn many_small_products_beside_a_large_one() {
    for (architecture, name) in [
        (Architecture::Hopper, "wgmma.m64n64k32.f32.e4m3.e4m3"),
        (Architecture::Hopper, "wgmma.m64n64k16.f32.f16.f16"),
        (Architecture::Cdna3, "v_mfma_f32_32x32x2_f32"),
    ] {
        let target = &target(architecture, name);
        let model = target.model();
        let (a, b) = (&matrix(model.a, 640, 1), &matrix(model.b, 640, 2));
        let (small_a, small_b) = (&matrix(model.a, 64, 3), &matrix(model.b, 64, 4));
        let many = |format, seed| {
            let codes: Vec<u64> = (0..1000u64)
                .flat_map(|at| matrix(format, 64, seed + at).iter().collect::<Vec<_>>())
                .collect();
            Matrix::new(format, (1000, 64, 64), codes).expect("matrices")
        };
        let (many_a, many_b) = (&many(model.a, 5), &many(model.b, 6));
        let options = &GemmOptions::default();
        let ways: [Way<'_>; 3] = [
            ("one".to_owned(), Box::new(|| drop(gemm(target, a, b, None, options).expect("a product")))),
            (
                "one by one".to_owned(),
                Box::new(|| {
                    for _ in 0..1000 {
                        drop(gemm(target, small_a, small_b, None, options).expect("a product"));
                    }
                }),
            ),
            (
                "as a batch".to_owned(),
                Box::new(|| drop(gemm(target, many_a, many_b, None, options).expect("products"))),
            ),
        ];
        print_ratios(&format!("{name}, 1000 of 64^3 beside 640^3"), &ways);
    }
}

/// Few rows by a large matrix, as a layer of a model has them: one row by 2048x2048 beside more.
#[test]
#[ignore = "a measurement"]
fn few_rows_by_a_large_matrix() {
    for (architecture, name) in [
        (Architecture::Hopper, "wgmma.m64n256k16.f32.f16.f16"),
        (Architecture::Hopper, "wgmma.m64n256k16.f32.bf16.bf16"),
        (Architecture::Hopper, "wgmma.m64n256k32.f32.e4m3.e4m3"),
        (Architecture::Blackwell, "tcgen05.mma.m128n256k32.kind::f8f6f4.f32.e4m3.e4m3"),
        (Architecture::Cdna1, "v_mfma_f32_32x32x8f16"),
        (Architecture::Cdna3, "v_mfma_f32_32x32x2_f32"),
    ] {
        let target = &target(architecture, name);
        let b = &matrix(target.model().b, 2048, 2);
        let ways = [1, 4, 16, 64, 256].map(|rows| -> Way<'_> {
            let a = matrix(target.model().a, 2048, 1);
            let a = Matrix::single(target.model().a, rows, 2048, a.iter().take(rows * 2048)).expect("rows");
            let work = move || drop(gemm(target, &a, b, None, &GemmOptions::default()).expect("a product"));
            (format!("{rows} rows"), Box::new(work))
        });
        print_ratios(&format!("{name}, 1 row by 2048^2"), &ways);
    }
}

/// Every instruction set beside the fastest one, D as the instruction writes it.
#[test]
#[ignore = "a measurement"]
fn instruction_sets() {
    let size = size();
    for (architecture, name) in [
        (Architecture::Hopper, "wgmma.m64n256k32.f32.e4m3.e4m3"),
        (Architecture::Blackwell, "tcgen05.mma.m128n256k32.kind::f8f6f4.f32.e4m3.e4m3"),
        (Architecture::Hopper, "wgmma.m64n256k16.f32.f16.f16"),
        (Architecture::Hopper, "wgmma.m64n256k16.f32.bf16.bf16"),
        (Architecture::Hopper, "wgmma.m64n256k8.f32.tf32.tf32"),
        (Architecture::Ampere, "mma.m16n8k16.f32.f16.f16.f32"),
        (Architecture::Volta, "mma.m8n8k4.f32.f16.f16.f32"),
        (Architecture::Cdna3, "v_mfma_f32_32x32x8_f16"),
        (Architecture::Cdna3, "v_mfma_f32_32x32x16_fp8_fp8"),
        (Architecture::Cdna1, "v_mfma_f32_32x32x8f16"),
        (Architecture::Cdna2, "v_mfma_f32_32x32x8f16"),
        (Architecture::Cdna3, "v_mfma_f32_32x32x2_f32"),
    ] {
        let target = &target(architecture, name);
        let (a, b) = (&matrix(target.model().a, size, 1), &matrix(target.model().b, size, 2));
        let way = |level| -> Way<'_> {
            let options = GemmOptions { level: Some(level), ..GemmOptions::default() };
            (
                format!("{level:?}"),
                Box::new(move || drop(gemm(target, a, b, None, &options).expect("a product"))),
            )
        };
        let ways: Vec<Way<'_>> = Level::available().into_iter().rev().map(way).collect();
        print_ratios(&format!("{architecture} {name}, {size}^3, {}", ways[0].0), &ways);
    }
}
