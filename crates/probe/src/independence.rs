//! Step 1: whether every element of D is computed alike, alone, and the same way each time.
//!
//! A unit that fails is asked further (`wiring`): which mistake in how its operands or its results are connected
//! would explain it.

use bitmma_engine::formats::Format;
use bitmma_engine::{Case, Matrices, Matrix, Signature};
use bitmma_verify::inputs::{Family, case, matrices, zero};

use crate::error::Error;
use crate::numbers::Random;
use crate::place::Place;

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
    /// What it is called, in short.
    pub const fn name(self) -> &'static str {
        match self {
            Fault::NotDeterministic => "not deterministic",
            Fault::DependsOnPosition => "depends on position",
            Fault::DependsOnOthers => "depends on others",
        }
    }

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
    /// The mistake in the unit's wiring that would explain it: with this put right, the unit passes the tests.
    pub explanation: Option<String>,
}

/// Families whose cases are asked.
const FAMILIES: [Family; 6] =
    [Family::Normal, Family::Moderate, Family::Spread, Family::Cancelling, Family::Bits, Family::Outliers];
/// Places whose company is changed.
const PLACES: usize = 6;
/// Times the same instruction is asked.
const REPEATS: usize = 3;

/// All codes of D for each instruction, row-major, block after block; the unit, or the unit with its wiring put right.
pub(crate) type Ask<'a> = dyn FnMut(&'static str, &[Matrices]) -> Result<Vec<Vec<u64>>, Error> + 'a;

/// What step 1 asks.
pub(crate) struct Questions<'s> {
    signature: &'s Signature,
    seed: u64,
    /// One random instruction of each family.
    pub(crate) random: Vec<Matrices>,
    /// The same, rows, columns and blocks in another order.
    pub(crate) shuffled: Vec<Matrices>,
    /// For each element of D of a shuffled instruction, the element that was the same dot product before.
    origin: Vec<usize>,
}

