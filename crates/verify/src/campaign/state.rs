//! A campaign's state as a file: a line that says what it is, then a line for each block.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use bitmma_files::{content, reading};

use super::block::Block;
use super::bounds::Bounds;
use super::identity::Identity;
use super::line::{self, Line};
use super::plan::Shard;

/// What these files are, for messages.
const STATE: &str = "the state of a campaign (--state writes it)";

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
        if path.exists() {
            reading::lines(path, STATE).map_err(|error| problem(error.to_string()))?;
        }
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(|error| problem(error.to_string()))?;
        file.try_lock().map_err(|_| problem("another campaign writes to it".to_owned()))?;
        let Contents { identity: known, blocks, whole, ended } = read(&file).map_err(&problem)?;
        match known {
            Some(_) if !resume => {
                return Err(problem("it already exists; use --resume to continue".to_owned()));
            }
            Some(known) => {
                if let Some(difference) = identity.differs(&known) {
                    return Err(problem(format!("it belongs to another campaign: {difference}")));
                }
                file.set_len(whole)?;
                file.seek(SeekFrom::Start(whole))?;
                if !ended {
                    file.write_all(b"\n")?;
                }
            }
            None => {
                let head = line::written(identity)?;
                let mut begun = Vec::new();
                file.seek(SeekFrom::Start(0))?;
                file.read_to_end(&mut begun)?;
                if !head.as_bytes().starts_with(&begun) {
                    return Err(problem(content::unexpected(&begun, STATE)));
                }
                file.set_len(0)?;
                file.seek(SeekFrom::Start(0))?;
                file.write_all(head.as_bytes())?;
            }
        }
        Ok(State { path: path.to_owned(), file, done: blocks })
    }

    /// The blocks that are done.
    pub fn done(&self) -> &BTreeMap<u64, Block> {
        &self.done
    }

    /// Appends a block; when this returns it will not be lost.
    pub fn append(&mut self, block: Block) -> io::Result<()> {
        let line = line::written(&block)?;
        self.file
            .write_all(line.as_bytes())
            .and_then(|()| self.file.sync_data())
            .map_err(|error| io::Error::other(format!("{}: {error}", self.path.display())))?;
        self.done.insert(block.block, block);
        Ok(())
    }
}

/// What a file holds.
#[derive(Debug, Default)]
struct Contents {
    identity: Option<Identity>,
    blocks: BTreeMap<u64, Block>,
    /// How many bytes are whole lines.
    whole: u64,
    /// Whether the last of these lines has its end of line.
    ended: bool,
}

/// Reads a file; refuses every line that is not as it was written, or that no block of the campaign can be.
fn read(file: &File) -> Result<Contents, String> {
    let mut contents = Contents { ended: true, ..Contents::default() };
    let mut bounds: Option<Bounds> = None;
    let mut lines = BufReader::new(file);
    let mut line = Vec::new();
    for number in 1u64.. {
        line.clear();
        let count = lines.read_until(b'\n', &mut line).map_err(|error| error.to_string())?;
        if count == 0 {
            break;
        }
        let wrong = |problem: String| format!("line {number}: {problem}");
        let damaged = |problem: String| {
            let remedy = match number {
                1 => "run the campaign again, with --state naming another folder",
                _ => {
                    "delete the line and run the campaign with --resume, which asks the missing blocks again"
                }
            };
            wrong(format!("{problem}: the file was changed after it was written; {remedy}"))
        };
        let json = match line::read(&line) {
            Line::Whole(json) => json,
            Line::CutOff => break,
            Line::Unsealed if number == 1 && serde_json::from_slice::<Identity>(&line).is_ok() => {
                return Err(wrong(
                    "it has no checksum, so an earlier version of bitmma wrote this file; run the campaign again, with \
                     --state naming another folder"
                        .to_owned(),
                ));
            }
            Line::Unsealed if number == 1 => return Err(content::unexpected(&line, STATE)),
            Line::Unsealed => return Err(damaged("it has no checksum".to_owned())),
            Line::Damaged { is, says } => {
                return Err(damaged(format!("its checksum is {is}, it says {says}")));
            }
        };
        match &bounds {
            Some(bounds) => {
                let block: Block = serde_json::from_str(&json).map_err(|error| wrong(error.to_string()))?;
                bounds.check(&block).map_err(wrong)?;
                if contents.blocks.get(&block.block).is_some_and(|known| *known != block) {
                    return Err(wrong(format!("block {} appears twice with different results", block.block)));
                }
                contents.blocks.insert(block.block, block);
            }
            None => {
                let identity: Identity =
                    serde_json::from_str(&json).map_err(|_| content::unexpected(&line, STATE))?;
                bounds = Some(identity.bounds().map_err(wrong)?);
                contents.identity = Some(identity);
            }
        }
        contents.whole += count as u64;
        contents.ended = line.last() == Some(&b'\n');
    }
    Ok(contents)
}

/// The blocks of several files of one campaign. The same block in two files must be the same.
pub fn merge(paths: &[PathBuf]) -> io::Result<(Identity, BTreeMap<u64, Block>)> {
    let mut merged: Option<(Identity, BTreeMap<u64, Block>)> = None;
    for path in paths {
        let problem = |text: String| io::Error::other(format!("{}: {text}", path.display()));
        reading::lines(path, STATE).map_err(|error| problem(error.to_string()))?;
        let file = reading::open(path, STATE).map_err(|error| problem(error.to_string()))?;
        let Contents { identity, blocks, .. } = read(&file).map_err(&problem)?;
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
