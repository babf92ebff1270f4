//! Products of an operation, each cut to units of 2^(e_max - F): what T-, ST-, TR- and GTR-FDPA have in common.
//!
//! Exponents are bytes, 64 of which are summed at a time; a product is taken in FP32, where one of two factors of 12 bits
//! is exact, brought to its units by a power of two, and truncated to a 32-bit integer. A result below the last unit
//! truncates to zero whether it was rounded or not. Factors that are too large for that, and operations all of whose products
//! may be too small, are taken in FP64.

use bitmma_arithmetic::Prepared;
use bitmma_arithmetic::run::Side;
use bitmma_formats::Format;

use crate::elementwise::power;
use crate::pack::{Aligned, Bytes, Cells, GROUP, Interleaved, ROWS, Repeated, VECTORS, WIDEST, bytes};
use crate::panels::widen::Widen;
use crate::simd::{Level, Simd, by_fours};

/// What zero has for an exponent: sums saturate, and none with it comes near that of a nonzero product.
const NOTHING: i8 = -128;
/// Where maxima of sums of exponents begin: above all of zero products, below all others.
pub(crate) const NO_PRODUCT: i32 = -95;
/// Largest exponent of a factor for which products in FP32 and sums of exponents in bytes are right.
const LARGEST_FACTOR: i8 = 30;
/// Smallest exponent of a nonzero product for which they are.
const SMALLEST_PRODUCT: i32 = -90;
/// Smaller than every exponent.
pub(crate) const NOWHERE: i32 = -100_000;

/// The vectors of one row of a panel.
pub(crate) type Lanes<V> = [V; VECTORS];

/// Whether products of numbers of such formats are exact in FP32, but for their exponents, and these fit bytes.
pub(crate) fn are_held(formats: [&Format; 2]) -> bool {
    formats.into_iter().all(|format| {
        format.fraction_bits <= 11 && format.min_exponent() >= -126 && format.max_exponent() <= 127
    })
}

/// How many elements an operation of a model has, if products may leave the range of FP32 or sums of exponents that of
/// bytes.
pub(crate) fn guard(prepared: &Prepared<'_>) -> Option<usize> {
    let formats = [Side::A, Side::B].map(|side| prepared.operand_format(side));
    let leaves = |format: &Format| {
        format.max_exponent() > i32::from(LARGEST_FACTOR) || format.min_exponent() < SMALLEST_PRODUCT / 2
    };
    formats.iter().any(leaves).then(|| prepared.length())
}

/// The largest term, in units of 2^(e_max - F), rounded up: factors are below 2 by one last bit or more.
pub(crate) fn largest_term([a, b]: [&Format; 2], fraction_bits: u32) -> u128 {
    let largest = |format: &Format| (2u128 << format.fraction_bits) - 1;
    ((largest(a) * largest(b)) << fraction_bits >> (a.fraction_bits + b.fraction_bits)) + 1
}

/// Some lines over a block of K.
pub(crate) struct Lines<E> {
    /// Numbers, side by side for each position along K.
    pub(crate) values: Aligned<f32>,
    /// Their exponents.
    pub(crate) exponents: E,
    /// What is known of each operation and of lines that share it; none where nothing leaves the range.
    ranges: Vec<Extremes>,
    /// What is known of all.
    all: Extremes,
}

/// A group of rows of A.
pub(crate) type Rows = Lines<Repeated>;

/// A panel of columns of B.
pub(crate) type Columns = Lines<Interleaved>;

impl<E: Bytes> Lines<E> {
    /// Lines of an operand, some of which share what is known of them; with [`guard`].
    #[inline(always)]
    pub(crate) fn of(cells: Cells, share: usize, guard: Option<usize>) -> Lines<E> {
        let exponents = E::of(cells.lines, &cells.exponents, byte);
        let ranges = ranges(&cells, share, guard);
        let join = |x: Extremes, y: &Extremes| Extremes {
            smallest: x.smallest.min(y.smallest),
            largest: x.largest.max(y.largest),
        };
        let all = ranges.iter().fold(Extremes { smallest: 0, largest: 0 }, join);
        Lines { values: cells.values, exponents, ranges, all }
    }
}

