//! What PTX has, as rows: a name, the types and modifiers that go with it, and what is made of it.

use bitmma_engine::catalogue::Architecture;

use super::compute::Computation;
use crate::decode::decoder::Decoder;
use crate::decode::form::Form;
use crate::error::Error;
use crate::program::{Op, Type};
use crate::text::Instruction;

/// Forms of a name that have the same types and modifiers.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// The types of each place, parted by spaces.
    pub(super) types: &'static [&'static str],
    /// Those of which one is taken are parted by a bar, those that come together by `&`; those with a question mark may be missing.
    /// Those behind `=` are part of the name: they come first, in this order.
    pub(super) modifiers: &'static str,
    pub(crate) made: Made,
    /// How many of its first operands are results.
    pub(super) results: usize,
    /// Whether it does no more than compute its results.
    pub(super) is_pure: bool,
    /// The oldest target that has it.
    since: Since,
}

/// What an instruction of a row becomes.
#[derive(Clone, Copy)]
pub(crate) enum Made {
    /// A computation, by its form.
    Computed(fn(&Instruction) -> Computation),
    /// Nothing: PTX has it, and it is not supported for this reason.
    Refused(&'static str),
    /// Something else.
    Decoded(fn(&mut Decoder<'_>, &Instruction) -> Result<Op, Error>),
    /// Something else, which checks its types and modifiers itself, and takes them from the form.
    Free(fn(&mut Decoder<'_>, &mut Form<'_>, &Instruction) -> Result<Op, Error>),
}

pub(crate) const fn free(
    name: &'static str,
    made: fn(&mut Decoder<'_>, &mut Form<'_>, &Instruction) -> Result<Op, Error>,
) -> Row {
    Row {
        name,
        types: &[],
        modifiers: "",
        made: Made::Free(made),
        results: 1,
        is_pure: false,
        since: Since::Always,
    }
}

/// From which target on there is a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Since {
    Always,
    /// sm_89
    Ada,
    /// sm_90
    Hopper,
    /// sm_100
    Blackwell,
    /// No other than sm_90a
    HopperAlone,
}

impl Since {
    /// Why a target does not have it.
    pub(crate) fn missing(self, architecture: Architecture) -> Option<&'static str> {
        let rank = match architecture {
            Architecture::Blackwell | Architecture::RtxBlackwell => Since::Blackwell,
            Architecture::Hopper => Since::Hopper,
            Architecture::Ada => Since::Ada,
            _ => Since::Always,
        };
        let why = match self {
            Since::Always => "",
            Since::Ada => "it needs sm_89 or later",
            Since::Hopper => "it needs sm_90 or later",
            Since::Blackwell => "it needs sm_100 or later",
            Since::HopperAlone => "only sm_90a has it",
        };
        let is_missing = if self == Since::HopperAlone { rank != Since::Hopper } else { rank < self };
        is_missing.then_some(why)
    }
}

pub(crate) const fn computed(
    name: &'static str,
    types: &'static [&'static str],
    modifiers: &'static str,
    made: fn(&Instruction) -> Computation,
) -> Row {
    Row {
        name,
        types,
        modifiers,
        made: Made::Computed(made),
        results: 1,
        is_pure: true,
        since: Since::Always,
    }
}

pub(crate) const fn refused(
    name: &'static str,
    types: &'static [&'static str],
    modifiers: &'static str,
    why: &'static str,
) -> Row {
    Row { name, types, modifiers, made: Made::Refused(why), results: 1, is_pure: true, since: Since::Always }
}

pub(crate) const fn decoded(
    name: &'static str,
    types: &'static [&'static str],
    modifiers: &'static str,
    made: fn(&mut Decoder<'_>, &Instruction) -> Result<Op, Error>,
) -> Row {
    Row {
        name,
        types,
        modifiers,
        made: Made::Decoded(made),
        results: 1,
        is_pure: false,
        since: Since::Always,
    }
}

impl Row {
    pub(crate) const fn results(self, results: usize) -> Row {
        Row { results, ..self }
    }

    pub(crate) const fn since(self, since: Since) -> Row {
        Row { since, ..self }
    }

    /// An error if a target does not have it.
    pub(crate) fn check(&self, at: &Instruction, architecture: Architecture) -> Result<(), Error> {
        // what a row lets through for two kinds of operands: of three there is a minimum from Blackwell on
        let three = matches!(self.name, "min" | "max") && at.operands.len() == 4;
        let since = if three { Since::Blackwell } else { self.since };
        since.missing(architecture).map_or(Ok(()), |why| Err(Error::unsupported(at.line, &at.form, why)))
    }

    pub(crate) const fn pure(self) -> Row {
        Row { is_pure: true, ..self }
    }

    pub(super) fn has_types(&self, types: &[&str]) -> bool {
        self.types.len() == types.len()
            && self.types.iter().zip(types).all(|(place, kind)| place.split(' ').any(|one| one == *kind))
    }
}

/// Whether a word is a type, not a modifier.
pub(super) fn is_type(word: &str) -> bool {
    word == "b128" || Type::named(word).is_some()
}

/// Whether the words of a form have the modifiers of a row.
pub(super) fn has_modifiers(groups: &str, words: &[&str]) -> bool {
    let mut left: Vec<_> = words.iter().map(|word| (!is_type(word)).then_some(*word)).collect();
    let mut named = 0;
    for group in groups.split(' ').filter(|group| !group.is_empty()) {
        let (group, is_optional) = group.strip_suffix('?').map_or((group, false), |group| (group, true));
        let (group, is_name) = group.strip_prefix('=').map_or((group, false), |group| (group, true));
        let places = |choice: &str| -> Option<Vec<usize>> {
            choice.split('&').map(|word| left.iter().position(|other| *other == Some(word))).collect()
        };
        // the one that comes first
        match group.split('|').filter_map(places).min_by_key(|places| places.iter().min().copied()) {
            Some(places) if !is_name || places == [named] => {
                places.into_iter().for_each(|at| left[at] = None);
                named += usize::from(is_name);
            }
            None if is_optional => {}
            _ => return false,
        }
    }
    left.iter().all(Option::is_none)
}

/// The types of a form, in order.
pub(crate) fn types(instruction: &Instruction) -> impl Iterator<Item = Type> {
    instruction.form.split('.').skip(1).filter_map(Type::named)
}

/// The last type of a form; every row that asks has one.
pub(crate) fn kind(instruction: &Instruction) -> Type {
    types(instruction).last().unwrap_or(Type::B32)
}
