//! Tables of text: a heading, a rule, rows; columns two blanks apart, and no frame.

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Row, TableStyle, Width};

use crate::style;

/// Blanks between columns.
const GAP: u16 = 2;
/// The rule below the headings is no longer than this.
const RULE: usize = 110;

/// A table under construction.
pub(crate) struct Table {
    inner: comfy_table::Table,
}

impl Table {
    /// A table with these headings; one that starts with `>` aligns its column to the right.
    pub(crate) fn new<H: AsRef<str>>(headings: &[H]) -> Table {
        let mut inner = comfy_table::Table::new();
        let rule = LineStyle::none().fill('─').junction('─');
        inner.load_style(TableStyle::new().header_separator(rule));
        inner.force_no_tty();
        inner.set_content_arrangement(ContentArrangement::Disabled);
        let plain = headings.iter().map(|heading| heading.as_ref().trim_start_matches('>'));
        inner.set_header(Row::from(plain.map(style::strong).collect::<Vec<_>>()));
        for (column, heading) in inner.column_iter_mut().zip(headings) {
            if heading.as_ref().starts_with('>') {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        Table { inner }.padded()
    }

    /// Names and what they stand for, without a heading, wrapped to `width`.
    pub(crate) fn pairs<N: AsRef<str>>(pairs: &[(N, String)], width: u16) -> Table {
        let mut inner = comfy_table::Table::new();
        inner.load_style(TableStyle::new());
        inner.force_no_tty();
        let names = pairs.iter().map(|(name, _)| name.as_ref().chars().count()).max().unwrap_or(0) as u16;
        inner.set_content_arrangement(ContentArrangement::Dynamic);
        inner.set_width(width);
        for (name, text) in pairs {
            inner.add_row(vec![style::dim(name.as_ref()), text.clone()]);
        }
        if let Some(column) = inner.column_mut(0) {
            column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(names + GAP)));
        }
        Table { inner }.padded()
    }

    fn padded(mut self) -> Table {
        for column in self.inner.column_iter_mut() {
            column.set_padding((0, GAP));
        }
        self
    }

    /// One row more.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.inner.add_row(Row::from(cells.into_iter().collect::<Vec<_>>()));
    }

    /// Whether it has no rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.inner.is_empty()
    }

    /// The table as lines without trailing blanks, each ended by a line feed.
    pub(crate) fn render(&self) -> String {
        let mut text = String::new();
        for line in self.inner.lines() {
            match line.chars().all(|character| character == '─') {
                true => text.extend(line.chars().take(RULE)),
                false => text += line.trim_end(),
            }
            text.push('\n');
        }
        text
    }
}
