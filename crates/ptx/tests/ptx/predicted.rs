//! What ptxas does before it fuses, as its machine code shows (12.9 for sm_80, 13.4 for sm_90a and sm_100a): each body with how many
//! additions become multiply-adds.

use bitmma_ptx::Mode;

use crate::body::{kernel, result_on};
use crate::fusion::fused;

const TARGETS: [&str; 3] = ["sm_80", "sm_90a", "sm_100a"];

fn count(cases: &[(&str, usize)]) {
    for (body, expected) in cases {
        for target in TARGETS {
            assert_eq!(fused(target, body), *expected, "{target}: {body}");
            assert!(kernel(target, Mode::Gpu, body).doubts().is_empty(), "{target}: {body}");
        }
    }
}

/// Pairs of lines, of bodies that start on line 8 and have a line for each instruction.
fn pairs(body: &str) -> Vec<(u32, u32)> {
    let body = body.replace("; ", ";\n");
    let found = TARGETS.map(|target| kernel(target, Mode::Gpu, &body).rewrites().fused.clone());
    assert!(found[0] == found[1] && found[0] == found[2], "{body}");
    found[0].clone()
}

const TWO: &str = "mul.f32 %r5, %r1, %r2; mul.f32 %r6, %r3, %r4; ";

#[test]
fn where_two_products_meet() {
    let cases: [(&str, &[(u32, u32)]); 9] = [
        // the second is used less
        ("add.f32 %r7, %r5, %r6; add.f32 %r8, %r5, %r1; max.f32 %r9, %r7, %r8;", &[(9, 10)]),
        ("add.f32 %r7, %r5, %r6; add.f32 %r8, %r7, %r5; mov.b32 %r9, %r8;", &[(9, 10)]),
        // the one that is left is needed as it is from then on, but was fused before
        (
            "sub.f32 %r7, %r1, %r5; sub.f32 %r8, %r6, %r1; sub.f32 %r9, %r6, %r5; max.f32 %r9, %r7, %r9; max.f32 %r9, %r8, %r9;",
            &[(8, 10), (9, 11), (9, 12)],
        ),
        ("sub.f32 %r7, %r1, %r5; sub.f32 %r8, %r5, %r6; max.f32 %r9, %r7, %r8;", &[(9, 11)]),
        (
            "add.f32 %r7, %r6, %r1; add.f32 %r8, %r5, %r6; sub.f32 %r9, %r5, %r1; max.f32 %r9, %r7, %r9; max.f32 %r9, %r8, %r9;",
            &[(8, 11), (8, 12), (9, 10)],
        ),
        // of the same uses the first operand
        ("add.f32 %r7, %r5, %r6; mov.b32 %r9, %r7;", &[(8, 10)]),
        ("add.f32 %r7, %r6, %r5; mov.b32 %r9, %r7;", &[(9, 10)]),
        // one that is added to itself does not keep the other from being fused
        ("add.f32 %r7, %r5, %r5; add.f32 %r8, %r5, %r6; max.f32 %r9, %r7, %r8;", &[(9, 11)]),
        ("add.f32 %r7, %r5, %r6; add.f32 %r8, %r5, %r5; max.f32 %r9, %r7, %r8;", &[(9, 10)]),
    ];
    for (body, expected) in cases {
        assert_eq!(pairs(&format!("{TWO}{body}")), expected, "{body}");
    }
}

#[test]
fn a_division_that_meets_another_is_needed_as_it_is() {
    // p = a/b; p + c/d; p + d
    let body = "div.full.f32 %r5, %r1, %r2; div.full.f32 %r6, %r3, %r4; add.f32 %r7, %r5, %r6; add.f32 %r8, %r5, %r4; max.f32 %r9, %r7, %r8;";
    assert_eq!(pairs(body), [(9, 10)]);
}

