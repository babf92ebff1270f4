//! Vectors of the processor behind one small trait, so that a kernel is written once.
//!
//! A kernel is a generic function over [`Simd`], inlined whole into an entry that is compiled for the
//! instruction set (see `dispatch!` in the parent). [`Portable`] is plain arrays: the compiler makes of
//! them what the target has (NEON on AArch64).

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;

#[cfg(target_arch = "x86_64")]
pub(super) use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
pub(super) use avx512::Avx512;
pub(super) use portable::Portable;

/// One instruction set: vectors of [`Simd::LANES`] 32-bit lanes.
///
/// Operations are those of the instruction of the same name; where two sets differ for some input
/// (conversions out of range), that input is not given.
///
/// # Safety
///
/// Every function may only be called where the processor has the instruction set; the ones with
/// pointers read or write a whole vector there, unaligned.
#[allow(missing_docs)] // names are the operations
pub(super) trait Simd: Copy {
    /// 32-bit lanes of a vector.
    const LANES: usize;
    /// Whether fused multiply-adds are instructions; where they are not they are right, and slow.
    const FUSED: bool = true;
    /// Whether there are 32 registers: room for two rows of a tile.
    const MANY: bool = false;
    /// Whether [`Simd::h_products`] are instructions; where they are not they are not to be called.
    const HALVES: bool = false;
    /// LANES × f32.
    type F: Copy;
    /// LANES × i32.
    type I: Copy;
    /// A truth value for each lane.
    type M: Copy;
    /// 4·LANES × i8.
    type B: Copy;
    /// LANES / 2 × f64.
    type D: Copy;

    unsafe fn f_splat(value: f32) -> Self::F;
    unsafe fn f_load(from: *const f32) -> Self::F;
    unsafe fn f_store(to: *mut f32, value: Self::F);
    unsafe fn f_add(x: Self::F, y: Self::F) -> Self::F;
    unsafe fn f_mul(x: Self::F, y: Self::F) -> Self::F;
    /// The larger; neither is NaN, and they are not zeros of both signs.
    unsafe fn f_max(x: Self::F, y: Self::F) -> Self::F;
    /// The larger magnitude; neither is NaN.
    unsafe fn f_max_magnitude(x: Self::F, y: Self::F) -> Self::F;
    /// x·y + z, rounded once.
    unsafe fn f_fma(x: Self::F, y: Self::F, z: Self::F) -> Self::F;
    unsafe fn f_bits(value: Self::F) -> Self::I;
    unsafe fn f_from_bits(value: Self::I) -> Self::F;
    /// Toward zero; in range.
    unsafe fn f_truncate(value: Self::F) -> Self::I;

    unsafe fn i_splat(value: i32) -> Self::I;
    unsafe fn i_load(from: *const i32) -> Self::I;
    unsafe fn i_store(to: *mut i32, value: Self::I);
    unsafe fn i_add(x: Self::I, y: Self::I) -> Self::I;
    unsafe fn i_sub(x: Self::I, y: Self::I) -> Self::I;
    unsafe fn i_and(x: Self::I, y: Self::I) -> Self::I;
    unsafe fn i_or(x: Self::I, y: Self::I) -> Self::I;
    unsafe fn i_xor(x: Self::I, y: Self::I) -> Self::I;
    unsafe fn i_max(x: Self::I, y: Self::I) -> Self::I;
    unsafe fn i_min(x: Self::I, y: Self::I) -> Self::I;
    /// The magnitude, as an unsigned number.
    unsafe fn i_abs(x: Self::I) -> Self::I;
    /// Whether the first bit set of `x` is above that of `y`, of unsigned numbers.
    unsafe fn i_begins_above(x: Self::I, y: Self::I) -> Self::M;
    unsafe fn i_shl<const BITS: u32>(x: Self::I) -> Self::I;
    /// Zeros shifted in.
    unsafe fn i_shr<const BITS: u32>(x: Self::I) -> Self::I;
    /// x - y, or 0 where y is the larger, of exponent fields of FP32.
    unsafe fn i_excess(x: Self::I, y: Self::I) -> Self::I;
    unsafe fn i_gt(x: Self::I, y: Self::I) -> Self::M;
    unsafe fn i_eq(x: Self::I, y: Self::I) -> Self::M;
    /// `yes` where the mask holds, `no` elsewhere.
    unsafe fn i_select(mask: Self::M, yes: Self::I, no: Self::I) -> Self::I;
    /// `x` with its last bit set where the mask holds.
    unsafe fn i_odd_where(mask: Self::M, x: Self::I) -> Self::I;
    unsafe fn m_or(x: Self::M, y: Self::M) -> Self::M;
    /// A bit for each lane, lane 0 lowest.
    unsafe fn m_bits(mask: Self::M) -> u32;
    /// To nearest, ties to even.
    unsafe fn i_to_f(value: Self::I) -> Self::F;
    /// Toward zero.
    unsafe fn i_to_f_toward_zero(value: Self::I) -> Self::F;
    /// FP32 to FP16 to nearest even, and back.
    unsafe fn f_through_f16(value: Self::F) -> Self::F;

