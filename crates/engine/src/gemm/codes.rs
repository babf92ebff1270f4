//! Codes in bulk: parts of matrices cut out and put back, and what is done code by code.

use std::borrow::Cow;
use std::ops::Range;

use bitmma_formats::Format;
use bitmma_kernel::{Code, Codes, Fold, Slice, View, Word, Words, on_codes};
use bitmma_threads::each_chunk;

use super::convert::Converter;
use super::schedule::Piece;
use crate::borrowed::MatrixRef;
use crate::error::Error;
use crate::matrix::{Matrix, elements};

/// Part of D.
pub(super) struct Tile {
    pub(super) block: usize,
    pub(super) rows: Range<usize>,
    pub(super) columns: Range<usize>,
}

impl Tile {
    pub(super) fn len(&self) -> usize {
        self.rows.len() * self.columns.len()
    }
}

/// Codes that one task takes.
const CHUNK: usize = 1 << 13;

/// Codes of +0 in a format that has one.
pub(super) fn zeros(format: Format, shape: (usize, usize, usize)) -> Result<Codes, Error> {
    elements(shape).and_then(|count| Codes::zeros(&format, count)).ok_or(Error::too_large(format, shape))
}

/// Some of a matrix.
pub(super) enum Part<'m> {
    Lent(View<'m>),
    /// What lies beyond the matrix is added to it.
    Padded(Matrix),
    /// The same, columns for rows.
    Transposed(Matrix),
}

impl Part<'_> {
    pub(super) fn view(&self) -> View<'_> {
        match self {
            Part::Lent(view) => *view,
            Part::Padded(matrix) => matrix.view(),
            Part::Transposed(matrix) => matrix.view().transposed(),
        }
    }
}

/// Some rows of A (`of_rows`) or columns of B along a chain, padded with +0 to whole steps; copied only where they are not next to
/// each other, or padded.
pub(super) fn part<'m>(
    matrix: MatrixRef<'m>,
    block: usize,
    lines: &Range<usize>,
    (chain, step): (&[Piece], usize),
    of_rows: bool,
) -> Result<Part<'m>, Error> {
    // lines are rows from here on
    let view = if of_rows { matrix.view } else { matrix.view.transposed() };
    let oriented = |part: View<'m>| Part::Lent(if of_rows { part } else { part.transposed() });
    let length = chain.iter().map(|piece| piece.padded).sum::<usize>().next_multiple_of(step);
    let first = chain.first().map_or(0, |piece| piece.range.start);
    let joined = chain.windows(2).all(|pair| pair[0].range.end == pair[1].range.start);
    if joined && chain.last().map_or(first, |piece| piece.range.end) - first == length {
        return Ok(oriented(view.part(block, lines.clone(), first..first + length)));
    }
    let format = matrix.format;
    let by_line = view.has_rows();
    let shape = if by_line { (lines.len(), length) } else { (length, lines.len()) };
    let mut codes = zeros(format, (1, shape.0, shape.1))?;
    fn copied<T: Copy>(
        from: &[T],
        to: &mut [T],
        (lines, chain): (usize, &[Piece]),
        at: impl Fn(usize, usize) -> usize,
        (by_line, width): (bool, usize),
    ) {
        let mut place = 0;
        for piece in chain {
            let elements = piece.range.len();
            if by_line {
                for line in 0..lines {
                    let start = at(line, piece.range.start);
                    to[line * width + place..][..elements].copy_from_slice(&from[start..start + elements]);
                }
            } else {
                for (element, to) in piece.range.clone().zip(to[place * width..].chunks_mut(width.max(1))) {
                    let start = at(0, element);
                    to.copy_from_slice(&from[start..start + lines]);
                }
            }
            place += piece.padded;
        }
    }
    let at = |line: usize, element: usize| view.index(block, lines.start + line, element);
    let how = (by_line, shape.1);
    if !lines.is_empty() {
        match (view.codes, &mut codes) {
            (Words::U8(from), Words::U8(to)) => copied(from, to, (lines.len(), chain), at, how),
            (Words::U16(from), Words::U16(to)) => copied(from, to, (lines.len(), chain), at, how),
            (Words::U32(from), Words::U32(to)) => copied(from, to, (lines.len(), chain), at, how),
            (Words::U64(from), Words::U64(to)) => copied(from, to, (lines.len(), chain), at, how),
            _ => unreachable!("codes of one format have one width"),
        }
    }
    let matrix = Matrix::from_codes(format, (1, shape.0, shape.1), codes);
    Ok(if by_line == of_rows { Part::Padded(matrix) } else { Part::Transposed(matrix) })
}

/// Rows and columns of one block of a matrix whose rows are codes next to each other; what lies beyond it is `padding`.
pub(super) fn cut(
    MatrixRef { format, view, .. }: MatrixRef<'_>,
    block: usize,
    rows: &Range<usize>,
    columns: &Range<usize>,
    padding: u64,
) -> Result<Matrix, Error> {
    let shape = (1, rows.len(), columns.len());
    let mut codes = zeros(format, shape)?;
    let inside = columns.start.min(view.columns)..columns.end.min(view.columns);
    let copy = (view, block, (rows, columns.len()), inside, padding);
    fn copied<T: Code>(
        from: &[T],
        to: &mut [T],
        (view, block, (rows, columns), inside, padding): (
            View<'_>,
            usize,
            (&Range<usize>, usize),
            Range<usize>,
            u64,
        ),
    ) {
        for (row, line) in rows.clone().zip(to.chunks_mut(columns.max(1))) {
            let taken = if row < view.rows { inside.len() } else { 0 };
            if taken > 0 {
                line[..taken].copy_from_slice(&from[view.index(block, row, inside.start)..][..taken]);
            }
            line[taken..].fill(T::of(padding));
        }
    }
    match (view.codes, &mut codes) {
        (Slice::U8(from), Codes::U8(to)) => copied(from, to, copy),
        (Slice::U16(from), Codes::U16(to)) => copied(from, to, copy),
        (Slice::U32(from), Codes::U32(to)) => copied(from, to, copy),
        (Slice::U64(from), Codes::U64(to)) => copied(from, to, copy),
        _ => unreachable!("codes of one format have one width"),
    }
    Ok(Matrix::from_codes(format, shape, codes))
}

