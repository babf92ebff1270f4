//! FP32 and FP64 numbers, for sums and products to nearest even by the processor's own arithmetic.
//!
//! What GPU kernels do around their matrix instructions is done here element by element. The processor's
//! operations are those of IEEE 754; only the code of a NaN is not specified there, so every NaN has that of
//! the quiet NaN with positive sign and no payload, as in `bitmma_arithmetic::fma`, which the tests below
//! hold these operations to.

use std::ops::{Add, Mul};

use bitmma_formats::{F32, F64, Format};
use bytemuck::Zeroable;

/// 2^exponent, of a normal number.
#[inline(always)]
pub(crate) fn power(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

/// The integer that a number is, less than 2^31 in magnitude: in vectors, where a cast would look at each.
#[inline(always)]
pub(crate) fn integer(number: f32) -> i32 {
    const WHOLE: f64 = (3u64 << 51) as f64; // a number this large has its unit in the last place
    (f64::from(number) + WHOLE).to_bits() as i32
}

/// An FP32 or FP64 number; sums and products are those of IEEE 754, rounded to nearest even.
pub trait Word: Zeroable + Copy + Default + Send + Sync + Add<Output = Self> + Mul<Output = Self> {
    /// Its format.
    const FORMAT: Format;

    /// The number of that code.
    fn of(code: u64) -> Self;
    /// The number's code; of NaN that of the format's quiet NaN.
    fn code(self) -> u64;
    /// x · y + z rounded once.
    fn multiply_add(self, y: Self, z: Self) -> Self;
}

// always inlined: callers are compiled for an instruction set
macro_rules! word {
    ($number:ident, $code:ty, $format:expr, $nan:expr) => {
        impl Word for $number {
            const FORMAT: Format = $format;

            #[inline(always)]
            fn of(code: u64) -> Self {
                $number::from_bits(code as $code)
            }

            #[inline(always)]
            #[allow(clippy::useless_conversion)] // u64 is one of the two
            fn code(self) -> u64 {
                if self.is_nan() { $nan } else { self.to_bits().into() }
            }

            #[inline(always)]
            fn multiply_add(self, y: Self, z: Self) -> Self {
                self.mul_add(y, z)
            }
        }
    };
}

word!(f32, u32, F32, 0x7FC0_0000);
word!(f64, u64, F64, 0x7FF8_0000_0000_0000);

#[cfg(test)]
mod tests {
    use super::*;
    use bitmma_arithmetic::Conversion;
    use bitmma_arithmetic::fma::{add, fma, multiply};
    use bitmma_arithmetic::operand::Operand;
    use bitmma_formats::cases::notable_codes;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};

    fn agrees<W: Word>(x: u64, y: u64, rho: Conversion) {
        let (left, right) = (Operand::new(&W::FORMAT, x), Operand::new(&W::FORMAT, y));
        let sum = (W::of(x) + W::of(y)).code();
        assert_eq!(sum, add(&left, &right, rho), "{} {x:#x} + {y:#x}", W::FORMAT);
        let product = (W::of(x) * W::of(y)).code();
        assert_eq!(product, multiply(&left, &right, rho), "{} {x:#x} * {y:#x}", W::FORMAT);
        // the third number: near the product, so that sums cancel, and the second once more
        for z in [(product ^ W::FORMAT.sign_bit()).wrapping_sub(y & 3) & W::FORMAT.max_code(), y] {
            let sum = W::of(x).multiply_add(W::of(y), W::of(z)).code();
            let third = Operand::new(&W::FORMAT, z);
            let expected = fma(&left, &right, &third, 0, rho, &mut ());
            assert_eq!(sum, expected, "{} {x:#x} * {y:#x} + {z:#x}", W::FORMAT);
        }
    }

    fn holds<W: Word>(rho: Conversion) {
        let notable = notable_codes(&W::FORMAT);
        for &x in &notable {
            for &y in &notable {
                agrees::<W>(x, y, rho);
            }
        }
        let mut random = ChaCha8Rng::seed_from_u64(0xadd);
        for _ in 0..300_000 {
            let (x, y) = (random.next_u64() & W::FORMAT.max_code(), random.next_u64() & W::FORMAT.max_code());
            agrees::<W>(x, y, rho);
            // exponents close to each other, where sums cancel and round
            let fraction = (1u64 << W::FORMAT.fraction_bits) - 1;
            let near = (x & !fraction).wrapping_add((y >> 61) << W::FORMAT.fraction_bits) | (y & fraction);
            agrees::<W>(x, (near ^ (y << 3 & W::FORMAT.sign_bit())) & W::FORMAT.max_code(), rho);
            // products that come out subnormal
            let one = W::FORMAT.one_code();
            agrees::<W>((x & fraction) | (one >> 1), (y & fraction) | ((one >> 1) - fraction), rho);
        }
    }

    #[test]
    fn fp32_is_the_arithmetic_crates() {
        holds::<f32>(Conversion::RNE_FP32);
    }

    #[test]
    fn fp64_is_the_arithmetic_crates() {
        holds::<f64>(Conversion::RNE_FP64);
    }
}
