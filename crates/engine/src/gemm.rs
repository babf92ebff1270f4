//! Matrix products of any shape, as a kernel on the GPU makes them of one instruction.
//!
//! [`gemm()`] applies an instruction (or a model, a fixed number of elements at a time) along K, each step
//! starting from the result of the one before, the first one from C. Elements of D are independent of
//! each other (paper, Step 1), so M and N need no padding; K does.
//!
//! # Padding
//!
//! K is padded to a multiple of the instruction's K with elements +0 and, where there are scale factors,
//! with factors of one. **The padding is part of the result**: in T-, ST- and GST-FDPA a zero product
//! brings `e_zero` into the largest exponent, in FMA and FTZ-AddMul it turns an accumulator of -0 into +0.
//! A last block of elements that K does not fill still has its own scale factor: A has
//! M × ceil(K/block) factors, B ceil(K/block) × N.
//!
//! # Order of operations
//!
//! W is FP32, or FP64 if C or D of the instruction is FP64. Sums and products in W are those of IEEE 754,
//! rounded to nearest even, subnormal numbers kept. What enters W (C, results of the instruction) is
//! converted to it, which is exact.
//!
//! 1. Without options the accumulator starts from C, or from +0 without C: `d = C; d = mma(a, b, d)` for
//!    each step along K.
//! 2. `split_k = n`: the steps along K are cut into n parts, as even as whole steps allow, the earlier
//!    ones larger; more parts than steps are as many as steps, and one part is no split. Each part starts
//!    from +0 and ends in D's format, which is the format partial results have also where D is FP16 or
//!    where D's numbers have fewer bits (E8M13). In W: the first part's result, plus the second's, …,
//!    plus C.
//! 3. `promote_every = n`: every n elements along K the instruction's accumulator starts from +0; its
//!    result (in D's format) is added to a sum in W. That sum starts from C. With `split_k` each part has
//!    such a sum, which starts from +0, and point 2 adds those.
//!    `c_last`: C is added in W to A·B, which starts from +0, also where the points above let a sum start from C.
//! 4. `scale_blocks`, FP32 scales of blocks of A and B: every k elements along K the instruction's accumulator
//!    starts from +0; its result d goes, scaled, into a sum in FP32 that starts from +0:
//!    `sum = fma(d, scale_a · scale_b, sum)`, or as [`ScaleOrder`] and `fma` say. With k = 0 d is A·B by
//!    points 1 to 3, from +0, and is scaled once. C, if there is one, is added last.
//! 5. `alpha`, `beta` other than one: A·B as above, everything from +0 and C left out; then, in W,
//!    `t = alpha · AB`, `u = beta · C`, `t + u`, each rounded. With `beta` = 0 C is not read, and u is +0,
//!    as it is without C. With `alpha` = 1 and `beta` = 1 (or no C, or `beta` = 0) points 1 to 4 hold
//!    unchanged.
//! 6. What came out of W is rounded to D's format, to nearest even, overflow as IEEE 754 says; a NaN gets
//!    the code that NaN results of the instruction have.
//! 7. `output`: the result is converted. What comes out of W is converted from there, not by way of D's
//!    format, and so rounded once.
//!
//! K = 0: no step is made. A·B is +0, so D is C converted as in points 6 and 7 (through D's format if
//! nothing is done in W).
//!
//! Several blocks in A, B and C are several products of one shape.
//!
//! A product goes one way: `check`, `schedule` (the order, as a value), `execute` (tiles of D, chains on the kernels), `merge`, `finish`.
//! [`element()`] is the same by definition.

mod blocks;
mod check;
mod codes;
mod convert;
mod element;
pub mod exact;
mod execute;
mod finish;
mod library;
mod merge;
mod options;
mod prepared;
pub mod schedule;
mod simt;
mod target;

use bitmma_formats::Format;

use crate::borrowed::MatrixRef;
use crate::error::Error;
use crate::matrix::Matrix;

pub use crate::check::Described;
pub use bitmma_kernel::{ScaleBlocks, ScaleOrder};
pub use blocks::{WrongBlocks, scale_blocks};
pub use check::{Shapes, check};
pub use convert::OutputConversion;
pub use element::{Element, element, finished, merged};
pub use execute::{How, execute, execute_each, parts};
pub use library::LibraryCall;
pub use options::GemmOptions;
pub use prepared::Prepared;
pub use schedule::Schedule;
pub use target::{MAX_STEP, Target};

/// The operands of a product.
#[derive(Clone, Copy, Debug)]
pub struct Given<'m> {
    /// M×K.
    pub a: MatrixRef<'m>,
    /// K×N.
    pub b: MatrixRef<'m>,
    /// M×N; without it C is +0 everywhere.
    pub c: Option<&'m Matrix>,
    /// Scale factors of A, the model's own or FP32 ones of blocks.
    pub scale_a: Option<&'m Matrix>,
    /// Scale factors of B, likewise.
    pub scale_b: Option<&'m Matrix>,
}

impl Given<'_> {
    /// Formats and shapes.
    pub fn shapes(&self) -> Shapes {
        let described = |matrix: &Matrix| (matrix.format(), matrix.shape());
        let [c, scale_a, scale_b] = [self.c, self.scale_a, self.scale_b].map(|one| one.map(described));
        let of = |one: MatrixRef<'_>| (one.format(), one.shape());
        Shapes { a: of(self.a), b: of(self.b), c, scale_a, scale_b }
    }
}

/// The NaN of a library's result: all bits but the sign (rule 24).
pub fn nan_code(format: &Format) -> u64 {
    format.max_code() & !format.sign_bit()
}

/// D = alpha · A·B + beta · C; A M×K, B K×N, C M×N (none: +0), for any M, N and K, zero included.
///
/// D depends on nothing but operands, target and the options that say so in [the
/// module](self): the same bits for any number of threads and every instruction set.
pub fn gemm<'m>(
    target: &Target,
    a: impl Into<MatrixRef<'m>>,
    b: impl Into<MatrixRef<'m>>,
    c: Option<&'m Matrix>,
    options: &GemmOptions<'m>,
) -> Result<Matrix, Error> {
    let (scale_a, scale_b) = (options.scale_a, options.scale_b);
    let given = Given { a: a.into(), b: b.into(), c, scale_a, scale_b };
    let schedule = Schedule::new(target, &given.shapes(), options)?;
    let how = How { threads: options.threads, level: options.level, progress: options.progress };
    execute(Some(target), &schedule, &given, &how)
}
