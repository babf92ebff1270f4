//! README, changelog and pages: links lead somewhere, pages are short, and their words are those of `words.txt`; so are
//! the words of messages.
//!
//! The page of commands is printed from the help, so that its words are those of the help.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Phrases to avoid, and the exceptions.
const WORDS: &str = include_str!("words.txt");

/// Pages that list: they may be of any length.
const REFERENCE: [&str; 8] =
    ["commands", "instructions", "models", "formats", "json", "python-api", "call-rules", "plan-format"];

/// Pages for a reader's first hour.
const FIRST: [&str; 3] = ["install", "first-result", "five-things"];

/// What an exception names for a page with too many lines.
const TOO_LONG: &str = "too long";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// README, changelog and every page of `docs/`: path from the root, and text.
pub(crate) fn pages() -> Vec<(String, String)> {
    let mut names = vec!["README.md".to_owned(), "CHANGELOG.md".to_owned()];
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

/// The texts of a Rust source that hold more than a word, without those of its tests; placeholders are left out.
fn messages(source: &str) -> String {
    let mut texts = String::new();
    let mut rest = source.split("#[cfg(test)]").next().unwrap_or_default();
    while let Some(at) = rest.find(['"', '/', '\'']) {
        let (before, here) = rest.split_at(at);
        let closing = |mark: char| {
            let mut chars = here.char_indices().skip(1);
            while let Some((place, one)) = chars.next() {
                match one {
                    '\\' => drop(chars.next()),
                    _ if one == mark => return Some(place),
                    _ => {}
                }
            }
            None
        };
        let (mark, after) = here.split_at(1);
        let end = match mark {
            "/" if after.starts_with('/') => here.find('\n'),
            // a character; otherwise a lifetime
            "'" if after.starts_with('\\') || after.chars().nth(1) == Some('\'') => closing('\''),
            "\"" => {
                let marks = before.len() - before.trim_end_matches('#').len();
                let is_raw = before[..before.len() - marks].ends_with('r');
                let close = format!("\"{}", "#".repeat(marks));
                let end = if is_raw { after.find(&close).map(|place| place + 1) } else { closing('"') };
                let text = &here[1..end.unwrap_or(here.len())];
                if text.trim().contains(' ') {
                    let plain =
                        text.split('{').map(|one| one.split_once('}').map_or(one, |(_, after)| after));
                    texts += &(plain.collect::<String>().replace("\\\n", " ") + " | ");
                }
                end
            }
            _ => Some(0),
        };
        rest = end.map_or("", |end| &here[end + 1..]);
    }
    texts
}

/// Every Rust source of the crates: path from the root, and its messages.
fn sources() -> Vec<(String, String)> {
    let mut found = vec![];
    let mut folders = vec![root().join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root()).unwrap().display().to_string();
            if path.is_dir() && !name.contains("tests") {
                folders.push(path);
            } else if name.ends_with(".rs") && name.contains("/src/") {
                found.push((name, messages(&fs::read_to_string(&path).unwrap())));
            }
        }
    }
    found.sort();
    assert!(found.len() > 200, "{}", found.len());
    found
}

