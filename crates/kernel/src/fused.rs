//! T- and ST-FDPA on factors of up to 12 significant bits: FP16, FP8, FP6, FP4, BF16, TF32 and XF32.
//!
//! For each operation of L products first the largest exponent, then the products in units of 2^(e_max - F)
//! ([`products`](super::products)). What is left is one sum per operation, the accumulator cut in the same units, and rho.
//!
//! Where a row and a panel of columns hold so few bits that no product can be cut, their sum is one of small
//! integers instead (`whole`), through a whole block of K where nothing at all is cut (`chain`). Where so few bits are
//! kept that sums fit the fraction of FP32, one instruction multiplies, cuts and adds, on processors whose instructions
//! name their rounding (`floor`).

mod begin;
mod careful;
mod chain;
mod direct;
mod factors;
mod floor;
mod tile;
mod whole;

use bitmma_arithmetic::run::Side;
use bitmma_arithmetic::{Conversion, FusedSum, Lowering, Operation, Order, Prepared};
use bitmma_formats::{Format, Rounding, decode, table};

use super::accumulator::{code_of, f32_of};
use super::codes::Chunk;
use super::element::Range;
use super::element::{Element, Reader};
use super::family::{Family, Kernel, Problem, Rare};
use super::pack::{Aligned, Bytes, Cells, Interleaved, ROWS, Repeated, Traits};
use super::panels::widen::Widen;
use super::products::{Columns, Lines, NO_PRODUCT, NOWHERE, are_held, guard, largest_term};
use super::simd::{Level, Simd};
use floor::Floors;
use tile::rows;
use whole::{Integers, Span};

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
    /// Exponent of a subnormal accumulator, first that of C, and of zero; `NOWHERE` where zero has none.
    first_minimum: i32,
    c_minimum: i32,
    c_zero: i32,
    scaled: bool,
    /// Elements of operations whose factors may be too large or too small for FP32.
    guard: Option<usize>,
    /// The bits of the formats of A and B, where sums of which nothing is cut are looked for.
    spans: Option<[Span; 2]>,
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
}

/// What is done after each step with what it came to.
#[derive(Clone, Copy, PartialEq)]
enum After {
    /// C, which was held back from it, is added; operations began from zero.
    AddC,
    /// It is rounded to FP16, to nearest even.
    Narrow,
}

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
        let length = prepared.length();
        let guard = guard(prepared);
        // a C of FP16 is an FP32 number, but for the exponent of a subnormal one, with which no lane may be left out
        let narrow_c = c != chained;
        let may_be_narrow = c == table::F16
            && chained == table::F32
            && model.d == chained
            && fraction_bits >= 10
            && !scaled
            && guard.is_none()
            && after.is_none();
        // an operation has one scale factor from each side
        let one_factor = model.scale.is_none_or(|scale| scale.size.is_multiple_of(length));
        let fits = are_held([&a, &b])
            && a.subnormals
            && b.subnormals
            && one_factor
            && !(scaled && guard.is_some())
            && !(scaled && model.lowering != Lowering::NONE)
            && !model.flush_operands.is_on()
            && !model.flush_accumulator.is_on()
            && model.conversion.is_plain()
            && model.lowering.chains.is_none()
            && sum.accumulator_bits() == fraction_bits
            && term_rounding == Rounding::TowardZero
            && (!narrow_c || may_be_narrow)
            && zero <= chained.min_exponent()
            && (1..=29).contains(&fraction_bits)
            && (rho != Rho::NearestFp16 || (fraction_bits >= 10 && !scaled));
        if !fits {
            return None;
        }
        // formats of few bits, whose products are few bits apart, where as many are kept
        let spans = [Span::of(&a), Span::of(&b)];
        let small = |format: &Format| format.fraction_bits <= 3 && Span::of(format).last > -32;
        let try_whole = small(&a)
            && small(&b)
            && (20..=28).contains(&fraction_bits)
            && length.is_multiple_of(2)
            && length <= 64;
        let term = largest_term([&a, &b], fraction_bits);
        let limit = (1u128 << 31) - 1;
        let segment = ((limit.saturating_sub(2 << fraction_bits) / term) as usize).min(length);
        // one sum may wrap, if a wrapped one can be told by being large: by 2^30 at least, so that sums that
        // did not wrap are seldom that large
        let whole = term * length as u128 + (2 << fraction_bits);
        let wrapping = whole <= (1 << 32) - (1 << 30);
        let segment = if wrapping { length } else { segment };
        if segment == 0 || narrow_c && whole > limit {
            return None;
        }
        let suspect =
            if whole <= limit { i32::MAX } else { (1u128 << 32).saturating_sub(whole).min(limit) as i32 };
        let floors = match scaled || guard.is_some() || level < Level::Avx512 {
            true => None,
            false => Floors::of(spans, term, length),
        };
        Some(Narrow {
            length,
            fraction_bits: fraction_bits as i32,
            segment,
            suspect: if wrapping { suspect } else { i32::MAX },
            rho,
            first_minimum: c.min_exponent(),
            c_minimum: chained.min_exponent(),
            c_zero: zero,
            scaled,
            guard,
            spans: try_whole.then_some(spans),
            whole_shift: ((term * length as u128).ilog2() as i32 - 30).max(0),
            left_out: whole::most_left_out(term, fraction_bits),
            chain: (try_whole
                && !scaled
                && !narrow_c
                && after.is_none()
                && rho == Rho::TowardZero { mask: -1 })
            .then_some(spans[0].last + spans[1].last),
            floors,
            after: after.map(|after| (after, prepared.k() / length)),
            direct: !scaled && !narrow_c && after.is_none() && model.lowering.order == Order::Sequential,
            conversion: model.conversion,
            scale: model.scale.map_or(table::UE8M0, |scale| scale.format),
            c: model.c,
            d: model.d,
            single: model.c == table::F32 && model.d == table::F32,
        })
    }

    /// The range of e_max in which 2^(F - e_max) and 2^(e_max - F) are normal FP32 numbers and no result is
    /// subnormal.
    fn exponents(&self) -> (i32, i32) {
        ((self.fraction_bits - 125).max(NO_PRODUCT + 1), 126)
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

    /// Packs lines of A or B, some of which share what is known of them.
    #[inline(always)]
    fn pack<E: Bytes>(&self, side: Side, share: usize, cells: Cells) -> Packed<E> {
        let (scales, there) = (self.scales(&cells), cells.there);
        let span = self.spans.as_ref().map(|[a, b]| if side == Side::A { a } else { b });
        let floors = self.floors.filter(|_| cells.directed);
        // products of such numbers, and of those of the other side if they are as large, are not cut
        let near = |traits: &Traits, last: i32| 2 * i32::from(traits.largest) <= last + self.fraction_bits;
        let bits = match self.chain {
            Some(last) if cells.traits.iter().all(|traits| near(traits, last)) => whole::MOST_BITS,
            _ if side == Side::A => whole::ROW_BITS,
            _ => whole::COLUMN_BITS,
        };
        Packed {
            integers: Integers::of(&cells, (self.length, share), &scales, span, bits),
            places: match floors {
                Some(floors) => floors.places(side, cells.lines, &cells.values),
                None => E::default(),
            },
            lines: Lines::of(cells, share, self.guard),
            scales: Aligned::of(scales.into_iter()),
            small_scales: Vec::new(),
            there,
        }
    }

    /// Bits of an FP32 accumulator that a cut to F bits at its own exponent leaves.
    fn own_mask(&self) -> i32 {
        if self.fraction_bits >= 23 { -1 } else { -1 << (23 - self.fraction_bits) }
    }
}

