//! What ptxas fuses and folds: the rules one by one.

use bitmma_ptx::Mode;

use crate::body::{kernel, result_on};
use crate::fusion::fused;

#[test]
fn products_are_fused_by_the_rule() {
    let cases = [
        ("mul.f32 %r5, %r1, %r2; add.f32 %r9, %r5, %r3;", 1),
        ("mul.f32 %r5, %r1, %r2; sub.f32 %r9, %r3, %r5;", 1),
        ("mul.f32 %r5, %r1, %r2; neg.f32 %r6, %r5; add.f32 %r9, %r6, %r3;", 1),
        ("mul.f32 %r5, %r1, %r2; mov.b32 %r6, %r5; add.f32 %r9, %r6, %r3;", 1),
        // both additions
        ("mul.f32 %r5, %r1, %r2; add.f32 %r6, %r5, %r3; add.f32 %r7, %r5, %r4; max.f32 %r9, %r6, %r7;", 2),
        // another use
        ("mul.f32 %r5, %r1, %r2; add.f32 %r6, %r5, %r3; max.f32 %r9, %r5, %r6;", 0),
        // another use of which nothing comes
        ("mul.f32 %r5, %r1, %r2; max.f32 %r6, %r5, %r4; neg.f32 %r7, %r6; add.f32 %r9, %r5, %r3;", 1),
        ("mul.f32 %r5, %r1, %r2; add.f32 %r6, %r5, %r3; mov.b32 %r9, %r1;", 0),
        ("mul.rn.f32 %r5, %r1, %r2; add.f32 %r9, %r5, %r3;", 0),
        ("mul.f32 %r5, %r1, %r2; add.rn.f32 %r9, %r5, %r3;", 0),
        ("mul.ftz.f32 %r5, %r1, %r2; add.f32 %r9, %r5, %r3;", 0),
        ("mul.ftz.f32 %r5, %r1, %r2; add.ftz.f32 %r9, %r5, %r3;", 1),
        ("mul.sat.f32 %r5, %r1, %r2; add.f32 %r9, %r5, %r3;", 0),
        // both operands are products
        ("mul.f32 %r5, %r1, %r2; mul.f32 %r6, %r3, %r4; add.f32 %r9, %r5, %r6;", 1),
        ("mul.f32 %r5, %r1, %r2; add.f32 %r9, %r5, %r5;", 0),
        ("mul.f32 %r5, %r1, %r2; mul.f32 %r6, %r1, %r2; add.f32 %r9, %r5, %r6;", 0),
        // guarded
        ("mov.b32 %r9, 0; setp.lt.f32 %p1, %r1, %r2; mul.f32 %r5, %r1, %r2; @%p1 add.f32 %r9, %r5, %r3;", 1),
        ("mov.b32 %r5, 0; setp.lt.f32 %p1, %r1, %r2; @%p1 mul.f32 %r5, %r1, %r2; add.f32 %r9, %r5, %r3;", 0),
        (
            "setp.lt.f32 %p1, %r1, %r2; mul.f32 %r5, %r1, %r2; selp.f32 %r6, %r5, %r3, %p1; add.f32 %r9, %r6, %r3;",
            0,
        ),
        // divisions
        ("div.full.f32 %r5, %r1, %r2; add.f32 %r9, %r5, %r3;", 1),
        ("div.approx.f32 %r5, %r1, %r2; add.f32 %r9, %r5, %r3;", 1),
        ("rcp.approx.f32 %r5, %r1; add.f32 %r9, %r5, %r3;", 1),
        ("div.rn.f32 %r5, %r1, %r2; add.f32 %r9, %r5, %r3;", 0),
        // another block
        (
            "mul.f32 %r5, %r1, %r2; setp.lt.f32 %p1, %r1, %r2; @%p1 bra $L; mov.b32 %r3, 0; $L: add.f32 %r9, %r5, %r3;",
            0,
        ),
    ];
    for (body, expected) in cases {
        for target in ["sm_80", "sm_90a"] {
            assert_eq!(fused(target, body), expected, "{target}: {body}");
        }
    }
    // what is between them; the numbers are those of the SASS
    let between = [
        ("ld.global.b32 %r6, [%d1];", 1),
        ("@%p1 ld.global.b32 %r6, [%d1];", 0),
        ("@!%p1 ld.param.b32 %r6, [p];", 0),
        ("@%p1 st.global.b32 [%d1], %r4;", 0),
        ("@%p1 red.global.add.u32 [%d1], 1;", 0),
        ("@%p1 shfl.sync.bfly.b32 %r6, %r4, 1, 31, -1;", 0),
        ("@%p1 bar.sync 0;", 0),
        ("@%p1 mov.b32 %r6, %r4;", 1),
        ("@%p1 div.full.f32 %r6, %r4, %r3;", 1),
        ("mov.pred %p2, -1; @%p2 ld.global.b32 %r6, [%d1];", 1),
        ("bar.sync 0;", 1),
        ("membar.cta;", 0),
        ("div.rn.f32 %r6, %r4, %r3;", 0),
        ("sqrt.rn.f32 %r6, %r4;", 0),
        ("div.s32 %r6, %r4, %r3;", 0),
        ("rem.u32 %r6, %r4, %r3;", 1),
        ("div.s64 %d2, %d1, %d1; cvt.u32.u64 %r6, %d2;", 0),
    ];
    for (instructions, expected) in between {
        let body = format!(
            "mov.b32 %r6, 0; setp.lt.f32 %p1, %r1, %r2; mul.f32 %r5, %r1, %r2; {instructions} add.f32 %r9, %r5, %r3; \
             max.f32 %r9, %r9, %r6;"
        );
        for target in ["sm_80", "sm_90a", "sm_100a"] {
            assert_eq!(fused(target, &body), expected, "{target}: {body}");
        }
    }
    let shuffled =
        "div.full.f32 %r5, %r1, %r2; shfl.sync.bfly.b32 %r6, %r3, 1, 31, -1; add.f32 %r9, %r5, %r6;";
    assert_eq!(fused("sm_80", shuffled), 0);
    assert_eq!(fused("sm_90a", shuffled), 1);
}

