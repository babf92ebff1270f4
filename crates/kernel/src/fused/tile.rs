//! The rows of a task through one block of K, in vectors.

use super::begin::{Begun, begin};
use super::careful::{careful, wide};
use super::chain::{chain, last_bit};
use super::factors::{Factors, add_parts, rounded};
use super::floor::floor_sums;
use super::whole::{are_cut, whole_sums};
use super::{After, Narrow, PackedA, PackedB};
use crate::element::Range;
use crate::family::Rare;
use crate::pack::{GROUP, ROWS, VECTORS};
use crate::products::{Lanes, are_all_safe, are_safe};
use crate::routes::{Route, count};
use crate::simd::Simd;

/// Some rows through one block of K. Every row takes one operation before any takes the next: rows do not
/// wait for each other, as operations of one row do. `FP16` says that C is.
#[inline(always)]
pub(crate) fn rows<S: Simd, const SCALED: bool, const FP16: bool>(
    s: S,
    plan: &Narrow,
    (a, b): (&PackedA, &PackedB),
    k: Range,
    state: &mut [f32],
    rare: &mut Rare<'_>,
) {
    let width = VECTORS * S::LANES;
    assert!(state.len().is_multiple_of(width) && state.len() <= GROUP * width);
    assert!(b.lines.values.len() == k.length * width);
    let last = if SCALED || FP16 { None } else { last_bit(plan, a, b) };
    let most = match last {
        None => GROUP,
        Some(_) if S::MANY => 2 * ROWS,
        Some(_) => ROWS,
    };
    for (index, state) in state.chunks_mut(most * width).enumerate() {
        let row = index * most;
        let done = match last {
            None => false,
            Some(last) if state.len() == 2 * ROWS * width => {
                chain::<S, { 2 * ROWS }>(s, plan, (a, b), (last, row), state)
            }
            Some(_) if state.len() == width => false,
            Some(last) => chain::<S, ROWS>(s, plan, (a, b), (last, row), state),
        };
        match done {
            true => count(Route::Chain),
            false => operations::<S, SCALED, FP16>(s, plan, (a, b), k, row, state, rare),
        }
    }
}

/// Some rows, from one of the group on, operation by operation.
#[inline(always)]
fn operations<S: Simd, const SCALED: bool, const FP16: bool>(
    s: S,
    plan: &Narrow,
    (a, b): (&PackedA, &PackedB),
    k: Range,
    first_row: usize,
    state: &mut [f32],
    rare: &mut Rare<'_>,
) {
    let width = VECTORS * S::LANES;
    let lines = (&a.lines, &b.lines);
    let all_safe = are_all_safe(lines);
    let mut held = Vec::new();
    for (operation, first) in (0..k.length).step_by(plan.length).enumerate() {
        let c_minimum = if k.first + first == 0 { plan.first_minimum } else { plan.c_minimum };
        let factors = &Factors::of((a, b), (operation, plan.length), width, c_minimum);
        if let Some((after, operations)) = plan.after
            && operation % operations == 0
        {
            if operation > 0 {
                after_step::<S, FP16>(s, after, state, &held);
            }
            if after == After::AddC {
                held.clear();
                held.extend_from_slice(state);
                state.fill(0.0);
            }
        }
        for (pair, state) in state.chunks_mut(ROWS * width).enumerate() {
            let row = first_row + pair * ROWS;
            if !all_safe && !are_safe(s, lines, &factors.products, (operation, row)) {
                count(Route::Wide);
                wide(plan, lines, ((first, row), width), state);
                continue;
            }
            let cut = plan.spans.is_none() || are_cut(plan, factors, row);
            // where there are registers for two rows; scale factors seldom leave both whole
            let two = S::MANY && !FP16 && (cut || !SCALED) && state.len() > width;
            if two && tile::<S, SCALED, FP16, ROWS>(s, plan, factors, row, cut, state) {
                continue;
            }
            for (row, state) in (row..).zip(state.chunks_exact_mut(width)) {
                if two || !tile::<S, SCALED, FP16, 1>(s, plan, factors, row, cut, state) {
                    careful::<S, SCALED, FP16>(s, plan, factors, (first, row), state, rare);
                }
            }
        }
    }
    if let Some((after, _)) = plan.after {
        after_step::<S, FP16>(s, after, state, &held);
    }
}

