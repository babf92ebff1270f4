//! `bitmma.explore`: the explorer's page, served to this machine.

use bitmma_web::serve::Server;
use pyo3::prelude::*;
use std::sync::{Mutex, PoisonError};

use crate::error::of_file;

/// A server of the explorer's page, which runs until it is stopped.
#[pyclass(frozen, module = "bitmma._bitmma")]
pub(crate) struct Explorer {
    server: Mutex<Option<Server>>,
    address: String,
}

#[pymethods]
impl Explorer {
    /// Starts on a port of the loopback address: one that is free, or this one. The page shows `state`, if one is given.
    #[new]
    #[pyo3(signature = (state = "", port = None))]
    fn new(state: &str, port: Option<u16>) -> PyResult<Explorer> {
        let server = Server::start(port).map_err(of_file)?;
        let address = server.address_of(state);
        Ok(Explorer { server: Mutex::new(Some(server)), address })
    }

    /// Stops it; the address leads nowhere from then on.
    fn stop(&self, py: Python<'_>) {
        let server = self.server.lock().unwrap_or_else(PoisonError::into_inner).take();
        py.detach(|| drop(server));
    }

    /// Where the page is, token and state included.
    #[getter]
    fn address(&self) -> &str {
        &self.address
    }

    /// Whether it runs.
    #[getter]
    fn is_running(&self) -> bool {
        self.server.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}
