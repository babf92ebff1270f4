//! Exact sums of integers of 8 bits and fewer into S32, which wraps or saturates.
//!
//! Sums that wrap are those of the host's integers, in any order. Where the result of each operation saturates, the products of
//! one operation are summed first, in 32 bits, which [`MOST`] of them fit, and then added to the accumulator.

use bitmma_arithmetic::run::Side;
use bitmma_arithmetic::{Operation, Prepared};
use bitmma_formats::{Format, S32};
use bytemuck::allocation::try_zeroed_vec;

use crate::codes::{Chunk, Code, Codes, View};
use crate::drive::Multiply;
use crate::family::Problem;
use crate::on_codes;
use crate::panels::Panels;
use crate::routes::{Route, count};
use crate::simd::Level;
use crate::spread::{each_chunk, mapped};

/// Columns of a panel.
const WIDTH: usize = 16;
/// Rows that are computed together.
const ROWS: usize = 4;
/// Products of an operation, at most: 255 times 255 each, they stay below 2^31.
const MOST: usize = 1 << 15;

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

    /// A panel of B: element by element along K a number of each column, 0 where there is none.
    fn panel(&self, b: &View<'_>, block: usize, panel: usize) -> Option<Vec<[i16; WIDTH]>> {
        let first = panel * WIDTH;
        let columns = WIDTH.min(b.columns - first);
        let mut packed: Vec<[i16; WIDTH]> = try_zeroed_vec(b.rows).ok()?;
        let start = b.index(block, 0, first);
        let along = b.index(block, 1, first) - start;
        let across = b.index(block, 0, first + 1) - start;
        on_codes!(b.codes, codes => {
            for (k, line) in packed.iter_mut().enumerate() {
                for (column, number) in line[..columns].iter_mut().enumerate() {
                    let code = codes[start + k * along + column * across].code();
                    *number = self.numbers[1][code as usize & 255];
                }
            }
        });
        Some(packed)
    }

    /// Some rows of A: element by element along K a number of each, 0 where there is none.
    fn rows(&self, a: &View<'_>, block: usize, first: usize) -> Option<Vec<[i16; ROWS]>> {
        let mut packed: Vec<[i16; ROWS]> = try_zeroed_vec(a.columns).ok()?;
        for row in first..a.rows.min(first + ROWS) {
            let start = a.index(block, row, 0);
            let along = a.index(block, row, 1) - start;
            on_codes!(a.codes, codes => {
                for (k, line) in packed.iter_mut().enumerate() {
                    line[row - first] = self.numbers[0][codes[start + k * along].code() as usize & 255];
                }
            });
        }
        Some(packed)
    }

    /// D of one of the products; `None` where there is no room.
    fn one(&self, problem: &Problem<'_>, (block, alone): (usize, bool), d: &mut [u32]) -> Option<()> {
        let (operands, n) = (problem.operands, problem.operands.b.columns);
        let panels = mapped(alone, n.div_ceil(WIDTH), |panel| self.panel(&operands.b, block, panel));
        let panels = panels.into_iter().collect::<Option<Vec<_>>>()?;
        let room = std::sync::atomic::AtomicBool::new(true);
        each_chunk(alone, d, ROWS * n, |group, d| {
            let first = group * ROWS;
            let Some(a) = self.rows(&operands.a, block, first) else {
                room.store(false, std::sync::atomic::Ordering::Relaxed);
                return;
            };
            count(Route::Integers);
            for (panel, b) in panels.iter().enumerate() {
                let columns = panel * WIDTH..n.min((panel + 1) * WIDTH);
                let mut state = [[0; WIDTH]; ROWS];
                for (row, state) in state.iter_mut().enumerate().take(d.len() / n) {
                    for (column, state) in columns.clone().zip(state) {
                        *state = operands.c_code(block, first + row, column) as u32 as i32;
                    }
                }
                match self.saturates {
                    None => wrapping(problem.level, &a, b, &mut state),
                    Some(length) => saturating(problem.level, length, &a, b, &mut state),
                }
                for (line, state) in d.chunks_exact_mut(n).zip(&state) {
                    for (d, state) in line[columns.clone()].iter_mut().zip(state) {
                        *d = *state as u32;
                    }
                }
            }
        });
        room.into_inner().then_some(())
    }
}

/// The products of some elements along K added to sums, modulo 2^32.
#[inline(always)]
fn add(a: &[[i16; ROWS]], b: &[[i16; WIDTH]], sums: &mut [[i32; WIDTH]; ROWS]) {
    for (a, b) in a.iter().zip(b) {
        for row in 0..ROWS {
            for column in 0..WIDTH {
                let product = i32::from(a[row]) * i32::from(b[column]);
                sums[row][column] = sums[row][column].wrapping_add(product);
            }
        }
    }
}

fn wrapping(level: Level, a: &[[i16; ROWS]], b: &[[i16; WIDTH]], state: &mut [[i32; WIDTH]; ROWS]) {
    level.compiled(
        #[inline(always)]
        || {
            let mut sums = *state;
            add(a, b, &mut sums);
            *state = sums;
        },
    );
}

fn saturating(
    level: Level,
    length: usize,
    a: &[[i16; ROWS]],
    b: &[[i16; WIDTH]],
    state: &mut [[i32; WIDTH]; ROWS],
) {
    level.compiled(
        #[inline(always)]
        || {
            for (a, b) in a.chunks(length).zip(b.chunks(length)) {
                let mut sums = [[0; WIDTH]; ROWS];
                add(a, b, &mut sums);
                for row in 0..ROWS {
                    for column in 0..WIDTH {
                        state[row][column] = state[row][column].saturating_add(sums[row][column]);
                    }
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
        let (apart, alone) = problem.shared();
        let room = std::sync::atomic::AtomicBool::new(true);
        each_chunk(!apart, &mut d, (m * n).max(1), |block, d| {
            if self.one(problem, (block, alone), d).is_none() {
                room.store(false, std::sync::atomic::Ordering::Relaxed);
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
