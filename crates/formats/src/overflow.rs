//! What becomes of numbers beyond a format's largest.

use std::str::FromStr;

/// What becomes of a value beyond the largest finite number.
///
/// A format without infinity gives NaN where infinity is asked for, and its largest finite number where
/// it has no NaN either.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Overflow {
    /// Infinity of the value's sign under every rounding rule: what MMA units do.
    Infinity,
    /// IEEE 754 §7.4: infinity, or the largest finite number where the rule rounds back to it. RO, which it does
    /// not have, gives infinity, as in Arm's BFDOT.
    Ieee,
    /// The largest finite number of the value's sign.
    Saturate,
}

impl Overflow {
    /// Its name, as in `saturate`.
    pub const fn name(self) -> &'static str {
        match self {
            Overflow::Ieee => "ieee",
            Overflow::Infinity => "infinity",
            Overflow::Saturate => "saturate",
        }
    }
}

/// The text is not the name of an overflow rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown overflow '{0}'; one of ieee, infinity, saturate")]
pub struct UnknownOverflow(pub String);

impl FromStr for Overflow {
    type Err = UnknownOverflow;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Overflow::Ieee, Overflow::Infinity, Overflow::Saturate]
            .into_iter()
            .find(|overflow| overflow.name() == text)
            .ok_or_else(|| UnknownOverflow(text.to_owned()))
    }
}
