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

use bitmma_arithmetic::run::Side;
use bitmma_arithmetic::{InputFlush, Operation, Prepared};
use bitmma_formats::Format;

use super::native::{Native, Packed, takes};
use super::pack::Range;
use super::simd::Simd;

/// The kernel, planned for a model.
pub(super) struct FtzAddMul {
    /// P: 1, 2, 4 or 8.
    pairing: usize,
    /// Elements along K after which the accumulator is read as C is.
    step: usize,
    flush_inputs: bool,
    /// Fractional bits of a product: m_a + m_b.
    fraction_bits: i32,
    /// What the formats say of every row and column; `None` if that does not settle the matter.
    always: Option<Bounds>,
}

/// What is known of the nonzero finite numbers of some rows or columns: least and largest exponent.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    least: i32,
    largest: i32,
}

/// Smallest q at which no result is subnormal, as an exponent.
const NO_SUBNORMAL: i32 = -102;

impl FtzAddMul {
    /// The kernel for a model, if it is one for it.
    pub(super) fn plan(prepared: &Prepared<'_>) -> Option<FtzAddMul> {
        let model = prepared.model();
        let Operation::FtzAddMul { pairing } = model.operation else { return None };
        let flush = model.flush_operands;
        let one_rule = flush == model.flush_accumulator && flush != InputFlush::Signed;
        if !takes::<f32>(model) || !one_rule || !matches!(pairing, 1 | 2 | 4 | 8) {
            return None;
        }
        let (a, b) = (prepared.operand_format(Side::A), prepared.operand_format(Side::B));
        let bounds = |format: &Format| Bounds {
            least: format.min_exponent(), // of subnormal numbers too: they are on the same grid
            largest: format.max_exponent(),
        };
        let mut kernel = FtzAddMul {
            pairing,
            step: prepared.k(),
            flush_inputs: flush.is_on(),
            fraction_bits: (a.fraction_bits + b.fraction_bits) as i32,
            always: None,
        };
        let (a, b) = (bounds(&a), bounds(&b));
        let both = Bounds { least: a.least.min(b.least), largest: a.largest.max(b.largest) };
        if kernel.no_subnormal(both, both) && kernel.exact(both, both) {
            kernel.always = Some(both);
        }
        Some(kernel)
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

impl Native for FtzAddMul {
    type Number = f32;
    type Bounds = Bounds;

    // measured: 4, 6 and 8 rows of two vectors give 43, 49 and 52 billion products a second, P = 4
    const ROWS: usize = 8;

    fn vectors<S: Simd>() -> usize {
        VECTORS
    }

    fn load(&self, c: f32) -> f32 {
        let flushed = self.flush_inputs && c.to_bits() & (0xff << 23) == 0;
        if flushed { 0.0 } else { c }
    }

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

    #[inline(always)]
    unsafe fn tile<S: Simd>(
        &self,
        a: Packed<'_, Self>,
        b: Packed<'_, Self>,
        k: Range,
        d: *mut f32,
        stride: usize,
    ) {
        unsafe {
            let tile = Tile { plan: self, a: a.numbers, b: b.numbers, k, d, stride };
            match self.pairing {
                1 => tile.of_bounds::<S, 1>(a.bounds, b.bounds),
                2 => tile.of_bounds::<S, 2>(a.bounds, b.bounds),
                4 => tile.of_bounds::<S, 4>(a.bounds, b.bounds),
                _ => tile.of_bounds::<S, 8>(a.bounds, b.bounds),
            }
        }
    }
}

/// Vectors side by side in a tile.
const VECTORS: usize = 2;

/// One tile.
struct Tile<'t> {
    plan: &'t FtzAddMul,
    a: &'t [f32],
    b: &'t [f32],
    k: Range,
    d: *mut f32,
    stride: usize,
}

impl Tile<'_> {
    #[inline(always)]
    unsafe fn of_bounds<S: Simd, const P: usize>(self, a: Bounds, b: Bounds) {
        unsafe {
            // a C that was not flushed may be subnormal, and its first sum with it
            let first = self.k.first == 0 && !self.plan.flush_inputs;
            if first || !self.plan.no_subnormal(a, b) {
                self.run::<S, P, true, false>();
            } else if S::FUSED && self.plan.exact(a, b) {
                self.run::<S, P, false, true>();
            } else {
                self.run::<S, P, false, false>();
            }
        }
    }

