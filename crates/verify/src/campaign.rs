//! A unit compared with a model, for any length of time: cut into blocks, each with a digest.
//!
//! A [`Plan`] says what is asked: the directed cases, then random instructions of every family in turn,
//! each addressed by family, seed and index alone. It is cut into blocks of a size that follows from the
//! instruction. What came of a block is a [`Block`]: a digest of the unit's results, and the counts. A
//! [`State`] is a file of them, written block by block; blocks of several files, of any machine and in any
//! order, make one [`Summary`] with one digest.

mod block;
mod bounds;
mod claims;
mod cut;
mod failures;
mod identity;
mod line;
mod plan;
mod run;
mod state;
mod summary;

pub use block::{Block, Kept};
pub use bounds::Bounds;
pub use claims::{Finding, Settled, settle};
pub use cut::Cut;
pub use failures::{Failing, least};
pub use identity::Identity;
pub use plan::{Plan, Shard, Source};
pub use run::run;
pub use state::{State, file_name, merge};
pub use summary::{Missing, Summary, Verdict};
