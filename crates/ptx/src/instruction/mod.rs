//! The instructions, a family a file: which forms PTX has of each, what is made of it, and how it is evaluated.

pub(crate) mod bulk;
pub(crate) mod compare;
pub(crate) mod compute;
pub(crate) mod convert;
pub(crate) mod double;
pub(crate) mod float;
pub(crate) mod integer;
mod matrix;
mod memory;
pub(crate) mod narrow;
pub(crate) mod row;
pub(crate) mod single;
pub(crate) mod special;
pub(crate) mod table;
mod tcgen05;
pub(crate) mod warp;
