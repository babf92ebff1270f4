//! Every number of every model is one off in turn: the given values, or inputs found for that, must notice.

use std::ops::RangeInclusive;
use std::panic::{AssertUnwindSafe, catch_unwind};

use bitmma_functions::{Function, Model, Step};

use crate::common::{values, witnesses};

/// A model with one thing changed, and what that is.
type Mutant = (String, Model);

/// Columns of the squarer, of 17 bits.
const COLUMNS: u32 = 33;

fn changed(model: &Model, what: impl Into<String>, change: impl FnOnce(&mut Model)) -> Mutant {
    let mut mutant = model.clone();
    change(&mut mutant);
    (what.into(), mutant)
}

/// One more, one less, and each bit flipped.
fn coefficients(model: &Model) -> Vec<Mutant> {
    let mut mutants = vec![];
    for index in 0..model.polynomial.rows.len() {
        for (coefficient, bits) in [26, 17, 10].into_iter().enumerate() {
            let mut change = |what: String, to: &dyn Fn(u32) -> u32| {
                let mutant = changed(model, format!("row {index}: c{coefficient} {what}"), |mutant| {
                    let row = &mut mutant.polynomial.rows.to_mut()[index];
                    let cell = [&mut row.c0, &mut row.c1, &mut row.c2].into_iter().nth(coefficient).unwrap();
                    *cell = to(*cell);
                });
                mutants.push(mutant);
            };
            change("+1".to_owned(), &|value| value.wrapping_add(1));
            change("-1".to_owned(), &|value| value.wrapping_sub(1));
            (0..bits).for_each(|bit| change(format!("bit {bit}"), &|value| value ^ 1 << bit));
        }
    }
    mutants
}

fn columns(model: &Model) -> Vec<Mutant> {
    let one =
        |column| changed(model, format!("column {column}"), |m| m.polynomial.columns ^= 1_u64 << column);
    (0..COLUMNS).map(one).collect()
}

/// Each power of two more and less.
fn bias(model: &Model) -> Vec<Mutant> {
    let by = |bit: u32, up: bool| {
        changed(model, format!("bias {}2^{bit}", if up { '+' } else { '-' }), |m| {
            let bias = &mut m.polynomial.bias;
            *bias = if up { *bias + (1 << bit) } else { bias.wrapping_sub(1 << bit) };
        })
    };
    (0..model.polynomial.point).flat_map(|bit| [by(bit, true), by(bit, false)]).collect()
}

fn form(model: &Model) -> Vec<Mutant> {
    let mut mutants = vec![];
    for step in [1, -1] {
        let by = |value: &mut u32| *value = value.wrapping_add_signed(step);
        mutants.push(changed(model, format!("a0 {step:+}"), |m| by(&mut m.polynomial.constant_shift)));
        mutants.push(changed(model, format!("a1 {step:+}"), |m| by(&mut m.polynomial.linear_shift)));
        mutants.push(changed(model, format!("W {step:+}"), |m| by(&mut m.polynomial.point)));
        mutants.push(changed(model, format!("m {step:+}"), |m| by(&mut m.polynomial.row_bits)));
    }
    mutants.push(changed(model, "square shift", |m| m.polynomial.square_shift ^= 1));
    mutants.push(changed(model, "sign of c1", |m| m.polynomial.subtract_linear ^= true));
    mutants.push(changed(model, "sign of c2", |m| m.polynomial.subtract_quadratic ^= true));
    mutants
}

fn specials(model: &Model) -> Vec<Mutant> {
    let mut mutants = vec![
        changed(model, "zero", |m| m.specials.zero ^= 1),
        changed(model, "negative zero", |m| m.specials.negative_zero ^= 1),
        changed(model, "infinity", |m| m.specials.infinity ^= 1),
        changed(model, "negative infinity", |m| m.specials.negative_infinity ^= 1),
        changed(model, "nan", |m| m.specials.nan ^= 1),
        changed(model, "sign of zero", |m| m.specials.zero ^= 1 << 31),
        changed(model, "sign of negative zero", |m| m.specials.negative_zero ^= 1 << 31),
        changed(model, "subnormal numbers", |m| m.specials.subnormal_is_zero ^= true),
    ];
    if let Some(code) = model.specials.negative {
        mutants.push(changed(model, "below zero", |m| m.specials.negative = Some(code ^ 1)));
        mutants.push(changed(model, "below zero, computed", |m| m.specials.negative = None));
    }
    mutants
}

