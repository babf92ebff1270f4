//! A product cut into blocks and tiles, and spread over threads.
//!
//! D is computed in panels of columns. For each block of columns and each span of K, B is packed; then threads
//! take blocks of rows, pack A in groups of rows, and go with every group and every panel through the span, block
//! of K by block of K, the accumulators kept between spans in the state. A row's answer in a column depends on
//! nothing but these, so neither blocking nor threads can change it.

use std::sync::atomic::{AtomicBool, Ordering};

use bitmma_arithmetic::Prepared;
use bitmma_arithmetic::run::Side;
use bitmma_formats::Format;

use super::codes::{Chunk, Codes, View};
use super::element::Range;
use super::element::{Entry, Reader};
use super::elementwise::Word;
use super::family::Problem;
use super::fix::{Fix, Kinds};
use super::number::Number;
use super::pack::{Aligned, Cells, Operand, Packed, Traits};
use super::panels::Panels;
use super::routes::{Route, count};
use super::runs::Runs;
use super::simd::Level;
use super::spread::{each_chunk, mapped};
use super::stretches::{Stretch, Stretches};
use super::tiles::{Sizes, Stored, Tiles, b_code};

/// Products of numbers below which one thread computes them all: waking others takes as long.
pub(crate) const ALONE: usize = 1 << 20;

/// How the products of a batch are shared out.
#[derive(Clone, Copy)]
struct Threads {
    /// Whether several products are computed at the same time.
    apart: bool,
    /// Whether one thread computes all of a product.
    alone: bool,
}

impl Problem<'_> {
    /// Whether one thread computes all products.
    pub(crate) fn is_small(&self) -> bool {
        let Threads { apart, alone } = self.threads();
        alone && !apart
    }

    fn threads(&self) -> Threads {
        let (blocks, m, n) = self.operands.shape();
        let each = m.saturating_mul(n).saturating_mul(self.operands.a.columns);
        let all = each.saturating_mul(blocks);
        // several for each thread: whichever comes last then takes little of the time
        let many = || blocks >= 4 * bitmma_threads::count();
        let apart = blocks > 1 && all > ALONE && (each <= ALONE || many());
        Threads { apart, alone: apart || all <= ALONE }
    }
}

/// Columns of a block: how much of B is packed at a time.
const COLUMN_BLOCK: usize = 4096;
/// Groups of rows of a block: how much of A a thread packs at a time, which stays in its own cache for all panels.
const GROUPS: usize = 2;

