//! The parameters of the families: one row each.
//!
//! A row says what a parameter is called in the paper and in a model file, what it means, which values it may have,
//! and where it is in an [`Operation`]. Which families have it follows from that.

use std::fmt;

use bitmma_formats::Rounding;

use crate::family::Operation;
use crate::sums::{FusedSum, RoundedSum};

/// A parameter of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Parameter {
    /// L_max: products in one operation.
    MaxLength,
    /// P: products summed pairwise.
    Pairing,
    /// G: elements in a group.
    Group,
    /// F: fractional bits of terms.
    FractionBits,
    /// F_c: fractional bits of the accumulator.
    AccumulatorBits,
    /// F2: fractional bits of the sum of products.
    SumFractionBits,
    /// How terms are cut.
    TermRounding,
    /// How sums are cut.
    SumRounding,
    /// Whether the sum is cut again at its own exponent.
    Renormalize,
    /// e_zero: the exponent of a zero term.
    ZeroExponent,
    /// The exponent of a zero accumulator.
    ZeroAccumulator,
    /// The magnitude from which products are infinite.
    ProductOverflow,
}

/// A value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number.
    Number(i128),
    /// None, for a parameter that may have none.
    None,
    /// A rounding rule.
    Rounding(Rounding),
    /// Yes or no.
    Flag(bool),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(number) => number.fmt(f),
            Value::None => f.pad("none"),
            Value::Rounding(rounding) => f.pad(&rounding.to_string()),
            Value::Flag(flag) => f.pad(if *flag { "yes" } else { "no" }),
        }
    }
}

/// Which values a parameter may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// A number of products: 1 to [`MAX_LENGTH`].
    Length,
    /// A power of two up to [`MAX_PAIRING`].
    PowerOfTwo,
    /// A divisor of L_max.
    Divisor,
    /// A number of fractional bits: 0 to [`MAX_FRACTION_BITS`].
    Bits,
    /// An exponent, from -65536 to 65536.
    Exponent,
    /// The exponent of a magnitude; any will do.
    Limit,
    /// One of the rounding rules.
    Rounding,
    /// Yes or no.
    Flag,
}

/// Largest L_max; sums of that many terms of 2^62 stay far below the 127 bits they are kept in.
pub const MAX_LENGTH: usize = 1 << 16;
/// The largest P; 1, 2 and 4 exist.
pub const MAX_PAIRING: usize = 64;
/// Largest F, F_c and F2.
pub const MAX_FRACTION_BITS: u32 = 60;
/// Largest magnitude of the exponents that zeros bring.
pub const MAX_ZERO_EXPONENT: i32 = 1 << 16;

/// What it means where a model file leaves a parameter out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// It is an error.
    Error,
    /// The parameter has this value.
    Value(Value),
    /// There is none, and that means this.
    None(&'static str),
    /// It is the same as that parameter, and is not shown.
    As(Parameter),
}

/// What is known of a parameter.
#[derive(Debug)]
pub struct ParameterRow {
    /// The paper's symbol, and the key of the model file.
    pub key: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// Which values it may have.
    pub range: Range,
    /// What it means to leave it out.
    pub missing: Missing,
    /// Whether a short description of a model names it.
    pub short: bool,
    /// Where it is in an operation; `None` for a family that does not have it.
    field: fn(&mut Operation) -> Option<Field<'_>>,
}

