//! The font of all pictures: how wide a text is, and its outlines, read by `ttf-parser` and filled by `ab_glyph_rasterizer`.
//!
//! Curves become lines here, once for PNG and PDF: the rasterizer's own curves serve PNG alone, and `kurbo` 0.13.1 adds four crates and 2.8 s.

use std::fmt::Write as _;
use std::sync::LazyLock;

use bitmma_document::html::{Level, runs};
use miniz_oxide::inflate::decompress_to_vec;
use ttf_parser::{Face, GlyphId, OutlineBuilder};

use super::paper::{Anchor, Point, Text};

/// Ubuntu Light, as `build.rs` packed it.
static FONT: LazyLock<Vec<u8>> = LazyLock::new(|| {
    decompress_to_vec(include_bytes!(concat!(env!("OUT_DIR"), "/font.deflate")))
        .expect("the font was packed whole")
});

static FACE: LazyLock<Face<'static>> =
    LazyLock::new(|| Face::parse(&FONT, 0).expect("the font is part of the program and reads"));

/// A glyph of a text; lengths are in units of the font.
pub(super) struct Placed {
    pub(super) glyph: u16,
    /// How far along the text it begins, and how far above the line.
    pub(super) along: f64,
    pub(super) above: f64,
    /// Its size against that of the text.
    pub(super) size: f64,
}

/// Size of powers and indices, and how far they stand above and below the line, against the size of the text.
const SMALLER: f64 = 0.72;
const RAISED: f64 = 0.36;
const LOWERED: f64 = -0.16;

/// The glyphs of a text, powers raised and indices lowered, and how long it is.
fn placed(content: &str) -> (Vec<Placed>, f64) {
    let (mut all, mut along) = (vec![], 0.0);
    for (level, run) in runs(content) {
        let (size, above) = match level {
            Level::Line => (1.0, 0.0),
            Level::Up => (SMALLER, RAISED),
            Level::Down => (SMALLER, LOWERED),
        };
        for letter in run.chars() {
            let glyph = FACE.glyph_index(letter).unwrap_or_default();
            let above = above * f64::from(FACE.units_per_em());
            all.push(Placed { glyph: glyph.0, along, above, size });
            along += size * f64::from(FACE.glyph_hor_advance(glyph).unwrap_or(0));
        }
    }
    (all, along)
}

/// Units of the drawing that a text takes.
pub(super) fn width(content: &str, size: f64) -> f64 {
    placed(content).1 * scale(size)
}

/// Units of the drawing to a unit of the font.
pub(super) fn scale(size: f64) -> f64 {
    size / f64::from(FACE.units_per_em())
}

/// The glyphs of a text.
pub(super) fn places(content: &str) -> Vec<Placed> {
    placed(content).0
}

/// The outline of a glyph as the data of an SVG path, in units of the font, upward.
pub(super) fn curves(glyph: u16) -> String {
    let mut curves = Curves(String::new());
    FACE.outline_glyph(GlyphId(glyph), &mut curves);
    curves.0
}

/// Writes an outline with the letters of SVG 2, 9.3.
struct Curves(String);

impl OutlineBuilder for Curves {
    fn move_to(&mut self, x: f32, y: f32) {
        let _ = write!(self.0, "M{x} {y}");
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let _ = write!(self.0, "L{x} {y}");
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let _ = write!(self.0, "Q{x1} {y1} {x} {y}");
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let _ = write!(self.0, "C{x1} {y1} {x2} {y2} {x} {y}");
    }

    fn close(&mut self) {
        self.0.push('Z');
    }
}

/// The outlines of a text as lines in the drawing, each with whether it begins a contour.
pub(super) fn outline(at: Point, text: &Text<'_>) -> Vec<(Point, Point, bool)> {
    let (glyphs, length) = placed(text.content);
    let scale = scale(text.size);
    let start = match text.anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => -length / 2.0,
        Anchor::End => -length,
    };
    let mut lines = Vec::new();
    for Placed { glyph, along, above, size } in glyphs {
        let origin = ((start + along) * scale, above * scale);
        let mut pen = Pen {
            lines: &mut lines,
            at,
            origin,
            scale: size * scale,
            upward: text.upward,
            ends: None,
            first: true,
        };
        FACE.outline_glyph(GlyphId(glyph), &mut pen);
    }
    lines
}

/// Draws the outline of a glyph, whose curves become lines.
struct Pen<'o> {
    lines: &'o mut Vec<(Point, Point, bool)>,
    /// Where the text is, and how far along and above it the glyph begins.
    at: Point,
    origin: Point,
    /// Units of the drawing to a unit of the glyph.
    scale: f64,
    upward: bool,
    /// First and last point of the contour under construction, in units of the font.
    ends: Option<(Point, Point)>,
    /// Whether the next line begins a contour.
    first: bool,
}

/// Lines that a curve becomes.
const PIECES: u32 = 6;

impl Pen<'_> {
    fn place(&self, (x, y): Point) -> Point {
        let (along, above) = (self.origin.0 + x * self.scale, self.origin.1 + y * self.scale);
        let (x, y) = self.at;
        if self.upward { (x - above, y - along) } else { (x + along, y - above) }
    }

    fn line(&mut self, to: Point) {
        if let Some((first, last)) = self.ends {
            let line = (self.place(last), self.place(to), self.first);
            self.lines.push(line);
            self.first = false;
            self.ends = Some((first, to));
        }
    }

    /// `at` from 0 to 1 along a curve that begins where the pen is.
    fn curve(&mut self, at: impl Fn(Point, f64) -> Point) {
        let Some((_, start)) = self.ends else { return };
        for piece in 1..=PIECES {
            self.line(at(start, f64::from(piece) / f64::from(PIECES)));
        }
    }
}

/// The point between two.
fn between(from: Point, to: Point, part: f64) -> Point {
    (from.0 + (to.0 - from.0) * part, from.1 + (to.1 - from.1) * part)
}

impl OutlineBuilder for Pen<'_> {
    fn move_to(&mut self, x: f32, y: f32) {
        let start = (f64::from(x), f64::from(y));
        self.ends = Some((start, start));
        self.first = true;
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.line((f64::from(x), f64::from(y)));
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let (control, end) = ((f64::from(x1), f64::from(y1)), (f64::from(x), f64::from(y)));
        self.curve(|start, part| between(between(start, control, part), between(control, end, part), part));
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let (one, two) = ((f64::from(x1), f64::from(y1)), (f64::from(x2), f64::from(y2)));
        let end = (f64::from(x), f64::from(y));
        self.curve(|start, part| {
            let (a, b, c) = (between(start, one, part), between(one, two, part), between(two, end, part));
            between(between(a, b, part), between(b, c, part), part)
        });
    }

    fn close(&mut self) {
        if let Some((first, _)) = self.ends {
            self.line(first);
        }
        self.ends = None;
    }
}
