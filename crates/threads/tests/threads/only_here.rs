//! No other crate uses Rayon: its own pool would not outlive a fork.

use std::path::{Path, PathBuf};

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            files(&path, found);
        } else if name == "Cargo.toml" || name.ends_with(".rs") {
            found.push(path);
        }
    }
}

/// Lines of a file that name Rayon: in a manifest as a dependency, in Rust as a path.
fn users(name: &str, text: &str) -> Vec<String> {
    let uses = |line: &&str| match name.ends_with(".rs") {
        true => line.contains("rayon::") || line.contains("rayon as ") || line.contains("extern crate rayon"),
        false => line.starts_with("rayon") || line.contains("package = \"rayon"),
    };
    text.lines().filter(uses).map(|line| format!("{name}: {line}")).collect()
}

#[test]
fn rayon_is_used_in_this_crate_only() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = own.parent().unwrap().parent().unwrap();
    let mut all = Vec::new();
    for folder in ["crates", "fuzz"] {
        files(&root.join(folder), &mut all);
    }
    let (here, elsewhere): (Vec<_>, Vec<_>) = all.into_iter().partition(|path| path.starts_with(own));
    let of = |paths: &[PathBuf]| -> Vec<String> {
        paths
            .iter()
            .flat_map(|path| users(&path.display().to_string(), &std::fs::read_to_string(path).unwrap()))
            .collect()
    };
    assert!(of(&here).len() > 5, "the search finds nothing any more");
    let others = of(&elsewhere);
    assert!(others.is_empty(), "use `bitmma_threads` instead: {others:#?}");
}
