//! The conditions of the fusion rule one by one: how many additions are fused, which kernels are doubtful, and with what bits.

use bitmma_ptx::{Mode, Program};

use crate::body::{kernel, result};

pub(crate) fn fused(target: &str, body: &str) -> usize {
    kernel(target, Mode::Gpu, body).rewrites().fused.len()
}

fn count(cases: &[(&str, usize)]) {
    for (body, expected) in cases {
        for target in ["sm_80", "sm_86", "sm_90a", "sm_100a"] {
            assert_eq!(fused(target, body), *expected, "{target}: {body}");
        }
    }
}

#[test]
fn types_must_be_one() {
    for (kind, letter) in [
        ("f32", 'r'),
        ("f32x2", 'd'),
        ("f64", 'd'),
        ("f16", 'h'),
        ("f16x2", 'r'),
        ("bf16", 'h'),
        ("bf16x2", 'r'),
    ] {
        let body = |add: &str| {
            format!(
                "mul.{kind} %{letter}5, %{letter}1, %{letter}2; {add} %{letter}9, %{letter}5, %{letter}3;"
            )
        };
        count(&[(&body(&format!("add.{kind}")), 1), (&body(&format!("sub.{kind}")), 1)]);
        for other in
            ["f32", "f16x2", "bf16x2", "f32x2", "f64", "f16", "bf16"].iter().filter(|other| **other != kind)
        {
            let fits = match letter {
                'r' => matches!(*other, "f32" | "f16x2" | "bf16x2"),
                'h' => matches!(*other, "f16" | "bf16"),
                _ => matches!(*other, "f32x2" | "f64"),
            };
            if fits {
                count(&[(&body(&format!("add.{other}")), 0)]);
            }
        }
    }
    count(&[("mul.lo.s32 %r5, %r1, %r2; add.s32 %r9, %r5, %r3;", 0)]);
    count(&[("mul.f32 %r5, %r1, %r2; add.s32 %r9, %r5, %r3;", 0)]);
}

#[test]
fn a_sum_of_two_formats_is_not_fused() {
    for (kind, target) in [("f16", "sm_100a"), ("bf16", "sm_100a"), ("f16", "sm_120a")] {
        let body = format!("mul.{kind} %h5, %h1, %h2; add.f32.{kind} %r9, %h5, %r3;");
        assert_eq!(fused(target, &body), 0, "{target}: {body}");
    }
}

#[test]
fn rounding_modifiers_prevent_fusion() {
    for rounding in ["rn", "rz", "rm", "rp"] {
        count(&[
            (&format!("mul.{rounding}.f32 %r5, %r1, %r2; add.f32 %r9, %r5, %r3;"), 0),
            (&format!("mul.f32 %r5, %r1, %r2; add.{rounding}.f32 %r9, %r5, %r3;"), 0),
            (&format!("mul.f32 %r5, %r1, %r2; sub.{rounding}.f32 %r9, %r3, %r5;"), 0),
            (&format!("div.{rounding}.f32 %r5, %r1, %r2; add.f32 %r9, %r5, %r3;"), 0),
            (&format!("rcp.{rounding}.f32 %r5, %r1; add.f32 %r9, %r5, %r3;"), 0),
        ]);
    }
}

#[test]
fn what_is_a_product() {
    count(&[
        ("div.full.ftz.f32 %r5, %r1, %r2; add.ftz.f32 %r9, %r5, %r3;", 1),
        ("div.approx.ftz.f32 %r5, %r1, %r2; add.ftz.f32 %r9, %r5, %r3;", 1),
        ("div.full.ftz.f32 %r5, %r1, %r2; add.f32 %r9, %r5, %r3;", 0),
        // with .ftz nothing is scaled
        ("rcp.approx.ftz.f32 %r5, %r1; add.ftz.f32 %r9, %r5, %r3;", 0),
        ("sqrt.approx.f32 %r5, %r1; add.f32 %r9, %r5, %r3;", 0),
        ("ex2.approx.f32 %r5, %r1; add.f32 %r9, %r5, %r3;", 0),
        ("fma.rn.f32 %r5, %r1, %r2, %r4; add.f32 %r9, %r5, %r3;", 0),
        ("mul.sat.f32 %r5, %r1, %r2; add.sat.f32 %r9, %r5, %r3;", 0),
        (
            "mov.b32 %r5, 0; setp.lt.f32 %p1, %r1, %r2; @%p1 div.full.f32 %r5, %r1, %r2; add.f32 %r9, %r5, %r3;",
            0,
        ),
    ]);
}

