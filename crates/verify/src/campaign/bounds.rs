//! What a block of a campaign can be: every count and index of it has its range.

use bitmma_engine::Signature;

use super::block::{Block, KEPT, Kept};
use super::cut::Cut;
use crate::directed::Feature;
use crate::inputs::Family;

/// Sizes and formats of a campaign.
#[derive(Clone, Debug)]
pub struct Bounds {
    pub(super) signature: Signature,
    pub(super) cut: Cut,
}

/// Whether a name is that of a family or a feature.
fn is_kind(name: &str) -> bool {
    Family::ALL.iter().any(|family| family.name() == name)
        || Feature::ALL.iter().any(|feature| feature.name() == name)
}

impl Bounds {
    /// Refuses what no block of the campaign can be.
    pub fn check(&self, block: &Block) -> Result<(), String> {
        let Block { block: number, digest, dot_products, nan, nan_expected, constant, mismatches, kept } =
            block;
        let blocks = self.cut.blocks();
        if *number >= blocks {
            return Err(format!("block {number}; the campaign has {blocks}, counted from 0"));
        }
        let wrong = |problem: String| Err(format!("block {number}: {problem}"));
        let range = self.cut.range(*number);
        let expected = (range.end - range.start) * self.cut.dot_products_each;
        if *dot_products != expected {
            return wrong(format!("{dot_products} dot products; it has {expected}"));
        }
        for (name, count) in [("nan", *nan), ("nan_expected", *nan_expected)] {
            if count > expected {
                return wrong(format!("{name} is {count}, of {expected} dot products"));
            }
        }
        if digest.len() != 64 || !digest.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')) {
            return wrong(format!("'{digest}' is not a digest of 64 hex digits"));
        }
        let d = &self.signature.d;
        if let Some(code) = constant {
            let all_nan = if d.is_nan(*code) { expected } else { 0 };
            if *code > d.max_code() || *nan != all_nan {
                return wrong(format!("every result is said to be {code:#x}, and {nan} to be NaN"));
            }
        }
        let all = mismatches.values().try_fold(0u64, |all, count| all.checked_add(*count));
        if all.is_none_or(|all| all > expected) {
            return wrong(format!("more mismatches than its {expected} dot products"));
        }
        for (kind, count) in mismatches {
            if !is_kind(kind) || *count == 0 {
                return wrong(format!("{count} mismatches of kind '{kind}'"));
            }
            let shown = kept.iter().filter(|kept| kept.kind == *kind).count();
            if shown as u64 != (*count).min(KEPT) {
                return wrong(format!("{shown} of {count} mismatches of kind '{kind}' are given"));
            }
        }
        kept.iter().try_for_each(|kept| {
            let known = mismatches.contains_key(&kept.kind) && range.contains(&kept.instruction);
            if known && self.holds(kept) {
                Ok(())
            } else {
                wrong(format!("a mismatch of kind '{}' that its instructions cannot have", kept.kind))
            }
        })
    }

    /// Whether place and codes of a mismatch are those of an element of D.
    fn holds(&self, kept: &Kept) -> bool {
        let Signature { m, n, k, blocks, a, b, c, d, scale, .. } = &self.signature;
        let Kept { place: (block, row, column), case, expected, actual, .. } = kept;
        let (factors, format) = scale.map_or((0, *a), |scale| (k / scale.size, scale.format));
        let codes = [
            (&case.a[..], *k, a),
            (&case.b, *k, b),
            (&case.scale_a, factors, &format),
            (&case.scale_b, factors, &format),
            (&[case.c], 1, c),
            (&[*expected, *actual], 2, d),
        ];
        let fit = codes.iter().all(|(codes, count, format)| {
            codes.len() == *count && codes.iter().all(|code| *code <= format.max_code())
        });
        fit && block < blocks && row < m && column < n && expected != actual
    }
}
