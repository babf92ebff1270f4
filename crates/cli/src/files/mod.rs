//! Matrices in files: `.npy` and `.safetensors`, read and written without a conversion, and columns of recordings (`.csv`),
//! which are read.
//!
//! A file's elements are either numbers of the operand's own format or unsigned integers holding its
//! codes; anything else is an error. Nothing here computes.

mod csv;
mod output;

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use bitmma_engine::formats::Format;
use bitmma_files::{Tensor, npy, safetensors};

use crate::failure::Failure;

pub(crate) use output::Output;

/// The kinds of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One array, as `numpy.save` writes it.
    Npy,
    /// Tensors with names.
    Safetensors,
    /// A recording, whose columns have names.
    Recording,
}

impl Kind {
    const ALL: [Kind; 3] = [Kind::Npy, Kind::Safetensors, Kind::Recording];

    /// With the dot.
    pub(crate) const fn extension(self) -> &'static str {
        match self {
            Kind::Npy => ".npy",
            Kind::Safetensors => ".safetensors",
            Kind::Recording => ".csv",
        }
    }

    /// The kind whose extension `name` ends in, without regard to case.
    fn of(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| {
            let extension = kind.extension();
            name.len() > extension.len()
                && name
                    .get(name.len() - extension.len()..)
                    .is_some_and(|end| end.eq_ignore_ascii_case(extension))
        })
    }
}

/// A file to read, as `x.npy`, `x.safetensors`, `x.safetensors:NAME` or `x.csv:COLUMN`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    /// The file.
    pub(crate) path: PathBuf,
    /// The tensor in it; `None` where it holds one.
    pub(crate) tensor: Option<String>,
    kind: Kind,
}

/// As it was given.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.tensor {
            None => write!(f, "{}", self.path.display()),
            Some(name) => write!(f, "{}:{name}", self.path.display()),
        }
    }
}

impl FromStr for Source {
    type Err = &'static str; // without the text, which clap prints

    /// A tensor's name may hold colons of its own: what follows the first `.safetensors:` or `.csv:` is the name.
    fn from_str(text: &str) -> Result<Source, &'static str> {
        let lower = text.to_ascii_lowercase(); // the same bytes in the same places
        for kind in [Kind::Safetensors, Kind::Recording] {
            let extension = kind.extension();
            let Some(start) = lower.find(&format!("{extension}:")) else { continue };
            let end = start + extension.len();
            let (file, name) = (&text[..end], &text[end + 1..]);
            if name.is_empty() {
                return Err(match kind {
                    Kind::Recording => "a column's name must follow the colon",
                    _ => "a tensor's name must follow the colon",
                });
            }
            let kind = Kind::of(file).ok_or("the file has no name")?;
            return Ok(Source { path: file.into(), tensor: Some(name.to_owned()), kind });
        }
        if lower.contains(".npy:") && Kind::of(text).is_none() {
            return Err("a .npy file holds one array, which has no name");
        }
        match Kind::of(text) {
            Some(Kind::Recording) => {
                Err("a recording needs a column: FILE.csv:a, :b, :c, :scale_a, :scale_b or :d")
            }
            Some(kind) => Ok(Source { path: text.into(), tensor: None, kind }),
            None => Err(
                "the name must end in .npy or .safetensors, or be that of a recording with a column, FILE.csv:a",
            ),
        }
    }
}

impl Source {
    /// The format that the file's type names; `None` where it holds integers, which are codes of any.
    pub(crate) fn format(&self) -> Result<Option<Format>, Failure> {
        match self.kind {
            Kind::Npy => Ok(npy::format_of(&self.path)?),
            Kind::Safetensors => Ok(safetensors::format_of(&self.path, self.tensor.as_deref())?),
            Kind::Recording => Ok(None),
        }
    }

    /// The elements, each a code of `format`.
    pub(crate) fn read(&self, format: &Format) -> Result<Tensor, Failure> {
        match self.kind {
            Kind::Npy => Ok(npy::read(&self.path, format)?),
            Kind::Safetensors => Ok(safetensors::read(&self.path, self.tensor.as_deref(), format)?),
            Kind::Recording => csv::read(&self.path, self.tensor.as_deref().unwrap_or_default(), format),
        }
    }
}
