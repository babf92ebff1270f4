//! FTZ-AddMul: products and sums of two rounded to FP32 one by one, subnormal results flushed to zero.
//!
//! The definition rounds first, subnormal numbers and all, and flushes what came out: z = RNE-FP32(x op y),
//! and if |z| < 2^-126 then zero of its sign. The processor's own flushing may look before it rounds, so
//! it is left alone; here a result is flushed by its bits, and only where one could be subnormal.
//!
//! **Where none can be.** Let the factors' nonzero numbers be at least 2^a and 2^b, with m_a and m_b
//! fractional bits. Every exact product is a multiple of q = 2^(a - m_a + b - m_b), and so is every rounded
//! product and every rounded sum of products: what is a multiple of q lies on the grid it is rounded to
//! when that is finer than q, and goes to a multiple of a larger power of two when it is coarser. If
//! q ≥ 2^-102, no such result is subnormal. Then the accumulator c, which is zero or normal, plus such a
//! sum s: if s is zero, c is the result. If not, |s| ≥ q, and a result below 2^-126 needs |c| > q/2, so
//! that c is a multiple of 2^-24·q ≥ 2^-126, as s is: the result would be zero. FP16 flushed at the input
//! has a = b = -14, m = 10, q = 2^-48 (its subnormal numbers are multiples of 2^-24: the same q); for
//! other formats the least exponents of a tile's rows and columns decide.
//!
//! **Where products are exact** (22 bits of FP16, 16 of BF16, and none too large or too small),
//! RNE(x0·y0 + RNE(x1·y1)) is one fused multiply-add, which saves one operation of every four.
//!
//! **Dot-Add** of one or two exact products is the same, but that nothing is flushed; D may be narrowed to FP16 after each step.

use bitmma_arithmetic::run::Side;
use bitmma_arithmetic::{Conversion, InputFlush, Lowering, Operation, Prepared};
use bitmma_formats::{Format, table};

use super::accumulator::{code_of, f32_of};
use super::element::Range;
use super::family::{Family, Kernel, Rare};
use super::number::takes;
use super::pack::{Aligned, Cells, GROUP};
use super::panels::widen::Widen;
use super::routes::{Route, count};
use super::simd::{Level, Simd};

/// The kernel, planned for a model.
pub(crate) struct FtzAddMul {
    /// P: 1, 2, 4 or 8.
    pairing: usize,
    /// Elements along K after which the accumulator is read as C is, and narrowed where D is.
    step: usize,
    flush_inputs: bool,
    /// Whether results are flushed where they are subnormal.
    flushes: bool,
    /// Whether C and D are FP16.
    narrow: bool,
    /// Fractional bits of a product: m_a + m_b.
    fraction_bits: i32,
    /// What the formats say of every row and column; `None` if that does not settle the matter.
    always: Option<Bounds>,
}

/// What is known of the nonzero finite numbers of some rows or columns: least and largest exponent.
#[derive(Clone, Copy)]
pub(crate) struct Bounds {
    least: i32,
    largest: i32,
}

/// Smallest q at which no result is subnormal, as an exponent.
const NO_SUBNORMAL: i32 = -102;

