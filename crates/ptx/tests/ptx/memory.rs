//! What memory a kernel can have, and where it ends.

use bitmma_ptx::{Argument, Buffer, Launch, Member, Mode, Program};

use crate::block::Block;

#[test]
fn variables_that_are_too_large_are_refused_by_name() {
    let text = |variables: &str, named: &[&str]| {
        let moves: String = named.iter().map(|name| format!("mov.u64 %d1, {name};\n")).collect();
        let text = format!(
            ".version 8.4\n.target sm_80\n.address_size 64\n{variables}\n.visible .entry one()\n{{\n.reg .b64 %d<2>;\n{moves}ret;\n}}\n"
        );
        Program::parse(&text).and_then(|program| program.kernel(None, None, Mode::Gpu)).err()
    };
    let error = text(".global .b8 g[4294967296];", &["g"]).expect_or("too large");
    assert!(error.contains("variable 'g' has 4294967296 bytes of global memory"), "{error}");
    let error = text(".global .b64 big[18446744073709551];", &["big"]).expect_or("far too large");
    assert!(error.contains("'big'"), "{error}");
    let both = ".global .b8 a[1000000000];\n.global .b8 b[1000000000];";
    let error = text(both, &["a", "b"]).expect_or("together");
    assert!(error.contains("variable 'b' has 1000000000 bytes"), "{error}");
    assert!(text(".global .b8 a[1000000];", &["a"]).is_none());
    // of those that the entry does not name there are thousands in libraries
    assert!(text(both, &["b"]).is_none());
    assert!(text(".global .u64 t[2] = {one, one};\n.global .b8 a[4];", &["a"]).is_none());
    let error = text(".global .u64 t[2] = {one, one};", &["t"]).expect_or("its values are not understood");
    assert!(
        error.starts_with("line 4: ") && error.contains("as an initial value of type u64 is not supported"),
        "{error}"
    );
}

/// An entry that is not understood is refused if it is asked for, and no other.
#[test]
fn entries_are_refused_alone() {
    let entry = |name: &str, body: &str| format!(".visible .entry {name}()\n{{\n{body}\nret;\n}}\n");
    let head = ".version 8.4\n.target sm_80\n.address_size 64\n";
    let text = [head, &entry("good", ""), &entry("bad", "mov.u32 %r1 %r2 {"), &entry("last", "")].concat();
    // the brace never ends
    Program::parse(&text).expect_err("no end");
    let text = [head, &entry("good", ""), &entry("bad", "mov.u32 %r1 {} %r2;"), &entry("last", "")].concat();
    let program = Program::parse(&text).expect("reads");
    assert_eq!(program.entries().collect::<Vec<_>>(), ["good", "last", "bad"]);
    for name in ["good", "last"] {
        program.kernel(Some(name), None, Mode::Gpu).expect(name);
    }
    let error = program.kernel(Some("bad"), None, Mode::Gpu).expect_err("bad").to_string();
    assert!(error.starts_with("line 11: "), "{error}");
    let error = program.kernel(None, None, Mode::Gpu).expect_err("three").to_string();
    assert!(error.contains("the file has 3 entries"), "{error}");
    // the only one
    let error =
        Program::parse(&[head, &entry("bad", "mov.u32 %r1 {} %r2;")].concat()).expect_err("bad").to_string();
    assert!(error.starts_with("line 6: "), "{error}");
}

