//! AVX-512: F, BW, DQ and VL, and with `HALVES` VNNI and FP16 too.

use std::arch::asm;
use std::arch::x86_64::*;

use super::Simd;

const TOWARD_ZERO: i32 = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC;

/// VPDPWSSD. Of the intrinsic the compiler makes two instructions, which take less time one after the other and
/// more side by side.
#[inline]
#[target_feature(enable = "avx512f,avx512vnni")]
unsafe fn dpwssd(mut sum: __m512i, x: __m512i, y: __m512i) -> __m512i {
    unsafe {
        asm!("vpdpwssd {}, {}, {}", inout(zmm_reg) sum, in(zmm_reg) x, in(zmm_reg) y,
            options(pure, nomem, nostack, preserves_flags));
    }
    sum
}

/// VPORD of ones under a mask. Of the intrinsic the compiler makes three instructions.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn set_lowest(mask: __mmask16, mut x: __m512i) -> __m512i {
    unsafe {
        asm!("vpord {x}{{{mask}}}, {x}, {ones}", x = inout(zmm_reg) x, mask = in(kreg) mask,
            ones = in(zmm_reg) _mm512_set1_epi32(1), options(pure, nomem, nostack, preserves_flags));
    }
    x
}

#[derive(Clone, Copy)]
pub(in super::super) struct Avx512<const HALVES: bool>;

impl<const HALVES: bool> Simd for Avx512<HALVES> {
    const LANES: usize = 16;
    const MANY: bool = true;
    const HALVES: bool = HALVES;
    type F = __m512;
    type I = __m512i;
    type M = __mmask16;
    type B = __m512i;
    type D = __m512d;

    #[inline(always)]
    unsafe fn f_splat(value: f32) -> __m512 {
        unsafe { _mm512_set1_ps(value) }
    }
    #[inline(always)]
    unsafe fn f_load(from: *const f32) -> __m512 {
        unsafe { _mm512_loadu_ps(from) }
    }
    #[inline(always)]
    unsafe fn f_store(to: *mut f32, value: __m512) {
        unsafe { _mm512_storeu_ps(to, value) }
    }
    #[inline(always)]
    unsafe fn f_add(x: __m512, y: __m512) -> __m512 {
        unsafe { _mm512_add_ps(x, y) }
    }
    #[inline(always)]
    unsafe fn f_mul(x: __m512, y: __m512) -> __m512 {
        unsafe { _mm512_mul_ps(x, y) }
    }
    #[inline(always)]
    unsafe fn f_max(x: __m512, y: __m512) -> __m512 {
        unsafe { _mm512_max_ps(x, y) }
    }
    #[inline(always)]
    unsafe fn f_max_magnitude(x: __m512, y: __m512) -> __m512 {
        const MAGNITUDES: i32 = 0b1011; // the larger of both magnitudes, without sign
        unsafe { _mm512_range_ps::<MAGNITUDES>(x, y) }
    }
    #[inline(always)]
    unsafe fn f_fma(x: __m512, y: __m512, z: __m512) -> __m512 {
        unsafe { _mm512_fmadd_ps(x, y, z) }
    }
    #[inline(always)]
    unsafe fn f_bits(value: __m512) -> __m512i {
        unsafe { _mm512_castps_si512(value) }
    }
    #[inline(always)]
    unsafe fn f_from_bits(value: __m512i) -> __m512 {
        unsafe { _mm512_castsi512_ps(value) }
    }
    #[inline(always)]
    unsafe fn f_truncate(value: __m512) -> __m512i {
        unsafe { _mm512_cvttps_epi32(value) }
    }

