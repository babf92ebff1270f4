//! How K is dealt: a plan and a length become lists of elements (rules 8 to 14).

use std::ops::Range;

use bitmma_engine::gemm::schedule::{Chain, Piece, Slice};

use crate::error::Error;
use crate::plan::{Deal, DealKind, MOST_PARTS, Plan, Tail};

/// All of a call's K.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Part by part: its slices, added in FP32 in order. A part without chains is +0.
    pub parts: Vec<Vec<Slice>>,
    /// Whether chains of a slice are added to a sum that starts from +0.
    pub promoted: bool,
    /// Elements at the end of K that enter no part (rule 12).
    pub lost: usize,
    /// Parts without an element.
    pub empty: usize,
}

impl Layout {
    /// The layout of `k` elements under a plan for an instruction of `step` elements.
    pub fn new(plan: &Plan, k: usize, step: usize) -> Result<Layout, Error> {
        let deal = &plan.deal;
        if deal.rotate > 0 && deal.rotate >= k {
            return Err(Error::Plan(format!("deal.rotate is {}, and K is {k}", deal.rotate)));
        }
        let lost = lost_tail(deal, k);
        let places = parts(deal, k - lost)?;
        if places.len().saturating_mul(deal.slices) > MOST_PARTS {
            return Err(Error::Plan(format!(
                "deal.slices is {} in each of {} parts; together they are at most {MOST_PARTS}",
                deal.slices,
                places.len()
            )));
        }
        let empty = places.iter().filter(|ranges| ranges.is_empty()).count();
        let every = match &plan.blocks {
            Some(blocks) if blocks.k > 0 => blocks.k,
            _ => plan.promote.every,
        };
        let of_part = |ranges: Vec<Range<usize>>| {
            let elements = turned(&ranges, deal.rotate, k);
            slices(deal, &elements).into_iter().map(|own| chains(deal, every, step, &own)).collect()
        };
        let parts = places.into_iter().map(of_part).collect();
        Ok(Layout { parts, promoted: every > 0, lost, empty })
    }

    /// Chains in all parts.
    pub fn chains(&self) -> usize {
        self.parts.iter().flatten().map(Vec::len).sum()
    }
}

/// Elements of the tail that enter no part.
fn lost_tail(deal: &Deal, k: usize) -> usize {
    if deal.tail != Tail::Lost || deal.grain == 0 {
        return 0;
    }
    let (tiles, rest) = (k / deal.grain, k % deal.grain);
    if rest != 0 && tiles % deal.parts == 0 && deal.parts > rest { rest } else { 0 }
}

/// The elements of each part, ascending, before they are turned.
fn parts(deal: &Deal, k: usize) -> Result<Vec<Vec<Range<usize>>>, Error> {
    let tiles = if deal.grain > 0 { k.div_ceil(deal.grain) } else { 0 };
    let some = |range: Range<usize>| if range.is_empty() { vec![] } else { vec![range] };
    Ok(match deal.kind {
        DealKind::None => vec![some(0..k)],
        DealKind::Contiguous if deal.chunk > 0 => {
            let count = k.div_ceil(deal.chunk).max(1);
            if count > MOST_PARTS {
                return Err(Error::Plan(format!(
                    "deal.chunk of {} makes {count} parts of K = {k}",
                    deal.chunk
                )));
            }
            (0..count).map(|part| some(part * deal.chunk..((part + 1) * deal.chunk).min(k))).collect()
        }
        DealKind::Contiguous => {
            let size = tiles.div_ceil(deal.parts).saturating_mul(deal.grain);
            let first = |part: usize| part.saturating_mul(size).min(k);
            (0..deal.parts).map(|part| some(first(part)..first(part + 1))).collect()
        }
        DealKind::Interleaved => (0..deal.parts)
            .map(|part| {
                let tiles = (part..tiles).step_by(deal.parts);
                joined(tiles.map(|tile| tile * deal.grain..((tile + 1) * deal.grain).min(k)))
            })
            .collect(),
    })
}

