//! E-FDPA on factors that FP32 holds: an exact sum of L products and the accumulator, rounded once.
//!
//! Sums run in FP64, from the first operation of a block of K to the last. With 2^u the last place of a number as large as
//! the accumulator and all products of the block together, 53 places up, every step is exact where the accumulator
//! and all products are multiples of 2^u: so is what an operation comes to when it is rounded to 24 bits, and the next
//! one begins with a multiple of 2^u again. With u >= -149 rounding to 24 bits leaves FP32's subnormal numbers as they
//! are.
//!
//! In an operation where that does not hold, the products are summed, and the errors of these additions beside them. If
//! the second sum is exact, both and the accumulator are three numbers, whose sum is rounded to odd (S. Boldo, G. Melquiond,
//! "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd", IEEE Transactions on Computers
//! 57(4), 2008): that keeps what the last rounding needs, for an odd last bit stands for everything below it, and lies below
//! every FP32 number and every midpoint between two, those of subnormal numbers included, for 53 >= 24 + 2. Lanes whose
//! second sum has an error take the reference path.

use bitmma_arithmetic::run::Side;
use bitmma_arithmetic::{Conversion, Lowering, Operation, Order, Prepared};
use bitmma_formats::{Format, table};

use super::element::Element;
use super::element::Range;
use super::elementwise::power;
use super::family::{Family, Kernel, Rare, mend};
use super::pack::{Aligned, Cells, GROUP, VECTORS, WIDEST};
use super::panels::widen::Widen;
use super::routes::{Route, count};
use super::simd::{Level, Positions, Simd, multiply_add};

/// Rows of a tile: a column that was loaded serves four.
const ROWS: usize = 4;

/// The kernel, planned for a model.
pub(crate) struct Exact {
    length: usize,
}

impl Exact {
    /// The kernel for a model, if it is one for it.
    pub(crate) fn plan(prepared: &Prepared<'_>) -> Option<Exact> {
        let model = prepared.model();
        let Operation::EFdpa { .. } = model.operation else { return None };
        let (a, b) = (prepared.operand_format(Side::A), prepared.operand_format(Side::B));
        // numbers of FP32: products of 48 bits from 2^-298 to 2^256, exact in FP64
        let fits_f32 = |format: &Format| {
            format.fraction_bits <= 23
                && format.min_exponent() - format.fraction_bits as i32 >= -149
                && format.max_exponent() <= 127
        };
        let lowering = Lowering { widen_operands: None, order: Order::Sequential, ..model.lowering };
        let length = prepared.length();
        let fits = fits_f32(&a)
            && fits_f32(&b)
            && lowering == Lowering::NONE
            && !model.flush_operands.is_on()
            && !model.flush_accumulator.is_on()
            && model.conversion == Conversion::RNE_FP32
            && model.c == table::F32
            && model.d == table::F32
            && (1..=1 << 16).contains(&length);
        fits.then_some(Exact { length })
    }

    /// The numbers of some lines and, `group` lines at a time, the last bits of each operation's and how large all are: by
    /// `size`, from the size of those before and a magnitude.
    #[inline(always)]
    fn pack(&self, cells: &Cells, group: usize, size: impl Fn(f64, f64) -> f64) -> Packed {
        let (lines, groups) = (cells.lines, cells.lines / group);
        let mut lasts = Vec::with_capacity(cells.positions() / self.length * groups);
        let mut sizes = [0.0; WIDEST];
        // line by line, in vectors, before lines are taken together
        for operation in cells.values.chunks_exact(self.length * lines) {
            let mut own = [NO_BIT; WIDEST];
            for values in operation.chunks_exact(lines) {
                for ((last, total), &value) in own.iter_mut().zip(&mut sizes).zip(values) {
                    *last = (*last).min(last_bit(value));
                    *total = size(*total, f64::from(value.abs()));
                }
            }
            lasts.extend(own[..lines].chunks_exact(group).map(|of| of.iter().fold(NO_BIT, |x, &y| x.min(y))));
        }
        let together = |sizes: &[f64]| sizes.iter().fold(0.0, |total, &of_line| size(total, of_line));
        let sizes = sizes[..lines].chunks_exact(group).map(together).collect();
        let values = Aligned::of(cells.values.iter().map(|&value| f64::from(value)));
        Packed { values, lasts, sizes, narrow: Aligned::default() }
    }
}

