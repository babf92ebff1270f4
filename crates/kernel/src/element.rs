//! From codes to what kernels compute with: numbers and their exponents.

use std::sync::Arc;

use bitmma_arithmetic::run::Side;
use bitmma_arithmetic::{InputFlush, Prepared};
use bitmma_formats::{Class, Format, Sign, Specials, Unpacked};
use bytemuck::Zeroable;

use super::codes::{Code, View};
use super::elementwise::power;
use super::tables::Tables;
use crate::on_codes;

/// Consecutive elements along K, counted in the order in which they are taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    pub(crate) first: usize,
    pub(crate) length: usize,
}

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

/// Where the fields of a format are whose numbers FP32 holds: what is finite needs no table.
#[derive(Clone, Copy)]
pub(crate) struct Fields {
    padding: u32,
    fraction: u32,
    sign: u32,
    /// From the field of an exponent to that of FP32.
    rebias: u32,
    /// The largest finite number's magnitude, its code without padding.
    largest: u32,
    /// Magnitudes below this are read as zero: 1, or where subnormal numbers are flushed the smallest normal one.
    nonzero: u32,
    /// The smallest magnitude whose exponent is that of the operand: where that is widened, the smallest normal one.
    smallest: u32,
    /// Bits of zero that keep its sign.
    sign_of_zero: u32,
    /// A code without padding that is NaN where zero would be negative.
    nan: Option<u32>,
}

impl Fields {
    /// Of codes of a format, read as operands of another; zero is positive where its sign is not asked for.
    fn of(format: &Format, wide: &Format, flush: InputFlush, zero_has_sign: bool) -> Option<Fields> {
        let fits = format.sign == Sign::Signed
            && format.subnormals
            && format.bits() <= 32
            && format.fraction_bits <= 23
            && format.min_exponent() >= -126
            && format.max_exponent() <= 127;
        let from_normal = |is_so: bool| if is_so { 1 << format.fraction_bits } else { 1 };
        fits.then(|| Fields {
            padding: format.padding_bits,
            fraction: format.fraction_bits,
            sign: format.bits() - 1,
            rebias: (127 - format.bias).cast_unsigned(),
            largest: (format.max_finite_code() >> format.padding_bits) as u32,
            nonzero: from_normal(flush.is_on()),
            smallest: from_normal(format != wide),
            nan: (format.specials == Specials::NegativeZeroNan).then(|| 1 << (format.bits() - 1)),
            sign_of_zero: if zero_has_sign && flush != InputFlush::Positive { 1 << 31 } else { 0 },
        })
    }

    /// The number of a code and the paper's Exp(x) of it, [`NO_EXPONENT`] for zero; and whether that is so, as it is of
    /// normal numbers and zeros, and of subnormal ones that are not widened.
    #[inline(always)]
    fn number(&self, code: u32) -> (f32, i16, bool) {
        let magnitude = (code & !(1 << self.sign)) >> self.padding;
        let field = magnitude >> self.fraction;
        let exponent = (if field == 0 { 1 } else { field }).wrapping_add(self.rebias);
        let fraction = magnitude & ((1 << self.fraction) - 1);
        // a subnormal number is what is above one of its exponent
        let above = if field == 0 { f32::from_bits(exponent << 23) } else { 0.0 };
        let number = f32::from_bits(exponent << 23 | fraction << (23 - self.fraction)) - above;
        let sign = code >> self.sign << 31;
        let zero = magnitude < self.nonzero;
        (
            f32::from_bits(if zero { sign & self.sign_of_zero } else { number.to_bits() | sign }),
            if zero { NO_EXPONENT } else { exponent as i16 - 127 },
            (zero | (magnitude >= self.smallest) & (magnitude <= self.largest)) & (self.nan != Some(code)),
        )
    }
}

