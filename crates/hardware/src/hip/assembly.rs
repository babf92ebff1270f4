//! AMDGPU assembly for one instruction: a kernel that loads a tile, runs the instruction once, and stores D.
//!
//! A wave does one tile; block b of the grid does tile b. The kernel takes two pointers, to the tiles
//! that go in and to those that come out. Source: LLVM, "User Guide for AMDGPU Backend" (kernel descriptor, code
//! object metadata); AMD's ISA manuals, "Manually inserted wait states".

use std::fmt::{Display, Write};
use std::ops::Range;

use bitmma_engine::catalogue::Family;
use bitmma_engine::catalogue::lookup::Found;
use bitmma_engine::{Architecture, Signature};

use super::registers::{Counts, LANES, layout};
use crate::gpu::image::Registers;
use crate::gpu::{Error, TileLayout};

/// A kernel and what its tiles look like.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The kernel's symbol.
    pub name: String,
    /// Its text, whole with descriptor and metadata.
    pub text: String,
    /// What a tile looks like.
    pub layout: TileLayout,
}

/// Threads of a block: a wave.
pub const THREADS: u32 = LANES as u32;

/// The first register that holds an operand; before it stand the lane and the offset. Even, as CDNA2 and
/// CDNA3 want operands of two registers to begin.
const FIRST: usize = 2;

/// The kernel of an instruction that was looked up.
pub fn kernel(found: &Found) -> Result<Kernel, Error> {
    let row = found.instruction;
    if row.family != Family::Mfma {
        let reason = "it is not an instruction of AMD's hardware".to_owned();
        return Err(Error::NoKernel { instruction: found.name(), reason });
    }
    if row.d.is_integer() {
        return Err(Error::of_integers(found.name()));
    }
    let signature = Signature::found(found);
    let (counts, layout) = (Counts::of(&signature), layout(&signature));
    let name = format!("bitmma_{}", found.name());
    let text = text(row.architecture, &name, &found.name(), &counts, &layout);
    Ok(Kernel { name, text, layout })
}

/// Vector registers of 32 bits.
fn words(registers: &Registers) -> usize {
    registers.count * registers.bits / 32
}

/// `v[2:5]`, or `v2` for one.
fn tuple(file: char, registers: &Range<usize>) -> String {
    match registers.len() {
        1 => format!("{file}{}", registers.start),
        _ => format!("{file}[{}:{}]", registers.start, registers.end - 1),
    }
}

struct Text(String);

impl Text {
    fn line(&mut self, line: impl Display) {
        writeln!(self.0, "\t{line}").expect("text grows");
    }

    /// More wait states than any hazard of a matrix instruction asks for (the most is 19).
    fn settle(&mut self) {
        for _ in 0..2 {
            self.line("s_nop 15");
        }
    }

    /// Moves the registers between memory at `pointer` and v`range`, `v1` holding the offset of the next.
    fn transfer(&mut self, loads: bool, pointer: &str, range: &Range<usize>, registers: &Registers) {
        let (step, kind) = (registers.bits / 32, if registers.bits == 64 { "dwordx2" } else { "dword" });
        for start in range.clone().step_by(step) {
            let held = tuple('v', &(start..start + step));
            match loads {
                true => self.line(format_args!("global_load_{kind} {held}, v1, {pointer}")),
                false => self.line(format_args!("global_store_{kind} v1, {held}, {pointer}")),
            }
            self.line(format_args!("v_add_u32_e32 v1, {}, v1", LANES * registers.bits / 8));
        }
    }
}

