//! Where listings are kept.

use std::path::PathBuf;

/// The folder of the files, an absolute path; `off` for none.
pub const CACHE_VARIABLE: &str = "BITMMA_CACHE";

/// The folder that `BITMMA_CACHE` names, else `bitmma` in that of XDG_CACHE_HOME, else in `.cache` of HOME. None if it is off. An
/// error if it names a path that depends on the working directory.
pub(super) fn folder() -> Result<Option<PathBuf>, String> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    match std::env::var_os(CACHE_VARIABLE) {
        Some(value) if value.eq_ignore_ascii_case("off") => Ok(None),
        Some(value) if !value.is_empty() => match PathBuf::from(value) {
            path if path.is_absolute() => Ok(Some(path)),
            path => {
                let path = path.display();
                Err(format!("{CACHE_VARIABLE} is '{path}': expected an absolute path, or off"))
            }
        },
        _ => {
            let cache =
                absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
            Ok(cache.map(|cache| cache.join("bitmma")))
        }
    }
}
