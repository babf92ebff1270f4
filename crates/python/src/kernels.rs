//! `bitmma.kernels`: compiled kernels.

use std::collections::HashMap;
use std::path::PathBuf;

use bitmma_hardware::cuda::nvrtc::{Nvrtc, NvrtcError, Source};
use bitmma_ptx::{
    Argument, Boxes, Buffer, Compiler, Error, Kernel, Launch, Limits, Member, Product, Program, Record,
    Report, Scalar, TensorMap, Thread, Tools, Trace, Variable,
};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::error::{CudaError, DoubtfulKernel, KernelError, PtxError, Raised, UnsupportedPtx};

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

/// A mode and a fusion, the folders in which ptxas and nvdisasm are looked for first, and further options of ptxas.
type Compiled = (String, Option<String>, Vec<PathBuf>, Vec<String>);

/// How it is found out what ptxas makes of a text for a target.
fn compiler_of((mode, fusion, folders, options): &Compiled, target: &str) -> PyResult<Compiler> {
    let wrong = |what: String| Err(crate::error::OptionError::new_err(what));
    let tools = || Tools::find(folders, target).map(|tools| Tools { options: options.clone(), ..tools });
    match (mode.as_str(), fusion.as_deref()) {
        ("text", None | Some("ask" | "predict" | "off")) => Ok(Compiler::Text),
        ("gpu", None) => Ok(match tools() {
            Ok(tools) => Compiler::AskedIfPossible(tools),
            Err(why) => Compiler::Predicted(Some(why)),
        }),
        ("gpu", Some("ask")) => match tools() {
            Ok(tools) => Ok(Compiler::Asked(tools)),
            Err(why) => wrong(format!(
                "fusion 'ask': {why}; Triton has both, and so have nvidia-cuda-nvcc and nvidia-cuda-nvdisasm together"
            )),
        },
        ("gpu", Some("predict")) => Ok(Compiler::Predicted(None)),
        ("gpu", Some("off")) => Ok(Compiler::Off),
        ("gpu" | "text", Some(other)) => wrong(format!("unknown fusion '{other}'; one of ask, predict, off")),
        _ => wrong(format!("unknown mode '{mode}'; one of gpu, text")),
    }
}

/// CUDA C++ compiled to PTX: the text, the entry of each name expression, what NVRTC warns of, and its release. `folders`: where it is
/// looked for first.
#[pyfunction]
pub(crate) fn compile_cuda(
    py: Python<'_>,
    folders: Vec<PathBuf>,
    source: &str,
    name: &str,
    target: &str,
    options: Vec<String>,
    expressions: Vec<String>,
) -> PyResult<(String, Vec<String>, String, String)> {
    let wrong = |error: NvrtcError| CudaError::new_err(error.to_string());
    py.detach(|| {
        let nvrtc = Nvrtc::find(&Tools::folders(&folders))?;
        let source = Source { text: source, name, target, options: &options, expressions: &expressions };
        nvrtc.compile(&source).map(|compiled| (compiled.text, compiled.names, compiled.log, nvrtc.version()))
    })
    .map_err(wrong)
}

/// An argument as Python hands it over: (buffer, offset), the same with the fields of a tensor map, a structure with its pointers, a number,
/// or None.
#[derive(FromPyObject)]
enum Given {
    Pointer(usize, u64),
    Map(usize, u64, (u8, u8, bool, Corners), Vec<u32>, Vec<u64>, Vec<u32>, Vec<u32>),
    Structure(Vec<u8>, Vec<(usize, usize, u64)>),
    Integer(i128),
    Float(f64),
}

/// What boxes are, by its number, and the corners of im2col.
type Corners = (u8, [i32; 3], [i32; 3]);

/// A variable of a text: its name, bytes, whether it is constant, its first bytes.
type Held = (String, u64, bool, Vec<u8>);

fn held(variable: Variable<'_>) -> Held {
    (variable.name.to_owned(), variable.bytes, variable.is_constant, variable.initial.to_vec())
}

/// What a buffer holds after a launch that wrote to it.
type Changed<'py> = Option<Bound<'py, PyArray1<u8>>>;

