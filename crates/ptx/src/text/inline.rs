//! Calls of device functions: the instructions of the function take the place of each call.

use std::collections::{HashMap, HashSet};

use super::passed::{PRINTS, into_registers};
use super::{Base, Formal, Function, Instruction, Module, Operand, Passed, RegisterId, Variable, Width};
use crate::error::Error;

/// Instructions of an entry with all that it calls, at most.
const MOST: usize = 1 << 20;

/// An entry with the device functions that it calls.
pub(crate) fn inlined(module: &Module, entry: &Function) -> Result<Function, Error> {
    if !entry.instructions.iter().any(|instruction| instruction.name() == "call") {
        return Ok(entry.clone());
    }
    let mut inliner =
        Inliner { module, function: entry.clone(), callers: vec![], count: 0, placed: HashSet::new() };
    let names = Names { registers: (0..entry.registers.len() as u32).collect(), symbols: HashMap::new() };
    let (instructions, rolled) = inliner.expand(entry, &names)?;
    let mut function = Function { instructions, rolled, ..inliner.function };
    into_registers(&mut function)?;
    Ok(function)
}

struct Inliner<'m> {
    module: &'m Module,
    /// With what has been put into it.
    function: Function,
    /// The functions that a call is within.
    callers: Vec<&'m str>,
    count: usize,
    /// Functions whose variables the entry has.
    placed: HashSet<&'m str>,
}

/// Instructions, and those before which a pragma stands.
type Expanded = (Vec<Instruction>, Vec<usize>);

/// An instruction, or what a call becomes.
enum Piece {
    One(Instruction),
    Call(Expanded),
}

/// What the registers, variables and what is passed of a function are in the entry.
struct Names {
    registers: Vec<RegisterId>,
    symbols: HashMap<String, String>,
}

impl Names {
    fn rename(&self, operand: &mut Operand) {
        let symbol = |name: &mut String| {
            if let Some(known) = self.symbols.get(name) {
                name.clone_from(known);
            }
        };
        match operand {
            Operand::Register(id) | Operand::Not(id) | Operand::Address(Base::Register(id), _) => {
                *id = self.registers[*id as usize];
            }
            Operand::Symbol(name, _) | Operand::Address(Base::Symbol(name), _) => symbol(name),
            Operand::Vector(all) => all.iter_mut().for_each(|operand| self.rename(operand)),
            Operand::Pair(a, b) => [a, b].into_iter().for_each(|operand| self.rename(operand)),
            _ => {}
        }
    }
}

impl<'m> Inliner<'m> {
    /// The instructions of a function.
    fn expand(&mut self, of: &'m Function, names: &Names) -> Result<Expanded, Error> {
        let mut pieces = vec![];
        for instruction in &of.instructions {
            self.count += 1;
            if self.count > MOST {
                let what = format!("the entry and what it calls have more than {MOST} instructions");
                return Err(Error::syntax(instruction.line, what));
            }
            let mut one = instruction.clone();
            one.operands.iter_mut().for_each(|operand| names.rename(operand));
            if let Some((guard, _)) = &mut one.guard {
                *guard = names.registers[*guard as usize];
            }
            if one.name() == "ret" && !self.callers.is_empty() {
                one = one.made("bra", vec![Operand::Label(of.instructions.len())]);
            }
            let piece = if one.name() == "call" { self.call(one)? } else { Piece::One(one) };
            pieces.push(piece);
        }
        let mut places = vec![];
        let mut at = 0;
        for piece in &pieces {
            places.push(at);
            at += if let Piece::Call((all, _)) = piece { all.len() } else { 1 };
        }
        places.push(at);
        let mut all = Vec::with_capacity(at);
        let mut rolled: Vec<usize> = of.rolled.iter().map(|at| places[*at]).collect();
        for piece in pieces {
            let first = all.len();
            match piece {
                Piece::One(mut one) => {
                    one.operands.iter_mut().for_each(|operand| operand.retarget(&|target| places[target]));
                    all.push(one);
                }
                Piece::Call((mut inner, inner_rolled)) => {
                    let operands = inner.iter_mut().flat_map(|one| &mut one.operands);
                    operands.for_each(|operand| operand.retarget(&|target| first + target));
                    all.append(&mut inner);
                    rolled.extend(inner_rolled.into_iter().map(|at| first + at));
                }
            }
        }
        Ok((all, rolled))
    }

