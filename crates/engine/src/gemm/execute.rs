//! Runs a schedule: D in tiles, chains on the kernels or the reference path, then merge and finish.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use bitmma_formats::{F64, Format};
use bitmma_kernel::{Codes, Fold, Operands, Order, Runs, Scales, View, Word};

use super::Given;
use super::codes::{Tile, combine, convert, convert_owned, cut, each, fold_all, lifted, part, put, zeros};
use super::convert::{Converter, OutputConversion};
use super::element::{no_instruction, to_d, to_result};
use super::finish::Finish;
use super::merge::{Merger, Through, held};
use super::schedule::{AddC, Chain, Factors, First, MergeOrder, MergeType, Piece, Schedule, Slice, Sums};
use super::simt;
use super::target::Target;
use crate::borrowed::MatrixRef;
use crate::error::Error;
use crate::kernel;
use crate::matrix::{Matrix, elements};
use crate::progress::Progress;
use crate::threads;
use bitmma_kernel::Level;

/// With what a product is computed; none of it changes D.
#[derive(Clone, Copy, Default)]
pub struct How<'h> {
    /// Threads; by default those of the pool the call runs in, or of the process's.
    pub threads: Option<usize>,
    /// The instruction set; the best there is by default.
    pub level: Option<Level>,
    /// Told of the products done.
    pub progress: Option<&'h dyn Progress>,
}

/// D of operands that fit a schedule. `target` may be missing where the schedule has sums of threads.
pub fn execute(
    target: Option<&Target>,
    schedule: &Schedule,
    given: &Given<'_>,
    how: &How<'_>,
) -> Result<Matrix, Error> {
    let job = Job::new(target, schedule, given, how)?;
    within(how, || job.run())
}

/// D in each of several schedules, as [`execute`] has it. Of one row the sums are computed together where a schedule is an
/// order of one pass along K: packing operands takes longer than one row's sums.
pub fn execute_each(
    target: &Target,
    schedules: &[&Schedule],
    given: &Given<'_>,
) -> Vec<Result<Matrix, Error>> {
    let together = |schedule: &Schedule| {
        let job = Job::new(Some(target), schedule, given, &How::default()).ok()?;
        schedule.order(target.step).filter(|_| job.takes_orders())
    };
    let mut orders: Vec<Order> = vec![];
    let mut row_of = |order: Order| {
        orders.iter().position(|known| *known == order).unwrap_or_else(|| {
            orders.push(order);
            orders.len() - 1
        })
    };
    let rows: Vec<Option<usize>> =
        schedules.iter().map(|schedule| together(schedule).map(&mut row_of)).collect();
    let totals =
        rows.iter().zip(schedules).find(|(row, _)| row.is_some()).map(|(_, schedule)| {
            Job::new(Some(target), schedule, given, &How::default())?.in_orders(&orders)
        });
    let one = |(row, schedule): (&Option<usize>, &&Schedule)| match (row, &totals) {
        (Some(row), Some(Ok(totals))) => {
            let job = Job::new(Some(target), schedule, given, &How::default())?;
            let n = totals.columns();
            let row =
                Matrix::from_fn(totals.format(), (1, 1, n), |_, _, column| totals.get(0, *row, column))?;
            let tile = Tile { block: 0, rows: 0..1, columns: 0..n };
            let codes = match schedule.working {
                F64 => job.after::<f64>(row.into_codes(), &tile),
                _ => job.after::<f32>(row.into_codes(), &tile),
            };
            Ok(Matrix::from_codes(job.format(), (1, 1, n), codes?))
        }
        _ => execute(Some(target), schedule, given, &How::default()),
    };
    rows.iter().zip(schedules).map(one).collect()
}