impl Columns {
    /// No lines yet.
    pub(crate) fn none() -> Columns {
        let all = Extremes { smallest: 0, largest: 0 };
        Lines { values: Aligned::default(), exponents: Interleaved::default(), ranges: Vec::new(), all }
    }

    /// Drops what [`Columns::fill`] makes.
    pub(crate) fn strip(&mut self) {
        (self.values, self.exponents) = (Aligned::default(), Interleaved::default());
    }

    /// Makes columns of codes in words and of what was kept of them.
    pub(crate) fn fill(&mut self, level: Level, widen: &Widen, words: &[i32], kept: &Columns) {
        let count = words.len() * 32 / widen.cell as usize;
        let width = VECTORS * level.lanes();
        let exponents = self.exponents.resized(width, count / width);
        widen.elements(level, words, self.values.resized(count), exponents);
        self.ranges.clear();
        self.ranges.extend_from_slice(&kept.ranges);
        self.all = kept.all;
    }

    /// Whether others have the same numbers and exponents; no kernel of these asks for the sign of a zero.
    pub(crate) fn is_same(&self, other: &Columns) -> bool {
        // without a branch for each, in vectors
        let values = self.values.iter().zip(&*other.values);
        let words = self.exponents.words().iter().zip(other.exponents.words());
        self.values.len() == other.values.len()
            && values.fold(true, |same, (x, y)| same & ((x + 0.0).to_bits() == (y + 0.0).to_bits()))
            && words.fold(true, |same, (x, y)| same & (x == y))
    }

    /// How many there are.
    pub(crate) fn lines(&self) -> usize {
        VECTORS * self.exponents.lanes()
    }

    /// Bytes of what is kept.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val::<[Extremes]>(&self.ranges)
    }
}

/// The exponent of an element.
#[inline(always)]
fn byte(exponent: i16) -> i8 {
    i8::try_from(exponent).unwrap_or(NOTHING)
}

/// Smallest and largest exponent of the nonzero elements of one operation, some lines together.
#[derive(Clone, Copy)]
pub(crate) struct Extremes {
    pub(crate) smallest: i8,
    pub(crate) largest: i8,
}

impl Extremes {
    /// Whether the products of such elements may be taken in FP32, their exponents summed in bytes.
    #[inline]
    pub(crate) fn are_safe_with(self, other: Extremes) -> bool {
        self.are_small_enough_with(other)
            && i32::from(self.smallest) + i32::from(other.smallest) >= SMALLEST_PRODUCT
    }

    /// Whether none is too large.
    #[inline]
    fn are_small_enough_with(self, other: Extremes) -> bool {
        self.largest <= LARGEST_FACTOR && other.largest <= LARGEST_FACTOR
    }
}

/// What is known of each operation and of `share` lines.
#[inline(always)]
fn ranges(cells: &Cells, share: usize, guard: Option<usize>) -> Vec<Extremes> {
    let Some(length) = guard else { return Vec::new() };
    let lines = cells.lines;
    let mut ranges = Vec::with_capacity(cells.exponents.len() / (length * share));
    for exponents in cells.exponents.chunks_exact(length * lines) {
        let (mut smallest, mut largest) = ([i8::MAX; WIDEST], [i8::MIN; WIDEST]);
        let (smallest, largest) = (&mut smallest[..lines], &mut largest[..lines]);
        for line in exponents.chunks_exact(lines) {
            for ((smallest, largest), &exponent) in smallest.iter_mut().zip(&mut *largest).zip(line) {
                let exponent = byte(exponent);
                *largest = (*largest).max(exponent);
                *smallest = (*smallest).min(if exponent == NOTHING { i8::MAX } else { exponent });
            }
        }
        for (smallest, largest) in smallest.chunks_exact(share).zip(largest.chunks_exact(share)) {
            let smallest = smallest.iter().fold(i8::MAX, |least, &exponent| least.min(exponent));
            let largest = largest.iter().fold(i8::MIN, |most, &exponent| most.max(exponent));
            ranges.push(Extremes { smallest, largest });
        }
    }
    ranges
}

