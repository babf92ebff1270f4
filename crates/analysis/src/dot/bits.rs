//! Significands written below each other, bit under bit, with a bar where bits fall off.

use bitmma_document::style;
use bitmma_engine::arithmetic::exact::Exact;

/// One number of a picture.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    /// Its exact value.
    pub(super) value: Exact,
    /// Weight of the last bit that is kept, a power of two; `None`: all are.
    pub(super) last: Option<i32>,
}

/// Columns of bits a picture may take before columns that are zero everywhere are left out.
const WIDTH: usize = 38;
/// Bits shown of those that was discarded.
const LOST: i32 = 8;

/// A picture: the heading with the weights of the first and last column, and one text per line.
pub(super) struct Picture {
    /// `2^23` over the units, `2^-2` over the last kept bit.
    pub(super) ruler: String,
    /// The lines, bit under bit.
    pub(super) lines: Vec<String>,
}

/// A column of the picture.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Column {
    /// The bit of this weight.
    Bit(i32),
    /// The binary point, right of the bit of this weight.
    Point,
    /// A bar right of the bit of this weight, for the lines whose last bit it is.
    Bar(i32),
    /// Columns that are zero in every line, left out.
    Gap,
}

fn bit(value: Exact, weight: i32) -> bool {
    let place = weight - value.exponent;
    (0..127).contains(&place) && (value.significand.unsigned_abs() >> place) & 1 == 1
}

/// Weight of the lowest bit that is one.
fn lowest(value: Exact) -> Option<i32> {
    (value.significand != 0).then(|| value.exponent + value.significand.trailing_zeros() as i32)
}

/// The columns from the highest bit of any line, or the units, to the last bit that any line keeps.
fn columns(lines: &[Line], units: i32) -> Vec<Column> {
    let leading = lines.iter().filter_map(|line| line.value.leading_exponent()).max();
    let high = leading.unwrap_or(units).max(units);
    let mut bars: Vec<i32> = lines.iter().filter_map(|line| line.last).collect();
    bars.sort_unstable();
    bars.dedup();
    let low = bars
        .first()
        .copied()
        .or_else(|| lines.iter().filter_map(|line| lowest(line.value)).min())
        .unwrap_or(units)
        .min(units);
    let mut columns = Vec::new();
    for weight in (low..=high).rev() {
        columns.push(Column::Bit(weight));
        if bars.contains(&weight) {
            columns.push(Column::Bar(weight));
        }
        if weight == units {
            columns.push(Column::Point);
        }
    }
    columns
}

/// Leaves out the longest stretches of columns that are zero in every line, until the rest fits.
fn without_gaps(mut columns: Vec<Column>, lines: &[Line]) -> Vec<Column> {
    let empty = |column: &Column| match column {
        Column::Bit(weight) => lines.iter().all(|line| !bit(line.value, *weight)),
        Column::Point | Column::Bar(_) | Column::Gap => false,
    };
    while columns.len() > WIDTH {
        let mut best = 0..0;
        let mut start = 0;
        for index in 0..=columns.len() {
            if index == columns.len() || !empty(&columns[index]) {
                if index - start > best.len() {
                    best = start..index;
                }
                start = index + 1;
            }
        }
        if best.len() < 4 {
            break;
        }
        // one zero stays on each side, so that the gap is seen to lie among zeros
        columns.splice(best.start + 1..best.end - 1, [Column::Gap]);
        if columns.iter().filter(|column| **column == Column::Gap).count() > 3 {
            break;
        }
    }
    columns
}

/// Draws the lines in units of 2^`units`.
pub(super) fn draw(lines: &[Line], units: i32) -> Picture {
    let columns = without_gaps(columns(lines, units), lines);
    Picture {
        ruler: ruler(&columns, units),
        lines: lines.iter().map(|line| draw_line(*line, &columns)).collect(),
    }
}

/// Weights above the units and above the last bit.
fn ruler(columns: &[Column], units: i32) -> String {
    let place = |weight: i32| columns.iter().position(|column| *column == Column::Bit(weight));
    let first = format!("2^{units}");
    let mut text = " ".repeat(1 + place(units).unwrap_or(0)) + &first;
    let low = columns.iter().rev().find_map(|column| match column {
        Column::Bit(weight) => Some(*weight),
        _ => None,
    });
    if let Some(low) = low.filter(|low| *low != units) {
        let last = format!("2^{low}");
        let end = place(low).unwrap_or(0) + 2;
        if end > text.chars().count() + last.len() {
            let gap = end - text.chars().count() - last.len();
            text += &(" ".repeat(gap) + &last);
        }
    }
    text
}

fn draw_line(line: Line, columns: &[Column]) -> String {
    let value = line.value;
    let leading = value.leading_exponent();
    let lowest = lowest(value);
    let mut text = if value.significand < 0 { "-".to_owned() } else { " ".to_owned() };
    let mut zeros = String::new(); // in front of the first one, dimmed
    let mut kept = String::new();
    let mut lost = String::new();
    let is_lost = |weight: i32| line.last.is_some_and(|last| weight < last);
    let mut end = i32::MAX;
    for column in columns {
        match *column {
            Column::Bit(weight) => {
                end = weight;
                let digit = if bit(value, weight) { '1' } else { '0' };
                if is_lost(weight) {
                    let below = lowest.is_none_or(|lowest| weight < lowest);
                    lost.push(if below { ' ' } else { digit });
                } else if leading.is_none_or(|leading| weight > leading) {
                    zeros.push(digit);
                } else {
                    kept.push(digit);
                }
            }
            Column::Gap if !lost.is_empty() => lost.push('…'),
            Column::Bar(weight) if line.last != Some(weight) && !lost.is_empty() => lost.push(' '),
            mark => {
                let whole = if kept.is_empty() { &mut zeros } else { &mut kept };
                whole.push(match mark {
                    Column::Gap => '…',
                    Column::Bar(weight) if line.last == Some(weight) => '|',
                    Column::Bar(_) => ' ',
                    _ => '.',
                });
            }
        }
    }
    // what lies right of the picture
    if let (Some(leading), Some(lowest), Some(last)) = (leading, lowest, line.last)
        && lowest < end
    {
        if leading < end - LOST {
            lost = format!("… {} bits below", last - leading);
        } else {
            let shown = lowest.max(end - LOST);
            lost.extend((shown..end).rev().map(|weight| if bit(value, weight) { '1' } else { '0' }));
            if lowest < shown {
                lost.push('…');
            }
        }
    }
    text += &style::dim(&zeros);
    text += &kept;
    text += &style::lost(lost.trim_end());
    text
}
