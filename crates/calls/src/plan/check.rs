//! What makes a plan a plan (rule 29).

use std::fmt::Arguments;

use bitmma_engine::formats::F32;

use super::{Blocks, Deal, DealKind, Merge, MergeOrder, MergeType, Plan, Simt, SimtFamily, Tail};
use crate::error::{Error, unless};

/// Parts and slices that a plan may have at most; no library splits K into more.
pub const MOST_PARTS: usize = 1 << 16;

/// Rows of A and columns of B that share a scale of [`Blocks`](super::Blocks) divide this where K is dealt to parts.
pub const BLOCK_LINES: usize = 128;

/// An error unless the fields fit.
fn ensure(fits: bool, otherwise: Arguments<'_>) -> Result<(), Error> {
    unless(fits, Error::Plan, otherwise)
}

/// Elements that whole instructions take.
fn whole(name: &str, size: usize, step: usize) -> Result<(), Error> {
    ensure(
        size.is_multiple_of(step),
        format_args!("{name} is {size}, not a multiple of the instruction's K of {step}"),
    )
}

impl Plan {
    /// Whether the fields fit together and the instruction; the error names the first that does not.
    pub fn check(&self) -> Result<(), Error> {
        let sources = [self.instruction.is_some(), self.model.is_some(), self.simt.is_some()];
        let given = sources.into_iter().filter(|&given| given).count();
        ensure(
            given == 1,
            format_args!("{given} of instruction, model and [simt] are given; a plan has exactly one"),
        )?;
        if let Some(simt) = &self.simt {
            return self.check_simt(simt);
        }
        if self.model.is_some() && self.loaded.is_none() {
            return Ok(()); // fields are checked against the model once it is read
        }
        let Some(target) = self.target()? else { return Ok(()) };
        let (step, model, name) = (target.step(), target.model(), target.name());
        ensure(
            (model.c, model.d) == (F32, F32),
            format_args!(
                "{name} takes C in {} and gives D in {}; a plan's chains are of FP32",
                model.c, model.d
            ),
        )?;
        ensure(
            model.scale.is_none(),
            format_args!("{name} takes scale factors, for which plans have no place"),
        )?;
        self.check_deal(step)?;
        let (deal, every) = (&self.deal, self.promote.every);
        whole("promote.every", every, step)?;
        ensure(
            every == 0 || (deal.dot == 0 && deal.slices == 1),
            format_args!("promote.every together with deal.dot or deal.slices is not known"),
        )?;
        let order = self.merge.order;
        ensure(
            (deal.kind == DealKind::None) == (order == MergeOrder::None),
            format_args!(
                "merge.order is {order:?} with deal.kind {:?}; both are none, or neither",
                deal.kind
            ),
        )?;
        ensure(
            order != MergeOrder::Pairwise || self.merge.kind == MergeType::F32,
            format_args!("merge.order pairwise is known with type f32 only"),
        )?;
        self.blocks.as_ref().map_or(Ok(()), |blocks| self.check_blocks(blocks, step))
    }

    fn check_blocks(&self, blocks: &Blocks, step: usize) -> Result<(), Error> {
        let (deal, every) = (&self.deal, self.promote.every);
        let Blocks { k, rows, columns, .. } = *blocks;
        whole("blocks.k", k, step)?;
        ensure(rows > 0 && columns > 0, format_args!("blocks.rows and blocks.columns are 1 or more"))?;
        if *deal == Deal::default() {
            ensure(self.merge == Merge::default(), format_args!("[blocks] with a merge and no deal"))?;
        } else {
            ensure(
                k > 0,
                format_args!("[blocks] of whole rows and columns together with a deal is not known"),
            )?;
            let Deal { kind, grain, parts, chunk, .. } = *deal;
            let plain = Deal { kind, grain, parts, chunk, ..Deal::default() };
            let tile = if chunk > 0 { chunk } else { grain };
            ensure(
                *deal == plain && tile.is_multiple_of(k),
                format_args!(
                    "[blocks] of {k} elements take a deal in tiles of a multiple of that, without dot, slices, rotate and \
                     a lost tail; its tiles are {tile}"
                ),
            )?;
            ensure(
                BLOCK_LINES.is_multiple_of(rows) && BLOCK_LINES.is_multiple_of(columns),
                format_args!(
                    "[blocks] of {rows} rows and {columns} columns with a deal; both divide {BLOCK_LINES} there"
                ),
            )?;
        }
        ensure(
            every == 0 || k == 0,
            format_args!(
                "promote.every is {every}; [blocks] already move the accumulator every {k} elements"
            ),
        )
    }