/// What a code becomes in a kernel.
pub(crate) trait Entry: Copy + Default + Send + Sync + 'static {
    /// The number alone.
    type Value: Zeroable + Copy + Default + Send + Sync + From<f32>;
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
        let number = value.signed_significand() as f64 * power(value.exponent - format.fraction_bits as i32);
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
        let flush = prepared.model().flush_operands;
        let how = match Fields::of(&codes, &format, flush, !E::EXPONENTS) {
            _ if E::is_code(&codes) && !flush.is_on() => How::Same,
            Some(fields) => How::Fields(fields),
            None => How::Table,
        };
        let mut reader = Reader { side, format, table: Arc::default(), how };
        if let Some(table) = E::tables().of(prepared, side, |code| reader.compute(prepared, code)) {
            reader.table = table;
        }
        reader
    }

    /// Whether codes are entries.
    pub(crate) fn is_same(&self) -> bool {
        matches!(self.how, How::Same)
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

    /// Reads some codes of lines along K, each position with its lines side by side; exponents where they are kept.
    /// What belongs to lines beyond the matrix stays as it is.
    #[inline(always)]
    pub(crate) fn read(
        &self,
        prepared: &Prepared<'_>,
        lines: View<'_>,
        section: &Section,
        (values, exponents): (&mut [E::Value], &mut [i16]),
    ) {
        let order = prepared.order();
        on_codes!(lines.codes, codes => match &self.how {
            How::Same => section.numbers(codes, &lines, values, |code| E::of_code(code.code()).value()),
            _ => {
                let codes = section.codes(codes, &lines, order);
                let Section { lines, there, .. } = *section;
                let apart = if there < lines { codes.len() } else { 0 };
                // few lines are read together, and spread afterwards
                let mut near = vec![E::Value::default(); apart];
                let mut near_exponents = vec![0; if E::EXPONENTS { apart } else { 0 }];
                let (to, exponents_to): (&mut [E::Value], &mut [i16]) = match apart {
                    0 => (&mut *values, &mut *exponents),
                    _ => (&mut near, &mut near_exponents),
                };
                for (index, codes) in codes.chunks(AT_ONCE).enumerate() {
                    let first = index * AT_ONCE;
                    let kept = if E::EXPONENTS { first } else { 0 };
                    self.numbers(prepared, codes, (&mut to[first..], &mut exponents_to[kept..]));
                }
                if apart > 0 {
                    let own = values.chunks_exact_mut(lines);
                    own.zip(near.chunks_exact(there)).for_each(|(own, near)| own[..there].copy_from_slice(near));
                    if E::EXPONENTS {
                        let own = exponents.chunks_exact_mut(lines);
                        own.zip(near_exponents.chunks_exact(there)).for_each(|(own, near)| own[..there].copy_from_slice(near));
                    }
                }
            }
        });
    }

    /// Of codes next to each other, exponents where they are kept; whether all are finite is known.
    #[inline(always)]
    fn numbers<C: Code, X: From<i16>>(
        &self,
        prepared: &Prepared<'_>,
        codes: &[C],
        (values, exponents): (&mut [E::Value], &mut [X]),
    ) -> bool {
        let values = &mut values[..codes.len()];
        let exponents = &mut exponents[..if E::EXPONENTS { codes.len() } else { 0 }];
        let mut all = false;
        if let How::Fields(fields) = self.how {
            // without a branch for each, in vectors
            let mut others = 0;
            for at in 0..codes.len() {
                let (number, exponent, is_so) = fields.number(codes[at].code() as u32);
                values[at] = number.into();
                if E::EXPONENTS {
                    exponents[at] = exponent.into();
                }
                others |= u32::from(!is_so);
            }
            all = others == 0;
        }
        if !all {
            for at in 0..codes.len() {
                let code = codes[at].code();
                if let How::Fields(fields) = &self.how
                    && fields.number(code as u32).2
                {
                    continue;
                }
                let entry = self.entry(prepared, code);
                values[at] = entry.value();
                if E::EXPONENTS {
                    exponents[at] = entry.exponent().into();
                }
            }
        }
        all
    }

    /// Numbers and exponents of codes next to each other; whether all are finite.
    #[inline(always)]
    pub(crate) fn finite<C: Code>(
        &self,
        prepared: &Prepared<'_>,
        codes: &[C],
        (values, exponents): (&mut [E::Value], &mut [i32]),
    ) -> bool {
        self.numbers(prepared, codes, (values, &mut *exponents)) || !exponents.contains(&SPECIAL.into())
    }
}

/// Codes that are read together without a branch for each.
const AT_ONCE: usize = 256;

