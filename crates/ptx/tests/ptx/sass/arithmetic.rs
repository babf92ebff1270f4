//! Float arithmetic of SASS instructions on codes, by `rustc_apfloat`: nothing of the interpreter under test.

use std::cmp::Ordering;

use rustc_apfloat::ieee::{BFloat, Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

/// A format with what NVIDIA's units do about NaN in it.
pub(super) trait Format: Float {
    const CODE_BITS: u32;
    const FRACTION_BITS: u32;
    /// The NaN that arithmetic returns.
    const NAN_CODE: u64;
    const SIGN: u64 = 1 << (Self::CODE_BITS - 1);
    const MAGNITUDE: u64 = Self::SIGN - 1;
}

impl Format for Single {
    const CODE_BITS: u32 = 32;
    const FRACTION_BITS: u32 = 23;
    const NAN_CODE: u64 = 0x7fff_ffff;
}

impl Format for Double {
    const CODE_BITS: u32 = 64;
    const FRACTION_BITS: u32 = 52;
    const NAN_CODE: u64 = 0xfff8_0000_0000_0000;
}

impl Format for Half {
    const CODE_BITS: u32 = 16;
    const FRACTION_BITS: u32 = 10;
    const NAN_CODE: u64 = 0x7fff;
}

impl Format for BFloat {
    const CODE_BITS: u32 = 16;
    const FRACTION_BITS: u32 = 7;
    const NAN_CODE: u64 = 0x7fff;
}

/// How an instruction rounds and what it does to operands and results.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mode {
    pub(super) round: Round,
    pub(super) flush: bool,
    pub(super) saturate: bool,
}

impl Mode {
    pub(super) const NEAREST: Mode = Mode { round: Round::NearestTiesToEven, flush: false, saturate: false };
}

fn read<F: Format>(code: u64, mode: Mode) -> F {
    F::from_bits(u128::from(if mode.flush { flushed::<F>(code) } else { code }))
}

fn flushed<F: Format>(code: u64) -> u64 {
    let magnitude = code & F::MAGNITUDE;
    if magnitude >> F::FRACTION_BITS == 0 { code & F::SIGN } else { code }
}

fn write<F: Format>(value: F, mode: Mode) -> u64 {
    if value.is_nan() {
        return if mode.saturate { 0 } else { F::NAN_CODE };
    }
    if mode.saturate {
        let one = F::from_u128(1).value;
        if value.is_negative() || value.is_zero() {
            return 0;
        }
        if value.partial_cmp(&one) == Some(Ordering::Greater) {
            return one.to_bits() as u64;
        }
    }
    let code = value.to_bits() as u64;
    if mode.flush { flushed::<F>(code) } else { code }
}

/// a·b + c, rounded once.
pub(super) fn fma<F: Format>([a, b, c]: [u64; 3], mode: Mode) -> u64 {
    let value = read::<F>(a, mode).mul_add_r(read(b, mode), read(c, mode), mode.round).value;
    write(value, mode)
}

pub(super) fn add<F: Format>([a, b]: [u64; 2], mode: Mode) -> u64 {
    write(read::<F>(a, mode).add_r(read(b, mode), mode.round).value, mode)
}

pub(super) fn multiply<F: Format>([a, b]: [u64; 2], mode: Mode) -> u64 {
    write(read::<F>(a, mode).mul_r(read(b, mode), mode.round).value, mode)
}

/// a·b times a power of two, rounded once: FP64 holds it. Units may round twice, which no kernel may depend on.
pub(super) fn scaled([a, b]: [u64; 2], power: f64, mode: Mode) -> u64 {
    let exact = Mode { flush: false, saturate: false, ..mode };
    let [a, b] =
        [a, b].map(|code| convert::<Single, Double>(write(read::<Single>(code, mode), exact), exact));
    let product = multiply::<Double>([a, b], exact);
    convert::<Double, Single>(multiply::<Double>([product, power.to_bits()], exact), mode)
}

/// The lesser or the greater; the other operand where one is NaN, unless `nan`.
pub(super) fn extreme<F: Format>([a, b]: [u64; 2], greater: bool, nan: bool, mode: Mode) -> u64 {
    let [x, y] = [a, b].map(|code| read::<F>(code, mode));
    let first = match (x.is_nan(), y.is_nan()) {
        (true, true) => return F::NAN_CODE,
        (true, false) | (false, true) if nan => return F::NAN_CODE,
        (true, false) => false,
        (false, true) => true,
        (false, false) => match x.partial_cmp(&y) {
            Some(Ordering::Less) => !greater,
            Some(Ordering::Greater) => greater,
            _ => x.is_negative() != greater,
        },
    };
    (if first { x } else { y }).to_bits() as u64
}

pub(super) fn compare<F: Format>([a, b]: [u64; 2], flush: bool) -> Option<Ordering> {
    let mode = Mode { flush, ..Mode::NEAREST };
    read::<F>(a, mode).partial_cmp(&read::<F>(b, mode))
}

/// A code of one format in another.
pub(super) fn convert<F: Format + FloatConvert<T>, T: Format>(code: u64, mode: Mode) -> u64 {
    let value: T = read::<F>(code, mode).convert_r(mode.round, &mut false).value;
    write(value, mode)
}

/// The code of an immediate as a disassembler prints it.
pub(super) fn immediate<F: Format>(text: &str) -> Option<u64> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    let magnitude = match digits.trim_start_matches('+') {
        "INF" => F::INFINITY.to_bits() as u64,
        "QNAN" => F::MAGNITUDE,
        digits => digits.parse::<F>().ok()?.to_bits() as u64,
    };
    Some(if negative { magnitude | F::SIGN } else { magnitude })
}
