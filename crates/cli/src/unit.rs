//! Units on the command line: how long one outside of this process may take.

use std::time::Duration;

use bitmma_engine::Revision;
use bitmma_hardware::process::Limits;
use bitmma_verify::open::{AnyUnit, open};

use crate::failure::Failure;

/// How long a unit outside of this process may take.
#[derive(Clone, Copy, Debug, clap::Args)]
#[group(skip)]
pub(crate) struct LimitArguments {
    /// Seconds that an exec: program may take to start
    #[arg(long, hide_short_help = true, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    start_limit: Duration,
    /// Seconds that an exec: program may take for each batch
    #[arg(long, hide_short_help = true, value_name = "SECONDS", default_value = "120", value_parser = seconds)]
    batch_limit: Duration,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "a number of seconds is expected".to_owned())?;
    if !(0.001..=1e9).contains(&seconds) {
        return Err("it may be 0.001 to 1000000000".to_owned());
    }
    Ok(Duration::from_secs_f64(seconds))
}

impl LimitArguments {
    /// The unit of that name, within these limits.
    pub(crate) fn open(self, specification: &str, revision: Revision) -> Result<AnyUnit, Failure> {
        let limits = Limits { start: self.start_limit, batch: self.batch_limit };
        Ok(open(specification, revision, limits)?)
    }
}
