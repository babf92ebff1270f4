//! One instruction, many of them, and one dot product.

use bitmma_engine::arithmetic::run;
use bitmma_engine::formats::{BlockScale, F32, Format};
use bitmma_engine::gemm::ScaleBlocks;
use bitmma_engine::{Error, Matrix, Model, Operands, Signature};

use crate::buffer::{Held, Shape, bitmma_input, bitmma_output, not_null, required};
use crate::status::bitmma_status::{BITMMA_CODE, BITMMA_SCALE, BITMMA_SIZE};
use crate::status::{Failure, bitmma_status, guarded};
use crate::unit::bitmma_unit;

/// What goes into a product. Without C (all zero) C is +0. Scale factors are for units that take them, which must have
/// them.
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

/// The operands of a product, in memory of our own: A and B in that of others where they are lent.
pub(crate) struct Read<Factor = Matrix> {
    pub(crate) a: Factor,
    pub(crate) b: Factor,
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
        // SAFETY: the caller's
        unsafe {
            self.read_with(name, wanted, |input, name, (format, shape)| input.read(name, format, shape))
        }
    }

    /// A and B where they are, copies of the others.
    ///
    /// # Safety
    ///
    /// Each input can be read, and nobody writes to A and B as long as they are in use.
    pub(crate) unsafe fn lend<'m>(&self, name: &str, wanted: &Wanted) -> Result<Read<Held<'m>>, Failure> {
        // SAFETY: the caller's
        unsafe {
            self.read_with(name, wanted, |input, name, (format, shape)| input.lend(name, format, shape))
        }
    }

    /// A and B as `factor` reads them, copies of the others.
    ///
    /// # Safety
    ///
    /// Each input can be read, A and B as `factor` does it.
    unsafe fn read_with<Factor>(
        &self,
        name: &str,
        wanted: &Wanted,
        factor: impl Fn(&bitmma_input, &str, (Format, Shape)) -> Result<Factor, Failure>,
    ) -> Result<Read<Factor>, Failure> {
        let Wanted { a, b, c, scales } = *wanted;
        // SAFETY: the caller's
        unsafe {
            Ok(Read {
                a: factor(&self.a, "A", a)?,
                b: factor(&self.b, "B", b)?,
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

    pub(crate) fn refuse_scales(&self, name: &str) -> Result<(), Failure> {
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

    /// The same with FP32 scales of blocks, if some are given; where the model takes factors of its own, the product says
    /// what is wrong.
    pub(crate) fn of_product(
        model: &Model,
        scale_blocks: Option<ScaleBlocks>,
        products: usize,
        (m, n, k): (usize, usize, usize),
    ) -> Wanted {
        let mut wanted = Wanted::of(model, products, (m, n, k));
        if let (Some(blocks), None) = (scale_blocks, wanted.scales) {
            let along = blocks.along(k);
            let (rows, columns) = (m.div_ceil(blocks.rows.max(1)), n.div_ceil(blocks.columns.max(1)));
            wanted.scales = Some([(F32, (products, rows, along)), (F32, (products, along, columns))]);
        }
        wanted
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

/// Takes the codes of a row (or of a column), which are as many as there is room for.
///
/// # Safety
///
/// The input can be read.
unsafe fn gather(
    name: &str,
    input: &bitmma_input,
    format: &Format,
    (rows, columns): (usize, usize),
    into: &mut [u64],
) -> Result<(), Failure> {
    input.layout(name, (1, rows, columns))?;
    // SAFETY: the layout was checked
    unsafe { input.gather(format.bytes(), if rows > 1 { input.leading.max(1) } else { 1 }, into) };
    let (bits, largest) = (format.bits(), format.max_code());
    if bits as usize != 8 * format.bytes()
        && let Some((index, &code)) = into.iter().enumerate().find(|&(_, &code)| code > largest)
    {
        let error = Error::Code { index, code, format: format.name, bits };
        return Err(Failure::new(BITMMA_CODE, format!("{name}: {error}")));
    }
    Ok(())
}

/// Room for the codes of a dot product, in place for short ones: those of most instructions.
pub(crate) struct Room {
    near: [u64; 64],
    far: Vec<u64>,
}

impl Room {
    pub(crate) fn new() -> Room {
        Room { near: [0; 64], far: Vec::new() }
    }
}

/// Reads the operands of a dot product.
///
/// # Safety
///
/// Each input can be read.
pub(crate) unsafe fn read_dot<'r>(
    unit: &bitmma_unit,
    operands: &bitmma_operands,
    room: &'r mut Room,
) -> Result<run::Operands<'r>, Failure> {
    let Signature { k, a, b, c, scale, name, .. } = unit.signature();
    let factors = scale.map_or(0, |scale| k / scale.size);
    let count = 2 * (k + factors);
    let all = match room.near.get_mut(..count) {
        Some(near) => near,
        None => {
            room.far.resize(count, 0);
            &mut room.far
        }
    };
    let (of_a, all) = all.split_at_mut(*k);
    let (of_b, scales) = all.split_at_mut(*k);
    let (scale_a, scale_b) = scales.split_at_mut(factors);
    let mut of_c = [0];
    // SAFETY: the caller's
    unsafe {
        gather("A", &operands.a, a, (1, *k), of_a)?;
        gather("B", &operands.b, b, (*k, 1), of_b)?;
        if !operands.c.is_none() {
            gather("C", &operands.c, c, (1, 1), &mut of_c)?;
        }
        match scale {
            None => operands.refuse_scales(name)?,
            Some(BlockScale { format, .. }) => {
                let a = present("scale A", &operands.scale_a, *format)?;
                let b = present("scale B", &operands.scale_b, *format)?;
                gather("scale A", a, format, (1, factors), scale_a)?;
                gather("scale B", b, format, (factors, 1), scale_b)?;
            }
        }
    }
    Ok(run::Operands { a: of_a, b: of_b, c: of_c[0], scale_a, scale_b })
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
        not_null("d", d)?;
        d.write_unaligned(unit.simulator.dot(&read_dot(unit, operands, &mut Room::new())?)?);
        Ok(())
    })
}
