//! A model as data: an elementary operation, its parameters, the formats it takes and gives.

use bitmma_formats::{BlockScale, Format, Rounding};

use crate::convert::Conversion;
use crate::error::ModelError;
use crate::lowering::Lowering;

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
    /// Whether the sum of products keeps F2+1 bits, and the final sum is normalised to its own exponent
    /// and cut to F2 bits there before it is converted: what an MI300X does and Algorithms 8 and 9 do not.
    pub renormalize: bool,
    /// The exponent a zero accumulator brings into E; `None`: it brings none.
    pub zero_accumulator_exponent: Option<i32>,
    /// A product of magnitude 2^this or more becomes infinity; `None`: products have no limit.
    pub product_overflow: Option<i32>,
}

/// An elementary operation and its parameters: one of the paper's eight model families, or FTZ-FMA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// FTZ-AddMul (Algorithms 1 and 2): products and sums of two rounded to FP32 one by one, subnormal
    /// results flushed to zero of their sign, `pairing` (P = 1, 2 or 4) products added pairwise first.
    FtzAddMul {
        /// P: products summed pairwise before the accumulator is touched; a power of two.
        pairing: usize,
    },
    /// FMA (Algorithm 3): a chain of IEEE 754 fused multiply-adds.
    Fma,
    /// FTZ-FMA, no family of the paper: fused multiply-adds, the last of L products first, subnormal
    /// inputs read as zero of their sign; a result that is below the smallest normal number once it is
    /// rounded to that precision with unbounded exponent becomes zero of its sign.
    FtzFma {
        /// L_max: products in one operation, 1 or more; they enter from the last to the first.
        max_length: usize,
    },
    /// E-FDPA: an exact sum of L products and the accumulator, rounded once.
    EFdpa {
        /// L_max: products in one sum, 1 or more.
        max_length: usize,
    },
    /// T-FDPA: every term cut to F bits below the largest exponent, then summed exactly.
    TFdpa(FusedSum),
    /// ST-FDPA: T-FDPA with the exponents of block scale factors added to those of the products.
    StFdpa(FusedSum),
    /// GST-FDPA: exact dot products of G elements, scaled, then summed as in T-FDPA.
    GstFdpa {
        /// The sum over groups; `max_length` counts elements, not groups.
        sum: FusedSum,
        /// G: elements in a group; divides L and the size of a scale block.
        group: usize,
    },
    /// TR-FDPA: a truncated sum of products, then a rounded sum with the accumulator.
    TrFdpa(RoundedSum),
    /// GTR-FDPA: TR-FDPA over two groups, products of even and of odd index.
    GtrFdpa(RoundedSum),
}

impl Operation {
    /// The family's name: `FTZ-AddMul FMA E-FDPA T-FDPA ST-FDPA GST-FDPA TR-FDPA GTR-FDPA`, `FTZ-FMA`.
    pub const fn name(&self) -> &'static str {
        match self {
            Operation::FtzAddMul { .. } => "FTZ-AddMul",
            Operation::Fma => "FMA",
            Operation::FtzFma { .. } => "FTZ-FMA",
            Operation::EFdpa { .. } => "E-FDPA",
            Operation::TFdpa(_) => "T-FDPA",
            Operation::StFdpa(_) => "ST-FDPA",
            Operation::GstFdpa { .. } => "GST-FDPA",
            Operation::TrFdpa(_) => "TR-FDPA",
            Operation::GtrFdpa(_) => "GTR-FDPA",
        }
    }

    /// Products one elementary operation takes at most: L_max; P for FTZ-AddMul; 1 for FMA.
    pub const fn max_length(&self) -> usize {
        match self {
            Operation::FtzAddMul { pairing } => *pairing,
            Operation::Fma => 1,
            Operation::FtzFma { max_length } | Operation::EFdpa { max_length } => *max_length,
            Operation::TFdpa(sum) | Operation::StFdpa(sum) | Operation::GstFdpa { sum, .. } => sum.max_length,
            Operation::TrFdpa(sum) | Operation::GtrFdpa(sum) => sum.max_length,
        }
    }

    /// Whether subnormal operands are read as zero by the operation itself, not by
    /// [`Model::flush_operands`] and [`Model::flush_accumulator`].
    pub const fn flushes(&self) -> bool {
        matches!(self, Operation::FtzFma { .. })
    }

    /// Whether the operation takes scale factors.
    pub const fn is_scaled(&self) -> bool {
        matches!(self, Operation::StFdpa(_) | Operation::GstFdpa { .. })
    }
}

