//! Fences and waits of `wgmma`: kernels that have all they need run, and each that lacks one is an error that names it.

use bitmma_ptx::{Argument, Buffer, Launch, Limits, Mode, Program};

/// The first accumulator of each of 128 threads, `%f0`, after a body, which starts on line 9.
///
/// `%r1` is the thread, `%p1` holds in the first one, `%p2` in its warp, `%r9` are two halves 1. `%r10` is the address of the
/// thread's 16 bytes of shared memory s, `%d2` of its bytes of x, all halves 1; `%d5` describes s as A and as B; `%r30` are metadata of
/// a sparse A; m is an object for one arrival.
fn accumulators(body: &str) -> Result<Vec<f32>, String> {
    let text = format!(
        ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry one(.param .u64 x)\n.reqntid 128\n{{\n\
         .reg .pred %p<9>; .reg .b32 %r<40>; .reg .f32 %f<12>; .reg .b64 %d<9>; .shared .align 1024 .b8 s[2048]; .shared .align 8 .b8 m[8];\n\
         ld.param.b64 %d1, [x]; mov.u32 %r1, %tid.x; mad.wide.u32 %d2, %r1, 16, %d1; mov.u32 %r3, s; mad.lo.u32 %r10, %r1, 16, %r3; \
         mov.u32 %r9, 0x3c003c00; setp.eq.u32 %p1, %r1, 0; setp.lt.u32 %p2, %r1, 32; shr.u32 %r3, %r3, 4; cvt.u64.u32 %d5, %r3; \
         or.b64 %d5, %d5, 0x0000001000080000; mov.b32 %r30, 0x44444444; @%p1 mbarrier.init.shared::cta.b64 [m], 1; bar.sync 0;\n\
         {body}\nst.global.f32 [%d2], %f0;\nret;\n}}\n"
    );
    let program = Program::parse(&text).map_err(|error| error.to_string())?;
    let kernel = program.kernel(None, None, Mode::Text).map_err(|error| error.to_string())?;
    let bytes = [0x00, 0x3c].repeat(1024);
    let mut buffers = [Buffer { bytes, name: "x".to_owned(), written: false }];
    let launch = Launch { limits: Limits { threads: 1, turns: 1000 }, ..Launch::new(&kernel, [1; 3]) };
    let arguments = [Argument::Pointer { buffer: 0, offset: 0 }];
    launch.run(&arguments, &mut buffers, &mut || false).map_err(|error| error.to_string())?;
    let words = buffers[0].bytes.as_chunks::<4>().0.iter().step_by(4);
    Ok(words.map(|word| f32::from_le_bytes(*word)).collect())
}

const FILL: &str = "st.shared.v4.b32 [%r10], {%r9, %r9, %r9, %r9};\n";
const PROXY: &str = "fence.proxy.async.shared::cta;\n";
const BARRIER: &str = "bar.sync 0;\n";
const FENCE: &str = "wgmma.fence.sync.aligned;\n";
const COMMIT: &str = "wgmma.commit_group.sync.aligned;\n";
const WAIT: &str = "wgmma.wait_group.sync.aligned 0;\n";
/// Starts from zeros; sums of 16 ones.
const MULTIPLY: &str =
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %d5, %d5, 0, 1, 1, 0, 0;\n";
/// The same to other accumulators.
const OTHER: &str =
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f4, %f5, %f6, %f7}, %d5, %d5, 0, 1, 1, 0, 0;\n";
/// Adds to the first.
const ADD: &str =
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %d5, %d5, 1, 1, 1, 0, 0;\n";
/// The same with A from registers.
const FRAGMENT: &str = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, {%r20, %r21, %r22, %r23}, %d5, 0, 1, 1, 0;\n";
/// A product with a sparse A, which starts from zeros; sums of 16 ones.
const SPARSE: &str = "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%f0, %f1, %f2, %f3}, %d5, %d5, %r30, 0, 0, 1, 1, 0, 0;\n";
/// Adds to the first.
const SPARSE_ADD: &str = "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%f0, %f1, %f2, %f3}, %d5, %d5, %r30, 0, 1, 1, 1, 0, 0;\n";
/// Sums of 16 ones as halves, in the registers of the fragment of A.
const HALVES: &str =
    "wgmma.mma_async.sync.aligned.m64n16k16.f16.f16.f16 {%r20, %r21, %r22, %r23}, %d5, %d5, 0, 1, 1, 0, 0;\n";
const WAIT_FOR_ALL_BUT_ONE: &str = "wgmma.wait_group.sync.aligned 1;\n";
const MOVES: &str = "mov.b32 %r20, %r24; mov.b32 %r21, %r24; mov.b32 %r22, %r24; mov.b32 %r23, %r24;\n";
/// Thread 0 copies x to s.
const LOAD: &str = "@!%p1 bra L; mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 2048;\n\
    cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [%d1], 2048, [m];\nL:\n";
const LOADED: &str = "W: mbarrier.try_wait.parity.shared::cta.b64 %p3, [m], 0; @!%p3 bra W;\n";

