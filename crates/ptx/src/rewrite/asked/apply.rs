//! Makes additions multiply-adds of products that may be anywhere: in another block, in an earlier turn of a loop, one of several.
//!
//! Where the factors are still in their registers, the addition takes them from there. Else registers of their own follow the
//! product's: wherever a register gets the product, two more get its factors.

use std::collections::{HashMap, HashSet};

use super::super::Rewrites;
use super::super::fuse::multiply_add;
use super::super::list::insert_before;
use super::super::origin::{Part, kind};
use super::super::uses::Uses;
use super::decide::Fusion;
use crate::flow::{Flow, effects};
use crate::text::{Function, Instruction, Operand, Register, RegisterId, Width};

/// A register, or an element of it, that holds a product of a type.
type Holder = (RegisterId, Part, String);

struct Applying<'f> {
    function: &'f mut Function,
    /// Instructions that come before one.
    before: HashMap<usize, Vec<Instruction>>,
    pairs: HashMap<Holder, [RegisterId; 2]>,
    /// Factors of divisions.
    divisions: HashMap<usize, [RegisterId; 2]>,
    /// Holders that are followed already, by the instruction.
    followed: HashSet<(usize, Holder)>,
}

/// `checks`: what comes before some instructions.
pub(super) fn apply(
    function: &mut Function,
    flow: &Flow,
    uses: &Uses,
    fused: &[Fusion],
    checks: HashMap<usize, Vec<Instruction>>,
    rewrites: &mut Rewrites,
) {
    let before: Vec<Instruction> = function.instructions.clone();
    let mut taken: HashMap<usize, Vec<(usize, RegisterId)>> = HashMap::new();
    let mut applying = Applying {
        function,
        before: checks,
        pairs: HashMap::new(),
        divisions: HashMap::new(),
        followed: HashSet::new(),
    };
    for fusion in fused {
        let addition = &before[fusion.addition];
        let kind = kind(addition).to_owned();
        let Operand::Register(register) = addition.operands[fusion.operand] else { continue };
        let straight = straight(fusion, flow, &before);
        let (factors, negated) = match straight {
            Some((product, negated)) => (applying.here(product, fusion.addition, &before), negated),
            None => (applying.carried(fusion, register, &kind, &before), false),
        };
        multiply_add(&mut applying.function.instructions[fusion.addition], fusion.operand, factors, negated);
        for (product, _) in &fusion.origin.leaves {
            rewrites.fused.push((before[*product].line, addition.line));
            taken.entry(*product).or_default().push((fusion.addition, register));
        }
    }
    // a product that nothing else takes is not computed
    for (product, additions) in taken {
        let is_left = |at: usize, register: RegisterId| {
            let instruction = &applying.function.instructions[at];
            !additions.contains(&(at, register)) || effects(instruction).1.contains(&register)
        };
        if !uses.of[product].iter().any(|one| is_left(one.at, one.register)) {
            let instruction = &mut applying.function.instructions[product];
            instruction.form = "%nothing".to_owned();
            instruction.operands = vec![];
        }
    }
    let Applying { function, before, .. } = applying;
    insert_before(function, before);
}

/// The only product of a fusion, and whether it is negated, if it and all between them is in the addition's block before it.
fn straight(fusion: &Fusion, flow: &Flow, instructions: &[Instruction]) -> Option<(usize, bool)> {
    let leaves: Vec<_> = fusion.origin.leaves.iter().collect();
    let [(product, negated)] = leaves.as_slice() else { return None };
    let here = |at: usize| {
        flow.block(at) == flow.block(fusion.addition)
            && (*product..fusion.addition).contains(&at)
            && instructions[at].guard.is_none()
    };
    let mut steps: Vec<usize> = fusion.origin.steps.iter().map(|step| step.at).collect();
    steps.dedup();
    let alone = steps.len() == fusion.origin.steps.len() && !fusion.origin.open;
    (alone && here(*product) && steps.into_iter().all(here)).then_some((*product, *negated))
}

