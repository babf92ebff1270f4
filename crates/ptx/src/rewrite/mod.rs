//! What ptxas makes of a text, as far as it changes results: products fused with additions, and constants folded.
//!
//! Established by comparing predictions with the SASS of 183 compiled files, ptxas 12.9 (sm_80) and 13.4 (sm_90, sm_100).

mod asked;
mod back;
mod choose;
mod constants;
mod contract;
mod copies;
mod dead;
mod evaluate;
mod fuse;
mod known;
mod list;
mod loops;
mod normal;
mod origin;
mod parts;
mod predict;
mod scaled;
mod unroll;
mod uses;

use crate::error::{Doubt, Error};
use crate::text::{Function, Instruction, Module};

pub(crate) use asked::ask_all;
pub use asked::{CACHE_BYTES, CACHE_VARIABLE, FOLDERS_VARIABLE, TIME_LIMIT, Tools};
pub(crate) use copies::goes_around;
pub use list::{Fusion, Rewrites};

/// Whether a text runs as it is written or as ptxas compiles it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Multiplications and additions are fused, and constants folded, as ptxas does.
    #[default]
    Gpu,
    /// Every instruction as it is written.
    Text,
}

/// The doubt about all rewrites of a kind, at the first instruction that may be one.
fn too_large(first: &Instruction, which: &str) -> Doubt {
    let why = format!("the kernel is too large to tell which {which}");
    Doubt { line: first.line, form: first.form.clone(), why }
}

/// How it is found out what ptxas makes of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compiler {
    /// Nothing is made of it: it runs as it is written.
    Text,
    /// By a rule; why ptxas is not asked, where it would have been.
    Predicted(Option<String>),
    /// By a rule, of a kernel that is compiled without fusion: `--fmad=false`, Triton's `enable_fp_fusion=False`.
    Off,
    /// By these tools. An error where they give nothing.
    Asked(Tools),
    /// By these tools; by the rule where they give nothing, which [`Rewrites::fusion`] says.
    AskedIfPossible(Tools),
}

impl From<Mode> for Compiler {
    fn from(mode: Mode) -> Compiler {
        match mode {
            Mode::Gpu => Compiler::Predicted(None),
            Mode::Text => Compiler::Text,
        }
    }
}

/// Rewrites a function as ptxas compiles it for a target, such as `sm_80`.
pub(crate) fn apply(
    module: &Module,
    function: &mut Function,
    target: &str,
    compiler: &Compiler,
) -> Result<Rewrites, Error> {
    let mut rewrites = Rewrites::default();
    rewrites.fusion = match compiler {
        Compiler::Text => return Ok(rewrites),
        Compiler::Off => {
            predict::predict_without_fusion(function, &mut rewrites);
            rewrites.fusion = Fusion::Off;
            return Ok(rewrites);
        }
        Compiler::Predicted(why) => predicted(function, target, why.clone(), &mut rewrites),
        Compiler::Asked(tools) | Compiler::AskedIfPossible(tools) => {
            match asked::apply(module, function, target, tools, &mut rewrites) {
                Ok(by) => Fusion::Asked(by),
                Err(why) if matches!(compiler, Compiler::Asked(_)) => return Err(Error::NotAsked(why)),
                Err(why) => predicted(function, target, Some(why), &mut rewrites),
            }
        }
    };
    Ok(rewrites)
}

/// By the rule; `why` ptxas was not asked.
fn predicted(function: &mut Function, target: &str, why: Option<String>, rewrites: &mut Rewrites) -> Fusion {
    let calls = (!function.inlined.is_empty()).then(|| function.clone());
    predict::predict(function, target.starts_with("sm_8"), rewrites);
    scaled::apply(function);
    calls.iter().for_each(|text| doubt_calls(text, rewrites));
    Fusion::Predicted(why)
}

/// Doubts what is fused across the call of a device function: ptxas compiles one apart, and at times moves a product into it.
fn doubt_calls(function: &Function, rewrites: &mut Rewrites) {
    let of = |line: u32| function.inlined.iter().find(|(first, last)| (*first..=*last).contains(&line));
    for (product, addition) in &rewrites.fused {
        let (home, other) = (of(*product), of(*addition));
        // in one function the product comes first, unless it is of another call
        if home != other || home.is_some() && addition < product {
            let why = format!(
                "whether ptxas fuses its result with the addition of line {addition}, across a call, is not known"
            );
            let form = function.instructions.iter().find(|one| one.line == *product);
            let form = form.map_or_else(String::new, |one| one.written().to_owned());
            rewrites.doubts.push(Doubt { line: *product, form, why });
        }
    }
}
