//! FP32 operations of one number: by the processor, and in [`exact`] by their definition, in whole numbers.

/// Numbers that one task takes.
pub(crate) const CHUNK: usize = 1 << 13;

/// The code of every NaN in FP32.
pub(crate) const NAN: u32 = 0x7fff_ffff;

/// x + y in FP32, to nearest even.
#[inline]
pub(crate) fn add(x: u32, y: u32) -> u32 {
    let sum = f32::from_bits(x) + f32::from_bits(y);
    if sum.is_nan() { NAN } else { sum.to_bits() }
}

/// x · y in FP32, to nearest even; every NaN is 7fffffff.
#[inline]
pub(crate) fn multiply(x: u32, y: u32) -> u32 {
    let product = f32::from_bits(x) * f32::from_bits(y);
    if product.is_nan() { NAN } else { product.to_bits() }
}

/// fma(x, y, +0): as a product, but an exact zero is +0 whatever the signs; what underflows keeps its sign.
#[inline]
pub(crate) fn multiply_onto_zero(x: u32, y: u32) -> u32 {
    let product = multiply(x, y);
    let zero = (x & 0x7fff_ffff == 0) || (y & 0x7fff_ffff == 0);
    if zero && product != NAN { 0 } else { product }
}

/// The definition: nothing here uses the processor's floating-point numbers.
pub mod exact {
    #![deny(clippy::float_arithmetic)]

    use bitmma_engine::arithmetic::operand::Operand;
    use bitmma_engine::arithmetic::{Conversion, fma};
    use bitmma_engine::formats::{Class, F32, Format, decode};

    use super::NAN;

    pub(crate) const RNE: Conversion = Conversion::RNE_FP32;

    pub(crate) fn fp32(word: u32) -> Operand {
        Operand::new(&F32, u64::from(word))
    }

    /// Every NaN has one code.
    pub(crate) fn canonical(code: u64) -> u32 {
        if decode(&F32, code).class == Class::Nan { NAN } else { code as u32 }
    }

    /// x + y in FP32.
    pub fn add(x: u32, y: u32) -> u32 {
        canonical(fma::add(&fp32(x), &fp32(y), RNE))
    }

    /// x · y in FP32.
    pub fn multiply(x: u32, y: u32) -> u32 {
        canonical(fma::multiply(&fp32(x), &fp32(y), RNE))
    }

    /// x · y + z in FP32, rounded once.
    pub fn multiply_add(x: u32, y: u32, z: u32) -> u32 {
        canonical(fma::fma(&fp32(x), &fp32(y), &fp32(z), 0, RNE, &mut ()))
    }

    /// The FP32 number that a code of a narrower format is; exact.
    pub fn lift(format: &Format, code: u64) -> u32 {
        canonical(fma::change_format(format, code, RNE))
    }
}
