//! Integer products of few bits, and `wmma`, against products of plain loops.

use crate::block::Block;

/// Numbers that look random.
fn noise(seed: u32) -> impl FnMut() -> u32 {
    let mut state = u64::from(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) as u32
    }
}

/// The words that 32 threads leave, register by register, of registers that they read from a buffer the same way.
fn registers(
    target: &'static str,
    given: &[u32],
    counts: [usize; 3],
    form: &str,
) -> Result<Vec<u32>, String> {
    let total: usize = counts.iter().sum();
    let list = |first: usize, count: usize| {
        let names: Vec<String> = (first..first + count).map(|index| format!("%r{}", 20 + index)).collect();
        format!("{{{}}}", names.join(", "))
    };
    let loads: String =
        (0..total).map(|at| format!("ld.global.b32 %r{}, [%d3+{}];", 20 + at, 128 * at)).collect();
    let [a, b, c] = counts;
    let (c_list, d_list) = (list(a + b, c), list(40, c));
    let stores: String =
        (0..c).map(|at| format!("st.global.b32 [%d3+{}], %r{};", 128 * at, 60 + at)).collect();
    let body = format!("{loads}\n{form} {d_list}, {}, {}, {c_list};\n{stores}", list(0, a), list(a, b));
    let block = Block { target, words: given.to_vec(), ..Block::of(32) };
    block.run(&body).map(|words| words[..32 * c].to_vec())
}

/// An element of a fragment of elements of some bits: lane by line and place (PTX ISA, "Matrix Fragments for mma.m16n8k64" and those
/// of other integers).
fn element(words: &[u32], (lines, bits): (usize, usize), (line, place): (usize, usize)) -> u32 {
    let each = 32 / bits;
    let (block, within) = (place / (4 * each), place % (4 * each));
    let register = block * (lines / 8) + line / 8;
    let lane = line % 8 * 4 + within / each;
    words[32 * register + lane] >> (bits * (within % each)) & (u32::MAX >> (32 - bits))
}

#[test]
fn products_of_few_bits() {
    for (shape, [m, n, k], types, bits) in [
        ("m8n8k16", [8, 8, 16], "u8.s8", 8),
        ("m16n8k16", [16, 8, 16], "s8.s8", 8),
        ("m8n8k32", [8, 8, 32], "s4.u4", 4),
        ("m16n8k32", [16, 8, 32], "u4.u4", 4),
        ("m16n8k64", [16, 8, 64], "s4.s4", 4),
        ("m8n8k128", [8, 8, 128], "b1.b1", 1),
        ("m16n8k128", [16, 8, 128], "b1.b1", 1),
        ("m16n8k256", [16, 8, 256], "b1.b1", 1),
    ] {
        let counts = [m * k * bits / 1024, n * k * bits / 1024, m * n / 32];
        let mut next = noise(shape.len() as u32 + k as u32);
        let mut given: Vec<u32> = (0..384).map(|_| next()).collect();
        let [a, b] = [(0, counts[0]), (counts[0], counts[1])]
            .map(|(at, count)| given[32 * at..32 * (at + count)].to_vec());
        let first_c = 32 * (counts[0] + counts[1]);
        // sums that go beyond 32 bits on either side
        for (at, c) in given[first_c..].iter_mut().enumerate() {
            *c = [*c, i32::MAX as u32, i32::MIN as u32][at % 3];
        }
        let c = given[first_c..].to_vec();
        let ops: &[&str] = if bits == 1 { &[".xor.popc", ".and.popc"] } else { &["", ".satfinite"] };
        for op in ops {
            let (before, behind) = if bits == 1 { ("", *op) } else { (*op, "") };
            let form = format!("mma.sync.aligned.{shape}.row.col{before}.s32.{types}.s32{behind}");
            let given =
                registers("sm_80", &given, counts, &form).unwrap_or_else(|error| panic!("{form}: {error}"));
            let value = |code: u32, kind: &str| match kind.starts_with('s') {
                true => i64::from((code << (32 - bits)) as i32 >> (32 - bits)),
                false => i64::from(code),
            };
            let (of_a, of_b) = types.split_once('.').expect("two types");
            for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
                let sum: i64 = (0..k)
                    .map(|at| {
                        let a = value(element(&a, (m, bits), (row, at)), of_a);
                        let b = value(element(&b, (n, bits), (column, at)), of_b);
                        if *op == ".xor.popc" { i64::from(a != b) } else { a * b }
                    })
                    .sum();
                // accumulators lie two by two
                let at = 32 * (row / 8 * 2 + column % 2) + row % 8 * 4 + column / 2;
                let whole = i64::from(c[at] as i32) + sum;
                let expected = match *op {
                    ".satfinite" => whole.clamp(i32::MIN.into(), i32::MAX.into()) as u32,
                    _ => whole as u32,
                };
                assert_eq!(given[at], expected, "{form}: row {row}, column {column}");
            }
        }
    }
    let wrong = |target: &'static str, counts: [usize; 3], form: &str| {
        let error = registers(target, &[0; 256], counts, form).expect_err(form);
        assert!(error.contains("is not supported"), "{form}: {error}");
    };
    wrong("sm_80", [4, 2, 4], "mma.sync.aligned.m16n8k256.row.col.satfinite.s32.b1.b1.s32.xor.popc");
    wrong("sm_80", [4, 2, 4], "mma.sync.aligned.m16n8k64.row.col.s32.s8.s4.s32");
    wrong("sm_80", [2, 1, 4], "mma.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32");
    wrong("sm_75", [2, 1, 4], "mma.sync.aligned.m16n8k32.row.col.s32.s4.s4.s32");
    wrong("sm_75", [1, 1, 2], "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.and.popc");
    wrong("sm_80", [4, 2, 4], "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32");
}

