//! Floating-point numbers (PTX ISA, "Floating Point Instructions", "Half Precision Floating Point Instructions").

use bitmma_engine::formats::{BF16, F16, F32, F64, Format, Rounding};
use bitmma_functions::float::flush as flush_code;

use super::compute::{Computation, Spread, lanes1, lanes2, lanes3};
use super::narrow::{from_half, half_fma, to_brain, to_half};
use super::row::{Row, Since, computed, decoded, kind, refused};
use super::special::{self, UNKNOWN};
use super::{double, single};
use crate::decode::form::operands;
use crate::lanes::{LANES, Lanes, WideLanes, map1, map2, map3};
use crate::program::{Float, Number, Op, Type};
use crate::text::Instruction;

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    computed("add", &["f16 f16x2"], "rn? ftz? sat?", |at| two(at, Float2::Add)),
    computed("add", &["bf16 bf16x2"], "rn?", |at| two(at, Float2::Add)).since(Since::Hopper),
    computed("add", &["f32"], "rn|rz|rm|rp? ftz? sat?", |at| two(at, Float2::Add)),
    computed("add", &["f32x2"], "rn|rz|rm|rp? ftz?", |at| two(at, Float2::Add)).since(Since::Blackwell),
    computed("add", &["f64"], "rn|rz|rm|rp?", |at| two(at, Float2::Add)),
    computed("add", &["f32", "f16 bf16"], "rn|rz|rm|rp? sat?", |at| mixed(at, Float2::Add)).since(Since::Blackwell),
    computed("sub", &["f16 f16x2"], "rn? ftz? sat?", |at| two(at, Float2::Subtract)),
    computed("sub", &["bf16 bf16x2"], "rn?", |at| two(at, Float2::Subtract)).since(Since::Hopper),
    computed("sub", &["f32"], "rn|rz|rm|rp? ftz? sat?", |at| two(at, Float2::Subtract)),
    computed("sub", &["f32x2"], "rn|rz|rm|rp? ftz?", |at| two(at, Float2::Subtract)).since(Since::Blackwell),
    computed("sub", &["f64"], "rn|rz|rm|rp?", |at| two(at, Float2::Subtract)),
    computed("sub", &["f32", "f16 bf16"], "rn|rz|rm|rp? sat?", |at| mixed(at, Float2::Subtract)).since(Since::Blackwell),
    computed("mul", &["f16 f16x2"], "rn? ftz? sat?", |at| two(at, Float2::Multiply)),
    computed("mul", &["bf16 bf16x2"], "rn?", |at| two(at, Float2::Multiply)).since(Since::Hopper),
    computed("mul", &["f32"], "rn|rz|rm|rp? ftz? sat?", |at| two(at, Float2::Multiply)),
    computed("mul", &["f32x2"], "rn|rz|rm|rp? ftz?", |at| two(at, Float2::Multiply)).since(Since::Blackwell),
    computed("mul", &["f64"], "rn|rz|rm|rp?", |at| two(at, Float2::Multiply)),
    computed("fma", &["f16 f16x2"], "rn ftz? sat|relu?", fused),
    computed("fma", &["bf16 bf16x2"], "rn|rz|rm|rp relu?", fused),
    computed("fma", &["f32"], "rn|rz|rm|rp ftz? sat?", fused),
    computed("fma", &["f32x2"], "rn|rz|rm|rp ftz?", fused).since(Since::Blackwell),
    computed("fma", &["f64"], "rn|rz|rm|rp", fused),
    computed("fma", &["f32", "f16 bf16"], "rn|rz|rm|rp sat?", mixed_fused).since(Since::Blackwell),
    computed("mad", &["f32"], "rn|rz|rm|rp ftz? sat?", fused),
    computed("mad", &["f64"], "rn|rz|rm|rp", fused),
    computed("div", &["f32"], "rn|rz|rm|rp ftz?", |at| two(at, Float2::Divide)),
    computed("div", &["f64"], "rn|rz|rm|rp", |at| two(at, Float2::Divide)),
    computed("div", &["f32"], "approx|full ftz?", special::division),
    computed("min", &["f64"], "", extreme),
    computed("min", &["f16 f16x2"], "ftz? NaN? xorsign&abs?", extreme),
    computed("min", &["f32"], "ftz? NaN? xorsign&abs|abs?", extreme),
    computed("min", &["bf16 bf16x2"], "NaN? xorsign&abs?", extreme),
    computed("max", &["f64"], "", extreme),
    computed("max", &["f16 f16x2"], "ftz? NaN? xorsign&abs?", extreme),
    computed("max", &["f32"], "ftz? NaN? xorsign&abs|abs?", extreme),
    computed("max", &["bf16 bf16x2"], "NaN? xorsign&abs?", extreme),
    computed("abs", &["bf16 bf16x2 f64"], "", |at| one(at, Float1::Absolute).spreads(Spread::Same)),
    computed("abs", &["f16 f16x2 f32"], "ftz?", |at| one(at, Float1::Absolute).spreads(Spread::Same)),
    computed("neg", &["bf16 bf16x2 f64"], "", |at| one(at, Float1::Negate).spreads(Spread::Same)),
    computed("neg", &["f16 f16x2 f32"], "ftz?", |at| one(at, Float1::Negate).spreads(Spread::Same)),
    // b with the sign of a
    computed("copysign", &["f32 f64"], "", |at| two(at, Float2::CopySign)),
    computed("rcp", &["f32"], "rn|rz|rm|rp ftz?", |at| one(at, Float1::Reciprocal)),
    computed("rcp", &["f64"], "rn|rz|rm|rp", |at| one(at, Float1::Reciprocal)),
    computed("sqrt", &["f32"], "rn|rz|rm|rp ftz?", |at| one(at, Float1::SquareRoot)),
    computed("sqrt", &["f64"], "rn|rz|rm|rp", |at| one(at, Float1::SquareRoot)),
    computed("rcp", &["f32"], "approx ftz?", special::function),
    computed("sqrt", &["f32"], "approx ftz?", special::function),
    computed("rsqrt", &["f32"], "approx ftz?", special::function),
    computed("ex2", &["f32"], "approx ftz?", special::function),
    computed("lg2", &["f32"], "approx ftz?", special::function),
    computed("sin", &["f32"], "approx ftz?", special::function),
    computed("cos", &["f32"], "approx ftz?", special::function),
    decoded("testp", &["f32 f64"], "finite|infinite|number|notanumber|normal|subnormal", |decoder, at| {
        let [d, a] = operands(at)?;
        let classes = ["finite", "infinite", "number", "notanumber", "normal", "subnormal"];
        let class = classes.iter().position(|class| at.has(class)).unwrap_or(0) as u8;
        let kind = kind(at);
        Ok(Op::Test { class, kind, d: decoder.predicate(d, at)?, a: decoder.typed(a, kind, at)? })
    }).pure(),
    // what contraction leaves of a division or reciprocal whose last multiplication is fused
    decoded("%div", &["f32"], "approx|full ftz?", |decoder, at| {
        let [d, e, a, b] = operands(at)?;
        let d = [decoder.word(d, at)?, decoder.word(e, at)?];
        let (a, b) = (decoder.word(a, at)?, decoder.word(b, at)?);
        Ok(Op::DivideFactors { full: at.has("full"), flush: at.has("ftz"), d, a, b })
    }).pure().results(2),
    // what the rewriting puts before a product that ptxas scales
    decoded("%scaled", &["f32"], "first? ftz? sat?", |decoder, at| {
        let [a, b, power] = operands(at)?;
        let factors = [decoder.word(a, at)?, decoder.word(b, at)?];
        let power = decoder.word(power, at)?;
        Ok(Op::Scaled { first: at.has("first"), flush: at.has("ftz"), saturate: at.has("sat"), factors, power })
    }).results(0),
    decoded("%rcp", &["f32"], "approx ftz?", |decoder, at| {
        let [d, e, a] = operands(at)?;
        let d = [decoder.word(d, at)?, decoder.word(e, at)?];
        Ok(Op::ReciprocalFactors { flush: at.has("ftz"), d, a: decoder.word(a, at)? })
    }).pure().results(2),
    refused("rcp", &["f64"], "approx ftz", UNKNOWN),
    refused("rsqrt", &["f64"], "approx ftz?", UNKNOWN),
    refused("ex2", &["f16 f16x2"], "approx ftz?", UNKNOWN),
    refused("ex2", &["bf16 bf16x2"], "approx ftz", UNKNOWN),
    refused("tanh", &["f32 f16 f16x2 bf16 bf16x2"], "approx", UNKNOWN),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Float1 {
    Absolute,
    Negate,
    SquareRoot,
    Reciprocal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Float2 {
    Add,
    Subtract,
    Multiply,
    Divide,
    Minimum { nan: bool, xorsign: bool, absolute: bool },
    Maximum { nan: bool, xorsign: bool, absolute: bool },
    CopySign,
}

/// What the modifiers of a float operation say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mode {
    pub(crate) rounding: Rounding,
    /// Subnormal inputs and results become zero.
    pub(crate) flush: bool,
    /// Clamped to [0, 1], NaN to 0.
    pub(crate) saturate: bool,
    /// Below zero becomes zero.
    pub(crate) relu: bool,
}

