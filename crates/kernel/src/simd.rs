//! Vectors of the processor behind one small trait, so that a kernel is written once.
//!
//! A value of a type that is [`Simd`] proves that the processor has the instruction set: only [`Level`] makes one, where
//! it has. So the operations are safe methods of it, and what reads memory takes slices. All sets are made
//! from one table, at the end of this file; an operation is that of the instruction named there. Where two sets
//! differ for some input (conversions out of range), that input is not given.
#![allow(unsafe_code)] // here and nowhere else in this crate
#![allow(clippy::modulo_one)] // of arrays as short as those of two lanes

#[cfg(target_arch = "aarch64")]
use std::arch::aarch64::*;
#[cfg(target_arch = "x86_64")]
use std::arch::asm;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

mod level;
mod positions;

pub use level::Level;
pub(crate) use level::Work;
pub(crate) use positions::{Positions, by_fours};

/// AVX-512: F, BW, DQ, VL and VNNI.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(crate) struct Avx512(());

/// AVX2 with FMA and F16C.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(crate) struct Avx2(());

/// NEON.
#[cfg(target_arch = "aarch64")]
#[derive(Clone, Copy)]
pub(crate) struct Neon(());

/// Plain arrays; the compiler vectorises them for whatever the target has.
#[derive(Clone, Copy)]
pub(crate) struct Portable(());

/// Lanes of [`Portable`]. Processors of today have a level of their own: for others the code is kept small. In WebAssembly four are
/// a vector of SIMD128, which the compiler makes of the arrays.
const LANES: usize = if cfg!(target_family = "wasm") { 4 } else { 2 };

/// An expression for each lane.
macro_rules! lanes {
    ($index:ident => $value:expr) => {
        std::array::from_fn(
            #[inline(always)]
            |$index| $value,
        )
    };
}

/// An operation of NEON on the bytes of two vectors.
#[cfg(target_arch = "aarch64")]
macro_rules! on_bytes {
    ($operation:ident($x:ident, $y:ident)) => {
        vreinterpretq_s32_s8($operation(vreinterpretq_s8_s32($x), vreinterpretq_s8_s32($y)))
    };
}

/// The operations of a set whose values prove that the processor has it.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! set {
    ($set:ty { $lanes:literal lanes, MANY: $many:literal, DIRECTED: $directed:literal }
        ($f:ty, $i:ty, $m:ty, $d:ty)
        $(fn $name:ident$(<const $constant:ident: i32>)?($this:ident $(, $arg:ident: $ty:ty)*) -> $out:ty
        { $($body:tt)* })*) => {
        #[allow(unused_unsafe)] // of operations that are none of the processor's
        impl Simd for $set {
            const LANES: usize = $lanes;
            const FUSED: bool = true;
            const MANY: bool = $many;
            const DIRECTED: bool = $directed;
            type F = $f;
            type I = $i;
            type M = $m;
            type D = $d;

            $(#[inline(always)]
            fn $name$(<const $constant: i32>)?($this, $($arg: $ty),*) -> $out {
                // SAFETY: the value proves that the processor has the instructions, and lengths of slices are checked
                unsafe { $($body)* }
            })*
        }
    };
}

