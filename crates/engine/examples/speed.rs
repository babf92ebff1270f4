//! quick speeds
#![allow(clippy::print_stdout, missing_docs)]
use bitmma::inputs::{Family, case};
use bitmma::kernel::{Options, multiply};
use bitmma::{Architecture, Matrix, Operands, Revision};
fn cpu() -> f64 {
    std::fs::read_dir("/proc/self/task")
        .unwrap()
        .filter_map(|t| std::fs::read_to_string(t.ok()?.path().join("schedstat")).ok())
        .map(|s| s.split(' ').next().unwrap().parse::<f64>().unwrap())
        .sum::<f64>()
        / 1e9
}
fn main() {
    let size: usize = std::env::var("SIZE").ok().and_then(|v| v.parse().ok()).unwrap_or(1024);
    let threads: usize = std::env::var("THREADS").ok().and_then(|v| v.parse().ok()).unwrap_or(1);
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().unwrap();
    let (m, n, k) = (size, size, size);
    /// Best of five of the native product.
    fn best<T: Copy + 'static>(size: usize, values: (T, T, T, T)) -> f64 {
        let (x, y, zero, one) = values;
        let (a, b, mut d) = (vec![x; size * size], vec![y; size * size], vec![zero; size * size]);
        let mut best = f64::MAX;
        for _ in 0..5 {
            let t = cpu();
            let n = size as isize;
            unsafe {
                gemm::gemm(
                    size,
                    size,
                    size,
                    d.as_mut_ptr(),
                    1,
                    n,
                    false,
                    a.as_ptr(),
                    1,
                    n,
                    b.as_ptr(),
                    1,
                    n,
                    zero,
                    one,
                    false,
                    false,
                    false,
                    gemm::Parallelism::None,
                );
            }
            best = best.min(cpu() - t);
        }
        (size * size * size) as f64 / best / 1e9
    }
    for arg in std::env::args().skip(1) {
        let (arch, name) = arg.split_once('/').unwrap();
        let arch: Architecture = arch.parse().unwrap();
        let found = bitmma::catalogue::find(arch, name).unwrap();
        let model = found.instruction.model(Revision::Hardware).unwrap();
        let step = found.instruction.k;
        let mut codes = |format: bitmma::formats::Format, count: usize, seed: u64| -> Vec<u64> {
            let m2 = bitmma::Model { a: format, ..model.clone() };
            let mut v: Vec<u64> = Vec::new();
            let mut i = 0;
            while v.len() < count {
                let s = model.scale.map_or(1, |s| s.size);
                v.extend(case(&m2, s * 64, Family::Moderate, seed, i).a);
                i += 1;
            }
            v.truncate(count);
            v
        };
        let a = Matrix::single(model.a, m, k, codes(model.a, m * k, 1)).unwrap();
        let b = Matrix::single(model.b, k, n, codes(model.b, k * n, 2)).unwrap();
        let c = Matrix::zeros(model.c, (1, m, n)).unwrap();
        let sc = model.scale.map(|s| {
            let f = s.format;
            let code = f.one_code();
            (
                Matrix::single(f, m, k / s.size, vec![code; m * k / s.size]).unwrap(),
                Matrix::single(f, k / s.size, n, vec![code; n * k / s.size]).unwrap(),
            )
        });
        let ops = Operands {
            a: &a,
            b: &b,
            c: &c,
            scale_a: sc.as_ref().map(|s| &s.0),
            scale_b: sc.as_ref().map(|s| &s.1),
        };
        let mut times = vec![];
        let native = || {
            if model.d.bytes() == 8 {
                best(size, (1.5f64, 0.25, 0.0, 1.0))
            } else {
                best(size, (1.5f32, 0.25, 0.0, 1.0))
            }
        };
        let g = native();
        for _ in 0..5 {
            let t = cpu();
            std::hint::black_box(multiply(&model, step, &ops, Options::default()).unwrap());
            times.push(cpu() - t);
        }
        times.sort_by(f64::total_cmp);
        let g = g.max(native());
        let r = (m * n * k) as f64 / times[2] / 1e9;
        println!(
            "{arg}: {:.2} G/s, ratio {:.3} (best {:.3}), native {g:.1} G/s",
            r,
            r / g,
            (m * n * k) as f64 / times[0] / 1e9 / g
        );
    }
}
