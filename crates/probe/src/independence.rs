//! Step 1: whether every element of D is computed alike, alone, and the same way each time.

use bitmma::inputs::{Case, Family, Matrices, case, matrices};
use bitmma::{Matrix, Signature};

use crate::Place;
use crate::error::Error;
use crate::numbers::Random;
use crate::session::Session;

/// How a unit is not what a matrix unit should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The same question was answered differently.
    NotDeterministic,
    /// The same row and column were answered differently in another place.
    DependsOnPosition,
    /// An answer changed with rows, columns or elements of C that have no part in it.
    DependsOnOthers,
}

impl Fault {
    /// What it means.
    pub const fn text(self) -> &'static str {
        match self {
            Fault::NotDeterministic => "not deterministic: the same question was answered differently",
            Fault::DependsOnPosition => {
                "depends on position: the same row and column give different bits in different places"
            }
            Fault::DependsOnOthers => {
                "elements depend on each other: an answer changed with operands that have no part in it"
            }
        }
    }
}

/// A fault with one answer that shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// What is wrong.
    pub fault: Fault,
    /// Where it showed.
    pub place: Place,
    /// Elements in which it showed, of how many.
    pub elements: (usize, usize),
    /// The dot product there.
    pub case: Case,
    /// What was answered elsewhere, before or in other company.
    pub expected: u64,
    /// What was answered there.
    pub answer: u64,
    /// How it was asked, in words.
    pub asked: String,
}

/// Families whose cases are asked.
const FAMILIES: [Family; 6] =
    [Family::Normal, Family::Moderate, Family::Spread, Family::Cancelling, Family::Bits, Family::Outliers];
/// Places whose company is changed.
const PLACES: usize = 6;
/// Times the same instruction is asked.
const REPEATS: usize = 3;

/// Every fault found, one of each kind at most, with the number of tests.
pub(crate) fn check(session: &mut Session<'_>, seed: u64) -> Result<(Vec<Evidence>, usize), Error> {
    let signature = session.signature();
    let mut found: Vec<Evidence> = Vec::new();
    let mut tests = 0;
    let random: Vec<Matrices> = FAMILIES
        .iter()
        .map(|&family| matrices(signature, family, seed, 0))
        .collect::<Result<_, _>>()
        .map_err(|source| Error::Unit { answered: 0, purpose: "independence", source })?;

    // repeated runs
    // an odd number of instructions a round: what alternates does not come round to the same question
    let mut round = random.clone();
    if round.len().is_multiple_of(2) {
        round.push(random[0].clone());
    }
    let first = session.instructions("repeat 0", &round)?;
    for repeat in ["repeat 1", "repeat 2"] {
        let again = session.instructions(repeat, &round)?;
        tests += round.len();
        for (index, (before, now)) in first.iter().zip(&again).enumerate() {
            let asked = format!(
                "instruction 0 of family {} under seed {seed}, {REPEATS} times",
                FAMILIES[index % FAMILIES.len()].name()
            );
            note(
                &mut found,
                signature,
                Fault::NotDeterministic,
                &asked,
                now,
                |at| before[at],
                |place| round[index].case(place.block, place.row, place.column),
            );
        }
    }
    if !found.is_empty() {
        return Ok((found, tests)); // whatever follows would only show the same
    }

    // one row and one column everywhere
    let cases: Vec<Case> = FAMILIES
        .iter()
        .flat_map(|&family| (0..2).map(move |index| (family, index)))
        .map(|(family, index)| case(signature, signature.k, family, seed ^ 1, index))
        .collect();
    let uniform: Vec<Matrices> =
        cases.iter().map(|case| everywhere(signature, case)).collect::<Result<_, _>>()?;
    let answers = session.instructions("everywhere the same", &uniform)?;
    tests += uniform.len();
    for (case, answers) in cases.iter().zip(&answers) {
        let common = most_common(answers);
        let asked = "one row, one column and one element of C everywhere";
        note(&mut found, signature, Fault::DependsOnPosition, asked, answers, |_| common, |_| case.clone());
    }

    // the same element in other company
    let mut draw = Random::new(seed, 3);
    for (index, family) in FAMILIES.iter().enumerate() {
        let Signature { m, n, blocks, .. } = *signature;
        let strangers = matrices(signature, FAMILIES[(index + 4) % FAMILIES.len()], seed ^ 2, 1)
            .map_err(|source| Error::Unit { answered: 0, purpose: "independence", source })?;
        let places: Vec<Place> = (0..PLACES)
            .map(|_| Place { block: draw.below(blocks), row: draw.below(m), column: draw.below(n) })
            .collect();
        let asked: Vec<Matrices> = places
            .iter()
            .map(|&place| {
                with(signature, &strangers, place, &random[index].case(place.block, place.row, place.column))
            })
            .collect::<Result<_, _>>()?;
        let answers = session.instructions("other company", &asked)?;
        tests += asked.len();
        for (place, codes) in places.iter().zip(&answers) {
            let at = place.index(signature);
            if codes[at] != first[index][at]
                && !found.iter().any(|known| known.fault == Fault::DependsOnOthers)
            {
                found.push(Evidence {
                    fault: Fault::DependsOnOthers,
                    place: *place,
                    elements: (1, 1),
                    case: random[index].case(place.block, place.row, place.column),
                    expected: first[index][at],
                    answer: codes[at],
                    asked: format!(
                        "instruction 0 of family {} under seed {seed}, then the same row, column and element of C among others",
                        family.name()
                    ),
                });
            }
        }
    }
    Ok((found, tests))
}

