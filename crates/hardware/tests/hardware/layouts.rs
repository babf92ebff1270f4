//! Every element of every operand has a place of its own in the tile, within the words that the operand has.

use crate::common::tools::all;
use bitmma_engine::catalogue::lookup::Found;
use bitmma_engine::catalogue::{Family, Vendor, catalogue};
use bitmma_hardware::cuda::{Error, Majors, ptx};
use bitmma_hardware::gpu::{Placement, TileLayout};
use bitmma_hardware::hip::assembly;

/// Marks the bits of an operand's elements; fails where two share one.
fn mark(placement: &Placement, taken: &mut [bool], name: &str) {
    let words = placement.words.clone();
    let (blocks, rows, columns) = placement.shape();
    assert_eq!(placement.offsets.len(), blocks * rows * columns, "{name}");
    for offset in &placement.offsets {
        let first = *offset as usize;
        let bits = first..first + placement.width() as usize;
        assert!(words.start * 32 <= bits.start && bits.end <= words.end * 32, "{name}: {bits:?} is outside");
        assert!(taken[bits.clone()].iter().all(|taken| !taken), "{name}: bits {bits:?} are taken twice");
        taken[bits].fill(true);
    }
}

fn check(layout: &TileLayout, name: &str) {
    let mut taken = vec![false; layout.input_words() * 32];
    for (index, word) in layout.background.iter().enumerate() {
        (0..32).for_each(|bit| taken[32 * index + bit] = word >> bit & 1 == 1);
    }
    for placement in layout.inputs.iter().chain(layout.scales.iter().flatten()) {
        mark(placement, &mut taken, name);
    }
    mark(&layout.output, &mut vec![false; layout.output_words() * 32], name);
}

#[test]
fn no_two_elements_share_a_bit() {
    let mut checked = 0;
    for (index, row) in catalogue().iter().enumerate() {
        let few = row.family == Family::Tcgen05 && !all();
        let sizes = row.n.sizes().filter(|n| !few || (n / 8 + index).is_multiple_of(8));
        for (n, m) in sizes.flat_map(|n| row.m.sizes().map(move |m| (n, m))) {
            let found = Found { instruction: row, m, n };
            let name = found.name();
            let orders = ["row.col.", "row.row.", "col.col.", "col.row."]
                .map(|order| Majors::of(&format!(".{order}")));
            for majors in orders.into_iter().take(if row.blocks == 4 { 4 } else { 1 }) {
                let layout = match row.architecture.vendor() {
                    Vendor::Amd => assembly::kernel(&found).map(|kernel| kernel.layout),
                    Vendor::Nvidia => ptx::kernel(&found, majors).map(|kernel| kernel.layout),
                };
                match layout {
                    Ok(layout) => check(&layout, &name),
                    Err(Error::NoKernel { .. }) => continue,
                    Err(error) => panic!("{name}: {error}"),
                }
                checked += 1;
            }
        }
    }
    assert!(checked > 1000, "{checked}");
}
