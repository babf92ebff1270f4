//! Several orders of the same sums: one row times B in each order, with operands packed once for all.
//!
//! The row of A stands once for each order. All rows take the same elements at the same time; what differs is where the
//! runs of a row end, and what becomes of their results.

use std::ops::Range;

use super::elementwise::Word;

/// What becomes of a run's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It is added to the sum of its part, which starts from +0.
    Run,
    /// The same, and the sum of the part is added to the total.
    Part,
    /// The run is a part: it is added to the total.
    Alone,
}

/// Where each run ends, in elements along K, and how, in order: the last one ends at K.
pub type Order = Vec<(usize, Ending)>;

/// A run of one order.
pub(crate) struct Ended {
    /// Which order, and so which row.
    pub(crate) order: usize,
    /// The elements of the run.
    pub(crate) elements: Range<usize>,
    ending: Ending,
}

/// Orders of the same K.
pub(crate) struct Orders {
    /// Where a run of any order ends.
    pub(crate) ends: Vec<usize>,
    /// What ends at each of these, by order.
    pub(crate) ended: Vec<Vec<Ended>>,
}

impl Orders {
    pub(crate) fn new(orders: &[Order]) -> Orders {
        let mut ends: Vec<usize> = orders.iter().flatten().map(|&(end, _)| end).collect();
        ends.sort_unstable();
        ends.dedup();
        let mut ended: Vec<Vec<Ended>> = ends.iter().map(|_| Vec::new()).collect();
        for (order, runs) in orders.iter().enumerate() {
            let (mut first, mut at) = (0, 0);
            for &(end, ending) in runs {
                at += ends[at..].partition_point(|&other| other < end);
                ended[at].push(Ended { order, elements: first..end, ending });
                first = end;
            }
        }
        Orders { ends, ended }
    }
}

impl Ended {
    /// Takes the results of a run into the sums of its part and the totals of its order, all as long.
    #[inline(always)] // for callers compiled for an instruction set
    pub(crate) fn fold<W: Word>(&self, results: &mut [W], part: &mut [W], totals: &mut [W]) {
        for ((d, sum), total) in results.iter_mut().zip(part).zip(totals) {
            let d = std::mem::take(d);
            match self.ending {
                Ending::Run => *sum = *sum + d,
                Ending::Part => *total = *total + (std::mem::take(sum) + d),
                Ending::Alone => *total = *total + d,
            }
        }
    }
}
