//! Clusters of several blocks: shared memory of other blocks, their barrier, copies to several of them.

use bitmma_ptx::{Argument, Buffer, Launch, Limits, Mode, Program};

/// What blocks of some threads leave of x, whose 512 words count from 1000 on, and y, which is zero. In a body `%r1` is the thread, `%r2` the
/// block's rank in its cluster, `%r3` the number of blocks there, `%r4` the block, `%r5` shared memory; `%d1` and `%d2` point to x and y,
/// `%d3` to the word of y of the thread of all; `%p1`: it is the first thread of its block.
fn run(
    (blocks, cluster, threads): (u32, u32, u32),
    head: &str,
    threads_here: usize,
    body: &str,
) -> Result<Vec<u32>, String> {
    let cluster = (cluster > 0).then_some([cluster, 1, 1]);
    launched("sm_90a", ([blocks, 1, 1], cluster, threads), head, threads_here, body)
}

/// The same of any grid and target.
fn launched(
    target: &str,
    (grid, cluster, threads): ([u32; 3], Option<[u32; 3]>, u32),
    head: &str,
    threads_here: usize,
    body: &str,
) -> Result<Vec<u32>, String> {
    let text = format!(
        ".version 8.7\n.target {target}\n.address_size 64\n.visible .entry one(.param .u64 x, .param .u64 y)\n.reqntid {threads} {head}\n{{\n\
         .reg .pred %p<6>; .reg .b32 %r<20>; .reg .b64 %d<9>; .shared .align 128 .b8 s[1024]; .shared .align 8 .b8 m[16];\n\
         ld.param.b64 %d1, [x]; ld.param.b64 %d2, [y]; mov.u32 %r1, %tid.x; mov.u32 %r2, %cluster_ctarank; mov.u32 %r3, %cluster_nctarank;\n\
         mov.u32 %r4, %ctaid.x; mov.u32 %r5, s; mad.lo.u32 %r6, %r4, {threads}, %r1; mad.wide.u32 %d3, %r6, 4, %d2; setp.eq.u32 %p1, %r1, 0;\n\
         {body}\nret;\n}}\n"
    );
    let program = Program::parse(&text).map_err(|error| error.to_string())?;
    let kernel = program.kernel(None, None, Mode::Text).map_err(|error| error.to_string())?;
    let buffer = |name: &str, words: Vec<u32>| Buffer {
        name: name.to_owned(),
        bytes: words.iter().flat_map(|word| word.to_le_bytes()).collect(),
        ..Buffer::default()
    };
    let mut buffers = vec![buffer("x", (1000..1512).collect()), buffer("y", vec![0; 512])];
    let launch = Launch {
        cluster,
        limits: Limits { threads: threads_here, ..Limits::default() },
        ..Launch::new(&kernel, grid)
    };
    let arguments = [0, 1].map(|buffer| Argument::Pointer { buffer, offset: 0 });
    launch.run(&arguments, &mut buffers, &mut || false).map_err(|error| error.to_string())?;
    Ok(buffers[1].bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect())
}

/// The same on one thread of this machine and on several.
fn left(shape: (u32, u32, u32), body: &str) -> Result<Vec<u32>, String> {
    let [one, several] = [1, 3].map(|threads| run(shape, "", threads, body));
    assert_eq!(one, several, "{body}");
    one
}

/// All threads of a cluster come here.
const MEET: &str = "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;";

/// The address of `%r5` in the next block as `%r7`, in which `%r8` is the rank.
const NEXT: &str = "add.u32 %r8, %r2, 1; rem.u32 %r8, %r8, %r3; mapa.shared::cluster.u32 %r7, %r5, %r8;";

/// The first thread of each block initializes the object m for so many arrivals.
fn object(arrivals: u32) -> String {
    format!(
        "@%p1 mbarrier.init.shared::cta.b64 [m], {arrivals}; @%p1 fence.mbarrier_init.release.cluster; {MEET}"
    )
}

const WAIT: &str = "W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3, [m], 0; @!%p3 bra W;";

/// A block writes into the next one and sets a flag there, by these instructions, before a fence and behind one; the other waits for it.
fn passed([put, fence, set, get, after]: [&str; 5]) -> Result<Vec<u32>, String> {
    let body = format!(
        "@%p1 st.shared.u32 [s+512], 0; {MEET} {NEXT} mad.lo.u32 %r9, %r4, 100, %r1; @%p1 {put}.shared::cluster.u32 [%r7], %r9;\n\
         mapa.shared::cluster.u32 %r13, %r5, %r8; {fence} @%p1 {set}.shared::cluster.u32 [%r13+512], 1;\n\
         W: {get}.shared.u32 %r14, [s+512]; setp.eq.u32 %p4, %r14, 0; @%p4 bra W; {after}\n\
         ld.shared.u32 %r10, [s]; st.global.u32 [%d3], %r10; {MEET}"
    );
    left((2, 2, 32), &body)
}

#[test]
fn a_scope_must_have_both_blocks() {
    let [release, acquire] = ["st.release.cluster", "ld.acquire.cluster"];
    let relaxed = ["st.relaxed.cluster", "ld.relaxed.cluster"];
    for good in [
        ["st", "", release, acquire, ""],
        ["st", "", "st.release.gpu", "ld.acquire.sys", ""],
        ["st", "fence.acq_rel.cluster;", relaxed[0], acquire, ""],
        ["st", "fence.acq_rel.cluster;", relaxed[0], relaxed[1], "fence.acq_rel.cluster;"],
        ["st", "fence.acq_rel.gpu;", relaxed[0], relaxed[1], "fence.acq_rel.sys;"],
    ] {
        let left = passed(good).unwrap_or_else(|error| panic!("{good:?}: {error}"));
        assert_eq!([left[0], left[32]], [100, 0], "{good:?}");
    }
    for (bad, expected) in [
        (["st", "", "st.release.cta", "ld.acquire.cta", ""], "the scope of one of them is .cta"),
        (["st", "", "st.release.cta", acquire, ""], "the scope of one of them is .cta"),
        (["st", "", release, "ld.acquire.cta", ""], "the scope of one of them is .cta"),
        (["st", "fence.acq_rel.cta;", relaxed[0], acquire, ""], "there is no barrier between them"),
        (
            ["st", "fence.acq_rel.cluster;", relaxed[0], relaxed[1], "fence.acq_rel.cta;"],
            "there is no barrier between them",
        ),
    ] {
        let error = passed(bad).expect_err(&format!("{bad:?}"));
        assert!(error.contains(expected) && error.contains("of block"), "{bad:?}: {error}");
    }
}

