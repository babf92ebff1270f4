//! Preparing B, and products that stream it.
//!
//! A product goes panel by panel: threads share panels, and each takes a group of rows through all of K, block by block, with
//! the accumulators in the nearest cache. Each word of B is read once for each group of rows.

use bitmma_arithmetic::run::Side;
use bitmma_arithmetic::{InputFlush, Prepared};
use bitmma_formats::Format;

use super::widen::Widen;
use super::{BLOCK, Block, Panels};
use crate::codes::{Code, Codes, View};
use crate::drive::{Driven, by_reference_operation, load_c, stored};
use crate::element::{Entry, Range, Section};
use crate::family::Problem;
use crate::fix::{Fix, Kinds};
use crate::number::Number;
use crate::on_codes;
use crate::pack::{Aligned, Operand, Packed, Traits};
use crate::simd::Level;
use crate::spread::{each_chunk, mapped};
use crate::tiles::{Sizes, Streamed};

/// The blocks of a panel that are kept, with the bytes they take, and what is known of its columns.
type Made = (Vec<(Option<Box<Packed>>, usize)>, Vec<Traits>);

/// Groups of rows that are computed before any is stored.
const GROUPS: usize = 8;

impl Panels {
    /// The code of an element; `whole` has those of panels that are kept packed.
    pub(crate) fn code_by(
        &self,
        k: usize,
        column: usize,
        whole: impl Fn(&Packed, usize) -> Option<u64>,
    ) -> u64 {
        if let Some(widen) = &self.widen {
            return self.code(widen, k, column);
        }
        let (block, position, line) = self.place(k, column);
        let kept = self.blocks[block].kept.as_ref();
        kept.and_then(|kept| whole(&**kept, position * self.width + line)).unwrap_or(0)
    }

    /// The elements of a block along K.
    fn range(&self, along: usize) -> Range {
        let first = along * self.block;
        Range { first, length: self.block.min(self.k - first) }
    }

    /// The codes of a block of a panel that are kept in words, row by row.
    fn codes_of(&self, panel: usize, range: Range) -> Vec<u32> {
        let Some(widen) = &self.widen else {
            unreachable!("blocks that are kept packed are not packed again")
        };
        let there = self.width.min(self.n - panel * self.width);
        let (words, lanes, step) =
            (&self.words[self.part(panel, range)], self.width / self.vectors, self.places.len());
        let mut codes = vec![0; range.length * there];
        for (k, row) in codes.chunks_exact_mut(there).enumerate() {
            let position = k / step * step + self.places[k % step];
            for (vector, row) in row.chunks_mut(lanes).enumerate() {
                let slot = widen.slot(self.vectors, position * self.vectors + vector);
                let words = &words[slot.vector * lanes..][..row.len()];
                for (code, word) in row.iter_mut().zip(words) {
                    *code = widen.code_of(word.cast_unsigned(), slot.index) as u32;
                }
            }
        }
        codes
    }

    /// All codes, row-major; `whole` has those of panels that are kept packed. `None` where there is no room.
    pub(crate) fn codes(
        &self,
        format: &Format,
        whole: impl Fn(&Packed, usize) -> Option<u64>,
    ) -> Option<Codes> {
        let mut codes = Codes::zeros(format, self.k.checked_mul(self.n)?)?;
        let mut chunk = codes.chunk();
        if self.widen.is_none() {
            for k in 0..self.k {
                let row: Vec<usize> = (0..self.n).collect();
                chunk.write(k * self.n, &row, |column| self.code_by(k, column, &whole));
            }
            return Some(codes);
        }
        for panel in 0..self.n.div_ceil(self.width) {
            let first = panel * self.width;
            let there = self.width.min(self.n - first);
            for range in (0..self.along()).map(|along| self.range(along)) {
                for (k, row) in self.codes_of(panel, range).chunks_exact(there).enumerate() {
                    chunk.write((range.first + k) * self.n + first, row, u64::from);
                }
            }
        }
        Some(codes)
    }

    /// Where the words of some elements of a panel are.
    fn part(&self, panel: usize, range: Range) -> std::ops::Range<usize> {
        let first = self.words_of(panel * self.k + range.first);
        first..first + self.words_of(range.length)
    }
}

