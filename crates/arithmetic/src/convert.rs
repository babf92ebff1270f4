//! The conversion function rho: from an exact intermediate result to a number (paper, Table 2).

use std::fmt;
use std::str::FromStr;

use bitmma_formats::{Format, Overflow, Real, Rounding, encode, table};

/// rho: a rounding rule and the format it rounds into, as in `RZ-E8M13`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Conversion {
    /// How.
    pub rounding: Rounding,
    /// Into what; E8M13 lives in an FP32 container.
    pub format: Format,
}

impl Conversion {
    /// RZ-FP32.
    pub const RZ_FP32: Conversion = Conversion { rounding: Rounding::TowardZero, format: table::F32 };
    /// RZ-E8M13.
    pub const RZ_E8M13: Conversion = Conversion { rounding: Rounding::TowardZero, format: table::E8M13 };
    /// RNE-FP32.
    pub const RNE_FP32: Conversion = Conversion { rounding: Rounding::NearestEven, format: table::F32 };
    /// RNE-FP16.
    pub const RNE_FP16: Conversion = Conversion { rounding: Rounding::NearestEven, format: table::F16 };
    /// RNE-FP64.
    pub const RNE_FP64: Conversion = Conversion { rounding: Rounding::NearestEven, format: table::F64 };

    /// Format of the resulting code: FP32 where the target is a truncated FP32, the target otherwise.
    pub fn container(&self) -> Format {
        if self.format.padding_bits > 0 { table::F32 } else { self.format }
    }

    /// The code of `value`, in [`Self::container`].
    #[inline]
    pub fn apply(&self, value: Real, overflow: Overflow) -> u64 {
        encode(&self.format, value, self.rounding, overflow)
    }
}

impl fmt::Display for Conversion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.format.name;
        match name.strip_prefix('f') {
            Some(width) => f.pad(&format!("{}-FP{width}", self.rounding)),
            None => f.pad(&format!("{}-{}", self.rounding, name.to_ascii_uppercase())),
        }
    }
}

/// The text names no conversion.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown conversion '{0}'; write ROUNDING-FORMAT, as in RZ-FP32, RZ-E8M13, RNE-FP16")]
pub struct UnknownConversion(pub String);

impl FromStr for Conversion {
    type Err = UnknownConversion;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || UnknownConversion(text.to_owned());
        let (rounding, format) = text.split_once('-').ok_or_else(unknown)?;
        let rounding = rounding.parse().map_err(|_| unknown())?;
        let name = format.to_ascii_lowercase();
        let name = name.strip_prefix("fp").map(|width| format!("f{width}")).unwrap_or(name);
        let format = table::by_name(&name).ok_or_else(unknown)?;
        Ok(Conversion { rounding, format })
    }
}
