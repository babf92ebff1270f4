//! The programs of docs/c.md print what the page says.

use std::process::Command;

use crate::tools::{compile_file, folder, out, run};

/// The blocks of a page: their language and text.
fn blocks(page: &str) -> Vec<(&str, &str)> {
    let mut blocks = Vec::new();
    let mut rest = page;
    while let Some((_, after)) = rest.split_once("```") {
        let (language, after) = after.split_once('\n').expect("a line after the fence");
        let (text, after) = after.split_once("```").expect("an end of the block");
        blocks.push((language, text));
        rest = after;
    }
    blocks
}

#[test]
fn programs_print_what_the_page_says() {
    let page = std::fs::read_to_string(folder().join("../../docs/c.md")).expect("the page");
    let place = tempfile::tempdir().expect("a folder");
    let mut programs = 0;
    for pair in blocks(&page).windows(2) {
        let [(language @ ("c" | "cpp"), program), ("text", expected)] = *pair else { continue };
        let source = place.path().join(format!("page{programs}.{language}"));
        std::fs::write(&source, program).expect("written");
        let Some(program) = compile_file(place.path(), &source, &["-Wno-missing-field-initializers"]) else {
            return;
        };
        assert_eq!(out(&run(&mut Command::new(program))), expected);
        programs += 1;
    }
    assert_eq!(programs, 3);
}
