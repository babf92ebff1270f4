//! Which instructions words may mean, by the word search of the command.

use bitmma_engine::Architecture;
use bitmma_engine::Revision;
use bitmma_engine::catalogue::of;
use bitmma_engine::catalogue::words::matching;
use serde::{Deserialize, Serialize};

use crate::error::{Error, LONGEST_NAME, at_most};
use crate::unit::split;

/// Instructions that are listed, at most.
const LISTED: usize = 40;

/// What is searched for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Question {
    /// A chip, and words after it.
    words: String,
}

/// An architecture and its names.
#[derive(Serialize)]
pub(crate) struct Chip {
    name: &'static str,
    vendor: String,
    chip: &'static str,
    target: &'static str,
    aliases: Vec<&'static str>,
}

/// Instructions that have all words.
#[derive(Serialize)]
pub(crate) struct Matches {
    architecture: &'static str,
    /// The words that named it.
    chip: String,
    /// How many there are.
    count: usize,
    /// The first of them.
    instructions: Vec<One>,
}

#[derive(Serialize)]
struct One {
    name: String,
    a: &'static str,
    b: &'static str,
    d: &'static str,
    k: usize,
    precision: String,
    is_known: bool,
}

/// Every architecture.
pub(crate) fn chips() -> Vec<Chip> {
    let chip = |one: Architecture| Chip {
        name: one.name(),
        vendor: one.vendor().to_string(),
        chip: one.papers_chip().unwrap_or(one.name()),
        target: one.target(),
        aliases: one.aliases(),
    };
    Architecture::ALL.into_iter().map(chip).collect()
}

/// The instructions of a chip that have all words.
pub(crate) fn search(question: &Question) -> Result<Matches, Error> {
    at_most("the search", &question.words, LONGEST_NAME)?;
    let (architecture, words) = split(&question.words)?;
    let given: Vec<&str> = question.words.split_whitespace().collect();
    let chip = given[..given.len() - words.split_whitespace().count()].join(" ");
    let rows = if words.is_empty() { of(architecture).collect() } else { matching(architecture, &words)? };
    let one = |row: &&'static bitmma_engine::Instruction| One {
        name: row.name(),
        a: row.a.name,
        b: row.b.name,
        d: row.d.name,
        k: row.products(),
        precision: row.precision_line(Revision::Hardware),
        is_known: row.model_ref(Revision::Hardware).is_some(),
    };
    Ok(Matches {
        architecture: architecture.name(),
        chip,
        count: rows.len(),
        instructions: rows.iter().take(LISTED).map(one).collect(),
    })
}
