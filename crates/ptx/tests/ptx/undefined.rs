//! Undefined data: planted faults are reported with line and thread, and where they came from; correct kernels run.

use crate::block::Block;

/// Body, threads of the block, and what the message must say.
type Fault = (&'static str, u32, &'static str);

const FAULTS: &[Fault] = &[
    // shared memory
    (
        "ld.shared.b32 %r6, [%r4];\nst.global.b32 [%d3], %r6;",
        32,
        "line 10: byte 0 of argument 0 depends on what was never written: line 9 reads memory that was not written (block (0, 0, 0), thread (0, 0, 0))",
    ),
    (
        "setp.ne.u32 %p1, %r2, 5;\n@%p1 st.shared.b32 [%r4], %r2;\nbar.sync 0;\nld.shared.b32 %r6, [%r4];\nst.global.b32 [%d3], %r6;",
        32,
        "line 13: byte 20 of argument 0 depends on what was never written: line 12 reads memory that was not written (block (0, 0, 0), thread (5, 0, 0))",
    ),
    (
        "ld.volatile.shared.b32 %r6, [%r4];\nst.global.b32 [%d3], %r6;",
        32,
        "line 9 reads memory that was not written",
    ),
    // a vector of which a part was written, and bytes of a word
    (
        "shl.b32 %r6, %r2, 3; add.s32 %r6, %r5, %r6; st.shared.b32 [%r6], %r2;\nld.shared.v2.b32 {%r7, %r8}, [%r6];\nst.global.b32 [%d3], %r8;",
        32,
        "line 11: byte 0 of argument 0 depends on what was never written: line 10 reads memory",
    ),
    (
        "cvt.u16.u32 %h1, %r2;\nst.shared.b16 [%r4], %h1;\nld.shared.b32 %r6, [%r4];\nst.global.b32 [%d3], %r6;",
        32,
        "line 12: byte 2 of argument 0 depends on what was never written: line 11 reads memory",
    ),
    (
        "mov.b32 %r6, 1; st.shared.b8 [%r4], %r6; st.shared.b8 [%r4+1], %r6; st.shared.b8 [%r4+3], %r6;\nld.shared.b32 %r7, [%r4];\nst.global.b32 [%d3], %r7;",
        32,
        "byte 2 of argument 0 depends",
    ),
    // registers
    (
        "st.global.b32 [%d3], %r9;",
        32,
        "line 9: byte 0 of argument 0 depends on what was never written: register '%r9', which line 9 reads, may not have been written",
    ),
    (
        "setp.eq.u32 %p1, %r2, 3;\n@%p1 bra $L1;\nmov.b32 %r9, 1;\n$L1:\nadd.s32 %r10, %r9, 1;\nst.global.b32 [%d3], %r10;",
        32,
        "line 14: byte 12 of argument 0 depends on what was never written: register '%r9', which line 13 reads, may not have been written (block (0, 0, 0), thread (3, 0, 0))",
    ),
    (
        "setp.lt.u32 %p1, %r2, 31;\n@%p1 ld.global.b32 %r9, [%d3];\nst.global.b32 [%d3], %r9;",
        32,
        "line 11: byte 124 of argument 0 depends on what was never written: register '%r9', which line 11 reads",
    ),
    (
        "setp.lt.u32 %p1, %r2, 31;\n@%p1 ld.global.b64 %d9, [%d1];\nmov.b64 {%r7, %r8}, %d9;\nst.global.b32 [%d3], %r8;",
        32,
        "register '%d9', which line 11 reads",
    ),
    // what vanishes in a sum, in a minimum, in a product by zero
    (
        "mov.f32 %f1, 0f7149F2CA;\nadd.f32 %f2, %f1, %f9;\nst.global.f32 [%d3], %f2;",
        32,
        "line 11: byte 0 of argument 0 depends on what was never written: register '%f9', which line 10 reads",
    ),
    (
        "ld.shared.f32 %f1, [%r4];\nadd.f32 %f2, %f1, 0f3F800000;\nst.global.f32 [%d3], %f2;",
        32,
        "line 9 reads memory that was not written",
    ),
    ("min.f32 %f2, %f9, 0fFF800000;\nst.global.f32 [%d3], %f2;", 32, "register '%f9', which line 9 reads"),
    ("max.s32 %r7, %r9, 2147483647;\nst.global.b32 [%d3], %r7;", 32, "register '%r9', which line 9 reads"),
    (
        "mov.f32 %f1, 0f00000000;\nfma.rn.f32 %f2, %f9, %f1, %f1;\nst.global.f32 [%d3], %f2;",
        32,
        "register '%f9', which line 10 reads",
    ),
    // what decides something
    (
        "and.b32 %r10, %r9, 4; cvt.u64.u32 %d9, %r10; add.s64 %d8, %d1, %d9;\nld.global.b32 %r7, [%d8];\nst.global.b32 [%d3], %r7;",
        32,
        "line 10: the address depends on what was never written: register '%r9', which line 9 reads",
    ),
    (
        "ld.shared.b32 %r6, [%r4];\nand.b32 %r6, %r6, 60; add.s32 %r6, %r6, %r5;\nst.shared.b32 [%r6], %r2;",
        32,
        "line 11: the address depends on what was never written: line 9 reads memory",
    ),
    (
        "ld.shared.b32 %r6, [%r4];\nmul.wide.u32 %d9, %r6, 1000000; add.s64 %d9, %d9, %d1;\nst.global.b32 [%d9+100000], %r2;",
        32,
        "line 11: the address depends on what was never written",
    ),
    (
        "setp.gt.u32 %p1, %r9, 3;\n@%p1 bra $L1;\nst.global.b32 [%d3], %r2;\n$L1:",
        32,
        "line 10: the branch depends on what was never written: register '%r9', which line 9 reads",
    ),
    (
        "@%p9 st.global.b32 [%d3], %r2;",
        32,
        "line 9: whether this instruction runs depends on what was never written: register '%p9', which line 9 reads",
    ),
    (
        "selp.b32 %r6, 1, 2, %p9;\nst.global.b32 [%d3], %r6;",
        32,
        "line 10: byte 0 of argument 0 depends on what was never written: register '%p9', which line 9 reads",
    ),
    (
        "mov.b32 %r6, 0;\n@%p9 mov.b32 %r6, 1;\nst.global.b32 [%d3], %r6;",
        32,
        "register '%p9', which line 10 reads",
    ),
    (
        "ld.shared.b32 %r6, [%r4];\nsetp.eq.u32 %p1, %r6, 0;\n@%p1 ret;",
        32,
        "line 11: whether this instruction runs depends on what was never written: line 9 reads",
    ),
    (
        "mov.b32 %r7, 0;\n$L1:\nadd.s32 %r7, %r7, 1;\nsetp.lt.u32 %p1, %r7, %r9;\n@%p1 bra $L1;",
        32,
        "line 13: the branch depends on what was never written: register '%r9', which line 12 reads",
    ),
    // through lanes
    (
        "setp.ne.u32 %p1, %r2, 7;\n@%p1 mov.b32 %r9, 1;\nshfl.sync.bfly.b32 %r7, %r9, 8, 31, -1;\nst.global.b32 [%d3], %r7;",
        32,
        "line 12: byte 60 of argument 0 depends on what was never written: register '%r9', which line 11 reads, may not have been written, in thread (7, 0, 0) (block (0, 0, 0), thread (15, 0, 0))",
    ),
    (
        "setp.ne.u32 %p1, %r2, 7;\n@%p1 mov.b32 %r9, 1;\nredux.sync.add.u32 %r7, %r9, -1;\nst.global.b32 [%d3], %r7;",
        32,
        "register '%r9', which line 11 reads",
    ),
    (
        "setp.gt.u32 %p1, %r9, 3;\nvote.sync.ballot.b32 %r7, %p1, -1;\nst.global.b32 [%d3], %r7;",
        32,
        "register '%r9', which line 9 reads",
    ),
    (
        "setp.gt.u32 %p1, %r9, 3;\nvote.sync.any.pred %p2, %p1, -1;\n@%p2 bra $L1;\nst.global.b32 [%d3], %r2;\n$L1:",
        32,
        "line 11: the branch depends on what was never written",
    ),
    // through shared memory to another thread
    (
        "setp.ne.u32 %p1, %r2, 33;\n@%p1 mov.b32 %r9, 1;\nst.shared.b32 [%r4], %r9;\nbar.sync 0;\nxor.b32 %r6, %r4, 128;\nld.shared.b32 %r7, [%r6];\nst.global.b32 [%d3], %r7;",
        64,
        "line 15: byte 4 of argument 0 depends on what was never written: register '%r9', which line 11 reads, may not have been written, in thread (33, 0, 0) (block (0, 0, 0), thread (1, 0, 0))",
    ),
    (
        "setp.gt.u32 %p1, %r9, 3;\nbar.red.or.pred %p2, 0, %p1;",
        32,
        "line 10: what the barrier counts depends on what was never written: register '%r9'",
    ),
    // atomic operations
    (
        "atom.shared.add.u32 %r6, [%r4], 1;\nst.global.b32 [%d3], %r6;",
        32,
        "line 9 reads memory that was not written",
    ),
    (
        "red.shared.add.u32 [%r5], %r2;\nbar.sync 0;\nld.shared.b32 %r6, [%r5];\nst.global.b32 [%d3], %r6;",
        32,
        "line 9 reads memory that was not written",
    ),
    (
        "red.global.add.u32 [%d3], %r9;",
        32,
        "line 9: byte 0 of argument 0 depends on what was never written: register '%r9', which line 9 reads",
    ),
    // a copy that was not waited for, and one that copies less
    (
        "cp.async.ca.shared.global [%r4], [%d3], 4;\ncp.async.commit_group;\nld.shared.b32 %r6, [%r4];\nst.global.b32 [%d3], %r6;",
        32,
        "line 11: reads shared memory at 0x0",
    ),
    (
        "shl.b32 %r6, %r2, 4; add.s32 %r6, %r6, %r5;\ncp.async.ca.shared.global [%r6], [%d1], 8;\ncp.async.wait_all;\nld.shared.v4.b32 {%r7, %r8, %r9, %r10}, [%r6];\nst.global.b32 [%d3], %r9;",
        32,
        "line 13: byte 0 of argument 0 depends on what was never written: line 12 reads memory",
    ),
    (
        "cp.async.ca.shared.global [%r4], [%d3], 4, %r9;",
        32,
        "line 9: how much is copied depends on what was never written",
    ),
    // matrices
    (
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r2, %r2, %r2, %r9}, {%r2, %r2}, {%f1, %f2, %f3, %f4};\nst.global.f32 [%d3], %f3;",
        32,
        "line 10: byte 0 of argument 0 depends on what was never written",
    ),
    (
        "mov.f32 %f1, 0f00000000; setp.ne.u32 %p1, %r2, 4;\n@%p1 mov.b32 %r9, 0;\nmma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f5, %f6, %f7, %f8}, {%r2, %r2, %r2, %r2}, {%r2, %r9}, {%f1, %f1, %f1, %f1};\nst.global.f32 [%d3], %f6;",
        32,
        "line 12: byte 0 of argument 0 depends on what was never written: register '%r9', which line 11 reads",
    ),
    (
        "shl.b32 %r6, %r2, 4; add.s32 %r6, %r6, %r5; setp.ne.u32 %p1, %r2, 3; mov.b32 %r7, 0;\n@%p1 st.shared.v4.b32 [%r6], {%r7, %r7, %r7, %r7};\nbar.sync 0;\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r8}, [%r6];\nst.global.b32 [%d3], %r8;",
        32,
        "line 13: byte 48 of argument 0 depends on what was never written: line 12 reads memory that was not written (block (0, 0, 0), thread (12, 0, 0))",
    ),
    // a thread's own memory
    (
        "mov.b32 %r6, own; st.local.b32 [%r6], %r2;\nld.local.b32 %r7, [%r6+4];\nst.global.b32 [%d3], %r7;",
        32,
        "line 11: byte 0 of argument 0 depends on what was never written: line 10 reads memory",
    ),
    (
        "mov.u64 %d8, own; cvta.local.u64 %d8, %d8; and.b32 %r6, %r2, 12; cvt.u64.u32 %d9, %r6; add.s64 %d9, %d8, %d9; st.b32 [%d9], %r2;\nld.b32 %r7, [%d8];\nst.global.b32 [%d3], %r7;",
        32,
        "line 11: byte 16 of argument 0 depends on what was never written: line 10 reads memory",
    ),
    // arithmetic with carry, packed halves, conversions
    (
        "add.cc.u32 %r6, %r2, %r9;\naddc.u32 %r7, %r2, 0;\nst.global.b32 [%d3], %r7;",
        32,
        "line 11: byte 0 of argument 0 depends on what was never written",
    ),
    (
        "mov.b32 %r6, {%h1, %h9};\nadd.f16x2 %r7, %r6, %r6;\nst.global.b32 [%d3], %r7;",
        32,
        "register '%h1', which line 9 reads",
    ),
    (
        "cvt.rn.f16x2.f32 %r6, %f9, 0f3F800000;\nst.global.b32 [%d3], %r6;",
        32,
        "line 10: byte 2 of argument 0 depends on what was never written: register '%f9', which line 9 reads",
    ),
    (
        "setp.lt.u32 %p1, %r2, 30; @%p1 mov.u32 %r6, 3;\nadd.cc.u32 %r7, %r6, -1;\naddc.u32 %r8, 0, 0;\nst.global.b32 [%d3], %r8;",
        32,
        "line 12: byte 120 of argument 0 depends on what was never written: register '%r6', which line 10 reads",
    ),
    // what lanes vote on, and what barriers and matches count
    (
        "setp.lt.u32 %p1, %r2, 30; @%p1 setp.eq.u32 %p2, %r2, 99;\nvote.sync.any.pred %p3, %p2, -1; selp.b32 %r6, 1, 2, %p3;\nst.global.b32 [%d3], %r6;",
        32,
        "line 11: byte 0 of argument 0 depends on what was never written: register '%p2', which line 10 reads, may not have been \
         written, in thread (30, 0, 0)",
    ),
    (
        "setp.lt.u32 %p1, %r2, 30; @%p1 setp.eq.u32 %p2, %r2, 3;\nbar.red.popc.u32 %r6, 0, %p2;\nst.global.b32 [%d3], %r6;",
        32,
        "line 10: what the barrier counts depends on what was never written: register '%p2'",
    ),
    (
        "setp.lt.u32 %p1, %r2, 30; @%p1 mov.u32 %r6, 3;\nmatch.any.sync.b32 %r7, %r6, -1;\nst.global.b32 [%d3], %r7;",
        32,
        "line 11: byte 0 of argument 0 depends on what was never written: register '%r6', which line 10 reads, may not have been \
         written, in thread (30, 0, 0)",
    ),
];

