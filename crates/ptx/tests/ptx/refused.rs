//! Forms that are not PTX, or that have no model, are refused: none is taken for another.

use bitmma_ptx::{Mode, Program};

#[test]
fn forms_that_are_not_supported() {
    let lines = [
        // modifiers of other operations
        "add.NaN.f32 %r1, %r2, %r3;",
        "mul.abs.f32 %r1, %r2, %r3;",
        "sub.xorsign.abs.f32 %r1, %r2, %r3;",
        "add.rn.relu.f16 %h1, %h2, %h3;",
        "min.relu.f32 %r1, %r2, %r3;",
        "max.sat.f32 %r1, %r2, %r3;",
        "min.f32 %r1, %r2, %r3, %r4;",
        "copysign.sat.f32 %r1, %r2, %r3;",
        "div.rn.sat.f32 %r1, %r2, %r3;",
        "div.rn.relu.f32 %r1, %r2, %r3;",
        "div.rn.f16 %h1, %h2, %h3;",
        "div.full.f64 %d1, %d2, %d3;",
        "div.approx.f64 %d1, %d2, %d3;",
        "rsqrt.f32 %r1, %r2;",
        "sin.f32 %r1, %r2;",
        "rsqrt.approx.f64 %d1, %d2;",
        "rcp.approx.ftz.f64 %d1, %d2;",
        "ex2.approx.f16 %h1, %h2;",
        "tanh.approx.f32 %r1, %r2;",
        "testp.finite.f16 %p1, %h2;",
        "testp.f32 %p1, %r2;",
        "add.f32.f16 %r1, %r2, %r3;",
        "fma.rn.f32.f16 %r1, %r2, %r3, %r4;",
        // conversions
        "cvt.pack.sat.s16.s32 %r1, %r2, %r3;",
        "cvt.rn.f16x2.f32 %r1, %r2;",
        "cvt.rn.f16.f32 %h1, %r2, %r3;",
        "cvt.f32.tf32 %r1, %r2;",
        "cvt.rn.f16.f32x2 %h1, %d2;",
        "cvt.rn.bf16.bf16x2 %h1, %r2;",
        "cvt.rn.f32x2.f32 %d1, %r2;",
        "cvt.rna.tf32.f16 %r1, %h2;",
        "cvt.rn.f32.e4m3x2 %r1, %h2;",
        "cvt.rn.bf16x2.e4m3x2 %r1, %h2;",
        "cvt.rn.f16x2.e2m3x2 %r1, %h2;",
        "cvt.rn.satfinite.e3m2x2.f32 %h1, %r2, %r3;",
        "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1, %r2}, [%r3];",
        "stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%r3], {%r1};",
        "cvt.rn.satfinite.e4m3x2.f16 %h1, %h2;",
        "cvt.rn.satfinite.e5m2x2.bf16x2 %h1, %r2;",
        "cvt.f32.f16x2 %r1, %r2;",
        "cvt.u32.pred %r1, %p2;",
        "mov.b32 {%h1, %h2}, {%h3, %h4};",
        // comparisons
        "setp.f32 %p1, %r2, %r3;",
        "setp.eq.u8 %p1, %r2, %r3;",
        "setp.eq.pred %p1, %p2, %p3;",
        "set.eq.u64.f32 %d1, %r2, %r3;",
        "set.eq.f64.f32 %d1, %r2, %r3;",
        "set.u32.f32 %r1, %r2, %r3;",
        "selp.pred %p1, %p2, %p3, %p4;",
        // integers
        "add.sat.u32 %r1, %r2, %r3;",
        "add.sat.s16 %h1, %h2, %h3;",
        "sub.sat.s64 %d1, %d2, %d3;",
        "min.sat.s32 %r1, %r2, %r3;",
        "add.u8 %h1, %h2, %h3;",
        "popc.b8 %r1, %h2;",
        "mul.s32 %r1, %r2, %r3;",
        "mul.wide.s64 %d1, %d2, %d3;",
        "mul.lo.u8 %h1, %h2, %h3;",
        "add.cc.u16 %h1, %h2, %h3;",
        "addc.u32 %r1, %r2, %r3, %r4;",
        "madc.lo.u32 %r1, %r2, %r3;",
        "lop3.b32 %r1, %r2, %r3, %r4, %r5;",
        "lop3.b64 %d1, %d2, %d3, %d4, 7;",
        "prmt.b64 %d1, %d2, %d3, %r4;",
        "shf.wrap.b32 %r1, %r2, %r3, %r4;",
        "shf.l.b32 %r1, %r2, %r3, %r4;",
        "dp2a.s32.s32 %r1, %r2, %r3, %r4;",
        "bfe.u16 %h1, %h2, %r3, %r4;",
        "cvta.u64 %d1, %d2;",
        "isspacep %p1, %d2;",
        "fence.acq_rel.gpu.bogus;",
        "fence.proxy.bogus;",
        "fence.acq_rel;",
        "griddepcontrol.bogus;",
        "setmaxnreg.inc.sync.aligned.u32 7;",
        "discard.global.L1 [%d1], 128;",
        "prefetchu.L9 [%d1];",
        "createpolicy.bogus.b64 %d1;",
        "applypriority.global.L2::evict_first [%d1], 128;",
        // newer than the target
        "add.rn.f32x2 %d1, %d2, %d3;",
        "redux.sync.min.f32 %r1, %r2, -1;",
    ];
    for line in lines {
        let text = format!(
            ".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry one(.param .u64 p)\n{{\n\
             .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %d<9>;\n{line}\nret;\n}}\n"
        );
        let form = line.split([' ', ';']).next().expect("a form");
        let error = Program::parse(&text).expect(line).kernel(None, None, Mode::Text).expect_err(line);
        assert!(error.to_string().contains(&format!("line 7: '{form}' is not supported")), "{line}: {error}");
    }
}

