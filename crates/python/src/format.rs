//! `bitmma.formats`: what the bits of a number mean.

use bitmma_engine::Codes;
use bitmma_engine::formats::encode as encode_exact;
use bitmma_engine::formats::{
    F32, F64, Format as Row, Overflow, Real, Rounding, alias, packing, table, text,
};
use bitmma_engine::gemm::OutputConversion;
use pyo3::prelude::*;
use pyo3::types::PyInt;

use crate::arrays;
use crate::error::{CodeError, FormatError, OptionError, Raised, UnknownFormat};

/// A format: of floating point the widths of its fields, its bias, its special codes; or of integers.
#[pyclass(frozen, eq, hash, get_all, module = "bitmma.formats")]
#[derive(Clone, PartialEq, Hash)]
pub(crate) struct Format {
    /// The name used everywhere in the project, lower case.
    name: &'static str,
    /// Width of a code, in bits: sign, exponent, fraction and padding.
    bits: u32,
    /// Bytes of one code in an array: 1, 2, 4 or 8; codes of fewer than 8 bits take one byte each.
    bytes: usize,
    /// Whether its numbers are integers: s32, s8, u8, s4, u4, b1.
    integer: bool,
    /// Width of the exponent field, in bits; 0 of integers.
    exponent_bits: u32,
    /// Width of the fraction field, in bits.
    fraction_bits: u32,
    /// Low bits of the container that carry no information (13 for TF32 in an FP32 word).
    padding_bits: u32,
    /// What is subtracted from the exponent field of a normal number.
    bias: i32,
    /// The code of the largest finite number.
    max_finite_code: u64,
    /// The code of the smallest normal number.
    min_normal_code: u64,
    /// The code of the number one.
    one_code: u64,
    /// The code of the quiet NaN, None where the format has none.
    nan_code: Option<u64>,
    /// The code of positive infinity, None where the format has none.
    infinity_code: Option<u64>,
    /// Whether there are negative numbers.
    signed: bool,
    /// The exponent of the smallest normal number.
    min_exponent: i32,
    /// The exponent of the largest finite number.
    max_exponent: i32,
    /// The document that defines the format.
    standard: &'static str,
    /// The dtype of NumPy, ml_dtypes and PyTorch that holds it, None where there is none.
    dtype: Option<&'static str>,
}

impl From<Row> for Format {
    fn from(row: Row) -> Format {
        Format {
            name: row.name,
            bits: row.bits(),
            bytes: row.bytes(),
            integer: row.is_integer(),
            exponent_bits: row.exponent_bits,
            fraction_bits: row.fraction_bits,
            padding_bits: row.padding_bits,
            bias: row.bias,
            max_finite_code: row.max_finite_code(),
            min_normal_code: row.min_normal_code(),
            one_code: row.one_code(),
            nan_code: row.nan_code(),
            infinity_code: row.infinity_code(),
            signed: row.is_signed(),
            min_exponent: row.min_exponent(),
            max_exponent: row.max_exponent(),
            standard: row.standard,
            dtype: alias::dtype(&row),
        }
    }
}

#[pymethods]
impl Format {
    /// A code's value as the shortest decimal that names it.
    fn display(&self, code: u64) -> PyResult<String> {
        let row = row(self.name)?;
        check(&row, 0, code)?;
        Ok(text::display(&row, code))
    }

    fn __repr__(&self) -> String {
        format!("bitmma.formats.by_name({:?})", self.name)
    }

    fn __str__(&self) -> &'static str {
        self.name
    }
}

/// Every format: those of floating point widest first, then integers.
#[pyfunction]
pub(crate) fn formats() -> Vec<Format> {
    table::all().map(Format::from).collect()
}

/// The row of that name, or of what another project calls it (`float8_e4m3fn`).
pub(crate) fn row(name: &str) -> PyResult<Row> {
    alias::find(name).map_err(|error| UnknownFormat::new_err(error.to_string()))
}

fn check(row: &Row, index: usize, code: u64) -> PyResult<()> {
    if code > row.max_code() {
        let (name, bits) = (row.name, row.bits());
        return Err(CodeError::new_err(format!("code {index} is {code:#x}; {name} codes have {bits} bits")));
    }
    Ok(())
}

/// How values beyond a format's largest are treated: `ieee`, `infinity`, `saturate`.
pub(crate) fn overflow(name: &str) -> PyResult<Overflow> {
    name.parse().map_err(|error: bitmma_engine::formats::overflow::UnknownOverflow| {
        OptionError::new_err(error.to_string())
    })
}

/// A rounding rule by its symbol.
pub(crate) fn rounding(name: &str) -> PyResult<Rounding> {
    name.parse().map_err(|error: bitmma_engine::formats::rounding::UnknownRounding| {
        OptionError::new_err(error.to_string())
    })
}

