//! A listing of `nvdisasm -c`, read: instructions of each function with their operands.

use std::collections::HashMap;

/// A register or an immediate with what is done to it before it is used.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Operand {
    pub(super) kind: Kind,
    /// `-x`
    pub(super) negated: bool,
    /// `|x|`, before the sign is turned.
    pub(super) absolute: bool,
    /// `~x` of a register, `!p` of a predicate.
    pub(super) inverted: bool,
    /// What follows the dot, as in `H0_H0`; `reuse` is dropped.
    pub(super) suffixes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// `R7`; `None` is `RZ`.
    Register(Option<usize>),
    /// `UR7`; `None` is `URZ`.
    Uniform(Option<usize>),
    /// `P3`; `None` is `PT`.
    Predicate(Option<usize>),
    /// `UP3`; `None` is `UPT`.
    UniformPredicate(Option<usize>),
    /// `c[0x0][0x160]`, perhaps with a register inside.
    Constant {
        bank: usize,
        register: Option<Box<Kind>>,
        offset: i64,
    },
    /// `[R2.64+UR4+0x10]`: registers, each with whether it is 64 bits wide.
    Address {
        registers: Vec<(Kind, bool)>,
        offset: i64,
    },
    /// An immediate in hexadecimal digits.
    Integer(i64),
    /// Any other immediate, as printed: its format is the instruction's.
    Number(String),
    /// Two immediates of one packed operand, the upper one first.
    Pair(String, String),
    /// `SR_TID.X`
    Special(String),
    Label(String),
    /// `B0`
    Barrier,
    Unknown(String),
}

#[derive(Clone, Debug)]
pub(super) struct Instruction {
    pub(super) address: u64,
    pub(super) guard: Option<Operand>,
    /// The first word, as in `FFMA`.
    pub(super) name: String,
    /// The other words, as in `FTZ`.
    pub(super) modifiers: Vec<String>,
    pub(super) operands: Vec<Operand>,
    /// As printed.
    pub(super) text: String,
}

impl Instruction {
    pub(super) fn has(&self, modifier: &str) -> bool {
        self.modifiers.iter().any(|one| one == modifier)
    }

