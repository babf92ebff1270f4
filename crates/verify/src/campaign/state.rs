//! A campaign's state as a file: a line that says what it is, then a line for each block.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use bitmma::arithmetic::Model;
use bitmma::content;
use serde::{Deserialize, Serialize};

use super::block::Block;
use super::plan::{Plan, Shard};

/// What these files are, for messages.
const STATE: &str = "the state of a campaign (--state writes it)";

/// What two files must have in common to be of one campaign.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The version of these files.
    pub campaign: u32,
    /// The unit.
    pub unit: String,
    /// Shape and formats.
    pub takes: String,
    /// The model, as a file.
    pub model: String,
    /// Random instructions.
    pub instructions: u64,
    /// Directed cases.
    pub directed: u64,
    /// Blocks.
    pub blocks: u64,
    /// The seed.
    pub seed: u64,
    /// Whether NaNs of different codes differ.
    pub strict_nan: bool,
}

impl Identity {
    /// Of a campaign.
    pub fn of(plan: &Plan, model: &Model, strict_nan: bool) -> Identity {
        let signature = &plan.signature;
        let scale =
            signature.scale.map_or(String::new(), |scale| format!(" {}/{}", scale.format, scale.size));
        Identity {
            campaign: 1,
            unit: signature.name.clone(),
            takes: format!(
                "{}×{}×{} ×{} {} {} {} {}{scale}",
                signature.m,
                signature.n,
                signature.k,
                signature.blocks,
                signature.a,
                signature.b,
                signature.c,
                signature.d
            ),
            model: model.to_toml(),
            instructions: plan.random,
            directed: plan.directed.len() as u64,
            blocks: plan.blocks(),
            seed: plan.seed,
            strict_nan,
        }
    }

    /// The first difference, in words.
    fn differs(&self, other: &Identity) -> Option<String> {
        let fields = |identity: &Identity| {
            let Identity { campaign, unit, takes, model, instructions, directed, blocks, seed, strict_nan } =
                identity.clone();
            [
                ("version", campaign.to_string()),
                ("unit", unit),
                ("shape and formats", takes),
                ("model", model.replace('\n', "; ")),
                ("random instructions", instructions.to_string()),
                ("directed cases", directed.to_string()),
                ("blocks", blocks.to_string()),
                ("seed", seed.to_string()),
                ("strict_nan", strict_nan.to_string()),
            ]
        };
        let pairs = fields(self).into_iter().zip(fields(other));
        let ((name, own), (_, other)) = pairs.into_iter().find(|((_, own), (_, other))| own != other)?;
        Some(format!("its {name} is {other}, here it is {own}"))
    }
}

/// What the file of a campaign is called: letters, digits, dots and dashes of the unit's name, and the shard.
pub fn file_name(unit: &str, shard: Shard) -> String {
    let plain = |char: char| if char.is_ascii_alphanumeric() || char == '.' { char } else { '-' };
    let name: String = unit.chars().map(plain).take(150).collect();
    match shard {
        Shard::WHOLE => format!("{name}.jsonl"),
        Shard { number, count } => format!("{name}.{number}-of-{count}.jsonl"),
    }
}

/// A file that grows by a line for each block. A line that was cut off by a crash is dropped when the file
/// is opened again.
#[derive(Debug)]
pub struct State {
    path: PathBuf,
    file: File,
    done: BTreeMap<u64, Block>,
}

impl State {
    /// Opens or begins the file of a campaign; one that exists is taken up only with `resume`.
    pub fn open(path: &Path, identity: &Identity, resume: bool) -> io::Result<State> {
        let problem = |text: String| io::Error::other(format!("{}: {text}", path.display()));
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(|error| problem(error.to_string()))?;
        file.try_lock().map_err(|_| problem("another campaign writes to it".to_owned()))?;
        let (known, done, good) = read(&file).map_err(&problem)?;
        match known {
            Some(_) if !resume => {
                return Err(problem("it already exists; use --resume to continue".to_owned()));
            }
            Some(known) => {
                if let Some(difference) = identity.differs(&known) {
                    return Err(problem(format!("it belongs to another campaign: {difference}")));
                }
                file.set_len(good)?;
                file.seek(SeekFrom::Start(good))?;
            }
            None => {
                file.set_len(0)?;
                file.seek(SeekFrom::Start(0))?;
                let line = serde_json::to_string(identity)? + "\n";
                file.write_all(line.as_bytes())?;
            }
        }
        Ok(State { path: path.to_owned(), file, done })
    }

    /// The blocks that are done.
    pub fn done(&self) -> &BTreeMap<u64, Block> {
        &self.done
    }

    /// Appends a block; when this returns it will not be lost.
    pub fn append(&mut self, block: Block) -> io::Result<()> {
        let line = serde_json::to_string(&block)? + "\n";
        self.file
            .write_all(line.as_bytes())
            .and_then(|()| self.file.sync_data())
            .map_err(|error| io::Error::other(format!("{}: {error}", self.path.display())))?;
        self.done.insert(block.block, block);
        Ok(())
    }
}

/// Identity, blocks and how many bytes of the file are whole lines.
type Contents = (Option<Identity>, BTreeMap<u64, Block>, u64);

fn read(file: &File) -> Result<Contents, String> {
    let (mut identity, mut done, mut good) = (None, BTreeMap::new(), 0);
    let mut lines = BufReader::new(file);
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let count = lines.read_until(b'\n', &mut line).map_err(|error| error.to_string())?;
        if count == 0 || line.last() != Some(&b'\n') {
            break; // the end, or a line that a crash cut off
        }
        let wrong = |error: serde_json::Error| format!("line {number}: {error}");
        if identity.is_none() {
            let known = serde_json::from_slice::<Identity>(&line);
            identity = Some(known.map_err(|_| content::unexpected(&line, STATE))?);
        } else {
            let block: Block = serde_json::from_slice(&line).map_err(wrong)?;
            let same = done.get(&block.block).is_none_or(|known| *known == block);
            if !same {
                return Err(format!(
                    "line {number}: block {} appears twice with different results",
                    block.block
                ));
            }
            done.insert(block.block, block);
        }
        good += count as u64;
    }
    Ok((identity, done, good))
}

/// The blocks of several files of one campaign. The same block in two files must be the same.
pub fn merge(paths: &[PathBuf]) -> io::Result<(Identity, BTreeMap<u64, Block>)> {
    let mut merged: Option<(Identity, BTreeMap<u64, Block>)> = None;
    for path in paths {
        let problem = |text: String| io::Error::other(format!("{}: {text}", path.display()));
        let file = File::open(path).map_err(|error| problem(error.to_string()))?;
        let (identity, blocks, _) = read(&file).map_err(&problem)?;
        let identity = identity
            .ok_or_else(|| problem(content::unexpected(&std::fs::read(path).unwrap_or_default(), STATE)))?;
        match &mut merged {
            None => merged = Some((identity, blocks)),
            Some((known, all)) => {
                if let Some(difference) = known.differs(&identity) {
                    return Err(problem(format!(
                        "it belongs to another campaign than {}: {difference}",
                        paths[0].display()
                    )));
                }
                for (number, block) in blocks {
                    if let Some(other) = all.insert(number, block.clone())
                        && other != block
                    {
                        return Err(problem(format!(
                            "block {number} has digest {}, another file has {}",
                            block.digest, other.digest
                        )));
                    }
                }
            }
        }
    }
    merged.ok_or_else(|| io::Error::other("no file is given"))
}
