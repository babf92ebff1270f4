//! Bulk copies of bytes that lie together.

use bitmma_ptx::{Argument, Buffer, Launch, Limits, Mode, Program};

/// What a thread leaves of 64 bytes that it copies to shared memory and back, in 32 and 32 bytes; `from` makes the address that the
/// first half is copied from, of %d1.
fn copied(from: &str, bytes: u32) -> Result<Vec<u8>, String> {
    let text = format!(
        ".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry one(.param .u64 x, .param .u64 y)\n.reqntid 1\n{{\n\
         .reg .pred %p<3>; .reg .b32 %r<5>; .reg .b64 %d<9>; .shared .align 128 .b8 s[64]; .shared .align 8 .b8 m[8];\n\
         ld.param.b64 %d1, [x]; ld.param.b64 %d2, [y]; add.s64 %d4, %d1, 32; add.s64 %d5, %d2, 32;\n\
         mbarrier.init.shared::cta.b64 [m], 1;\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [m], 64;\n\
         {from}\nmov.b32 %r1, {bytes};\n\
         cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s], [%d3], %r1, [m];\n\
         cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [s+32], [%d4], 32, [m];\n\
         W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [m], 0; @!%p1 bra W;\n\
         cp.async.bulk.global.shared::cta.bulk_group [%d5], [s], 32;\n\
         cp.async.bulk.global.shared::cta.bulk_group [%d2], [s+32], 32;\n\
         cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\nret;\n}}\n"
    );
    let kernel = Program::parse(&text).expect("a text").kernel(None, None, Mode::Text).expect("a kernel");
    let buffer = |bytes| Buffer { bytes, ..Buffer::default() };
    let mut buffers = vec![buffer((0..64).collect()), buffer(vec![0; 64])];
    let launch = Launch {
        kernel: &kernel,
        grid: [1; 3],
        block: None,
        shared: None,
        allow_doubtful: false,
        limits: Limits { threads: 1, ..Limits::default() },
        trace: None,
    };
    let arguments = [0, 1].map(|buffer| Argument::Pointer { buffer, offset: 0 });
    launch.run(&arguments, &mut buffers, &mut || false).map_err(|error| error.to_string())?;
    Ok(buffers.swap_remove(1).bytes)
}

#[test]
fn bytes_are_copied_in_and_out() {
    assert_eq!(copied("mov.b64 %d3, %d1;", 32).expect("runs"), (32..64).chain(0..32).collect::<Vec<u8>>());
}

#[test]
fn copies_of_other_addresses_and_sizes_are_errors() {
    for (from, bytes, expected) in [
        ("add.s64 %d3, %d1, 8;", 32, "multiples of 16, not"),
        ("mov.b64 %d3, %d1;", 24, "multiples of 16, not 0x18"),
        ("add.s64 %d3, %d1, 48;", 32, "which has 64 bytes"),
        // it goes beyond the last address
        ("mov.b64 %d3, -16;", 32, "which is in no buffer"),
        ("mov.b64 %d3, 0;", 32, "the pointer is null"),
        ("mov.b64 %d3, %d1;", 16, "is not complete: 16 bytes are missing"),
    ] {
        let error = copied(from, bytes).expect_err(from);
        assert!(error.contains(expected), "{from} {bytes}: {error}");
    }
}
