//! Packs the font of pictures: as it is, it would be 360 kB of everything that draws some.

use std::path::Path;
use std::{env, fs, io};

use miniz_oxide::deflate::compress_to_vec;

#[allow(clippy::print_stdout)] // what Cargo is told
fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let folder = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("Cargo names no OUT_DIR"))?;
    fs::write(Path::new(&folder).join("font.deflate"), compress_to_vec(epaint_default_fonts::UBUNTU_LIGHT, 9))
}
