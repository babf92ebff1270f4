//! Sums and products in W by their definition, in whole numbers; a NaN has the code of all bits but the sign.

use bitmma_arithmetic::operand::Operand;
use bitmma_arithmetic::{Conversion, fma};
use bitmma_formats::{Class, Format, Rounding, decode};

pub(super) const fn nearest(working: Format) -> Conversion {
    Conversion::new(Rounding::NearestEven, working)
}

fn canonical(working: Format, code: u64) -> u64 {
    if decode(&working, code).class == Class::Nan { super::nan_code(&working) } else { code }
}

/// x + y.
pub fn add(working: Format, x: u64, y: u64) -> u64 {
    let [x, y] = [x, y].map(|code| Operand::new(&working, code));
    canonical(working, fma::add(&x, &y, nearest(working)))
}

/// x · y.
pub fn multiply(working: Format, x: u64, y: u64) -> u64 {
    let [x, y] = [x, y].map(|code| Operand::new(&working, code));
    canonical(working, fma::multiply(&x, &y, nearest(working)))
}

/// x · y + z, rounded once.
pub fn multiply_add(working: Format, x: u64, y: u64, z: u64) -> u64 {
    let [x, y, z] = [x, y, z].map(|code| Operand::new(&working, code));
    canonical(working, fma::fma(&x, &y, &z, 0, nearest(working), &mut ()))
}

/// The number in W that a code of another format is.
pub fn lift(working: Format, from: &Format, code: u64) -> u64 {
    canonical(working, fma::change_format(from, code, nearest(working)))
}
