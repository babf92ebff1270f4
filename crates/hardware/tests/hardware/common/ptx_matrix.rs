//! What NVIDIA's matrix instructions read and write, written from the PTX manual's tables in the manual's own
//! direction (thread and index to row and column) and without a look at the kernels' layouts. What they
//! compute is the simulator's.

use bitmma_engine::formats::Format;
use bitmma_engine::{Matrix, Signature};

use super::ptx_machine::{Machine, names};

/// A matrix that is filled element by element; every element must be set, none twice.
pub(crate) struct Gathered {
    codes: Vec<Option<u64>>,
    columns: usize,
    rows: usize,
}

impl Gathered {
    pub(crate) fn new(blocks: usize, rows: usize, columns: usize) -> Gathered {
        Gathered { codes: vec![None; blocks * rows * columns], columns, rows }
    }

    pub(crate) fn set(&mut self, block: usize, row: usize, column: usize, code: u64) {
        assert!(row < self.rows && column < self.columns, "{row}, {column}");
        let before = self.codes[(block * self.rows + row) * self.columns + column].replace(code);
        assert_eq!(before, None, "element {row}, {column} of block {block} stands in two places");
    }

    pub(crate) fn matrix(self, format: Format) -> Matrix {
        let blocks = self.codes.len() / (self.rows * self.columns);
        let codes = self.codes.into_iter().map(|code| code.expect("every element stands somewhere"));
        Matrix::new(format, (blocks, self.rows, self.columns), codes).expect("codes of the format")
    }
}

/// Row and column of `a_i` in lane `lane` ("Matrix fragments for mma.m16n8k…", multiplicand A).
pub(crate) fn a_place(k: usize, bits: usize, m: usize, lane: usize, i: usize) -> (usize, usize) {
    let (group, t) = (lane >> 2, lane % 4);
    let lower = |condition: bool| if condition { group } else { group + 8 };
    match (bits, k) {
        (64, 4) if m == 8 => (group, t),
        (64 | 32, 4) => (lower(i == 0), t),
        (64 | 32, 8) => (lower(i == 0 || i == 2), if i < 2 { t } else { t + 4 }),
        (64, 16) => (lower(i & 1 == 0), if i & 1 == 0 { i * 2 + t } else { i * 2 - 2 + t }),
        (16, 8) => (lower(i < 2), t * 2 + (i & 1)),
        (16, 16) => (lower(i < 2 || (4..6).contains(&i)), t * 2 + (i & 1) + if i >= 4 { 8 } else { 0 }),
        (8, 16) => (lower(i < 4), t * 4 + (i & 3)),
        (8, 32) => (lower(i < 4 || (8..12).contains(&i)), t * 4 + (i & 3) + if i >= 8 { 16 } else { 0 }),
        (4, 64) => (lower(i < 8 || (16..24).contains(&i)), t * 8 + (i & 7) + if i >= 16 { 32 } else { 0 }),
        _ => panic!("no fragment of {bits} bits with K = {k}"),
    }
}

/// Row and column of `c_i` (accumulators; with eight rows there are but c0 and c1).
pub(crate) fn c_place(lane: usize, i: usize) -> (usize, usize) {
    let (group, t) = (lane >> 2, lane % 4);
    (if i < 2 { group } else { group + 8 }, t * 2 + (i & 1))
}

/// The `index`-th element of `width` bits in the registers of a thread.
pub(crate) fn element(
    machine: &Machine<'_>,
    registers: &[&str],
    thread: usize,
    index: usize,
    width: usize,
) -> u64 {
    let per = if width >= 32 { 1 } else { 32 / width };
    let value = machine.value(registers[index / per], thread);
    if width == 64 { value } else { value >> (index % per * width) & ((1u64 << width) - 1) }
}

/// Bits that an element of A or B takes in a register of `mma`: FP4 and FP6 take a byte, FP4 where K is 64 its own.
pub(crate) fn container(format: Format, k: usize) -> usize {
    match format.bits() as usize {
        4 | 6 if k == 64 => 4,
        4 | 6 => 8,
        bits => bits,
    }
}

/// The code in a container of `container` bits: E2M1 in the middle of eight, the others at the bottom.
pub(crate) fn code(format: Format, container: usize, raw: u64) -> u64 {
    let code = if format.name == "e2m1" && container == 8 { raw >> 2 } else { raw };
    assert_eq!(code & !format.max_code(), 0, "bits beside a {format}");
    code
}

/// The scale factors of A and B from the operands of `mma` that begin with A's: registers, selectors of byte and
/// thread, then B's.
pub(crate) fn scale_factors(
    machine: &Machine<'_>,
    signature: &Signature,
    operands: &[&str],
) -> Option<(Matrix, Matrix)> {
    let Signature { m, n, k, scale, .. } = *signature;
    let scale = scale?;
    let factors = k / scale.size;
    let (mut of_a, mut of_b) = (Gathered::new(1, m, factors), Gathered::new(1, factors, n));
    assert!(operands[1] == "{0, 0}" && operands[3] == "{0, 0}", "selectors");
    for (lane, factor) in (0..32).flat_map(|lane| (0..factors).map(move |factor| (lane, factor))) {
        // thread selector 0: the first two threads of four for A, the first for B
        if lane % 4 < 2 {
            let row = (lane >> 2) + 8 * (lane % 4);
            of_a.set(0, row, factor, element(machine, &names(operands[0]), lane, factor, 8));
        }
        if lane % 4 == 0 {
            of_b.set(0, factor, lane >> 2, element(machine, &names(operands[2]), lane, factor, 8));
        }
    }
    Some((of_a.matrix(scale.format), of_b.matrix(scale.format)))
}

/// Stores D's elements, those of 16 bits two in a register.
pub(crate) fn scatter<'m>(
    machine: &mut Machine<'m>,
    registers: &[&'m str],
    thread: usize,
    codes: &[u64],
    bits: u32,
) {
    for (index, name) in registers.iter().enumerate() {
        let value = match bits {
            16 => codes[2 * index] | codes[2 * index + 1] << 16,
            _ => codes[index],
        };
        machine.set(name, thread, value);
    }
}
