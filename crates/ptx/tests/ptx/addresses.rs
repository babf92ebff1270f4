//! Addresses as data: kernels that store them, compare them, or go where memory leads see those of this machine.

use bitmma_ptx::{Argument, Buffer, Launch, Mode, Program};

/// Where this machine has the buffers, which lie one behind the other without gaps.
const HOSTS: [u64; 3] = [0x7f12_3456_7040, 0x7f12_3456_7080, 0x7f12_3456_7100];

/// The entry of a body in which `%d1` to `%d3` are the arguments, and its buffers: two words of 64 bits count from 100 on in the first.
fn text(body: &str) -> String {
    format!(
        ".version 8.4\n.target sm_80\n.address_size 64\n.global .b64 own[4];\n.const .b64 fixed[2];\n\
         .visible .entry one(.param .u64 a, .param .u64 b, .param .u64 c)\n.reqntid 1\n{{\n\
         .reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %d<20>; .local .align 8 .b8 stack[16];\n\
         ld.param.b64 %d1, [a]; ld.param.b64 %d2, [b]; ld.param.b64 %d3, [c];\n{body}\nret;\n}}\n"
    )
}

fn buffers() -> Vec<Buffer> {
    let buffer = |name: &str, words: Vec<u64>| Buffer {
        name: name.to_owned(),
        bytes: words.iter().flat_map(|word| word.to_le_bytes()).collect(),
        ..Buffer::default()
    };
    vec![
        buffer("a", (100..108).collect()),
        buffer("b", vec![0; 16]),
        buffer("c", vec![HOSTS[0] + 8, HOSTS[1], 0, 1 << 36]),
    ]
}

/// Runs a body on buffers at these addresses; what it leaves in b.
fn run_at(hosts: &[u64], buffers: &mut [Buffer], body: &str) -> Result<Vec<u64>, String> {
    let program = Program::parse(&text(body)).map_err(|error| error.to_string())?;
    let kernel = program.kernel(None, None, Mode::Gpu).map_err(|error| error.to_string())?;
    let launch = Launch { hosts: hosts.to_vec(), ..Launch::new(&kernel, [1; 3]) };
    let arguments = [0, 1, 2].map(|buffer| Argument::Pointer { buffer, offset: 0 });
    launch.run(&arguments, buffers, &mut || false).map_err(|error| error.to_string())?;
    Ok(buffers[1].bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect())
}

fn run(body: &str) -> Result<Vec<u64>, String> {
    run_at(&HOSTS, &mut buffers(), body)
}

#[test]
fn addresses_that_are_stored_are_those_of_this_machine() {
    for (body, expected) in [
        ("st.global.b64 [%d2], %d1;", HOSTS[0]),
        ("add.s64 %d4, %d1, 16; st.global.b64 [%d2], %d4;", HOSTS[0] + 16),
        ("mov.b64 {%r1, %r2}, %d3; mov.b64 %d4, {%r1, %r2}; st.global.v2.b64 [%d2], {%d4, %d4};", HOSTS[2]),
        (
            "cvta.to.global.u64 %d4, %d1; mad.lo.s64 %d4, 8, 2, %d4; atom.global.exch.b64 %d5, [%d2], %d4;",
            HOSTS[0] + 16,
        ),
        ("cvt.u32.u64 %r1, %d1; st.global.b32 [%d2], %r1;", HOSTS[0] & 0xffff_ffff),
        ("st.local.b64 [stack+8], %d2; ld.local.b64 %d4, [stack+8]; st.global.b64 [%d2], %d4;", HOSTS[1]),
        (
            "mov.b32 %r3, 0; mov.b64 {%r1, %r2}, %d1; shfl.sync.idx.b32 %r1, %r1, 0, 31, -1; mov.b64 %d4, {%r1, %r3}; st.global.b64 [%d2], %d4;",
            HOSTS[0] & 0xffff_ffff,
        ),
        // the distance of two
        ("sub.s64 %d4, %d3, %d1; st.global.b64 [%d2], %d4;", HOSTS[2] - HOSTS[0]),
    ] {
        assert_eq!(run(body).expect(body)[0], expected, "{body}");
    }
}

#[test]
fn a_later_launch_finds_what_an_earlier_one_stored() {
    let mut all = buffers();
    run_at(&HOSTS, &mut all, "add.s64 %d4, %d1, 24; st.global.b64 [%d3], %d4;").expect("stores");
    let body = "ld.global.b64 %d4, [%d1]; ld.b64 %d5, [%d4]; st.global.b64 [%d2], %d5;";
    // the same buffers in another order
    all.swap(0, 2);
    let hosts = [HOSTS[2], HOSTS[1], HOSTS[0]];
    assert_eq!(run_at(&hosts, &mut all, body).expect("reads")[0], 103);
}

#[test]
fn a_loaded_address_is_that_of_the_argument() {
    let compare = "selp.b64 %d5, 1, 0, %p1; st.global.b64 [%d2], %d5;";
    let equal = format!("ld.global.b64 %d4, [%d3+8]; setp.eq.s64 %p1, %d4, %d2; {compare}");
    assert_eq!(run(&equal).expect("compares")[0], 1);
    let below = format!("ld.global.b64 %d4, [%d3]; setp.gt.u64 %p1, %d4, %d1; {compare}");
    assert_eq!(run(&below).expect("compares")[0], 1);
    let distance = "ld.global.b64 %d4, [%d3]; sub.s64 %d4, %d4, %d1; st.global.b64 [%d2], %d4;";
    assert_eq!(run(distance).expect("subtracts")[0], 8);
}

