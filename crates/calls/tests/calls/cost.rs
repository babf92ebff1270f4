//! What a call costs beside the plain product of its size. A measurement: run it alone, on an idle machine,
//! `cargo test --release --workspace --test calls cost -- --ignored --nocapture`; BITMMA_SIZE sets M = N = K,
//! BITMMA_ROUNDS how often each is timed.

use std::time::{Duration, Instant};

use bitmma::formats::{BF16, E4M3};
use bitmma::gemm::{OutputConversion, Target};
use bitmma::{Architecture, GemmOptions, Matrix, Revision, gemm};
use bitmma_calls::cublaslt::{Assume, Config};
use bitmma_calls::platform::Platform;
use bitmma_calls::{Call, Plan, cublaslt, execute};

fn matrix(size: usize, mut state: u64) -> Matrix {
    let codes = (0..size * size).map(|_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (0x20 + (state >> 40) % 0x20) | ((state >> 33) & 0x80)
    });
    Matrix::single(E4M3, size, size, codes).expect("a matrix")
}

fn time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64()
}

#[test]
#[ignore = "a measurement"]
fn a_call_beside_the_plain_product() {
    let size = std::env::var("BITMMA_SIZE").ok().and_then(|text| text.parse().ok()).unwrap_or(1024);
    let (a, b) = (matrix(size, 1), matrix(size, 2));
    let platform = Platform::parse("h100-pcie").expect("a platform");
    let plan = |fast: bool, parts: i64| -> Plan {
        let query = platform.query((size, size, size), (E4M3, E4M3, BF16), fast);
        let reduction = Some(if parts > 1 { 2 } else { 0 });
        let config =
            Config { id: Some(66), splitk: Some(parts), reduction, stages: Some(36), ..Config::default() };
        cublaslt::plan(&query, &config, Assume::default()).expect("a plan").plan
    };
    let target =
        Target::instruction(Architecture::Hopper, "wgmma.m64n256k32.f32.e4m3.e4m3", Revision::Hardware)
            .expect("an instruction");
    let plain = GemmOptions { output: Some(OutputConversion::nearest(BF16)), ..GemmOptions::default() };
    let promoted = GemmOptions { promote_every: Some(128), ..plain };
    let plans = [
        ("fast, one part", plan(true, 1)),
        ("fast, 4 parts", plan(true, 4)),
        ("slow, one part", plan(false, 1)),
    ];
    let (mut plains, mut promoteds, mut calls) = (vec![], vec![], vec![vec![]; plans.len()]);
    let rounds = std::env::var("BITMMA_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(5);
    for _ in 0..rounds {
        plains.push(time(|| drop(gemm(&target, &a, &b, None, &plain).expect("a product"))));
        promoteds.push(time(|| drop(gemm(&target, &a, &b, None, &promoted).expect("a product"))));
        for ((_, plan), times) in plans.iter().zip(&mut calls) {
            times.push(time(|| drop(execute(plan, &Call::new(&a, &b, BF16)).expect("a call"))));
        }
    }
    let plain = median(plains);
    println!("{size}^3 on {} threads: gemm {:.3} s", rayon::current_num_threads(), plain);
    println!("gemm --promote-every 128: {:.2} of it", median(promoteds) / plain);
    for ((name, _), times) in plans.iter().zip(calls) {
        println!("call, {name}: {:.2} of it", median(times) / plain);
    }
}
