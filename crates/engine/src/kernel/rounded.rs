//! TR- and GTR-FDPA into FP32, on factors whose products are exact in FP32 once exponents are set apart:
//! FP16, BF16, XF32, FP8.
//!
//! As in [`fused`](super::fused), each operation first finds the largest exponent e_max in bytes, then
//! multiplies every product by one power of two per element of D, truncates to a 32-bit integer in units
//! of 2^(e_max - F), and sums to T. Here the accumulator comes after. It is brought into
//! the unit
//!
//! > u = max(e_max - F, e_c - 29)
//!
//! where all of it is an integer below 2^30, and where the cuts of the definition do nothing, or almost:
//!
//! - e_c - 29 <= e_max - F: T is exact in u. With E = max(e_max, e_c), cutting c to 2^(E - F) is cutting it to u
//!   (c has no bits below 2^(E - F) where e_c > e_max, since F >= 23; with fewer F bits c is cut to F
//!   bits of its own before, which changes nothing where E is larger). The sum is below 2^31·u, so
//!   that F2 >= 30 bits of it reach down to u and nothing more is cut.
//! - otherwise T loses s = e_c - 29 - e_max + F bits. The first rounding of T, to 2^(E - F2 - 1), and the
//!   second of the sum S, to 2^(e' - F2), are one to the coarser of the two: rounding down twice is
//!   rounding down once. What is left of the lost bits only decides between "nothing" and "something
//!   positive" below the last bit of the sum in u, which is set for it (as |S| >= 2^25·u, at least two
//!   bits are cut by the conversion to FP32, and the last bit is never one that halves).
//!
//! The conversion of the integer to FP32 is then rho.

use bitmma_arithmetic::run::Side;
use bitmma_arithmetic::{Conversion, Lowering, Operation, Order, Prepared, RoundedSum};
use bitmma_formats::{Format, Rounding, table};

use super::drive::Kernel;
use super::pack::{Cells, GROUP, ROWS, Range, VECTORS};
use super::simd::Simd;
use pack::{ABSOLUTE_NONE, PackedColumns, PackedRows, RELATIVE_LEAST, RELATIVE_NONE, TopRange};
use sum::{PLACE, Terms, add_any, add_small, cut, field, own_bits};

mod pack;
mod sum;

/// The kernel, planned for a model.
#[derive(Clone, Copy)]
pub(super) struct Rounded {
    length: usize,
    /// GTR-FDPA: even and odd products apart, small accumulators dropped.
    pairs: bool,
    /// F.
    fraction_bits: i32,
    /// F2.
    sum_fraction_bits: i32,
    /// Whether the sum is cut at its own exponent, and T one bit below E - F2.
    renormalize: bool,
    /// Whether sums are cut toward zero and not down.
    toward_zero: bool,
    /// Bits of an accumulator below its first F fractional bits.
    coarse: i32,
    /// Whether exponents are counted from the largest of an operation's row and column.
    offsets: bool,
    /// 2^this and more is an infinite product.
    product_overflow: i32,
    nan: u64,
}

