//! The space of models: every family, every parameter, whatever may surround them.

mod around;
mod canonical;
mod coordinate;
mod operation;
mod ranges;

use bitmma_engine::arithmetic::family::{FAMILIES, Family, Meeting};
use bitmma_engine::arithmetic::parameter::{MAX_FRACTION_BITS, Missing, Parameter as Of, Range, Value};
use bitmma_engine::arithmetic::{
    Chains, Conversion, InputFlush, Lowering, Operation, Order, Prepared, ResultFlush,
};
use bitmma_engine::formats::{BF16, E5M2, E8M13, F16, F32, F64, Format, Rounding, TF32};
use bitmma_engine::{Model, Signature};

pub(crate) use coordinate::Coordinate;
pub(crate) use operation::divisors;
use operation::{carried_over, with_fraction_bits};

/// Formats that intermediate results may have.
const INNER: [Format; 7] = [F64, F32, TF32, E8M13, BF16, F16, E5M2];
/// How subnormal inputs are read.
const FLUSHES: [InputFlush; 3] = [InputFlush::Never, InputFlush::Positive, InputFlush::Signed];
/// F, F_c and F2 of models.
const FRACTION_BITS: std::ops::RangeInclusive<u32> = 0..=MAX_FRACTION_BITS;

/// Everything that fits one signature.
#[derive(Clone, Debug)]
pub(crate) struct Space {
    pub(crate) signature: Signature,
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