#[test]
fn atomic_operations_of_two_blocks_need_a_scope_that_has_both() {
    let add = |red: &str| {
        let body = format!(
            "@%p1 st.shared.u32 [s], 0; {MEET} mapa.shared::cluster.u32 %r7, %r5, 0; {red}.shared::cluster.add.u32 [%r7], 1;\n\
             {MEET} ld.shared::cluster.u32 %r10, [%r7]; st.global.u32 [%d3], %r10; {MEET}"
        );
        left((2, 2, 32), &body)
    };
    for red in ["red", "red.relaxed.cluster", "red.relaxed.gpu"] {
        assert_eq!(add(red).expect(red)[..64], [64; 64]);
    }
    let error = add("red.relaxed.cta").expect_err("two blocks");
    assert!(error.contains("the scope of one of them is .cta, which has one block"), "{error}");
    // those of one block alone
    let body = "@%p1 st.shared.u32 [s], 0; bar.sync 0; red.relaxed.cta.shared.add.u32 [s], 1; bar.sync 0; ld.shared.u32 %r10, [s]; st.global.u32 [%d3], %r10;";
    assert_eq!(left((2, 2, 64), body).expect("runs")[..128], [64; 128]);
}

#[test]
fn flags_in_global_memory_need_a_scope_that_has_both_blocks() {
    let flag = |blocks: u32, cluster: u32, set: &str, get: &str| {
        let body = format!(
            "xor.b32 %r9, %r4, 1; mad.wide.u32 %d5, %r4, 4, %d2; mad.wide.u32 %d6, %r9, 4, %d2;\n\
             add.u32 %r10, %r4, 50; st.global.u32 [%d5+512], %r10; {set}.global.u32 [%d5+256], 1;\n\
             W: {get}.global.u32 %r14, [%d6+256]; setp.eq.u32 %p4, %r14, 0; @%p4 bra W;\n\
             ld.global.u32 %r10, [%d6+512]; st.global.u32 [%d3], %r10;"
        );
        run((blocks, cluster, 1), "", 1, &body)
    };
    for scope in ["cluster", "gpu"] {
        let left = flag(2, 2, &format!("st.release.{scope}"), &format!("ld.acquire.{scope}")).expect(scope);
        assert_eq!(left[..2], [51, 50], "{scope}");
    }
    let error = flag(2, 2, "st.release.cta", "ld.acquire.cta").expect_err("two blocks");
    assert!(error.contains("the scope of one of them is .cta"), "{error}");
    // blocks of two clusters, of which the second reads what the first sets
    let one = |set: &str, get: &str| {
        let body = format!(
            "setp.ne.u32 %p2, %r4, 0; @%p2 bra W; st.global.u32 [%d2+512], 7; {set}.global.u32 [%d2+256], 1; ret;\n\
             W: setp.ne.u32 %p2, %r4, 2; @%p2 ret; V: {get}.global.u32 %r14, [%d2+256]; setp.eq.u32 %p4, %r14, 0; @%p4 bra V;\n\
             ld.global.u32 %r10, [%d2+512]; st.global.u32 [%d2], %r10;"
        );
        run((4, 2, 1), "", 1, &body)
    };
    assert_eq!(one("st.release.gpu", "ld.acquire.gpu").expect("all blocks")[0], 7);
    for (set, get) in [
        ("st.release.cluster", "ld.acquire.cluster"),
        ("st.release.gpu", "ld.acquire.cluster"),
        ("fence.acq_rel.cluster; st.relaxed.gpu", "ld.acquire.gpu"),
    ] {
        let error = one(set, get).expect_err(set);
        assert!(error.contains("which block number 0 of the same launch writes"), "{set}: {error}");
    }
}

#[test]
fn shared_cta_does_not_reach_other_blocks() {
    for access in [
        "ld.shared.u32 %r10, [%r7];",
        "ld.shared::cta.u32 %r10, [%r7];",
        "st.shared.u32 [%r7], %r1;",
        "atom.shared.add.u32 %r10, [%r7], 1;",
        "red.shared::cta.add.u32 [%r7], 1;",
    ] {
        let error = left((2, 2, 1), &format!("st.shared.u32 [s], 1; {MEET} {NEXT} {access} {MEET}"));
        let error = error.expect_err(access);
        assert!(
            error.contains("which is in block 0 of the cluster, from block 1 by .shared::cta"),
            "{access}: {error}"
        );
    }
    // its own block's address
    let own = "st.shared.u32 [s], 9; mapa.shared::cluster.u32 %r7, %r5, %r2; ld.shared.u32 %r10, [%r7]; st.global.u32 [%d3], %r10;";
    assert_eq!(left((2, 2, 1), own).expect("the own block")[..2], [9, 9]);
}

#[test]
fn a_cluster_has_sixty_four_warps() {
    let body = |barrier: &str| {
        format!(
            "setp.eq.u32 %p2, %r1, 96; {MEET} {NEXT} @%p2 st.shared::cluster.u32 [%r7], %r4; {barrier}\n\
             setp.eq.u32 %p3, %r1, 64; mad.wide.u32 %d4, %r4, 4, %d2; @%p3 ld.shared.u32 %r10, [s]; @%p3 st.global.u32 [%d4], %r10; {MEET}"
        )
    };
    let found = left((16, 16, 128), &body(MEET)).expect("all is ordered");
    assert_eq!(found[..16], std::array::from_fn::<u32, 16, _>(|block| (block as u32 + 15) % 16));
    let error = left((16, 16, 128), &body("")).expect_err("nothing orders the read");
    assert!(
        error.contains("there is no barrier between them") && error.contains("warp 3 of block"),
        "{error}"
    );
}

/// `fence.mbarrier_init` lets a relaxed barrier of the cluster show that objects have started, and nothing else.
#[test]
fn objects_are_seen_after_their_fence_and_a_relaxed_barrier() {
    let relaxed = "barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.acquire.aligned;";
    let body = |fence: &str, data: &str| {
        format!(
            "{data} @%p1 mbarrier.init.shared::cta.b64 [m], 1; {fence} {relaxed}\n\
             mov.u32 %r10, m; {NEXT} mapa.shared::cluster.u32 %r11, %r10, %r8; @%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r11];\n\
             {WAIT} ld.shared::cluster.u32 %r12, [%r7]; st.global.u32 [%d3], %r12; {MEET}"
        )
    };
    let (fence, data) = ("fence.mbarrier_init.release.cluster;", "st.shared.u32 [s], 3;");
    // the arrival of the other block shows what it wrote
    assert_eq!(left((2, 2, 1), &body(fence, data)).expect("runs")[..2], [3, 3]);
    let error = left((2, 2, 1), &body("", data)).expect_err("the start is not released");
    assert!(error.contains("there is no barrier between them"), "{error}");
    let early = format!(
        "{data} {fence} {relaxed} {NEXT} ld.shared::cluster.u32 %r12, [%r7]; st.global.u32 [%d3], %r12; {MEET}"
    );
    let error = left((2, 2, 1), &early).expect_err("the fence is for objects alone");
    assert!(error.contains("there is no barrier between them"), "{error}");
}

