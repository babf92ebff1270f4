//! The steps of a computation, reported to an observer.

use std::fmt;

use bitmma_formats::{Format, Real, Rounding};

use crate::convert::Conversion;
use crate::exact::Exact;
pub use crate::reading::{OperandName, Reading, Why};
use crate::special::Special;

/// What a term of a sum is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TermName {
    /// a_k * b_k, k counted along the whole of K.
    Product(usize),
    /// The scaled dot product of a group (GST-FDPA); elements `first` to `last`.
    Group {
        /// First element, along the whole of K.
        first: usize,
        /// Last element, along the whole of K.
        last: usize,
    },
    /// The accumulator.
    Accumulator,
    /// The sum of products (TR-FDPA: T).
    Products,
    /// The sum of products of even index (GTR-FDPA).
    Even,
    /// The sum of products of odd index (GTR-FDPA).
    Odd,
    /// The whole sum (TR- and GTR-FDPA: S).
    Sum,
}

impl fmt::Display for TermName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TermName::Product(k) => write!(f, "a{k}*b{k}"),
            TermName::Group { first, last } => write!(f, "group {first}..{last}"),
            TermName::Accumulator => f.write_str("c"),
            TermName::Products => f.write_str("T"),
            TermName::Even => f.write_str("T_even"),
            TermName::Odd => f.write_str("T_odd"),
            TermName::Sum => f.write_str("S"),
        }
    }
}

/// One term of a sum, before and after it was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// What it is.
    pub name: TermName,
    /// Its exact value.
    pub exact: Exact,
    /// The exponent it brings into the maximum (paper: e_k); `None`: it brings none.
    pub exponent: Option<i32>,
    /// What is kept of it.
    pub kept: Exact,
}

/// One step of an elementary operation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// Operands that are not used as they are given. These steps come before all operations.
    Read {
        /// Why.
        why: Why,
        /// The term that changes by it; `None` for a scale factor, which is in several.
        term: Option<TermName>,
        /// Both factors of a product, or the one operand, as given and as used.
        operands: Vec<Reading>,
        /// The exact value of the term, or of the scale factor, as given; `None` where it is not finite.
        exact: Option<Exact>,
        /// What of it is lost: exact - used; `None` where one of them is not finite.
        lost: Option<Real>,
    },
    /// An elementary operation begins.
    Begin {
        /// Its name.
        operation: &'static str,
        /// The elements along K it takes.
        elements: Vec<usize>,
        /// The accumulator it starts from.
        accumulator: u64,
        /// The accumulator's format.
        format: Format,
    },
    /// The result is NaN or infinity, decided before any sum.
    Special(Special),
    /// Terms aligned at a common exponent, cut and summed.
    Aligned {
        /// The paper's name for the maximum: `e_max`, `e_even`, `e_odd`, `E`.
        maximum: &'static str,
        /// The maximum of the exponents.
        exponent: i32,
        /// Terms, each cut as `kept` says.
        terms: Vec<Term>,
        /// How many fractional bits below the maximum are kept (F); of the accumulator, where it keeps another
        /// number of them, as many as `kept` has.
        fraction_bits: u32,
        /// How terms are cut.
        rounding: Rounding,
        /// The exact sum of what was kept.
        sum: Exact,
    },
    /// Terms summed without loss.
    Exact {
        /// The terms.
        terms: Vec<Term>,
        /// Their sum.
        sum: Real,
    },
    /// A binary operation on numbers (FTZ-Mul, FTZ-Add, an addition of a composed form).
    Binary {
        /// Its name.
        operation: &'static str,
        /// Left operand.
        left: u64,
        /// Format of the left operand.
        left_format: Format,
        /// Right operand.
        right: u64,
        /// Format of the right operand.
        right_format: Format,
        /// The result.
        result: u64,
        /// Its format.
        format: Format,
    },
    /// A sum becomes a number.
    Converted {
        /// The exact value.
        value: Real,
        /// How it is converted.
        conversion: Conversion,
        /// The result.
        code: u64,
        /// Its format.
        format: Format,
    },
    /// A number changes its format.
    Changed {
        /// What is converted.
        what: &'static str,
        /// Code before.
        from: u64,
        /// Format before.
        from_format: Format,
        /// Code after.
        to: u64,
        /// Format after.
        to_format: Format,
    },
}

/// Something that listens. The unit type does not, and costs nothing.
pub trait Trace {
    /// Whether steps are wanted at all.
    const ON: bool;

    /// Takes a step.
    fn step(&mut self, step: Step);
}

impl Trace for () {
    const ON: bool = false;

    fn step(&mut self, _: Step) {}
}

impl Trace for Vec<Step> {
    const ON: bool = true;

    fn step(&mut self, step: Step) {
        self.push(step);
    }
}
