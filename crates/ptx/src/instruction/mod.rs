//! What each kind of instruction computes, on 32 lanes; nothing here knows of memory or other warps.

pub(crate) mod compare;
pub(crate) mod convert;
pub(crate) mod double;
pub(crate) mod float;
pub(crate) mod integer;
pub(crate) mod narrow;
pub(crate) mod single;
pub(crate) mod special;
