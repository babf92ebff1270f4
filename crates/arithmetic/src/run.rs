//! A model at work: operands prepared once, elementary operations chained along K (paper, Algorithms 2,
//! 3 and 10).

use std::ops::Range;

use bitmma_formats::{Class, Format, Overflow, Real, Unpacked, decode, encode};

use crate::convert::Conversion;
use crate::error::ModelError;
use crate::family::Operation;
use crate::fdpa::{Grouping, Vectors, e_fdpa, gst_fdpa, rounded_fdpa, t_fdpa};
use crate::fma::{Operand, add, change_format, fma, ftz_fma};
use crate::ftz::add_mul;
use crate::lowering::{Chains, Order};
use crate::model::{InputFlush, Model};
use crate::trace::{Step, Trace};
use crate::validate::{holds_all, validate};

/// One dot product: codes in the low bits, K elements each of `a` and `b`.
#[derive(Clone, Copy, Debug)]
pub struct Operands<'a> {
    /// K codes of A's format.
    pub a: &'a [u64],
    /// K codes of B's format.
    pub b: &'a [u64],
    /// A code of C's format.
    pub c: u64,
    /// K / block codes of the scale format; empty for models without scale factors.
    pub scale_a: &'a [u64],
    /// K / block codes of the scale format; empty for models without scale factors.
    pub scale_b: &'a [u64],
}

impl Model {
    /// The code of D for one dot product.
    pub fn dot(&self, operands: &Operands<'_>) -> Result<u64, ModelError> {
        self.dot_traced(operands, &mut ())
    }

    /// The code of D for one dot product, every step reported to `trace`.
    pub fn dot_traced<T: Trace>(&self, operands: &Operands<'_>, trace: &mut T) -> Result<u64, ModelError> {
        let k = operands.a.len();
        if operands.b.len() != k {
            return Err(ModelError::Unequal { a: k, b: operands.b.len() });
        }
        let prepared = Prepared::new(self, k)?;
        prepared.check_scales("A", operands.scale_a.len())?;
        prepared.check_scales("B", operands.scale_b.len())?;
        check_codes("A", &self.a, operands.a)?;
        check_codes("B", &self.b, operands.b)?;
        check_codes("C", &self.c, &[operands.c])?;
        if let Some(scale) = &self.scale {
            check_codes("scale A", &scale.format, operands.scale_a)?;
            check_codes("scale B", &scale.format, operands.scale_b)?;
        }
        let a = prepared.vector(Side::A, operands.a.iter().copied());
        let b = prepared.vector(Side::B, operands.b.iter().copied());
        let scale_a = prepared.scales(operands.scale_a.iter().copied());
        let scale_b = prepared.scales(operands.scale_b.iter().copied());
        Ok(prepared.dot(&a, &b, operands.c, &scale_a, &scale_b, trace))
    }
}

/// Which of the two factors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// A row of A.
    A,
    /// A column of B.
    B,
}

/// A model made ready for dot products of one K.
#[derive(Clone, Debug)]
pub struct Prepared<'m> {
    model: &'m Model,
    length: usize,
    order: Vec<usize>,
    a: Format,
    b: Format,
}

impl<'m> Prepared<'m> {
    /// Checks the model and K.
    pub fn new(model: &'m Model, k: usize) -> Result<Self, ModelError> {
        validate(model)?;
        let length = model.length(k);
        let mut multiple = length.max(1) * model.lowering.parts();
        if let Order::Interleaved { period, .. } = model.lowering.order
            && !k.is_multiple_of(period)
        {
            multiple = period;
        }
        let group = model.operation.group();
        if !length.is_multiple_of(group) {
            multiple = group;
        }
        if let Some(scale) = model.scale
            && k.is_multiple_of(multiple)
        {
            multiple = scale.size;
        }
        if k == 0 || !k.is_multiple_of(multiple) {
            return Err(ModelError::Length { k, model: model.operation.name(), multiple });
        }
        let widened = |format| model.lowering.widen_operands.unwrap_or(format);
        let order = model.lowering.order.indices(k);
        Ok(Prepared { model, length, order, a: widened(model.a), b: widened(model.b) })
    }

    /// Elements along K.
    pub fn k(&self) -> usize {
        self.order.len()
    }

