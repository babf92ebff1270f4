//! `tl.dot` and `tl.dot_scaled`: which instruction Triton chooses for which types on which architecture.
//!
//! Below compute capability 8.0 it uses no matrix unit; 8.x and 12.x `mma.sync`, 9.0 `wgmma`, 10.0 `tcgen05.mma`, each with
//! 256 bits of A along K; on CDNA `v_mfma` of one block. FP32 is TF32 on NVIDIA by default, XF32 on CDNA3 and FP32 on CDNA1
//! and CDNA2.
//!
//! Every argument is applied, or has no effect in Triton and a remark says so, or is refused by name. Sources:
//! `language/core.py` and `semantic.py` (`dot`, `dot_scaled`), `WarpGroupDotOp::needsPartialAccumulator` and `WGMMA.cpp`
//! (`max_num_imprecise_acc`), `backends/nvidia/compiler.py` and `backends/amd/compiler.py` (input precisions).

use bitmma_formats::*;

use super::meaning::{Meaning, Options, Wanted};
use crate::architecture::Architecture::{self, *};
use crate::architecture::Vendor;
use crate::instruction::Family;

const WITHOUT_MATRIX_UNIT: &str =
    "runs on the CUDA cores: Triton uses the matrix unit from compute capability 8.0 on";
const IEEE: &str = "with input_precision=\"ieee\" runs on the CUDA cores, as fused multiply-adds of FP32";
const THREE: &str = "with this input_precision is a sum of several products of TF32 or BF16; ask for the product with \"tf32\" or of bf16";
const WIDENED: &str = "is not one instruction here: Triton multiplies by the scale factors and converts to BF16 or FP16 first; ask for tl.dot of that type";
const NEGATIVE_FORMAT: &str = "names a type that no matrix unit multiplies in Triton";

/// Parameters of `tl.dot`, in order.
const DOT: &[&str] =
    &["input", "other", "acc", "input_precision", "allow_tf32", "max_num_imprecise_acc", "out_dtype"];
/// Parameters of `tl.dot_scaled`, in order.
const DOT_SCALED: &[&str] = &[
    "lhs",
    "lhs_scale",
    "lhs_format",
    "rhs",
    "rhs_scale",
    "rhs_format",
    "acc",
    "fast_math",
    "lhs_k_pack",
    "rhs_k_pack",
    "out_dtype",
];

/// What may be given for `input_precision`, and whether NVIDIA's and AMD's compilers take it.
const PRECISIONS: &[(&str, bool, bool)] = &[
    ("tf32", true, true), // AMD's: CDNA3 only
    ("ieee", true, true),
    ("tf32x3", true, false),
    ("bf16x3", true, false),
    ("bf16x6", true, false),
];

/// Elements along K of a block, at most: a tensor of Triton has no more than 2^20 elements, and `wgmma` takes 64 rows.
const MOST_ALONG_K: usize = 1 << 14;

/// The arguments of a call by parameter.
struct Call<'t> {
    given: Vec<(&'static str, &'t str)>,
}

impl<'t> Call<'t> {
    /// Positions and names resolved; what the function does not have is refused.
    fn read(
        name: &'t str,
        parameters: &'static [&'static str],
        arguments: &'t str,
    ) -> Result<Call<'t>, Meaning> {
        let mut given: Vec<(&'static str, &'t str)> = vec![];
        let words = arguments.split(',').map(str::trim).filter(|word| !word.is_empty());
        for (position, word) in words.enumerate() {
            let (parameter, value) = match word.split_once('=') {
                None => (parameters.get(position), word),
                Some((name, value)) => {
                    (parameters.iter().find(|parameter| **parameter == name.trim()), value.trim())
                }
            };
            let Some(parameter) = parameter else {
                return Err(Meaning::refused(
                    word,
                    format!("is not an argument of {name}; it has {}", parameters.join(", ")),
                ));
            };
            if given.iter().any(|(other, _)| other == parameter) {
                return Err(Meaning::refused(word, format!("gives {parameter} a second time")));
            }
            given.push((parameter, value.trim_matches(['"', '\''])));
        }
        given.retain(|(_, value)| *value != "None");
        Ok(Call { given })
    }

    fn get(&self, parameter: &str) -> Option<&'t str> {
        self.given.iter().find(|(name, _)| *name == parameter).map(|(_, value)| *value)
    }

    /// The format that an argument names; `None` for the name of a tensor.
    fn format(&self, parameter: &str) -> Result<Option<Format>, Meaning> {
        match self.get(parameter).map(alias::find) {
            Some(Ok(format)) if format.is_integer() && ![S8, S32].contains(&format) => {
                Err(Meaning::Known(NEGATIVE_FORMAT))
            }
            Some(Ok(format)) => Ok(Some(format)),
            Some(Err(alias::UnknownFormat::Other { .. })) => Err(Meaning::Known(NEGATIVE_FORMAT)),
            Some(Err(_)) | None => Ok(None),
        }
    }

    /// As [`Call::format`], of an argument that must name a format.
    fn dtype(&self, parameter: &str) -> Result<Option<Format>, Meaning> {
        match (self.get(parameter), self.format(parameter)?) {
            (Some(given), None) => Err(refused(parameter, given, "is not a type that bitmma knows")),
            (_, format) => Ok(format),
        }
    }

    /// True or False.
    fn flag(&self, parameter: &str) -> Result<Option<bool>, Meaning> {
        match self.get(parameter) {
            None => Ok(None),
            Some("True") => Ok(Some(true)),
            Some("False") => Ok(Some(false)),
            Some(given) => Err(refused(parameter, given, "is neither True nor False")),
        }
    }
}