#[test]
fn all_uses_must_be_additions() {
    count(&[
        ("mul.f32 %r5, %r1, %r2; mov.b32 %r9, %r3;", 0),
        ("mul.f32 %r5, %r1, %r2; add.f32 %r9, %r5, %r3; st.global.b32 [%d10+40], %r5;", 0),
        ("mul.f32 %r5, %r1, %r2; add.f32 %r6, %r5, %r3; fma.rn.f32 %r9, %r6, %r5, %r4;", 0),
        ("mul.f32 %r5, %r1, %r2; fma.rn.f32 %r9, %r3, %r4, %r5;", 0),
        ("mul.f32 %r5, %r1, %r2; add.f32 %r6, %r5, %r3; add.rn.f32 %r9, %r5, %r6;", 0),
        // a move that nothing reads, which is dropped, and one with another use
        ("mul.f32 %r5, %r1, %r2; mov.b32 %r6, %r5; add.f32 %r9, %r5, %r3;", 1),
        ("mul.f32 %r5, %r1, %r2; mov.b32 %r6, %r5; add.f32 %r7, %r5, %r3; max.f32 %r9, %r6, %r7;", 0),
        ("mul.f32 %r5, %r1, %r2; mov.b32 %r6, %r5; add.f32 %r7, %r6, %r3; sub.f32 %r9, %r7, %r5;", 2),
        (
            "mul.f32 %r5, %r1, %r2; mov.b64 %d5, {%r5, %r1}; add.f32 %r9, %r1, %r3; st.global.b64 [%d10+40], %d5;",
            0,
        ),
        ("mul.f64 %d5, %d1, %d2; mov.b64 {%r5, %r6}, %d5; add.f32 %r9, %r5, %r3;", 0),
        ("mul.f32 %r5, %r1, %r2; abs.f32 %r6, %r5; add.f32 %r9, %r6, %r3;", 0),
        ("mul.f32 %r5, %r1, %r2; setp.gt.f32 %p1, %r5, %r3; add.f32 %r9, %r5, %r3; @%p1 mov.b32 %r9, 0;", 0),
    ]);
}

#[test]
fn moves_and_negations_are_looked_through() {
    count(&[
        (
            "mul.f32 %r5, %r1, %r2; neg.f32 %r6, %r5; mov.b32 %r7, %r6; neg.f32 %r8, %r7; sub.f32 %r9, %r3, %r8;",
            1,
        ),
        ("mul.ftz.f32 %r5, %r1, %r2; neg.ftz.f32 %r6, %r5; add.ftz.f32 %r9, %r6, %r3;", 1),
        ("mul.f32 %r5, %r1, %r2; neg.ftz.f32 %r6, %r5; add.f32 %r9, %r6, %r3;", 0),
        ("mul.ftz.f32 %r5, %r1, %r2; neg.f32 %r6, %r5; add.ftz.f32 %r9, %r6, %r3;", 0),
        ("mul.f32 %r5, %r1, %r2; neg.f16x2 %r6, %r5; add.f32 %r9, %r6, %r3;", 0),
        ("mul.f32 %r5, %r1, %r2; neg.s32 %r6, %r5; add.f32 %r9, %r6, %r3;", 0),
        (
            "mov.b32 %r6, 0; setp.lt.f32 %p1, %r1, %r2; mul.f32 %r5, %r1, %r2; @%p1 mov.b32 %r6, %r5; add.f32 %r9, %r6, %r3;",
            0,
        ),
        (
            "mov.b32 %r6, 0; setp.lt.f32 %p1, %r1, %r2; mul.f32 %r5, %r1, %r2; @%p1 neg.f32 %r6, %r5; add.f32 %r9, %r6, %r3;",
            0,
        ),
    ]);
}

