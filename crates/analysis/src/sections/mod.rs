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
use crate::section::{Content, Section};
use bitmma_engine::Progress;

pub use options::{Effort, Link, Options, Part, UserData};

/// Makes one part; refuses an instruction or a model that it does not take.
pub fn section(part: Part, options: &Options, progress: &dyn Progress) -> Result<Section, Error> {
    options.check(part)?;
    make(part, options, progress)
}

/// Makes one part; what it does not take changes nothing.
pub(crate) fn make(part: Part, options: &Options, progress: &dyn Progress) -> Result<Section, Error> {
    let make = match part {
        Part::Models => models::section,
        Part::Discrepancy => discrepancy::section,
        Part::Bounds => bounds::section,
        Part::Risks => risks::section,
        Part::Bias => bias::section,
        Part::Published => published::section,
        Part::DesignSpace => design_space::section,
        Part::Workarounds => workarounds::section,
    };
    let Content { finding, text, tables, figures } = make(options, progress)?;
    Ok(Section {
        name: part.name().to_owned(),
        title: part.title().to_owned(),
        finding,
        text,
        tables,
        figures,
    })
}
