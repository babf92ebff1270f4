//! E-FDPA on factors that FP32 holds: an exact sum of L products and the accumulator, rounded once.
//!
//! Sums run in FP64. Where all bits of the products of an operation and of its accumulator lie within 53
//! places, every step of a chain of fused multiply-adds is exact and the conversion to FP32 is the one
//! rounding there is; FP64 reaches far beyond FP32's range, so subnormal and overflowing results are
//! right too. What the elements of a row and of a panel of columns span is known when they are packed;
//! what is left is one look at the accumulators' exponents.
//!
//! Where the bits span more, the products are summed with the error of each addition beside it. If there
//! is none, the sum of products is exact in 53 bits, and adding the accumulator rounded to odd keeps what
//! the last rounding needs: an odd last bit stands for everything below it, and lies below every FP32
//! number and every midpoint between two, those of subnormal numbers included, for 53 >= 24 + 2. Lanes
//! with an error take the reference path.

use bitmma_arithmetic::run::Side;
use bitmma_arithmetic::{Conversion, Lowering, Operation, Order, Prepared};
use bitmma_formats::{Format, table};

use super::drive::{Kernel, Rare};
use super::element::Element;
use super::pack::{Cells, GROUP, ROWS, Range, VECTORS};
use super::routes::{Route, count};
use super::simd::Simd;

/// The kernel, planned for a model.
pub(crate) struct Exact {
    length: usize,
    /// Places that the sum of `length` products may need above the largest of them.
    carries: i32,
    nan: u64,
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
        fits.then(|| Exact {
            length,
            carries: length.next_power_of_two().trailing_zeros() as i32,
            nan: model.emitted_nan(),
        })
    }

    /// The numbers of some lines, and what those of each operation span, `groups` lines at a time.
    #[inline(always)]
    fn pack(&self, cells: &Cells, group: usize) -> Packed {
        let mut spans = vec![Span::NONE; cells.values.len() / self.length / group];
        let groups = cells.lines / group;
        for (position, values) in cells.values.chunks_exact(cells.lines).enumerate() {
            for (index, values) in values.chunks_exact(group).enumerate() {
                let span = &mut spans[position / self.length * groups + index];
                values.iter().for_each(|&value| span.add(value));
            }
        }
        Packed { values: cells.values.iter().map(|&value| f64::from(value)).collect(), spans }
    }
}

/// Some lines: numbers, and for each operation what they span.
pub(crate) struct Packed {
    values: Vec<f64>,
    spans: Vec<Span>,
}

/// All numbers are multiples of 2^low and below 2^(high + 1).
#[derive(Clone, Copy)]
struct Span {
    low: i32,
    high: i32,
}

impl Span {
    /// Of no number but zero: far apart, so that a product with it leaves the accumulator to decide.
    const NONE: Span = Span { low: 10_000, high: -10_000 };

    fn add(&mut self, value: f32) {
        if value == 0.0 {
            return;
        }
        let bits = value.to_bits();
        let field = (bits >> 23 & 255) as i32;
        let significand = bits & 0x7f_ffff | if field == 0 { 0 } else { 0x80_0000 };
        let last = field.max(1) - 127 - 23;
        self.low = self.low.min(last + significand.trailing_zeros() as i32);
        self.high = self.high.max(last + 31 - significand.leading_zeros() as i32);
    }

    /// Of sums of up to 2^carries products: multiples of 2^low, below 2^(high + 1).
    fn times(self, other: Span, carries: i32) -> Span {
        Span { low: self.low + other.low, high: self.high + other.high + 1 + carries }
    }
}

/// The bits of 2^exponent in FP32, of 0 below its normal numbers, of its largest number above its range.
fn power_bits(exponent: i32) -> i32 {
    match exponent {
        ..-126 => 0,
        -126..=127 => (exponent + 127) << 23,
        _ => 0x7f7f_ffff,
    }
}

impl Span {
    /// The FP32 numbers to which sums of this span may be added in FP64 without error, as bits of their
    /// magnitudes: at least the first, less than the second. Zero is never among them: its sign would be
    /// kept where the products are zero too.
    ///
    /// A number of exponent e is a multiple of 2^(e - 23) and below 2^(e + 1). With `unit` the lesser of
    /// that and 2^low, every partial sum is a multiple of `unit` and below
    /// 2^(1 + max(e, high) + 1): this must be at most 2^53·`unit`.
    fn accumulators(self) -> (i32, i32) {
        // max(e, high) + 2 - low <= 53 and max(e, high) + 2 - (e - 23) <= 53
        let (least, limit) = (self.high - 28, self.low + 52);
        if self.high + 2 - self.low > 53 {
            return (1, 0);
        }
        (power_bits(least).max(1), power_bits(limit).max(1))
    }
}

impl Kernel for Exact {
    type Number = f32;
    type Entry = Element;
    type A = Packed;
    type B = Packed;

    #[inline(always)]
    fn pack_a(&self, cells: Cells) -> Packed {
        self.pack(&cells, 1)
    }

    #[inline(always)]
    fn pack_b(&self, cells: Cells) -> Packed {
        self.pack(&cells, cells.lines)
    }

    fn nan(&self) -> u64 {
        self.nan
    }

