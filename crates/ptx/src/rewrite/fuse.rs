//! Makes a product and the additions it goes into multiply-adds.

use super::Rewrites;
use crate::text::{Function, Instruction, Operand, Register, RegisterId, Width};

/// An operand of an addition that is a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) product: usize,
    pub(super) addition: usize,
    /// 1 or 2.
    pub(super) operand: usize,
    pub(super) negated: bool,
}

/// Makes each addition a multiply-add of the product's factors.
pub(super) fn fuse(function: &mut Function, product: usize, places: &[Place], rewrites: &mut Rewrites) {
    let factors = match function.instructions[product].name() {
        "mul" => captured(function, product, places),
        name => {
            // the factors of the last multiplication come from an operation of their own
            let name = format!("%{name}");
            let (t, u) = (temporary(function, product), temporary(function, product));
            let instruction = &mut function.instructions[product];
            let rest = instruction.form.find('.').map_or("", |at| &instruction.form[at..]).to_owned();
            instruction.form = name + &rest;
            let sources = instruction.operands.split_off(1);
            instruction.operands = vec![Operand::Register(t), Operand::Register(u)];
            instruction.operands.extend(sources);
            [Operand::Register(t), Operand::Register(u)]
        }
    };
    let product_line = function.instructions[product].line;
    for place in places {
        let instruction = &mut function.instructions[place.addition];
        multiply_add(instruction, place.operand, factors.clone(), place.negated);
        rewrites.fused.push((product_line, instruction.line));
    }
}

/// Makes an addition a multiply-add of two factors, whose product one of its operands is.
pub(super) fn multiply_add(
    instruction: &mut Instruction,
    operand: usize,
    [a, b]: [Operand; 2],
    negated: bool,
) {
    let subtracts = instruction.name() == "sub";
    let (flush, saturate) = (instruction.has("ftz"), instruction.has("sat"));
    let kind = instruction.form.rsplit('.').next().unwrap_or("f32").to_owned();
    let other = instruction.operands[3 - operand].clone();
    let flags = [(flush, ".ftz"), (saturate, ".sat")];
    let flags: String = flags.iter().filter(|(has, _)| *has).map(|(_, flag)| *flag).collect();
    instruction.form = format!("fma.rn{flags}.{kind}");
    // p - c negates c, c - p the product
    instruction.negate = [negated != (subtracts && operand == 2), subtracts && operand == 1];
    instruction.operands = vec![instruction.operands[0].clone(), a, b, other];
}

/// A register of the same width as the product's result.
fn temporary(function: &mut Function, product: usize) -> RegisterId {
    let width = match &function.instructions[product].operands[0] {
        Operand::Register(id) => function.registers[*id as usize].width,
        _ => Width::Word(32),
    };
    function.registers.push(Register { name: "%fused".to_owned(), width });
    (function.registers.len() - 1) as RegisterId
}

/// The factors of a `mul`, in registers of their own where theirs change before the addition. The `mul` itself goes.
fn captured(function: &mut Function, product: usize, places: &[Place]) -> [Operand; 2] {
    let last = places.iter().map(|place| place.addition).max().unwrap_or(product).max(product);
    let mut factors = [
        function.instructions[product].operands[1].clone(),
        function.instructions[product].operands[2].clone(),
    ];
    let mut moves = vec![];
    for factor in &mut factors {
        let Operand::Register(id) = factor else { continue };
        let changes = function.instructions[product..last]
            .iter()
            .any(|instruction| crate::flow::effects(instruction).0.contains(id));
        if changes {
            let copy = temporary(function, product);
            moves.push((copy, *id));
            *factor = Operand::Register(copy);
        }
    }
    // one instruction is there for each: the product's own place takes the copies, two at most in one
    let wide = matches!(
        function.instructions[product].operands[0],
        Operand::Register(id) if function.registers[id as usize].width == Width::Wide
    );
    let instruction = &mut function.instructions[product];
    match moves.as_slice() {
        [] => {
            instruction.form = "%nothing".to_owned();
            instruction.operands = vec![];
        }
        [(copy, id)] => {
            instruction.form = if wide { "mov.b64" } else { "mov.b32" }.to_owned();
            if let Operand::Register(d) = instruction.operands[0]
                && function.registers[d as usize].width == Width::Word(16)
            {
                instruction.form = "mov.b16".to_owned();
            }
            instruction.operands = vec![Operand::Register(*copy), Operand::Register(*id)];
        }
        moves => {
            instruction.form = "%copy".to_owned();
            let (d, a): (Vec<_>, Vec<_>) =
                moves.iter().map(|(copy, id)| (Operand::Register(*copy), Operand::Register(*id))).unzip();
            instruction.operands = d.into_iter().chain(a).collect();
        }
    }
    factors
}