/// A place in an operation.
enum Field<'a> {
    Count(&'a mut usize),
    Bits(&'a mut u32),
    OptionalBits(&'a mut Option<u32>),
    Exponent(&'a mut Option<i32>),
    Rounding(&'a mut Rounding),
    Flag(&'a mut bool),
}

impl Parameter {
    /// Every parameter, in the order of a model file.
    pub const ALL: [Parameter; 12] = [
        Parameter::MaxLength,
        Parameter::Pairing,
        Parameter::Group,
        Parameter::FractionBits,
        Parameter::AccumulatorBits,
        Parameter::SumFractionBits,
        Parameter::TermRounding,
        Parameter::SumRounding,
        Parameter::Renormalize,
        Parameter::ZeroExponent,
        Parameter::ZeroAccumulator,
        Parameter::ProductOverflow,
    ];

    /// What is known of it.
    pub fn row(self) -> &'static ParameterRow {
        &ROWS[self as usize]
    }

    /// The paper's symbol, and the key of the model file.
    pub fn key(self) -> &'static str {
        self.row().key
    }
}

/// In the order of [`Parameter::ALL`].
static ROWS: [ParameterRow; Parameter::ALL.len()] = [
    ParameterRow {
        key: "L_max",
        meaning: "products in one sum at most",
        range: Range::Length,
        missing: Missing::Error,
        short: true,
        field: |operation| operation.max_length_mut().map(Field::Count),
    },
    ParameterRow {
        key: "P",
        meaning: "products summed pairwise before C",
        range: Range::PowerOfTwo,
        missing: Missing::Error,
        short: true,
        field: |operation| match operation {
            Operation::FtzAddMul { pairing } => Some(Field::Count(pairing)),
            _ => None,
        },
    },
    ParameterRow {
        key: "G",
        meaning: "elements in a group",
        range: Range::Divisor,
        missing: Missing::Error,
        short: true,
        field: |operation| match operation {
            Operation::GstFdpa { group, .. } => Some(Field::Count(group)),
            _ => None,
        },
    },
    ParameterRow {
        key: "F",
        meaning: "fractional bits kept of each term, below the largest exponent",
        range: Range::Bits,
        missing: Missing::Error,
        short: true,
        field: |operation| match operation {
            Operation::TFdpa(sum) | Operation::StFdpa(sum) | Operation::GstFdpa { sum, .. } => {
                Some(Field::Bits(&mut sum.fraction_bits))
            }
            _ => rounded(operation, |sum| Field::Bits(&mut sum.fraction_bits)),
        },
    },
    ParameterRow {
        key: "F_c",
        meaning: "fractional bits kept of C",
        range: Range::Bits,
        missing: Missing::As(Parameter::FractionBits),
        short: false,
        field: |operation| fused(operation, |sum| Field::OptionalBits(&mut sum.accumulator_fraction_bits)),
    },
    ParameterRow {
        key: "F2",
        meaning: "fractional bits kept of the sum when C is added",
        range: Range::Bits,
        missing: Missing::Error,
        short: true,
        field: |operation| rounded(operation, |sum| Field::Bits(&mut sum.sum_fraction_bits)),
    },
    ParameterRow {
        key: "term_rounding",
        meaning: "how a term is cut to F bits",
        range: Range::Rounding,
        missing: Missing::Value(Value::Rounding(Rounding::TowardZero)),
        short: false,
        field: |operation| match operation {
            Operation::TFdpa(sum) | Operation::StFdpa(sum) | Operation::GstFdpa { sum, .. } => {
                Some(Field::Rounding(&mut sum.term_rounding))
            }
            _ => rounded(operation, |sum| Field::Rounding(&mut sum.term_rounding)),
        },
    },
    ParameterRow {
        key: "sum_rounding",
        meaning: "how sums and C are cut",
        range: Range::Rounding,
        missing: Missing::Value(Value::Rounding(Rounding::Down)),
        short: false,
        field: |operation| rounded(operation, |sum| Field::Rounding(&mut sum.sum_rounding)),
    },
    ParameterRow {
        key: "renormalize",
        meaning: "whether the sum keeps a bit more and is cut again at its own exponent",
        range: Range::Flag,
        missing: Missing::Value(Value::Flag(false)),
        short: false,
        field: |operation| rounded(operation, |sum| Field::Flag(&mut sum.renormalize)),
    },
    ParameterRow {
        key: "e_zero",
        meaning: "exponent of a zero term",
        range: Range::Exponent,
        missing: Missing::None("it brings none"),
        short: false,
        field: |operation| fused(operation, |sum| Field::Exponent(&mut sum.zero_exponent)),
    },
    ParameterRow {
        key: "e_zero_c",
        meaning: "exponent of a zero C",
        range: Range::Exponent,
        missing: Missing::None("it brings none"),
        short: false,
        field: |operation| rounded(operation, |sum| Field::Exponent(&mut sum.zero_accumulator_exponent)),
    },
    ParameterRow {
        key: "product_overflow",
        meaning: "a product of 2^this or more is infinite",
        range: Range::Limit,
        missing: Missing::None("no product is"),
        short: false,
        field: |operation| rounded(operation, |sum| Field::Exponent(&mut sum.product_overflow)),
    },
];

fn fused(operation: &mut Operation, field: fn(&mut FusedSum) -> Field<'_>) -> Option<Field<'_>> {
    operation.fused_mut().map(field)
}

fn rounded(operation: &mut Operation, field: fn(&mut RoundedSum) -> Field<'_>) -> Option<Field<'_>> {
    operation.rounded_mut().map(field)
}

impl Field<'_> {
    fn value(&self) -> Value {
        match self {
            Field::Count(count) => Value::Number(**count as i128),
            Field::Bits(bits) => Value::Number(i128::from(**bits)),
            Field::OptionalBits(bits) => bits.map_or(Value::None, |bits| Value::Number(bits.into())),
            Field::Exponent(exponent) => {
                exponent.map_or(Value::None, |exponent| Value::Number(exponent.into()))
            }
            Field::Rounding(rounding) => Value::Rounding(**rounding),
            Field::Flag(flag) => Value::Flag(**flag),
        }
    }

    /// Whether the value is of its kind; it is set then.
    fn set(self, value: Value) -> bool {
        fn store<N>(place: &mut N, number: impl TryInto<N>) -> bool {
            number.try_into().map(|number| *place = number).is_ok()
        }
        match (self, value) {
            (Field::Count(place), Value::Number(number)) => store(place, number),
            (Field::Bits(place), Value::Number(number)) => store(place, number),
            (Field::OptionalBits(place), Value::Number(number)) => store(place.insert(0), number),
            (Field::OptionalBits(place), Value::None) => store(place, None),
            (Field::Exponent(place), Value::Number(number)) => store(place.insert(0), number),
            (Field::Exponent(place), Value::None) => store(place, None),
            (Field::Rounding(place), Value::Rounding(rounding)) => store(place, rounding),
            (Field::Flag(place), Value::Flag(flag)) => store(place, flag),
            _ => false,
        }
    }
}

impl Operation {
    /// The parameters that its family has, in the order of a model file.
    pub fn parameters(&self) -> impl Iterator<Item = (Parameter, Value)> {
        let operation = *self;
        Parameter::ALL.into_iter().filter_map(move |parameter| Some((parameter, operation.get(parameter)?)))
    }

    /// Whether its family has the parameter.
    pub fn has(&self, parameter: Parameter) -> bool {
        self.get(parameter).is_some()
    }

    /// The value of a parameter; `None` if the family does not have it.
    pub fn get(&self, parameter: Parameter) -> Option<Value> {
        let mut copy = *self;
        (parameter.row().field)(&mut copy).map(|field| field.value())
    }

    /// The value of a parameter that is a number; `None` if it has none, or the family does not have it.
    pub fn number<N: TryFrom<i128>>(&self, parameter: Parameter) -> Option<N> {
        match self.get(parameter)? {
            Value::Number(number) => number.try_into().ok(),
            _ => None,
        }
    }

    /// The operation with another value of a parameter; as it is if its family does not have the parameter, or the
    /// value is of another kind.
    #[must_use]
    pub fn with(mut self, parameter: Parameter, value: Value) -> Operation {
        let before = self;
        match (parameter.row().field)(&mut self).is_some_and(|field| field.set(value)) {
            true => self,
            false => before,
        }
    }

    /// The operation with L_max, or P, set to `length`; FMA as it is.
    #[must_use]
    pub fn with_length(self, length: usize) -> Operation {
        let length = Value::Number(length as i128);
        self.with(Parameter::MaxLength, length).with(Parameter::Pairing, length)
    }

    /// The first parameter that is out of its range, and what it may be.
    pub fn out_of_range(&self) -> Option<(Parameter, Value, String)> {
        self.parameters().find_map(|(parameter, value)| {
            let allowed = parameter.row().range.refuses(self, value)?;
            Some((parameter, value, allowed))
        })
    }
}

impl Range {
    /// What is allowed, if a value is not.
    pub(crate) fn refuses(self, operation: &Operation, value: Value) -> Option<String> {
        let Value::Number(number) = value else { return None };
        let interval = |first: i64, last: i64| {
            let allowed = (i128::from(first)..=i128::from(last)).contains(&number);
            (!allowed).then(|| format!("it may be {first} to {last}"))
        };
        match self {
            Range::Length => interval(1, MAX_LENGTH as i64),
            Range::Bits => interval(0, MAX_FRACTION_BITS.into()),
            Range::Exponent => interval((-MAX_ZERO_EXPONENT).into(), MAX_ZERO_EXPONENT.into()),
            Range::PowerOfTwo => {
                let allowed = (1..=MAX_PAIRING as i128).contains(&number) && number.count_ones() == 1;
                (!allowed).then(|| format!("it must be a power of two, {MAX_PAIRING} at most"))
            }
            Range::Divisor => {
                let length = operation.max_length();
                let allowed = number > 0 && length as i128 % number == 0;
                (!allowed).then(|| format!("it must divide L_max = {length}"))
            }
            Range::Limit => interval(i32::MIN.into(), i32::MAX.into()),
            Range::Rounding | Range::Flag => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::FAMILIES;

    #[test]
    fn rows_are_sound() {
        for (index, parameter) in Parameter::ALL.into_iter().enumerate() {
            assert_eq!(parameter as usize, index, "{parameter:?}");
            let alike = Parameter::ALL.into_iter().filter(|other| other.key() == parameter.key());
            assert_eq!(alike.count(), 1, "{parameter:?}");
            assert!(FAMILIES.iter().any(|family| family.example.has(parameter)), "{parameter:?}: whose?");
        }
        for family in &FAMILIES {
            assert!(std::ptr::eq(family.example.family(), family), "{}", family.name);
            assert!(
                FAMILIES.iter().filter(|other| other.name == family.name).count() == 1,
                "{}",
                family.name
            );
            assert!(family.about.ends_with('.') && family.source.ends_with('.'), "{}", family.name);
            assert_eq!(family.example.out_of_range(), None, "{}", family.name);
        }
    }

    /// What is set is read back, by its own parameter and by no other.
    #[test]
    fn what_is_set_is_read() {
        for family in &FAMILIES {
            for (parameter, value) in family.example.parameters() {
                let other = match value {
                    Value::Number(number) => Value::Number(number + 1),
                    Value::None => Value::Number(7),
                    Value::Rounding(_) => Value::Rounding(Rounding::ToOdd),
                    Value::Flag(flag) => Value::Flag(!flag),
                };
                let changed = family.example.with(parameter, other);
                let mut expected: Vec<_> = family.example.parameters().collect();
                for (own, value) in &mut expected {
                    if *own == parameter {
                        *value = other;
                    }
                }
                assert_eq!(
                    changed.parameters().collect::<Vec<_>>(),
                    expected,
                    "{} {parameter:?}",
                    family.name
                );
                assert_eq!(changed.with(parameter, value), family.example, "{} {parameter:?}", family.name);
            }
        }
    }
}
