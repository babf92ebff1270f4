//! Two models: whether they compute the same, by argument, or an input on which they do not.

use bitmma_engine::{Case, Model, Signature};
use bitmma_verify::apart::Rules;
use bitmma_verify::inputs::Formats;

use crate::hypotheses::space::Space;
use crate::separate;

/// How the probe tells models apart.
pub const RULES: Rules = Rules { equivalent, differing };

/// Whether no input of `k` elements tells two models apart, by the arguments beside the rules of the canonical form.
///
/// `false` says nothing: there may be no such input, too. The models take and give the same formats; the code of NaN is left
/// out.
pub fn equivalent(left: &Model, right: &Model, k: usize) -> bool {
    let formats = |model: &Model| (model.a, model.b, model.c, model.d, model.scale);
    if formats(left) != formats(right) {
        return false;
    }
    if left.is_integer() {
        // sums that wrap are the same in every order, those that saturate do so after L products
        let saturates = left.conversion.saturate;
        return left.conversion == right.conversion && (!saturates || left.length(k) == right.length(k));
    }
    let space = Space::new(&Signature::of_model("model".to_owned(), left, (1, 1, k)));
    let canonical = |model: &Model| {
        let mut model = space.canonical(model);
        model.nan_code = None;
        model
    };
    space.allows(left) && space.allows(right) && canonical(left) == canonical(right)
}

/// An input of `k` elements on which two models that take the same formats differ, built from where they cut, tie and end;
/// `None` where `tries` of them show no difference.
pub fn differing(left: &Model, right: &Model, k: usize, seed: u64, tries: u64) -> Option<Case> {
    separate::separating(&Formats::from(left), k, [left, right], (seed, tries))
}
