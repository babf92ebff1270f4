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

/// As nvcc writes an early return: a branch to the `ret` that ends the kernel.
#[test]
fn lanes_that_branch_to_the_end_have_ended() {
    let leave = |when: &str, body: &str| {
        let body = format!("{when}\n@%p1 bra $DONE;\n{body}\nst.global.b32 [%d3], %r7;\n$DONE:\nret;");
        threads(64, &body)
    };
    let shared = "st.shared.b32 [%r4], %r2;\nbar.sync 0;\nxor.b32 %r6, %r4, 4;\nld.shared.b32 %r7, [%r6];";
    let given = leave("setp.ge.u32 %p1, %r2, 40;", shared);
    assert_eq!(given[..40], (0..40).map(|thread| thread ^ 1).collect::<Vec<u32>>());
    assert_eq!(given[40..], [0; 24]);
    let given = leave("setp.lt.u32 %p1, %r2, 8;", &shared.replace("bar.sync", "barrier.sync"));
    assert_eq!(given[8..], (8..64).map(|thread| thread ^ 1).collect::<Vec<u32>>());
    // the last sixteen lanes of a warp
    let upper = "and.b32 %r8, %r2, 31; setp.ge.u32 %p1, %r8, 16;";
    let masks = [
        "redux.sync.add.u32 %r7, 0xfff, -1;",
        "setp.lt.u32 %p2, %r2, 99; vote.sync.ballot.b32 %r7, %p2, -1;",
        "match.any.sync.b32 %r7, 5, -1;",
        "xor.b32 %r9, %r2, 1; shfl.sync.idx.b32 %r9, %r9, %r8, 31, -1; setp.ne.u32 %p2, %r9, 99; vote.sync.ballot.b32 %r7, %p2, -1;",
        // two guards, one in the other
        "setp.ge.u32 %p1, %r8, 20;\n@%p1 bra $DONE;\nsetp.lt.u32 %p2, %r2, 99; vote.sync.ballot.b32 %r7, %p2, -1;",
        // a way to the end over another branch
        "setp.ge.u32 %p1, %r8, 16;\n@%p1 bra $OUT;\nsetp.lt.u32 %p2, %r2, 99; vote.sync.ballot.b32 %r7, %p2, -1; bra $ON;\n\
         $OUT:\nmov.b32 %r7, 3;\nbra $DONE;\n$ON:",
    ];
    for body in masks {
        let expected = if body.starts_with("redux") { 16 * 0xfff } else { 0xffff };
        let given = leave(upper, body);
        for warp in given.chunks(32) {
            assert_eq!((&warp[..16], &warp[16..]), (&[expected; 16][..], &[0; 16][..]), "{body}");
        }
    }
    // lanes leave a loop one by one, by a branch to the end: those that are left vote
    let body = "mov.b32 %r8, 0; mov.b32 %r7, 0;\n$LOOP:\nsetp.eq.u32 %p1, %r8, %r2;\n@%p1 bra $DONE;\n\
        setp.lt.u32 %p2, %r2, 99; vote.sync.ballot.b32 %r7, %p2, -1;\nst.global.b32 [%d3], %r7;\nadd.u32 %r8, %r8, 1;\nbra $LOOP;\n$DONE:\nret;";
    let given = threads(32, body);
    let expected: Vec<u32> = (0..32).map(|lane: u32| if lane == 0 { 0 } else { u32::MAX << lane }).collect();
    assert_eq!(given, expected);
}

/// Some lanes return from within a branch, so that those that are left come to what follows one part after the other.
#[test]
fn lanes_that_return_from_a_branch_do_not_part_the_others() {
    let body = "and.b32 %r8, %r2, 31; and.b32 %r9, %r2, 1; setp.eq.u32 %p1, %r9, 0;\n@%p1 bra $EVEN;\n\
        setp.eq.u32 %p2, %r8, 5;\n@%p2 bra $DONE;\n$EVEN:\n\
        setp.ge.u32 %p3, %r8, 16;\n@%p3 bra $SKIP;\nsetp.lt.u32 %p4, %r2, 99; vote.sync.ballot.b32 %r7, %p4, 0xffff;\n\
        st.global.b32 [%d3], %r7;\n$SKIP:\nst.shared.b32 [%r4], %r2;\nbar.sync 0;\n$DONE:\nret;";
    let given = threads(64, body);
    for warp in given.chunks(32) {
        let expected: Vec<u32> =
            (0..32).map(|lane| if lane == 5 || lane >= 16 { 0 } else { 0xffdf }).collect();
        assert_eq!(warp, expected);
    }
}

