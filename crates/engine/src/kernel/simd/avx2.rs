//! AVX2 with FMA and F16C.

use std::arch::x86_64::*;

use super::Simd;

#[derive(Clone, Copy)]
pub(in super::super) struct Avx2;

impl Simd for Avx2 {
    const LANES: usize = 8;
    type F = __m256;
    type I = __m256i;
    type M = __m256i;
    type B = __m256i;
    type D = __m256d;

    #[inline(always)]
    unsafe fn f_splat(value: f32) -> __m256 {
        unsafe { _mm256_set1_ps(value) }
    }
    #[inline(always)]
    unsafe fn f_load(from: *const f32) -> __m256 {
        unsafe { _mm256_loadu_ps(from) }
    }
    #[inline(always)]
    unsafe fn f_store(to: *mut f32, value: __m256) {
        unsafe { _mm256_storeu_ps(to, value) }
    }
    #[inline(always)]
    unsafe fn f_add(x: __m256, y: __m256) -> __m256 {
        unsafe { _mm256_add_ps(x, y) }
    }
    #[inline(always)]
    unsafe fn f_mul(x: __m256, y: __m256) -> __m256 {
        unsafe { _mm256_mul_ps(x, y) }
    }
    #[inline(always)]
    unsafe fn f_max(x: __m256, y: __m256) -> __m256 {
        unsafe { _mm256_max_ps(x, y) }
    }
    #[inline(always)]
    unsafe fn f_max_magnitude(x: __m256, y: __m256) -> __m256 {
        unsafe {
            let sign = _mm256_set1_ps(-0.0);
            _mm256_max_ps(_mm256_andnot_ps(sign, x), _mm256_andnot_ps(sign, y))
        }
    }
    #[inline(always)]
    unsafe fn f_fma(x: __m256, y: __m256, z: __m256) -> __m256 {
        unsafe { _mm256_fmadd_ps(x, y, z) }
    }
    #[inline(always)]
    unsafe fn f_bits(value: __m256) -> __m256i {
        unsafe { _mm256_castps_si256(value) }
    }
    #[inline(always)]
    unsafe fn f_from_bits(value: __m256i) -> __m256 {
        unsafe { _mm256_castsi256_ps(value) }
    }
    #[inline(always)]
    unsafe fn f_truncate(value: __m256) -> __m256i {
        unsafe { _mm256_cvttps_epi32(value) }
    }

