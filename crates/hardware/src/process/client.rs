//! A program as a unit: our side of the protocol.

use std::process::ExitStatus;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bitmma_engine::{About, Error, Fault, Matrix, MmaUnit, Operands, Signature};

use super::connection::{Connection, Stop};
use super::frame::{ANSWER, HEADER, Header, Layout, MAX_WORDS, REFUSAL};
use super::hello::{Hello, MAX_LINE};

/// How long a program may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// From its start to the end of its first line.
    pub start: Duration,
    /// From a batch to the end of its answer.
    pub batch: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { start: Duration::from_secs(30), batch: Duration::from_secs(120) }
    }
}

/// Bytes of operands that go out in one frame, about.
const FRAME: usize = 1 << 21;
/// Bytes of one instruction at most, operands or answer.
const MAX_INSTRUCTION: usize = 1 << 28;

/// A program that speaks the protocol. After the first error that leaves it in doubt where frames begin
/// it is ended, and every later call gives that error again.
#[derive(Debug)]
pub struct Process {
    command: String,
    signature: Signature,
    about: About,
    limits: Limits,
    layout: Layout,
    /// Instructions in one frame at most.
    batch: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    connection: Connection,
    /// Of the next request.
    sequence: u32,
    /// Why it was ended.
    broken: Option<(Fault, String)>,
}

impl Process {
    /// Starts the program, its name and arguments in `words`, and reads what it says it is.
    pub fn start(words: &[String], limits: Limits) -> Result<Process, Error> {
        let command = words.join(" ");
        let error = |fault, problem: String| Error::unit(&command, fault, problem);
        if words.is_empty() {
            return Err(Error::unit("exec:", Fault::Unavailable, "no program is named"));
        }
        let mut connection =
            Connection::start(words).map_err(|cause| error(Fault::Unavailable, format!("{cause}")))?;
        let said = match connection.line(MAX_LINE, Instant::now() + limits.start) {
            Ok(line) => Hello::read(&line).map_err(|problem| (Fault::Wrong, problem)),
            Err((_, None)) => Err((Fault::Wrong, format!("its first line has more than {MAX_LINE} bytes"))),
            Err((came, Some(Stop::Late))) => Err((
                Fault::Hung,
                format!("no first line within {}; {} bytes came", seconds(limits.start), came.len()),
            )),
            Err((came, Some(Stop::Ended))) => {
                let end = end(connection.ended());
                Err((Fault::Died, format!("{end} before its first line; {} bytes came", came.len())))
            }
        };
        let said = said.and_then(|said| {
            let layout = Layout::of(&said.signature);
            let largest = layout.request().max(layout.answer());
            if largest <= MAX_INSTRUCTION {
                return Ok((said, layout));
            }
            Err((
                Fault::Wrong,
                format!("one instruction takes {largest} bytes; {MAX_INSTRUCTION} are allowed"),
            ))
        });
        match said {
            Ok((said, layout)) => {
                let batch = (FRAME / layout.request().max(layout.answer())).clamp(1, said.max_batch);
                Ok(Process {
                    command,
                    signature: said.signature,
                    about: said.about,
                    limits,
                    layout,
                    batch,
                    state: Mutex::new(State { connection, sequence: 0, broken: None }),
                })
            }
            Err((fault, problem)) => {
                connection.kill();
                Err(error(fault, with_last_words(problem, &connection)))
            }
        }
    }

    /// The same, the command in one line with quotes as a shell reads them.
    pub fn open(command: &str, limits: Limits) -> Result<Process, Error> {
        match shlex::split(command) {
            Some(words) => Process::start(&words, limits),
            None => {
                let problem = "a quote in the command does not end";
                Err(Error::unit(format!("exec:{command}"), Fault::Unavailable, problem))
            }
        }
    }

