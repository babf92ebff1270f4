//! What the command prints, with the codes of a terminal, for those who show it elsewhere: a notebook.

use bitmma_engine::catalogue::{Found, Options};
use bitmma_engine::{Case, Model, Revision};

use crate::explain::picture;
use crate::show;
use crate::target::Target;
use crate::values::Inputs;

/// What `explain` prints: every step of one dot product.
pub fn explained(name: &str, model: &Model, case: Case) -> Result<String, String> {
    let options = Options::default();
    let target = Target { name: name.to_owned(), found: None, model: model.clone(), k: None, options };
    picture(&target, &Inputs { case, notes: vec![] }).map_err(|failure| failure.to_string())
}

/// What `show` prints of an instruction.
pub fn instruction(found: &Found, revision: Revision) -> String {
    show::instruction(found, &Options::default(), revision)
}

/// What `show` prints of a model.
pub fn model(name: &str, model: &Model) -> String {
    show::model(name, model)
}
