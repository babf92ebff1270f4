//! Operands taken apart once and laid out as tiles read them.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use bitmma_arithmetic::Prepared;
use bitmma_arithmetic::run::Side;
use bitmma_formats::{BlockScale, Class, Format, Sign, Specials, Unpacked, decode};

use crate::matrix::{Codes, Matrix};

/// Rows of a tile.
pub(super) const ROWS: usize = 2;
/// Vectors side by side in a tile, so that one vector of bytes covers them.
pub(super) const VECTORS: usize = 4;

/// Consecutive elements along K, counted in the order in which they are taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub(super) first: usize,
    pub(super) length: usize,
}

/// What a code becomes in a kernel: a number and its exponent, and what kind of value it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Element {
    /// The kernel's reading of the value; 0 for zero and for what is not finite.
    pub(super) value: f32,
    /// The paper's Exp(x); `i16::MIN` for zero and for what is not finite.
    pub(super) exponent: i16,
    /// Bits of [`kind`].
    pub(super) kind: u8,
}

impl Element {
    /// A number as every kernel reads it: exact in FP32, which holds whatever the kernels take.
    fn of(value: &Unpacked, format: &Format) -> Element {
        let kind = kind_of(value);
        if value.class != Class::Finite {
            return Element { value: 0.0, exponent: i16::MIN, kind };
        }
        // through FP64, where both factors are normal
        let unit = f64::from_bits(((value.exponent - format.fraction_bits as i32 + 1023) as u64) << 52);
        let number = value.signed_significand() as f64 * unit;
        Element { value: number as f32, exponent: value.exponent as i16, kind }
    }

    /// Zero, and padding.
    pub(super) const ZERO: Element = Element { value: 0.0, exponent: i16::MIN, kind: kind::ZERO };
    /// NaN, and what a NaN scale factor makes of an element.
    const NAN: Element = Element { value: 0.0, exponent: i16::MIN, kind: kind::NAN };
}

/// Bits that tell what kind of value an element is.
pub(super) mod kind {
    pub(in super::super) const NAN: u8 = 1;
    pub(in super::super) const INFINITY: u8 = 2;
    pub(in super::super) const ZERO: u8 = 4;
    pub(in super::super) const NEGATIVE: u8 = 8;
    /// Neither zero nor a finite number.
    pub(in super::super) const SPECIAL: u8 = NAN | INFINITY;
}

/// The kind of a value.
fn kind_of(value: &Unpacked) -> u8 {
    let class = match value.class {
        Class::Nan => kind::NAN,
        Class::Infinity => kind::INFINITY,
        Class::Zero => kind::ZERO,
        Class::Finite => 0,
    };
    class | if value.negative { kind::NEGATIVE } else { 0 }
}

/// From codes to elements: a table for formats of up to 16 bits, a function for wider ones.
pub(super) struct Reader<'p> {
    prepared: &'p Prepared<'p>,
    side: Side,
    format: Format,
    table: Arc<[Element]>,
    fields: Option<Fields>,
}

/// Where the fields of an IEEE 754 format of exponents within FP32's are: its normal numbers need no table.
#[derive(Clone, Copy)]
struct Fields {
    padding: u32,
    fraction: u32,
    /// All ones, as a field.
    ones: u32,
    sign: u32,
    bias: i32,
}

impl Fields {
    fn of(format: &Format) -> Option<Fields> {
        let fits = format.sign == Sign::Signed
            && format.specials == Specials::Ieee
            && format.subnormals
            && format.bits() <= 32
            && format.fraction_bits <= 23
            && format.min_exponent() >= -126
            && format.max_exponent() <= 127;
        fits.then(|| Fields {
            padding: format.padding_bits,
            fraction: format.fraction_bits,
            ones: (1 << format.exponent_bits) - 1,
            sign: format.bits() - 1,
            bias: format.bias,
        })
    }

    /// The element of a code, if it is a normal number.
    #[inline(always)]
    fn normal(&self, code: u32) -> Option<Element> {
        let bits = code >> self.padding;
        let field = bits >> self.fraction & self.ones;
        let negative = code >> self.sign & 1;
        let exponent = field as i32 - self.bias;
        let fraction = (bits << (23 - self.fraction)) & 0x7f_ffff;
        let value = f32::from_bits(negative << 31 | ((exponent + 127) as u32) << 23 | fraction);
        let kind = kind::NEGATIVE * negative as u8;
        (field != 0 && field != self.ones).then_some(Element { value, exponent: exponent as i16, kind })
    }
}

/// What a table depends on: the codes' format, the operand's, and whether subnormal numbers are flushed.
type TableKey = (Format, Format, bool);

