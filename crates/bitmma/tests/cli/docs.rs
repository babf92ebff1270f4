//! README and pages: links lead somewhere, pages are short, and their words are those of `words.txt`.
//!
//! The page of commands is printed from the help, so that its words are those of the help.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Phrases to avoid, and the exceptions.
const WORDS: &str = include_str!("words.txt");

/// Pages that list: they may be of any length.
const REFERENCE: [&str; 6] = ["commands", "instructions", "models", "formats", "call-rules", "plan-format"];

/// What an exception names for a page with too many lines.
const TOO_LONG: &str = "too long";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// README and every page of `docs/`: path from the root, and text.
fn pages() -> Vec<(String, String)> {
    let mut names = vec!["README.md".to_owned()];
    for entry in fs::read_dir(root().join("docs")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.ends_with(".md") {
            names.push(format!("docs/{name}"));
        }
    }
    names.sort();
    assert!(names.len() > 10, "{names:?}");
    names
        .into_iter()
        .map(|name| {
            let text = fs::read_to_string(root().join(&name)).unwrap();
            (name, text)
        })
        .collect()
}

/// The lines outside of code blocks.
fn prose(text: &str) -> Vec<&str> {
    let mut is_code = false;
    let mut lines = vec![];
    for line in text.lines() {
        if line.starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            lines.push(line);
        }
    }
    lines
}

/// The anchors of a page's headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text).into_iter().filter(|line| line.starts_with('#'));
    headings.map(|line| anchor(line.trim_start_matches('#'))).collect()
}

/// The anchor of a heading: letters and digits in lower case, spaces as hyphens, nothing else.
fn anchor(heading: &str) -> String {
    let lower = heading.trim().to_lowercase();
    let kept = lower.chars().filter(|&one| one.is_alphanumeric() || " -_".contains(one));
    kept.map(|one| if one == ' ' { '-' } else { one }).collect()
}

/// The targets of the links in a line: the text between `](` and `)`, outside of code.
fn targets(line: &str) -> Vec<String> {
    let plain: String = line.split('`').step_by(2).collect();
    plain.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0.to_owned())).collect()
}

/// What is wrong with a link of a page, if anything.
fn broken(page: &str, text: &str, target: &str) -> Option<String> {
    if target.contains("://") {
        return None;
    }
    let (file, heading) = target.split_once('#').unwrap_or((target, ""));
    let path = match file {
        "" => root().join(page),
        _ => root().join(page).parent().unwrap().join(file),
    };
    if !path.exists() {
        return Some(format!("{page}: there is no file {file:?}, to which it links"));
    }
    if heading.is_empty() {
        return None;
    }
    let linked = if file.is_empty() { text.to_owned() } else { fs::read_to_string(&path).unwrap() };
    (!anchors(&linked).contains(heading)).then(|| format!("{page}: {target:?} names no heading"))
}

/// Whether a character beside a phrase makes it part of something else: a longer word, a name in code, an option.
fn continues(beside: Option<char>) -> bool {
    beside.is_some_and(|one| one.is_alphanumeric() || "_-`/".contains(one))
}

/// Where a phrase is in a text of lower-case words with single spaces: its first place, with what is around it.
fn find(text: &str, phrase: &str) -> Option<String> {
    let (at, _) = text.match_indices(phrase).find(|&(at, _)| {
        !continues(text[..at].chars().next_back()) && !continues(text[at + phrase.len()..].chars().next())
    })?;
    let before: Vec<char> = text[..at].chars().rev().take(30).collect();
    let before: String = before.into_iter().rev().collect();
    let after: String = text[at..].chars().take(phrase.chars().count() + 30).collect();
    Some(before + &after)
}

/// The cells of each line that is neither empty nor a comment.
fn rows(text: &str) -> Vec<Vec<&str>> {
    let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    lines.map(|line| line.split('|').map(str::trim).collect()).collect()
}

#[test]
fn links_lead_somewhere() {
    let mut wrong = vec![];
    let mut links = 0;
    for (page, text) in pages() {
        for target in prose(&text).into_iter().flat_map(targets) {
            links += 1;
            wrong.extend(broken(&page, &text, &target));
        }
    }
    assert!(links > 50, "only {links} links were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn pages_are_short_and_plain() {
    let (phrases, exceptions) = WORDS.split_once("\n[allowed]\n").unwrap();
    let exceptions: BTreeSet<(&str, &str)> = rows(exceptions)
        .iter()
        .map(|row| {
            assert!(row.len() == 3 && !row[2].is_empty(), "{row:?} is not FILE | PHRASE | REASON");
            (row[0], row[1])
        })
        .collect();
    let mut wrong = vec![];
    let mut needed = BTreeSet::new();
    let pages = pages();
    for (page, text) in &pages {
        let mut report = |phrase: &'static str, message: String| {
            if exceptions.contains(&(page.as_str(), phrase)) {
                needed.insert((page.as_str(), phrase));
            } else {
                wrong.push(message);
            }
        };
        let name = page.trim_start_matches("docs/").trim_end_matches(".md");
        let limit = if page == "README.md" { 120 } else { 250 };
        let lines = text.lines().count();
        if lines > limit && !REFERENCE.contains(&name) {
            report(TOO_LONG, format!("{page} has {lines} lines; at most {limit}"));
        }
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
        for row in rows(phrases) {
            if let Some(around) = find(&flat, row[0]) {
                report(row[0], format!("{page}: {:?} in \"…{around}…\": write {}", row[0], row[1]));
            }
        }
    }
    for (page, phrase) in exceptions.difference(&needed) {
        wrong.push(format!("words.txt: the exception {phrase:?} of {page} is no longer needed"));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_wrong_is_found() {
    assert_eq!(anchor(" The plan: `bitmma-plan/1`"), "the-plan-bitmma-plan1");
    assert_eq!(targets("[`a`](b.md), [c](d.md#e), `f[1](g)` and (h)"), ["b.md", "d.md#e"]);
    assert!(broken("docs/index.md", "", "no-such-page.md").is_some());
    assert!(broken("docs/index.md", "# A b\n", "#a-c").is_some());
    assert_eq!(broken("docs/index.md", "# A b\n", "#a-b"), None);
    assert_eq!(broken("docs/index.md", "", "../README.md"), None);
    assert!(find("it answers in place of x", "in place of").is_some());
    assert_eq!(find("see --routes, `routes` and reroutes", "routes"), None);
}
