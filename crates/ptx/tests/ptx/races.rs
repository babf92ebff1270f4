//! Kernels whose threads meet in memory: correct ones run, and each race is an error with both lines and threads.

use bitmma_ptx::{Argument, Buffer, Error, Launch, Limits, Mode, Program};

/// A kernel of some threads, whose body starts on line 9. `%r1`: the thread, `%r2`: the block, `%r3`: the warp, `%r4`: the lane,
/// `%r5`: blocks; `%d1`: the buffer, `%d2`: this thread's word of the buffer, `%r6`: this thread's word of shared memory.
fn text(target: &str, body: &str) -> String {
    format!(
        ".version 8.4\n.target {target}\n.address_size 64\n.shared .align 128 .b8 s[16384];\n\
         .visible .entry kernel(.param .u64 .ptr .global .align 16 p)\n{{\n\
         .reg .pred %p<9>; .reg .b16 %h<9>; .reg .f32 %f<20>; .reg .b32 %r<80>; .reg .b64 %d<20>;\n\
         ld.param.b64 %d1, [p]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; shr.u32 %r3, %r1, 5; and.b32 %r4, %r1, 31; \
         mov.u32 %r5, %nctaid.x; mul.wide.u32 %d3, %r1, 4; add.s64 %d2, %d1, %d3; mov.b32 %r7, s; shl.b32 %r6, %r1, 2; \
         add.s32 %r6, %r6, %r7; mov.u32 %r8, 0; mov.u32 %r9, 1;\n{body}\nret;\n}}\n"
    )
}

/// The buffer after a launch of blocks of some threads; it starts with the numbers of its words.
fn run(body: &str, blocks: u32, threads: u32, change: impl Fn(&mut Launch<'_>)) -> Result<Vec<u32>, Error> {
    let target = if body.contains("wgmma") { "sm_90a" } else { "sm_80" };
    let kernel = Program::parse(&text(target, body))?.kernel(None, None, Mode::Gpu)?;
    let mut launch = Launch {
        block: Some([threads, 1, 1]),
        limits: Limits { turns: 100_000, threads: 2 },
        ..Launch::new(&kernel, [blocks, 1, 1])
    };
    change(&mut launch);
    let bytes = (0..4096u32).flat_map(u32::to_le_bytes).collect();
    let mut buffers = [Buffer { bytes, name: "argument 0".to_owned(), written: false }];
    launch.run(&[Argument::Pointer { buffer: 0, offset: 0 }], &mut buffers, &mut || false)?;
    Ok(buffers[0].bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().expect("four"))).collect())
}

