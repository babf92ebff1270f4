//! B packed once, for any number of products.

use bitmma_formats::Format;
use bitmma_kernel::{Level, Panels};

use super::check::Shapes;
use super::codes::{cut, part};
use super::schedule::Piece;
use super::{GemmOptions, Given, How, Schedule, Target, check, execute};
use crate::borrowed::MatrixRef;
use crate::error::Error;
use crate::matrix::Matrix;
use crate::threads;

/// An operand B, K×N, prepared for a target: packed once, compactly, where a kernel has a way to stream it. Products with
/// it answer as [`gemm()`](super::gemm()) does with B itself.
pub struct Prepared {
    target: Target,
    level: Level,
    format: Format,
    /// K and N.
    shape: (usize, usize),
    b: Kept,
    /// The model's own scale factors.
    scale: Option<Matrix>,
}

/// B.
enum Kept {
    Panels(Box<Panels>),
    /// As it is, where no kernel streams it.
    Codes(Matrix),
}

impl Prepared {
    /// B for a target, with the scale factors that its model takes; on an instruction set, by default the best there is,
    /// and on so many threads.
    pub fn new<'m>(
        target: &Target,
        b: impl Into<MatrixRef<'m>>,
        scale: Option<&Matrix>,
        (threads, level): (Option<usize>, Option<Level>),
    ) -> Result<Prepared, Error> {
        let b = b.into();
        b.check()?;
        let (format, (blocks, k, n)) = (b.format(), b.shape());
        // a product of no rows says whether B fits
        let scale_shape = target.model.scale.map(|of| (of.format, (blocks, 0, k.div_ceil(of.size))));
        let of_b = scale.map(|scale| (scale.format(), scale.shape()));
        let a = (target.model.a, (1, 0, k));
        check(
            target,
            &Shapes { a, b: (format, (blocks, k, n)), c: None, scale_a: scale_shape, scale_b: of_b },
            None,
        )?;
        let level = level.unwrap_or_else(Level::best);
        let panels = threads::on(threads, || panels(target, b, scale, level))??;
        let b = match panels {
            Some(panels) => Kept::Panels(Box::new(panels)),
            None => Kept::Codes(Matrix::from_fn(format, (blocks, k, n), |block, row, column| {
                b.view.get(block, row, column)
            })?),
        };
        Ok(Prepared { target: target.clone(), level, format, shape: (k, n), b, scale: scale.cloned() })
    }

    /// What it was prepared for.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// K and N.
    pub fn shape(&self) -> (usize, usize) {
        self.shape
    }

    /// The format of its codes.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        let of = |matrix: &Matrix| matrix.codes().len() * matrix.codes().bytes();
        let own = match &self.b {
            Kept::Panels(panels) => panels.bytes(),
            Kept::Codes(codes) => of(codes),
        };
        own + self.scale.as_ref().map_or(0, of)
    }

    /// Blocks that a kernel streams as they are, and all: others it packs again for every product.
    pub fn plain(&self) -> (usize, usize) {
        match &self.b {
            Kept::Panels(panels) => panels.plain(),
            Kept::Codes(_) => (0, 1),
        }
    }

    /// Whether a kernel streams it.
    pub fn is_streamed(&self) -> bool {
        matches!(self.b, Kept::Panels(_))
    }

    /// D = alpha · A·B + beta · C, A and C one matrix each; `options` as those of [`gemm()`](super::gemm()), but that B's own
    /// scale factors are those it was prepared with, and so is the instruction set.
    pub fn multiply<'m>(
        &self,
        a: impl Into<MatrixRef<'m>>,
        c: Option<&'m Matrix>,
        options: &GemmOptions<'m>,
    ) -> Result<Matrix, Error> {
        let scale_b = self.scale.as_ref().or(options.scale_b);
        let b = match &self.b {
            Kept::Panels(panels) => MatrixRef::of_panels(self.format, self.shape, panels),
            Kept::Codes(codes) => codes.into(),
        };
        let given = Given { a: a.into(), b, c, scale_a: options.scale_a, scale_b };
        let schedule = Schedule::new(&self.target, &given.shapes(), options)?;
        let how = How { threads: options.threads, level: Some(self.level), progress: options.progress };
        execute(Some(&self.target), &schedule, &given, &how)
    }
}

/// B as a kernel streams it, padded to whole steps along K; `None` where none does.
fn panels(
    target: &Target,
    b: MatrixRef<'_>,
    scale: Option<&Matrix>,
    level: Level,
) -> Result<Option<Panels>, Error> {
    let (k, n) = (b.view.rows, b.view.columns);
    let (Some(padded), true) = (target.padded(k), k > 0 && n > 0) else { return Ok(None) };
    let plan = target.plan(Some(level))?;
    if !plan.has_kernel() || b.view.blocks != 1 {
        return Ok(None);
    }
    let b = part(b, 0, &(0..n), (&[Piece { range: 0..k, padded }], target.step), false)?;
    let scale = match (target.model.scale, scale) {
        (Some(of), Some(scale)) => {
            Some(cut(scale.into(), 0, &(0..padded / of.size), &(0..n), of.format.one_code())?)
        }
        _ => None,
    };
    Ok(plan.prepare(b.view(), scale.as_ref().map(Matrix::view)))
}