/// A kernel and all that it is driven by.
pub(crate) trait Multiply: Send + Sync {
    /// Codes of D, or of the sums of runs; `None` where there is no room for them.
    fn multiply(&self, problem: &Problem<'_>) -> Option<Codes>;
    /// D of one of the products straight from its codes; whether that is possible ([`Family::direct`]).
    fn directly(&self, problem: &Problem<'_>, block: usize, d: &mut Chunk<'_>) -> bool;
    /// The format of sums of runs.
    fn sums(&self) -> Format;
    /// B prepared for any number of products; `None` where it is not taken so.
    fn prepare(
        &self,
        prepared: &Prepared<'_>,
        level: Level,
        b: View<'_>,
        scale_b: Option<View<'_>>,
    ) -> Option<Panels>;
    /// As [`Multiply::multiply`], of one product whose B was prepared.
    fn stream(&self, problem: &Problem<'_>, panels: &Panels) -> Option<Codes>;
    /// The codes of a B that was prepared, row-major.
    fn codes(&self, prepared: &Prepared<'_>, panels: &Panels) -> Option<Codes>;
}

/// A kernel and the readers of its operands.
pub(crate) struct Driven<T, E> {
    pub(crate) kernel: Box<dyn Tiles<T, E>>,
    pub(crate) a: Reader<E>,
    pub(crate) b: Reader<E>,
}

/// Some rows of D, with all columns of a block.
struct RowBlock<T> {
    /// Accumulators panel by panel, row by row; with runs the sums, where they are kept the accumulators after them, and with
    /// orders of rows the sums of parts after these.
    state: Option<Aligned<T>>,
    /// What is known of the rows, and of the columns of all panels.
    rows: Vec<Traits>,
    columns: Vec<Traits>,
}

impl<T: Number, E: Entry> Driven<T, E> {
    /// A kernel that was planned for a model.
    pub(crate) fn new(prepared: &Prepared<'_>, kernel: Box<dyn Tiles<T, E>>) -> Driven<T, E> {
        Driven { kernel, a: Reader::new(prepared, Side::A), b: Reader::new(prepared, Side::B) }
    }

    /// One of the products; `None` where there is no room for its accumulators.
    fn one_block(
        &self,
        problem: &Problem<'_>,
        (block, alone): (usize, bool),
        d: &mut Chunk<'_>,
    ) -> Option<()> {
        let kernel = &*self.kernel;
        let (prepared, operands, runs, level) =
            (problem.prepared, problem.operands, problem.runs, problem.level);
        let (m, n, k) = (operands.a.rows, operands.b.columns, operands.a.columns);
        let a = Operand { prepared, reader: &self.a, lines: operands.a, scales: operands.scale_a, block };
        let (lines, scales) = (operands.b.transposed(), operands.scale_b.map(View::transposed));
        let b = Operand { reader: &self.b, lines, scales, ..a };
        let Sizes { width, rows: tile, group, k_block, .. } = kernel.sizes(level);
        let row_kinds = Kinds::of(if E::EXPONENTS { m } else { 0 });
        let stretches = Stretches::of(k, (prepared.k(), k_block), (runs, problem.orders.is_some()));
        let rows_of = |row_block: usize| {
            let first = row_block * GROUPS * group;
            (first, (m - first).min(GROUPS * group).next_multiple_of(tile))
        };
        let what = stored::<T>(problem);

        for first_column in (0..n).step_by(COLUMN_BLOCK) {
            let columns = COLUMN_BLOCK.min(n - first_column);
            let column_kinds = Kinds::of(if E::EXPONENTS { columns } else { 0 });
            let panels = columns.div_ceil(width);
            let row_block = |index| RowBlock {
                state: None,
                rows: vec![Traits::NONE; rows_of(index).1],
                columns: vec![Traits::NONE; panels * width],
            };
            let mut row_blocks: Vec<RowBlock<T>> = (0..m.div_ceil(GROUPS * group)).map(row_block).collect();
            let shared = if row_blocks.len() > 1 { panels } else { 0 };
            // numbers of each element: sums, accumulators, and in orders of their own sums of parts
            let numbers = 1 + usize::from(stretches.keeps_both) + usize::from(problem.orders.is_some());
            for span in stretches.spans() {
                let pack_b = |panel| {
                    let first = first_column + panel * width;
                    packed(
                        span,
                        |range| b.cells(level, first, width, range),
                        |cells| kernel.pack(level, Side::B, cells),
                    )
                };
                let packed_b = mapped(alone, shared, pack_b);
                let fix = Fix {
                    kernel,
                    problem,
                    block,
                    a: &a,
                    b: &b,
                    row_kinds: &row_kinds,
                    column_kinds: &column_kinds,
                    first_column,
                };
                each_chunk(alone, &mut row_blocks, 1, |index, row_block| {
                    let RowBlock { state, rows: traits, columns: column_traits } = &mut row_block[0];
                    let (first_row, rows) = rows_of(index);
                    let size = rows * width * numbers;
                    if span[0].range.first == 0 {
                        // initialised by the thread that will use it
                        *state = size.checked_mul(panels).and_then(Aligned::new);
                    }
                    let Some(state) = state else { return };
                    let packed_a = mapped(alone, rows.div_ceil(group), |index| {
                        let first = first_row + index * group;
                        packed(
                            span,
                            |range| a.cells(level, first, group, range),
                            |cells| kernel.pack(level, Side::A, cells),
                        )
                    });
                    join(traits, group, &packed_a);
                    let traits = &*traits;
                    let states = state.slice().chunks_exact_mut(size);
                    let mut states: Vec<_> = states.zip(column_traits.chunks_exact_mut(width)).collect();
                    each_chunk(alone, &mut states, 1, |panel, state| {
                        let (state, column_traits) = &mut state[0];
                        // of few rows a panel is packed where it is used, into memory that stays near
                        let own = if shared == 0 { pack_b(panel) } else { Vec::new() };
                        let packed_b = packed_b.get(panel).unwrap_or(&own);
                        join(column_traits, width, std::slice::from_ref(packed_b));
                        let first = panel * width;
                        let panel_of = Panel {
                            fix: &fix,
                            group,
                            rows: (first_row, traits),
                            columns: (first, &column_traits[..width.min(columns - first)]),
                            width,
                        };
                        panel_of.through(&stretches, span, (&packed_a, packed_b), state);
                    });
                });
            }
            if row_blocks.iter().any(|row_block| row_block.state.is_none()) {
                return None;
            }
            d.each_chunk((GROUPS * group * n, alone), |index, mut d| {
                let RowBlock { state: Some(state), .. } = &row_blocks[index] else { return };
                let size = rows_of(index).1 * width;
                for (panel, state) in state.chunks_exact(size * numbers).enumerate() {
                    let first = first_column + panel * width;
                    let used = width.min(first_column + columns - first);
                    kernel.store_all(level, what, (state, width), (&mut d, first..first + used, n));
                }
            });
        }
        Some(())
    }
}

impl<T: Number, E: Entry> Multiply for Driven<T, E> {
    fn multiply(&self, problem: &Problem<'_>) -> Option<Codes> {
        let (blocks, m, n) = problem.operands.shape();
        let format = match problem.runs {
            Some(_) => self.sums(),
            None => problem.prepared.model().d,
        };
        let panels = &Problem { level: self.kernel.level(problem.level, n), ..*problem };
        let mut d = Codes::zeros(&format, blocks.checked_mul(m)?.checked_mul(n)?)?;
        let Threads { apart, alone } = problem.threads();
        let room = AtomicBool::new(true);
        d.chunk().each_chunk((m * n, !apart), |block, mut d| {
            if (problem.runs.is_some() || !self.directly(problem, block, &mut d))
                && self.one_block(panels, (block, alone), &mut d).is_none()
            {
                room.store(false, Ordering::Relaxed);
            }
        });
        room.into_inner().then_some(d)
    }

    fn directly(&self, problem: &Problem<'_>, block: usize, d: &mut Chunk<'_>) -> bool {
        self.kernel.direct(problem, block, [&self.a, &self.b], d)
    }

    fn sums(&self) -> Format {
        <T as Word>::FORMAT
    }

    fn prepare(
        &self,
        prepared: &Prepared<'_>,
        level: Level,
        b: View<'_>,
        scale_b: Option<View<'_>>,
    ) -> Option<Panels> {
        self.panels(prepared, level, b, scale_b)
    }

    fn stream(&self, problem: &Problem<'_>, panels: &Panels) -> Option<Codes> {
        self.streamed(problem, panels)
    }

    fn codes(&self, prepared: &Prepared<'_>, panels: &Panels) -> Option<Codes> {
        let whole = |packed: &Packed, element: usize| self.kernel.code_at(packed, element);
        panels.codes(&prepared.code_format(Side::B), whole)
    }
}

/// What codes of D are made of, and the code of a NaN.
pub(crate) fn stored<T: Word>(Problem { prepared, runs, .. }: &Problem<'_>) -> (Stored, u64) {
    let what = match runs {
        _ if prepared.model().d == <T as Word>::FORMAT => Stored::Numbers,
        None => Stored::Narrowed,
        Some(_) => Stored::Sums,
    };
    (what, prepared.model().emitted_nan().unwrap_or_default())
}

/// One panel of columns of some rows.
struct Panel<'p, T, E: Entry> {
    fix: &'p Fix<'p, T, E>,
    /// Rows of A packed side by side.
    group: usize,
    /// The first row, and what is known of all.
    rows: (usize, &'p [Traits]),
    /// The first column in the block of columns, and what is known of those there are of `width`.
    columns: (usize, &'p [Traits]),
    width: usize,
}

impl<T: Number, E: Entry> Panel<'_, T, E> {
    /// Takes the state, from C on, through a span of K.
    fn through(
        &self,
        stretches: &Stretches,
        span: &[Stretch],
        (packed_a, packed_b): (&[Vec<Lines>], &[Lines]),
        state: &mut [T],
    ) {
        let Panel { fix, group, rows: (first_row, traits), columns: (first, column_traits), width } = *self;
        let (kernel, problem) = (fix.kernel, fix.problem);
        let (m, n, k) = (problem.operands.a.rows, problem.operands.b.columns, problem.operands.a.columns);
        let (first_column, size) = (fix.first_column + first, group * width);
        let (results, rest) = state.split_at_mut(traits.len() * width);
        let (rest, parts) = rest.split_at_mut(rest.len().min(results.len()));
        if span[0].range.first == 0 {
            load_c(
                kernel,
                problem,
                fix.block,
                (first_row, first_column),
                (width, column_traits.len()),
                results,
            );
        }
        let within_span = problem.runs.is_some() && !stretches.keeps_both;
        let mut short = Aligned::zeros(if within_span { size } else { 0 });
        // group by group, so that sums and results stay in the nearest cache
        for (index, sums) in results.chunks_mut(size).enumerate() {
            let (first_row, lines) = (first_row + index * group, sums.len());
            let (mut sums, state) = match problem.runs {
                None => (None, sums),
                Some(runs) if within_span => (Some((runs, sums)), &mut short.slice()[..lines]),
                Some(runs) => (Some((runs, sums)), &mut rest[index * size..][..lines]),
            };
            for (&Stretch { range, ends }, ((a, _), (b, _))) in
                span.iter().zip(packed_a[index].iter().zip(packed_b))
            {
                let mut rare = |row: usize, column: usize, position: usize, c: T| {
                    let place = (fix.block, first_row + row, first_column + column);
                    if place.1 >= m || place.2 >= n {
                        return c; // padding: nobody reads it
                    }
                    by_reference_operation(kernel, problem, place, range.first + position, c)
                };
                kernel.rows_at(problem.level, (&**a, &**b), range, state, &mut rare);
                let Some(run) = ends else { continue };
                if let (Some(orders), Some((_, totals))) = (problem.orders, &mut sums) {
                    for ended in orders.ended[run].iter().filter(|one| one.order >= first_row) {
                        let first_of = (ended.order - first_row) * width;
                        let row = first_of..first_of + width;
                        let Some(state) = state.get_mut(row.clone()) else { break };
                        if E::EXPONENTS {
                            let there = &traits[ended.order - self.rows.0..][..1];
                            let columns = (first, column_traits, width);
                            fix.apply((ended.order, there), columns, ended.elements.clone(), state);
                        }
                        let (part, totals) = (&mut parts[index * size..][row.clone()], &mut totals[row]);
                        problem.level.compiled(
                            #[inline(always)]
                            || ended.fold(state, part, totals),
                        );
                    }
                    continue;
                }
                if E::EXPONENTS {
                    let there = &traits[index * group..][..(lines / width).min(m - first_row)];
                    let elements = problem.runs.map_or(0..k, |runs| runs.range(run));
                    fix.apply((first_row, there), (first, column_traits, width), elements, state);
                }
                if let Some((runs, sums)) = &mut sums {
                    problem.level.compiled(
                        #[inline(always)]
                        || {
                            let (first, sizes) = ((first_row, first_column), (width, column_traits.len()));
                            runs.fold.rows(run, first, sizes, (sums, state));
                        },
                    );
                }
            }
        }
    }
}

/// Reads rows of C, as far as there are rows, into a state of zeros: from a row and a column on, `used` of `width` columns.
pub(crate) fn load_c<T: Number, E: Entry>(
    kernel: &dyn Tiles<T, E>,
    problem: &Problem<'_>,
    block: usize,
    (first_row, first_column): (usize, usize),
    (width, used): (usize, usize),
    state: &mut [T],
) {
    let Some(c) = problem.operands.c else {
        let start: T = problem.runs.map_or(kernel.resume(0), Runs::start);
        if start.code() != 0 {
            state.fill(start);
        }
        return;
    };
    for (row, state) in (first_row..c.rows).zip(state.chunks_exact_mut(width)) {
        let start = c.index(block, row, first_column);
        kernel.load_all(problem.level, problem.runs.is_some(), (c.codes, start), &mut state[..used]);
    }
}

/// Lines packed, and what is known of each.
pub(crate) type Lines = (Box<Packed>, Vec<Traits>);

/// A group of lines, block by block of a span of K, as cells and then packed.
fn packed<E: Entry>(
    span: &[Stretch],
    cells: impl Fn(Range) -> Cells<E>,
    pack: impl Fn(Cells<E>) -> Box<Packed>,
) -> Vec<Lines> {
    let of_block = |stretch: &Stretch| {
        let cells = cells(stretch.range);
        let traits = cells.traits.clone();
        (pack(cells), traits)
    };
    span.iter().map(of_block).collect()
}

/// Takes what is known of packed lines into account, `lines` to a group.
fn join(known: &mut [Traits], lines: usize, groups: &[Vec<Lines>]) {
    for (known, blocks) in known.chunks_mut(lines).zip(groups) {
        for (_, traits) in blocks {
            known.iter_mut().zip(traits).for_each(|(known, traits)| known.join(traits));
        }
    }
}

/// One elementary operation by the reference path, from an accumulator in the middle of a chain.
#[cold]
pub(crate) fn by_reference_operation<T: Number, E: Entry>(
    kernel: &dyn Tiles<T, E>,
    problem @ Problem { prepared, operands, .. }: &Problem<'_>,
    (block, row, column): (usize, usize, usize),
    position: usize,
    c: T,
) -> T {
    count(Route::Operation);
    let step = prepared.k();
    let index = |position: usize| position / step * step + prepared.order()[position % step];
    let indices: Vec<usize> = (position..position + prepared.length()).map(index).collect();
    let a: Vec<_> =
        indices.iter().map(|&k| prepared.element(Side::A, operands.a.get(block, row, k))).collect();
    let of_b = |k| b_code(kernel, problem, (block, k, column));
    let b: Vec<_> = indices.iter().map(|&k| prepared.element(Side::B, of_b(k))).collect();
    let k = operands.a.columns;
    let of_a = |scales: View<'_>, i: usize| scales.get(block, row, i * scales.columns / k);
    let of_b = |scales: View<'_>, i: usize| scales.get(block, i * scales.rows / k, column);
    let scale_a =
        prepared.scales(operands.scale_a.iter().flat_map(|&a| indices.iter().map(move |&i| of_a(a, i))));
    let scale_b =
        prepared.scales(operands.scale_b.iter().flat_map(|&b| indices.iter().map(move |&i| of_b(b, i))));
    let operation = |c| prepared.operation(&a, &b, c, &scale_a, &scale_b);
    // accumulators have another format than D where D is narrowed after them
    match prepared.model().conversion.container() == T::FORMAT {
        true => T::of(operation(c.code())),
        false => {
            kernel.resume(operation(kernel.store(c, prepared.model().emitted_nan().unwrap_or_default())))
        }
    }
}
