//! PTX instructions that use the multi-function unit, as the instructions of the GPU that they expand to.
//!
//! Read from compiled single instructions; the same for sm_80 and sm_90. The unit itself flushes subnormal inputs and
//! results. Without `.ftz` the compiler scales them around it:
//!
//! | PTX | runs as |
//! |---|---|
//! | `ex2.approx` | x < -126: x · 0.5, MUFU.EX2, squared; else MUFU.EX2 |
//! | `sqrt`, `rsqrt`, `lg2.approx` | subnormal x · 2^24, MUFU, then · 2^-12, · 2^12, - 24 |
//! | `rcp.approx` | x > 2^126: · 0.25 before and after; subnormal: scaled; MUFU.RCP between |
//! | `sin`, `cos.approx` | multiplication by 0.15915494 toward zero, then MUFU |
//! | `div.full` x/y | abs(y) > 2^126: both · 0.25; abs(y) < 2^-126: both · 2^24; MUFU.RCP(y) · x. `.ftz`: only the first, all operations flushing |
//! | `div.approx` x/y | abs(y) < 2^-126: both · 2^24; MUFU.RCP(y) · x, so 0 for abs(y) > 2^126 |
//!
//! The first four are [`Function::evaluate`]; with `.ftz`, subnormal inputs and results become zero of their sign.

use std::fmt;
use std::str::FromStr;

use bitmma_formats::F32;

use crate::float::{Mode, f32_code, flush, multiply_f32};
use crate::function::{Function, UnknownFunction};
use crate::number::SIGN;
use crate::reduce::Step;

/// An instruction of one operand, as in `ex2.approx.f32` and `ex2.approx.ftz.f32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Form {
    /// The function.
    pub function: Function,
    /// Whether subnormal inputs and results are zero of their sign.
    pub ftz: bool,
}

impl Form {
    /// Every form, without `.ftz` first.
    pub fn all() -> impl Iterator<Item = Form> {
        let forms = |function| [Form { function, ftz: false }, Form { function, ftz: true }];
        Function::ALL.into_iter().flat_map(move |(function, _)| forms(function))
    }

    /// The result for an FP32 code.
    pub fn evaluate(self, x: u32) -> u32 {
        approx(self.function, x, self.ftz)
    }

    /// The result, and the steps on the way to it; flushing is none.
    pub fn steps(self, x: u32) -> (u32, Vec<Step>) {
        if !self.ftz {
            return self.function.model().steps(x);
        }
        let (result, steps) = self.function.model().steps(flushed(x));
        (flushed(result), steps)
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}.approx{}.f32", self.function, if self.ftz { ".ftz" } else { "" }))
    }
}

impl FromStr for Form {
    type Err = UnknownFunction;

    /// `ex2`, `ex2.approx`, `ex2.approx.f32`, and with `.ftz`, as in `ex2.approx.ftz.f32`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || UnknownFunction(text.to_owned());
        let short = text.strip_suffix(".f32").unwrap_or(text);
        let (short, ftz) = short.strip_suffix(".ftz").map_or((short, false), |short| (short, true));
        let name = short.strip_suffix(".approx").unwrap_or(short);
        if ftz && name == short {
            return Err(unknown()); // it is .approx.ftz
        }
        name.parse().map(|function| Form { function, ftz }).map_err(|_| unknown())
    }
}

/// `FUNCTION.approx.f32`, or `FUNCTION.approx.ftz.f32`.
pub fn approx(function: Function, x: u32, ftz: bool) -> u32 {
    if ftz { unit(function, x) } else { function.evaluate(x) }
}

/// MUFU: subnormal inputs and results are zero of their sign.
fn unit(function: Function, x: u32) -> u32 {
    flushed(function.evaluate(flushed(x)))
}

fn flushed(code: u32) -> u32 {
    f32_code(flush(&F32, code.into()))
}

/// 2^126, 2^-126, 0.25 and 2^24 in FP32.
const LARGE: u32 = 0x7e80_0000;
const MIN_NORMAL: u32 = 0x0080_0000;
const QUARTER: u32 = 0x3e80_0000;
const TWO_TO_24: u32 = 0x4b80_0000;

/// `div.approx`: x / y.
pub fn div_approx(x: u32, y: u32, ftz: bool) -> u32 {
    divide(x, y, ftz, false)
}

/// `div.full`: x / y.
pub fn div_full(x: u32, y: u32, ftz: bool) -> u32 {
    divide(x, y, ftz, true)
}

/// How x and y of a division are scaled, if they are: the FP32 code of the factor of both. `full`: of `div.full`.
pub const fn division_scale(y: u32, ftz: bool, full: bool) -> Option<u32> {
    let magnitude = y & !SIGN;
    if full && magnitude > LARGE {
        Some(QUARTER)
    } else if !ftz && magnitude < MIN_NORMAL {
        Some(TWO_TO_24)
    } else {
        None
    }
}

fn divide(x: u32, y: u32, ftz: bool, full: bool) -> u32 {
    let mode = Mode::nearest(ftz);
    let (x, y) = match division_scale(y, ftz, full) {
        Some(factor) => (multiply_f32(x, factor, mode), multiply_f32(y, factor, mode)),
        None => (x, y),
    };
    multiply_f32(unit(Function::Rcp, y), x, mode)
}
