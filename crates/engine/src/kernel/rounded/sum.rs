//! The last steps of TR- and GTR-FDPA on vectors: cuts of integer sums, and the accumulator added.

use super::Rounded;
use crate::kernel::simd::Simd;

/// Bits of a large accumulator below its leading one, in u.
pub(super) const PLACE: i32 = 29;

/// The field of 2^exponent.
#[inline(always)]
pub(super) unsafe fn field<S: Simd>(exponent: i32) -> S::I {
    unsafe { S::i_splat(exponent.wrapping_add(127) << 23) }
}

/// T in units 2^`counts` times as large, rounded down or toward zero; 31 is as good as any larger count.
#[inline(always)]
pub(super) unsafe fn cut<S: Simd>(plan: &Rounded, t: S::I, counts: S::I) -> S::I {
    unsafe {
        if plan.toward_zero {
            let counts = S::i_min(counts, S::i_splat(31));
            return S::i_sar_by(S::i_add(t, S::i_and(negative::<S>(t), ones::<S>(counts))), counts);
        }
        S::i_sar_by(t, counts)
    }
}

/// All bits where the number is negative.
#[inline(always)]
unsafe fn negative<S: Simd>(x: S::I) -> S::I {
    unsafe { S::i_sar_by(x, S::i_splat(31)) }
}

/// The lowest bits set, as many as `counts`, up to 31.
#[inline(always)]
unsafe fn ones<S: Simd>(counts: S::I) -> S::I {
    unsafe { S::i_sub(S::i_shl_by(S::i_splat(1), counts), S::i_splat(1)) }
}

/// What is added.
#[derive(Clone, Copy)]
pub(super) struct Terms<S: Simd> {
    pub(super) t: S::I,
    /// e_max - F + PLACE, as a field.
    pub(super) place: S::I,
    /// 2^(PLACE - place).
    pub(super) power: S::I,
    /// The accumulator, and the field of its exponent.
    pub(super) c: S::F,
    pub(super) own: S::I,
    /// How far that is above the place, 0 where it is not.
    pub(super) beyond: S::I,
}

/// 2^(PLACE - place), for a field.
#[inline(always)]
pub(super) unsafe fn power_of<S: Simd>(place: S::I) -> S::I {
    // 2·127 are the biases of the two
    unsafe { S::i_sub(S::i_splat((254 + PLACE).wrapping_shl(23)), place) }
}

/// c in units of 1/power, rounded down; `place` is that of the products.
#[inline(always)]
unsafe fn accumulator<S: Simd, const PAIRS: bool>(place: S::I, power: S::I, c: S::F, own: S::I) -> S::I {
    unsafe {
        let down = S::f_floor_product(c, S::f_from_bits(power));
        if PAIRS {
            // GTR-FDPA: of less than half a unit nothing is left
            let dropped = S::i_gt(S::i_sub(place, S::i_splat((PLACE + 1) << 23)), own);
            return S::i_select(dropped, S::i_splat(0), down);
        }
        down
    }
}

/// An integer in units of 1/power, rounded to FP32.
#[inline(always)]
unsafe fn rounded<S: Simd>(sum: S::I, power: S::I) -> S::F {
    unsafe {
        let unit = S::i_sub(S::i_splat(254 << 23), power);
        S::f_mul(S::i_to_f(sum), S::f_from_bits(unit))
    }
}

/// The sum rounded down, where no accumulator's exponent is above the place.
#[inline(always)]
pub(super) unsafe fn add_small<S: Simd, const PAIRS: bool>(terms: &Terms<S>) -> S::F {
    unsafe {
        let Terms { t, place, power, c, own, .. } = *terms;
        rounded::<S>(S::i_add(t, accumulator::<S, PAIRS>(place, power, c, own)), power)
    }
}

/// The accumulator cut to F fractional bits at its own exponent: nothing with F >= 23.
#[inline(always)]
pub(super) unsafe fn own_bits<S: Simd>(plan: &Rounded, c: S::F) -> S::F {
    unsafe {
        if plan.coarse == 0 {
            return c;
        }
        let bits = S::f_bits(c);
        let mask = S::i_splat(plan.coarse);
        let up = if plan.toward_zero { S::i_splat(0) } else { S::i_and(negative::<S>(bits), mask) };
        let cut = S::i_and(S::i_add(bits, up), S::i_splat(!plan.coarse));
        // NaN must not wrap around
        let finite = S::i_gt(S::i_splat(0xff << 23), S::i_and(bits, S::i_splat(0xff << 23)));
        S::f_from_bits(S::i_select(finite, cut, bits))
    }
}