impl FtzAddMul {
    /// The kernel for a model, if it is one for it.
    pub(crate) fn plan(prepared: &Prepared<'_>) -> Option<FtzAddMul> {
        let model = prepared.model();
        let (pairing, flushes) = match model.operation {
            Operation::FtzAddMul { pairing } => (pairing, true),
            Operation::DotAdd { .. } => (prepared.length(), false),
            _ => return None,
        };
        let flush = model.flush_operands;
        let one_rule = flush == model.flush_accumulator && flush != InputFlush::Signed;
        let to_even = model.conversion.rounding == bitmma_formats::Rounding::NearestEven;
        let narrow = model.d == table::F16;
        let ends = match narrow {
            true => model.c == model.d && model.lowering.narrow_output == Some(Conversion::RNE_FP16),
            false => model.c == table::F32 && model.lowering == Lowering::NONE,
        };
        let fits = takes::<f32>(model)
            && to_even
            && one_rule
            && ends
            && !(flushes && narrow)
            && model.lowering.add_accumulator_last.is_none()
            && matches!(pairing, 1 | 2 | 4 | 8)
            && (flushes || pairing <= 2 && !flush.is_on());
        if !fits {
            return None;
        }
        let (a, b) = (prepared.code_format(Side::A), prepared.code_format(Side::B));
        let bounds = |format: &Format| Bounds {
            least: format.min_exponent(), // of subnormal numbers too: they are on the same grid
            largest: format.max_exponent(),
        };
        let mut kernel = FtzAddMul {
            pairing,
            step: prepared.k(),
            flush_inputs: flush.is_on(),
            flushes,
            narrow,
            fraction_bits: (a.fraction_bits + b.fraction_bits) as i32,
            always: None,
        };
        let (a, b) = (bounds(&a), bounds(&b));
        let both = Bounds { least: a.least.min(b.least), largest: a.largest.max(b.largest) };
        if kernel.no_subnormal(both, both) && kernel.exact(both, both) {
            kernel.always = Some(both);
        }
        // products that are not exact would be rounded before they are summed
        (flushes || kernel.always.is_some()).then_some(kernel)
    }

    /// What is known of packed numbers.
    #[inline(always)]
    fn bounds(&self, numbers: &[f32]) -> Bounds {
        if let Some(bounds) = self.always {
            return bounds;
        }
        // magnitudes less one: zero becomes the largest of all, and what is not finite is as good as zero
        let (mut least, mut largest) = (u32::MAX, 0);
        for number in numbers {
            let magnitude = number.to_bits() & 0x7fff_ffff;
            least = least.min(magnitude.wrapping_sub(1));
            largest = largest.max(if magnitude < 0xff << 23 { magnitude } else { 0 });
        }
        let exponent = |magnitude: u32| (magnitude >> 23) as i32 - 127;
        Bounds { least: exponent(least.saturating_add(1)), largest: exponent(largest) }
    }

    /// Whether no result of a tile is subnormal.
    fn no_subnormal(&self, a: Bounds, b: Bounds) -> bool {
        a.least + b.least - self.fraction_bits >= NO_SUBNORMAL
    }

    /// Whether every product of finite numbers of a tile is one of FP32, if it is not too small.
    fn exact(&self, a: Bounds, b: Bounds) -> bool {
        // two significands below 2
        self.fraction_bits + 2 <= 24 && a.largest + b.largest + 2 <= 128
    }
}

/// Rows of a tile: measured, 4, 6 and 8 rows of two vectors give 43, 49 and 52 billion products a second, P = 4.
const ROWS: usize = 8;
/// Vectors side by side in a tile.
const VECTORS: usize = 2;

/// Some lines: their numbers, and what is known of these.
pub(crate) struct Packed {
    numbers: Aligned<f32>,
    bounds: Bounds,
}

impl Family<f32, f32> for FtzAddMul {
    #[inline(always)]
    fn load(&self, c: u64) -> f32 {
        let c = self.load_sum(c);
        let flushed = self.flush_inputs && c.to_bits() & (0xff << 23) == 0;
        if flushed { 0.0 } else { c }
    }

    #[inline(always)]
    fn load_sum(&self, c: u64) -> f32 {
        if self.narrow { f32_of(&table::F16, c) } else { f32::from_bits(c as u32) }
    }

    #[inline(always)]
    fn store(&self, state: f32, nan: u64) -> u64 {
        let format = if self.narrow { &table::F16 } else { &table::F32 };
        if state.is_nan() { nan } else { code_of(format, state) }
    }
}

