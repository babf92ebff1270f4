//! One row per format, with the document that defines it.

use crate::format::{Format, Sign, Specials};

#[allow(clippy::too_many_arguments)] // one argument per column of the table below
const fn row(
    name: &'static str,
    sign: Sign,
    exponent_bits: u32,
    fraction_bits: u32,
    padding_bits: u32,
    bias: i32,
    specials: Specials,
    standard: &'static str,
) -> Format {
    let subnormals = fraction_bits > 0;
    Format { name, sign, exponent_bits, fraction_bits, padding_bits, bias, subnormals, specials, standard }
}

use Sign::{Ignored, None as Unsigned, Signed};
use Specials::{AllOnesNan, Ieee, NegativeZeroNan, None as Finite};

const IEEE: &str = "IEEE 754-2019, table 3.5";
const OCP_FP8: &str = "OCP 8-bit Floating Point Specification 1.0, table 1";
const OCP_MX: &str = "OCP Microscaling Formats Specification 1.0";
const FNUZ: &str = "AMD CDNA3 ISA, FP8 and BF8; Noune et al., arXiv:2206.02915";

/// A constant for each row, and the array of all.
macro_rules! formats {
    ($($(#[$about:meta])+ $constant:ident = $($column:expr),+;)+) => {
        $($(#[$about])+ pub const $constant: Format = row($($column),+);)+

        /// Every format, widest first.
        pub const FORMATS: [Format; [$($constant),+].len()] = [$($constant),+];
    };
}

// columns: name, sign, exponent bits, fraction bits, padding bits, bias, specials, standard
#[rustfmt::skip]
formats! {
    /// IEEE 754 binary64.
    F64 = "f64", Signed, 11, 52, 0, 1023, Ieee, IEEE;
    /// IEEE 754 binary32.
    F32 = "f32", Signed, 8, 23, 0, 127, Ieee, IEEE;
    /// TF32: an FP32 word whose low 13 bits are ignored.
    TF32 = "tf32", Signed, 8, 10, 13, 127, Ieee, "NVIDIA PTX ISA, alternate floating-point data formats";
    /// XF32, AMD's TF32: an FP32 word whose low 13 bits are ignored.
    XF32 = "xf32", Signed, 8, 10, 13, 127, Ieee, "AMD CDNA3 ISA, matrix arithmetic instructions";
    /// E8M13: an FP32 word whose low 10 bits are zero; the output of FP8 instructions on Ada and Hopper.
    E8M13 = "e8m13", Signed, 8, 13, 10, 127, Ieee, "paper, table of conversion functions";
    /// bfloat16.
    BF16 = "bf16", Signed, 8, 7, 0, 127, Ieee, "NVIDIA PTX ISA, alternate floating-point data formats";
    /// IEEE 754 binary16.
    F16 = "f16", Signed, 5, 10, 0, 15, Ieee, IEEE;
    /// OCP FP8 E5M2: IEEE-like.
    E5M2 = "e5m2", Signed, 5, 2, 0, 15, Ieee, OCP_FP8;
    /// OCP FP8 E4M3: no infinity, NaN = S.1111.111.
    E4M3 = "e4m3", Signed, 4, 3, 0, 7, AllOnesNan, OCP_FP8;
    /// BF8 of CDNA3: bias 16, no infinity, no negative zero, NaN = 0x80.
    E5M2FNUZ = "e5m2fnuz", Signed, 5, 2, 0, 16, NegativeZeroNan, FNUZ;
    /// FP8 of CDNA3: bias 8, no infinity, no negative zero, NaN = 0x80.
    E4M3FNUZ = "e4m3fnuz", Signed, 4, 3, 0, 8, NegativeZeroNan, FNUZ;
    /// OCP FP6 E3M2: finite numbers only.
    E3M2 = "e3m2", Signed, 3, 2, 0, 3, Finite, OCP_MX;
    /// OCP FP6 E2M3: finite numbers only.
    E2M3 = "e2m3", Signed, 2, 3, 0, 1, Finite, OCP_MX;
    /// OCP FP4 E2M1: finite numbers only.
    E2M1 = "e2m1", Signed, 2, 1, 0, 1, Finite, OCP_MX;
    /// OCP E8M0 scale: 2^(code-127), 0xFF = NaN, no zero.
    UE8M0 = "ue8m0", Unsigned, 8, 0, 0, 127, AllOnesNan, OCP_MX;
    /// UE4M3 scale of NVFP4: E4M3 with its sign bit ignored.
    UE4M3 = "ue4m3", Ignored, 4, 3, 0, 7, AllOnesNan, "NVIDIA PTX ISA, alternate floating-point data formats";
}

/// The format of that name, compared without case; `None` for an unknown name.
pub fn by_name(name: &str) -> Option<Format> {
    FORMATS.into_iter().find(|format| format.name.eq_ignore_ascii_case(name))
}
