//! Models as TOML files.

use bitmma_formats::{BlockScale, Format, Rounding, table};
use serde::{Deserialize, Serialize};

use crate::convert::Conversion;
use crate::error::ModelError;
use crate::lowering::{Chains, Lowering, Order};
use crate::model::{FusedSum, InputFlush, Model, Operation, RoundedSum};

/// The keys of a model file, named as in the paper. A key that a family does not have is an error.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    model: String,
    #[serde(rename = "A")]
    a: String,
    #[serde(rename = "B")]
    b: String,
    #[serde(rename = "C")]
    c: String,
    #[serde(rename = "D")]
    d: Option<String>,
    rho: String,
    #[serde(rename = "L_max", skip_serializing_if = "Option::is_none")]
    max_length: Option<usize>,
    #[serde(rename = "P", skip_serializing_if = "Option::is_none")]
    pairing: Option<usize>,
    #[serde(rename = "G", skip_serializing_if = "Option::is_none")]
    group: Option<usize>,
    #[serde(rename = "F", skip_serializing_if = "Option::is_none")]
    fraction_bits: Option<u32>,
    #[serde(rename = "F_c", skip_serializing_if = "Option::is_none")]
    accumulator_fraction_bits: Option<u32>,
    #[serde(rename = "F2", skip_serializing_if = "Option::is_none")]
    sum_fraction_bits: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    term_rounding: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sum_rounding: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    renormalize: Option<bool>,
    #[serde(rename = "e_zero", skip_serializing_if = "Option::is_none")]
    zero_exponent: Option<i32>,
    #[serde(rename = "e_zero_c", skip_serializing_if = "Option::is_none")]
    zero_accumulator_exponent: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    product_overflow: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    flush_operands: Option<FlushValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    flush_accumulator: Option<FlushValue>,
    // what the two above were before they were two: read, not written
    #[serde(skip_serializing)]
    flush_inputs: Option<bool>,
    #[serde(skip_serializing)]
    flush_keeps_sign: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nan: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scale: Option<ScaleTable>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lowering: Option<LoweringTable>,
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
    order: Option<OrderValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chains: Option<ChainsTable>,
    #[serde(skip_serializing_if = "Option::is_none")]
    add_accumulator_last: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    narrow_output: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum OrderValue {
    Sequential,
    Reversed,
    Interleaved { run: usize, period: usize },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ChainsTable {
    count: usize,
    merge: String,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum FlushValue {
    Never,
    Positive,
    Signed,
}

impl From<FlushValue> for InputFlush {
    fn from(value: FlushValue) -> InputFlush {
        match value {
            FlushValue::Never => InputFlush::Never,
            FlushValue::Positive => InputFlush::Positive,
            FlushValue::Signed => InputFlush::Signed,
        }
    }
}

/// The value of a key; nothing is written for the default.
fn flush_value(flush: InputFlush) -> Option<FlushValue> {
    match flush {
        InputFlush::Never => None,
        InputFlush::Positive => Some(FlushValue::Positive),
        InputFlush::Signed => Some(FlushValue::Signed),
    }
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
    /// `[lowering]`. The keys `flush_inputs` and `flush_keeps_sign` of older files are read too: `true` and `false`
    /// mean `positive` for A, B and C, `true` and `true` mean `signed`.
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
            flush_operands: flush_value(self.flush_operands),
            flush_accumulator: flush_value(self.flush_accumulator),
            nan: self.nan_code,
            scale: self.scale.map(|scale| ScaleTable { format: name(scale.format), block: scale.size }),
            ..File::default()
        };
        match self.operation {
            Operation::FtzAddMul { pairing } => file.pairing = Some(pairing),
            Operation::Fma => {}
            Operation::FtzFma { max_length } | Operation::EFdpa { max_length } => {
                file.max_length = Some(max_length);
            }
            Operation::TFdpa(sum) | Operation::StFdpa(sum) => file.set_fused(&sum),
            Operation::GstFdpa { sum, group } => {
                file.set_fused(&sum);
                file.group = Some(group);
            }
            Operation::TrFdpa(sum) | Operation::GtrFdpa(sum) => file.set_rounded(&sum),
        }
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
                order: match order {
                    Order::Sequential => None,
                    Order::Reversed => Some(OrderValue::Reversed),
                    Order::Interleaved { run, period } => Some(OrderValue::Interleaved { run, period }),
                },
                chains: chains.map(|Chains { count, merge }| ChainsTable { count, merge: merge.to_string() }),
                add_accumulator_last: add_accumulator_last.map(|conversion| conversion.to_string()),
                narrow_output: narrow_output.map(|conversion| conversion.to_string()),
            });
        }
        file
    }
}