    #[inline(always)]
    unsafe fn i_splat(value: i32) -> __m512i {
        unsafe { _mm512_set1_epi32(value) }
    }
    #[inline(always)]
    unsafe fn i_load(from: *const i32) -> __m512i {
        unsafe { _mm512_loadu_si512(from.cast()) }
    }
    #[inline(always)]
    unsafe fn i_store(to: *mut i32, value: __m512i) {
        unsafe { _mm512_storeu_si512(to.cast(), value) }
    }
    #[inline(always)]
    unsafe fn i_add(x: __m512i, y: __m512i) -> __m512i {
        unsafe { _mm512_add_epi32(x, y) }
    }
    #[inline(always)]
    unsafe fn i_sub(x: __m512i, y: __m512i) -> __m512i {
        unsafe { _mm512_sub_epi32(x, y) }
    }
    #[inline(always)]
    unsafe fn i_and(x: __m512i, y: __m512i) -> __m512i {
        unsafe { _mm512_and_si512(x, y) }
    }
    #[inline(always)]
    unsafe fn i_or(x: __m512i, y: __m512i) -> __m512i {
        unsafe { _mm512_or_si512(x, y) }
    }
    #[inline(always)]
    unsafe fn i_xor(x: __m512i, y: __m512i) -> __m512i {
        unsafe { _mm512_xor_si512(x, y) }
    }
    #[inline(always)]
    unsafe fn i_max(x: __m512i, y: __m512i) -> __m512i {
        unsafe { _mm512_max_epi32(x, y) }
    }
    #[inline(always)]
    unsafe fn i_min(x: __m512i, y: __m512i) -> __m512i {
        unsafe { _mm512_min_epi32(x, y) }
    }
    #[inline(always)]
    unsafe fn i_abs(x: __m512i) -> __m512i {
        unsafe { _mm512_abs_epi32(x) }
    }
    #[inline(always)]
    unsafe fn i_begins_above(x: __m512i, y: __m512i) -> __mmask16 {
        // with all bits of y cleared, x is above y only by a bit above all of them
        unsafe { _mm512_cmpgt_epu32_mask(_mm512_andnot_si512(y, x), y) }
    }
    #[inline(always)]
    unsafe fn i_shl<const BITS: u32>(x: __m512i) -> __m512i {
        unsafe { _mm512_slli_epi32::<BITS>(x) }
    }
    #[inline(always)]
    unsafe fn i_shr<const BITS: u32>(x: __m512i) -> __m512i {
        unsafe { _mm512_srli_epi32::<BITS>(x) }
    }
    #[inline(always)]
    unsafe fn i_excess(x: __m512i, y: __m512i) -> __m512i {
        // fields are in the upper halves
        unsafe { _mm512_subs_epu16(x, y) }
    }
    #[inline(always)]
    unsafe fn i_gt(x: __m512i, y: __m512i) -> __mmask16 {
        unsafe { _mm512_cmpgt_epi32_mask(x, y) }
    }
    #[inline(always)]
    unsafe fn i_eq(x: __m512i, y: __m512i) -> __mmask16 {
        unsafe { _mm512_cmpeq_epi32_mask(x, y) }
    }
    #[inline(always)]
    unsafe fn i_select(mask: __mmask16, yes: __m512i, no: __m512i) -> __m512i {
        unsafe { _mm512_mask_blend_epi32(mask, no, yes) }
    }
    #[inline(always)]
    unsafe fn i_odd_where(mask: __mmask16, x: __m512i) -> __m512i {
        unsafe { set_lowest(mask, x) }
    }
    #[inline(always)]
    unsafe fn m_or(x: __mmask16, y: __mmask16) -> __mmask16 {
        x | y
    }
    #[inline(always)]
    unsafe fn m_bits(mask: __mmask16) -> u32 {
        u32::from(mask)
    }
    #[inline(always)]
    unsafe fn i_to_f(value: __m512i) -> __m512 {
        unsafe { _mm512_cvtepi32_ps(value) }
    }
    #[inline(always)]
    unsafe fn i_to_f_toward_zero(value: __m512i) -> __m512 {
        unsafe { _mm512_cvt_roundepi32_ps::<TOWARD_ZERO>(value) }
    }
    #[inline(always)]
    unsafe fn f_through_f16(value: __m512) -> __m512 {
        unsafe { _mm512_cvtph_ps(_mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(value)) }
    }

