//! What can be wrong with a model or with the operands it is given.

use thiserror::Error;

/// The ending of a plural.
fn s(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// A model that makes no sense, or operands it does not take.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ModelError {
    /// A parameter is out of its range.
    #[error("{parameter} is {value}; {allowed}")]
    Parameter {
        /// The parameter as the paper or the model file calls it.
        parameter: &'static str,
        /// What it is.
        value: String,
        /// What it may be.
        allowed: String,
    },
    /// K is not a multiple of what one operation takes.
    #[error("K is {k}; {model} takes multiples of {multiple}{}", if *k == 0 { ", at least one" } else { "" })]
    Length {
        /// Elements along K.
        k: usize,
        /// The model's family.
        model: &'static str,
        /// What K must be a multiple of.
        multiple: usize,
    },
    /// A and B have different numbers of elements.
    #[error("A has {a} elements along K and B has {b}")]
    Unequal {
        /// Elements of A.
        a: usize,
        /// Elements of B.
        b: usize,
    },
    /// The wrong number of scale factors.
    #[error("{operand} has {given} scale factor{}; K = {k} in blocks of {block} takes {expected}", s(*given))]
    Scales {
        /// "A" or "B".
        operand: &'static str,
        /// How many there are.
        given: usize,
        /// How many there must be.
        expected: usize,
        /// Elements along K.
        k: usize,
        /// Elements that share a factor.
        block: usize,
    },
    /// Scale factors for a model that takes none.
    #[error("{operand} has {given} scale factor{}; {model} takes none", s(*given))]
    NotScaled {
        /// "A" or "B".
        operand: &'static str,
        /// How many there are.
        given: usize,
        /// The model's family.
        model: &'static str,
    },
    /// A code does not fit its format.
    #[error("{operand}[{index}] is {code:#x}; {format} codes have {bits} bits")]
    Code {
        /// Which operand.
        operand: &'static str,
        /// Index along K.
        index: usize,
        /// The code.
        code: u64,
        /// The format's name.
        format: &'static str,
        /// The format's width.
        bits: u32,
    },
    /// A model file that does not read.
    #[error("model file: {0}")]
    File(String),
}
