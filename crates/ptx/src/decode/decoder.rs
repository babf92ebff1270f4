//! Operands of the text into slots and constants, and variables to their places.

use std::collections::{HashMap, HashSet};

use bitmma_engine::catalogue::Architecture;

use crate::error::Error;
use crate::instruction::compute::{Computation, Computed};
use crate::program::{
    Address, Condition, Effects, FALSE, FIRST_PREDICATE, Op, Predicate, Preset, Slot, Static, TRUE, Type,
    Wide, Word,
};
use crate::run::{Place, Traced};
use crate::text::{Base, Function, Instruction, Module, Operand, Space, UPPER_HALF, Variable, Width};

/// Variable v in global or constant memory is at (FIRST_STATIC + v) << REGION_BITS, argument a at (1 + a) << REGION_BITS.
pub(crate) const REGION_BITS: u32 = 36;
pub(crate) const FIRST_STATIC: u64 = 1024;
/// Bytes of all variables in global and constant memory.
const MOST_STATIC: u64 = 1 << 30;
/// Generic addresses of shared and local memory, and of parameters: no process has memory there.
pub(crate) const SHARED_WINDOW: u64 = 4090 << REGION_BITS;
/// An address of shared memory has from this bit on the number of its block in the cluster, the own block's too: what kernels compute
/// with the bits of such addresses (CUTLASS clears one to reach the first block of a pair) reaches the block that it does on a GPU.
pub(crate) const RANK_SHIFT: u32 = 24;
pub(crate) const LOCAL_WINDOW: u64 = 4091 << REGION_BITS;
pub(crate) const PARAMETER_WINDOW: u64 = 4092 << REGION_BITS;