/// Constants and registers that ptxas does not take for the type.
#[test]
fn operands_of_another_type() {
    for line in [
        "setp.eq.and.f32 %p1, %r2, %r3;",
        "setp.eq.f32 %p1, %r2, %r3, %p2;",
        "add.f32 %r1, %r2, 1;",
        "add.f64 %d1, %d2, 1;",
        "fma.rn.f16 %h1, %h2, %h3, 0x3c00;",
        "setp.lt.f32 %p1, %r2, 0;",
        "selp.f32 %r1, 1, 0, %p1;",
        "st.global.f32 [%d1], 1;",
        "add.u32 %r1, %r2, 1.5;",
        "mov.u32 %r1, 0f3F800000;",
        "ld.global.u32 %h1, [%d1];",
        "st.global.u64 [%d1], %r1;",
        "cvt.u64.u32 %r1, %r2;",
        "mov.b32 %r1, {%r2, %r3};",
    ] {
        let text = format!(
            ".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry one(.param .u64 p)\n{{\n\
             .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %d<9>;\n{line}\nret;\n}}\n"
        );
        let error = Program::parse(&text).expect(line).kernel(None, None, Mode::Text).expect_err(line);
        assert!(error.to_string().contains("takes"), "{line}: {error}");
    }
}

/// ptxas keeps the opposite of a borrow, as the hardware has it: what a sum makes of the borrow of a difference is not PTX's.
#[test]
fn a_borrow_into_a_sum() {
    for (line, is_right) in [
        ("sub.cc.u32 %r1, %r2, %r3; addc.u32 %r4, %r2, %r3;", false),
        ("add.cc.u32 %r1, %r2, %r3; subc.u32 %r4, %r2, %r3;", false),
        (
            "mad.lo.cc.u32 %r1, %r2, %r3, %r4; addc.cc.u32 %r4, %r2, %r3; madc.hi.u32 %r5, %r2, %r3, %r4;",
            true,
        ),
        ("sub.cc.u32 %r1, %r2, %r3; subc.u32 %r4, %r2, %r3;", true),
    ] {
        let text = format!(
            ".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry one(.param .u64 p)\n{{\n\
             .reg .b32 %r<9>;\n{line}\nret;\n}}\n"
        );
        let kernel = Program::parse(&text).expect(line).kernel(None, None, Mode::Text);
        assert_eq!(kernel.is_ok(), is_right, "{line}");
    }
}
