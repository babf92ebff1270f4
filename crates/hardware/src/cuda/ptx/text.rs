//! The parts that every kernel's PTX text is made of.

use std::fmt::Write;

use bitmma_engine::catalogue::lookup::Found;
use bitmma_engine::catalogue::{Family, Instruction};
use bitmma_engine::formats::{F16, F32, F64, Format, UE8M0};

use crate::gpu::Error;
use crate::gpu::image::{Placement, Registers, TileLayout};

/// A kernel and what its tiles look like.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The entry point.
    pub name: String,
    /// The entry point's text; [`module`](super::module) makes a module of it.
    pub text: String,
    /// Threads of a block.
    pub threads: u32,
    /// What a tile looks like.
    pub layout: TileLayout,
    /// The PTX version it needs: major, minor.
    pub version: (u32, u32),
}

/// The lowest PTX version that has the instruction, so that old drivers take it too (PTX ISA, release notes;
/// major, minor).
fn version(row: &Instruction) -> (u32, u32) {
    let four_factors = row.scale.is_some_and(|scale| row.products() / scale.size == 4);
    let own = match row.family {
        _ if four_factors && row.scale.is_some_and(|scale| scale.format == UE8M0) => (9, 1),
        Family::MmaSp => (8, 5), // ::ordered_metadata
        Family::WgmmaSp => (8, 2),
        _ if row.k == 64 => (8, 7),
        Family::MmaSync if row.a.bits() <= 8 => (8, 7),
        _ => (0, 0),
    };
    own.max(row.architecture.ptx())
}

impl Kernel {
    pub(super) fn new(
        found: &Found,
        name: String,
        text: String,
        threads: usize,
        layout: TileLayout,
    ) -> Kernel {
        Kernel { name, text, threads: threads as u32, layout, version: version(found.instruction) }
    }
}

/// The full PTX spelling: the first alias that begins so, with the M and N that were asked for.
pub(super) fn spelling(found: &Found, prefix: &str) -> Result<String, Error> {
    let row = found.instruction;
    let alias = row.aliases().into_iter().find(|alias| alias.starts_with(prefix));
    let (m, n) = (row.m.to_string(), row.n.to_string());
    let filled = |text: String, range: &str, size: usize| match range.starts_with('{') {
        true => text.replace(range, &size.to_string()),
        false => text,
    };
    alias.map(|text| filled(filled(text, &m, found.m), &n, found.n)).ok_or_else(|| Error::NoKernel {
        instruction: found.name(),
        reason: format!("the catalogue has no spelling of it that begins with {prefix}"),
    })
}

/// An identifier made of a name.
pub(super) fn identifier(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// The type of the registers that hold an operand.
fn register_type(format: Format) -> &'static str {
    match format {
        F64 => "f64",
        F32 => "f32",
        _ => "b32",
    }
}

/// `{a0,a1,a2}`
pub(super) fn vector(name: &str, range: std::ops::Range<usize>) -> String {
    let registers: Vec<String> = range.map(|index| format!("{name}{index}")).collect();
    format!("{{{}}}", registers.join(","))
}

/// Codes of 16 bits stand two in a register, wider ones each in its own: register and bit of the `index`-th.
pub(super) fn packed(index: usize, format: Format) -> (usize, usize) {
    if format == F16 { (index / 2, index % 2 * 16) } else { (index, 0) }
}

/// Registers for the C and D of `elements` codes a thread.
pub(super) fn accumulators(threads: usize, elements: usize, format: Format) -> Registers {
    let count = if format == F16 { elements / 2 } else { elements };
    Registers { threads, count, bits: if format == F64 { 64 } else { 32 } }
}

/// The text of an entry point as it grows.
pub(super) struct Text(String);

impl Text {
    /// Up to the point where `input` and `output` hold the tile's addresses and `thread` the thread.
    pub(super) fn entry(name: &str, threads: usize, layout: &TileLayout) -> Text {
        let mut text = Text(format!(
            "\n.visible .entry {name}(.param .u64 from, .param .u64 to)\n.reqntid {threads}, 1, 1\n{{\n"
        ));
        text.line(".reg .b64 input, output, address;");
        text.line(".reg .b32 tile, thread, warp, word;");
        text.line("ld.param.u64 input, [from];");
        text.line("ld.param.u64 output, [to];");
        text.line("mov.u32 tile, %ctaid.x;");
        text.line("mov.u32 thread, %tid.x;");
        text.line(format_args!("mad.wide.u32 input, tile, {}, input;", 4 * layout.input_words()));
        text.line(format_args!("mad.wide.u32 output, tile, {}, output;", 4 * layout.output_words()));
        text
    }

