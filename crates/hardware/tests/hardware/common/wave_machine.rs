//! Runs the AMDGPU assembly of our kernels: a wave of 64 lanes in step. What a matrix instruction reads and
//! writes is written from the equations of AMD's calculator in their own direction (lane and register to
//! element) and without a look at the kernels' layouts; what it computes is the simulator's.
//!
//! It knows the instructions that our kernels use, and panics at any other.

use bitmma_engine::formats::F64;
use bitmma_engine::{Architecture, Matrix, MmaUnit, Operands, Revision, Simulator};

const LANES: usize = 64;

struct Wave<'m> {
    architecture: Architecture,
    scalars: [u32; 32],
    /// Of vector and of accumulation registers, lane by lane.
    vectors: Vec<[u32; LANES]>,
    accumulators: Vec<[u32; LANES]>,
    input: &'m [u8],
    output: &'m mut [u8],
    /// Loads that were not waited for.
    pending: bool,
    /// Wait states since a matrix instruction or a write of what one reads.
    settled: usize,
}

/// First register and count of `v[2:5]`, `a7`, `s[4:5]`.
fn range(operand: &str) -> (usize, usize) {
    let number = |text: &str| text.parse::<usize>().unwrap_or_else(|_| panic!("no register: {operand}"));
    match operand[1..].strip_prefix('[') {
        Some(inside) => {
            let (first, last) = inside.trim_end_matches(']').split_once(':').expect("a range");
            (number(first), number(last) - number(first) + 1)
        }
        None => (number(&operand[1..]), 1),
    }
}

/// Runs `blocks` waves of the kernel.
pub(crate) fn run(
    architecture: Architecture,
    code: &str,
    entry: &str,
    blocks: usize,
    input: &[u8],
    output: &mut [u8],
) {
    let (_, body) = code.split_once(&format!("\n{entry}:\n")).expect("the entry point");
    let (body, descriptor) = body.split_once("s_endpgm").expect("an end");
    let declared = descriptor.split_once(".amdhsa_next_free_vgpr ").expect("a count").1;
    let declared: usize = declared.lines().next().expect("a line").parse().expect("a number");
    for block in 0..blocks {
        let mut wave = Wave {
            architecture,
            scalars: [0; 32],
            vectors: vec![[0xdead; LANES]; declared],
            accumulators: vec![[0xdead; LANES]; declared],
            input,
            output,
            pending: false,
            settled: 0,
        };
        wave.scalars[2] = block as u32;
        wave.vectors[0] = std::array::from_fn(|lane| lane as u32);
        for line in body.lines().map(str::trim).filter(|line| !line.is_empty()) {
            wave.step(line);
        }
    }
}

