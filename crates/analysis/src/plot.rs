//! The numbers of a figure as a picture. Nothing is computed here but places on the paper.

use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};

use resvg::{tiny_skia, usvg};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::table::short;

/// How an axis runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Evenly.
    Linear,
    /// By powers of two.
    Log2,
    /// By powers of ten.
    Log10,
}

/// An axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// What stands along it, with its unit.
    pub label: String,
    /// How it runs.
    pub scale: Scale,
}

impl Axis {
    /// An axis.
    pub fn new(label: &str, scale: Scale) -> Axis {
        Axis { label: label.to_owned(), scale }
    }
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mark {
    /// Points joined in their order.
    Line,
    /// Points alone, with their labels.
    Points,
    /// Steps as wide as the points are apart, down to zero: a histogram.
    Steps,
}

/// Numbers that belong together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// How it is drawn.
    pub mark: Mark,
    /// x and y.
    pub points: Vec<(f64, f64)>,
    /// A label for each point, or none.
    pub labels: Vec<String>,
}

/// A figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// File name and anchor.
    pub name: String,
    /// Its heading.
    pub title: String,
    /// What it shows, in words.
    pub text: String,
    /// Along the bottom.
    pub x: Axis,
    /// Up the side.
    pub y: Axis,
    /// What is drawn.
    pub series: Vec<Series>,
}

impl Figure {
    /// As CSV: series, x, y, label.
    pub fn csv(&self) -> String {
        let mut table =
            crate::table::Table::new(&self.name, "", "", &["series", &self.x.label, &self.y.label, "label"]);
        for series in &self.series {
            for (index, (x, y)) in series.points.iter().enumerate() {
                let label = series.labels.get(index).map_or("", String::as_str);
                table.row(crate::cells![series.name.as_str(), *x, *y, label]);
            }
        }
        table.csv()
    }

    /// As SVG: 520 × 360, as wide as what holds it; the font is what the reader has.
    pub fn svg(&self) -> String {
        Drawing::new(self).svg()
    }

    /// The same drawing as PNG, three pixels to a unit.
    pub fn png(&self) -> Result<Vec<u8>, Error> {
        let wrong = |problem: String| Error::Picture { figure: self.name.clone(), problem };
        let options =
            usvg::Options { fontdb: FONTS.clone(), font_family: "Ubuntu".to_owned(), ..Default::default() };
        let tree = usvg::Tree::from_str(&self.svg(), &options).map_err(|error| wrong(error.to_string()))?;
        let (width, height) = (WIDTH as u32 * ZOOM, HEIGHT as u32 * ZOOM);
        let mut pixmap = tiny_skia::Pixmap::new(width, height).ok_or_else(|| wrong("no room".to_owned()))?;
        let zoom = tiny_skia::Transform::from_scale(ZOOM as f32, ZOOM as f32);
        resvg::render(&tree, zoom, &mut pixmap.as_mut());
        pixmap.encode_png().map_err(|error| wrong(error.to_string()))
    }
}

/// The one font that PNG files are drawn with.
static FONTS: LazyLock<Arc<usvg::fontdb::Database>> = LazyLock::new(|| {
    let mut fonts = usvg::fontdb::Database::new();
    fonts.load_font_data(epaint_default_fonts::UBUNTU_LIGHT.to_vec());
    let family = fonts.faces().next().and_then(|face| face.families.first()).map(|(name, _)| name.clone());
    fonts.set_sans_serif_family(family.unwrap_or_default());
    Arc::new(fonts)
});

const ZOOM: u32 = 3;
const WIDTH: f64 = 520.0;
const HEIGHT: f64 = 360.0;
/// Left, right, bottom of the plot.
const LEFT: f64 = 66.0;
const RIGHT: f64 = WIDTH - 14.0;
const BOTTOM: f64 = HEIGHT - 52.0;
/// Told apart by those who see fewer colours, too (Okabe and Ito).
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#444444"];

/// A figure on its way onto paper.
struct Drawing<'f> {
    figure: &'f Figure,
    x: Range,
    y: Range,
    top: f64,
}

/// The part of an axis that is shown.
#[derive(Clone, Copy)]
struct Range {
    scale: Scale,
    /// Both ends, in the logarithm where there is one.
    from: f64,
    to: f64,
}

