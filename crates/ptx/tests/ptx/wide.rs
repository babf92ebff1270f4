//! Registers of 128 bits, matrices of bytes, formats of 4 to 8 bits, stores that complete at barrier objects, clocks and other special registers.

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

/// What each thread of a warp leaves in some registers, after its words of shared memory hold bytes in order.
fn matrices(registers: usize, body: &str) -> Vec<u32> {
    let list: Vec<String> = (0..registers).map(|index| format!("%r{}", 20 + index)).collect();
    // bytes 4·t to 4·t+3 and 128 further in each turn
    let fill: String = (0..4u32)
        .map(|turn| {
            let first = 0x0302_0100 + 0x8080_8080 * (turn % 2);
            format!("mad.lo.u32 %r7, %r2, 0x04040404, {first}; st.shared.b32 [%r4+{}], %r7;", 128 * turn)
        })
        .collect();
    let stores: String = list
        .iter()
        .enumerate()
        .map(|(at, register)| format!("st.global.b32 [%d3+{}], {register};", 128 * at))
        .collect();
    let block = Block { target: BLACKWELL, words: vec![0; 256], ..Block::of(32) };
    let body = format!(
        "{fill} bar.sync 0; mad.lo.u32 %r6, %r2, 16, %r5;\n{}\n{stores}",
        body.replace("LIST", &list.join(", "))
    );
    block.run(&body).unwrap_or_else(|error| panic!("{body}\n{error}"))[..32 * registers].to_vec()
}

/// The layouts are those of CUTLASS (`copy_traits_sm100.hpp`): of each thread and byte of a register the bit, counted through rows of
/// 128 bits, which lie in the order of the threads that give their addresses.
#[test]
fn matrices_of_bytes() {
    let bit = |thread: usize, register: usize, byte: usize| {
        thread % 4 * 256 + thread / 4 * 8 + byte % 2 * 128 + byte / 2 * 64 + register * 1024
    };
    let row_of_thread =
        |thread: usize| thread % 2 + thread / 2 % 2 * 8 + thread / 4 % 4 * 2 + thread / 16 * 16;
    let word = |bytes: [u8; 4]| u32::from_le_bytes(bytes);
    // the byte at an offset of memory
    let memory = |at: usize| at as u8;
    for (count, registers) in [(1, 2), (2, 4)] {
        let form = format!("ldmatrix.sync.aligned.m16n16.x{count}.trans.shared.b8 {{LIST}}, [%r6];");
        let given = matrices(registers, &form);
        for (at, given) in given.into_iter().enumerate() {
            let expected = [0, 1, 2, 3].map(|byte| {
                let bit = bit(at % 32, at / 32, byte);
                let thread = (0..32).find(|thread| row_of_thread(*thread) == bit / 128).expect("a thread");
                memory(16 * thread + bit % 128 / 8)
            });
            assert_eq!(given, word(expected), "x{count}, register {}, thread {}", at / 32, at % 32);
        }
    }
    // elements of 4 and 6 bits lie together at the start of their rows
    let element = |row: usize, column: usize, bits: usize| {
        let whole =
            (0..16).fold(0u128, |whole, byte| whole | u128::from(memory(16 * row + byte)) << (8 * byte));
        (whole >> (bits * column)) as u8 & ((1 << bits) - 1)
    };
    for (format, bits) in [("b4x16_p64", 4), ("b6x16_p32", 6)] {
        let form = format!("ldmatrix.sync.aligned.m8n16.x4.shared.b8x16.{format} {{LIST}}, [%r6];");
        for (at, given) in matrices(4, &form).into_iter().enumerate() {
            let (register, thread) = (at / 32, at % 32);
            let one = |byte| element(8 * register + thread / 4, 4 * (thread % 4) + byte, bits);
            assert_eq!(given, word([0, 1, 2, 3].map(one)), "{format}, register {register}, thread {thread}");
        }
        let form = format!("ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8x16.{format} {{LIST}}, [%r6];");
        for (at, given) in matrices(4, &form).into_iter().enumerate() {
            let expected = [0, 1, 2, 3].map(|byte| {
                let bit = bit(at % 32, at / 32, byte);
                let thread = (0..32).find(|thread| row_of_thread(*thread) == bit / 128).expect("a thread");
                element(thread, bit % 128 / 8, bits)
            });
            assert_eq!(given, word(expected), "{format}, register {}, thread {}", at / 32, at % 32);
        }
    }
    // back: each register holds numbers of its thread
    let numbers = "mad.lo.u32 %r20, %r2, 0x04040404, 0x03020100; add.u32 %r21, %r20, 0x80808080;\n";
    let form = format!(
        "{numbers}stmatrix.sync.aligned.m16n8.x2.trans.shared.b8 [%r6], {{LIST}};\nbar.sync 0; ld.shared.b32 %r20, [%r4]; ld.shared.b32 %r21, [%r4+128];"
    );
    let given = matrices(2, &form);
    for thread in 0..32 {
        for (register, byte) in (0..8).map(|at| (at / 4, at % 4)) {
            let at = bit(thread, register, byte) / 8;
            let stored = given[at / 4] >> (8 * (at % 4)) & 0xff;
            let number = 4 * thread + byte + 128 * register;
            assert_eq!(stored as usize, number & 0xff, "thread {thread}, register {register}, byte {byte}");
        }
    }
}

/// What a conversion makes of the number of each of 256 threads, which is `%r2`, and in 8 bits `%b1`.
fn converted(body: &str) -> Vec<u32> {
    let block = Block { target: BLACKWELL, ..Block::of(256) };
    let body = format!(
        ".reg .b8 %b<9>; mov.b32 {{%b1, %b2, %b3, %b4}}, %r2; cvt.u16.u32 %h1, %r2;\n{body}\nst.global.b32 [%d3], %r9;"
    );
    block.run(&body).unwrap_or_else(|error| panic!("{body}\n{error}"))
}

