//! Files made by hand, byte by byte, so that no reader of ours checks a writer of ours.

use std::path::{Path, PathBuf};

use assert_cmd::Command;
use tempfile::TempDir;

/// A folder that vanishes, and the command run in it.
pub(crate) struct Bench {
    folder: TempDir,
}

/// What a run of the command gave.
pub(crate) struct Answer {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Bench {
    pub(crate) fn new() -> Bench {
        Bench { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Writes bytes as they are.
    pub(crate) fn put(&self, name: &str, bytes: &[u8]) -> &Bench {
        std::fs::write(self.path(name), bytes).unwrap();
        self
    }

    /// The names in the folder, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// `bitmma run`, in the folder, with arguments between blanks.
    pub(crate) fn run(&self, arguments: &str) -> Answer {
        let output = Command::new(assert_cmd::cargo::cargo_bin!("bitmma"))
            .arg("run")
            .args(arguments.split_whitespace())
            .current_dir(self.folder.path())
            .output()
            .unwrap();
        Answer {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// As [`Bench::run`]; it must succeed.
    pub(crate) fn runs(&self, arguments: &str) -> String {
        let answer = self.run(arguments);
        assert_eq!(answer.code, Some(0), "{arguments}: {}", answer.stderr);
        answer.stdout
    }

    /// As [`Bench::run`]; it must fail with exit code 2 and one message that holds all of `wanted`, and
    /// leave the folder as it was.
    pub(crate) fn fails(&self, arguments: &str, wanted: &[&str]) {
        let before = self.names();
        let answer = self.run(arguments);
        assert_eq!(answer.code, Some(2), "{arguments}: {}{}", answer.stdout, answer.stderr);
        // an error of a command with --json is an object on the standard output, too
        assert!(answer.stdout.is_empty() || arguments.contains("--json"), "{arguments}: {}", answer.stdout);
        for text in wanted {
            assert!(answer.stderr.contains(text), "{arguments}: '{text}' is not in: {}", answer.stderr);
        }
        assert!(!answer.stderr.contains("panicked"), "{}", answer.stderr);
        assert_eq!(before, self.names(), "{arguments}");
    }

    /// The codes and shape of a .npy file that we wrote; the header must be exactly this.
    pub(crate) fn npy(&self, name: &str, type_name: &str, shape: &[usize]) -> Vec<u64> {
        let bytes = std::fs::read(self.path(name)).unwrap();
        assert_eq!(&bytes[..8], b"\x93NUMPY\x01\x00");
        let length = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
        assert_eq!((10 + length) % 64, 0);
        let header = std::str::from_utf8(&bytes[10..10 + length]).unwrap();
        let sizes: String = shape.iter().map(|size| format!("{size}, ")).collect();
        let wanted = format!("{{'descr': '{type_name}', 'fortran_order': False, 'shape': ({sizes}), }}");
        assert_eq!(header.trim_end(), wanted);
        let width = usize::from(type_name.as_bytes()[2] - b'0');
        let codes = words(&bytes[10 + length..], width);
        assert_eq!(codes.len(), shape.iter().product::<usize>());
        codes
    }
}

/// Little-endian words.
pub(crate) fn words(bytes: &[u8], width: usize) -> Vec<u64> {
    assert_eq!(bytes.len() % width, 0);
    bytes
        .chunks(width)
        .map(|word| word.iter().rev().fold(0, |code, byte| code << 8 | u64::from(*byte)))
        .collect()
}

/// The bytes of words, `big` or little endian.
pub(crate) fn bytes(codes: &[u64], width: usize, big: bool) -> Vec<u8> {
    codes
        .iter()
        .flat_map(|code| {
            if big { code.to_be_bytes()[8 - width..].to_vec() } else { code.to_le_bytes()[..width].to_vec() }
        })
        .collect()
}

/// A .npy file, version 1.0, with this dictionary.
pub(crate) fn npy_with(dictionary: &str, data: &[u8]) -> Vec<u8> {
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    let mut header = dictionary.as_bytes().to_vec();
    while !(10 + header.len() + 1).is_multiple_of(64) {
        header.push(b' ');
    }
    header.push(b'\n');
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header);
    file.extend(data);
    file
}

/// A .npy file as `numpy.save` writes it.
pub(crate) fn npy(type_name: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    npy_with(&format!("{{'descr': '{type_name}', 'fortran_order': {order}, 'shape': {shape}, }}"), data)
}

/// A .npy file of little-endian words in C order.
pub(crate) fn matrix(type_name: &str, shape: (usize, usize), codes: &[u64]) -> Vec<u8> {
    let width = usize::from(type_name.as_bytes()[2] - b'0');
    npy(type_name, false, &format!("({}, {})", shape.0, shape.1), &bytes(codes, width, false))
}

/// A .safetensors file with this header.
pub(crate) fn safetensors_with(header: &str, data: &[u8]) -> Vec<u8> {
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.as_bytes());
    file.extend(data);
    file
}

/// A .safetensors file of tensors: name, type, shape, data.
pub(crate) fn safetensors(tensors: &[(&str, &str, &[usize], Vec<u8>)]) -> Vec<u8> {
    let (mut entries, mut data) = (Vec::new(), Vec::new());
    for (name, dtype, shape, bytes) in tensors {
        let (from, to) = (data.len(), data.len() + bytes.len());
        entries.push(format!(
            r#""{name}":{{"dtype":"{dtype}","shape":{shape:?},"data_offsets":[{from},{to}]}}"#
        ));
        data.extend(bytes);
    }
    safetensors_with(&format!("{{{}}}", entries.join(",")), &data)
}

/// Codes in hex, blanks between, as recordings have them.
pub(crate) fn hex(text: &str) -> Vec<u64> {
    text.split_whitespace().map(|code| u64::from_str_radix(code, 16).unwrap()).collect()
}

/// A rows × columns matrix of zeros with `vector` as its row `at` (`as_row`) or column `at`.
pub(crate) fn placed(rows: usize, columns: usize, vectors: &[(usize, Vec<u64>)], as_rows: bool) -> Vec<u64> {
    let mut codes = vec![0; rows * columns];
    for (at, vector) in vectors {
        for (index, code) in vector.iter().enumerate() {
            codes[if as_rows { at * columns + index } else { index * columns + at }] = *code;
        }
    }
    codes
}