    #[inline(always)]
    fn rows<S: Simd>(&self, s: S, a: &Packed, b: &Packed, k: Range, state: &mut [f32], rare: &mut Rare<'_>) {
        let tile_size = ROWS * VECTORS * S::LANES;
        assert!(state.len().is_multiple_of(tile_size) && state.len() <= GROUP / ROWS * tile_size);
        for (pair, state) in state.chunks_exact_mut(tile_size).enumerate() {
            let packed = (a, b, pair * ROWS);
            match self.length {
                2 => tile::<S, 2>(s, self, packed, k, state, rare),
                4 => tile::<S, 4>(s, self, packed, k, state, rare),
                _ => tile::<S, 0>(s, self, packed, k, state, rare),
            }
        }
    }
}

/// Vectors of doubles that are worked on together.
const DOUBLES: usize = 4;

/// One tile, from a row of the group on, through one block of K, operation by operation; `LENGTH` products each, or as the plan says
/// if that is 0.
#[inline(always)]
fn tile<S: Simd, const LENGTH: usize>(
    s: S,
    plan: &Exact,
    (a, b, first_row): (&Packed, &Packed, usize),
    k: Range,
    state: &mut [f32],
    rare: &mut Rare<'_>,
) {
    let width = VECTORS * S::LANES;
    let length = if LENGTH == 0 { plan.length } else { LENGTH };
    assert!(state.len() == ROWS * width && first_row + ROWS <= GROUP);
    assert!(a.values.len() == k.length * GROUP && b.values.len() == k.length * width);
    let magnitude = s.i_splat(i32::MAX);
    let lanes = S::LANES / 2;
    let operations = a.values.chunks_exact(length * GROUP).zip(b.values.chunks_exact(length * width));
    for (operation, values) in operations.enumerate() {
        let mut outside = false;
        for (row, state) in state.chunks_exact(width).enumerate() {
            let span = a.spans[operation * GROUP + first_row + row].times(b.spans[operation], plan.carries);
            let (least, limit) = span.accumulators();
            let (mut smallest, mut largest) = (magnitude, s.i_splat(0));
            for c in state.chunks_exact(S::LANES) {
                let c = s.i_and(s.f_bits(s.f_load(c)), magnitude);
                smallest = s.i_min(smallest, c);
                largest = s.i_max(largest, c);
            }
            let flags = s.m_or(s.i_gt(s.i_splat(least), smallest), s.i_gt(largest, s.i_splat(limit - 1)));
            outside |= s.m_bits(flags) != 0;
        }
        if outside {
            count(Route::Errors);
            let mut rare = |row, column, c| rare(first_row + row, column, operation * length, c);
            careful(s, (values.0, first_row), values.1, state, &mut rare);
            continue;
        }
        count(Route::Exact);
        // hidden, so that what was loaded for the look at exponents is loaded again and not taken apart
        let state = std::hint::black_box(&mut *state);
        for column in (0..width).step_by(lanes * DOUBLES) {
            let mut sums = [[s.d_splat(0.0); DOUBLES]; ROWS];
            for (row, sums) in sums.iter_mut().enumerate() {
                let state = &state[row * width + column..][..lanes * DOUBLES];
                for (sum, state) in sums.iter_mut().zip(state.chunks_exact(lanes)) {
                    *sum = s.d_load_f(state);
                }
            }
            for (numbers, line) in values.0.chunks_exact(GROUP).zip(values.1.chunks_exact(width)) {
                let numbers = &numbers[first_row..][..ROWS];
                let line = &line[column..][..lanes * DOUBLES];
                for (vector, line) in line.chunks_exact(lanes).enumerate() {
                    let line = s.d_load(line);
                    for (sums, &number) in sums.iter_mut().zip(numbers) {
                        let (sum, factor) = (&mut sums[vector], s.d_splat(number));
                        // product and sum are exact: one rounding or two are the same
                        *sum = match S::FUSED {
                            true => s.d_fma(factor, line, *sum),
                            false => s.d_add(s.d_mul(factor, line), *sum),
                        };
                    }
                }
            }
            for (row, sums) in sums.iter().enumerate() {
                let state = &mut state[row * width + column..][..lanes * DOUBLES];
                for (&sum, state) in sums.iter().zip(state.chunks_exact_mut(lanes)) {
                    s.d_store_f(state, sum);
                }
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
            // infinity and NaN give NaN here, and any error of the sum of products more than zero
            let mut errors = s.d_sub(c, c);
            let mut sum = s.d_splat(0.0);
            for (numbers, line) in a.chunks_exact(GROUP).zip(b.chunks_exact(width)) {
                let factor = s.d_splat(numbers[first_row + row]);
                let product = s.d_mul(factor, s.d_load(&line[vector * lanes..]));
                let (next, error) = two_sum(s, sum, product);
                (sum, errors) = (next, s.d_or(errors, error));
            }
            let (sum, error) = two_sum(s, sum, c);
            let flagged = s.d_nonzero(errors);
            let mut before = [0.0; 8];
            before[..lanes].copy_from_slice(state);
            s.d_store_f(state, s.d_odd(sum, error));
            for (lane, (c, &before)) in state.iter_mut().zip(&before).enumerate() {
                if flagged >> lane & 1 != 0 {
                    // infinity and NaN stay
                    *c = if before.is_finite() { rare(row, vector * lanes + lane, before) } else { before };
                }
            }
        }
    }
}
