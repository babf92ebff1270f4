//! Sums of integers through a block of K, where neither products nor accumulators are cut.
//!
//! With 2^q the last bits of both formats multiplied, every product is a multiple of it. Where accumulators are, too, and
//! no exponent is above q + F, nothing is cut: an operation adds an integer to an integer, and what RZ into FP32 leaves
//! of the sum is a multiple of 2^q again. Exponents of products need not be looked at, accumulators only for how large they
//! become.

use super::{Narrow, PackedA, PackedB};
use crate::elementwise::power;
use crate::pack::{GROUP, ROWS, VECTORS};
use crate::products::Lanes;
use crate::simd::{Simd, by_fours};

/// The exponent q for operands of a block of K, if no product is cut and no sum of products leaves 32 bits.
#[inline(always)]
pub(crate) fn last_bit(plan: &Narrow, a: &PackedA, b: &PackedB) -> Option<i32> {
    let last = plan.chain?;
    let (whole_a, whole_b) = (a.integers.whole_below()?, b.integers.whole_below()?);
    // products have exponents of at most this; they are below twice 2 to the power of it
    let most = whole_a + whole_b;
    let bits = most + 2 + plan.length.next_power_of_two().ilog2() as i32 - last;
    (most <= last + plan.fraction_bits && bits <= 30).then_some(last)
}

/// `R` rows, from a row of the group on, through a block of K. Whether nothing was cut; if something may have been, nothing
/// was changed.
#[inline(always)]
pub(crate) fn chain<S: Simd, const R: usize>(
    s: S,
    plan: &Narrow,
    (a, b): (&PackedA, &PackedB),
    (last, row): (i32, usize),
    state: &mut [f32],
) -> bool {
    let width = VECTORS * S::LANES;
    assert!(state.len() == R * width && row <= GROUP - R);
    let mut numbers: [Lanes<S::I>; R] = [[s.i_splat(0); VECTORS]; R];
    let mut parts = s.i_splat(0);
    let mut largest = s.f_splat(0.0);
    for of_tile in 0..R {
        for vector in 0..VECTORS {
            let c = s.f_load(&state[of_tile * width + vector * S::LANES..]);
            // no zero is negative
            let c = s.f_add(s.f_mul(c, s.f_splat(power(-last) as f32)), s.f_splat(0.0));
            let number = s.f_truncate_any(c);
            parts = s.i_or(parts, s.i_xor(s.f_bits(c), s.f_bits(s.i_to_f_toward_zero(number))));
            largest = s.f_max_magnitude(largest, c);
            numbers[of_tile][vector] = number;
        }
    }
    if s.m_bits(s.i_eq(parts, s.i_splat(0))) != u32::MAX >> (32 - S::LANES) || is_beyond(s, plan, largest) {
        return false;
    }
    for operation in 0..a.integers.operations(GROUP) {
        let rows = a.integers.of_operation(operation, (plan.length, GROUP, GROUP / ROWS));
        let columns = b.integers.of_operation(operation, (plan.length, width, 1));
        let mut dots = [[s.i_splat(0); VECTORS]; R];
        by_fours!(rows.pairs, GROUP; columns.pairs, width => |numbers, line| {
            let numbers = &numbers[row..][..R];
            for vector in 0..VECTORS {
                let column = s.i_load(&line[vector * S::LANES..]);
                for of_tile in 0..R {
                    let dot = dots[of_tile][vector];
                    dots[of_tile][vector] = s.i_dot2(dot, s.i_splat(numbers[of_tile]), column);
                }
            }
        });
        for of_tile in 0..R {
            let above = s.i_splat(rows.units[row + of_tile] - last);
            for vector in 0..VECTORS {
                let shift = s.i_add(above, s.i_load(&columns.units[vector * S::LANES..]));
                let sum = s.i_add(numbers[of_tile][vector], s.i_shl_by(dots[of_tile][vector], shift));
                let sum = s.i_to_f_toward_zero(sum);
                largest = s.f_max_magnitude(largest, sum);
                numbers[of_tile][vector] = s.f_truncate(sum);
            }
        }
    }
    if is_beyond(s, plan, largest) {
        return false;
    }
    for of_tile in 0..R {
        for vector in 0..VECTORS {
            let number = s.i_to_f_toward_zero(numbers[of_tile][vector]);
            let result = s.f_mul(number, s.f_splat(power(last) as f32));
            s.f_store(&mut state[of_tile * width + vector * S::LANES..], result);
        }
    }
    true
}

/// Whether a magnitude is 2^(F + 1) or more.
#[inline(always)]
fn is_beyond<S: Simd>(s: S, plan: &Narrow, magnitude: S::F) -> bool {
    let limit = s.i_splat((plan.fraction_bits + 128) << 23);
    s.m_bits(s.i_gt(limit, s.f_bits(magnitude))) != u32::MAX >> (32 - S::LANES)
}
