//! Runs one line of PTX on rows of operands, and the operands at which something ends.

use bitmma_ptx::{Argument, Buffer, Launch, Limits, Mode, Program};

/// The operands a, b, c, e of a line.
pub(crate) type Row = [u64; 4];

/// The results of a line as it is written. `$d` is a register of `result` bits; `$a`, `$b`, `$c` and `$e` are registers of
/// `source` bits, which are also `%h5` to `%h8`, `%r5` to `%r8` and `%d5` to `%d8` in their own widths.
pub(crate) fn results(line: &str, source: u32, result: u32, rows: &[Row]) -> Vec<u64> {
    let target = if line.contains("f32x2") { "sm_100a" } else { "sm_90a" };
    results_on(target, line, source, result, rows)
}

/// The same on a target.
pub(crate) fn results_on(target: &str, line: &str, source: u32, result: u32, rows: &[Row]) -> Vec<u64> {
    let letter = |bits: u32| match bits {
        16 => 'h',
        32 => 'r',
        _ => 'd',
    };
    let (a, d) = (letter(source), letter(result));
    let mut body = line.replace("$d", &format!("%{d}9"));
    for (name, number) in [("$a", 5), ("$b", 6), ("$c", 7), ("$e", 8)] {
        body = body.replace(name, &format!("%{a}{number}"));
    }
    let loads: String = [(16, 'h'), (32, 'r'), (64, 'd')]
        .iter()
        .flat_map(|(bits, letter)| {
            (0..4).map(move |at| format!("ld.global.b{bits} %{letter}{}, [%d3+{}];\n", 5 + at, 8 * at))
        })
        .collect();
    let text = format!(
        ".version 8.8\n.target {target}\n.address_size 64\n.visible .entry one(.param .u64 x, .param .u64 y)\n\
         .reqntid 32\n{{\n.reg .pred %p<9>; .reg .b16 %h<30>; .reg .b32 %r<30>; .reg .b64 %d<30>;\n\
         ld.param.b64 %d1, [x]; ld.param.b64 %d2, [y]; mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x;\n\
         shl.b32 %r3, %r3, 5; add.s32 %r2, %r2, %r3; mul.wide.u32 %d3, %r2, 32; add.s64 %d3, %d1, %d3;\n\
         mul.wide.u32 %d4, %r2, 8; add.s64 %d4, %d2, %d4;\n{loads}{body}\nst.global.b{result} [%d4], %{d}9;\nret;\n}}\n"
    );
    let program = Program::parse(&text).unwrap_or_else(|error| panic!("{line}: {error}"));
    let kernel = program.kernel(None, None, Mode::Text).unwrap_or_else(|error| panic!("{line}: {error}"));
    let blocks = rows.len().div_ceil(32);
    let mut x: Vec<u8> = rows.iter().flatten().flat_map(|operand| operand.to_le_bytes()).collect();
    x.resize(blocks * 32 * 32, 0);
    let buffer = |bytes| Buffer { bytes, ..Buffer::default() };
    let mut buffers = vec![buffer(x), buffer(vec![0; blocks * 32 * 8])];
    let launch = Launch {
        limits: Limits { threads: 1, ..Limits::default() },
        ..Launch::new(&kernel, [blocks as u32, 1, 1])
    };
    let arguments = [0, 1].map(|buffer| Argument::Pointer { buffer, offset: 0 });
    launch.run(&arguments, &mut buffers, &mut || false).unwrap_or_else(|error| panic!("{line}: {error}"));
    let codes = buffers[1].bytes.chunks(8).take(rows.len());
    codes.map(|code| u64::from_le_bytes(code.try_into().expect("eight bytes"))).collect()
}

/// Compares the results of a line with those that a function gives; `None` is any result.
pub(crate) fn check(
    line: &str,
    source: u32,
    result: u32,
    rows: &[Row],
    expected: impl Fn(Row) -> Option<u64>,
) {
    for (row, code) in rows.iter().zip(results(line, source, result, rows)) {
        let Some(expected) = expected(*row) else { continue };
        assert!(code == expected, "{line} of {row:#x?} is {code:#x}, should be {expected:#x}");
    }
}

/// The last bits of a number.
pub(crate) fn cut(value: i128, bits: u32) -> u64 {
    value as u64 & u64::MAX >> (64 - bits)
}

/// The number that a code is in a type; its letter is `s`, `u` or `b`.
pub(crate) fn read(code: u64, letter: char, bits: u32) -> i128 {
    let up = 64 - bits;
    if letter == 's' { i128::from((code << up) as i64 >> up) } else { i128::from(code << up >> up) }
}

/// All pairs of codes, with third and fourth operands that walk through the codes.
pub(crate) fn pairs(codes: &[u64]) -> Vec<Row> {
    let count = codes.len();
    let row = |at: usize| {
        [codes[at / count], codes[at % count], codes[(7 * at + 3) % count], codes[(11 * at + 5) % count]]
    };
    (0..count * count).map(row).collect()
}

/// Integers at which something ends, for a width.
pub(crate) fn integers(bits: u32) -> Vec<u64> {
    let (high, ones) = (1u64 << (bits - 1), u64::MAX >> (64 - bits));
    let small = [0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 33, 63, 64, 127, 128, 255];
    let large =
        [high - 1, high, high + 1, ones, ones - 1, ones / 3, 0x1234_5678_9abc_def0, 0x00ff_8001_0203_8040];
    small.into_iter().chain(large).map(|code| code & ones).collect()
}

/// Codes of floats at which something ends, with both signs.
pub(crate) fn floats(fraction_bits: u32, exponent_bits: u32) -> Vec<u64> {
    let unit = 1u64 << fraction_bits;
    let one = ((1 << (exponent_bits - 1)) - 1) << fraction_bits;
    let infinity = ((1 << exponent_bits) - 1) << fraction_bits;
    let lower = u64::from(fraction_bits) << fraction_bits;
    let mut sizes = vec![0, 1, 2, 3, unit / 2, unit - 1, unit, unit + 1, unit + unit / 2];
    sizes.extend([one - unit, one - 1, one, one + 1, one + unit / 2, one + unit, one + unit + unit / 2 + 1]);
    sizes.extend([one - lower, one - lower - unit, one + lower, one + lower + 1]);
    sizes.extend([infinity - unit, infinity - 1, infinity, infinity | 1, infinity | (unit / 2)]);
    if exponent_bits > 5 {
        sizes.extend([7, 8, 15, 16, 31, 32, 63, 64].map(|power| one + (power << fraction_bits) + 5));
        sizes.extend([7, 15, 31, 63].map(|power| one + (power << fraction_bits)));
    }
    let sign = 1 << (fraction_bits + exponent_bits);
    sizes.iter().flat_map(|size| [*size, size | sign]).collect()
}
