//! What NVIDIA's matrix instructions read and write, written from the PTX manual's tables in the manual's own
//! direction (thread and index to row and column) and without a look at the kernels' layouts. What they
//! compute is the simulator's.

use std::str::FromStr;

use bitmma_engine::formats::{Format, by_name};
use bitmma_engine::{Architecture, Matrix, MmaUnit, Operands, Revision, Signature, Simulator};

use super::ptx_machine::{Machine, names};

/// The instruction's unit, by whatever name.
pub(crate) fn simulator(machine: &Machine<'_>, name: &str) -> Simulator {
    let architecture = Architecture::from_str(machine.target).expect("a target we know");
    Simulator::instruction(architecture, name, Revision::Hardware)
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A matrix that is filled element by element; every element must be set, none twice.
pub(crate) struct Gathered {
    codes: Vec<Option<u64>>,
    columns: usize,
    rows: usize,
}

impl Gathered {
    pub(crate) fn new(blocks: usize, rows: usize, columns: usize) -> Gathered {
        Gathered { codes: vec![None; blocks * rows * columns], columns, rows }
    }

    pub(crate) fn set(&mut self, block: usize, row: usize, column: usize, code: u64) {
        assert!(row < self.rows && column < self.columns, "{row}, {column}");
        let before = self.codes[(block * self.rows + row) * self.columns + column].replace(code);
        assert_eq!(before, None, "element {row}, {column} of block {block} stands in two places");
    }

    pub(crate) fn matrix(self, format: Format) -> Matrix {
        let blocks = self.codes.len() / (self.rows * self.columns);
        let codes = self.codes.into_iter().map(|code| code.expect("every element stands somewhere"));
        Matrix::new(format, (blocks, self.rows, self.columns), codes).expect("codes of the format")
    }
}

/// Row and column of `a_i` in lane `lane` ("Matrix fragments for mma.m16n8k…", multiplicand A).
pub(crate) fn a_place(k: usize, bits: usize, m: usize, lane: usize, i: usize) -> (usize, usize) {
    let (group, t) = (lane >> 2, lane % 4);
    let lower = |condition: bool| if condition { group } else { group + 8 };
    match (bits, k) {
        (64, 4) if m == 8 => (group, t),
        (64 | 32, 4) => (lower(i == 0), t),
        (64 | 32, 8) => (lower(i == 0 || i == 2), if i < 2 { t } else { t + 4 }),
        (64, 16) => (lower(i & 1 == 0), if i & 1 == 0 { i * 2 + t } else { i * 2 - 2 + t }),
        (16, 8) => (lower(i < 2), t * 2 + (i & 1)),
        (16, 16) => (lower(i < 2 || (4..6).contains(&i)), t * 2 + (i & 1) + if i >= 4 { 8 } else { 0 }),
        (8, 16) => (lower(i < 4), t * 4 + (i & 3)),
        (8, 32) => (lower(i < 4 || (8..12).contains(&i)), t * 4 + (i & 3) + if i >= 8 { 16 } else { 0 }),
        (4, 64) => (lower(i < 8 || (16..24).contains(&i)), t * 8 + (i & 7) + if i >= 16 { 32 } else { 0 }),
        _ => panic!("no fragment of {bits} bits with K = {k}"),
    }
}

/// Row (along K) and column of `b_i` (multiplicand B).
pub(crate) fn b_place(k: usize, bits: usize, lane: usize, i: usize) -> (usize, usize) {
    let (group, t) = (lane >> 2, lane % 4);
    let row = match (bits, k) {
        (64 | 32, 4) => t,
        (64 | 32, 8) => {
            if i == 0 {
                t
            } else {
                t + 4
            }
        }
        (64, 16) => t + i * 4,
        (16, 8) => t * 2 + i,
        (16, 16) => t * 2 + (i & 1) + if i >= 2 { 8 } else { 0 },
        (8, 16) => t * 4 + i,
        (8, 32) => t * 4 + (i & 3) + if i >= 4 { 16 } else { 0 },
        (4, 64) => t * 8 + (i & 7) + if i >= 8 { 32 } else { 0 },
        _ => panic!("no fragment of {bits} bits with K = {k}"),
    };
    (row, group)
}

/// Row and column of `c_i` (accumulators; with eight rows there are but c0 and c1).
pub(crate) fn c_place(lane: usize, i: usize) -> (usize, usize) {
    let (group, t) = (lane >> 2, lane % 4);
    (if i < 2 { group } else { group + 8 }, t * 2 + (i & 1))
}

/// "Matrix fragments for mma.m8n8k4 with .f16": the product a lane belongs to.
fn quarter_of(lane: usize) -> usize {
    lane % 16 / 4
}

fn quarter_a(by_row: bool, lane: usize, i: usize) -> (usize, usize) {
    match (by_row, lane < 16) {
        (true, true) => (lane % 4, i),
        (true, false) => (lane % 4 + 4, i),
        (false, true) => (i % 4, lane % 4),
        (false, false) => (i % 4 + 4, lane % 4),
    }
}

fn quarter_b(by_column: bool, lane: usize, i: usize) -> (usize, usize) {
    match (by_column, lane < 16) {
        (true, true) => (i, lane % 4),
        (true, false) => (i, lane % 4 + 4),
        (false, true) => (lane % 4, i),
        (false, false) => (lane % 4, i + 4),
    }
}

fn quarter_c(single: bool, lane: usize, i: usize) -> (usize, usize) {
    if single {
        let x = (lane & 0b1) + (i & 0b10);
        (if lane < 16 { x } else { x + 4 }, (i & 0b100) + (lane & 0b10) + (i & 0b1))
    } else {
        (if lane < 16 { lane % 4 } else { lane % 4 + 4 }, i)
    }
}

/// The `index`-th element of `width` bits in the registers of a thread.
pub(crate) fn element(
    machine: &Machine<'_>,
    registers: &[&str],
    thread: usize,
    index: usize,
    width: usize,
) -> u64 {
    let per = if width >= 32 { 1 } else { 32 / width };
    let value = machine.value(registers[index / per], thread);
    if width == 64 { value } else { value >> (index % per * width) & ((1u64 << width) - 1) }
}

/// Bits that an element of A or B takes in a register of `mma`: FP4 and FP6 take a byte, FP4 where K is 64 its own.
pub(crate) fn container(format: Format, k: usize) -> usize {
    match format.bits() as usize {
        4 | 6 if k == 64 => 4,
        4 | 6 => 8,
        bits => bits,
    }
}

/// The code in a container of `container` bits: E2M1 in the middle of eight, the others at the bottom.
pub(crate) fn code(format: Format, container: usize, raw: u64) -> u64 {
    let code = if format.name == "e2m1" && container == 8 { raw >> 2 } else { raw };
    assert_eq!(code & !format.max_code(), 0, "bits beside a {format}");
    code
}

/// The scale factors of A and B from the operands of `mma` that begin with A's: registers, selectors of byte and
/// thread, then B's.
pub(crate) fn scale_factors(
    machine: &Machine<'_>,
    signature: &Signature,
    operands: &[&str],
) -> Option<(Matrix, Matrix)> {
    let Signature { m, n, k, scale, .. } = *signature;
    let scale = scale?;
    let factors = k / scale.size;
    let (mut of_a, mut of_b) = (Gathered::new(1, m, factors), Gathered::new(1, factors, n));
    assert!(operands[1] == "{0, 0}" && operands[3] == "{0, 0}", "selectors");
    for (lane, factor) in (0..32).flat_map(|lane| (0..factors).map(move |factor| (lane, factor))) {
        // thread selector 0: the first two threads of four for A, the first for B
        if lane % 4 < 2 {
            let row = (lane >> 2) + 8 * (lane % 4);
            of_a.set(0, row, factor, element(machine, &names(operands[0]), lane, factor, 8));
        }
        if lane % 4 == 0 {
            of_b.set(0, factor, lane >> 2, element(machine, &names(operands[2]), lane, factor, 8));
        }
    }
    Some((of_a.matrix(scale.format), of_b.matrix(scale.format)))
}

/// Stores D's elements, those of 16 bits two in a register.
pub(crate) fn scatter<'m>(
    machine: &mut Machine<'m>,
    registers: &[&'m str],
    thread: usize,
    codes: &[u64],
    bits: u32,
) {
    for (index, name) in registers.iter().enumerate() {
        let value = match bits {
            16 => codes[2 * index] | codes[2 * index + 1] << 16,
            _ => codes[index],
        };
        machine.set(name, thread, value);
    }
}

/// `mma.sync` and, on FP64, `wmma.mma`, whose fragments we take to be the same.
pub(crate) fn mma<'m>(machine: &mut Machine<'m>, opcode: &str, operands: &[&'m str]) {
    let unit = simulator(machine, opcode);
    let signature = unit.signature().clone();
    let (m, n, k, blocks) = (signature.m, signature.n, signature.k, signature.blocks);
    let [d, a, b, c] = [0, 1, 2, 3].map(|index| names(operands[index]));
    let quarters = blocks == 4;
    let (by_row, by_column) = (
        !opcode.contains(".col.col.") && !opcode.contains(".col.row."),
        !opcode.contains(".row.row.") && !opcode.contains(".col.row."),
    );
    let (mut of_a, mut of_b, mut of_c) =
        (Gathered::new(blocks, m, k), Gathered::new(blocks, k, n), Gathered::new(blocks, m, n));
    let elements = blocks * m * n / 32;
    let c_bits = signature.c.bits() as usize;
    for lane in 0..32 {
        let block = if quarters { quarter_of(lane) } else { 0 };
        for i in 0..blocks * m * k / 32 {
            let bits = container(signature.a, k);
            let (row, column) =
                if quarters { quarter_a(by_row, lane, i) } else { a_place(k, bits, m, lane, i) };
            let raw = element(machine, &a, lane, i, bits);
            of_a.set(block, row, column, code(signature.a, bits, raw));
        }
        for i in 0..blocks * n * k / 32 {
            let bits = container(signature.b, k);
            let (row, column) =
                if quarters { quarter_b(by_column, lane, i) } else { b_place(k, bits, lane, i) };
            let raw = element(machine, &b, lane, i, bits);
            of_b.set(block, row, column, code(signature.b, bits, raw));
        }
        for i in 0..elements {
            let (row, column) = if quarters { quarter_c(c_bits == 32, lane, i) } else { c_place(lane, i) };
            of_c.set(block, row, column, element(machine, &c, lane, i, c_bits));
        }
    }
    let scales = scale_factors(machine, &signature, &operands[4..]);
    let (a, b, c) = (of_a.matrix(signature.a), of_b.matrix(signature.b), of_c.matrix(signature.c));
    let (scale_a, scale_b) = scales.as_ref().map(|(a, b)| (a, b)).unzip();
    let answer = unit.multiply(&Operands { a: &a, b: &b, c: Some(&c), scale_a, scale_b }).expect("simulated");
    for lane in 0..32 {
        let codes: Vec<u64> = (0..elements)
            .map(|i| {
                let single = signature.d.bits() == 32;
                let (row, column) = if quarters { quarter_c(single, lane, i) } else { c_place(lane, i) };
                answer.get(if quarters { quarter_of(lane) } else { 0 }, row, column)
            })
            .collect();
        scatter(machine, &d, lane, &codes, signature.d.bits());
    }
}

/// FP64 fragments of `wmma`: as those of `mma.m8n8k4`. The manual leaves them open; the kernel does not care.
pub(crate) fn wmma_place(operand: &str, lane: usize, i: usize) -> (usize, usize) {
    match operand {
        "a" => a_place(4, 64, 8, lane, i),
        "b" => b_place(4, 64, lane, i),
        _ => c_place(lane, i),
    }
}

/// A matrix in shared memory as a descriptor says: core matrices of 8 lines by 16 bytes, K along memory.
pub(crate) fn described(
    machine: &Machine<'_>,
    descriptor: u64,
    lines: usize,
    k: usize,
    format: Format,
    by_row: bool,
) -> Matrix {
    let field = |low: u32| (descriptor >> low & 0x3fff) << 4;
    let (start, along_k, along_lines) = (field(0), field(16), field(32));
    assert_eq!(descriptor >> 49, 0, "no base offset, no swizzling");
    let bits = format.bits() as usize;
    // 4 and 6 bits beside 8: sixteen elements in 16 bytes, packed, the rest empty
    let per_row = if bits < 8 && k == 32 { 16 } else { 128 / bits };
    let mut gathered = if by_row { Gathered::new(1, lines, k) } else { Gathered::new(1, k, lines) };
    for line in 0..lines {
        for element in 0..k {
            let core = (line / 8) as u64 * along_lines + (element / per_row) as u64 * along_k;
            let at = start + core + (line % 8 * 16) as u64;
            let code = machine.shared_bits(at, element % per_row * bits, bits);
            let (row, column) = if by_row { (line, element) } else { (element, line) };
            gathered.set(0, row, column, code);
        }
    }
    gathered.matrix(format)
}

/// `wgmma.mma_async` with both operands in shared memory.
pub(crate) fn wgmma<'m>(machine: &mut Machine<'m>, opcode: &str, operands: &[&'m str]) {
    let unit = simulator(machine, opcode);
    let signature = unit.signature().clone();
    let (m, n, k) = (signature.m, signature.n, signature.k);
    let registers = names(operands[0]);
    assert_eq!(machine.value(operands[3], 0), 1, "D = A·B + D");
    assert_eq!(&operands[4..6], ["1", "1"], "nothing negated");
    assert!(operands[6..].iter().all(|transposed| *transposed == "0"));
    assert_eq!(operands.len(), if signature.a.bits() == 16 { 8 } else { 6 });
    let a = described(machine, machine.value(operands[1], 0), m, k, signature.a, true);
    let b = described(machine, machine.value(operands[2], 0), n, k, signature.b, false);
    // "Register fragments", D: the manual's row and column of d_i
    let place = |thread: usize, i: usize| {
        let (lane, warp) = (thread % 32, thread / 32);
        let row = 16 * warp + lane / 4 + if i % 4 >= 2 { 8 } else { 0 };
        (row, 8 * (i / 4) + lane % 4 * 2 + (i & 1))
    };
    let mut c = Gathered::new(1, m, n);
    for thread in 0..128 {
        for i in 0..n / 2 {
            let (row, column) = place(thread, i);
            c.set(0, row, column, element(machine, &registers, thread, i, signature.c.bits() as usize));
        }
    }
    let c = c.matrix(signature.c);
    let answer = unit
        .multiply(&Operands { a: &a, b: &b, c: Some(&c), scale_a: None, scale_b: None })
        .expect("simulated");
    for thread in 0..128 {
        let codes: Vec<u64> =
            (0..n / 2).map(|i| place(thread, i)).map(|(row, column)| answer.get(0, row, column)).collect();
        scatter(machine, &registers, thread, &codes, signature.d.bits());
    }
}

/// `tcgen05.mma`: what it is to do stands in the instruction descriptor.
pub(crate) fn tcgen05(machine: &mut Machine<'_>, opcode: &str, operands: &[&str]) {
    let value = |index: usize| machine.value(operands[index].trim_matches(['[', ']']), 0);
    let descriptor = value(3) as u32;
    let field = |low: u32, bits: u32| descriptor >> low & ((1 << bits) - 1);
    let kind = opcode.split('.').find(|word| word.starts_with("kind::")).expect("a kind");
    let scaled = opcode.contains("block_scale");
    let (n, m) = (field(17, 6) as usize * 8, field(24, 5) as usize * 16);
    let name = |low: u32| match (kind, field(low, 3)) {
        ("kind::f16", code) => ["f16", "bf16"][code as usize],
        ("kind::tf32", 2) => "tf32",
        ("kind::mxf4" | "kind::mxf4nvf4", 1) => "e2m1",
        ("kind::f8f6f4" | "kind::mxf8f6f4", code) => {
            ["e4m3", "e5m2", "", "e2m3", "e3m2", "e2m1"][code as usize]
        }
        (_, code) => panic!("{kind} has no format {code}"),
    };
    let (a, b) = (name(7), name(10));
    let k = match kind {
        "kind::tf32" => 8,
        "kind::f16" => 16,
        "kind::f8f6f4" | "kind::mxf8f6f4" => 32,
        _ => 64,
    };
    assert_eq!(field(0, 4) | field(13, 4), 0, "dense, nothing negated or transposed");
    let (d, words) = if scaled {
        assert_eq!(field(29, 2) | field(4, 2), 0, "factor selectors");
        let factors: usize =
            opcode.split("scale_vec::").nth(1).expect("factors")[..1].parse().expect("a digit");
        let factor = ["ue4m3", "ue8m0"][field(23, 1) as usize];
        ("f32", format!("tcgen05.mma.m{m}n{n}k{k}.{kind}.block{}.f32.{a}.{b}.{factor}", k / factors))
    } else {
        let d = ["f16", "f32"][field(4, 2) as usize];
        (d, format!("tcgen05.mma.m{m}n{n}k{k}.{kind}.{d}.{a}.{b}"))
    };
    let unit = simulator(machine, &words);
    let signature = unit.signature().clone();
    assert_eq!((signature.m, signature.n), (m, n), "{words}");
    let (descriptor_a, descriptor_b) = (value(1), value(2));
    assert!(descriptor_a >> 46 & 7 == 1 && descriptor_b >> 46 & 7 == 1, "the constant of the generation");
    let constant = 7u64 << 46;
    let of_a = described(machine, descriptor_a & !constant, m, k, by_name(a).expect("a format"), true);
    let of_b = described(machine, descriptor_b & !constant, n, k, by_name(b).expect("a format"), false);
    let first = value(0) as usize;
    // "Data path layout organization": layout D with M = 128, layout F with M = 64
    let place = |row: usize, column: usize| {
        let lane = if m == 64 { 32 * (row / 16) + row % 16 } else { row };
        (lane, first + column)
    };
    let d = by_name(d).expect("a format");
    let mut of_c = Gathered::new(1, m, n);
    for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
        of_c.set(0, row, column, u64::from(machine.tensor[&place(row, column)]) & d.max_code());
    }
    let scales = signature.scale.map(|scale| {
        let (first_a, first_b) = (value(4) as usize, value(5) as usize);
        let factors = k / scale.size;
        let gather = |lines: usize, first: usize, of_a: bool| {
            let mut gathered =
                if of_a { Gathered::new(1, lines, factors) } else { Gathered::new(1, factors, lines) };
            for (line, factor) in (0..lines).flat_map(|line| (0..factors).map(move |factor| (line, factor))) {
                let quarters = [0, 1, 2, 3]
                    .map(|quarter| machine.tensor[&(32 * quarter + line % 32, first + line / 32)]);
                assert!(
                    quarters.iter().all(|word| *word == quarters[0]),
                    "the same in each quarter of the lanes"
                );
                let code = u64::from(quarters[0] >> (8 * factor) & 0xff);
                let (row, column) = if of_a { (line, factor) } else { (factor, line) };
                gathered.set(0, row, column, code);
            }
            gathered.matrix(scale.format)
        };
        (gather(m, first_a, true), gather(n, first_b, false))
    });
    let of_c = of_c.matrix(d);
    let (scale_a, scale_b) = scales.as_ref().map(|(a, b)| (a, b)).unzip();
    let answer =
        unit.multiply(&Operands { a: &of_a, b: &of_b, c: Some(&of_c), scale_a, scale_b }).expect("simulated");
    for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
        machine.tensor.insert(place(row, column), answer.get(0, row, column) as u32);
    }
}