#[test]
fn planted_faults_are_reported_with_line_and_thread() {
    let mut wrong = vec![];
    for (body, threads, expected) in FAULTS {
        match Block::of(*threads).run(body) {
            Ok(_) => wrong.push(format!("{body}\n  runs, and should be {expected}")),
            Err(error) if error.contains(expected) && error.contains("thread") => {}
            Err(error) => wrong.push(format!("{body}\n  gives     {error}\n  should be {expected}")),
        }
    }
    assert!(wrong.is_empty(), "{} of {} are wrong:\n{}", wrong.len(), FAULTS.len(), wrong.join("\n"));
}

/// Bodies that read undefined data and discard it, or that only seem to read it.
const CORRECT: &[(&str, u32)] = &[
    // a masked load whose lanes are not stored
    (
        "setp.lt.u32 %p1, %r2, 20;\n@%p1 ld.global.b32 %r9, [%d3];\nadd.s32 %r9, %r9, 1;\n@%p1 st.global.b32 [%d3], %r9;",
        32,
    ),
    // a masked softmax: lanes outside are replaced before the maximum and the sum
    (
        "setp.lt.u32 %p1, %r2, 20;\n@%p1 ld.global.f32 %f1, [%d3];\nselp.f32 %f2, %f1, 0fFF800000, %p1;\nmov.b32 %r6, %f2;\nshfl.sync.bfly.b32 %r7, %r6, 16, 31, -1;\nmov.b32 %f3, %r7;\nmax.f32 %f4, %f2, %f3;\nsub.f32 %f5, %f1, %f4;\nex2.approx.f32 %f6, %f5;\nselp.f32 %f7, %f6, 0f00000000, %p1;\nmov.b32 %r8, %f7;\nshfl.sync.bfly.b32 %r9, %r8, 16, 31, -1;\nmov.b32 %f8, %r9;\nadd.f32 %f9, %f7, %f8;\ndiv.full.f32 %f10, %f6, %f9;\n@%p1 st.global.f32 [%d3], %f10;",
        32,
    ),
    // a tail of a product: rows beyond M are undefined, and are not stored
    (
        "shr.u32 %r6, %r2, 2; setp.lt.u32 %p1, %r6, 5; mov.f32 %f1, 0f00000000;\n@%p1 ld.global.b32 %r9, [%d3];\n@%p1 ld.global.b32 %r10, [%d3];\nmov.b32 %r11, 0;\nmma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f5, %f6, %f7, %f8}, {%r9, %r11, %r10, %r11}, {%r11, %r11}, {%f1, %f1, %f1, %f1};\n@%p1 st.global.f32 [%d3], %f5;",
        32,
    ),
    // columns beyond N
    (
        "shr.u32 %r6, %r2, 2; setp.lt.u32 %p1, %r6, 5; and.b32 %r7, %r2, 3; setp.lt.u32 %p2, %r7, 2; mov.f32 %f1, 0f00000000;\n@%p1 ld.global.b32 %r9, [%d3];\nmov.b32 %r11, 0;\nmma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f5, %f6, %f7, %f8}, {%r11, %r11, %r11, %r11}, {%r9, %r11}, {%f1, %f1, %f1, %f1};\n@%p2 st.global.f32 [%d3], %f5;",
        32,
    ),
    // undefined lanes go through shared memory and back, in another order, and are discarded
    (
        "setp.lt.u32 %p1, %r2, 20;\n@%p1 ld.global.b32 %r9, [%d3];\nst.shared.b32 [%r4], %r9;\nbar.sync 0;\nsub.s32 %r6, 31, %r2; shl.b32 %r7, %r6, 2; add.s32 %r7, %r7, %r5;\nld.shared.b32 %r8, [%r7];\nsetp.lt.u32 %p2, %r6, 20;\n@%p2 st.global.b32 [%d3], %r8;",
        32,
    ),
    // padded shared memory, of which vectors read the padding
    (
        "mad.lo.s32 %r6, %r2, 20, %r5; st.shared.b32 [%r6], %r2;\nbar.sync 0;\nmad.lo.s32 %r6, %r2, 20, %r5; and.b32 %r6, %r6, -16;\nld.shared.v4.b32 {%r7, %r8, %r9, %r10}, [%r6];\nand.b32 %r11, %r2, 3; setp.eq.u32 %p1, %r11, 0;\n@%p1 st.global.b32 [%d3], %r7;",
        32,
    ),
    // bits of an undefined word that are cut
    (
        "cvt.u16.u32 %h1, %r2;\nst.shared.b16 [%r4], %h1;\nld.shared.b32 %r6, [%r4];\nand.b32 %r6, %r6, 0xffff;\nst.global.b32 [%d3], %r6;",
        32,
    ),
    (
        "mov.b32 %r6, {%h9, %h9}; shl.b32 %r7, %r2, 16; and.b32 %r6, %r6, 0xffff; or.b32 %r7, %r6, %r7; shr.u32 %r7, %r7, 16;\nst.global.b32 [%d3], %r7;",
        32,
    ),
    ("prmt.b32 %r6, %r2, %r9, 0x3210;\nst.global.b32 [%d3], %r6;", 32),
    ("lop3.b32 %r6, %r9, %r2, 0, 0xcc;\nst.global.b32 [%d3], %r6;", 32),
    ("bfe.u32 %r6, %r9, 0, 0; add.s32 %r6, %r6, %r2;\nst.global.b32 [%d3], %r6;", 32),
    ("bfi.b32 %r6, %r2, %r9, 0, 32;\nst.global.b32 [%d3], %r6;", 32),
    ("mov.b64 %d9, {%r2, %r9}; cvt.u32.u64 %r6, %d9;\nst.global.b32 [%d3], %r6;", 32),
    ("shf.l.wrap.b32 %r6, %r9, %r2, 0;\nst.global.b32 [%d3], %r6;", 32),
    ("xor.b32 %r6, %r9, %r9;\nst.global.b32 [%d3], %r6;", 32),
    (
        "cvt.u8.u32 %r6, %r2; mov.b32 %r7, {%h9, %h9}; and.b32 %r7, %r7, 0xff00; or.b32 %r7, %r7, %r6; cvt.u32.u8 %r8, %r7;\nst.global.b32 [%d3], %r8;",
        32,
    ),
    // a branch that a defined condition decides alone
    (
        "setp.lt.u32 %p1, %r2, 20;\n@%p1 ld.global.b32 %r9, [%d3];\nsetp.eq.and.u32 %p2, %r9, 0, %p1;\n@%p2 bra $L1;\nst.global.b32 [%d3], %r2;\n$L1:",
        32,
    ),
    (
        "setp.lt.u32 %p1, %r2, 20;\n@%p1 ld.global.b32 %r9, [%d3];\nsetp.eq.u32 %p2, %r9, 0;\nand.pred %p3, %p1, %p2;\n@%p3 bra $L1;\nst.global.b32 [%d3], %r2;\n$L1:",
        32,
    ),
    (
        "setp.lt.u32 %p1, %r2, 20; not.pred %p4, %p1;\n@%p1 ld.global.b32 %r9, [%d3];\nsetp.eq.u32 %p2, %r9, 0;\nor.pred %p3, %p4, %p2;\n@%p3 bra $L1;\nst.global.b32 [%d3], %r2;\n$L1:",
        32,
    ),
    // numbers that differ in a defined bit are not equal
    (
        "cvt.u16.u32 %h1, %r2;\nst.shared.b16 [%r4], %h1;\nld.shared.b32 %r6, [%r4];\nadd.s32 %r7, %r2, 1; setp.eq.u32 %p1, %r6, %r7;\n@%p1 bra $L1;\nst.global.b32 [%d3], %r2;\n$L1:",
        32,
    ),
    // an index loaded under a mask, used under the same mask
    (
        "setp.lt.u32 %p1, %r2, 20;\n@%p1 ld.global.b32 %r9, [%d3];\nmul.wide.u32 %d9, %r9, 4; add.s64 %d9, %d9, %d1;\n@%p1 ld.global.b32 %r10, [%d9];\n@%p1 st.global.b32 [%d3], %r10;",
        32,
    ),
    // an accumulator that is written in the first turn
    (
        "mov.b32 %r6, 0;\n$L1:\nsetp.eq.u32 %p1, %r6, 0;\nselp.b32 %r9, 0, %r10, %p1;\nadd.s32 %r10, %r9, %r2;\nadd.s32 %r6, %r6, 1;\nsetp.lt.u32 %p2, %r6, 4;\n@%p2 bra $L1;\nst.global.b32 [%d3], %r10;",
        32,
    ),
    // written in both branches
    ("setp.lt.u32 %p1, %r2, 20;\n@%p1 mov.b32 %r9, 1;\n@!%p1 mov.b32 %r9, 2;\nst.global.b32 [%d3], %r9;", 32),
    (
        "setp.lt.u32 %p1, %r2, 20;\n@%p1 bra $L1;\nmov.b32 %r9, 1;\nbra $L2;\n$L1:\nmov.b32 %r9, 2;\n$L2:\nst.global.b32 [%d3], %r9;",
        32,
    ),
    // a shuffle whose undefined lanes are replaced
    (
        "setp.lt.u32 %p1, %r2, 16;\n@%p1 ld.global.b32 %r9, [%d3];\nshfl.sync.down.b32 %r6, %r9, 16, 31, -1;\nselp.b32 %r7, %r9, %r2, %p1;\n@%p1 st.global.b32 [%d3], %r7;",
        32,
    ),
    // a copy of nothing fills with zeros
    (
        "setp.lt.u32 %p1, %r2, 16; selp.b32 %r6, 4, 0, %p1;\ncp.async.ca.shared.global [%r4], [%d3], 4, %r6;\ncp.async.wait_all;\nbar.sync 0;\nld.shared.b32 %r7, [%r4];\nst.global.b32 [%d3], %r7;",
        32,
    ),
    // a thread's own memory
    (
        "mov.b32 %r6, own; st.local.v2.b32 [%r6], {%r2, %r3};\nld.local.v4.b32 {%r7, %r8, %r9, %r10}, [%r6];\nadd.s32 %r11, %r9, %r10;\nadd.s32 %r7, %r7, %r8;\nst.global.b32 [%d3], %r7;",
        32,
    ),
    // a packed pair of which one half is not used
    (
        "cvt.u16.u32 %h1, %r2; mov.b32 %r6, {%h1, %h9}; set.nan.f16x2.f16x2 %r8, %r6, %r6; or.b32 %r7, %r6, %r8; and.b32 %r7, %r7, 0xffff;\nst.global.b32 [%d3], %r7;",
        32,
    ),
    // a count of lanes that a defined lane decides
    (
        "setp.lt.u32 %p1, %r2, 20; setp.gt.u32 %p2, %r9, 3;\nor.pred %p3, %p1, %p2;\nvote.sync.any.pred %p4, %p3, -1;\n@%p4 bra $L1;\nst.global.b32 [%d3], %r2;\n$L1:",
        32,
    ),
];

