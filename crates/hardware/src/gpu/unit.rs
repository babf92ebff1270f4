//! An instruction of a GPU as a unit, for either vendor.

use std::time::Duration;

use bitmma_engine::threads::prelude::*;
use bitmma_engine::{About, Matrix, MmaUnit, Operands, Signature};

use super::driver::Loaded;
use super::exchange::Exchange;
use super::image::TileLayout;

/// Bytes of tiles that travel in one launch, at most; one tile always travels.
const BATCH_BYTES: usize = 64 << 20;
/// One instruction of one GPU.
pub struct Unit {
    signature: Signature,
    layout: TileLayout,
    about: About,
    exchange: Exchange,
}

impl Unit {
    pub(crate) fn new(signature: Signature, layout: TileLayout, about: About, program: Loaded) -> Unit {
        Unit { signature, layout, about, exchange: Exchange::new(program) }
    }

    /// The same unit with another limit to the time of one launch.
    pub fn with_time_limit(self, limit: Duration) -> Unit {
        Unit { exchange: self.exchange.with_time_limit(limit), ..self }
    }
}

impl MmaUnit for Unit {
    /// Its name is `ARCH/INSTRUCTION`, by which the catalogue has its model.
    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn about(&self) -> About {
        self.about.clone()
    }

    fn multiply(&self, operands: &Operands<'_>) -> Result<Matrix, bitmma_engine::Error> {
        let mut answers = self.multiply_many(std::slice::from_ref(operands))?;
        Ok(answers.pop().expect("one result for one instruction"))
    }

    fn multiply_many(&self, batch: &[Operands<'_>]) -> Result<Vec<Matrix>, bitmma_engine::Error> {
        batch.iter().try_for_each(|operands| self.signature.check(operands))?;
        let (words, answered) = (self.layout.input_words(), self.layout.output_words());
        let at_once = (BATCH_BYTES / (4 * words.max(answered))).max(1);
        let mut answers = Vec::with_capacity(batch.len());
        for chunk in batch.chunks(at_once) {
            let mut input = vec![0u32; chunk.len() * words];
            input
                .par_chunks_exact_mut(words)
                .zip(chunk)
                .for_each(|(tile, operands)| self.layout.pack(operands, tile));
            let output = self
                .exchange
                .run(chunk.len(), &input, answered)
                .map_err(|error| error.of_unit(&self.signature.name))?;
            let read: Result<Vec<Matrix>, _> =
                output.par_chunks_exact(answered).map(|tile| self.layout.unpack(tile)).collect();
            answers.extend(read?);
        }
        Ok(answers)
    }
}
