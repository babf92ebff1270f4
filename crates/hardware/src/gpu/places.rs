//! Whether every element stands where we think, asked of the unit itself.
//!
//! A kernel that puts elements into the wrong places gives wrong numbers, and so does a model that is
//! wrong. These questions have small whole numbers for answers, which every model computes exactly: what they
//! show is the places alone.

use std::fmt;

use bitmma_engine::formats::{Format, Overflow, Real, Rounding, encode};
use bitmma_engine::{Error, Matrices, Matrix, MmaUnit, Operands, Signature};

/// An element of D that is not what its place says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misplaced {
    /// Block, row and column of D.
    pub element: (usize, usize, usize),
    /// The column of A that holds the row's one.
    pub k: usize,
    /// The code that D should have.
    pub expected: u64,
    /// The code it has.
    pub actual: u64,
    /// How many elements of all results are wrong, and how many there are.
    pub wrong: (usize, usize),
}

impl fmt::Display for Misplaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Misplaced { element: (block, row, column), k, expected, actual, wrong: (wrong, all) } = self;
        write!(
            f,
            "{wrong} of {all} elements are not where they should be; the first is D[{block}, {row}, {column}] for \
             A[{row}, {k}] = 1: {actual:#x} instead of {expected:#x}"
        )
    }
}

/// Numbers that every format has.
const NUMBERS: [u64; 5] = [1, 2, 3, 4, 6];

/// A number from 0 on for a place, without a pattern that a layout could share.
fn scattered(place: [usize; 4]) -> usize {
    let mixed = place.iter().fold(0x9e37_79b9_7f4a_7c15_u64, |hash, part| {
        (hash ^ *part as u64).wrapping_mul(0xbf58_476d_1ce4_e5b9).rotate_left(29)
    });
    (mixed >> 33) as usize
}

fn code(format: &Format, number: u64) -> u64 {
    let real = Real { negative: false, significand: number.into(), exponent: 0, inexact: false };
    encode(format, real, Rounding::NearestEven, Overflow::Saturate)
}

/// A whole number for an element of operand `which`.
fn number(which: usize, block: usize, row: usize, column: usize) -> u64 {
    NUMBERS[scattered([which, block, row, column]) % NUMBERS.len()]
}

/// 1, 2 or 4 for a scale factor.
fn factor(which: usize, block: usize, line: usize, factor: usize) -> u64 {
    1 << (scattered([which, block, line, factor]) % 3)
}

/// Where row `row` has its one.
fn chosen(signature: &Signature, turn: usize, block: usize, row: usize) -> usize {
    (turn + row + block) % signature.k
}

fn filled(
    format: Format,
    shape: (usize, usize, usize),
    of: impl Fn(usize, usize, usize) -> u64,
) -> Result<Matrix, Error> {
    Matrix::from_fn(format, shape, |block, row, column| code(&format, of(block, row, column)))
}

/// Each row of A has a single one, in turn in each column; B, C and scale factors are whole numbers.
fn question(signature: &Signature, turn: usize) -> Result<Matrices, Error> {
    let Signature { a, b, c, scale, .. } = *signature;
    let [of_a, of_b, of_c, factors_a, factors_b] = signature.shapes();
    let scales = match scale {
        None => None,
        Some(scale) => Some((
            filled(scale.format, factors_a, |block, row, at| factor(3, block, row, at))?,
            filled(scale.format, factors_b, |block, at, column| factor(4, block, column, at))?,
        )),
    };
    Ok(Matrices {
        a: filled(a, of_a, |block, row, at| u64::from(at == chosen(signature, turn, block, row)))?,
        b: filled(b, of_b, |block, at, column| number(1, block, at, column))?,
        c: filled(c, of_c, |block, row, column| number(2, block, row, column))?,
        scales,
    })
}

fn expected(signature: &Signature, turn: usize, (block, row, column): (usize, usize, usize)) -> u64 {
    let k = chosen(signature, turn, block, row);
    let scaled = signature
        .scale
        .map_or(1, |scale| factor(3, block, row, k / scale.size) * factor(4, block, column, k / scale.size));
    number(1, block, k, column) * scaled + number(2, block, row, column)
}

/// Asks K questions, which together use every element of every operand; gives the first wrong element.
pub fn check_places(unit: &dyn MmaUnit) -> Result<Option<Misplaced>, Error> {
    let signature = unit.signature();
    let questions: Vec<Matrices> =
        (0..signature.k).map(|turn| question(signature, turn)).collect::<Result<_, _>>()?;
    let batch: Vec<Operands<'_>> = questions.iter().map(Matrices::operands).collect();
    let answers = unit.multiply_many(&batch)?;
    let (mut first, mut wrong, mut all) = (None, 0, 0);
    for (turn, answer) in answers.iter().enumerate() {
        let (_, rows, columns) = answer.shape();
        for (at, actual) in answer.iter().enumerate() {
            let element = (at / columns / rows, at / columns % rows, at % columns);
            let expected = code(&signature.d, expected(signature, turn, element));
            all += 1;
            if expected != actual {
                wrong += 1;
                let k = chosen(signature, turn, element.0, element.1);
                first.get_or_insert(Misplaced { element, k, expected, actual, wrong: (0, 0) });
            }
        }
    }
    Ok(first.map(|first| Misplaced { wrong: (wrong, all), ..first }))
}
