//! Forms that PTX does not have although each of their words is known: the manual's tables of what goes with what. A text that
//! ptxas would reject has no result on a GPU.

use bitmma_engine::catalogue::Architecture;

use super::form::Form;
use crate::error::Error;
use crate::program::Type;
use crate::text::{Instruction, Operand};

/// A row of what PTX has: a name, the types of each place, and its modifiers. Modifiers of which one is taken are parted by a bar;
/// those with a question mark may be missing.
struct Row(&'static str, &'static [&'static str], &'static str);

const WHOLE: &str = "u16 u32 u64 s16 s32 s64";
const INTEGERS: &str = "u8 u16 u32 u64 s8 s16 s32 s64";
const BITS: &str = "b16 b32 b64";

#[rustfmt::skip]
const ROWS: &[Row] = &[
    Row("abs", &["s16 s32 s64 bf16 bf16x2 f64"], ""),
    Row("abs", &["f16 f16x2 f32"], "ftz?"),
    Row("neg", &["s16 s32 s64 bf16 bf16x2 f64"], ""),
    Row("neg", &["f16 f16x2 f32"], "ftz?"),
    Row("add", &["u16 s16"], ""),
    Row("add", &["u32 u64 s32 s64"], "cc?"),
    Row("add", &["s32"], "sat"),
    Row("add", &["f16 f16x2"], "rn? ftz? sat?"),
    Row("add", &["bf16 bf16x2"], "rn?"),
    Row("add", &["f32"], "rn|rz|rm|rp? ftz? sat?"),
    Row("add", &["f32x2"], "rn|rz|rm|rp? ftz?"),
    Row("add", &["f64"], "rn|rz|rm|rp?"),
    Row("addc", &["u32 u64 s32 s64"], "cc?"),
    Row("subc", &["u32 u64 s32 s64"], "cc?"),
    Row("mul", &["f16 f16x2"], "rn? ftz? sat?"),
    Row("mul", &["bf16 bf16x2"], "rn?"),
    Row("mul", &["f32"], "rn|rz|rm|rp? ftz? sat?"),
    Row("mul", &["f32x2"], "rn|rz|rm|rp? ftz?"),
    Row("mul", &["f64"], "rn|rz|rm|rp?"),
    Row("mul", &["u16 u32 s16 s32"], "lo|hi|wide"),
    Row("mul", &["u64 s64"], "lo|hi"),
    Row("mad", &["u16 u32 s16 s32"], "lo|hi|wide"),
    Row("mad", &["u64 s64"], "lo|hi"),
    Row("mad", &["u32 s32 u64 s64"], "lo|hi cc"),
    Row("mad", &["f32"], "rn|rz|rm|rp ftz? sat?"),
    Row("mad", &["f64"], "rn|rz|rm|rp"),
    Row("madc", &["u32 s32 u64 s64"], "lo|hi cc?"),
    Row("fma", &["f16 f16x2"], "rn ftz? sat|relu?"),
    Row("fma", &["bf16 bf16x2"], "rn|rz|rm|rp relu?"),
    Row("fma", &["f32"], "rn|rz|rm|rp ftz? sat?"),
    Row("fma", &["f32x2"], "rn|rz|rm|rp ftz?"),
    Row("fma", &["f64"], "rn|rz|rm|rp"),
    Row("div", &[WHOLE], ""),
    Row("div", &["f32"], "approx|full|rn|rz|rm|rp ftz?"),
    Row("div", &["f64"], "rn|rz|rm|rp"),
    Row("rem", &[WHOLE], ""),
    Row("min", &["u16 u32 u64 s16 s32 s64 f64"], ""),
    Row("min", &["f16 f16x2 f32"], "ftz? NaN? xorsign&abs?"),
    Row("min", &["bf16 bf16x2"], "NaN? xorsign&abs?"),
    Row("and", &["pred b16 b32 b64"], ""),
    Row("not", &["pred b16 b32 b64"], ""),
    Row("cnot", &[BITS], ""),
    Row("shl", &[BITS], ""),
    Row("shr", &["b16 b32 b64 u16 u32 u64 s16 s32 s64"], ""),
    Row("popc", &["b32 b64"], ""),
    Row("bfind", &["u32 u64 s32 s64"], "shiftamt?"),
    Row("bfe", &["u32 u64 s32 s64"], ""),
    Row("bmsk", &["b32"], "wrap|clamp"),
    Row("sad", &["u16 u32 u64 s16 s32 s64"], ""),
    Row("lop3", &["b32"], ""),
    Row("prmt", &["b32"], "f4e|b4e|rc8|ecl|ecr|rc16?"),
    Row("shf", &["b32"], "l|r wrap|clamp"),
    Row("dp4a", &["u32 s32", "u32 s32"], ""),
    Row("dp2a", &["u32 s32", "u32 s32"], "lo|hi"),
    Row("slct", &["b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64", "s32"], ""),
    Row("slct", &["b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64", "f32"], "ftz?"),
    Row("copysign", &["f32 f64"], ""),
    Row("testp", &["f32 f64"], "finite|infinite|number|notanumber|normal|subnormal"),
    Row("rcp", &["f32"], "approx|rn|rz|rm|rp ftz?"),
    Row("rcp", &["f64"], "rn|rz|rm|rp"),
    Row("rcp", &["f64"], "approx ftz"),
    Row("sqrt", &["f32"], "approx|rn|rz|rm|rp ftz?"),
    Row("sqrt", &["f64"], "rn|rz|rm|rp"),
    Row("rsqrt", &["f32"], "approx ftz?"),
    Row("rsqrt", &["f64"], "approx ftz?"),
    Row("ex2", &["f32 f16 f16x2"], "approx ftz?"),
    Row("ex2", &["bf16 bf16x2"], "approx ftz"),
    Row("sin", &["f32"], "approx ftz?"),
    Row("setp", &[BITS], "eq|ne and|or|xor?"),
    Row("setp", &["u16 u32 u64"], "eq|ne|lt|le|gt|ge|lo|ls|hi|hs and|or|xor?"),
    Row("setp", &["s16 s32 s64"], "eq|ne|lt|le|gt|ge and|or|xor?"),
    Row("setp", &["f16 f16x2 f32"], "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan and|or|xor? ftz?"),
    Row("setp", &["bf16 bf16x2 f64"], "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan and|or|xor?"),
    Row("set", &["u32 s32 f16 bf16 f32", BITS], "eq|ne"),
    Row("set", &["u32 s32 f16 bf16 f32", "u16 u32 u64"], "eq|ne|lt|le|gt|ge|lo|ls|hi|hs"),
    Row("set", &["u32 s32 f16 bf16 f32", "s16 s32 s64"], "eq|ne|lt|le|gt|ge"),
    Row("set", &["u32 s32 f16 bf16 f32", "f64"], "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan"),
    Row("set", &["u32 s32 f16 f32", "f32"], "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan ftz?"),
    Row("set", &["bf16", "f32"], "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan"),
    Row("set", &["bf16", "f16"], "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan"),
    Row("set", &["u16 s16 u32 s32 f16", "f16"], "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan ftz?"),
    Row("set", &["u16 s16 u32 s32 bf16", "bf16"], "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan"),
    Row("set", &["u32 s32 f16x2", "f16x2"], "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan ftz?"),
    Row("set", &["u32 s32 bf16x2", "bf16x2"], "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan"),
    Row("selp", &["b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64"], ""),
    Row("mov", &["pred b16 b32 b64 b128 u16 u32 u64 s16 s32 s64 f32 f64"], ""),
    Row("cvta", &["u64"], "to? global|shared|shared::cta|shared::cluster|local|const|param|param::entry"),
    Row("cvt", &[INTEGERS, INTEGERS], "sat?"),
    Row("cvt", &[INTEGERS, "f16 f64"], "rni|rzi|rmi|rpi sat?"),
    Row("cvt", &[INTEGERS, "f32"], "rni|rzi|rmi|rpi ftz? sat?"),
    Row("cvt", &[WHOLE, "bf16"], "rni|rzi|rmi|rpi"),
    Row("cvt", &["f16 f64", INTEGERS], "rn|rz|rm|rp sat?"),
    Row("cvt", &["f32", "u8 u16 u32 u64 s8 s16 s32 s64 f64"], "rn|rz|rm|rp ftz? sat?"),
    Row("cvt", &["bf16", "u16 u32 u64 s16 s32 s64 f64"], "rn|rz|rm|rp"),
    Row("cvt", &["f16", "f64"], "rn|rz|rm|rp sat?"),
    Row("cvt", &["f16", "f32"], "rn|rz|rm|rp ftz? sat?"),
    Row("cvt", &["f16 bf16", "f32"], "rn|rz satfinite? relu?"),
    Row("cvt", &["bf16", "f32"], "rn|rz|rm|rp ftz?"),
    Row("cvt", &["f16", "f16"], "rni|rzi|rmi|rpi? sat?"),
    Row("cvt", &["f64", "f64"], "rni|rzi|rmi|rpi? sat?"),
    Row("cvt", &["f32", "f32"], "rni|rzi|rmi|rpi? ftz? sat?"),
    Row("cvt", &["bf16", "bf16"], "rni|rzi|rmi|rpi?"),
    Row("cvt", &["f32", "f16"], "ftz? sat?"),
    Row("cvt", &["f64", "f32"], "ftz? sat?"),
    Row("cvt", &["f64", "f16"], "sat?"),
    Row("cvt", &["f32", "bf16"], "rn|rz|rm|rp? ftz?"),
    Row("cvt", &["f16 f64", "bf16"], "rn|rz|rm|rp?"),
    Row("cvt", &["bf16", "f16"], "rn|rz|rm|rp?"),
    Row("cvt", &["tf32", "f32"], "rn|rz satfinite? relu?"),
    Row("cvt", &["tf32", "f32"], "rna satfinite?"),
    Row("cvt", &["f16x2 bf16x2", "f32"], "rn|rz satfinite? relu?"),
    Row("cvt", &["e4m3x2 e5m2x2", "f32 f16x2"], "rn satfinite relu?"),
    Row("cvt", &["f16x2", "e4m3x2 e5m2x2"], "rn relu?"),
    Row("match", &["b32 b64"], "all|any sync"),
    Row("redux", &["u32 s32"], "sync add|min|max"),
    Row("redux", &["b32"], "sync and|or|xor"),
    Row("redux", &["f32"], "sync min|max abs? NaN?"),
    Row("shfl", &["b32"], "sync up|down|bfly|idx"),
    Row("vote", &["pred"], "sync all|any|uni"),
    Row("vote", &["b32"], "sync ballot"),
    Row("activemask", &["b32"], ""),
    Row("nanosleep", &["u32"], ""),
    Row("elect", &[], "sync"),
    Row("membar", &[], "cta|gl|sys"),
    Row("prefetch", &[], "global|local? L1|L2|L2::evict_last|L2::evict_normal"),
];

const SCOPES: [&str; 4] = ["cta", "cluster", "gpu", "sys"];

/// Names that have the forms of another one.
const LIKE: [(&str, &str); 12] = [
    ("sub", "add"),
    ("max", "min"),
    ("or", "and"),
    ("xor", "and"),
    ("clz", "popc"),
    ("brev", "popc"),
    ("bfi", "popc"),
    ("lg2", "sin"),
    ("cos", "sin"),
    ("barrier", "bar"),
    ("ldu", "ld"),
    ("exit", "ret"),
];

/// Checks an instruction; an error says what is wrong with its form.
pub(super) fn check(instruction: &Instruction, architecture: Architecture) -> Result<(), Error> {
    let mut all = instruction.form.split('.');
    let name = all.next().unwrap_or("");
    let name = LIKE.iter().find(|(like, _)| *like == name).map_or(name, |(_, name)| name);
    let words: Vec<&str> = all.collect();
    let wrong = match name {
        "atom" | "red" => atomic(name, &words, architecture),
        "ld" | "st" => access(name, &words),
        "bar" => barrier(&words, instruction),
        "cvt" if words.contains(&"sat") && holds(&words) => {
            Some("every value of the second type is one of the first: there is no .sat".to_owned())
        }
        "fence" if !words.iter().any(|word| SCOPES.contains(word) || word.starts_with("proxy")) => {
            Some("a scope is missing".to_owned())
        }
        "match" if words.contains(&"any") && has_pair(instruction) => {
            Some("only .all says whether all agree".to_owned())
        }
        "elect" if !has_pair(instruction) => Some("it needs a predicate".to_owned()),
        "setp" if any(&words, &["f16", "bf16"]) && has_pair(instruction) => {
            Some("of one half it has one result".to_owned())
        }
        _ => table(name, &words),
    };
    wrong.map_or(Ok(()), |why| Err(Form::of(instruction).refuse(&why)))
}

/// Whether it has a second result.
fn has_pair(instruction: &Instruction) -> bool {
    matches!(instruction.operands.first(), Some(Operand::Pair(..)))
}

/// Why a form is in none of the rows of its name.
fn table(name: &str, words: &[&str]) -> Option<String> {
    let (types, modifiers): (Vec<&str>, Vec<&str>) =
        words.iter().partition(|word| **word == "b128" || Type::named(word).is_some());
    let mut rows = ROWS.iter().filter(|Row(known, ..)| *known == name).peekable();
    rows.peek()?;
    let has_types = |Row(_, places, _): &&Row| {
        places.len() == types.len()
            && places.iter().zip(&types).all(|(place, kind)| place.split(' ').any(|one| one == *kind))
    };
    let mut rows = rows.filter(has_types).peekable();
    if rows.peek().is_none() {
        return Some("PTX does not have these types".to_owned());
    }
    let fits = |Row(_, _, groups): &Row| has_modifiers(groups, &modifiers);
    (!rows.any(fits)).then(|| "PTX does not have these modifiers for this type".to_owned())
}

/// Whether modifiers are those of a row.
fn has_modifiers(groups: &str, modifiers: &[&str]) -> bool {
    let mut left = modifiers.to_vec();
    for group in groups.split(' ').filter(|group| !group.is_empty()) {
        let (choices, optional) = group.strip_suffix('?').map_or((group, false), |group| (group, true));
        let choice = choices.split('|').map(|choice| choice.split('&').collect::<Vec<_>>());
        let taken = choice.into_iter().find(|words| words.iter().all(|word| left.contains(word)));
        match taken {
            Some(words) => left.retain(|word| !words.contains(word)),
            None if optional => {}
            None => return false,
        }
    }
    left.is_empty()
}

/// Whether an integer type of a conversion holds every value of the one that it is from.
fn holds(words: &[&str]) -> bool {
    let mut types = words.iter().filter_map(|word| Type::named(word));
    let (Some(to), Some(from)) = (types.next(), types.next()) else { return false };
    let unsigned = !from.is_signed();
    to.is_integer()
        && from.is_integer()
        && match to.is_signed() {
            true => from.bits() < to.bits() || !unsigned && from.bits() == to.bits(),
            false => unsigned && from.bits() <= to.bits(),
        }
}

/// Whether one of the words is among some.
fn any(words: &[&str], known: &[&str]) -> bool {
    words.iter().any(|word| known.contains(word))
}

/// Barriers: their numbers, the types of what they count, and for how many threads an arrival counts.
fn barrier(words: &[&str], instruction: &Instruction) -> Option<String> {
    if any(words, &["cluster", "warp"]) {
        return None;
    }
    let reduces = words.contains(&"red");
    if reduces {
        let kind = if words.contains(&"popc") { "u32" } else { "pred" };
        if words.last() != Some(&kind) {
            return Some(format!("its result has the type {kind}"));
        }
    }
    if let Some(Operand::Integer(id)) = instruction.operands.get(usize::from(reduces))
        && *id > 15
    {
        return Some(format!("there is no barrier {id}: a block has 16"));
    }
    let alone = words.contains(&"arrive") && instruction.operands.len() < 2;
    alone.then(|| "an arrival needs the number of threads".to_owned())
}

/// Before sm_90.
const OLDER: [Architecture; 4] =
    [Architecture::Volta, Architecture::Turing, Architecture::Ampere, Architecture::Ada];

const HALVES: [&str; 4] = ["f16", "bf16", "f16x2", "bf16x2"];

fn vector(words: &[&str]) -> usize {
    [("v2", 2), ("v4", 4), ("v8", 8)]
        .iter()
        .find(|(word, _)| words.contains(word))
        .map_or(1, |(_, count)| *count)
}

/// Atomic operations: the types of each, and which come as vectors.
fn atomic(name: &str, words: &[&str], architecture: Architecture) -> Option<String> {
    let kind = *words.last()?;
    let has = |word: &str| words.contains(&word);
    let op = ["add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"]
        .into_iter()
        .find(|op| has(op))?;
    let (count, half) = (vector(words), HALVES.contains(&kind));
    let types: &[&str] = match op {
        "add" => &["u32", "s32", "u64", "f32", "f64", "f16", "bf16", "f16x2", "bf16x2"],
        "min" | "max" => &["u32", "s32", "u64", "s64", "f16", "bf16", "f16x2", "bf16x2"],
        "and" | "or" | "xor" | "exch" => &["b32", "b64"],
        "cas" => &["b16", "b32", "b64"],
        _ => &["u32"],
    };
    if name == "red" && matches!(op, "exch" | "cas") {
        return Some(format!("red has no .{op}"));
    }
    if !types.contains(&kind) {
        return Some(format!(".{op} has no type {kind}"));
    }
    if half != has("noftz") {
        return Some(if half { ".noftz is missing" } else { ".noftz is for halves" }.to_owned());
    }
    if any(words, &["volatile", "mmio", "weak"]) || name == "red" && any(words, &["acquire", "acq_rel"]) {
        return Some("it is not ordered in this way".to_owned());
    }
    match count {
        1 if half && op != "add" => Some(format!(".{op} of halves takes vectors")),
        1 => None,
        _ if any(words, &["shared", "shared::cta", "shared::cluster"]) => {
            Some("vectors are for global memory".to_owned())
        }
        _ if !half && (kind != "f32" || op != "add") => Some(format!(".{op}.{kind} takes no vectors")),
        8 if matches!(kind, "f32" | "f16x2" | "bf16x2") => {
            Some(format!("a vector of {kind} has at most four"))
        }
        _ if OLDER.contains(&architecture) => Some("vectors need sm_90 or later".to_owned()),
        _ => None,
    }
}

/// Loads and stores: which orders and cache operators go together, and how long vectors are.
fn access(name: &str, words: &[&str]) -> Option<String> {
    let kind = *words.last()?;
    let bits = Type::named(kind).map_or(0, Type::bits);
    let global = words.contains(&"global");
    if ["tf32", "f16", "bf16", "f16x2", "bf16x2", "f32x2", "e4m3x2", "e5m2x2"].contains(&kind) {
        return Some(format!("it has no type {kind}"));
    }
    let count = vector(words);
    if count == 8 && (bits != 32 || !global) || count == 4 && bits == 64 && !global {
        return Some("such vectors are too long".to_owned());
    }
    let orders = ["weak", "volatile", "relaxed", "acquire", "release", "mmio"];
    let order = words.iter().copied().find(|word| orders.contains(word));
    let caches: &[&str] =
        if name == "st" { &["wb", "cg", "cs", "wt"] } else { &["ca", "cg", "cs", "lu", "cv", "nc"] };
    let cache = words.iter().find(|word| ["ca", "cg", "cs", "lu", "cv", "nc", "wb", "wt"].contains(word));
    if let Some(cache) = cache {
        let weak = matches!(order, None | Some("weak"));
        if !caches.contains(cache) || !weak || *cache == "nc" && !global {
            return Some(format!(".{cache} does not go with this"));
        }
    }
    let scope = any(words, &SCOPES);
    let needs = matches!(order, Some("relaxed" | "acquire" | "release" | "mmio"));
    if scope != needs {
        return Some(if needs { "a scope is missing" } else { "there is no scope" }.to_owned());
    }
    let own = any(words, &["local", "const", "param", "param::entry"]);
    if own && !matches!(order, None | Some("weak")) {
        return Some("this memory is not ordered".to_owned());
    }
    if name == "st" && (order == Some("acquire") || words.contains(&"const"))
        || name == "ld" && order == Some("release")
    {
        return Some("it has no such form".to_owned());
    }
    None
}
