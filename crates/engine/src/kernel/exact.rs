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

use super::drive::Kernel;
use super::pack::{Cells, GROUP, ROWS, Range, VECTORS};
use super::simd::Simd;

/// The kernel, planned for a model.
pub(super) struct Exact {
    length: usize,
    /// Places that the sum of `length` products may need above the largest of them.
    carries: i32,
    nan: u64,
}

impl Exact {
    /// The kernel for a model, if it is one for it.
    pub(super) fn plan(prepared: &Prepared<'_>) -> Option<Exact> {
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
pub(super) struct Packed {
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
    unsafe fn rows<S: Simd>(
        &self,
        a: &Packed,
        b: &Packed,
        k: Range,
        state: &mut [f32],
        rare: &mut dyn FnMut(usize, usize, usize, f32) -> f32,
    ) {
        unsafe {
            let tile_size = ROWS * VECTORS * S::LANES;
            assert!(state.len().is_multiple_of(tile_size) && state.len() <= GROUP / ROWS * tile_size);
            for (pair, state) in state.chunks_exact_mut(tile_size).enumerate() {
                let packed = (a, b, pair * ROWS);
                match self.length {
                    2 => tile::<S, 2>(self, packed, k, state, rare),
                    4 => tile::<S, 4>(self, packed, k, state, rare),
                    _ => tile::<S, 0>(self, packed, k, state, rare),
                }
            }
        }
    }
}

/// Vectors of doubles that are worked on together.
const DOUBLES: usize = 4;

/// One tile, from a row of the group on, through one block of K, operation by operation; `LENGTH` products each, or as the plan says
/// if that is 0.
#[inline(always)]
unsafe fn tile<S: Simd, const LENGTH: usize>(
    plan: &Exact,
    (a, b, first_row): (&Packed, &Packed, usize),
    k: Range,
    state: &mut [f32],
    rare: &mut dyn FnMut(usize, usize, usize, f32) -> f32,
) {
    unsafe {
        let width = VECTORS * S::LANES;
        let length = if LENGTH == 0 { plan.length } else { LENGTH };
        assert!(state.len() == ROWS * width);
        assert!(a.values.len() == k.length * GROUP && b.values.len() == k.length * width);
        let magnitude = S::i_splat(i32::MAX);
        let step = S::LANES / 2 * DOUBLES;

        for (operation, first) in (0..k.length).step_by(length).enumerate() {
            let (a_values, b_values) =
                (a.values.as_ptr().add(first * GROUP + first_row), b.values.as_ptr().add(first * width));
            let mut outside = false;
            for row in 0..ROWS {
                let span =
                    a.spans[operation * GROUP + first_row + row].times(b.spans[operation], plan.carries);
                let (least, limit) = span.accumulators();
                let (mut smallest, mut largest) = (magnitude, S::i_splat(0));
                for vector in 0..VECTORS {
                    let c = S::i_load(state.as_ptr().add(row * width + vector * S::LANES).cast());
                    let c = S::i_and(c, magnitude);
                    smallest = S::i_min(smallest, c);
                    largest = S::i_max(largest, c);
                }
                let flags =
                    S::m_or(S::i_gt(S::i_splat(least), smallest), S::i_gt(largest, S::i_splat(limit - 1)));
                outside |= S::m_bits(flags) != 0;
            }
            if outside {
                let mut rare = |row, column, c| rare(first_row + row, column, first, c);
                careful::<S>(length, (a_values, b_values), state, &mut rare);
                continue;
            }
            // hidden, so that what was loaded for the look at exponents is loaded again and not taken apart
            let state = std::hint::black_box(state.as_mut_ptr());
            for column in (0..width).step_by(step) {
                let mut sums = [[S::d_splat(0.0); DOUBLES]; ROWS];
                for (row, sums) in sums.iter_mut().enumerate() {
                    for (vector, sum) in sums.iter_mut().enumerate() {
                        *sum = S::d_load_f(state.add(row * width + column + vector * (S::LANES / 2)));
                    }
                }
                for index in 0..length {
                    let factors: [S::D; ROWS] = [
                        S::d_splat(*a_values.add(index * GROUP)),
                        S::d_splat(*a_values.add(index * GROUP + 1)),
                    ];
                    for vector in 0..DOUBLES {
                        let at = index * width + column + vector * (S::LANES / 2);
                        let line = S::d_load(b_values.add(at));
                        for (sums, &factor) in sums.iter_mut().zip(&factors) {
                            let sum = &mut sums[vector];
                            // product and sum are exact: one rounding or two are the same
                            *sum = match S::FUSED {
                                true => S::d_fma(factor, line, *sum),
                                false => S::d_add(S::d_mul(factor, line), *sum),
                            };
                        }
                    }
                }
                for (row, sums) in sums.iter().enumerate() {
                    for (vector, sum) in sums.iter().enumerate() {
                        let at = row * width + column + vector * (S::LANES / 2);
                        S::d_store_f(state.add(at), *sum);
                    }
                }
            }
        }
    }
}

/// The sum rounded to nearest, and its error.
#[inline(always)]
unsafe fn two_sum<S: Simd>(x: S::D, y: S::D) -> (S::D, S::D) {
    unsafe {
        let sum = S::d_add(x, y);
        let y_part = S::d_sub(sum, x);
        let x_part = S::d_sub(sum, y_part);
        (sum, S::d_add(S::d_sub(x, x_part), S::d_sub(y, y_part)))
    }
}

/// One operation of a tile whose bits may span more than 53 places.
#[inline(always)]
unsafe fn careful<S: Simd>(
    length: usize,
    (a_values, b_values): (*const f64, *const f64),
    state: &mut [f32],
    rare: &mut dyn FnMut(usize, usize, f32) -> f32,
) {
    unsafe {
        let width = VECTORS * S::LANES;
        let lanes = S::LANES / 2;
        for row in 0..ROWS {
            for column in (0..width).step_by(lanes) {
                let at = row * width + column;
                // -0 becomes +0: an exact zero is +0 even if every term is -0
                let c = S::d_add(S::d_load_f(state.as_ptr().add(at)), S::d_splat(0.0));
                // infinity and NaN give NaN here, and any error of the sum of products more than zero
                let mut errors = S::d_sub(c, c);
                let mut sum = S::d_splat(0.0);
                for index in 0..length {
                    let factor = S::d_splat(*a_values.add(index * GROUP + row));
                    let product = S::d_mul(factor, S::d_load(b_values.add(index * width + column)));
                    let (next, error) = two_sum::<S>(sum, product);
                    (sum, errors) = (next, S::d_or(errors, error));
                }
                let (sum, error) = two_sum::<S>(sum, c);
                let flagged = S::d_nonzero(errors);
                if flagged == 0 {
                    S::d_store_f(state.as_mut_ptr().add(at), S::d_odd(sum, error));
                    continue;
                }
                let mut results = [0.0f32; 16];
                S::d_store_f(results.as_mut_ptr(), S::d_odd(sum, error));
                for (lane, result) in results.iter().enumerate().take(lanes) {
                    let c = &mut state[at + lane];
                    if flagged >> lane & 1 == 0 {
                        *c = *result;
                    } else if c.is_finite() {
                        *c = rare(row, column + lane, *c);
                    } // infinity and NaN stay
                }
            }
        }
    }
}
