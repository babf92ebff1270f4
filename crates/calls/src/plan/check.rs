//! What makes a plan a plan (rule 29).

use super::{Deal, DealKind, Merge, MergeOrder, MergeType, Plan, Simt, SimtFamily, Tail};
use crate::error::Error;

/// Parts and slices that a plan may have at most; no library splits K into more.
pub const MOST_PARTS: usize = 1 << 16;

/// Rows of A and columns of B that share a scale of [`Blocks`](super::Blocks) divide this where K is dealt to parts.
pub const BLOCK_LINES: usize = 128;

impl Plan {
    /// Whether the fields fit together and the instruction; the error names the first that does not.
    pub fn check(&self) -> Result<(), Error> {
        let wrong = |text: String| Err(Error::Plan(text));
        let sources = [self.instruction.is_some(), self.model.is_some(), self.simt.is_some()];
        let given = sources.into_iter().filter(|&given| given).count();
        if given != 1 {
            return wrong(format!(
                "{given} of instruction, model and [simt] are given; a plan has exactly one"
            ));
        }
        if let Some(simt) = &self.simt {
            return self.check_simt(simt);
        }
        if self.model.is_some() && self.loaded.is_none() {
            return Ok(()); // fields are checked against the model once it is read
        }
        let Some(target) = self.target()? else { return Ok(()) };
        let step = target.step();
        let model = target.model();
        let f32 = bitmma::formats::F32;
        if model.c != f32 || model.d != f32 {
            return wrong(format!(
                "{} takes C in {} and gives D in {}; a plan's chains are of FP32",
                target.name(),
                model.c,
                model.d
            ));
        }
        if model.scale.is_some() {
            return wrong(format!("{} takes scale factors, for which plans have no place", target.name()));
        }
        self.check_deal(step)?;
        let deal = &self.deal;
        let every = self.promote.every;
        if every > 0 && !every.is_multiple_of(step) {
            return wrong(format!(
                "promote.every is {every}, not a multiple of the instruction's K of {step}"
            ));
        }
        if every > 0 && (deal.dot > 0 || deal.slices > 1) {
            return wrong("promote.every together with deal.dot or deal.slices is not known".to_owned());
        }
        let split = deal.kind != DealKind::None;
        if split != (self.merge.order != MergeOrder::None) {
            return wrong(format!(
                "merge.order is {:?} with deal.kind {:?}; both are none, or neither",
                self.merge.order, deal.kind
            ));
        }
        if self.merge.order == MergeOrder::Pairwise && self.merge.kind != MergeType::F32 {
            return wrong("merge.order pairwise is known with type f32 only".to_owned());
        }
        if let Some(blocks) = &self.blocks {
            if !blocks.k.is_multiple_of(step) {
                return wrong(format!(
                    "blocks.k is {}, not a multiple of the instruction's K of {step}",
                    blocks.k
                ));
            }
            if blocks.rows == 0 || blocks.columns == 0 {
                return wrong("blocks.rows and blocks.columns are 1 or more".to_owned());
            }
            if *deal == Deal::default() && self.merge != Merge::default() {
                return wrong("[blocks] with a merge and no deal".to_owned());
            }
            if blocks.k == 0 && *deal != Deal::default() {
                return wrong(
                    "[blocks] of whole rows and columns together with a deal is not known".to_owned(),
                );
            }
            if *deal != Deal::default() {
                let plain = Deal {
                    kind: deal.kind,
                    grain: deal.grain,
                    parts: deal.parts,
                    chunk: deal.chunk,
                    ..Deal::default()
                };
                let tile = if deal.chunk > 0 { deal.chunk } else { deal.grain };
                if *deal != plain || !tile.is_multiple_of(blocks.k) {
                    return wrong(format!(
                        "[blocks] of {} elements take a deal in tiles of a multiple of that, without dot, slices, rotate and \
                         a lost tail; its tiles are {tile}",
                        blocks.k
                    ));
                }
                if !BLOCK_LINES.is_multiple_of(blocks.rows) || !BLOCK_LINES.is_multiple_of(blocks.columns) {
                    return wrong(format!(
                        "[blocks] of {} rows and {} columns with a deal; both divide {BLOCK_LINES} there",
                        blocks.rows, blocks.columns
                    ));
                }
            }
            if every > 0 && blocks.k > 0 {
                return wrong(format!(
                    "promote.every is {every}; [blocks] already move the accumulator every {} elements",
                    blocks.k
                ));
            }
        }
        Ok(())
    }

