//! Operands of machine instructions: what a lane reads and writes.

use rustc_apfloat::ieee::{Double, Single};

use super::arithmetic::{self, Format};
use super::evaluate::{Lane, Memory};
use super::listing::{Kind, Operand};

impl Lane {
    pub(super) fn predicate(&self, operand: &Operand) -> Result<bool, String> {
        let value = match operand.kind {
            Kind::Predicate(None) | Kind::UniformPredicate(None) => true,
            Kind::Predicate(Some(number)) => self.predicates[number],
            Kind::UniformPredicate(Some(number)) => self.uniform_predicates[number],
            _ => return Err(format!("predicate {operand:?}")),
        };
        Ok(value != operand.inverted)
    }

    pub(super) fn set_predicate(&mut self, operand: &Operand, value: bool) -> Result<(), String> {
        match operand.kind {
            Kind::Predicate(None) | Kind::UniformPredicate(None) => {}
            Kind::Predicate(Some(number)) => self.predicates[number] = value,
            Kind::UniformPredicate(Some(number)) => self.uniform_predicates[number] = value,
            _ => return Err(format!("predicate {operand:?}")),
        }
        Ok(())
    }

    pub(super) fn register(&self, kind: &Kind, further: usize) -> Result<u32, String> {
        Ok(match kind {
            Kind::Register(None) | Kind::Uniform(None) => 0,
            Kind::Register(Some(number)) => self.registers[number + further],
            Kind::Uniform(Some(number)) => self.uniform[number + further],
            _ => return Err(format!("{kind:?}")),
        })
    }

    /// 32 bits as they are, without sign or inversion.
    pub(super) fn raw(
        &self,
        operand: &Operand,
        further: usize,
        memory: Option<&Memory>,
    ) -> Result<u32, String> {
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

    pub(super) fn plain_suffixes(operand: &Operand) -> Result<(), String> {
        match operand.suffixes.first() {
            Some(suffix) => Err(format!("operand .{suffix}")),
            None => Ok(()),
        }
    }

    /// An operand of an integer instruction.
    pub(super) fn word(&self, operand: &Operand, memory: Option<&Memory>) -> Result<u32, String> {
        if operand.absolute {
            return Err(format!("{operand:?}"));
        }
        Self::plain_suffixes(operand)?;
        let bits = self.raw(operand, 0, memory)?;
        let bits = if operand.inverted { !bits } else { bits };
        Ok(if operand.negated { bits.wrapping_neg() } else { bits })
    }

    pub(super) fn wide(&self, operand: &Operand, memory: &Memory) -> Result<u64, String> {
        if operand.absolute || operand.inverted {
            return Err(format!("{operand:?}"));
        }
        Self::plain_suffixes(operand)?;
        let bits = self.raw_wide(operand, memory)?;
        Ok(if operand.negated { bits.wrapping_neg() } else { bits })
    }

    pub(super) fn raw_wide(&self, operand: &Operand, memory: &Memory) -> Result<u64, String> {
        let [lower, upper] =
            [self.raw(operand, 0, Some(memory))?, self.raw(operand, 1, Some(memory))?].map(u64::from);
        Ok(lower | upper << 32)
    }

    pub(super) fn signs<F: Format>(operand: &Operand, code: u64) -> u64 {
        let code = if operand.absolute { code & F::MAGNITUDE } else { code };
        if operand.negated { code ^ F::SIGN } else { code }
    }

    pub(super) fn single(&self, operand: &Operand, memory: &Memory) -> Result<u64, String> {
        Self::plain_suffixes(operand)?;
        let code = match &operand.kind {
            Kind::Number(text) => {
                arithmetic::immediate::<Single>(text).ok_or_else(|| format!("number {text}"))?
            }
            _ => u64::from(self.raw(operand, 0, Some(memory))?),
        };
        Ok(Self::signs::<Single>(operand, code))
    }

    pub(super) fn double(&self, operand: &Operand, memory: &Memory) -> Result<u64, String> {
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
    pub(super) fn halves<F: Format>(&self, operand: &Operand, memory: &Memory) -> Result<[u64; 2], String> {
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
    pub(super) fn pair(&self, operand: &Operand, memory: &Memory) -> Result<[u64; 2], String> {
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

    pub(super) fn set(&mut self, operand: &Operand, bits: u32) -> Result<(), String> {
        self.set_further(operand, 0, bits)
    }

    pub(super) fn set_further(&mut self, operand: &Operand, further: usize, bits: u32) -> Result<(), String> {
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

    pub(super) fn set_wide(&mut self, operand: &Operand, bits: u64) -> Result<(), String> {
        self.set_further(operand, 0, bits as u32)?;
        self.set_further(operand, 1, (bits >> 32) as u32)
    }

    pub(super) fn address(&self, operand: &Operand) -> Result<u64, String> {
        let Kind::Address { registers, offset } = &operand.kind else { return Err(format!("{operand:?}")) };
        let mut address = *offset as u64;
        for (kind, wide) in registers {
            let wide = *wide || matches!(kind, Kind::Uniform(_)) && registers.len() == 1;
            let upper = if wide { self.register(kind, 1)? } else { 0 };
            address = address.wrapping_add(u64::from(self.register(kind, 0)?) | u64::from(upper) << 32);
        }
        Ok(address)
    }
}
