//! Forms that run here and that ptxas rejects for every target. Every name that is supported is tried with the modifiers and types
//! that its neighbours have; a form that nobody can compile must be refused here, too, because its result would be made up.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use bitmma_ptx::{Program, Standing};

/// A name, its groups of modifiers in the order of the manual, how many types follow, and patterns of operands: `1` and `2` are
/// registers of the first and second type, `l` is one of twice the first one's width, `w` of 32 bits, `d` of 64, `p` a predicate,
/// `n` a small constant, `k` 128, `m` a mask of all lanes, `G` and `S` addresses in global and shared memory, `V` as many registers of the
/// first type as a vector has; other characters stand for themselves.
struct Family {
    name: &'static str,
    groups: &'static [&'static [&'static str]],
    types: usize,
    operands: &'static [&'static str],
}

const TYPES: [&str; 25] = [
    "pred", "b8", "b16", "b32", "b64", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f16", "bf16",
    "tf32", "f16x2", "bf16x2", "u16x2", "s16x2", "f32", "f32x2", "f64", "e4m3x2", "e5m2x2",
];

const ROUNDING: &[&str] = &["", "rn", "rz", "rm", "rp"];
const FTZ: &[&str] = &["", "ftz"];
const SAT: &[&str] = &["", "sat"];
const CARRY: &[&str] = &["", "cc"];
const PART: &[&str] = &["", "lo", "hi", "wide"];
const RELU: &[&str] = &["", "relu"];
const COMPARISONS: &[&str] = &[
    "eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu", "geu",
    "num", "nan",
];
const LOGIC: &[&str] = &["", "and", "or", "xor"];
const APPROXIMATE: &[&str] = &["", "approx", "full", "rn", "rz", "rm", "rp"];
const ORDER: &[&str] = &["", "volatile", "relaxed.gpu", "acquire.gpu", "release.gpu", "relaxed"];
const SPACE: &[&str] = &["", "global", "shared", "local", "const"];
const VECTOR: &[&str] = &["", "v2", "v4", "v8"];
const CONVERSIONS: &[&str] = &["", "rn", "rz", "rm", "rp", "rna", "rni", "rzi", "rmi", "rpi"];
const CACHE: &[&str] = &["", "ca", "cv", "wb", "nc"];
const SCOPE: &[&str] = &["", "relaxed.gpu"];
const ATOMIC_SPACE: &[&str] = &["", "global", "shared"];
const FLUSH: &[&str] = &["", "noftz", "ftz"];
const RESTRICTED: &[&str] = &["", "sync_restrict::shared::cta", "sync_restrict::shared::cluster"];
const PROXIES: &[&str] =
    &["alias", "async", "async.global", "async.shared::cta", "async::generic", "tensormap::generic"];
const PRIORITIES: &[&str] =
    &["", "L2::evict_last", "L2::evict_normal", "L2::evict_first", "L2::evict_unchanged"];
const OPERATIONS: &[&str] = &["add", "min", "max", "and", "or", "xor", "exch", "inc", "dec"];

const fn family(
    name: &'static str,
    groups: &'static [&'static [&'static str]],
    types: usize,
    operands: &'static [&'static str],
) -> Family {
    Family { name, groups, types, operands }
}