/// The value of every part, as codes of W, M×N each.
pub fn parts(
    target: Option<&Target>,
    schedule: &Schedule,
    given: &Given<'_>,
    how: &How<'_>,
) -> Result<Vec<Codes>, Error> {
    let job = Job::new(target, schedule, given, how)?;
    let (block, rows, columns) = (0, 0..given.a.view.rows, 0..given.b.view.columns);
    let tile = Tile { block, rows, columns };
    within(how, || match (schedule.working, &schedule.sums) {
        (_, Sums::Threads(simt)) => Ok(vec![simt::tile(simt, [given.a, given.b], &tile)]),
        (F64, Sums::Chains { parts, .. }) => parts.iter().map(|part| job.part::<f64>(part, &tile)).collect(),
        (_, Sums::Chains { parts, .. }) => parts.iter().map(|part| job.part::<f32>(part, &tile)).collect(),
    })
}

fn within<T: Send>(how: &How<'_>, work: impl FnOnce() -> Result<T, Error> + Send) -> Result<T, Error> {
    threads::on(how.threads, work)?
}

/// Elements of a tile of D that a kernel computes at a time: bounds what is held beside D.
const TILE: usize = 1 << 21;
/// Columns of such a tile.
const TILE_COLUMNS: usize = 2048;
/// Products of a batch that is computed at once, at most: a second or so, in which nothing is reported.
const AT_ONCE: u64 = 1 << 33;
/// Products of a tile on the reference path, about: a fraction of a second.
const REFERENCE_PRODUCTS: usize = 1 << 24;
/// Columns of a tile on the reference path.
const REFERENCE_COLUMNS: usize = 256;

/// A product whose operands fit its schedule.
struct Job<'j> {
    target: Option<&'j Target>,
    /// None where nothing but sums of threads is computed.
    plan: Option<Arc<kernel::Executor<'static>>>,
    schedule: &'j Schedule,
    given: &'j Given<'j>,
    /// None also where it is not to be read.
    c: Option<&'j Matrix>,
    /// From C's format into W; from D's format into W.
    lifts: [Option<Converter>; 2],
    through: Option<Through>,
    finish: Finish<'j>,
    /// From D's format into that of the result.
    output: Option<Converter>,
    progress: Done<'j>,
    /// The codes of a B that was prepared, where they are needed.
    codes: OnceLock<Option<Matrix>>,
}

