//! Where instructions differ: the paper's table, all against all, at which step, on how small an input.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use bitmma_document::{Document, Table, counted};
use bitmma_engine::arithmetic::Prepared;
use bitmma_engine::formats::{Format, decode, text};
use bitmma_engine::threads::prelude::*;
use bitmma_engine::{Case, Model};
use bitmma_verify::inputs::{Family, case};

use crate::account::{Account, Loss, account, dot, unshared};
use crate::describe::input;
use crate::dyadic::Dyadic;
use crate::error::{Error, check, check_k};
use crate::shrink::shrink;
pub use crate::shrink::{Simplicity, simplicity};
use crate::subject::{Subject, essence};

/// A result as something to compare: its value, or what else it is. Zeros are one, NaNs are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Answer {
    /// A finite number: sign, exponent and significand brought to their lowest terms.
    Number(bool, i64, u64),
    /// An infinity.
    Infinite(bool),
    /// NaN.
    Nan,
}

/// The result that a code is.
pub fn answer(format: &Format, code: u64) -> Answer {
    use bitmma_engine::formats::Class;
    let unpacked = decode(format, code);
    match unpacked.class {
        Class::Nan => Answer::Nan,
        Class::Infinity => Answer::Infinite(unpacked.negative),
        Class::Zero => Answer::Number(false, 0, 0),
        Class::Finite => {
            let zeros = unpacked.significand.trailing_zeros();
            let exponent = i64::from(unpacked.exponent) - i64::from(format.fraction_bits) + i64::from(zeros);
            Answer::Number(unpacked.negative, exponent, unpacked.significand >> zeros)
        }
    }
}

/// Why two models give different results.
#[derive(Clone, Debug)]
pub struct Parting {
    /// The first loss that only the left model has, and the first that only the right one has.
    pub first: (Option<Loss>, Option<Loss>),
    /// The accounts of both.
    pub accounts: (Account, Account),
}

/// Where two models part on one input: D of the one minus D of the other is the difference of what they
/// lost, so the first losses that they do not share are where it begins.
pub fn parting(left: &Model, right: &Model, case: &Case) -> Result<Parting, Error> {
    let accounts = (account(left, case, true)?, account(right, case, true)?);
    let (x, y) = unshared(&accounts.0.losses, &accounts.1.losses);
    let first = (x.first().copied().cloned(), y.first().copied().cloned());
    Ok(Parting { first, accounts })
}

/// What a search for an input on which two models differ came to.
#[derive(Clone, Debug)]
pub enum Difference {
    /// An input on which they differ.
    Found {
        /// The operands.
        case: Case,
        /// How simple it is.
        simplicity: Simplicity,
        /// Whether every simpler kind of input that is tried at all was tried whole.
        smallest: bool,
        /// Cases tried.
        tried: u64,
    },
    /// The two are the same function: equal parameters, or every input tried.
    Never {
        /// Cases tried; 0 where the parameters are equal.
        tried: u64,
    },
    /// No input was found; there may be one.
    NotFound {
        /// Cases tried.
        tried: u64,
    },
}

impl Difference {
    /// What was found of two models with their names; and, where they part, what each lost first.
    pub fn document(&self, models: [(&str, &Model); 2], parting: Option<&Parting>) -> Document {
        let [(left, model), (right, _)] = models;
        let answer = match self {
            Difference::Found { case, smallest, .. } => {
                let how = if *smallest { "the smallest input" } else { "there may be a smaller input" };
                format!("{left} and {right} differ on {}; {how}", input(model, case))
            }
            Difference::Never { tried: 0 } => {
                format!("{left} and {right} never differ: their parameters are equal")
            }
            Difference::Never { tried } => {
                format!("{left} and {right} never differ: all {tried} inputs were tried")
            }
            Difference::NotFound { tried } => {
                format!(
                    "no input was found on which {left} and {right} differ ({} tried)",
                    counted(*tried, "case")
                )
            }
        };
        let mut table = Table::new(&["unit", ">D", "code", "lost first"]);
        if let Some(Parting { first: (one, other), accounts }) = parting {
            let both = [(one, accounts.0.d), (other, accounts.1.d)];
            for ((name, model), (loss, d)) in models.into_iter().zip(both) {
                let lost = loss.as_ref().map_or("nothing".to_owned(), |loss| loss.in_words(&str::to_owned));
                table.row([name.to_owned(), text::display(&model.d, d), text::hex(&model.d, d), lost]);
            }
        }
        Document::new(answer).table(table)
    }
}

/// Inputs up to which a space is tried whole, as a power of two.
const WHOLE: u32 = 22;

