//! Words to a kernel and back.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::driver::Loaded;
use super::error::Error;

/// How long a launch may take unless told otherwise.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// Memory and its size in bytes.
type Memory = (u64, usize);

/// What is held on the device.
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

/// A kernel that turns tiles of words into others.
pub(crate) struct Exchange {
    limit: Duration,
    /// Nothing once the device was given up: a driver that waits for a kernel that does not end must not be
    /// asked to free what that kernel uses.
    held: Mutex<Option<Held>>,
}

impl Exchange {
    pub(crate) fn new(program: Loaded) -> Exchange {
        Exchange { limit: TIME_LIMIT, held: Mutex::new(Some(Held { program, memory: None })) }
    }

    /// The same with another limit to the time of one launch.
    pub(crate) fn with_time_limit(self, limit: Duration) -> Exchange {
        Exchange { limit, ..self }
    }

    /// What comes out of tiles that are packed one after the other, `words` words for each.
    pub(crate) fn run(&self, tiles: usize, input: &[u32], words: usize) -> Result<Vec<u32>, Error> {
        let mut guard = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(held) = guard.as_mut() else {
            return Err(Error::GivenUp);
        };
        held.program.enter()?;
        let mut output = vec![0; tiles * words];
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
