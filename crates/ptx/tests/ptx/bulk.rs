//! Bulk copies of bytes that lie together, and the barrier objects that they complete.

use bitmma_ptx::{Argument, Buffer, Kernel, Launch, Limits, Mode, Program};

fn kernel(text: &str) -> Result<Kernel, String> {
    let program = Program::parse(text).map_err(|error| error.to_string())?;
    program.kernel(None, None, Mode::Text).map_err(|error| error.to_string())
}

/// What threads leave of x, whose words count from 1000 on, and y, which is zero: 64 words each.
fn left(text: &str) -> Result<[Vec<u32>; 2], String> {
    let kernel = kernel(text)?;
    let buffer = |name: &str, words: Vec<u32>| Buffer {
        name: name.to_owned(),
        bytes: words.iter().flat_map(|word| word.to_le_bytes()).collect(),
        ..Buffer::default()
    };
    let mut buffers = vec![buffer("x", (1000..1064).collect()), buffer("y", vec![0; 64])];
    let launch =
        Launch { limits: Limits { threads: 1, ..Limits::default() }, ..Launch::new(&kernel, [1; 3]) };
    let arguments = [0, 1].map(|buffer| Argument::Pointer { buffer, offset: 0 });
    launch.run(&arguments, &mut buffers, &mut || false).map_err(|error| error.to_string())?;
    let words = |buffer: &Buffer| {
        buffer.bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
    };
    Ok([words(&buffers[0]), words(&buffers[1])])
}

/// The same of a body: `%r1` is the thread's number, `%d1` and `%d2` point to x and y, `%d3` and `%d4` to the thread's word of them; thread
/// 0 (`%p1`), and no other before all go on, has initialized the object m for one arrival.
fn of_body(threads: u32, body: &str) -> Result<[Vec<u32>; 2], String> {
    left(&format!(
        ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry one(.param .u64 x, .param .u64 y)\n.reqntid {threads}\n{{\n\
         .reg .pred %p<6>; .reg .b32 %r<9>; .reg .b64 %d<9>; .shared .align 128 .b8 s[256]; .shared .align 8 .b8 m[16];\n\
         ld.param.b64 %d1, [x]; ld.param.b64 %d2, [y]; mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r1, 32;\n\
         mad.wide.u32 %d3, %r1, 4, %d1; mad.wide.u32 %d4, %r1, 4, %d2; mov.u32 %r2, s; mad.lo.u32 %r2, %r1, 4, %r2;\n\
         @%p1 mbarrier.init.shared::cta.b64 [m], 1; bar.sync 0;\n\
         {body}\nret;\n}}\n"
    ))
}

/// Thread 0 copies 128 bytes of x to shared memory.
const LOAD: &str = "@!%p1 bra L; mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 128;
cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [%d1], 128, [m]; L:";
const WAIT: &str = "W: mbarrier.try_wait.parity.shared::cta.b64 %p3, [m], 0; @!%p3 bra W;";
/// Each thread copies its word of shared memory to y.
const READ: &str = "ld.shared.u32 %r3, [%r2]; st.global.u32 [%d4], %r3;";
/// Each thread writes its number to shared memory.
const FILL: &str = "st.shared.u32 [%r2], %r1; fence.proxy.async.shared::cta; bar.sync 0;";
/// Thread 0 copies 128 bytes of shared memory to x.
const STORE: &str =
    "@!%p1 bra E; cp.async.bulk.global.shared::cta.bulk_group [%d1], [s], 128; cp.async.bulk.commit_group;";

/// What a thread leaves of 64 bytes that it copies to shared memory and back, in 32 and 32 bytes; `from` makes the address that the
/// first half is copied from, of %d1.
fn copied(from: &str, bytes: u32) -> Result<Vec<u32>, String> {
    let [_, mut y] = of_body(
        1,
        &format!(
            "add.s64 %d4, %d1, 32; add.s64 %d5, %d2, 32; mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 64;\n\
             {from}\nmov.b32 %r1, {bytes};\n\
             cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [%d3], %r1, [m];\n\
             cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s+32], [%d4], 32, [m];\n\
             {WAIT}\n\
             cp.async.bulk.global.shared::cta.bulk_group [%d5], [s], 32;\n\
             cp.async.bulk.global.shared::cta.bulk_group [%d2], [s+32], 32;\n\
             cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
        ),
    )?;
    y.truncate(16);
    Ok(y)
}

