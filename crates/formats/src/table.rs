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

use Sign::{Ignored, None as Unsigned, Signed, TwosComplement};
use Specials::{AllOnesNan, Ieee, NegativeZeroNan, None as Finite};

const IEEE: &str = "IEEE 754-2019, table 3.5";
const OCP_FP8: &str = "OCP 8-bit Floating Point Specification 1.0, table 1";
const OCP_MX: &str = "OCP Microscaling Formats Specification 1.0";
const FNUZ: &str = "AMD CDNA3 ISA, FP8 and BF8; Noune et al., arXiv:2206.02915";

/// A constant for each row, and the array of all.
macro_rules! formats {
    ($row:ident, $(#[$all:meta])+ $array:ident; $($(#[$about:meta])+ $constant:ident = $($column:expr),+;)+) => {
        $($(#[$about])+ pub const $constant: Format = $row($($column),+);)+

        $(#[$all])+
        pub const $array: [Format; [$($constant),+].len()] = [$($constant),+];
    };
}

// columns: name, sign, exponent bits, fraction bits, padding bits, bias, specials, standard
#[rustfmt::skip]
formats! {
    row,
    /// Every floating-point format, widest first.
    FORMATS;
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

/// An integer whose bits below its sign are `fraction_bits`, the last of which counts one.
const fn integer(name: &'static str, sign: Sign, fraction_bits: u32, standard: &'static str) -> Format {
    row(name, sign, 0, fraction_bits, 0, 1 - fraction_bits as i32, Finite, standard)
}

const INTEGER: &str = "two's complement; NVIDIA PTX ISA, fundamental types";
const UNSIGNED: &str = "NVIDIA PTX ISA, fundamental types";
const PTX_NARROW: &str = "NVIDIA PTX ISA, mma, sub-byte integers";

// columns: name, sign, bits below the sign, standard
#[rustfmt::skip]
formats! {
    integer,
    /// Every integer format, widest first.
    INTEGERS;
    /// An integer of 32 bits in two's complement: C and D.
    S32 = "s32", TwosComplement, 31, INTEGER;
    /// An integer of 8 bits in two's complement.
    S8 = "s8", TwosComplement, 7, INTEGER;
    /// An integer of 8 bits, not negative.
    U8 = "u8", Unsigned, 8, UNSIGNED;
    /// An integer of 4 bits in two's complement.
    S4 = "s4", TwosComplement, 3, PTX_NARROW;
    /// An integer of 4 bits, not negative.
    U4 = "u4", Unsigned, 4, PTX_NARROW;
    /// One bit: 0 or 1.
    B1 = "b1", Unsigned, 1, "NVIDIA PTX ISA, mma, single bits";
}

/// Every format: those of floating point, then integers.
pub fn all() -> impl Iterator<Item = Format> {
    FORMATS.into_iter().chain(INTEGERS)
}

/// The names of all formats with commas between, for messages.
pub fn names() -> String {
    all().map(|format| format.name).collect::<Vec<_>>().join(", ")
}

/// The format of that name, compared without case; `None` for an unknown name.
pub fn by_name(name: &str) -> Option<Format> {
    all().find(|format| format.name.eq_ignore_ascii_case(name))
}