/// The smallest input of `k` elements, 1 to 2^20, on which two models differ: fewest non-zero elements, then fewest
/// bits set in significands, then exponents nearest to that of one.
///
/// Small spaces are tried whole. Otherwise C alone, one product, and one product and C are tried in the
/// order of the bits set, up to four (C alone: three), `budget` cases of each kind at most; then as many random
/// cases of every family, the first that differs shrunk.
pub fn smallest(left: &Model, right: &Model, k: usize, budget: u64, seed: u64) -> Result<Difference, Error> {
    smallest_of(left, &[right], k, budget, seed)
}

/// As [`smallest`] of several models: an input on which not all results are the same.
pub fn smallest_of(
    left: &Model,
    others: &[&Model],
    k: usize,
    budget: u64,
    seed: u64,
) -> Result<Difference, Error> {
    check_k(k)?;
    check("budget", budget, 1..=u64::MAX)?;
    let x = Prepared::new(left, k)?;
    let mut all = vec![];
    for other in others {
        comparable(left, other)?;
        all.push((other.d, Prepared::new(other, k)?));
    }
    if others.iter().all(|other| essence(left, k) == essence(other, k)) {
        return Ok(Difference::Never { tried: 0 });
    }
    let differs = |case: &Case| {
        let one = answer(&left.d, account_free(&x, case));
        all.iter().any(|(d, prepared)| answer(d, account_free(prepared, case)) != one)
    };
    let blank = blank(left, k);
    let bits = left.a.bits() + left.b.bits();
    if left.scale.is_none() && k as u32 * bits + left.c.bits() <= WHOLE {
        return Ok(whole(left, k, &blank, differs));
    }

    let mut tried = 0;
    let mut complete = true;
    let places = places(left, others, k);
    for class in classes(left) {
        let candidates = Candidates::new(class, left, &places);
        let count = candidates.count().min(budget);
        // the first of the class in the order of its candidates, whatever the threads do
        let found =
            (0..count).into_par_iter().map(|index| candidates.case(index, &blank)).find_first(differs);
        tried += count;
        if let Some(case) = found {
            let case = shrink(left, &case, differs);
            return Ok(Difference::Found {
                simplicity: simplicity(left, &case),
                case,
                smallest: complete,
                tried,
            });
        }
        complete &= candidates.count() <= budget;
    }
    for index in 0..budget {
        let family = Family::ALL[(index % Family::ALL.len() as u64) as usize];
        let drawn = case(left, k, family, seed, index);
        tried += 1;
        if differs(&drawn) {
            let case = shrink(left, &drawn, differs);
            return Ok(Difference::Found {
                simplicity: simplicity(left, &case),
                case,
                smallest: false,
                tried,
            });
        }
    }
    Ok(Difference::NotFound { tried })
}

/// A simpler input on which two models differ, from one on which they do; `None` where they do not differ on it.
pub fn simpler(left: &Model, right: &Model, case: &Case) -> Result<Option<Case>, Error> {
    comparable(left, right)?;
    let (x, y) = (Prepared::new(left, case.a.len())?, Prepared::new(right, case.a.len())?);
    let differs =
        |case: &Case| answer(&left.d, account_free(&x, case)) != answer(&right.d, account_free(&y, case));
    Ok(differs(case).then(|| shrink(left, case, differs)))
}

/// D without an account.
fn account_free(prepared: &Prepared<'_>, case: &Case) -> u64 {
    use bitmma_engine::arithmetic::run::Side;
    let a = prepared.vector(Side::A, case.a.iter().copied());
    let b = prepared.vector(Side::B, case.b.iter().copied());
    let scale_a = prepared.scales(case.scale_a.iter().copied());
    let scale_b = prepared.scales(case.scale_b.iter().copied());
    prepared.dot(&a, &b, case.c, &scale_a, &scale_b, &mut ())
}

/// Whether two models take the same operands.
pub fn comparable(left: &Model, right: &Model) -> Result<(), Error> {
    let text = |model: &Model| {
        let scale =
            model.scale.map_or(String::new(), |scale| format!(", {} blocks of {}", scale.format, scale.size));
        format!("A {}, B {}, C {}{scale}", model.a, model.b, model.c)
    };
    if (left.a, left.b, left.c, left.scale) == (right.a, right.b, right.c, right.scale) {
        return Ok(());
    }
    Err(Error::Incomparable {
        left: left.operation.name().to_owned(),
        right: right.operation.name().to_owned(),
        why: format!("the one takes {}, the other {}", text(left), text(right)),
    })
}

