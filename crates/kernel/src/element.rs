//! From codes to what kernels compute with: numbers and their exponents.

use std::sync::Arc;

use bitmma_arithmetic::Prepared;
use bitmma_arithmetic::run::Side;
use bitmma_formats::{Class, Format, Sign, Specials, Unpacked};

use super::codes::View;
use super::pack::Range;
use super::tables::Tables;
use crate::on_codes;

/// The exponent of zero.
pub(crate) const NO_EXPONENT: i16 = i16::MIN;
/// The exponent of what is not finite.
pub(crate) const SPECIAL: i16 = i16::MIN + 1;

/// What a code becomes in a kernel: a number and its exponent, and what kind of value it is, in one word: the bits of
/// an FP32 number, 16 bits of exponent, 8 of kind.
#[derive(Clone, Copy, Default)]
pub(crate) struct Element(u64);

impl Element {
    const fn new(value: u32, exponent: i16, kind: u8) -> Element {
        Element(value as u64 | (exponent.cast_unsigned() as u64) << 32 | (kind as u64) << 48)
    }
}

/// Bits that tell what kind of value an element is.
pub(crate) mod kind {
    pub(crate) const NAN: u8 = 1;
    pub(crate) const INFINITY: u8 = 2;
    pub(crate) const ZERO: u8 = 4;
    pub(crate) const NEGATIVE: u8 = 8;
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

/// Where the fields of an IEEE 754 format of exponents within FP32's are: its normal numbers and zeros need no
/// table.
#[derive(Clone, Copy)]
pub(crate) struct Fields {
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

    /// The element of a code, if it is a normal number or zero, and whether it is.
    #[inline(always)]
    fn element(&self, code: u32) -> (Element, bool) {
        let bits = code >> self.padding;
        let field = bits >> self.fraction & self.ones;
        let negative = code >> self.sign & 1;
        let exponent = field as i32 - self.bias;
        let fraction = (bits << (23 - self.fraction)) & 0x7f_ffff;
        let sign = kind::NEGATIVE * negative as u8;
        let number =
            Element::new(negative << 31 | ((exponent + 127) as u32) << 23 | fraction, exponent as i16, sign);
        let zero = field == 0 && fraction == 0;
        let nothing = Element::new(0, NO_EXPONENT, kind::ZERO | sign);
        (if zero { nothing } else { number }, zero | (field != 0) & (field != self.ones))
    }
}

/// What a code becomes in a kernel.
pub(crate) trait Entry: Copy + Default + Send + Sync + 'static {
    /// The number alone.
    type Value: Copy + Default + Send + Sync;
    /// Whether exponents are kept beside the numbers.
    const EXPONENTS: bool;

    /// Of a value that a format has.
    fn from_value(value: &Unpacked, format: &Format) -> Self;
    /// Tables of such entries.
    fn tables() -> &'static Tables<Self>;
    /// Whether codes of the format are the entries themselves.
    fn is_code(codes: &Format) -> bool;
    /// The entry of such a code.
    fn of_code(code: u64) -> Self;
    /// The number; 0 for what is not finite, where exponents tell.
    fn value(self) -> Self::Value;
    /// The paper's Exp(x); [`NO_EXPONENT`] for zero, [`SPECIAL`] for what is not finite.
    fn exponent(self) -> i16 {
        NO_EXPONENT
    }
    /// Bits of [`kind`].
    fn kind(self) -> u8 {
        0
    }
    /// The entry of a code whose fields are those of IEEE 754, if it is a normal number or zero, and whether it is.
    fn of_fields(_: &Fields, _: u32) -> (Self, bool) {
        (Self::default(), false)
    }
}

impl Entry for Element {
    type Value = f32;
    const EXPONENTS: bool = true;

    /// A number as every kernel reads it: exact in FP32, which holds whatever the kernels take.
    fn from_value(value: &Unpacked, format: &Format) -> Element {
        let kind = kind_of(value);
        match value.class {
            Class::Finite => {}
            Class::Zero => return Element::new(0, NO_EXPONENT, kind),
            Class::Nan | Class::Infinity => return Element::new(0, SPECIAL, kind),
        }
        // through FP64, where both factors are normal
        let unit = f64::from_bits(((value.exponent - format.fraction_bits as i32 + 1023) as u64) << 52);
        let number = value.signed_significand() as f64 * unit;
        Element::new((number as f32).to_bits(), value.exponent as i16, kind)
    }
    fn tables() -> &'static Tables<Element> {
        static TABLES: Tables<Element> = Tables::new();
        &TABLES
    }
    fn is_code(_: &Format) -> bool {
        false
    }
    fn of_code(_: u64) -> Element {
        unreachable!("no code is an element")
    }
    #[inline(always)]
    fn value(self) -> f32 {
        f32::from_bits(self.0 as u32)
    }
    #[inline(always)]
    fn exponent(self) -> i16 {
        (self.0 >> 32) as i16
    }
    #[inline(always)]
    fn kind(self) -> u8 {
        (self.0 >> 48) as u8
    }
    #[inline(always)]
    fn of_fields(fields: &Fields, code: u32) -> (Element, bool) {
        fields.element(code)
    }
}