impl Range {
    fn of(scale: Scale, values: impl Iterator<Item = f64>, with_zero: bool) -> Range {
        let at = |value: f64| match scale {
            Scale::Linear => Some(value),
            Scale::Log2 => (value > 0.0).then(|| value.log2()),
            Scale::Log10 => (value > 0.0).then(|| value.log10()),
        };
        let (mut from, mut to) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter_map(at).filter(|value| value.is_finite()) {
            (from, to) = (from.min(value), to.max(value));
        }
        if with_zero && scale == Scale::Linear {
            (from, to) = (from.min(0.0), to.max(0.0));
        }
        if from > to {
            (from, to) = (0.0, 1.0);
        }
        if to - from < 1e-12 * to.abs().max(1e-300) {
            (from, to) = (from - 0.5, to + 0.5);
        }
        let room = 0.04 * (to - from);
        let from = if with_zero && from == 0.0 { from } else { from - room };
        Range { scale, from, to: to + room }
    }

    /// From 0 to 1; `None` for what has no place.
    fn place(&self, value: f64) -> Option<f64> {
        let value = match self.scale {
            Scale::Linear => value,
            Scale::Log2 => value.log2(),
            Scale::Log10 => value.log10(),
        };
        value.is_finite().then(|| ((value - self.from) / (self.to - self.from)).clamp(-0.02, 1.02))
    }

    /// Values with a tick, and what stands beside it.
    fn ticks(&self, most: usize) -> Vec<(f64, String)> {
        let span = self.to - self.from;
        match self.scale {
            Scale::Linear => {
                let step = crate::bias::nice(span / most as f64);
                let first = (self.from / step).ceil() as i64;
                let last = (self.to / step).floor() as i64;
                (first..=last).map(|tick| tick as f64 * step).map(|value| (value, short(value))).collect()
            }
            Scale::Log2 | Scale::Log10 => {
                let step = (span / most as f64).ceil().max(1.0) as i64;
                let (first, last) = (self.from.ceil() as i64, self.to.floor() as i64);
                let ticks = (first..=last).filter(|tick| tick.rem_euclid(step) == 0);
                ticks
                    .map(|tick| match self.scale {
                        Scale::Log2 if (0..=17).contains(&tick) => {
                            ((tick as f64).exp2(), (1i64 << tick).to_string())
                        }
                        Scale::Log2 => ((tick as f64).exp2(), format!("2^{tick}")),
                        _ => (10f64.powi(tick as i32), format!("1e{tick}")),
                    })
                    .collect()
            }
        }
    }
}

impl<'f> Drawing<'f> {
    fn new(figure: &'f Figure) -> Drawing<'f> {
        let points = || figure.series.iter().flat_map(|series| &series.points);
        let steps = figure.series.iter().any(|series| series.mark == Mark::Steps);
        Drawing {
            figure,
            x: Range::of(figure.x.scale, points().map(|point| point.0), false),
            y: Range::of(figure.y.scale, points().map(|point| point.1), steps),
            top: 12.0 + 17.0 * figure.series.len().div_ceil(2) as f64,
        }
    }

    fn at(&self, (x, y): (f64, f64)) -> Option<(f64, f64)> {
        let (x, y) = (self.x.place(x)?, self.y.place(y)?);
        Some((LEFT + x * (RIGHT - LEFT), BOTTOM - y * (BOTTOM - self.top)))
    }

    fn svg(&self) -> String {
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
             role=\"img\" aria-label=\"{}\" font-family=\"system-ui, sans-serif\" font-size=\"13\" fill=\"#222\">\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n",
            escaped(&self.figure.title)
        );
        self.axes(&mut svg);
        for (index, series) in self.figure.series.iter().enumerate() {
            self.series(&mut svg, series, COLOURS[index % COLOURS.len()]);
        }
        self.legend(&mut svg);
        svg + "</svg>\n"
    }

