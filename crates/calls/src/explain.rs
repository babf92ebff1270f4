//! One element of a call, through chains, parts, merge and epilogue.

use bitmma_engine::formats::text::display;
use bitmma_engine::formats::{F32, Format};
use bitmma_engine::gemm::Element;
use bitmma_engine::gemm::schedule::Piece;

use crate::call::Call;
use crate::error::Error;
use crate::execute::{element, layout};
use crate::plan::Plan;

/// How an element came about.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// Row and column of D.
    pub place: (usize, usize),
    /// Its numbers.
    pub element: Element,
    /// The elements of K of each part, slice by slice, chain by chain, in words.
    pub elements: Vec<Vec<Vec<String>>>,
    /// Elements of K that enter no part (rule 12).
    pub lost: usize,
    /// D's format.
    pub out: Format,
}

/// Follows one element of D.
pub fn explain(plan: &Plan, call: &Call<'_>, row: usize, column: usize) -> Result<Explanation, Error> {
    let (m, n, k) = call.shape();
    if row >= m || column >= n {
        return Err(Error::Operands(format!(
            "D has no element [{row}, {column}]; it is {m}×{n}, counted from 0"
        )));
    }
    let layout = if k > 0 { layout(plan, k)? } else { None };
    let words = |chain: &Vec<Piece>| {
        let ranges: Vec<String> =
            chain.iter().map(|piece| format!("{}..{}", piece.range.start, piece.range.end)).collect();
        match &ranges[..] {
            [first, .., last] if ranges.len() > 4 => format!("{first} … {last} ({} runs)", ranges.len()),
            all => all.join(" "),
        }
    };
    let elements = layout.iter().flat_map(|layout| &layout.parts);
    let elements =
        elements.map(|part| part.iter().map(|slice| slice.iter().map(words).collect()).collect()).collect();
    Ok(Explanation {
        place: (row, column),
        element: element(plan, call, row, column)?,
        elements,
        lost: layout.map_or(0, |layout| layout.lost),
        out: call.out,
    })
}

impl Explanation {
    /// The way of the element, a line each.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let value = |word: u64| format!("{} ({word:08x})", display(&F32, word));
        for (part, (results, elements)) in self.element.chains.iter().zip(&self.elements).enumerate() {
            for (results, elements) in results.iter().zip(elements) {
                let shown = results.iter().zip(elements).take(8);
                for (result, elements) in shown {
                    lines.push(format!("part {part}: chain over K {elements}: {}", value(*result)));
                }
                if results.len() > 8 {
                    lines.push(format!("part {part}: {} more chains", results.len() - 8));
                }
            }
            lines.push(format!("part {part}: {}", value(self.element.parts[part])));
        }
        if self.lost > 0 {
            lines.push(format!("the last {} elements of K enter no part (rule 12)", self.lost));
        }
        lines.push(format!("merged: {}", value(self.element.merged)));
        let digits = self.out.hex_digits();
        let code = self.element.code;
        let (row, column) = self.place;
        lines.push(format!(
            "D[{row}, {column}] = {} ({code:0digits$x} in {})",
            display(&self.out, code),
            self.out
        ));
        lines
    }
}