    /// One frame there, one back.
    fn exchange(&self, state: &mut State, batch: &[Operands<'_>]) -> Result<Vec<Matrix>, Error> {
        if let Some((fault, problem)) = &state.broken {
            return Err(Error::unit(&self.command, *fault, problem.clone()));
        }
        let sequence = state.sequence;
        state.sequence = sequence.wrapping_add(1);
        state.connection.send(self.layout.write_request(sequence, batch));
        match self.answer(&mut state.connection, sequence, batch.len()) {
            Ok(d) => Ok(d),
            Err((Fault::Refused, problem)) => Err(Error::unit(&self.command, Fault::Refused, problem)),
            Err((fault, problem)) => {
                state.connection.kill();
                let problem = with_last_words(problem, &state.connection);
                state.broken = Some((fault, problem.clone()));
                Err(Error::unit(&self.command, fault, problem))
            }
        }
    }

    fn answer(
        &self,
        connection: &mut Connection,
        sequence: u32,
        count: usize,
    ) -> Result<Vec<Matrix>, (Fault, String)> {
        let deadline = Instant::now() + self.limits.batch;
        let expected = count * self.layout.answer();
        let stopped = |connection: &mut Connection, stop, head: usize| {
            let came = head + connection.pending();
            let what = format!(
                "batch {sequence} of {count} instructions: {came} of {} bytes came",
                HEADER + expected
            );
            match stop {
                Stop::Late => (Fault::Hung, format!("{what} within {}", seconds(self.limits.batch))),
                Stop::Ended => {
                    let fault = if came > 0 { Fault::Short } else { Fault::Died };
                    (fault, format!("{what}, then {}", end(connection.ended())))
                }
            }
        };
        connection.fill(HEADER, deadline).map_err(|stop| stopped(connection, stop, 0))?;
        let head = connection.take(HEADER);
        let mut bytes = [0; HEADER];
        bytes.copy_from_slice(&head);
        let header = Header::from_bytes(&bytes);
        let wrong = |problem| Err((Fault::Wrong, format!("batch {sequence}: {problem}")));
        if header.magic != ANSWER && header.magic != REFUSAL {
            return wrong(format!("the frame begins {:02x?}, not MMAD or MMAE", header.magic));
        }
        if header.sequence != sequence {
            return wrong(format!("the frame answers batch {}", header.sequence));
        }
        let length = header.length as usize;
        if header.magic == REFUSAL {
            if length > MAX_WORDS {
                return wrong(format!("a refusal of {length} bytes; {MAX_WORDS} are allowed"));
            }
            connection.fill(length, deadline).map_err(|stop| stopped(connection, stop, HEADER))?;
            let words = connection.take(length);
            return Err((Fault::Refused, String::from_utf8_lossy(&words).trim().to_owned()));
        }
        if header.count as usize != count {
            return wrong(format!("the frame has {} instructions, {count} were asked", header.count));
        }
        if length != expected {
            let fault = if length < expected { Fault::Short } else { Fault::Wrong };
            let d = self.layout.answer();
            let problem = format!(
                "batch {sequence}: the frame has {length} bytes; {count} instructions of {d} bytes are {expected}"
            );
            return Err((fault, problem));
        }
        connection.fill(expected, deadline).map_err(|stop| stopped(connection, stop, HEADER))?;
        let bytes = connection.take(expected);
        if connection.pending() > 0 {
            return wrong(format!("{} bytes more than the frame has", connection.pending()));
        }
        self.layout.d.read(&bytes).map_err(|error| (Fault::Wrong, format!("batch {sequence}: D: {error}")))
    }
}

impl MmaUnit for Process {
    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn about(&self) -> About {
        self.about.clone()
    }

    fn multiply(&self, operands: &Operands<'_>) -> Result<Matrix, Error> {
        let mut answers = self.multiply_many(std::slice::from_ref(operands))?;
        answers.pop().ok_or_else(|| Error::unit(&self.command, Fault::Short, "no D came".to_owned()))
    }

    fn multiply_many(&self, batch: &[Operands<'_>]) -> Result<Vec<Matrix>, Error> {
        batch.iter().try_for_each(|operands| self.signature.check(operands))?;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut answers = Vec::with_capacity(batch.len());
        for chunk in batch.chunks(self.batch) {
            answers.extend(self.exchange(&mut state, chunk)?);
        }
        Ok(answers)
    }
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_millis() as f64 / 1000.0)
}

fn end(status: Option<ExitStatus>) -> String {
    status.map_or("it closed its output".to_owned(), |status| format!("it ended ({status})"))
}

fn with_last_words(problem: String, connection: &Connection) -> String {
    match connection.last_words() {
        words if words.is_empty() => problem,
        words => format!("{problem}; its standard error ends:\n{words}"),
    }
}
