//! FP32 scales of blocks of A and B as text.

use std::fmt;
use std::str::FromStr;

use super::options::option;
use crate::error::Error;
use crate::kernel::runs::ScaleBlocks;

impl fmt::Display for ScaleBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ScaleBlocks { k, rows, columns, .. } = self;
        if *k == 0 { f.write_str("row") } else { write!(f, "{rows}x{k},{columns}x{k}") }
    }
}

impl FromStr for ScaleBlocks {
    type Err = Error;

    /// `1x128,128x128`: rows of A by K, columns of B by K; `row`: [`ScaleBlocks::ROWS`].
    fn from_str(text: &str) -> Result<ScaleBlocks, Error> {
        let wrong = || {
            let allowed = "write 'row', or the blocks of A and of B with the same K, as in 1x128,128x128";
            option("scale_blocks", text, allowed.to_owned())
        };
        if text == "row" {
            return Ok(ScaleBlocks::ROWS);
        }
        let block = |text: &str| -> Option<(usize, usize)> {
            let (lines, k) = text.trim().split_once(['x', '×'])?;
            Some((lines.parse().ok()?, k.parse().ok()?))
        };
        let (a, b) = text.split_once(',').ok_or_else(wrong)?;
        match (block(a), block(b)) {
            (Some((rows, k)), Some((columns, of_b))) if k == of_b && rows > 0 && columns > 0 && k > 0 => {
                Ok(ScaleBlocks::new(rows, columns, k))
            }
            _ => Err(wrong()),
        }
    }
}
