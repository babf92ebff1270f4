//! The native product that `bench` compares with: the gemm crate, in FP32 or FP64.

use std::hint::black_box;
use std::time::Instant;

use bitmma_engine::threads::Pool;

/// A native product in FP32 or FP64.
pub(super) struct Native(Box<dyn FnMut(gemm::Parallelism) + Send>);

impl Native {
    pub(super) fn new(double: bool, size: usize) -> Native {
        let value = |index: usize| (index * 7919 % 1021) as f64 / 1021.0 - 0.5;
        let doubles: Vec<f64> = (0..size * size).map(value).collect();
        match double {
            true => Native::of(size, doubles, (0.0, 1.0)),
            false => Native::of(size, doubles.into_iter().map(|value| value as f32).collect(), (0.0, 1.0)),
        }
    }

    fn of<T: Copy + Send + 'static>(size: usize, a: Vec<T>, (zero, one): (T, T)) -> Native {
        let (b, mut d) = (a.clone(), vec![zero; a.len()]);
        Native(Box::new(move |parallelism| {
            native_product(size, black_box(&a), &b, &mut d, (zero, one), parallelism);
            black_box(&d);
        }))
    }

    /// Seconds of one product; always some.
    pub(super) fn seconds(&mut self, pool: &Pool) -> Option<f64> {
        let parallelism = match pool.threads() {
            1 => gemm::Parallelism::None,
            threads => gemm::Parallelism::Rayon(threads),
        };
        let start = Instant::now();
        pool.install(|| (self.0)(parallelism));
        Some(start.elapsed().as_secs_f64().max(1e-9))
    }
}

/// D = A·B, row-major and square, by the gemm crate.
#[allow(unsafe_code)] // its only door
fn native_product<T: 'static>(
    size: usize,
    a: &[T],
    b: &[T],
    d: &mut [T],
    (zero, one): (T, T),
    parallelism: gemm::Parallelism,
) {
    let count = size * size;
    assert!(a.len() == count && b.len() == count && d.len() == count, "square matrices of that size");
    let row = size as isize;
    // SAFETY: each matrix has size rows of size elements, one after the other; D is not read and is
    // nobody else's
    unsafe {
        gemm::gemm(
            size,
            size,
            size,
            d.as_mut_ptr(),
            1,
            row,
            false,
            a.as_ptr(),
            1,
            row,
            b.as_ptr(),
            1,
            row,
            zero,
            one,
            false,
            false,
            false,
            parallelism,
        );
    }
}
