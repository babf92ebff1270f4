//! The one form of all seven functions: quadratic polynomials in fixed point, one for each row of a table.

use std::borrow::Cow;

/// Coefficients of one polynomial, unsigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coefficients {
    /// c0: the constant, at most 26 bits.
    pub c0: u32,
    /// c1: of t, at most 17 bits.
    pub c1: u32,
    /// c2: of t², at most 10 bits.
    pub c2: u32,
}

/// A table of polynomials and how they are summed. For a fraction whose upper `row_bits` bits select the row and
/// whose lower bits are t:
///
/// `sum = (c0 << constant_shift) ± (c1·t << linear_shift) ± c2·square(t) + bias`, in units of 2^-`point`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Polynomial {
    /// The rows; where there are two halves, the second is for odd exponents.
    pub rows: Cow<'static, [Coefficients]>,
    /// m: bits of the fraction that select a row, 6 or 7.
    pub row_bits: u32,
    /// a0: the place of c0.
    pub constant_shift: u32,
    /// a1: the place of c1·t.
    pub linear_shift: u32,
    /// Whether c1·t is subtracted; if not, c2·square(t) may be.
    pub subtract_linear: bool,
    /// Whether c2·square(t) is subtracted.
    pub subtract_quadratic: bool,
    /// Bits by which t is shifted left into the squarer; its square is shifted back: 1 for `rcp`.
    pub square_shift: u32,
    /// Columns of the squarer: partial products of weight 2^i are summed where bit i is set (from 19 on).
    pub columns: u64,
    /// W: the place of the bit that weighs one.
    pub point: u32,
    /// The constant that rounds, in units of the sum.
    pub bias: u64,
}

/// The terms of one sum, in its units; those to subtract are negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Index of the row.
    pub index: usize,
    /// Its coefficients.
    pub row: Coefficients,
    /// The bits of the fraction below the row's.
    pub t: u32,
    /// c0 in its place.
    pub constant: i64,
    /// ± c1·t in its place.
    pub linear: i64,
    /// ± c2·square(t).
    pub quadratic: i64,
    /// What an exact square would have added to the magnitude of `quadratic`.
    pub omitted: u64,
    /// The bias.
    pub bias: i64,
}

impl Terms {
    /// The sum of all terms; never below zero.
    pub const fn sum(&self) -> u64 {
        (self.constant + self.linear + self.quadratic + self.bias).cast_unsigned()
    }
}

/// Bits of a fraction.
pub(crate) const FRACTION_BITS: u32 = 23;
/// A fraction's bits, all set.
pub(crate) const FRACTION: u32 = (1 << FRACTION_BITS) - 1;

impl Polynomial {
    /// The terms for a 23-bit fraction; `odd`: from the second half of the table.
    pub fn terms(&self, fraction: u32, odd: bool) -> Terms {
        let t_bits = FRACTION_BITS - self.row_bits;
        let t = fraction & ((1 << t_bits) - 1);
        let index = (fraction >> t_bits) as usize + (usize::from(odd) << self.row_bits);
        let row = self.rows[index];
        let signed = |magnitude: u64, minus: bool| {
            let value = magnitude.cast_signed();
            if minus { -value } else { value }
        };
        let linear = (u64::from(row.c1) * u64::from(t)) << self.linear_shift;
        let square = square(t << self.square_shift, self.columns) >> (2 * self.square_shift);
        let quadratic = u64::from(row.c2) * square;
        Terms {
            index,
            row,
            t,
            constant: (u64::from(row.c0) << self.constant_shift).cast_signed(),
            linear: signed(linear, self.subtract_linear),
            quadratic: signed(quadratic, self.subtract_quadratic),
            omitted: u64::from(row.c2) * (u64::from(t) * u64::from(t) - square),
            bias: self.bias.cast_signed(),
        }
    }

    /// The 23 bits of a sum below the one that weighs one: cut, not rounded.
    pub const fn fraction(&self, sum: u64) -> u32 {
        (sum >> (self.point - FRACTION_BITS)) as u32 & FRACTION
    }
}

/// The partial products of z² that lie in these columns: those of a bit with itself, 2^(2i), and of two bits, 2^(i+j+1).
fn square(z: u32, columns: u64) -> u64 {
    let (mut sum, mut left) = (0, u64::from(z));
    while left != 0 {
        let i = left.trailing_zeros();
        left &= left - 1; // the bits above i
        let itself = 1 << (2 * i);
        let others = left << (i + 1);
        sum += (itself & columns) + (others & columns);
    }
    sum
}
