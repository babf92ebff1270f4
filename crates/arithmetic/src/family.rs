//! The model families: one variant and one row each.
//!
//! [`Operation`] holds the parameters of a family, [`FAMILIES`] everything else that is known of it without running
//! it. Model files, range checks, `show`, `docs/models.md`, the probe's search and the fuzzer read both tables,
//! [`FAMILIES`] and [`Parameter::ALL`](crate::Parameter::ALL). What is written by hand for a family is its algorithm
//! ([`crate::fdpa`]), the same on exact rationals (`oracle`), and its error bound (crate `analysis`).

use bitmma_formats::Rounding;

use crate::convert::Conversion;
use crate::sums::{FusedSum, RoundedSum};

/// An elementary operation and its parameters.
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
    /// E-FDPA (Algorithm 4): an exact sum of L products and the accumulator, rounded once.
    EFdpa {
        /// L_max: products in one sum, 1 or more.
        max_length: usize,
    },
    /// T-FDPA (Algorithm 5): every term cut to F bits below the largest exponent, then summed exactly.
    TFdpa(FusedSum),
    /// ST-FDPA (Algorithm 6): T-FDPA with the exponents of block scale factors added to those of the products.
    StFdpa(FusedSum),
    /// GST-FDPA (Algorithm 7): exact dot products of G elements, scaled, then summed as in T-FDPA.
    GstFdpa {
        /// The sum over groups; `max_length` counts elements, not groups.
        sum: FusedSum,
        /// G: elements in a group; divides L and the size of a scale block.
        group: usize,
    },
    /// Dot-Add, no family of the paper: the exact sum of L products rounded once, then added to the accumulator by
    /// an IEEE 754 addition.
    DotAdd {
        /// L_max: products in one sum, 1 or more.
        max_length: usize,
    },
    /// TR-FDPA (Algorithm 8): a truncated sum of products, then a rounded sum with the accumulator.
    TrFdpa(RoundedSum),
    /// GTR-FDPA (Algorithm 9): TR-FDPA over two groups, products of even and of odd index.
    GtrFdpa(RoundedSum),
}

/// What is known of a family without running it.
#[derive(Debug)]
pub struct Family {
    /// Its name.
    pub name: &'static str,
    /// Where it comes from: the paper's algorithm, or whose arithmetic it is.
    pub source: &'static str,
    /// What one operation computes.
    pub about: &'static str,
    /// An operation of the family. It says which parameters the family has, and where a search for them begins.
    pub example: Operation,
    /// Which scale factors it takes.
    pub scale: Scale,
    /// Which elements of an operation meet in one sum.
    pub meeting: Meeting,
    /// Whether a result of zero is +0 whatever the signs of the terms.
    pub positive_zero: bool,
    /// Whether it reads subnormal operands as zero of their sign by itself.
    pub flushes_operands: bool,
    /// Whether it makes subnormal results zero of their sign by itself, so that rho may not.
    pub flushes_results: bool,
    /// Whether C must already have the format of rho.
    pub adds_in_rho: bool,
    /// Bits of the widest format that rho may round into.
    pub widest_result: u32,
    /// What L_max must be a multiple of.
    pub multiple: usize,
    /// How often an operation of L products rounds by rho.
    pub roundings: fn(usize) -> usize,
    /// The internal precision in one line: of an operation of the family, with its rho, for the L of an instruction.
    pub line: fn(&Operation, Conversion, usize) -> String,
}

/// Which scale factors a family takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// None.
    None,
    /// Powers of two: their exponents are added.
    Exponents,
    /// Numbers: their significands are multiplied too.
    Numbers,
}

/// Which elements of an operation meet in one sum: two orders along K in which the same elements meet give the same
/// result, bit for bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meeting {
    /// All, in one sum, which is commutative.
    Together,
    /// All, in groups whose place along K counts.
    InGroups,
    /// Those of even index in one sum, those of odd index in another.
    EvenOdd,
    /// Pairs, then pairs of pairs.
    Pairwise,
    /// One after the other.
    InTurn,
    /// One after the other, the last of each operation first.
    InTurnReversed,
}