#[test]
fn a_carried_product_is_doubtful_unless_it_is_used_beside_it() {
    let doubts = |used: &str| {
        let body = format!(
            "mov.b32 %r5, 0; mov.b32 %r7, 0; L1: add.f32 %r9, %r5, %r3; mul.f32 %r5, %r9, %r2; {used} add.s32 %r7, %r7, 1; \
             setp.lt.s32 %p1, %r7, %r4; @%p1 bra L1; st.global.b32 [%d10+40], %r8;"
        );
        kernel("sm_90a", Mode::Gpu, &body).doubts().len()
    };
    assert_eq!(doubts("mov.b32 %r8, 0;"), 1);
    assert_eq!(doubts("add.f32 %r8, %r5, %r3;"), 1);
    assert_eq!(doubts("fma.rn.f32 %r8, %r5, %r3, %r1;"), 0);
}

/// The result of a body on four numbers.
fn result(mode: Mode, body: &str, inputs: [f32; 4]) -> u32 {
    result_on("sm_80", mode, body, inputs.map(|input| input.to_bits().into())) as u32
}

#[test]
fn a_fused_product_is_rounded_once() {
    let a = 1.0 + f32::EPSILON;
    let bodies = [
        // a·a - 1 - 2ε = ε², which rounding the product loses
        ("mul.f32 %r5, %r1, %r2; sub.f32 %r9, %r5, %r3;", f32::EPSILON * f32::EPSILON),
        ("mul.f32 %r5, %r1, %r2; sub.f32 %r9, %r3, %r5;", -f32::EPSILON * f32::EPSILON),
        ("mul.f32 %r5, %r1, %r2; neg.f32 %r6, %r5; add.f32 %r9, %r6, %r3;", -f32::EPSILON * f32::EPSILON),
    ];
    for (body, expected) in bodies {
        let inputs = [a, a, 1.0 + 2.0 * f32::EPSILON, 0.0];
        assert_eq!(result(Mode::Gpu, body, inputs), expected.to_bits(), "{body}");
        assert_eq!(result(Mode::Text, body, inputs) << 1, 0, "{body}");
    }
    // the factors are those of the product's place
    let moved = "mul.f32 %r5, %r1, %r2; mov.b32 %r1, 0; mov.b32 %r2, 0; sub.f32 %r9, %r5, %r3;";
    let inputs = [a, a, 1.0 + 2.0 * f32::EPSILON, 0.0];
    assert_eq!(result(Mode::Gpu, moved, inputs), (f32::EPSILON * f32::EPSILON).to_bits());
}

#[test]
fn functions_of_constants_are_rounded_correctly() {
    let of = |form: &str, x: f32| {
        let body = format!("mov.b32 %r5, 0f{:08X}; {form} %r9, %r5;", x.to_bits());
        result(Mode::Gpu, &body, [0.0; 4])
    };
    for number in 1..=512u16 {
        let x = f32::from(number);
        assert_eq!(of("rcp.approx.f32", x), (1.0 / x).to_bits(), "1/{x}");
        assert_eq!(of("sqrt.approx.f32", x), x.sqrt().to_bits(), "√{x}");
        let root = 1.0 / f64::from(x).sqrt();
        assert_eq!(of("rsqrt.approx.f32", x), (root as f32).to_bits(), "1/√{x}");
        assert_eq!(of("lg2.approx.f32", x), (f64::from(x).log2() as f32).to_bits(), "log2 {x}");
        let power = (x - 256.0) / 13.0;
        assert_eq!(of("ex2.approx.f32", power), (f64::from(power).exp2() as f32).to_bits(), "2^{power}");
    }
    let body =
        "mov.b32 %r5, 0f3F800000; mov.b32 %r6, %r5; mov.b32 %r7, 0f437F0000; div.full.f32 %r9, %r6, %r7;";
    assert_eq!(result(Mode::Gpu, body, [0.0; 4]), (1.0f32 / 255.0).to_bits());
    assert_ne!(result(Mode::Text, body, [0.0; 4]), (1.0f32 / 255.0).to_bits());
}
