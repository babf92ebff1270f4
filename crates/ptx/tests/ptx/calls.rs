//! Calls of device functions, what kernels print, and assertions.

use bitmma_ptx::{Argument, Buffer, Launch, Mode, Program, Scalar};

use crate::block::Block;

/// The text of a body that calls functions, which stand on one line before the entry.
fn text(functions: &str, body: &str) -> String {
    Block::of(32).text(body).replace(".visible .entry", &format!("{functions} .visible .entry"))
}

/// What each of 32 threads leaves, and what is printed, by so many blocks.
fn run(functions: &str, body: &str, blocks: u32) -> Result<(Vec<u32>, String), String> {
    let program = Program::parse(&text(functions, body)).map_err(|error| error.to_string())?;
    let kernel = program.kernel(None, None, Mode::Gpu).map_err(|error| error.to_string())?;
    let launch = Launch { block: Some([32, 1, 1]), ..Launch::new(&kernel, [blocks, 1, 1]) };
    let mut buffers = [Buffer { bytes: vec![0; 128], ..Buffer::default() }];
    let arguments = [Argument::Pointer { buffer: 0, offset: 0 }, Argument::Scalar(Scalar::Integer(7))];
    let report = launch.run(&arguments, &mut buffers, &mut || false).map_err(|error| error.to_string())?;
    let words = buffers[0].bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    Ok((words, report.printed))
}

fn threads(functions: &str, body: &str) -> Vec<u32> {
    run(functions, body, 1).unwrap_or_else(|error| panic!("{body}\n{error}")).0
}

/// x + 3·y, or 1 where x is below 4.
const MIXED: &str = ".func (.param .b32 d) mixed(.param .b32 x, .param .b32 y) { .reg .pred %p1; .reg .b32 %r<9>; \
    ld.param.b32 %r1, [x]; ld.param.b32 %r2, [y]; setp.lt.u32 %p1, %r1, 4; @%p1 bra LOW; \
    mad.lo.s32 %r3, %r2, 3, %r1; st.param.b32 [d], %r3; ret; LOW: st.param.b32 [d], 1; ret; }";

/// A call of it with two operands.
fn mixed(d: &str, x: &str, y: &str) -> String {
    format!(
        "{{ .param .b32 a; .param .b32 b; .param .b32 c; st.param.b32 [b], {y}; st.param.b32 [a], {x};\n\
         call.uni (c), mixed, (a, b);\nld.param.b32 {d}, [c]; }}"
    )
}

#[test]
fn functions_with_parameters() {
    let once = format!("{}\nst.global.b32 [%d3], %r6;", mixed("%r6", "%r2", "100"));
    let expected: Vec<u32> = (0..32).map(|x| if x < 4 { 1 } else { x + 300 }).collect();
    assert_eq!(threads(MIXED, &once), expected);
    // twice, one result the operand of the other
    let twice =
        format!("{}\n{}\nst.global.b32 [%d3], %r7;", mixed("%r6", "%r2", "100"), mixed("%r7", "%r6", "%r2"));
    let expected: Vec<u32> = (0..32).map(|x| if x < 4 { 1 } else { x + 300 + 3 * x }).collect();
    assert_eq!(threads(MIXED, &twice), expected);
    // one that calls it, under a guard, in a loop
    let outer = format!(
        "{MIXED} .func (.param .b32 d) outer(.param .b32 x) {{ .reg .b32 %r<9>; ld.param.b32 %r1, [x]; {} st.param.b32 [d], %r2; ret; }}",
        mixed("%r2", "%r1", "1000")
    );
    let guarded = "mov.b32 %r6, %r2; mov.b32 %r8, 0; setp.gt.u32 %p1, %r2, 9;\n$AGAIN:\n\
        { .param .b32 a; .param .b32 c; st.param.b32 [a], %r6; st.param.b32 [c], 0;\n@%p1 call (c), outer, (a);\n@%p1 ld.param.b32 %r6, [c]; }\n\
        add.s32 %r8, %r8, 1; setp.lt.u32 %p2, %r8, 3;\n@%p2 bra $AGAIN;\nst.global.b32 [%d3], %r6;";
    let expected: Vec<u32> = (0..32).map(|x| if x > 9 { x + 9000 } else { x }).collect();
    assert_eq!(threads(&outer, guarded), expected);
}