fn text(
    architecture: Architecture,
    name: &str,
    mnemonic: &str,
    counts: &Counts,
    layout: &TileLayout,
) -> String {
    // the matrix unit of CDNA1 takes C and D in accumulation registers alone
    let accumulates = architecture.unit() == Architecture::Cdna1;
    let even = |at: usize| at.next_multiple_of(2);
    let a = FIRST..FIRST + words(&counts.a);
    let b = even(a.end)..even(a.end) + words(&counts.b);
    let c = even(b.end)..even(b.end) + words(&counts.c);
    let d = if accumulates { tuple('a', &(0..c.len())) } else { tuple('v', &c) };
    let bytes_per_lane = counts.a.bits / 8;
    let mut text =
        Text(format!("\t.text\n\t.globl {name}\n\t.p2align 8\n\t.type {name},@function\n{name}:\n"));
    text.line("s_load_dwordx4 s[4:7], s[0:1], 0x0");
    text.line("v_and_b32_e32 v0, 0x3ff, v0");
    text.line(format_args!("v_lshlrev_b32_e32 v0, {}, v0", bytes_per_lane.ilog2()));
    text.line("s_waitcnt lgkmcnt(0)");
    for (low, high, words) in [("s4", "s5", layout.input_words()), ("s6", "s7", layout.output_words())] {
        text.line(format_args!("s_mul_i32 s8, s2, {}", 4 * words));
        text.line(format_args!("s_mul_hi_u32 s9, s2, {}", 4 * words));
        text.line(format_args!("s_add_u32 {low}, {low}, s8"));
        text.line(format_args!("s_addc_u32 {high}, {high}, s9"));
    }
    for (range, registers, placement) in [
        (&a, &counts.a, &layout.inputs[0]),
        (&b, &counts.b, &layout.inputs[1]),
        (&c, &counts.c, &layout.inputs[2]),
    ] {
        text.line(format_args!("v_add_u32_e32 v1, {}, v0", 4 * placement.words.start));
        text.transfer(true, "s[4:5]", range, registers);
    }
    text.line("s_waitcnt vmcnt(0)");
    if accumulates {
        for (to, from) in c.clone().enumerate() {
            text.line(format_args!("v_accvgpr_write_b32 a{to}, v{from}"));
        }
    }
    text.settle();
    text.line(format_args!("{mnemonic} {d}, {}, {}, {d}", tuple('v', &a), tuple('v', &b)));
    text.settle();
    if accumulates {
        for (from, to) in c.clone().enumerate() {
            text.line(format_args!("v_accvgpr_read_b32 v{to}, a{from}"));
        }
        text.settle();
    }
    text.line("v_mov_b32_e32 v1, v0");
    text.transfer(false, "s[6:7]", &c, &counts.c);
    text.line("s_endpgm");
    text.0 + &descriptor(name, c.end, accumulates)
}

/// Kernel descriptor and metadata; `vectors` is the number of vector registers. Subnormal numbers are kept, as in
/// what HIP's compiler makes.
fn descriptor(name: &str, vectors: usize, accumulates: bool) -> String {
    // CDNA2 and CDNA3 say where accumulation registers begin, in steps of 4; they need none here
    let offset = match accumulates {
        true => String::new(),
        false => format!("\t\t.amdhsa_accum_offset {}\n", vectors.next_multiple_of(4)),
    };
    let accumulators = if accumulates { vectors } else { 0 };
    format!(
        "\t.size {name}, .-{name}
\t.rodata
\t.p2align 6
\t.amdhsa_kernel {name}
\t\t.amdhsa_user_sgpr_kernarg_segment_ptr 1
\t\t.amdhsa_system_sgpr_workgroup_id_x 1
\t\t.amdhsa_kernarg_size 16
\t\t.amdhsa_float_denorm_mode_32 3
{offset}\t\t.amdhsa_next_free_vgpr {vectors}
\t\t.amdhsa_next_free_sgpr 16
\t.end_amdhsa_kernel
\t.amdgpu_metadata
---
amdhsa.version: [ 1, 1 ]
amdhsa.kernels:
  - .name: {name}
    .symbol: {name}.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .max_flat_workgroup_size: 64
    .sgpr_count: 16
    .vgpr_count: {vectors}
    .agpr_count: {accumulators}
    .args:
      - .offset: 0
        .size: 8
        .value_kind: global_buffer
        .address_space: global
      - .offset: 8
        .size: 8
        .value_kind: global_buffer
        .address_space: global
...
\t.end_amdgpu_metadata
"
    )
}
