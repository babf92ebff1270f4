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
    /// Whether subnormal inputs are zeros.
    FlushInputs,
    /// What A and B are widened to.
    WidenOperands,
    /// What C is widened to.
    WidenAccumulator,
}

impl Parameter {
    /// All of them.
    pub(crate) const ALL: [Parameter; 20] = [
        Parameter::Family,
        Parameter::Length,
        Parameter::Group,
        Parameter::Order,
        Parameter::FractionBits,
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
        Parameter::FlushInputs,
        Parameter::WidenOperands,
        Parameter::WidenAccumulator,
    ];
}
