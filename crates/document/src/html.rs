//! The HTML of bitmma: the report, the pages of probes and of comparisons, and what notebooks show. One style for light and
//! dark screens, phones and paper; nothing is loaded from elsewhere. Pages are well-formed XML, too.

mod typeset;

use std::fmt::Write as _;

pub use typeset::{Level, escaped, runs, typeset};

/// The style of every page, for a page that is written elsewhere: it is that of `<body class="bitmma">`.
pub const STYLE: &str = include_str!("html/style.css");
/// Shows one of the parts below an element of class `choice`, and a menu to choose it.
const SCRIPT: &str = include_str!("html/choice.js");

/// A part of a page.
#[derive(Clone, Debug)]
pub struct Section {
    /// Its anchor.
    pub id: String,
    /// Its heading, as text.
    pub title: String,
    /// What is below it, as HTML.
    pub body: String,
}

/// Sections from which on a page has a list of contents.
const MANY: usize = 3;

/// A page of its own: a heading (text), what comes first (HTML), and sections.
pub fn document(title: &str, lead: &str, sections: &[Section]) -> String {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <link rel=\"icon\" href=\"data:,\"/><title>{}</title>\n<style>\n{STYLE}</style></head>\n\
         <body class=\"bitmma\"><h1>{}</h1>\n",
        escaped(title),
        typeset(title)
    );
    if sections.len() >= MANY {
        page += "<nav aria-label=\"Contents\"><ul>\n";
        for Section { id, title, .. } in sections {
            let _ = writeln!(page, "<li><a href=\"#{id}\">{}</a></li>", typeset(title));
        }
        page += "</ul></nav>\n";
    }
    let _ = write!(page, "<main>\n{lead}\n");
    for Section { id, title, body } in sections {
        let _ = writeln!(page, "<section id=\"{id}\">\n<h2>{}</h2>\n{body}</section>", typeset(title));
    }
    page += "</main>\n";
    if page.contains("class=\"choice\"") {
        let _ = writeln!(page, "<script>\n{SCRIPT}</script>");
    }
    page + "</body></html>\n"
}

/// A piece of HTML with the style of the pages, for a notebook.
pub fn fragment(body: &str) -> String {
    format!("<div class=\"bitmma note\"><style>\n{STYLE}</style>\n{body}</div>\n")
}

/// A heading of a table (HTML), and whether numbers are below it.
pub type Heading = (String, bool);

/// A table; cells are HTML. What is wider than the page is scrolled, its first column stays.
pub fn table(headings: &[Heading], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let class =
        |column: usize| if headings.get(column).is_some_and(|one| one.1) { " class=\"n\"" } else { "" };
    let mut text = "<div class=\"scroll\"><table class=\"rows\">\n<thead><tr>".to_owned();
    for (column, (heading, _)) in headings.iter().enumerate() {
        let _ = write!(text, "<th scope=\"col\"{}>{heading}</th>", class(column));
    }
    text += "</tr></thead>\n<tbody>\n";
    for row in rows {
        text += "<tr>";
        for (column, cell) in row.iter().enumerate() {
            let _ = match column {
                0 => write!(text, "<th scope=\"row\"{}>{cell}</th>", class(0)),
                _ => write!(text, "<td{}>{cell}</td>", class(column)),
            };
        }
        text += "</tr>\n";
    }
    text + "</tbody></table></div>\n"
}

/// A cell of a heat map.
#[derive(Clone, Debug)]
pub struct Heat {
    /// How hot, 0 to 100.
    pub percent: f64,
    /// What is in it, as HTML.
    pub body: String,
    /// What a pointer is told, as text.
    pub tip: String,
}

/// A table whose cells are coloured; headings and the names of rows are HTML.
pub fn heat(headings: &[String], rows: impl IntoIterator<Item = (String, Vec<Heat>)>) -> String {
    let mut text = "<div class=\"scroll\"><table class=\"heat\">\n<thead><tr><td></td>".to_owned();
    for heading in headings {
        let _ = write!(text, "<th scope=\"col\">{heading}</th>");
    }
    text += "</tr></thead>\n<tbody>\n";
    for (name, cells) in rows {
        let _ = write!(text, "<tr><th scope=\"row\">{name}</th>");
        for Heat { percent, body, tip } in cells {
            let tip = if tip.is_empty() { tip } else { format!(" title=\"{}\"", escaped(&tip)) };
            let _ = write!(text, "<td style=\"--p:{percent:.0}\"{tip}>{body}</td>");
        }
        text += "</tr>\n";
    }
    text + "</tbody></table></div>\n"
}

/// What a terminal shows, as HTML: bold, dim and coloured by the codes that the command writes.
pub fn terminal(text: &str) -> String {
    format!("<pre>{}</pre>\n", styled(text, escaped))
}

/// A styled text in a line of HTML; `set` makes HTML of what has one style: [`escaped`] or [`typeset`].
pub fn styled(text: &str, set: fn(&str) -> String) -> String {
    let mut out = String::new();
    let mut open = 0;
    for (index, part) in text.split("\u{1b}[").enumerate() {
        let (code, rest) = if index == 0 { ("", part) } else { part.split_once('m').unwrap_or(("0", part)) };
        let class = match code {
            "1" => "strong",
            "2" => "dim",
            "32" => "good",
            code if code.starts_with('3') || code.starts_with('9') => "lost",
            "0" | "" => "",
            _ => "other",
        };
        if index > 0 && class.is_empty() {
            out += &"</span>".repeat(std::mem::take(&mut open));
        } else if index > 0 {
            let _ = write!(out, "<span class=\"{class}\">");
            open += 1;
        }
        out += &set(rest);
    }
    out + &"</span>".repeat(open)
}

#[cfg(test)]
mod tests {
    use super::{Section, document, fragment, table, terminal};

    #[test]
    fn a_page_has_contents_where_there_are_many_sections_and_a_script_where_there_is_a_choice() {
        let section = |id: &str, body: &str| Section {
            id: id.to_owned(),
            title: "A < B".to_owned(),
            body: body.to_owned(),
        };
        let short = document("T", "", &[section("one", "")]);
        assert!(!short.contains("<nav") && !short.contains("<script"));
        let long =
            document("T", "", &["one", "two", "three"].map(|id| section(id, "<div class=\"choice\"></div>")));
        assert!(long.contains("<a href=\"#two\">A &lt; B</a>") && long.contains("<script"));
        assert!(fragment("<p>x</p>").contains("<p>x</p>"));
    }

    #[test]
    fn the_first_cell_of_a_row_is_its_name() {
        let text =
            table(&[("a".to_owned(), false), ("b".to_owned(), true)], [vec!["x".to_owned(), "1".to_owned()]]);
        assert!(text.contains("<tr><th scope=\"row\">x</th><td class=\"n\">1</td></tr>"), "{text}");
    }

    #[test]
    fn codes_of_a_terminal_become_spans() {
        let text = terminal("a \u{1b}[1mb\u{1b}[0m \u{1b}[31m<c\u{1b}[0m");
        assert_eq!(text, "<pre>a <span class=\"strong\">b</span> <span class=\"lost\">&lt;c</span></pre>\n");
    }
}