impl<'j> Job<'j> {
    fn new(
        target: Option<&'j Target>,
        schedule: &'j Schedule,
        given: &'j Given<'j>,
        how: &How<'j>,
    ) -> Result<Job<'j>, Error> {
        given.a.check()?;
        given.b.check()?;
        let working = schedule.working;
        let count =
            given.a.view.rows.saturating_mul(given.b.view.columns).saturating_mul(given.a.view.blocks);
        let lift = |from: Format| {
            let to = OutputConversion::nearest(working);
            (from != working).then(|| Converter::new(from, to, None, count))
        };
        let c = given.c.filter(|_| schedule.reads_c());
        let own = target.map(|target| target.model().d);
        let d = schedule.output.map(|to| to.conversion.format).or(own).unwrap_or(working);
        let plan = match (target, &schedule.sums) {
            (Some(target), Sums::Chains { .. }) => Some(target.plan(how.level)?),
            (None, Sums::Chains { .. }) => return Err(no_instruction()),
            (_, Sums::Threads(_)) => None,
        };
        let sizes = [given.a.view.blocks, given.a.view.rows, given.a.view.columns, given.b.view.columns];
        let products = sizes.into_iter().fold(1, |product: u64, size| product.saturating_mul(size as u64));
        Ok(Job {
            target,
            plan,
            schedule,
            given,
            c,
            lifts: [c.and_then(|c| lift(c.format())), own.and_then(lift)],
            through: (schedule.merge.kind != MergeType::F32).then(|| Through::new(working, d, count)),
            finish: Finish::new(schedule, to_result(target, schedule, count)?),
            output: schedule.output.zip(own).map(|(to, own)| Converter::new(own, to, None, count)),
            progress: Done { report: how.progress, done: AtomicU64::new(0), total: products },
            codes: OnceLock::new(),
        })
    }

    /// Blocks, rows and columns of D.
    fn shape(&self) -> (usize, usize, usize) {
        (self.given.a.view.blocks, self.given.a.view.rows, self.given.b.view.columns)
    }

    /// The format of the result.
    fn format(&self) -> Format {
        match (self.schedule.output, self.target) {
            (None, Some(target)) => target.model().d,
            _ => self.finish.to.to.conversion.container(),
        }
    }

    fn run(&self) -> Result<Matrix, Error> {
        let ((blocks, m, n), format) = (self.shape(), self.format());
        let too_large = Error::too_large(format, (blocks, m, n));
        let Some(count) = elements((blocks, m, n)) else { return Err(too_large) };
        if count == 0 {
            // in no time, however large the other dimensions are
            return Ok(Matrix::from_codes(format, (blocks, m, n), zeros(format, (blocks, m, n))?));
        }
        if let Some(plan) = self.at_once() {
            let Given { a, b, scale_a, scale_b, .. } = *self.given;
            let [c, scale_a, scale_b] = [self.c, scale_a, scale_b].map(|one| one.map(Matrix::view));
            let d = plan.of_checked(&Operands { a: a.view, b: b.view, c, scale_a, scale_b }, None)?;
            self.progress.add(count, a.view.columns)?;
            let codes = self.finished(d.into_codes(), &|index| index)?;
            return Ok(Matrix::from_codes(format, (blocks, m, n), codes));
        }
        if self.schedule.sums.parts() == Some(0) {
            // nothing along K: what is done to C is done to that of all products at once
            let all = Tile { block: 0, rows: 0..blocks * m, columns: 0..n };
            return Ok(Matrix::from_codes(format, (blocks, m, n), self.tile(&all)?));
        }
        let mut tiles = self.tiles().peekable();
        if let Some(tile) = tiles.next_if(|tile| tile.len() == count) {
            return Ok(Matrix::from_codes(format, (blocks, m, n), self.tile(&tile)?));
        }
        let mut d = Codes::zeros(&format, count).ok_or(too_large)?;
        for tile in tiles {
            put(&self.tile(&tile)?, &mut d, &tile, (m, n));
        }
        Ok(Matrix::from_codes(format, (blocks, m, n), d))
    }

    /// The kernel for several products that are few enough, and plain enough, to be computed as they are.
    fn at_once(&self) -> Option<&kernel::Executor<'static>> {
        let k = self.given.a.view.columns;
        let whole =
            self.schedule.only_chain().is_some_and(|chain| *chain == [Piece { range: 0..k, padded: k }]);
        let few = self.given.a.view.blocks > 1 && (1..=AT_ONCE).contains(&self.progress.total);
        self.plan.as_deref().filter(|plan| few && whole && plan.has_kernel())
    }

    /// D in tiles, one column of tiles after the other.
    fn tiles(&self) -> impl Iterator<Item = Tile> {
        let (blocks, m, n) = self.shape();
        let parts = self.schedule.sums.parts().unwrap_or(1);
        let (rows, columns) = match &self.plan {
            // a B that was prepared is streamed whole
            Some(_) if self.given.b.panels.is_some() => ((TILE / n.max(1)).max(1), n.max(1)),
            Some(plan) if !plan.has_kernel() => {
                let columns = n.clamp(1, REFERENCE_COLUMNS);
                let row = columns.saturating_mul(self.given.a.view.columns.max(1));
                ((REFERENCE_PRODUCTS / row).clamp(16, TILE / REFERENCE_COLUMNS), columns)
            }
            _ => {
                let elements = (2 * TILE / held(&self.schedule.merge, parts)).max(1);
                let columns = n.clamp(1, TILE_COLUMNS).min(elements);
                ((elements / columns).max(1), columns)
            }
        };
        let cut = |size: usize, step: usize| {
            (0..size).step_by(step).map(move |first| first..first.saturating_add(step).min(size))
        };
        let tile = |block, columns, rows| Tile { block, rows, columns };
        (0..blocks).flat_map(move |block| {
            cut(n, columns)
                .flat_map(move |columns| cut(m, rows).map(move |rows| tile(block, columns.clone(), rows)))
        })
    }

    /// The codes of one tile, in the format of the result.
    fn tile(&self, tile: &Tile) -> Result<Codes, Error> {
        match (self.target, self.schedule.working) {
            (Some(target), _) if self.schedule.is_plain() => {
                let d = match self.schedule.only_chain() {
                    Some(chain) => {
                        let part = |c: &'j Matrix| {
                            c.view().part(tile.block, tile.rows.clone(), tile.columns.clone())
                        };
                        self.multiply(tile, chain, (self.c.map(part), None))?.into_codes()
                    }
                    None => self.c_as_d(target, tile)?,
                };
                self.finished(d, &|index| self.index(tile, index))
            }
            (_, F64) => self.in_words::<f64>(tile),
            _ => self.in_words::<f32>(tile),
        }
    }

    /// C in D's format: the result where there is nothing along K.
    fn c_as_d(&self, target: &Target, tile: &Tile) -> Result<Codes, Error> {
        let d = target.model().d;
        let to = to_d(target, self.schedule.working, 0).to;
        match self.c_of(tile)? {
            Some(c) => {
                let nan = target.model().emitted_nan();
                convert(c.codes(), &Converter::new(c.format(), to, nan, tile.len()))
            }
            None => zeros(d, (1, tile.rows.len(), tile.columns.len())),
        }
    }

    /// The part of C at a tile, if there is a C.
    fn c_of(&self, tile: &Tile) -> Result<Option<Cow<'j, Matrix>>, Error> {
        let of = |c: &'j Matrix| match c.codes().len() == tile.len() {
            true => Ok(Cow::Borrowed(c)),
            false => cut(c.into(), tile.block, &tile.rows, &tile.columns, 0).map(Cow::Owned),
        };
        self.c.map(of).transpose()
    }

    /// C at a tile, in W.
    fn c_in_words(&self, tile: &Tile) -> Result<Option<Codes>, Error> {
        let c = self.c_of(tile)?;
        c.map(|c| Ok(lifted(c.codes(), self.lifts[0].as_ref())?.into_owned())).transpose()
    }

    /// Codes of D in the format of the result; `index` says where in D each is.
    fn finished(&self, d: Codes, index: &dyn Fn(usize) -> usize) -> Result<Codes, Error> {
        let Some(output) = &self.output else { return Ok(d) };
        match output.first_refused((0..d.len()).map(|at| d.get(at))) {
            Some(refused) => Err(self.refused(index(refused))),
            None => convert_owned(d, output),
        }
    }

    /// That an element of D is NaN, and the result has no code for it.
    fn refused(&self, index: usize) -> Error {
        let (blocks, m, n) = self.shape();
        let shape = if blocks == 1 { &[m, n][..] } else { &[blocks, m, n] };
        self.finish.to.to.refused(index, ("D", shape))
    }

    /// Where in D an element of a tile is.
    fn index(&self, tile: &Tile, at: usize) -> usize {
        let (_, m, n) = self.shape();
        let (row, column) = (tile.rows.start + at / tile.columns.len(), at % tile.columns.len());
        (tile.block * m + row) * n + tile.columns.start + column
    }

    /// The tile's rows times its columns along a chain, from `c`, or from zero; with `runs` the sums of their results.
    fn multiply(
        &self,
        tile: &Tile,
        chain: &[Piece],
        (c, runs): (Option<View<'_>>, Option<&Runs<'_>>),
    ) -> Result<Matrix, Error> {
        let (Some(plan), Some(target)) = (&self.plan, self.target) else { return Err(no_instruction()) };
        let step = target.step;
        let a = part(self.given.a, tile.block, &tile.rows, (chain, step), true)?;
        let products = chain.iter().map(|piece| piece.range.len()).sum();
        if let Some(d) = self.streamed((plan, target), (a.view(), tile), chain, (c, runs)) {
            self.progress.add(tile.len(), products)?;
            return d;
        }
        let b = part(self.b()?, tile.block, &tile.columns, (chain, step), false)?;
        let factors = self.factors(target, chain, tile)?;
        let (scale_a, scale_b) = factors.as_ref().map(|(a, b)| (a.view(), b.view())).unzip();
        let operands = Operands { a: a.view(), b: b.view(), c, scale_a, scale_b };
        let d = plan.of_checked(&operands, runs)?;
        self.progress.add(tile.len(), products)?;
        Ok(d)
    }

    /// The model's own scale factors of a tile along a chain.
    fn factors(
        &self,
        target: &Target,
        chain: &[Piece],
        tile: &Tile,
    ) -> Result<Option<(Matrix, Matrix)>, Error> {
        Ok(match (target.model.scale, self.given.scale_a, self.given.scale_b) {
            (Some(scale), Some(of_a), Some(of_b)) => {
                let one = scale.format.one_code();
                let first = chain.first().map_or(0, |piece| piece.range.start);
                let length: usize = chain.iter().map(|piece| piece.padded).sum();
                let along = first / scale.size..(first + length) / scale.size;
                Some((
                    cut(of_a.into(), tile.block, &tile.rows, &along, one)?,
                    cut(of_b.into(), tile.block, &along, &tile.columns, one)?,
                ))
            }
            _ => None,
        })
    }

    /// Whether [`Job::in_orders`] computes the sums: of one row, in W, by a kernel, from nothing but the operands.
    fn takes_orders(&self) -> bool {
        let is_row = self.given.a.view.blocks == 1 && self.given.a.view.rows == 1;
        let sums = self.plan.as_ref().and_then(|plan| plan.sums());
        let has_start = self.c.is_some() && self.schedule.c == AddC::Sum;
        is_row
            && self.given.b.view.columns > 0
            && self.given.b.panels.is_none()
            && !has_start
            && sums == Some(self.schedule.working)
    }

    /// The merged numbers of a product of one row in several orders, a row for each.
    fn in_orders(&self, orders: &[Order]) -> Result<Matrix, Error> {
        let (Some(plan), Some(target)) = (&self.plan, self.target) else { return Err(no_instruction()) };
        let (k, n) = (self.given.b.view.rows, self.given.b.view.columns);
        let chain = [Piece { range: 0..k, padded: k.next_multiple_of(target.step) }];
        let tile = Tile { block: 0, rows: 0..1, columns: 0..n };
        let a = part(self.given.a, 0, &tile.rows, (&chain, target.step), true)?;
        let b = part(self.given.b, 0, &tile.columns, (&chain, target.step), false)?;
        let factors = self.factors(target, &chain, &tile)?;
        let (scale_a, scale_b) = factors.as_ref().map(|(a, b)| (a.view(), b.view())).unzip();
        let operands = Operands { a: a.view(), b: b.view(), c: None, scale_a, scale_b };
        plan.in_orders(&operands, orders).ok_or(no_instruction())?
    }

    /// B as codes.
    fn b(&self) -> Result<MatrixRef<'_>, Error> {
        let (Some(panels), Some(plan)) = (self.given.b.panels, &self.plan) else { return Ok(self.given.b) };
        let (format, (k, n)) = (self.given.b.format, panels.shape());
        let codes = || plan.codes(panels).map(|codes| Matrix::from_codes(format, (1, k, n), codes));
        let matrix = self.codes.get_or_init(codes).as_ref().ok_or(Error::too_large(format, (1, k, n)))?;
        let mut b = MatrixRef::from(matrix);
        b.view = b.view.part(0, 0..self.given.b.view.rows, 0..n); // without what K was padded with
        Ok(b)
    }

    /// As [`Job::multiply`], of a B that was prepared; `None` where parts of it are multiplied.
    fn streamed(
        &self,
        (plan, target): (&kernel::Executor<'static>, &Target),
        (a, tile): (View<'_>, &Tile),
        chain: &[Piece],
        (c, runs): (Option<View<'_>>, Option<&Runs<'_>>),
    ) -> Option<Result<Matrix, Error>> {
        let panels = self.given.b.panels?;
        let joined = chain.windows(2).all(|pair| pair[0].range.start + pair[0].padded == pair[1].range.start);
        let whole = chain.first()?.range.start == 0
            && joined
            && a.columns == panels.shape().0
            && tile.columns == (0..panels.shape().1)
            && tile.block == 0;
        if !whole || !panels.takes(runs) {
            return None;
        }
        let scale = |given: Option<MatrixRef<'_>>, is_b: bool| match (target.model.scale, given) {
            (Some(of), Some(scale)) => {
                let along = 0..panels.shape().0 / of.size;
                let (rows, columns) = if is_b { (&along, &tile.columns) } else { (&tile.rows, &along) };
                cut(scale, 0, rows, columns, of.format.one_code()).map(Some)
            }
            _ => Ok(None),
        };
        let scales = scale(self.given.scale_a.map(Into::into), false)
            .and_then(|of_a| Ok((of_a, scale(self.given.scale_b.map(Into::into), true)?)));
        let (of_a, of_b) = match &scales {
            Ok((of_a, of_b)) => (of_a.as_ref().map(Matrix::view), of_b.as_ref().map(Matrix::view)),
            Err(_) => return scales.err().map(Err),
        };
        plan.of_prepared((a, of_a), (panels, of_b), c, runs)
    }

    /// The sums, in W, of the results of some chains, which start from `start`, or from +0, or from -0 where `empty`.
    fn sums<W: Word>(
        &self,
        tile: &Tile,
        chains: &[&Chain],
        (start, empty, fold): (Option<&Matrix>, bool, Fold<'_>),
    ) -> Result<Codes, Error> {
        if chains.is_empty() && start.is_none() {
            return zeros(W::FORMAT, (1, tile.rows.len(), tile.columns.len()));
        }
        let [lift_c, lift_d] = &self.lifts;
        if let ([chain], true, Fold::Add) = (chains, empty, fold) {
            let d = self.multiply(tile, chain, (None, None))?;
            return match lift_d {
                Some(lift) => convert(d.codes(), lift),
                None => Ok(d.into_codes()),
            };
        }
        if let (Some(plan), Some(target)) = (&self.plan, self.target)
            && plan.sums() == Some(W::FORMAT)
        {
            let (mut along, mut ends, mut end) = (Chain::new(), Vec::new(), 0);
            for chain in chains {
                along.extend(chain.iter().cloned());
                let length = chain.iter().map(|piece| piece.padded).sum::<usize>();
                let whole = length.next_multiple_of(target.step);
                if let Some(last) = along.last_mut() {
                    last.padded += whole - length;
                }
                end += whole;
                ends.push(end);
            }
            let runs = Runs { ends: &ends, empty, fold };
            return Ok(self.multiply(tile, &along, (start.map(Matrix::view), Some(&runs)))?.into_codes());
        }
        let width = tile.columns.len();
        let mut sums = match start {
            Some(c) => lifted(c.codes(), lift_c.as_ref())?.into_owned(),
            None => zeros(W::FORMAT, (1, tile.rows.len(), width))?,
        };
        if empty {
            each(&mut sums, |_| W::of(W::FORMAT.sign_bit()));
        }
        for (index, chain) in chains.iter().enumerate() {
            let d = self.multiply(tile, chain, (None, None))?;
            let results = lifted(d.codes(), lift_d.as_ref())?;
            fold_all::<W>((fold, index), width, &mut sums, &results);
        }
        Ok(sums)
    }

    /// The FP32 scales of a tile, with those of these blocks along K.
    fn scales<'s>(&'s self, tile: &Tile, along: &'s [usize]) -> Option<Scales<'s>> {
        let (blocks, of_a, of_b) = (self.schedule.scale_blocks?, self.given.scale_a?, self.given.scale_b?);
        let tile = (tile.block, tile.rows.start, tile.columns.start);
        Some(Scales { blocks, a: of_a.view(), b: of_b.view(), along, tile })
    }

    /// The value of one part in a tile.
    fn part<W: Word>(&self, part: &[Slice], tile: &Tile) -> Result<Codes, Error> {
        let Sums::Chains { promoted, .. } = &self.schedule.sums else { return Err(no_instruction()) };
        if !promoted {
            let chains: Vec<&Chain> = part.iter().flatten().collect();
            // a slice without a chain is +0, which changes nothing but a sum of -0
            let empty = !part.is_empty() && part.iter().all(|slice| !slice.is_empty());
            return self.sums::<W>(tile, &chains, (None, empty, Fold::Add));
        }
        let start = match self.schedule.c {
            AddC::Sum => self.c_of(tile)?,
            _ => None,
        };
        let mut total: Option<Codes> = None;
        for slice in part {
            let chains: Vec<&Chain> = slice.iter().collect();
            let along: Vec<usize> = slice.iter().map(|chain| self.schedule.block_of(chain)).collect();
            let scales = self.scales(tile, &along).filter(|scales| scales.blocks.k > 0);
            let fold = scales.as_ref().map_or(Fold::Add, Fold::Scale);
            let value = self.sums::<W>(tile, &chains, (start.as_deref(), false, fold))?;
            match &mut total {
                None => total = Some(value),
                Some(total) => combine(total, &value, |x: W, y| x + y),
            }
        }
        total.map_or_else(|| zeros(W::FORMAT, (1, tile.rows.len(), tile.columns.len())), Ok)
    }

    /// The merged numbers of a tile.
    fn merged<W: Word>(&self, tile: &Tile) -> Result<Codes, Error> {
        let (parts, promoted) = match &self.schedule.sums {
            Sums::Threads(simt) => return Ok(simt::tile(simt, [self.given.a, self.b()?], tile)),
            Sums::Chains { parts, promoted } => (parts, *promoted),
        };
        let merge = &self.schedule.merge;
        let in_order = merge.order != MergeOrder::Pairwise && merge.kind == MergeType::F32;
        if in_order && !promoted && parts.len() > 1 && parts.iter().all(|part| part.len() <= 1) {
            // one sum of all parts
            let chains: Vec<&Chain> = parts.iter().flatten().flatten().collect();
            let whole = chains.len() == parts.len() && merge.start == First::First;
            return self.sums::<W>(tile, &chains, (None, whole, Fold::Add));
        }
        let mut merger = Merger::new(merge, self.through.as_ref(), parts.len());
        for part in parts {
            merger.take::<W>(self.part::<W>(part, tile)?)?;
        }
        match merger.finish::<W>() {
            Some(merged) => Ok(merged),
            None => match self.c_in_words(tile)?.filter(|_| self.schedule.c == AddC::Sum) {
                Some(c) => Ok(c),
                None => zeros(W::FORMAT, (1, tile.rows.len(), tile.columns.len())),
            },
        }
    }

    /// The codes of a tile of which something is done in W.
    fn in_words<W: Word>(&self, tile: &Tile) -> Result<Codes, Error> {
        self.after::<W>(self.merged::<W>(tile)?, tile)
    }

    /// The codes of a tile whose merged numbers are known.
    fn after<W: Word>(&self, mut total: Codes, tile: &Tile) -> Result<Codes, Error> {
        let some = self.schedule.sums.parts().is_some_and(|parts| parts > 0);
        if let Some(scales) = self.scales(tile, &[0]).filter(|scales| some && scales.blocks.k == 0) {
            let shape = (1, tile.rows.len(), tile.columns.len());
            let d = std::mem::replace(&mut total, zeros(W::FORMAT, shape)?);
            fold_all::<W>((Fold::Scale(&scales), 0), shape.2, &mut total, &d);
        }
        let adds = self.schedule.c == AddC::Last || matches!(self.schedule.factors, Factors::Linear { .. });
        let c = if adds { self.c_in_words(tile)? } else { None };
        self.finish.codes::<W>(total, c.as_ref(), |at| self.refused(self.index(tile, at)))
    }
}

/// Products done, for who listens.
struct Done<'p> {
    report: Option<&'p dyn Progress>,
    done: AtomicU64,
    total: u64,
}

impl Done<'_> {
    fn add(&self, elements: usize, k: usize) -> Result<(), Error> {
        let products = (elements as u64).saturating_mul(k as u64);
        let done = self.done.fetch_add(products, Ordering::Relaxed).saturating_add(products);
        self.report.map_or(Ok(()), |report| report.step("products", done, self.total))
    }
}
