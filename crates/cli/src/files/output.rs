//! The file that D is written to.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bitmma_engine::Matrix;
use bitmma_engine::formats::Format;
use bitmma_files::{dimensions, npy, safetensors};

use super::Kind;
use crate::failure::{Failure, Within};
use crate::whole;

/// A file to write, of a kind that can hold the format.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    path: PathBuf,
    kind: Kind,
}

impl Output {
    /// Checks, before anything is computed, that `path` names a file that can hold `format`.
    pub(crate) fn new(path: &Path, format: &Format) -> Result<Output, Failure> {
        let file = path.display().to_string();
        let wrong = |problem: String| Failure::new(format!("{file}: {problem}"));
        let Some(kind) = Kind::of(&file).filter(|kind| *kind != Kind::Recording) else {
            return Err(wrong("the name must end in .npy or .safetensors".to_owned()));
        };
        match kind {
            Kind::Npy if !npy::has_type(format) => {
                return Err(wrong(format!(
                    "D is {format}, which .npy has no type for; write a .safetensors file"
                )));
            }
            Kind::Safetensors if safetensors::dtype_of(format).is_none() => {
                return Err(wrong(format!("D is {format}, which .safetensors has no type for")));
            }
            _ => {}
        }
        whole::check(path).within(&file)?;
        Ok(Output { path: path.to_owned(), kind })
    }

    /// Checks, before anything is computed, that the file can hold `rows`×`columns` codes of `format`, `blocks` times.
    pub(crate) fn fits(
        &self,
        format: &Format,
        (blocks, rows, columns): (usize, usize, usize),
    ) -> Result<(), Failure> {
        let bits = format.bits() as usize;
        if matches!(self.kind, Kind::Npy) || safetensors::ends_on_a_byte(&[blocks, rows, columns], bits) {
            return Ok(());
        }
        let all = [blocks, rows, columns];
        let shape = dimensions(if blocks == 1 { &all[1..] } else { &all });
        Err(Failure::new(format!(
            "{}: D is {shape} of {format}; .safetensors takes whole bytes, a multiple of {} elements of {bits} bits",
            self.path.display(),
            if bits == 6 { 4 } else { 2 }
        )))
    }

    /// Writes `d`: M×N, or blocks×M×N where there are several.
    pub(crate) fn write(&self, d: &Matrix, metadata: &BTreeMap<&str, String>) -> Result<(), Failure> {
        let shape = match d.shape() {
            (1, rows, columns) => vec![rows, columns],
            (blocks, rows, columns) => vec![blocks, rows, columns],
        };
        let format = d.format();
        whole::write(&self.path, |mut target| match self.kind {
            Kind::Npy => npy::write(&mut target, &format, &shape, d.codes()),
            Kind::Safetensors => safetensors::write(&mut target, &format, &shape, d.codes(), metadata),
            Kind::Recording => Err(std::io::ErrorKind::Unsupported.into()), // `new` refuses it
        })
        .within(self.path.display())
    }
}
