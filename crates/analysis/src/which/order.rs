//! The order in which a model goes along K.

use std::fmt;

use serde::Serialize;

/// In which order a model goes along K, as `bitmma gemm` does it or as a library's call does, and what becomes of its
/// result. A library's call has its name alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Order {
    /// Elements along K of one step: the instruction's K. Parts are whole steps.
    pub k_step: Option<usize>,
    /// Parts of K whose results are added, 1 or more.
    pub split_k: Option<usize>,
    /// Elements of K after which the accumulator is moved to an FP32 sum.
    pub promote_every: Option<usize>,
    /// Whether C is added to A·B.
    pub c_last: Option<bool>,
    /// What D is converted to, where it is not the model's own format.
    pub output: Option<&'static str>,
    /// Whether numbers beyond its largest become its largest.
    pub saturate: Option<bool>,
    /// GPU, library and configuration.
    pub call: Option<String>,
}

impl Order {
    /// That of a library's call.
    pub(super) fn of_call(name: String) -> Order {
        Order { call: Some(name), ..Order::default() }
    }
}

/// As people say it: `K in 4 parts, moved to an FP32 sum every 128`.
impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.call {
            return f.write_str(name);
        }
        match (self.split_k, self.k_step) {
            (Some(parts), Some(step)) if parts > 1 => write!(f, "K in {parts} parts (steps of {step})")?,
            _ => f.write_str("one chain along K")?,
        }
        if let Some(every) = self.promote_every {
            write!(f, ", moved to an FP32 sum every {every}")?;
        }
        if self.c_last == Some(true) {
            f.write_str(", C added last")?;
        }
        if let Some(output) = self.output {
            write!(f, ", converted to {output}")?;
        }
        if self.output.is_some() && self.saturate == Some(true) {
            f.write_str(", saturated")?;
        }
        Ok(())
    }
}
