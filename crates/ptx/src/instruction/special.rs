//! Special functions, by the forms of `bitmma_functions` and their vectors in `bitmma_kernel`.

use bitmma_engine::kernel::Level;
use bitmma_functions::Function;
use bitmma_functions::ptx::{Form, division_scale};
use bitmma_kernel::functions::fill;

use super::compute::{Computation, lanes1, lanes2};
use super::single;
use crate::lanes::{Lanes, map1, map2};
use crate::program::Type;
use crate::text::Instruction;

pub(super) const UNKNOWN: &str = "how a GPU computes it is not known";

/// A function of the unit, which a form names.
pub(super) fn function(at: &Instruction) -> Computation {
    let function = match at.name() {
        "rcp" => Function::Rcp,
        "sqrt" => Function::Sqrt,
        "rsqrt" => Function::Rsqrt,
        "ex2" => Function::Ex2,
        "lg2" => Function::Lg2,
        "sin" => Function::Sin,
        _ => Function::Cos,
    };
    let flush = at.has("ftz");
    let evaluated = move |x: &Lanes| evaluate(function, flush, x);
    lanes1(evaluated, Type::F32, [Type::F32]).by_table(function)
}

/// `div.full` and `div.approx`.
pub(super) fn division(at: &Instruction) -> Computation {
    let (full, flush) = (at.has("full"), at.has("ftz"));
    let divided = move |x: &Lanes, y: &Lanes| {
        let [reciprocal, x] = division_factors(full, flush, x, y);
        single::multiply(flush, &reciprocal, &x)
    };
    lanes2(divided, Type::F32, [Type::F32; 2]).by_table(Function::Rcp)
}

/// `FUNCTION.approx.f32`; with `.ftz` subnormal inputs and results become zero, as the unit itself has it.
fn evaluate(function: Function, flush: bool, x: &Lanes) -> Lanes {
    let mut y = [0; 32];
    fill(Level::best(), Form { function, ftz: flush }, x, &mut y);
    y
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
    [evaluate(Function::Rcp, true, &y), x]
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
    [evaluate(Function::Rcp, true, &scaled), scales]
}
