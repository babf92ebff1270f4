//! The colors of the output. They are dropped if the output is not a terminal.

use anstyle::{AnsiColor, Style};

fn styled(style: Style, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{style}{text}{style:#}") }
}

/// Headings and the result itself.
pub(crate) fn strong(text: &str) -> String {
    styled(Style::new().bold(), text)
}

/// What matters less: padding zeros, units, remarks.
pub(crate) fn dim(text: &str) -> String {
    styled(Style::new().dimmed(), text)
}

/// What was lost, and what differs.
pub(crate) fn lost(text: &str) -> String {
    styled(AnsiColor::Red.on_default(), text)
}

/// What agrees.
pub(crate) fn good(text: &str) -> String {
    styled(AnsiColor::Green.on_default(), text)
}

/// The word `error:`.
pub(crate) fn error(text: &str) -> String {
    styled(AnsiColor::Red.on_default().bold(), text)
}
