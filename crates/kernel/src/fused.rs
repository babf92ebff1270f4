//! T- and ST-FDPA on factors of up to 12 significant bits: FP16, FP8, FP6, FP4, BF16, TF32 and XF32.
//!
//! For each operation of L products, first the largest exponent in bytes, then every product times one
//! power of two per element of D, truncated to a 32-bit integer in units of 2^(e_max - F), and summed.
//! Products of up to 22 significant bits are exact in FP32, and so is their scaling: a result below the
//! last unit truncates to zero whether it was rounded or not. What is left is one sum per operation, the
//! accumulator cut in the same units, and rho.
//!
//! Where a row and a panel of columns hold so few bits that no product can be cut, their sum is one of small
//! integers instead (`whole`), where nothing at all is cut through a whole block of K (`chain`). Where so few bits are kept that sums fit the fraction of FP32, one instruction multiplies,
//! cuts and adds, on processors whose instructions name their rounding (`floor`).
//!
//! Products of BF16 and TF32 may leave the range of FP32. An operation whose factors are too large or too
//! small in some row or column of the tile is done in FP64 instead, where none does.

mod accumulator;
mod begin;
mod careful;
mod chain;
mod direct;
mod floor;
mod tile;
mod whole;

use bitmma_arithmetic::run::Side;
use bitmma_arithmetic::{Conversion, FusedSum, Lowering, Operation, Order, Prepared};
use bitmma_formats::{Format, Rounding, decode, table};

use super::codes::Chunk;
use super::drive::{Kernel, Problem, Rare};
use super::element::{Element, Reader};
use super::pack::{Aligned, Cells, Interleaved, ROWS, Range, WIDEST, bytes};
use super::simd::{Level, Simd};
use accumulator::{code_of, f32_of};
use floor::Floors;
use tile::rows;
use whole::{Integers, Span};

/// What zero has for an exponent where sums saturate: no sum with it comes near that of a nonzero product.
const NOTHING: i8 = -128;
/// Sums of exponents below this are then of zero products: none of a nonzero product is below
/// [`SMALLEST_PRODUCT`], and zero with the largest factor comes to -128 + 30.
const NO_PRODUCT: i32 = -95;
/// What zero has where no sum of two exponents leaves a byte, two zeros' included.
const SMALL_NOTHING: i8 = -64;
/// Largest exponent of a factor for which products in FP32 and sums of exponents in bytes are right.
const LARGEST_FACTOR: i8 = 30;
/// Smallest exponent of a nonzero product for which they are.
const SMALLEST_PRODUCT: i32 = -90;

/// rho, as this kernel does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rho {
    /// RZ into FP32 with these bits of the fraction kept.
    TowardZero { mask: i32 },
    /// RNE into FP16.
    NearestFp16,
}

impl Rho {
    /// The bits that are kept of a number that was rounded.
    #[inline(always)]
    fn mask(self) -> i32 {
        match self {
            Rho::TowardZero { mask } => mask,
            Rho::NearestFp16 => -1,
        }
    }
}

/// The kernel, planned for a model.
pub(crate) struct Narrow {
    length: usize,
    /// F.
    fraction_bits: i32,
    /// Products that one 32-bit sum holds beside the accumulator, whatever they are: the largest term is below
    /// (2 - 2^-m_a)(2 - 2^-m_b)·2^F, the accumulator below 2·2^F, and 2^31 - 1 is the limit.
    segment: usize,
    /// Where one sum takes a whole operation and may wrap around 2^32: a wrapped sum has at least this
    /// magnitude (2^32 less the largest magnitude a sum can have).
    suspect: i32,
    rho: Rho,
    /// Exponent of a subnormal accumulator, and of zero; `NOWHERE` where zero has none.
    c_minimum: i32,
    c_zero: i32,
    scaled: bool,
    /// Whether factors may be too large or too small for FP32.
    guarded: bool,
    /// Exponent of zero, in bytes, and whether sums with it saturate.
    zero: i8,
    saturating: bool,
    /// Sums of exponents below this are of zero products.
    no_product: i32,
    /// The bits of both formats, where sums of which nothing is cut are looked for.
    spans: Option<Spans>,
    /// By how many bits the unit of a sum of integers is above that of the sums, at least.
    whole_shift: i32,
    /// How many products may be left out of it.
    left_out: u32,
    /// The last bits of both formats multiplied, as an exponent, where sums of integers may go through a block of K.
    chain: Option<i32>,
    /// Where multiply-adds that round down make the sums, on instruction sets that name a rounding.
    floors: Option<Floors>,
    /// What is done after each step, and the operations of a step.
    after: Option<(After, usize)>,
    /// Whether small products may be computed straight from their codes.
    direct: bool,
    conversion: Conversion,
    /// The scale factors' format, ue8m0.
    scale: Format,
    c: Format,
    d: Format,
    /// Whether both are FP32.
    single: bool,
    nan: u64,
}

