//! Products of any shape, written plainly a second time: a loop over the elements of D, each a chain of
//! [`Model::dot`] along K, and the arithmetic crate's sums around it.

use crate::common::inputs::{Family, case};
use bitmma_engine::arithmetic::Conversion;
use bitmma_engine::arithmetic::fma::{add, change_format, fma, multiply};
use bitmma_engine::arithmetic::operand::Operand;
use bitmma_engine::arithmetic::run::Operands;
use bitmma_engine::formats::{Class, F64, Format, Overflow, Rounding, decode};
use bitmma_engine::gemm::{OutputConversion, ScaleBlocks, ScaleOrder, Target};
use bitmma_engine::{GemmOptions, Matrix, Model, gemm};

/// Operands of a product, rows, columns and elements of C drawn as cases of one family.
pub(crate) struct Inputs {
    pub(crate) a: Matrix,
    pub(crate) b: Matrix,
    pub(crate) c: Matrix,
    pub(crate) scales: Option<(Matrix, Matrix)>,
}

impl Inputs {
    pub(crate) fn new(model: &Model, (m, n, k): (usize, usize, usize), family: Family, seed: u64) -> Inputs {
        let block = model.scale.map_or(1, |scale| scale.size);
        let (along, long) = (k.div_ceil(block), k.next_multiple_of(block));
        let draw = |seed: u64, count: usize| -> Vec<_> {
            (0..count).map(|index| case(model, long, family, seed, index as u64)).collect()
        };
        let (rows, columns) = (draw(seed, m), draw(seed + 1, n));
        let c = (0..m * n).map(|index| case(model, 0, family, seed + 2, index as u64).c);
        let column = |length: usize, get: &dyn Fn(usize, usize) -> u64| -> Vec<u64> {
            (0..length * n).map(|index| get(index % n, index / n)).collect()
        };
        let matrix =
            |format, rows, columns, codes: Vec<u64>| Matrix::single(format, rows, columns, codes).unwrap();
        Inputs {
            a: matrix(model.a, m, k, rows.iter().flat_map(|case| case.a[..k].to_vec()).collect()),
            b: matrix(model.b, k, n, column(k, &|column, row| columns[column].b[row])),
            c: matrix(model.c, m, n, c.collect()),
            scales: model.scale.map(|scale| {
                let left = rows.iter().flat_map(|case| case.scale_a.clone()).collect();
                let right = column(along, &|column, row| columns[column].scale_b[row]);
                (matrix(scale.format, m, along, left), matrix(scale.format, along, n, right))
            }),
        }
    }

    pub(crate) fn options(&self) -> GemmOptions<'_> {
        GemmOptions {
            scale_a: self.scales.as_ref().map(|scales| &scales.0),
            scale_b: self.scales.as_ref().map(|scales| &scales.1),
            ..GemmOptions::default()
        }
    }
}

/// The plain loop.
pub(crate) struct Plain<'p> {
    pub(crate) target: &'p Target,
    pub(crate) a: &'p Matrix,
    pub(crate) b: &'p Matrix,
    pub(crate) c: Option<&'p Matrix>,
    pub(crate) options: &'p GemmOptions<'p>,
}

