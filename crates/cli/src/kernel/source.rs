//! A kernel's file: PTX, or CUDA C++ that NVRTC compiles.

use std::ffi::OsStr;
use std::path::PathBuf;

use bitmma_engine::Architecture;
use bitmma_files::reading;
use bitmma_hardware::cuda::nvrtc::{self, Nvrtc};
use bitmma_ptx::{Program, Tools};

use crate::failure::{Failure, Within};
use crate::{output, target};

/// What `show` and `run` read.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Source {
    /// PTX, or CUDA C++ (.cu), which NVRTC compiles
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,
    /// Entry, if the file has several; of CUDA C++ also an instance of a template, as in 'scale<float>'
    #[arg(long, value_name = "NAME")]
    pub(super) entry: Option<String>,
    /// Target architecture, if not that of the text, as in sm_90a
    #[arg(long, value_name = "SM")]
    pub(super) target: Option<String>,
    /// Chip that CUDA C++ is compiled for, as in h100
    #[arg(long, value_name = "CHIP", value_parser = target::architecture())]
    chip: Option<Architecture>,
    /// Folder of headers for CUDA C++
    #[arg(long, short = 'I', value_name = "FOLDER")]
    include: Vec<PathBuf>,
    /// Option of NVRTC for CUDA C++, as in --option=-DN=64
    #[arg(long = "option", value_name = "OPTION", allow_hyphen_values = true)]
    options: Vec<String>,
}

/// A file, read.
pub(super) struct Read {
    pub(super) program: Program,
    /// As the text calls it.
    pub(super) entry: Option<String>,
    /// If it is not the text's.
    pub(super) target: Option<String>,
}

impl Source {
    /// Whether it is CUDA C++.
    pub(super) fn is_cuda(&self) -> bool {
        self.file.extension().and_then(OsStr::to_str).is_some_and(|end| ["cu", "cuh"].contains(&end))
    }

    pub(super) fn read(&self) -> Result<Read, Failure> {
        if self.is_cuda() {
            return self.compiled().within(self.file.display());
        }
        if self.chip.is_some() || !self.include.is_empty() || !self.options.is_empty() {
            bail!("{}: --chip, --include and --option are for CUDA C++ (.cu)", self.file.display());
        }
        let text = reading::text(&self.file, "a kernel (PTX)").within(self.file.display())?;
        let program = Program::parse(&text).within(self.file.display())?;
        Ok(Read { program, entry: self.entry.clone(), target: self.target.clone() })
    }

    /// What NVRTC makes of it.
    fn compiled(&self) -> Result<Read, Failure> {
        let text = reading::text(&self.file, "a kernel (CUDA C++)")?;
        let target = match (&self.target, self.chip) {
            (Some(target), None) => target.clone(),
            (None, Some(chip)) if chip.target().starts_with("sm_") => chip.target().to_owned(),
            (None, Some(chip)) => bail!("CUDA C++ runs on chips of NVIDIA, not on {chip}"),
            (None, None) => bail!("say for which chip it is compiled: --chip h100, or --target sm_90a"),
            (Some(_), Some(_)) => bail!("--chip and --target say the same: give one of them"),
        };
        let mut options = self.options.clone();
        let beside = self
            .file
            .parent()
            .map(|folder| if folder.as_os_str().is_empty() { ".".into() } else { folder.to_owned() });
        for folder in beside.iter().chain(&self.include) {
            if !folder.is_dir() {
                bail!("the folder of headers {} does not exist", folder.display());
            }
            options.push(format!("-I{}", folder.display()));
        }
        let nvrtc = Nvrtc::find(&Tools::folders(&[])).map_err(|error| Failure::new(error.to_string()))?;
        let expressions: Vec<String> = self.entry.iter().cloned().collect();
        let name = self.file.file_name().unwrap_or_default().to_string_lossy();
        let source = nvrtc::Source {
            text: &text,
            name: &name,
            target: &target,
            options: &options,
            expressions: &expressions,
        };
        let compiled = nvrtc.compile(&source).map_err(|error| Failure::new(error.to_string()))?;
        if !compiled.log.is_empty() {
            output::note(&compiled.log);
        }
        let program = Program::parse(&compiled.text)?;
        Ok(Read { program, entry: compiled.names.into_iter().next(), target: None })
    }
}
