//! Threads: one pool for each process.
//!
//! Rayon has one pool for all users in a process, and a process that `fork` starts inherits it without its threads: work
//! that is given to it never ends. This crate has a pool of its own, which is built at first use and again in a child
//! process, and it is the only crate that may use Rayon. The parallel iterators of [`prelude`] do all their work in the
//! pool of this process, or, on a thread of a [`Pool`], in that one.
#![forbid(unsafe_code)]

mod home;
mod parallel;
mod pool;
mod spread;
mod stop;

pub use parallel::Par;
pub use pool::{MOST, Pool, alone, on, stay_on_this_thread};
pub use spread::{each_chunk, mapped};
pub use stop::{attended, check};

use stop::Work;

/// What slices, vectors and ranges need to become parallel iterators.
pub mod prelude {
    pub use crate::parallel::{IntoPar as _, ParSlice as _};
}

/// Does some work in the pool of this process. A thread that is in a pool does it itself.
pub fn run<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let (mut work, mut result) = (Some(work), None);
    place(&mut || result = work.take().map(|work| work()));
    result.expect("work is done once")
}

/// Does it where [`run`] says; compiled once, not for each kind of work.
fn place(work: &mut (dyn FnMut() + Send)) {
    match pool::membership() {
        pool::Membership::Member => work(),
        pool::Membership::None => {
            let own = Work::current();
            home::install(move || own.within(work));
        }
        pool::Membership::Orphan => std::thread::scope(|scope| {
            let own = Work::current();
            let done = scope.spawn(move || home::install(move || own.within(work))).join();
            done.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }),
    }
}

/// Threads of the pool that [`run`] uses here.
pub fn count() -> usize {
    match pool::membership() {
        pool::Membership::Member => rayon::current_num_threads(),
        pool::Membership::None | pool::Membership::Orphan => home::count(),
    }
}
