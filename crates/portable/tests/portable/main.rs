//! Tests of the portable arithmetic against second writings: exact rationals, big integers, and the order as its page states it.

mod functions;
mod numbers;
mod order;
mod rows;
