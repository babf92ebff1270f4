//! What is undefined of tensor memory.

use super::Shadow;
use super::step::Now;
use crate::lanes::LANES;
use crate::program::{Slot, Tcgen05};
use crate::run::fault::Fault;
use crate::run::tcgen05::byte;
use crate::run::trace::Place;

impl Shadow {
    pub(super) fn tensor(&mut self, tensor: &Tcgen05, now: &mut Now<'_, '_>) -> Result<(), Fault> {
        let data = if let Tcgen05::Store { a, .. } = tensor { &**a } else { &[] };
        let is_data = |place: &Place| matches!(place, Place::Slot(slot, _) if data.contains(slot));
        let deciding: Vec<Place> = now.reads().filter(|place| !is_data(place)).collect();
        self.decides(now, "the operation of tcgen05", &deciding)?;
        match tensor {
            Tcgen05::Load { d, from, shape } => {
                let from = now.warp.quarter(*from, shape)?;
                for (register, slot) in d.iter().enumerate() {
                    let (mut undefined, mut origins) = ([0; LANES], [0; LANES]);
                    for lane in 0..LANES {
                        for ((row, column), (shift, bits)) in shape.words(from, lane, register) {
                            let (word, origin) = now.block.tensor.undefined.get(byte(row, column), 4);
                            let word = word & (u64::MAX >> (64 - bits));
                            undefined[lane] |= word << shift;
                            if word != 0 {
                                origins[lane] = if origin == 0 { now.first_read(lane, true) } else { origin };
                            }
                        }
                    }
                    self.write(Place::Slot(*slot, 32), u32::MAX, &undefined, &origins);
                }
            }
            Tcgen05::Store { to, a, shape } => {
                let to = now.warp.quarter(*to, shape)?;
                for (register, slot) in a.iter().enumerate() {
                    for lane in 0..LANES {
                        let word = match slot {
                            Slot::Word(..) => self.bits.any_lane(*slot, lane),
                            _ => 0,
                        };
                        let origin = match self.origin(Place::Slot(*slot, 32), lane) {
                            0 if word != 0 => now.first_read(lane, false),
                            origin => origin,
                        };
                        for ((row, column), (shift, bits)) in shape.words(to, lane, register) {
                            let word = word >> shift & (u64::MAX >> (64 - bits));
                            now.block.tensor.undefined.put(byte(row, column), 4, word, origin);
                        }
                    }
                }
            }
            Tcgen05::Multiply(product) => {
                for lane in crate::lanes::each(now.mask) {
                    let memories = (&now.block.undefined, &now.block.tensor.undefined);
                    let (all, origin) = now.warp.undefined_product(product, lane, memories)?;
                    let origin = if origin == 0 { now.first_read(lane, true) } else { origin };
                    for ((row, column), undefined) in all {
                        let bits = if undefined { u64::MAX } else { 0 };
                        now.block.tensor.undefined.put(byte(row, column), 4, bits, origin);
                    }
                }
            }
            // a copy takes what is undefined with it
            _ => {}
        }
        Ok(())
    }
}