/// From the codes of an operand to entries: a table for formats of up to 16 bits, a function for wider ones.
pub(crate) struct Reader<E> {
    side: Side,
    format: Format,
    table: Arc<[E]>,
    how: How,
}

/// How codes are read.
enum How {
    /// They are entries.
    Same,
    /// By their fields, all but few.
    Fields(Fields),
    /// By the table, or one by one where there is none.
    Table,
}

impl<E: Entry> Reader<E> {
    /// A reader of one operand.
    pub(crate) fn new(prepared: &Prepared<'_>, side: Side) -> Reader<E> {
        let (codes, format) = (prepared.code_format(side), prepared.operand_format(side));
        let how = match Fields::of(&codes) {
            _ if E::is_code(&codes) && !prepared.model().flush_operands.is_on() => How::Same,
            Some(fields) if E::EXPONENTS && codes.bits() > 8 => How::Fields(fields),
            _ => How::Table,
        };
        let mut reader = Reader { side, format, table: Arc::default(), how };
        if let Some(table) = E::tables().of(prepared, side, |code| reader.compute(prepared, code)) {
            reader.table = table;
        }
        reader
    }

    #[inline(never)]
    fn compute(&self, prepared: &Prepared<'_>, code: u64) -> E {
        E::from_value(&prepared.element(self.side, code), &self.format)
    }

    /// What a code is.
    #[inline(always)]
    pub(crate) fn entry(&self, prepared: &Prepared<'_>, code: u64) -> E {
        match self.table.get(code as usize) {
            Some(&entry) => entry,
            None => self.compute(prepared, code),
        }
    }

    /// Reads some codes of a matrix, each position along K with its lines side by side; exponents where they are kept.
    /// What belongs to lines beyond the matrix stays as it is.
    #[inline(always)]
    pub(crate) fn read(
        &self,
        prepared: &Prepared<'_>,
        matrix: View<'_>,
        section: &Section,
        (values, exponents): (&mut [E::Value], &mut [i16]),
    ) {
        let (shape, order) = ((matrix.rows, matrix.columns), prepared.order());
        #[allow(clippy::useless_conversion)] // u64 is one of the four
        {
            on_codes!(Slice: matrix.codes, codes => match &self.how {
                How::Same => section.numbers(self.side, codes, shape, values, |code| E::of_code(code.into()).value()),
                How::Table if !E::EXPONENTS => {
                    let value = |code: _| self.entry(prepared, u64::from(code)).value();
                    section.numbers(self.side, codes, shape, values, value);
                }
                How::Table => {
                    let codes = section.codes(self.side, codes, shape, order);
                    self.by_table(prepared, (section, &codes), values, exponents);
                }
                How::Fields(fields) => {
                    let codes = section.codes(self.side, codes, shape, order);
                    self.by_fields(prepared, fields, (section, &codes), values, exponents);
                }
            });
        }
    }

    #[inline(always)]
    fn by_table<C: Copy + Into<u64>>(
        &self,
        prepared: &Prepared<'_>,
        (section, codes): (&Section, &[C]),
        values: &mut [E::Value],
        exponents: &mut [i16],
    ) {
        let (chunk, apart) = section.chunks();
        let numbers = values.chunks_mut(apart).zip(exponents.chunks_mut(apart));
        for ((values, exponents), codes) in numbers.zip(codes.chunks(chunk)) {
            for ((value, exponent), &code) in values.iter_mut().zip(exponents).zip(codes) {
                let entry = self.entry(prepared, code.into());
                (*value, *exponent) = (entry.value(), entry.exponent());
            }
        }
    }

    /// Without a branch for each, and once more where there was anything but normal numbers and zeros.
    #[inline(always)]
    fn by_fields<C: Copy + Into<u64>>(
        &self,
        prepared: &Prepared<'_>,
        fields: &Fields,
        (section, codes): (&Section, &[C]),
        values: &mut [E::Value],
        exponents: &mut [i16],
    ) {
        let (chunk, apart) = section.chunks();
        let numbers = values.chunks_mut(apart).zip(exponents.chunks_mut(apart));
        for ((values, exponents), codes) in numbers.zip(codes.chunks(chunk)) {
            self.plain_by_fields(prepared, fields, codes, (values, exponents));
        }
    }

