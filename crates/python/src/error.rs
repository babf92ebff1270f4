//! One exception class for each kind of error.

use std::fmt::Display;

use bitmma_engine::Error;
use bitmma_engine::catalogue::LookupError as Lookup;
use pyo3::{PyErr, Python};

pub(crate) use crate::words::in_python;

/// The classes, as `python/bitmma/errors.py` defines them.
mod classes {
    use pyo3::import_exception;

    import_exception!(bitmma.errors, AmbiguousInstruction);
    import_exception!(bitmma.errors, CallDeclined);
    import_exception!(bitmma.errors, CallRejected);
    import_exception!(bitmma.errors, CodeError);
    import_exception!(bitmma.errors, CountError);
    import_exception!(bitmma.errors, CudaError);
    import_exception!(bitmma.errors, DoubtfulKernel);
    import_exception!(bitmma.errors, ExtentError);
    import_exception!(bitmma.errors, FormatError);
    import_exception!(bitmma.errors, KernelError);
    import_exception!(bitmma.errors, ModelError);
    import_exception!(bitmma.errors, NoInstruction);
    import_exception!(bitmma.errors, NoModel);
    import_exception!(bitmma.errors, OptionError);
    import_exception!(bitmma.errors, PlanError);
    import_exception!(bitmma.errors, PtxError);
    import_exception!(bitmma.errors, RecordingError);
    import_exception!(bitmma.errors, ReportError);
    import_exception!(bitmma.errors, ScaleError);
    import_exception!(bitmma.errors, ShapeError);
    import_exception!(bitmma.errors, TooLarge);
    import_exception!(bitmma.errors, UnitError);
    import_exception!(bitmma.errors, UnknownArchitecture);
    import_exception!(bitmma.errors, UnknownFormat);
    import_exception!(bitmma.errors, UnknownInstruction);
    import_exception!(bitmma.errors, UnknownModel);
    import_exception!(bitmma.errors, UnknownRevision);
    import_exception!(bitmma.errors, UnsupportedPtx);
}

pub(crate) use classes::*;

/// An error of a file, on its way to Python.
pub(crate) fn of_file(error: std::io::Error) -> PyErr {
    std::io::Error::new(error.kind(), in_python(&error.to_string())).into()
}

/// An error of the floors below, on its way to Python.
pub(crate) struct Raised(Error);

impl<E: Into<Error>> From<E> for Raised {
    fn from(error: E) -> Raised {
        Raised(error.into())
    }
}

impl Raised {
    /// With what it is about in front, a file or a unit.
    pub(crate) fn within(self, py: Python<'_>, context: impl Display) -> PyErr {
        let text = format!("{context}: {}", in_python(&self.0.to_string()));
        PyErr::from_type(PyErr::from(self).get_type(py), text)
    }
}

impl From<Raised> for PyErr {
    fn from(Raised(error): Raised) -> PyErr {
        let text = in_python(&error.to_string());
        match error {
            Error::Count { .. } => CountError::new_err(text),
            Error::Code { .. } => CodeError::new_err(text),
            Error::TooLarge { .. } => TooLarge::new_err(text),
            Error::Shape { .. } => ShapeError::new_err(text),
            Error::Format { .. } | Error::Nan { .. } => FormatError::new_err(text),
            Error::Scale { .. } => ScaleError::new_err(text),
            Error::GemmOption { .. } => OptionError::new_err(text),
            Error::NoModel { .. } => NoModel::new_err(text),
            Error::Model(_) => ModelError::new_err(text),
            Error::Lookup(Lookup::UnknownArchitecture { .. } | Lookup::NotModelled { .. }) => {
                UnknownArchitecture::new_err(text)
            }
            Error::Lookup(Lookup::UnknownRevision { .. }) => UnknownRevision::new_err(text),
            Error::Lookup(Lookup::UnknownModel { .. }) => UnknownModel::new_err(text),
            Error::Lookup(
                Lookup::UnknownInstruction { .. }
                | Lookup::NotAnInstruction { .. }
                | Lookup::UnknownProcessorInstruction { .. },
            ) => UnknownInstruction::new_err(text),
            Error::Lookup(Lookup::Ambiguous { .. }) => AmbiguousInstruction::new_err(text),
            Error::Lookup(Lookup::Extent { .. }) => ExtentError::new_err(text),
            Error::Lookup(Lookup::Option { .. }) => OptionError::new_err(text),
            Error::Lookup(Lookup::NoInstruction { .. }) => NoInstruction::new_err(text),
            Error::Unit { .. } | Error::Stopped => UnitError::new_err(text),
            Error::Recording { .. } => RecordingError::new_err(text),
            Error::Io(error) => error.into(), // OSError and its kinds
        }
    }
}