pub(crate) struct Decoder<'d> {
    pub(crate) function: &'d Function,
    pub(crate) architecture: Architecture,
    /// Slot of each register.
    pub(super) slots: Vec<u32>,
    pub(super) words: u32,
    pub(super) wides: u32,
    pub(super) predicates: u32,
    pub(super) presets: HashMap<Preset, Word>,
    pub(super) order: Vec<(Word, Preset)>,
    /// With whether they are addresses of shared memory.
    pub(super) wide_constants: HashMap<(u64, bool), Wide>,
    pub(super) symbols: HashMap<&'d str, (Space, u64)>,
    pub(super) offsets: Vec<usize>,
    pub(super) parameter_bytes: usize,
    pub(super) static_shared: u64,
    pub(super) dynamic_shared: bool,
    pub(super) local: u64,
    pub(super) statics: Vec<Static>,
    pub(crate) multipliers: HashMap<String, std::sync::Arc<crate::matrix::Multiplier>>,
    pub(crate) ordered: bool,
    /// Whether the last operation that left a carry left a borrow; none before the first.
    pub(crate) borrows: Option<bool>,
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
            borrows: None,
        };
        for parameter in &function.parameters {
            let align = parameter.align as usize;
            let offset = decoder.parameter_bytes.next_multiple_of(align);
            decoder.offsets.push(offset);
            decoder.parameter_bytes = offset + parameter.bytes as usize;
            decoder.symbols.insert(&parameter.name, (Space::Parameter, offset as u64));
        }
        // libraries declare thousands of variables that the entry does not name
        let operands = function.instructions.iter().flat_map(|instruction| &instruction.operands);
        let named: HashSet<&str> = operands.flat_map(Operand::symbols).collect();
        let matters = |variable: &&Variable| match variable.space {
            Space::Global | Space::Constant => named.contains(variable.name.as_str()),
            _ => true,
        };
        // what has a size first, so that what has none lies behind it
        let variables = module.variables.iter().chain(&function.variables).filter(matters);
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
                let initial = match initial {
                    Ok(initial) => initial.clone(),
                    Err((line, what)) => return Err(Error::syntax(*line, what)),
                };
                let is_constant = *space == Space::Constant;
                self.statics.push(Static { name: name.clone(), bytes, initial, is_constant });
                (FIRST_STATIC + self.statics.len() as u64 - 1) << REGION_BITS
            }
        };
        if self.local > 1 << 19 || self.static_shared > 1 << 28 || self.statics.len() > 1000 {
            return Err(Error::Launch(format!("'{name}' does not fit into {} memory", space.name())));
        }
        self.symbols.insert(name, (*space, at));
        Ok(())
    }

    /// The address of what the blocks of a cooperative launch meet at, which the driver leaves in two registers.
    fn workspace(&mut self) -> u64 {
        const NAME: &str = "%grid";
        let place = |number: usize| (FIRST_STATIC + number as u64) << REGION_BITS;
        let known = self.statics.iter().position(|one| one.name == NAME);
        place(known.unwrap_or_else(|| {
            self.statics.push(Static {
                name: NAME.to_owned(),
                bytes: 64,
                initial: vec![],
                is_constant: false,
            });
            self.statics.len() - 1
        }))
    }

    /// The registers that a trace records of an instruction.
    pub(super) fn traced(&self, effects: &Effects) -> Vec<Traced> {
        let list = if effects.writes.is_empty() { &effects.reads } else { &effects.writes };
        let name = |id: u32| self.function.registers[id as usize].name.as_str().into();
        list.iter().map(|&id| Traced { name: name(id), place: self.register_place(id) }).collect()
    }

    /// The registers that an instruction reads and writes, but predicates.
    pub(super) fn touched(&self, effects: &Effects) -> Vec<Slot> {
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

    /// A computation of the operands of an instruction.
    pub(crate) fn computed(&mut self, computation: Computation, at: &Instruction) -> Result<Op, Error> {
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

    pub(crate) fn wrong(&self, operand: &Operand, expected: &str, instruction: &Instruction) -> Error {
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
        self.wide_preset(value, false)
    }

    fn wide_preset(&mut self, value: u64, in_shared: bool) -> Wide {
        *self.wide_constants.entry((value, in_shared)).or_insert_with(|| {
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
            "ctaid" => axis(Preset::Block),
            "nctaid" => axis(Preset::BlockCount),
            "clusterid" => axis(Preset::Cluster),
            "nclusterid" => axis(Preset::ClusterCount),
            "cluster_ctaid" => axis(Preset::BlockInCluster),
            "cluster_nctaid" => axis(Preset::BlocksOfCluster),
            "cluster_ctarank" => Some(Preset::Rank),
            "cluster_nctarank" => Some(Preset::RankCount),
            "is_explicit_cluster" => Some(Preset::IsCluster),
            "laneid" => Some(Preset::Lane),
            "warpid" => Some(Preset::Warp),
            "nwarpid" => Some(Preset::WarpCount),
            "lanemask_eq" => Some(Preset::MaskEqual),
            "lanemask_lt" => Some(Preset::MaskLess),
            "lanemask_le" => Some(Preset::MaskLessEqual),
            "lanemask_gt" => Some(Preset::MaskGreater),
            "lanemask_ge" => Some(Preset::MaskGreaterEqual),
            "dynamic_smem_size" => Some(Preset::DynamicShared),
            "total_smem_size" => Some(Preset::Shared),
            // one multiprocessor runs the grid, and its counters stay zero
            "nsmid" => Some(Preset::Word(1)),
            "smid" | "gridid" => Some(Preset::Word(0)),
            "envreg1" | "envreg2" => {
                let at = self.workspace();
                Some(Preset::Word(if stem == "envreg1" { (at >> 32) as u32 } else { at as u32 }))
            }
            _ if stem.starts_with("envreg") || stem.starts_with("pm") && !stem.ends_with("_64") => {
                Some(Preset::Word(0))
            }
            _ => None,
        };
        if !matches!(instruction.name(), "mov" | "cvt") {
            let why = "a special register is read by mov and cvt alone";
            return Err(Error::unsupported(instruction.line, &instruction.form, why));
        }
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
            Operand::Symbol(name, offset) => {
                let (space, at) = self.address_of(name, *offset, instruction)?;
                Ok(match space {
                    Space::Shared => self.preset(Preset::SharedAt(at as u32)),
                    _ => self.constant(at as u32),
                })
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
            Operand::Symbol(name, offset) => {
                let (space, at) = self.address_of(name, *offset, instruction)?;
                Ok(self.wide_preset(at, space == Space::Shared))
            }
            _ => Err(self.wrong(operand, "a register of 64 bits", instruction)),
        }
    }

    /// The space that a variable is in, for addresses without a space.
    pub(crate) fn space_of(&self, name: &str) -> Option<Space> {
        self.symbols.get(name).map(|(space, _)| *space)
    }

    /// The address of a variable in its space.
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
            // of halves there are no constants
            (Operand::Single(_) | Operand::Double(_), kind) if kind.bits() < 32 || kind.is_packed() => {
                return Err(self.wrong(operand, "a register", at));
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

    /// The halves of a register of 128 bits.
    pub(crate) fn halves(&mut self, operand: &Operand, at: &Instruction) -> Result<[Slot; 2], Error> {
        let is_pair = |low: &Operand, high: &Operand| match (low, high) {
            (Operand::Register(low), Operand::Register(high)) => {
                *high == low + 1 && self.function.registers[*high as usize].name.ends_with(UPPER_HALF)
            }
            _ => false,
        };
        match operand {
            Operand::Pair(low, high) if is_pair(low, high) => {
                Ok([self.any(low, Type::B64, at)?, self.any(high, Type::B64, at)?])
            }
            _ => Err(self.wrong(operand, "a register of 128 bits", at)),
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
                let (space, address) = self.address_of(name, *offset, at)?;
                let base = match space {
                    Space::Shared => Slot::Word(self.preset(Preset::SharedAt(0)), 32),
                    _ => Slot::Sink,
                };
                Ok(Address { base, offset: address as i64 })
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
