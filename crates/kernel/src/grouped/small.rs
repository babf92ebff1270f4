//! Operations of which nothing is cut, in integers: elements as bytes, scale factors as integers of few bits.
//!
//! Over a block of K the scale factors of a line have one unit. With 2^q the product of both lines' units and of the last
//! bits of their elements, T of an operation is an integer of at most 31 bits in units of 2^q, whose exponent is less
//! than q + F: no group is cut. Nor is an accumulator that is a multiple of 2^q below 2^(q + F + 1). Cut to 24 bits, what
//! the operation comes to is a multiple of 2^q again: so it is enough to look where a block begins. Blocks have units of
//! their own: accumulators are held in finer ones by [`FINER`] bits.

use bitmma_arithmetic::FusedSum;
use bitmma_formats::Format;

use super::{Grouped, last_bit};
use crate::elementwise::{integer, power};
use crate::pack::{Aligned, Cells, GROUP, ROWS, VECTORS};
use crate::simd::{Positions, Simd, multiply_add};

/// Elements are below this in magnitude: that of A is added to them, so that one factor of each product is not negative.
pub(crate) const LARGEST: i32 = 16;
/// The largest scale factor: the product of two takes 15 bits.
const LARGEST_SCALE: u64 = 181;
/// Bits by which the units of accumulators are below 2^q.
const FINER: u32 = 4;
/// Units of scale factors are from 2^-this to 2^this.
const MOST_UNIT: i32 = 40;

/// Operations of a block of K whose sum, and an accumulator as large, fill 2^(F + 1) of the accumulators' units; `None` where
/// elements have too many bits. `largest` is the largest dot product of an operation, without scale factors.
pub(crate) fn most_operations(sum: &FusedSum, (a, b): (&Format, &Format), largest: u128) -> Option<usize> {
    let few_bits = |format: &Format| format.max_exponent() - last_bit(format) < 4;
    let operation = largest * u128::from(LARGEST_SCALE).pow(2);
    // e_max without accumulator, of scale factors below 2^8 units
    let above = 14 - last_bit(a) - last_bit(b) + FINER as i32;
    let fits = few_bits(a)
        && few_bits(b)
        && operation < 1 << 31
        && above <= sum.fraction_bits as i32
        && sum.zero_exponent.is_none_or(|zero| zero < -2 * MOST_UNIT - 20);
    fits.then(|| ((1u128 << sum.fraction_bits) / (operation << FINER)) as usize)
}

/// Some lines over a block of K.
pub(crate) struct Small {
    /// Four elements of a line in a word, the earliest lowest; of A they are [`LARGEST`] more.
    quads: Aligned<i32>,
    /// For each group and line of B: minus [`LARGEST`] for each of its elements.
    starts: Aligned<i32>,
    /// For each group and line: the scale factor in units of the line.
    scales: Aligned<i32>,
    /// For each line: the unit of its scaled elements, and 1 over it; 0 where scale factors are too far apart.
    units: Aligned<f64>,
    inverses: Aligned<f64>,
}

impl Small {
    /// Lines whose elements have their last bit at 2^`last`; with what is added to each.
    #[inline(always)]
    pub(crate) fn of(plan: &Grouped, cells: &Cells, last: i32, added: i32) -> Small {
        let lines = cells.lines;
        let groups = cells.positions() / plan.group;
        let mut small = Small {
            quads: Aligned::zeros(cells.values.len() / 4),
            starts: Aligned::zeros(groups * lines),
            scales: Aligned::zeros(groups * lines),
            units: Aligned::zeros(lines),
            inverses: Aligned::zeros(lines),
        };
        // a number this large has its unit in the last place
        let (scale, whole) = (power(-last) as f32, (3 << 22) as f32);
        for (values, words) in
            cells.values.chunks_exact(4 * lines).zip(small.quads.slice().chunks_exact_mut(lines))
        {
            for (index, values) in values.chunks_exact(lines).enumerate() {
                for (word, value) in words.iter_mut().zip(values) {
                    let bits = (value * scale + (whole + added as f32)).to_bits();
                    *word |= ((bits & 0xff) << (8 * index)).cast_signed();
                }
            }
        }
        for (values, starts) in
            cells.values.chunks_exact(plan.group * lines).zip(small.starts.slice().chunks_exact_mut(lines))
        {
            for values in values.chunks_exact(lines) {
                for (start, value) in starts.iter_mut().zip(values) {
                    *start -= integer(value * scale * LARGEST as f32);
                }
            }
        }
        // groups may share a scale factor
        let scale = |group: usize| (0..lines).map(move |line| cells.scale(line, group * plan.group));
        let factor = |code: u64| (plan.factors[code as usize].significand, plan.factors[code as usize].last);
        let scales: Vec<(u64, i32)> = (0..groups).flat_map(scale).map(factor).collect();
        for line in 0..lines {
            let own = || scales[line..].iter().step_by(lines).filter(|(significand, _)| *significand > 0);
            let unit = own().map(|&(_, last)| last).min().unwrap_or(0);
            let fits = |&(significand, last): &(u64, i32)| {
                last - unit < 8 && significand << (last - unit) <= LARGEST_SCALE
            };
            if unit.abs() <= MOST_UNIT && own().all(fits) {
                (small.units.slice()[line], small.inverses.slice()[line]) =
                    (power(unit + last), power(-unit - last));
                let outputs = small.scales.slice()[line..].iter_mut().step_by(lines);
                for (to, &(significand, last)) in outputs.zip(scales[line..].iter().step_by(lines)) {
                    *to = if significand > 0 { (significand << (last - unit)) as i32 } else { 0 };
                }
            }
        }
        small
    }

