//! How large an error can be: before the data is known, and for given data along the whole of K.
//!
//! A posteriori bounds of one dot product come out of its [`account`](crate::account): they take the
//! exponents that occurred. Here they are chained over a GEMM, and bounded before anything has run, from
//! the largest magnitudes alone.

use bitmma_engine::arithmetic::{
    Chains, Conversion, FusedSum, Lowering, Model, Operation, Prepared, ResultFlush,
};
use bitmma_engine::formats::{F32, Format};
use bitmma_engine::gemm::Target;
use bitmma_engine::threads::prelude::*;
use bitmma_engine::{Case, GemmOptions, Matrix, Operands};

use crate::account::{Account, Start, account_prepared, unit};
use crate::dyadic::Dyadic;
use crate::error::{Error, check_rounds, option};
use crate::error_source::Source;

/// The largest magnitudes that go in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Magnitudes {
    /// Of the elements of A, scale factors included.
    pub a: Dyadic,
    /// Of the elements of B, scale factors included.
    pub b: Dyadic,
    /// Of C.
    pub c: Dyadic,
}

impl Magnitudes {
    /// Of these matrices; `None` if something is not finite.
    pub fn of(a: &Matrix, b: &Matrix, c: Option<&Matrix>) -> Option<Magnitudes> {
        let c = c.map_or(Some(Dyadic::ZERO), largest);
        Some(Magnitudes { a: largest(a)?, b: largest(b)?, c: c? })
    }

    /// The same with scale factors.
    pub fn scaled(self, scale_a: &Matrix, scale_b: &Matrix) -> Option<Magnitudes> {
        Some(Magnitudes { a: &self.a * &largest(scale_a)?, b: &self.b * &largest(scale_b)?, c: self.c })
    }
}

/// The largest magnitude; `None` if a code is not finite.
pub fn largest(matrix: &Matrix) -> Option<Dyadic> {
    let format = matrix.format();
    matrix
        .iter()
        .try_fold(Dyadic::ZERO, |most, code| Some(Dyadic::of_code(&format, code)?.magnitude().max(most)))
}

/// Bounds by source, none of them dependent on a result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bound {
    /// One for each of [`Source::ALL`], in its order.
    pub by_source: [Dyadic; Source::ALL.len()],
    /// The largest magnitude D can have.
    pub magnitude: Dyadic,
}

impl Bound {
    /// The sum over all sources.
    pub fn total(&self) -> Dyadic {
        self.by_source.iter().fold(Dyadic::ZERO, |sum, bound| &sum + bound)
    }

    fn add(&mut self, source: Source, bound: &Dyadic) {
        self.by_source[source as usize] += bound;
        self.magnitude += bound;
    }

    /// A rounding of anything up to the magnitude; whether it stays finite.
    fn round(&mut self, source: Source, conversion: Conversion) -> bool {
        let Conversion { rounding, format, flush, .. } = conversion;
        if flush != ResultFlush::Never {
            self.add(Source::OutputFlush, &Dyadic::power(format.min_exponent().into()));
        }
        let exponent = exponent(&format, &self.magnitude);
        self.add(source, &unit(rounding, exponent - i64::from(format.fraction_bits)));
        self.magnitude.floor_log2().unwrap_or(i64::MIN) <= i64::from(format.max_exponent())
    }
}

/// Exp of the largest number up to `magnitude`: not below the format's smallest.
fn exponent(format: &Format, magnitude: &Dyadic) -> i64 {
    magnitude.floor_log2().unwrap_or(i64::MIN).max(format.min_exponent().into())
}

/// What A·B + C can lose at most for elements up to these magnitudes, `k` of them along K, `step` at a
/// time; `None` where it may overflow, and of integers, whose sums are exact.
pub fn a_priori(model: &Model, step: usize, k: usize, magnitudes: &Magnitudes) -> Option<Bound> {
    if model.is_integer() {
        return None;
    }
    let mut bound = Bound { magnitude: magnitudes.c.clone(), ..Bound::default() };
    flushed(model, magnitudes, k, &mut bound);
    for _ in 0..k.div_ceil(step.max(1)) {
        instruction(model, step, magnitudes, &mut bound)?;
    }
    Some(bound)
}

