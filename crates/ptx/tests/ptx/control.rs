//! Barriers, and lanes that go their own ways.

use crate::block::Block;

/// What each thread leaves.
fn threads(threads: u32, body: &str) -> Vec<u32> {
    let words = Block::of(threads).run(body).unwrap_or_else(|error| panic!("{body}\n{error}"));
    words[..threads as usize].to_vec()
}

#[test]
fn an_arrival_releases_those_that_wait() {
    // the first warp waits, the second one arrives later
    let consumer_first = "setp.ge.u32 %p1, %r2, 32;\n@%p1 bra $PRODUCE;\nbar.sync 1, 64;\nxor.b32 %r6, %r4, 128;\nld.shared.b32 %r7, [%r6];\nbra $END;\n\
        $PRODUCE:\nst.shared.b32 [%r4], %r2;\nbar.arrive 1, 64;\nmov.b32 %r7, %r2;\n$END:\nst.global.b32 [%d3], %r7;";
    let given = threads(64, consumer_first);
    assert_eq!(given, (32..64).chain(32..64).collect::<Vec<_>>());
    // a ring of one place: eight turns, full and empty
    let ring = "setp.ge.u32 %p1, %r2, 32; mov.b32 %r8, 0; mov.b32 %r9, 0;\n@%p1 bra $PRODUCE;\n\
        bar.arrive 2, 64;\n\
        $CONSUME:\nbar.sync 1, 64;\nxor.b32 %r6, %r4, 128;\nld.shared.b32 %r7, [%r6];\nadd.s32 %r9, %r9, %r7;\nadd.s32 %r8, %r8, 1;\n\
        bar.arrive 2, 64;\nsetp.lt.u32 %p2, %r8, 8;\n@%p2 bra $CONSUME;\nbra $END;\n\
        $PRODUCE:\nbar.sync 2, 64;\nmad.lo.s32 %r7, %r8, 100, %r2;\nst.shared.b32 [%r4], %r7;\nbar.arrive 1, 64;\nadd.s32 %r8, %r8, 1;\n\
        setp.lt.u32 %p2, %r8, 8;\n@%p2 bra $PRODUCE;\n$END:\nst.global.b32 [%d3], %r9;";
    let given = threads(64, ring);
    assert_eq!(given[..32], (32..64).map(|thread| 8 * thread + 2800).collect::<Vec<u32>>());
}

#[test]
fn a_barrier_does_not_wait_for_threads_that_have_ended() {
    let body = |leaves: &str| {
        format!(
            "{leaves}\n@%p1 ret;\nst.shared.b32 [%r4], %r2;\nbar.sync 0;\nxor.b32 %r6, %r4, 4;\nld.shared.b32 %r7, [%r6];\nst.global.b32 [%d3], %r7;"
        )
    };
    // whole warps, before and after the others wait
    let given = threads(96, &body("setp.lt.u32 %p1, %r2, 32;"));
    assert_eq!(given[32..], (32..96).map(|thread| thread ^ 1).collect::<Vec<u32>>());
    let given = threads(96, &body("setp.ge.u32 %p1, %r2, 64;"));
    assert_eq!(given[..64], (0..64).map(|thread| thread ^ 1).collect::<Vec<u32>>());
    // a part of a warp
    let given = threads(64, &body("setp.ge.u32 %p1, %r2, 40;"));
    assert_eq!(given[..40], (0..40).map(|thread| thread ^ 1).collect::<Vec<u32>>());
    // those that have ended are not counted
    let given = threads(
        64,
        "setp.lt.u32 %p1, %r2, 8;\n@%p1 ret;\nsetp.ge.u32 %p2, %r2, 8;\nbar.red.popc.u32 %r6, 0, %p2;\nst.global.b32 [%d3], %r6;",
    );
    assert_eq!(given[8..], [56; 56]);
}

#[test]
fn lanes_meet_at_barriers_of_the_warp_at_several_places() {
    // each half stores, waits in its own branch, and reads what the other one stored
    let body = "setp.lt.u32 %p1, %r2, 16; xor.b32 %r6, %r4, 64;\n@%p1 bra $LOW;\n\
        add.s32 %r7, %r2, 100;\nst.shared.b32 [%r4], %r7;\nbar.warp.sync -1;\nld.shared.b32 %r8, [%r6];\nbra $END;\n\
        $LOW:\nadd.s32 %r7, %r2, 200;\nst.shared.b32 [%r4], %r7;\nbar.warp.sync -1;\nld.shared.b32 %r8, [%r6];\n\
        $END:\nst.global.b32 [%d3], %r8;";
    let given = threads(32, body);
    assert_eq!(given, (116..132).chain(200..216).collect::<Vec<u32>>());
    // one half waits in its branch, the other one behind it
    let body = "setp.ge.u32 %p1, %r2, 16;\n@%p1 bra $END;\nbar.warp.sync -1;\n$END:\nbar.warp.sync 0xffff0000;\nst.global.b32 [%d3], %r2;";
    let error = Block::of(32).run(body).expect_err("lanes that the mask does not name");
    assert!(error.contains("does not name this lane"), "{error}");
    let body = "setp.ge.u32 %p1, %r2, 16;\n@%p1 bra $END;\nbar.warp.sync -1;\n$END:\n@%p1 bar.warp.sync -1;\nst.global.b32 [%d3], %r2;";
    assert_eq!(threads(32, body), (0..32).collect::<Vec<u32>>());
    let body = "setp.ge.u32 %p1, %r2, 16;\n@%p1 bra $ELSE;\nbar.warp.sync -1;\nst.global.b32 [%d3], %r2;\nret;\n\
        $ELSE:\nbar.warp.sync -1;\nst.global.b32 [%d3], %r2;";
    assert_eq!(threads(32, body), (0..32).collect::<Vec<u32>>());
}