impl Plain<'_> {
    fn working(&self) -> Conversion {
        let model = self.target.model();
        if model.c == F64 || model.d == F64 { Conversion::RNE_FP64 } else { Conversion::RNE_FP32 }
    }

    fn add(&self, x: u64, y: u64) -> u64 {
        let w = self.working();
        add(&Operand::new(&w.format, x), &Operand::new(&w.format, y), w)
    }

    fn multiply(&self, x: u64, y: u64) -> u64 {
        let w = self.working();
        multiply(&Operand::new(&w.format, x), &Operand::new(&w.format, y), w)
    }

    /// A·B with FP32 scales of blocks: a chain from +0 for each block of K, scaled and added to a sum from +0; with
    /// one scale for all of K once, on `whole`.
    fn scaled(&self, (block, row, column): (usize, usize, usize), blocks: ScaleBlocks, whole: u64) -> u64 {
        let (of_a, of_b) = (self.options.scale_a.unwrap(), self.options.scale_b.unwrap());
        let (step, w) = (self.target.step(), self.working());
        let steps = self.a.columns().div_ceil(step);
        let mut sum = 0;
        for index in 0..of_a.columns() {
            let d = match blocks.k {
                0 if steps == 0 => return whole,
                0 => whole,
                k => {
                    let run = index * k / step..((index + 1) * k / step).min(steps);
                    change_format(&self.target.model().d, self.chain((block, row, column), run, 0), w)
                }
            };
            let a = of_a.get(block, row / blocks.rows, index);
            let b = of_b.get(block, index, column / blocks.columns);
            let (x, y) = match blocks.order {
                ScaleOrder::Product => (d, self.multiply(a, b)),
                ScaleOrder::AFirst => (self.multiply(d, a), b),
                ScaleOrder::BFirst => (self.multiply(d, b), a),
            };
            let number = |code| Operand::new(&w.format, code);
            sum = match blocks.fma {
                true => fma(&number(x), &number(y), &number(sum), 0, w, &mut ()),
                false => self.add(sum, self.multiply(x, y)),
            };
        }
        sum
    }

    /// The element of a matrix, or what stands there where it is padded.
    fn at(matrix: &Matrix, (block, row, column): (usize, usize, usize), padding: u64) -> u64 {
        let inside = row < matrix.rows() && column < matrix.columns();
        if inside { matrix.get(block, row, column) } else { padding }
    }

    /// Steps `steps` along K, from `c`, in D's format.
    fn chain(
        &self,
        (block, row, column): (usize, usize, usize),
        steps: std::ops::Range<usize>,
        c: u64,
    ) -> u64 {
        let (model, step) = (self.target.model(), self.target.step());
        let mut d = c;
        let mut next = model.clone();
        for (index, first) in steps.map(|index| index * step).enumerate() {
            let a: Vec<u64> = (first..first + step).map(|k| Self::at(self.a, (block, row, k), 0)).collect();
            let b: Vec<u64> =
                (first..first + step).map(|k| Self::at(self.b, (block, k, column), 0)).collect();
            let (mut scale_a, mut scale_b) = (vec![], vec![]);
            if let Some(scale) = model.scale {
                let one = scale.format.one_code();
                for factor in first / scale.size..(first + step) / scale.size {
                    scale_a.push(Self::at(self.options.scale_a.unwrap(), (block, row, factor), one));
                    scale_b.push(Self::at(self.options.scale_b.unwrap(), (block, factor, column), one));
                }
            }
            if index == 1 && model.c != model.d {
                // the result of a step is the next one's accumulator: converted where C holds it,
                // in its own format where C does not
                let holds = model.c.fraction_bits >= model.d.fraction_bits
                    && model.c.exponent_bits >= model.d.exponent_bits;
                if !holds {
                    next = Model { c: model.d, ..model.clone() };
                    next.lowering.widen_accumulator = None;
                }
            }
            if index > 0 && next.c != model.d {
                let rounding = Rounding::NearestEven;
                d = change_format(&model.d, d, Conversion::new(rounding, next.c));
            }
            let operands = Operands { a: &a, b: &b, c: d, scale_a: &scale_a, scale_b: &scale_b };
            d = next.dot(&operands).unwrap();
        }
        d
    }

    pub(crate) fn element(&self, place: (usize, usize, usize)) -> u64 {
        let (model, options, w) = (self.target.model(), self.options, self.working());
        let step = self.target.step();
        let nearest = |format| Conversion::new(Rounding::NearestEven, format);
        let steps = self.a.columns().div_ceil(step);
        let one = w.format.one_code();
        let (alpha, beta) = (options.alpha.unwrap_or(one), options.beta.unwrap_or(one));
        let c = self.c.filter(|_| beta & !w.format.sign_bit() != 0);
        let c_code = c.map_or(0, |c| c.get(place.0, place.1, place.2));
        let c_word = change_format(&model.c, c_code, w);
        let unit = alpha == one && (c.is_none() || beta == one);
        let parts = options.split_k.unwrap_or(1).min(steps).max(1);

        if unit && parts == 1 && options.promote_every.is_none() && options.scale_blocks.is_none() {
            let d = match steps {
                0 => self.in_d(change_format(&model.c, c_code, nearest(model.d))),
                _ => self.chain(place, 0..steps, c_code),
            };
            return self.output(&model.d, d);
        }
        let mut total: Option<u64> = None;
        let mut first = 0;
        for part in 0..parts {
            let length = steps / parts + usize::from(part < steps % parts);
            let last = first + length;
            let sum = match options.promote_every {
                None if steps == 0 => 0,
                None => change_format(&model.d, self.chain(place, first..last, 0), w),
                Some(every) => {
                    let from_c = parts == 1 && unit && options.scale_blocks.is_none();
                    let mut sum = if from_c { c_word } else { 0 };
                    let mut start = first;
                    while start < last {
                        let end = last.min(start + every / step);
                        let run = change_format(&model.d, self.chain(place, start..end, 0), w);
                        sum = self.add(sum, run);
                        start = end;
                    }
                    sum
                }
            };
            total = Some(total.map_or(sum, |total| self.add(total, sum)));
            first = last;
        }
        let mut d = total.unwrap();
        if let Some(blocks) = options.scale_blocks {
            d = self.scaled(place, blocks, d);
        }
        if options.scale_blocks.is_some() && unit {
            d = if c.is_some() { self.add(d, c_word) } else { d };
        } else if !unit {
            let right = if c.is_some() { self.multiply(beta, c_word) } else { 0 };
            d = self.add(self.multiply(alpha, d), right);
        } else if parts > 1 || options.promote_every.is_none() {
            d = self.add(d, c_word);
        }
        match options.output {
            Some(_) => self.output(&w.format, d),
            None => self.in_d(change_format(&w.format, d, nearest(model.d))),
        }
    }

    /// NaN as the instruction writes it.
    fn in_d(&self, d: u64) -> u64 {
        let model = self.target.model();
        if decode(&model.d, d).class == Class::Nan { model.emitted_nan().unwrap() } else { d }
    }

    fn output(&self, from: &Format, code: u64) -> u64 {
        let Some(OutputConversion { conversion, overflow, nan }) = self.options.output else { return code };
        let to = conversion.format;
        let value = decode(from, code);
        let sign = if value.negative { to.sign_bit() } else { 0 };
        let infinity = to.infinity_code().map(|infinity| infinity | sign);
        match (value.class, overflow) {
            (Class::Nan, _) => nan.or(to.nan_code()).expect("a code for NaN"),
            (Class::Infinity, Overflow::Saturate) => to.max_finite_code() | sign,
            (Class::Infinity, _) => infinity.or(to.nan_code()).unwrap_or(to.max_finite_code() | sign),
            (_, Overflow::Ieee) => change_format(from, code, conversion),
            (_, Overflow::Infinity) => panic!("not tested here"),
            (_, Overflow::Saturate) => {
                let converted = change_format(from, code, conversion);
                let finite = decode(&to, converted).is_finite();
                if finite { converted } else { to.max_finite_code() | sign }
            }
        }
    }

    pub(crate) fn check(&self, what: &str) -> usize {
        let d = gemm(self.target, self.a, self.b, self.c, self.options).unwrap();
        let (blocks, m, n) = (self.a.blocks(), self.a.rows(), self.b.columns());
        let to = self.options.output.map(|output| output.conversion.container());
        assert_eq!(d.format(), to.unwrap_or(self.target.model().d));
        assert_eq!(d.shape(), (blocks, m, n));
        for index in 0..blocks * m * n {
            let place = (index / n / m, index / n % m, index % n);
            let (expected, actual) = (self.element(place), d.get(place.0, place.1, place.2));
            assert!(
                expected == actual,
                "{}, {what}, {m}×{n}×{}, element {place:?}: {actual:#x}, the plain loop says {expected:#x}",
                self.target.name(),
                self.a.columns()
            );
        }
        blocks * m * n
    }
}
