//! Where `bitmma record` and others write, and what `record` refuses.

use std::path::Path;

use super::{F16, bitmma, command, end};

fn record(out: &Path, more: &[&str]) -> super::Ended {
    let unit = format!("sim:hopper/{F16}");
    let few = ["--samples", "3", "--directed", "3", "--out", out.to_str().unwrap()];
    bitmma(&[&["record", &unit][..], &few, more].concat())
}

#[test]
fn a_folder_that_is_not_there_is_named_before_anything_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let nowhere = folder.path().join("nowhere");
    let ended = record(&nowhere.join("r.csv"), &[]);
    assert!(ended.refused().contains(&format!("there is no directory {}", nowhere.display())), "{ended:?}");
    assert!(record(folder.path(), &[]).refused().contains("it is a directory"));
    // a unit that takes for ever is not waited for
    let out = nowhere.join("r.csv").display().to_string();
    for command in [
        &["record", "exec:sleep 1000", "--out", &out][..],
        &["verify", "exec:sleep 1000", "--failures", &out],
    ] {
        assert!(bitmma(command).refused().contains("there is no directory"), "{command:?}");
    }
}

#[test]
fn a_file_in_the_place_of_a_folder_is_named() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let (path, unit) = (file.path().to_str().unwrap(), format!("sim:hopper/{F16}"));
    for command in [
        &["probe", &unit, "--out", path][..],
        &["verify", &unit, "--state", path],
        &["generate", "man", path],
    ] {
        let ended = bitmma(command);
        assert!(ended.refused().contains(&format!("{path}: it exists and is not a directory")), "{ended:?}");
    }
}

#[test]
fn documents_are_generated_in_a_checkout() {
    let folder = tempfile::tempdir().unwrap();
    let generate = |more: &[&str]| {
        let mut command = command(&["generate", "docs", "out"]);
        end(command.args(more).current_dir(folder.path()))
    };
    let ended = generate(&[]);
    assert!(ended.refused().contains("recordings/hardware: there is no such folder; "), "{ended:?}");
    assert!(
        ended.refused().contains("run it at the checkout's root, or name its recordings with --recordings")
    );
    assert!(!folder.path().join("out").exists());
    let recordings = concat!(env!("CARGO_MANIFEST_DIR"), "/../../recordings");
    generate(&["--recordings", recordings]).fine();
    assert!(folder.path().join("out/proven.md").is_file());
}

#[test]
fn no_dot_product_and_too_many_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("one.csv");
    let unit = format!("sim:hopper/{F16}");
    for (samples, message) in [
        ("0", "--samples and --directed are 0; one dot product is needed at least"),
        ("1e15", "'1e15' for '--samples <N>': must be an integer from 0 to 10000000"),
    ] {
        let out = out.to_str().unwrap();
        let ended = bitmma(&["record", &unit, "--samples", samples, "--directed", "0", "--out", out]);
        assert!(ended.refused().contains(message), "{ended:?}");
    }
    assert!(!out.exists());
}

#[test]
fn a_model_beside_one_of_the_catalogue_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (out, model) = (folder.path().join("r.csv"), folder.path().join("m.toml"));
    let with = || record(&out, &["--model", model.to_str().unwrap()]);
    assert!(with().refused().contains("m.toml: "));
    std::fs::write(&model, b"\x89PNG").unwrap();
    assert!(with().refused().contains("it looks like a binary file; a model file (TOML) was expected"));
    std::fs::write(&model, bitmma(&["show", "hopper", F16, "--toml"]).fine()).unwrap();
    assert!(with().refused().contains("is in the catalogue"));
    assert!(!out.exists());
}

/// A link keeps leading where it led; a pipe is written into and stays one.
#[cfg(unix)]
#[test]
fn links_and_pipes_stay_what_they_are() {
    use std::os::unix::fs::FileTypeExt;

    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("file.csv"), "old").unwrap();
    std::os::unix::fs::symlink("file.csv", path("link.csv")).unwrap();
    record(&path("link.csv"), &[]).fine();
    assert!(path("link.csv").is_symlink());
    let written = std::fs::read_to_string(path("file.csv")).unwrap();
    assert_eq!(written.lines().filter(|line| line.starts_with("hopper,")).count(), 6);

    let made = std::process::Command::new("mkfifo").arg(path("pipe.csv")).status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no mkfifo");
        return;
    }
    let pipe = path("pipe.csv");
    let reader = std::thread::spawn(move || std::fs::read_to_string(pipe).unwrap());
    record(&path("pipe.csv"), &[]).fine();
    assert_eq!(reader.join().unwrap(), written);
    assert!(std::fs::metadata(path("pipe.csv")).unwrap().file_type().is_fifo());
}