impl Kernel for FtzAddMul {
    type Number = f32;
    type Entry = f32;
    type A = Packed;
    type B = Packed;
    const ROWS: usize = ROWS;
    const ALONE: bool = true;
    const K_BLOCK: usize = 256;

    fn width<S: Simd>() -> usize {
        VECTORS * S::LANES
    }

    #[inline(always)]
    fn pack_a(&self, cells: Cells<f32>) -> Packed {
        Packed { bounds: self.bounds(&cells.values), numbers: cells.values }
    }

    #[inline(always)]
    fn pack_b(&self, cells: Cells<f32>) -> Packed {
        self.pack_a(cells)
    }

    fn strip(&self, packed: &mut Packed) {
        packed.numbers = Aligned::default();
    }

    fn fill(&self, level: Level, widen: &Widen, words: &[i32], kept: &Packed, into: &mut Option<Packed>) {
        let count = words.len() * 32 / widen.cell as usize;
        let mut packed = into.take().unwrap_or(Packed { numbers: Aligned::default(), bounds: kept.bounds });
        packed.bounds = kept.bounds;
        widen.numbers(level, VECTORS, words, packed.numbers.resized(count));
        *into = Some(packed);
    }

    fn is_filled(&self, packed: &Packed, filled: &Packed) -> bool {
        let pairs = packed.numbers.iter().zip(&*filled.numbers);
        packed.numbers.len() == filled.numbers.len()
            && pairs.fold(true, |same, (x, y)| same & (x.to_bits() == y.to_bits()))
    }

    #[inline(always)]
    fn rows<S: Simd>(&self, s: S, a: &Packed, b: &Packed, k: Range, state: &mut [f32], _: &mut Rare<'_>) {
        // a C that was not flushed may be subnormal, and its first sum with it
        let first = k.first == 0 && !self.flush_inputs;
        let usual = !first && self.no_subnormal(a.bounds, b.bounds) && self.exact(a.bounds, b.bounds);
        let fuse = !self.flushes || S::FUSED && usual;
        count(if fuse { Route::Fused } else { Route::Flushed });
        let lines = (&*a.numbers, &*b.numbers);
        if self.narrow {
            let width = VECTORS * S::LANES;
            let steps = lines.0.chunks_exact(self.step * GROUP).zip(lines.1.chunks_exact(self.step * width));
            for lines in steps {
                self.groups(s, fuse, lines, state);
                for sums in state.chunks_exact_mut(S::LANES) {
                    s.f_store(sums, s.f_through_f16(s.f_load(sums)));
                }
            }
        } else {
            self.groups(s, fuse, lines, state);
        }
    }
}

impl FtzAddMul {
    /// Some rows through elements whose sums are not narrowed before their end.
    #[inline(always)]
    fn groups<S: Simd>(&self, s: S, fuse: bool, lines: (&[f32], &[f32]), state: &mut [f32]) {
        match state.len() == VECTORS * S::LANES {
            true => self.tiles::<S, 1>(s, fuse, lines, state),
            false => self.tiles::<S, ROWS>(s, fuse, lines, state),
        }
    }

    /// The same in tiles of `R` rows.
    #[inline(always)]
    fn tiles<S: Simd, const R: usize>(&self, s: S, fuse: bool, lines: (&[f32], &[f32]), state: &mut [f32]) {
        match (self.pairing, fuse) {
            (1, false) => run::<S, 1, false, R>(s, self, lines, state),
            (1, true) => run::<S, 1, true, R>(s, self, lines, state),
            (2, false) => run::<S, 2, false, R>(s, self, lines, state),
            (2, true) => run::<S, 2, true, R>(s, self, lines, state),
            (4, false) => run::<S, 4, false, R>(s, self, lines, state),
            (4, true) => run::<S, 4, true, R>(s, self, lines, state),
            (_, false) => run::<S, 8, false, R>(s, self, lines, state),
            (_, true) => run::<S, 8, true, R>(s, self, lines, state),
        }
    }
}