#[test]
fn pages_and_messages_are_short_and_plain() {
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
    let mut report = |file: &str, phrase: &str, message: String| {
        // an exception may be for a folder
        match exceptions.iter().find(|(place, allowed)| file.starts_with(place) && *allowed == phrase) {
            Some(exception) => drop(needed.insert(*exception)),
            None => wrong.push(message),
        }
    };
    let pages = pages();
    for (page, text) in &pages {
        let name = page.trim_start_matches("docs/").trim_end_matches(".md");
        let limit = match name {
            "README" => 120,
            _ if FIRST.contains(&name) => 80,
            _ => 250,
        };
        let lines = text.lines().count();
        if lines > limit && !REFERENCE.contains(&name) {
            report(page, TOO_LONG, format!("{page} has {lines} lines; at most {limit}"));
        }
    }
    for (file, text) in pages.iter().chain(&sources()) {
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
        for row in rows(phrases) {
            if let Some(around) = find(&flat, row[0]) {
                report(file, row[0], format!("{file}: {:?} in \"…{around}…\": write {}", row[0], row[1]));
            }
        }
    }
    for (page, phrase) in exceptions.difference(&needed) {
        wrong.push(format!("words.txt: the exception {phrase:?} of {page} is no longer needed"));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What a newcomer asks, the page that the index links for it, and the text there that says it.
#[rustfmt::skip]
const QUESTIONS: [(&str, &str, &str); 12] = [
    ("How many bits does Hopper keep for FP8?", "matrix-units.md", "| H100, H200 | FP8 | 13 |"),
    ("Can I trust MI250X?", "proven.md", "CDNA2 (MI210, MI250X)"),
    ("How fast is FP16 on my laptop?", "speed.md", "| T-FDPA F16, F = 25 (hopper) |"),
    ("Why do my A100 and H100 differ?", "explain-a-mismatch.md", "bitmma diff a100 h100"),
    ("How do I add my own unit?", "protocol.md", "`exec:COMMAND`"),
    ("What does _scaled_mm do on an H100?", "calls.md", "## What does `_scaled_mm` do on an H100?"),
    ("How do I call it from C?", "c.md", "#include <bitmma.h>"),
    ("How do I cite it?", "../CITATION.cff", "please cite it"),
    ("What changed in the bits?", "../CHANGELOG.md", "### Bits"),
    ("What is not modeled?", "proven.md", "## Not modeled"),
    ("Is softmax the chip's?", "matrix-units.md", "softmax, exp, norms, activations, optimizer | the host"),
    ("Can I run my Triton kernel?", "kernels.md", "Triton compiles without a GPU"),
];

#[test]
fn questions_are_one_link_from_the_index() {
    let index = fs::read_to_string(root().join("docs/index.md")).unwrap();
    let linked: BTreeSet<String> = prose(&index).into_iter().flat_map(targets).collect();
    for (question, page, says) in QUESTIONS {
        assert!(linked.contains(page), "{question} docs/index.md does not link {page}");
        let text = fs::read_to_string(root().join("docs").join(page)).unwrap();
        let line = text.lines().position(|line| line.contains(says));
        println!(
            "{question} {page}, line {}",
            line.unwrap_or_else(|| panic!("{question} not in {page}: {says}")) + 1
        );
    }
}

#[test]
fn every_page_is_in_the_index() {
    let index = fs::read_to_string(root().join("docs/index.md")).unwrap();
    for (page, _) in pages() {
        let name = page.trim_start_matches("docs/");
        let is_linked = index.contains(&format!("({name})")) || index.contains(&format!("(../{name})"));
        assert!(is_linked || ["index.md", "README.md"].contains(&name), "{page} is not in docs/index.md");
    }
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
    let source = "// \"not this\"\nconst A: &str = \"a message \\\"here\\\"\"; let b = '\"'; x::<'a>(r#\"raw \" one\"#, \"{word} of {n}\", \"word\")\n\
                  #[cfg(test)] \"not that\"";
    assert_eq!(messages(source), "a message \\\"here\\\" | raw \" one |  of  | ");
}

/// What a newcomer to a clone needs stands on the first screen: one command for the first result, one for all tests, and no other.
#[test]
fn readme_names_the_two_commands_of_a_clone() {
    let text = fs::read_to_string(root().join("README.md")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let first = lines.iter().position(|line| *line == "```sh").unwrap();
    let length = lines[first + 1..].iter().position(|line| *line == "```").unwrap();
    let block = &lines[first + 1..first + 1 + length];
    let commands: Vec<&str> = block.iter().map(|line| line.split('#').next().unwrap().trim()).collect();
    assert_eq!(commands, ["cargo run --release -- compare", "./test"]);
    assert!(first + length < 30, "on the first screen, not on line {first}");
    assert!(text.contains("In a clone, two commands suffice"));
    // each is one: the binary that `cargo run` takes is the command, and the script is there to be run
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    assert!(manifest.contains("default-members = [\"crates/bitmma\"]"), "`cargo run` without --package");
    assert!(fs::metadata(root().join("test")).is_ok_and(|script| script.is_file()));
}

#[test]
fn the_house_has_every_crate() {
    let text = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let folders = fs::read_dir(root().join("crates")).unwrap();
    for name in folders.map(|entry| entry.unwrap().file_name().into_string().unwrap()) {
        assert!(
            text.contains(&format!("   crates/{name} ")),
            "CONTRIBUTING.md: the house lacks crates/{name}"
        );
    }
}

/// Whether the code has a crate, a module, a type, a function or a public field of this name.
fn is_in_code(name: &str, code: &[(String, String)]) -> bool {
    let name = name.strip_prefix("bitmma_").unwrap_or(name);
    let (floor, last) = name.rsplit_once("::").unwrap_or(("", name));
    let floor = format!("crates/{floor}");
    let file = [format!("/{last}.rs"), format!("/{last}/mod.rs")];
    let kinds = ["struct", "enum", "trait", "fn", "mod", "type", "pub"].map(|kind| format!("{kind} {last}"));
    let is_named = |text: &str| {
        kinds.iter().any(|kind| {
            let mut found = text.match_indices(kind.as_str());
            found.any(|(at, _)| {
                !text[at + kind.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_')
            })
        })
    };
    let is_there = |(path, text): &(String, String)| {
        path.starts_with(&floor) && (file.iter().any(|end| path.ends_with(end.as_str())) || is_named(text))
    };
    root().join("crates").join(last).is_dir() || code.iter().any(is_there)
}

/// The third column of the glossary, whose names are options of Rust functions, too.
#[test]
fn the_glossary_names_what_exists() {
    let code: Vec<(String, String)> = sources()
        .into_iter()
        .map(|(path, _)| (path.clone(), fs::read_to_string(root().join(path)).unwrap()))
        .collect();
    let text = fs::read_to_string(root().join("docs/glossary.md")).unwrap();
    let names = rows(&text).into_iter().filter_map(|cells| {
        let name = cells.get(3)?.strip_prefix('`')?.strip_suffix('`')?;
        Some(name.to_owned())
    });
    let missing: Vec<String> = names.filter(|name| !is_in_code(name, &code)).collect();
    assert!(missing.is_empty(), "docs/glossary.md: {missing:?} are not in the code");
    assert!(!is_in_code("catalogue::Made", &code));
}