/// Some lines.
pub(crate) struct Packed {
    values: Aligned<f64>,
    /// For each operation and share of the lines: all numbers are multiples of 2^this.
    lasts: Vec<i32>,
    /// For each share of the lines: of A the sum of all magnitudes, of B the largest.
    sizes: Vec<f64>,
    /// Room for the numbers before they are widened, where they are made of codes.
    narrow: Aligned<f32>,
}

/// What zero has for a last bit.
const NO_BIT: i32 = 10_000;

/// The exponent of the last bit of a number that is set.
#[inline(always)]
fn last_bit(value: f32) -> i32 {
    let bits = value.to_bits();
    let field = (bits >> 23 & 255) as i32;
    let significand = bits & 0x7f_ffff | u32::from(field != 0) << 23;
    if value == 0.0 { NO_BIT } else { field.max(1) - 127 - 23 + significand.trailing_zeros() as i32 }
}

impl Family<f32, Element> for Exact {}

impl Kernel for Exact {
    type Number = f32;
    type Entry = Element;
    type A = Packed;
    type B = Packed;
    const ROWS: usize = ROWS;

    #[inline(always)]
    fn pack_a(&self, cells: Cells) -> Packed {
        self.pack(&cells, 1, |total, magnitude| total + magnitude)
    }

    #[inline(always)]
    fn pack_b(&self, cells: Cells) -> Packed {
        self.pack(&cells, cells.lines, f64::max)
    }

    fn strip(&self, packed: &mut Packed) {
        packed.values = Aligned::default();
    }

    fn fill(&self, level: Level, widen: &Widen, words: &[i32], kept: &Packed, into: &mut Option<Packed>) {
        let count = words.len() * 32 / widen.cell as usize;
        let packed = into.get_or_insert_with(|| Packed {
            values: Aligned::default(),
            lasts: Vec::new(),
            sizes: Vec::new(),
            narrow: Aligned::default(),
        });
        widen.numbers(level, VECTORS, words, packed.narrow.resized(count));
        let values = packed.values.resized(count);
        level.compiled(
            #[inline(always)]
            || {
                for (value, &narrow) in values.iter_mut().zip(&*packed.narrow) {
                    *value = f64::from(narrow) + 0.0; // no zero is negative
                }
            },
        );
        packed.lasts.clone_from(&kept.lasts);
        packed.sizes.clone_from(&kept.sizes);
    }

    fn is_filled(&self, packed: &Packed, filled: &Packed) -> bool {
        packed.values.len() == filled.values.len()
            && packed
                .values
                .iter()
                .zip(&*filled.values)
                .fold(true, |same, (x, y)| same & (x.to_bits() == y.to_bits()))
    }

    fn bytes(&self, packed: &Packed) -> usize {
        size_of_val::<[i32]>(&packed.lasts) + size_of_val::<[f64]>(&packed.sizes)
    }

