//! Code blocks of README and of the pages: each one runs in a test, or a comment before it says why it does not.
//!
//! `sh` blocks run here, those of a page in one folder, and the `text` block after one holds what it prints. Python
//! blocks run in `crates/python/tests/test_guide.py`, Rust of the README as a test of the documentation, C and C++ in
//! `crates/c/tests/c/page.rs`. Comments before a block:
//!
//! - `<!-- not run: REASON -->`
//! - `<!-- file: NAME -->`: the block is written there, for the commands after it

use std::fs;

use super::examples::prepare;
use super::shell;
use crate::docs;

/// A code block of a page.
#[derive(Debug)]
struct Block<'p> {
    /// The number of its first line.
    line: usize,
    language: &'p str,
    lines: Vec<&'p str>,
    /// Why it does not run.
    reason: Option<&'p str>,
    /// The file that it is written to.
    file: Option<&'p str>,
}

impl Block<'_> {
    fn runs(&self) -> bool {
        self.reason.is_none() && self.language != "text"
    }
}

/// The text of a comment of this kind.
fn comment<'p>(line: &'p str, kind: &str) -> Option<&'p str> {
    Some(line.strip_prefix("<!-- ")?.strip_prefix(kind)?.strip_suffix("-->")?.trim())
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut found: Vec<Block<'_>> = vec![];
    let mut is_open = false;
    let mut before = "";
    for (index, line) in page.lines().enumerate() {
        match (line.strip_prefix("```"), is_open) {
            (Some(language), false) => {
                let (reason, file) = (comment(before, "not run:"), comment(before, "file:"));
                found.push(Block { line: index + 1, language, lines: vec![], reason, file });
                is_open = true;
            }
            (Some(_), true) => (is_open, before) = (false, ""),
            (None, true) => found.last_mut().unwrap().lines.push(line),
            (None, false) => before = line,
        }
    }
    found
}

/// What is wrong with the block of a page, which `before` precedes, if anything.
fn unchecked(page: &str, block: &Block<'_>, before: Option<&Block<'_>>) -> Option<String> {
    let place = format!("{page}:{}", block.line);
    if let Some(reason) = block.reason {
        return reason.is_empty().then(|| format!("{place}: no reason is given"));
    }
    let runs = match (page, block.language) {
        (_, "sh" | "python") | ("README.md", "rust") | ("docs/c.md", "c" | "cpp") => true,
        (_, "text") => before.is_some_and(Block::runs),
        _ => block.file.is_some(),
    };
    let remedy = "say why by <!-- not run: REASON --> on the line before it";
    (!runs).then(|| format!("{place}: no test runs this block of {:?}; {remedy}", block.language))
}

/// The commands of a block: lines that end in `\` go on in the next.
fn commands(block: &Block<'_>) -> Vec<String> {
    let text = block.lines.join("\n").replace("\\\n", " ");
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect()
}

/// Whether the lines of `printed` are those of `shown`, in which `…` stands for any lines.
fn agree(printed: &[&str], shown: &[&str]) -> Result<(), String> {
    let mut rest = printed;
    let mut is_open = false;
    for line in shown {
        if *line == "…" {
            is_open = true;
            continue;
        }
        let at = match is_open {
            true => rest.iter().position(|one| one.trim_end() == line.trim_end()),
            false => (rest.first().map(|one| one.trim_end()) == Some(line.trim_end())).then_some(0),
        };
        rest = &rest[at.ok_or_else(|| format!("not printed here: {line}"))? + 1..];
        is_open = false;
    }
    if rest.is_empty() || is_open { Ok(()) } else { Err(format!("printed, not shown: {}", rest[0])) }
}

/// Runs the commands of a page in a folder of its own, and says what went wrong and how many ran.
fn run(page: &str, text: &str) -> (Vec<String>, usize) {
    let folder = tempfile::tempdir().unwrap();
    let operands: &[&str] = match page {
        "docs/calls.md" => &["call", "gemm"],
        "docs/plan-format.md" => &["call"],
        "docs/kernels.md" => &["kernel"],
        _ => &[""],
    };
    operands.iter().for_each(|command| prepare(folder.path(), command));
    let blocks = blocks(text);
    let (mut wrong, mut count) = (vec![], 0);
    for (index, block) in blocks.iter().enumerate() {
        if let Some(file) = block.file {
            fs::write(folder.path().join(file), block.lines.join("\n")).unwrap();
        }
        if !block.runs() || block.language != "sh" {
            continue;
        }
        let shown = blocks.get(index + 1).filter(|next| next.language == "text" && next.reason.is_none());
        let mut printed = String::new();
        for line in commands(block) {
            count += 1;
            let ended = shell(&line, folder.path()).output().unwrap();
            printed += &String::from_utf8(ended.stdout).unwrap();
            printed += &String::from_utf8(ended.stderr).unwrap();
            if shown.is_none() && !ended.status.success() {
                wrong.push(format!("{page}:{}: {line}\n{}\n{printed}", block.line, ended.status));
            }
        }
        let lines: Vec<&str> = printed.lines().collect();
        if let Some(Err(why)) = shown.map(|shown| agree(&lines, &shown.lines)) {
            wrong.push(format!("{page}:{}: {why}\n{printed}", block.line));
        }
    }
    (wrong, count)
}

/// README and the pages that are not printed from tables, which `docs_are_current` checks.
fn pages() -> Vec<(String, String)> {
    let pages = docs::pages().into_iter();
    pages.filter(|(_, text)| !text.starts_with("<!-- Printed from the ")).collect()
}

#[test]
fn every_block_runs_or_says_why_not() {
    let mut wrong = vec![];
    for (page, text) in pages() {
        let blocks = blocks(&text);
        for (index, block) in blocks.iter().enumerate() {
            wrong.extend(unchecked(&page, block, index.checked_sub(1).map(|before| &blocks[before])));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn commands_print_what_pages_show() {
    let (mut wrong, mut count) = (vec![], 0);
    for (page, text) in pages() {
        let (found, ran) = run(&page, &text);
        wrong.extend(found);
        count += ran;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(count > 40, "only {count} commands were found");
}

#[test]
fn a_block_that_nothing_runs_is_found() {
    let page = "```sh\nbitmma \\\n  list\n# no\n```\n\n```text\n```\n\n```text\n```\n\n<!-- not run: too long -->\n```sh\n```\n\
                <!-- not run: -->\n```json\n```\n```toml\n```\n<!-- file: a.toml -->\n```toml\nx = 1\n```\n```rust\n```\n";
    let found = blocks(page);
    assert_eq!(commands(&found[0]), ["bitmma    list"]);
    let is_wrong: Vec<bool> = (0..found.len())
        .map(|at| {
            unchecked("docs/a.md", &found[at], at.checked_sub(1).map(|before| &found[before])).is_some()
        })
        .collect();
    assert_eq!(is_wrong, [false, false, true, false, true, true, false, true]);
    assert_eq!(found[6].file, Some("a.toml"));
    assert!(agree(&["a", "b", "c"], &["a", "…", "c"]).is_ok());
    assert!(agree(&["a", "b", "c"], &["…", "b"]).is_err());
    let (wrong, count) =
        run("docs/a.md", "```sh\nbitmma --version\nfalse\n```\n```sh\necho a\n```\n```text\nb\n```\n");
    assert_eq!((wrong.len(), count), (2, 3), "{wrong:?}");
}
