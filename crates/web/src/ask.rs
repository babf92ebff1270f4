//! The one function: a question in, its answer out.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::{Error, LONGEST_NAME, beginning};
use crate::{curve, difference, dot, explain, format, image, input, preset, search, unit};

/// Characters of a question, at most. Numbers of a user's own file are in it.
pub(crate) const LONGEST: usize = 8 << 20;

/// What a page needs once.
#[derive(Serialize)]
struct Start {
    version: &'static str,
    architectures: Vec<search::Chip>,
    formats: Vec<&'static str>,
    presets: Vec<preset::Preset>,
}

/// The answer to a question: `{"ok": …}` or `{"error": "…"}`, whatever the question is.
pub fn ask(question: &str) -> String {
    read(question).and_then(answer).unwrap_or_else(|error| {
        let written = serde_json::to_string(&Failed { error: error.to_string() });
        written.unwrap_or_else(|error| unreachable!("a text is always written: {error}"))
    })
}

/// An answer; fields stand in the order of their type, wherever it is written.
#[derive(Serialize)]
struct Answered<T> {
    ok: T,
}

#[derive(Serialize)]
struct Failed {
    error: String,
}

/// What is asked, its kind under `ask`, and the rest of the question.
fn read(question: &str) -> Result<(String, Value), Error> {
    if question.len() > LONGEST {
        let given = question.len();
        return Err(Error::new(format!("the question has {given} characters; at most {LONGEST} are read")));
    }
    let mut value: Value = serde_json::from_str(question).map_err(|error| unread(&error))?;
    let kind = value.as_object_mut().and_then(|object| object.remove("ask"));
    match kind {
        Some(Value::String(kind)) => Ok((kind, value)),
        _ => Err(Error::new("the question cannot be read: an object with 'ask' is expected")),
    }
}

fn unread(error: &serde_json::Error) -> Error {
    // what is not expected is in it, however long it is
    let text: String = error.to_string().chars().take(LONGEST_NAME).collect();
    Error::new(format!("the question cannot be read: {text}"))
}

fn of<T: DeserializeOwned>(value: Value) -> Result<T, Error> {
    serde_json::from_value(value).map_err(|error| unread(&error))
}

/// Every question that can be asked.
const KINDS: [&str; 11] =
    ["start", "search", "unit", "explain", "paste", "code", "diff", "dot", "curve", "format", "image"];

fn answer((kind, rest): (String, Value)) -> Result<String, Error> {
    match kind.as_str() {
        // the chips, formats and presets that a page offers
        "start" => json(Start {
            version: env!("CARGO_PKG_VERSION"),
            architectures: search::chips(),
            formats: format::narrow().collect(),
            presets: preset::all(),
        }),
        // instructions that words may mean
        "search" => json(search::search(&of(rest)?)?),
        // a unit and the parameters that can be edited
        "unit" => json(unit::Unit::read(&of(rest)?)?.about()),
        // one dot product through each of some units, step by step
        "explain" => json(explain::explain(&of(rest)?)?),
        // numbers out of a text that was pasted
        "paste" => json(input::paste(&of(rest)?)?),
        // the number that a code is, as it can be typed
        "code" => json(input::code(&of(rest)?)?),
        // the smallest input on which units differ
        "diff" => json(difference::difference(&of(rest)?)?),
        // the results of many dot products of one unit, as codes
        "dot" => json(dot::dots(&of(rest)?)?),
        // the error along K
        "curve" => json(curve::curve(&of(rest)?)?),
        // every code of a narrow format
        "format" => json(format::table(&of(rest)?)?),
        // a picture in narrow formats
        "image" => json(image::image(&of(rest)?)?),
        _ => Err(Error::new(format!(
            "there is no question '{}'; one of {} is",
            beginning(&kind),
            KINDS.join(", ")
        ))),
    }
}

fn json(ok: impl Serialize) -> Result<String, Error> {
    serde_json::to_string(&Answered { ok })
        .map_err(|error| Error::new(format!("the result cannot be written: {error}")))
}