impl<T: Number, E: Entry> Driven<T, E> {
    /// B as panels.
    pub(crate) fn panels(
        &self,
        prepared: &Prepared<'_>,
        level: Level,
        b: View<'_>,
        scale_b: Option<View<'_>>,
    ) -> Option<Panels> {
        let kernel = &*self.kernel;
        let (k, n) = (b.rows, b.columns);
        let level = kernel.level(level, n);
        let Sizes { width, k_block, lanes, whole, .. } = kernel.sizes(level);
        let (step, vectors) = (prepared.k(), width / lanes.min(width));
        let most = if prepared.model().scale.is_some() { 2 * BLOCK } else { BLOCK };
        // what is kept packed is not widened, and read from memory in one go
        let is_whole = whole && self.b.is_same();
        let block = (if is_whole { k_block } else { k_block.min(most) } / step).max(1) * step;
        let widen = match is_whole {
            true => None,
            false => Some(Widen::of(&prepared.code_format(Side::B), &prepared.operand_format(Side::B))?),
        };
        let group = widen.as_ref().map_or(1, |widen| widen.group(vectors));
        if b.blocks != 1 || k == 0 || n == 0 || !(step * vectors).is_multiple_of(group) {
            return None;
        }
        let mut places = vec![0; step];
        prepared.order().iter().enumerate().for_each(|(position, &place)| places[place] = position);
        let count = n.div_ceil(width);
        let along = k.div_ceil(block);
        let mut panels = Panels {
            level,
            k,
            n,
            width,
            vectors,
            block,
            places,
            widen,
            words: Aligned::default(),
            blocks: Vec::new(),
            traits: vec![Traits::NONE; count * width],
            kept: 0,
        };
        let per_panel = panels.words_of(k);
        let mut words = Aligned::new(count.checked_mul(per_panel)?)?;
        let (lines, scale_lines) = (b.transposed(), scale_b.map(View::transposed));
        let operand = Operand { prepared, reader: &self.b, lines, scales: scale_lines, block: 0 };
        let alone = k.saturating_mul(n) <= crate::drive::ALONE;
        {
            let panels = &panels;
            let make = |panel: usize, words: &mut [i32]| -> Made {
                let (first, mut rest, mut known) = (panel * width, words, vec![Traits::NONE; width]);
                let mut room = None;
                let blocks = (0..along).map(|index| {
                    let range = panels.range(index);
                    let (own, others) = std::mem::take(&mut rest).split_at_mut(panels.words_of(range.length));
                    rest = others;
                    let cells = operand.cells(level, first, width, range);
                    known.iter_mut().zip(&cells.traits).for_each(|(known, traits)| known.join(traits));
                    let codes = panels.widen.as_ref().map(|widen| {
                        level.compiled(
                            #[inline(always)]
                            || write(panels, widen, &operand, (first, range), own),
                        );
                        (widen, &*own)
                    });
                    let packed = kernel.pack(level, Side::B, cells);
                    match codes.filter(|(widen, _)| widen.fits).is_some() || panels.widen.is_none() {
                        true => kernel
                            .keep(level, packed, codes, &mut room)
                            .map_or((None, 0), |(kept, bytes)| (Some(kept), bytes)),
                        false => (None, 0),
                    }
                });
                (blocks.collect(), known)
            };
            let mut parts: Vec<_> = match per_panel {
                0 => (0..count).map(|_| (&mut [][..], (Vec::new(), Vec::new()))).collect(),
                _ => words
                    .slice()
                    .chunks_exact_mut(per_panel)
                    .map(|words| (words, (Vec::new(), Vec::new())))
                    .collect(),
            };
            each_chunk(alone, &mut parts, 1, |panel, part| part[0].1 = make(panel, part[0].0));
            parts.into_iter().map(|(_, made)| made).collect::<Vec<_>>()
        }
        .into_iter()
        .enumerate()
        .for_each(|(panel, (blocks, known))| {
            panels.traits[panel * width..][..width].copy_from_slice(&known);
            for (kept, bytes) in blocks {
                panels.kept += bytes;
                panels.blocks.push(Block { kept });
            }
        });
        panels.words = words;
        Some(panels)
    }

