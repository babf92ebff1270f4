//! Numbers in rows and columns, and what they say in words.

use serde::{Deserialize, Serialize};

/// A cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cell {
    /// A count.
    Count(u64),
    /// A number, finite.
    Number(f64),
    /// Words.
    Text(String),
    /// Nothing: there is no such number.
    Nothing,
}

impl From<f64> for Cell {
    fn from(number: f64) -> Cell {
        if number.is_finite() { Cell::Number(number) } else { Cell::Nothing }
    }
}

impl From<u64> for Cell {
    fn from(count: u64) -> Cell {
        Cell::Count(count)
    }
}

impl From<usize> for Cell {
    fn from(count: usize) -> Cell {
        Cell::Count(count as u64)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::Text(text)
    }
}

impl<C: Into<Cell>> From<Option<C>> for Cell {
    fn from(cell: Option<C>) -> Cell {
        cell.map_or(Cell::Nothing, Into::into)
    }
}

/// A number in as few digits as a reader wants: three that count.
pub fn short(number: f64) -> String {
    let magnitude = number.abs();
    if number == 0.0 {
        return "0".to_owned();
    }
    if (0.001..100_000.0).contains(&magnitude) {
        let digits = (2 - magnitude.log10().floor() as i32).clamp(0, 6) as usize;
        let text = format!("{number:.digits$}");
        let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
        return text.to_owned();
    }
    format!("{number:.2e}")
}

impl Cell {
    /// As a reader wants it.
    pub fn short(&self) -> String {
        match self {
            Cell::Text(text) => text.clone(),
            Cell::Count(count) => count.to_string(),
            Cell::Number(number) => short(*number),
            Cell::Nothing => "–".to_owned(),
        }
    }

    /// With every digit, for files.
    pub fn exact(&self) -> String {
        match self {
            Cell::Number(number) => format!("{number:?}"),
            Cell::Nothing => String::new(),
            other => other.short(),
        }
    }

    /// Whether it stands to the right.
    pub fn is_number(&self) -> bool {
        matches!(self, Cell::Count(_) | Cell::Number(_))
    }
}

/// The heading of a column that says how the explorer shows the input of the column before it.
pub const EXPLORE: &str = "explore";

/// A table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// File name and anchor: lower case, hyphens.
    pub name: String,
    /// Its heading.
    pub title: String,
    /// What it says, in words.
    pub text: String,
    /// Headings of the columns.
    pub columns: Vec<String>,
    /// Rows, each with as many cells as there are columns.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// An empty one; `columns` are its headings, as in `"K | mean error".split(" | ")`.
    pub fn new(
        name: &str,
        title: &str,
        text: impl Into<String>,
        columns: impl IntoIterator<Item: Into<String>>,
    ) -> Table {
        Table {
            name: name.to_owned(),
            title: title.to_owned(),
            text: text.into(),
            columns: columns.into_iter().map(Into::into).collect(),
            rows: Vec::new(),
        }
    }

    /// One row more.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Whether it is all against all: two percentages in each cell.
    pub fn is_heat(&self) -> bool {
        self.name.starts_with("matrix-")
    }

    /// As CSV (RFC 4180): a heading, then rows, numbers with every digit.
    pub fn csv(&self) -> String {
        let line = |cells: Vec<String>| {
            let quoted = cells.iter().map(|cell| {
                if cell.contains([',', '"', '\n', '\r']) {
                    format!("\"{}\"", cell.replace('"', "\"\""))
                } else {
                    cell.clone()
                }
            });
            quoted.collect::<Vec<_>>().join(",") + "\n"
        };
        let rows = self.rows.iter().map(|row| line(row.iter().map(Cell::exact).collect()));
        std::iter::once(line(self.columns.clone())).chain(rows).collect()
    }
}

/// The cells of a row, each anything a cell can be made of.
#[macro_export]
macro_rules! cells {
    ($($cell:expr),* $(,)?) => { [$($crate::table::Cell::from($cell)),*] };
}

#[cfg(test)]
mod tests {
    use super::{Cell, Table, short};

    #[test]
    fn numbers_are_short_for_readers_and_whole_in_files() {
        let shown = [1.0, -0.5, 1234.5, 0.012_345, 1.027e-6, 12_345_678.0, 0.0, 99.94].map(short);
        assert_eq!(shown, ["1", "-0.5", "1234", "0.0123", "1.03e-6", "1.23e7", "0", "99.9"]);
        let mut table = Table::new("t", "T", "", ["a", "b"]);
        table.row(cells!["x, \"y\"", 0.1]);
        table.row(cells![f64::NAN, 3_u64]);
        assert_eq!(table.csv(), "a,b\n\"x, \"\"y\"\"\",0.1\n,3\n");
        assert_eq!(Cell::from(None::<f64>).short(), "–");
        let read: Table = serde_json::from_str(&serde_json::to_string(&table).unwrap()).unwrap();
        assert_eq!(read, table);
    }
}
