//! The space of models: eight families, every parameter, whatever may surround them.

mod around;
mod canonical;
mod operation;
mod parameter;
mod ranges;

use bitmma::arithmetic::{
    Chains, Conversion, FusedSum, InputFlush, Lowering, Operation, Order, Prepared, ResultFlush, RoundedSum,
};
use bitmma::formats::{BF16, E5M2, E8M13, F16, F32, F64, Format, Rounding, TF32};
use bitmma::{Model, Signature};

pub(crate) use operation::{divisors, fused_mut, fused_of, rounded_mut, rounded_of};
use operation::{fused, rounded, with_fraction_bits, with_length};
pub(crate) use parameter::Parameter;

/// Formats that intermediate results may have.
const INNER: [Format; 7] = [F64, F32, TF32, E8M13, BF16, F16, E5M2];
/// How subnormal inputs are read.
const FLUSHES: [InputFlush; 3] = [InputFlush::Never, InputFlush::Positive, InputFlush::Signed];
/// F and F2 of models.
const FRACTION_BITS: std::ops::RangeInclusive<u32> = 0..=60;

/// Everything that fits one signature.
#[derive(Clone, Debug)]
pub(crate) struct Space {
    signature: Signature,
}

/// What is decided before parameters are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Structure {
    /// The family, by one of its operations.
    pub(crate) operation: Operation,
    /// Order along K.
    pub(crate) order: Order,
    /// Whether C is added at the end.
    pub(crate) last: bool,
    /// Whether D is narrowed at the end.
    pub(crate) narrow: bool,
    /// Chains that are merged before C is added at the end; 1: none are.
    pub(crate) chains: usize,
}

impl Structure {
    /// Structures of the same kind have the same family and the same things around it.
    pub(crate) fn kind(&self) -> Kind {
        (self.operation.name(), self.last, self.narrow, self.chains > 1)
    }
}

