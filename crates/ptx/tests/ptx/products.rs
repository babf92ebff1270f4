//! Matrix instructions whose products are added later, and with those of other warps, give what each gives at once.
//!
//! A launch that is traced multiplies instruction by instruction. Random kernels mix multiplications with all that can be done
//! with their registers in between: both runs must leave the same bytes.

use std::fmt::Write as _;

use bitmma_ptx::{Argument, Buffer, Launch, Limits, Mode, Program, Trace};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Registers of the pool from which fragments are taken; those of D overlap.
const POOL: u32 = 14;
const WARPS: u32 = 4;
/// Registers from which A, and B, are taken most of the time.
const OPERANDS: u32 = 6;
const MMA: &str = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";

/// A number below `count`.
fn below(random: &mut ChaCha8Rng, count: u32) -> u32 {
    random.next_u32() % count
}

/// Registers next to each other in the pool, now and then in another order or one of them twice.
fn fragment(random: &mut ChaCha8Rng, count: u32) -> String {
    let first = below(random, (POOL - count) / 2 + 1) * 2;
    let mut registers: Vec<u32> = (first..first + count).collect();
    match below(random, 12) {
        0 => registers.reverse(),
        1 => registers[0] = registers[1],
        _ => {}
    }
    let names: Vec<String> = registers.iter().map(|register| format!("%r{register}")).collect();
    names.join(", ")
}

/// Some instructions; `label` tells loops apart.
fn instructions(random: &mut ChaCha8Rng, text: &mut String, label: &mut u32, depth: u32) {
    let chains: Vec<String> = (0..3).map(|_| fragment(random, 4)).collect();
    for _ in 0..2 + below(random, 8) {
        let register = below(random, POOL);
        let _ = match below(random, 12) {
            // in place, on one of some accumulators, once or along K
            0..6 => {
                let d = &chains[below(random, 3) as usize];
                for _ in 0..1 + below(random, 3) {
                    let (a, b) = (below(random, 3), below(random, 3));
                    let a = format!("%a{}, %a{}, %a{}, %a{}", a, a + 1, a + 2, a + 3);
                    let _ = writeln!(text, "{MMA} {{{d}}}, {{{a}}}, {{%b{b}, %b{}}}, {{{d}}};", b + 1);
                }
                Ok(())
            }
            // whatever it is
            6 => {
                let (d, a, b, c) =
                    (fragment(random, 4), fragment(random, 4), fragment(random, 2), fragment(random, 4));
                writeln!(text, "{MMA} {{{d}}}, {{{a}}}, {{{b}}}, {{{c}}};")
            }
            7 => writeln!(text, "add.f32 %r{register}, %r{register}, %r{};", below(random, POOL)),
            8 => writeln!(text, "@%p{} mov.b32 %r{register}, 0f3f800000;", below(random, 2)),
            9 => writeln!(
                text,
                "xor.b32 %a{0}, %a0, %r{register}; and.b32 %a{0}, %a{0}, 0xbfffbfff;",
                register % OPERANDS
            ),
            10 => writeln!(text, "bar.sync 0;"),
            _ if depth < 2 => {
                *label += 1;
                let own = *label;
                // loops of as many turns as all warps make, or as the warp's number says
                let turns = if below(random, 2) == 0 { "20".to_owned() } else { "%w".to_owned() };
                let _ = writeln!(text, "mov.u32 %l{own}, 0;\n$L{own}:");
                let mut body = String::new();
                instructions(random, &mut body, label, depth + 1);
                if turns == "%w" {
                    body = body.replace("bar.sync 0;", "");
                }
                text.push_str(&body);
                writeln!(
                    text,
                    "add.u32 %l{own}, %l{own}, 1; setp.lt.u32 %q, %l{own}, {turns}; @%q bra $L{own};"
                )
            }
            _ => Ok(()),
        };
    }
}

