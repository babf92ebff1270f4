//! First guesses of compare-and-swap loops: those on which no result depends run, and each other one is an error.

use crate::races::{Correct, Wrong, all_race, all_run};

const CORRECT: &[Correct] = &[
    (
        "a guess that comes after a flag, and so after many additions",
        4,
        32,
        "setp.ne.u32 %p2, %r2, 0; @%p2 bra wait; red.global.add.u32 [%d1+4096], 1; bar.sync 0; setp.ne.u32 %p3, %r1, 0; @%p3 bra end;\n\
         fence.acq_rel.gpu; atom.global.exch.b32 %r10, [%d1], 7777; bra end;\n\
         wait: setp.ne.u32 %p3, %r1, 0; @%p3 bra go;\n\
         poll: atom.global.or.b32 %r10, [%d1], 0; setp.ne.u32 %p4, %r10, 7777; @%p4 bra poll; fence.acq_rel.gpu;\n\
         go: bar.sync 0; ld.global.b32 %r10, [%d1+4096]; setp.lt.u32 %p5, %r10, 1056; @!%p5 bra again; trap;\n\
         again: mov.b32 %r11, %r10; add.u32 %r12, %r11, 1; atom.global.cas.b32 %r10, [%d1+4096], %r11, %r12;\n\
         setp.ne.s32 %p1, %r11, %r10; @%p1 bra again; end:",
        &[(1024, 1024 + 128)],
    ),
    (
        "a vector of guesses, of which each is exchanged alone",
        2,
        32,
        "ld.global.v2.b32 {%r10, %r13}, [%d1+4096];\n\
         again: mov.b32 %r11, %r10; add.u32 %r12, %r11, 1; atom.global.cas.b32 %r10, [%d1+4096], %r11, %r12;\n\
         setp.ne.s32 %p1, %r11, %r10; @%p1 bra again;\n\
         next: mov.b32 %r11, %r13; add.u32 %r12, %r11, 2; atom.global.cas.b32 %r13, [%d1+4100], %r11, %r12;\n\
         setp.ne.s32 %p1, %r11, %r13; @%p1 bra next;",
        &[(1024, 1024 + 64), (1025, 1025 + 128)],
    ),
    (
        "a sum by compare-and-swap whose first guess is a plain load, and the value that it found",
        4,
        64,
        "ld.global.b32 %r10, [%d1+4096]; add.s64 %d4, %d1, 4096;
         again: mov.b32 %r11, %r10; add.u32 %r12, %r11, 1; atom.global.cas.b32 %r10, [%d4], %r11, %r12;
         setp.ne.s32 %p1, %r11, %r10; @%p1 bra again; mul.wide.u32 %d5, %r11, 4; add.s64 %d5, %d5, %d1; st.global.b32 [%d5+4096], %r9;",
        &[(1024, 1024 + 256), (2048, 1), (2048 + 255, 1), (2048 + 256, 2048 + 256)],
    ),
    (
        "a maximum that stops where the guess is no less",
        4,
        64,
        "mad.lo.u32 %r14, %r2, 64, %r1; add.u32 %r14, %r14, 5000; ld.global.b32 %r10, [%d1+4096];
         again: setp.ge.u32 %p2, %r10, %r14; @%p2 bra end; mov.b32 %r11, %r10; atom.global.cas.b32 %r10, [%d1+4096], %r11, %r14;
         setp.ne.s32 %p1, %r11, %r10; @%p1 bra again; end:",
        &[(1024, 5255)],
    ),
    (
        "tickets by compare-and-swap",
        2,
        64,
        "mad.lo.u32 %r14, %r2, 64, %r1; shl.b32 %r15, %r14, 2; cvt.u64.u32 %d5, %r15; add.s64 %d5, %d5, %d1; ld.global.b32 %r10, [%d1+4096];
         again: mov.b32 %r11, %r10; add.u32 %r12, %r11, 1; atom.global.cas.b32 %r10, [%d1+4096], %r11, %r12;
         setp.ne.s32 %p1, %r11, %r10; @%p1 bra again; st.global.b32 [%d5+8192], %r11;",
        &[(1024, 1152), (2048, 1024), (2048 + 127, 1151)],
    ),
    (
        "a sum that depends on the order of its terms",
        1,
        128,
        "cvt.rn.f32.u32 %f1, %r1; mul.f32 %f1, %f1, 0f3DCCCCCD; mov.u32 %r14, 0; setp.eq.u32 %p2, %r1, 0; @%p2 st.global.b32 [%d1+4096], %r14;
         bar.sync 0; ld.global.b32 %r10, [%d1+4096];
         again: mov.b32 %r11, %r10; mov.b32 %f2, %r11; add.f32 %f2, %f2, %f1; mov.b32 %r12, %f2; atom.global.cas.b32 %r10, [%d1+4096], %r11, %r12;
         setp.ne.s32 %p1, %r11, %r10; @%p1 bra again;",
        &[],
    ),
    (
        "a counter with a limit",
        4,
        64,
        "ld.global.b32 %r10, [%d1+4096];
         again: setp.ge.u32 %p2, %r10, 1100; @%p2 bra end; mov.b32 %r11, %r10; add.u32 %r12, %r11, 1;
         atom.global.cas.b32 %r10, [%d1+4096], %r11, %r12; setp.ne.s32 %p1, %r11, %r10; @%p1 bra again; end:",
        &[(1024, 1100)],
    ),
    (
        "a step that goes through local memory, and a test by exclusive or",
        4,
        64,
        ".local .align 8 .b8 l[8]; ld.global.b32 %r10, [%d1+4096];
         again: mov.b32 %r11, %r10; st.local.b32 [l], %r11; ld.local.b32 %r12, [l]; add.u32 %r12, %r12, 1;
         atom.global.cas.b32 %r10, [%d1+4096], %r11, %r12; xor.b32 %r13, %r10, %r11; setp.ne.u32 %p1, %r13, 0; @%p1 bra again;",
        &[(1024, 1280)],
    ),
    (
        "a compare-and-swap loop that guesses anew in each turn, in shared memory",
        1,
        128,
        "setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.b32 [%r7], %r8; bar.sync 0; mov.b32 %r15, s;
         again: ld.shared.b32 %r10, [s]; add.u32 %r12, %r10, %r1; atom.shared.cas.b32 %r13, [%r15], %r10, %r12;
         setp.eq.s32 %p2, %r13, %r10; @!%p2 bra again; bar.sync 0; ld.shared.b32 %r14, [%r7]; st.global.b32 [%d2], %r14;",
        &[(0, 8128), (127, 8128)],
    ),
    (
        "a counter with a limit, set back before a barrier",
        1,
        64,
        "setp.ne.u32 %p2, %r1, 0; @%p2 bra wait; atom.global.exch.b32 %r15, [%d1+4096], 0; wait: bar.sync 0; setp.ge.u32 %p3, %r1, 32;
         @%p3 bra loop; red.global.add.u32 [%d1+4096], 1; bra end; loop: ld.global.b32 %r10, [%d1+4096];
         again: setp.ge.u32 %p2, %r10, 500; @%p2 bra end; mov.b32 %r11, %r10; add.u32 %r12, %r11, 1;
         atom.global.cas.b32 %r10, [%d1+4096], %r11, %r12; setp.ne.s32 %p1, %r11, %r10; @%p1 bra again; end:",
        &[(1024, 64)],
    ),
    (
        "down after the own step up",
        3,
        1,
        "red.global.add.u32 [%d1+4096], 1; ld.global.b32 %r10, [%d1+4096];
         again: setp.le.u32 %p2, %r10, 1024; @%p2 bra end; mov.b32 %r11, %r10; sub.u32 %r12, %r11, 1;
         atom.global.cas.b32 %r10, [%d1+4096], %r11, %r12; setp.ne.s32 %p1, %r11, %r10; @%p1 bra again; end:",
        &[(1024, 1024)],
    ),
];

