//! The ten architectures of the paper, and what people call them.

use std::fmt;
use std::str::FromStr;

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
    architecture: Architecture,
    /// The name used everywhere in the project.
    name: &'static str,
    /// The compiler's target.
    target: &'static str,
    /// The chip on which the paper's authors ran it (paper, §3.4).
    papers_chip: &'static str,
    /// Other targets and chips of the same matrix unit.
    aliases: &'static [&'static str],
}

const fn row(
    architecture: Architecture,
    name: &'static str,
    target: &'static str,
    papers_chip: &'static str,
    aliases: &'static [&'static str],
) -> Row {
    Row { architecture, name, target, papers_chip, aliases }
}

// sm_86 stands under Ampere because an A2 answers as an A100 does (recordings). sm_72, sm_87, sm_103,
// sm_121 and gfx950 stand nowhere: nobody has shown us that they compute as their relatives do.
// columns: architecture, name, target, chip of the paper, aliases
#[rustfmt::skip]
const ROWS: [Row; 10] = [
    row(Volta, "volta", "sm_70", "V100", &["v100", "titanv"]),
    row(Turing, "turing", "sm_75", "T4", &["t4", "rtx2060", "rtx2070", "rtx2080", "rtx2080ti", "titanrtx"]),
    row(Ampere, "ampere", "sm_80", "A100", &["sm_86", "a100", "a800", "a30", "a2", "a10", "a16", "a40", "rtx3060", "rtx3070", "rtx3080", "rtx3090", "rtxa6000"]),
    row(Ada, "ada", "sm_89", "RTX 4090", &["adalovelace", "rtx4060", "rtx4070", "rtx4080", "rtx4090", "rtx6000ada", "l40s", "l40", "l4"]),
    row(Hopper, "hopper", "sm_90a", "H100", &["sm_90", "h100", "h200", "h800", "gh200"]),
    row(Blackwell, "blackwell", "sm_100a", "B200", &["sm_100", "b200", "b100", "gb200"]),
    row(RtxBlackwell, "rtx-blackwell", "sm_120a", "RTX PRO 6000 Blackwell", &["sm_120", "rtx5060", "rtx5070", "rtx5080", "rtx5090", "rtxpro6000", "rtxpro6000blackwell"]),
    row(Cdna1, "cdna1", "gfx908", "MI100", &["mi100"]),
    row(Cdna2, "cdna2", "gfx90a", "MI250X", &["mi210", "mi250", "mi250x"]),
    row(Cdna3, "cdna3", "gfx942", "MI300X", &["mi300x", "mi300a", "mi325x"]),
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

    /// Other spellings that mean it, lower case: further targets, and chips that carry it.
    pub fn aliases(self) -> &'static [&'static str] {
        self.row().aliases
    }

    /// Name, target and aliases.
    fn spellings(self) -> impl Iterator<Item = &'static str> {
        [self.name(), self.target()].into_iter().chain(self.aliases().iter().copied())
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Lower case, without what separates words: `RTX 4090`, `rtx-4090` and `rtx4090` are one spelling.
fn plain(text: &str) -> String {
    text.chars()
        .filter(|character| !matches!(character, ' ' | '-' | '_'))
        .map(|c| c.to_ascii_lowercase())
        .collect()
}

impl FromStr for Architecture {
    type Err = LookupError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wanted = plain(text);
        let all = || ROWS.iter().map(|row| row.architecture);
        if let Some(found) = all().find(|row| row.spellings().any(|spelling| plain(spelling) == wanted)) {
            return Ok(found);
        }
        let spellings = all().flat_map(Architecture::spellings);
        Err(LookupError::UnknownArchitecture {
            given: text.to_owned(),
            nearest: nearest(&wanted, spellings.map(|spelling| (plain(spelling), spelling.to_owned())), 1)
                .pop(),
        })
    }
}
