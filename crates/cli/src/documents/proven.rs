//! `docs/proven.md` and `docs/proven.csv`: what the recordings hold, and whether the models agree with it.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use bitmma_engine::catalogue;
use bitmma_engine::catalogue::processors;
use bitmma_verify::recording;
use bitmma_verify::replay::{Rules, replay};

use super::markdown::{Table, mono};
use crate::failure::{Failure, Within};

/// What the comments of a recording say about where it comes from.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Head {
    device: String,
    driver: String,
    date: String,
    by: String,
}

/// What one recording holds of one instruction.
struct Row {
    architecture: String,
    instruction: String,
    head: Head,
    dot_products: usize,
    differ: usize,
}

/// The page and its table of recordings as CSV; `recordings` has folders of recordings, `hardware` among them.
pub(super) fn texts(recordings: &Path) -> Result<(String, String), Failure> {
    let (rows, checked) = rows(recordings)?;
    let all = catalogue::catalogue().iter().filter(|row| row.unknown.is_none()).count();
    let mut text = format!(
        "# Proven\n\n{}## Recordings of real units\n\n\
        `bitmma generate docs` replays every recording in `recordings/` with the models of revision `hardware` and \
        counts the results here; [proven.csv](proven.csv) has a row for each instruction and device. Where the vendor \
        specifies no NaN code, any NaN agrees with any other.\n\n\
        {checked} of {all} instructions with a model have recorded results of a real unit.\n\n",
        include_str!("claims.md")
    );
    text += &summary(&rows).0;
    text += &processors_and_vectors(recordings)?;
    Ok((text, csv(&rows)))
}

/// A row for each instruction of each recording, architectures in their order, then other units; and how many
/// instructions of the catalogue there are.
fn rows(recordings: &Path) -> Result<(Vec<Row>, usize), Failure> {
    let mut found = Vec::new();
    let mut checked = BTreeSet::new();
    for path in files(&recordings.join("hardware"))? {
        let bytes = fs::read(&path).within(path.display())?;
        let head = head(&String::from_utf8_lossy(&bytes));
        let records = recording::read(&bytes[..]).within(path.display())?;
        for outcome in replay(&records, &Rules::default()).within(path.display())? {
            let row = outcome.origin.row().map(|found| found.instruction);
            checked.extend(row.map(|row| (row.architecture, row.name())));
            let place = row.map_or(usize::MAX, |row| row.architecture as usize);
            let row = Row {
                architecture: outcome.origin.architecture().to_owned(),
                instruction: outcome.origin.instruction().to_owned(),
                head: head.clone(),
                dot_products: outcome.total,
                differ: outcome.mismatches,
            };
            found.push((place, row));
        }
    }
    found.sort_unstable_by(|(place, row), (other_place, other)| {
        (place, &row.architecture, &row.instruction, &row.head).cmp(&(
            other_place,
            &other.architecture,
            &other.instruction,
            &other.head,
        ))
    });
    Ok((found.into_iter().map(|(_, row)| row).collect(), checked.len()))
}

/// A line for each device of each architecture and for who recorded it.
fn summary(rows: &[Row]) -> Table {
    let mut table = Table::new(&[
        "architecture",
        "device",
        "instructions",
        "dot products",
        "differ",
        "driver",
        "recorded by",
    ]);
    let mut groups: Vec<(usize, Vec<&Row>)> = Vec::new();
    let key = |row: &Row| (row.architecture.clone(), row.head.device.clone(), row.head.by.clone());
    for (index, row) in rows.iter().enumerate() {
        match groups.iter_mut().find(|(_, group)| key(group[0]) == key(row)) {
            Some((_, group)) => group.push(row),
            None => groups.push((index, vec![row])),
        }
    }
    groups.sort_unstable_by_key(|(index, group)| {
        let first = rows.iter().position(|row| row.architecture == group[0].architecture);
        (first, group[0].head.device.clone(), *index)
    });
    for (_, group) in groups {
        let instructions: BTreeSet<&str> = group.iter().map(|row| &*row.instruction).collect();
        let sum = |of: fn(&Row) -> usize| group.iter().map(|row| of(row)).sum::<usize>().to_string();
        let drivers: BTreeSet<&str> = group.iter().map(|row| &*row.head.driver).collect();
        table.row(&[
            group[0].architecture.clone(),
            group[0].head.device.clone(),
            instructions.len().to_string(),
            sum(|row| row.dot_products),
            sum(|row| row.differ),
            drivers.into_iter().collect::<Vec<_>>().join(", "),
            group[0].head.by.clone(),
        ]);
    }
    table
}

