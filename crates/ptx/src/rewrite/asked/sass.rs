//! A listing of SASS as a graph: what each instruction reads and writes, and which definitions reach a use.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Registers: general ones from 0, uniform ones from here.
const UNIFORM: u32 = 1 << 16;

/// An instruction.
#[derive(Clone, Debug)]
pub(super) struct Sass<'l> {
    /// Of the PTX instruction that it was compiled from, from 0; None where none is named.
    pub(super) number: Option<usize>,
    /// The predicate, and whether it is negated.
    guard: Option<(&'l str, bool)>,
    /// With its modifiers.
    pub(super) opcode: &'l str,
    pub(super) operands: Vec<&'l str>,
    /// Registers that it writes: the first and how many, from each operand that is a result.
    writes: Vec<(u32, u32)>,
    /// How many operands are results, predicates among them.
    results: usize,
}

/// An operand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    Register(u32),
    /// A number as it is printed.
    Number(f64),
    /// Bits.
    Bits(u64),
    /// Parameters and constants.
    Bank,
    Other,
}

impl Sass<'_> {
    /// The opcode's first word.
    pub(super) fn name(&self) -> &str {
        self.opcode.split('.').next().unwrap_or("")
    }

    pub(super) fn has(&self, modifier: &str) -> bool {
        self.opcode.split('.').skip(1).any(|word| word == modifier)
    }

    /// Operands that are read.
    pub(super) fn sources(&self) -> &[&str] {
        &self.operands[self.results.min(self.operands.len())..]
    }
}

/// What an operand is.
pub(super) fn value(operand: &str) -> Value {
    let negative = operand.starts_with('-');
    let text = operand.trim_start_matches(['-', '|', '~', '!']).trim_end_matches('|');
    if let Some(register) = register(text) {
        return Value::Register(register);
    }
    if text.starts_with("RZ") || text.starts_with("URZ") {
        return Value::Bits(0);
    }
    if text.starts_with("c[") || text.starts_with("cx[") {
        return Value::Bank;
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).map_or(Value::Other, Value::Bits);
    }
    let sign = if negative { -1.0 } else { 1.0 };
    match text {
        "INF" | "+INF" => Value::Number(sign * f64::INFINITY),
        "QNAN" | "+QNAN" | "SNAN" => Value::Number(f64::NAN),
        _ => text.parse().map_or(Value::Other, |number: f64| Value::Number(sign * number)),
    }
}

/// `R12`, `UR4`, with what follows them.
fn register(text: &str) -> Option<u32> {
    let (rest, first) = match text.strip_prefix("UR") {
        Some(rest) => (rest, UNIFORM),
        None => (text.strip_prefix('R')?, 0),
    };
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    (end > 0 && (end == rest.len() || rest[end..].starts_with('.')))
        .then(|| rest[..end].parse::<u32>().ok().map(|number| number + first))?
}

/// Opcodes without a register as a result.
const NO_RESULT: [&str; 38] = [
    "ST",
    "STG",
    "STS",
    "STL",
    "STSM",
    "RED",
    "REDG",
    "REDAS",
    "BAR",
    "BRA",
    "BRX",
    "JMP",
    "JMX",
    "CALL",
    "RET",
    "EXIT",
    "WARPSYNC",
    "DEPBAR",
    "MEMBAR",
    "ERRBAR",
    "NANOSLEEP",
    "LDGSTS",
    "LDGDEPBAR",
    "CCTL",
    "BSSY",
    "BSYNC",
    "BREAK",
    "KILL",
    "NOP",
    "ARRIVES",
    "UTMALDG",
    "UTMASTG",
    "UBLKCP",
    "UTMACMDFLUSH",
    "UTMAPF",
    "STAS",
    "R2P",
    "STT",
];

