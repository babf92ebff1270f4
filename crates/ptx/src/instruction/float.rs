//! Which of the ways to compute a float operation takes.

use bitmma_engine::formats::{BF16, F16, F32, F64, Format, Rounding};
use bitmma_functions::float::flush as flush_code;

use super::narrow::{from_half, half_fma, to_brain, to_half};
use super::{double, single};
use crate::lanes::{Lanes, WideLanes, map1, map2, map3};
use crate::program::{Float, Float1, Float2, Mode, Number};

fn format(number: Number) -> &'static Format {
    match number {
        Number::Half => &F16,
        Number::Brain => &BF16,
        Number::Single => &F32,
        Number::Double => &F64,
    }
}

/// An operation on two words: FP32, FP16 or BF16, the last two also packed.
pub(crate) fn words2(f: Float2, float: Float, mode: Mode, a: &Lanes, b: &Lanes) -> Lanes {
    if float.packed {
        return halves(a, b, |a, b| words2(f, Float { packed: false, ..float }, mode, a, b));
    }
    let d = unsaturated2(f, float.number, mode, a, b);
    saturated(float.number, mode, d)
}

fn halves(a: &Lanes, b: &Lanes, f: impl Fn(&Lanes, &Lanes) -> Lanes) -> Lanes {
    let low = |lanes: &Lanes| map1(lanes, |word| word & 0xffff);
    let high = |lanes: &Lanes| map1(lanes, |word| word >> 16);
    map2(&f(&low(a), &low(b)), &f(&high(a), &high(b)), |low, high| low | high << 16)
}

fn saturated(number: Number, mode: Mode, d: Lanes) -> Lanes {
    let (one, sign, infinity) = match number {
        Number::Half => (0x3c00, 0x8000, 0x7c00),
        Number::Brain => (0x3f80, 0x8000, 0x7f80),
        _ => (0x3f80_0000, single::SIGN, 0x7f80_0000),
    };
    if mode.saturate {
        return map1(&d, |d| if d & !sign > infinity || d & sign != 0 { 0 } else { d.min(one) });
    }
    if mode.relu {
        return map1(&d, |d| if d & !sign <= infinity && d & sign != 0 { 0 } else { d });
    }
    d
}

fn unsaturated2(f: Float2, number: Number, mode: Mode, a: &Lanes, b: &Lanes) -> Lanes {
    let nearest = mode.rounding == Rounding::NearestEven;
    match (f, number) {
        (Float2::Add, Number::Single) if nearest => single::add(mode.flush, a, b),
        (Float2::Subtract, Number::Single) if nearest => single::subtract(mode.flush, a, b),
        (Float2::Multiply, Number::Single) if nearest => single::multiply(mode.flush, a, b),
        (Float2::Divide, Number::Single) if nearest => single::divide(mode.flush, a, b),
        (Float2::Minimum { nan, xorsign, absolute }, _) => {
            extremes(number, mode.flush, xorsign, absolute, a, b, |a, b| single::minimum(nan, a, b))
        }
        (Float2::Maximum { nan, xorsign, absolute }, _) => {
            extremes(number, mode.flush, xorsign, absolute, a, b, |a, b| single::maximum(nan, a, b))
        }
        (Float2::CopySign, _) => map2(a, b, |a, b| a & single::SIGN | b & !single::SIGN),
        (Float2::Add | Float2::Subtract | Float2::Multiply, Number::Half | Number::Brain)
            if nearest && !mode.flush =>
        {
            let wide = |code: u32| if number == Number::Half { from_half(code) } else { code << 16 };
            let (a, b) = (map1(a, wide), map1(b, wide));
            let d = match f {
                Float2::Add => single::add(false, &a, &b),
                Float2::Subtract => single::subtract(false, &a, &b),
                _ => single::multiply(false, &a, &b),
            };
            map1(&d, if number == Number::Half { to_half } else { to_brain })
        }
        _ => map2(a, b, |a, b| exactly2(f, number, mode, a.into(), b.into()) as u32),
    }
}

