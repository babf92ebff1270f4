//! What a call returns, and the text of the last error.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use bitmma_engine::Error;
use bitmma_engine::catalogue::LookupError;

/// What a call returns. After everything but `BITMMA_OK` outputs are as they were, and `bitmma_last_error` says what is
/// wrong, with the numbers.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum bitmma_status {
    /// Done.
    BITMMA_OK = 0,
    /// A pointer is NULL that must not be.
    BITMMA_NULL = 1,
    /// An unknown name: of an architecture, instruction, revision, format, rounding, overflow rule, entry or compiler.
    BITMMA_UNKNOWN = 2,
    /// The instruction is known, how it computes is not.
    BITMMA_NO_MODEL = 3,
    /// A model does not read, or does not take this K.
    BITMMA_MODEL = 4,
    /// A shape, leading dimension, stride, number of codes or place in a buffer is wrong.
    BITMMA_SIZE = 5,
    /// A code has bits that its format does not have, or is NaN where the format of the result has none.
    BITMMA_CODE = 6,
    /// Scale factors are missing, or given to a unit that takes none.
    BITMMA_SCALE = 7,
    /// An option is out of its range.
    BITMMA_OPTION = 8,
    /// A matrix or buffer of this size cannot be held in memory.
    BITMMA_MEMORY = 9,
    /// The buffer for a text is too small; nothing was written but the length.
    BITMMA_BUFFER = 10,
    /// A bug of this library.
    BITMMA_INTERNAL = 11,
    /// A PTX text does not read or has an instruction that is not supported, or ptxas was to be asked and gives nothing.
    BITMMA_PTX = 12,
    /// A kernel has instructions whose results on a GPU are not known.
    BITMMA_DOUBTFUL = 13,
    /// A launch does not fit its kernel: arguments, grid, block, shared memory or a tensor map.
    BITMMA_LAUNCH = 14,
    /// A kernel did something wrong while it ran.
    BITMMA_KERNEL = 15,
}

/// An error on its way to the caller.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: bitmma_status,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(status: bitmma_status, message: impl Into<String>) -> Failure {
        Failure { status, message: message.into() }
    }

    pub(crate) fn null(what: &str) -> Failure {
        Failure::new(bitmma_status::BITMMA_NULL, format!("{what} is NULL"))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let status = match error {
            Error::Count { .. } | Error::Shape { .. } => bitmma_status::BITMMA_SIZE,
            Error::Code { .. } | Error::Nan { .. } => bitmma_status::BITMMA_CODE,
            Error::TooLarge { .. } => bitmma_status::BITMMA_MEMORY,
            Error::Scale { .. } => bitmma_status::BITMMA_SCALE,
            Error::GemmOption { .. } | Error::Format { .. } => bitmma_status::BITMMA_OPTION,
            Error::NoModel { .. } => bitmma_status::BITMMA_NO_MODEL,
            Error::Model(_) | Error::Lookup(LookupError::UnknownModel { .. }) => bitmma_status::BITMMA_MODEL,
            Error::Lookup(_) => bitmma_status::BITMMA_UNKNOWN,
            Error::Unit { .. } | Error::Recording { .. } | Error::Io(_) | Error::Stopped => {
                bitmma_status::BITMMA_INTERNAL
            }
        };
        Failure::new(status, error.to_string())
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Runs the body of a call. What fails, or panics, leaves its text for [`bitmma_last_error`].
pub(crate) fn guarded(body: impl FnOnce() -> Result<(), Failure>) -> bitmma_status {
    if !cfg!(feature = "threads") {
        bitmma_engine::threads::stay_on_this_thread();
    }
    // every handle is immutable: there is nothing that a panic could leave half done
    let outcome = catch_unwind(AssertUnwindSafe(body));
    let failure = match outcome {
        Ok(Ok(())) => return bitmma_status::BITMMA_OK,
        Ok(Err(failure)) => failure,
        Err(panic) => Failure::new(bitmma_status::BITMMA_INTERNAL, text_of(&*panic)),
    };
    let text: Vec<u8> = failure.message.into_bytes().into_iter().filter(|&byte| byte != 0).collect();
    // a thread that is ending has no room for a text any more
    _ = LAST.try_with(|last| *last.borrow_mut() = CString::new(text).unwrap_or_default());
    failure.status
}

fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    format!("this is a bug of bitmma: {}", text.unwrap_or("a panic without a text"))
}

/// What was wrong with this thread's last call that failed; empty if none has. The text is this thread's, and stays as it
/// is until its next call that fails.
#[unsafe(no_mangle)]
pub extern "C" fn bitmma_last_error() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"the thread is ending".as_ptr())
}

/// The version of the library, as in "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn bitmma_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
