//! Small changes to a text that was valid.

use arbtest::arbitrary::{Result, Unstructured};

/// Bytes that mean something to a reader of TOML, CSV or numbers.
const TELLING: &[u8] = b"\n\r,=[]{}\"'#.-+ \t0189afxzEepP_";

/// `bytes` with up to `most` of its parts cut, doubled, replaced or joined by telling ones.
pub(crate) fn mutate(u: &mut Unstructured<'_>, bytes: &mut Vec<u8>, most: usize) -> Result<()> {
    for _ in 0..u.int_in_range(0..=most)? {
        let at = u.int_in_range(0..=bytes.len())?;
        let to = (at + u.int_in_range(0..=12)?).min(bytes.len());
        match u.int_in_range(0..=5)? {
            0 => drop(bytes.drain(at..to)),
            1 => bytes.truncate(at),
            2 => bytes.insert(at, u.arbitrary()?),
            3 => bytes.insert(at, *u.choose(TELLING)?),
            4 => {
                let part = bytes[at..to].to_vec();
                let elsewhere = u.int_in_range(0..=bytes.len())?;
                bytes.splice(elsewhere..elsewhere, part);
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = *u.choose(TELLING)?;
                }
            }
        }
    }
    Ok(())
}