/// What arrives at an object, or completes bytes there, comes after its start: arrivals, stores, operations, copies, commits.
#[test]
fn an_object_has_started_before_anything_completes_there() {
    let copy = "mov.u32 %r10, m; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r5], [%d1], 16, [%r10];";
    let store = "mov.u32 %r10, m; st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [%r5], {%r1, %r1, %r1, %r1}, [%r10];";
    let add = "mov.u32 %r10, m; red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64 [%r5], 1, [%r10];";
    let commit = "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r10];";
    // warp 0 starts the object, warp 1 uses it
    for (target, count, bytes, used) in [
        ("sm_90a", 2, 0, "mbarrier.arrive.shared::cta.b64 %d5, [m];"),
        ("sm_90a", 1, 16, copy),
        ("sm_90a", 1, 16, store),
        ("sm_90a", 1, 8, add),
        ("sm_100a", 2, 0, commit),
    ] {
        let body = |barrier: &str| {
            format!(
                "@%p1 mov.u64 %d4, 0; @%p1 st.shared.u64 [s], %d4; bar.sync 0; mov.u32 %r10, m; @%p1 mbarrier.init.shared::cta.b64 [m], {count};\n\
                 @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], {bytes}; {barrier} setp.ne.u32 %p2, %r1, 32; @%p2 bra W; {used} {WAIT} bar.sync 0;"
            )
        };
        let shape = ([1, 1, 1], None, 64);
        launched(target, shape, "", 1, &body("bar.sync 0;"))
            .unwrap_or_else(|error| panic!("{used}: {error}"));
        let error = launched(target, shape, "", 1, &body("")).expect_err(used);
        assert!(error.contains("there is no barrier between them"), "{used}: {error}");
    }
}

/// What `fence.mbarrier_init` publishes is seen after a barrier of the cluster that comes after it, and not after an earlier one.
#[test]
fn a_barrier_before_the_fence_does_not_show_objects() {
    let relaxed = "barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.acquire.aligned;";
    let fence = "fence.mbarrier_init.release.cluster;";
    let init = "@%p1 mbarrier.init.shared::cta.b64 [m], 1;";
    let arrive = format!(
        "mov.u32 %r10, m; {NEXT} mapa.shared::cluster.u32 %r11, %r10, %r8; @%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r11];"
    );
    let body = |order: &[&str]| format!("{} {arrive} {WAIT} {MEET}", order.join(" "));
    for good in [vec![init, fence, relaxed], vec![MEET, init, fence, relaxed], vec![relaxed, init, MEET]] {
        left((2, 2, 1), &body(&good)).unwrap_or_else(|error| panic!("{good:?}: {error}"));
    }
    let [arrives, waits] =
        ["barrier.cluster.arrive.relaxed.aligned;", "barrier.cluster.wait.acquire.aligned;"];
    for bad in [
        vec![MEET, init, fence],
        vec![relaxed, init, fence],
        vec![init, relaxed, fence],
        vec![init, arrives, fence, waits],
        vec![MEET, init, arrives, fence, waits],
    ] {
        left((2, 2, 1), &body(&bad)).expect_err(&format!("{bad:?}"));
    }
}

/// What `red.async` changes is there for those that wait for its bytes.
#[test]
fn what_is_reduced_is_waited_for() {
    let body = |barrier: &str, after: &str, then: &str| {
        format!(
            "@%p1 st.shared.u32 [s], 0; {} @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 128; mov.u32 %r10, m; {NEXT} {MEET}\n\
             mapa.shared::cluster.u32 %r11, %r10, {barrier}; red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r7], %r1, [%r11];\n\
             {after} ld.shared.u32 %r12, [s]; st.global.u32 [%d3], %r12; {then} {MEET}",
            object(1)
        )
    };
    let sum: u32 = (0..32).sum();
    assert_eq!(left((2, 2, 32), &body("%r8", WAIT, "")).expect("runs")[..64], [sum; 64]);
    for (barrier, after, then, expected) in [
        ("%r8", "", WAIT, "there is no barrier between them"),
        ("%r8", MEET, WAIT, "that was not waited for"),
        ("%r2", WAIT, "", "they must be in one"),
    ] {
        let error = left((2, 2, 32), &body(barrier, after, then)).expect_err(expected);
        assert!(error.contains(expected), "{error}");
    }
}

/// A barrier of the cluster does not wait for what is on its way to a block.
#[test]
fn a_block_waits_for_what_others_send_before_it_ends() {
    for (bytes, sends) in [
        (
            16,
            "@%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r7], [%d1], 16, [%r11];",
        ),
        (4, "@%p1 st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r7], %r6, [%r11];"),
        (
            4,
            "@%p1 red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r7], %r6, [%r11];",
        ),
    ] {
        let body = |wait: &str| {
            format!(
                "@%p1 st.shared.u32 [s], 0; fence.proxy.async; {} @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], {bytes}; mov.u32 %r10, m; {NEXT} {MEET}\n\
                 mapa.shared::cluster.u32 %r11, %r10, %r8; {sends} {wait} {MEET}",
                object(1)
            )
        };
        left((2, 2, 32), &body(WAIT)).unwrap_or_else(|error| panic!("{sends}: {error}"));
        let error = left((2, 2, 32), &body("")).expect_err(sends);
        assert!(error.contains("sends to its shared memory was not waited for"), "{error}");
    }
}

/// Sixteen bytes are compared where they are, and not with those of the own block at the same place.
#[test]
fn sixteen_bytes_of_another_block_are_exchanged_where_they_are_equal() {
    let body = format!(
        ".reg .b128 %q<4>; mov.u64 %d4, 5; mov.u64 %d5, 7; mov.b128 %q1, {{%d4, %d4}}; mov.b128 %q2, {{%d5, %d5}};\n\
         setp.eq.u32 %p2, %r2, 1; @%p2 st.shared.b128 [s], %q1; @!%p2 st.shared.b128 [s], %q2; {MEET} {NEXT}\n\
         @!%p2 atom.relaxed.cluster.shared::cluster.cas.b128 %q3, [%r7], %q1, %q2; {MEET} ld.shared.u32 %r10, [s]; st.global.u32 [%d3], %r10;"
    );
    assert_eq!(left((2, 2, 1), &body).expect("it is equal there")[..2], [7, 7]);
}