    /// The whole mnemonic.
    pub(super) fn form(&self) -> String {
        let mut form = self.name.clone();
        for modifier in &self.modifiers {
            form.push('.');
            form.push_str(modifier);
        }
        form
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Function {
    pub(super) instructions: Vec<Instruction>,
    /// Where a label is, among the instructions.
    pub(super) labels: HashMap<String, usize>,
}

impl Function {
    /// The lines, without what fills the last bundle.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        let mut labels: Vec<_> = self.labels.iter().collect();
        labels.sort();
        for (index, instruction) in self.instructions.iter().enumerate() {
            if instruction.name == "NOP" {
                continue;
            }
            for (label, _) in labels.iter().filter(|(_, at)| **at == index) {
                text.push_str(&format!("{label}:\n"));
            }
            text.push_str(&format!("    /*{:04x}*/ {}\n", instruction.address, instruction.text));
        }
        text
    }
}

/// Every function of a listing.
pub(super) fn functions(listing: &str) -> HashMap<String, Function> {
    let mut functions: HashMap<String, Function> = HashMap::new();
    let mut current = String::new();
    for line in listing.lines() {
        if let Some((_, name)) = line.split_once(".section\t.text.") {
            current = name.split(',').next().unwrap_or(name).to_owned();
            functions.insert(current.clone(), Function::default());
            continue;
        }
        let Some(function) = functions.get_mut(&current) else { continue };
        let line = line.trim();
        if let Some(label) = line.strip_suffix(':') {
            function.labels.insert(label.to_owned(), function.instructions.len());
            continue;
        }
        let Some((address, code)) = line.strip_prefix("/*").and_then(|rest| rest.split_once("*/")) else {
            continue;
        };
        let Ok(address) = u64::from_str_radix(address.trim(), 16) else { continue };
        let code = code.split(" ;").next().unwrap_or(code).trim_end_matches(';').trim();
        if !code.is_empty() && !code.starts_with("/*") {
            function.instructions.push(instruction(address, code));
        }
    }
    functions
}

fn instruction(address: u64, text: &str) -> Instruction {
    let (guard, rest) = match text.strip_prefix('@') {
        Some(rest) => {
            let (guard, rest) = rest.split_once(' ').unwrap_or((rest, ""));
            (Some(operand(guard)), rest.trim())
        }
        None => (None, text),
    };
    let (form, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    let mut words = form.split('.').map(str::to_owned);
    let name = words.next().unwrap_or_default();
    let modifiers: Vec<String> = words.collect();
    // RET names a register and, behind it, the function that its address counts from
    let rest = if name == "RET" { rest.split_whitespace().next().unwrap_or("") } else { rest };
    let mut operands: Vec<Operand> =
        rest.split(',').map(str::trim).filter(|one| !one.is_empty()).map(operand).collect();
    if ["HADD2", "HMUL2", "HFMA2", "HMNMX2", "HSETP2", "HSET2"].contains(&name.as_str()) {
        pair(&mut operands);
    }
    Instruction { address, guard, name, modifiers, operands, text: text.to_owned() }
}

/// Joins two immediates in a row, which are the halves of one operand.
fn pair(operands: &mut Vec<Operand>) {
    let text = |operand: &Operand| match &operand.kind {
        Kind::Number(text) => Some(if operand.negated { format!("-{text}") } else { text.clone() }),
        _ => None,
    };
    for at in 0..operands.len().saturating_sub(1) {
        if let (Some(upper), Some(lower)) = (text(&operands[at]), text(&operands[at + 1])) {
            operands[at] = plain(Kind::Pair(upper, lower));
            operands.remove(at + 1);
            return;
        }
    }
}

fn plain(kind: Kind) -> Operand {
    Operand { kind, negated: false, absolute: false, inverted: false, suffixes: vec![] }
}

fn integer(text: &str) -> Option<i64> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    let value = i64::from_str_radix(digits.strip_prefix("0x")?, 16).ok()?;
    Some(if negative { -value } else { value })
}

fn operand(text: &str) -> Operand {
    let text = &text.trim().replace("] [", "][");
    if let Some(label) = text.strip_prefix("`(") {
        return plain(Kind::Label(label.trim_end_matches(')').to_owned()));
    }
    if let Some(value) = integer(text) {
        return plain(Kind::Integer(value));
    }
    if let Some((_, address)) = text.split_once("][").filter(|_| text.starts_with("desc[")) {
        return plain(address_of(address.trim_end_matches(']')));
    }
    if let Some(address) = text.strip_prefix('[') {
        return plain(address_of(address.trim_end_matches(']')));
    }
    let mut rest = text.as_str();
    let mut operand = plain(Kind::Unknown(text.to_owned()));
    loop {
        if let Some(inner) = rest.strip_prefix('-') {
            operand.negated = true;
            rest = inner;
        } else if let Some(inner) = rest.strip_prefix(['!', '~']) {
            operand.inverted = true;
            rest = inner;
        } else {
            break;
        }
    }
    let bare;
    if let Some((inner, behind)) = rest.strip_prefix('|').and_then(|rest| rest.split_once('|')) {
        operand.absolute = true;
        bare = format!("{inner}{behind}");
        rest = &bare;
    }
    if rest.starts_with("SR_") {
        operand.kind = Kind::Special(rest.to_owned());
        return operand;
    }
    if let Some(inside) = rest.strip_prefix("c[") {
        let (inside, suffixes) = inside.rsplit_once(']').unwrap_or((inside, ""));
        operand.kind = constant(inside).unwrap_or(operand.kind);
        operand.suffixes = suffixes_of(suffixes);
        return operand;
    }
    let (stem, suffixes) = rest.split_once('.').unwrap_or((rest, ""));
    if let Some(kind) = register(stem) {
        operand.kind = kind;
        operand.suffixes = suffixes_of(suffixes);
    } else if stem.starts_with(['0', '1', '2', '3', '4', '5', '6', '7', '8', '9']) || is_named_number(rest) {
        operand.kind = Kind::Number(rest.to_owned());
    }
    operand
}

fn is_named_number(text: &str) -> bool {
    ["INF", "QNAN", "SNAN"].contains(&text.trim_start_matches('+'))
}

fn suffixes_of(text: &str) -> Vec<String> {
    text.split('.').filter(|one| !one.is_empty() && *one != "reuse").map(str::to_owned).collect()
}

fn register(text: &str) -> Option<Kind> {
    let numbered = |prefix: &str, zero: &str| -> Option<Option<usize>> {
        if text == zero {
            return Some(None);
        }
        text.strip_prefix(prefix)?.parse().ok().map(Some)
    };
    if let Some(number) = numbered("UR", "URZ") {
        return Some(Kind::Uniform(number));
    }
    if let Some(number) = numbered("UP", "UPT") {
        return Some(Kind::UniformPredicate(number));
    }
    if let Some(number) = numbered("R", "RZ") {
        return Some(Kind::Register(number));
    }
    if let Some(number) = numbered("P", "PT") {
        return Some(Kind::Predicate(number));
    }
    numbered("B", "BZ").map(|_| Kind::Barrier)
}

/// What is between `c[` and the last `]`.
fn constant(inside: &str) -> Option<Kind> {
    let (bank, place) = inside.split_once("][")?;
    let bank = usize::try_from(integer(bank)?).ok()?;
    let (mut base, mut offset) = (None, 0);
    for part in place.split('+') {
        match (integer(part), register(part)) {
            (Some(value), _) => offset += value,
            (None, Some(kind)) if base.is_none() => base = Some(Box::new(kind)),
            _ => return None,
        }
    }
    Some(Kind::Constant { bank, register: base, offset })
}

fn address_of(text: &str) -> Kind {
    let unknown = || Kind::Unknown(format!("[{text}]"));
    let (mut registers, mut offset) = (vec![], 0);
    for part in text.split('+') {
        if let Some(value) = integer(part) {
            offset += value;
            continue;
        }
        let (stem, wide) = match part.split_once('.') {
            Some((stem, "64")) => (stem, true),
            Some((stem, "U32")) => (stem, false),
            Some(_) => return unknown(),
            None => (part, false),
        };
        match register(stem) {
            Some(kind) => registers.push((kind, wide)),
            None => return unknown(),
        }
    }
    Kind::Address { registers, offset }
}
