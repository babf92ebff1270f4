//! The coordinates of the space.

/// One coordinate of the space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parameter {
    /// The family, its own parameters made up.
    Family,
    /// L_max, or P.
    Length,
    /// G.
    Group,
    /// Order along K.
    Order,
    /// F.
    FractionBits,
    /// F_c: bits of the accumulator where it has bits of its own.
    AccumulatorBits,
    /// F2.
    SumFractionBits,
    /// How terms are cut.
    TermRounding,
    /// How sums are cut.
    SumRounding,
    /// Whether the sum is cut again at its own exponent.
    Renormalize,
    /// e_zero.
    ZeroExponent,
    /// Exponent of a zero accumulator.
    ZeroAccumulator,
    /// F or F2 and the exponent of zeros, their difference kept: where zeros have terms cut stays.
    ZeroFloor,
    /// Where products become infinite.
    ProductOverflow,
    /// rho.
    Conversion,
    /// How rho rounds, its format kept.
    ConversionRounding,
    /// Whether, and how, C is added at the end.
    AddLast,
    /// Whether, and how, D is narrowed.
    Narrow,
    /// Chains merged before C is added, and how they are merged.
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

impl Parameter {
    /// All of them.
    pub(crate) const ALL: [Parameter; 25] = [
        Parameter::Family,
        Parameter::Length,
        Parameter::Group,
        Parameter::Order,
        Parameter::FractionBits,
        Parameter::AccumulatorBits,
        Parameter::SumFractionBits,
        Parameter::TermRounding,
        Parameter::SumRounding,
        Parameter::Renormalize,
        Parameter::ZeroExponent,
        Parameter::ZeroAccumulator,
        Parameter::ZeroFloor,
        Parameter::ProductOverflow,
        Parameter::Conversion,
        Parameter::ConversionRounding,
        Parameter::AddLast,
        Parameter::Narrow,
        Parameter::Chains,
        Parameter::FlushResult,
        Parameter::Saturate,
        Parameter::FlushOperands,
        Parameter::FlushAccumulator,
        Parameter::WidenOperands,
        Parameter::WidenAccumulator,
    ];
}