/// How many registers a result has.
fn width(opcode: &str) -> u32 {
    let mut words = opcode.split('.');
    let name = words.next().unwrap_or("");
    let has = |wanted: &str| opcode.split('.').skip(1).any(|word| word == wanted);
    let second = opcode.split('.').nth(1).unwrap_or("");
    match name {
        "DADD" | "DMUL" | "DFMA" | "DMNMX" | "FADD2" | "FMUL2" | "FFMA2" | "I2F" | "F2F" | "F2I" | "FRND"
        | "CS2R" | "I2D" => {
            let double =
                matches!(name, "DADD" | "DMUL" | "DFMA" | "DMNMX" | "FADD2" | "FMUL2" | "FFMA2" | "I2D")
                    || name == "CS2R" && second != "32"
                    || matches!(second, "F64" | "S64" | "U64");
            1 + u32::from(double)
        }
        "HMMA" | "QMMA" | "OMMA" => {
            if has("F32") {
                4
            } else {
                2
            }
        }
        "IMMA" | "DMMA" | "BMMA" => 4,
        "LDSM" => [("4", 4), ("2", 2)].iter().find(|(word, _)| has(word)).map_or(1, |(_, count)| *count),
        "HGMMA" | "IGMMA" | "QGMMA" => {
            let sizes = opcode.split('.').nth(1).unwrap_or("").split('x').nth(1);
            let n: u32 = sizes.and_then(|n| n.parse().ok()).unwrap_or(256);
            if name != "IGMMA" && has("F16") { n / 4 } else { n / 2 }
        }
        "LDTM" => {
            let count =
                opcode.split('.').filter_map(|word| word.strip_prefix('x')?.parse::<u32>().ok()).next_back();
            count.unwrap_or(1).saturating_mul(if has("16dp256bit") { 4 } else { 1 })
        }
        _ if has("WIDE") => 2,
        _ if has("128") || has("ENL2") => 4,
        _ if has("64") => 2,
        _ => 1,
    }
}

fn instruction<'l>(number: Option<usize>, text: &'l str) -> Sass<'l> {
    let mut text = text;
    let mut guard = None;
    if let Some(rest) = text.strip_prefix('@') {
        let (predicate, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        let negated = predicate.starts_with('!');
        guard = Some((predicate.trim_start_matches('!'), negated));
        text = rest.trim_start();
    }
    let (opcode, rest) = text.split_once(' ').unwrap_or((text, ""));
    let operands: Vec<&str> = rest
        .split(", ")
        .map(|operand| operand.trim().trim_end_matches(".reuse"))
        .filter(|operand| !operand.is_empty())
        .collect();
    let mut one = Sass { number, guard, opcode, operands, writes: vec![], results: 0 };
    if NO_RESULT.contains(&one.name()) {
        return one;
    }
    let is_predicate = |operand: &str| {
        let name = operand.trim_start_matches('U');
        name == "PT"
            || name
                .strip_prefix('P')
                .is_some_and(|rest| rest.len() == 1 && rest.as_bytes()[0].is_ascii_digit())
    };
    // results: a register, with predicates before (a vote, an exchange) or after it (a carry)
    let count = width(opcode);
    let mut at = 0;
    let first = one.operands.first().copied().unwrap_or("");
    if is_predicate(first) {
        at = 1;
        let pair = one.operands.get(1).copied().unwrap_or("");
        if matches!(one.name(), "SHFL" | "ATOM" | "ATOMG" | "ATOMS" | "VOTE" | "MATCH" | "LD" | "LDG") {
            if let Value::Register(register) = value(pair) {
                one.writes.push((register, count));
            }
            at = 2;
        } else if is_predicate(pair) {
            at = 2;
        }
    } else if let Value::Register(register) = value(first) {
        one.writes.push((register, count));
        at = 1;
        if one.has("ENL2")
            && let Some(Value::Register(register)) = one.operands.get(1).map(|operand| value(operand))
        {
            one.writes.push((register, count));
            at = 2;
        }
        while one.operands.get(at).is_some_and(|operand| is_predicate(operand)) && at < 3 {
            at += 1;
        }
    } else if first == "RZ" || first == "URZ" {
        at = 1;
    }
    one.results = at;
    one
}

/// Definitions that reach a use.
type Definitions = Rc<Vec<usize>>;

pub(super) struct Listing<'l> {
    pub(super) code: Vec<Sass<'l>>,
    /// Before each instruction.
    predecessors: Vec<Vec<u32>>,
    /// Instructions of each PTX instruction.
    pub(super) of: HashMap<usize, Vec<usize>>,
    known: RefCell<HashMap<(usize, u32), Definitions>>,
}