impl<'s> Questions<'s> {
    pub(crate) fn new(signature: &'s Signature, seed: u64) -> Result<Questions<'s>, Error> {
        let Signature { m, n, blocks, .. } = *signature;
        let random: Vec<Matrices> = FAMILIES
            .iter()
            .map(|&family| matrices(signature, family, seed, 0).map_err(failed))
            .collect::<Result<_, _>>()?;
        let mut draw = Random::new(seed, 4);
        let [blocks, rows, columns] = [blocks, m, n].map(|count| order(&mut draw, count));
        let shuffled = random
            .iter()
            .map(|one| {
                let move_rows = |matrix: &Matrix| {
                    remade(matrix, |block, row, column| matrix.get(blocks[block], rows[row], column))
                };
                let move_columns = |matrix: &Matrix| {
                    remade(matrix, |block, row, column| matrix.get(blocks[block], row, columns[column]))
                };
                Ok(Matrices {
                    a: move_rows(&one.a)?,
                    b: move_columns(&one.b)?,
                    c: remade(&one.c, |block, row, column| {
                        one.c.get(blocks[block], rows[row], columns[column])
                    })?,
                    scales: match &one.scales {
                        None => None,
                        Some((a, b)) => Some((move_rows(a)?, move_columns(b)?)),
                    },
                })
            })
            .collect::<Result<_, Error>>()?;
        let origin = (0..blocks.len() * m * n)
            .map(|at| {
                let Place { block, row, column } = Place::of(signature, at);
                Place { block: blocks[block], row: rows[row], column: columns[column] }.index(signature)
            })
            .collect();
        Ok(Questions { signature, seed, random, shuffled, origin })
    }

    /// Every fault found, one of each kind at most, with the number of tests.
    pub(crate) fn all(&self, ask: &mut Ask<'_>) -> Result<(Vec<Evidence>, usize), Error> {
        let mut found = Vec::new();
        let (first, mut tests) = self.repeated(ask, &mut found)?;
        if !found.is_empty() {
            return Ok((found, tests)); // whatever follows would only show the same
        }
        tests += self.everywhere(ask, &mut found)?;
        tests += self.company(ask, &first, &mut found)?;
        tests += self.moved(ask, &first, &mut found)?;
        // a fault that does not show again is the only one that matters
        if let Some(at) = found.iter().position(|one| one.fault == Fault::NotDeterministic) {
            found = vec![found.swap_remove(at)];
        }
        Ok((found, tests))
    }

    /// Whether each element is a function of its row, its column and its element of C.
    pub(crate) fn passes(&self, ask: &mut Ask<'_>) -> Result<bool, Error> {
        let mut found = Vec::new();
        let first = ask("wiring", &self.random)?;
        self.moved(ask, &first, &mut found)?;
        if found.is_empty() {
            self.everywhere(ask, &mut found)?;
        }
        if found.is_empty() {
            self.company(ask, &first, &mut found)?;
        }
        Ok(found.is_empty())
    }

    /// Whether answers to `shuffled` are those to `random`, in the new places.
    pub(crate) fn same(&self, random: &[Vec<u64>], shuffled: &[Vec<u64>]) -> bool {
        let moved = |(before, now): (&Vec<u64>, &Vec<u64>)| {
            now.iter().zip(&self.origin).all(|(&code, &at)| code == before[at])
        };
        random.iter().zip(shuffled).all(moved)
    }

    /// Repeated runs; the answers to `random`.
    fn repeated(
        &self,
        ask: &mut Ask<'_>,
        found: &mut Vec<Evidence>,
    ) -> Result<(Vec<Vec<u64>>, usize), Error> {
        // an odd number of instructions a round: what alternates does not come round to the same question
        let mut round = self.random.clone();
        if round.len().is_multiple_of(2) {
            round.push(self.random[0].clone());
        }
        let first = ask("repeat 0", &round)?;
        let mut tests = 0;
        for repeat in ["repeat 1", "repeat 2"] {
            let again = ask(repeat, &round)?;
            tests += round.len();
            for (index, (before, now)) in first.iter().zip(&again).enumerate() {
                let asked = format!("{}, {REPEATS} times", self.named(index % FAMILIES.len()));
                self.note(found, Fault::NotDeterministic, &asked, (&round[index], now), None, |at| {
                    before[at]
                });
            }
        }
        Ok((first, tests))
    }

    /// One row and one column everywhere.
    fn everywhere(&self, ask: &mut Ask<'_>, found: &mut Vec<Evidence>) -> Result<usize, Error> {
        let cases: Vec<Case> = FAMILIES
            .iter()
            .flat_map(|&family| (0..2).map(move |index| (family, index)))
            .map(|(family, index)| case(self.signature, self.signature.k, family, self.seed ^ 1, index))
            .collect();
        let uniform: Vec<Matrices> =
            cases.iter().map(|case| everywhere(self.signature, case)).collect::<Result<_, _>>()?;
        let answers = ask("everywhere the same", &uniform)?;
        let known = found.len();
        for pair in uniform.iter().zip(&answers) {
            let common = most_common(pair.1);
            let asked = "one row, one column and one element of C everywhere";
            self.note(found, Fault::DependsOnPosition, asked, pair, None, |_| common);
        }
        self.again(ask, "everywhere the same", (&uniform, &answers), known, found)?;
        Ok(uniform.len())
    }

    /// The same element in other company.
    fn company(
        &self,
        ask: &mut Ask<'_>,
        first: &[Vec<u64>],
        found: &mut Vec<Evidence>,
    ) -> Result<usize, Error> {
        let Signature { m, n, blocks, .. } = *self.signature;
        let mut draw = Random::new(self.seed, 3);
        let mut tests = 0;
        for (index, random) in self.random.iter().enumerate() {
            let strangers =
                matrices(self.signature, FAMILIES[(index + 4) % FAMILIES.len()], self.seed ^ 2, 1)
                    .map_err(failed)?;
            let places: Vec<Place> = (0..PLACES)
                .map(|_| Place { block: draw.below(blocks), row: draw.below(m), column: draw.below(n) })
                .collect();
            let asked: Vec<Matrices> = places
                .iter()
                .map(|&place| with(&strangers, place, &random.case(place.block, place.row, place.column)))
                .collect::<Result<_, _>>()?;
            let answers = ask("other company", &asked)?;
            tests += asked.len();
            let known = found.len();
            let words =
                format!("{}, then the same row, column and element of C among others", self.named(index));
            for (&place, pair) in places.iter().zip(asked.iter().zip(&answers)) {
                let only = Some(place.index(self.signature));
                self.note(found, Fault::DependsOnOthers, &words, pair, only, |at| first[index][at]);
            }
            self.again(ask, "other company", (&asked, &answers), known, found)?;
        }
        Ok(tests)
    }

    /// Every element in another place, in other company.
    fn moved(
        &self,
        ask: &mut Ask<'_>,
        first: &[Vec<u64>],
        found: &mut Vec<Evidence>,
    ) -> Result<usize, Error> {
        let answers = ask("another order", &self.shuffled)?;
        let known = found.len();
        for (index, (before, now)) in first.iter().zip(&answers).enumerate() {
            let asked = format!("{}, then its rows, columns and blocks in another order", self.named(index));
            let expected = |at: usize| before[self.origin[at]];
            self.note(found, Fault::DependsOnOthers, &asked, (&self.shuffled[index], now), None, expected);
        }
        self.again(ask, "another order", (&self.shuffled, &answers), known, found)?;
        Ok(self.shuffled.len())
    }

    /// Where a test has just found something (behind the `known` ones): the same batch once more. If an answer
    /// changes, the unit is not deterministic, and this is the fault.
    fn again(
        &self,
        ask: &mut Ask<'_>,
        purpose: &'static str,
        (asked, before): (&[Matrices], &[Vec<u64>]),
        known: usize,
        found: &mut Vec<Evidence>,
    ) -> Result<(), Error> {
        if found.len() == known {
            return Ok(());
        }
        let now = ask(purpose, asked)?;
        let words = format!("the instructions of the test \"{purpose}\", twice");
        for (pair, before) in asked.iter().zip(&now).zip(before) {
            self.note(found, Fault::NotDeterministic, &words, pair, None, |at| before[at]);
        }
        Ok(())
    }

    fn named(&self, index: usize) -> String {
        format!("instruction 0 of family {} under seed {}", FAMILIES[index].name(), self.seed)
    }

    /// Notes that answers are not as expected, all of them or the `only` one; the first of each fault.
    fn note(
        &self,
        found: &mut Vec<Evidence>,
        fault: Fault,
        asked: &str,
        (matrices, answers): (&Matrices, &Vec<u64>),
        only: Option<usize>,
        expected: impl Fn(usize) -> u64,
    ) {
        let which = only.map_or(0..answers.len(), |at| at..at + 1);
        let of = which.len();
        let wrong: Vec<usize> = which.filter(|&at| answers[at] != expected(at)).collect();
        if wrong.is_empty() || found.iter().any(|known| known.fault == fault) {
            return;
        }
        let place = Place::of(self.signature, wrong[0]);
        found.push(Evidence {
            fault,
            place,
            elements: (wrong.len(), of),
            case: matrices.case(place.block, place.row, place.column),
            expected: expected(wrong[0]),
            answer: answers[wrong[0]],
            asked: asked.to_owned(),
            explanation: None,
        });
    }
}

fn failed(source: bitmma_engine::Error) -> Error {
    Error::Unit { answered: 0, purpose: "independence", source }
}

/// `0..count` in a random order (Fisher and Yates).
fn order(draw: &mut Random, count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    (1..count).for_each(|last| order.swap(last, draw.below(last + 1)));
    order
}

/// A matrix of the same format and shape.
fn remade(matrix: &Matrix, code: impl FnMut(usize, usize, usize) -> u64) -> Result<Matrix, Error> {
    Matrix::from_fn(matrix.format(), matrix.shape(), code).map_err(failed)
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
    Matrices::diagonal(signature, std::slice::from_ref(case)).map_err(failed)
}

/// One dot product in one place, everything else zero.
pub(crate) fn alone(signature: &Signature, place: Place, case: &Case) -> Result<Matrices, Error> {
    let Signature { a, b, c, scale, .. } = signature;
    let zeros = |codes: &[u64], format: &Format| vec![zero(format); codes.len()];
    let factor = scale.map_or(*a, |scale| scale.format);
    let nothing = Case {
        a: zeros(&case.a, a),
        b: zeros(&case.b, b),
        c: zero(c),
        scale_a: zeros(&case.scale_a, &factor),
        scale_b: zeros(&case.scale_b, &factor),
    };
    with(&everywhere(signature, &nothing)?, place, case)
}

/// One dot product in one place of an instruction.
fn with(others: &Matrices, place: Place, case: &Case) -> Result<Matrices, Error> {
    let with_row = |matrix: &Matrix, codes: &[u64]| {
        remade(matrix, |block, row, column| match (block, row) == (place.block, place.row) {
            true => codes[column],
            false => matrix.get(block, row, column),
        })
    };
    let with_column = |matrix: &Matrix, codes: &[u64]| {
        remade(matrix, |block, row, column| match (block, column) == (place.block, place.column) {
            true => codes[row],
            false => matrix.get(block, row, column),
        })
    };
    Ok(Matrices {
        a: with_row(&others.a, &case.a)?,
        b: with_column(&others.b, &case.b)?,
        c: remade(&others.c, |block, row, column| match (Place { block, row, column }) == place {
            true => case.c,
            false => others.c.get(block, row, column),
        })?,
        scales: match &others.scales {
            None => None,
            Some((a, b)) => Some((with_row(a, &case.scale_a)?, with_column(b, &case.scale_b)?)),
        },
    })
}
