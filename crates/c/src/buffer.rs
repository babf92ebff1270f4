//! The caller's memory: matrices of codes, and texts.

use std::ffi::{CStr, c_char, c_void};
use std::slice;

use bitmma_engine::formats::Format;
use bitmma_engine::{Code, Codes, Error, Matrix, MatrixRef, Slice, on_codes, shape_text};

use crate::status::Failure;
use crate::status::bitmma_status::{BITMMA_SIZE, BITMMA_UNKNOWN};

/// Codes to be read: matrices of one shape, row-major. A code takes 1, 2, 4 or 8 bytes, in the byte order of the machine:
/// the fewest that hold its format; 4- and 6-bit codes take one byte each, TF32 four. The address needs no alignment.
///
/// All zero says that there is no such operand.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct bitmma_input {
    /// The first code.
    pub codes: *const c_void,
    /// How many codes there are from there on. No more are read.
    pub count: usize,
    /// Codes from one row to the next, at least a row's length; 0: the row's length.
    pub leading: usize,
    /// Codes from one matrix to the next, where there are several; 0: rows times `leading`.
    pub stride: usize,
}

/// Codes to be written, as `bitmma_input`. What lies between rows and matrices stays as it is. It may be the memory of an
/// operand: all operands are read first.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct bitmma_output {
    /// The first code.
    pub codes: *mut c_void,
    /// How many codes there is room for.
    pub count: usize,
    /// Codes from one row to the next, at least a row's length; 0: the row's length.
    pub leading: usize,
    /// Codes from one matrix to the next, where there are several; 0: rows times `leading`.
    pub stride: usize,
}

/// Blocks, rows, columns.
pub(crate) type Shape = (usize, usize, usize);

/// Where the rows of some matrices are, in codes.
#[derive(Clone, Copy)]
pub(crate) struct Layout {
    shape: Shape,
    leading: usize,
    stride: usize,
}

impl Layout {
    /// Checks that matrices of `shape` fit into `count` codes.
    pub(crate) fn new(
        name: &str,
        shape: Shape,
        (count, leading, stride): (usize, usize, usize),
    ) -> Result<Layout, Failure> {
        let wrong = |text: String| Err(Failure::new(BITMMA_SIZE, format!("{name}: {text}")));
        let (blocks, rows, columns) = shape;
        let leading = if leading == 0 { columns } else { leading };
        if leading < columns {
            return wrong(format!("leading is {leading}; a row has {columns} codes"));
        }
        if shape.0 == 0 || shape.1 == 0 || shape.2 == 0 {
            return Ok(Layout { shape: (0, 0, 0), leading, stride }); // beside a zero the others may be anything
        }
        let too_large = || Failure::new(BITMMA_SIZE, format!("{name}: {} is too large", shape_text(shape)));
        let matrix = (rows - 1).checked_mul(leading).and_then(|codes| codes.checked_add(columns));
        let matrix = matrix.ok_or_else(too_large)?;
        let stride = match stride {
            0 if blocks > 1 => rows.checked_mul(leading).ok_or_else(too_large)?,
            given => given,
        };
        if blocks > 1 && stride < matrix {
            return wrong(format!("stride is {stride}; a matrix has {matrix} codes from first to last"));
        }
        let total = (blocks - 1).checked_mul(stride).and_then(|codes| codes.checked_add(matrix));
        // no object in memory is larger than that
        let total = total.filter(|&codes| codes <= isize::MAX as usize / 8).ok_or_else(too_large)?;
        if count < total {
            let shape = shape_text(shape);
            return wrong(format!("{count} codes; {shape} with rows {leading} apart takes {total}"));
        }
        Ok(Layout { shape, leading, stride })
    }

    /// Codes from the first to the last.
    fn extent(&self) -> usize {
        let (blocks, rows, columns) = self.shape;
        if self.len() == 0 { 0 } else { (blocks - 1) * self.stride + (rows - 1) * self.leading + columns }
    }

    /// Codes of all matrices.
    fn len(&self) -> usize {
        let (blocks, rows, columns) = self.shape;
        blocks * rows * columns
    }

