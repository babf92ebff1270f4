//! `mma.sync` and `mma.sp`: one warp; every operand in registers.

use bitmma_engine::Signature;
use bitmma_engine::catalogue::lookup::Found;
use bitmma_engine::formats::{E2M1, F16, F32, F64, Format};

use super::super::fragment::{
    Majors, accumulator, multiplicand, quarter_accumulator, quarter_multiplicand, scale_of_column,
    scale_of_row,
};
use super::super::sparse::Selection;
use super::text::{Kernel, Text, accumulators, identifier, packed, spelling, vector};
use crate::gpu::Error;
use crate::gpu::image::{Placement, RegisterBit, Registers, TileLayout, Words};

/// A warp.
const THREADS: usize = 32;

/// Bits that an element of A or B takes in a register: its own, but for 4 and 6 bits 8, unless FP4 fills
/// registers of its own kinds, which is where K is 64.
fn container(format: Format, k: usize) -> usize {
    match format.bits() as usize {
        bits @ 8.. => bits,
        _ if k == 64 => 4,
        _ => 8,
    }
}

/// The lowest bit of a code in its container: E2M1 is in the middle of 8 bits, E2M3 and E3M2 at the
/// bottom (PTX ISA, "mma", `.kind::f8f6f4`).
fn lowest_bit(format: Format, container: usize) -> usize {
    if format == E2M1 && container == 8 { 2 } else { 0 }
}

/// The registers of each operand.
struct Fragments {
    a: Registers,
    b: Registers,
    c: Registers,
    d: Registers,
}

fn warp(count: usize, bits: usize) -> Registers {
    Registers { threads: THREADS, count, bits }
}

fn fragments(signature: &Signature, sparse: bool) -> Fragments {
    let Signature { m, n, k, blocks, a, b, c, d, .. } = *signature;
    let of = |lines: usize, format: Format| {
        let bits = if format == F64 { 64 } else { 32 };
        warp(blocks * lines * k * container(format, k) / (THREADS * bits), bits)
    };
    let elements = blocks * m * n / THREADS;
    Fragments {
        a: of(m, a),
        b: of(if sparse { 2 * n } else { n }, b),
        c: accumulators(THREADS, elements, c),
        d: accumulators(THREADS, elements, d),
    }
}

/// The place of an element of A (or B: its column as `line`).
fn place(line: usize, lines: usize, k: usize, format: Format, all_k: usize) -> RegisterBit {
    let container = container(format, all_k);
    let (place, element) = multiplicand(line, lines, k, 32usize.div_ceil(container));
    RegisterBit { bit: element * container + lowest_bit(format, container), ..place }
}

fn layout(
    signature: &Signature,
    fragments: &Fragments,
    majors: Majors,
    selection: Option<&Selection>,
) -> TileLayout {
    let Signature { m, n, k: all_k, blocks, a, b, c, d, scale, .. } = *signature;
    let [shape_a, shape_b, shape_c, shape_scale_a, shape_scale_b] = signature.shapes();
    let quarters = blocks == 4;
    let mut words = Words::default();
    let quarter = |(thread, element): (usize, usize), format: Format| {
        let (register, bit) = packed(element, format);
        RegisterBit { thread, register, bit }
    };
    let of_accumulator = |registers: Registers, format: Format| {
        move |block, row, column| {
            let (thread, element) = match quarters {
                true => quarter_accumulator(block, row, column, format == F32),
                false => accumulator(row, column, m),
            };
            let (register, bit) = packed(element, format);
            registers.offset(RegisterBit { thread, register, bit })
        }
    };
    let inputs = [
        Placement::new(a, shape_a, words.take(fragments.a.words()), |block, row, k| {
            fragments.a.offset(match quarters {
                true => quarter(quarter_multiplicand(block, row, k, majors.a_by_row), F16),
                false => place(row, m, k, a, all_k),
            })
        }),
        Placement::new(b, shape_b, words.take(fragments.b.words()), |block, k, column| {
            fragments.b.offset(match quarters {
                true => quarter(quarter_multiplicand(block, column, k, majors.b_by_column), F16),
                false => place(column, n, selection.map_or(k, |selection| selection.row(k)), b, all_k),
            })
        }),
        Placement::new(c, shape_c, words.take(fragments.c.words()), of_accumulator(fragments.c, c)),
    ];
    let one = warp(1, 32);
    let scales = scale.map(|scale| {
        [
            Placement::new(scale.format, shape_scale_a, words.take(one.words()), |_, row, factor| {
                one.offset(scale_of_row(row, factor))
            }),
            Placement::new(scale.format, shape_scale_b, words.take(one.words()), |_, factor, column| {
                one.offset(scale_of_column(column, factor))
            }),
        ]
    });
    let output = Placement::new(d, shape_c, 0..fragments.d.words(), of_accumulator(fragments.d, d));
    let background = selection.map_or(vec![], |selection| {
        let at = inputs[1].words.start * 32;
        selection.background(signature, words.take(THREADS), |column, k| {
            at + fragments.b.offset(place(column, n, k, b, all_k))
        })
    });
    TileLayout { inputs, scales, output, background }
}

/// The kernel.
pub(super) fn kernel(found: &Found, majors: Majors, selection: Option<&Selection>) -> Result<Kernel, Error> {
    let signature = Signature::found(found);
    let fragments = fragments(&signature, selection.is_some());
    let majors = if signature.blocks == 4 { majors } else { Majors::ROW_COL };
    let layout = layout(&signature, &fragments, majors, selection);
    let opcode =
        if selection.is_some() { "mma.sp::ordered_metadata.sync.aligned." } else { "mma.sync.aligned." };
    let spelled = spelling(found, opcode)?.replace("row.col", majors.words());
    let name = identifier(&spelled);
    let mut text = Text::entry(&name, THREADS, &layout);
    let [a, b, c] = &layout.inputs;
    let held = |format: Format| if format == F64 { F64 } else { F16 };
    text.load("a", a.words.start, held(signature.a), &fragments.a);
    text.load("b", b.words.start, held(signature.b), &fragments.b);
    text.load("c", c.words.start, signature.c, &fragments.c);
    text.registers("d", signature.d, fragments.d.count);
    let metadata = text.metadata(&layout, THREADS);
    let scaled = if let Some([a, b]) = &layout.scales {
        text.load("s", a.words.start, F16, &warp(1, 32));
        text.load("t", b.words.start, F16, &warp(1, 32));
        // byte and thread selectors of zero
        ", {s0}, {0, 0}, {t0}, {0, 0}"
    } else {
        ""
    };
    text.line(format_args!(
        "{spelled} {}, {}, {}, {}{metadata}{scaled};",
        vector("d", 0..fragments.d.count),
        vector("a", 0..fragments.a.count),
        vector("b", 0..fragments.b.count),
        vector("c", 0..fragments.c.count),
    ));
    let text = text.store("d", &layout.output, signature.d, &fragments.d);
    Ok(Kernel::new(found, name, text, THREADS, layout))
}
