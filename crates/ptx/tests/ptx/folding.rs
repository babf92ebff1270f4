//! Which operations on constants are computed at compile time, and how their operands and results are flushed.

use bitmma_ptx::{Mode, Program};

use crate::body::{kernel, result};

fn folded(body: &str) -> Vec<u32> {
    kernel("sm_90a", Mode::Gpu, body).rewrites().folded.clone()
}

#[test]
fn what_is_folded() {
    let cases: [(&str, &[u32]); 28] = [
        // a constant itself, or through moves
        ("rcp.approx.f32 %r9, 0f40400000;", &[8]),
        ("mov.b32 %r5, 0f40400000; rcp.approx.f32 %r9, %r5;", &[8]),
        ("mov.f32 %r5, 0f40400000; mov.u32 %r6, %r5; mov.s32 %r7, %r6; rcp.approx.f32 %r9, %r7;", &[8]),
        ("mov.b32 %r5, 1077936128; rcp.approx.f32 %r9, %r5;", &[8]),
        // every function
        (
            "rcp.approx.ftz.f32 %r9, 0f40400000;\nsqrt.approx.f32 %r9, 0f40400000;\nsqrt.approx.ftz.f32 %r9, 0f40400000;",
            &[8, 9, 10],
        ),
        (
            "rsqrt.approx.f32 %r9, 0f40400000;\nex2.approx.f32 %r9, 0f40400000;\nlg2.approx.f32 %r9, 0f40400000;",
            &[8, 9, 10],
        ),
        ("div.full.f32 %r9, 0f3F800000, 0f40400000;\ndiv.approx.f32 %r9, 0f3F800000, 0f40400000;", &[8, 9]),
        ("sin.approx.f32 %r9, 0f40400000;\ncos.approx.f32 %r9, 0f40400000;", &[8, 9]),
        // but these, which are rounded so anyway
        ("rcp.rn.f32 %r9, 0f40400000;", &[]),
        ("div.rn.f32 %r9, 0f3F800000, 0f40400000;", &[]),
        ("sqrt.rn.f32 %r9, 0f40400000;", &[]),
        ("mul.f32 %r9, 0f3F800000, 0f40400000;", &[]),
        // one operand of two
        ("mov.b32 %r5, 0f40400000; div.full.f32 %r9, %r1, %r5;", &[8]),
        ("mov.b32 %r5, 0f40400000; div.full.f32 %r9, %r5, %r1;", &[]),
        ("rcp.approx.f32 %r9, %r1;", &[]),
        // what was folded is a constant, also before it in the text
        ("rcp.approx.f32 %r5, 0f40400000;\nsqrt.approx.f32 %r9, %r5;", &[8, 9]),
        (
            "bra $A;\n$B: sqrt.approx.f32 %r9, %r5;\nbra $C;\n$A: rcp.approx.f32 %r5, 0f40400000;\nbra $B;\n$C:",
            &[11, 9],
        ),
        // computed from constants
        ("mov.b32 %r5, 0f40400000; add.f32 %r6, %r5, %r5; rcp.approx.f32 %r9, %r6;", &[8]),
        ("mov.b32 %r5, 0f40400000; neg.f32 %r6, %r5; rcp.approx.f32 %r9, %r6;", &[8]),
        ("neg.f32 %r6, 0f3FC00000; ex2.approx.ftz.f32 %r9, %r6;", &[8]),
        ("mul.f32 %r6, 0f3FC00000, 0f40400000; rcp.approx.f32 %r9, %r6;", &[8]),
        ("mov.u32 %r5, 5; cvt.rn.f32.s32 %r6, %r5; rcp.approx.f32 %r9, %r6;", &[8]),
        // two definitions
        (
            "setp.lt.f32 %p1, %r1, %r2; mov.b32 %r5, 0f40400000; @%p1 mov.b32 %r5, 0f40400000; rcp.approx.f32 %r9, %r5;",
            &[],
        ),
        (
            "setp.lt.f32 %p1, %r1, %r2; mov.b32 %r5, 0f40400000; @%p1 bra $L; mov.b32 %r5, 0f40000000; $L: rcp.approx.f32 %r9, %r5;",
            &[],
        ),
        // a guarded one in a loop
        (
            "mov.b32 %r5, 0f40400000; setp.lt.u32 %p1, %r1, %r2; $L: @%p1 mov.b32 %r5, 0f40000000; rcp.approx.f32 %r9, %r5; @%p1 bra $L;",
            &[],
        ),
        // the last definition counts
        ("mov.b32 %r5, 0f40000000; mov.b32 %r5, 0f40400000; rcp.approx.f32 %r9, %r5;", &[8]),
        ("mov.b32 %r5, %r1; mov.b32 %r5, 0f40400000; bra $L; $L: rcp.approx.f32 %r9, %r5;", &[8]),
        ("mov.b32 %r5, 0f40400000; mov.b32 %r5, %r1; rcp.approx.f32 %r9, %r5;", &[]),
    ];
    for (body, expected) in cases {
        assert_eq!(folded(body), expected, "{body}");
    }
}

#[test]
fn the_first_instruction_may_be_folded() {
    let text = ".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry one(.param .u64 p)\n{\n.reg .b32 %r<9>;\n\
                rcp.approx.f32 %r1, 0f40400000;\nret;\n}\n";
    let kernel = Program::parse(text).expect("text").kernel(None, None, Mode::Gpu).expect("kernel");
    assert_eq!(kernel.rewrites().folded, [7]);
}

