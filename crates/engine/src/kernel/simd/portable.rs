//! Plain arrays of eight lanes; the compiler vectorises them for whatever the target has.

use super::Simd;

const LANES: usize = 8;

#[derive(Clone, Copy)]
pub(in super::super) struct Portable;

/// The function applied to each lane.
macro_rules! lanes {
    ($index:ident => $value:expr) => {{
        std::array::from_fn(
            #[inline(always)]
            |$index| $value,
        )
    }};
}

impl Simd for Portable {
    const LANES: usize = LANES;
    const FUSED: bool = cfg!(any(target_arch = "aarch64", target_feature = "fma"));
    type F = [f32; LANES];
    type I = [i32; LANES];
    type M = [bool; LANES];
    type B = [i8; 4 * LANES];
    type D = [f64; LANES / 2];

    #[inline(always)]
    unsafe fn f_splat(value: f32) -> [f32; LANES] {
        [value; LANES]
    }
    #[inline(always)]
    unsafe fn f_load(from: *const f32) -> [f32; LANES] {
        unsafe { from.cast::<[f32; LANES]>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn f_store(to: *mut f32, value: [f32; LANES]) {
        unsafe { to.cast::<[f32; LANES]>().write_unaligned(value) }
    }
    #[inline(always)]
    unsafe fn f_add(x: [f32; LANES], y: [f32; LANES]) -> [f32; LANES] {
        lanes!(i => x[i] + y[i])
    }
    #[inline(always)]
    unsafe fn f_mul(x: [f32; LANES], y: [f32; LANES]) -> [f32; LANES] {
        lanes!(i => x[i] * y[i])
    }
    #[inline(always)]
    unsafe fn f_max(x: [f32; LANES], y: [f32; LANES]) -> [f32; LANES] {
        lanes!(i => if x[i] > y[i] { x[i] } else { y[i] })
    }
    #[inline(always)]
    unsafe fn f_max_magnitude(x: [f32; LANES], y: [f32; LANES]) -> [f32; LANES] {
        lanes!(i => if x[i].abs() > y[i].abs() { x[i].abs() } else { y[i].abs() })
    }
    #[inline(always)]
    unsafe fn f_fma(x: [f32; LANES], y: [f32; LANES], z: [f32; LANES]) -> [f32; LANES] {
        lanes!(i => x[i].mul_add(y[i], z[i]))
    }
    #[inline(always)]
    unsafe fn f_bits(value: [f32; LANES]) -> [i32; LANES] {
        lanes!(i => value[i].to_bits().cast_signed())
    }
    #[inline(always)]
    unsafe fn f_from_bits(value: [i32; LANES]) -> [f32; LANES] {
        lanes!(i => f32::from_bits(value[i].cast_unsigned()))
    }
    #[inline(always)]
    unsafe fn f_truncate(value: [f32; LANES]) -> [i32; LANES] {
        lanes!(i => value[i] as i32)
    }
    #[inline(always)]
    unsafe fn i_splat(value: i32) -> [i32; LANES] {
        [value; LANES]
    }
    #[inline(always)]
    unsafe fn i_load(from: *const i32) -> [i32; LANES] {
        unsafe { from.cast::<[i32; LANES]>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn i_store(to: *mut i32, value: [i32; LANES]) {
        unsafe { to.cast::<[i32; LANES]>().write_unaligned(value) }
    }
    #[inline(always)]
    unsafe fn i_add(x: [i32; LANES], y: [i32; LANES]) -> [i32; LANES] {
        lanes!(i => x[i].wrapping_add(y[i]))
    }
    #[inline(always)]
    unsafe fn i_sub(x: [i32; LANES], y: [i32; LANES]) -> [i32; LANES] {
        lanes!(i => x[i].wrapping_sub(y[i]))
    }
    #[inline(always)]
    unsafe fn i_and(x: [i32; LANES], y: [i32; LANES]) -> [i32; LANES] {
        lanes!(i => x[i] & y[i])
    }
    #[inline(always)]
    unsafe fn i_or(x: [i32; LANES], y: [i32; LANES]) -> [i32; LANES] {
        lanes!(i => x[i] | y[i])
    }
    #[inline(always)]
    unsafe fn i_xor(x: [i32; LANES], y: [i32; LANES]) -> [i32; LANES] {
        lanes!(i => x[i] ^ y[i])
    }
    #[inline(always)]
    unsafe fn i_max(x: [i32; LANES], y: [i32; LANES]) -> [i32; LANES] {
        lanes!(i => x[i].max(y[i]))
    }
    #[inline(always)]
    unsafe fn i_min(x: [i32; LANES], y: [i32; LANES]) -> [i32; LANES] {
        lanes!(i => x[i].min(y[i]))
    }
    #[inline(always)]
    unsafe fn i_abs(x: [i32; LANES]) -> [i32; LANES] {
        lanes!(i => x[i].unsigned_abs().cast_signed())
    }
    #[inline(always)]
    unsafe fn i_begins_above(x: [i32; LANES], y: [i32; LANES]) -> [bool; LANES] {
        lanes!(i => x[i].leading_zeros() < y[i].leading_zeros())
    }
    #[inline(always)]
    unsafe fn i_shl<const BITS: u32>(x: [i32; LANES]) -> [i32; LANES] {
        lanes!(i => x[i] << BITS)
    }
    #[inline(always)]
    unsafe fn i_shr<const BITS: u32>(x: [i32; LANES]) -> [i32; LANES] {
        lanes!(i => (x[i].cast_unsigned() >> BITS).cast_signed())
    }
    #[inline(always)]
    unsafe fn i_excess(x: [i32; LANES], y: [i32; LANES]) -> [i32; LANES] {
        lanes!(i => x[i].wrapping_sub(y[i]).max(0))
    }
    #[inline(always)]
    unsafe fn i_gt(x: [i32; LANES], y: [i32; LANES]) -> [bool; LANES] {
        lanes!(i => x[i] > y[i])
    }
    #[inline(always)]
    unsafe fn i_eq(x: [i32; LANES], y: [i32; LANES]) -> [bool; LANES] {
        lanes!(i => x[i] == y[i])
    }
    #[inline(always)]
    unsafe fn i_select(mask: [bool; LANES], yes: [i32; LANES], no: [i32; LANES]) -> [i32; LANES] {
        lanes!(i => if mask[i] { yes[i] } else { no[i] })
    }
    #[inline(always)]
    unsafe fn i_odd_where(mask: [bool; LANES], x: [i32; LANES]) -> [i32; LANES] {
        lanes!(i => x[i] | i32::from(mask[i]))
    }
    #[inline(always)]
    unsafe fn m_or(x: [bool; LANES], y: [bool; LANES]) -> [bool; LANES] {
        lanes!(i => x[i] | y[i])
    }
    #[inline(always)]
    unsafe fn m_bits(mask: [bool; LANES]) -> u32 {
        mask.iter().rev().fold(0, |bits, &lane| bits << 1 | u32::from(lane))
    }
    #[inline(always)]
    unsafe fn i_to_f(value: [i32; LANES]) -> [f32; LANES] {
        lanes!(i => value[i] as f32)
    }
    #[inline(always)]
    unsafe fn i_to_f_toward_zero(value: [i32; LANES]) -> [f32; LANES] {
        lanes!(i => {
            let nearest = value[i] as f32;
            // what rounding added is taken back: one step toward zero
            let away = i64::from(nearest.abs() as u32) > i64::from(value[i].unsigned_abs());
            f32::from_bits(nearest.to_bits() - u32::from(away))
        })
    }
    #[inline(always)]
    unsafe fn f_through_f16(value: [f32; LANES]) -> [f32; LANES] {
        lanes!(i => half_even(value[i]))
    }
    #[inline(always)]
    unsafe fn b_splat(bytes: u32) -> [i8; 4 * LANES] {
        lanes!(i => bytes.to_le_bytes()[i % 4].cast_signed())
    }
    #[inline(always)]
    unsafe fn b_load(from: *const i8) -> [i8; 4 * LANES] {
        unsafe { from.cast::<[i8; 4 * LANES]>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn b_add(x: [i8; 4 * LANES], y: [i8; 4 * LANES]) -> [i8; 4 * LANES] {
        lanes!(i => x[i].wrapping_add(y[i]))
    }
    #[inline(always)]
    unsafe fn b_sub(x: [i8; 4 * LANES], y: [i8; 4 * LANES]) -> [i8; 4 * LANES] {
        lanes!(i => x[i].wrapping_sub(y[i]))
    }
    #[inline(always)]
    unsafe fn b_add_saturating(x: [i8; 4 * LANES], y: [i8; 4 * LANES]) -> [i8; 4 * LANES] {
        lanes!(i => x[i].saturating_add(y[i]))
    }
    #[inline(always)]
    unsafe fn b_max(x: [i8; 4 * LANES], y: [i8; 4 * LANES]) -> [i8; 4 * LANES] {
        lanes!(i => x[i].max(y[i]))
    }
    #[inline(always)]
    unsafe fn b_fields(value: [i8; 4 * LANES]) -> [[i32; LANES]; 4] {
        lanes!(part => lanes!(i => i32::from(value[4 * i + part].cast_unsigned()) << 23))
    }
    #[inline(always)]
    unsafe fn i_dot2(sum: [i32; LANES], x: [i32; LANES], y: [i32; LANES]) -> [i32; LANES] {
        lanes!(i => {
            let low = i32::from(x[i] as i16) * i32::from(y[i] as i16);
            sum[i].wrapping_add(low).wrapping_add((x[i] >> 16) * (y[i] >> 16))
        })
    }
    #[inline(always)]
    unsafe fn d_splat(value: f64) -> [f64; LANES / 2] {
        [value; LANES / 2]
    }
    #[inline(always)]
    unsafe fn d_load(from: *const f64) -> [f64; LANES / 2] {
        unsafe { from.cast::<[f64; LANES / 2]>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn d_store(to: *mut f64, value: [f64; LANES / 2]) {
        unsafe { to.cast::<[f64; LANES / 2]>().write_unaligned(value) }
    }
    #[inline(always)]
    unsafe fn d_add(x: [f64; LANES / 2], y: [f64; LANES / 2]) -> [f64; LANES / 2] {
        lanes!(i => x[i] + y[i])
    }
    #[inline(always)]
    unsafe fn d_sub(x: [f64; LANES / 2], y: [f64; LANES / 2]) -> [f64; LANES / 2] {
        lanes!(i => x[i] - y[i])
    }
    #[inline(always)]
    unsafe fn d_mul(x: [f64; LANES / 2], y: [f64; LANES / 2]) -> [f64; LANES / 2] {
        lanes!(i => x[i] * y[i])
    }
    #[inline(always)]
    unsafe fn d_fma(x: [f64; LANES / 2], y: [f64; LANES / 2], z: [f64; LANES / 2]) -> [f64; LANES / 2] {
        lanes!(i => x[i].mul_add(y[i], z[i]))
    }
    #[inline(always)]
    unsafe fn d_truncate(value: [f64; LANES / 2]) -> [f64; LANES / 2] {
        lanes!(i => value[i].trunc())
    }
    #[inline(always)]
    unsafe fn d_to_f_toward_zero(halves: [[f64; LANES / 2]; 2]) -> [f32; LANES] {
        lanes!(i => {
            let value = halves[i / (LANES / 2)][i % (LANES / 2)];
            let nearest = value as f32;
            let away = f64::from(nearest).abs() > value.abs();
            f32::from_bits(nearest.to_bits() - u32::from(away))
        })
    }
    #[inline(always)]
    unsafe fn i_to_d(value: [i32; LANES]) -> [[f64; LANES / 2]; 2] {
        [lanes!(i => f64::from(value[i])), lanes!(i => f64::from(value[LANES / 2 + i]))]
    }
    #[inline(always)]
    unsafe fn f_to_d(value: [f32; LANES]) -> [[f64; LANES / 2]; 2] {
        [lanes!(i => f64::from(value[i])), lanes!(i => f64::from(value[LANES / 2 + i]))]
    }
    #[inline(always)]
    unsafe fn d_to_f(halves: [[f64; LANES / 2]; 2]) -> [f32; LANES] {
        lanes!(i => halves[i / (LANES / 2)][i % (LANES / 2)] as f32)
    }
    #[inline(always)]
    unsafe fn d_words(halves: [[f64; LANES / 2]; 2]) -> [[i32; LANES]; 2] {
        let bits: [u64; LANES] = lanes!(i => halves[i / (LANES / 2)][i % (LANES / 2)].to_bits());
        [lanes!(i => bits[i] as i32), lanes!(i => (bits[i] >> 32) as i32)]
    }
    #[inline(always)]
    unsafe fn d_from_words(low: [i32; LANES], high: [i32; LANES]) -> [[f64; LANES / 2]; 2] {
        let bits: [u64; LANES] = lanes!(i => {
            u64::from(high[i].cast_unsigned()) << 32 | u64::from(low[i].cast_unsigned())
        });
        [lanes!(i => f64::from_bits(bits[i])), lanes!(i => f64::from_bits(bits[LANES / 2 + i]))]
    }
    #[inline(always)]
    unsafe fn b_any_gt(x: [i8; 4 * LANES], y: [i8; 4 * LANES]) -> bool {
        x.iter().zip(&y).any(|(x, y)| x > y)
    }
    #[inline(always)]
    unsafe fn i_shl_by(x: [i32; LANES], counts: [i32; LANES]) -> [i32; LANES] {
        lanes!(i => x[i].unbounded_shl(counts[i].cast_unsigned()))
    }
    #[inline(always)]
    unsafe fn i_sar_by(x: [i32; LANES], counts: [i32; LANES]) -> [i32; LANES] {
        lanes!(i => x[i].unbounded_shr(counts[i].cast_unsigned()))
    }
    #[inline(always)]
    unsafe fn f_floor_product(x: [f32; LANES], y: [f32; LANES]) -> [i32; LANES] {
        lanes!(i => {
            let product = x[i] * y[i];
            let vanished = product == 0.0 && x[i] < 0.0;
            (product.floor() as i32).wrapping_sub(i32::from(vanished))
        })
    }
    #[inline(always)]
    unsafe fn d_load_f(from: *const f32) -> [f64; LANES / 2] {
        let values = unsafe { from.cast::<[f32; LANES / 2]>().read_unaligned() };
        lanes!(i => f64::from(values[i]))
    }
    #[inline(always)]
    unsafe fn d_store_f(to: *mut f32, value: [f64; LANES / 2]) {
        let values: [f32; LANES / 2] = lanes!(i => value[i] as f32);
        unsafe { to.cast::<[f32; LANES / 2]>().write_unaligned(values) }
    }
    #[inline(always)]
    unsafe fn d_or(x: [f64; LANES / 2], y: [f64; LANES / 2]) -> [f64; LANES / 2] {
        lanes!(i => f64::from_bits(x[i].to_bits() | y[i].to_bits()))
    }
    #[inline(always)]
    unsafe fn d_nonzero(value: [f64; LANES / 2]) -> u32 {
        value.iter().rev().fold(0, |bits, &lane| bits << 1 | u32::from(lane != 0.0))
    }
    #[inline(always)]
    unsafe fn d_odd(sum: [f64; LANES / 2], error: [f64; LANES / 2]) -> [f64; LANES / 2] {
        lanes!(i => {
            let bits = sum[i].to_bits();
            let up = (bits ^ error[i].to_bits()) >> 63 == 0;
            // one step up in magnitude if the error has the sum's sign, one down if not
            let odd = if up { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
            f64::from_bits(if error[i] != 0.0 && bits & 1 == 0 { odd } else { bits })
        })
    }
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
