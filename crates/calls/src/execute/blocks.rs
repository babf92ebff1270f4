//! Whether a call has the FP32 scales of blocks that its plan asks for.

use bitmma::formats::F32;

use crate::call::Call;
use crate::error::Error;
use crate::plan::Plan;

/// Formats and shapes of the scales.
pub(super) fn check(plan: &Plan, call: &Call<'_>) -> Result<(), Error> {
    let (m, n, k) = call.shape();
    match (&plan.blocks, call.blocks) {
        (None, None) => Ok(()),
        (None, Some(_)) => Err(Error::Operands("block scales for a plan without [blocks]".to_owned())),
        (Some(_), None) => {
            Err(Error::Operands("the plan has [blocks]; the call gives no block scales".to_owned()))
        }
        (Some(blocks), Some((of_a, of_b))) => {
            let along = blocks.sizes().along(k);
            let a = (m.div_ceil(blocks.rows), along);
            let b = (along, n.div_ceil(blocks.columns));
            for (name, scales, (rows, columns)) in [("A", of_a, a), ("B", of_b, b)] {
                if scales.format() != F32 || scales.shape() != (1, rows, columns) {
                    return Err(Error::Operands(format!(
                        "block scales of {name} are {} {}×{}; they are f32 {rows}×{columns}",
                        scales.format(),
                        scales.rows(),
                        scales.columns()
                    )));
                }
            }
            Ok(())
        }
    }
}
