//! `bitmma.analysis.compare`: one input through every instruction.

use bitmma_analysis::account::Account;
use bitmma_analysis::compare::{self as through, Input, Reason, compare as through_all};
use bitmma_document::html::{fragment, table, typeset};
use bitmma_engine::formats::text::display;
use bitmma_engine::{Architecture, Instruction};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};

use super::{Loss, long};
use crate::error::Raised;
use crate::instruction::revision;

record! {
    /// What one instruction returns.
    Answer(compared: true, hidden: [losses]) {
        /// Architecture and instruction.
        target: String,
        /// The architecture.
        architecture: String,
        /// The instruction.
        instruction: String,
        /// The format of D.
        format: String,
        /// The code of D.
        code: u64,
        /// Its value.
        text: String,
        /// What it lost, in the order of its steps; nothing for what is not finite.
        losses: Vec<Py<Loss>>,
    }

    /// The value of D.
    #[getter]
    fn value(&self) -> PyResult<f64> {
        Ok(self.text.parse()?)
    }
}

record! {
    /// An instruction that does not take the input.
    LeftOut(compared: true, hidden: []) {
        /// Architecture and instruction.
        target: String,
        /// The architecture.
        architecture: String,
        /// The instruction.
        instruction: String,
        /// Why it does not.
        reason: String,
    }
}

record! {
    /// Results by architecture.
    Comparison(compared: true, hidden: []) {
        /// In the catalogue's order.
        answers: Vec<Py<Answer>>,
        /// The others.
        left_out: Vec<Py<LeftOut>>,
    }

    /// Every different value, ascending, with who returns it; all NaNs are one and last.
    #[getter]
    fn by_value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let valued = self.answers.iter().map(|answer| Ok((answer.get().value()?, answer)));
        let mut valued: Vec<(f64, &Py<Answer>)> = valued.collect::<PyResult<_>>()?;
        let order = |(x, _): &(f64, _), (y, _): &(f64, _)| {
            x.partial_cmp(y).unwrap_or_else(|| x.is_nan().cmp(&y.is_nan()))
        };
        valued.sort_by(order);
        let groups = valued.chunk_by(|one, other| order(one, other).is_eq());
        let groups = groups.map(|group| (group[0].0, group.iter().map(|(_, answer)| *answer).collect::<Vec<_>>()));
        groups.into_py_dict(py)
    }

    fn _repr_html_(&self) -> String {
        let mut rows: Vec<(&str, Vec<&Answer>)> = vec![];
        for answer in self.answers.iter().map(Py::get) {
            match rows.iter_mut().find(|(text, _)| *text == answer.text) {
                Some((_, answers)) => answers.push(answer),
                None => rows.push((&answer.text, vec![answer])),
            }
        }
        let row = |(text, answers): (&str, Vec<&Answer>)| {
            let mut architectures: Vec<&str> = answers.iter().map(|answer| &*answer.architecture).collect();
            architectures.dedup();
            let names = answers.iter().map(|answer| typeset(&answer.target)).collect::<Vec<_>>().join("<br/>");
            let names = format!("<details><summary>{}</summary>{names}</details>", architectures.join(", "));
            vec![typeset(text), answers.len().to_string(), names]
        };
        let headings = [("D", false), ("instructions", true), ("which", false)];
        let headings = headings.map(|(name, is_number)| (name.to_owned(), is_number));
        let text = format!("<p>{} instructions do not take this input.</p>", self.left_out.len());
        fragment(&(table(&headings, rows.into_iter().map(row)) + &text))
    }
}

/// Results by architecture; values are text that every format reads for itself. Without A the paper's Equation 1.
#[pyfunction]
#[pyo3(signature = (values, architectures = None, *, round = false, composed = false, revision_name = "hardware"))]
pub(crate) fn compare(
    py: Python<'_>,
    values: Option<(Vec<String>, Vec<String>, String)>,
    architectures: Option<Vec<String>>,
    round: bool,
    composed: bool,
    revision_name: &str,
) -> PyResult<Comparison> {
    let revision = revision(revision_name)?;
    let architectures = match architectures {
        None => Architecture::ALL.to_vec(),
        Some(names) => names
            .iter()
            .map(|name| name.parse())
            .collect::<Result<Vec<Architecture>, _>>()
            .map_err(Raised::from)?,
    };
    let input = match &values {
        None => Input::equation_1(),
        Some((a, b, c)) => Input {
            a: a.iter().map(String::as_str).collect(),
            b: b.iter().map(String::as_str).collect(),
            c,
            round,
        },
    };
    let found = long(py, None, None, |_| {
        let comparison = through_all(&input, &architectures, revision, composed)?;
        let accounts = comparison.answers.iter().map(|answer| input.account(answer.row, revision));
        let accounts = accounts.collect::<Result<Vec<_>, _>>()?;
        Ok((comparison, accounts))
    });
    let (comparison, accounts) = found?;
    let answer = |(answer, account): (&through::Answer, &Option<Account>)| {
        let through::Answer { row, d } = *answer;
        let answer = Answer {
            target: row.target(),
            architecture: row.architecture.name().to_owned(),
            instruction: row.name(),
            format: row.d.name.to_owned(),
            code: d,
            text: display(&row.d, d),
            losses: account.as_ref().map_or(Ok(Vec::new()), |account| Loss::all(py, account))?,
        };
        Py::new(py, answer)
    };
    let left_out = |(row, reason): &(&Instruction, Reason)| {
        let left_out = LeftOut {
            target: row.target(),
            architecture: row.architecture.name().to_owned(),
            instruction: row.name(),
            reason: comparison.text(reason),
        };
        Py::new(py, left_out)
    };
    Ok(Comparison {
        answers: comparison.answers.iter().zip(&accounts).map(answer).collect::<PyResult<_>>()?,
        left_out: comparison.left_out.iter().map(left_out).collect::<PyResult<_>>()?,
    })
}
