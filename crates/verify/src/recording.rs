//! Recordings: what units returned, as text, one dot product a line.
//!
//! CSV with `#` comments and the header `arch,instruction,a,b,c,scale_a,scale_b,d`. `a` and `b` are K
//! codes in hex, blanks between, of the width their format has (FP6: 2 digits, FP4: 1, TF32: 8); `c` and
//! `d` are one code; scale factors are K/block codes, empty where there are none; `d` may be `nan`: any
//! NaN agrees.
//!
//! What is neither an instruction of the catalogue nor (`arch` being `cpu`) of a processor has its model in a
//! comment: `# model of ARCH/INSTRUCTION: ` and the lines of its file, `; ` between them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::sync::Arc;

use bitmma_engine::arithmetic::Model;
use bitmma_engine::formats::Format;
pub use bitmma_engine::formats::text::digits_of as hex;
use bitmma_engine::{Case, Error, Signature};
use bitmma_files::{content, reading};

use crate::origin::Origin;

/// The columns, in order.
pub const HEADER: [&str; 8] = ["arch", "instruction", "a", "b", "c", "scale_a", "scale_b", "d"];

/// What a unit returned.
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
    /// What answered.
    pub origin: Arc<Origin>,
    /// What it was asked.
    pub case: Case,
    /// The result.
    pub d: Answer,
    /// The line it stands on, from 1; 0 for a record that was not read.
    pub line: u64,
}

/// Bytes that a line may have: those of a dot product of a million elements are fewer. What has no end has no lines either.
const MOST_LINE: u64 = 1 << 26;

/// Opens the file of a recording, if it may be one.
pub fn open(path: &Path) -> io::Result<impl Read + use<>> {
    reading::lines(path, "a recording (CSV)")
}

/// Reads a whole recording; the error names the line. Fields have no quotes.
pub fn read(source: impl Read) -> Result<Vec<Record>, Error> {
    read_with(source, None)
}

/// As [`read`]; what no model is known of has this one.
pub fn read_with(source: impl Read, model: Option<&Model>) -> Result<Vec<Record>, Error> {
    // both kinds of line use it
    let known = RefCell::new(Known { origins: HashMap::new(), models: HashMap::new(), otherwise: model });
    let mut records = Vec::new();
    each_line(
        source,
        |comment| known.borrow_mut().learn(comment),
        |fields, line| {
            records.push(parse(fields, line, &mut known.borrow_mut())?);
            Ok(())
        },
    )?;
    Ok(records)
}

/// One column of operands or answers of a recording: the codes of each line. K is what the lines have, which may be that of
/// a whole matrix product. All lines are of one instruction and have equally many codes; `nan` is the format's NaN.
pub fn column(source: impl Read, name: &str, format: &Format) -> Result<Vec<Vec<u64>>, Error> {
    let of_codes = HEADER.iter().skip(2).position(|column| *column == name).map(|place| place + 2);
    let Some(place) = of_codes else {
        let problem = format!("there is no column '{name}' of codes; {} are", HEADER[2..].join(", "));
        return Err(Error::Recording { line: 1, problem });
    };
    let mut rows: Vec<Vec<u64>> = Vec::new();
    let mut target: Option<String> = None;
    each_line(
        source,
        |_| Ok(()),
        |fields, _| {
            let &[architecture, instruction, ..] = fields;
            let named = format!("{architecture} {instruction}");
            let first = target.get_or_insert_with(|| named.clone());
            if *first != named {
                return Err(format!(
                    "this line is of {named}, those before it of {first}; a matrix product takes the lines of one instruction"
                ));
            }
            let text = fields[place];
            let codes: Vec<u64> = match format.nan_code() {
                Some(nan) if text.eq_ignore_ascii_case("nan") => vec![nan],
                _ => text
                    .split_ascii_whitespace()
                    .map(|text| code(text, name, format))
                    .collect::<Result<_, _>>()?,
            };
            let expected = rows.first().map_or(codes.len(), Vec::len);
            if codes.len() != expected || codes.is_empty() {
                return Err(format!("{name} has {} codes; {} were expected", codes.len(), expected.max(1)));
            }
            rows.push(codes);
            Ok(())
        },
    )?;
    Ok(rows)
}

/// Passes every comment, and the fields of every line after the header with its number, from 1.
fn each_line(
    source: impl Read,
    mut comment: impl FnMut(&str) -> Result<(), String>,
    mut row: impl FnMut(&[&str; HEADER.len()], u64) -> Result<(), String>,
) -> Result<(), Error> {
    let mut header_seen = false;
    let mut last = 0;
    let (mut source, mut bytes) = (BufReader::new(source), Vec::new());
    for line in 1.. {
        bytes.clear();
        if source.by_ref().take(MOST_LINE + 1).read_until(b'\n', &mut bytes)? == 0 {
            break;
        }
        last = line;
        let problem = |problem| Error::Recording { line, problem };
        if line == 1 && bytes.contains(&0) {
            return Err(problem(content::unexpected(&bytes, "a recording (CSV)")));
        }
        if bytes.len() as u64 > MOST_LINE {
            return Err(problem(format!("the line has more than {MOST_LINE} bytes")));
        }
        let text = std::str::from_utf8(&bytes).map_err(|_| match line {
            1 => problem(content::unexpected(&bytes, "a recording (CSV)")),
            _ => problem("the text is not UTF-8".to_owned()),
        })?;
        let text = text.trim_start_matches('\u{feff}').trim(); // a byte order mark some editors leave
        if let Some(text) = text.strip_prefix('#') {
            comment(text.trim()).map_err(problem)?;
            continue;
        }
        if text.is_empty() {
            continue;
        }
        let fields: Vec<&str> = text.split(',').map(str::trim).collect();
        if !header_seen {
            if fields != HEADER {
                return Err(problem(format!("the header is '{text}'; '{}' was expected", HEADER.join(","))));
            }
            header_seen = true;
            continue;
        }
        let Ok(fields) = <&[&str; HEADER.len()]>::try_from(&fields[..]) else {
            let names = HEADER.join(",");
            return Err(problem(format!("{} fields; {} were expected: {names}", fields.len(), HEADER.len())));
        };
        row(fields, line).map_err(problem)?;
    }
    if !header_seen {
        let problem = format!("the header is missing; '{}' was expected", HEADER.join(","));
        return Err(Error::Recording { line: last.max(1), problem });
    }
    Ok(())
}