#[test]
fn guesses_on_which_no_result_depends_run() {
    all_run(CORRECT);
}

const RACES: &[Wrong] = &[
    (
        "a first guess that is used elsewhere",
        4,
        64,
        "ld.global.b32 %r10, [%d1+4096]; mov.b32 %r13, %r10;\n\
         again: mov.b32 %r11, %r10; add.u32 %r12, %r11, 1;\natom.global.cas.b32 %r10, [%d1+4096], %r11, %r12;\n\
         setp.ne.s32 %p1, %r11, %r10; @%p1 bra again; mul.wide.u32 %d5, %r2, 256; add.s64 %d5, %d5, %d2; st.global.b32 [%d5], %r13;",
        &["line 9: reads bytes 4096 to 4099 of argument 0, which", "the other access is line 11"],
    ),
    (
        "a guess whose exchange is not tried again",
        4,
        64,
        "ld.global.b32 %r11, [%d1+4096]; add.u32 %r12, %r11, 1;\natom.global.cas.b32 %r10, [%d1+4096], %r11, %r12;",
        &["line 9: reads bytes 4096 to 4099 of argument 0, which", "the other access is line 10"],
    ),
    (
        "a guess whose exchange is not tried again, but counted",
        4,
        64,
        "ld.global.b32 %r11, [%d1+4096]; add.u32 %r12, %r11, 1;\natom.global.cas.b32 %r10, [%d1+4096], %r11, %r12;\n\
         setp.eq.s32 %p1, %r11, %r10; @%p1 bra end; st.global.b32 [%d2], %r9; end:",
        &["line 9: reads bytes 4096 to 4099 of argument 0, which", "the other access is line 10"],
    ),
    (
        "a new value of the first guess, also where that was wrong",
        4,
        64,
        "ld.global.b32 %r10, [%d1+4096]; add.u32 %r12, %r10, 1;\n\
         again: mov.b32 %r11, %r10;\natom.global.cas.b32 %r10, [%d1+4096], %r11, %r12; setp.ne.s32 %p1, %r11, %r10; @%p1 bra again;",
        &["line 9: reads bytes 4096 to 4099 of argument 0, which", "the other access is line 11"],
    ),
    (
        "a new value of the guess, compared with something else",
        4,
        64,
        "ld.global.b32 %r10, [%d1+4096];\n\
         again: add.u32 %r12, %r10, 1; and.b32 %r11, %r10, -2; atom.global.cas.b32 %r10, [%d1+4096], %r11, %r12;\n\
         setp.ne.s32 %p1, %r11, %r10; @%p1 bra again;",
        &["line 9: reads bytes 4096 to 4099 of argument 0, which", "the other access is line 10"],
    ),
    (
        "a step that is another one after a wrong guess",
        4,
        64,
        "ld.global.b32 %r10, [%d1+4096]; mov.u32 %r14, 1; add.s64 %d5, %d1, 8192;\n\
         again: mov.b32 %r11, %r10; add.u32 %r12, %r11, %r14; atom.global.cas.b32 %r10, [%d1+4096], %r11, %r12;\n\
         setp.eq.s32 %p1, %r11, %r10; @%p1 bra end; mov.u32 %r14, 100; bra again; end:",
        &["line 9: reads bytes 4096 to 4099 of argument 0, which", "the other access is line 10"],
    ),
    (
        "a count of wrong guesses",
        4,
        64,
        "ld.global.b32 %r10, [%d1+4096]; mov.u32 %r14, 1; add.s64 %d5, %d1, 8192;\n\
         again: mov.b32 %r11, %r10; add.u32 %r12, %r11, %r14; atom.global.cas.b32 %r10, [%d1+4096], %r11, %r12;\n\
         add.u32 %r8, %r8, 1; setp.ne.s32 %p1, %r11, %r10; @%p1 bra again; atom.global.exch.b32 %r15, [%d5], %r8;",
        &["line 9: reads bytes 4096 to 4099 of argument 0, which", "the other access is line 10"],
    ),
    (
        "an address that depends on whether a guess was wrong",
        4,
        64,
        "ld.global.b32 %r10, [%d1+4096]; mov.u32 %r14, 1; add.s64 %d5, %d1, 8192;\n\
         again: mov.b32 %r11, %r10; add.u32 %r12, %r11, %r14; atom.global.cas.b32 %r10, [%d1+4096], %r11, %r12;\n\
         setp.eq.s32 %p1, %r11, %r10; @%p1 bra end; add.s64 %d5, %d1, 8256; bra again; end: red.global.add.u32 [%d5], 7;",
        &["line 9: reads bytes 4096 to 4099 of argument 0, which", "the other access is line 10"],
    ),
    (
        "a step that grows before it is known whether a guess was wrong",
        4,
        64,
        "ld.global.b32 %r10, [%d1+4096]; mov.u32 %r14, 1; add.s64 %d5, %d1, 8192;\n\
         again: mov.b32 %r11, %r10; atom.global.cas.b32 %r10, [%d1+4096], %r11, %r14;\n\
         add.u32 %r14, %r14, 1; setp.ne.s32 %p1, %r11, %r10; @%p1 bra again;",
        &["line 9: reads bytes 4096 to 4099 of argument 0, which", "the other access is line 10"],
    ),
    (
        "a branch by what the turn before has left",
        4,
        64,
        "ld.global.b32 %r10, [%d1+4096]; setp.eq.u32 %p2, %r1, %r1; add.s64 %d5, %d1, 8192;\n\
         again: mov.b32 %r11, %r10; add.u32 %r12, %r11, 1; @%p2 bra one; add.u32 %r12, %r11, 2;\n\
         one: atom.global.cas.b32 %r10, [%d1+4096], %r11, %r12;\n\
         setp.ne.s32 %p1, %r11, %r10; setp.ne.u32 %p2, %r1, %r1; @%p1 bra again;",
        &["line 9: reads bytes 4096 to 4099 of argument 0, which", "the other access is line 11"],
    ),
    (
        "what only a second loop counts",
        4,
        64,
        "ld.global.b32 %r10, [%d1+4096]; add.u32 %r12, %r10, 1; add.s64 %d5, %d1, 8192;\n\
         atom.global.cas.b32 %r11, [%d1+4096], %r10, %r12; setp.eq.s32 %p1, %r10, %r11; @%p1 bra end;\n\
         again: add.u32 %r12, %r11, 1; atom.global.cas.b32 %r13, [%d1+4096], %r11, %r12; setp.ne.s32 %p1, %r13, %r11;\n\
         mov.b32 %r11, %r13; @%p1 bra again; red.global.add.u32 [%d5], 1; end:",
        &["line 9: reads bytes 4096 to 4099 of argument 0, which", "the other access is line 11"],
    ),
    (
        "a step of what was found",
        4,
        64,
        "ld.global.b32 %r10, [%d1+4096]; mov.u32 %r14, 1; add.s64 %d5, %d1, 8192;\n\
         again: mov.b32 %r11, %r10; add.u32 %r12, %r11, %r14; atom.global.cas.b32 %r10, [%d1+4096], %r11, %r12;\n\
         setp.eq.s32 %p1, %r11, %r10; @%p1 bra end; and.b32 %r14, %r10, 3; bra again; end:",
        &["line 9: reads bytes 4096 to 4099 of argument 0, which", "the other access is line 10"],
    ),
    (
        "a flag that is set a turn later",
        4,
        64,
        "ld.global.b32 %r10, [%d1+4096]; mov.u32 %r15, 0; mov.u32 %r14, 0; add.s64 %d5, %d1, 8192;\n\
         again: mov.b32 %r11, %r10; add.u32 %r12, %r11, 1; atom.global.cas.b32 %r10, [%d1+4096], %r11, %r12; mov.u32 %r15, %r14;\n\
         mov.u32 %r14, 1; setp.ne.s32 %p1, %r11, %r10; @%p1 bra again; red.global.add.u32 [%d5], %r15;",
        &["line 9: reads bytes 4096 to 4099 of argument 0, which", "the other access is line 10"],
    ),
    (
        "a count of loads that came too early",
        4,
        64,
        "mov.u32 %r14, 0; add.s64 %d5, %d1, 8192;\n\
         again: ld.global.b32 %r10, [%d1+4096]; mov.u32 %r15, %r14; add.u32 %r12, %r10, 1;\n\
         atom.global.cas.b32 %r11, [%d1+4096], %r10, %r12; add.u32 %r14, %r15, 1; setp.ne.s32 %p1, %r11, %r10; @%p1 bra again;\n\
         atom.global.exch.b32 %r9, [%d5], %r15;",
        &["line 10: reads bytes 4096 to 4099 of argument 0, which", "the other access is line 11"],
    ),
    (
        "what is counted in every turn",
        4,
        64,
        "ld.global.b32 %r10, [%d1+4096]; mov.u32 %r14, 1; add.s64 %d5, %d1, 8192;\n\
         again: mov.b32 %r11, %r10; add.u32 %r12, %r11, %r14; atom.global.cas.b32 %r10, [%d1+4096], %r11, %r12;\n\
         red.global.add.u32 [%d5], 1; setp.ne.s32 %p1, %r11, %r10; @%p1 bra again;",
        &["line 9: reads bytes 4096 to 4099 of argument 0, which", "the other access is line 10"],
    ),
    (
        "an addition between an exchange and the branch on it, in a loop that guesses anew",
        4,
        64,
        "again: ld.global.b32 %r10, [%d1+4096]; add.u32 %r12, %r10, 1;\n\
         atom.global.cas.b32 %r11, [%d1+4096], %r10, %r12; red.global.add.u32 [%d1+8192], 1; setp.ne.s32 %p1, %r11, %r10; @%p1 bra again;",
        &["line 9: reads bytes 4096 to 4099 of argument 0, which", "the other access is line 10"],
    ),
    (
        "another value after a wrong guess, in a loop of its own",
        4,
        64,
        "ld.global.b32 %r10, [%d1+4096]; add.u32 %r12, %r10, 1;\n\
         again: atom.global.cas.b32 %r11, [%d1+4096], %r10, %r12; setp.eq.s32 %p1, %r11, %r10; @%p1 bra end;\n\
         mad.lo.u32 %r12, %r11, 3, 1; mov.b32 %r10, %r11; bra again; end:",
        &["line 9: reads bytes 4096 to 4099 of argument 0, which", "the other access is line 10"],
    ),
    (
        "a guess that only the first block stores",
        64,
        1,
        "ld.global.b32 %r10, [%d1+4096]; mov.b32 %r13, %r10;\n\
         again: mov.b32 %r11, %r10; or.b32 %r12, %r11, 1; atom.global.cas.b32 %r10, [%d1+4096], %r11, %r12;\n\
         setp.ne.s32 %p1, %r11, %r10; @%p1 bra again; setp.eq.u32 %p2, %r2, 0; @%p2 st.global.b32 [%d1+8192], %r13;",
        &["line 9: reads bytes 4096 to 4099 of argument 0, which", "the other access is line 10"],
    ),
    (
        "a count of guesses that suffice, which a writer reads once more itself",
        2,
        1,
        "mov.u32 %r14, 0; mov.u32 %r15, 0; mul.wide.u32 %d5, %r2, 4; add.s64 %d5, %d5, %d1;\n\
         next: ld.global.b32 %r10, [%d1+4096]; setp.ge.u32 %p3, %r10, 2000; @%p3 add.u32 %r14, %r14, 1;\n\
         again: setp.ge.u32 %p2, %r10, 2000; @%p2 bra then; mov.b32 %r11, %r10; atom.global.cas.b32 %r10, [%d1+4096], %r11, 2000;\n\
         setp.ne.s32 %p1, %r11, %r10; @%p1 bra again;\n\
         then: add.u32 %r15, %r15, 1; setp.lt.u32 %p1, %r15, 2; @%p1 bra next; st.global.b32 [%d5+8192], %r14;",
        &["line 10: reads bytes 4096 to 4099 of argument 0, which", "the other access is line 11"],
    ),
    (
        "a guess beside a relaxed store of another block, which is stored",
        2,
        1,
        "setp.eq.u32 %p2, %r2, 0; @%p2 bra other; ld.global.b32 %r10, [%d1+4096]; mov.b32 %r13, %r10;\n\
         again: mov.b32 %r11, %r10; or.b32 %r12, %r11, 1; atom.global.cas.b32 %r10, [%d1+4096], %r11, %r12;\n\
         setp.ne.s32 %p1, %r11, %r10; @%p1 bra again; st.global.b32 [%d1+8192], %r13; bra end;\n\
         other: st.relaxed.gpu.global.b32 [%d1+4096], 2; end:",
        &["line 9: reads bytes 4096 to 4099 of argument 0, which", "the other access is line 12"],
    ),
    (
        "a guess beside a relaxed store of another warp, which is stored",
        1,
        64,
        "setp.lt.u32 %p2, %r1, 32; @%p2 bra other; ld.global.b32 %r10, [%d1+4096]; mov.b32 %r13, %r10;\n\
         again: mov.b32 %r11, %r10; or.b32 %r12, %r11, 1; atom.global.cas.b32 %r10, [%d1+4096], %r11, %r12;\n\
         setp.ne.s32 %p1, %r11, %r10; @%p1 bra again; st.global.b32 [%d1+8192], %r13; bra end;\n\
         other: st.relaxed.gpu.global.b32 [%d1+4096], 2; end:",
        &["line 9: reads bytes 4096 to 4099 of argument 0, which", "the other access is line 12"],
    ),
    (
        "a guess that is a part of an address, which may be out of range",
        1,
        64,
        "ld.global.b32 %r10, [%d1+4096]; mov.b32 %r13, %r10;\n\
         again: mov.b32 %r11, %r10; add.u32 %r12, %r11, 1; atom.global.cas.b32 %r10, [%d1+4096], %r11, %r12;\n\
         setp.ne.s32 %p1, %r11, %r10; @%p1 bra again; setp.eq.u32 %p2, %r3, 0; @%p2 bra end;\n\
         setp.lt.u32 %p3, %r13, 1044; selp.b32 %r14, 0x100000, 0, %p3; cvt.u64.u32 %d4, %r14; add.s64 %d4, %d1, %d4;\n\
         st.global.b32 [%d4], 1; end:",
        &["line 9: reads bytes 4096 to 4099 of argument 0, which", "the other access is line 10"],
    ),
    (
        "a guess that only what was there before 224 additions changes",
        8,
        32,
        "ld.global.b32 %r10, [%d1+4096]; mov.b32 %r13, %r10;\n\
         again: mov.b32 %r11, %r10; add.u32 %r12, %r11, 1; atom.global.cas.b32 %r10, [%d1+4096], %r11, %r12;\n\
         setp.ne.s32 %p1, %r11, %r10; @%p1 bra again; setp.ne.u32 %p2, %r2, 7; @%p2 bra end;\n\
         setp.eq.u32 %p3, %r13, 1024; selp.b32 %r14, 1, 0, %p3; st.global.b32 [%d2+8192], %r14; end:",
        &["line 9: reads bytes 4096 to 4099 of argument 0, which", "the other access is line 10"],
    ),
    (
        "guesses of two warps, of which one alone may be old",
        1,
        96,
        "setp.ne.u32 %p2, %r4, 0; @%p2 bra end; setp.eq.u32 %p3, %r3, 0; @%p3 bra other;\n\
         ld.global.b32 %r10, [%d1+4096]; mov.b32 %r13, %r10;\n\
         again: mov.b32 %r11, %r10; add.u32 %r12, %r11, 16; atom.global.cas.b32 %r10, [%d1+4096], %r11, %r12;\n\
         setp.ne.s32 %p1, %r11, %r10; @%p1 bra again; and.b32 %r13, %r13, 1; red.global.xor.b32 [%d1+8192], %r13; bra end;\n\
         other: red.global.add.u32 [%d1+4096], 1; end:",
        &["line 10: reads bytes 4096 to 4099 of argument 0, which"],
    ),
    (
        "a guess between two additions by warps on both sides",
        1,
        96,
        "setp.ne.u32 %p2, %r4, 0; @%p2 bra end; add.u32 %r12, %r3, 1; setp.ne.u32 %p3, %r3, 1; @%p3 bra other;\n\
         ld.global.b32 %r10, [%d1+4096]; mov.b32 %r13, %r10;\n\
         again: mov.b32 %r11, %r10; add.u32 %r12, %r11, 16; atom.global.cas.b32 %r10, [%d1+4096], %r11, %r12;\n\
         setp.ne.s32 %p1, %r11, %r10; @%p1 bra again; setp.ne.u32 %p4, %r13, 1028; @%p4 bra end;\n\
         st.global.b32 [%d1+8192], 1; bra end;\n\
         other: red.global.add.u32 [%d1+4096], %r12; end:",
        &["line 10: reads bytes 4096 to 4099 of argument 0, which"],
    ),
    (
        "a guess after which a thread fails if it comes late",
        1,
        64,
        "setp.ne.u32 %p2, %r4, 0; @%p2 bra end; setp.eq.u32 %p3, %r3, 1; @%p3 bra other;\n\
         ld.global.b32 %r10, [%d1+4096]; mov.b32 %r13, %r10;\n\
         again: mov.b32 %r11, %r10; add.u32 %r12, %r11, 16; atom.global.cas.b32 %r10, [%d1+4096], %r11, %r12;\n\
         setp.ne.s32 %p1, %r11, %r10; @%p1 bra again; setp.eq.u32 %p4, %r13, 1024; @%p4 bra end; trap; bra end;\n\
         other: red.global.add.u32 [%d1+4096], 1; end:",
        &["(where blocks and warps run in another order)"],
    ),
    (
        "a guess after the own addition, of which others may make more",
        3,
        32,
        "setp.ne.u32 %p2, %r4, 0; @%p2 bra end; red.global.add.u32 [%d1+4096], 1;\n\
         ld.global.b32 %r10, [%d1+4096]; mov.b32 %r13, %r10;\n\
         again: mov.b32 %r11, %r10; add.u32 %r12, %r11, 1; atom.global.cas.b32 %r10, [%d1+4096], %r11, %r12;\n\
         setp.ne.s32 %p1, %r11, %r10; @%p1 bra again; mad.lo.u32 %r14, %r2, 32, %r1; mul.wide.u32 %d4, %r14, 4;\n\
         add.s64 %d4, %d4, %d1; st.global.b32 [%d4+8192], %r13; end:",
        &["line 10: reads bytes 4096 to 4099 of argument 0, which"],
    ),
    (
        "a guess of two halves that are loaded apart",
        1,
        64,
        "setp.ne.u32 %p2, %r4, 0; @%p2 bra end;\n\
         ld.global.b32 %r10, [%d1+4096]; ld.global.b32 %r11, [%d1+4100]; mov.b64 %d4, {%r10, %r11};\n\
         again: mov.b64 %d5, %d4; add.s64 %d6, %d5, 0x100000001; atom.global.cas.b64 %d4, [%d1+4096], %d5, %d6;\n\
         setp.ne.s64 %p1, %d5, %d4; @%p1 bra again; sub.u32 %r12, %r11, %r10; st.global.b32 [%d2+8192], %r12; end:",
        &["line 10: reads bytes 4100 to 4103 of argument 0, which"],
    ),
    (
        "a guess after the own addition, which comes last in the order of blocks",
        2,
        32,
        "setp.ne.u32 %p2, %r4, 0; @%p2 bra end; red.global.add.u32 [%d1+4096], 1; setp.eq.u32 %p3, %r2, 0; @%p3 bra end;\n\
         ld.global.b32 %r10, [%d1+4096]; mov.b32 %r13, %r10;\n\
         again: mov.b32 %r11, %r10; add.u32 %r12, %r11, 1; atom.global.cas.b32 %r10, [%d1+4096], %r11, %r12;\n\
         setp.ne.s32 %p1, %r11, %r10; @%p1 bra again; st.global.b32 [%d1+8192], %r13; end:",
        &["line 10: reads bytes 4096 to 4099 of argument 0, which"],
    ),
    (
        "a guess after the own additions, of which others may make many more",
        8,
        32,
        "atom.global.add.u32 %r15, [%d1+4096], 1; shfl.sync.idx.b32 %r15, %r15, 31, 31, -1; add.u32 %r15, %r15, 97;\n\
         ld.global.b32 %r10, [%d1+4096]; mov.b32 %r13, %r10;\n\
         again: mov.b32 %r11, %r10; add.u32 %r12, %r11, 1; atom.global.cas.b32 %r10, [%d1+4096], %r11, %r12;\n\
         setp.ne.s32 %p1, %r11, %r10; @%p1 bra again; setp.gt.u32 %p2, %r13, %r15; selp.b32 %r14, 1, 0, %p2;\n\
         mad.lo.u32 %r16, %r2, 32, %r1; mul.wide.u32 %d4, %r16, 4; add.s64 %d4, %d4, %d1; st.global.b32 [%d4+8192], %r14;",
        &["line 10: reads bytes 4096 to 4099 of argument 0, which"],
    ),
    (
        "a guess after the own additions, or with what others made of them",
        8,
        32,
        "atom.global.add.u32 %r15, [%d1+4096], 1; shfl.sync.idx.b32 %r15, %r15, 31, 31, -1; add.u32 %r15, %r15, 1;\n\
         ld.global.b32 %r10, [%d1+4096]; mov.b32 %r13, %r10;\n\
         again: mov.b32 %r11, %r10; add.u32 %r12, %r11, 1; atom.global.cas.b32 %r10, [%d1+4096], %r11, %r12;\n\
         setp.ne.s32 %p1, %r11, %r10; @%p1 bra again; setp.gt.u32 %p2, %r13, %r15; selp.b32 %r14, 1, 0, %p2;\n\
         mad.lo.u32 %r16, %r2, 32, %r1; mul.wide.u32 %d4, %r16, 4; add.s64 %d4, %d4, %d1; st.global.b32 [%d4+8192], %r14;",
        &["line 10: reads bytes 4096 to 4099 of argument 0, which"],
    ),
    (
        "a guess of 16 bits beside an addition to 32, which is stored",
        2,
        1,
        "setp.eq.u32 %p2, %r2, 0; @%p2 bra other; ld.global.b16 %h1, [%d1+4096]; mov.b16 %h3, %h1;\n\
         again: mov.b16 %h2, %h1; add.u16 %h4, %h2, 1; atom.global.cas.b16 %h1, [%d1+4096], %h2, %h4;\n\
         setp.ne.s16 %p1, %h2, %h1; @%p1 bra again; st.global.b16 [%d1+8192], %h3; bra end;\n\
         other: red.global.add.u32 [%d1+4096], 1; end:",
        &["line 9: reads bytes 4096 to 4097 of argument 0, which", "the other access is line 12"],
    ),
    (
        "what was found in the turn before",
        4,
        64,
        "ld.global.b32 %r10, [%d1+4096]; mov.u32 %r14, 0;\n\
         again: mov.b32 %r11, %r10; mov.b32 %r15, %r14; add.u32 %r12, %r11, 1; atom.global.cas.b32 %r10, [%d1+4096], %r11, %r12;\n\
         mov.b32 %r14, %r10; setp.ne.s32 %p1, %r11, %r10; @%p1 bra again; red.global.add.u32 [%d1+8192], %r15;",
        &["line 9: reads bytes 4096 to 4099 of argument 0, which", "the other access is line 10"],
    ),
    (
        "what the first of two exchanges found, behind a second loop",
        4,
        64,
        "ld.global.b32 %r10, [%d1+4096]; add.u32 %r12, %r10, 1;\n\
         atom.global.cas.b32 %r13, [%d1+4096], %r10, %r12; mov.b32 %r11, %r13; setp.eq.s32 %p1, %r10, %r13; @%p1 bra end;\n\
         again: mov.b32 %r14, %r11; add.u32 %r12, %r14, 1; atom.global.cas.b32 %r11, [%d1+4096], %r14, %r12; setp.ne.s32 %p1, %r14, %r11;\n\
         @%p1 bra again; end: red.global.add.u32 [%d1+8192], %r13;",
        &["line 9: reads bytes 4096 to 4099 of argument 0, which", "the other access is line 11"],
    ),
    (
        "another exchange where the guess was wrong",
        4,
        1,
        "ld.global.b32 %r10, [%d1+4096];\n\
         again: mov.b32 %r11, %r10; add.u32 %r12, %r11, 2; atom.global.cas.b32 %r10, [%d1+4096], %r11, %r12;\n\
         setp.eq.s32 %p1, %r11, %r10; @%p1 bra end; atom.global.cas.b32 %r13, [%d1+4096], 1030, 77; bra again; end:",
        &["line 9: reads bytes 4096 to 4099 of argument 0, which", "the other access is line 10"],
    ),
    (
        "a step written twice where the guess was wrong",
        4,
        64,
        "ld.global.b32 %r10, [%d1+4096]; mov.u32 %r14, 1;\n\
         again: mov.b32 %r11, %r10; add.u32 %r12, %r11, %r14; atom.global.cas.b32 %r10, [%d1+4096], %r11, %r12;\n\
         setp.eq.s32 %p1, %r11, %r10; @%p1 bra end; mov.u32 %r14, %r10; sub.u32 %r14, %r14, %r10; add.u32 %r14, %r14, 2; bra again; end:",
        &["line 9: reads bytes 4096 to 4099 of argument 0, which", "the other access is line 10"],
    ),
    (
        "a stale guess in shared memory that is stored",
        1,
        64,
        "setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.b32 [%r7], %r8; bar.sync 0; mov.b32 %r15, s;\n\
         ld.shared.b32 %r10, [s]; mov.b32 %r13, %r10;\n\
         again: mov.b32 %r11, %r10; add.u32 %r12, %r11, 1; atom.shared.cas.b32 %r10, [%r15], %r11, %r12;\n\
         setp.ne.s32 %p2, %r11, %r10; @%p2 bra again; st.global.b32 [%d2], %r13;",
        &["line 10: reads shared memory at 0x0, which warp 0 writes", "the other access is line 11"],
    ),
    (
        "a guess at another address",
        4,
        64,
        "ld.global.b32 %r10, [%d1+4096]; add.s64 %d4, %d1, 4100;\n\
         again: mov.b32 %r11, %r10; add.u32 %r12, %r11, 1; atom.global.cas.b32 %r10, [%d4], %r11, %r12;\n\
         setp.ne.s32 %p1, %r11, %r10; @%p1 bra again; atom.global.add.u32 %r13, [%d1+4096], 1;",
        &["line 9: reads bytes 4096 to 4099 of argument 0, which", "the other access is line 11"],
    ),
    (
        "a first guess beside a plain store",
        2,
        32,
        "setp.eq.u32 %p1, %r2, 1; @%p1 bra other; ld.global.b32 %r10, [%d1+4096];\n\
         again: mov.b32 %r11, %r10; add.u32 %r12, %r11, 1; atom.global.cas.b32 %r10, [%d1+4096], %r11, %r12;\n\
         setp.ne.s32 %p2, %r11, %r10; @%p2 bra again; bra end;\nother: st.global.b32 [%d1+4096], %r8; end:",
        &[
            "line 12: writes bytes 4096 to 4099 of argument 0, which block number 0",
            "the other access is line 10",
        ],
    ),
];

#[test]
fn guesses_on_which_results_depend_are_errors() {
    all_race(RACES);
}
