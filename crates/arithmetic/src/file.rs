//! Models as TOML files.

use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use bitmma_formats::{BlockScale, Format, table};
use serde::de::{self, DeserializeSeed, MapAccess, Visitor};
use serde::ser::{self, SerializeMap};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::ModelError;
use crate::family::{self, Operation};
use crate::lowering::{Chains, Lowering, Order};
use crate::model::{InputFlush, Model};
use crate::parameter::{Missing, Parameter, Range, Value};

/// A model file, named as in the paper. A key that a family does not have is an error.
#[derive(Debug, Default)]
struct File {
    model: String,
    a: String,
    b: String,
    c: String,
    d: Option<String>,
    rho: String,
    /// What it says of the parameters of the operation, in the order of the file.
    parameters: Vec<(Parameter, Given)>,
    flush_operands: Option<InputFlush>,
    flush_accumulator: Option<InputFlush>,
    nan: Option<u64>,
    scale: Option<ScaleTable>,
    lowering: Option<LoweringTable>,
}

/// The keys before and after those of the parameters.
const BEFORE: [&str; 6] = ["model", "A", "B", "C", "D", "rho"];
const AFTER: [&str; 5] = ["flush_operands", "flush_accumulator", "nan", "scale", "lowering"];

/// Every key.
static KEYS: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| BEFORE.into_iter().chain(Parameter::ALL.map(Parameter::key)).chain(AFTER).collect());

/// The value of a parameter as a file has it.
#[derive(Debug)]
enum Given {
    Number(i128),
    Text(String),
    Flag(bool),
}

impl<'de> Deserialize<'de> for File {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<File, D::Error> {
        deserializer.deserialize_map(Reader)
    }
}

/// Reads a key: one of [`KEYS`], or an error that names them.
struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = &'static str;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<&'static str, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for Key {
    type Value = &'static str;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key of a model file")
    }

    fn visit_str<E: de::Error>(self, key: &str) -> Result<&'static str, E> {
        let known = KEYS.iter().find(|known| **known == key);
        known.copied().ok_or_else(|| E::unknown_field(key, &KEYS))
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = File;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a model file")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<File, M::Error> {
        let mut file = File::default();
        let mut missing = vec!["model", "A", "B", "C", "rho"];
        while let Some(key) = map.next_key_seed(Key)? {
            missing.retain(|missing| *missing != key);
            match key {
                "model" => file.model = map.next_value()?,
                "A" => file.a = map.next_value()?,
                "B" => file.b = map.next_value()?,
                "C" => file.c = map.next_value()?,
                "D" => file.d = Some(map.next_value()?),
                "rho" => file.rho = map.next_value()?,
                "flush_operands" => file.flush_operands = Some(map.next_value()?),
                "flush_accumulator" => file.flush_accumulator = Some(map.next_value()?),
                "nan" => file.nan = Some(map.next_value()?),
                "scale" => file.scale = Some(map.next_value()?),
                "lowering" => file.lowering = Some(map.next_value()?),
                _ => {
                    let parameter = Parameter::ALL.into_iter().find(|parameter| parameter.key() == key);
                    let parameter = parameter.ok_or_else(|| de::Error::unknown_field(key, &KEYS))?;
                    let given = match parameter.row().range {
                        Range::Rounding => Given::Text(map.next_value()?),
                        Range::Flag => Given::Flag(map.next_value()?),
                        _ => Given::Number(map.next_value::<i128>()?),
                    };
                    file.parameters.push((parameter, given));
                }
            }
        }
        match missing.first() {
            Some(missing) => Err(de::Error::missing_field(missing)),
            None => Ok(file),
        }
    }
}