impl Wave<'_> {
    fn scalar(&self, operand: &str) -> u32 {
        if operand.starts_with('s') { self.scalars[range(operand).0] } else { number(operand) }
    }

    fn vector(&self, operand: &str, lane: usize) -> u32 {
        if operand.starts_with('v') { self.vectors[range(operand).0][lane] } else { number(operand) }
    }

    fn each(&mut self, to: &str, value: impl Fn(&Self, usize) -> u32) {
        let new = std::array::from_fn(|lane| value(self, lane));
        self.vectors[range(to).0] = new;
    }

    fn step(&mut self, line: &str) {
        let (opcode, rest) = line.split_once(' ').expect("operands");
        let operands: Vec<&str> = rest.split(',').map(str::trim).collect();
        match opcode {
            "s_load_dwordx4" => {
                assert_eq!(operands, ["s[4:7]", "s[0:1]", "0x0"]);
                self.scalars[4..8].fill(0);
            }
            "s_waitcnt" => self.pending &= rest != "vmcnt(0)",
            "s_nop" => self.settled += 1 + number(operands[0]) as usize,
            "s_mul_i32" => {
                self.scalars[range(operands[0]).0] =
                    self.scalar(operands[1]).wrapping_mul(self.scalar(operands[2]));
            }
            "s_mul_hi_u32" => {
                let product = u64::from(self.scalar(operands[1])) * u64::from(self.scalar(operands[2]));
                self.scalars[range(operands[0]).0] = (product >> 32) as u32;
            }
            // no tile of a test reaches a carry
            "s_add_u32" | "s_addc_u32" => {
                let sum = self.scalar(operands[1]).checked_add(self.scalar(operands[2])).expect("no carry");
                self.scalars[range(operands[0]).0] = sum;
            }
            "v_and_b32_e32" => {
                self.each(operands[0], |w, l| w.vector(operands[1], l) & w.vector(operands[2], l));
            }
            "v_lshlrev_b32_e32" => {
                self.each(operands[0], |w, l| w.vector(operands[2], l) << w.vector(operands[1], l));
            }
            "v_add_u32_e32" => {
                self.each(operands[0], |w, l| w.vector(operands[1], l) + w.vector(operands[2], l));
            }
            "v_mov_b32_e32" => self.each(operands[0], |w, l| w.vector(operands[1], l)),
            "v_accvgpr_write_b32" => {
                assert!(!self.pending, "loads that were not waited for");
                self.accumulators[range(operands[0]).0] = self.vectors[range(operands[1]).0];
                self.settled = 0;
            }
            "v_accvgpr_read_b32" => {
                assert!(self.settled >= 19, "{} wait states after the matrix instruction", self.settled);
                self.vectors[range(operands[0]).0] = self.accumulators[range(operands[1]).0];
            }
            "global_load_dword" | "global_load_dwordx2" => {
                let (first, count) = range(operands[0]);
                assert_eq!(count, if opcode.ends_with("x2") { 2 } else { 1 });
                self.pending = true;
                for (index, lane) in (0..count).flat_map(|index| (0..LANES).map(move |lane| (index, lane))) {
                    let at = self.address(operands[2], operands[1], lane) + 4 * index;
                    let bytes = self.input[at..at + 4].try_into().expect("four bytes");
                    self.vectors[first + index][lane] = u32::from_le_bytes(bytes);
                }
            }
            "global_store_dword" | "global_store_dwordx2" => {
                assert!(self.settled >= 19, "{} wait states before the store", self.settled);
                let (first, count) = range(operands[1]);
                for (index, lane) in (0..count).flat_map(|index| (0..LANES).map(move |lane| (index, lane))) {
                    let at = self.address(operands[2], operands[0], lane) + 4 * index;
                    self.output[at..at + 4].copy_from_slice(&self.vectors[first + index][lane].to_le_bytes());
                }
            }
            _ if opcode.starts_with("v_mfma") => self.matrix(opcode, &operands),
            _ => panic!("the machine does not know {opcode}"),
        }
    }

    fn address(&self, base: &str, offset: &str, lane: usize) -> usize {
        self.scalars[range(base).0] as usize + self.vector(offset, lane) as usize
    }

    fn matrix(&mut self, opcode: &str, operands: &[&str]) {
        assert!(!self.pending, "loads that were not waited for");
        assert!(self.settled >= 4, "{} wait states before the matrix instruction", self.settled);
        self.settled = 0;
        let unit = Simulator::instruction(self.architecture, opcode, Revision::Hardware).expect("known");
        let signature = unit.signature().clone();
        let (m, n, k, blocks) = (signature.m, signature.n, signature.k, signature.blocks);
        let accumulates = self.architecture == Architecture::Cdna1;
        assert_eq!(operands[0], operands[3], "D takes the place of C");
        assert_eq!(operands[0].starts_with('a'), accumulates, "{}", operands[0]);
        if self.architecture != Architecture::Cdna1 {
            for operand in operands.iter().filter(|operand| range(operand).1 > 1) {
                assert_eq!(range(operand).0 % 2, 0, "{operand} begins on an odd register");
            }
        }
        // Src0 and Src1: i (or j) = lane % M, block = (lane / M) % B, k = along · (lane / (M · B)) + element
        let input = |operand: &str, lines: usize, by_row: bool, format: bitmma_engine::formats::Format| {
            let (first, count) = range(operand);
            let (bits, along) = (format.bits() as usize, k * lines * blocks / LANES);
            assert_eq!(count * 32, along * bits, "{opcode}: registers of {operand}");
            let mut codes = vec![None; blocks * lines * k];
            for (lane, element) in (0..LANES).flat_map(|lane| (0..along).map(move |element| (lane, element)))
            {
                let word = |index: usize| u64::from(self.vectors[first + index][lane]);
                let code = match bits {
                    64 => word(0) | word(1) << 32,
                    32 => word(element),
                    16 => word(element / 2) >> (16 * (element % 2)) & 0xffff,
                    _ => word(element / 4) >> (8 * (element % 4)) & 0xff,
                };
                let (line, block, at) =
                    (lane % lines, lane / lines % blocks, along * (lane / (lines * blocks)) + element);
                let index =
                    if by_row { (block * lines + line) * k + at } else { (block * k + at) * lines + line };
                assert_eq!(codes[index].replace(code), None, "two places");
            }
            let shape = if by_row { (blocks, lines, k) } else { (blocks, k, lines) };
            Matrix::new(format, shape, codes.into_iter().map(|code| code.expect("a place"))).expect("codes")
        };
        let a = input(operands[1], m, true, signature.a);
        let b = input(operands[2], n, false, signature.b);
        // C and D: block, i, j of a lane and a register
        let place = |lane: usize, register: usize| match (m, blocks, signature.d == F64) {
            (32, _, false) => {
                (register / 16, register / 4 * 8 % 32 + lane / 32 * 4 + register % 4, lane % 32)
            }
            (16, _, false) => (register / 4, lane / 16 * 4 + register % 4, lane % 16),
            (4, 16, false) => (lane / 4, register, lane % 4),
            (16, 1, true) => (0, 4 * register + lane / 16, lane % 16),
            (4, 4, true) => (lane / 4 % 4, lane / 16, lane % 4),
            other => panic!("{opcode}: no equation for {other:?}"),
        };
        let (first, count) = range(operands[0]);
        let wide = if signature.d == F64 { 2 } else { 1 };
        let file = if accumulates { &mut self.accumulators } else { &mut self.vectors };
        let mut codes = vec![None; blocks * m * n];
        let all = || (0..LANES).flat_map(|lane| (0..count / wide).map(move |register| (lane, register)));
        for (lane, register) in all() {
            let (block, row, column) = place(lane, register);
            let at = first + register * wide;
            let code = (0..wide).map(|word| u64::from(file[at + word][lane]) << (32 * word)).sum::<u64>();
            assert_eq!(codes[(block * m + row) * n + column].replace(code), None, "two places");
        }
        let codes = codes.into_iter().map(|code| code.expect("a place"));
        let c = Matrix::new(signature.c, (blocks, m, n), codes).expect("codes");
        let d = unit
            .multiply(&Operands { a: &a, b: &b, c: Some(&c), scale_a: None, scale_b: None })
            .expect("simulated");
        for (lane, register) in all() {
            let (block, row, column) = place(lane, register);
            let code = d.get(block, row, column);
            for word in 0..wide {
                file[first + register * wide + word][lane] = (code >> (32 * word)) as u32;
            }
        }
    }
}

fn number(text: &str) -> u32 {
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).expect("a number"),
        None => text.parse().unwrap_or_else(|_| panic!("no number: {text}")),
    }
}
