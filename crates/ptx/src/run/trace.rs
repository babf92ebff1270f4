//! What a launch records of chosen threads: registers that a line writes, and products of matrices.

use std::sync::{Arc, Mutex};

use bitmma_engine::Codes;

use crate::error::Thread;
use crate::program::{Predicate, Slot};

/// What is recorded. An empty list stands for all.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Threads.
    pub threads: Vec<Thread>,
    /// Lines of the text.
    pub lines: Vec<u32>,
    /// Names of registers, as in `%r12`.
    pub registers: Vec<String>,
    /// Whether the operands and results of matrix instructions are recorded, too.
    pub products: bool,
    /// A byte of a buffer (its number, and bytes from its start): who wrote it last is recorded.
    pub byte: Option<(usize, u64)>,
}

/// A register of a thread after an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Of the text.
    pub line: u32,
    /// How many instructions the thread's warp had run before it.
    pub step: u64,
    /// Whose register it is.
    pub thread: Thread,
    /// Its name.
    pub register: Arc<str>,
    /// 1, 8, 16, 32 or 64.
    pub bits: u32,
    /// What it holds.
    pub value: u64,
}

/// One matrix instruction of a warp: its operands and its result, row-major, as codes.
#[derive(Clone, Debug, PartialEq)]
pub struct Product {
    /// Of the text.
    pub line: u32,
    /// How many instructions the warp had run before it.
    pub step: u64,
    /// The warp's first thread.
    pub thread: Thread,
    /// The instruction, as the text has it.
    pub form: String,
    /// Rows of A and D, columns of B and D, and the length of their dot products.
    pub shape: [usize; 3],
    /// A, B, C and D.
    pub codes: [Codes; 4],
}

/// Records, and products, of one launch: this many at most.
pub(super) const MOST: usize = 1 << 22;
pub(super) const MOST_PRODUCTS: usize = 1 << 14;

/// Where a launch keeps what it records.
#[derive(Default)]
pub(crate) struct Recorder {
    pub(crate) wanted: Trace,
    pub(crate) records: Mutex<Vec<Record>>,
    pub(crate) products: Mutex<Vec<Product>>,
}

/// A register that an instruction writes, or reads where it writes none.
#[derive(Clone, Debug)]
pub(crate) struct Traced {
    pub(crate) name: Arc<str>,
    pub(crate) place: Place,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    Slot(Slot, u32),
    Predicate(Predicate),
}

impl Recorder {
    pub(super) fn wants_line(&self, line: u32) -> bool {
        self.wanted.lines.is_empty() || self.wanted.lines.contains(&line)
    }

    /// Records and products, block after block, and whether there were more.
    pub(crate) fn finish(self) -> (Vec<Record>, Vec<Product>, bool) {
        let mut records = self.records.into_inner().unwrap_or_default();
        let mut products = self.products.into_inner().unwrap_or_default();
        let order = |thread: &Thread| {
            let [x, y, z] = thread.block;
            [z, y, x]
        };
        records.sort_by_key(|record| order(&record.thread));
        products.sort_by_key(|product| order(&product.thread));
        let is_cut = records.len() >= MOST || products.len() >= MOST_PRODUCTS;
        (records, products, is_cut)
    }

    pub(super) fn wants_thread(&self, thread: Thread) -> bool {
        self.wanted.threads.is_empty() || self.wanted.threads.contains(&thread)
    }
}