/// The bits of numbers of A and of B.
struct Spans {
    a: Span,
    b: Span,
}

/// What is done after each step with what it came to.
#[derive(Clone, Copy, PartialEq)]
enum After {
    /// C, which was held back from it, is added; operations began from zero.
    AddC,
    /// It is rounded to FP16, to nearest even.
    Narrow,
}

/// Smaller than every exponent.
const NOWHERE: i32 = -100_000;

impl Narrow {
    /// The kernel for a model on an instruction set, if it is one for it.
    pub(crate) fn plan(prepared: &Prepared<'_>, level: Level) -> Option<Narrow> {
        let model = prepared.model();
        let (sum, scaled) = match model.operation {
            Operation::TFdpa(sum) => (sum, false),
            Operation::StFdpa(sum) => (sum, true),
            _ => return None,
        };
        let FusedSum { fraction_bits, term_rounding, zero_exponent, .. } = sum;
        let (a, b) = (prepared.operand_format(Side::A), prepared.operand_format(Side::B));
        // exact in FP32 as numbers, subnormal ones among them, and exponents that fit a byte
        let fits_byte = |format: &Format| {
            format.fraction_bits <= 11
                && format.min_exponent() >= -126
                && format.max_exponent() <= 127
                && format.subnormals
        };
        let narrow = |format: &Format| {
            format.max_exponent() <= i32::from(LARGEST_FACTOR)
                && format.min_exponent() >= SMALLEST_PRODUCT / 2
        };
        let c = model.lowering.widen_accumulator.unwrap_or(model.c);
        let rho = match (model.conversion.rounding, model.conversion.format) {
            (Rounding::TowardZero, format) if format == table::F32 => Rho::TowardZero { mask: -1 },
            (Rounding::TowardZero, format) if format == table::E8M13 => Rho::TowardZero { mask: !0x3ff },
            (Rounding::NearestEven, format) if format == table::F16 => Rho::NearestFp16,
            _ => return None,
        };
        let chained = model.conversion.container();
        // an exponent of zero terms above that of a small accumulator would have to be known term by term
        let zero = zero_exponent.unwrap_or(NOWHERE);
        // an accumulator that stands alone must survive the cut: with fewer bits its fraction is masked
        let after = match (model.lowering.add_accumulator_last, model.lowering.narrow_output) {
            (None, None) => None,
            (Some(last), None) if last == Conversion::new(Rounding::NearestEven, chained) => {
                Some(After::AddC)
            }
            (None, Some(Conversion::RNE_FP16)) if chained == table::F32 => Some(After::Narrow),
            _ => return None,
        };
        let guarded = !narrow(&a) || !narrow(&b);
        // an operation has one scale factor from each side
        let one_factor = model.scale.is_none_or(|scale| scale.size.is_multiple_of(prepared.length()));
        let fits = fits_byte(&a)
            && one_factor
            && fits_byte(&b)
            && !(scaled && guarded)
            && !(scaled && model.lowering != Lowering::NONE)
            && !model.flush_operands.is_on()
            && !model.flush_accumulator.is_on()
            && model.conversion.is_plain()
            && model.lowering.chains.is_none()
            && sum.accumulator_bits() == fraction_bits
            && term_rounding == Rounding::TowardZero
            && c == chained
            && zero <= c.min_exponent()
            && (1..=29).contains(&fraction_bits)
            && (rho != Rho::NearestFp16 || (fraction_bits >= 10 && !scaled));
        if !fits {
            return None;
        }
        let largest = |format: &Format| (2u128 << format.fraction_bits) - 1;
        // a zero with any factor comes below every nonzero product, and no sum leaves a byte
        let smallest_product = a.min_exponent() + b.min_exponent();
        let largest_factor = a.max_exponent().max(b.max_exponent());
        let saturating = guarded || i32::from(SMALL_NOTHING) + largest_factor >= smallest_product;
        let length = prepared.length();
        // formats of few bits, whose products are few bits apart, where as many are kept
        let last = |format: &Format| Span::of(format).last;
        let small = |format: &Format| format.fraction_bits <= 3 && last(format) > -32;
        let try_whole = small(&a)
            && small(&b)
            && (20..=28).contains(&fraction_bits)
            && length.is_multiple_of(2)
            && length <= 64;
        let product = largest(&a) * largest(&b); // in units of 2^-(fraction bits of both)
        let down = a.fraction_bits + b.fraction_bits;
        // the largest term, in units of 2^-F, rounded up
        let term = ((product << fraction_bits) >> down) + 1;
        let limit = (1u128 << 31) - 1;
        let segment = ((limit.saturating_sub(2 << fraction_bits) / term) as usize).min(length);
        if segment == 0 {
            return None;
        }
        // one sum may wrap, if a wrapped one can be told by being large: by 2^30 at least, so that sums that
        // did not wrap are seldom that large
        let whole = term * length as u128 + (2 << fraction_bits);
        let wrapping = whole <= (1 << 32) - (1 << 30);
        let segment = if wrapping { length } else { segment };
        let suspect =
            if whole <= limit { i32::MAX } else { (1u128 << 32).saturating_sub(whole).min(limit) as i32 };
        let floors = match scaled || guarded || level < Level::Avx512 {
            true => None,
            false => Floors::of([Span::of(&a), Span::of(&b)], term, length),
        };
        Some(Narrow {
            length,
            fraction_bits: fraction_bits as i32,
            segment,
            suspect: if wrapping { suspect } else { i32::MAX },
            rho,
            c_minimum: c.min_exponent(),
            c_zero: zero,
            scaled,
            guarded,
            zero: if saturating { NOTHING } else { SMALL_NOTHING },
            saturating,
            no_product: if saturating { NO_PRODUCT } else { smallest_product },
            spans: try_whole.then(|| Spans { a: Span::of(&a), b: Span::of(&b) }),
            whole_shift: ((term * length as u128).ilog2() as i32 - 30).max(0),
            left_out: whole::most_left_out(term, fraction_bits),
            chain: (try_whole && !scaled && after.is_none() && rho == Rho::TowardZero { mask: -1 })
                .then(|| last(&a) + last(&b)),
            floors,
            after: after.map(|after| (after, prepared.k() / length)),
            direct: !scaled && after.is_none() && model.lowering.order == Order::Sequential,
            conversion: model.conversion,
            scale: model.scale.map_or(table::UE8M0, |scale| scale.format),
            c: model.c,
            d: model.d,
            single: model.c == table::F32 && model.d == table::F32,
            nan: model.emitted_nan(),
        })
    }

