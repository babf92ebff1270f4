//! A result described once: texts and tables, in the order in which they are read. A terminal, a page, a notebook and Python
//! show the same.
//!
//! Texts are styled by the codes of a terminal (`style`), which pages turn into classes. Everything that is printed by the
//! command and everything that is HTML is made here: one style for light and dark screens, phones and paper.
#![forbid(unsafe_code)]

pub mod fold;
pub mod html;
pub mod style;
mod table;

use std::fmt::Display;

use anstream::adapter::strip_str;
use serde::{Deserialize, Serialize};

pub use table::Table;

/// A part of a result.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Block {
    /// Lines, styled; long ones are folded.
    Text(String),
    /// A table, with a column for each heading.
    Table(Table),
    /// Lines whose blanks count: never folded.
    Picture(String),
}

/// A result, as people read it. The first text is the answer.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Document {
    blocks: Vec<Block>,
}

impl Document {
    /// A document that begins with a text.
    pub fn new(text: impl Into<String>) -> Document {
        Document::default().text(text)
    }

    /// Lines more, one below the other; an empty text adds nothing.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Document {
        let text = text.into();
        let text = text.trim_matches('\n');
        if !text.is_empty() {
            self.blocks.push(Block::Text(text.to_owned()));
        }
        self
    }

    /// A table more; one without rows adds nothing.
    #[must_use]
    pub fn table(mut self, table: Table) -> Document {
        if !table.is_empty() {
            self.blocks.push(Block::Table(table));
        }
        self
    }

    /// A picture made of letters more; an empty one adds nothing.
    #[must_use]
    pub fn picture(mut self, text: &str) -> Document {
        if !text.is_empty() {
            self.blocks.push(Block::Picture(text.trim_end_matches('\n').to_owned()));
        }
        self
    }

    /// Lines for a terminal of `width` columns, or as wide as they are; a blank line between the parts.
    pub fn terminal(&self, width: Option<usize>) -> String {
        let lines = |block: &Block| match block {
            Block::Text(text) => width.map_or_else(|| text.clone(), |width| fold::folded(text, width)) + "\n",
            Block::Table(table) => table.render(width),
            Block::Picture(text) => format!("{text}\n"),
        };
        self.blocks.iter().map(lines).collect::<Vec<_>>().join("\n")
    }

    /// The lines without their styles.
    pub fn plain(&self, width: Option<usize>) -> String {
        strip_str(&self.terminal(width)).to_string()
    }

    /// The body of a page.
    pub fn html(&self) -> String {
        let part = |block: &Block| match block {
            Block::Text(text) => format!("<p class=\"lines\">{}</p>\n", html::styled(text, html::escaped)),
            Block::Table(table) => table.html(),
            Block::Picture(text) => html::terminal(text),
        };
        self.blocks.iter().map(part).collect()
    }
}

/// `1 block`, `2 blocks`, `2 mismatches`.
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(count: N, what: &str) -> String {
    let plural = if what.ends_with("ch") { "es" } else { "s" };
    format!("{count} {what}{}", if count == N::from(1) { "" } else { plural })
}

#[cfg(test)]
mod tests {
    use super::{Document, Table, style};

    fn document() -> Document {
        let mut table = Table::new(&["name", ">share"]).note("2 more");
        table.row(["<a>".to_owned(), style::good("1 of 2")]);
        Document::new(format!("{}: one.\n  of two\n", style::strong("found"))).text("").table(table)
    }

    #[test]
    fn a_terminal_has_blank_lines_between_parts() {
        let rule = "─".repeat(15);
        let wanted = format!("found: one.\n  of two\n\nname    share\n{rule}\n<a>    1 of 2\n2 more\n");
        assert_eq!(document().plain(None), wanted);
        assert_eq!(document().plain(Some(10)).lines().next(), Some("found:"));
    }

    #[test]
    fn a_page_has_the_same_in_html() {
        let html = document().html();
        assert!(
            html.starts_with("<p class=\"lines\"><span class=\"strong\">found</span>: one.\n  of two</p>"),
            "{html}"
        );
        assert!(
            html.contains(
                "<th scope=\"row\">&lt;a&gt;</th><td class=\"n\"><span class=\"good\">1 of 2</span></td>"
            ),
            "{html}"
        );
        assert!(html.ends_with("<p class=\"dim\">2 more</p>\n"), "{html}");
    }
}
