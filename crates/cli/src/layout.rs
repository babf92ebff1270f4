//! How wide the output may be, and whether it has colors.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Fewer columns than that are taken for that many.
const NARROWEST: usize = 40;
/// The variable that sets the width whether or not the output is a terminal.
const VARIABLE: &str = "BITMMA_COLUMNS";

/// Columns of the output; 0: as many as it takes.
static WIDTH: AtomicUsize = AtomicUsize::new(0);

/// `--wide` and `--color`, of every command.
#[derive(Clone, Copy, Debug, clap::Args)]
#[group(skip)]
pub(crate) struct Arguments {
    /// Print tables in full even where the terminal is narrower
    ///
    /// Output that is redirected is always printed in full.
    #[arg(long, global = true, hide_short_help = true, display_order = 990)]
    wide: bool,
    /// When to use color: auto, always or never
    ///
    /// auto: if the output is a terminal and NO_COLOR is not set.
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true,
        hide_short_help = true,
        display_order = 991
    )]
    color: Color,
}

/// When there are colors.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum Color {
    /// If the output is a terminal and NO_COLOR is not set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// An option that `-h` leaves out.
pub(crate) fn longer(argument: clap::Arg) -> clap::Arg {
    argument.hide_short_help(true)
}

impl Arguments {
    /// Makes them hold for everything that is printed from now on.
    pub(crate) fn apply(self) {
        let choice = match self.color {
            Color::Auto => anstream::ColorChoice::Auto,
            Color::Always => anstream::ColorChoice::Always,
            Color::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
        let width = if self.wide { None } else { asked().or_else(of_terminal) };
        WIDTH.store(width.map_or(0, |width| width.max(NARROWEST)), Ordering::Relaxed);
    }
}

fn asked() -> Option<usize> {
    std::env::var(VARIABLE).ok()?.parse().ok()
}

fn of_terminal() -> Option<usize> {
    if !std::io::stdout().is_terminal() {
        return None;
    }
    terminal_size::terminal_size().map(|(width, _)| usize::from(width.0))
}

/// Columns of the output; `None`: as many as it takes.
pub(crate) fn width() -> Option<usize> {
    Some(WIDTH.load(Ordering::Relaxed)).filter(|width| *width > 0)
}