    /// Where each row begins, and how long it is. Without gaps all are one row, which is copied at once.
    fn rows(&self) -> (impl Iterator<Item = usize> + use<>, usize) {
        let Layout { shape, leading, stride } = *self;
        let (blocks, rows, columns) = if self.extent() == self.len() { (1, 1, self.len()) } else { shape };
        let rows = if columns == 0 { 0 } else { rows };
        let starts =
            (0..blocks).flat_map(move |block| (0..rows).map(move |row| block * stride + row * leading));
        (starts, columns)
    }
}

/// Matrices of the caller, or a copy of them.
pub(crate) enum Held<'m> {
    Lent(MatrixRef<'m>),
    Copy(Matrix),
}

impl Held<'_> {
    pub(crate) fn matrix(&self) -> MatrixRef<'_> {
        match self {
            Held::Lent(matrix) => *matrix,
            Held::Copy(matrix) => matrix.into(),
        }
    }
}

impl bitmma_input {
    /// Whether there is no such operand.
    pub(crate) fn is_none(&self) -> bool {
        self.codes.is_null() && self.count == 0
    }

    /// The layout of matrices that lie here; NULL is refused.
    pub(crate) fn layout(&self, name: &str, shape: Shape) -> Result<Layout, Failure> {
        let layout = Layout::new(name, shape, (self.count, self.leading, self.stride))?;
        if self.codes.is_null() && layout.len() > 0 {
            return Err(Failure::null(&format!("{name}.codes")));
        }
        Ok(layout)
    }

    /// The matrices that lie here.
    ///
    /// # Safety
    ///
    /// `count` codes can be read.
    pub(crate) unsafe fn read(&self, name: &str, format: Format, shape: Shape) -> Result<Matrix, Failure> {
        let layout = self.layout(name, shape)?;
        // SAFETY: the layout's rows lie within `count` codes
        let codes = unsafe {
            match format.bytes() {
                1 => rows(self.codes.cast(), layout).map(Codes::U8),
                2 => rows(self.codes.cast(), layout).map(Codes::U16),
                4 => rows(self.codes.cast(), layout).map(Codes::U32),
                _ => rows(self.codes.cast(), layout).map(Codes::U64),
            }
        };
        let (blocks, rows, columns) = shape;
        let too_large = Error::TooLarge { blocks, rows, columns, bytes: format.bytes() };
        let named = |failure: Failure| Failure::new(failure.status, format!("{name}: {}", failure.message));
        let matrix = Matrix::with_codes(format, shape, codes.ok_or(too_large)?);
        matrix.map_err(|error| named(error.into()))
    }

    /// The matrices that lie here, copied only where they cannot be read in place: at an address that is not aligned, and
    /// where a code may have too many bits.
    ///
    /// # Safety
    ///
    /// `count` codes can be read, and nobody writes to them as long as the matrices are in use.
    pub(crate) unsafe fn lend<'m>(
        &self,
        name: &str,
        format: Format,
        shape: Shape,
    ) -> Result<Held<'m>, Failure> {
        /// So many codes from an address on, if it is aligned for them.
        ///
        /// # Safety
        ///
        /// As many codes can be read, and nobody writes to them.
        unsafe fn slice<'m, T: Code>(from: *const c_void, count: usize) -> Option<Slice<'m>> {
            let from = from.cast::<T>();
            // SAFETY: the caller's; the address is aligned, and not NULL where there are codes
            (from.is_aligned() && count > 0).then(|| T::slice(unsafe { slice::from_raw_parts(from, count) }))
        }
        let layout = self.layout(name, shape)?;
        let extent = layout.extent();
        // SAFETY: the layout's rows lie within `count` codes
        let codes = unsafe {
            match (format.bits(), format.bytes()) {
                (8, 1) => slice::<u8>(self.codes, extent),
                (16, 2) => slice::<u16>(self.codes, extent),
                (32, 4) => slice::<u32>(self.codes, extent),
                (64, 8) => slice::<u64>(self.codes, extent),
                _ => None,
            }
        };
        let strides = [layout.stride, layout.leading, 1];
        match codes.and_then(|codes| MatrixRef::new(format, shape, strides, codes)) {
            Some(matrix) => Ok(Held::Lent(matrix)),
            // SAFETY: the caller's
            None => unsafe { self.read(name, format, shape) }.map(Held::Copy),
        }
    }

    /// Codes of `bytes` bytes each, `step` codes from one to the next.
    ///
    /// # Safety
    ///
    /// As many can be read as are asked for.
    pub(crate) unsafe fn gather(&self, bytes: usize, step: usize, into: &mut [u64]) {
        unsafe fn all<T: Copy + Into<u64>>(from: *const c_void, step: usize, into: &mut [u64]) {
            let from = from.cast::<T>();
            for (index, to) in into.iter_mut().enumerate() {
                // SAFETY: the caller's
                *to = unsafe { from.add(index * step).read_unaligned() }.into();
            }
        }
        // SAFETY: the caller's
        unsafe {
            match bytes {
                1 => all::<u8>(self.codes, step, into),
                2 => all::<u16>(self.codes, step, into),
                4 => all::<u32>(self.codes, step, into),
                _ => all::<u64>(self.codes, step, into),
            }
        }
    }
}

