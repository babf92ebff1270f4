//! GST-FDPA on FP4 and FP6: exact integer dot products of groups, scaled and summed in FP64.
//!
//! A factor in units of its format's last bit is a small integer; pairs of adjacent products are summed
//! by one instruction. A group's dot product times its two scale factors is exact in FP64, and so is the
//! sum of all groups cut to units of 2^(e_max - F).

use bitmma_arithmetic::run::Side;
use bitmma_arithmetic::{Conversion, FusedSum, Lowering, Operation, Prepared};
use bitmma_formats::{BlockScale, Class, Format, Rounding, decode};

use super::drive::Kernel;
use super::pack::{Cells, GROUP, ROWS, Range, VECTORS};
use super::simd::Simd;

/// Smaller than every exponent.
const NOWHERE: i32 = -100_000;

/// The kernel, planned for a model.
pub(super) struct Grouped {
    length: usize,
    group: usize,
    /// F.
    fraction_bits: i32,
    /// Exponent of a zero term; `NOWHERE` where it has none.
    zero: i32,
    scale: BlockScale,
    /// Units of the factors' last bits, multiplied.
    unit: f64,
    /// Last bits of A and B, as exponents.
    a_last: i32,
    b_last: i32,
    nan: u64,
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
    pub(super) fn plan(prepared: &Prepared<'_>) -> Option<Grouped> {
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
        let sum = term.checked_mul(groups)? + (2 << fraction_bits) + groups;
        let fits = dot < 1 << 31
            && scaled < 1 << 53
            && sum < 1 << 53
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
            && one_cut;
        fits.then(|| Grouped {
            length: prepared.length(),
            group,
            fraction_bits: fraction_bits as i32,
            zero: zero_exponent.map_or(NOWHERE, |zero| zero.max(NOWHERE)),
            scale,
            unit: f64::from_bits(((last_bit(&a) + last_bit(&b) + 1023) as u64) << 52),
            a_last: last_bit(&a),
            b_last: last_bit(&b),
            nan: model.emitted_nan(),
        })
    }

    fn groups(&self) -> usize {
        self.length / self.group
    }

    /// Pairs of factors, and for each group and line its scale factor and which elements are not zero.
    #[inline(always)]
    fn pack(&self, cells: &Cells, last: i32, unit: f64) -> Packed {
        let lines = cells.lines;
        let count = cells.positions();
        let integer = |value: f32| {
            // an integer below 2^15 by construction
            (f64::from(value) * f64::from_bits(((1023 - last) as u64) << 52)) as i16
        };
        let mut packed = Packed::default();
        for pair in cells.values.chunks_exact(2 * lines) {
            let (even, odd) = pair.split_at(lines);
            let both = |(&even, &odd): (&f32, &f32)| {
                u32::from(integer(even).cast_unsigned()) | u32::from(integer(odd).cast_unsigned()) << 16
            };
            packed.pairs.extend(even.iter().zip(odd).map(both).map(u32::cast_signed));
        }
        for position in (0..count).step_by(self.group) {
            for line in 0..lines {
                let values = &cells.values[position * lines..(position + self.group) * lines];
                let scale = decode(&self.scale.format, cells.scale(line, position));
                let finite = scale.class == Class::Finite;
                let mut mask = 0u32;
                for (k, &value) in values[line..].iter().step_by(lines).enumerate() {
                    mask |= u32::from(finite && value != 0.0) << k;
                }
                packed.masks.push(mask.cast_signed());
                packed.exponents.push(if finite { scale.exponent } else { 0 });
                let last = scale.exponent - self.scale.format.fraction_bits as i32;
                let power = f64::from_bits(((last + 1023) as u64) << 52);
                packed.scales.push(if finite { scale.significand as f64 * power * unit } else { 0.0 });
            }
        }
        packed
    }
}

/// Rows of A or a panel of columns of B.
#[derive(Default)]
pub(super) struct Packed {
    /// Two 16-bit factors, the even one low.
    pairs: Vec<i32>,
    /// For each group and line: which of its elements are not zero (none under a zero scale factor).
    masks: Vec<i32>,
    /// For each group and line: Exp of the scale factor.
    exponents: Vec<i32>,
    /// For each group and line: the scale factor; A's holds the units of the factors as well.
    scales: Vec<f64>,
}

impl Kernel for Grouped {
    type A = Packed;
    type B = Packed;
    const HALVES: bool = true;

    #[inline(always)]
    fn pack_a(&self, cells: Cells) -> Packed {
        self.pack(&cells, self.a_last, self.unit)
    }

    #[inline(always)]
    fn pack_b(&self, cells: Cells) -> Packed {
        self.pack(&cells, self.b_last, 1.0)
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
        _: &mut dyn FnMut(usize, usize, usize, f32) -> f32,
    ) {
        unsafe {
            let tile = ROWS * VECTORS * S::LANES;
            assert!(state.len().is_multiple_of(tile) && state.len() <= GROUP / ROWS * tile);
            for (pair, state) in state.chunks_exact_mut(tile).enumerate() {
                for operation in 0..k.length / self.length {
                    for vector in (0..VECTORS).step_by(2) {
                        let place = (operation, pair * ROWS, vector);
                        match self.groups() {
                            ..=4 => self.vectors::<S, 4>((a, b), place, state),
                            _ => self.vectors::<S, MOST_GROUPS>((a, b), place, state),
                        }
                    }
                }
            }
        }
    }
}

