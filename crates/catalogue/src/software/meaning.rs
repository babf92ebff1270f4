//! What a name can mean.

use bitmma_formats::Format;

use crate::architecture::Architecture;
use crate::instruction::{Family, Instruction};
use crate::rows;

/// What a name asks for: the instructions that have all of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    /// One of these families; empty for any.
    pub families: Vec<Family>,
    /// Part of the name, as in `kind::f16`; empty for any.
    pub part: &'static str,
    /// Rows of A and D in one block.
    pub m: Option<usize>,
    /// Columns of B and D in one block.
    pub n: Option<usize>,
    /// Columns of A.
    pub k: Option<usize>,
    /// Format of A, of B, of C, of D.
    pub a: Option<Format>,
    pub b: Option<Format>,
    pub c: Option<Format>,
    pub d: Option<Format>,
    /// Format of the scale factors.
    pub scale: Option<Format>,
    /// Whether the row must have scale factors, or must not.
    pub is_scaled: Option<bool>,
    /// Only the rows with the largest K of those that are left.
    pub is_longest: bool,
}

impl Wanted {
    fn fits(&self, row: &Instruction) -> bool {
        let is = |wanted: Option<Format>, format: Format| wanted.is_none_or(|wanted| wanted == format);
        (self.families.is_empty() || self.families.contains(&row.family))
            && row.name().contains(self.part)
            // only PTX can ask for another rounding of FP64
            && ![".rz.", ".rm.", ".rp."].iter().any(|rounding| row.name().contains(rounding))
            && self.k.is_none_or(|k| k == row.k)
            && (!self.is_longest || row.blocks == 1)
            && is(self.a, row.a)
            && is(self.b, row.b)
            && is(self.c, row.c)
            && is(self.d, row.d)
            && self.scale.is_none_or(|scale| row.scale.is_some_and(|has| has.format == scale))
            && self.is_scaled.is_none_or(|is_scaled| is_scaled == row.scale.is_some())
            // a size that a range does not have is refused later, with the sizes it has
            && self.m.is_none_or(|m| row.m.is_range() || row.m.contains(m))
            && self.n.is_none_or(|n| row.n.is_range() || row.n.contains(n))
    }

    /// The rows of `architecture` that have all of it.
    pub(crate) fn rows(&self, architecture: Architecture) -> Vec<&'static Instruction> {
        let mut rows: Vec<&'static Instruction> =
            rows::of(architecture).filter(|row| self.fits(row)).collect();
        if self.is_longest {
            let longest = |row: &Instruction| {
                rows.iter().all(|other| other.k <= row.k || (other.m, other.n) != (row.m, row.n))
            };
            let keep: Vec<_> = rows.iter().copied().filter(|row| longest(row)).collect();
            rows = keep;
        }
        rows
    }
}

/// What a name means on an architecture.
#[derive(Clone, Debug)]
pub(crate) enum Meaning {
    /// Instructions.
    Rows(Box<Wanted>),
    /// Another spelling, which the catalogue has or has not.
    Spelling(String),
    /// Something that is known and is not an instruction of the catalogue; a clause that begins with a verb.
    Known(&'static str),
}

/// The words of a call, in order: split at brackets, commas and blanks.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(['<', '>', '(', ')', ',', ' ', '"', '\'', '{', '}']).filter(|word| !word.is_empty())
}
