//! Instructions and models in words, as tables and as JSON.

pub(crate) use bitmma_analysis::describe::{lowering, model_parameters as parameters, short};
use bitmma_engine::Instruction;
use bitmma_engine::catalogue::Evidence;
use bitmma_engine::formats::Format;
pub(crate) use bitmma_engine::formats::text::hex as code;

/// Evidence in one word.
pub(crate) fn evidence(row: &Instruction) -> &'static str {
    match row.evidence {
        Evidence::Recorded { .. } => "recorded",
        Evidence::Printed { .. } => "printed",
        Evidence::Defined { .. } => "defined",
        Evidence::Inferred { .. } => "inferred",
    }
}

/// `16×8×16`, or `32×32×4 ×2` for two blocks, or `16×8×32 2:4` with a sparse A.
pub(crate) fn shape(row: &Instruction) -> String {
    let blocks = if row.blocks == 1 { String::new() } else { format!(" ×{}", row.blocks) };
    let sparse = if row.family.is_sparse() { " 2:4" } else { "" };
    format!("{}×{}×{}{blocks}{sparse}", row.m, row.n, row.k)
}

/// Codes with all their digits.
pub(crate) fn codes(format: &Format, codes: &[u64]) -> Vec<String> {
    codes.iter().map(|one| code(format, *one)).collect()
}
