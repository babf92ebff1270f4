//! Compiler targets and the products that carry them: what people call a GPU.
//!
//! A product means the architecture of its compiler target. A target is under an architecture only where it is known
//! to compute alike: sm_86 is under Ampere because an A2 returns what an A100 does (recordings). Targets that are known
//! but not modeled say what they are, so that nobody gets the name of another chip as a suggestion.

mod targets;

use std::str::FromStr;

use crate::architecture::Architecture;
use crate::error::{LookupError, nearest};

use targets::TARGETS;
pub use targets::Target;

/// The table.
pub fn targets() -> &'static [Target] {
    TARGETS
}

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
    plain(&kept.concat())
}

/// Brands that are left out: `4090`, `3060 ti` and `a6000` are RTX, `9070` and `7900 xtx` are RX, `1080` is GTX.
const BRANDS: [&str; 4] = ["", "rtx", "rx", "gtx"];

/// The target that `text` names, or a product of.
pub fn target(text: &str) -> Option<&'static Target> {
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
    let beginning = |wanted: &str| {
        let begins = |name: &str| name.strip_suffix('*').is_some_and(|name| wanted.starts_with(&plain(name)));
        TARGETS.iter().find(|target| target.products.iter().any(|name| begins(name)))
    };
    let branded = |wanted: &str| BRANDS.iter().find_map(|brand| of(&format!("{brand}{wanted}")));
    let wanted = plain(text);
    // drivers join two products by a slash: AMD Instinct MI250X / MI250
    of(&wanted)
        .or_else(|| text.split('/').find_map(|part| branded(&bare(part))))
        .or_else(|| beginning(&wanted))
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
            return match target.architecture {
                Some(architecture) => Ok(architecture),
                None => Err(LookupError::NotModelled { given, target }),
            };
        }
        let wanted = bare(text);
        let is_near = |spelling: &str| is_misspelt(&wanted, spelling);
        let near = Architecture::ALL.into_iter().flat_map(Architecture::spellings);
        let near =
            near.map(|spelling| (plain(spelling), spelling.to_owned())).filter(|(one, _)| is_near(one));
        Err(LookupError::UnknownArchitecture { given, nearest: nearest(&wanted, near, 1).pop() })
    }
}

/// Whether `text` is `spelling` with a slip of the keyboard: a letter of four may differ, in a name of few letters none, and
/// a digit may be missing or doubled. `rtx4065` is not a misspelt `rtx4060`, `m4` is not `t4`, `apple` is not `ampere`.
fn is_misspelt(text: &str, spelling: &str) -> bool {
    let part = |text: &str, digits: bool| -> String {
        text.chars().filter(|character| character.is_ascii_digit() == digits).collect()
    };
    let (letters, wanted) = (part(spelling, false), part(text, false));
    let (digits, given) = (part(spelling, true), part(text, true));
    if digits == given {
        return strsim::damerau_levenshtein(&letters, &wanted) <= letters.chars().count().min(8) / 3;
    }
    let (long, short) = if digits.len() > given.len() { (&digits, &given) } else { (&given, &digits) };
    let doubled =
        long.strip_prefix(short.as_str()).is_some_and(|rest| rest.len() == 1 && short.ends_with(rest));
    let missing = given.len() >= 3 && digits.len() == given.len() + 1 && digits.starts_with(&given);
    letters == wanted && !short.is_empty() && (doubled || missing)
}