fn note(
    found: &mut Vec<Evidence>,
    signature: &Signature,
    fault: Fault,
    asked: &str,
    answers: &[u64],
    expected: impl Fn(usize) -> u64,
    case: impl Fn(Place) -> Case,
) {
    let wrong: Vec<usize> = (0..answers.len()).filter(|&at| answers[at] != expected(at)).collect();
    if wrong.is_empty() || found.iter().any(|known| known.fault == fault) {
        return;
    }
    let place = Place::of(signature, wrong[0]);
    found.push(Evidence {
        fault,
        place,
        elements: (wrong.len(), answers.len()),
        case: case(place),
        expected: expected(wrong[0]),
        answer: answers[wrong[0]],
        asked: asked.to_owned(),
    });
}

/// The code that occurs most often, the smallest of several.
fn most_common(codes: &[u64]) -> u64 {
    let mut sorted = codes.to_vec();
    sorted.sort_unstable();
    let longest =
        sorted.chunk_by(|one, next| one == next).max_by_key(|run| (run.len(), std::cmp::Reverse(run[0])));
    longest.map_or(0, |run| run[0])
}

/// One dot product in every place.
pub(crate) fn everywhere(signature: &Signature, case: &Case) -> Result<Matrices, Error> {
    arrange(signature, |_, _| Some(case), |_, _| Some(case), |_| Some(case.c))
}

/// One dot product in one place, everything else zero.
pub(crate) fn alone(signature: &Signature, place: Place, case: &Case) -> Result<Matrices, Error> {
    arrange(
        signature,
        |block, row| (block == place.block && row == place.row).then_some(case),
        |block, column| (block == place.block && column == place.column).then_some(case),
        |at| (at == place).then_some(case.c),
    )
}

/// One dot product in one place of an instruction.
fn with(signature: &Signature, others: &Matrices, place: Place, case: &Case) -> Result<Matrices, Error> {
    let replace = |matrix: &Matrix, chosen: &dyn Fn(usize, usize, usize) -> Option<u64>| {
        let (blocks, rows, columns) = matrix.shape();
        let codes = (0..blocks * rows * columns).map(|at| {
            let (block, row, column) = (at / (rows * columns), at / columns % rows, at % columns);
            chosen(block, row, column).unwrap_or_else(|| matrix.get(block, row, column))
        });
        Matrix::new(matrix.format(), matrix.shape(), codes).map_err(|source| Error::Unit {
            answered: 0,
            purpose: "independence",
            source,
        })
    };
    let row = |codes: &'_ [u64]| {
        let codes = codes.to_vec();
        move |block: usize, row: usize, column: usize| {
            (block == place.block && row == place.row).then(|| codes[column])
        }
    };
    let column = |codes: &'_ [u64]| {
        let codes = codes.to_vec();
        move |block: usize, row: usize, column: usize| {
            (block == place.block && column == place.column).then(|| codes[row])
        }
    };
    let _ = signature;
    Ok(Matrices {
        a: replace(&others.a, &row(&case.a))?,
        b: replace(&others.b, &column(&case.b))?,
        c: replace(&others.c, &|block, row, column| {
            (Place { block, row, column } == place).then_some(case.c)
        })?,
        scales: match &others.scales {
            None => None,
            Some((a, b)) => Some((replace(a, &row(&case.scale_a))?, replace(b, &column(&case.scale_b))?)),
        },
    })
}

fn arrange<'c>(
    signature: &Signature,
    row: impl Fn(usize, usize) -> Option<&'c Case>,
    column: impl Fn(usize, usize) -> Option<&'c Case>,
    c: impl Fn(Place) -> Option<u64>,
) -> Result<Matrices, Error> {
    let Signature { m, n, k, blocks, scale, .. } = *signature;
    let failed = |source| Error::Unit { answered: 0, purpose: "independence", source };
    let rows = |format: bitmma::formats::Format, length: usize, of: fn(&Case) -> &[u64]| {
        let zero = bitmma::inputs::zero(&format);
        let lines = (0..blocks * m).map(|line| row(line / m, line % m));
        let codes: Vec<u64> = lines
            .flat_map(|case| (0..length).map(move |at| case.map_or(zero, |case| of(case)[at])))
            .collect();
        Matrix::new(format, (blocks, m, length), codes)
    };
    let columns = |format: bitmma::formats::Format, length: usize, of: fn(&Case) -> &[u64]| {
        let zero = bitmma::inputs::zero(&format);
        let mut codes = Vec::with_capacity(blocks * length * n);
        for block in 0..blocks {
            for at in 0..length {
                codes.extend((0..n).map(|line| column(block, line).map_or(zero, |case| of(case)[at])));
            }
        }
        Matrix::new(format, (blocks, length, n), codes)
    };
    let zero = bitmma::inputs::zero(&signature.c);
    let accumulators = (0..blocks * m * n).map(|at| c(Place::of(signature, at)).unwrap_or(zero));
    Ok(Matrices {
        a: rows(signature.a, k, |case| &case.a).map_err(failed)?,
        b: columns(signature.b, k, |case| &case.b).map_err(failed)?,
        c: Matrix::new(signature.c, (blocks, m, n), accumulators).map_err(failed)?,
        scales: match scale {
            None => None,
            Some(scale) => Some((
                rows(scale.format, k / scale.size, |case| &case.scale_a).map_err(failed)?,
                columns(scale.format, k / scale.size, |case| &case.scale_b).map_err(failed)?,
            )),
        },
    })
}
