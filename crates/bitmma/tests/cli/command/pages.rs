//! Pages whose commands are run: the text block after a command holds what it prints.

use std::process::Command;

/// The `sh` blocks of a page, each with the `text` block after it.
fn blocks(page: &str) -> Vec<(Vec<String>, Vec<String>)> {
    let mut found: Vec<(Vec<String>, Vec<String>)> = vec![];
    let mut kind = "";
    for line in page.lines() {
        match (line.strip_prefix("```"), kind) {
            (Some(name), "") => {
                kind = ["sh", "text"].into_iter().find(|kind| *kind == name).unwrap_or("other");
                if kind == "sh" {
                    found.push((vec![], vec![]));
                }
            }
            (Some(_), _) => kind = "",
            (None, "sh") => found.last_mut().unwrap().0.push(line.to_owned()),
            (None, "text") if !found.is_empty() => found.last_mut().unwrap().1.push(line.to_owned()),
            _ => {}
        }
        if line.starts_with("```python") && !found.is_empty() {
            found.push((vec![], vec![])); // its text is not a command's
        }
    }
    found.retain(|(commands, _)| !commands.is_empty());
    found
}

/// Whether the lines of `printed` are those of `shown`, in which `…` stands for any lines.
fn agree(printed: &[&str], shown: &[String]) -> Result<(), String> {
    let mut rest = printed;
    let mut is_open = false;
    for line in shown {
        if line == "…" {
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

/// Runs the commands of a page in an empty folder.
fn run(page: &str, at_least: usize) {
    let blocks = blocks(page);
    assert!(blocks.len() >= at_least, "{}", blocks.len());
    let program = std::path::Path::new(assert_cmd::cargo::cargo_bin!("bitmma")).parent().unwrap().to_owned();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let folder = tempfile::tempdir().unwrap();
    for (commands, shown) in blocks {
        let mut printed = String::new();
        for line in &commands {
            let mut shell = Command::new("sh");
            shell.arg("-c").arg(line).env("PATH", &path).current_dir(folder.path());
            let output = shell.output().unwrap();
            printed += &String::from_utf8(output.stdout).unwrap();
            printed += &String::from_utf8(output.stderr).unwrap();
        }
        let lines: Vec<&str> = printed.lines().collect();
        if let Err(why) = agree(&lines, &shown) {
            panic!("{}\n{why}\n{printed}", commands.join("\n"));
        }
    }
}

#[test]
fn from_your_code() {
    run(include_str!("../../../../../docs/from-your-code.md"), 7);
}

#[test]
fn functions() {
    run(include_str!("../../../../../docs/functions.md"), 4);
}