#[test]
fn only_fp32_is_folded() {
    for form in ["ex2.approx.f16x2", "ex2.approx.ftz.bf16x2", "tanh.approx.f32"] {
        let text = format!(
            ".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry one(.param .u64 p)\n{{\n.reg .b32 %r<9>;\n\
             mov.b32 %r5, 1077936128;\n{form} %r6, %r5;\nret;\n}}\n"
        );
        let error = Program::parse(&text).expect("text").kernel(None, None, Mode::Gpu).expect_err(form);
        assert!(error.to_string().contains(&format!("line 8: '{form}' is not supported")), "{error}");
    }
}

#[test]
fn moves_of_constants_are_followed() {
    let moves: String = (6..18).map(|at| format!("mov.b32 %r{at}, %r{}; ", at - 1)).collect();
    assert_eq!(folded(&format!("mov.b32 %r5, 0f40400000; {moves} rcp.approx.f32 %r9, %r17;")), [8]);
    // around a loop, without a first one
    let endless = "$L: mov.b32 %r5, %r6; mov.b32 %r6, %r5; rcp.approx.f32 %r9, %r5; bra $L;";
    assert!(folded(endless).is_empty());
}

#[test]
fn constants_in_registers_are_those_that_reach() {
    let third = 0x3eaa_aaab;
    assert_eq!(
        result(
            Mode::Gpu,
            "mov.b32 %r5, 0f40000000; mov.b32 %r5, 0f40400000; rcp.approx.f32 %r9, %r5;",
            [0; 4]
        ),
        third
    );
    let guarded =
        "setp.ne.u32 %p1, %r1, 0; mov.b32 %r9, 0; mov.b32 %r5, 0f40400000; @%p1 rcp.approx.f32 %r9, %r5;";
    assert_eq!(folded(guarded), [8]);
    assert_eq!(result(Mode::Gpu, guarded, [0; 4]), 0);
    assert_eq!(result(Mode::Gpu, guarded, [1, 0, 0, 0]), third);
}

#[test]
fn results_of_constants_are_flushed_with_ftz() {
    let cases = [
        // 1/2^127 and 1/2^-127
        ("rcp.approx.f32", "0f7F000000", 0x0040_0000),
        ("rcp.approx.ftz.f32", "0f7F000000", 0),
        ("rcp.approx.ftz.f32", "0fFF000000", 0x8000_0000),
        ("rcp.approx.f32", "0f00400000", 0x7f00_0000),
        ("rcp.approx.ftz.f32", "0f00400000", 0x7f80_0000),
        ("rcp.approx.ftz.f32", "0f80400000", 0xff80_0000),
        ("sqrt.approx.f32", "0f00000008", 0x1b00_0000),
        ("sqrt.approx.ftz.f32", "0f00000008", 0),
        ("rsqrt.approx.ftz.f32", "0f00000008", 0x7f80_0000),
        // 2^-127
        ("ex2.approx.f32", "0fC2FE0000", 0x0040_0000),
        ("ex2.approx.ftz.f32", "0fC2FE0000", 0),
        ("lg2.approx.f32", "0f00400000", 0xc2fe_0000),
        ("lg2.approx.ftz.f32", "0f00400000", 0xff80_0000),
        // 2^-126 / 2, and 2^-127 / 2^-127
        ("div.full.f32", "0f00800000, 0f40000000", 0x0040_0000),
        ("div.full.ftz.f32", "0f00800000, 0f40000000", 0),
        ("div.approx.f32", "0f00400000, 0f00400000", 0x3f80_0000),
        ("div.full.ftz.f32", "0f00400000, 0f00400000", 0x7fff_ffff),
        ("div.full.ftz.f32", "0f3F800000, 0f00400000", 0x7f80_0000),
        // beyond 2^126, where the unit gives zero
        ("div.approx.f32", "0f7F000000, 0f7F000000", 0x3f80_0000),
    ];
    for (form, operands, expected) in cases {
        let body = format!("{form} %r9, {operands};");
        assert_eq!(result(Mode::Gpu, &body, [0; 4]), expected, "{body}");
    }
}

#[test]
fn a_constant_divisor_is_a_factor() {
    // where MUFU.RCP is one unit off, ptxas multiplies by the reciprocal as it rounds it
    let off: Vec<u32> = (1..2000u16)
        .map(|number| f32::from(number).to_bits())
        .filter(|bits| {
            let unit = result(Mode::Text, "rcp.approx.ftz.f32 %r9, %r1;", [(*bits).into(), 0, 0, 0]);
            unit != u64::from((1.0 / f32::from_bits(*bits)).to_bits())
        })
        .collect();
    assert!(!off.is_empty());
    for bits in off.into_iter().take(20) {
        for form in ["div.full.f32", "div.full.ftz.f32", "div.approx.f32"] {
            let body = format!("{form} %r9, %r1, 0f{bits:08X};");
            let x = 1.7f32;
            let expected = x * (1.0 / f32::from_bits(bits));
            assert_eq!(
                result(Mode::Gpu, &body, [x.to_bits().into(), 0, 0, 0]),
                u64::from(expected.to_bits()),
                "{body}"
            );
        }
    }
}