const FAMILIES: &[Family] = &[
    family("add", &[ROUNDING, FTZ, SAT, CARRY], 1, &["1, 1, 1"]),
    family("sub", &[ROUNDING, FTZ, SAT, CARRY], 1, &["1, 1, 1"]),
    family("addc", &[CARRY], 1, &["1, 1, 1"]),
    family("subc", &[CARRY], 1, &["1, 1, 1"]),
    family("mul", &[PART, ROUNDING, FTZ, SAT], 1, &["1, 1, 1", "l, 1, 1"]),
    family("mad", &[PART, ROUNDING, FTZ, SAT, CARRY], 1, &["1, 1, 1, 1", "l, 1, 1, l"]),
    family("mul24", &[PART, SAT], 1, &["1, 1, 1"]),
    family("mad24", &[PART, SAT], 1, &["1, 1, 1, 1"]),
    family("madc", &[PART, SAT, CARRY], 1, &["1, 1, 1, 1"]),
    family("fma", &[ROUNDING, FTZ, SAT, RELU], 1, &["1, 1, 1, 1"]),
    family("div", &[APPROXIMATE, FTZ, SAT], 1, &["1, 1, 1"]),
    family("rem", &[FTZ], 1, &["1, 1, 1"]),
    family(
        "min",
        &[FTZ, &["", "NaN"], &["", "xorsign.abs", "xorsign", "abs"], RELU, SAT],
        1,
        &["1, 1, 1", "1, 1, 1, 1"],
    ),
    family(
        "max",
        &[FTZ, &["", "NaN"], &["", "xorsign.abs", "xorsign", "abs"], RELU, SAT],
        1,
        &["1, 1, 1", "1, 1, 1, 1"],
    ),
    family("abs", &[FTZ], 1, &["1, 1"]),
    family("neg", &[FTZ], 1, &["1, 1"]),
    family("rcp", &[APPROXIMATE, FTZ, SAT], 1, &["1, 1"]),
    family("sqrt", &[APPROXIMATE, FTZ, SAT], 1, &["1, 1"]),
    family("rsqrt", &[APPROXIMATE, FTZ, SAT], 1, &["1, 1"]),
    family("ex2", &[APPROXIMATE, FTZ, SAT], 1, &["1, 1"]),
    family("lg2", &[APPROXIMATE, FTZ, SAT], 1, &["1, 1"]),
    family("sin", &[APPROXIMATE, FTZ, SAT], 1, &["1, 1"]),
    family("cos", &[APPROXIMATE, FTZ, SAT], 1, &["1, 1"]),
    family("copysign", &[FTZ, SAT, ROUNDING], 1, &["1, 1, 1"]),
    family("testp", &[&["finite", "infinite", "number", "notanumber", "normal", "subnormal"]], 1, &["p, 1"]),
    family("and", &[SAT], 1, &["1, 1, 1"]),
    family("or", &[SAT], 1, &["1, 1, 1"]),
    family("xor", &[SAT], 1, &["1, 1, 1"]),
    family("not", &[SAT], 1, &["1, 1"]),
    family("cnot", &[], 1, &["1, 1"]),
    family("shl", &[&["", "wrap", "clamp"]], 1, &["1, 1, w"]),
    family("shr", &[&["", "wrap", "clamp"]], 1, &["1, 1, w"]),
    family("bmsk", &[&["", "wrap", "clamp"]], 1, &["1, 1, 1"]),
    family("popc", &[&["", "shiftamt"]], 1, &["w, 1", "1, 1"]),
    family("clz", &[&["", "shiftamt"]], 1, &["w, 1", "1, 1"]),
    family("bfind", &[&["", "shiftamt"]], 1, &["w, 1", "1, 1"]),
    family("brev", &[&["", "shiftamt"]], 1, &["1, 1"]),
    family("bfe", &[], 1, &["1, 1, w, w"]),
    family("bfi", &[], 1, &["1, 1, 1, w, w"]),
    family("sad", &[], 1, &["1, 1, 1, 1"]),
    family("lop3", &[LOGIC], 1, &["1, 1, 1, 1, n", "1|p, 1, 1, 1, n, p"]),
    family("szext", &[&["", "wrap", "clamp"]], 1, &["1, 1, w"]),
    family("fns", &[], 1, &["1, 1, w, w"]),
    family("prmt", &[&["", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"]], 1, &["1, 1, 1, w"]),
    family("prmt.b32", &[&["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"]], 0, &["w, w, w, w"]),
    family("shf", &[&["l", "r"], &["", "wrap", "clamp"]], 1, &["1, 1, 1, w"]),
    family("dp4a", &[], 2, &["w, w, w, w"]),
    family("dp2a", &[&["lo", "hi"]], 2, &["w, w, w, w"]),
    family("slct", &[FTZ], 2, &["1, 1, 1, 2"]),
    family("setp", &[COMPARISONS, LOGIC, FTZ], 1, &["p, 1, 1", "p, 1, 1, p", "p|p, 1, 1"]),
    family("set", &[COMPARISONS, LOGIC, FTZ], 2, &["1, 2, 2", "1, 2, 2, p"]),
    family("selp", &[], 1, &["1, 1, 1, p"]),
    family("mov", &[FTZ], 1, &["1, 1"]),
    family("cvt", &[CONVERSIONS, FTZ, SAT], 2, &["1, 2"]),
    family("cvt", &[CONVERSIONS, &["satfinite", "relu", "satfinite.relu", "ftz.relu"]], 2, &["1, 2"]),
    family("cvt", &[&["", "rn", "rz"], &["", "relu", "satfinite", "satfinite.relu"]], 2, &["1, 2, 2"]),
    family("cvta", &[&["", "to"], &["global", "shared", "local", "const", "param"]], 1, &["1, 1", "d, d"]),
    family("isspacep", &[&["global", "shared", "local", "const", "param"]], 0, &["p, d", "p, w"]),
    family("ld", &[ORDER, SPACE, CACHE, VECTOR], 1, &["V, G"]),
    family("st", &[ORDER, SPACE, CACHE, VECTOR], 1, &["G, V"]),
    family("atom", &[SCOPE, ATOMIC_SPACE, OPERATIONS, FLUSH, VECTOR], 1, &["V, G, V"]),
    family("atom", &[SCOPE, ATOMIC_SPACE, &["cas"], VECTOR], 1, &["V, G, V, V"]),
    family("atom.volatile", &[ATOMIC_SPACE, &["add"]], 1, &["1, G, 1"]),
    family("red", &[SCOPE, ATOMIC_SPACE, OPERATIONS, FLUSH, VECTOR], 1, &["G, V"]),
    family("red", &[SCOPE, ATOMIC_SPACE, &["cas"], VECTOR], 1, &["G, V, V"]),
    family("red", &[&["volatile", "acquire.gpu", "release.gpu"], ATOMIC_SPACE, &["add"]], 1, &["G, 1"]),
    family(
        "cp.async",
        &[&["ca", "cg"], &["shared.global"]],
        0,
        &["S, G, 4", "S, G, 8", "S, G, 16", "S, G, 16, w", "S, G, 4, p"],
    ),
    family(
        "ldmatrix",
        &[&["", "sync.aligned"], &["m8n8", "m16n8"], &["x1", "x2", "x4"], &["", "trans"], &["", "shared"]],
        1,
        &["{w}, S", "{w, w}, S", "{w, w, w, w}, S"],
    ),
    family(
        "stmatrix",
        &[&["", "sync.aligned"], &["m8n8", "m16n8"], &["x1", "x2", "x4"], &["", "trans"], &["", "shared"]],
        1,
        &["S, {w}", "S, {w, w}", "S, {w, w, w, w}"],
    ),
    family("bar", &[&["sync", "arrive", "warp.sync"]], 0, &["n", "n, 64", "m"]),
    family("barrier", &[&["", "cta"], &["sync", "arrive"], &["", "aligned"]], 0, &["n", "n, 64"]),
    family("bar.red", &[&["popc", "and", "or"]], 1, &["1, n, p", "1, n, 64, p"]),
    family(
        "shfl",
        &[&["", "sync"], &["up", "down", "bfly", "idx"]],
        1,
        &["1, 1, w, w, m", "1|p, 1, w, w, m"],
    ),
    family("vote", &[&["", "sync"], &["all", "any", "uni", "ballot"]], 1, &["1, p, m"]),
    family("match", &[&["all", "any"], &["", "sync"]], 1, &["w, 1, m", "w|p, 1, m"]),
    family(
        "redux",
        &[&["", "sync"], &["add", "min", "max", "and", "or", "xor"], &["", "abs"], &["", "NaN"]],
        1,
        &["1, 1, m"],
    ),
    family("elect", &[&["", "sync"]], 0, &["w|p, m", "w, m", "d|p, m"]),
    family("activemask", &[], 1, &["1"]),
    family("membar", &[&["cta", "gl", "sys", "gpu"]], 0, &[""]),
    family(
        "fence",
        &[&["", "sc", "acq_rel", "acquire"], RESTRICTED, &["", "cta", "cluster", "gpu", "sys"]],
        0,
        &[""],
    ),
    family(
        "fence.proxy",
        &[PROXIES, &["", "acquire", "release"], RESTRICTED, &["", "cluster", "gpu"]],
        0,
        &["", "G, k"],
    ),
    family("membar.proxy", &[PROXIES], 0, &[""]),
    family(
        "prefetch",
        &[&["", "global", "local", "shared", "const"], &["L1", "L2", "L3", "L2::evict_last", "tensormap"]],
        0,
        &["G"],
    ),
    family(
        "createpolicy",
        &[&["fractional", "range", "cvt.L2"], PRIORITIES, PRIORITIES],
        1,
        &["1, 0.5", "1", "1, G, w, w", "1, d"],
    ),
    family("discard", &[ATOMIC_SPACE, &["L1", "L2"]], 0, &["G, k", "G, 64"]),
    family("applypriority", &[ATOMIC_SPACE, PRIORITIES], 0, &["G, k", "G, 64"]),
    family("pmevent", &[&["", "mask"]], 0, &["n", "k"]),
    family(
        "wgmma",
        &[&["fence", "commit_group", "wait_group"], &["", "sync"], &["", "aligned"]],
        0,
        &["", "n"],
    ),
    family(
        "barrier.cluster",
        &[&["arrive", "wait", "sync"], &["", "acquire", "release", "relaxed"], &["", "aligned"]],
        0,
        &["", "n"],
    ),
    family("nanosleep", &[], 1, &["1"]),
    family("bra", &[&["", "uni", "sync"]], 0, &["LABEL"]),
    family("ret", &[&["", "uni", "sync"]], 0, &[""]),
];

fn bits(kind: &str) -> u32 {
    match kind {
        "pred" => 1,
        "b8" | "u8" | "s8" | "b16" | "u16" | "s16" | "f16" | "bf16" | "e4m3x2" | "e5m2x2" => 16,
        "b64" | "u64" | "s64" | "f64" | "f32x2" => 64,
        _ => 32,
    }
}

fn register(bits: u32, number: usize) -> String {
    let letter = match bits {
        1 => 'p',
        16 => 'h',
        32 => 'r',
        _ => 'd',
    };
    format!("%{letter}{number}")
}

/// All instructions of a family.
fn instructions(family: &Family, mut each: impl FnMut(String)) {
    let mut stems = vec![family.name.to_owned()];
    for group in family.groups {
        let with =
            |stem: &String, word: &str| if word.is_empty() { stem.clone() } else { format!("{stem}.{word}") };
        stems = stems.iter().flat_map(|stem| group.iter().map(move |word| with(stem, word))).collect();
    }
    let kinds: Vec<Vec<&str>> = match family.types {
        0 => vec![vec![]],
        1 => TYPES.iter().map(|kind| vec![*kind]).collect(),
        _ => TYPES.iter().flat_map(|one| TYPES.iter().map(move |other| vec![*one, *other])).collect(),
    };
    for stem in &stems {
        let vector = [("v2", 2), ("v4", 4), ("v8", 8)]
            .iter()
            .find(|(word, _)| stem.split('.').any(|other| other == *word))
            .map_or(1, |(_, count)| *count);
        for kinds in &kinds {
            for pattern in family.operands {
                let mut next = 0;
                let mut operands = String::new();
                for letter in pattern.chars() {
                    next += 1;
                    let first = bits(kinds.first().unwrap_or(&"b32"));
                    match letter {
                        '1' => operands += &register(first, next),
                        '2' => operands += &register(bits(kinds[1]), next),
                        'l' => operands += &register(2 * first, next),
                        'w' => operands += &register(32, next),
                        'd' => operands += &register(64, next),
                        'p' => operands += &register(1, next % 8),
                        'n' => operands += "1",
                        'k' => operands += "128",
                        'm' => operands += "-1",
                        'G' if stem.contains(".shared") => operands += "[%r17]",
                        'G' => operands += "[%d17]",
                        'S' => operands += "[%r17]",
                        'V' if vector == 1 => operands += &register(first, next),
                        'V' => {
                            let list: Vec<_> = (0..vector).map(|at| register(first, 8 + at)).collect();
                            operands += &format!("{{{}}}", list.join(", "));
                        }
                        other => operands.push(other),
                    }
                }
                let form: String = kinds.iter().fold(stem.clone(), |form, kind| format!("{form}.{kind}"));
                each(format!("{form} {operands};").replace(" ;", ";"));
            }
        }
    }
}

fn text(version: &str, target: &str, lines: &[String]) -> String {
    let body: String = lines
        .iter()
        .enumerate()
        .map(|(at, line)| format!("{}\n", line.replace("LABEL;", &format!("$L{at}; $L{at}:"))))
        .collect();
    format!(
        ".version {version}\n.target {target}\n.address_size 64\n.visible .entry one(.param .u64 q) {{\n\
         .reg .pred %p<16>; .reg .b16 %h<18>; .reg .b32 %r<18>; .reg .b64 %d<18>; ld.param.b64 %d17, [q];\n\
         {body}ret;\n}}\n"
    )
}

/// The line of the text that the first of the instructions is on.
const FIRST: usize = 6;

/// Where ptxas is: `BITMMA_PTXAS`, a folder of `PATH`, or a Python package that has it.
fn ptxas() -> Vec<PathBuf> {
    if let Some(path) = std::env::var_os("BITMMA_PTXAS") {
        return std::env::split_paths(&path).collect();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut found: Vec<PathBuf> = std::env::split_paths(&path)
        .map(|folder| folder.join("ptxas"))
        .filter(|path| path.is_file())
        .collect();
    let ask = "import importlib.util as u, os; print(os.path.dirname(u.find_spec('triton').origin))";
    for python in ["python", "python3"] {
        let Ok(answer) = Command::new(python).args(["-c", ask]).output() else { continue };
        let folder =
            PathBuf::from(String::from_utf8_lossy(&answer.stdout).trim()).join("backends/nvidia/bin");
        found.extend(
            ["ptxas", "ptxas-blackwell"]
                .map(|name| folder.join(name))
                .into_iter()
                .filter(|path| path.is_file()),
        );
    }
    found
}

/// Instructions that one text has, at most.
const AT_ONCE: usize = 300;

/// Adds those of some instructions that a ptxas takes for a target. Where it ends without naming a line, as it does where it
/// crashes, halves are tried.
fn accepted(ptxas: &Path, (version, target): (&str, &str), lines: &[String], good: &mut HashSet<String>) {
    let folder = std::env::temp_dir().join(format!("bitmma-probe-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let (file, result) = (folder.join("probe.ptx"), folder.join("probe.cubin"));
    let mut left = lines.to_vec();
    while !left.is_empty() {
        std::fs::write(&file, text(version, target, &left)).expect("a text");
        let mut command = Command::new(ptxas);
        command.arg(format!("-arch={target}")).arg(&file).arg("-o").arg(&result);
        let run = command.output().expect("ptxas runs");
        if run.status.success() {
            good.extend(left);
            break;
        }
        let said = String::from_utf8_lossy(&run.stderr).into_owned() + &String::from_utf8_lossy(&run.stdout);
        // addresses of 32 bits are a warning, and an error for the whole text
        let names = |line: &&str| {
            line.contains("; error") || line.contains("; fatal") || line.contains("32-bit address")
        };
        let number = |line: &str| {
            let digits = line.split("line ").nth(1)?.trim_start_matches('\'');
            digits[..digits.find(|digit: char| !digit.is_ascii_digit())?].parse::<usize>().ok()
        };
        let wrong: HashSet<usize> = said.lines().filter(names).filter_map(number).collect();
        let before = left.len();
        let mut at = FIRST - 1;
        left.retain(|_| {
            at += 1;
            !wrong.contains(&at)
        });
        if left.len() == before {
            if before > 1 {
                let (one, other) = left.split_at(before / 2);
                accepted(ptxas, (version, target), one, good);
                accepted(ptxas, (version, target), other, good);
            }
            break;
        }
    }
}

/// Whether a ptxas compiles for a target at all.
fn compiles(ptxas: &Path, target: (&str, &str)) -> bool {
    let mut good = HashSet::new();
    accepted(ptxas, target, &["add.u32 %r1, %r1, %r2;".to_owned()], &mut good);
    !good.is_empty()
}

/// Whether an instruction is decoded here.
fn runs_here(line: &str) -> bool {
    let text = text("8.7", "sm_90a", &[line.to_owned()]);
    let survey = Program::parse(&text).and_then(|program| program.survey(None, None));
    survey.is_ok_and(|survey| survey.forms.iter().all(|form| !matches!(form.standing, Standing::Refused(_))))
}

/// Of so many instructions one is tried, unless `BITMMA_TESTS=all`: all take a minute or two. A prime, so that no word of a family
/// always falls between.
const SAMPLED: usize = 5;

#[test]
fn forms_that_ptxas_rejects_for_every_target_are_refused() {
    let found = ptxas();
    if found.is_empty() {
        eprintln!("skipped: no ptxas; set BITMMA_PTXAS to its path, or add it to PATH");
        return;
    }
    let all = std::env::var("BITMMA_TESTS").is_ok_and(|tests| tests == "all");
    let (mut here, mut tried) = (vec![], 0);
    for family in FAMILIES {
        instructions(family, |line| {
            tried += 1;
            if (all || tried % SAMPLED == 0) && runs_here(&line) {
                here.push(line);
            }
        });
    }
    if let Some(file) = std::env::var_os("BITMMA_PROBE_HERE") {
        std::fs::write(file, here.join("\n")).expect("a list");
    }
    let mut rejected = here.clone();
    let targets = [
        ("8.7", "sm_90a"),
        ("8.7", "sm_100a"),
        ("8.7", "sm_80"),
        ("8.7", "sm_120a"),
        ("8.8", "sm_100a"),
        ("9.1", "sm_80"), // volatile local memory
    ];
    let mut asked = 0;
    for (ptxas, target) in found.iter().flat_map(|ptxas| targets.map(|target| (ptxas, target))) {
        if !compiles(ptxas, target) {
            continue;
        }
        asked += 1;
        let mut good = HashSet::new();
        rejected.chunks(AT_ONCE).for_each(|lines| accepted(ptxas, target, lines, &mut good));
        rejected.retain(|line| !good.contains(line));
    }
    if asked == 0 {
        eprintln!("skipped: ptxas compiles for none of the targets");
        return;
    }
    eprintln!(
        "{} instructions tried, {} of them run here, {} rejected by ptxas",
        if all { tried } else { tried / SAMPLED },
        here.len(),
        rejected.len()
    );
    if let Some(file) = std::env::var_os("BITMMA_PROBE_LIST") {
        std::fs::write(file, rejected.join("\n")).expect("a list");
    }
    let first: Vec<_> = rejected.iter().take(40).collect();
    assert!(rejected.is_empty(), "{} forms run here and nobody can compile them: {first:#?}", rejected.len());
}
