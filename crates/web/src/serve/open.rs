//! The connections that are open: so many at a time, and silent ones make room for others.

use std::collections::BTreeMap;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Connections at a time, at most.
const MOST: usize = 64;

/// What a connection does, the one that is closed first in front.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Doing {
    /// Nothing that would show that it knows the token.
    Nothing,
    /// It waits between two questions.
    Pause,
    /// It asks, and is never closed for another.
    Asks,
}

#[derive(Debug)]
struct Opened {
    stream: Arc<TcpStream>,
    doing: Doing,
    /// Counts what happens; the smallest is the longest ago.
    since: u64,
}

#[derive(Debug, Default)]
struct All {
    by_number: BTreeMap<u64, Opened>,
    events: u64,
}

/// The connections that are open, by number.
#[derive(Debug, Default)]
pub(super) struct Open(Mutex<All>);

impl Open {
    fn all(&self) -> MutexGuard<'_, All> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a connection. Where there are too many, the one that has been silent for longest is closed; `None` where all ask.
    pub(super) fn enter(&self, stream: &Arc<TcpStream>) -> Option<u64> {
        let all = &mut *self.all();
        if all.by_number.len() >= MOST {
            let silent = all.by_number.iter().filter(|(_, one)| one.doing != Doing::Asks);
            let (&oldest, _) = silent.min_by_key(|(_, one)| (one.doing, one.since))?;
            close(&all.by_number.remove(&oldest)?);
        }
        all.events += 1;
        let opened = Opened { stream: Arc::clone(stream), doing: Doing::Nothing, since: all.events };
        all.by_number.insert(all.events, opened);
        Some(all.events)
    }

    /// Notes that a connection asks, from when its token was seen until it has its reply; false if it was closed.
    pub(super) fn asks(&self, number: u64, asks: bool) -> bool {
        let all = &mut *self.all();
        all.events += 1;
        let Some(one) = all.by_number.get_mut(&number) else { return false };
        (one.doing, one.since) = (if asks { Doing::Asks } else { Doing::Pause }, all.events);
        true
    }

    /// Forgets a connection that ended.
    pub(super) fn leave(&self, number: u64) {
        self.all().by_number.remove(&number);
    }

    /// Closes all.
    pub(super) fn close(&self) {
        self.all().by_number.values().for_each(close);
    }
}

/// Ends what its thread waits for.
fn close(opened: &Opened) {
    _ = opened.stream.shutdown(Shutdown::Both);
}
