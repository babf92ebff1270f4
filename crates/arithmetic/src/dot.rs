//! The dot product of codes, with what is lost where they are read.

use crate::error::ModelError;
use crate::model::Model;
use crate::reading::report;
use crate::run::{Operands, Prepared, Side};
use crate::trace::{Step, Trace};

impl Model {
    /// The code of D for one dot product.
    pub fn dot(&self, operands: &Operands<'_>) -> Result<u64, ModelError> {
        self.checked_dot(operands, &mut ())
    }

    /// The code of D for one dot product, and every step that led to it.
    pub fn explain(&self, operands: &Operands<'_>) -> Result<(u64, Vec<Step>), ModelError> {
        let mut steps = Vec::new();
        let d = self.checked_dot(operands, &mut steps)?;
        Ok((d, steps))
    }

    fn checked_dot<T: Trace>(&self, operands: &Operands<'_>, trace: &mut T) -> Result<u64, ModelError> {
        let k = operands.a.len();
        if operands.b.len() != k {
            return Err(ModelError::Unequal { a: k, b: operands.b.len() });
        }
        let prepared = Prepared::new(self, k)?;
        prepared.check(operands)?;
        Ok(prepared.dot_of_codes(operands, trace))
    }
}

impl Prepared<'_> {
    /// The code of D, of operands that [`Prepared::check`] takes.
    pub fn dot_of_codes<T: Trace>(&self, operands: &Operands<'_>, trace: &mut T) -> u64 {
        report(self, operands, trace);
        let Operands { a, b, c, scale_a, scale_b } = *operands;
        let a = self.vector(Side::A, a.iter().copied());
        let b = self.vector(Side::B, b.iter().copied());
        let scale_a = self.scales(scale_a.iter().copied());
        let scale_b = self.scales(scale_b.iter().copied());
        self.dot(&a, &b, c, &scale_a, &scale_b, trace)
    }
}