    /// The tile with its results flushed or not, products fused with sums or not.
    #[inline(always)]
    unsafe fn run<S: Simd, const P: usize, const FLUSH: bool, const FUSE: bool>(self) {
        const ROWS: usize = FtzAddMul::ROWS;
        unsafe {
            let width = VECTORS * S::LANES;
            let Tile { plan, k, d, stride, .. } = self;
            assert!(self.a.len() == k.length * ROWS && self.b.len() == k.length * width);
            assert!(k.length.is_multiple_of(P) && k.first.is_multiple_of(plan.step));
            let at = |row: usize, vector: usize| d.add(row * stride + vector * S::LANES);
            let zero = S::f_splat(0.0);
            let mut sums = [[zero; VECTORS]; ROWS];
            for (row, sums) in sums.iter_mut().enumerate() {
                for (vector, sum) in sums.iter_mut().enumerate() {
                    *sum = S::f_load(at(row, vector));
                    if plan.flush_inputs && !FLUSH {
                        // at the first operation of a step -0 is read as +0, and x + 0 is just that; sums that
                        // are not flushed make no -0 of an accumulator that is none, so that once will do
                        *sum = S::f_add(*sum, zero);
                    }
                }
            }
            let (mut a, mut b) = (self.a.as_ptr(), self.b.as_ptr());
            for group in (0..k.length).step_by(P) {
                if FLUSH && plan.flush_inputs && group.is_multiple_of(plan.step) {
                    for sum in sums.as_flattened_mut() {
                        *sum = S::f_add(*sum, zero);
                    }
                }
                let mut columns = [[zero; P]; VECTORS];
                for (vector, columns) in columns.iter_mut().enumerate() {
                    for (index, column) in columns.iter_mut().enumerate() {
                        *column = S::f_load(b.add(index * width + vector * S::LANES));
                    }
                }
                for (row, sums) in sums.iter_mut().enumerate() {
                    let mut factors = [zero; P];
                    for (index, factor) in factors.iter_mut().enumerate() {
                        *factor = S::f_splat(*a.add(index * ROWS + row));
                    }
                    for (sum, columns) in sums.iter_mut().zip(&columns) {
                        *sum = operation::<S, P, FLUSH, FUSE>(&factors, columns, *sum);
                    }
                }
                (a, b) = (a.add(P * ROWS), b.add(P * width));
            }
            for (row, sums) in sums.iter().enumerate() {
                for (vector, &sum) in sums.iter().enumerate() {
                    S::f_store(at(row, vector), sum);
                }
            }
        }
    }
}

/// One operation: P products, summed pairwise, then the accumulator.
#[inline(always)]
unsafe fn operation<S: Simd, const P: usize, const FLUSH: bool, const FUSE: bool>(
    a: &[S::F; P],
    b: &[S::F; P],
    c: S::F,
) -> S::F {
    unsafe {
        let flushed = |value| if FLUSH { flush::<S>(value) } else { value };
        if P == 1 && FUSE {
            return S::f_fma(a[0], b[0], c);
        }
        let mut terms = [c; P];
        let mut count = P;
        if FUSE {
            count /= 2;
            for (pair, term) in terms[..count].iter_mut().enumerate() {
                let second = S::f_mul(a[2 * pair + 1], b[2 * pair + 1]);
                *term = S::f_fma(a[2 * pair], b[2 * pair], second);
            }
        } else {
            for (term, (&a, &b)) in terms.iter_mut().zip(a.iter().zip(b)) {
                *term = flushed(S::f_mul(a, b));
            }
        }
        while count > 1 {
            count /= 2;
            for pair in 0..count {
                terms[pair] = flushed(S::f_add(terms[2 * pair], terms[2 * pair + 1]));
            }
        }
        flushed(S::f_add(c, terms[0]))
    }
}

/// Zero of the same sign in place of a subnormal number.
#[inline(always)]
unsafe fn flush<S: Simd>(value: S::F) -> S::F {
    unsafe {
        let bits = S::f_bits(value);
        let small = S::i_eq(S::i_and(bits, S::i_splat(0xff << 23)), S::i_splat(0));
        S::f_from_bits(S::i_select(small, S::i_and(bits, S::i_splat(i32::MIN)), bits))
    }
}
