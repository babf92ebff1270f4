//! FP32 rounded into a format of 16 or 8 bits, many numbers at a time.

use bitmma_formats::{BF16, E4M3, E5M2, F16, Format};

/// Rounds FP32 to nearest even into BF16, FP16, E4M3 or E5M2.
#[derive(Clone, Copy, Debug)]
pub struct Narrow {
    /// What numbers beyond the largest become.
    overflow: u32,
    /// Fraction bits that are cut.
    shift: u32,
    /// The smallest FP32 magnitude that is a normal number of the format; 0 where both have the same exponents.
    normal: u32,
    /// The difference of the exponent biases, in codes of the format.
    rebias: u32,
    /// 2^n such that the last bit of a sum with it is the format's smallest number.
    magic: f32,
    largest: u32,
    sign: u32,
}

impl Narrow {
    /// As [`Narrow::of`]; `None` for other formats.
    pub fn new(format: Format, saturate: bool) -> Option<Narrow> {
        [BF16, F16, E4M3, E5M2].contains(&format).then(|| Narrow::of(&format, saturate))
    }

    /// Into one of the four formats; with `saturate` numbers and infinities beyond its largest number become that number, else
    /// infinity, or the format's NaN where it has no infinity.
    pub const fn of(format: &Format, saturate: bool) -> Narrow {
        let same = format.bias == 127;
        let lowest = format.min_exponent() - format.fraction_bits as i32;
        let last = if lowest + 23 < -126 { -126 } else { lowest + 23 };
        let overflow = match (format.infinity_code(), format.nan_code()) {
            (Some(beyond), _) | (None, Some(beyond)) if !saturate => beyond,
            _ => format.max_finite_code(),
        };
        Narrow {
            overflow: overflow as u32,
            shift: 23 - format.fraction_bits,
            normal: if same { 0 } else { ((format.min_exponent() + 127) as u32) << 23 },
            rebias: ((127 - format.bias) as u32) << format.fraction_bits,
            magic: f32::from_bits(((last + 127) as u32) << 23),
            largest: format.max_finite_code() as u32,
            sign: format.sign_bit() as u32,
        }
    }

    /// The code of an FP32 number that is not NaN.
    #[inline(always)]
    pub fn code(&self, word: u32) -> u32 {
        let magnitude = word & 0x7fff_ffff;
        let code = if magnitude >= self.normal {
            let even = (magnitude >> self.shift) & 1;
            ((magnitude + (1 << (self.shift - 1)) - 1 + even) >> self.shift) - self.rebias
        } else {
            (f32::from_bits(magnitude) + self.magic).to_bits() - self.magic.to_bits()
        };
        let code = if code > self.largest { self.overflow } else { code };
        // a format without infinity overflows to its NaN, which has no sign
        if code & (self.sign - 1) == self.sign - 1 { code } else { code | ((word >> 31) * self.sign) }
    }
}