    /// Of codes next to each other; whether all are normal numbers or zeros.
    #[inline(always)]
    fn plain_by_fields<C: Copy + Into<u64>, X: From<i16>>(
        &self,
        prepared: &Prepared<'_>,
        fields: &Fields,
        codes: &[C],
        (values, exponents): (&mut [E::Value], &mut [X]),
    ) -> bool {
        let mut all = true;
        for ((value, exponent), &code) in values.iter_mut().zip(&mut *exponents).zip(codes) {
            let (entry, is_plain) = E::of_fields(fields, code.into() as u32);
            (*value, *exponent) = (entry.value(), entry.exponent().into());
            all &= is_plain;
        }
        if !all {
            for ((value, exponent), &code) in values.iter_mut().zip(exponents).zip(codes) {
                if !E::of_fields(fields, code.into() as u32).1 {
                    let entry = self.entry(prepared, code.into());
                    (*value, *exponent) = (entry.value(), entry.exponent().into());
                }
            }
        }
        all
    }

    /// Numbers and exponents of codes next to each other; whether all are finite.
    #[inline(always)]
    pub(crate) fn finite<C: Copy + Into<u64>>(
        &self,
        prepared: &Prepared<'_>,
        codes: &[C],
        (values, exponents): (&mut [E::Value], &mut [i32]),
    ) -> bool {
        if let How::Fields(fields) = &self.how
            && self.plain_by_fields(prepared, fields, codes, (values, exponents))
        {
            return true;
        }
        for ((value, exponent), &code) in values.iter_mut().zip(&mut *exponents).zip(codes) {
            let entry = self.entry(prepared, code.into());
            (*value, *exponent) = (entry.value(), entry.exponent().into());
        }
        !exponents.contains(&SPECIAL.into())
    }
}

/// Which codes of a matrix: some lines (rows of A, columns of B) and a range of K.
#[derive(Clone, Copy)]
pub(crate) struct Section {
    /// Which of the matrices.
    pub(crate) block: usize,
    /// The first line.
    pub(crate) first: usize,
    /// Lines, and how many of them the matrix has.
    pub(crate) lines: usize,
    pub(crate) there: usize,
    /// Whole steps.
    pub(crate) k: Range,
}

impl Section {
    /// Numbers made of the codes, those of one position together; steps take them in their order.
    #[inline(always)]
    fn numbers<C: Copy, V>(
        &self,
        side: Side,
        codes: &[C],
        (rows, columns): (usize, usize),
        values: &mut [V],
        number: impl Fn(C) -> V,
    ) {
        let Section { block, first, lines, there, k: Range { first: k, .. } } = *self;
        let codes = &codes[block * rows * columns..(block + 1) * rows * columns];
        for (position, values) in values.chunks_exact_mut(lines).enumerate() {
            let values = values[..there].iter_mut();
            match side {
                Side::A => {
                    let codes = codes[first * columns + k + position..].iter().step_by(columns);
                    values.zip(codes).for_each(|(to, &code)| *to = number(code));
                }
                Side::B => {
                    let codes = &codes[(k + position) * columns + first..][..there];
                    values.zip(codes).for_each(|(to, &code)| *to = number(code));
                }
            }
        }
    }

    /// How many codes of those that are there are read together without a branch, and how far apart their numbers begin.
    #[inline(always)]
    fn chunks(&self) -> (usize, usize) {
        if self.there < self.lines { (self.there, self.lines) } else { (64, 64) }
    }

    /// The codes of lines that are there, those of one position together, in the order in which a step takes them. They
    /// are copied line by line before anything is made of them: memory is slow, and this way many are on their way at once.
    #[inline(always)]
    fn codes<C: Copy + Default>(
        &self,
        side: Side,
        codes: &[C],
        (rows, columns): (usize, usize),
        order: &[usize],
    ) -> Vec<C> {
        let Section { block, first, there, k: Range { first: k, length }, .. } = *self;
        let codes = &codes[block * rows * columns..(block + 1) * rows * columns];
        let step = order.len();
        let index = |position: usize| position / step * step + order[position % step];
        let mut near = Vec::with_capacity(there * length);
        match side {
            Side::A => {
                let mut rows = Vec::with_capacity(there * length);
                for line in first..first + there {
                    rows.extend_from_slice(&codes[line * columns + k..][..length]);
                }
                near.resize(there * length, C::default());
                for (position, near) in near.chunks_exact_mut(there).enumerate() {
                    let column = &rows[index(position)..];
                    near.iter_mut().zip(column.iter().step_by(length)).for_each(|(to, &code)| *to = code);
                }
            }
            Side::B => {
                for position in 0..length {
                    let row = (k + index(position)) * columns + first;
                    near.extend_from_slice(&codes[row..][..there]);
                }
            }
        }
        near
    }
}
