//! The report as one HTML page: no script, nothing from elsewhere, readable on a phone, in the dark and on paper.

use std::fmt::Write as _;

use crate::plot::{Figure, escaped};
use crate::section::Section;
use crate::table::{Cell, Table};

const STYLE: &str = include_str!("page/style.css");

/// What the page opens with, by kind and name: the pictures that a reader should remember.
const OPENING: [(&str, &str); 6] = [
    ("table", "divergent"),
    ("table", "matrix-fp16-fp16---fp32---fp32"),
    ("figure", "gemm-bounds"),
    ("figure", "gemm-bounds-amd"),
    ("figure", "bias-distributions"),
    ("figure", "design-space"),
];

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
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>{0}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{0}</h1>\n",
        escaped(&about.title)
    );
    for text in &about.text {
        paragraph(&mut page, text);
    }
    page += "<nav aria-label=\"Contents\"><ul>\n";
    for section in sections {
        let _ = writeln!(page, "<li><a href=\"#{}\">{}</a></li>", section.name, escaped(&section.title));
    }
    page += "</ul></nav>\n<main>\n";
    opening(&mut page, sections);
    for section in sections {
        let _ = writeln!(page, "<section id=\"{}\">\n<h2>{}</h2>", section.name, escaped(&section.title));
        page += "<ul class=\"findings\">\n";
        for text in &section.text {
            let _ = writeln!(page, "<li>{}</li>", typeset(text));
        }
        page += "</ul>\n";
        for one in &section.figures {
            if !above(&mut page, "figure", &one.name, &one.title) {
                figure(&mut page, one, &section.name);
            }
        }
        for one in &section.tables {
            if !above(&mut page, "table", &one.name, &one.title) {
                let id = format!("table-{}", one.name);
                let _ = writeln!(page, "<details id=\"{id}\"><summary>{}</summary>", typeset(&one.title));
                table(&mut page, one);
                page += "</details>\n";
            }
        }
        page += "</section>\n";
    }
    page + "</main>\n</body>\n</html>\n"
}

/// The pictures to remember, as far as this report has them.
fn opening(page: &mut String, sections: &[Section]) {
    for (kind, name) in OPENING {
        for section in sections {
            let is_figure = kind == "figure";
            if let Some(one) = section.figures.iter().find(|one| is_figure && one.name == name) {
                figure(page, one, &section.name);
            } else if let Some(one) = section.tables.iter().find(|one| !is_figure && one.name == name) {
                let _ = writeln!(page, "<h3 id=\"table-{name}\">{}</h3>", typeset(&one.title));
                table(page, one);
            }
        }
    }
}

/// Whether something opens the page; the place where it would be has a link to it.
fn above(page: &mut String, kind: &str, name: &str, title: &str) -> bool {
    let is_above = OPENING.contains(&(kind, name));
    if is_above {
        let _ = writeln!(page, "<p>Above: <a href=\"#{kind}-{name}\">{}</a></p>", typeset(title));
    }
    is_above
}

fn figure(page: &mut String, figure: &Figure, section: &str) {
    let name = &figure.name;
    let files: Vec<String> = ["svg", "pdf", "png", "csv"]
        .iter()
        .map(|kind| format!("<a href=\"figures/{name}.{kind}\">{}</a>", kind.to_uppercase()))
        .collect();
    let _ = writeln!(
        page,
        "<figure id=\"figure-{name}\">\n<h3>{}</h3>\n{}<figcaption>{} <span class=\"files\">Files: {}; drawn by \
         <code>bitmma analyze {section} -o DIR</code></span></figcaption>\n</figure>",
        typeset(&figure.title),
        figure.svg(),
        typeset(&figure.text),
        files.join(", ")
    );
}

fn paragraph(page: &mut String, text: &str) {
    let _ = writeln!(page, "<p>{}</p>", typeset(text));
}

/// Names with an index below.
const INDEXED: [(&str, &str); 6] = [
    ("e_max", "e<sub>max</sub>"),
    ("e_zero", "e<sub>zero</sub>"),
    ("L_max", "L<sub>max</sub>"),
    ("δ_RD", "δ<sub>RD</sub>"),
    ("δ_RZ", "δ<sub>RZ</sub>"),
    ("Φ_", "Φ"),
];

/// Text for HTML: powers are raised, indices lowered, and a long name may be broken after a mark.
fn typeset(text: &str) -> String {
    let mut set = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('^') {
        set += &broken(before);
        let end = match after.strip_prefix('(') {
            Some(inner) => inner.find(')').map(|end| end + 2),
            None => {
                let digits = after.trim_start_matches(['-', '−']);
                let signs = after.len() - digits.len();
                let count = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
                (count > 0).then_some(signs + count)
            }
        };
        match end {
            Some(end) => {
                let power = after[..end].trim_start_matches('(').trim_end_matches(')').replace('-', "−");
                let _ = write!(set, "<sup>{}</sup>", escaped(&power));
                rest = &after[end..];
            }
            None => {
                set.push('^');
                rest = after;
            }
        }
    }
    set += &broken(rest);
    INDEXED.iter().fold(set, |set, (name, index)| set.replace(name, index))
}

