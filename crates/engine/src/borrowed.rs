//! Matrices of codes that someone else holds.

use bitmma_formats::Format;
use bitmma_kernel::{Panels, Slice, View};

use crate::error::Error;

/// `blocks` matrices of `rows` × `columns` codes of one format, borrowed: a [`Matrix`](crate::Matrix), or codes in memory whose rows or
/// columns lie some distance apart, such as those of a transposed matrix.
#[derive(Clone, Copy, Debug)]
pub struct MatrixRef<'m> {
    pub(crate) format: Format,
    pub(crate) view: View<'m>,
    /// Whether every code is one of the format.
    pub(crate) checked: bool,
    /// Where the codes are that `view` has only the shape of.
    pub(crate) panels: Option<&'m Panels>,
}

impl<'m> MatrixRef<'m> {
    /// Matrices among `codes`, which take as many bytes as the format's codes do; `strides` are the distances, in codes, from
    /// one matrix, row and column to the next. Nothing is copied.
    ///
    /// `None` where kernels cannot read them so: codes of another width, matrices without elements, elements beyond
    /// `codes`, and strides of which neither that of rows nor that of columns is one.
    pub fn new(
        format: Format,
        shape: (usize, usize, usize),
        strides: [usize; 3],
        codes: Slice<'m>,
    ) -> Option<MatrixRef<'m>> {
        let view = View::strided(codes, shape, strides).filter(|_| codes.bytes() == format.bytes())?;
        Some(MatrixRef { format, view, checked: false, panels: None })
    }

    /// B, K×N, that was prepared by a kernel.
    pub(crate) fn of_panels(format: Format, (k, n): (usize, usize), panels: &'m Panels) -> MatrixRef<'m> {
        let view = View::new(Slice::U8(&[]), (1, k, n));
        MatrixRef { format, view, checked: true, panels: Some(panels) }
    }

    /// An error where a code has more bits than the format.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let MatrixRef { format, view, checked, .. } = self;
        if *checked || format.bits() as usize == 8 * format.bytes() {
            return Ok(());
        }
        match view.above(format.max_code()) {
            None => Ok(()),
            Some((index, code)) => Err(Error::Code { index, code, format: format.name, bits: format.bits() }),
        }
    }

    /// The format of the codes.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Blocks, rows, columns.
    pub fn shape(&self) -> (usize, usize, usize) {
        (self.view.blocks, self.view.rows, self.view.columns)
    }
}
