//! A drawing as PNG, with a font of its own, so that it is the same on every machine.
//!
//! The file is written here: the crate `png` 0.18.1 would save 25 lines and add 6 s of processor time and five crates to a first
//! build. So are lines and fills: `tiny-skia` 0.12.0 would save 60 lines and add 5.4 s and six crates.

use ab_glyph_rasterizer::{Point as Spot, Rasterizer, point};

use super::font;
use super::paper::{HEIGHT, INK, Ink, Paper, Point, Text, WIDTH, corners};

/// Pixels to a unit of the drawing.
const ZOOM: f64 = 3.0;
/// Bytes of a pixel: red, green, blue.
const CHANNELS: usize = 3;
/// How hard is tried to make the file small, 0 to 10.
const EFFORT: u8 = 6;

/// A drawing under construction.
pub(super) struct Png {
    width: usize,
    height: usize,
    /// Row by row from the top.
    pixels: Vec<u8>,
}

impl Png {
    /// A white one.
    pub(super) fn new() -> Png {
        let (width, height) = ((WIDTH * ZOOM) as usize, (HEIGHT * ZOOM) as usize);
        Png { width, height, pixels: vec![0xff; width * height * CHANNELS] }
    }

    /// The file: 8 bits a channel, no filter (PNG, third edition).
    pub(super) fn finish(self) -> Vec<u8> {
        let mut header = Vec::new();
        header.extend((self.width as u32).to_be_bytes());
        header.extend((self.height as u32).to_be_bytes());
        header.extend([8, 2, 0, 0, 0]); // depth, RGB, deflate, filters of method 0, not interlaced
        let rows = self.pixels.chunks(self.width * CHANNELS);
        let filtered: Vec<u8> = rows.flat_map(|row| [&[0], row].concat()).collect();
        let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
        chunk(&mut file, b"IHDR", &header);
        chunk(&mut file, b"IDAT", &miniz_oxide::deflate::compress_to_vec_zlib(&filtered, EFFORT));
        chunk(&mut file, b"IEND", &[]);
        file
    }

    /// Fills what closed lines enclose. What lies outside of the paper is left out.
    fn fill(&mut self, outline: &Outline, colour: &str, opacity: f64) {
        let colour = channels(colour);
        let all = || outline.lines.iter().flat_map(|(from, to)| [*from, *to]);
        let least = |of: fn(Spot) -> f32| all().map(of).fold(f32::INFINITY, f32::min).floor();
        let most = |of: fn(Spot) -> f32| all().map(of).fold(f32::NEG_INFINITY, f32::max).ceil();
        let (left, top) = (least(|spot| spot.x), least(|spot| spot.y));
        let (wide, high) = (most(|spot| spot.x) - left + 1.0, most(|spot| spot.y) - top + 1.0);
        if !(wide.is_finite() && high.is_finite()) {
            return;
        }
        let mut rasterizer = Rasterizer::new(wide as usize, high as usize);
        let corner = point(left, top);
        for (from, to) in &outline.lines {
            rasterizer.draw_line(*from - corner, *to - corner);
        }
        let (width, height) = (self.width as i64, self.height as i64);
        rasterizer.for_each_pixel_2d(|x, y, covered| {
            let (x, y) = (i64::from(x) + left as i64, i64::from(y) + top as i64);
            let part = f64::from(covered.min(1.0)) * opacity;
            if part <= 0.0 || !(0..width).contains(&x) || !(0..height).contains(&y) {
                return;
            }
            let start = (y * width + x) as usize * CHANNELS;
            for (pixel, colour) in self.pixels[start..start + CHANNELS].iter_mut().zip(colour) {
                *pixel = (f64::from(*pixel) * (1.0 - part) + f64::from(colour) * part).round() as u8;
            }
        });
    }
}

impl Paper for Png {
    fn path(&mut self, points: &[Point], closed: bool, ink: Ink<'_>) {
        if let Some((colour, opacity)) = ink.fill {
            let mut outline = Outline::default();
            outline.polygon(points);
            self.fill(&outline, colour, opacity);
        }
        let Some((colour, width)) = ink.stroke else { return };
        let mut outline = Outline::default();
        let last = points.last().filter(|_| closed).zip(points.first());
        for (&from, &to) in points.iter().zip(points.iter().skip(1)).chain(last) {
            let (x, y) = (to.0 - from.0, to.1 - from.1);
            let length = x.hypot(y);
            if length == 0.0 {
                continue;
            }
            let (x, y) = (-y / length * width / 2.0, x / length * width / 2.0);
            outline.polygon(&[
                (from.0 + x, from.1 + y),
                (to.0 + x, to.1 + y),
                (to.0 - x, to.1 - y),
                (from.0 - x, from.1 - y),
            ]);
        }
        let joints = if closed { points } else { points.get(1..points.len() - 1).unwrap_or(&[]) };
        // turns as the sides of a line do, so that both together cover what either covers
        for joint in joints {
            outline.polygon(&corners(*joint, width / 2.0));
        }
        self.fill(&outline, colour, 1.0);
    }

    fn text(&mut self, at: Point, text: &Text<'_>) {
        let lines = font::outline(at, text).into_iter().map(|(from, to, _)| (spot(from), spot(to)));
        self.fill(&Outline { lines: lines.collect() }, INK, 1.0);
    }
}

/// Closed lines, in pixels.
#[derive(Default)]
struct Outline {
    lines: Vec<(Spot, Spot)>,
}

impl Outline {
    fn polygon(&mut self, points: &[Point]) {
        let spots = || points.iter().map(|point| spot(*point));
        self.lines.extend(spots().zip(spots().cycle().skip(1)));
    }
}

fn spot((x, y): Point) -> Spot {
    point((x * ZOOM) as f32, (y * ZOOM) as f32)
}

