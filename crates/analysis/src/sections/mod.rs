//! The parts of the report: each asks one question and answers it in tables, pictures and words.

mod bias;
mod bounds;
mod design_space;
mod discrepancy;
mod models;
mod options;
mod published;
mod risks;
mod workarounds;

use crate::error::Error;
use crate::section::Section;
use bitmma::Progress;

pub use options::{Effort, Options, Part, UserData};

/// Makes one part.
pub fn section(part: Part, options: &Options, progress: &dyn Progress) -> Result<Section, Error> {
    match part {
        Part::Models => models::section(options, progress),
        Part::Discrepancy => discrepancy::section(options, progress),
        Part::Bounds => bounds::section(options, progress),
        Part::Risks => risks::section(options, progress),
        Part::Bias => bias::section(options, progress),
        Part::Published => published::section(options, progress),
        Part::DesignSpace => design_space::section(options, progress),
        Part::Workarounds => workarounds::section(options, progress),
    }
}