/// A form of a kernel: its name, its lines, a word for how its result is known, and a remark.
type Surveyed = (String, Vec<u32>, &'static str, String);

/// What is traced: threads (block and thread), lines, registers, whether products are, and a byte whose last writer is.
type Wanted = (Vec<[[u32; 3]; 2]>, Vec<u32>, Vec<String>, bool, Option<(usize, u64)>);

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

    /// Its variables in global and constant memory: name, bytes, whether it is constant, its first bytes.
    fn variables(&self) -> Vec<Held> {
        self.program.variables().map(held).collect()
    }

    /// The architecture it was compiled for.
    fn target(&self) -> String {
        self.program.target().to_owned()
    }

    /// An entry, compiled.
    /// `compiled`: mode, fusion, folders of ptxas and nvdisasm, options of ptxas.
    #[pyo3(signature = (compiled, entry = None, target = None))]
    fn compile(
        &self,
        py: Python<'_>,
        compiled: Compiled,
        entry: Option<&str>,
        target: Option<&str>,
    ) -> PyResult<PtxKernel> {
        let compiler = compiler_of(&compiled, target.unwrap_or(self.program.target()))?;
        let kernel = py.detach(|| self.program.compiled(entry, target, &compiler)).map_err(raised)?;
        Ok(PtxKernel { kernel })
    }

    /// Every form of an entry: its name, its lines, a word for how its result is known, and what there is to say besides.
    #[pyo3(signature = (entry = None, target = None))]
    fn survey(&self, entry: Option<&str>, target: Option<&str>) -> PyResult<Vec<Surveyed>> {
        let survey = self.program.survey(entry, target).map_err(raised)?;
        let one = |form: bitmma_ptx::FormUse| {
            let (word, remark) = (form.standing.word(), form.standing.remark());
            (form.form, form.lines, word, remark)
        };
        Ok(survey.forms.into_iter().map(one).collect())
    }
}

/// An entry of a PTX text, compiled.
#[pyclass(frozen, module = "bitmma._bitmma")]
pub(crate) struct PtxKernel {
    kernel: Kernel,
}

