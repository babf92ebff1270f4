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
    /// Lines that are never folded: a picture made of letters.
    Picture(String),
    /// A table, with a column for each heading.
    Table(Table),
    /// What is shown on request: its title, the option of the command that shows it, and what is inside.
    Fold(String, String, Document),
}

/// A result, as people read it. The first text is the answer.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Document {
    /// Each part, and whether it is straight below the one before, without a blank line.
    blocks: Vec<(bool, Block)>,
    /// Whether the next part is.
    #[serde(skip)]
    close: bool,
}

impl Document {
    /// A document that begins with a text.
    pub fn new(text: impl Into<String>) -> Document {
        Document::default().text(text)
    }

    #[inline(never)] // it has many callers, and the command is small
    fn add(mut self, block: Option<Block>) -> Document {
        let close = std::mem::take(&mut self.close);
        self.blocks.extend(block.map(|block| (close, block)));
        self
    }

    /// What is added next is straight below, without a blank line.
    #[must_use]
    pub fn close(self) -> Document {
        Document { close: true, ..self }
    }

    /// Lines more, one below the other; an empty text adds nothing.
    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Document {
        self.lines(&text.into())
    }

    #[inline(never)]
    fn lines(self, text: &str) -> Document {
        let text = text.trim_matches('\n');
        self.add((!text.is_empty()).then(|| Block::Text(text.to_owned())))
    }

    /// Lines made of letters that stay below each other.
    #[must_use]
    pub fn picture(self, lines: &str) -> Document {
        let lines = lines.trim_end_matches('\n');
        self.add((!lines.is_empty()).then(|| Block::Picture(lines.to_owned())))
    }

    /// A table more; one without rows adds nothing.
    #[must_use]
    #[inline(never)]
    pub fn table(self, table: Table) -> Document {
        self.add((!table.is_empty()).then_some(Block::Table(table)))
    }

    /// What is shown on request: a page unfolds it, the command shows it with `option`.
    #[must_use]
    pub fn fold(self, title: &str, option: &str, inside: Document) -> Document {
        self.add(Some(Block::Fold(title.to_owned(), option.to_owned(), inside)))
    }

    /// All parts of another document.
    #[must_use]
    pub fn with(self, other: Document) -> Document {
        other
            .blocks
            .into_iter()
            .fold(self, |page, (close, block)| Document { close, ..page }.add(Some(block)))
    }

    /// The same with everything that is shown on request, each below its title.
    pub fn unfolded(self) -> Document {
        self.blocks.into_iter().fold(Document::default(), |page, (close, block)| match block {
            Block::Fold(title, _, inside) => page.text(style::strong(&title)).with(inside.unfolded()),
            block => Document { close, ..page }.add(Some(block)),
        })
    }

    /// Lines for a terminal of `width` columns, or as wide as they are; a blank line between the parts.
    pub fn terminal(&self, width: Option<usize>) -> String {
        let folded =
            |text: &str| width.map_or_else(|| text.to_owned(), |width| fold::folded(text, width)) + "\n";
        let mut lines = String::new();
        for (close, block) in &self.blocks {
            if !lines.is_empty() && !close {
                lines.push('\n');
            }
            lines += &match block {
                Block::Text(text) => folded(text),
                Block::Picture(text) => format!("{text}\n"),
                Block::Table(table) => table.render(width),
                Block::Fold(title, option, _) => folded(&style::dim(&format!("{option} shows {title}"))),
            };
        }
        lines
    }

    /// The lines without their styles.
    pub fn plain(&self, width: Option<usize>) -> String {
        strip_str(&self.terminal(width)).to_string()
    }

    /// The body of a page.
    pub fn html(&self) -> String {
        let part = |(_, block): &(bool, Block)| match block {
            Block::Text(text) => format!("<p class=\"lines\">{}</p>\n", html::styled(text, html::escaped)),
            Block::Picture(text) => html::terminal(text),
            Block::Table(table) => table.html(),
            Block::Fold(title, _, inside) => {
                format!("<details><summary>{}</summary>\n{}</details>\n", html::escaped(title), inside.html())
            }
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
        let close = Document::new("one").close().text("").text("two").close().picture("three");
        assert_eq!(close.plain(None), "one\n\ntwo\nthree\n");
    }

    #[test]
    fn what_is_folded_is_shown_on_request() {
        let document = Document::new("one").fold("all <rows>", "--rows", document());
        assert_eq!(document.plain(None), "one\n\n--rows shows all <rows>\n");
        assert!(
            document.html().contains("<details><summary>all &lt;rows&gt;</summary>\n<p"),
            "{}",
            document.html()
        );
        let unfolded = document.unfolded().plain(None);
        assert!(unfolded.starts_with("one\n\nall <rows>\n\nfound: one.\n"), "{unfolded}");
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
