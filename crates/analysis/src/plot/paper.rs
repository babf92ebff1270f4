//! What a figure is drawn with: a few shapes that every kind of picture has.

/// Size of the drawing.
pub(super) const WIDTH: f64 = 520.0;
pub(super) const HEIGHT: f64 = 360.0;
/// Height of the font.
pub(super) const FONT: f64 = 13.0;
/// Colour of texts.
pub(super) const INK: &str = "#222222";

/// x from the left and y from the top, in units of the drawing.
pub(super) type Point = (f64, f64);

/// Inside and edge of a shape; a color is `#rrggbb`.
#[derive(Clone, Copy, Default)]
pub(super) struct Ink<'c> {
    /// Colour and opacity, 0 to 1, of the inside.
    pub(super) fill: Option<(&'c str, f64)>,
    /// Colour and width of the edge.
    pub(super) stroke: Option<(&'c str, f64)>,
}

impl<'c> Ink<'c> {
    /// The inside alone.
    pub(super) fn fill(colour: &'c str) -> Ink<'c> {
        Ink { fill: Some((colour, 1.0)), stroke: None }
    }

    /// The edge alone.
    pub(super) fn stroke(colour: &'c str, width: f64) -> Ink<'c> {
        Ink { fill: None, stroke: Some((colour, width)) }
    }
}

/// On which side of its anchor a text is drawn.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    /// Its left end is there.
    Start,
    /// Its middle is there.
    Middle,
    /// Its right end is there.
    End,
}

/// A line of text.
pub(super) struct Text<'t> {
    /// What it says.
    pub(super) content: &'t str,
    /// Height of the font.
    pub(super) size: f64,
    /// Where it stands.
    pub(super) anchor: Anchor,
    /// Whether it runs from below to above.
    pub(super) upward: bool,
}

impl<'t> Text<'t> {
    /// A text of the usual size, from left to right.
    pub(super) fn new(content: &'t str, anchor: Anchor) -> Text<'t> {
        Text { content, size: FONT, anchor, upward: false }
    }
}

/// Corners of what is drawn for a disc.
const CORNERS: u32 = 24;

/// A disc as a polygon.
pub(super) fn corners((x, y): Point, radius: f64) -> Vec<Point> {
    let corner = |index: u32| {
        let angle = f64::from(index) / f64::from(CORNERS) * std::f64::consts::TAU;
        (x + radius * angle.cos(), y - radius * angle.sin())
    };
    (0..CORNERS).map(corner).collect()
}

/// Something to draw on.
pub(super) trait Paper {
    /// Straight lines from point to point, back to the first where `closed`.
    fn path(&mut self, points: &[Point], closed: bool, ink: Ink<'_>);

    /// A disc, as a polygon.
    fn disc(&mut self, centre: Point, radius: f64, colour: &str) {
        self.path(&corners(centre, radius), true, Ink::fill(colour));
    }

    /// A text whose baseline passes through a point.
    fn text(&mut self, at: Point, text: &Text<'_>);

    /// A rectangle from its left upper corner.
    fn rectangle(&mut self, (x, y): Point, (width, height): (f64, f64), ink: Ink<'_>) {
        self.path(&[(x, y), (x + width, y), (x + width, y + height), (x, y + height)], true, ink);
    }
}
