//! Operations on every set that this processor has, where instruction sets differ from each other: by hand.

use super::{Level, Simd, Work, byte_fields};
use crate::pack::bytes;

/// The lanes of a vector.
fn lanes<S: Simd>(s: S, vector: S::I) -> Vec<i32> {
    let mut to = vec![0.0; S::LANES];
    s.f_store(&mut to, s.f_from_bits(vector));
    to.into_iter().map(|lane| lane.to_bits().cast_signed()).collect()
}

/// Whether every lane is that number.
fn all<S: Simd>(s: S, vector: S::I, lane: i32, what: &str) {
    assert_eq!(lanes(s, vector), vec![lane; S::LANES], "{what}, {} lanes", S::LANES);
}

/// The same of FP32 numbers, by their bits.
fn all_f<S: Simd>(s: S, vector: S::F, lane: f32, what: &str) {
    all(s, s.f_bits(vector), lane.to_bits().cast_signed(), what);
}

struct Facts;

impl Work for Facts {
    type Output = ();

    fn run<S: Simd>(self, s: S) {
        let (small, two_24) = (2f32.powi(-100), 1 << 24);
        for count in [32, 33, 63, 64, 127, 128, 200, 255, 256, 1 << 24, i32::MAX] {
            all(s, s.i_shl_by(s.i_splat(-1), s.i_splat(count)), 0, &format!("-1 << {count}"));
            all(s, s.i_sar_by(s.i_splat(-8), s.i_splat(count)), -1, &format!("-8 >> {count}"));
            all(s, s.i_sar_by(s.i_splat(8), s.i_splat(count)), 0, &format!("8 >> {count}"));
        }
        all(s, s.i_shl_by(s.i_splat(1), s.i_splat(31)), i32::MIN, "1 << 31");
        all(s, s.i_sar_by(s.i_splat(-8), s.i_splat(2)), -2, "-8 >> 2");
        all(s, s.i_shr(31, s.i_splat(-1)), 1, "zeros shifted in");
        all(s, s.i_abs(s.i_splat(i32::MIN)), i32::MIN, "2^31 without sign");
        for (x, y, expected) in [
            (-small, small, -1),
            (small, small, 0),
            (-0.0, 1.0, 0),
            (-1.5, 1.0, -2),
            (-1e-45, 1.0, -1),
            (1.5, 2.0, 3),
        ] {
            all(s, s.f_floor_product(s.f_splat(x), s.f_splat(y)), expected, &format!("floor of {x}·{y}"));
        }
        let beyond = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 2f32.powi(31), 3e9, -3e9];
        for value in beyond {
            all(s, s.f_truncate_any(s.f_splat(value)), i32::MIN, &format!("truncated {value}"));
        }
        all(s, s.f_truncate_any(s.f_splat(-1.9)), -1, "truncated -1.9");
        all(s, s.f_truncate_any(s.f_splat(2_147_483_520.0)), 2_147_483_520, "the largest below 2^31");
        for (value, expected) in [
            (i32::MAX, 2_147_483_520.0),
            (i32::MIN, -2_147_483_648.0),
            (two_24 + 3, 16_777_218.0),
            (-two_24 - 3, -16_777_218.0),
            (-two_24 - 1, -16_777_216.0),
            ((1 << 25) - 1, 33_554_430.0),
            (-(1 << 25) + 1, -33_554_430.0),
            (-1, -1.0),
            (0, 0.0),
        ] {
            all_f(s, s.i_to_f_toward_zero(s.i_splat(value)), expected, &format!("{value} toward zero"));
        }
        for (value, expected) in [
            (65519.996, 65504.0),
            (65520.0, f32::INFINITY),
            (-1e9, f32::NEG_INFINITY),
            (2f32.powi(-25), 0.0),
            (-2f32.powi(-25), -0.0),
            (1.5 * 2f32.powi(-25), 2f32.powi(-24)),
            (1.0 + 2f32.powi(-11), 1.0),
            (1.0 + 3.0 * 2f32.powi(-11), 1.0 + 2f32.powi(-9)),
        ] {
            all_f(s, s.f_through_f16(s.f_splat(value)), expected, &format!("{value} in FP16"));
        }
        // to 24 bits as to FP32, where that has as many: ties to both sides, and what is next to them
        let half = 2f64.powi(-24);
        for units in [1.0, 3.0, 2f64.powi(24) - 1.0, 2f64.powi(24)] {
            for beside in [-2f64.powi(-27), 0.0, 2f64.powi(-27)] {
                for scale in [-1.0, 1.0, 2f64.powi(-100), -2f64.powi(100)] {
                    let value = (1.0 + (units + beside) * half) * scale;
                    let mut to = vec![0.0; S::LANES / 2];
                    s.d_store(&mut to, s.d_to_24(s.d_splat(value)));
                    assert_eq!(to, vec![f64::from(value as f32); S::LANES / 2], "{value:e}");
                }
            }
        }
        assert_eq!(s.d_nonzero(s.d_to_24(s.d_splat(0.0))), 0, "zero to 24 bits");
        // (1 + 2^-12)^2 is one bit longer than FP32
        let (x, z) = (s.f_splat(1.0 + 2f32.powi(-12)), s.f_splat(-1.0 - 2f32.powi(-11)));
        all_f(s, s.f_fma(x, x, z), 2f32.powi(-24), "rounded once");
        let (x, z) = (s.d_splat(1.0 + 2f64.powi(-27)), s.d_splat(-1.0 - 2f64.powi(-26)));
        assert_eq!(s.d_nonzero(s.d_fma(x, x, z)), (1 << (S::LANES / 2)) - 1, "rounded once");
        let pairs = |low: i16, high: i16| s.i_splat(i32::from(low) & 0xffff | i32::from(high) << 16);
        all(s, s.i_dot2(s.i_splat(10), pairs(3, -2), pairs(5, 7)), 11, "10 + 3·5 - 2·7");
        let lowest = pairs(i16::MIN, i16::MIN);
        all(s, s.i_dot2(s.i_splat(1), lowest, lowest), i32::MIN + 1, "2^31 + 1, modulo 2^32");
        let (largest, least) = ([s.i_splat(bytes(31)); 4], [s.i_splat(bytes(-16)); 4]);
        all(s, s.i_dot16(s.i_splat(5), largest, least), 5 - 16 * 31 * 16, "5 - 16·31·16");
        for lane in 0..S::LANES {
            let mut numbers = vec![0; S::LANES];
            numbers[lane] = 1;
            let mask = s.i_gt(s.i_load(&numbers), s.i_splat(0));
            assert_eq!(s.m_bits(mask), 1 << lane, "the bit of lane {lane}");
            assert_eq!(lanes(s, s.i_odd_where(mask, s.i_splat(0))), numbers);
            let words: Vec<i32> = numbers.iter().map(|&number| number << 24).collect();
            assert!(s.b_any_gt(s.i_load(&words), s.i_splat(0)), "the last byte of lane {lane}");
            let fields: Vec<i32> = numbers.iter().map(|&number| number << 23).collect();
            assert_eq!(lanes(s, byte_fields(s, s.i_load(&words))[3]), fields);
        }
        let saturated = byte_fields(s, s.b_add_saturating(s.i_splat(0x64), s.i_splat(0x9c64)));
        all(s, saturated[0], 127 << 23, "100 + 100 in a byte");
        all(s, saturated[1], 0x9c << 23, "0 - 100 in a byte");
    }
}

#[test]
fn sets_agree_where_processors_differ() {
    for level in Level::available() {
        level.run(Facts);
    }
}