#[test]
fn threads_come_to_a_barrier_that_is_not_aligned_from_several_places() {
    let read = "xor.b32 %r6, %r4, 192;\nld.shared.b32 %r7, [%r6];\nst.global.b32 [%d3], %r7;";
    let parted = [
        format!(
            "setp.lt.u32 %p1, %r2, 16;\n@%p1 bra $LOW;\nst.shared.b32 [%r4], %r2;\nbarrier.sync 0;\nbra $READ;\n\
             $LOW:\nst.shared.b32 [%r4], %r2;\nbarrier.sync 0;\n$READ:\n{read}"
        ),
        // under a guard: the other lanes come to another one
        format!(
            "st.shared.b32 [%r4], %r2;\nsetp.lt.u32 %p1, %r2, 7;\n@%p1 barrier.sync 0, 64;\n@!%p1 barrier.sync 0, 64;\n{read}"
        ),
        // in a loop that lanes leave one after the other
        format!(
            "mov.b32 %r8, 0;\nst.shared.b32 [%r4], %r2;\n$LOOP:\nadd.u32 %r8, %r8, 1;\nsetp.le.u32 %p1, %r8, %r2;\n@%p1 bra $LOOP;\nbarrier.sync 0;\n{read}"
        ),
    ];
    for body in parted {
        assert_eq!(threads(64, &body), (0..64).map(|thread| thread ^ 48).collect::<Vec<u32>>(), "{body}");
    }
    // some end before they come there, others wait where their paths join
    let body = "setp.lt.u32 %p1, %r2, 48;\n@%p1 bra $ON;\nst.global.b32 [%d3], %r2;\nret;\n$ON:\nsetp.lt.u32 %p1, %r2, 40;\n@%p1 bra $LOW;\n\
         barrier.sync 0;\n$LOW:\n@!%p1 bra $READ;\nbarrier.sync 0;\n$READ:\nst.global.b32 [%d3], %r2;";
    assert_eq!(threads(64, body), (0..64).collect::<Vec<u32>>());
    // what a barrier counts, of both places
    let body = "setp.lt.u32 %p2, %r2, 40; setp.lt.u32 %p1, %r2, 16;\n@%p1 bra $LOW;\nbarrier.red.popc.u32 %r7, 0, %p2;\nbra $END;\n\
        $LOW:\nbarrier.red.popc.u32 %r6, 0, !%p2;\nadd.u32 %r7, %r6, 100;\n$END:\nst.global.b32 [%d3], %r7;";
    let given = threads(64, body);
    assert_eq!(given, (0..64).map(|thread| if thread < 16 { 124 } else { 24 }).collect::<Vec<u32>>());
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
            "setp.lt.u32 %p1, %r2, 16;\n@%p1 bra $L1;\nshfl.sync.idx.b32 %r6, %r2, 0, 31, -1;\n$L1:\nst.global.b32 [%d3], %r2;",
            32,
            "line 11: the mask 0xffffffff names lane 0, which is not here",
        ),
        (
            // the first lanes have ended, the last ones have not
            "setp.lt.u32 %p1, %r2, 8;\n@%p1 ret;\nsetp.ge.u32 %p1, %r2, 16;\n@%p1 bra $L1;\nvote.sync.ballot.b32 %r6, %p1, -1;\n$L1:\nst.global.b32 [%d3], %r2;",
            32,
            "line 13: the mask 0xffffffff names lane 16, which is not here",
        ),
        (
            "setp.lt.u32 %p1, %r2, 16;\n@%p1 bra $L1;\nbar.sync 0;\nbra $END;\n$L1:\nbar.sync 1;\n$END:\nst.global.b32 [%d3], %r2;",
            64,
            "line 14: the barrier is reached by 16 of the 32 threads of the warp, not by this one (block (0, 0, 0), thread (16, 0, 0))",
        ),
        (
            "and.b32 %r6, %r2, 1;\nbar.sync %r6;",
            64,
            "line 10: barrier 0 in lane 0, barrier 1 in lane 1: all lanes of a warp must be at the same barrier (block (0, 0, 0), thread (1, 0, 0))",
        ),
        (
            "shr.u32 %r6, %r2, 4; mad.lo.u32 %r6, %r6, 32, 32;\nbar.sync 3, %r6;",
            64,
            "line 10: a barrier of 32 threads in lane 0, a barrier of 64 threads in lane 16: all lanes of a warp must be at the same barrier",
        ),
        (
            "and.b32 %r6, %r2, 1;\nbarrier.sync %r6, 32;",
            64,
            "must be at the same barrier (a barrier that a part of a warp completes is not supported)",
        ),
        (
            "setp.lt.u32 %p1, %r2, 16;\n@%p1 bra $L1;\nbarrier.sync 1;\n$L1:\nbarrier.sync 2;\nst.global.b32 [%d3], %r2;",
            64,
            "the barrier is reached by 16 of the 32 threads of the warp, not by this one",
        ),
    ];
    for (body, threads, expected) in cases {
        let error = Block::of(threads).run(body).expect_err(body);
        assert!(error.contains(expected), "{body}\n  gives     {error}\n  should be {expected}");
    }
}

