//! Machine instructions of integers and predicates.

use std::cmp::Ordering;

use super::evaluate::{Lane, Memory};
use super::listing::{Instruction, Kind, Operand};

impl Lane {
    /// Writes a comparison and its opposite, each combined with a predicate.
    pub(super) fn combine(&mut self, instruction: &Instruction, holds: bool) -> Result<(), String> {
        let operands = instruction.operands.as_slice();
        let other = self.predicate(operands.get(4).ok_or_else(|| instruction.form())?)?;
        let with = |value: bool| {
            if instruction.has("AND") {
                Ok(value && other)
            } else if instruction.has("OR") {
                Ok(value || other)
            } else if instruction.has("XOR") {
                Ok(value != other)
            } else {
                Err(instruction.form())
            }
        };
        let (one, opposite) = (with(holds)?, with(!holds)?);
        self.set_predicate(&operands[0], one)?;
        self.set_predicate(&operands[1], opposite)
    }

    pub(super) fn integer(
        &mut self,
        instruction: &Instruction,
        name: &str,
        memory: &Memory,
    ) -> Result<bool, String> {
        let operands = instruction.operands.as_slice();
        let unknown = || instruction.form();
        let modifiers: Vec<&str> = instruction.modifiers.iter().map(String::as_str).collect();
        let word = |lane: &Lane, at: usize| lane.word(operands.get(at).ok_or_else(unknown)?, Some(memory));
        match name {
            "MOV" | "VIADD" | "IADD" if modifiers.is_empty() || modifiers == ["FILL"] => {
                let bits =
                    if name == "MOV" { word(self, 1)? } else { word(self, 1)?.wrapping_add(word(self, 2)?) };
                let angle = match operands[1].kind {
                    Kind::Register(Some(number)) if name == "MOV" => self.angles[number],
                    _ => None,
                };
                self.set(&operands[0], bits)?;
                if let Kind::Register(Some(number)) = operands[0].kind {
                    self.angles[number] = angle;
                }
            }
            "CS2R" => {
                let [Operand { kind: Kind::Special(what), .. }] = &operands[1..] else {
                    return Err(unknown());
                };
                match (what.as_str(), modifiers.as_slice()) {
                    ("SR_CLOCKLO" | "SRZ", ["32"]) => self.set(&operands[0], 0)?,
                    ("SRZ", []) => self.set_wide(&operands[0], 0)?,
                    _ => return Err(unknown()),
                }
            }
            "S2R" => {
                let Kind::Special(what) = &operands[1].kind else { return Err(unknown()) };
                let bits = match what.as_str() {
                    "SR_TID.X" | "SR_LANEID" => self.number,
                    "SR_TID.Y" | "SR_TID.Z" | "SR_CTAID.X" | "SR_CTAID.Y" | "SR_CTAID.Z" => 0,
                    other => return Err(other.to_owned()),
                };
                self.set(&operands[0], bits)?;
            }
            "IMAD" => match modifiers.as_slice() {
                ["WIDE", "U32"] | ["WIDE"] => {
                    let (a, b) = (word(self, 1)?, word(self, 2)?);
                    let c = self.wide(operands.get(3).ok_or_else(unknown)?, memory)?;
                    let product = if modifiers.len() == 2 {
                        u64::from(a) * u64::from(b)
                    } else {
                        (i64::from(a as i32) * i64::from(b as i32)) as u64
                    };
                    self.set_wide(&operands[0], product.wrapping_add(c))?;
                }
                []
                | ["MOV"]
                | ["MOV", "U32"]
                | ["IADD"]
                | ["U32"]
                | ["SHL", "U32"]
                | ["SHL"]
                | ["IADD", "U32"] => {
                    let bits = word(self, 1)?.wrapping_mul(word(self, 2)?).wrapping_add(word(self, 3)?);
                    let angle = match operands[3].kind {
                        Kind::Register(Some(number)) if modifiers.contains(&"MOV") => self.angles[number],
                        _ => None,
                    };
                    self.set(&operands[0], bits)?;
                    if let Kind::Register(Some(number)) = operands[0].kind {
                        self.angles[number] = angle;
                    }
                }
                _ => return Err(unknown()),
            },
            "IADD3" => {
                let is_predicate = |operand: &Operand| {
                    matches!(operand.kind, Kind::Predicate(_) | Kind::UniformPredicate(_))
                };
                let carries = operands[1..].iter().take_while(|operand| is_predicate(operand)).count();
                let first = 1 + carries;
                let mut sum: u64 = 0;
                for at in first..first + 3 {
                    sum += u64::from(word(self, at)?);
                }
                match modifiers.as_slice() {
                    [] => {}
                    ["X"] => {
                        for operand in &operands[first + 3..] {
                            sum += u64::from(self.predicate(operand)?);
                        }
                    }
                    _ => return Err(unknown()),
                }
                // the carry of a negated operand is another one
                let negated = operands[first..first + 3].iter().any(|operand| operand.negated);
                let written = operands[1..first].iter().any(|operand| {
                    !matches!(operand.kind, Kind::Predicate(None) | Kind::UniformPredicate(None))
                });
                if written && (negated || sum >> 33 != 0) {
                    return Err(format!("the carry of {}", unknown()));
                }
                self.set(&operands[0], sum as u32)?;
                if carries > 0 {
                    self.set_predicate(&operands[1], sum >> 32 != 0)?;
                }
            }
            "LEA" if modifiers.is_empty() && operands.len() == 4 => {
                let bits =
                    word(self, 1)?.checked_shl(word(self, 3)?).unwrap_or(0).wrapping_add(word(self, 2)?);
                self.set(&operands[0], bits)?;
            }
            "LOP3" => {
                let (result, first) = match operands[0].kind {
                    Kind::Predicate(_) | Kind::UniformPredicate(_) => (Some(&operands[0]), 1),
                    _ => (None, 0),
                };
                let table = word(self, first + 4)?;
                let [a, b, c] = [word(self, first + 1)?, word(self, first + 2)?, word(self, first + 3)?];
                let mut bits = 0;
                for index in 0..8 {
                    if table >> index & 1 == 1 {
                        let of = |value: u32, bit: u32| if index >> bit & 1 == 1 { value } else { !value };
                        bits |= of(a, 2) & of(b, 1) & of(c, 0);
                    }
                }
                if modifiers != ["LUT"] {
                    return Err(unknown());
                }
                let other = match operands.get(first + 5) {
                    Some(operand) => self.predicate(operand)?,
                    None => false,
                };
                if let Some(result) = result {
                    self.set_predicate(result, bits != 0 || other)?;
                }
                self.set(&operands[first], bits)?;
            }
            "PLOP3" => {
                let [result, second, a, b, c, table, _] = operands else { return Err(unknown()) };
                if !matches!(second.kind, Kind::Predicate(None) | Kind::UniformPredicate(None)) {
                    return Err(format!("the second result of {}", unknown()));
                }
                let bit = |one: bool, at: u32| u32::from(one) << at;
                let index =
                    bit(self.predicate(a)?, 2) | bit(self.predicate(b)?, 1) | bit(self.predicate(c)?, 0);
                let value = self.word(table, None)? >> index & 1 == 1;
                self.set_predicate(result, value)?;
            }
            "SHF" => {
                let (low, shift, high) = (word(self, 1)?, word(self, 2)?, word(self, 3)?);
                let both = u64::from(low) | u64::from(high) << 32;
                let bits = match modifiers.as_slice() {
                    ["R", "U32", "HI"] => high.checked_shr(shift).unwrap_or(0),
                    ["R", "S32", "HI"] => (high as i32 >> shift.min(31)) as u32,
                    ["L", "U32"] => low.checked_shl(shift).unwrap_or(0),
                    ["R", "U64"] => (both >> shift.min(63)) as u32,
                    ["L", "U64", "HI"] => (both << shift.min(32) >> 32) as u32,
                    _ => return Err(unknown()),
                };
                self.set(&operands[0], bits)?;
            }
            "SEL" if modifiers.is_empty() => {
                let first = self.predicate(operands.get(3).ok_or_else(unknown)?)?;
                let bits = if first { word(self, 1)? } else { word(self, 2)? };
                self.set(&operands[0], bits)?;
            }
            "IMNMX" | "VIMNMX" => {
                let (a, b) = (word(self, 1)?, word(self, 2)?);
                let least = self.predicate(operands.get(3).ok_or_else(unknown)?)?;
                let bits = match (modifiers.as_slice(), least) {
                    (["U32"], true) => a.min(b),
                    (["U32"], false) => a.max(b),
                    ([] | ["S32"], true) => (a as i32).min(b as i32) as u32,
                    ([] | ["S32"], false) => (a as i32).max(b as i32) as u32,
                    _ => return Err(unknown()),
                };
                self.set(&operands[0], bits)?;
            }
            "PRMT" if modifiers.is_empty() => {
                let (a, selector, b) = (word(self, 1)?, word(self, 2)?, word(self, 3)?);
                let bytes = u64::from(a) | u64::from(b) << 32;
                let mut bits = 0;
                for at in 0..4 {
                    let choice = selector >> (4 * at) & 15;
                    let byte = (bytes >> (8 * (choice & 7)) & 0xff) as u32;
                    let byte = if choice & 8 == 0 { byte } else { (byte >> 7) * 0xff };
                    bits |= byte << (8 * at);
                }
                self.set(&operands[0], bits)?;
            }
            "ISETP" => {
                let (a, b) = (word(self, 2)?, word(self, 3)?);
                if modifiers.contains(&"EX") {
                    return Err(unknown());
                }
                let ordering =
                    if modifiers.contains(&"U32") { a.cmp(&b) } else { (a as i32).cmp(&(b as i32)) };
                let holds = holds(modifiers[0], Some(ordering)).ok_or_else(unknown)?;
                self.combine(instruction, holds)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Whether a comparison holds; no ordering where an operand is NaN.
pub(super) fn holds(comparison: &str, ordering: Option<Ordering>) -> Option<bool> {
    use Ordering::{Equal, Greater, Less};
    let (stem, unordered) = match comparison {
        "NUM" => return Some(ordering.is_some()),
        "NAN" => return Some(ordering.is_none()),
        "T" => return Some(true),
        "F" => return Some(false),
        other => match other.strip_suffix('U') {
            Some(stem) => (stem, true),
            None => (other, false),
        },
    };
    let Some(ordering) = ordering else {
        return ["LT", "EQ", "LE", "GT", "NE", "GE"].contains(&stem).then_some(unordered);
    };
    Some(match stem {
        "LT" => ordering == Less,
        "EQ" => ordering == Equal,
        "LE" => ordering != Greater,
        "GT" => ordering == Greater,
        "NE" => ordering != Equal,
        "GE" => ordering != Less,
        _ => return None,
    })
}