/// Some lines over a block of K.
pub(crate) struct Packed<E> {
    lines: Lines<E>,
    /// The exponents of scale factors, for each operation and line.
    scales: Aligned<i32>,
    /// The same where columns are kept beside their codes.
    small_scales: Vec<i8>,
    integers: Integers,
    /// Empty without [`Floors`].
    places: E,
    /// Lines that the matrix has.
    there: usize,
}

type PackedA = Packed<Repeated>;

type PackedB = Packed<Interleaved>;

impl Family<f32, Element> for Narrow {
    #[inline(always)]
    fn load(&self, c: u64) -> f32 {
        if self.single { f32::from_bits(c as u32) } else { f32_of(&self.c, c) }
    }

    fn resume(&self, d: u64) -> f32 {
        if self.single { f32::from_bits(d as u32) } else { f32_of(&self.d, d) }
    }

    #[inline(always)]
    fn store(&self, state: f32, nan: u64) -> u64 {
        match (state.is_nan(), self.single) {
            (true, _) => nan,
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
}

impl Kernel for Narrow {
    type Number = f32;
    type Entry = Element;
    type A = PackedA;
    type B = PackedB;
    const ALONE: bool = true;

    #[inline(always)]
    fn pack_a(&self, cells: Cells) -> PackedA {
        self.pack(Side::A, ROWS, cells)
    }

    #[inline(always)]
    fn pack_b(&self, cells: Cells) -> PackedB {
        self.pack(Side::B, cells.lines, cells)
    }

    fn strip(&self, packed: &mut PackedB) {
        packed.lines.strip();
        (packed.integers, packed.places) = (Integers::default(), Interleaved::default());
        packed.small_scales = packed.scales.iter().map(|&scale| scale as i8).collect();
        packed.scales = Aligned::default();
    }

    /// Without integers and places: of few rows every product is cut.
    fn fill(&self, level: Level, widen: &Widen, words: &[i32], kept: &PackedB, into: &mut Option<PackedB>) {
        let packed = into.get_or_insert_with(|| Packed {
            lines: Columns::none(),
            scales: Aligned::default(),
            small_scales: Vec::new(),
            integers: Integers::default(),
            places: Interleaved::default(),
            there: kept.there,
        });
        packed.lines.fill(level, widen, words, &kept.lines);
        let scales = packed.scales.resized(kept.scales.len().max(kept.small_scales.len())).iter_mut();
        match kept.small_scales.is_empty() {
            true => scales.zip(&*kept.scales).for_each(|(to, &scale)| *to = scale),
            false => scales.zip(&kept.small_scales).for_each(|(to, &scale)| *to = scale.into()),
        }
        packed.there = kept.there;
        if self.spans.is_some() {
            let operations = packed.lines.values.len() / (self.length * packed.lines.lines());
            packed.integers.leave_all_out(operations);
        }
    }

    fn fills_for(&self, rows: usize) -> bool {
        rows <= 24 || self.spans.is_none() && self.floors.is_none()
    }

    fn is_filled(&self, packed: &PackedB, filled: &PackedB) -> bool {
        packed.lines.is_same(&filled.lines) && packed.scales.iter().all(|&scale| i8::try_from(scale).is_ok())
    }

    fn bytes(&self, packed: &PackedB) -> usize {
        packed.lines.bytes() + packed.small_scales.len()
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
            (false, Rho::TowardZero { .. }) if self.first_minimum == self.c_minimum => {
                rows::<S, false, false>(s, self, (a, b), k, state, rare);
            }
            (false, _) => rows::<S, false, true>(s, self, (a, b), k, state, rare),
            (true, _) => rows::<S, true, false>(s, self, (a, b), k, state, rare),
        }
    }
}