#[test]
fn a_block_must_have_started_before_its_shared_memory_is_accessed() {
    let error = left((2, 2, 1), &format!("{NEXT} st.shared::cluster.u32 [%r7], 5; {MEET}"));
    let error = error.expect_err("no barrier comes first");
    assert!(error.contains("block (1, 0, 0) of its cluster, which may not have started"), "{error}");
    // a relaxed arrival shows it, and so does what another warp of the block waited for
    let relaxed = "barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;";
    let get = "ld.shared.u32 %r10, [s]; st.global.u32 [%d3], %r10;";
    let body = format!("{relaxed} {NEXT} st.shared::cluster.u32 [%r7], 5; {MEET} {get}");
    assert_eq!(left((2, 2, 1), &body).expect("they have met")[..2], [5, 5]);
}

#[test]
fn registers_of_clusters() {
    let of = |name: &str| {
        let body = format!("mov.u32 %r9, %{name}; st.global.u32 [%d3], %r9;");
        left((6, 2, 1), &body).expect(name)[..6].to_vec()
    };
    assert_eq!(of("cluster_ctarank"), [0, 1, 0, 1, 0, 1]);
    assert_eq!(of("cluster_ctaid.x"), [0, 1, 0, 1, 0, 1]);
    assert_eq!(of("clusterid.x"), [0, 0, 1, 1, 2, 2]);
    assert_eq!(of("cluster_nctaid.x"), [2; 6]);
    assert_eq!(of("cluster_nctarank"), [2; 6]);
    assert_eq!(of("nclusterid.x"), [3; 6]);
    assert_eq!(of("nclusterid.y"), [1; 6]);
    assert_eq!(of("is_explicit_cluster"), [1; 6]);
    assert_eq!(of("ctaid.x"), [0, 1, 2, 3, 4, 5]);
    let alone = run((2, 0, 1), "", 1, "mov.u32 %r9, %is_explicit_cluster; st.global.u32 [%d3], %r9;");
    assert_eq!(alone.expect("runs")[..2], [0, 0]);
}

/// Each block writes where it is at its number in the grid.
#[test]
fn clusters_of_three_dimensions() {
    let number = "mov.u32 %r7, %ctaid.y; mov.u32 %r8, %nctaid.x; mad.lo.u32 %r9, %r7, %r8, %r4; mov.u32 %r7, %ctaid.z; mov.u32 %r10, %nctaid.y;
        mul.lo.u32 %r8, %r8, %r10; mad.lo.u32 %r9, %r7, %r8, %r9; mad.wide.u32 %d3, %r9, 4, %d2;";
    let of = |name: &str| {
        let body = format!("{number} mov.u32 %r9, %{name}; st.global.u32 [%d3], %r9;");
        let shape = ([4, 2, 2], Some([2, 1, 2]), 1);
        launched("sm_90a", shape, "", 1, &body).expect(name)[..16].to_vec()
    };
    assert_eq!(of("cluster_ctarank"), [0, 1, 0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 2, 3]);
    assert_eq!(of("cluster_ctaid.x"), [0, 1].repeat(8));
    assert_eq!(of("cluster_ctaid.z"), [[0; 8], [1; 8]].concat());
    assert_eq!(of("clusterid.x"), [0, 0, 1, 1].repeat(4));
    assert_eq!(of("clusterid.y"), [0, 0, 0, 0, 1, 1, 1, 1].repeat(2));
    assert_eq!(of("nclusterid.x"), [2; 16]);
    assert_eq!(of("nclusterid.y"), [2; 16]);
    assert_eq!(of("nclusterid.z"), [1; 16]);
}

/// `tcgen05.commit` arrives at the objects of several blocks.
#[test]
fn commits_to_several_blocks() {
    let body = |mask: u32| {
        format!(
            "{} .reg .b16 %h1; mov.b16 %h1, {mask}; setp.eq.and.u32 %p2, %r2, 0, %p1; mov.u32 %r7, m;
             @%p2 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%r7], %h1;
             {WAIT} st.global.u32 [%d3], 1; {MEET}",
            object(1)
        )
    };
    let shape = ([2, 1, 1], Some([2, 1, 1]), 32);
    assert_eq!(launched("sm_100a", shape, "", 1, &body(3)).expect("runs")[..64], [1; 64]);
    let error = launched("sm_100a", shape, "", 1, &body(2)).expect_err("one block");
    assert!(error.contains("1 of 1 arrivals are missing"), "{error}");
}

/// What is undefined is followed through the shared memory of other blocks.
#[test]
fn undefined_memory_of_other_blocks() {
    let body = |read: &str, store: &str| {
        format!(
            "{MEET} {NEXT} ld.shared.u32 %r15, [s+512]; {store} {MEET} {read} st.global.u32 [%d3], %r9; {MEET}"
        )
    };
    let store = "st.shared::cluster.u32 [%r7], %r2;";
    assert_eq!(left((2, 2, 1), &body("ld.shared.u32 %r9, [s];", store)).expect("runs")[..2], [1, 0]);
    for (read, store) in [
        ("ld.shared::cluster.u32 %r9, [%r7+4];", store),
        ("ld.shared.u32 %r9, [s];", "st.shared::cluster.u32 [%r7], %r15;"),
        ("ld.shared::cluster.u32 %r9, [%r7];", "st.shared.u32 [s], %r15;"),
    ] {
        let error = left((2, 2, 1), &body(read, store)).expect_err(read);
        assert!(error.contains("depends on what was never written"), "{error}");
    }
}

#[test]
fn launches_with_wrong_clusters_are_errors() {
    for (shape, head, expected) in [
        ((6, 4, 1), "", "a grid of (6, 1, 1) blocks is not a multiple of clusters of (4, 1, 1)"),
        ((4, 2, 1), ".reqnctapercluster 4", "the entry requires clusters of (4, 1, 1) blocks, not (2, 1, 1)"),
        ((6, 0, 1), ".reqnctapercluster 4", "is not a multiple of clusters of (4, 1, 1)"),
        ((4, 0, 1), ".explicitcluster", "has .explicitcluster: the launch must say the cluster"),
        ((4, 4, 1), ".maxclusterrank 2", "a cluster of (4, 1, 1) blocks cannot run: it must have 1 to 2"),
        ((32, 32, 1), "", "a cluster of (32, 1, 1) blocks cannot run: it must have 1 to 16"),
        (
            (8, 8, 544),
            "",
            "a cluster of 8 blocks of 17 warps is not supported: a cluster may have 128 warps here",
        ),
        ((4, 0, 1), ".blocksareclusters .reqnctapercluster 2", ".blocksareclusters is not supported"),
    ] {
        let error = run(shape, head, 1, "").expect_err(expected);
        assert!(error.contains(expected), "{error}");
    }
    run((4, 0, 1), ".explicitcluster .reqnctapercluster 2 .maxclusterrank 8", 1, MEET).expect("runs");
}

