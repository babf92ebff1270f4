//! The styles of a text, as the codes of a terminal: pages turn them into classes, and what is no terminal drops them.

use anstyle::{AnsiColor, Style};

fn styled(style: Style, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{style}{text}{style:#}") }
}

/// Headings and the result itself.
pub fn strong(text: &str) -> String {
    styled(Style::new().bold(), text)
}

/// What matters less: padding zeros, units, remarks.
pub fn dim(text: &str) -> String {
    styled(Style::new().dimmed(), text)
}

/// What was lost, and what differs.
pub fn lost(text: &str) -> String {
    styled(AnsiColor::Red.on_default(), text)
}

/// What agrees.
pub fn good(text: &str) -> String {
    styled(AnsiColor::Green.on_default(), text)
}

/// The word `error:`.
pub fn error(text: &str) -> String {
    styled(AnsiColor::Red.on_default().bold(), text)
}