impl Rounded {
    /// The kernel for a model, if it is one for it.
    pub(super) fn plan(prepared: &Prepared<'_>) -> Option<Rounded> {
        let model = prepared.model();
        let (sum, pairs) = match model.operation {
            Operation::TrFdpa(sum) => (sum, false),
            Operation::GtrFdpa(sum) => (sum, true),
            _ => return None,
        };
        let RoundedSum { fraction_bits, sum_fraction_bits, renormalize, .. } = sum;
        let (a, b) = (prepared.operand_format(Side::A), prepared.operand_format(Side::B));
        let within = |format: &Format, lowest: i32, highest: i32| {
            format.fraction_bits <= 11 && format.min_exponent() >= lowest && format.max_exponent() <= highest
        };
        let offsets = !(within(&a, -15, 16) && within(&b, -15, 16));
        let lowering = Lowering { widen_operands: None, order: Order::Sequential, ..model.lowering };
        let downward = match sum.sum_rounding {
            Rounding::Down => true,
            Rounding::TowardZero => false,
            _ => return None,
        };
        let fits = within(&a, -126, 127)
            && within(&b, -126, 127)
            && !(offsets && pairs)
            && lowering == Lowering::NONE
            && !model.flush_inputs
            && model.c == table::F32
            && model.d == table::F32
            && model.conversion == Conversion::RNE_FP32
            && sum.term_rounding == Rounding::TowardZero
            && sum.zero_accumulator_exponent.is_none_or(|zero| zero <= -126)
            && (1..=25).contains(&fraction_bits)
            && (30..=60).contains(&sum_fraction_bits);
        if !fits {
            return None;
        }
        // the largest term, in units of 2^(e_max - F): factors are below 2 by one last bit or more
        let largest = |format: &Format| (2u128 << format.fraction_bits) - 1;
        let down = a.fraction_bits + b.fraction_bits;
        let term = ((largest(&a) * largest(&b)) << fraction_bits >> down) + 1;
        let length = prepared.length();
        let most = term * length as u128 + 2; // |T|; cuts of two partial sums add at most one each
        // |T + c| < 2^31 as |c| <= 2^30; half of T leaves 2^25 of a c of 2^29 or more
        let holds = most + (1 << 30) < 1 << 31 && most / 2 + 1 + (1 << 25) <= 1 << 29;
        holds.then(|| Rounded {
            length,
            pairs,
            fraction_bits: fraction_bits as i32,
            sum_fraction_bits: sum_fraction_bits as i32,
            renormalize,
            toward_zero: !downward,
            coarse: if fraction_bits >= 23 { 0 } else { (1 << (23 - fraction_bits)) - 1 },
            offsets,
            product_overflow: sum.product_overflow.unwrap_or(i32::MAX),
            nan: model.emitted_nan(),
        })
    }

    /// Whether the accumulator is cut before it is added, or sums otherwise than down.
    fn unusual(&self) -> bool {
        self.toward_zero || self.coarse != 0
    }

    /// Whether every place of an operation is the exponent of an FP32 number whose unit is one, too.
    fn holds(&self, top: i32, range: TopRange) -> bool {
        let (low, high) = (top.saturating_add(range.lowest), top.saturating_add(range.highest));
        low.saturating_add(RELATIVE_LEAST) >= self.fraction_bits - 126
            && high <= 127 - PLACE + self.fraction_bits
    }
}

impl Kernel for Rounded {
    type A = PackedRows;
    type B = PackedColumns;

    #[inline(always)]
    fn pack_a(&self, cells: Cells) -> PackedRows {
        self.pack_rows(cells)
    }

    #[inline(always)]
    fn pack_b(&self, cells: Cells) -> PackedColumns {
        self.pack_columns(cells)
    }

    fn nan(&self) -> u64 {
        self.nan
    }

    #[inline(always)]
    unsafe fn rows<S: Simd>(
        &self,
        a: &PackedRows,
        b: &PackedColumns,
        k: Range,
        state: &mut [f32],
        rare: &mut dyn FnMut(usize, usize, usize, f32) -> f32,
    ) {
        unsafe {
            match (self.pairs, self.offsets, self.length) {
                (false, false, 8) => tiles::<S, false, false, 8>(self, (a, b), k, state, rare),
                (false, false, _) => tiles::<S, false, false, 0>(self, (a, b), k, state, rare),
                (false, true, 8) => tiles::<S, false, true, 8>(self, (a, b), k, state, rare),
                (false, true, 4) => tiles::<S, false, true, 4>(self, (a, b), k, state, rare),
                (false, true, _) => tiles::<S, false, true, 0>(self, (a, b), k, state, rare),
                (true, _, 16) => tiles::<S, true, false, 16>(self, (a, b), k, state, rare),
                (true, ..) => tiles::<S, true, false, 0>(self, (a, b), k, state, rare),
            }
        }
    }