#[test]
fn bytes_are_copied_in_and_out() {
    let expected: Vec<u32> = (1008..1016).chain(1000..1008).collect();
    assert_eq!(copied("mov.b64 %d3, %d1;", 32).expect("runs"), expected);
}

#[test]
fn copies_of_other_addresses_and_sizes_are_errors() {
    for (from, bytes, expected) in [
        ("add.s64 %d3, %d1, 8;", 32, "multiples of 16, not"),
        ("mov.b64 %d3, %d1;", 24, "multiples of 16, not 0x18"),
        ("add.s64 %d3, %d1, 240;", 32, "which has 256 bytes"),
        // it goes beyond the last address
        ("mov.b64 %d3, -16;", 32, "which is in no buffer"),
        ("mov.b64 %d3, 0;", 32, "the pointer is null"),
        ("mov.b64 %d3, %d1;", 16, "is not complete: 16 bytes are missing"),
    ] {
        let error = copied(from, bytes).expect_err(from);
        assert!(error.contains(expected), "{from} {bytes}: {error}");
    }
}

#[test]
fn copies_combine_with_what_is_there() {
    let stored = |op: &str| {
        let store = STORE.replace(
            "cp.async.bulk.global.shared::cta.bulk_group",
            &format!("cp.reduce.async.bulk.global.shared::cta.bulk_group.{op}"),
        );
        of_body(32, &format!("{FILL} {store} cp.async.bulk.wait_group 0; E:"))
    };
    let of = |f: fn(u32, u32) -> u32| -> Vec<u32> { (0..32).map(|at| f(1000 + at, at)).collect() };
    for (op, f) in [
        ("add.u32", (|x, s| x + s) as fn(u32, u32) -> u32),
        ("max.s32", u32::max),
        ("min.u32", u32::min),
        ("and.b32", |x, s| x & s),
        ("or.b32", |x, s| x | s),
        ("xor.b32", |x, s| x ^ s),
        ("inc.u32", |_, _| 0),
        ("dec.u32", |_, s| s),
    ] {
        assert_eq!(stored(op).expect(op)[0][..32], of(f), "{op}");
    }
    // as ptxas has it
    for op in [
        "min.f32",
        "max.f64",
        "add.s64",
        "inc.s32",
        "dec.u64",
        "and.u32",
        "xor.f16",
        "add.f16",
        "min.noftz.f16",
    ] {
        let error = stored(op).expect_err(op);
        assert!(error.contains("of a bulk copy takes") || error.contains("noftz"), "{op}: {error}");
    }
}

