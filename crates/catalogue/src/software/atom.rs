//! Atoms of CuTe: `SM80_16x8x16_F32F16F16F32_TN`, `SM90_64x64x16_F32F16F16_SS`, `SM100_MMA_F8F6F4_SS`, and the
//! operations of its Python language, `tcgen05.MmaF16BF16Op`.

use bitmma_formats::*;

use super::meaning::{Meaning, Wanted, words};
use crate::instruction::Family;

const INTEGER: &str = "is an integer instruction; bitmma models floating-point ones";
const COMPLEX: &str = "multiplies complex numbers by several instructions on real ones; bitmma models those";
const SCALED: &str = "scales D by a power of two first (scale-input-d), which bitmma does not model";
const PAIR: &str = "works on a pair of CTAs (cta_group::2), which bitmma does not model";
const ULTRA: &str = "is an instruction of sm_103 (Blackwell Ultra), which bitmma does not model";
const CORES: &str = "runs on the CUDA cores, without the matrix unit";

/// What stands for a format inside an atom's name; no one begins with an earlier one.
const TYPES: &[(&str, Option<Format>, &str)] = &[
    ("F16", Some(F16), ""),
    ("F32", Some(F32), ""),
    ("F64", Some(F64), ""),
    ("BF16", Some(BF16), ""),
    ("TF32", Some(TF32), ""),
    ("E4M3", Some(E4M3), ""),
    ("E5M2", Some(E5M2), ""),
    ("E3M2", Some(E3M2), ""),
    ("E2M3", Some(E2M3), ""),
    ("E2M1", Some(E2M1), ""),
    ("GC64", None, COMPLEX),
    ("C64", None, COMPLEX),
    ("S32", None, INTEGER),
    ("S8", None, INTEGER),
    ("U8", None, INTEGER),
    ("S4", None, INTEGER),
    ("U4", None, INTEGER),
    ("U1", None, INTEGER),
];

/// What stands for the kind in the name of an atom or operation of Blackwell: the kind, or the formats.
#[rustfmt::skip]
const KINDS: &[(&str, &str)] = &[
    ("F16BF16", "kind::f16."), ("TF32", "kind::tf32."), ("F8F6F4", "kind::f8f6f4."), ("FP8", "kind::f8f6f4."), ("MXF8F6F4", "kind::mxf8f6f4."),
    ("MXF8", "kind::mxf8f6f4."), ("MXF4", "kind::mxf4"), ("MXF4NVF4", "kind::mxf4nvf4."),
];

fn types(mut text: &str) -> Option<Vec<(Option<Format>, &'static str)>> {
    let mut found = vec![];
    while !text.is_empty() {
        let (name, format, reason) = TYPES.iter().find(|(name, ..)| text.starts_with(name))?;
        found.push((*format, *reason));
        text = &text[name.len()..];
    }
    Some(found)
}

fn shape(token: &str) -> Option<[usize; 3]> {
    let sizes: Vec<usize> = token.split('X').map(str::parse).collect::<Result<_, _>>().ok()?;
    sizes.try_into().ok()
}

/// `SM90` of `SM90_64x64x16_…`.
fn generation(token: &str) -> Option<u32> {
    token.strip_prefix("SM").and_then(|digits| digits.parse().ok())
}

pub(super) fn meaning(text: &str) -> Option<Meaning> {
    operation(text).or_else(|| {
        let (name, arguments) = text.split_once('<').unwrap_or((text, ""));
        let upper = name.to_ascii_uppercase();
        let mut path: Vec<&str> = upper.split("::").flat_map(|part| part.split('_')).collect();
        path.retain(|token| !matches!(*token, "CUTE" | "CUTLASS" | ""));
        let first = path.iter().find_map(|token| generation(token));
        let is_gmma = first == Some(90) && upper.contains("GMMA");
        let has_mma = path.iter().any(|token| matches!(*token, "MMA" | "GMMA"));
        if first.is_none() && !has_mma {
            return None;
        }
        named(&path, first, is_gmma, arguments)
    })
}

