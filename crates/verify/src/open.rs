//! Units by name, and the models that their names mean.

use std::fmt::Display;
use std::path::Path;

use bitmma_engine::arithmetic::Prepared;
use bitmma_engine::catalogue::{Found, find, processor};
use bitmma_engine::formats::BlockScale;
use bitmma_engine::{
    Architecture, Error, FastSimulator, Fault, MmaUnit, Model, Revision, Signature, Simulator, model_of,
};
use bitmma_files::reading;
use bitmma_hardware::cpu::Cpu;
use bitmma_hardware::gpu::{self, check_places};
use bitmma_hardware::process::{Limits, Process};
use bitmma_hardware::{cuda, hip};
use thiserror::Error as ThisError;

use crate::playback::Playback;
use crate::recording;

/// The names of units, for help and messages.
pub const KINDS: &str = "\
Units:
  sim:ARCH/INSTRUCTION  a simulated instruction:
                        sim:hopper/mma.m16n8k16.f32.f16.f16.f32
  model:FILE@MxNxK      a model from a TOML file as an instruction of that shape:
                        model:mine.toml@16x8x16
  recording:FILE        a recording; recording:FILE@ARCH/INSTRUCTION selects one of
                        several instructions
  cpu:NAME              an instruction of this processor: cpu:fma.f32, cpu:fma.f64,
                        cpu:vdpbf16ps, cpu:tdpbf16ps
  cuda:N/INSTRUCTION    an instruction of NVIDIA GPU number N:
                        cuda:0/wgmma.m64n64k16.f32.f16.f16; .select13 after a sparse
                        one stores these two of four elements, .selectmixed all in turn
  hip:N/INSTRUCTION     an instruction of AMD GPU number N: hip:0/v_mfma_f32_32x32x8_f16
  exec:COMMAND          a program that speaks the protocol of docs/protocol.md:
                        'exec:python3 unit.py'";

/// A unit cannot be opened by that name, or the model does not fit it.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum OpenError {
    /// The name means nothing; the message says what would.
    #[error("{0}")]
    Name(String),
    /// Something that the name mentions is wrong.
    #[error("{context}: {error}")]
    Within {
        /// What.
        context: String,
        /// How.
        error: Error,
    },
    /// The unit cannot be asked.
    #[error(transparent)]
    Unit(#[from] Error),
}

impl OpenError {
    /// The same with what it is about in front.
    fn within(self, context: impl Display) -> OpenError {
        match self {
            OpenError::Name(problem) => OpenError::Name(format!("{context}: {problem}")),
            OpenError::Within { context: inner, error } => {
                OpenError::Within { context: format!("{context}: {inner}"), error }
            }
            OpenError::Unit(error) => OpenError::Within { context: context.to_string(), error },
        }
    }
}

/// An error in a file or a name.
fn of<E: Into<Error>>(context: impl Display) -> impl Fn(E) -> OpenError {
    move |error| OpenError::Within { context: context.to_string(), error: error.into() }
}

/// A unit that any thread may ask.
pub type AnyUnit = Box<dyn MmaUnit + Send + Sync>;

/// The unit of that name ([`KINDS`]). `revision` is that of simulated instructions, `limits` are those of a
/// program.
pub fn open(specification: &str, revision: Revision, limits: Limits) -> Result<AnyUnit, OpenError> {
    let Some((kind, rest)) = specification.split_once(':') else {
        return Err(OpenError::Name(format!("unknown unit '{specification}'\n{KINDS}")));
    };
    match kind {
        "sim" => Ok(Box::new(simulated(rest, revision).map_err(|error| error.within(specification))?)),
        "model" => Ok(Box::new(from_model(rest)?)),
        "recording" => Ok(Box::new(recorded(rest)?)),
        "cpu" => Ok(Box::new(Cpu::open(rest)?)),
        "cuda" | "hip" => {
            let (device, instruction) = of_device(specification, rest)?;
            let unit = match kind {
                "cuda" => cuda::Device::open(device).and_then(|device| device.unit(instruction)),
                _ => hip::Device::open(device).and_then(|device| device.unit(instruction)),
            };
            in_place(unit.map_err(|error| error.of_unit(specification))?)
        }
        "exec" => Ok(Box::new(Process::open(rest, limits)?)),
        _ => Err(OpenError::Name(format!("unknown kind of unit '{kind}:'\n{KINDS}"))),
    }
}

/// `N/INSTRUCTION`.
fn of_device<'a>(specification: &str, rest: &'a str) -> Result<(usize, &'a str), OpenError> {
    let parts = rest.split_once('/').and_then(|(device, name)| Some((device.parse().ok()?, name)));
    parts.ok_or_else(|| {
        OpenError::Name(format!(
            "'{specification}' is not cuda:N/INSTRUCTION or hip:N/INSTRUCTION, as in cuda:0/HMMA.16816.F32"
        ))
    })
}

/// A GPU's unit, asked first whether every element is at its place: a wrong layout is not a wrong
/// arithmetic.
fn in_place(unit: gpu::Unit) -> Result<AnyUnit, OpenError> {
    match check_places(&unit)? {
        None => Ok(Box::new(unit)),
        Some(misplaced) => {
            Err(Error::unit(&unit.signature().name, Fault::Wrong, misplaced.to_string()).into())
        }
    }
}