/// Bodies that run: threads, body, and the first words of x and of y.
#[test]
fn copies_that_are_waited_for_are_seen() {
    let read: Vec<u32> = (1000..1032).collect();
    let numbers: Vec<u32> = (0..32).collect();
    for (name, threads, body, x, y) in [
        ("a load", 32, format!("{LOAD} {WAIT} {READ}"), &read, &read),
        // a barrier of the block lets the other threads read what one waited for
        (
            "one thread waits for others, which see that at once",
            64,
            format!(
                "{LOAD} setp.ge.u32 %p4, %r1, 32; @%p4 bra B; {WAIT} B: bar.sync 0;
                 mbarrier.test_wait.parity.shared::cta.b64 %p3, [m], 0; @!%p3 trap; and.b32 %r2, %r2, 127; {READ}"
            ),
            &read,
            &read,
        ),
        (
            "the source is overwritten after the wait",
            64,
            format!("{LOAD} setp.ge.u32 %p4, %r1, 32; @%p4 bra B; {WAIT} {READ} B: bar.sync 0; @%p4 st.global.u32 [%d3], 7;"),
            &read,
            &read,
        ),
        ("a store", 32, format!("{FILL} {STORE} cp.async.bulk.wait_group 0; E:"), &numbers, &vec![0; 32]),
        (
            "a store, and a read after its wait",
            64,
            format!("and.b32 %r1, %r1, 31; {FILL} {STORE} cp.async.bulk.wait_group 0; E: bar.sync 0; ld.global.u32 %r3, [%d3]; and.b32 %r3, %r3, 31; @%p1 st.global.u32 [%d4], %r3;"),
            &numbers,
            &vec![0; 32],
        ),
        (
            "a fence of the thread that copies",
            32,
            format!("{} @%p1 fence.proxy.async; {STORE} cp.async.bulk.wait_group 0; E:", FILL.replace("fence.proxy.async.shared::cta;", "")),
            &numbers,
            &vec![0; 32],
        ),
        (
            "a copy of what was copied needs no fence",
            32,
            format!("{LOAD} {WAIT} @!%p1 bra E; cp.async.bulk.global.shared::cta.bulk_group [%d2], [s], 128; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; E:"),
            &read,
            &read,
        ),
        (
            "shared memory is written after its read",
            32,
            format!("{FILL} {STORE} cp.async.bulk.wait_group.read 0; E: bar.sync 0; st.shared.u32 [%r2], 9; @%p1 cp.async.bulk.wait_group 0;"),
            &numbers,
            &vec![0; 32],
        ),
        (
            "a relaxed wait, and a fence",
            32,
            format!("{LOAD} {} fence.acq_rel.cta; {READ}", WAIT.replace("parity", "parity.relaxed.cta")),
            &read,
            &read,
        ),
        (
            "a fence, and a relaxed arrival",
            64,
            format!(
                "@%p1 st.shared.u32 [s], 1000; @%p1 fence.acq_rel.cta; @%p1 mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [m];
                 {WAIT} ld.shared.u32 %r3, [s]; sub.u32 %r3, %r3, 1000; st.global.u32 [%d4], %r3;"
            ),
            &read,
            &vec![0; 32],
        ),
        ("memory of an object that is no more", 32, "@%p1 mbarrier.inval.shared.b64 [m]; bar.sync 0; @%p1 st.shared.u32 [m], 5;".to_owned(), &read, &vec![0; 32]),
        // what no result depends on may be undefined
        (
            "pending arrivals of a state that no thread has",
            32,
            "@%p1 mbarrier.arrive.shared::cta.b64 %d5, [m]; mbarrier.pending_count.b64 %r3, %d5; @%p1 st.global.u32 [%d2], %r3;".to_owned(),
            &read,
            &[1].into_iter().chain([0; 31]).collect(),
        ),
    ] {
        let [left_x, left_y] = of_body(threads, &body).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!((&left_x[..32], &left_y[..32]), (&x[..], &y[..]), "{name}");
    }
}

