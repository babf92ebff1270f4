//! The page as one file: its text, style and scripts, which are of this crate, and how it reaches [`ask`](crate::ask()).

/// The parts of the page, in the order in which they are read.
const SCRIPTS: [&str; 9] = [
    include_str!("../page/types.js"),
    include_str!("../page/ask.js"),
    include_str!("../page/state.js"),
    include_str!("../page/parts.js"),
    include_str!("../page/dot.js"),
    include_str!("../page/copy.js"),
    include_str!("../page/curve.js"),
    include_str!("../page/formats.js"),
    include_str!("../page/main.js"),
];
const STYLE: &str = include_str!("../page/style.css");
const BODY: &str = include_str!("../page/body.html");

/// How the page reaches the function.
#[derive(Clone, Copy, Debug)]
pub enum Transport<'a> {
    /// Over HTTP, at the address of the page.
    Server,
    /// By a WebAssembly module that is in the page: deflated, in base64.
    Module(&'a str),
}

/// The page, self-contained: it loads nothing.
pub fn page(transport: Transport<'_>) -> String {
    let module = match transport {
        Transport::Server => "",
        Transport::Module(text) => text,
    };
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <link rel=\"icon\" href=\"data:,\"/><title>bitmma explorer</title>\n<style>\n{}{STYLE}</style></head>\n\
         <body class=\"bitmma explorer\">\n{BODY}",
        bitmma_document::html::STYLE
    );
    page +=
        &format!("<script type=\"text/plain\" id=\"module\">{module}</script>\n<script>\n\"use strict\";\n");
    for script in SCRIPTS {
        page += script;
    }
    page + "</script>\n</body></html>\n"
}
