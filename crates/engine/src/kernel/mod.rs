//! Fast paths: whole matrix products in vectors, held to the reference path bit for bit.
//!
//! A kernel is written once, over the small trait in `simd`; which instruction set runs it is decided
//! at run time ([`Level`]). `drive` cuts the product into blocks and tiles, packs the operands and
//! spreads the tiles over threads; a tile keeps its accumulators from the first element along K to the
//! last. What a kernel does not take in hand it hands to the reference path, element by element.
#![allow(unsafe_code, clippy::float_arithmetic)] // this is the place for both
#![allow(clippy::needless_range_loop)] // a tile is indexed by row and vector in several arrays at once

mod drive;
mod element;
pub(crate) mod elementwise;
mod exact;
mod fma;
mod ftz;
mod fused;
mod grouped;
mod native;
mod pack;
mod rounded;
mod simd;
mod special;
mod tables;

use bitmma_arithmetic::{Model, Prepared};

use crate::error::Error;
use crate::matrix::Matrix;
use crate::unit::Operands;
use simd::{Portable, Simd};

/// An instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Whatever the compiler makes of plain arrays (SSE2 on x86-64, NEON on AArch64).
    Portable,
    /// AVX2, FMA and F16C.
    Avx2,
    /// AVX-512 F, BW, DQ and VL.
    Avx512,
    /// AVX-512 with VNNI and FP16 as well.
    Avx512Halves,
}

impl Level {
    /// Every level this processor has, the fastest last.
    pub fn available() -> Vec<Level> {
        let mut levels = vec![Level::Portable];
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("f16c");
            let avx512 = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl");
            levels.extend(avx2.then_some(Level::Avx2));
            let halves = is_x86_feature_detected!("avx512vnni") && is_x86_feature_detected!("avx512fp16");
            levels.extend((avx2 && avx512).then_some(Level::Avx512));
            levels.extend((avx2 && avx512 && halves).then_some(Level::Avx512Halves));
        }
        levels
    }

    /// The fastest level this processor has.
    pub fn best() -> Level {
        Level::available().pop().unwrap_or(Level::Portable)
    }
}

/// Work that is generic over the instruction set.
trait Work {
    /// What comes of it.
    type Output;
    /// Whether it has a use for [`Level::Avx512Halves`].
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))] // a level that others do not have
    const HALVES: bool = false;

    /// Does it.
    ///
    /// # Safety
    ///
    /// The processor has the instruction set.
    unsafe fn run<S: Simd>(self) -> Self::Output;
}

/// Runs the work compiled for `level`, which must be one of [`Level::available`].
fn dispatch<W: Work>(level: Level, work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
    unsafe fn avx512<W: Work>(work: W) -> W::Output {
        unsafe { work.run::<simd::Avx512<false>>() }
    }
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512fp16,avx512vnni,avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c")]
    unsafe fn avx512_halves<W: Work>(work: W) -> W::Output {
        unsafe { work.run::<simd::Avx512<true>>() }
    }
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn avx2<W: Work>(work: W) -> W::Output {
        unsafe { work.run::<simd::Avx2>() }
    }
    // SAFETY: the level is available
    unsafe {
        match level {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512Halves if W::HALVES => avx512_halves(work),
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 | Level::Avx512Halves => avx512(work),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => avx2(work),
            _ => work.run::<Portable>(),
        }
    }
}

/// How a product is computed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// The instruction set; the best there is by default.
    pub level: Option<Level>,
}

/// D = A·B + C, the model applied `step` elements along K at a time, each step starting from the result
/// of the one before; K must be a multiple of `step`.
///
/// The answer is that of the reference path for every input; models without a kernel take the reference
/// path itself (see [`has_kernel`]).
pub fn multiply(
    model: &Model,
    step: usize,
    operands: &Operands<'_>,
    options: Options,
) -> Result<Matrix, Error> {
    multiply_from(model, step, operands, Some(operands.c), options)
}

/// [`multiply`] from `c` and not from the operands'; without one C is +0 everywhere, and takes no memory.
pub(crate) fn multiply_from(
    model: &Model,
    step: usize,
    operands: &Operands<'_>,
    c: Option<&Matrix>,
    options: Options,
) -> Result<Matrix, Error> {
    let zeros = |format| {
        let (blocks, m, _) = operands.a.shape();
        Matrix::zeros(format, (blocks, m, operands.b.columns()))
    };
    let Some(prepared) = crate::simulate::prepare(model, step, operands, c)? else {
        return zeros(model.d);
    };
    if let Some(kernel) = kernel_for(&prepared) {
        let level = options.level.unwrap_or_else(Level::best);
        return kernel(&drive::Problem { prepared: &prepared, step, operands, c, level });
    }
    let zero;
    let c = match c {
        Some(c) => c,
        None => {
            zero = zeros(model.c)?;
            &zero
        }
    };
    crate::simulate::simulate_steps(model, step, &Operands { c, ..*operands })
}

/// A kernel that was planned for a model, ready to compute.
type Planned = Box<dyn Fn(&drive::Problem<'_>) -> Result<Matrix, Error>>;

/// The kernel for a model, if one takes it in hand.
fn kernel_for(prepared: &Prepared<'_>) -> Option<Planned> {
    fn driven<K: drive::Kernel + 'static>(kernel: K) -> Planned {
        Box::new(move |problem| drive::multiply(&kernel, problem))
    }
    fn native<F: native::Native + 'static>(family: F) -> Planned {
        Box::new(move |problem| native::multiply(&family, problem))
    }
    let fused = || fused::Narrow::plan(prepared).map(driven);
    let grouped = || grouped::Grouped::plan(prepared).map(driven);
    let rounded = || rounded::Rounded::plan(prepared).map(driven);
    let exact = || exact::Exact::plan(prepared).map(driven);
    let ftz = || ftz::FtzAddMul::plan(prepared).map(native);
    let fma32 = || fma::Fma::<f32>::plan(prepared).map(native);
    let fma64 = || fma::Fma::<f64>::plan(prepared).map(native);
    fused().or_else(grouped).or_else(rounded).or_else(exact).or_else(ftz).or_else(fma32).or_else(fma64)
}

/// Whether [`multiply`] has a fast path for the model.
pub fn has_kernel(model: &Model, step: usize) -> bool {
    Prepared::new(model, step).is_ok_and(|prepared| kernel_for(&prepared).is_some())
}
