//! What GPUs of every vendor have in common here.

pub(crate) mod dynamic;
pub(crate) mod error;
pub(crate) mod image;
mod places;
mod unit;

use bitmma::Signature;
use bitmma::catalogue::lookup::Found;

pub use dynamic::LibraryError;
pub use error::Error;
pub use image::{Place, Placement, Registers, TileLayout};
pub use places::{Misplaced, check_places};
pub(crate) use unit::Program;
pub use unit::Unit;

/// What the instruction takes and gives, for the M and N that were asked for; under `ARCH/INSTRUCTION`.
pub(crate) fn signature(found: &Found) -> Signature {
    let row = found.instruction;
    Signature {
        name: format!("{}/{}", row.architecture, found.name()),
        m: found.m,
        n: found.n,
        k: row.k,
        blocks: row.blocks,
        a: row.a,
        b: row.b,
        c: row.c,
        d: row.d,
        scale: row.scale,
    }
}