#[test]
fn functions_that_take_and_return_other_things() {
    // registers, among them a predicate; operands that are constants
    let registers = ".func (.reg .b32 d, .reg .pred q) both(.reg .b32 a, .reg .b64 b) { .reg .b32 %r1; cvt.u32.u64 %r1, b; add.u32 d, a, %r1; setp.gt.u32 q, d, 20; ret; }";
    let body = "call (%r6, %p1), both, (%r2, 5);\nselp.b32 %r7, %r6, 0, %p1;\nst.global.b32 [%d3], %r7;";
    let expected: Vec<u32> = (0..32).map(|x| if x + 5 > 20 { x + 5 } else { 0 }).collect();
    assert_eq!(threads(registers, body), expected);
    // two values in one variable, bytes and halves, with and without signs
    let packed = ".func (.param .align 8 .b8 d[16]) four(.param .b8 a, .param .b16 b) { .reg .b32 %r<9>; .reg .b16 %h<9>; .reg .b64 %d1; \
        ld.param.s8 %r1, [a]; ld.param.u8 %h2, [a]; cvt.u32.u16 %r2, %h2; ld.param.b16 %h3, [b]; cvt.s32.s16 %r3, %h3; \
        st.param.v2.b32 [d], {%r1, %r2}; cvt.s64.s32 %d1, %r3; st.param.b64 [d+8], %d1; ret; }";
    let body = "sub.s32 %r6, %r2, 16; cvt.u16.u32 %h1, %r6;\n\
        { .param .b8 a; .param .b16 b; .param .align 8 .b8 c[16]; st.param.b8 [a], %h1; st.param.b16 [b], %h1; call.uni (c), four, (a, b);\n\
        ld.param.v2.b32 {%r7, %r8}, [c]; ld.param.b64 %d5, [c+8]; }\n\
        cvt.u32.u64 %r9, %d5; shl.b32 %r8, %r8, 8; add.s32 %r7, %r7, %r8; shl.b32 %r9, %r9, 16; add.s32 %r7, %r7, %r9; st.global.b32 [%d3], %r7;";
    let one = |x: i32| (x + (i32::from(x as u8) << 8) + (x << 16)) as u32;
    assert_eq!(threads(packed, body), (-16..16).map(one).collect::<Vec<_>>());
    // parts that overlap, and variables of the function
    let overlapping = ".func (.param .b64 d) swapped(.param .b64 a) { .reg .b32 %r<9>; .reg .b64 %d<9>; .local .b32 own[2]; .shared .align 4 .b8 common[4]; \
        ld.param.v2.b32 {%r1, %r2}, [a]; st.local.b32 [own], %r2; st.local.b32 [own+4], %r1; ld.local.b32 %r3, [own]; ld.local.b32 %r4, [own+4]; \
        st.param.b32 [d], %r3; st.param.b32 [d+4], %r4; ret; }";
    let body = "mov.b64 %d5, {%r2, %r1};\n{ .param .b64 a; .param .b64 c; st.param.b64 [a], %d5; call.uni (c), swapped, (a);\nld.param.b64 %d6, [c]; }\n\
        mov.b64 {%r6, %r7}, %d6; mad.lo.s32 %r6, %r6, 100, %r7; st.global.b32 [%d3], %r6;";
    assert_eq!(threads(overlapping, body), (0..32).map(|x| 700 + x).collect::<Vec<_>>());
    // no result, and none that is read
    let writes = ".func (.param .b32 d) writes(.param .b64 p, .param .b32 a) { .reg .b32 %r1; .reg .b64 %d1; ld.param.b64 %d1, [p]; ld.param.b32 %r1, [a]; st.global.b32 [%d1], %r1; st.param.b32 [d], 3; ret; } .func nothing() { ret; } .func end { exit; }";
    let body = "{ .param .b64 a; .param .b32 b; .param .b32 c; st.param.b64 [a], %d3; st.param.b32 [b], %r2; call.uni (c), writes, (a, b); }\ncall nothing;\ncall end;\nst.global.b32 [%d3], 9;";
    assert_eq!(threads(writes, body), (0..32).collect::<Vec<_>>());
}

