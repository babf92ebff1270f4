//! A picture in narrow formats: each row of pixels quantized as a unit's A, and multiplied by the identity as the unit does it.

use bitmma_engine::gemm::Target;
use bitmma_engine::{GemmOptions, Matrix, gemm};
use bitmma_verify::inputs::nearest;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::scale::{largest, scale_code, value};
use crate::unit::{About, Asked, Unit};

/// Pixels of a side, at most.
const MOST: usize = 256;
/// Pixels of a side of the picture that is shown where none is given.
const SIDE: usize = 128;

/// Units and a picture.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Question {
    units: Vec<Asked>,
    /// Pixels in a row; without it the picture is ours.
    #[serde(default)]
    width: usize,
    /// Gray values from 00 to ff in hex, row by row.
    #[serde(default)]
    pixels: String,
}

/// The pictures.
#[derive(Serialize)]
pub(crate) struct Pictures {
    width: usize,
    height: usize,
    original: String,
    units: Vec<Picture>,
}

#[derive(Serialize)]
struct Picture {
    unit: Option<About>,
    name: String,
    /// Its formats, and scale factors.
    formats: String,
    error: Option<String>,
    pixels: String,
    /// Different values in it.
    levels: usize,
    /// Root mean square of the error, in gray values.
    rms: f64,
}

/// A gradient over a dark ramp, a disc that is lit from a side, bright dots on dark ground, and a grid: smooth parts show
/// banding, sharp ones blocks.
fn own(x: usize, y: usize) -> u8 {
    let (dx, dy) = (x as i32 - 88, y as i32 - 52);
    let distance = dx * dx + dy * dy;
    let value = if distance < 30 * 30 {
        230 - (dx + dy + 42) * 2 - distance / 12
    } else if y >= 112 {
        (x as i32) / 4 // the darkest quarter
    } else if y >= 96 {
        if x % 16 == 8 && y % 8 == 4 { 255 } else { 10 + x as i32 / 8 }
    } else {
        (x as i32) * 2 - (y as i32) / 2 + 20
    };
    value.clamp(0, 255) as u8
}

fn read(question: &Question) -> Result<(usize, Vec<u8>), Error> {
    if question.width == 0 && question.pixels.is_empty() {
        let all = (0..SIDE * SIDE).map(|index| own(index % SIDE, index / SIDE));
        return Ok((SIDE, all.collect()));
    }
    let digits = question.pixels.as_bytes();
    let count = digits.len() / 2;
    let width = question.width;
    let fits =
        (1..=MOST).contains(&width) && count.is_multiple_of(width) && (1..=MOST).contains(&(count / width));
    if !fits || digits.len() % 2 == 1 {
        return Err(Error::new(format!(
            "the picture has {count} pixels in rows of {width}; 1 to {MOST} rows of 1 to {MOST} are expected"
        )));
    }
    let digit = |digit: u8| (digit as char).to_digit(16).map(|one| one as u8);
    let pixels: Option<Vec<u8>> =
        digits.chunks(2).map(|pair| Some(digit(pair[0])? * 16 + digit(pair[1])?)).collect();
    let pixels = pixels.ok_or_else(|| Error::new("a pixel is not two hex digits"))?;
    Ok((width, pixels))
}

fn hex(pixels: &[u8]) -> String {
    pixels.iter().map(|one| format!("{one:02x}")).collect()
}

/// The pictures of some units.
pub(crate) fn image(question: &Question) -> Result<Pictures, Error> {
    let (width, pixels) = read(question)?;
    let units = Unit::read_all(&question.units)?.into_iter().zip(&question.units).map(|(unit, asked)| {
        unit.and_then(|unit| picture(&unit, width, &pixels)).unwrap_or_else(|error| Picture {
            unit: Unit::unedited(asked),
            name: asked.unit.clone(),
            formats: String::new(),
            error: Some(error.to_string()),
            pixels: String::new(),
            levels: 0,
            rms: 0.0,
        })
    });
    let units = units.collect();
    Ok(Pictures { width, height: pixels.len() / width, original: hex(&pixels), units })
}

fn picture(unit: &Unit, width: usize, pixels: &[u8]) -> Result<Picture, Error> {
    let model = &unit.model;
    if model.is_integer() {
        return Err(Error::new(format!(
            "{} multiplies integers; a picture is of numbers from 0 to 1",
            unit.name()
        )));
    }
    let height = pixels.len() / width;
    let numbers: Vec<f64> = pixels.iter().map(|one| f64::from(*one) / 255.0).collect();
    let (mut codes, mut scales) = (vec![], vec![]);
    let size = model.scale.map_or(width, |scale| scale.size);
    for row in numbers.chunks(width) {
        for block in row.chunks(size) {
            let scale = match model.scale {
                Some(scale) => {
                    let code = scale_code(&scale.format, &model.a, largest(block));
                    scales.push(code);
                    value(&scale.format, code)
                }
                None => 1.0,
            };
            codes.extend(block.iter().map(|one| nearest(&model.a, one / scale)));
        }
    }
    let a = Matrix::single(model.a, height, width, codes)?;
    let one = model.b.one_code();
    let b =
        Matrix::from_fn(model.b, (1, width, width), |_, row, column| if row == column { one } else { 0 })?;
    let factors = match model.scale {
        Some(scale) => {
            let along = width.div_ceil(scale.size);
            let ones = vec![scale.format.one_code(); along * width];
            Some((
                Matrix::single(scale.format, height, along, scales)?,
                Matrix::single(scale.format, along, width, ones)?,
            ))
        }
        None => None,
    };
    let (scale_a, scale_b) = factors.as_ref().map(|(a, b)| (a, b)).unzip();
    let target = Target::of_model(unit.for_length(unit.step + 1), Some(unit.step))?;
    let d = gemm(&target, &a, &b, None, &GemmOptions { scale_a, scale_b, ..GemmOptions::default() })?;
    let mut levels: Vec<u64> = d.iter().collect();
    let values: Vec<f64> = levels.iter().map(|code| value(&model.d, *code)).collect();
    levels.sort_unstable();
    levels.dedup();
    let square = |(x, y): (&f64, &f64)| (x - y) * (x - y);
    let rms = (values.iter().zip(&numbers).map(square).sum::<f64>() / numbers.len() as f64).sqrt() * 255.0;
    let shown: Vec<u8> = values.iter().map(|one| (one * 255.0 + 0.5).clamp(0.0, 255.0) as u8).collect();
    let scaled =
        model.scale.map_or(String::new(), |scale| format!(", {} scales of {}", scale.format, scale.size));
    Ok(Picture {
        unit: Some(unit.about()),
        name: unit.name(),
        formats: format!("{}{scaled}", model.a),
        error: None,
        pixels: hex(&shown),
        levels: levels.len(),
        rms,
    })
}
