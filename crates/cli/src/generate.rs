//! `bitmma generate`: what is printed from the tables: completions, man pages, documents.

use std::io;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use clap::builder::PossibleValuesParser;
use clap_complete::Shell;

use crate::documents;
use crate::failure::{Failure, Outcome, Within};
use crate::{output, whole};

const EXAMPLE: &str = "\
Examples:
  bitmma generate completions bash \\
         > ~/.local/share/bash-completion/completions/bitmma
  bitmma generate man ~/.local/share/man/man1
  bitmma generate docs docs";

/// Writes shell completions, man pages and documents from the tables
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = EXAMPLE)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Clone, Debug, Subcommand)]
enum What {
    /// Print completions for a shell
    Completions {
        /// Shell
        shell: Shell,
    },
    /// Write a man page for each command into a folder
    Man {
        /// Folder, created if it does not exist
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
    /// Write the reference pages into a folder: instructions, formats, models, commands, json, proven
    Docs {
        /// Folder, created if it does not exist
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        /// Recordings of a checkout, for proven.md
        #[arg(long, value_name = "DIR", default_value = "recordings")]
        recordings: PathBuf,
    },
}

/// Runs it; `command` is the whole command line.
pub(crate) fn run(arguments: &Arguments, command: clap::Command) -> Result<Outcome, Failure> {
    match &arguments.what {
        What::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(*shell, &mut completed(command), "bitmma", &mut text);
            output::raw(&String::from_utf8_lossy(&text))?;
        }
        What::Man { folder } => write_all(folder, &man_pages(command)?)?,
        What::Docs { folder, recordings } => write_all(folder, &documents::all(command, recordings)?)?,
    }
    Ok(Outcome::Agrees)
}

/// The command line with what only completions know: every instruction's name, and which values are files.
fn completed(mut whole: clap::Command) -> clap::Command {
    let mut names: Vec<String> = bitmma_engine::catalogue::catalogue()
        .iter()
        .map(|row| row.name_for(row.m.last, row.n.last))
        .collect();
    names.sort_unstable();
    names.dedup();
    // clap keeps references to values; the process ends after this
    let names: Vec<&'static str> = names.into_iter().map(|name| &*name.leak()).collect();
    let subcommands: Vec<String> = whole.get_subcommands().map(|one| one.get_name().to_owned()).collect();
    for name in subcommands {
        whole = whole.mut_subcommand(name, |one| {
            one.mut_args(|argument| {
                let is_file = argument
                    .get_value_names()
                    .is_some_and(|names| names.iter().any(|name| name.contains("FILE")));
                match argument.get_id().as_str() {
                    "instruction" => argument.value_parser(PossibleValuesParser::new(names.clone())),
                    _ if is_file => argument.value_hint(clap::ValueHint::FilePath),
                    _ => argument,
                }
            })
        });
    }
    whole
}

/// Name and text of every man page.
fn man_pages(mut command: clap::Command) -> io::Result<Vec<(String, String)>> {
    command.build();
    let mut pages = Vec::new();
    let commands: Vec<clap::Command> =
        std::iter::once(command.clone()).chain(command.get_subcommands().cloned()).collect();
    for command in commands {
        let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
        let page = clap_mangen::Man::new(command);
        let mut text = Vec::new();
        page.render(&mut text)?;
        pages.push((format!("{name}.1"), String::from_utf8_lossy(&text).into_owned()));
    }
    Ok(pages)
}

fn write_all(folder: &Path, files: &[(String, String)]) -> Result<(), Failure> {
    whole::make_folder(folder).within(folder.display())?;
    for (name, text) in files {
        let path = folder.join(name);
        whole::write(&path, |file| file.write_all(text.as_bytes())).within(path.display())?;
    }
    Ok(())
}