/// Mutants that change no result. Columns: none of the fractions of all binades that differ (a search of 2^23 or 2^24).
/// Column 1 has no products; that of `rcp` sees an even number.
///
/// Every sum is the bias more than a multiple of a step, the least place of c1·t and of the squarer's products, and what is
/// cut from it is whole steps: a bias that does not leave its step changes nothing. `sin` and `cos` are not cut so where
/// they are small. `ex2` of a subnormal number is 1 by its polynomial, and `sin` and `cos` take no notice of angles
/// below 2^-24.
fn is_equivalent(function: Function, what: &str) -> bool {
    let polynomial = &function.model().polynomial;
    let angle = matches!(function, Function::Ex2 | Function::Sin | Function::Cos);
    let (name, number) = what.split_once(' ').unwrap_or((what, ""));
    match name {
        "column" => {
            let silent = match function {
                Function::Rcp | Function::Ex2 => 8,
                Function::Rsqrt | Function::Lg2 => 6,
                Function::Sqrt | Function::Sin | Function::Cos => 0,
            };
            number.parse().is_ok_and(|column: u32| column < silent || column == 1)
        }
        "bias" => {
            let step = 1_u64 << polynomial.linear_shift.min(19 - 2 * polynomial.square_shift);
            let (up, power) = number.split_once("2^").unwrap();
            let by = 1_u64 << power.parse::<u32>().unwrap();
            let within = polynomial.bias % step;
            let circular = matches!(function, Function::Sin | Function::Cos);
            !circular && if up == "+" { within + by < step } else { by <= within }
        }
        _ => angle && what == "subnormal numbers",
    }
}

/// Places of the first bit of the sum. The result says nothing of it: it is the one before the fraction.
fn first_bit(function: Function) -> Option<RangeInclusive<u32>> {
    match function {
        Function::Rcp => Some(55..=56),
        Function::Sqrt => Some(58..=58),
        Function::Rsqrt => Some(56..=56),
        Function::Ex2 => Some(57..=57),
        Function::Lg2 | Function::Sin | Function::Cos => None,
    }
}

/// Whether a model has another result for an input, or a sum that does not begin where it has to.
fn differs(function: Function, model: &Model, x: u32, y: u32) -> bool {
    let Some(places) = first_bit(function) else { return model.evaluate(x) != y };
    let (result, steps) = model.steps(x);
    let sums =
        steps.iter().filter_map(|step| if let Step::Sum(terms) = step { Some(terms.sum()) } else { None });
    result != y || sums.into_iter().any(|sum| !places.contains(&(63 - sum.max(1).leading_zeros())))
}

#[test]
fn every_number_matters() {
    let (mut missed, mut total, mut found) = (vec![], 0, vec![]);
    for (function, name) in Function::ALL {
        let lines = values().into_iter().chain(witnesses());
        let known: Vec<(u32, u32)> =
            lines.filter(|(of, ..)| *of == function).map(|(_, x, y)| (x, y)).collect();
        let is_noticed = |mutant: &Model| {
            known.iter().any(|&(x, y)| {
                // shifts overflow, indices leave the table
                catch_unwind(AssertUnwindSafe(|| differs(function, mutant, x, y))).unwrap_or(true)
            })
        };
        let model = function.model();
        assert!(!is_noticed(model), "{name} itself");
        let mutants =
            [coefficients(model), columns(model), bias(model), form(model), specials(model)].concat();
        for (what, mutant) in mutants {
            total += 1;
            match (is_noticed(&mutant), is_equivalent(function, &what)) {
                (false, false) => missed.push(format!("{name}: {what}")),
                (true, true) => found.push(format!("{name}: {what}")),
                _ => {}
            }
        }
    }
    assert!(missed.is_empty(), "no input notices:\n{}", missed.join("\n"));
    assert!(found.is_empty(), "these do change a result:\n{}", found.join("\n"));
    println!("{total} mutants");
    assert!(total > 35_000, "{total} mutants");
}
