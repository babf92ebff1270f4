//! What a name can mean.

use bitmma_formats::Format;
use bitmma_formats::alias::{self, UnknownFormat};

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
    /// Elements that share a scale factor.
    pub block: Option<usize>,
    /// Whether the row must have scale factors, or must not.
    pub is_scaled: Option<bool>,
    /// Whether a result beyond the range becomes the nearest number in it: of integers, `.satfinite`.
    pub is_saturating: bool,
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
            && self.is_saturating == row.saturates()
            && self.k.is_none_or(|k| k == row.k)
            && (!self.is_longest || row.blocks == 1)
            && is(self.a, row.a)
            && is(self.b, row.b)
            && is(self.c, row.c)
            && is(self.d, row.d)
            && self.scale.is_none_or(|scale| row.scale.is_some_and(|has| has.format == scale))
            && self.block.is_none_or(|size| row.scale.is_some_and(|has| has.size == size))
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

/// What a name asks for that is not part of an instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Elements of K after which the accumulator starts from +0, its result having been added to a sum in FP32.
    pub promote_every: Option<usize>,
    /// What became of the name's options, in sentences: how one is applied, or why it changes nothing.
    pub remarks: Vec<String>,
    /// Instructions that its words mean as well, and that compute alike: which of them is taken changes no bit.
    pub alike: Vec<String>,
}

/// What a name means on an architecture.
#[derive(Clone, Debug)]
pub(crate) enum Meaning {
    /// Instructions.
    Rows(Box<Wanted>, Options),
    /// Another spelling, which the catalogue has or has not.
    Spelling(String, Options),
    /// Something that is known and is not an instruction of the catalogue; a clause that begins with a verb.
    Known(&'static str),
    /// An instruction with an option that cannot be applied: the option as it was written, and a clause that begins with a
    /// verb.
    Refused(String, String),
}

impl Meaning {
    pub(super) fn rows(wanted: Wanted) -> Meaning {
        Meaning::Rows(Box::new(wanted), Options::default())
    }

    pub(super) fn refused(option: impl Into<String>, why: impl Into<String>) -> Meaning {
        Meaning::Refused(option.into(), why.into())
    }
}

/// A word of a call's arguments.
pub(super) enum Word {
    /// A number.
    Size(usize),
    /// A format.
    Format(Format),
}

/// The numbers and formats among the arguments of a call; every other word must be one that changes no result
/// (`neutral`), and is refused by name if it is not.
pub(super) fn read_words(
    arguments: &str,
    neutral: impl Fn(&str) -> bool,
    why: impl Fn(&str) -> Option<&'static str>,
) -> Result<Vec<Word>, Meaning> {
    let read = |word: &'_ str| {
        let lower = word.to_ascii_lowercase();
        if let Some(why) = why(&lower) {
            return Err(Meaning::refused(word, why));
        }
        if let Ok(size) = word.parse() {
            return Ok(Some(Word::Size(size)));
        }
        let dtype = word.strip_prefix("cutlass.").unwrap_or(word); // CuTe's Python language
        match alias::find(dtype) {
            Ok(format) => Ok(Some(Word::Format(format))),
            Err(_) if neutral(lower.rsplit("::").next().unwrap_or(&lower)) => Ok(None),
            Err(UnknownFormat::Other { about, .. }) => Err(Meaning::refused(word, about)),
            Err(UnknownFormat::Unknown { .. }) => Err(Meaning::refused(word, UNKNOWN_WORD)),
        }
    };
    words(arguments).filter_map(|word| read(word).transpose()).collect()
}

/// The numbers and the formats of a call, each in order.
pub(super) fn sorted(words: Vec<Word>) -> (Vec<usize>, Vec<Format>) {
    let (mut sizes, mut formats) = (vec![], vec![]);
    for word in words {
        match word {
            Word::Size(size) => sizes.push(size),
            Word::Format(format) => formats.push(format),
        }
    }
    (sizes, formats)
}

/// Why a word that nobody knows is refused.
pub(super) const UNKNOWN_WORD: &str =
    "is an argument that bitmma does not know, so it is not left out silently";

/// The words of a call, in order: split at brackets, commas and blanks.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(['<', '>', '(', ')', ',', ' ', '"', '\'', '{', '}']).filter(|word| !word.is_empty())
}
