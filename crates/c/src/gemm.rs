//! Matrix products of any shape.

use std::ffi::c_char;
use std::fmt::Display;

use bitmma_engine::formats::overflow::UnknownOverflow;
use bitmma_engine::formats::rounding::UnknownRounding;
use bitmma_engine::formats::{Overflow, Rounding};
use bitmma_engine::gemm::{OutputConversion, Target, scale_blocks};
use bitmma_engine::{GemmOptions, gemm};

use crate::buffer::{bitmma_output, optional_text, required};
use crate::multiply::{Wanted, bitmma_operands};
use crate::status::bitmma_status::{BITMMA_OPTION, BITMMA_UNKNOWN};
use crate::status::{Failure, bitmma_status, guarded};
use crate::unit::{bitmma_unit, format_of};

/// How a product is made. All zero: one product, one part, no promotion, alpha and beta 1, D as the unit gives it, a
/// thread for each core.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct bitmma_gemm_options {
    /// Products of one shape, matrix after matrix; 0: 1.
    pub products: usize,
    /// Parts of K, added at the end; 0: 1.
    pub split_k: usize,
    /// Elements along K after which the accumulator is added to a sum, a multiple of the unit's K; 0: never.
    pub promote_every: usize,
    /// Threads, at most 4096; 0: one for each core.
    pub threads: usize,
    /// The factor of A·B, rounded to the unit's working format, and not beyond its largest number; NULL: 1.
    pub alpha: *const f64,
    /// The factor of C, likewise; NULL: 1.
    pub beta: *const f64,
    /// FP32 scales of blocks in `scale_a` and `scale_b`: "1x128,128x128" (rows of A by K, columns of B by K) or "row";
    /// NULL: none.
    pub scale_blocks: *const c_char,
    /// The format that D is converted to, one with a sign; NULL: the unit's own.
    pub output: *const c_char,
    /// How it is rounded: "RNE", "RZ", … (docs/models.md); NULL: "RNE", and without `output`.
    pub rounding: *const c_char,
    /// What becomes of numbers beyond its largest: "ieee", "infinity" or "saturate"; NULL: "ieee", and without `output`.
    pub overflow: *const c_char,
    /// The code of `output` that NaN becomes; NULL: its own NaN, and where it has none (FP6, FP4) NaN is refused.
    pub nan: *const u64,
}

/// How a conversion rounds, and what becomes of numbers beyond the largest.
///
/// # Safety
///
/// The texts can be read.
pub(crate) unsafe fn rules(
    rounding: *const c_char,
    overflow: *const c_char,
) -> Result<(Option<Rounding>, Option<Overflow>), Failure> {
    // SAFETY: the caller's
    let (rounding, overflow) =
        unsafe { (optional_text("rounding", rounding)?, optional_text("overflow", overflow)?) };
    let unknown = |error: &dyn Display| Failure::new(BITMMA_UNKNOWN, error.to_string());
    let rounding = rounding.map(str::parse).transpose().map_err(|error: UnknownRounding| unknown(&error))?;
    let overflow = overflow.map(str::parse).transpose().map_err(|error: UnknownOverflow| unknown(&error))?;
    Ok((rounding, overflow))
}

/// Threads for a product, in a library that may start them or not; `None` for those of the pool that the call is in.
pub(crate) fn threads(given: usize, starts_threads: bool) -> Result<Option<usize>, Failure> {
    match given {
        0 => Ok(None),
        _ if starts_threads => Ok(Some(given)),
        1 => Ok(None),
        _ => {
            let message =
                format!("threads: {given}; this library was built without threads, which allows 0 and 1");
            Err(Failure::new(BITMMA_OPTION, message))
        }
    }
}

/// What the options of a product say.
pub(crate) struct Made {
    pub(crate) options: GemmOptions<'static>,
    /// Products of one shape.
    pub(crate) products: usize,
}

/// Reads options; NULL is all zero.
///
/// # Safety
///
/// They and what they point to can be read.
pub(crate) unsafe fn made(target: &Target, options: *const bitmma_gemm_options) -> Result<Made, Failure> {
    // SAFETY: the caller's
    unsafe {
        let mut made = GemmOptions::default();
        let Some(options) = options.as_ref() else { return Ok(Made { options: made, products: 1 }) };
        let factor = |name, address: *const f64| {
            let given = (!address.is_null()).then(|| address.read_unaligned().to_bits());
            given.map(|double| target.factor(name, double)).transpose()
        };
        let given = |value: usize| (value > 0).then_some(value);
        made.split_k = given(options.split_k);
        made.promote_every = given(options.promote_every);
        made.threads = threads(options.threads, cfg!(feature = "threads"))?;
        (made.alpha, made.beta) = (factor("alpha", options.alpha)?, factor("beta", options.beta)?);
        made.scale_blocks = match optional_text("scale_blocks", options.scale_blocks)? {
            Some(text) => Some(scale_blocks(text).map_err(bitmma_engine::Error::from)?),
            None => None,
        };
        let output = optional_text("output", options.output)?.map(format_of).transpose()?;
        let (rounding, overflow) = rules(options.rounding, options.overflow)?;
        made.output = OutputConversion::asked(output, rounding, overflow, options.nan.as_ref().copied())?;
        Ok(Made { options: made, products: options.products.max(1) })
    }
}

/// D = alpha·A·B + beta·C: A M×K, B K×N, C and D M×N, of any size, zero included, as a kernel on the GPU makes it of the
/// unit's instruction.
///
/// K is padded with +0 to whole instructions, which can change the result as it does on the GPU. Scale factors are
/// M × ceil(K/scale_size) and ceil(K/scale_size) × N; with `scale_blocks` FP32, ceil(M/rows) × ceil(K/k) and
/// ceil(K/k) × ceil(N/columns). docs/c.md has the order of operations. NULL for `options` is all zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmma_gemm(
    unit: *const bitmma_unit,
    m: usize,
    n: usize,
    k: usize,
    operands: *const bitmma_operands,
    options: *const bitmma_gemm_options,
    d: *const bitmma_output,
) -> bitmma_status {
    // SAFETY: the caller's unit, texts and memory
    guarded(|| unsafe {
        let unit = required("unit", unit)?;
        let operands = required("operands", operands)?;
        let d = required("d", d)?;
        let target = unit.target();
        let Made { options: mut made, products } = made(target, options)?;
        let wanted = Wanted::of_product(target.model(), made.scale_blocks, products, (m, n, k));
        let layout = d.layout("D", (products, m, n))?;
        let answer = {
            // gone before D is written, which may be the memory of an operand
            let read = operands.lend(&unit.signature().name, &wanted)?;
            made.scale_a = read.scales.as_ref().map(|(a, _)| a);
            made.scale_b = read.scales.as_ref().map(|(_, b)| b);
            gemm(target, read.a.matrix(), read.b.matrix(), read.c.as_ref(), &made)?
        };
        d.write(&layout, answer.codes());
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::threads;
    use crate::status::bitmma_status::BITMMA_OPTION;

    /// Both libraries: with the feature `threads` and without it.
    #[test]
    fn a_library_without_threads_refuses_two() {
        for (given, with, without) in [(0, None, Some(None)), (1, Some(1), Some(None)), (2, Some(2), None)] {
            assert_eq!(threads(given, true).expect("a number"), with);
            match (threads(given, false), without) {
                (Ok(threads), Some(expected)) => assert_eq!(threads, expected),
                (Err(failure), None) => assert_eq!(failure.status, BITMMA_OPTION),
                (answer, _) => panic!("{given}: {answer:?}"),
            }
        }
    }
}
