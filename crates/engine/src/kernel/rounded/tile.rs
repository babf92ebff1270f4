//! Tiles of TR- and GTR-FDPA: the products of an operation, and the accumulators added to their sums.

use super::Rounded;
use super::pack::{ABSOLUTE_NONE, Lines, RELATIVE_LEAST, RELATIVE_NONE, TopRange, Words};
use super::sum::{PLACE, Terms, add_any, add_small, add_unusual, cut, field, own_bits, power_of};
use crate::kernel::pack::{GROUP, Interleaved, ROWS, Range, VECTORS, bytes};
use crate::kernel::simd::{Simd, larger_field};

/// The vectors of one row of a tile.
type Vectors<V> = [V; VECTORS];

/// The sum of the products of one operation of one row, of all or of every other.
#[derive(Clone, Copy)]
struct Sums<S: Simd> {
    /// T, in units of 2^(e_max - F).
    t: Vectors<S::I>,
    /// 2^(F - e_max).
    scale: Vectors<S::F>,
    /// e_max in bytes.
    largest: S::B,
}

impl Rounded {
    /// What the bits of 2^(F - e_max) are subtracted from to give those of 2^e_max: 2·127 are the biases of the two.
    fn units(&self) -> i32 {
        (254 + self.fraction_bits).wrapping_shl(23)
    }

    /// Whether every place of an operation is the exponent of an FP32 number whose unit is one, too.
    fn holds(&self, top: i32, range: TopRange) -> bool {
        top + range.lowest + RELATIVE_LEAST >= self.fraction_bits - 126
            && top + range.highest <= 127 - PLACE + self.fraction_bits
    }
}

/// Rows of A and a panel of B.
#[derive(Clone, Copy)]
struct Factors<'f> {
    a: &'f Lines<Words>,
    b: &'f Lines<Interleaved>,
    // where they begin, kept where no store can change them
    a_values: *const f32,
    b_values: *const f32,
    a_exponents: *const u32,
    b_exponents: *const i8,
}

/// Which operation of which rows.
#[derive(Clone, Copy)]
struct Place {
    /// Number of the operation in the block of K.
    operation: usize,
    /// Its first element, and how many it has.
    first: usize,
    length: usize,
    /// The first row of the group.
    row: usize,
}

/// Some rows through one block of K; all take one operation before any takes the next, for they do not wait for each
/// other. `LENGTH` products each, or as the plan says if that is 0.
#[inline(always)]
pub(super) unsafe fn tiles<S: Simd, const PAIRS: bool, const OFFSETS: bool, const LENGTH: usize>(
    plan: &Rounded,
    (a, b): (&Lines<Words>, &Lines<Interleaved>),
    k: Range,
    state: &mut [f32],
    rare: &mut dyn FnMut(usize, usize, usize, f32) -> f32,
) {
    unsafe {
        let width = VECTORS * S::LANES;
        assert!(state.len().is_multiple_of(ROWS * width) && state.len() <= GROUP * width);
        assert!(a.exponents.words.len() == k.length * GROUP && b.exponents.len() == k.length * width);
        let factors = Factors {
            a,
            b,
            a_values: a.values.as_ptr(),
            b_values: b.values.as_ptr(),
            a_exponents: a.exponents.words.as_ptr(),
            b_exponents: b.exponents.as_ptr(),
        };
        let plan = &{ *plan }; // a copy, that no store to the state can change
        let calm = if OFFSETS { 0 } else { calm::<S>(plan, k, state) };
        let length = if LENGTH == 0 { plan.length } else { LENGTH };
        for (operation, first) in (0..k.length).step_by(length).enumerate() {
            for (pair, state) in state.chunks_exact_mut(ROWS * width).enumerate() {
                let (upper, lower) = state.split_at_mut(width);
                let place = Place { operation, first, length, row: pair * ROWS };
                let below = Place { row: place.row + 1, ..place };
                if LENGTH == 4 {
                    // so few products wait for the accumulator more than for what they share
                    let [sum] = of_all::<S, PAIRS, OFFSETS, 1>(plan, factors, place);
                    finish::<S, PAIRS, OFFSETS, true>(plan, factors, place, calm, &sum, upper, rare);
                    let [sum] = of_all::<S, PAIRS, OFFSETS, 1>(plan, factors, below);
                    finish::<S, PAIRS, OFFSETS, true>(plan, factors, below, calm, &sum, lower, rare);
                } else {
                    let [first, second] = of_all::<S, PAIRS, OFFSETS, 2>(plan, factors, place);
                    // one after the other and not in a loop: so all stays in registers
                    finish::<S, PAIRS, OFFSETS, false>(plan, factors, place, calm, &first, upper, rare);
                    finish::<S, PAIRS, OFFSETS, false>(plan, factors, below, calm, &second, lower, rare);
                }
            }
        }
    }
}

