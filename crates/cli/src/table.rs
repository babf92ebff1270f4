//! Tables of text: a heading, a rule, rows; columns three blanks apart, and no frame.

use anstream::adapter::strip_str;
use unicode_width::UnicodeWidthStr;

use crate::layout::{self, shown_width, wrapped};
use crate::style;

/// Blanks between columns.
const GAP: usize = 3;
/// Blanks between a name and what it stands for.
const PAIR: usize = 2;
/// The longest rule below the headings.
const RULE: usize = 110;
/// What is left for a text that is wrapped, at least.
const NARROW: usize = 20;
/// What a column of text takes, at least, where it is folded.
const TEXT: usize = 16;
/// Lines that a row takes, at most, before rows are stacked.
const TOWER: usize = 6;
/// How far a last column below the others is indented.
const INDENT: usize = 4;

/// A table under construction.
pub(crate) struct Table {
    /// Empty where it has none.
    headings: Vec<String>,
    /// Of each column, whether it is aligned to the right.
    right: Vec<bool>,
    rows: Vec<Vec<String>>,
    /// Blanks after a column.
    gap: usize,
    /// Columns that may be left out, the first one first.
    less: Vec<usize>,
    /// A column that is never folded.
    kept: Option<usize>,
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
            less: Vec::new(),
            kept: None,
        }
    }

    /// Names and what they stand for, without a heading, wrapped to `width`.
    pub(crate) fn pairs<N: AsRef<str>>(pairs: &[(N, String)], width: usize) -> Table {
        let width = layout::width().map_or(width, |room| room.min(width));
        let names = pairs.iter().map(|(name, _)| name.as_ref().width()).max().unwrap_or(0);
        let room = width.saturating_sub(names + 2 * PAIR).max(NARROW);
        let row = |(name, text): &(N, String)| vec![style::dim(name.as_ref()), wrapped(text, room)];
        let rows = pairs.iter().map(row).collect();
        Table { headings: Vec::new(), right: vec![false; 2], rows, gap: PAIR, less: Vec::new(), kept: None }
    }

    /// One row more; a cell may have several lines.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Whether it has no rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Columns that may be left out where the terminal is narrow, the first one first.
    pub(crate) fn less(mut self, columns: &[usize]) -> Table {
        self.less = columns.to_vec();
        self
    }

    /// A column that is never folded: a picture made of letters.
    pub(crate) fn keep(mut self, column: usize) -> Table {
        self.kept = Some(column);
        self
    }

    /// The table as lines without trailing blanks, each ended by a line feed: as wide as it is, or to fit the terminal.
    pub(crate) fn render(&self) -> String {
        let all: Vec<usize> = (0..self.right.len()).collect();
        let natural = self.widths();
        let Some(room) = layout::width() else { return self.lines(&all, &natural) };
        let mut shown = all;
        let mut less = self.less.iter();
        loop {
            if let Some(widths) = self.fitting(&shown, &natural, room) {
                return self.lines(&shown, &widths) + &self.left_out(&shown);
            }
            let Some(column) = less.next() else { break };
            shown.retain(|one| one != column);
        }
        match self.headings.is_empty() {
            true => self.lines(&shown, &natural),
            false => self.below(&shown, &natural, room).unwrap_or_else(|| self.stacked(room)),
        }
    }

    /// What each column takes.
    fn widths(&self) -> Vec<usize> {
        let mut widths = vec![0; self.right.len()];
        for row in self.rows.iter().chain([&self.headings]) {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell.split('\n').map(shown_width).fold(*width, usize::max);
            }
        }
        widths
    }

    /// The least that a column takes: its longest word, and no less than a few words of a text.
    fn least(&self, column: usize, natural: usize) -> usize {
        if self.kept == Some(column) {
            return natural;
        }
        let cells = self.rows.iter().chain([&self.headings]).filter_map(|row| row.get(column));
        let words = cells.flat_map(|cell| cell.split([' ', '\n'])).map(shown_width);
        words.max().unwrap_or(0).max(natural.min(TEXT))
    }

    /// Widths of all columns of which the shown ones fit into `room`, texts folded; `None` where they do not, or where the
    /// table would become a tower.
    fn fitting(&self, shown: &[usize], natural: &[usize], room: usize) -> Option<Vec<usize>> {
        let gaps = self.gap * shown.len().saturating_sub(1);
        let room = room.checked_sub(gaps)?;
        let mut widths = natural.to_vec();
        for column in shown {
            widths[*column] = self.least(*column, natural[*column]);
        }
        let mut left = room.checked_sub(shown.iter().map(|column| widths[*column]).sum())?;
        // the columns that lack least are filled first
        let mut order: Vec<usize> = shown.to_vec();
        order.sort_by_key(|column| natural[*column] - widths[*column].min(natural[*column]));
        for (index, column) in order.iter().enumerate() {
            let lacks = natural[*column].saturating_sub(widths[*column]);
            let given = lacks.min(left / (order.len() - index));
            widths[*column] += given;
            left -= given;
        }
        let height = |row: &Vec<String>| {
            let cells = shown.iter().filter_map(|column| Some((row.get(*column)?, widths[*column])));
            cells.map(|(cell, width)| wrapped(cell, width).split('\n').count()).max().unwrap_or(1)
        };
        let tall = self.rows.iter().map(height).sum::<usize>() > TOWER * self.rows.len().max(1);
        (!tall || shown.len() < 3).then_some(widths)
    }

    /// Which columns were left out, and how to get them.
    fn left_out(&self, shown: &[usize]) -> String {
        let missing = (0..self.headings.len()).filter(|column| !shown.contains(column));
        let names: Vec<String> =
            missing.map(|column| strip_str(&self.headings[column]).to_string()).collect();
        match names.is_empty() {
            true => String::new(),
            false => style::dim(&format!("left out: {} (--wide shows all columns)", names.join(", "))) + "\n",
        }
    }

    /// The last column below the others.
    fn below(&self, shown: &[usize], natural: &[usize], room: usize) -> Option<String> {
        let (last, first) = shown.split_last()?;
        let widths = self.fitting(first, natural, room)?;
        if first.is_empty() || self.least(*last, natural[*last]) + INDENT > room {
            return None;
        }
        let under = |text: &mut String, row: &Vec<String>| {
            let cell = row.get(*last).map_or("", String::as_str);
            let folded = wrapped(cell, room - INDENT);
            for line in folded.split('\n').filter(|line| !line.is_empty()) {
                text.extend([" ".repeat(INDENT).as_str(), line, "\n"]);
            }
        };
        let mut text = String::new();
        self.write(&mut text, &self.headings, first, &widths);
        under(&mut text, &self.headings);
        self.rule(&mut text, first, &widths);
        for row in &self.rows {
            self.write(&mut text, row, first, &widths);
            under(&mut text, row);
        }
        Some(text + &self.left_out(shown))
    }

    /// Each row as pairs of heading and cell.
    fn stacked(&self, room: usize) -> String {
        let blocks = self.rows.iter().map(|row| {
            let cells = self.headings.iter().zip(row).filter(|(_, cell)| !cell.is_empty());
            let pairs: Vec<(String, String)> =
                cells.map(|(heading, cell)| (strip_str(heading).to_string(), cell.clone())).collect();
            let table = Table::pairs(&pairs, room);
            table.lines(&[0, 1], &table.widths())
        });
        blocks.collect::<Vec<_>>().join("\n")
    }

    /// Heading, rule and rows of these columns.
    fn lines(&self, shown: &[usize], widths: &[usize]) -> String {
        let mut text = String::new();
        if !self.headings.is_empty() {
            self.write(&mut text, &self.headings, shown, widths);
            self.rule(&mut text, shown, widths);
        }
        for row in &self.rows {
            self.write(&mut text, row, shown, widths);
        }
        text
    }

    fn rule(&self, text: &mut String, shown: &[usize], widths: &[usize]) {
        let rule = shown.iter().map(|column| widths[*column] + self.gap).sum::<usize>();
        let longest = layout::width().unwrap_or(RULE).min(RULE);
        text.extend(std::iter::repeat_n('─', rule.saturating_sub(1).min(longest)).chain(['\n']));
    }

    /// As many lines as the cell with the most has.
    fn write(&self, text: &mut String, row: &[String], shown: &[usize], widths: &[usize]) {
        let cells: Vec<String> = shown
            .iter()
            .map(|column| match row.get(*column) {
                Some(cell) if self.kept == Some(*column) => cell.clone(),
                Some(cell) => wrapped(cell, widths[*column]),
                None => String::new(),
            })
            .collect();
        let height = cells.iter().map(|cell| cell.split('\n').count()).max().unwrap_or(1);
        for line in 0..height {
            let start = text.len();
            for (cell, column) in cells.iter().zip(shown) {
                let cell = cell.split('\n').nth(line).unwrap_or("");
                let blanks = " ".repeat(widths[*column].saturating_sub(shown_width(cell)));
                let parts =
                    if self.right[*column] { [blanks.as_str(), cell] } else { [cell, blanks.as_str()] };
                text.extend(parts);
                text.extend(std::iter::repeat_n(' ', self.gap));
            }
            text.truncate(start + text[start..].trim_end().len());
            text.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

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
}
