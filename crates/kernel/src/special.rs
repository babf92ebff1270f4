//! What NaN and infinity among the products make of a result, from the kinds of the factors alone.

use bitmma_arithmetic::special::Special;

use super::element::kind;

/// NaN or infinity that the products of a row of A and a column of B hold, over the whole of K; `None` if
/// every product is finite.
///
/// A NaN anywhere, infinity times zero, or infinities of both signs give NaN.
pub(crate) fn of_products(a: &[u8], b: &[u8]) -> Option<Special> {
    let (mut nan, mut positive, mut negative) = (0u8, 0u8, 0u8);
    for (&a, &b) in a.iter().zip(b) {
        let either = a | b;
        let infinite = either & kind::INFINITY;
        let zero = either & kind::ZERO;
        // infinity times zero is NaN: the bits stand one apart
        nan |= (either & kind::NAN) | (infinite & (zero >> 1));
        let minus = 0u8.wrapping_sub(((a ^ b) & kind::NEGATIVE) >> 3);
        positive |= infinite & !minus;
        negative |= infinite & minus;
    }
    if nan != 0 || (positive != 0 && negative != 0) {
        return Some(Special::Nan);
    }
    (positive != 0 || negative != 0).then_some(Special::Infinity { negative: negative != 0 })
}
