//! The words of a form, taken one by one: what is left at the end is not supported.

use crate::error::Error;
use crate::program::Type;
use crate::text::{Instruction, Operand};

pub(crate) struct Form<'f> {
    pub(crate) name: &'f str,
    full: &'f str,
    line: u32,
    words: Vec<&'f str>,
}

impl<'f> Form<'f> {
    pub(crate) fn of(instruction: &'f Instruction) -> Form<'f> {
        let mut words = instruction.form.split('.');
        let name = words.next().unwrap_or("");
        Form { name, full: &instruction.form, line: instruction.line, words: words.collect() }
    }

    /// The whole form, as the text has it.
    pub(crate) fn text(&self) -> &'f str {
        self.full
    }

    /// Whether it has this modifier, which is taken.
    pub(crate) fn flag(&mut self, word: &str) -> bool {
        match self.words.iter().position(|known| *known == word) {
            Some(at) => {
                self.words.remove(at);
                true
            }
            None => false,
        }
    }

    /// The meaning of the first of these modifiers that it has.
    pub(crate) fn one_of<T: Copy>(&mut self, meanings: &[(&str, T)]) -> Option<T> {
        meanings.iter().find(|(word, _)| self.flag(word)).map(|(_, meaning)| *meaning)
    }

    /// The next type.
    pub(crate) fn kind(&mut self) -> Option<Type> {
        let at = self.words.iter().position(|word| Type::named(word).is_some())?;
        Type::named(self.words.remove(at))
    }

    /// The next type; without one the form is not known.
    pub(crate) fn need_kind(&mut self) -> Result<Type, Error> {
        self.kind().ok_or_else(|| self.unsupported())
    }

    /// Takes every modifier of which this holds.
    pub(crate) fn drop_if(&mut self, unneeded: impl Fn(&str) -> bool) {
        self.words.retain(|word| !unneeded(word));
    }

    pub(crate) fn unsupported(&self) -> Error {
        self.refuse("")
    }

    pub(crate) fn refuse(&self, why: &str) -> Error {
        Error::unsupported(self.line, self.full, why)
    }

    /// An error if a check says what is wrong with its name and words.
    pub(crate) fn check(&self, wrong: impl Fn(&str, &[&str]) -> Option<String>) -> Result<(), Error> {
        wrong(self.name, &self.words).map_or(Ok(()), |why| Err(self.refuse(&why)))
    }

    /// An error if a modifier was not taken.
    pub(crate) fn finish(self) -> Result<(), Error> {
        match self.words.first() {
            Some(word) => Err(self.refuse(&format!("'.{word}' is not known here"))),
            None => Ok(()),
        }
    }
}

/// As many operands as an instruction takes.
pub(crate) fn operands<const N: usize>(instruction: &Instruction) -> Result<&[Operand; N], Error> {
    instruction.operands.as_slice().try_into().map_err(|_| {
        let given = instruction.operands.len();
        Error::syntax(instruction.line, format!("'{}' takes {N} operands, not {given}", instruction.form))
    })
}
