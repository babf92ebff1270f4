//! Fast paths: whole matrix products in vectors, held to the reference path bit for bit.
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
mod narrow;
mod number;
mod pack;
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
use tiles::Tiles;

pub use codes::{Chunk, Code, Codes, Operands, Slice, View, Words};
pub use elementwise::Word;
pub use narrow::Narrow;
pub use runs::{Fold, Runs, ScaleBlocks, ScaleOrder, Scales};
pub use simd::Level;

/// How products of one model are computed, worked out once for all of them.
pub struct Plan {
    level: Level,
    kernel: Box<dyn Multiply>,
}

impl Plan {
    /// The kernel for a model that was made ready for one step along K, on an instruction set; `None` if there is none.
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
        let kernel = fused()
            .or_else(grouped)
            .or_else(rounded)
            .or_else(exact)
            .or_else(ftz)
            .or_else(fma32)
            .or_else(fma64);
        Some(Plan { level, kernel: kernel? })
    }

    /// The format of sums of runs: FP32 or FP64.
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
        self.kernel.multiply(&Problem { prepared, operands, level: self.level, runs })
    }

    /// The code of D of checked operands that have one row and one column, which takes no memory; `None` where only
    /// [`Plan::multiply`] or the reference path has it.
    pub fn dot(&self, prepared: &Prepared<'_>, operands: &Operands<'_>) -> Option<u64> {
        let mut d = [0];
        let problem = Problem { prepared, operands, level: self.level, runs: None };
        self.kernel.directly(&problem, 0, &mut Chunk::U64(&mut d)).then_some(d[0])
    }
}
