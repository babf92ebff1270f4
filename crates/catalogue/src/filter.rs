//! Choosing rows for a list.

use bitmma_arithmetic::family;
use bitmma_formats::Format;

use crate::architecture::Architecture;
use crate::error::LookupError;
use crate::instruction::Instruction;
use crate::revision::Revision;
use crate::rows;

/// The model family of that name, compared without case.
pub fn model_family(text: &str) -> Result<&'static str, LookupError> {
    family::by_name(text)
        .map(|family| family.name)
        .ok_or_else(|| LookupError::UnknownModel { given: text.to_owned() })
}

/// What a row must be to be listed; a field that is `None` asks nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Filter {
    /// This architecture.
    pub architecture: Option<Architecture>,
    /// This format among A, B, C, D and the scale factors.
    pub format: Option<Format>,
    /// This model family, as [`model_family`] gives it; a row whose model is unknown has none.
    pub model: Option<&'static str>,
}

impl Filter {
    /// Whether the row is listed.
    pub fn matches(&self, row: &Instruction) -> bool {
        let scale = row.scale.map(|scale| scale.format);
        self.architecture.is_none_or(|architecture| row.architecture == architecture)
            && self
                .format
                .is_none_or(|format| [row.a, row.b, row.c, row.d].contains(&format) || scale == Some(format))
            && self.model.is_none_or(|family| {
                row.model_ref(Revision::Hardware).is_some_and(|model| model.operation.name() == family)
            })
    }

    /// The rows that are listed, in the catalogue's order.
    pub fn rows(self) -> impl Iterator<Item = &'static Instruction> {
        rows::catalogue().iter().filter(move |row| self.matches(row))
    }
}
