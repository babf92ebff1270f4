//! `wgmma.mma_async`, dense and sparse: four warps; A and B in shared memory, C and D in registers.
//!
//! A and B stand in shared memory as the host packed them: K along memory, no swizzling. Source: PTX
//! ISA, "Asynchronous warpgroup level matrix instructions", "Matrix descriptor format".

use bitmma_engine::Signature;
use bitmma_engine::catalogue::lookup::Found;
use bitmma_engine::formats::{BF16, F16};

use super::super::fragment::{CORE, accumulator, in_core_matrices};
use super::super::sparse::Selection;
use super::text::{Kernel, Text, accumulators, identifier, packed, spelling, vector};
use crate::gpu::Error;
use crate::gpu::image::{Placement, RegisterBit, TileLayout, Words};

/// A warpgroup.
const THREADS: usize = 128;

/// Bytes of a row of A or column of B: K is chosen by NVIDIA so that it is always this. Beside a sparse A a
/// column of B has twice as many.
pub(super) const LINE: usize = 32;

/// The fields of a matrix descriptor but for the address: byte distance of core matrices along K in bits
/// 16 to 29, of groups of eight lines in bits 32 to 45, both over 16; no swizzling. A line has `cores` core
/// matrices.
pub(super) const fn descriptor_fields(cores: u64) -> u64 {
    ((CORE as u64 / 16) << 16) | ((cores * CORE as u64 / 16) << 32)
}

/// Core matrices of a column of B: those of [`LINE`], twice as many beside a sparse A.
fn cores_of_b(selection: Option<&Selection>) -> usize {
    if selection.is_some() { 4 } else { 2 }
}

fn layout(signature: &Signature, selection: Option<&Selection>) -> TileLayout {
    let Signature { m, n, k: all_k, a, b, c, d, .. } = *signature;
    let [shape_a, shape_b, shape_c, ..] = signature.shapes();
    let mut words = Words::default();
    let registers = accumulators(THREADS, m * n / THREADS, c);
    let offset = |_, row, column| {
        let (thread, element) = accumulator(row, column, m);
        let (register, bit) = packed(element, c);
        registers.offset(RegisterBit { thread, register, bit })
    };
    let width = a.bits() as usize;
    let cores = cores_of_b(selection);
    let of_b = |column: usize, k: usize| in_core_matrices(column, k, cores, all_k / 2, width);
    let inputs = [
        Placement::new(a, shape_a, words.take(m * LINE / 4), |_, row, k| {
            in_core_matrices(row, k, 2, all_k / 2, width)
        }),
        Placement::new(b, shape_b, words.take(cores * n * LINE / 8), |_, k, column| {
            of_b(column, selection.map_or(k, |selection| selection.row(k)))
        }),
        Placement::new(c, shape_c, words.take(registers.words()), offset),
    ];
    let output = Placement::new(d, shape_c, 0..registers.words(), offset);
    let background = selection.map_or(vec![], |selection| {
        let at = inputs[1].words.start * 32;
        selection.background(signature, words.take(THREADS), |column, k| at + of_b(column, k))
    });
    TileLayout { inputs, scales: None, output, background }
}

/// The kernel.
pub(super) fn kernel(found: &Found, selection: Option<&Selection>) -> Result<Kernel, Error> {
    let signature = Signature::found(found);
    let Signature { m, n, a, c, .. } = signature;
    let layout = layout(&signature, selection);
    let sparse = if selection.is_some() { "sp." } else { "" };
    let spelled = spelling(found, &format!("wgmma.mma_async.{sparse}sync.aligned."))?;
    let name = identifier(&spelled);
    let registers = accumulators(THREADS, m * n / THREADS, c);
    let cores = cores_of_b(selection);
    let (bytes_a, bytes_b) = (m * LINE, n * cores * LINE / 2);
    let mut text = Text::entry(&name, THREADS, &layout);
    text.line(format_args!(".shared .align 128 .b8 shared[{}];", bytes_a + bytes_b));
    text.line(".reg .b32 base, high;");
    text.line(".reg .b64 descriptor_a, descriptor_b;");
    text.line(".reg .pred adds;");
    text.line("mov.u32 base, shared;");
    text.copy_to_shared("base", bytes_a + bytes_b, THREADS);
    text.load("d", layout.inputs[2].words.start, c, &registers);
    let metadata = text.metadata(&layout, THREADS);
    text.line("fence.proxy.async;");
    text.line("bar.sync 0;");
    text.descriptor("descriptor_a", 0, descriptor_fields(2));
    text.descriptor("descriptor_b", bytes_a, descriptor_fields(cores as u64));
    text.line("setp.ne.b32 adds, 1, 0;");
    text.line("wgmma.fence.sync.aligned;");
    // A and B as they are, neither negated; only 16-bit types may stand transposed, and they do not
    let transposed = if a == F16 || a == BF16 { ", 0, 0" } else { "" };
    let d = vector("d", 0..registers.count);
    text.line(format_args!("{spelled} {d}, descriptor_a, descriptor_b{metadata}, adds, 1, 1{transposed};"));
    text.line("wgmma.commit_group.sync.aligned;");
    text.line("wgmma.wait_group.sync.aligned 0;");
    let text = text.store("d", &layout.output, c, &registers);
    Ok(Kernel::new(found, name, text, THREADS, layout))
}