    fn axes(&self, svg: &mut String) {
        let (top, middle) = (self.top, (LEFT + RIGHT) / 2.0);
        for (value, label) in self.x.ticks(7) {
            let Some(x) = self.x.place(value).map(|x| LEFT + x * (RIGHT - LEFT)) else { continue };
            let _ = writeln!(svg, "<path d=\"M{x:.1} {top:.1}V{BOTTOM}\" stroke=\"#e4e4e4\"/>");
            let _ = writeln!(
                svg,
                "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
                BOTTOM + 17.0
            );
        }
        for (value, label) in self.y.ticks(6) {
            let Some(y) = self.y.place(value).map(|y| BOTTOM - y * (BOTTOM - top)) else { continue };
            let _ = writeln!(svg, "<path d=\"M{LEFT} {y:.1}H{RIGHT}\" stroke=\"#e4e4e4\"/>");
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
                LEFT - 6.0,
                y + 4.0
            );
        }
        let height = BOTTOM - top;
        let _ = writeln!(
            svg,
            "<rect x=\"{LEFT}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{height:.1}\" fill=\"none\" stroke=\"#888\"/>",
            RIGHT - LEFT
        );
        let _ = writeln!(
            svg,
            "<text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            HEIGHT - 12.0,
            escaped(&self.figure.x.label)
        );
        let side = (top + BOTTOM) / 2.0;
        let _ = writeln!(
            svg,
            "<text transform=\"translate(14 {side:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            escaped(&self.figure.y.label)
        );
    }

    fn series(&self, svg: &mut String, series: &Series, colour: &str) {
        let places: Vec<(f64, f64)> = series.points.iter().filter_map(|point| self.at(*point)).collect();
        match series.mark {
            Mark::Line => {
                let path: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
                if !path.is_empty() {
                    let path = path.join("L");
                    let _ = writeln!(
                        svg,
                        "<path d=\"M{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>"
                    );
                }
                for (x, y) in places {
                    let _ =
                        writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.6\" fill=\"{colour}\"/>");
                }
            }
            Mark::Points => self.points(svg, series, colour),
            Mark::Steps => {
                let Some([first, second]) = places.first_chunk::<2>() else { return };
                let half = (second.0 - first.0) / 2.0;
                let ground = self.at((series.points[0].0, 0.0)).map_or(BOTTOM, |(_, y)| y);
                let mut path = format!("M{:.1} {ground:.1}", first.0 - half);
                for (x, y) in &places {
                    let _ = write!(path, "L{:.1} {y:.1}L{:.1} {y:.1}", x - half, x + half);
                }
                let end = places.last().map_or(RIGHT, |(x, _)| x + half);
                let _ = writeln!(
                    svg,
                    "<path d=\"{path}L{end:.1} {ground:.1}Z\" fill=\"{colour}\" fill-opacity=\"0.18\" stroke=\"{colour}\" stroke-width=\"1.6\"/>"
                );
            }
        }
    }

    /// Points, each with its label on the side where there is room, and none above another.
    fn points(&self, svg: &mut String, series: &Series, colour: &str) {
        let mut taken: Vec<(f64, f64)> = Vec::new();
        for (index, point) in series.points.iter().enumerate() {
            let Some((x, y)) = self.at(*point) else { continue };
            let _ = writeln!(
                svg,
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"8\" height=\"8\" transform=\"rotate(45 {x:.1} {y:.1})\" fill=\"{colour}\" stroke=\"#fff\"/>",
                x - 4.0,
                y - 4.0
            );
            let Some(label) = series.labels.get(index).filter(|label| !label.is_empty()) else { continue };
            let (anchor, offset) = if x > RIGHT - 120.0 { ("end", -8.0) } else { ("start", 8.0) };
            let mut line = y - 6.0;
            while taken
                .iter()
                .any(|(x_taken, y_taken)| (x_taken - x).abs() < 110.0 && (y_taken - line).abs() < 13.0)
            {
                line -= 13.0;
            }
            taken.push((x, line));
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{line:.1}\" text-anchor=\"{anchor}\" font-size=\"11\">{}</text>",
                x + offset,
                escaped(label)
            );
        }
    }

    fn legend(&self, svg: &mut String) {
        for (index, series) in self.figure.series.iter().enumerate() {
            let x = LEFT + (index % 2) as f64 * (RIGHT - LEFT) / 2.0;
            let y = 12.0 + 17.0 * (index / 2) as f64;
            let _ = writeln!(
                svg,
                "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"12\" height=\"5\" fill=\"{}\"/><text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                y - 5.0,
                COLOURS[index % COLOURS.len()],
                x + 17.0,
                y + 1.5,
                escaped(&series.name)
            );
        }
    }
}

/// Text for XML.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
