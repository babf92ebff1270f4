//! A model at work: operands prepared once, elementary operations chained along K (paper, Algorithms 2,
//! 3 and 10).

use std::borrow::Cow;
use std::ops::Range;

use bitmma_formats::{Class, Format, Overflow, Rounding, Unpacked, decode, encode};

use crate::error::ModelError;
use crate::fdpa::operate;
use crate::fma::{add, change_format};
use crate::lowering::{Chains, Order};
use crate::model::{InputFlush, Model};
use crate::operand::{Operand, Vectors};
use crate::steps::report_binary;
use crate::trace::{Step, Trace};
use crate::validate::holds_all;

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

/// Which of the two factors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// A row of A.
    A,
    /// A column of B.
    B,
}

/// A model prepared for dot products of one K.
#[derive(Clone, Debug)]
pub struct Prepared<'m> {
    model: Cow<'m, Model>,
    length: usize,
    order: Vec<usize>,
    a: Format,
    b: Format,
}

impl<'m> Prepared<'m> {
    /// Checks the model and K.
    pub fn new(model: &'m Model, k: usize) -> Result<Self, ModelError> {
        Prepared::of(Cow::Borrowed(model), k)
    }

    /// As [`Prepared::new`], of a model that it keeps.
    pub fn owned(model: Model, k: usize) -> Result<Prepared<'static>, ModelError> {
        Prepared::of(Cow::Owned(model), k)
    }

    fn of(kept: Cow<'m, Model>, k: usize) -> Result<Self, ModelError> {
        let model = &*kept;
        model.validate()?;
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
        let (a, b) = (widened(model.a), widened(model.b));
        Ok(Prepared { model: kept, length, order, a, b })
    }

    /// Elements along K.
    pub fn k(&self) -> usize {
        self.order.len()
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
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

    /// The zero that a code of A or B is used as, where it is flushed: by the model, or by the operation itself.
    pub(crate) fn flushed(&self, side: Side, code: u64) -> Option<u64> {
        let (format, wide) = (self.code_format(side), self.operand_format(side));
        self.flushed_to(&format, &wide, self.element(side, code), code, true)
    }

    /// The same of a code of C.
    pub(crate) fn flushed_accumulator(&self, code: u64) -> Option<u64> {
        let Model { c: format, lowering, flush_accumulator, .. } = &*self.model;
        let wide = lowering.widen_accumulator.unwrap_or(*format);
        let enters = lowering.add_accumulator_last.is_none();
        self.flushed_to(format, &wide, read(format, &wide, *flush_accumulator, code), code, enters)
    }

    fn flushed_to(
        &self,
        format: &Format,
        wide: &Format,
        value: Unpacked,
        code: u64,
        enters: bool,
    ) -> Option<u64> {
        let operand = Operand { value, fraction_bits: wide.fraction_bits as i32 };
        let used = if enters && self.model.operation.flushes() { operand.flushed() } else { operand };
        let given = decode(format, code);
        let is_zero = used.value.class == Class::Zero;
        let changed = given.class != Class::Zero || given.negative != used.value.negative;
        (is_zero && changed).then_some(if used.value.negative { format.sign_bit() } else { 0 })
    }

    /// A row of A or a column of B unpacked, in the order in which the operations take it.
    ///
    /// `codes` must give K codes.
    pub fn vector(&self, side: Side, codes: impl Iterator<Item = u64>) -> Vec<Unpacked> {
        let (format, wide) = (&self.code_format(side), &self.operand_format(side));
        let flush = self.model.flush_operands;
        // compared once, not for each element
        let values: Vec<Unpacked> = match format == wide && !flush.is_on() {
            true => codes.map(|code| decode(format, code)).collect(),
            false => codes.map(|code| read(format, wide, flush, code)).collect(),
        };
        match self.model.lowering.order {
            Order::Sequential => values,
            _ => self.order.iter().map(|&index| values[index]).collect(),
        }
    }

    /// Scale factors unpacked.
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

    /// Whether there are K codes of A and of B, as many scale factors as they take, and none has bits that its format does
    /// not have.
    pub fn check(&self, operands: &Operands<'_>) -> Result<(), ModelError> {
        let Operands { a, b, c, scale_a, scale_b } = *operands;
        let (model, multiple) = (&*self.model, self.k());
        if let Some(k) = [a.len(), b.len()].into_iter().find(|&k| k != multiple) {
            return Err(ModelError::Length { k, model: model.operation.name(), multiple });
        }
        self.check_scales("A", scale_a.len())?;
        self.check_scales("B", scale_b.len())?;
        check_codes("A", &model.a, a)?;
        check_codes("B", &model.b, b)?;
        check_codes("C", &model.c, &[c])?;
        if let Some(scale) = &model.scale {
            check_codes("scale A", &scale.format, scale_a)?;
            check_codes("scale B", &scale.format, scale_b)?;
        }
        Ok(())
    }

    /// The code of D: `a` and `b` from [`Prepared::vector`], scales from [`Prepared::scales`], `c` a code of C's
    /// format, or where the sum starts from otherwise.
    pub fn dot<T: Trace>(
        &self,
        a: &[Unpacked],
        b: &[Unpacked],
        c: impl Into<Start>,
        scale_a: &[Unpacked],
        scale_b: &[Unpacked],
        trace: &mut T,
    ) -> u64 {
        let model = &*self.model;
        let chained = model.conversion.container();
        let zero = Accumulator::of(&chained, 0);
        let c = self.accumulator(c.into());

        let count = model.lowering.chains.map_or(1, |chains| chains.count);
        let part = self.k() / count;
        // what the chains so far have summed up to, and its format
        let (mut d, mut d_format) = (0, chained);
        for chain in 0..count {
            let from_c = chain == 0 && model.lowering.add_accumulator_last.is_none();
            let start = if from_c { c } else { zero };
            let result = self.chain(a, b, chain * part..(chain + 1) * part, start, (scale_a, scale_b), trace);
            (d, d_format) = match model.lowering.chains {
                Some(Chains { merge, .. }) if chain > 0 => {
                    let operand = |(code, format)| Operand::new(&format, code);
                    let (left, right) = ((d, d_format), (result, chained));
                    let sum = (add(&operand(left), &operand(right), merge), merge.container());
                    report_binary("add chains", left, right, sum, trace);
                    sum
                }
                _ => (result, chained),
            };
        }

        if let Some(conversion) = model.lowering.add_accumulator_last {
            let sum = add(&Operand::new(&d_format, d), &c.operand, conversion);
            let (left, result) = ((d, d_format), (sum, conversion.container()));
            report_binary("add C", left, (c.as_read(), *c.format), result, trace);
            (d, d_format) = result;
        }
        if let Some(conversion) = model.lowering.narrow_output {
            let narrow = change_format(&d_format, d, conversion);
            if T::ON {
                let (from, from_format, to, to_format) = (d, d_format, narrow, model.d);
                trace.step(Step::Changed { what: "D", from, from_format, to, to_format });
            }
            d = narrow;
        }
        match model.emitted_nan() {
            Some(nan) if model.d.is_nan(d) => nan,
            _ => d,
        }
    }

    /// What a dot product starts from, as the operations see it.
    #[inline]
    fn accumulator(&self, start: Start) -> Accumulator<'_> {
        let Model { c: c_format, d: d_format, lowering, flush_accumulator, .. } = &*self.model;
        match start {
            Start::D(d) if c_format != d_format => {
                let wide = if holds_all(c_format, d_format) { c_format } else { d_format };
                let value = decode(d_format, d);
                let value = if wide == d_format { value } else { widen(d_format, wide, value) };
                let operand = Operand { value, fraction_bits: wide.fraction_bits as i32 };
                Accumulator { code: d, format: d_format, operand }
            }
            Start::C(c) | Start::D(c) => {
                let wide = lowering.widen_accumulator.unwrap_or(*c_format);
                let value = read(c_format, &wide, *flush_accumulator, c);
                let operand = Operand { value, fraction_bits: wide.fraction_bits as i32 };
                Accumulator { code: c, format: c_format, operand }
            }
        }
    }

    /// The elements at `range` of the order, operation by operation (paper, Algorithms 2, 3 and 10).
    fn chain<T: Trace>(
        &self,
        a: &[Unpacked],
        b: &[Unpacked],
        range: Range<usize>,
        start: Accumulator<'_>,
        (scale_a, scale_b): (&[Unpacked], &[Unpacked]),
        trace: &mut T,
    ) -> u64 {
        let model = &*self.model;
        let chained = model.conversion.container();
        let block = model.scale.map_or(1, |scale| scale.size);
        let mut d = start;
        for first in range.step_by(self.length) {
            let range = first..first + self.length;
            let indices = &self.order[range.clone()];
            if T::ON {
                trace.step(Step::Begin {
                    operation: model.operation.name(),
                    elements: indices.to_vec(),
                    accumulator: d.code,
                    format: *d.format,
                });
            }
            let (a, b) = (&a[range.clone()], &b[range]);
            let vectors = self.vectors(a, b, indices, (scale_a, scale_b), block, d.operand);
            d = Accumulator::of(&chained, operate(&model.operation, model.conversion, &vectors, trace));
        }
        d.code
    }

    #[inline]
    fn vectors<'v>(
        &'v self,
        a: &'v [Unpacked],
        b: &'v [Unpacked],
        indices: &'v [usize],
        (scale_a, scale_b): (&'v [Unpacked], &'v [Unpacked]),
        block: usize,
        c: Operand,
    ) -> Vectors<'v> {
        Vectors {
            a,
            b,
            formats: [&self.a, &self.b],
            indices,
            scale_a,
            scale_b,
            block,
            scale_fraction_bits: self.model.scale.map_or(0, |scale| scale.format.fraction_bits as i32),
            product_fraction_bits: (self.a.fraction_bits + self.b.fraction_bits) as i32,
            c,
        }
    }

    /// One elementary operation in the middle of a chain: L elements of each factor, the accumulator `c` a
    /// code of rho's container, one scale factor for each element (or none).
    pub fn operation(
        &self,
        a: &[Unpacked],
        b: &[Unpacked],
        c: u64,
        scale_a: &[Unpacked],
        scale_b: &[Unpacked],
    ) -> u64 {
        let Model { operation, conversion, .. } = &*self.model;
        let indices: Vec<usize> = (0..a.len()).collect();
        let c = Operand::new(&conversion.container(), c);
        operate(operation, *conversion, &self.vectors(a, b, &indices, (scale_a, scale_b), 1, c), &mut ())
    }
}