/// Tables of codes, kept: one of 65,536 elements takes longer to fill than a small product to compute.
/// There are as many as formats, twice or three times.
static TABLES: LazyLock<Mutex<HashMap<TableKey, Arc<[Element]>>>> = LazyLock::new(Mutex::default);

impl<'p> Reader<'p> {
    /// A reader of one operand.
    pub(super) fn new(prepared: &'p Prepared<'p>, side: Side) -> Reader<'p> {
        let format = prepared.operand_format(side);
        let mut reader = Reader { prepared, side, format, table: Arc::default(), fields: None };
        let codes = prepared.code_format(side);
        if codes.bits() > 8 {
            reader.fields = Fields::of(&codes);
        }
        if codes.bits() <= 16 {
            let key = (codes, format, prepared.model().flush_inputs);
            let mut tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
            let fill = || (0..=codes.max_code()).map(|code| reader.compute(code)).collect();
            reader.table = Arc::clone(tables.entry(key).or_insert_with(fill));
        }
        reader
    }

    #[inline(never)]
    fn compute(&self, code: u64) -> Element {
        Element::of(&self.prepared.element(self.side, code), &self.format)
    }

    /// The element of a code.
    #[inline(always)]
    fn element(&self, code: u64) -> Element {
        if let Some(fields) = self.fields
            && let Some(element) = fields.normal(code as u32)
        {
            return element;
        }
        match self.table.get(code as usize) {
            Some(element) => *element,
            None => self.compute(code),
        }
    }

    /// Reads codes `first`, `first + stride`, … into every `spread`th cell.
    pub(super) fn read(
        &self,
        codes: &Codes,
        (first, stride): (usize, usize),
        cells: &mut [Element],
        spread: usize,
    ) {
        fn each<C: Copy + Into<u64>>(
            reader: &Reader<'_>,
            codes: &[C],
            stride: usize,
            cells: &mut [Element],
            spread: usize,
        ) {
            for (cell, code) in cells.iter_mut().step_by(spread).zip(codes.iter().step_by(stride)) {
                *cell = reader.element((*code).into());
            }
        }
        match codes {
            Codes::U8(codes) => each(self, &codes[first..], stride, cells, spread),
            Codes::U16(codes) => each(self, &codes[first..], stride, cells, spread),
            Codes::U32(codes) => each(self, &codes[first..], stride, cells, spread),
            Codes::U64(codes) => each(self, &codes[first..], stride, cells, spread),
        }
    }
}

/// Elements of some lines (rows of A or columns of B) and a block of K: those of one index along K
/// together, in the order in which the model takes them.
pub(super) struct Cells {
    /// Lines side by side.
    pub(super) lines: usize,
    /// Elements, `lines` for each position along K.
    pub(super) elements: Vec<Element>,
    /// Codes of scale factors, `lines` for each position that begins a scale block; empty without.
    pub(super) scales: Vec<u64>,
    /// Elements that share a scale factor.
    pub(super) block: usize,
    /// What is known of each line.
    pub(super) traits: Vec<Traits>,
}

impl Cells {
    /// Code of the scale factor of a line at a position.
    pub(super) fn scale(&self, line: usize, position: usize) -> u64 {
        self.scales[position / self.block * self.lines + line]
    }
}

/// One operand of a product.
pub(super) struct Operand<'o> {
    /// From codes to elements.
    pub(super) reader: Reader<'o>,
    /// The codes.
    pub(super) matrix: &'o Matrix,
    /// The scale factors.
    pub(super) scales: Option<&'o Matrix>,
    /// Format and block size of the scale factors.
    pub(super) scale: Option<BlockScale>,
    /// Which of the matrices.
    pub(super) block: usize,
    /// For each element of a step, the index within the step it comes from.
    pub(super) order: &'o [usize],
}

