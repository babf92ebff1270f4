//! What a compiler puts around an operation when it composes an instruction from others.

use bitmma_formats::Format;
use serde::{Deserialize, Serialize};

use crate::convert::Conversion;

/// In which order the elements along K enter the elementary operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// 0, 1, 2, …
    Sequential,
    /// K-1, …, 1, 0
    Reversed,
    /// First all k with (k mod period) / run = 0, then those with 1, and so on; each pass ascending.
    Interleaved {
        /// Consecutive elements that belong to one pass; divides `period`.
        run: usize,
        /// After how many elements the pattern repeats; divides K.
        period: usize,
    },
}

impl Order {
    /// How often the order goes through K.
    pub fn passes(self) -> usize {
        match self {
            Order::Sequential | Order::Reversed => 1,
            Order::Interleaved { run, period } => period / run.max(1),
        }
    }

    /// The indices 0…K-1 in the order in which they are taken.
    pub fn indices(self, k: usize) -> Vec<usize> {
        match self {
            Order::Sequential => (0..k).collect(),
            Order::Reversed => (0..k).rev().collect(),
            Order::Interleaved { run, period } => (0..period / run)
                .flat_map(|pass| {
                    (pass * run..k).step_by(period).flat_map(move |first| first..k.min(first + run))
                })
                .collect(),
        }
    }
}

/// Several accumulators for one element of D, merged at the end.
///
/// The elements along K, in [`Lowering::order`], are cut into `count` parts of K / count elements. Each part is a
/// chain of elementary operations of its own. The first starts from C, or from +0 if C is added last; the others
/// start from +0. Their results are then added by IEEE 754 additions, each rounded by `merge`: the second to the
/// first, the third to that sum, and so on.
///
/// Even and odd elements are two chains of the order `Interleaved { run: 1, period: 2 }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Chains {
    /// How many there are, 2 or more; with an interleaved order, a multiple or a divisor of its passes.
    pub count: usize,
    /// How the sum of two is rounded.
    pub merge: Conversion,
}

/// What surrounds the elementary operations; [`Lowering::NONE`] for a native instruction.
///
/// In this order: A and B are widened; C is widened; the operations run in `order`, in one chain or in several,
/// starting from C, or from +0 if C is added last; several chains are merged; C is added; the result is narrowed
/// to D.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lowering {
    /// A and B are first converted to this format, exactly.
    pub widen_operands: Option<Format>,
    /// C is first converted to this format, exactly.
    pub widen_accumulator: Option<Format>,
    /// Order of the elements along K.
    pub order: Order,
    /// Several chains, merged before C is added last; `None`: one.
    pub chains: Option<Chains>,
    /// The operations start from +0 and C is added at the end by an IEEE 754 addition rounded by this.
    pub add_accumulator_last: Option<Conversion>,
    /// The last result is converted by this to D.
    pub narrow_output: Option<Conversion>,
}

impl Lowering {
    /// Nothing around the operation, elements in sequence.
    pub const NONE: Lowering = Lowering {
        widen_operands: None,
        widen_accumulator: None,
        order: Order::Sequential,
        chains: None,
        add_accumulator_last: None,
        narrow_output: None,
    };

    /// How many equal parts K is cut into that no elementary operation crosses: passes of the order or chains,
    /// whichever are more.
    pub fn parts(&self) -> usize {
        let chains = self.chains.map_or(1, |chains| chains.count);
        self.order.passes().max(chains).max(1)
    }
}
