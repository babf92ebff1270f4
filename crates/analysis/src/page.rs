//! The report as one HTML page.

use std::fmt::Write as _;

use bitmma_document::html::{Heading, Heat, escaped, typeset};

use crate::plot::Figure;
use crate::section::Section;
use crate::table::{Cell, EXPLORE, Table};

/// The figure that the page opens with, beside the findings.
const OPENING: &str = "fp8-along-k";
/// The table that is shown unfolded, as heat maps are.
const UNFOLDED: &str = "divergent";

/// What a page says of itself.
#[derive(Clone, Debug)]
pub struct About {
    /// The heading.
    pub title: String,
    /// Paragraphs below it: what was run, with which options.
    pub text: Vec<String>,
}

/// The page; links lead to the files beside it.
pub(crate) fn html(about: &About, sections: &[Section]) -> String {
    let mut words = "<div class=\"lead\">\n".to_owned();
    for text in &about.text {
        let _ = writeln!(words, "<p>{}</p>", typeset(text));
    }
    words += "</div>\n";
    let lead = opening(sections, &words);
    let part = |section: &Section| bitmma_document::html::Section {
        id: section.name.clone(),
        title: section.title.clone(),
        body: body(section, true),
    };
    bitmma_document::html::document(&about.title, &lead, &sections.iter().map(part).collect::<Vec<_>>())
}

impl Section {
    /// As HTML, for a notebook: without links to files.
    pub fn html(&self) -> String {
        format!("<h2>{}</h2>\n{}", typeset(&self.title), body(self, false))
    }
}

/// What to remember: a sentence of each section that has one, and the picture; then `words`, below the sentences where there are any.
fn opening(sections: &[Section], words: &str) -> String {
    let findings = sections.iter().filter_map(|section| Some((section, section.finding.as_ref()?)));
    let mut text = "<div class=\"side opening\">\n<ol class=\"headlines\">\n".to_owned();
    let empty = text.len();
    for (section, finding) in findings {
        let (headline, words) = (typeset(&finding.headline), typeset(&finding.text));
        let _ = writeln!(text, "<li><b><a href=\"#{}\">{headline}</a></b> {words}</li>", section.name);
    }
    if text.len() == empty {
        return words.to_owned();
    }
    text += "</ol>\n";
    for section in sections {
        let opens = section.figures.iter().filter(|figure| figure.name == OPENING);
        opens.for_each(|one| text += &figure(one, true));
    }
    text + words + "</div>\n"
}

/// Words, pictures and tables of a section; in a page, files are beside it and the opening is above.
fn body(section: &Section, in_page: bool) -> String {
    let opens = |figure: &&Figure| in_page && section.finding.is_some() && figure.name == OPENING;
    let figures = section.figures.iter().filter(|figure| !opens(figure));
    let figures: Vec<String> = figures.map(|one| figure(one, in_page)).collect();
    let mut words = String::new();
    for text in &section.text {
        let _ = writeln!(words, "<li>{}</li>", typeset(text));
    }
    if section.figures.iter().any(|figure| opens(&figure)) {
        let _ = writeln!(
            words,
            "<li>The figure that opens the page: <a href=\"#figure-{OPENING}\">FP8 along K</a></li>"
        );
    }
    // one picture is beside the words, several are beside each other
    let mut page = match &figures[..] {
        [one] => side(&[format!("<ul class=\"findings\">\n{words}</ul>\n"), one.clone()]),
        several => format!("<ul class=\"findings wide\">\n{words}</ul>\n{}", side(several)),
    };
    let (unfolded, folded): (Vec<&Table>, Vec<&Table>) =
        section.tables.iter().partition(|one| one.name == UNFOLDED || one.is_heat());
    let mut open = vec![];
    for one in unfolded.iter().filter(|one| !one.is_heat()) {
        let (name, title) = (&one.name, typeset(&one.title));
        open.push(format!("<div id=\"table-{name}\"><h3>{title}</h3>\n{}</div>\n", table(one, in_page)));
    }
    let maps: String = unfolded.iter().filter(|one| one.is_heat()).map(|one| option(one, in_page)).collect();
    if !maps.is_empty() {
        open.push(format!(
            "<div><h3>All against all</h3>\n<div class=\"choice\" data-name=\"Formats:\">\n{maps}</div></div>\n"
        ));
    }
    page += &side(&open);
    for one in folded {
        let (name, title, rows) = (&one.name, typeset(&one.title), one.rows.len());
        let summary = format!("<summary>{title} <span class=\"dim\">({rows} rows)</span></summary>");
        let _ = writeln!(page, "<details id=\"table-{name}\">{summary}\n{}</details>", table(one, in_page));
    }
    if in_page {
        let name = &section.name;
        let _ = writeln!(
            page,
            "<p class=\"files\">This part alone: <code>bitmma analyze {name} -o DIR</code></p>"
        );
    }
    page
}

/// Pieces beside each other where there is room.
fn side(pieces: &[String]) -> String {
    if pieces.is_empty() {
        String::new()
    } else {
        format!("<div class=\"side\">\n{}</div>\n", pieces.concat())
    }
}

