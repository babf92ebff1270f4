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

use bitmma_arithmetic::fdpa::tr_fdpa_end;
use bitmma_arithmetic::run::Side;
use bitmma_arithmetic::{Conversion, Lowering, Operation, Order, Prepared, RoundedSum};
use bitmma_formats::{Rounding, table};

use super::element::Element;
use super::element::Range;
use super::family::{Family, Kernel, Rare};
use super::pack::{Cells, ROWS};
use super::panels::widen::Widen;
use super::products::{Columns, Lines, NOWHERE, Rows, are_held, guard, largest_term, wide};
use super::simd::{Level, Simd};
use sum::PLACE;
use tile::tiles;

mod sum;
mod tile;

/// The kernel, planned for a model.
#[derive(Clone, Copy)]
pub(crate) struct Rounded {
    length: usize,
    sum: RoundedSum,
    /// Elements of operations whose factors may be too large or too small for FP32.
    guard: Option<usize>,
    /// GTR-FDPA: even and odd products apart, small accumulators dropped.
    pairs: bool,
    /// F.
    fraction_bits: i32,
    /// Whether sums are cut toward zero and not down.
    toward_zero: bool,
    /// Bits of an accumulator below its first F fractional bits.
    coarse: i32,
}

impl Rounded {
    /// The kernel for a model, if it is one for it.
    pub(crate) fn plan(prepared: &Prepared<'_>) -> Option<Rounded> {
        let model = prepared.model();
        let (sum, pairs) = match model.operation {
            Operation::TrFdpa(sum) => (sum, false),
            Operation::GtrFdpa(sum) => (sum, true),
            _ => return None,
        };
        let RoundedSum { fraction_bits, sum_fraction_bits, .. } = sum;
        let (a, b) = (prepared.operand_format(Side::A), prepared.operand_format(Side::B));
        let length = prepared.length();
        let guard = guard(prepared);
        let lowering = Lowering { widen_operands: None, order: Order::Sequential, ..model.lowering };
        let downward = match sum.sum_rounding {
            Rounding::Down => true,
            Rounding::TowardZero => false,
            _ => return None,
        };
        let fits = are_held([&a, &b])
            && (!pairs || guard.is_none() && length.is_multiple_of(2))
            && lowering == Lowering::NONE
            && !model.flush_operands.is_on()
            && !model.flush_accumulator.is_on()
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
        let term = largest_term([&a, &b], fraction_bits);
        let most = term * length as u128 + 2; // |T|; cuts of two partial sums add at most one each
        // |T + c| < 2^31 as |c| <= 2^30; half of T leaves 2^25 of a c of 2^29 or more
        let holds = most + (1 << 30) < 1 << 31 && most / 2 + 1 + (1 << 25) <= 1 << 29;
        holds.then(|| Rounded {
            length,
            sum,
            guard,
            pairs,
            fraction_bits: fraction_bits as i32,
            toward_zero: !downward,
            coarse: if fraction_bits >= 23 { 0 } else { (1 << (23 - fraction_bits)) - 1 },
        })
    }

    /// Whether the accumulator is cut before it is added, or sums otherwise than down.
    fn unusual(&self) -> bool {
        self.toward_zero || self.coarse != 0 || self.sum.renormalize && self.finer() != 0
    }

    /// One operation of a tile, from a row of the group on, in FP64, for factors of any exponent.
    fn wide(
        &self,
        lines: (&Rows, &Columns),
        (first, row): (usize, usize),
        (state, width): (&mut [f32], usize),
    ) {
        let end = |maximum, sum, c: f32| {
            let products = (maximum > NOWHERE).then_some((sum, maximum));
            f32::from_bits(tr_fdpa_end(&self.sum, Conversion::RNE_FP32, products, c.to_bits().into()) as u32)
        };
        wide(self.fraction_bits, lines, ((first, self.length), row), (state, width), |_| None, end);
    }

    /// F2 - 31.
    fn finer(&self) -> i32 {
        self.sum.sum_fraction_bits as i32 - 31
    }

    /// Bits that T lost count where they begin above this, unless the sum's own exponent decides.
    fn fixed(&self) -> i32 {
        1 << (PLACE - self.finer())
    }
}

impl Family<f32, Element> for Rounded {
    /// A product of exponent e is below 2^(e + 2).
    fn may_overflow(&self, row: i16, column: i16) -> bool {
        let above = i32::from(row) + i32::from(column) + 2;
        self.sum.product_overflow.is_some_and(|limit| above > limit)
    }
}

impl Kernel for Rounded {
    type Number = f32;
    type Entry = Element;
    type A = Rows;
    type B = Columns;
    const ALONE: bool = true;

    #[inline(always)]
    fn pack_a(&self, cells: Cells) -> Rows {
        Lines::of(cells, ROWS, self.guard)
    }

    #[inline(always)]
    fn pack_b(&self, cells: Cells) -> Columns {
        let share = cells.lines;
        Lines::of(cells, share, self.guard)
    }

    fn strip(&self, packed: &mut Columns) {
        packed.strip();
    }

    fn fill(&self, level: Level, widen: &Widen, words: &[i32], kept: &Columns, into: &mut Option<Columns>) {
        into.get_or_insert_with(Columns::none).fill(level, widen, words, kept);
    }

    fn is_filled(&self, packed: &Columns, filled: &Columns) -> bool {
        packed.is_same(filled)
    }

    fn bytes(&self, packed: &Columns) -> usize {
        packed.bytes()
    }

    #[inline(always)]
    fn rows<S: Simd>(&self, s: S, a: &Rows, b: &Columns, k: Range, state: &mut [f32], rare: &mut Rare<'_>) {
        match self.pairs {
            false => tiles::<S, false>(s, self, (a, b), k, state, rare),
            true => tiles::<S, true>(s, self, (a, b), k, state, rare),
        }
    }
}
