//! The order in which numbers are added.

/// Elements of a block.
const BLOCK: usize = 128;
/// Sums that run side by side within a block.
const LANES: usize = 8;

/// The sum of FP64 numbers in an order that only their number decides.
///
/// Blocks of 128 elements are summed one by one: lane j of 8 starts from +0 and adds elements j, j + 8, j + 16, … of the block in
/// that order; then lane j adds lane j + 4, for j below 4, then j + 2, for j below 2, then lane 1. The sums of blocks are
/// added in pairs: first of each two neighboring blocks, then of each two neighboring pairs, and so on; where the number of
/// blocks is no power of two, what is left over is added at the end, the smallest group to the next larger one in front of it.
pub fn sum(values: &[f64]) -> f64 {
    // sums of 1, 2, 4, … blocks: bit i of the number of blocks so far says whether there is one of 2^i
    let mut waiting = [0.0; 64];
    let mut blocks = 0u64;
    for values in values.chunks(BLOCK) {
        let mut total = block(values);
        for one in &waiting[..blocks.trailing_ones() as usize] {
            total += one;
        }
        waiting[blocks.trailing_ones() as usize] = total;
        blocks += 1;
    }
    let mut total = None;
    for (place, one) in waiting.iter().enumerate() {
        if blocks >> place & 1 == 1 {
            total = Some(total.map_or(*one, |total: f64| one + total));
        }
    }
    total.unwrap_or(0.0)
}

#[inline(always)]
fn block(values: &[f64]) -> f64 {
    let mut lanes = [0.0; LANES];
    let (whole, rest) = values.as_chunks::<LANES>();
    for values in whole {
        for (lane, value) in lanes.iter_mut().zip(values) {
            *lane += value;
        }
    }
    for (lane, value) in lanes.iter_mut().zip(rest) {
        *lane += value;
    }
    let [a, b, c, d, e, f, g, h] = lanes;
    let (a, b, c, d) = (a + e, b + f, c + g, d + h);
    (a + c) + (b + d)
}