    #[inline(always)]
    unsafe fn b_splat(bytes: u32) -> __m512i {
        unsafe { _mm512_set1_epi32(bytes.cast_signed()) }
    }
    #[inline(always)]
    unsafe fn b_load(from: *const i8) -> __m512i {
        unsafe { _mm512_loadu_si512(from.cast()) }
    }
    #[inline(always)]
    unsafe fn b_add(x: __m512i, y: __m512i) -> __m512i {
        unsafe { _mm512_add_epi8(x, y) }
    }
    #[inline(always)]
    unsafe fn b_sub(x: __m512i, y: __m512i) -> __m512i {
        unsafe { _mm512_sub_epi8(x, y) }
    }
    #[inline(always)]
    unsafe fn b_add_saturating(x: __m512i, y: __m512i) -> __m512i {
        unsafe { _mm512_adds_epi8(x, y) }
    }
    #[inline(always)]
    unsafe fn b_max(x: __m512i, y: __m512i) -> __m512i {
        unsafe { _mm512_max_epi8(x, y) }
    }
    #[inline(always)]
    unsafe fn b_fields(value: __m512i) -> [__m512i; 4] {
        unsafe {
            let field = _mm512_set1_epi32(0xff << 23);
            [
                _mm512_and_si512(_mm512_slli_epi32::<23>(value), field),
                _mm512_and_si512(_mm512_slli_epi32::<15>(value), field),
                _mm512_and_si512(_mm512_slli_epi32::<7>(value), field),
                _mm512_and_si512(_mm512_srli_epi32::<1>(value), field),
            ]
        }
    }
    #[inline(always)]
    unsafe fn i_dot2(sum: __m512i, x: __m512i, y: __m512i) -> __m512i {
        unsafe {
            match HALVES {
                true => dpwssd(sum, x, y),
                false => _mm512_add_epi32(sum, _mm512_madd_epi16(x, y)),
            }
        }
    }
    #[inline(always)]
    unsafe fn h_twice(value: __m512) -> __m512i {
        unsafe {
            let halves = _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(value);
            let words = _mm512_cvtepu16_epi32(halves);
            _mm512_or_si512(words, _mm512_slli_epi32::<16>(words))
        }
    }
    #[inline(always)]
    unsafe fn h_products(x: __m512i, y: __m512i, scale: __m512i) -> __m512i {
        unsafe {
            let product = _mm512_mul_ph(_mm512_castsi512_ph(x), _mm512_castsi512_ph(y));
            _mm512_cvttph_epi16(_mm512_mul_ph(product, _mm512_castsi512_ph(scale)))
        }
    }

