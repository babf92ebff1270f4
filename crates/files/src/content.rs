//! What kind of file some bytes are of, for messages about a file of another kind than was expected.

/// What a file looks like by its first bytes.
pub fn kind(bytes: &[u8]) -> &'static str {
    let start = bytes.trim_ascii_start();
    match bytes {
        _ if start.is_empty() => "an empty file",
        [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => "a .npy array",
        [b'P', b'K', 3 | 5, 4 | 6, ..] => "an .npz archive",
        [_, _, _, _, _, 0, 0, 0, b'{', ..] => "a .safetensors file",
        _ if bytes.contains(&0) || !is_text(bytes) => "a binary file",
        _ if start.starts_with(b"{") => "JSON",
        _ => "text",
    }
}

/// Whether bytes are UTF-8, but for a character that the end of what was read cuts.
fn is_text(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes)
        .err()
        .is_none_or(|error| error.error_len().is_none() && error.valid_up_to() > 0)
}

/// That a file is not of the kind that was expected, which begins with an article.
pub fn unexpected(bytes: &[u8], expected: &str) -> String {
    format!("it looks like {}; {expected} was expected", kind(bytes))
}

/// The text of a file that should hold `expected`; an error if it holds nothing or is of another kind.
pub fn text(bytes: Vec<u8>, expected: &str) -> Result<String, String> {
    match String::from_utf8(bytes) {
        Ok(text) if !text.trim_ascii().is_empty() => Ok(text),
        Ok(text) => Err(unexpected(text.as_bytes(), expected)),
        Err(error) if kind(error.as_bytes()) == "a binary file" => {
            Err(format!("{} (it is not UTF-8 text)", unexpected(error.as_bytes(), expected)))
        }
        Err(error) => Err(unexpected(error.as_bytes(), expected)),
    }
}

#[cfg(test)]
mod tests {
    use super::{kind, text};

    #[test]
    fn kinds_of_files() {
        for (bytes, expected) in [
            (&b" \n"[..], "an empty file"),
            (b"\x93NUMPY\x01\0", "a .npy array"),
            (b"PK\x03\x04..", "an .npz archive"),
            (b"\x10\0\0\0\0\0\0\0{\"a\":", "a .safetensors file"),
            (b"\xff", "a binary file"),
            (b"\n{}", "JSON"),
            (b"a,b\n", "text"),
        ] {
            assert_eq!(kind(bytes), expected);
        }
        assert_eq!(text(b"a".to_vec(), "a list"), Ok("a".to_owned()));
        let wrong = text(b"\x93NUMPY".to_vec(), "a list");
        assert_eq!(wrong, Err("it looks like a .npy array; a list was expected".to_owned()));
    }
}