/// A bit for each row whose accumulators are finite and stay so through a block of K, exponents counted from 0.
///
/// An operation adds less than 2^31 units of 2^(2·42 - F), F >= 1: less than 2^114. Operations of 2^11 elements add less
/// than 2^125.
#[inline(always)]
unsafe fn calm<S: Simd>(plan: &Rounded, k: Range, state: &[f32]) -> u32 {
    unsafe {
        let mut rows = 0;
        for (row, line) in state.chunks_exact(VECTORS * S::LANES).enumerate() {
            let mut largest = S::i_splat(0);
            for vector in line.chunks_exact(S::LANES) {
                let bits = S::f_bits(S::f_load(vector.as_ptr()));
                largest = larger_field::<S>(largest, S::i_and(bits, S::i_splat(0xff << 23)));
            }
            let large = S::m_bits(S::i_gt(largest, field::<S>(124))) != 0;
            rows |= u32::from(!large) << row;
        }
        if plan.unusual() || k.length > 1 << 11 { 0 } else { rows }
    }
}

/// The sums of an operation of some rows.
#[inline(always)]
unsafe fn of_all<S: Simd, const PAIRS: bool, const OFFSETS: bool, const TOGETHER: usize>(
    plan: &Rounded,
    factors: Factors<'_>,
    place: Place,
) -> [Sums<S>; TOGETHER] {
    unsafe {
        let Place { first, length, .. } = place;
        if !PAIRS {
            return sums::<S, OFFSETS, TOGETHER>(plan, factors, place.row, (first, 1, length));
        }
        let mut even = sums::<S, OFFSETS, TOGETHER>(plan, factors, place.row, (first, 2, length.div_ceil(2)));
        let odd = sums::<S, OFFSETS, TOGETHER>(plan, factors, place.row, (first + 1, 2, length / 2));
        for (even, odd) in even.iter_mut().zip(&odd) {
            join::<S>(plan, even, odd);
        }
        even
    }
}

/// The sums of `count` products `first`, `first + step`, … of the rows from `row` on.
#[inline(always)]
unsafe fn sums<S: Simd, const OFFSETS: bool, const TOGETHER: usize>(
    plan: &Rounded,
    factors: Factors<'_>,
    row: usize,
    (first, step, count): (usize, usize, usize),
) -> [Sums<S>; TOGETHER] {
    unsafe {
        let width = VECTORS * S::LANES;
        let none = if OFFSETS { RELATIVE_NONE } else { ABSOLUTE_NONE };
        let nothing = Sums {
            t: [S::i_splat(0); VECTORS],
            scale: [S::f_splat(0.0); VECTORS],
            largest: S::b_splat(bytes(none as i8)),
        };
        let mut sums = [nothing; TOGETHER];
        for index in (0..count).map(|index| first + index * step) {
            let b_exponent = S::b_load(factors.b_exponents.add(index * width));
            for (row, sum) in (row..).zip(&mut sums) {
                let a_exponent = S::b_splat(*factors.a_exponents.add(index * GROUP + row));
                sum.largest = S::b_max(sum.largest, S::b_add_saturating(a_exponent, b_exponent));
            }
        }
        for sum in &mut sums {
            if OFFSETS {
                let maximum = S::b_fields(S::b_sub(sum.largest, S::b_splat(bytes(-127))));
                for vector in 0..VECTORS {
                    let scale = S::i_sub(S::i_splat(plan.units()), maximum[vector]);
                    sum.scale[vector] = S::f_from_bits(scale);
                }
            } else {
                let from = S::b_splat(bytes((127 + plan.fraction_bits) as i8));
                let scale = S::b_fields(S::b_sub(from, sum.largest));
                for vector in 0..VECTORS {
                    sum.scale[vector] = S::f_from_bits(scale[vector]);
                }
            }
        }
        for index in (0..count).map(|index| first + index * step) {
            let line = factors.b_values.add(index * width);
            let mut rows = [S::f_splat(*factors.a_values.add(index * GROUP + row)); TOGETHER];
            if TOGETHER == 2 {
                rows[1] = S::f_splat(*factors.a_values.add(index * GROUP + row + 1));
            }
            for vector in 0..VECTORS {
                let column = S::f_load(line.add(vector * S::LANES));
                for (sum, row) in sums.iter_mut().zip(rows) {
                    let product = S::f_mul(S::f_mul(row, column), sum.scale[vector]);
                    sum.t[vector] = S::i_add(sum.t[vector], S::f_truncate(product));
                }
            }
        }
        sums
    }
}