#[test]
fn what_is_not_waited_for_is_an_error() {
    let start = std::time::Instant::now();
    for (name, threads, body, expected) in [
        (
            "the source is overwritten by the thread",
            32,
            format!("{LOAD} @%p1 st.global.u32 [%d1], 7; {WAIT} {READ}"),
            "writes bytes 0 to 3 of x, which a bulk copy reads that was not waited for",
        ),
        (
            "the source is overwritten by another warp",
            64,
            format!("{LOAD} bar.sync 0; @%p2 st.global.u32 [%d1], 7; setp.ge.u32 %p4, %r1, 32; @%p4 bra E; {WAIT} {READ} E:"),
            "writes bytes 0 to 3 of x, which a bulk copy reads that was not waited for",
        ),
        (
            "the result is read at once",
            32,
            format!("{FILL} {STORE} ld.global.u32 %r3, [%d1]; cp.async.bulk.wait_group 0; E:"),
            "reads bytes 0 to 3 of x, which a bulk copy writes that was not waited for",
        ),
        (
            "the result is read when the source was",
            32,
            format!("{FILL} {STORE} cp.async.bulk.wait_group.read 0; ld.global.u32 %r3, [%d1]; E:"),
            "reads bytes 0 to 3 of x, which a bulk copy writes that was not waited for",
        ),
        (
            "another warp reads the result without a barrier after the wait",
            64,
            format!("and.b32 %r1, %r1, 31; {FILL} {STORE} E: bar.sync 0; @%p1 cp.async.bulk.wait_group 0; @%p2 ld.global.u32 %r3, [%d1];"),
            "reads bytes 0 to 3 of x, which warp 0 of the same block writes: there is no barrier between them",
        ),
        (
            "two loads to the same bytes",
            32,
            format!("{LOAD} @%p1 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s+112], [%d1], 16, [m]; {WAIT}"),
            "copies to shared memory at 0x70, which a cp.async writes that was not waited for",
        ),
        (
            "a relaxed wait",
            32,
            format!("{LOAD} {} {READ}", WAIT.replace("parity", "parity.relaxed.cta")),
            "reads shared memory at 0x0, which a cp.async writes that was not waited for",
        ),
        (
            "a relaxed arrival",
            64,
            format!("@%p1 st.shared.u32 [s], 1000; @%p1 mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [m]; {WAIT} ld.shared.u32 %r3, [s];"),
            "reads shared memory at 0x0, which warp 0 writes: there is no barrier between them",
        ),
        (
            "no fence before a copy",
            64,
            format!("{} {STORE} cp.async.bulk.wait_group.read 0; E:", FILL.replace("fence.proxy.async.shared::cta;", "")),
            "copies shared memory at 0x0, which warp 0 wrote: there is no fence.proxy.async between them",
        ),
        (
            "a fence of global memory alone before a copy",
            64,
            format!("{} {STORE} cp.async.bulk.wait_group.read 0; E:", FILL.replace("async.shared::cta", "async.global")),
            "copies shared memory at 0x0, which warp 0 wrote: there is no fence.proxy.async between them",
        ),
        (
            "a fence before what another warp writes",
            64,
            format!("@%p1 fence.proxy.async; bar.sync 0; @%p2 st.shared.u32 [s], 1; bar.sync 0; {STORE} cp.async.bulk.wait_group.read 0; E:"),
            "copies shared memory at 0x0, which warp 1 wrote: there is no fence.proxy.async between them",
        ),
        ("nobody waits for the read", 32, format!("{FILL} {STORE} E:"), "cp.async.bulk.wait_group.read is missing"),
        ("an object is overwritten", 32, "@%p1 st.shared.u32 [m+4], 5;".to_owned(), "writes shared memory at 0x104, where an mbarrier object is (at 0x100)"),
        ("an object is read", 32, "ld.shared.u32 %r3, [m];".to_owned(), "reads shared memory at 0x100, where an mbarrier object is"),
        (
            "a copy to an object",
            32,
            format!("@%p1 mbarrier.init.shared::cta.b64 [s+64], 1; {LOAD}"),
            "copies to shared memory at 0x40, where an mbarrier object is",
        ),
        ("a second start", 32, "@%p1 mbarrier.init.shared::cta.b64 [m], 2;".to_owned(), "0x100 of shared memory a second time: mbarrier.inval must come first"),
        (
            "too many bytes",
            32,
            "@%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 1048576;".to_owned(),
            "at most 1048575 bytes that are expected or have come, not 1048576",
        ),
        ("nobody arrives", 64, format!("@%p2 bra E; {WAIT} E:"), "is not complete: 1 of 1 arrivals are missing"),
        (
            "a state that no thread has decides",
            32,
            "@%p2 mbarrier.arrive.shared::cta.b64 %d5, [m]; mbarrier.pending_count.b64 %r3, %d5; st.global.u32 [%d4], %r3;".to_owned(),
            "depends on",
        ),
    ] {
        let error = of_body(threads, &body).expect_err(name);
        assert!(error.contains(expected), "{name}: {error}");
    }
    // a deadlock is known at once
    assert!(start.elapsed() < std::time::Duration::from_secs(5), "{:?}", start.elapsed());
}

#[test]
fn boxes_have_as_many_coordinates_as_the_instruction_says() {
    for (dimensions, coordinates, expected) in
        [(2, "%r1, %r1, %r1", "takes 2 coordinates, not 3"), (3, "%r1, %r1", "takes 3 coordinates, not 2")]
    {
        let body = format!(
            "cp.async.bulk.tensor.{dimensions}d.shared::cta.global.tile.mbarrier::complete_tx::bytes [s], [%d1, {{{coordinates}}}], [m];"
        );
        let error = of_body(32, &body).expect_err(&body);
        assert!(error.contains(expected), "{error}");
    }
}
