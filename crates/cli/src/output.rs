//! Where results and remarks go.

use std::io::Write;

use bitmma_document::Document;
pub(crate) use bitmma_document::counted;
use bitmma_document::fold::folded;

use crate::failure::{Failure, Within};
use crate::layout;

/// Writes `text` to the standard output for people: lines that are too wide for the terminal are folded at blanks.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    match layout::width() {
        Some(width) => raw(&folded(text, width)),
        None => raw(text),
    }
}

/// Writes a result to the standard output for people.
pub(crate) fn document(document: &Document) -> Result<(), Failure> {
    raw(&document.terminal(layout::width()))
}

/// Writes help to the standard output.
pub(crate) fn help(help: &clap::Error) -> Result<(), Failure> {
    help.print().and_then(|()| std::io::stdout().flush()).within("the standard output")
}

/// Writes `text` to the standard output as it is, for programs; without its colors if that is not a terminal.
pub(crate) fn raw(text: &str) -> Result<(), Failure> {
    let mut stdout = anstream::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).within("the standard output")
}

/// Writes to the standard output what `content` writes, as it comes.
pub(crate) fn stream(content: impl FnOnce(&mut dyn Write) -> Result<(), Failure>) -> Result<(), Failure> {
    let mut stdout = std::io::BufWriter::new(std::io::stdout().lock());
    content(&mut stdout)?;
    stdout.flush().within("the standard output")
}

/// Writes a note to the standard error; a closed pipe is ignored.
pub(crate) fn note(text: &str) {
    let mut stderr = anstream::stderr().lock();
    let _ = writeln!(stderr, "note: {text}");
}

/// Writes why the command failed to the standard error; what it quotes of a file or a program does nothing to the
/// terminal.
pub(crate) fn error(failure: &Failure) {
    let mut stderr = anstream::stderr().lock();
    let harmless = |c: char| !c.is_control() || c == '\n' || c == '\t';
    let text = failure.to_string().replace(|c| !harmless(c), "\u{fffd}");
    let _ = writeln!(stderr, "{} {text}", bitmma_document::style::error("error:"));
}
