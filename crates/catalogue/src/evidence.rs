//! Why we believe a model.

use std::fmt;

use crate::architecture::Architecture;

/// Where a row's model comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Evidence {
    /// Results of real GPUs that the model (revision `hardware`) reproduces bit for bit.
    Recorded {
        /// The chips that were recorded.
        on: &'static [&'static str],
        /// Where their results come from.
        source: &'static str,
    },
    /// The paper's tables print the model; its authors validated it on this chip.
    Printed {
        /// The chip.
        on: &'static str,
    },
    /// The vendor's manual defines every bit of the result; no GPU was asked.
    Defined {
        /// Where.
        by: &'static str,
    },
    /// Nobody has shown it; it follows from something that was shown.
    Inferred {
        /// From what.
        why: &'static str,
    },
}

impl Evidence {
    /// The paper's tables print it for this architecture.
    ///
    /// # Panics
    ///
    /// If the paper's authors ran nothing on it: a promise we broke ourselves.
    pub(crate) fn printed(architecture: Architecture) -> Evidence {
        match architecture.papers_chip() {
            Some(on) => Evidence::Printed { on },
            None => panic!("the paper prints nothing for {architecture}"),
        }
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Evidence::Recorded { on, source } => write!(f, "recorded on {} ({source})", on.join(", ")),
            Evidence::Printed { on } => write!(f, "printed in the paper, validated there on {on}"),
            Evidence::Defined { by } => write!(f, "defined by {by}; no GPU was asked"),
            Evidence::Inferred { why } => write!(f, "inferred: {why}"),
        }
    }
}
