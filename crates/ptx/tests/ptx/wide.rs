//! Registers of 128 bits, stores that complete at barrier objects, clocks and other special registers.

use crate::block::Block;

const HOPPER: &str = "sm_90a";
const BLACKWELL: &str = "sm_100a";

/// What a body that may declare registers `%q` leaves of its first words, or the message.
fn run(target: &'static str, threads: u32, body: &str) -> Result<Vec<u32>, String> {
    let block = Block { target, words: (0..64).collect(), ..Block::of(threads) };
    block.run(&format!(".reg .b128 %q<9>; .reg .b128 whole; {body}"))
}

fn words(target: &'static str, body: &str) -> Vec<u32> {
    run(target, 1, body).unwrap_or_else(|error| panic!("{body}\n{error}"))
}

#[test]
fn registers_of_128_bits() {
    // packed, moved, unpacked; either half may be dropped, and a half may be a constant
    let moves = "mov.b64 %d5, 0x1111111122222222; mov.b64 %d6, 0x3333333344444444;\nmov.b128 %q1, {%d5, %d6}; mov.b128 whole, %q1; mov.b128 {%d7, %d8}, whole; mov.b128 {_, %d9}, whole; mov.b128 {%d10, _}, whole;\n\
        mov.b128 %q2, {%d5, 9}; mov.b128 {%d11, %d12}, %q2;\nst.global.v2.b64 [%d1], {%d7, %d8}; st.global.v2.b64 [%d1+16], {%d9, %d10}; st.global.v2.b64 [%d1+32], {%d11, %d12};";
    let given = words("sm_80", moves);
    let expected = [
        [0x2222_2222, 0x1111_1111, 0x4444_4444, 0x3333_3333],
        [0x4444_4444, 0x3333_3333, 0x2222_2222, 0x1111_1111],
        [0x2222_2222, 0x1111_1111, 9, 0],
    ];
    assert_eq!(given[..12], *expected.as_flattened());
    // memory of every kind
    for (place, space) in [("%d1+32", "global"), ("%r5+32", "shared"), ("own+16", "local")] {
        let body = format!(
            "ld.global.b128 %q1, [%d1+16];\nst.{space}.b128 [{place}], %q1;\nld.{space}.b128 whole, [{place}];\nst.global.b128 [%d1], whole;"
        );
        assert_eq!(words(HOPPER, &body)[..4], [4, 5, 6, 7], "{space}");
    }
    let error =
        run(HOPPER, 1, "ld.global.b128 %q1, [%d1+8];\nst.global.b128 [%d1], %q1;").expect_err("alignment");
    assert!(error.contains("is not a multiple of 16"), "{error}");
    // the bits that are undefined are followed
    let error =
        run(HOPPER, 1, "mov.b128 %q1, {%d1, %d9};\nst.global.b128 [%d1+16], %q1;").expect_err("undefined");
    assert!(error.contains("register '%d9'"), "{error}");
}

#[test]
fn atomic_operations_of_128_bits() {
    let exchanged = "ld.global.b128 %q1, [%d1+16];\natom.global.exch.b128 %q2, [%d1], %q1;\nst.global.b128 [%d1+32], %q2;";
    assert_eq!(words(HOPPER, exchanged)[..12], [4, 5, 6, 7, 4, 5, 6, 7, 0, 1, 2, 3]);
    let compared = |first: u64, second: u64| {
        format!(
            "mov.b64 %d5, {first:#x}; mov.b64 %d6, {second:#x}; mov.b128 %q1, {{%d5, %d6}};\nld.global.b128 %q2, [%d1+16];\n\
             atom.global.cas.b128 %q3, [%d1], %q1, %q2;\nst.global.b128 [%d1+32], %q3;"
        )
    };
    let (low, high) = (0x1_0000_0000, 0x3_0000_0002);
    assert_eq!(words(HOPPER, &compared(low, high))[..12], [4, 5, 6, 7, 4, 5, 6, 7, 0, 1, 2, 3]);
    // both halves must be the same
    for other in [compared(low, high + 1), compared(low + 1, high)] {
        assert_eq!(words(HOPPER, &other)[..12], [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3]);
    }
    // the threads of a block count together in the lower half
    let counts = "mov.b64 %d5, 0; mov.b128 %q1, {%d5, %d5}; st.shared.b128 [%r5], %q1; bar.sync 0;\n$AGAIN:\nld.relaxed.cta.shared.b128 %q1, [%r5]; mov.b128 {%d5, %d6}, %q1; add.s64 %d7, %d5, 1;\n\
        mov.b128 %q2, {%d7, %d6}; atom.shared.cas.b128 %q3, [%r5], %q1, %q2; mov.b128 {%d8, %d9}, %q3; setp.ne.s64 %p1, %d8, %d5;\n@%p1 bra $AGAIN;\nbar.sync 0; ld.shared.b32 %r6, [%r5]; st.global.b32 [%d3], %r6;";
    let counts = counts
        .replace("st.shared.b128 [%r5], %q1;", "setp.eq.u32 %p2, %r2, 0; @%p2 st.shared.b128 [%r5], %q1;");
    assert_eq!(run(HOPPER, 64, &counts).map(|words| words[..64].to_vec()), Ok(vec![64; 64]));
    // as ptxas refuses them
    for (target, line, what) in [
        ("sm_80", "atom.global.exch.b128 %q1, [%d1], %q2;", "it needs sm_90 or later"),
        (HOPPER, "atom.global.add.b128 %q1, [%d1], %q2;", ""),
        (HOPPER, "ld.global.v2.b128 %q1, [%d1];", ""),
        (HOPPER, "ld.global.b128 {%d5, %d6}, [%d1];", "takes a register of 128 bits, not a list"),
        (HOPPER, "mov.b128 {%d5, %d6}, {%d7, %d8};", ""),
        (HOPPER, "add.b128 %q1, %q2, %q3;", ""),
    ] {
        let error = run(target, 1, line).expect_err(line);
        assert!(error.starts_with("line 9: ") && error.contains(what), "{line}: {error}");
    }
}

