//! The last steps of TR- and GTR-FDPA on vectors: cuts of integer sums, and the accumulator added.

use super::Rounded;
use crate::simd::Simd;

/// Bits of a large accumulator below its leading one, in u.
pub(crate) const PLACE: i32 = 29;

/// The field of 2^exponent.
#[inline(always)]
pub(crate) fn field<S: Simd>(s: S, exponent: i32) -> S::I {
    s.i_splat(exponent.wrapping_add(127) << 23)
}

/// T in units 2^`counts` times as large, rounded down or toward zero; 31 is as good as any larger count.
#[inline(always)]
pub(crate) fn cut<S: Simd>(s: S, plan: &Rounded, t: S::I, counts: S::I) -> S::I {
    if plan.toward_zero {
        let counts = s.i_min(counts, s.i_splat(31));
        return s.i_sar_by(s.i_add(t, s.i_and(negative(s, t), ones(s, counts))), counts);
    }
    s.i_sar_by(t, counts)
}

/// All bits where the number is negative.
#[inline(always)]
fn negative<S: Simd>(s: S, x: S::I) -> S::I {
    s.i_sar_by(x, s.i_splat(31))
}

/// The lowest bits set, as many as `counts`, up to 31.
#[inline(always)]
fn ones<S: Simd>(s: S, counts: S::I) -> S::I {
    s.i_sub(s.i_shl_by(s.i_splat(1), counts), s.i_splat(1))
}

/// What is added.
#[derive(Clone, Copy)]
pub(crate) struct Terms<S: Simd> {
    pub(crate) t: S::I,
    /// e_max - F + PLACE, as a field.
    pub(crate) place: S::I,
    /// 2^(PLACE - place).
    pub(crate) power: S::I,
    /// The accumulator, and the field of its exponent.
    pub(crate) c: S::F,
    pub(crate) own: S::I,
    /// How far that is above the place, 0 where it is not.
    pub(crate) beyond: S::I,
}

/// c in units of 1/power, rounded down; `place` is that of the products.
#[inline(always)]
fn accumulator<S: Simd, const PAIRS: bool>(s: S, place: S::I, power: S::I, c: S::F, own: S::I) -> S::I {
    let down = s.f_floor_product(c, s.f_from_bits(power));
    if PAIRS {
        // GTR-FDPA: of less than half a unit nothing is left
        let dropped = s.i_gt(s.i_sub(place, s.i_splat((PLACE + 1) << 23)), own);
        return s.i_select(dropped, s.i_splat(0), down);
    }
    down
}

/// An integer in units of 1/power, rounded to FP32.
#[inline(always)]
fn rounded<S: Simd>(s: S, sum: S::I, power: S::I) -> S::F {
    let unit = s.i_sub(s.i_splat(254 << 23), power);
    s.f_mul(s.i_to_f(sum), s.f_from_bits(unit))
}

/// The accumulator cut to F fractional bits at its own exponent: nothing with F >= 23.
#[inline(always)]
pub(crate) fn own_bits<S: Simd>(s: S, plan: &Rounded, c: S::F) -> S::F {
    if plan.coarse == 0 {
        return c;
    }
    let bits = s.f_bits(c);
    let mask = s.i_splat(plan.coarse);
    let up = if plan.toward_zero { s.i_splat(0) } else { s.i_and(negative(s, bits), mask) };
    let cut = s.i_and(s.i_add(bits, up), s.i_splat(!plan.coarse));
    // NaN must not wrap around
    let finite = s.i_gt(s.i_splat(0xff << 23), s.i_and(bits, s.i_splat(0xff << 23)));
    s.f_from_bits(s.i_select(finite, cut, bits))
}

/// The sum with its last bit set if something is left of the bits that T lost.
///
/// They are a fraction of u, here in 32 bits. From 2^(exponent - F2) on they count, where `exponent` is that of the sum
/// in units of u: with F2 = 31 where they begin above the bits of `below`, which is |S|. Of more than 32 none is left:
/// they are a trace below an accumulator alone, whose 24 bits end far above u. Where |S| < 2^28·u, one bit at most was
/// lost and it counts.
#[inline(always)]
fn with_trace<S: Simd>(s: S, t: S::I, counts: S::I, sum: S::I, below: S::I) -> S::I {
    let rest = s.i_shl_by(t, s.i_sub(s.i_splat(32), counts));
    s.i_odd_where(s.i_begins_above(rest, below), sum)
}

/// The sum rounded, where nothing is unusual.
#[inline(always)]
pub(crate) fn add_usual<S: Simd, const PAIRS: bool>(s: S, plan: &Rounded, terms: &Terms<S>) -> S::F {
    let Terms { t, place, power, c, own, beyond } = *terms;
    // from 31 on nothing is left of T but its sign
    let counts = s.i_shr(23, beyond);
    let power = s.i_sub(power, beyond);
    let sum = s.i_add(s.i_sar_by(t, counts), accumulator::<S, PAIRS>(s, place, power, c, own));
    let below = if plan.sum.renormalize { s.i_abs(sum) } else { s.i_splat(plan.fixed()) };
    let sum = with_trace(s, t, counts, sum, below);
    rounded(s, sum, power)
}

/// The sum rounded, and a bit for each lane it does not hold for: accumulators that are not finite.
#[inline(always)]
pub(crate) fn add_unusual<S: Simd, const PAIRS: bool>(s: S, plan: &Rounded, terms: &Terms<S>) -> (S::F, u32) {
    let Terms { mut t, place, power, own, beyond, .. } = *terms;
    let mut c = own_bits(s, plan, terms.c);
    let (counts, power) = (s.i_shr(23, beyond), s.i_sub(power, beyond));
    let mut sign = s.i_splat(0);
    if plan.toward_zero {
        // everything times the sign of c, so that what is cut is above zero, but for T itself: if that
        // is below, it is first rounded up to E - F2, or one bit further
        sign = negative(s, s.f_bits(c));
        c = s.f_from_bits(s.i_and(s.f_bits(c), s.i_splat(i32::MAX)));
        t = s.i_sub(s.i_xor(t, sign), sign);
        let kept = plan.finer() + 31 + i32::from(plan.sum.renormalize) - PLACE;
        let lost = s.i_max(s.i_sub(counts, s.i_splat(kept)), s.i_splat(0));
        let up = ones(s, s.i_min(lost, s.i_splat(31)));
        t = s.i_add(t, s.i_and(negative(s, t), up));
    }
    let sum = s.i_add(s.i_sar_by(t, counts), accumulator::<S, PAIRS>(s, place, power, c, own));
    let below = match plan.finer() {
        _ if !plan.sum.renormalize => s.i_splat(plan.fixed()),
        -1 => s.i_shl(1, s.i_abs(sum)),
        finer => s.i_sar_by(s.i_abs(sum), s.i_splat(finer)),
    };
    let mut sum = with_trace(s, t, counts, sum, below);
    if plan.toward_zero {
        sum = s.i_sub(s.i_xor(sum, sign), sign);
    }
    let mut left_out = s.i_gt(own, field(s, 127));
    if plan.coarse != 0 {
        // the largest accumulators may be cut to 2^128
        let cut = s.i_and(s.f_bits(c), s.i_splat(0xff << 23));
        left_out = s.m_or(left_out, s.i_gt(cut, field(s, 127)));
    }
    (rounded(s, sum, power), s.m_bits(left_out))
}
