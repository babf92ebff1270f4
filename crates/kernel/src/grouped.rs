//! GST-FDPA on FP4 and FP6: exact integer dot products of groups, scaled and summed in FP64.
//!
//! A factor in units of its format's last bit is a small integer; pairs of adjacent products are summed
//! by one instruction. A group's dot product times its two scale factors is exact in FP64, and so is the
//! sum of all groups cut to units of 2^(e_max - F). Where nothing is cut and elements have few bits, sums are those
//! of integers (`small`).

mod small;

use std::sync::OnceLock;

use bitmma_arithmetic::run::Side;
use bitmma_arithmetic::{Conversion, FusedSum, Lowering, Operation, Prepared};
use bitmma_formats::{Class, Format, Rounding, decode};

use super::element::Element;
use super::element::Range;
use super::elementwise::{integer, power};
use super::family::{Family, Kernel, Rare};
use super::pack::{Aligned, Cells, GROUP, ROWS, VECTORS};
use super::panels::widen::Widen;
use super::routes::{Route, count};
use super::simd::{Level, Simd};
use small::{Small, sums};

/// Smaller than every exponent.
const NOWHERE: i32 = -100_000;

/// The kernel, planned for a model.
pub(crate) struct Grouped {
    length: usize,
    group: usize,
    /// F.
    fraction_bits: i32,
    /// Exponent of a zero term; `NOWHERE` where it has none.
    zero: i32,
    /// What each code of a scale factor is.
    factors: Vec<Factor>,
    /// Units of the factors' last bits, multiplied.
    unit: f64,
    /// Last bits of A and B, as exponents.
    a_last: i32,
    b_last: i32,
    /// Operations of a block that integers hold, at most; 0 where elements have too many bits.
    small: usize,
}

/// A scale factor; one that is not finite is zero, and the elements under it are special.
struct Factor {
    is_finite: bool,
    /// Exp, and the exponent of the last bit.
    exponent: i32,
    last: i32,
    significand: u64,
    value: f64,
}

impl Factor {
    fn of(format: &Format, code: u64) -> Factor {
        let factor = decode(format, code);
        let is_finite = factor.class == Class::Finite;
        let last = factor.exponent - format.fraction_bits as i32;
        let significand = if is_finite { factor.significand } else { 0 };
        let exponent = if is_finite { factor.exponent } else { 0 };
        Factor { is_finite, exponent, last, significand, value: significand as f64 * power(last) }
    }
}

/// Exponent of a format's last bit: that of its smallest positive number.
fn last_bit(format: &Format) -> i32 {
    format.min_exponent() - format.fraction_bits as i32
}

/// The largest number of a format in units of its last bit; `None` if it has more than 15 bits.
fn largest(format: &Format) -> Option<u128> {
    let bits = format.max_exponent() - last_bit(format) + 1;
    (bits <= 15).then(|| (1 << bits) - 1)
}

impl Grouped {
    /// The kernel for a model, if it is one for it.
    pub(crate) fn plan(prepared: &Prepared<'_>) -> Option<Grouped> {
        let model = prepared.model();
        let Operation::GstFdpa { sum, group } = model.operation else { return None };
        let FusedSum { fraction_bits, term_rounding, zero_exponent, .. } = sum;
        let one_cut = sum.accumulator_bits() == fraction_bits;
        let (a, b) = (prepared.operand_format(Side::A), prepared.operand_format(Side::B));
        let scale = model.scale?;
        let product = largest(&a)? * largest(&b)?;
        let dot = product * group as u128; // one group, in units of the last bits
        let factor = (2u128 << scale.format.fraction_bits) - 1;
        let scaled = dot * factor * factor;
        let units = last_bit(&a) + last_bit(&b) - 2 * scale.format.fraction_bits as i32;
        let groups = prepared.length().div_ceil(group) as u128;
        // every group in units of 2^(e_g - F), and the accumulator; FP64 holds 53 bits exactly
        let shift = fraction_bits as i32 + units;
        let term = if shift >= 0 { scaled.checked_shl(shift as u32)? } else { scaled >> -shift };
        let most = term.checked_mul(groups)? + (2 << fraction_bits) + groups;
        let fits = dot < 1 << 31
            && scaled < 1 << 53
            && most < 1 << 53
            && fraction_bits <= 45
            && group.is_multiple_of(2)
            && group <= 32
            && groups <= MOST_GROUPS as u128
            && term_rounding == Rounding::TowardZero
            && model.conversion == Conversion::RZ_FP32
            && model.c == model.conversion.container()
            && model.lowering == Lowering::NONE
            && !model.flush_operands.is_on()
            && !model.flush_accumulator.is_on()
            && scale.format.bits() <= 8
            && one_cut;
        let small = small::most_operations(&sum, (&a, &b), product * prepared.length() as u128)
            .filter(|_| group.is_multiple_of(16))
            .unwrap_or(0);
        fits.then(|| Grouped {
            length: prepared.length(),
            group,
            fraction_bits: fraction_bits as i32,
            zero: zero_exponent.map_or(NOWHERE, |zero| zero.max(NOWHERE)),
            factors: (0..1 << scale.format.bits()).map(|code| Factor::of(&scale.format, code)).collect(),
            unit: power(last_bit(&a) + last_bit(&b)),
            a_last: last_bit(&a),
            b_last: last_bit(&b),
            small,
        })
    }