/// Writes a tile to its place among M×N codes of the same width.
pub(super) fn put(tile: &Codes, d: &mut Codes, place: &Tile, (m, n): (usize, usize)) {
    fn copy<T: Copy>(from: &[T], to: &mut [T], place: &Tile, (m, n): (usize, usize)) {
        for (row, line) in place.rows.clone().zip(from.chunks(place.columns.len())) {
            let first = (place.block * m + row) * n + place.columns.start;
            to[first..first + line.len()].copy_from_slice(line);
        }
    }
    match (tile, d) {
        (Codes::U8(from), Codes::U8(to)) => copy(from, to, place, (m, n)),
        (Codes::U16(from), Codes::U16(to)) => copy(from, to, place, (m, n)),
        (Codes::U32(from), Codes::U32(to)) => copy(from, to, place, (m, n)),
        (Codes::U64(from), Codes::U64(to)) => copy(from, to, place, (m, n)),
        _ => unreachable!("codes of one format have one width"),
    }
}

/// The codes in W, into which `lift` converts where they are not in it.
pub(super) fn lifted<'c>(codes: &'c Codes, lift: Option<&Converter>) -> Result<Cow<'c, Codes>, Error> {
    lift.map_or(Ok(Cow::Borrowed(codes)), |lift| convert(codes, lift).map(Cow::Owned))
}

/// Takes the results of a run into sums, both `width` numbers to a row.
pub(super) fn fold_all<W: Word>(
    (fold, run): (Fold<'_>, usize),
    width: usize,
    sums: &mut Codes,
    results: &Codes,
) {
    let rows = (CHUNK / width.max(1)).max(1);
    side_by_side::<W>(sums, results, (rows * width).max(1), |at, sums, results| {
        fold.rows(run, (at * rows, 0), (width, width), (sums, results));
    });
}

/// `operation(word, other)` in the place of each word.
pub(super) fn combine<W: Word>(words: &mut Codes, others: &Codes, operation: impl Fn(W, W) -> W + Sync) {
    side_by_side::<W>(words, others, CHUNK, |_, words, others| {
        words.iter_mut().zip(others).for_each(|(word, other)| *word = operation(*word, *other));
    });
}

/// Parts of that length of words and of others, as numbers, with their index; what becomes of the words is written back.
fn side_by_side<W: Word>(
    words: &mut Codes,
    others: &Codes,
    length: usize,
    work: impl Fn(usize, &mut [W], &mut [W]) + Sync,
) {
    fn parts<W: Word, T: Code>(
        words: &mut [T],
        others: &[T],
        length: usize,
        work: impl Fn(usize, &mut [W], &mut [W]) + Sync,
    ) {
        let numbers = |codes: &[T]| codes.iter().map(|code| W::of(code.code())).collect::<Vec<W>>();
        each_chunk(words, length, |at, words| {
            let mut changed = numbers(words);
            work(at, &mut changed, &mut numbers(&others[at * length..][..words.len()]));
            words.iter_mut().zip(changed).for_each(|(word, number)| *word = T::of(number.code()));
        });
    }
    match (words, others) {
        (Codes::U32(words), Codes::U32(others)) => parts(words, others, length, work),
        (Codes::U64(words), Codes::U64(others)) => parts(words, others, length, work),
        _ => unreachable!("W is FP32 or FP64"),
    }
}

/// `operation(word)` in the place of each word.
pub(super) fn each<W: Word>(words: &mut Codes, operation: impl Fn(W) -> W + Sync) {
    on_codes!(words, words => each_chunk(words, CHUNK, |_, words| {
        words.iter_mut().for_each(|word| *word = Code::of(operation(W::of(word.code())).code()));
    }));
}

/// Codes of another format.
pub(super) fn convert(codes: &Codes, converter: &Converter) -> Result<Codes, Error> {
    match converter.same {
        true => convert_owned(codes.clone(), converter),
        false => mapped(codes, converter.to.conversion.container(), |code| converter.code(code)),
    }
}

/// The same, in place where only NaN changes.
pub(super) fn convert_owned(mut codes: Codes, converter: &Converter) -> Result<Codes, Error> {
    if !converter.same {
        return convert(&codes, converter);
    }
    on_codes!(&mut codes, codes => each_chunk(codes, CHUNK, |_, codes| {
        let mut any = false;
        codes.iter().for_each(|code| any |= converter.is_nan(code.code()));
        if any {
            codes.iter_mut().for_each(|code| *code = Code::of(converter.code(code.code())));
        }
    }));
    Ok(codes)
}

/// What each code becomes, in another format.
pub(super) fn mapped(
    codes: &Codes,
    format: Format,
    code: impl Fn(u64) -> u64 + Sync,
) -> Result<Codes, Error> {
    let mut converted = zeros(format, (1, 1, codes.len()))?;
    on_codes!(&mut converted, converted => on_codes!(codes, codes => {
        each_chunk(converted, CHUNK, |at, converted| {
            let pairs = converted.iter_mut().zip(&codes[at * CHUNK..]);
            pairs.for_each(|(to, &from)| *to = Code::of(code(from.code())));
        });
    }));
    Ok(converted)
}
