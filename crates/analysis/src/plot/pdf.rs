//! A drawing as PDF, one page, all of it curves: text is outlines of the font, so that it looks the same everywhere.
//!
//! Written here: `pdf-writer` 0.15.0 would save 25 lines and add 3 s of processor time to a first build, for five kinds of object.

use std::fmt::Write as _;

use super::font;
use super::paper::{HEIGHT, INK, Ink, Paper, Point, Text, WIDTH};

/// A drawing under construction: operators of a page's content (ISO 32000-1, 8.5).
#[derive(Default)]
pub(super) struct Pdf {
    content: String,
}

impl Pdf {
    /// The file: catalogue, pages, page, content, and where each begins (ISO 32000-1, 7.5).
    pub(super) fn finish(self) -> Vec<u8> {
        let content = miniz_oxide::deflate::compress_to_vec_zlib(self.content.as_bytes(), 6);
        let mut file = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n".to_vec();
        let mut places = Vec::new();
        let page = format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {WIDTH} {HEIGHT}] /Contents 4 0 R \
             /Resources << /ExtGState << /Half << /ca 0.18 >> /Full << /ca 1 >> >> >> >>"
        );
        let stream = format!("<< /Length {} /Filter /FlateDecode >>\nstream\n", content.len());
        let objects: [Vec<u8>; 4] = [
            b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
            page.into_bytes(),
            [stream.as_bytes(), &content, b"\nendstream"].concat(),
        ];
        for (index, object) in objects.iter().enumerate() {
            places.push(file.len());
            file.extend(format!("{} 0 obj\n", index + 1).bytes());
            file.extend(object);
            file.extend(b"\nendobj\n");
        }
        let start = file.len();
        file.extend(format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).bytes());
        for place in places {
            file.extend(format!("{place:010} 00000 n \n").bytes());
        }
        let size = objects.len() + 1;
        file.extend(format!("trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n").bytes());
        file
    }

    /// Moves along points; PDF counts y from below.
    fn way(&mut self, points: &[Point]) {
        for (index, (x, y)) in points.iter().enumerate() {
            let operator = if index == 0 { 'm' } else { 'l' };
            let _ = write!(self.content, "{x:.2} {:.2} {operator} ", HEIGHT - y);
        }
    }

    fn colour(&mut self, colour: &str, operator: &str) {
        let [red, green, blue] = super::png::channels(colour).map(|channel| f64::from(channel) / 255.0);
        let _ = write!(self.content, "{red:.3} {green:.3} {blue:.3} {operator} ");
    }
}

impl Paper for Pdf {
    fn path(&mut self, points: &[Point], closed: bool, ink: Ink<'_>) {
        if let Some((colour, opacity)) = ink.fill {
            self.colour(colour, "rg");
            self.content += if opacity < 1.0 { "/Half gs " } else { "/Full gs " };
            self.way(points);
            self.content += "h f\n";
        }
        if let Some((colour, width)) = ink.stroke {
            self.colour(colour, "RG");
            let _ = write!(self.content, "{width} w 1 j ");
            self.way(points);
            self.content += if closed { "s\n" } else { "S\n" };
        }
    }

    fn text(&mut self, at: Point, text: &Text<'_>) {
        self.colour(INK, "rg");
        self.content += "/Full gs ";
        for (from, to, first) in font::outline(at, text) {
            if first {
                self.way(&[from, to]);
            } else {
                let _ = write!(self.content, "{:.2} {:.2} l ", to.0, HEIGHT - to.1);
            }
        }
        self.content += "f\n";
    }
}