/// A list of registers.
fn list(letter: char, first: usize, count: usize) -> String {
    let names: Vec<String> = (first..first + count).map(|index| format!("%{letter}{index}")).collect();
    format!("{{{}}}", names.join(", "))
}

/// `wmma` with A, B and C in global memory and shared memory, D where C was: what is left of D, as 32-bit words.
struct Wmma {
    shape: [usize; 3],
    /// Of A and B, and of C and D.
    types: [&'static str; 2],
    /// Whether A, B, and C and D lie by rows.
    by_rows: [bool; 3],
}

impl Wmma {
    fn body(&self, counts: [usize; 3], letters: [char; 2]) -> String {
        let ([m, n, k], [of_a, of_c]) = (self.shape, self.types);
        let layout = |by_rows: bool| if by_rows { "row" } else { "col" };
        let [a, b, c] = self.by_rows.map(layout);
        let [count_a, count_b, count_c] = counts;
        let [letter, letter_c] = letters;
        let (list_a, list_b) = (list(letter, 40, count_a), list(letter, 50, count_b));
        let list_c = list(letter_c, 60, count_c);
        let shape = format!("m{m}n{n}k{k}");
        let types =
            if of_a == "f16" { format!("{of_c}.{of_c}") } else { format!("{of_c}.{of_a}.{of_a}.{of_c}") };
        // A from shared memory, where a stride is 8 elements longer; B and C from global memory
        format!(
            ".reg .f32 %g<99>; .reg .f64 %e<99>; mov.u32 %r30, PITCH;\nCOPY\nbar.sync 0;\n\
             wmma.load.a.sync.aligned.{a}.{shape}.shared.{of_a} {list_a}, [%r5+64], %r30;\n\
             wmma.load.b.sync.aligned.{b}.{shape}.global.{of_a} {list_b}, [%d1+8192];\n\
             wmma.load.c.sync.aligned.{c}.{shape}.{of_c} {list_c}, [%d1+16384];\n\
             wmma.mma.sync.aligned.{a}.{b}.{shape}.{types} {list_c}, {list_a}, {list_b}, {list_c};\n\
             wmma.store.d.sync.aligned.{c}.{shape}.global.{of_c} [%d1+16384], {list_c};"
        )
    }
}

/// Codes of small integers, in elements of some bits.
fn code(value: i64, kind: &str) -> u64 {
    match kind {
        "f16" if value == 0 => 0,
        "f16" => {
            let exponent = value.abs().ilog2();
            let fraction = (value.unsigned_abs() << (10 - exponent)) & 0x3ff;
            u64::from(value < 0) << 15 | u64::from(exponent + 15) << 10 | fraction
        }
        "bf16" => u64::from((value as f32).to_bits() >> 16),
        "f32" | "tf32" => u64::from((value as f32).to_bits()),
        "f64" => (value as f64).to_bits(),
        _ => value as u64,
    }
}

#[test]
fn wmma() {
    let shapes = [[16, 16, 16], [8, 32, 16], [32, 8, 16]];
    let mut all = vec![];
    for shape in shapes {
        let [m, n, k] = shape;
        all.push((shape, ["f16", "f32"], 16, 32, [8, 8, 8], ['r', 'g']));
        all.push((shape, ["f16", "f16"], 16, 16, [8, 8, 4], ['r', 'r']));
        all.push((shape, ["bf16", "f32"], 16, 32, [m * k / 64, n * k / 64, 8], ['r', 'g']));
        all.push((shape, ["s8", "s32"], 8, 32, [m * k / 128, n * k / 128, 8], ['r', 'r']));
    }
    all.push(([16, 16, 8], ["tf32", "f32"], 32, 32, [4, 4, 8], ['r', 'g']));
    all.push(([8, 8, 4], ["f64", "f64"], 64, 64, [1, 1, 2], ['e', 'e']));
    for (shape, types, bits, bits_c, counts, letters) in all {
        for mask in 0..8 {
            let by_rows = [mask & 1 != 0, mask & 2 != 0, mask & 4 != 0];
            let [m, n, k] = shape;
            let wmma = Wmma { shape, types, by_rows };
            let mut next = noise(mask + bits as u32 + m as u32);
            let mut matrix =
                |count: usize| -> Vec<i64> { (0..count).map(|_| i64::from(next() % 15) - 7).collect() };
            let [a, b, c] = [matrix(m * k), matrix(k * n), matrix(m * n)];
            // where an element is, by rows or columns, with a pitch that is longer
            let place = |(row, column): (usize, usize),
                         (rows, columns): (usize, usize),
                         by_rows: bool,
                         more: usize| match by_rows {
                true => row * (columns + more) + column,
                false => column * (rows + more) + row,
            };
            let mut bytes = vec![0u8; 3 * 8192];
            let mut put = |first: usize, at: usize, value: u64, bits: usize| {
                let at = first + at * bits / 8;
                bytes[at..at + bits / 8].copy_from_slice(&value.to_le_bytes()[..bits / 8]);
            };
            let more = 128 / bits;
            for (row, at) in (0..m).flat_map(|row| (0..k).map(move |at| (row, at))) {
                put(0, place((row, at), (m, k), by_rows[0], more), code(a[row * k + at], types[0]), bits);
            }
            for (at, column) in (0..k).flat_map(|at| (0..n).map(move |column| (at, column))) {
                put(
                    8192,
                    place((at, column), (k, n), by_rows[1], 0),
                    code(b[at * n + column], types[0]),
                    bits,
                );
            }
            for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
                put(
                    16384,
                    place((row, column), (m, n), by_rows[2], 0),
                    code(c[row * n + column], types[1]),
                    bits_c,
                );
            }
            let words = bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
            let pitch = more + if by_rows[0] { k } else { m };
            let copy: String = (0..16)
                .map(|turn| format!("ld.global.v4.b32 {{%r6, %r7, %r8, %r9}}, [%d20+{}]; st.shared.v4.b32 [%r10+{}], {{%r6, %r7, %r8, %r9}};", 512 * turn, 64 + 512 * turn))
                .collect();
            let copy = format!(
                ".reg .b64 %d20; mul.wide.u32 %d20, %r2, 16; add.s64 %d20, %d20, %d1; mad.lo.u32 %r10, %r2, 16, %r5;\n{copy}"
            );
            let body = wmma.body(counts, letters).replace("PITCH", &pitch.to_string()).replace("COPY", &copy);
            let block = Block { target: "sm_90a", words, ..Block::of(32) };
            let given = block.bytes(&body).unwrap_or_else(|error| panic!("{body}\n{error}"));
            for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
                let sum: i64 = (0..k).map(|at| a[row * k + at] * b[at * n + column]).sum();
                let at = 16384 + place((row, column), (m, n), by_rows[2], 0) * bits_c / 8;
                let mut stored = [0; 8];
                stored[..bits_c / 8].copy_from_slice(&given[at..at + bits_c / 8]);
                let expected = code(sum + c[row * n + column], types[1]) & (u64::MAX >> (64 - bits_c));
                assert_eq!(
                    u64::from_le_bytes(stored),
                    expected,
                    "{shape:?} {types:?} {by_rows:?}: row {row}, column {column}"
                );
            }
        }
    }
}

