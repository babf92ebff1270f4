//! 2:4 sparsity: which elements of A are stored, which rows of B they meet, and the metadata that says so.
//!
//! A row of A goes in chunks of four slots, of which two are stored. A slot is an element; half an element of
//! TF32, so that of two elements one is stored; or a pair of packed FP4. Metadata has four bits for each
//! chunk: the number of the first slot stored in the lower two, of the second in the upper two.
//!
//! Source: PTX ISA 9.2, "Sparse matrix storage" and the metadata figures of "Matrix fragments for sparse
//! mma…"; for `wgmma` CUTLASS 3.6, `ELayout_64x16`, `ELayout_64x32` and `ELayout_64x64`.

use std::ops::Range;

use bitmma_engine::Signature;
use bitmma_engine::formats::Format;

use crate::gpu::image::{RegisterBit, write_bits};

/// Names of selections and their slots: of two elements of 32 bits, and of four others.
const OF_TWO: &[(&str, [usize; 2])] = &[("0", [0, 1]), ("1", [2, 3])];
#[rustfmt::skip]
const OF_FOUR: &[(&str, [usize; 2])] = &[
    ("01", [0, 1]), ("02", [0, 2]), ("03", [0, 3]), ("12", [1, 2]), ("13", [1, 3]), ("23", [2, 3]),
];

/// The two slots stored of each chunk; the patterns take turns along K.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Selection {
    patterns: Vec<[usize; 2]>,
    /// Elements of A stored of a chunk: 1 (TF32), 2, or 4 (packed FP4).
    stored: usize,
}

impl Selection {
    /// The selection of that name: `01` to `23`, the elements of four that are stored (TF32: `0` or `1` of two;
    /// packed FP4: the pairs of four); `mixed`, all of these in turn. Without a name, the first.
    pub(super) fn of(signature: &Signature, name: Option<&str>) -> Result<Selection, String> {
        let stored = match (signature.a.bits(), signature.k) {
            (32, _) => 1,
            (4, 64) => 4,
            _ => 2,
        };
        let all = if stored == 1 { OF_TWO } else { OF_FOUR };
        let patterns: Vec<[usize; 2]> = match name {
            Some("mixed") => all.iter().map(|(_, slots)| *slots).collect(),
            Some(name) => all.iter().filter(|(known, _)| *known == name).map(|(_, slots)| *slots).collect(),
            None => vec![all[0].1],
        };
        if patterns.is_empty() {
            let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
            let (name, names) = (name.unwrap_or(""), names.join(", "));
            return Err(format!("unknown selection '{name}'; one of {names}, mixed"));
        }
        Ok(Selection { patterns, stored })
    }

    fn pattern(&self, chunk: usize) -> [usize; 2] {
        self.patterns[chunk % self.patterns.len()]
    }

    /// The row of B that the `index`-th stored element of a row of A meets.
    pub(super) fn row(&self, index: usize) -> usize {
        let (chunk, within) = (index / self.stored, index % self.stored);
        match self.stored {
            1 => 2 * chunk + self.pattern(chunk)[0] / 2,
            stored => {
                let slot = stored / 2;
                (4 * chunk + self.pattern(chunk)[within / slot]) * slot + within % slot
            }
        }
    }

    /// The rows of B that meet no element.
    fn unmet(&self, products: usize) -> impl Iterator<Item = usize> {
        let met: Vec<usize> = (0..products).map(|index| self.row(index)).collect();
        (0..2 * products).filter(move |row| !met.contains(row))
    }

    /// What is passed beside the operands: the metadata, whose words are the last, and a number instead of each
    /// element of B that none of A meets. `offset` gives the first bit of column and row (along K) of B.
    pub(super) fn background(
        &self,
        signature: &Signature,
        metadata: Range<usize>,
        offset: impl Fn(usize, usize) -> usize,
    ) -> Vec<u32> {
        let Signature { m, n, k: products, b, .. } = *signature;
        let mut words = vec![0; metadata.start];
        let (width, code) = (b.bits() as usize, filler(b));
        for k in self.unmet(products) {
            (0..n).for_each(|column| write_bits(&mut words, offset(column, k), width, code));
        }
        words.extend(self.metadata(m, products));
        words
    }

    /// Metadata of a tile of `rows` rows with `products` elements stored in each: a word for each of the 2 · `rows`
    /// threads, zero where it is not read.
    fn metadata(&self, rows: usize, products: usize) -> Vec<u32> {
        let chunks = products / self.stored;
        let mut words = vec![0; 2 * rows];
        for (row, chunk) in (0..rows).flat_map(|row| (0..chunks).map(move |chunk| (row, chunk))) {
            let [first, second] = self.pattern(chunk);
            let RegisterBit { thread, bit, .. } = metadata_place(row, chunk, chunks);
            words[thread] |= ((second << 2 | first) as u32) << bit;
        }
        words
    }
}

/// The four bits of a chunk, of `chunks` in a row, with a sparsity selector of zero: of each four threads the
/// first holds two rows of 4 chunks; the first two, of 8 chunks; all four, one row and half of 16 chunks each.
fn metadata_place(row: usize, chunk: usize, chunks: usize) -> RegisterBit {
    let (upper, first) = (row % 16 / 8, row / 16 * 32 + row % 8 * 4);
    let (thread, bit) = match chunks {
        16 => (first + upper + chunk / 8 * 2, chunk % 8 * 4),
        _ => (first + chunk / 4, upper * 16 + chunk % 4 * 4),
    };
    RegisterBit { thread, register: 0, bit }
}

/// The value in the rows of B that meet no element: NaN, or the largest number of a format without NaN. It shows
/// where a result depends on it.
fn filler(format: Format) -> u64 {
    format.nan_code().unwrap_or(format.max_finite_code())
}