/// Groups of one operation at most; more are for the reference path.
const MOST_GROUPS: usize = 16;

impl Grouped {
    /// One operation of up to `MOST` groups for two vectors of some rows, from a row of the group on.
    #[inline(always)]
    unsafe fn vectors<S: Simd, const MOST: usize>(
        &self,
        (a, b): (&Packed, &Packed),
        (operation, first_row, vector): (usize, usize, usize),
        state: &mut [f32],
    ) {
        unsafe {
            let width = VECTORS * S::LANES;
            let groups = self.groups();
            let pairs = self.group / 2;
            let mut dots = [[[S::i_splat(0); 2]; ROWS]; MOST];
            let mut maximum = [[S::i_splat(NOWHERE); 2]; ROWS];
            for group in 0..groups {
                let index = operation * groups + group;
                let a_pairs = a.pairs.as_ptr().add(index * pairs * GROUP + first_row);
                let b_pairs = b.pairs.as_ptr().add(index * pairs * width + vector * S::LANES);
                let mut sums = [[S::i_splat(0); 2]; ROWS];
                for pair in 0..pairs {
                    let columns = [
                        S::i_load(b_pairs.add(pair * width)),
                        S::i_load(b_pairs.add(pair * width + S::LANES)),
                    ];
                    for (row, sums) in sums.iter_mut().enumerate() {
                        let factor = S::i_splat(*a_pairs.add(pair * GROUP + row));
                        sums[0] = S::i_dot2(sums[0], factor, columns[0]);
                        sums[1] = S::i_dot2(sums[1], factor, columns[1]);
                    }
                }
                dots[group] = sums;
                for half in 0..2 {
                    let at = index * width + (vector + half) * S::LANES;
                    let b_mask = S::i_load(b.masks.as_ptr().add(at));
                    let b_exponent = S::i_load(b.exponents.as_ptr().add(at));
                    for (row, maximum) in maximum.iter_mut().enumerate() {
                        let mask = S::i_splat(a.masks[index * GROUP + first_row + row]);
                        let zero = S::i_eq(S::i_and(mask, b_mask), S::i_splat(0));
                        let own =
                            S::i_add(S::i_splat(a.exponents[index * GROUP + first_row + row]), b_exponent);
                        let own = S::i_select(zero, S::i_splat(self.zero), own);
                        maximum[half] = S::i_max(maximum[half], own);
                    }
                }
            }
            for (row, maximum) in maximum.iter().enumerate() {
                for half in 0..2 {
                    let at = state.as_mut_ptr().add(row * width + (vector + half) * S::LANES);
                    let c = S::f_load(at);
                    let bits = S::f_bits(c);
                    let field = S::i_shr::<24>(S::i_shl::<1>(bits));
                    let own = S::i_max(S::i_sub(field, S::i_splat(127)), S::i_splat(-126));
                    let zero = S::i_eq(S::i_shl::<1>(bits), S::i_splat(0));
                    let own = S::i_select(zero, S::i_splat(self.zero), own);
                    // nothing at all: any exponent in range will do, for every term is zero
                    let all = S::i_max(S::i_max(maximum[half], own), S::i_splat(-500));

                    let power = S::i_sub(S::i_splat(1023 + self.fraction_bits), all);
                    let units = S::d_from_words(S::i_splat(0), S::i_shl::<20>(power));
                    let wide_c = S::f_to_d(c);
                    let mut totals = [0, 1].map(
                        #[inline(always)]
                        |part: usize| S::d_truncate(S::d_mul(wide_c[part], units[part])),
                    );
                    for (group, dots) in dots.iter().enumerate().take(groups) {
                        let index = operation * groups + group;
                        let dot = S::i_to_d(dots[row][half]);
                        let a_scale = S::d_splat(a.scales[index * GROUP + first_row + row]);
                        let b_scales = b.scales.as_ptr().add(index * width + (vector + half) * S::LANES);
                        for part in 0..2 {
                            let b_scale = S::d_load(b_scales.add(part * S::LANES / 2));
                            let scale = S::d_mul(S::d_mul(a_scale, b_scale), units[part]);
                            totals[part] = S::d_add(totals[part], S::d_truncate(S::d_mul(dot[part], scale)));
                        }
                    }

                    let power = S::i_add(all, S::i_splat(1023 - self.fraction_bits));
                    let back = S::d_from_words(S::i_splat(0), S::i_shl::<20>(power));
                    let values = [S::d_mul(totals[0], back[0]), S::d_mul(totals[1], back[1])];
                    let result = S::f_bits(S::d_to_f_toward_zero(values));
                    // 2^128 and beyond is infinity, and no zero is negative
                    let [_, high] = S::d_words(values);
                    let magnitude = S::i_and(high, S::i_splat(0x7fff_ffff));
                    let sign = S::i_and(high, S::i_splat(i32::MIN));
                    let infinity = S::i_or(sign, S::i_splat(0x7f80_0000));
                    let beyond = S::i_gt(magnitude, S::i_splat(0x47ef_ffff));
                    let result = S::i_select(beyond, infinity, result);
                    let zero = S::i_eq(S::i_shl::<1>(result), S::i_splat(0));
                    let result = S::i_select(zero, S::i_splat(0), result);
                    // an accumulator that is not finite stays
                    let special = S::i_eq(field, S::i_splat(255));
                    S::i_store(at.cast(), S::i_select(special, bits, result));
                }
            }
        }
    }
}