/// Zeros, and scale factors of one.
fn blank(model: &Model, k: usize) -> Case {
    let ones = model.scale.map_or(Vec::new(), |scale| vec![scale.format.one_code(); k / scale.size]);
    Case { a: vec![0; k], b: vec![0; k], c: 0, scale_a: ones.clone(), scale_b: ones }
}

/// Every input of a small space, the simplest that differs.
fn whole(model: &Model, k: usize, blank: &Case, differs: impl Fn(&Case) -> bool + Sync) -> Difference {
    let widths = (model.a.bits(), model.b.bits(), model.c.bits());
    let count = 1_u64 << (k as u32 * (widths.0 + widths.1) + widths.2);
    let at = |mut index: u64| {
        let mut take = |bits: u32| {
            let code = index & ((1 << bits) - 1);
            index >>= bits;
            code
        };
        let mut case = blank.clone();
        case.c = take(widths.2);
        for element in 0..k {
            (case.a[element], case.b[element]) = (take(widths.0), take(widths.1));
        }
        case
    };
    let best = (0..count)
        .into_par_iter()
        .map(at)
        .filter(|case| differs(case))
        .map(|case| (simplicity(model, &case), case))
        .min_by(|x, y| x.0.cmp(&y.0).then_with(|| (&x.1.a, &x.1.b, x.1.c).cmp(&(&y.1.a, &y.1.b, y.1.c))));
    match best {
        Some((simplicity, case)) => Difference::Found { case, simplicity, smallest: true, tried: count },
        None => Difference::Never { tried: count },
    }
}

/// Elements at which a single product is tried: those whose place an operation could tell apart.
fn places(left: &Model, others: &[&Model], k: usize) -> Vec<usize> {
    let mut places = vec![0, 1, k - 1];
    for model in others.iter().copied().chain([left]) {
        let length = model.length(k).max(1);
        places.push(length);
    }
    places.retain(|place| *place < k);
    places.sort_unstable();
    places.dedup();
    places
}

/// Inputs with the same non-zero elements and as many bits set: the bits of a, b and c; 0: the element is zero.
type Class = (u32, u32, u32);

/// Classes in the order of their simplicity: elements first, then bits.
fn classes(model: &Model) -> Vec<Class> {
    let within = |bits: u32, format: &Format| bits <= format.fraction_bits + 1;
    [
        (0, 0, 1),
        (0, 0, 2),
        (0, 0, 3),
        (1, 1, 0),
        (1, 2, 0),
        (2, 1, 0),
        (1, 1, 1),
        (1, 1, 2),
        (1, 2, 1),
        (2, 1, 1),
    ]
    .into_iter()
    .filter(|(a, b, c)| within(*a, &model.a) && within(*b, &model.b) && within(*c, &model.c))
    .collect()
}

/// The inputs of a class, one product and C.
struct Candidates {
    places: Vec<usize>,
    a: Arc<[u64]>,
    b: Arc<[u64]>,
    c: Arc<[u64]>,
}

impl Candidates {
    /// The inputs of a class, the simplest exponents first.
    fn new((a, b, c): Class, model: &Model, places: &[usize]) -> Candidates {
        let of =
            |format: &Format, bits: u32| if bits == 0 { Arc::from([0]) } else { with_bits(format, bits) };
        let places = if a == 0 { &places[..1] } else { places };
        Candidates { places: places.to_vec(), a: of(&model.a, a), b: of(&model.b, b), c: of(&model.c, c) }
    }

    fn count(&self) -> u64 {
        [self.places.len(), self.a.len(), self.b.len(), self.c.len()]
            .iter()
            .map(|count| *count as u64)
            .product()
    }

    /// The places vary slowest, then A, then B, then C.
    fn case(&self, index: u64, blank: &Case) -> Case {
        let mut rest = index;
        let mut take = |codes: &[u64]| {
            let code = codes[(rest % codes.len() as u64) as usize];
            rest /= codes.len() as u64;
            code
        };
        let mut case = blank.clone();
        let (c, b, a) = (take(&self.c), take(&self.b), take(&self.a));
        let place = self.places[rest as usize % self.places.len()];
        (case.a[place], case.b[place], case.c) = (a, b, c);
        case
    }
}

