//! What an operation of some rows takes of packed operands, and what is made of its sums.

use super::{Narrow, PackedA, PackedB, Rho};
use crate::pack::{Bytes, GROUP, ROWS, VECTORS};
use crate::products::{Lanes, Products};
use crate::simd::{Simd, byte_fields};

/// The same as slices, that no store can change.
#[derive(Clone, Copy)]
pub(crate) struct Slices<'s> {
    pub(crate) pairs: &'s [i32],
    pub(crate) units: &'s [i32],
    pub(crate) left_out: &'s [u64],
    pub(crate) bits: u32,
}

/// What an operation takes of rows of A and of a panel of B, as slices that no store can change.
pub(crate) struct Factors<'f> {
    pub(crate) products: Products<'f>,
    pub(crate) a_places: &'f [i32],
    pub(crate) b_places: &'f [i32],
    pub(crate) a_scales: &'f [i32],
    pub(crate) b_scales: &'f [i32],
    pub(crate) a_integers: Slices<'f>,
    pub(crate) b_integers: Slices<'f>,
    /// Columns that the matrix has.
    pub(crate) columns: usize,
    /// Exponent of a subnormal accumulator.
    pub(crate) c_minimum: i32,
}

impl<'f> Factors<'f> {
    /// Of one operation of packed operands.
    #[inline(always)]
    pub(crate) fn of(
        (a, b): (&'f PackedA, &'f PackedB),
        (operation, length): (usize, usize),
        width: usize,
        c_minimum: i32,
    ) -> Factors<'f> {
        Factors {
            products: Products::of((&a.lines, &b.lines), (operation * length, length), width),
            a_places: part(a.places.words(), operation, length * GROUP),
            b_places: part(b.places.words(), operation, length * width / VECTORS),
            a_scales: part(&a.scales, operation, GROUP),
            b_scales: part(&b.scales, operation, width),
            a_integers: a.integers.of_operation(operation, (length, GROUP, GROUP / ROWS)),
            b_integers: b.integers.of_operation(operation, (length, width, 1)),
            columns: b.there,
            c_minimum,
        }
    }
}

/// The part of an operation, of that many numbers; nothing where there are none.
#[inline(always)]
pub(crate) fn part<T>(all: &[T], operation: usize, length: usize) -> &[T] {
    if all.is_empty() { all } else { &all[operation * length..][..length] }
}

/// rho of a sum: the same as a number rounded toward zero, and the unit as a field.
#[inline(always)]
pub(crate) fn rounded<S: Simd, const FP16: bool>(
    s: S,
    plan: &Narrow,
    sum: S::I,
    truncated: S::F,
    unit: S::I,
) -> S::F {
    let unit = s.f_from_bits(unit);
    if FP16 && plan.rho == Rho::NearestFp16 {
        // one bit that says whether anything was cut, so that the second rounding knows
        let exact = s.i_eq(s.f_truncate(truncated), sum);
        let bits = s.f_bits(truncated);
        let odd = s.i_select(exact, bits, s.i_or(bits, s.i_splat(1)));
        let rounded = s.f_bits(s.f_through_f16(s.f_mul(s.f_from_bits(odd), unit)));
        let zero = s.i_eq(s.i_shl(1, rounded), s.i_splat(0));
        return s.f_from_bits(s.i_select(zero, s.i_splat(0), rounded));
    }
    let result = s.f_mul(truncated, unit);
    s.f_from_bits(s.i_and(s.f_bits(result), s.i_splat(plan.rho.mask())))
}

/// Adds the products of one operation of `R` rows to their accumulators, every product cut, in parts that 32 bits hold; below zero where a lane wrapped between two of them.
#[inline(always)]
pub(crate) fn add_parts<S: Simd, const R: usize>(
    s: S,
    plan: &Narrow,
    factors: &Factors<'_>,
    row: usize,
    scale: &[Lanes<S::F>; R],
    sums: &mut [Lanes<S::I>; R],
) -> [Lanes<S::I>; R] {
    let width = VECTORS * S::LANES;
    let mut wrapped = [[s.i_splat(0); VECTORS]; R];
    for first in (0..plan.length).step_by(plan.segment) {
        let length = plan.segment.min(plan.length - first);
        let mut part = [[s.i_splat(0); VECTORS]; R];
        factors.products.values.part((first, length), width).add::<S, R, VECTORS, 1>(
            s,
            (row, 0),
            scale,
            &mut part,
        );
        for row in 0..R {
            for vector in 0..VECTORS {
                let (before, part) = (sums[row][vector], part[row][vector]);
                let sum = s.i_add(before, part);
                let overflow = s.i_and(s.i_xor(before, sum), s.i_xor(part, sum));
                wrapped[row][vector] = s.i_or(wrapped[row][vector], overflow);
                sums[row][vector] = sum;
            }
        }
    }
    wrapped
}

/// Exponents in bytes as fields of FP32 words, biased.
#[inline(always)]
pub(crate) fn exponent_fields<S: Simd>(s: S, exponents: S::I) -> Lanes<S::I> {
    byte_fields(s, s.b_add(exponents, s.i_splat(0x7f7f_7f7f)))
}