#[test]
fn products_with_a_constant_factor_are_computed_again() {
    let branch = "@%p1 bra $L; st.global.b32 [%d10+24], %r4; $L:";
    let setup = "setp.lt.f32 %p1, %r1, %r2;";
    let body = |before: &str, after: &str| format!("{setup} {before} {branch} {after}");
    for (product, expected) in [
        ("mul.f32 %r5, %r1, 0f40400000;", 1),
        ("mov.b32 %r6, 0f40400000; mul.f32 %r5, %r6, %r1;", 1),
        ("ld.param.b32 %r6, [p]; mul.f32 %r5, %r6, %r1;", 1),
        ("div.full.f32 %r5, %r1, 0f40400000;", 1),
        ("mul.f32 %r6, %r1, 0f40400000; neg.f32 %r5, %r6;", 1),
        ("mul.f32 %r5, %r1, %r2;", 0),
        ("mul.f32 %r5, %r1, %r1;", 0),
        ("div.full.f32 %r5, %r1, %r2;", 0),
        ("div.full.f32 %r5, 0f40400000, %r1;", 0),
        ("rcp.approx.f32 %r5, %r1;", 0),
    ] {
        count(&[(&body(product, "add.f32 %r9, %r5, %r3;"), expected)]);
    }
    count(&[
        (&body("mul.ftz.f32 %r5, %r1, 0f3F317218;", "sub.ftz.f32 %r9, %r3, %r5;"), 1),
        (&body("mul.f64 %d5, %d1, 0d4008000000000000;", "add.f64 %d9, %d5, %d3;"), 1),
        (&body("mul.f32 %r5, %r1, 0f40400000; add.f32 %r3, %r5, %r3;", "add.f32 %r9, %r5, %r3;"), 2),
        // another use
        (&body("mul.f32 %r5, %r1, 0f40400000; st.global.b32 [%d10+48], %r5;", "add.f32 %r9, %r5, %r3;"), 0),
        (&body("mul.f32 %r5, %r1, 0f40400000; max.f32 %r3, %r5, %r3;", "add.f32 %r9, %r5, %r3;"), 0),
        // a fence, a loop
        ("mul.f32 %r5, %r1, 0f40400000; membar.cta; add.f32 %r9, %r5, %r3;", 1),
        (
            "mul.f32 %r5, %r1, 0f40400000; $L: add.f32 %r3, %r5, %r3; setp.lt.f32 %p1, %r3, %r4; @%p1 bra $L; mov.b32 %r9, %r3;",
            1,
        ),
        // a copy of one block, or of none
        (
            "setp.lt.f32 %p1, %r1, %r2; mul.f32 %r5, %r1, 0f40400000; mov.b32 %r6, %r3; @%p1 bra $L; mov.b32 %r6, %r5; $L: add.f32 %r9, %r6, %r4;",
            0,
        ),
    ]);
    // where it meets another product, in whichever block
    let both = |sum: &str| body("mul.f32 %r5, %r1, 0f40400000;", &format!("mul.f32 %r6, %r2, %r4; {sum}"));
    count(&[
        (&both("add.f32 %r9, %r5, %r6;"), 1),
        (&both("add.f32 %r9, %r6, %r5;"), 1),
        (&both("add.f32 %r7, %r5, %r6; add.f32 %r8, %r5, %r3; max.f32 %r9, %r7, %r8;"), 1),
    ]);
    // its factors are those that it had
    let moved = body("mul.f32 %r5, %r1, 0f3F800001;", "xor.b32 %r1, %r1, %r1; add.f32 %r9, %r5, %r3;");
    let operands = [0x3f80_0001, 0x3f00_0000, 0xbf80_0002, 0];
    assert_eq!(result_on("sm_90a", Mode::Gpu, &moved, operands), 0x2880_0000);
}

