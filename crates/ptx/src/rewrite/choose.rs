//! Which product each addition is fused with.
//!
//! Packed numbers are visited once only.
//!
//! Found by experiments with straight-line programs of two to six products and two to eight additions, of which the rule agrees
//! with all, on sm_80 (ptxas 12.9), sm_90a and sm_100a (13.4). Additions are visited in order, twice: first for products that have
//! no other use, then for products all of whose uses are additions. Of two products the one with fewer uses is taken, then that of
//! the first operand. A product that becomes the addend of a fused operation is needed as it is, and is not fused from then on; it
//! may have been before. A product that is added to itself is needed; so are two of the same factors, one of which has no other
//! use: ptxas then doubles one.

use std::collections::{HashMap, HashSet};

use super::fuse::Place;

/// The uses that are fused, of all those of products that are used by additions only. `uses` is in the order of additions and
/// operands.
pub(super) fn choose(
    uses: &[Place],
    same: impl Fn(&Place, &Place) -> bool,
    once: impl Fn(&Place) -> bool,
) -> Vec<Place> {
    let mut count: HashMap<usize, usize> = HashMap::new();
    uses.iter().for_each(|one| *count.entry(one.product).or_default() += 1);
    let mut needed: HashSet<usize> = HashSet::new();
    let mut additions: Vec<&[Place]> = vec![];
    for group in uses.chunk_by(|a, b| a.addition == b.addition) {
        match group {
            [first, second]
                if first.product == second.product
                    || same(first, second) && (count[&first.product] == 1 || count[&second.product] == 1) =>
            {
                needed.extend([first.product, second.product]);
            }
            _ => additions.push(group),
        }
    }
    let mut fused: HashMap<usize, Place> = HashMap::new();
    for alone in [true, false] {
        for group in &additions {
            if fused.contains_key(&group[0].addition) || alone && once(&group[0]) {
                continue;
            }
            let fits = |one: &&Place| !needed.contains(&one.product) && (count[&one.product] == 1 || !alone);
            let Some(taken) = group.iter().filter(fits).min_by_key(|one| (count[&one.product], one.operand))
            else {
                continue;
            };
            fused.insert(taken.addition, *taken);
            needed.extend(group.iter().map(|one| one.product).filter(|other| *other != taken.product));
        }
    }
    let mut fused: Vec<Place> = fused.into_values().collect();
    fused.sort_unstable_by_key(|one| (one.product, one.addition));
    fused
}
