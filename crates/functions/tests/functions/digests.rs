//! Every function against the given digests.

use bitmma_functions::{Function, digest, lanes};

use crate::common::digests;

/// The digest of a block, many inputs at once.
fn of_block(function: Function, block: u32) -> u64 {
    let first = block * digest::BLOCK;
    let mut y = [0; 1 << 12];
    let parts = (0..digest::BLOCK >> 12).map(|part| {
        let x: Vec<u32> = (0..1 << 12).map(|i| first + (part << 12) + i).collect();
        lanes::fill(function, &x, &mut y);
        digest::terms(&x, &y)
    });
    parts.fold(0, u64::wrapping_add)
}

#[test]
fn given_digests_agree() {
    for (function, block, expected) in digests() {
        let digest = of_block(function, block);
        assert_eq!(digest, expected, "{function} {block:02x}: {digest:016x}");
    }
}

#[test]
fn one_input_at_a_time() {
    let (function, block, expected) = digests()[8];
    assert_eq!(digest::of_block(block, |x| function.evaluate(x)), expected);
}
