//! Atoms of CuTe: `SM80_16x8x16_F32F16F16F32_TN`, `SM90_64x64x16_F32F16F16_SS`, `SM100_MMA_F8F6F4_SS`, and the
//! operations of its Python language, `tcgen05.MmaF16BF16Op`.

use bitmma_formats::*;

use super::meaning::{Meaning, UNKNOWN_WORD, Wanted, read_words, sorted};
use crate::instruction::Family;

const XOR: &str =
    "counts the bits of A and B that differ (XORPOPC), which is no sum of products; bitmma models ANDPOPC";
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
    ("S32", Some(S32), ""),
    ("S8", Some(S8), ""),
    ("U8", Some(U8), ""),
    ("S4", Some(S4), ""),
    ("U4", Some(U4), ""),
    ("U1", Some(B1), ""),
];

/// What stands for the kind in the name of an atom or operation of Blackwell: the kind, or the formats.
#[rustfmt::skip]
const KINDS: &[(&str, &str)] = &[
    ("F16BF16", "kind::f16."), ("I8", "kind::i8."), ("TF32", "kind::tf32."), ("F8F6F4", "kind::f8f6f4."), ("FP8", "kind::f8f6f4."), ("MXF8F6F4", "kind::mxf8f6f4."),
    ("S8", "kind::i8."), ("MXF8", "kind::mxf8f6f4."), ("MXF4", "kind::mxf4"), ("MXF4NVF4", "kind::mxf4nvf4."),
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
    if has("WS") {
        return known("is a .ws form of tcgen05.mma, which bitmma does not model");
    }
    let is_sparse = has("SPARSE");
    let is_shape = |token: &str| shape(token).is_some();
    let is_types = |token: &str| types(token).is_some_and(|found| found.len() >= 3);
    let is_kind = |token: &str| KINDS.iter().any(|(kind, _)| *kind == token);
    let is_integer = path
        .iter()
        .filter_map(|token| types(token))
        .flatten()
        .any(|(format, _)| format.is_some_and(|format| format.is_integer()));
    if has("XORPOPC") {
        return known(XOR);
    }
    let is_known = |token: &str| {
        let layout = matches!(token, "SS" | "RS" | "TS" | "TN" | "NT" | "NN" | "TT" | "VS");
        let plain = matches!(token, "MMA" | "GMMA" | "SPARSE");
        let integer = is_integer && matches!(token, "SATURATE" | "ANDPOPC" | "XORPOPC");
        let part = is_shape(token) || is_types(token) || is_kind(token);
        layout || plain || integer || part || self::generation(token).is_some()
    };
    let is_atom = path.iter().any(|token| is_shape(token) || is_kind(token));
    if let Some(token) = path.iter().find(|token| !is_known(token)) {
        return is_atom.then(|| Meaning::refused(*token, UNKNOWN_PART));
    }
    let is_saturating = has("SATURATE");
    let (sizes, formats) = match read_words(arguments, is_neutral, refused) {
        Ok(words) => sorted(words),
        Err(refused) => return Some(refused),
    };
    if generation == Some(100) && has("MMA") {
        if is_sparse {
            return known("is a sparse tcgen05.mma, which bitmma does not model");
        }
        let (_, part) = KINDS.iter().find(|(kind, _)| has(kind))?;
        let families = vec![Family::Tcgen05];
        let wanted = Wanted { families, part, is_saturating, ..Wanted::default() };
        return Some(with_arguments(wanted, &formats, &sizes));
    }
    let [m, n, k] = path.iter().find_map(|token| shape(token))?;
    if generation == Some(100) {
        return known(CORES); // SM100_2x1x1_F32F32F32F32: two fused multiply-adds
    }
    let mut wanted = Wanted { m: Some(m), n: Some(n), k: Some(k), is_saturating, ..Wanted::default() };
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
        return Some(with_arguments(wanted, &formats, &sizes));
    }
    if let Some(format) = formats.first() {
        return Some(Meaning::refused(format.name, UNKNOWN_WORD));
    }
    if let Some(size) = sizes.first() {
        return Some(Meaning::refused(size.to_string(), UNKNOWN_WORD));
    }
    let formats = path.iter().find_map(|token| types(token).filter(|found| found.len() >= 3))?;
    if let Some((_, reason)) = formats.iter().find(|(format, _)| format.is_none()) {
        return known(reason);
    }
    wanted.d = formats[0].0;
    wanted.a = formats[1].0;
    wanted.b = formats[2].0;
    wanted.c = formats.get(3).map_or(wanted.d, |found| found.0);
    Some(Meaning::rows(wanted))
}

const UNKNOWN_PART: &str = "is a part of an atom's name that bitmma does not know";

