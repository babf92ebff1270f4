//! From the format a result has into the one it is wanted in.

use bitmma_arithmetic::Conversion;
use bitmma_formats::{Class, F32, Format, Overflow, Real, Rounding, Specials, decode, encode};
use bitmma_kernel::Narrow;

use crate::error::{Error, option};

/// Into what D is converted at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputConversion {
    /// Rounding and format; E8M13 comes in an FP32 container. Whether it saturates is what `overflow` says, and
    /// subnormal numbers are not flushed.
    pub conversion: Conversion,
    /// What numbers beyond the format's largest, infinities among them, become.
    ///
    /// Where a format has no infinity, infinity becomes its NaN, and where it has none either (FP6, FP4) its largest
    /// number.
    pub overflow: Overflow,
    /// The code that NaN becomes; by default the format's NaN. A format that has none (FP6, FP4) refuses NaN without it.
    pub nan: Option<u64>,
}

impl OutputConversion {
    /// To nearest even, overflow as IEEE 754 says.
    pub const fn nearest(format: Format) -> OutputConversion {
        let conversion = Conversion::new(Rounding::NearestEven, format);
        OutputConversion { conversion, overflow: Overflow::Ieee, nan: None }
    }

    /// To nearest even and overflow as IEEE 754 says, unless told otherwise.
    pub fn new(format: Format, rounding: Option<Rounding>, overflow: Option<Overflow>) -> OutputConversion {
        let conversion = Conversion::new(rounding.unwrap_or(Rounding::NearestEven), format);
        OutputConversion { conversion, overflow: overflow.unwrap_or(Overflow::Ieee), nan: None }
    }

    /// The same, NaN to this code, if there is one.
    pub fn with_nan(self, nan: Option<u64>) -> Result<OutputConversion, Error> {
        let format = self.conversion.format;
        match nan {
            Some(code) if code > self.conversion.container().max_code() => {
                let allowed = format!("{format} codes have {} bits", self.conversion.container().bits());
                Err(option("nan", format!("{code:#x}"), allowed))
            }
            _ => Ok(OutputConversion { nan, ..self }),
        }
    }

    /// As [`OutputConversion::new`] with NaN to a code; `None` without a format, where nothing is converted.
    pub fn asked(
        format: Option<Format>,
        rounding: Option<Rounding>,
        overflow: Option<Overflow>,
        nan: Option<u64>,
    ) -> Result<Option<OutputConversion>, Error> {
        let without = |name, value| {
            Err(option(name, value, "it needs output, the format that D is converted to".to_owned()))
        };
        match (format, rounding, overflow, nan) {
            (Some(format), ..) => OutputConversion::new(format, rounding, overflow).with_nan(nan).map(Some),
            (None, Some(rounding), ..) => without("output_rounding", rounding.symbol().to_owned()),
            (None, None, Some(overflow), _) => without("overflow", overflow.name().to_owned()),
            (None, None, None, Some(nan)) => without("nan", format!("{nan:#x}")),
            (None, None, None, None) => Ok(None),
        }
    }

    /// Refuses the first NaN among codes of `from` where nothing says what it becomes. `name` is the array's, its shape
    /// tells where the NaN is.
    pub fn check(
        self,
        from: Format,
        codes: impl Iterator<Item = u64>,
        (name, shape): (&str, &[usize]),
    ) -> Result<(), Error> {
        match Converter::new(from, self, None, 0).first_refused(codes) {
            Some(index) => Err(self.refused(index, (name, shape))),
            None => Ok(()),
        }
    }

    /// That the number at an index, row by row, is NaN.
    pub(super) fn refused(self, index: usize, (name, shape): (&str, &[usize])) -> Error {
        let mut rest = index;
        let mut place: Vec<String> = shape
            .iter()
            .rev()
            .map(|size| {
                let along = rest % size;
                rest /= size;
                along.to_string()
            })
            .collect();
        place.reverse();
        let place = if place.is_empty() { name.to_owned() } else { format!("{name}[{}]", place.join(", ")) };
        Error::Nan { place, format: self.conversion.format.name }
    }