    /// The model.
    pub fn model(&self) -> &'m Model {
        self.model
    }

    /// L: products in one elementary operation.
    pub fn length(&self) -> usize {
        self.length
    }

    /// The indices 0…K-1 in the order in which the operations take them.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// Format of the codes of A or B.
    pub fn code_format(&self, side: Side) -> Format {
        match side {
            Side::A => self.model.a,
            Side::B => self.model.b,
        }
    }

    /// Format in which the operations see A or B: that of the codes, or what it is widened to.
    pub fn operand_format(&self, side: Side) -> Format {
        match side {
            Side::A => self.a,
            Side::B => self.b,
        }
    }

    /// One code of A or B as the operations see it.
    pub fn element(&self, side: Side, code: u64) -> Unpacked {
        read(&self.code_format(side), &self.operand_format(side), self.model.flush_operands, code)
    }

    /// A row of A or a column of B taken apart, in the order in which the operations take it.
    ///
    /// `codes` must give K codes.
    pub fn vector(&self, side: Side, codes: impl Iterator<Item = u64>) -> Vec<Unpacked> {
        let (format, wide) = match side {
            Side::A => (&self.model.a, &self.a),
            Side::B => (&self.model.b, &self.b),
        };
        let flush = self.model.flush_operands;
        let values: Vec<Unpacked> = codes.map(|code| read(format, wide, flush, code)).collect();
        match self.model.lowering.order {
            Order::Sequential => values,
            _ => self.order.iter().map(|&index| values[index]).collect(),
        }
    }

    /// Scale factors taken apart.
    pub fn scales(&self, codes: impl Iterator<Item = u64>) -> Vec<Unpacked> {
        match &self.model.scale {
            Some(scale) => codes.map(|code| decode(&scale.format, code)).collect(),
            None => Vec::new(),
        }
    }

    /// Whether `given` is the number of scale factors one dot product takes.
    pub fn check_scales(&self, operand: &'static str, given: usize) -> Result<(), ModelError> {
        let k = self.k();
        match self.model.scale {
            None if given > 0 => {
                Err(ModelError::NotScaled { operand, given, model: self.model.operation.name() })
            }
            Some(scale) if given != k / scale.size => {
                Err(ModelError::Scales { operand, given, expected: k / scale.size, k, block: scale.size })
            }
            _ => Ok(()),
        }
    }

    /// The code of D: `a` and `b` from [`Prepared::vector`], scales from [`Prepared::scales`], `c` a code
    /// of C's format.
    pub fn dot<T: Trace>(
        &self,
        a: &[Unpacked],
        b: &[Unpacked],
        c: u64,
        scale_a: &[Unpacked],
        scale_b: &[Unpacked],
        trace: &mut T,
    ) -> u64 {
        let model = self.model;
        let c_wide = model.lowering.widen_accumulator.unwrap_or(model.c);
        let value = read(&model.c, &c_wide, model.flush_accumulator, c);
        let c_operand = Operand { value, fraction_bits: c_wide.fraction_bits as i32 };
        self.dot_from(a, b, (c, &c_operand, model.c), scale_a, scale_b, trace)
    }

    /// As [`Prepared::dot`] for a dot product that goes on where another of the same model ended: `d` is
    /// that one's answer. Where C has another format than D, `d` is first converted to it if that is
    /// exact, and is read in D's own format if it is not.
    pub fn dot_on<T: Trace>(
        &self,
        a: &[Unpacked],
        b: &[Unpacked],
        d: u64,
        scale_a: &[Unpacked],
        scale_b: &[Unpacked],
        trace: &mut T,
    ) -> u64 {
        let (c, d_format) = (&self.model.c, &self.model.d);
        if c == d_format {
            return self.dot(a, b, d, scale_a, scale_b, trace);
        }
        let wide = if holds_all(c, d_format) { c } else { d_format };
        let value = decode(d_format, d);
        let value = if wide == d_format { value } else { widen(d_format, wide, value) };
        let operand = Operand { value, fraction_bits: wide.fraction_bits as i32 };
        self.dot_from(a, b, (d, &operand, *d_format), scale_a, scale_b, trace)
    }

    fn dot_from<T: Trace>(
        &self,
        a: &[Unpacked],
        b: &[Unpacked],
        (c, c_operand, c_format): (u64, &Operand, Format),
        scale_a: &[Unpacked],
        scale_b: &[Unpacked],
        trace: &mut T,
    ) -> u64 {
        let model = self.model;
        let chained = model.chained_format();
        let zero = Operand::new(&chained, 0);

        let count = model.lowering.chains.map_or(1, |chains| chains.count);
        let part = self.k() / count;
        // what the chains so far have summed up to, and its format
        let (mut d, mut d_format) = (0, chained);
        for chain in 0..count {
            let from_c = chain == 0 && model.lowering.add_accumulator_last.is_none();
            let start = if from_c { (c, c_operand, c_format) } else { (0, &zero, chained) };
            let result = self.chain(a, b, chain * part..(chain + 1) * part, start, (scale_a, scale_b), trace);
            (d, d_format) = match model.lowering.chains {
                Some(Chains { merge, .. }) if chain > 0 => {
                    let sum = traced_add("add chains", (d, d_format), (result, chained), merge, trace);
                    (sum, merge.container())
                }
                _ => (result, chained),
            };
        }

        if let Some(conversion) = model.lowering.add_accumulator_last {
            let sum = add(&Operand::new(&d_format, d), c_operand, conversion);
            if T::ON {
                // C as it is read: a flushed one is a zero
                let zero = if c_operand.value.negative { c_format.sign_bit() } else { 0 };
                let c = if c_operand.value.class == Class::Zero { zero } else { c };
                trace.step(Step::Binary {
                    operation: "add C",
                    left: d,
                    left_format: d_format,
                    right: c,
                    right_format: c_format,
                    result: sum,
                    format: conversion.container(),
                });
            }
            (d, d_format) = (sum, conversion.container());
        }
        if let Some(conversion) = model.lowering.narrow_output {
            let narrow = change_format(&d_format, d, conversion);
            if T::ON {
                let (from, from_format, to, to_format) = (d, d_format, narrow, model.d);
                trace.step(Step::Changed { what: "D", from, from_format, to, to_format });
            }
            d = narrow;
        }
        if decode(&model.d, d).class == Class::Nan { model.emitted_nan() } else { d }
    }

    /// The elements at `range` of the order, operation by operation, from an accumulator: its code, what it is, the
    /// code's format.
    fn chain<T: Trace>(
        &self,
        a: &[Unpacked],
        b: &[Unpacked],
        range: Range<usize>,
        (c, c_operand, c_format): (u64, &Operand, Format),
        (scale_a, scale_b): (&[Unpacked], &[Unpacked]),
        trace: &mut T,
    ) -> u64 {
        let model = self.model;
        let chained = model.chained_format();
        let mut accumulator = *c_operand;
        let (mut d, mut d_format) = (c, c_format);
        let length = self.length;
        for first in range.step_by(length) {
            let range = first..first + length;
            let indices = &self.order[range.clone()];
            if T::ON {
                trace.step(Step::Begin {
                    operation: model.operation.name(),
                    elements: indices.to_vec(),
                    accumulator: d,
                    format: d_format,
                });
            }
            let vectors = Vectors {
                a: &a[range.clone()],
                b: &b[range],
                indices,
                scale_a,
                scale_b,
                block: model.scale.map_or(1, |scale| scale.size),
                product_fraction_bits: (self.a.fraction_bits + self.b.fraction_bits) as i32,
                c: accumulator.value,
                c_fraction_bits: accumulator.fraction_bits,
            };
            (d, d_format) = (self.elementary(&vectors, trace), chained);
            accumulator = Operand::new(&chained, d);
        }
        d
    }

    /// One elementary operation in the middle of a chain: L elements of each factor, the accumulator `c` a
    /// code of [`Model::chained_format`], one scale factor for each element (or none).
    pub fn operation(
        &self,
        a: &[Unpacked],
        b: &[Unpacked],
        c: u64,
        scale_a: &[Unpacked],
        scale_b: &[Unpacked],
    ) -> u64 {
        let chained = self.model.chained_format();
        let indices: Vec<usize> = (0..a.len()).collect();
        let vectors = Vectors {
            a,
            b,
            indices: &indices,
            scale_a,
            scale_b,
            block: 1,
            product_fraction_bits: (self.a.fraction_bits + self.b.fraction_bits) as i32,
            c: decode(&chained, c),
            c_fraction_bits: chained.fraction_bits as i32,
        };
        self.elementary(&vectors, &mut ())
    }

    /// One elementary operation; its result has the chained format.
    fn elementary<T: Trace>(&self, vectors: &Vectors<'_>, trace: &mut T) -> u64 {
        let conversion = self.model.conversion;
        match &self.model.operation {
            Operation::FtzAddMul { .. } => {
                // C is FP32 already: it was read into the chained format
                let c = Operand { value: vectors.c, fraction_bits: vectors.c_fraction_bits };
                let c = crate::ftz::code_of(&self.model.chained_format(), &c.value);
                add_mul(vectors.a, vectors.b, (&self.a, &self.b), c, conversion, trace)
            }
            Operation::Fma => {
                let operand = |format: &Format, value: Unpacked| Operand {
                    value,
                    fraction_bits: format.fraction_bits as i32,
                };
                let c = Operand { value: vectors.c, fraction_bits: vectors.c_fraction_bits };
                let (a, b) = (operand(&self.a, vectors.a[0]), operand(&self.b, vectors.b[0]));
                fma(&a, &b, &c, vectors.indices[0], conversion, trace)
            }
            Operation::FtzFma { .. } => {
                let c = Operand { value: vectors.c, fraction_bits: vectors.c_fraction_bits };
                ftz_fma(vectors, (&self.a, &self.b), &c, conversion, trace)
            }
            Operation::EFdpa { .. } => e_fdpa(conversion, vectors, trace),
            Operation::TFdpa(sum) | Operation::StFdpa(sum) => t_fdpa(sum, conversion, vectors, trace),
            Operation::GstFdpa { sum, group } => {
                let scale_bits = self.model.scale.map_or(0, |scale| scale.format.fraction_bits);
                gst_fdpa(sum, *group, scale_bits as i32, conversion, vectors, trace)
            }
            Operation::TrFdpa(sum) => rounded_fdpa(sum, Grouping::One, conversion, vectors, trace),
            Operation::GtrFdpa(sum) => rounded_fdpa(sum, Grouping::EvenOdd, conversion, vectors, trace),
        }
    }
}