    /// Whether the scale factors of some lines are near each other.
    pub(crate) fn fits(&self, lines: std::ops::Range<usize>) -> bool {
        self.units[lines].iter().all(|&unit| unit > 0.0)
    }
}

/// The operations of a block for two vectors of some rows, from a row of the group on. Whether nothing is cut; if
/// something may be, nothing was changed.
#[inline(always)]
pub(crate) fn sums<S: Simd>(
    s: S,
    plan: &Grouped,
    (a, b): (&Small, &Small),
    (row, vector): (usize, usize),
    state: &mut [f32],
) -> bool {
    let (width, lanes) = (VECTORS * S::LANES, S::LANES / 2);
    let column = vector * S::LANES;
    let mut numbers = [[[s.d_splat(0.0); 2]; 2]; ROWS];
    let mut parts = s.d_splat(0.0);
    let (finer, beyond) = (power(FINER as i32), s.d_splat(power(-plan.fraction_bits)));
    for of_pair in 0..ROWS {
        let inverse = s.d_splat(a.inverses[row + of_pair] * finer);
        for half in 0..2 {
            let column = column + half * S::LANES;
            for part in 0..2 {
                let column = column + part * lanes;
                let c = s.d_mul(s.d_load_f(&state[of_pair * width + column..]), inverse);
                // no zero is negative
                let c = s.d_add(s.d_mul(c, s.d_load(&b.inverses[column..])), s.d_splat(0.0));
                numbers[of_pair][half][part] = c;
                // neither is zero for what is not finite
                parts = s.d_or(parts, s.d_sub(c, s.d_truncate(c)));
                parts = s.d_or(parts, s.d_truncate(s.d_mul(c, beyond)));
            }
        }
    }
    if s.d_nonzero(parts) != 0 {
        return false;
    }
    let (finer, groups, sixteens) = (s.d_splat(finer), plan.groups(), plan.group / 16);
    let kept = s.d_splat(f64::from_bits(!0 << 29));
    let mut elements = Positions::new((&*a.quads, GROUP), (&*b.quads, width));
    let mut scales = Positions::new((&*a.scales, GROUP), (&*b.scales, width));
    let mut starts = b.starts.chunks_exact(width);
    loop {
        let mut totals = [[s.i_splat(0); 2]; ROWS];
        for _ in 0..groups {
            let Some(((of_a, of_b), start)) = scales.next(1).zip(starts.next()) else {
                store(s, (a, b), (row, column), &numbers, state);
                return true;
            };
            let start = [s.i_load(&start[column..]), s.i_load(&start[column + S::LANES..])];
            let mut dots = [start; ROWS];
            for _ in 0..sixteens {
                let Some((x, y)) = elements.next(4) else { return false };
                let mut factors = [[s.i_splat(0); 4]; ROWS];
                let mut columns = [[s.i_splat(0); 4]; 2];
                for quad in 0..4 {
                    for of_pair in 0..ROWS {
                        factors[of_pair][quad] = s.i_splat(x[quad * GROUP + row + of_pair]);
                    }
                    for half in 0..2 {
                        columns[half][quad] = s.i_load(&y[quad * width + column + half * S::LANES..]);
                    }
                }
                for of_pair in 0..ROWS {
                    for half in 0..2 {
                        dots[of_pair][half] = s.i_dot16(dots[of_pair][half], factors[of_pair], columns[half]);
                    }
                }
            }
            for of_pair in 0..ROWS {
                let of_row = s.i_splat(of_a[row + of_pair]);
                for half in 0..2 {
                    // 15 bits; the other half of the word is zero, and leaves the sign of the dot product out
                    let of_columns = s.i_load(&of_b[column + half * S::LANES..]);
                    let scale = s.i_dot2(s.i_splat(0), of_row, of_columns);
                    totals[of_pair][half] = s.i_dot2(totals[of_pair][half], dots[of_pair][half], scale);
                }
            }
        }
        for of_pair in 0..ROWS {
            for half in 0..2 {
                let total = s.i_to_d(totals[of_pair][half]);
                for part in 0..2 {
                    let sum = multiply_add(s, total[part], finer, numbers[of_pair][half][part]);
                    numbers[of_pair][half][part] = s.d_and(sum, kept);
                }
            }
        }
    }
}

/// Puts the accumulators back, from units of both lines.
#[inline(always)]
fn store<S: Simd>(
    s: S,
    (a, b): (&Small, &Small),
    (row, column): (usize, usize),
    numbers: &[[[S::D; 2]; 2]; ROWS],
    state: &mut [f32],
) {
    let (width, lanes) = (VECTORS * S::LANES, S::LANES / 2);
    for of_pair in 0..ROWS {
        let unit = s.d_splat(a.units[row + of_pair] / power(FINER as i32));
        for half in 0..2 {
            for part in 0..2 {
                let at = column + half * S::LANES + part * lanes;
                let number = s.d_mul(s.d_mul(numbers[of_pair][half][part], unit), s.d_load(&b.units[at..]));
                s.d_store_f(&mut state[of_pair * width + at..], number);
            }
        }
    }
}
