//! Units by name: `sim:`, `model:`, `recording:`, `cpu:`, `cuda:`, `hip:`, `exec:`.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use bitmma::catalogue::find;
use bitmma::playback::Playback;
use bitmma::{Architecture, FastSimulator, MmaUnit, Revision, Simulator, recording};
use bitmma_hardware::cpu::Cpu;
use bitmma_hardware::gpu::check_places;
use bitmma_hardware::process::{Limits, Process};
use bitmma_hardware::{cuda, hip};

use crate::failure::{Failure, Within};
use crate::target::read_model;

/// What a unit may be, for the help of every command that takes one.
pub(crate) const KINDS: &str = "\
Units:
  sim:ARCH/INSTRUCTION    an instruction, simulated: sim:hopper/mma.m16n8k16.f32.f16.f16.f32
  model:FILE@MxNxK        a model from a TOML file as an instruction of that shape: model:mine.toml@16x8x16
  recording:FILE          what a recording holds; recording:FILE@ARCH/INSTRUCTION where it holds several
  cpu:NAME                an instruction of this processor: cpu:fma.f32, cpu:fma.f64, cpu:vdpbf16ps
  cuda:N/INSTRUCTION      an instruction of NVIDIA GPU number N: cuda:0/wgmma.m64n64k16.f32.f16.f16
  hip:N/INSTRUCTION       an instruction of AMD GPU number N: hip:0/v_mfma_f32_32x32x8_f16
  exec:COMMAND            a program that speaks the protocol of docs/protocol.md: 'exec:python3 unit.py'";

/// How long a unit outside of this process may take.
#[derive(Clone, Copy, Debug, clap::Args)]
#[group(skip)]
pub(crate) struct LimitArguments {
    /// Seconds that exec: gives its program until it has said what it is
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    start_limit: Duration,
    /// Seconds that exec: gives its program for each batch
    #[arg(long, value_name = "SECONDS", default_value = "120", value_parser = seconds)]
    batch_limit: Duration,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "a number of seconds is expected".to_owned())?;
    if !(0.001..=1e9).contains(&seconds) {
        return Err("it may be 0.001 to 1000000000".to_owned());
    }
    Ok(Duration::from_secs_f64(seconds))
}

impl LimitArguments {
    fn limits(self) -> Limits {
        Limits { start: self.start_limit, batch: self.batch_limit }
    }

    /// The unit of that name, within these limits.
    pub(crate) fn open(self, specification: &str, revision: Revision) -> Result<Box<dyn MmaUnit>, Failure> {
        open_within(specification, revision, self.limits())
    }
}

fn open_within(specification: &str, revision: Revision, limits: Limits) -> Result<Box<dyn MmaUnit>, Failure> {
    let Some((kind, rest)) = specification.split_once(':') else {
        return Err(Failure::new(format!("'{specification}' names no unit\n{KINDS}")));
    };
    match kind {
        "sim" => Ok(Box::new(simulated(rest, revision).within(specification)?)),
        "model" => Ok(Box::new(from_model(rest)?)),
        "recording" => Ok(Box::new(recorded(rest)?)),
        "cpu" => Ok(Box::new(Cpu::open(rest)?)),
        "cuda" => {
            let (device, instruction) = of_device(specification, rest)?;
            in_place(cuda::open(device, instruction).map_err(|error| error.of_unit(specification))?)
        }
        "hip" => {
            let (device, instruction) = of_device(specification, rest)?;
            in_place(hip::open(device, instruction).map_err(|error| error.of_unit(specification))?)
        }
        "exec" => Ok(Box::new(Process::open(rest, limits)?)),
        _ => Err(Failure::new(format!("'{kind}:' is no kind of unit\n{KINDS}"))),
    }
}

/// `N/INSTRUCTION`.
fn of_device<'a>(specification: &str, rest: &'a str) -> Result<(usize, &'a str), Failure> {
    let parts = rest.split_once('/').and_then(|(device, name)| Some((device.parse().ok()?, name)));
    parts.ok_or_else(|| {
        Failure::new(format!("'{specification}' names no instruction of a GPU, as in cuda:0/HMMA.16816.F32"))
    })
}

/// A GPU's unit, asked first whether every element stands where we think: a wrong layout is no wrong
/// arithmetic.
fn in_place(unit: bitmma_hardware::gpu::Unit) -> Result<Box<dyn MmaUnit>, Failure> {
    match check_places(&unit)? {
        None => Ok(Box::new(unit)),
        Some(misplaced) => Err(Failure::new(format!("{}: {misplaced}", unit.signature().name))),
    }
}

/// `ARCH/INSTRUCTION`.
pub(crate) fn found(text: &str) -> Result<bitmma::catalogue::Found, Failure> {
    let Some((architecture, instruction)) = text.split_once('/') else {
        return Err(Failure::new(format!("'{text}' is no ARCH/INSTRUCTION, as in hopper/HMMA.16816.F32")));
    };
    let architecture: Architecture = architecture.parse()?;
    Ok(find(architecture, instruction)?)
}

/// An instruction by the fast kernels, under its full name.
pub(crate) fn simulated(text: &str, revision: Revision) -> Result<FastSimulator, Failure> {
    let found = found(text)?;
    let name = format!("{}/{}", found.instruction.architecture, found.name());
    Ok(FastSimulator::new(Simulator::found(&found, revision)?).named(name))
}

fn from_model(text: &str) -> Result<FastSimulator, Failure> {
    let shape = text.rsplit_once('@').and_then(|(path, shape)| Some((path, sizes(shape)?)));
    let Some((path, shape)) = shape else {
        return Err(Failure::new(format!(
            "'model:{text}' says no shape; write model:FILE@MxNxK, as in model:mine.toml@16x8x16"
        )));
    };
    let model = read_model(Path::new(path))?;
    Ok(FastSimulator::new(Simulator::model(model, shape).within(path)?).named(format!("model:{path}")))
}

/// `16x8x16`, each 1 to 65536.
fn sizes(text: &str) -> Option<(usize, usize, usize)> {
    let sizes: Vec<usize> = text.split(['x', '×']).map(|size| size.parse().ok()).collect::<Option<_>>()?;
    match sizes[..] {
        [m, n, k] if sizes.iter().all(|size| (1..=1 << 16).contains(size)) => Some((m, n, k)),
        _ => None,
    }
}

fn recorded(text: &str) -> Result<Playback, Failure> {
    let (path, wanted) = match text.rsplit_once('@') {
        Some((path, name)) if name.contains('/') && !Path::new(text).exists() => (path, Some(found(name)?)),
        _ => (text, None),
    };
    let records = recording::read(File::open(path).within(path)?).within(path)?;
    Playback::new(&records, wanted.as_ref()).within(path)
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