    /// A product of exponent e is below 2^(e + 2).
    fn may_overflow(&self, row: i16, column: i16) -> bool {
        i32::from(row) + i32::from(column) + 2 > self.product_overflow
    }
}

/// The vectors of one row of a tile.
type Lanes<V> = [V; VECTORS];

/// Sums of the products of one operation, of all or of every other.
#[derive(Clone, Copy)]
struct Sums<S: Simd> {
    /// T, in units of 2^(e_max - F).
    t: [Lanes<S::I>; ROWS],
    /// e_max as the exponent field of an FP32 number.
    maximum: [Lanes<S::I>; ROWS],
    /// e_max in bytes.
    largest: [S::B; ROWS],
}

/// The sums of `count` products `first`, `first + step`, … of the rows from `row` on.
#[inline(always)]
unsafe fn sums<S: Simd>(
    plan: &Rounded,
    (a, b): (&PackedRows, &PackedColumns),
    row: usize,
    (first, step, count): (usize, usize, usize),
) -> Sums<S> {
    unsafe {
        let width = VECTORS * S::LANES;
        let (a_values, b_values) = (a.lines.values.as_ptr().add(row), b.lines.values.as_ptr());
        let (a_exponents, b_exponents) = (a.exponents.as_ptr().add(row), b.exponents.as_ptr());
        let mut largest = [S::b_splat(0x8181_8181); ROWS];
        for index in (0..count).map(|index| first + index * step) {
            let b_exponent = S::b_load(b_exponents.add(index * width));
            for (row, largest) in largest.iter_mut().enumerate() {
                let a_exponent = S::b_splat(*a_exponents.add(index * GROUP + row));
                *largest = S::b_max(*largest, S::b_add_saturating(a_exponent, b_exponent));
            }
        }
        // 2^(F - e_max), from e_max: 2·127 are the biases of the two
        let to_units = S::i_splat((254 + plan.fraction_bits).wrapping_shl(23));
        let mut maximum = [[to_units; VECTORS]; ROWS];
        let mut scale = [[S::f_splat(0.0); VECTORS]; ROWS];
        let mut t = [[S::i_splat(0); VECTORS]; ROWS];
        for row in 0..ROWS {
            maximum[row] = S::b_fields(S::b_add(largest[row], S::b_splat(0x7f7f_7f7f)));
            for vector in 0..VECTORS {
                scale[row][vector] = S::f_from_bits(S::i_sub(to_units, maximum[row][vector]));
            }
        }
        for index in (0..count).map(|index| first + index * step) {
            let line = b_values.add(index * width);
            let factors: [S::F; ROWS] =
                [S::f_splat(*a_values.add(index * GROUP)), S::f_splat(*a_values.add(index * GROUP + 1))];
            for vector in 0..VECTORS {
                let column = S::f_load(line.add(vector * S::LANES));
                for row in 0..ROWS {
                    let product = S::f_mul(S::f_mul(factors[row], column), scale[row][vector]);
                    t[row][vector] = S::i_add(t[row][vector], S::f_truncate(product));
                }
            }
        }
        Sums { t, maximum, largest }
    }
}

/// Some tiles through one block of K; every tile takes one operation before any takes the next, for tiles do
/// not wait for each other. `LENGTH` products each, or as the plan says if that is 0.
#[inline(always)]
unsafe fn tiles<S: Simd, const PAIRS: bool, const OFFSETS: bool, const LENGTH: usize>(
    plan: &Rounded,
    (a, b): (&PackedRows, &PackedColumns),
    k: Range,
    state: &mut [f32],
    rare: &mut dyn FnMut(usize, usize, usize, f32) -> f32,
) {
    unsafe {
        let width = VECTORS * S::LANES;
        assert!(state.len().is_multiple_of(ROWS * width) && state.len() <= GROUP * width);
        assert!(a.exponents.len() == k.length * GROUP && b.exponents.len() == k.length * width);
        let length = if LENGTH == 0 { plan.length } else { LENGTH };
        for (operation, first) in (0..k.length).step_by(length).enumerate() {
            for (pair, state) in state.chunks_exact_mut(ROWS * width).enumerate() {
                let place = Place { operation, first, length, row: pair * ROWS };
                one::<S, PAIRS, OFFSETS>(plan, (a, b), place, state, rare);
            }
        }
    }
}

