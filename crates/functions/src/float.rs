//! FP32 operations as NVIDIA GPUs compute them: rounded once, NaN is 7fffffff. Other formats of up to 64 bits work alike.

use bitmma_arithmetic::operand::Operand;
use bitmma_arithmetic::{Conversion, ResultFlush, fma};
use bitmma_formats::{F32, F64, Format, Rounding};

/// The NaN that arithmetic returns in a format: all bits below the sign; in FP64 fff8000000000000.
/// `None` in a format without NaN.
pub fn nan(format: &Format) -> Option<u64> {
    let quiet = format.nan_code()?;
    Some(match *format {
        F64 => quiet | format.sign_bit(),
        _ => format.max_code() & !format.sign_bit(),
    })
}

/// A subnormal number becomes zero of its sign; other codes stay.
pub fn flush(format: &Format, code: u64) -> u64 {
    let value = code & format.max_code();
    let magnitude = value & !format.sign_bit();
    if magnitude < format.min_normal_code() { value & format.sign_bit() } else { value }
}

/// How an operation rounds, and whether it flushes subnormal operands and results (`.ftz`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    /// The direction: `.rn`, `.rz`, `.rm`, `.rp`.
    pub rounding: Rounding,
    /// `.ftz`.
    pub ftz: bool,
}

impl Mode {
    /// `.rn` without `.ftz`.
    pub const NEAREST: Mode = Mode { rounding: Rounding::NearestEven, ftz: false };

    /// `.rn`, with `.ftz` if so.
    pub const fn nearest(ftz: bool) -> Mode {
        Mode { rounding: Rounding::NearestEven, ftz }
    }

    fn operands<const N: usize>(self, format: &Format, codes: [u64; N]) -> [Operand; N] {
        let operand = |code| Operand::new(format, code);
        codes.map(|code| if self.ftz { operand(code).flushed() } else { operand(code) })
    }

    fn conversion(self, format: &Format) -> Conversion {
        let flush = if self.ftz { ResultFlush::Subnormal } else { ResultFlush::Never };
        Conversion { flush, ..Conversion::new(self.rounding, *format) }
    }
}

/// A result with the NaN of GPUs.
fn result(format: &Format, code: u64) -> u64 {
    nan(format).filter(|_| format.is_nan(code)).unwrap_or(code)
}

/// x·y + z, rounded once.
///
/// # Panics
///
/// In a format without infinity.
pub fn fma(format: &Format, x: u64, y: u64, z: u64, mode: Mode) -> u64 {
    let [x, y, z] = mode.operands(format, [x, y, z]);
    result(format, fma::fma(&x, &y, &z, 0, mode.conversion(format), &mut ()))
}

/// x + y, rounded once.
///
/// # Panics
///
/// In a format without infinity.
pub fn add(format: &Format, x: u64, y: u64, mode: Mode) -> u64 {
    let [x, y] = mode.operands(format, [x, y]);
    result(format, fma::add(&x, &y, mode.conversion(format)))
}

/// x·y, rounded once.
///
/// # Panics
///
/// In a format without infinity.
pub fn multiply(format: &Format, x: u64, y: u64, mode: Mode) -> u64 {
    let [x, y] = mode.operands(format, [x, y]);
    result(format, fma::multiply(&x, &y, mode.conversion(format)))
}

/// The FP32 code of an operation's result.
pub(crate) const fn f32_code(code: u64) -> u32 {
    code as u32 // a code of FP32 has 32 bits
}

/// x·y in FP32.
pub(crate) fn multiply_f32(x: u32, y: u32, mode: Mode) -> u32 {
    f32_code(multiply(&F32, x.into(), y.into(), mode))
}

/// x + y in FP32.
pub(crate) fn add_f32(x: u32, y: u32, mode: Mode) -> u32 {
    f32_code(add(&F32, x.into(), y.into(), mode))
}