    fn groups(&self) -> usize {
        self.length / self.group
    }

    /// Lines whose elements have their last bit at 2^`last`; what is added to small ones, and the unit of others.
    #[inline(always)]
    fn packed(&self, cells: Cells, last: i32, added: i32, unit: f64) -> Packed {
        let (small, wide) = match self.small {
            0 => (None, OnceLock::from(Box::new(self.pack(&cells, last, unit)))), // every operation takes it
            _ => (Some(Box::new(Small::of(self, &cells, last, added))), OnceLock::new()),
        };
        Packed { cells, small, wide, factors: Vec::new() }
    }

    /// Pairs of factors, and for each group and line its scale factor and which elements are not zero.
    #[inline(always)]
    fn pack(&self, cells: &Cells, last: i32, unit: f64) -> Wide {
        let lines = cells.lines;
        let count = cells.positions();
        let scale = power(-last) as f32;
        let integer = |value: f32| integer(value * scale) as u16; // below 2^15 by construction
        let mut packed = Wide::default();
        for pair in cells.values.chunks_exact(2 * lines) {
            let (even, odd) = pair.split_at(lines);
            let both = |(&even, &odd): (&f32, &f32)| u32::from(integer(even)) | u32::from(integer(odd)) << 16;
            packed.pairs.extend(even.iter().zip(odd).map(both).map(u32::cast_signed));
        }
        for position in (0..count).step_by(self.group) {
            // line by line within each, which is done in vectors
            let mut masks = vec![0u32; lines];
            let values = &cells.values[position * lines..(position + self.group) * lines];
            for (k, values) in values.chunks_exact(lines).enumerate() {
                for (mask, &value) in masks.iter_mut().zip(values) {
                    *mask |= u32::from(value != 0.0) << k;
                }
            }
            for (line, mask) in masks.into_iter().enumerate() {
                let factor = &self.factors[cells.scale(line, position) as usize];
                packed.masks.push(if factor.is_finite { mask.cast_signed() } else { 0 });
                packed.exponents.push(factor.exponent);
                packed.scales.push(factor.value * unit);
            }
        }
        packed
    }
}

/// Rows of A or a panel of columns of B.
pub(crate) struct Packed {
    cells: Cells,
    /// Where elements have few bits.
    small: Option<Box<Small>>,
    /// For operations that may be cut, where there are any.
    wide: OnceLock<Box<Wide>>,
    /// The codes of scale factors, where columns are kept beside their codes.
    factors: Vec<u8>,
}

/// Lines for operations that may be cut.
#[derive(Default)]
struct Wide {
    /// Two 16-bit factors, the even one low.
    pairs: Vec<i32>,
    /// For each group and line: which of its elements are not zero (none under a zero scale factor).
    masks: Vec<i32>,
    /// For each group and line: Exp of the scale factor.
    exponents: Vec<i32>,
    /// For each group and line: the scale factor; A's holds the units of the factors as well.
    scales: Vec<f64>,
}

impl Family<f32, Element> for Grouped {}

impl Kernel for Grouped {
    type Number = f32;
    type Entry = Element;
    type A = Packed;
    type B = Packed;

    #[inline(always)]
    fn pack_a(&self, cells: Cells) -> Packed {
        self.packed(cells, self.a_last, small::LARGEST, self.unit)
    }

