//! What GPUs of every vendor have in common here.

pub(crate) mod driver;
pub(crate) mod dynamic;
pub(crate) mod error;
pub(crate) mod exchange;
pub(crate) mod image;
mod places;
mod unit;

pub use error::{Error, LibraryError};
pub use image::{Placement, RegisterBit, Registers, TileLayout};
pub use places::{Misplaced, check_places};
pub use unit::Unit;
