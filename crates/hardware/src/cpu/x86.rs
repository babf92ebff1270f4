//! Instructions of x86-64. Every function here is called only where `find` has seen the feature.

use std::arch::x86_64::{
    __m512bh, __m512i, _mm512_dpbf16_ps, _mm512_loadu_ps, _mm512_loadu_si512, _mm512_set1_epi32,
    _mm512_storeu_ps,
};

use bitmma_engine::{Codes, Matrix, Operands, Signature};

use super::chain::{chain, f32s, f64s};

/// C, m·n numbers.
pub(super) fn c_f32s(operands: &Operands<'_>, signature: &Signature) -> Vec<f32> {
    operands.c.map_or_else(|| vec![0.0; signature.m * signature.n], f32s)
}

/// A chain of VFMADD in FP32.
pub(super) fn fma_f32(signature: &Signature, operands: &Operands<'_>) -> Vec<u64> {
    #[target_feature(enable = "fma")]
    fn inner(signature: &Signature, operands: &Operands<'_>) -> Vec<u64> {
        chain(signature, operands, f32s, |a, b, c| a.mul_add(b, c), |d| u64::from(d.to_bits()))
    }
    // SAFETY: `find` has seen FMA
    unsafe { inner(signature, operands) }
}

/// A chain of VFMADD in FP64.
pub(super) fn fma_f64(signature: &Signature, operands: &Operands<'_>) -> Vec<u64> {
    #[target_feature(enable = "fma")]
    fn inner(signature: &Signature, operands: &Operands<'_>) -> Vec<u64> {
        chain(signature, operands, f64s, |a, b, c| a.mul_add(b, c), f64::to_bits)
    }
    // SAFETY: `find` has seen FMA
    unsafe { inner(signature, operands) }
}

/// A chain of VDPBF16PS, sixteen columns at a time; N is 16.
pub(super) fn vdpbf16ps(signature: &Signature, operands: &Operands<'_>) -> Vec<u64> {
    let Signature { m, k, .. } = *signature;
    let (a, b, c) = (words(operands.a), words(operands.b), c_f32s(operands, signature));
    let mut d = Vec::with_capacity(m * 16);
    for row in 0..m {
        let mut sums = [0.0; 16];
        sums.copy_from_slice(&c[row * 16..(row + 1) * 16]);
        for pair in (0..k).step_by(2) {
            let left = pack(a[row * k + pair], a[row * k + pair + 1]);
            let mut right = [0; 16];
            for (column, lane) in right.iter_mut().enumerate() {
                *lane = pack(b[pair * 16 + column], b[(pair + 1) * 16 + column]);
            }
            // SAFETY: `find` has seen AVX512F and AVX512_BF16
            sums = unsafe { dot_pairs(&sums, left, &right) };
        }
        d.extend(sums.map(|sum| u64::from(sum.to_bits())));
    }
    d
}

/// The element of even index in the low half.
fn pack(even: u16, odd: u16) -> i32 {
    (u32::from(odd) << 16 | u32::from(even)).cast_signed()
}

#[target_feature(enable = "avx512f,avx512bf16")]
fn dot_pairs(sums: &[f32; 16], left: i32, right: &[i32; 16]) -> [f32; 16] {
    let mut out = [0.0; 16];
    // SAFETY: sixteen lanes of four bytes are read and written; a vector of 32 BF16 is 64 bytes of any kind
    unsafe {
        let left: __m512bh = std::mem::transmute(_mm512_set1_epi32(left));
        let right: __m512i = _mm512_loadu_si512(right.as_ptr().cast());
        let right: __m512bh = std::mem::transmute(right);
        _mm512_storeu_ps(out.as_mut_ptr(), _mm512_dpbf16_ps(_mm512_loadu_ps(sums.as_ptr()), left, right));
    }
    out
}

pub(super) fn words(matrix: &Matrix) -> Vec<u16> {
    match matrix.codes() {
        Codes::U16(codes) => codes.clone(),
        _ => Vec::new(), // the signature was checked: BF16 and FP16 codes take two bytes
    }
}
