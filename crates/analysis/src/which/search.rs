//! Candidates that differ early are left out, the others compared on all elements.

use bitmma_engine::kernel::has_kernel;
use bitmma_engine::threads::prelude::*;

use super::Observed;
use super::candidates::{Entrant, Subject};
use super::piece::{Agreement, Piece};
use super::row::Row;
use crate::error::Error;
use crate::json::Model;

/// Columns of the first look, of one row.
const FEW: usize = 16;
/// Orders of one model that the first look computes together: packing the operands once for each takes most of the time.
const TOGETHER: usize = 32;
/// Rows and columns of the second.
const SIDE: usize = 64;
/// Products that all comparisons take, about: half a minute.
const BUDGET: u64 = 1 << 35;
/// How many times a product without a kernel costs one with.
const REFERENCE: u64 = 256;
/// Configurations of a model that is not found that are compared on the second look.
const NEAREST: usize = 2;

/// Products that may still be computed.
struct Budget(u64);

impl Budget {
    /// Whether a candidate may be compared on a piece; the first always is.
    fn takes(&mut self, entrant: &Entrant, piece: &Piece) -> bool {
        let slow =
            entrant.scheme.target.as_ref().is_some_and(|target| !has_kernel(target.model(), target.step()));
        let cost = (piece.products() as u64).saturating_mul(if slow { REFERENCE } else { 1 });
        let is_first = self.0 == BUDGET;
        let takes = is_first || cost <= self.0;
        self.0 = self.0.saturating_sub(if takes { cost.max(1) } else { 0 });
        takes
    }
}

/// Rows, and those that match: for each place in a row the entrant.
pub(super) struct Found {
    pub(super) rows: Vec<Row>,
    /// Of every order in [`Row::matching`] the entrant.
    pub(super) entrants: Vec<Vec<usize>>,
}

/// Some of `count`, evenly spread.
fn spread(count: usize, some: usize) -> Vec<usize> {
    let some = some.min(count);
    (0..some).map(|index| index * count / some).collect()
}

/// The row, among some, whose first elements have the most different codes: rows of zeros tell nothing.
fn telling_row(observed: &Observed<'_>) -> usize {
    let columns = spread(observed.d.columns(), FEW);
    let different = |row: &usize| {
        let mut codes: Vec<u64> = columns.iter().map(|&column| observed.d.get(0, *row, column)).collect();
        codes.sort_unstable();
        codes.dedup();
        codes.len()
    };
    let rows = spread(observed.d.rows(), SIDE);
    // the first of equals
    rows.into_iter().rev().max_by_key(different).unwrap_or(0)
}

/// Entrants that differ in their orders alone, some at a time.
fn together(entrants: &[Entrant]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = vec![];
    for (index, entrant) in entrants.iter().enumerate() {
        let alike = |group: &&mut Vec<usize>| {
            let (known, scheme) = (&entrants[group[0]], &entrant.scheme);
            group.len() < TOGETHER
                && known.subject == entrant.subject
                && (known.scheme.a, known.scheme.b) == (scheme.a, scheme.b)
                && matches!((&known.scheme.target, &scheme.target), (Some(known), Some(target))
                    if known.step() == target.step() && known.model() == target.model())
        };
        match groups.iter_mut().find(alike) {
            Some(group) => group.push(index),
            None => groups.push(vec![index]),
        }
    }
    groups
}