/// Tiles, with products fused with sums, or with every result flushed.
#[inline(always)]
fn run<S: Simd, const P: usize, const FUSE: bool, const R: usize>(
    s: S,
    plan: &FtzAddMul,
    (a, b): (&[f32], &[f32]),
    state: &mut [f32],
) {
    let (zero, width) = (s.f_splat(0.0), VECTORS * S::LANES);
    for (tile, state) in state.chunks_exact_mut(R * width).enumerate() {
        let row = tile * R;
        assert!(row + R <= GROUP);
        let mut sums = [[zero; VECTORS]; R];
        for (sum, state) in sums.as_flattened_mut().iter_mut().zip(state.chunks_exact(S::LANES)) {
            *sum = s.f_load(state);
            if plan.flush_inputs && FUSE {
                // the first operation of a step reads -0 as +0, and x + 0 does just that; once is enough, for sums
                // that are not flushed are -0 only where the accumulator was
                *sum = s.f_add(*sum, zero);
            }
        }
        let operations = a.chunks_exact(P * GROUP).zip(b.chunks_exact(P * width));
        for (operation, (numbers, lines)) in operations.enumerate() {
            if !FUSE && plan.flush_inputs && (operation * P).is_multiple_of(plan.step) {
                for sum in sums.as_flattened_mut() {
                    *sum = s.f_add(*sum, zero);
                }
            }
            let mut columns = [[zero; P]; VECTORS];
            for (vector, columns) in columns.iter_mut().enumerate() {
                for (column, line) in columns.iter_mut().zip(lines.chunks_exact(width)) {
                    *column = s.f_load(&line[vector * S::LANES..]);
                }
            }
            for (index, sums) in sums.iter_mut().enumerate() {
                let mut factors = [zero; P];
                for (factor, numbers) in factors.iter_mut().zip(numbers.chunks_exact(GROUP)) {
                    *factor = s.f_splat(numbers[row + index]);
                }
                for (sum, columns) in sums.iter_mut().zip(&columns) {
                    *sum = self::operation::<S, P, FUSE>(s, &factors, columns, *sum);
                }
            }
        }
        for (&sum, state) in sums.as_flattened().iter().zip(state.chunks_exact_mut(S::LANES)) {
            s.f_store(state, sum);
        }
    }
}

/// One operation: P products, summed pairwise, then the accumulator.
#[inline(always)]
fn operation<S: Simd, const P: usize, const FUSE: bool>(s: S, a: &[S::F; P], b: &[S::F; P], c: S::F) -> S::F {
    let flushed = |value| if FUSE { value } else { flush(s, value) };
    if P == 1 && FUSE {
        return s.f_fma(a[0], b[0], c);
    }
    let mut terms = [c; P];
    let mut count = P;
    if FUSE {
        count /= 2;
        for (pair, term) in terms[..count].iter_mut().enumerate() {
            let second = s.f_mul(a[2 * pair + 1], b[2 * pair + 1]);
            *term = s.f_fma(a[2 * pair], b[2 * pair], second);
        }
    } else {
        for (term, (&a, &b)) in terms.iter_mut().zip(a.iter().zip(b)) {
            *term = flushed(s.f_mul(a, b));
        }
    }
    while count > 1 {
        count /= 2;
        for pair in 0..count {
            terms[pair] = flushed(s.f_add(terms[2 * pair], terms[2 * pair + 1]));
        }
    }
    flushed(s.f_add(c, terms[0]))
}

/// Zero of the same sign instead of a subnormal number.
#[inline(always)]
fn flush<S: Simd>(s: S, value: S::F) -> S::F {
    let bits = s.f_bits(value);
    let small = s.i_eq(s.i_and(bits, s.i_splat(0xff << 23)), s.i_splat(0));
    s.f_from_bits(s.i_select(small, s.i_and(bits, s.i_splat(i32::MIN)), bits))
}
