//! What the WebAssembly module exports: a buffer, and the function that reads a question from it and leaves the answer there.
#![allow(unsafe_code)] // names that are exported; no memory is touched but by safe code
#![allow(unreachable_pub)] // JavaScript that loads the module calls them

use std::sync::{Mutex, PoisonError};

/// The question before a call of `answer`, the answer after it, in UTF-8.
static BUFFER: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Makes room for a question of that many bytes, and returns where it is to be written.
#[unsafe(no_mangle)]
pub extern "C" fn room(bytes: usize) -> *const u8 {
    let mut buffer = BUFFER.lock().unwrap_or_else(PoisonError::into_inner);
    buffer.clear();
    buffer.resize(bytes, 0);
    buffer.as_ptr()
}

/// Answers the question in the buffer, and returns how many bytes the answer has; `place` says where they are.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> usize {
    bitmma_engine::threads::stay_on_this_thread();
    let mut buffer = BUFFER.lock().unwrap_or_else(PoisonError::into_inner);
    let answer = crate::ask(&String::from_utf8_lossy(&buffer));
    *buffer = answer.into_bytes();
    buffer.len()
}

/// Where the answer is.
#[unsafe(no_mangle)]
pub extern "C" fn place() -> *const u8 {
    BUFFER.lock().unwrap_or_else(PoisonError::into_inner).as_ptr()
}