impl<'l> Listing<'l> {
    pub(super) fn parse(text: &'l str) -> Listing<'l> {
        let mut code: Vec<Sass<'l>> = vec![];
        let mut labels: HashMap<&str, usize> = HashMap::new();
        for line in text.lines() {
            if let Some((number, rest)) = line.split_once('\t') {
                let number = number.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
                code.push(instruction(number, rest));
            } else {
                labels.insert(line.trim_end_matches(':'), code.len());
            }
        }
        let mut predecessors = vec![vec![]; code.len()];
        let mut edge = |from: usize, to: usize| {
            if let Some(list) = predecessors.get_mut(to) {
                list.push(from as u32);
            }
        };
        let returns: Vec<usize> =
            (0..code.len()).filter(|at| code[*at].name() == "CALL").map(|at| at + 1).collect();
        for (at, one) in code.iter().enumerate() {
            let target = one.operands.iter().find_map(|operand| {
                let name = operand.split_once("`(")?.1.trim_end_matches(')');
                labels.get(name).copied()
            });
            match one.name() {
                // a function that is elsewhere comes back here
                "CALL" if target.is_none() => edge(at, at + 1),
                "BRA" | "JMP" | "CALL" | "WARPSYNC" => target.into_iter().for_each(|target| edge(at, target)),
                "BRX" | "JMX" => labels.values().for_each(|target| edge(at, *target)),
                "RET" => returns.iter().for_each(|target| edge(at, *target)),
                _ => {}
            }
            let leaves =
                matches!(one.name(), "BRA" | "JMP" | "BRX" | "JMX" | "RET" | "EXIT" | "CALL" | "KILL");
            // a branch may have a predicate as an operand, too
            let always = one.guard.is_none_or(|(predicate, negated)| predicate.ends_with("PT") && !negated)
                && !(one.name() == "BRA" && one.operands.len() > 1);
            if !leaves || !always {
                edge(at, at + 1);
            }
        }
        let mut of: HashMap<usize, Vec<usize>> = HashMap::new();
        for (at, one) in code.iter().enumerate() {
            if let Some(number) = one.number {
                of.entry(number).or_default().push(at);
            }
        }
        Listing { code, predecessors, of, known: RefCell::default() }
    }

    /// The instructions of a PTX instruction.
    pub(super) fn of(&self, number: usize) -> &[usize] {
        self.of.get(&number).map_or(&[], Vec::as_slice)
    }

    fn writes(&self, at: usize, register: u32) -> bool {
        self.code[at].writes.iter().any(|(first, count)| (*first..first + count).contains(&register))
    }

    /// The definitions of a register that reach an instruction.
    pub(super) fn reaching(&self, at: usize, register: u32) -> Definitions {
        if let Some(known) = self.known.borrow().get(&(at, register)) {
            return known.clone();
        }
        let mut found = vec![];
        let mut seen = HashSet::new();
        let mut pending: Vec<(u32, Option<(&str, bool)>)> =
            self.predecessors[at].iter().map(|before| (*before, None)).collect();
        while let Some((before, guard)) = pending.pop() {
            if !seen.insert((before, guard)) {
                continue;
            }
            let one = &self.code[before as usize];
            let mut guard = guard;
            if self.writes(before as usize, register) {
                if !found.contains(&(before as usize)) {
                    found.push(before as usize);
                }
                match (one.guard, guard) {
                    (None, _) => continue,
                    // the other half of a pair
                    (Some((predicate, negated)), Some(after)) if (predicate, !negated) == after => continue,
                    (own, _) => guard = own,
                }
            }
            if let Some((predicate, _)) = guard
                && one.operands[..one.results.min(one.operands.len())].contains(&predicate)
            {
                guard = None;
            }
            pending.extend(self.predecessors[before as usize].iter().map(|next| (*next, guard)));
        }
        found.sort_unstable();
        let found = Rc::new(found);
        self.known.borrow_mut().insert((at, register), found.clone());
        found
    }
}