/// The sums of even and of odd products joined at the larger exponent.
#[inline(always)]
unsafe fn join<S: Simd>(plan: &Rounded, even: &mut Sums<S>, odd: &Sums<S>) {
    unsafe {
        even.largest = S::b_max(even.largest, odd.largest);
        for vector in 0..VECTORS {
            // the larger exponent has the smaller power
            let (x, y) = (S::f_bits(even.scale[vector]), S::f_bits(odd.scale[vector]));
            let scale = S::i_min(x, y);
            let x = cut::<S>(plan, even.t[vector], S::i_shr::<23>(S::i_sub(x, scale)));
            let y = cut::<S>(plan, odd.t[vector], S::i_shr::<23>(S::i_sub(y, scale)));
            even.t[vector] = S::i_add(x, y);
            even.scale[vector] = S::f_from_bits(scale);
        }
    }
}

/// Adds the accumulators of a row to its sums, and rounds. With `ALWAYS` as if some were above their places, without a
/// look: a wrong guess of a branch costs more.
#[inline(always)]
unsafe fn finish<S: Simd, const PAIRS: bool, const OFFSETS: bool, const ALWAYS: bool>(
    plan: &Rounded,
    factors: Factors<'_>,
    Place { operation, first, row, .. }: Place,
    calm: u32,
    sum: &Sums<S>,
    line: &mut [f32],
    rare: &mut dyn FnMut(usize, usize, usize, f32) -> f32,
) {
    unsafe {
        let width = VECTORS * S::LANES;
        let least = if OFFSETS { RELATIVE_LEAST } else { ABSOLUTE_NONE + 1 };
        let mut careful = S::b_any_gt(S::b_splat(bytes(least as i8)), sum.largest);
        let (mut flushed, mut held, mut top) = (false, true, 0);
        if OFFSETS {
            let range = factors.b.ranges[operation];
            let row_range = factors.a.ranges[operation * (GROUP / ROWS) + row / ROWS];
            top = factors.a.tops[operation * GROUP + row] >> 23;
            flushed = range.flushed || row_range.flushed;
            held = plan.holds(top, range);
            careful |= !held || plan.unusual();
        } else {
            careful |= calm >> row & 1 == 0;
        }
        let to_place =
            plan.units().wrapping_add((PLACE - plan.fraction_bits + if held { top } else { 0 }) << 23);
        let (nothing, none) = (S::f_splat(0.0), S::i_splat(0));
        let nothing = Terms { t: none, place: none, power: none, c: nothing, own: none, beyond: none };
        let mut terms = [nothing; VECTORS];
        let (mut beyond, mut most) = (none, none);
        for vector in 0..VECTORS {
            let scale = S::f_bits(sum.scale[vector]);
            let (mut place, mut power) = (S::i_sub(S::i_splat(to_place), scale), scale);
            if OFFSETS {
                let mut column =
                    S::i_load(factors.b.tops.as_ptr().add(operation * width + vector * S::LANES));
                if !held {
                    // beyond these limits every place is out of range
                    let both = S::i_add(S::i_sar_by(column, S::i_splat(23)), S::i_splat(top));
                    column = S::i_shl::<23>(S::i_max(S::i_min(both, S::i_splat(153)), S::i_splat(-180)));
                }
                place = S::i_add(place, column);
                power = power_of::<S>(place);
            }
            let c = S::f_load(line.as_ptr().add(vector * S::LANES));
            let own = S::i_and(S::f_bits(c), S::i_splat(0xff << 23));
            terms[vector] = Terms { t: sum.t[vector], place, power, c, own, beyond: S::i_excess(own, place) };
            beyond = S::i_or(beyond, terms[vector].beyond);
            if OFFSETS {
                most = larger_field::<S>(most, own);
            }
        }
        if !careful {
            if !ALWAYS && S::m_bits(S::i_gt(beyond, none)) == 0 {
                for vector in 0..VECTORS {
                    let result = add_small::<S, PAIRS>(&terms[vector]);
                    S::f_store(line.as_mut_ptr().add(vector * S::LANES), result);
                }
                return;
            }
            if !OFFSETS || S::m_bits(S::i_eq(most, S::i_splat(0xff << 23))) == 0 {
                if plan.renormalize {
                    for vector in 0..VECTORS {
                        let result = add_any::<S, PAIRS, true>(plan, &terms[vector]);
                        S::f_store(line.as_mut_ptr().add(vector * S::LANES), result);
                    }
                } else {
                    for vector in 0..VECTORS {
                        let result = add_any::<S, PAIRS, false>(plan, &terms[vector]);
                        S::f_store(line.as_mut_ptr().add(vector * S::LANES), result);
                    }
                }
                return;
            }
        }
        let mut rare = |column: usize, c: f32| rare(row, column, first, c);
        carefully::<S, PAIRS, OFFSETS>(plan, (sum.scale, terms), flushed, line, &mut rare);
    }
}

