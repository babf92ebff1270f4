//! Recordings: what units answered, as text, one dot product a line.
//!
//! CSV with `#` comments and the header `arch,instruction,a,b,c,scale_a,scale_b,d`. `a` and `b` are K
//! codes in hex, blanks between, of the width their format has (FP6: 2 digits, FP4: 1, TF32: 8); `c` and
//! `d` are one code; scale factors are K/block codes, empty where there are none; `d` may be `nan`: any
//! NaN agrees.

use std::collections::HashMap;
use std::io::{Read, Write};

use bitmma_catalogue::lookup::Found;
use bitmma_catalogue::{Architecture, find};
use bitmma_formats::Format;

use crate::error::Error;

/// The columns, in order.
pub const HEADER: [&str; 8] = ["arch", "instruction", "a", "b", "c", "scale_a", "scale_b", "d"];

/// What a unit answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// These bits.
    Code(u64),
    /// A NaN of whatever code.
    Nan,
}

/// One dot product that a unit answered.
#[derive(Clone, Debug)]
pub struct Record {
    /// The instruction.
    pub found: Found,
    /// K codes.
    pub a: Vec<u64>,
    /// K codes.
    pub b: Vec<u64>,
    /// One code.
    pub c: u64,
    /// K/block codes, or none.
    pub scale_a: Vec<u64>,
    /// K/block codes, or none.
    pub scale_b: Vec<u64>,
    /// The answer.
    pub d: Answer,
    /// The line it stands on, from 1; 0 for a record that was not read.
    pub line: u64,
}

/// Reads a whole recording; the error names the line.
pub fn read(source: impl Read) -> Result<Vec<Record>, Error> {
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).flexible(true).from_reader(source);
    let header = reader.headers().map_err(csv_error)?;
    if header.iter().map(str::trim).ne(HEADER) {
        let given = header.iter().collect::<Vec<_>>().join(",");
        let problem = format!("the header is '{given}'; '{}' was expected", HEADER.join(","));
        return Err(Error::Recording { line: 1, problem });
    }
    let mut known: HashMap<(String, String), Found> = HashMap::new();
    let mut records = Vec::new();
    let mut fields = csv::StringRecord::new();
    while reader.read_record(&mut fields).map_err(csv_error)? {
        let line = fields.position().map_or(0, csv::Position::line);
        let record =
            parse(&fields, line, &mut known).map_err(|problem| Error::Recording { line, problem })?;
        records.push(record);
    }
    Ok(records)
}

fn csv_error(error: csv::Error) -> Error {
    let line = error.position().map_or(0, csv::Position::line);
    match error.into_kind() {
        csv::ErrorKind::Io(error) => Error::Io(error),
        csv::ErrorKind::Utf8 { .. } => Error::Recording { line, problem: "the text is not UTF-8".to_owned() },
        kind => Error::Recording { line, problem: format!("{kind:?}") },
    }
}

fn parse(
    fields: &csv::StringRecord,
    line: u64,
    known: &mut HashMap<(String, String), Found>,
) -> Result<Record, String> {
    if fields.len() != HEADER.len() {
        return Err(format!("{} fields; {} were expected: {}", fields.len(), HEADER.len(), HEADER.join(",")));
    }
    let key = (fields[0].trim().to_owned(), fields[1].trim().to_owned());
    let found = match known.get(&key) {
        Some(found) => *found,
        None => {
            let architecture: Architecture = key.0.parse().map_err(|error| format!("{error}"))?;
            let found = find(architecture, &key.1).map_err(|error| error.to_string())?;
            known.insert(key, found);
            found
        }
    };
    let row = found.instruction;
    let scale = row.scale.map(|scale| (scale.format, row.k / scale.size));
    let scales = |column: usize| match scale {
        Some((format, count)) => codes(&fields[column], HEADER[column], &format, count),
        None if fields[column].trim().is_empty() => Ok(Vec::new()),
        None => Err(format!("{} is '{}'; {} takes none", HEADER[column], &fields[column], found.name())),
    };
    let d = if fields[7].trim().eq_ignore_ascii_case("nan") {
        Answer::Nan
    } else {
        Answer::Code(code(fields[7].trim(), "d", &row.d)?)
    };
    Ok(Record {
        found,
        a: codes(&fields[2], "a", &row.a, row.k)?,
        b: codes(&fields[3], "b", &row.b, row.k)?,
        c: code(fields[4].trim(), "c", &row.c)?,
        scale_a: scales(5)?,
        scale_b: scales(6)?,
        d,
        line,
    })
}

fn codes(text: &str, column: &str, format: &Format, expected: usize) -> Result<Vec<u64>, String> {
    let codes: Vec<u64> =
        text.split_ascii_whitespace().map(|text| code(text, column, format)).collect::<Result<_, _>>()?;
    if codes.len() != expected {
        return Err(format!("{column} has {} codes; {expected} were expected", codes.len()));
    }
    Ok(codes)
}

fn code(text: &str, column: &str, format: &Format) -> Result<u64, String> {
    let digits = format.hex_digits();
    let value = (text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit()))
        .then(|| u64::from_str_radix(text, 16).ok())
        .flatten();
    match value {
        Some(code) if code <= format.max_code() => Ok(code),
        _ => Err(format!(
            "{column} holds '{text}'; {format} codes have {digits} hex digits and {} bits",
            format.bits()
        )),
    }
}

/// Writes a recording: `comments` line by line behind `# `, the header, the records.
pub fn write<'a>(
    target: impl Write,
    comments: &[&str],
    records: impl IntoIterator<Item = &'a Record>,
) -> Result<(), Error> {
    let mut target = std::io::BufWriter::new(target);
    for comment in comments.iter().flat_map(|comment| comment.lines()) {
        writeln!(target, "# {comment}")?;
    }
    writeln!(target, "{}", HEADER.join(","))?;
    for record in records {
        let row = record.found.instruction;
        let scale = row.scale.map_or(row.a, |scale| scale.format);
        let d = match record.d {
            Answer::Code(code) => hex(&row.d, &[code]),
            Answer::Nan => "nan".to_owned(),
        };
        let fields = [
            row.architecture.name().to_owned(),
            record.found.name(),
            hex(&row.a, &record.a),
            hex(&row.b, &record.b),
            hex(&row.c, &[record.c]),
            hex(&scale, &record.scale_a),
            hex(&scale, &record.scale_b),
            d,
        ];
        writeln!(target, "{}", fields.join(","))?;
    }
    target.flush()?;
    Ok(())
}

/// Codes in the hex digits of their format, blanks between.
pub fn hex(format: &Format, codes: &[u64]) -> String {
    let digits = format.hex_digits();
    codes.iter().map(|code| format!("{code:0digits$x}")).collect::<Vec<_>>().join(" ")
}
