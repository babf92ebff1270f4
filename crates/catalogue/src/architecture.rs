//! The ten architectures of the paper, and what people call them.

use std::fmt;
use std::str::FromStr;

use crate::chips::{TARGETS, bare, plain, target};
use crate::error::{LookupError, nearest};

/// Who makes an architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Vendor {
    /// NVIDIA: Tensor Cores.
    Nvidia,
    /// AMD: Matrix Cores.
    Amd,
}

impl fmt::Display for Vendor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Vendor::Nvidia => "NVIDIA",
            Vendor::Amd => "AMD",
        })
    }
}

/// A GPU architecture whose matrix units the catalogue describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Architecture {
    /// NVIDIA Volta.
    Volta,
    /// NVIDIA Turing.
    Turing,
    /// NVIDIA Ampere.
    Ampere,
    /// NVIDIA Ada Lovelace.
    Ada,
    /// NVIDIA Hopper.
    Hopper,
    /// NVIDIA Blackwell of the data centre.
    Blackwell,
    /// NVIDIA Blackwell of workstations and games.
    RtxBlackwell,
    /// AMD CDNA1.
    Cdna1,
    /// AMD CDNA2.
    Cdna2,
    /// AMD CDNA3.
    Cdna3,
}

use Architecture::{Ada, Ampere, Blackwell, Cdna1, Cdna2, Cdna3, Hopper, RtxBlackwell, Turing, Volta};

/// What is known by heart about one architecture.
struct Row {
    /// The name used everywhere in the project.
    name: &'static str,
    /// The compiler's target.
    target: &'static str,
    /// The chip on which the paper's authors ran it (paper, §3.4).
    papers_chip: &'static str,
}

const fn row(name: &'static str, target: &'static str, papers_chip: &'static str) -> Row {
    Row { name, target, papers_chip }
}

/// In the order of [`Architecture::ALL`].
const ROWS: [Row; 10] = [
    row("volta", "sm_70", "V100"),
    row("turing", "sm_75", "T4"),
    row("ampere", "sm_80", "A100"),
    row("ada", "sm_89", "RTX 4090"),
    row("hopper", "sm_90a", "H100"),
    row("blackwell", "sm_100a", "B200"),
    row("rtx-blackwell", "sm_120a", "RTX PRO 6000 Blackwell"),
    row("cdna1", "gfx908", "MI100"),
    row("cdna2", "gfx90a", "MI250X"),
    row("cdna3", "gfx942", "MI300X"),
];

impl Architecture {
    /// Every architecture, by vendor and age.
    pub const ALL: [Architecture; 10] =
        [Volta, Turing, Ampere, Ada, Hopper, Blackwell, RtxBlackwell, Cdna1, Cdna2, Cdna3];

    fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// The name used everywhere in the project, as in `rtx-blackwell`.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The vendor.
    pub fn vendor(self) -> Vendor {
        match self {
            Volta | Turing | Ampere | Ada | Hopper | Blackwell | RtxBlackwell => Vendor::Nvidia,
            Cdna1 | Cdna2 | Cdna3 => Vendor::Amd,
        }
    }

    /// What the vendor's compiler calls it, with the suffix for the instructions that only this
    /// architecture has: `sm_90a`, `gfx942`.
    pub fn target(self) -> &'static str {
        self.row().target
    }

    /// The chip on which the paper's authors ran this architecture's instructions (paper, §3.4).
    pub fn papers_chip(self) -> &'static str {
        self.row().papers_chip
    }

    /// Other spellings that mean it, lower case: further targets, and products that carry it.
    pub fn aliases(self) -> Vec<&'static str> {
        let targets = || TARGETS.iter().filter(move |target| target.architecture == Some(self));
        let names = targets().map(|target| target.name).filter(|name| *name != self.target());
        names.chain(targets().flat_map(|target| target.products.iter().copied())).collect()
    }

    /// Name, target and aliases.
    fn spellings(self) -> impl Iterator<Item = &'static str> {
        [self.name(), self.target()].into_iter().chain(self.aliases())
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Architecture {
    type Err = LookupError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (wanted, given) = (plain(text), text.to_owned());
        if let Some(found) = Architecture::ALL.into_iter().find(|one| plain(one.name()) == wanted) {
            return Ok(found);
        }
        if let Some(target) = target(text) {
            let (target, about, nearest) = match target.architecture {
                Some(architecture) => return Ok(architecture),
                None => (target.name, target.about, target.nearest),
            };
            return Err(LookupError::NotModelled { given, target, about, nearest });
        }
        // rtx4065 is not a misspelt rtx4060: letters may differ, or a digit may be missing or too many at the end
        let wanted = bare(text);
        let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
        let letters = |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
        let is_near = |spelling: &str| {
            let (one, other) = (digits(spelling), digits(&wanted));
            one == other
                && (one.is_empty() || strsim::damerau_levenshtein(&letters(spelling), &letters(&wanted)) <= 1)
                || letters(spelling) == letters(&wanted)
                    && one.len().abs_diff(other.len()) == 1
                    && (one.starts_with(&other) || other.starts_with(&one))
        };
        let near = Architecture::ALL.into_iter().flat_map(Architecture::spellings);
        let near =
            near.map(|spelling| (plain(spelling), spelling.to_owned())).filter(|(one, _)| is_near(one));
        Err(LookupError::UnknownArchitecture { given, nearest: nearest(&wanted, near, 1).pop() })
    }
}