/// Which operation of which rows.
#[derive(Clone, Copy)]
struct Place {
    /// Number of the operation in the block of K.
    operation: usize,
    /// Its first element, and how many it has.
    first: usize,
    length: usize,
    /// The first row of the group.
    row: usize,
}

/// One operation of one tile.
#[inline(always)]
unsafe fn one<S: Simd, const PAIRS: bool, const OFFSETS: bool>(
    plan: &Rounded,
    (a, b): (&PackedRows, &PackedColumns),
    Place { operation, first, length, row: first_row }: Place,
    state: &mut [f32],
    rare: &mut dyn FnMut(usize, usize, usize, f32) -> f32,
) {
    unsafe {
        let width = VECTORS * S::LANES;
        let plan = &{ *plan }; // a copy, that no store to the state can change
        let exponent_mask = S::i_splat(0xff << 23);
        let least = if OFFSETS { RELATIVE_LEAST } else { ABSOLUTE_NONE + 1 };
        let least = S::b_splat(u32::from((least as i8).cast_unsigned()) * 0x0101_0101);
        let step = if PAIRS { 2 } else { 1 };
        let mut sum = sums::<S>(plan, (a, b), first_row, (first, step, length.div_ceil(step)));
        if PAIRS {
            join::<S>(plan, &mut sum, &sums::<S>(plan, (a, b), first_row, (first + 1, step, length / step)));
        }
        for row in 0..ROWS {
            let line = &mut state[row * width..(row + 1) * width];
            let mut place = sum.maximum[row];
            let mut careful = plan.unusual() || S::b_any_gt(least, sum.largest[row]);
            let mut flushed = false;
            let mut to_place = (PLACE - plan.fraction_bits) << 23;
            if OFFSETS {
                let (top, range) =
                    (a.lines.tops[operation * GROUP + first_row + row], b.lines.ranges[operation]);
                let row_range = a.lines.ranges[operation * (GROUP / ROWS) + first_row / ROWS];
                flushed = range.flushed || row_range.flushed;
                let held = plan.holds(top, range);
                careful |= !held;
                let tops = b.top_fields.as_ptr().add(operation * width);
                if held {
                    to_place += top << 23;
                }
                for (vector, place) in place.iter_mut().enumerate() {
                    let mut column = S::i_load(tops.add(vector * S::LANES));
                    if !held {
                        // beyond these limits every place is out of range
                        let both = S::i_add(S::i_sar_by(column, S::i_splat(23)), S::i_splat(top));
                        column = S::i_shl::<23>(S::i_max(S::i_min(both, S::i_splat(153)), S::i_splat(-180)));
                    }
                    *place = S::i_add(*place, column);
                }
            }
            for place in &mut place {
                *place = S::i_add(*place, S::i_splat(to_place));
            }
            let mut c = [S::f_splat(0.0); VECTORS];
            let mut own = [exponent_mask; VECTORS];
            let mut above = S::i_gt(exponent_mask, exponent_mask);
            let mut most = S::i_splat(0);
            for vector in 0..VECTORS {
                c[vector] = S::f_load(line.as_ptr().add(vector * S::LANES));
                own[vector] = S::i_and(S::f_bits(c[vector]), exponent_mask);
                above = S::m_or(above, S::i_gt(own[vector], place[vector]));
                most = S::i_max(most, own[vector]);
            }
            if !careful {
                if S::m_bits(above) == 0 {
                    for vector in 0..VECTORS {
                        let (t, place) = (sum.t[row][vector], place[vector]);
                        let result = add_small::<S, PAIRS>(t, place, c[vector], own[vector]);
                        S::f_store(line.as_mut_ptr().add(vector * S::LANES), result);
                    }
                    continue;
                }
                if S::m_bits(S::i_eq(most, exponent_mask)) == 0 {
                    for vector in 0..VECTORS {
                        let (t, place) = (sum.t[row][vector], place[vector]);
                        let terms = Terms { t, place, c: c[vector], own: own[vector] };
                        let (result, _) = add_any::<S, PAIRS, false>(plan, &terms);
                        S::f_store(line.as_mut_ptr().add(vector * S::LANES), result);
                    }
                    continue;
                }
            }
            for vector in 0..VECTORS {
                let (t, place) = (sum.t[row][vector], place[vector]);
                let terms = Terms { t, place, c: c[vector], own: own[vector] };
                let (mut result, mut left_out) = add_any::<S, PAIRS, true>(plan, &terms);
                // without a product the accumulator is the answer, cut to F bits; -0 becomes +0
                let none = if OFFSETS { RELATIVE_NONE + 1 } else { ABSOLUTE_NONE + 1 };
                let none = S::i_gt(field::<S>(none), sum.maximum[row][vector]);
                if !flushed {
                    let alone = S::f_add(own_bits::<S>(plan, c[vector]), S::f_splat(0.0));
                    result = S::f_from_bits(S::i_select(none, S::f_bits(alone), S::f_bits(result)));
                    left_out &= !S::m_bits(none);
                }
                if OFFSETS {
                    let least = field::<S>(RELATIVE_LEAST);
                    let low = S::m_bits(S::i_gt(least, sum.maximum[row][vector]));
                    left_out |= if flushed { low } else { low & !S::m_bits(none) };
                }
                S::f_store(line.as_mut_ptr().add(vector * S::LANES), result);
                if left_out != 0 {
                    let line = &mut line[vector * S::LANES..(vector + 1) * S::LANES];
                    let mut mend =
                        |lane: usize, c: f32| rare(first_row + row, vector * S::LANES + lane, first, c);
                    by_lane::<S>(line, c[vector], left_out, &mut mend);
                }
            }
        }
    }
}