    #[inline(always)]
    fn pack_b(&self, cells: Cells) -> Packed {
        let mut packed = self.packed(cells, self.b_last, 0, 1.0);
        packed.small = packed.small.filter(|small| small.fits(0..packed.cells.lines));
        packed
    }

    fn strip(&self, packed: &mut Packed) {
        packed.factors = packed.cells.scales.iter().map(|&code| code as u8).collect();
        let Cells { lines, there, block, directed, .. } = packed.cells;
        (packed.cells, packed.small, packed.wide) =
            (empty(lines, there, block, directed), None, OnceLock::new());
    }

    fn fill(&self, level: Level, widen: &Widen, words: &[i32], kept: &Packed, into: &mut Option<Packed>) {
        let Cells { lines, there, block, directed, .. } = kept.cells;
        let mut cells =
            into.take().map_or_else(|| empty(lines, there, block, directed), |packed| packed.cells);
        (cells.lines, cells.there, cells.block) = (lines, there, block);
        let count = words.len() * 32 / widen.cell as usize;
        widen.numbers(level, VECTORS, words, cells.values.resized(count));
        cells.scales.clear();
        match kept.factors.is_empty() {
            true => cells.scales.extend_from_slice(&kept.cells.scales),
            false => cells.scales.extend(kept.factors.iter().map(|&code| u64::from(code))),
        }
        *into = Some(level.compiled(
            #[inline(always)]
            || self.pack_b(cells),
        ));
    }

    fn is_filled(&self, packed: &Packed, filled: &Packed) -> bool {
        let pairs = packed.cells.values.iter().zip(&*filled.cells.values);
        packed.cells.values.len() == filled.cells.values.len()
            && pairs.fold(true, |same, (x, y)| same & ((x + 0.0).to_bits() == (y + 0.0).to_bits()))
            && packed.cells.scales.iter().all(|&code| u8::try_from(code).is_ok())
    }

    fn bytes(&self, packed: &Packed) -> usize {
        packed.factors.len()
    }

    #[inline(always)]
    fn rows<S: Simd>(&self, s: S, a: &Packed, b: &Packed, k: Range, state: &mut [f32], _: &mut Rare<'_>) {
        let tile = ROWS * VECTORS * S::LANES;
        assert!(state.len().is_multiple_of(tile) && state.len() <= GROUP / ROWS * tile);
        let operations = k.length / self.length;
        let small = a.small.as_deref().zip(b.small.as_deref()).filter(|_| operations <= self.small);
        for (pair, state) in state.chunks_exact_mut(tile).enumerate() {
            let row = pair * ROWS;
            let small = small.filter(|(a, _)| a.fits(row..row + ROWS));
            for vector in (0..VECTORS).step_by(2) {
                if let Some(lines) = small
                    && sums(s, self, lines, (row, vector), state)
                {
                    count(Route::Whole);
                    continue;
                }
                let wide: (&Wide, &Wide) = (
                    a.wide.get_or_init(|| Box::new(self.pack(&a.cells, self.a_last, self.unit))),
                    b.wide.get_or_init(|| Box::new(self.pack(&b.cells, self.b_last, 1.0))),
                );
                for operation in 0..operations {
                    count(Route::Groups);
                    let place = (operation, row, vector);
                    match self.groups() {
                        ..=4 => self.vectors::<S, 4>(s, wide, place, state),
                        _ => self.vectors::<S, MOST_GROUPS>(s, wide, place, state),
                    }
                }
            }
        }
    }
}

/// Lines without elements.
fn empty(lines: usize, there: usize, block: usize, directed: bool) -> Cells {
    let (exponents, scales, traits) = (Vec::new(), Vec::new(), Vec::new());
    Cells { lines, there, values: Aligned::default(), exponents, scales, block, traits, directed }
}

/// Groups of one operation at most; more are for the reference path.
const MOST_GROUPS: usize = 16;