#[test]
fn correct_kernels_raise_no_alarm() {
    let mut wrong = vec![];
    for (body, threads) in CORRECT {
        if let Err(error) = Block::of(*threads).run(body) {
            wrong.push(format!("{body}\n  gives {error}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} are wrong:\n{}", wrong.len(), CORRECT.len(), wrong.join("\n"));
}

/// Metadata of a sparse A are in the lanes that the selector names; those of the others are not read.
#[test]
fn metadata_of_other_lanes_may_be_undefined() {
    let product = |lanes: &str, k: u32, selector: u32, b: &str| {
        let zeros = if k == 32 { "%r7, %r7, %r7" } else { "%r7" };
        let body = format!(
            "and.b32 %r6, %r2, 3; setp.{lanes} %p1, %r6, 2; mov.b32 %r7, 0; mov.f32 %f1, 0f00000000;\n\
             @%p1 mov.b32 %r9, 0x44444444;\n\
             mma.sp::ordered_metadata.sync.aligned.m16n8k{k}.row.col.f32.f16.f16.f32 {{%f5, %f6, %f7, %f8}}, {{{zeros}, %r7}}, {{{zeros}, {b}}}, {{%f1, %f1, %f1, %f1}}, %r9, {selector};\n\
             st.global.f32 [%d3], %f5;"
        );
        Block { target: "sm_90a", ..Block::of(32) }.run(&body)
    };
    product("lt.u32", 32, 0, "%r7").expect("the first two of each four");
    product("ge.u32", 32, 1, "%r7").expect("the last two");
    product("eq.u32", 16, 2, "%r7").expect("the third");
    for (lanes, k, selector, lane) in [("lt.u32", 32, 1, 2), ("ge.u32", 32, 0, 0), ("ne.u32", 16, 2, 2)] {
        let error = product(lanes, k, selector, "%r7").expect_err(lanes);
        assert!(
            error.contains(
                "line 11: the metadata depends on what was never written: register '%r9', which line 11 reads"
            ) && error.contains(&format!("thread ({lane}, 0, 0)")),
            "{lanes} {k} {selector}: {error}"
        );
    }
    let error = product("lt.u32", 32, 0, "%r10").expect_err("an undefined B");
    assert!(error.contains("line 12: byte 0 of argument 0 depends on what was never written"), "{error}");
}

#[test]
fn a_tile_of_shared_memory_that_was_not_written_is_undefined_in_a_product() {
    // rows of A from 32 on were not written: they are warps 2's and 3's
    let product = |threads: u32| {
        format!(
            "mov.b32 %r6, 0; setp.lt.u32 %p1, %r2, 32; mad.lo.s32 %r7, %r2, 32, %r5;\n\
             @%p1 st.shared.v4.b32 [%r7], {{%r6, %r6, %r6, %r6}};\n@%p1 st.shared.v4.b32 [%r7+16], {{%r6, %r6, %r6, %r6}};\nbar.sync 0;\n\
             shr.u32 %r8, %r5, 4; cvt.u64.u32 %d5, %r8; or.b64 %d5, %d5, 0x0000001000080000; fence.proxy.async; wgmma.fence.sync.aligned;\n\
             wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%f1, %f2, %f3, %f4}}, %d5, %d5, 0, 1, 1, 0, 0; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n\
             setp.lt.u32 %p2, %r2, {threads};\n@%p2 st.global.f32 [%d3], %f1;"
        )
    };
    let block = Block { target: "sm_90a", ..Block::of(128) };
    block.run(&product(64)).expect("rows that were written");
    let error = block.run(&product(128)).expect_err("rows that were not");
    assert!(
        error.contains(
            "line 16: byte 256 of argument 0 depends on what was never written: line 14 reads memory"
        ) && error.contains("thread (64, 0, 0)"),
        "{error}"
    );
}
