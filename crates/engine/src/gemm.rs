//! Matrix products of any shape, as a kernel on the GPU makes them of one instruction.
//!
//! [`gemm()`] applies an instruction (or a model, a fixed number of elements at a time) along K, each step
//! starting from the result of the one before, the first one from C. Elements of D are independent of
//! each other (paper, Step 1), so M and N need no padding; K does.
//!
//! # Padding
//!
//! K is padded to a multiple of the instruction's K with elements +0 and, where there are scale factors,
//! with factors of one. **The padding is part of the result**: in T-, ST- and GST-FDPA a zero product
//! brings `e_zero` into the largest exponent, in FMA and FTZ-AddMul it turns an accumulator of -0 into +0.
//! A last block of elements that K does not fill still has its own scale factor: A has
//! M × ceil(K/block) factors, B ceil(K/block) × N.
//!
//! # Order of operations
//!
//! W is FP32, or FP64 if C or D of the instruction is FP64. Sums and products in W are those of IEEE 754,
//! rounded to nearest even, subnormal numbers kept. What enters W (C, results of the instruction) is
//! converted to it, which is exact.
//!
//! 1. Without options the accumulator starts from C, or from +0 without C: `d = C; d = mma(a, b, d)` for
//!    each step along K.
//! 2. `split_k = n`: the steps along K are cut into n parts, as even as whole steps allow, the earlier
//!    ones larger; more parts than steps are as many as steps, and one part is no split. Each part starts
//!    from +0 and ends in D's format, which is the format partial results have also where D is FP16 or
//!    where D's numbers have fewer bits (E8M13). In W: the first part's result, plus the second's, …,
//!    plus C.
//! 3. `promote_every = n`: every n elements along K the instruction's accumulator starts from +0; its
//!    result (in D's format) is added to a sum in W. That sum starts from C. With `split_k` each part has
//!    such a sum, which starts from +0, and point 2 adds those.
//! 4. `scale_blocks`, FP32 scales of blocks of A and B: every k elements along K the instruction's accumulator
//!    starts from +0; its result d goes, scaled, into a sum in FP32 that starts from +0:
//!    `sum = fma(d, scale_a · scale_b, sum)`, or as [`ScaleOrder`] and `fma` say. With k = 0 d is A·B by
//!    points 1 to 3, from +0, and is scaled once. C, if there is one, is added last.
//! 5. `alpha`, `beta` other than one: A·B as above, everything from +0 and C left out; then, in W,
//!    `t = alpha · AB`, `u = beta · C`, `t + u`, each rounded. With `beta` = 0 C is not read, and u is +0,
//!    as it is without C. With `alpha` = 1 and `beta` = 1 (or no C, or `beta` = 0) points 1 to 4 hold
//!    unchanged.
//! 6. What came out of W is rounded to D's format, to nearest even, overflow as IEEE 754 says; a NaN gets
//!    the code that NaN results of the instruction have.
//! 7. `output`: the result is converted. What comes out of W is converted from there, not by way of D's
//!    format, and so rounded once.
//!
//! K = 0: no step is made. A·B is +0, so D is C converted as in points 6 and 7 (through D's format if
//! nothing is done in W).
//!
//! Several blocks in A, B and C are several products of one shape.

mod check;
mod codes;
mod convert;
mod options;
mod target;

use std::borrow::Cow;
use std::cell::Cell;
use std::ops::Range;

use bitmma_formats::{F64, Format};

use crate::borrowed::MatrixRef;
use crate::error::Error;
use crate::kernel;
use crate::matrix::{Matrix, elements};
use crate::progress::Progress;
use crate::threads;
use bitmma_kernel::{Codes, Fold, Operands, Runs, Scales, View, Word};
use check::{check_operands, check_output, parts};
use codes::{Tile, combine, convert, cut, each, fold_all, lifted, part, put, zeros};
use convert::Converter;
use options::option;

pub use bitmma_kernel::{ScaleBlocks, ScaleOrder};
pub use convert::OutputConversion;
pub use options::GemmOptions;
pub use target::{MAX_STEP, Target};