/// Red, green and blue of `#rrggbb` or `#rgb`; black of anything else.
pub(super) fn channels(colour: &str) -> [u8; CHANNELS] {
    let digits = colour.trim_start_matches('#');
    let number = u32::from_str_radix(digits, 16).unwrap_or(0);
    match digits.len() {
        3 => [number >> 8, number >> 4 & 15, number & 15].map(|digit| digit as u8 * 17),
        _ => [number >> 16, number >> 8, number].map(|channel| channel as u8),
    }
}

/// Length, type, content, and the CRC of type and content.
fn chunk(file: &mut Vec<u8>, kind: &[u8; 4], content: &[u8]) {
    file.extend((content.len() as u32).to_be_bytes());
    let start = file.len();
    file.extend(kind);
    file.extend(content);
    let crc = crc(&file[start..]);
    file.extend(crc.to_be_bytes());
}

/// CRC-32 (PNG, third edition, annex D).
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 * (crc & 1)))
    })
}

#[cfg(test)]
mod tests {
    use super::super::paper::Anchor;
    use super::*;

    /// Pixels of a file, each chunk checked against its sums.
    fn decoded(file: &[u8]) -> (usize, usize, Vec<[u8; 3]>) {
        assert_eq!(&file[..8], b"\x89PNG\r\n\x1a\n");
        let word = |at: usize| u32::from_be_bytes(file[at..at + 4].try_into().unwrap());
        let (mut at, mut data) = (8, Vec::new());
        while at < file.len() {
            let length = word(at) as usize;
            let content = &file[at + 8..at + 8 + length];
            assert_eq!(word(at + 8 + length), crc(&file[at + 4..at + 8 + length]));
            if &file[at + 4..at + 8] == b"IDAT" {
                data = miniz_oxide::inflate::decompress_to_vec_zlib(content).unwrap();
            }
            at += 12 + length;
        }
        let (width, height) = (word(16) as usize, word(20) as usize);
        let rows = data.chunks(1 + 3 * width);
        let pixels = rows.flat_map(|row| {
            assert_eq!(row[0], 0);
            row[1..].chunks(3).map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect::<Vec<_>>()
        });
        (width, height, pixels.collect())
    }

    #[test]
    fn the_sum_of_a_known_text() {
        assert_eq!(crc(b"123456789"), 0xcbf4_3926); // the check value of CRC-32
        assert_eq!(crc(b"IEND"), 0xae42_6082); // as every PNG file ends
    }

    #[test]
    fn shapes_cover_what_they_enclose() {
        let mut png = Png::new();
        png.rectangle((10.0, 20.0), (30.0, 40.0), Ink::fill("#0072b2"));
        png.rectangle((100.0, 20.0), (30.0, 40.0), Ink { fill: Some(("#000000", 0.5)), stroke: None });
        png.path(&[(200.0, 100.0), (300.0, 100.0)], false, Ink::stroke("#d55e00", 2.0));
        png.disc((400.0, 100.0), 10.0, "#ff0000");
        png.rectangle((-50.0, -50.0), (52.0, 52.0), Ink::fill("#00ff00")); // most of it outside
        let (width, height, pixels) = decoded(&png.finish());
        assert_eq!((width, height), (1560, 1080));
        let at = |x: f64, y: f64| pixels[(y * 3.0) as usize * width + (x * 3.0) as usize];
        let (white, blue) = ([255; 3], [0, 0x72, 0xb2]);
        for (x, y, colour) in [
            (10.0, 20.0, blue),
            (39.9, 59.9, blue),
            (9.9, 30.0, white),
            (40.1, 30.0, white),
            (25.0, 60.1, white),
            (110.0, 30.0, [128; 3]),
            (250.0, 99.1, [0xd5, 0x5e, 0]),
            (250.0, 100.9, [0xd5, 0x5e, 0]),
            (250.0, 98.5, white),
            (199.0, 100.0, white),
            (408.0, 100.0, [255, 0, 0]),
            (408.0, 108.0, white),
            (1.0, 1.0, [0, 255, 0]),
            (3.0, 1.0, white),
        ] {
            assert_eq!(at(x, y), colour, "at {x}, {y}");
        }
    }

    /// Where ink is: left, right, top, bottom, in units.
    fn inked(anchor: Anchor, upward: bool) -> [f64; 4] {
        let mut png = Png::new();
        png.text((200.0, 200.0), &Text { content: "HHH", size: 30.0, anchor, upward });
        let (width, _, pixels) = decoded(&png.finish());
        let dark: Vec<usize> = (0..pixels.len()).filter(|index| pixels[*index][0] < 128).collect();
        assert!(!dark.is_empty());
        let (x, y) = (dark.iter().map(|index| index % width), dark.iter().map(|index| index / width));
        [x.clone().min(), x.max(), y.clone().min(), y.max()].map(|end| end.unwrap() as f64 / 3.0)
    }

    #[test]
    fn texts_stand_where_they_are_anchored() {
        let [left, right, top, bottom] = inked(Anchor::Start, false);
        assert!(left > 200.0 && right > 240.0 && right < 290.0, "{left} to {right}");
        assert!((bottom - 200.0).abs() < 1.0 && (175.0..183.0).contains(&top), "{top} to {bottom}");
        let [left, right, ..] = inked(Anchor::Middle, false);
        assert!(((left + right) / 2.0 - 200.0).abs() < 1.0);
        assert!(inked(Anchor::End, false)[1] < 200.0);
        let [left, right, top, bottom] = inked(Anchor::Start, true);
        assert!((right - 200.0).abs() < 1.0 && (175.0..183.0).contains(&left), "{left} to {right}");
        assert!(bottom < 200.0 && top > 110.0 && top < 160.0, "{top} to {bottom}");
    }
}
