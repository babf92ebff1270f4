//! Machine instructions of floats.

use std::cmp::Ordering;

use bitmma_functions::Function as Special;
use bitmma_functions::ptx::Form;
use rustc_apfloat::Round;
use rustc_apfloat::ieee::{BFloat, Double, Half, Single};

use super::arithmetic::{self, Format, Mode};
use super::evaluate::{Lane, Memory};
use super::integer::holds;
use super::listing::{Instruction, Kind, Operand};

impl Lane {
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

    pub(super) fn float(
        &mut self,
        instruction: &Instruction,
        name: &str,
        memory: &Memory,
    ) -> Result<bool, String> {
        let operands = instruction.operands.as_slice();
        let unknown = || instruction.form();
        let single = |lane: &Lane, at: usize| lane.single(operands.get(at).ok_or_else(unknown)?, memory);
        let double = |lane: &Lane, at: usize| lane.double(operands.get(at).ok_or_else(unknown)?, memory);
        match name {
            "FADD" | "FMUL" | "FFMA" => {
                let powers =
                    [("D2", 0.5), ("D4", 0.25), ("D8", 0.125), ("M2", 2.0), ("M4", 4.0), ("M8", 8.0)];
                let mode = Self::mode(instruction, &powers.map(|(word, _)| word))?;
                let (a, b) = (single(self, 1)?, single(self, 2)?);
                let power = powers.iter().find(|(word, _)| instruction.has(word));
                let bits = match name {
                    "FMUL" if let Some((_, power)) = power => arithmetic::scaled([a, b], *power, mode),
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
}