#[test]
fn kernels_with_all_fences_run() {
    let filled = [FILL, PROXY, BARRIER, FENCE];
    for (name, parts, expected) in [
        ("each writer fences before the barrier", [&filled[..], &[MULTIPLY]].concat(), 16.),
        ("all fence after the barrier", vec![FILL, BARRIER, PROXY, FENCE, MULTIPLY], 16.),
        ("one thread fences for all", vec![FILL, BARRIER, "@%p1 ", PROXY, BARRIER, FENCE, MULTIPLY], 16.),
        ("a bulk copy needs no fence", vec![LOAD, LOADED, FENCE, MULTIPLY], 16.),
        (
            "as CUTLASS has it, cp.async needs none",
            vec!["cp.async.cg.shared.global [%r10], [%d2], 16; cp.async.wait_all;", BARRIER, FENCE, MULTIPLY],
            16.,
        ),
        ("a fence for all state spaces", vec![FILL, "fence.proxy.async;\n", BARRIER, FENCE, MULTIPLY], 16.),
        (
            "a fence for what other blocks of the cluster write too",
            vec![FILL, "fence.proxy.async.shared::cluster;\n", BARRIER, FENCE, MULTIPLY],
            16.,
        ),
        (
            "a fence from threads to copies alone",
            vec![
                FILL,
                "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;\n",
                BARRIER,
                FENCE,
                MULTIPLY,
            ],
            16.,
        ),
        (
            "a chain on the same accumulators",
            [
                &filled[..],
                &[MULTIPLY, "mov.u32 %r4, 0;\nT:\n", ADD, COMMIT],
                &["add.u32 %r4, %r4, 1; setp.lt.u32 %p4, %r4, 3; @%p4 bra T;"],
            ]
            .concat(),
            64.,
        ),
        (
            "a fragment of A that moves fill after the fence",
            vec![FILL, PROXY, BARRIER, "or.b32 %r24, %r9, 0;", FENCE, MOVES, FRAGMENT],
            16.,
        ),
        (
            "sums changed between two products",
            [&filled[..], &[MULTIPLY, COMMIT, WAIT, "add.f32 %f0, %f0, 0f3f800000;", FENCE, ADD]].concat(),
            33.,
        ),
        (
            "the first of two groups is used",
            [
                &filled[..],
                &[MULTIPLY, COMMIT, OTHER, COMMIT, "wgmma.wait_group.sync.aligned 1;"],
                &["add.f32 %f0, %f0, 0f3f800000;"],
            ]
            .concat(),
            17.,
        ),
        ("a sparse product", [&filled[..], &[SPARSE, COMMIT, SPARSE_ADD]].concat(), 32.),
        (
            "a dense product is used while a sparse one flies",
            [&filled[..], &[OTHER, COMMIT, SPARSE, COMMIT, WAIT_FOR_ALL_BUT_ONE, "add.f32 %f4, %f4, %f4;"]]
                .concat(),
            16.,
        ),
        (
            "a sparse product is used while a dense one flies",
            [&filled[..], &[SPARSE, COMMIT, OTHER, COMMIT, WAIT_FOR_ALL_BUT_ONE, "add.f32 %f0, %f0, %f0;"]]
                .concat(),
            32.,
        ),
        (
            "sums of a dense product are changed before a sparse one to other registers",
            [&filled[..], &[OTHER, COMMIT, WAIT, "add.f32 %f4, %f4, %f4;", SPARSE]].concat(),
            16.,
        ),
        (
            "sums of halves are the next fragment of A",
            [&filled[..], &[HALVES, COMMIT, WAIT, FENCE, FRAGMENT]].concat(),
            256.,
        ),
        (
            "a loop whose products have the sums of others as A",
            [
                &[FILL, PROXY, BARRIER, "mov.u32 %r4, 0;\nT:\n"],
                &[FENCE, HALVES, COMMIT, WAIT, FENCE, FRAGMENT, COMMIT, WAIT][..],
                &["add.u32 %r4, %r4, 1; setp.lt.u32 %p4, %r4, 3; @%p4 bra T;"],
            ]
            .concat(),
            256.,
        ),
        (
            "shared memory is filled again after the wait",
            [&filled[..], &[MULTIPLY, COMMIT, WAIT, BARRIER, "st.shared.u32 [%r10], 0;"]].concat(),
            16.,
        ),
    ] {
        let body = [parts, vec![COMMIT, WAIT]].concat().concat();
        let given = accumulators(&body).unwrap_or_else(|error| panic!("{name}: {error}\n{body}"));
        assert_eq!(given, [expected; 128], "{name}");
    }
}