/// The trait and its sets from one table: each operation with what it is in AVX-512, AVX2 and NEON and of plain arrays.
macro_rules! simd {
    ($($(#[$doc:meta])* fn $name:ident$(<const $constant:ident: i32>)?($this:ident $(, $arg:ident: $ty:ty)*) -> $out:ty
        { $($avx512:tt)* } { $($avx2:tt)* } { $($neon:tt)* } { $($portable:tt)* })*) => {
        /// One instruction set: vectors of [`Simd::LANES`] 32-bit lanes.
        #[allow(missing_docs)] // names are the operations
        pub(crate) trait Simd: Copy + Send + Sync + 'static {
            /// 32-bit lanes of a vector.
            const LANES: usize;
            /// Whether fused multiply-adds are instructions; where they are not they are right, and slow.
            const FUSED: bool;
            /// Whether there are 32 registers: room for two rows of a tile.
            const MANY: bool;
            /// Whether an instruction names its rounding; where none does, [`Simd::f_fma_toward`] is not to be called.
            const DIRECTED: bool;
            /// LANES × f32.
            type F: Copy;
            /// LANES × i32, or four bytes in each.
            type I: Copy;
            /// A truth value for each lane.
            type M: Copy;
            /// LANES / 2 × f64.
            type D: Copy;

            $($(#[$doc])* fn $name$(<const $constant: i32>)?(self, $($arg: $ty),*) -> $out;)*
        }

        #[cfg(target_arch = "x86_64")]
        set! {
            Avx512 { 16 lanes, MANY: true, DIRECTED: true }
            (__m512, __m512i, __mmask16, __m512d)
            $(fn $name$(<const $constant: i32>)?($this $(, $arg: $ty)*) -> $out { $($avx512)* })*
        }

        #[cfg(target_arch = "x86_64")]
        set! {
            Avx2 { 8 lanes, MANY: false, DIRECTED: false }
            (__m256, __m256i, __m256i, __m256d)
            $(fn $name$(<const $constant: i32>)?($this $(, $arg: $ty)*) -> $out { $($avx2)* })*
        }

        #[cfg(target_arch = "aarch64")]
        set! {
            Neon { 4 lanes, MANY: true, DIRECTED: false }
            (float32x4_t, int32x4_t, uint32x4_t, float64x2_t)
            $(fn $name$(<const $constant: i32>)?($this $(, $arg: $ty)*) -> $out { $($neon)* })*
        }

        impl Simd for Portable {
            const LANES: usize = LANES;
            const FUSED: bool = cfg!(any(target_arch = "aarch64", target_feature = "fma"));
            const MANY: bool = false;
            const DIRECTED: bool = false;
            type F = [f32; LANES];
            type I = [i32; LANES];
            type M = [bool; LANES];
            type D = [f64; LANES / 2];

            $(#[inline(always)]
            fn $name$(<const $constant: i32>)?($this, $($arg: $ty),*) -> $out { $($portable)* })*
        }
    };
}

simd! {
    fn f_splat(self, value: f32) -> Self::F
        { _mm512_set1_ps(value) } { _mm256_set1_ps(value) } { vdupq_n_f32(value) } { [value; LANES] }
    fn f_load(self, from: &[f32]) -> Self::F
        { _mm512_loadu_ps(first(from, 16)) } { _mm256_loadu_ps(first(from, 8)) }
        { vld1q_f32(first(from, 4)) } { lanes(from) }
    fn f_store(self, to: &mut [f32], value: Self::F) -> ()
        { _mm512_storeu_ps(first_of(to, 16), value) }
        { _mm256_storeu_ps(first_of(to, 8), value) }
        { vst1q_f32(first_of(to, 4), value) }
        { to[..LANES].copy_from_slice(&value) }
    fn f_add(self, x: Self::F, y: Self::F) -> Self::F
        { _mm512_add_ps(x, y) } { _mm256_add_ps(x, y) } { vaddq_f32(x, y) } { lanes!(i => x[i] + y[i]) }
    fn f_mul(self, x: Self::F, y: Self::F) -> Self::F
        { _mm512_mul_ps(x, y) } { _mm256_mul_ps(x, y) } { vmulq_f32(x, y) } { lanes!(i => x[i] * y[i]) }
    /// The larger; neither is NaN, and they are not zeros of both signs.
    fn f_max(self, x: Self::F, y: Self::F) -> Self::F
        { _mm512_max_ps(x, y) }
        { _mm256_max_ps(x, y) }
        { vmaxq_f32(x, y) }
        { lanes!(i => if x[i] > y[i] { x[i] } else { y[i] }) }
    /// The larger of `x`, which is not negative, and the magnitude of `y`; with NaN, anything.
    fn f_max_magnitude(self, x: Self::F, y: Self::F) -> Self::F
        { _mm512_range_ps::<0b1011>(x, y) } // the larger of both magnitudes, without sign
        { _mm256_max_ps(x, _mm256_andnot_ps(_mm256_set1_ps(-0.0), y)) }
        { vmaxq_f32(x, vabsq_f32(y)) }
        { lanes!(i => if x[i] > y[i].abs() { x[i] } else { y[i].abs() }) }
    /// x·y + z, rounded once.
    fn f_fma(self, x: Self::F, y: Self::F, z: Self::F) -> Self::F
        { _mm512_fmadd_ps(x, y, z) } { _mm256_fmadd_ps(x, y, z) }
        { vfmaq_f32(z, x, y) } { lanes!(i => x[i].mul_add(y[i], z[i])) }
    /// x·y + z, rounded once [`TOWARD_ZERO`], [`DOWN`] or [`UP`]; AVX-512 alone names a rounding in the instruction.
    fn f_fma_toward<const DIRECTION: i32>(self, x: Self::F, y: Self::F, z: Self::F) -> Self::F
        { _mm512_fmadd_round_ps::<DIRECTION>(x, y, z) } { absent((x, y, z)) }
        { absent((x, y, z)) } { absent((x, y, z)) }
    fn f_bits(self, value: Self::F) -> Self::I
        { _mm512_castps_si512(value) }
        { _mm256_castps_si256(value) }
        { vreinterpretq_s32_f32(value) }
        { lanes!(i => value[i].to_bits().cast_signed()) }
    fn f_from_bits(self, value: Self::I) -> Self::F
        { _mm512_castsi512_ps(value) }
        { _mm256_castsi256_ps(value) }
        { vreinterpretq_f32_s32(value) }
        { lanes!(i => f32::from_bits(value[i].cast_unsigned())) }
    /// Toward zero; in range.
    fn f_truncate(self, value: Self::F) -> Self::I
        { _mm512_cvttps_epi32(value) } { _mm256_cvttps_epi32(value) }
        { vcvtq_s32_f32(value) } { lanes!(i => value[i] as i32) }
    /// Toward zero; the smallest integer for NaN and what is out of range.
    fn f_truncate_any(self, value: Self::F) -> Self::I
        { _mm512_cvttps_epi32(value) }
        { _mm256_cvttps_epi32(value) }
        {
            // out of range the conversion saturates, and NaN becomes zero
            let fits = vcaltq_f32(value, vdupq_n_f32(2f32.powi(31)));
            vbslq_s32(fits, vcvtq_s32_f32(value), vdupq_n_s32(i32::MIN))
        }
        { lanes!(i => if value[i].abs() < 2f32.powi(31) { value[i] as i32 } else { i32::MIN }) }
    /// x·y rounded down to an integer, also where x·y is below FP32's range; exact otherwise, in range.
    fn f_floor_product(self, x: Self::F, y: Self::F) -> Self::I
        { _mm512_cvt_roundps_epi32::<DOWN>(_mm512_mul_round_ps::<DOWN>(x, y)) }
        {
            let product = _mm256_mul_ps(x, y);
            let down = _mm256_cvttps_epi32(_mm256_floor_ps(product));
            // a product that vanished has its sign left, which zero has too: -1 where x is below zero
            let zero = _mm256_setzero_ps();
            let vanished = _mm256_cmp_ps::<_CMP_EQ_OQ>(product, zero);
            let below = _mm256_and_ps(vanished, _mm256_cmp_ps::<_CMP_LT_OQ>(x, zero));
            _mm256_add_epi32(down, _mm256_castps_si256(below))
        }
        {
            let product = vmulq_f32(x, y);
            // a product that vanished: -1 where x is below zero
            let below = vandq_u32(vceqzq_f32(product), vcltzq_f32(x));
            vaddq_s32(vcvtmq_s32_f32(product), vreinterpretq_s32_u32(below))
        }
        {
            lanes!(i => {
                let product = x[i] * y[i];
                let vanished = product == 0.0 && x[i] < 0.0;
                (product.floor() as i32).wrapping_sub(i32::from(vanished))
            })
        }
    /// FP32 to FP16 to nearest even, and back.
    fn f_through_f16(self, value: Self::F) -> Self::F
        { _mm512_cvtph_ps(_mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(value)) }
        { _mm256_cvtph_ps(_mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(value)) }
        { vcvt_f32_f16(vcvt_f16_f32(value)) }
        { lanes!(i => half_even(value[i])) }

    fn i_splat(self, value: i32) -> Self::I
        { _mm512_set1_epi32(value) } { _mm256_set1_epi32(value) } { vdupq_n_s32(value) } { [value; LANES] }
    fn i_load(self, from: &[i32]) -> Self::I
        { _mm512_loadu_si512(first(from, 16).cast()) }
        { _mm256_loadu_si256(first(from, 8).cast()) }
        { vld1q_s32(first(from, 4)) }
        { lanes(from) }
    fn i_store(self, to: &mut [i32], value: Self::I) -> ()
        { _mm512_storeu_si512(first_of(to, 16).cast(), value) }
        { _mm256_storeu_si256(first_of(to, 8).cast(), value) }
        { vst1q_s32(first_of(to, 4), value) }
        { to[..LANES].copy_from_slice(&value) }
    fn i_add(self, x: Self::I, y: Self::I) -> Self::I
        { _mm512_add_epi32(x, y) } { _mm256_add_epi32(x, y) }
        { vaddq_s32(x, y) } { lanes!(i => x[i].wrapping_add(y[i])) }
    fn i_sub(self, x: Self::I, y: Self::I) -> Self::I
        { _mm512_sub_epi32(x, y) } { _mm256_sub_epi32(x, y) }
        { vsubq_s32(x, y) } { lanes!(i => x[i].wrapping_sub(y[i])) }
    fn i_and(self, x: Self::I, y: Self::I) -> Self::I
        { _mm512_and_si512(x, y) } { _mm256_and_si256(x, y) } { vandq_s32(x, y) } { lanes!(i => x[i] & y[i]) }
    fn i_or(self, x: Self::I, y: Self::I) -> Self::I
        { _mm512_or_si512(x, y) } { _mm256_or_si256(x, y) } { vorrq_s32(x, y) } { lanes!(i => x[i] | y[i]) }
    fn i_xor(self, x: Self::I, y: Self::I) -> Self::I
        { _mm512_xor_si512(x, y) } { _mm256_xor_si256(x, y) } { veorq_s32(x, y) } { lanes!(i => x[i] ^ y[i]) }
    fn i_max(self, x: Self::I, y: Self::I) -> Self::I
        { _mm512_max_epi32(x, y) } { _mm256_max_epi32(x, y) } { vmaxq_s32(x, y) } { lanes!(i => x[i].max(y[i])) }
    fn i_min(self, x: Self::I, y: Self::I) -> Self::I
        { _mm512_min_epi32(x, y) } { _mm256_min_epi32(x, y) } { vminq_s32(x, y) } { lanes!(i => x[i].min(y[i])) }
    /// The magnitude, as an unsigned number.
    fn i_abs(self, x: Self::I) -> Self::I
        { _mm512_abs_epi32(x) }
        { _mm256_abs_epi32(x) }
        { vabsq_s32(x) }
        { lanes!(i => x[i].unsigned_abs().cast_signed()) }
    /// Whether the first bit set of `x` is above that of `y`, of unsigned numbers.
    fn i_begins_above(self, x: Self::I, y: Self::I) -> Self::M
        { _mm512_cmpgt_epu32_mask(_mm512_andnot_si512(y, x), y) } // only a bit above all of y makes more of the rest
        {
            let signs = _mm256_set1_epi32(i32::MIN);
            let above = _mm256_xor_si256(_mm256_andnot_si256(y, x), signs);
            _mm256_cmpgt_epi32(above, _mm256_xor_si256(y, signs))
        }
        {
            let (x, y) = (vreinterpretq_u32_s32(x), vreinterpretq_u32_s32(y));
            vcgtq_u32(vbicq_u32(x, y), y)
        }
        { lanes!(i => x[i].leading_zeros() < y[i].leading_zeros()) }
    /// By up to 31 bits.
    fn i_shl(self, bits: i32, x: Self::I) -> Self::I
        { _mm512_sll_epi32(x, _mm_cvtsi32_si128(bits)) }
        { _mm256_sll_epi32(x, _mm_cvtsi32_si128(bits)) }
        { vshlq_s32(x, vdupq_n_s32(bits)) }
        { lanes!(i => x[i] << bits) }
    /// By up to 31 bits, zeros shifted in.
    fn i_shr(self, bits: i32, x: Self::I) -> Self::I
        { _mm512_srl_epi32(x, _mm_cvtsi32_si128(bits)) }
        { _mm256_srl_epi32(x, _mm_cvtsi32_si128(bits)) }
        { vreinterpretq_s32_u32(vshlq_u32(vreinterpretq_u32_s32(x), vdupq_n_s32(-bits))) }
        { lanes!(i => (x[i].cast_unsigned() >> bits).cast_signed()) }
    /// Each lane shifted left by its own count; zero from 32 on.
    fn i_shl_by(self, x: Self::I, counts: Self::I) -> Self::I
        { _mm512_sllv_epi32(x, counts) }
        { _mm256_sllv_epi32(x, counts) }
        { vshlq_s32(x, at_most(counts, 32)) }
        { lanes!(i => x[i].unbounded_shl(counts[i].cast_unsigned())) }
    /// Each lane shifted right by its own count, the sign shifted in; counts are not negative.
    fn i_sar_by(self, x: Self::I, counts: Self::I) -> Self::I
        { _mm512_srav_epi32(x, counts) }
        { _mm256_srav_epi32(x, counts) }
        { vshlq_s32(x, vnegq_s32(at_most(counts, 31))) }
        { lanes!(i => x[i].unbounded_shr(counts[i].cast_unsigned())) }
    /// x - y, or 0 where y is the larger, of exponent fields of FP32, which are in the upper halves.
    fn i_excess(self, x: Self::I, y: Self::I) -> Self::I
        { _mm512_subs_epu16(x, y) } { _mm256_subs_epu16(x, y) }
        { vreinterpretq_s32_u16(vqsubq_u16(vreinterpretq_u16_s32(x), vreinterpretq_u16_s32(y))) }
        { lanes!(i => x[i].wrapping_sub(y[i]).max(0)) }
    fn i_gt(self, x: Self::I, y: Self::I) -> Self::M
        { _mm512_cmpgt_epi32_mask(x, y) } { _mm256_cmpgt_epi32(x, y) }
        { vcgtq_s32(x, y) } { lanes!(i => x[i] > y[i]) }
    fn i_eq(self, x: Self::I, y: Self::I) -> Self::M
        { _mm512_cmpeq_epi32_mask(x, y) } { _mm256_cmpeq_epi32(x, y) }
        { vceqq_s32(x, y) } { lanes!(i => x[i] == y[i]) }
    /// `yes` where the mask holds, `no` elsewhere.
    fn i_select(self, mask: Self::M, yes: Self::I, no: Self::I) -> Self::I
        { _mm512_mask_blend_epi32(mask, no, yes) }
        { _mm256_blendv_epi8(no, yes, mask) }
        { vbslq_s32(mask, yes, no) }
        { lanes!(i => if mask[i] { yes[i] } else { no[i] }) }
    /// `x` with its last bit set where the mask holds.
    fn i_odd_where(self, mask: Self::M, x: Self::I) -> Self::I
        { set_lowest(mask, x) }
        { _mm256_or_si256(x, _mm256_srli_epi32::<31>(mask)) }
        { vorrq_s32(x, vreinterpretq_s32_u32(vshrq_n_u32::<31>(mask))) }
        { lanes!(i => x[i] | i32::from(mask[i])) }
    fn m_or(self, x: Self::M, y: Self::M) -> Self::M
        { x | y } { _mm256_or_si256(x, y) } { vorrq_u32(x, y) } { lanes!(i => x[i] | y[i]) }
    /// A bit for each lane, lane 0 lowest.
    fn m_bits(self, mask: Self::M) -> u32
        { u32::from(mask) }
        { _mm256_movemask_ps(_mm256_castsi256_ps(mask)).cast_unsigned() }
        { vaddvq_u32(vandq_u32(mask, vld1q_u32([1, 2, 4, 8].as_ptr()))) }
        { mask.iter().rev().fold(0, |bits, &lane| bits << 1 | u32::from(lane)) }
    /// To nearest, ties to even.
    fn i_to_f(self, value: Self::I) -> Self::F
        { _mm512_cvtepi32_ps(value) } { _mm256_cvtepi32_ps(value) }
        { vcvtq_f32_s32(value) } { lanes!(i => value[i] as f32) }
    /// Toward zero.
    fn i_to_f_toward_zero(self, value: Self::I) -> Self::F
        { _mm512_cvt_roundepi32_ps::<TOWARD_ZERO>(value) }
        {
            // without the first bit that is cut a magnitude is never rounded up
            let magnitude = _mm256_abs_epi32(value);
            let cut = _mm256_andnot_si256(_mm256_srli_epi32::<24>(magnitude), magnitude);
            let sign = _mm256_and_ps(_mm256_set1_ps(-0.0), _mm256_castsi256_ps(value));
            _mm256_or_ps(_mm256_cvtepi32_ps(cut), sign) // 2^31 has its sign already
        }
        {
            let magnitude = vreinterpretq_u32_s32(vabsq_s32(value));
            let cut = vcvtq_f32_u32(vbicq_u32(magnitude, vshrq_n_u32::<24>(magnitude)));
            vbslq_f32(vdupq_n_u32(1 << 31), vreinterpretq_f32_s32(value), cut)
        }
        {
            lanes!(i => {
                let magnitude = value[i].unsigned_abs();
                let cut = (magnitude & !(magnitude >> 24)) as f32;
                if value[i] < 0 { -cut } else { cut }
            })
        }
    /// Dot products of adjacent pairs of 16-bit halves, added to `sum`: `sum + x0·y0 + x1·y1` per lane.
    fn i_dot2(self, sum: Self::I, x: Self::I, y: Self::I) -> Self::I
        { dpwssd(sum, x, y) }
        { _mm256_add_epi32(sum, _mm256_madd_epi16(x, y)) }
        {
            let (x, y) = (vreinterpretq_s16_s32(x), vreinterpretq_s16_s32(y));
            let low = vmull_s16(vget_low_s16(x), vget_low_s16(y));
            vaddq_s32(sum, vpaddq_s32(low, vmull_high_s16(x, y)))
        }
        {
            lanes!(i => {
                let low = i32::from(x[i] as i16) * i32::from(y[i] as i16);
                sum[i].wrapping_add(low).wrapping_add((x[i] >> 16) * (y[i] >> 16))
            })
        }
    /// Dot products of sixteen bytes, four of each word, added to `sum`: `x` are from 0 to 31, `y` from -16 to 15, so that
    /// sums of eight products have 16 bits.
    fn i_dot16(self, sum: Self::I, x: [Self::I; 4], y: [Self::I; 4]) -> Self::I
        {
            let half = _mm512_dpbusd_epi32(_mm512_dpbusd_epi32(sum, x[0], y[0]), x[1], y[1]);
            _mm512_dpbusd_epi32(_mm512_dpbusd_epi32(half, x[2], y[2]), x[3], y[3])
        }
        {
            let half = _mm256_add_epi16(_mm256_maddubs_epi16(x[0], y[0]), _mm256_maddubs_epi16(x[1], y[1]));
            let other = _mm256_add_epi16(_mm256_maddubs_epi16(x[2], y[2]), _mm256_maddubs_epi16(x[3], y[3]));
            _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_add_epi16(half, other), _mm256_set1_epi16(1)))
        }
        {
            let mut eights = vdupq_n_s16(0);
            for (x, y) in x.into_iter().zip(y) {
                let (x, y) = (vreinterpretq_s8_s32(x), vreinterpretq_s8_s32(y));
                let low = vmull_s8(vget_low_s8(x), vget_low_s8(y));
                eights = vaddq_s16(eights, vpaddq_s16(low, vmull_high_s8(x, y)));
            }
            vpadalq_s16(sum, eights)
        }
        {
            lanes!(i => {
                let bytes = |words: [Self::I; 4]| words.map(|word| word[i].to_le_bytes().map(|byte| i32::from(byte as i8)));
                let products = bytes(x).into_iter().flatten().zip(bytes(y).into_iter().flatten());
                sum[i] + products.map(|(x, y)| x * y).sum::<i32>()
            })
        }

    /// Bytes, not beyond one.
    fn b_add(self, x: Self::I, y: Self::I) -> Self::I
        { _mm512_add_epi8(x, y) } { _mm256_add_epi8(x, y) }
        { on_bytes!(vaddq_s8(x, y)) } { on_bytes(x, y, i8::wrapping_add) }
    /// Bytes, modulo 256.
    fn b_sub(self, x: Self::I, y: Self::I) -> Self::I
        { _mm512_sub_epi8(x, y) } { _mm256_sub_epi8(x, y) }
        { on_bytes!(vsubq_s8(x, y)) } { on_bytes(x, y, i8::wrapping_sub) }
    fn b_add_saturating(self, x: Self::I, y: Self::I) -> Self::I
        { _mm512_adds_epi8(x, y) } { _mm256_adds_epi8(x, y) }
        { on_bytes!(vqaddq_s8(x, y)) } { on_bytes(x, y, i8::saturating_add) }
    fn b_max(self, x: Self::I, y: Self::I) -> Self::I
        { _mm512_max_epi8(x, y) } { _mm256_max_epi8(x, y) }
        { on_bytes!(vmaxq_s8(x, y)) } { on_bytes(x, y, i8::max) }
    /// Whether any byte of `x` is greater than that of `y`.
    fn b_any_gt(self, x: Self::I, y: Self::I) -> bool
        { _mm512_cmpgt_epi8_mask(x, y) != 0 }
        { _mm256_movemask_epi8(_mm256_cmpgt_epi8(x, y)) != 0 }
        { vmaxvq_u8(vcgtq_s8(vreinterpretq_s8_s32(x), vreinterpretq_s8_s32(y))) != 0 }
        { on_bytes(x, y, |x, y| i8::from(x > y)) != [0; LANES] }
    /// Bytes of `yes` where those of `x` are not zero, else of `no`.
    fn b_select_nonzero(self, x: Self::I, yes: Self::I, no: Self::I) -> Self::I
        { _mm512_mask_blend_epi8(_mm512_test_epi8_mask(x, x), no, yes) }
        { _mm256_blendv_epi8(yes, no, _mm256_cmpeq_epi8(x, _mm256_setzero_si256())) }
        {
            let there = vtstq_s8(vreinterpretq_s8_s32(x), vreinterpretq_s8_s32(x));
            vreinterpretq_s32_s8(vbslq_s8(there, vreinterpretq_s8_s32(yes), vreinterpretq_s8_s32(no)))
        }
        {
            let there = on_bytes(x, x, |x, _| if x == 0 { 0 } else { -1 });
            lanes!(i => yes[i] & there[i] | no[i] & !there[i])
        }
    /// `count` plus one where a byte of `x` is greater than that of `y`.
    fn b_count_gt(self, count: Self::I, x: Self::I, y: Self::I) -> Self::I
        { one_more(_mm512_cmpgt_epi8_mask(x, y), count) }
        { _mm256_sub_epi8(count, _mm256_cmpgt_epi8(x, y)) }
        {
            let greater = vcgtq_s8(vreinterpretq_s8_s32(x), vreinterpretq_s8_s32(y));
            vreinterpretq_s32_s8(vsubq_s8(vreinterpretq_s8_s32(count), vreinterpretq_s8_u8(greater)))
        }
        { on_bytes(count, on_bytes(x, y, |x, y| i8::from(x > y)), i8::wrapping_add) }

    fn d_splat(self, value: f64) -> Self::D
        { _mm512_set1_pd(value) } { _mm256_set1_pd(value) } { vdupq_n_f64(value) } { [value; LANES / 2] }
    fn d_load(self, from: &[f64]) -> Self::D
        { _mm512_loadu_pd(first(from, 8)) } { _mm256_loadu_pd(first(from, 4)) }
        { vld1q_f64(first(from, 2)) } { lanes(from) }
    fn d_store(self, to: &mut [f64], value: Self::D) -> ()
        { _mm512_storeu_pd(first_of(to, 8), value) }
        { _mm256_storeu_pd(first_of(to, 4), value) }
        { vst1q_f64(first_of(to, 2), value) }
        { to[..LANES / 2].copy_from_slice(&value) }
    /// LANES / 2 × f32, widened.
    fn d_load_f(self, from: &[f32]) -> Self::D
        { _mm512_cvtps_pd(_mm256_loadu_ps(first(from, 8))) }
        { _mm256_cvtps_pd(_mm_loadu_ps(first(from, 4))) }
        { vcvt_f64_f32(vld1_f32(first(from, 2))) }
        { let from: [f32; LANES / 2] = lanes(from); from.map(f64::from) }
    /// LANES / 2 × f32, rounded to nearest, ties to even.
    fn d_store_f(self, to: &mut [f32], value: Self::D) -> ()
        { _mm256_storeu_ps(first_of(to, 8), _mm512_cvtpd_ps(value)) }
        { _mm_storeu_ps(first_of(to, 4), _mm256_cvtpd_ps(value)) }
        { vst1_f32(first_of(to, 2), vcvt_f32_f64(value)) }
        { to[..LANES / 2].copy_from_slice(&value.map(|value| value as f32)) }
    /// A number of 52 bits at most rounded to 24, to nearest, ties to even: from 2^-900 to 2^900 in magnitude, or +0.
    fn d_to_24(self, value: Self::D) -> Self::D
        {
            // 2^29 times as large, a sum with it has 24 bits left of the value; multipliers stay free
            let bits = _mm512_add_epi64(_mm512_castpd_si512(value), _mm512_set1_epi64(29 << 52));
            let large = _mm512_castsi512_pd(bits);
            _mm512_sub_pd(_mm512_add_pd(value, large), large)
        }
        {
            let bits = _mm256_add_epi64(_mm256_castpd_si256(value), _mm256_set1_epi64x(29 << 52));
            let large = _mm256_castsi256_pd(bits);
            _mm256_sub_pd(_mm256_add_pd(value, large), large)
        }
        {
            let large = vaddq_s64(vreinterpretq_s64_f64(value), vdupq_n_s64(29 << 52));
            let large = vreinterpretq_f64_s64(large);
            vsubq_f64(vaddq_f64(value, large), large)
        }
        { value.map(|value| value + f64::from(1 << 29) * value - f64::from(1 << 29) * value) }
    /// A sum that was rounded to nearest and has this error, rounded to odd; neither is infinite.
    fn d_to_odd(self, sum: Self::D, error: Self::D) -> Self::D
        {
            // toward zero, one step where the error has the other sign; then the last bit is set
            let (bits, error_bits) = (_mm512_castpd_si512(sum), _mm512_castpd_si512(error));
            let step = _mm512_srli_epi64::<63>(_mm512_xor_si512(bits, error_bits));
            let odd = _mm512_or_si512(_mm512_sub_epi64(bits, step), _mm512_set1_epi64(1));
            let inexact = _mm512_cmp_pd_mask::<_CMP_NEQ_UQ>(error, _mm512_setzero_pd());
            _mm512_mask_mov_pd(sum, inexact, _mm512_castsi512_pd(odd))
        }
        {
            let (bits, error_bits) = (_mm256_castpd_si256(sum), _mm256_castpd_si256(error));
            let step = _mm256_srli_epi64::<63>(_mm256_xor_si256(bits, error_bits));
            let odd = _mm256_or_si256(_mm256_sub_epi64(bits, step), _mm256_set1_epi64x(1));
            let exact = _mm256_cmp_pd::<_CMP_EQ_OQ>(error, _mm256_setzero_pd());
            _mm256_blendv_pd(_mm256_castsi256_pd(odd), sum, exact)
        }
        {
            let (bits, error_bits) = (vreinterpretq_u64_f64(sum), vreinterpretq_u64_f64(error));
            let step = vshrq_n_u64::<63>(veorq_u64(bits, error_bits));
            let odd = vorrq_u64(vsubq_u64(bits, step), vdupq_n_u64(1));
            vbslq_f64(vceqzq_f64(error), sum, vreinterpretq_f64_u64(odd))
        }
        {
            lanes!(i => {
                let (bits, error_bits) = (sum[i].to_bits(), error[i].to_bits());
                let odd = bits.wrapping_sub((bits ^ error_bits) >> 63) | 1;
                f64::from_bits(if error[i] == 0.0 { bits } else { odd })
            })
        }
    fn d_add(self, x: Self::D, y: Self::D) -> Self::D
        { _mm512_add_pd(x, y) } { _mm256_add_pd(x, y) } { vaddq_f64(x, y) } { lanes!(i => x[i] + y[i]) }
    fn d_sub(self, x: Self::D, y: Self::D) -> Self::D
        { _mm512_sub_pd(x, y) } { _mm256_sub_pd(x, y) } { vsubq_f64(x, y) } { lanes!(i => x[i] - y[i]) }
    fn d_mul(self, x: Self::D, y: Self::D) -> Self::D
        { _mm512_mul_pd(x, y) } { _mm256_mul_pd(x, y) } { vmulq_f64(x, y) } { lanes!(i => x[i] * y[i]) }
    /// x·y + z, rounded once.
    fn d_fma(self, x: Self::D, y: Self::D, z: Self::D) -> Self::D
        { _mm512_fmadd_pd(x, y, z) } { _mm256_fmadd_pd(x, y, z) }
        { vfmaq_f64(z, x, y) } { lanes!(i => x[i].mul_add(y[i], z[i])) }
    /// The same rounded as by [`Simd::f_fma_toward`].
    fn d_fma_toward<const DIRECTION: i32>(self, x: Self::D, y: Self::D, z: Self::D) -> Self::D
        { _mm512_fmadd_round_pd::<DIRECTION>(x, y, z) } { absent((x, y, z)) }
        { absent((x, y, z)) } { absent((x, y, z)) }
    fn d_truncate(self, value: Self::D) -> Self::D
        { _mm512_roundscale_pd::<TOWARD_ZERO>(value) }
        { _mm256_round_pd::<TOWARD_ZERO>(value) }
        { vrndq_f64(value) }
        { value.map(f64::trunc) }
    /// Bits of both.
    fn d_or(self, x: Self::D, y: Self::D) -> Self::D
        { _mm512_or_pd(x, y) }
        { _mm256_or_pd(x, y) }
        { vreinterpretq_f64_u64(vorrq_u64(vreinterpretq_u64_f64(x), vreinterpretq_u64_f64(y))) }
        { lanes!(i => f64::from_bits(x[i].to_bits() | y[i].to_bits())) }
    /// Bits that both have.
    fn d_and(self, x: Self::D, y: Self::D) -> Self::D
        { _mm512_and_pd(x, y) }
        { _mm256_and_pd(x, y) }
        { vreinterpretq_f64_u64(vandq_u64(vreinterpretq_u64_f64(x), vreinterpretq_u64_f64(y))) }
        { lanes!(i => f64::from_bits(x[i].to_bits() & y[i].to_bits())) }
    /// A bit for each lane that is neither +0 nor -0.
    fn d_nonzero(self, value: Self::D) -> u32
        { u32::from(_mm512_cmp_pd_mask::<_CMP_NEQ_UQ>(value, _mm512_setzero_pd())) }
        { _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_NEQ_UQ>(value, _mm256_setzero_pd())).cast_unsigned() }
        { vaddvq_u64(vbicq_u64(vld1q_u64([1, 2].as_ptr()), vceqzq_f64(value))) as u32 }
        { value.iter().rev().fold(0, |bits, &lane| bits << 1 | u32::from(lane != 0.0)) }
    /// Both halves widened, exactly.
    fn i_to_d(self, value: Self::I) -> [Self::D; 2]
        {
            [
                _mm512_cvtepi32_pd(_mm512_castsi512_si256(value)),
                _mm512_cvtepi32_pd(_mm512_extracti64x4_epi64::<1>(value)),
            ]
        }
        {
            [
                _mm256_cvtepi32_pd(_mm256_castsi256_si128(value)),
                _mm256_cvtepi32_pd(_mm256_extracti128_si256::<1>(value)),
            ]
        }
        { [vcvtq_f64_s64(vmovl_s32(vget_low_s32(value))), vcvtq_f64_s64(vmovl_high_s32(value))] }
        { [lanes!(i => f64::from(value[i])), lanes!(i => f64::from(value[LANES / 2 + i]))] }
    /// Doubles from their low and high words.
    fn d_from_words(self, low: Self::I, high: Self::I) -> [Self::D; 2]
        {
            let first = _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
            let second = _mm512_add_epi32(first, _mm512_set1_epi32(8));
            [
                _mm512_castsi512_pd(_mm512_permutex2var_epi32(low, first, high)),
                _mm512_castsi512_pd(_mm512_permutex2var_epi32(low, second, high)),
            ]
        }
        {
            let (x, y) = (_mm256_unpacklo_epi32(low, high), _mm256_unpackhi_epi32(low, high));
            [
                _mm256_castsi256_pd(_mm256_permute2x128_si256::<0x20>(x, y)),
                _mm256_castsi256_pd(_mm256_permute2x128_si256::<0x31>(x, y)),
            ]
        }
        { [vzip1q_s32(low, high), vzip2q_s32(low, high)].map(|words| vreinterpretq_f64_s32(words)) }
        {
            let word = |i: usize| u64::from(low[i].cast_unsigned()) | u64::from(high[i].cast_unsigned()) << 32;
            [lanes!(i => f64::from_bits(word(i))), lanes!(i => f64::from_bits(word(LANES / 2 + i)))]
        }
}

