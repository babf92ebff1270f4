//! Sums of which an index says where each term goes.

use crate::Numbers;

/// Adds row i of `source` (`width` numbers each) to row `index[i]` of `to`, for i in order; false where an index is out of
/// range, which is found before anything is added.
#[must_use]
pub fn add_at(index: &[i64], source: Numbers<'_>, width: usize, to: &mut [f64]) -> bool {
    let rows = to.len().checked_div(width).unwrap_or(0) as i64;
    if index.iter().any(|&one| one < 0 || one >= rows) {
        return width == 0;
    }
    let mut row = vec![0.0; width];
    for (place, &one) in index.iter().enumerate() {
        source.read(place * width, &mut row);
        let to = &mut to[one as usize * width..][..width];
        to.iter_mut().zip(&row).for_each(|(to, value)| *to += value);
    }
    true
}