impl Family {
    /// What most rows have in common.
    const PLAIN: Family = Family {
        name: "",
        source: "",
        about: "",
        example: Operation::Fma,
        scale: Scale::None,
        meeting: Meeting::Together,
        positive_zero: false,
        flushes_operands: false,
        flushes_results: false,
        adds_in_rho: false,
        widest_result: 64,
        multiple: 1,
        roundings: |_| 1,
        line: |_, _, _| String::new(),
    };
}

/// F and F2 where a search begins; the lengths are the shortest.
const FUSED: FusedSum = FusedSum::new(1, 24);
const ROUNDED: RoundedSum = RoundedSum {
    max_length: 1,
    fraction_bits: 24,
    sum_fraction_bits: 31,
    term_rounding: Rounding::TowardZero,
    sum_rounding: Rounding::Down,
    renormalize: false,
    zero_accumulator_exponent: None,
    product_overflow: None,
};

/// Every family, the paper's first and in its order.
pub static FAMILIES: [Family; 10] = [
    Family {
        name: "FTZ-AddMul",
        source: "Paper, Algorithms 1 and 2.",
        about: "Products and sums of two, each rounded by rho, subnormal results flushed to zero of their sign; P \
                products are summed pairwise before C.",
        example: Operation::FtzAddMul { pairing: 1 },
        meeting: Meeting::Pairwise,
        flushes_results: true,
        adds_in_rho: true,
        roundings: |length| 2 * length,
        line: |operation, rho, _| {
            let pairing = operation.max_length();
            format!(
                "each product and each sum {rho} with subnormal results flushed to zero, {pairing} products summed \
                 pairwise before C"
            )
        },
        ..Family::PLAIN
    },
    Family {
        name: "FMA",
        source: "Paper, Algorithm 3.",
        about: "A chain of IEEE 754 fused multiply-adds along K.",
        example: Operation::Fma,
        meeting: Meeting::InTurn,
        line: |_, rho, _| format!("a chain of fused multiply-adds along K, each {rho}"),
        ..Family::PLAIN
    },
    Family {
        name: "E-FDPA",
        source: "Paper, Algorithm 4.",
        about: "L products and the accumulator summed exactly, then rounded once by rho. Integers are summed so, too: \
                their rho wraps or saturates.",
        example: Operation::EFdpa { max_length: 1 },
        line: |_, rho, length| match (rho.format.is_integer(), rho.saturate) {
            (false, _) => format!("sums of {length} products and C exact, result {rho}"),
            (_, false) => format!("sums of {length} products and C exact, modulo 2^{}", rho.format.bits()),
            (_, true) => format!("sums of {length} products and C exact, saturated to {}", rho.format),
        },
        ..Family::PLAIN
    },
    Family {
        name: "T-FDPA",
        source: "Paper, Algorithm 5.",
        about: "L products and the accumulator, each cut to F bits below 2^e_max, the largest exponent among them; \
                summed exactly, then rounded by rho.",
        example: Operation::TFdpa(FUSED),
        positive_zero: true,
        line: |operation, rho, length| fused("products exact", operation, rho, length),
        ..Family::PLAIN
    },
    Family {
        name: "ST-FDPA",
        source: "Paper, Algorithm 6.",
        about: "T-FDPA with the exponents of block scale factors added to those of the products.",
        example: Operation::StFdpa(FUSED),
        scale: Scale::Exponents,
        positive_zero: true,
        line: |operation, rho, length| {
            fused("products exact, scaled by powers of two", operation, rho, length)
        },
        ..Family::PLAIN
    },
    Family {
        name: "GST-FDPA",
        source: "Paper, Algorithm 7.",
        about: "Exact dot products of G elements, times their scale factors, then summed as in T-FDPA.",
        example: Operation::GstFdpa { sum: FUSED, group: 1 },
        scale: Scale::Numbers,
        meeting: Meeting::InGroups,
        positive_zero: true,
        line: |operation, rho, length| {
            fused(&format!("dot products of {} exact, scaled", operation.group()), operation, rho, length)
        },
        ..Family::PLAIN
    },
    Family {
        name: "TR-FDPA",
        source: "Paper, Algorithm 8.",
        about: "L products cut to F bits and summed; the sum and the accumulator then cut (RD) and added.",
        example: Operation::TrFdpa(ROUNDED),
        line: |operation, rho, length| rounded("products exact", operation, rho, length),
        ..Family::PLAIN
    },
    Family {
        name: "GTR-FDPA",
        source: "Paper, Algorithm 9.",
        about: "TR-FDPA over two groups, the products of even and those of odd index.",
        example: Operation::GtrFdpa(RoundedSum { max_length: 2, ..ROUNDED }),
        meeting: Meeting::EvenOdd,
        multiple: 2,
        line: |operation, rho, length| {
            rounded("products of even and of odd index apart, exact", operation, rho, length)
        },
        ..Family::PLAIN
    },
    Family {
        name: "FTZ-FMA",
        source: "No family of the paper: what processors do.",
        about: "Fused multiply-adds along K, of L_max products the last first; subnormal inputs are read as zero of \
                their sign, and a result that is below the smallest normal number once it is rounded to that precision \
                with unbounded exponent becomes zero of its sign.",
        example: Operation::FtzFma { max_length: 1 },
        meeting: Meeting::InTurnReversed,
        flushes_operands: true,
        flushes_results: true,
        widest_result: 32,
        roundings: |length| length,
        line: |_, rho, length| {
            format!(
                "fused multiply-adds along K, of {length} products the last first, each {rho}; subnormal inputs and \
                 results flushed to zero of their sign"
            )
        },
        ..Family::PLAIN
    },
    Family {
        name: "Dot-Add",
        source: "No family of the paper, and a name of ours: Arm's BFDOT and BFMMLA with FPCR.EBF = 1 (Arm Architecture \
                 Reference Manual, BFDotAdd and FPDot), from memory of the manual's pseudocode and checked on no Arm \
                 processor. An H100 computes `mma.m8n8k4` with an FP16 result this way.",
        about: "L products summed exactly and rounded once by rho, then added to the accumulator by an IEEE 754 \
                addition, rounded by rho again. An Arm processor has L = 2 and RNE-FP32, and flushes only where FPCR \
                says so.",
        example: Operation::DotAdd { max_length: 1 },
        roundings: |_| 2,
        line: |_, rho, length| {
            format!("sums of {length} products exact, each {rho}, then added to C, result {rho}")
        },
        ..Family::PLAIN
    },
];

