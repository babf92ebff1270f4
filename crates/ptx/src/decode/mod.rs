//! Instructions of the text into typed operations, once.

pub(crate) mod form;
mod nest;

use std::collections::{BTreeMap, HashMap, HashSet};

use bitmma_engine::catalogue::Architecture;

use crate::error::Error;
use crate::flow::{Flow, effects};
use crate::guess::first_guesses;
use crate::instruction::compute::{Computation, Computed};
use crate::instruction::row::{self, Made};
use crate::program::{
    Address, Condition, Effects, FALSE, FIRST_PREDICATE, Kernel, Op, Order, Predicate, Preset, Slot, Static,
    Step, TRUE, Type, Wide, Word,
};
use crate::rewrite::{self, Compiler};
use crate::run::{Place, Traced};
use crate::text::{Base, Function, Instruction, Module, Operand, Space, Variable, Width};
use form::Form;

/// Variable v in global or constant memory is at (FIRST_STATIC + v) << REGION_BITS, argument a at (1 + a) << REGION_BITS.
pub(crate) const REGION_BITS: u32 = 36;
pub(crate) const FIRST_STATIC: u64 = 1024;
/// Bytes of all variables in global and constant memory.
const MOST_STATIC: u64 = 1 << 30;
/// Generic addresses of shared and local memory, and of parameters.
pub(crate) const SHARED_WINDOW: u64 = 2040 << REGION_BITS;
pub(crate) const LOCAL_WINDOW: u64 = 2041 << REGION_BITS;
pub(crate) const PARAMETER_WINDOW: u64 = 2042 << REGION_BITS;

/// One entry, for the architecture of the text or another one.
pub(crate) fn kernel(
    module: &Module,
    entry: &Function,
    target: Option<&str>,
    compiler: &Compiler,
) -> Result<Kernel, Error> {
    let target = target.unwrap_or(&module.target);
    let architecture = architecture(target)?;
    let forms = count(entry);
    // a call is refused before its parameters, which have no place
    if let Some(call) = entry.instructions.iter().find(|instruction| instruction.name() == "call") {
        Decoder::new(module, entry, architecture)?.operation(call)?;
    }
    let mut function = entry.clone();
    let rewritten = rewrite::apply(module, &mut function, target, compiler)?;
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
        if let Op::Branch { reconverge, .. } = &mut op {
            *reconverge = flow.reconverge(index);
        }
        steps.push(Step { op, guard, line, settles: 0 });
    }
    for (index, in_block) in first_guesses(&function, &flow) {
        if let Op::Load(access) = &mut steps[index].op {
            access.order = Some(Order { in_block, ..Order::default() });
        }
    }
    for index in 0..steps.len() {
        let Op::Branch { target, reconverge: join, .. } = steps[index].op else { continue };
        let mut turn = steps.get(target as usize..=index).into_iter().flatten();
        let watches = turn.any(|step| step.op.watches());
        let nowhere = only_ends(&steps, join as usize);
        if let Op::Branch { spins, reconverge, .. } = &mut steps[index].op {
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
    let traced = effects.iter().map(|one| decoder.traced(one)).collect();
    let sources = function.instructions.iter().map(|one| (one.line, one.source)).collect();
    let accumulators = nest::find(&mut steps, &flow);
    let touched: Vec<_> = effects.iter().map(|one| decoder.touched(one)).collect();
    nest::settle(&mut steps, &accumulators, &touched);
    let line = function.instructions.last().map_or(function.line, |last| last.line);
    steps.push(Step { op: Op::Exit, guard: None, line, settles: 0 });
    let unwritten = flow.unwritten(&function);
    let mut kernel = decoder.finish(&function, target, steps);
    (kernel.accumulators, kernel.unwritten) = (accumulators, unwritten);
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
        *forms.entry(instruction.form.clone()).or_insert(0) += 1;
    }
    forms.into_iter().collect()
}

pub(crate) struct Decoder<'d> {
    pub(crate) function: &'d Function,
    pub(crate) architecture: Architecture,
    /// Slot of each register.
    slots: Vec<u32>,
    words: u32,
    wides: u32,
    predicates: u32,
    presets: HashMap<Preset, Word>,
    order: Vec<(Word, Preset)>,
    wide_constants: HashMap<u64, Wide>,
    symbols: HashMap<&'d str, (Space, u64)>,
    offsets: Vec<usize>,
    parameter_bytes: usize,
    static_shared: u64,
    dynamic_shared: bool,
    local: u64,
    statics: Vec<Static>,
    pub(crate) multipliers: HashMap<String, std::sync::Arc<crate::matrix::Multiplier>>,
    pub(crate) ordered: bool,
}

