//! Products of matrices: from the registers of a warp and from shared memory to the engine and back.

use super::block::Block;
use super::descriptor::Descriptor;
use super::fault::Fault;
use super::fragments::{Elements, Part};
use super::warp::Warp;
use crate::matrix::{Multiplier, Sizes};
use crate::program::{Mma, Nest, Slot, Wgmma, WgmmaA};

impl Warp {
    /// One multiplication.
    pub(super) fn mma(&mut self, mask: u32, mma: &Mma, block: &Block<'_>) -> Result<(), Fault> {
        self.check_whole(mask)?;
        let multiplier = &*mma.multiplier;
        let Sizes { m, n, k } = multiplier.own;
        let mut a = Elements::zeros(Part::Operand, multiplier.a_bits, (m, k));
        let mut b = Elements::zeros(Part::Operand, multiplier.a_bits, (n, k));
        a.put(&self.registers, &mma.a, m, (0, 0));
        b.put(&self.registers, &mma.b, n, (0, 0));
        let mut c = Elements::zeros(Part::Accumulator, multiplier.d_bits, (m, n));
        c.put(&self.registers, &mma.c, m, (0, 0));
        self.multiplied((mma.line, multiplier), [a, b, c], &mma.d, block)
    }

    /// Multiplications that are one larger product.
    pub(super) fn nest(&mut self, mask: u32, nest: &Nest) -> Result<(), Fault> {
        self.check_whole(mask)?;
        let Nest { multiplier, a: of_a, b: of_b, tiles } = nest;
        let own = multiplier.own;
        let along = of_a.first().map_or(0, Vec::len);
        let sizes = Sizes { m: of_a.len() * own.m, n: of_b.len() * own.n, k: along * own.k };
        let mut a = Elements::zeros(Part::Operand, multiplier.a_bits, (sizes.m, sizes.k));
        let mut b = Elements::zeros(Part::Operand, multiplier.a_bits, (sizes.n, sizes.k));
        for (to, from, lines) in [(&mut a, of_a, own.m), (&mut b, of_b, own.n)] {
            for (index, fragments) in from.iter().enumerate() {
                for (step, registers) in fragments.iter().enumerate() {
                    to.put(&self.registers, registers, lines, (index * lines, step * own.k));
                }
            }
        }
        let place = |tile: usize| (tile / of_b.len() * own.m, tile % of_b.len() * own.n);
        let mut c = Elements::zeros(Part::Accumulator, multiplier.d_bits, (sizes.m, sizes.n));
        for (tile, [of_c, _]) in tiles.iter().enumerate() {
            c.put(&self.registers, of_c, own.m, place(tile));
        }
        let d = product(multiplier, sizes, [a, b, c])?;
        for (tile, [_, of_d]) in tiles.iter().enumerate() {
            d.take(&mut self.registers, of_d, own.m, place(tile));
        }
        Ok(())
    }

    /// One multiplication of a warpgroup: this warp's rows.
    pub(super) fn wgmma(&mut self, wgmma: &Wgmma, mask: u32, block: &mut Block<'_>) -> Result<(), Fault> {
        self.check_whole(mask)?;
        let multiplier = &*wgmma.multiplier;
        let Sizes { m, n, k } = multiplier.own;
        let mut a = Elements::zeros(Part::Operand, multiplier.a_bits, (m, k));
        match &wgmma.a {
            WgmmaA::Registers(registers) => a.put(&self.registers, registers, m, (0, 0)),
            WgmmaA::Descriptor(descriptor) => {
                let descriptor = Descriptor::of(self.registers.wide(*descriptor)[0]);
                // each of the four warps has 16 rows of the 64
                let first = self.number % 4 * m;
                self.read_tile(&descriptor, wgmma.transposed[0], first, block, &mut a)?;
            }
        }
        let descriptor = Descriptor::of(self.registers.wide(wgmma.b)[0]);
        let mut b = Elements::zeros(Part::Operand, multiplier.a_bits, (n, k));
        self.read_tile(&descriptor, wgmma.transposed[1], 0, block, &mut b)?;
        for (lines, negate) in [&mut a, &mut b].into_iter().zip(wgmma.negate) {
            if negate {
                lines.negate();
            }
        }
        let mut c = Elements::zeros(Part::Accumulator, multiplier.d_bits, (m, n));
        if self.registers.condition(wgmma.accumulate) & 1 == 1 {
            c.put(&self.registers, &wgmma.d, m, (0, 0));
        }
        self.multiplied((wgmma.line, multiplier), [a, b, c], &wgmma.d, block)
    }

    /// Puts the product of one instruction into registers, and records it where that is wanted.
    fn multiplied(
        &mut self,
        (line, multiplier): (u32, &Multiplier),
        operands: [Elements; 3],
        to: &[Slot],
        block: &Block<'_>,
    ) -> Result<(), Fault> {
        let wanted = self.wants_product(block.launch, block.index, line);
        let recorded = wanted.then(|| operands.clone());
        let d = product(multiplier, multiplier.own, operands)?;
        d.take(&mut self.registers, to, multiplier.own.m, (0, 0));
        if let Some([a, b, c]) = recorded {
            self.record_product(block.launch, block.index, line, multiplier, [a, b, c, d]);
        }
        Ok(())
    }

    /// Lines of a matrix in shared memory from one on, by its descriptor, 16 bytes at a time.
    fn read_tile(
        &self,
        descriptor: &Descriptor,
        transposed: bool,
        first: usize,
        block: &mut Block<'_>,
        to: &mut Elements,
    ) -> Result<(), Fault> {
        let bytes = to.bits / 8;
        // along memory: K, or lines where the matrix is transposed
        let (outer, inner) = if transposed { (to.length, to.lines) } else { (to.lines, to.length) };
        for across in 0..outer {
            for along in (0..inner).step_by(16 / bytes) {
                let (line, k) = if transposed { (along, across) } else { (across, along) };
                let at = descriptor.address(first + line, k, bytes as u64, transposed);
                let fault = |what: String| Fault::new(0, what);
                let at = block.shared.checked(at, 16, "reads").map_err(fault)?;
                block.shared.note_read(at, 16, self.number as u8).map_err(fault)?;
                to.put_together(block.shared.array(at), (line, k), transposed);
            }
        }
        Ok(())
    }
}

/// D of A, B by its columns, and C.
fn product(multiplier: &Multiplier, sizes: Sizes, operands: [Elements; 3]) -> Result<Elements, Fault> {
    let codes = operands.map(Elements::into_codes);
    let d = multiplier.multiply(sizes, codes).map_err(|error| Fault::new(0, error.to_string()))?;
    Ok(Elements::of_codes(d, multiplier.d_bits, (sizes.m, sizes.n)))
}
