//! The seven functions by name.

use std::fmt;
use std::str::FromStr;

use crate::model::{MODELS, Model};

/// An approximate function of the multi-function unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Function {
    /// 1 / x.
    Rcp,
    /// √x.
    Sqrt,
    /// 1 / √x.
    Rsqrt,
    /// 2^x.
    Ex2,
    /// log2 x.
    Lg2,
    /// sin x, x in radians.
    Sin,
    /// cos x, x in radians.
    Cos,
}

impl Function {
    /// Every function with its name in PTX.
    pub const ALL: [(Function, &'static str); 7] = [
        (Function::Rcp, "rcp"),
        (Function::Sqrt, "sqrt"),
        (Function::Rsqrt, "rsqrt"),
        (Function::Ex2, "ex2"),
        (Function::Lg2, "lg2"),
        (Function::Sin, "sin"),
        (Function::Cos, "cos"),
    ];

    /// Its name, as in `rcp.approx.f32`.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// How it is computed.
    pub fn model(self) -> &'static Model {
        &MODELS[self as usize]
    }

    /// The function of an FP32 code, as an FP32 code: the PTX instruction `.approx.f32` without `.ftz`. Subnormal
    /// inputs and results are numbers like others; the NaN is 7fffffff.
    pub fn evaluate(self, x: u32) -> u32 {
        self.model().evaluate(x)
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The text is not the name of a function.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown function '{0}'; one of rcp, sqrt, rsqrt, ex2, lg2, sin, cos{remark}", remark = remark(.0))]
pub struct UnknownFunction(pub String);

/// What there is to say of a name besides.
fn remark(text: &str) -> &'static str {
    if text.starts_with("tanh") || text.ends_with("f16") || text.ends_with("f16x2") {
        "; nothing published describes tanh.approx and the FP16 and BF16 functions, so they have no model"
    } else if text.contains(".ftz") {
        "; with .ftz the name is whole, as in ex2.approx.ftz.f32"
    } else {
        ""
    }
}

impl FromStr for Function {
    type Err = UnknownFunction;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .iter()
            .find(|(_, name)| name.eq_ignore_ascii_case(text))
            .map(|(function, _)| *function)
            .ok_or_else(|| UnknownFunction(text.to_owned()))
    }
}
