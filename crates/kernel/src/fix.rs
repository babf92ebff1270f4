//! What NaN, infinities and overflow among the products make of results that were computed without them.

use std::ops::Range;
use std::sync::OnceLock;

use bitmma_arithmetic::line::chain;
use bitmma_arithmetic::special::Special;
use bitmma_formats::{Class, decode};

use super::element::Entry;
use super::family::Problem;
use super::number::Number;
use super::pack::{Operand, Traits};
use super::routes::{Route, count};
use super::special;
use super::tiles::{Tiles, b_code};

/// What specials among the products make of results that were computed without them.
pub(crate) struct Fix<'f, T, E: Entry> {
    pub(crate) kernel: &'f dyn Tiles<T, E>,
    pub(crate) problem: &'f Problem<'f>,
    /// Which of the products.
    pub(crate) block: usize,
    pub(crate) a: &'f Operand<'f, E>,
    pub(crate) b: &'f Operand<'f, E>,
    pub(crate) row_kinds: &'f Kinds,
    /// Of the block of columns.
    pub(crate) column_kinds: &'f Kinds,
    /// Where that block begins.
    pub(crate) first_column: usize,
}

/// The kinds of all elements of lines, looked up once for each line that asks for them.
pub(crate) struct Kinds(Vec<OnceLock<Vec<u8>>>);

impl Kinds {
    /// For that many lines, none of which was asked for yet.
    pub(crate) fn of(lines: usize) -> Kinds {
        Kinds(std::iter::repeat_with(OnceLock::new).take(lines).collect())
    }
}

impl<T: Number, E: Entry> Fix<'_, T, E> {
    /// Corrects the accumulators of some rows of a panel, `width` to a row, where a row or a column holds something
    /// special: what they came to after `elements`, a run that is packed to its end.
    pub(crate) fn apply(
        &self,
        (first_row, rows): (usize, &[Traits]),
        (first, columns, width): (usize, &[Traits], usize),
        elements: Range<usize>,
        state: &mut [T],
    ) {
        let kernel = self.kernel;
        let usual = |row: &Traits, columns: &Traits| {
            !row.is_special() && !columns.is_special() && !kernel.may_overflow(row.largest, columns.largest)
        };
        let any_column = Traits::of_all(columns);
        if usual(&Traits::of_all(rows), &any_column) {
            return;
        }
        for (line, (state, traits)) in state.chunks_exact_mut(width).zip(rows).enumerate() {
            let row = first_row + line;
            if usual(traits, &any_column) {
                continue;
            }
            for (column, (state, column_traits)) in state.iter_mut().zip(columns).enumerate() {
                let place = (row, self.first_column + first + column);
                let code = if kernel.may_overflow(traits.largest, column_traits.largest) {
                    self.by_reference(place, elements.clone())
                } else if traits.is_special() || column_traits.is_special() {
                    let of_row = || self.a.kinds(row, self.a.lines.row(self.block, row));
                    let of_column =
                        || self.b.kinds(place.1, self.b_codes(place.1, 0..self.problem.operands.b.rows));
                    let row_kinds = self.row_kinds.0[row].get_or_init(of_row);
                    let column_kinds = self.column_kinds.0[first + column].get_or_init(of_column);
                    let kinds = (&row_kinds[elements.clone()], &column_kinds[elements.clone()]);
                    let Some(special) = special::of_products(kinds.0, kinds.1) else { continue };
                    let nan = self.problem.prepared.model().emitted_nan().unwrap_or_default();
                    self.corrected(place, elements.clone(), special, kernel.store(*state, nan))
                } else {
                    continue;
                };
                *state = kernel.resume(code);
            }
        }
    }

    /// `code` came out with every special element taken for zero: it is right up to the first special
    /// product, and infinite or NaN only if the accumulator was so or overflowed.
    fn corrected(&self, place: (usize, usize), elements: Range<usize>, special: Special, code: u64) -> u64 {
        let model = self.problem.prepared.model();
        let d = &model.d;
        let value = decode(d, code);
        match special {
            Special::Nan => model.emitted_nan().unwrap_or_default(),
            _ if self.c_is_nan(place) => model.emitted_nan().unwrap_or_default(),
            // the accumulator was or became infinite too: which came first, and of which sign, decides
            Special::Infinity { negative }
                if !value.is_finite() && (value.class == Class::Nan || value.negative != negative) =>
            {
                self.by_reference(place, elements)
            }
            Special::Infinity { .. } => special.code(d),
        }
    }

    /// Whether the accumulator started from NaN.
    fn c_is_nan(&self, place: (usize, usize)) -> bool {
        decode(&self.problem.prepared.model().c, self.c_code(place)).class == Class::Nan
    }

    /// What the accumulator started from: runs start from +0.
    fn c_code(&self, (row, column): (usize, usize)) -> u64 {
        match self.problem.runs {
            None => self.problem.operands.c_code(self.block, row, column),
            Some(_) => 0,
        }
    }

    /// Codes of a column of B.
    fn b_codes(&self, column: usize, elements: Range<usize>) -> impl Iterator<Item = u64> {
        elements.map(move |k| b_code(self.kernel, self.problem, (self.block, k, column)))
    }

    #[cold]
    fn by_reference(&self, (row, column): (usize, usize), elements: Range<usize>) -> u64 {
        count(Route::Element);
        let Problem { prepared, operands, .. } = self.problem;
        let a = operands.row(prepared, (self.block, row), elements.clone());
        let codes: Vec<u64> = self.b_codes(column, elements.clone()).collect();
        let b = operands.column_of(prepared, &codes, (self.block, column), elements);
        chain(prepared, &a, &b, self.c_code((row, column)))
    }
}
