//! `tcgen05.mma` with `cta_group::1`: A and B in shared memory, C, D and scale factors in tensor memory.
//!
//! Four warps carry what they hold into tensor memory (each reaches a quarter of its 128 lanes), one thread
//! starts the instruction, all wait for it at a barrier in shared memory and carry D out. Source: PTX
//! ISA, "TensorCore 5th generation family instructions": "Instruction descriptor", "Shared memory
//! descriptor", "Memory consistency model".

use bitmma_engine::Signature;
use bitmma_engine::catalogue::lookup::Found;
use bitmma_engine::formats::{BF16, E2M1, E2M3, E3M2, E4M3, E5M2, F16, F32, Format, TF32, UE8M0};

use super::super::fragment::{in_core_matrices, scale_in_tensor_memory, tensor_memory};
use super::text::{Kernel, Text, identifier, spelling, vector};
use super::wgmma::{LINE, descriptor_fields};
use crate::gpu::Error;
use crate::gpu::image::{Placement, Registers, TileLayout, Words};

/// Four warps.
const THREADS: usize = 128;
/// Columns of tensor memory that factors of A take: 128 rows in 32 lanes.
const SCALE_A_COLUMNS: usize = 4;
/// Registers that a thread moves to or from tensor memory at once.
const AT_ONCE: usize = 32;
/// The constant of a shared memory descriptor of this generation: bits 46 to 48 are 0b001.
const GENERATION: u64 = 1 << 46;

/// Columns of tensor memory: where factors begin, how many to allocate (a power of two, 32 or more).
struct Columns {
    scale_a: usize,
    scale_b: usize,
    scale_b_count: usize,
    all: usize,
}

impl Columns {
    fn of(signature: &Signature) -> Columns {
        let scale_a = signature.n.next_multiple_of(32);
        let scale_b = scale_a + 16;
        let scale_b_count = signature.n.div_ceil(32);
        let used = if signature.scale.is_some() { scale_b + scale_b_count } else { signature.n };
        Columns { scale_a, scale_b, scale_b_count, all: used.next_power_of_two().max(32) }
    }
}

/// Formats of `kind::tf32` and `kind::f16`, or of the kinds on 8 bits and fewer, or of FP4's own kinds, as
/// the instruction descriptor numbers them.
fn format_code(format: Format, four_bits: bool) -> u32 {
    match format {
        F16 | E4M3 => 0,
        BF16 | E5M2 => 1,
        TF32 => 2,
        E2M3 => 3,
        E3M2 => 4,
        E2M1 if four_bits => 1,
        E2M1 => 5,
        _ => unreachable!("tcgen05.mma takes no {format}"),
    }
}

/// The instruction descriptor: formats, M and N; dense, nothing negated or transposed, factor selectors
/// of zero.
pub(super) fn instruction_descriptor(signature: &Signature) -> u32 {
    let Signature { m, n, k, a, b, d, scale, .. } = *signature;
    let four_bits = k == 64;
    let shared = format_code(a, four_bits) << 7
        | format_code(b, four_bits) << 10
        | (n as u32 >> 3) << 17
        | (m as u32 >> 4) << 24;
    match scale {
        None => shared | u32::from(d == F32) << 4,
        Some(scale) => shared | u32::from(scale.format == UE8M0) << 23,
    }
}

/// Why the instruction does not exist for this M and N: with M = 128 and no scale factors N goes in steps of 16.
fn refuse(found: &Found, signature: &Signature) -> Result<(), Error> {
    let Signature { m, n, scale, .. } = *signature;
    if m == 128 && scale.is_none() && !n.is_multiple_of(16) {
        let reason = format!("with M = 128 PTX takes N in steps of 16, not {n}");
        return Err(Error::NoKernel { instruction: found.name(), reason });
    }
    Ok(())
}

fn accumulators(signature: &Signature) -> Registers {
    Registers { threads: THREADS, count: signature.n, bits: 32 }
}

fn factors(count: usize) -> Registers {
    Registers { threads: 32, count, bits: 32 }
}

fn layout(signature: &Signature) -> TileLayout {
    let Signature { m, n, k: all_k, a, b, c, d, scale, .. } = *signature;
    let [shape_a, shape_b, shape_c, shape_scale_a, shape_scale_b] = signature.shapes();
    let mut words = Words::default();
    let registers = accumulators(signature);
    let held = |_, row, column| registers.offset(tensor_memory(row, column, m));
    let in_shared =
        |format: Format| move |line, k| in_core_matrices(line, k, 2, all_k / 2, format.bits() as usize);
    let inputs = [
        Placement::new(a, shape_a, words.take(m * LINE / 4), |_, row, k| in_shared(a)(row, k)),
        Placement::new(b, shape_b, words.take(n * LINE / 4), |_, k, column| in_shared(b)(column, k)),
        Placement::new(c, shape_c, words.take(registers.words()), held),
    ];
    let scales = scale.map(|scale| {
        let (of_a, of_b) = (factors(SCALE_A_COLUMNS), factors(Columns::of(signature).scale_b_count));
        [
            Placement::new(scale.format, shape_scale_a, words.take(of_a.words()), |_, row, factor| {
                of_a.offset(scale_in_tensor_memory(row, factor))
            }),
            Placement::new(scale.format, shape_scale_b, words.take(of_b.words()), |_, factor, column| {
                of_b.offset(scale_in_tensor_memory(column, factor))
            }),
        ]
    });
    let output = Placement::new(d, shape_c, 0..registers.words(), held);
    TileLayout { inputs, scales, output, background: vec![] }
}