#[test]
fn a_loaded_number_that_is_no_address_leads_nowhere() {
    let body = "ld.global.b64 %d4, [%d3+24]; ld.global.b64 %d5, [%d4]; st.global.b64 [%d2], %d5;";
    let error = run(body).expect_err("a number of the emulator's own");
    assert!(error.contains("reads address 0x1000000000, which is in no buffer"), "{error}");
    let null = "ld.global.b64 %d4, [%d3+16]; ld.global.b64 %d5, [%d4]; st.global.b64 [%d2], %d5;";
    let error = run(null).expect_err("a null pointer");
    assert!(error.contains("the pointer is null"), "{error}");
}

#[test]
fn kernels_that_keep_addresses_to_themselves_find_what_lies_beyond() {
    // b lies right behind a on this machine
    for body in [
        "ld.global.b64 %d4, [%d1+64]; st.global.b64 [%d2], %d4;",
        // an index of 64 bits that is loaded is no address
        "ld.global.b64 %d4, [%d1]; sub.s64 %d6, %d4, 92; shl.b64 %d7, %d6, 3; add.s64 %d8, %d1, %d7; ld.global.b64 %d5, [%d8]; st.global.b64 [%d2], %d5;",
        "ld.global.b64 %d4, [%d1]; sub.s64 %d6, %d4, 36; add.s64 %d8, %d1, %d6; ld.global.b64 %d5, [%d8]; st.global.b64 [%d2], %d5;",
        // pointers that meet only pointers
        "add.s64 %d4, %d1, 64; setp.eq.s64 %p1, %d4, %d2; @%p1 ret; ld.global.b64 %d5, [%d4]; st.global.b64 [%d2], %d5;",
    ] {
        let error = run(body).expect_err(body);
        assert!(error.contains("reads 8 bytes at byte 64 of a, which has 64 bytes"), "{body}: {error}");
    }
}

#[test]
fn accesses_beyond_buffers_at_addresses_of_this_machine() {
    let stores = "st.global.b64 [%d2], %d1;";
    let error = run(&format!("{stores} ld.global.b64 %d4, [%d3+32]; st.global.b64 [%d2+8], %d4;"));
    let error = error.expect_err("behind the last");
    assert!(error.contains("which is in no buffer: it would be byte 32 of c, which has 32 bytes"), "{error}");
    let error = run(&format!("{stores} ld.global.b64 %d4, [%d1+-16]; st.global.b64 [%d2+8], %d4;"));
    let error = error.expect_err("before the first");
    assert!(error.contains("which is in no buffer: it is 16 bytes before the start of a"), "{error}");
    let variable = format!(
        "{stores} mov.u64 %d5, own; st.global.b64 [own+8], 7; ld.global.b64 %d4, [%d5+8]; st.global.b64 [%d2+8], %d4;"
    );
    assert_eq!(run(&variable).expect("variables stay where they are")[1], 7);
}

#[test]
fn an_address_is_constant_or_global_and_never_both() {
    for (of, expected) in
        [("mov.u64 %d4, fixed; add.s64 %d5, %d4, 8", 2), ("mov.u64 %d5, own", 1), ("mov.u64 %d5, %d1", 1)]
    {
        let body = format!(
            "{of}; isspacep.global %p1, %d5; isspacep.const %p2, %d5; selp.b64 %d6, 1, 0, %p1; selp.b64 %d7, 2, 0, %p2;\n\
             add.s64 %d8, %d6, %d7; st.global.b64 [%d2], %d8;"
        );
        assert_eq!(run(&body).expect(of)[0], expected, "{of}");
    }
}

#[test]
fn pointers_in_a_table_lead_on() {
    let body =
        "ld.global.b64 %d4, [%d3]; mad.lo.s64 %d5, 8, 2, %d4; ld.b64 %d6, [%d5]; st.global.b64 [%d2], %d6;";
    assert_eq!(run(body).expect("follows")[0], 103);
    let body = "ld.global.v2.b64 {%d4, %d5}, [%d3]; setp.eq.s64 %p1, %d4, %d2; selp.b64 %d6, %d4, %d5, %p1; ld.b64 %d7, [%d6+8]; add.s64 %d8, %d7, 1; st.b64 [%d6], %d8;";
    assert_eq!(run(body).expect("follows")[0], 1);
}

#[test]
fn without_hosts_addresses_have_gaps() {
    let left = run_at(&[], &mut buffers(), "st.global.b64 [%d2], %d1;").expect("stores");
    assert_eq!(left[0], 1 << 36);
}

#[test]
fn buffers_that_overlap_on_this_machine_are_an_error_where_addresses_are_data() {
    let hosts = [HOSTS[0], HOSTS[0] + 32, HOSTS[2]];
    let error = run_at(&hosts, &mut buffers(), "st.global.b64 [%d2], %d1;").expect_err("they overlap");
    assert!(error.contains("a at 0x7f1234567040 has 64 bytes, but b is at 0x7f1234567060"), "{error}");
    run_at(&hosts, &mut buffers(), "st.global.b64 [%d2], 1;").expect("no address is data");
    let error = run_at(&HOSTS[..2], &mut buffers(), "st.global.b64 [%d2], %d1;").expect_err("one is missing");
    assert!(error.contains("2 addresses of this machine are given for 3 buffers"), "{error}");
}
