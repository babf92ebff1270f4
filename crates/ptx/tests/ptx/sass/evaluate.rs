//! Runs the machine code of a kernel for one warp, from its listing.
//!
//! Lanes run one after the other up to the next instruction that needs all of them. What is not known is refused by name:
//! a result is never a guess.

use std::cmp::Ordering;

use bitmma_functions::Function as Special;
use bitmma_functions::ptx::Form;
use rustc_apfloat::Round;
use rustc_apfloat::ieee::{BFloat, Double, Half, Single};

use super::arithmetic::{self, Format, Mode};
use super::listing::{Function, Instruction, Kind, Operand};

pub(super) const LANES: usize = 32;
/// Instructions of a lane, at most.
const MOST_STEPS: usize = 100_000;

/// Memory of a launch: buffers at addresses, constant banks.
pub(super) struct Memory {
    /// Address and bytes.
    pub(super) buffers: Vec<(u64, Vec<u8>)>,
    /// By number of the bank.
    pub(super) constants: Vec<(usize, Vec<u8>)>,
    pub(super) shared: Vec<u8>,
}

impl Memory {
    fn place(&self, address: u64, bytes: usize) -> Result<(usize, usize), String> {
        let found = self.buffers.iter().position(|(start, buffer)| {
            address >= *start && address + bytes as u64 <= start + buffer.len() as u64
        });
        let index = found.ok_or_else(|| format!("address {address:#x}"))?;
        Ok((index, (address - self.buffers[index].0) as usize))
    }

    fn constant(&self, bank: usize, offset: i64, bytes: usize) -> Result<u64, String> {
        let data = self.constants.iter().find(|(number, _)| *number == bank).map(|(_, data)| data.as_slice());
        let data = data.ok_or_else(|| format!("constant bank {bank}"))?;
        let place = |byte: usize| data.get((offset + byte as i64) as usize).copied();
        let read = |value: u64, byte: usize| {
            place(byte)
                .map(|one| value | u64::from(one) << (8 * byte))
                .ok_or_else(|| format!("c[{bank:#x}][{offset:#x}]"))
        };
        (0..bytes).try_fold(0, read)
    }
}

#[derive(Clone)]
struct Lane {
    number: u32,
    registers: [u32; 256],
    uniform: [u32; 256],
    predicates: [bool; 8],
    uniform_predicates: [bool; 8],
    /// What registers held before they were multiplied for `MUFU.SIN` and `MUFU.COS`: the model has that multiplication inside.
    angles: [Option<u32>; 256],
    at: usize,
    steps: usize,
    ended: bool,
}

enum Next {
    Following,
    Jump(usize),
    Exit,
    /// All lanes have to come here.
    Together,
}

/// Runs a function; afterwards the memory holds what it stored.
pub(super) fn run(function: &Function, memory: &mut Memory) -> Result<(), String> {
    let mut lanes: Vec<Lane> = (0..LANES as u32)
        .map(|number| Lane {
            number,
            registers: [0; 256],
            uniform: [0; 256],
            predicates: [false; 8],
            uniform_predicates: [false; 8],
            angles: [None; 256],
            at: 0,
            steps: 0,
            ended: false,
        })
        .collect();
    loop {
        for lane in &mut lanes {
            lane.run(function, memory)?;
        }
        let waiting: Vec<usize> = (0..LANES).filter(|lane| !lanes[*lane].ended).collect();
        let Some(first) = waiting.first() else { return Ok(()) };
        let at = lanes[*first].at;
        let instruction = &function.instructions[at];
        if waiting.iter().any(|lane| lanes[*lane].at != at) {
            return Err(format!("{} of some lanes", instruction.form()));
        }
        together(instruction, &mut lanes, &waiting)?;
        for lane in waiting {
            lanes[lane].at += 1;
        }
    }
}