    #[inline(always)]
    fn rows<S: Simd>(&self, s: S, a: &Packed, b: &Packed, k: Range, state: &mut [f32], rare: &mut Rare<'_>) {
        let width = VECTORS * S::LANES;
        assert!(state.len().is_multiple_of(ROWS * width) && state.len() <= GROUP * width);
        assert!(a.values.len() == k.length * GROUP && b.values.len() == k.length * width);
        let operations = k.length / self.length;
        for (tile, state) in state.chunks_exact_mut(ROWS * width).enumerate() {
            let (row, mut first) = (tile * ROWS, 0);
            while first < operations {
                let mut end = first;
                if let Some(unit) = unit(s, (a, b), row, state) {
                    while end < operations && last(a, b, (end, row)) >= unit {
                        end += 1;
                    }
                }
                let is_exact = end > first;
                end = end.max(first + 1);
                let positions = first * self.length..end * self.length;
                let factors = (
                    &a.values[positions.start * GROUP..positions.end * GROUP],
                    &b.values[positions.start * width..positions.end * width],
                );
                if is_exact {
                    count(Route::Exact);
                    match (self.length, S::MANY) {
                        (2, true) => sums::<S, 2, 4>(s, 2, factors, row, state),
                        (4, true) => sums::<S, 4, 4>(s, 4, factors, row, state),
                        (2, false) => sums::<S, 2, 2>(s, 2, factors, row, state),
                        (4, false) => sums::<S, 4, 2>(s, 4, factors, row, state),
                        (length, _) => sums::<S, 0, 2>(s, length, factors, row, state),
                    }
                } else {
                    count(Route::Errors);
                    let mut rare = |of_tile, column, c| rare(row + of_tile, column, positions.start, c);
                    careful(s, (factors.0, row), factors.1, state, &mut rare);
                }
                first = end;
            }
        }
    }
}

/// All products of an operation of a tile, from a row of the group on, are multiples of 2^this.
#[inline(always)]
fn last(a: &Packed, b: &Packed, (operation, row): (usize, usize)) -> i32 {
    let mut last = NO_BIT;
    for &of_row in &a.lasts[operation * GROUP + row..][..ROWS] {
        last = last.min(of_row);
    }
    last + b.lasts[operation]
}

/// The exponent u of a tile, from a row of the group on, whose accumulators are multiples of 2^u: as long as all products
/// are, every step of a block of K is exact but for the roundings to 24 bits. `None` if an accumulator is not.
#[inline(always)]
fn unit<S: Simd>(s: S, (a, b): (&Packed, &Packed), row: usize, state: &[f32]) -> Option<i32> {
    let mut largest = s.f_splat(0.0);
    for c in state.chunks_exact(S::LANES) {
        largest = s.f_max_magnitude(largest, s.f_load(c));
    }
    let mut lanes = [0.0; WIDEST];
    s.f_store(&mut lanes, largest);
    let largest = lanes[..S::LANES].iter().fold(0.0, |most, &lane| lane.max(most));
    let products = a.sizes[row..][..ROWS].iter().fold(0.0, |most, &size| size.max(most)) * b.sizes[0];
    // with all of it below 2^(exponent + 1), sums have 52 bits: the last of 53 is free for the rounding to 24
    let exponent = ((products + f64::from(largest)).to_bits() >> 52) as i32 - 1023;
    let unit = (exponent + 2 - 53).max(-149);
    if exponent + 2 > 127 {
        return None;
    }
    let power = s.d_splat(power(-unit));
    let mut parts = s.d_splat(0.0);
    for c in state.chunks_exact(S::LANES / 2) {
        let c = s.d_mul(s.d_load_f(c), power);
        // not zero for what is not finite
        parts = s.d_or(parts, s.d_sub(c, s.d_truncate(c)));
    }
    (s.d_nonzero(parts) == 0).then_some(unit)
}

