//! The operands of a library's call.

use bitmma_engine::Matrix;
use bitmma_engine::formats::Format;

/// What a call gives the epilogue, as FP32 codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scales {
    /// The scale of A.
    pub a: u32,
    /// The scale of B.
    pub b: u32,
    /// The scale of the result.
    pub result: Option<u32>,
}

impl Scales {
    /// Ones, and none of the result.
    pub const ONE: Scales = Scales { a: 0x3f80_0000, b: 0x3f80_0000, result: None };
}

/// The operands of a call.
#[derive(Clone, Copy, Debug)]
pub struct Call<'c> {
    /// M×K, one block.
    pub a: &'c Matrix,
    /// K×N, one block.
    pub b: &'c Matrix,
    /// D's format.
    pub out: Format,
    /// Factors of the epilogue.
    pub scales: Scales,
    /// FP32 scales of blocks, for plans with `[blocks]`: ceil(M/rows) × ceil(K/k) of A and
    /// ceil(K/k) × ceil(N/columns) of B.
    pub blocks: Option<(&'c Matrix, &'c Matrix)>,
    /// Threads; those of the pool that the call runs in by default.
    pub threads: Option<usize>,
}

/// The operands of a call, held.
#[derive(Debug)]
pub struct Operands {
    /// M×K, one block.
    pub a: Matrix,
    /// K×N, one block.
    pub b: Matrix,
    /// FP32 scales of rows or blocks.
    pub blocks: Option<(Matrix, Matrix)>,
    /// D's format.
    pub out: Format,
    /// Factors of the epilogue.
    pub scales: Scales,
}

impl Operands {
    /// The call with these operands.
    pub fn call(&self, threads: Option<usize>) -> Call<'_> {
        let blocks = self.blocks.as_ref().map(|(a, b)| (a, b));
        Call { scales: self.scales, blocks, threads, ..Call::new(&self.a, &self.b, self.out) }
    }
}

impl<'c> Call<'c> {
    /// A call with scales of one.
    pub fn new(a: &'c Matrix, b: &'c Matrix, out: Format) -> Call<'c> {
        Call { a, b, out, scales: Scales::ONE, blocks: None, threads: None }
    }

    /// M, N, K.
    pub fn shape(&self) -> (usize, usize, usize) {
        (self.a.rows(), self.b.columns(), self.a.columns())
    }
}
