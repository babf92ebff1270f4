//! K cut into what is packed at a time, and into runs.

use super::element::Range;
use super::runs::Runs;

/// Blocks of K that are packed at a time: threads wait for each other once for each.
const SPAN: usize = 2;

/// Blocks of K of a run that is packed whole, at most: four of FP8 with all that is packed leave the second cache.
const WHOLE: usize = SPAN + 1;

/// Elements along K that are packed together, and the run that ends with them.
#[derive(Clone, Copy)]
pub(crate) struct Stretch {
    pub(crate) range: Range,
    pub(crate) ends: Option<usize>,
}

/// K in stretches of whole steps, none of which belongs to two runs.
pub(crate) struct Stretches {
    stretches: Vec<Stretch>,
    /// Where each span ends, in stretches.
    spans: Vec<usize>,
    /// Whether accumulators are kept between spans beside the sums.
    pub(crate) keeps_both: bool,
}

impl Stretches {
    /// All of K is one run where there are no runs. With `apart` rows have runs of their own, which may be longer.
    pub(crate) fn of(
        k: usize,
        (step, block): (usize, usize),
        (runs, apart): (Option<&Runs<'_>>, bool),
    ) -> Stretches {
        let length = (block / step).max(1) * step;
        let ends = runs.map_or(std::slice::from_ref(&k), |runs| runs.ends);
        // accumulators of runs that are packed whole need not be kept
        let keeps_both = apart || runs.is_some_and(|runs| runs.longest() > WHOLE * length);
        let whole_runs = runs.is_some() && !keeps_both;
        let mut all = Stretches { stretches: Vec::new(), spans: Vec::new(), keeps_both };
        let (mut first, mut span) = (0, 0);
        for (run, &end) in ends.iter().enumerate() {
            if whole_runs && first > span && end - span > SPAN * length {
                all.spans.push(all.stretches.len());
                span = first;
            }
            while first < end {
                let range = Range { first, length: length.min(end - first) };
                first += range.length;
                all.stretches.push(Stretch { range, ends: (first == end).then_some(run) });
                if !whole_runs && first - span >= SPAN * length {
                    all.spans.push(all.stretches.len());
                    span = first;
                }
            }
        }
        if all.spans.last() != Some(&all.stretches.len()) {
            all.spans.push(all.stretches.len());
        }
        all
    }

    /// Stretches that are packed at a time.
    pub(crate) fn spans(&self) -> impl Iterator<Item = &[Stretch]> {
        let mut first = 0;
        self.spans.iter().map(move |&end| &self.stretches[std::mem::replace(&mut first, end)..end])
    }
}
