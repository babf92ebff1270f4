//! Compiler targets and the products that carry them: what people call a GPU.
//!
//! A product means the architecture of its compiler target. A target is under an architecture only where it is known
//! to compute alike: sm_86 is under Ampere because an A2 answers as an A100 does (recordings). Targets that are known
//! but not modelled say what they are, so that nobody gets the name of another chip as a suggestion.
//!
//! Sources: NVIDIA, "CUDA GPU Compute Capability" and the CUDA C++ Programming Guide; LLVM, "User Guide for AMDGPU
//! Backend", table of processors; AMD ROCm, "Accelerator and GPU hardware specifications".

use std::str::FromStr;

use crate::architecture::Architecture::{self, *};
use crate::error::{LookupError, nearest};

/// A compiler target and its products.
pub(crate) struct Target {
    /// The vendor compiler's name, without the suffix for features of one architecture: `sm_90`, `gfx942`.
    pub name: &'static str,
    /// What it is, in words.
    pub about: &'static str,
    /// Whose rows it uses, if it is modelled.
    pub architecture: Option<Architecture>,
    /// The modelled architecture that is nearest to it, if it is not modelled and one is near.
    pub nearest: Option<Architecture>,
    /// Products, lower case, without vendor and brand.
    pub products: &'static [&'static str],
}

const fn modelled(
    name: &'static str,
    architecture: Architecture,
    products: &'static [&'static str],
) -> Target {
    Target { name, about: "", architecture: Some(architecture), nearest: None, products }
}

const fn known(
    name: &'static str,
    about: &'static str,
    nearest: Option<Architecture>,
    products: &'static [&'static str],
) -> Target {
    Target { name, about, architecture: None, nearest, products }
}

/// RDNA multiplies matrices by other instructions (`v_wmma_*`), with another arithmetic than CDNA's.
const WMMA: &str = "its v_wmma instructions are not those of CDNA";
const NO_MATRIX_UNIT: &str = "it has no matrix unit";