#[test]
fn what_changes_nothing_is_looked_through() {
    let product = "mul.f32 %r5, %r1, %r2;";
    for nothing in [
        "mov.b64 %d5, {%r5, %r3}; mov.b64 {%r6, %r7}, %d5;",
        "cvt.f32.f32 %r6, %r5;",
        "and.b32 %r6, %r5, -1;",
        "or.b32 %r6, %r5, 0;",
        "xor.b32 %r6, %r5, 0;",
        "add.s32 %r6, %r5, 0;",
        "shl.b32 %r6, %r5, 0;",
        "max.f32 %r6, %r5, %r5;",
        "min.f32 %r6, %r5, %r5;",
        "setp.lt.f32 %p1, %r1, %r2; selp.f32 %r6, %r5, %r5, %p1;",
        "setp.lt.u32 %p1, 1, 2; selp.f32 %r6, %r5, %r4, %p1;",
        "mul.f32 %r6, %r5, 0f3F800000;",
        "mul.rn.f32 %r6, 0f3F800000, %r5;",
        "mul.f32 %r6, %r5, 0fBF800000;",
        "div.full.f32 %r6, %r5, 0f3F800000;",
    ] {
        count(&[(&format!("{product} {nothing} add.f32 %r9, %r6, %r3;"), 1)]);
    }
    for something in [
        "abs.f32 %r6, %r5;",
        "prmt.b32 %r6, %r5, %r3, 0x3210;",
        "cvt.ftz.f32.f32 %r6, %r5;",
        "min.f32 %r6, %r5, 0f7F800000;",
        "setp.lt.f32 %p1, %r1, %r2; selp.f32 %r6, %r5, %r4, %p1;",
        "fma.rn.f32 %r6, %r5, 0f3F800000, 0f80000000;",
    ] {
        count(&[(&format!("{product} {something} add.f32 %r9, %r6, %r3;"), 0)]);
    }
    count(&[
        ("mul.ftz.f32 %r5, %r1, %r2; mul.ftz.f32 %r6, %r5, 0f3F800000; add.ftz.f32 %r9, %r6, %r3;", 1),
        // a product by one is none, one of constants is one
        ("mul.f32 %r5, %r1, 0f3F800000; add.f32 %r9, %r5, %r3;", 0),
        ("mul.f32 %r5, 0f40400000, 0f40000000; add.f32 %r9, %r5, %r3;", 0),
        ("mul.f32 %r5, %r1, 0f40000000; add.f32 %r9, %r5, %r3;", 1),
    ]);
}

#[test]
fn negations_that_are_computed_stop_fusion() {
    for (kind, expected) in [("f16x2", 1), ("ftz.f16x2", 0), ("bf16x2", 0), ("ftz.f32", 1)] {
        let body = format!("mul.{kind} %r5, %r1, %r2; neg.{kind} %r6, %r5; add.{kind} %r9, %r6, %r3;");
        for target in ["sm_90a", "sm_100a"] {
            assert_eq!(fused(target, &body), expected, "{target}: {body}");
        }
    }
}

#[test]
fn blocks_are_merged() {
    let product = "mul.f32 %r5, %r1, %r2;";
    let after = "add.f32 %r9, %r5, %r3;";
    for between in [
        "bra.uni $L; $L:",
        "setp.lt.f32 %p1, %r1, %r2; @%p1 bra $L; $L:",
        // over what is dead
        "setp.lt.f32 %p1, %r1, %r2; @%p1 bra $L; add.f32 %r8, %r5, %r2; $L:",
        "setp.lt.f32 %p1, %r1, %r2; @%p1 bra $L; bra $M; $L: bra $M; $M:",
        // by a constant
        "setp.ne.u32 %p1, 0, 0; @%p1 bra $L; st.global.b32 [%d10+40], %r4; $L:",
        "mov.pred %p1, 1; @%p1 bra $L; st.global.b32 [%d10+40], %r4; $L:",
        "mov.u32 %r7, 3; add.s32 %r7, %r7, 4; setp.gt.s32 %p1, %r7, 5; @%p1 bra $L; st.global.b32 [%d10+40], %r4; $L:",
        "setp.gt.s32 %p1, %r4, %r4; @%p1 bra $L; st.global.b32 [%d10+40], %r4; $L:",
        // empty loops
        "mov.u32 %r7, 0; $L: add.s32 %r7, %r7, 1; setp.lt.s32 %p1, %r7, 3; @%p1 bra $L;",
        "mov.u32 %r7, 0; $L: add.s32 %r7, %r7, 1; setp.lt.s32 %p1, %r7, %r4; @%p1 bra $L;",
    ] {
        count(&[(&format!("{product} {between} {after}"), 1)]);
    }
    for between in [
        "setp.lt.f32 %p1, %r1, %r2; @%p1 bra $L; st.global.b32 [%d10+40], %r4; $L:",
        "setp.lt.f32 %p1, %r1, %r2; @%p1 bra $L; mov.b32 %r3, %r4; $L:",
        "setp.lt.f32 %p1, %r1, %r2; @%p1 bra $L; mov.b32 %r3, %r4; bra $M; $L: mov.b32 %r3, %r1; $M:",
    ] {
        count(&[(&format!("{product} {between} {after}"), 0)]);
    }
    // both sides copy the same
    count(&[(
        "mul.f32 %r5, %r1, %r2; setp.lt.f32 %p1, %r1, %r2; @%p1 bra $L; mov.b32 %r6, %r5; bra $M; $L: mov.b32 %r6, %r5; $M: add.f32 %r9, %r6, %r3;",
        1,
    )]);
}