/// Letters that a word may have before it may be broken.
const LONG: usize = 14;

/// Escaped text in which long words may be broken after dots, underscores and the like.
fn broken(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (index, word) in text.split(' ').enumerate() {
        if index > 0 {
            out.push(' ');
        }
        if word.chars().count() <= LONG {
            out += &escaped(word);
            continue;
        }
        for part in word.split_inclusive(['.', '_', ':', '/', '·', '|', ',', '×']) {
            out += &escaped(part);
            out += "<wbr>";
        }
    }
    out
}

fn table(page: &mut String, table: &Table) {
    paragraph(page, &table.text);
    match table.name.starts_with("matrix-") {
        true => heat(page, table),
        false => rows(page, table),
    }
    let _ = writeln!(
        page,
        "<p class=\"files\">Numbers with every digit: <a href=\"tables/{}.csv\">CSV</a></p>",
        table.name
    );
}

fn rows(page: &mut String, table: &Table) {
    let numeric: Vec<bool> = (0..table.columns.len())
        .map(|column| {
            let mut cells = table.rows.iter().filter_map(|row| row.get(column));
            cells.clone().any(Cell::is_number) && cells.all(|cell| !matches!(cell, Cell::Text(_)))
        })
        .collect();
    let class = |column: usize| if numeric.get(column) == Some(&true) { " class=\"n\"" } else { "" };
    *page += "<table class=\"rows\">\n<thead><tr>";
    for (column, name) in table.columns.iter().enumerate() {
        let _ = write!(page, "<th scope=\"col\"{}>{}</th>", class(column), typeset(name));
    }
    *page += "</tr></thead>\n<tbody>\n";
    for row in &table.rows {
        *page += "<tr>";
        for (column, cell) in row.iter().enumerate() {
            let heading = table.columns.get(column).map_or("", String::as_str);
            let (class, heading) = (class(column), escaped(heading));
            let _ = write!(page, "<td{class} data-h=\"{heading}\">{}</td>", typeset(&cell.short()));
        }
        *page += "</tr>\n";
    }
    *page += "</tbody></table>\n";
}

/// All against all as a heat map: the first percentage of a cell is its colour, and above; the second is below.
fn heat(page: &mut String, table: &Table) {
    *page += "<table class=\"heat\">\n<thead><tr><th></th>";
    for number in 1..table.columns.len().saturating_sub(1) {
        let _ = write!(page, "<th scope=\"col\">{number}</th>");
    }
    *page += "</tr></thead>\n<tbody>\n";
    for row in &table.rows {
        let name = row.first().map_or(String::new(), Cell::short);
        let about = row.get(1).map_or(String::new(), Cell::short);
        let _ = write!(
            page,
            "<tr><th scope=\"row\">{} <span class=\"key\">{}</span></th>",
            typeset(&name),
            typeset(&about)
        );
        for cell in row.iter().skip(2) {
            let text = cell.short();
            let shares: Vec<&str> =
                text.split(", ").map(|share| share.trim_end_matches('%').trim_end()).collect();
            let share: f64 = shares.first().and_then(|share| share.parse().ok()).unwrap_or(0.0);
            let below =
                shares.get(1).map_or(String::new(), |share| format!("<small>{}</small>", escaped(share)));
            let first = escaped(shares.first().copied().unwrap_or(""));
            let _ = write!(
                page,
                "<td class=\"h\" style=\"--p:{share:.0}\" title=\"{}\">{first}{below}</td>",
                escaped(&text)
            );
        }
        *page += "</tr>\n";
    }
    *page += "</tbody></table>\n";
}

#[cfg(test)]
mod tests {
    use super::typeset;

    #[test]
    fn powers_and_indices_are_set() {
        assert_eq!(typeset("2^-126 (BF16)"), "2<sup>−126</sup> (BF16)");
        assert_eq!(typeset("17 · 2^(e_max-25)"), "17 · 2<sup>e<sub>max</sub>−25</sup>");
        assert_eq!(typeset("a < b^c"), "a &lt; b^c");
        assert_eq!(typeset("δ_RD"), "δ<sub>RD</sub>");
        assert_eq!(typeset("v_mfma_f32_32x32x8f16"), "v_<wbr>mfma_<wbr>f32_<wbr>32x32x8f16<wbr>");
    }
}