/// `count` cut into powers of two of at most [`AT_ONCE`]: first column and size of each.
fn pieces(count: usize) -> impl Iterator<Item = (usize, usize)> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let left = count - start;
        if left == 0 {
            return None;
        }
        let size = (1 << left.ilog2()).min(AT_ONCE);
        start += size;
        Some((start - size, size))
    })
}

/// Carries an operand of the tile into the columns of tensor memory from `column` on; `thread` names
/// the register that numbers its lanes.
fn store_columns(text: &mut Text, thread: &str, column: usize, placement: &Placement, held: &Registers) {
    text.locate("input", thread, placement.words.start, held);
    let stride = held.threads * 4;
    for (start, size) in pieces(held.count) {
        for index in 0..size {
            text.line(format_args!("ld.global.b32 r{index}, [address+{}];", (start + index) * stride));
        }
        text.line(format_args!("add.u32 word, lanes, {};", column + start));
        let registers = vector("r", 0..size);
        text.line(format_args!("tcgen05.st.sync.aligned.32x32b.x{size}.b32 [word], {registers};"));
    }
}

/// The kernel.
pub(super) fn kernel(found: &Found) -> Result<Kernel, Error> {
    let signature = Signature::found(found);
    refuse(found, &signature)?;
    let layout = layout(&signature);
    let columns = Columns::of(&signature);
    let spelled = spelling(found, "tcgen05.mma.cta_group::1.")?;
    let name = identifier(&found.name());
    let (bytes_a, bytes_b) = (signature.m * LINE, signature.n * LINE);
    let registers = accumulators(&signature);
    let mut text = Text::entry(&name, THREADS, &layout);
    text.line(format_args!(".shared .align 128 .b8 shared[{}];", bytes_a + bytes_b));
    text.line(".shared .align 8 .b64 barrier;");
    text.line(".shared .align 4 .b32 allocated;");
    text.line(".reg .b32 base, lane, columns, lanes, bar, factors_a, factors_b;");
    text.line(format_args!(".reg .b32 r<{AT_ONCE}>;"));
    text.line(".reg .b64 descriptor_a, descriptor_b;");
    text.line(".reg .pred first_thread, first_warp, adds, done;");
    text.line("shr.u32 warp, thread, 5;");
    text.line("and.b32 lane, thread, 31;");
    text.line("setp.eq.u32 first_thread, thread, 0;");
    text.line("setp.eq.u32 first_warp, warp, 0;");
    text.line("mov.u32 base, shared;");
    text.line("mov.u32 bar, barrier;");
    text.line("mov.u32 word, allocated;");
    text.line("@first_thread mbarrier.init.shared::cta.b64 [bar], 1;");
    let all = columns.all;
    text.line(format_args!(
        "@first_warp tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [word], {all};"
    ));
    text.line("@first_warp tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
    text.copy_to_shared("base", bytes_a + bytes_b, THREADS);
    text.line("fence.mbarrier_init.release.cluster;");
    text.line("fence.proxy.async;");
    text.line("bar.sync 0;");
    text.line("ld.shared.b32 columns, [allocated];");
    // lanes in bits 16 to 31, columns below
    text.line("mad.lo.u32 lanes, warp, 0x200000, columns;");
    store_columns(&mut text, "thread", 0, &layout.inputs[2], &registers);
    let mut scales = String::new();
    if let Some([a, b]) = &layout.scales {
        store_columns(&mut text, "lane", columns.scale_a, a, &factors(SCALE_A_COLUMNS));
        store_columns(&mut text, "lane", columns.scale_b, b, &factors(columns.scale_b_count));
        text.line(format_args!("add.u32 factors_a, columns, {};", columns.scale_a));
        text.line(format_args!("add.u32 factors_b, columns, {};", columns.scale_b));
        scales = " [factors_a], [factors_b],".to_owned();
    }
    text.line("tcgen05.wait::st.sync.aligned;");
    text.line("tcgen05.fence::before_thread_sync;");
    text.line("bar.sync 0;");
    text.line("tcgen05.fence::after_thread_sync;");
    for (descriptor, start) in [("descriptor_a", 0), ("descriptor_b", bytes_a)] {
        text.descriptor(descriptor, start, descriptor_fields(2) | GENERATION);
    }
    text.line(format_args!("mov.u32 word, {:#x};", instruction_descriptor(&signature)));
    text.line("setp.ne.b32 adds, 1, 0;");
    text.line(format_args!(
        "@first_thread {spelled} [columns], descriptor_a, descriptor_b, word,{scales} adds;"
    ));
    text.line("@first_thread tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];");
    text.line("waits:");
    text.line("mbarrier.try_wait.parity.shared::cta.b64 done, [bar], 0;");
    text.line("@!done bra waits;");
    text.line("tcgen05.fence::after_thread_sync;");
    text.locate("output", "thread", layout.output.words.start, &registers);
    for (start, size) in pieces(registers.count) {
        text.line(format_args!("add.u32 word, lanes, {start};"));
        let loaded = vector("r", 0..size);
        text.line(format_args!("tcgen05.ld.sync.aligned.32x32b.x{size}.b32 {loaded}, [word];"));
        text.line("tcgen05.wait::ld.sync.aligned;");
        for index in 0..size {
            let offset = (start + index) * THREADS * 4;
            text.line(format_args!("st.global.b32 [address+{offset}], r{index};"));
        }
    }
    text.line("tcgen05.fence::before_thread_sync;");
    text.line("bar.sync 0;");
    text.line(format_args!("@first_warp tcgen05.dealloc.cta_group::1.sync.aligned.b32 columns, {all};"));
    Ok(Kernel::new(found, name, text.end(), THREADS, layout))
}