/// What one operation takes of rows and a panel, as slices that no store can change.
#[derive(Clone, Copy)]
pub(crate) struct Products<'p> {
    pub(crate) values: Values<'p>,
    a_exponents: &'p [i32],
    b_exponents: &'p [i32],
}

impl<'p> Products<'p> {
    /// Those of `length` elements from the first on, with that many columns.
    #[inline(always)]
    pub(crate) fn of(
        (a, b): (&'p Rows, &'p Columns),
        (first, length): (usize, usize),
        width: usize,
    ) -> Products<'p> {
        // slices of all before those of some, which the compiler then knows to be no longer
        let (a_values, a_exponents): (&[f32], &[i32]) = (&a.values, a.exponents.words());
        let (b_values, b_exponents): (&[f32], &[i32]) = (&b.values, b.exponents.words());
        Products {
            values: Values { a: a_values, b: b_values }.part((first, length), width),
            a_exponents: &a_exponents[first * GROUP..][..length * GROUP],
            b_exponents: &b_exponents[first * width / VECTORS..][..length * width / VECTORS],
        }
    }

    /// The largest exponents of the products of `R` rows, in bytes, or [`NO_PRODUCT`]: of each `STEP`th, from one of the
    /// first on.
    #[inline(always)]
    pub(crate) fn largest<S: Simd, const R: usize, const STEP: usize>(
        &self,
        s: S,
        (row, begin): (usize, usize),
    ) -> [S::I; R] {
        let mut largest = [s.i_splat(bytes(NO_PRODUCT as i8)); R];
        let (rows, columns) = (self.a_exponents, self.b_exponents);
        let (row, column) = (begin * GROUP + row, begin * S::LANES);
        by_fours!(eights rows, STEP * GROUP; columns, STEP * S::LANES => |exponents, line| {
            let columns = s.i_load(&line[column..]);
            let exponents = &exponents[row..][..R];
            for row in 0..R {
                let sum = s.b_add_saturating(s.i_splat(exponents[row]), columns);
                largest[row] = s.b_max(largest[row], sum);
            }
        });
        largest
    }
}

/// The numbers of the same.
#[derive(Clone, Copy)]
pub(crate) struct Values<'p> {
    pub(crate) a: &'p [f32],
    pub(crate) b: &'p [f32],
}

impl<'p> Values<'p> {
    /// Those of `length` elements from the first on.
    #[inline(always)]
    pub(crate) fn part(&self, (first, length): (usize, usize), width: usize) -> Values<'p> {
        Values {
            a: &self.a[first * GROUP..][..length * GROUP],
            b: &self.b[first * width..][..length * width],
        }
    }

    /// Products of `R` rows and of the first `V` vectors of columns, scaled, truncated and added to sums: of each `STEP`th.
    #[inline(always)]
    pub(crate) fn add<S: Simd, const R: usize, const V: usize, const STEP: usize>(
        &self,
        s: S,
        (row, begin): (usize, usize),
        scale: &[Lanes<S::F>; R],
        sums: &mut [Lanes<S::I>; R],
    ) {
        let width = VECTORS * S::LANES;
        let (row, column) = (begin * GROUP + row, begin * width);
        by_fours!(self.a, STEP * GROUP; self.b, STEP * width => |numbers, line| {
            add_product::<S, R, V>(s, &numbers[row..][..R], &line[column..], scale, sums);
        });
    }
}

/// The products of one element of `R` rows and of the first `V` vectors of columns.
#[inline(always)]
pub(crate) fn add_product<S: Simd, const R: usize, const V: usize>(
    s: S,
    numbers: &[f32],
    line: &[f32],
    scale: &[Lanes<S::F>; R],
    sums: &mut [Lanes<S::I>; R],
) {
    let mut factors = [s.f_splat(0.0); R];
    for row in 0..R {
        factors[row] = s.f_splat(numbers[row]);
    }
    for vector in 0..V {
        let column = s.f_load(&line[vector * S::LANES..]);
        for row in 0..R {
            let product = s.f_mul(s.f_mul(factors[row], column), scale[row][vector]);
            sums[row][vector] = s.i_add(sums[row][vector], s.f_truncate(product));
        }
    }
}

