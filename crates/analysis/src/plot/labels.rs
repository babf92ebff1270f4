//! Where labels go: beside their points, above nothing that is drawn.

use super::paper::Point;

/// Left, top, right, bottom.
pub(super) type Area = [f64; 4];

/// What a label must not cover: curves, marks, and labels that have their place.
#[derive(Default)]
pub(super) struct Taken {
    areas: Vec<Area>,
    lines: Vec<(Point, Point)>,
}

/// Room kept around a label.
const ROOM: f64 = 2.0;
/// Distances from the point that are tried, near ones first, and directions at each.
const DISTANCES: [f64; 9] = [8.0, 13.0, 20.0, 28.0, 38.0, 50.0, 64.0, 80.0, 100.0];
const DIRECTIONS: u32 = 24;

impl Taken {
    /// A curve.
    pub(super) fn curve(&mut self, places: &[Point]) {
        self.lines.extend(places.iter().copied().zip(places.iter().skip(1).copied()));
    }

    /// A mark, or anything else that fills a place.
    pub(super) fn area(&mut self, area: Area) {
        self.areas.push(area);
    }

    /// The nearest free place for a label of that size beside a point, within `frame`; `None` where all are taken.
    pub(super) fn place(&mut self, (x, y): Point, (width, height): (f64, f64), frame: Area) -> Option<Area> {
        let places = DISTANCES.into_iter().flat_map(|distance| {
            (0..DIRECTIONS).map(move |direction| {
                // right first, then to both sides of it
                let turn = f64::from(direction.div_ceil(2)) * if direction % 2 == 0 { 1.0 } else { -1.0 };
                let angle = turn / f64::from(DIRECTIONS) * std::f64::consts::TAU;
                let (along, up) = (angle.cos(), angle.sin());
                // the side of the label that faces the point
                let left = x + along * distance - width * (1.0 - along) / 2.0;
                let top = y - up * distance - height * (1.0 + up) / 2.0;
                [left, top, left + width, top + height]
            })
        });
        let free = |area: &Area| {
            let inside =
                area[0] >= frame[0] && area[1] >= frame[1] && area[2] <= frame[2] && area[3] <= frame[3];
            let wide = [area[0] - ROOM, area[1] - ROOM, area[2] + ROOM, area[3] + ROOM];
            inside
                && !self.areas.iter().any(|other| meet(&wide, other))
                && !self.lines.iter().any(|(from, to)| crosses(*from, *to, &wide))
        };
        let found = places.into_iter().find(free)?;
        self.areas.push(found);
        Some(found)
    }
}

/// Whether two areas have points in common.
fn meet(one: &Area, other: &Area) -> bool {
    one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3]
}

/// Whether a straight line passes through an area (Liang and Barsky).
fn crosses(from: Point, to: Point, area: &Area) -> bool {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let (mut enter, mut leave) = (0.0_f64, 1.0_f64);
    for (step, room) in
        [(-dx, from.0 - area[0]), (dx, area[2] - from.0), (-dy, from.1 - area[1]), (dy, area[3] - from.1)]
    {
        if step == 0.0 {
            if room < 0.0 {
                return false;
            }
        } else if step < 0.0 {
            enter = enter.max(room / step);
        } else {
            leave = leave.min(room / step);
        }
    }
    enter <= leave
}
