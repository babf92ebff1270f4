//! `bitmma kernel run`.

use std::path::PathBuf;

use bitmma_ptx::{Argument, Buffer, Compiler, Launch, Limits};

use super::arguments::{self, Array, Given};
use super::source::Read;
use super::{Run, compiler};
use crate::failure::{Failure, Within};
use crate::{json, output, whole};

/// A buffer's file.
struct File {
    path: PathBuf,
    header: Vec<u8>,
    is_out: bool,
}

pub(super) fn run(run: &Run) -> Result<(), Failure> {
    let Read { program, entry, target } = run.source.read()?;
    let target = target.as_deref();
    let compiler = match run.mode.as_str() {
        "text" => Compiler::Text,
        _ => compiler(&program, target, run.fusion.as_deref())?,
    };
    let file = run.source.file.display();
    let kernel = program.compiled(entry.as_deref(), target, &compiler).within(&file)?;
    let fusion = &kernel.rewrites().fusion;
    let parameters: Vec<_> = kernel.parameters().collect();
    let (mut files, mut buffers, mut values) = (vec![], vec![], vec![]);
    for (at, given) in run.arguments.iter().enumerate() {
        let mut buffer = |path: &PathBuf, array: Array, is_out: bool| {
            files.push(File { path: path.clone(), header: array.header, is_out });
            let name = format!("argument {at} ({})", path.display());
            buffers.push(Buffer { bytes: array.bytes, name, written: false });
            Argument::Pointer { buffer: buffers.len() - 1, offset: 0 }
        };
        values.push(match given {
            Given::Null => Argument::Null,
            Given::Number(kind, scalar) => {
                if let Some(parameter) = parameters.get(at) {
                    arguments::fits(at, kind, *parameter)?;
                }
                Argument::Scalar(*scalar)
            }
            Given::Structure(bytes) => Argument::Structure { bytes: bytes.clone(), pointers: vec![] },
            Given::File(path) => buffer(path, arguments::read(path)?, false),
            Given::Out(path, None) => buffer(path, arguments::read(path)?, true),
            Given::Out(path, Some((kind, shape))) => buffer(path, arguments::zeros(kind, shape), true),
        });
    }
    // Triton's kernels end with two pointers to scratch memory
    let missing = parameters.get(values.len()..).unwrap_or(&[]);
    if missing.len() == 2 && missing.iter().all(|parameter| parameter.kind == "pointer") {
        values.extend([Argument::Null, Argument::Null]);
    }
    let defaults = Limits::default();
    let limits = Limits {
        turns: run.loop_limit.unwrap_or(defaults.turns),
        threads: run.threads.unwrap_or(defaults.threads),
    };
    let launch = Launch {
        block: run.block,
        cluster: run.cluster,
        shared: run.shared.or(run.source.is_cuda().then_some(0)),
        variables: arguments::variables(&run.variables)?,
        allow_doubtful: run.allow_doubtful,
        limits,
        ..Launch::new(&kernel, run.grid)
    };
    let report = launch.run(&values, &mut buffers, &mut || false).within(&file)?;
    let mut written = vec![];
    for (file, buffer) in files.iter().zip(&buffers) {
        if file.is_out {
            whole::write(&file.path, |target| {
                target.write_all(&file.header)?;
                target.write_all(&buffer.bytes)
            })
            .within(file.path.display())?;
            written.push(file.path.display().to_string());
        } else if buffer.written {
            output::note(&format!(
                "the kernel writes to {}, which stays as it is; out: keeps it",
                buffer.name
            ));
        }
    }
    if run.json {
        return json::print(&json::object! {
            file: file.to_string(),
            entry: kernel.name(),
            target: kernel.target(),
            grid: run.grid,
            mode: &run.mode,
            fusion: fusion.word(),
            fusion_remark: fusion.remark(),
            instructions: report.instructions,
            blocks: report.blocks,
            printed: report.printed,
            written: written,
        });
    }
    let blocks = output::counted(report.blocks, "block");
    let mut text = report.printed;
    text += &format!("{}: {blocks}, {} instructions of threads\n", kernel.name(), report.instructions);
    text += &format!("fusion: {fusion}\n");
    for path in written {
        text += &format!("{path} is written\n");
    }
    output::print(&text)
}