/// A kernel that is correct: its name, blocks and threads, its body, and some words that it leaves.
pub(crate) type Correct = (&'static str, u32, u32, &'static str, &'static [(usize, u32)]);

/// The sum of all words of a block's threads, by shuffles and shared memory, in `%r20` of the first warp.
macro_rules! block_sum {
    () => {
        "shfl.sync.bfly.b32 %r21, %r20, 16, 31, -1; add.u32 %r20, %r20, %r21;
         shfl.sync.bfly.b32 %r21, %r20, 8, 31, -1; add.u32 %r20, %r20, %r21;
         shfl.sync.bfly.b32 %r21, %r20, 4, 31, -1; add.u32 %r20, %r20, %r21;
         shfl.sync.bfly.b32 %r21, %r20, 2, 31, -1; add.u32 %r20, %r20, %r21;
         shfl.sync.bfly.b32 %r21, %r20, 1, 31, -1; add.u32 %r20, %r20, %r21;
         setp.eq.u32 %p1, %r4, 0; shl.b32 %r22, %r3, 2; add.u32 %r22, %r22, %r7;
         @%p1 st.shared.b32 [%r22], %r20;
         bar.sync 0;
         ld.shared.v4.b32 {%r23, %r24, %r25, %r26}, [%r7];
         add.u32 %r20, %r23, %r24; add.u32 %r20, %r20, %r25; add.u32 %r20, %r20, %r26;
         bar.sync 0;"
    };
}

const CORRECT: &[Correct] = &[
    (
        "a reduction by shuffles and shared memory",
        1,
        128,
        concat!(
            "ld.global.b32 %r20, [%d2];",
            block_sum!(),
            "setp.eq.u32 %p2, %r1, 0; @%p2 st.global.b32 [%d1+4096], %r20;"
        ),
        &[(1024, 8128)],
    ),
    (
        "a reduction as a tree in shared memory",
        1,
        128,
        "ld.global.b32 %r20, [%d2]; st.shared.b32 [%r6], %r20; bar.sync 0; mov.u32 %r10, 64;
         again: setp.ge.u32 %p1, %r1, %r10; @%p1 bra skip;
         shl.b32 %r11, %r10, 2; add.u32 %r11, %r11, %r6; ld.shared.b32 %r12, [%r11]; ld.shared.b32 %r13, [%r6];
         add.u32 %r13, %r13, %r12; st.shared.b32 [%r6], %r13;
         skip: bar.sync 0; shr.u32 %r10, %r10, 1; setp.ne.u32 %p2, %r10, 0; @%p2 bra again;
         ld.shared.b32 %r14, [%r7]; st.global.b32 [%d2+4096], %r14;",
        &[(1024, 8128), (1151, 8128)],
    ),
    (
        "the last warp of a reduction, with volatile shared memory",
        1,
        64,
        "ld.global.b32 %r20, [%d2]; st.volatile.shared.b32 [%r6], %r20; bar.sync 0;
         setp.ge.u32 %p1, %r1, 32; @%p1 bra end;
         ld.volatile.shared.b32 %r10, [%r6]; ld.volatile.shared.b32 %r11, [%r6+128]; add.u32 %r10, %r10, %r11;
         st.volatile.shared.b32 [%r6], %r10; st.global.b32 [%d2+4096], %r10;
         end:",
        &[(1024, 32), (1025, 34)],
    ),
    (
        "a transposition with padding",
        1,
        128,
        // 4 rows of 32, each with one word of padding
        "mad.lo.u32 %r10, %r3, 33, %r4; shl.b32 %r10, %r10, 2; add.u32 %r10, %r10, %r7; ld.global.b32 %r11, [%d2];
         st.shared.b32 [%r10], %r11; bar.sync 0; and.b32 %r12, %r1, 3; shr.u32 %r13, %r1, 2; mad.lo.u32 %r14, %r12, 33, %r13;
         shl.b32 %r14, %r14, 2; add.u32 %r14, %r14, %r7; ld.shared.b32 %r15, [%r14]; st.global.b32 [%d2], %r15;",
        &[(0, 0), (1, 32), (2, 64), (4, 1)],
    ),
    (
        "tiles by cp.async, double buffered",
        1,
        128,
        "mov.u32 %r10, 0; mov.u32 %r12, 0; mov.b64 %d4, %d2;
         cp.async.ca.shared.global [%r6], [%d4], 4; cp.async.commit_group;
         again: add.u32 %r10, %r10, 1; setp.eq.u32 %p1, %r10, 8; @%p1 bra last;
         and.b32 %r13, %r10, 1; shl.b32 %r13, %r13, 9; add.u32 %r13, %r13, %r6; add.s64 %d4, %d4, 512;
         cp.async.ca.shared.global [%r13], [%d4], 4;
         last: cp.async.commit_group; cp.async.wait_group 1; bar.sync 0;
         sub.u32 %r14, %r10, 1; and.b32 %r14, %r14, 1; shl.b32 %r14, %r14, 9; xor.b32 %r15, %r1, 127; shl.b32 %r15, %r15, 2;
         add.u32 %r14, %r14, %r15; add.u32 %r14, %r14, %r7; ld.shared.b32 %r16, [%r14]; add.u32 %r12, %r12, %r16; bar.sync 0;
         @!%p1 bra again; st.global.b32 [%d2+8192], %r12;",
        &[(2048, 4600), (2049, 4592)],
    ),
    (
        "a histogram with shared and global atomics",
        4,
        128,
        "setp.lt.u32 %p1, %r1, 16; @%p1 st.shared.b32 [%r6], %r8; bar.sync 0;
         and.b32 %r10, %r1, 15; shl.b32 %r10, %r10, 2; add.u32 %r10, %r10, %r7; red.shared.add.u32 [%r10], 1; bar.sync 0;
         @!%p1 bra end; ld.shared.b32 %r11, [%r6]; red.global.add.u32 [%d2+4096], %r11;
         end:",
        &[(1024, 1024 + 32), (1039, 1039 + 32)],
    ),
    (
        "a histogram of bytes: each thread has its own",
        1,
        64,
        "and.b32 %r11, %r1, 15; mul.lo.u32 %r11, %r11, 4; shr.u32 %r12, %r1, 4; add.u32 %r11, %r11, %r12;
         add.u32 %r11, %r11, %r7; mov.u16 %h1, 0; st.shared.u8 [%r11], %h1; ld.shared.u8 %h2, [%r11]; add.u16 %h2, %h2, 1; st.shared.u8 [%r11], %h2;
         bar.sync 0; ld.shared.b32 %r13, [%r6]; setp.lt.u32 %p1, %r1, 16; @%p1 st.global.b32 [%d2], %r13;",
        &[(0, 0x0101_0101), (15, 0x0101_0101)],
    ),
    (
        "two warps on different bytes of a word, in turns",
        1,
        64,
        "mov.u16 %h1, 5; shl.b32 %r10, %r4, 2; add.u32 %r10, %r10, %r7; add.u32 %r10, %r10, %r3; mov.u32 %r11, 0;
         again: st.shared.u8 [%r10], %h1; ld.shared.u8 %h2, [%r10+2]; ld.shared.u8 %h1, [%r10];
         add.u16 %h1, %h1, 1; add.u32 %r11, %r11, 1; setp.lt.u32 %p1, %r11, 9; @%p1 bra again;
         bar.sync 0; setp.lt.u32 %p2, %r1, 32; @%p2 ld.shared.u16 %h3, [%r10]; @%p2 cvt.u32.u16 %r12, %h3; @%p2 st.global.b32 [%d2], %r12;",
        &[(0, 0x0d0d), (31, 0x0d0d)],
    ),
    (
        "rows of odd length of bytes, in place, a block each",
        64,
        32,
        "setp.ge.u32 %p1, %r1, 13; @%p1 bra end; mad.lo.u32 %r10, %r2, 13, %r1; cvt.u64.u32 %d4, %r10; add.s64 %d4, %d4, %d1;
         ld.global.u8 %h1, [%d4]; add.u16 %h1, %h1, 1; st.global.u8 [%d4], %h1;
         end:",
        &[(0, 0x0101_0101), (1, 0x0101_0102), (3, 0x0101_0104)],
    ),
    (
        "rows of odd length of halves, in place, a block of two warps each",
        16,
        64,
        "setp.ge.u32 %p1, %r1, 45; @%p1 bra end; mad.lo.u32 %r10, %r2, 45, %r1; mul.wide.u32 %d4, %r10, 2; add.s64 %d4, %d4, %d1;
         ld.global.u16 %h1, [%d4]; add.u16 %h1, %h1, 1; st.global.u16 [%d4], %h1;
         end:",
        &[(0, 0x0001_0001), (22, 0x0001_0017), (23, 0x0001_0018)],
    ),
    (
        "a row in place, with a barrier between the loads of all and the stores",
        4,
        128,
        "mul.lo.u32 %r10, %r2, 128; mul.wide.u32 %d4, %r10, 4; add.s64 %d4, %d4, %d1; add.s64 %d5, %d4, %d3; ld.global.b32 %r11, [%d4];
         ld.global.b32 %r12, [%d5]; bar.sync 0; add.u32 %r12, %r12, %r11; st.global.b32 [%d5], %r12;",
        &[(0, 0), (127, 127), (128, 256), (130, 258)],
    ),
    (
        "warps that load the same row, of which one stores",
        1,
        128,
        "mul.wide.u32 %d4, %r4, 4; add.s64 %d4, %d4, %d1; ld.global.b32 %r10, [%d4]; add.u32 %r10, %r10, 1; setp.eq.u32 %p1, %r3, 0;
         @%p1 st.global.b32 [%d4], %r10;",
        &[(0, 1), (31, 32), (32, 32)],
    ),
    (
        "warps that all store the same",
        1,
        128,
        "mul.wide.u32 %d4, %r4, 4; add.s64 %d4, %d4, %d1; st.global.b32 [%d4], %r4; st.shared.b32 [%r7], %r5; bar.sync 0;
         ld.shared.b32 %r10, [%r7]; st.global.b32 [%d2+4096], %r10;",
        &[(5, 5), (1024, 1), (1151, 1)],
    ),
    (
        "a store of what is there already, which other blocks read",
        4,
        32,
        "ld.global.b32 %r10, [%d1+400]; mov.u32 %r11, 100; st.global.b32 [%d1+400], %r11; mad.lo.u32 %r12, %r2, 32, %r1;
         mul.wide.u32 %d4, %r12, 4; add.s64 %d4, %d4, %d1; st.global.b32 [%d4+4096], %r10;",
        &[(100, 100), (1024, 100), (1151, 100)],
    ),
    (
        "a producer and a consumer with named barriers",
        1,
        64,
        "mov.u32 %r10, 0; setp.eq.u32 %p1, %r3, 0; mov.u32 %r14, 0; shl.b32 %r15, %r4, 2; add.u32 %r15, %r15, %r7; @%p1 bra produce;
         bar.arrive 2, 64;
         consume: bar.sync 1, 64; ld.shared.b32 %r12, [%r15]; add.u32 %r14, %r14, %r12; add.u32 %r10, %r10, 1;
         bar.arrive 2, 64;
         setp.lt.u32 %p2, %r10, 5; @%p2 bra consume; mul.wide.u32 %d4, %r4, 4; add.s64 %d4, %d4, %d1; st.global.b32 [%d4], %r14; bra end;
         produce: bar.sync 2, 64; add.u32 %r13, %r4, %r10; st.shared.b32 [%r15], %r13; bar.arrive 1, 64; add.u32 %r10, %r10, 1;
         setp.lt.u32 %p2, %r10, 5; @%p2 bra produce; bar.sync 2, 64;
         end:",
        &[(0, 10), (1, 15), (31, 165)],
    ),
    (
        "named barriers of pairs of warps",
        1,
        128,
        "shr.u32 %r10, %r3, 1; add.u32 %r10, %r10, 1; st.shared.b32 [%r6], %r1; bar.sync %r10, 64; xor.b32 %r11, %r6, 128;
         ld.shared.b32 %r12, [%r11]; bar.sync %r10, 64; st.shared.b32 [%r6], %r12; bar.sync %r10, 64; ld.shared.b32 %r13, [%r11];
         bar.sync 0; st.global.b32 [%d2], %r13;",
        &[(0, 0), (40, 40), (127, 127)],
    ),
    (
        "flags between warps in shared memory",
        1,
        64,
        "setp.eq.u32 %p1, %r3, 1; setp.eq.u32 %p2, %r4, 0; shl.b32 %r15, %r4, 2; add.u32 %r15, %r15, %r7;
         setp.eq.u32 %p3, %r1, 0; @%p3 st.shared.b32 [%r7+4096], %r8; bar.sync 0; @%p1 bra produce;
         wait: ld.acquire.cta.shared.b32 %r10, [%r7+4096]; setp.eq.u32 %p4, %r10, 0; @%p4 bra wait;
         ld.shared.b32 %r11, [%r15]; st.global.b32 [%d2], %r11; bra end;
         produce: st.shared.b32 [%r15], %r1; bar.warp.sync -1; @%p2 st.release.cta.shared.b32 [%r7+4096], %r9;
         end:",
        &[(0, 32), (31, 63)],
    ),
    (
        "flags between blocks, with release and acquire",
        4,
        32,
        // each block waits for the next one, and adds to what it left
        "mul.wide.u32 %d4, %r2, 4; add.s64 %d4, %d4, %d1; add.u32 %r10, %r2, 1; setp.eq.u32 %p1, %r10, %r5; mov.u32 %r11, 0; @%p1 bra go;
         wait: ld.acquire.gpu.global.b32 %r12, [%d4+404]; setp.lt.u32 %p2, %r12, 1000; @%p2 bra wait;
         ld.global.b32 %r11, [%d4+804];
         go: add.u32 %r11, %r11, %r10; setp.ne.u32 %p3, %r1, 0; @%p3 bra end; st.global.b32 [%d4+800], %r11; mov.u32 %r13, 1000;
         st.release.gpu.global.b32 [%d4+400], %r13;
         end:",
        &[(200, 10), (201, 9), (203, 4)],
    ),
    (
        "decoupled look-back: flags with fences, and all threads of a block behind a barrier",
        4,
        64,
        "mul.wide.u32 %d4, %r2, 4; add.s64 %d4, %d4, %d1; setp.ne.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r2, 0; mov.u32 %r11, 0; @%p1 bra all;
         @%p2 bra first;
         wait: ld.relaxed.gpu.global.b32 %r12, [%d4+396]; setp.lt.u32 %p3, %r12, 1000; @%p3 bra wait;
         fence.acq_rel.gpu; ld.global.b32 %r11, [%d4+796];
         first: st.shared.b32 [%r7], %r11; add.u32 %r13, %r11, 64; st.global.b32 [%d4+800], %r13; membar.gl; mov.u32 %r13, 1000;
         st.volatile.global.b32 [%d4+400], %r13;
         all: bar.sync 0; ld.shared.b32 %r14, [%r7]; add.u32 %r14, %r14, %r1; mad.lo.u32 %r15, %r2, 64, %r1; mul.wide.u32 %d5, %r15, 4;
         add.s64 %d5, %d5, %d1; st.global.b32 [%d5+4096], %r14;",
        &[(1024, 0), (1088, 64), (1279, 255)],
    ),
    (
        "the last block sums what the others left: fence, atomic, barrier",
        4,
        64,
        "mul.wide.u32 %d4, %r2, 4; add.s64 %d4, %d4, %d1; setp.ne.u32 %p1, %r1, 0; @%p1 bra all; add.u32 %r10, %r2, 10;
         st.global.b32 [%d4+400], %r10; membar.gl; atom.global.inc.u32 %r11, [%d1], 3; st.shared.b32 [%r7], %r11;
         all: bar.sync 0; ld.shared.b32 %r12, [%r7]; setp.ne.u32 %p2, %r12, 3; @%p2 bra end;
         setp.ge.u32 %p3, %r1, 4; mov.u32 %r13, 0; @!%p3 ld.global.b32 %r13, [%d2+400]; redux.sync.add.u32 %r13, %r13, -1;
         setp.eq.u32 %p4, %r1, 0; @%p4 st.global.b32 [%d1+4096], %r13;
         end:",
        &[(1024, 46)],
    ),
    (
        "split-K: blocks add to a tile in turns, by a semaphore",
        4,
        64,
        "setp.ne.u32 %p1, %r1, 0; @%p1 bra ready; mov.u32 %r18, 3; sub.u32 %r18, %r18, %r2;
         wait: ld.global.acquire.gpu.b32 %r10, [%d1]; setp.ne.u32 %p2, %r10, %r18; @%p2 bra wait;
         ready: bar.sync 0; ld.global.b32 %r11, [%d2+4096]; add.u32 %r11, %r11, 1; st.global.b32 [%d2+4096], %r11; bar.sync 0;
         @%p1 bra end; add.u32 %r12, %r18, 1; st.global.release.gpu.b32 [%d1], %r12;
         end:",
        &[(1024, 1028), (1087, 1091), (0, 4)],
    ),
    (
        "sums under a lock, as a backward pass of layer norm adds them",
        8,
        64,
        "setp.ne.u32 %p1, %r1, 0; @%p1 bra ready;
         wait: atom.global.acq_rel.gpu.cas.b32 %r10, [%d1], 0, 1; setp.ne.u32 %p2, %r10, 0; @%p2 bra wait;
         ready: bar.sync 0; ld.global.b32 %r11, [%d2+4096]; add.u32 %r11, %r11, %r2; st.global.b32 [%d2+4096], %r11; bar.sync 0;
         @%p1 bra end; atom.global.acq_rel.gpu.exch.b32 %r12, [%d1], 0;
         end:",
        &[(1024, 1024 + 28), (0, 0)],
    ),
    (
        "a lock per lane",
        2,
        64,
        // a lock is free while its word has its number
        "mul.wide.u32 %d4, %r4, 4; add.s64 %d4, %d4, %d1; add.u32 %r13, %r4, 128;
         again: atom.global.cas.b32 %r10, [%d4+512], %r13, 1; setp.eq.u32 %p1, %r10, 1; @%p1 bra again; membar.gl;
         ld.global.b32 %r11, [%d4+4096]; add.u32 %r11, %r11, 1; st.global.b32 [%d4+4096], %r11; membar.gl;
         atom.global.exch.b32 %r12, [%d4+512], %r13;",
        &[(1024, 1028), (1055, 1059)],
    ),
    (
        "a lock per lane in shared memory",
        1,
        128,
        "setp.lt.u32 %p1, %r1, 32; @%p1 st.shared.b32 [%r6], %r8; @%p1 st.shared.b32 [%r6+1024], %r8; bar.sync 0;
         shl.b32 %r15, %r4, 2; add.u32 %r15, %r15, %r7;
         again: atom.shared.cas.b32 %r10, [%r15], 0, 1; setp.ne.u32 %p2, %r10, 0; @%p2 bra again;
         fence.acq_rel.cta; ld.shared.b32 %r11, [%r15+1024]; add.u32 %r11, %r11, %r1; st.shared.b32 [%r15+1024], %r11; fence.acq_rel.cta;
         atom.shared.exch.b32 %r12, [%r15], 0; bar.sync 0; ld.shared.b32 %r13, [%r15+1024]; st.global.b32 [%d2], %r13;",
        &[(0, 192), (31, 316)],
    ),
    (
        "a barrier of the grid",
        4,
        64,
        "mad.lo.u32 %r10, %r2, 64, %r1; mul.wide.u32 %d4, %r10, 4; add.s64 %d4, %d4, %d1; st.global.b32 [%d4+4096], %r10; bar.sync 0;
         setp.ne.u32 %p1, %r1, 0; @%p1 bra met; membar.gl; atom.global.add.u32 %r11, [%d1], 1;
         wait: ld.volatile.global.b32 %r11, [%d1]; setp.ne.u32 %p2, %r11, 4; @%p2 bra wait; membar.gl;
         met: bar.sync 0; xor.b32 %r12, %r10, 255; mul.wide.u32 %d5, %r12, 4; add.s64 %d5, %d5, %d1; ld.global.b32 %r13, [%d5+4096];
         st.global.b32 [%d4+8192], %r13;",
        &[(2048, 255), (2303, 0)],
    ),
    (
        "the backward pass of an embedding: atomic additions to rows",
        8,
        64,
        "and.b32 %r10, %r2, 1; mad.lo.u32 %r10, %r10, 64, %r1; mul.wide.u32 %d4, %r10, 4; add.s64 %d4, %d4, %d1;
         red.global.add.u32 [%d4+4096], 1;",
        &[(1024, 1028), (1151, 1155)],
    ),
    (
        "an atomic counter that hands out work",
        4,
        64,
        "setp.ne.u32 %p1, %r1, 0;
         again: @%p1 bra wait; atom.global.add.u32 %r10, [%d1], 1; st.shared.b32 [%r7], %r10;
         wait: bar.sync 0; ld.shared.b32 %r11, [%r7]; bar.sync 0; setp.ge.u32 %p2, %r11, 16; @%p2 bra end;
         mad.lo.u32 %r12, %r11, 64, %r1; mul.wide.u32 %d4, %r12, 4; add.s64 %d4, %d4, %d1; st.global.b32 [%d4+4096], %r11; bra again;
         end:",
        &[(1024, 0), (1024 + 64, 1), (2047, 15)],
    ),
    (
        "wgmma on two stages, which copies refill when it was waited for",
        1,
        128,
        "mov.u32 %r70, 0; shl.b32 %r16, %r1, 4; add.u32 %r16, %r16, %r7; mul.wide.u32 %d8, %r1, 16;
         add.s64 %d9, %d1, %d8; mov.b64 %d10, 0x0000001000080000; mov.b64 %d11, 0x0000001000080100;
         cp.async.cg.shared.global [%r16], [%d9], 16; cp.async.cg.shared.global [%r16+2048], [%d9], 16; cp.async.commit_group;
         cp.async.cg.shared.global [%r16+4096], [%d9], 16; cp.async.cg.shared.global [%r16+6144], [%d9], 16; cp.async.commit_group;
         again: cp.async.wait_group 1; bar.sync 0; and.b32 %r17, %r70, 1; setp.eq.u32 %p2, %r17, 1; selp.b64 %d12, %d11, %d10, %p2;
         mad.lo.u32 %r18, %r17, 4096, %r16; wgmma.fence.sync.aligned;
         wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r20, %r21, %r22, %r23}, %d12, %d12, 0, 1, 1, 0, 0;
         wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; bar.sync 0;
         cp.async.cg.shared.global [%r18], [%d9], 16; cp.async.cg.shared.global [%r18+2048], [%d9], 16; cp.async.commit_group;
         add.u32 %r70, %r70, 1; setp.lt.u32 %p1, %r70, 4; @%p1 bra again; cp.async.wait_all; st.global.b32 [%d2+8192], %r70;",
        &[(2048, 4)],
    ),
    (
        "matrices through shared memory",
        1,
        64,
        "mad.lo.u32 %r10, %r1, 16, %r7; st.shared.v4.b32 [%r10], {%r1, %r1, %r1, %r1}; bar.sync 0; mad.lo.u32 %r11, %r4, 16, %r7;
         ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r12, %r13, %r14, %r15}, [%r11]; bar.sync 0; st.shared.v2.b32 [%r10], {%r12, %r13};
         bar.sync 0; ld.shared.b32 %r16, [%r10]; st.global.b32 [%d2], %r16;",
        &[(4, 1), (36, 1)],
    ),
    (
        "threads that end before a barrier of the others",
        1,
        128,
        "st.shared.b32 [%r6], %r1; bar.sync 0; setp.ge.u32 %p1, %r3, 2; ld.shared.b32 %r10, [%r7+508]; @%p1 bra end;
         bar.sync 3, 64; st.shared.b32 [%r6], %r10; bar.sync 3, 64; xor.b32 %r11, %r6, 128; ld.shared.b32 %r12, [%r11]; st.global.b32 [%d2], %r12;
         end:",
        &[(0, 127), (63, 127)],
    ),
    (
        "an online softmax: the row's sum in shared memory, then the row in place",
        4,
        128,
        concat!(
            "mad.lo.u32 %r10, %r2, 128, %r1; mul.wide.u32 %d4, %r10, 4; add.s64 %d4, %d4, %d1; ld.global.b32 %r30, [%d4];
             mov.u32 %r20, %r30;",
            block_sum!(),
            "sub.u32 %r20, %r20, %r30; st.global.b32 [%d4], %r20;"
        ),
        &[(0, 8128), (1, 8127), (128, 8128 + 128 * 127)],
    ),
    (
        "a scan in shared memory, two buffers in turns",
        1,
        64,
        "st.shared.b32 [%r6], %r9; bar.sync 0; mov.u32 %r10, 1; mov.u32 %r11, 0;
         again: xor.b32 %r12, %r11, 1024; add.u32 %r13, %r6, %r11; add.u32 %r14, %r6, %r12; ld.shared.b32 %r15, [%r13];
         setp.lt.u32 %p1, %r1, %r10; @%p1 bra put; shl.b32 %r16, %r10, 2; sub.u32 %r16, %r13, %r16; ld.shared.b32 %r17, [%r16];
         add.u32 %r15, %r15, %r17;
         put: st.shared.b32 [%r14], %r15; bar.sync 0; mov.u32 %r11, %r12; shl.b32 %r10, %r10, 1; setp.lt.u32 %p2, %r10, 64; @%p2 bra again;
         st.global.b32 [%d2], %r15;",
        &[(0, 1), (63, 64)],
    ),
    (
        "blocks that read beyond their tile and write another buffer's part",
        4,
        64,
        "mad.lo.u32 %r10, %r2, 64, %r1; mul.wide.u32 %d4, %r10, 4; add.s64 %d4, %d4, %d1; ld.global.b32 %r11, [%d4]; ld.global.b32 %r12, [%d4+4];
         add.u32 %r11, %r11, %r12; st.global.b32 [%d4+8192], %r11;",
        &[(2048, 1), (2303, 511)],
    ),
    (
        "bar.red, whose result all warps use",
        1,
        64,
        "setp.gt.u32 %p1, %r1, 10; st.shared.b32 [%r6], %r1; bar.red.popc.u32 %r10, 0, %p1; xor.b32 %r11, %r6, 128; ld.shared.b32 %r12, [%r11];
         add.u32 %r12, %r12, %r10; st.global.b32 [%d2], %r12;",
        &[(0, 32 + 53), (63, 31 + 53)],
    ),
    (
        "relaxed atomics on one word, and volatile reads of it",
        4,
        64,
        "atom.relaxed.gpu.global.max.u32 %r10, [%d1], %r1; ld.volatile.global.b32 %r11, [%d1]; ld.relaxed.gpu.global.b32 %r12, [%d1];",
        &[(0, 63)],
    ),
    (
        "the last block sets the counter back by a plain store",
        8,
        64,
        "setp.ne.u32 %p1, %r1, 0; @%p1 bra end; mul.wide.u32 %d4, %r2, 4; add.s64 %d4, %d4, %d1; st.global.b32 [%d4+4096], %r2;
         fence.acq_rel.gpu; atom.global.inc.u32 %r10, [%d1], 7; setp.ne.u32 %p2, %r10, 7; @%p2 bra end; fence.acq_rel.gpu;
         ld.global.b32 %r11, [%d1+4096]; ld.global.b32 %r12, [%d1+4124]; add.u32 %r11, %r11, %r12; st.global.b32 [%d1+8], %r11;
         st.global.b32 [%d1], %r9; end:",
        &[(0, 1), (2, 7)],
    ),
    (
        "a long ring of two consumers, which named barriers order",
        1,
        128,
        "setp.eq.u32 %p1, %r3, 3; @%p1 bra end; shl.b32 %r10, %r4, 2; add.u32 %r10, %r10, %r7; mov.u32 %r11, 0; setp.ne.u32 %p2, %r3, 0;
         again: @%p2 bra read; st.shared.b32 [%r10], %r11; read: bar.sync 1, 96; ld.shared.b32 %r12, [%r10]; bar.sync 1, 96;
         add.u32 %r11, %r11, 1; setp.lt.u32 %p3, %r11, 20000; @%p3 bra again; st.global.b32 [%d2], %r12; end:",
        &[(0, 19_999), (95, 19_999), (96, 96)],
    ),
    (
        "all threads fence before a barrier, and one of them counts after it",
        4,
        64,
        "mad.lo.u32 %r10, %r2, 64, %r1; mul.wide.u32 %d4, %r10, 4; add.s64 %d4, %d4, %d1; st.global.b32 [%d4+4096], %r10; membar.gl; bar.sync 0;
         setp.ne.u32 %p1, %r1, 0; @%p1 bra met; atom.global.add.u32 %r11, [%d1], 1; st.shared.b32 [%r7], %r11;
         met: bar.sync 0; ld.shared.b32 %r12, [%r7]; setp.ne.u32 %p2, %r12, 3; @%p2 bra end; ld.global.b32 %r13, [%d2+4096]; ld.global.b32 %r14, [%d2+4864];
         add.u32 %r13, %r13, %r14; st.global.b32 [%d2+8192], %r13; end:",
        &[(2048, 192), (2048 + 63, 192 + 126), (0, 4)],
    ),
    (
        "a flag that another warp sets back by a plain store, after one that has seen it",
        2,
        64,
        "setp.eq.u32 %p1, %r2, 1; @%p1 bra produce; setp.ne.u32 %p2, %r1, 0; @%p2 bra met;
         wait: ld.volatile.global.b32 %r10, [%d1]; setp.ne.u32 %p3, %r10, 9; @%p3 bra wait;
         met: bar.sync 0; setp.ne.u32 %p4, %r1, 40; @%p4 bra end; ld.global.b32 %r11, [%d1]; st.global.b32 [%d1], %r9; bra end;
         produce: mov.u32 %r12, 9; setp.eq.u32 %p2, %r1, 0; @%p2 st.volatile.global.b32 [%d1], %r12; end:",
        &[(0, 1)],
    ),
    (
        "a flag that is set back by a plain store, behind a barrier of the grid",
        4,
        32,
        "setp.ne.u32 %p1, %r1, 0; @%p1 bra end; ld.volatile.global.b32 %r10, [%d1+400]; membar.gl; atom.global.add.u32 %r11, [%d1], 1;
         setp.ne.u32 %p2, %r11, 3; @%p2 bra end; membar.gl; st.global.b32 [%d1+400], %r9; end:",
        &[(0, 4), (100, 1)],
    ),
];

