//! Fast paths: whole matrix products in vectors, checked against the reference path bit for bit.
//!
//! A kernel is written once, over the small trait in `simd`; which instruction set runs it is decided
//! at run time ([`Level`]). `drive` cuts the product into blocks and tiles, packs the operands and
//! spreads the tiles over threads; a tile keeps its accumulators from the first element along K to the
//! last. Elements that a kernel does not support fall back to the reference path ([`routes`]).
#![deny(unsafe_code, clippy::undocumented_unsafe_blocks)]
#![allow(clippy::float_arithmetic)] // this is the place for it
#![allow(clippy::needless_range_loop)] // a tile is indexed by row and vector in several arrays at once

mod accumulator;
mod codes;
mod drive;
mod element;
mod elementwise;
mod exact;
mod family;
mod fix;
mod fma;
mod ftz;
pub mod functions;
mod fused;
mod grouped;
mod integers;
mod narrow;
mod number;
mod orders;
mod pack;
mod panels;
mod products;
mod rounded;
pub mod routes;
mod runs;
mod simd;
mod special;
mod spread;
mod stretches;
mod tables;
mod tiles;

use bitmma_arithmetic::Prepared;
use bitmma_formats::Format;

use drive::{Driven, Multiply};
use element::Entry;
use family::Problem;
use number::Number;
use orders::Orders;
use tiles::Tiles;

pub use codes::{Chunk, Code, Codes, Operands, Slice, View, Words};
pub use elementwise::Word;
pub use narrow::Narrow;
pub use orders::{Ending, Order};
pub use panels::Panels;
pub use runs::{Fold, Runs, ScaleBlocks, ScaleOrder, Scales};
pub use simd::Level;

/// How products of one model are computed, worked out once for all of them.
pub struct Plan {
    level: Level,
    kernel: Box<dyn Multiply>,
}

impl Plan {
    /// The kernel for a model that was prepared for one step along K, on an instruction set; `None` if there is none.
    pub fn of(prepared: &Prepared<'_>, level: Level) -> Option<Plan> {
        fn driven<T: Number, E: Entry>(
            prepared: &Prepared<'_>,
            kernel: impl Tiles<T, E> + 'static,
        ) -> Box<dyn Multiply> {
            Box::new(Driven::new(prepared, Box::new(kernel)))
        }
        let fused = || fused::Narrow::plan(prepared, level).map(|kernel| driven(prepared, kernel));
        let grouped = || grouped::Grouped::plan(prepared).map(|kernel| driven(prepared, kernel));
        let rounded = || rounded::Rounded::plan(prepared).map(|kernel| driven(prepared, kernel));
        let exact = || exact::Exact::plan(prepared).map(|kernel| driven(prepared, kernel));
        let ftz = || ftz::FtzAddMul::plan(prepared).map(|kernel| driven(prepared, kernel));
        let fma32 = || fma::Fma::<f32>::plan(prepared, level).map(|kernel| driven(prepared, kernel));
        let fma64 = || fma::Fma::<f64>::plan(prepared, level).map(|kernel| driven(prepared, kernel));
        let integers =
            || integers::Integers::plan(prepared).map(|kernel| Box::new(kernel) as Box<dyn Multiply>);
        let kernel = fused()
            .or_else(grouped)
            .or_else(rounded)
            .or_else(exact)
            .or_else(ftz)
            .or_else(fma32)
            .or_else(fma64)
            .or_else(integers);
        Some(Plan { level, kernel: kernel? })
    }

    /// The format of sums of runs: FP32 or FP64; of integers, which have no runs, S32.
    pub fn sums(&self) -> Format {
        self.kernel.sums()
    }

