//! Products as small as one instruction, straight from their codes.
//!
//! To pack operands for tiles takes several times as long as so few products. Here the codes of both become numbers and
//! exponents, and D is computed row by row, one vector of columns at a time, every product cut. Exponents are 32-bit
//! integers, whose sums do not saturate. The whole product is left to the tiles where something is unusual: a factor that is
//! not finite or too far from one, an accumulator that is not finite beside products, a sum that may have wrapped.

use std::cell::RefCell;

use super::begin::begin_lanes;
use super::careful::alone;
use super::factors::rounded;
use super::{Narrow, Rho};
use crate::codes::{Chunk, Operands, Slice};
use crate::element::{Element, NO_EXPONENT, Reader};
use crate::family::{Family, Problem};
use crate::on_codes;
use crate::products::{Extremes, NO_PRODUCT};
use crate::routes::{Route, count};
use crate::simd::{Level, Simd, Work, by_fours};
use bitmma_arithmetic::Prepared;

/// Elements of an operand, at most; of B with the columns that fill its last vector.
const MOST: usize = 1024;
/// Columns, at most: tiles are made for more.
const MOST_COLUMNS: usize = 16;

/// An operand: numbers, and the exponents of the same.
struct Numbers {
    values: [f32; MOST],
    exponents: [i32; MOST],
}

impl Numbers {
    const NONE: Numbers = Numbers { values: [0.0; MOST], exponents: [0; MOST] };

    /// Takes numbers from codes next to each other, the first at a place and that many; whether all are finite.
    #[inline(always)]
    fn read(
        &mut self,
        reader: &Reader<Element>,
        prepared: &Prepared<'_>,
        codes: Slice<'_>,
        (first, count): (usize, usize),
    ) -> bool {
        on_codes!(codes, codes => {
            let numbers = (&mut self.values[..count], &mut self.exponents[..count]);
            reader.finite(prepared, &codes[first..][..count], numbers)
        })
    }

    /// Takes K×N numbers from others, row by row, as panels of columns. What is beyond the last column is any number.
    #[inline(always)]
    fn spread(&mut self, from: &Numbers, (k, n): (usize, usize), lanes: usize) -> &mut Numbers {
        for position in 0..k {
            for column in 0..n {
                let (to, at) =
                    ((column / lanes * k + position) * lanes + column % lanes, position * n + column);
                self.values[to] = from.values[at];
                self.exponents[to] = from.exponents[at];
            }
        }
        self
    }

    /// Numbers next to each other, and their exponents.
    #[inline(always)]
    fn part(&self, first: usize, count: usize) -> (&[f32], &[i32]) {
        (&self.values[first..][..count], &self.exponents[first..][..count])
    }

    /// Smallest and largest exponent of the first nonzero numbers.
    #[inline(always)]
    fn extremes(&self, count: usize) -> Extremes {
        let (mut smallest, mut largest) = (i32::MAX, i32::MIN);
        for &exponent in &self.exponents[..count] {
            largest = largest.max(exponent);
            smallest = smallest.min(if exponent == i32::from(NO_EXPONENT) { i32::MAX } else { exponent });
        }
        let byte = |exponent: i32| exponent.clamp(i8::MIN.into(), i8::MAX.into()) as i8;
        Extremes { smallest: byte(smallest), largest: byte(largest) }
    }
}

thread_local! {
    /// Room for A, for B, and for B in panels.
    static ROOM: RefCell<[Numbers; 3]> = const { RefCell::new([Numbers::NONE; 3]) };
}

/// D of one of the products, if it is small enough and nothing in it is unusual; whether it is.
pub(crate) fn direct(
    plan: &Narrow,
    problem: &Problem<'_>,
    block: usize,
    readers: [&Reader<Element>; 2],
    d: &mut Chunk<'_>,
) -> bool {
    let Problem { operands: Operands { a, b, .. }, level, .. } = problem;
    // half a vector of AVX-512 holds eight columns
    let (level, columns) = match b.columns {
        ..=8 => (Level::Avx2.min(*level), 8),
        _ => (*level, MOST_COLUMNS),
    };
    let fits = plan.direct
        && b.columns <= columns
        && a.rows * a.columns <= MOST
        && a.columns * columns <= MOST
        && a.is_dense()
        && b.is_dense();
    fits && ROOM.with(|room| match room.try_borrow_mut() {
        Ok(mut room) => level.run(Small { plan, problem, block, readers, room: &mut room, d }),
        Err(_) => false,
    })
}

