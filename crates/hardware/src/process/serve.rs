//! The unit's side of the protocol, for units of ours.

use std::io::{self, Read, Write};

use bitmma_engine::{Error, Fault, MmaUnit, Operands};

use super::frame::{ANSWER, HEADER, Header, Layout, MAX_WORDS, REFUSAL, REQUEST, put};
use super::hello::Hello;

/// Answers for `unit` until `input` ends; how many batches were answered. A batch that the unit cannot
/// answer is refused with a message; a malformed frame ends it with an error.
pub fn serve(unit: &dyn MmaUnit, input: impl Read, output: impl Write) -> Result<u64, Error> {
    let (mut input, mut output) = (io::BufReader::new(input), io::BufWriter::new(output));
    let signature = unit.signature();
    let layout = Layout::of(signature);
    let hello = serde_json::to_string(&Hello::of(signature, unit.about())).map_err(io::Error::from)?;
    writeln!(output, "{hello}")?;
    output.flush()?;
    let mut answered = 0;
    while let Some(header) = header(&mut input)? {
        let count = header.count as usize;
        let expected = count.checked_mul(layout.request());
        if header.magic != REQUEST || expected != Some(header.length as usize) {
            let problem = format!(
                "a frame begins {:02x?} and has {count} instructions in {} bytes; MMAQ and {} bytes for each were expected",
                header.magic,
                header.length,
                layout.request()
            );
            refuse(&mut output, header, &problem)?;
            return Err(Error::Unit { unit: "the client".to_owned(), fault: Fault::Wrong, problem });
        }
        let mut bytes = Vec::new();
        let came = input.by_ref().take(u64::from(header.length)).read_to_end(&mut bytes)?;
        if came < header.length as usize {
            let problem = format!("{came} of {} bytes came", header.length);
            return Err(Error::Unit { unit: "the client".to_owned(), fault: Fault::Short, problem });
        }
        match answer(unit, &layout, count, &bytes) {
            Ok(d) => {
                let head = Header { magic: ANSWER, length: d.len() as u32, ..header };
                output.write_all(&head.to_bytes())?;
                output.write_all(&d)?;
                answered += 1;
            }
            Err(error) => refuse(&mut output, header, &error.to_string())?,
        }
        output.flush()?;
    }
    Ok(answered)
}

/// The next header; `None` where the input ends before it.
fn header(input: &mut impl Read) -> Result<Option<Header>, Error> {
    let mut bytes = Vec::with_capacity(HEADER);
    input.by_ref().take(HEADER as u64).read_to_end(&mut bytes)?;
    match <&[u8; HEADER]>::try_from(bytes.as_slice()) {
        Ok(bytes) => Ok(Some(Header::from_bytes(bytes))),
        Err(_) if bytes.is_empty() => Ok(None),
        Err(_) => {
            let problem = format!("{} of {HEADER} bytes of a header came", bytes.len());
            Err(Error::Unit { unit: "the client".to_owned(), fault: Fault::Short, problem })
        }
    }
}

fn answer(unit: &dyn MmaUnit, layout: &Layout, count: usize, bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let parts = layout.read_request(count, bytes)?;
    let part = |index: usize, at: usize| parts.get(index).map(|matrices| &matrices[at]);
    let batch: Vec<Operands<'_>> = (0..count)
        .map(|at| Operands {
            a: &parts[0][at],
            b: &parts[1][at],
            c: Some(&parts[2][at]),
            scale_a: part(3, at),
            scale_b: part(4, at),
        })
        .collect();
    let mut bytes = Vec::with_capacity(count * layout.answer());
    unit.multiply_many(&batch)?.iter().for_each(|d| put(&mut bytes, d));
    Ok(bytes)
}

fn refuse(output: &mut impl Write, header: Header, words: &str) -> Result<(), Error> {
    let words = &words.as_bytes()[..words.len().min(MAX_WORDS)];
    let head = Header { magic: REFUSAL, length: words.len() as u32, ..header };
    output.write_all(&head.to_bytes())?;
    output.write_all(words)?;
    output.flush()?;
    Ok(())
}
