//! Runs the PTX of our kernels: threads of a block in step, loads, stores, addresses, shared and tensor
//! memory. What a matrix instruction reads and writes is in [`super::ptx_matrix`].
//!
//! It knows the instructions that our kernels use, and panics at any other.

use std::collections::HashMap;

use super::ptx_sparse;

/// Where shared memory begins; not zero, so that a forgotten base shows.
const SHARED_BASE: u64 = 0x400;

/// One block as it runs.
pub(crate) struct Machine<'m> {
    pub(crate) threads: usize,
    names: HashMap<&'m str, usize>,
    registers: Vec<Vec<u64>>,
    symbols: HashMap<&'m str, u64>,
    shared: Vec<u8>,
    input: &'m [u8],
    output: &'m mut [u8],
    pub(crate) target: &'m str,
}

/// The bytes at `address`, little-endian.
fn load(bytes: &[u8], address: u64, count: usize) -> u64 {
    let at = address as usize;
    bytes[at..at + count].iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn store(bytes: &mut [u8], address: u64, count: usize, value: u64) {
    let at = address as usize;
    bytes[at..at + count].copy_from_slice(&value.to_le_bytes()[..count]);
}

/// Operands at commas outside of brackets.
fn operands(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut found) = (0, 0, vec![]);
    for (at, c) in text.char_indices() {
        match c {
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            ',' if depth == 0 => {
                found.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(text[start..].trim());
    found
}

/// `{a0,a1}` as names.
pub(crate) fn names(vector: &str) -> Vec<&str> {
    vector.trim_matches(['{', '}']).split(',').map(str::trim).collect()
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn width(kind: &str) -> usize {
    match kind {
        "b64" | "f64" | "u64" => 8,
        _ => 4,
    }
}

/// Runs `blocks` blocks of the entry point of a module; the tiles' sizes are what the kernel multiplies
/// the block's number by.
pub(crate) fn run(ptx: &str, entry: &str, blocks: usize, threads: usize, input: &[u8], output: &mut [u8]) {
    let target = ptx.split_once(".target ").expect("a target").1.lines().next().expect("a line");
    let (_, body) = ptx.split_once(&format!(".entry {entry}(")).expect("the entry point");
    let (head, body) = body.split_once("{\n").expect("a body");
    assert!(head.contains(&format!(".reqntid {threads}, 1, 1")), "{threads} threads: {head}");
    let (body, _) = body.split_once("\n}").expect("an end");
    for block in 0..blocks {
        let mut machine = Machine {
            threads,
            names: HashMap::new(),
            registers: vec![],
            symbols: HashMap::new(),
            shared: vec![],
            input,
            output,
            target,
        };
        for line in body.lines() {
            machine.step(line.trim(), block as u64);
        }
    }
}

impl<'m> Machine<'m> {
    fn register(&mut self, name: &'m str) -> &mut Vec<u64> {
        let (threads, next) = (self.threads, self.registers.len());
        let index = *self.names.entry(name).or_insert(next);
        if index == next {
            self.registers.push(vec![0; threads]);
        }
        &mut self.registers[index]
    }

    /// A register's value, or a number's, or a symbol's address.
    pub(crate) fn value(&self, name: &str, thread: usize) -> u64 {
        if let Some(index) = self.names.get(name) {
            return self.registers[*index][thread];
        }
        number(name)
            .or_else(|| self.symbols.get(name).copied())
            .unwrap_or_else(|| panic!("{name} was never set"))
    }

    /// `[register+offset]`
    fn address(&self, operand: &str, thread: usize) -> u64 {
        let inside = operand.trim_matches(['[', ']']);
        let (base, offset) = inside.split_once('+').unwrap_or((inside, "0"));
        self.value(base, thread) + number(offset).expect("an offset")
    }

    pub(crate) fn set(&mut self, name: &'m str, thread: usize, value: u64) {
        self.register(name)[thread] = value;
    }

    fn reserve(&mut self, line: &'m str) {
        let line = line.trim_end_matches(';');
        let words: Vec<&str> = line.split_whitespace().collect();
        let (align, kind, name) = (number(words[2]).expect("an alignment"), words[3], words[4]);
        let (name, count) = match name.split_once('[') {
            Some((name, count)) => (name, number(count.trim_end_matches(']')).expect("a size")),
            None => (name, width(&kind[1..]) as u64),
        };
        let start = (self.shared.len() as u64).next_multiple_of(align);
        self.symbols.insert(name, SHARED_BASE + start);
        self.shared.resize((start + count) as usize, 0xee);
    }

    fn step(&mut self, line: &'m str, block: u64) {
        if line.is_empty() || line.starts_with(".reg ") || line.ends_with(':') {
            return;
        }
        if line.starts_with(".shared ") {
            return self.reserve(line);
        }
        let line = line.strip_suffix(';').unwrap_or_else(|| panic!("no semicolon: {line}"));
        let (guard, line) = match line.strip_prefix('@') {
            Some(rest) => {
                let (guard, rest) = rest.split_once(' ').expect("an instruction");
                (Some(guard), rest)
            }
            None => (None, line),
        };
        let active: Vec<usize> = (0..self.threads)
            .filter(|thread| match guard {
                None => true,
                Some(guard) => match guard.strip_prefix('!') {
                    Some(guard) => self.value(guard, *thread) == 0,
                    None => self.value(guard, *thread) != 0,
                },
            })
            .collect();
        let (opcode, rest) = line.split_once(' ').unwrap_or((line, ""));
        let operands = operands(rest);
        self.instruction(opcode, &operands, &active, block);
    }

    fn each(&mut self, active: &[usize], to: &'m str, value: impl Fn(&Machine<'m>, usize) -> u64) {
        for thread in active {
            let value = value(self, *thread);
            self.set(to, *thread, value);
        }
    }

    fn instruction(&mut self, opcode: &'m str, operands: &[&'m str], active: &[usize], block: u64) {
        let words: Vec<&str> = opcode.split('.').collect();
        let last = words[words.len() - 1];
        let low = |value: u64| value & 0xffff_ffff;
        match words[0] {
            "ret" => {}
            "ld" if words[1] == "param" => {
                // addresses count from the beginning of the tiles
                assert!(["[from]", "[to]"].contains(&operands[1]));
                self.each(active, operands[0], |_, _| 0);
            }
            "mov" => self.each(active, operands[0], |machine, thread| match operands[1] {
                "%ctaid.x" => block,
                "%tid.x" => thread as u64,
                other => machine.value(other, thread),
            }),
            "mad" => {
                let wide = words[1] == "wide";
                self.each(active, operands[0], |machine, thread| {
                    let of = |index: usize| machine.value(operands[index], thread);
                    let sum = low(of(1)) * low(of(2)) + of(3);
                    if wide { sum } else { low(sum) }
                });
            }
            "add" => {
                self.each(active, operands[0], |m, t| {
                    let sum = m.value(operands[1], t).wrapping_add(m.value(operands[2], t));
                    if last == "u32" { low(sum) } else { sum }
                });
            }
            "mul" => {
                assert_eq!(opcode, "mul.lo.u64");
                self.each(active, operands[0], |m, t| {
                    m.value(operands[1], t).wrapping_mul(m.value(operands[2], t))
                });
            }
            "shr" => {
                self.each(active, operands[0], |m, t| {
                    let value = m.value(operands[1], t);
                    (if last == "u64" { value } else { low(value) }) >> m.value(operands[2], t)
                });
            }
            "shl" => {
                assert_eq!(opcode, "shl.b64");
                self.each(active, operands[0], |m, t| m.value(operands[1], t) << m.value(operands[2], t));
            }
            "xor" => {
                self.each(active, operands[0], |m, t| m.value(operands[1], t) ^ m.value(operands[2], t));
            }
            "and" => {
                self.each(active, operands[0], |m, t| m.value(operands[1], t) & m.value(operands[2], t));
            }
            "or" => {
                self.each(active, operands[0], |m, t| m.value(operands[1], t) | m.value(operands[2], t));
            }
            "cvt" => self.each(active, operands[0], |m, t| low(m.value(operands[1], t))),
            "setp" => {
                self.each(active, operands[0], |machine, thread| {
                    let (a, b) = (machine.value(operands[1], thread), machine.value(operands[2], thread));
                    u64::from(match words[1] {
                        "lt" => a < b,
                        "eq" => a == b,
                        _ => a != b,
                    })
                });
            }
            "ld" | "st" => self.memory(&words, operands, active, width(last)),
            "fence" | "bar" | "bra" => {}
            "mbarrier" if words[1] == "try_wait" => self.each(active, operands[0], |_, _| 1),
            "mbarrier" => assert_eq!(active, [0], "one thread makes the barrier"),
            "mma" if words[1].starts_with("sp") => ptx_sparse::mma(self, opcode, operands),
            _ => panic!("the machine does not know {opcode}"),
        }
    }

    fn memory(&mut self, words: &[&str], operands: &[&'m str], active: &[usize], bytes: usize) {
        let (stores, shared) = (words[0] == "st", words[1] == "shared");
        let (vector, address) = if stores { (operands[1], operands[0]) } else { (operands[0], operands[1]) };
        for thread in active {
            let base = self.address(address, *thread);
            assert!(!words.contains(&"v4") || base.is_multiple_of(16), "16 bytes at {base}");
            for (index, name) in names(vector).into_iter().enumerate() {
                let at = base + (index * bytes) as u64;
                match (stores, shared) {
                    (true, true) => {
                        let value = self.value(name, *thread);
                        store(&mut self.shared, at - SHARED_BASE, bytes, value);
                    }
                    (true, false) => {
                        let value = self.value(name, *thread);
                        store(self.output, at, bytes, value);
                    }
                    (false, true) => {
                        let value = load(&self.shared, at - SHARED_BASE, bytes);
                        self.set(name, *thread, value);
                    }
                    (false, false) => {
                        let value = load(self.input, at, bytes);
                        self.set(name, *thread, value);
                    }
                }
            }
        }
    }
}
