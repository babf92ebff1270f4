//! The arithmetic of a whole product: what goes along K, and the order around it.

use bitmma_engine::arithmetic::Model;
use bitmma_engine::formats::{BlockScale, F32, Format};
use bitmma_engine::gemm::schedule::{AddC, Schedule, Sums};
use bitmma_engine::gemm::{Given, How, Target, execute, execute_each};
use bitmma_engine::{Case, Matrix};
use bitmma_verify::inputs::Formats;

use crate::discrepancy::{Answer, answer};
use crate::error::Error;

/// Threads of a block of a dot product.
const DOT_THREADS: usize = 128;

/// What computes a product of one shape.
#[derive(Clone, Debug)]
pub struct Scheme {
    /// What goes along K; `None` where the schedule has sums of threads.
    pub target: Option<Target>,
    /// The order around it, for the K of the product.
    pub schedule: Schedule,
    /// Format of A.
    pub a: Format,
    /// Format of B.
    pub b: Format,
}

impl Scheme {
    /// The model along K, where there is one.
    pub fn model(&self) -> Option<&Model> {
        self.target.as_ref().map(Target::model)
    }

    /// The scale factors that the model takes.
    pub fn scale(&self) -> Option<BlockScale> {
        self.model().and_then(|model| model.scale)
    }

    /// Format of C.
    pub fn c(&self) -> Format {
        self.model().map_or(self.schedule.working, |model| model.c)
    }

    /// Format of D.
    pub fn d(&self) -> Format {
        let own = self.model().map_or(self.schedule.working, |model| model.d);
        self.schedule.output.map_or(own, |output| output.conversion.container())
    }

    /// The formats of operands.
    pub fn formats(&self) -> Formats {
        Formats { a: self.a, b: self.b, c: self.c(), scale: self.scale() }
    }

    /// How much a dot product of `k` elements takes, about: elements, and parts, lanes and threads, empty ones too.
    pub fn weight(&self, k: usize) -> usize {
        let around = match &self.schedule.sums {
            Sums::Chains { parts, .. } => parts.iter().flatten().map(|slice| slice.len() + 1).sum(),
            Sums::Threads(simt) => {
                let vector = simt.vector.unsigned_abs() as usize;
                let lanes = simt.lanes.max(vector.saturating_mul(DOT_THREADS));
                simt.slices.saturating_mul(lanes).saturating_add(simt.threads)
            }
        };
        k.saturating_add(around)
    }

    /// D.
    pub fn product(&self, given: &Given<'_>) -> Result<Matrix, Error> {
        Ok(execute(self.target.as_ref(), &self.schedule, given, &How::default())?)
    }

    /// D in each of some schemes of one target.
    pub fn products(schemes: &[&Scheme], given: &Given<'_>) -> Vec<Result<Matrix, Error>> {
        match schemes {
            [Scheme { target: Some(target), .. }, _, ..] => {
                let schedules: Vec<&Schedule> = schemes.iter().map(|scheme| &scheme.schedule).collect();
                execute_each(target, &schedules, given).into_iter().map(|d| Ok(d?)).collect()
            }
            _ => schemes.iter().map(|scheme| scheme.product(given)).collect(),
        }
    }

    /// The results of dot products, each as long as the K of the schedule. C is left out where no case has one.
    pub fn dots(&self, cases: &[Case]) -> Result<Vec<Answer>, Error> {
        let d = self.codes(cases)?;
        Ok(d.iter().map(|code| answer(&d.format(), code)).collect())
    }

    /// The codes of D of dot products.
    pub fn codes(&self, cases: &[Case]) -> Result<Matrix, Error> {
        let (count, k) = (cases.len(), cases.first().map_or(0, |case| case.a.len()));
        let all = |format, (rows, columns), codes: fn(&Case) -> &[u64]| {
            Matrix::new(
                format,
                (count, rows, columns),
                cases.iter().flat_map(|case| codes(case).iter().copied()),
            )
        };
        let a = all(self.a, (1, k), |case| &case.a)?;
        let b = all(self.b, (k, 1), |case| &case.b)?;
        let has_c = self.schedule.c != AddC::Never && cases.iter().any(|case| case.c != 0);
        let c = has_c
            .then(|| Matrix::new(self.c(), (count, 1, 1), cases.iter().map(|case| case.c)))
            .transpose()?;
        let scales = match (self.scale(), self.schedule.scale_blocks) {
            (Some(scale), _) => {
                let along = k.div_ceil(scale.size);
                let of_a = all(scale.format, (1, along), |case| &case.scale_a)?;
                Some((of_a, all(scale.format, (along, 1), |case| &case.scale_b)?))
            }
            (None, Some(blocks)) => {
                let along = blocks.along(k);
                let ones = |shape| Matrix::from_fn(F32, shape, |_, _, _| F32.one_code());
                Some((ones((count, 1, along))?, ones((count, along, 1))?))
            }
            (None, None) => None,
        };
        let (scale_a, scale_b) = scales.as_ref().map(|(a, b)| (a, b)).unzip();
        self.product(&Given { a: (&a).into(), b: (&b).into(), c: c.as_ref(), scale_a, scale_b })
    }
}
