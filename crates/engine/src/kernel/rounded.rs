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
use super::pack::{Cells, GROUP, ROWS, Range, VECTORS, bytes};
use super::simd::{Simd, larger_field};
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
        top + range.lowest + RELATIVE_LEAST >= self.fraction_bits - 126
            && top + range.highest <= 127 - PLACE + self.fraction_bits
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

/// The sum of the products of one operation of one row, of all or of every other.
#[derive(Clone, Copy)]
struct Sums<S: Simd> {
    /// T, in units of 2^(e_max - F).
    t: Lanes<S::I>,
    /// 2^(F - e_max).
    scale: Lanes<S::F>,
    /// e_max in bytes.
    largest: S::B,
}

impl Rounded {
    /// What the bits of 2^(F - e_max) are subtracted from to give those of 2^e_max: 2·127 are the biases of the two.
    fn units(&self) -> i32 {
        (254 + self.fraction_bits).wrapping_shl(23)
    }
}

/// The sums of `count` products `first`, `first + step`, … of the rows from `row` on.
#[inline(always)]
unsafe fn sums<S: Simd>(
    plan: &Rounded,
    (a, b): (&PackedRows, &PackedColumns),
    row: usize,
    (first, step, count): (usize, usize, usize),
) -> [Sums<S>; ROWS] {
    unsafe {
        let width = VECTORS * S::LANES;
        let (a_values, b_values) = (a.lines.values.as_ptr().add(row), b.lines.values.as_ptr());
        let (a_exponents, b_exponents) = (a.exponents.as_ptr().add(row), b.exponents.as_ptr());
        let nothing = Sums {
            t: [S::i_splat(0); VECTORS],
            scale: [S::f_splat(0.0); VECTORS],
            largest: S::b_splat(0x8181_8181),
        };
        let mut sums = [nothing; ROWS];
        for index in (0..count).map(|index| first + index * step) {
            let b_exponent = S::b_load(b_exponents.add(index * width));
            for (row, sum) in sums.iter_mut().enumerate() {
                let a_exponent = S::b_splat(*a_exponents.add(index * GROUP + row));
                sum.largest = S::b_max(sum.largest, S::b_add_saturating(a_exponent, b_exponent));
            }
        }
        let to_units = S::i_splat(plan.units());
        for sum in &mut sums {
            let maximum = S::b_fields(S::b_add(sum.largest, S::b_splat(0x7f7f_7f7f)));
            for vector in 0..VECTORS {
                sum.scale[vector] = S::f_from_bits(S::i_sub(to_units, maximum[vector]));
            }
        }
        for index in (0..count).map(|index| first + index * step) {
            let line = b_values.add(index * width);
            let factors: [S::F; ROWS] =
                [S::f_splat(*a_values.add(index * GROUP)), S::f_splat(*a_values.add(index * GROUP + 1))];
            for vector in 0..VECTORS {
                let column = S::f_load(line.add(vector * S::LANES));
                for (sum, factor) in sums.iter_mut().zip(factors) {
                    let product = S::f_mul(S::f_mul(factor, column), sum.scale[vector]);
                    sum.t[vector] = S::i_add(sum.t[vector], S::f_truncate(product));
                }
            }
        }
        sums
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
    Place { operation, first, length, row }: Place,
    state: &mut [f32],
    rare: &mut dyn FnMut(usize, usize, usize, f32) -> f32,
) {
    unsafe {
        let plan = &{ *plan }; // a copy, that no store to the state can change
        let step = if PAIRS { 2 } else { 1 };
        let [mut upper, mut lower] = sums::<S>(plan, (a, b), row, (first, step, length.div_ceil(step)));
        if PAIRS {
            let odd = sums::<S>(plan, (a, b), row, (first + 1, step, length / step));
            join::<S>(plan, &mut upper, &odd[0]);
            join::<S>(plan, &mut lower, &odd[1]);
        }
        let lines = state.split_at_mut(VECTORS * S::LANES);
        // one after the other and not in a loop: so all stays in registers
        let place = Place { operation, first, length, row };
        finish::<S, PAIRS, OFFSETS>(plan, (a, b), place, &upper, lines.0, rare);
        let place = Place { operation, first, length, row: row + 1 };
        finish::<S, PAIRS, OFFSETS>(plan, (a, b), place, &lower, lines.1, rare);
    }
}

/// Adds the accumulators of a row to its sums, and rounds.
#[inline(always)]
unsafe fn finish<S: Simd, const PAIRS: bool, const OFFSETS: bool>(
    plan: &Rounded,
    (a, b): (&PackedRows, &PackedColumns),
    Place { operation, first, row, .. }: Place,
    sum: &Sums<S>,
    line: &mut [f32],
    rare: &mut dyn FnMut(usize, usize, usize, f32) -> f32,
) {
    unsafe {
        let width = VECTORS * S::LANES;
        let exponent_mask = S::i_splat(0xff << 23);
        let least = if OFFSETS { RELATIVE_LEAST } else { ABSOLUTE_NONE + 1 };
        let least_bytes = S::b_splat(bytes(least as i8));
        let mut careful = plan.unusual() || S::b_any_gt(least_bytes, sum.largest);
        let (mut flushed, mut held, mut top) = (false, true, 0);
        if OFFSETS {
            let range = b.lines.ranges[operation];
            let row_range = a.lines.ranges[operation * (GROUP / ROWS) + row / ROWS];
            top = a.lines.tops[operation * GROUP + row];
            flushed = range.flushed || row_range.flushed;
            held = plan.holds(top, range);
            careful |= !held;
        }
        let to_place =
            plan.units().wrapping_add((PLACE - plan.fraction_bits + if held { top } else { 0 }) << 23);
        let (nothing, none) = (S::f_splat(0.0), S::i_splat(0));
        let mut terms = [Terms { t: none, place: none, c: nothing, own: none }; VECTORS];
        let mut above = S::i_gt(none, none);
        let mut most = none;
        for vector in 0..VECTORS {
            let mut place = S::i_sub(S::i_splat(to_place), S::f_bits(sum.scale[vector]));
            if OFFSETS {
                let mut column = S::i_load(b.top_fields.as_ptr().add(operation * width + vector * S::LANES));
                if !held {
                    // beyond these limits every place is out of range
                    let both = S::i_add(S::i_sar_by(column, S::i_splat(23)), S::i_splat(top));
                    column = S::i_shl::<23>(S::i_max(S::i_min(both, S::i_splat(153)), S::i_splat(-180)));
                }
                place = S::i_add(place, column);
            }
            let c = S::f_load(line.as_ptr().add(vector * S::LANES));
            let own = S::i_and(S::f_bits(c), exponent_mask);
            above = S::m_or(above, S::i_gt(own, place));
            most = larger_field::<S>(most, own);
            terms[vector] = Terms { t: sum.t[vector], place, c, own };
        }
        if !careful {
            if S::m_bits(above) == 0 {
                for vector in 0..VECTORS {
                    let result = add_small::<S, PAIRS>(&terms[vector]);
                    S::f_store(line.as_mut_ptr().add(vector * S::LANES), result);
                }
                return;
            }
            if S::m_bits(S::i_eq(most, exponent_mask)) == 0 {
                for vector in 0..VECTORS {
                    let (result, _) = add_any::<S, PAIRS, false>(plan, &terms[vector]);
                    S::f_store(line.as_mut_ptr().add(vector * S::LANES), result);
                }
                return;
            }
        }
        let mut rare = |column: usize, c: f32| rare(row, column, first, c);
        carefully::<S, PAIRS, OFFSETS>(plan, (sum.scale, terms), flushed, line, &mut rare);
    }
}

/// The last step where anything may be: no products, units beyond FP32, accumulators that are not finite. What it is
/// done on comes as a copy, so that what it was copied from stays in registers.
#[inline(always)]
unsafe fn carefully<S: Simd, const PAIRS: bool, const OFFSETS: bool>(
    plan: &Rounded,
    (scale, terms): (Lanes<S::F>, Lanes<Terms<S>>),
    flushed: bool,
    line: &mut [f32],
    rare: &mut dyn FnMut(usize, f32) -> f32,
) {
    unsafe {
        let none = if OFFSETS { RELATIVE_NONE + 1 } else { ABSOLUTE_NONE + 1 };
        for (vector, terms) in terms.iter().enumerate() {
            let (mut result, mut left_out) = add_any::<S, PAIRS, true>(plan, terms);
            // without a product the accumulator is the answer, cut to F bits; -0 becomes +0
            let maximum = S::i_sub(S::i_splat(plan.units()), S::f_bits(scale[vector]));
            let none = S::i_gt(field::<S>(none), maximum);
            if !flushed {
                let alone = S::f_add(own_bits::<S>(plan, terms.c), S::f_splat(0.0));
                result = S::f_from_bits(S::i_select(none, S::f_bits(alone), S::f_bits(result)));
                left_out &= !S::m_bits(none);
            }
            if OFFSETS {
                let low = S::m_bits(S::i_gt(field::<S>(RELATIVE_LEAST), maximum));
                left_out |= if flushed { low } else { low & !S::m_bits(none) };
            }
            S::f_store(line.as_mut_ptr().add(vector * S::LANES), result);
            if left_out != 0 {
                let line = &mut line[vector * S::LANES..(vector + 1) * S::LANES];
                let mut mend = |lane: usize, c: f32| rare(vector * S::LANES + lane, c);
                by_lane::<S>(line, terms.c, left_out, &mut mend);
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
        even.largest = S::b_max(even.largest, odd.largest);
        for vector in 0..VECTORS {
            // the larger exponent has the smaller power
            let (x, y) = (S::f_bits(even.scale[vector]), S::f_bits(odd.scale[vector]));
            let scale = S::i_min(x, y);
            let x = cut::<S>(plan, even.t[vector], S::i_shr::<23>(S::i_sub(x, scale)));
            let y = cut::<S>(plan, odd.t[vector], S::i_shr::<23>(S::i_sub(y, scale)));
            even.t[vector] = S::i_add(x, y);
            even.scale[vector] = S::f_from_bits(scale);
        }
    }
}