/// One operation of `R` rows side by side, with what is loaded of B shared, where nothing is special. Whether that was
/// so; if not, nothing was changed. `cut` says that products are known to be cut.
#[inline(always)]
fn tile<S: Simd, const SCALED: bool, const FP16: bool, const R: usize>(
    s: S,
    plan: &Narrow,
    factors: &Factors<'_>,
    first_row: usize,
    cut: bool,
    state: &mut [f32],
) -> bool {
    let width = VECTORS * S::LANES;
    assert!(state.len() == R * width && first_row <= GROUP - R);
    let largest = factors.products.largest::<S, R, 1>(s, (first_row, 0));
    let begun = begin::<S, SCALED, FP16, R>(s, plan, factors, first_row, largest, state);
    if begun.outside {
        return false;
    }
    let mut sums = begun.sums;
    if !add_all::<S, SCALED, R>(s, plan, factors, (first_row, cut), &begun, &mut sums) {
        return false;
    }
    // a sum that may have wrapped is large, and so is that of an accumulator that is not finite: beside it all
    // products are cut to nothing, and its own conversion to an integer is the smallest there is
    let mut most = s.f_splat(0.0);
    let mut numbers = [[most; VECTORS]; R];
    for row in 0..R {
        for vector in 0..VECTORS {
            numbers[row][vector] = s.i_to_f_toward_zero(sums[row][vector]);
            most = s.f_max_magnitude(most, numbers[row][vector]);
        }
    }
    let suspect = s.f_bits(s.i_to_f_toward_zero(s.i_splat(plan.suspect)));
    if s.m_bits(s.i_gt(s.f_bits(most), s.i_sub(suspect, s.i_splat(1)))) != 0 {
        return false;
    }
    for row in 0..R {
        for vector in 0..VECTORS {
            let unit = match SCALED {
                true => s.i_sub(begun.maximum[row][vector], s.i_splat(plan.fraction_bits << 23)),
                false => s.i_sub(s.i_splat(254 << 23), s.f_bits(begun.scale[row][vector])),
            };
            let result = rounded::<S, FP16>(s, plan, sums[row][vector], numbers[row][vector], unit);
            s.f_store(&mut state[row * width + vector * S::LANES..], result);
        }
    }
    true
}

/// Adds the products of one operation of `R` rows to their accumulators; whether no sum was seen to leave 32 bits.
#[inline(always)]
fn add_all<S: Simd, const SCALED: bool, const R: usize>(
    s: S,
    plan: &Narrow,
    factors: &Factors<'_>,
    (row, cut): (usize, bool),
    begun: &Begun<S, R>,
    sums: &mut [Lanes<S::I>; R],
) -> bool {
    if S::DIRECTED
        && let Some(floors) = plan.floors
        && !factors.b_places.is_empty()
        && floor_sums(s, floors, factors, row, &begun.scale, sums)
    {
        count(Route::Floor);
        return true;
    }
    if !cut && whole_sums::<S, SCALED, R>(s, plan, factors, row, begun, sums) {
        count(Route::Whole);
        return true;
    }
    count(if R == 1 { Route::One } else { Route::Two });
    if plan.segment == plan.length {
        match factors.columns <= S::LANES {
            true => factors.products.values.add::<S, R, 1, 1>(s, (row, 0), &begun.scale, sums),
            false => factors.products.values.add::<S, R, VECTORS, 1>(s, (row, 0), &begun.scale, sums),
        }
        return true;
    }
    let wrapped = add_parts(s, plan, factors, row, &begun.scale, sums);
    let mut any = s.i_splat(0);
    for row in wrapped {
        for vector in row {
            any = s.i_or(any, vector);
        }
    }
    s.m_bits(s.i_gt(s.i_splat(0), any)) == 0
}

/// What a step came to, rounded to FP16, or plus the accumulator it was held back from: an IEEE 754 addition in FP32, or
/// in FP16, where the sum of two in FP32 rounds to the same (24 bits are 2·11 + 2).
#[inline(always)]
fn after_step<S: Simd, const FP16: bool>(s: S, after: After, state: &mut [f32], held: &[f32]) {
    for (index, state) in state.chunks_exact_mut(S::LANES).enumerate() {
        let result = s.f_load(state);
        let result = match after {
            After::AddC => s.f_add(result, s.f_load(&held[index * S::LANES..])),
            After::Narrow => result,
        };
        let narrow = FP16 || after == After::Narrow;
        s.f_store(state, if narrow { s.f_through_f16(result) } else { result });
    }
}
