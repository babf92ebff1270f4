//! Tests of the portable arithmetic against second writings: exact rationals, big integers, and the order as its page states it.

#![allow(clippy::float_cmp)] // results are compared bit by bit

mod functions;
mod numbers;
mod order;
mod rows;
