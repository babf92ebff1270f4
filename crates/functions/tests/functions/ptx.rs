//! PTX instructions against results of an independent implementation (`tests/data/edges.csv`).

use bitmma_formats::{BF16, F16, F32, Format, Rounding};
use bitmma_functions::convert::{Modifiers, convert};
use bitmma_functions::float::{self, Mode};
use bitmma_functions::{Function, ptx};

use crate::common::values;

/// The result of a form for three FP32 operands; a packed conversion takes two.
fn result(form: &str, [x, y, z]: [u32; 3]) -> u32 {
    let has = |modifier: &str| form.split('.').any(|part| part == modifier);
    let ftz = has("ftz");
    let rounding = if has("rz") { Rounding::TowardZero } else { Rounding::NearestEven };
    let mode = Mode { rounding, ftz };
    let [a, b, c] = [x, y, z].map(u64::from);
    let packed = |to: &Format| {
        let modifiers = Modifiers { rounding, ..Modifiers::NEAREST };
        convert(&F32, to, a, modifiers) << 16 | convert(&F32, to, b, modifiers)
    };
    let wide = match form.split('.').next().unwrap() {
        "add" => float::add(&F32, a, b, mode),
        "mul" => float::multiply(&F32, a, b, mode),
        "fma" => float::fma(&F32, a, b, c, mode),
        "cvt" => packed(if has("bf16x2") { &BF16 } else { &F16 }),
        "div" if has("full") => ptx::div_full(x, y, ftz).into(),
        "div" => ptx::div_approx(x, y, ftz).into(),
        name => ptx::approx(name.parse::<Function>().unwrap(), x, ftz).into(),
    };
    wide as u32
}

#[test]
fn forms_agree_on_awkward_operands() {
    let text = include_str!("../data/edges.csv");
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let forms: Vec<&str> = lines.next().unwrap().split(',').skip(3).collect();
    let mut count = 0;
    for line in lines {
        let codes: Vec<u32> = line.split(',').map(|code| u32::from_str_radix(code, 16).unwrap()).collect();
        let operands = [codes[0], codes[1], codes[2]];
        for (form, &expected) in forms.iter().zip(&codes[3..]) {
            let code = result(form, operands);
            assert_eq!(code, expected, "{form} {operands:08x?}: {code:08x}, not {expected:08x}");
            count += 1;
        }
    }
    assert!(count > 7_000, "{count} results");
}

#[test]
fn ftz_flushes_inputs_and_results() {
    let flushed = |code: u32| if code << 1 >> 24 == 0 { code & 1 << 31 } else { code };
    for (function, x, y) in values() {
        assert_eq!(ptx::approx(function, x, false), y);
        let expected = if flushed(x) == x { flushed(y) } else { flushed(function.evaluate(flushed(x))) };
        assert_eq!(ptx::approx(function, x, true), expected, "{function} {x:08x}");
    }
    assert_eq!(ptx::approx(Function::Rcp, 0x8000_0001, true), 0xff80_0000);
    assert_eq!(ptx::approx(Function::Rsqrt, 0x8000_0001, true), 0xff80_0000);
    assert_eq!(ptx::approx(Function::Rcp, 0xfe80_0001, true), 0x8000_0000);
    assert_eq!(ptx::approx(Function::Ex2, 0xc2fc_0001, true), 0);
}

#[test]
fn division_by_large_and_small_numbers() {
    // 2^127 / 2^127: within div.full's scaling, beyond div.approx's
    assert_eq!(ptx::div_full(0x7f00_0000, 0x7f00_0000, false), 0x3f80_0000);
    assert_eq!(ptx::div_full(0x7f00_0000, 0x7f00_0000, true), 0x3f80_0000);
    assert_eq!(ptx::div_approx(0x7f00_0000, 0x7f00_0000, false), 0);
    // subnormal / subnormal
    assert_eq!(ptx::div_full(1, 1, false), 0x3f80_0000);
    assert_eq!(ptx::div_approx(1, 1, false), 0x3f80_0000);
    assert_eq!(ptx::div_full(1, 1, true), 0x7fff_ffff);
}