const RELAXED: &str = "barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;";

#[test]
fn the_last_of_128_warps_is_told_apart() {
    let body = |meet: &str| {
        format!(
            "setp.eq.u32 %p2, %r1, 255; @%p2 st.shared::cta.u32 [s], %r2; {meet} {NEXT} mad.wide.u32 %d3, %r4, 4, %d2;\n\
             @%p1 ld.shared::cluster.u32 %r10, [%r7]; @%p1 st.global.u32 [%d3], %r10; {MEET}"
        )
    };
    let next: Vec<u32> = (1..17).map(|rank| rank % 16).collect();
    assert_eq!(left((16, 16, 256), &body(MEET)).expect("runs")[..16], next);
    let error = left((16, 16, 256), &body(RELAXED)).expect_err("nothing orders two blocks");
    assert!(error.contains("thread (255, 0, 0)"), "{error}");
}

#[test]
fn the_last_of_32_warpgroups_multiplies() {
    let body = format!(
        ".reg .b32 %f<4>; mov.u32 %r7, 0; mad.lo.u32 %r9, %r1, 4, %r5; st.shared.u32 [%r9], %r7; fence.proxy.async; bar.sync 0;\n\
         cvt.u64.u32 %d5, %r5; shr.u64 %d5, %d5, 4; and.b64 %d5, %d5, 16383; or.b64 %d5, %d5, 4295491584; mov.u32 %f0, 0;\n\
         mov.u32 %f1, 0; mov.u32 %f2, 0; mov.u32 %f3, 0; wgmma.fence.sync.aligned;\n\
         wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {{%f0, %f1, %f2, %f3}}, %d5, %d5, 0, 1, 1;\n\
         wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; mad.wide.u32 %d3, %r4, 4, %d2;\n\
         add.u32 %r7, %r4, %f0; @%p1 st.global.u32 [%d3], %r7; {MEET}"
    );
    let left = left((16, 16, 256), &body).expect("runs");
    assert_eq!(left[..16], (0..16).collect::<Vec<u32>>());
}

/// Each thread adds what the threads of its number hold in all blocks of the cluster.
#[test]
fn sums_over_a_cluster() {
    for (load, map, address) in [
        ("ld.shared::cluster.u32", "mapa.shared::cluster.u32 %r7, %r9, %r10;", "%r7"),
        ("ld.u32", "cvt.u64.u32 %d5, %r9; cvta.shared.u64 %d5, %d5; mapa.u64 %d6, %d5, %r10;", "%d6"),
    ] {
        let body = format!(
            "mad.lo.u32 %r9, %r1, 4, %r5; st.shared.u32 [%r9], %r6; {MEET}
             mov.u32 %r10, 0; mov.u32 %r11, 0;
             L: {map} {load} %r12, [{address}]; add.u32 %r11, %r11, %r12; add.u32 %r10, %r10, 1; setp.lt.u32 %p2, %r10, %r3; @%p2 bra L;
             st.global.u32 [%d3], %r11; {MEET}"
        );
        for (blocks, cluster, threads) in [(4, 2, 64), (8, 4, 64), (8, 8, 33), (2, 1, 64)] {
            let left = left((blocks, cluster, threads), &body).expect(load);
            for block in 0..blocks {
                for thread in 0..threads {
                    let first = block / cluster * cluster;
                    let sum: u32 = (first..first + cluster).map(|other| other * threads + thread).sum();
                    assert_eq!(left[(block * threads + thread) as usize], sum, "{cluster} {block} {thread}");
                }
            }
        }
    }
}

/// Atomic operations, and stores, reach other blocks; where an address is, `getctarank` and `isspacep` say.
#[test]
fn other_blocks_are_changed() {
    let body = format!(
        "@%p1 st.shared.u32 [s], 0; {MEET} mov.u32 %r10, 0; mapa.shared::cluster.u32 %r7, %r5, %r10;
         atom.shared::cluster.add.u32 %r11, [%r7], 1; red.relaxed.cluster.shared::cluster.add.u32 [%r7], 10; {MEET}
         ld.shared.u32 %r12, [s]; st.global.u32 [%d3], %r12; {MEET}"
    );
    let [sum, zero] = [4 * 32 * 11, 0];
    let expected: Vec<u32> = [sum, zero, zero, zero].into_iter().flat_map(|word| [word; 32]).collect();
    assert_eq!(left((4, 4, 32), &body).expect("runs")[..128], expected);
    let body = format!(
        "{NEXT} getctarank.shared::cluster.u32 %r9, %r7; getctarank.shared::cluster.u32 %r10, %r5; mad.lo.u32 %r9, %r9, 10, %r10;
         cvt.u64.u32 %d5, %r7; cvta.shared.u64 %d5, %d5; isspacep.shared::cta %p2, %d5; isspacep.shared::cluster %p3, %d5;
         @%p2 add.u32 %r9, %r9, 100; @%p3 add.u32 %r9, %r9, 1000; st.global.u32 [%d3], %r9;"
    );
    assert_eq!(left((3, 3, 1), &body).expect("runs")[..3], [1010, 1021, 1002]);
}

/// Addresses of shared memory have their block's rank from bit 24 on, those of the own block too, so that kernels (CUTLASS, Triton)
/// reach others by their bits; `ldmatrix` and copies take the own block's, whatever its rank.
#[test]
fn the_bits_of_an_address_say_which_block_it_is_in() {
    for (own, access) in [
        ("mov.u32 %r9, s;", "xor.b32 %r7, %r9, 0x1000000; st.shared::cluster.u32 [%r7], %r10;"),
        ("mov.u32 %r9, s+4;", "xor.b32 %r7, %r9, 0x1000000; st.shared::cluster.u32 [%r7+-4], %r10;"),
        (
            "mov.u64 %d5, s; cvt.u32.u64 %r9, %d5;",
            "xor.b32 %r7, %r9, 16777216; st.shared::cluster.u32 [%r7], %r10;",
        ),
        ("cvta.shared.u64 %d5, s;", "xor.b64 %d6, %d5, 0x1000000; st.u32 [%d6], %r10;"),
        (
            "mapa.shared::cluster.u32 %r9, s, %r2;",
            "xor.b32 %r7, %r9, 0x1000000; st.shared::cluster.u32 [%r7], %r10;",
        ),
    ] {
        let body = format!(
            "{own} add.u32 %r10, %r4, 70; {MEET} {access} {MEET} ld.shared.u32 %r11, [s]; st.global.u32 [%d3], %r11;"
        );
        let left = left((4, 2, 1), &body).unwrap_or_else(|error| panic!("{own}: {error}"));
        assert_eq!(left[..4], [71, 70, 73, 72], "{own}");
    }
    // the first block of a pair: CUTLASS clears a bit
    let body = format!(
        "and.b32 %r7, %r5, 0xfeffffff; @%p1 st.shared.u32 [s], 0; {MEET} red.shared::cluster.add.u32 [%r7], 1; {MEET}
         ld.shared.u32 %r11, [s]; st.global.u32 [%d3], %r11; {MEET}"
    );
    assert_eq!(left((4, 4, 1), &body).expect("runs")[..4], [2, 0, 2, 0]);
    let body = "mad.lo.u32 %r9, %r1, 16, %r5; st.shared.v4.u32 [%r9], {%r1, %r4, %r1, %r4}; bar.sync 0;
                ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r10}, [%r9]; cp.async.ca.shared.global [%r9], [%d1], 4; cp.async.wait_all;
                ld.shared.u32 %r11, [%r9]; add.u32 %r10, %r10, %r11; st.global.u32 [%d3], %r10;";
    let alone = left((3, 0, 32), body).expect("no cluster");
    assert_eq!(left((3, 3, 32), body).expect("a cluster"), alone);
    let error =
        left((2, 2, 32), &format!("{NEXT} ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r10}}, [%r7];"));
    let error = error.expect_err("ldmatrix reads the own block's");
    assert!(error.contains("which is in block 1 of the cluster, from block 0 by .shared::cta"), "{error}");
}

