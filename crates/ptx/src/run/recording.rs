//! How a warp records what a launch traces.

use bitmma_engine::Codes;

use super::fragments::Elements;
use super::running::Running;
use super::trace::{MOST, MOST_PRODUCTS, Place, Product, Record};
use super::warp::Warp;
use crate::lanes::each;
use crate::matrix::{Multiplier, Sizes};

impl Warp {
    /// Records what the instruction at `at` wrote.
    pub(super) fn record(&self, running: &Running<'_>, block: [u32; 3], at: usize, mask: u32, step: u64) {
        let Some(recorder) = &running.recorder else { return };
        let line = running.kernel.steps[at].line;
        if !recorder.wants_line(line) {
            return;
        }
        let Some(traced) = running.kernel.traced.get(at) else { return };
        let Ok(mut records) = recorder.records.lock() else { return };
        for one in traced {
            let names = &recorder.wanted.registers;
            if !names.is_empty() && !names.iter().any(|name| **name == *one.name) {
                continue;
            }
            for lane in each(mask) {
                let thread = self.thread_of(running, block, lane);
                if !recorder.wants_thread(thread) || records.len() >= MOST {
                    continue;
                }
                let (bits, value) = match one.place {
                    Place::Slot(slot, bits) => (bits, self.registers.any_lane(slot, lane)),
                    Place::Predicate(p) => {
                        (1, u64::from(self.registers.predicates[p.0 as usize] >> lane & 1))
                    }
                };
                records.push(Record { line, step, thread, register: one.name.clone(), bits, value });
            }
        }
    }

    /// Whether the operands of a matrix instruction are wanted.
    pub(super) fn wants_product(&self, running: &Running<'_>, block: [u32; 3], line: u32) -> bool {
        running.recorder.as_ref().is_some_and(|recorder| {
            recorder.wanted.products
                && recorder.wants_line(line)
                && each(self.lanes).any(|lane| recorder.wants_thread(self.thread_of(running, block, lane)))
        })
    }

    /// Records a matrix instruction.
    pub(super) fn record_product(
        &self,
        running: &Running<'_>,
        block: [u32; 3],
        line: u32,
        multiplier: &Multiplier,
        all: &[Elements; 4],
    ) {
        let codes = all.each_ref().map(Elements::codes);
        self.record_codes(running, block, (line, multiplier), codes);
    }

    /// The same by the codes of A, of B by its columns, of C and of D.
    pub(super) fn record_codes(
        &self,
        running: &Running<'_>,
        block: [u32; 3],
        (line, multiplier): (u32, &Multiplier),
        [a, b, c, d]: [Codes; 4],
    ) {
        let Some(recorder) = &running.recorder else { return };
        let Ok(mut products) = recorder.products.lock() else { return };
        if products.len() < MOST_PRODUCTS {
            let Sizes { m, n, k } = multiplier.own;
            products.push(Product {
                line,
                step: self.steps,
                thread: self.thread_of(running, block, 0),
                form: multiplier.name.clone(),
                shape: [m, n, k],
                codes: [a, by_rows(&b, (n, k)), c, d],
            });
        }
    }
}

/// Codes of B, column by column, row by row.
fn by_rows(codes: &Codes, (columns, k): (usize, usize)) -> Codes {
    fn turned<T: Copy>(codes: &[T], (columns, k): (usize, usize)) -> Vec<T> {
        (0..k * columns).map(|index| codes[index % columns * k + index / columns]).collect()
    }
    match codes {
        Codes::U8(codes) => Codes::U8(turned(codes, (columns, k))),
        Codes::U16(codes) => Codes::U16(turned(codes, (columns, k))),
        Codes::U32(codes) => Codes::U32(turned(codes, (columns, k))),
        Codes::U64(codes) => Codes::U64(turned(codes, (columns, k))),
    }
}
