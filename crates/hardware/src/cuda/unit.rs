//! An instruction of a GPU as a unit.

use std::path::Path;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bitmma::catalogue::{Instruction, find, of};
use bitmma::{Architecture, Matrix, MmaUnit, Operands, Signature};
use rayon::prelude::*;

use super::driver::{Context, Driver, Memory, Module};
use super::error::Error;
use super::fragment::Majors;
use super::ptx::{self, Kernel};
use crate::image::TileLayout;

/// Bytes of tiles that travel in one launch, at most; one tile always travels.
const BATCH_BYTES: usize = 64 << 20;
/// How long a launch may take unless told otherwise.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// A GPU.
pub struct Device {
    driver: Arc<Driver>,
    handle: i32,
    /// Its name, as the driver gives it.
    pub name: String,
    /// Its architecture.
    pub architecture: Architecture,
    /// The CUDA version the driver speaks: 1000 · major + 10 · minor.
    pub driver_version: i32,
}

impl Device {
    /// Device `device` of the installed driver.
    pub fn open(device: usize) -> Result<Device, Error> {
        Device::of(Driver::open(None)?, device)
    }

    /// Device `device` of the driver in that file.
    pub fn open_with(library: &Path, device: usize) -> Result<Device, Error> {
        Device::of(Driver::open(Some(library))?, device)
    }

    fn of(driver: Arc<Driver>, device: usize) -> Result<Device, Error> {
        let (handle, name, [major, minor]) = driver.device(device)?;
        let Ok(architecture) = Architecture::from_str(&format!("sm_{major}{minor}")) else {
            return Err(Error::Capability { name, major, minor });
        };
        Ok(Device { handle, name, architecture, driver_version: driver.version()?, driver })
    }

    /// The instructions of the catalogue that it can be asked for, native ones and those that the driver's compiler
    /// composes; [`Instruction::is_native`] tells them apart.
    pub fn instructions(&self) -> impl Iterator<Item = &'static Instruction> {
        of(self.architecture).filter(|row| ptx::has_kernel(row))
    }

    /// The unit of an instruction, by any spelling the catalogue knows.
    pub fn unit(&self, instruction: &str) -> Result<Unit, Error> {
        let found = find(self.architecture, instruction)?;
        let kernel = ptx::kernel(&found, Majors::of(instruction))?;
        let signature = ptx::signature(&found);
        let text = ptx::module(self.architecture, [&kernel]);
        let context = Context::retain(Arc::clone(&self.driver), self.handle)?;
        context.enter()?;
        let module = context.load(&signature.name, &kernel.name, &text)?;
        let Kernel { threads, layout, .. } = kernel;
        let device =
            format!("{}, CUDA {}.{}", self.name, self.driver_version / 1000, self.driver_version % 1000 / 10);
        let held = Held { memory: None, module, context };
        Ok(Unit {
            signature,
            layout,
            threads,
            device,
            architecture: self.architecture,
            limit: TIME_LIMIT,
            held: Mutex::new(Some(held)),
        })
    }
}

/// What a unit holds on the device, in the order in which it is let go.
struct Held {
    memory: Option<[Memory; 2]>,
    module: Module,
    context: Context,
}

/// One instruction of one GPU.
pub struct Unit {
    signature: Signature,
    layout: TileLayout,
    threads: u32,
    device: String,
    architecture: Architecture,
    limit: Duration,
    /// Nothing once the device was given up: a driver that waits for a kernel that does not end must not be
    /// asked to free what that kernel uses.
    held: Mutex<Option<Held>>,
}

impl Unit {
    /// The device and its driver, in words.
    pub fn device(&self) -> &str {
        &self.device
    }

    /// The architecture.
    pub fn architecture(&self) -> Architecture {
        self.architecture
    }

    /// The same unit with another limit to the time of one launch.
    pub fn with_time_limit(mut self, limit: Duration) -> Unit {
        self.limit = limit;
        self
    }

    /// D of tiles packed one after the other.
    fn exchange(&self, tiles: usize, input: &[u32]) -> Result<Vec<u32>, Error> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let name = || self.signature.name.clone();
        let Some(inner) = held.as_mut() else {
            return Err(Error::GivenUp { instruction: name() });
        };
        inner.context.enter()?;
        let mut output = vec![0; tiles * self.layout.output_words()];
        let Held { memory, module, context } = inner;
        let [to, from] = reserve(memory, context, size_of_val(input), size_of_val(output.as_slice()))?;
        to.write(input)?;
        module.launch(tiles as u32, self.threads, to, from)?;
        match wait(context, self.limit) {
            Ok(true) => from.read(&mut output).map(|()| output),
            Ok(false) => {
                std::mem::forget(held.take());
                Err(Error::TimedOut { instruction: name(), limit: self.limit })
            }
            Err(error) => Err(error),
        }
    }
}

/// Memory for what goes in and what comes out, kept from one launch to the next.
fn reserve<'m>(
    memory: &'m mut Option<[Memory; 2]>,
    context: &Context,
    input: usize,
    output: usize,
) -> Result<&'m [Memory; 2], Error> {
    let fits = |memory: &[Memory; 2]| memory[0].bytes() >= input && memory[1].bytes() >= output;
    if !memory.as_ref().is_some_and(fits) {
        *memory = None; // freed before its successor is asked for
        *memory = Some([context.allocate(input)?, context.allocate(output)?]);
    }
    Ok(memory.as_ref().expect("just allocated"))
}

/// Whether the work ends within the limit.
fn wait(context: &Context, limit: Duration) -> Result<bool, Error> {
    let start = Instant::now();
    let mut pause = Duration::from_micros(10);
    while !context.is_done()? {
        if start.elapsed() >= limit {
            return Ok(false);
        }
        std::thread::sleep(pause);
        pause = (2 * pause).min(Duration::from_millis(5));
    }
    Ok(true)
}

impl Drop for Unit {
    fn drop(&mut self) {
        let held = self.held.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = held.take() {
            // what cannot be entered cannot be freed in it either
            if held.context.enter().is_err() {
                std::mem::forget(held);
            }
        }
    }
}

impl MmaUnit for Unit {
    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn multiply(&self, operands: &Operands<'_>) -> Result<Matrix, bitmma::Error> {
        let mut answers = self.multiply_many(std::slice::from_ref(operands))?;
        Ok(answers.pop().expect("one answer for one question"))
    }

    fn multiply_many(&self, batch: &[Operands<'_>]) -> Result<Vec<Matrix>, bitmma::Error> {
        batch.iter().try_for_each(|operands| self.signature.check(operands))?;
        let (words, answered) = (self.layout.input_words(), self.layout.output_words());
        let at_once = (BATCH_BYTES / (4 * words.max(answered))).max(1);
        let mut answers = Vec::with_capacity(batch.len());
        for chunk in batch.chunks(at_once) {
            let mut input = vec![0u32; chunk.len() * words];
            input
                .par_chunks_exact_mut(words)
                .zip(chunk)
                .for_each(|(tile, operands)| self.layout.pack(operands, tile));
            let output = self.exchange(chunk.len(), &input)?;
            let read: Result<Vec<Matrix>, _> =
                output.par_chunks_exact(answered).map(|tile| self.layout.unpack(tile)).collect();
            answers.extend(read?);
        }
        Ok(answers)
    }
}
