//! `bitmma.kernels`: compiled kernels.

use bitmma_ptx::{Argument, Buffer, Error, Launch, Limits, Mode, Program, Scalar};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::{DoubtfulKernel, KernelError, PtxError, Raised, UnsupportedPtx};

/// An error of a kernel on its way to Python.
fn raised(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::Unsupported { .. } => UnsupportedPtx::new_err(text),
        Error::Doubtful(_) => DoubtfulKernel::new_err(text),
        Error::Kernel { .. } => KernelError::new_err(text),
        Error::Engine { line, error } => {
            Python::attach(|py| Raised::from(error).within(py, format_args!("line {line}")))
        }
        Error::Stopped => PyKeyboardInterrupt::new_err(text),
        _ => PtxError::new_err(text),
    }
}

fn mode_of(mode: &str) -> PyResult<Mode> {
    match mode {
        "gpu" => Ok(Mode::Gpu),
        "text" => Ok(Mode::Text),
        _ => Err(crate::error::OptionError::new_err(format!("unknown mode '{mode}'; one of gpu, text"))),
    }
}

/// An argument as Python hands it over: (buffer, offset), a number, or None.
#[derive(FromPyObject)]
enum Given {
    Pointer(usize, u64),
    Integer(i128),
    Float(f64),
}

/// A PTX text, read.
#[pyclass(frozen, module = "bitmma._bitmma")]
pub(crate) struct Ptx {
    program: Program,
}

#[pymethods]
impl Ptx {
    #[new]
    fn new(py: Python<'_>, text: &str) -> PyResult<Ptx> {
        Ok(Ptx { program: py.detach(|| Program::parse(text)).map_err(raised)? })
    }

    /// The names of the entries.
    fn entries(&self) -> Vec<String> {
        self.program.entries().map(str::to_owned).collect()
    }

    /// The architecture it was compiled for.
    fn target(&self) -> String {
        self.program.target().to_owned()
    }

    /// What is known of an entry before it runs.
    #[pyo3(signature = (entry = None, target = None, mode = "gpu"))]
    fn describe<'py>(
        &self,
        py: Python<'py>,
        entry: Option<&str>,
        target: Option<&str>,
        mode: &str,
    ) -> PyResult<Bound<'py, PyDict>> {
        let kernel = self.program.kernel(entry, target, mode_of(mode)?).map_err(raised)?;
        let parameters: Vec<(String, String)> =
            kernel.parameters().map(|(name, kind)| (name.to_owned(), kind.to_owned())).collect();
        let doubts: Vec<(u32, String, String)> =
            kernel.doubts().iter().map(|doubt| (doubt.line, doubt.form.clone(), doubt.why.clone())).collect();
        Ok(dict!(py,
            name: kernel.name(),
            target: kernel.target(),
            block: kernel.required_block().map(|[x, y, z]| (x, y, z)),
            parameters: parameters,
            forms: kernel.forms().to_vec(),
            fused: kernel.rewrites().fused.clone(),
            folded: kernel.rewrites().folded.clone(),
            doubts: doubts,
        ))
    }

    /// Runs an entry on buffers of bytes, which are written in place; for each of them, whether it was.
    #[pyo3(signature = (
        grid, arguments, buffers, names, *, entry = None, block = None, target = None, mode = "gpu", allow_doubtful = false,
        shared = None, loop_limit = None, threads = None
    ))]
    fn launch<'py>(
        &self,
        py: Python<'py>,
        grid: (u32, u32, u32),
        arguments: Vec<Option<Given>>,
        buffers: Vec<Bound<'py, PyArray1<u8>>>,
        names: Vec<String>,
        entry: Option<&str>,
        block: Option<(u32, u32, u32)>,
        target: Option<&str>,
        mode: &str,
        allow_doubtful: bool,
        shared: Option<u64>,
        loop_limit: Option<u64>,
        threads: Option<usize>,
    ) -> PyResult<(Vec<bool>, u64)> {
        let mode = mode_of(mode)?;
        let arguments: Vec<Argument> = arguments
            .into_iter()
            .map(|argument| match argument {
                None => Argument::Null,
                Some(Given::Pointer(buffer, offset)) => Argument::Pointer { buffer, offset },
                Some(Given::Integer(value)) => Argument::Scalar(Scalar::Integer(value)),
                Some(Given::Float(value)) => Argument::Scalar(Scalar::Float(value)),
            })
            .collect();
        let mut held = Vec::with_capacity(buffers.len());
        for (buffer, name) in buffers.iter().zip(names) {
            let bytes = buffer.readonly().as_slice()?.to_vec();
            held.push(Buffer { bytes, name, written: false });
        }
        let defaults = Limits::default();
        let limits = Limits { turns: loop_limit.unwrap_or(defaults.turns), threads: threads.unwrap_or(0) };
        let mut interrupt = None;
        let result = py.detach(|| {
            let kernel = self.program.kernel(entry, target, mode)?;
            let (grid, block) = ([grid.0, grid.1, grid.2], block.map(|(x, y, z)| [x, y, z]));
            let launch = Launch { kernel: &kernel, grid, block, shared, allow_doubtful, limits };
            let mut stop = || {
                interrupt = Python::attach(|py| py.check_signals()).err();
                interrupt.is_some()
            };
            launch.run(&arguments, &mut held, &mut stop)
        });
        if let Some(raised) = interrupt {
            return Err(raised);
        }
        let report = result.map_err(raised)?;
        for (buffer, held) in buffers.iter().zip(&held) {
            if held.written {
                buffer.readwrite().as_slice_mut()?.copy_from_slice(&held.bytes);
            }
        }
        Ok((held.iter().map(|held| held.written).collect(), report.instructions))
    }
}