impl Serialize for File {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        fn some<M: SerializeMap, V: Serialize>(
            map: &mut M,
            key: &str,
            value: &Option<V>,
        ) -> Result<(), M::Error> {
            value.as_ref().map_or(Ok(()), |value| map.serialize_entry(key, value))
        }
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in [("model", &self.model), ("A", &self.a), ("B", &self.b), ("C", &self.c)] {
            map.serialize_entry(key, value)?;
        }
        some(&mut map, "D", &self.d)?;
        map.serialize_entry("rho", &self.rho)?;
        for (parameter, given) in &self.parameters {
            match given {
                // TOML's integers have 64 bits
                Given::Number(number) => match i64::try_from(*number) {
                    Ok(number) => map.serialize_entry(parameter.key(), &number)?,
                    Err(error) => return Err(ser::Error::custom(error)),
                },
                Given::Text(text) => map.serialize_entry(parameter.key(), text)?,
                Given::Flag(flag) => map.serialize_entry(parameter.key(), flag)?,
            }
        }
        some(&mut map, "flush_operands", &self.flush_operands)?;
        some(&mut map, "flush_accumulator", &self.flush_accumulator)?;
        some(&mut map, "nan", &self.nan)?;
        some(&mut map, "scale", &self.scale)?;
        some(&mut map, "lowering", &self.lowering)?;
        map.end()
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScaleTable {
    format: String,
    block: usize,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LoweringTable {
    #[serde(skip_serializing_if = "Option::is_none")]
    widen_operands: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    widen_accumulator: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    order: Option<Order>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chains: Option<ChainsTable>,
    #[serde(skip_serializing_if = "Option::is_none")]
    add_accumulator_last: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    narrow_output: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ChainsTable {
    count: usize,
    merge: String,
}

impl Model {
    /// The model as a file that [`Model::from_toml`] reads back.
    pub fn to_toml(&self) -> String {
        let file = self.to_file();
        let text =
            toml::to_string(&file).unwrap_or_else(|error| unreachable!("a model always serialises: {error}"));
        match self.nan_code {
            Some(nan) => text.replace(&format!("nan = {nan}\n"), &format!("nan = {nan:#x}\n")), // bits
            None => text,
        }
    }

    /// Reads a model file and checks it.
    ///
    /// Keys are the paper's symbols: `model`, `A`, `B`, `C`, `D` (derived from `rho` where left out),
    /// `rho`, and what the family has of `L_max`, `P`, `G`, `F`, `F_c` (left out: F), `F2`, `e_zero` (left out: a
    /// zero term brings no exponent), `e_zero_c`, `term_rounding` (`RZ`), `sum_rounding` (`RD`), `renormalize`
    /// (false), `product_overflow`, `flush_operands` and `flush_accumulator` (`never`), `nan`; tables `[scale]` and
    /// `[lowering]`.
    pub fn from_toml(text: &str) -> Result<Model, ModelError> {
        let file: File = toml::from_str(text).map_err(|error| ModelError::File(error.to_string()))?;
        let model = file.into_model()?;
        model.validate()?;
        Ok(model)
    }

    fn to_file(&self) -> File {
        let name = |format: Format| format.name.to_owned();
        let mut file = File {
            model: self.operation.name().to_owned(),
            a: name(self.a),
            b: name(self.b),
            c: name(self.c),
            d: Some(name(self.d)),
            rho: self.conversion.to_string(),
            parameters: self.operation.parameters().filter_map(given).collect(),
            flush_operands: Some(self.flush_operands).filter(|flush| flush.is_on()),
            flush_accumulator: Some(self.flush_accumulator).filter(|flush| flush.is_on()),
            nan: self.nan_code,
            scale: self.scale.map(|scale| ScaleTable { format: name(scale.format), block: scale.size }),
            ..File::default()
        };
        if self.lowering != Lowering::NONE {
            let Lowering {
                widen_operands,
                widen_accumulator,
                order,
                chains,
                add_accumulator_last,
                narrow_output,
            } = self.lowering;
            file.lowering = Some(LoweringTable {
                widen_operands: widen_operands.map(name),
                widen_accumulator: widen_accumulator.map(name),
                order: Some(order).filter(|order| *order != Order::Sequential),
                chains: chains.map(|Chains { count, merge }| ChainsTable { count, merge: merge.to_string() }),
                add_accumulator_last: add_accumulator_last.map(|conversion| conversion.to_string()),
                narrow_output: narrow_output.map(|conversion| conversion.to_string()),
            });
        }
        file
    }
}

/// A parameter as a file has it; nothing is written for none.
fn given((parameter, value): (Parameter, Value)) -> Option<(Parameter, Given)> {
    let given = match value {
        Value::None => return None,
        Value::Number(number) => Given::Number(number),
        Value::Rounding(rounding) => Given::Text(rounding.to_string()),
        Value::Flag(flag) => Given::Flag(flag),
    };
    Some((parameter, given))
}

impl File {
    /// The operation: its family's parameters, each as the file has it or as the table says where it is left out.
    fn operation(&self) -> Result<Operation, ModelError> {
        let family = family::by_name(&self.model).ok_or_else(|| {
            let known = family::names(|_| true).join(" ");
            ModelError::File(format!("unknown model '{}'; one of {known}", self.model))
        })?;
        let mut operation = family.example;
        for (parameter, _) in family.example.parameters() {
            let given = self.parameters.iter().find(|(other, _)| *other == parameter);
            let value = match (given.map(|(_, given)| given), parameter.row().missing) {
                (Some(Given::Number(number)), _) => Value::Number(*number),
                (Some(Given::Text(text)), _) => Value::Rounding(named(text)?),
                (Some(Given::Flag(flag)), _) => Value::Flag(*flag),
                (None, Missing::Error) => {
                    return Err(ModelError::File(format!("{} is missing", parameter.key())));
                }
                (None, Missing::Value(value)) => value,
                (None, Missing::None(_) | Missing::As(_)) => Value::None,
            };
            // before a number that does not fit is cut to one that does
            if let Some(allowed) = parameter.row().range.refuses(&operation, value) {
                let (parameter, value) = (parameter.key(), value.to_string());
                return Err(ModelError::Parameter { parameter, value, allowed });
            }
            operation = operation.with(parameter, value);
        }
        // the first key that the family does not have
        let left_over = |parameter: &Parameter| {
            !operation.has(*parameter) && self.parameters.iter().any(|(given, _)| given == parameter)
        };
        match Parameter::ALL.into_iter().find(left_over) {
            Some(parameter) => {
                Err(ModelError::File(format!("{} has no parameter {}", family.name, parameter.key())))
            }
            None => Ok(operation),
        }
    }

    fn into_model(self) -> Result<Model, ModelError> {
        let operation = self.operation()?;
        let conversion = named(&self.rho)?;
        let mut model = Model {
            flush_operands: self.flush_operands.unwrap_or_default(),
            flush_accumulator: self.flush_accumulator.unwrap_or_default(),
            nan_code: self.nan,
            lowering: self.lowering.unwrap_or_default().into_lowering()?,
            scale: self
                .scale
                .map(|scale| Ok(BlockScale { format: format(&scale.format)?, size: scale.block }))
                .transpose()?,
            ..Model::new(format(&self.a)?, format(&self.b)?, format(&self.c)?, operation, conversion)
        };
        model.d = match self.d.as_deref() {
            Some(d) => format(d)?,
            None => model.last_conversion().container(),
        };
        Ok(model)
    }
}

impl LoweringTable {
    fn into_lowering(self) -> Result<Lowering, ModelError> {
        let optional = |name: Option<String>| name.as_deref().map(format).transpose();
        let converted = |name: Option<String>| name.as_deref().map(named).transpose();
        Ok(Lowering {
            widen_operands: optional(self.widen_operands)?,
            widen_accumulator: optional(self.widen_accumulator)?,
            order: self.order.unwrap_or(Order::Sequential),
            chains: match self.chains {
                Some(ChainsTable { count, merge }) => Some(Chains { count, merge: named(&merge)? }),
                None => None,
            },
            add_accumulator_last: converted(self.add_accumulator_last)?,
            narrow_output: converted(self.narrow_output)?,
        })
    }
}

/// A rounding or a conversion by its name.
fn named<T: FromStr<Err: fmt::Display>>(text: &str) -> Result<T, ModelError> {
    text.parse().map_err(|error: T::Err| ModelError::File(error.to_string()))
}

fn format(name: &str) -> Result<Format, ModelError> {
    table::by_name(name)
        .ok_or_else(|| ModelError::File(format!("unknown format '{name}'; one of {}", table::names())))
}