#[test]
fn wmma_of_few_bits() {
    // A and B by their lines along K, which are 16 bytes; C by rows
    for (types, k, op) in [("s4", 32, ""), ("u4", 32, ""), ("b1", 128, ".xor.popc"), ("b1", 128, ".and.popc")]
    {
        let bits = 128 / k;
        let mut next = noise(k as u32);
        let given: Vec<u32> = (0..192).map(|_| next()).collect();
        let shape = format!("m8n8k{k}");
        let body = format!(
            "wmma.load.a.sync.aligned.row.{shape}.global.{types} {{%r20}}, [%d1], {k};\nwmma.load.b.sync.aligned.col.{shape}.global.{types} {{%r21}}, [%d1+128];\n\
             wmma.load.c.sync.aligned.row.{shape}.global.s32 {{%r22, %r23}}, [%d1+256], 8;\n\
             wmma.mma{op}.sync.aligned.row.col.{shape}.s32.{types}.{types}.s32 {{%r24, %r25}}, {{%r20}}, {{%r21}}, {{%r22, %r23}};\n\
             wmma.store.d.sync.aligned.row.{shape}.global.s32 [%d1], {{%r24, %r25}}, 8;"
        );
        let block = Block { target: "sm_80", words: given.clone(), ..Block::of(32) };
        let stored = block.run(&body).unwrap_or_else(|error| panic!("{body}\n{error}"));
        let element = |first: usize, line: usize, at: usize| {
            let word = given[first + 4 * line + at * bits / 32];
            let code = word >> (bits * at % 32) & (u32::MAX >> (32 - bits));
            if types == "s4" { i64::from((code << 28) as i32 >> 28) } else { i64::from(code) }
        };
        for (row, column) in (0..8).flat_map(|row| (0..8).map(move |column| (row, column))) {
            let sum: i64 = (0..k)
                .map(|at| (element(0, row, at), element(32, column, at)))
                .map(|(a, b)| if op == ".xor.popc" { a ^ b } else { a * b })
                .sum();
            let at = 8 * row + column;
            assert_eq!(
                stored[at],
                given[64 + at].wrapping_add(sum as u32),
                "{types}{op}: row {row}, column {column}"
            );
        }
    }
    for line in [
        "wmma.load.a.sync.aligned.col.m8n8k32.global.s4 {%r20}, [%d1];",
        "wmma.load.b.sync.aligned.row.m8n8k128.global.b1 {%r20}, [%d1];",
        "wmma.load.a.sync.aligned.row.m16n16k16.global.f32 {%r20, %r21}, [%d1];",
        "wmma.load.d.sync.aligned.row.m8n8k32.global.s32 {%r20, %r21}, [%d1];",
        "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f16 {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8}, {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, {%r1, %r2, %r3, %r4};",
        "wmma.mma.sync.aligned.row.row.m8n8k32.s32.s4.s4.s32 {%r24, %r25}, {%r20}, {%r21}, {%r22, %r23};",
        "wmma.mma.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 {%r24, %r25}, {%r20}, {%r21}, {%r22, %r23};",
    ] {
        let error = Block { target: "sm_80", ..Block::of(32) }.run(line).expect_err(line);
        assert!(error.contains("is not supported"), "{line}: {error}");
    }
}

