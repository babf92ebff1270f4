//! One instruction, many of them, and one dot product.

use bitmma::arithmetic::run::Side;
use bitmma::formats::Format;
use bitmma::{Error, Matrix, Model, Operands, Signature};

use crate::buffer::{Shape, bitmma_input, bitmma_output, required};
use crate::status::bitmma_status::{BITMMA_CODE, BITMMA_SCALE, BITMMA_SIZE};
use crate::status::{Failure, bitmma_status, guarded};
use crate::unit::bitmma_unit;

/// What goes into a product. Without C (all zero) C is +0. Scale factors are for units that take them, which must have
/// them.
#[allow(non_camel_case_types)]
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct bitmma_operands {
    /// A: M×K.
    pub a: bitmma_input,
    /// B: K×N.
    pub b: bitmma_input,
    /// C: M×N.
    pub c: bitmma_input,
    /// Scale factors of A: M × K/scale_size.
    pub scale_a: bitmma_input,
    /// Scale factors of B: K/scale_size × N.
    pub scale_b: bitmma_input,
}

/// The operands of a product, in memory of our own.
pub(crate) struct Read {
    pub(crate) a: Matrix,
    pub(crate) b: Matrix,
    pub(crate) c: Option<Matrix>,
    pub(crate) scales: Option<(Matrix, Matrix)>,
}

impl Read {
    pub(crate) fn operands(&self) -> Operands<'_> {
        let (scale_a, scale_b) = self.scales.as_ref().map(|(a, b)| (a, b)).unzip();
        Operands { a: &self.a, b: &self.b, c: self.c.as_ref(), scale_a, scale_b }
    }
}

impl bitmma_operands {
    /// Copies of all matrices.
    ///
    /// # Safety
    ///
    /// Each input can be read.
    pub(crate) unsafe fn read(&self, name: &str, wanted: &Wanted) -> Result<Read, Failure> {
        let Wanted { a, b, c, scales } = *wanted;
        // SAFETY: the caller's
        unsafe {
            Ok(Read {
                a: self.a.read("A", a.0, a.1)?,
                b: self.b.read("B", b.0, b.1)?,
                c: if self.c.is_none() { None } else { Some(self.c.read("C", c.0, c.1)?) },
                scales: match scales {
                    None => {
                        self.refuse_scales(name)?;
                        None
                    }
                    Some([of_a, of_b]) => Some((
                        present("scale A", &self.scale_a, of_a.0)?.read("scale A", of_a.0, of_a.1)?,
                        present("scale B", &self.scale_b, of_b.0)?.read("scale B", of_b.0, of_b.1)?,
                    )),
                },
            })
        }
    }

    fn refuse_scales(&self, name: &str) -> Result<(), Failure> {
        for (operand, input) in [("A", &self.scale_a), ("B", &self.scale_b)] {
            if !input.is_none() {
                let message = format!("scale factors of {operand} are given; {name} takes none");
                return Err(Failure::new(BITMMA_SCALE, message));
            }
        }
        Ok(())
    }
}

/// An error where scale factors are missing.
fn present<'i>(operand: &str, input: &'i bitmma_input, format: Format) -> Result<&'i bitmma_input, Failure> {
    if input.is_none() {
        return Err(Failure::new(BITMMA_SCALE, format!("{operand} is missing; it takes {format} codes")));
    }
    Ok(input)
}

/// Formats and shapes of the operands of a product.
pub(crate) struct Wanted {
    pub(crate) a: (Format, Shape),
    pub(crate) b: (Format, Shape),
    pub(crate) c: (Format, Shape),
    pub(crate) scales: Option<[(Format, Shape); 2]>,
}

impl Wanted {
    /// `blocks` products of M×N×K by a model, its own scale factors among them.
    pub(crate) fn of(model: &Model, blocks: usize, (m, n, k): (usize, usize, usize)) -> Wanted {
        let scales = model.scale.map(|scale| {
            let along = k.div_ceil(scale.size);
            [(scale.format, (blocks, m, along)), (scale.format, (blocks, along, n))]
        });
        let Model { a, b, c, .. } = *model;
        Wanted { a: (a, (blocks, m, k)), b: (b, (blocks, k, n)), c: (c, (blocks, m, n)), scales }
    }
}

/// D = A·B + C by `count` instructions, all of the unit's shape.
///
/// Matrix after matrix: those of the first instruction (as many as the unit has blocks), then those of the second, …
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmma_multiply(
    unit: *const bitmma_unit,
    operands: *const bitmma_operands,
    count: usize,
    d: *const bitmma_output,
) -> bitmma_status {
    // SAFETY: the caller's unit and memory
    guarded(|| unsafe {
        let unit = required("unit", unit)?;
        let operands = required("operands", operands)?;
        let d = required("d", d)?;
        let signature = unit.signature();
        let blocks = count.checked_mul(signature.blocks);
        let blocks = blocks.ok_or_else(|| Failure::new(BITMMA_SIZE, format!("count is {count}")))?;
        if count == 0 {
            return Ok(());
        }
        let layout = d.layout("D", (blocks, signature.m, signature.n))?;
        let wanted = Wanted::of(unit.model(), blocks, (signature.m, signature.n, signature.k));
        let read = operands.read(&signature.name, &wanted)?;
        let answer = unit.simulator.multiply_blocks(&read.operands())?;
        d.write(&layout, answer.codes());
        Ok(())
    })
}

