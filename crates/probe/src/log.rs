//! The log of a probe: every question with its answer, written as it is answered, read back to resume.
//!
//! A line is one question: `dot,PURPOSE,A,B,C,SCALE_A,SCALE_B,D` (codes in hex, blanks between),
//! `matrix,PURPOSE,FINGERPRINT,D` (all codes of D, `code*count` where one repeats) or
//! `validate,FAMILY,FIRST,COUNT,MISMATCHES,WHERE`. Lines that begin with `#` say what was asked.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use bitmma_engine::{Case, Signature};
use bitmma_verify::recording;

use crate::error::Error;

/// Where questions and answers go, and where answers of an earlier run come from.
#[derive(Debug)]
pub(crate) struct Log {
    file: Option<(PathBuf, File)>,
    earlier: VecDeque<(usize, String)>,
    /// The line of the earlier run that was read last, from 1.
    line: usize,
}

impl Log {
    /// A log that nobody reads.
    pub(crate) fn none() -> Log {
        Log { file: None, earlier: VecDeque::new(), line: 0 }
    }

    /// A new log under `heading`, where there are no answers yet; with `resume`, the log that is there is read first and
    /// gone on with.
    pub(crate) fn open(path: &Path, heading: &str, resume: bool) -> Result<Log, Error> {
        let failed = |source| Error::File { path: path.to_owned(), source };
        let wrong = |line, problem| Error::Log { path: path.to_owned(), line, problem };
        let mut earlier = VecDeque::new();
        // a file that was only made holds none
        if !resume && std::fs::metadata(path).is_ok_and(|file| file.len() > 0) {
            let problem = "an earlier probe's answers are here; resume that probe, or name another place";
            return Err(wrong(1, problem.to_owned()));
        }
        if path.exists() {
            let bytes = std::fs::read(path).map_err(failed)?;
            // a last line that was cut off was never answered
            let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
            let text = std::str::from_utf8(&bytes[..whole]).map_err(|error| wrong(1, error.to_string()))?;
            if !text.is_empty() {
                let Some(rest) = text.strip_prefix(heading) else {
                    let same = text.lines().zip(heading.lines()).take_while(|(one, other)| one == other);
                    let line = same.count();
                    let at = |text: &str| text.lines().nth(line).unwrap_or_default().to_owned();
                    let problem = format!(
                        "this is the log of another probe: here stands '{}', this one would have '{}'",
                        at(text),
                        at(heading)
                    );
                    return Err(wrong(line + 1, problem));
                };
                let before = heading.lines().count();
                earlier = rest
                    .lines()
                    .enumerate()
                    .map(|(line, text)| (line + before + 1, text.to_owned()))
                    .collect();
            }
            let file = OpenOptions::new().write(true).open(path).map_err(failed)?;
            file.set_len(whole as u64).map_err(failed)?;
        } else {
            File::create(path).map_err(failed)?;
        }
        let mut file = OpenOptions::new().append(true).open(path).map_err(failed)?;
        if file.metadata().map_err(failed)?.len() == 0 {
            file.write_all(heading.as_bytes()).map_err(failed)?;
        }
        Ok(Log { file: Some((path.to_owned(), file)), earlier, line: 0 })
    }

    /// The answer of an earlier run to the question that begins so: what follows it on its line.
    pub(crate) fn earlier(&mut self, question: &str) -> Result<Option<String>, Error> {
        let Some((line, text)) = self.earlier.pop_front() else { return Ok(None) };
        self.line = line;
        match text.strip_prefix(question).and_then(|rest| rest.strip_prefix(',')) {
            Some(answer) => Ok(Some(answer.to_owned())),
            None => Err(self.wrong(format!(
                "'{}' answers another question than '{}': another unit, seed or version",
                short(&text),
                short(question)
            ))),
        }
    }

    /// That the line read last makes no sense.
    pub(crate) fn wrong(&self, problem: String) -> Error {
        let path = self.file.as_ref().map_or(PathBuf::new(), |(path, _)| path.clone());
        Error::Log { path, line: self.line, problem }
    }

    /// Writes lines, at once.
    pub(crate) fn write(&mut self, lines: &str) -> Result<(), Error> {
        match &mut self.file {
            None => Ok(()),
            Some((path, file)) => {
                file.write_all(lines.as_bytes()).map_err(|source| Error::File { path: path.clone(), source })
            }
        }
    }
}

/// The beginning of a long line.
pub(crate) fn short(text: &str) -> String {
    match text.char_indices().nth(60) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// A dot product as the log has it.
pub(crate) fn dot_question(signature: &Signature, purpose: &str, case: &Case) -> String {
    format!("dot,{purpose},{}", recording::fields(signature, case))
}

/// Codes in hex, runs of one code as `code*count`.
pub(crate) fn runs(codes: &[u64], digits: usize) -> String {
    let runs = codes.chunk_by(|one, next| one == next).map(|run| match run.len() {
        1 => format!("{:0digits$x}", run[0]),
        count => format!("{:0digits$x}*{count}", run[0]),
    });
    runs.collect::<Vec<_>>().join(" ")
}

/// What [`runs`] wrote.
pub(crate) fn from_runs(text: &str) -> Option<Vec<u64>> {
    let mut codes = Vec::new();
    for run in text.split_ascii_whitespace() {
        let (code, count) = run.split_once('*').unwrap_or((run, "1"));
        let count: usize = count.parse().ok().filter(|&count| count <= 1 << 24)?;
        codes.extend(std::iter::repeat_n(u64::from_str_radix(code, 16).ok()?, count));
    }
    Some(codes)
}