/// Gives lanes that were left out the result of the reference path.
#[cold]
#[inline(never)]
fn mend(line: &mut [f32], c: &[f32], left_out: u32, rare: &mut dyn FnMut(usize, f32) -> f32) {
    for (lane, (result, &c)) in line.iter_mut().zip(c).enumerate() {
        if left_out >> lane & 1 == 1 {
            // infinity and NaN stay
            *result = if c.is_finite() { rare(lane, c) } else { c };
        }
    }
}

/// [`mend`], from vectors.
#[inline(always)]
unsafe fn by_lane<S: Simd>(
    line: &mut [f32],
    c: S::F,
    left_out: u32,
    rare: &mut dyn FnMut(usize, f32) -> f32,
) {
    let mut before = [0.0; 16];
    unsafe { S::f_store(before.as_mut_ptr(), c) };
    mend(line, &before, left_out, rare);
}

/// The sums of even and of odd products joined at the larger exponent.
#[inline(always)]
unsafe fn join<S: Simd>(plan: &Rounded, even: &mut Sums<S>, odd: &Sums<S>) {
    unsafe {
        for row in 0..ROWS {
            even.largest[row] = S::b_max(even.largest[row], odd.largest[row]);
            for vector in 0..VECTORS {
                let (x, y) = (even.maximum[row][vector], odd.maximum[row][vector]);
                let maximum = S::i_max(x, y);
                let x = cut::<S>(plan, even.t[row][vector], S::i_shr::<23>(S::i_sub(maximum, x)));
                let y = cut::<S>(plan, odd.t[row][vector], S::i_shr::<23>(S::i_sub(maximum, y)));
                even.t[row][vector] = S::i_add(x, y);
                even.maximum[row][vector] = maximum;
            }
        }
    }
}
