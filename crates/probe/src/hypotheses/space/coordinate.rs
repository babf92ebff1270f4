//! The coordinates of the space.

use bitmma_engine::Model;
use bitmma_engine::arithmetic::Parameter as OfOperation;

/// One coordinate of the space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coordinate {
    /// The family, its own parameters made up.
    Family,
    /// L_max, or P.
    Length,
    /// Order along K.
    Order,
    /// A parameter of the operation.
    Of(OfOperation),
    /// F or F2 and the exponent of zeros, their difference kept: where zeros have terms cut stays.
    ZeroFloor,
    /// rho.
    Conversion,
    /// How rho rounds, its format kept.
    ConversionRounding,
    /// Whether, and how, C is added at the end.
    AddLast,
    /// Whether, and how, D is narrowed.
    Narrow,
    /// How chains are merged before C is added, or that they are one chain.
    Chains,
    /// Which results become zero, of each conversion there is.
    FlushResult,
    /// Whether conversions stop at the largest finite number.
    Saturate,
    /// Whether subnormal numbers of A and B are zeros.
    FlushOperands,
    /// Whether subnormal numbers of C are zeros.
    FlushAccumulator,
    /// What A and B are widened to.
    WidenOperands,
    /// What C is widened to.
    WidenAccumulator,
}

impl Coordinate {
    // parameters of the operation that are varied together with others, by their keys
    pub(crate) const F: Coordinate = Coordinate::Of(OfOperation::FractionBits);
    pub(crate) const F_C: Coordinate = Coordinate::Of(OfOperation::AccumulatorBits);
    pub(crate) const F2: Coordinate = Coordinate::Of(OfOperation::SumFractionBits);
    pub(crate) const TERM_ROUNDING: Coordinate = Coordinate::Of(OfOperation::TermRounding);
    pub(crate) const SUM_ROUNDING: Coordinate = Coordinate::Of(OfOperation::SumRounding);
    pub(crate) const RENORMALIZE: Coordinate = Coordinate::Of(OfOperation::Renormalize);
    pub(crate) const E_ZERO: Coordinate = Coordinate::Of(OfOperation::ZeroExponent);
    pub(crate) const E_ZERO_C: Coordinate = Coordinate::Of(OfOperation::ZeroAccumulator);
    pub(crate) const PRODUCT_OVERFLOW: Coordinate = Coordinate::Of(OfOperation::ProductOverflow);
    pub(crate) const G: Coordinate = Coordinate::Of(OfOperation::Group);

    /// All of them.
    pub(crate) fn all() -> Vec<Coordinate> {
        let of_operation =
            OfOperation::ALL.into_iter().filter(|parameter| !Coordinate::is_length(*parameter));
        let around = [
            Coordinate::ZeroFloor,
            Coordinate::Conversion,
            Coordinate::ConversionRounding,
            Coordinate::AddLast,
            Coordinate::Narrow,
            Coordinate::Chains,
            Coordinate::FlushResult,
            Coordinate::Saturate,
            Coordinate::FlushOperands,
            Coordinate::FlushAccumulator,
            Coordinate::WidenOperands,
            Coordinate::WidenAccumulator,
        ];
        let first = [Coordinate::Family, Coordinate::Length, Coordinate::Order];
        first.into_iter().chain(of_operation.map(Coordinate::Of)).chain(around).collect()
    }

    /// The coordinate of a parameter of the operation.
    pub(crate) fn of(parameter: OfOperation) -> Coordinate {
        if Coordinate::is_length(parameter) { Coordinate::Length } else { Coordinate::Of(parameter) }
    }

    fn is_length(parameter: OfOperation) -> bool {
        matches!(parameter, OfOperation::MaxLength | OfOperation::Pairing)
    }

    /// Whether a model has it: its family, for a parameter of the operation.
    pub(crate) fn is_of(self, model: &Model) -> bool {
        match self {
            Coordinate::Of(parameter) => model.operation.has(parameter),
            Coordinate::AddLast => model.lowering.add_accumulator_last.is_some(),
            Coordinate::Chains => model.lowering.chains.is_some(),
            Coordinate::Narrow => model.lowering.narrow_output.is_some(),
            _ => true,
        }
    }
}