fn refused(parameter: &str, given: &str, why: impl Into<String>) -> Meaning {
    Meaning::refused(format!("{parameter}={given}"), why)
}

fn without_effect(parameter: &str, given: &str, why: &str) -> String {
    format!("{parameter}={given} has no effect: {why}")
}

pub(super) fn meaning(architecture: Architecture, text: &str) -> Option<Meaning> {
    let (name, arguments) = text.split_once('(').unwrap_or((text, ")"));
    let (name, parameters) = match name.trim().to_ascii_lowercase().as_str() {
        "tl.dot" | "triton.language.dot" | "tt.dot" => ("tl.dot", DOT),
        "tl.dot_scaled" | "triton.language.dot_scaled" | "tt.dot_scaled" => ("tl.dot_scaled", DOT_SCALED),
        _ => return None,
    };
    let read = || {
        let Some(arguments) = arguments.trim_end().strip_suffix(')') else {
            return Err(Meaning::refused(arguments, "does not end in ')'"));
        };
        let call = Call::read(name, parameters, arguments)?;
        match parameters == DOT {
            true => dot(architecture, &call),
            false => dot_scaled(architecture, &call),
        }
    };
    Some(read().unwrap_or_else(|refused| refused))
}

/// The families of instructions that Triton uses.
fn families(architecture: Architecture) -> Result<Vec<Family>, Meaning> {
    match architecture.unit() {
        Volta | Turing => Err(Meaning::Known(WITHOUT_MATRIX_UNIT)),
        Hopper => Ok(vec![Family::Wgmma]),
        Blackwell => Ok(vec![Family::Tcgen05]),
        unit if unit.vendor() == Vendor::Amd => Ok(vec![Family::Mfma]),
        _ => Ok(vec![Family::MmaSync]),
    }
}

/// The format that a product has, and the remark on an `out_dtype` that Triton ignores.
fn output(call: &Call<'_>, a: Option<Format>, options: &mut Options) -> Result<Option<Format>, Meaning> {
    let asked = call.dtype("out_dtype")?;
    let given = call.get("out_dtype").unwrap_or_default();
    match asked {
        Some(BF16) => {
            return Err(refused("out_dtype", given, "is an error in Triton: ask for float32, and convert"));
        }
        Some(S32) if a.is_some_and(|a| a.is_integer()) => {}
        Some(other) if ![F16, F32, F64].contains(&other) => {
            return Err(refused(
                "out_dtype",
                given,
                "is not a type of Triton's products: float32 or float16",
            ));
        }
        _ => {}
    }
    let usual = if a.is_some_and(|a| a.is_integer()) { S32 } else { F32 };
    let (Some(a), wanted) = (a, asked.unwrap_or(usual)) else { return Ok(asked) };
    let own = match a {
        F64 => Some(F64),
        F32 | BF16 => Some(F32),
        S8 => Some(S32),
        _ => None,
    };
    if let Some(acc) = call.format("acc")?
        && acc != wanted
    {
        let why = format!("is not out_dtype, {wanted}: Triton takes an accumulator of that type alone");
        return Err(refused("acc", call.get("acc").unwrap_or_default(), why));
    }
    match own {
        Some(own) if asked.is_some_and(|asked| asked != own) => {
            let why = format!("Triton's product of {a} is {own}");
            options.remarks.push(without_effect("out_dtype", given, &why));
            Ok(Some(own))
        }
        Some(own) => Ok(Some(own)),
        None if wanted == F64 => {
            Err(refused("out_dtype", given, format!("is not a type of a product of {a}")))
        }
        None => Ok(Some(wanted)),
    }
}