    /// D, or the sums of runs, of a prepared B; `None` where there is no room.
    pub(crate) fn streamed(&self, problem: &Problem<'_>, panels: &Panels) -> Option<Codes> {
        let kernel = &*self.kernel;
        let (prepared, operands, level) = (problem.prepared, problem.operands, problem.level);
        let (m, n, k) = (operands.a.rows, panels.n, panels.k);
        let a = Operand { prepared, reader: &self.a, lines: operands.a, scales: operands.scale_a, block: 0 };
        let (lines, scales) = (operands.b.transposed(), operands.scale_b.map(View::transposed));
        let b = Operand { reader: &self.b, lines, scales, ..a };
        let Sizes { rows: tile, group, alone: one, .. } = kernel.sizes(level);
        let format = match problem.runs {
            Some(_) => <T as crate::elementwise::Word>::FORMAT,
            None => prepared.model().d,
        };
        let mut d = Codes::zeros(&format, m.checked_mul(n)?)?;
        let what = stored::<T>(problem);
        let kinds = |count| Kinds::of(if E::EXPONENTS { count } else { 0 });
        let (row_kinds, column_kinds) = (kinds(m), kinds(n));
        let fix = Fix {
            kernel,
            problem,
            block: 0,
            a: &a,
            b: &b,
            row_kinds: &row_kinds,
            column_kinds: &column_kinds,
            first_column: 0,
        };
        let alone = m.saturating_mul(n).saturating_mul(k) <= crate::drive::ALONE;
        let (width, along) = (panels.width, panels.along());
        for first_row in (0..m).step_by(GROUPS * group) {
            let there = (m - first_row).min(GROUPS * group);
            let rows = if one && there == 1 { 1 } else { there.next_multiple_of(tile) };
            let groups = rows.div_ceil(group);
            let packed_a = mapped(alone, groups * along, |index| {
                let cells =
                    a.cells(level, first_row + index / along * group, group, panels.range(index % along));
                let known = cells.traits.clone();
                (kernel.pack(level, Side::A, cells), known)
            });
            let mut traits = vec![Traits::NONE; groups * group];
            let mut blocks = Vec::with_capacity(packed_a.len());
            for (index, (packed, known)) in packed_a.into_iter().enumerate() {
                let own = &mut traits[index / along * group..][..group];
                own.iter_mut().zip(&known).for_each(|(own, known)| own.join(known));
                blocks.push(packed);
            }
            let size = rows.checked_mul(width)?;
            let mut state = Aligned::new(size.checked_mul(n.div_ceil(width))?)?;
            each_chunk(alone, state.slice(), size, |panel, state| {
                let first = panel * width;
                let used = width.min(n - first);
                load_c(kernel, problem, 0, (first_row, first), (width, used), state);
                let mut room = None;
                for (index, state) in state.chunks_mut(group * width).enumerate() {
                    let rows = (
                        first_row + index * group,
                        &traits[index * group..][..group.min(there - index * group)],
                    );
                    let lines = &blocks[index * along..][..along];
                    self.through((&fix, panels), (panel, used), rows, lines, &mut room, state);
                }
            });
            let mut chunk = d.chunk();
            let mut rows_of_d = chunk.rows(first_row * n..(first_row + there) * n);
            for (panel, state) in state.chunks_exact(size).enumerate() {
                let columns = panel * width..(panel * width + width).min(n);
                kernel.store_all(level, what, (state, width), (&mut rows_of_d, columns, n));
            }
        }
        Some(d)
    }