/// A barrier object at 1024 that waits for one arrival and some bytes, and a wait for its first phase.
fn barrier(bytes: u32) -> [String; 2] {
    let start = format!(
        "add.u32 %r6, %r5, 1024; setp.eq.u32 %p1, %r2, 0; @%p1 mbarrier.init.shared::cta.b64 [%r6], 1;\nbar.sync 0;\n@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r6], {bytes};\n"
    );
    let wait =
        "$WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 %p2, [%r6], 0;\n@!%p2 bra $WAIT;\n".to_owned();
    [start, wait]
}

#[test]
fn stores_that_complete_at_a_barrier() {
    // the second warp stores, the first one waits and reads
    let [start, wait] = barrier(32 * 8);
    let body = format!(
        "{start}setp.lt.u32 %p3, %r2, 32; shl.b32 %r7, %r2, 3; add.u32 %r7, %r7, %r5; add.u32 %r8, %r2, 100;\n\
         @!%p3 st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%r7], {{%r2, %r8}}, [%r6];\n@!%p3 bra $END;\n\
         {wait}ld.shared.v2.b32 {{%r9, %r10}}, [%r7+256]; add.s32 %r9, %r9, %r10; st.global.b32 [%d3], %r9;\n$END:"
    );
    let given = run(HOPPER, 64, &body).expect("a run");
    assert_eq!(given[..32], (32..64).map(|thread| 2 * thread + 100).collect::<Vec<u32>>());
    // nobody has waited: the read races
    let early =
        body.replace("@!%p2 bra $WAIT", "@!%p1 bra $READ").replace("ld.shared.v2", "$READ:\nld.shared.v2");
    let error = run(HOPPER, 64, &early).expect_err("a race");
    assert!(error.contains("barrier") || error.contains("races") || error.contains("also"), "{error}");
    // operations
    let [start, wait] = barrier(64 * 4);
    let body = format!(
        "{start}@%p1 st.shared.b32 [%r5], 5;\nbar.sync 0;\nred.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r5], %r2, [%r6];\n\
         {wait}ld.shared.b32 %r9, [%r5]; st.global.b32 [%d3], %r9;"
    );
    assert_eq!(run(HOPPER, 64, &body).map(|words| words[..64].to_vec()), Ok(vec![5 + 63 * 32; 64]));
    // too few bytes
    let [start, wait] = barrier(12);
    let body = format!(
        "{start}@%p1 st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b64 [%r5], %d1, [%r6];\n{wait}"
    );
    let error = run(HOPPER, 1, &body).expect_err("bytes");
    assert!(error.contains("4 bytes are missing"), "{error}");
    for (target, line) in [
        ("sm_80", "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r5], %r2, [%r6];"),
        (HOPPER, "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b16 [%r5], %h2, [%r6];"),
        (
            HOPPER,
            "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b64 [%r5], {%d1, %d2, %d1, %d2}, [%r6];",
        ),
        (HOPPER, "red.async.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r5], %r2, [%r6];"),
        (
            HOPPER,
            "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.and.b64 [%r5], %d2, [%r6];",
        ),
        (HOPPER, "st.bulk.weak.shared::cta [%r5], 64, 0;"),
        (BLACKWELL, "st.bulk.weak.shared::cta [%r5], 65, 0;"),
        (BLACKWELL, "st.bulk.weak.shared::cta [%r5], 64, 1;"),
        (BLACKWELL, "multimem.red.global.add.f32 [%d1], %f1;"),
    ] {
        let error = run(target, 1, line).expect_err(line);
        assert!(error.contains("is not supported"), "{line}: {error}");
    }
}

