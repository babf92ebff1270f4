//! The documents in `docs/` are what the tables say today.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

fn files(folder: &Path) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md" || extension == "csv"))
        .map(|path| {
            (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read_to_string(path).unwrap())
        })
        .collect()
}

#[test]
fn docs_are_current() {
    let fresh = tempfile::tempdir().unwrap();
    let status = Command::new(assert_cmd::cargo::cargo_bin!("bitmma"))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .args(["generate", "docs"])
        .arg(fresh.path())
        .status()
        .unwrap();
    assert!(status.success());
    let docs = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs"));
    for (name, text) in files(fresh.path()) {
        let stands = docs.get(&name).map_or("", String::as_str);
        let line = text.lines().zip(stands.lines()).take_while(|(fresh, stands)| fresh == stands).count() + 1;
        assert!(
            text == stands,
            "docs/{name} is stale from line {line} on; renew it with\n    cargo run -- generate docs docs"
        );
    }
}
