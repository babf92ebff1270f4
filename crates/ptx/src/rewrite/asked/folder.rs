//! Where listings are kept.

use std::path::PathBuf;

/// The folder of the files; `off` for none.
pub const CACHE_VARIABLE: &str = "BITMMA_CACHE";

/// The folder that `BITMMA_CACHE` names, else `bitmma` in that of XDG_CACHE_HOME, else in `.cache` of HOME. None if it is off.
pub(super) fn folder() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    match std::env::var_os(CACHE_VARIABLE) {
        Some(value) if value == "off" => None,
        Some(value) if !value.is_empty() => Some(value.into()),
        _ => absolute("XDG_CACHE_HOME")
            .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
            .map(|cache| cache.join("bitmma")),
    }
}