impl Mode {
    pub(crate) const NEAREST: Mode =
        Mode { rounding: Rounding::NearestEven, flush: false, saturate: false, relu: false };

    fn of(at: &Instruction) -> Mode {
        let rounding = match at {
            _ if at.has("rz") => Rounding::TowardZero,
            _ if at.has("rm") => Rounding::Down,
            _ if at.has("rp") => Rounding::Up,
            _ => Rounding::NearestEven,
        };
        Mode { rounding, flush: at.has("ftz"), saturate: at.has("sat"), relu: at.has("relu") }
    }
}

impl Float {
    fn of(at: &Instruction) -> Float {
        kind(at).float().unwrap_or(Float { number: Number::Single, packed: false })
    }

    /// How what is undefined spreads: to the element that it is in.
    fn spread(self) -> Spread {
        match (self.packed, self.number) {
            (false, _) => Spread::Whole,
            (true, Number::Single) => Spread::Elements(32),
            (true, _) => Spread::Elements(16),
        }
    }
}

fn one(at: &Instruction, f: Float1) -> Computation {
    let (float, mode, kind) = (Float::of(at), Mode::of(at), kind(at));
    match kind.bits() {
        64 => lanes1(move |a: &WideLanes| wides1(f, float, mode, a), kind, [kind]),
        _ => lanes1(move |a: &Lanes| words1(f, float, mode, a), kind, [kind]),
    }
}

