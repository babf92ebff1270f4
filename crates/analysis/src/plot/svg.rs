//! A drawing as SVG, with the font of the other pictures: each letter's outline is there once, and texts refer to it. The
//! words are there, too, unseen: to be found, copied and read aloud.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use bitmma_document::html::escaped;

use super::font;
use super::paper::{Anchor, FONT, HEIGHT, INK, Ink, Paper, Point, Text, WIDTH};

/// A drawing under construction.
pub(super) struct Svg {
    /// The figure's name, before the names of its letters: a page may hold several figures.
    name: String,
    text: String,
    /// The glyphs that were used.
    glyphs: BTreeSet<u16>,
}

impl Svg {
    /// An empty one; `title` is for those who do not see it.
    pub(super) fn new(name: &str, title: &str) -> Svg {
        let title = escaped(title);
        let text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
             role=\"img\" aria-label=\"{title}\" font-family=\"Ubuntu Light, Ubuntu, sans-serif\" font-size=\"{FONT}\" fill=\"{INK}\">\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n"
        );
        Svg { name: name.to_owned(), text, glyphs: BTreeSet::new() }
    }

    /// The file.
    pub(super) fn finish(mut self) -> String {
        self.text += "<defs>\n";
        for glyph in &self.glyphs {
            let _ =
                writeln!(self.text, "<path id=\"{}-{glyph}\" d=\"{}\"/>", self.name, font::curves(*glyph));
        }
        self.text + "</defs>\n</svg>\n"
    }
}

impl Paper for Svg {
    fn path(&mut self, points: &[Point], closed: bool, ink: Ink<'_>) {
        let places: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
        let end = if closed { "Z" } else { "" };
        let _ = write!(self.text, "<path d=\"M{}{end}\"", places.join("L"));
        let _ = match ink.fill {
            None => write!(self.text, " fill=\"none\""),
            Some((colour, 1.0)) => write!(self.text, " fill=\"{colour}\""),
            Some((colour, opacity)) => {
                write!(self.text, " fill=\"{colour}\" fill-opacity=\"{opacity}\"")
            }
        };
        if let Some((colour, width)) = ink.stroke {
            let _ = write!(self.text, " stroke=\"{colour}\" stroke-width=\"{width}\"");
        }
        self.text += "/>\n";
    }

    fn disc(&mut self, (x, y): Point, radius: f64, colour: &str) {
        let _ = writeln!(self.text, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{colour}\"/>");
    }

    fn text(&mut self, (x, y): Point, text: &Text<'_>) {
        let length = font::width(text.content, text.size);
        let (anchor, start) = match text.anchor {
            Anchor::Start => ("", 0.0),
            Anchor::Middle => (" text-anchor=\"middle\"", -length / 2.0),
            Anchor::End => (" text-anchor=\"end\"", -length),
        };
        let turn = if text.upward { " rotate(-90)" } else { "" };
        let scale = font::scale(text.size);
        let _ = write!(
            self.text,
            "<g transform=\"translate({x:.1} {y:.1}){turn} translate({start:.1}) scale({scale:.5} -{scale:.5})\">"
        );
        for font::Placed { glyph, along, above, size } in font::places(text.content) {
            self.glyphs.insert(glyph);
            let _ = write!(self.text, "<use href=\"#{}-{glyph}\" ", self.name);
            let _ = match above {
                0.0 => write!(self.text, "x=\"{along:.0}\"/>"),
                _ => write!(self.text, "transform=\"translate({along:.0} {above:.0}) scale({size})\"/>"),
            };
        }
        self.text += "</g>\n";
        let _ = match text.upward {
            true => write!(self.text, "<text transform=\"translate({x:.1} {y:.1}) rotate(-90)\""),
            false => write!(self.text, "<text x=\"{x:.1}\" y=\"{y:.1}\""),
        };
        if text.size != FONT {
            let _ = write!(self.text, " font-size=\"{}\"", text.size);
        }
        // as long as the outlines in every font
        let _ = writeln!(
            self.text,
            "{anchor} textLength=\"{length:.1}\" lengthAdjust=\"spacingAndGlyphs\" fill-opacity=\"0\">{}</text>",
            escaped(text.content)
        );
    }
}
