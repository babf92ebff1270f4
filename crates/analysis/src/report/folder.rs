//! A folder that appears whole or not at all, and keeps what was finished when its making is cut short.
//!
//! Work happens in `NAME.partial` beside the folder. Finished sections stand there as JSON under a mark of
//! the options they were made with; the next run with the same options takes them as they are. At the end
//! the folder is filled and takes its name.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::page::{About, html};
use crate::section::Section;

/// The operating system's error, with the file it is about.
fn at(path: &Path) -> impl FnOnce(io::Error) -> Error + '_ {
    |source| Error::File { path: path.to_owned(), source }
}

fn refused(folder: &Path, problem: &str) -> Error {
    Error::Folder { folder: folder.to_owned(), problem: problem.to_owned() }
}

/// What makes a folder one of ours.
const NUMBERS: &str = "report.json";

/// All that a report's folder holds.
const OURS: [&str; 5] = [NUMBERS, "index.html", "sections", "tables", "figures"];

/// A finished section, as it is kept.
#[derive(Serialize, Deserialize)]
struct Finished {
    made_with: String,
    section: Section,
}

/// A folder in the making.
pub(super) struct Folder {
    target: PathBuf,
    partial: PathBuf,
}

impl Folder {
    /// Refuses a name under which there is something else.
    pub(super) fn new(target: &Path) -> Result<Folder, Error> {
        let Some(name) = target.file_name() else {
            return Err(refused(target, "this is not a name for a folder"));
        };
        if target.join(NUMBERS).is_file() {
            for entry in fs::read_dir(target).map_err(at(target))? {
                let name = entry.map_err(at(target))?.file_name();
                if !OURS.iter().any(|own| name == *own) {
                    let problem = format!(
                        "{} in it is no part of a report and would be lost: move it, or name another folder",
                        name.display()
                    );
                    return Err(refused(target, &problem));
                }
            }
        } else if target.exists() {
            let empty = target.is_dir() && fs::read_dir(target).map_err(at(target))?.next().is_none();
            if !empty {
                return Err(refused(
                    target,
                    "it exists and is not a report: name another folder, or an empty one",
                ));
            }
        }
        let mut partial = name.to_owned();
        partial.push(".partial");
        Ok(Folder { target: target.to_owned(), partial: target.with_file_name(partial) })
    }

    /// A section that was finished with the same options, in this run's folder or in the one before.
    pub(super) fn finished(&self, name: &str, made_with: &str) -> Option<Section> {
        [&self.partial, &self.target].into_iter().find_map(|folder| {
            let text = fs::read_to_string(folder.join("sections").join(format!("{name}.json"))).ok()?;
            let finished: Finished = serde_json::from_str(&text).ok()?;
            (finished.made_with == made_with).then_some(finished.section)
        })
    }

    /// Keeps a finished section.
    pub(super) fn keep(&self, section: &Section, made_with: &str) -> Result<(), Error> {
        let finished = Finished { made_with: made_with.to_owned(), section: section.clone() };
        let text =
            serde_json::to_string(&finished).map_err(|error| refused(&self.target, &error.to_string()))?;
        let folder = self.partial.join("sections");
        fs::create_dir_all(&folder).map_err(at(&folder))?;
        // renamed when it is whole
        let (path, draft) = (folder.join(format!("{}.json", section.name)), folder.join("draft"));
        fs::write(&draft, text).and_then(|()| fs::rename(&draft, &path)).map_err(at(&path))
    }

    /// Writes page, numbers and pictures, and gives the folder its name.
    pub(super) fn finish(
        self,
        about: &About,
        numbers: &serde_json::Value,
        sections: &[Section],
    ) -> Result<(), Error> {
        for part in ["tables", "figures"] {
            let folder = self.partial.join(part);
            match fs::remove_dir_all(&folder) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(at(&folder)(error));
                }
                _ => fs::create_dir_all(&folder).map_err(at(&folder))?,
            }
        }
        let write = |name: &str, content: &[u8]| {
            let path = self.partial.join(name);
            fs::write(&path, content).map_err(at(&path))
        };
        write("index.html", html(about, sections).as_bytes())?;
        write(NUMBERS, format!("{numbers:#}\n").as_bytes())?;
        for section in sections {
            for table in &section.tables {
                write(&format!("tables/{}.csv", table.name), table.csv().as_bytes())?;
            }
            for figure in &section.figures {
                let name = format!("figures/{}", figure.name);
                write(&format!("{name}.svg"), figure.svg().as_bytes())?;
                write(&format!("{name}.pdf"), &figure.pdf())?;
                write(&format!("{name}.png"), &figure.png())?;
                write(&format!("{name}.csv"), figure.csv().as_bytes())?;
            }
        }
        if !self.target.exists() {
            return fs::rename(&self.partial, &self.target).map_err(at(&self.target));
        }
        // the old one steps aside and comes back if the new one cannot take its place
        let aside = self.partial.with_extension("old");
        fs::rename(&self.target, &aside).map_err(at(&self.target))?;
        if let Err(error) = fs::rename(&self.partial, &self.target) {
            let _ = fs::rename(&aside, &self.target);
            return Err(at(&self.target)(error));
        }
        fs::remove_dir_all(&aside).map_err(at(&aside))
    }
}
