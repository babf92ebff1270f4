//! T- and ST-FDPA on factors of up to 12 significant bits: FP16, FP8, FP6, FP4, BF16, TF32 and XF32.
//!
//! For each operation of L products, first the largest exponent in bytes, then every product times one
//! power of two per element of D, truncated to a 32-bit integer in units of 2^(e_max - F), and summed.
//! Products of up to 22 significant bits are exact in FP32, and so is their scaling: a result below the
//! last unit truncates to zero whether it was rounded or not. What is left is one sum per operation, the
//! accumulator cut in the same units, and rho.
//!
//! Products of BF16 and TF32 may leave the range of FP32. An operation whose factors are too large or too
//! small in some row or column of the tile is done in FP64 instead, where none does.

use bitmma_arithmetic::run::Side;
use bitmma_arithmetic::{Conversion, FusedSum, Lowering, Operation, Prepared};
use bitmma_formats::{Format, Overflow, Real, Rounding, Unpacked, decode, table};

use super::drive::Kernel;
use super::pack::{Aligned, Cells, Element, ROWS, Range, VECTORS, kind_of};
use super::simd::Simd;

/// What zero has for an exponent: no sum with it comes near that of a nonzero product.
const NOTHING: i8 = -128;
/// Sums of exponents below this are of zero products: none of a nonzero product is below
/// [`SMALLEST_PRODUCT`], and zero with the largest factor comes to -128 + 30.
const NO_PRODUCT: i32 = -95;
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

/// The kernel, planned for a model.
pub(super) struct Narrow {
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
    /// Where C is added last: operations of one step, which begin from zero.
    add_last: Option<usize>,
    conversion: Conversion,
    /// The scale factors' format, ue8m0.
    scale: Format,
    c: Format,
    d: Format,
    nan: u64,
}

/// Columns of the widest panel.
const WIDEST: usize = 64;
/// Smaller than every exponent.
const NOWHERE: i32 = -100_000;

