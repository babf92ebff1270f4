//! What the code says of each addition: whether it is fused, and with which product.

use std::collections::{BTreeSet, HashMap};

use super::super::contract::{is_product, multiplies, rounds};
use super::super::evaluate;
use super::super::known::known;
use super::super::normal::Normal;
use super::super::origin::{Origin, kind, origin};
use super::super::uses::Uses;
use super::alike::alike_in_turns;
use super::sass::{Listing, Sass, Value, value};
use super::scaled::power;
use crate::error::Doubt;
use crate::instruction::narrow::to_half;
use crate::program::Type;
use crate::text::{Function, Instruction, Operand};

/// What the code says.
#[derive(Default)]
pub(super) struct Decisions {
    pub(super) fused: Vec<Fusion>,
    pub(super) doubts: Vec<Doubt>,
}

/// An addition and the operand that is a product, or one of several products, there.
#[derive(Clone, Debug)]
pub(super) struct Fusion {
    pub(super) addition: usize,
    /// 1 or 2.
    pub(super) operand: usize,
    pub(super) origin: Origin,
}

/// What a copy of an addition in the code is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Copy {
    /// An addition.
    Plain,
    /// A multiply-add, with the operand of the addition that is its product.
    Fused(usize),
    /// A multiply-add of one product or another.
    Unclear,
}

struct Deciding<'d> {
    function: &'d Function,
    uses: &'d Uses,
    listing: &'d Listing<'d>,
    alike: Vec<usize>,
    turns: HashMap<usize, (usize, BTreeSet<usize>)>,
}

/// `dropped`: whether an instruction is known to be nothing in the code, because it is never reached. `normal`: the function with
/// its loops unrolled, if it has any.
pub(super) fn decide(
    function: &Function,
    uses: &Uses,
    (live, alike): (&[bool], Vec<usize>),
    listing: &Listing<'_>,
    dropped: &dyn Fn(usize) -> bool,
    normal: Option<&Normal>,
) -> Decisions {
    let turns = normal.map(alike_in_turns).unwrap_or_default();
    let deciding = Deciding { function, uses, listing, alike, turns };
    let mut decisions = Decisions::default();
    for addition in 0..function.instructions.len() {
        let instruction = &function.instructions[addition];
        if !matches!(instruction.name(), "add" | "sub")
            || rounds(instruction)
            || evaluate::kind(instruction).and_then(Type::float).is_none()
            || !live[addition]
        {
            continue;
        }
        if let Err(why) = deciding.addition(addition, &mut decisions)
            && !(listing.of(addition).is_empty() && dropped(addition))
        {
            let instruction = &function.instructions[addition];
            decisions.doubts.push(Doubt { line: instruction.line, form: instruction.form.clone(), why });
        }
    }
    decisions
}

