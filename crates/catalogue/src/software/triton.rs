//! `tl.dot` and `tl.dot_scaled`: which instruction Triton chooses for which types on which architecture.
//!
//! Below compute capability 8.0 it uses no matrix unit; 8.x and 12.x `mma.sync`, 9.0 `wgmma`, 10.0 `tcgen05.mma`, each with
//! 256 bits of A along K; on CDNA `v_mfma` of one block. FP32 is TF32 on NVIDIA by default, and FP32 on AMD.
//! `max_num_imprecise_acc` does not change the instruction: it is `gemm --promote-every`.

use bitmma_formats::*;

use super::meaning::{Meaning, Wanted};
use crate::architecture::Architecture::{self, *};
use crate::architecture::Vendor;
use crate::instruction::Family;

const WITHOUT_MATRIX_UNIT: &str =
    "runs on the CUDA cores: Triton uses the matrix unit from compute capability 8.0 on";
const IEEE: &str = "with input_precision=\"ieee\" runs on the CUDA cores, as fused multiply-adds of FP32";
const THREE: &str = "with this input_precision is a sum of several products of TF32 or BF16; ask for the product with \"tf32\" or of bf16";
const WIDENED: &str = "is not one instruction here: Triton multiplies by the scale factors and converts to BF16 or FP16 first; ask for tl.dot of that type";
const NEGATIVE_FORMAT: &str = "names a type that no matrix unit multiplies in Triton";

/// A value of `name=value` among the arguments, without quotes.
fn option<'t>(arguments: &'t str, name: &str) -> Option<&'t str> {
    let (_, rest) = arguments.split_once(name)?;
    let value = rest.trim_start().strip_prefix('=')?;
    Some(value.split([',', ')']).next()?.trim().trim_matches(['"', '\'']))
}

pub(super) fn meaning(architecture: Architecture, text: &str) -> Option<Meaning> {
    let (name, arguments) = text.split_once('(').unwrap_or((text, ")"));
    let is_scaled = match name.trim().to_ascii_lowercase().as_str() {
        "tl.dot" | "triton.language.dot" | "tt.dot" => false,
        "tl.dot_scaled" | "triton.language.dot_scaled" | "tt.dot_scaled" => true,
        _ => return None,
    };
    let families = match architecture {
        Volta | Turing => return Some(Meaning::Known(WITHOUT_MATRIX_UNIT)),
        Ampere | Ada | RtxBlackwell => vec![Family::MmaSync],
        Hopper => vec![Family::Wgmma],
        Blackwell => vec![Family::Tcgen05],
        Cdna1 | Cdna2 | Cdna3 => vec![Family::Mfma],
    };
    if is_scaled && !matches!(architecture, Blackwell | RtxBlackwell) {
        return Some(Meaning::Known(WIDENED));
    }
    let mut formats = vec![];
    for word in arguments.trim_end_matches(')').split(',').filter(|word| !word.contains('=')) {
        match alias::find(word) {
            Ok(format) => formats.push(format),
            Err(alias::UnknownFormat::Other { .. }) => return Some(Meaning::Known(NEGATIVE_FORMAT)),
            Err(_) => {} // the name of a tensor
        }
    }
    let output = option(arguments, "out_dtype").and_then(|name| alias::find(name).ok());
    let is_nvidia = architecture.vendor() == Vendor::Nvidia;
    let precision = match (option(arguments, "input_precision"), option(arguments, "allow_tf32")) {
        (Some(precision), _) => precision,
        (None, Some("False")) => "ieee",
        (None, Some("True")) => "tf32",
        (None, _) => ["ieee", "tf32"][usize::from(is_nvidia)],
    };
    let chosen = |format: Format| match (format, precision) {
        (F32, "tf32") if is_nvidia => Ok(TF32),
        (F32, "tf32") if architecture == Cdna3 => Ok(XF32),
        (F32, "ieee") if is_nvidia => Err(IEEE),
        (F32, "tf32x3" | "bf16x3" | "bf16x6") => Err(THREE),
        // below compute capability 8.9 Triton converts FP8 to FP16
        (E4M3 | E5M2, _) if architecture == Ampere => Ok(F16),
        (format, _) => Ok(format),
    };
    let (a, b) = (formats.first().copied(), formats.get(1).or(formats.first()).copied());
    let (a, b) = match (a.map(chosen).transpose(), b.map(chosen).transpose()) {
        (Err(reason), _) | (_, Err(reason)) => return Some(Meaning::Known(reason)),
        (Ok(a), Ok(b)) => (a, b),
    };
    if is_nvidia && a == Some(F64) {
        return Some(Meaning::Spelling("mma.m8n8k4.f64.f64.f64.f64".to_owned()));
    }
    let d = a.map(|a| output.unwrap_or(if a == F64 { F64 } else { F32 }));
    let mut wanted = Wanted { families, a, b, c: d, d, is_scaled: Some(is_scaled), ..Wanted::default() };
    if is_nvidia && !is_scaled {
        wanted.k = a.map(|a| 256 / a.bits() as usize);
        wanted.m = (wanted.families == [Family::MmaSync]).then_some(16);
        if matches!(a, Some(E4M3 | E5M2)) && architecture == RtxBlackwell {
            return Some(Meaning::Spelling(format!(
                "mma.m16n8k32.{}.{}.{}.{}",
                d?.name, a?.name, b?.name, d?.name
            )));
        }
    }
    wanted.is_longest = !is_nvidia;
    Some(Meaning::Rows(Box::new(wanted)))
}
