//! Products per second and core of [`bitmma::gemm()`], an instruction for each model family and kind of
//! format, and the ratio to a native product (the gemm crate) in the same run, as `bitmma bench` gives it.
//!
//! `cargo bench --bench gemm`; the last lines give the ratios. `BITMMA_BENCH_SIZE` sets M, N and K (1024).
#![allow(clippy::print_stdout)] // a benchmark is there to print

use std::hint::black_box;
use std::time::{Duration, Instant};

use bitmma::gemm::Target;
use bitmma::inputs::{Family, case};
use bitmma::kernel::has_kernel;
use bitmma::{Architecture, GemmOptions, Matrix, Revision};
use criterion::{Criterion, Throughput};

/// One instruction for each model family and kind of format.
const INSTRUCTIONS: [(Architecture, &str); 14] = [
    (Architecture::Hopper, "wgmma.m64n64k16.f32.f16.f16"),
    (Architecture::Hopper, "wgmma.m64n64k32.f32.e4m3.e4m3"),
    (Architecture::Hopper, "wgmma.m64n64k16.f32.bf16.bf16"),
    (Architecture::Hopper, "wgmma.m64n64k8.f32.tf32.tf32"),
    (Architecture::Ampere, "mma.m16n8k16.f32.f16.f16.f32"),
    (Architecture::Volta, "mma.m8n8k4.f32.f16.f16.f32"),
    (Architecture::RtxBlackwell, "mma.m16n8k32.kind::mxf8f6f4.block32.f32.e4m3.e4m3.f32.ue8m0"),
    (Architecture::RtxBlackwell, "mma.m16n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.f32.ue4m3"),
    (Architecture::Cdna3, "v_mfma_f32_32x32x8_f16"),
    (Architecture::Cdna3, "v_mfma_f32_32x32x16_fp8_fp8"),
    (Architecture::Cdna1, "v_mfma_f32_32x32x8f16"),
    (Architecture::Cdna2, "v_mfma_f32_32x32x8f16"),
    (Architecture::Cdna3, "v_mfma_f32_32x32x2_f32"),
    (Architecture::Cdna3, "v_mfma_f64_16x16x4_f64"),
];

/// Square operands of numbers of a normal distribution: A, B, and their scale factors.
fn inputs(target: &Target, size: usize) -> (Matrix, Matrix, Option<(Matrix, Matrix)>) {
    let model = target.model();
    let along = model.scale.map_or(0, |scale| size.div_ceil(scale.size));
    let (elements, factors) = (size * size, size * along);
    let (mut a, mut b, mut scale_a, mut scale_b) = (vec![], vec![], vec![], vec![]);
    let mut index = 0;
    while a.len() < elements || scale_a.len() < factors {
        let drawn = case(model, target.step(), Family::Normal, 1, index);
        index += 1;
        a.extend(drawn.a);
        b.extend(drawn.b);
        scale_a.extend(drawn.scale_a);
        scale_b.extend(drawn.scale_b);
    }
    let matrix = |format, rows, columns, codes: Vec<u64>| {
        Matrix::single(format, rows, columns, codes.into_iter().take(rows * columns)).expect("a matrix")
    };
    let scales = model.scale.map(|scale| {
        (matrix(scale.format, size, along, scale_a), matrix(scale.format, along, size, scale_b))
    });
    (matrix(model.a, size, size, a), matrix(model.b, size, size, b), scales)
}

/// Seconds of one native product on one core.
fn native<T: Copy + 'static>(size: usize, a: &[T], b: &[T], d: &mut [T], zero: T, one: T) -> f64 {
    let row = size as isize;
    assert!([a.len(), b.len(), d.len()] == [size * size; 3], "square matrices");
    let start = Instant::now();
    // SAFETY: three matrices of size rows of size elements; D is not read and is nobody else's
    #[allow(unsafe_code)]
    unsafe {
        let (a, b, d) = (black_box(a).as_ptr(), b.as_ptr(), d.as_mut_ptr());
        let alone = gemm::Parallelism::None;
        gemm::gemm(
            size, size, size, d, 1, row, false, a, 1, row, b, 1, row, zero, one, false, false, false, alone,
        );
    }
    start.elapsed().as_secs_f64()
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    let size: usize =
        std::env::var("BITMMA_BENCH_SIZE").ok().and_then(|size| size.parse().ok()).unwrap_or(1024);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread pool");
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_millis(1000))
        .configure_from_args();
    let mut lines = Vec::new();
    for (architecture, name) in INSTRUCTIONS {
        let target = Target::instruction(architecture, name, Revision::Hardware).expect("a model");
        let kernel = has_kernel(target.model(), target.step());
        let ours = if kernel { size } else { size.min(128) };
        let (a, b, scales) = inputs(&target, ours);
        let options = GemmOptions {
            scale_a: scales.as_ref().map(|scales| &scales.0),
            scale_b: scales.as_ref().map(|scales| &scales.1),
            ..GemmOptions::default()
        };
        let product =
            || pool.install(|| bitmma::gemm(&target, black_box(&a), &b, None, &options).expect("D"));
        let mut group = criterion.benchmark_group("gemm");
        group.throughput(Throughput::Elements((ours * ours * ours) as u64));
        group.bench_function(format!("{architecture} {name}"), |bencher| bencher.iter(product));
        group.finish();

        let double = target.working_format().bytes() == 8;
        let (x, y) = (vec![1.5f32; size * size], vec![0.75f64; size * size]);
        let (mut single_d, mut double_d) = (vec![0f32; size * size], vec![0f64; size * size]);
        let (mut our_times, mut native_times) = (Vec::new(), Vec::new());
        let start = Instant::now();
        while our_times.len() < 3 || start.elapsed() < Duration::from_secs(1) {
            native_times.push(match double {
                true => native(size, &y, &y, &mut double_d, 0.0, 1.0),
                false => native(size, &x, &x, &mut single_d, 0.0, 1.0),
            });
            let before = Instant::now();
            black_box(product());
            our_times.push(before.elapsed().as_secs_f64());
        }
        let cube = |size: usize| (size as f64).powi(3);
        let (rate, native) = (cube(ours) / median(our_times), cube(size) / median(native_times));
        lines.push(format!(
            "{:>9.1} M  {:.3}  {architecture} {name}{}",
            rate / 1e6,
            rate / native,
            if kernel { "" } else { " (reference path)" }
        ));
    }
    println!("\nproducts per second on one core (median), and the ratio to a native product of {size}³:");
    lines.iter().for_each(|line| println!("{line}"));
    criterion.final_summary();
}