    #[inline(always)]
    unsafe fn i_splat(value: i32) -> __m256i {
        unsafe { _mm256_set1_epi32(value) }
    }
    #[inline(always)]
    unsafe fn i_load(from: *const i32) -> __m256i {
        unsafe { _mm256_loadu_si256(from.cast()) }
    }
    #[inline(always)]
    unsafe fn i_store(to: *mut i32, value: __m256i) {
        unsafe { _mm256_storeu_si256(to.cast(), value) }
    }
    #[inline(always)]
    unsafe fn i_add(x: __m256i, y: __m256i) -> __m256i {
        unsafe { _mm256_add_epi32(x, y) }
    }
    #[inline(always)]
    unsafe fn i_sub(x: __m256i, y: __m256i) -> __m256i {
        unsafe { _mm256_sub_epi32(x, y) }
    }
    #[inline(always)]
    unsafe fn i_and(x: __m256i, y: __m256i) -> __m256i {
        unsafe { _mm256_and_si256(x, y) }
    }
    #[inline(always)]
    unsafe fn i_or(x: __m256i, y: __m256i) -> __m256i {
        unsafe { _mm256_or_si256(x, y) }
    }
    #[inline(always)]
    unsafe fn i_xor(x: __m256i, y: __m256i) -> __m256i {
        unsafe { _mm256_xor_si256(x, y) }
    }
    #[inline(always)]
    unsafe fn i_max(x: __m256i, y: __m256i) -> __m256i {
        unsafe { _mm256_max_epi32(x, y) }
    }
    #[inline(always)]
    unsafe fn i_min(x: __m256i, y: __m256i) -> __m256i {
        unsafe { _mm256_min_epi32(x, y) }
    }
    #[inline(always)]
    unsafe fn i_abs(x: __m256i) -> __m256i {
        unsafe { _mm256_abs_epi32(x) }
    }
    #[inline(always)]
    unsafe fn i_begins_above(x: __m256i, y: __m256i) -> __m256i {
        unsafe {
            // with all bits of y cleared, x is above y only by a bit above all of them
            let signs = _mm256_set1_epi32(i32::MIN);
            let above = _mm256_xor_si256(_mm256_andnot_si256(y, x), signs);
            _mm256_cmpgt_epi32(above, _mm256_xor_si256(y, signs))
        }
    }
    #[inline(always)]
    unsafe fn i_shl<const BITS: u32>(x: __m256i) -> __m256i {
        unsafe { _mm256_sll_epi32(x, _mm_cvtsi32_si128(BITS.cast_signed())) }
    }
    #[inline(always)]
    unsafe fn i_shr<const BITS: u32>(x: __m256i) -> __m256i {
        unsafe { _mm256_srl_epi32(x, _mm_cvtsi32_si128(BITS.cast_signed())) }
    }
    #[inline(always)]
    unsafe fn i_excess(x: __m256i, y: __m256i) -> __m256i {
        // fields are in the upper halves
        unsafe { _mm256_subs_epu16(x, y) }
    }
    #[inline(always)]
    unsafe fn i_gt(x: __m256i, y: __m256i) -> __m256i {
        unsafe { _mm256_cmpgt_epi32(x, y) }
    }
    #[inline(always)]
    unsafe fn i_eq(x: __m256i, y: __m256i) -> __m256i {
        unsafe { _mm256_cmpeq_epi32(x, y) }
    }
    #[inline(always)]
    unsafe fn i_select(mask: __m256i, yes: __m256i, no: __m256i) -> __m256i {
        unsafe { _mm256_blendv_epi8(no, yes, mask) }
    }
    #[inline(always)]
    unsafe fn i_odd_where(mask: __m256i, x: __m256i) -> __m256i {
        unsafe { _mm256_or_si256(x, _mm256_srli_epi32::<31>(mask)) }
    }
    #[inline(always)]
    unsafe fn m_or(x: __m256i, y: __m256i) -> __m256i {
        unsafe { _mm256_or_si256(x, y) }
    }
    #[inline(always)]
    unsafe fn m_bits(mask: __m256i) -> u32 {
        unsafe { _mm256_movemask_ps(_mm256_castsi256_ps(mask)).cast_unsigned() }
    }
    #[inline(always)]
    unsafe fn i_to_f(value: __m256i) -> __m256 {
        unsafe { _mm256_cvtepi32_ps(value) }
    }
    #[inline(always)]
    unsafe fn i_to_f_toward_zero(value: __m256i) -> __m256 {
        unsafe {
            // the low byte is cleared in a magnitude of more than 24 bits: what is left converts exactly
            // or truncates in two exact parts; simplest is to take back what rounding added
            let nearest = _mm256_cvtepi32_ps(value);
            let magnitude = _mm256_abs_epi32(value);
            // |i32::MIN| stays negative and 2^31 converts to itself: compare as unsigned via the sign
            let back = _mm256_cvttps_epi32(_mm256_andnot_ps(_mm256_set1_ps(-0.0), nearest));
            let rounded_away = _mm256_cmpgt_epi32(back, magnitude);
            let overflowed = _mm256_andnot_si256(magnitude, back); // back = 2^31 wraps negative
            let away = _mm256_or_si256(rounded_away, _mm256_srai_epi32::<31>(overflowed));
            _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(nearest), away))
        }
    }
    #[inline(always)]
    unsafe fn f_through_f16(value: __m256) -> __m256 {
        unsafe { _mm256_cvtph_ps(_mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(value)) }
    }

    #[inline(always)]
    unsafe fn b_splat(bytes: u32) -> __m256i {
        unsafe { _mm256_set1_epi32(bytes.cast_signed()) }
    }
    #[inline(always)]
    unsafe fn b_load(from: *const i8) -> __m256i {
        unsafe { _mm256_loadu_si256(from.cast()) }
    }
    #[inline(always)]
    unsafe fn b_add(x: __m256i, y: __m256i) -> __m256i {
        unsafe { _mm256_add_epi8(x, y) }
    }
    #[inline(always)]
    unsafe fn b_sub(x: __m256i, y: __m256i) -> __m256i {
        unsafe { _mm256_sub_epi8(x, y) }
    }
    #[inline(always)]
    unsafe fn b_add_saturating(x: __m256i, y: __m256i) -> __m256i {
        unsafe { _mm256_adds_epi8(x, y) }
    }
    #[inline(always)]
    unsafe fn b_max(x: __m256i, y: __m256i) -> __m256i {
        unsafe { _mm256_max_epi8(x, y) }
    }
    #[inline(always)]
    unsafe fn b_fields(value: __m256i) -> [__m256i; 4] {
        unsafe {
            let field = _mm256_set1_epi32(0xff << 23);
            [
                _mm256_and_si256(_mm256_slli_epi32::<23>(value), field),
                _mm256_and_si256(_mm256_slli_epi32::<15>(value), field),
                _mm256_and_si256(_mm256_slli_epi32::<7>(value), field),
                _mm256_and_si256(_mm256_srli_epi32::<1>(value), field),
            ]
        }
    }
    #[inline(always)]
    unsafe fn i_dot2(sum: __m256i, x: __m256i, y: __m256i) -> __m256i {
        unsafe { _mm256_add_epi32(sum, _mm256_madd_epi16(x, y)) }
    }

    #[inline(always)]
    unsafe fn d_splat(value: f64) -> __m256d {
        unsafe { _mm256_set1_pd(value) }
    }
    #[inline(always)]
    unsafe fn d_load(from: *const f64) -> __m256d {
        unsafe { _mm256_loadu_pd(from) }
    }
    #[inline(always)]
    unsafe fn d_store(to: *mut f64, value: __m256d) {
        unsafe { _mm256_storeu_pd(to, value) }
    }
    #[inline(always)]
    unsafe fn d_add(x: __m256d, y: __m256d) -> __m256d {
        unsafe { _mm256_add_pd(x, y) }
    }
    #[inline(always)]
    unsafe fn d_sub(x: __m256d, y: __m256d) -> __m256d {
        unsafe { _mm256_sub_pd(x, y) }
    }
    #[inline(always)]
    unsafe fn d_mul(x: __m256d, y: __m256d) -> __m256d {
        unsafe { _mm256_mul_pd(x, y) }
    }
    #[inline(always)]
    unsafe fn d_fma(x: __m256d, y: __m256d, z: __m256d) -> __m256d {
        unsafe { _mm256_fmadd_pd(x, y, z) }
    }
    #[inline(always)]
    unsafe fn d_truncate(value: __m256d) -> __m256d {
        unsafe { _mm256_round_pd::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>(value) }
    }
    #[inline(always)]
    unsafe fn d_to_f_toward_zero(halves: [__m256d; 2]) -> __m256 {
        unsafe {
            // to nearest, then one step back where that went away from zero
            let sign = _mm256_set1_pd(-0.0);
            let nearest = Self::d_to_f(halves);
            let back = Self::f_to_d(nearest);
            let away = |half: usize| {
                let (after, before) =
                    (_mm256_andnot_pd(sign, back[half]), _mm256_andnot_pd(sign, halves[half]));
                _mm256_cmp_pd::<_CMP_GT_OQ>(after, before)
            };
            let [steps, _] = Self::d_words([away(0), away(1)]);
            _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(nearest), steps))
        }
    }
    #[inline(always)]
    unsafe fn i_to_d(value: __m256i) -> [__m256d; 2] {
        unsafe {
            [
                _mm256_cvtepi32_pd(_mm256_castsi256_si128(value)),
                _mm256_cvtepi32_pd(_mm256_extracti128_si256::<1>(value)),
            ]
        }
    }
    #[inline(always)]
    unsafe fn f_to_d(value: __m256) -> [__m256d; 2] {
        unsafe {
            [
                _mm256_cvtps_pd(_mm256_castps256_ps128(value)),
                _mm256_cvtps_pd(_mm256_extractf128_ps::<1>(value)),
            ]
        }
    }
    #[inline(always)]
    unsafe fn d_to_f(halves: [__m256d; 2]) -> __m256 {
        unsafe {
            let low = _mm256_castps128_ps256(_mm256_cvtpd_ps(halves[0]));
            _mm256_insertf128_ps::<1>(low, _mm256_cvtpd_ps(halves[1]))
        }
    }
    #[inline(always)]
    unsafe fn d_words(halves: [__m256d; 2]) -> [__m256i; 2] {
        unsafe {
            let (x, y) = (_mm256_castpd_ps(halves[0]), _mm256_castpd_ps(halves[1]));
            // pairs of 128-bit halves interleave: put them back in order
            let low = _mm256_castps_pd(_mm256_shuffle_ps::<0b10_00_10_00>(x, y));
            let high = _mm256_castps_pd(_mm256_shuffle_ps::<0b11_01_11_01>(x, y));
            [
                _mm256_castpd_si256(_mm256_permute4x64_pd::<0b11_01_10_00>(low)),
                _mm256_castpd_si256(_mm256_permute4x64_pd::<0b11_01_10_00>(high)),
            ]
        }
    }
    #[inline(always)]
    unsafe fn d_from_words(low: __m256i, high: __m256i) -> [__m256d; 2] {
        unsafe {
            let (x, y) = (_mm256_unpacklo_epi32(low, high), _mm256_unpackhi_epi32(low, high));
            [
                _mm256_castsi256_pd(_mm256_permute2x128_si256::<0x20>(x, y)),
                _mm256_castsi256_pd(_mm256_permute2x128_si256::<0x31>(x, y)),
            ]
        }
    }
    #[inline(always)]
    unsafe fn b_any_gt(x: __m256i, y: __m256i) -> bool {
        unsafe { _mm256_movemask_epi8(_mm256_cmpgt_epi8(x, y)) != 0 }
    }
    #[inline(always)]
    unsafe fn i_shl_by(x: __m256i, counts: __m256i) -> __m256i {
        unsafe { _mm256_sllv_epi32(x, counts) }
    }
    #[inline(always)]
    unsafe fn i_sar_by(x: __m256i, counts: __m256i) -> __m256i {
        unsafe { _mm256_srav_epi32(x, counts) }
    }
    #[inline(always)]
    unsafe fn f_floor_product(x: __m256, y: __m256) -> __m256i {
        unsafe {
            let product = _mm256_mul_ps(x, y);
            let down = _mm256_cvttps_epi32(_mm256_floor_ps(product));
            // a product that vanished has its sign left, which zero has too: -1 where x is below zero
            let zero = _mm256_setzero_ps();
            let vanished = _mm256_cmp_ps::<_CMP_EQ_OQ>(product, zero);
            let below = _mm256_and_ps(vanished, _mm256_cmp_ps::<_CMP_LT_OQ>(x, zero));
            _mm256_add_epi32(down, _mm256_castps_si256(below))
        }
    }
    #[inline(always)]
    unsafe fn d_load_f(from: *const f32) -> __m256d {
        unsafe { _mm256_cvtps_pd(_mm_loadu_ps(from)) }
    }
    #[inline(always)]
    unsafe fn d_store_f(to: *mut f32, value: __m256d) {
        unsafe { _mm_storeu_ps(to, _mm256_cvtpd_ps(value)) }
    }
    #[inline(always)]
    unsafe fn d_or(x: __m256d, y: __m256d) -> __m256d {
        unsafe { _mm256_or_pd(x, y) }
    }
    #[inline(always)]
    unsafe fn d_nonzero(value: __m256d) -> u32 {
        unsafe {
            let mask = _mm256_cmp_pd::<_CMP_NEQ_UQ>(value, _mm256_setzero_pd());
            _mm256_movemask_pd(mask).cast_unsigned()
        }
    }
    #[inline(always)]
    unsafe fn d_odd(sum: __m256d, error: __m256d) -> __m256d {
        unsafe {
            let (zero, one) = (_mm256_setzero_si256(), _mm256_set1_epi64x(1));
            let bits = _mm256_castpd_si256(sum);
            let exact = _mm256_castpd_si256(_mm256_cmp_pd::<_CMP_EQ_OQ>(error, _mm256_setzero_pd()));
            let even = _mm256_cmpeq_epi64(_mm256_and_si256(bits, one), zero);
            // one step up in magnitude if the error has the sum's sign, one down if not
            let signs = _mm256_cmpgt_epi64(zero, _mm256_xor_si256(bits, _mm256_castpd_si256(error)));
            let step = _mm256_and_si256(_mm256_andnot_si256(exact, even), _mm256_or_si256(signs, one));
            _mm256_castsi256_pd(_mm256_add_epi64(bits, step))
        }
    }
}
