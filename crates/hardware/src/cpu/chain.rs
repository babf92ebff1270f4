//! What every instruction of a processor is computed with: chains, numbers of codes.

use bitmma_engine::{Codes, Matrix, Operands, Signature};

/// A chain of `step` along K for each element of D.
#[inline(always)]
pub(super) fn chain<T: Copy + Default>(
    signature: &Signature,
    operands: &Operands<'_>,
    read: impl Fn(&Matrix) -> Vec<T>,
    step: impl Fn(T, T, T) -> T,
    code: impl Fn(T) -> u64,
) -> Vec<u64> {
    let Signature { m, n, k, .. } = *signature;
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

pub(super) fn f64s(matrix: &Matrix) -> Vec<f64> {
    match matrix.codes() {
        Codes::U64(codes) => codes.iter().map(|code| f64::from_bits(*code)).collect(),
        _ => Vec::new(), // the signature was checked: FP64 codes take eight bytes
    }
}
