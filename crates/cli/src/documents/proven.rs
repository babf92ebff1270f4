//! `docs/proven.md`: what the recordings hold, and whether the models agree with it.

use std::collections::BTreeMap;
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
#[derive(Default)]
struct Head {
    device: String,
    driver: String,
    date: String,
    by: String,
}

/// The document; `recordings` has folders of recordings, `hardware` among them.
pub(super) fn text(recordings: &Path) -> Result<String, Failure> {
    let mut text = format!(
        "# Proven\n\n{}## Recordings of real units\n\n\
        `bitmma generate docs` replays every recording in `recordings/` with the models of revision `hardware` and \
        prints the counts here. Where the vendor specifies no NaN code, any NaN agrees with any other.\n",
        include_str!("claims.md")
    );
    // architectures in their order, then whatever else has answered
    let mut by_architecture: BTreeMap<(usize, String), Vec<[String; 7]>> = BTreeMap::new();
    let mut checked = std::collections::BTreeSet::new();
    for path in files(&recordings.join("hardware"))? {
        let bytes = fs::read(&path).within(path.display())?;
        let head = head(&String::from_utf8_lossy(&bytes));
        let records = recording::read(&bytes[..]).within(path.display())?;
        for outcome in replay(&records, &Rules::default()).within(path.display())? {
            let row = outcome.origin.row().map(|found| found.instruction);
            checked.extend(row.map(|row| (row.architecture, row.name())));
            let place = (
                row.map_or(usize::MAX, |row| row.architecture as usize),
                outcome.origin.architecture().to_owned(),
            );
            by_architecture.entry(place).or_default().push([
                mono(outcome.origin.instruction()),
                head.device.clone(),
                outcome.total.to_string(),
                outcome.mismatches.to_string(),
                head.driver.clone(),
                head.date.clone(),
                head.by.clone(),
            ]);
        }
    }
    let all = catalogue::catalogue().iter().filter(|row| row.unknown.is_none()).count();
    text += &format!(
        "\n{} of {all} instructions with a model have recorded answers of a real unit.\n",
        checked.len()
    );
    for ((_, architecture), mut rows) in by_architecture {
        rows.sort();
        text += &format!("\n### {architecture}\n\n");
        let mut table =
            Table::new(&["instruction", "device", "dot products", "differ", "driver", "date", "by"]);
        rows.iter().for_each(|row| table.row(row));
        text += &table.0;
    }
    text += "\n## Processors\n\nThe tests compare these models with the instruction itself, on every processor that has it: \
             400,000 dot products of ten families in each run, 10,500,000 with `BITMMA_TESTS=all`.\n\n";
    let mut table = Table::new(&["instruction", "what", "model", "evidence"]);
    for row in processors() {
        let model = format!("{} {}", row.model.operation.name(), row.model.conversion);
        table.row(&[mono(row.name), row.about.to_owned(), model, row.evidence.to_owned()]);
    }
    text += &table.0;
    text += "\n## Exact vectors\n\nAnswers computed outside of the project, not recorded on a unit.\n\n";
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
    files.sort();
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
