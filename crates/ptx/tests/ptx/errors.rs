//! Broken kernels: each gives the message that says what is wrong, with its line and thread.

use bitmma_ptx::{Argument, Buffer, Error, Launch, Limits, Mode, Program, Report, Scalar};

/// The text of a kernel with a pointer and an integer, whose body starts on line 9.
fn text(body: &str) -> String {
    format!(
        ".version 8.4\n.target sm_80\n.address_size 64\n.extern .shared .align 16 .b8 dynamic[];\n\
         .visible .entry broken(.param .u64 .ptr .global .align 1 p, .param .u32 n)\n{{\n\
         .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<20>; .reg .b64 %d<20>;\n\
         ld.param.b64 %d1, [p]; ld.param.b32 %r1, [n]; mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mul.wide.u32 %d2, %r2, 4; add.s64 %d3, %d1, %d2; shl.b32 %r4, %r2, 2; mov.b32 %r5, dynamic; add.s32 %r4, %r4, %r5;\n\
         {body}\nret;\n}}\n"
    )
}

/// Runs a body with 256 bytes, in blocks of 64 threads.
fn run(body: &str, grid: u32) -> Result<(Vec<Buffer>, Report), Error> {
    run_with(&text(body), [grid, 1, 1], Some([64, 1, 1]), &[pointer(), integer(7)], |_| {})
}

fn pointer() -> Argument {
    Argument::Pointer { buffer: 0, offset: 0 }
}

fn integer(value: i128) -> Argument {
    Argument::Scalar(Scalar::Integer(value))
}