/// In integers.
fn exactly2(f: Float2, number: Number, mode: Mode, a: u64, b: u64) -> u64 {
    let format = format(number);
    match f {
        Float2::Add => double::add(format, mode, a, b),
        Float2::Subtract => double::add(format, mode, a, b ^ format.sign_bit()),
        Float2::Multiply => double::multiply(format, mode, a, b),
        Float2::Divide => double::divide(format, mode, a, b),
        Float2::CopySign => a & format.sign_bit() | b & !format.sign_bit(),
        Float2::Minimum { nan, .. } => wide_extreme(nan, a, b, true),
        Float2::Maximum { nan, .. } => wide_extreme(nan, a, b, false),
    }
}

fn wide_extreme(nan: bool, a: u64, b: u64, least: bool) -> u64 {
    let order = |code: u64| (code ^ ((code as i64 >> 63) as u64 >> 1)) as i64;
    match (double::is_nan(a), double::is_nan(b)) {
        (false, false) => {
            if (order(a) <= order(b)) == least {
                a
            } else {
                b
            }
        }
        (true, false) if !nan => b,
        (false, true) if !nan => a,
        _ => double::NAN,
    }
}

/// FP16 and BF16 codes are compared in the upper half of a word, where they are in the order of FP32's.
fn extremes(
    number: Number,
    flush: bool,
    xorsign: bool,
    absolute: bool,
    a: &Lanes,
    b: &Lanes,
    pick: impl Fn(u32, u32) -> u32,
) -> Lanes {
    let lifted = |code: u32| match number {
        Number::Single if flush => single::flush(code),
        Number::Single => code,
        Number::Half => from_half(if flush { flush_code(&F16, code.into()) as u32 } else { code }),
        _ => code << 16,
    };
    let lowered = |code: u32| match number {
        Number::Single => code,
        Number::Half => to_half(code),
        _ => code >> 16,
    };
    let up = if number == Number::Single { 0 } else { 16 };
    map2(a, b, |a, b| {
        let (mut x, mut y) = (lifted(a), lifted(b));
        let sign = (a ^ b) << up & single::SIGN; // of NaN too
        if absolute {
            (x, y) = (x & !single::SIGN, y & !single::SIGN);
        }
        let d = pick(x, y);
        lowered(if xorsign && !single::is_nan(d) { d & !single::SIGN | sign } else { d })
    })
}

/// An operation on two operands of 64 bits: FP64, or two FP32 numbers.
pub(crate) fn wides2(f: Float2, float: Float, mode: Mode, a: &WideLanes, b: &WideLanes) -> WideLanes {
    if float.number == Number::Single {
        let one = Float { packed: false, ..float };
        let low = words2(f, one, mode, &map1(a, |a| a as u32), &map1(b, |b| b as u32));
        let high = words2(f, one, mode, &map1(a, |a| (a >> 32) as u32), &map1(b, |b| (b >> 32) as u32));
        return map2(&low, &high, |low, high| u64::from(high) << 32 | u64::from(low));
    }
    let nearest = mode.rounding == Rounding::NearestEven && !mode.flush;
    let of = f64::from_bits;
    match f {
        Float2::Add if nearest => map2(a, b, |a, b| double::of(of(a) + of(b))),
        Float2::Subtract if nearest => map2(a, b, |a, b| double::of(of(a) - of(b))),
        Float2::Multiply if nearest => map2(a, b, |a, b| double::of(of(a) * of(b))),
        Float2::Divide if nearest => map2(a, b, |a, b| double::of(of(a) / of(b))),
        _ => map2(a, b, |a, b| exactly2(f, Number::Double, mode, a, b)),
    }
}

pub(crate) fn words_fma(
    float: Float,
    mode: Mode,
    negate: [bool; 2],
    a: &Lanes,
    b: &Lanes,
    c: &Lanes,
) -> Lanes {
    if float.packed {
        let one = Float { packed: false, ..float };
        let low = |lanes: &Lanes| map1(lanes, |word| word & 0xffff);
        let high = |lanes: &Lanes| map1(lanes, |word| word >> 16);
        let below = words_fma(one, mode, negate, &low(a), &low(b), &low(c));
        let above = words_fma(one, mode, negate, &high(a), &high(b), &high(c));
        return map2(&below, &above, |low, high| low | high << 16);
    }
    let sign = format(float.number).sign_bit() as u32;
    let signed =
        |lanes: &Lanes, negative: bool| if negative { map1(lanes, |code| code ^ sign) } else { *lanes };
    let (a, c) = (&signed(a, negate[0]), &signed(c, negate[1]));
    let nearest = mode.rounding == Rounding::NearestEven;
    let d = match float.number {
        Number::Single if nearest => single::fma(mode.flush, a, b, c),
        Number::Half if nearest && !mode.flush => map3(a, b, c, half_fma),
        number => {
            map3(a, b, c, |a, b, c| double::fma(format(number), mode, a.into(), b.into(), c.into()) as u32)
        }
    };
    saturated(float.number, mode, d)
}