/// A loop that waits lets others run, also if it changes memory at every turn.
#[test]
fn a_loop_that_waits_and_writes_lets_others_run() {
    for (address, count) in [("%d2+128", "%d2+132"), ("%d2+128", "s+8")] {
        let space = if count.starts_with('s') { "shared" } else { "global" };
        // of two blocks that do not run together, the first waits for the second, or the other way round
        for first in [0, 1] {
            for (blocks, cluster) in [(2, 0), (2, 2)] {
                let body = format!(
                    "st.shared.u32 [s+8], 0; setp.eq.u32 %p2, %r4, {first}; @%p2 bra W; st.global.u32 [%d3], 5; st.release.gpu.global.u32 [{address}], 1; bra E;
                     W: atom.{space}.add.u32 %r9, [{count}], 1; ld.acquire.gpu.global.u32 %r10, [{address}]; setp.eq.u32 %p3, %r10, 0; @%p3 bra W;
                     st.global.u32 [%d3], 7; E: {}",
                    if cluster > 0 { MEET } else { "" }
                );
                let left =
                    left_of(&[1, 3].map(|threads| run((blocks, cluster, 1), "", threads, &body)), first);
                assert_eq!(left, Ok([7, 5]), "{address} {count} {first} {cluster}");
            }
        }
    }
}

/// What two blocks left, that one first, with every number of threads.
fn left_of(runs: &[Result<Vec<u32>, String>], first: usize) -> Result<[u32; 2], String> {
    let mut found = vec![];
    for run in runs {
        let run = run.as_ref().map_err(Clone::clone)?;
        found.push([run[first], run[1 - first]]);
    }
    assert!(found.iter().all(|one| *one == found[0]));
    Ok(found[0])
}

/// A word goes around: each block waits for the one before, adds to what that stored, and arrives at the next.
#[test]
fn a_ring_of_arrivals() {
    for (store, expects) in [
        (
            "st.shared::cluster.u32 [%r7], %r9; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r11];",
            "",
        ),
        (
            "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r7], %r9, [%r11];",
            "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 4;",
        ),
        (
            "mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%r11], 4;
             st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r7], %r9, [%r11];",
            "",
        ),
    ] {
        let body = format!(
            "{} mov.u32 %r10, m; {NEXT} mapa.shared::cluster.u32 %r11, %r10, %r8; @!%p1 bra E; {expects}
             mov.u32 %r9, 5; setp.eq.u32 %p2, %r2, 0; @%p2 bra F; {WAIT} ld.shared.u32 %r9, [s];
             F: add.u32 %r9, %r9, 1; st.global.u32 [%d3], %r9; setp.eq.u32 %p4, %r8, 0; @%p4 bra E; {store} E: {MEET}",
            object(1)
        );
        let left = left((8, 4, 1), &body).unwrap_or_else(|error| panic!("{store}: {error}"));
        assert_eq!(left[..8], [6, 7, 8, 9, 6, 7, 8, 9], "{store}");
    }
}

/// Blocks pass words to the next one through two buffers each: an object says that one is full, another that it is empty.
#[test]
fn a_ring_of_buffers() {
    let body = |last: &str| {
        format!(
            "mov.u32 %r5, m; @%p1 mbarrier.init.shared::cta.b64 [s+512], 1; @%p1 mbarrier.init.shared::cta.b64 [s+520], 1;
             @%p1 mbarrier.init.shared::cta.b64 [s+528], 32; @%p1 mbarrier.init.shared::cta.b64 [s+536], 32;
             @%p1 fence.mbarrier_init.release.cluster; {MEET} mov.u32 %r5, s; {NEXT} mov.u32 %r9, %r7;
             add.u32 %r8, %r2, %r3; sub.u32 %r8, %r8, 1; rem.u32 %r8, %r8, %r3; mapa.shared::cluster.u32 %r10, %r5, %r8; mov.u32 %r11, 0; mov.u32 %r12, %r4;
             L: and.b32 %r13, %r11, 1; shl.b32 %r14, %r13, 3; shr.u32 %r15, %r11, 1; and.b32 %r15, %r15, 1; shl.b32 %r13, %r13, 7; add.u32 %r16, %r5, %r14;
             @!%p1 bra C; setp.lt.u32 %p2, %r11, 2; @%p2 bra P; xor.b32 %r17, %r15, 1;
             V: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3, [%r16+528], %r17; @!%p3 bra V;
             P: add.u32 %r17, %r9, %r13; st.shared::cluster.u32 [%r17], %r12; add.u32 %r17, %r9, %r14;
             mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r17+512];
             C: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3, [%r16+512], %r15; @!%p3 bra C;
             add.u32 %r17, %r5, %r13; ld.shared.u32 %r12, [%r17]; add.u32 %r17, %r10, %r14;
             mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r17+528];
             add.u32 %r12, %r12, 10; add.u32 %r11, %r11, 1; setp.lt.u32 %p4, %r11, 9; @%p4 bra L; st.global.u32 [%d3], %r12; {last}"
        )
    };
    for (blocks, cluster) in [(4, 2), (8, 4), (8, 8)] {
        let left = left((blocks, cluster, 32), &body(MEET)).expect("runs");
        for block in 0..blocks {
            let (first, rank) = (block / cluster * cluster, block % cluster);
            let from = first + (rank + 9 * cluster - 9) % cluster;
            assert_eq!(left[(block * 32) as usize..][..32], [from + 90; 32], "{cluster} {block}");
        }
    }
    for (from, to, expected) in [
        ("setp.lt.u32 %p2, %r11, 2; @%p2 bra P;", "bra P;", "there is no barrier between them"),
        (
            "arrive.release.cluster.shared",
            "arrive.relaxed.cluster.shared",
            "there is no barrier between them",
        ),
        ("parity.acquire.cluster", "parity.relaxed.cluster", "there is no barrier between them"),
        (MEET, "", "of its cluster may still access its shared memory"),
    ] {
        let body = match from {
            MEET => body(""),
            _ => body(MEET).replace(from, to),
        };
        let error = left((4, 4, 32), &body).expect_err(expected);
        assert!(error.contains(expected), "{error}");
    }
}