/// An instruction that exchanges values between lanes.
fn together(instruction: &Instruction, lanes: &mut [Lane], waiting: &[usize]) -> Result<(), String> {
    let unknown = || Err(instruction.form());
    if instruction.guard.is_some() {
        return unknown();
    }
    match instruction.name.as_str() {
        "BAR" | "WARPSYNC" => Ok(()),
        "SHFL" => {
            let [valid, result, source, distance, clamp] = instruction.operands.as_slice() else {
                return unknown();
            };
            let mut results = vec![];
            for lane in waiting {
                let value = |operand: &Operand| lanes[*lane].word(operand, None);
                let (distance, clamp) = (value(distance)? as usize, value(clamp)?);
                if clamp >> 8 != 0 {
                    return unknown();
                }
                let limit = (clamp & 31) as usize;
                let (from, inside) = match instruction.modifiers.first().map(String::as_str) {
                    Some("BFLY") => (*lane ^ distance, *lane ^ distance <= limit),
                    Some("DOWN") => (*lane + distance, *lane + distance <= limit),
                    Some("UP") => (lane.wrapping_sub(distance), *lane >= distance + limit),
                    Some("IDX") => (distance & 31, distance & 31 <= limit),
                    _ => return unknown(),
                };
                let from = if inside { from } else { *lane };
                if !waiting.contains(&from) {
                    return unknown();
                }
                results.push((inside, lanes[from].word(source, None)?));
            }
            for (lane, (inside, bits)) in waiting.iter().zip(results) {
                lanes[*lane].set_predicate(valid, inside)?;
                lanes[*lane].set(result, bits)?;
            }
            Ok(())
        }
        _ => unknown(),
    }
}

impl Lane {
    fn run(&mut self, function: &Function, memory: &mut Memory) -> Result<(), String> {
        while !self.ended {
            let instruction = function.instructions.get(self.at).ok_or("the end of the code")?;
            self.steps += 1;
            if self.steps > MOST_STEPS {
                return Err("too many steps".to_owned());
            }
            let executes = match &instruction.guard {
                Some(guard) => self.predicate(guard)?,
                None => true,
            };
            if !executes {
                self.at += 1;
                continue;
            }
            match self.step(instruction, function, memory)? {
                Next::Following => self.at += 1,
                Next::Jump(to) => self.at = to,
                Next::Exit => self.ended = true,
                Next::Together => return Ok(()),
            }
        }
        Ok(())
    }

    // ---- operands ----

    fn predicate(&self, operand: &Operand) -> Result<bool, String> {
        let value = match operand.kind {
            Kind::Predicate(None) | Kind::UniformPredicate(None) => true,
            Kind::Predicate(Some(number)) => self.predicates[number],
            Kind::UniformPredicate(Some(number)) => self.uniform_predicates[number],
            _ => return Err(format!("predicate {operand:?}")),
        };
        Ok(value != operand.inverted)
    }

    fn set_predicate(&mut self, operand: &Operand, value: bool) -> Result<(), String> {
        match operand.kind {
            Kind::Predicate(None) | Kind::UniformPredicate(None) => {}
            Kind::Predicate(Some(number)) => self.predicates[number] = value,
            Kind::UniformPredicate(Some(number)) => self.uniform_predicates[number] = value,
            _ => return Err(format!("predicate {operand:?}")),
        }
        Ok(())
    }

    fn register(&self, kind: &Kind, further: usize) -> Result<u32, String> {
        Ok(match kind {
            Kind::Register(None) | Kind::Uniform(None) => 0,
            Kind::Register(Some(number)) => self.registers[number + further],
            Kind::Uniform(Some(number)) => self.uniform[number + further],
            _ => return Err(format!("{kind:?}")),
        })
    }

    /// 32 bits as they are, without sign or inversion.
    fn raw(&self, operand: &Operand, further: usize, memory: Option<&Memory>) -> Result<u32, String> {
        match &operand.kind {
            Kind::Integer(value) => Ok(if further == 0 { *value as u32 } else { (*value >> 32) as u32 }),
            Kind::Constant { bank, register, offset } => {
                let memory = memory.ok_or("a constant")?;
                let base = match register {
                    Some(register) => i64::from(self.register(register, 0)? as i32),
                    None => 0,
                };
                Ok(memory.constant(*bank, base + offset + 4 * further as i64, 4)? as u32)
            }
            kind => self.register(kind, further),
        }
    }