pub(crate) fn wides_fma(
    float: Float,
    mode: Mode,
    negate: [bool; 2],
    a: &WideLanes,
    b: &WideLanes,
    c: &WideLanes,
) -> WideLanes {
    if float.number == Number::Single {
        let one = Float { packed: false, ..float };
        let low = |lanes: &WideLanes| map1(lanes, |word| word as u32);
        let high = |lanes: &WideLanes| map1(lanes, |word| (word >> 32) as u32);
        let below = words_fma(one, mode, negate, &low(a), &low(b), &low(c));
        let above = words_fma(one, mode, negate, &high(a), &high(b), &high(c));
        return map2(&below, &above, |low, high| u64::from(high) << 32 | u64::from(low));
    }
    let sign = |negative: bool| if negative { 1u64 << 63 } else { 0 };
    let (product, addend) = (sign(negate[0]), sign(negate[1]));
    map3(a, b, c, |a, b, c| {
        let (a, c) = (a ^ product, c ^ addend);
        match mode.rounding {
            Rounding::NearestEven => double::fma_nearest(a, b, c),
            _ => double::fma(&F64, mode, a, b, c),
        }
    })
}

pub(crate) fn words1(f: Float1, float: Float, mode: Mode, a: &Lanes) -> Lanes {
    let sign = match (float.number, float.packed) {
        (Number::Single, _) => single::SIGN,
        (_, true) => 0x8000_8000,
        (_, false) => 0x8000,
    };
    // NaN becomes that of arithmetic, as in the given results; no document says so
    let plain = |code: u32| canonical(float, if mode.flush { flush_any(float, code) } else { code });
    match f {
        Float1::Absolute => map1(a, |a| plain(a) & !sign),
        Float1::Negate => map1(a, |a| canonical(float, plain(a) ^ sign)),
        Float1::SquareRoot if mode.rounding == Rounding::NearestEven => single::square_root(mode.flush, a),
        Float1::SquareRoot => map1(a, |a| double::square_root(&F32, mode, a.into()) as u32),
        Float1::Reciprocal => words2(Float2::Divide, float, mode, &[0x3f80_0000; 32], a),
    }
}

/// The same code, or the NaN of arithmetic for a NaN.
fn canonical(float: Float, code: u32) -> u32 {
    let half = |code: u32| {
        let infinity = if float.number == Number::Half { 0x7c00 } else { 0x7f80 };
        if code & 0x7fff > infinity { 0x7fff } else { code }
    };
    match (float.number, float.packed) {
        (Number::Single, _) => {
            if single::is_nan(code) {
                single::NAN
            } else {
                code
            }
        }
        (_, false) => half(code),
        (_, true) => half(code & 0xffff) | half(code >> 16) << 16,
    }
}

fn flush_any(float: Float, code: u32) -> u32 {
    match (float.number, float.packed) {
        (Number::Single, _) => single::flush(code),
        (number, false) => flush_code(format(number), code.into()) as u32,
        (number, true) => {
            let part = |code: u32| flush_code(format(number), code.into()) as u32;
            part(code & 0xffff) | part(code >> 16) << 16
        }
    }
}

pub(crate) fn wides1(f: Float1, float: Float, mode: Mode, a: &WideLanes) -> WideLanes {
    let sign = if float.number == Number::Single { 0x8000_0000_8000_0000 } else { 1 << 63 };
    match f {
        Float1::Absolute => map1(a, |a| a & !sign),
        Float1::Negate => map1(a, |a| a ^ sign),
        Float1::SquareRoot if mode.rounding == Rounding::NearestEven => {
            map1(a, |a| double::of(f64::from_bits(a).sqrt()))
        }
        Float1::SquareRoot => map1(a, |a| double::square_root(&F64, mode, a)),
        Float1::Reciprocal => wides2(Float2::Divide, float, mode, &[0x3ff0_0000_0000_0000; 32], a),
    }
}
