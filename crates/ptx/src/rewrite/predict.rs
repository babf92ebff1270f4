//! What ptxas fuses and folds, predicted from the text alone.

use super::back::rewrite;
use super::contract::{Decisions, contract, multiplies};
use super::evaluate::is_approximate;
use super::normal::Normal;
use super::{Rewrites, too_large};
use crate::text::Function;

/// Rewrites a function as ptxas is expected to.
pub(super) fn predict(function: &mut Function, sm_8x: bool, rewrites: &mut Rewrites) {
    let all = &function.instructions;
    let product = all.iter().find(|instruction| multiplies(instruction));
    let approximate = all.iter().find(|instruction| is_approximate(instruction));
    if product.is_none() && approximate.is_none() {
        return;
    }
    match Normal::of(function) {
        Some(normal) => {
            let decisions = contract(&normal, sm_8x);
            rewrite(function, &normal, &decisions, rewrites);
        }
        None => {
            let doubts = [
                approximate.map(|first| too_large(first, "operations on constants ptxas computes")),
                product.map(|first| too_large(first, "products ptxas fuses")),
            ];
            rewrites.doubts.extend(doubts.into_iter().flatten());
        }
    }
}

/// The same of a text that is compiled without fusion: only constants are folded.
pub(super) fn predict_without_fusion(function: &mut Function, rewrites: &mut Rewrites) {
    let Some(first) = function.instructions.iter().find(|instruction| is_approximate(instruction)) else {
        return;
    };
    match Normal::of(function) {
        Some(normal) => rewrite(function, &normal, &Decisions::default(), rewrites),
        None => rewrites.doubts.push(too_large(first, "operations on constants ptxas computes")),
    }
}
