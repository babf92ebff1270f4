//! What a matrix product is exactly, and how far a result is from it.

use bitmma_engine::Matrix;
use bitmma_engine::formats::{Class, Format, decode};
use bitmma_engine::threads::prelude::*;

use crate::dyadic::Dyadic;
use crate::error::{Error, option};

/// A matrix as integers times one power of two.
struct Fixed {
    significands: Vec<i64>,
    exponent: i64,
    /// Bits of the largest magnitude.
    bits: u32,
}

/// The codes as integers of one weight; `None` where they do not fit 62 bits, or one is not finite.
fn fixed(format: &Format, codes: &[u64]) -> Option<Fixed> {
    let (mut lowest, mut highest) = (i64::MAX, i64::MIN);
    let parts = |code: u64| {
        let unpacked = decode(format, code);
        (unpacked, i64::from(unpacked.exponent) - i64::from(format.fraction_bits))
    };
    for &code in codes {
        let (unpacked, exponent) = parts(code);
        match unpacked.class {
            Class::Zero => {}
            Class::Finite => {
                lowest = lowest.min(exponent + i64::from(unpacked.significand.trailing_zeros()));
                highest = highest.max(exponent + 64 - i64::from(unpacked.significand.leading_zeros()));
            }
            Class::Infinity | Class::Nan => return None,
        }
    }
    if highest == i64::MIN {
        return Some(Fixed { significands: vec![0; codes.len()], exponent: 0, bits: 0 });
    }
    let bits = u32::try_from(highest - lowest).ok().filter(|bits| *bits <= 62)?;
    let significand = |&code: &u64| {
        let (unpacked, exponent) = parts(code);
        match exponent - lowest {
            shift if shift >= 0 => unpacked.signed_significand() << shift.min(63),
            shift => unpacked.signed_significand() >> (-shift).min(63), // zeros only fall off
        }
    };
    Some(Fixed { significands: codes.iter().map(significand).collect(), exponent: lowest, bits })
}

/// D − (A·B + C) for every element, row-major: the difference is exact and rounded to FP64 once. NaN where
/// D, or something that goes into it, is not finite.
pub fn errors(a: &Matrix, b: &Matrix, c: Option<&Matrix>, d: &Matrix) -> Result<Vec<f64>, Error> {
    let ((blocks, m, k), n) = (a.shape(), b.columns());
    if blocks != 1 || b.blocks() != 1 || b.rows() != k || d.shape() != (1, m, n) {
        return Err(option(
            "shape",
            format!("A {m}×{k}, B {}×{n}, D {}×{}", b.rows(), d.rows(), d.columns()),
            "one product, A M×K, B K×N, D M×N",
        ));
    }
    let rows: Vec<u64> = a.iter().collect();
    let columns: Vec<u64> = (0..n).flat_map(|column| b.column(0, column)).collect();
    let fast = fixed(&a.format(), &rows).zip(fixed(&b.format(), &columns));
    let fast = fast.filter(|(a, b)| a.bits + b.bits + usize::BITS - k.leading_zeros() <= 110);
    let one = |row: usize, column: usize| -> f64 {
        let Some(value) = Dyadic::of_code(&d.format(), d.get(0, row, column)) else { return f64::NAN };
        let c = c.map_or(Some(Dyadic::ZERO), |c| Dyadic::of_code(&c.format(), c.get(0, row, column)));
        let Some(c) = c else { return f64::NAN };
        let rest = &value - &c;
        match &fast {
            Some((a, b)) => {
                let (x, y) =
                    (&a.significands[row * k..(row + 1) * k], &b.significands[column * k..(column + 1) * k]);
                let sum: i128 = if a.bits + b.bits + usize::BITS - k.leading_zeros() <= 62 {
                    x.iter().zip(y).map(|(x, y)| x * y).sum::<i64>().into()
                } else {
                    x.iter().zip(y).map(|(x, y)| i128::from(*x) * i128::from(*y)).sum()
                };
                (&rest - &Dyadic::new(sum, a.exponent + b.exponent)).to_f64()
            }
            None => {
                let mut sum = Dyadic::ZERO;
                for (x, y) in a.row(0, row).zip(b.column(0, column)) {
                    match (Dyadic::of_code(&a.format(), x), Dyadic::of_code(&b.format(), y)) {
                        (Some(x), Some(y)) => sum += &(&x * &y),
                        _ => return f64::NAN,
                    }
                }
                (&rest - &sum).to_f64()
            }
        }
    };
    Ok((0..m)
        .into_par_iter()
        .flat_map_iter(|row| (0..n).map(move |column| (row, column)))
        .map(|(row, column)| one(row, column))
        .collect())
}
