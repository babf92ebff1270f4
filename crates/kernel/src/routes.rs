//! Which ways products take through the kernels, and how often.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A way that some operations of a kernel take. Every kernel begins with the first that its plan names; each is left
/// for a later one where its bounds do not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// T-FDPA: a whole product as small as one instruction, straight from its codes.
    Direct,
    /// T- and ST-FDPA: two rows at a time, every product cut.
    Two,
    /// Sums of few bits, products rounded down by multiply-adds.
    Floor,
    /// Sums of few bits through a block of K, in integers: nothing cut.
    Chain,
    /// No product cut: a dot product of integers.
    Whole,
    /// One row, every product cut.
    One,
    /// Rows and a panel whose factors leave FP32's range: in FP64.
    Wide,
    /// One row, lane by lane: no product, an accumulator that is not finite, a sum beyond 32 bits.
    Careful,
    /// TR- and GTR-FDPA: products, and accumulators that are finite and stay so.
    Usual,
    /// Anything else: no products, units out of range, accumulators that are not finite.
    Unusual,
    /// GST-FDPA: groups of integers, in FP64.
    Groups,
    /// E-FDPA: all bits of the rest of a block of K within 53 places.
    Exact,
    /// E-FDPA: sums with their errors.
    Errors,
    /// FTZ-AddMul with no subnormal result, and Dot-Add: products fused with sums.
    Fused,
    /// FTZ-AddMul with results flushed.
    Flushed,
    /// FMA by the processor's own.
    Fma,
    /// Sums of integers.
    Integers,
    /// One operation of one element by the reference path.
    Operation,
    /// A whole element by the reference path: NaN, infinity or overflow among the products.
    Element,
}

impl Route {
    /// All of them, and what they are called.
    pub const ALL: [(Route, &str); 19] = [
        (Route::Direct, "direct"),
        (Route::Two, "two"),
        (Route::Floor, "floor"),
        (Route::Chain, "chain"),
        (Route::Whole, "whole"),
        (Route::One, "one"),
        (Route::Wide, "wide"),
        (Route::Careful, "careful"),
        (Route::Usual, "usual"),
        (Route::Unusual, "unusual"),
        (Route::Groups, "groups"),
        (Route::Exact, "exact"),
        (Route::Errors, "errors"),
        (Route::Fused, "fused"),
        (Route::Flushed, "flushed"),
        (Route::Fma, "fma"),
        (Route::Integers, "integers"),
        (Route::Operation, "operation"),
        (Route::Element, "element"),
    ];
}

/// How many threads count.
static COUNTING: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static COUNTS: Cell<[u64; Route::ALL.len()]> = const { Cell::new([0; Route::ALL.len()]) };
}

/// Counts one more, where anybody asked.
#[inline(always)]
pub(crate) fn count(route: Route) {
    if COUNTING.load(Ordering::Relaxed) > 0 {
        add(route);
    }
}

#[cold]
#[inline(never)]
fn add(route: Route) {
    let mut counts = COUNTS.get();
    counts[route as usize] += 1;
    COUNTS.set(counts);
}

/// What comes of work, and how often this thread took each route meanwhile; routes that were not taken are left out.
/// A count is one of rows, groups of rows or elements, whatever the route takes at a time.
pub fn counted<T>(work: impl FnOnce() -> T) -> (T, Vec<(&'static str, u64)>) {
    COUNTS.set([0; Route::ALL.len()]);
    COUNTING.fetch_add(1, Ordering::Relaxed);
    let result = work();
    COUNTING.fetch_sub(1, Ordering::Relaxed);
    let counts = COUNTS.get();
    let taken = Route::ALL.map(|(route, name)| (name, counts[route as usize]));
    (result, taken.into_iter().filter(|&(_, count)| count > 0).collect())
}
