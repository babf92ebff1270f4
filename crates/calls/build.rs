//! Packs the built-in tables of decisions: as they are, they would be 150 kB of the command.

use std::path::Path;
use std::{env, fs, io};

use miniz_oxide::deflate::compress_to_vec;

const FOLDER: &str = "src/platform";

#[allow(clippy::print_stdout)] // what Cargo is told
fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed={FOLDER}");
    let to = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("Cargo names no OUT_DIR"))?;
    for file in fs::read_dir(FOLDER)? {
        let path = file?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        fs::write(Path::new(&to).join(format!("{name}.deflate")), compress_to_vec(&fs::read(&path)?, 9))?;
    }
    Ok(())
}
