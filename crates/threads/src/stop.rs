//! Work that can be stopped.
//!
//! Work that [`attended`] starts has a place in a table. Before each item the parallel iterators, and elsewhere
//! [`check`], look there whether it is to stop, and then unwind, without a message, to where the work began. Every thread
//! that takes part knows for which work: a parallel iterator hands that on with each item.
//!
//! Nothing here is locked, for the reason that `home` has.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

const FREE: u8 = 0;
const RUNS: u8 = 1;
const STOPS: u8 = 2;

/// How each work is doing.
static WORKS: [AtomicU8; 256] = [const { AtomicU8::new(FREE) }; 256];

/// How often somebody who waits is asked whether to go on.
const EVERY: Duration = Duration::from_millis(50);

thread_local! {
    static CURRENT: Cell<Work> = const { Cell::new(Work(None)) };
}

/// The payload of the panic that ends work.
struct Stopped;

/// Which work something belongs to; none if nobody can stop it.
#[derive(Clone, Copy)]
pub(crate) struct Work(Option<u8>);

impl Work {
    /// That of this thread, now.
    pub(crate) fn current() -> Work {
        CURRENT.get()
    }

    /// A new one; where all places are taken, one that nobody can stop.
    fn begin() -> Work {
        let free = |place: &AtomicU8| {
            place.compare_exchange(FREE, RUNS, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        Work(WORKS.iter().position(free).map(|place| place as u8))
    }

    fn set(self, state: u8) {
        if let Some(place) = self.0 {
            WORKS[usize::from(place)].store(state, Ordering::Relaxed);
        }
    }

    fn check(self) {
        if let Some(place) = self.0
            && WORKS[usize::from(place)].load(Ordering::Relaxed) == STOPS
        {
            resume_unwind(Box::new(Stopped));
        }
    }

    /// Does something for this work.
    pub(crate) fn within<T>(self, something: impl FnOnce() -> T) -> T {
        struct Restored(Work);
        impl Drop for Restored {
            fn drop(&mut self) {
                CURRENT.set(self.0);
            }
        }
        let _restored = Restored(CURRENT.replace(self));
        self.check();
        something()
    }
}

/// Ends the work that this thread is doing, by unwinding, if it is to be stopped. For loops that take long and have no
/// parallel iterator in them.
pub fn check() {
    Work::current().check();
}

/// Does some work on another thread while this one waits and attends to it: `attend` gets each message that the work
/// sends, and every 50 ms, without one, is asked whether to go on. Its first error stops the work and is returned.
///
/// Work stops at its next item or [`check`]; what it sends after an error is dropped.
pub fn attended<M: Send, T: Send, E>(
    work: impl FnOnce(&Sender<M>) -> T + Send,
    mut attend: impl FnMut(Option<M>) -> Result<(), E>,
) -> Result<T, E> {
    let own = Work::begin();
    let (sender, messages) = mpsc::channel();
    let done = thread::scope(|scope| {
        let done = scope.spawn(move || catch_unwind(AssertUnwindSafe(|| own.within(|| work(&sender)))));
        let mut refused = None;
        loop {
            let message = match messages.recv_timeout(EVERY) {
                Ok(message) => Some(message),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => break, // it is done
            };
            if refused.is_none()
                && let Err(error) = attend(message)
            {
                own.set(STOPS);
                refused = Some(error);
            }
        }
        match refused {
            Some(error) => Err(error),
            None => Ok(done.join()),
        }
    });
    own.set(FREE);
    match done? {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(panic)) | Err(panic) => resume_unwind(panic),
    }
}
