//! The results of many dot products: what tests replay.

use bitmma_engine::arithmetic::run::Operands;
use bitmma_engine::formats::Format;
use bitmma_engine::formats::text::{digits_of, hex};
use serde::{Deserialize, Serialize};

use crate::error::{Error, beginning};
use crate::unit::{Asked, Unit};

/// Dot products of one unit, their operands in the columns of a recording.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Question {
    unit: Asked,
    cases: Vec<Columns>,
}

/// Codes in hex with blanks between.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Columns {
    a: String,
    b: String,
    c: String,
    #[serde(default)]
    scale_a: String,
    #[serde(default)]
    scale_b: String,
}

/// The codes of D.
#[derive(Serialize)]
pub(crate) struct Codes {
    format: &'static str,
    /// In hex, as in a recording.
    d: Vec<String>,
    /// Which of them are NaN, by their places.
    nan: Vec<usize>,
    /// Whether the vendor specifies the code of NaN.
    has_nan_code: bool,
}

fn codes(text: &str, format: &Format) -> Result<Vec<u64>, Error> {
    let code = |word: &str| match u64::from_str_radix(word, 16) {
        Ok(code) if code <= format.max_code() => Ok(code),
        _ => Err(Error::new(format!(
            "'{}' is not a code of {format}; its largest is {}",
            beginning(word),
            hex(format, format.max_code())
        ))),
    };
    text.split_ascii_whitespace().map(code).collect()
}

/// Computes each.
pub(crate) fn dots(question: &Question) -> Result<Codes, Error> {
    let unit = Unit::read(&question.unit)?;
    let model = &unit.model;
    let mut answer =
        Codes { format: model.d.name, d: vec![], nan: vec![], has_nan_code: model.nan_code.is_some() };
    for (place, one) in question.cases.iter().enumerate() {
        let (a, b) = (codes(&one.a, &model.a)?, codes(&one.b, &model.b)?);
        let [c] = codes(&one.c, &model.c)?[..] else {
            return Err(Error::new(format!(
                "case {place}: c is '{}'; one code is expected",
                beginning(&one.c)
            )));
        };
        let scales = |text: &str| match model.scale {
            Some(scale) => codes(text, &scale.format),
            None => codes(text, &model.a),
        };
        let (scale_a, scale_b) = (scales(&one.scale_a)?, scales(&one.scale_b)?);
        let model = unit.for_length(a.len());
        let d = model.dot(&Operands { a: &a, b: &b, c, scale_a: &scale_a, scale_b: &scale_b })?;
        if bitmma_engine::formats::decode(&model.d, d).class == bitmma_engine::formats::Class::Nan {
            answer.nan.push(place);
        }
        answer.d.push(digits_of(&model.d, &[d]));
    }
    Ok(answer)
}
