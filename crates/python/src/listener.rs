//! A Python callable that hears how far long work is, and may end it by an exception.

use std::sync::Mutex;

use bitmma::Progress;
use pyo3::prelude::*;

/// Who listens, and what was raised first: after that nothing is called any more.
pub(crate) struct Listener {
    call: Option<Py<PyAny>>,
    raised: Mutex<Option<PyErr>>,
}

impl Listener {
    pub(crate) fn new(call: Option<Py<PyAny>>) -> Listener {
        Listener { call, raised: Mutex::new(None) }
    }

    /// Calls, if somebody listens and nothing was raised yet; looks whether Ctrl-C was pressed. Stops the work if something was
    /// raised.
    pub(crate) fn tell(
        &self,
        call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<()>,
    ) -> Result<(), bitmma::Error> {
        if self.stopped() {
            return Err(bitmma::Error::Stopped);
        }
        let told = Python::attach(|py| {
            py.check_signals()?;
            self.call.as_ref().map_or(Ok(()), |listener| call(listener.bind(py)))
        });
        told.map_err(|error| {
            self.keep(error);
            bitmma::Error::Stopped
        })
    }

    /// Keeps what was raised, the first of it.
    pub(crate) fn keep(&self, error: PyErr) {
        if let Ok(mut raised) = self.raised.lock() {
            raised.get_or_insert(error);
        }
    }

    pub(crate) fn stopped(&self) -> bool {
        self.raised.lock().is_ok_and(|raised| raised.is_some())
    }

    /// What was raised, else the result.
    pub(crate) fn end<T, E: Into<PyErr>>(self, result: Result<T, E>) -> PyResult<T> {
        match self.raised.into_inner().ok().flatten() {
            Some(error) => Err(error),
            None => result.map_err(Into::into),
        }
    }
}

impl Progress for &Listener {
    fn step(&self, what: &str, done: u64, total: u64) -> Result<(), bitmma::Error> {
        self.tell(|call| call.call1((what, done, total)).map(drop))
    }
}
