//! What helps against a risk (paper, §"Workaround and Mitigation Method"), measured on given data.

use bitmma_engine::catalogue::{Instruction, catalogue};
use bitmma_engine::formats::{BF16, Class, F16, F32, Format, decode};
use bitmma_engine::gemm::{OutputConversion, Target};
use bitmma_engine::{Architecture, GemmOptions, Matrix, Revision};
use bitmma_verify::inputs::nearest;
use serde::Serialize;

use crate::data::{Product, converted};
use crate::dyadic::Dyadic;
use crate::error::Error;
use crate::exact::errors;
use crate::statistics::Summary;

/// A way to compute a product, and what it lost.
#[derive(Clone, Debug, Serialize)]
pub struct Attempt {
    /// In words.
    pub name: String,
    /// The instruction.
    pub instruction: String,
    /// D minus the exact product.
    pub errors: Summary,
}

/// Elements after which FP8 libraries promote.
const PROMOTE: usize = 128;

/// The product as the target computes it, and every alternative the catalogue has for it: FP32 output,
/// promotion, C = 0, FP16 instead of FP8, BF16, scaling, a newer architecture.
pub fn attempts(
    target: &Target,
    architecture: Option<Architecture>,
    product: &Product,
    revision: Revision,
) -> Result<Vec<Attempt>, Error> {
    let (a, b) = product.numbers()?;
    let mut all = Attempts { product, a: &a, b: &b, done: Vec::new() };
    let model = target.model();
    let plain = GemmOptions::default();
    all.run("as it is", target, &plain)?;
    if target.working_format() == F32 {
        let step = target.step();
        let k = product.a.columns();
        if PROMOTE.is_multiple_of(step) && PROMOTE > step && k > PROMOTE {
            let options = GemmOptions { promote_every: Some(PROMOTE), ..plain };
            all.run(&format!("promotion: moved to an FP32 sum every {PROMOTE} elements"), target, &options)?;
        }
        if k > step {
            let options = GemmOptions { promote_every: Some(step), ..plain };
            all.run("C = 0: every instruction added outside in FP32", target, &options)?;
        }
    }
    if model.flush_operands.is_on() {
        scaled_attempt(&mut all, target)?;
    }
    let Some(architecture) = architecture else { return Ok(all.done) };
    let other = |a: Format, d: Format, of: Architecture| {
        // the operands as they are, or the numbers they stand for
        let (b, scale) = if a == model.a { (model.b, model.scale) } else { (a, None) };
        let found = |row: &&Instruction| {
            row.architecture == of
                && (row.a, row.b, row.d, row.scale) == (a, b, d, scale)
                && row.is_native()
                && !row.family.is_sparse()
        };
        // the longest along K, which on one architecture are alike
        catalogue().iter().filter(found).max_by_key(|row| row.k)
    };
    let instruction = |row: &Instruction| Target::instruction(row.architecture, &row.name(), revision);
    if model.d.bits() < F32.bits()
        && let Some(row) = other(model.a, F32, architecture)
    {
        all.run("FP32 output", &instruction(row)?, &plain)?;
        let options = GemmOptions { output: Some(OutputConversion::nearest(model.d)), ..plain };
        all.run("FP32 output, converted at the end", &instruction(row)?, &options)?;
    }
    if model.a.bits() <= 8
        && let Some(row) = other(F16, F32, architecture)
    {
        all.run("FP16 instruction on the same data", &instruction(row)?, &plain)?;
    }
    if model.flush_operands.is_on()
        && model.a == F16
        && let Some(row) = other(BF16, F32, architecture)
    {
        all.run_rounded("BF16 instruction, data rounded to BF16", &instruction(row)?, BF16)?;
    }
    let newer = Architecture::ALL.into_iter().skip_while(|one| *one != architecture).skip(1);
    for newer in newer.filter(|newer| newer.vendor() == architecture.vendor()) {
        if let Some(row) = other(model.a, model.d, newer)
            && row.model_ref(revision).is_some_and(|other| {
                other.operation != model.operation || other.conversion != model.conversion
            })
        {
            all.run(&format!("the same on {newer}"), &instruction(row)?, &plain)?;
        }
    }
    Ok(all.done)
}

