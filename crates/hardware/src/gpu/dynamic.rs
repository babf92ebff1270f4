//! Libraries that are opened at run time.
#![allow(unsafe_code)] // foreign functions of a library that is opened at run time

use std::ffi::OsString;
use std::path::Path;

use bitmma_engine::catalogue::Vendor;
use libloading::Library;

use super::error::{Error, LibraryError};

/// A library that was opened.
///
/// It stays until the process ends: `libamd_comgr` registers its options with an LLVM that stays, and a
/// second load of it ends the process ("Option 'disassemble' registered more than once").
pub(crate) struct Opened {
    pub(crate) library: &'static Library,
    pub(crate) name: String,
    pub(crate) vendor: Vendor,
}

impl Opened {
    /// The library at `path`, or the one that `variable` names, or the first of the `usual` ones that opens; the error
    /// is that of the first.
    pub(crate) fn open(
        vendor: Vendor,
        path: Option<&Path>,
        variable: &str,
        usual: &[&str],
    ) -> Result<Opened, Error> {
        let named = path.map(OsString::from).or_else(|| std::env::var_os(variable));
        let names = named.map_or_else(|| usual.iter().map(OsString::from).collect(), |named| vec![named]);
        let mut first = None;
        for file in names {
            let name = Path::new(&file).display().to_string();
            // SAFETY: opening a library runs its initialisers. These are the vendors' drivers (or what the
            // user named in their place), made to be opened so.
            match unsafe { Library::new(file) } {
                Ok(library) => return Ok(Opened { library: Box::leak(Box::new(library)), name, vendor }),
                Err(error) => _ = first.get_or_insert((name, reason(&error))),
            }
        }
        let (library, reason) = first.expect("there is a usual name");
        Err(Error::Library { vendor, error: LibraryError::Open { library, reason } })
    }

    /// That it has no such function.
    pub(crate) fn lacks(&self, symbol: &'static str) -> Error {
        let error = LibraryError::Symbol { library: self.name.clone(), symbol };
        Error::Library { vendor: self.vendor, error }
    }
}

/// The loader's message, which is the error's source.
fn reason(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

/// Declares a table of functions of a library: a struct of function pointers with a constructor. A function
/// may have another name in AMD's library (after `/`), or an older one (after `or`), which is looked for where the
/// library does not have the first.
macro_rules! functions {
    ($(#[$doc:meta])* $table:ident { $($(#[$field_doc:meta])* $field:ident: $symbol:literal $(/ $amd:literal)? $(or $older:literal)? = fn($($argument:ty),*) -> $result:ty;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $table {
            $($(#[$field_doc])* pub(crate) $field: unsafe extern "C" fn($($argument),*) -> $result,)*
        }

        impl $table {
            /// Finds every function, or says which one is missing.
            pub(crate) fn of(opened: &crate::gpu::dynamic::Opened) -> Result<$table, crate::gpu::Error> {
                $(
                    // SAFETY: the declaration is the vendor's documented signature, and the library stays.
                    let find = |symbol: &str| unsafe {
                        opened.library.get::<unsafe extern "C" fn($($argument),*) -> $result>(symbol.as_bytes())
                    };
                    let symbol = match opened.vendor {
                        $(bitmma_engine::catalogue::Vendor::Amd => $amd,)?
                        _ => $symbol,
                    };
                    let $field = *find(symbol)
                        $(.or_else(|_| find($older)))?
                        .map_err(|_| opened.lacks(symbol))?;
                )*
                Ok($table { $($field),* })
            }
        }
    };
}
pub(crate) use functions;