/// Ranges with neighbors joined.
fn joined(ranges: impl Iterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    let mut all: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match all.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => all.push(range),
        }
    }
    all
}

/// The elements at these places once K is turned: place p is element (p + rotate) mod K.
fn turned(places: &[Range<usize>], rotate: usize, k: usize) -> Vec<Range<usize>> {
    let mut elements = Vec::new();
    for place in places {
        let (start, end) = (place.start + rotate, place.end + rotate);
        if start < k {
            elements.push(start..end.min(k));
        }
        if end > k {
            elements.push(start.max(k) - k..end - k);
        }
    }
    joined(elements.into_iter())
}

/// A part's own elements from `from` to `to`, counted from its start.
fn own(elements: &[Range<usize>], from: usize, to: usize) -> Vec<Range<usize>> {
    let mut first = 0;
    let mut found = Vec::new();
    for range in elements {
        let (start, end) = (from.max(first), to.min(first + range.len()));
        if start < end {
            found.push(range.start + start - first..range.start + end - first);
        }
        first += range.len();
    }
    found
}

fn length(elements: &[Range<usize>]) -> usize {
    elements.iter().map(Range::len).sum()
}

/// A part's elements dealt to its slices in turn (rule 14).
fn slices(deal: &Deal, elements: &[Range<usize>]) -> Vec<Vec<Range<usize>>> {
    if deal.slices <= 1 {
        return vec![elements.to_vec()];
    }
    let (count, all) = (length(elements), deal.slices.saturating_mul(deal.slice));
    (0..deal.slices)
        .map(|slice| {
            let starts = (slice.saturating_mul(deal.slice)..count).step_by(all);
            let end = |start: usize| start.saturating_add(deal.slice).min(count);
            joined(starts.flat_map(|start| own(elements, start, end(start))))
        })
        .collect()
}

/// A slice's elements as chains.
fn chains(deal: &Deal, every: usize, step: usize, elements: &[Range<usize>]) -> Slice {
    let count = length(elements);
    if count == 0 {
        return vec![];
    }
    let plain = |ranges: Vec<Range<usize>>| -> Chain {
        ranges.into_iter().map(|range| Piece { padded: range.len(), range }).collect()
    };
    if deal.dot > 0 {
        return vec![dots(deal, step, elements)];
    }
    match every {
        0 => vec![plain(elements.to_vec())],
        _ => (0..count)
            .step_by(every)
            .map(|from| plain(own(elements, from, from.saturating_add(every).min(count))))
            .collect(),
    }
}

/// A chain of dot products of `dot` elements each, the residue of `residue_block` first (rule 13).
fn dots(deal: &Deal, step: usize, elements: &[Range<usize>]) -> Chain {
    let count = length(elements);
    let residue = if deal.residue_block > 0 { count % deal.residue_block } else { 0 };
    let starts = (0..residue).step_by(deal.dot).chain((residue..count).step_by(deal.dot));
    let end = |start: usize| (start + deal.dot).min(if start < residue { residue } else { count });
    let mut chain = Chain::new();
    for start in starts {
        let group = own(elements, start, end(start));
        let rest = step - length(&group);
        for range in group {
            chain.push(Piece { padded: range.len(), range });
        }
        if let Some(last) = chain.last_mut() {
            last.padded += rest;
        }
    }
    whole(chain)
}