#[test]
fn sparse_products() {
    // K of 32: of each four elements of a row of A two are stored, and metadata of two threads of each four say which
    let (m, n, k) = (16, 8, 32);
    let form = "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32";
    let mut next = noise(5);
    let mut number = || i64::from(next() % 15) - 7;
    let pairs = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];
    for selector in 0..2 {
        let mut words = vec![0; 512];
        let mut put =
            |first: usize, (lines, bits): (usize, usize), (line, place): (usize, usize), code: u64| {
                let each = 32 / bits;
                let register = first + place / (4 * each) * (lines / 8) + line / 8;
                let lane = line % 8 * 4 + place % (4 * each) / each;
                words[32 * register + lane] |= (code as u32) << (bits * (place % each));
            };
        let mut dense = vec![0; m * k];
        let mut metadata = [0u32; 32];
        for (row, chunk) in (0..m).flat_map(|row| (0..8).map(move |chunk| (row, chunk))) {
            let pair: [usize; 2] = pairs[(5 * row + chunk) % 6];
            for (stored, slot) in pair.into_iter().enumerate() {
                let value = number();
                dense[row * k + 4 * chunk + slot] = value;
                put(0, (m, 16), (row, 2 * chunk + stored), code(value, "f16"));
            }
            let lane = row % 8 * 4 + chunk / 4 + 2 * selector;
            metadata[lane] |= ((pair[1] << 2 | pair[0]) as u32) << (16 * (row / 8) + 4 * (chunk % 4));
        }
        let b: Vec<i64> = (0..k * n).map(|_| number()).collect();
        for (at, column) in (0..k).flat_map(|at| (0..n).map(move |column| (at, column))) {
            put(4, (n, 16), (column, at), code(b[at * n + column], "f16"));
        }
        words[256..288].copy_from_slice(&metadata);
        let loads: String =
            (0..9).map(|at| format!("ld.global.b32 %r{}, [%d3+{}];", 20 + at, 128 * at)).collect();
        let body = |form: &str, selector: usize| {
            format!(
                "{loads} mov.b32 %r30, 0f40E00000;\n{form} {{%r40, %r41, %r42, %r43}}, {}, {}, {{%r30, %r30, %r30, %r30}}, %r28, {selector};\n\
                 st.global.v4.b32 [%d4], {{%r40, %r41, %r42, %r43}};",
                list('r', 20, 4),
                list('r', 24, 4)
            )
            .replacen("ld.global", "mad.wide.u32 %d4, %r2, 16, %d1; ld.global", 1)
        };
        let run = |form: &str, words: &[u32], selector| {
            let block = Block { target: "sm_90a", words: words.to_vec(), ..Block::of(32) };
            block.run(&body(form, selector))
        };
        let given = run(form, &words, selector).unwrap_or_else(|error| panic!("{error}"));
        for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
            let sum: i64 = (0..k).map(|at| dense[row * k + at] * b[at * n + column]).sum();
            let at = 4 * (row % 8 * 4 + column / 2) + row / 8 * 2 + column % 2;
            assert_eq!(
                u64::from(given[at]),
                code(sum + 7, "f32"),
                "selector {selector}, row {row}, column {column}"
            );
        }
        // what a chunk must not say
        words[256 + 2 * selector] = 0b0101;
        let error = run(form, &words, selector).expect_err("metadata");
        assert!(error.contains("the metadata 0b0101 of chunk 0 of row 0 names no two slots"), "{error}");
        let error = run(form, &words, 2).expect_err("selector");
        assert!(error.contains("takes a selector up to 1, not 2"), "{error}");
    }
}

