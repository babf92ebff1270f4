//! FTZ-Add, FTZ-Mul and the chain they form (paper, Algorithms 1 and 2).

use bitmma_formats::{Class, Format, Overflow, Real, Rounding, Unpacked, encode};

use crate::convert::Conversion;
use crate::fma::{Operand, add, multiply};
use crate::parameter::MAX_PAIRING;
use crate::trace::{Step, Trace};

/// RNE-FP32(x + y), a subnormal result flushed to zero of its sign.
pub fn ftz_add(x: &Operand, y: &Operand, conversion: Conversion) -> u64 {
    flush(&conversion.container(), add(x, y, conversion))
}

/// RNE-FP32(x * y), a subnormal result flushed to zero of its sign.
pub fn ftz_mul(x: &Operand, y: &Operand, conversion: Conversion) -> u64 {
    flush(&conversion.container(), multiply(x, y, conversion))
}

/// Zero of the same sign in place of a subnormal number.
fn flush(format: &Format, code: u64) -> u64 {
    let sign = code & format.sign_bit();
    if code - sign < format.min_normal_code() { sign } else { code }
}

/// The products of `a` and `b` (P of them) summed pairwise, then added to the accumulator `c`.
pub fn add_mul<T: Trace>(
    a: &[Unpacked],
    b: &[Unpacked],
    (a_format, b_format): (&Format, &Format),
    c: u64,
    conversion: Conversion,
    trace: &mut T,
) -> u64 {
    let mut sums = [0; MAX_PAIRING];
    for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
        let operand = |format: &Format, value: &Unpacked| Operand {
            value: *value,
            fraction_bits: format.fraction_bits as i32,
        };
        *sum = ftz_mul(&operand(a_format, a), &operand(b_format, b), conversion);
        if T::ON {
            trace.step(Step::Binary {
                operation: "FTZ-Mul",
                left: code_of(a_format, a),
                left_format: *a_format,
                right: code_of(b_format, b),
                right_format: *b_format,
                result: *sum,
                format: conversion.container(),
            });
        }
    }
    let mut count = a.len();
    while count > 1 {
        count /= 2;
        for pair in 0..count {
            sums[pair] = traced_add(sums[2 * pair], sums[2 * pair + 1], conversion, trace);
        }
    }
    traced_add(c, sums[0], conversion, trace)
}

/// The code of a number that was taken apart; any NaN becomes the format's quiet one.
pub(crate) fn code_of(format: &Format, value: &Unpacked) -> u64 {
    let sign = if value.negative { format.sign_bit() } else { 0 };
    match value.class {
        Class::Nan => format.nan_code().unwrap_or(0),
        Class::Infinity => format.infinity_code().unwrap_or(0) | sign,
        Class::Zero | Class::Finite => {
            let real = Real {
                negative: value.negative,
                significand: u128::from(value.significand),
                exponent: value.exponent - format.fraction_bits as i32,
                inexact: false,
            };
            encode(format, real, Rounding::TowardZero, Overflow::Saturate)
        }
    }
}

fn traced_add<T: Trace>(left: u64, right: u64, conversion: Conversion, trace: &mut T) -> u64 {
    let format = conversion.container();
    let (x, y) = (Operand::new(&format, left), Operand::new(&format, right));
    let result = ftz_add(&x, &y, conversion);
    if T::ON {
        trace.step(Step::Binary {
            operation: "FTZ-Add",
            left,
            left_format: format,
            right,
            right_format: format,
            result,
            format,
        });
    }
    result
}
