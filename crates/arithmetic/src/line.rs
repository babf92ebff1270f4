//! Dot products of many steps along K: rows of A and columns of B unpacked once, for many elements of D.

use bitmma_formats::Unpacked;

use crate::run::{Prepared, Side, Start};

/// A row of A or a column of B unpacked, step by step along K.
pub struct Line {
    /// Elements and scale factors of each step.
    steps: Vec<(Vec<Unpacked>, Vec<Unpacked>)>,
}

impl Line {
    /// Whole steps of a row of A or a column of B: codes, and those of the scale factors where the model has them.
    pub fn new(prepared: &Prepared<'_>, side: Side, codes: &[u64], scales: Option<Vec<u64>>) -> Line {
        let scales = scales.unwrap_or_default();
        let step = prepared.k();
        let factors = scales.len() * step / codes.len();
        let steps = (0..codes.len() / step)
            .map(|index| {
                let codes = codes[index * step..(index + 1) * step].iter().copied();
                let scales = scales[index * factors..(index + 1) * factors].iter().copied();
                (prepared.vector(side, codes), prepared.scales(scales))
            })
            .collect();
        Line { steps }
    }
}

/// One element of D: the model applied step by step along K, each step starting from the result of the one before.
pub fn chain(prepared: &Prepared<'_>, row: &Line, column: &Line, c: u64) -> u64 {
    let mut d = c;
    for (index, ((a, scale_a), (b, scale_b))) in row.steps.iter().zip(&column.steps).enumerate() {
        let start = if index == 0 { Start::C(d) } else { Start::D(d) };
        d = prepared.dot(a, b, start, scale_a, scale_b, &mut ());
    }
    d
}