    /// A group of rows of a panel through all of K.
    fn through(
        &self,
        (fix, panels): (&Fix<'_, T, E>, &Panels),
        (panel, used): (usize, usize),
        (first_row, rows): (usize, &[Traits]),
        lines: &[Box<Packed>],
        room: &mut Option<Box<Packed>>,
        state: &mut [T],
    ) {
        let (width, first) = (panels.width, panel * panels.width);
        let columns = &panels.traits[first..first + used];
        let all = |begin: usize, end: usize, results: &mut [T], room: &mut Option<Box<Packed>>| {
            let blocks = (begin / panels.block, end.div_ceil(panels.block));
            self.blocks((fix, panels), panel, blocks, (first_row, lines), room, results);
            if E::EXPONENTS {
                fix.apply((first_row, rows), (first, columns, width), begin..end, results);
            }
        };
        let Some(runs) = fix.problem.runs else { return all(0, panels.k, state, room) };
        let mut results = Aligned::zeros(state.len());
        for run in 0..runs.ends.len() {
            let elements = runs.range(run);
            if elements.is_empty() {
                continue; // as without panels
            }
            let results = results.slice();
            all(elements.start, elements.end, results, room);
            let sums = &mut *state;
            fix.problem.level.compiled(
                #[inline(always)]
                || runs.fold.rows(run, (first_row, first), (width, used), (sums, results)),
            );
        }
    }

    /// The same through some of its blocks: those that are plain together, others one by one.
    fn blocks(
        &self,
        (fix, panels): (&Fix<'_, T, E>, &Panels),
        panel: usize,
        (mut from, to): (usize, usize),
        (first_row, lines): (usize, &[Box<Packed>]),
        room: &mut Option<Box<Packed>>,
        state: &mut [T],
    ) {
        let (kernel, problem, along) = (fix.kernel, fix.problem, panels.along());
        let (m, first) = (problem.operands.a.rows, panel * panels.width);
        let own = &panels.blocks[panel * along..][..along];
        while from < to {
            let filled = panels.widen.is_none() || kernel.fills_for(state.len() / panels.width);
            let plain = own[from..to].iter().take_while(|block| filled && block.kept.is_some()).count();
            let range = panels.range(from);
            let last = from + plain.max(1);
            let length = (last * panels.block).min(panels.k) - range.first;
            let range = Range { first: range.first, length };
            let mut rare = |row: usize, column: usize, position: usize, c: T| {
                let place = (0, first_row + row, first + column);
                if place.1 >= m || place.2 >= panels.n {
                    return c; // padding: nobody reads it
                }
                by_reference_operation(kernel, problem, place, range.first + position, c)
            };
            if plain > 0 {
                let streamed = Streamed {
                    a: &lines[from..last],
                    b: &own[from..last],
                    words: &panels.words[panels.part(panel, range)],
                    range,
                    block: panels.block,
                    widen: panels.widen.as_ref(),
                    room,
                };
                kernel.stream_at(problem.level, streamed, state, &mut rare);
            } else {
                let packed = self.again(problem, panels, panel, range);
                kernel.rows_at(problem.level, (&*lines[from], &*packed), range, state, &mut rare);
            }
            from = last;
        }
    }

    /// A block of a panel packed from its codes.
    fn again(&self, problem: &Problem<'_>, panels: &Panels, panel: usize, range: Range) -> Box<Packed> {
        let (kernel, prepared) = (&*self.kernel, problem.prepared);
        let first = panel * panels.width;
        let there = panels.width.min(panels.n - first);
        let k = range.first..range.first + range.length;
        let codes = panels.codes_of(panel, range);
        let lines = View::new(Code::slice(&codes), (1, range.length, there)).transposed();
        let scales = problem.operands.scale_b.zip(prepared.model().scale).map(|(scales, scale)| {
            scales.part(0, k.start / scale.size..k.end / scale.size, first..first + there).transposed()
        });
        let operand = Operand { prepared, reader: &self.b, lines, scales, block: 0 };
        let own = Range { first: 0, length: range.length };
        kernel.pack(problem.level, Side::B, operand.cells(problem.level, 0, panels.width, own))
    }
}

/// Writes the codes of some lines and elements to words. Subnormal numbers that the model flushes are zeros from here on.
#[inline(always)]
fn write<E: Entry>(
    panels: &Panels,
    widen: &Widen,
    operand: &Operand<'_, E>,
    (first, range): (usize, Range),
    words: &mut [i32],
) {
    let (width, lanes) = (panels.width, panels.width / panels.vectors);
    let there = width.min(panels.n - first);
    let section = Section { block: operand.block, first, lines: width, there, k: range };
    let format = operand.prepared.code_format(Side::B);
    let flush = operand.prepared.model().flush_operands;
    let (sign, normal) = (format.sign_bit(), 1 << (format.fraction_bits + format.padding_bits));
    let read = |code: u64| match flush {
        InputFlush::Never => code,
        _ if code & !sign >= normal => code,
        InputFlush::Positive => 0,
        InputFlush::Signed => code & sign,
    };
    on_codes!(operand.lines.codes, codes => {
        let mut codes = section.codes(codes, &operand.lines, operand.prepared.order());
        if flush.is_on() {
            codes.iter_mut().for_each(|code| *code = Code::of(read(code.code())));
        }
        // near first: a page that is read before it is written to faults twice
        let mut near = vec![0; words.len()];
        for (position, line) in codes.chunks_exact(there).enumerate() {
            // as cells have them
            let beyond = if E::EXPONENTS { line[there - 1].code() } else { 0 };
            for vector in 0..panels.vectors {
                let slot = widen.slot(panels.vectors, position * panels.vectors + vector);
                let shift = widen.shift_of(slot.index);
                let words = &mut near[slot.vector * lanes..][..lanes];
                let own = &line[(vector * lanes).min(there)..((vector + 1) * lanes).min(there)];
                match (own.len(), lanes) {
                    (16, 16) => join::<16, _>(words, own, shift),
                    (8, 8) => join::<8, _>(words, own, shift),
                    (4, 4) => join::<4, _>(words, own, shift),
                    (own_lanes, _) => {
                        let (words, rest) = words.split_at_mut(own_lanes);
                        words.iter_mut().zip(own).for_each(|(word, code)| put(word, code.code(), shift));
                        rest.iter_mut().for_each(|word| put(word, beyond, shift));
                    }
                }
            }
        }
        words.copy_from_slice(&near);
    });
}

/// Adds a code to a word.
#[inline(always)]
fn put(word: &mut i32, code: u64, shift: u32) {
    *word |= ((code as u32) << shift).cast_signed();
}

/// The same for a vector of them: of a known length, which makes it a few instructions.
#[inline(always)]
fn join<const LANES: usize, C: Code>(words: &mut [i32], codes: &[C], shift: u32) {
    let (words, codes) = (&mut words[..LANES], &codes[..LANES]);
    for lane in 0..LANES {
        put(&mut words[lane], codes[lane].code(), shift);
    }
}