    /// D = A·B + C for checked operands of the model that was planned for, K whole steps: codes of D. With `runs` the
    /// sums of their results, in FP32 or FP64, which start from C. `None` where there is no room for D.
    ///
    /// # Panics
    ///
    /// Where the codes of a row of C are not next to each other.
    pub fn multiply(
        &self,
        prepared: &Prepared<'_>,
        operands: &Operands<'_>,
        runs: Option<&Runs<'_>>,
    ) -> Option<Codes> {
        assert!(operands.c.is_none_or(|c| c.has_rows()), "rows of C lie apart");
        self.kernel.multiply(&Problem {
            prepared,
            operands,
            level: self.level,
            runs,
            orders: None,
            panels: None,
        })
    }

    /// The totals of one row times B in several orders, a row for each, in FP32 or FP64; the operands, K whole steps, are
    /// packed once for all. C is left out. `None` where there is no room for the totals.
    ///
    /// # Panics
    ///
    /// Where A has more than one row.
    pub fn multiply_in_orders(
        &self,
        prepared: &Prepared<'_>,
        operands: &Operands<'_>,
        orders: &[Order],
    ) -> Option<Codes> {
        assert!(operands.a.rows == 1 && operands.a.blocks == 1, "more than one row");
        let rows = orders.len();
        let (a, scale_a) = (operands.a.repeated(rows), operands.scale_a.map(|one| one.repeated(rows)));
        let operands = &Operands { a, c: None, scale_a, ..*operands };
        let orders = &Orders::new(orders);
        // totals start from -0, to which any number is added unchanged
        let runs = &Runs { ends: &orders.ends, empty: true, fold: Fold::Add };
        let (runs, orders) = (Some(runs), Some(orders));
        self.kernel.multiply(&Problem { prepared, operands, level: self.level, runs, orders, panels: None })
    }

    /// B, K×N of whole steps, packed for any number of products under these scale factors, which every product is given
    /// again; `None` where there is no room for it, or where this kernel does not take its operand so.
    pub fn prepare(&self, prepared: &Prepared<'_>, b: View<'_>, scale_b: Option<View<'_>>) -> Option<Panels> {
        self.kernel.prepare(prepared, self.level, b, scale_b)
    }

    /// As [`Plan::multiply`], with a B that this plan prepared and that takes the runs ([`Panels::takes`]); A and C are one
    /// matrix each.
    ///
    /// # Panics
    ///
    /// Where the codes of a row of C are not next to each other, or K of A is another than that of B.
    pub fn multiply_prepared(
        &self,
        prepared: &Prepared<'_>,
        (a, scale_a): (View<'_>, Option<View<'_>>),
        (panels, scale_b): (&Panels, Option<View<'_>>),
        c: Option<View<'_>>,
        runs: Option<&Runs<'_>>,
    ) -> Option<Codes> {
        assert!(c.is_none_or(|c| c.has_rows()), "rows of C lie apart");
        assert!(a.columns == panels.k && a.blocks == 1 && panels.takes(runs), "another B was prepared");
        // B has a shape and no codes: those that are asked for come from the panels
        let b = View::new(Slice::U8(&[]), (1, panels.k, panels.n));
        let operands = &Operands { a, b, c, scale_a, scale_b };
        let problem =
            Problem { prepared, operands, level: panels.level, runs, orders: None, panels: Some(panels) };
        self.kernel.stream(&problem, panels)
    }

    /// The codes of a B that this plan prepared, K×N, row-major; `None` where there is no room.
    pub fn codes(&self, prepared: &Prepared<'_>, panels: &Panels) -> Option<Codes> {
        self.kernel.codes(prepared, panels)
    }

    /// The code of D of checked operands that have one row and one column, which takes no memory; `None` where only
    /// [`Plan::multiply`] or the reference path has it.
    pub fn dot(&self, prepared: &Prepared<'_>, operands: &Operands<'_>) -> Option<u64> {
        let mut d = [0];
        let problem =
            Problem { prepared, operands, level: self.level, runs: None, orders: None, panels: None };
        self.kernel.directly(&problem, 0, &mut Chunk::U64(&mut d)).then_some(d[0])
    }
}