    /// The range of e_max in which 2^(F - e_max) and 2^(e_max - F) are normal FP32 numbers and no result is
    /// subnormal.
    fn exponents(&self) -> (i32, i32) {
        ((self.fraction_bits - 125).max(self.no_product), 126)
    }

    /// What is known of the exponents, for each operation and `share` lines.
    #[inline(always)]
    fn ranges(&self, cells: &Cells, share: usize) -> Vec<Extremes> {
        if !self.guarded {
            return Vec::new();
        }
        let lines = cells.lines;
        let mut ranges = Vec::with_capacity(cells.exponents.len() / (self.length * share));
        for exponents in cells.exponents.chunks_exact(self.length * lines) {
            let (mut smallest, mut largest) = ([i8::MAX; WIDEST], [i8::MIN; WIDEST]);
            let (smallest, largest) = (&mut smallest[..lines], &mut largest[..lines]);
            for line in exponents.chunks_exact(lines) {
                for ((smallest, largest), &exponent) in smallest.iter_mut().zip(&mut *largest).zip(line) {
                    let exponent = byte(exponent, self.zero);
                    *largest = (*largest).max(exponent);
                    *smallest = (*smallest).min(if exponent == NOTHING { i8::MAX } else { exponent });
                }
            }
            for (smallest, largest) in smallest.chunks_exact(share).zip(largest.chunks_exact(share)) {
                let least = smallest.iter().fold(i8::MAX, |least, &exponent| least.min(exponent));
                let most = largest.iter().fold(i8::MIN, |most, &exponent| most.max(exponent));
                ranges.push(Extremes { smallest: least, largest: most });
            }
        }
        ranges
    }

    /// Exponents of scale factors, for each operation and line.
    #[inline(always)]
    fn scales(&self, cells: &Cells) -> Vec<i32> {
        if !self.scaled {
            return Vec::new();
        }
        let positions = (0..cells.positions()).step_by(self.length);
        positions
            .flat_map(|position| (0..cells.lines).map(move |line| cells.scale(line, position)))
            .map(|code| decode(&self.scale, code).exponent)
            .collect()
    }

    /// Bits of an FP32 accumulator that a cut to F bits at its own exponent leaves.
    fn own_mask(&self) -> i32 {
        if self.fraction_bits >= 23 { -1 } else { -1 << (23 - self.fraction_bits) }
    }
}