/// The family of that name, compared without case.
pub fn by_name(name: &str) -> Option<&'static Family> {
    FAMILIES.iter().find(|family| family.name.eq_ignore_ascii_case(name.trim()))
}

/// The names of all families, or of those that a condition chooses.
pub fn names(chosen: impl Fn(&Family) -> bool) -> Vec<&'static str> {
    FAMILIES.iter().filter(|family| chosen(family)).map(|family| family.name).collect()
}

impl Operation {
    /// What is known of its family.
    pub fn family(&self) -> &'static Family {
        let same = |family: &&Family| std::mem::discriminant(&family.example) == std::mem::discriminant(self);
        FAMILIES.iter().find(same).unwrap_or_else(|| unreachable!("every variant has a row: {self:?}"))
    }

    /// The family's name.
    pub fn name(&self) -> &'static str {
        self.family().name
    }

    /// Products one elementary operation takes at most: L_max; P for FTZ-AddMul; 1 for FMA.
    pub const fn max_length(&self) -> usize {
        match self {
            Operation::FtzAddMul { pairing } => *pairing,
            Operation::Fma => 1,
            Operation::FtzFma { max_length }
            | Operation::EFdpa { max_length }
            | Operation::DotAdd { max_length } => *max_length,
            Operation::TFdpa(sum) | Operation::StFdpa(sum) | Operation::GstFdpa { sum, .. } => sum.max_length,
            Operation::TrFdpa(sum) | Operation::GtrFdpa(sum) => sum.max_length,
        }
    }

    /// L_max, to be changed; `None` for FTZ-AddMul, which has P, and for FMA.
    pub fn max_length_mut(&mut self) -> Option<&mut usize> {
        match self {
            Operation::FtzAddMul { .. } | Operation::Fma => None,
            Operation::FtzFma { max_length }
            | Operation::EFdpa { max_length }
            | Operation::DotAdd { max_length } => Some(max_length),
            Operation::TFdpa(sum) | Operation::StFdpa(sum) | Operation::GstFdpa { sum, .. } => {
                Some(&mut sum.max_length)
            }
            Operation::TrFdpa(sum) | Operation::GtrFdpa(sum) => Some(&mut sum.max_length),
        }
    }

    /// G: elements that are summed before they are scaled and cut; 1 for families that have no groups.
    pub const fn group(&self) -> usize {
        if let Operation::GstFdpa { group, .. } = self { *group } else { 1 }
    }

    /// The parameters of a sum that is cut once: T-, ST- and GST-FDPA.
    pub const fn fused(&self) -> Option<&FusedSum> {
        match self {
            Operation::TFdpa(sum) | Operation::StFdpa(sum) | Operation::GstFdpa { sum, .. } => Some(sum),
            _ => None,
        }
    }

    /// As [`Operation::fused`], to be changed.
    pub fn fused_mut(&mut self) -> Option<&mut FusedSum> {
        match self {
            Operation::TFdpa(sum) | Operation::StFdpa(sum) | Operation::GstFdpa { sum, .. } => Some(sum),
            _ => None,
        }
    }

    /// The parameters of a sum to which C is added in a second one: TR- and GTR-FDPA.
    pub const fn rounded(&self) -> Option<&RoundedSum> {
        match self {
            Operation::TrFdpa(sum) | Operation::GtrFdpa(sum) => Some(sum),
            _ => None,
        }
    }

    /// As [`Operation::rounded`], to be changed.
    pub fn rounded_mut(&mut self) -> Option<&mut RoundedSum> {
        match self {
            Operation::TrFdpa(sum) | Operation::GtrFdpa(sum) => Some(sum),
            _ => None,
        }
    }

    /// Whether subnormal operands are read as zero by the operation itself, not by
    /// `flush_operands` and `flush_accumulator` of the model.
    pub fn flushes(&self) -> bool {
        self.family().flushes_operands
    }

    /// Whether the operation takes scale factors.
    pub fn is_scaled(&self) -> bool {
        self.family().scale != Scale::None
    }
}

