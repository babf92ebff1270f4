//! The numbers of a figure as a picture. Nothing is computed here but places on the paper.

use serde::{Deserialize, Serialize};

use self::labels::Taken;
use self::paper::{Anchor, FONT, HEIGHT, Ink, Paper, Point, Text, WIDTH};
use crate::table::short;

mod font;
mod labels;
mod paper;
mod pdf;
mod png;
mod svg;

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

impl Scale {
    /// Where a number is along it; not finite where it has no place.
    fn at(self, value: f64) -> f64 {
        match self {
            Scale::Linear => value,
            Scale::Log2 => value.log2(),
            Scale::Log10 => value.log10(),
        }
    }
}

/// An axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// What is along it, with its unit.
    pub label: String,
    /// How it runs.
    pub scale: Scale,
    /// What is at 0, 1, 2, …, where these are no numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
}

impl Axis {
    /// An axis of numbers.
    pub fn new(label: &str, scale: Scale) -> Axis {
        Axis { label: label.to_owned(), scale, names: Vec::new() }
    }

    /// Values with a tick in a range, and the label of each: `most` numbers, or fewer names.
    fn ticks(&self, range: &Range, most: usize) -> Vec<(f64, String)> {
        let count = self.names.len();
        if count == 0 {
            return range.ticks(most);
        }
        let step =
            if self.names.iter().all(|name| name.len() < 6) { count.div_ceil(11) } else { count.div_ceil(4) };
        let ticks = self.names.iter().enumerate().step_by(step);
        ticks.map(|(place, name)| (place as f64, last_of(name))).collect()
    }
}

/// Letters of a name at an axis.
const LETTERS: usize = 16;

/// A name, or the end of one that is long.
fn last_of(name: &str) -> String {
    let count = name.chars().count();
    if count <= LETTERS {
        name.to_owned()
    } else {
        "…".to_owned() + &name.chars().skip(count - LETTERS).collect::<String>()
    }
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mark {
    /// Points joined in their order.
    Line,
    /// The same in dashes and without points, in the color of the series before: its bound, its error.
    Dashes,
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
    /// The sampling error of each y, drawn as a bar to both sides of it, or none.
    pub errors: Vec<f64>,
    /// A label for each point, or none.
    pub labels: Vec<String>,
}

impl Series {
    /// Points without sampling errors and labels.
    pub fn new(name: impl Into<String>, mark: Mark, points: Vec<(f64, f64)>) -> Series {
        Series { name: name.into(), mark, points, errors: Vec::new(), labels: Vec::new() }
    }

    /// The ends of the bar of a point; `None` where it has no sampling error.
    fn bar(&self, index: usize) -> Option<[f64; 2]> {
        let (error, y) = (self.errors.get(index)?, self.points.get(index)?.1);
        (*error > 0.0).then_some([y - error, y + error])
    }
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
    /// As CSV: series, x, y, the sampling error of y, label.
    pub fn csv(&self) -> String {
        let columns = ["series", &self.x.label, &self.y.label, "sampling error", "label"];
        let mut table = crate::table::Table::new(&self.name, "", "", columns);
        for series in &self.series {
            for (index, (x, y)) in series.points.iter().enumerate() {
                let label = series.labels.get(index).map_or("", String::as_str);
                let error = series.errors.get(index).copied();
                table.row(crate::cells![series.name.as_str(), *x, *y, error, label]);
            }
        }
        table.csv()
    }

    /// As SVG: 520 × 360, as wide as what holds it; what it says are outlines of the font of the other two.
    pub fn svg(&self) -> String {
        let mut svg = svg::Svg::new(&self.name, &self.title);
        Drawing::new(self).draw(&mut svg);
        svg.finish()
    }

    /// The same drawing as PDF, for papers: all of it curves.
    pub fn pdf(&self) -> Vec<u8> {
        let mut pdf = pdf::Pdf::default();
        Drawing::new(self).draw(&mut pdf);
        pdf.finish()
    }

    /// The same drawing as PNG, three pixels to a unit.
    pub fn png(&self) -> Vec<u8> {
        let mut png = png::Png::new();
        Drawing::new(self).draw(&mut png);
        png.finish()
    }
}

/// Left, right, bottom of the plot.
const LEFT: f64 = 66.0;
const RIGHT: f64 = WIDTH - 14.0;
const BOTTOM: f64 = HEIGHT - 52.0;
/// Height of the font of labels.
const SMALL: f64 = 11.0;
/// Colors of lines across the plot, and of its frame.
const GRID: &str = "#e4e4e4";
const FRAME: &str = "#888888";
/// Told apart by those who see fewer colors, too (Okabe and Ito).
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
        let (mut from, mut to) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.map(|value| scale.at(value)).filter(|value| value.is_finite()) {
            (from, to) = (from.min(value), to.max(value));
        }
        if with_zero && scale == Scale::Linear {
            (from, to) = (from.min(0.0), to.max(0.0));
        }
        if from > to {
            (from, to) = (0.0, 1.0);
        }
        if to - from < 1e-12 * to.abs().max(1e-300) {
            // nothing is no reason for numbers below
            (from, to) = if from == 0.0 { (0.0, 1.0) } else { (from - 0.5, to + 0.5) };
        }
        let room = 0.04 * (to - from);
        let from = if with_zero && from == 0.0 { from } else { from - room };
        Range { scale, from, to: to + room }
    }

    /// From 0 to 1; `None` for what has no place.
    fn place(&self, value: f64) -> Option<f64> {
        let value = self.scale.at(value);
        value.is_finite().then(|| ((value - self.from) / (self.to - self.from)).clamp(-0.02, 1.02))
    }

    /// Values with a tick, and the label of each.
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
                let is_short = first >= -2 && last <= 3;
                if self.scale == Scale::Log10 && span < 2.0 {
                    // hardly a power of ten: its multiples, too
                    let multiples = (first - 1..=last).flat_map(|tick| [1, 2, 5].map(|by| (by, tick)));
                    let ticks = multiples.map(|(by, tick)| {
                        (f64::from(by) * 10f64.powi(tick as i32), scientific(by, tick, is_short))
                    });
                    return ticks
                        .filter(|(value, _)| (self.from..=self.to).contains(&value.log10()))
                        .collect();
                }
                ticks
                    .map(|tick| match self.scale {
                        Scale::Log2 if (0..=17).contains(&tick) => {
                            ((tick as f64).exp2(), (1i64 << tick).to_string())
                        }
                        Scale::Log2 => ((tick as f64).exp2(), format!("2^{tick}")),
                        _ => (10f64.powi(tick as i32), scientific(1, tick, is_short)),
                    })
                    .collect()
            }
        }
    }
}

