//! What every instruction of a processor is computed with: the shape of its unit, chains, numbers of codes.

use bitmma::{Codes, Matrix, Operands};

/// M, N, K.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) k: usize,
}

/// A chain of `step` along K for each element of D.
#[inline(always)]
pub(super) fn chain<T: Copy + Default>(
    shape: &Shape,
    operands: &Operands<'_>,
    read: impl Fn(&Matrix) -> Vec<T>,
    step: impl Fn(T, T, T) -> T,
    code: impl Fn(T) -> u64,
) -> Vec<u64> {
    let Shape { m, n, k } = *shape;
    let (a, b) = (read(operands.a), read(operands.b));
    let c = operands.c.map_or_else(|| vec![T::default(); m * n], &read);
    let mut d = Vec::with_capacity(m * n);
    for row in 0..m {
        for column in 0..n {
            let start = c[row * n + column];
            d.push(code((0..k).fold(start, |sum, at| step(a[row * k + at], b[at * n + column], sum))));
        }
    }
    d
}

pub(super) fn f32s(matrix: &Matrix) -> Vec<f32> {
    match matrix.codes() {
        Codes::U32(codes) => codes.iter().map(|code| f32::from_bits(*code)).collect(),
        _ => Vec::new(), // the signature was checked: FP32 codes take four bytes
    }
}

/// C, m·n numbers.
pub(super) fn c_f32s(operands: &Operands<'_>, shape: &Shape) -> Vec<f32> {
    operands.c.map_or_else(|| vec![0.0; shape.m * shape.n], f32s)
}

pub(super) fn f64s(matrix: &Matrix) -> Vec<f64> {
    match matrix.codes() {
        Codes::U64(codes) => codes.iter().map(|code| f64::from_bits(*code)).collect(),
        _ => Vec::new(), // the signature was checked: FP64 codes take eight bytes
    }
}