/// Positions along K of which rows are turned into columns together: what they are written to stays in the nearest cache.
const TOGETHER: usize = 64;

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
    /// Numbers made of the codes, those of one position together.
    #[inline(always)]
    fn numbers<C: Code, V>(&self, codes: &[C], matrix: &View<'_>, values: &mut [V], number: impl Fn(C) -> V) {
        let Section { block, first, lines, there, k: Range { first: k, length } } = *self;
        match matrix.has_rows() {
            true => {
                for (some, values) in values.chunks_mut(TOGETHER * lines).enumerate() {
                    for line in 0..there {
                        let codes =
                            &codes[matrix.index(block, first + line, k)..][..length][some * TOGETHER..];
                        let values = values.chunks_exact_mut(lines);
                        values.zip(codes).for_each(|(values, &code)| values[line] = number(code));
                    }
                }
            }
            false => {
                for (position, values) in values.chunks_exact_mut(lines).enumerate() {
                    let codes = &codes[matrix.index(block, first, k + position)..][..there];
                    values.iter_mut().zip(codes).for_each(|(to, &code)| *to = number(code));
                }
            }
        }
    }

    /// The codes of lines that are there, those of one position together, in the order in which a step takes them. They
    /// are copied line by line before anything is made of them: memory is slow, and this way many are on their way at once.
    #[inline(always)]
    pub(crate) fn codes<C: Code>(&self, codes: &[C], matrix: &View<'_>, order: &[usize]) -> Vec<C> {
        let Section { block, first, there, k: Range { first: k, length }, .. } = *self;
        let mut near = vec![C::default(); there * length];
        let steps = near.chunks_exact_mut(order.len() * there).zip((0..length).step_by(order.len()));
        let rows = match matrix.has_rows() {
            true => {
                let mut rows = Vec::with_capacity(there * length);
                for line in first..first + there {
                    rows.extend_from_slice(&codes[matrix.index(block, line, k)..][..length]);
                }
                rows
            }
            false => Vec::new(),
        };
        for (near, begin) in steps {
            for (near, position) in near.chunks_exact_mut(there).zip(order) {
                match matrix.has_rows() {
                    true => {
                        let column = rows[begin + position..].iter().step_by(length);
                        near.iter_mut().zip(column).for_each(|(to, &code)| *to = code);
                    }
                    false => {
                        let line = &codes[matrix.index(block, first, k + begin + position)..][..there];
                        // by as many as a vector holds: without a call more lines are on their way at once
                        let (near, last) = near.as_chunks_mut::<32>();
                        let (line, rest) = line.as_chunks();
                        near.iter_mut().zip(line).for_each(|(near, line)| *near = *line);
                        last.copy_from_slice(rest);
                    }
                }
            }
        }
        near
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bitmma_formats::{decode, table};

    /// Every code of every format of up to 16 bits by its fields beside the same decoded.
    #[test]
    fn fields_give_what_codes_are() {
        let mut read = 0;
        for format in table::FORMATS.iter().filter(|format| format.bits() <= 16) {
            for flush in [InputFlush::Never, InputFlush::Positive, InputFlush::Signed] {
                let Some(fields) = Fields::of(format, format, flush, true) else { continue };
                for code in 0..=format.max_code() {
                    let mut value = decode(format, code);
                    if flush.is_on()
                        && value.class == Class::Finite
                        && value.significand >> format.fraction_bits == 0
                    {
                        (value.class, value.significand) = (Class::Zero, 0);
                    }
                    let (number, exponent, is_so) = fields.number(code as u32);
                    assert_eq!(is_so, value.is_finite(), "{format} {code:#x}, {flush:?}");
                    if is_so {
                        value.negative &= value.class == Class::Finite || flush != InputFlush::Positive;
                        let expected = f32::from_value(&value, format);
                        assert_eq!(number.to_bits(), expected.to_bits(), "{format} {code:#x}, {flush:?}");
                        let expected = Element::from_value(&value, format).exponent();
                        assert_eq!(exponent, expected, "{format} {code:#x}, {flush:?}");
                        read += 1;
                    }
                }
            }
        }
        assert!(read > 3 * 65_536, "{read} codes");
    }

    /// Subnormal numbers of a format that is widened have other exponents: they are left to the table.
    #[test]
    fn subnormal_numbers_are_not_widened_by_fields() {
        let fields = Fields::of(&table::E4M3, &table::F16, InputFlush::Never, true).expect("fields");
        for code in 0..=255 {
            let value = decode(&table::E4M3, code);
            let subnormal = value.class == Class::Finite && value.significand < 8;
            assert_eq!(fields.number(code as u32).2, value.is_finite() && !subnormal, "{code:#x}");
        }
    }
}