impl Grouped {
    /// One operation of up to `MOST` groups for two vectors of some rows, from a row of the group on.
    #[inline(always)]
    fn vectors<S: Simd, const MOST: usize>(
        &self,
        s: S,
        (a, b): (&Wide, &Wide),
        (operation, first_row, vector): (usize, usize, usize),
        state: &mut [f32],
    ) {
        let width = VECTORS * S::LANES;
        let groups = self.groups();
        let pairs = self.group / 2;
        let mut dots = [[[s.i_splat(0); 2]; ROWS]; MOST];
        let mut maximum = [[s.i_splat(NOWHERE); 2]; ROWS];
        for group in 0..groups {
            let index = operation * groups + group;
            let rows = a.pairs[index * pairs * GROUP..][..pairs * GROUP].chunks_exact(GROUP);
            let lines = b.pairs[index * pairs * width..][..pairs * width].chunks_exact(width);
            let mut sums = [[s.i_splat(0); 2]; ROWS];
            for (numbers, line) in rows.zip(lines) {
                let line = &line[vector * S::LANES..][..2 * S::LANES];
                let columns = [s.i_load(line), s.i_load(&line[S::LANES..])];
                for (sums, &factor) in sums.iter_mut().zip(&numbers[first_row..][..ROWS]) {
                    let factor = s.i_splat(factor);
                    sums[0] = s.i_dot2(sums[0], factor, columns[0]);
                    sums[1] = s.i_dot2(sums[1], factor, columns[1]);
                }
            }
            dots[group] = sums;
            for half in 0..2 {
                let at = index * width + (vector + half) * S::LANES;
                let b_mask = s.i_load(&b.masks[at..]);
                let b_exponent = s.i_load(&b.exponents[at..]);
                for (row, maximum) in maximum.iter_mut().enumerate() {
                    let mask = s.i_splat(a.masks[index * GROUP + first_row + row]);
                    let zero = s.i_eq(s.i_and(mask, b_mask), s.i_splat(0));
                    let own = s.i_add(s.i_splat(a.exponents[index * GROUP + first_row + row]), b_exponent);
                    let own = s.i_select(zero, s.i_splat(self.zero), own);
                    maximum[half] = s.i_max(maximum[half], own);
                }
            }
        }
        for (row, maximum) in maximum.iter().enumerate() {
            for half in 0..2 {
                let state = &mut state[row * width + (vector + half) * S::LANES..];
                let c = s.f_load(state);
                let bits = s.f_bits(c);
                let field = s.i_shr(24, s.i_shl(1, bits));
                let own = s.i_max(s.i_sub(field, s.i_splat(127)), s.i_splat(-126));
                let zero = s.i_eq(s.i_shl(1, bits), s.i_splat(0));
                let own = s.i_select(zero, s.i_splat(self.zero), own);
                // nothing at all: any exponent in range will do, for every term is zero
                let all = s.i_max(s.i_max(maximum[half], own), s.i_splat(-500));

                let exponent = s.i_sub(s.i_splat(1023 + self.fraction_bits), all);
                let units = s.d_from_words(s.i_splat(0), s.i_shl(20, exponent));
                let mut totals = units;
                for part in 0..2 {
                    let c = s.d_load_f(&state[part * S::LANES / 2..]);
                    totals[part] = s.d_truncate(s.d_mul(c, units[part]));
                }
                for (group, dots) in dots.iter().enumerate().take(groups) {
                    let index = operation * groups + group;
                    let dot = s.i_to_d(dots[row][half]);
                    let a_scale = s.d_splat(a.scales[index * GROUP + first_row + row]);
                    let b_scales = &b.scales[index * width + (vector + half) * S::LANES..][..S::LANES];
                    for part in 0..2 {
                        let b_scale = s.d_load(&b_scales[part * S::LANES / 2..]);
                        let scale = s.d_mul(s.d_mul(a_scale, b_scale), units[part]);
                        totals[part] = s.d_add(totals[part], s.d_truncate(s.d_mul(dot[part], scale)));
                    }
                }

                let exponent = s.i_add(all, s.i_splat(1023 - self.fraction_bits));
                let back = s.d_from_words(s.i_splat(0), s.i_shl(20, exponent));
                let kept = s.d_splat(f64::from_bits(!0 << 29));
                for part in 0..2 {
                    // cut to 24 bits, and to 2^-149; no zero is negative
                    let value = s.d_and(s.d_mul(totals[part], back[part]), kept);
                    let units = s.d_truncate(s.d_mul(value, s.d_splat(power(149))));
                    let value = s.d_add(s.d_mul(units, s.d_splat(power(-149))), s.d_splat(0.0));
                    s.d_store_f(&mut state[part * S::LANES / 2..], value);
                }
            }
        }
    }
}