    fn plain_suffixes(operand: &Operand) -> Result<(), String> {
        match operand.suffixes.first() {
            Some(suffix) => Err(format!("operand .{suffix}")),
            None => Ok(()),
        }
    }

    /// An operand of an integer instruction.
    fn word(&self, operand: &Operand, memory: Option<&Memory>) -> Result<u32, String> {
        if operand.absolute {
            return Err(format!("{operand:?}"));
        }
        Self::plain_suffixes(operand)?;
        let bits = self.raw(operand, 0, memory)?;
        let bits = if operand.inverted { !bits } else { bits };
        Ok(if operand.negated { bits.wrapping_neg() } else { bits })
    }

    fn wide(&self, operand: &Operand, memory: &Memory) -> Result<u64, String> {
        if operand.absolute || operand.inverted {
            return Err(format!("{operand:?}"));
        }
        Self::plain_suffixes(operand)?;
        let bits = self.raw_wide(operand, memory)?;
        Ok(if operand.negated { bits.wrapping_neg() } else { bits })
    }

    fn raw_wide(&self, operand: &Operand, memory: &Memory) -> Result<u64, String> {
        let [lower, upper] =
            [self.raw(operand, 0, Some(memory))?, self.raw(operand, 1, Some(memory))?].map(u64::from);
        Ok(lower | upper << 32)
    }

    fn signs<F: Format>(operand: &Operand, code: u64) -> u64 {
        let code = if operand.absolute { code & F::MAGNITUDE } else { code };
        if operand.negated { code ^ F::SIGN } else { code }
    }

    fn single(&self, operand: &Operand, memory: &Memory) -> Result<u64, String> {
        Self::plain_suffixes(operand)?;
        let code = match &operand.kind {
            Kind::Number(text) => {
                arithmetic::immediate::<Single>(text).ok_or_else(|| format!("number {text}"))?
            }
            _ => u64::from(self.raw(operand, 0, Some(memory))?),
        };
        Ok(Self::signs::<Single>(operand, code))
    }

    fn double(&self, operand: &Operand, memory: &Memory) -> Result<u64, String> {
        Self::plain_suffixes(operand)?;
        let code = match &operand.kind {
            Kind::Number(text) => {
                arithmetic::immediate::<Double>(text).ok_or_else(|| format!("number {text}"))?
            }
            Kind::Integer(_) => return Err("an integer as FP64".to_owned()),
            _ => self.raw_wide(operand, memory)?,
        };
        Ok(Self::signs::<Double>(operand, code))
    }

    /// Two halves, the lower one first.
    fn halves<F: Format>(&self, operand: &Operand, memory: &Memory) -> Result<[u64; 2], String> {
        let number = |text: &str| arithmetic::immediate::<F>(text).ok_or_else(|| format!("number {text}"));
        let both = match &operand.kind {
            Kind::Pair(upper, lower) => [number(lower)?, number(upper)?],
            Kind::Number(text) => return Err(format!("one half {text}")),
            _ => {
                let bits = u64::from(self.raw(operand, 0, Some(memory))?);
                [bits & 0xffff, bits >> 16]
            }
        };
        // the upper half, the lower one, each with N where its sign is turned
        let suffix = operand.suffixes.first().map_or("H1_H0", String::as_str);
        let chosen = |word: &str| -> Result<u64, String> {
            let (negative, half) = word.strip_prefix('N').map_or((false, word), |half| (true, half));
            let code = match half {
                "H0" => both[0],
                "H1" => both[1],
                _ => return Err(format!("operand .{suffix}")),
            };
            let code = if operand.absolute { code & F::MAGNITUDE } else { code };
            Ok(if negative != operand.negated { code ^ F::SIGN } else { code })
        };
        let (upper, lower) = suffix.split_once('_').ok_or_else(|| format!("operand .{suffix}"))?;
        Ok([chosen(lower)?, chosen(upper)?])
    }

