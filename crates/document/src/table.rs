//! Tables. In a terminal: a heading, a rule, rows; columns three blanks apart, and no frame.

use anstream::adapter::strip_str;
use serde::{Deserialize, Serialize};

use crate::fold::{shown_width, wrapped};
use crate::html::{Heading, styled, table, terminal, typeset};
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

/// A table: headings, and rows of cells, which are styled texts of one or more lines.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Table {
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
    /// Columns that it takes at most.
    widest: Option<usize>,
    /// What is said above it.
    title: String,
    /// What is said below it.
    note: String,
}

impl Table {
    /// A table with these headings; one that starts with `>` aligns its column to the right.
    pub fn new<H: AsRef<str>>(headings: &[H]) -> Table {
        let plain = headings.iter().map(|heading| heading.as_ref().trim_start_matches('>'));
        Table {
            headings: plain.map(style::strong).collect(),
            right: headings.iter().map(|heading| heading.as_ref().starts_with('>')).collect(),
            rows: Vec::new(),
            gap: GAP,
            less: Vec::new(),
            kept: None,
            widest: None,
            title: String::new(),
            note: String::new(),
        }
    }

    /// Names and what they stand for, without a heading, wrapped to `width`.
    pub fn pairs<N: AsRef<str>>(pairs: &[(N, String)], width: usize) -> Table {
        let row = |(name, text): &(N, String)| vec![style::dim(name.as_ref()), text.clone()];
        let rows = pairs.iter().map(row).collect();
        Table { gap: PAIR, widest: Some(width), rows, right: vec![false; 2], ..Table::new::<&str>(&[]) }
    }

    /// One row more; a cell may have several lines.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Columns that may be left out where the terminal is narrow, the first one first.
    pub fn less(mut self, columns: &[usize]) -> Table {
        self.less = columns.to_vec();
        self
    }

    /// A column that is never folded: a picture made of letters.
    pub fn keep(mut self, column: usize) -> Table {
        self.kept = Some(column);
        self
    }

    /// A sentence straight above the table.
    pub fn title(mut self, title: &str) -> Table {
        self.title = title.to_owned();
        self
    }

    /// A sentence straight below the table.
    pub fn note(mut self, note: &str) -> Table {
        self.note = note.to_owned();
        self
    }

    /// The table as lines without trailing blanks, each ended by a line feed: as wide as it is, or to fit into `width`
    /// columns of a terminal.
    pub fn render(&self, width: Option<usize>) -> String {
        let room = self.widest.map_or(width, |widest| Some(width.map_or(widest, |width| width.min(widest))));
        let table = match room {
            Some(room) if self.headings.is_empty() => self.paired(room),
            Some(room) => self.fitted(room),
            None => self.lines(&self.all(), &self.widths(), RULE),
        };
        let around = |text: &str| if text.is_empty() { String::new() } else { format!("{text}\n") };
        around(&self.title) + &table + &around(&style::dim(&self.note))
    }

    fn all(&self) -> Vec<usize> {
        (0..self.right.len()).collect()
    }

    /// Names, and texts folded to what is left beside them.
    fn paired(&self, room: usize) -> String {
        let natural = self.widths();
        let left = room.saturating_sub(natural[0] + 2 * PAIR).max(NARROW);
        self.lines(&[0, 1], &[natural[0], left], RULE)
    }

    /// Texts folded, columns left out, the last below the others, or each row a block: the first that fits.
    fn fitted(&self, room: usize) -> String {
        let natural = self.widths();
        let mut shown = self.all();
        let mut less = self.less.iter();
        loop {
            if let Some(widths) = self.fitting(&shown, &natural, room) {
                return self.lines(&shown, &widths, room) + &self.left_out(&shown);
            }
            let Some(column) = less.next() else { break };
            shown.retain(|one| one != column);
        }
        self.below(&shown, &natural, room).unwrap_or_else(|| self.stacked(room))
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
        self.rule(&mut text, first, &widths, room);
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
            Table::pairs(&pairs, room).paired(room)
        });
        blocks.collect::<Vec<_>>().join("\n")
    }

    /// Heading, rule and rows of these columns.
    fn lines(&self, shown: &[usize], widths: &[usize], room: usize) -> String {
        let mut text = String::new();
        if !self.headings.is_empty() {
            self.write(&mut text, &self.headings, shown, widths);
            self.rule(&mut text, shown, widths, room);
        }
        for row in &self.rows {
            self.write(&mut text, row, shown, widths);
        }
        text
    }

    fn rule(&self, text: &mut String, shown: &[usize], widths: &[usize], room: usize) {
        let rule = shown.iter().map(|column| widths[*column] + self.gap).sum::<usize>();
        text.extend(std::iter::repeat_n('─', rule.saturating_sub(1).min(room.min(RULE))).chain(['\n']));
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

impl Table {
    /// The table as HTML: a column that is never folded keeps its blanks.
    pub(crate) fn html(&self) -> String {
        let headings: Vec<Heading> = self
            .headings
            .iter()
            .zip(&self.right)
            .map(|(heading, right)| (typeset(&strip_str(heading).to_string()), *right))
            .collect();
        let cell = |(column, text): (usize, &String)| match self.kept == Some(column) {
            true => terminal(text),
            false => styled(text, typeset).replace('\n', "<br/>"),
        };
        let rows = self.rows.iter().map(|row| row.iter().enumerate().map(cell).collect());
        let around = |text: &str, class: &str| match text.is_empty() {
            true => String::new(),
            false => format!("<p class=\"{class}\">{}</p>\n", styled(text, typeset)),
        };
        around(&self.title, "lines") + &table(&headings, rows) + &around(&self.note, "dim")
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
        let plain = anstream::adapter::strip_str(&table.render(None)).to_string();
        let rule = "─".repeat(18);
        let wanted =
            format!("name       value\n{rule}\na           -0.5\nlonger        12\n         3456789\n");
        assert_eq!(plain, wanted);
    }
}
