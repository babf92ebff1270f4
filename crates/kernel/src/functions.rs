//! The approximate functions of NVIDIA GPUs for many inputs at once, compiled for an instruction set.

use bitmma_functions::ptx::Form;
use bitmma_functions::{Function, digest, lanes};

use crate::simd::{Level, Simd, Work};

/// The results of an instruction for FP32 codes.
///
/// # Panics
///
/// If there is not one result for each input.
pub fn fill(level: Level, form: Form, x: &[u32], y: &mut [u32]) {
    if !form.ftz {
        return level.run(Fill { function: form.function, x, y });
    }
    assert_eq!(x.len(), y.len(), "results for inputs");
    let mut flushed = [0; TOGETHER];
    for (x, y) in x.chunks(TOGETHER).zip(y.chunks_mut(TOGETHER)) {
        let flushed = &mut flushed[..x.len()];
        flushed.copy_from_slice(x);
        level.run(Flush(flushed));
        fill(level, Form { ftz: false, ..form }, flushed, y);
        level.run(Flush(y));
    }
}

// Work and not closures: a closure that is called for several instruction sets is inlined into none of them, and then
// compiled for the least.

struct Fill<'a> {
    function: Function,
    x: &'a [u32],
    y: &'a mut [u32],
}

impl Work for Fill<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        lanes::fill(self.function, self.x, self.y);
    }
}

struct Flush<'a>(&'a mut [u32]);

impl Work for Flush<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        lanes::flush(self.0);
    }
}

struct Terms<'a>(&'a [u32], &'a [u32]);

impl Work for Terms<'_> {
    type Output = u64;

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> u64 {
        digest::terms(self.0, self.1)
    }
}

/// Inputs that are flushed, or summed to a digest, at a time.
const TOGETHER: usize = 1 << 10;

/// The digest of a block of an instruction's results ([`digest`]).
pub fn digest_of_block(level: Level, form: Form, block: u32) -> u64 {
    let mut y = [0; TOGETHER];
    let parts = (0..digest::BLOCK / TOGETHER as u32).map(|part| {
        let first = block * digest::BLOCK + part * TOGETHER as u32;
        let x: [u32; TOGETHER] = std::array::from_fn(|i| first + i as u32);
        fill(level, form, &x, &mut y);
        level.run(Terms(&x, &y))
    });
    parts.fold(0, u64::wrapping_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every instruction set against one input at a time: a part of each 2^16 codes, all with `BITMMA_TESTS=all`.
    #[test]
    fn every_level_has_the_plain_results() {
        let all = std::env::var("BITMMA_TESTS").is_ok_and(|value| value == "all");
        let count = if all { 1 << 16 } else { 1 << 5 };
        let mut y = vec![0; count];
        for (function, _) in Function::ALL {
            for upper in 0..=u16::MAX {
                // elsewhere in each 2^16: as many lower halves as upper ones
                let offset = if all { 0 } else { upper.wrapping_mul(0x9e37) & !31 };
                let first = u32::from(upper) << 16 | u32::from(offset);
                let x: Vec<u32> = (first..=first + (count as u32 - 1)).collect();
                let expected: Vec<u32> = x.iter().map(|&x| function.evaluate(x)).collect();
                for level in Level::available() {
                    fill(level, Form { function, ftz: false }, &x, &mut y);
                    assert_eq!(y, expected, "{function} at {first:08x}, {level:?}");
                }
            }
        }
    }

    /// All 2^24 inputs from 0.5 to 2: exponents of both kinds, the zero of `lg2`, angles of two quadrants.
    #[test]
    fn one_block_of_each() {
        for (function, _) in Function::ALL {
            let form = Form { function, ftz: false };
            let plain = digest::of_block(0x3f, |x| form.evaluate(x));
            for level in Level::available() {
                assert_eq!(digest_of_block(level, form, 0x3f), plain, "{function}, {level:?}");
            }
        }
    }

    #[test]
    fn digests_of_blocks() {
        for (block, digest) in [(0, 0x89d6_6b0f_a30a_fe57), (8, 0xdac2_4643_f0d1_d7b2)] {
            let form = Form { function: Function::Rcp, ftz: false };
            assert_eq!(digest_of_block(Level::best(), form, block), digest);
        }
    }

    #[test]
    fn forms_that_flush() {
        let x: Vec<u32> = (0..3000).map(|i| (i * 0x0015_7a31) ^ ((i & 1) << 31) ^ ((i & 2) << 22)).collect();
        let mut y = vec![0; x.len()];
        for form in Form::all() {
            fill(Level::best(), form, &x, &mut y);
            for (&x, &y) in x.iter().zip(&y) {
                assert_eq!(y, form.evaluate(x), "{form} {x:08x}");
            }
        }
    }
}
