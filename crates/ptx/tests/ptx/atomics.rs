//! Atomic operations whose values are floats.

use crate::block::Block;

/// What one thread leaves of two words.
fn result(target: &'static str, words: [u32; 4], body: &str) -> Result<Vec<u32>, String> {
    let mut block = Block::of(1);
    (block.target, block.words) = (target, words.to_vec());
    block.run(body)
}

#[test]
fn minima_and_maxima_of_halves_compare_floats() {
    // -1, 2 in memory; 1, -3 given
    let (memory, given): (u32, u32) = (0x4000_bc00, 0xc200_3c00);
    let cases = [("min", 0xc200_bc00u32), ("max", 0x4000_3c00)];
    for (op, expected) in cases {
        for (form, list) in [
            (format!("red.global.{op}.noftz.v2.f16"), "{%h1, %h2}"),
            (format!("red.relaxed.gpu.global.{op}.noftz.v2.f16x2"), "{%r6, %r7}"),
        ] {
            let body = format!(
                "mov.b32 %r6, {given}; mov.b32 %r7, 0; mov.b32 {{%h1, %h2}}, %r6;\n{form} [%d1], {list};"
            );
            let words = result("sm_90a", [memory, 0, 0, 0], &body).expect(&form);
            assert_eq!(words[0], expected, "{form}: {:x}", words[0]);
        }
        let form = format!("atom.global.{op}.noftz.v4.f16");
        let body = format!(
            "mov.b32 %r6, {given}; mov.b32 {{%h1, %h2}}, %r6;\n{form} {{%h3, %h4, %h5, %h6}}, [%d1], {{%h1, %h2, %h1, %h2}};\nmov.b32 %r7, {{%h3, %h6}};\nst.global.b32 [%d1+8], %r7;"
        );
        let words = result("sm_90a", [memory, memory, 0, 0], &body).expect(&form);
        assert_eq!(words[..3], [expected, expected, memory], "{form}");
    }
    // bfloat16: 1.5 and -2.5 in memory, -1.5 and 2.5 given
    let body = |op: &str| {
        format!(
            "mov.b32 %r6, 0x4020bfc0; mov.b32 {{%h1, %h2}}, %r6;\nred.global.{op}.noftz.v2.bf16 [%d1], {{%h1, %h2}};"
        )
    };
    assert_eq!(result("sm_90a", [0xc020_3fc0, 0, 0, 0], &body("min")).expect("runs")[0], 0xc020_bfc0);
    assert_eq!(result("sm_90a", [0xc020_3fc0, 0, 0, 0], &body("max")).expect("runs")[0], 0x4020_3fc0);
    // zeros and NaN, as min and max have them: -0 is less than 0, and a number wins over NaN
    let body = |op: &str, given: u32| {
        format!(
            "mov.b32 %r6, {given}; mov.b32 {{%h1, %h2}}, %r6;\nred.global.{op}.noftz.v2.f16 [%d1], {{%h1, %h2}};"
        )
    };
    assert_eq!(
        result("sm_90a", [0x7e00_0000, 0, 0, 0], &body("min", 0x3c00_8000)).expect("runs")[0],
        0x3c00_8000
    );
    assert_eq!(
        result("sm_90a", [0x3c00_8000, 0, 0, 0], &body("max", 0x7e00_0000)).expect("runs")[0],
        0x3c00_0000
    );
}

#[test]
fn forms_that_ptx_lacks_are_refused_by_name() {
    for line in [
        "red.global.min.noftz.f16 [%d1], %h1;",
        "red.global.min.noftz.f16x2 [%d1], %r6;",
        "atom.global.max.noftz.bf16 %h2, [%d1], %h1;",
        "red.global.min.v2.f16 [%d1], {%h1, %h2};",
        "red.shared.min.noftz.v2.f16 [%r5], {%h1, %h2};",
        "red.global.add.f16 [%d1], %h1;",
        "red.global.min.f32 [%d1], %r6;",
        "red.global.min.v2.f32 [%d1], {%r6, %r7};",
        "red.global.add.v8.f32 [%d1], {%r6, %r7, %r6, %r7, %r6, %r7, %r6, %r7};",
        "red.global.max.b32 [%d1], %r6;",
        "red.global.add.noftz.v8.f16x2 [%d1], {%r6, %r7, %r6, %r7, %r6, %r7, %r6, %r7};",
    ] {
        let error = result("sm_90a", [0; 4], line).expect_err(line);
        let form = line.split(' ').next().unwrap_or_default();
        assert!(error.contains(&format!("line 9: '{form}' is not supported")), "{line}: {error}");
    }
    let error = result("sm_80", [0; 4], "red.global.add.noftz.v2.f16 [%d1], {%h1, %h2};").expect_err("sm_80");
    assert!(error.contains("sm_90"), "{error}");
}
