//! Every number of every model is one off in turn: the given values, or inputs found for that, must notice.

use std::panic::{AssertUnwindSafe, catch_unwind};

use bitmma_functions::{Function, Model};

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

fn coefficients(model: &Model) -> Vec<Mutant> {
    let mut mutants = vec![];
    for index in 0..model.polynomial.rows.len() {
        for coefficient in 0..3 {
            for step in [1, -1] {
                let mutant = changed(model, format!("row {index}: c{coefficient} {step:+}"), |mutant| {
                    let row = &mut mutant.polynomial.rows.to_mut()[index];
                    let cell = [&mut row.c0, &mut row.c1, &mut row.c2].into_iter().nth(coefficient).unwrap();
                    *cell = cell.wrapping_add_signed(step);
                });
                mutants.push(mutant);
            }
        }
    }
    mutants
}

fn columns(model: &Model) -> Vec<Mutant> {
    let one =
        |column| changed(model, format!("column {column}"), |m| m.polynomial.columns ^= 1_u64 << column);
    (0..COLUMNS).map(one).collect()
}

/// One in the last digit of the bias that is not zero; of a bias of zero, where the others end.
fn bias(model: &Model) -> Vec<Mutant> {
    let zeros = match model.polynomial.bias {
        0 => 48 + model.polynomial.point - 87,
        bias => bias.trailing_zeros(),
    };
    let one = |up: bool| {
        changed(model, if up { "bias +1" } else { "bias -1" }, |m| {
            let bias = &mut m.polynomial.bias;
            *bias = if up { *bias + (1 << zeros) } else { bias.wrapping_sub(1 << zeros) };
        })
    };
    vec![one(true), one(false)]
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
/// The bias of `lg2` counts in units of 2^17, of which every sum is 3 or 7 more than a multiple of 8; one less is 2 or 6,
/// and the lowest 20 bits are cleared. `ex2` of a subnormal number is 1 by its polynomial, and `sin` and `cos` take no
/// notice of angles below 2^-24.
fn is_equivalent(function: Function, what: &str) -> bool {
    let silent = match function {
        Function::Rcp | Function::Ex2 => 8,
        Function::Rsqrt | Function::Lg2 => 6,
        Function::Sqrt | Function::Sin | Function::Cos => 0,
    };
    let column = what.strip_prefix("column ").and_then(|column| column.parse::<u32>().ok());
    let angle = matches!(function, Function::Ex2 | Function::Sin | Function::Cos);
    column.is_some_and(|column| column < silent || column == 1)
        || (function == Function::Lg2 && what == "bias -1")
        || (angle && what == "subnormal numbers")
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
                catch_unwind(AssertUnwindSafe(|| mutant.evaluate(x))).map_or(true, |result| result != y)
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
    assert!(total > 4000, "{total} mutants");
}