#[test]
fn formats_of_4_to_8_bits() {
    let e2m1 = |code: u32| {
        let size = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0][code as usize & 7];
        if code & 8 != 0 { -size } else { size }
    };
    let brain = |value: f32| value.to_bits() >> 16;
    let given = converted("cvt.rn.bf16x2.e2m1x2 %r9, %b1;");
    let expected: Vec<u32> =
        (0..256).map(|code| brain(e2m1(code & 15)) | brain(e2m1(code >> 4)) << 16).collect();
    assert_eq!(given, expected);
    let relu = converted("cvt.rn.relu.bf16x2.e2m1x2 %r9, %b1;");
    let positive = |value: f32| if value.is_sign_negative() { 0 } else { brain(value) };
    let expected: Vec<u32> =
        (0..256).map(|code| positive(e2m1(code & 15)) | positive(e2m1(code >> 4)) << 16).collect();
    assert_eq!(relu, expected);
    // a byte of the wider formats in each half
    let both = "shl.b16 %h2, %h1, 8; or.b16 %h1, %h1, %h2;\n";
    // sign, exponent and fraction of 6 bits
    let six = |code: u32, fraction: u32, bias: i32| {
        let (sign, rest) = (code >> 5 & 1, code & 31);
        let (exponent, part) = ((rest >> fraction) as i32, rest & ((1 << fraction) - 1));
        let scale = |exponent: i32| 2f32.powi(exponent - bias - fraction as i32);
        let size = match exponent {
            0 => part as f32 * scale(1),
            _ => (part + (1 << fraction)) as f32 * scale(exponent),
        };
        if sign == 1 { -size } else { size }
    };
    for (name, fraction, bias) in [("e2m3x2", 3, 1), ("e3m2x2", 2, 3)] {
        let given = converted(&format!("{both}cvt.rn.bf16x2.{name} %r9, %h1;"));
        // the upper two bits of a byte are padding
        let expected: Vec<u32> = (0..256).map(|code| brain(six(code, fraction, bias)) * 0x10001).collect();
        assert_eq!(given, expected, "{name}");
    }
    let scales = converted(&format!("{both}cvt.rn.bf16x2.ue8m0x2 %r9, %h1;"));
    let expected: Vec<u32> = (0..256)
        .map(|code| match code {
            0 => 0x40,
            255 => 0x7fff,
            code => code << 7,
        })
        .map(|code: u32| code * 0x10001)
        .collect();
    assert_eq!(scales, expected);
    // FP8 by way of FP16, which holds all of it, and of FP32
    for name in ["e4m3x2", "e5m2x2"] {
        let direct = converted(&format!("{both}cvt.rn.bf16x2.{name} %r9, %h1;"));
        let around = converted(&format!(
            "{both}cvt.rn.f16x2.{name} %r6, %h1; mov.b32 {{%h3, %h4}}, %r6; cvt.f32.f16 %f1, %h3; cvt.f32.f16 %f2, %h4; cvt.rn.bf16x2.f32 %r9, %f2, %f1;"
        ));
        assert_eq!(direct, around, "{name}");
    }
    let finite = converted(&format!("{both}cvt.rn.satfinite.bf16x2.e5m2x2 %r9, %h1;"));
    assert_eq!((finite[0x7c], finite[0xfc]), (0x7f7f_7f7f, 0xff7f_ff7f));
    // into four bits: to the nearest, ties to even, at most 6
    let given = converted(
        "cvt.rn.f32.s32 %f1, %r2; mul.f32 %f1, %f1, 0f3D000000; sub.f32 %f2, 0f00000000, %f1; cvt.rn.satfinite.e2m1x2.f32 %b5, %f2, %f1; mov.b32 %r9, {%b5, %b5, %b5, %b5};",
    );
    let near = |value: f32| {
        let distance = |code: &u32| ((e2m1(*code) - value).abs().to_bits(), code & 1);
        (0..8).min_by_key(distance).expect("a code")
    };
    let expected: Vec<u32> = (0..256)
        .map(|number: u32| {
            let code = near(number as f32 / 32.0);
            ((code | 8) << 4 | code) * 0x0101_0101
        })
        .collect();
    // minus zero keeps its sign, and zero has none
    assert_eq!(given[1..], expected[1..]);
    assert_eq!(given[0] & 0xf, 0);
    let same = "cvt.rn.f32.s32 %f1, %r2; cvt.rn.bf16x2.f32 %r6, %f1, %f1;\n";
    let direct = converted(&format!("{same}cvt.rn.satfinite.e4m3x2.bf16x2 %h2, %r6; cvt.u32.u16 %r9, %h2;"));
    let around =
        converted(&format!("{same}cvt.rn.satfinite.e4m3x2.f32 %h2, %f1, %f1; cvt.u32.u16 %r9, %h2;"));
    assert_eq!(direct, around);
    let wrong = Block { target: BLACKWELL, ..Block::of(1) };
    let error = wrong.run("cvt.rn.bf16x2.e2m1x2 %r9, %h1;").expect_err("16 bits");
    assert_eq!(error, "line 9: 'cvt.rn.bf16x2.e2m1x2' takes a register of 8 bits");
}

/// A constant of FP32 has its value in FP64.
#[test]
fn constants_of_fp32_in_fp64() {
    let body = "mov.f64 %d5, 0fbf800000; add.f64 %d6, %d5, 0f40800000; mul.f64 %d7, %d6, 0f3f000000; st.global.v2.f64 [%d1], {%d6, %d7};";
    assert_eq!(words("sm_80", body)[..4], [0, 0x4008_0000, 0, 0x3ff8_0000]);
}
