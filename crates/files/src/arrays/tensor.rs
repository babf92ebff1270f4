//! The elements of a file, before they are a matrix.

use bitmma_engine::formats::Format;
use bitmma_engine::{Error as Engine, Matrix};

use super::header::{Endian, Order};
use super::{Error, Within, elements};

/// Codes as a file holds them.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// The file, and the tensor's name in it.
    pub source_name: String,
    /// Any number of dimensions.
    pub shape: Vec<usize>,
    /// Of the elements in `bytes`.
    pub order: Order,
    /// Of each element.
    pub endian: Endian,
    /// Bytes of an element: 1, 2, 4 or 8; codes of 4 and 6 bits take one each.
    pub width: usize,
    /// Exactly as many as shape and width say.
    pub bytes: Vec<u8>,
}

/// A shape as people write it: `2×32×8`; `()` for a scalar and `(7)` for a vector.
pub fn dimensions(shape: &[usize]) -> String {
    match shape {
        [] => "()".to_owned(),
        [one] => format!("({one})"),
        several => several.iter().map(usize::to_string).collect::<Vec<_>>().join("×"),
    }
}

/// Bytes that elements of `bits` bits take, packed without gaps; `None` where no file could be so large.
pub(crate) fn packed_bytes(shape: &[usize], bits: usize) -> Option<usize> {
    let elements = shape.iter().try_fold(1usize, |product, &size| product.checked_mul(size))?;
    elements.checked_mul(bits).map(|bits| bits.div_ceil(8))
}

/// A format that the file has no type for, which `Output::new` refuses before.
pub(crate) fn no_type(format: &Format) -> std::io::Error {
    std::io::Error::other(format!("no type for {format}"))
}

impl Tensor {
    /// The matrix, or the matrices that a first dimension counts; rows and columns exchanged where
    /// `transposed`.
    pub fn into_matrix(self, format: Format, transposed: bool) -> Result<Matrix, Error> {
        let (blocks, first, second) = match self.shape[..] {
            [first, second] => (1, first, second),
            [blocks, first, second] => (blocks, first, second),
            _ => {
                bail!(
                    "{} has shape {}; a matrix has two dimensions, several matrices of one shape have three",
                    self.source_name,
                    dimensions(&self.shape)
                );
            }
        };
        // where one step along each dimension leads, in elements; saturates only where there is no element
        let (block_step, first_step, second_step) = match self.order {
            Order::C => (first.saturating_mul(second), second, 1),
            Order::Fortran => (1, blocks, blocks.saturating_mul(first)),
        };
        let (shape, steps) = match transposed {
            true => ((blocks, second, first), [block_step, second_step, first_step]),
            false => ((blocks, first, second), [block_step, first_step, second_step]),
        };
        let Tensor { source_name, endian, width, bytes, .. } = self;
        let (blocks, rows, columns) = shape;
        let Some(codes) = elements::codes((bytes, width, endian), shape, steps) else {
            return Err(Engine::TooLarge { blocks, rows, columns, bytes: width }).within(&source_name);
        };
        match Matrix::with_codes(format, shape, codes) {
            Err(Engine::Code { index, code, .. }) => {
                let (block, row, column) = (index / columns / rows, index / columns % rows, index % columns);
                let (first, second) = if transposed { (column, row) } else { (row, column) };
                let block = if self.shape.len() == 3 { format!("{block}, ") } else { String::new() };
                let (bits, largest) = (format.bits(), format.max_code());
                bail!(
                    "{source_name}[{block}{first}, {second}] is {code:#x}; {format} codes have {bits} bits, so {largest:#x} is \
                     the largest"
                );
            }
            matrix => matrix.within(&source_name),
        }
    }
}