    #[inline(always)]
    unsafe fn d_splat(value: f64) -> __m512d {
        unsafe { _mm512_set1_pd(value) }
    }
    #[inline(always)]
    unsafe fn d_load(from: *const f64) -> __m512d {
        unsafe { _mm512_loadu_pd(from) }
    }
    #[inline(always)]
    unsafe fn d_store(to: *mut f64, value: __m512d) {
        unsafe { _mm512_storeu_pd(to, value) }
    }
    #[inline(always)]
    unsafe fn d_add(x: __m512d, y: __m512d) -> __m512d {
        unsafe { _mm512_add_pd(x, y) }
    }
    #[inline(always)]
    unsafe fn d_sub(x: __m512d, y: __m512d) -> __m512d {
        unsafe { _mm512_sub_pd(x, y) }
    }
    #[inline(always)]
    unsafe fn d_mul(x: __m512d, y: __m512d) -> __m512d {
        unsafe { _mm512_mul_pd(x, y) }
    }
    #[inline(always)]
    unsafe fn d_fma(x: __m512d, y: __m512d, z: __m512d) -> __m512d {
        unsafe { _mm512_fmadd_pd(x, y, z) }
    }
    #[inline(always)]
    unsafe fn d_truncate(value: __m512d) -> __m512d {
        unsafe { _mm512_roundscale_pd::<TOWARD_ZERO>(value) }
    }
    #[inline(always)]
    unsafe fn d_to_f_toward_zero(halves: [__m512d; 2]) -> __m512 {
        unsafe {
            let low = _mm512_castps256_ps512(_mm512_cvt_roundpd_ps::<TOWARD_ZERO>(halves[0]));
            _mm512_insertf32x8::<1>(low, _mm512_cvt_roundpd_ps::<TOWARD_ZERO>(halves[1]))
        }
    }
    #[inline(always)]
    unsafe fn i_to_d(value: __m512i) -> [__m512d; 2] {
        unsafe {
            [
                _mm512_cvtepi32_pd(_mm512_castsi512_si256(value)),
                _mm512_cvtepi32_pd(_mm512_extracti64x4_epi64::<1>(value)),
            ]
        }
    }
    #[inline(always)]
    unsafe fn f_to_d(value: __m512) -> [__m512d; 2] {
        unsafe {
            [
                _mm512_cvtps_pd(_mm512_castps512_ps256(value)),
                _mm512_cvtps_pd(_mm512_extractf32x8_ps::<1>(value)),
            ]
        }
    }
    #[inline(always)]
    unsafe fn d_to_f(halves: [__m512d; 2]) -> __m512 {
        unsafe {
            let low = _mm512_castps256_ps512(_mm512_cvtpd_ps(halves[0]));
            _mm512_insertf32x8::<1>(low, _mm512_cvtpd_ps(halves[1]))
        }
    }
    #[inline(always)]
    unsafe fn d_words(halves: [__m512d; 2]) -> [__m512i; 2] {
        unsafe {
            let even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
            let odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
            let (x, y) = (_mm512_castpd_si512(halves[0]), _mm512_castpd_si512(halves[1]));
            [_mm512_permutex2var_epi32(x, even, y), _mm512_permutex2var_epi32(x, odd, y)]
        }
    }
    #[inline(always)]
    unsafe fn d_from_words(low: __m512i, high: __m512i) -> [__m512d; 2] {
        unsafe {
            let first = _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
            let second = _mm512_add_epi32(first, _mm512_set1_epi32(8));
            [
                _mm512_castsi512_pd(_mm512_permutex2var_epi32(low, first, high)),
                _mm512_castsi512_pd(_mm512_permutex2var_epi32(low, second, high)),
            ]
        }
    }
    #[inline(always)]
    unsafe fn b_any_gt(x: __m512i, y: __m512i) -> bool {
        unsafe { _mm512_cmpgt_epi8_mask(x, y) != 0 }
    }
    #[inline(always)]
    unsafe fn i_shl_by(x: __m512i, counts: __m512i) -> __m512i {
        unsafe { _mm512_sllv_epi32(x, counts) }
    }
    #[inline(always)]
    unsafe fn i_sar_by(x: __m512i, counts: __m512i) -> __m512i {
        unsafe { _mm512_srav_epi32(x, counts) }
    }
    #[inline(always)]
    unsafe fn f_floor_product(x: __m512, y: __m512) -> __m512i {
        const DOWN: i32 = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC;
        unsafe { _mm512_cvt_roundps_epi32::<DOWN>(_mm512_mul_round_ps::<DOWN>(x, y)) }
    }
    #[inline(always)]
    unsafe fn d_load_f(from: *const f32) -> __m512d {
        unsafe { _mm512_cvtps_pd(_mm256_loadu_ps(from)) }
    }
    #[inline(always)]
    unsafe fn d_store_f(to: *mut f32, value: __m512d) {
        unsafe { _mm256_storeu_ps(to, _mm512_cvtpd_ps(value)) }
    }
    #[inline(always)]
    unsafe fn d_or(x: __m512d, y: __m512d) -> __m512d {
        unsafe { _mm512_or_pd(x, y) }
    }
    #[inline(always)]
    unsafe fn d_nonzero(value: __m512d) -> u32 {
        unsafe { u32::from(_mm512_cmp_pd_mask::<_CMP_NEQ_UQ>(value, _mm512_setzero_pd())) }
    }
    #[inline(always)]
    unsafe fn d_odd(sum: __m512d, error: __m512d) -> __m512d {
        unsafe {
            let inexact = _mm512_cmp_pd_mask::<_CMP_NEQ_UQ>(error, _mm512_setzero_pd());
            let (bits, one) = (_mm512_castpd_si512(sum), _mm512_set1_epi64(1));
            let even = _mm512_mask_testn_epi64_mask(inexact, bits, one);
            // one step up in magnitude if the error has the sum's sign, one down if not
            let signs = _mm512_srai_epi64::<63>(_mm512_xor_si512(bits, _mm512_castpd_si512(error)));
            let step = _mm512_or_si512(signs, one);
            _mm512_castsi512_pd(_mm512_mask_add_epi64(bits, even, bits, step))
        }
    }
}
