//! Parts of a Markdown document.

/// A Markdown table.
pub(super) struct Table(pub(super) String);

impl Table {
    /// An empty one.
    pub(super) fn new(headings: &[&str]) -> Table {
        let rule: String = headings.iter().map(|_| "---|").collect();
        Table(format!("| {} |\n|{rule}\n", headings.join(" | ")))
    }

    /// One row more; a `|` in a cell is escaped.
    pub(super) fn row<C: AsRef<str>>(&mut self, cells: &[C]) {
        let cells: Vec<String> = cells.iter().map(|cell| cell.as_ref().replace('|', "\\|")).collect();
        self.0 += &format!("| {} |\n", cells.join(" | "));
    }
}

/// As code; nothing where there is no text.
pub(super) fn mono(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("`{text}`") }
}
