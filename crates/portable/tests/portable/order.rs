//! The order of sums against a plain writing of it, and sums against exact ones.

use bitmma_portable::sum;
use dashu_ratio::RBig;

fn numbers(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..count)
        .map(|_| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            let exponent = (state >> 58) as i32 - 32;
            (f64::from((state >> 20) as u32) - 2f64.powi(31)) * 2f64.powi(exponent)
        })
        .collect()
}

/// Blocks of 128 in eight lanes; the sums of blocks in pairs, as long as there are at least two.
fn stated(values: &[f64]) -> f64 {
    let blocks: Vec<f64> = values
        .chunks(128)
        .map(|block| {
            let lane = |j: usize| block.iter().skip(j).step_by(8).fold(0.0, |sum, x| sum + x);
            let lanes: Vec<f64> = (0..8).map(lane).collect();
            let four: Vec<f64> = (0..4).map(|j| lanes[j] + lanes[j + 4]).collect();
            (four[0] + four[2]) + (four[1] + four[3])
        })
        .collect();
    if blocks.is_empty() { 0.0 } else { in_pairs(&blocks) }
}

/// The largest power of two that is smaller than the number of blocks comes first, and what is left over is added to it.
fn in_pairs(blocks: &[f64]) -> f64 {
    if blocks.len() == 1 {
        return blocks[0];
    }
    let (first, rest) = blocks.split_at(blocks.len().next_power_of_two() / 2);
    in_pairs(first) + in_pairs(rest)
}

#[test]
fn sums_have_the_stated_order() {
    for count in (0..1200).chain([4096, 5000, 128 * 129, 100_000]) {
        let values = numbers(count, count as u64);
        assert_eq!(sum(&values).to_bits(), stated(&values).to_bits(), "{count} numbers");
    }
}

#[test]
fn sums_are_within_the_bound_of_their_order() {
    for count in [1usize, 9, 128, 129, 1000, 20_000] {
        let values = numbers(count, 7 + count as u64);
        let exact = values.iter().fold(RBig::ZERO, |sum, &x| sum + RBig::try_from(x).expect("finite"));
        let magnitudes: f64 = values.iter().map(|x| x.abs()).sum();
        let found = sum(&values);
        let error = (exact - RBig::try_from(found).expect("finite")).to_f64().value().abs();
        // 16 additions in a lane, three of lanes, one for each doubling of blocks
        let depth = 19.0 + (count as f64 / 128.0).max(1.0).log2().ceil();
        assert!(error <= depth * 2f64.powi(-53) * magnitudes, "{count}: {error:e}");
    }
}
