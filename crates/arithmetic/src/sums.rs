//! Parameters that several families share: those of a fused sum, and of a fused sum with a rounded one after it.

use bitmma_formats::Rounding;

/// Parameters of a fused sum cut once: T-, ST- and GST-FDPA (paper, Algorithms 5 to 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FusedSum {
    /// L_max: products in one fused sum, 1 or more; a shorter K is one sum of K.
    pub max_length: usize,
    /// F: fractional bits kept of each term, counted from the largest exponent; 0 to 60.
    pub fraction_bits: u32,
    /// How a term is cut to F bits; RZ on all known units.
    pub term_rounding: Rounding,
    /// e_zero: the exponent a zero term brings into e_max; `None`: it brings none.
    pub zero_exponent: Option<i32>,
    /// F_c: fractional bits kept of the accumulator, 0 to 60; `None`: F, as of every other term.
    pub accumulator_fraction_bits: Option<u32>,
}

impl FusedSum {
    /// A sum of `max_length` products of which F bits are kept by RZ; a zero term brings no exponent, the
    /// accumulator keeps F bits.
    pub const fn new(max_length: usize, fraction_bits: u32) -> FusedSum {
        FusedSum {
            max_length,
            fraction_bits,
            term_rounding: Rounding::TowardZero,
            zero_exponent: None,
            accumulator_fraction_bits: None,
        }
    }

    /// F_c: fractional bits kept of the accumulator.
    pub fn accumulator_bits(&self) -> u32 {
        self.accumulator_fraction_bits.unwrap_or(self.fraction_bits)
    }
}

/// Parameters of a fused sum to which the accumulator is added in a second, rounded sum: TR- and
/// GTR-FDPA (paper, Algorithms 8 and 9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RoundedSum {
    /// L_max: products in one fused sum, 1 or more (GTR-FDPA: even); a shorter K is one sum of K.
    pub max_length: usize,
    /// F: fractional bits kept of each product, and of the accumulator; 0 to 60.
    pub fraction_bits: u32,
    /// F2: fractional bits kept of the sum of products when the accumulator is added; 0 to 60.
    pub sum_fraction_bits: u32,
    /// How a product is cut to F bits; RZ on CDNA3.
    pub term_rounding: Rounding,
    /// How sums and the accumulator are cut; RD on CDNA3.
    pub sum_rounding: Rounding,
    /// Whether the sum of products keeps F2+1 bits, and the final sum is normalized to its own exponent
    /// and cut to F2 bits there before it is converted: what an MI300X does and Algorithms 8 and 9 do not.
    pub renormalize: bool,
    /// The exponent a zero accumulator brings into E; `None`: it brings none.
    pub zero_accumulator_exponent: Option<i32>,
    /// A product of magnitude 2^this or more becomes infinity; `None`: products have no limit.
    pub product_overflow: Option<i32>,
}
