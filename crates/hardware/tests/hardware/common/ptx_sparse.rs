//! As [`super::ptx_matrix`], for a sparse A: metadata is read as the manual's figures say, in their direction
//! ("Tk: \[m..n\]", bits of thread k, to a chunk of a row), A unpacked by it, and what it computes is the
//! simulator's of the dense instruction of half the K on what is left.

use std::collections::HashMap;
use std::str::FromStr;

use bitmma_engine::{Architecture, Matrix, MmaUnit, Operands, Revision, Simulator};

use super::ptx_machine::{Machine, names};
use super::ptx_matrix::{Gathered, a_place, c_place, code, container, element, scale_factors, scatter};

/// The dense instruction that stands in: `mma.m16n8k16…` for `mma.sp.m16n8k32…`.
pub(crate) fn dense_name(sparse: &str) -> String {
    let shape = sparse.split('.').find(|word| word.starts_with('m') && word.contains('k')).expect("a shape");
    let (lines, k) = shape.split_once('k').expect("K");
    let half = k.parse::<usize>().expect("a number") / 2;
    sparse.replace(".sp", "").replace(&format!("{shape}."), &format!("{lines}k{half}."))
}

/// A sparse instruction in parts.
struct Sparse {
    dense: Simulator,
    /// K of the sparse instruction.
    k: usize,
    /// Slots that an element takes, as a fraction: (1, 1), TF32 (2, 1), packed FP4 (1, 2).
    slots: (usize, usize),
}

impl Sparse {
    fn of(machine: &Machine<'_>, opcode: &str) -> Sparse {
        let plain = opcode.replace("::ordered_metadata", "");
        let dense = dense_name(&plain);
        let architecture = Architecture::from_str(machine.target).expect("a target we know");
        let dense = Simulator::instruction(architecture, &dense, Revision::Hardware)
            .unwrap_or_else(|error| panic!("{dense}: {error}"));
        let signature = dense.signature();
        let slots = match (signature.a.bits(), signature.k) {
            (32, _) => (2, 1),
            (4, 64) => (1, 2),
            _ => (1, 1),
        };
        Sparse { k: 2 * signature.k, slots, dense }
    }

    /// Columns of the unpacked A where the stored elements of a row stand, by the bits of its chunks.
    fn columns(&self, chunks: &[u32]) -> Vec<usize> {
        let mut columns = vec![];
        for (chunk, bits) in chunks.iter().enumerate() {
            let [first, second] = [bits & 3, bits >> 2].map(|slot| 4 * chunk + slot as usize);
            assert!(first < second, "indices of a chunk ascend: {bits:#06b}");
            match self.slots {
                (2, _) => {
                    assert!(*bits == 0b0100 || *bits == 0b1110, "{bits:#06b} is no index of TF32");
                    columns.push(first / 2);
                }
                (_, per) => {
                    columns.extend([first, second].iter().flat_map(|slot| slot * per..(slot + 1) * per));
                }
            }
        }
        columns
    }

    /// D: rows that store the same columns are computed together.
    fn multiply(
        &self,
        a: &Matrix,
        b: &Matrix,
        c: &Matrix,
        columns: &[Vec<usize>],
        scales: Option<(&Matrix, &Matrix)>,
    ) -> Vec<Vec<u64>> {
        let n = b.columns();
        let mut answers: HashMap<&[usize], Matrix> = HashMap::new();
        let (scale_a, scale_b) = scales.unzip();
        (0..a.rows())
            .map(|row| {
                let answer = answers.entry(&columns[row]).or_insert_with(|| {
                    let met = columns[row].iter().flat_map(|k| (0..n).map(|column| b.get(0, *k, column)));
                    let b = Matrix::new(b.format(), (1, columns[row].len(), n), met).expect("codes");
                    self.dense
                        .multiply(&Operands { a, b: &b, c: Some(c), scale_a, scale_b })
                        .expect("simulated")
                });
                (0..n).map(|column| answer.get(0, row, column)).collect()
            })
            .collect()
    }

