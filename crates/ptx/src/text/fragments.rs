//! `wmma.load` and `wmma.store` as loads and stores of the elements of each thread. The manual leaves open which thread has which
//! element; here they are as in `mma.sync`, with groups of eight lines one after the other.

use bitmma_engine::catalogue::shape;

use super::parser::bits_of;
use super::{Base, Instruction, Operand, Register, RegisterId, Width};
use crate::error::Error;

pub(super) struct Access<'a> {
    instruction: &'a Instruction,
    registers: &'a mut Vec<Register>,
    all: Vec<Instruction>,
}

impl<'a> Access<'a> {
    pub(super) fn new(instruction: &'a Instruction, registers: &'a mut Vec<Register>) -> Access<'a> {
        Access { instruction, registers, all: vec![] }
    }

    fn unsupported<T>(&self, why: &str) -> Result<T, Error> {
        Err(Error::unsupported(self.instruction.line, &self.instruction.form, why))
    }

    fn fresh(&mut self, width: Width) -> Operand {
        self.registers.push(Register { name: "%wmma".to_owned(), width });
        Operand::Register(self.registers.len() as RegisterId - 1)
    }

    fn push(&mut self, form: &str, operands: &[&Operand]) {
        let operands = operands.iter().map(|operand| (*operand).clone()).collect();
        self.all.push(self.instruction.made(form, operands));
    }

    /// A new word that an operation gives.
    fn word(&mut self, form: &str, operands: &[&Operand]) -> Operand {
        let d = self.fresh(Width::Word(32));
        self.push(form, &[&[&d], operands].concat());
        d
    }

    pub(super) fn expand(mut self) -> Result<Vec<Instruction>, Error> {
        let instruction = self.instruction;
        let stores = instruction.has("store");
        let words: Vec<&str> = instruction.form.split('.').collect();
        let has = |word: &str| words.contains(&word);
        let shape = words.iter().find_map(|word| shape(word)).map(|sizes| sizes.map(|size| size as u64));
        let kind = words.last().copied().unwrap_or("");
        let (Some([m, n, k]), Some(bits)) = (shape, bits_of(kind)) else { return self.unsupported("") };
        let part = ["a", "b", "c", "d"].into_iter().find(|part| has(part)).filter(|_| words.len() > 6);
        let known: &[&str] = match (part, [m, n, k]) {
            (Some("a" | "b"), [16, 16, 16] | [8, 32, 16] | [32, 8, 16]) => &["f16", "bf16", "s8", "u8"],
            (Some("a" | "b"), [16, 16, 8]) => &["tf32"],
            (Some("a" | "b"), [8, 8, 32]) => &["s4", "u4"],
            (Some("a" | "b"), [8, 8, 128]) => &["b1"],
            (Some("c" | "d"), [16, 16, 16] | [8, 32, 16] | [32, 8, 16]) => &["f16", "f32", "s32"],
            (Some("c" | "d"), [16, 16, 8]) => &["f32"],
            (Some("c" | "d"), [8, 8, 32 | 128]) => &["s32"],
            (Some(_), [8, 8, 4]) => &["f64"],
            _ => &[],
        };
        let by_rows = has("row");
        if !known.contains(&kind) || by_rows == has("col") || stores != (part == Some("d")) {
            return self.unsupported("");
        }
        // A by its rows and B by its columns, along K; C and D by their rows
        let (lines, length, along) = match part {
            Some("a") => (m, k, by_rows),
            Some("b") => (n, k, !by_rows),
            _ => (m, n, by_rows),
        };
        if bits < 8 && !along {
            return self.unsupported("such elements lie along K");
        }
        let (address, fragment, stride) = match (instruction.operands.as_slice(), stores) {
            ([fragment, address], false) | ([address, fragment], true) => (address, fragment, None),
            ([fragment, address, stride], false) | ([address, fragment, stride], true) => {
                (address, fragment, Some(stride.clone()))
            }
            _ => return self.unsupported(""),
        };
        let Operand::Vector(fragment) = fragment else { return self.unsupported("") };
        let width = bits.max(32);
        let count = (lines * length * bits / width / 32) as usize;
        let halves = matches!(part, Some("a" | "b")) && kind == "f16";
        let wanted = if halves { 8 } else { count };
        if fragment.len() != wanted {
            let given = fragment.len();
            let what = format!("'{}' takes {wanted} registers, not {given}", instruction.form);
            return Err(Error::syntax(instruction.line, what));
        }
        let stride = stride.unwrap_or(Operand::Integer(if along { length } else { lines }));
        let base = self.base(address)?;
        let lane = self.fresh(Width::Word(32));
        self.push("mov.u32", &[&lane, &Operand::Special("laneid".to_owned())]);
        let line = self.word("shr.u32", &[&lane, &Operand::Integer(2)]);
        let place = self.word("and.b32", &[&lane, &Operand::Integer(3)]);
        let each = width / bits;
        let pairs = matches!(part, Some("c" | "d")) && each == 1;
        let groups = lines / 8;
        for (index, register) in fragment.iter().take(count).enumerate() {
            let index = index as u64;
            let (pair, odd, step) = if pairs { (index / 2, index % 2, 2) } else { (index, 0, each) };
            let first = (pair / groups) * 4 * step + odd;
            let line = self.word("add.u32", &[&line, &Operand::Integer(pair % groups * 8)]);
            let place = self.word("mad.lo.u32", &[&place, &Operand::Integer(step), &Operand::Integer(first)]);
            self.element(register, [&line, &place], along, (bits, width), (&base, &stride));
        }
        for (copy, register) in fragment.iter().enumerate().skip(count) {
            if !stores {
                self.push("mov.b32", &[register, &fragment[copy % count]]);
            }
        }
        Ok(self.all)
    }

    /// The address of the first element.
    fn base(&mut self, address: &Operand) -> Result<Operand, Error> {
        let Operand::Address(base, offset) = address else { return self.unsupported("") };
        let offset = *offset as u64;
        Ok(match base {
            Base::Register(id) => {
                let (register, width) = (Operand::Register(*id), self.registers[*id as usize].width);
                let base = self.fresh(width);
                let form = if width == Width::Wide { "add.u64" } else { "add.u32" };
                self.push(form, &[&base, &register, &Operand::Integer(offset)]);
                base
            }
            Base::Symbol(name) => {
                let base = self.fresh(Width::Wide);
                self.push("mov.u64", &[&base, &Operand::Symbol(name.clone(), offset as i64)]);
                base
            }
            Base::None => {
                let base = self.fresh(Width::Wide);
                self.push("mov.u64", &[&base, &Operand::Integer(offset)]);
                base
            }
        })
    }

    /// Loads or stores what a register has, from an element on.
    fn element(
        &mut self,
        register: &Operand,
        [line, place]: [&Operand; 2],
        along: bool,
        (bits, width): (u64, u64),
        (base, stride): (&Operand, &Operand),
    ) {
        if along {
            let index = self.word("mad.lo.u32", &[line, stride, place]);
            let address = self.address(&index, bits, base);
            return self.access(width, register, &address);
        }
        let count = width / bits;
        let parts: Vec<Operand> = match count {
            1 => vec![register.clone()],
            _ => (0..count).map(|_| self.fresh(Width::Word(bits as u32))).collect(),
        };
        let (stores, whole) = (self.instruction.has("store"), Operand::Vector(parts.clone()));
        if count > 1 && stores {
            self.push("mov.b32", &[&whole, register]);
        }
        for (next, part) in parts.iter().enumerate() {
            let place = self.word("add.u32", &[place, &Operand::Integer(next as u64)]);
            let index = self.word("mad.lo.u32", &[&place, stride, line]);
            let address = self.address(&index, bits, base);
            self.access(bits, part, &address);
        }
        if count > 1 && !stores {
            self.push("mov.b32", &[register, &whole]);
        }
    }

    fn address(&mut self, index: &Operand, bits: u64, base: &Operand) -> Operand {
        let index = match bits {
            1 | 4 => self.word("shr.u32", &[index, &Operand::Integer(if bits == 1 { 3 } else { 1 })]),
            _ => index.clone(),
        };
        let width = match base {
            Operand::Register(id) => self.registers[*id as usize].width,
            _ => Width::Wide,
        };
        let address = self.fresh(width);
        let form = if width == Width::Wide { "mad.wide.u32" } else { "mad.lo.u32" };
        self.push(form, &[&address, &index, &Operand::Integer((bits / 8).max(1)), base]);
        address
    }

    fn access(&mut self, bits: u64, register: &Operand, address: &Operand) {
        let Operand::Register(address) = address else { return };
        let spaces = ["global", "shared", "shared::cta"];
        let space = spaces.into_iter().find(|space| self.instruction.has(space));
        let space = space.map_or_else(String::new, |space| format!(".{space}"));
        let address = Operand::Address(Base::Register(*address), 0);
        match self.instruction.has("store") {
            true => self.push(&format!("st{space}.b{bits}"), &[&address, register]),
            false => self.push(&format!("ld{space}.b{bits}"), &[register, &address]),
        }
    }
}