#[test]
fn calls_that_are_refused() {
    let error = |functions: &str, body: &str| run(functions, body, 1).expect_err(body);
    let own = ".func own() { call.uni own; ret; }";
    assert_eq!(error(own, "call own;"), "line 5: 'call.uni' is not supported: function 'own' calls itself");
    let mutual = ".func two(); .func one() { call two; ret; } .func two() { call one; ret; }";
    assert_eq!(error(mutual, "call one;"), "line 5: 'call' is not supported: function 'one' calls itself");
    let missing = ".extern .func (.param .b64 d) malloc(.param .b64 n);";
    let body = "{ .param .b64 a; .param .b64 c; st.param.b64 [a], 8; call.uni (c), malloc, (a);\nld.param.b64 %d5, [c]; }";
    assert_eq!(
        error(missing, body),
        "line 9: 'call.uni' is not supported: function 'malloc' is not in the text"
    );
    let indirect = "mov.b64 %d5, mixed;\nkind: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _);\n\
        { .param .b32 a; .param .b32 b; .param .b32 c; st.param.b32 [a], 1; st.param.b32 [b], 1; call (c), %d5, (a, b), kind; }";
    assert_eq!(error(MIXED, indirect), "line 11: 'call' is not supported: calls through registers are not");
    let count = "{ .param .b32 a; .param .b32 c; st.param.b32 [a], 1;\ncall.uni (c), mixed, (a); }";
    assert_eq!(error(MIXED, count), "line 10: 'mixed' takes 2 values here, not 1");
    assert_eq!(
        error(MIXED, "{ .param .b32 a; .param .b32 b; call mixed, (a, b); }"),
        "line 9: 'mixed' returns 1 values here, not 0"
    );
    let size = "{ .param .b64 a; .param .b32 b; .param .b32 c; st.param.b64 [a], 1; st.param.b32 [b], 1;\ncall.uni (c), mixed, (a, b); }";
    assert_eq!(error(MIXED, size), "line 10: 'mixed' takes 4 bytes here, not 8");
    let outside = "{ .param .b32 a; st.param.b32 [a+4], 1; }\ncall nothing;";
    let nothing = ".func nothing() { ret; }";
    assert_eq!(
        error(nothing, outside),
        "line 9: 'st.param.b32' is not supported: 4 bytes at byte 4 of a parameter of 4"
    );
    assert_eq!(error(MIXED, "call mixed;"), "line 9: 'mixed' takes 2 values here, not 0");
    // a function that is not understood matters where it is called
    let strange = ".func strange() { .reg .f128 x; ret; }";
    assert_eq!(threads(strange, "st.global.b32 [%d3], 5;"), [5; 32]);
    assert_eq!(error(strange, "call strange;"), "line 5: registers of type '.f128' are not supported");
    // what was not stored is not passed
    let body = "{ .param .b32 a; .param .b32 b; .param .b32 c; st.param.b32 [a], %r2; call.uni (c), mixed, (a, b);\nld.param.b32 %r6, [c]; }\nst.global.b32 [%d3], %r6;";
    assert!(error(MIXED, body).contains("register 'b#1'"), "{}", error(MIXED, body));
}

#[test]
fn products_across_a_call_are_doubtful() {
    let plus = ".func (.reg .f32 d) plus(.reg .f32 a) { add.f32 d, a, 0f3F800000; ret; }";
    let body = "cvt.rn.f32.u32 %f1, %r2;\nmul.f32 %f2, %f1, 0f3F8CCCCD;\ncall (%f3), plus, (%f2);\nst.global.f32 [%d3], %f3;";
    let error = run(plus, body, 1).expect_err("doubt");
    assert!(
        error.contains("line 10: 'mul.f32': whether ptxas fuses its result with the addition of line 5"),
        "{error}"
    );
    // in the function it is as everywhere
    let both = ".func (.reg .f32 d) both(.reg .f32 a) { .reg .f32 b; mul.f32 b, a, 0f3F8CCCCD;\nadd.f32 d, b, 0f3F800000; ret; }";
    let body = "cvt.rn.f32.u32 %f1, %r2;\ncall (%f3), both, (%f1);\nst.global.f32 [%d3], %f3;";
    let expected: Vec<u32> = (0..32).map(|x| (x as f32).mul_add(1.1, 1.0).to_bits()).collect();
    assert_eq!(threads(both, body), expected);
}

const PRINTF: &str = ".extern .func (.param .b32 d) vprintf (.param .b64 f, .param .b64 a); .extern .func __assertfail (.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e) .noreturn;";

/// A text as a variable in global memory.
fn variable(name: &str, text: &str) -> String {
    let bytes: Vec<String> = text.bytes().chain([0]).map(|byte| byte.to_string()).collect();
    format!(".global .align 1 .b8 {name}[{}] = {{{}}}; ", bytes.len(), bytes.join(", "))
}

/// What a thread prints of a format after these stores of values into its own memory, and what `printf` returns.
fn printed(format: &str, stores: &str, threads: u32, blocks: u32) -> (String, u32) {
    let functions = variable("format", format) + &variable("word", "word") + PRINTF;
    let body = format!(
        "mov.b32 %r7, 0; setp.ge.u32 %p1, %r2, {threads};\n@%p1 bra $END;\n{stores}\nmov.b32 %r10, own; cvt.u64.u32 %d5, %r10; cvta.local.u64 %d5, %d5; mov.b64 %d6, format; cvta.global.u64 %d6, %d6;\n\
         {{ .param .b64 a; .param .b64 b; .param .b32 c; st.param.b64 [a], %d6; st.param.b64 [b], %d5; call.uni (c), vprintf, (a, b);\nld.param.b32 %r7, [c]; }}\n$END:\nst.global.b32 [%d3], %r7;"
    );
    let (words, printed) = run(&functions, &body, blocks).unwrap_or_else(|error| panic!("{format}: {error}"));
    (printed, words[0])
}

