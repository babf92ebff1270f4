//! Writes the explorer's page with its WebAssembly module inside, for `web/build`: `explorer MODULE.wasm PAGE.html`.
//!
//! It is an example of this crate, which has few dependencies: one of `bitmma-web` would first compile everything that the
//! module is made of for this machine, too.

use std::error::Error;

use miniz_oxide::deflate::compress_to_vec;

#[path = "../../web/src/page.rs"]
#[allow(dead_code, unreachable_pub)] // the server takes the rest of it
mod page;

/// Base64 as browsers read it.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let word =
            group.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for place in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= group.len() { letter.into() } else { '=' });
        }
    }
    text
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [module, to] = &arguments[..] else { return Err("explorer MODULE.wasm PAGE.html".into()) };
    let module = base64(&compress_to_vec(&std::fs::read(module)?, 10));
    std::fs::write(to, page::page(page::Transport::Module(&module)))?;
    Ok(())
}