/// Every product with a subnormal factor lost, and C, where they are flushed.
fn flushed(model: &Model, magnitudes: &Magnitudes, k: usize, bound: &mut Bound) {
    let by_itself = model.operation.flushes();
    let products = if model.flush_operands.is_on() || by_itself { k } else { 0 };
    let of_c = model.flush_accumulator.is_on() || by_itself;
    let smallest = |format: &Format| Dyadic::power(format.min_exponent().into());
    let of_a = smallest(&model.a).min(magnitudes.a.clone());
    let of_b = smallest(&model.b).min(magnitudes.b.clone());
    let product = (&of_a * &magnitudes.b).max(&magnitudes.a * &of_b);
    let mut lost = product.times(products);
    if of_c {
        lost += &smallest(&model.c);
    }
    bound.by_source[Source::InputFlush as usize] += &lost;
}

/// One instruction more, its accumulator up to the magnitude so far.
fn instruction(model: &Model, step: usize, magnitudes: &Magnitudes, bound: &mut Bound) -> Option<()> {
    let length = model.length(step).max(1);
    let Lowering { chains, add_accumulator_last: last, narrow_output, .. } = model.lowering;
    let outside = last.map(|_| std::mem::take(&mut bound.magnitude));
    let count = chains.map_or(1, |chains| chains.count);
    for chain in 0..count {
        // what the chains before it have summed up to
        let before = (chain > 0).then(|| std::mem::take(&mut bound.magnitude));
        for _ in 0..step / count / length {
            operation(model, length, magnitudes, bound)?;
        }
        if let (Some(before), Some(Chains { merge, .. })) = (before, chains) {
            bound.magnitude += &before;
            bound.round(Source::Lowering, merge).then_some(())?;
        }
    }
    if let (Some(conversion), Some(outside)) = (last, outside) {
        bound.magnitude += &outside;
        bound.round(Source::Lowering, conversion).then_some(())?;
    }
    if let Some(conversion) = narrow_output {
        bound.round(Source::Lowering, conversion).then_some(())?;
    }
    Some(())
}

/// One elementary operation more.
fn operation(model: &Model, length: usize, magnitudes: &Magnitudes, bound: &mut Bound) -> Option<()> {
    let product = &magnitudes.a * &magnitudes.b;
    let widened = |format| model.lowering.widen_operands.unwrap_or(format);
    let exponents = |x: &Dyadic, y: &Dyadic| exponent(&widened(model.a), x) + exponent(&widened(model.b), y);
    let of_product = exponents(&magnitudes.a, &magnitudes.b) + scale_slack(model);
    // chained results have another format than C; the wider of the two reaches lower
    let of_accumulator =
        exponent(&model.conversion.container(), &bound.magnitude).max(exponent(&model.c, &bound.magnitude));
    let rho = model.conversion;
    let sum = &bound.magnitude + &product.times(length);
    match model.operation {
        Operation::FtzAddMul { pairing } => {
            let smallest = Dyadic::power(rho.container().min_exponent().into());
            let mut level = Bound { magnitude: product, ..Bound::default() };
            let mut count = pairing;
            // P products, P/2 sums of two, …, one sum of all, then the accumulator
            loop {
                let before = level.magnitude.clone();
                level.round(Source::AddMul, rho).then_some(())?;
                let rounding = &level.magnitude - &before;
                bound.by_source[Source::AddMul as usize] += &rounding.times(count);
                bound.by_source[Source::OutputFlush as usize] += &smallest.times(count);
                if count == 1 {
                    break;
                }
                count /= 2;
                level.magnitude = level.magnitude.times(2);
            }
            bound.magnitude += &level.magnitude;
            bound.add(Source::OutputFlush, &smallest);
            return bound.round(Source::AddMul, rho).then_some(());
        }
        Operation::FtzFma { .. } => {
            let smallest = Dyadic::power(rho.container().min_exponent().into());
            for _ in 0..length {
                bound.magnitude += &product;
                bound.add(Source::OutputFlush, &smallest);
                bound.round(Source::OutputRounding, rho).then_some(())?;
            }
            return Some(());
        }
        Operation::Fma | Operation::EFdpa { .. } => bound.magnitude = sum,
        Operation::DotAdd { .. } => {
            let mut dot = Bound { magnitude: product.times(length), ..Bound::default() };
            dot.round(Source::OutputRounding, rho).then_some(())?;
            for (bound, of_dot) in bound.by_source.iter_mut().zip(&dot.by_source) {
                *bound += of_dot;
            }
            bound.magnitude += &dot.magnitude;
        }
        Operation::TFdpa(fused) | Operation::StFdpa(fused) => {
            let largest = of_product.max(of_accumulator).max(floor(fused.zero_exponent));
            bound.magnitude = sum;
            cut(&fused, largest, length, bound);
        }
        Operation::GstFdpa { sum: fused, group } => {
            let largest = of_product.max(of_accumulator).max(floor(fused.zero_exponent));
            bound.magnitude = sum;
            cut(&fused, largest, length / group, bound);
        }
        Operation::TrFdpa(rounded) | Operation::GtrFdpa(rounded) => {
            let largest = of_product.max(of_accumulator).max(floor(rounded.zero_accumulator_exponent));
            let bits = i64::from(rounded.fraction_bits);
            let sum_bits = i64::from(rounded.sum_fraction_bits);
            bound.magnitude = sum;
            bound.add(Source::FusedSum, &unit(rounded.term_rounding, of_product - bits).times(length));
            if matches!(model.operation, Operation::GtrFdpa(_)) {
                bound.add(Source::FusedSum, &unit(rounded.sum_rounding, of_product - bits).times(2));
            }
            bound.add(Source::FusedSum, &unit(rounded.sum_rounding, largest - bits));
            bound.add(Source::FusedSum, &unit(rounded.sum_rounding, largest - sum_bits));
            if rounded.renormalize {
                let own = exponent(&rho.format, &bound.magnitude);
                bound.add(Source::FusedSum, &unit(rounded.sum_rounding, own - sum_bits));
            }
        }
    }
    bound.round(Source::OutputRounding, rho).then_some(())
}

