//! A running peer: bytes to it, bytes from it within a time, its last words, its end.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Of its standard error, the last bytes are kept.
const LAST_WORDS: usize = 2048;
/// How long a peer has to end by itself once its input is closed.
const FAREWELL: Duration = Duration::from_millis(500);

/// A running peer. Three threads carry its three streams, so that no full pipe can stop us; whatever it
/// does, it is ended and reaped when the connection is dropped.
#[derive(Debug)]
pub(super) struct Connection {
    child: Child,
    /// To its standard input; gone once that is closed.
    input: Option<Sender<Vec<u8>>>,
    output: Receiver<Vec<u8>>,
    /// Bytes that came and were not asked for yet.
    pending: VecDeque<u8>,
    last_words: Arc<Mutex<Vec<u8>>>,
    /// Hangs up when its standard error ends.
    silence: Receiver<()>,
    reaped: Option<ExitStatus>,
}

/// Why bytes did not come.
#[derive(Debug)]
pub(super) enum Stop {
    /// The time was over.
    Late,
    /// Its output ended.
    Ended,
}

impl Connection {
    /// Starts the program.
    pub(super) fn start(words: &[String]) -> io::Result<Connection> {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0); // it ends with its children
        let mut child = command.spawn()?;
        let (input, requests) = mpsc::channel::<Vec<u8>>();
        let (arrived, output) = mpsc::sync_channel(64);
        let (loud, silence) = mpsc::channel();
        let last_words = Arc::new(Mutex::new(Vec::new()));
        if let Some(mut stdin) = child.stdin.take() {
            thread::spawn(move || {
                for bytes in requests {
                    if stdin.write_all(&bytes).and_then(|()| stdin.flush()).is_err() {
                        return; // it reads no more: its output tells why
                    }
                }
            });
        }
        if let Some(stdout) = child.stdout.take() {
            thread::spawn(move || carry(stdout, &arrived));
        }
        if let Some(stderr) = child.stderr.take() {
            let kept = Arc::clone(&last_words);
            thread::spawn(move || listen(stderr, &kept, loud));
        }
        Ok(Connection {
            child,
            input: Some(input),
            output,
            pending: VecDeque::new(),
            last_words,
            silence,
            reaped: None,
        })
    }

    /// Bytes for it to read; they go out while we wait for its answer.
    pub(super) fn send(&self, bytes: Vec<u8>) {
        if let Some(input) = &self.input {
            let _ = input.send(bytes); // it reads no more: its output tells why
        }
    }

    /// Waits until `wanted` bytes are there.
    pub(super) fn fill(&mut self, wanted: usize, deadline: Instant) -> Result<(), Stop> {
        while self.pending.len() < wanted {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok(bytes) => self.pending.extend(bytes),
                Err(RecvTimeoutError::Timeout) => return Err(Stop::Late),
                Err(RecvTimeoutError::Disconnected) => return Err(Stop::Ended),
            }
        }
        Ok(())
    }

    /// Bytes that came and were not taken yet.
    pub(super) fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Takes bytes that are there.
    pub(super) fn take(&mut self, count: usize) -> Vec<u8> {
        self.pending.drain(..count.min(self.pending.len())).collect()
    }

    /// Waits for a line of at most `limit` bytes; the line without its end, or what came of it.
    pub(super) fn line(
        &mut self,
        limit: usize,
        deadline: Instant,
    ) -> Result<Vec<u8>, (Vec<u8>, Option<Stop>)> {
        let mut seen = 0;
        loop {
            let end = self.pending.iter().skip(seen).position(|byte| *byte == b'\n');
            if let Some(end) = end.map(|end| seen + end).filter(|end| *end <= limit) {
                let mut line = self.take(end + 1);
                line.pop();
                return Ok(line);
            }
            seen = self.pending.len();
            if seen > limit {
                return Err((self.take(limit), None));
            }
            if let Err(stop) = self.fill(seen + 1, deadline) {
                return Err((self.take(seen), Some(stop)));
            }
        }
    }

    /// How it ended, if it has ended or does so in a moment.
    pub(super) fn ended(&mut self) -> Option<ExitStatus> {
        self.wait(Duration::from_millis(200))
    }

    fn wait(&mut self, patience: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + patience;
        loop {
            if self.reaped.is_some() {
                return self.reaped;
            }
            match self.child.try_wait() {
                Ok(Some(status)) => self.reaped = Some(status),
                Ok(None) if Instant::now() < deadline => thread::sleep(Duration::from_millis(5)),
                _ => return None,
            }
        }
    }

    /// Ends it, with its children, and waits until it is gone.
    pub(super) fn kill(&mut self) {
        self.input = None;
        if self.reaped.is_some() {
            return; // its number may be another's by now
        }
        #[cfg(unix)]
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.child.kill();
        self.reaped = self.child.wait().ok();
    }

    /// The end of what it wrote to its standard error, after it ended.
    pub(super) fn last_words(&self) -> String {
        let _ = self.silence.recv_timeout(Duration::from_millis(200)); // hangs up when all is read
        let kept = self.last_words.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept).trim().to_owned()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.input = None;
        self.wait(FAREWELL);
        self.kill();
    }
}

fn carry(mut stdout: impl Read, arrived: &SyncSender<Vec<u8>>) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(count @ 1..) = stdout.read(&mut buffer) {
        if arrived.send(buffer[..count].to_vec()).is_err() {
            return; // nobody asks any more
        }
    }
}

#[allow(clippy::needless_pass_by_value)] // that the sender is dropped is its message
fn listen(mut stderr: impl Read, kept: &Mutex<Vec<u8>>, _loud: Sender<()>) {
    let mut buffer = [0; 1024];
    while let Ok(count @ 1..) = stderr.read(&mut buffer) {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(&buffer[..count]);
        let surplus = kept.len().saturating_sub(LAST_WORDS);
        kept.drain(..surplus);
    }
}