/// `10^-5`, `2·10^-5`; where the axis is `short`, `0.02`.
fn scientific(by: i32, power: i64, is_short: bool) -> String {
    match (by, power) {
        _ if is_short || power == 0 => short(f64::from(by) * 10f64.powi(power as i32)),
        (1, _) => format!("10^{power}"),
        _ => format!("{by}·10^{power}"),
    }
}

impl<'f> Drawing<'f> {
    fn new(figure: &'f Figure) -> Drawing<'f> {
        let points = || figure.series.iter().flat_map(|series| &series.points);
        let ends = figure
            .series
            .iter()
            .flat_map(|series| (0..series.points.len()).filter_map(|index| series.bar(index)).flatten());
        let steps = figure.series.iter().any(|series| series.mark == Mark::Steps);
        let mut drawing = Drawing {
            figure,
            x: Range::of(figure.x.scale, points().map(|point| point.0), false),
            y: Range::of(figure.y.scale, points().map(|point| point.1).chain(ends), steps),
            top: 0.0,
        };
        drawing.top = 12.0 + 17.0 * drawing.named().count().div_ceil(drawing.columns()) as f64;
        drawing
    }

    fn at(&self, (x, y): Point) -> Option<Point> {
        let (x, y) = (self.x.place(x)?, self.y.place(y)?);
        Some((LEFT + x * (RIGHT - LEFT), BOTTOM - y * (BOTTOM - self.top)))
    }

    fn draw(&self, paper: &mut dyn Paper) {
        self.axes(paper);
        for (index, series) in self.figure.series.iter().enumerate() {
            self.series(paper, series, self.colour(index));
        }
        self.legend(paper);
    }

    fn axes(&self, paper: &mut dyn Paper) {
        let (top, middle) = (self.top, (LEFT + RIGHT) / 2.0);
        for (value, label) in self.figure.x.ticks(&self.x, 7) {
            let Some(x) = self.x.place(value).map(|x| LEFT + x * (RIGHT - LEFT)) else { continue };
            paper.path(&[(x, top), (x, BOTTOM)], false, Ink::stroke(GRID, 1.0));
            let half = font::width(&label, FONT) / 2.0;
            paper.text((x.min(WIDTH - half), BOTTOM + 17.0), &Text::new(&label, Anchor::Middle));
        }
        for (value, label) in self.figure.y.ticks(&self.y, 6) {
            let Some(y) = self.y.place(value).map(|y| BOTTOM - y * (BOTTOM - top)) else { continue };
            paper.path(&[(LEFT, y), (RIGHT, y)], false, Ink::stroke(GRID, 1.0));
            paper.text((LEFT - 6.0, y + 4.0), &Text::new(&label, Anchor::End));
        }
        paper.rectangle((LEFT, top), (RIGHT - LEFT, BOTTOM - top), Ink::stroke(FRAME, 1.0));
        paper.text((middle, HEIGHT - 12.0), &Text::new(&self.figure.x.label, Anchor::Middle));
        let upward = Text { upward: true, ..Text::new(&self.figure.y.label, Anchor::Middle) };
        paper.text((14.0, (top + BOTTOM) / 2.0), &upward);
    }

    fn series(&self, paper: &mut dyn Paper, series: &Series, colour: &str) {
        let places: Vec<Point> = series.points.iter().filter_map(|point| self.at(*point)).collect();
        match series.mark {
            Mark::Line => {
                // one that lies on others is dashed, so that all are seen
                let before = self.figure.series.iter().take_while(|other| !std::ptr::eq(*other, series));
                let below = before.filter(|other| other.mark == Mark::Line && other.points == series.points);
                match below.count() {
                    _ if places.is_empty() => {}
                    0 => paper.path(&places, false, Ink::stroke(colour, 2.0)),
                    below => {
                        for dash in dashes(&places, (8.0 / below as f64, 8.0)) {
                            paper.path(&dash, false, Ink::stroke(colour, 2.0));
                        }
                    }
                }
                for place in places {
                    paper.disc(place, 2.6, colour);
                }
            }
            Mark::Dashes => {
                for dash in dashes(&places, DASH) {
                    paper.path(&dash, false, Ink::stroke(colour, 1.2));
                }
            }
            Mark::Points => self.points(paper, series, colour),
            Mark::Steps => {
                let Some([first, second]) = places.first_chunk::<2>() else { return };
                let half = (second.0 - first.0) / 2.0;
                let ground = self.at((series.points[0].0, 0.0)).map_or(BOTTOM, |(_, y)| y);
                let mut path = vec![(first.0 - half, ground)];
                path.extend(places.iter().flat_map(|(x, y)| [(x - half, *y), (x + half, *y)]));
                path.push((places.last().map_or(RIGHT, |(x, _)| x + half), ground));
                paper.path(&path, true, Ink { fill: Some((colour, 0.18)), stroke: Some((colour, 1.6)) });
            }
        }
        for bar in self.bars(series) {
            paper.path(&bar, false, Ink::stroke(colour, 1.2));
        }
    }

    /// The bars of a series' sampling errors, with a short line across each end; one that reaches below the axis ends there.
    fn bars(&self, series: &Series) -> Vec<[Point; 6]> {
        let bar = |(index, point): (usize, &Point)| {
            let [lower, upper] = series.bar(index)?;
            let (x, top) = self.at((point.0, upper))?;
            let bottom = self.at((point.0, lower)).map_or(BOTTOM, |(_, y)| y.min(BOTTOM));
            let [left, right] = [x - CAP, x + CAP];
            Some([(left, top), (right, top), (x, top), (x, bottom), (left, bottom), (right, bottom)])
        };
        series.points.iter().enumerate().filter_map(bar).collect()
    }

    /// Points, each with its label at the nearest place that is free; a thin line leads to one that is far.
    fn points(&self, paper: &mut dyn Paper, series: &Series, colour: &str) {
        let mut taken = Taken::default();
        for other in &self.figure.series {
            let places: Vec<Point> = other.points.iter().filter_map(|point| self.at(*point)).collect();
            match other.mark {
                Mark::Points => places.iter().for_each(|(x, y)| {
                    taken.area([x - REACH, y - REACH, x + REACH, y + REACH]);
                }),
                _ => taken.curve(&places),
            }
            self.bars(other).iter().for_each(|bar| taken.curve(bar));
        }
        let frame = [LEFT + 2.0, self.top + 2.0, RIGHT - 2.0, BOTTOM - 2.0];
        for (index, point) in series.points.iter().enumerate() {
            let Some((x, y)) = self.at(*point) else { continue };
            let corners = [(x - REACH, y), (x, y - REACH), (x + REACH, y), (x, y + REACH)];
            paper.path(&corners, true, Ink { fill: Some((colour, 1.0)), stroke: Some(("#ffffff", 1.0)) });
            let Some(label) = series.labels.get(index).filter(|label| !label.is_empty()) else { continue };
            let size = (font::width(label, SMALL), SMALL);
            let Some([left, top, right, bottom]) = taken.place((x, y), size, frame) else { continue };
            let nearest = (x.clamp(left, right), y.clamp(top, bottom));
            if (nearest.0 - x).hypot(nearest.1 - y) > FAR {
                paper.path(&[(x, y), nearest], false, Ink::stroke(FRAME, 0.6));
            }
            let text = Text { size: SMALL, ..Text::new(label, Anchor::Start) };
            paper.text((left, bottom - 0.2 * SMALL), &text);
        }
    }

    fn legend(&self, paper: &mut dyn Paper) {
        for (place, (index, series)) in self.named().enumerate() {
            let columns = self.columns();
            let x = LEFT + (place % columns) as f64 * (RIGHT - LEFT) / columns as f64;
            let y = 12.0 + 17.0 * (place / columns) as f64;
            let colour = self.colour(index);
            paper.rectangle((x, y - 5.0), (12.0, 5.0), Ink::fill(colour));
            paper.text((x + 17.0, y + 1.5), &Text::new(&series.name, Anchor::Start));
        }
    }

    /// Series of the legend: all but the dashed ones, which have the colour of the one before; none where there is one.
    fn named(&self) -> impl Iterator<Item = (usize, &'f Series)> {
        let all = self.figure.series.iter().enumerate().filter(|(_, series)| series.mark != Mark::Dashes);
        let is_alone = all.clone().count() == 1;
        all.filter(move |_| !is_alone)
    }

    /// Columns of the legend: one where a name is too long for two.
    fn columns(&self) -> usize {
        let room = (RIGHT - LEFT) / 2.0 - 22.0;
        1 + usize::from(self.named().all(|(_, series)| font::width(&series.name, FONT) <= room))
    }

    fn colour(&self, index: usize) -> &'static str {
        let before = self.figure.series[..=index].iter().filter(|series| series.mark != Mark::Dashes);
        COLOURS[before.count().saturating_sub(1) % COLOURS.len()]
    }
}

/// Half the diagonal of a mark: a square of 8 that stands on a corner.
const REACH: f64 = 4.0 * std::f64::consts::SQRT_2;
/// A label further off than the nearest places has a line to its point.
const FAR: f64 = 9.0;
/// Half the length of the line across the end of a bar.
const CAP: f64 = 2.0;
/// Lengths of a dash and of the gap after it.
const DASH: (f64, f64) = (5.0, 4.0);

/// The dashes of a line, so long and so far apart.
fn dashes(places: &[Point], (long, gap): (f64, f64)) -> Vec<[Point; 2]> {
    let mut found = Vec::new();
    let mut done = 0.0; // of the line so far
    for (from, to) in places.iter().zip(places.iter().skip(1)) {
        let length = (to.0 - from.0).hypot(to.1 - from.1);
        let at = |part: f64| {
            let part = (part / length).clamp(0.0, 1.0);
            (from.0 + (to.0 - from.0) * part, from.1 + (to.1 - from.1) * part)
        };
        let period = long + gap;
        let mut start = -(done % period);
        while length > 0.0 && start < length {
            if start + long > 0.0 {
                found.push([at(start), at(start + long)]);
            }
            start += period;
        }
        done += length;
    }
    found
}