impl Deciding<'_> {
    /// Decides about one. Else why that is not possible.
    fn addition(&self, addition: usize, decisions: &mut Decisions) -> Result<(), String> {
        let instruction = &self.function.instructions[addition];
        let origins = [1, 2].map(|operand| {
            let operand = &instruction.operands[operand];
            origin(self.function, self.uses, addition, operand, instruction)
        });
        let is_candidate = |origin: &Origin| {
            let product = |at: usize| self.is_product(at, instruction);
            (!origin.leaves.is_empty()
                && origin.leaves.iter().all(|(at, _)| product(*at))
                && origin.constants.is_empty())
            .then_some(!origin.open)
            .or_else(|| origin.leaves.iter().any(|(at, _)| product(*at)).then_some(false))
        };
        let candidates = [0, 1].map(|index| is_candidate(&origins[index]));
        if candidates == [None, None] {
            let fused = self.listing.of(addition).iter().any(|at| self.multiply_add(*at));
            // what is packed again may be a product, if there is one, and the code may have the addition under another number
            let multiplies = self.function.instructions.iter().any(multiplies);
            let is_packed = |origin: &Origin| {
                origin.leaves.iter().any(|(at, _)| self.function.instructions[*at].name() == "mov")
            };
            if multiplies && self.listing.of(addition).is_empty() && origins.iter().any(is_packed) {
                return Err("nothing in the code that ptxas makes of the text is known to be this addition"
                    .to_owned());
            }
            return match fused {
                true => {
                    Err("ptxas makes it a multiply-add, though none of its operands is known to be a product"
                        .to_owned())
                }
                false => Ok(()),
            };
        }
        let mut copies: BTreeSet<Copy> = BTreeSet::new();
        let own = self.listing.of(addition);
        let merged: Vec<usize>;
        let all = if own.iter().any(|at| self.adds(*at)) {
            own
        } else {
            merged = self.merged(addition);
            &merged
        };
        // of a turn that computes what another instruction does, too, the code may have that one only
        let own = all.iter().filter(|at| self.adds(**at)).count();
        let turns = self.turns.get(&addition).filter(|(count, _)| own < *count);
        let merged = turns.into_iter().flat_map(|(_, others)| others).flat_map(|one| self.listing.of(*one));
        for at in all.iter().chain(merged).copied().filter(|at| self.adds(*at)) {
            copies.insert(self.copy(at, addition, &origins, &candidates));
        }
        let copies: Vec<Copy> = copies.into_iter().collect();
        match copies.as_slice() {
            [] => {
                Err("nothing in the code that ptxas makes of the text is known to be this addition"
                    .to_owned())
            }
            [Copy::Plain] => Ok(()),
            [Copy::Fused(operand)] => {
                let origin = &origins[operand - 1];
                if candidates[operand - 1] != Some(true) {
                    return Err("ptxas makes it a multiply-add of what is not always a product in the text"
                        .to_owned());
                }
                decisions.fused.push(Fusion { addition, operand: *operand, origin: origin.clone() });
                Ok(())
            }
            [Copy::Unclear] => Err("ptxas makes it a multiply-add, of which product is not clear".to_owned()),
            _ => Err(
                "ptxas makes several copies of it, of which some are fused with a product and others are not"
                    .to_owned(),
            ),
        }
    }

    fn is_product(&self, at: usize, addition: &Instruction) -> bool {
        let instruction = &self.function.instructions[at];
        is_product(instruction)
            && kind(instruction) == kind(addition)
            && instruction.has("ftz") == addition.has("ftz")
    }

    /// The code of additions that compute the same.
    fn merged(&self, addition: usize) -> Vec<usize> {
        let first = self.alike[addition];
        let others = (0..self.alike.len()).filter(|other| self.alike[*other] == first && *other != addition);
        others.flat_map(|other| self.listing.of(other).iter().copied()).collect()
    }

    /// Whether an instruction of the code is an addition or a multiply-add of floats.
    fn adds(&self, at: usize) -> bool {
        self.has_name_of_addition(at) && halves(&self.listing.code[at]).is_none()
    }

    /// Whether it has the name of one, and may make a constant.
    fn has_name_of_addition(&self, at: usize) -> bool {
        matches!(
            self.listing.code[at].name(),
            "FADD"
                | "DADD"
                | "HADD2"
                | "FADD2"
                | "FFMA"
                | "DFMA"
                | "HFMA2"
                | "FFMA2"
                | "FFMA32I"
                | "UFADD"
                | "UFFMA"
                | "FMUL"
        )
    }

    /// Whether it is one of two factors that are not one, and of what is not zero.
    fn multiply_add(&self, at: usize) -> bool {
        let (_, _, c) = self.factors(at);
        let nothing =
            self.listing.code[at].sources().get(c).is_none_or(|operand| value(operand) == Value::Bits(0));
        !nothing && self.multiplies(at)
    }

    /// Whether it is a multiply-add of two factors that are not one.
    fn multiplies(&self, at: usize) -> bool {
        let one = &self.listing.code[at];
        let is_named = matches!(one.name(), "FFMA" | "DFMA" | "HFMA2" | "FFMA2" | "FFMA32I" | "UFFMA");
        if !is_named || halves(one).is_some() {
            return false;
        }
        let (a, b, _) = self.factors(at);
        !self.is_one(at, a, one.name()) && !self.is_one(at, b, one.name())
    }

    /// Whether it adds zero to a product as the text does. What is lost below the least number keeps its sign there only if both are
    /// one operation.
    fn adds_zero(&self, at: usize, origins: &[Origin; 2]) -> bool {
        let (_, _, c) = self.factors(at);
        let zero = self.listing.code[at].sources().get(c);
        zero.is_some_and(|operand| value(operand) == Value::Bits(0) && !operand.starts_with('-'))
            && self.multiplies(at)
            && origins.iter().any(|origin| origin.constants.contains(&0))
    }

    /// The operands of a multiply-add; an immediate of packed halves is two.
    fn factors(&self, at: usize) -> (usize, usize, usize) {
        let one = &self.listing.code[at];
        let sources = one.sources();
        let number = |index: usize| {
            one.name() == "HFMA2"
                && sources.get(index).is_some_and(|operand| matches!(value(operand), Value::Number(_)))
                && sources.get(index + 1).is_some_and(|operand| matches!(value(operand), Value::Number(_)))
        };
        let a = 0;
        let b = if number(a) { 2 } else { 1 };
        let c = if number(b) { b + 2 } else { b + 1 };
        (a, b, c)
    }

    /// Whether an operand is one, or minus one.
    fn is_one(&self, at: usize, index: usize, name: &str) -> bool {
        let one = &self.listing.code[at];
        let Some(operand) = one.sources().get(index) else { return false };
        let brain = one.opcode.contains("BF16");
        let bits = |bits: u64| match name {
            "HFMA2" if brain => matches!(bits & 0x7fff_7fff, 0x3f80_3f80 | 0x3f80),
            "HFMA2" => matches!(bits & 0x7fff_7fff, 0x3c00_3c00 | 0x3c00),
            "DFMA" => bits & (u64::MAX >> 1) == 0x3ff0_0000_0000_0000,
            _ => bits & 0x7fff_ffff == 0x3f80_0000,
        };
        match value(operand) {
            // bits, as a listing prints one exactly; of packed halves both
            Value::Number(number) => {
                let second = one.sources().get(index + 1).map(|operand| value(operand));
                let is_one = |number: f64| number.abs().to_bits() == 1f64.to_bits();
                is_one(number)
                    && !matches!(second, Some(Value::Number(second)) if name == "HFMA2" && !is_one(second))
            }
            Value::Bits(value) => bits(value),
            Value::Register(register) => {
                let reaching = self.listing.reaching(at, register);
                !reaching.is_empty()
                    && reaching.iter().all(|definition| self.moved(*definition).is_some_and(bits))
            }
            _ => false,
        }
    }

    /// The bits of a constant that an instruction of the code puts into a register.
    fn moved(&self, at: usize) -> Option<u64> {
        let one = &self.listing.code[at];
        let sources = one.sources();
        match one.name() {
            "MOV" | "UMOV" | "MOV32I" => match value(sources.first()?) {
                Value::Bits(bits) => Some(bits),
                _ => None,
            },
            "IMAD" if one.has("MOV") => match value(sources.get(2)?) {
                Value::Bits(bits) => Some(bits),
                _ => None,
            },
            _ => {
                let [high, low] = halves(one)?;
                let brain = one.opcode.contains("BF16");
                Some(u64::from(half(high, brain)?) << 16 | u64::from(half(low, brain)?))
            }
        }
    }

    fn copy(
        &self,
        at: usize,
        addition: usize,
        origins: &[Origin; 2],
        candidates: &[Option<bool>; 2],
    ) -> Copy {
        if !self.multiply_add(at) && !self.adds_zero(at, origins) {
            return Copy::Plain;
        }
        let (a, b, c) = self.factors(at);
        let mut fitting: Vec<(usize, u32)> = vec![];
        // first all that reaches an operand must fit; then, as a register may hold something else on a way that is never taken,
        // something of it
        for all in [true, false] {
            for operand in [1, 2] {
                if candidates[operand - 1].is_none() {
                    continue;
                }
                let other = self.comes_from(at, c, &origins[2 - operand], all);
                let factors = self.is_product_of(at, a, b, &origins[operand - 1], addition, all);
                let score = u32::from(other) + u32::from(factors);
                if score > 0 {
                    fitting.push((operand, score));
                }
            }
            if !fitting.is_empty() {
                break;
            }
        }
        fitting.sort_by_key(|(_, score)| std::cmp::Reverse(*score));
        match fitting.as_slice() {
            [] => Copy::Unclear,
            [(operand, _)] => Copy::Fused(*operand),
            [(operand, first), (_, second)] if first > second => Copy::Fused(*operand),
            // either is the same product: of a difference the signs say which is multiplied again
            [(operand, _), ..] if self.same(&origins[0], &origins[1]) => {
                match self.function.instructions[addition].name() {
                    "sub" => self.signs(at, origins).map_or(Copy::Unclear, Copy::Fused),
                    _ => Copy::Fused(*operand),
                }
            }
            _ => Copy::Unclear,
        }
    }

    /// Of a difference of a product and itself the operand that is fused: the first is multiplied again if the product is added to
    /// what is negative. None where the signs are not known.
    fn signs(&self, at: usize, origins: &[Origin; 2]) -> Option<usize> {
        let is_plain =
            |origin: &Origin| origin.steps.is_empty() && origin.leaves.iter().all(|(_, negated)| !negated);
        if !origins.iter().all(is_plain) {
            return None;
        }
        let (a, b, c) = self.factors(at);
        let sources = self.listing.code[at].sources();
        let Value::Register(register) = value(sources.get(c)?) else { return None };
        let &[product] = self.listing.reaching(at, register).as_slice() else { return None };
        let [x, y] = self.listing.code[product].sources() else { return None };
        let is_product = matches!(self.listing.code[product].name(), "FMUL" | "DMUL" | "HMUL2" | "FMUL2")
            && power(&self.listing.code[product]).is_none();
        let minus = |operand: &str| operand.starts_with('-');
        let multiplied = minus(sources.get(a)?) != minus(sources.get(b)?);
        let kept = minus(x) != minus(y);
        match (multiplied == kept, minus(sources.get(c)?)) {
            (true, true) if is_product => Some(1),
            (false, false) if is_product => Some(2),
            _ => None,
        }
    }

    fn same(&self, one: &Origin, other: &Origin) -> bool {
        let leaves = |origin: &Origin| -> BTreeSet<(usize, bool)> {
            origin.leaves.iter().map(|(at, negated)| (self.alike[*at], *negated)).collect()
        };
        leaves(one) == leaves(other)
    }

    /// Whether an operand of the code is what an operand of the text is, as far as its instructions are known.
    fn comes_from(&self, at: usize, index: usize, origin: &Origin, all: bool) -> bool {
        let Some(operand) = self.listing.code[at].sources().get(index) else { return false };
        let accepted: BTreeSet<usize> = origin.passed.iter().map(|one| self.alike[*one]).collect();
        self.is_of(at, operand, &accepted, origin, all, &mut BTreeSet::new())
    }

    fn is_of(
        &self,
        at: usize,
        operand: &str,
        accepted: &BTreeSet<usize>,
        origin: &Origin,
        all: bool,
        seen: &mut BTreeSet<usize>,
    ) -> bool {
        match value(operand) {
            Value::Number(_) | Value::Bits(_) => {
                !origin.constants.is_empty() || origin.leaves.iter().any(|(leaf, _)| self.is_folded(*leaf))
            }
            Value::Bank => {
                !origin.constants.is_empty()
                    || origin.leaves.iter().any(|(leaf, _)| {
                        let instruction = &self.function.instructions[*leaf];
                        instruction.name() == "ld" && (instruction.has("param") || instruction.has("const"))
                            || self.is_folded(*leaf)
                    })
            }
            Value::Register(register) => {
                let reaching = self.listing.reaching(at, register);
                let mut fits = |definition: &usize| {
                    if !seen.insert(*definition) {
                        return all;
                    }
                    let one = &self.listing.code[*definition];
                    if let Some(half) = self.packed(*definition, operand) {
                        return half.is_some_and(|source| {
                            self.is_of(*definition, source, accepted, origin, all, seen)
                        });
                    }
                    if one.number.is_some_and(|number| self.is_any_of(*definition, number, accepted)) {
                        return true;
                    }
                    let moves = match one.name() {
                        // a parameter or a constant may be loaded first
                        "MOV" | "UMOV" | "R2UR" | "MOV32I" | "LDC" | "ULDC" | "LDCU" => {
                            one.sources().get(..1)
                        }
                        "IMAD" if one.has("MOV") => one.sources().get(2..3),
                        "SEL" | "FSEL" | "USEL" => one.sources().get(..2),
                        _ => None,
                    };
                    match moves {
                        Some(sources) => {
                            let sources = sources.to_vec();
                            let mut fits =
                                |source: &&str| self.is_of(*definition, source, accepted, origin, all, seen);
                            if all { sources.iter().all(&mut fits) } else { sources.iter().any(&mut fits) }
                        }
                        None => self.moved(*definition).is_some() && !origin.constants.is_empty(),
                    }
                };
                match all {
                    true => !reaching.is_empty() && reaching.iter().all(&mut fits),
                    false => reaching.iter().any(&mut fits),
                }
            }
            Value::Other => false,
        }
    }

    /// Whether an instruction of the code, with its number, is one of several of the text. A scaled product has the number of the
    /// product, and is what scales it.
    fn is_any_of(&self, at: usize, number: usize, accepted: &BTreeSet<usize>) -> bool {
        let first = self.alike[number.min(self.alike.len() - 1)];
        let Some(power) = power(&self.listing.code[at]) else {
            return accepted.contains(&first) && self.may_be(at, number);
        };
        accepted.iter().any(|scaling| {
            let one = &self.function.instructions[*scaling];
            let [_, a, b] = one.operands.as_slice() else { return false };
            let scales = |product: &Operand, by: &Operand| {
                known(self.function, self.uses, *scaling, by) == Some(power.into())
                    && origin(self.function, self.uses, *scaling, product, one)
                        .leaves
                        .iter()
                        .any(|(leaf, negated)| !negated && self.alike[*leaf] == first)
            };
            one.name() == "mul" && (scales(a, b) || scales(b, a))
        })
    }

    /// Of a register into which the code packs two registers the one that an operand takes, where it takes one; None inside where that
    /// is not known. ptxas computes two halves that have a register each in the text by one instruction.
    fn packed(&self, definition: usize, operand: &str) -> Option<Option<&str>> {
        let one = &self.listing.code[definition];
        let half = [".H0_H0", ".H1_H1"].iter().position(|half| operand.contains(half))?;
        let [first, how, second] = one.sources() else { return None };
        let both = |operand: &str| matches!(value(operand), Value::Register(_));
        (one.name() == "PRMT" && both(first) && both(second))
            .then(|| (*how == "0x5410").then_some([*first, *second][half]))
    }

    /// Whether an instruction of the code can be what an instruction of the text has become: arithmetic on floats comes from no
    /// load, and may have the number of one where ptxas computes two halves at once.
    fn may_be(&self, at: usize, number: usize) -> bool {
        !(self.has_name_of_addition(at) || matches!(self.listing.code[at].name(), "HMUL2" | "DMUL" | "FMUL2"))
            || self
                .function
                .instructions
                .get(number)
                .is_some_and(|instruction| !matches!(instruction.name(), "ld" | "mov" | "cvta" | "setp"))
    }

    /// Whether an instruction of the text is not in the code.
    fn is_folded(&self, at: usize) -> bool {
        self.listing.of(at).is_empty()
    }

    /// Whether two operands of the code are the factors of the products that an operand of the text is.
    fn is_product_of(
        &self,
        at: usize,
        a: usize,
        b: usize,
        origin: &Origin,
        addition: usize,
        all: bool,
    ) -> bool {
        let instruction = &self.function.instructions[addition];
        origin.leaves.iter().any(|(product, _)| {
            if !self.is_product(*product, instruction) {
                return false;
            }
            let one = &self.function.instructions[*product];
            let own =
                || Origin { passed: BTreeSet::from([*product]), constants: vec![0], ..Origin::default() };
            match (one.name(), one.operands.as_slice()) {
                ("mul", [_, x, y]) => {
                    let of = |operand: &Operand| origin_of(self, *product, operand);
                    let (x, y) = (of(x), of(y));
                    self.comes_from(at, a, &x, all) && self.comes_from(at, b, &y, all)
                        || self.comes_from(at, a, &y, all) && self.comes_from(at, b, &x, all)
                }
                (_, [_, x, ..]) => {
                    // of a division: the scaled numerator, and the reciprocal
                    let mut x = origin_of(self, *product, x);
                    let mut strict = own();
                    strict.constants.clear();
                    let inner = self.comes_from(at, a, &strict, all) || self.comes_from(at, b, &strict, all);
                    x.passed.insert(*product);
                    x.constants.push(0);
                    inner && self.comes_from(at, a, &x, all) && self.comes_from(at, b, &x, all)
                        || self.comes_from(at, a, &x, all) && self.comes_from(at, b, &own(), all)
                        || self.comes_from(at, b, &x, all) && self.comes_from(at, a, &own(), all)
                }
                _ => false,
            }
        })
    }
}

fn origin_of(deciding: &Deciding<'_>, at: usize, operand: &Operand) -> Origin {
    let instruction = &deciding.function.instructions[at];
    let mut origin = origin(deciding.function, deciding.uses, at, operand, instruction);
    if let Some(bits) = known(deciding.function, deciding.uses, at, operand) {
        origin.constants.push(bits);
    }
    origin
}

/// The two halves of a constant that an instruction of the code makes: it multiplies no register.
fn halves(one: &Sass<'_>) -> Option<[f64; 2]> {
    let [a, b, high, low] = one.sources() else { return None };
    let is_zero = |operand: &str| value(operand) == Value::Bits(0);
    match (value(high), value(low)) {
        (Value::Number(high), Value::Number(low)) if one.name() == "HFMA2" && is_zero(a) && is_zero(b) => {
            Some([high, low])
        }
        _ => None,
    }
}

/// The bits of a half that a listing prints.
fn half(number: f64, brain: bool) -> Option<u16> {
    let single = (number as f32).to_bits();
    if brain {
        return (single & 0xffff == 0).then_some((single >> 16) as u16);
    }
    Some(to_half(single) as u16).filter(|code| code & 0x7fff < 0x7c00)
}
