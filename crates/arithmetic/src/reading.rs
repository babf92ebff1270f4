//! Operands that are not used as they are given: subnormal numbers that are flushed, bits that are not read.
//!
//! For the report alone; what the operations compute with is read in [`crate::run`].

use std::fmt;

use bitmma_formats::{Class, Format, Real, decode, table};

use crate::exact::Exact;
use crate::model::Model;
use crate::operand::Operand;
use crate::run::{Operands, Prepared, Side};
use crate::trace::{Step, TermName, Trace};

/// Which operand, its place counted along the whole of K, or in blocks of scale factors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperandName {
    /// An element of A.
    A(usize),
    /// An element of B.
    B(usize),
    /// The element of C.
    C,
    /// A scale factor of A.
    ScaleA(usize),
    /// A scale factor of B.
    ScaleB(usize),
}

impl fmt::Display for OperandName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OperandName::A(k) => write!(f, "a{k}"),
            OperandName::B(k) => write!(f, "b{k}"),
            OperandName::C => f.write_str("c"),
            OperandName::ScaleA(block) => write!(f, "scale_a{block}"),
            OperandName::ScaleB(block) => write!(f, "scale_b{block}"),
        }
    }
}

/// An operand as it is given and as it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Which one.
    pub operand: OperandName,
    /// Its code.
    pub given: u64,
    /// The format in which every bit of the code counts: FP32 for TF32.
    pub given_format: Format,
    /// The code of the number that is used.
    pub used: u64,
    /// The operand's own format.
    pub format: Format,
}

/// Why an operand is used as another number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It is subnormal, and read as zero; or it is -0, and read as +0.
    Flushed,
    /// Its format has bits that are not read: the low bits of a TF32 word, the sign of a UE4M3 code.
    Ignored,
}

impl Reading {
    /// A code of `format`, and whether a subnormal number is read as zero: `flushes` says of which sign, given its own.
    fn new(operand: OperandName, format: Format, given: u64, flushed: Option<u64>) -> Reading {
        let read = match format.padding_bits {
            0 => given,
            bits => given >> bits << bits,
        };
        let read = if format.is_operand() { read } else { read & !sign_bit(&format) };
        let given_format = if read == given { format } else { whole(&format) };
        Reading { operand, given, given_format, used: flushed.unwrap_or(read), format }
    }

    fn why(&self) -> Option<Why> {
        if self.used == self.given {
            return None;
        }
        let zero = decode(&self.format, self.used).class == Class::Zero;
        let read = Reading::new(self.operand, self.format, self.given, None).used;
        Some(if zero && read != self.used { Why::Flushed } else { Why::Ignored })
    }

    /// The exact value of what was given; `None` for infinity and NaN.
    fn exact(&self) -> Option<Exact> {
        value(&self.given_format, self.given)
    }

    /// The exact value of what is used; `None` for infinity and NaN.
    fn exact_used(&self) -> Option<Exact> {
        value(&self.format, self.used)
    }
}

/// The sign bit of a format that does not read it.
fn sign_bit(format: &Format) -> u64 {
    match format.name == table::UE4M3.name {
        true => 1 << (format.bits() - 1),
        false => 0,
    }
}

/// The format whose codes are those of `format` with every bit read.
fn whole(format: &Format) -> Format {
    match (format.padding_bits, format.bits()) {
        (0, _) => table::E4M3, // UE4M3 and its sign
        (_, 32) => table::F32,
        _ => *format,
    }
}

fn value(format: &Format, code: u64) -> Option<Exact> {
    let value = decode(format, code);
    value.is_finite().then(|| Operand { value, fraction_bits: format.fraction_bits as i32 }.exact())
}

/// x·y, exact.
fn times(x: Exact, y: Exact) -> Exact {
    Exact { significand: x.significand * y.significand, exponent: x.exponent + y.exponent }
}

/// Reports every operand that is used as another number, and what is lost by it.
pub(crate) fn report<T: Trace>(prepared: &Prepared<'_>, operands: &Operands<'_>, trace: &mut T) {
    if !T::ON {
        return;
    }
    let element = |side, k: usize| {
        let (name, code) = match side {
            Side::A => (OperandName::A(k), operands.a[k]),
            Side::B => (OperandName::B(k), operands.b[k]),
        };
        Reading::new(name, prepared.code_format(side), code, prepared.flushed(side, code))
    };
    for k in 0..operands.a.len() {
        let readings = [element(Side::A, k), element(Side::B, k)];
        let product = |values: [Option<Exact>; 2]| Some(times(values[0]?, values[1]?));
        let [exact, used] = [
            product(readings.map(|reading| reading.exact())),
            product(readings.map(|reading| reading.exact_used())),
        ];
        step(Some(TermName::Product(k)), &readings, exact, used, trace);
    }
    let c = Reading::new(
        OperandName::C,
        prepared.model().c,
        operands.c,
        prepared.flushed_accumulator(operands.c),
    );
    step(Some(TermName::Accumulator), &[c], c.exact(), c.exact_used(), trace);
    let Model { scale: Some(scale), .. } = prepared.model() else { return };
    for (codes, name) in [
        (operands.scale_a, OperandName::ScaleA as fn(usize) -> OperandName),
        (operands.scale_b, OperandName::ScaleB),
    ] {
        for (block, code) in codes.iter().enumerate() {
            let reading = Reading::new(name(block), scale.format, *code, None);
            step(None, &[reading], reading.exact(), reading.exact_used(), trace);
        }
    }
}

fn step<T: Trace>(
    term: Option<TermName>,
    readings: &[Reading],
    exact: Option<Exact>,
    used: Option<Exact>,
    trace: &mut T,
) {
    let whys: Vec<Why> = readings.iter().filter_map(Reading::why).collect();
    let why = if whys.contains(&Why::Flushed) { Why::Flushed } else { Why::Ignored };
    if !whys.is_empty() {
        let lost: Option<Real> = exact.zip(used).map(|(exact, used)| exact.minus(used));
        trace.step(Step::Read { why, term, operands: readings.to_vec(), exact, lost });
    }
}