    /// Two FP32 numbers in two registers, the lower one first.
    fn pair(&self, operand: &Operand, memory: &Memory) -> Result<[u64; 2], String> {
        let suffixes: Vec<&str> = operand.suffixes.iter().map(String::as_str).collect();
        let both = match (&operand.kind, suffixes.as_slice()) {
            (Kind::Number(text), []) => {
                let code = arithmetic::immediate::<Single>(text).ok_or_else(|| format!("number {text}"))?;
                return Ok([Self::signs::<Single>(operand, code); 2]);
            }
            (Kind::Number(_) | Kind::Integer(_), _) => return Err("an immediate of F32x2".to_owned()),
            (_, ["F32x2", "HI_LO", ..]) => [0, 1],
            (_, ["F32x2", "LO_HI", ..]) => [1, 0],
            (_, ["F32"]) => [0, 0],
            _ => return Err(format!("operand .{}", suffixes.join("."))),
        };
        // the sign of each number, the upper one first
        let negative = match suffixes.get(2) {
            None => [false; 2],
            Some(&"NP") => [false, true],
            Some(&"PN") => [true, false],
            Some(other) => return Err(format!("operand .{other}")),
        };
        let mut codes = [0; 2];
        for at in 0..2 {
            let code = Self::signs::<Single>(operand, self.raw(operand, both[at], Some(memory))?.into());
            codes[at] = if negative[at] { code ^ Single::SIGN } else { code };
        }
        Ok(codes)
    }

    fn set(&mut self, operand: &Operand, bits: u32) -> Result<(), String> {
        self.set_further(operand, 0, bits)
    }

    fn set_further(&mut self, operand: &Operand, further: usize, bits: u32) -> Result<(), String> {
        match operand.kind {
            Kind::Register(None) | Kind::Uniform(None) => {}
            Kind::Register(Some(number)) => {
                self.registers[number + further] = bits;
                self.angles[number + further] = None;
            }
            Kind::Uniform(Some(number)) => self.uniform[number + further] = bits,
            _ => return Err(format!("result {operand:?}")),
        }
        Ok(())
    }

    fn set_wide(&mut self, operand: &Operand, bits: u64) -> Result<(), String> {
        self.set_further(operand, 0, bits as u32)?;
        self.set_further(operand, 1, (bits >> 32) as u32)
    }

    fn address(&self, operand: &Operand) -> Result<u64, String> {
        let Kind::Address { registers, offset } = &operand.kind else { return Err(format!("{operand:?}")) };
        let mut address = *offset as u64;
        for (kind, wide) in registers {
            let wide = *wide || matches!(kind, Kind::Uniform(_)) && registers.len() == 1;
            let upper = if wide { self.register(kind, 1)? } else { 0 };
            address = address.wrapping_add(u64::from(self.register(kind, 0)?) | u64::from(upper) << 32);
        }
        Ok(address)
    }

    // ---- instructions ----

    fn step(
        &mut self,
        instruction: &Instruction,
        function: &Function,
        memory: &mut Memory,
    ) -> Result<Next, String> {
        let unknown = || instruction.form();
        let operands = instruction.operands.as_slice();
        // an instruction of uniform registers is the same as that of others
        let name = match instruction.name.as_str() {
            "USEL" => "SEL",
            "UIADD3" => "IADD3",
            "UIMAD" => "IMAD",
            "ULOP3" => "LOP3",
            "USHF" => "SHF",
            "UMOV" => "MOV",
            "UISETP" => "ISETP",
            "UPLOP3" => "PLOP3",
            "ULEA" => "LEA",
            "UPRMT" => "PRMT",
            "ULDC" | "LDCU" => "LDC",
            "UVIADD" => "VIADD",
            "S2UR" => "S2R",
            "R2UR" => "MOV",
            name => name,
        };
        match name {
            "NOP" | "YIELD" | "BREAK" | "BSSY" | "BSYNC" | "MEMBAR" | "ERRBAR" | "CCTL" | "WARPSYNC" | "DEPBAR"
            | "FENCE" | "CGAERRBAR" => Ok(Next::Following),
            "EXIT" => Ok(Next::Exit),
            "BAR" | "SHFL" | "VOTE" => Ok(Next::Together),
            "BRA" | "CALL" | "JMP" => {
                let (label, conditions) = operands.split_last().ok_or_else(unknown)?;
                if instruction.has("DIV") {
                    return Ok(Next::Following);
                }
                for condition in conditions {
                    if !self.predicate(condition)? {
                        return Ok(Next::Following);
                    }
                }
                let Kind::Label(label) = &label.kind else { return Err(unknown()) };
                Ok(Next::Jump(*function.labels.get(label).ok_or_else(unknown)?))
            }
            "RET" => {
                let address = u64::from(self.word(&operands[0], None)?);
                let found = function.instructions.iter().position(|one| one.address == address);
                Ok(Next::Jump(found.ok_or_else(unknown)?))
            }
            _ => {
                let known = self.float(instruction, name, memory)?
                    || self.integer(instruction, name, memory)?
                    || self.access(instruction, name, memory)?;
                if known { Ok(Next::Following) } else { Err(unknown()) }
            }
        }
    }

