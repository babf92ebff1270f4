//! From a merged FP32 number to a code of D (rules 20 to 26).

use bitmma_engine::formats::{E4M3, E5M2, F32, Format, Overflow};
use bitmma_engine::threads::prelude::*;

use bitmma_engine::{Code, Codes, Matrix, on_codes};

use crate::call::Scales;
use crate::error::Error;
use crate::fp32::exact::lift;
use crate::fp32::{CHUNK, add, multiply, multiply_onto_zero};
use crate::plan::{Alpha, Epilogue, Multiply, ScaleResult, Through};
use crate::reference;

/// The code that a NaN result has in `format` (rule 24): all bits but the sign.
pub fn nan_code(format: &Format) -> u64 {
    format.max_code() & !format.sign_bit()
}

/// Rounds FP32 into a narrower format, to nearest even.
#[derive(Clone, Copy, Debug)]
pub struct Narrow {
    format: Format,
    /// What numbers beyond the largest become.
    overflow: u32,
    /// Fraction bits that are cut.
    shift: u32,
    /// The smallest FP32 magnitude that is a normal number of the format; 0 where both have the same exponents.
    normal: u32,
    /// What the exponents differ by, in codes of the format.
    rebias: u32,
    /// 2^n such that the last bit of a sum with it is the format's smallest number.
    magic: f32,
    largest: u32,
    sign: u32,
}

impl Narrow {
    /// Into FP32, BF16, FP16, E4M3 or E5M2; an FP8 result takes its largest number for what is beyond it where
    /// `saturate`.
    pub fn new(format: Format, saturate: bool) -> Result<Narrow, Error> {
        if ![F32, bitmma_engine::formats::BF16, bitmma_engine::formats::F16, E4M3, E5M2].contains(&format) {
            return Err(Error::Operands(format!("D in {format}; a call gives f32, bf16, f16, e4m3 or e5m2")));
        }
        let infinity =
            format.infinity_code().or(format.nan_code()).expect("each of the five has an infinity or a NaN");
        let saturates = saturate && is_fp8(&format);
        let overflow = if saturates { format.max_finite_code() } else { infinity };
        let same = format.bias == 127;
        let lowest = format.min_exponent() - format.fraction_bits as i32;
        Ok(Narrow {
            format,
            overflow: overflow as u32,
            shift: 23 - format.fraction_bits,
            normal: if same { 0 } else { ((format.min_exponent() + 127) as u32) << 23 },
            rebias: ((127 - format.bias) as u32) << format.fraction_bits,
            magic: f32::from_bits((((lowest + 23).max(-126) + 127) as u32) << 23),
            largest: format.max_finite_code() as u32,
            sign: format.sign_bit() as u32,
        })
    }

    /// The format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The code of an FP32 number.
    #[inline]
    pub fn code(&self, word: u32) -> u32 {
        let magnitude = word & 0x7fff_ffff;
        if magnitude > 0x7f80_0000 {
            return nan_code(&self.format) as u32;
        }
        if self.shift == 0 {
            return word;
        }
        let code = if magnitude >= self.normal {
            let even = (magnitude >> self.shift) & 1;
            ((magnitude + (1 << (self.shift - 1)) - 1 + even) >> self.shift) - self.rebias
        } else {
            (f32::from_bits(magnitude) + self.magic).to_bits() - self.magic.to_bits()
        };
        let code = if code > self.largest { self.overflow } else { code };
        if code == nan_code(&self.format) as u32 {
            return code; // a format without infinity, and no sign on its NaN
        }
        code | if word >> 31 == 1 { self.sign } else { 0 }
    }

    /// An FP32 number rounded into the format and back, NaN as 7fffffff. Overflow is infinity.
    #[inline]
    pub fn through(&self, word: u32) -> u32 {
        let code = self.code(word);
        if self.shift == 0 {
            return code;
        }
        lift(&self.format, u64::from(code))
    }
}

/// Whether the format is one of those that saturate.
pub(crate) fn is_fp8(format: &Format) -> bool {
    [E4M3, E5M2].contains(format)
}

/// An epilogue with its factors, for many numbers.
#[derive(Clone, Debug)]
pub struct Finish {
    pub(crate) epilogue: Epilogue,
    pub(crate) alpha: u32,
    pub(crate) result: Option<u32>,
    narrow: Narrow,
}

impl Finish {
    /// The epilogue of a call with these scales and this D.
    pub fn new(epilogue: &Epilogue, scales: Scales, out: Format) -> Result<Finish, Error> {
        let alpha = match epilogue.alpha {
            Alpha::Scales => multiply(scales.a, scales.b),
            Alpha::Host if scales.a == Scales::ONE.a && scales.b == Scales::ONE.b => Scales::ONE.a,
            Alpha::Host => {
                return Err(Error::unrecorded(
                    "scales with a plan whose factor comes from the host (rule 26)",
                ));
            }
        };
        let used = epilogue.scale_result == ScaleResult::Fp8Only && is_fp8(&out);
        Ok(Finish {
            epilogue: epilogue.clone(),
            alpha,
            result: scales.result.filter(|_| used),
            narrow: Narrow::new(out, epilogue.saturate)?,
        })
    }

    /// D's format.
    pub fn out(&self) -> Format {
        self.narrow.format
    }

    /// The code of D that a merged number becomes.
    #[inline]
    pub fn code(&self, word: u32) -> u32 {
        if self.epilogue.through == Through::None {
            return reference::finish(self, word) as u32;
        }
        let scaled = match self.epilogue.multiply {
            Multiply::FmaZero => multiply_onto_zero(word, self.alpha),
            Multiply::Mul => multiply(word, self.alpha),
            Multiply::MulAdd => add(multiply(word, self.alpha), 0),
            Multiply::None => word,
        };
        let scaled = self.result.map_or(scaled, |result| multiply(scaled, result));
        self.narrow.code(scaled)
    }

    /// A matrix of D from merged numbers, on all threads.
    pub(crate) fn matrix(&self, words: &[u32], rows: usize, columns: usize) -> Result<Matrix, Error> {
        let mut codes = empty(&self.out(), rows, columns)?;
        self.write(words, columns, &mut codes, (0, 0), columns);
        Ok(Matrix::with_codes(self.out(), (1, rows, columns), codes)?)
    }

    /// Writes a tile of `width` columns into D of `columns`, at a place.
    pub(crate) fn write(
        &self,
        words: &[u32],
        width: usize,
        d: &mut Codes,
        (row, column): (usize, usize),
        columns: usize,
    ) {
        if width == 0 {
            return;
        }
        let rows = words.len() / width;
        on_codes!(d, codes => {
            let lines = codes[row * columns..(row + rows) * columns].par_chunks_mut(columns);
            let pairs = lines.zip(words.par_chunks(width)).with_min_len((CHUNK / width).max(1));
            pairs.for_each(|(line, words)| {
                let line = line[column..column + width].iter_mut();
                line.zip(words).for_each(|(to, &word)| *to = Code::of(self.code(word).into()));
            });
        });
    }
}

/// Room for codes of D.
pub(crate) fn empty(format: &Format, rows: usize, columns: usize) -> Result<Codes, Error> {
    let too_large = || Error::Operands(format!("D of {rows}×{columns} cannot be held in memory"));
    let count = rows.checked_mul(columns).ok_or_else(too_large)?;
    Codes::zeros(format, count).ok_or_else(too_large)
}

/// How an overflow of D is treated, for the reference path.
pub(crate) fn overflow(finish: &Finish) -> Overflow {
    if finish.epilogue.saturate && is_fp8(&finish.out()) { Overflow::Saturate } else { Overflow::Ieee }
}
