//! Digests of results by block: a GPU and a CPU compare all 2^32 results of a function without moving them.
//!
//! A block is the 2^24 inputs that share the upper eight bits of their code. Its digest is the sum modulo 2^64 of
//! [`mix`]`(x << 32 | y)` over its inputs x and their results y. The order does not matter.

/// Blocks of all FP32 codes.
pub const BLOCKS: u32 = 256;
/// Inputs of a block.
pub const BLOCK: u32 = 1 << 24;

/// The finalizer of SplitMix64 (Steele, Lea, Flood 2014), its increment added first.
#[inline(always)]
pub const fn mix(value: u64) -> u64 {
    let z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// What an input and its result add to the digest of their block.
#[inline(always)]
pub const fn term(x: u32, y: u32) -> u64 {
    mix((x as u64) << 32 | y as u64)
}

/// The digest of a block of a function, one input at a time.
pub fn of_block(block: u32, mut function: impl FnMut(u32) -> u32) -> u64 {
    let first = block * BLOCK;
    (first..=first + (BLOCK - 1)).fold(0, |digest, x| digest.wrapping_add(term(x, function(x))))
}

/// What inputs and their results add to the digest of their block; compiled for its caller's instruction set, as
/// [`lanes::fill`](crate::lanes::fill) is.
#[inline(always)]
pub fn terms(x: &[u32], y: &[u32]) -> u64 {
    let mut digest = 0_u64;
    for i in 0..x.len().min(y.len()) {
        digest = digest.wrapping_add(term(x[i], y[i]));
    }
    digest
}
