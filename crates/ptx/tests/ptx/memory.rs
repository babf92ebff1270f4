//! What memory a kernel can have, and where it ends.

use bitmma_ptx::{Mode, Program};

use crate::block::Block;

#[test]
fn variables_that_are_too_large_are_refused_by_name() {
    let text = |variables: &str| {
        let text = format!(
            ".version 8.4\n.target sm_80\n.address_size 64\n{variables}\n.visible .entry one()\n{{\nret;\n}}\n"
        );
        Program::parse(&text).and_then(|program| program.kernel(None, None, Mode::Gpu)).err()
    };
    let error = text(".global .b8 g[4294967296];").expect_or("too large");
    assert!(error.contains("variable 'g' has 4294967296 bytes of global memory"), "{error}");
    let error = text(".global .b64 big[18446744073709551];").expect_or("far too large");
    assert!(error.contains("'big'"), "{error}");
    let error = text(".global .b8 a[1000000000];\n.global .b8 b[1000000000];").expect_or("together");
    assert!(error.contains("variable 'b' has 1000000000 bytes"), "{error}");
    assert!(text(".global .b8 a[1000000];").is_none());
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