/// T-, ST- and GST-FDPA in one line.
fn fused(terms: &str, operation: &Operation, rho: Conversion, length: usize) -> String {
    let Some(sum) = operation.fused() else { return String::new() };
    let FusedSum { fraction_bits, term_rounding, .. } = sum;
    let of_c = match sum.accumulator_bits() {
        bits if bits == *fraction_bits => String::new(),
        bits => format!(" (C to {bits})"),
    };
    format!(
        "{terms}, terms cut ({term_rounding}) to {fraction_bits} bits below the largest exponent{of_c}, sums of \
         {length}, result {rho}"
    )
}

/// TR- and GTR-FDPA in one line.
fn rounded(terms: &str, operation: &Operation, rho: Conversion, length: usize) -> String {
    let Some(sum) = operation.rounded() else { return String::new() };
    let RoundedSum { fraction_bits, sum_fraction_bits, term_rounding, sum_rounding, renormalize, .. } = sum;
    let kept = sum_fraction_bits + u32::from(*renormalize);
    let then = match renormalize {
        true => format!(", normalized and cut ({sum_rounding}) to {sum_fraction_bits} bits"),
        false => String::new(),
    };
    format!(
        "{terms}, cut ({term_rounding}) to {fraction_bits} bits below the largest exponent, sums of {length}, then \
         added to C with {kept} bits of the sum and {fraction_bits} of C kept ({sum_rounding}){then}, result {rho}"
    )
}
