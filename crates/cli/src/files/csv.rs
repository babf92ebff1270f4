//! A column of a recording as the operand of a matrix product: each line is one product of 1×K by K×1.

use std::fs::File;
use std::path::Path;

use bitmma::formats::Format;
use bitmma_verify::recording;

use super::error::Error;
use super::tensor::{Endian, Order, Tensor};

/// The elements of a column, each a code of `format`, a line after the other.
pub(super) fn read(path: &Path, column: &str, format: &Format) -> Result<Tensor, Error> {
    let file = path.display().to_string();
    let opened = File::open(path).map_err(|error| Error::Io { file: file.clone(), error })?;
    let rows = recording::column(opened, column, format)
        .map_err(|error| Error::Malformed { file: file.clone(), problem: error.to_string() })?;
    let Some(width) = rows.first().map(Vec::len) else {
        let problem = "0 dot products: nothing to multiply".to_owned();
        return Err(Error::Malformed { file, problem });
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