/// The keys of a file that only some families have: each is taken by the family that has it, and what
/// is left over is an error.
impl File {
    fn set_fused(&mut self, sum: &FusedSum) {
        self.max_length = Some(sum.max_length);
        self.fraction_bits = Some(sum.fraction_bits);
        self.term_rounding = Some(sum.term_rounding.to_string());
        self.zero_exponent = sum.zero_exponent;
        self.accumulator_fraction_bits = sum.accumulator_fraction_bits;
    }

    fn set_rounded(&mut self, sum: &RoundedSum) {
        self.max_length = Some(sum.max_length);
        self.fraction_bits = Some(sum.fraction_bits);
        self.sum_fraction_bits = Some(sum.sum_fraction_bits);
        self.term_rounding = Some(sum.term_rounding.to_string());
        self.sum_rounding = Some(sum.sum_rounding.to_string());
        self.renormalize = Some(sum.renormalize);
        self.zero_accumulator_exponent = sum.zero_accumulator_exponent;
        self.product_overflow = sum.product_overflow;
    }

    fn take_fused(&mut self) -> Result<FusedSum, ModelError> {
        Ok(FusedSum {
            max_length: required("L_max", self.max_length.take())?,
            fraction_bits: required("F", self.fraction_bits.take())?,
            term_rounding: rounding(self.term_rounding.take(), Rounding::TowardZero)?,
            zero_exponent: self.zero_exponent.take(),
            accumulator_fraction_bits: self.accumulator_fraction_bits.take(),
        })
    }

    fn take_rounded(&mut self) -> Result<RoundedSum, ModelError> {
        Ok(RoundedSum {
            max_length: required("L_max", self.max_length.take())?,
            fraction_bits: required("F", self.fraction_bits.take())?,
            sum_fraction_bits: required("F2", self.sum_fraction_bits.take())?,
            term_rounding: rounding(self.term_rounding.take(), Rounding::TowardZero)?,
            sum_rounding: rounding(self.sum_rounding.take(), Rounding::Down)?,
            renormalize: self.renormalize.take().unwrap_or(false),
            zero_accumulator_exponent: self.zero_accumulator_exponent.take(),
            product_overflow: self.product_overflow.take(),
        })
    }

    fn take_operation(&mut self) -> Result<Operation, ModelError> {
        match self.model.to_ascii_uppercase().as_str() {
            "FTZ-ADDMUL" => Ok(Operation::FtzAddMul { pairing: required("P", self.pairing.take())? }),
            "FMA" => Ok(Operation::Fma),
            "FTZ-FMA" => Ok(Operation::FtzFma { max_length: required("L_max", self.max_length.take())? }),
            "E-FDPA" => Ok(Operation::EFdpa { max_length: required("L_max", self.max_length.take())? }),
            "T-FDPA" => Ok(Operation::TFdpa(self.take_fused()?)),
            "ST-FDPA" => Ok(Operation::StFdpa(self.take_fused()?)),
            "GST-FDPA" => {
                Ok(Operation::GstFdpa { sum: self.take_fused()?, group: required("G", self.group.take())? })
            }
            "TR-FDPA" => Ok(Operation::TrFdpa(self.take_rounded()?)),
            "GTR-FDPA" => Ok(Operation::GtrFdpa(self.take_rounded()?)),
            _ => Err(ModelError::File(format!(
                "unknown model '{}'; one of FTZ-AddMul FMA E-FDPA T-FDPA ST-FDPA GST-FDPA TR-FDPA GTR-FDPA FTZ-FMA",
                self.model
            ))),
        }
    }