/// Structures are given as their bytes; variables are set before a launch, and read after it.
#[test]
fn structures_and_variables() {
    let text = ".version 8.4\n.target sm_80\n.address_size 64\n.const .align 4 .b8 factors[8];\n.global .align 4 .u32 total = 5;\n\
        .visible .entry one(.param .align 8 .b8 pair[16], .param .u64 y)\n{\n.reg .b32 %r<9>; .reg .b64 %d<9>;\n\
        ld.param.u64 %d1, [y]; ld.param.u32 %r1, [pair]; ld.param.u64 %d2, [pair+8]; cvt.u32.u64 %r2, %d2; ld.const.u32 %r3, [factors+4];\n\
        ld.global.u32 %r4, [total]; mad.lo.u32 %r5, %r2, %r3, %r1; st.global.u32 [%d1], %r5; add.u32 %r4, %r4, %r5; st.global.u32 [total], %r4;\nret;\n}\n";
    let program = Program::parse(text).expect("reads");
    let kernel = program.kernel(None, None, Mode::Text).expect("decodes");
    let variables: Vec<_> =
        kernel.variables().map(|one| (one.name, one.bytes, one.is_constant, one.initial.len())).collect();
    assert_eq!(variables, [("factors", 8, true, 0), ("total", 4, false, 4)]);
    assert_eq!(kernel.parameters().map(|one| one.bytes).collect::<Vec<_>>(), [16, 8]);
    let run = |pair: Vec<u8>, variables: &[(&str, Vec<u8>)]| {
        let mut buffers = [Buffer { bytes: vec![0; 4], name: "y".to_owned(), ..Buffer::default() }];
        let variables = variables.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.clone())).collect();
        let launch = Launch { variables, block: Some([1; 3]), ..Launch::new(&kernel, [1; 3]) };
        let arguments = [
            Argument::Structure { bytes: pair, pointers: vec![] },
            Argument::Pointer { buffer: 0, offset: 0 },
        ];
        let report =
            launch.run(&arguments, &mut buffers, &mut || false).map_err(|error| error.to_string())?;
        Ok::<_, String>((buffers[0].bytes.clone(), report.variables))
    };
    let pair = [3u32.to_le_bytes().to_vec(), vec![0; 4], 7u64.to_le_bytes().to_vec()].concat();
    let factors = [1u32.to_le_bytes(), 10u32.to_le_bytes()].concat();
    let (y, left) = run(pair.clone(), &[("factors", factors)]).expect("runs");
    assert_eq!(y, 73u32.to_le_bytes());
    assert_eq!(left.into_iter().collect::<Vec<_>>(), [("total".to_owned(), 78u32.to_le_bytes().to_vec())]);
    // its second member as a pointer to the second word of y
    let member = Member { at: 8, buffer: 0, offset: 4 };
    let mut buffers = [Buffer { bytes: vec![0; 8], name: "y".to_owned(), ..Buffer::default() }];
    let launch = Launch { block: Some([1; 3]), ..Launch::new(&kernel, [1; 3]) };
    let mut point = |members: &[Member]| {
        let arguments = [
            Argument::Structure { bytes: pair.clone(), pointers: members.to_vec() },
            Argument::Pointer { buffer: 0, offset: 0 },
        ];
        launch.run(&arguments, &mut buffers, &mut || false).map_err(|error| error.to_string())
    };
    point(&[member]).expect("runs");
    let error = point(&[Member { at: 12, ..member }]).expect_err("12 + 8 > 16");
    assert!(error.contains("argument 0 has a pointer at byte 12, but only 16 bytes"), "{error}");
    let error = point(&[Member { buffer: 1, ..member }]).expect_err("one buffer");
    assert!(error.contains("argument 0 names buffer 1 of 1"), "{error}");
    for (pair, variables, wanted) in [
        (vec![0; 12], vec![], "argument 0 is a structure of 12 bytes, but parameter 'pair' has 16"),
        (
            pair.clone(),
            vec![("factors", vec![0; 4])],
            "4 bytes are given for variable 'factors', which has 8",
        ),
        (pair, vec![("factor", vec![0; 4])], "names no variable 'factor'"),
    ] {
        let error = run(pair, &variables).expect_err(wanted);
        assert!(error.contains(wanted), "{error}");
    }
}

/// Initial values have the bits that ptxas gives them, each in the type of its variable.
#[test]
fn initial_values_have_the_type_of_their_variable() {
    let initial = |declaration: &str| {
        let text = format!(
            ".version 8.4\n.target sm_80\n.address_size 64\n.const {declaration};\n.visible .entry one()\n{{\n.reg .b64 %d<2>;\nmov.u64 %d1, c;\nret;\n}}\n"
        );
        let kernel = Program::parse(&text)
            .and_then(|program| program.kernel(None, None, Mode::Text))
            .map_err(|error| error.to_string())?;
        let variable = kernel.variables().next().expect("one");
        Ok::<_, String>((variable.bytes, variable.initial.to_vec()))
    };
    let words = |all: &[u32]| all.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
    let (half, third) = (0x3f00_0000, 0x3ea8_f5c3);
    for (declaration, expected) in [
        (".f32 c[2] = {0.5, 0.33}", words(&[half, third])),
        (".b32 c[2] = {0.5, 7}", words(&[half, 7])),
        (".v2 .f32 c = {0.5, -0.5}", words(&[half, half | 1 << 31])),
        (".f32 c[2] = {0f3F000000, 0d3FE0000000000000}", words(&[half; 2])),
        (".f64 c[2] = {0.5, 0f3F000000}", [0.5f64.to_le_bytes(), u64::from(half).to_le_bytes()].concat()),
        (".b128 c[2] = {1, 2}", [1u128.to_le_bytes(), 2u128.to_le_bytes()].concat()),
        (".b64 c = -0.5", (-0.5f64).to_le_bytes().to_vec()),
        (".s16 c[2] = {-2, 3}", vec![0xfe, 0xff, 3, 0]),
        (".u8 c[] = {1, 2, 255}", vec![1, 2, 255]),
    ] {
        let bytes = expected.len() as u64;
        assert_eq!(initial(declaration), Ok((bytes, expected)), "{declaration}");
    }
    for declaration in [".u32 c = 1.5", ".f32 c = 1", ".f16 c = 1.5", ".b16 c = 0f3F000000", ".s64 c = -1.5"]
    {
        let error = initial(declaration).expect_err(declaration);
        assert!(error.starts_with("line 4: ") && error.contains("as an initial value of type"), "{error}");
    }
}

