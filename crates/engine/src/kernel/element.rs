//! From codes to what kernels compute with: numbers and their exponents.

use std::sync::Arc;

use bitmma_arithmetic::Prepared;
use bitmma_arithmetic::run::Side;
use bitmma_formats::{Class, Format, Sign, Specials, Unpacked};

use super::tables::Tables;
use crate::matrix::Codes;

/// The exponent of zero.
pub(super) const NO_EXPONENT: i16 = i16::MIN;
/// The exponent of what is not finite.
pub(super) const SPECIAL: i16 = i16::MIN + 1;

/// What a code becomes in a kernel: a number and its exponent, and what kind of value it is, in one word: the bits of
/// an FP32 number, 16 bits of exponent, 8 of kind.
#[derive(Clone, Copy)]
pub(super) struct Element(u64);

impl Element {
    const fn new(value: u32, exponent: i16, kind: u8) -> Element {
        Element(value as u64 | (exponent.cast_unsigned() as u64) << 32 | (kind as u64) << 48)
    }

    /// A number as every kernel reads it: exact in FP32, which holds whatever the kernels take.
    fn of(value: &Unpacked, format: &Format) -> Element {
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

    /// The kernel's reading of the value; 0 for zero and for what is not finite.
    #[inline(always)]
    pub(super) fn value(self) -> f32 {
        f32::from_bits(self.0 as u32)
    }

    /// The paper's Exp(x); [`NO_EXPONENT`] for zero, [`SPECIAL`] for what is not finite.
    #[inline(always)]
    pub(super) fn exponent(self) -> i16 {
        (self.0 >> 32) as i16
    }

    /// Bits of [`kind`].
    #[inline(always)]
    pub(super) fn kind(self) -> u8 {
        (self.0 >> 48) as u8
    }
}

/// Bits that tell what kind of value an element is.
pub(super) mod kind {
    pub(in super::super) const NAN: u8 = 1;
    pub(in super::super) const INFINITY: u8 = 2;
    pub(in super::super) const ZERO: u8 = 4;
    pub(in super::super) const NEGATIVE: u8 = 8;
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
    pub(super) side: Side,
    format: Format,
    table: Arc<[Element]>,
    fields: Option<Fields>,
}

/// Where the fields of an IEEE 754 format of exponents within FP32's are: its normal numbers and zeros need no
/// table.
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

static TABLES: Tables<Element> = Tables::new();

impl<'p> Reader<'p> {
    /// A reader of one operand.
    pub(super) fn new(prepared: &'p Prepared<'p>, side: Side) -> Reader<'p> {
        let format = prepared.operand_format(side);
        let mut reader = Reader { prepared, side, format, table: Arc::default(), fields: None };
        let codes = prepared.code_format(side);
        if codes.bits() > 8 {
            reader.fields = Fields::of(&codes);
        }
        if let Some(table) = TABLES.of(prepared, side, |code| reader.compute(code)) {
            reader.table = table;
        }
        reader
    }

    #[inline(never)]
    fn compute(&self, code: u64) -> Element {
        Element::of(&self.prepared.element(self.side, code), &self.format)
    }

    /// What a code is.
    pub(super) fn element(&self, code: u64) -> Element {
        match (self.table.get(code as usize), self.fields.map(|fields| fields.element(code as u32))) {
            (Some(&element), _) | (None, Some((element, true))) => element,
            _ => self.compute(code),
        }
    }

    /// Reads some codes of a matrix, each position along K with its lines side by side.
    #[inline(always)]
    pub(super) fn read(&self, codes: &Codes, section: &Section<'_>, numbers: Numbers<'_>) {
        match codes {
            Codes::U8(codes) => self.section(codes, section, numbers),
            Codes::U16(codes) => self.section(codes, section, numbers),
            Codes::U32(codes) => self.section(codes, section, numbers),
            Codes::U64(codes) => self.section(codes, section, numbers),
        }
    }

    #[inline(always)]
    fn section<C: Copy + Default + Into<u64>>(
        &self,
        codes: &[C],
        section: &Section<'_>,
        Numbers { values, exponents }: Numbers<'_>,
    ) {
        let Section { first, stride, there, lines, .. } = *section;
        let count = values.len() / lines;
        // codes are copied line by line before anything is made of them: memory is slow, and this way many are
        // on their way at once
        let mut near = Vec::with_capacity(values.len());
        match self.side {
            Side::A => {
                let mut rows = Vec::with_capacity(there * count);
                for line in 0..there {
                    rows.extend_from_slice(&codes[first + line * stride..][..count]);
                }
                near.resize(values.len(), C::default());
                for (position, near) in near.chunks_exact_mut(lines).enumerate() {
                    let column = &rows[section.index(position)..];
                    near.iter_mut().zip(column.iter().step_by(count)).for_each(|(to, &code)| *to = code);
                }
            }
            Side::B => {
                for position in 0..count {
                    let row = first + section.index(position) * stride;
                    near.extend_from_slice(&codes[row..][..there]);
                    near.resize((position + 1) * lines, C::default());
                }
            }
        }
        self.each(&near, values, exponents);
        if there < lines {
            values.chunks_exact_mut(lines).for_each(|values| values[there..].fill(0.0));
            exponents.chunks_exact_mut(lines).for_each(|exponents| exponents[there..].fill(NO_EXPONENT));
        }
    }

    #[inline(always)]
    fn each<C: Copy + Into<u64>>(&self, codes: &[C], values: &mut [f32], exponents: &mut [i16]) {
        let Some(fields) = self.fields else {
            let table = &*self.table;
            for ((value, exponent), &code) in values.iter_mut().zip(exponents).zip(codes) {
                let code: u64 = code.into();
                let element = match table.get(code as usize) {
                    Some(element) => *element,
                    None => self.compute(code),
                };
                *value = element.value();
                *exponent = element.exponent();
            }
            return;
        };
        let numbers = values.chunks_mut(CHUNK).zip(exponents.chunks_mut(CHUNK));
        for ((values, exponents), codes) in numbers.zip(codes.chunks(CHUNK)) {
            let mut all = true;
            for ((value, exponent), &code) in values.iter_mut().zip(&mut *exponents).zip(codes) {
                let (element, is_plain) = fields.element(code.into() as u32);
                *value = element.value();
                *exponent = element.exponent();
                all &= is_plain;
            }
            if !all {
                for ((value, exponent), &code) in values.iter_mut().zip(exponents).zip(codes) {
                    let code: u64 = code.into();
                    if !fields.element(code as u32).1 {
                        let element = self.element(code);
                        *value = element.value();
                        *exponent = element.exponent();
                    }
                }
            }
        }
    }
}

/// Numbers and exponents to be written.
pub(super) struct Numbers<'n> {
    pub(super) values: &'n mut [f32],
    pub(super) exponents: &'n mut [i16],
}

/// Where the codes of some lines and a range of K are.
pub(super) struct Section<'s> {
    /// Index of the code of the first line at the beginning of the range.
    pub(super) first: usize,
    /// Codes of a row of the matrix.
    pub(super) stride: usize,
    /// Lines, and how many of them the matrix has; the others are zero.
    pub(super) lines: usize,
    pub(super) there: usize,
    /// For each position of a step, the index within the step it comes from.
    pub(super) order: &'s [usize],
}

impl Section<'_> {
    /// The index in the range of a position.
    #[inline(always)]
    fn index(&self, position: usize) -> usize {
        let step = self.order.len();
        position / step * step + self.order[position % step]
    }
}

/// Codes that are read without a branch, and looked at again if there was anything but normal numbers and zeros.
const CHUNK: usize = 64;