/// Whether subnormal numbers that go in are flushed: read as zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum InputFlush {
    /// They are read as they are.
    #[default]
    Never,
    /// They, and zeros, are read as +0.
    Positive,
    /// They are read as zero of their sign.
    Signed,
}

impl InputFlush {
    /// Whether subnormal numbers are read as zero.
    pub fn is_on(self) -> bool {
        self != InputFlush::Never
    }
}

/// How one element of D is computed from a row of A, a column of B and an element of C.
///
/// K is not part of a model: it takes every K that is a multiple of L = min(K, L_max).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Model {
    /// Format of A.
    pub a: Format,
    /// Format of B.
    pub b: Format,
    /// Format of C.
    pub c: Format,
    /// Format of D.
    pub d: Format,
    /// Scale factors of A and of B along K; only and always for ST- and GST-FDPA.
    pub scale: Option<BlockScale>,
    /// The elementary operation.
    pub operation: Operation,
    /// rho: how the result of each elementary operation becomes a number.
    pub conversion: Conversion,
    /// Whether subnormal numbers of A and B are read as zero.
    pub flush_operands: InputFlush,
    /// Whether subnormal numbers of C are read as zero; what becomes of results is [`Conversion::flush`].
    pub flush_accumulator: InputFlush,
    /// The code a NaN result has; `None` where the vendor does not say, then any NaN agrees with any
    /// other and the quiet NaN with positive sign and no payload is written.
    pub nan_code: Option<u64>,
    /// What surrounds the operation where a compiler composes the instruction from others.
    pub lowering: Lowering,
}

impl Model {
    /// A model without scale factors, flushing or lowering, D in the container of `conversion`'s format.
    pub fn new(a: Format, b: Format, c: Format, operation: Operation, conversion: Conversion) -> Model {
        let d = conversion.container();
        Model {
            a,
            b,
            c,
            d,
            scale: None,
            operation,
            conversion,
            flush_operands: InputFlush::Never,
            flush_accumulator: InputFlush::Never,
            nan_code: None,
            lowering: Lowering::NONE,
        }
    }

    /// The code written for a NaN result.
    pub fn emitted_nan(&self) -> u64 {
        self.nan_code.or(self.d.nan_code()).unwrap_or(0)
    }

    /// L: products in one elementary operation for this K, at most L_max.
    pub fn length(&self, k: usize) -> usize {
        let part = k / self.lowering.parts();
        match self.operation {
            Operation::FtzAddMul { pairing } => pairing,
            _ => part.min(self.operation.max_length()),
        }
    }

    /// The conversion that gives D.
    pub fn last_conversion(&self) -> Conversion {
        let Lowering { chains, add_accumulator_last, narrow_output, .. } = self.lowering;
        let merge = chains.map(|chains| chains.merge);
        narrow_output.or(add_accumulator_last).or(merge).unwrap_or(self.conversion)
    }

    /// The model with subnormal numbers of A, B and C read as zero.
    pub fn flushing(self, flush: InputFlush) -> Model {
        Model { flush_operands: flush, flush_accumulator: flush, ..self }
    }

    /// Format the accumulator has between two elementary operations.
    pub fn chained_format(&self) -> Format {
        self.conversion.container()
    }

    /// Whether `d` codes are the same answer: equal bits, or two NaNs where no code is specified.
    pub fn agrees(&self, expected: u64, actual: u64, strict_nan: bool) -> bool {
        expected == actual
            || (!strict_nan
                && self.nan_code.is_none()
                && is_nan(&self.d, expected)
                && is_nan(&self.d, actual))
    }

    /// Whether the parameters make sense together; the error names the first that does not.
    pub fn validate(&self) -> Result<(), ModelError> {
        crate::validate::validate(self)
    }
}

fn is_nan(format: &Format, code: u64) -> bool {
    bitmma_formats::decode(format, code).class == bitmma_formats::Class::Nan
}
