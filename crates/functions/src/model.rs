//! One row per function: its special values, its reduction of the input, its polynomial.

use std::borrow::Cow;

use crate::number::SIGN;
use crate::polynomial::{Coefficients, Polynomial};
use crate::table;

/// The NaN of every function and of FP32 arithmetic on NVIDIA GPUs.
pub const NAN: u32 = 0x7fff_ffff;

/// FP32 codes that rows use.
pub(crate) const INFINITY: u32 = 0x7f80_0000;
pub(crate) const ONE: u32 = 0x3f80_0000;
/// Results of a function where its polynomial is not asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Specials {
    /// For +0.
    pub zero: u32,
    /// For -0.
    pub negative_zero: u32,
    /// For +infinity.
    pub infinity: u32,
    /// For -infinity.
    pub negative_infinity: u32,
    /// For numbers below zero; `None`: computed like others.
    pub negative: Option<u32>,
    /// For NaN.
    pub nan: u32,
    /// Whether subnormal numbers count as zero of their sign.
    pub subnormal_is_zero: bool,
}

impl Specials {
    /// The result that needs no polynomial, if it is one.
    pub const fn result(&self, x: u32) -> Option<u32> {
        let (magnitude, negative) = (x & !SIGN, x & SIGN != 0);
        if magnitude > INFINITY {
            Some(self.nan)
        } else if magnitude == INFINITY {
            Some(if negative { self.negative_infinity } else { self.infinity })
        } else if magnitude == 0 || (self.subnormal_is_zero && magnitude >> 23 == 0) {
            Some(self.of_zero(negative))
        } else if negative {
            self.negative
        } else {
            None
        }
    }

    /// The result for zero of a sign.
    pub(crate) const fn of_zero(&self, negative: bool) -> u32 {
        if negative { self.negative_zero } else { self.zero }
    }
}

/// Which reduction a function uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reduction {
    Rcp,
    Sqrt,
    Rsqrt,
    Ex2,
    Lg2,
    Sin,
    Cos,
}

/// How a function is computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// Its results for zeros, infinities, NaN and numbers outside its domain.
    pub specials: Specials,
    /// How a number becomes a fraction for the polynomial, and the sum a result.
    pub(crate) reduction: Reduction,
    /// Its polynomials.
    pub polynomial: Polynomial,
}

const fn specials(codes: [u32; 4], negative: Option<u32>, subnormal_is_zero: bool) -> Specials {
    let [zero, negative_zero, infinity, negative_infinity] = codes;
    Specials { zero, negative_zero, infinity, negative_infinity, negative, nan: NAN, subnormal_is_zero }
}

/// A row of the table below.
#[allow(clippy::too_many_arguments)] // one argument per column
const fn row(
    specials: Specials,
    reduction: Reduction,
    rows: &'static [Coefficients],
    row_bits: u32,
    constant_shift: u32,
    linear_shift: u32,
    [subtract_linear, subtract_quadratic]: [bool; 2],
    square_shift: u32,
    point: u32,
    bias: u64,
) -> Model {
    let polynomial = Polynomial {
        rows: Cow::Borrowed(rows),
        row_bits,
        constant_shift,
        linear_shift,
        subtract_linear,
        subtract_quadratic,
        square_shift,
        columns: u64::MAX << 19,
        point,
        bias: bias >> (87 - point), // the source states it in units of 2^-87
    };
    Model { specials, reduction, polynomial }
}

// columns: results for +0, -0, +infinity, -infinity, below zero; whether subnormal numbers are zero; reduction;
// rows, m, a0, a1, signs of c1 and c2, shift before the squarer, W, bias
#[rustfmt::skip]
pub(crate) static MODELS: [Model; 7] = {
    const MINUS: bool = true;
    const PLUS: bool = false;
    const DOMAIN: Option<u32> = Some(NAN); // of functions that have no value below zero
    [
        row(specials([INFINITY, SIGN | INFINITY, 0, SIGN], None, false), Reduction::Rcp,
            &table::RCP, 7, 30, 17, [MINUS, PLUS], 1, 56, 0x67e7_0000_0000_0000),
        row(specials([0, SIGN, INFINITY, NAN], DOMAIN, false), Reduction::Sqrt,
            &table::SQRT, 6, 33, 18, [PLUS, MINUS], 0, 58, 0x7fff_8000_0000_0000),
        row(specials([INFINITY, SIGN | INFINITY, 0, NAN], DOMAIN, false), Reduction::Rsqrt,
            &table::RSQRT, 6, 31, 17, [MINUS, PLUS], 0, 57, 0x7fff_8000_0000_0000),
        row(specials([ONE, ONE, INFINITY, 0], None, true), Reduction::Ex2,
            &table::EX2, 6, 32, 19, [PLUS, PLUS], 0, 57, 0x6fc4_0000_0000_0000),
        row(specials([SIGN | INFINITY, SIGN | INFINITY, INFINITY, NAN], DOMAIN, false), Reduction::Lg2,
            &table::LG2, 6, 30, 18, [PLUS, MINUS], 0, 56, 0x868b_0000_0000_0000),
        row(specials([0, SIGN, NAN, NAN], None, true), Reduction::Sin,
            &table::SIN, 6, 31, 19, [PLUS, MINUS], 0, 56, 0),
        row(specials([ONE, ONE, NAN, NAN], None, true), Reduction::Cos,
            &table::SIN, 6, 31, 19, [PLUS, MINUS], 0, 56, 0),
    ]
};