#[test]
fn of_two_products_the_first_is_fused() {
    count(&[
        // a·b + c·e; the second is computed, and fused nowhere
        (
            "mul.f32 %r5, %r1, %r2; mul.f32 %r6, %r3, %r4; add.f32 %r7, %r5, %r6; add.f32 %r8, %r6, %r1; max.f32 %r9, %r7, %r8;",
            1,
        ),
        // the second is not fused with what follows, so the third is
        (
            "mul.f32 %r5, %r1, %r2; mul.f32 %r6, %r3, %r4; mul.f32 %r7, %r1, %r4; add.f32 %r8, %r5, %r6; add.f32 %r10, %r6, %r7; max.f32 %r9, %r8, %r10;",
            2,
        ),
        // both operands are one product
        ("mul.f32 %r5, %r1, %r2; mov.b32 %r6, %r5; add.f32 %r9, %r5, %r6;", 0),
        ("mul.f32 %r5, %r1, %r2; mov.b32 %r6, %r5; mov.b32 %r7, %r5; sub.f32 %r9, %r6, %r7;", 0),
        ("mul.f32 %r5, %r1, %r2; add.f32 %r6, %r5, %r5; add.f32 %r9, %r5, %r6;", 0),
        // two products of the same operands
        ("mul.f32 %r5, %r1, %r2; mul.f32 %r6, %r2, %r1; add.f32 %r9, %r5, %r6;", 0),
        // which ptxas sees in a sum, not in a difference
        ("mul.f32 %r5, %r1, %r2; mul.f32 %r6, %r1, %r2; sub.f32 %r9, %r5, %r6;", 1),
        ("mul.f32 %r5, %r1, %r2; mul.f32 %r6, %r1, %r3; add.f32 %r9, %r5, %r6;", 1),
        ("mul.f32 %r5, %r1, %r2; div.full.f32 %r6, %r1, %r2; add.f32 %r9, %r5, %r6;", 1),
    ]);
    // the first is that of the first operand, not of the earlier line
    let lines = |body: &str| kernel("sm_90a", Mode::Gpu, body).rewrites().fused.clone();
    let forward = "mul.f32 %r5, %r1, %r2;\nmul.f32 %r6, %r3, %r4;\nadd.f32 %r9, %r5, %r6;";
    let backward = "mul.f32 %r5, %r1, %r2;\nmul.f32 %r6, %r3, %r4;\nadd.f32 %r9, %r6, %r5;";
    assert_eq!(lines(forward), [(8, 10)]);
    assert_eq!(lines(backward), [(9, 10)]);
}

#[test]
fn fused_lines_are_in_order() {
    let product = |at: u32| format!("mul.f32 %r5, %r1, %r2;\nadd.f32 %r{}, %r5, %r3;\n", 10 + at);
    let products: String = (0..9).map(product).collect();
    let used: String = (10..19).map(|register| format!("xor.b32 %r9, %r9, %r{register};")).collect();
    let products = products + "mov.b32 %r9, 0;" + &used;
    let expected: Vec<(u32, u32)> = (0..9).map(|at| (8 + 2 * at, 9 + 2 * at)).collect();
    assert_eq!(kernel("sm_90a", Mode::Gpu, &products).rewrites().fused, expected);
    // from the first instruction on
    let text = ".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry one(.param .u64 p)\n{\n.reg .f32 %f<9>; .reg .b64 %d;\n\
                mul.f32 %f1, %f3, %f4;\nadd.f32 %f2, %f1, 0f40000000;\nld.param.b64 %d, [p]; st.global.f32 [%d], %f2;\nret;\n}\n";
    let kernel = Program::parse(text).expect("text").kernel(None, None, Mode::Gpu).expect("kernel");
    assert_eq!(kernel.rewrites().fused, [(7, 8)]);
}