    fn check_deal(&self, step: usize) -> Result<(), Error> {
        let deal = &self.deal;
        let wrong = |text: String| Err(Error::Plan(text));
        if deal.parts == 0 || deal.parts > MOST_PARTS {
            return wrong(format!("deal.parts is {}; it is 1 to {MOST_PARTS}", deal.parts));
        }
        match deal.kind {
            DealKind::None if deal.grain > 0 || deal.parts > 1 || deal.chunk > 0 => {
                return wrong("deal.kind none has no grain, parts or chunk".to_owned());
            }
            DealKind::Interleaved if deal.chunk > 0 => {
                return wrong("deal.chunk is for contiguous deals".to_owned());
            }
            DealKind::Interleaved | DealKind::Contiguous if deal.grain == 0 && deal.chunk == 0 => {
                return wrong("a deal needs a grain of 1 or more".to_owned());
            }
            _ => {}
        }
        if deal.dot == 0 {
            for (name, size) in [("grain", deal.grain), ("chunk", deal.chunk), ("rotate", deal.rotate)] {
                if !size.is_multiple_of(step) {
                    return wrong(format!(
                        "deal.{name} is {size}, not a multiple of the instruction's K of {step}"
                    ));
                }
            }
        } else if deal.dot > step {
            return wrong(format!("deal.dot is {}; the instruction takes {step} elements", deal.dot));
        }
        if deal.residue_block > 0 && (deal.dot == 0 || !deal.residue_block.is_multiple_of(deal.dot)) {
            return wrong(format!(
                "deal.residue_block is {} with deal.dot {}; it needs a dot that divides it",
                deal.residue_block, deal.dot
            ));
        }
        if deal.tail == Tail::Lost && (deal.kind != DealKind::Contiguous || deal.chunk > 0) {
            return wrong("deal.tail lost is for contiguous deals of tiles".to_owned());
        }
        if deal.slices == 0 || deal.slices > MOST_PARTS {
            return wrong(format!("deal.slices is {}; it is 1 to {MOST_PARTS}", deal.slices));
        }
        if (deal.slices > 1) != (deal.slice > 0) {
            return wrong(format!("deal.slices is {} with deal.slice {}", deal.slices, deal.slice));
        }
        if !deal.slice.is_multiple_of(step) {
            return wrong(format!(
                "deal.slice is {}, not a multiple of the instruction's K of {step}",
                deal.slice
            ));
        }
        if deal.slices > 1 && deal.dot > 0 {
            return wrong("deal.slices together with deal.dot is not known".to_owned());
        }
        if deal.rotate > 0 && deal.dot > 0 {
            return wrong("deal.rotate together with deal.dot is not known".to_owned());
        }
        Ok(())
    }

    fn check_simt(&self, simt: &Simt) -> Result<(), Error> {
        let wrong = |text: &str| Err(Error::Plan(text.to_owned()));
        let plain = Plan::chain(self.arch, "");
        if self.deal != plain.deal
            || self.promote != plain.promote
            || self.merge != plain.merge
            || self.blocks.is_some()
        {
            return wrong("[simt] takes the place of deal, promote, merge and blocks");
        }
        if simt.threads == 0 || simt.lanes == 0 || simt.slices == 0 || simt.vector == 0 {
            return wrong("simt.threads, lanes, slices are 1 or more, and vector is not 0");
        }
        let largest = [simt.threads, simt.lanes, simt.slices].into_iter().max().unwrap_or(0);
        if largest > MOST_PARTS || simt.vector.unsigned_abs() > MOST_PARTS as u64 {
            return wrong("simt.threads, lanes, slices and vector are at most 65536");
        }
        match simt.family {
            SimtFamily::Gemv | SimtFamily::GemvSlices if !simt.lanes.is_power_of_two() => {
                wrong("simt.lanes is a power of two")
            }
            SimtFamily::Dot if !(1..=2).contains(&simt.vector) => wrong("simt.vector of a dot is 1 or 2"),
            _ => Ok(()),
        }
    }
}