/// What stands at the head of a comment that gives a model.
const MODEL: &str = "model of ";

/// The comment that gives the model of what the catalogue does not have.
pub fn model_comment(architecture: &str, instruction: &str, model: &Model) -> String {
    format!("{MODEL}{architecture}/{instruction}: {}", model.to_toml().trim().replace('\n', "; "))
}

/// What is known of the names in a recording.
struct Known<'m> {
    origins: HashMap<(String, String), Arc<Origin>>,
    /// By `ARCH/INSTRUCTION`, from comments.
    models: HashMap<String, Model>,
    /// The model of a unit that nothing else is known of.
    otherwise: Option<&'m Model>,
}

impl Known<'_> {
    /// Keeps the model that a comment gives.
    fn learn(&mut self, comment: &str) -> Result<(), String> {
        let Some((name, toml)) = comment.strip_prefix(MODEL).and_then(|rest| rest.split_once(": ")) else {
            return Ok(());
        };
        let model =
            Model::from_toml(&toml.replace("; ", "\n")).map_err(|error| format!("{name}: {error}"))?;
        self.models.insert(name.to_owned(), model);
        Ok(())
    }

    fn origin(&mut self, architecture: &str, instruction: &str, k: usize) -> Result<Arc<Origin>, String> {
        let key = (architecture.to_owned(), instruction.to_owned());
        if let Some(origin) = self.origins.get(&key) {
            return Ok(Arc::clone(origin));
        }
        let origin = match Origin::named(architecture, instruction) {
            Ok(origin) => origin,
            Err(unknown) => {
                let name = format!("{architecture}/{instruction}");
                let Some(model) = self.models.get(&name).or(self.otherwise) else {
                    return Err(format!(
                        "{unknown}; a unit that does not stand in the catalogue takes its model from --model or \
                         from a comment, '# {MODEL}{name}: …'"
                    ));
                };
                Origin::unit(architecture, instruction, model, k).map_err(|error| error.to_string())?
            }
        };
        let origin = Arc::new(origin);
        self.origins.insert(key, Arc::clone(&origin));
        Ok(origin)
    }
}

fn parse(fields: &[&str; HEADER.len()], line: u64, known: &mut Known<'_>) -> Result<Record, String> {
    let &[arch, instruction, a, b, c, scale_a, scale_b, d] = fields;
    let origin = known.origin(arch, instruction, a.split_ascii_whitespace().count())?;
    let row = origin.signature();
    let scale = row.scale.map(|scale| (scale.format, row.k / scale.size));
    let scales = |column: &str, text: &str| match scale {
        Some((format, count)) => codes(text, column, &format, count),
        None if text.is_empty() => Ok(Vec::new()),
        None => Err(format!("{column} is '{text}'; {} takes none", origin.instruction())),
    };
    let d = if d.eq_ignore_ascii_case("nan") { Answer::Nan } else { Answer::Code(code(d, "d", &row.d)?) };
    let (a, b) = (codes(a, "a", &row.a, row.k)?, codes(b, "b", &row.b, row.k)?);
    let c = code(c, "c", &row.c)?;
    let (scale_a, scale_b) = (scales("scale_a", scale_a)?, scales("scale_b", scale_b)?);
    Ok(Record { origin, case: Case { a, b, c, scale_a, scale_b }, d, line })
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
    write_head(&mut target, comments)?;
    for record in records {
        let Record { origin, case, d, .. } = record;
        let names = (origin.architecture(), origin.instruction());
        write_line(&mut target, names, origin.signature(), case, *d)?;
    }
    target.flush()?;
    Ok(())
}

/// Comments and the header.
pub fn write_head(mut target: impl Write, comments: &[&str]) -> Result<(), Error> {
    for comment in comments.iter().flat_map(|comment| comment.lines()) {
        writeln!(target, "# {comment}")?;
    }
    writeln!(target, "{}", HEADER.join(","))?;
    Ok(())
}

/// One line: what answered, by the architecture (or the name used instead, `cpu`) and the instruction, which need not
/// stand in the catalogue.
pub fn write_line(
    mut target: impl Write,
    (architecture, instruction): (&str, &str),
    signature: &Signature,
    case: &Case,
    d: Answer,
) -> Result<(), Error> {
    let d = match d {
        Answer::Code(code) => hex(&signature.d, &[code]),
        Answer::Nan => "nan".to_owned(),
    };
    writeln!(target, "{architecture},{instruction},{},{d}", fields(signature, case))?;
    Ok(())
}

/// The operands in the columns `a` to `scale_b`, commas between them.
pub fn fields(signature: &Signature, case: &Case) -> String {
    let Signature { a, b, c, scale, .. } = signature;
    let scale = scale.map_or(*a, |scale| scale.format);
    let (scale_a, scale_b) = (hex(&scale, &case.scale_a), hex(&scale, &case.scale_b));
    [hex(a, &case.a), hex(b, &case.b), hex(c, &[case.c]), scale_a, scale_b].join(",")
}