struct Small<'s, 'c> {
    plan: &'s Narrow,
    problem: &'s Problem<'s>,
    block: usize,
    readers: [&'s Reader<Element>; 2],
    room: &'s mut [Numbers; 3],
    d: &'s mut Chunk<'c>,
}

impl Work for Small<'_, '_> {
    type Output = bool;

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> bool {
        match self.plan.rho {
            Rho::TowardZero { .. } => self.rows::<S, false>(s),
            Rho::NearestFp16 => self.rows::<S, true>(s),
        }
    }
}

impl Small<'_, '_> {
    #[inline(always)]
    fn rows<S: Simd, const FP16: bool>(self, s: S) -> bool {
        let Small {
            plan,
            problem,
            block,
            readers: [a_reader, b_reader],
            room: [of_a, of_b, side_by_side],
            d,
        } = self;
        let Problem { prepared, operands, .. } = problem;
        let (m, n, k) = (operands.a.rows, operands.b.columns, operands.a.columns);
        let nan = prepared.model().emitted_nan().unwrap_or_default();
        if !of_a.read(a_reader, prepared, operands.a.codes, (operands.a.index(block, 0, 0), m * k))
            || !of_b.read(b_reader, prepared, operands.b.codes, (operands.b.index(block, 0, 0), k * n))
            || plan.guard.is_some() && !of_a.extremes(m * k).are_safe_with(of_b.extremes(k * n))
        {
            return false;
        }
        let of_b = if n == S::LANES { of_b } else { side_by_side.spread(of_b, (k, n), S::LANES) };
        let mut state = [0.0; MOST_COLUMNS];
        for row in 0..m {
            match operands.c {
                Some(c) => c.codes.read(c.index(block, row, 0), &mut state[..n], |code| plan.load(code)),
                None => state.fill(0.0),
            }
            for (panel, state) in state[..n.next_multiple_of(S::LANES)].chunks_exact_mut(S::LANES).enumerate()
            {
                let there = u32::MAX >> (32 - S::LANES.min(n - panel * S::LANES));
                for first in (0..k).step_by(plan.length) {
                    let (a, b) = (row * k + first, (panel * k + first) * S::LANES);
                    let factors = [of_a.part(a, plan.length), of_b.part(b, plan.length * S::LANES)];
                    if !operation::<S, FP16>(s, plan, factors, there, state) {
                        return false;
                    }
                }
            }
            d.write(row * n, &state[..n], |state| plan.store(state, nan));
        }
        count(Route::Direct);
        true
    }
}

/// One operation of one row and of the columns of a vector, of which some bits say which are there; `false` where it is not
/// done for all of them.
#[inline(always)]
fn operation<S: Simd, const FP16: bool>(
    s: S,
    plan: &Narrow,
    [(a_values, a_exponents), (b_values, b_exponents)]: [(&[f32], &[i32]); 2],
    there: u32,
    state: &mut [f32],
) -> bool {
    let mut largest = s.i_splat(NO_PRODUCT);
    by_fours!(eights a_exponents, 1; b_exponents, S::LANES => |exponent, line| {
        largest = s.i_max(largest, s.i_add(s.i_splat(exponent[0]), s.i_load(line)));
    });
    let none = s.i_eq(largest, s.i_splat(NO_PRODUCT));
    let c = s.f_load(state);
    let product = s.i_shl(23, s.i_add(largest, s.i_splat(127)));
    let (_, power, mut sum) = begin_lanes::<S, false, FP16>(s, plan, plan.c_minimum, product, c);
    let scale = s.f_from_bits(power);
    // below zero in a lane that wrapped between two parts
    let mut wrapped = s.i_splat(0);
    let mut first = 0;
    while first < plan.length {
        let count = plan.segment.min(plan.length - first);
        let (rows, columns) =
            (&a_values[first..][..count], &b_values[first * S::LANES..][..count * S::LANES]);
        first += count;
        let mut part = s.i_splat(0);
        by_fours!(eights rows, 1; columns, S::LANES => |number, line| {
            let product = s.f_mul(s.f_splat(number[0]), s.f_load(line));
            part = s.i_add(part, s.f_truncate(s.f_mul(product, scale)));
        });
        let before = sum;
        sum = s.i_add(before, part);
        if plan.segment < plan.length {
            wrapped = s.i_or(wrapped, s.i_and(s.i_xor(before, sum), s.i_xor(part, sum)));
        }
    }
    // as of tiles: a sum that may have wrapped is large, and so is that of an accumulator that is not finite
    let number = s.i_to_f_toward_zero(sum);
    let magnitude = s.f_bits(s.f_max_magnitude(s.f_splat(0.0), number));
    let suspect = s.f_bits(s.i_to_f_toward_zero(s.i_splat(plan.suspect)));
    let large = s.i_gt(magnitude, s.i_sub(suspect, s.i_splat(1)));
    let wrong = s.m_bits(s.m_or(large, s.i_gt(s.i_splat(0), wrapped)));
    let nothing = s.m_bits(none);
    if wrong & !nothing & there != 0 {
        return false;
    }
    let unit = s.i_sub(s.i_splat(254 << 23), power);
    let mut result = rounded::<S, FP16>(s, plan, sum, number, unit);
    if nothing & there != 0 {
        result = s.f_from_bits(s.i_select(none, alone(s, plan, s.f_bits(c)), s.f_bits(result)));
    }
    s.f_store(state, result);
    true
}