#[test]
fn exchanges_of_lanes_part_divisions_from_additions() {
    let exchanges = [
        ("shfl.sync.bfly.b32 %r7, %r3, 1, 31, -1;", true),
        ("vote.sync.any.pred %p2, %p1, -1;", true),
        ("bar.warp.sync -1;", true),
        ("bar.sync 0;", false),
        ("mov.b32 %r8, %r3;", false),
    ];
    let products = [
        ("div.full.f32 %r5, %r1, %r2;", true),
        ("div.approx.f32 %r5, %r1, %r2;", true),
        ("rcp.approx.f32 %r5, %r1;", true),
        ("mul.f32 %r5, %r1, %r2;", false),
    ];
    let add = "add.f32 %r9, %r5, %r3;";
    for (exchange, parts) in exchanges {
        for (product, divides) in products {
            let setup = "setp.lt.f32 %p1, %r1, %r2;";
            let between = format!("{setup} {product} {exchange} {add}");
            for target in ["sm_80", "sm_86", "sm_89"] {
                assert_eq!(fused(target, &between), usize::from(!(parts && divides)), "{target} {between}");
            }
            for target in ["sm_90", "sm_90a", "sm_100a", "sm_120"] {
                assert_eq!(fused(target, &between), 1, "{target} {between}");
            }
            // before the division and after the addition
            count(&[
                (&format!("{setup} {exchange} {product} {add}"), 1),
                (&format!("{setup} {product} {add} {exchange}"), 1),
            ]);
        }
    }
    // one of two additions
    let two = "div.full.f32 %r5, %r1, %r2; add.f32 %r6, %r5, %r4; bar.warp.sync -1; add.f32 %r9, %r5, %r6;";
    assert_eq!((fused("sm_80", two), fused("sm_90", two)), (0, 2));
}

#[test]
fn products_and_additions_are_in_one_block() {
    count(&[
        // blocks of which one always follows the other are one
        ("mul.f32 %r5, %r1, %r2; bra $L; $L: add.f32 %r9, %r5, %r3;", 1),
        ("mul.f32 %r5, %r1, %r2; mov.b32 %r6, %r5; bra $L; $L: add.f32 %r9, %r6, %r3;", 1),
        ("mul.f32 %r5, %r1, %r2; bra $L; $L: mov.b32 %r6, %r5; add.f32 %r9, %r6, %r3;", 1),
        ("mul.f32 %r5, %r1, %r2; add.f32 %r6, %r5, %r4; bra $L; $L: add.f32 %r9, %r5, %r6;", 2),
        (
            "mul.f32 %r5, %r1, %r2; bra $L; $M: add.f32 %r9, %r5, %r3; bra $E; $L: mov.b32 %r3, %r4; bra $M; $E:",
            1,
        ),
        // a branch that something depends on
        (
            "setp.lt.f32 %p1, %r1, %r2; mul.f32 %r5, %r1, %r2; @%p1 bra $L; mov.b32 %r3, %r4; $L: add.f32 %r9, %r5, %r3;",
            0,
        ),
        // one of two
        (
            "setp.lt.f32 %p1, %r1, %r2; mul.f32 %r5, %r1, %r2; add.f32 %r6, %r5, %r4; @%p1 bra $L; mov.b32 %r6, %r4; $L: add.f32 %r9, %r5, %r6;",
            0,
        ),
        // overwritten before
        ("mul.f32 %r5, %r1, %r2; mov.b32 %r5, 0; add.f32 %r9, %r5, %r3;", 0),
        // the product of the turn before, without a first one: the last turn remains
        (
            "mov.b32 %r7, 0; $L: add.f32 %r9, %r5, %r3; mul.f32 %r5, %r1, %r2; add.s32 %r7, %r7, 1; setp.lt.s32 %p1, %r7, 3; @%p1 bra $L;",
            1,
        ),
        // a loop around both
        (
            "mov.b32 %r7, 0; $L: mul.f32 %r5, %r1, %r2; add.f32 %r9, %r5, %r3; add.s32 %r7, %r7, 1; setp.lt.s32 %p1, %r7, 3; @%p1 bra $L;",
            1,
        ),
        (
            "setp.lt.f32 %p1, %r1, %r2; mul.f32 %r5, %r1, %r2; @%p1 add.f32 %r3, %r5, %r4; mov.b32 %r9, %r3;",
            1,
        ),
    ]);
}

