//! What can be wrong with a call.

use crate::gemm::WrongBlocks;
use bitmma_arithmetic::ModelError;
use bitmma_catalogue::LookupError;
use bitmma_formats::Format;
use thiserror::Error;

/// In which way a unit that is not simulated failed to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fault {
    /// It could not be started, or it is not there.
    Unavailable,
    /// It returned nothing within its time.
    Hung,
    /// It ended, or closed its output.
    Died,
    /// It answered with less than was asked for.
    Short,
    /// Its result is malformed.
    Wrong,
    /// It said itself that it cannot answer.
    Refused,
}

impl Fault {
    /// In one word, as in "the unit hung".
    pub const fn name(self) -> &'static str {
        match self {
            Fault::Unavailable => "unavailable",
            Fault::Hung => "hung",
            Fault::Died => "died",
            Fault::Short => "answered short",
            Fault::Wrong => "answered wrongly",
            Fault::Refused => "refused",
        }
    }
}

/// A call that cannot be answered; the message holds the numbers.
///
/// Not `#[non_exhaustive]`: a face that answers each kind in its own way (an exception class in Python) is told
/// by the compiler when there is one more.
#[derive(Debug, Error)]
pub enum Error {
    /// A matrix has the wrong number of codes for its shape.
    #[error("{given} codes; {blocks} × {rows} × {columns} takes {expected}")]
    Count {
        /// Codes given.
        given: usize,
        /// Matrices.
        blocks: usize,
        /// Rows.
        rows: usize,
        /// Columns.
        columns: usize,
        /// Codes that shape takes.
        expected: usize,
    },
    /// A code does not fit its format.
    #[error("code {index} is {code:#x}; {format} codes have {bits} bits")]
    Code {
        /// Its index, row-major.
        index: usize,
        /// The code.
        code: u64,
        /// The format's name.
        format: &'static str,
        /// The format's width in bits.
        bits: u32,
    },
    /// A number that is NaN in the source, where the format of the result has none.
    #[error("{place} is NaN, and {format} has no NaN; nan is the code that NaN becomes")]
    Nan {
        /// Which number, as `D[3, 4]`.
        place: String,
        /// The name of the format it is converted to.
        format: &'static str,
    },
    /// A shape too large to hold.
    #[error("{blocks} × {rows} × {columns} codes of {bytes} bytes cannot be held in memory")]
    TooLarge {
        /// Matrices.
        blocks: usize,
        /// Rows.
        rows: usize,
        /// Columns.
        columns: usize,
        /// Bytes a code takes.
        bytes: usize,
    },
    /// An operand has the wrong shape.
    #[error("{operand} is {given}, {unit} takes {expected}")]
    Shape {
        /// Which operand.
        operand: &'static str,
        /// Its shape, as `16×8` or `4×16×8`.
        given: String,
        /// What takes it.
        unit: String,
        /// The shape it should have.
        expected: String,
    },
    /// An operand has the wrong format.
    #[error("{operand} is {given}, {unit} takes {expected}")]
    Format {
        /// Which operand.
        operand: &'static str,
        /// Its format.
        given: &'static str,
        /// What takes it.
        unit: String,
        /// The format it should have.
        expected: &'static str,
    },
    /// Scale factors are missing, or given to something that takes none.
    #[error("{unit} takes {expected} for {operand}")]
    Scale {
        /// Which operand.
        operand: &'static str,
        /// What takes it.
        unit: String,
        /// What it should be.
        expected: String,
    },
    /// An option of a GEMM is out of its range.
    #[error("{option} is {value}; {allowed}")]
    GemmOption {
        /// The option.
        option: &'static str,
        /// What it is.
        value: String,
        /// What it may be.
        allowed: String,
    },
    /// The instruction is known, how it computes is not.
    #[error("{instruction} on {architecture} has no model: {reason}")]
    NoModel {
        /// The instruction.
        instruction: String,
        /// The architecture.
        architecture: &'static str,
        /// Why.
        reason: String,
    },
    /// The model does not take these operands.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// No such architecture or instruction.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// A unit that is not simulated returned nothing.
    #[error("{unit} {}: {problem}", fault.name())]
    Unit {
        /// The unit, as it was asked for.
        unit: String,
        /// In which way.
        fault: Fault,
        /// What was seen, with the numbers.
        problem: String,
    },
    /// A recording that does not read.
    #[error("line {line}: {problem}")]
    Recording {
        /// The line in the file, from 1.
        line: u64,
        /// What is wrong, and what would be right.
        problem: String,
    },
    /// A file or stream that does not read or write.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// Who listens to the work stopped it.
    #[error("stopped")]
    Stopped,
}

impl From<WrongBlocks> for Error {
    fn from(WrongBlocks { text }: WrongBlocks) -> Error {
        Error::GemmOption { option: "scale_blocks", value: text, allowed: WrongBlocks::ALLOWED.to_owned() }
    }
}

impl Error {
    /// That a unit failed in this way.
    pub fn unit(unit: impl Into<String>, fault: Fault, problem: impl Into<String>) -> Error {
        Error::Unit { unit: unit.into(), fault, problem: problem.into() }
    }

    /// That codes of that shape (blocks, rows, columns) cannot be held.
    pub(crate) fn too_large(format: Format, (blocks, rows, columns): (usize, usize, usize)) -> Error {
        Error::TooLarge { blocks, rows, columns, bytes: format.bytes() }
    }
}

/// An option that is not as it may be.
pub(crate) fn option(option: &'static str, value: impl std::fmt::Display, allowed: String) -> Error {
    Error::GemmOption { option, value: value.to_string(), allowed }
}
