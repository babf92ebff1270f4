//! A library's call, as the arithmetic that it is.

use super::schedule::Schedule;
use super::target::Target;
use crate::Architecture;

/// A configuration of a library on a GPU, and what it computes.
#[derive(Clone, Debug)]
pub struct LibraryCall {
    /// GPU, library and configuration: `sm_90 cuBLASLt: ALGO_ID 66, SPLITK_NUM 4, …`.
    pub name: String,
    /// The architecture with whose instructions the call is computed.
    pub architecture: Architecture,
    /// What goes along K; `None`: sums of threads.
    pub target: Option<Target>,
    /// The order around it.
    pub schedule: Schedule,
}