#[test]
fn zeros_in_bulk() {
    let body = "st.shared.b32 [%r4], 7; bar.sync 0;\nsetp.eq.u32 %p1, %r2, 0; @%p1 st.bulk.weak.shared::cta [%r5+16], 64, 0;\nbar.sync 0;\nld.shared.b32 %r6, [%r4]; st.global.b32 [%d3], %r6;";
    let expected: Vec<u32> = (0..32).map(|word| if (4..20).contains(&word) { 0 } else { 7 }).collect();
    assert_eq!(run(BLACKWELL, 32, body).map(|words| words[..32].to_vec()), Ok(expected));
}

#[test]
fn requests_to_cancel_a_block_are_refused() {
    let [start, wait] = barrier(16);
    let body = format!(
        "{start}@%p1 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r5], [%r6];\n{wait}\
         ld.shared.b128 %q1, [%r5];\nclusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p3, %q1;\n\
         clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r8, %q1; clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {{%r9, %r10, %r11, _}}, %q1;\n\
         selp.b32 %r7, 1, 2, %p3; st.global.b32 [%d3], %r7;"
    );
    assert_eq!(run(BLACKWELL, 64, &body).map(|words| words[..64].to_vec()), Ok(vec![2; 64]));
    let error = run(HOPPER, 64, &body).expect_err("Hopper");
    assert!(error.contains("it needs sm_100 or later"), "{error}");
}

#[test]
fn clocks_and_other_special_registers() {
    // a clock counts what the threads of the warp have run
    let body = "mov.u32 %r6, %clock; mov.u32 %r7, %clock; mov.u64 %d5, %globaltimer; mov.u64 %d6, %clock64; mov.u32 %r8, %globaltimer_hi;\n\
        sub.s32 %r9, %r7, %r6; sub.s64 %d7, %d6, %d5; cvt.u32.u64 %r10, %d7;\nst.global.v4.b32 [%d1], {%r9, %r10, %r8, %r9};";
    assert_eq!(words("sm_80", body)[..4], [1, 1, 0, 1]);
    let pauses = "mov.u64 %d5, %globaltimer;\n$WAIT:\nmov.u64 %d6, %globaltimer; sub.s64 %d6, %d6, %d5; setp.lt.u64 %p1, %d6, 5000;\n@%p1 bra $WAIT;\nst.global.b32 [%d3], 1;";
    assert_eq!(words("sm_80", pauses)[0], 1);
    let body = "mov.u32 %r6, %smid; mov.u32 %r7, %nsmid; mov.u32 %r8, %gridid; mov.b32 %r9, %envreg31; mov.u32 %r10, %pm3; mov.u64 %d5, %gridid; mov.u64 %d6, %pm3_64; mov.u64 %d7, %current_graph_exec;\n\
        st.global.v4.b32 [%d1], {%r6, %r7, %r8, %r9}; mov.u32 %r11, %total_smem_size; st.global.v2.b32 [%d1+16], {%r10, %r11}; st.global.v2.b64 [%d1+32], {%d5, %d6};";
    assert_eq!(words("sm_80", body)[..12], [0, 1, 0, 0, 0, 16384, 6, 7, 0, 0, 0, 0]);
    let body = "mov.u32 %r6, WARP_SZ; add.u32 %r7, %r6, -WARP_SZ; shl.b32 %r8, WARP_SZ, 1; sub.u32 %r9, WARP_SZ-1, 1; st.global.v4.b32 [%d1], {%r6, %r7, %r8, %r9}; ld.global.b32 %r9, [%d1+WARP_SZ]; st.global.b32 [%d1+16], %r9;";
    assert_eq!(words("sm_80", body)[..5], [32, 0, 64, 30, 8]);
    for line in [
        "mov.u64 %d5, %clock;",
        "mov.u32 %r6, %clock64;",
        "mov.u64 %d5, %tid.x;",
        "mov.b32 %r6, %envreg32;",
        "mov.u32 %r6, %aggr_smem_size;",
        "add.u32 %r6, %tid.x, 1;",
        "add.u32 %r6, %clock, 1;",
    ] {
        let error = run("sm_80", 1, line).expect_err(line);
        assert!(error.starts_with("line 9: "), "{line}: {error}");
    }
}
