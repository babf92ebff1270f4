//! Which thread holds which element: the fragments of NVIDIA's instructions.
//!
//! Source: PTX ISA 8.7 to 9.2, "Warp level matrix instructions", the sections "Matrix fragments for …" and
//! "Block scaling"; "Asynchronous warpgroup level matrix instructions", "Register fragments" and
//! "Shared memory matrix layout"; "TensorCore 5th generation instructions", "Data path layout
//! organization", "Packing formats" and "Scale factor layout". The manual gives row and column for a thread and the i-th element it
//! holds; here stands the inverse.

use crate::gpu::image::RegisterBit;

/// Bytes of one row of a core matrix, the unit of layout in shared memory without swizzling.
const CORE_ROW: usize = 16;
/// Bytes of a core matrix: eight rows.
pub(super) const CORE: usize = 8 * CORE_ROW;

/// A of `m16n8` shapes (and of FP64 `m8n8k4`), or B, whose columns stand as eight rows would.
///
/// `line` is the row of A or the column of B, of `lines` in all; a register of 32 bits (FP64: of 64)
/// holds `packed` elements that follow each other along K. Four threads side by side hold one line.
pub(super) fn multiplicand(line: usize, lines: usize, k: usize, packed: usize) -> (RegisterBit, usize) {
    let place = RegisterBit {
        thread: line % 8 * 4 + k / packed % 4,
        register: line / 8 + lines / 8 * (k / (4 * packed)),
        bit: 0,
    };
    (place, k % packed)
}

/// C and D of `mma.sync` with N = 8, and of `wgmma`, each of whose four warps holds 16 rows: the thread,
/// and which of its elements it is.
pub(super) fn accumulator(row: usize, column: usize, rows: usize) -> (usize, usize) {
    let (warp, halves) = (row / 16, rows.min(16) / 8);
    let thread = warp * 32 + row % 8 * 4 + column % 8 / 2;
    (thread, column / 8 * 2 * halves + row % 16 / 8 * 2 + column % 2)
}

/// Where A and B of `m8n8k4` on FP16 stand in memory; it does not touch the arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Majors {
    /// A row by row (`row` in the first place), else column by column.
    pub a_by_row: bool,
    /// B column by column (`col` in the second place), else row by row.
    pub b_by_column: bool,
}

impl Majors {
    /// `row.col`, which all other instructions take.
    pub const ROW_COL: Majors = Majors { a_by_row: true, b_by_column: true };

    /// The one a PTX spelling asks for; `row.col` where it asks for none.
    pub fn of(spelling: &str) -> Majors {
        let asks = |words: &str| spelling.to_ascii_lowercase().contains(words);
        Majors {
            a_by_row: !(asks(".col.row.") || asks(".col.col.")),
            b_by_column: !(asks(".row.row.") || asks(".col.row.")),
        }
    }

    /// As PTX writes it.
    pub fn words(self) -> &'static str {
        match (self.a_by_row, self.b_by_column) {
            (true, true) => "row.col",
            (true, false) => "row.row",
            (false, true) => "col.col",
            (false, false) => "col.row",
        }
    }
}

/// `m8n8k4` on FP16: of each of the four products, eight threads hold A and B, four of the warp's lower half
/// and four of its upper. `line` is the row of A or the column of B; `along` says that a thread holds
/// elements along K (A by row, B by column). The thread, and which of its four elements it is.
pub(super) fn quarter_multiplicand(block: usize, line: usize, k: usize, along: bool) -> (usize, usize) {
    let (thread, element) = if along { (line % 4, k) } else { (k, line % 4) };
    (4 * block + thread + 16 * (line / 4), element)
}

/// C or D of `m8n8k4` on FP16: the thread, and which of its eight elements it is.
pub(super) fn quarter_accumulator(block: usize, row: usize, column: usize, single: bool) -> (usize, usize) {
    let upper = 4 * block + 16 * (row / 4);
    if single {
        (upper + (row & 1) + (column & 2), (column & 4) | (row & 2) | (column & 1))
    } else {
        (upper + row % 4, column)
    }
}

/// Scale factors of A in `mma.sync` with byte and thread selectors of zero: one register of the first two
/// threads of each four.
pub(super) fn scale_of_row(row: usize, factor: usize) -> RegisterBit {
    RegisterBit { thread: row % 8 * 4 + row / 8, register: 0, bit: 8 * factor }
}

/// Scale factors of B likewise: one register of the first thread of each four.
pub(super) fn scale_of_column(column: usize, factor: usize) -> RegisterBit {
    RegisterBit { thread: column * 4, register: 0, bit: 8 * factor }
}

/// A row of A or column of B in shared memory, K along memory, without swizzling: core matrices of eight
/// lines by 16 bytes, the `cores` of a line side by side. `per_row` elements of `width` bits stand in
/// the 16 bytes of a row, from its first bit; what they leave is padding. Offset in bits.
pub(super) fn in_core_matrices(line: usize, k: usize, cores: usize, per_row: usize, width: usize) -> usize {
    let bytes = line / 8 * cores * CORE + k / per_row * CORE + line % 8 * CORE_ROW;
    8 * bytes + k % per_row * width
}

/// C and D of `tcgen05.mma` in tensor memory: a column of 32 bits for each column of D, a lane for each
/// row; with M = 64 the first 16 lanes of each 32 (layout F). Thread t reads lane t.
pub(super) fn tensor_memory(row: usize, column: usize, rows: usize) -> RegisterBit {
    let thread = if rows == 64 { row / 16 * 32 + row % 16 } else { row };
    RegisterBit { thread, register: column, bit: 0 }
}

/// Scale factors of `tcgen05.mma` in tensor memory: line l in lane l mod 32 and column l / 32, its factors
/// from the lowest byte on (factor selectors of zero), the same in each quarter of the lanes.
pub(super) fn scale_in_tensor_memory(line: usize, factor: usize) -> RegisterBit {
    RegisterBit { thread: line % 32, register: line / 32, bit: 8 * factor }
}