struct Attempts<'p> {
    product: &'p Product,
    /// The numbers that A stands for.
    a: &'p Matrix,
    /// The numbers that B stands for.
    b: &'p Matrix,
    done: Vec<Attempt>,
}

impl Attempts<'_> {
    fn push(&mut self, name: &str, target: &Target, d: &Matrix) -> Result<(), Error> {
        let errors = Summary::of(&errors(self.a, self.b, self.product.c.as_ref(), d)?);
        self.done.push(Attempt { name: name.to_owned(), instruction: target.name().to_owned(), errors });
        Ok(())
    }

    /// On the same numbers; nothing where the instruction's formats do not have them.
    fn run(&mut self, name: &str, target: &Target, options: &GemmOptions<'_>) -> Result<(), Error> {
        let (model, product) = (target.model(), self.product);
        let scales = if model.scale.is_some() { product.scales.clone() } else { None };
        let (a, b) = if scales.is_some() { (&product.a, &product.b) } else { (self.a, self.b) };
        let (Some(a), Some(b)) = (converted(a, model.a), converted(b, model.b)) else {
            return Ok(());
        };
        let c = product.c.as_ref().map(|c| converted(c, model.c));
        if c.as_ref().is_some_and(Option::is_none) {
            return Ok(());
        }
        let d = Product { a, b, c: c.flatten(), scales, about: String::new() }.gemm(target, options)?;
        self.push(name, target, &d)
    }

    /// On numbers rounded to another format first; the errors are against the numbers as given.
    fn run_rounded(&mut self, name: &str, target: &Target, format: Format) -> Result<(), Error> {
        let product = self.product;
        let rounded = |matrix: &Matrix| {
            let codes = matrix.iter().map(|code| {
                let value = Dyadic::of_code(&matrix.format(), code).unwrap_or_default();
                nearest(&format, value.to_f64())
            });
            Matrix::new(format, matrix.shape(), codes.collect::<Vec<_>>())
        };
        let (a, b) = (rounded(self.a)?, rounded(self.b)?);
        let d = bitmma_engine::gemm(target, &a, &b, product.c.as_ref(), &GemmOptions::default())?;
        self.push(name, target, &d)
    }
}

/// A and B times powers of two that lift them as far as their format allows, the result brought back by
/// alpha: exact but for what the arithmetic does.
fn scaled_attempt(all: &mut Attempts<'_>, target: &Target) -> Result<(), Error> {
    let product = all.product;
    if product.c.is_some() {
        return Ok(());
    }
    let lift = |matrix: &Matrix| {
        let format = matrix.format();
        let top = matrix.iter().filter_map(|code| {
            let unpacked = decode(&format, code);
            (unpacked.class == Class::Finite).then_some(())?;
            Dyadic::of_code(&format, code)?.floor_log2()
        });
        // a quarter of the range is left for sums
        let by = i64::from(format.max_exponent()) / 2 - top.max()?;
        let codes: Option<Vec<u64>> = matrix.iter().map(|code| shifted(&format, code, by)).collect();
        Some((Matrix::new(format, matrix.shape(), codes?).ok()?, by))
    };
    let (Some((a, by_a)), Some((b, by_b))) = (lift(&product.a), lift(&product.b)) else { return Ok(()) };
    let working = target.working_format();
    let down = i64::from(working.bias) - by_a - by_b;
    if down <= 0 || down >= 2 * i64::from(working.bias) {
        return Ok(());
    }
    let alpha = (down as u64) << working.fraction_bits;
    let options = GemmOptions { alpha: Some(alpha), ..GemmOptions::default() };
    let d = bitmma_engine::gemm(target, &a, &b, None, &options)?;
    let name = format!("scaling: A by 2^{by_a}, B by 2^{by_b}, the result back");
    all.push(&name, target, &d)
}

/// x · 2^by; `None` where the format does not have it.
fn shifted(format: &Format, code: u64, by: i64) -> Option<u64> {
    let value = Dyadic::of_code(format, code)?.scaled(by);
    let moved = nearest(format, value.to_f64());
    (Dyadic::of_code(format, moved)? == value).then_some(moved)
}
