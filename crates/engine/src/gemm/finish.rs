//! From a merged number in W to a code of D: C, factors, and the conversion of the result.

use bitmma_arithmetic::fma;
use bitmma_arithmetic::operand::Operand;
use bitmma_formats::{Class, Format, Real};
use bitmma_kernel::{Codes, Word};

use super::codes::{combine, convert_owned, each, mapped};
use super::convert::Converter;
use super::exact;
use super::schedule::{AddC, Factors, Multiply, Schedule};
use crate::error::Error;

/// What is done to merged numbers.
pub(super) struct Finish<'f> {
    schedule: &'f Schedule,
    /// From W into the format of the result.
    pub(super) to: Converter,
}

impl<'f> Finish<'f> {
    pub(super) fn new(schedule: &'f Schedule, to: Converter) -> Finish<'f> {
        Finish { schedule, to }
    }

    /// The codes of merged numbers; `c` has those of C in W. `refused` makes the error of a NaN that has no code, by its index.
    pub(super) fn codes<W: Word>(
        &self,
        mut total: Codes,
        c: Option<&Codes>,
        refused: impl Fn(usize) -> Error,
    ) -> Result<Codes, Error> {
        match self.schedule.factors {
            Factors::One if self.schedule.c == AddC::Last => match c {
                Some(c) => combine(&mut total, c, |ab: W, c| ab + c),
                None => each(&mut total, |ab: W| ab + W::default()),
            },
            Factors::One => {}
            Factors::Linear { alpha, beta } => {
                let (alpha, beta) = (W::of(alpha), W::of(beta));
                match c {
                    Some(c) => combine(&mut total, c, |ab: W, c| alpha * ab + beta * c),
                    None => each(&mut total, |ab: W| alpha * ab + W::default()),
                }
            }
            Factors::Epilogue { multiply, alpha, result: None, once: true } if multiply != Multiply::None => {
                let format = self.to.to.conversion.container();
                return mapped(&total, format, |word| self.once(multiply, word, alpha));
            }
            Factors::Epilogue { multiply, alpha, result, .. } => {
                let (alpha, second) = (W::of(alpha), result.map(W::of));
                each(&mut total, |ab: W| {
                    let scaled = match multiply {
                        Multiply::FmaZero => onto_zero(ab, alpha),
                        Multiply::Mul => ab * alpha,
                        Multiply::MulAdd => ab * alpha + W::default(),
                        Multiply::None => ab,
                    };
                    second.map_or(scaled, |second| scaled * second)
                });
            }
        }
        match self.to.first_refused((0..total.len()).map(|at| total.get(at))) {
            Some(index) => Err(refused(index)),
            None => convert_owned(total, &self.to),
        }
    }

    /// The code of one merged number, by definition; `c` is C's number in W.
    pub(super) fn code(&self, word: u64, c: Option<u64>) -> u64 {
        let working = self.schedule.working;
        let (add, multiply) = (|x, y| exact::add(working, x, y), |x, y| exact::multiply(working, x, y));
        let c = c.unwrap_or(0);
        let number = match self.schedule.factors {
            Factors::One if self.schedule.c == AddC::Last => add(word, c),
            Factors::One => word,
            Factors::Linear { alpha, beta } => {
                let of_c = if self.schedule.reads_c() { multiply(beta, c) } else { 0 };
                add(multiply(alpha, word), of_c)
            }
            Factors::Epilogue { multiply: how, alpha, result: None, once: true } if how != Multiply::None => {
                return self.once(how, word, alpha);
            }
            Factors::Epilogue { multiply: how, alpha, result, .. } => {
                let scaled = match how {
                    Multiply::FmaZero => exact::multiply_add(working, word, alpha, 0),
                    Multiply::Mul => multiply(word, alpha),
                    Multiply::MulAdd => add(multiply(word, alpha), 0),
                    Multiply::None => word,
                };
                result.map_or(scaled, |result| multiply(scaled, result))
            }
        };
        self.to.by_definition(number)
    }

    /// The exact product of a number and a factor, rounded once to the result.
    fn once(&self, multiply: Multiply, word: u64, alpha: u64) -> u64 {
        let working: Format = self.schedule.working;
        let [word, alpha] = [word, alpha].map(|code| Operand::new(&working, code));
        let (x, y) = (word.value, alpha.value);
        let product = fma::multiply(&word, &alpha, exact::nearest(working));
        let class = match bitmma_formats::decode(&working, product).class {
            class @ (Class::Nan | Class::Infinity) if !(x.is_finite() && y.is_finite()) => class,
            _ if x.significand == 0 || y.significand == 0 => Class::Zero,
            _ => Class::Finite,
        };
        let zero = class == Class::Zero && multiply != Multiply::Mul;
        let real = Real {
            negative: x.negative != y.negative && !zero,
            significand: u128::from(x.significand) * u128::from(y.significand),
            exponent: x.exponent + y.exponent - 2 * working.fraction_bits as i32,
            inexact: false,
        };
        self.to.stored(class, real)
    }
}

/// fma(x, y, +0): as a product, but an exact zero is +0 whatever the signs; what underflows keeps its sign.
fn onto_zero<W: Word>(x: W, y: W) -> W {
    let is_zero = |word: W| word.code() & !W::FORMAT.sign_bit() == 0;
    let product = x * y;
    if (is_zero(x) || is_zero(y)) && is_zero(product) { W::default() } else { product }
}