    pub(super) fn line(&mut self, line: impl std::fmt::Display) {
        writeln!(self.0, "\t{line}").expect("text grows");
    }

    /// Registers `{name}0` and on of `format`.
    pub(super) fn registers(&mut self, name: &str, format: Format, count: usize) {
        self.line(format_args!(".reg .{} {name}<{count}>;", register_type(format)));
    }

    /// Sets `address` to a thread's first register of a fragment; `thread` names the register that holds
    /// its number.
    pub(super) fn locate(&mut self, base: &str, thread: &str, word: usize, registers: &Registers) {
        let bytes = registers.bits / 8;
        self.line(format_args!("mad.wide.u32 address, {thread}, {bytes}, {base};"));
        if word > 0 {
            self.line(format_args!("add.u64 address, address, {};", 4 * word));
        }
    }

    /// Loads an operand's registers, declared here, from that word of the tile on.
    pub(super) fn load(&mut self, name: &str, word: usize, format: Format, registers: &Registers) {
        self.registers(name, format, registers.count);
        self.locate("input", "thread", word, registers);
        let stride = registers.threads * registers.bits / 8;
        for index in 0..registers.count {
            let kind = register_type(format);
            self.line(format_args!("ld.global.{kind} {name}{index}, [address+{}];", index * stride));
        }
    }

    /// Sets a descriptor to its fields and the address `start` bytes behind `base`.
    pub(super) fn descriptor(&mut self, name: &str, start: usize, fields: u64) {
        self.line(format_args!("add.u32 word, base, {start};"));
        self.line("shr.u32 word, word, 4;");
        self.line(format_args!("cvt.u64.u32 {name}, word;"));
        self.line(format_args!("or.b64 {name}, {name}, {fields:#x};"));
    }

    /// Loads the metadata of a sparse A, which ends the background of a tile, into `e0`; what it adds to the
    /// instruction's operands, nothing where A is dense.
    pub(super) fn metadata(&mut self, layout: &TileLayout, threads: usize) -> &'static str {
        let Some(word) = layout.background.len().checked_sub(threads) else { return "" };
        self.load("e", word, F16, &Registers { threads, count: 1, bits: 32 });
        ", e0, 0" // with a sparsity selector of zero
    }

    /// Stores D's registers and ends the entry point.
    pub(super) fn store(
        mut self,
        name: &str,
        placement: &Placement,
        format: Format,
        registers: &Registers,
    ) -> String {
        self.locate("output", "thread", placement.words.start, registers);
        let stride = registers.threads * registers.bits / 8;
        for index in 0..registers.count {
            let kind = register_type(format);
            self.line(format_args!("st.global.{kind} [address+{}], {name}{index};", index * stride));
        }
        self.end()
    }

    pub(super) fn end(mut self) -> String {
        self.line("ret;");
        self.0 + "}\n"
    }

    /// Copies `bytes` (a multiple of 16) of the tile, from its first on, to shared memory at `shared`, by
    /// all threads, 16 bytes each at a time.
    pub(super) fn copy_to_shared(&mut self, shared: &str, bytes: usize, threads: usize) {
        self.line(".reg .b32 v<4>;");
        self.line(".reg .b32 inside;");
        self.line(".reg .pred copies;");
        self.line("mad.wide.u32 address, thread, 16, input;");
        self.line(format_args!("mad.lo.u32 inside, thread, 16, {shared};"));
        for start in (0..bytes).step_by(16 * threads) {
            let left = (bytes - start) / 16;
            let guard = if left < threads {
                self.line(format_args!("setp.lt.u32 copies, thread, {left};"));
                "@copies "
            } else {
                ""
            };
            self.line(format_args!("{guard}ld.global.v4.b32 {{v0,v1,v2,v3}}, [address+{start}];"));
            self.line(format_args!("{guard}st.shared.v4.b32 [inside+{start}], {{v0,v1,v2,v3}};"));
        }
    }
}
