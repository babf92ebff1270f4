//! Products per second and core of the reference path, one instruction per model family, beside a plain
//! FP32 triple loop in the same run.
//!
//! `cargo bench --bench simulate`; the last lines give the ratios.
#![allow(clippy::print_stdout)] // a benchmark is there to print

use std::hint::black_box;
use std::time::{Duration, Instant};

use bitmma_engine::{Architecture, Matrix, MmaUnit, Operands, Revision, Simulator};
use criterion::{Criterion, Throughput};
use drawn::{Family, case};

#[path = "../../verify/src/inputs.rs"]
#[allow(dead_code, unreachable_pub)]
mod drawn;

/// One instruction for each model family, and for T-FDPA the widths that matter.
const INSTRUCTIONS: [(Architecture, &str); 10] = [
    (Architecture::Hopper, "wgmma.m64n64k16.f32.f16.f16"),
    (Architecture::Hopper, "wgmma.m64n64k32.f32.e4m3.e4m3"),
    (Architecture::Volta, "mma.m8n8k4.f32.f16.f16.f32"),
    (Architecture::RtxBlackwell, "mma.m16n8k32.kind::mxf8f6f4.block32.f32.e4m3.e4m3.f32.ue8m0"),
    (Architecture::RtxBlackwell, "mma.m16n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.f32.ue4m3"),
    (Architecture::Cdna1, "v_mfma_f32_32x32x8f16"),
    (Architecture::Cdna2, "v_mfma_f32_32x32x8f16"),
    (Architecture::Cdna3, "v_mfma_f32_32x32x8_f16"),
    (Architecture::Cdna3, "v_mfma_f32_16x16x32_fp8_fp8"),
    (Architecture::Cdna3, "v_mfma_f64_16x16x4_f64"),
];

/// Matrices of moderate numbers that the unit takes.
fn inputs(
    unit: &Simulator,
    revision: Revision,
    architecture: Architecture,
    name: &str,
) -> [Option<Matrix>; 5] {
    let signature = unit.signature();
    let found = bitmma_engine::catalogue::find(architecture, name).expect("a catalogue name");
    let model = found.instruction.model(revision).expect("a model");
    let (m, n, k, blocks) = (signature.m, signature.n, signature.k, signature.blocks);
    let rows = |count: usize, seed: u64| (0..count).map(move |row| (seed, row as u64));
    let draw = |(seed, row)| case(&model, k, Family::Moderate, seed, row);
    let a: Vec<_> = rows(blocks * m, 1).map(draw).collect();
    let b: Vec<_> = rows(blocks * n, 2).map(draw).collect();
    let block = signature.scale.map_or(1, |scale| scale.size);
    let transposed = |columns: Vec<Vec<u64>>| {
        (0..blocks)
            .flat_map(|block| {
                let columns = &columns[block * n..(block + 1) * n];
                (0..columns[0].len()).flat_map(move |row| columns.iter().map(move |column| column[row]))
            })
            .collect::<Vec<u64>>()
    };
    let matrix = |format, shape, codes: Vec<u64>| Matrix::new(format, shape, codes).ok();
    let scale = signature.scale.map(|scale| scale.format);
    [
        matrix(signature.a, (blocks, m, k), a.iter().flat_map(|case| case.a.clone()).collect()),
        matrix(signature.b, (blocks, k, n), transposed(b.iter().map(|case| case.b.clone()).collect())),
        matrix(signature.c, (blocks, m, n), (0..blocks * m * n).map(|i| a[i % a.len()].c).collect()),
        scale.and_then(|scale| {
            matrix(scale, (blocks, m, k / block), a.iter().flat_map(|case| case.scale_a.clone()).collect())
        }),
        scale.and_then(|scale| {
            let columns = b.iter().map(|case| case.scale_b.clone()).collect();
            matrix(scale, (blocks, k / block, n), transposed(columns))
        }),
    ]
}

/// Median seconds of one call, over about a second.
fn median(mut call: impl FnMut()) -> f64 {
    let mut times = Vec::new();
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(800) || times.len() < 5 {
        let before = Instant::now();
        call();
        times.push(before.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// A plain FP32 triple loop over 64×64×64: what one core does without thinking.
fn native(a: &[f32], b: &[f32], d: &mut [f32]) {
    for i in 0..64 {
        for j in 0..64 {
            d[i * 64 + j] = (0..64).map(|k| a[i * 64 + k] * b[k * 64 + j]).sum();
        }
    }
}

fn main() {
    let pool = bitmma_engine::threads::pool(1).expect("a thread pool");
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_millis(1000))
        .configure_from_args();
    let mut rates = Vec::new();
    for (architecture, name) in INSTRUCTIONS {
        let unit = Simulator::instruction(architecture, name, Revision::Hardware).expect("a model");
        let [a, b, c, scale_a, scale_b] = inputs(&unit, Revision::Hardware, architecture, name);
        let (a, b, c) = (a.expect("A"), b.expect("B"), c.expect("C"));
        let operands =
            Operands { a: &a, b: &b, c: Some(&c), scale_a: scale_a.as_ref(), scale_b: scale_b.as_ref() };
        let signature = unit.signature();
        let products = signature.blocks * signature.m * signature.n * signature.k;
        let mut group = criterion.benchmark_group("simulate");
        group.throughput(Throughput::Elements(products as u64));
        group.bench_function(format!("{architecture} {name}"), |bencher| {
            bencher.iter(|| pool.install(|| unit.multiply(black_box(&operands)).expect("D")));
        });
        group.finish();
        let seconds = median(|| {
            black_box(pool.install(|| unit.multiply(black_box(&operands)).expect("D")));
        });
        rates.push((format!("{architecture} {name}"), products as f64 / seconds));
    }
    let (a, b, mut d) = (vec![1.5f32; 4096], vec![0.75f32; 4096], vec![0f32; 4096]);
    let seconds = median(|| native(black_box(&a), black_box(&b), black_box(&mut d)));
    let plain = 64.0 * 64.0 * 64.0 / seconds;
    println!("\nproducts per second on one core (median), and the ratio to a plain FP32 triple loop:");
    for (name, rate) in rates {
        println!("{:>9.1} M  {:.3}  {name}", rate / 1e6, rate / plain);
    }
    println!("{:>9.1} M  1.000  plain FP32 triple loop, 64×64×64", plain / 1e6);
    criterion.final_summary();
}