impl Narrow {
    /// The kernel for a model, if it is one for it.
    pub(super) fn plan(prepared: &Prepared<'_>) -> Option<Narrow> {
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
        let chained = model.chained_format();
        // an exponent of zero terms above that of a small accumulator would have to be known term by term
        let zero = zero_exponent.unwrap_or(NOWHERE);
        // an accumulator that stands alone must survive the cut: with fewer bits its fraction is masked
        let last = model.lowering.add_accumulator_last;
        let last_fits =
            last.is_none_or(|last| last.rounding == Rounding::NearestEven && last.format == chained);
        let guarded = !narrow(&a) || !narrow(&b);
        // an operation has one scale factor from each side
        let one_factor = model.scale.is_none_or(|scale| scale.size.is_multiple_of(prepared.length()));
        let fits = fits_byte(&a)
            && one_factor
            && fits_byte(&b)
            && !(scaled && guarded)
            && model.lowering.narrow_output.is_none()
            && last_fits
            && !(scaled && model.lowering != Lowering::NONE)
            && !model.flush_inputs
            && term_rounding == Rounding::TowardZero
            && c == chained
            && zero <= c.min_exponent()
            && (1..=29).contains(&fraction_bits)
            && (rho != Rho::NearestFp16 || (fraction_bits >= 10 && !scaled));
        if !fits {
            return None;
        }
        let largest = |format: &Format| (2u128 << format.fraction_bits) - 1;
        let product = largest(&a) * largest(&b); // in units of 2^-(fraction bits of both)
        let down = a.fraction_bits + b.fraction_bits;
        // the largest term, in units of 2^-F, rounded up
        let term = ((product << fraction_bits) >> down) + 1;
        let limit = (1u128 << 31) - 1;
        let length = prepared.length();
        let segment = ((limit.saturating_sub(2 << fraction_bits) / term) as usize).min(length);
        if segment == 0 {
            return None;
        }
        // one sum may wrap, if a wrapped one can be told by being large: by 2^30 at least, so that sums that
        // did not wrap are seldom that large
        let whole = term * length as u128 + (2 << fraction_bits);
        let wrapping = whole <= (1 << 32) - (1 << 30);
        let segment = if wrapping { length } else { segment };
        let suspect = if whole <= limit { i32::MAX } else { ((1u128 << 32) - whole).min(limit) as i32 };
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
            add_last: last.map(|_| prepared.k() / length),
            conversion: model.conversion,
            scale: model.scale.map_or(table::UE8M0, |scale| scale.format),
            c: model.c,
            d: model.d,
            nan: model.emitted_nan(),
        })
    }

    /// The range of e_max in which 2^(F - e_max) and 2^(e_max - F) are normal FP32 numbers and no result is
    /// subnormal.
    fn exponents(&self) -> (i32, i32) {
        ((self.fraction_bits - 125).max(NO_PRODUCT), 126)
    }

    /// What is known of the exponents, for each operation.
    fn ranges(&self, cells: &Cells) -> Vec<Extremes> {
        if !self.guarded {
            return Vec::new();
        }
        let of_operation = |elements: &[Element]| {
            let mut range = Extremes { smallest: i8::MAX, largest: i8::MIN };
            for element in elements {
                let exponent = byte(element.exponent);
                range.largest = range.largest.max(exponent);
                range.smallest = range.smallest.min(if exponent == NOTHING { i8::MAX } else { exponent });
            }
            range
        };
        cells.elements.chunks(self.length * cells.lines).map(of_operation).collect()
    }

    /// Exponents of scale factors, for each operation and line.
    fn scales(&self, cells: &Cells) -> Vec<i32> {
        if !self.scaled {
            return Vec::new();
        }
        let positions = (0..cells.elements.len() / cells.lines).step_by(self.length);
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

/// `ROWS` rows: products' factors and, four times each, their exponents.
pub(super) struct PackedA {
    values: Vec<f32>,
    exponents: Vec<u32>,
    scales: Vec<i32>,
    ranges: Vec<Extremes>,
}

/// One panel of columns.
pub(super) struct PackedB {
    values: Aligned<f32>,
    exponents: Aligned<i8>,
    scales: Vec<i32>,
    ranges: Vec<Extremes>,
    columns: usize,
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

fn byte(exponent: i16) -> i8 {
    i8::try_from(exponent).unwrap_or(NOTHING)
}

impl Kernel for Narrow {
    type A = PackedA;
    type B = PackedB;
    type State = f32;

    fn read(value: &Unpacked, format: &Format) -> Element {
        let kind = kind_of(value);
        if !matches!(value.class, bitmma_formats::Class::Finite) {
            return Element { value: 0.0, exponent: i16::MIN, kind };
        }
        // at most 12 bits times a power of two within FP32: exact, in two steps where the power is subnormal
        let number = value.signed_significand() as f32
            * power(-(format.fraction_bits as i32))
            * power(value.exponent.max(-63))
            * power(value.exponent.min(-63) + 63);
        Element { value: number, exponent: value.exponent as i16, kind }
    }

    fn pack_a(&self, cells: &Cells) -> PackedA {
        PackedA {
            values: cells.elements.iter().map(|element| element.value).collect(),
            exponents: cells
                .elements
                .iter()
                .map(|element| u32::from(byte(element.exponent).cast_unsigned()) * 0x0101_0101)
                .collect(),
            scales: self.scales(cells),
            ranges: self.ranges(cells),
        }
    }

    fn pack_b(&self, cells: &Cells) -> PackedB {
        PackedB {
            values: Aligned::of(cells, |element| element.value),
            exponents: Aligned::of(cells, |element| byte(element.exponent)),
            scales: self.scales(cells),
            ranges: self.ranges(cells),
            columns: cells.lines,
        }
    }

    fn load(&self, c: u64) -> f32 {
        f32_of(&self.c, c)
    }

    fn resume(&self, d: u64) -> f32 {
        f32_of(&self.d, d)
    }

    fn store(&self, state: f32) -> u64 {
        if state.is_nan() { self.nan } else { code_of(&self.d, state) }
    }

    #[inline(always)]
    unsafe fn tile<S: Simd>(
        &self,
        a: &PackedA,
        b: &PackedB,
        k: Range,
        state: &mut [f32],
        rare: &mut dyn FnMut(usize, usize, usize, f32) -> f32,
    ) {
        unsafe {
            let segmented = self.segment < self.length;
            match (self.scaled, self.rho, segmented) {
                (false, Rho::TowardZero { .. }, false) => {
                    tile::<S, false, false, false>(self, (a, b), k, state, rare);
                }
                (false, Rho::TowardZero { .. }, true) => {
                    tile::<S, false, false, true>(self, (a, b), k, state, rare);
                }
                (false, Rho::NearestFp16, false) => {
                    tile::<S, false, true, false>(self, (a, b), k, state, rare);
                }
                (false, Rho::NearestFp16, true) => {
                    tile::<S, false, true, true>(self, (a, b), k, state, rare);
                }
                (true, _, false) => tile::<S, true, false, false>(self, (a, b), k, state, rare),
                (true, _, true) => tile::<S, true, false, true>(self, (a, b), k, state, rare),
            }
        }
    }

    fn may_overflow(&self, _: i16, _: i16) -> bool {
        false // products of these formats are far below 2^128, scaled or not they do not overflow alone
    }
}

/// 2^exponent, for -126 to 127.
fn power(exponent: i32) -> f32 {
    f32::from_bits(((exponent + 127) as u32) << 23)
}

/// The FP32 number that an FP32 or FP16 code is; every NaN the same.
fn f32_of(format: &Format, code: u64) -> f32 {
    if *format == table::F32 {
        return f32::from_bits(code as u32);
    }
    let value = decode(format, code);
    match value.class {
        bitmma_formats::Class::Nan => f32::NAN,
        bitmma_formats::Class::Infinity if value.negative => f32::NEG_INFINITY,
        bitmma_formats::Class::Infinity => f32::INFINITY,
        _ => {
            let magnitude = value.significand as f32 * power(value.exponent - format.fraction_bits as i32);
            if value.negative { -magnitude } else { magnitude }
        }
    }
}

/// The code of a number that the format holds exactly.
fn code_of(format: &Format, number: f32) -> u64 {
    let bits = u64::from(number.to_bits());
    if *format == table::F32 {
        return bits;
    }
    let sign = bits >> 31 << 15;
    let exponent = (bits >> 23 & 255) as i32 - 127;
    let magnitude = match exponent {
        128 => 0x7c00,
        -14..=15 => (((exponent + 15) as u64) << 10) | (bits >> 13 & 0x3ff),
        // subnormal or zero: the implicit bit moves into the fraction
        _ if bits << 33 == 0 => 0,
        _ => (bits & 0x7f_ffff | 0x80_0000) >> (13 + (-14 - exponent)),
    };
    sign | magnitude
}

/// The lanes of one operation that vectors could not do: accumulators that are not finite, sums without
/// products, powers out of FP32's range, sums beyond 32 bits.
#[cold]
fn mend(
    plan: &Narrow,
    (a, b): (&PackedA, &PackedB),
    (operation, first): (usize, usize),
    (before, lanes): (&[f32], &[Lanes<u32>; ROWS]),
    state: &mut [f32],
    rare: &mut dyn FnMut(usize, usize, usize, f32) -> f32,
) {
    let width = b.columns;
    let (lowest, highest) = plan.exponents();
    for index in flagged_lanes(lanes, width) {
        let (row, column) = (index / width, index % width);
        let c = before[index];
        let state = &mut state[index];
        if !c.is_finite() {
            *state = c;
            continue;
        }
        let exponent = |k: usize| {
            (a.exponents[k * ROWS + row] as u8).cast_signed().saturating_add(b.exponents[k * width + column])
        };
        let elements = first..first + plan.length;
        let products = elements.clone().map(exponent).max().map_or(NOTHING, |largest| largest);
        if i32::from(products) < NO_PRODUCT {
            let Rho::TowardZero { mask } = plan.rho else {
                *state = c + 0.0; // C alone, exact; -0 becomes +0
                continue;
            };
            *state = f32::from_bits(c.to_bits() & (mask & plan.own_mask()).cast_unsigned()) + 0.0;
            continue;
        }
        let offset = match plan.scaled {
            true => a.scales[operation * ROWS + row] + b.scales[operation * width + column],
            false => 0,
        };
        let own = match c == 0.0 {
            true => plan.c_zero,
            false => ((c.to_bits() >> 23 & 255) as i32 - 127).max(plan.c_minimum),
        };
        let maximum = (i32::from(products) + offset).max(own);
        let inside = (lowest..=highest).contains(&maximum) && {
            let power = |exponent: i32| f32::from_bits((exponent.clamp(1, 254) as u32) << 23);
            let of_products = power(plan.fraction_bits - maximum + offset + 127);
            let of_c = power(plan.fraction_bits - maximum + 127);
            let product = |k: usize| a.values[k * ROWS + row] * b.values[k * width + column] * of_products;
            let sum: i64 = elements.map(|k| product(k) as i64).sum::<i64>() + (c * of_c) as i64;
            i32::try_from(sum).is_ok()
        };
        if !inside {
            *state = rare(row, column, first, c);
        }
    }
}

/// The places of a tile that are flagged, row by row; `width` columns in a row.
fn flagged_lanes(lanes: &[Lanes<u32>; ROWS], width: usize) -> impl Iterator<Item = usize> {
    let lanes_of_vector = width / VECTORS;
    lanes.iter().flatten().enumerate().flat_map(move |(vector, &bits)| {
        (0..lanes_of_vector)
            .filter(move |lane| bits >> lane & 1 == 1)
            .map(move |lane| vector * lanes_of_vector + lane)
    })
}

/// One operation of a whole tile in FP64, for factors of any exponent.
///
/// A product of two such factors has 24 bits at most and an exponent of -252 to 254, so that neither it
/// nor its scaling by 2^(F - e_max) rounds or leaves the range of FP64 unless the scaled term is far below
/// one; L_max terms of 2^31 sum exactly.
#[inline(always)]
fn wide(plan: &Narrow, (a, b): (&PackedA, &PackedB), first: usize, state: &mut [f32]) {
    let width = b.columns;
    let elements = first..first + plan.length;
    for (row, state) in state.chunks_exact_mut(width).enumerate() {
        let mut maximum = [NOWHERE; WIDEST];
        for k in elements.clone() {
            let a_exponent = (a.exponents[k * ROWS + row] as u8).cast_signed();
            let line = &b.exponents[k * width..(k + 1) * width];
            for (maximum, &b_exponent) in maximum.iter_mut().zip(line) {
                let zero = a_exponent == NOTHING || b_exponent == NOTHING;
                let sum = if zero { NOWHERE } else { i32::from(a_exponent) + i32::from(b_exponent) };
                *maximum = (*maximum).max(sum);
            }
        }
        let (mut units, mut sums) = ([0.0f64; WIDEST], [0.0f64; WIDEST]);
        for (column, &c) in state.iter().enumerate() {
            let own = match c == 0.0 {
                true => plan.c_zero,
                false => ((c.to_bits() >> 23 & 255) as i32 - 127).max(plan.c_minimum),
            };
            maximum[column] = maximum[column].max(own);
            let power = (plan.fraction_bits - maximum[column]).clamp(-1000, 1000) + 1023;
            units[column] = f64::from_bits((power as u64) << 52);
            sums[column] = (f64::from(c) * units[column]).trunc();
        }
        for k in elements.clone() {
            let factor = f64::from(a.values[k * ROWS + row]);
            let line = &b.values[k * width..(k + 1) * width];
            for ((sum, &unit), &value) in sums.iter_mut().zip(&units).zip(line) {
                *sum += (factor * f64::from(value) * unit).trunc();
            }
        }
        for (column, c) in state.iter_mut().enumerate() {
            if c.is_finite() {
                let sum = Real::exact(sums[column] as i128, maximum[column] - plan.fraction_bits);
                let code = plan.conversion.apply(sum, Overflow::Infinity);
                *c = f32_of(&plan.conversion.container(), code) + 0.0; // -0 becomes +0
            }
        }
    }
}

/// The vectors of one row of a tile.
type Lanes<V> = [V; VECTORS];

/// One tile through one block of K, operation by operation.
///
/// Exponents are handled as fields of FP32 words, biased and in place: e_max of a lane is at once the
/// bits of 2^e_max.
#[inline(always)]
unsafe fn tile<S: Simd, const SCALED: bool, const FP16: bool, const SEGMENTED: bool>(
    plan: &Narrow,
    (a, b): (&PackedA, &PackedB),
    k: Range,
    state: &mut [f32],
    rare: &mut dyn FnMut(usize, usize, usize, f32) -> f32,
) {
    unsafe {
        let width = VECTORS * S::LANES;
        assert!(state.len() == ROWS * width && b.columns == width);
        assert!(a.values.len() == k.length * ROWS && b.values.len() == k.length * width);
        let (a_values, b_values) = (a.values.as_ptr(), b.values.as_ptr());
        let (a_exponents, b_exponents) = (a.exponents.as_ptr(), b.exponents.as_ptr());

        let field = |exponent: i32| S::i_splat(exponent.wrapping_add(127) << 23);
        let exponent_mask = S::i_splat(0xff << 23);
        let one = field(0);
        // 2^(F - e_max) has the bits of 2^F·2^127·2^127 less those of 2^e_max
        let to_units = S::i_splat((254 + plan.fraction_bits) << 23);
        let fraction = S::i_splat(plan.fraction_bits << 23);
        let (lowest, highest) = plan.exponents();
        let (lowest, highest) = (field(lowest), field(highest));

        let mut held = [0.0; ROWS * WIDEST];
        for (operation, first) in (0..k.length).step_by(plan.length).enumerate() {
            if let Some(operations) = plan.add_last
                && operation % operations == 0
            {
                if operation > 0 {
                    add_held::<S, FP16>(state, &held);
                }
                held[..state.len()].copy_from_slice(state);
                state.fill(0.0);
            }
            if plan.guarded && !a.ranges[operation].are_safe_with(b.ranges[operation]) {
                wide(plan, (a, b), first, state);
                continue;
            }
            // first pass: the largest exponent of the products
            let mut largest = [S::b_splat(0x8080_8080); ROWS];
            for index in first..first + plan.length {
                let b_exponent = S::b_load(b_exponents.add(index * width));
                for row in 0..ROWS {
                    let a_exponent = S::b_splat(*a_exponents.add(index * ROWS + row));
                    largest[row] = S::b_max(largest[row], S::b_add(a_exponent, b_exponent));
                }
            }

            // e_max with the accumulator, the power that brings terms to units of 2^(e_max - F), and the
            // accumulator cut in these units, with which the sums begin
            let mut maximum: [Lanes<S::I>; ROWS] = [[one; VECTORS]; ROWS];
            let mut scale: [Lanes<S::F>; ROWS] = [[S::f_splat(0.0); VECTORS]; ROWS];
            let mut sums: [Lanes<S::I>; ROWS] = [[S::i_splat(0); VECTORS]; ROWS];
            let (mut least, mut most) = (highest, lowest);
            for row in 0..ROWS {
                let products = S::b_widen(largest[row]);
                for vector in 0..VECTORS {
                    let at = row * width + vector * S::LANES;
                    let mut product = S::i_add(S::i_shl::<23>(products[vector]), one);
                    let mut offset = S::i_splat(0);
                    if SCALED {
                        // exponents sum to a thousand at most: beyond the field they are clamped
                        let row_scale = S::i_splat(a.scales[operation * ROWS + row]);
                        let column_scale = b.scales.as_ptr().add(operation * width + vector * S::LANES);
                        offset = S::i_add(row_scale, S::i_load(column_scale));
                        let sum = S::i_add(products[vector], offset);
                        let sum = S::i_max(S::i_min(sum, S::i_splat(128)), S::i_splat(-200));
                        let none = S::i_gt(S::i_splat(NO_PRODUCT), products[vector]);
                        let sum = S::i_select(none, S::i_splat(-200), sum);
                        product = S::i_add(S::i_shl::<23>(sum), one);
                    }
                    let c = S::f_load(state.as_ptr().add(at));
                    let mut own = S::i_and(S::f_bits(c), exponent_mask);
                    if FP16 || SCALED {
                        // subnormal accumulators have the smallest exponent, zero has e_zero
                        own = S::i_max(own, field(plan.c_minimum));
                        let zero = S::i_eq(S::i_shl::<1>(S::f_bits(c)), S::i_splat(0));
                        own = S::i_select(zero, field(plan.c_zero.max(-200)), own);
                    }
                    let all = S::i_max(product, own);
                    least = S::i_min(least, all);
                    most = S::i_max(most, all);
                    maximum[row][vector] = all;
                    let power = S::i_sub(to_units, all);
                    sums[row][vector] = S::f_truncate(S::f_mul(c, S::f_from_bits(power)));
                    scale[row][vector] = if SCALED {
                        let exponent = S::i_shr::<23>(power);
                        let scaled = S::i_add(exponent, offset);
                        let scaled = S::i_min(S::i_max(scaled, S::i_splat(1)), S::i_splat(254));
                        S::f_from_bits(S::i_shl::<23>(scaled))
                    } else {
                        S::f_from_bits(power)
                    };
                }
            }
            let outside = S::m_or(S::i_gt(lowest, least), S::i_gt(most, highest));
            let mut flagged = S::m_bits(outside) != 0;
            if flagged {
                // an infinite accumulator has no place in a sum: its lane is mended
                for (sums, maximum) in sums.iter_mut().flatten().zip(maximum.iter().flatten()) {
                    *sums = S::i_select(S::i_gt(*maximum, highest), S::i_splat(0), *sums);
                }
            }

            // second pass: products, scaled, truncated and summed
            let length = plan.length;
            let mut wrapped = S::i_splat(0);
            if SEGMENTED {
                let mut begin = first;
                let held = sums;
                sums = [[S::i_splat(0); VECTORS]; ROWS];
                while begin < first + length {
                    let end = (begin + plan.segment).min(first + length);
                    let from = if begin == first { held } else { [[S::i_splat(0); VECTORS]; ROWS] };
                    let part = add_products::<S>((a_values, b_values), begin..end, &scale, from);
                    for row in 0..ROWS {
                        for vector in 0..VECTORS {
                            let (x, y) = (sums[row][vector], part[row][vector]);
                            let sum = S::i_add(x, y);
                            wrapped = S::i_or(wrapped, S::i_and(S::i_xor(x, sum), S::i_xor(y, sum)));
                            sums[row][vector] = sum;
                        }
                    }
                    begin = end;
                }
            } else {
                sums = add_products::<S>((a_values, b_values), first..first + length, &scale, sums);
                let (mut least, mut most) = (S::i_splat(0), S::i_splat(0));
                for sum in sums.iter().flatten() {
                    least = S::i_min(least, *sum);
                    most = S::i_max(most, *sum);
                }
                // negative where a sum is as large as only a wrapped one may be
                let suspect = S::i_splat(plan.suspect);
                wrapped = S::i_or(S::i_sub(suspect, most), S::i_add(least, suspect));
            }
            let all_lanes = S::m_bits(S::i_gt(S::i_splat(0), wrapped)) != 0;
            flagged |= all_lanes;

            let mut results = scale;
            for row in 0..ROWS {
                for vector in 0..VECTORS {
                    let unit = S::f_from_bits(S::i_sub(maximum[row][vector], fraction));
                    let truncated = S::i_to_f_toward_zero(sums[row][vector]);
                    results[row][vector] = if FP16 {
                        // one bit that says whether anything was cut, so that the second rounding knows
                        let exact = S::i_eq(S::f_truncate(truncated), sums[row][vector]);
                        let bits = S::f_bits(truncated);
                        let odd = S::i_select(exact, bits, S::i_or(bits, S::i_splat(1)));
                        let rounded = S::f_bits(S::f_through_f16(S::f_mul(S::f_from_bits(odd), unit)));
                        let zero = S::i_eq(S::i_shl::<1>(rounded), S::i_splat(0));
                        S::f_from_bits(S::i_select(zero, S::i_splat(0), rounded))
                    } else {
                        let Rho::TowardZero { mask } = plan.rho else { unreachable!() };
                        S::f_from_bits(S::i_and(S::f_bits(S::f_mul(truncated, unit)), S::i_splat(mask)))
                    };
                }
            }
            if flagged {
                let mut lanes = [[0u32; VECTORS]; ROWS];
                for row in 0..ROWS {
                    for vector in 0..VECTORS {
                        let all = maximum[row][vector];
                        let outside = S::m_or(S::i_gt(lowest, all), S::i_gt(all, highest));
                        lanes[row][vector] = if all_lanes { u32::MAX } else { S::m_bits(outside) };
                    }
                }
                let mut before = [0.0; ROWS * WIDEST];
                before[..state.len()].copy_from_slice(state);
                store::<S>(state, &results);
                mend(plan, (a, b), (operation, first), (&before, &lanes), state, rare);
            } else {
                store::<S>(state, &results);
            }
        }
        if plan.add_last.is_some() {
            add_held::<S, FP16>(state, &held);
        }
    }
}

/// Products of some elements, scaled, truncated and added to `sums`.
#[inline(always)]
unsafe fn add_products<S: Simd>(
    (a_values, b_values): (*const f32, *const f32),
    elements: std::ops::Range<usize>,
    scale: &[Lanes<S::F>; ROWS],
    mut sums: [Lanes<S::I>; ROWS],
) -> [Lanes<S::I>; ROWS] {
    unsafe {
        for index in elements {
            let line = b_values.add(index * VECTORS * S::LANES);
            let factors: [S::F; ROWS] =
                [S::f_splat(*a_values.add(index * ROWS)), S::f_splat(*a_values.add(index * ROWS + 1))];
            for vector in 0..VECTORS {
                let column = S::f_load(line.add(vector * S::LANES));
                for row in 0..ROWS {
                    let product = S::f_mul(S::f_mul(factors[row], column), scale[row][vector]);
                    sums[row][vector] = S::i_add(sums[row][vector], S::f_truncate(product));
                }
            }
        }
        sums
    }
}

/// What a step came to, plus the accumulator it was held back from: an IEEE 754 addition in FP32, or in
/// FP16, where the sum of two in FP32 rounds to the same (24 bits are 2·11 + 2).
#[inline(always)]
unsafe fn add_held<S: Simd, const FP16: bool>(state: &mut [f32], held: &[f32]) {
    unsafe {
        for at in (0..state.len()).step_by(S::LANES) {
            let sum = S::f_add(S::f_load(state.as_ptr().add(at)), S::f_load(held.as_ptr().add(at)));
            let sum = if FP16 { S::f_through_f16(sum) } else { sum };
            S::f_store(state.as_mut_ptr().add(at), sum);
        }
    }
}

/// Writes the results of one operation.
#[inline(always)]
unsafe fn store<S: Simd>(state: &mut [f32], results: &[Lanes<S::F>; ROWS]) {
    unsafe {
        for (row, results) in results.iter().enumerate() {
            for (vector, &result) in results.iter().enumerate() {
                S::f_store(state.as_mut_ptr().add((row * VECTORS + vector) * S::LANES), result);
            }
        }
    }
}
