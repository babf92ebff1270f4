//! Fast paths: products by the kernels of `bitmma_kernel`, and by the reference path where there is none.

use bitmma_arithmetic::{Model, Prepared, run};
use bitmma_formats::Format;
use bitmma_kernel::{Codes, Order, Panels, Runs, Slice, View};

use crate::case::Operands;
use crate::error::Error;
use crate::matrix::Matrix;
use crate::simulate;

pub use bitmma_kernel::{Level, routes};

/// D = A·B + C, the model applied `step` elements along K at a time, each step starting from the result
/// of the one before; K must be a multiple of `step`.
///
/// The result is that of the reference path for every input; models without a kernel take the reference
/// path itself (see [`has_kernel`]). `level` is the instruction set; the best there is by default.
pub fn multiply(
    model: &Model,
    step: usize,
    operands: &Operands<'_>,
    level: Option<Level>,
) -> Result<Matrix, Error> {
    model.validate()?;
    if !simulate::check(model, operands)? {
        return Matrix::zeros(model.d, operands.shape());
    }
    Executor::new(model, step, level)?.of_checked(&operands.views(), None)
}

/// How products of one model are computed, worked out once for all of them.
pub(crate) struct Executor<'m> {
    prepared: Prepared<'m>,
    /// None: the reference path.
    kernel: Option<bitmma_kernel::Plan>,
}

impl<'m> Executor<'m> {
    /// For a model that is valid, `step` elements along K at a time; by default on the fastest level there is.
    pub(crate) fn new(model: &'m Model, step: usize, level: Option<Level>) -> Result<Executor<'m>, Error> {
        Ok(Executor::of(Prepared::new(model, step)?, level))
    }

    /// For a model that was prepared for one step; by default on the fastest level there is.
    pub(crate) fn of(prepared: Prepared<'m>, level: Option<Level>) -> Executor<'m> {
        let level = level.unwrap_or_else(Level::best);
        Executor { kernel: bitmma_kernel::Plan::of(&prepared, level), prepared }
    }

    /// The model, prepared for one step.
    pub(crate) fn prepared(&self) -> &Prepared<'m> {
        &self.prepared
    }

    /// Whether a kernel computes them.
    pub(crate) fn has_kernel(&self) -> bool {
        self.kernel.is_some()
    }

    /// The format of sums of runs, where a kernel makes them.
    pub(crate) fn sums(&self) -> Option<Format> {
        self.kernel.as_ref().map(bitmma_kernel::Plan::sums)
    }

    /// As [`multiply`].
    pub(crate) fn multiply(&self, operands: &Operands<'_>) -> Result<Matrix, Error> {
        let model = self.prepared.model();
        if !simulate::check(model, operands)? {
            return Matrix::zeros(model.d, operands.shape());
        }
        self.of_checked(&operands.views(), None)
    }

    /// The code of D of one dot product of one step, by a kernel where one has it without tiles, else by the reference path.
    pub(crate) fn dot(&self, operands: &run::Operands<'_>) -> Result<u64, Error> {
        let Executor { prepared, kernel } = self;
        prepared.check(operands)?;
        let run::Operands { a, b, c, scale_a, scale_b } = *operands;
        fn view(codes: &[u64], (rows, columns): (usize, usize)) -> View<'_> {
            View::new(Slice::U64(codes), (1, rows, columns))
        }
        let (row, column) = (|codes| view(codes, (1, codes.len())), |codes| view(codes, (codes.len(), 1)));
        let (c, scaled) = ([c], prepared.model().scale.is_some());
        let views = bitmma_kernel::Operands {
            a: row(a),
            b: column(b),
            c: Some(view(&c, (1, 1))),
            scale_a: scaled.then(|| row(scale_a)),
            scale_b: scaled.then(|| column(scale_b)),
        };
        let d = kernel.as_ref().and_then(|kernel| kernel.dot(prepared, &views));
        Ok(d.unwrap_or_else(|| prepared.dot_of_codes(operands, &mut ())))
    }

    /// D of operands that were checked, which has elements; with `runs`, for which there must be a kernel, the sums of their
    /// results, in FP32 or FP64, which start from C.
    pub(crate) fn of_checked(
        &self,
        operands: &bitmma_kernel::Operands<'_>,
        runs: Option<&Runs<'_>>,
    ) -> Result<Matrix, Error> {
        let model = self.prepared.model();
        simulate::check_length(model, self.prepared.k(), operands.a.columns)?;
        let Some(kernel) = &self.kernel else {
            return simulate::by_definition(&self.prepared, operands);
        };
        let format = match runs {
            Some(_) => kernel.sums(),
            None => model.d,
        };
        let codes = kernel.multiply(&self.prepared, operands, runs);
        let codes = codes.ok_or(Error::too_large(format, operands.shape()))?;
        Ok(Matrix::from_codes(format, operands.shape(), codes))
    }
}

impl Executor<'_> {
    /// The totals of one row times B in several orders, a row for each; there must be a kernel. C is left out.
    pub(crate) fn in_orders(
        &self,
        operands: &bitmma_kernel::Operands<'_>,
        orders: &[Order],
    ) -> Option<Result<Matrix, Error>> {
        let kernel = self.kernel.as_ref()?;
        let shape = (1, orders.len(), operands.b.columns);
        let codes = kernel.multiply_in_orders(&self.prepared, operands, orders);
        let codes = codes.ok_or(Error::too_large(kernel.sums(), shape));
        Some(codes.map(|codes| Matrix::from_codes(kernel.sums(), shape, codes)))
    }

    /// B of whole steps, packed with its scale factors; `None` where no kernel streams it.
    pub(crate) fn prepare(&self, b: View<'_>, scale_b: Option<View<'_>>) -> Option<Panels> {
        self.kernel.as_ref()?.prepare(&self.prepared, b, scale_b)
    }

    /// As [`Executor::of_checked`], of a B that was prepared.
    pub(crate) fn of_prepared(
        &self,
        a: (View<'_>, Option<View<'_>>),
        (panels, scale_b): (&Panels, Option<View<'_>>),
        c: Option<View<'_>>,
        runs: Option<&Runs<'_>>,
    ) -> Option<Result<Matrix, Error>> {
        let kernel = self.kernel.as_ref()?;
        let format = if runs.is_some() { kernel.sums() } else { self.prepared.model().d };
        let shape = (1, a.0.rows, panels.shape().1);
        let codes = kernel.multiply_prepared(&self.prepared, a, (panels, scale_b), c, runs);
        let codes = codes.ok_or(Error::too_large(format, shape));
        Some(codes.map(|codes| Matrix::from_codes(format, shape, codes)))
    }

    /// The codes of a B that was prepared, row-major.
    pub(crate) fn codes(&self, panels: &Panels) -> Option<Codes> {
        self.kernel.as_ref()?.codes(&self.prepared, panels)
    }
}

/// What computes products of the model: `kernel`, or `reference` where it has none.
pub fn path(model: &Model, step: usize) -> &'static str {
    if has_kernel(model, step) { "kernel" } else { "reference" }
}

/// Whether [`multiply`] has a fast path for the model, on the best instruction set there is.
pub fn has_kernel(model: &Model, step: usize) -> bool {
    has_kernel_at(model, step, Level::best())
}

/// The same on an instruction set: directed roundings have kernels on AVX-512 alone.
pub fn has_kernel_at(model: &Model, step: usize, level: Level) -> bool {
    Executor::new(model, step, Some(level)).is_ok_and(|plan| plan.has_kernel())
}
