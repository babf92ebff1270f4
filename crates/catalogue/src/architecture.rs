//! The architectures: one row each. What people call them is in [`chips`](crate::chips).

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

/// What is known by heart about one architecture.
struct Row {
    /// The name used everywhere in the project.
    name: &'static str,
    vendor: Vendor,
    /// The compiler's target.
    target: &'static str,
    /// The lowest version of PTX with the target and its instructions; (0, 0) for AMD.
    ptx: (u32, u32),
    /// The chip on which the paper's authors ran it (paper, §3.4); `None` for one that the paper does not have.
    papers_chip: Option<&'static str>,
    /// The architecture whose instructions and models it has, and why that is believed.
    like: Option<(Architecture, &'static str)>,
}

const fn nvidia(name: &'static str, target: &'static str, ptx: (u32, u32)) -> Row {
    Row { name, vendor: Vendor::Nvidia, target, ptx, papers_chip: None, like: None }
}

const fn amd(name: &'static str, target: &'static str) -> Row {
    Row { name, vendor: Vendor::Amd, target, ptx: (0, 0), papers_chip: None, like: None }
}

impl Row {
    const fn in_paper(self, chip: &'static str) -> Row {
        Row { papers_chip: Some(chip), ..self }
    }
}

/// The architectures and their rows, in one order.
macro_rules! architectures {
    ($($variant:ident: $about:literal, $row:expr;)+) => {
        /// A GPU architecture whose matrix units the catalogue describes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Architecture {
            $(#[doc = $about] $variant,)+
        }

        const ROWS: &[Row] = &[$($row),+];

        impl Architecture {
            /// Every architecture, by vendor and age.
            pub const ALL: [Architecture; ROWS.len()] = [$(Architecture::$variant),+];
        }
    };
}

// columns: variant, about, name, target, PTX version. One that computes as another states which, and why:
//     Twin: "A twin.", Row { like: Some((Architecture::Cdna3, "AMD says so")), ..amd("twin", "gfx999") };
#[rustfmt::skip]
architectures! {
    Volta: "NVIDIA Volta.", nvidia("volta", "sm_70", (6, 4)).in_paper("V100");
    Turing: "NVIDIA Turing.", nvidia("turing", "sm_75", (6, 5)).in_paper("T4");
    Ampere: "NVIDIA Ampere.", nvidia("ampere", "sm_80", (7, 0)).in_paper("A100");
    Ada: "NVIDIA Ada Lovelace.", nvidia("ada", "sm_89", (7, 8)).in_paper("RTX 4090");
    Hopper: "NVIDIA Hopper.", nvidia("hopper", "sm_90a", (8, 0)).in_paper("H100");
    Blackwell: "NVIDIA Blackwell of the data centre.", nvidia("blackwell", "sm_100a", (8, 6)).in_paper("B200");
    RtxBlackwell: "NVIDIA Blackwell of workstations and games.", nvidia("rtx-blackwell", "sm_120a", (8, 7)).in_paper("RTX PRO 6000 Blackwell");
    Cdna1: "AMD CDNA1.", amd("cdna1", "gfx908").in_paper("MI100");
    Cdna2: "AMD CDNA2.", amd("cdna2", "gfx90a").in_paper("MI250X");
    Cdna3: "AMD CDNA3.", amd("cdna3", "gfx942").in_paper("MI300X");
}

impl Architecture {
    fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// The name used everywhere in the project, as in `rtx-blackwell`.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The vendor.
    pub fn vendor(self) -> Vendor {
        self.row().vendor
    }

    /// What the vendor's compiler calls it, with the suffix for the instructions that only this
    /// architecture has: `sm_90a`, `gfx942`.
    pub fn target(self) -> &'static str {
        self.row().target
    }

    /// The lowest version of PTX that has the target and the instructions new with it: major, minor (PTX ISA, release notes).
    /// (0, 0) for AMD.
    pub fn ptx(self) -> (u32, u32) {
        self.row().ptx
    }

    /// The chip on which the paper's authors ran this architecture's instructions (paper, §3.4); `None` if they ran none.
    pub fn papers_chip(self) -> Option<&'static str> {
        self.row().papers_chip
    }

    /// The architecture whose instructions and models it has, and why that is believed; `None` where it has its own.
    pub(crate) fn like(self) -> Option<(Architecture, &'static str)> {
        self.row().like
    }

    /// The architecture that has its matrix unit: another where the table says that it computes as that one, else itself. What a
    /// table or rule says of a matrix unit, it says of this one.
    pub fn unit(self) -> Architecture {
        self.like().map_or(self, |(other, _)| other)
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