/// The rows as CSV.
fn csv(rows: &[Row]) -> String {
    let quoted = |cell: &str| match cell.contains([',', '"']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.to_owned(),
    };
    let mut text = "architecture,instruction,device,dot_products,differ,driver,date,by\n".to_owned();
    for row in rows {
        let Head { device, driver, date, by } = &row.head;
        let counts = [row.dot_products.to_string(), row.differ.to_string()];
        let cells = [&row.architecture, &row.instruction, device, &counts[0], &counts[1], driver, date, by];
        text += &(cells.map(|cell| quoted(cell)).join(",") + "\n");
    }
    text
}

/// The sections about processors and exact vectors.
fn processors_and_vectors(recordings: &Path) -> Result<String, Failure> {
    let mut text = "\n## Processors\n\nThe tests compare these models with the instruction itself, on every processor that has it: \
             400,000 dot products of ten families in each run, 10,500,000 with `BITMMA_TESTS=all`.\n\n"
        .to_owned();
    let mut table = Table::new(&["instruction", "what", "model", "evidence"]);
    for row in processors() {
        let model = format!("{} {}", row.model.operation.name(), row.model.conversion);
        table.row(&[mono(row.name), row.about.to_owned(), model, row.evidence.to_owned()]);
    }
    text += &table.0;
    text += "\n## Exact vectors\n\nResults that were computed outside of the project, not recorded on a unit.\n\n";
    let mut table = Table::new(&["architecture", "instructions", "dot products", "differ"]);
    for path in files(&recordings.join("vectors"))? {
        let bytes = fs::read(&path).within(path.display())?;
        let outcomes = replay(&recording::read(&bytes[..]).within(path.display())?, &Rules::default())?;
        let sum = |of: fn(&bitmma_verify::replay::Outcome) -> usize| {
            outcomes.iter().map(of).sum::<usize>().to_string()
        };
        let name = outcomes.first().map_or("", |outcome| outcome.origin.architecture());
        let count = outcomes.len().to_string();
        table.row(&[name.to_owned(), count, sum(|one| one.total), sum(|one| one.mismatches)]);
    }
    Ok(text + &table.0)
}

/// The recordings of a folder, by name.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let entries = fs::read_dir(folder)
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Failure::new(
                "there is no such folder; proven.md is printed from the recordings of a checkout of bitmma: run it at \
                 the checkout's root, or name its recordings with --recordings",
            ),
            _ => Failure::from(error),
        })
        .within(folder.display())?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "csv"))
        .collect();
    files.sort_unstable();
    Ok(files)
}

/// Reads `key: value` from the comments, and the sentence that the first recordings have instead.
fn head(text: &str) -> Head {
    let comments: Vec<&str> = text.lines().take_while(|line| line.starts_with('#')).collect();
    let words = comments.join(" ").replace("# ", "");
    let mut head = Head::default();
    if let Some((_, rest)) = words.split_once("Recorded on a real ") {
        let (device, rest) = rest.split_once(". Source: ").unwrap_or((rest, ""));
        head.device = device.to_owned();
        head.by = rest.split(" (").next().unwrap_or("").to_owned();
    }
    for part in comments.iter().flat_map(|line| line.trim_start_matches('#').split(';')) {
        let Some((key, value)) = part.split_once(':') else { continue };
        let value = value.trim().to_owned();
        match key.trim() {
            "device" => head.device = value,
            "driver" => head.driver = value,
            "date" => head.date = value,
            "by" => head.by = value,
            _ => {}
        }
    }
    head
}

#[cfg(test)]
mod tests {
    use super::head;

    #[test]
    fn heads() {
        let old =
            head("# Recorded on a real A2. Source: somebody, data/x (BSD,\n# Copyright) brought.\narch,\n");
        assert_eq!((&*old.device, &*old.by, &*old.date), ("A2", "somebody, data/x", ""));
        let new = head(
            "# bitmma 0.1.0 record; date: 2026-11-21; seed: 0\n# by: me\n# unit: x\n# device: H100\n# driver: 570.1\n",
        );
        assert_eq!((&*new.device, &*new.by, &*new.date, &*new.driver), ("H100", "me", "2026-11-21", "570.1"));
    }
}