/// Bytes as exponent fields of FP32, above zeros: byte 4·j + v in lane j of the vth.
#[inline(always)]
pub(crate) fn byte_fields<S: Simd>(s: S, bytes: S::I) -> [S::I; 4] {
    let field = s.i_splat(0xff << 23);
    let shifted = [s.i_shl(23, bytes), s.i_shl(15, bytes), s.i_shl(7, bytes), s.i_shr(1, bytes)];
    [
        s.i_and(shifted[0], field),
        s.i_and(shifted[1], field),
        s.i_and(shifted[2], field),
        s.i_and(shifted[3], field),
    ]
}

/// The bytes of fields with zeros below them: what [`byte_fields`] came from.
#[inline(always)]
pub(crate) fn field_bytes<S: Simd>(s: S, [first, second, third, fourth]: [S::I; 4]) -> S::I {
    let low = s.i_or(s.i_shr(23, first), s.i_shr(15, second));
    s.i_or(low, s.i_or(s.i_shr(7, third), s.i_shl(1, fourth)))
}

/// The larger of two exponent fields of FP32 numbers, of which one at least is not negative: more units of a processor
/// compare numbers than integers.
#[inline(always)]
pub(crate) fn larger_field<S: Simd>(s: S, x: S::I, y: S::I) -> S::I {
    s.f_bits(s.f_max(s.f_from_bits(x), s.f_from_bits(y)))
}