/// D = alpha · A·B + beta · C; A M×K, B K×N, C M×N (none: +0), for any M, N and K, zero included.
///
/// The answer depends on nothing but operands, target and the options that say so in [the
/// module](self): the same bits for any number of threads and every instruction set.
pub fn gemm<'m>(
    target: &Target,
    a: impl Into<MatrixRef<'m>>,
    b: impl Into<MatrixRef<'m>>,
    c: Option<&Matrix>,
    options: &GemmOptions<'_>,
) -> Result<Matrix, Error> {
    let job = Job::new(target, [a.into(), b.into()], c, options)?;
    match options.threads {
        None => job.run(),
        Some(threads) => threads::pool(threads)?.install(|| job.run()),
    }
}

/// Elements of a tile of D that a kernel computes at a time: bounds what is held beside D.
const TILE: usize = 1 << 21;
/// Columns of such a tile.
const TILE_COLUMNS: usize = 2048;
/// Rows of such a tile, at least: B is packed once for each.
const TILE_ROWS: usize = 1024;
/// Products of a batch that is computed at once, at most: a second or so, in which nothing is reported.
const AT_ONCE: u64 = 1 << 33;
/// Products of a tile on the reference path, about: a fraction of a second.
const REFERENCE_PRODUCTS: usize = 1 << 24;
/// Columns of a tile on the reference path.
const REFERENCE_COLUMNS: usize = 256;

/// A product that was checked.
struct Job<'j> {
    target: &'j Target,
    plan: kernel::Plan<'j>,
    a: MatrixRef<'j>,
    b: MatrixRef<'j>,
    /// None also where it is not to be read.
    c: Option<&'j Matrix>,
    options: &'j GemmOptions<'j>,
    /// Whether neither alpha nor beta changes anything.
    unit: bool,
    /// FP32 scales of blocks.
    scales: Option<Scales<'j>>,
    /// Parts of K, each a list of runs from +0 to a result; in elements, the last one padded.
    parts: Vec<Vec<Range<usize>>>,
    /// From C's format into W; from D's format into W.
    lifts: [Option<Converter>; 2],
    /// From W into the format of the result.
    finish: Converter,
    /// From D's format into that of the result.
    output: Option<Converter>,
}

impl<'j> Job<'j> {
    fn new(
        target: &'j Target,
        [a, b]: [MatrixRef<'j>; 2],
        c: Option<&'j Matrix>,
        options: &'j GemmOptions<'j>,
    ) -> Result<Job<'j>, Error> {
        check_operands(target, [a, b], c, options)?;
        check_output(options)?;
        let working = target.working_format();
        let factor = |name: &'static str, code: Option<u64>| match code {
            Some(code) if code > working.max_code() => Err(option(
                name,
                format!("{code:#x}"),
                format!("a code of {working} has {} bits", working.bits()),
            )),
            _ => Ok(code.unwrap_or(working.one_code())),
        };
        let (alpha, beta) = (factor("alpha", options.alpha)?, factor("beta", options.beta)?);
        let c = c.filter(|_| beta & !working.sign_bit() != 0);
        let one = working.one_code();
        let unit = alpha == one && (beta == one || c.is_none());

