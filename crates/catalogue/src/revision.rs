//! The two revisions of the arithmetic.

use std::fmt;
use std::str::FromStr;

use crate::error::LookupError;

/// Which reading of the paper's algorithms a model follows.
///
/// They differ in two things: the exponent that a zero term brings into the maximum (T-, ST-, GST-, TR-
/// and GTR-FDPA), and one more bit and one more rounding in TR- and GTR-FDPA.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Revision {
    /// The paper's algorithms with the corrections that hardware showed after it.
    #[default]
    Hardware,
    /// The algorithms exactly as printed; a zero term takes no part in any maximum.
    Paper,
}

impl Revision {
    /// Both.
    pub const ALL: [Revision; 2] = [Revision::Hardware, Revision::Paper];

    /// `hardware` or `paper`.
    pub const fn name(self) -> &'static str {
        match self {
            Revision::Hardware => "hardware",
            Revision::Paper => "paper",
        }
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Revision {
    type Err = LookupError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|revision| revision.name().eq_ignore_ascii_case(text.trim()))
            .ok_or_else(|| LookupError::UnknownRevision { given: text.to_owned() })
    }
}