/// A vector of one row or one column.
struct Vector<'v> {
    input: &'v bitmma_input,
    length: usize,
    step: usize,
    bytes: usize,
}

impl<'v> Vector<'v> {
    /// # Safety
    ///
    /// The input can be read.
    unsafe fn new(
        name: &str,
        input: &'v bitmma_input,
        format: Format,
        (rows, columns): (usize, usize),
    ) -> Result<Vector<'v>, Failure> {
        input.layout(name, (1, rows, columns))?;
        let step = if rows > 1 { input.leading.max(1) } else { 1 };
        let vector = Vector { input, length: rows * columns, step, bytes: format.bytes() };
        if format.bits() as usize != 8 * format.bytes() {
            let largest = format.max_code();
            if let Some((index, code)) = vector.codes().enumerate().find(|&(_, code)| code > largest) {
                let error = Error::Code { index, code, format: format.name, bits: format.bits() };
                return Err(Failure::new(BITMMA_CODE, format!("{name}: {error}")));
            }
        }
        Ok(vector)
    }

    fn codes(&self) -> impl Iterator<Item = u64> {
        // SAFETY: the layout was checked
        (0..self.length).map(|index| unsafe { self.input.code(self.bytes, index * self.step) })
    }
}

/// The vectors of a dot product.
pub(crate) struct Dot<'d> {
    a: Vector<'d>,
    b: Vector<'d>,
    c: u64,
    scales: Option<(Vector<'d>, Vector<'d>)>,
}

impl<'d> Dot<'d> {
    /// # Safety
    ///
    /// Each input can be read.
    pub(crate) unsafe fn read(unit: &bitmma_unit, operands: &'d bitmma_operands) -> Result<Dot<'d>, Failure> {
        let Signature { k, a, b, c, scale, .. } = *unit.signature();
        // SAFETY: the caller's
        unsafe {
            Ok(Dot {
                a: Vector::new("A", &operands.a, a, (1, k))?,
                b: Vector::new("B", &operands.b, b, (k, 1))?,
                c: match operands.c.is_none() {
                    true => 0,
                    false => Vector::new("C", &operands.c, c, (1, 1))?.codes().next().unwrap_or(0),
                },
                scales: match scale {
                    None => {
                        operands.refuse_scales(&unit.signature().name)?;
                        None
                    }
                    Some(scale) => {
                        let along = k / scale.size;
                        let of_a = present("scale A", &operands.scale_a, scale.format)?;
                        let of_b = present("scale B", &operands.scale_b, scale.format)?;
                        Some((
                            Vector::new("scale A", of_a, scale.format, (1, along))?,
                            Vector::new("scale B", of_b, scale.format, (along, 1))?,
                        ))
                    }
                },
            })
        }
    }

    /// The same with codes of our own.
    pub(crate) fn case(&self) -> bitmma::Case {
        let scales = |vector: Option<&Vector<'_>>| vector.map_or(Vec::new(), |one| one.codes().collect());
        bitmma::Case {
            a: self.a.codes().collect(),
            b: self.b.codes().collect(),
            c: self.c,
            scale_a: scales(self.scales.as_ref().map(|(a, _)| a)),
            scale_b: scales(self.scales.as_ref().map(|(_, b)| b)),
        }
    }
}

/// One element of D: A is a row of K codes, B a column (`leading` apart; 0: 1), C one code; scale factors likewise.
///
/// `d` receives the code, in the low bits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bitmma_dot(
    unit: *const bitmma_unit,
    operands: *const bitmma_operands,
    d: *mut u64,
) -> bitmma_status {
    // SAFETY: the caller's unit and memory
    guarded(|| unsafe {
        let unit = required("unit", unit)?;
        let operands = required("operands", operands)?;
        if d.is_null() {
            return Err(Failure::null("d"));
        }
        let dot = Dot::read(unit, operands)?;
        let prepared = unit.simulator.prepared()?;
        let a = prepared.vector(Side::A, dot.a.codes());
        let b = prepared.vector(Side::B, dot.b.codes());
        let (scale_a, scale_b) = match &dot.scales {
            None => (Vec::new(), Vec::new()),
            Some((a, b)) => (prepared.scales(a.codes()), prepared.scales(b.codes())),
        };
        d.write_unaligned(prepared.dot(&a, &b, dot.c, &scale_a, &scale_b, &mut ()));
        Ok(())
    })
}