    /// Codes of `from`, which [`check`](OutputConversion::check) takes, into codes of this conversion's container, `count` of
    /// them, about.
    pub fn of(self, from: Format, count: usize) -> impl Fn(u64) -> u64 {
        let converter = Converter::new(from, self, None, count);
        move |code| converter.code(code)
    }
}

/// From one format into another, NaN under control.
pub(super) struct Converter {
    from: Format,
    pub(super) to: OutputConversion,
    /// The code of NaN, if there is one.
    nan: Option<u64>,
    /// Every result, where there are few codes and many of them to convert.
    table: Vec<u64>,
    /// Whether all but NaN stays as it is, and NaNs are those of IEEE 754.
    pub(super) same: bool,
    /// From FP32, the same quickly.
    narrow: Option<Narrow>,
}

impl Converter {
    pub(super) fn new(from: Format, to: OutputConversion, nan: Option<u64>, count: usize) -> Converter {
        let same = from == to.conversion.format
            && from.specials == Specials::Ieee
            && from.padding_bits == 0
            && to.overflow != Overflow::Saturate;
        let nan = nan.or(to.nan).or(to.conversion.format.nan_code());
        let nearest =
            from == F32 && to.conversion == OutputConversion::nearest(to.conversion.format).conversion;
        let narrow =
            nearest.then(|| Narrow::new(to.conversion.format, to.overflow == Overflow::Saturate)).flatten();
        let mut converter = Converter { from, to, nan, table: Vec::new(), same, narrow };
        if from.bits() <= 16 && count > 1 << from.bits() {
            converter.table = (0..=from.max_code()).map(|code| converter.compute(code)).collect();
        }
        converter
    }

    #[inline]
    pub(super) fn code(&self, code: u64) -> u64 {
        if self.table.is_empty() { self.compute(code) } else { self.table[code as usize] }
    }

    #[inline]
    fn compute(&self, code: u64) -> u64 {
        match self.narrow {
            _ if self.same && !self.is_nan(code) => code,
            Some(narrow) if !self.is_nan(code) => narrow.code(code as u32).into(),
            _ => self.by_definition(code),
        }
    }

    /// The index of the first code that is NaN, where NaN is refused.
    pub(super) fn first_refused(&self, mut codes: impl Iterator<Item = u64>) -> Option<usize> {
        match self.nan {
            Some(_) => None,
            None => codes.position(|code| decode(&self.from, code).class == Class::Nan),
        }
    }

    /// Whether a code is above infinity, in a format of IEEE 754.
    #[inline]
    pub(super) fn is_nan(&self, code: u64) -> bool {
        let infinity = ((1 << self.from.exponent_bits) - 1) << self.from.fraction_bits;
        code & !self.from.sign_bit() > infinity
    }

    /// The code by decoding and encoding it.
    pub(super) fn by_definition(&self, code: u64) -> u64 {
        let value = decode(&self.from, code);
        if self.same && value.class != Class::Nan {
            code
        } else {
            self.stored(value.class, value.real(&self.from))
        }
    }

    /// The code of a value; only its sign counts where it is not finite.
    pub(super) fn stored(&self, class: Class, real: Real) -> u64 {
        let Conversion { rounding, format, .. } = self.to.conversion;
        match class {
            // where there is none, NaN was refused
            Class::Nan => self.nan.unwrap_or(format.max_finite_code()),
            // an infinity stays one where it can; a finite number of this size would be in its place
            Class::Infinity => {
                let beyond = Real { significand: 1, exponent: format.max_exponent() + 1, ..real };
                let overflow = match self.to.overflow {
                    Overflow::Saturate => Overflow::Saturate,
                    Overflow::Ieee | Overflow::Infinity => Overflow::Infinity,
                };
                encode(&format, beyond, rounding, overflow)
            }
            Class::Zero => encode(&format, Real::zero(real.negative), rounding, self.to.overflow),
            Class::Finite => encode(&format, real, rounding, self.to.overflow),
        }
    }
}
