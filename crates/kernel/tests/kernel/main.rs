//! Tests of this crate, one executable.
#![allow(missing_docs, clippy::print_stdout, clippy::unwrap_used)] // tests panic where they fail, and print what they counted

mod agreement;