impl Applying<'_> {
    /// The factors of a product that comes before an addition in its block.
    fn here(&mut self, product: usize, addition: usize, instructions: &[Instruction]) -> [Operand; 2] {
        let one = &instructions[product];
        if one.name() != "mul" {
            return self.division(product, instructions).map(Operand::Register);
        }
        let factors = [one.operands[1].clone(), one.operands[2].clone()];
        let changes = |factor: &Operand| match factor {
            Operand::Register(id) => {
                instructions[product..addition].iter().any(|one| effects(one).0.contains(id))
            }
            _ => false,
        };
        if !factors.iter().any(changes) {
            return factors;
        }
        let Operand::Register(register) = one.operands[0] else { return factors };
        let holder = (register, None, format!("{} {product}", kind(one)));
        let pair = self.pair(&holder, kind(one));
        if self.followed.insert((product, holder)) {
            self.copy(product, pair, factors.clone(), kind(one), instructions);
        }
        pair.map(Operand::Register)
    }

    /// Registers that follow the product's from wherever it comes.
    fn carried(
        &mut self,
        fusion: &Fusion,
        register: RegisterId,
        kind: &str,
        instructions: &[Instruction],
    ) -> [Operand; 2] {
        for (product, _) in &fusion.origin.leaves {
            let one = &instructions[*product];
            let Operand::Register(d) = one.operands[0] else { continue };
            let holder = (d, None, kind.to_owned());
            let pair = self.pair(&holder, kind);
            if !self.followed.insert((*product, holder)) {
                continue;
            }
            let factors = match one.name() {
                "mul" => [one.operands[1].clone(), one.operands[2].clone()],
                _ => self.division(*product, instructions).map(Operand::Register),
            };
            self.copy(*product, pair, factors, kind, instructions);
        }
        for step in &fusion.origin.steps {
            let to = (step.to.0, step.to.1, kind.to_owned());
            let from = (step.from.0, step.from.1, kind.to_owned());
            let (to_pair, from_pair) = (self.pair(&to, kind), self.pair(&from, kind));
            if !self.followed.insert((step.at, to)) {
                continue;
            }
            self.copy(step.at, to_pair, from_pair.map(Operand::Register), kind, instructions);
            if step.negates {
                let register = Operand::Register(to_pair[0]);
                let operands = vec![register.clone(), register, Operand::Integer(signs(kind))];
                self.insert_before(step.at, format!("xor.{}", bits(kind)), operands, instructions);
            }
        }
        self.pair(&(register, None, kind.to_owned()), kind).map(Operand::Register)
    }

    fn pair(&mut self, holder: &Holder, kind: &str) -> [RegisterId; 2] {
        if let Some(pair) = self.pairs.get(holder) {
            return *pair;
        }
        let pair = [self.temporary(kind), self.temporary(kind)];
        self.pairs.insert(holder.clone(), pair);
        pair
    }

    fn temporary(&mut self, kind: &str) -> RegisterId {
        let width = match bits(kind) {
            "b16" => Width::Word(16),
            "b32" => Width::Word(32),
            _ => Width::Wide,
        };
        self.function.registers.push(Register { name: "%fused".to_owned(), width });
        (self.function.registers.len() - 1) as RegisterId
    }

    /// The factors of the last multiplication of a division, which come from an operation of their own.
    fn division(&mut self, product: usize, instructions: &[Instruction]) -> [RegisterId; 2] {
        if let Some(pair) = self.divisions.get(&product) {
            return *pair;
        }
        let one = &instructions[product];
        let pair = [self.temporary(kind(one)), self.temporary(kind(one))];
        let rest = one.form.find('.').map_or("", |at| &one.form[at..]);
        let mut operands: Vec<Operand> = pair.map(Operand::Register).into();
        operands.extend(one.operands[1..].iter().cloned());
        self.insert_before(product, format!("%{}{rest}", one.name()), operands, instructions);
        self.divisions.insert(product, pair);
        pair
    }

    fn copy(
        &mut self,
        at: usize,
        to: [RegisterId; 2],
        from: [Operand; 2],
        kind: &str,
        instructions: &[Instruction],
    ) {
        for (to, from) in to.into_iter().zip(from) {
            let operands = vec![Operand::Register(to), from];
            self.insert_before(at, format!("mov.{}", bits(kind)), operands, instructions);
        }
    }

    fn insert_before(
        &mut self,
        at: usize,
        form: String,
        operands: Vec<Operand>,
        instructions: &[Instruction],
    ) {
        let instruction = Instruction { form, operands, negate: [false; 2], ..instructions[at].clone() };
        self.before.entry(at).or_default().push(instruction);
    }
}

/// The type of a move of a type.
fn bits(kind: &str) -> &'static str {
    match kind {
        "f16" | "bf16" => "b16",
        "f64" | "f32x2" => "b64",
        _ => "b32",
    }
}

/// The signs of a type.
fn signs(kind: &str) -> u64 {
    match kind {
        "f16" | "bf16" => 0x8000,
        "f16x2" | "bf16x2" => 0x8000_8000,
        "f64" => 1 << 63,
        "f32x2" => 0x8000_0000_8000_0000,
        _ => 0x8000_0000,
    }
}
