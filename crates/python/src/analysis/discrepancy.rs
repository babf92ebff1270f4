//! `bitmma.analysis.smallest`, `matrix`: where units differ, and on how small an input.

use bitmma_document::html::{fragment, table, typeset};

use bitmma_analysis::discrepancy::{self, Matrix, Parting, matrix, parting, smallest};
use pyo3::prelude::*;

use super::{Failed, Input, Loss, long, subject};
use crate::unit::Unit;

record! {
    /// The result of a search for an input on which two units differ.
    Difference(compared: false, hidden: []) {
        /// ``found``; ``never``: equal parameters, or every input was tried; ``not found``: there may be one.
        verdict: String,
        /// The operands; None where none was found.
        input: Option<Py<Input>>,
        /// Whether every simpler kind of input that is tried at all was tried whole.
        smallest: bool,
        /// Cases tried; 0 where the parameters are equal.
        tried: u64,
        /// The codes of D of the two.
        answers: Option<(u64, u64)>,
        /// Where they part: the first loss of each that the other does not have.
        first: (Option<Py<Loss>>, Option<Py<Loss>>),
    }

    fn _repr_html_(&self) -> String {
        let text = match (&self.input, self.answers) {
            (Some(input), Some((left, right))) => {
                let lost = |loss: &Option<Py<Loss>>| match loss.as_ref().map(Py::get) {
                    Some(loss) => format!("{}, {}", loss.source, loss.term),
                    None => String::new(),
                };
                let row = |name: &str, code: u64, loss| vec![name.to_owned(), format!("{code:#x}"), lost(loss)];
                let rows = [row("left", left, &self.first.0), row("right", right, &self.first.1)];
                let headings = ["", "code of D", "lost first"].map(|name| (name.to_owned(), false));
                format!("<p>{}</p>{}", typeset(&input.get().text), table(&headings, rows))
            }
            _ => format!("<p>{}, {} cases tried</p>", self.verdict, self.tried),
        };
        fragment(&text)
    }
}

/// The smallest input of K elements on which two units differ.
#[pyfunction]
#[pyo3(signature = (left, right, *, k = None, budget = 700_000, seed = 1, threads = None))]
pub(crate) fn smallest_difference(
    py: Python<'_>,
    left: &Unit,
    right: &Unit,
    k: Option<usize>,
    budget: u64,
    seed: u64,
    threads: Option<usize>,
) -> PyResult<Difference> {
    let k = k.unwrap_or(left.target.step().max(right.target.step()));
    let (x, y) = (left.model(), right.model());
    let none = |verdict: &str, tried| {
        let verdict = verdict.to_owned();
        Ok(Difference { verdict, input: None, smallest: false, tried, answers: None, first: (None, None) })
    };
    match long(py, threads, None, |_| smallest(x, y, k, budget, seed))? {
        discrepancy::Difference::Never { tried } => none("never", tried),
        discrepancy::Difference::NotFound { tried } => none("not found", tried),
        discrepancy::Difference::Found { case, smallest, tried, .. } => {
            let Parting { first: (one, other), accounts } = parting(x, y, &case).map_err(Failed::from)?;
            let lost = |loss: Option<_>| loss.as_ref().map(|loss| Loss::of(py, loss)).transpose();
            Ok(Difference {
                verdict: "found".to_owned(),
                input: Some(Input::of(py, x, &case)?),
                smallest,
                tried,
                answers: Some((accounts.0.d, accounts.1.d)),
                first: (lost(one)?, lost(other)?),
            })
        }
    }
}

/// [`difference_matrix`]: K, how many cases there were, who stands together, how many differ.
type Differing = (usize, (u64, u64), Vec<Vec<usize>>, Vec<Vec<(u64, u64)>>);

/// Every pair, on that many cases of every family.
#[pyfunction]
#[pyo3(signature = (units, *, each = 4_000, seed = 1, threads = None))]
pub(crate) fn difference_matrix(
    py: Python<'_>,
    units: Vec<Bound<'_, Unit>>,
    each: u64,
    seed: u64,
    threads: Option<usize>,
) -> PyResult<Differing> {
    let subjects = units.iter().map(|unit| subject(unit.get(), None)).collect();
    let found = long(py, threads, None, |_| matrix(subjects, each, seed))?;
    let Matrix { k, cases, members, differing, .. } = found;
    Ok((k, cases, members, differing))
}