#[test]
fn what_is_printed() {
    assert_eq!(printed("plain 100%%\n", "", 1, 1), ("plain 100%\n".to_owned(), 0));
    // in the order of threads and blocks
    let two = "st.local.v2.b32 [own], {%r3, %r2};";
    assert_eq!(printed("%d:%u ", two, 2, 3), ("0:0 0:1 1:0 1:1 2:0 2:1 ".to_owned(), 2));
    let mixed = "st.local.b32 [own], -5; st.local.b64 [own+8], 0x123456789abcdef; mov.b64 %d7, word; cvta.global.u64 %d7, %d7; st.local.b64 [own+16], %d7; st.local.f64 [own+24], 0d400921FB54442D18; st.local.b32 [own+32], 65;";
    assert_eq!(printed("|%+d|%#llX|%-5.3s|", mixed, 1, 1).0, "|-5|0X123456789ABCDEF|wor  |");
    assert_eq!(printed("|%06d|%#lx|%5s|%.3f|%c|", mixed, 1, 1).0, "|-00005|0x123456789abcdef| word|3.142|A|");
    for (format, bits, expected) in [
        ("%f", 0x3fb9_9999_9999_999a_u64, "0.100000"),
        ("%e", 0x40f8_6a00_0000_0000, "1.000000e+05"),
        ("%g", 0x40f8_6a00_0000_0000, "100000"),
        ("%g", 0x412e_8480_0000_0000, "1e+06"),
        ("%g", 0x3f1a_36e2_eb1c_432d, "0.0001"),
        ("%g", 0x3ee4_f8b5_88e3_68f1, "1e-05"),
        ("%+.0f|", 0x4004_0000_0000_0000, "+2|"),
        ("%#.0f|", 0x4004_0000_0000_0000, "2.|"),
        ("%08.2f|", 0xc004_0000_0000_0000, "-0002.50|"),
        ("%-8g|", 0xfff0_0000_0000_0000, "-inf    |"),
        ("%08G|", 0x7ff8_0000_0000_0000, "     NAN|"),
        ("%hhd %%", 0x1ff, "-1 %"),
        ("%x", 0x1_0000_00ff, "ff"),
        ("%.5d|", 0x2a, "00042|"),
        ("%p", 0x10_0000_0000, "0x1000000000"),
        ("%y", 0, "%y"),
        ("%", 0, "%"),
    ] {
        let store = format!("st.local.b64 [own], {bits:#x};");
        assert_eq!(printed(format, &store, 1, 1).0, expected, "{format}");
    }
    // a megabyte is kept
    let (much, _) = printed(&"0123456789abcdef".repeat(64), "", 32, 40);
    assert!(much.starts_with(&"0123456789abcdef".repeat(1 << 16)));
    assert!(much.ends_with("f\n(a launch prints 1048576 bytes at most: the rest is left out)\n"));
}

#[test]
fn assertions() {
    let functions =
        variable("message", "x < 31") + &variable("file", "one.py") + &variable("function", "one") + PRINTF;
    let body = |limit: u32| {
        format!(
            "setp.lt.u32 %p1, %r2, {limit};\n@%p1 bra $FINE;\n{{ .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e; \
             mov.b64 %d5, message; cvta.global.u64 %d5, %d5; st.param.b64 [a], %d5; mov.b64 %d5, file; cvta.global.u64 %d5, %d5; st.param.b64 [b], %d5; st.param.b32 [c], 12; \
             mov.b64 %d5, function; cvta.global.u64 %d5, %d5; st.param.b64 [d], %d5; st.param.b64 [e], 1;\ncall.uni __assertfail, (a, b, c, d, e); }}\ntrap;\n$FINE:\nst.global.b32 [%d3], 3;"
        )
    };
    assert_eq!(threads(&functions, &body(32)), [3; 32]);
    let expected = "line 12: one.py:12: one: block: [0,0,0], thread: [31,0,0] Assertion `x < 31` failed. (block (0, 0, 0), thread (31, 0, 0))";
    assert_eq!(run(&functions, &body(31), 1), Err(expected.to_owned()));
}
