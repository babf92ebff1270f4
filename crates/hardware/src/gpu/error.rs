//! What can go wrong between us and a GPU.

use std::time::Duration;

use bitmma_engine::Fault;
use bitmma_engine::catalogue::{LookupError, Vendor};
use thiserror::Error;

/// A library that cannot be opened, or that lacks a function.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LibraryError {
    /// It does not exist, or is not a library.
    #[error("{library} cannot be opened: {reason}")]
    Open {
        /// The library.
        library: String,
        /// What the loader said.
        reason: String,
    },
    /// It is there, but older than we need.
    #[error("{library} has no function {symbol}: it is too old")]
    Symbol {
        /// The library.
        library: String,
        /// The function.
        symbol: &'static str,
    },
}

/// A GPU that cannot be asked, or that returned nothing; the message holds the numbers.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The driver is not installed, or is too old to have what is needed.
    #[error("no {vendor} driver: {error}")]
    Library {
        /// Whose.
        vendor: Vendor,
        /// Which, and why.
        error: LibraryError,
    },
    /// The driver found no GPU, or none of that number.
    #[error("there is no {vendor} device {device}; the driver counts {count}")]
    NoDevice {
        /// Whose.
        vendor: Vendor,
        /// The number asked for.
        device: usize,
        /// How many there are.
        count: usize,
    },
    /// The driver does not start, as where there is no GPU or the user may not use it.
    #[error("no {vendor} device available: {error}")]
    NotStarted {
        /// Whose.
        vendor: Vendor,
        /// The call that failed.
        error: Box<Error>,
    },
    /// A GPU whose matrix unit the catalogue does not describe.
    #[error("{name} is {target}, which is not an architecture of the catalogue")]
    Architecture {
        /// The device's name.
        name: String,
        /// What the compiler calls it.
        target: String,
    },
    /// The name means no instruction of the GPU's architecture.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// There is no kernel for the instruction.
    #[error("{instruction} has no kernel: {reason}")]
    NoKernel {
        /// The instruction.
        instruction: String,
        /// Why.
        reason: String,
    },
    /// A call of the driver failed.
    #[error("{call} failed: {}", failure(name, *code, text))]
    Driver {
        /// The function.
        call: &'static str,
        /// The driver's number for the failure.
        code: i32,
        /// The driver's name for it; may be empty.
        name: String,
        /// The driver's explanation where it is not the name again; may be empty.
        text: String,
    },
    /// The driver's compiler did not take the kernel.
    #[error("the driver's compiler refuses the kernel of {instruction} ({name}, {code}): {log}")]
    Compiler {
        /// The instruction.
        instruction: String,
        /// The driver's number for the failure.
        code: i32,
        /// The driver's name for it.
        name: String,
        /// What the compiler said.
        log: String,
    },
    /// The kernel did not end.
    #[error("no result within {limit:?}; the device is no longer used")]
    TimedOut {
        /// How long it had.
        limit: Duration,
    },
    /// An earlier failure left the device unusable.
    #[error("the device is not used after an earlier failure")]
    GivenUp,
}

/// `hipErrorOutOfMemory (2): out of memory`, or `code 2`.
fn failure(name: &str, code: i32, text: &str) -> String {
    match (name, text) {
        ("", _) => format!("code {code}"),
        (_, "") => format!("{name} ({code})"),
        _ => format!("{name} ({code}): {text}"),
    }
}

/// Why integer instructions have no kernel.
const INTEGERS: &str = "bitmma has kernels of floating-point instructions alone; a recording or a program (exec:) may have others";

impl Error {
    /// That an instruction on integers has no kernel.
    pub(crate) fn of_integers(instruction: String) -> Error {
        Error::NoKernel { instruction, reason: INTEGERS.to_owned() }
    }

    /// The failure of a driver's first call.
    pub(crate) fn at_start(self, vendor: Vendor) -> Error {
        Error::NotStarted { vendor, error: Box::new(self) }
    }

    /// The same as the failure of a unit of that name, in the words that all units share.
    pub fn of_unit(self, unit: &str) -> bitmma_engine::Error {
        let fault = match self {
            Error::Lookup(error) => return error.into(),
            Error::TimedOut { .. } => Fault::Hung,
            Error::Driver { .. } | Error::GivenUp => Fault::Died,
            _ => Fault::Unavailable,
        };
        bitmma_engine::Error::Unit { unit: unit.to_owned(), fault, problem: self.to_string() }
    }
}
