//! Runs the machine code of a kernel for one warp, from its listing.
//!
//! Lanes run one after the other up to the next instruction that needs all of them. What is not known is refused by name:
//! a result is never a guess.

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
    pub(super) fn place(&self, address: u64, bytes: usize) -> Result<(usize, usize), String> {
        let found = self.buffers.iter().position(|(start, buffer)| {
            address >= *start && address + bytes as u64 <= start + buffer.len() as u64
        });
        let index = found.ok_or_else(|| format!("address {address:#x}"))?;
        Ok((index, (address - self.buffers[index].0) as usize))
    }

    pub(super) fn constant(&self, bank: usize, offset: i64, bytes: usize) -> Result<u64, String> {
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
pub(super) struct Lane {
    pub(super) number: u32,
    pub(super) registers: [u32; 256],
    pub(super) uniform: [u32; 256],
    pub(super) predicates: [bool; 8],
    pub(super) uniform_predicates: [bool; 8],
    /// What registers held before they were multiplied for `MUFU.SIN` and `MUFU.COS`: the model has that multiplication inside.
    pub(super) angles: [Option<u32>; 256],
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
            "NOP" | "YIELD" | "BREAK" | "BSSY" | "BSYNC" | "MEMBAR" | "ERRBAR" | "CCTL" | "WARPSYNC"
            | "DEPBAR" | "FENCE" | "CGAERRBAR" => Ok(Next::Following),
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
}