/// Codes of `format` for the float64 or float32 numbers whose bits are `words`. NaN becomes the code `nan`; without one
/// it is refused where the format has none.
#[pyfunction]
#[pyo3(signature = (words, format, rounding_rule, overflow_rule, nan = None))]
pub(crate) fn encode<'py>(
    words: &Bound<'py, PyAny>,
    format: &str,
    rounding_rule: &str,
    overflow_rule: &str,
    nan: Option<u64>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = words.py();
    let to = row(format)?;
    let conversion = conversion(to, rounding_rule, overflow_rule, nan)?;
    let (words, shape) = arrays::codes("values", words)?;
    let from = match words {
        Codes::U64(_) => F64,
        Codes::U32(_) => F32,
        Codes::U8(_) | Codes::U16(_) => {
            return Err(FormatError::new_err("values are float64 or float32 words"));
        }
    };
    let codes = py.detach(|| {
        let all = (0..words.len()).map(|index| words.get(index));
        conversion.check(from, all.clone(), ("values", &shape))?;
        Ok::<_, bitmma_engine::Error>(held(&to, all.map(conversion.of(from, words.len()))))
    });
    arrays::array(py, codes.map_err(Raised::from)?, &shape)
}

fn conversion(to: Row, rule: &str, overflow_rule: &str, nan: Option<u64>) -> PyResult<OutputConversion> {
    let conversion = OutputConversion::new(to, Some(rounding(rule)?), Some(overflow(overflow_rule)?));
    Ok(conversion.with_nan(nan).map_err(Raised::from)?)
}

/// Codes of a format, each of as many bytes as its codes take.
fn held(format: &Row, codes: impl Iterator<Item = u64>) -> Codes {
    match format.bytes() {
        1 => Codes::U8(codes.map(|code| code as u8).collect()),
        2 => Codes::U16(codes.map(|code| code as u16).collect()),
        4 => Codes::U32(codes.map(|code| code as u32).collect()),
        _ => Codes::U64(codes.collect()),
    }
}

/// Codes of `format` for the integers in `words`: uint64, or int64's bits where `signed`.
#[pyfunction]
pub(crate) fn encode_words<'py>(
    words: &Bound<'py, PyAny>,
    signed: bool,
    format: &str,
    rounding_rule: &str,
    overflow_rule: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let py = words.py();
    let (to, rounding, overflow) = (row(format)?, rounding(rounding_rule)?, overflow(overflow_rule)?);
    let (words, shape) = arrays::codes("values", words)?;
    let exact = |word: u64| match signed {
        true => Real::exact(i128::from(word as i64), 0),
        false => Real::exact(i128::from(word), 0),
    };
    let codes = (0..words.len()).map(|index| encode_exact(&to, exact(words.get(index)), rounding, overflow));
    arrays::array(py, held(&to, codes), &shape)
}

/// The code of `format` for an integer of any size.
#[pyfunction]
pub(crate) fn encode_integer(
    value: &Bound<'_, PyInt>,
    format: &str,
    rounding_rule: &str,
    overflow_rule: &str,
) -> PyResult<u64> {
    let (to, rounding, overflow) = (row(format)?, rounding(rounding_rule)?, overflow(overflow_rule)?);
    let magnitude = value.call_method0("__abs__")?;
    let below = magnitude.call_method0("bit_length")?.extract::<u32>()?.saturating_sub(120);
    let significand = magnitude.rshift(below)?;
    let inexact = below > 0 && !significand.lshift(below)?.eq(&magnitude)?;
    let real = Real {
        negative: value.lt(0)?,
        significand: significand.extract()?,
        exponent: i32::try_from(below).unwrap_or(i32::MAX),
        inexact,
    };
    Ok(encode_exact(&to, real, rounding, overflow))
}

/// The float64 words of codes (in one dimension); exact for every format.
#[pyfunction]
pub(crate) fn decode<'py>(codes: &Bound<'py, PyAny>, format: &str) -> PyResult<Bound<'py, PyAny>> {
    let py = codes.py();
    let from = row(format)?;
    let (codes, shape) = arrays::codes("codes", codes)?;
    let words = (0..codes.len())
        .map(|index| {
            let code = codes.get(index);
            check(&from, index, code)?;
            Ok(text::to_f64_bits(&from, code))
        })
        .collect::<PyResult<Vec<u64>>>()?;
    arrays::array(py, Codes::U64(words), &shape)
}

/// The format of that name, compared without case.
#[pyfunction]
pub(crate) fn format_named(name: &str) -> PyResult<Format> {
    Ok(row(name)?.into())
}

/// Codes of `bits` bits, one a byte, packed into bytes without gaps.
#[pyfunction]
pub(crate) fn pack<'py>(bits: u32, codes: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let packed = packing::pack(bits, &bytes("codes", codes)?);
    let packed = packed.map_err(|error| CodeError::new_err(error.to_string()))?;
    let count = packed.len();
    arrays::array(codes.py(), Codes::U8(packed), &[count])
}

/// `count` codes of `bits` bits out of bytes, one a byte.
#[pyfunction]
pub(crate) fn unpack<'py>(
    bits: u32,
    packed: &Bound<'py, PyAny>,
    count: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let codes = packing::unpack(bits, &bytes("packed", packed)?, count);
    let codes = codes.map_err(|error| CodeError::new_err(error.to_string()))?;
    arrays::array(packed.py(), Codes::U8(codes), &[count])
}

fn bytes(name: &str, array: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    match arrays::codes(name, array)?.0 {
        Codes::U8(bytes) => Ok(bytes),
        Codes::U16(_) | Codes::U32(_) | Codes::U64(_) => {
            Err(FormatError::new_err(format!("{name} are bytes: an array of uint8 was expected")))
        }
    }
}
