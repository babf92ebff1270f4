//! The file that D is written to: whole, or not at all.

use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use bitmma::Matrix;
use bitmma::formats::Format;

use super::{Error, Kind, npy, safetensors};

/// A file to write, of a kind that can hold the format.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    path: PathBuf,
    kind: Kind,
}

impl Output {
    /// Checks, before anything is computed, that `path` names a file that can hold `format`.
    pub(crate) fn new(path: &Path, format: &Format) -> Result<Output, Error> {
        let file = path.display().to_string();
        let wrong = |problem: String| Error::Name { file: file.clone(), problem };
        let Some(kind) = Kind::of(&file) else {
            return Err(wrong("the name must end in .npy or .safetensors".to_owned()));
        };
        match kind {
            Kind::Npy if npy::float_bytes(format).is_none() => {
                return Err(wrong(format!(
                    "D is {format}, which .npy has no type for; write a .safetensors file"
                )));
            }
            Kind::Safetensors if safetensors::dtype_of(format).is_none() => {
                return Err(wrong(format!("D is {format}, which .safetensors has no type for")));
            }
            _ => {}
        }
        let output = Output { path: path.to_owned(), kind };
        if path.is_dir() {
            return Err(wrong("it is a directory".to_owned()));
        }
        if !output.folder().is_dir() {
            return Err(wrong(format!("there is no directory {}", output.folder().display())));
        }
        // a file that cannot be made there is better known before hours of work than after
        match output.temporary() {
            Ok(_) => Ok(output),
            Err(error) => Err(Error::Io { file, error }),
        }
    }

    /// A file beside the one that was asked for, which vanishes unless it is kept.
    fn temporary(&self) -> std::io::Result<tempfile::NamedTempFile> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".bitmma-");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // as any new file, less what the umask takes; a temporary file is its owner's alone
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        builder.tempfile_in(self.folder())
    }

    fn folder(&self) -> &Path {
        self.path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
    }

    /// Writes `d` (M×N, or blocks×M×N where there are several) to a file beside the one that was asked
    /// for, and renames it; on an error nothing is left.
    pub(crate) fn write(&self, d: &Matrix, metadata: &BTreeMap<&str, String>) -> Result<(), Error> {
        self.try_write(d, metadata)
            .map_err(|error| Error::Io { file: self.path.display().to_string(), error })
    }

    fn try_write(&self, d: &Matrix, metadata: &BTreeMap<&str, String>) -> std::io::Result<()> {
        let shape = match d.shape() {
            (1, rows, columns) => vec![rows, columns],
            (blocks, rows, columns) => vec![blocks, rows, columns],
        };
        let mut file = self.temporary()?;
        let mut target = BufWriter::new(file.as_file_mut());
        let format = d.format();
        let written = match self.kind {
            Kind::Npy => npy::write(&mut target, &format, &shape, d.iter()),
            Kind::Safetensors => safetensors::write(&mut target, &format, &shape, d.iter(), metadata),
        };
        written.unwrap_or_else(|| Err(std::io::Error::other(format!("no type for {format}"))))?;
        target.flush()?;
        drop(target);
        file.persist(&self.path)?;
        Ok(())
    }
}
