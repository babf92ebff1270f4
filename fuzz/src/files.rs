//! The command on files that were changed a little: it ends with 0, 1 or 2, whatever they hold.

use arbtest::arbitrary::{Result, Unstructured};

use crate::arrays::{npy, npz, safetensors};
use crate::case::Case;
use crate::mutate;

/// Bytes from which one changed file is made.
const ENTROPY: usize = 4096;

/// A base with one of its files changed, as the seed says; every seed gives the same on every machine.
pub fn mutated(bases: &[Case], seed: u64) -> Case {
    let mut state = seed;
    let bytes: Vec<u8> = (0..ENTROPY / 8).flat_map(|_| split_mix(&mut state).to_le_bytes()).collect();
    let mut u = Unstructured::new(&bytes);
    let base = &bases[(split_mix(&mut state) % bases.len() as u64) as usize];
    let mut case = base.clone();
    case.name = format!("{}, seed {seed:#x}", base.name);
    // where the bytes run out, it is changed enough
    _ = change(&mut u, &mut case);
    case
}

fn change(u: &mut Unstructured<'_>, case: &mut Case) -> Result<()> {
    let (name, bytes) = {
        let at = u.int_in_range(0..=case.files.len() - 1)?;
        let (name, bytes) = &mut case.files[at];
        (name.clone(), bytes)
    };
    match name.rsplit_once('.').map_or("", |(_, suffix)| suffix) {
        "npy" => npy(u, bytes),
        "npz" => npz(u, bytes),
        "safetensors" => safetensors(u, bytes),
        _ => mutate::text(u, bytes),
    }
}

/// The generator SplitMix64.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut word = *state;
    word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}