#[test]
fn a_missing_fence_or_wait_is_an_error() {
    let unfenced = "shared memory at 0x0, which warp 0 wrote: there is no fence.proxy.async between them";
    let register = "wgmma.fence is missing before this wgmma: its accumulators were accessed";
    let in_flight = "accesses accumulators of a wgmma that was not waited for: wgmma.wait_group is missing";
    let still_read = "which a matrix product reads that was not waited for";
    let filled = [FILL, PROXY, BARRIER, FENCE];
    let flies = [&filled[..], &[MULTIPLY, COMMIT]].concat();
    let after = |rest: &[&'static str]| [&flies[..], rest].concat();
    for (name, parts, line, expected) in [
        ("stores, and no fence", vec![FILL, BARRIER, FENCE, MULTIPLY], 12, unfenced),
        (
            "a matrix is stored after the fence",
            vec![
                FILL,
                PROXY,
                "@%p2 stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r10], {%r9};\n",
                BARRIER,
                FENCE,
                MULTIPLY,
            ],
            14,
            unfenced,
        ),
        (
            "an atomic operation after the fence",
            vec![FILL, PROXY, BARRIER, "@%p1 red.shared.add.u32 [%r10], 0;\n", BARRIER, FENCE, MULTIPLY],
            15,
            unfenced,
        ),
        (
            "another warp's fence before the barrier",
            vec![FILL, "@!%p2 ", PROXY, BARRIER, FENCE, MULTIPLY],
            13,
            unfenced,
        ),
        (
            "a second buffer is filled without a fence",
            [&flies[..], &[WAIT, BARRIER, FILL, BARRIER, FENCE, MULTIPLY]].concat(),
            20,
            unfenced,
        ),
        (
            "a fence of global memory alone",
            vec![FILL, "fence.proxy.async.global;\n", BARRIER, FENCE, MULTIPLY],
            13,
            unfenced,
        ),
        ("no wgmma.fence", vec![FILL, PROXY, BARRIER, MULTIPLY], 12, register),
        ("a hint is no fence", vec![FILL, PROXY, BARRIER, "nanosleep.u32 1;\n", MULTIPLY], 13, register),
        (
            "sums are changed after the fence",
            vec![
                "mov.b32 %f0, 0; mov.b32 %f1, 0; mov.b32 %f2, 0; mov.b32 %f3, 0;\n",
                FILL,
                PROXY,
                BARRIER,
                FENCE,
                "add.f32 %f1, %f1, 0f3f800000;\n",
                ADD,
            ],
            15,
            register,
        ),
        (
            "sums are read, and no second fence",
            after(&[WAIT, "st.global.f32 [%d2], %f3;\n", ADD]),
            17,
            register,
        ),
        (
            "a fragment of A is computed after the fence",
            vec![
                "or.b32 %r24, %r9, 0;\n",
                MOVES,
                FILL,
                PROXY,
                BARRIER,
                FENCE,
                "or.b32 %r22, %r9, 0;\n",
                FRAGMENT,
            ],
            16,
            "multiplies a fragment of A that line 15 writes: wgmma.fence is missing between them",
        ),
        ("no wgmma.fence before a sparse product", vec![FILL, PROXY, BARRIER, SPARSE], 12, register),
        (
            "sums of a sparse product are changed, and no second fence",
            [&filled[..], &[SPARSE, COMMIT, WAIT, "add.f32 %f0, %f0, %f0;\n", SPARSE_ADD]].concat(),
            17,
            register,
        ),
        (
            "sums of a sparse product are read before the wait",
            [&filled[..], &[SPARSE, COMMIT, "st.global.f32 [%d2], %f3;\n", WAIT]].concat(),
            15,
            in_flight,
        ),
        ("a sparse product is not waited for", [&filled[..], &[SPARSE, COMMIT]].concat(), 16, in_flight),
        (
            "sums of halves are the next fragment of A before the wait",
            [&filled[..], &[HALVES, COMMIT, FENCE, FRAGMENT]].concat(),
            16,
            in_flight,
        ),
        (
            "a fragment of A is added to, and no second fence",
            [&filled[..], &[HALVES, COMMIT, WAIT, FENCE, FRAGMENT, HALVES]].concat(),
            18,
            register,
        ),
        ("sums are read before the wait", after(&["st.global.f32 [%d2], %f3;\n", WAIT]), 15, in_flight),
        ("sums are written before the wait", after(&["add.f32 %f2, %f5, %f5;\n", WAIT]), 15, in_flight),
        (
            "the wait leaves the group",
            after(&["wgmma.wait_group.sync.aligned 1;\n", "add.f32 %f0, %f0, %f0;\n"]),
            16,
            in_flight,
        ),
        ("the group is not committed", [&filled[..], &[MULTIPLY, WAIT]].concat(), 16, in_flight),
        ("another thread fills shared memory too early", after(&[FILL, WAIT]), 15, still_read),
        ("a copy fills shared memory too early", after(&[LOAD, WAIT]), 16, still_read),
    ] {
        // another value than the one that is there
        let fills = |at: usize, part: &str| match part {
            FILL if at > 4 => part.replace("{%r9,", "{%r1,"),
            _ => part.to_owned(),
        };
        let body: String = parts.iter().enumerate().map(|(at, part)| fills(at, part)).collect();
        let error = accumulators(&body).expect_err(name);
        let line = format!("line {line}: ");
        assert!(
            error.contains(&line) && error.contains(expected) && error.contains("thread ("),
            "{name}: {error}\n{body}"
        );
    }
}
