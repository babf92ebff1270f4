//! The report as one HTML page: no script, nothing from elsewhere, readable on a phone and on paper.

use std::fmt::Write as _;

use crate::plot::escaped;
use crate::table::{Section, Table};

const STYLE: &str = "\
:root{color-scheme:light}
*{box-sizing:border-box}
body{margin:0 auto;max-width:70rem;padding:1rem;font:16px/1.5 system-ui,sans-serif;color:#222;background:#fff}
h1{font-size:1.6rem;line-height:1.2;margin:.5rem 0}
h2{font-size:1.3rem;margin:2.5rem 0 .5rem;border-top:2px solid #222;padding-top:.6rem}
h3{font-size:1.05rem;margin:1.6rem 0 .2rem}
p{max-width:46rem;margin:.4rem 0}
nav ul{display:flex;flex-wrap:wrap;gap:.2rem 1rem;list-style:none;padding:0}
a{color:#0058a3}
.wide{overflow-x:auto;margin:.5rem 0 0}
table{border-collapse:collapse;font-size:.85rem}
th,td{padding:.25rem .6rem;text-align:left;vertical-align:top;border-bottom:1px solid #ddd}
th{border-bottom:2px solid #222;vertical-align:bottom}
th,td{min-width:6rem}
td{max-width:26rem;overflow-wrap:break-word}
td.l{min-width:16rem}
td.n,th.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
tr:nth-child(even) td{background:#f6f6f6}
figure{margin:1rem 0;max-width:46rem}
figure svg{width:100%;height:auto;display:block;border:1px solid #ddd}
figcaption,.files{font-size:.9rem;color:#444;max-width:46rem}
@media(max-width:40rem){body{font-size:15px;padding:.7rem}table{font-size:.8rem}th,td{padding:.2rem .4rem}td{max-width:18rem}}
@media print{body{max-width:none;font-size:10pt}nav,.files{display:none}.wide{overflow:visible}table{font-size:7pt}
th,td,td.l{max-width:none;min-width:0}figure,tr{break-inside:avoid}h2,h3{break-after:avoid}a{color:inherit;text-decoration:none}}
";

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
    for section in sections {
        let _ = writeln!(page, "<section id=\"{}\">\n<h2>{}</h2>", section.name, escaped(&section.title));
        section.text.iter().for_each(|text| paragraph(&mut page, text));
        for figure in &section.figures {
            let name = &figure.name;
            let _ = writeln!(
                page,
                "<figure id=\"figure-{name}\">\n<h3>{}</h3>\n{}<figcaption>{} <span class=\"files\">Files: \
                 <a href=\"figures/{name}.svg\">SVG</a>, <a href=\"figures/{name}.png\">PNG</a>, \
                 <a href=\"figures/{name}.csv\">CSV</a></span></figcaption>\n</figure>",
                escaped(&figure.title),
                figure.svg(),
                escaped(&figure.text)
            );
        }
        section.tables.iter().for_each(|one| table(&mut page, one));
        page += "</section>\n";
    }
    page + "</main>\n</body>\n</html>\n"
}

fn paragraph(page: &mut String, text: &str) {
    let _ = writeln!(page, "<p>{}</p>", escaped(text));
}

fn table(page: &mut String, table: &Table) {
    let _ = writeln!(page, "<h3 id=\"table-{}\">{}</h3>", table.name, escaped(&table.title));
    paragraph(page, &table.text);
    let numeric: Vec<bool> = (0..table.columns.len())
        .map(|column| {
            let mut cells = table.rows.iter().filter_map(|row| row.get(column));
            cells.clone().any(|cell| cell.is_number())
                && cells.all(|cell| !matches!(cell, crate::table::Cell::Text(_)))
        })
        .collect();
    let class = |column: usize| if numeric.get(column) == Some(&true) { " class=\"n\"" } else { "" };
    *page += "<div class=\"wide\" tabindex=\"0\"><table>\n<thead><tr>";
    for (column, name) in table.columns.iter().enumerate() {
        let _ = write!(page, "<th scope=\"col\"{}>{}</th>", class(column), escaped(name));
    }
    *page += "</tr></thead>\n<tbody>\n";
    for row in &table.rows {
        *page += "<tr>";
        for (column, cell) in row.iter().enumerate() {
            let text = cell.short();
            let class = if text.chars().count() > 32 { " class=\"l\"" } else { class(column) };
            let _ = write!(page, "<td{class}>{}</td>", escaped(&text));
        }
        *page += "</tr>\n";
    }
    let _ = writeln!(
        page,
        "</tbody></table></div>\n<p class=\"files\">Numbers with every digit: <a href=\"tables/{}.csv\">CSV</a></p>",
        table.name
    );
}
