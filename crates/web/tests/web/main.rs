//! The question function, checked against the crates below it and against recordings, and the server against strangers.

mod asked;
mod links;
mod presets;
mod questions;
mod sentences;
mod server;
mod vectors;