    /// The first key that the family did not take.
    fn left_over(&self) -> Option<&'static str> {
        let keys = [
            ("L_max", self.max_length.is_some()),
            ("P", self.pairing.is_some()),
            ("G", self.group.is_some()),
            ("F", self.fraction_bits.is_some()),
            ("F_c", self.accumulator_fraction_bits.is_some()),
            ("F2", self.sum_fraction_bits.is_some()),
            ("term_rounding", self.term_rounding.is_some()),
            ("sum_rounding", self.sum_rounding.is_some()),
            ("renormalize", self.renormalize.is_some()),
            ("e_zero", self.zero_exponent.is_some()),
            ("e_zero_c", self.zero_accumulator_exponent.is_some()),
            ("product_overflow", self.product_overflow.is_some()),
        ];
        keys.into_iter().find(|(_, given)| *given).map(|(key, _)| key)
    }

    fn into_model(mut self) -> Result<Model, ModelError> {
        let operation = self.take_operation()?;
        if let Some(key) = self.left_over() {
            return Err(ModelError::File(format!("{} has no parameter {key}", operation.name())));
        }
        let conversion = conversion(&self.rho)?;
        let [flush_operands, flush_accumulator] = self.flushes()?;
        let mut model = Model {
            flush_operands,
            flush_accumulator,
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

    /// What is flushed of A and B, and of C.
    fn flushes(&self) -> Result<[InputFlush; 2], ModelError> {
        let wrong = |text: &str| Err(ModelError::File(text.to_owned()));
        match (self.flush_inputs, self.flush_keeps_sign) {
            (None, None) => {
                let new = |value: Option<FlushValue>| value.map_or(InputFlush::Never, InputFlush::from);
                Ok([new(self.flush_operands), new(self.flush_accumulator)])
            }
            _ if self.flush_operands.is_some() || self.flush_accumulator.is_some() => wrong(
                "flush_inputs and flush_keeps_sign are the older keys for flush_operands and flush_accumulator; \
                 give either",
            ),
            (Some(true), Some(true)) => Ok([InputFlush::Signed; 2]),
            (Some(true), _) => Ok([InputFlush::Positive; 2]),
            (_, Some(true)) => wrong("flush_keeps_sign is true; flush_inputs must be true too"),
            _ => Ok([InputFlush::Never; 2]),
        }
    }
}

impl LoweringTable {
    fn into_lowering(self) -> Result<Lowering, ModelError> {
        let optional = |name: Option<String>| name.as_deref().map(format).transpose();
        let converted = |name: Option<String>| name.as_deref().map(conversion).transpose();
        Ok(Lowering {
            widen_operands: optional(self.widen_operands)?,
            widen_accumulator: optional(self.widen_accumulator)?,
            order: match self.order {
                None | Some(OrderValue::Sequential) => Order::Sequential,
                Some(OrderValue::Reversed) => Order::Reversed,
                Some(OrderValue::Interleaved { run, period }) => Order::Interleaved { run, period },
            },
            chains: match self.chains {
                Some(ChainsTable { count, merge }) => Some(Chains { count, merge: conversion(&merge)? }),
                None => None,
            },
            add_accumulator_last: converted(self.add_accumulator_last)?,
            narrow_output: converted(self.narrow_output)?,
        })
    }
}

fn required<V>(key: &'static str, value: Option<V>) -> Result<V, ModelError> {
    value.ok_or_else(|| ModelError::File(format!("{key} is missing")))
}

fn rounding(text: Option<String>, default: Rounding) -> Result<Rounding, ModelError> {
    match text {
        None => Ok(default),
        Some(text) => text
            .parse()
            .map_err(|error: bitmma_formats::rounding::UnknownRounding| ModelError::File(error.to_string())),
    }
}

fn conversion(text: &str) -> Result<Conversion, ModelError> {
    text.parse().map_err(|error: crate::convert::UnknownConversion| ModelError::File(error.to_string()))
}

fn format(name: &str) -> Result<Format, ModelError> {
    table::by_name(name).ok_or_else(|| {
        let known: Vec<&str> = table::FORMATS.iter().map(|format| format.name).collect();
        ModelError::File(format!("unknown format '{name}'; one of {}", known.join(" ")))
    })
}
