//! What a product is made of along K.

use std::fmt;
use std::sync::{Arc, OnceLock};

use bitmma_arithmetic::{Model, ModelError, Order, Prepared};
use bitmma_catalogue::lookup::Found;
use bitmma_catalogue::{Architecture, Revision, find};
use bitmma_formats::text::display;
use bitmma_formats::{F32, F64, Format, decode};
use bitmma_kernel::Level;

use super::convert::OutputConversion;
use crate::error::{Error, option};
use crate::kernel::Executor;
use crate::simulate::model_of;

/// Elements along K that a model takes at a time, at most: 16 times the longest sum. Shorter operands are padded to a step,
/// so it bounds what a product of a few elements takes.
pub const MAX_STEP: usize = 1 << 20;

/// What goes along K: a model, and how many elements it takes at a time.
#[derive(Clone, Debug)]
pub struct Target {
    pub(super) name: String,
    pub(super) model: Model,
    pub(super) step: usize,
    plan: Planned,
}

/// How products are computed on the best instruction set, worked out when it is first needed.
#[derive(Clone, Default)]
struct Planned(Arc<OnceLock<Arc<Executor<'static>>>>);

impl fmt::Debug for Planned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Planned")
    }
}

impl Target {
    /// The instruction of that name; its K elements at a time (of a sparse A, the
    /// elements stored, with the rows of B that they meet).
    pub fn instruction(architecture: Architecture, name: &str, revision: Revision) -> Result<Target, Error> {
        Target::found(&find(architecture, name)?, revision)
    }

    /// An instruction that was looked up.
    pub fn found(found: &Found, revision: Revision) -> Result<Target, Error> {
        let row = found.instruction;
        let (model, plan) = (model_of(found, revision)?, Planned::default());
        Ok(Target { name: row.name(), model, step: row.products(), plan })
    }

    /// A model, `step` elements at a time, at most [`MAX_STEP`]; by default as many as one elementary operation takes
    /// (L_max) and as scale blocks and the order of its elements ask for.
    pub fn of_model(model: Model, step: Option<usize>) -> Result<Target, Error> {
        let step = step.unwrap_or_else(|| default_step(&model));
        if step > MAX_STEP {
            return Err(option("step", step, format!("it is at most {MAX_STEP}, as K is padded to it")));
        }
        Prepared::new(&model, step).map_err(|error| match error {
            ModelError::Length { k, model, multiple } => {
                option("step", k, format!("{model} takes multiples of {multiple}, at least {multiple}"))
            }
            other => other.into(),
        })?;
        Ok(Target { name: model.operation.name().to_owned(), model, step, plan: Planned::default() })
    }

    /// The instruction, with ranges where its name has some, or the model's family.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Elements along K at a time: the instruction's K.
    pub fn step(&self) -> usize {
        self.step
    }

    /// Whether a kernel computes its products, on the best instruction set there is.
    pub fn has_kernel(&self) -> bool {
        self.plan(None).is_ok_and(|plan| plan.has_kernel())
    }

    /// How products are computed, on the best instruction set there is unless one is named.
    pub(super) fn plan(&self, level: Option<Level>) -> Result<Arc<Executor<'static>>, Error> {
        let best = level.is_none_or(|level| level == Level::best());
        if let Some(plan) = self.plan.0.get().filter(|_| best) {
            return Ok(Arc::clone(plan));
        }
        let plan = Arc::new(Executor::of(Prepared::owned(self.model.clone(), self.step)?, level));
        Ok(if best { Arc::clone(self.plan.0.get_or_init(|| plan)) } else { plan })
    }

    /// W: the format in which partial results are added and `alpha` and `beta` are given. Integers, of which neither is done, are
    /// numbers of FP64.
    pub fn working_format(&self) -> Format {
        if self.model.is_integer()
            || [self.model.c, self.model.d].iter().any(|format| format.bits() > F32.bits())
        {
            F64
        } else {
            F32
        }
    }

    /// A number as [`GemmOptions`](super::GemmOptions) takes alpha and beta: the code of a double, rounded to W. `name` is the
    /// option's. An error where a finite number is beyond W's largest.
    pub fn factor(&self, name: &'static str, double: u64) -> Result<u64, Error> {
        let working = self.working_format();
        let code = OutputConversion::nearest(working).of(F64, 1)(double);
        if decode(&F64, double).is_finite() && !decode(&working, code).is_finite() {
            let largest = display(&working, working.max_finite_code());
            let allowed = format!("it is rounded to {working}, whose largest number is {largest}");
            return Err(option(name, display(&F64, double), allowed));
        }
        Ok(code)
    }

    /// K after padding: the next multiple of [`Target::step`].
    pub fn padded(&self, k: usize) -> Option<usize> {
        k.checked_next_multiple_of(self.step)
    }

    /// Parts of whole steps that K is cut into where `split_k` are asked for: as many as there are steps, at most.
    pub fn parts(&self, k: usize, split_k: usize) -> usize {
        split_k.min(k.div_ceil(self.step))
    }
}

/// The least multiple of L_max, times the parts that K is cut into, that every block and period divides.
fn default_step(model: &Model) -> usize {
    let length = model.operation.max_length().max(1);
    let period = match model.lowering.order {
        Order::Interleaved { period, .. } => period.max(1),
        Order::Sequential | Order::Reversed => 1,
    };
    let parts = model.lowering.parts();
    let block = model.scale.map_or(1, |scale| scale.size.max(1));
    [period, block].into_iter().fold(length.saturating_mul(parts), |step, other| {
        let (mut x, mut y) = (step, other);
        while y > 0 {
            (x, y) = (y, x % y);
        }
        step.saturating_mul(other / x)
    })
}