/// `input_precision`, which Triton applies only to FP32; `allow_tf32` is its older name.
fn precision<'t>(architecture: Architecture, call: &Call<'t>) -> Result<&'t str, Meaning> {
    let is_nvidia = architecture.vendor() == Vendor::Nvidia;
    let has_tf32 = is_nvidia || architecture.unit() == Cdna3;
    let allowed = PRECISIONS.iter().filter(|(name, nvidia, amd)| match is_nvidia {
        true => *nvidia,
        false => *amd && (has_tf32 || *name != "tf32"),
    });
    let allow = call.flag("allow_tf32")?;
    let Some(given) = call.get("input_precision") else {
        return Ok(if has_tf32 && allow != Some(false) { "tf32" } else { "ieee" });
    };
    if allow.is_some() {
        return Err(refused(
            "allow_tf32",
            call.get("allow_tf32").unwrap_or_default(),
            "and input_precision are one option, of which Triton takes one",
        ));
    }
    let names: Vec<&str> = allowed.map(|(name, ..)| *name).collect();
    match names.iter().any(|name| name.eq_ignore_ascii_case(given)) {
        true => Ok(given),
        false => {
            let why =
                format!("is not an input precision of Triton on {architecture}; it has {}", names.join(", "));
            Err(refused("input_precision", given, why))
        }
    }
}

/// `max_num_imprecise_acc`: of FP8 into FP32 on Hopper, promotion. Triton adds the accumulator to a sum in FP32 once that
/// many elements have gone into it, instruction by instruction, and at the end of each block of K, a power of two.
fn promotion(call: &Call<'_>, is_promoted: bool, step: usize, options: &mut Options) -> Result<(), Meaning> {
    const NAME: &str = "max_num_imprecise_acc";
    let Some(given) = call.get(NAME) else { return Ok(()) };
    let Ok(elements) = given.parse::<usize>() else {
        return Err(refused(NAME, given, "is not a number of elements"));
    };
    if !is_promoted {
        let why = "Triton applies it only to FP8 into FP32 on Hopper";
        options.remarks.push(without_effect(NAME, given, why));
        return Ok(());
    }
    let every = elements.max(1).checked_next_multiple_of(step).filter(|every| *every <= MOST_ALONG_K);
    match every {
        None => {
            let why =
                format!("is more than the kernel's block of K can have, {MOST_ALONG_K}: Triton refuses it");
            Err(refused(NAME, given, why))
        }
        Some(every) if !every.is_power_of_two() => {
            let why = format!(
                "depends on the kernel's block of K: Triton adds to FP32 every {every} elements and at the end of each block, \
                 a power of two; give a power of two"
            );
            Err(refused(NAME, given, why))
        }
        Some(every) => {
            options.promote_every = Some(every);
            options.remarks.push(format!(
                "{NAME}={given}: every {every} elements of K the accumulator starts from +0, and its result is added to a \
                 sum in FP32 (promotion every {every})"
            ));
            Ok(())
        }
    }
}