#[test]
fn the_number_of_definitions_does_not_matter() {
    for count in 0..140 {
        let moves = "mov.b32 %r8, %r1; ".repeat(count);
        let product = format!("{moves} mul.f32 %r5, %r1, %r2;");
        assert_eq!(fused("sm_90a", &format!("{product} add.f32 %r9, %r5, %r3;")), 1, "{count}");
        assert_eq!(
            fused("sm_90a", &format!("{product} mov.b32 %r5, 0; add.f32 %r9, %r5, %r3;")),
            0,
            "{count}"
        );
        let around = format!(
            "mov.b32 %r5, 0; mov.b32 %r7, 0; $L: add.s32 %r7, %r7, 1; setp.gt.s32 %p1, %r7, %r4; @%p1 bra $E; \
             {moves} add.f32 %r9, %r5, %r3; mul.f32 %r5, %r9, %r2; bra $L; $E:"
        );
        assert_eq!(kernel("sm_90a", Mode::Gpu, &around).doubts().len(), 1, "{count}");
    }
}

#[test]
fn products_carried_around_loops_are_doubtful() {
    // each with the lines of the products, and of the additions that their reasons name
    let cases: [(&str, &[(u32, u32)]); 12] = [
        // around a loop that ptxas unrolls in part
        (
            "mov.b32 %r5, 0; mov.b32 %r7, 0;\n$L: add.f32 %r9, %r5, %r3;\nmul.f32 %r5, %r9, %r2;\nadd.s32 %r7, %r7, 1; setp.lt.s32 %p1, %r7, %r4; @%p1 bra $L;",
            &[(10, 9)],
        ),
        // of two blocks
        (
            "mov.b32 %r5, 0; mov.b32 %r7, 0;\n$L: add.s32 %r7, %r7, 1; setp.gt.s32 %p1, %r7, %r4; @%p1 bra $E;\nadd.f32 %r9, %r5, %r3;\nmul.f32 %r5, %r9, %r2;\nbra $L;\n$E:",
            &[(11, 10)],
        ),
        // out of it
        (
            "mov.b32 %r7, 0;\n$L: mul.f32 %r5, %r3, %r2;\nadd.f32 %r3, %r5, %r3;\nadd.s32 %r7, %r7, 1; setp.lt.s32 %p1, %r7, %r4; @%p1 bra $L;\nadd.f32 %r9, %r5, %r3;",
            &[(9, 12)],
        ),
        // a loop without a counter, and one with a barrier, are not unrolled
        (
            "mov.b32 %r5, 0;\n$L: add.f32 %r9, %r5, %r3;\nmul.f32 %r5, %r9, %r2;\nsetp.lt.f32 %p1, %r5, %r4; @%p1 bra $L;",
            &[],
        ),
        (
            "mov.b32 %r5, 0; mov.b32 %r7, 0;\n$L: add.f32 %r9, %r5, %r3;\nmul.f32 %r5, %r9, %r2; bar.sync 0;\nadd.s32 %r7, %r7, 1; setp.lt.s32 %p1, %r7, %r4; @%p1 bra $L;",
            &[],
        ),
        // one block or another: never fused
        (
            "setp.lt.f32 %p1, %r1, %r2; mov.b32 %r5, 0; @%p1 bra $L;\nmul.f32 %r5, %r1, %r2;\n$L:\nadd.f32 %r9, %r5, %r3;",
            &[],
        ),
        (
            "setp.lt.f32 %p1, %r1, %r2; mov.b32 %r5, 0; @%p1 bra $L;\nmul.f32 %r6, %r1, %r2; mov.b32 %r5, %r6;\n$L: neg.f32 %r7, %r5;\nadd.f32 %r9, %r7, %r3;",
            &[],
        ),
        (
            "setp.lt.f32 %p1, %r1, %r2; @%p1 bra $M; mul.f32 %r5, %r1, %r2; bra $L; $M: mul.f32 %r5, %r4, %r3; $L: add.f32 %r9, %r5, %r3;",
            &[],
        ),
        // a guarded other value
        (
            "setp.lt.f32 %p1, %r1, %r2;\nmul.f32 %r5, %r1, %r2; @%p1 mov.b32 %r5, %r3;\nadd.f32 %r9, %r5, %r3;",
            &[],
        ),
        // joined, but not in an addition
        (
            "setp.lt.f32 %p1, %r1, %r2; mov.b32 %r5, 0; @%p1 bra $L;\nmul.f32 %r5, %r1, %r2;\n$L:\nmax.f32 %r9, %r5, %r3;",
            &[],
        ),
        (
            "setp.lt.f32 %p1, %r1, %r2; mov.b32 %r5, 0; @%p1 bra $L;\nmul.rn.f32 %r5, %r1, %r2;\n$L:\nadd.f32 %r9, %r5, %r3;",
            &[],
        ),
        // before a loop that is unrolled in part
        (
            "mul.f32 %r5, %r1, %r2; mov.b32 %r7, 0; $L: add.f32 %r3, %r5, %r3; add.s32 %r7, %r7, 1; setp.lt.s32 %p1, %r7, %r4; @%p1 bra $L; mov.b32 %r9, %r3;",
            &[],
        ),
    ];
    for (body, expected) in cases {
        let kernel = kernel("sm_90a", Mode::Gpu, body);
        let lines: Vec<u32> = kernel.doubts().iter().map(|doubt| doubt.line).collect();
        assert_eq!(lines, expected.iter().map(|(line, _)| *line).collect::<Vec<_>>(), "{body}");
        for (doubt, (_, addition)) in kernel.doubts().iter().zip(expected) {
            assert!(doubt.why.contains(&format!("the addition of line {addition} ")), "{}", doubt.why);
            assert_eq!(doubt.form, "mul.f32");
        }
        assert_eq!(kernel.rewrites().fused.len(), 0, "{body}");
    }
}

