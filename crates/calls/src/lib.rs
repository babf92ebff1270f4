//! What a library's matrix product returns, bit for bit.
//!
//! A library does not run one instruction. It deals K to parts, runs an instruction along each part, moves sums
//! to FP32 now and then, merges the parts, and scales and rounds the result. A [`Plan`] says all of that as data;
//! plan and operands determine D, and nothing else does. [`execute()`] makes a plan the engine's schedule and runs it;
//! [`execute::element`] follows one element by definition, in whole numbers.
//!
//! Plans come from a cuBLASLt configuration ([`cublaslt`]), from recorded decisions ([`table`]), from a file
//! ([`Plan::read`]) or from the platforms that [`platform`] knows. What nobody has measured is declined with the
//! reason ([`Error::Declined`]). [`torch`] knows which calls of `torch._scaled_mm` are rejected.
//! [`verify`](mod@verify) holds recorded calls against all this.
//!
//! The rules have numbers: `docs/call-rules.md` lists them.
#![forbid(unsafe_code)]

pub mod call;
pub mod compare;
pub mod cublaslt;
pub mod deal;
pub mod epilogue;
pub mod error;
pub mod execute;
pub mod explain;
pub mod fixtures;
pub mod plan;
pub mod platform;
pub mod proposals;
pub mod recorded;
pub mod scaled;
pub mod table;
pub mod torch;
pub mod verify;

pub use call::Call;
pub use error::Error;
pub use execute::execute;
pub use plan::Plan;