fn run_with(
    text: &str,
    grid: [u32; 3],
    block: Option<[u32; 3]>,
    arguments: &[Argument],
    change: impl Fn(&mut Launch<'_>),
) -> Result<(Vec<Buffer>, Report), Error> {
    let kernel = Program::parse(text)?.kernel(None, None, Mode::Gpu)?;
    let limits = Limits { turns: 10_000, threads: 1 };
    let mut launch = Launch { block, shared: Some(1024), limits, ..Launch::new(&kernel, grid) };
    change(&mut launch);
    let mut buffers = vec![Buffer { bytes: vec![0; 256], name: "argument 0".to_owned(), written: false }];
    let report = launch.run(arguments, &mut buffers, &mut || false)?;
    Ok((buffers, report))
}

#[test]
fn what_a_kernel_does_wrong_is_said_with_line_and_thread() {
    let cases = [
        (
            "st.global.b32 [%d3+4], %r2;",
            1,
            "line 9: writes 4 bytes at byte 256 of argument 0, which has 256 bytes (block (0, 0, 0), thread (63, 0, 0))",
        ),
        (
            "ld.global.b32 %r6, [%d3+-4]; st.global.b32 [%d3], %r6;",
            1,
            "line 9: reads 4 bytes 4 bytes before the start of argument 0 (block (0, 0, 0), thread (0, 0, 0))",
        ),
        (
            "st.global.b32 [%d3+2], %r2;",
            1,
            "writes 4 bytes at byte 2 of argument 0, which is not a multiple of 4",
        ),
        (
            "ld.global.v2.b32 {%r6, %r7}, [%d3]; st.global.b32 [%d3], %r6;",
            1,
            "reads 8 bytes at byte 4 of argument 0, which is not a multiple of 8 (block (0, 0, 0), thread (1, 0, 0))",
        ),
        ("mov.b64 %d4, 0; st.global.b32 [%d4], %r2;", 1, "writes address 0: the pointer is null"),
        ("mov.b64 %d4, 12345678901234; st.global.b32 [%d4], %r2;", 1, "which is in no buffer"),
        (
            "st.global.b32 [%d1], %r3;",
            2,
            "writes bytes 0 to 3 of argument 0, which block number 0 of the same launch writes too",
        ),
        ("ld.global.b32 %r6, [%d1]; add.s32 %r6, %r6, 1; st.global.b32 [%d1], %r6;", 2, "of the same launch"),
        (
            "st.shared.b32 [%r4], %r2; xor.b32 %r6, %r4, 128; ld.shared.b32 %r7, [%r6]; st.global.b32 [%d3], %r7;",
            1,
            "there is no barrier between them",
        ),
        (
            "setp.lt.u32 %p1, %r2, 32;\n@%p1 bra $L1;\nbar.sync 0, 64;\n$L1:",
            1,
            "line 11: the barrier is not reached by all threads: it waits for warp 0, which has ended",
        ),
        (
            "setp.lt.u32 %p1, %r2, 8;\n@%p1 bra $L1;\nbar.sync 0;\n$L1:\nst.global.b32 [%d3], %r2;",
            1,
            "line 11: the barrier is reached by 24 of the 32 threads of the warp, not by this one (block (0, 0, 0), thread (0, 0, 0))",
        ),
        (
            "add.s32 %r6, %r1, 41; bar.sync 0, %r6;",
            1,
            "a barrier waits for a multiple of 32 threads up to 64, not for 48",
        ),
        ("bar.sync 16;", 1, "there is no barrier 16: a block has 16"),
        (
            "$L1:\nadd.s32 %r6, %r2, 1;\nbra $L1;",
            1,
            "line 11: the loop has made more than 10000 turns; loop_limit raises this",
        ),
        (
            "st.shared.b32 [%r4+1000], %r2;",
            1,
            "writes 4 bytes at 0x400 of shared memory, which has 1024 bytes (block (0, 0, 0), thread (6, 0, 0))",
        ),
        ("st.shared.b32 [%r4+1], %r2;", 1, "of shared memory, which is not a multiple of 4"),
        (
            "st.global.b32 [%d3], %r9;",
            1,
            "line 9: byte 0 of argument 0 depends on what was never written: register '%r9', which line 9 reads, may not have been written",
        ),
        (
            "setp.lt.u32 %p1, %r2, %r1;\n@%p1 ld.global.b32 %r9, [%d3];\nst.global.b32 [%d3], %r9;",
            1,
            "line 11: byte 28 of argument 0 depends on what was never written: register '%r9'",
        ),
        (
            "ld.shared.b32 %r6, [%r4]; st.global.b32 [%d3], %r6;",
            1,
            "depends on what was never written: line 9 reads memory that was not written",
        ),
        (
            "cp.async.ca.shared.global [%r4], [%d3], 4;\ncp.async.commit_group;\nld.shared.b32 %r6, [%r4];",
            1,
            "line 11: reads shared memory at 0x0, which a cp.async writes that was not waited for",
        ),
        (
            "setp.lt.u32 %p1, %r2, 8;\n@%p1 shfl.sync.bfly.b32 %r6, %r2, 1, 31, -1;",
            1,
            "names lane 8, which is not here",
        ),
        ("trap;", 1, "the kernel stopped itself (trap)"),
        ("ld.param.b64 %d4, [n+8];", 1, "of the parameters, which have 12"),
    ];
    for (body, grid, expected) in cases {
        let error = run(body, grid).expect_err(body).to_string();
        assert!(error.contains(expected), "{body}\n  gives     {error}\n  should be {expected}");
    }
}

#[test]
fn a_warpgroup_multiplies_together() {
    let wgmma = "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r6, %r7, %r8, %r9}, %d5, %d5, 0, 1, 1, 0, 0; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;";
    let cases = [
        (128, "", "depends on what was never written: line 9 reads memory that was not written"),
        (
            64,
            "",
            "line 9: the last warps of the block are no warpgroup of four (block (0, 0, 0), thread (0, 0, 0))",
        ),
        (
            128,
            "setp.lt.u32 %p1, %r2, 32; @%p1 bra $L1;",
            "line 9: wgmma is not reached by all warps of the warpgroup: it waits for warp 0, which has ended",
        ),
        (
            128,
            "setp.lt.u32 %p1, %r2, 8; @%p1 bra $L1;",
            "an instruction of the whole warp is reached by a part of it",
        ),
    ];
    for (threads, before, expected) in cases {
        let body = format!("mov.b64 %d5, 0; {before} {wgmma} $L1:\nst.global.b32 [%d1], %r6;");
        let text = text(&body).replace("sm_80", "sm_90a");
        let error = run_with(&text, [1; 3], Some([threads, 1, 1]), &[pointer(), integer(7)], |_| {});
        let error = error.expect_err(&text).to_string();
        assert!(error.contains(expected), "{before}\n  gives     {error}\n  should be {expected}");
    }
}

#[test]
fn what_is_not_supported_is_refused_by_name_with_its_line() {
    let cases = [
        ("tanh.approx.f32 %r6, %r2;", "line 9: 'tanh.approx.f32' is not supported"),
        ("ex2.approx.ftz.f16x2 %r6, %r2;", "line 9: 'ex2.approx.ftz.f16x2' is not supported"),
        ("\ntcgen05.wait::ld.sync.aligned;", "line 10: 'tcgen05.wait::ld.sync.aligned' is not supported"),
        // newer than sm_80
        (
            "cp.async.bulk.commit_group;",
            "line 9: 'cp.async.bulk.commit_group' is not supported: it needs sm_90 or later",
        ),
        (
            "mbarrier.try_wait.shared::cta.b64 %p1, [%r4], %d1;",
            "line 9: 'mbarrier.try_wait.shared::cta.b64' is not supported: it needs sm_90 or later",
        ),
        ("frobnicate.f32 %r6, %r2;", "line 9: 'frobnicate.f32' is not supported"),
        (
            "add.rn.upward.f32 %r6, %r2, %r3;",
            "line 9: 'add.rn.upward.f32' is not supported: '.upward' is not known here",
        ),
        ("mov.u32 %r6, %aggr_smem_size;", "line 9: '%aggr_smem_size' is not supported"),
        ("add.s32 %r6, %d1, %r2;", "line 9: 'add.s32' takes a register of 32 bits, not '%d1' (64 bits)"),
        ("add.s32 %r6, %r99, %r2;", "line 9: register '%r99' is not declared"),
        ("add.s32 %r6, %r2;", "line 9: 'add.s32' takes 3 operands, not 2"),
        ("bra $nowhere;", "line 9: there is no label '$nowhere'"),
        ("add.s32 %r6, %r2, 1", "expected ',' or ';'"),
        ("mov.b64 %d5, {{{{{{{{{{{{", "line 9: operands of 'mov.b64' are nested more than 8 deep"),
    ];
    for (body, expected) in cases {
        let error = run(body, 1).expect_err(body).to_string();
        assert!(error.contains(expected), "{body}\n  gives     {error}\n  should be {expected}");
    }
}

#[test]
fn a_launch_that_does_not_fit_is_refused() {
    let text = text("st.global.b32 [%d3], %r1;");
    let good = [pointer(), integer(7)];
    let block = Some([64, 1, 1]);
    let message = |grid, block, arguments: &[Argument]| {
        run_with(&text, grid, block, arguments, |_| {}).expect_err("refused").to_string()
    };
    assert!(message([0, 1, 1], block, &good).contains("a grid of (0, 1, 1) blocks cannot run"));
    assert!(message([1, 70000, 1], block, &good).contains("y and z 1 to 65535"));
    assert!(message([1, 1, 1], None, &good).contains("has no .reqntid"));
    assert!(message([1, 1, 1], Some([2048, 1, 1]), &good).contains("it must have 1 to 1024"));
    assert!(message([1, 1, 1], block, &good[..1]).contains("takes 2 arguments, not 1: p, n"));
    let swapped = [integer(7), pointer()];
    assert!(
        message([1, 1, 1], block, &swapped)
            .contains("argument 0 is the number 7, but parameter 'p' is a pointer")
    );
    let array = [pointer(), pointer()];
    assert!(
        message([1, 1, 1], block, &array)
            .contains("argument 1 is an array, but parameter 'n' is of type u32")
    );
    let float = [pointer(), Argument::Scalar(Scalar::Float(0.5))];
    assert!(message([1, 1, 1], block, &float).contains("argument 1 is the number 0.5"));
    let large = [pointer(), integer(1 << 40)];
    assert!(message([1, 1, 1], block, &large).contains("holds -2147483648 to 4294967295"));
    let shared = run_with(&text, [1, 1, 1], block, &good, |launch| launch.shared = Some(1 << 20));
    assert!(shared.expect_err("too much").to_string().contains("shared memory; sm_80 has"));
    let required = text.replace("n)\n{", "n)\n.reqntid 64\n{");
    let other = run_with(&required, [1, 1, 1], Some([32, 1, 1]), &good, |_| {});
    assert!(
        other
            .expect_err("another block")
            .to_string()
            .contains("requires blocks of (64, 1, 1) threads, not (32, 1, 1)")
    );
    let (buffers, _) = run_with(&text, [1, 1, 1], block, &good, |_| {}).expect("good");
    assert!(buffers[0].bytes.chunks(4).all(|word| word == [7, 0, 0, 0]) && buffers[0].written);
}

#[test]
fn a_stop_ends_an_endless_loop() {
    let text = text("$L1:\nadd.s32 %r6, %r2, 1;\nbra $L1;");
    let kernel = Program::parse(&text).expect("text").kernel(None, None, Mode::Gpu).expect("kernel");
    let limits = Limits { turns: u64::MAX, threads: 1 };
    let launch = Launch { block: Some([32, 1, 1]), limits, ..Launch::new(&kernel, [1, 1, 1]) };
    let mut buffers = vec![Buffer { bytes: vec![0; 256], ..Buffer::default() }];
    let error = launch.run(&[pointer(), integer(1)], &mut buffers, &mut || true).expect_err("stopped");
    assert!(matches!(error, Error::Stopped));
}

#[test]
fn warps_may_write_one_value_to_one_place() {
    run("mov.b32 %r6, 5; st.shared.b32 [%r5], %r6; bar.sync 0; ld.shared.b32 %r7, [%r5]; st.global.b32 [%d3], %r7;", 1)
        .expect("no conflict");
    // the last lane's stays, which is that of both warps
    let body = "and.b32 %r6, %r2, 31; st.shared.b32 [%r5], %r6; bar.sync 0; ld.shared.b32 %r7, [%r5]; st.global.b32 [%d3], %r7;";
    let (buffers, _) = run(body, 1).expect("no conflict");
    assert!(buffers[0].bytes.chunks(4).all(|word| word == 31u32.to_le_bytes()));
    let error = run("st.shared.b32 [%r5], %r2;", 1).expect_err("warps write 31 and 63");
    assert!(error.to_string().contains("there is no barrier between them"), "{error}");
}

#[test]
fn lanes_that_part_join_again() {
    // lanes below n take another way, in a loop of as many turns as their number says
    let body = "mov.b32 %r6, 0;\nsetp.ge.u32 %p1, %r2, %r1;\n@%p1 bra $L2;\n$L1:\nsetp.ge.u32 %p2, %r6, %r2;\n\
                @%p2 bra $L3;\nadd.s32 %r6, %r6, 1;\nbra.uni $L1;\n$L2:\nmov.b32 %r6, 100;\n$L3:\nactivemask.b32 %r8;\n\
                popc.b32 %r8, %r8;\nadd.s32 %r6, %r6, %r8;\nst.global.b32 [%d3], %r6;";
    let (buffers, _) = run(body, 1).expect("runs");
    for (thread, word) in buffers[0].bytes.chunks(4).enumerate() {
        let expected = if thread < 7 { thread + 32 } else { 132 };
        assert_eq!(word, (expected as u32).to_le_bytes(), "thread {thread}");
    }
}

#[test]
fn blocks_may_agree_by_atomic_operations() {
    // each block counts itself; the last one sums what the others left
    let body = "mul.wide.u32 %d4, %r3, 4; add.s64 %d4, %d1, %d4; setp.ne.u32 %p1, %r2, 0;\n@%p1 bra $L;\n\
                add.s32 %r6, %r3, 10; st.global.b32 [%d4+4], %r6;\natom.global.gpu.acq_rel.add.u32 %r7, [%d1], 1;\n\
                setp.ne.u32 %p2, %r7, 3;\n@%p2 bra $L;\nld.global.v2.b32 {%r8, %r9}, [%d1+8]; ld.global.b32 %r10, [%d1+4];\n\
                ld.global.b32 %r11, [%d1+16];\nadd.s32 %r8, %r8, %r9; add.s32 %r8, %r8, %r10; add.s32 %r8, %r8, %r11;\n\
                st.global.b32 [%d1+32], %r8;\n$L:";
    let (buffers, _) = run(body, 4).expect("runs");
    assert_eq!(buffers[0].bytes[32], 10 + 11 + 12 + 13);
}

#[test]
fn accumulators_that_are_copies_of_each_other_are_read_to_an_end() {
    let text = ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry one(.param .u64 x)\n.reqntid 128\n{\n\
        .reg .b32 %r<9>; .reg .b64 %d<9>; ld.param.b64 %d1, [x]; cvt.u32.u64 %r1, %d1; mov.b32 %r5, %r1; mov.b32 %r2, %r1;\n\
        mul.f32 %r6, %r1, %r1; add.f32 %r7, %r6, %r1; st.global.b32 [%d1+512], %r7;\n\
        wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r1, %r2, %r3, %r5}, %d1, %d1, 1, 1, 1, 0, 0;\n\
        st.global.b32 [%d1], %r5; ret;\n}\n";
    let program = Program::parse(text).expect("a text");
    program.kernel(None, None, Mode::Gpu).expect("ends");
}