    fn check_deal(&self, step: usize) -> Result<(), Error> {
        let Deal { kind, grain, parts, tail, chunk, dot, residue_block, slices, slice, rotate } = self.deal;
        let count = |name: &str, count: usize| {
            ensure(
                (1..=MOST_PARTS).contains(&count),
                format_args!("deal.{name} is {count}; it is 1 to {MOST_PARTS}"),
            )
        };
        count("parts", parts)?;
        match kind {
            DealKind::None => {
                ensure(
                    grain == 0 && parts == 1 && chunk == 0,
                    format_args!("deal.kind none has no grain, parts or chunk"),
                )?;
            }
            DealKind::Interleaved => ensure(chunk == 0, format_args!("deal.chunk is for contiguous deals"))?,
            DealKind::Contiguous => {}
        }
        ensure(
            kind == DealKind::None || grain > 0 || chunk > 0,
            format_args!("a deal needs a grain of 1 or more"),
        )?;
        if dot == 0 {
            whole("deal.grain", grain, step)?;
            whole("deal.chunk", chunk, step)?;
            whole("deal.rotate", rotate, step)?;
        }
        ensure(dot <= step, format_args!("deal.dot is {dot}; the instruction takes {step} elements"))?;
        ensure(
            residue_block == 0 || (dot > 0 && residue_block.is_multiple_of(dot)),
            format_args!(
                "deal.residue_block is {residue_block} with deal.dot {dot}; it needs a dot that divides it"
            ),
        )?;
        ensure(
            tail == Tail::Kept || (kind == DealKind::Contiguous && chunk == 0),
            format_args!("deal.tail lost is for contiguous deals of tiles"),
        )?;
        count("slices", slices)?;
        ensure((slices > 1) == (slice > 0), format_args!("deal.slices is {slices} with deal.slice {slice}"))?;
        whole("deal.slice", slice, step)?;
        ensure(slices == 1 || dot == 0, format_args!("deal.slices together with deal.dot is not known"))?;
        ensure(rotate == 0 || dot == 0, format_args!("deal.rotate together with deal.dot is not known"))
    }

    fn check_simt(&self, simt: &Simt) -> Result<(), Error> {
        let plain = Plan::chain(self.arch, "");
        let is_plain =
            (&self.deal, &self.promote, &self.merge) == (&plain.deal, &plain.promote, &plain.merge);
        ensure(
            is_plain && self.blocks.is_none(),
            format_args!("[simt] takes the place of deal, promote, merge and blocks"),
        )?;
        let counts = [simt.threads, simt.lanes, simt.slices];
        ensure(
            !counts.contains(&0) && simt.vector != 0,
            format_args!("simt.threads, lanes, slices are 1 or more, and vector is not 0"),
        )?;
        ensure(
            counts.iter().all(|&count| count <= MOST_PARTS)
                && simt.vector.unsigned_abs() <= MOST_PARTS as u64,
            format_args!("simt.threads, lanes, slices and vector are at most 65536"),
        )?;
        match simt.family {
            SimtFamily::Gemv | SimtFamily::GemvSlices => {
                ensure(simt.lanes.is_power_of_two(), format_args!("simt.lanes is a power of two"))
            }
            SimtFamily::Dot => {
                ensure((1..=2).contains(&simt.vector), format_args!("simt.vector of a dot is 1 or 2"))
            }
            SimtFamily::Chains => Ok(()),
        }
    }
}
