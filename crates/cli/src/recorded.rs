//! The lines of a recording that commands write.

use std::io::Write;

use bitmma_engine::{Case, Signature};
use bitmma_verify::recording::{self, Answer};

use crate::failure::Failure;

/// The comments and the header of a recording.
pub(crate) fn write_head(to: &mut dyn Write, lines: &[String]) -> Result<(), Failure> {
    Ok(recording::write_head(to, &lines.iter().map(String::as_str).collect::<Vec<_>>())?)
}

/// A case and its result as a line of a recording.
pub(crate) fn write_case(
    to: &mut dyn Write,
    signature: &Signature,
    case: &Case,
    d: Answer,
) -> Result<(), Failure> {
    Ok(recording::write_line(to, names(&signature.name), signature, case, d)?)
}

/// `hopper/mma…` and `cpu:fma.f32` as architecture and instruction.
pub(crate) fn names(unit: &str) -> (&str, &str) {
    unit.split_once(['/', ':']).unwrap_or(("unit", unit))
}
