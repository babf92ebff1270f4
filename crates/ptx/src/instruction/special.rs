//! Special functions, by the forms of `bitmma_functions` and their vectors in `bitmma_kernel`.

use bitmma_engine::kernel::Level;
use bitmma_functions::Function;
use bitmma_functions::ptx::{Form, division_scale};
use bitmma_kernel::functions::fill;

use super::single;
use crate::lanes::{Lanes, map1, map2};
use crate::program::Special;

impl Special {
    pub(crate) fn function(self) -> Function {
        match self {
            Special::Reciprocal => Function::Rcp,
            Special::SquareRoot => Function::Sqrt,
            Special::ReciprocalSquareRoot => Function::Rsqrt,
            Special::Exponential => Function::Ex2,
            Special::Logarithm => Function::Lg2,
            Special::Sine => Function::Sin,
            Special::Cosine => Function::Cos,
        }
    }
}

/// `FUNCTION.approx.f32`; with `.ftz` subnormal inputs and results become zero, as the unit itself has it.
pub(crate) fn evaluate(f: Special, flush: bool, x: &Lanes) -> Lanes {
    let mut y = [0; 32];
    fill(Level::best(), Form { function: f.function(), ftz: flush }, x, &mut y);
    y
}

/// `div.full` and `div.approx`.
pub(crate) fn divide(full: bool, flush: bool, x: &Lanes, y: &Lanes) -> Lanes {
    let [reciprocal, x] = division_factors(full, flush, x, y);
    single::multiply(flush, &reciprocal, &x)
}

const ONE: u32 = 0x3f80_0000;

/// The factors of the last multiplication of a division: MUFU.RCP of y and x, both scaled.
pub(crate) fn division_factors(full: bool, flush: bool, x: &Lanes, y: &Lanes) -> [Lanes; 2] {
    let scales = map1(y, |y| division_scale(y, flush, full).unwrap_or(ONE));
    let (mut x, mut y) = (*x, *y);
    if scales != [ONE; 32] {
        let scaled = |value: &Lanes| {
            let product = single::multiply(flush, value, &scales);
            let mut kept = *value;
            for lane in 0..32 {
                if scales[lane] != ONE {
                    kept[lane] = product[lane];
                }
            }
            kept
        };
        (x, y) = (scaled(&x), scaled(&y));
    }
    [evaluate(Special::Reciprocal, true, &y), x]
}

/// The factors of the last multiplication of `rcp.approx`: MUFU.RCP of x, scaled, and the scale; one where there is none.
pub(crate) fn reciprocal_factors(flush: bool, x: &Lanes) -> [Lanes; 2] {
    const QUARTER: u32 = 0x3e80_0000;
    const TWO_TO_24: u32 = 0x4b80_0000;
    let scales = map1(x, |x| match x & 0x7fff_ffff {
        _ if flush => ONE,
        0x7e80_0001..0x7f80_0000 => QUARTER,
        1..0x0080_0000 => TWO_TO_24,
        _ => ONE,
    });
    let scaled = map2(x, &scales, |x, scale| (f32::from_bits(x) * f32::from_bits(scale)).to_bits());
    [evaluate(Special::Reciprocal, true, &scaled), scales]
}