/// One of the formats that a reader chooses from.
fn option(one: &Table, in_page: bool) -> String {
    let formats = one.title.split_once(": ").map_or(one.title.as_str(), |(_, formats)| formats);
    format!(
        "<div id=\"table-{}\" data-name=\"{}\"><h4>{}</h4>\n{}</div>\n",
        one.name,
        escaped(formats),
        typeset(formats),
        table(one, in_page)
    )
}

/// A figure; `in_page`: its files are beside the page.
fn figure(figure: &Figure, in_page: bool) -> String {
    let Figure { name, title, text, .. } = figure;
    let file = |kind: &&str| format!("<a href=\"figures/{name}.{kind}\">{}</a>", kind.to_uppercase());
    let files = ["svg", "pdf", "png", "csv"].iter().map(file).collect::<Vec<_>>().join(", ");
    let files = if in_page { format!(" <span class=\"files\">{files}</span>") } else { String::new() };
    format!(
        "<figure id=\"figure-{name}\">\n<h3>{}</h3>\n{}<figcaption>{}{files}</figcaption>\n</figure>\n",
        typeset(title),
        figure.svg(),
        typeset(text)
    )
}

fn table(table: &Table, in_page: bool) -> String {
    let file = match in_page {
        true => format!(
            "<p class=\"files\">Numbers with every digit: <a href=\"tables/{}.csv\">CSV</a></p>\n",
            table.name
        ),
        false => String::new(),
    };
    format!(
        "<p>{}</p>\n{}{file}",
        typeset(&table.text),
        if table.is_heat() { heat(table) } else { rows(table) }
    )
}

/// Rows and columns. A column `X, paper` and the column `ours` after it are one, X: ours, and the paper's where it is another. A
/// column `explore` is folded into the input before it.
fn rows(table: &Table) -> String {
    let is_number = |column: usize| {
        let mut cells = table.rows.iter().filter_map(|row| row.get(column));
        cells.clone().any(Cell::is_number) && cells.all(|cell| !matches!(cell, Cell::Text(_)))
    };
    let mut headings: Vec<Heading> = vec![];
    // of each column shown, the paper's, ours, and how the explorer shows it
    let mut shown: Vec<(Option<usize>, usize, Option<usize>)> = vec![];
    let mut columns = table.columns.iter().enumerate().peekable();
    while let Some((column, name)) = columns.next() {
        let papers = name
            .strip_suffix(", paper")
            .filter(|_| table.columns.get(column + 1).is_some_and(|next| next == "ours"));
        match papers {
            Some(name) => {
                columns.next();
                headings.push((typeset(name), false));
                shown.push((Some(column), column + 1, None));
            }
            None => {
                headings.push((typeset(name), is_number(column)));
                let explore = columns.next_if(|(_, next)| *next == EXPLORE);
                shown.push((None, column, explore.map(|(column, _)| column)));
            }
        }
    }
    let cell = |row: &[Cell], (papers, ours, explore): (Option<usize>, usize, Option<usize>)| {
        let text = |column: usize| row.get(column).map_or(String::new(), Cell::short);
        let (ours, papers) = (text(ours), papers.map(text));
        match papers {
            Some(papers) if papers != ours => {
                format!(
                    "<mark>{}</mark> <small class=\"dim\">paper: {}</small>",
                    typeset(&ours),
                    typeset(&papers)
                )
            }
            _ => match explore.and_then(|column| row.get(column)) {
                Some(Cell::Text(state)) => format!(
                    "<details><summary>{}</summary><code>bitmma explore '{}'</code></details>",
                    typeset(&ours),
                    escaped(state)
                ),
                _ => typeset(&ours),
            },
        }
    };
    let rows = table.rows.iter().map(|row| shown.iter().map(|&place| cell(row, place)).collect());
    bitmma_document::html::table(&headings, rows)
}

/// All against all as a heat map: the first percentage of a cell is its colour, and above; the second is below.
fn heat(table: &Table) -> String {
    let headings: Vec<String> =
        (1..table.columns.len().saturating_sub(1)).map(|number| number.to_string()).collect();
    let rows = table.rows.iter().map(|row| {
        let text = |column: usize| row.get(column).map_or(String::new(), Cell::short);
        let name = format!("{} <span class=\"key\">{}</span>", typeset(&text(0)), typeset(&text(1)));
        let cells = row.iter().zip(&table.columns).skip(2).map(|(cell, column)| {
            let text = cell.short();
            let shares: Vec<&str> =
                text.split(", ").map(|share| share.trim_end_matches('%').trim_end()).collect();
            let first = shares.first().copied().unwrap_or("");
            let below =
                shares.get(1).map_or(String::new(), |share| format!("<small>{}</small>", escaped(share)));
            Heat {
                percent: first.parse().unwrap_or(0.0),
                body: escaped(first) + &below,
                tip: format!("{column}: {text}"),
            }
        });
        (name, cells.collect())
    });
    bitmma_document::html::heat(&headings, rows)
}