/// The sum of r3 and four products of r1 and r2, in FP32.
fn four(fuses: [bool; 4]) -> u32 {
    let [a, b, mut sum] = FACTORS.map(f32::from_bits);
    for fuses in fuses {
        sum = if fuses { a.mul_add(b, sum) } else { a * b + sum };
    }
    sum.to_bits()
}

const FACTORS: [u32; 3] = [0x3f80_1235, 0x3f81_7779, 0xbf80_8883];

#[test]
fn loops_of_constant_turns_are_unrolled() {
    let operands = [FACTORS[0].into(), FACTORS[1].into(), FACTORS[2].into(), 0];
    assert_ne!(four([true; 4]), four([false; 4]));
    for (start, step) in [
        ("mov.u32 %r7, 0;", "add.s32 %r7, %r7, 1; setp.lt.s32 %p1, %r7, 4; @%p1 bra $L;"),
        ("mov.u32 %r7, 8;", "add.s32 %r7, %r7, -2; setp.ne.s32 %p1, %r7, 0; @%p1 bra $L;"),
        ("mov.u32 %r7, 8;", "sub.s32 %r7, %r7, 2; setp.gt.u32 %p1, %r7, 0; @%p1 bra $L;"),
        ("mov.u64 %d7, 0;", "add.s64 %d7, %d7, 1; setp.lt.s64 %p1, %d7, 4; @%p1 bra $L;"),
        (
            "mov.b32 %r7, 0f00000000;",
            "add.f32 %r7, %r7, 0f3F800000; setp.lt.f32 %p1, %r7, 0f40800000; @%p1 bra $L;",
        ),
        ("mov.u32 %r7, 0;", "mov.u32 %r8, %r7; add.s32 %r7, %r8, 1; setp.lt.s32 %p1, %r8, 3; @%p1 bra $L;"),
        ("mov.u32 %r7, 0;", "bar.sync 0; add.s32 %r7, %r7, 1; setp.lt.s32 %p1, %r7, 4; @%p1 bra $L;"),
    ] {
        let body =
            format!("{start} mul.f32 %r5, %r1, %r2; $L: add.f32 %r3, %r5, %r3; {step} mov.b32 %r9, %r3;");
        count(&[(&body, 1)]);
        assert_eq!(result_on("sm_90a", Mode::Gpu, &body, operands), u64::from(four([true; 4])), "{body}");
    }
    let tested_first = "mov.u32 %r7, 0; mul.f32 %r5, %r1, %r2; $L: setp.ge.s32 %p1, %r7, 4; @%p1 bra $E; add.f32 %r3, %r5, %r3; \
                        add.s32 %r7, %r7, 1; bra $L; $E: mov.b32 %r9, %r3;";
    assert_eq!(result_on("sm_90a", Mode::Gpu, tested_first, operands), u64::from(four([true; 4])));
    // loops that are not
    for (start, step) in [
        ("mov.u32 %r7, 1;", "add.s32 %r7, %r7, 1; setp.lt.s32 %p1, %r7, %r4; @%p1 bra $L;"),
        ("", "setp.lt.f32 %p1, %r3, %r4; @%p1 bra $L;"),
    ] {
        let body =
            format!("{start} mul.f32 %r5, %r1, %r2; $L: add.f32 %r3, %r5, %r3; {step} mov.b32 %r9, %r3;");
        count(&[(&body, 0)]);
    }
    // the first turn has no product: FADD FFMA FFMA FFMA
    let carried = "mov.u32 %r7, 0; mov.b32 %r5, %r4; $L: add.f32 %r3, %r5, %r3; mul.f32 %r5, %r3, %r2; add.s32 %r7, %r7, 1; \
                   setp.lt.s32 %p1, %r7, 4; @%p1 bra $L; mov.b32 %r9, %r3;";
    let [_, b, mut sum] = FACTORS.map(f32::from_bits);
    sum += 0.5;
    for _ in 0..3 {
        sum = sum.mul_add(b, sum);
    }
    for target in TARGETS {
        assert!(kernel(target, Mode::Gpu, carried).doubts().is_empty());
        let operands = [0, FACTORS[1].into(), FACTORS[2].into(), 0.5f32.to_bits().into()];
        assert_eq!(result_on(target, Mode::Gpu, carried, operands), u64::from(sum.to_bits()));
    }
    // more turns than ptxas is known to unroll
    let many = "mov.u32 %r7, 0; mul.f32 %r5, %r1, %r2; $L: add.f32 %r3, %r5, %r3; add.s32 %r7, %r7, 1; \
                setp.lt.s32 %p1, %r7, 3000; @%p1 bra $L; mov.b32 %r9, %r3;";
    assert_eq!(kernel("sm_90a", Mode::Gpu, many).doubts().len(), 1);
}