/// Compares all candidates.
pub(super) fn search(
    observed: &Observed<'_>,
    subjects: &[Subject],
    entrants: &[Entrant],
) -> Result<Found, Error> {
    let (blocks, m, n) = observed.d.shape();
    let few = match n {
        0..4 => Piece::new(observed, 0, spread(m, FEW), spread(n, FEW))?,
        _ => Piece::new(observed, 0, vec![telling_row(observed)], spread(n, FEW))?,
    };
    let some = Piece::new(observed, 0, spread(m, SIDE), spread(n, SIDE))?;
    let is_all = blocks == 1 && m <= SIDE && n <= SIDE;
    let whole = (!is_all).then(|| Piece::whole(observed)).transpose()?;
    let mut first = vec![Agreement::default(); entrants.len()];
    let groups = together(entrants);
    let of = |group: &Vec<usize>| {
        few.compare_each(&group.iter().map(|&index| &entrants[index].scheme).collect::<Vec<_>>())
    };
    let compared: Vec<Vec<Agreement>> = groups.par_iter().map(of).collect();
    for (&index, agreement) in groups.iter().flatten().zip(compared.into_iter().flatten()) {
        first[index] = agreement;
    }
    // second look: what is left, and the best of every model
    let mut second: Vec<usize> = (0..entrants.len()).filter(|&index| first[index].is_whole()).collect();
    for subject in 0..subjects.len() {
        let mut own: Vec<usize> =
            (0..entrants.len()).filter(|&index| entrants[index].subject == subject).collect();
        own.sort_unstable_by_key(|&index| (std::cmp::Reverse(first[index].agreeing), index)); // the simplest of equals first
        second.extend(own.into_iter().take(NEAREST).filter(|&index| !first[index].is_whole()));
    }
    let mut budget = Budget(BUDGET);
    let mut agreements = first;
    let mut verified = vec![false; entrants.len()];
    second.retain(|&index| budget.takes(&entrants[index], &some));
    let looked: Vec<Agreement> =
        (0..second.len()).into_par_iter().map(|at| some.compare(&entrants[second[at]].scheme)).collect();
    for (&index, agreement) in second.iter().zip(looked) {
        agreements[index] = agreement;
        verified[index] = is_all;
    }
    let Some(whole) = whole else { return Ok(rows(subjects, entrants, &agreements, &verified)) };
    let mut budget = Budget(BUDGET);
    for index in second {
        if agreements[index].is_whole() && budget.takes(&entrants[index], &whole) {
            agreements[index] = whole.compare(&entrants[index].scheme);
            verified[index] = true;
        }
    }
    Ok(rows(subjects, entrants, &agreements, &verified))
}

/// One row for each model, those that match first.
fn rows(subjects: &[Subject], entrants: &[Entrant], agreements: &[Agreement], verified: &[bool]) -> Found {
    let mut all: Vec<(Row, Vec<usize>)> = vec![];
    for (place, subject) in subjects.iter().enumerate() {
        let own = (0..entrants.len()).filter(|&index| entrants[index].subject == place);
        let (agreed, others): (Vec<usize>, Vec<usize>) = own.partition(|&index| agreements[index].is_whole());
        let (matching, rest): (Vec<usize>, Vec<usize>) = agreed.iter().partition(|&&index| verified[index]);
        // the most elements compared, then the best share, then the simplest
        let share = |index: usize| {
            let Agreement { agreeing, compared, .. } = agreements[index];
            (agreements[index].is_whole() && verified[index], compared, agreeing)
        };
        let candidates = agreed.iter().chain(&others).copied();
        let Some(nearest) = candidates.rev().max_by_key(|&index| share(index)) else { continue };
        let Agreement { agreeing, compared, first } = agreements[nearest].clone();
        let order = |index: &usize| entrants[*index].order.clone();
        let row = Row {
            model: subject.model.as_ref().map(|model| Model::new(model, Some(subject.k))),
            matching: matching.iter().map(order).collect(),
            unverified: rest.len(),
            nearest: order(&nearest),
            agreeing,
            compared,
            first,
            ..Row::of(subject.rows.clone(), subject.threads)
        };
        all.push((row, matching));
    }
    all.sort_by(|(one, _), (other, _)| {
        let share = |row: &Row| (!row.matching.is_empty(), row.agreeing as f64 / row.compared.max(1) as f64);
        share(other).partial_cmp(&share(one)).unwrap_or(std::cmp::Ordering::Equal)
    });
    let (rows, entrants) = all.into_iter().unzip();
    Found { rows, entrants }
}
