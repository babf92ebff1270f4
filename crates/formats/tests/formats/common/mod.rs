//! What several tests need: a random stream and exact values.

pub(crate) mod apfloat;

use bitmma_formats::{Class, Format, decode};

/// SplitMix64 (Steele, Lea and Flood 2014): small, and the same on every platform.
pub(crate) struct Random(pub u64);

impl Random {
    /// A stream of the seed in `BITMMA_SEED`, or of the given one; printed, so that a failure replays.
    pub(crate) fn new(seed: u64) -> Random {
        let seed = std::env::var("BITMMA_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(seed);
        println!("BITMMA_SEED={seed}");
        Random(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// A number from 0 up to `bound`, which is left out.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// A number from `range`, both ends included.
    pub(crate) fn within(&mut self, low: i32, high: i32) -> i32 {
        low + self.below((high - low + 1) as u64) as i32
    }

    /// Exactly `bits` bits (1 to 128), the top one set.
    pub(crate) fn significand(&mut self, bits: u32) -> u128 {
        let word = (u128::from(self.next()) << 64) | u128::from(self.next());
        (word | (1 << 127)) >> (128 - bits)
    }
}

/// `significand * 2^exponent` with an odd significand; zero as (0, 0).
pub(crate) fn lowest_terms(significand: u128, exponent: i32) -> (u128, i32) {
    match significand {
        0 => (0, 0),
        _ => {
            let zeros = significand.trailing_zeros();
            (significand >> zeros, exponent + zeros as i32)
        }
    }
}

/// The magnitude of a finite code in lowest terms.
pub(crate) fn magnitude(format: &Format, code: u64) -> (u128, i32) {
    let unpacked = decode(format, code);
    assert!(matches!(unpacked.class, Class::Zero | Class::Finite), "{format} {code:#x}");
    lowest_terms(u128::from(unpacked.significand), unpacked.exponent - format.fraction_bits as i32)
}

/// Bits of sign, exponent and fraction.
pub(crate) fn information_bits(format: &Format) -> u32 {
    format.bits() - format.padding_bits
}
