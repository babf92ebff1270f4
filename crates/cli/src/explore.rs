//! `bitmma explore`: the explorer, a page in the browser that this machine serves to itself.

use std::process::{Command, Stdio};

use bitmma_engine::{Case, Revision};
use bitmma_web::serve::Server;

use crate::failure::{Failure, Outcome};
use crate::output;

const HELP: &str = "\
The page has three views: one dot product through up to four units, bit by bit; the error along K; number formats. Everything it \
shows is in the part of its address after #, so a copied link shows the same again. STATE is such a part, or a whole link.

The server listens on the loopback address alone, on a port that the system chooses, and refuses every address without its \
token, which nobody can guess. It ends with Ctrl-C.

Examples:
  bitmma explore
  bitmma explore 'u=h100 wgmma f16 f32&u=mi300x f16&a=1 0x1p-24&b=1 1'";

/// Opens the explorer in the browser: type numbers, pick chips, see which bits are kept
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = HELP)]
pub(crate) struct Arguments {
    /// What the page shows first: a copied link, or what is after its # [default: the paper's Equation 1]
    #[arg(value_name = "STATE")]
    state: Option<String>,
    /// Port of the loopback address [default: one that is free]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// Print the address, and start no browser
    #[arg(long)]
    no_browser: bool,
}

/// Serves until it is interrupted.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let server = Server::start(arguments.port)?;
    let address = server.address_of(arguments.state.as_deref().unwrap_or_default());
    output::print(&format!("{address}\n"))?;
    output::note("the explorer runs until Ctrl-C");
    if !arguments.no_browser {
        open(&address);
    }
    server.wait();
    Ok(Outcome::Agrees)
}

/// How to look at what some units make of an input in the explorer; nothing where it would show anything else.
pub(crate) fn hint(units: &[&str], revision: Revision, case: &Case) -> String {
    let state = bitmma_web::link(units, revision, case);
    state.map_or(String::new(), |state| format!("\nin the browser: bitmma explore '{state}'\n"))
}

/// Asks the system for its browser; where there is none, the printed address is there to be opened.
fn open(address: &str) {
    let (program, before): (&str, &[&str]) = match std::env::consts::OS {
        "macos" => ("open", &[]),
        "windows" => ("rundll32", &["url.dll,FileProtocolHandler"]),
        _ => ("xdg-open", &[]),
    };
    let mut command = Command::new(program);
    command.args(before).arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    _ = command.spawn();
}