        let model = &target.model;
        let count = (a.view.rows.saturating_mul(b.view.columns)).saturating_mul(a.view.blocks);
        let lift = |from: Format| {
            let to = OutputConversion::nearest(working);
            (from != working).then(|| Converter::new(from, to, None, count))
        };
        let to_output = |from| options.output.map(|to| Converter::new(from, to, None, count));
        let own = || {
            let nan = Some(model.emitted_nan());
            Converter::new(working, OutputConversion::nearest(model.d), nan, count)
        };
        let scales = match (options.scale_blocks, options.scale_a, options.scale_b) {
            (Some(blocks), Some(a), Some(b)) => {
                Some(Scales { blocks, a: a.view(), b: b.view(), tile: (0, 0, 0) })
            }
            _ => None,
        };
        Ok(Job {
            target,
            plan: kernel::Plan::new(model, target.step, options.level)?,
            a,
            b,
            c,
            options,
            unit,
            scales,
            parts: parts(target, (a.view.columns, count == 0), options)?,
            lifts: [lift(model.c), lift(model.d)],
            finish: to_output(working).unwrap_or_else(own),
            output: to_output(model.d),
        })
    }

    fn run(&self) -> Result<Matrix, Error> {
        let (blocks, m, n) = (self.a.view.blocks, self.a.view.rows, self.b.view.columns);
        let format = match self.options.output {
            Some(output) => output.conversion.container(),
            None => self.target.model.d,
        };
        let too_large = Error::too_large(format, (blocks, m, n));
        let Some(count) = elements((blocks, m, n)) else { return Err(too_large) };
        if count == 0 {
            // in no time, however large the other dimensions are
            return Ok(Matrix::from_codes(format, (blocks, m, n), zeros(format, (blocks, m, n))?));
        }
        let progress = Done::new(self);
        if blocks > 1 && self.parts.is_empty() {
            // K = 0: what is done to C is done to all of it at once
            let whole = Tile { block: 0, rows: 0..blocks * m, columns: 0..n };
            return Ok(Matrix::from_codes(format, (blocks, m, n), self.tile(&whole, &progress)?));
        }
        if self.at_once() {
            let [c, scale_a, scale_b] =
                [self.c, self.options.scale_a, self.options.scale_b].map(|one| one.map(Matrix::view));
            let d = self
                .plan
                .of_checked(&Operands { a: self.a.view, b: self.b.view, c, scale_a, scale_b }, None)?;
            progress.add(count, self.a.view.columns)?;
            return Ok(Matrix::from_codes(
                format,
                (blocks, m, n),
                self.finished(d.into_codes(), &|index| index)?,
            ));
        }
        let mut tiles = self.tiles().peekable();
        if let Some(tile) = tiles.next_if(|tile| tile.len() == count) {
            return Ok(Matrix::from_codes(format, (blocks, m, n), self.tile(&tile, &progress)?));
        }
        let mut d = Codes::zeros(&format, count).ok_or(too_large)?;
        for tile in tiles {
            let codes = self.tile(&tile, &progress)?;
            put(&codes, &mut d, &tile, (m, n));
        }
        Ok(Matrix::from_codes(format, (blocks, m, n), d))
    }

    /// Whether nothing is done to the results of the instruction but converting them.
    fn is_plain(&self) -> bool {
        let around = self.options.promote_every.is_some() || self.scales.is_some();
        self.unit && !around && self.parts.len() <= 1
    }

    /// Products of elements of A and B.
    fn products(&self) -> u64 {
        let sizes = [self.a.view.blocks, self.a.view.rows, self.a.view.columns, self.b.view.columns];
        sizes.into_iter().fold(1, |product: u64, size| product.saturating_mul(size as u64))
    }

    /// Whether several products are few enough, and plain enough, to be computed as they are.
    fn at_once(&self) -> bool {
        let whole = self.parts.iter().flatten().eq(std::iter::once(&(0..self.a.view.columns)));
        let few = self.a.view.blocks > 1 && (1..=AT_ONCE).contains(&self.products());
        few && whole && self.is_plain() && self.plan.has_kernel()
    }

    /// The part of C at a tile, if there is a C.
    fn c_of(&self, tile: &Tile) -> Result<Option<Cow<'j, Matrix>>, Error> {
        let of = |c: &'j Matrix| match c.codes().len() == tile.len() {
            true => Ok(Cow::Borrowed(c)),
            false => cut(c.into(), tile.block, &tile.rows, &tile.columns, 0).map(Cow::Owned),
        };
        self.c.map(of).transpose()
    }

    /// D in tiles, one column of tiles after the other.
    fn tiles(&self) -> impl Iterator<Item = Tile> {
        let (blocks, m, n) = (self.a.view.blocks, self.a.view.rows, self.b.view.columns);
        let (rows, columns) = if self.plan.has_kernel() {
            let columns = n.clamp(1, TILE_COLUMNS);
            ((TILE / columns).max(TILE_ROWS), columns)
        } else {
            let columns = n.clamp(1, REFERENCE_COLUMNS);
            let row = columns.saturating_mul(self.a.view.columns.max(1));
            ((REFERENCE_PRODUCTS / row).clamp(16, TILE_ROWS), columns)
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
    fn tile(&self, tile: &Tile, progress: &Done<'_>) -> Result<Codes, Error> {
        let model = &self.target.model;
        if !self.is_plain() {
            return match self.target.working_format() {
                F64 => self.in_words::<f64>(tile, progress),
                _ => self.in_words::<f32>(tile, progress),
            };
        }
        let shape = (1, tile.rows.len(), tile.columns.len());
        let d = match self.parts.first().and_then(|runs| runs.first()) {
            Some(run) => {
                let c = self.c.map(|c| c.view().part(tile.block, tile.rows.clone(), tile.columns.clone()));
                self.multiply(tile, run, (c, None), progress)?.into_codes()
            }
            None => {
                let nan = Some(model.emitted_nan());
                let to_d = Converter::new(model.c, OutputConversion::nearest(model.d), nan, tile.len());
                match self.c_of(tile)? {
                    Some(c) => convert(Cow::Borrowed(c.codes()), &to_d)?,
                    None => zeros(model.d, shape)?,
                }
            }
        };
        self.finished(d, &|index| self.index(tile, index))
    }

    /// Codes of D in the format of the result; `index` says where in D each is.
    fn finished(&self, d: Codes, index: &dyn Fn(usize) -> usize) -> Result<Codes, Error> {
        match &self.output {
            Some(output) => self.converted(d, output, index),
            None => Ok(d),
        }
    }

    /// Codes that are converted at the end; a NaN that there is no code for is refused.
    fn converted(
        &self,
        d: Codes,
        converter: &Converter,
        index: &dyn Fn(usize) -> usize,
    ) -> Result<Codes, Error> {
        if let Some(refused) = converter.first_refused((0..d.len()).map(|at| d.get(at))) {
            let (blocks, m, n) = (self.a.view.blocks, self.a.view.rows, self.b.view.columns);
            let shape = if blocks == 1 { &[m, n][..] } else { &[blocks, m, n] };
            return Err(converter.to.refused(index(refused), ("D", shape)));
        }
        convert(Cow::Owned(d), converter)
    }

    /// Where in D an element of a tile is.
    fn index(&self, tile: &Tile, at: usize) -> usize {
        let (m, n) = (self.a.view.rows, self.b.view.columns);
        let (row, column) = (tile.rows.start + at / tile.columns.len(), at % tile.columns.len());
        (tile.block * m + row) * n + tile.columns.start + column
    }

    /// The tile's rows times its columns over a range of K, from `c`, or from zero; with `runs` the sums of their results.
    fn multiply(
        &self,
        tile: &Tile,
        range: &Range<usize>,
        (c, runs): (Option<View<'_>>, Option<&Runs<'_>>),
        progress: &Done<'_>,
    ) -> Result<Matrix, Error> {
        let a = part(self.a, tile.block, &tile.rows, range, 0)?;
        let b = part(self.b, tile.block, range, &tile.columns, 0)?;
        let factors = match (self.target.model.scale, self.options.scale_a, self.options.scale_b) {
            (Some(scale), Some(of_a), Some(of_b)) => {
                let (along, one) =
                    (range.start / scale.size..range.end / scale.size, scale.format.one_code());
                Some((
                    part(of_a.into(), tile.block, &tile.rows, &along, one)?,
                    part(of_b.into(), tile.block, &along, &tile.columns, one)?,
                ))
            }
            _ => None,
        };
        let (scale_a, scale_b) = factors.as_ref().map(|(a, b)| (a.view(), b.view())).unzip();
        let operands = Operands { a: a.view(), b: b.view(), c, scale_a, scale_b };
        let d = self.plan.of_checked(&operands, runs)?;
        progress.add(tile.len(), range.end.min(self.a.view.columns) - range.start)?;
        Ok(d)
    }

    /// The sums, in W, of the results of some runs, which start from C, or from +0, or empty (as [`Runs::empty`] says).
    fn sums<W: Word>(
        &self,
        tile: &Tile,
        runs: &[Range<usize>],
        (c, empty, fold): (Option<&Matrix>, bool, Fold<'_>),
        progress: &Done<'_>,
    ) -> Result<Codes, Error> {
        if self.plan.sums() == Some(W::FORMAT) {
            let (first, last) =
                (runs.first().map_or(0, |run| run.start), runs.last().map_or(0, |run| run.end));
            let ends: Vec<usize> = runs.iter().map(|run| run.end - first).collect();
            let runs = Runs { ends: &ends, empty, fold };
            let sums = self.multiply(tile, &(first..last), (c.map(Matrix::view), Some(&runs)), progress)?;
            return Ok(sums.into_codes());
        }
        let [lift_c, lift_d] = &self.lifts;
        let shape = (1, tile.rows.len(), tile.columns.len());
        let mut sums = match c {
            Some(c) => lifted(c.codes(), lift_c.as_ref())?.into_owned(),
            None => zeros(W::FORMAT, shape)?,
        };
        if empty {
            each(&mut sums, |_| W::of(W::FORMAT.sign_bit()));
        }
        for (index, run) in runs.iter().enumerate() {
            let d = self.multiply(tile, run, (None, None), progress)?;
            let results = lifted(d.codes(), lift_d.as_ref())?;
            fold_all::<W>((fold, index), shape.2, &mut sums, &results);
        }
        Ok(sums)
    }

    /// Points 2 to 7 of the module's list.
    fn in_words<W: Word>(&self, tile: &Tile, progress: &Done<'_>) -> Result<Codes, Error> {
        let shape = (1, tile.rows.len(), tile.columns.len());
        let promoted = self.options.promote_every.is_some();
        let from_c = promoted && self.unit && self.parts.len() <= 1 && self.scales.is_none();
        let c = self.c_of(tile)?;
        let lift_c = self.lifts[0].as_ref();
        // where all that follows is +0, it may come first: either way no sum is -0
        let empty = c.is_some() || !self.unit;
        let scales = self
            .scales
            .map(|scales| Scales { tile: (tile.block, tile.rows.start, tile.columns.start), ..scales });
        let along_k = scales.as_ref().filter(|scales| scales.blocks.k > 0);
        let mut total = None;
        if promoted || along_k.is_some() {
            let fold = along_k.map_or(Fold::Add, Fold::Scale);
            let start = c.as_deref().filter(|_| from_c);
            for runs in &self.parts {
                let sums = self.sums::<W>(tile, runs, (start, false, fold), progress)?;
                match &mut total {
                    None => total = Some(sums),
                    Some(total) => combine(total, &sums, |x: W, y| x + y),
                }
            }
        } else if !self.parts.is_empty() {
            let parts: Vec<Range<usize>> = self.parts.iter().flatten().cloned().collect();
            total = Some(self.sums::<W>(tile, &parts, (None, empty, Fold::Add), progress)?);
        }
        let mut total = match (total, c.as_deref()) {
            (Some(total), _) => total,
            (None, Some(c)) if from_c => lifted(c.codes(), lift_c)?.into_owned(),
            (None, _) => zeros(W::FORMAT, shape)?,
        };
        if let Some(scales) = scales.as_ref().filter(|scales| scales.blocks.k == 0 && !self.parts.is_empty())
        {
            let d = std::mem::replace(&mut total, zeros(W::FORMAT, shape)?);
            fold_all::<W>((Fold::Scale(scales), 0), shape.2, &mut total, &d);
        }
        let one = W::FORMAT.one_code();
        let [alpha, beta] = [self.options.alpha, self.options.beta].map(|code| W::of(code.unwrap_or(one)));
        match c.as_deref() {
            _ if from_c => {}
            Some(c) => {
                let (c, unit) = (lifted(c.codes(), lift_c)?, self.unit);
                combine(&mut total, &c, |ab: W, c| match unit {
                    true => ab + c,
                    false => alpha * ab + beta * c,
                });
            }
            None if self.unit => {}
            None => each(&mut total, |ab: W| alpha * ab + W::default()),
        }
        self.converted(total, &self.finish, &|at| self.index(tile, at))
    }
}

/// Products done, for who listens.
struct Done<'p> {
    report: Option<&'p dyn Progress>,
    done: Cell<u64>,
    total: u64,
}

impl<'p> Done<'p> {
    fn new(job: &Job<'p>) -> Done<'p> {
        Done { report: job.options.progress, done: Cell::new(0), total: job.products() }
    }

    fn add(&self, elements: usize, k: usize) -> Result<(), Error> {
        let products = (elements as u64).saturating_mul(k as u64);
        self.done.set(self.done.get().saturating_add(products));
        self.report.map_or(Ok(()), |report| report.step("products", self.done.get(), self.total))
    }
}