/// x·y + z, where the product is exact: one rounding or two are the same.
#[inline(always)]
pub(crate) fn multiply_add<S: Simd>(s: S, x: S::D, y: S::D, z: S::D) -> S::D {
    if S::FUSED { s.d_fma(x, y, z) } else { s.d_add(s.d_mul(x, y), z) }
}

/// Asks for the memory of a number that is so far from the first, which may be beyond the slice.
#[inline(always)]
pub(crate) fn prefetch<T>(numbers: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: nothing is read, and any address may be asked for
    unsafe {
        _mm_prefetch::<_MM_HINT_T0>(numbers.as_ptr().wrapping_add(at).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (numbers, at);
}

/// Where a slice begins, which has that many numbers.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(always)]
fn first<T>(from: &[T], count: usize) -> *const T {
    assert!(from.len() >= count);
    from.as_ptr()
}

/// Where a slice begins, which has room for that many numbers.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(always)]
fn first_of<T>(to: &mut [T], count: usize) -> *mut T {
    assert!(to.len() >= count);
    to.as_mut_ptr()
}

/// The first numbers of a slice.
#[inline(always)]
fn lanes<T: Copy, const COUNT: usize>(from: &[T]) -> [T; COUNT] {
    let from = &from[..COUNT];
    lanes!(i => from[i])
}

/// What an instruction set without the operation makes of it: nobody calls it there.
fn absent<T, U>(_: T) -> U {
    unreachable!("an instruction set without this operation")
}

/// Roundings as instructions of AVX-512 encode them, with `_MM_FROUND_NO_EXC`: to nearest, ties to even.
pub(crate) const NEAREST: i32 = 8;
/// `_MM_FROUND_TO_NEG_INF`.
pub(crate) const DOWN: i32 = 8 | 1;
/// `_MM_FROUND_TO_POS_INF`.
pub(crate) const UP: i32 = 8 | 2;
/// `_MM_FROUND_TO_ZERO`.
pub(crate) const TOWARD_ZERO: i32 = 8 | 3;

/// VPDPWSSD. Of the intrinsic the compiler makes two instructions, which take less time one after the other and
/// more side by side.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512vnni")]
fn dpwssd(mut sum: __m512i, x: __m512i, y: __m512i) -> __m512i {
    // SAFETY: it touches nothing but its registers
    unsafe {
        asm!("vpdpwssd {}, {}, {}", inout(zmm_reg) sum, in(zmm_reg) x, in(zmm_reg) y,
            options(pure, nomem, nostack, preserves_flags));
    }
    sum
}

/// VPORD of ones under a mask. Of the intrinsic the compiler makes three instructions.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f")]
fn set_lowest(mask: __mmask16, mut x: __m512i) -> __m512i {
    // SAFETY: it touches nothing but its registers
    unsafe {
        asm!("vpord {x}{{{mask}}}, {x}, {ones}", x = inout(zmm_reg) x, mask = in(kreg) mask,
            ones = in(zmm_reg) _mm512_set1_epi32(1), options(pure, nomem, nostack, preserves_flags));
    }
    x
}

/// VPSUBB of -1 under a mask. Of the intrinsic the compiler makes two instructions.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn one_more(mask: __mmask64, mut count: __m512i) -> __m512i {
    // SAFETY: it touches nothing but its registers
    unsafe {
        asm!("vpsubb {count}{{{mask}}}, {count}, {ones}", count = inout(zmm_reg) count, mask = in(kreg) mask,
            ones = in(zmm_reg) _mm512_set1_epi8(-1), options(pure, nomem, nostack, preserves_flags));
    }
    count
}

/// An operation on the bytes of two vectors.
#[inline(always)]
fn on_bytes(x: [i32; LANES], y: [i32; LANES], operation: impl Fn(i8, i8) -> i8) -> [i32; LANES] {
    lanes!(i => {
        let (x, y) = (x[i].to_le_bytes(), y[i].to_le_bytes());
        let bytes: [u8; 4] = lanes!(byte => operation(x[byte] as i8, y[byte] as i8) as u8);
        i32::from_le_bytes(bytes)
    })
}

/// Counts for shifts: NEON's are the signed last bytes of lanes.
#[cfg(target_arch = "aarch64")]
#[inline]
#[target_feature(enable = "neon")]
fn at_most(counts: int32x4_t, limit: u32) -> int32x4_t {
    vreinterpretq_s32_u32(vminq_u32(vreinterpretq_u32_s32(counts), vdupq_n_u32(limit)))
}

/// FP32 to FP16, to nearest even, and back; not for NaN.
#[inline(always)]
fn half_even(value: f32) -> f32 {
    let magnitude = value.abs();
    // a number of this size has 10 fraction bits left of FP16's grid once it is added
    let exponent = (magnitude.to_bits() >> 23).max(127 - 14);
    let grid = f32::from_bits((exponent + 13) << 23);
    let rounded = if exponent >= 255 - 13 { magnitude } else { (magnitude + grid) - grid };
    let rounded = if rounded > 65504.0 { f32::INFINITY } else { rounded };
    rounded.copysign(value)
}

#[cfg(test)]
mod tests;
