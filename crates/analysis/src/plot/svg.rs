//! A drawing as SVG: the font is what the reader has, stretched to the widths of the one that places were chosen for.

use std::fmt::Write as _;

use super::font;
use super::paper::{Anchor, FONT, HEIGHT, INK, Ink, Paper, Point, Text, WIDTH};

/// A drawing under construction.
pub(super) struct Svg {
    text: String,
}

impl Svg {
    /// An empty one; `title` is for those who do not see it.
    pub(super) fn new(title: &str) -> Svg {
        let title = escaped(title);
        let text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
             role=\"img\" aria-label=\"{title}\" font-family=\"Ubuntu Light, Ubuntu, system-ui, sans-serif\" font-size=\"{FONT}\" fill=\"{INK}\">\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n"
        );
        Svg { text }
    }

    /// The file.
    pub(super) fn finish(self) -> String {
        self.text + "</svg>\n"
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
        let _ = match text.upward {
            true => write!(self.text, "<text transform=\"translate({x:.1} {y:.1}) rotate(-90)\""),
            false => write!(self.text, "<text x=\"{x:.1}\" y=\"{y:.1}\""),
        };
        self.text += match text.anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        if text.size != FONT {
            let _ = write!(self.text, " font-size=\"{}\"", text.size);
        }
        // the same length in every font, so that nothing overlaps where there was room
        let length = font::width(text.content, text.size);
        let _ = writeln!(
            self.text,
            " textLength=\"{length:.1}\" lengthAdjust=\"spacingAndGlyphs\">{}</text>",
            escaped(text.content)
        );
    }
}

/// Text for XML.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