/// A kernel whose threads start from what is in a buffer, and leave all registers of the pool there. Some warps have the same A, some
/// the same B.
fn kernel(seed: u64) -> String {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let line = POOL + 2 * OPERANDS;
    let mut text = format!(
        ".version 8.4\n.target sm_80\n.address_size 64\n.visible .entry one(.param .u64 p)\n.reqntid {}\n{{\n\
         .reg .pred %p<2>, %q; .reg .b32 %r<{POOL}>, %a<{OPERANDS}>, %b<{OPERANDS}>, %l<99>, %t, %w; .reg .b64 %d<4>;\n\
         ld.param.b64 %d0, [p]; mov.u32 %t, %tid.x; shr.u32 %w, %t, 5; mad.wide.u32 %d1, %t, {}, %d0;\n\
         setp.lt.u32 %p0, %t, 64; and.b32 %l0, %t, 3; setp.eq.u32 %p1, %l0, 1;\n\
         and.b32 %l1, %t, 63; mad.wide.u32 %d2, %l1, {}, %d0;\n\
         and.b32 %l1, %t, {}; mad.wide.u32 %d3, %l1, {}, %d0;\n",
        32 * WARPS,
        4 * line,
        4 * line,
        [95, 63, 31][seed as usize % 3],
        4 * line,
    );
    for register in 0..POOL {
        let _ = writeln!(text, "ld.global.b32 %r{register}, [%d1+{}];", 4 * register);
    }
    for register in 0..OPERANDS {
        let at = 4 * (POOL + register);
        let _ = writeln!(text, "ld.global.b32 %a{register}, [%d2+{at}];");
        let _ = writeln!(text, "ld.global.b32 %b{register}, [%d3+{}];", at + 4 * OPERANDS);
    }
    instructions(&mut random, &mut text, &mut 2, 0);
    // now and then more accumulators than are told apart
    for _ in 0..if seed.is_multiple_of(10) { 200 } else { 0 } {
        let d: Vec<String> = (0..4).map(|_| format!("%r{}", below(&mut random, POOL))).collect();
        let (d, a, b) = (d.join(", "), fragment(&mut random, 4), fragment(&mut random, 2));
        let _ = writeln!(text, "{MMA} {{{d}}}, {{{a}}}, {{{b}}}, {{{d}}};");
    }
    instructions(&mut random, &mut text, &mut 50, 0);
    for register in 0..POOL {
        let _ = writeln!(text, "st.global.b32 [%d1+{}], %r{register};", 4 * register);
    }
    text + "ret;\n}\n"
}

/// What a kernel leaves, and how many products were recorded.
fn run(text: &str, bytes: &[u8], trace: Option<Trace>) -> (Vec<u8>, usize) {
    let program = Program::parse(text).expect(text);
    let kernel = program.kernel(None, None, Mode::Text).expect(text);
    let limits = Limits { threads: 1, ..Limits::default() };
    let launch = Launch { limits, trace, ..Launch::new(&kernel, [1; 3]) };
    let mut buffers = [Buffer { bytes: bytes.to_vec(), name: "p".to_owned(), written: false }];
    let pointer = [Argument::Pointer { buffer: 0, offset: 0 }];
    let report = launch.run(&pointer, &mut buffers, &mut || false).expect(text);
    let [Buffer { bytes, .. }] = buffers;
    (bytes, report.products.len())
}

#[test]
fn products_added_later_are_those_added_at_once() {
    let mut multiplications = 0;
    for seed in 0..150 {
        let text = kernel(seed);
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        // halves between 1/16 and 2 in magnitude, which are moderate numbers as FP32 too
        let word = |_| (random.next_u32() & 0x8fff_8fff | 0x3000_3000).to_le_bytes();
        let bytes: Vec<u8> = (0..32 * WARPS * (POOL + 2 * OPERANDS)).flat_map(word).collect();
        let (later, _) = run(&text, &bytes, None);
        let (at_once, count) = run(&text, &bytes, Some(Trace { products: true, ..Trace::default() }));
        assert!(later == at_once, "seed {seed}: {text}");
        multiplications += count;
    }
    assert!(multiplications > 20_000, "{multiplications}");
}
