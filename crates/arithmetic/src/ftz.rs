//! FTZ-Add, FTZ-Mul and the chain they form (paper, Algorithms 1 and 2).

use bitmma_formats::{Class, Format, Overflow, Rounding, Unpacked, encode};

use crate::convert::Conversion;
use crate::fma::{add, multiply};
use crate::operand::{Operand, Vectors};
use crate::parameter::MAX_PAIRING;
use crate::special::{Special, nan_code};
use crate::steps::report_binary;
use crate::trace::Trace;

/// RNE-FP32(x + y), a subnormal result flushed to zero of its sign.
pub fn ftz_add(x: &Operand, y: &Operand, conversion: Conversion) -> u64 {
    flush(&conversion.container(), add(x, y, conversion))
}

/// RNE-FP32(x * y), a subnormal result flushed to zero of its sign.
pub fn ftz_mul(x: &Operand, y: &Operand, conversion: Conversion) -> u64 {
    flush(&conversion.container(), multiply(x, y, conversion))
}

/// Zero of the same sign instead of a subnormal number.
fn flush(format: &Format, code: u64) -> u64 {
    let sign = code & format.sign_bit();
    if code - sign < format.min_normal_code() { sign } else { code }
}

/// Lines 7 to 15 of Algorithm 2: P products summed pairwise, then added to the accumulator.
pub(crate) fn add_mul<T: Trace>(vectors: &Vectors<'_>, rho: Conversion, trace: &mut T) -> u64 {
    let mut sums = [0; MAX_PAIRING];
    for (k, sum) in sums.iter_mut().enumerate().take(vectors.a.len()) {
        let [x, y] = vectors.factors(k);
        *sum = ftz_mul(&x, &y, rho);
        if T::ON {
            let [a, b] = vectors.formats;
            let (left, right) = ((code_of(a, &x.value), *a), (code_of(b, &y.value), *b));
            report_binary("FTZ-Mul", left, right, (*sum, rho.container()), trace);
        }
    }
    let mut count = vectors.a.len();
    while count > 1 {
        count /= 2;
        for pair in 0..count {
            sums[pair] = traced_add(sums[2 * pair], sums[2 * pair + 1], rho, trace);
        }
    }
    // C was read into this format already
    let c = code_of(&rho.container(), &vectors.c.value);
    traced_add(c, sums[0], rho, trace)
}

/// The code of a number that was unpacked; any NaN becomes the format's quiet one.
fn code_of(format: &Format, value: &Unpacked) -> u64 {
    match value.class {
        Class::Nan => nan_code(format),
        Class::Infinity => Special::Infinity { negative: value.negative }.code(format),
        Class::Zero | Class::Finite => {
            encode(format, value.real(format), Rounding::TowardZero, Overflow::Saturate)
        }
    }
}

fn traced_add<T: Trace>(left: u64, right: u64, conversion: Conversion, trace: &mut T) -> u64 {
    let format = conversion.container();
    let (x, y) = (Operand::new(&format, left), Operand::new(&format, right));
    let result = ftz_add(&x, &y, conversion);
    report_binary("FTZ-Add", (left, format), (right, format), (result, format), trace);
    result
}