/// Sparse integer products, against those of A with zeros where nothing is stored: of four elements two are stored, of eight of 4 bits two
/// pairs.
#[test]
fn sparse_products_of_integers() {
    let slots: Vec<[usize; 2]> =
        (0..16).map(|pair| [pair & 3, pair >> 2]).filter(|[one, other]| one != other).collect();
    for (index, (bits, k)) in [(8, 32), (8, 64), (4, 64), (4, 128)].into_iter().enumerate() {
        for (turn, (types, saturates)) in
            [("s{}.s{}", false), ("u{}.s{}", true), ("s{}.u{}", false), ("u{}.u{}", true)]
                .into_iter()
                .enumerate()
        {
            let (m, n, half, unit) = (16, 8, k / 2, if bits == 4 { 2 } else { 1 });
            let types = types.replace("{}", &bits.to_string());
            let signed = [0, 3].map(|at| types[at..].starts_with('s'));
            let ordered = turn % 2 == 0;
            let name = if ordered { "mma.sp::ordered_metadata" } else { "mma.sp" };
            let limit = if saturates { "satfinite." } else { "" };
            let form = format!("{name}.sync.aligned.m16n8k{k}.row.col.{limit}s32.{types}.s32");
            let mut next = noise(7 + 16 * index as u32 + turn as u32);
            let mut number = |signed: bool| {
                let code = i64::from(next() % (1 << bits));
                if signed && code >> (bits - 1) == 1 { code - (1 << bits) } else { code }
            };
            // of A, whose rows are twice as many and half as long, there are as many registers as of B
            let of_a = m * half * bits / 32 / 32;
            let mut words = vec![0; 32 * (2 * of_a + 1)];
            let mut put = |first: usize, lines: usize, (line, place): (usize, usize), code: i64| {
                let each = 32 / bits;
                let register = first + place / (4 * each) * (lines / 8) + line / 8;
                let lane = line % 8 * 4 + place % (4 * each) / each;
                words[32 * register + lane] |=
                    (code as u32 & (u32::MAX >> (32 - bits))) << (bits * (place % each));
            };
            let (mut dense, mut metadata) = (vec![0; m * k], [0u32; 32]);
            let (chunks, selector) =
                (half / (2 * unit), if k == 32 || k == 64 && bits == 4 { turn % 2 } else { 0 });
            for (row, chunk) in (0..m).flat_map(|row| (0..chunks).map(move |chunk| (row, chunk))) {
                let mut pair = slots[(5 * row + 3 * chunk + turn) % slots.len()];
                if ordered {
                    pair.sort_unstable();
                }
                for (at, element) in pair.iter().flat_map(|slot| slot * unit..(slot + 1) * unit).enumerate() {
                    let value = number(signed[0]);
                    dense[row * k + 4 * unit * chunk + element] = value;
                    put(0, m, (row, 2 * unit * chunk + at), value);
                }
                // a pair of threads of each four has four chunks of two rows each; all four have eight of one
                let (upper, quad) = (row / 8, row % 8 * 4);
                let (lane, nibble) = match chunks {
                    8 => (quad + 2 * selector + chunk / 4, 4 * upper + chunk % 4),
                    _ => (quad + chunk / 8 * 2 + upper, chunk % 8),
                };
                metadata[lane] |= ((pair[1] << 2 | pair[0]) as u32) << (4 * nibble);
            }
            let b: Vec<i64> = (0..k * n).map(|_| number(signed[1])).collect();
            for (at, column) in (0..k).flat_map(|at| (0..n).map(move |column| (at, column))) {
                put(of_a, n, (column, at), b[at * n + column]);
            }
            words[64 * of_a..].copy_from_slice(&metadata);
            // one addend that overflows beside one that does not
            for addend in [i64::from(i32::MAX) - 40, -3] {
                let loads: String = (0..=2 * of_a)
                    .map(|at| format!("ld.global.b32 %r{}, [%d3+{}];", 20 + at, 128 * at))
                    .collect();
                let body = format!(
                    "mad.wide.u32 %d4, %r2, 16, %d1; {loads} mov.b32 %r50, {addend};\n\
                     {form} {{%r40, %r41, %r42, %r43}}, {}, {}, {{%r50, %r50, %r50, %r50}}, %r{}, {selector};\n\
                     st.global.v4.b32 [%d4], {{%r40, %r41, %r42, %r43}};",
                    list('r', 20, of_a),
                    list('r', 20 + of_a, of_a),
                    20 + 2 * of_a,
                );
                let block = Block { target: "sm_80", words: words.clone(), ..Block::of(32) };
                let given = block.run(&body).unwrap_or_else(|error| panic!("{form}: {error}"));
                for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
                    let sum: i64 =
                        addend + (0..k).map(|at| dense[row * k + at] * b[at * n + column]).sum::<i64>();
                    let at = 4 * (row % 8 * 4 + column / 2) + row / 8 * 2 + column % 2;
                    let expected = match saturates {
                        true => sum.clamp(i32::MIN.into(), i32::MAX.into()) as i32,
                        false => sum as i32,
                    };
                    assert_eq!(given[at] as i32, expected, "{form}: row {row}, column {column}");
                }
            }
        }
    }
    for (target, form, operands) in [
        ("sm_75", "m16n8k32.row.col.s32.s8.s8.s32", "{%r1, %r2}, {%r1, %r2}"),
        ("sm_80", "m16n8k16.row.col.s32.s8.s8.s32", "{%r1}, {%r1}"),
        ("sm_80", "m16n8k32.row.col.s32.s4.s4.s32", "{%r1}, {%r1}"),
        ("sm_80", "m16n8k256.row.col.s32.b1.b1.s32.xor.popc", "{%r1, %r2}, {%r1, %r2}"),
    ] {
        let line = format!(
            "mma.sp.sync.aligned.{form} {{%r1, %r2, %r3, %r4}}, {operands}, {{%r1, %r2, %r3, %r4}}, %r5, 0;"
        );
        let error = Block { target, ..Block::of(32) }.run(&line).expect_err(form);
        assert!(error.contains("is not supported"), "{line}: {error}");
    }
}

