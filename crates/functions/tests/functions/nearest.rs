//! Correctly rounded results against the host's FP64 functions, which are right to within a billionth of an ulp, and
//! exact cases.

use bitmma_functions::nearest::{nearest, ulps};
use bitmma_functions::{Function, NAN};

use crate::common::values;

/// The function in FP64.
fn in_double(function: Function, x: f64) -> f64 {
    match function {
        Function::Rcp => 1.0 / x,
        Function::Sqrt => x.sqrt(),
        Function::Rsqrt => 1.0 / x.sqrt(),
        Function::Ex2 => x.exp2(),
        Function::Lg2 => x.log2(),
        Function::Sin => x.sin(),
        Function::Cos => x.cos(),
    }
}

#[test]
fn near_the_hosts() {
    for (function, x, _) in values() {
        let double = in_double(function, f32::from_bits(x).into());
        let code = nearest(function, x);
        if double.is_nan() {
            assert_eq!(code, NAN, "{function} {x:08x}");
            continue;
        }
        // one of the two between which the double lies, unless it is the double rounded
        let rounded = (double as f32).to_bits();
        let ties = (double.to_bits() & 0x1fff_ffff).abs_diff(0x1000_0000) < 64;
        let difference = ulps(code, rounded).unwrap_or(i64::MAX);
        assert!(
            difference == 0 || ties && difference.abs() == 1,
            "{function} {x:08x}: {code:08x}, {rounded:08x}"
        );
    }
}

#[test]
fn exact_results() {
    let rows = [
        (Function::Sqrt, 0x4080_0000, 0x4000_0000),
        (Function::Sqrt, 0x4110_0000, 0x4040_0000),
        (Function::Rsqrt, 0x4080_0000, 0x3f00_0000),
        (Function::Rsqrt, 0x0000_0001, 0x64b5_04f3),
        (Function::Rcp, 0x0000_0001, 0x7f80_0000),
        (Function::Rcp, 0x7f00_0000, 0x0040_0000),
        (Function::Ex2, 0xc315_0000, 0x0000_0001),
        (Function::Ex2, 0xc316_0000, 0x0000_0000),
        (Function::Ex2, 0xc315_ffff, 0x0000_0001),
        (Function::Ex2, 0x42ff_ffff, 0x7f7f_ffa7),
        (Function::Lg2, 0x0000_0001, 0xc315_0000),
        (Function::Lg2, 0x3f80_0000, 0x0000_0000),
        (Function::Sin, 0x0000_0001, 0x0000_0001),
        (Function::Sin, 0x8000_0001, 0x8000_0001),
        (Function::Cos, 0x0000_0001, 0x3f80_0000),
    ];
    for (function, x, expected) in rows {
        let code = nearest(function, x);
        assert_eq!(code, expected, "{function} {x:08x}: {code:08x}, not {expected:08x}");
    }
}
