//! A column of a recording as the operand of a matrix product: each line is one product of 1×K by K×1.

use std::path::Path;

use bitmma_engine::formats::Format;
use bitmma_files::Tensor;
use bitmma_files::header::{Endian, Order};
use bitmma_verify::recording;

use crate::failure::{Failure, Within};

/// The elements of a column, each a code of `format`, a line after the other.
pub(super) fn read(path: &Path, column: &str, format: &Format) -> Result<Tensor, Failure> {
    let file = path.display();
    let rows = recording::column(recording::open(path).within(&file)?, column, format).within(&file)?;
    let Some(width) = rows.first().map(Vec::len) else {
        bail!("{file}: 0 dot products: nothing to multiply");
    };
    let shape = match column {
        "b" | "scale_b" => vec![rows.len(), width, 1],
        _ => vec![rows.len(), 1, width],
    };
    Ok(Tensor {
        source_name: format!("{file}:{column}"),
        shape,
        order: Order::C,
        endian: Endian::Little,
        width: size_of::<u64>(),
        bytes: rows.iter().flatten().flat_map(|code| code.to_le_bytes()).collect(),
    })
}
