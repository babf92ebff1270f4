//! Exact sums of integers of 8 bits and fewer into S32, which wraps or saturates.
//!
//! Sums that wrap are those of the host's integers, in any order. Where the result of each operation saturates, the products of
//! one operation are summed first, in 32 bits, which [`MOST`] of them fit, and then added to the accumulator.

use std::sync::atomic::{AtomicBool, Ordering};

use bitmma_arithmetic::run::Side;
use bitmma_arithmetic::{Operation, Prepared};
use bitmma_formats::{Format, S32};
use bytemuck::allocation::try_zeroed_vec;

use crate::codes::{Chunk, Codes, Slice, View};
use crate::drive::Multiply;
use crate::family::Problem;
use crate::panels::Panels;
use crate::routes::{Route, count};
use crate::simd::Level;
use crate::spread::each_chunk;

/// Columns of a panel.
const WIDTH: usize = 32;
/// Products of an operation, at most: 255 times 255 each, they stay below 2^31.
const MOST: usize = 1 << 15;

/// A panel of B: element by element along K a number of each column, 0 where there is none.
type Panel = Vec<[i16; WIDTH]>;

/// The kernel, planned for a model.
pub(crate) struct Integers {
    /// The number of each code of A and of B.
    numbers: [[i16; 256]; 2],
    /// Products of an operation whose result saturates; `None` where results wrap.
    saturates: Option<usize>,
}

impl Integers {
    /// The kernel for a model, if it is one for it.
    pub(crate) fn plan(prepared: &Prepared<'_>) -> Option<Integers> {
        let model = prepared.model();
        let formats = [Side::A, Side::B].map(|side| prepared.operand_format(side));
        let fits = matches!(model.operation, Operation::EFdpa { .. })
            && model.conversion.format == S32
            && formats.iter().all(|format| format.is_integer() && format.bits() <= 8)
            && prepared.length() <= MOST;
        let numbers = |format: Format| std::array::from_fn(|code| format.integer(code as u64) as i16);
        fits.then(|| Integers {
            numbers: formats.map(numbers),
            saturates: model.conversion.saturate.then_some(prepared.length()),
        })
    }

    /// The numbers of codes that lie so far apart, of A (0) or B (1), each passed to a function with its index.
    fn read(
        &self,
        side: usize,
        codes: Slice<'_>,
        (first, stride): (usize, usize),
        mut to: impl FnMut(usize, i16),
        count: usize,
    ) {
        let numbers = &self.numbers[side];
        match codes {
            Slice::U8(codes) => {
                (0..count).for_each(|at| to(at, numbers[codes[first + at * stride] as usize]));
            }
            codes => (0..count).for_each(|at| to(at, numbers[codes.get(first + at * stride) as usize & 255])),
        }
    }

    /// B in panels, one block after the other; `None` where there is no room.
    fn panels(&self, b: &View<'_>) -> Option<Vec<Panel>> {
        let places =
            (0..b.blocks).flat_map(|block| (0..b.columns).step_by(WIDTH).map(move |first| (block, first)));
        let one = |(block, first): (usize, usize)| {
            let mut panel: Panel = try_zeroed_vec(b.rows).ok()?;
            for column in first..b.columns.min(first + WIDTH) {
                let start = b.index(block, 0, column);
                let along = b.index(block, 1, column) - start;
                self.read(1, b.codes, (start, along), |k, number| panel[k][column - first] = number, b.rows);
            }
            Some(panel)
        };
        places.map(one).collect()
    }

    /// A row of D; `None` where there is no room.
    fn row(
        &self,
        problem: &Problem<'_>,
        panels: &[Panel],
        (block, row): (usize, usize),
        d: &mut [u32],
    ) -> Option<()> {
        let operands = problem.operands;
        let mut numbers: Vec<i16> = try_zeroed_vec(operands.a.columns).ok()?;
        let start = operands.a.index(block, row, 0);
        let along = operands.a.index(block, row, 1) - start;
        self.read(0, operands.a.codes, (start, along), |k, number| numbers[k] = number, operands.a.columns);
        count(Route::Integers);
        let each = d.len().div_ceil(WIDTH);
        for (index, (d, panel)) in d.chunks_mut(WIDTH).zip(&panels[block * each..]).enumerate() {
            let mut state = [0; WIDTH];
            for (column, state) in state[..d.len()].iter_mut().enumerate() {
                *state = operands.c_code(block, row, index * WIDTH + column) as u32 as i32;
            }
            sums(problem.level, self.saturates, &numbers, panel, &mut state);
            for (d, state) in d.iter_mut().zip(state) {
                *d = state as u32;
            }
        }
        Some(())
    }
}

/// The accumulators of a row and a panel, after all operations along K.
fn sums(level: Level, saturates: Option<usize>, a: &[i16], b: &[[i16; WIDTH]], state: &mut [i32; WIDTH]) {
    // sums that wrap are one sum
    let length = saturates.unwrap_or(a.len());
    level.compiled(
        #[inline(always)]
        || {
            for (a, b) in a.chunks(length).zip(b.chunks(length)) {
                let mut sums = [0_i32; WIDTH];
                for (&a, b) in a.iter().zip(b) {
                    for column in 0..WIDTH {
                        sums[column] = sums[column].wrapping_add(i32::from(a) * i32::from(b[column]));
                    }
                }
                for column in 0..WIDTH {
                    state[column] = match saturates {
                        None => state[column].wrapping_add(sums[column]),
                        Some(_) => state[column].saturating_add(sums[column]),
                    };
                }
            }
        },
    );
}

impl Multiply for Integers {
    fn multiply(&self, problem: &Problem<'_>) -> Option<Codes> {
        debug_assert!(problem.runs.is_none() && problem.orders.is_none(), "sums of integers have no runs");
        let (blocks, m, n) = problem.operands.shape();
        let mut d: Vec<u32> = try_zeroed_vec(blocks.checked_mul(m)?.checked_mul(n)?).ok()?;
        let panels = self.panels(&problem.operands.b)?;
        let room = AtomicBool::new(true);
        each_chunk(problem.is_small(), &mut d, n.max(1), |index, d| {
            if self.row(problem, &panels, (index / m, index % m), d).is_none() {
                room.store(false, Ordering::Relaxed);
            }
        });
        room.into_inner().then_some(Codes::U32(d))
    }

    fn directly(&self, _: &Problem<'_>, _: usize, _: &mut Chunk<'_>) -> bool {
        false
    }

    fn sums(&self) -> Format {
        S32
    }

    fn prepare(&self, _: &Prepared<'_>, _: Level, _: View<'_>, _: Option<View<'_>>) -> Option<Panels> {
        None
    }

    fn stream(&self, _: &Problem<'_>, _: &Panels) -> Option<Codes> {
        None
    }

    fn codes(&self, _: &Prepared<'_>, _: &Panels) -> Option<Codes> {
        None
    }
}