fn dot(architecture: Architecture, call: &Call<'_>) -> Result<Meaning, Meaning> {
    let families = families(architecture)?;
    let is_nvidia = architecture.vendor() == Vendor::Nvidia;
    let mut options = Options::default();
    let (input, other) = (call.format("input")?, call.format("other")?);
    let (of_a, of_b) = (input.or(other), other.or(input));
    let is_fp8 = |format: Format| format.bits() == 8 && !format.is_integer();
    if let (Some(a), Some(b)) = (of_a, of_b)
        && a != b
        && !(is_fp8(a) && is_fp8(b))
    {
        let given = call.get("other").unwrap_or_default();
        return Err(refused(
            "other",
            given,
            format!("is not {a}: Triton multiplies operands of one type, or two of FP8"),
        ));
    }
    let precision = precision(architecture, call)?.to_ascii_lowercase();
    if of_a.is_some_and(|a| a != F32) {
        for option in ["input_precision", "allow_tf32"] {
            let remark = |given| without_effect(option, given, "Triton applies it only to FP32");
            options.remarks.extend(call.get(option).map(remark));
        }
    }
    let chosen = |format: Format| match (format, precision.as_str()) {
        (F32, "tf32") if is_nvidia => Ok(TF32),
        (F32, "tf32") => Ok(XF32),
        (F32, "ieee") if is_nvidia => Err(Meaning::Known(IEEE)),
        (F32, "tf32x3" | "bf16x3" | "bf16x6") => Err(Meaning::Known(THREE)),
        // below compute capability 8.9 Triton converts FP8 to FP16
        (E4M3 | E5M2, _) if architecture.unit() == Ampere => Ok(F16),
        (format, _) => Ok(format),
    };
    let (a, b) = (of_a.map(chosen).transpose()?, of_b.map(chosen).transpose()?);
    let d = output(call, of_a, &mut options)?;
    let is_promoted = architecture.unit() == Hopper && a.is_some_and(is_fp8) && d == Some(F32);
    let step = a.map_or(1, |a| 256 / a.bits() as usize);
    promotion(call, is_promoted, step, &mut options)?;
    if is_nvidia && a == Some(F64) {
        return Ok(Meaning::Spelling("mma.m8n8k4.f64.f64.f64.f64".to_owned(), options));
    }
    if let (Some(a @ (E4M3 | E5M2)), Some(b), Some(d), RtxBlackwell) = (a, b, d, architecture.unit()) {
        return Ok(Meaning::Spelling(format!("mma.m16n8k32.{d}.{a}.{b}.{d}"), options));
    }
    let mut wanted = Wanted { families, a, b, c: d, d, is_scaled: Some(false), ..Wanted::default() };
    if is_nvidia {
        wanted.k = a.map(|_| step);
        wanted.m = (wanted.families == [Family::MmaSync]).then_some(16);
    }
    wanted.is_longest = !is_nvidia;
    // Triton writes `.satfinite` for `mma.sync` of integers, and for no other
    wanted.is_saturating = wanted.families == [Family::MmaSync] && a.is_some_and(|a| a.is_integer());
    Ok(Meaning::Rows(Box::new(wanted), options))
}

fn dot_scaled(architecture: Architecture, call: &Call<'_>) -> Result<Meaning, Meaning> {
    let families = families(architecture)?;
    if !matches!(architecture.unit(), Blackwell | RtxBlackwell) {
        return Err(Meaning::Known(WIDENED));
    }
    let mut options = Options::default();
    for option in ["fast_math", "lhs_k_pack", "rhs_k_pack"] {
        if call.flag(option)?.is_some() {
            let why = match option {
                "fast_math" => "it is about operands that are converted first, and here none are",
                _ => "it says how FP4 lies in memory",
            };
            options.remarks.push(without_effect(option, call.get(option).unwrap_or_default(), why));
        }
    }
    // the formats as strings, or in short `tl.dot_scaled(e4m3, e5m2)`
    let in_short: Vec<Format> = ["lhs", "lhs_scale"]
        .iter()
        .map(|parameter| call.format(parameter))
        .collect::<Result<Vec<_>, _>>()?
        .into_iter()
        .flatten()
        .collect();
    let is_short = call.get("rhs").is_none() && call.get("lhs_format").is_none();
    let (a, b) = match is_short {
        true => (in_short.first().copied(), in_short.get(1).or(in_short.first()).copied()),
        false => (call.dtype("lhs_format")?, call.dtype("rhs_format")?),
    };
    for (parameter, format) in [("lhs_format", a), ("rhs_format", b)] {
        if let (Some(format @ (BF16 | F16)), Some(given)) = (format, call.get(parameter)) {
            let why = format!("is {format}, which Triton scales and multiplies as tl.dot of that type");
            return Err(refused(parameter, given, why));
        }
    }
    let scale = |parameter| -> Result<Option<Format>, Meaning> {
        let format = if is_short { None } else { call.format(parameter)? };
        Ok(format.map(|format| if format == E4M3 { UE4M3 } else { format }))
    };
    let (of_a, of_b) = (scale("lhs_scale")?, scale("rhs_scale")?);
    if let (Some(x), Some(y)) = (of_a, of_b)
        && x != y
    {
        return Err(refused(
            "rhs_scale",
            call.get("rhs_scale").unwrap_or_default(),
            format!("is not {x}: both scales have one type"),
        ));
    }
    let d = output(call, a.map(|_| E4M3), &mut options)?;
    let wanted =
        Wanted { families, a, b, c: d, d, scale: of_a.or(of_b), is_scaled: Some(true), ..Wanted::default() };
    Ok(Meaning::Rows(Box::new(wanted), options))
}
