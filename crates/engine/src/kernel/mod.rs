//! Fast paths: whole matrix products in vectors, held to the reference path bit for bit.
//!
//! A kernel is written once, over the small trait in `simd`; which instruction set runs it is decided
//! at run time ([`Level`]). `drive` cuts the product into blocks and tiles, packs the operands and
//! spreads the tiles over threads; a tile keeps its accumulators from the first element along K to the
//! last. Elements that a kernel does not support fall back to the reference path.
#![allow(unsafe_code, clippy::float_arithmetic)] // this is the place for both
#![allow(clippy::needless_range_loop)] // a tile is indexed by row and vector in several arrays at once

mod drive;
mod element;
pub(crate) mod elementwise;
mod exact;
mod fix;
mod fma;
mod ftz;
mod fused;
mod grouped;
mod native;
mod number;
mod pack;
mod rounded;
pub(crate) mod runs;
mod simd;
mod special;
mod tables;

use bitmma_arithmetic::{Model, Prepared};

use crate::case::Operands;
use crate::error::Error;
use crate::matrix::Matrix;
use crate::simulate;
use runs::Runs;
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
    model.validate()?;
    if !simulate::check(model, operands)? {
        return Matrix::zeros(model.d, operands.shape());
    }
    Plan::new(model, step, options.level)?.of_checked(operands, None)
}

/// How products of one model are computed, worked out once for all of them.
pub(crate) struct Plan<'m> {
    prepared: Prepared<'m>,
    step: usize,
    level: Level,
    /// None: the reference path.
    kernel: Option<Planned>,
}

impl<'m> Plan<'m> {
    /// For a model that is valid, `step` elements along K at a time; by default on the fastest level there is.
    pub(crate) fn new(model: &'m Model, step: usize, level: Option<Level>) -> Result<Plan<'m>, Error> {
        Ok(Plan::of(Prepared::new(model, step)?, level))
    }

    /// For a model that was made ready for one step; by default on the fastest level there is.
    pub(crate) fn of(prepared: Prepared<'m>, level: Option<Level>) -> Plan<'m> {
        let level = level.unwrap_or_else(Level::best);
        Plan { kernel: kernel_for(&prepared, level), step: prepared.k(), prepared, level }
    }

    /// The model, made ready for one step.
    pub(crate) fn prepared(&self) -> &Prepared<'m> {
        &self.prepared
    }

    /// Whether a kernel computes them.
    pub(crate) fn has_kernel(&self) -> bool {
        self.kernel.is_some()
    }

    /// As [`multiply`].
    pub(crate) fn multiply(&self, operands: &Operands<'_>) -> Result<Matrix, Error> {
        let model = self.prepared.model();
        if !simulate::check(model, operands)? {
            return Matrix::zeros(model.d, operands.shape());
        }
        self.of_checked(operands, None)
    }

    /// The sums of the results of `runs`, in FP32 or FP64, which start from C; `None` if the kernel does not add such
    /// runs up, or there is no kernel.
    pub(crate) fn add_runs(&self, operands: &Operands<'_>, runs: &Runs<'_>) -> Result<Option<Matrix>, Error> {
        if !self.kernel.as_ref().is_some_and(|kernel| (kernel.adds)(runs))
            || !simulate::check(self.prepared.model(), operands)?
        {
            return Ok(None);
        }
        self.of_checked(operands, Some(runs)).map(Some)
    }

    /// D of operands that were checked, which has elements.
    fn of_checked(&self, operands: &Operands<'_>, runs: Option<&Runs<'_>>) -> Result<Matrix, Error> {
        simulate::check_length(self.prepared.model(), self.step, operands)?;
        let Some(kernel) = &self.kernel else {
            return simulate::by_definition(&self.prepared, operands);
        };
        let Plan { prepared, step, level, .. } = self;
        (kernel.multiply)(&drive::Problem { prepared, step: *step, operands, level: *level, runs })
    }
}

type Multiply = dyn Fn(&drive::Problem<'_>) -> Result<Matrix, Error> + Send + Sync;

/// A kernel that was planned for a model, ready to compute.
struct Planned {
    /// D, or the sums of the problem's runs.
    multiply: Box<Multiply>,
    /// Whether it adds up such runs.
    adds: fn(&Runs<'_>) -> bool,
}

/// The kernel for a model, if one supports it.
fn kernel_for(prepared: &Prepared<'_>, level: Level) -> Option<Planned> {
    fn driven<K: drive::Kernel + Send + 'static>(kernel: K) -> Planned {
        Planned { multiply: Box::new(move |problem| drive::multiply(&kernel, problem)), adds: |_| true }
    }
    fn native<F: native::Native + Send + 'static>(family: F) -> Planned {
        Planned { multiply: Box::new(move |problem| native::multiply(&family, problem)), adds: native::adds }
    }
    let fused = || fused::Narrow::plan(prepared, level).map(driven);
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
    Plan::new(model, step, None).is_ok_and(|plan| plan.has_kernel())
}
