//! Finds out how an unknown matrix multiply-accumulate unit computes, by asking it.
//!
//! [`probe`] takes anything that answers D for A, B and C and ends with a model that agrees with it on
//! a million random elements of D, bit for bit, or says what it could not explain. It goes by the paper's
//! four steps ("Methodology and Implementation"): [`independence`], [`order`], [`features`], validation;
//! between the last two stands a set of hypotheses, from which every observation removes those that
//! contradict it, and for which inputs are searched on which the rest disagree. A mismatch in validation
//! is made small, observed, and the loop begins again.
//!
//! Nothing here reads the catalogue to find an answer; it only names what was found, at the end.
#![forbid(unsafe_code)]
#![deny(clippy::float_arithmetic)]

pub mod differ;
pub mod error;
pub mod features;
mod hypotheses;
pub mod independence;
mod inputs;
mod log;
mod numbers;
pub mod order;
pub mod outcome;
mod place;
pub mod report;
mod search;
mod separate;
mod session;
pub mod tree;
pub mod validate;
mod wiring;

use bitmma_engine::{MmaUnit, Signature};

pub use error::Error;
pub use features::{Feature, Observation};
pub use independence::Evidence;
pub use order::Order;
pub use outcome::{Counterexample, Found, NotExplained, Options, Outcome, Verdict};
pub use place::Place;
pub use report::parameters::{Certainty, Parameter};
pub use search::probe;
pub use tree::Tree;
pub use validate::Mismatch;

/// A unit that can be asked for something.
fn asked(unit: &dyn MmaUnit) -> Result<session::Session<'_>, Error> {
    let Signature { ref name, m, n, k, blocks, .. } = *unit.signature();
    if m * n * k * blocks == 0 {
        return Err(Error::Empty { unit: name.clone(), m, n, k, blocks });
    }
    if unit.signature().d.is_integer() {
        return Err(Error::Integers { unit: name.clone() });
    }
    Ok(session::Session::new(unit, log::Log::none(), &()))
}

/// In which order `unit` sums, and how many products at a time (step 2 alone): no model is sought.
pub fn summation_order(unit: &dyn MmaUnit) -> Result<Order, Error> {
    Ok(order::find(&mut asked(unit)?)?.0)
}

/// Single features of `unit`, each asked directly (step 3 alone): no model is sought.
pub fn single_features(unit: &dyn MmaUnit) -> Result<Vec<Feature>, Error> {
    Ok(features::observe(&mut asked(unit)?)?.0)
}