#[test]
fn indirect_branches() {
    // each lane takes the path of its number; all meet behind it
    let four = "and.b32 %r6, %r2, 3;\nlist: .branchtargets $A, $B, $C, $D;\nmov.b32 %r7, 5;\n\
        brx.idx %r6, list;\n$A:\nadd.s32 %r7, %r7, 1;\n$B:\nadd.s32 %r7, %r7, 10;\nbra $D;\n$C:\nmov.b32 %r7, 300;\n$D:\n\
        setp.lt.u32 %p1, %r2, 99; vote.sync.ballot.b32 %r8, %p1, -1; setp.ne.u32 %p2, %r8, -1; @%p2 trap;\nst.global.b32 [%d3], %r7;";
    let given = threads(64, four);
    assert_eq!(given, [16, 15, 300, 5].repeat(16));
    // under a guard, by the address of a table in an outer scope, and to one place by all
    let guarded = "mov.b32 %r7, 5; mov.b32 %r6, 1; setp.lt.u32 %p1, %r2, 9;\nlist: .branchtargets $A, $B;\n{\n@%p1 brx.idx.uni %r6, list;\n}\n\
        $A:\nadd.s32 %r7, %r7, 1;\n$B:\nst.global.b32 [%d3], %r7;";
    assert_eq!(threads(32, guarded), [[5; 9].as_slice(), &[6; 23]].concat());
    // a machine whose states follow one another: lanes leave it after as many turns as their number
    let machine = "mov.b32 %r6, 0; mov.b32 %r7, 0; mov.b32 %r8, %r2;\nstates: .branchtargets $ODD, $EVEN, $END;\n\
        $NEXT:\nsetp.eq.s32 %p1, %r8, 0; selp.b32 %r9, 2, %r6, %p1;\nbrx.idx %r9, states;\n\
        $ODD:\nadd.s32 %r7, %r7, 1; mov.b32 %r6, 1; sub.s32 %r8, %r8, 1;\nbra $NEXT;\n\
        $EVEN:\nadd.s32 %r7, %r7, 100; mov.b32 %r6, 0; sub.s32 %r8, %r8, 1;\nbra $NEXT;\n$END:\n\
        setp.lt.u32 %p1, %r2, 99; vote.sync.ballot.b32 %r8, %p1, -1; setp.ne.u32 %p2, %r8, -1; @%p2 trap;\nst.global.b32 [%d3], %r7;";
    let expected: Vec<u32> = (0..32).map(|lane: u32| lane.div_ceil(2) + lane / 2 * 100).collect();
    assert_eq!(threads(32, machine), expected);
    // all targets meet in the end of the kernel
    let ends = "and.b32 %r6, %r2, 1;\nlist: .branchtargets $A, $B;\nbrx.idx %r6, list;\n$A:\nst.global.b32 [%d3], 7;\nret;\n$B:\nst.global.b32 [%d3], 8;\nret;";
    assert_eq!(threads(32, ends), [7, 8].repeat(16));
}

#[test]
fn indirect_branches_that_are_wrong() {
    let error = |body: &str| Block::of(32).run(body).expect_err(body);
    let outside = "list: .branchtargets $A, $B;\nshr.u32 %r6, %r2, 2;\nbrx.idx %r6, list;\n$A:\n$B:\nst.global.b32 [%d3], 7;";
    let what = "line 11: branches to target 2 of 2: the first is 0 (block (0, 0, 0), thread (8, 0, 0))";
    assert_eq!(error(outside), what);
    let endless = "list: .branchtargets $A, $B;\nmov.b32 %r6, 0;\n$A:\nbrx.idx %r6, list;\n$B:\nst.global.b32 [%d3], 7;";
    assert!(
        error(endless).starts_with("line 12: the loop has made more than 1000000 turns"),
        "{}",
        error(endless)
    );
    assert_eq!(error("brx.idx %r1, list;\n$A:"), "line 9: there are no branch targets 'list'");
    assert_eq!(
        error("list: .branchtargets $A, $B;\nbrx.idx %r1, list;\n$A:"),
        "line 10: there is no label '$B'"
    );
    let undefined = "list: .branchtargets $A, $B;\nbrx.idx %r9, list;\n$A:\n$B:\nst.global.b32 [%d3], 7;";
    assert!(
        error(undefined).starts_with("line 10: the branch depends on what was never written: register '%r9'"),
        "{}",
        error(undefined)
    );
}
