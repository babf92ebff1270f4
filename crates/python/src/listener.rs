//! Long work: Python's thread waits, looks for Ctrl-C, and calls what the work wants called.

use std::sync::mpsc::{Sender, SyncSender, sync_channel};

use bitmma_engine::{Error, Progress, threads};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// Products of numbers.
pub(crate) fn products(
    (blocks, rows, k): (usize, usize, usize),
    (_, _, columns): (usize, usize, usize),
) -> usize {
    [rows, k, columns].iter().fold(blocks, |all, size| all.saturating_mul(*size))
}

/// What work asks for.
enum Request {
    Call {
        function: Py<PyAny>,
        arguments: Py<PyTuple>,
        result: SyncSender<Py<PyAny>>,
    },
    /// That this is raised.
    Raise(PyErr),
}

/// Where work asks for calls of Python's functions: they are called on the thread that waits, whose context variables,
/// gradient modes and signals are theirs.
pub(crate) struct Calls<'c>(&'c Sender<Request>);

impl Calls<'_> {
    /// What a function returns. If it raises, the work ends, and that is raised where the work was started.
    pub(crate) fn call<A>(&self, function: &Py<PyAny>, arguments: A) -> Result<Py<PyAny>, Error>
    where
        A: for<'py> IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>, Error = PyErr>,
    {
        let (result, called) = sync_channel(1);
        let request = Python::attach(|py| {
            let arguments = arguments.into_pyobject(py)?.unbind();
            PyResult::Ok(Request::Call { function: function.clone_ref(py), arguments, result })
        });
        _ = self.0.send(request.unwrap_or_else(Request::Raise));
        called.recv().map_err(|_| Error::Stopped)
    }

    /// Ends the work, and raises this where it was started.
    pub(crate) fn raise(&self, error: PyErr) -> Error {
        _ = self.0.send(Request::Raise(error));
        Error::Stopped
    }
}

/// Products of numbers below which a kernel, or the reference path, is done before anybody would press Ctrl-C: they do
/// without a thread of their own.
const BRIEF: [usize; 2] = [1 << 22, 1 << 17];

/// As [`long`], of that many products of numbers.
pub(crate) fn computed<T: Send>(
    py: Python<'_>,
    products: usize,
    by_kernel: bool,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    match products < BRIEF[usize::from(!by_kernel)] {
        true => Ok(py.detach(work)),
        false => long(py, |_| work()),
    }
}

/// Long work without the interpreter's lock, and what it returns. It is stopped by Ctrl-C, within about 0.1 s, and by what a
/// function raises that it calls; that is raised here.
pub(crate) fn long<T: Send>(py: Python<'_>, work: impl FnOnce(&Calls<'_>) -> T + Send) -> PyResult<T> {
    py.detach(|| {
        let attend = |request: Option<Request>| {
            Python::attach(|py| {
                py.check_signals()?;
                match request {
                    None => {}
                    Some(Request::Raise(error)) => return Err(error),
                    Some(Request::Call { function, arguments, result }) => {
                        let returned = function.call1(py, arguments)?;
                        _ = result.send(returned); // work that was stopped does not wait for it
                    }
                }
                Ok(())
            })
        };
        threads::attended(|sender| work(&Calls(sender)), attend)
    })
}

/// A Python callable that hears how far work is, if there is one.
pub(crate) struct Listener<'c> {
    pub(crate) calls: &'c Calls<'c>,
    pub(crate) call: Option<Py<PyAny>>,
}

impl Progress for &Listener<'_> {
    fn step(&self, what: &str, done: u64, total: u64) -> Result<(), Error> {
        threads::check();
        match &self.call {
            Some(call) => self.calls.call(call, (what.to_owned(), done, total)).map(drop),
            None => Ok(()),
        }
    }
}