/// (1 + ulp)² - 1 - 2 ulp = ulp², which a product rounded by itself loses; in every type, as a, b and c.
const SQUARES: [(&str, char, [u64; 3], u64); 7] = [
    ("f32", 'r', [0x3f80_0001, 0x3f80_0001, 0x3f80_0002], 0x2880_0000),
    (
        "f32x2",
        'd',
        [0x3f80_0001_3f80_0001, 0x3f80_0001_3f80_0001, 0x3f80_0002_3f80_0002],
        0x2880_0000_2880_0000,
    ),
    (
        "f64",
        'd',
        [0x3ff0_0000_0000_0001, 0x3ff0_0000_0000_0001, 0x3ff0_0000_0000_0002],
        0x3970_0000_0000_0000,
    ),
    ("f16", 'h', [0x3c01, 0x3c01, 0x3c02], 0x0010),
    ("f16x2", 'r', [0x3c01_3c01, 0x3c01_3c01, 0x3c02_3c02], 0x0010_0010),
    ("bf16", 'h', [0x3f81, 0x3f81, 0x3f82], 0x3880),
    ("bf16x2", 'r', [0x3f81_3f81, 0x3f81_3f81, 0x3f82_3f82], 0x3880_3880),
];

#[test]
fn a_fused_product_is_rounded_once_in_every_type() {
    for (kind, r, [a, b, c], expected) in SQUARES {
        let sign = match kind {
            "f32" => 1 << 31,
            "f64" => 1 << 63,
            "f32x2" => 1 << 63 | 1 << 31,
            "f16" | "bf16" => 1 << 15,
            _ => 1 << 31 | 1 << 15,
        };
        let (mul, neg) = (format!("mul.{kind} %{r}5, %{r}1, %{r}2;"), format!("neg.{kind} %{r}6, %{r}5;"));
        let twice = format!("{neg} neg.{kind} %{r}7, %{r}6;");
        let (plus, minus) = (expected, expected | sign);
        // c is negative in additions, so that p + c and p - |c| cancel
        let cases = [
            (format!("{mul} sub.{kind} %{r}9, %{r}5, %{r}3;"), c, plus),
            (format!("{mul} sub.{kind} %{r}9, %{r}3, %{r}5;"), c, minus),
            (format!("{mul} add.{kind} %{r}9, %{r}5, %{r}3;"), c | sign, plus),
            (format!("{mul} add.{kind} %{r}9, %{r}3, %{r}5;"), c | sign, plus),
            (format!("{mul} {neg} add.{kind} %{r}9, %{r}6, %{r}3;"), c, minus),
            (format!("{mul} {neg} add.{kind} %{r}9, %{r}3, %{r}6;"), c, minus),
            (format!("{mul} {neg} sub.{kind} %{r}9, %{r}6, %{r}3;"), c | sign, minus),
            (format!("{mul} {neg} sub.{kind} %{r}9, %{r}3, %{r}6;"), c | sign, plus),
            (format!("{mul} {twice} sub.{kind} %{r}9, %{r}7, %{r}3;"), c, plus),
            (format!("{mul} {twice} sub.{kind} %{r}9, %{r}3, %{r}7;"), c, minus),
        ];
        // PTX has no neg of two floats
        for (body, c, expected) in cases.into_iter().filter(|(body, ..)| !body.contains("neg.f32x2")) {
            // neg.bf16x2 is a product by -1, which stops fusion
            if kind == "bf16x2" && body.contains("neg") {
                assert_eq!(result(Mode::Gpu, &body, [a, b, c, 0]) & !sign, 0, "{body}");
                continue;
            }
            for [a, b] in [[a, b], [a | sign, b | sign]] {
                assert_eq!(result(Mode::Gpu, &body, [a, b, c, 0]), expected, "{body}");
                assert_eq!(result(Mode::Text, &body, [a, b, c, 0]) & !sign, 0, "{body}");
            }
        }
        // factors that change before the addition: the first, the second, both, and one that is both
        let zero = |numbers: &[u8]| -> String {
            numbers
                .iter()
                .map(|number| format!("xor.b{} %{r}{number}, %{r}{number}, %{r}{number}; ", bits(r)))
                .collect()
        };
        for numbers in [[1].as_slice(), &[2], &[1, 2]] {
            let body = format!("{mul} {}sub.{kind} %{r}9, %{r}5, %{r}3;", zero(numbers));
            assert_eq!(result(Mode::Gpu, &body, [a, b, c, 0]), expected, "{body}");
        }
        let square = format!("mul.{kind} %{r}5, %{r}1, %{r}1; {}sub.{kind} %{r}9, %{r}5, %{r}3;", zero(&[1]));
        assert_eq!(result(Mode::Gpu, &square, [a, b, c, 0]), expected, "{square}");
        // the product overwrites a factor
        let own = format!("mul.{kind} %{r}1, %{r}1, %{r}2; sub.{kind} %{r}9, %{r}1, %{r}3;");
        assert_eq!(result(Mode::Gpu, &own, [a, b, c, 0]), expected, "{own}");
        // the addition overwrites one, for the next addition of the same product
        let chain = format!(
            "{mul} sub.{kind} %{r}1, %{r}5, %{r}3; sub.{kind} %{r}2, %{r}5, %{r}3; add.{kind} %{r}9, %{r}2, %{r}4;"
        );
        assert_eq!(result(Mode::Gpu, &chain, [a, b, c, 0]), expected, "{chain}");
    }
}