#[test]
fn every_lane_can_take_a_lock() {
    // lock: word 0 of shared memory; a sum behind it, which only its holder changes
    let body = "setp.eq.u32 %p1, %r2, 0; mov.b32 %r6, 0;\n@%p1 st.shared.v2.b32 [%r5], {%r6, %r6};\nbar.sync 0;\n\
        $TRY:\natom.shared.acquire.cta.cas.b32 %r7, [%r5], 0, 1;\nsetp.ne.u32 %p2, %r7, 0;\n@%p2 bra $TRY;\n\
        ld.volatile.shared.b32 %r8, [%r5+4];\nadd.s32 %r8, %r8, %r2;\nst.volatile.shared.b32 [%r5+4], %r8;\n\
        atom.shared.release.cta.exch.b32 %r9, [%r5], 0;\nbar.sync 0;\nld.shared.b32 %r8, [%r5+4];\nst.global.b32 [%d3], %r8;";
    for count in [32u32, 64] {
        assert_eq!(threads(count, body), vec![count * (count - 1) / 2; count as usize]);
    }
    // a lock in a loop: each lane holds it three times
    let body = "setp.eq.u32 %p1, %r2, 0; mov.b32 %r6, 0; mov.b32 %r10, 0;\n@%p1 st.shared.v2.b32 [%r5], {%r6, %r6};\nbar.sync 0;\n\
        $TRY:\natom.shared.acquire.cta.cas.b32 %r7, [%r5], 0, 1;\nsetp.ne.u32 %p2, %r7, 0;\n@%p2 bra $TRY;\n\
        ld.volatile.shared.b32 %r8, [%r5+4];\nadd.s32 %r8, %r8, 1;\nst.volatile.shared.b32 [%r5+4], %r8;\n\
        atom.shared.release.cta.exch.b32 %r9, [%r5], 0;\nadd.s32 %r10, %r10, 1;\nsetp.lt.u32 %p3, %r10, 3;\n@%p3 bra $TRY;\n\
        shfl.sync.idx.b32 %r11, %r10, 0, 31, -1;\nbar.sync 0;\nld.shared.b32 %r8, [%r5+4];\nadd.s32 %r8, %r8, %r11;\nst.global.b32 [%d3], %r8;";
    assert_eq!(threads(32, body), vec![99; 32]);
}

#[test]
fn a_lane_waits_for_what_another_lane_of_its_warp_sets() {
    let body = "setp.eq.u32 %p1, %r2, 0; mov.b32 %r6, 0;\n@%p1 st.shared.b32 [%r5], %r6;\nbar.sync 0;\nsetp.eq.u32 %p1, %r2, 31;\n@%p1 bra $SET;\n\
        $WAIT:\nld.acquire.cta.shared.b32 %r7, [%r5];\nsetp.eq.u32 %p2, %r7, 0;\n@%p2 bra $WAIT;\nbra $END;\n\
        $SET:\nmov.b32 %r7, 5;\nst.release.cta.shared.b32 [%r5], %r7;\n$END:\nst.global.b32 [%d3], %r7;";
    assert_eq!(threads(32, body), vec![5; 32]);
}

#[test]
fn a_barrier_that_nobody_completes_is_said() {
    let cases = [
        ("bar.sync 1, 64;", 32, "up to 32, not for 64"),
        (
            "setp.lt.u32 %p1, %r2, 32;\n@%p1 bra $L1;\nbar.sync 1;\n$L1:\nbar.sync 2;",
            64,
            "line 13: the barrier is not reached by all threads: it waits for warp 1, which waits at line 11",
        ),
        (
            "setp.lt.u32 %p1, %r2, 32;\n@%p1 bra $L1;\nbar.sync 1, 64;\nret;\n$L1:\nbar.sync 1, 96;",
            96,
            "barrier 1 waits for 64 threads here, and for 96 where another warp reached it",
        ),
        (
            "setp.lt.u32 %p1, %r2, 16;\n@%p1 bra $L1;\nshfl.sync.idx.b32 %r6, %r2, 0, 31, -1;\n$L1:",
            32,
            "line 11: the mask 0xffffffff names lane 0, which is not here",
        ),
    ];
    for (body, threads, expected) in cases {
        let error = Block::of(threads).run(body).expect_err(body);
        assert!(error.contains(expected), "{body}\n  gives     {error}\n  should be {expected}");
    }
}
