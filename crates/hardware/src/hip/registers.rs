//! Which lane and register holds which element: the operands of AMD's `v_mfma_*`.
//!
//! Source: "AMD Instinct MI300 Instruction Set Architecture", 7.1 "Matrix Arithmetic Opcodes", and the
//! equations that AMD's Matrix Instruction Calculator prints (`--detail-instruction`, "Matrix element to
//! register mapping with no modifiers").

use bitmma_engine::Signature;
use bitmma_engine::formats::F64;

use crate::gpu::image::{Placement, RegisterBit, Registers, TileLayout, Words};

/// A wave.
pub(super) const LANES: usize = 64;

/// How many registers each operand takes in a lane: of 64 bits for FP64, else of 32.
pub(super) struct Counts {
    pub(super) a: Registers,
    pub(super) b: Registers,
    pub(super) c: Registers,
}

impl Counts {
    pub(super) fn of(signature: &Signature) -> Counts {
        let Signature { m, n, k, blocks, a, b, .. } = *signature;
        let wide = a == F64;
        let registers = |count| Registers { threads: LANES, count, bits: if wide { 64 } else { 32 } };
        let input = |lines: usize, bits: u32| {
            registers(blocks * lines * k * bits as usize / (LANES * if wide { 64 } else { 32 }))
        };
        Counts { a: input(m, a.bits()), b: input(n, b.bits()), c: registers(blocks * m * n / LANES) }
    }
}

/// An element of A (`line` is its row, of `lines`) or of B (its column). A lane holds `along` elements that
/// follow each other along K; lanes go first through the lines, then the blocks, then K.
pub(super) fn multiplicand(
    (block, blocks): (usize, usize),
    (line, lines): (usize, usize),
    k: usize,
    along: usize,
    bits: usize,
) -> RegisterBit {
    let bit = k % along * bits;
    let width = bits.max(32);
    RegisterBit {
        thread: line + lines * (block + blocks * (k / along)),
        register: bit / width,
        bit: bit % width,
    }
}

/// An element of C or D. Four rows follow each other in four registers (FP64: each row stands alone);
/// lanes go first through the columns, then the blocks that share registers, then the groups of four
/// rows; the rest is in further registers.
pub(super) fn accumulator(signature: &Signature, block: usize, row: usize, column: usize) -> RegisterBit {
    let Signature { m, n, d, .. } = *signature;
    let height = if d == F64 { 1 } else { 4 };
    let sharing = (LANES * height / (m * n)).max(1);
    let groups = LANES / (n * sharing);
    let group = row / height;
    RegisterBit {
        thread: column + n * (block % sharing + sharing * (group % groups)),
        register: block / sharing * (m * n / LANES) + group / groups * height + row % height,
        bit: 0,
    }
}

/// The tile.
pub(super) fn layout(signature: &Signature) -> TileLayout {
    let Signature { m, n, k: all_k, blocks, a, b, c, d, .. } = *signature;
    let [shape_a, shape_b, shape_c, ..] = signature.shapes();
    let counts = Counts::of(signature);
    let mut words = Words::default();
    let along = |lines: usize| all_k * lines * blocks / LANES;
    let held = |block, row, column| counts.c.offset(accumulator(signature, block, row, column));
    let inputs = [
        Placement::new(a, shape_a, words.take(counts.a.words()), |block, row, k| {
            counts.a.offset(multiplicand((block, blocks), (row, m), k, along(m), a.bits() as usize))
        }),
        Placement::new(b, shape_b, words.take(counts.b.words()), |block, k, column| {
            counts.b.offset(multiplicand((block, blocks), (column, n), k, along(n), b.bits() as usize))
        }),
        Placement::new(c, shape_c, words.take(counts.c.words()), held),
    ];
    let output = Placement::new(d, shape_c, 0..counts.c.words(), held);
    TileLayout { inputs, scales: None, output, background: vec![] }
}

#[cfg(test)]
mod tests {
    use bitmma_engine::{Architecture, MmaUnit, Revision, Simulator};

    use super::*;

    /// Instruction; block, row, column of D; lane, register, worked out by hand from AMD's equations.
    const OF_D: [(Architecture, &str, [usize; 3], [usize; 2]); 8] = [
        (Architecture::Cdna1, "v_mfma_f32_32x32x1f32", [1, 5, 3], [35, 17]),
        (Architecture::Cdna1, "v_mfma_f32_32x32x8f16", [0, 31, 31], [63, 15]),
        (Architecture::Cdna1, "v_mfma_f32_32x32x8f16", [0, 8, 0], [0, 4]),
        (Architecture::Cdna1, "v_mfma_f32_16x16x4f16", [3, 9, 2], [34, 13]),
        (Architecture::Cdna2, "v_mfma_f32_16x16x16f16", [0, 6, 7], [23, 2]),
        (Architecture::Cdna2, "v_mfma_f32_4x4x4f16", [15, 3, 1], [61, 3]),
        (Architecture::Cdna2, "v_mfma_f64_16x16x4f64", [0, 6, 7], [39, 1]),
        (Architecture::Cdna2, "v_mfma_f64_4x4x4f64", [2, 3, 1], [57, 0]),
    ];

    #[test]
    fn elements_of_d_stand_where_the_equations_say() {
        for (architecture, name, [block, row, column], [lane, register]) in OF_D {
            let unit = Simulator::instruction(architecture, name, Revision::Hardware).expect("known");
            let place = accumulator(unit.signature(), block, row, column);
            assert_eq!((place.thread, place.register, place.bit), (lane, register, 0), "{name}");
        }
    }

    /// Block and blocks, line and lines, k, elements a lane, bits; lane, register, bit.
    type Row = ((usize, usize), (usize, usize), usize, [usize; 2], [usize; 3]);

    const OF_A: [Row; 5] = [
        ((0, 1), (3, 32), 5, [4, 16], [35, 0, 16]), // 32x32x8 f16
        ((7, 16), (2, 4), 3, [4, 16], [30, 1, 16]), // 4x4x4 f16
        ((0, 1), (4, 16), 13, [8, 8], [20, 1, 8]),  // 16x16x32 fp8
        ((0, 1), (1, 16), 3, [2, 32], [17, 1, 0]),  // 16x16x8 xf32
        ((2, 4), (3, 4), 3, [1, 64], [59, 0, 0]),   // 4x4x4 f64
    ];

    #[test]
    fn elements_of_a_stand_where_the_equations_say() {
        for (block, line, k, [along, bits], [lane, register, bit]) in OF_A {
            let place = multiplicand(block, line, k, along, bits);
            assert_eq!(place, RegisterBit { thread: lane, register, bit });
        }
    }
}