/// Some rows through operations whose every step is exact; of `LENGTH` products each, or of `length` if that is 0. So many
/// vectors of doubles are worked on together.
#[inline(always)]
fn sums<S: Simd, const LENGTH: usize, const DOUBLES: usize>(
    s: S,
    length: usize,
    (a, b): (&[f64], &[f64]),
    row: usize,
    state: &mut [f32],
) {
    let (width, lanes) = (VECTORS * S::LANES, S::LANES / 2);
    let length = if LENGTH == 0 { length } else { LENGTH };
    for column in (0..width).step_by(lanes * DOUBLES) {
        let mut sums = [[s.d_splat(0.0); DOUBLES]; ROWS];
        for row in 0..ROWS {
            for vector in 0..DOUBLES {
                // -0 becomes +0: an exact zero is +0 even if every term is -0
                let c = s.d_load_f(&state[row * width + column + vector * lanes..]);
                sums[row][vector] = s.d_add(c, s.d_splat(0.0));
            }
        }
        let mut positions = Positions::new((a, GROUP), (b, width));
        while let Some((a, b)) = positions.next(length) {
            for index in 0..length {
                let (numbers, line) = (&a[index * GROUP + row..][..ROWS], &b[index * width + column..]);
                for vector in 0..DOUBLES {
                    let line = s.d_load(&line[vector * lanes..]);
                    for row in 0..ROWS {
                        sums[row][vector] = multiply_add(s, s.d_splat(numbers[row]), line, sums[row][vector]);
                    }
                }
            }
            for vector in 0..DOUBLES {
                for row in 0..ROWS {
                    sums[row][vector] = s.d_to_24(sums[row][vector]);
                }
            }
        }
        for row in 0..ROWS {
            for vector in 0..DOUBLES {
                s.d_store_f(&mut state[row * width + column + vector * lanes..], sums[row][vector]);
            }
        }
    }
}

/// The sum rounded to nearest, and its error.
#[inline(always)]
fn two_sum<S: Simd>(s: S, x: S::D, y: S::D) -> (S::D, S::D) {
    let sum = s.d_add(x, y);
    let y_part = s.d_sub(sum, x);
    let x_part = s.d_sub(sum, y_part);
    (sum, s.d_add(s.d_sub(x, x_part), s.d_sub(y, y_part)))
}

/// The sum rounded to odd; not for infinities.
#[inline(always)]
fn odd_sum<S: Simd>(s: S, x: S::D, y: S::D) -> S::D {
    let (sum, error) = two_sum(s, x, y);
    s.d_to_odd(sum, error)
}

/// One operation of a tile whose bits may span more than 53 places.
#[inline(always)]
fn careful<S: Simd>(
    s: S,
    (a, first_row): (&[f64], usize),
    b: &[f64],
    state: &mut [f32],
    rare: &mut dyn FnMut(usize, usize, f32) -> f32,
) {
    let (width, lanes) = (VECTORS * S::LANES, S::LANES / 2);
    for (row, state) in state.chunks_exact_mut(width).enumerate() {
        for (vector, state) in state.chunks_exact_mut(lanes).enumerate() {
            // -0 becomes +0: an exact zero is +0 even if every term is -0
            let c = s.d_add(s.d_load_f(state), s.d_splat(0.0));
            // infinity and NaN give NaN here, and any error of the sum of errors more than zero
            let mut lost = s.d_sub(c, c);
            let (mut sum, mut errors) = (s.d_splat(0.0), s.d_splat(0.0));
            for (numbers, line) in a.chunks_exact(GROUP).zip(b.chunks_exact(width)) {
                let line = s.d_load(&line[vector * lanes..]);
                let product = s.d_mul(s.d_splat(numbers[first_row + row]), line);
                let (next, error) = two_sum(s, sum, product);
                let (all, error) = two_sum(s, errors, error);
                (sum, errors, lost) = (next, all, s.d_or(lost, error));
            }
            let (small, low) = two_sum(s, errors, c);
            let (sum, middle) = two_sum(s, sum, small);
            let mut before = [0.0; 8];
            before[..lanes].copy_from_slice(state);
            s.d_store_f(state, odd_sum(s, sum, odd_sum(s, middle, low)));
            let left_out = s.d_nonzero(lost);
            if left_out != 0 {
                mend(state, &before, left_out, &mut |lane, c| rare(row, vector * lanes + lane, c));
            }
        }
    }
}
