//! Files that appear whole or not at all, and the folders they go into.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// Writes a file beside the one that was asked for, and renames it; on an error nothing is left. A link is followed; a
/// pipe or a device is written into.
pub(crate) fn write(path: &Path, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    if is_stream(path) {
        return buffered(&mut OpenOptions::new().write(true).open(path)?, content);
    }
    let path = followed(path);
    let mut file = temporary(&path)?;
    buffered(file.as_file_mut(), content)?;
    file.persist(path)?;
    Ok(())
}

/// Whether [`write()`] would find where to write: better known before hours of work than after.
pub(crate) fn check(path: &Path) -> io::Result<()> {
    let wrong = |problem: String| Err(io::Error::other(problem));
    let path = followed(path);
    if path.is_dir() {
        return wrong("it is a directory".to_owned());
    }
    if !folder(&path).is_dir() {
        return wrong(format!("there is no directory {}", folder(&path).display()));
    }
    if is_stream(&path) { Ok(()) } else { temporary(&path).map(drop) }
}

/// Makes a folder, unless it is there.
pub(crate) fn make_folder(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path).map_err(|error| match path.exists() {
        true => io::Error::other("it exists and is not a directory"),
        false => error,
    })
}

fn buffered(file: &mut File, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut target = BufWriter::new(file);
    content(&mut target)?;
    target.flush()
}

/// Whether something of that name is there that cannot be replaced by a file.
fn is_stream(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir())
}

/// What a link leads to; another path as it is.
fn followed(path: &Path) -> PathBuf {
    let linked = path.is_symlink().then(|| fs::canonicalize(path).ok()).flatten();
    linked.unwrap_or_else(|| path.to_owned())
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A file beside that one, which vanishes unless it is kept.
fn temporary(path: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".bitmma-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // as any new file, less what the umask takes; a temporary file is its owner's alone
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let folder = folder(path);
    builder.tempfile_in(folder).map_err(|error| {
        let text = error.to_string();
        let reason = text.split(" at path ").next().unwrap_or(&text); // without the temporary file's name
        io::Error::other(format!("no file can be made in {}: {reason}", folder.display()))
    })
}