/// Arguments of an atom that change no result: where operands lie, and options that are off.
fn is_neutral(word: &str) -> bool {
    // as in GMMA::Major::K, UMMA::ScaleIn::One, cute.nvgpu.OperandMajorMode.K
    let last = word.rsplit('.').next().unwrap_or(word);
    matches!(last, "k" | "mn" | "one" | "false" | "none" | "vs" | "smem" | "rmem" | "tmem")
}

/// Why an argument of an atom is refused, if it changes the result.
fn refused(word: &str) -> Option<&'static str> {
    let last = word.rsplit(['.', ':']).next().unwrap_or(word);
    match last {
        "neg" => Some("negates an operand, which bitmma does not model; negate it yourself, which is exact"),
        "zero" => Some("leaves out C; give C = 0"),
        "true" => Some("switches on an option (Saturate), which bitmma does not model"),
        "two" => Some(PAIR),
        _ => None,
    }
}

/// A and B, C and D, scale factors, and of Blackwell's M, N and the elements of a scale factor: as the parameters of an atom
/// have them.
fn with_arguments(mut wanted: Wanted, formats: &[Format], sizes: &[usize]) -> Meaning {
    let is_scaled = wanted.part.starts_with("kind::mx");
    let taken = if is_scaled { 4 } else { 3 };
    if let Some(format) = formats.get(taken) {
        return Meaning::refused(format.name, UNKNOWN_WORD);
    }
    let mut formats = formats.iter().copied();
    (wanted.a, wanted.b) = (formats.next(), formats.next());
    wanted.d = formats.next();
    wanted.scale = formats.next();
    let mut sizes = sizes.iter().copied();
    if wanted.m.is_none() {
        (wanted.m, wanted.n) = (sizes.next(), sizes.next());
    }
    if is_scaled {
        wanted.block = sizes.next();
    }
    match sizes.next() {
        Some(size) => Meaning::refused(size.to_string(), UNKNOWN_WORD),
        None => Meaning::rows(wanted),
    }
}

/// `warp.MmaF16BF16Op`, `warpgroup.MmaF8Op`, `tcgen05.MmaMXF4Op` of CuTe's Python language, with their arguments: types,
/// the instruction's shape, where the operands lie.
fn operation(text: &str) -> Option<Meaning> {
    let (name, arguments) = text.split_once('(').unwrap_or((text, ""));
    let mut parts = name.rsplit('.');
    let kind = parts.next()?.strip_prefix("Mma")?.strip_suffix("Op")?.to_ascii_uppercase();
    let family = parts.next()?;
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
            "I8" => ".s32.",
            _ => return None,
        };
    }
    let (sizes, formats) = match read_words(arguments, is_neutral, refused) {
        Ok(words) => sorted(words),
        Err(refused) => return Some(refused),
    };
    // A and B share a type but where there are three (A, B, accumulator); MXF4 and TF32 have none of their own
    match (kind.as_str(), &formats[..]) {
        (_, []) => {}
        ("F8" | "FP8" | "I8", [a, b, d]) => (wanted.a, wanted.b, wanted.d) = (Some(*a), Some(*b), Some(*d)),
        ("F16BF16" | "F8" | "FP8" | "F8F6F4" | "I8", [ab, d]) => {
            (wanted.a, wanted.b, wanted.d) = (Some(*ab), Some(*ab), Some(*d));
        }
        ("MXF4NVF4", [scale]) if !scale.is_signed() => wanted.scale = Some(*scale),
        ("MXF4" | "MXF4NVF4" | "MXF8" | "MXF8F6F4", [ab, d, scale]) => {
            (wanted.a, wanted.b, wanted.d, wanted.scale) = (Some(*ab), Some(*ab), Some(*d), Some(*scale));
        }
        (_, [ab]) => (wanted.a, wanted.b) = (Some(*ab), Some(*ab)),
        (_, [.., last]) => return Some(Meaning::refused(last.name, UNKNOWN_WORD)),
    }
    wanted.c = wanted.d;
    match sizes[..] {
        [] => {}
        [m, n, k] => (wanted.m, wanted.n, wanted.k) = (Some(m), Some(n), Some(k)),
        _ => return Some(Meaning::refused(format!("{sizes:?}"), "is not a shape of M, N and K")),
    }
    if family == "warpgroup" && kind == "F16BF16" {
        if wanted.k.is_some_and(|k| k != 16) {
            return Some(Meaning::refused(
                format!("K = {}", sizes[2]),
                "is not the instruction's K, which is 16",
            ));
        }
        wanted.k = Some(16);
        wanted.part = "";
    }
    Some(Meaning::rows(wanted))
}