fn two(at: &Instruction, f: Float2) -> Computation {
    let (float, mode, kind) = (Float::of(at), Mode::of(at), kind(at));
    let made = match kind.bits() {
        64 => lanes2(move |a: &WideLanes, b: &WideLanes| wides2(f, float, mode, a, b), kind, [kind; 2]),
        _ => lanes2(move |a: &Lanes, b: &Lanes| words2(f, float, mode, a, b), kind, [kind; 2]),
    };
    made.spreads(float.spread())
}

/// FP32.
const SINGLE: Float = Float { number: Number::Single, packed: false };

/// Halves as FP32, which has all of them.
fn widened(kind: Type, a: &Lanes) -> Lanes {
    if kind == Type::F16 { map1(a, from_half) } else { map1(a, |a| a << 16) }
}

/// An operation in FP32 whose first operand is a half.
fn mixed(at: &Instruction, f: Float2) -> Computation {
    let (mode, kind) = (Mode::of(at), kind(at));
    let f = move |a: &Lanes, b: &Lanes| words2(f, SINGLE, mode, &widened(kind, a), b);
    lanes2(f, Type::F32, [kind, Type::F32])
}

/// A multiply-add in FP32 of two halves.
fn mixed_fused(at: &Instruction) -> Computation {
    let (mode, negate, kind) = (Mode::of(at), at.negate, kind(at));
    let f = move |a: &Lanes, b: &Lanes, c: &Lanes| {
        words_fma(SINGLE, mode, negate, &widened(kind, a), &widened(kind, b), c)
    };
    lanes3(f, Type::F32, [kind, kind, Type::F32])
}