/// Four words of each thread go to the other block, which may end once they have come.
#[test]
fn stores_that_complete_bytes() {
    let body = format!(
        "{} @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 512; {NEXT} mov.u32 %r9, m; mapa.shared::cluster.u32 %r9, %r9, %r8;
         {MEET} mad.lo.u32 %r7, %r1, 16, %r7; add.u32 %r10, %r6, 1; add.u32 %r11, %r6, 2;
         st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%r7], {{%r6, %r10, %r11, %r6}}, [%r9]; {WAIT}
         mad.lo.u32 %r12, %r1, 16, %r5; ld.shared.v4.u32 {{%r13, %r14, %r15, %r16}}, [%r12]; add.u32 %r13, %r13, %r15; st.global.u32 [%d3], %r13;",
        object(1)
    );
    let expected: Vec<u32> = (32..64).chain(0..32).map(|thread| 2 * thread + 2).collect();
    assert_eq!(left((2, 2, 32), &body).expect("runs")[..64], expected);
    let wrong = body.replace("16, %r7;", "16, %r7; add.u32 %r7, %r7, 4;");
    let error = left((2, 2, 32), &wrong).expect_err("an address");
    assert!(
        error.contains("copies 16 bytes at 0x4 of shared memory, which is not a multiple of 16"),
        "{error}"
    );
}

/// One block of a cluster copies for all; two bring a half each.
#[test]
fn copies_to_several_blocks() {
    let read =
        format!("mad.lo.u32 %r9, %r1, 4, %r5; ld.shared.u32 %r9, [%r9]; st.global.u32 [%d3], %r9; {MEET}");
    let copy = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster";
    let one = format!(
        "{} @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 128; setp.eq.and.u32 %p2, %r2, 1, %p1; mov.b16 %h, 13;
         @%p2 {copy} [s], [%d1], 128, [m], %h; setp.eq.u32 %p4, %r2, 1; @%p4 bra E; {WAIT} {read} E:",
        object(1)
    );
    let one = one.replace("%h", "%rs1").replacen(
        object(1).as_str(),
        &format!(".reg .b16 %rs<2>; {}", object(1)),
        1,
    );
    let one = one.replace(" E:", " bra X; E: mbarrier.try_wait.parity.shared::cta.b64 %p3, [m], 0;")
        + &format!("{MEET} X:");
    let expected: Vec<u32> =
        [1, 0, 1, 1].into_iter().flat_map(|has| (1000..1032).map(move |word| word * has)).collect();
    assert_eq!(left((4, 4, 32), &one).expect("runs")[..128], expected);

    let halves = format!(
        "{} @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 128; mul.lo.u32 %r10, %r2, 64; add.u32 %r11, %r5, %r10;
         cvt.u64.u32 %d5, %r10; add.u64 %d5, %d5, %d1; @%p1 {copy} [%r11], [%d5], 64, [m], 3; {WAIT} {read}",
        object(1)
    );
    let expected: Vec<u32> = (1000..1032).chain(1000..1032).collect();
    assert_eq!(left((2, 2, 32), &halves).expect("runs")[..64], expected);
    let beyond = halves.replace("[m], 3;", "[m], 7;");
    let error = left((2, 2, 32), &beyond).expect_err("a mask");
    assert!(error.contains("the mask 0x7 names block 2 of a cluster of 2"), "{error}");
}

/// Shared memory of a block goes to the next one.
#[test]
fn copies_across() {
    let across = |after: &str, barrier: &str| {
        format!(
            "{} @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 128; mad.lo.u32 %r9, %r1, 4, %r5; st.shared.u32 [%r9], %r6;
             fence.proxy.async.shared::cta; {NEXT} mov.u32 %r10, m; mapa.shared::cluster.u32 %r11, %r10, {barrier}; {MEET}
             add.u32 %r7, %r7, 512; @!%p1 bra A;
             cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r7], [s], 128, [%r11]; A: {after}
             {WAIT} add.u32 %r9, %r9, 512; ld.shared.u32 %r9, [%r9]; st.global.u32 [%d3], %r9; {MEET}",
            object(1)
        )
    };
    let expected: Vec<u32> = (64..96).chain(0..64).collect();
    assert_eq!(left((3, 3, 32), &across("", "%r8")).expect("runs")[..96], expected);
    let exits = "setp.eq.u32 %p2, %r2, 1; @%p2 exit;";
    for (after, barrier, expected) in [
        (exits, "%r8", "the block ends while a copy to another block may still read its shared memory"),
        (
            "st.shared.u32 [s], 1;",
            "%r8",
            "writes shared memory at 0x0, which a bulk copy reads that was not waited for",
        ),
        ("", "%r2", "of the cluster, and completes an mbarrier object of block"),
    ] {
        let error = left((3, 3, 32), &across(after, barrier)).expect_err(expected);
        assert!(error.contains(expected), "{error}");
    }
}

/// Of a cluster of one block the barrier is one of the block.
#[test]
fn the_barrier_of_a_cluster_orders_all_warps() {
    let body = |barrier: &str| {
        format!(
            "mad.lo.u32 %r9, %r1, 4, %r5; st.shared.u32 [%r9], %r1; {barrier}
             xor.b32 %r10, %r1, 63; mad.lo.u32 %r10, %r10, 4, %r5; ld.shared.u32 %r10, [%r10]; st.global.u32 [%d3], %r10;"
        )
    };
    let expected: Vec<u32> = (0..64).rev().chain((0..64).rev()).collect();
    for cluster in [1, 2] {
        for barrier in [MEET, &MEET.replace(".aligned", ""), "barrier.cluster.arrive; barrier.cluster.wait;"]
        {
            assert_eq!(left((2, cluster, 64), &body(barrier)).expect(barrier)[..128], expected, "{barrier}");
        }
        let relaxed = MEET.replace("release", "relaxed");
        let error = left((2, cluster, 64), &body(&relaxed)).expect_err("relaxed");
        assert!(error.contains("there is no barrier between them"), "{error}");
        left((2, cluster, 64), &body(&format!("fence.acq_rel.cluster; {relaxed}"))).expect("a fence");
    }
    // threads that have ended are not waited for
    let early = format!("setp.ge.u32 %p2, %r1, 32; @%p2 exit; {MEET} st.global.u32 [%d3], 1;");
    let expected: Vec<u32> = [1; 32].into_iter().chain([0; 32]).chain([1; 32]).collect();
    assert_eq!(left((2, 2, 64), &early).expect("runs")[..96], expected);
}