/// What a dot product starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// An element of C: a code of C's format.
    C(u64),
    /// The result of the dot product before, of the same model: a code of D's format. Where C has another format than
    /// D, it is first converted to C's if that is exact, and is read in D's own format if it is not.
    D(u64),
}

impl From<u64> for Start {
    fn from(c: u64) -> Start {
        Start::C(c)
    }
}

/// An accumulator before an operation.
#[derive(Clone, Copy)]
struct Accumulator<'f> {
    /// Its code before it was flushed or widened.
    code: u64,
    /// The code's format.
    format: &'f Format,
    /// The number that the operation sees.
    operand: Operand,
}

impl<'f> Accumulator<'f> {
    #[inline]
    fn of(format: &'f Format, code: u64) -> Accumulator<'f> {
        Accumulator { code, format, operand: Operand::new(format, code) }
    }

    /// The code of the number that the operation sees: that of zero where it was flushed.
    fn as_read(&self) -> u64 {
        match self.operand.value {
            Unpacked { class: Class::Zero, negative: true, .. } => self.format.sign_bit(),
            Unpacked { class: Class::Zero, .. } => 0,
            _ => self.code,
        }
    }
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
        Class::Finite => decode(to, encode(to, value.real(from), Rounding::TowardZero, Overflow::Saturate)),
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