/// The same of a warpgroup, with A in shared memory and in registers.
#[test]
fn sparse_products_of_integers_of_a_warpgroup() {
    let (m, n, k) = (64, 8, 64);
    let mut next = noise(11);
    let mut words = vec![0u32; 512 + 128 + 128];
    // core matrices of 8 lines of 16 bytes, one after the other along K
    let mut put = |first: usize, cores: usize, (line, byte): (usize, usize), code: u8| {
        let at = first + line / 8 * cores * 128 + byte / 16 * 128 + line % 8 * 16 + byte % 16;
        words[at / 4] |= u32::from(code) << (8 * (at % 4));
    };
    let (mut dense, mut metadata) = (vec![0; m * k], vec![0u32; 128]);
    for (row, chunk) in (0..m).flat_map(|row| (0..16).map(move |chunk| (row, chunk))) {
        let pair = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]][(5 * row + chunk) % 6];
        for (at, slot) in pair.into_iter().enumerate() {
            let code = next() as u8;
            dense[row * k + 4 * chunk + slot] = i64::from(code as i8);
            put(0, 2, (row, 2 * chunk + at), code);
        }
        let thread = row / 16 * 32 + row % 8 * 4 + chunk / 8 * 2 + row % 16 / 8;
        metadata[thread] |= ((pair[1] << 2 | pair[0]) as u32) << (chunk % 8 * 4);
    }
    let b: Vec<i64> = (0..n * k).map(|_| i64::from(next() as u8)).collect();
    for (column, at) in (0..n).flat_map(|column| (0..k).map(move |at| (column, at))) {
        put(2048, 4, (column, at), b[column * k + at] as u8);
    }
    words[640..].copy_from_slice(&metadata);
    let copies: String = (0..5)
        .map(|at| format!("ld.global.b32 %r9, [%d3+{}]; st.shared.b32 [%r4+{}], %r9;\n", 512 * at, 512 * at))
        .collect();
    let run = |form: &str, a: &str| {
        let body = format!(
            "{copies} ld.global.b32 %r30, [%d3+2560]; mad.wide.u32 %d4, %r2, 16, %d1;\n\
             fence.proxy.async; bar.sync 0;\n\
             cvt.u64.u32 %d5, %r5; shr.u64 %d5, %d5, 4; and.b64 %d5, %d5, 0x3fff;\n\
             or.b64 %d6, %d5, 0x0000001000080000; add.s64 %d7, %d5, 128; or.b64 %d7, %d7, 0x0000002000080000;\n\
             shr.u32 %r6, %r2, 5; and.b32 %r7, %r2, 31; mad.lo.u32 %r8, %r6, 512, %r5; mad.lo.u32 %r8, %r7, 4, %r8;\n\
             ld.shared.b32 %r50, [%r8]; ld.shared.b32 %r51, [%r8+256]; ld.shared.b32 %r52, [%r8+128]; ld.shared.b32 %r53, [%r8+384];\n\
             mov.b32 %r40, 0x7ffffff0; mov.b32 %r41, 5; mov.b32 %r42, 6; mov.b32 %r43, 0x80000000;\n\
             wgmma.fence.sync.aligned; {form} {{%r40, %r41, %r42, %r43}}, {a}, %d7, %r30, 0, 1;\n\
             wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n\
             st.global.v4.b32 [%d4], {{%r40, %r41, %r42, %r43}};"
        );
        Block { target: "sm_90a", words: words.clone(), ..Block::of(128) }.run(&body)
    };
    for limit in ["", ".satfinite"] {
        for a in ["%d6", "{%r50, %r51, %r52, %r53}"] {
            let form = format!("wgmma.mma_async.sp.sync.aligned.m64n8k64{limit}.s32.s8.u8");
            let given = run(&form, a).unwrap_or_else(|error| panic!("{form}: {error}"));
            for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
                let element = row % 16 / 8 * 2 + column % 2;
                let addend = i64::from([0x7fff_fff0, 5, 6, i32::MIN][element]);
                let sum: i64 =
                    addend + (0..k).map(|at| dense[row * k + at] * b[column * k + at]).sum::<i64>();
                let expected = match limit {
                    "" => sum as i32,
                    _ => sum.clamp(i32::MIN.into(), i32::MAX.into()) as i32,
                };
                let at = 4 * (row / 16 * 32 + row % 8 * 4 + column / 2) + element;
                assert_eq!(given[at] as i32, expected, "{form} {a}: row {row}, column {column}");
            }
        }
    }
    for form in [
        "wgmma.mma_async.sp.sync.aligned.m64n8k32.s32.s8.u8",
        "wgmma.mma_async.sync.aligned.m64n8k64.s32.s8.u8",
    ] {
        let error = run(form, "%d6").expect_err(form);
        assert!(error.contains("is not supported"), "{error}");
    }
}