/// A group of rows: products' factors and, four times each, their exponents.
pub(crate) struct PackedA {
    values: Aligned<f32>,
    exponents: Vec<u32>,
    scales: Vec<i32>,
    ranges: Vec<Extremes>,
    integers: Integers,
    /// Empty without [`Floors`].
    places: Vec<u32>,
}

/// One panel of columns.
pub(crate) struct PackedB {
    values: Aligned<f32>,
    exponents: Interleaved,
    scales: Aligned<i32>,
    ranges: Vec<Extremes>,
    integers: Integers,
    places: Interleaved,
    columns: usize,
    /// Columns that the matrix has.
    there: usize,
}

/// Smallest and largest exponent of the nonzero elements of one operation, all lines together.
#[derive(Clone, Copy)]
struct Extremes {
    smallest: i8,
    largest: i8,
}

impl Extremes {
    /// Whether the products of such elements may be taken in FP32, their exponents summed in bytes.
    #[inline]
    fn are_safe_with(self, other: Extremes) -> bool {
        self.largest <= LARGEST_FACTOR
            && other.largest <= LARGEST_FACTOR
            && i32::from(self.smallest) + i32::from(other.smallest) >= SMALLEST_PRODUCT
    }
}

#[inline(always)]
fn byte(exponent: i16, zero: i8) -> i8 {
    i8::try_from(exponent).unwrap_or(zero)
}

impl Kernel for Narrow {
    type Number = f32;
    type Entry = Element;
    type A = PackedA;
    type B = PackedB;

    #[inline(always)]
    fn pack_a(&self, cells: Cells) -> PackedA {
        let scales = self.scales(&cells);
        let mut exponents = vec![0; cells.exponents.len()];
        for (to, &exponent) in exponents.iter_mut().zip(&cells.exponents) {
            *to = bytes(byte(exponent, self.zero));
        }
        PackedA {
            integers: Integers::of(
                &cells,
                self.length,
                ROWS,
                &scales,
                self.spans.as_ref().map(|spans| &spans.a),
            ),
            places: self
                .floors
                .filter(|_| cells.directed)
                .map_or_else(Vec::new, |floors| floors.of_rows(&cells.values)),
            exponents,
            scales,
            ranges: self.ranges(&cells, ROWS),
            values: cells.values,
        }
    }

    #[inline(always)]
    fn pack_b(&self, cells: Cells) -> PackedB {
        let scales = self.scales(&cells);
        PackedB {
            integers: Integers::of(
                &cells,
                self.length,
                cells.lines,
                &scales,
                self.spans.as_ref().map(|spans| &spans.b),
            ),
            places: self
                .floors
                .filter(|_| cells.directed)
                .map(|floors| floors.of_columns(cells.lines, &cells.values))
                .unwrap_or_default(),
            exponents: Interleaved::of(cells.lines, &cells.exponents, |exponent| byte(exponent, self.zero)),
            scales: Aligned::of(scales.into_iter()),
            ranges: self.ranges(&cells, cells.lines),
            columns: cells.lines,
            there: cells.there,
            values: cells.values,
        }
    }

    fn nan(&self) -> u64 {
        self.nan
    }

    #[inline(always)]
    fn load(&self, c: u64) -> f32 {
        if self.single { f32::from_bits(c as u32) } else { f32_of(&self.c, c) }
    }

    fn resume(&self, d: u64) -> f32 {
        if self.single { f32::from_bits(d as u32) } else { f32_of(&self.d, d) }
    }

    #[inline(always)]
    fn store(&self, state: f32) -> u64 {
        match (state.is_nan(), self.single) {
            (true, _) => self.nan,
            (false, true) => u64::from(state.to_bits()),
            (false, false) => code_of(&self.d, state),
        }
    }

    fn direct(
        &self,
        problem: &Problem<'_>,
        block: usize,
        readers: [&Reader<Element>; 2],
        d: &mut Chunk<'_>,
    ) -> bool {
        direct::direct(self, problem, block, readers, d)
    }

    #[inline(always)]
    fn rows<S: Simd>(
        &self,
        s: S,
        a: &PackedA,
        b: &PackedB,
        k: Range,
        state: &mut [f32],
        rare: &mut Rare<'_>,
    ) {
        match (self.scaled, self.rho) {
            (false, Rho::TowardZero { .. }) => rows::<S, false, false>(s, self, (a, b), k, state, rare),
            (false, Rho::NearestFp16) => rows::<S, false, true>(s, self, (a, b), k, state, rare),
            (true, _) => rows::<S, true, false>(s, self, (a, b), k, state, rare),
        }
    }
}

/// 2^exponent, for -126 to 127.
fn power(exponent: i32) -> f32 {
    f32::from_bits(((exponent + 127) as u32) << 23)
}
