//! An instruction of a GPU as a unit, for either vendor.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bitmma::{About, Matrix, MmaUnit, Operands, Signature};
use rayon::prelude::*;

use super::driver::Loaded;
use super::error::Error;
use super::image::TileLayout;

/// Bytes of tiles that travel in one launch, at most; one tile always travels.
const BATCH_BYTES: usize = 64 << 20;
/// How long a launch may take unless told otherwise.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// Memory and its size in bytes.
type Memory = (u64, usize);

/// What a unit holds on the device.
struct Held {
    program: Loaded,
    /// Tiles that go in, tiles that come out; kept from one launch to the next.
    memory: Option<[Memory; 2]>,
}

impl Held {
    fn release(&mut self) {
        for (address, _) in self.memory.take().into_iter().flatten() {
            self.program.free(address);
        }
    }

    /// Addresses of memory for that many bytes in and out.
    fn reserve(&mut self, input: usize, output: usize) -> Result<[u64; 2], Error> {
        if let Some([(from, first), (to, second)]) = self.memory
            && first >= input
            && second >= output
        {
            return Ok([from, to]);
        }
        self.release();
        let from = self.program.allocate(input)?;
        let to = self.program.allocate(output).inspect_err(|_| self.program.free(from))?;
        self.memory = Some([(from, input), (to, output)]);
        Ok([from, to])
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // what cannot be entered cannot be freed in it either
        if self.program.enter().is_ok() {
            self.release();
        }
    }
}

/// One instruction of one GPU.
pub struct Unit {
    signature: Signature,
    layout: TileLayout,
    about: About,
    limit: Duration,
    /// Nothing once the device was given up: a driver that waits for a kernel that does not end must not be
    /// asked to free what that kernel uses.
    held: Mutex<Option<Held>>,
}

impl Unit {
    pub(crate) fn new(signature: Signature, layout: TileLayout, about: About, program: Loaded) -> Unit {
        let held = Mutex::new(Some(Held { program, memory: None }));
        Unit { signature, layout, about, limit: TIME_LIMIT, held }
    }

    /// The same unit with another limit to the time of one launch.
    pub fn with_time_limit(mut self, limit: Duration) -> Unit {
        self.limit = limit;
        self
    }

    /// D of tiles packed one after the other.
    fn exchange(&self, tiles: usize, input: &[u32]) -> Result<Vec<u32>, Error> {
        let mut guard = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(held) = guard.as_mut() else {
            return Err(Error::GivenUp);
        };
        held.program.enter()?;
        let mut output = vec![0; tiles * self.layout.output_words()];
        let [from, to] = held.reserve(size_of_val(input), size_of_val(output.as_slice()))?;
        held.program.write(from, input)?;
        held.program.launch(tiles as u32, from, to)?;
        if wait(&held.program, self.limit)? {
            held.program.read(to, &mut output)?;
            return Ok(output);
        }
        std::mem::forget(guard.take());
        Err(Error::TimedOut { limit: self.limit })
    }
}

/// Whether the work ends within the limit.
fn wait(program: &Loaded, limit: Duration) -> Result<bool, Error> {
    let start = Instant::now();
    let mut pause = Duration::from_micros(10);
    while !program.is_done()? {
        if start.elapsed() >= limit {
            return Ok(false);
        }
        std::thread::sleep(pause);
        pause = (2 * pause).min(Duration::from_millis(5));
    }
    Ok(true)
}

impl MmaUnit for Unit {
    /// Its name is `ARCH/INSTRUCTION`, by which the catalogue has its model.
    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn about(&self) -> About {
        self.about.clone()
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
            let output =
                self.exchange(chunk.len(), &input).map_err(|error| error.of_unit(&self.signature.name))?;
            let read: Result<Vec<Matrix>, _> =
                output.par_chunks_exact(answered).map(|tile| self.layout.unpack(tile)).collect();
            answers.extend(read?);
        }
        Ok(answers)
    }
}
