//! Whether operands have the formats and shapes that are expected of them.

use bitmma_formats::{BlockScale, Format};

use crate::case::Operands;
use crate::error::Error;
use crate::matrix::{Matrix, shape_text};

/// Blocks, rows, columns.
type Shape = (usize, usize, usize);

/// The format and the shape (blocks, rows, columns) of a matrix.
pub type Described = (Format, Shape);

/// The operands that an instruction, a model or a product takes.
pub(crate) struct Expected<'e> {
    /// What takes them, where a format is wrong or scale factors are missing.
    pub(crate) unit: &'e str,
    /// What takes them, where a shape is wrong.
    pub(crate) product: &'e str,
    pub(crate) a: Described,
    pub(crate) b: Described,
    pub(crate) c: Described,
    /// Of A and of B.
    pub(crate) scales: Option<[Described; 2]>,
    /// What the scales are called.
    pub(crate) factors: &'e str,
}

impl<'e> Expected<'e> {
    /// What a unit or a model takes: `blocks` products of M×N×K, with its own scale factors.
    pub(crate) fn of(
        name: &'e str,
        [a, b, c]: [Format; 3],
        scale: Option<BlockScale>,
        (blocks, m, n, k): (usize, usize, usize, usize),
    ) -> Expected<'e> {
        let scales = scale.map(|scale| {
            let along = k.div_ceil(scale.size);
            [(m, along), (along, n)].map(|(rows, columns)| (scale.format, (blocks, rows, columns)))
        });
        Expected {
            unit: name,
            product: name,
            a: (a, (blocks, m, k)),
            b: (b, (blocks, k, n)),
            c: (c, (blocks, m, n)),
            scales,
            factors: "factors",
        }
    }

    /// [`Expected::check_each`] of an instruction's operands.
    pub(crate) fn check(&self, operands: &Operands<'_>) -> Result<(), Error> {
        let Operands { a, b, c, scale_a, scale_b } = *operands;
        let described = |matrix: &Matrix| (matrix.format(), matrix.shape());
        self.check_each(
            [described(a), described(b)],
            [c, scale_a, scale_b].map(|matrix| matrix.map(described)),
        )
    }

    /// An error that names the first operand that is not as expected; C may be missing, scales may not.
    pub(crate) fn check_each(
        &self,
        [a, b]: [Described; 2],
        [c, scale_a, scale_b]: [Option<Described>; 3],
    ) -> Result<(), Error> {
        self.one("A", a, self.a)?;
        self.one("B", b, self.b)?;
        if let Some(c) = c {
            self.one("C", c, self.c)?;
        }
        for (index, (operand, given)) in [("scale A", scale_a), ("scale B", scale_b)].into_iter().enumerate()
        {
            let wrong =
                |expected: String| Err(Error::Scale { operand, unit: self.unit.to_owned(), expected });
            match (self.scales.map(|scales| scales[index]), given) {
                (None, None) => {}
                (None, Some(_)) => return wrong("no scale factors".to_owned()),
                (Some((format, shape)), None) => {
                    return wrong(format!("{} {format} {}", shape_text(shape), self.factors));
                }
                (Some(expected), Some(given)) => self.one(operand, given, expected)?,
            }
        }
        Ok(())
    }

    fn one(
        &self,
        operand: &'static str,
        (given, size): Described,
        (format, shape): Described,
    ) -> Result<(), Error> {
        if given != format {
            return Err(Error::Format {
                operand,
                given: given.name,
                unit: self.unit.to_owned(),
                expected: format.name,
            });
        }
        if size != shape {
            return Err(Error::Shape {
                operand,
                given: shape_text(size),
                unit: self.product.to_owned(),
                expected: shape_text(shape),
            });
        }
        Ok(())
    }
}