/// All of them run, and leave what is expected.
pub(crate) fn all_run(kernels: &[Correct]) {
    let mut wrong = vec![];
    for (name, blocks, threads, body, expected) in kernels {
        match run(body, *blocks, *threads, |_| {}) {
            Err(error) => wrong.push(format!("{name}: {error}")),
            Ok(words) => {
                for (at, word) in *expected {
                    if words[*at] != *word {
                        wrong.push(format!("{name}: word {at} is {}, not {word}", words[*at]));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), kernels.len(), wrong.join("\n"));
}

#[test]
fn correct_kernels_run() {
    all_run(CORRECT);
}

/// A kernel with a race: its name, blocks and threads, its body, and parts of the message.
pub(crate) type Wrong = (&'static str, u32, u32, &'static str, &'static [&'static str]);

const RACES: &[Wrong] = &[
    (
        "three warps, of which two add up, without carries, what the first stores",
        1,
        96,
        "setp.ne.u32 %p2, %r4, 0; @%p2 bra end; setp.eq.u32 %p1, %r3, 0; @%p1 bra other;\nld.global.b32 %r10, [%d1+4096];\n\
         red.global.xor.b32 [%d1+8192], %r10; bra end;\nother: st.global.b32 [%d1+4096], 7; end:",
        &["line 12: writes bytes 4096 to 4099 of argument 0, which", "the other access is line 10"],
    ),
    (
        "no barrier after a store to shared memory",
        1,
        64,
        "st.shared.b32 [%r6], %r1;\nxor.b32 %r10, %r6, 128; ld.shared.b32 %r11, [%r10];",
        &[
            "line 9: writes shared memory at 0x80, which warp 0 reads",
            "the other access is line 10, block (0, 0, 0), thread (0, 0, 0) (block (0, 0, 0), thread (32, 0, 0))",
        ],
    ),
    (
        "no barrier between two steps of a tree",
        1,
        128,
        "st.shared.b32 [%r6], %r1; bar.sync 0;\nsetp.ge.u32 %p1, %r1, 64; @%p1 bra skip; ld.shared.b32 %r10, [%r6+256];\n\
         st.shared.b32 [%r6], %r10;\nskip: setp.ge.u32 %p1, %r1, 32; @%p1 bra end; ld.shared.b32 %r10, [%r6+128]; st.shared.b32 [%r6], %r10;\nend:",
        &["shared memory at 0x80", "there is no barrier between them", "the other access is line"],
    ),
    (
        "an atomic operation elsewhere orders nothing",
        1,
        64,
        "setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.b32 [%r7+4096], %r8; bar.sync 0;\nst.shared.b32 [%r6], %r1;\n\
         atom.shared.add.u32 %r12, [%r7+4096], 1; xor.b32 %r10, %r6, 128;\nld.shared.b32 %r11, [%r10];",
        &[
            "line 10: writes shared memory at 0x80, which warp 0 reads",
            "the other access is line 12, block (0, 0, 0), thread (0, 0, 0)",
        ],
    ),
    (
        "a named barrier of other warps orders nothing",
        1,
        128,
        "st.shared.b32 [%r6], %r1;\nsetp.ge.u32 %p1, %r3, 2; @%p1 bra other; bar.sync 1, 64; bra joined; other: bar.sync 2, 64;\njoined:\n\
         xor.b32 %r10, %r6, 256; ld.shared.b32 %r11, [%r10];",
        &["line 12: reads shared memory", "the other access is line 9"],
    ),
    (
        "two warps store one value, and a third reads",
        1,
        96,
        "setp.ge.u32 %p1, %r3, 2; @%p1 bra read; mov.u32 %r10, 7; st.shared.b32 [%r7], %r10; bra end;\n\
         read: ld.shared.b32 %r11, [%r7];\nend:",
        &[
            "line 10: reads shared memory at 0x0, which warp",
            "thread (64, 0, 0)",
            "the other access is line 9",
        ],
    ),
    (
        "two warps store neighbouring halves, and a third reads both",
        1,
        96,
        "setp.ge.u32 %p1, %r3, 2; @%p1 bra read; shl.b32 %r10, %r3, 1; add.u32 %r10, %r10, %r7; st.shared.u16 [%r10], %r3; bra end;\n\
         read: ld.shared.b32 %r11, [%r7];\nend:",
        &[
            "line 10: reads shared memory at 0x0, which warp",
            "the other access is line 9",
            "thread (64, 0, 0)",
        ],
    ),
    (
        "the second of neighbouring halves is read",
        1,
        96,
        "setp.ge.u32 %p1, %r3, 2; @%p1 bra read; shl.b32 %r10, %r3, 1; add.u32 %r10, %r10, %r7; st.shared.u16 [%r10], %r3; bra end;\n\
         read: ld.shared.u16 %h1, [%r7+2];\nend:",
        &[
            "line 10: reads shared memory at 0x2, which warp 1 writes",
            "the other access is line 9, block (0, 0, 0), thread (32, 0, 0)",
        ],
    ),
    (
        "a copy refills what others still read",
        1,
        64,
        "st.shared.b32 [%r6], %r1; bar.sync 0; xor.b32 %r10, %r6, 128; setp.eq.u32 %p1, %r3, 0; @%p1 bra refill; ld.shared.b32 %r11, [%r10];\n\
         bra end; refill: cp.async.ca.shared.global [%r6], [%d2], 4; cp.async.wait_all;\nend:",
        &[
            "line 9: reads shared memory at 0x0, which warp 0 writes: there is no barrier between them; the other access is line 10",
            "thread (32, 0, 0)",
        ],
    ),
    (
        "a copy that another warp did not wait for with a barrier",
        1,
        64,
        "cp.async.ca.shared.global [%r6], [%d2], 4; cp.async.wait_all;\nxor.b32 %r10, %r6, 128; ld.shared.b32 %r11, [%r10];",
        &[
            "line 9: copies to shared memory at 0x80, which warp 0 reads",
            "thread (32, 0, 0)",
            "the other access is line 10, block (0, 0, 0), thread (0, 0, 0)",
        ],
    ),
    (
        "a copy refills what another warp has read",
        1,
        64,
        "st.shared.b32 [%r6], %r1; bar.sync 0; xor.b32 %r10, %r6, 128; setp.eq.u32 %p1, %r3, 1; @%p1 bra refill; ld.shared.b32 %r11, [%r10];\n\
         bra end; refill: cp.async.ca.shared.global [%r6], [%d2], 4; cp.async.wait_all;\nend:",
        &[
            "line 10: copies to shared memory at 0x80, which warp 0 reads",
            "the other access is line 9, block (0, 0, 0), thread (0, 0, 0)",
        ],
    ),
    (
        "a store to where a copy is under way",
        1,
        32,
        "cp.async.ca.shared.global [%r6], [%d2], 4;\nst.shared.b32 [%r6], %r1;",
        &["line 10: writes shared memory at 0x0, which a cp.async writes that was not waited for"],
    ),
    (
        "a wgmma that was not waited for reads what a copy refills",
        1,
        128,
        "mad.lo.u32 %r10, %r1, 32, %r7; st.shared.v4.b32 [%r10], {%r1, %r1, %r1, %r1}; st.shared.v4.b32 [%r10+16], {%r1, %r1, %r1, %r1}; fence.proxy.async; bar.sync 0;\n\
         mov.b64 %d10, 0x0000001000080000; wgmma.fence.sync.aligned;\n\
         wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r20, %r21, %r22, %r23}, %d10, %d10, 0, 1, 1, 0, 0;\n\
         wgmma.commit_group.sync.aligned; bar.sync 0;\nst.shared.b32 [%r6], %r1;",
        &["line 13: writes shared memory at 0x0, which a matrix product reads that was not waited for"],
    ),
    (
        "a plain store beside atomics that start before it",
        1,
        64,
        "setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.b32 [%r7], %r8;\n@!%p1 atom.shared.add.u32 %r10, [%r7], 1;",
        &[
            "line 10: ",
            "shared memory at 0x0, which warp 0 writes",
            "thread (32, 0, 0)",
            "the other access is line",
        ],
    ),
    (
        "a plain read of a counter, no barrier after the atomics",
        1,
        64,
        "setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.b32 [%r7], %r8; bar.sync 0;\nred.shared.add.u32 [%r7], 1;\nld.shared.b32 %r10, [%r7];",
        &["shared memory at 0x0", "there is no barrier between them"],
    ),
    (
        "a block writes what another reads",
        4,
        32,
        "mad.lo.u32 %r10, %r2, 32, %r1; mul.wide.u32 %d4, %r10, 4; add.s64 %d4, %d4, %d1;\nld.global.b32 %r11, [%d4+4];\n\
         st.global.b32 [%d4], %r11;",
        &["of argument 0, which block number", "of the same launch", "the other access is line 1"],
    ),
    (
        "one global atomic does not hide a race of blocks",
        4,
        32,
        "atom.global.add.u32 %r12, [%d1], 1;\nst.global.b32 [%d2+4096], %r2;",
        &[
            "line 10: writes bytes 4096 to 4099 of argument 0, which block number 0 of the same launch writes too",
            "the other access is line 10, block (0, 0, 0)",
        ],
    ),
    (
        "a step counter that all warps load and one stores, and use",
        1,
        128,
        "ld.global.b32 %r10, [%d1];\nsetp.eq.u32 %p1, %r1, 0; add.u32 %r11, %r10, 1; @%p1 st.global.b32 [%d1], %r11;\n\
         st.global.b32 [%d2+4096], %r10;",
        &[
            "line 10: writes bytes 0 to 3 of argument 0, which warp",
            "of the same block reads: there is no barrier",
            "the other access is line 9",
        ],
    ),
    (
        "a row in place that is read again",
        1,
        128,
        "ld.global.b32 %r10, [%d2]; add.u32 %r10, %r10, 5;\nst.global.b32 [%d2], %r10;\nxor.b32 %r11, %r1, 127; mul.wide.u32 %d4, %r11, 4;\n\
         add.s64 %d4, %d4, %d1; ld.global.b32 %r12, [%d4]; st.global.b32 [%d2+4096], %r12;",
        &[
            "line 12: reads bytes",
            "of argument 0, which warp",
            "of the same block writes",
            "the other access is line 10",
        ],
    ),
    (
        "warps of a block store different values to one place",
        1,
        64,
        "mul.wide.u32 %d4, %r4, 4; add.s64 %d4, %d4, %d1;\nst.global.b32 [%d4], %r1;",
        &[
            "line 10: writes bytes 0 to 3 of argument 0, which warp 0 of the same block writes",
            "thread (32, 0, 0)",
        ],
    ),
    (
        "a flag without a release",
        2,
        32,
        "setp.eq.u32 %p1, %r2, 1; @%p1 bra produce;\nwait: ld.acquire.gpu.global.b32 %r10, [%d1]; setp.eq.u32 %p2, %r10, 0; @%p2 bra wait;\n\
         ld.global.b32 %r11, [%d2+4096]; bra end;\nproduce: add.u32 %r12, %r1, 5; st.global.b32 [%d2+4096], %r12;\n\
         st.relaxed.gpu.global.b32 [%d1], %r9;\nend:",
        &[
            "line 11: reads bytes 4096 to 4099 of argument 0, which block number 1 of the same launch writes",
            "the other access is line 12",
        ],
    ),
    (
        "a flag without an acquire",
        2,
        32,
        "setp.eq.u32 %p1, %r2, 1; @%p1 bra produce;\nwait: ld.volatile.global.b32 %r10, [%d1]; setp.eq.u32 %p2, %r10, 0; @%p2 bra wait;\n\
         ld.global.b32 %r11, [%d2+4096]; bra end;\nproduce: add.u32 %r12, %r1, 5; st.global.b32 [%d2+4096], %r12; membar.gl;\n\
         st.volatile.global.b32 [%d1], %r9;\nend:",
        &["line 11: reads bytes 4096 to 4099 of argument 0", "the other access is line 12"],
    ),
    (
        "a flag that is released to the block alone",
        2,
        32,
        "setp.eq.u32 %p1, %r2, 1; @%p1 bra produce;\nwait: ld.acquire.gpu.global.b32 %r10, [%d1]; setp.eq.u32 %p2, %r10, 0; @%p2 bra wait;\n\
         ld.global.b32 %r11, [%d2+4096]; bra end;\nproduce: add.u32 %r12, %r1, 5; st.global.b32 [%d2+4096], %r12;\n\
         st.release.cta.global.b32 [%d1], %r9;\nend:",
        &["line 13: writes bytes 0 to 3 of argument 0, which block number 0", "the other access is line 10"],
    ),
    (
        "a flag that a weak store sets",
        2,
        32,
        "setp.eq.u32 %p1, %r2, 1; @%p1 bra produce;\nwait: ld.acquire.gpu.global.b32 %r10, [%d1]; setp.eq.u32 %p2, %r10, 7; @!%p2 bra wait;\n\
         bra end;\nproduce: mov.u32 %r12, 7;\nst.global.b32 [%d1], %r12;\nend:",
        &["line 13: writes bytes 0 to 3 of argument 0, which block number 0", "the other access is line 10"],
    ),
    (
        "a lock without a fence before it is given back",
        2,
        32,
        "setp.ne.u32 %p1, %r1, 0; @%p1 bra end;\nwait: atom.acquire.gpu.global.cas.b32 %r10, [%d1], 0, 1; setp.ne.u32 %p2, %r10, 0; @%p2 bra wait;\n\
         ld.global.b32 %r11, [%d1+400]; add.u32 %r11, %r11, 1;\nst.global.b32 [%d1+400], %r11;\n\
         atom.relaxed.gpu.global.exch.b32 %r12, [%d1], 0;\nend:",
        &[
            "line 11: reads bytes 400 to 403 of argument 0, which block number 0",
            "the other access is line 12",
        ],
    ),
    (
        "a barrier of the block before a flag, but no other warp's fence or barrier after it",
        2,
        64,
        "setp.eq.u32 %p1, %r2, 1; @%p1 bra produce; setp.ne.u32 %p3, %r1, 0; @%p3 bra read;\n\
         wait: ld.acquire.gpu.global.b32 %r10, [%d1]; setp.eq.u32 %p2, %r10, 0; @%p2 bra wait;\n\
         read: ld.global.b32 %r11, [%d2+4096]; bra end;\nproduce: add.u32 %r12, %r1, 5; st.global.b32 [%d2+4096], %r12; bar.sync 0;\n\
         st.release.gpu.global.b32 [%d1], %r9;\nend:",
        &["bytes 4224 to 4227 of argument 0, which block number", "the other access is line 1"],
    ),
    (
        "a producer that refills before the consumer has read",
        1,
        64,
        "setp.eq.u32 %p1, %r3, 0; shl.b32 %r15, %r4, 2; add.u32 %r15, %r15, %r7; @%p1 bra produce; bar.sync 1, 64;\n\
         ld.shared.b32 %r12, [%r15]; bra end;\nproduce: st.shared.b32 [%r15], %r4; bar.sync 1, 64;\nst.shared.b32 [%r15], %r1; add.u32 %r16, %r1, 1;\n\
         st.shared.b32 [%r15], %r16;\nend:",
        &["shared memory at 0x0", "there is no barrier between them"],
    ),
    (
        "an atomic of the block, and a plain store of another block",
        2,
        32,
        "setp.eq.u32 %p1, %r2, 1; @%p1 bra other; red.global.add.u32 [%d2], 1; bra end;\nother: st.global.b32 [%d2], %r8;\nend:",
        &["line 10: writes bytes 0 to 3 of argument 0, which block number 0", "the other access is line 9"],
    ),
    (
        "bytes of one word, one byte off",
        4,
        32,
        "setp.ge.u32 %p1, %r1, 14; @%p1 bra end; mad.lo.u32 %r10, %r2, 13, %r1; cvt.u64.u32 %d4, %r10; add.s64 %d4, %d4, %d1;\n\
         cvt.u16.u32 %h2, %r2; add.u16 %h2, %h2, 50;\nst.global.u8 [%d4], %h2;\nend:",
        &["line 11: writes bytes 13 to 13 of argument 0, which block number", "the other access is line 11"],
    ),
    (
        "cp.async of two warps to one place",
        1,
        64,
        "shl.b32 %r10, %r4, 2; add.u32 %r10, %r10, %r7;\ncp.async.ca.shared.global [%r10], [%d2], 4; cp.async.wait_all;",
        &["line 10: copies to shared memory at 0x0, which warp 0 writes", "the other access is line 10"],
    ),
    (
        "a product's operand rewritten before its wait",
        1,
        128,
        "shl.b32 %r10, %r1, 4; add.u32 %r10, %r10, %r7; st.shared.v4.b32 [%r10], {%r8, %r8, %r8, %r8}; fence.proxy.async; bar.sync 0;\n\
         mov.b64 %d5, 0x0000001000080000; wgmma.fence.sync.aligned;\n\
         wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %d5, %d5, 0, 1, 1, 0, 0;\n\
         wgmma.commit_group.sync.aligned;\nst.shared.v4.b32 [%r10], {%r8, %r9, %r8, %r8};\nwgmma.wait_group.sync.aligned 0;",
        &["line 13: writes shared memory at 0x0, which a matrix product reads that was not waited for"],
    ),
    (
        "a flag before its fence",
        2,
        32,
        "setp.eq.u32 %p1, %r2, 1; @%p1 bra other;\nst.global.b32 [%d2+512], %r1; st.relaxed.gpu.global.b32 [%d1+4000], %r9;\n\
         fence.acq_rel.gpu; bra end;\nother: ld.relaxed.gpu.global.b32 %r10, [%d1+4000]; fence.acq_rel.gpu;\n\
         ld.global.b32 %r11, [%d2+512];\nend:",
        &[
            "line 13: reads bytes 512 to 515 of argument 0, which block number 0",
            "the other access is line 10",
        ],
    ),
    (
        "atomic operations of two blocks, each for its own block",
        2,
        32,
        "red.relaxed.cta.global.add.u32 [%d2], 1;",
        &["line 9: writes bytes 0 to 3 of argument 0, which block number 0", "the other access is line 9"],
    ),
    (
        "an atomic operation of one block that another has for itself",
        2,
        32,
        "setp.eq.u32 %p1, %r2, 1; @%p1 bra other; red.relaxed.gpu.global.add.u32 [%d2], 1; bra end;\n\
         other: red.relaxed.cta.global.add.u32 [%d2], 1;\nend:",
        &["line 10: writes bytes 0 to 3 of argument 0, which block number 0", "the other access is line 9"],
    ),
    (
        "a flag whose reader looks within its block",
        2,
        32,
        "setp.eq.u32 %p1, %r2, 0; @%p1 bra other; ld.relaxed.cta.global.b32 %r10, [%d2]; bra end;\n\
         other: st.relaxed.gpu.global.b32 [%d2], 1; ld.relaxed.cta.global.b32 %r11, [%d2]; st.relaxed.cta.global.b32 [%d2], 2;\nend:",
        &["line 9: reads bytes 0 to 3 of argument 0, which block number 0", "the other access is line 10"],
    ),
    (
        "a plain store after a strong read of another block",
        2,
        32,
        "setp.eq.u32 %p1, %r2, 1; @%p1 bra other; ld.relaxed.gpu.global.b32 %r10, [%d1+4096]; st.global.b32 [%d2], %r10; bra end;\n\
         other: st.global.b32 [%d1+4096], %r8; end:",
        &[
            "line 10: writes bytes 4096 to 4099 of argument 0, which block number 0 of the same launch reads",
            "the other access is line 9, block (0, 0, 0)",
        ],
    ),
    (
        "a strong store after a read of another block that looked within itself",
        2,
        32,
        "setp.eq.u32 %p1, %r2, 1; @%p1 bra other; ld.relaxed.cta.global.b32 %r10, [%d1+4096]; bra end;\n\
         other: st.relaxed.gpu.global.b32 [%d1+4096], %r8; end:",
        &[
            "line 10: writes bytes 4096 to 4099 of argument 0, which block number 0 of the same launch reads",
            "the other access is line 9, block (0, 0, 0)",
        ],
    ),
    (
        "a plain store after a strong read of another warp, in shared memory",
        1,
        64,
        "setp.eq.u32 %p2, %r1, 0; @%p2 st.shared.b32 [%r7], %r8; bar.sync 0; setp.eq.u32 %p1, %r3, 1; @%p1 bra other;\n\
         ld.volatile.shared.b32 %r10, [%r7]; bra end;\nother: st.shared.b32 [%r7], %r9; end:",
        &[
            "line 11: writes shared memory at 0x0, which warp 0 reads",
            "the other access is line 10, block (0, 0, 0), thread (0, 0, 0)",
        ],
    ),
    (
        "a flag that another warp sets back by a plain store, without a barrier",
        2,
        64,
        "setp.eq.u32 %p1, %r2, 1; @%p1 bra produce; setp.eq.u32 %p4, %r1, 40; @%p4 bra reset; setp.ne.u32 %p2, %r1, 0; @%p2 bra end;\n\
         wait: ld.volatile.global.b32 %r10, [%d1]; setp.ne.u32 %p3, %r10, 9; @%p3 bra wait; bra end;\n\
         produce: mov.u32 %r12, 9; setp.eq.u32 %p2, %r1, 0; @%p2 st.volatile.global.b32 [%d1], %r12; bra end;\n\
         reset: st.global.b32 [%d1], %r9; end:",
        &["bytes 0 to 3 of argument 0, which", "the other access is line 1"],
    ),
    (
        "a flag that another block overwrites after it was seen",
        3,
        32,
        "setp.ne.u32 %p4, %r1, 0; @%p4 bra end; setp.eq.u32 %p1, %r2, 1; @%p1 bra produce; mov.u32 %r12, 10;\n\
         wait: ld.volatile.global.b32 %r10, [%d1]; setp.lt.u32 %p3, %r10, 9; @%p3 bra wait; setp.eq.u32 %p2, %r2, 2; @%p2 bra again;\n\
         then: ld.volatile.global.b32 %r10, [%d1+4]; setp.lt.u32 %p3, %r10, 9; @%p3 bra then; st.global.b32 [%d1], %r9; bra end;\n\
         produce: mov.u32 %r12, 9; st.volatile.global.b32 [%d1], %r12; bra end;\n\
         again: st.volatile.global.b32 [%d1], %r12; st.volatile.global.b32 [%d1+4], %r12; end:",
        &["line 11: writes bytes 0 to 3 of argument 0", "the other access is line 13"],
    ),
    (
        "an addition whose result nobody uses orders nothing",
        2,
        32,
        "setp.eq.u32 %p1, %r2, 1; @%p1 bra other; st.global.b32 [%d1+4096], %r9; membar.gl; red.global.add.u32 [%d1], 1; bra end;\n\
         other: atom.global.add.u32 %r11, [%d1], 1; ld.global.b32 %r10, [%d1+4096]; end:",
        &[
            "line 10: reads bytes 4096 to 4099 of argument 0, which block number 0",
            "the other access is line 9",
        ],
    ),
];

#[test]
fn the_error_does_not_depend_on_the_threads_of_this_machine() {
    // every block races with all others, and those above 20 read beyond the buffer, too
    let body = "setp.gt.u32 %p1, %r2, 20; cvt.u64.u32 %d4, %r2; shl.b64 %d4, %d4, 30; add.s64 %d4, %d4, %d1;
                @%p1 ld.global.b32 %r10, [%d4];
                st.global.b32 [%d2], %r2;";
    let error = |threads: usize| {
        run(body, 64, 64, |launch| launch.limits.threads = threads).expect_err("races").to_string()
    };
    let one = error(1);
    for threads in [2, 3, 8].repeat(8) {
        assert_eq!(error(threads), one, "{threads} threads");
    }
}

/// Each of them is an error, with the parts of its message.
pub(crate) fn all_race(kernels: &[Wrong]) {
    let mut missed = vec![];
    for (name, blocks, threads, body, parts) in kernels {
        if let Ok(w) = std::env::var("ONLY")
            && !name.contains(&w)
        {
            continue;
        }
        match run(body, *blocks, *threads, |_| {}) {
            Ok(_) => missed.push(format!("{name}: runs")),
            Err(error) => {
                let text = error.to_string();
                let absent = parts.iter().filter(|part| !text.contains(**part));
                missed.extend(absent.map(|part| format!("{name}: {text}\n    lacks {part}")));
            }
        }
    }
    assert!(missed.is_empty(), "{} of {}:\n{}", missed.len(), kernels.len(), missed.join("\n"));
}

#[test]
fn each_race_is_an_error_with_both_lines() {
    all_race(RACES);
}

#[test]
fn doubtful_kernels_run_in_the_order_of_a_gpu() {
    let body = "ld.global.b32 %r10, [%d1+4]; setp.eq.u32 %p1, %r1, 0; add.u32 %r11, %r10, 1; @%p1 st.global.b32 [%d1+4], %r11;
                st.global.b32 [%d2+4096], %r10;";
    let words = run(body, 1, 128, |launch| launch.allow_doubtful = true).expect("runs");
    assert_eq!((words[1], &words[1024..1152]), (2, &[1; 128][..]));
}

#[test]
fn blocks_that_wait_for_what_nobody_writes_are_an_error() {
    let body = "wait: ld.acquire.gpu.global.b32 %r10, [%d1]; setp.eq.u32 %p1, %r10, 0; @%p1 bra wait;";
    let error = run(body, 3, 32, |launch| launch.limits.turns = u64::MAX).expect_err("waits");
    assert!(error.to_string().contains("the loop waits for a value that no other thread writes"), "{error}");
}
