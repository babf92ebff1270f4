//! Which elements share a scale, as the options of command, calls, C and Python spell it.

use std::fmt;

use bitmma_kernel::ScaleBlocks;

/// Text that does not say which elements share a scale.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongBlocks {
    /// The text.
    pub text: String,
}

impl WrongBlocks {
    /// What may be written.
    pub const ALLOWED: &str = "write 'row', or the blocks of A and of B with the same K, as in 1x128,128x128";
}

impl fmt::Display for WrongBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "scale_blocks is {}; {}", self.text, WrongBlocks::ALLOWED)
    }
}

impl std::error::Error for WrongBlocks {}

/// `1x128,128x128`: rows of A by K, columns of B by K; `row`: [`ScaleBlocks::ROWS`].
pub fn scale_blocks(text: &str) -> Result<ScaleBlocks, WrongBlocks> {
    let wrong = || WrongBlocks { text: text.to_owned() };
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
