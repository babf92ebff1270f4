//! Instructions of the text into typed operations, once.

pub(crate) mod addresses;
pub(crate) mod decoder;
pub(crate) mod form;
mod fragments;
mod nest;

use std::collections::{BTreeMap, HashSet};

use bitmma_engine::catalogue::Architecture;

use crate::error::Error;
use crate::flow::{Flow, effects};
use crate::guess::first_guesses;
use crate::program::{Condition, Effects, Kernel, Op, Order, Step};
use crate::rewrite::{self, Compiler};
use crate::text::{Function, Instruction, Module, Operand, expanded, inlined};
use addresses::Addresses;
use decoder::Decoder;

/// One entry, for the architecture of the text or another one.
pub(crate) fn kernel(
    module: &Module,
    entry: &Function,
    target: Option<&str>,
    compiler: &Compiler,
) -> Result<Kernel, Error> {
    let target = target.unwrap_or(&module.target);
    let architecture = architecture(target)?;
    let mut function = inlined(module, entry)?;
    let forms = count(&function);
    let rewritten = rewrite::apply(module, &mut function, target, compiler)?;
    expanded(&mut function)?;
    let flow = Flow::of(&function.instructions);
    let mut decoder = Decoder::new(module, &function, architecture)?;
    let mut steps = Vec::with_capacity(function.instructions.len() + 1);
    for (index, instruction) in function.instructions.iter().enumerate() {
        let line = instruction.line;
        let guard = match instruction.guard {
            Some((register, negated)) => {
                let predicate = decoder.predicate(&Operand::Register(register), instruction)?;
                Some(Condition { predicate, negated })
            }
            None => None,
        };
        let mut op = decoder.operation(instruction)?;
        if let Some((_, reconverge, _)) = op.branch() {
            *reconverge = flow.reconverge(index);
        }
        steps.push(Step { op, guard, line, settles: 0 });
    }
    let guesses = first_guesses(&function, &flow);
    for (index, scope) in &guesses {
        if let Op::Load(access) = &mut steps[*index].op {
            access.order = Some(Order { scope: *scope, guesses: true, ..Order::default() });
        }
    }
    for index in 0..steps.len() {
        let Some((targets, join, _)) = steps[index].op.branch() else { continue };
        let (first, join) = (targets.iter().min().map_or(index, |first| *first as usize), *join);
        let mut turn = steps.get(first..=index).into_iter().flatten();
        let watches = turn.any(|step| step.op.watches());
        let nowhere = only_ends(&steps, join as usize);
        if let Some((_, reconverge, spins)) = steps[index].op.branch() {
            *spins = watches;
            *reconverge = if nowhere { u32::MAX } else { join };
        }
    }
    let effects: Vec<_> = function.instructions.iter().map(effects_of).collect();
    let read: HashSet<_> = effects.iter().flat_map(|one| one.reads.iter().copied()).collect();
    for (step, effects) in steps.iter_mut().zip(&effects) {
        if let Op::Atomic(atomic) = &mut step.op {
            atomic.observes = effects.writes.iter().any(|id| read.contains(id));
        }
    }
    fragments::unfenced(&mut steps, &effects, &function.registers);
    let traced = effects.iter().map(|one| decoder.traced(one)).collect();
    let sources = function.instructions.iter().map(|one| (one.line, one.source)).collect();
    let accumulators = nest::find(&mut steps, &flow);
    let touched: Vec<_> = effects.iter().map(|one| decoder.touched(one)).collect();
    nest::settle(&mut steps, &accumulators, &touched);
    let line = function.instructions.last().map_or(function.line, |last| last.line);
    steps.push(Step { op: Op::Exit, guard: None, line, settles: 0 });
    let unwritten = flow.unwritten(&function);
    let mut kernel = decoder.finish(&function, target, steps);
    (kernel.accumulators, kernel.unwritten, kernel.guesses) = (accumulators, unwritten, !guesses.is_empty());
    kernel.addresses = Addresses::of(&function);
    kernel.doubts = rewritten.doubts.clone();
    kernel.rewrites = rewritten;
    kernel.forms = forms;
    (kernel.traced, kernel.sources, kernel.effects) = (traced, sources, effects);
    Ok(kernel)
}

/// Whether lanes do nothing more from a step on than to end. They do not wait for others there: ptxas makes an exit of a branch to
/// `ret`, and barriers do not wait for lanes that have ended.
fn only_ends(steps: &[Step], mut at: usize) -> bool {
    // as many steps as there are, unless it is an endless loop
    for _ in steps {
        let Some(step) = steps.get(at) else { return true };
        match step.op {
            Op::Exit if step.guard.is_none() => return true,
            Op::Branch { target, .. } if step.guard.is_none() => at = target as usize,
            _ if step.op.only_writes_registers() => at += 1,
            _ => return false,
        }
    }
    at >= steps.len()
}

fn effects_of(instruction: &Instruction) -> Effects {
    let (writes, reads) = effects(instruction);
    Effects { reads: reads.into(), writes: writes.into() }
}

/// The architecture of a target such as `sm_90a`.
pub(crate) fn architecture(target: &str) -> Result<Architecture, Error> {
    let found = target.starts_with("sm_").then(|| target.parse::<Architecture>().ok()).flatten();
    found.ok_or_else(|| Error::Launch(format!("unknown target '{target}'; expected one such as sm_90a")))
}

/// Forms with how often they occur.
fn count(function: &Function) -> Vec<(String, u32)> {
    let mut forms = BTreeMap::new();
    for instruction in &function.instructions {
        *forms.entry(instruction.written().to_owned()).or_insert(0) += 1;
    }
    forms.into_iter().collect()
}

impl Decoder<'_> {
    fn finish(self, function: &Function, target: &str, steps: Vec<Step>) -> Kernel {
        Kernel {
            name: function.name.clone(),
            target: target.to_owned(),
            architecture: self.architecture,
            parameters: function.parameters.clone(),
            offsets: self.offsets,
            parameter_bytes: self.parameter_bytes,
            required_block: function.required_block,
            largest_block: function.largest_block,
            cluster: function.cluster,
            registers: function.registers.clone(),
            steps,
            words: self.words as usize,
            wides: self.wides as usize,
            predicates: self.predicates as usize,
            presets: self.order,
            wide_constants: self
                .wide_constants
                .into_iter()
                .map(|((value, in_shared), slot)| (slot, value, in_shared))
                .collect(),
            static_shared: self.static_shared,
            dynamic_shared: self.dynamic_shared,
            local: self.local,
            statics: self.statics,
            accumulators: vec![],
            unwritten: vec![],
            doubts: vec![],
            forms: vec![],
            effects: vec![],
            traced: vec![],
            sources: vec![],
            rewrites: rewrite::Rewrites::default(),
            ordered: self.ordered,
            guesses: false,
            addresses: Addresses::default(),
        }
    }
}