/// `terms` terms and the accumulator cut below 2^`largest`.
fn cut(sum: &FusedSum, largest: i64, terms: usize, bound: &mut Bound) {
    let one = |bits: u32| unit(sum.term_rounding, largest - i64::from(bits));
    bound.add(Source::FusedSum, &one(sum.fraction_bits).times(terms));
    bound.add(Source::FusedSum, &one(sum.accumulator_bits()));
}

/// By how much the exponents of a product's operands and scale factors can exceed that of its value: a
/// subnormal number has the exponent of a normal one, and a group (GST-FDPA) that of its scale factors.
fn scale_slack(model: &Model) -> i64 {
    let Some(scale) = model.scale else { return 0 };
    let of_element = |format: &Format| match model.operation {
        Operation::GstFdpa { .. } => i64::from(format.fraction_bits) - i64::from(format.min_exponent()),
        _ => i64::from(format.fraction_bits),
    };
    of_element(&model.a) + of_element(&model.b) + 2 * i64::from(scale.format.fraction_bits)
}

fn floor(zero_exponent: Option<i32>) -> i64 {
    zero_exponent.map_or(i64::MIN, i64::from)
}

/// What one element of a GEMM lost, and could have lost given the exponents that occurred.
#[derive(Clone, Debug)]
pub struct Chain {
    /// One account for each instruction along K.
    pub accounts: Vec<Account>,
    /// What the sums outside the instructions could have lost: those of promoted results.
    pub outside: Dyadic,
    /// D as the chain ends: a code of the instruction's D, of W where results are promoted.
    pub value: Option<Dyadic>,
    /// A·B + C.
    pub exact: Option<Dyadic>,
}

impl Chain {
    /// The bound of the whole chain; `None` where something was not finite.
    pub fn bound(&self) -> Option<Dyadic> {
        self.accounts.iter().try_fold(self.outside.clone(), |sum, account| Some(&sum + &account.bound()?))
    }

    /// The error of the whole chain.
    pub fn error(&self) -> Option<Dyadic> {
        Some(self.value.as_ref()? - self.exact.as_ref()?)
    }
}

