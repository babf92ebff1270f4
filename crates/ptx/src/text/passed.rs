//! What is passed to device functions and returned by them: variables in the text, registers here.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::parser::bytes_of;
use super::{Base, Function, Instruction, Operand, Passed, Register, RegisterId, Space, Variable, Width};
use crate::error::Error;

/// Functions that every kernel may call.
pub(super) const PRINTS: [&str; 2] = ["vprintf", "__assertfail"];

/// A part of a variable: its name, its first byte and its bytes.
type Part = (String, u64, u64);

/// Makes registers of what is passed. A variable whose parts overlap stays one, in local memory.
pub(super) fn into_registers(function: &mut Function) -> Result<(), Error> {
    let sizes: HashMap<String, u64> =
        function.passed.iter().map(|passed| (passed.name.clone(), passed.bytes)).collect();
    let mut all: BTreeSet<Part> = BTreeSet::new();
    for instruction in &function.instructions {
        all.extend(accessed(instruction, &sizes)?);
    }
    // in order, so that a part that overlaps another one overlaps its neighbour
    let overlap = |(one, other): (&Part, &Part)| one.0 == other.0 && other.1 < one.1 + one.2;
    let pairs = all.iter().zip(all.iter().skip(1));
    let in_memory: HashSet<&String> = pairs.filter(|pair| overlap(*pair)).map(|(one, _)| &one.0).collect();
    let mut parts: HashMap<&Part, RegisterId> = HashMap::new();
    for part in all.iter().filter(|part| !in_memory.contains(&part.0)) {
        let (name, at, bytes) = part;
        let name = if *at == 0 { name.clone() } else { format!("{name}+{at}") };
        let width = if *bytes == 8 { Width::Wide } else { Width::Word(8 * *bytes as u32) };
        parts.insert(part, function.registers.len() as RegisterId);
        function.registers.push(Register { name, width });
    }
    for passed in function.passed.iter().filter(|passed| in_memory.contains(&passed.name)) {
        let Passed { name, bytes, align } = passed.clone();
        let (space, initial) = (Space::Local, Ok(vec![]));
        function.variables.push(Variable { name, space, align, bytes: Some(bytes), initial });
    }
    function.replace(|instruction, registers| {
        let accessed = accessed(&instruction, &sizes)?;
        let own: Option<Vec<RegisterId>> = accessed.iter().map(|part| parts.get(part).copied()).collect();
        match own {
            _ if accessed.is_empty() => Ok(vec![instruction]),
            None => {
                let form = instruction.form.replacen(".param::func", ".param", 1);
                let form = form.replacen(".param", ".local", 1);
                Ok(vec![instruction.made(&form, instruction.operands.clone())])
            }
            Some(own) if instruction.name() == "call" => {
                let mut own = own.into_iter();
                let mut call = instruction;
                call.operands.iter_mut().for_each(|list| {
                    let Operand::Vector(list) = list else { return };
                    for operand in list.iter_mut().filter(|one| matches!(one, Operand::Symbol(..))) {
                        *operand = own.next().map_or(Operand::Sink, Operand::Register);
                    }
                });
                Ok(vec![call])
            }
            Some(own) => moves(&instruction, &own, registers),
        }
    })
}

/// The parts of variables that an instruction reads or writes.
fn accessed(instruction: &Instruction, sizes: &HashMap<String, u64>) -> Result<Vec<Part>, Error> {
    let is_passed = |name: &String| sizes.contains_key(name);
    let refuse = |why: &str| Err(Error::unsupported(instruction.line, instruction.written(), why));
    if instruction.name() == "call" {
        let lists = instruction.operands.iter().filter_map(|operand| match operand {
            Operand::Vector(list) => Some(list),
            _ => None,
        });
        let names = lists.flatten().filter_map(|operand| match operand {
            Operand::Symbol(name, 0) if is_passed(name) => Some((name.clone(), 0, sizes[name])),
            _ => None,
        });
        return Ok(names.collect());
    }
    let mut found = vec![];
    for operand in &instruction.operands {
        match operand {
            Operand::Address(Base::Symbol(name), at) if is_passed(name) => {
                if !matches!(instruction.name(), "ld" | "st") {
                    return refuse("it does not take a parameter of a function");
                }
                let mut words = instruction.form.split('.');
                let bytes = words.next_back().and_then(bytes_of).unwrap_or(4);
                let count = words
                    .find_map(|word| word.strip_prefix('v')?.parse().ok().filter(|count| *count <= 8))
                    .unwrap_or(1);
                let (first, size) = (*at as u64, sizes[name]);
                if first.checked_add(bytes * count).is_none_or(|end| end > size) {
                    return refuse(&format!("{} bytes at byte {at} of a parameter of {size}", bytes * count));
                }
                if bytes > 8 {
                    return refuse("values of 128 bits are not passed to functions");
                }
                found.extend((0..count).map(|index| (name.clone(), first + index * bytes, bytes)));
            }
            Operand::Symbol(name, _) if is_passed(name) => {
                return refuse("the address of a parameter of a function is not");
            }
            _ => {}
        }
    }
    Ok(found)
}

/// Moves between the registers of an access and those that hold what is passed.
fn moves(
    access: &Instruction,
    parts: &[RegisterId],
    registers: &[Register],
) -> Result<Vec<Instruction>, Error> {
    let stores = access.name() == "st";
    let Some(data) = access.operands.get(usize::from(stores)) else {
        return Err(Error::syntax(access.line, format!("'{}' takes two operands", access.form)));
    };
    let data = if let Operand::Vector(list) = data { list.as_slice() } else { std::slice::from_ref(data) };
    if data.len() != parts.len() {
        let (wanted, given) = (parts.len(), data.len());
        let what = format!("'{}' takes {wanted} registers, not {given}", access.form);
        return Err(Error::syntax(access.line, what));
    }
    let sign =
        if access.form.rsplit('.').next().is_some_and(|kind| kind.starts_with('s')) { 's' } else { 'u' };
    let bits = |id: RegisterId| match registers[id as usize].width {
        Width::Predicate => 1,
        Width::Word(bits) => bits,
        Width::Wide => 64,
    };
    let mut all = vec![];
    for (part, data) in parts.iter().zip(data).filter(|(_, data)| **data != Operand::Sink) {
        let narrow = bits(*part);
        let wide = if let Operand::Register(id) = data { bits(*id) } else { narrow };
        let part = Operand::Register(*part);
        let (operands, [to, from]) = match stores {
            true => (vec![part, data.clone()], [narrow, wide]),
            false => (vec![data.clone(), part], [wide, narrow]),
        };
        // a register that is too narrow is an error of the move
        let form = match narrow == 8 || wide > narrow {
            true => format!("cvt.{sign}{to}.{sign}{from}"),
            false => format!("mov.b{narrow}"),
        };
        all.push(access.made(&form, operands));
    }
    Ok(all)
}