#[test]
fn what_is_wrong_between_blocks_is_an_error() {
    let store = "st.shared.u32 [s], %r1;";
    for (name, body, expected) in [
        (
            "no barrier before a read",
            format!("{MEET} @%p1 {store} {NEXT} ld.shared::cluster.u32 %r9, [%r7]; {MEET}"),
            "writes shared memory at 0x0, which warp 1 of block 1 of the cluster reads: there is no barrier between them",
        ),
        (
            "no barrier between writes",
            format!("{MEET} {NEXT} @%p1 st.shared::cluster.u32 [%r7], %r2; @%p1 st.shared.u32 [s], 77; {MEET}"),
            "writes shared memory at 0x0, which warp 0 of block",
        ),
        (
            "a block ends before it is read",
            format!("@%p1 {store} {MEET} {NEXT} setp.eq.u32 %p2, %r2, 1; @%p2 ld.shared::cluster.u32 %r9, [%r7];"),
            "the block ends while block (1, 0, 0) of its cluster may still access its shared memory: a barrier of the cluster",
        ),
        (
            "a block has ended",
            format!(
                "setp.eq.u32 %p2, %r2, 0; @%p2 exit; {NEXT} L: add.u32 %r9, %r9, 1; setp.lt.u32 %p4, %r9, 100; @%p4 bra L; st.shared::cluster.u32 [%r7], 1;"
            )
            .replace("L:", "mov.u32 %r9, 0; L:"),
            "of its cluster, which has ended: a barrier of the cluster is missing before its end",
        ),
        (
            "a block does not come to the barrier",
            format!(
                "setp.eq.u32 %p2, %r2, 1; @%p2 bra X; {MEET} bra E; X: @%p1 mbarrier.init.shared::cta.b64 [m], 1; bar.sync 0; {WAIT} E:"
            ),
            "phase 0 of the mbarrier object at 0x400 is not complete: 1 of 1 arrivals are missing",
        ),
        (
            "a warp does not come to the barrier",
            "setp.ge.u32 %p2, %r1, 32; @%p2 bra X; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; bra E; X: bar.sync 1, 64; E:"
                .to_owned(),
            "the barrier is not reached by all threads",
        ),
        (
            "a part of a warp does not come to the barrier",
            "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; setp.eq.u32 %p2, %r2, 1; @%p2 bra E;
             barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; E: @!%p2 exit; bar.sync 1, 96;"
                .to_owned(),
            "a barrier waits for a multiple of 32 threads up to 64, not for 96",
        ),
        ("a wait without an arrival", "barrier.cluster.wait.aligned;".to_owned(), "has not arrived there before"),
        (
            "a second arrival",
            "barrier.cluster.arrive.aligned; barrier.cluster.arrive.aligned;".to_owned(),
            "arrives a second time at the barrier of the cluster",
        ),
        (
            "a block that there is not",
            "mov.u32 %r9, 2; mapa.shared::cluster.u32 %r7, %r5, %r9;".to_owned(),
            "maps an address to block 2 of a cluster of 2",
        ),
        (
            "an address that is not shared",
            "mapa.u64 %d5, %d1, 0;".to_owned(),
            "which is not in shared memory",
        ),
        (
            "an object of another block is waited for",
            format!(
                "{} mov.u32 %r5, m; {NEXT} mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r7], 0; {MEET}",
                object(1)
            ),
            "only arrive, expect_tx and complete_tx reach it",
        ),
        (
            "an arrival at an object that was not initialized for others",
            format!(
                "{MEET} @%p1 mbarrier.init.shared::cta.b64 [m], 64; mov.u32 %r5, m; {NEXT} mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r7]; {MEET}"
            ),
            "mbarrier object",
        ),
        (
            "global memory without a barrier",
            format!("@%p1 st.global.u32 [%d2+128], %r2; {MEET}"),
            "which block number",
        ),
    ] {
        let error = left((2, 2, 64), &body).expect_err(name);
        assert!(error.contains(expected), "{name}: {error}");
    }
}

/// A block may not end, nor an object, while bytes of another block may still come.
#[test]
fn what_others_send_is_waited_for() {
    let body = |end: &str| {
        format!(
            "{} @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 4; {NEXT} mov.u32 %r10, m; mapa.shared::cluster.u32 %r11, %r10, %r8; {MEET}
             st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r7], %r4, [%r11]; {MEET} {end} {MEET}",
            object(1)
        )
    };
    left((2, 2, 1), &body(WAIT)).expect("it waits");
    left((2, 2, 1), &body(&format!("{WAIT} mbarrier.inval.shared::cta.b64 [m];"))).expect("it waits first");
    for end in [
        "",
        "mbarrier.inval.shared::cta.b64 [m];",
        "mbarrier.inval.shared::cta.b64 [m]; mbarrier.init.shared::cta.b64 [m], 1;",
    ] {
        let error = left((2, 2, 1), &body(end)).expect_err("nobody waits");
        assert!(error.contains("was not waited for"), "{error}");
    }
}

/// Where all wait, the message says who waits for whom.
#[test]
fn a_missed_barrier_says_who_is_missing() {
    // a warp of block 1 waits for the other one, which waits for it at the barrier of the cluster, as block 0 does
    let body = format!("setp.ge.u32 %p2, %r6, 96; @%p2 bra X; {MEET} exit; X: bar.sync 1, 64;");
    let error = left((2, 2, 64), &body).expect_err("missed");
    let expected = "line 10: the barrier is not reached by all threads: it waits for warp 0, which waits at line 10; \
                    at the barrier of the cluster, line 10, warp 0 of block (0, 0, 0) waits for this block (block (1, 0, 0), thread (0, 0, 0))";
    assert_eq!(error, expected);
    let body =
        format!("{} setp.eq.u32 %p2, %r2, 0; @%p2 bra X; {WAIT} X: {MEET}", object(1)).replace("\n", " ");
    let error = left((2, 2, 64), &body).expect_err("missed");
    let expected = "phase 0 of the mbarrier object at 0x400 is not complete: 1 of 1 arrivals are missing; at the barrier of the cluster, \
                    line 10, warp 0 of block (0, 0, 0) waits for this block";
    assert!(error.contains(expected), "{error}");
}
