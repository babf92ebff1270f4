//! Any model the data can describe, on any operands: the engine and the second implementation on exact
//! rationals give the same bits.

use bitmma_engine::arithmetic::{oracle, run::Operands};
use bitmma_engine::{Case, Model};
use bitmma_verify::recording;

use crate::{Outcome, Unstructured, generate};

/// One model and a few dot products.
///
/// # Panics
///
/// If the two disagree, or either panics.
pub fn run(u: &mut Unstructured<'_>) -> Outcome {
    let Some(model) = generate::model(u)? else { return Ok(()) };
    let Some(k) = generate::k(u, &model)? else { return Ok(()) };
    for _ in 0..4 {
        let case = generate::case(u, &model, k)?;
        hold(&model, &case);
        if u.is_empty() {
            break;
        }
    }
    Ok(())
}

/// One dot product by both.
fn hold(model: &Model, case: &Case) {
    let Case { a, b, c, scale_a, scale_b } = case;
    let actual = model
        .dot(&Operands { a, b, c: *c, scale_a, scale_b })
        .unwrap_or_else(|error| panic!("{error}\n{}", shown(model, case)));
    let expected = oracle::dot(model, a, b, *c, scale_a, scale_b);
    assert!(expected == actual, "oracle {expected:#x}, engine {actual:#x}\n{}", shown(model, case));
}

/// Model and operands as text that replays: the model as Rust prints it, for a file holds less.
fn shown(model: &Model, case: &Case) -> String {
    let hex = recording::hex;
    let scale = model.scale.map_or(model.a, |scale| scale.format);
    format!(
        "{:?} {:?}\nA {} B {} C {} D {} rho {} flush {:?} scale {:?} nan {:x?}\n a {}\n b {}\n c {}\n scale_a {}\n scale_b {}",
        model.operation,
        model.lowering,
        model.a,
        model.b,
        model.c,
        model.d,
        model.conversion,
        (model.flush_operands, model.flush_accumulator),
        model.scale,
        model.nan_code,
        hex(&model.a, &case.a),
        hex(&model.b, &case.b),
        hex(&model.c, &[case.c]),
        hex(&scale, &case.scale_a),
        hex(&scale, &case.scale_b),
    )
}