/// What the words of an atom's name ask for.
fn named(path: &[&str], generation: Option<u32>, is_gmma: bool, arguments: &str) -> Option<Meaning> {
    let known = |reason| Some(Meaning::Known(reason));
    let has = |word: &str| path.contains(&word);
    if has("DP2A") || has("DP4A") {
        return known(CORES);
    }
    if has("2X1SM") {
        return known(PAIR);
    }
    if has("ULTRA") {
        return known(ULTRA);
    }
    if has("SCALED") {
        return known(SCALED);
    }
    if has("INTERLEAVED") {
        return known(COMPLEX);
    }
    let is_sparse = has("SPARSE");
    let formats: Vec<Format> =
        words(arguments).filter_map(|word| bitmma_formats::alias::find(word).ok()).collect();
    if generation == Some(100) && has("MMA") {
        if has("S8") {
            return known(INTEGER);
        }
        if is_sparse {
            return known("is a sparse tcgen05.mma, which bitmma does not model");
        }
        let (_, part) = KINDS.iter().find(|(kind, _)| has(kind))?;
        let wanted = Wanted { families: vec![Family::Tcgen05], part, ..Wanted::default() };
        return Some(Meaning::Rows(Box::new(with_arguments(wanted, &formats))));
    }
    let [m, n, k] = path.iter().find_map(|token| shape(token))?;
    if generation == Some(100) {
        return known(CORES); // SM100_2x1x1_F32F32F32F32: two fused multiply-adds
    }
    let mut wanted = Wanted { m: Some(m), n: Some(n), k: Some(k), ..Wanted::default() };
    let is_warpgroup = is_gmma || m == 64;
    wanted.families = vec![match (is_warpgroup, is_sparse) {
        (true, false) => Family::Wgmma,
        (true, true) => Family::WgmmaSp,
        (false, false) => Family::MmaSync,
        (false, true) => Family::MmaSp,
    }];
    if generation == Some(120) {
        wanted.part = match (has("VS"), k) {
            (false, _) => "kind::f8f6f4.",
            (true, 32) => "kind::mxf8f6f4.",
            (true, 64) if is_sparse => "kind::mxf8f6f4.",
            (true, _) => "kind::mxf4",
        };
        wanted.is_scaled = Some(has("VS"));
        return Some(Meaning::Rows(Box::new(with_arguments(wanted, &formats))));
    }
    let formats = path.iter().find_map(|token| types(token).filter(|found| found.len() >= 3))?;
    if let Some((_, reason)) = formats.iter().find(|(format, _)| format.is_none()) {
        return known(reason);
    }
    wanted.d = formats[0].0;
    wanted.a = formats[1].0;
    wanted.b = formats[2].0;
    wanted.c = formats.get(3).map_or(wanted.d, |found| found.0);
    Some(Meaning::Rows(Box::new(wanted)))
}

/// A and B, C and D, scale factors: as the parameters of an atom have them.
fn with_arguments(mut wanted: Wanted, formats: &[Format]) -> Wanted {
    let mut formats = formats.iter().copied();
    (wanted.a, wanted.b) = (formats.next(), formats.next());
    wanted.d = formats.next();
    wanted.scale = formats.next();
    wanted
}

/// `warp.MmaF16BF16Op`, `warpgroup.MmaF8Op`, `tcgen05.MmaMXF4Op` of CuTe's Python language.
fn operation(text: &str) -> Option<Meaning> {
    let (name, arguments) = text.split_once('(').unwrap_or((text, ""));
    let mut parts = name.rsplit('.');
    let kind = parts.next()?.strip_prefix("Mma")?.strip_suffix("Op")?.to_ascii_uppercase();
    let family = parts.next()?;
    if kind == "I8" {
        return Some(Meaning::Known(INTEGER));
    }
    let formats: Vec<Format> =
        words(arguments).filter_map(|word| bitmma_formats::alias::find(word).ok()).collect();
    let (families, has_kinds) = match family {
        "warp" => (vec![Family::MmaSync], kind.starts_with("MX")),
        "warpgroup" => (vec![Family::Wgmma], false),
        "tcgen05" => (vec![Family::Tcgen05], true),
        _ => return None,
    };
    let mut wanted = Wanted { families, ..Wanted::default() };
    if has_kinds {
        wanted.part = KINDS.iter().find(|(name, _)| *name == kind).map(|(_, part)| *part)?;
    } else {
        wanted.part = match kind.as_str() {
            "F16BF16" => "16.f", // f32.f16.f16.f32, f32.bf16.bf16.f32: a 16-bit A
            "TF32" => ".tf32.",
            "F8" | "FP8" => ".e",
            _ => return None,
        };
    }
    wanted.a = formats.first().copied();
    if family == "warpgroup" && kind == "F16BF16" {
        wanted.k = Some(16);
        wanted.part = "";
    }
    Some(Meaning::Rows(Box::new(wanted)))
}
