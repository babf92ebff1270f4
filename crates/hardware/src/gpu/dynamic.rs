//! Libraries that are opened at run time.
#![allow(unsafe_code)] // foreign functions of a library that is opened at run time

use std::ffi::OsString;
use std::path::Path;

use libloading::Library;
use thiserror::Error;

/// A library that cannot be opened, or that lacks a function.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LibraryError {
    /// It does not exist, or is not a library.
    #[error("{library} cannot be opened: {reason}")]
    Open {
        /// The library.
        library: String,
        /// What the loader said.
        reason: String,
    },
    /// It is there, but older than we need.
    #[error("{library} has no function {symbol}: it is too old")]
    Symbol {
        /// The library.
        library: String,
        /// The function.
        symbol: &'static str,
    },
}

/// Opens the first of `names` that opens; the error is that of the first.
///
/// A library stays until the process ends: `libamd_comgr` registers its options with an LLVM that stays, and a
/// second load of it ends the process ("Option 'disassemble' registered more than once").
pub(crate) fn open<'n>(
    names: impl IntoIterator<Item = &'n Path>,
) -> Result<(&'static Library, String), LibraryError> {
    let mut first = None;
    for name in names {
        // SAFETY: opening a library runs its initialisers. These are the vendors' drivers (or what the
        // user named in their place), made to be opened so.
        match unsafe { Library::new(OsString::from(name)) } {
            Ok(library) => return Ok((Box::leak(Box::new(library)), name.display().to_string())),
            Err(error) => {
                first.get_or_insert(LibraryError::Open {
                    library: name.display().to_string(),
                    reason: reason(&error),
                });
            }
        }
    }
    Err(first.unwrap_or(LibraryError::Open { library: String::new(), reason: "no name given".to_owned() }))
}

/// The loader's message, which is the error's source.
fn reason(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

/// Declares a table of functions of a library: a struct of function pointers with a constructor. A function
/// may have an older name, which is looked for where the library does not have the first.
macro_rules! functions {
    ($(#[$doc:meta])* $table:ident { $($(#[$field_doc:meta])* $field:ident: $symbol:literal $(or $older:literal)? = fn($($argument:ty),*) -> $result:ty;)* }) => {
        $(#[$doc])*
        pub(crate) struct $table {
            $($(#[$field_doc])* pub(crate) $field: unsafe extern "C" fn($($argument),*) -> $result,)*
        }

        impl $table {
            /// Finds every function, or says which one is missing.
            pub(crate) fn of(library: &'static libloading::Library, name: &str) -> Result<$table, crate::gpu::dynamic::LibraryError> {
                $(
                    // SAFETY: the declaration is the vendor's documented signature, and the library stays.
                    let find = |symbol: &str| unsafe {
                        library.get::<unsafe extern "C" fn($($argument),*) -> $result>(symbol.as_bytes())
                    };
                    let $field = *find($symbol)
                        $(.or_else(|_| find($older)))?
                        .map_err(|_| crate::gpu::dynamic::LibraryError::Symbol { library: name.to_owned(), symbol: $symbol })?;
                )*
                Ok($table { $($field),* })
            }
        }
    };
}
pub(crate) use functions;
