//! Every row of the tables.

use std::sync::LazyLock;

use crate::architecture::Architecture;
use crate::instruction::Instruction;
use crate::recorded::recorded;
use crate::spelling::Key;
use crate::{amd, nvidia};

/// Rows, and with each the M and N that were asked for.
pub(crate) type Rows = Vec<(&'static Instruction, Key)>;

static CATALOGUE: LazyLock<Vec<Instruction>> = LazyLock::new(|| {
    let mut rows = nvidia::rows();
    rows.extend(amd::rows());
    for row in rows.iter_mut().filter(|row| row.unknown.is_none()) {
        // better evidence than the tables have
        row.evidence = recorded(row).unwrap_or(row.evidence);
    }
    for architecture in Architecture::ALL {
        let Some((other, why)) = architecture.like() else { continue };
        let own = rows.iter().filter(|row| row.architecture == other).map(|row| row.on(architecture, why));
        rows.extend(own.collect::<Vec<_>>());
    }
    let of = |architecture| rows.iter().filter(move |row| row.architecture == architecture);
    Architecture::ALL.into_iter().flat_map(of).cloned().collect()
});

/// Every instruction, architecture by architecture, in the order of the tables.
pub fn catalogue() -> &'static [Instruction] {
    &CATALOGUE
}

/// The instructions of one architecture, in the order of the tables.
pub fn of(architecture: Architecture) -> impl Iterator<Item = &'static Instruction> {
    catalogue().iter().filter(move |row| row.architecture == architecture)
}
