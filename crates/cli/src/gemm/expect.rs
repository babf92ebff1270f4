//! D compared with what was expected: a file, or the results of a recording.

use bitmma_engine::Matrix;
use bitmma_engine::formats::text::display;
use bitmma_engine::formats::{Class, Format, decode};
use serde::Serialize;

use crate::failure::{Failure, Outcome};
use crate::files::Source;
use crate::{describe, json, operands};

/// What D should be, and where that is from.
pub(super) struct Expected<'s> {
    source: &'s Source,
    matrix: Matrix,
}

/// How D differs from it.
#[derive(Serialize)]
pub(super) struct Difference {
    file: String,
    elements: usize,
    differing: usize,
    first: Option<First>,
}

/// The first element that differs.
#[derive(Serialize)]
struct First {
    /// Row and column, before them the block where there are several.
    element: Vec<usize>,
    expected: json::Coded,
    actual: json::Coded,
    /// Both as people read them: expected, actual.
    #[serde(skip)]
    words: [String; 2],
}

impl<'s> Expected<'s> {
    /// Reads it in the format that D will have.
    pub(super) fn read(source: &'s Option<Source>, format: Format) -> Result<Option<Expected<'s>>, Failure> {
        let read =
            |source| Ok(Expected { source, matrix: operands::read("--expect", source, format, false)? });
        source.as_ref().map(read).transpose()
    }

    /// Any NaN agrees with any other.
    pub(super) fn compare(&self, d: &Matrix) -> Result<Difference, Failure> {
        let (format, (blocks, rows, columns)) = (d.format(), d.shape());
        if self.matrix.shape() != d.shape() {
            let shape = bitmma_engine::shape_text;
            bail!("--expect: {} is {}, D is {}", self.source, shape(self.matrix.shape()), shape(d.shape()));
        }
        let is_nan = |code| decode(&format, code).class == Class::Nan;
        let apart =
            |(expected, actual): &(u64, u64)| expected != actual && !(is_nan(*expected) && is_nan(*actual));
        let pairs = || self.matrix.iter().zip(d.iter());
        let words = |code| format!("{} ({})", display(&format, code), describe::code(&format, code));
        let first = pairs().enumerate().find(|(_, pair)| apart(pair)).map(|(index, (expected, actual))| {
            let place = [index / columns / rows, index / columns % rows, index % columns];
            First {
                element: place[usize::from(blocks == 1)..].to_vec(),
                expected: json::Coded::new(&format, expected),
                actual: json::Coded::new(&format, actual),
                words: [expected, actual].map(words),
            }
        });
        let (elements, differing) = (blocks * rows * columns, pairs().filter(apart).count());
        Ok(Difference { file: self.source.to_string(), elements, differing, first })
    }
}

impl Difference {
    /// As people read it.
    pub(super) fn text(&self) -> String {
        let Difference { file, elements, differing, first } = self;
        match first {
            None => format!("all {elements} elements agree with {file}\n"),
            Some(First { element, words: [expected, actual], .. }) => format!(
                "{differing} of {elements} elements differ from {file}, the first at {element:?}: {actual}, expected {expected}\n"
            ),
        }
    }

    /// Exit code 1 where something differs.
    pub(super) fn outcome(&self) -> Outcome {
        if self.differing == 0 { Outcome::Agrees } else { Outcome::Differs }
    }
}
