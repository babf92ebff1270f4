//! The line of JSON with which a unit says what it is.

use bitmma_engine::formats::{BlockScale, Format, table};
use bitmma_engine::{About, Signature};
use serde::{Deserialize, Serialize};

/// The protocol's version.
pub(super) const VERSION: u32 = 1;
/// The longest line, in bytes.
pub(super) const MAX_LINE: usize = 1 << 16;
/// The largest M, N, K or number of blocks.
const MAX_SIZE: usize = 1 << 16;

/// The line. Keys that are not here are left alone: later versions may have more.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Hello {
    /// The protocol's version.
    bitmma: u32,
    name: String,
    m: usize,
    n: usize,
    k: usize,
    #[serde(default = "one")]
    blocks: usize,
    a: String,
    b: String,
    c: String,
    d: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scale: Option<Scale>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    device: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    driver: Option<String>,
    /// Instructions in one batch at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_batch: Option<u32>,
}

/// All that is read of a line before its version is known.
#[derive(Deserialize)]
struct Announced {
    bitmma: serde_json::Value,
}

#[derive(Debug, Serialize, Deserialize)]
struct Scale {
    format: String,
    size: usize,
}

fn one() -> usize {
    1
}

/// What a unit said.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) signature: Signature,
    pub(super) about: About,
    pub(super) max_batch: usize,
}

impl Hello {
    /// The line of a unit of ours.
    pub(super) fn of(signature: &Signature, about: About) -> Hello {
        let name = |format: Format| format.name.to_owned();
        Hello {
            bitmma: VERSION,
            name: signature.name.clone(),
            m: signature.m,
            n: signature.n,
            k: signature.k,
            blocks: signature.blocks,
            a: name(signature.a),
            b: name(signature.b),
            c: name(signature.c),
            d: name(signature.d),
            scale: signature.scale.map(|scale| Scale { format: name(scale.format), size: scale.size }),
            device: about.device,
            driver: about.driver,
            max_batch: None,
        }
    }

    /// Reads the line; the error says what is wrong with it.
    pub(super) fn read(line: &[u8]) -> Result<Said, String> {
        let shown = || String::from_utf8_lossy(&line[..line.len().min(200)]).into_owned();
        // the version first: the rest of the line may differ in another one
        if let Ok(Announced { bitmma }) = serde_json::from_slice(line)
            && bitmma != VERSION
        {
            let version = bitmma.to_string();
            let version: String = version.chars().take(40).collect();
            return Err(format!("it speaks protocol version {version}; this build speaks version {VERSION}"));
        }
        let hello: Hello = serde_json::from_slice(line)
            .map_err(|error| format!("its first line does not describe a unit ({error}): {}", shown()))?;
        hello.check()
    }

    fn check(self) -> Result<Said, String> {
        if self.name.is_empty() || self.name.chars().any(char::is_control) {
            return Err(format!("its name is {:?}; a line of text is expected", self.name));
        }
        for (key, size) in [("m", self.m), ("n", self.n), ("k", self.k), ("blocks", self.blocks)] {
            if size == 0 || size > MAX_SIZE {
                return Err(format!("{key} is {size}; it may be 1 to {MAX_SIZE}"));
            }
        }
        let signed = |key, name: &str| match format(key, name)? {
            format if format.is_operand() => Ok(format),
            _ => Err(format!("{key} is {name}; it has no sign and is for scale factors")),
        };
        let scale = match &self.scale {
            None => None,
            Some(Scale { format: name, size }) => {
                let format = format("scale.format", name)?;
                if format.is_operand() {
                    return Err(format!("scale.format is {name}; scale factors are ue8m0 or ue4m3"));
                }
                if *size == 0 || !self.k.is_multiple_of(*size) {
                    return Err(format!("scale.size is {size}; it must divide k = {}", self.k));
                }
                Some(BlockScale { format, size: *size })
            }
        };
        if self.max_batch == Some(0) {
            return Err("max_batch is 0; a batch has one instruction at least".to_owned());
        }
        Ok(Said {
            signature: Signature {
                a: signed("a", &self.a)?,
                b: signed("b", &self.b)?,
                c: signed("c", &self.c)?,
                d: signed("d", &self.d)?,
                scale,
                name: self.name,
                m: self.m,
                n: self.n,
                k: self.k,
                blocks: self.blocks,
            },
            about: About { device: self.device, driver: self.driver },
            max_batch: self.max_batch.map_or(usize::MAX, |count| count as usize),
        })
    }
}

fn format(key: &str, name: &str) -> Result<Format, String> {
    table::by_name(name).ok_or_else(|| format!("{key} is '{name}'; formats are {}", table::names()))
}