fn bits(letter: char) -> u32 {
    match letter {
        'h' => 16,
        'r' => 32,
        _ => 64,
    }
}

#[test]
fn fused_operations_keep_ftz_and_sat() {
    let two = 0x4000_0000;
    let cases = [
        ("mul.f32 %r5, %r1, %r2; add.sat.f32 %r9, %r5, %r3;", [two, two, 0, 0], 0x3f80_0000),
        ("mul.f32 %r5, %r1, %r2; add.f32 %r9, %r5, %r3;", [two, two, 0, 0], 0x4080_0000),
        ("mul.f32 %r5, %r1, %r2; sub.sat.f32 %r9, %r3, %r5;", [two, two, 0, 0], 0),
        // a subnormal sum, and a subnormal factor
        ("mul.ftz.f32 %r5, %r1, %r2; add.ftz.f32 %r9, %r5, %r3;", [0x0080_0000, 0x3f00_0000, 0, 0], 0),
        ("mul.f32 %r5, %r1, %r2; add.f32 %r9, %r5, %r3;", [0x0080_0000, 0x3f00_0000, 0, 0], 0x0040_0000),
        ("mul.ftz.f32 %r5, %r1, %r2; add.ftz.f32 %r9, %r5, %r3;", [0x0040_0000, 0x4b80_0000, 0, 0], 0),
        ("mul.ftz.sat.f32 %r5, %r1, %r2; add.ftz.f32 %r9, %r5, %r3;", [two, two, two, 0], 0x4040_0000),
    ];
    for (body, operands, expected) in cases {
        assert_eq!(result(Mode::Gpu, body, operands), expected, "{body}");
    }
}