fn fused(at: &Instruction) -> Computation {
    let (float, mode, negate, kind) = (Float::of(at), Mode::of(at), at.negate, kind(at));
    let made = match kind.bits() {
        64 => lanes3(
            move |a: &WideLanes, b: &WideLanes, c: &WideLanes| wides_fma(float, mode, negate, a, b, c),
            kind,
            [kind; 3],
        ),
        _ => lanes3(
            move |a: &Lanes, b: &Lanes, c: &Lanes| words_fma(float, mode, negate, a, b, c),
            kind,
            [kind; 3],
        ),
    };
    made.spreads(float.spread())
}

/// Of FP32 numbers that of three, too: with `.abs` alone there are always three.
fn extreme(at: &Instruction) -> Computation {
    let (nan, xorsign, absolute) = (at.has("NaN"), at.has("xorsign"), at.has("abs"));
    let f = match at.name() {
        "min" => Float2::Minimum { nan, xorsign, absolute },
        _ => Float2::Maximum { nan, xorsign, absolute },
    };
    if xorsign || kind(at) != Type::F32 || !absolute && at.operands.len() < 4 {
        return two(at, f);
    }
    let (float, mode) = (Float::of(at), Mode::of(at));
    let of = move |a: &Lanes, b: &Lanes| words2(f, float, mode, a, b);
    let three = move |a: &Lanes, b: &Lanes, c: &Lanes| of(&of(a, b), c);
    lanes3(three, Type::F32, [Type::F32; 3])
}

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

/// The lanes in which a product, which flushes or does not, times a power of two is another number where both are one operation.
pub(crate) fn scaled(
    first: bool,
    (flush, saturate): (bool, bool),
    factors: [&Lanes; 2],
    power: &Lanes,
) -> u32 {
    const ONE: Lanes = [0x3f80_0000; LANES];
    let mode = Mode { flush, saturate, ..Mode::NEAREST };
    let twice = |first: bool| {
        let product = single::multiply(first, factors[0], factors[1]);
        saturated(Number::Single, mode, single::multiply(flush, &product, power))
    };
    let wide = |code: u32| f64::from(f32::from_bits(if flush { single::flush(code) } else { code }));
    let mut once = [0; LANES];
    for lane in 0..LANES {
        // exact in FP64, and rounded once
        let exact = wide(factors[0][lane]) * wide(factors[1][lane]) * wide(power[lane]);
        once[lane] = (exact as f32).to_bits();
    }
    let once = saturated(Number::Single, mode, single::multiply(flush, &once, &ONE));
    let (twice, flushed) = (twice(first), twice(flush));
    let differ = |lane: &usize| once[*lane] != twice[*lane] || flushed[*lane] != twice[*lane];
    (0..LANES).filter(differ).fold(0, |lanes, lane| lanes | 1 << lane)
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
    match f {
        // additions for ptxas: NaN becomes that of arithmetic
        Float1::Absolute => map1(a, |a| double::of(f64::from_bits(a).abs())),
        Float1::Negate => map1(a, |a| double::of(-f64::from_bits(a))),
        Float1::SquareRoot if mode.rounding == Rounding::NearestEven => {
            map1(a, |a| double::of(f64::from_bits(a).sqrt()))
        }
        Float1::SquareRoot => map1(a, |a| double::square_root(&F64, mode, a)),
        Float1::Reciprocal => wides2(Float2::Divide, float, mode, &[0x3ff0_0000_0000_0000; 32], a),
    }
}
