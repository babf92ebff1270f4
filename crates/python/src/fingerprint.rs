//! A fingerprint of all bytes of an array, at the speed of memory.

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

use bitmma_engine::on_codes;
use pyo3::prelude::*;

use crate::arrays;

/// Words of 64 bits that are taken side by side.
const LANES: usize = 8;
/// Words between two mixings of the lanes. Each of them has a key of its own, so that no two places are alike.
const BLOCK: usize = 16 * LANES;
/// An odd number with about as many ones as zeros.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// The keys of this process: random, so that no two contents can be made to have one fingerprint.
struct Keys {
    words: [u64; BLOCK],
    lanes: [u64; LANES],
}

impl Keys {
    fn random() -> Self {
        let state = RandomState::new();
        let mut next = (0_u64..).map(|number| state.hash_one(number));
        let mut key = |_| next.next().unwrap_or_default();
        Self { words: std::array::from_fn(&mut key), lanes: std::array::from_fn(&mut key) }
    }

    /// The lanes after one block. Of each word both halves are multiplied with each other under a key (NH, as in UMAC), which vector
    /// units do two or four at a time; the word itself goes to the neighboring lane, as a half that meets its key makes the
    /// product zero.
    fn add(&self, lanes: &mut [u64; LANES], block: &[u8; 8 * BLOCK]) {
        for (bytes, keys) in
            block.as_chunks::<{ 8 * LANES }>().0.iter().zip(self.words.as_chunks::<LANES>().0)
        {
            let bytes = bytes.as_chunks::<8>().0;
            let words: [u64; LANES] = std::array::from_fn(|lane| u64::from_le_bytes(bytes[lane]));
            for (place, (lane, key)) in lanes.iter_mut().zip(keys).enumerate() {
                let keyed = words[place] ^ key;
                let product = (keyed & 0xffff_ffff) * (keyed >> 32);
                *lane = lane.wrapping_add(product).wrapping_add(words[place ^ 1]);
            }
        }
        for (lane, key) in lanes.iter_mut().zip(&self.lanes) {
            *lane = (*lane ^ (*lane >> 47) ^ key).wrapping_mul(FACTOR);
        }
    }

    /// The fingerprint of some bytes: another content of the same layout has the same with a probability of about 2^-64.
    fn of(&self, bytes: &[u8]) -> u64 {
        let mut lanes = self.lanes;
        let (blocks, rest) = bytes.as_chunks::<{ 8 * BLOCK }>();
        for block in blocks {
            self.add(&mut lanes, block);
        }
        let mut last = [0; 8 * BLOCK];
        last[..rest.len()].copy_from_slice(rest);
        self.add(&mut lanes, &last);
        lanes.into_iter().fold(bytes.len() as u64, |hash, lane| {
            let product = u128::from(hash ^ lane) * u128::from(FACTOR);
            (product as u64) ^ (product >> 64) as u64
        })
    }
}

fn keys() -> &'static Keys {
    static KEYS: OnceLock<Keys> = OnceLock::new();
    KEYS.get_or_init(Keys::random)
}

/// A fingerprint of the elements of an array of unsigned integers, as they lie in memory; other in each process.
#[pyfunction]
pub(crate) fn fingerprint(py: Python<'_>, array: &Bound<'_, PyAny>) -> PyResult<u64> {
    let given = arrays::integers("the array", array)?;
    on_codes!(&given, given => match given.as_array().to_slice_memory_order() {
        Some(slice) => {
            let bytes: &[u8] = bytemuck::cast_slice(slice);
            Ok(py.detach(|| keys().of(bytes)))
        }
        None => {
            let (codes, _) = arrays::codes("the array", array)?;
            Ok(on_codes!(&codes, codes => keys().of(bytemuck::cast_slice(codes))))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::Keys;

    #[test]
    fn every_byte_counts() {
        let keys = Keys::random();
        for length in [0, 1, 7, 8, 63, 64, 65, 200, 1023, 1024, 1025, 2500] {
            let mut bytes: Vec<u8> = (0..length).map(|one: u32| one as u8).collect();
            let before = keys.of(&bytes);
            for index in 0..bytes.len() {
                bytes[index] ^= 1;
                assert_ne!(keys.of(&bytes), before, "{index} of {length}");
                bytes[index] ^= 1;
            }
            assert_eq!(keys.of(&bytes), before);
        }
        assert_ne!(keys.of(&[0; 8]), keys.of(&[0; 16]));
    }

    /// Two words that change at once, in bits that once canceled: the highest of one, and one bit of a later one.
    #[test]
    fn two_changes_do_not_cancel() {
        let keys = Keys::random();
        let bytes = vec![0x3f_u8; 4096];
        let before = keys.of(&bytes);
        for distance in [8, 64, 128, 1024] {
            for bit in 0..64 {
                let mut other = bytes.clone();
                other[7] ^= 0x80;
                other[distance + bit / 8] ^= 1 << (bit % 8);
                assert_ne!(keys.of(&other), before, "{distance} bytes, bit {bit}");
            }
        }
        for (one, other) in [(0, 1), (0, 64), (8, 72), (0, 1024)] {
            let mut swapped: Vec<u8> = (0..4096_u32).map(|place| ((place * 7) >> 3) as u8).collect();
            let before = keys.of(&swapped);
            swapped.swap(one, other);
            assert!(swapped[one] == swapped[other] || keys.of(&swapped) != before, "{one} and {other}");
        }
    }
}