#[test]
fn the_last_multiplication_of_a_division_is_fused() {
    // 1/3 is aaaaab·2^-25 from the unit; x times that, less x/3 rounded, is what rounding loses
    let (third, x) = (f64::from(f32::from_bits(0x3eaa_aaab)), 5.0f32);
    let rounded = (f64::from(x) * third) as f32;
    let lost = (f64::from(x) * third - f64::from(rounded)) as f32;
    assert!(lost.abs() > 0.0);
    let of = |value: f32| u64::from(value.to_bits());
    for form in ["div.full.f32", "div.approx.f32"] {
        let body = format!("{form} %r5, %r1, %r2; sub.f32 %r9, %r5, %r3;");
        let operands = [of(x), of(3.0), of(rounded), 0];
        assert_eq!(result(Mode::Gpu, &body, operands), of(lost), "{body}");
        assert_eq!(result(Mode::Text, &body, operands), 0, "{body}");
        // 2^127 is scaled by div.full, which div.approx makes zero
        let scaled = [of(x * 2f32.powi(125)), of(3.0 * 2f32.powi(125)), of(rounded), 0];
        let expected = if form == "div.full.f32" { of(lost) } else { of(-rounded) };
        assert_eq!(result(Mode::Gpu, &body, scaled), expected, "{body}");
        // subnormal numbers are scaled, but not with .ftz
        let small = [of(5.0 * 2f32.powi(-140)), of(3.0 * 2f32.powi(-140)), of(rounded), 0];
        assert_eq!(result(Mode::Gpu, &body, small), of(lost), "{body}");
        let body = body.replace(".f32", ".ftz.f32");
        assert_eq!(result(Mode::Gpu, &body, small), 0x7fff_ffff, "{body}");
        assert_eq!(result(Mode::Gpu, &body, operands), of(lost), "{body}");
    }
    // 1/(3·2^126) is aaaaab·2^-149 of the unit, times 0.25: 2aaaaa.c·2^-149. With 2^-125 added, the last place is 2^-148: rounded
    // once it is 12aaaaa, rounded twice 12aaaac
    let body = "rcp.approx.f32 %r5, %r1; add.f32 %r9, %r5, %r3;";
    let operands = [of(3.0 * 2f32.powi(126)), 0, of(2f32.powi(-125)), 0];
    assert_eq!(result(Mode::Gpu, body, operands), 0x0115_5555);
    assert_eq!(result(Mode::Text, body, operands), 0x0115_5556);
    let body = "rcp.approx.f32 %r5, %r1; sub.f32 %r9, %r5, %r3;";
    assert_eq!(result(Mode::Gpu, body, [of(3.0), 0, of(0.0), 0]), 0x3eaa_aaab);
    // beyond 2^126 and below 2^-126
    assert_eq!(result(Mode::Gpu, body, [of(2f32.powi(-127)), 0, of(0.0), 0]), of(2f32.powi(127)));
    assert_eq!(result(Mode::Gpu, body, [of(2f32.powi(127)), 0, of(0.0), 0]), of(2f32.powi(-127)));
    assert_eq!(result(Mode::Gpu, body, [of(-2f32.powi(127)), 0, of(0.0), 0]), of(-2f32.powi(-127)));
    assert_eq!(result(Mode::Gpu, body, [of(2f32.powi(126)), 0, of(0.0), 0]), of(2f32.powi(-126)));
}