    /// Columns stored in each of `rows` rows; `word` gives the metadata that a thread holds.
    fn stored(&self, rows: usize, word: impl Fn(usize) -> u32) -> Vec<Vec<usize>> {
        let chunks = self.k * self.slots.0 / self.slots.1 / 4;
        let of_row = |row| (0..chunks).map(|chunk| chunk_bits(&word, row, chunk, chunks)).collect::<Vec<_>>();
        (0..rows).map(|row| self.columns(&of_row(row))).collect()
    }
}

/// The bits of a chunk, with a selector of zero. The figures, with `g` = thread >> 2:
///
/// - 4 chunks: T(4g) \[15..0\] row g, \[31..16\] row g + 8;
/// - 8 chunks: the same of chunks 0 to 3, T(4g + 1) of chunks 4 to 7;
/// - 16 chunks: T(4g) row g and T(4g + 1) row g + 8, chunks 0 to 7; T(4g + 2), T(4g + 3) chunks 8 to 15.
fn chunk_bits(word: impl Fn(usize) -> u32, row: usize, chunk: usize, chunks: usize) -> u32 {
    let mut found = vec![];
    for thread in row / 16 * 32..row / 16 * 32 + 32 {
        let (g, t) = (thread % 32 / 4, thread % 4);
        for nibble in 0..8 {
            let (of_row, of_chunk) = match chunks {
                4 if t == 0 => (g + nibble / 4 * 8, nibble % 4),
                8 if t < 2 => (g + nibble / 4 * 8, t * 4 + nibble % 4),
                16 => (g + t % 2 * 8, t / 2 * 8 + nibble),
                _ => continue,
            };
            if (of_row, of_chunk) == (row % 16, chunk) {
                found.push(word(thread) >> (4 * nibble) & 15);
            }
        }
    }
    assert_eq!(found.len(), 1, "row {row}, chunk {chunk}");
    found[0]
}

/// Row (along K) and column of `b_i`: the registers of a thread go on along K as those of the dense fragments do.
fn b_place(bits: usize, lane: usize, i: usize) -> (usize, usize) {
    let per = 32 / bits;
    (lane % 4 * per + i % per + i / per * 4 * per, lane >> 2)
}

/// `mma.sp`.
pub(crate) fn mma<'m>(machine: &mut Machine<'m>, opcode: &str, operands: &[&'m str]) {
    let sparse = Sparse::of(machine, opcode);
    let signature = sparse.dense.signature().clone();
    let (m, n, products) = (signature.m, signature.n, signature.k);
    let [d, a, b, c, e] = [0, 1, 2, 3, 4].map(|index| names(operands[index]));
    assert_eq!(operands[5], "0", "the sparsity selector");
    let (mut of_a, mut of_b, mut of_c) =
        (Gathered::new(1, m, products), Gathered::new(1, sparse.k, n), Gathered::new(1, m, n));
    for lane in 0..32 {
        let bits = container(signature.a, products);
        for i in 0..m * products / 32 {
            let (row, column) = a_place(products, bits, m, lane, i);
            of_a.set(0, row, column, code(signature.a, bits, element(machine, &a, lane, i, bits)));
        }
        let bits = container(signature.b, products);
        for i in 0..n * sparse.k / 32 {
            let (row, column) = b_place(bits, lane, i);
            of_b.set(0, row, column, code(signature.b, bits, element(machine, &b, lane, i, bits)));
        }
        let bits = signature.c.bits() as usize;
        for i in 0..m * n / 32 {
            let (row, column) = c_place(lane, i);
            of_c.set(0, row, column, element(machine, &c, lane, i, bits));
        }
    }
    let scales = scale_factors(machine, &signature, &operands[6..]);
    let columns = sparse.stored(m, |thread| machine.value(e[0], thread) as u32);
    let (a, b, c) = (of_a.matrix(signature.a), of_b.matrix(signature.b), of_c.matrix(signature.c));
    let answer = sparse.multiply(&a, &b, &c, &columns, scales.as_ref().map(|(a, b)| (a, b)));
    for lane in 0..32 {
        let codes: Vec<u64> =
            (0..m * n / 32).map(|i| c_place(lane, i)).map(|(row, column)| answer[row][column]).collect();
        scatter(machine, &d, lane, &codes, signature.d.bits());
    }
}
