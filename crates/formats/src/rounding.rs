//! Rounding directions: which of its two neighbors stands for a value between them.

use std::fmt;
use std::str::FromStr;

/// A rounding rule (paper, "Rounding Mode"; IEEE 754 §4.3 for the five it names; RO is in neither).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// RZ: toward zero.
    TowardZero,
    /// RA: away from zero.
    AwayFromZero,
    /// RU: toward positive infinity.
    Up,
    /// RD: toward negative infinity.
    Down,
    /// RNE: to nearest, ties to even.
    NearestEven,
    /// RNO: to nearest, ties to odd.
    NearestOdd,
    /// RNU: to nearest, ties toward positive infinity.
    NearestUp,
    /// RND: to nearest, ties toward negative infinity.
    NearestDown,
    /// RNZ: to nearest, ties toward zero.
    NearestZero,
    /// RNA: to nearest, ties away from zero.
    NearestAway,
    /// RO: to odd, whichever neighbor has a last bit of one; what is exact stays (Boldo and Melquiond, "Emulation
    /// of FMA and correctly rounded sums: proved algorithms using rounding to odd"). Arm's BFDOT and BFMMLA.
    ToOdd,
}

impl Rounding {
    /// Every rule with its symbol, the paper's but for RO.
    pub const ALL: [(Rounding, &'static str); 11] = [
        (Rounding::TowardZero, "RZ"),
        (Rounding::AwayFromZero, "RA"),
        (Rounding::Up, "RU"),
        (Rounding::Down, "RD"),
        (Rounding::NearestEven, "RNE"),
        (Rounding::NearestOdd, "RNO"),
        (Rounding::NearestUp, "RNU"),
        (Rounding::NearestDown, "RND"),
        (Rounding::NearestZero, "RNZ"),
        (Rounding::NearestAway, "RNA"),
        (Rounding::ToOdd, "RO"),
    ];

    /// Whether a magnitude is rounded to its upper neighbor.
    ///
    /// `odd`: the lower neighbor's last bit is one; `half`: the first bit that falls off is one;
    /// `rest`: some bit after that one is set.
    #[inline]
    pub const fn rounds_up(self, negative: bool, odd: bool, half: bool, rest: bool) -> bool {
        let inexact = half || rest;
        match self {
            Rounding::TowardZero => false,
            Rounding::AwayFromZero => inexact,
            Rounding::Up => inexact && !negative,
            Rounding::Down => inexact && negative,
            Rounding::NearestEven => half && (rest || odd),
            Rounding::NearestOdd => half && (rest || !odd),
            Rounding::NearestUp => half && (rest || !negative),
            Rounding::NearestDown => half && (rest || negative),
            Rounding::NearestZero => half && rest,
            Rounding::NearestAway => half,
            Rounding::ToOdd => inexact && !odd,
        }
    }

    /// The rule with the two directions exchanged: what `self` does to the negated value.
    pub const fn mirrored(self) -> Rounding {
        match self {
            Rounding::Up => Rounding::Down,
            Rounding::Down => Rounding::Up,
            Rounding::NearestUp => Rounding::NearestDown,
            Rounding::NearestDown => Rounding::NearestUp,
            symmetric => symmetric,
        }
    }

    /// Its symbol, as in `RNE`.
    pub fn symbol(self) -> &'static str {
        Self::ALL.iter().find(|(rounding, _)| *rounding == self).map_or("", |(_, symbol)| symbol)
    }
}

impl fmt::Display for Rounding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.symbol())
    }
}

/// The text is not a rounding symbol.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown rounding '{0}'; one of RZ RA RU RD RNE RNO RNU RND RNZ RNA RO")]
pub struct UnknownRounding(pub String);

impl FromStr for Rounding {
    type Err = UnknownRounding;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .iter()
            .find(|(_, symbol)| symbol.eq_ignore_ascii_case(text))
            .map(|(rounding, _)| *rounding)
            .ok_or_else(|| UnknownRounding(text.to_owned()))
    }
}