/// The sum of two results, reported.
fn traced_add<T: Trace>(
    operation: &'static str,
    (left, left_format): (u64, Format),
    (right, right_format): (u64, Format),
    conversion: Conversion,
    trace: &mut T,
) -> u64 {
    let result = add(&Operand::new(&left_format, left), &Operand::new(&right_format, right), conversion);
    if T::ON {
        let format = conversion.container();
        trace.step(Step::Binary { operation, left, left_format, right, right_format, result, format });
    }
    result
}

/// A code as the operations read it: flushed if the model says so, then widened.
fn read(format: &Format, wide: &Format, flush: InputFlush, code: u64) -> Unpacked {
    let mut value = decode(format, code);
    if flush.is_on() && value.exponent == format.min_exponent() {
        let implicit = 1 << format.fraction_bits;
        if value.is_finite() && value.significand < implicit {
            let negative = flush == InputFlush::Signed && value.negative;
            value = Unpacked { class: Class::Zero, negative, significand: 0, ..value };
        }
    }
    if format == wide { value } else { widen(format, wide, value) }
}

/// The same number in a format that holds every number of the first.
fn widen(from: &Format, to: &Format, value: Unpacked) -> Unpacked {
    match value.class {
        Class::Nan | Class::Infinity => value,
        Class::Zero => Unpacked { exponent: to.min_exponent(), ..value },
        Class::Finite => {
            let real = Real {
                negative: value.negative,
                significand: u128::from(value.significand),
                exponent: value.exponent - from.fraction_bits as i32,
                inexact: false,
            };
            decode(to, encode(to, real, bitmma_formats::Rounding::TowardZero, Overflow::Saturate))
        }
    }
}

fn check_codes(operand: &'static str, format: &Format, codes: &[u64]) -> Result<(), ModelError> {
    match codes.iter().position(|&code| code > format.max_code()) {
        None => Ok(()),
        Some(index) => Err(ModelError::Code {
            operand,
            index,
            code: codes[index],
            format: format.name,
            bits: format.bits(),
        }),
    }
}
