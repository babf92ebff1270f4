//! What the command prints, with the codes of a terminal, for those who show it elsewhere: a notebook.

use bitmma_engine::catalogue::{Found, Options};
use bitmma_engine::{Model, Revision};

use crate::show;

/// What `show` prints of an instruction.
pub fn instruction(found: &Found, revision: Revision) -> String {
    show::instruction(found, &Options::default(), revision)
}

/// What `show` prints of a model.
pub fn model(name: &str, model: &Model) -> String {
    show::model(name, model)
}