/// Codes of finite numbers with that many bits set in the significand, exponents nearest to one first.
///
/// A few million codes where FP64 has three bits: they are made once.
fn with_bits(format: &Format, bits: u32) -> Arc<[u64]> {
    type Made = HashMap<(&'static str, u32), Arc<[u64]>>;
    static MADE: LazyLock<Mutex<Made>> = LazyLock::new(Mutex::default);
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let codes = made.entry((format.name, bits)).or_insert_with(|| make_with_bits(format, bits).into());
    Arc::clone(codes)
}

fn make_with_bits(format: &Format, bits: u32) -> Vec<u64> {
    let low = format.padding_bits;
    let mut codes = Vec::new();
    let fields = format.max_finite_code() >> (format.fraction_bits + low);
    for field in 0..=fields {
        let implicit = u32::from(field > 0 || !format.subnormals);
        let Some(rest) = bits.checked_sub(implicit) else { continue };
        for_each_fraction(format.fraction_bits, rest, &mut |fraction| {
            let code = (field << (format.fraction_bits + low)) | (fraction << low);
            if code <= format.max_finite_code() && decode(format, code).is_finite() {
                codes.push(code);
                if format.is_signed() {
                    codes.push(code | format.sign_bit());
                }
            }
        });
    }
    let leading =
        |code: &u64| Dyadic::of_code(format, *code).and_then(|value| value.floor_log2()).unwrap_or(0);
    codes.sort_by_cached_key(|code| (leading(code).unsigned_abs(), code & format.sign_bit(), *code));
    codes
}

/// Calls `take` with every number of `width` bits of which `set` are one.
fn for_each_fraction(width: u32, set: u32, take: &mut impl FnMut(u64)) {
    fn go(from: u32, width: u32, set: u32, so_far: u64, take: &mut impl FnMut(u64)) {
        if set == 0 {
            return take(so_far);
        }
        for bit in from..width {
            go(bit + 1, width, set - 1, so_far | (1 << bit), take);
        }
    }
    go(0, width, set, 0, take);
}

/// Everything against everything, among models that take and give the same formats.
#[derive(Clone, Debug)]
pub struct Matrix {
    /// The models; instructions with equal ones stand together.
    pub subjects: Vec<Subject>,
    /// For each of them the places, among those that were given, of all that compute so.
    pub members: Vec<Vec<usize>>,
    /// K at which they were compared.
    pub k: usize,
    /// Cases of the adversarial families, and of N(0,1).
    pub cases: (u64, u64),
    /// Cases on which row and column differ: adversarial, N(0,1).
    pub differing: Vec<Vec<(u64, u64)>>,
}

/// Compares models that take and give the same formats on `each` cases of every family, 1 to 1,000,000, at the
/// largest K of their instructions.
pub fn matrix(subjects: Vec<Subject>, each: u64, seed: u64) -> Result<Matrix, Error> {
    check("each", each, 1..=1_000_000)?;
    let k = subjects.iter().map(|subject| subject.k).max().unwrap_or(1);
    // chained to the same K, models that differed in it may be the same
    let mut classes: Vec<Subject> = Vec::new();
    let mut members: Vec<Vec<usize>> = Vec::new();
    for (place, mut subject) in subjects.into_iter().enumerate() {
        // the instruction at its own K sets L; from then on it is chained
        subject.model = essence(&subject.model, subject.k);
        match classes.iter().position(|known| essence(&known.model, k) == essence(&subject.model, k)) {
            Some(known) => {
                classes[known].rows.extend(subject.rows);
                members[known].push(place);
            }
            None => {
                classes.push(subject);
                members.push(vec![place]);
            }
        }
    }
    let Some(first) = classes.first() else {
        return Ok(Matrix { subjects: classes, members, k, cases: (0, 0), differing: Vec::new() });
    };
    for other in &classes {
        comparable(&first.model, &other.model)?;
    }
    let formats = first.model.clone();
    let cases: Vec<Case> = Family::ALL
        .into_iter()
        .flat_map(|family| (0..each).map(move |index| (family, index)))
        .map(|(family, index)| case(&formats, k, family, seed, index))
        .collect();
    let normal = Family::ALL.iter().position(|family| *family == Family::Normal).unwrap_or(0) as u64 * each;
    let is_normal = |index: usize| (normal..normal + each).contains(&(index as u64));
    let answers: Vec<Vec<Answer>> = classes
        .par_iter()
        .map(|subject| {
            let model = &subject.model;
            cases.iter().map(|case| Ok(answer(&model.d, dot(model, case)?))).collect()
        })
        .collect::<Result<_, Error>>()?;
    let differing = answers
        .iter()
        .map(|row| {
            answers
                .iter()
                .map(|column| {
                    let mut count = (0, 0);
                    for (index, (x, y)) in row.iter().zip(column).enumerate() {
                        let which = if is_normal(index) { &mut count.1 } else { &mut count.0 };
                        *which += u64::from(x != y);
                    }
                    count
                })
                .collect()
        })
        .collect();
    Ok(Matrix {
        subjects: classes,
        members,
        k,
        cases: (each * (Family::ALL.len() as u64 - 1), each),
        differing,
    })
}
