//! Calls whose arguments are sizes and types: WMMA of CUDA C++ and of CUTLASS, fragments of rocWMMA, CUTLASS' `arch::Mma`.

use super::meaning::{Meaning, Options, UNKNOWN_WORD, Wanted, read_words, sorted, words};
use crate::instruction::Family::{self, Mfma, MmaSync, Wmma};

/// How the formats of a call are ordered.
#[derive(Clone, Copy)]
enum Types {
    /// One: A and B, or the accumulator.
    Fragment,
    /// A, B, C.
    Product,
}

// columns: name, families, order of its types
#[rustfmt::skip]
const CALLS: &[(&str, &[Family], Types)] = &[
    ("nvcuda::wmma::mma_sync", &[Wmma], Types::Fragment),
    ("nvcuda::wmma::fragment", &[Wmma], Types::Fragment),
    ("wmma::mma_sync", &[Wmma], Types::Fragment),
    ("wmma::fragment", &[Wmma], Types::Fragment),
    ("rocwmma::mma_sync", &[Mfma], Types::Fragment),
    ("rocwmma::fragment", &[Mfma], Types::Fragment),
    ("cutlass::arch::mma", &[MmaSync], Types::Product),
    ("cutlass::arch::wmma", &[Wmma], Types::Product),
];

/// Prefixes that compilers and libraries put before the name of an AMD instruction.
const INTRINSICS: [&str; 3] = ["llvm.amdgcn.mfma.", "rocdl.mfma.", "amdgcn.mfma."];

pub(super) fn meaning(text: &str) -> Option<Meaning> {
    let lower = text.to_ascii_lowercase();
    if let Some(rest) = INTRINSICS.iter().find_map(|prefix| lower.strip_prefix(prefix)) {
        let spelling = format!("__builtin_amdgcn_mfma_{}", rest.replace('.', "_"));
        return Some(Meaning::Spelling(spelling, Options::default()));
    }
    if let Some(spelling) = kind_first(&lower) {
        return Some(Meaning::Spelling(spelling, Options::default()));
    }
    let (name, arguments) = text.split_at(text.find(['<', '(']).unwrap_or(text.len()));
    let name = name.trim().to_ascii_lowercase();
    let (_, families, order) = CALLS.iter().find(|(known, ..)| *known == name)?;
    Some(wanted(families, *order, arguments).unwrap_or_else(|refused| refused))
}

/// What a call's arguments ask for; an argument that changes the result and cannot be applied is refused by name.
fn wanted(families: &[Family], order: Types, arguments: &str) -> Result<Meaning, Meaning> {
    let is_function = arguments.starts_with('('); // mma_sync(d, a, b, c, satf): its arguments are names of fragments
    let neutral = |word: &str| {
        let role = matches!(word, "matrix_a" | "matrix_b" | "accumulator");
        let layout = matches!(word, "row_major" | "col_major" | "rowmajor" | "columnmajor" | "void");
        let plain = matches!(word, "gemmshape" | "opmultiplyadd" | "opmultiplyaddsaturate");
        role || layout || plain || is_function
    };
    // the last argument of mma_sync, and CUTLASS' operation
    let saturates = |word: &str| word == "true" || word.rsplit("::").next() == Some("opmultiplyaddsaturate");
    let is_saturating = words(arguments).any(|word| saturates(&word.to_ascii_lowercase()));
    let (sizes, formats) = sorted(read_words(arguments, neutral, refused)?);
    let most = if is_function { 0 } else { 3 + usize::from(matches!(order, Types::Product)) };
    if let Some(size) = sizes.get(most) {
        return Err(Meaning::refused(size.to_string(), UNKNOWN_WORD));
    }
    let size = |index: usize| sizes.get(index).copied();
    let mut wanted =
        Wanted { families: families.to_vec(), m: size(0), n: size(1), k: size(2), ..Wanted::default() };
    wanted.is_saturating = is_saturating;
    let mut options = Options::default();
    match order {
        Types::Fragment if arguments.contains("accumulator") => wanted.d = formats.first().copied(),
        Types::Fragment => {
            wanted.a = formats.first().copied();
            wanted.b = wanted.a;
        }
        Types::Product => {
            (wanted.a, wanted.b) = (formats.first().copied(), formats.get(1).copied());
            wanted.c = formats.get(2).copied();
            wanted.d = wanted.c;
        }
    }
    if let Some(format) = formats.iter().find(|format| is_saturating && !format.is_integer()) {
        let why = format!("saturates the result, which bitmma does not model of {format}");
        let option = words(arguments).find(|word| saturates(&word.to_ascii_lowercase()));
        return Err(Meaning::refused(option.unwrap_or_default(), why));
    }
    let taken = if matches!(order, Types::Product) { 3 } else { 1 };
    if let Some(format) = formats.get(taken) {
        return Err(Meaning::refused(format.name, UNKNOWN_WORD));
    }
    if *families == [Mfma] {
        // rocWMMA's shapes are of whole fragments, whose K may be several instructions'
        let fragment = wanted.k.take();
        wanted.is_longest = true;
        options.remarks.extend(fragment.map(|k| {
            format!(
                "a fragment of K = {k}: rocWMMA runs the instruction along it as often as its K goes into {k}"
            )
        }));
    }
    Ok(Meaning::Rows(Box::new(wanted), options))
}

/// Why an argument is refused, if it changes the result.
fn refused(word: &str) -> Option<&'static str> {
    let word = word.rsplit("::").next().unwrap_or(word);
    match word {
        "opmultiplyadd" | "opmultiplyaddsaturate" => None,
        _ if word.starts_with("op") => {
            Some("is another operation than OpMultiplyAdd, which bitmma does not model")
        }
        _ => None,
    }
}

/// `mma.sync.aligned.kind::X.m16n8k32.row.col.…`, as CUTLASS writes it, with the shape and layout first, as the PTX manual does.
fn kind_first(text: &str) -> Option<String> {
    let rest = text.strip_prefix("mma.sync.aligned.kind::")?;
    let (before, shape) = rest.split_once(".m16n8k")?;
    let (k, types) = shape.split_once(".row.col.")?;
    let (kind, rest) = before.split_once('.').map_or((before, ""), |(kind, rest)| (kind, rest));
    let (head, scale) = match rest.strip_prefix("sp::ordered_metadata") {
        Some(scale) => ("mma.sp::ordered_metadata.sync.aligned", scale.trim_start_matches('.')),
        None => ("mma.sync.aligned", rest),
    };
    let dot = if scale.is_empty() { "" } else { "." };
    Some(format!("{head}.m16n8k{k}.row.col.kind::{kind}{dot}{scale}.{types}"))
}