/// The family, and whether C is added last, D narrowed, chains merged.
pub(crate) type Kind = (&'static str, bool, bool, bool);

/// The kind of structure that a model has.
pub(crate) fn kind_of(model: &Model) -> Kind {
    let Lowering { add_accumulator_last, narrow_output, chains, .. } = model.lowering;
    (model.operation.name(), add_accumulator_last.is_some(), narrow_output.is_some(), chains.is_some())
}

impl Space {
    pub(crate) fn new(signature: &Signature) -> Space {
        Space { signature: signature.clone() }
    }

    pub(crate) fn signature(&self) -> &Signature {
        &self.signature
    }

    /// Whether the model makes sense and takes this K.
    pub(crate) fn allows(&self, model: &Model) -> bool {
        Prepared::new(model, self.signature.k).is_ok()
    }

    /// Orders along K that differ from each other.
    pub(crate) fn orders(&self) -> Vec<Order> {
        let k = self.signature.k;
        let mut orders = vec![Order::Sequential, Order::Reversed];
        for period in divisors(k).into_iter().filter(|&period| period < k) {
            for run in divisors(period).into_iter().filter(|&run| run < period) {
                orders.push(Order::Interleaved { run, period });
            }
        }
        orders
    }

    /// Every operation with the parameters given, for every family and length.
    fn operations(&self, fused: FusedSum, rounded: RoundedSum) -> Vec<Operation> {
        let mut operations = Vec::new();
        let lengths = divisors(self.signature.k);
        let with = |max_length| FusedSum { max_length, ..fused };
        if let Some(scale) = self.signature.scale {
            operations.extend(lengths.iter().map(|&length| Operation::StFdpa(with(length))));
            for &length in &lengths {
                let groups = divisors(length).into_iter().filter(|group| scale.size.is_multiple_of(*group));
                operations.extend(groups.map(|group| Operation::GstFdpa { sum: with(length), group }));
            }
            return operations;
        }
        operations.push(Operation::Fma);
        for &length in &lengths {
            operations.push(Operation::TFdpa(with(length)));
            operations.push(Operation::EFdpa { max_length: length });
            operations.push(Operation::FtzAddMul { pairing: length });
            operations.push(Operation::FtzFma { max_length: length });
            let sum = RoundedSum { max_length: length, ..rounded };
            operations.push(Operation::TrFdpa(sum));
            operations.push(Operation::GtrFdpa(sum));
        }
        operations
    }

    /// Every structure.
    pub(crate) fn structures(&self) -> Vec<Structure> {
        let around: &[(bool, bool)] = match self.signature.scale {
            Some(_) => &[(false, false)],
            None => &[(false, false), (false, true), (true, false), (true, true)],
        };
        let orders = if self.signature.scale.is_some() { vec![Order::Sequential] } else { self.orders() };
        let mut structures = Vec::new();
        for &(last, narrow) in around {
            for &order in &orders {
                for operation in self.operations(FUSED, ROUNDED) {
                    let structure = Structure { operation, order, last, narrow, chains: 1 };
                    if self.is_new(&structure) {
                        structures.push(structure);
                    }
                    if last && !narrow {
                        structures.extend(self.in_chains(structure));
                    }
                }
            }
        }
        structures
    }

    /// The same operations in several chains that are merged before C is added: the passes of an interleaved order, or
    /// equal parts of K in sequence.
    fn in_chains(&self, structure: Structure) -> Vec<Structure> {
        let k = self.signature.k;
        let fits = |count: &usize| {
            let part = k / count;
            part.is_multiple_of(structure.operation.max_length()) && *count > 1
        };
        let counts = match structure.order {
            Order::Sequential => divisors(k),
            Order::Reversed => Vec::new(),
            Order::Interleaved { .. } => vec![structure.order.passes()],
        };
        counts.into_iter().filter(fits).map(|chains| Structure { chains, ..structure }).collect()
    }

    /// What a model of that structure would be that shares everything else with `model`.
    pub(crate) fn restructured(&self, model: &Model, structure: &Structure) -> Option<Model> {
        let length = structure.operation.max_length();
        let operation = match (with_length(model.operation, length), structure.operation) {
            (Operation::GstFdpa { sum, .. }, Operation::GstFdpa { group, .. }) => {
                Operation::GstFdpa { sum, group }
            }
            (operation, _) => operation,
        };
        let chains = model.lowering.chains.map(|chains| Chains { count: structure.chains, ..chains });
        let lowering = Lowering { order: structure.order, chains, ..model.lowering };
        let model = Model { operation, lowering, ..model.clone() };
        self.allows(&model).then_some(model)
    }

    /// One structure of each family with and without what may surround it.
    pub(crate) fn representatives(&self) -> Vec<Structure> {
        let mut structures: Vec<Structure> = Vec::new();
        for structure in self.structures().into_iter().rev() {
            let known = |one: &Structure| one.kind() == structure.kind();
            if structure.order == Order::Sequential && !structures.iter().any(known) {
                structures.push(structure);
            }
        }
        structures
    }

    /// Whether no structure before it in the list says the same.
    fn is_new(&self, structure: &Structure) -> bool {
        let k = self.signature.k;
        let whole = structure.operation.max_length() == k;
        let one = structure.operation.max_length() == 1;
        match structure.order {
            Order::Sequential => true,
            _ if whole => {
                matches!(structure.operation, Operation::GtrFdpa(_)) && structure.order != Order::Reversed
            }
            Order::Reversed => true,
            Order::Interleaved { run, period } => {
                one || (k / (period / run)).is_multiple_of(structure.operation.max_length())
            }
        }
    }

    /// A model of that structure with everything else made up; `None` if there is none.
    pub(crate) fn seed(
        &self,
        structure: &Structure,
        fraction_bits: u32,
        rounding: Rounding,
    ) -> Option<Model> {
        let Signature { a, b, c, d, scale, .. } = self.signature;
        let inner = match (structure.narrow, d) {
            (false, _) => d,
            (true, F32) => F64,
            (true, _) => F32,
        };
        let conversion = Conversion::new(rounding, inner);
        let nearest = |format| Conversion::new(Rounding::NearestEven, format);
        let operation = with_fraction_bits(structure.operation, fraction_bits);
        let model = Model {
            scale,
            d,
            lowering: Lowering {
                order: structure.order,
                add_accumulator_last: structure.last.then_some(nearest(inner)),
                chains: (structure.chains > 1)
                    .then_some(Chains { count: structure.chains, merge: nearest(inner) }),
                narrow_output: structure.narrow.then_some(nearest(d)),
                ..Lowering::NONE
            },
            ..Model::new(a, b, c, operation, conversion)
        };
        self.allows(&model).then_some(model)
    }

    /// Every model that differs from `model` in the parameters named, itself included.
    pub(crate) fn vary(&self, model: &Model, parameters: &[Parameter]) -> Vec<Model> {
        let mut models = vec![model.clone()];
        for &parameter in parameters {
            models = models.iter().flat_map(|model| self.values(model, parameter)).collect();
        }
        models.retain(|model| self.allows(model));
        models
    }

    /// The model with every value of one parameter; some may make no sense.
    fn values(&self, model: &Model, parameter: Parameter) -> Vec<Model> {
        let set = |change: &dyn Fn(&mut Model)| {
            let mut changed = model.clone();
            change(&mut changed);
            changed
        };
        // saturation and flushing are coordinates of their own
        let conversions = |own: Option<Conversion>| {
            let own = own.unwrap_or(Conversion::RNE_FP32);
            INNER.into_iter().flat_map(move |format| {
                roundings().map(move |rounding| Conversion { rounding, format, ..own })
            })
        };
        match parameter {
            Parameter::Family => self.families(model),
            Parameter::Length => divisors(self.signature.k)
                .into_iter()
                .map(|length| set(&|model| model.operation = with_length(model.operation, length)))
                .collect(),
            Parameter::Group => match model.operation {
                Operation::GstFdpa { sum, .. } => divisors(sum.max_length)
                    .into_iter()
                    .map(|group| set(&|model| model.operation = Operation::GstFdpa { sum, group }))
                    .collect(),
                _ => vec![model.clone()],
            },
            Parameter::Order => {
                self.orders().into_iter().map(|order| set(&|model| model.lowering.order = order)).collect()
            }
            Parameter::FractionBits => match model.operation {
                Operation::Fma
                | Operation::FtzFma { .. }
                | Operation::EFdpa { .. }
                | Operation::FtzAddMul { .. } => vec![model.clone()],
                _ => FRACTION_BITS
                    .map(|bits| set(&|model| model.operation = with_fraction_bits(model.operation, bits)))
                    .collect(),
            },
            Parameter::AccumulatorBits => {
                let values = std::iter::once(None).chain(FRACTION_BITS.map(Some));
                fused(model, values, |sum, value| sum.accumulator_fraction_bits = value)
            }
            Parameter::TermRounding => match model.operation {
                Operation::TrFdpa(_) | Operation::GtrFdpa(_) => {
                    rounded(model, roundings(), |sum, value| sum.term_rounding = value)
                }
                _ => fused(model, roundings(), |sum, value| sum.term_rounding = value),
            },
            Parameter::SumFractionBits => {
                rounded(model, FRACTION_BITS, |sum, value| sum.sum_fraction_bits = value)
            }
            Parameter::SumRounding => rounded(model, roundings(), |sum, value| sum.sum_rounding = value),
            Parameter::Renormalize => rounded(model, [false, true], |sum, value| sum.renormalize = value),
            Parameter::ZeroExponent => {
                fused(model, self.zero_exponents(model), |sum, value| sum.zero_exponent = value)
            }
            Parameter::ZeroAccumulator => rounded(model, self.zero_exponents(model), |sum, value| {
                sum.zero_accumulator_exponent = value;
            }),
            Parameter::ZeroFloor => {
                if rounded_of(&model.operation).is_some() {
                    rounded(model, FRACTION_BITS, |sum, bits| {
                        let up = bits as i32 - sum.sum_fraction_bits as i32;
                        sum.zero_accumulator_exponent = sum.zero_accumulator_exponent.map(|zero| zero + up);
                        sum.sum_fraction_bits = bits;
                    })
                } else {
                    fused(model, FRACTION_BITS, |sum, bits| {
                        let up = bits as i32 - sum.fraction_bits as i32;
                        sum.zero_exponent = sum.zero_exponent.map(|exponent| exponent + up);
                        sum.fraction_bits = bits;
                    })
                }
            }
            Parameter::ProductOverflow => {
                rounded(model, self.overflows(), |sum, value| sum.product_overflow = value)
            }
            Parameter::Conversion => {
                let own = Some(model.conversion);
                conversions(own).map(|conversion| set(&|model| model.conversion = conversion)).collect()
            }
            Parameter::ConversionRounding => {
                roundings().map(|rounding| set(&|model| model.conversion.rounding = rounding)).collect()
            }
            Parameter::AddLast => std::iter::once(None)
                .chain(conversions(model.lowering.add_accumulator_last).map(Some))
                .map(|last| set(&|model| model.lowering.add_accumulator_last = last))
                .collect(),
            Parameter::Narrow => std::iter::once(None)
                .chain(conversions(model.lowering.narrow_output).map(Some))
                .map(|narrow| set(&|model| model.lowering.narrow_output = narrow))
                .collect(),
            Parameter::Chains => {
                let Some(chains) = model.lowering.chains else { return vec![model.clone()] };
                conversions(Some(chains.merge))
                    .map(|merge| set(&|model| model.lowering.chains = Some(Chains { merge, ..chains })))
                    .collect()
            }
            Parameter::FlushResult => around::subsets(model, |conversion| {
                let rules = ResultFlush::ALL.into_iter().map(|(flush, _)| flush);
                rules.map(|flush| Conversion { flush, ..conversion }).collect()
            }),
            Parameter::Saturate => around::subsets(model, |conversion| {
                [false, true].map(|saturate| Conversion { saturate, ..conversion }).to_vec()
            }),
            Parameter::FlushOperands => {
                FLUSHES.map(|flush| set(&|model| model.flush_operands = flush)).to_vec()
            }
            Parameter::FlushAccumulator => {
                FLUSHES.map(|flush| set(&|model| model.flush_accumulator = flush)).to_vec()
            }
            Parameter::WidenOperands => self
                .wide(model, &[model.a, model.b])
                .into_iter()
                .map(|wide| set(&|model| model.lowering.widen_operands = wide))
                .collect(),
            Parameter::WidenAccumulator => self
                .wide(model, &[model.c])
                .into_iter()
                .map(|wide| set(&|model| model.lowering.widen_accumulator = wide))
                .collect(),
        }
    }

    /// The model as each of the families would have it, where a parameter is not known in several ways.
    fn families(&self, model: &Model) -> Vec<Model> {
        let (mut fused, mut rounded) = (FUSED, ROUNDED);
        let mut bits = vec![13, 24, 40, 60];
        if let Some(sum) = fused_of(&model.operation) {
            fused = *sum;
            rounded = RoundedSum {
                max_length: sum.max_length,
                fraction_bits: sum.fraction_bits,
                term_rounding: sum.term_rounding,
                zero_accumulator_exponent: sum.zero_exponent,
                ..rounded
            };
            bits = vec![sum.fraction_bits];
        } else if let Some(sum) = rounded_of(&model.operation) {
            rounded = *sum;
            fused = FusedSum {
                max_length: sum.max_length,
                fraction_bits: sum.fraction_bits,
                term_rounding: sum.term_rounding,
                zero_exponent: sum.zero_accumulator_exponent,
                accumulator_fraction_bits: None,
            };
            bits = vec![sum.fraction_bits];
        }
        let mut models = vec![model.clone()];
        for operation in self.operations(fused, rounded) {
            if operation.max_length() == model.operation.max_length() {
                models.extend(
                    bits.iter().map(|&bits| Model {
                        operation: with_fraction_bits(operation, bits),
                        ..model.clone()
                    }),
                );
            }
        }
        models
    }
}

const FUSED: FusedSum = FusedSum::new(1, 24);
const ROUNDED: RoundedSum = RoundedSum {
    max_length: 1,
    fraction_bits: 24,
    sum_fraction_bits: 31,
    term_rounding: Rounding::TowardZero,
    sum_rounding: Rounding::Down,
    renormalize: false,
    zero_accumulator_exponent: None,
    product_overflow: None,
};

/// Every rounding.
fn roundings() -> impl Iterator<Item = Rounding> {
    Rounding::ALL.into_iter().map(|(rounding, _)| rounding)
}