#[rustfmt::skip]
pub(crate) const TARGETS: &[Target] = &[
    modelled("sm_70", Volta, &["v100", "v100s", "titan v", "gv100", "dgx-1", "dgx-2"]),
    modelled("sm_75", Turing, &[
        "t4", "t4g", "rtx 2060", "rtx 2060 super", "rtx 2070", "rtx 2070 super", "rtx 2080", "rtx 2080 super", "rtx 2080 ti", "titan rtx",
        "rtx 3000", "rtx 4000", "rtx 5000", "rtx 6000", "rtx 8000",
    ]),
    modelled("sm_80", Ampere, &["a100", "a100x", "a800", "a30", "a30x", "dgx a100"]),
    modelled("sm_86", Ampere, &[
        "a2", "a10", "a10g", "a10m", "a16", "a40", "rtx 2050", "rtx 3050", "rtx 3050 ti", "rtx 3060", "rtx 3060 ti", "rtx 3070", "rtx 3070 ti", "rtx 3080", "rtx 3080 ti",
        "rtx 3090", "rtx 3090 ti", "rtx a500", "rtx a1000", "rtx a2000", "rtx a3000", "rtx a4000", "rtx a4500", "rtx a5000", "rtx a5500", "rtx a6000",
    ]),
    modelled("sm_89", Ada, &[
        "ada lovelace", "l2", "l4", "l20", "l40", "l40g", "l40s", "rtx 4050", "rtx 4060", "rtx 4060 ti", "rtx 4070", "rtx 4070 super", "rtx 4070 ti", "rtx 4070 ti super",
        "rtx 4080", "rtx 4080 super", "rtx 4090", "rtx 4090 d", "rtx 500 ada", "rtx 1000 ada", "rtx 2000 ada", "rtx 3000 ada", "rtx 3500 ada", "rtx 4000 ada", "rtx 4000 sff ada",
        "rtx 4500 ada", "rtx 5000 ada", "rtx 5880 ada", "rtx 6000 ada",
    ]),
    modelled("sm_90", Hopper, &["h100", "h100 nvl", "h200", "h200 nvl", "h800", "h20", "gh200", "dgx h100", "dgx h200"]),
    modelled("sm_100", Blackwell, &["b100", "b200", "gb200", "dgx b200"]),
    modelled("sm_120", RtxBlackwell, &[
        "rtx 5050", "rtx 5060", "rtx 5060 ti", "rtx 5070", "rtx 5070 ti", "rtx 5080", "rtx 5090", "rtx 5090 d", "rtx pro 500", "rtx pro 1000", "rtx pro 2000", "rtx pro 3000",
        "rtx pro 4000", "rtx pro 4500", "rtx pro 5000", "rtx pro 6000", "rtx pro 500 blackwell", "rtx pro 1000 blackwell", "rtx pro 2000 blackwell", "rtx pro 3000 blackwell",
        "rtx pro 4000 blackwell", "rtx pro 4500 blackwell", "rtx pro 5000 blackwell", "rtx pro 6000 blackwell",
    ]),
    modelled("gfx908", Cdna1, &["mi100", "arcturus"]),
    modelled("gfx90a", Cdna2, &["mi210", "mi250", "mi250x", "aldebaran"]),
    modelled("gfx942", Cdna3, &["mi300a", "mi300x", "mi308x", "mi325x", "aqua vanjaram"]),

    known("sm_60", NO_MATRIX_UNIT, None, &["p100", "gp100", "pascal"]),
    known("sm_61", NO_MATRIX_UNIT, None, &["p4", "p40", "gtx 1080", "gtx 1080 ti", "titan xp"]),
    known("sm_72", "Volta of Jetson Xavier", Some(Volta), &["xavier", "agx xavier", "xavier nx"]),
    known("sm_75 without Tensor Cores", NO_MATRIX_UNIT, None, &["gtx 1630", "gtx 1650", "gtx 1650 super", "gtx 1650 ti", "gtx 1660", "gtx 1660 super", "gtx 1660 ti", "t400", "t500", "t550", "t600", "t1000", "t1200"]),
    known("sm_87", "Ampere of Jetson Orin", Some(Ampere), &["orin", "agx orin", "orin nx", "orin nano"]),
    known("sm_88", "Ampere of an embedded chip", Some(Ampere), &[]),
    known("sm_103", "Blackwell Ultra", Some(Blackwell), &["b300", "gb300", "dgx b300", "blackwell ultra"]),
    known("sm_101", "Blackwell of Thor, as older compilers call it", Some(Blackwell), &[]),
    known("sm_110", "Blackwell of Thor", Some(Blackwell), &["thor", "agx thor", "jetson t4000", "jetson t5000", "drive thor"]),
    known("sm_121", "Blackwell of GB10", Some(RtxBlackwell), &["gb10", "dgx spark", "n1x"]),
    known("rubin", "the generation after Blackwell", None, &["r100", "vr200", "vera rubin"]),
    known("gfx803", NO_MATRIX_UNIT, None, &["mi6", "mi8"]),
    known("gfx900", NO_MATRIX_UNIT, None, &["mi25", "vega 10"]),
    known("gfx906", NO_MATRIX_UNIT, None, &["mi50", "mi60", "vega 20", "radeon vii"]),
    known("gfx940", "a stepping of CDNA3 before it was sold", Some(Cdna3), &["gfx941"]),
    known("gfx950", "CDNA4", Some(Cdna3), &["cdna4", "mi350x", "mi355x", "mi350", "mi355", "mi350p"]),
    known("cdna5", "the generation after CDNA4", Some(Cdna3), &["mi400", "mi430x", "mi440x", "mi450", "mi450x", "mi455x", "gfx1250"]),
    known("gfx1030", NO_MATRIX_UNIT, None, &["rdna2", "rx 6800", "rx 6800 xt", "rx 6900 xt", "rx 6950 xt", "w6800", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036", "rx 6700 xt", "rx 6600 xt", "rx 6600"]),
    known("gfx1100", WMMA, None, &["rdna3", "rx 7900 xtx", "rx 7900 xt", "rx 7900 gre", "w7900", "w7800", "pro w7900", "pro w7800"]),
    known("gfx1101", WMMA, None, &["rx 7800 xt", "rx 7700 xt", "rx 7700", "w7700", "pro w7700", "pro v710", "v710"]),
    known("gfx1102", WMMA, None, &["rx 7600", "rx 7600 xt", "rx 7650 gre", "w7600", "w7500", "pro w7600", "pro w7500"]),
    known("gfx1103", WMMA, None, &["780m", "760m", "740m", "phoenix"]),
    known("gfx1150", WMMA, None, &["rdna3.5", "890m", "880m", "strix point"]),
    known("gfx1151", WMMA, None, &["8060s", "8050s", "strix halo", "ryzen ai max", "ryzen ai max+ 395"]),
    known("gfx1152", WMMA, None, &["860m", "840m", "krackan"]),
    known("gfx1200", WMMA, None, &["rdna4", "rx 9060", "rx 9060 xt"]),
    known("gfx1201", WMMA, None, &["rx 9070", "rx 9070 xt", "rx 9070 gre", "ai pro r9700", "r9700"]),
];

/// Words of a product's name that do not change what it computes.
#[rustfmt::skip]
const NOISE: &[&str] = &[
    "nvidia", "amd", "geforce", "radeon", "instinct", "tesla", "quadro", "jetson", "graphics", "gpu",
    "accelerator", "pcie", "sxm", "sxm2", "sxm3", "sxm4", "sxm5", "hgx", "oam", "hbm2", "hbm2e", "hbm3",
    "hbm3e", "laptop", "mobile", "max", "q", "maxq", "workstation", "server", "edition", "generation",
    "superchip", "series", "developer", "kit",
];

/// Lower case, without what separates words, without `compute_` for `sm_`: `RTX 4090`, `rtx-4090` and `rtx4090` are one
/// spelling.
pub(crate) fn plain(text: &str) -> String {
    let joined: String = text
        .chars()
        .filter(|character| !matches!(character, ' ' | '-' | '_' | '(' | ')' | '/'))
        .map(|character| character.to_ascii_lowercase())
        .collect();
    match joined.strip_prefix("compute") {
        Some(capability) => format!("sm{capability}"),
        None => joined,
    }
}

/// The same without vendor, brand, form factor and memory, as drivers report them: `NVIDIA H100 80GB HBM3`.
pub(crate) fn bare(text: &str) -> String {
    let memory = |word: &str| word.strip_suffix("gb").is_some_and(|size| size.parse::<u32>().is_ok());
    let lower = text.to_ascii_lowercase();
    let words = lower.split([' ', '-', '_', '(', ')', '/']);
    let kept: Vec<&str> = words.filter(|word| !NOISE.contains(word) && !memory(word)).collect();
    let joined = plain(&kept.concat());
    // the number alone is a GeForce RTX: 4090, 3060 ti
    if joined.len() >= 4 && joined.as_bytes()[..4].iter().all(u8::is_ascii_digit) {
        return format!("rtx{joined}");
    }
    joined
}

/// The target that `text` names, or a product of.
pub(crate) fn target(text: &str) -> Option<&'static Target> {
    let of = |wanted: &str| {
        let names = |target: &&Target| {
            let capability = wanted.strip_suffix(['a', 'f']).filter(|rest| rest.starts_with("sm"));
            let own = plain(target.name);
            own == wanted
                || Some(own.as_str()) == capability
                || target.products.iter().any(|name| plain(name) == wanted)
        };
        TARGETS.iter().find(names)
    };
    // drivers join two products by a slash: AMD Instinct MI250X / MI250
    of(&plain(text)).or_else(|| text.split('/').find_map(|part| of(&bare(part))))
}

impl Architecture {
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
