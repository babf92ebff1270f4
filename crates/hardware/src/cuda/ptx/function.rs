//! PTX text for an instruction of one operand of 32 bits: one kernel for results, one for digests of results.
//!
//! A tile is [`TILE`] inputs, [`INPUTS`] for each of [`THREADS`] threads. `values` takes them as words and stores a result
//! for each. `digest` takes the first of consecutive codes, in the first of four words; each thread stores the sum modulo
//! 2^64 of the terms of its own ([`bitmma_engine::functions::digest`]), and the host adds them: no atomic operations.

use std::fmt::Write;

use bitmma_engine::Architecture;

/// The entry point that stores results.
pub const VALUES: &str = "values";
/// The entry point that stores sums.
pub const DIGEST: &str = "digest";
/// Threads of a block.
pub const THREADS: u32 = 128;
/// Inputs of a thread.
pub const INPUTS: usize = 64;
/// Inputs of a tile.
pub const TILE: usize = THREADS as usize * INPUTS;
/// Words that go in for a tile of `digest`.
pub const TILE_INPUT_WORDS: usize = 4;

/// A module with one of the kernels of an instruction: [`VALUES`] or [`DIGEST`].
pub fn module(architecture: Architecture, instruction: &str, entry: &str) -> String {
    // FP32 functions are older than any of our targets; tanh and packed ex2 are of PTX 7.0, packed BF16 of 7.8
    let (major, minor) = match architecture.ptx() {
        (6, 5) => (7, 0), // Turing is older than those it has
        own => own,
    };
    let target = architecture.target();
    let text = if entry == DIGEST { digest(instruction) } else { values(instruction) };
    format!(".version {major}.{minor}\n.target {target}\n.address_size 64\n{text}")
}

/// An entry point up to where `input` and `output` are the addresses of a tile that has that many words.
fn entry(name: &str, input_words: usize, output_words: usize) -> String {
    format!(
        "\n.visible .entry {name}(.param .u64 from, .param .u64 to)\n.reqntid {THREADS}, 1, 1\n{{
\t.reg .b64 input, output, address, wide, part, sum;
\t.reg .b32 tile, thread, first, x, y;
\tld.param.u64 input, [from];
\tld.param.u64 output, [to];
\tmov.u32 tile, %ctaid.x;
\tmov.u32 thread, %tid.x;
\tmad.wide.u32 input, tile, {}, input;
\tmad.wide.u32 output, tile, {}, output;
",
        4 * input_words,
        4 * output_words
    )
}

fn values(instruction: &str) -> String {
    let mut text = entry(VALUES, TILE, TILE);
    text += "\tmad.wide.u32 address, thread, 4, input;\n\tmad.wide.u32 part, thread, 4, output;\n";
    for index in 0..INPUTS {
        let offset = 4 * index * THREADS as usize;
        let lines = [
            format!("ld.global.b32 x, [address+{offset}];"),
            format!("{instruction} y, x;"),
            format!("st.global.b32 [part+{offset}], y;"),
        ];
        lines.iter().for_each(|line| writeln!(text, "\t{line}").expect("text grows"));
    }
    text + "\tret;\n}\n"
}

fn digest(instruction: &str) -> String {
    let mut text = entry(DIGEST, TILE_INPUT_WORDS, 2 * THREADS as usize);
    text += "\tld.global.b32 first, [input+0];\n\tadd.u32 first, first, thread;\n\tmov.u64 sum, 0;\n";
    for index in 0..INPUTS {
        let lines = [
            format!("add.u32 x, first, {};", index * THREADS as usize),
            format!("{instruction} y, x;"),
            "cvt.u64.u32 wide, x;".to_owned(),
            "shl.b64 wide, wide, 32;".to_owned(),
            "cvt.u64.u32 part, y;".to_owned(),
            "or.b64 wide, wide, part;".to_owned(),
            "add.u64 wide, wide, 0x9e3779b97f4a7c15;".to_owned(),
            "shr.u64 part, wide, 30;".to_owned(),
            "xor.b64 wide, wide, part;".to_owned(),
            "mul.lo.u64 wide, wide, 0xbf58476d1ce4e5b9;".to_owned(),
            "shr.u64 part, wide, 27;".to_owned(),
            "xor.b64 wide, wide, part;".to_owned(),
            "mul.lo.u64 wide, wide, 0x94d049bb133111eb;".to_owned(),
            "shr.u64 part, wide, 31;".to_owned(),
            "xor.b64 wide, wide, part;".to_owned(),
            "add.u64 sum, sum, wide;".to_owned(),
        ];
        lines.iter().for_each(|line| writeln!(text, "\t{line}").expect("text grows"));
    }
    text + "\tmad.wide.u32 address, thread, 8, output;\n\tst.global.u64 [address+0], sum;\n\tret;\n}\n"
}