#[pymethods]
impl PtxKernel {
    /// What is known of it before it runs.
    fn describe<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let kernel = &self.kernel;
        let parameters: Vec<(String, String, u64)> =
            kernel.parameters().map(|one| (one.name.to_owned(), one.kind.to_owned(), one.bytes)).collect();
        let variables: Vec<Held> = kernel.variables().map(held).collect();
        let doubts: Vec<(u32, String, String)> =
            kernel.doubts().iter().map(|doubt| (doubt.line, doubt.form.clone(), doubt.why.clone())).collect();
        Ok(dict!(py,
            name: kernel.name(),
            target: kernel.target(),
            block: kernel.required_block().map(|[x, y, z]| (x, y, z)),
            parameters: parameters,
            variables: variables,
            forms: kernel.forms().to_vec(),
            fused: kernel.rewrites().fused.clone(),
            folded: kernel.rewrites().folded.clone(),
            fusion: (kernel.rewrites().fusion.word(), kernel.rewrites().fusion.remark()),
            doubts: doubts,
            sources: kernel.sources().iter().map(|(line, [file, at])| (*line, *file, *at)).collect::<Vec<_>>(),
            floats: kernel.float_lines(),
        ))
    }

    /// Runs it on buffers of bytes, which stay as they are: for each of them what it holds after the launch, or None where nothing
    /// was written; instructions that ran; what was traced. `trace` has threads (block and thread), lines, registers, whether
    /// products are wanted, and a byte whose last writer is.
    #[pyo3(signature = (
        grid, arguments, buffers, hosts, names, *, block = None, cluster = None, allow_doubtful = false, shared = None,
        loop_limit = None, threads = None, trace = None, variables = None
    ))]
    fn launch<'py>(
        &self,
        py: Python<'py>,
        grid: (u32, u32, u32),
        arguments: Vec<Option<Given>>,
        buffers: Vec<Bound<'py, PyArray1<u8>>>,
        hosts: Vec<u64>,
        names: Vec<String>,
        block: Option<(u32, u32, u32)>,
        cluster: Option<(u32, u32, u32)>,
        allow_doubtful: bool,
        shared: Option<u64>,
        loop_limit: Option<u64>,
        threads: Option<usize>,
        trace: Option<Wanted>,
        variables: Option<HashMap<String, Vec<u8>>>,
    ) -> PyResult<(Vec<Changed<'py>>, u64, Bound<'py, PyDict>)> {
        let arguments: PyResult<Vec<Argument>> = arguments
            .into_iter()
            .map(|argument| match argument {
                None => Ok(Argument::Null),
                Some(Given::Pointer(buffer, offset)) => Ok(Argument::Pointer { buffer, offset }),
                Some(Given::Map(
                    buffer,
                    address,
                    (kind, swizzle, fills_nan, (boxes, lower, upper)),
                    dimensions,
                    strides,
                    lengths,
                    steps,
                )) => {
                    let rank = dimensions.len() as u8;
                    let boxes = Boxes::try_from(boxes).map_err(PtxError::new_err)?;
                    let map = TensorMap {
                        kind,
                        rank,
                        swizzle,
                        fills_nan,
                        address,
                        boxes,
                        lower,
                        upper,
                        ..TensorMap::default()
                    };
                    Ok(Argument::TensorMap { buffer, map: map.with(&dimensions, &strides, &lengths, &steps) })
                }
                Some(Given::Structure(bytes, pointers)) => {
                    let member = |(at, buffer, offset)| Member { at, buffer, offset };
                    Ok(Argument::Structure { bytes, pointers: pointers.into_iter().map(member).collect() })
                }
                Some(Given::Integer(value)) => Ok(Argument::Scalar(Scalar::Integer(value))),
                Some(Given::Float(value)) => Ok(Argument::Scalar(Scalar::Float(value))),
            })
            .collect();
        let arguments = arguments?;
        let mut held = Vec::with_capacity(buffers.len());
        for (buffer, name) in buffers.iter().zip(names) {
            let given = buffer.readonly();
            let given = given.as_slice()?;
            let mut bytes = vec![];
            if bytes.try_reserve_exact(given.len()).is_err() {
                let count = given.len();
                let text = format!("there is not enough memory for {name}, which has {count} bytes");
                return Err(PtxError::new_err(text));
            }
            bytes.extend_from_slice(given);
            held.push(Buffer { bytes, name, written: false });
        }
        let defaults = Limits::default();
        let limits = Limits { turns: loop_limit.unwrap_or(defaults.turns), threads: threads.unwrap_or(0) };
        let mut interrupt = None;
        let result = py.detach(|| {
            let [block, cluster] = [block, cluster].map(|sizes| sizes.map(|(x, y, z)| [x, y, z]));
            let grid = [grid.0, grid.1, grid.2];
            let trace = trace.map(|(threads, lines, registers, products, byte)| Trace {
                threads: threads.into_iter().map(|[block, thread]| Thread { block, thread }).collect(),
                lines,
                registers,
                products,
                byte,
            });
            let kernel = &self.kernel;
            let variables = variables.unwrap_or_default();
            let launch = Launch {
                kernel,
                grid,
                cluster,
                block,
                shared,
                allow_doubtful,
                limits,
                trace,
                variables,
                hosts,
            };
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
        let array = |held: Buffer| held.written.then(|| PyArray1::from_vec(py, held.bytes));
        let written = held.into_iter().map(array).collect();
        Ok((written, report.instructions, traced(py, report)?))
    }
}

/// What was recorded, as columns; products as rows.
fn traced(py: Python<'_>, report: Report) -> PyResult<Bound<'_, PyDict>> {
    let Report { records, products, writer, is_cut, printed, variables, .. } = report;
    let variables = PyDict::from_sequence(
        &variables
            .into_iter()
            .map(|(name, bytes)| (name, PyBytes::new(py, &bytes)))
            .collect::<Vec<_>>()
            .into_pyobject(py)?,
    )?;
    let mut names: Vec<String> = vec![];
    let mut known: HashMap<String, u32> = HashMap::new();
    let register = records
        .iter()
        .map(|record| {
            *known.entry(record.register.to_string()).or_insert_with(|| {
                names.push(record.register.to_string());
                names.len() as u32 - 1
            })
        })
        .collect::<Vec<u32>>();
    let place = |thread: Thread| [thread.block, thread.thread].concat();
    let places: Vec<u32> = records.iter().flat_map(|record| place(record.thread)).collect();
    let column = |of: fn(&Record) -> u64| PyArray1::from_iter(py, records.iter().map(of));
    let products: Vec<_> = products
        .into_iter()
        .map(|product| {
            let Product { line, step, thread, form, shape, codes } = product;
            let codes =
                codes.map(|codes| PyArray1::from_iter(py, (0..codes.len()).map(|index| codes.get(index))));
            (line, step, place(thread), form, shape, codes)
        })
        .collect();
    Ok(dict!(py,
        line: column(|record| record.line.into()),
        step: column(|record| record.step),
        bits: column(|record| record.bits.into()),
        value: column(|record| record.value),
        place: PyArray1::from_vec(py, places),
        register: PyArray1::from_vec(py, register),
        names: names,
        products: products,
        writer: writer.map(|(line, thread)| (line, place(thread))),
        is_cut: is_cut,
        printed: printed,
        variables: variables,
    ))
}