/// Whether no product of some rows and columns leaves the range.
#[inline(always)]
pub(crate) fn are_all_safe((a, b): (&Rows, &Columns)) -> bool {
    a.all.are_safe_with(b.all)
}

/// Whether the products of an operation of a tile, from a row of the group on, may be taken so where others may not.
///
/// A product that is too small does no harm beside one that is not: it is below 2^-125 whatever becomes of it, the unit
/// above 2^([`NO_PRODUCT`] - F), and it is cut to nothing.
#[inline(always)]
pub(crate) fn are_safe<S: Simd>(
    s: S,
    (a, b): (&Rows, &Columns),
    products: &Products<'_>,
    (operation, row): (usize, usize),
) -> bool {
    let (a, b) = (a.ranges[operation * (GROUP / ROWS) + row / ROWS], b.ranges[operation]);
    if a.are_safe_with(b) {
        return true;
    }
    if !a.are_small_enough_with(b) {
        return false;
    }
    let mut any = false;
    for largest in products.largest::<S, ROWS, 1>(s, (row, 0)) {
        any |= any_without_product(s, largest);
    }
    !any
}

/// Whether any of these largest exponents is that of no product.
#[inline(always)]
pub(crate) fn any_without_product<S: Simd>(s: S, largest: S::I) -> bool {
    s.b_any_gt(s.i_splat(bytes(NO_PRODUCT as i8 + 1)), largest)
}

/// What an operation comes to in FP64, for factors of any exponent: of some rows, from one of the group on.
///
/// `own` is the exponent with which an accumulator takes part in e_max and in the sum, if it does. `end` makes of e_max,
/// [`NOWHERE`] without a term, the sum in units of 2^(e_max - F) and the accumulator what follows.
///
/// A product of two such factors has 24 bits at most and an exponent of -252 to 254, so that neither it
/// nor its scaling by 2^(F - e_max) rounds or leaves the range of FP64 unless the scaled term is far below
/// one; L_max terms of 2^31 sum exactly.
#[inline(always)]
pub(crate) fn wide(
    fraction_bits: i32,
    (a, b): (&Rows, &Columns),
    ((first, length), first_row): ((usize, usize), usize),
    (state, width): (&mut [f32], usize),
    own: impl Fn(f32) -> Option<i32>,
    end: impl Fn(i32, i128, f32) -> f32,
) {
    let elements = first..first + length;
    for (row, state) in (first_row..).zip(state.chunks_exact_mut(width)) {
        let mut maximum = [NOWHERE; WIDEST];
        for k in elements.clone() {
            let a_exponent = a.exponents.words()[k * GROUP + row] as i8;
            for (column, maximum) in maximum.iter_mut().enumerate().take(width) {
                let b_exponent = b.exponents.get(k, column);
                let zero = a_exponent == NOTHING || b_exponent == NOTHING;
                let sum = if zero { NOWHERE } else { i32::from(a_exponent) + i32::from(b_exponent) };
                *maximum = (*maximum).max(sum);
            }
        }
        let (mut units, mut sums) = ([0.0f64; WIDEST], [0.0f64; WIDEST]);
        for (column, &c) in state.iter().enumerate() {
            let own = own(c);
            maximum[column] = maximum[column].max(own.unwrap_or(NOWHERE));
            units[column] = power((fraction_bits - maximum[column]).clamp(-1000, 1000));
            sums[column] = if own.is_some() { (f64::from(c) * units[column]).trunc() } else { 0.0 };
        }
        for k in elements.clone() {
            let factor = f64::from(a.values[k * GROUP + row]);
            let line = &b.values[k * width..(k + 1) * width];
            for ((sum, &unit), &value) in sums.iter_mut().zip(&units).zip(line) {
                *sum += (factor * f64::from(value) * unit).trunc();
            }
        }
        for (column, c) in state.iter_mut().enumerate() {
            if c.is_finite() {
                *c = end(maximum[column], sums[column] as i128, *c);
            }
        }
    }
}
