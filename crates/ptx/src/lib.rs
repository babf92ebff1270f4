//! Runs a compiled GPU kernel, PTX as compilers print it, on a CPU with the bits of a GPU.
//!
//! A [`Program`] reads a text; a [`Kernel`] is one of its entries, decoded once; a [`Launch`] runs it on buffers. Matrix
//! instructions go through the engine, by the catalogue's row for the target; special functions through
//! `bitmma_functions`. Additions, multiplications and multiply-adds of FP32 and FP64 in rounding to nearest are the
//! host's, which IEEE 754 fixes; the NaN is the GPU's. Everything else is computed in integers.
#![forbid(unsafe_code)]
#![allow(clippy::needless_range_loop)] // lanes are indexed in several arrays at once

use std::collections::HashMap;

mod decode;
mod error;
mod flow;
mod guess;
mod instruction;
mod lanes;
mod matrix;
mod operand;
mod program;
mod rewrite;
mod run;
mod survey;
mod text;

pub use error::{Doubt, Error, Thread};
pub use program::{Boxes, Kernel, Parameter, Variable};
pub use rewrite::{
    CACHE_BYTES, CACHE_VARIABLE, Compiler, FOLDERS_VARIABLE, Fusion, Mode, Rewrites, TIME_LIMIT, Tools,
};
pub use run::{Argument, Buffer, Launch, Limits, Member, Product, Record, Report, Scalar, TensorMap, Trace};
pub use survey::{FormUse, Standing, Survey};

/// A text, read.
#[derive(Clone, Debug)]
pub struct Program {
    module: text::Module,
    /// Where an entry of a name is.
    entries: HashMap<String, usize>,
}

impl Program {
    /// Reads PTX.
    pub fn parse(text: &str) -> Result<Program, Error> {
        let module = text::Module::parse(text)?;
        let names = module.entries.iter().enumerate().rev();
        let entries = names.map(|(at, entry)| (entry.name.clone(), at)).collect();
        Ok(Program { module, entries })
    }

    /// The architecture that it was compiled for, as in `sm_90a`.
    pub fn target(&self) -> &str {
        &self.module.target
    }

    /// The version of PTX.
    pub fn version(&self) -> &str {
        &self.module.version
    }

    /// The names of its entries.
    pub fn entries(&self) -> impl Iterator<Item = &str> {
        let refused = self.module.refused.iter().map(|(name, ..)| name.as_str());
        self.module.entries.iter().map(|entry| entry.name.as_str()).chain(refused)
    }

    /// Its variables in global and constant memory.
    pub fn variables(&self) -> impl Iterator<Item = Variable<'_>> {
        let is_outside =
            |one: &&text::Variable| matches!(one.space, text::Space::Global | text::Space::Constant);
        self.module.variables.iter().filter(is_outside).map(|one| Variable {
            name: &one.name,
            bytes: one.bytes.unwrap_or(0),
            initial: one.initial.as_deref().unwrap_or_default(),
            is_constant: one.space == text::Space::Constant,
        })
    }

    /// An entry, decoded; the only one if none is named. `target`: for another architecture than that of the text. What ptxas
    /// makes of the text is predicted; [`Program::compiled`] can ask it.
    pub fn kernel(&self, entry: Option<&str>, target: Option<&str>, mode: Mode) -> Result<Kernel, Error> {
        self.compiled(entry, target, &mode.into())
    }

    /// The same, as a compiler compiles it.
    pub fn compiled(
        &self,
        entry: Option<&str>,
        target: Option<&str>,
        compiler: &Compiler,
    ) -> Result<Kernel, Error> {
        decode::kernel(&self.module, self.entry(entry)?, target, compiler)
    }

    /// Asks tools for the code of all entries by one run of ptxas, which is quicker than one for each; [`Program::compiled`] then
    /// finds it. What ptxas does not take is asked for again there. An error where the tools fail, whatever the text.
    pub fn ask(&self, target: Option<&str>, tools: &Tools) -> Result<(), String> {
        rewrite::ask_all(&self.module, target.unwrap_or(self.target()), tools)
    }

    /// What is known of every form of an entry, also where some are not supported.
    pub fn survey(&self, entry: Option<&str>, target: Option<&str>) -> Result<Survey, Error> {
        survey::survey(&self.module, self.entry(entry)?, target)
    }

    fn entry(&self, entry: Option<&str>) -> Result<&text::Function, Error> {
        let text::Module { entries, refused, .. } = &self.module;
        let found = match entry {
            Some(name) => self.entries.get(name).map(|at| &entries[*at]),
            None if entries.len() == 1 && refused.is_empty() => entries.first(),
            None => None,
        };
        if let Some((_, line, what)) = refused.iter().find(|(name, ..)| Some(name.as_str()) == entry) {
            return Err(Error::syntax(*line, what));
        }
        found.ok_or_else(|| Error::no_entry(entry, self.entries().collect()))
    }
}
