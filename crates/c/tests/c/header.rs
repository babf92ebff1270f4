//! The header is what the sources say.

use std::path::Path;

use cbindgen::{Builder, Config, DocumentationStyle, Language, SortKey, Style};

const HEAD: &str = "\
/* bitmma: what the matrix multiply-accumulate instructions of GPUs return, bit for bit.
 *
 * Operand bits go in, result bits come out: docs/c.md has examples.
 *
 * Every function may be called from any thread, and any number of threads may use one unit at once. Pointers must be NULL
 * where that is allowed, or valid for what the function reads and writes there. Texts are UTF-8 and end with a zero.
 * Everything else is checked: what is wrong is an error, and then outputs are as they were.
 *
 * This file is made from the sources in crates/c/src; a test compares it. */";

fn made() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut config = Config {
        language: Language::C,
        header: Some(HEAD.to_owned()),
        include_guard: Some("BITMMA_H".to_owned()),
        cpp_compat: true,
        documentation_style: DocumentationStyle::C99,
        style: Style::Both,
        usize_is_size_t: true,
        no_includes: true,
        sys_includes: vec!["stddef.h".to_owned(), "stdint.h".to_owned()],
        line_length: 120,
        ..Config::default()
    };
    config.function.sort_by = Some(SortKey::None);
    let mut builder = Builder::new().with_config(config);
    for file in [
        "status",
        "buffer",
        "unit",
        "multiply",
        "gemm",
        "prepared",
        "explain",
        "convert",
        "function",
        "kernel",
        "tensor_map",
        "launch",
    ] {
        builder = builder.with_src(folder.join("src").join(file).with_extension("rs"));
    }
    let mut text = Vec::new();
    builder.generate().expect("the sources read").write(&mut text);
    String::from_utf8(text).expect("UTF-8")
}

/// `BITMMA_RENEW=1 cargo test --workspace --test c header::` writes it.
#[test]
fn the_header_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/bitmma.h");
    let made = made();
    if std::env::var_os("BITMMA_RENEW").is_some() {
        std::fs::write(&path, &made).expect("the header is written");
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    let renew = "BITMMA_RENEW=1 cargo test --workspace --test c header:: writes it";
    assert!(there == made, "crates/c/include/bitmma.h is stale: {renew}");
}
