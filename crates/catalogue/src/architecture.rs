//! The ten architectures of the paper, and what people call them.

use std::fmt;

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
    /// The chip on which the paper's authors ran it (paper, §3.4); `None` for one that the paper does not have.
    papers_chip: Option<&'static str>,
}

const fn row(name: &'static str, target: &'static str, papers_chip: Option<&'static str>) -> Row {
    Row { name, target, papers_chip }
}

/// In the order of [`Architecture::ALL`].
const ROWS: [Row; 10] = [
    row("volta", "sm_70", Some("V100")),
    row("turing", "sm_75", Some("T4")),
    row("ampere", "sm_80", Some("A100")),
    row("ada", "sm_89", Some("RTX 4090")),
    row("hopper", "sm_90a", Some("H100")),
    row("blackwell", "sm_100a", Some("B200")),
    row("rtx-blackwell", "sm_120a", Some("RTX PRO 6000 Blackwell")),
    row("cdna1", "gfx908", Some("MI100")),
    row("cdna2", "gfx90a", Some("MI250X")),
    row("cdna3", "gfx942", Some("MI300X")),
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

    /// The chip on which the paper's authors ran this architecture's instructions (paper, §3.4); `None` if they ran none.
    pub fn papers_chip(self) -> Option<&'static str> {
        self.row().papers_chip
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