/// The codes of all rows, without what lies between them; `None` if they cannot be held.
///
/// # Safety
///
/// The rows can be read.
unsafe fn rows<T: Copy>(from: *const T, layout: Layout) -> Option<Vec<T>> {
    let mut codes: Vec<T> = Vec::new();
    codes.try_reserve_exact(layout.len()).ok()?;
    let (starts, columns) = layout.rows();
    for (index, start) in starts.enumerate() {
        // SAFETY: the row can be read, and there is room for all of them; bytes, as `from` may not be aligned
        unsafe {
            let to = codes.as_mut_ptr().add(index * columns).cast::<u8>();
            to.copy_from_nonoverlapping(from.add(start).cast(), columns * size_of::<T>());
        }
    }
    // SAFETY: every row was written
    unsafe { codes.set_len(layout.len()) };
    Some(codes)
}

impl bitmma_output {
    /// The layout of matrices that are to lie here; NULL is refused.
    pub(crate) fn layout(&self, name: &str, shape: Shape) -> Result<Layout, Failure> {
        let input = bitmma_input {
            codes: self.codes.cast_const(),
            count: self.count,
            leading: self.leading,
            stride: self.stride,
        };
        input.layout(name, shape)
    }

    /// Writes codes, row after row.
    ///
    /// # Safety
    ///
    /// `count` codes can be written, and the layout is of this output.
    pub(crate) unsafe fn write(&self, layout: &Layout, codes: &Codes) {
        // SAFETY: the layout's rows lie within `count` codes
        on_codes!(codes, codes => unsafe { write_rows(self.codes.cast(), layout, codes) });
    }
}

/// # Safety
///
/// The rows can be written.
unsafe fn write_rows<T: Copy>(to: *mut T, layout: &Layout, codes: &[T]) {
    let (starts, columns) = layout.rows();
    for (start, row) in starts.zip(codes.chunks_exact(columns.max(1))) {
        // SAFETY: the row can be written; bytes, as `to` may not be aligned
        unsafe {
            let to = to.add(start).cast::<u8>();
            to.copy_from_nonoverlapping(row.as_ptr().cast(), size_of_val(row));
        }
    }
}

/// An error where the address is NULL.
pub(crate) fn not_null<T>(name: &str, address: *const T) -> Result<(), Failure> {
    if address.is_null() { Err(Failure::null(name)) } else { Ok(()) }
}

/// What is at an address that must not be NULL.
///
/// # Safety
///
/// NULL, or something valid that stays as it is while it is used.
pub(crate) unsafe fn required<'t, T>(name: &str, address: *const T) -> Result<&'t T, Failure> {
    // SAFETY: the caller's
    unsafe { address.as_ref() }.ok_or_else(|| Failure::null(name))
}

/// The text at an address.
///
/// # Safety
///
/// NULL, or a text that ends with a zero and stays as it is while it is used.
pub(crate) unsafe fn text<'t>(name: &str, address: *const c_char) -> Result<&'t str, Failure> {
    // SAFETY: the caller's
    match unsafe { optional_text(name, address)? } {
        Some(text) => Ok(text),
        None => Err(Failure::null(name)),
    }
}

/// As [`text`]; `None` for NULL.
///
/// # Safety
///
/// As [`text`].
pub(crate) unsafe fn optional_text<'t>(
    name: &str,
    address: *const c_char,
) -> Result<Option<&'t str>, Failure> {
    if address.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's
    let text = unsafe { CStr::from_ptr(address) }.to_str();
    text.map(Some).map_err(|_| Failure::new(BITMMA_UNKNOWN, format!("{name} is not UTF-8")))
}