/// The last step where anything may be: no products, units beyond FP32, accumulators that are not finite. What it is
/// done on comes as a copy, so that what it was copied from stays in registers.
#[inline(always)]
unsafe fn carefully<S: Simd, const PAIRS: bool, const OFFSETS: bool>(
    plan: &Rounded,
    (scale, terms): (Vectors<S::F>, Vectors<Terms<S>>),
    flushed: bool,
    line: &mut [f32],
    rare: &mut dyn FnMut(usize, f32) -> f32,
) {
    unsafe {
        let none = if OFFSETS { RELATIVE_NONE + 1 } else { ABSOLUTE_NONE + 1 };
        for (vector, terms) in terms.iter().enumerate() {
            let (mut result, mut left_out) = add_unusual::<S, PAIRS>(plan, terms);
            // without a product the accumulator is the answer, cut to F bits; -0 becomes +0
            let maximum = S::i_sub(S::i_splat(plan.units()), S::f_bits(scale[vector]));
            let none = S::i_gt(field::<S>(none), maximum);
            if !flushed {
                let alone = S::f_add(own_bits::<S>(plan, terms.c), S::f_splat(0.0));
                result = S::f_from_bits(S::i_select(none, S::f_bits(alone), S::f_bits(result)));
                left_out &= !S::m_bits(none);
            }
            if OFFSETS {
                let low = S::m_bits(S::i_gt(field::<S>(RELATIVE_LEAST), maximum));
                left_out |= if flushed { low } else { low & !S::m_bits(none) };
            }
            S::f_store(line.as_mut_ptr().add(vector * S::LANES), result);
            if left_out != 0 {
                let line = &mut line[vector * S::LANES..(vector + 1) * S::LANES];
                let mut mend = |lane: usize, c: f32| rare(vector * S::LANES + lane, c);
                by_lane::<S>(line, terms.c, left_out, &mut mend);
            }
        }
    }
}

/// Gives lanes that were left out the result of the reference path.
#[cold]
#[inline(never)]
fn mend(line: &mut [f32], c: &[f32], left_out: u32, rare: &mut dyn FnMut(usize, f32) -> f32) {
    for (lane, (result, &c)) in line.iter_mut().zip(c).enumerate() {
        if left_out >> lane & 1 == 1 {
            // infinity and NaN stay
            *result = if c.is_finite() { rare(lane, c) } else { c };
        }
    }
}

/// [`mend`], from vectors.
#[inline(always)]
unsafe fn by_lane<S: Simd>(
    line: &mut [f32],
    c: S::F,
    left_out: u32,
    rare: &mut dyn FnMut(usize, f32) -> f32,
) {
    let mut before = [0.0; 16];
    unsafe { S::f_store(before.as_mut_ptr(), c) };
    mend(line, &before, left_out, rare);
}