impl<'d> Decoder<'d> {
    pub(crate) fn new(
        module: &'d Module,
        function: &'d Function,
        architecture: Architecture,
    ) -> Result<Decoder<'d>, Error> {
        let (mut words, mut wides, mut predicates) = (0, 0, FIRST_PREDICATE);
        let slots = function.registers.iter().map(|register| {
            let next = match register.width {
                Width::Predicate => &mut predicates,
                Width::Word(_) => &mut words,
                Width::Wide => &mut wides,
            };
            *next += 1;
            *next - 1
        });
        let slots = slots.collect();
        let mut decoder = Decoder {
            function,
            architecture,
            slots,
            words,
            wides,
            predicates,
            presets: HashMap::new(),
            order: vec![],
            wide_constants: HashMap::new(),
            symbols: HashMap::new(),
            offsets: vec![],
            parameter_bytes: 0,
            static_shared: 0,
            dynamic_shared: false,
            local: 0,
            statics: vec![],
            multipliers: HashMap::new(),
            ordered: false,
        };
        for parameter in &function.parameters {
            let align = parameter.align as usize;
            let offset = decoder.parameter_bytes.next_multiple_of(align);
            decoder.offsets.push(offset);
            decoder.parameter_bytes = offset + parameter.bytes as usize;
            decoder.symbols.insert(&parameter.name, (Space::Parameter, offset as u64));
        }
        // what has a size first, so that what has none lies behind it
        let variables = module.variables.iter().chain(&function.variables);
        let (sized, open): (Vec<_>, Vec<_>) = variables.partition(|variable| variable.bytes.is_some());
        for variable in sized.into_iter().chain(open) {
            decoder.place(variable)?;
        }
        Ok(decoder)
    }

    fn place(&mut self, variable: &'d Variable) -> Result<(), Error> {
        let Variable { name, space, align, bytes, initial } = variable;
        let at = match space {
            Space::Shared => {
                let at = self.static_shared.next_multiple_of(*align);
                self.dynamic_shared |= bytes.is_none();
                self.static_shared = at + bytes.unwrap_or(0);
                at
            }
            Space::Local => {
                let at = self.local.next_multiple_of(*align);
                self.local = at + bytes.unwrap_or(0);
                at
            }
            _ => {
                let Some(bytes) = *bytes else {
                    return Err(Error::Launch(format!("'{name}' is external: its contents are not known")));
                };
                let all = self.statics.iter().map(|known| known.bytes).sum::<u64>();
                if bytes > MOST_STATIC - all {
                    return Err(Error::Launch(format!(
                        "variable '{name}' has {bytes} bytes of {} memory: all variables together may have {MOST_STATIC}",
                        space.name()
                    )));
                }
                self.statics.push(Static { name: name.clone(), bytes, initial: initial.clone() });
                (FIRST_STATIC + self.statics.len() as u64 - 1) << REGION_BITS
            }
        };
        if self.local > 1 << 19 || self.static_shared > 1 << 28 || self.statics.len() > 1000 {
            return Err(Error::Launch(format!("'{name}' does not fit into {} memory", space.name())));
        }
        self.symbols.insert(name, (*space, at));
        Ok(())
    }

    fn finish(self, function: &Function, target: &str, steps: Vec<Step>) -> Kernel {
        Kernel {
            name: function.name.clone(),
            target: target.to_owned(),
            parameters: function.parameters.clone(),
            offsets: self.offsets,
            parameter_bytes: self.parameter_bytes,
            required_block: function.required_block,
            largest_block: function.largest_block,
            registers: function.registers.clone(),
            steps,
            words: self.words as usize,
            wides: self.wides as usize,
            predicates: self.predicates as usize,
            presets: self.order,
            wide_constants: self.wide_constants.into_iter().map(|(value, slot)| (slot, value)).collect(),
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
        }
    }

    /// The registers that a trace records of an instruction.
    fn traced(&self, effects: &Effects) -> Vec<Traced> {
        let list = if effects.writes.is_empty() { &effects.reads } else { &effects.writes };
        let name = |id: u32| self.function.registers[id as usize].name.as_str().into();
        list.iter().map(|&id| Traced { name: name(id), place: self.register_place(id) }).collect()
    }

    /// The registers that an instruction reads and writes, but predicates.
    fn touched(&self, effects: &Effects) -> Vec<Slot> {
        let slot = |&id| match self.register_place(id) {
            Place::Slot(slot, _) => Some(slot),
            Place::Predicate(_) => None,
        };
        effects.writes.iter().chain(&effects.reads).filter_map(slot).collect()
    }

    fn register_place(&self, id: u32) -> Place {
        let slot = self.slots[id as usize];
        match self.function.registers[id as usize].width {
            Width::Predicate => Place::Predicate(Predicate(slot)),
            Width::Word(bits) => Place::Slot(Slot::Word(Word(slot), bits), bits),
            Width::Wide => Place::Slot(Slot::Wide(Wide(slot)), 64),
        }
    }

    pub(crate) fn operation(&mut self, instruction: &Instruction) -> Result<Op, Error> {
        let row = row::find(instruction)?;
        row.check(instruction, self.architecture)?;
        match row.made {
            Made::Computed(computation) => self.computed(computation(instruction), instruction),
            Made::Refused(why) => Err(Error::unsupported(instruction.line, &instruction.form, why)),
            Made::Decoded(decode) => decode(self, instruction),
            Made::Free(decode) => {
                let mut form = Form::of(instruction);
                let op = decode(self, &mut form, instruction)?;
                form.finish()?;
                Ok(op)
            }
        }
    }

    /// A computation of the operands of an instruction.
    fn computed(&mut self, computation: Computation, at: &Instruction) -> Result<Op, Error> {
        let Computation { d, a: types, constants, .. } = &computation;
        let (wanted, given) = (1 + types.len() + constants, at.operands.len());
        if wanted != given {
            let what = format!("'{}' takes {wanted} operands, not {given}", at.form);
            return Err(Error::syntax(at.line, what));
        }
        let (operands, rest) = at.operands.split_at(1 + types.len());
        if !rest.iter().all(|operand| matches!(operand, Operand::Integer(_))) {
            return Err(Error::unsupported(at.line, &at.form, "its last operand must be a constant"));
        }
        let d = self.typed(&operands[0], *d, at)?;
        let a: Result<_, _> =
            operands[1..].iter().zip(types).map(|(operand, kind)| self.typed(operand, *kind, at)).collect();
        Ok(Op::Computed(Box::new(Computed { a: a?, d, computation })))
    }

    fn wrong(&self, operand: &Operand, expected: &str, instruction: &Instruction) -> Error {
        let given = match operand {
            Operand::Register(id) | Operand::Not(id) => {
                let register = &self.function.registers[*id as usize];
                let bits = match register.width {
                    Width::Predicate => "a predicate".to_owned(),
                    Width::Word(bits) => format!("{bits} bits"),
                    Width::Wide => "64 bits".to_owned(),
                };
                format!("'{}' ({bits})", register.name)
            }
            Operand::Symbol(name, _) => format!("'{name}'"),
            Operand::Special(name) => format!("'%{name}'"),
            Operand::Vector(_) => "a list".to_owned(),
            Operand::Address(..) => "an address".to_owned(),
            _ => "a constant".to_owned(),
        };
        Error::syntax(instruction.line, format!("'{}' takes {expected}, not {given}", instruction.form))
    }

    fn preset(&mut self, preset: Preset) -> Word {
        *self.presets.entry(preset).or_insert_with(|| {
            let word = Word(self.words);
            self.words += 1;
            self.order.push((word, preset));
            word
        })
    }

    pub(crate) fn constant(&mut self, value: u32) -> Word {
        self.preset(Preset::Word(value))
    }

    pub(crate) fn wide_constant(&mut self, value: u64) -> Wide {
        *self.wide_constants.entry(value).or_insert_with(|| {
            self.wides += 1;
            Wide(self.wides - 1)
        })
    }

    /// A new slot for what an operation leaves to another.
    fn special(&mut self, name: &str, instruction: &Instruction) -> Result<Word, Error> {
        let axis = |preset: fn(u8) -> Preset| match name.split_once('.').map(|(_, axis)| axis) {
            Some("x") => Some(preset(0)),
            Some("y") => Some(preset(1)),
            Some("z") => Some(preset(2)),
            _ => None,
        };
        let stem = name.split('.').next().unwrap_or(name);
        let preset = match stem {
            "tid" => axis(Preset::Thread),
            "ntid" => axis(Preset::ThreadCount),
            "ctaid" | "clusterid" => axis(Preset::Block),
            "nctaid" | "nclusterid" => axis(Preset::BlockCount),
            "cluster_ctaid" => axis(|_| Preset::Word(0)),
            "cluster_nctaid" => axis(|_| Preset::Word(1)),
            "cluster_ctarank" | "is_explicit_cluster" => Some(Preset::Word(0)),
            "cluster_nctarank" => Some(Preset::Word(1)),
            "laneid" => Some(Preset::Lane),
            "warpid" => Some(Preset::Warp),
            "nwarpid" => Some(Preset::WarpCount),
            "lanemask_eq" => Some(Preset::MaskEqual),
            "lanemask_lt" => Some(Preset::MaskLess),
            "lanemask_le" => Some(Preset::MaskLessEqual),
            "lanemask_gt" => Some(Preset::MaskGreater),
            "lanemask_ge" => Some(Preset::MaskGreaterEqual),
            "dynamic_smem_size" => Some(Preset::DynamicShared),
            _ => None,
        };
        let Some(preset) = preset else {
            let why = "its value is not determined by the launch";
            return Err(Error::unsupported(instruction.line, &format!("%{name}"), why));
        };
        Ok(self.preset(preset))
    }

    /// A register or constant of up to 32 bits.
    pub(crate) fn word(&mut self, operand: &Operand, instruction: &Instruction) -> Result<Word, Error> {
        match operand {
            Operand::Register(id) => match self.function.registers[*id as usize].width {
                Width::Word(32) => Ok(Word(self.slots[*id as usize])),
                _ => Err(self.wrong(operand, "a register of 32 bits", instruction)),
            },
            Operand::Integer(value) => Ok(self.constant(*value as u32)),
            Operand::Single(bits) => Ok(self.constant(*bits)),
            Operand::Double(bits) => Ok(self.constant((f64::from_bits(*bits) as f32).to_bits())),
            Operand::Special(name) => self.special(name, instruction),
            Operand::Symbol(..) => {
                let at = self.symbol(operand, instruction)?;
                Ok(self.constant(at as u32))
            }
            _ => Err(self.wrong(operand, "a register of 32 bits", instruction)),
        }
    }

    /// The same of 16 bits: constants lose their upper bits.
    pub(crate) fn half(&mut self, operand: &Operand, instruction: &Instruction) -> Result<Word, Error> {
        match operand {
            Operand::Integer(value) => Ok(self.constant(*value as u32 & 0xffff)),
            Operand::Register(id) => match self.function.registers[*id as usize].width {
                Width::Word(8 | 16) => Ok(Word(self.slots[*id as usize])),
                _ => Err(self.wrong(operand, "a register of 16 bits", instruction)),
            },
            _ => self.word(operand, instruction),
        }
    }

    pub(crate) fn wide(&mut self, operand: &Operand, instruction: &Instruction) -> Result<Wide, Error> {
        match operand {
            Operand::Register(id) if self.function.registers[*id as usize].width == Width::Wide => {
                Ok(Wide(self.slots[*id as usize]))
            }
            Operand::Integer(value) => Ok(self.wide_constant(*value)),
            Operand::Double(bits) => Ok(self.wide_constant(*bits)),
            Operand::Symbol(..) => {
                let at = self.symbol(operand, instruction)?;
                Ok(self.wide_constant(at))
            }
            _ => Err(self.wrong(operand, "a register of 64 bits", instruction)),
        }
    }

    /// The address of a variable in its space.
    fn symbol(&self, operand: &Operand, instruction: &Instruction) -> Result<u64, Error> {
        let Operand::Symbol(name, offset) = operand else { return Ok(0) };
        self.address_of(name, *offset, instruction).map(|(_, at)| at)
    }

    /// The space that a variable is in, for addresses without a space.
    pub(crate) fn space_of(&self, name: &str) -> Option<Space> {
        self.symbols.get(name).map(|(space, _)| *space)
    }

    fn address_of(&self, name: &str, offset: i64, instruction: &Instruction) -> Result<(Space, u64), Error> {
        match self.symbols.get(name) {
            Some((space, at)) => Ok((*space, at.wrapping_add_signed(offset))),
            None => Err(Error::syntax(instruction.line, format!("'{name}' is not declared"))),
        }
    }

    /// An operand of a type, whatever its width.
    pub(crate) fn typed(&mut self, operand: &Operand, kind: Type, at: &Instruction) -> Result<Slot, Error> {
        match (operand, kind) {
            (Operand::Integer(_), kind) if kind.float().is_some() => {
                return Err(self.wrong(operand, "a constant of its type, as in 0f3F800000", at));
            }
            (Operand::Single(_) | Operand::Double(_), kind) if kind.is_number() => {
                return Err(self.wrong(operand, "a whole number", at));
            }
            _ => {}
        }
        match kind.bits() {
            64 => Ok(Slot::Wide(self.wide(operand, at)?)),
            32 => Ok(Slot::Word(self.word(operand, at)?, 32)),
            bits => Ok(Slot::Word(self.half(operand, at)?, bits)),
        }
    }

    /// A register of any width, as loads, stores and conversions take it; or a constant of the type.
    pub(crate) fn any(&mut self, operand: &Operand, kind: Type, at: &Instruction) -> Result<Slot, Error> {
        match operand {
            Operand::Register(id) => match self.function.registers[*id as usize].width {
                Width::Word(bits) => Ok(Slot::Word(Word(self.slots[*id as usize]), bits)),
                Width::Wide => Ok(Slot::Wide(Wide(self.slots[*id as usize]))),
                Width::Predicate => Err(self.wrong(operand, "a register that is no predicate", at)),
            },
            Operand::Sink => Ok(Slot::Sink),
            _ => self.typed(operand, kind, at),
        }
    }

    /// A list of registers, or one alone.
    pub(crate) fn list(
        &mut self,
        operand: &Operand,
        kind: Type,
        at: &Instruction,
    ) -> Result<Box<[Slot]>, Error> {
        match operand {
            Operand::Vector(list) => list.iter().map(|operand| self.any(operand, kind, at)).collect(),
            _ => Ok(Box::new([self.any(operand, kind, at)?])),
        }
    }

    pub(crate) fn predicate(&mut self, operand: &Operand, at: &Instruction) -> Result<Predicate, Error> {
        match operand {
            Operand::Register(id) if self.function.registers[*id as usize].width == Width::Predicate => {
                Ok(Predicate(self.slots[*id as usize]))
            }
            _ => Err(self.wrong(operand, "a predicate", at)),
        }
    }

    /// A predicate that nothing reads.
    pub(crate) fn unused(&mut self) -> Predicate {
        self.predicates += 1;
        Predicate(self.predicates - 1)
    }

    /// A predicate to read: a constant and `!%p` too.
    pub(crate) fn condition(&mut self, operand: &Operand, at: &Instruction) -> Result<Condition, Error> {
        match operand {
            Operand::Not(id) => {
                let predicate = self.predicate(&Operand::Register(*id), at)?;
                Ok(Condition { predicate, negated: true })
            }
            Operand::Integer(value) => {
                Ok(Condition { predicate: if *value == 0 { FALSE } else { TRUE }, negated: false })
            }
            _ => Ok(Condition { predicate: self.predicate(operand, at)?, negated: false }),
        }
    }

    /// `[base + offset]`; addresses of variables are constants.
    pub(crate) fn address(&mut self, operand: &Operand, at: &Instruction) -> Result<Address, Error> {
        let Operand::Address(base, offset) = operand else {
            return Err(self.wrong(operand, "an address in brackets", at));
        };
        match base {
            Base::Register(id) => {
                let base = self.any(&Operand::Register(*id), Type::B64, at)?;
                Ok(Address { base, offset: *offset })
            }
            Base::Symbol(name) => {
                let (_, address) = self.address_of(name, *offset, at)?;
                Ok(Address { base: Slot::Sink, offset: address as i64 })
            }
            Base::None => Ok(Address { base: Slot::Sink, offset: *offset }),
        }
    }

    /// `d|p`: the register and the predicate; either may be missing.
    pub(crate) fn with_predicate<'o>(
        &mut self,
        operand: &'o Operand,
        at: &Instruction,
    ) -> Result<(&'o Operand, Option<Predicate>), Error> {
        match operand {
            Operand::Pair(d, p) if **p == Operand::Sink => Ok((d, None)),
            Operand::Pair(d, p) => Ok((d, Some(self.predicate(p, at)?))),
            _ => Ok((operand, None)),
        }
    }
}
