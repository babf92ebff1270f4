//! A fingerprint of all bytes of an array, at the speed of memory.

use bitmma_engine::on_codes;
use pyo3::prelude::*;

use crate::arrays;

/// Words that are taken side by side.
const LANES: usize = 8;

/// A number that another content of the same layout has with a probability of 2^-64 only; a single word that changed never
/// gives the same.
fn of(bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut lanes = [FACTOR; LANES];
    let step = |hash: u64, word: u64| (hash ^ word).wrapping_mul(FACTOR).rotate_left(29);
    let (words, rest) = bytes.as_chunks::<8>();
    let (rounds, last) = words.as_chunks::<LANES>();
    for round in rounds {
        for (lane, word) in lanes.iter_mut().zip(round) {
            *lane = step(*lane, u64::from_le_bytes(*word));
        }
    }
    let mut hash = lanes.into_iter().fold(bytes.len() as u64, step);
    hash = last.iter().fold(hash, |hash, word| step(hash, u64::from_le_bytes(*word)));
    rest.iter().fold(hash, |hash, &byte| step(hash, byte.into()))
}

/// A fingerprint of the elements of an array of unsigned integers, as they lie in memory.
#[pyfunction]
pub(crate) fn fingerprint(py: Python<'_>, array: &Bound<'_, PyAny>) -> PyResult<u64> {
    let given = arrays::integers("the array", array)?;
    on_codes!(&given, given => match given.as_array().to_slice_memory_order() {
        Some(slice) => {
            let bytes: &[u8] = bytemuck::cast_slice(slice);
            Ok(py.detach(|| of(bytes)))
        }
        None => {
            let (codes, _) = arrays::codes("the array", array)?;
            Ok(on_codes!(&codes, codes => of(bytemuck::cast_slice(codes))))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn every_byte_counts() {
        for length in [0, 1, 7, 8, 63, 64, 65, 200] {
            let mut bytes: Vec<u8> = (0..length).collect();
            let before = of(&bytes);
            for index in 0..bytes.len() {
                bytes[index] ^= 1;
                assert_ne!(of(&bytes), before, "{index} of {length}");
                bytes[index] ^= 1;
            }
            assert_eq!(of(&bytes), before);
        }
        assert_ne!(of(&[0; 8]), of(&[0; 16]));
    }
}