#[test]
fn exchanges_of_lanes_part_products_of_halves() {
    let exchange = "shfl.sync.bfly.b32 %r7, %r3, 1, 31, -1; st.global.b32 [%d10+40], %r7;";
    for (kind, letter, parted) in
        [("f16", 'h', true), ("f16x2", 'r', true), ("f32", 'r', false), ("f64", 'd', false)]
    {
        let body = format!(
            "mul.{kind} %{letter}5, %{letter}1, %{letter}2; {exchange} add.{kind} %{letter}9, %{letter}5, %{letter}3;"
        );
        assert_eq!(fused("sm_80", &body), usize::from(!parted), "{body}");
        assert_eq!(fused("sm_90a", &body), 1, "{body}");
        assert_eq!(fused("sm_100a", &body), 1, "{body}");
    }
}

#[test]
fn additions_of_packed_numbers_choose_in_one_visit() {
    // the first product is fused with two sums, then needed beside the second, which is used once
    let sums = |kind: &str| {
        format!(
            "mul.{kind} %r5, %r1, %r2; mul.{kind} %r6, %r3, %r4; add.{kind} %r7, %r5, %r2; add.{kind} %r8, %r3, %r5; \
             sub.{kind} %r10, %r5, %r6; xor.b32 %r9, %r7, %r8; xor.b32 %r9, %r9, %r10;"
        )
    };
    for target in ["sm_90a", "sm_100a"] {
        for (kind, expected) in [("f16x2", 3), ("bf16x2", 3), ("f32", 1)] {
            assert_eq!(fused(target, &sums(kind)), expected, "{target} {kind}");
        }
    }
}

fn doubts(body: &str) -> [usize; 3] {
    TARGETS.map(|target| kernel(target, Mode::Gpu, body).doubts().len())
}

#[test]
fn a_product_under_a_guard_that_is_true_is_one() {
    let guarded = "mov.u32 %r7, 3; setp.eq.s32 %p1, %r7, 3; mov.b32 %r5, %r3; @%p1 mul.f32 %r5, %r1, %r2;";
    count(&[(&format!("{guarded} add.f32 %r9, %r5, %r4;"), 1)]);
    // nothing is less than itself
    let never = "setp.lt.f32 %p1, %r3, %r3; mov.b32 %r5, %r3; @!%p1 mul.f32 %r5, %r1, %r2;";
    count(&[(&format!("{never} add.f32 %r9, %r5, %r4;"), 1)]);
}

