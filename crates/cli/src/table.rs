//! Tables of text: a heading, a rule, rows; columns three blanks apart, and no frame.

use anstream::adapter::strip_str;
use unicode_width::UnicodeWidthStr;

use crate::style;

/// Blanks between columns.
const GAP: usize = 3;
/// Blanks between a name and what it stands for.
const PAIR: usize = 2;
/// The longest rule below the headings.
const RULE: usize = 110;
/// What is left for a text that is wrapped, at least.
const NARROW: usize = 20;

/// A table under construction.
pub(crate) struct Table {
    /// Empty where it has none.
    headings: Vec<String>,
    /// Of each column, whether it is aligned to the right.
    right: Vec<bool>,
    rows: Vec<Vec<String>>,
    /// Blanks after a column.
    gap: usize,
}

impl Table {
    /// A table with these headings; one that starts with `>` aligns its column to the right.
    pub(crate) fn new<H: AsRef<str>>(headings: &[H]) -> Table {
        let plain = headings.iter().map(|heading| heading.as_ref().trim_start_matches('>'));
        Table {
            headings: plain.map(style::strong).collect(),
            right: headings.iter().map(|heading| heading.as_ref().starts_with('>')).collect(),
            rows: Vec::new(),
            gap: GAP,
        }
    }

    /// Names and what they stand for, without a heading, wrapped to `width`.
    pub(crate) fn pairs<N: AsRef<str>>(pairs: &[(N, String)], width: usize) -> Table {
        let names = pairs.iter().map(|(name, _)| name.as_ref().width()).max().unwrap_or(0);
        let room = width.saturating_sub(names + 2 * PAIR).max(NARROW);
        let row = |(name, text): &(N, String)| vec![style::dim(name.as_ref()), wrapped(text, room)];
        let rows = pairs.iter().map(row).collect();
        Table { headings: Vec::new(), right: vec![false; 2], rows, gap: PAIR }
    }

    /// One row more; a cell may have several lines.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Whether it has no rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table as lines without trailing blanks, each ended by a line feed.
    pub(crate) fn render(&self) -> String {
        let mut widths = vec![0; self.right.len()];
        for row in self.rows.iter().chain([&self.headings]) {
            widths.resize(widths.len().max(row.len()), 0);
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell.split('\n').map(shown_width).fold(*width, usize::max);
            }
        }
        let mut text = String::new();
        if !self.headings.is_empty() {
            self.write(&mut text, &self.headings, &widths);
            let rule = widths.iter().map(|width| width + self.gap).sum::<usize>().saturating_sub(1).min(RULE);
            text.extend(std::iter::repeat_n('─', rule).chain(['\n']));
        }
        for row in &self.rows {
            self.write(&mut text, row, &widths);
        }
        text
    }

    /// As many lines as the cell with the most has.
    fn write(&self, text: &mut String, row: &[String], widths: &[usize]) {
        let height = row.iter().map(|cell| cell.split('\n').count()).max().unwrap_or(1);
        for line in 0..height {
            let start = text.len();
            for (index, width) in widths.iter().enumerate() {
                let cell = row.get(index).and_then(|cell| cell.split('\n').nth(line)).unwrap_or("");
                let blanks = " ".repeat(width - shown_width(cell));
                let right = self.right.get(index).copied().unwrap_or(false);
                let parts = if right { [blanks.as_str(), cell] } else { [cell, blanks.as_str()] };
                text.extend(parts);
                text.extend(std::iter::repeat_n(' ', self.gap));
            }
            text.truncate(start + text[start..].trim_end().len());
            text.push('\n');
        }
    }
}

/// Columns of the terminal that `text` takes; colours take none.
fn shown_width(text: &str) -> usize {
    strip_str(text).map(UnicodeWidthStr::width).sum()
}

/// Lines of at most `room` columns, broken at blanks; a word that is longer is broken anywhere.
fn wrapped(text: &str, room: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for paragraph in text.split('\n') {
        let (mut line, mut taken) = (String::new(), 0);
        for (index, word) in paragraph.split(' ').enumerate() {
            let width = shown_width(word);
            if index > 0 && taken + 1 + width > room {
                lines.push(std::mem::take(&mut line));
                taken = 0;
            } else if index > 0 {
                line.push(' ');
                taken += 1;
            }
            if width <= room {
                line += word;
                taken += width;
                continue;
            }
            for letter in word.chars() {
                if taken == room {
                    lines.push(std::mem::take(&mut line));
                    taken = 0;
                }
                line.push(letter);
                taken += 1;
            }
        }
        lines.push(line);
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::{Table, wrapped};

    #[test]
    fn columns_are_as_wide_as_what_they_show() {
        let mut table = Table::new(&["name", ">value"]);
        table.row(["a".to_owned(), "\u{1b}[1m-0.5\u{1b}[0m".to_owned()]);
        table.row(["longer".to_owned(), "12\n3456789".to_owned()]);
        let plain = anstream::adapter::strip_str(&table.render()).to_string();
        let rule = "─".repeat(18);
        let wanted =
            format!("name       value\n{rule}\na           -0.5\nlonger        12\n         3456789\n");
        assert_eq!(plain, wanted);
    }

    #[test]
    fn long_texts_are_wrapped() {
        assert_eq!(wrapped("one two three", 7), "one two\nthree");
        assert_eq!(wrapped("abcdefgh i", 3), "abc\ndef\ngh\ni");
        assert_eq!(wrapped("", 7), "");
    }
}
