//! What words mean where that is several instructions: a table of what tells their models apart.

use bitmma_document::{Table, style};
use bitmma_engine::catalogue::Found;
use bitmma_engine::catalogue::{LookupError, Options, find, find_with_options, of, words::computes_alike};
use bitmma_engine::formats::Format;
use bitmma_engine::{Architecture, Instruction, Revision};

use crate::failure::Failure;
use crate::{describe, output};

/// The instruction that words name.
pub(crate) fn found(architecture: Architecture, text: &str) -> Result<Found, Failure> {
    let found = find(architecture, text).map_err(explained)?;
    if let Ok((_, options)) = find_with_options(architecture, text) {
        note(text, &found, &options);
    }
    Ok(found)
}

/// As [`found`], with what the name asks for besides the instruction.
pub(crate) fn found_with_options(
    architecture: Architecture,
    text: &str,
) -> Result<(Found, Options), Failure> {
    let (found, options) = find_with_options(architecture, text).map_err(explained)?;
    note(text, &found, &options);
    Ok((found, options))
}

/// Says which of several instructions that compute alike was taken.
fn note(text: &str, found: &Found, Options { alike, .. }: &Options) {
    if let [first, rest @ ..] = alike.as_slice() {
        let others = match rest.len() {
            0 => format!("the other is {first}"),
            more => format!("the others are {first} and {more} more"),
        };
        output::note(&format!(
            "'{text}' means {} instructions with one model, so their bits are the same; {} is taken, {others}",
            alike.len() + 1,
            found.instruction.name()
        ));
    }
}

/// The error, with a table of the models where there are several.
fn explained(error: LookupError) -> Failure {
    match several(&error) {
        // of what an error says, nothing is left to the terminal: no colors
        Some((heading, table)) => {
            Failure::new(format!("{heading}\n{}", anstream::adapter::strip_str(&table)))
        }
        None => error.into(),
    }
}

/// For a name that means several models: a line that says so, and the table.
pub(crate) fn several(error: &LookupError) -> Option<(String, String)> {
    let LookupError::Ambiguous { architecture, given, candidates } = error else { return None };
    let rows: Vec<&'static Instruction> =
        of(*architecture).filter(|row| candidates.contains(&row.name())).collect();
    let groups = groups(&rows);
    let text = given.trim();
    let heading = format!(
        "'{text}' may mean {} of {architecture}, with {}; add words until one is left",
        output::counted(rows.len(), "instruction"),
        output::counted(models(&rows), "model")
    );
    Some((heading, table(&groups)))
}

/// How many models rows have; those whose model is unknown count one each.
fn models(rows: &[&'static Instruction]) -> usize {
    let mut different: Vec<&Instruction> = vec![];
    for row in rows {
        if !different.iter().any(|one| computes_alike(one, row)) {
            different.push(row);
        }
    }
    different.len()
}

/// Rows that only differ in the formats of A and B, or in nothing that changes a bit.
struct Group {
    /// Model and parameters.
    model: String,
    products: usize,
    c: Format,
    d: Format,
    scale: Option<String>,
    kind: &'static str,
    rows: Vec<&'static Instruction>,
}

fn groups(rows: &[&'static Instruction]) -> Vec<Group> {
    let mut groups: Vec<Group> = vec![];
    for row in rows {
        let model = match row.model_ref(Revision::Hardware) {
            Some(model) => format!("{} {}", model.operation.name(), describe::short(model, row.products())),
            None => "unknown".to_owned(),
        };
        let scale = row.scale.map(|scale| format!("{} of {}", scale.format, scale.size));
        let kind = row.kind();
        let key = (&model, row.c, row.d, &scale, kind);
        match groups.iter_mut().find(|one| (&one.model, one.c, one.d, &one.scale, one.kind) == key) {
            Some(group) => group.rows.push(row),
            None => groups.push(Group {
                model,
                products: row.products(),
                c: row.c,
                d: row.d,
                scale,
                kind,
                rows: vec![row],
            }),
        }
    }
    groups
}

/// Formats of A and B that are printed before they are only counted.
const PAIRS: usize = 4;

/// A row for each group, without the columns in which all are the same.
fn table(groups: &[Group]) -> String {
    let pairs = |group: &Group| {
        let mut pairs: Vec<String> = vec![];
        for row in &group.rows {
            let pair = if row.a == row.b { row.a.name.to_owned() } else { format!("{}·{}", row.a, row.b) };
            if !pairs.contains(&pair) {
                pairs.push(pair);
            }
        }
        let more = pairs.len().saturating_sub(PAIRS);
        pairs.truncate(PAIRS);
        if more > 0 {
            pairs.push(format!("{more} more"));
        }
        pairs.join(", ")
    };
    let names = |group: &Group| {
        let first = style::strong(&group.rows[0].name());
        match group.rows.len() - 1 {
            0 => first,
            more => format!("{first} and {more} more"),
        }
    };
    let precision = |group: &Group| {
        let row = group.rows[0];
        row.precision_line(Revision::Hardware)
    };
    type Column<'c> = (&'static str, Box<dyn Fn(&Group) -> String + 'c>, bool);
    let columns: [Column<'_>; 8] = [
        ("A and B", Box::new(pairs), false),
        ("D", Box::new(|group: &Group| group.d.name.to_owned()), true),
        ("C", Box::new(|group: &Group| group.c.name.to_owned()), false),
        ("scales", Box::new(|group: &Group| group.scale.clone().unwrap_or_default()), false),
        (">K", Box::new(|group: &Group| group.products.to_string()), false),
        ("made", Box::new(|group: &Group| group.kind.to_owned()), false),
        ("precision", Box::new(precision), true),
        ("instructions", Box::new(names), true),
    ];
    let differ = |cell: &dyn Fn(&Group) -> String| {
        let mut cells: Vec<String> = groups.iter().map(cell).collect();
        cells.sort_unstable();
        cells.dedup();
        cells.len() > 1
    };
    let shown: Vec<&Column<'_>> = columns
        .iter()
        .filter(|(heading, cell, always)| *always || *heading == "A and B" || differ(cell))
        .collect();
    let headings: Vec<&str> = shown.iter().map(|(heading, ..)| *heading).collect();
    let mut table = Table::new(&headings);
    for group in groups {
        table.row(shown.iter().map(|(_, cell, _)| cell(group)));
    }
    table.render(crate::layout::width())
}
