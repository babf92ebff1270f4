//! What threads have released to others at addresses of global memory.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::clocks::{Known, join};

/// By address, what is ordered before what a thread does that acquires there.
#[derive(Default)]
pub(crate) struct Flags {
    any: AtomicBool,
    all: Mutex<HashMap<u64, Arc<Known>>>,
}

impl Flags {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Arc<Known>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Releases at an address; with `adds` to what was released there before.
    pub(super) fn release(&self, at: u64, known: Arc<Known>, adds: bool) {
        self.any.store(true, Relaxed);
        let mut all = self.lock();
        match all.entry(at) {
            std::collections::hash_map::Entry::Occupied(mut old) if adds => join(old.get_mut(), &known),
            entry => _ = entry.insert_entry(known),
        }
    }

    /// A write that releases nothing.
    pub(super) fn remove(&self, at: u64) {
        if self.any.load(Relaxed) {
            self.lock().remove(&at);
        }
    }

    pub(super) fn get(&self, at: u64) -> Option<Arc<Known>> {
        if self.any.load(Relaxed) { self.lock().get(&at).cloned() } else { None }
    }
}