    /// Four bytes repeated.
    unsafe fn b_splat(bytes: u32) -> Self::B;
    unsafe fn b_load(from: *const i8) -> Self::B;
    /// Not beyond a byte.
    unsafe fn b_add(x: Self::B, y: Self::B) -> Self::B;
    /// Modulo 256.
    unsafe fn b_sub(x: Self::B, y: Self::B) -> Self::B;
    unsafe fn b_add_saturating(x: Self::B, y: Self::B) -> Self::B;
    unsafe fn b_max(x: Self::B, y: Self::B) -> Self::B;
    /// Bytes as exponent fields of FP32, above zeros: byte 4·j + v in lane j of the vth.
    unsafe fn b_fields(value: Self::B) -> [Self::I; 4];
    /// Dot products of adjacent pairs of 16-bit halves, added to `sum`: `sum + x0·y0 + x1·y1` per lane.
    unsafe fn i_dot2(sum: Self::I, x: Self::I, y: Self::I) -> Self::I;
    /// FP32 to FP16 to nearest even, twice in every word.
    unsafe fn h_twice(_value: Self::F) -> Self::I {
        unreachable!("an instruction set without FP16")
    }
    /// On 2·LANES × FP16, two in a word: x·y, times `scale`, toward zero to 16-bit integers; in range.
    unsafe fn h_products(_x: Self::I, _y: Self::I, _scale: Self::I) -> Self::I {
        unreachable!("an instruction set without FP16")
    }

    unsafe fn d_splat(value: f64) -> Self::D;
    unsafe fn d_load(from: *const f64) -> Self::D;
    unsafe fn d_store(to: *mut f64, value: Self::D);
    unsafe fn d_add(x: Self::D, y: Self::D) -> Self::D;
    unsafe fn d_sub(x: Self::D, y: Self::D) -> Self::D;
    unsafe fn d_mul(x: Self::D, y: Self::D) -> Self::D;
    /// x·y + z, rounded once.
    unsafe fn d_fma(x: Self::D, y: Self::D, z: Self::D) -> Self::D;
    unsafe fn d_truncate(value: Self::D) -> Self::D;
    /// Both halves widened, exactly.
    unsafe fn i_to_d(value: Self::I) -> [Self::D; 2];
    /// Both halves widened, exactly.
    unsafe fn f_to_d(value: Self::F) -> [Self::D; 2];
    /// To nearest, ties to even.
    unsafe fn d_to_f(halves: [Self::D; 2]) -> Self::F;
    /// Toward zero; beyond the largest finite number that, too. Finite values only.
    unsafe fn d_to_f_toward_zero(halves: [Self::D; 2]) -> Self::F;
    /// The two 32-bit words of each double: a vector of all low words, a vector of all high words.
    unsafe fn d_words(halves: [Self::D; 2]) -> [Self::I; 2];
    /// Doubles from their low and high words.
    unsafe fn d_from_words(low: Self::I, high: Self::I) -> [Self::D; 2];

    /// Whether any byte of `x` is greater than that of `y`.
    unsafe fn b_any_gt(x: Self::B, y: Self::B) -> bool;
    /// Each lane shifted left by its own count; zero from 32 on.
    unsafe fn i_shl_by(x: Self::I, counts: Self::I) -> Self::I;
    /// Each lane shifted right by its own count, the sign shifted in; counts are not negative.
    unsafe fn i_sar_by(x: Self::I, counts: Self::I) -> Self::I;
    /// x·y rounded down to an integer, also where x·y is below FP32's range; exact otherwise, in range.
    unsafe fn f_floor_product(x: Self::F, y: Self::F) -> Self::I;
    /// LANES / 2 × f32, widened.
    unsafe fn d_load_f(from: *const f32) -> Self::D;
    /// LANES / 2 × f32, rounded to nearest, ties to even.
    unsafe fn d_store_f(to: *mut f32, value: Self::D);
    /// Bits of both.
    unsafe fn d_or(x: Self::D, y: Self::D) -> Self::D;
    /// A bit for each lane that is neither +0 nor -0.
    unsafe fn d_nonzero(value: Self::D) -> u32;
    /// `sum` + `error`, known to be rounded to nearest, rounded to odd instead; not for infinities.
    unsafe fn d_odd(sum: Self::D, error: Self::D) -> Self::D;
}

/// The larger of two exponent fields of FP32 numbers, of which one at least is not negative: more units of a processor
/// compare numbers than integers.
#[inline(always)]
pub(super) unsafe fn larger_field<S: Simd>(x: S::I, y: S::I) -> S::I {
    unsafe { S::f_bits(S::f_max(S::f_from_bits(x), S::f_from_bits(y))) }
}
