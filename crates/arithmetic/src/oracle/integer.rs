//! Sums of integers, by the host's own integers.

use bitmma_formats::Format;

use crate::model::Model;

/// What a code means, by the name of its format.
fn read(format: &Format, code: u64) -> i128 {
    match format.name {
        "s32" => (code as u32 as i32).into(),
        "s8" => (code as u8 as i8).into(),
        "s4" => {
            if code < 8 {
                i128::from(code)
            } else {
                i128::from(code) - 16
            }
        }
        "u8" | "u4" | "b1" => code.into(),
        name => panic!("{name} is no integer"),
    }
}

/// D, some products at a time, C first.
pub(super) fn dot(model: &Model, a: &[u64], b: &[u64], c: u64) -> u64 {
    let length = model.length(a.len());
    let sum = a.chunks(length).zip(b.chunks(length)).fold(read(&model.c, c), |sum, (a, b)| {
        let products = a.iter().zip(b).map(|(a, b)| read(&model.a, *a) * read(&model.b, *b));
        let sum = sum + products.sum::<i128>();
        let (least, beyond) = (-(1 << 31), 1_i128 << 31);
        match model.conversion.saturate {
            true if sum < least => least,
            true if sum >= beyond => beyond - 1,
            true => sum,
            false => (sum - least).rem_euclid(1 << 32) + least,
        }
    });
    u64::from(sum as i32 as u32)
}