    /// What a call becomes: itself where the function is one that prints or stops the kernel.
    fn call(&mut self, call: Instruction) -> Result<Piece, Error> {
        let refuse = |why: String| Err(Error::unsupported(call.line, &call.form, why));
        let nothing = Operand::Vector(vec![]);
        let (results, name, arguments) = match call.operands.as_slice() {
            [Operand::Symbol(name, 0)] => (&nothing, name, &nothing),
            [Operand::Symbol(name, 0), arguments @ Operand::Vector(_)] => (&nothing, name, arguments),
            [results @ Operand::Vector(_), Operand::Symbol(name, 0)] => (results, name, &nothing),
            [results @ Operand::Vector(_), Operand::Symbol(name, 0), arguments @ Operand::Vector(_)] => {
                (results, name, arguments)
            }
            _ => return refuse("calls through registers are not".to_owned()),
        };
        if PRINTS.contains(&name.as_str()) {
            return Ok(Piece::One(call));
        }
        let function = match self.module.functions.get_key_value(name) {
            None => return refuse(format!("function '{name}' is not in the text")),
            Some((_, Err((line, what)))) => return Err(Error::syntax(*line, what)),
            Some((name, Ok(_))) if self.callers.contains(&name.as_str()) => {
                return refuse(format!("function '{name}' calls itself"));
            }
            Some((name, Ok(function))) => {
                self.callers.push(name);
                function
            }
        };
        let mut names = self.names(function);
        let (mut before, mut after) = (vec![], vec![]);
        for (is_result, given, list) in [(false, arguments, &mut before), (true, results, &mut after)] {
            let formals = &function.formals[usize::from(!is_result)];
            let Operand::Vector(given) = given else { continue };
            if formals.len() != given.len() {
                let (wanted, given) = (formals.len(), given.len());
                let verb = if is_result { "returns" } else { "takes" };
                let what = format!("'{}' {verb} {wanted} values here, not {given}", function.name);
                return Err(Error::syntax(call.line, what));
            }
            for (formal, given) in formals.iter().zip(given) {
                list.extend(self.pass(&call, function, formal, given, is_result, &mut names)?);
            }
        }
        let (mut body, mut rolled) = self.expand(function, &names)?;
        self.callers.pop();
        let lines = (function.line, function.instructions.last().map_or(function.line, |last| last.line));
        if !self.function.inlined.contains(&lines) {
            self.function.inlined.push(lines);
        }
        let skip = usize::from(call.guard.is_some());
        let first = skip + before.len();
        let end = first + body.len() + after.len();
        let mut all = vec![];
        if let Some((guard, negated)) = call.guard {
            let around = call.made("bra", vec![Operand::Label(end)]);
            all.push(Instruction { guard: Some((guard, !negated)), ..around });
        }
        let operands = body.iter_mut().flat_map(|one| &mut one.operands);
        operands.for_each(|operand| operand.retarget(&|target| first + target));
        rolled.iter_mut().for_each(|at| *at += first);
        for list in [before, body, after] {
            all.extend(list);
        }
        Ok(Piece::Call((all, rolled)))
    }

    /// New registers for a call of a function, and its variables, which are the same for all calls.
    fn names(&mut self, function: &'m Function) -> Names {
        let registers = &mut self.function.registers;
        let first = registers.len() as u32;
        registers.extend(function.registers.iter().cloned());
        let renamed = |name: &String| format!("{name}@{}", function.name);
        if self.placed.insert(&function.name) {
            let variables =
                function.variables.iter().map(|one| Variable { name: renamed(&one.name), ..one.clone() });
            self.function.variables.extend(variables);
        }
        let variables = function.variables.iter().map(|one| (one.name.clone(), renamed(&one.name)));
        let mut symbols: HashMap<String, String> = variables.collect();
        for passed in &function.passed {
            symbols.insert(passed.name.clone(), self.fresh(passed));
        }
        Names { registers: (first..).take(function.registers.len()).collect(), symbols }
    }

    /// Another variable like one that is passed.
    fn fresh(&mut self, like: &Passed) -> String {
        let (stem, _) = like.name.split_once('#').unwrap_or((&like.name, ""));
        let name = format!("{stem}#{}", self.function.passed.len());
        self.function.passed.push(Passed { name: name.clone(), ..like.clone() });
        name
    }

    /// Passes a value to a function, or a result back: what is given for a variable is that variable.
    fn pass(
        &mut self,
        call: &Instruction,
        function: &Function,
        formal: &Formal,
        given: &Operand,
        is_result: bool,
        names: &mut Names,
    ) -> Result<Option<Instruction>, Error> {
        let bytes_of =
            |passed: &[Passed], name: &str| passed.iter().find(|one| one.name == name).map(|one| one.bytes);
        let variable = match given {
            Operand::Symbol(name, 0) => bytes_of(&self.function.passed, name).map(|bytes| (name, bytes)),
            _ => None,
        };
        let at = |name: &String| Operand::Address(Base::Symbol(name.clone()), 0);
        let one = match (formal, variable) {
            (Formal::Passed(formal), Some((name, given))) => {
                let wanted = bytes_of(&function.passed, formal).unwrap_or(given);
                if wanted != given {
                    let what = format!("'{}' takes {wanted} bytes here, not {given}", function.name);
                    return Err(Error::syntax(call.line, what));
                }
                names.symbols.insert(formal.clone(), name.clone());
                return Ok(None);
            }
            (Formal::Passed(formal), None) => {
                let bits = 8 * bytes_of(&function.passed, formal).unwrap_or(4);
                let formal = at(&names.symbols[formal]);
                match is_result {
                    true => call.made(&format!("ld.param.b{bits}"), vec![given.clone(), formal]),
                    false => call.made(&format!("st.param.b{bits}"), vec![formal, given.clone()]),
                }
            }
            (Formal::Register(id), variable) => {
                let kind = match function.registers[*id as usize].width {
                    Width::Predicate => "pred".to_owned(),
                    Width::Word(bits) => format!("b{bits}"),
                    Width::Wide => "b64".to_owned(),
                };
                let register = Operand::Register(names.registers[*id as usize]);
                match (variable, is_result) {
                    (Some((name, _)), true) => {
                        call.made(&format!("st.param.{kind}"), vec![at(name), register])
                    }
                    (Some((name, _)), false) => {
                        call.made(&format!("ld.param.{kind}"), vec![register, at(name)])
                    }
                    (None, true) => call.made(&format!("mov.{kind}"), vec![given.clone(), register]),
                    (None, false) => call.made(&format!("mov.{kind}"), vec![register, given.clone()]),
                }
            }
        };
        // a guard is passed around
        Ok((*given != Operand::Sink).then_some(Instruction { guard: None, ..one }))
    }
}