/// `cvta.param` and a plain load, which NVRTC makes of `__grid_constant__` parameters whose address is taken.
#[test]
fn parameters_are_read_by_generic_addresses() {
    let read = |address: &str| {
        Block::of(1)
            .run(&format!("mov.b64 %d5, n; cvta.param.u64 %d6, %d5; {address}; st.global.u32 [%d1], %r9;"))
    };
    assert_eq!(read("ld.u32 %r9, [%d6]").expect("reads")[0], 7);
    assert_eq!(read("ld.param.u32 %r9, [%d5]").expect("reads")[0], 7);
    for (bad, expected) in [
        ("ld.u32 %r9, [%d6+4]", "reads 4 bytes at byte 12 of the parameters, which have 12"),
        (
            "ld.u16 %h1, [%d6+1]; cvt.u32.u16 %r9, %h1",
            "reads 2 bytes at byte 9 of the parameters, which is not a multiple of 2",
        ),
    ] {
        let error = read(bad).expect_err(bad);
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn constant_memory_is_not_written() {
    let text = ".version 8.4\n.target sm_80\n.address_size 64\n.const .u32 c = 5;\n.visible .entry one()\n{\n.reg .b64 %d<3>; .reg .b32 %r<3>;\n\
        mov.u64 %d1, c; cvta.const.u64 %d2, %d1; mov.u32 %r1, 1; st.u32 [%d2], %r1;\nret;\n}\n";
    for write in [
        "st.u32 [%d2], %r1;",
        "atom.add.u32 %r2, [%d2], %r1;",
        "red.add.u32 [%d2], %r1;",
        "atom.cas.b32 %r2, [%d2], %r1, %r1;",
    ] {
        let program = Program::parse(&text.replace("st.u32 [%d2], %r1;", write)).expect("reads");
        let kernel = program.kernel(None, None, Mode::Text).expect("decodes");
        let launch = Launch { block: Some([1; 3]), ..Launch::new(&kernel, [1; 3]) };
        let error = launch.run(&[], &mut [], &mut || false).expect_err(write).to_string();
        assert!(error.contains("writes to variable 'c', which is in constant memory"), "{error}");
    }
    let twice = text.replace(".visible", ".visible .entry one()\n{\nret;\n}\n.visible");
    let error = Program::parse(&twice).expect_err("twice").to_string();
    assert!(error.contains("entry 'one' is declared twice"), "{error}");
}

trait Refused {
    fn expect_or(self, what: &str) -> String;
}

impl Refused for Option<bitmma_ptx::Error> {
    fn expect_or(self, what: &str) -> String {
        self.unwrap_or_else(|| panic!("{what}: runs")).to_string()
    }
}

#[test]
fn a_value_of_16_bits_at_the_end_is_changed_by_exchanging_32() {
    // 257 words and a half: thread 0 adds to the last half
    let mut block = Block::of(32);
    block.words = vec![0x0001_0001; 3];
    block.cut = 2;
    let body = "setp.ne.u32 %p1, %r2, 0;\n@%p1 ret;\nld.global.b32 %r6, [%d1+8];\n\
        $TRY:\nand.b32 %r7, %r6, 0xffff;\nadd.s32 %r7, %r7, 5;\nand.b32 %r8, %r6, 0xffff0000;\nor.b32 %r7, %r7, %r8;\n\
        atom.global.cas.b32 %r9, [%d1+8], %r6, %r7;\nsetp.ne.u32 %p2, %r9, %r6;\nmov.b32 %r6, %r9;\n@%p2 bra $TRY;";
    let words = block.run(body).expect("the last word is whole");
    assert_eq!(words, [0x0001_0001, 0x0001_0001]);
    assert_eq!(block.bytes(body).expect("runs")[8..], [6, 0]);
    // beyond the word, and more than a word
    for (body, expected) in [
        ("ld.global.b16 %h1, [%d1+10]; st.global.b16 [%d1], %h1;", "reads 2 bytes at byte 10"),
        ("ld.global.b32 %r6, [%d1+12]; st.global.b32 [%d1], %r6;", "reads 4 bytes at byte 12"),
        ("ld.global.b64 %d9, [%d1+8]; st.global.b64 [%d1], %d9;", "reads 8 bytes at byte 8"),
    ] {
        let error = block.run(body).expect_err(body);
        assert!(error.contains(expected) && error.contains("which has 10 bytes"), "{error}");
    }
}

#[test]
fn what_is_not_known_of_a_descriptor_is_refused_by_line() {
    let product = |bits: u64| {
        let body = format!(
            "mov.b64 %d5, {bits}; wgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%f1, %f2, %f3, %f4}}, %d5, %d5, 0, 1, 1, 0, 0;"
        );
        Block { target: "sm_90a", ..Block::of(128) }.run(&body)
    };
    let error = product(1 << 62 | 3 << 49 | 64 << 32).expect_err("a base offset");
    assert!(
        error.contains("line 10: ") && error.contains("has a base offset of 3, which is not supported"),
        "{error}"
    );
    let error = product(1 << 55 | 64 << 32).expect_err("a bit without a meaning");
    assert!(error.contains("line 10: ") && error.contains("has bits that must be zero"), "{error}");
    product(1 << 62 | 64 << 32).expect("a swizzle that starts at its pattern");
    product(3 << 49 | 64 << 32).expect("no swizzle, so the base offset is ignored");
}

#[test]
fn lanes_that_give_wgmma_different_operands_are_an_error() {
    let product = |operands: &str, sparse: bool| {
        let (sp, k) = if sparse { (".sp", 32) } else { ("", 16) };
        let body = format!(
            "mov.b64 %d5, 0x4000000000; and.b32 %r6, %r2, 31; cvt.u64.u32 %d6, %r6; shr.u64 %d6, %d6, 4; or.b64 %d6, %d6, %d5; \
             setp.lt.u32 %p1, %r6, 8; mov.b32 %r7, 0x44444444; mov.b32 %r8, 0; wgmma.fence.sync.aligned;\n\
             wgmma.mma_async{sp}.sync.aligned.m64n8k{k}.f32.f16.f16 {{%f1, %f2, %f3, %f4}}, {operands}, 1, 1, 0, 0;"
        );
        Block { target: "sm_90a", ..Block::of(128) }.run(&body)
    };
    let descriptor = "the matrix descriptor is 0x0000004000000001 here and 0x0000004000000000 in lane 0";
    let scale = "scale-d does not hold here, and holds in lane 0";
    for (operands, sparse, lane, expected) in [
        ("%d6, %d5, 0", false, 16, descriptor),
        ("%d5, %d6, 0", false, 16, descriptor),
        ("%d6, %d5, %r7, 0, 0", true, 16, descriptor),
        ("%d5, %d6, %r7, 0, 0", true, 16, descriptor),
        ("%d5, %d5, %p1", false, 8, scale),
        ("%d5, %d5, %r7, 0, %p1", true, 8, scale),
    ] {
        let error = product(operands, sparse).expect_err(operands);
        let thread = format!("thread ({lane}, 0, 0)");
        assert!(
            error.contains("line 10: ") && error.contains(expected) && error.contains(&thread),
            "{operands}: {error}"
        );
    }
}

#[test]
fn a_text_of_many_entries_is_decoded_in_linear_time() {
    let entry = |number: usize| {
        format!(".visible .entry k{number}()\n{{\n.reg .b32 %r<2>;\nmov.u32 %r1, %tid.x;\nret;\n}}\n")
    };
    let text: String = (0..10_000).map(entry).collect();
    let text = format!(".version 8.4\n.target sm_90a\n.address_size 64\n{text}");
    let start = std::time::Instant::now();
    let program = Program::parse(&text).expect("a text");
    for number in 0..10_000 {
        let name = format!("k{number}");
        program.survey(Some(&name), None).expect("a survey");
        program.kernel(Some(&name), None, Mode::Gpu).expect("an entry");
    }
    let seconds = start.elapsed().as_secs_f64();
    assert!(seconds < 5.0, "10,000 entries took {seconds} s");
}