/// The sum with its last bit set if something is left of the bits that T lost.
///
/// They are a fraction of u, here in 32 bits. From 2^(exponent - F2) on they count, where `exponent` is that of the sum
/// in units of u: with F2 = 31 where they begin above the bits of `below`, which is |S|. Of more than 32 none is left:
/// they are a trace below an accumulator alone, whose 24 bits end far above u. Where |S| < 2^28·u, one bit at most was
/// lost and it counts.
#[inline(always)]
unsafe fn with_trace<S: Simd>(t: S::I, counts: S::I, sum: S::I, below: S::I) -> S::I {
    unsafe {
        let rest = S::i_shl_by(t, S::i_sub(S::i_splat(32), counts));
        S::i_odd_where(S::i_begins_above(rest, below), sum)
    }
}

/// The sum rounded, where nothing is unusual.
#[inline(always)]
pub(super) unsafe fn add_any<S: Simd, const PAIRS: bool, const RENORMALIZE: bool>(
    plan: &Rounded,
    terms: &Terms<S>,
) -> S::F {
    unsafe {
        let Terms { t, place, power, c, own, beyond } = *terms;
        // from 31 on nothing is left of T but its sign
        let counts = S::i_shr::<23>(beyond);
        let power = S::i_sub(power, beyond);
        let sum = S::i_add(S::i_sar_by(t, counts), accumulator::<S, PAIRS>(place, power, c, own));
        let below = if RENORMALIZE { S::i_abs(sum) } else { S::i_splat(plan.fixed()) };
        let sum = with_trace::<S>(t, counts, sum, below);
        rounded::<S>(sum, power)
    }
}

/// The sum rounded, and a bit for each lane it does not hold for: accumulators that are not finite, units
/// out of FP32's normal range.
#[inline(always)]
pub(super) unsafe fn add_unusual<S: Simd, const PAIRS: bool>(
    plan: &Rounded,
    terms: &Terms<S>,
) -> (S::F, u32) {
    unsafe {
        let Terms { mut t, place: of_products, own, .. } = *terms;
        let mut c = own_bits::<S>(plan, terms.c);
        let place = S::i_max(own, of_products);
        let counts = S::i_shr::<23>(S::i_sub(place, of_products));
        let mut sign = S::i_splat(0);
        if plan.toward_zero {
            // everything times the sign of c, so that what is cut is above zero, but for T itself: if that
            // is below, it is first rounded up to E - F2, or one bit further
            sign = negative::<S>(S::f_bits(c));
            c = S::f_from_bits(S::i_and(S::f_bits(c), S::i_splat(i32::MAX)));
            t = S::i_sub(S::i_xor(t, sign), sign);
            let kept = plan.sum_fraction_bits + i32::from(plan.renormalize) - PLACE;
            let lost = S::i_max(S::i_sub(counts, S::i_splat(kept)), S::i_splat(0));
            let up = ones::<S>(S::i_min(lost, S::i_splat(31)));
            t = S::i_add(t, S::i_and(negative::<S>(t), up));
        }
        let power = power_of::<S>(place);
        let sum = S::i_add(S::i_sar_by(t, counts), accumulator::<S, PAIRS>(of_products, power, c, own));
        let below = match plan.finer() {
            _ if !plan.renormalize => S::i_splat(plan.fixed()),
            -1 => S::i_shl::<1>(S::i_abs(sum)),
            finer => S::i_sar_by(S::i_abs(sum), S::i_splat(finer)),
        };
        let mut sum = with_trace::<S>(t, counts, sum, below);
        if plan.toward_zero {
            sum = S::i_sub(S::i_xor(sum, sign), sign);
        }
        let mut left_out =
            S::m_or(S::i_gt(place, field::<S>(127)), S::i_gt(field::<S>(PLACE - 126), of_products));
        if plan.coarse != 0 {
            // the largest accumulators may be cut to 2^128
            let cut = S::i_and(S::f_bits(c), S::i_splat(0xff << 23));
            left_out = S::m_or(left_out, S::i_gt(cut, field::<S>(127)));
        }
        (rounded::<S>(sum, power), S::m_bits(left_out))
    }
}
