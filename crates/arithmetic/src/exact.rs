//! Exact sums of integers times powers of two.

use bitmma_formats::Real;

/// A number `significand * 2^exponent`, exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exact {
    /// Signed significand.
    pub significand: i128,
    /// Weight of its last bit, a power of two.
    pub exponent: i32,
}

impl Exact {
    /// Exponent of the leading bit; `None` for zero.
    #[inline]
    pub const fn leading_exponent(&self) -> Option<i32> {
        if self.significand == 0 {
            return None;
        }
        Some(self.exponent + 127 - self.significand.unsigned_abs().leading_zeros() as i32)
    }

    /// The same as a real number; zero is +0.
    #[inline]
    pub const fn real(&self) -> Real {
        Real::exact(self.significand, self.exponent)
    }

    /// The difference, exact where 128 bits hold it.
    pub fn minus(self, other: Exact) -> Real {
        let negated = Exact { significand: -other.significand, ..other };
        sum([self, negated].into_iter())
    }

    /// The sum of both, in units of the smaller of the two last bits, which must not lie too far apart for 127 bits.
    #[inline]
    pub const fn plus(self, other: Exact) -> Exact {
        let last = if self.exponent < other.exponent { self.exponent } else { other.exponent };
        let left = self.significand << (self.exponent - last);
        Exact { significand: left + (other.significand << (other.exponent - last)), exponent: last }
    }
}

/// The exact sum of all terms, down to its leading 128 bits and a flag for what lies below them.
/// An exact zero is +0.
pub fn sum(terms: impl Iterator<Item = Exact> + Clone) -> Real {
    let mut lowest = i32::MAX;
    let mut highest = i32::MIN;
    let mut count = 0u32;
    for term in terms.clone() {
        if let Some(leading) = term.leading_exponent() {
            lowest = lowest.min(term.exponent);
            highest = highest.max(leading);
            count += 1;
        }
    }
    if count == 0 {
        return Real::zero(false);
    }
    // |sum| < count * 2^(highest + 1)
    let span = highest - lowest + 1 + (32 - count.leading_zeros() as i32);
    if span <= 126 {
        let total = terms
            .filter(|term| term.significand != 0)
            .map(|term| term.significand << (term.exponent - lowest))
            .sum();
        return Real::exact(total, lowest);
    }
    let mut wide = WideSum::new(lowest, span as usize);
    terms.filter(|term| term.significand != 0).for_each(|term| wide.add(term));
    wide.finish()
}

/// Limbs of 64 bits that hold any sum of products of two FP64 numbers: 2^-2148 to 2^2048, and 300 bits
/// of room above for the number of terms.
const LIMBS: usize = (2148 + 2048 + 300_usize).div_ceil(64);

/// A two's complement fixed-point number wide enough for every term it was made for.
struct WideSum {
    limbs: [u64; LIMBS],
    used: usize,
    exponent: i32,
}

impl WideSum {
    /// For terms whose bits lie in `span` bits above 2^`exponent`.
    fn new(exponent: i32, span: usize) -> WideSum {
        // one limb beyond the span for the sign, two for the reach of a shifted 128-bit significand
        let used = span.div_ceil(64) + 3;
        assert!(used <= LIMBS, "a sum of {span} bits; the accumulator holds {}", (LIMBS - 3) * 64);
        WideSum { limbs: [0; LIMBS], used, exponent }
    }

    fn add(&mut self, term: Exact) {
        let shift = (term.exponent - self.exponent) as usize;
        let (limb, bit) = (shift / 64, shift % 64);
        let magnitude = term.significand.unsigned_abs();
        let low = magnitude << bit;
        let high = if bit == 0 { 0 } else { (magnitude >> (128 - bit)) as u64 };
        let parts = [low as u64, (low >> 64) as u64, high];
        let mut carry = false;
        for (index, target) in self.limbs[limb..self.used].iter_mut().enumerate() {
            let part = parts.get(index).copied().unwrap_or(0);
            if index >= parts.len() && !carry {
                break;
            }
            (*target, carry) = if term.significand < 0 {
                target.borrowing_sub(part, carry)
            } else {
                target.carrying_add(part, carry)
            };
        }
    }

    fn finish(mut self) -> Real {
        let limbs = &mut self.limbs[..self.used];
        let negative = limbs[limbs.len() - 1] >> 63 == 1;
        if negative {
            let mut carry = true;
            for limb in limbs.iter_mut() {
                (*limb, carry) = (!*limb).carrying_add(0, carry);
            }
        }
        let Some(top) = limbs.iter().rposition(|&limb| limb != 0) else {
            return Real::zero(false);
        };
        // the top limb and the two below it, shifted so that 128 bits remain
        let at = |index: usize| if index <= top { limbs[top - index] } else { 0 };
        let lead = at(0).leading_zeros();
        let upper = (u128::from(at(0)) << 64) | u128::from(at(1));
        let (significand, left) = if lead == 0 {
            (upper, at(2))
        } else {
            ((upper << lead) | u128::from(at(2) >> (64 - lead)), at(2) << lead)
        };
        let inexact = left != 0 || limbs[..top.saturating_sub(2)].iter().any(|&limb| limb != 0);
        let exponent = self.exponent + (top as i32) * 64 - 64 - lead as i32;
        Real { negative, significand, exponent, inexact }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum on a big integer, bit by bit in decimal strings being overkill: both paths of [`sum`] on
    /// terms whose spans fit and do not fit, against hand-made results.
    #[test]
    fn near_and_far() {
        let far = [
            Exact { significand: 1, exponent: 2000 },
            Exact { significand: -1, exponent: -2000 },
            Exact { significand: -1, exponent: 2000 },
        ];
        assert_eq!(
            sum(far.into_iter()),
            Real { negative: true, significand: 1 << 127, exponent: -2127, inexact: false }
        );
        let sticky = [Exact { significand: 3, exponent: 500 }, Exact { significand: 1, exponent: -500 }];
        assert_eq!(
            sum(sticky.into_iter()),
            Real { negative: false, significand: 3 << 126, exponent: 374, inexact: true }
        );
        let borrow = [Exact { significand: 1, exponent: 200 }, Exact { significand: -1, exponent: 0 }];
        assert_eq!(
            sum(borrow.into_iter()),
            Real { negative: false, significand: u128::MAX, exponent: 72, inexact: true }
        );
        let near = [Exact { significand: 5, exponent: 3 }, Exact { significand: -7, exponent: 1 }];
        assert_eq!(sum(near.into_iter()), Real::exact(13, 1));
        assert_eq!(sum([].into_iter()), Real::zero(false));
        let cancel = [Exact { significand: 5, exponent: 900 }, Exact { significand: -5, exponent: 900 }];
        assert!(sum(cancel.into_iter()).is_zero());
    }
}