/// The instruction that `ARCH/INSTRUCTION` names.
pub fn found(text: &str) -> Result<Found, OpenError> {
    let Some((architecture, instruction)) = text.split_once('/') else {
        return Err(OpenError::Name(format!(
            "'{text}' is not ARCH/INSTRUCTION, as in hopper/HMMA.16816.F32"
        )));
    };
    let architecture: Architecture = architecture.parse().map_err(Error::from)?;
    Ok(find(architecture, instruction).map_err(Error::from)?)
}

/// An instruction by the fast kernels, under its full name.
fn simulated(text: &str, revision: Revision) -> Result<FastSimulator, OpenError> {
    let found = found(text)?;
    let name = format!("{}/{}", found.instruction.architecture, found.name());
    Ok(FastSimulator::new(Simulator::found(&found, revision)?).named(name))
}

fn from_model(text: &str) -> Result<FastSimulator, OpenError> {
    let shape = text.rsplit_once('@').and_then(|(path, shape)| Some((path, sizes(shape)?)));
    let Some((path, shape)) = shape else {
        return Err(OpenError::Name(format!(
            "'model:{text}' has no shape; write model:FILE@MxNxK, each 1 to {MAX_SIZE}, as in model:mine.toml@16x8x16"
        )));
    };
    let simulator = Simulator::model(read_model(Path::new(path))?, shape).map_err(of(path))?;
    Ok(FastSimulator::new(simulator).named(format!("model:{path}")))
}

/// A model from a TOML file.
pub fn read_model(path: &Path) -> Result<Model, OpenError> {
    let text = reading::text(path, "a model file (TOML)").map_err(of(path.display()))?;
    Model::from_toml(&text).map_err(of(path.display()))
}

/// The largest M, N or K of a model's shape.
pub const MAX_SIZE: usize = 1 << 16;

/// `16x8x16`, each 1 to [`MAX_SIZE`].
fn sizes(text: &str) -> Option<(usize, usize, usize)> {
    let sizes: Vec<usize> = text.split(['x', '×']).map(|size| size.parse().ok()).collect::<Option<_>>()?;
    match sizes[..] {
        [m, n, k] if sizes.iter().all(|size| (1..=MAX_SIZE).contains(size)) => Some((m, n, k)),
        _ => None,
    }
}

fn recorded(text: &str) -> Result<Playback, OpenError> {
    let (path, wanted) = match text.rsplit_once('@') {
        Some((path, name)) if name.contains('/') && !Path::new(text).exists() => (path, Some(name)),
        _ => (text, None),
    };
    let records = recording::read(recording::open(Path::new(path)).map_err(of(path))?).map_err(of(path))?;
    Playback::new(&records, wanted).map_err(of(path))
}

/// The model that a unit is compared with: the given one, that of the instruction `against`, or that of the instruction whose name
/// the unit bears.
pub fn model_for(
    signature: &Signature,
    given: Option<Model>,
    against: Option<&str>,
    revision: Revision,
) -> Result<Model, OpenError> {
    let model = match (given, against) {
        (Some(model), _) => model,
        (None, Some(name)) => model_of(&found(name).map_err(|error| error.within("--against"))?, revision)?,
        (None, None) => model_named(&signature.name, revision)?,
    };
    check_model(&model, signature)?;
    Ok(model)
}

/// The model of the instruction whose name a unit bears.
pub fn model_named(name: &str, revision: Revision) -> Result<Model, OpenError> {
    if let Some(row) = name.strip_prefix("cpu:").and_then(processor) {
        return Ok(row.model.clone());
    }
    if let Some(path) = name.strip_prefix("model:") {
        return read_model(Path::new(path));
    }
    match found(name) {
        Ok(found) => Ok(model_of(&found, revision).map_err(|error| match error {
            Error::NoModel { instruction, architecture, reason } => {
                let reason = format!("{reason}; or --model or --against says what to hold the unit against");
                Error::NoModel { instruction, architecture, reason }
            }
            other => other,
        })?),
        Err(_) => Err(OpenError::Name(format!(
            "the unit calls itself '{name}', which is not an instruction of the catalogue; name its model with --model or \
             --against"
        ))),
    }
}

/// Whether a model takes and gives what a unit does.
pub fn check_model(model: &Model, signature: &Signature) -> Result<(), OpenError> {
    let formats = [
        ("A", signature.a, model.a),
        ("B", signature.b, model.b),
        ("C", signature.c, model.c),
        ("D", signature.d, model.d),
    ];
    if let Some((operand, unit, model)) = formats.into_iter().find(|(_, unit, model)| unit != model) {
        return Err(OpenError::Name(format!(
            "{operand} of {} is {unit}, of the model {model}",
            signature.name
        )));
    }
    let scale = |scale: Option<BlockScale>| {
        scale.map_or("none".to_owned(), |scale| format!("{} in blocks of {}", scale.format, scale.size))
    };
    if model.scale != signature.scale {
        return Err(OpenError::Name(format!(
            "scale factors of {} are {}, of the model {}",
            signature.name,
            scale(signature.scale),
            scale(model.scale)
        )));
    }
    Prepared::new(model, signature.k).map_err(Error::from)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::sizes;

    #[test]
    fn shapes() {
        assert_eq!(sizes("16x8x16"), Some((16, 8, 16)));
        assert_eq!(sizes("16×8×4"), Some((16, 8, 4)));
        for wrong in ["", "16", "16x8", "16x8x0", "16x8x65537", "16x8x4x2", "axbxc", "-1x2x3"] {
            assert_eq!(sizes(wrong), None, "{wrong}");
        }
    }
}