impl Operand<'_> {
    /// Whether lines are rows (of A) or columns (of B).
    fn lines_are_rows(&self) -> bool {
        self.reader.side == Side::A
    }

    /// How many lines there are.
    fn count(&self) -> usize {
        if self.lines_are_rows() { self.matrix.rows() } else { self.matrix.columns() }
    }

    /// `lines` lines from `first` and the elements of `k`; lines beyond the matrix are zero.
    pub(super) fn cells(&self, first: usize, lines: usize, k: Range) -> Cells {
        let (rows, columns) = (self.matrix.rows(), self.matrix.columns());
        let start = self.block * rows * columns;
        let there = lines.min(self.count() - first);
        let mut elements = vec![Element::ZERO; lines * k.length];
        let codes = self.matrix.codes();
        let step = self.order.len();
        let in_sequence = self.order.is_sorted();
        if self.lines_are_rows() && in_sequence {
            for line in 0..there {
                let from = start + (first + line) * columns + k.first;
                self.reader.read(codes, (from, 1), &mut elements[line..], lines);
            }
        } else {
            for (position, cells) in elements.chunks_exact_mut(lines).enumerate() {
                let position = k.first + position;
                let index = position / step * step + self.order[position % step];
                let (from, stride) = match self.lines_are_rows() {
                    true => (start + first * columns + index, columns),
                    false => (start + index * columns + first, 1),
                };
                self.reader.read(codes, (from, stride), &mut cells[..there], 1);
            }
        }
        let (block, scales) = self.scales(&mut elements, first, lines, k);
        let mut traits = vec![Traits::NONE; lines];
        for cells in elements.chunks_exact(lines) {
            cells.iter().zip(&mut traits).for_each(|(element, traits)| traits.add(element));
        }
        Cells { lines, elements, scales, block, traits }
    }

    /// The scale factors of some cells; elements under a NaN factor become NaN.
    fn scales(&self, elements: &mut [Element], first: usize, lines: usize, k: Range) -> (usize, Vec<u64>) {
        let (Some(scales), Some(scale)) = (self.scales, self.scale) else {
            return (1, Vec::new());
        };
        let there = lines.min(self.count() - first);
        let mut codes = Vec::with_capacity(k.length / scale.size * lines);
        for position in (0..k.length).step_by(scale.size) {
            let factor = (k.first + position) / scale.size;
            for line in 0..lines {
                let code = match (line < there, self.lines_are_rows()) {
                    (false, _) => scale.format.one_code(),
                    (true, true) => scales.get(self.block, first + line, factor),
                    (true, false) => scales.get(self.block, factor, first + line),
                };
                codes.push(code);
                if decode(&scale.format, code).class == Class::Nan {
                    let block = &mut elements[position * lines..(position + scale.size) * lines];
                    block[line..].iter_mut().step_by(lines).for_each(|element| *element = Element::NAN);
                }
            }
        }
        (scale.size, codes)
    }
}

/// What is known of a row or column over some or all of K.
#[derive(Clone, Copy)]
pub(super) struct Traits {
    /// All kinds that occur.
    kinds: u8,
    /// The largest exponent of a nonzero element.
    pub(super) largest: i16,
}

impl Traits {
    pub(super) const NONE: Traits = Traits { kinds: 0, largest: i16::MIN };

    /// Takes an element into account.
    #[inline]
    fn add(&mut self, element: &Element) {
        self.kinds |= element.kind;
        self.largest = self.largest.max(element.exponent); // zero and specials have i16::MIN
    }

    /// Takes all that another knows into account.
    pub(super) fn join(&mut self, other: &Traits) {
        self.kinds |= other.kinds;
        self.largest = self.largest.max(other.largest);
    }

    /// Whether infinity or NaN occurs.
    pub(super) fn is_special(&self) -> bool {
        self.kinds & kind::SPECIAL != 0
    }
}

/// Numbers that begin a cache line, so that no vector of a panel lies on two.
pub(super) struct Aligned<T> {
    numbers: Vec<T>,
    skip: usize,
    length: usize,
}

impl<T: Copy + Default> Aligned<T> {
    /// `length` zeros; `None` if there is no room for them.
    pub(super) fn new(length: usize) -> Option<Aligned<T>> {
        const LINE: usize = 64;
        let slack = LINE / size_of::<T>();
        let mut numbers = Vec::new();
        numbers.try_reserve_exact(length.checked_add(slack)?).ok()?;
        numbers.resize(length + slack, T::default());
        let skip = numbers.as_ptr().align_offset(LINE).min(slack);
        Some(Aligned { numbers, skip, length })
    }

    /// `length` zeros, as few as those of a panel.
    pub(super) fn zeros(length: usize) -> Aligned<T> {
        let anywhere = || Aligned { numbers: vec![T::default(); length], skip: 0, length };
        Aligned::new(length).unwrap_or_else(anywhere)
    }

    /// One number for each element of some cells.
    pub(super) fn of(cells: &Cells, number: impl Fn(&Element) -> T) -> Aligned<T> {
        let mut aligned = Aligned::zeros(cells.elements.len());
        aligned.slice().iter_mut().zip(&cells.elements).for_each(|(to, element)| *to = number(element));
        aligned
    }

    /// The numbers.
    pub(super) fn slice(&mut self) -> &mut [T] {
        &mut self.numbers[self.skip..self.skip + self.length]
    }
}

impl<T> std::ops::Deref for Aligned<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.numbers[self.skip..self.skip + self.length]
    }
}