    /// How a float instruction rounds; an error if it has a modifier that is not named.
    fn mode(instruction: &Instruction, others: &[&str]) -> Result<Mode, String> {
        let mut mode = Mode::NEAREST;
        for modifier in &instruction.modifiers {
            match modifier.as_str() {
                "RZ" => mode.round = Round::TowardZero,
                "RM" => mode.round = Round::TowardNegative,
                "RP" => mode.round = Round::TowardPositive,
                "FTZ" => mode.flush = true,
                "SAT" => mode.saturate = true,
                other if others.contains(&other) => {}
                _ => return Err(instruction.form()),
            }
        }
        Ok(mode)
    }

    fn float(&mut self, instruction: &Instruction, name: &str, memory: &Memory) -> Result<bool, String> {
        let operands = instruction.operands.as_slice();
        let unknown = || instruction.form();
        let single = |lane: &Lane, at: usize| lane.single(operands.get(at).ok_or_else(unknown)?, memory);
        let double = |lane: &Lane, at: usize| lane.double(operands.get(at).ok_or_else(unknown)?, memory);
        match name {
            "FADD" | "FMUL" | "FFMA" => {
                let mode = Self::mode(instruction, &[])?;
                let (a, b) = (single(self, 1)?, single(self, 2)?);
                let bits = match name {
                    "FADD" => arithmetic::add::<Single>([a, b], mode),
                    "FMUL" => arithmetic::multiply::<Single>([a, b], mode),
                    _ => arithmetic::fma::<Single>([a, b, single(self, 3)?], mode),
                };
                self.set(&operands[0], bits as u32)?;
                // 0.15915494, what sin.approx and cos.approx multiply by
                if name == "FMUL"
                    && instruction.has("RZ")
                    && b & Single::MAGNITUDE == 0x3e22_f983
                    && let Kind::Register(Some(number)) = operands[0].kind
                {
                    self.angles[number] = Some((a ^ b & Single::SIGN) as u32);
                }
            }
            "FADD2" | "FMUL2" | "FFMA2" => {
                let mode = Self::mode(instruction, &[])?;
                let pair = |at: usize| self.pair(operands.get(at).ok_or_else(unknown)?, memory);
                let (a, b) = (pair(1)?, pair(2)?);
                let c = if name == "FFMA2" { pair(3)? } else { [0; 2] };
                let of = |at: usize| match name {
                    "FADD2" => arithmetic::add::<Single>([a[at], b[at]], mode),
                    "FMUL2" => arithmetic::multiply::<Single>([a[at], b[at]], mode),
                    _ => arithmetic::fma::<Single>([a[at], b[at], c[at]], mode),
                };
                let bits = of(0) | of(1) << 32;
                self.set_wide(&operands[0], bits)?;
            }
            "DADD" | "DMUL" | "DFMA" => {
                let mode = Self::mode(instruction, &[])?;
                // an addition prints its operands without the one that it does not have
                let (a, b) = (double(self, 1)?, double(self, 2)?);
                let bits = match name {
                    "DADD" => arithmetic::add::<Double>([a, b], mode),
                    "DMUL" => arithmetic::multiply::<Double>([a, b], mode),
                    _ => arithmetic::fma::<Double>([a, b, double(self, 3)?], mode),
                };
                self.set_wide(&operands[0], bits)?;
            }
            "HADD2" if instruction.has("F32") => {
                let mode = Self::mode(instruction, &["F32"])?;
                let [a, b] = [1, 2].map(|at| self.halves::<Half>(&operands[at], memory));
                let wide = |code: u64| arithmetic::convert::<Half, Single>(code, Mode::NEAREST);
                let bits = arithmetic::add::<Single>([wide(a?[0]), wide(b?[0])], mode);
                self.set(&operands[0], bits as u32)?;
            }
            "HADD2" | "HMUL2" | "HFMA2" => {
                let mode = Self::mode(instruction, &["BF16_V2", "MMA"])?;
                let bits = if instruction.has("BF16_V2") {
                    self.packed::<BFloat>(name, operands, mode, memory)?
                } else {
                    self.packed::<Half>(name, operands, mode, memory)?
                };
                self.set(&operands[0], bits)?;
            }
            "HMNMX2" | "VHMNMX" => {
                let mode = Self::mode(instruction, &["BF16_V2", "NAN"])?;
                let bits = if instruction.has("BF16_V2") {
                    self.packed_extreme::<BFloat>(instruction, mode, memory)?
                } else {
                    self.packed_extreme::<Half>(instruction, mode, memory)?
                };
                self.set(&operands[0], bits)?;
            }
            "FMNMX" | "FMNMX3" => {
                let mode = Self::mode(instruction, &["NAN"])?;
                let (least, sources) = operands[1..].split_last().ok_or_else(unknown)?;
                let greater = !self.predicate(least)?;
                let mut bits = single(self, 1)?;
                for at in 2..=sources.len() {
                    let both = [bits, single(self, at)?];
                    bits = arithmetic::extreme::<Single>(both, greater, instruction.has("NAN"), mode);
                }
                self.set(&operands[0], bits as u32)?;
            }
            "FSEL" => {
                Self::mode(instruction, &[])?;
                let first = self.predicate(operands.get(3).ok_or_else(unknown)?)?;
                let bits = if first { single(self, 1)? } else { single(self, 2)? };
                self.set(&operands[0], bits as u32)?;
            }
            "FSETP" | "DSETP" => {
                if instruction.has("MIN") || instruction.has("MAX") {
                    return self.double_extreme(instruction, memory);
                }
                let ordering = if name == "FSETP" {
                    arithmetic::compare::<Single>(
                        [single(self, 2)?, single(self, 3)?],
                        instruction.has("FTZ"),
                    )
                } else {
                    arithmetic::compare::<Double>([double(self, 2)?, double(self, 3)?], false)
                };
                let first = instruction.modifiers.first().ok_or_else(unknown)?;
                let holds = holds(first, ordering).ok_or_else(unknown)?;
                self.combine(instruction, holds)?;
            }
            "HSETP2" => {
                let bf16 = instruction.has("BF16_V2");
                let comparison =
                    instruction.modifiers.iter().find(|one| *one != "BF16_V2").ok_or_else(unknown)?;
                let of = |at: usize| -> Result<Option<Ordering>, String> {
                    let flush = instruction.has("FTZ");
                    Ok(if bf16 {
                        let [a, b] = [2, 3].map(|which| self.halves::<BFloat>(&operands[which], memory));
                        arithmetic::compare::<BFloat>([a?[at], b?[at]], flush)
                    } else {
                        let [a, b] = [2, 3].map(|which| self.halves::<Half>(&operands[which], memory));
                        arithmetic::compare::<Half>([a?[at], b?[at]], flush)
                    })
                };
                let both = [of(0)?, of(1)?];
                let other = self.predicate(operands.get(4).ok_or_else(unknown)?)?;
                if !instruction.has("AND") {
                    return Err(unknown());
                }
                for (at, ordering) in both.into_iter().enumerate() {
                    let holds = holds(comparison, ordering).ok_or_else(unknown)?;
                    self.set_predicate(&operands[at], holds && other)?;
                }
            }
            "MUFU" => {
                let [function] = instruction.modifiers.as_slice() else { return Err(unknown()) };
                let function = match function.as_str() {
                    "RCP" => Special::Rcp,
                    "RSQ" => Special::Rsqrt,
                    "SQRT" => Special::Sqrt,
                    "EX2" => Special::Ex2,
                    "LG2" => Special::Lg2,
                    "SIN" => Special::Sin,
                    "COS" => Special::Cos,
                    _ => return Err(unknown()),
                };
                let mut x = single(self, 1)? as u32;
                if matches!(function, Special::Sin | Special::Cos) {
                    let angle = match operands[1].kind {
                        Kind::Register(Some(number)) => self.angles[number],
                        _ => None,
                    };
                    let angle = angle.ok_or_else(|| format!("{} of any number", unknown()))?;
                    x = Self::signs::<Single>(&operands[1], angle.into()) as u32;
                }
                let bits = Form { function, ftz: true }.evaluate(x);
                self.set(&operands[0], bits)?;
            }
            "FCHK" => {
                // whether a division needs its slow path: it may always be taken
                self.set_predicate(&operands[0], true)?;
            }
            "F2FP" => {
                let bits = self.pack(instruction, memory)?;
                self.set(&operands[0], bits)?;
            }
            "F2F" => {
                let mode = Self::mode(instruction, &["F32", "F64", "F16", "BF16"])?;
                let formats: Vec<&str> = instruction
                    .modifiers
                    .iter()
                    .map(String::as_str)
                    .filter(|one| ["F32", "F64", "F16", "BF16"].contains(one))
                    .collect();
                match formats.as_slice() {
                    ["F32", "F64"] => {
                        let bits = arithmetic::convert::<Double, Single>(double(self, 1)?, mode);
                        self.set(&operands[0], bits as u32)?;
                    }
                    ["F64", "F32"] => {
                        let bits = arithmetic::convert::<Single, Double>(single(self, 1)?, mode);
                        self.set_wide(&operands[0], bits)?;
                    }
                    _ => return Err(unknown()),
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn packed<F: Format>(
        &self,
        name: &str,
        operands: &[Operand],
        mode: Mode,
        memory: &Memory,
    ) -> Result<u32, String> {
        let halves = |at: usize| self.halves::<F>(operands.get(at).ok_or("an operand")?, memory);
        let (a, b) = (halves(1)?, halves(2)?);
        let c = if name == "HFMA2" { halves(3)? } else { [0; 2] };
        let of = |at: usize| match name {
            "HADD2" => arithmetic::add::<F>([a[at], b[at]], mode),
            "HMUL2" => arithmetic::multiply::<F>([a[at], b[at]], mode),
            _ => arithmetic::fma::<F>([a[at], b[at], c[at]], mode),
        };
        Ok((of(0) | of(1) << 16) as u32)
    }

    /// The least or the greatest of two or three.
    fn packed_extreme<F: Format>(
        &self,
        instruction: &Instruction,
        mode: Mode,
        memory: &Memory,
    ) -> Result<u32, String> {
        let (least, sources) = instruction.operands[1..].split_last().ok_or_else(|| instruction.form())?;
        let greater = !self.predicate(least)?;
        let mut bits = self.halves::<F>(&sources[0], memory)?;
        for source in &sources[1..] {
            let other = self.halves::<F>(source, memory)?;
            bits = [0, 1].map(|at| {
                arithmetic::extreme::<F>([bits[at], other[at]], greater, instruction.has("NAN"), mode)
            });
        }
        Ok((bits[0] | bits[1] << 16) as u32)
    }

    /// Two numbers in 16 bits each, the first one above.
    fn pack(&self, instruction: &Instruction, memory: &Memory) -> Result<u32, String> {
        let modifiers: Vec<&str> = instruction.modifiers.iter().map(String::as_str).collect();
        let [_, a, b] = instruction.operands.as_slice() else { return Err(instruction.form()) };
        let both = [self.single(b, memory)?, self.single(a, memory)?];
        let codes = match modifiers.as_slice() {
            ["PACK_AB"] | ["F16", "PACK_AB"] | ["F16", "F32", "PACK_AB"] => {
                both.map(|code| arithmetic::convert::<Single, Half>(code, Mode::NEAREST))
            }
            ["BF16", "PACK_AB"] | ["BF16", "F32", "PACK_AB"] => {
                both.map(|code| arithmetic::convert::<Single, BFloat>(code, Mode::NEAREST))
            }
            _ => return Err(instruction.form()),
        };
        Ok((codes[0] | codes[1] << 16) as u32)
    }

    /// `DSETP.MIN` and `.MAX`: whether the first operand is the result, and whether it must be made quiet.
    fn double_extreme(&mut self, instruction: &Instruction, memory: &Memory) -> Result<bool, String> {
        let operands = instruction.operands.as_slice();
        let [a, b] = [self.double(&operands[2], memory)?, self.double(&operands[3], memory)?];
        if arithmetic::compare::<Double>([a, b], false).is_none() {
            return Err(format!("{} of NaN", instruction.form()));
        }
        let greater = instruction.has("MAX");
        let chosen = arithmetic::extreme::<Double>([a, b], greater, false, Mode::NEAREST);
        self.set_predicate(&operands[0], chosen == a)?;
        self.set_predicate(&operands[1], false)?;
        Ok(true)
    }

    /// Writes a comparison and its opposite, each combined with a predicate.
    fn combine(&mut self, instruction: &Instruction, holds: bool) -> Result<(), String> {
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

    fn integer(&mut self, instruction: &Instruction, name: &str, memory: &Memory) -> Result<bool, String> {
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

    /// Loads and stores.
    fn access(&mut self, instruction: &Instruction, name: &str, memory: &mut Memory) -> Result<bool, String> {
        let operands = instruction.operands.as_slice();
        let (mut bytes, mut signed) = (4_usize, false);
        for modifier in &instruction.modifiers {
            match modifier.as_str() {
                "U8" => bytes = 1,
                "S8" => (bytes, signed) = (1, true),
                "U16" => bytes = 2,
                "S16" => (bytes, signed) = (2, true),
                "64" => bytes = 8,
                "128" => bytes = 16,
                "E" | "CONSTANT" | "STRONG" | "WEAK" | "GPU" | "SYS" | "SM" | "CTA" => {}
                _ => return Err(instruction.form()),
            }
        }
        let set = |lane: &mut Lane, at: usize, value: u64, bytes: usize| {
            let bits = match (bytes, signed) {
                (1, true) => value as u8 as i8 as u32,
                (2, true) => value as u16 as i16 as u32,
                _ => value as u32,
            };
            lane.set_further(&operands[0], at, bits)
        };
        let part = bytes.min(4);
        let parts = bytes.div_ceil(4);
        match name {
            "LDC" => {
                let Kind::Constant { bank, register, offset } = &operands[1].kind else {
                    return Err(instruction.form());
                };
                let base = match register {
                    Some(register) => i64::from(self.register(register, 0)? as i32),
                    None => 0,
                };
                for at in 0..parts {
                    let value = memory.constant(*bank, base + offset + 4 * at as i64, part)?;
                    set(self, at, value, part)?;
                }
            }
            "LDG" | "LDS" => {
                let address = self.address(&operands[1])?;
                for at in 0..parts {
                    let address = address + 4 * at as u64;
                    let slice = if name == "LDS" {
                        memory.shared.get(address as usize..address as usize + part).ok_or("shared memory")?
                    } else {
                        let (buffer, place) = memory.place(address, part)?;
                        &memory.buffers[buffer].1[place..place + part]
                    };
                    let mut value = [0; 8];
                    value[..part].copy_from_slice(slice);
                    set(self, at, u64::from_le_bytes(value), part)?;
                }
            }
            "STG" | "STS" => {
                let address = self.address(&operands[0])?;
                for at in 0..parts {
                    let value = self.raw(&operands[1], at, None)?.to_le_bytes();
                    let address = address + 4 * at as u64;
                    let slice = if name == "STS" {
                        let place = address as usize..address as usize + part;
                        memory.shared.get_mut(place).ok_or("shared memory")?
                    } else {
                        let (buffer, place) = memory.place(address, part)?;
                        &mut memory.buffers[buffer].1[place..place + part]
                    };
                    slice.copy_from_slice(&value[..part]);
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Whether a comparison holds; no ordering where an operand is NaN.
fn holds(comparison: &str, ordering: Option<Ordering>) -> Option<bool> {
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