#[test]
fn a_copy_under_a_guard_of_what_is_there_anyway_changes_nothing() {
    let copies = "setp.lt.f32 %p1, %r3, %r4; mul.f32 %r5, %r1, %r2; mov.b32 %r6, %r5; @%p1 mov.b32 %r6, %r5;";
    count(&[(&format!("{copies} add.f32 %r9, %r6, %r4;"), 1)]);
}

#[test]
fn what_a_use_that_is_never_executed_needs_is_doubtful() {
    let body = "mul.f32 %r5, %r1, %r2; mov.u32 %r7, 3; setp.eq.s32 %p1, %r7, 3; mov.b32 %r8, %r3; \
                @!%p1 mul.f32 %r8, %r5, %r5; add.f32 %r9, %r5, %r8;";
    assert_eq!(doubts(body), [1, 1, 1]);
}

#[test]
fn an_inverse_of_a_function_is_doubtful() {
    for function in ["rcp", "ex2"] {
        let body = format!("{function}.approx.ftz.f32 %r5, %r1; rcp.approx.ftz.f32 %r9, %r5;");
        assert_eq!(doubts(&body), [1, 1, 1], "{function}");
    }
    assert_eq!(doubts("lg2.approx.ftz.f32 %r5, %r1; rcp.approx.ftz.f32 %r9, %r5;"), [0, 0, 0]);
}

#[test]
fn a_sum_of_constants_in_the_middle_of_two_numbers_is_doubtful() {
    let sum = |b: &str| {
        format!(
            "mul.f32 %r7, %r1, %r2; mov.b32 %r5, 0f3F511967; mov.b32 %r6, {b}; sub.f32 %r8, %r5, %r6; max.f32 %r9, %r7, %r8;"
        )
    };
    assert_eq!(doubts(&sum("0f3E258D7E")), [1, 1, 1]);
    assert_eq!(doubts(&sum("0f3E258D7D")), [0, 0, 0]);
    assert_eq!(doubts(&sum("0fBE258D7E")), [0, 0, 0]);
}

#[test]
fn an_exchange_parts_a_product_of_several_uses() {
    let body = "mul.f32 %r5, %r1, %r2; sub.f32 %r6, %r3, %r5; shfl.sync.bfly.b32 %r7, %r4, 4, 31, -1; \
                add.f32 %r8, %r5, %r4; max.f32 %r9, %r6, %r8; max.f32 %r9, %r9, %r7;";
    assert_eq!(TARGETS.map(|target| fused(target, body)), [0, 2, 2]);
    // added to itself it is needed in one way or the other
    let twice = "mul.f32 %r5, %r1, %r2; sub.f32 %r6, %r3, %r5; bar.warp.sync -1; add.f32 %r8, %r5, %r5; max.f32 %r9, %r6, %r8;";
    assert_eq!(doubts(twice), [1, 0, 0]);
}

#[test]
fn a_loop_that_a_pragma_keeps_is_not_unrolled() {
    let turns = |pragma: &str| {
        format!(
            "mul.f32 %r5, %r1, %r2; mov.b32 %r6, %r3; mov.u32 %r7, 0; $L: {pragma} add.f32 %r6, %r5, %r6; \
             add.s32 %r7, %r7, 1; setp.lt.s32 %p1, %r7, 4; @%p1 bra $L; mov.b32 %r9, %r6;"
        )
    };
    count(&[(&turns(""), 1), (&turns(".pragma \"nounroll\";"), 0)]);
}

#[test]
fn halves_compared_with_themselves_are_doubtful() {
    let body = "mul.f16x2 %r5, %r1, %r2; min.f16x2 %r6, %r5, %r5; sub.f16x2 %r9, %r6, %r3;";
    assert_eq!(doubts(body), [1, 1, 1]);
    assert_eq!(doubts("mul.f32 %r5, %r1, %r2; min.f32 %r6, %r5, %r5; sub.f32 %r9, %r6, %r3;"), [0, 0, 0]);
}

#[test]
fn a_negation_with_ftz_that_is_subtracted_is_doubtful() {
    let body = "mul.ftz.f32 %r5, %r1, %r2; neg.ftz.f32 %r6, %r5; sub.ftz.f32 %r9, %r3, %r6;";
    assert_eq!(doubts(body), [1, 1, 1]);
}