/// Pieces without +0 between them made one.
fn whole(chain: Chain) -> Chain {
    let mut all = Chain::new();
    for piece in chain {
        match all.last_mut() {
            Some(last) if last.padded == last.range.len() && last.range.end == piece.range.start => {
                last.padded += piece.padded;
                last.range.end = piece.range.end;
            }
            _ => all.push(piece),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Evidence, FormatTag, Merge, MergeOrder};

    fn plan(deal: Deal) -> Plan {
        let order = if deal.kind == DealKind::None { MergeOrder::None } else { MergeOrder::Serial };
        Plan {
            format: FormatTag::Only,
            deal,
            merge: Merge { order, ..Merge::default() },
            evidence: Evidence::Derived,
            ..Plan::chain(bitmma_engine::Architecture::Ada, "mma.m16n8k32.f32.e4m3.e4m3.f32")
        }
    }

    fn ranges(layout: &Layout) -> Vec<Vec<Vec<Range<usize>>>> {
        let part = |part: &Vec<Slice>| {
            part.iter()
                .flatten()
                .map(|chain| chain.iter().map(|piece| piece.range.clone()).collect())
                .collect()
        };
        layout.parts.iter().map(part).collect()
    }

    #[test]
    fn tiles_go_to_parts_in_turn() {
        let deal = Deal { kind: DealKind::Interleaved, grain: 64, parts: 3, ..Deal::default() };
        let layout = Layout::new(&plan(deal.clone()), 272, 32).expect("a layout");
        assert_eq!(
            ranges(&layout),
            [vec![vec![0..64, 192..256]], vec![vec![64..128, 256..272]], vec![vec![128..192]]]
        );
        let layout = Layout::new(&plan(deal), 16, 32).expect("a layout");
        assert_eq!((layout.empty, layout.chains()), (2, 1));
    }

    #[test]
    fn promotion_counts_own_elements() {
        let deal = Deal { kind: DealKind::Interleaved, grain: 64, parts: 2, ..Deal::default() };
        let mut plan = plan(deal);
        plan.promote.every = 128;
        let layout = Layout::new(&plan, 448, 32).expect("a layout");
        assert_eq!(
            ranges(&layout),
            [
                vec![vec![0..64, 128..192], vec![256..320, 384..448]],
                vec![vec![64..128, 192..256], vec![320..384]]
            ]
        );
    }

    #[test]
    fn contiguous_parts_are_shorter_at_the_end() {
        let deal = Deal { kind: DealKind::Contiguous, grain: 128, parts: 4, ..Deal::default() };
        let layout = Layout::new(&plan(deal), 1040, 32).expect("a layout");
        let ranges = ranges(&layout);
        assert_eq!(ranges, [vec![vec![0..384]], vec![vec![384..768]], vec![vec![768..1040]], vec![]]);
        assert_eq!(layout.empty, 1);
    }

    #[test]
    fn the_tail_is_lost_where_cublas_loses_it() {
        let deal = |parts| Deal {
            kind: DealKind::Contiguous,
            grain: 64,
            parts,
            tail: Tail::Lost,
            ..Deal::default()
        };
        for (k, parts, lost) in [(1028, 16, 4), (1028, 4, 0), (1092, 16, 0), (1024, 16, 0), (1044, 16, 0)] {
            let layout = Layout::new(&plan(deal(parts)), k, 16).expect("a layout");
            assert_eq!(layout.lost, lost, "K = {k}, {parts} parts");
        }
    }

    #[test]
    fn the_residue_comes_first_and_alone() {
        let deal = Deal { dot: 16, residue_block: 32, ..Deal::default() };
        let layout = Layout::new(&plan(deal), 88, 32).expect("a layout");
        let chain = &layout.parts[0][0][0];
        let found: Vec<_> = chain.iter().map(|piece| (piece.range.clone(), piece.padded)).collect();
        assert_eq!(
            found,
            [(0..16, 32), (16..24, 32), (24..40, 32), (40..56, 32), (56..72, 32), (72..88, 32)]
        );
    }

    #[test]
    fn slices_take_elements_in_turn_and_rotation_comes_first() {
        let deal = Deal { slices: 2, slice: 32, ..Deal::default() };
        let layout = Layout::new(&plan(deal), 144, 32).expect("a layout");
        assert_eq!(ranges(&layout), [vec![vec![0..32, 64..96, 128..144], vec![32..64, 96..128]]]);
        let deal = Deal { rotate: 64, ..Deal::default() };
        let layout = Layout::new(&plan(deal), 144, 32).expect("a layout");
        assert_eq!(ranges(&layout), [vec![vec![64..144, 0..64]]]);
    }
}