/// The account of one element of D = A·B + C as [`bitmma_engine::gemm()`] makes it, with `promote_every` of its
/// options at most: K is padded with zeros to whole instructions.
pub fn chain(target: &Target, case: &Case, options: &GemmOptions<'_>) -> Result<Chain, Error> {
    if options.split_k.is_some_and(|parts| parts > 1) || options.alpha.is_some() || options.beta.is_some() {
        return Err(option("GEMM options", "split_k, alpha or beta", "a chain is bounded without them"));
    }
    let (model, step) = (target.model(), target.step());
    check_rounds(model, "bounds")?;
    if target.working_format() != F32 && options.promote_every.is_some() {
        return Err(option("promote_every", "given", "promoted sums are bounded in FP32"));
    }
    let prepared = Prepared::new(model, step)?;
    let mut accounts = Vec::new();
    let mut exact = Dyadic::of_code(&model.c, case.c);
    let mut outside = Dyadic::ZERO;
    // the FP32 sum of promoted results
    let mut sum = Dyadic::of_code(&model.c, case.c);
    let mut previous = None;
    for (index, first) in (0..case.a.len()).step_by(step).enumerate() {
        let fresh = options.promote_every.is_some_and(|every| first.is_multiple_of(every));
        let (c, start) = match previous {
            _ if fresh => (0, Start::C),
            None => (case.c, Start::C),
            Some(d) => (d, Start::D),
        };
        let part = part(model, case, first, step, c);
        let account = account_prepared(&prepared, &part, start, false);
        let end = (first + step).min(case.a.len());
        for k in first..end {
            exact = exact
                .zip(crate::account::exact_product(model, case, k))
                .map(|(sum, product)| &sum + &product);
        }
        previous = Some(account.d);
        if let Some(every) = options.promote_every
            && (((index + 1) * step).is_multiple_of(every) || end == case.a.len())
        {
            let total = sum.zip(account.value.clone()).map(|(sum, value)| &sum + &value);
            sum = total.map(|total| nearest(&F32, &total, &mut outside));
        }
        accounts.push(account);
    }
    let value = match options.promote_every {
        Some(_) => sum,
        None => accounts.last().map_or(exact.clone(), |account| account.value.clone()),
    };
    Ok(Chain { accounts, outside, value, exact })
}

/// What each element of a GEMM lost, and could have lost: error and bound, row by row, rounded to FP64;
/// NaN where something was not finite. One product, scale factors among the operands.
pub fn elements(
    target: &Target,
    operands: &Operands<'_>,
    options: &GemmOptions<'_>,
) -> Result<Vec<(f64, f64)>, Error> {
    let Operands { a, b, c, scale_a, scale_b } = *operands;
    if a.blocks() != 1 {
        return Err(option("blocks", a.blocks(), "errors are bounded for one product"));
    }
    let options = GemmOptions { scale_a, scale_b, ..*options };
    // refuses what does not fit
    bitmma_engine::gemm(target, a, b, c, &options)?;
    let (rows, columns) = (a.rows(), b.columns());
    let one = |index: usize| {
        let case = operands.case(0, index / columns, index % columns);
        let chain = chain(target, &case, &options)?;
        let number = |x: Option<Dyadic>| x.map_or(f64::NAN, |x| x.to_f64());
        Ok((number(chain.error()), number(chain.bound())))
    };
    (0..rows * columns).into_par_iter().map(one).collect()
}

/// `step` elements from `first` on, padded with zeros and scale factors of one.
fn part(model: &Model, case: &Case, first: usize, step: usize, c: u64) -> Case {
    let cut = |codes: &[u64], first: usize, count: usize, padding: u64| {
        let mut taken: Vec<u64> = codes.iter().skip(first).take(count).copied().collect();
        taken.resize(count, padding);
        taken
    };
    let (size, one) = model.scale.map_or((1, 0), |scale| (scale.size, scale.format.one_code()));
    let scales = |codes: &[u64]| match model.scale {
        None => Vec::new(),
        Some(_) => cut(codes, first / size, step / size, one),
    };
    Case {
        a: cut(&case.a, first, step, 0),
        b: cut(&case.b, first, step, 0),
        c,
        scale_a: scales(&case.scale_a),
        scale_b: scales(&case.scale_b),
    }
}

/// The number of `format` nearest to `x`, half a unit of it added to `bound`.
fn nearest(format: &Format, x: &Dyadic, bound: &mut Dyadic) -> Dyadic {
    let last = exponent(format, x) - i64::from(format.fraction_bits);
    let value = x.rounded_to_even(last);
    if &value != x {
        *bound += &Dyadic::power(last - 1);
    }
    value
}
