//! Few rows by a B that was prepared: milliseconds on one core beside those of B itself, and the bandwidth beside that of a
//! plain read of the same bytes.
//!
//! `cargo bench --bench prepared [NAME]`, of instructions whose name has it; medians of one run.
#![allow(clippy::print_stdout)] // a benchmark is there to print

use std::hint::black_box;
use std::time::{Duration, Instant};

use bitmma_engine::gemm::{Prepared, Target};
use bitmma_engine::{Architecture, GemmOptions, Matrix, Revision, gemm};
use drawn::{Family, case};

#[path = "../../verify/src/inputs.rs"]
#[allow(dead_code, unreachable_pub)]
mod drawn;

const INSTRUCTIONS: [(Architecture, &str); 9] = [
    (Architecture::Hopper, "wgmma.m64n64k16.f32.f16.f16"),
    (Architecture::Hopper, "wgmma.m64n64k16.f32.bf16.bf16"),
    (Architecture::Hopper, "wgmma.m64n64k32.f32.e4m3.e4m3"),
    (Architecture::RtxBlackwell, "mma.m16n8k32.kind::f8f6f4.f32.e4m3.e4m3.f32"),
    (Architecture::RtxBlackwell, "mma.m16n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.f32.ue4m3"),
    (Architecture::Cdna2, "v_mfma_f32_32x32x8f16"),
    (Architecture::Cdna3, "v_mfma_f32_32x32x8_f16"),
    (Architecture::Cdna3, "v_mfma_f32_32x32x8_bf16"),
    (Architecture::Cdna3, "v_mfma_f32_16x16x4_f32"),
];

/// Elements along K, and columns.
const SIZE: usize = 4096;

/// Median milliseconds of one call.
fn median(mut call: impl FnMut()) -> f64 {
    let (mut times, start) = (Vec::new(), Instant::now());
    while start.elapsed() < Duration::from_millis(600) || times.len() < 5 {
        let before = Instant::now();
        call();
        times.push(before.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    let wanted = std::env::args().nth(1).filter(|name| !name.starts_with('-')).unwrap_or_default();
    let pool = bitmma_engine::threads::pool(1).expect("a thread pool");
    println!(
        "{SIZE}×{SIZE}, ms: one row by B itself; prepared, 1, 4 and 16 rows; preparing; bytes an element; GB/s, plain read"
    );
    for (architecture, name) in INSTRUCTIONS {
        if !format!("{architecture} {name}").contains(&wanted) {
            continue;
        }
        let target = Target::instruction(architecture, name, Revision::Hardware).expect("an instruction");
        let model = target.model();
        let line = |count: usize, seed: u64| case(model, count, Family::Normal, seed, 0);
        let lines: Vec<_> = (0..64).map(|line| case(model, SIZE, Family::Normal, 2, line)).collect();
        let b = |k: usize, column: usize| lines[column % 64].b[(k + column) % SIZE];
        let b = Matrix::from_fn(model.b, (1, SIZE, SIZE), |_, k, column| b(k, column)).expect("B");
        let rows: Vec<_> = (0..16).map(|row| case(model, SIZE, Family::Normal, 1, row)).collect();
        let a = |m: usize| Matrix::from_fn(model.a, (1, m, SIZE), |_, row, k| rows[row].a[k]).expect("A");
        let scales = model.scale.map(|scale| {
            let along = SIZE / scale.size;
            let codes = line(SIZE, 3).scale_a;
            let of = |rows: usize, columns: usize| {
                Matrix::from_fn(scale.format, (1, rows, columns), |_, i, j| codes[(i + j) % along])
                    .expect("scales")
            };
            ([1, 4, 16].map(|m| of(m, along)), of(along, SIZE))
        });
        let scale_b = scales.as_ref().map(|(_, b)| b);
        pool.install(|| {
            let make = || Prepared::new(&target, &b, scale_b, (None, None)).expect("a prepared operand");
            let prepared = make();
            let mut times = Vec::new();
            for (index, m) in [1, 4, 16].into_iter().enumerate() {
                let a = a(m);
                let scale_a = scales.as_ref().map(|(a, _)| &a[index]);
                let options = GemmOptions { scale_a, ..GemmOptions::default() };
                if m == 1 {
                    let options = GemmOptions { scale_b, ..options };
                    times.push(median(|| {
                        black_box(gemm(&target, &a, &b, None, &options).expect("D"));
                    }));
                }
                times.push(median(|| {
                    black_box(prepared.multiply(&a, None, &options).expect("D"));
                }));
            }
            times.push(median(|| {
                black_box(make());
            }));
            let words = vec![1u64; prepared.bytes() / 8];
            let read = median(|| {
                black_box(black_box(&words).iter().fold(0u64, |sum, &word| sum.wrapping_add(word)));
            });
            let rate = |ms: f64| prepared.bytes() as f64 / ms / 1e6;
            let times_text: Vec<String> = times.iter().map(|time| format!("{time:7.2}")).collect();
            println!(
                "{} | {:.3} | {:5.1} {:5.1} | {architecture} {name}",
                times_text.join(" "),
                prepared.bytes() as f64 / (SIZE * SIZE) as f64,
                rate(times[1]),
                rate(read)
            );
        });
    }
}
