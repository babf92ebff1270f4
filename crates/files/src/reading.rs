//! Reading a file that a person named: whatever it is, reading ends, and takes no more memory than such a file may.
//!
//! Devices have no end, folders no bytes, and a named pipe may have nobody who writes: none of them is opened. A pipe that a shell
//! made (`<(command)`, under `/dev` or `/proc`) is read as far as a file may be long.

use std::fs::{self, File};
use std::io::{self, Cursor, Read};
use std::path::Path;

use crate::content::{kind, unexpected};

/// Bytes that a text may have: a recording of a million dot products has fewer.
pub const MOST_TEXT: u64 = 1 << 30;
/// Bytes of a file's beginning, by which it is known.
const BEGINNING: u64 = 4096;

/// Opens a file that should hold `expected`, which begins with an article; an error if it is something that cannot be read to an
/// end.
pub fn open(path: &Path, expected: &str) -> io::Result<File> {
    let metadata = fs::metadata(path)?;
    if let Some(what) = endless(path, &metadata) {
        return Err(wrong(format!("it is {what}; {expected} was expected")));
    }
    File::open(path)
}

/// All bytes of a file that should hold `expected`, if they begin as such a file does; at most `most`.
pub fn bytes(path: &Path, expected: &str, most: u64) -> io::Result<Vec<u8>> {
    let mut file = open(path, expected)?;
    let mut bytes = beginning(&mut file)?;
    // what is wrong with a short file, who reads it says better
    let is_short = (bytes.len() as u64) < BEGINNING && !bytes.is_empty();
    if !is_short && !may_be(&bytes, expected) {
        return Err(wrong(unexpected(&bytes, expected)));
    }
    let length = file.metadata()?.len();
    if length > most {
        return Err(wrong(format!("it has {length} bytes; {expected} has at most {most}")));
    }
    file.take(most + 1 - bytes.len() as u64).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(wrong(format!("it has more than {most} bytes, which {expected} has at most")));
    }
    Ok(bytes)
}

/// The text of a file that should hold `expected`; an error if it holds nothing, or is of another kind.
pub fn text(path: &Path, expected: &str) -> io::Result<String> {
    crate::content::text(bytes(path, expected, MOST_TEXT)?, expected).map_err(wrong)
}

/// A text that is read line by line, and may be long.
pub fn lines(path: &Path, expected: &str) -> io::Result<impl Read + use<>> {
    let mut file = open(path, expected)?;
    let bytes = beginning(&mut file)?;
    if bytes.contains(&0) {
        return Err(wrong(unexpected(&bytes, expected)));
    }
    Ok(Cursor::new(bytes).chain(file))
}

fn wrong(problem: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem)
}

fn beginning(file: &mut File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(BEGINNING).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Whether a file that begins so may be what is expected: what has a mark has it, and a text has no zero byte.
fn may_be(bytes: &[u8], expected: &str) -> bool {
    match expected {
        "a .npy array" | "an .npz archive" => kind(bytes) == expected,
        _ => !bytes.contains(&0),
    }
}

/// What something is that has no end, or no bytes.
fn endless(path: &Path, metadata: &fs::Metadata) -> Option<&'static str> {
    if metadata.is_dir() {
        return Some("a folder");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let kind = metadata.file_type();
        if kind.is_char_device() || kind.is_block_device() {
            return Some("a device");
        }
        if kind.is_socket() {
            return Some("a socket");
        }
        if kind.is_fifo() && !path.starts_with("/dev") && !path.starts_with("/proc") {
            return Some("a named pipe");
        }
    }
    #[cfg(not(unix))]
    let _ = path;
    None
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::{self, File};
    use std::path::{Path, PathBuf};

    use super::{MOST_TEXT, bytes, lines, open, text};

    fn folder() -> PathBuf {
        let folder = std::env::temp_dir().join(format!("bitmma-reading-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        folder
    }

    #[test]
    fn what_has_no_end_is_named_and_not_read() {
        let folder = folder();
        let pipe = folder.join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        let mut cases = vec![
            (Path::new("/dev/zero"), "it is a device; a table was expected"),
            (Path::new("/dev/urandom"), "it is a device; a table was expected"),
            (folder.as_path(), "it is a folder; a table was expected"),
        ];
        if made.is_ok_and(|status| status.success()) {
            cases.push((&pipe, "it is a named pipe; a table was expected"));
        }
        for (path, problem) in cases {
            let errors = [
                open(path, "a table").err(),
                text(path, "a table").err(),
                bytes(path, "a table", 10).err(),
                lines(path, "a table").err(),
            ];
            for error in errors {
                assert_eq!(error.expect("an error").to_string(), problem);
            }
        }
        fs::remove_file(pipe).ok();
    }

    #[test]
    fn long_files_are_read_by_their_beginning() {
        let path = folder().join("sparse");
        File::create(&path).and_then(|file| file.set_len(10 << 30)).expect("a sparse file");
        for expected in ["a table", "a .npy array", "an .npz archive"] {
            let error = bytes(&path, expected, u64::MAX - 1).expect_err("zeros");
            assert_eq!(error.to_string(), format!("it looks like a binary file; {expected} was expected"));
        }
        assert!(lines(&path, "a table").is_err());
        fs::write(&path, vec![b'a'; 5000]).expect("a file");
        File::options().write(true).open(&path).and_then(|file| file.set_len(10 << 30)).expect("a long file");
        let error = text(&path, "a table").expect_err("too long").to_string();
        assert_eq!(error, format!("it has 10737418240 bytes; a table has at most {MOST_TEXT}"));
        fs::write(&path, vec![b'a'; 5000]).expect("a file");
        assert_eq!(text(&path, "a table").expect("a text").len(), 5000);
        assert!(bytes(&path, "a table", 4999).is_err() && bytes(&path, "a table", 5000).is_ok());
        fs::remove_file(path).ok();
    }
}