    /// Operations of every family that the signature admits, of every length and group; the other parameters are those
    /// of `known`, or those that the family's search begins with.
    fn operations(&self, known: Option<&Operation>) -> Vec<Operation> {
        let scale = self.signature.scale;
        let mut families: Vec<&Family> =
            FAMILIES.iter().filter(|family| family.example.is_scaled() == scale.is_some()).collect();
        // of families that answer alike, one without parameters is the plainest description
        families.sort_by_key(|family| family.example.parameters().next().is_some());
        let mut operations = Vec::new();
        for length in divisors(self.signature.k) {
            for family in &families {
                let start = known.map_or(family.example, |known| carried_over(known, family.example));
                let operation = start.with_length(length);
                if operation.max_length() != length {
                    continue; // FMA has one length
                }
                if !operation.has(Of::Group) {
                    operations.push(operation);
                    continue;
                }
                let fits = |group: &usize| scale.is_none_or(|scale| scale.size.is_multiple_of(*group));
                let groups = divisors(length).into_iter().filter(fits);
                operations
                    .extend(groups.map(|group| operation.with(Of::Group, Value::Number(group as i128))));
            }
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
                for operation in self.operations(None) {
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
        let mut operation = model.operation.with_length(structure.operation.max_length());
        if let Some(group) = structure.operation.get(Of::Group) {
            operation = operation.with(Of::Group, group);
        }
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
                let meeting = structure.operation.family().meeting;
                meeting == Meeting::EvenOdd && structure.order != Order::Reversed
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
    pub(crate) fn vary(&self, model: &Model, parameters: &[Coordinate]) -> Vec<Model> {
        let mut models = vec![model.clone()];
        for &parameter in parameters {
            models = models.iter().flat_map(|model| self.values(model, parameter)).collect();
        }
        models.retain(|model| self.allows(model));
        models
    }

    /// The model with every value of one parameter; some may make no sense.
    fn values(&self, model: &Model, parameter: Coordinate) -> Vec<Model> {
        // saturation and flushing are coordinates of their own
        let conversions = |own: Option<Conversion>| {
            let own = own.unwrap_or(Conversion::RNE_FP32);
            INNER.into_iter().flat_map(move |format| {
                roundings().map(move |rounding| Conversion { rounding, format, ..own })
            })
        };
        match parameter {
            Coordinate::Family => self.families(model),
            Coordinate::Length => each(model, divisors(self.signature.k), |model, length| {
                model.operation = model.operation.with_length(length);
            }),
            Coordinate::Order => each(model, self.orders(), |model, order| model.lowering.order = order),
            Coordinate::Of(parameter) => each(model, self.values_of(model, parameter), |model, value| {
                model.operation = model.operation.with(parameter, value);
            }),
            Coordinate::ZeroFloor => {
                let (bits, zero) = match model.operation.has(Of::SumFractionBits) {
                    true => (Of::SumFractionBits, Of::ZeroAccumulator),
                    false => (Of::FractionBits, Of::ZeroExponent),
                };
                let own: Option<i128> = model.operation.number(bits);
                let Some(own) = own else { return vec![model.clone()] };
                let moved = |kept: u32| {
                    let kept = i128::from(kept);
                    let operation = model.operation.with(bits, Value::Number(kept));
                    match operation.number::<i128>(zero) {
                        Some(exponent) => operation.with(zero, Value::Number(exponent + kept - own)),
                        None => operation,
                    }
                };
                each(model, FRACTION_BITS, |model, kept| model.operation = moved(kept))
            }
            Coordinate::Conversion => {
                each(model, conversions(Some(model.conversion)), |model, rho| model.conversion = rho)
            }
            Coordinate::ConversionRounding => {
                each(model, roundings(), |model, rounding| model.conversion.rounding = rounding)
            }
            Coordinate::AddLast => {
                let values = or_none(conversions(model.lowering.add_accumulator_last));
                each(model, values, |model, last| model.lowering.add_accumulator_last = last)
            }
            Coordinate::Narrow => {
                let values = or_none(conversions(model.lowering.narrow_output));
                each(model, values, |model, narrow| model.lowering.narrow_output = narrow)
            }
            Coordinate::Chains => {
                let Some(chains) = model.lowering.chains else { return vec![model.clone()] };
                let merged = conversions(Some(chains.merge)).map(|merge| Chains { merge, ..chains });
                each(model, or_none(merged), |model, chains| model.lowering.chains = chains)
            }
            Coordinate::FlushResult => around::subsets(model, |conversion| {
                let rules = ResultFlush::ALL.into_iter().map(|(flush, _)| flush);
                rules.map(|flush| Conversion { flush, ..conversion }).collect()
            }),
            Coordinate::Saturate => around::subsets(model, |conversion| {
                [false, true].map(|saturate| Conversion { saturate, ..conversion }).to_vec()
            }),
            Coordinate::FlushOperands => each(model, FLUSHES, |model, flush| model.flush_operands = flush),
            Coordinate::FlushAccumulator => {
                each(model, FLUSHES, |model, flush| model.flush_accumulator = flush)
            }
            Coordinate::WidenOperands => {
                let wide = self.wide(model, &[model.a, model.b]);
                each(model, wide, |model, wide| model.lowering.widen_operands = wide)
            }
            Coordinate::WidenAccumulator => {
                let wide = self.wide(model, &[model.c]);
                each(model, wide, |model, wide| model.lowering.widen_accumulator = wide)
            }
        }
    }

    /// The model as each of the families would have it, where a parameter is not known in several ways.
    fn families(&self, model: &Model) -> Vec<Model> {
        let bits = match model.operation.number(Of::FractionBits) {
            Some(bits) => vec![bits],
            None => vec![13, 24, 40, 60],
        };
        let mut models = vec![model.clone()];
        for operation in self.operations(Some(&model.operation)) {
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

    /// Every value of a parameter of the operation that makes a difference; its own if the family does not have it.
    fn values_of(&self, model: &Model, parameter: Of) -> Vec<Value> {
        let Some(own) = model.operation.get(parameter) else { return vec![Value::None] };
        let exponent = |one: Option<i32>| one.map_or(Value::None, |one| Value::Number(one.into()));
        let row = parameter.row();
        match row.range {
            Range::Length | Range::PowerOfTwo => vec![own],
            Range::Divisor => divisors(model.operation.max_length())
                .into_iter()
                .map(|one| Value::Number(one as i128))
                .collect(),
            Range::Bits => {
                let none = matches!(row.missing, Missing::As(_)).then_some(Value::None);
                none.into_iter().chain(FRACTION_BITS.map(|bits| Value::Number(bits.into()))).collect()
            }
            Range::Exponent => self.zero_exponents(model).into_iter().map(exponent).collect(),
            Range::Limit => self.overflows().into_iter().map(exponent).collect(),
            Range::Rounding => roundings().map(Value::Rounding).collect(),
            Range::Flag => [false, true].map(Value::Flag).to_vec(),
        }
    }
}

/// The model with each of the values, as `set` puts it there.
fn each<T>(model: &Model, values: impl IntoIterator<Item = T>, set: impl Fn(&mut Model, T)) -> Vec<Model> {
    let with = |value| {
        let mut changed = model.clone();
        set(&mut changed, value);
        changed
    };
    values.into_iter().map(with).collect()
}

/// None, then each of the values.
fn or_none<T>(values: impl IntoIterator<Item = T>) -> impl Iterator<Item = Option<T>> {
    std::iter::once(None).chain(values.into_iter().map(Some))
}

/// Every rounding.
fn roundings() -> impl Iterator<Item = Rounding> {
    Rounding::ALL.into_iter().map(|(rounding, _)| rounding)
}
